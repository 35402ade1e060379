// SPDX-License-Identifier: GPL-2.0
/*
 * Where segments meet the rules.
 *
 * LOCAL_IN runs behind filters, NAT and NFQUEUE and before conntrack confirms:
 * at an earlier priority a segment that a firewall drops would move the epoch.
 * LOCAL_OUT runs behind everything, so that nothing changes what we measured.
 */
#include <linux/delay.h>
#include <linux/ip.h>
#include <linux/netdevice.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6.h>
#include <net/inet_hashtables.h>
#include <net/tcp.h>

#include "capture.h"
#include "channel.h"
#include "compat.h"
#include "hooks.h"
#include "mutant.h"
#include "segment.h"
#include "timers.h"

/* Probes: who is a member?  The anchor is the sender's initial number. */
static void receive_probe(struct ds_channel *ch, const struct ds_option *opt)
{
	if (ch->peer == DISTSNAP_PEER_UNSUPPORTED)
		return;
	ch->probe_due = false;
	ch->peer = opt->anchor == ch->peer_isn ? DISTSNAP_PEER_MEMBER :
						 DISTSNAP_PEER_REWRITTEN;
	if (opt->flags & DISTSNAP_OPT_PROBE) {
		ch->reply_due = true;
		ds_group_wake(ch->member->group, 0);
	}
}

/* What the rules said about the open cut. */
static void update_cut(struct ds_member *m, struct ds_channel *ch, unsigned int act)
{
	struct ds_net *dn = m->group->dn;
	struct ds_cut *cut = ch->cut;
	u32 epoch = cut ? cut->rec->snap->epoch : 0;

	if (act & DS_ACT_NAKED)
		ds_count(dn, refused_peer);
	if (act & DS_ACT_MISSED)
		ds_count(dn, missed);
	if (!cut)
		return;
	if (act & DS_ACT_CONTRADICTED)
		cut->flags |= DISTSNAP_CUT_CONTRADICTED;
	if (act & DS_ACT_CLOSED) {
		if (ch->ends.in_epoch == epoch) {
			cut->marker = ch->ends.in_anchor;
			ds_record_settled(cut->rec, cut, true, DISTSNAP_CUT_CLOSED);
		} else if (ds_epoch_after(ch->ends.in_epoch, epoch)) {
			ds_record_settled(cut->rec, cut, true, DISTSNAP_CUT_MISSED);
		}
	}
	if (ch->ends.out_epoch != epoch)
		return;
	if (act & DS_ACT_ACKED)
		ds_record_settled(cut->rec, cut, false, DISTSNAP_CUT_ACKED);
	if (act & DS_ACT_NAKED) {
		ds_record_settled(cut->rec, cut, false, DISTSNAP_CUT_NAKED);
		ds_record_settled(cut->rec, cut, true, DISTSNAP_CUT_NAKED);
	}
	if (act & DS_ACT_MISSED)
		ds_record_settled(cut->rec, cut, false, DISTSNAP_CUT_MISSED);
}

static void receive_option(struct ds_channel *ch, const struct ds_seg *seg)
{
	const struct ds_option *opt = &seg->opt;
	struct ds_member *m = ch->member;
	struct ds_group *g = m->group;
	struct ds_net *dn = g->dn;
	unsigned int act;

	ds_count(dn, opt_received);
	if (opt->flags & (DISTSNAP_OPT_PROBE | DISTSNAP_OPT_REPLY)) {
		receive_probe(ch, opt);
		return;
	}
	if (ch->peer == DISTSNAP_PEER_UNKNOWN || ch->peer == DISTSNAP_PEER_EXTERNAL)
		ch->peer = DISTSNAP_PEER_MEMBER;
	act = ds_receive(&m->colour, &ch->ends, opt);
	if (act & DS_ACT_STALE)
		ds_count(dn, opt_stale);
	if (act & DS_ACT_CONTRADICTED)
		ds_count(dn, opt_contradicted);
	update_cut(m, ch, act);
	if (act & DS_ACT_ANSWER)
		ds_group_wake(g, 1);	/* unless a segment takes it along */
	if (act & (DS_ACT_ACKED | DS_ACT_CLOSED | DS_ACT_NAKED | DS_ACT_MISSED) &&
	    (!m->rec || !m->rec->pending))
		ds_group_wake(g, 0);
	if (act & DS_ACT_TRIGGER &&
	    ds_member_trigger(m, opt->epoch, ch->ends.in_light))
		ds_group_want(g, opt->epoch, m->flags);
}

/* What an option on a member's connection is worth. */
enum trust {
	IGNORED,	/* not ours, or from where no member can be */
	DISTRUSTED,	/* TCP would drop the segment, or it claims too much */
	SKIP,		/* trusted, but its epoch is too far ahead */
	TRUSTED,
};

static enum trust judge(struct ds_channel *ch, struct sk_buff *skb,
			const struct ds_seg *seg, const struct nf_hook_state *state)
{
	struct ds_group *g = ch->member->group;

	if (!seg->has_opt)
		return IGNORED;
	if (seg->opt.group != g->id) {
		ds_count(g->dn, opt_group);
		return IGNORED;
	}
	if (!ds_group_allows_rcu(g, &seg->saddr)) {
		ds_count(g->dn, opt_foreign);
		return IGNORED;
	}
	if (!ds_seg_is_plausible(ch->sk, skb, seg, state->hook)) {
		ds_count(g->dn, opt_implausible);
		return DISTRUSTED;
	}
	if (!seg->opt.epoch)
		return TRUSTED;
	switch (ds_group_seen(g, seg->opt.epoch)) {
	case DS_SEEN_SKIP:
		ds_count(g->dn, opt_jump);
		return SKIP;
	case DS_SEEN_IGNORE:
		ds_count(g->dn, opt_jump);
		return DISTRUSTED;
	default:
		return TRUSTED;
	}
}

/* A message of the paper: bytes, an end, or an urgent notice without bytes. */
static bool carries_something(const struct ds_seg *seg)
{
	return seg->payload || seg->fin || seg->rst || seg->reach != seg->end;
}

static unsigned int channel_in(struct ds_channel *ch, struct sk_buff *skb,
			       struct ds_seg *seg, const struct nf_hook_state *state)
{
	struct ds_member *m = ch->member;
	struct ds_net *dn = m->group->dn;
	unsigned int verdict = NF_ACCEPT;
	bool moves = carries_something(seg);
	enum trust trust = judge(ch, skb, seg, state);
	bool log = false;

	/* Would TCP take it, if it is to be logged?  Not under the lock. */
	if (seg->payload && READ_ONCE(ch->cut)) {
		log = ds_seg_in_bounds(ch->sk, seg) &&
		      ds_seg_checksum_ok(skb, seg, state->hook);
		if (!log)
			ds_count(dn, log_implausible);
	}

	spin_lock_bh(&m->lock);
	if (m->gone)
		goto out;
	if (moves && ds_queue_must_follow(&m->hold, ch, skb)) {
		verdict = ds_queue_steal(&m->hold, ch, skb, state);
		goto out;
	}
	if (trust == SKIP)
		ds_skip(&m->colour, seg->opt.epoch);
	if (trust >= SKIP)
		receive_option(ch, seg);
	if (ds_mutant(no_recheck) && skb == m->hold.reentering)
		moves = false;
	if (moves && !ds_mutant(no_hold) &&
	    ds_is_red(&m->colour, &ch->ends,
		      trust == IGNORED ? NULL : &seg->opt,
		      seg->reach, seg->rst)) {
		/*
		 * What is not to be trusted may not be held either (it would
		 * take another's memory), nor passed: TCP repeats what is real.
		 */
		if (trust == DISTRUSTED) {
			ds_count(dn, red_implausible);
			verdict = NF_DROP;
			goto out;
		}
		ds_count(dn, held);
		verdict = ds_queue_steal(&m->hold, ch, skb, state);
		goto out;
	}
	if (log && ch->cut && ch->cut->logging)
		ds_log(m, ch->cut, skb, seg);
out:
	spin_unlock_bh(&m->lock);
	/* Long enough to be captured before it is queued. */
	if (ds_mutant(no_grace) && seg->payload && !READ_ONCE(ch->cut) &&
	    READ_ONCE(m->colour.phase) != DS_IDLE)
		mdelay(10);
	return verdict;
}

/*
 * An option on a socket that we do not track: a connection accepted since the
 * last look into the file tables, or no member's at all.  Look again, and let
 * no red byte in before that.
 */
static unsigned int untracked_in(struct ds_net *dn, const struct ds_seg *seg,
				 bool connected)
{
	struct ds_group *g = ds_group_by_id_rcu(dn, seg->opt.group);

	if (!g) {
		ds_count(dn, opt_group);
		return NF_ACCEPT;
	}
	if (!ds_group_allows_rcu(g, &seg->saddr)) {
		ds_count(dn, opt_foreign);
		return NF_ACCEPT;
	}
	ds_count(dn, opt_untracked);
	if (!connected || !ds_group_want_scan(g))
		return NF_ACCEPT;
	if (seg->opt.flags & DISTSNAP_OPT_MARKER &&
	    ds_seq_after(seg->reach, seg->opt.anchor)) {
		ds_count(dn, red_untracked);
		return NF_DROP;
	}
	return NF_ACCEPT;
}

/* The connection that TCP will find; with a reference if @refcounted. */
static struct sock *find_sock(const struct nf_hook_state *state,
			      struct sk_buff *skb, const struct ds_seg *seg,
			      bool *refcounted)
{
	*refcounted = false;
	if (skb->sk)	/* early demux */
		return skb->sk;
	*refcounted = true;
	return ds_find_established(state, skb, &seg->saddr, seg->sport, &seg->daddr,
				   ntohs(seg->dport));
}

static unsigned int hook_in(void *priv, struct sk_buff *skb,
			    const struct nf_hook_state *state)
{
	struct ds_net *dn = ds_net(state->net);
	struct ds_channel *ch = NULL;
	unsigned int verdict = NF_ACCEPT;
	bool refcounted, connected;
	struct ds_seg seg;
	struct sock *sk;
	int tcp;

	tcp = ds_seg_tcp_offset(skb, state->pf);
	if (!tcp)
		return NF_ACCEPT;
	if (!atomic_read(&dn->active) && !ds_seg_may_have_option(skb, tcp))
		return NF_ACCEPT;
	if (!ds_seg_parse(skb, state->pf, tcp, &seg))
		return NF_ACCEPT;
	if (seg.bad_opt == -EPROTONOSUPPORT)
		ds_count(dn, opt_version);
	else if (seg.bad_opt)
		ds_count(dn, opt_malformed);
	if (!seg.has_opt && !atomic_read(&dn->active))
		return NF_ACCEPT;

	sk = find_sock(state, skb, &seg, &refcounted);
	connected = sk && sk_fullsock(sk) && sk->sk_state != TCP_LISTEN;
	if (connected)
		ch = ds_channel_find_rcu(sk);
	if (ch)
		verdict = channel_in(ch, skb, &seg, state);
	else if (seg.has_opt)
		verdict = untracked_in(dn, &seg, connected);
	if (refcounted && sk)
		sock_gen_put(sk);
	return verdict;
}

/* What this segment has to say; false: nothing.  Context: member->lock. */
static bool compose(struct ds_channel *ch, struct ds_option *opt)
{
	struct ds_member *m = ch->member;

	memset(opt, 0, sizeof(*opt));
	opt->group = m->group->id;
	if (ds_compose(&m->colour, &ch->ends, opt)) {
		if (opt->flags & DISTSNAP_OPT_MARKER)
			opt->open = 0xf;
		return true;
	}
	if (!ch->probe_due && !ch->reply_due)
		return false;
	opt->flags = ch->reply_due ? DISTSNAP_OPT_REPLY : DISTSNAP_OPT_PROBE;
	opt->epoch = m->colour.recorded;
	opt->anchor = ch->isn;
	return true;
}

/* It leaves with @opt; context: member->lock. */
static void said(struct ds_channel *ch, const struct ds_option *opt)
{
	if (opt->flags & DISTSNAP_OPT_REPLY) {
		ch->reply_due = false;
	} else if (opt->flags & DISTSNAP_OPT_PROBE) {
		ch->probe_due = false;
		ch->probes -= !!ch->probes;
	} else {
		ds_said(&ch->ends, opt);
		/* It says all that a reply would. */
		ch->reply_due = false;
		ch->probe_due = false;
	}
}

static unsigned int channel_out(struct ds_channel *ch, struct sk_buff *skb,
				const struct ds_seg *seg,
				const struct nf_hook_state *state)
{
	struct ds_member *m = ch->member;
	struct ds_net *dn = m->group->dn;
	unsigned int verdict = NF_ACCEPT;
	bool moves = carries_something(seg);
	struct ds_option opt;
	bool red;
	int err;

	spin_lock_bh(&m->lock);
	if (m->gone)
		goto out;
	if (moves && !ds_mutant(no_gate) &&
	    (ds_is_gated(&m->colour, &ch->ends, seg->reach, seg->rst) ||
	     ds_queue_must_follow(&m->gate, ch, skb))) {
		ds_count(dn, gated);
		verdict = ds_queue_steal(&m->gate, ch, skb, state);
		goto out;
	}
	if (!compose(ch, &opt))
		goto out;
	red = opt.flags & DISTSNAP_OPT_MARKER && moves &&
	      (seg->rst || ds_seq_after(seg->reach, opt.anchor));
	err = ds_seg_tag(dn, skb, seg, &opt);
	if (!err) {
		said(ch, &opt);
	} else if (red && !ds_mutant(no_sack_trim)) {
		/* Never bare: TCP repeats it, split to fit. */
		if (err == -ENOSPC)
			ds_count(dn, tag_no_room_red);
		else
			ds_count(dn, tag_failed);
		verdict = NF_DROP;
	} else {
		ds_count(dn, tag_no_room_white);
		if (opt.flags & DISTSNAP_OPT_PROBE) {
			ch->probe_due = false;
			ch->probes -= !!ch->probes;
		}
	}
out:
	spin_unlock_bh(&m->lock);
	return verdict;
}

static unsigned int hook_out(void *priv, struct sk_buff *skb,
			     const struct nf_hook_state *state)
{
	struct ds_net *dn = ds_net(state->net);
	const struct sock *sk = skb->sk;
	struct ds_channel *ch;
	struct ds_seg seg;
	int tcp;

	if (!atomic_read(&dn->active) || !sk || !sk_fullsock(sk))
		return NF_ACCEPT;
	ch = ds_channel_find_rcu(sk);
	if (!ch)
		return NF_ACCEPT;
	tcp = ds_seg_tcp_offset(skb, state->pf);
	if (!tcp || !ds_seg_parse(skb, state->pf, tcp, &seg))
		return NF_ACCEPT;
	return channel_out(ch, skb, &seg, state);
}

static const struct nf_hook_ops ops[] = {
	{
		.hook = hook_in,
		.pf = NFPROTO_IPV4,
		.hooknum = NF_INET_LOCAL_IN,
		.priority = INT_MAX - 1,
	}, {
		.hook = hook_out,
		.pf = NFPROTO_IPV4,
		.hooknum = NF_INET_LOCAL_OUT,
		.priority = INT_MAX - 1,
	},
#if IS_ENABLED(CONFIG_IPV6)
	{
		.hook = hook_in,
		.pf = NFPROTO_IPV6,
		.hooknum = NF_INET_LOCAL_IN,
		.priority = INT_MAX - 1,
	}, {
		.hook = hook_out,
		.pf = NFPROTO_IPV6,
		.hooknum = NF_INET_LOCAL_OUT,
		.priority = INT_MAX - 1,
	},
#endif
};

/* ds_hooks_register() - once per namespace; context: ds_mutex */
int ds_hooks_register(struct ds_net *dn)
{
	int err;

	if (dn->hooked)
		return 0;
	err = nf_register_net_hooks(dn->net, ops, ARRAY_SIZE(ops));
	dn->hooked = !err;
	return err;
}

/* ds_hooks_unregister() - context: ds_mutex; no group is left */
void ds_hooks_unregister(struct ds_net *dn)
{
	if (dn->hooked)
		nf_unregister_net_hooks(dn->net, ops, ARRAY_SIZE(ops));
	dn->hooked = false;
}

/**
 * ds_hooks_reenter() - a segment that waited goes on
 * @skb: the segment; consumed
 * @state: of the hook it was taken from
 *
 * It goes on *at our own hook*, so that the rules see it again and everything
 * behind us (conntrack, counters) sees it once.
 *
 * Context: BH off; the references in @state are the caller's.
 */
void ds_hooks_reenter(struct sk_buff *skb, struct nf_hook_state *state)
{
	const struct nf_hook_entries *e;
	struct nf_hook_ops **regs;
	unsigned int i = 0;
	int ret = 1;

	rcu_read_lock();
	if (state->pf == NFPROTO_IPV4)
		e = rcu_dereference(state->net->nf.hooks_ipv4[state->hook]);
	else
		e = rcu_dereference(state->net->nf.hooks_ipv6[state->hook]);
	if (e) {
		regs = nf_hook_entries_get_hook_ops(e);
		for (i = 0; i < e->num_hook_entries; i++)
			if (regs[i] >= ops && regs[i] < ops + ARRAY_SIZE(ops))
				break;
		ret = nf_hook_slow(skb, state, e, i);
	}
	if (ret == 1)
		state->okfn(state->net, state->sk, skb);
	rcu_read_unlock();
}

/* A device that goes away must not wait for what we hold. */
static int device_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	struct net_device *dev = netdev_notifier_info_to_dev(ptr);
	struct ds_net *dn = ds_net(dev_net(dev));
	struct ds_member *m;
	struct ds_group *g;

	if (event != NETDEV_GOING_DOWN && event != NETDEV_DOWN &&
	    event != NETDEV_UNREGISTER)
		return NOTIFY_DONE;
	if (!dn)	/* the namespace is being unwound before our init */
		return NOTIFY_DONE;
	mutex_lock(&ds_mutex);
	list_for_each_entry(g, &dn->groups, node) {
		mutex_lock(&g->mutex);
		list_for_each_entry(m, &g->members, node) {
			ds_queue_flush(m, &m->hold, dev);
			ds_queue_flush(m, &m->gate, dev);
		}
		mutex_unlock(&g->mutex);
	}
	mutex_unlock(&ds_mutex);
	return NOTIFY_DONE;
}

static struct notifier_block notifier = {
	.notifier_call = device_event,
};

int ds_notifier_init(void)
{
	return register_netdevice_notifier(&notifier);
}

void ds_notifier_exit(void)
{
	unregister_netdevice_notifier(&notifier);
}
