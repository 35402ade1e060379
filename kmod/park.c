// SPDX-License-Identifier: GPL-2.0
/* Parking threads. */
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/task_work.h>
#include <linux/delay.h>
#include <linux/regset.h>
#include <linux/elf.h>
#include <asm/syscall.h>

#include "member.h"
#include "mutant.h"
#include "objects.h"
#include "park.h"

/* Callbacks that run our code; the module must not go while there are any. */
static atomic_t callbacks = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(callbacks_gone);

void ds_park_init(struct ds_park *p)
{
	spin_lock_init(&p->lock);
	init_waitqueue_head(&p->release);
	init_waitqueue_head(&p->changed);
	hash_init(p->threads);
}

static void parked_put(struct ds_parked *pt)
{
	if (!refcount_dec_and_test(&pt->ref))
		return;
	put_task_struct(pt->task);
	ds_member_put(pt->member);
	ds_free(parked, pt);
}

/* Whoever is dying, or makes way for exec, will not see user mode again. */
static bool is_dying(struct task_struct *t)
{
	return fatal_signal_pending(t) || READ_ONCE(t->flags) & PF_EXITING ||
	       READ_ONCE(t->signal->flags) & SIGNAL_GROUP_EXIT;
}

/*
 * Runs in the thread itself on its way to user mode (or to its end).  A second
 * park may begin while it is still here: it just stays.  SIGKILL lets it through
 * at once.
 */
static void callback(struct callback_head *work)
{
	struct ds_parked *pt = container_of(work, struct ds_parked, work);
	struct ds_park *p = &pt->member->park;
	DEFINE_WAIT(wait);

	spin_lock(&p->lock);
	pt->state = DS_PARKED_CALLBACK;
	p->arrivals++;
	wake_up(&p->changed);
	while (p->on && !is_dying(current) && !ds_mutant(no_park)) {
		prepare_to_wait(&p->release, &wait, TASK_KILLABLE);
		spin_unlock(&p->lock);
		schedule();
		spin_lock(&p->lock);
	}
	finish_wait(&p->release, &wait);
	pt->state = ds_mutant(no_park) ? DS_PARKED_CALLBACK : DS_PARKED_IDLE;
	spin_unlock(&p->lock);

	parked_put(pt);
	if (atomic_dec_and_test(&callbacks))
		wake_up(&callbacks_gone);
}

/*
 * Asleep, and not merely about to be: its registers and its floating-point state
 * are in memory.  A thread that is runnable inside a call is waited for; on_rq
 * would not tell (6.12 dequeues late).
 */
static bool is_asleep(struct task_struct *t, unsigned long *switches)
{
	unsigned int state = READ_ONCE(t->__state);

	if (state == TASK_RUNNING || state & (TASK_DEAD | TASK_WAKING | TASK_NEW))
		return false;
	if (smp_load_acquire(&t->on_cpu))	/* pairs with finish_task() */
		return false;
	*switches = READ_ONCE(t->nvcsw) + READ_ONCE(t->nivcsw);
	smp_rmb();	/* the state again, after the counts */
	return READ_ONCE(t->__state) == state && !READ_ONCE(t->on_cpu);
}

static struct ds_parked *lookup(struct ds_park *p, struct task_struct *t)
{
	struct ds_parked *pt;

	hash_for_each_possible(p->threads, pt, node, (unsigned long)t)
		if (pt->task == t)
			return pt;
	return NULL;
}

static struct ds_parked *add(struct ds_member *m, struct task_struct *t)
{
	struct ds_parked *pt = ds_new(parked, GFP_ATOMIC | __GFP_NOWARN);

	if (!pt)
		return NULL;
	get_task_struct(t);
	ds_member_get(m);
	pt->task = t;
	pt->member = m;
	refcount_set(&pt->ref, 1);
	init_task_work(&pt->work, callback);
	hash_add(m->park.threads, &pt->node, (unsigned long)t);
	return pt;
}

/* Queue the work unless it is; false when the thread is past its last work. */
static bool queue(struct ds_park *p, struct ds_parked *pt)
{
	bool ok = true;

	spin_lock(&p->lock);
	if (pt->state == DS_PARKED_IDLE) {
		refcount_inc(&pt->ref);
		atomic_inc(&callbacks);
		pt->state = DS_PARKED_QUEUED;
		if (task_work_add(pt->task, &pt->work, TWA_RESUME)) {
			pt->state = DS_PARKED_IDLE;
			refcount_dec(&pt->ref);
			atomic_dec(&callbacks);
			ok = false;
		}
	}
	spin_unlock(&p->lock);
	return ok;
}

/* Parked: sits in the callback and is off the CPU, or sleeps with work queued. */
static bool is_parked(struct ds_park *p, struct ds_parked *pt,
		      enum distsnap_parked *how, unsigned long *switches)
{
	enum ds_parked_state state;

	spin_lock(&p->lock);
	state = pt->state;
	spin_unlock(&p->lock);
	if (state == DS_PARKED_IDLE)
		return false;
	*how = state == DS_PARKED_CALLBACK ? DISTSNAP_PARKED_CALLBACK : DISTSNAP_PARKED_ASLEEP;
	return is_asleep(pt->task, switches);
}

/*
 * One pass over the threads, with new ones behind their parents.
 * Return: how many are not parked, or -ENOMEM.  @stray: one of them.
 */
static int pass(struct ds_member *m, pid_t *stray)
{
	struct ds_park *p = &m->park;
	struct task_struct *leader, *t;
	unsigned int n = 0;
	int missing = 0;

	rcu_read_lock();
	leader = pid_task(m->pid, PIDTYPE_TGID);
	if (!leader) {
		rcu_read_unlock();
		return -ESRCH;
	}
	for_each_thread(leader, t) {
		enum distsnap_parked how;
		unsigned long switches;
		struct ds_parked *pt;

		if (READ_ONCE(t->exit_state))
			continue;
		pt = lookup(p, t);
		if (!pt)
			pt = add(m, t);
		if (!pt) {
			missing = -ENOMEM;
			break;
		}
		if (!queue(p, pt))
			continue;	/* it will not see user mode again */
		n++;
		if (is_parked(p, pt, &how, &switches))
			continue;
		missing++;
		*stray = task_pid_nr(t);
	}
	rcu_read_unlock();
	return n || missing < 0 ? missing : -ESRCH;
}

/**
 * ds_park() - park all threads of a member
 * @m: the member
 * @deadline: give up then
 * @rec: for the reasons
 *
 * Of a process that has ended its connections may still be there, which send what it
 * has written: there is nobody to park then.
 *
 * Context: process, member->mutex.  Followed by ds_unpark() in any case.
 *
 * Return: 0, -ETIMEDOUT, -ENOMEM, -ECANCELED; the first two with a reason.
 */
int ds_park(struct ds_member *m, ktime_t deadline, struct ds_record *rec)
{
	struct ds_park *p = &m->park;
	unsigned int arrivals;
	pid_t stray = 0;
	ktime_t began;
	int missing;

	lockdep_assert_held(&m->mutex);
	spin_lock(&p->lock);
	p->on = true;
	spin_unlock(&p->lock);
	for (;;) {
		began = ktime_get();
		arrivals = READ_ONCE(p->arrivals);
		missing = pass(m, &stray);
		if (missing == -ESRCH && ds_member_is_dead(m)) {
			m->dead = true;
			rec->flags |= DISTSNAP_F_ENDED;
			missing = 0;
		} else if (missing == -ESRCH) {
			missing = 1;	/* its files may be open still */
			stray = pid_nr(m->pid);
		}
		if (missing <= 0 || ds_member_given_up(m))
			break;
		if (ktime_after(ktime_get(), deadline)) {
			ds_count(m->group->dn, park_late);
			ds_reason_add(&rec->reasons,
				      "member %s: %d threads were not parked in time, thread %d is one (group --pause-max is %u ms)",
				      m->name, missing, stray,
				      READ_ONCE(m->group->limits.pause_max));
			return -ETIMEDOUT;
		}
		if (arrivals == READ_ONCE(p->arrivals))
			ds_workers_pause(began);
	}
	if (missing < 0)
		ds_reason_add(&rec->reasons, "member %s: no memory to park its threads",
			      m->name);
	return ds_member_given_up(m) ? -ECANCELED : missing;
}

/* NT_PRSTATUS as a debugger wants it; the stack may go while we look. */
static bool read_regs(struct task_struct *t, struct ds_thread *out)
{
	struct user_regs_struct *r = &out->regs;
	const struct pt_regs *regs;
	const void *stack;

	stack = READ_ONCE(t->stack);
	if (!stack || READ_ONCE(t->exit_state))
		return false;
	regs = (const struct pt_regs *)(stack + THREAD_SIZE -
					TOP_OF_KERNEL_STACK_PADDING) - 1;
	BUILD_BUG_ON(offsetof(struct user_regs_struct, ss) !=
		     offsetof(struct pt_regs, ss));
	memcpy(r, regs, sizeof(*regs));
	r->fs_base = t->thread.fsbase;
	r->gs_base = t->thread.gsbase;
	r->ds = t->thread.ds;
	r->es = t->thread.es;
	r->fs = t->thread.fsindex;
	r->gs = t->thread.gsindex;
	out->syscall = (int)regs->orig_ax;
	out->args[0] = regs->di;
	out->args[1] = regs->si;
	out->args[2] = regs->dx;
	out->args[3] = regs->r10;
	out->args[4] = regs->r8;
	out->args[5] = regs->r9;
	return true;
}

static const struct user_regset *fpregs;	/* set once, by ds_park_setup() */

static void read_fpregs(struct task_struct *t, struct ds_thread *out)
{
	void *data = NULL;
	int len;

	if (!fpregs)
		return;
	len = regset_get_alloc(t, fpregs, fpregs->n * fpregs->size, &data);
	if (len > 0) {
		out->fpregs = data;
		out->fplen = len;
	}
}

/**
 * ds_park_setup() - find the floating-point register set
 *
 * Of the program that loads us: task_user_regset_view() looks at the stack, which
 * a dying member may have lost already.  Reading the set itself does not.
 */
void ds_park_setup(void)
{
	const struct user_regset_view *view = task_user_regset_view(current);
	unsigned int i;

	for (i = 0; view->e_machine == EM_X86_64 && i < view->n; i++)
		if (view->regsets[i].core_note_type == NT_PRFPREG)
			fpregs = &view->regsets[i];
}

/**
 * ds_park_look() - record the registers of all threads, and where they stand
 * @m: the member, parked
 * @rec: its record
 *
 * Together with ds_park_unmoved() afterwards: what lies between the two happened
 * at one instant, as far as the threads are concerned.
 *
 * Context: process, member->mutex.
 *
 * Return: 0, -EAGAIN when a thread moves at this moment, -ENOMEM.
 */
int ds_park_look(struct ds_member *m, struct ds_record *rec)
{
	struct ds_park *p = &m->park;
	struct ds_thread *threads;
	struct ds_parked *pt;
	unsigned int n = 0, bkt;

	ds_threads_free(rec->threads, rec->n_threads);
	rec->threads = NULL;
	rec->n_threads = 0;
	hash_for_each(p->threads, bkt, pt, node)
		n++;
	threads = kvcalloc(n, sizeof(*threads), GFP_KERNEL);
	if (!threads)
		return -ENOMEM;
	n = 0;
	hash_for_each(p->threads, bkt, pt, node) {
		struct ds_thread *out = &threads[n];
		bool ok;

		pt->looked = false;
		rcu_read_lock();
		if (READ_ONCE(pt->task->exit_state) ||
		    READ_ONCE(pt->task->flags) & PF_EXITING) {
			rcu_read_unlock();
			continue;
		}
		ok = is_parked(p, pt, &out->parked, &pt->switches) &&
		     read_regs(pt->task, out);
		rcu_read_unlock();
		if (!ok) {
			ds_threads_free(threads, n);
			return -EAGAIN;
		}
		out->tid = get_task_pid(pt->task, PIDTYPE_PID);
		n++;
		read_fpregs(pt->task, out);
		pt->exec_id = pt->task->self_exec_id;
		pt->looked = true;
	}
	rec->threads = threads;
	rec->n_threads = n;
	return 0;
}

/**
 * ds_park_unmoved() - has every thread stood still since ds_park_look()?
 * @m: the member
 *
 * Switch counts rise before on_cpu is released, so they tell every sleeper that
 * woke.  Context: process, member->mutex.
 */
bool ds_park_unmoved(struct ds_member *m)
{
	struct ds_park *p = &m->park;
	struct ds_parked *pt;
	unsigned int bkt;

	hash_for_each(p->threads, bkt, pt, node) {
		enum distsnap_parked how;
		unsigned long switches;

		if (!pt->looked)
			continue;
		if (!is_parked(p, pt, &how, &switches) ||
		    (switches != pt->switches && !ds_mutant(no_unmoved)))
			return false;
	}
	return ds_park_complete(m);
}

/* Has a thread whose registers were recorded died, or run another program? */
static bool is_another(const struct ds_parked *pt)
{
	return READ_ONCE(pt->task->exit_state) ||
	       READ_ONCE(pt->task->flags) & PF_EXITING ||
	       READ_ONCE(pt->task->self_exec_id) != pt->exec_id;
}

/**
 * ds_park_complete() - is the member still what was recorded, and parked?
 * @m: the member
 *
 * A sleeper that woke inside clone() may have made a thread, one in execve()
 * another program; SIGKILL lets one go.
 *
 * Context: process, member->mutex.
 */
bool ds_park_complete(struct ds_member *m)
{
	struct ds_park *p = &m->park;
	struct task_struct *leader, *t;
	struct ds_parked *pt;
	unsigned int bkt;
	bool ok = false;

	if (m->dead)
		return true;
	rcu_read_lock();
	leader = pid_task(m->pid, PIDTYPE_TGID);
	if (leader && !(READ_ONCE(leader->signal->flags) & SIGNAL_GROUP_EXIT)) {
		ok = true;
		for_each_thread(leader, t) {
			if (READ_ONCE(t->exit_state) ||
			    READ_ONCE(t->flags) & PF_EXITING)
				continue;
			pt = lookup(p, t);
			if (!pt || READ_ONCE(pt->state) == DS_PARKED_IDLE)
				ok = false;
		}
	}
	rcu_read_unlock();
	hash_for_each(p->threads, bkt, pt, node)
		if (pt->looked && is_another(pt))
			ok = false;
	return ok;
}

/*
 * Take our work off a thread's list again, so that neither the thread nor the
 * module ever waits for the other.  The logic of task_work_cancel_match(), which
 * is not exported.
 */
static bool cancel(struct ds_parked *pt)
{
	struct task_struct *t = pt->task;
	struct callback_head **pprev = &t->task_works;
	struct callback_head *work;
	unsigned long flags;

	raw_spin_lock_irqsave(&t->pi_lock, flags);
	work = READ_ONCE(*pprev);
	while (work) {
		if (work != &pt->work) {
			pprev = &work->next;
			work = READ_ONCE(*pprev);
		} else if (try_cmpxchg(pprev, &work, work->next)) {
			break;
		}
	}
	raw_spin_unlock_irqrestore(&t->pi_lock, flags);
	return work;
}

/**
 * ds_unpark() - let the threads go
 * @m: the member
 *
 * Context: process, member->mutex.
 */
void ds_unpark(struct ds_member *m)
{
	struct ds_park *p = &m->park;
	struct hlist_node *tmp;
	struct ds_parked *pt;
	unsigned int bkt;

	lockdep_assert_held(&m->mutex);
	spin_lock(&p->lock);
	p->on = false;
	wake_up_all(&p->release);
	hash_for_each_safe(p->threads, bkt, tmp, pt, node) {
		if (pt->state == DS_PARKED_CALLBACK)
			ds_count(m->group->dn, park_callback);
		if (pt->state == DS_PARKED_QUEUED && cancel(pt)) {
			ds_count(m->group->dn, park_asleep);
			pt->state = DS_PARKED_IDLE;
			atomic_dec(&callbacks);
			refcount_dec(&pt->ref);
		}
		if (READ_ONCE(pt->task->flags) & PF_EXITING || m->gone) {
			hash_del(&pt->node);
			parked_put(pt);
		}
	}
	spin_unlock(&p->lock);
}

/* ds_park_forget() - drop the table when the member leaves; member->mutex */
void ds_park_forget(struct ds_member *m)
{
	struct hlist_node *tmp;
	struct ds_parked *pt;
	unsigned int bkt;

	lockdep_assert_held(&m->mutex);
	hash_for_each_safe(m->park.threads, bkt, tmp, pt, node) {
		hash_del(&pt->node);
		parked_put(pt);
	}
}

/*
 * ds_park_exit() - wait until no thread runs our callback any more
 *
 * Nobody is parked now, so they all are on their way out; the last instructions
 * of a callback are covered by a grace period of RCU-tasks.
 */
void ds_park_exit(void)
{
	wait_event(callbacks_gone, !atomic_read(&callbacks));
	synchronize_rcu_tasks();
}
