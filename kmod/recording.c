// SPDX-License-Identifier: GPL-2.0
/*
 * Recording a member, from the trigger to the release:
 *
 *	 0. the trigger, in softirq or from TAKE: red segments are held
 *	 1. its sockets become channels, each gets a cut: what comes in is logged
 *	 2. park every thread; a grace period ends meanwhile, so that no segment
 *	    is between the hook and the queues that has not met the log
 *	 3. capture sockets and threads at one instant; anchors are armed, and what
 *	    goes beyond them waits at the gate
 *	 4. the agent records the local state
 *	 5. one store publishes: all anchors are markers
 *	 6. release the threads, then the gate, then the hold
 *	 7. one pure ACK per channel, so that an idle one learns of it too
 *
 * Any failure before 5 aborts: the same releases, and peers hear NAK.
 */
#include <linux/delay.h>
#include <linux/rcupdate.h>
#include <net/tcp.h>

#include "capture.h"
#include "channel.h"
#include "fault.h"
#include "handshake.h"
#include "member.h"
#include "mutant.h"
#include "netlink.h"
#include "outsider.h"
#include "timers.h"
#include "trace.h"

static u64 since(const struct ds_record *rec)
{
	return ktime_to_ns(ktime_sub(ktime_get(), rec->snap->t0));
}

/* Sockets that are not tracked or have no cut yet. */
static int observe(struct ds_member *m, struct ds_record *rec, ktime_t deadline)
{
	struct ds_channel *ch, *tmp;
	ktime_t began = ktime_get();
	int ret, new = 0;

	while ((ret = ds_member_scan(m)) == -EAGAIN) {
		if (ds_member_given_up(m))
			return -ECANCELED;
		if (ktime_after(ktime_get(), deadline)) {
			ds_reason_add(&rec->reasons,
				      "member %s: a new socket stays busy", m->name);
			return -ETIMEDOUT;
		}
		ds_workers_pause(began);
		began = ktime_get();
	}
	if (!ret && m->unseen && list_empty(&rec->reasons))
		ds_reason_add(&rec->reasons,
			      "member %s: %u of its sockets cannot be recorded (MPTCP, closed with bytes unread, or of another namespace)",
			      m->name, m->unseen);
	if (ret < 0)
		return ret;
	list_for_each_entry_safe(ch, tmp, &m->channels, node) {
		if (ds_channel_bury(ch))
			continue;
		if (!ch->cut) {
			if (!ds_cut_create(rec, ch))
				return -ENOMEM;
			new++;
		} else if (ch->cut->unborn) {
			spin_lock_bh(&m->lock);
			if (!ch->unborn) {
				ds_cut_begin(ch->cut, ch);
				new++;
			}
			spin_unlock_bh(&m->lock);
		}
	}
	return new;
}

/* The limits that the user can raise, in the words that he set them by. */
static void too_late(struct ds_member *m, struct ds_record *rec, const char *what)
{
	ds_reason_add(&rec->reasons,
		      "member %s: %s in time (group --pause-max is %u ms, --record-max %u ms)",
		      m->name, what, READ_ONCE(m->group->limits.pause_max),
		      READ_ONCE(m->group->limits.record_max));
}

/* Ask the agent for the local state and wait for it, within the pause. */
static int local_state(struct ds_member *m, struct ds_record *rec, ktime_t deadline)
{
	s64 left = ktime_us_delta(deadline, ktime_get());
	bool asked;
	int err = 0;

	if (m->flags & DISTSNAP_F_LIGHT || m->dead)
		return 0;
	if (left <= 0) {
		too_late(m, rec, "it was not parked and captured");
		return -ETIMEDOUT;
	}
	reinit_completion(&m->answered);
	spin_lock_bh(&m->lock);
	m->asking = true;
	m->status = 0;
	m->message[0] = 0;
	spin_unlock_bh(&m->lock);
	asked = ds_agent_ask(m, rec->snap->epoch, left);
	ds_fault(asked, m);
	if (!asked) {
		ds_reason_add(&rec->reasons,
			      "member %s: no agent to record its memory: start one, or take --light",
			      m->name);
		err = -ENOTCONN;
	} else if (!ds_member_given_up(m) &&
		   !wait_for_completion_timeout(&m->answered,
						usecs_to_jiffies(left))) {
		too_late(m, rec, "the agent did not record its memory");
		err = -ETIMEDOUT;
	} else if (m->status) {
		ds_reason_add(&rec->reasons, "member %s: the agent failed: %s",
			      m->name, m->message);
		err = -m->status;
	} else {
		rec->flags |= DISTSNAP_F_IMAGE;
	}
	spin_lock_bh(&m->lock);
	m->asking = false;
	spin_unlock_bh(&m->lock);
	return ds_member_given_up(m) ? -ECANCELED : err;
}

/* Steps 1 to 4. */
static int record(struct ds_member *m, struct ds_record *rec)
{
	u32 record_max = READ_ONCE(m->group->limits.record_max);
	u32 pause_max = READ_ONCE(m->group->limits.pause_max);
	ktime_t deadline = ktime_add_ms(m->triggered, record_max);
	unsigned long grace;
	ktime_t pause_end;
	int err;

	if (ds_mutant(no_grace))
		msleep(20);	/* for segments to come before the log is on */
	err = observe(m, rec, deadline);
	if (err < 0)
		return err;
	smp_mb();	/* the log is on before the grace period begins */
	grace = start_poll_synchronize_rcu_expedited();
	ds_fault(observed, m);

	rec->park_ns = since(rec);
	pause_end = ktime_add_ms(ktime_get(), pause_max);
	if (ktime_before(pause_end, deadline))
		deadline = pause_end;
	err = ds_park(m, deadline, rec);
	if (err)
		return err;
	rec->parked_ns = since(rec);
	trace_ds_parked(m, rec, rec->park_ns, rec->parked_ns, rec->state, 0);
	ds_fault(parked, m);
	if (!ds_mutant(no_grace))
		cond_synchronize_rcu_expedited(grace);
	do {
		/* Sockets that came while the threads were on their way. */
		while ((err = observe(m, rec, deadline)) > 0)
			synchronize_rcu_expedited();
		if (!err)
			err = ds_capture(m, rec, deadline);
	} while (err == -EAGAIN);
	if (!err)
		err = ds_record_tombs(m, rec);
	if (err)
		return err;
	if (m->foreign)
		ds_reason_add(&rec->reasons,
			      "member %s: %u of its connections are another member's as well",
			      m->name, m->foreign);
	ds_outsiders_look(m, rec);
	rec->captured_ns = since(rec);
	trace_ds_captured(m, rec, rec->parked_ns, rec->captured_ns, rec->state, 0);
	ds_fault(captured, m);
	err = local_state(m, rec, deadline);
	if (!err && !ds_park_complete(m)) {
		ds_reason_add(&rec->reasons,
			      "member %s: it ended, or a thread began, while it was recorded",
			      m->name);
		err = -ECANCELED;
	}
	return err;
}

/*
 * Step 5, or its opposite.  A newer marker that came meanwhile triggers in the
 * same instant, so that nothing red for it slips through.  Returns its epoch or 0.
 */
static u32 settle(struct ds_member *m, struct ds_record *rec, int err)
{
	struct ds_channel *ch, *from = NULL;
	bool light = false, ok = !err;
	u32 epoch, newer = 0;

	spin_lock_bh(&m->lock);
	if (ok) {
		ds_publish(&m->colour);
		rec->state = DISTSNAP_S_RECORDED;
		m->recorded_light = m->flags & DISTSNAP_F_LIGHT;
		m->published_us = tcp_clock_us();
		/* Their SYN-ACKs did not yet show this epoch. */
		m->late_births = ds_handshakes_open(m);
		rec->pending += !!m->late_births;
	} else {
		trace_ds_aborted(m, rec, 0, 0, DISTSNAP_S_ABORTED, err);
		ds_abort(&m->colour);
	}
	list_for_each_entry(ch, &m->channels, node) {
		if (!ok)
			ds_disarm(&ch->ends);
		if (ds_mutant(publish_piecemeal) && ds_is_marking(&m->colour, &ch->ends))
			ch->ends.out_state = DS_OUT_CLEAR;
		epoch = ds_answer_kept(&m->colour, &ch->ends, rec->snap->epoch);
		if (ds_epoch_after(epoch, newer)) {
			newer = epoch;
			from = ch;
			light = ch->ends.in_light;
		}
	}
	rec->recorded_ns = ok ? since(rec) : 0;
	if (ok)
		trace_ds_recorded(m, rec, rec->captured_ns, rec->recorded_ns, rec->state, 0);
	if (newer && !ds_member_trigger(m, newer, light, DS_HOW_MARKER, from, NULL))
		newer = 0;
	ds_queue_release(&m->gate);
	ds_queue_release(&m->hold);
	spin_unlock_bh(&m->lock);
	return newer;
}

/* Step 7. */
static void speak(struct ds_member *m)
{
	struct ds_channel *ch;

	list_for_each_entry(ch, &m->channels, node) {
		bool due;

		if (ds_mutant(publish_piecemeal))
			usleep_range(3000, 5000);
		spin_lock_bh(&m->lock);
		if (ds_mutant(publish_piecemeal) && ch->ends.out_epoch == m->colour.recorded)
			ch->ends.out_state = DS_OUT_ARMED;
		due = ds_is_marking(&m->colour, &ch->ends) ||
		      ds_answer_waits(&m->colour, &ch->ends);
		spin_unlock_bh(&m->lock);
		if (!due)
			continue;
		ch->backoff = DS_MARKER_MIN;
		ch->next = jiffies + (ds_channel_speak(ch) ? ch->backoff : 0);
	}
}

/**
 * ds_member_record() - record a member that was triggered
 * @work: member->record_work
 */
void ds_member_record(struct kthread_work *work)
{
	struct ds_member *m = container_of(work, struct ds_member, record_work);
	struct ds_group *g = m->group;
	struct ds_channel *ch;
	struct ds_record *rec;
	u32 newer;
	int err;

	mutex_lock(&m->mutex);
	/* A newer epoch ends the older one, whose channels stay as they are. */
	if (m->rec) {
		bool done = !READ_ONCE(m->rec->pending);

		if (!done)
			ds_reason_add(&m->rec->reasons,
				      "member %s: a newer snapshot came first", m->name);
		ds_record_detach(m, done ? DISTSNAP_S_DONE : DISTSNAP_S_SUPERSEDED);
	}
	spin_lock_bh(&m->lock);
	rec = m->rec = m->next_rec;
	m->next_rec = NULL;
	if (m->colour.phase == DS_IDLE || !rec) {
		if (m->colour.phase != DS_IDLE) {
			trace_ds_aborted(m, rec, 0, 0, DISTSNAP_S_ABORTED, -ECANCELED);
			ds_abort(&m->colour);
			ds_count(g->dn, aborted);
		}
		list_for_each_entry(ch, &m->channels, node)
			ds_answer_kept(&m->colour, &ch->ends, m->colour.consumed);
		ds_queue_release(&m->gate);
		ds_queue_release(&m->hold);
		spin_unlock_bh(&m->lock);
		ds_member_drain(m);
		if (rec) {
			ds_reason_add(&rec->reasons, "member %s: it was not recorded",
				      m->name);
			ds_record_detach(m, DISTSNAP_S_ABORTED);
		}
		goto out;
	}
	spin_unlock_bh(&m->lock);

	ds_fault(triggered, m);
	err = record(m, rec);
	newer = settle(m, rec, err);
	ds_fault(settled, m);
	ds_unpark(m);
	trace_ds_released(m, rec, rec->park_ns, 0, rec->state, 0);
	ds_fault(unparked, m);
	ds_member_drain(m);
	ds_fault(drained, m);
	if (ds_mutant(no_recheck))
		msleep(20);	/* it is read before the next recording */
	if (err) {
		ds_count(g->dn, aborted);
		if (list_empty(&rec->reasons))
			ds_reason_add(&rec->reasons, err == -ECANCELED ?
				      "member %s: its recording was given up by request" :
				      "member %s: no memory to record it", m->name);
		ds_capture_undo(m);
		ds_record_detach(m, DISTSNAP_S_ABORTED);
	} else {
		ds_count(g->dn, recorded);
	}
	spin_lock_bh(&m->lock);
	m->round++;
	spin_unlock_bh(&m->lock);
	wake_up_all(&m->ended);
	speak(m);
	if (newer)
		ds_group_want(g, newer, m->flags);
	ds_fault(recorded, m);
out:
	mutex_unlock(&m->mutex);
	ds_group_wake(g, 0);
}
