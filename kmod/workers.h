/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A group's FIFO workers.  A recording sleeps, so it needs a thread; one per CPU
 * records, and one more begins snapshots and is never kept waiting by a
 * recording.  Each group has its own, so that no group waits for another's agent.
 */
#ifndef _DISTSNAP_WORKERS_H
#define _DISTSNAP_WORKERS_H

#include <linux/kthread.h>
#include <linux/ktime.h>

/**
 * struct ds_workers - constant from creation to destruction
 * @n: how many record
 * @trigger: begins snapshots
 * @record: record members
 */
struct ds_workers {
	unsigned int n;
	struct kthread_worker *trigger;
	struct kthread_worker *record[];
};

struct ds_workers *ds_workers_create(u16 id);
void ds_workers_destroy(struct ds_workers *w);
void ds_workers_pause(ktime_t began);

#endif /* _DISTSNAP_WORKERS_H */
