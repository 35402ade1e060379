// SPDX-License-Identifier: GPL-2.0
/* Members: joining, leaving, and which sockets are theirs. */
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <net/inet_connection_sock.h>
#include <net/request_sock.h>

#include "channel.h"
#include "fault.h"
#include "member.h"
#include "objects.h"
#include "timers.h"

static atomic_t next_id = ATOMIC_INIT(0);

void ds_member_get(struct ds_member *m)
{
	refcount_inc(&m->ref);
}

static void free_rcu(struct rcu_head *rcu)
{
	ds_free(member, container_of(rcu, struct ds_member, rcu));
}

void ds_member_put(struct ds_member *m)
{
	if (!refcount_dec_and_test(&m->ref))
		return;
	put_pid(m->pid);
	ds_group_put(m->group);
	call_rcu(&m->rcu, free_rcu);
}

/* Context: group->mutex. */
struct ds_member *ds_member_by_pid(struct ds_group *g, struct pid *pid)
{
	struct ds_member *m;

	lockdep_assert_held(&g->mutex);
	list_for_each_entry(m, &g->members, node)
		if (m->pid == pid)
			return m;
	return NULL;
}

/**
 * ds_member_of_rcu() - the member that a process is
 * @dn: the node
 * @pid: the thread group's pid
 *
 * Context: RCU read side, in which the result is valid.
 */
struct ds_member *ds_member_of_rcu(struct ds_net *dn, const struct pid *pid)
{
	struct ds_member *m;
	struct ds_group *g;

	list_for_each_entry_rcu(g, &dn->groups, node)
		list_for_each_entry_rcu(m, &g->members, node)
			if (m->pid == pid)
				return m;
	return NULL;
}

/* Context: group->mutex. */
struct ds_member *ds_member_by_id(struct ds_group *g, u32 id)
{
	struct ds_member *m;

	lockdep_assert_held(&g->mutex);
	list_for_each_entry(m, &g->members, node)
		if (m->id == id)
			return m;
	return NULL;
}

/**
 * ds_member_join() - make a process a member
 * @g: the group
 * @pid: the thread group's pid
 * @name: valid and unused in the group
 *
 * It skips every epoch seen so far: it is not in a snapshot that is open now.
 *
 * Context: group->mutex.
 *
 * Return: the member, or an ERR_PTR.
 */
struct ds_member *ds_member_join(struct ds_group *g, struct pid *pid,
				 const char *name)
{
	struct ds_member *m;
	int err;

	lockdep_assert_held(&g->mutex);
	m = ds_new(member, GFP_KERNEL);
	if (!m)
		return ERR_PTR(-ENOMEM);
	ds_group_get(g);
	m->group = g;
	m->id = atomic_inc_return(&next_id);
	strscpy(m->name, name, sizeof(m->name));
	m->pid = get_pid(pid);
	refcount_set(&m->ref, 1);
	mutex_init(&m->mutex);
	INIT_LIST_HEAD(&m->channels);
	INIT_LIST_HEAD(&m->listeners);
	INIT_LIST_HEAD(&m->tombs);
	spin_lock_init(&m->lock);
	spin_lock_bh(&g->lock);
	m->colour.consumed = m->colour.level = g->last;
	spin_unlock_bh(&g->lock);
	ds_queue_init(&m->hold, DS_HOLD);
	ds_queue_init(&m->gate, DS_GATE);
	ds_park_init(&m->park);
	kthread_init_work(&m->record_work, ds_member_record);
	init_completion(&m->answered);
	init_waitqueue_head(&m->ended);

	list_add_tail_rcu(&m->node, &g->members);
	g->n_members++;
	mutex_lock(&m->mutex);
	ds_fault(joining, m);
	err = ds_member_scan(m);
	if (err >= 0 && m->foreign)
		err = -EBUSY;
	mutex_unlock(&m->mutex);
	if (err < 0) {
		ds_member_leave(m);
		return ERR_PTR(err);
	}
	ds_group_wake(g, 0);
	return m;
}

/**
 * ds_member_leave() - end the membership
 * @m: the member; the caller's reference is gone afterwards
 *
 * A recording under way is aborted; then nothing waits, nothing is marked and
 * no header room stays reserved.
 *
 * Context: process, group->mutex.
 */
void ds_member_leave(struct ds_member *m)
{
	struct ds_group *g = m->group;
	struct ds_record *rec;

	lockdep_assert_held(&g->mutex);
	spin_lock_bh(&m->lock);
	m->gone = true;
	spin_unlock_bh(&m->lock);
	complete(&m->answered);
	kthread_cancel_work_sync(&m->record_work);

	mutex_lock(&m->mutex);
	ds_fault(leaving, m);
	spin_lock_bh(&m->lock);
	if (m->colour.phase != DS_IDLE) {	/* the worker had not begun yet */
		trace_ds_aborted(m, m->next_rec, 0, 0, DISTSNAP_S_ABORTED, -ECANCELED);
		ds_abort(&m->colour);
		ds_count(g->dn, aborted);
	}
	rec = m->next_rec;
	m->next_rec = NULL;
	ds_queue_release(&m->gate);
	ds_queue_release(&m->hold);
	spin_unlock_bh(&m->lock);
	ds_member_drain(m);
	ds_park_forget(m);
	if (rec) {
		ds_reason_add(&rec->reasons, "member %s left the group", m->name);
		smp_store_release(&rec->state, DISTSNAP_S_ABORTED);
	}
	if (m->rec) {
		bool whole = !READ_ONCE(m->rec->pending);

		if (!whole)
			ds_reason_add(&m->rec->reasons, "member %s left the group",
				      m->name);
		ds_record_detach(m, whole ? DISTSNAP_S_DONE : DISTSNAP_S_ABORTED);
	}
	while (!list_empty(&m->channels))
		ds_channel_untrack(list_first_entry(&m->channels,
						    struct ds_channel, node));
	while (!list_empty(&m->listeners))
		ds_channel_untrack(list_first_entry(&m->listeners,
						    struct ds_channel, node));
	ds_member_forget(m, true);
	mutex_unlock(&m->mutex);

	list_del_rcu(&m->node);
	g->n_members--;
	/* A segment on its way through the hooks may still have met a channel. */
	synchronize_rcu();
	ds_queue_flush(m, &m->hold, NULL);
	ds_queue_flush(m, &m->gate, NULL);
	ds_member_put(m);
}

bool ds_member_is_dead(const struct ds_member *m)
{
	struct task_struct *t;
	bool dead = true;

	rcu_read_lock();
	t = pid_task(m->pid, PIDTYPE_TGID);
	if (t) {
		struct task_struct *p;

		for_each_thread(t, p)
			dead &= !!(READ_ONCE(p->exit_state));
	}
	rcu_read_unlock();
	return dead;
}

/* Sockets found in a file table, each with a reference. */
struct found {
	const struct net *net;
	unsigned int unseen;
	bool shared;	/* a file, or a table, may have more users than one */
	struct sock **sks;
	unsigned int n;
	unsigned int max;
};

static void find(struct found *f, struct sock *sk)
{
	if (f->n < f->max) {
		sock_hold(sk);
		f->sks[f->n] = sk;
	}
	f->n++;
}

/* Established connections that nobody has accepted yet are the member's, too. */
static void find_unaccepted(struct found *f, struct sock *listener)
{
	struct request_sock_queue *q = &inet_csk(listener)->icsk_accept_queue;
	struct request_sock *req;

	spin_lock_bh(&q->rskq_lock);
	for (req = q->rskq_accept_head; req; req = req->dl_next)
		if (req->sk)
			find(f, req->sk);
	spin_unlock_bh(&q->rskq_lock);
}

static int find_in_file(const void *p, struct file *file, unsigned int fd)
{
	struct found *f = (struct found *)p;
	struct socket *sock = sock_from_file(file);
	struct sock *sk = sock ? sock->sk : NULL;

	if (sk && sk->sk_protocol == IPPROTO_MPTCP)
		f->unseen++;
	if (!sk || sk->sk_type != SOCK_STREAM || sk->sk_protocol != IPPROTO_TCP ||
	    (sk->sk_family != AF_INET && sk->sk_family != AF_INET6))
		return 0;
	if (!net_eq(sock_net(sk), f->net)) {
		f->unseen++;
		return 0;
	}
	if (READ_ONCE(sk->sk_state) != TCP_LISTEN)
		f->shared |= file_count(file) > 1;
	if (READ_ONCE(sk->sk_state) != TCP_CLOSE)
		find(f, sk);
	else if (!skb_queue_empty_lockless(&sk->sk_receive_queue) &&
		 !ds_channel_find_rcu(sk))
		f->unseen++;
	if (READ_ONCE(sk->sk_state) == TCP_LISTEN)
		find_unaccepted(f, sk);
	return 0;
}

/* Threads usually share one file table, but need not. */
static void find_sockets(struct ds_member *m, struct found *f)
{
	struct files_struct *last = NULL;
	struct task_struct *leader, *t;

	rcu_read_lock();
	leader = pid_task(m->pid, PIDTYPE_TGID);
	if (leader) {
		for_each_thread(leader, t) {
			task_lock(t);
			if (t->files && t->files != last) {
				last = t->files;
				f->shared |= atomic_read(&last->count) >
					     get_nr_threads(leader);
				iterate_fd(t->files, 0, find_in_file, f);
			}
			task_unlock(t);
		}
	}
	rcu_read_unlock();
}

/*
 * Which connections have files, and none of them in our tables?  Those that nobody
 * has accepted, and those that are closed, have no file; close() may linger.  One
 * that another member has got meanwhile is its own from now on.
 */
static void find_away(struct ds_member *m)
{
	struct ds_channel *ch;

	list_for_each_entry(ch, &m->channels, node) {
		ch->away = !ch->seen && ch->sk->sk_socket && !ch->unborn &&
			   READ_ONCE(ch->sk->sk_state) != TCP_CLOSE &&
			   READ_ONCE(ch->sk->sk_shutdown) != SHUTDOWN_MASK;
		if (ch->away && READ_ONCE(ch->claimed))
			WRITE_ONCE(ch->stale, true);
		WRITE_ONCE(ch->claimed, false);
	}
}

/**
 * ds_member_scan() - track the sockets in the member's file tables
 * @m: the member
 *
 * Context: process, member->mutex.
 *
 * Return: how many are new, or -ENOMEM, -EAGAIN (the owner sleeps in one: try
 * again).
 */
int ds_member_scan(struct ds_member *m)
{
	struct found f = { .max = 64, .net = m->group->dn->net };
	struct ds_channel *ch;
	int ret = 0, err = 0, new = 0;
	unsigned int i;

	lockdep_assert_held(&m->mutex);
	for (;;) {
		f.sks = kvmalloc_array(f.max, sizeof(*f.sks), GFP_KERNEL);
		if (!f.sks)
			return -ENOMEM;
		f.n = 0;
		f.unseen = 0;
		find_sockets(m, &f);
		if (f.n <= f.max)
			break;
		for (i = 0; i < f.max; i++)
			sock_put(f.sks[i]);
		kvfree(f.sks);
		f.max = f.n * 2;
	}
	m->unseen = f.unseen;
	m->shares = f.shared;
	m->foreign = 0;
	list_for_each_entry(ch, &m->channels, node)
		ch->seen = false;
	for (i = 0; i < f.n; i++) {
		ret = ds_channel_track(m, f.sks[i]);
		if (ret == -EBUSY)
			m->foreign++;
		else if (ret < 0)
			err = ret;
		else
			new += ret;
		sock_put(f.sks[i]);
	}
	kvfree(f.sks);
	find_away(m);
	return err ? err : new;
}

/**
 * ds_member_trigger() - trigger the recording of an epoch
 * @m: the member
 * @epoch: the epoch
 * @light: without memory image
 * @how: DS_HOW_*, why
 * @ch: the channel that it comes from, or NULL
 * @seg: the segment, or NULL
 *
 * From here on red segments are held.
 *
 * Context: any, member->lock.
 *
 * Return: false when it is busy or has consumed @epoch already.
 */
bool ds_member_trigger(struct ds_member *m, u32 epoch, bool light, enum ds_how how,
		       const struct ds_channel *ch, const struct ds_seg *seg)
{
	lockdep_assert_held(&m->lock);
	if (m->gone || !ds_trigger(&m->colour, epoch))
		return false;
	m->triggered = ktime_get();
	m->flags = light ? DISTSNAP_F_LIGHT : 0;
	ds_count(m->group->dn, triggered);
	trace_ds_trigger(m, ch, seg, NULL, epoch, 0, how);
	return true;
}

/* ds_member_given_up() - shall its recording be aborted?  Any context. */
bool ds_member_given_up(struct ds_member *m)
{
	u32 abort = READ_ONCE(m->abort);

	return READ_ONCE(m->gone) ||
	       (abort && abort == READ_ONCE(m->colour.current_epoch));
}

/**
 * ds_member_abort() - give an epoch up, be it being recorded or still open
 * @m: the member
 * @epoch: the epoch
 *
 * Does not wait: the worker or the tick sees to it.
 */
void ds_member_abort(struct ds_member *m, u32 epoch)
{
	spin_lock_bh(&m->lock);
	m->abort = epoch;
	spin_unlock_bh(&m->lock);
	complete(&m->answered);
}

/* Each is a part of every record: the oldest give way. */
#define TOMBS_MAX	1024

/* ds_member_bury() - keep a tombstone for a while; context: member->mutex */
void ds_member_bury(struct ds_member *m, struct ds_cut *tomb)
{
	struct ds_cut *oldest;

	lockdep_assert_held(&m->mutex);
	ds_count(m->group->dn, buried);
	list_add_tail(&tomb->node, &m->tombs);
	if (++m->n_tombs <= TOMBS_MAX)
		return;
	ds_count(m->group->dn, tombs_missed);
	oldest = list_first_entry(&m->tombs, struct ds_cut, node);
	list_del(&oldest->node);
	m->n_tombs--;
	ds_free(cut, oldest);
}

/**
 * ds_member_forget() - forget the tombstones that no open snapshot can need
 * @m: the member
 * @all: all of them
 *
 * Context: process, member->mutex.
 */
void ds_member_forget(struct ds_member *m, bool all)
{
	unsigned long age = ds_group_snap_max(m->group);
	struct ds_cut *tomb, *tmp;

	lockdep_assert_held(&m->mutex);
	list_for_each_entry_safe(tomb, tmp, &m->tombs, node) {
		if (!all && time_before(jiffies, tomb->died + age))
			break;
		list_del(&tomb->node);
		m->n_tombs--;
		ds_free(cut, tomb);
	}
}

/* ds_member_drain() - let go what waited; context: process, member->mutex */
void ds_member_drain(struct ds_member *m)
{
	ds_queue_drain(m, &m->gate);
	ds_queue_drain(m, &m->hold);
}
