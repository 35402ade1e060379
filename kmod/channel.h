/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A connection of a member: a tracked socket.  A listening socket is tracked as
 * well, in another list: it stands for the connections that are not born yet.
 */
#ifndef _DISTSNAP_CHANNEL_H
#define _DISTSNAP_CHANNEL_H

#include <net/sock.h>
#include "member.h"

/**
 * struct ds_channel - a tracked socket
 * @hash: by socket pointer, changed under the table's lock, read under RCU; not
 *	there once it is replaced
 * @node: in member->channels
 * @member: its member, a reference
 * @sk: the socket, a reference, so that its address is not reused; given up
 *	as soon as TCP is done with it, because a socket keeps its namespace
 * @ref: queued segments hold references; freed after an RCU grace period
 * @id: on this node, never reused
 * @family: of the packets: AF_INET for a mapped address, too
 * @saddr: and @daddr: IPv4 addresses as mapped ones
 * @isn: our initial sequence number; with @peer_isn it identifies the
 *	connection on both hosts, behind any NAT
 * @isn_unclear: @isn may be one too high
 * @listening: a listening socket
 * @unborn: it is in SYN_SENT: neither the addresses nor the numbers are known;
 *	member->lock
 * @fin_in: the socket is closed, after the peer's FIN; @fin_out: and ours
 * @reset_in: a reset has gone to TCP; member->lock
 * @reset: it was closed by one
 * @tomb: what is left of it, if no record has it; member->lock
 * @stale: the socket connects anew, or has got another owner: it is another
 *	connection now
 * @seen: in the member's file tables or accept queues, at the last scan; @away: it
 *	has a file, but not there; @holder: the last outsider that was found to have
 *	it; member->mutex
 * @claimed: another member has found it in its tables, under its own mutex
 * @lags: when the peer answered our SYN it had not recorded what we had;
 *	member->lock
 * @greeting: until the peer has certainly seen one, each segment carries a probe:
 *	the peer must not take us for one of another colour; member->lock
 * @ends: see snapshot.h; member->lock
 * @cut: the open cut, or NULL; member->lock
 * @peer: what the other end is; member->lock
 * @probe_due: a probe shall leave; member->lock
 * @reply_due: a reply shall leave; member->lock
 * @probes: how many more to send before the peer counts as external;
 *	member->lock
 * @behind: segments in a queue that is being drained; member->lock
 * @room: header room is reserved; the socket's lock
 * @cookie: the MTU that the socket knew then; the socket's lock
 * @ext_hdr_len: icsk_ext_hdr_len with the room; the socket's lock
 * @answers: how often a marker is repeated to a peer that has closed; member->lock
 * @traced: epoch of the last marker that was traced; member->lock
 * @next: when the timer acts again (jiffies); member->mutex
 * @backoff: jiffies between repeated markers; member->mutex
 */
struct ds_channel {
	struct hlist_node hash;
	struct list_head node;
	struct ds_member *member;
	struct sock *sk;
	refcount_t ref;
	struct rcu_head rcu;
	u32 id;
	u16 family;
	struct in6_addr saddr;
	struct in6_addr daddr;
	__be16 sport;
	__be16 dport;
	u32 isn;
	u32 peer_isn;
	bool isn_unclear;
	bool listening;
	bool unborn;
	bool greeting;
	bool lags;
	bool stale;
	bool seen;
	bool away;
	bool claimed;
	pid_t holder;
	bool fin_in;
	bool fin_out;
	bool reset_in;
	bool reset;
	u64 inode;
	struct ds_ends ends;
	struct ds_cut *cut;
	struct ds_cut *tomb;
	enum distsnap_peer peer;
	bool probe_due;
	bool reply_due;
	u8 probes;
	u32 behind[DS_QUEUES];
	bool room;
	u32 cookie;
	u16 ext_hdr_len;
	u8 answers;
	u32 traced;
	unsigned long next;
	unsigned long backoff;
};

#define DS_PROBES		5
#define DS_ANSWERS		8	/* two seconds */
#define DS_PROBES_AGAIN		60	/* it was a member: it may be busy */

struct ds_channel *ds_channel_find_rcu(const struct sock *sk);
int ds_channel_track(struct ds_member *m, struct sock *sk);
struct ds_channel *ds_channel_new(struct ds_member *m, struct sock *sk, int state,
				  enum distsnap_peer peer);
bool __must_check ds_channel_insert(struct ds_channel *ch);
void ds_channel_adopt(struct ds_member *m, struct sock *sk, int state);
void ds_channel_born(struct ds_channel *ch);
u16 ds_channel_addresses(const struct sock *sk, struct in6_addr *here,
			 struct in6_addr *there);
void ds_channel_identify(struct ds_channel *ch);
void ds_channel_ends(struct ds_channel *ch, int state);
bool ds_channel_bury(struct ds_channel *ch);
void ds_channel_replaced(struct ds_channel *ch);
void ds_channel_untrack(struct ds_channel *ch);
bool ds_channel_get_maybe_zero(struct ds_channel *ch);
void ds_channel_put(struct ds_channel *ch);
bool ds_channel_lock_sock(struct ds_channel *ch);
void ds_channel_unlock_sock(struct ds_channel *ch);
bool ds_channel_speak(struct ds_channel *ch);
void ds_channel_reserve(struct ds_channel *ch);
void ds_channel_unreserve(struct ds_channel *ch);
void ds_channel_recheck(struct ds_channel *ch);
bool ds_channel_waits_for_peer(const struct ds_channel *ch);
void ds_channel_tick(struct ds_channel *ch, unsigned long now,
		     unsigned long *next);

#endif /* _DISTSNAP_CHANNEL_H */
