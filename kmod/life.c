// SPDX-License-Identifier: GPL-2.0
/*
 * Births of sockets, from the trace point that tells of every change of a TCP
 * socket's state.  It fires where the change is made, under the socket's lock: for
 * listen() and connect() in the calling process, for an accepted connection in the
 * middle of the segment that completes its handshake, before any byte is queued.
 */
#include <linux/sched/signal.h>
#include <linux/tracepoint.h>
#include <net/inet_sock.h>
#include <net/tcp.h>

#include "channel.h"
#include "handshake.h"
#include "life.h"
#include "pernet.h"

static struct tracepoint *tracepoint;

/* The process that does it is the owner. */
static void begun(struct ds_net *dn, struct sock *sk, int state)
{
	struct ds_member *m = ds_member_of_rcu(dn, task_tgid(current));
	struct ds_channel *ch = ds_channel_find_rcu(sk);

	if (ch && READ_ONCE(ch->unborn) && state == TCP_SYN_SENT)
		return;			/* once more */
	if (ch)
		ds_channel_replaced(ch);
	/* Not a part of an MPTCP socket, whose options leave no room for ours. */
	if (m && !inet_csk(sk)->icsk_ulp_ops)
		ds_channel_adopt(m, sk, state);
}

/* What the kernel sends to connect to has arrived: the connection is there. */
static void established(struct sock *sk, int old)
{
	struct ds_channel *ch = ds_channel_find_rcu(sk);

	if (ch && READ_ONCE(ch->unborn)) {
		spin_lock_bh(&ch->member->lock);
		ds_handshake_connected(ch, old == TCP_SYN_RECV);
		spin_unlock_bh(&ch->member->lock);
	} else if (!ch && old == TCP_SYN_RECV) {
		ds_handshake_accepted(sk);
	}
}

/* trace_inet_sock_set_state() */
static void state_changes(void *data, const struct sock *csk, int old, int new)
{
	struct sock *sk = (struct sock *)csk;
	struct ds_channel *ch;
	struct ds_net *dn;

	if (sk->sk_protocol != IPPROTO_TCP)
		return;
	dn = ds_net(sock_net(sk));
	if (!dn || !READ_ONCE(dn->hooked))
		return;
	rcu_read_lock();
	switch (new) {
	case TCP_SYN_SENT:
	case TCP_LISTEN:
		begun(dn, sk, new);
		break;
	case TCP_ESTABLISHED:
		established(sk, old);
		break;
	case TCP_CLOSE_WAIT:
	case TCP_CLOSING:
	case TCP_CLOSE:
		ch = ds_channel_find_rcu(sk);
		if (ch)
			ds_channel_ends(ch, new);
		break;
	}
	rcu_read_unlock();
}

static void find(struct tracepoint *tp, void *priv)
{
	if (!strcmp(tp->name, "inet_sock_set_state"))
		tracepoint = tp;
}

int ds_life_init(void)
{
	for_each_kernel_tracepoint(find, NULL);
	if (!tracepoint) {
		pr_err("distsnap: this kernel has no trace point inet_sock_set_state\n");
		return -EOPNOTSUPP;
	}
	return tracepoint_probe_register(tracepoint, state_changes, NULL);
}

/* Nobody runs our code on its behalf afterwards. */
void ds_life_exit(void)
{
	tracepoint_probe_unregister(tracepoint, state_changes, NULL);
	tracepoint_synchronize_unregister();
}
