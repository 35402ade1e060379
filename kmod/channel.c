// SPDX-License-Identifier: GPL-2.0
/* Tracked sockets. */
#include <linux/hash.h>
#include <linux/rculist.h>
#include <linux/skmsg.h>
#include <net/inet_connection_sock.h>
#include <net/tcp.h>

#include "channel.h"
#include "compat.h"
#include "mutant.h"
#include "objects.h"
#include "timers.h"
#include "trace.h"

#define TABLE_BITS	12

/* All tracked sockets of the host.  Writers take table_lock; readers use RCU. */
static struct hlist_head table[1 << TABLE_BITS];
static DEFINE_SPINLOCK(table_lock);
static atomic_t next_id = ATOMIC_INIT(0);

/**
 * ds_channel_find_rcu() - is this socket tracked?
 * @sk: a full socket
 *
 * Context: RCU read side, in which the result is valid, or table_lock.
 */
struct ds_channel *ds_channel_find_rcu(const struct sock *sk)
{
	struct ds_channel *ch;

	hlist_for_each_entry_rcu(ch, &table[hash_ptr(sk, TABLE_BITS)], hash,
				 lockdep_is_held(&table_lock))
		if (ch->sk == sk)
			return ch;
	return NULL;
}

/* Found under RCU it may be on its way out already: false then. */
bool __must_check ds_channel_get_maybe_zero(struct ds_channel *ch)
{
	return refcount_inc_not_zero(&ch->ref);
}

static void free_rcu(struct rcu_head *rcu)
{
	ds_free(channel, container_of(rcu, struct ds_channel, rcu));
}

void ds_channel_put(struct ds_channel *ch)
{
	if (!refcount_dec_and_test(&ch->ref))
		return;
	sock_put(ch->sk);
	/* Not from the callback: unloading waits for callbacks of callbacks only once. */
	ds_member_put(ch->member);
	call_rcu(&ch->rcu, free_rcu);
}

/**
 * ds_channel_lock_sock() - lock the socket unless its owner sleeps in it
 * @ch: the channel
 *
 * lock_sock() would wait for an owner that may wait for a slow file in
 * tcp_sendmsg(); nobody here may wait for it.
 *
 * Return: true with the socket's spinlock held and BH off.
 */
bool ds_channel_lock_sock(struct ds_channel *ch)
{
	local_bh_disable();
	bh_lock_sock(ch->sk);
	__release(&ch->sk->sk_lock.slock);	/* sparse cannot follow the bool */
	if (!sock_owned_by_user(ch->sk))
		return true;
	ds_channel_unlock_sock(ch);
	return false;
}

void ds_channel_unlock_sock(struct ds_channel *ch)
{
	__acquire(&ch->sk->sk_lock.slock);
	bh_unlock_sock(ch->sk);
	local_bh_enable();
}

/*
 * Initial sequence numbers, from what the socket knows at any time: both
 * counters of bytes begin at the handshake.  The SYN of the active side is
 * counted in bytes_acked (tcp_rcv_synsent_state_process() calls tcp_ack()),
 * that of the passive side is not.
 */
static void derive_isns(struct ds_channel *ch, bool passive)
{
	const struct tcp_sock *tp = tcp_sk(ch->sk);

	ch->isn = tp->snd_una - (u32)tp->bytes_acked - passive;
	ch->peer_isn = tp->rcv_nxt - (u32)tp->bytes_received - 1;
}

/* Who was not seen to be born: snd_nxt less all that was sent tells which it is. */
static void guess_isns(struct ds_channel *ch)
{
	const struct tcp_sock *tp = tcp_sk(ch->sk);
	u32 first = tp->snd_una - (u32)tp->bytes_acked;
	u32 sent = (u32)tp->bytes_sent - (u32)tp->bytes_retrans;
	u32 fin = (1 << ch->sk->sk_state) &
		  (TCPF_FIN_WAIT1 | TCPF_FIN_WAIT2 | TCPF_CLOSING | TCPF_LAST_ACK) &&
		  tp->snd_nxt == tp->write_seq;
	u32 passive = first - (tp->snd_nxt - 1 - fin - sent);

	derive_isns(ch, passive == 1);
	/* A segment that was dropped on this host counts twice: cannot tell. */
	ch->isn_unclear = passive > 1;
}

/* Streams whose bytes are not those of the socket's queues, or may not be tagged. */
static bool is_unsupported(const struct ds_channel *ch)
{
	const struct sock *sk = ch->sk;

#ifdef CONFIG_TCP_MD5SIG
	if (rcu_access_pointer(tcp_sk(sk)->md5sig_info))
		return true;
#endif
#ifdef CONFIG_TCP_AO
	if (rcu_access_pointer(tcp_sk(sk)->ao_info))
		return true;
#endif
	return ch->isn_unclear ||
	       READ_ONCE(inet_csk(sk)->icsk_ulp_ops) || sk_psock(sk);
}

static enum distsnap_peer first_guess(const struct ds_channel *ch)
{
	bool allowed, unsupported;

	rcu_read_lock();
	unsupported = is_unsupported(ch);
	allowed = ds_group_allows_rcu(ch->member->group, &ch->daddr);
	rcu_read_unlock();
	if (unsupported)
		return DISTSNAP_PEER_UNSUPPORTED;
	return allowed ? DISTSNAP_PEER_UNKNOWN : DISTSNAP_PEER_EXTERNAL;
}

/**
 * ds_channel_addresses() - of a socket, IPv4 addresses as mapped ones
 * @sk: connected
 * @here: ours
 * @there: the peer's
 *
 * Return: the family of its packets.
 */
u16 ds_channel_addresses(const struct sock *sk, struct in6_addr *here,
			 struct in6_addr *there)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6 && !ipv6_addr_v4mapped(&sk->sk_v6_daddr)) {
		*here = sk->sk_v6_rcv_saddr;
		*there = sk->sk_v6_daddr;
		return AF_INET6;
	}
#endif
	ipv6_addr_set_v4mapped(inet_sk(sk)->inet_saddr, here);
	ipv6_addr_set_v4mapped(inet_sk(sk)->inet_daddr, there);
	return AF_INET;
}

/* ds_channel_identify() - who it is; context: the socket's lock */
void ds_channel_identify(struct ds_channel *ch)
{
	ch->family = ds_channel_addresses(ch->sk, &ch->saddr, &ch->daddr);
	ch->sport = inet_sk(ch->sk)->inet_sport;
	ch->dport = inet_sk(ch->sk)->inet_dport;
}

/* A channel for a socket, with a reference; context: the socket's lock. */
static void init(struct ds_channel *ch, struct ds_member *m, struct sock *sk, int state)
{
	refcount_set(&ch->ref, 1);
	ds_member_get(m);
	ch->member = m;
	sock_hold(sk);
	ch->sk = sk;
	ch->id = atomic_inc_return(&next_id);
	ch->listening = state == TCP_LISTEN;
	ch->unborn = state == TCP_SYN_SENT;
	ch->seen = true;	/* until the next scan */
	ch->probes = DS_PROBES;
	ch->next = jiffies;
	ch->backoff = DS_PROBE_MIN;
}

/**
 * ds_channel_new() - a channel for a socket that begins its life
 * @m: the member
 * @sk: begins to listen or to connect, or was just accepted by the kernel
 * @state: what its state becomes
 * @peer: what its peer is
 *
 * Context: the socket's lock, in process context or softirq.
 *
 * Return: it, to be inserted, or NULL without memory: the next look into the file
 * tables finds the socket.
 */
struct ds_channel *ds_channel_new(struct ds_member *m, struct sock *sk, int state,
				  enum distsnap_peer peer)
{
	struct ds_channel *ch = ds_new(channel, GFP_ATOMIC | __GFP_NOWARN);

	if (!ch) {
		ds_count(m->group->dn, births_missed);
		atomic_inc(&m->births_missed);
		return NULL;
	}
	init(ch, m, sk, state);
	ch->peer = peer;
	return ch;
}

/**
 * ds_channel_insert() - make a channel findable
 * @ch: the channel
 *
 * Context: the socket's lock, member->lock.
 *
 * Return: false when the socket is another's already, or the member has left: the
 * caller puts it.
 */
bool ds_channel_insert(struct ds_channel *ch)
{
	struct ds_member *m = ch->member;
	struct ds_channel *old;

	lockdep_assert_held(&m->lock);
	if (m->gone)
		return false;
	spin_lock_bh(&table_lock);
	old = ds_channel_find_rcu(ch->sk);
	if (!old)
		hlist_add_head_rcu(&ch->hash, &table[hash_ptr(ch->sk, TABLE_BITS)]);
	spin_unlock_bh(&table_lock);
	if (old)
		return false;
	list_add_tail_rcu(&ch->node, ch->listening ? &m->listeners : &m->channels);
	m->n_channels += !ch->listening;
	return true;
}

static void trace_tracked(const struct ds_channel *ch)
{
	trace_ds_tracked(ch->member, ch, NULL, NULL, 0, 0,
			 ch->listening ? DS_HOW_LISTENING :
			 ch->unborn ? DS_HOW_CONNECTING : DS_HOW_CONNECTED);
}

/**
 * ds_channel_track() - make a socket a channel of a member
 * @m: the member
 * @sk: the socket
 *
 * Context: process, member->mutex.
 *
 * Return: 1 when it is new, 0 when it was tracked already or is not to be,
 * -EAGAIN when its owner sleeps in it, -EBUSY when it is another member's,
 * -ENOMEM.
 */
int ds_channel_track(struct ds_member *m, struct sock *sk)
{
	struct ds_channel *ch, *old;
	bool ours, busy, inserted;

	lockdep_assert_held(&m->mutex);
	rcu_read_lock();
	old = ds_channel_find_rcu(sk);
	ours = old && old->member == m;
	if (ours)
		old->seen = true;
	else if (old)
		WRITE_ONCE(old->claimed, true);
	rcu_read_unlock();
	if (old)
		return ours ? 0 : -EBUSY;
	if ((1 << READ_ONCE(sk->sk_state)) & (TCPF_CLOSE | TCPF_SYN_RECV))
		return 0;

	ch = ds_new(channel, GFP_KERNEL);
	if (!ch)
		return -ENOMEM;
	ch->sk = sk;
	busy = !ds_channel_lock_sock(ch);
	if (busy || (1 << sk->sk_state) & (TCPF_CLOSE | TCPF_SYN_RECV)) {
		if (!busy)
			ds_channel_unlock_sock(ch);
		ds_free(channel, ch);
		return busy ? -EAGAIN : 0;
	}
	init(ch, m, sk, sk->sk_state);
	ds_channel_identify(ch);
	if (!ch->listening && !ch->unborn)
		guess_isns(ch);
	ch->inode = sk->sk_socket ? sock_i_ino(sk) : 0;
	ch->peer = ch->listening || ch->unborn ? DISTSNAP_PEER_CONNECTING :
						  first_guess(ch);
	ch->probe_due = ch->peer == DISTSNAP_PEER_UNKNOWN;
	ours = ch->probe_due;
	/* Under the socket's lock: it is born after this, or was before. */
	spin_lock(&m->lock);
	inserted = ds_channel_insert(ch);
	if (inserted)
		trace_tracked(ch);
	spin_unlock(&m->lock);
	ds_channel_unlock_sock(ch);
	if (!inserted) {
		ds_channel_put(ch);
		return -EBUSY;
	}
	if (ours)
		ds_group_wake(m->group, 0);
	return 1;
}

/**
 * ds_channel_adopt() - track a socket that begins to listen or to connect
 * @m: the member
 * @sk: the socket
 * @state: what its state becomes
 *
 * Context: process, the socket's lock.
 */
void ds_channel_adopt(struct ds_member *m, struct sock *sk, int state)
{
	struct ds_channel *ch = ds_channel_new(m, sk, state, DISTSNAP_PEER_CONNECTING);
	bool inserted;

	if (!ch)
		return;
	spin_lock_bh(&m->lock);
	inserted = ds_channel_insert(ch);
	if (inserted)
		trace_tracked(ch);
	spin_unlock_bh(&m->lock);
	if (!inserted)
		ds_channel_put(ch);
}

/**
 * ds_channel_born() - a connection is established: it has addresses and numbers
 * @ch: was in SYN_SENT, or is new
 *
 * Context: the socket's lock, member->lock, RCU.
 */
void ds_channel_born(struct ds_channel *ch)
{
	struct ds_member *m = ch->member;

	lockdep_assert_held(&m->lock);
	ds_channel_identify(ch);
	derive_isns(ch, !ch->unborn);
	ch->unborn = false;
	ch->reset_in = false;		/* an earlier try */
	if (ch->peer == DISTSNAP_PEER_CONNECTING) {
		ds_count(m->group->dn, births_unseen);
		ch->peer = DISTSNAP_PEER_EXTERNAL;
	}
	if (is_unsupported(ch))
		ch->peer = DISTSNAP_PEER_UNSUPPORTED;
	else if (!ds_group_allows_rcu(m->group, &ch->daddr))
		ch->peer = DISTSNAP_PEER_EXTERNAL;
	if (ch->peer != DISTSNAP_PEER_MEMBER)
		ch->greeting = false;
	ch->next = jiffies + ch->backoff;
	if (ch->greeting)
		ds_channel_reserve(ch);
}

/**
 * ds_channel_replaced() - the socket connects or listens once more
 * @ch: what it was before
 *
 * Nobody finds it any more; the tick buries it.
 *
 * Context: process, the socket's lock.
 */
void ds_channel_replaced(struct ds_channel *ch)
{
	spin_lock_bh(&table_lock);
	hlist_del_init_rcu(&ch->hash);
	spin_unlock_bh(&table_lock);
	ch->room = false;		/* connect() has forgotten it */
	WRITE_ONCE(ch->stale, true);
	ds_group_wake(ch->member->group, 0);
}

/**
 * ds_channel_untrack() - the socket is no member's any more, or it is dead
 * @ch: the channel; its open cut, if any, must be settled already
 *
 * Context: process, member->mutex.
 */
void ds_channel_untrack(struct ds_channel *ch)
{
	struct ds_member *m = ch->member;
	struct ds_cut *tomb;

	lockdep_assert_held(&m->mutex);
	ds_channel_unreserve(ch);
	spin_lock_bh(&table_lock);
	hlist_del_init_rcu(&ch->hash);
	spin_unlock_bh(&table_lock);
	spin_lock_bh(&m->lock);
	tomb = ch->tomb;
	ch->tomb = NULL;
	ch->cut = NULL;
	list_del(&ch->node);
	m->n_channels -= !ch->listening;
	trace_ds_untracked(m, ch, NULL, NULL, 0, 0, DS_HOW_NONE);
	spin_unlock_bh(&m->lock);
	if (tomb)
		ds_free(cut, tomb);
	ds_channel_put(ch);
}

/**
 * ds_channel_reserve() - make TCP leave room for our option
 * @ch: the channel; its socket is locked
 *
 * Without it a connection of full segments stalls, because a red segment that
 * has no room for the marker must not leave.  tcp_current_mss() recomputes when
 * the cookie does not match, and splits what is queued already.  One less does not
 * match, and is harmless to who reads it as an MTU before (tcp_v4_mtu_reduced()).
 */
void ds_channel_reserve(struct ds_channel *ch)
{
	struct inet_connection_sock *icsk = inet_csk(ch->sk);

	if (ch->room || ds_mutant(no_room))
		return;
	icsk->icsk_ext_hdr_len += DISTSNAP_OPT_LEN;
	ch->ext_hdr_len = icsk->icsk_ext_hdr_len;
	tcp_sk(ch->sk)->mss_cache -= DISTSNAP_OPT_LEN;
	ch->cookie = icsk->icsk_pmtu_cookie--;
	ch->room = true;
}

/**
 * ds_channel_unreserve() - give the room back
 * @ch: the channel; its socket is not locked
 *
 * A connection that sends nothing never has its MSS computed anew: what was taken
 * must be given back, or it comes to nothing (tcp_dsack_seen() divides by it).
 * When the owner sleeps in the socket, the caller tries again later; on the
 * last occasion (untrack) what is lost are 16 bytes of MSS.
 */
void ds_channel_unreserve(struct ds_channel *ch)
{
	struct inet_connection_sock *icsk = inet_csk(ch->sk);

	if (!READ_ONCE(ch->room) || !ds_channel_lock_sock(ch))
		return;
	/* IPv4 socket options change the length, IPv6 ones replace it and our part. */
	if (ch->room && !ds_mutant(no_giveback) &&
	    (ch->sk->sk_family == AF_INET || icsk->icsk_ext_hdr_len == ch->ext_hdr_len)) {
		icsk->icsk_ext_hdr_len -= DISTSNAP_OPT_LEN;
		tcp_sk(ch->sk)->mss_cache += DISTSNAP_OPT_LEN;
		if (icsk->icsk_pmtu_cookie == ch->cookie - 1)
			icsk->icsk_pmtu_cookie++;	/* nothing was sent */
		else
			icsk->icsk_pmtu_cookie--;
	}
	ch->room = false;
	ds_channel_unlock_sock(ch);
}

/**
 * ds_channel_speak() - send a pure ACK, which carries what there is to say
 * @ch: the channel
 *
 * Context: process; no lock of ours but mutexes.
 *
 * Return: false when the owner sleeps in the socket: try again.
 */
bool ds_channel_speak(struct ds_channel *ch)
{
	struct sock *sk = ch->sk;

	if (!ds_channel_lock_sock(ch))
		return false;
	if ((1 << sk->sk_state) &
	    (TCPF_ESTABLISHED | TCPF_FIN_WAIT1 | TCPF_FIN_WAIT2 |
	     TCPF_CLOSE_WAIT | TCPF_CLOSING | TCPF_LAST_ACK)) {
		ds_count(ch->member->group->dn, tagged_pure);
		ds_tcp_send_ack(sk);
	}
	ds_channel_unlock_sock(ch);
	return true;
}

/* ds_channel_recheck() - kTLS or a sockmap may have come since; context: member->lock */
void ds_channel_recheck(struct ds_channel *ch)
{
	lockdep_assert_held(&ch->member->lock);
	rcu_read_lock();
	if (is_unsupported(ch)) {
		ch->peer = DISTSNAP_PEER_UNSUPPORTED;
		ch->probe_due = false;
	}
	rcu_read_unlock();
}

/* Is this peer one whose marker and answer a snapshot waits for? */
bool ds_channel_waits_for_peer(const struct ds_channel *ch)
{
	return !ch->unborn && (ch->peer == DISTSNAP_PEER_MEMBER ||
			       ch->peer == DISTSNAP_PEER_UNKNOWN);
}

/**
 * ds_channel_ends() - TCP has accepted the peer's FIN, or is done with the socket
 * @ch: the channel
 * @state: what its state becomes
 *
 * A FIN in order is behind the last byte that will ever come: it closes the
 * incoming direction as a marker does.  It was sent before the peer's recording,
 * or it would have borne the marker.
 *
 * Context: the socket's lock, RCU.
 */
void ds_channel_ends(struct ds_channel *ch, int state)
{
	struct ds_member *m = ch->member;
	bool over = state == TCP_CLOSE;
	struct ds_cut *cut;

	spin_lock_bh(&m->lock);
	cut = ch->cut;
	if (m->gone || ch->unborn || ch->tomb)
		goto out;
	ch->fin_in = !over || sock_flag(ch->sk, SOCK_DONE);
	ch->fin_out = over && (1 << ch->sk->sk_state) &
			      (TCPF_FIN_WAIT1 | TCPF_FIN_WAIT2 | TCPF_CLOSING |
			       TCPF_LAST_ACK);
	/* tcp_reset(), which TCP also calls for bytes that come after close(). */
	ch->reset = over && ch->reset_in &&
		    (ch->sk->sk_err == ECONNRESET || ch->sk->sk_err == EPIPE);
	if (over && ds_channel_waits_for_peer(ch))
		ch->tomb = ds_cut_bury(ch);
	if (!cut || !cut->captured)
		goto out;
	cut->fin |= ch->fin_in;
	if (cut->pending_in)
		cut->marker = tcp_sk(ch->sk)->rcv_nxt;
	ds_record_settled(cut->rec, cut, true, DISTSNAP_CUT_CLOSED |
			  (ch->fin_in ? 0 : DISTSNAP_CUT_SHORT));
	if (over)
		ds_record_settled(cut->rec, cut, false, DISTSNAP_CUT_LEFT);
	ds_group_wake(m->group, 0);
out:
	spin_unlock_bh(&m->lock);
}

/* Has the socket been connected anew meanwhile? */
static bool is_another(const struct ds_channel *ch)
{
	const struct inet_sock *inet = inet_sk(ch->sk);

	if (READ_ONCE(ch->stale))
		return true;
	if (ch->listening)
		return false;
	return READ_ONCE(ch->sk->sk_state) != TCP_CLOSE && !READ_ONCE(ch->unborn) &&
	       (READ_ONCE(inet->inet_sport) != ch->sport ||
		READ_ONCE(inet->inet_dport) != ch->dport);
}

/* Is TCP done with the socket?  A listen() or connect() may have just begun. */
static bool is_over(struct ds_channel *ch)
{
	bool over = READ_ONCE(ch->sk->sk_state) == TCP_CLOSE;

	if (!over || (!READ_ONCE(ch->unborn) && !ch->listening))
		return over;
	if (!ds_channel_lock_sock(ch))
		return false;
	over = ch->sk->sk_state == TCP_CLOSE;
	ds_channel_unlock_sock(ch);
	return over;
}

/**
 * ds_channel_bury() - untrack a socket that TCP is done with
 * @ch: the channel
 *
 * Whoever waits for its peer waits in vain.
 *
 * Context: process, member->mutex.
 *
 * Return: true when @ch is gone.
 */
bool ds_channel_bury(struct ds_channel *ch)
{
	struct ds_member *m = ch->member;
	struct ds_cut *cut, *tomb;

	if (!is_over(ch) && !is_another(ch))
		return false;
	/* What has arrived can still be read. */
	if (!is_another(ch) && !ch->unborn && !ch->listening && !sock_flag(ch->sk, SOCK_DEAD) &&
	    !skb_queue_empty_lockless(&ch->sk->sk_receive_queue))
		return false;
	spin_lock_bh(&m->lock);
	tomb = ch->tomb;
	ch->tomb = NULL;
	cut = ch->cut;
	if (cut && (cut->pending_in || cut->pending_out)) {
		if (!tomb)
			ds_count(m->group->dn, gone);
		ds_record_settled(cut->rec, cut, true, DISTSNAP_CUT_GONE);
		ds_record_settled(cut->rec, cut, false, DISTSNAP_CUT_GONE);
	}
	if (cut && tomb && !cut->captured) {
		ch->cut = NULL;
		ds_cut_remove(cut);
	}
	spin_unlock_bh(&m->lock);
	if (tomb) {
		trace_ds_buried(m, ch, NULL, NULL, 0, 0, DS_HOW_NONE);
		ds_member_bury(m, tomb);
	}
	ds_channel_untrack(ch);
	return true;
}

/**
 * ds_channel_tick() - what the timer has to do for a channel
 * @ch: the channel
 * @now: jiffies
 * @next: brought forward to when the channel wants the next tick
 *
 * Context: process, member->mutex.
 */
void ds_channel_tick(struct ds_channel *ch, unsigned long now,
		     unsigned long *next)
{
	struct ds_member *m = ch->member;
	bool speak = false, marking, unknown, greeting, asking, due;

	if (ds_channel_bury(ch))
		return;
	due = time_after_eq(now, ch->next);
	spin_lock_bh(&m->lock);
	if (ch->unborn) {
		spin_unlock_bh(&m->lock);
		return;
	}
	marking = ds_is_marking(&m->colour, &ch->ends);
	if (marking && due && ch->cut && !ch->cut->pending_in && ch->cut->pending_out &&
	    ch->cut->fin && !ch->answers--) {
		ds_count(m->group->dn, fin_unanswered);
		ds_record_settled(ch->cut->rec, ch->cut, false, DISTSNAP_CUT_LEFT);
		ds_group_wake(m->group, 0);
	}
	if (ch->greeting && due && ch->probes)
		ch->probe_due = true;
	if (ds_mutant(no_greeting) && due && !ch->probes)
		ch->greeting = false;
	if (ch->peer == DISTSNAP_PEER_UNKNOWN && !marking && due) {
		if (!ch->probes) {
			ch->peer = DISTSNAP_PEER_EXTERNAL;
			ch->probe_due = false;
			ds_count(m->group->dn, probes_unanswered);
			marking = false;
		} else {
			ch->probe_due = true;
		}
	}
	if (due && ((marking && !ds_mutant(no_repeat)) || ch->probe_due))
		speak = true;
	if (ds_answer_waits(&m->colour, &ch->ends) || ch->reply_due)
		speak = true;
	unknown = ch->peer == DISTSNAP_PEER_UNKNOWN;
	greeting = ch->greeting;
	asking = unknown || (greeting && ch->probes);
	spin_unlock_bh(&m->lock);

	if (speak) {
		if (marking && due)
			ds_count(m->group->dn, markers_repeated);
		if ((marking || asking) && due) {
			ch->next = now + ch->backoff;
			ch->backoff = min_t(unsigned long, ch->backoff * 2,
					    DS_MARKER_MAX);
		}
		if (!ds_channel_speak(ch) && time_after(*next, now + 1))
			*next = now + 1;
	}
	if ((marking || asking) && time_after(*next, ch->next))
		*next = ch->next;
	if (!marking && !greeting && READ_ONCE(ch->room) && READ_ONCE(m->colour.phase) == DS_IDLE)
		ds_channel_unreserve(ch);
}
