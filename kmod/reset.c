// SPDX-License-Identifier: GPL-2.0
/* Resets from no connection; see reset.h. */
#include <linux/rculist.h>

#include "channel.h"
#include "handshake.h"
#include "mutant.h"
#include "reset.h"
#include "stream.h"

/**
 * ds_reset_out() - a reset that no tracked socket sends
 * @dn: the node
 * @skb: at LOCAL_OUT
 * @seg: its headers
 *
 * Of several groups that may have the peer as a member the one speaks whose snapshot
 * is open for longest.
 *
 * Context: RCU.
 *
 * Return: the hook's verdict; never to leave bare where a member may be.
 */
unsigned int ds_reset_out(struct ds_net *dn, struct sk_buff *skb, const struct ds_seg *seg)
{
	struct ds_option opt = { 0 }, other;
	struct ds_group *g;
	int err;

	list_for_each_entry_rcu(g, &dn->groups, node) {
		if (!ds_group_allows_rcu(g, &seg->daddr) || !ds_group_show(g, &other) ||
		    ds_mutant(bare_reset))
			continue;
		if (!opt.epoch || other.open > opt.open)
			opt = other;
	}
	if (!opt.epoch)
		return NF_ACCEPT;
	err = ds_seg_tag(dn, skb, seg, &opt);
	if (!err || err == -EOPNOTSUPP)	/* its connection was unsupported */
		return NF_ACCEPT;
	/* TCP sends another when the peer repeats what this one answers. */
	ds_count(dn, tag_failed);
	return NF_DROP;
}

/* ds_reset_is_nobodys() - does it show the colour of a host? */
bool ds_reset_is_nobodys(const struct ds_seg *seg)
{
	return seg->rst && seg->has_opt && seg->opt.flags & DISTSNAP_OPT_PROBE;
}

/**
 * ds_reset_in() - a reset that shows the colour of the host that it comes from
 * @ch: what it resets: a connection, or one that is asked for
 * @skb: at LOCAL_IN
 * @seg: its headers
 * @state: of the hook
 *
 * Context: BH off, RCU.
 *
 * Return: the hook's verdict.
 */
unsigned int ds_reset_in(struct ds_channel *ch, struct sk_buff *skb,
			 const struct ds_seg *seg, const struct nf_hook_state *state)
{
	struct ds_member *m = ch->member;
	unsigned int verdict;
	enum ds_trust trust;

	if (!ds_seg_may_reset(ch->sk, seg))
		return NF_ACCEPT;	/* TCP drops it */
	/* What TCP would only ask about may be forged, and says nothing. */
	trust = DS_IGNORED;
	if (ds_seg_resets(ch->sk, seg) ||
	    ds_seg_is_plausible(ch->sk, skb, seg, state->hook))
		trust = ds_handshake_trust(m->group, skb, seg, state);
	else
		ds_count(m->group->dn, opt_implausible);
	if (trust == DS_DISTRUSTED)
		return NF_DROP;
	spin_lock_bh(&m->lock);
	verdict = ds_handshake_level(ch, skb, seg, state, trust);
	if (verdict == NF_ACCEPT)
		ch->reset_in = true;
	spin_unlock_bh(&m->lock);
	return verdict;
}
