// SPDX-License-Identifier: GPL-2.0
/* Groups: lifetime, prefixes, epochs, and the beginning of a snapshot. */
#include <linux/inetdevice.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#include "channel.h"
#include "group.h"
#include "hooks.h"
#include "member.h"
#include "objects.h"
#include "record.h"
#include "timers.h"

static void trigger_work(struct kthread_work *work)
{
	struct ds_group *g = container_of(work, struct ds_group, trigger_work);

	mutex_lock(&g->mutex);
	ds_group_begin(g);
	mutex_unlock(&g->mutex);
}

/**
 * ds_group_create() - a new group
 * @dn: the node
 * @name: valid and unused
 * @id: unused, not 0
 *
 * Context: ds_mutex.
 *
 * Return: the group, or an ERR_PTR.
 */
struct ds_group *ds_group_create(struct ds_net *dn, const char *name, u16 id)
{
	struct ds_group *g;
	int err;

	lockdep_assert_held(&ds_mutex);
	g = ds_new(group, GFP_KERNEL);
	if (!g)
		return ERR_PTR(-ENOMEM);
	g->dn = dn;
	strscpy(g->name, name, sizeof(g->name));
	g->id = id;
	refcount_set(&g->ref, 1);
	mutex_init(&g->mutex);
	INIT_LIST_HEAD(&g->members);
	INIT_LIST_HEAD(&g->snaps);
	spin_lock_init(&g->lock);
	g->limits.pause_max = 200;
	g->limits.record_max = 1000;
	g->limits.snap_max = 5000;
	g->limits.bytes_max = 256ULL << 20;
	kthread_init_work(&g->trigger_work, trigger_work);
	INIT_DELAYED_WORK(&g->tick, ds_tick);

	g->workers = ds_workers_create(id);
	err = g->workers ? ds_hooks_register(dn) : -ENOMEM;
	if (err) {
		if (g->workers)
			ds_workers_destroy(g->workers);
		ds_free(group, g);
		return ERR_PTR(err);
	}
	list_add_tail_rcu(&g->node, &dn->groups);
	return g;
}

void ds_group_get(struct ds_group *g)
{
	refcount_inc(&g->ref);
}

static void free_rcu(struct rcu_head *rcu)
{
	ds_free(group, container_of(rcu, struct ds_group, rcu));
}

void ds_group_put(struct ds_group *g)
{
	if (!refcount_dec_and_test(&g->ref))
		return;
	WARN_ON_ONCE(atomic64_read(&g->held));
	kfree_rcu(rcu_dereference_protected(g->prefixes, true), rcu);
	put_pid(g->agent_pid);
	call_rcu(&g->rcu, free_rcu);
}

/**
 * ds_group_destroy() - take a group down: every member leaves
 * @g: the group
 *
 * In this order, because each step keeps the next from being started again:
 * no new trigger, no tick, members leave (ends recordings, releases threads and
 * segments), snapshots, the group itself.
 *
 * Context: ds_mutex.
 */
void ds_group_destroy(struct ds_group *g)
{
	struct ds_snap *snap, *tmp;
	struct ds_member *m;

	lockdep_assert_held(&ds_mutex);
	list_del_rcu(&g->node);
	spin_lock_bh(&g->lock);
	g->dead = true;
	spin_unlock_bh(&g->lock);
	kthread_cancel_work_sync(&g->trigger_work);
	cancel_delayed_work_sync(&g->tick);

	mutex_lock(&g->mutex);
	while ((m = list_first_entry_or_null(&g->members, struct ds_member, node)))
		ds_member_leave(m);
	list_for_each_entry_safe(snap, tmp, &g->snaps, node)
		ds_snap_free(snap);
	mutex_unlock(&g->mutex);
	ds_workers_destroy(g->workers);

	spin_lock_bh(&g->lock);
	if (g->active)
		atomic_dec(&g->dn->active);
	g->active = false;
	spin_unlock_bh(&g->lock);
	if (list_empty(&g->dn->groups))
		ds_hooks_unregister(g->dn);
	ds_group_put(g);
}

/* ds_group_by_name() - find a group; context: ds_mutex */
struct ds_group *ds_group_by_name(struct ds_net *dn, const char *name)
{
	struct ds_group *g;

	lockdep_assert_held(&ds_mutex);
	list_for_each_entry(g, &dn->groups, node)
		if (!strcmp(g->name, name))
			return g;
	return NULL;
}

/* ds_group_by_id_rcu() - find a group; context: RCU read side */
struct ds_group *ds_group_by_id_rcu(struct ds_net *dn, u16 id)
{
	struct ds_group *g;

	list_for_each_entry_rcu(g, &dn->groups, node, lockdep_is_held(&ds_mutex))
		if (g->id == id)
			return g;
	return NULL;
}

/* ds_group_allows_rcu() - may a peer at @addr be a member?  Loopback may. */
bool ds_group_allows_rcu(const struct ds_group *g, const struct in6_addr *addr)
{
	const struct ds_prefixes *ps = rcu_dereference(g->prefixes);
	bool v4 = ipv6_addr_v4mapped(addr);
	unsigned int i;

	if (v4 ? ipv4_is_loopback(addr->s6_addr32[3]) : ipv6_addr_loopback(addr))
		return true;
	for (i = 0; ps && i < ps->n; i++) {
		struct in6_addr prefix;
		__be32 prefix4;

		memcpy(&prefix, ps->p[i].addr, sizeof(prefix));
		prefix4 = prefix.s6_addr32[0];
		if (v4 != (ps->p[i].family == AF_INET))
			continue;
		if (v4 ? !((addr->s6_addr32[3] ^ prefix4) & inet_make_mask(ps->p[i].plen)) :
			 ipv6_prefix_equal(addr, &prefix, ps->p[i].plen))
			return true;
	}
	return false;
}

/* ds_group_set_prefixes() - replace them; context: ds_mutex */
int ds_group_set_prefixes(struct ds_group *g, const struct distsnap_prefix *p,
			  unsigned int n)
{
	struct ds_prefixes *new, *old;

	new = kmalloc(struct_size(new, p, n), GFP_KERNEL);
	if (!new)
		return -ENOMEM;
	new->n = n;
	memcpy(new->p, p, n * sizeof(*p));
	old = rcu_replace_pointer(g->prefixes, new, lockdep_is_held(&ds_mutex));
	kfree_rcu(old, rcu);
	return 0;
}

/**
 * ds_group_wake() - there is something to do: run the tick
 * @g: the group
 * @delay: within so many jiffies
 *
 * From here on the hook for outgoing packets looks at every segment of the
 * namespace, until the tick finds that nothing is going on.
 *
 * Context: any; member->lock may be held.
 */
void ds_group_wake(struct ds_group *g, unsigned long delay)
{
	spin_lock_bh(&g->lock);
	if (!g->dead) {
		if (!g->active)
			atomic_inc(&g->dn->active);
		g->active = true;
		/* Never later than somebody else has asked for. */
		if (!delayed_work_pending(&g->tick) ||
		    time_before(jiffies + delay, g->due)) {
			g->due = jiffies + delay;
			mod_delayed_work(ds_wq, &g->tick, delay);
		}
	}
	spin_unlock_bh(&g->lock);
}

/**
 * ds_group_raise() - the last epoch that is known here, if it is newer
 * @g: the group
 * @epoch: the epoch
 * @light: it is recorded without images
 * @open: for so many jiffies, at most, it can be recorded
 *
 * Context: group->lock.
 */
void ds_group_raise(struct ds_group *g, u32 epoch, bool light, unsigned long open)
{
	lockdep_assert_held(&g->lock);
	if (!ds_epoch_after(epoch, g->last))
		return;
	g->last = epoch;
	g->last_light = light;
	g->last_until = jiffies + open;
}

/**
 * ds_group_show() - a probe that shows the last epoch that is known here
 * @g: the group
 * @opt: filled in; without an anchor
 *
 * Context: any.
 *
 * Return: false when there is none.
 */
bool ds_group_show(struct ds_group *g, struct ds_option *opt)
{
	long left;

	spin_lock_bh(&g->lock);
	left = g->last_until - jiffies;
	*opt = (struct ds_option){
		.group = g->id,
		.flags = DISTSNAP_OPT_PROBE | (g->last_light ? DISTSNAP_OPT_LIGHT : 0),
		.epoch = g->last,
		.open = left > 0 ? min_t(long, left * 16 / (ds_group_snap_max(g) + 1), 15) : 0,
	};
	spin_unlock_bh(&g->lock);
	return opt->epoch;
}

/**
 * ds_group_seen() - an epoch was seen in an option that can be trusted
 * @g: the group
 * @opt: the option
 *
 * A node that was away for long catches up, at most once a second.
 *
 * Context: any.
 */
enum ds_seen ds_group_seen(struct ds_group *g, const struct ds_option *opt)
{
	unsigned long open = opt->flags & DISTSNAP_OPT_MARKER ? ds_group_snap_max(g) :
			     ds_group_snap_max(g) * opt->open / 16;
	enum ds_seen ret = DS_SEEN;
	u32 epoch = opt->epoch;

	spin_lock_bh(&g->lock);
	if (g->jumped && epoch == g->jumped_to) {
		ret = DS_SEEN_SKIP;
	} else if (g->last && (s32)(epoch - g->last) > DS_EPOCH_JUMP_MAX) {
		if (g->jumped && time_before(jiffies, g->jumped + HZ)) {
			spin_unlock_bh(&g->lock);
			return DS_SEEN_IGNORE;
		}
		g->jumped = jiffies | 1;
		g->jumped_to = epoch;
		ret = DS_SEEN_SKIP;
	}
	ds_group_raise(g, epoch, opt->flags & DISTSNAP_OPT_LIGHT,
		       ret == DS_SEEN ? open : 0);
	spin_unlock_bh(&g->lock);
	return ret;
}

/**
 * ds_group_want() - a marker triggered a member: record all the others too
 * @g: the group
 * @epoch: the epoch
 * @flags: DISTSNAP_F_*
 *
 * Context: any, also under member->lock.
 */
void ds_group_want(struct ds_group *g, u32 epoch, u32 flags)
{
	spin_lock_bh(&g->lock);
	if (!g->dead) {
		if (ds_epoch_after(epoch, g->want)) {
			g->want = epoch;
			g->want_flags = flags;
		}
		kthread_queue_work(g->workers->trigger, &g->trigger_work);
	}
	spin_unlock_bh(&g->lock);
	ds_group_wake(g, DS_TICK_BUSY);
}

/**
 * ds_group_want_scan() - a connection may be a member's that we do not track yet
 * @g: the group
 *
 * Context: any.
 *
 * Return: false when the file tables were looked through a moment ago: then it
 * is no member's.
 */
bool ds_group_want_scan(struct ds_group *g)
{
	bool want;

	spin_lock_bh(&g->lock);
	want = g->scan_wanted || !g->scanned ||
	       time_after(jiffies, g->scanned + HZ / 2);
	if (want)
		g->scan_wanted = true;
	spin_unlock_bh(&g->lock);
	if (want)
		ds_group_wake(g, 0);
	return want;
}

/* Give a triggered member its record and a worker. */
static void start_recording(struct ds_group *g, struct ds_member *m)
{
	struct ds_record *rec = NULL;
	struct ds_snap *snap;
	ktime_t t0;
	u32 epoch, flags;

	spin_lock_bh(&m->lock);
	epoch = m->colour.current_epoch;
	if (m->next_rec || (m->rec && m->rec->snap->epoch == epoch))
		epoch = 0;	/* under way already */
	t0 = m->triggered;
	flags = m->flags;
	spin_unlock_bh(&m->lock);
	if (!epoch)
		return;
	snap = ds_snap_get_or_create(g, epoch, flags, t0);
	/* Nothing is added to what is finished: the worker refuses then. */
	if (ds_snap_is_open(snap)) {
		snap->flags |= flags & DISTSNAP_F_INITIATOR;
		rec = ds_record_create(snap, m);
		if (!rec)
			ds_reason_add(&snap->reasons,
				      "member %s: no memory to record it", m->name);
	}
	spin_lock_bh(&m->lock);
	m->next_rec = rec;
	spin_unlock_bh(&m->lock);
	kthread_queue_work(g->workers->record[m->id % g->workers->n], &m->record_work);
}

/* A member that is not asked now would be missed by nobody. */
static void begin_member(struct ds_group *g, struct ds_member *m, u32 epoch,
			 u32 flags)
{
	struct ds_snap *snap;
	u32 current_epoch;
	bool older;

	spin_lock_bh(&m->lock);
	ds_member_trigger(m, epoch, flags & DISTSNAP_F_LIGHT,
			  flags & DISTSNAP_F_INITIATOR ? DS_HOW_REQUEST : DS_HOW_NODE,
			  NULL, NULL);
	current_epoch = m->colour.current_epoch;
	if (current_epoch == epoch)
		m->flags |= flags & DISTSNAP_F_INITIATOR;
	older = current_epoch && ds_epoch_after(epoch, current_epoch);
	spin_unlock_bh(&m->lock);
	if (!older)
		return;
	snap = ds_snap_get_or_create(g, epoch, flags, ktime_get());
	if (ds_snap_is_open(snap))
		ds_reason_add(&snap->reasons,
			      "member %s: an older snapshot was still being recorded",
			      m->name);
}

/**
 * ds_group_begin() - begin the wanted epoch on all members of this node
 * @g: the group
 *
 * Each member is then recorded on its own, independently of the others.
 *
 * Context: process, group->mutex.
 */
void ds_group_begin(struct ds_group *g)
{
	struct ds_member *m;
	u32 epoch, flags;

	lockdep_assert_held(&g->mutex);
	spin_lock_bh(&g->lock);
	epoch = g->want;
	flags = g->want_flags;
	g->want = 0;
	spin_unlock_bh(&g->lock);

	list_for_each_entry(m, &g->members, node)
		if (epoch)
			begin_member(g, m, epoch, flags);
	list_for_each_entry(m, &g->members, node)
		start_recording(g, m);
}
