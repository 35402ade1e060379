// SPDX-License-Identifier: GPL-2.0
/* The segments of a connection, in and out. */
#include <linux/delay.h>
#include <net/tcp.h>

#include "capture.h"
#include "channel.h"
#include "mutant.h"
#include "segment.h"
#include "stream.h"
#include "timers.h"
#include "trace.h"

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

static void trace_received(const struct ds_channel *ch, const struct ds_seg *seg,
			   unsigned int act)
{
	const struct ds_option *opt = &seg->opt;

	if (opt->flags & DISTSNAP_OPT_MARKER)
		trace_ds_marker_received(ch->member, ch, seg, NULL, opt->epoch, opt->anchor,
					 act & DS_ACT_CLOSED ? DS_HOW_ACCEPTED :
					 act & DS_ACT_STALE ? DS_HOW_STALE :
					 act & DS_ACT_CONTRADICTED ? DS_HOW_CONTRADICTED :
					 DS_HOW_REPEATED);
	if (act & (DS_ACT_ACKED | DS_ACT_NAKED | DS_ACT_MISSED))
		trace_ds_answer_received(ch->member, ch, seg, NULL, ch->ends.out_epoch,
					 act & DS_ACT_NAKED ? opt->anchor : 0,
					 act & DS_ACT_ACKED ? DS_HOW_ACK :
					 act & DS_ACT_NAKED ? DS_HOW_NAK : DS_HOW_MISSED);
}

/**
 * ds_stream_option() - act upon an option that is to be trusted
 * @ch: the channel
 * @seg: the segment that carries it
 *
 * Context: member->lock.
 */
void ds_stream_option(struct ds_channel *ch, const struct ds_seg *seg)
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
	trace_received(ch, seg, act);
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
	    ds_member_trigger(m, opt->epoch, ch->ends.in_light, DS_HOW_MARKER, ch, seg))
		ds_group_want(g, opt->epoch, m->flags);
}

/**
 * ds_option_is_ours() - is there an option of this group, from where members are?
 * @g: the group
 * @seg: the segment
 *
 * Context: RCU.
 */
bool ds_option_is_ours(struct ds_group *g, const struct ds_seg *seg)
{
	if (!seg->has_opt)
		return false;
	if (seg->opt.group != g->id) {
		ds_count(g->dn, opt_group);
		return false;
	}
	if (!ds_group_allows_rcu(g, &seg->saddr)) {
		ds_count(g->dn, opt_foreign);
		return false;
	}
	return true;
}

/**
 * ds_option_trust() - what is an option worth?
 * @g: the group
 * @opt: the option, from ds_option_is_ours()
 * @plausible: TCP would not drop its segment
 *
 * Context: any.
 */
enum ds_trust ds_option_trust(struct ds_group *g, const struct ds_option *opt,
			      bool plausible)
{
	if (!plausible) {
		ds_count(g->dn, opt_implausible);
		return DS_DISTRUSTED;
	}
	if (!opt->epoch)
		return DS_TRUSTED;
	switch (ds_group_seen(g, opt)) {
	case DS_SEEN_SKIP:
		ds_count(g->dn, opt_jump);
		return DS_TRUSTED_SKIP;
	case DS_SEEN_IGNORE:
		ds_count(g->dn, opt_jump);
		return DS_DISTRUSTED;
	default:
		return DS_TRUSTED;
	}
}

static enum ds_trust judge(struct ds_channel *ch, struct sk_buff *skb,
			   const struct ds_seg *seg, const struct nf_hook_state *state)
{
	struct ds_group *g = ch->member->group;

	if (!ds_option_is_ours(g, seg))
		return DS_IGNORED;
	return ds_option_trust(g, &seg->opt,
			       ds_seg_is_plausible(ch->sk, skb, seg, state->hook));
}

/* A message of the paper: bytes, an end, or an urgent notice without bytes. */
static bool carries_something(const struct ds_seg *seg)
{
	return seg->payload || seg->fin || seg->rst || seg->reach != seg->end;
}

/**
 * ds_stream_in() - a segment to a connection
 * @ch: the channel
 * @skb: at LOCAL_IN
 * @seg: its headers
 * @state: of the hook
 *
 * Return: the hook's verdict.
 */
unsigned int ds_stream_in(struct ds_channel *ch, struct sk_buff *skb,
			  const struct ds_seg *seg, const struct nf_hook_state *state)
{
	struct ds_member *m = ch->member;
	struct ds_net *dn = m->group->dn;
	unsigned int verdict = NF_ACCEPT;
	bool moves = carries_something(seg);
	enum ds_trust trust = judge(ch, skb, seg, state);
	bool resets = seg->rst && ds_seg_may_reset(ch->sk, seg);
	bool sound = false;

	/*
	 * Would TCP take it, if it is to be logged?  Not under the lock.  The cut may
	 * just be coming: see give_birth().
	 */
	if (seg->payload && READ_ONCE(m->rec))
		sound = ds_seg_in_bounds(ch->sk, seg) &&
			ds_seg_checksum_ok(skb, seg, state->hook);

	spin_lock_bh(&m->lock);
	if (m->gone)
		goto out;
	/*
	 * The peer's socket has been born, so it has seen our greeting.  A request
	 * can acknowledge as well, but bare and no more than our SYN (tcp_check_req()).
	 */
	if (ch->greeting && !ch->unborn && !seg->syn && ds_seg_in_bounds(ch->sk, seg) &&
	    (trust >= DS_TRUSTED_SKIP || seg->payload || seg->fin ||
	     ds_seq_after(seg->ack, ch->isn + 1)))
		ch->greeting = false;
	if (moves && ds_queue_must_follow(&m->hold, ch, skb)) {
		verdict = ds_queue_steal(&m->hold, ch, skb, seg, state);
		goto out;
	}
	/* It will be repeated when we can skip. */
	if (trust == DS_TRUSTED_SKIP && m->colour.phase != DS_IDLE) {
		verdict = NF_DROP;
		goto out;
	}
	if (trust == DS_TRUSTED_SKIP)
		ds_skip(&m->colour, seg->opt.epoch);
	if (trust >= DS_TRUSTED_SKIP)
		ds_stream_option(ch, seg);
	if (ds_mutant(no_recheck) && skb == m->hold.reentering)
		moves = false;
	if (moves && !ds_mutant(no_hold) &&
	    ds_is_red(&m->colour, &ch->ends,
		      trust == DS_IGNORED ? NULL : &seg->opt,
		      seg->reach, resets)) {
		/*
		 * What is not to be trusted may not be held either (it would
		 * take another's memory), nor passed: TCP repeats what is real.
		 */
		if (trust == DS_DISTRUSTED) {
			ds_count(dn, red_implausible);
			verdict = NF_DROP;
			goto out;
		}
		ds_count(dn, held);
		verdict = ds_queue_steal(&m->hold, ch, skb, seg, state);
		goto out;
	}
	if (seg->payload && ch->cut && ch->cut->logging) {
		if (sound)
			ds_log(m, ch->cut, skb, seg);
		else
			ds_count(dn, log_implausible);
	}
	ch->reset_in |= resets;
out:
	spin_unlock_bh(&m->lock);
	/* Long enough to be captured before it is queued. */
	if (ds_mutant(no_grace) && seg->payload && !READ_ONCE(ch->cut) &&
	    READ_ONCE(m->colour.phase) != DS_IDLE)
		mdelay(10);
	return verdict;
}

/*
 * How much of its deadline a snapshot still has, in sixteenths, rounded down.  Who
 * is triggered by an option has a deadline of his own, so this is no promise.
 */
static u8 still_open(const struct ds_member *m)
{
	u32 max = READ_ONCE(m->group->limits.snap_max);
	s64 gone = ktime_ms_delta(ktime_get(), m->triggered);

	if (m->colour.level != m->colour.recorded || gone >= max)
		return 0;
	return min_t(u64, div_u64((u64)(max - gone) * 16, max), 15);
}

/**
 * ds_probe_compose() - a probe, which shows the last epoch that lies behind us
 * @m: the member
 * @isn: initial sequence number of our direction
 * @opt: filled in
 *
 * Context: member->lock.
 */
void ds_probe_compose(const struct ds_member *m, u32 isn, struct ds_option *opt)
{
	memset(opt, 0, sizeof(*opt));
	opt->group = m->group->id;
	opt->flags = DISTSNAP_OPT_PROBE |
		     (m->recorded_light ? DISTSNAP_OPT_LIGHT : 0);
	opt->epoch = m->colour.level;
	opt->open = still_open(m);
	opt->anchor = isn;
}

/* What this segment has to say; false: nothing.  Context: member->lock. */
static bool compose(struct ds_channel *ch, struct ds_option *opt)
{
	struct ds_member *m = ch->member;

	memset(opt, 0, sizeof(*opt));
	opt->group = m->group->id;
	if (ds_compose(&m->colour, &ch->ends, opt)) {
		if (opt->flags & DISTSNAP_OPT_MARKER)
			opt->open = still_open(m);
		return true;
	}
	if (!ch->probe_due && !ch->reply_due && !ch->greeting)
		return false;
	ds_probe_compose(m, ch->unborn ? tcp_sk(ch->sk)->snd_una : ch->isn, opt);
	if (ch->reply_due)
		opt->flags ^= DISTSNAP_OPT_PROBE | DISTSNAP_OPT_REPLY;
	return true;
}

static void trace_sent(struct ds_channel *ch, const struct ds_seg *seg,
		       const struct ds_option *opt, bool answers)
{
	if (opt->flags & DISTSNAP_OPT_MARKER && trace_ds_marker_sent_enabled()) {
		trace_ds_marker_sent(ch->member, ch, seg, NULL, opt->epoch, opt->anchor,
				     ch->traced == opt->epoch ? DS_HOW_REPEATED :
				     DS_HOW_FIRST);
		ch->traced = opt->epoch;
	}
	if (answers)
		trace_ds_answer_sent(ch->member, ch, seg, NULL, ch->ends.in_epoch,
				     opt->flags & DISTSNAP_OPT_NAK ? opt->anchor : 0,
				     opt->epoch != ch->ends.in_epoch ? DS_HOW_MISSED :
				     opt->flags & DISTSNAP_OPT_NAK ? DS_HOW_NAK : DS_HOW_ACK);
}

/* It leaves with @opt, on @seg; context: member->lock. */
static void said(struct ds_channel *ch, const struct ds_seg *seg,
		 const struct ds_option *opt)
{
	bool due = ch->ends.answer_due;

	if (opt->flags & DISTSNAP_OPT_REPLY) {
		ch->reply_due = false;
	} else if (opt->flags & DISTSNAP_OPT_PROBE) {
		ch->probe_due = false;
		ch->probes -= !!ch->probes;
	} else {
		ds_said(&ch->ends, opt);
		trace_sent(ch, seg, opt, due && !ch->ends.answer_due);
		/* It says all that a reply would. */
		ch->reply_due = false;
		ch->probe_due = false;
	}
}

/**
 * ds_stream_out() - a segment of a connection
 * @ch: the channel
 * @skb: at LOCAL_OUT
 * @seg: its headers
 * @state: of the hook
 *
 * Return: the hook's verdict.
 */
unsigned int ds_stream_out(struct ds_channel *ch, struct sk_buff *skb,
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

	/*
	 * Data in a SYN would reach the peer before it can be levelled.  TCP notices
	 * and sends a plain SYN at once (tcp_send_syn_data()).
	 */
	if (seg->syn && !seg->is_ack && seg->payload && !ds_mutant(pass_fastopen) &&
	    ds_group_allows_rcu(m->group, &seg->daddr)) {
		ds_count(dn, fastopen_refused);
		return NF_DROP;
	}
	spin_lock_bh(&m->lock);
	if (m->gone)
		goto out;
	/* SYNs have crossed: this is a SYN-ACK, and shows what others show. */
	if (seg->syn && seg->is_ack && ch->peer == DISTSNAP_PEER_CONNECTING &&
	    !ds_mutant(no_crossing) &&
	    ds_group_allows_rcu(m->group, &seg->daddr)) {
		ch->peer = DISTSNAP_PEER_UNKNOWN;
		ch->greeting = true;
		ds_group_wake(m->group, DS_PROBE_MIN);
	}
	if (moves && !ds_mutant(no_gate) &&
	    (ds_is_gated(&m->colour, &ch->ends, seg->reach, seg->rst) ||
	     ds_queue_must_follow(&m->gate, ch, skb))) {
		ds_count(dn, gated);
		verdict = ds_queue_steal(&m->gate, ch, skb, seg, state);
		goto out;
	}
	if (!compose(ch, &opt)) {
		/* The anchor may have been forgotten; a reset is as one from nobody then. */
		if (!seg->rst || !m->colour.level || !ds_channel_waits_for_peer(ch))
			goto out;
		ds_probe_compose(m, ch->isn, &opt);
	}
	/* A greeting says the colour of all that comes with it. */
	red = opt.flags & DISTSNAP_OPT_MARKER ?
	      moves && (seg->rst || ds_seq_after(seg->reach, opt.anchor)) :
	      ch->greeting || seg->rst;
	err = ds_seg_tag(dn, skb, seg, &opt);
	if (!err) {
		said(ch, seg, &opt);
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
