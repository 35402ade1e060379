// SPDX-License-Identifier: GPL-2.0
/* Outsiders; see outsider.h. */
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <net/tcp.h>

#include "addr.h"
#include "channel.h"
#include "mutant.h"
#include "outsider.h"

/* More are not named. */
#define OUTSIDERS_MAX	4

/**
 * struct outsider - a process that has connections of the member
 * @pid: its pid
 * @comm: its name
 * @member: the member's name if it is one, else empty
 * @n: how many connections
 * @first: one of them, valid under member->mutex
 */
struct outsider {
	pid_t pid;
	char comm[TASK_COMM_LEN];
	char member[DISTSNAP_NAME_MAX + 1];
	unsigned int n;
	struct ds_channel *first;
};

struct search {
	const struct ds_member *m;
	struct task_struct *task;	/* whose table is being looked through */
	bool more;
	struct outsider v[OUTSIDERS_MAX];
	unsigned int n;
};

static struct outsider *outsider(struct search *s, struct ds_channel *ch)
{
	pid_t pid = task_tgid_nr(s->task);
	struct outsider *o;
	struct ds_member *m;

	if (s->n && s->v[s->n - 1].pid == pid)
		return &s->v[s->n - 1];
	if (s->n == OUTSIDERS_MAX) {
		s->more = true;
		return NULL;
	}
	o = &s->v[s->n++];
	o->pid = pid;
	o->first = ch;
	strscpy(o->comm, s->task->comm, sizeof(o->comm));
	m = ds_member_of_rcu(s->m->group->dn, task_tgid(s->task));
	if (m)
		strscpy(o->member, m->name, sizeof(o->member));
	return o;
}

static int look_at(const void *p, struct file *file, unsigned int fd)
{
	struct search *s = (struct search *)p;
	struct socket *sock = sock_from_file(file);
	struct ds_channel *ch = sock && sock->sk ? ds_channel_find_rcu(sock->sk) : NULL;
	struct outsider *o;

	/* To accept connections together is common, and no bytes are shared. */
	if (!ch || ch->member != s->m || ch->listening)
		return 0;
	ch->away = false;	/* here it is */
	o = outsider(s, ch);
	if (o && ch->holder != o->pid)	/* not a second descriptor */
		o->n++;
	ch->holder = task_tgid_nr(s->task);
	return 0;
}

static void search(struct search *s)
{
	struct task_struct *p, *t;

	rcu_read_lock();
	for_each_process(p) {
		struct files_struct *last = NULL;

		if (task_tgid(p) == s->m->pid)
			continue;
		for_each_thread(p, t) {
			task_lock(t);
			s->task = t;
			if (t->files && t->files != last)
				iterate_fd(t->files, 0, look_at, s);
			last = t->files;
			task_unlock(t);
		}
	}
	rcu_read_unlock();
}

static void explain(struct ds_member *m, struct ds_record *rec, const struct outsider *o)
{
	char from[DS_ENDPOINT_LEN], to[DS_ENDPOINT_LEN];

	ds_reason_add(&rec->reasons,
		      "member %s: %u of its connections (%s -> %s) %s shared with process %d (%s), which is %s%s",
		      m->name, o->n, ds_endpoint_text(from, &o->first->saddr, o->first->sport),
		      ds_endpoint_text(to, &o->first->daddr, o->first->dport),
		      o->n == 1 ? "is" : "are", o->pid, o->comm,
		      *o->member ? "member " : "no member", o->member);
}

/**
 * ds_outsiders_look() - who else has connections of a member?
 * @m: the member, parked
 * @rec: its record, which gets a reason for each
 *
 * All file tables of the machine are looked through, but only if some file of the
 * member has more users than one, or a connection is in none of its tables.
 *
 * Context: process, member->mutex.
 */
void ds_outsiders_look(struct ds_member *m, struct ds_record *rec)
{
	char from[DS_ENDPOINT_LEN], to[DS_ENDPOINT_LEN];
	struct search s = { .m = m };
	struct ds_channel *ch;
	bool away = false;
	unsigned int i;

	lockdep_assert_held(&m->mutex);
	list_for_each_entry(ch, &m->channels, node) {
		away |= ch->away;
		ch->holder = 0;
	}
	if ((!away && !m->shares) || ds_mutant(no_outsiders))
		return;
	ds_count(m->group->dn, outsiders_sought);
	search(&s);
	for (i = 0; i < s.n; i++)
		explain(m, rec, &s.v[i]);
	if (s.more)
		ds_reason_add(&rec->reasons,
			      "member %s: more processes share its connections", m->name);
	list_for_each_entry(ch, &m->channels, node) {
		if (!ch->away)
			continue;
		ds_reason_add(&rec->reasons,
			      "member %s: connection %s -> %s is in no file table: on its way over a Unix socket, or registered with io_uring",
			      m->name, ds_endpoint_text(from, &ch->saddr, ch->sport),
			      ds_endpoint_text(to, &ch->daddr, ch->dport));
	}
}
