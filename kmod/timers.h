/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The group's tick, in process context:
 *
 *  - repeats markers that are not answered (20 ms, doubling up to 500 ms) and
 *    sends answers and replies that no other segment carried;
 *  - probes unknown peers (100 ms, doubling), DS_PROBES times: longer than
 *    a node takes to look for a connection that it does not track yet;
 *  - gives header room back;
 *  - finishes records: every channel closed and answered, or deadline passed;
 *  - finds sockets that TCP is done with and processes that are gone.
 *
 * While something is going on it runs every 20 ms or at once when woken, else
 * once a second.
 */
#ifndef _DISTSNAP_TIMERS_H
#define _DISTSNAP_TIMERS_H

#include <linux/workqueue.h>

#define DS_TICK_BUSY	(HZ / 50)
#define DS_TICK_IDLE	HZ
#define DS_MARKER_MIN	(HZ / 50)
#define DS_MARKER_MAX	(HZ / 2)
#define DS_PROBE_MIN	(HZ / 10)

extern struct workqueue_struct *ds_wq;

void ds_tick(struct work_struct *work);

#endif /* _DISTSNAP_TIMERS_H */
