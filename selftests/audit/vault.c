// SPDX-License-Identifier: GPL-2.0
/* Finds the bank and its open calls in a core; see vault.h and bank.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "vault.h"

/* What a call asks for lies in its arguments, directly or behind a pointer. */
enum shape { SHAPE_BUFFER, SHAPE_VECTOR, SHAPE_MESSAGE };

static const struct call {
	long nr;
	int sending;
	enum shape shape;
} calls[] = {
	{ SYS_read, 0, SHAPE_BUFFER },
	{ SYS_recvfrom, 0, SHAPE_BUFFER },
	{ SYS_readv, 0, SHAPE_VECTOR },
	{ SYS_recvmsg, 0, SHAPE_MESSAGE },
	{ SYS_write, 1, SHAPE_BUFFER },
	{ SYS_sendto, 1, SHAPE_BUFFER },
	{ SYS_writev, 1, SHAPE_VECTOR },
	{ SYS_sendmsg, 1, SHAPE_MESSAGE },
};

static const struct call *find_call(unsigned long long nr, int sending)
{
	size_t i;

	for (i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if ((unsigned long long)calls[i].nr == nr &&
		    calls[i].sending == sending)
			return &calls[i];
	return NULL;
}

static int vector_length(const struct core *core, uint64_t addr, uint64_t count,
			 uint64_t *len, struct why *w)
{
	struct iovec iov;

	for (*len = 0; count; count--, addr += sizeof(iov)) {
		if (core_read(core, addr, &iov, sizeof(iov), w))
			return -1;
		*len += iov.iov_len;
	}
	return 0;
}

static int asked_length(const struct core *core, const struct call *call,
			const struct user_regs_struct *regs, uint64_t *len,
			struct why *w)
{
	struct msghdr msg;

	switch (call->shape) {
	case SHAPE_BUFFER:
		*len = regs->rdx;
		return 0;
	case SHAPE_VECTOR:
		return vector_length(core, regs->rsi, regs->rdx, len, w);
	default:
		if (core_read(core, regs->rsi, &msg, sizeof(msg), w))
			return -1;
		return vector_length(core, (uintptr_t)msg.msg_iov,
				     msg.msg_iovlen, len, w);
	}
}

/*
 * At bank_moved with the number of a call in orig_rax the thread is in that
 * call or about to leave the kernel; -ENOSYS is what rax reads until there is a
 * result.  An interrupt later on clears orig_rax, and the result is in rax up to
 * bank_move_done.
 */
static int in_call(const struct vault *v, const struct user_regs_struct *regs)
{
	return regs->rip == v->moved && (long long)regs->orig_rax >= 0 &&
	       (long long)regs->rax == -ENOSYS;
}

/*
 * A call that receives, and may return less than it was asked for, sleeps for data
 * before it has any.  (It may sleep for the socket's lock later, while another
 * thread is in a call on the same socket.)
 */
static int has_nothing_yet(const struct vault *v, const struct core_thread *t,
			   const struct call *call)
{
	const struct user_regs_struct *regs = &t->regs;
	unsigned int i;

	if (call->sending || (call->nr == SYS_recvfrom && regs->r10 & MSG_WAITALL))
		return 0;
	for (i = 0; i < v->core.nr_threads; i++) {
		const struct core_thread *other = &v->core.threads[i];

		if (other != t && in_call(v, &other->regs) &&
		    (int)other->regs.rdi == (int)regs->rdi)
			return 0;
	}
	return 1;
}

static int thread_pending(const struct vault *v, const struct core_thread *t,
			  unsigned int peer, int sending, struct pending *p,
			  struct why *w)
{
	const struct user_regs_struct *regs = &t->regs;
	const struct call *call;
	long long result = regs->rax;
	uint64_t len;

	if (p->tid)
		return why(w, "%s: threads %d and %d both move bytes of one stream",
			   v->name, p->tid, t->tid);
	if ((int)regs->rdi != v->bank->conn[peer].fd)
		return why(w, "%s: thread %d has fd %d where the books say %d",
			   v->name, t->tid, (int)regs->rdi,
			   v->bank->conn[peer].fd);
	p->tid = t->tid;
	if (in_call(v, regs)) {
		call = find_call(regs->orig_rax, sending);
		if (!call)
			return why(w, "%s: thread %d is in system call %lld, which moves nothing here",
				   v->name, t->tid, (long long)regs->orig_rax);
		if (has_nothing_yet(v, t, call))
			return 0;
		return asked_length(&v->core, call, regs, &p->max, w);
	}
	if (result <= 0)
		return 0;
	p->min = p->max = result;
	/* rsi and rdx still tell the call's arguments, but which call it was
	 * is known only before the first interrupt.
	 */
	call = regs->rip == v->moved ? find_call(regs->orig_rax, sending) : NULL;
	if (!call)
		return 0;
	if (asked_length(&v->core, call, regs, &len, w))
		return -1;
	if (p->max > len)
		return why(w, "%s: thread %d asked for %llu bytes and got %lld",
			   v->name, t->tid, (unsigned long long)len, result);
	return 0;
}

int vault_pending(const struct vault *v, unsigned int peer, int sending,
		  struct pending *p, struct why *w)
{
	const struct bank_conn *conn = &((struct bank *)v->addr)->conn[peer];
	uint64_t pos = (uint64_t)(sending ? &conn->tx_pos : &conn->rx_pos);
	unsigned int i;

	*p = (struct pending){ 0 };
	for (i = 0; i < v->core.nr_threads; i++) {
		const struct core_thread *t = &v->core.threads[i];

		if (t->regs.rip < v->moved || t->regs.rip >= v->move_done ||
		    t->regs.rbx != pos)
			continue;
		if (thread_pending(v, t, peer, sending, p, w))
			return -1;
	}
	return 0;
}

int vault_open(struct vault *v, const char *name, const char *path,
	       const struct exe *exe, struct why *w)
{
	uint64_t size, none;

	*v = (struct vault){ .name = name, .core.fd = -1 };
	if (core_open(&v->core, path, exe, w) ||
	    exe_symbol(exe, "bank", &v->addr, &size, w) ||
	    exe_symbol(exe, "bank_moved", &v->moved, &none, w) ||
	    exe_symbol(exe, "bank_move_done", &v->move_done, &none, w))
		return -1;
	if (size != sizeof(*v->bank))
		return why(w, "the program is not the bank of this oracle");
	v->addr += v->core.bias;
	v->moved += v->core.bias;
	v->move_done += v->core.bias;
	v->bank = malloc(sizeof(*v->bank));
	if (!v->bank)
		return why(w, "no memory");
	if (core_read(&v->core, v->addr, v->bank, sizeof(*v->bank), w))
		return -1;
	if (v->bank->magic != BANK_MAGIC || v->bank->n > BANK_MAX ||
	    v->bank->id >= v->bank->n || v->bank->cur > 1 ||
	    v->bank->max_len > BANK_LEN_MAX || v->bank->max_len < 64)
		return why(w, "%s: there is no bank in its core", name);
	v->ledger = v->bank->ledger[v->bank->cur];
	return 0;
}

void vault_close(struct vault *v)
{
	free(v->bank);
	core_close(&v->core);
}
