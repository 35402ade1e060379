/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Parking: keep every thread of a process out of user mode without interrupting
 * anything.
 *
 * A piece of task work (TWA_RESUME: no signal, no wake-up) is queued on every
 * thread.  A thread is parked when it sits in the callback, on its way to user
 * mode, or when it is asleep in a call with the work pending: it cannot reach
 * user mode without stopping in the callback.  So no system call returns
 * -EINTR, a short count or an early time-out because of a snapshot.
 */
#ifndef _DISTSNAP_PARK_H
#define _DISTSNAP_PARK_H

#include <linux/hashtable.h>
#include <linux/ktime.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

struct ds_member;
struct ds_record;

enum ds_parked_state {
	DS_PARKED_IDLE,
	DS_PARKED_QUEUED,	/* on task->task_works */
	DS_PARKED_CALLBACK,
};

/**
 * struct ds_parked - a thread of a member
 * @node: in park->threads
 * @work: queued again and again, so that parking does not allocate
 * @task: the thread, a reference
 * @member: a reference
 * @ref: one for the table, one while queued or in the callback
 * @state: park->lock
 * @looked: ds_park_look() saw it asleep
 * @switches: its context switches then
 * @exec_id: and how many programs it had run
 */
struct ds_parked {
	struct hlist_node node;
	struct callback_head work;
	struct task_struct *task;
	struct ds_member *member;
	refcount_t ref;
	enum ds_parked_state state;
	bool looked;
	unsigned long switches;
	u32 exec_id;
};

/**
 * struct ds_park - a member's parking place
 * @lock: all of this; also taken by the callbacks; process context
 * @on: threads stop in the callback
 * @release: where they wait
 * @changed: the parker waits here for threads to arrive
 * @threads: struct ds_parked by task; changed by the parker only
 */
struct ds_park {
	spinlock_t lock;
	bool on;
	wait_queue_head_t release;
	wait_queue_head_t changed;
	DECLARE_HASHTABLE(threads, 6);
	unsigned int arrivals;
};

void ds_park_init(struct ds_park *p);
int ds_park(struct ds_member *m, ktime_t deadline, struct ds_record *rec);
int ds_park_look(struct ds_member *m, struct ds_record *rec);
bool ds_park_unmoved(struct ds_member *m);
bool ds_park_complete(struct ds_member *m);
void ds_unpark(struct ds_member *m);
void ds_park_forget(struct ds_member *m);
void ds_park_setup(void);
void ds_park_exit(void);

#endif /* _DISTSNAP_PARK_H */
