// SPDX-License-Identifier: GPL-2.0
/* FIFO workers; see workers.h. */
#include <linux/cpumask.h>
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
