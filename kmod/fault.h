/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fault points: steps of a snapshot at which a test can have it stop, to kill, unload
 * or take away something just then.  "make module FAULTS=1" builds a module that has
 * them; in every other build no code comes of ds_fault().  Module parameters:
 *
 *	fault_skip	pass the point so many times first
 *	fault		the name of the point where to stop next; whoever has stopped
 *			goes on
 *	fault_at	"POINT PID" of who has stopped, and of which member
 *	fault_points	the names
 *
 * Whoever stops keeps its locks, and goes on by itself after 20 s.
 */
#ifndef _DISTSNAP_FAULT_H
#define _DISTSNAP_FAULT_H

#include <linux/types.h>

struct pid;

#define DS_FAULTS(X)							\
	X(joining)	/* a member whose sockets are not tracked yet */	\
	X(triggered)	/* nothing has been looked at */		\
	X(observed)	/* what comes in is logged */			\
	X(parked)							\
	X(captured)							\
	X(asked)	/* the agent has its request */			\
	X(settled)	/* published or given up; threads and segments wait */ \
	X(unparked)	/* segments wait */				\
	X(drained)	/* no marker was sent yet, but with segments */	\
	X(recorded)							\
	X(detaching)	/* markers and answers have come, or will not */ \
	X(leaving)	/* given up, and still tracked */

enum ds_fault {
	DS_FAULT_none,
#define DS_FAULT_ENUM(name) DS_FAULT_##name,
	DS_FAULTS(DS_FAULT_ENUM)
#undef DS_FAULT_ENUM
	DS_FAULT_MAX
};

#ifdef DISTSNAP_FAULTS
void ds_fault_stop(enum ds_fault point, struct pid *pid);
#else
static inline void ds_fault_stop(enum ds_fault point, struct pid *pid)
{
}
#endif

/* ds_fault() - @name: of DS_FAULTS; context: process, no spinlock */
#define ds_fault(name, member)	ds_fault_stop(DS_FAULT_##name, (member)->pid)

#endif /* _DISTSNAP_FAULT_H */
