// SPDX-License-Identifier: GPL-2.0
/* Segments that wait. */
#include <linux/netdevice.h>
#include <net/dst.h>
#include <net/sock.h>

#include "channel.h"
#include "hooks.h"
#include "member.h"
#include "mutant.h"
#include "objects.h"
#include "queue.h"
#include "segment.h"
#include "trace.h"

/* What this processor lets out of a gate, with BH off. */
static DEFINE_PER_CPU(struct ds_stolen *, going_out);

void ds_queue_init(struct ds_queue *q, enum ds_queue_kind kind)
{
	INIT_LIST_HEAD(&q->waiting);
	INIT_LIST_HEAD(&q->draining);
	q->reentering = NULL;
	q->kind = kind;
	q->bytes = 0;
}

bool ds_queue_is_empty(const struct ds_queue *q)
{
	return list_empty(&q->waiting) && list_empty(&q->draining);
}

/* The epoch that is being recorded; what must only follow others may come between two. */
static u32 epoch_of(const struct ds_member *m)
{
	return m->colour.current_epoch ?: m->colour.level;
}

static void count_drop(const struct ds_queue *q, const struct ds_channel *ch,
		       const struct sk_buff *skb, const struct ds_seg *seg)
{
	enum ds_how how = seg ? DS_HOW_FULL : DS_HOW_FLUSHED;
	struct ds_member *m = ch->member;
	u32 seq = seg ? seg->seq : 0;

	if (q->kind == DS_HOLD) {
		ds_count(m->group->dn, held_dropped);
		trace_ds_held_dropped(m, ch, seg, skb, epoch_of(m), seq, how);
	} else {
		ds_count(m->group->dn, gated_dropped);
		trace_ds_gated_dropped(m, ch, seg, skb, epoch_of(m), seq, how);
	}
}

static void trace_stolen(const struct ds_queue *q, const struct ds_channel *ch,
			 const struct sk_buff *skb, const struct ds_seg *seg,
			 enum ds_how how)
{
	const struct ds_member *m = ch->member;

	if (q->kind == DS_HOLD)
		trace_ds_held(m, ch, seg, skb, epoch_of(m), seg->seq, how);
	else
		trace_ds_gated(m, ch, seg, skb, epoch_of(m), seg->seq, how);
}

/* Which epoch it has waited for only the recorder knows; context: member->mutex. */
static void trace_goes_on(const struct ds_queue *q, const struct ds_stolen *s)
{
	const struct ds_member *m = s->ch->member;
	u32 epoch = m->rec ? m->rec->snap->epoch : m->colour.level;

	if (q->kind == DS_HOLD)
		trace_ds_let_in(m, s->ch, NULL, s->skb, epoch, 0, DS_HOW_NONE);
	else
		trace_ds_let_out(m, s->ch, NULL, s->skb, epoch, 0, DS_HOW_NONE);
}

/**
 * ds_queue_steal() - let a segment wait
 * @q: the member's hold or gate
 * @ch: the segment's channel
 * @skb: the segment
 * @seg: its headers
 * @state: of the hook, to go on from later
 *
 * Context: member->lock, RCU.
 *
 * Return: NF_STOLEN, or NF_DROP when there is no memory or the node holds too
 * much: TCP repeats it (a reset when the peer sends, or tries whether we live).
 */
unsigned int ds_queue_steal(struct ds_queue *q, struct ds_channel *ch,
			    struct sk_buff *skb, const struct ds_seg *seg,
			    const struct nf_hook_state *state)
{
	struct ds_group *g = ch->member->group;
	struct ds_stolen *s;
	s64 held;

	lockdep_assert_held(&ch->member->lock);
	if (atomic64_read(&g->held) + skb->truesize > READ_ONCE(g->limits.bytes_max))
		goto drop;
	s = ds_new(stolen, GFP_ATOMIC | __GFP_NOWARN);
	if (!s)
		goto drop;
	/* Without a route it could not go on. */
	if (!skb_dst_force(skb) || !ds_channel_get_maybe_zero(ch)) {
		ds_free(stolen, s);
		goto drop;
	}
	/* A fresh lookup when it comes back: the socket may be another then. */
	if (q->kind == DS_HOLD)
		skb_orphan(skb);
	s->skb = skb;
	s->state = *state;
	s->ch = ch;
	if (state->in)
		dev_hold(state->in);
	if (state->out)
		dev_hold(state->out);

	q->bytes += skb->truesize;
	held = atomic64_add_return(skb->truesize, &g->held);
	if (ch->cut && held > atomic64_read(&ch->cut->rec->snap->held_max))
		atomic64_set(&ch->cut->rec->snap->held_max, held);
	/* One that comes back red, for a newer epoch, waits for that one. */
	if (ds_queue_must_follow(q, ch, skb)) {
		trace_stolen(q, ch, skb, seg, DS_HOW_BEHIND);
		list_add_tail(&s->node, &q->draining);
		ch->behind[q->kind]++;
	} else {
		trace_stolen(q, ch, skb, seg, DS_HOW_RED);
		list_add_tail(&s->node, &q->waiting);
	}
	return NF_STOLEN;
drop:
	count_drop(q, ch, skb, seg);
	return NF_DROP;
}

/**
 * ds_queue_must_follow() - is the queue of this segment's channel on its way?
 * @q: hold or gate
 * @ch: the channel
 * @skb: the segment
 *
 * Context: member->lock.
 */
bool ds_queue_must_follow(const struct ds_queue *q, const struct ds_channel *ch,
			  const struct sk_buff *skb)
{
	return ch->behind[q->kind] && skb != q->reentering;
}

/**
 * ds_queue_channel() - whose was a segment that comes from a gate?
 * @skb: at LOCAL_OUT
 *
 * The socket may be connected anew meanwhile, and have another channel.
 *
 * Context: BH off when @skb comes from a gate.
 *
 * Return: its channel; NULL when it comes from TCP.
 */
struct ds_channel *ds_queue_channel(const struct sk_buff *skb)
{
	struct ds_stolen *s = this_cpu_read(going_out);

	return s && s->skb == skb ? s->ch : NULL;
}

static void release(struct ds_stolen *s)
{
	if (s->state.in)
		dev_put(s->state.in);
	if (s->state.out)
		dev_put(s->state.out);
	ds_channel_put(s->ch);
	ds_free(stolen, s);
}

static void unaccount(struct ds_queue *q, struct ds_stolen *s)
{
	q->bytes -= s->skb->truesize;
	atomic64_sub(s->skb->truesize, &s->ch->member->group->held);
}

/**
 * ds_queue_release() - what waits now shall go, and what comes now follows it
 * @q: hold or gate
 *
 * Context: member->lock; followed by ds_queue_drain().
 */
void ds_queue_release(struct ds_queue *q)
{
	struct ds_stolen *s;

	list_for_each_entry(s, &q->waiting, node)
		s->ch->behind[q->kind]++;
	list_splice_tail_init(&q->waiting, &q->draining);
}

/**
 * ds_queue_drain() - let in, or out, all that was released
 * @m: the member
 * @q: its hold or gate
 *
 * First in, first out, and each segment goes through our hook again: it may be
 * red for a newer epoch, or need a tag.
 *
 * Context: process, member->mutex.
 */
void ds_queue_drain(struct ds_member *m, struct ds_queue *q)
{
	struct ds_stolen *s;

	lockdep_assert_held(&m->mutex);
	spin_lock_bh(&m->lock);
	while (!list_empty(&q->draining)) {
		s = list_first_entry(&q->draining, struct ds_stolen, node);
		list_del(&s->node);
		s->ch->behind[q->kind]--;
		unaccount(q, s);
		q->reentering = s->skb;
		spin_unlock(&m->lock);	/* BH stays off: one softirq's worth */
		if (q->kind == DS_GATE)
			__this_cpu_write(going_out, s);
		trace_goes_on(q, s);
		ds_hooks_reenter(s->skb, &s->state);
		__this_cpu_write(going_out, NULL);
		release(s);
		spin_lock(&m->lock);
		q->reentering = NULL;
		spin_unlock_bh(&m->lock);
		spin_lock_bh(&m->lock);
	}
	spin_unlock_bh(&m->lock);
}

static void flush_list(struct ds_member *m, struct ds_queue *q,
		       struct list_head *from, bool draining,
		       const struct net_device *dev, struct list_head *out)
{
	struct ds_stolen *s, *tmp;

	list_for_each_entry_safe(s, tmp, from, node) {
		if (dev && (ds_mutant(no_flush) ||
			    (s->state.in != dev && s->state.out != dev)))
			continue;
		if (draining)
			s->ch->behind[q->kind]--;
		unaccount(q, s);
		list_move_tail(&s->node, out);
	}
}

/**
 * ds_queue_flush() - drop what waits; TCP repeats it
 * @m: the member
 * @q: its hold or gate
 * @dev: only what came from or goes to this device, or NULL for all
 *
 * Context: any that may take member->lock.
 */
void ds_queue_flush(struct ds_member *m, struct ds_queue *q,
		    const struct net_device *dev)
{
	struct ds_stolen *s, *tmp;
	LIST_HEAD(out);

	spin_lock_bh(&m->lock);
	flush_list(m, q, &q->waiting, false, dev, &out);
	flush_list(m, q, &q->draining, true, dev, &out);
	spin_unlock_bh(&m->lock);
	list_for_each_entry_safe(s, tmp, &out, node) {
		count_drop(q, s->ch, s->skb, NULL);
		kfree_skb(s->skb);
		release(s);
	}
}
