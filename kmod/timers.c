// SPDX-License-Identifier: GPL-2.0
/* The group's tick; see timers.h. */
#include <net/tcp.h>

#include "channel.h"
#include "fault.h"
#include "member.h"
#include "netlink.h"
#include "timers.h"

/* Has the record of the last epoch come to its end? */
static bool record_tick(struct ds_member *m)
{
	struct ds_record *rec = m->rec;
	bool done, expired, aborted;
	ktime_t end;

	if (!rec)
		return false;
	end = ktime_add_ms(rec->snap->t0, READ_ONCE(m->group->limits.snap_max));
	spin_lock_bh(&m->lock);
	/* Should the last ACK be lost, TCP repeats the SYN-ACK after a second. */
	if (m->late_births && tcp_clock_us() - m->published_us > 2 * USEC_PER_SEC) {
		ds_count_add(m->group->dn, births_late, m->late_births);
		m->late_births = 1;
		ds_record_born(m);
	}
	done = !rec->pending;
	aborted = m->abort == rec->snap->epoch;
	spin_unlock_bh(&m->lock);
	expired = ktime_after(ktime_get(), end);
	if (!done && !expired && !aborted)
		return true;
	ds_fault(detaching, m);
	if (aborted) {
		ds_reason_add(&rec->reasons, "member %s: aborted by request", m->name);
		ds_record_detach(m, DISTSNAP_S_ABORTED);
		return false;
	}
	if (!done) {
		ds_count(m->group->dn, expired);
		ds_reason_add(&rec->reasons,
			      "member %s: %u markers or answers did not come in time",
			      m->name, rec->pending);
	}
	ds_record_detach(m, done ? DISTSNAP_S_DONE : DISTSNAP_S_EXPIRED);
	return false;
}

/*
 * One member's turn; true while it has something going on.  @greets: set if it has
 * only to go on saying something, which needs no tick.
 */
static bool member_tick(struct ds_member *m, unsigned long *next, bool *greets)
{
	struct ds_channel *ch, *tmp;
	unsigned long now = jiffies;
	bool busy;

	lockdep_assert_held(&m->mutex);
	list_for_each_entry_safe(ch, tmp, &m->channels, node)
		ds_channel_tick(ch, now, next);
	list_for_each_entry_safe(ch, tmp, &m->listeners, node)
		ds_channel_bury(ch);
	ds_member_forget(m, false);
	busy = record_tick(m);
	list_for_each_entry(ch, &m->channels, node) {
		*greets |= READ_ONCE(ch->greeting);
		busy |= ch->ends.answer_due || ch->probe_due || ch->reply_due ||
			ch->peer == DISTSNAP_PEER_UNKNOWN ||
			(READ_ONCE(ch->greeting) ? ch->probes : READ_ONCE(ch->room));
	}
	return busy;
}

/* An epoch of which nothing is left to be recorded here ends. */
static bool snaps_tick(struct ds_group *g)
{
	struct ds_snap *snap, *tmp;
	struct ds_record *rec;
	struct ds_member *m;
	bool open = false;

	list_for_each_entry_safe(snap, tmp, &g->snaps, node) {
		bool busy = false;

		if (!ds_snap_is_open(snap))
			continue;
		list_for_each_entry(m, &g->members, node) {
			spin_lock_bh(&m->lock);
			busy |= m->colour.current_epoch == snap->epoch;
			spin_unlock_bh(&m->lock);
		}
		list_for_each_entry(rec, &snap->records, node)
			busy |= ds_record_is_open(rec);
		if (!busy)
			ds_snap_finish(g, snap);
		open |= busy;
	}
	return open;
}

void ds_tick(struct work_struct *work)
{
	struct ds_group *g = container_of(work, struct ds_group, tick.work);
	unsigned long next = jiffies + DS_TICK_IDLE;
	struct ds_member *m, *tmp;
	bool busy = false, greets = false, scan, scanned = true;

	spin_lock_bh(&g->lock);
	scan = g->scan_wanted;
	spin_unlock_bh(&g->lock);

	mutex_lock(&g->mutex);
	list_for_each_entry_safe(m, tmp, &g->members, node) {
		/* Being recorded: its worker minds its own deadlines. */
		if (!mutex_trylock(&m->mutex)) {
			busy = true;
			scanned = false;
			continue;
		}
		if (scan && ds_member_scan(m) == -EAGAIN)
			scanned = false;
		busy |= member_tick(m, &next, &greets);
		mutex_unlock(&m->mutex);
		if (!m->n_channels && !m->rec && ds_member_is_dead(m))
			ds_member_leave(m);
	}
	if (scan && scanned) {
		spin_lock_bh(&g->lock);
		g->scanned = jiffies;
		g->scan_wanted = false;
		spin_unlock_bh(&g->lock);
	}
	busy |= scan && !scanned;
	busy |= snaps_tick(g);
	mutex_unlock(&g->mutex);

	if (busy && time_after(next, jiffies + DS_TICK_BUSY))
		next = jiffies + DS_TICK_BUSY;
	spin_lock_bh(&g->lock);
	if (g->dead) {
		spin_unlock_bh(&g->lock);
		return;
	}
	if (!busy && !greets && !delayed_work_pending(&g->tick) && !g->want) {
		if (g->active)
			atomic_dec(&g->dn->active);
		g->active = false;
	}
	/* Unless somebody woke us meanwhile. */
	if (queue_delayed_work(ds_wq, &g->tick,
			       time_after(next, jiffies) ? next - jiffies : 0))
		g->due = next;
	spin_unlock_bh(&g->lock);
}
