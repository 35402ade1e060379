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
#include "timers.h"
#include "trace.h"

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
	snap->group = g->id;
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

static void free_cut(struct ds_cut *cut)
{
	struct sk_buff *skb;
	unsigned int i;

	for (i = 0; i < DS_ORIGINS; i++)
		while ((skb = __skb_dequeue(&cut->q[i])))
			ds_forget(cut, skb);
	if (!ds_mutant(leak_cut))
		ds_free(cut, cut);
}

static void free_record(struct ds_record *rec)
{
	struct ds_cut *cut, *tmp;

	list_for_each_entry_safe(cut, tmp, &rec->cuts, node)
		free_cut(cut);
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
	int missed;

	lockdep_assert_held(&m->mutex);
	missed = atomic_xchg(&m->births_missed, 0);
	if (m->rec && missed)
		ds_reason_add(&m->rec->reasons,
			      "member %s: no memory to observe %d new connections",
			      m->name, missed);
	spin_lock_bh(&m->lock);
	rec = m->rec;
	m->rec = NULL;
	m->late_births = 0;
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
		trace_ds_done(m, rec, 0, rec->done_ns, state, 0);
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
	trace_ds_settled(rec, cut, in, flags);
}

/* ds_record_born() - one less that may still be born; context: member->lock */
void ds_record_born(struct ds_member *m)
{
	lockdep_assert_held(&m->lock);
	if (m->late_births && !--m->late_births && m->rec) {
		m->rec->pending--;
		ds_group_wake(m->group, 0);
	}
}

static struct ds_cut *new_cut(struct ds_channel *ch, gfp_t gfp)
{
	struct ds_cut *cut = ds_new(cut, gfp);
	unsigned int i;

	if (!cut)
		return NULL;
	cut->channel = ch->id;
	cut->unborn = ch->unborn;
	cut->inode = ch->inode;
	for (i = 0; i < DS_ORIGINS; i++)
		__skb_queue_head_init(&cut->q[i]);
	return cut;
}

static void copy_identity(struct ds_cut *cut, const struct ds_channel *ch)
{
	cut->unborn = ch->unborn;
	cut->saddr = ch->saddr;
	cut->daddr = ch->daddr;
	cut->sport = ch->sport;
	cut->dport = ch->dport;
	cut->family = ch->family;
	cut->isn = ch->isn;
	cut->peer_isn = ch->peer_isn;
	cut->peer = ch->unborn ? DISTSNAP_PEER_CONNECTING : ch->peer;
}

/**
 * ds_cut_begin() - observe a connection: from now on what comes in is logged
 * @cut: its cut
 * @ch: the channel
 *
 * Context: member->lock.
 */
void ds_cut_begin(struct ds_cut *cut, struct ds_channel *ch)
{
	struct ds_record *rec = cut->rec;
	u32 epoch = rec->snap->epoch;

	lockdep_assert_held(&ch->member->lock);
	copy_identity(cut, ch);
	if (!ds_channel_waits_for_peer(ch))
		return;
	cut->pending_in = true;
	cut->pending_out = true;
	rec->pending += 2;
	cut->logging = !ds_mutant(late_log);
	if (ch->ends.in_epoch == epoch) {
		cut->marker = ch->ends.in_anchor;
		ds_record_settled(rec, cut, true, DISTSNAP_CUT_CLOSED);
	} else if (ds_epoch_after(ch->ends.in_epoch, epoch)) {
		ds_record_settled(rec, cut, true, DISTSNAP_CUT_MISSED);
	}
}

static void add_cut(struct ds_record *rec, struct ds_channel *ch, struct ds_cut *cut)
{
	cut->rec = rec;
	ch->answers = DS_ANSWERS;
	ds_cut_begin(cut, ch);
	list_add_tail(&cut->node, &rec->cuts);
	rec->n_cuts++;
	ch->cut = cut;
}

/**
 * ds_cut_create() - the cut of a connection in a record
 * @rec: the record
 * @ch: the channel
 *
 * Context: process, member->mutex.
 */
struct ds_cut *ds_cut_create(struct ds_record *rec, struct ds_channel *ch)
{
	struct ds_member *m = ch->member;
	struct ds_cut *cut;

	if (!ch->inode && ch->sk->sk_socket)
		ch->inode = sock_i_ino(ch->sk);
	cut = new_cut(ch, GFP_KERNEL);
	if (!cut)
		return NULL;
	spin_lock_bh(&m->lock);
	ds_channel_recheck(ch);
	add_cut(rec, ch, cut);
	spin_unlock_bh(&m->lock);
	return cut;
}

/**
 * ds_cut_bury() - the tombstone of a connection, which its peer may still have
 * @ch: the channel, whose socket ends now
 *
 * Context: the socket's lock, member->lock.
 *
 * Return: it, or NULL without memory: should its peer have recorded the
 * connection, the snapshot will be incomplete.
 */
struct ds_cut *ds_cut_bury(struct ds_channel *ch)
{
	struct ds_cut *tomb = new_cut(ch, GFP_ATOMIC | __GFP_NOWARN);

	lockdep_assert_held(&ch->member->lock);
	if (!tomb) {
		ds_count(ch->member->group->dn, tombs_missed);
		return NULL;
	}
	copy_identity(tomb, ch);
	ds_capture_final(ch, tomb);
	tomb->died = jiffies;
	return tomb;
}

/**
 * ds_cut_remove() - take the cut of a connection that ended before it was captured
 *	out of its record: its tombstone takes its place
 * @cut: settled
 *
 * Context: process, member->mutex, member->lock.
 */
void ds_cut_remove(struct ds_cut *cut)
{
	list_del(&cut->node);
	cut->rec->n_cuts--;
	free_cut(cut);
}

/**
 * ds_record_tombs() - the tombstones of a member become part of its record
 * @m: the member, captured
 * @rec: its record
 *
 * A peer that recorded before the end of a connection has a cut of it.
 *
 * Context: process, member->mutex.
 */
int ds_record_tombs(struct ds_member *m, struct ds_record *rec)
{
	unsigned long age = ds_group_snap_max(m->group);
	struct ds_cut *tomb, *cut;
	unsigned int i;

	lockdep_assert_held(&m->mutex);
	list_for_each_entry(tomb, &m->tombs, node) {
		if (ds_mutant(no_tombs) || time_after(jiffies, tomb->died + age))
			continue;
		cut = ds_new(cut, GFP_KERNEL);
		if (!cut)
			return -ENOMEM;
		*cut = *tomb;
		cut->rec = rec;
		for (i = 0; i < DS_ORIGINS; i++)
			__skb_queue_head_init(&cut->q[i]);
		spin_lock_bh(&m->lock);
		list_add_tail(&cut->node, &rec->cuts);
		rec->n_cuts++;
		spin_unlock_bh(&m->lock);
	}
	return 0;
}

/**
 * ds_cut_born() - the cut of a connection that was born after the recording
 * @rec: the record, published and open
 * @ch: the channel, of which no byte has come or gone
 *
 * At the recording both directions stood at their beginning.
 *
 * Context: member->lock.
 */
void ds_cut_born(struct ds_record *rec, struct ds_channel *ch)
{
	struct ds_member *m = ch->member;
	/* Where SYNs have crossed it may have been recorded as unborn. */
	struct ds_cut *cut = ch->cut ?: new_cut(ch, GFP_ATOMIC | __GFP_NOWARN);

	lockdep_assert_held(&m->lock);
	if (!cut) {
		ds_count(m->group->dn, births_missed);
		atomic_inc(&m->births_missed);
		return;
	}
	cut->flags = DISTSNAP_CUT_BORN;
	cut->tcp_state = TCP_SYN_RECV;
	cut->snd_una = ch->isn + 1;
	cut->rcv_nxt = ch->peer_isn + 1;
	cut->born = true;
	cut->captured = true;
	if (!ch->cut)
		add_cut(rec, ch, cut);
	else
		ds_cut_begin(cut, ch);
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
