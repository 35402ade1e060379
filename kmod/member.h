/* SPDX-License-Identifier: GPL-2.0 */
/* A member: a process that is recorded as one unit. */
#ifndef _DISTSNAP_MEMBER_H
#define _DISTSNAP_MEMBER_H

#include <linux/completion.h>
#include "group.h"
#include "park.h"
#include "queue.h"
#include "record.h"
#include "snapshot.h"
#include "trace.h"

/**
 * struct ds_member - a member
 * @node: in group->members; group->mutex
 * @group: its group, a reference
 * @id: on this node, never reused
 * @name: for people and file names
 * @pid: the thread group, a reference
 * @ref: channels, parked threads and works hold references
 * @mutex: recording, tracking and leaving; process context, held for a whole
 *	recording
 * @channels: struct ds_channel.  Added under @lock, where a softirq gives birth
 *	to one, with list_add_tail_rcu(); deleted under @mutex and @lock.  So either
 *	will do to walk it
 * @listeners: the same of listening sockets
 * @lock: all that follows and the ends and cuts of all channels; BH.  Nothing
 *	sleeps and no socket is locked under it
 * @colour: see snapshot.h
 * @rec: the record of the current or last epoch until it is finished
 * @next_rec: the record of the epoch in @colour until the worker takes it
 * @triggered: when; @flags: DISTSNAP_F_* of the trigger
 * @recorded_light: the last recording had no image
 * @published_us: when it was recorded last (tcp_clock_us())
 * @late_births: connections that may still be born of handshakes that were under
 *	way then; while there are any, a direction is pending
 * @hold: incoming segments that wait
 * @gate: outgoing segments that wait
 * @gone: has left the group; not to be recorded any more
 * @abort: an epoch that somebody wants aborted
 * @tombs: struct ds_cut, of connections that ended lately; @n_tombs; @mutex
 * @unseen: sockets of the member that cannot be recorded, at the last scan:
 *	MPTCP, closed with bytes unread, or of another namespace; @mutex
 * @births_missed: connections that were not tracked from their beginning for lack of
 *	memory, since the last record was finished
 * @dead: the process has ended, and only connections of it are left; @mutex
 * @foreign: how many of its sockets are another member's; @shares: files or tables
 *	of it may have more users; both at the last scan; @mutex
 * @asking: the agent is asked for the local state of the epoch in @colour
 * @status: its answer, a positive errno or 0, and @message its words
 * @park: see park.h
 * @record_work: runs a recording on a FIFO worker
 * @answered: the agent has recorded the local state, @status says how
 * @ended: whoever waits for @round to change: a recording has ended
 * @round: counts recordings; @lock
 */
struct ds_member {
	struct list_head node;
	struct ds_group *group;
	u32 id;
	char name[DISTSNAP_NAME_MAX + 1];
	struct pid *pid;
	refcount_t ref;
	struct rcu_head rcu;
	struct mutex mutex;
	struct list_head channels;
	struct list_head listeners;
	struct list_head tombs;
	unsigned int n_tombs;
	unsigned int n_channels;
	spinlock_t lock;
	struct ds_colour colour;
	struct ds_record *rec;
	struct ds_record *next_rec;
	ktime_t triggered;
	u32 flags;
	bool recorded_light;
	u64 published_us;
	unsigned int late_births;
	struct ds_queue hold;
	struct ds_queue gate;
	bool gone;
	bool asking;
	u32 abort;
	unsigned int unseen;
	atomic_t births_missed;
	bool dead;
	unsigned int foreign;
	bool shares;
	int status;
	char message[64];
	struct ds_park park;
	struct kthread_work record_work;
	struct completion answered;
	wait_queue_head_t ended;
	unsigned int round;
};

struct ds_member *ds_member_join(struct ds_group *g, struct pid *pid,
				 const char *name);
void ds_member_leave(struct ds_member *m);
void ds_member_get(struct ds_member *m);
void ds_member_put(struct ds_member *m);
struct ds_member *ds_member_by_pid(struct ds_group *g, struct pid *pid);
struct ds_member *ds_member_of_rcu(struct ds_net *dn, const struct pid *pid);
struct ds_member *ds_member_by_id(struct ds_group *g, u32 id);
bool ds_member_is_dead(const struct ds_member *m);
int ds_member_scan(struct ds_member *m);
bool ds_member_trigger(struct ds_member *m, u32 epoch, bool light, enum ds_how how,
		       const struct ds_channel *ch, const struct ds_seg *seg);
void ds_member_record(struct kthread_work *work);
void ds_member_bury(struct ds_member *m, struct ds_cut *tomb);
void ds_member_forget(struct ds_member *m, bool all);
void ds_member_drain(struct ds_member *m);
bool ds_member_given_up(struct ds_member *m);
void ds_member_abort(struct ds_member *m, u32 epoch);

#endif /* _DISTSNAP_MEMBER_H */
