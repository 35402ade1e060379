/* SPDX-License-Identifier: GPL-2.0 */
/* A group on this node: its limits, members, epochs and snapshots. */
#ifndef _DISTSNAP_GROUP_H
#define _DISTSNAP_GROUP_H

#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/workqueue.h>
#include "pernet.h"
#include "snapshot.h"
#include "workers.h"

struct ds_snap;

/**
 * struct ds_limits - what bounds a snapshot; all from `distsnap group`
 * @pause_max: ms a member may stay parked
 * @record_max: ms from trigger to recorded
 * @snap_max: ms from trigger to the end
 * @bytes_max: bytes captured, logged and held on this node
 */
struct ds_limits {
	u32 pause_max;
	u32 record_max;
	u32 snap_max;
	u64 bytes_max;
};

/**
 * struct ds_group - a group
 * @node: in ds_net->groups
 * @dn: the node
 * @name: for people
 * @id: on the wire
 * @ref: members and works hold references; freed after an RCU grace period
 * @rcu: for that
 * @prefixes: who may be a member, replaced as a whole under RCU
 * @workers: threads that begin and record
 * @limits: read without a lock, word by word
 * @mutex: members and snaps; process context
 * @members: struct ds_member
 * @snaps: struct ds_snap, newest first
 * @lock: all that follows up to @jumped_to; innermost, BH
 * @last: newest epoch consumed or seen in a validated option
 * @last_light: it has no images
 * @last_until: it may still be recorded until then (jiffies)
 * @want: epoch that trigger_work has to begin, 0 none
 * @want_flags: DISTSNAP_F_* for it
 * @agent: netlink port of the agent, 0 none
 * @agent_pid: its process: tells the pid namespace that it lives in
 * @active: counted in ds_net->active
 * @dead: taken down; nothing may be queued any more
 * @scan_wanted: look into the members' file tables at the next tick
 * @scanned: when that was done last (jiffies)
 * @held: bytes that wait in the holds and gates of all members
 * @due: when the tick runs next (jiffies)
 * @jumped: when an epoch was skipped to last (jiffies), 0 never; @jumped_to: which
 * @trigger_work: begins @want on all members; runs on a FIFO worker, because
 *	its latency is a part of every hold
 * @tick: repeats markers and probes, watches deadlines and dead sockets
 */
struct ds_group {
	struct list_head node;
	struct ds_net *dn;
	char name[DISTSNAP_NAME_MAX + 1];
	u16 id;
	refcount_t ref;
	struct rcu_head rcu;
	struct ds_prefixes __rcu *prefixes;
	struct ds_workers *workers;
	struct ds_limits limits;
	struct mutex mutex;
	struct list_head members;
	unsigned int n_members;
	struct list_head snaps;
	spinlock_t lock;
	u32 last;
	bool last_light;
	unsigned long last_until;
	u32 want;
	u32 want_flags;
	u32 agent;
	struct pid *agent_pid;
	bool active;
	bool dead;
	bool scan_wanted;
	unsigned long scanned;
	unsigned long due;
	unsigned long jumped;
	u32 jumped_to;
	atomic64_t held;
	struct kthread_work trigger_work;
	struct delayed_work tick;
};

struct ds_prefixes {
	struct rcu_head rcu;
	unsigned int n;
	struct distsnap_prefix p[];
};

/* Jiffies from the trigger to the end of a snapshot. */
static inline unsigned long ds_group_snap_max(const struct ds_group *g)
{
	return msecs_to_jiffies(READ_ONCE(g->limits.snap_max));
}

struct ds_group *ds_group_create(struct ds_net *dn, const char *name, u16 id);
void ds_group_destroy(struct ds_group *g);
void ds_group_get(struct ds_group *g);
void ds_group_put(struct ds_group *g);
struct ds_group *ds_group_by_name(struct ds_net *dn, const char *name);
struct ds_group *ds_group_by_id_rcu(struct ds_net *dn, u16 id);
bool ds_group_allows_rcu(const struct ds_group *g, const struct in6_addr *addr);
int ds_group_set_prefixes(struct ds_group *g, const struct distsnap_prefix *p,
			  unsigned int n);
void ds_group_wake(struct ds_group *g, unsigned long delay);

/* What to make of an epoch in an option. */
enum ds_seen {
	DS_SEEN,
	DS_SEEN_SKIP,	/* far ahead: catch up, but do not record it */
	DS_SEEN_IGNORE,	/* ... and that too often */
};

enum ds_seen ds_group_seen(struct ds_group *g, const struct ds_option *opt);
void ds_group_raise(struct ds_group *g, u32 epoch, bool light, unsigned long open);
bool ds_group_show(struct ds_group *g, struct ds_option *opt);
void ds_group_want(struct ds_group *g, u32 epoch, u32 flags);
bool ds_group_want_scan(struct ds_group *g);
void ds_group_begin(struct ds_group *g);

#endif /* _DISTSNAP_GROUP_H */
