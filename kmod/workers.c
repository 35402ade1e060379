// SPDX-License-Identifier: GPL-2.0
/* FIFO workers; see workers.h. */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "workers.h"

static struct kthread_worker *new_worker(u16 id, const char *what, unsigned int i)
{
	struct kthread_worker *w = kthread_create_worker(0, "distsnap/%u-%s%u",
							 id, what, i);

	if (IS_ERR(w))
		return NULL;
	sched_set_fifo(w->task);
	return w;
}

/**
 * ds_workers_create() - the workers of a group
 * @id: the group's, for their names
 *
 * Context: process.
 *
 * Return: the workers, NULL without memory.
 */
struct ds_workers *ds_workers_create(u16 id)
{
	unsigned int max = num_online_cpus();
	struct ds_workers *w = kzalloc(struct_size(w, record, max), GFP_KERNEL);

	if (!w)
		return NULL;
	w->trigger = new_worker(id, "t", 0);
	for (w->n = 0; w->trigger && w->n < max; w->n++) {
		w->record[w->n] = new_worker(id, "r", w->n);
		if (!w->record[w->n])
			break;
	}
	if (w->n < max) {
		ds_workers_destroy(w);
		return NULL;
	}
	return w;
}

/* ds_workers_destroy() - with nothing queued any more; context: process */
void ds_workers_destroy(struct ds_workers *w)
{
	while (w->n)
		kthread_destroy_worker(w->record[--w->n]);
	if (w->trigger)
		kthread_destroy_worker(w->trigger);
	kfree(w);
}

/**
 * ds_workers_pause() - between two looks at what others have still to do
 * @began: when the last look began
 *
 * At least twice as long as that look took: who is waited for may need this very CPU,
 * and a FIFO thread never gives way.
 *
 * Context: a worker.
 */
void ds_workers_pause(ktime_t began)
{
	unsigned long took = clamp_t(s64, ktime_us_delta(ktime_get(), began), 0, 10000);

	usleep_range(20 + 2 * took, 60 + 3 * took);
}
