/* SPDX-License-Identifier: GPL-2.0 */
/* One counter per event that is not the ordinary course of things. */
#ifndef _DISTSNAP_COUNTERS_H
#define _DISTSNAP_COUNTERS_H

#include <linux/atomic.h>

/* name: what happened (per network namespace) */
#define DS_COUNTERS(X)							\
	X(tagged)		/* segments that left with our option */	\
	X(tagged_pure)		/* of these: pure ACKs that we sent for it */	\
	X(tag_no_room_white)	/* white segments that left bare: full */	\
	X(tag_no_room_red)	/* red segments dropped: full; TCP repeats */	\
	X(tag_failed)		/* red segments dropped: memory, odd header */	\
	X(sack_trimmed)		/* SACK blocks that gave way */			\
	X(opt_received)		/* valid options on members' connections */	\
	X(opt_malformed)	/* contradictory, truncated or twice */		\
	X(opt_version)		/* of another version */			\
	X(opt_foreign)		/* from outside the group's prefixes */		\
	X(opt_group)		/* of a group that is not here */		\
	X(opt_untracked)	/* on a socket that is no member's, or not yet */ \
	X(opt_implausible)	/* not in sequence, or much too late */	\
	X(opt_jump)		/* epochs so far ahead that they are skipped */	\
	X(opt_stale)		/* markers older than one already known */	\
	X(opt_contradicted)	/* a second anchor for the same marker */	\
	X(red_implausible)	/* red segments dropped: not to be trusted */	\
	X(red_untracked)	/* red segments dropped: owner not yet known */	\
	X(held)			/* incoming red segments that waited */		\
	X(held_dropped)		/* ... dropped: cap, memory, device gone */	\
	X(gated)		/* outgoing segments that waited */		\
	X(gated_dropped)	/* ... dropped: cap, memory, device gone */	\
	X(logged)		/* segments logged after the recording */	\
	X(log_implausible)	/* not logged: TCP will drop them too */	\
	X(log_dropped)		/* not logged: cap or memory */			\
	X(capture_dropped)	/* queued segments not kept: cap or memory */	\
	X(capture_retried)	/* a socket was busy, or a sleeper woke */	\
	X(park_callback)	/* threads parked on their way to user mode */	\
	X(park_asleep)		/* threads parked inside a call */		\
	X(park_late)		/* deadline passed before all were parked */	\
	X(markers_repeated)	/* by the timer */				\
	X(probes_unanswered)	/* connections declared external */		\
	X(outsiders_sought)	/* recordings that looked through all processes */ \
	X(triggered)		/* recordings begun */				\
	X(recorded)		/* recordings published */			\
	X(aborted)		/* recordings given up */			\
	X(refused_peer)		/* NAKs received */				\
	X(missed)		/* channels overtaken by a newer epoch */	\
	X(levelled)		/* handshakes that waited for a newer epoch */	\
	X(levelled_skip)	/* ... whose newer epoch was over already */	\
	X(cookies)		/* handshakes known by a SYN cookie only */	\
	X(fastopen_refused)	/* SYNs with data, which were sent without */	\
	X(born_in_cut)		/* connections born between two recordings */	\
	X(births_late)		/* ... waited for in vain */			\
	X(born_behind)		/* ... whose peer we are ahead of, and mark it */ \
	X(births_unseen)	/* connections born otherwise: taken for external */ \
	X(births_missed)	/* new sockets not tracked at once: memory */	\
	X(buried)		/* tombstones of ended connections */		\
	X(tombs_missed)		/* ... there was no memory or room for */	\
	X(fin_unanswered)	/* markers that a peer that closed left so */	\
	X(gone)			/* connections that died with a cut open */	\
	X(expired)		/* records whose channels stayed open */

enum ds_counter {
#define DS_COUNTER_ENUM(name) DS_CNT_##name,
	DS_COUNTERS(DS_COUNTER_ENUM)
#undef DS_COUNTER_ENUM
	DS_CNT_MAX
};

struct ds_counters {
	atomic64_t v[DS_CNT_MAX];
};

extern const char * const ds_counter_names[DS_CNT_MAX];

#define ds_count_add(dn, name, n) atomic64_add(n, &(dn)->counters.v[DS_CNT_##name])
#define ds_count(dn, name) ds_count_add(dn, name, 1)

#endif /* _DISTSNAP_COUNTERS_H */
