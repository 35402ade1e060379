// SPDX-License-Identifier: GPL-2.0
/* Snapshots, records, cuts: creation, progress and end. */
#include <linux/pid.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <net/tcp.h>

#include "capture.h"
#include "channel.h"
#include "member.h"
#include "mutant.h"
#include "netlink.h"
#include "objects.h"
#include "record.h"

/* ds_snap_find() - the snapshot of an epoch; context: group->mutex */
struct ds_snap *ds_snap_find(struct ds_group *g, u32 epoch)
{
	struct ds_snap *snap;

	lockdep_assert_held(&g->mutex);
	list_for_each_entry(snap, &g->snaps, node)
		if (snap->epoch == epoch)
			return snap;
	return NULL;
}

/* Does a member still point into it?  Pairs with ds_record_detach(). */
bool ds_record_is_open(const struct ds_record *rec)
{
	switch (smp_load_acquire(&rec->state)) {
	case DISTSNAP_S_TRIGGERED:
	case DISTSNAP_S_CAPTURED:
	case DISTSNAP_S_RECORDED:
		return true;
	default:
		return false;
	}
}

bool ds_snap_is_open(const struct ds_snap *snap)
{
	return snap->state == DISTSNAP_S_TRIGGERED;
}

bool ds_group_has_open(struct ds_group *g)
{
	struct ds_snap *snap;

	list_for_each_entry(snap, &g->snaps, node)
		if (ds_snap_is_open(snap))
			return true;
	return false;
}

/* What nobody fetched gives way to what is newer. */
static void forget_old(struct ds_group *g)
{
	struct ds_snap *snap, *tmp;
	unsigned int n = 0;

	list_for_each_entry_safe(snap, tmp, &g->snaps, node)
		if (!ds_snap_is_open(snap) && ++n > DS_SNAPS_KEPT)
			ds_snap_free(snap);
}

/**
 * ds_snap_get_or_create() - the snapshot of an epoch
 * @g: the group
 * @epoch: the epoch
 * @flags: DISTSNAP_F_*, if it is new
 * @t0: when it was triggered, if it is new
 *
 * Context: process, group->mutex.
 *
 * Return: the snapshot.
 */
struct ds_snap *ds_snap_get_or_create(struct ds_group *g, u32 epoch, u32 flags,
				      ktime_t t0)
{
	struct ds_snap *snap = ds_snap_find(g, epoch);

	if (snap)
		return snap;
	forget_old(g);
	/* A member must not be missing without anybody knowing. */
	snap = ds_new(snap, GFP_KERNEL | __GFP_NOFAIL);
	snap->epoch = epoch;
	snap->flags = flags;
	snap->state = DISTSNAP_S_TRIGGERED;
	snap->t0 = t0;
	snap->realtime = ktime_get_real_ns() - ktime_to_ns(ktime_sub(ktime_get(), t0));
	INIT_LIST_HEAD(&snap->records);
	INIT_LIST_HEAD(&snap->reasons);
	list_add(&snap->node, &g->snaps);
	return snap;
}

static void free_reasons(struct list_head *reasons)
{
	struct ds_reason *r, *tmp;

	list_for_each_entry_safe(r, tmp, reasons, node)
		kfree(r);
}

void ds_threads_free(struct ds_thread *threads, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		put_pid(threads[i].tid);
		kfree(threads[i].fpregs);
	}
	kvfree(threads);
}

static void free_record(struct ds_record *rec)
{
	struct ds_cut *cut, *tmp;
	struct sk_buff *skb;
	unsigned int i;

	list_for_each_entry_safe(cut, tmp, &rec->cuts, node) {
		for (i = 0; i < DS_ORIGINS; i++)
			while ((skb = __skb_dequeue(&cut->q[i])))
				ds_forget(cut, skb);
		if (!ds_mutant(leak_cut))
			ds_free(cut, cut);
	}
	ds_threads_free(rec->threads, rec->n_threads);
	free_reasons(&rec->reasons);
	put_pid(rec->pid);
	ds_free(record, rec);
}

/* ds_snap_free() - context: group->mutex; nobody points into it any more */
void ds_snap_free(struct ds_snap *snap)
{
	struct ds_record *rec, *tmp;

	list_for_each_entry_safe(rec, tmp, &snap->records, node)
		free_record(rec);
	free_reasons(&snap->reasons);
	WARN_ON_ONCE(atomic64_read(&snap->bytes));
	list_del(&snap->node);
	ds_free(snap, snap);
}

/* Worst first: what a snapshot is follows from its worst record. */
static enum distsnap_state worse(enum distsnap_state a, enum distsnap_state b)
{
	static const enum distsnap_state order[] = {
		DISTSNAP_S_ABORTED, DISTSNAP_S_SUPERSEDED, DISTSNAP_S_EXPIRED,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(order); i++)
		if (a == order[i] || b == order[i])
			return order[i];
	return DISTSNAP_S_DONE;
}

/**
 * ds_snap_finish() - nothing more will be recorded for this epoch here
 * @g: the group
 * @snap: its snapshot, all of whose records are detached
 *
 * Context: process, group->mutex.
 */
void ds_snap_finish(struct ds_group *g, struct ds_snap *snap)
{
	enum distsnap_state state = DISTSNAP_S_DONE;
	struct ds_record *rec;

	lockdep_assert_held(&g->mutex);
	list_for_each_entry(rec, &snap->records, node)
		state = worse(state, rec->state);
	/* A member that was not recorded at all left a reason here. */
	if (list_empty(&snap->records) || !list_empty(&snap->reasons))
		state = worse(state, DISTSNAP_S_ABORTED);
	snap->state = state;
	ds_agent_done(g, snap);
}

/**
 * ds_reason_add() - say why something is incomplete
 * @reasons: list of the snapshot or record
 * @fmt: a sentence without a full stop
 *
 * Context: process, the mutex of the list's owner.
 */
void ds_reason_add(struct list_head *reasons, const char *fmt, ...)
{
	struct ds_reason *r;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	/* It may be all that tells that the snapshot is incomplete. */
	r = kmalloc(sizeof(*r) + n + 1, GFP_KERNEL | __GFP_NOFAIL);
	va_start(args, fmt);
	vsnprintf(r->text, n + 1, fmt, args);
	va_end(args);
	list_add_tail(&r->node, reasons);
}

/**
 * ds_record_create() - the record of a member in a snapshot
 * @snap: the snapshot
 * @m: the member
 *
 * Context: process, group->mutex and member->mutex.
 */
struct ds_record *ds_record_create(struct ds_snap *snap, struct ds_member *m)
{
	struct ds_record *rec = ds_new(record, GFP_KERNEL);

	if (!rec)
		return NULL;
	rec->snap = snap;
	rec->member = m->id;
	strscpy(rec->name, m->name, sizeof(rec->name));
	rec->pid = get_pid(m->pid);
	rec->state = DISTSNAP_S_TRIGGERED;
	INIT_LIST_HEAD(&rec->cuts);
	INIT_LIST_HEAD(&rec->reasons);
	list_add_tail(&rec->node, &snap->records);
	snap->n_records++;
	return rec;
}

/**
 * ds_record_detach() - a record is finished: nobody points into it any more
 * @m: the member
 * @state: how it ended
 *
 * What is still unanswered counts as missed, so that nothing is marked for an
 * epoch that is over.
 *
 * Context: process, member->mutex.
 */
void ds_record_detach(struct ds_member *m, enum distsnap_state state)
{
	struct ds_channel *ch;
	struct ds_record *rec;

	lockdep_assert_held(&m->mutex);
	spin_lock_bh(&m->lock);
	rec = m->rec;
	m->rec = NULL;
	list_for_each_entry(ch, &m->channels, node) {
		if (ch->cut)
			ch->cut->logging = false;
		ch->cut = NULL;
		if (ch->ends.out_state != DS_OUT_ARMED)
			continue;
		ch->ends.out_state = DS_OUT_MISSED;
		/* Perhaps it is no member any more: ask again. */
		if (state == DISTSNAP_S_EXPIRED &&
		    ch->peer == DISTSNAP_PEER_MEMBER) {
			ch->peer = DISTSNAP_PEER_UNKNOWN;
			ch->probes = DS_PROBES_AGAIN;
		}
	}
	if (rec) {
		rec->done_ns = ktime_to_ns(ktime_sub(ktime_get(), rec->snap->t0));
		/* Last: from here on the tick may finish and free it. */
		smp_store_release(&rec->state, state);
	}
	spin_unlock_bh(&m->lock);
}

/**
 * ds_record_settled() - a direction of a cut has come to its end
 * @rec: the record
 * @cut: the cut
 * @in: the incoming direction, else the outgoing one
 * @flags: how, DISTSNAP_CUT_*
 *
 * Context: member->lock.
 */
void ds_record_settled(struct ds_record *rec, struct ds_cut *cut, bool in,
		       u32 flags)
{
	bool *pending = in ? &cut->pending_in : &cut->pending_out;

	if (!*pending)
		return;
	*pending = false;
	cut->flags |= flags;
	if (in)
		cut->logging = false;
	rec->pending--;
}

/**
 * ds_cut_create() - begin to observe a connection for a record
 * @rec: the record
 * @ch: the channel; from now on what comes in is logged
 *
 * Context: process, member->mutex.
 */
struct ds_cut *ds_cut_create(struct ds_record *rec, struct ds_channel *ch)
{
	struct ds_cut *cut = ds_new(cut, GFP_KERNEL);
	struct ds_member *m = ch->member;
	unsigned int i;

	if (!cut)
		return NULL;
	cut->rec = rec;
	cut->channel = ch->id;
	cut->saddr = ch->saddr;
	cut->daddr = ch->daddr;
	cut->sport = ch->sport;
	cut->dport = ch->dport;
	cut->family = ch->family;
	cut->isn = ch->isn;
	cut->peer_isn = ch->peer_isn;
	cut->inode = ch->inode;
	for (i = 0; i < DS_ORIGINS; i++)
		__skb_queue_head_init(&cut->q[i]);

	ds_channel_recheck(ch);
	spin_lock_bh(&m->lock);
	cut->peer = ch->peer;
	if (ds_channel_waits_for_peer(ch)) {
		cut->pending_in = true;
		cut->pending_out = true;
		rec->pending += 2;
		cut->logging = !ds_mutant(late_log);
		if (ch->ends.in_epoch == m->colour.current_epoch) {
			cut->marker = ch->ends.in_anchor;
			ds_record_settled(rec, cut, true, DISTSNAP_CUT_CLOSED);
		} else if (ds_epoch_after(ch->ends.in_epoch,
					  m->colour.current_epoch)) {
			ds_record_settled(rec, cut, true, DISTSNAP_CUT_MISSED);
		}
	}
	list_add_tail(&cut->node, &rec->cuts);
	rec->n_cuts++;
	ch->cut = cut;
	spin_unlock_bh(&m->lock);
	return cut;
}

/**
 * ds_cut_offset() - a sequence number as a stream offset
 * @cut: captured
 * @origin: tells the direction
 * @seq: within 2^31 of the captured positions
 */
u64 ds_cut_offset(const struct ds_cut *cut, enum distsnap_origin origin, u32 seq)
{
	if (origin == DISTSNAP_ORIGIN_SENDQ)
		return cut->out_una + (s32)(seq - cut->snd_una);
	return cut->in_next + (s32)(seq - cut->rcv_nxt);
}
