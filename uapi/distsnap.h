/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * distsnap: the user-space interface, which is also the manual of both wires:
 * the TCP option between hosts and the generic netlink family on a host.
 *
 * Words.  A *group* is a set of *members* (thread groups) photographed
 * together; its 16-bit id is the same on every host.  An *epoch* is the 32-bit
 * number of a snapshot of a group, compared by serial arithmetic (RFC 1982).  A
 * *channel* is one direction of one TCP connection between two members; a
 * *cut* is what one member recorded of one connection (both directions).  A
 * *record* is what one node recorded of one member in one epoch.
 */
#ifndef _UAPI_DISTSNAP_H
#define _UAPI_DISTSNAP_H

#include <linux/types.h>

/*
 * The TCP option (RFC 6994 experimental form), 16 bytes, network byte order:
 *
 *   0      1      2      4       5             6      8        12        16
 *   +------+------+------+-------+-------------+------+--------+---------+
 *   | 253  | 16   | ExID | flags | ver  | open | group| epoch  | anchor  |
 *   +------+------+------+-------+-------------+------+--------+---------+
 *
 * PROBE travels on every SYN-ACK and on what answers it, too: a connection is only
 * born when both sides have left the same epochs behind them.  And on every reset that
 * comes from no connection, as it may be the news of one (without an anchor).
 *
 * MARKER  the sender recorded @epoch when the stream stood at @anchor, an
 *         absolute sequence number of this direction.  Bytes from @anchor on
 *         are *red*: sent after the sender's recording.
 * ACK     the sender recorded @epoch, image and all, and the marker of @epoch
 *         of the other direction is in.  Never "seen", never cumulative.
 * NAK     the sender will not record @epoch; @anchor holds the reason.
 * PROBE   "are you a member?"; @anchor is the sender's initial sequence number
 *         and @epoch the last epoch that it recorded or skipped (0: none).
 * REPLY   answers a PROBE in the same form.
 * LIGHT   together with MARKER or PROBE: record without memory images.
 *
 * open: remaining sixteenths of the snapshot's deadline, rounded down; 0 means
 * that it is over, and whoever has not recorded @epoch need not any more.
 */
#define DISTSNAP_OPT_KIND	253
#define DISTSNAP_OPT_LEN	16
#define DISTSNAP_OPT_EXID	0xD15A
#define DISTSNAP_OPT_VERSION	1

#define DISTSNAP_OPT_MARKER	0x01
#define DISTSNAP_OPT_ACK	0x02
#define DISTSNAP_OPT_PROBE	0x04
#define DISTSNAP_OPT_REPLY	0x08
#define DISTSNAP_OPT_NAK	0x10
#define DISTSNAP_OPT_LIGHT	0x20

/*
 * Generic netlink.  One family per network namespace; every operation, dumps
 * and events included, needs CAP_NET_ADMIN in the initial user namespace.  Every refusal
 * carries an extended ACK in words.
 */
#define DISTSNAP_GENL_NAME	"distsnap"
#define DISTSNAP_GENL_VERSION	1

#define DISTSNAP_NAME_MAX	31	/* [A-Za-z0-9._-]+, not starting with '.' */

/**
 * enum distsnap_cmd - operations
 * @DISTSNAP_CMD_GROUP_SET: create a group or change its limits.  In: NAME, ID
 *	(both mandatory to create), PEERS, PAUSE_MAX, RECORD_MAX, SNAP_MAX,
 *	BYTES_MAX, EPOCH (raises the last epoch, never lowers it).
 * @DISTSNAP_CMD_GROUP_DEL: remove a group without members.  In: NAME.
 * @DISTSNAP_CMD_GROUP_GET: dump all groups, or do with NAME.  Out: as for SET
 *	and MEMBERS, EPOCH (last), STATE, AGENT.
 * @DISTSNAP_CMD_JOIN: make a running process a member.  In: NAME, PID,
 *	optional MEMBER_NAME (default COMM.PID).  Out: MEMBER.
 *	Needs CAP_SYS_PTRACE over the process.
 * @DISTSNAP_CMD_LEAVE: In: NAME, PID.
 * @DISTSNAP_CMD_MEMBER_GET: dump members.  In: optional NAME.  Out: NAME,
 *	MEMBER, MEMBER_NAME, PID, EPOCH (last recorded), STATE, CHANNELS.
 * @DISTSNAP_CMD_CHANNEL_GET: dump live connections of members.  In: optional
 *	NAME.  Out: NAME, MEMBER, MEMBER_NAME, CHANNEL, addresses, ISN,
 *	PEER_ISN, PEER, TCP_STATE, INODE.
 * @DISTSNAP_CMD_AGENT: the calling socket becomes the node's agent for NAME
 *	and receives the events RECORD and DONE by unicast.  When the socket
 *	closes, recordings that wait for it are aborted at once.
 * @DISTSNAP_CMD_TAKE: start a snapshot on this node.  In: NAME, optional
 *	EPOCH (default last + 1), FLAGS (DISTSNAP_F_LIGHT).  Out: EPOCH.
 * @DISTSNAP_CMD_ABORT: give up the open epoch on this node.  In: NAME, EPOCH.
 * @DISTSNAP_CMD_RECORD: event to the agent: member MEMBER is parked and
 *	captured, record its local state now.  Out: NAME, EPOCH, MEMBER,
 *	MEMBER_NAME, PID (in the agent's pid namespace), TIMEOUT (us left).
 * @DISTSNAP_CMD_RECORDED: the agent's answer.  In: NAME, EPOCH, MEMBER, STATUS
 *	(0 or a positive errno: abort this recording), optional MESSAGE (63
 *	characters).  From the socket that called AGENT.  The member is published and released before the operation returns.
 *	Refused with -ESTALE when the recording was aborted meanwhile.
 * @DISTSNAP_CMD_DONE: event to the agent: nothing more will be recorded for
 *	EPOCH on this node; fetch it.  Out: NAME, EPOCH, STATE.
 * @DISTSNAP_CMD_SNAP_GET: dump the epochs kept on this node.  In: optional
 *	NAME, EPOCH.  Out: NAME, EPOCH, STATE, FLAGS, TRIGGERED (real time, ns),
 *	MEMBERS, BYTES, HELD_BYTES, REASON (repeated).
 * @DISTSNAP_CMD_RECORD_GET: dump the records of an epoch.  In: NAME, EPOCH.
 *	Out: MEMBER, MEMBER_NAME, PID, STATE, FLAGS, times (ns since trigger),
 *	THREADS, CHANNELS, REASON (repeated).
 * @DISTSNAP_CMD_THREAD_GET: dump the threads of a record.  In: NAME, EPOCH,
 *	MEMBER.  Out: TID, PARKED, SYSCALL, ARGS, REGSET (repeated nest).
 * @DISTSNAP_CMD_CUT_GET: dump the cuts of a record.  In: NAME, EPOCH, MEMBER.
 *	Out: as CHANNEL_GET and OUT_*, IN_*, CUT_FLAGS.
 * @DISTSNAP_CMD_DATA_GET: dump captured bytes of a record.  In: NAME, EPOCH,
 *	MEMBER, optional CHANNEL.  Out: CHANNEL, ORIGIN, OFFSET, DATA (chunks;
 *	ranges may overlap and repeat).
 * @DISTSNAP_CMD_DROP: free what is kept of an epoch.  In: NAME, EPOCH.
 * @DISTSNAP_CMD_COUNTER_GET: dump the counters.  Out: COUNTER_NAME,
 *	COUNTER_VALUE.
 */
enum distsnap_cmd {
	DISTSNAP_CMD_UNSPEC,
	DISTSNAP_CMD_GROUP_SET,
	DISTSNAP_CMD_GROUP_DEL,
	DISTSNAP_CMD_GROUP_GET,
	DISTSNAP_CMD_JOIN,
	DISTSNAP_CMD_LEAVE,
	DISTSNAP_CMD_MEMBER_GET,
	DISTSNAP_CMD_CHANNEL_GET,
	DISTSNAP_CMD_AGENT,
	DISTSNAP_CMD_TAKE,
	DISTSNAP_CMD_ABORT,
	DISTSNAP_CMD_RECORD,
	DISTSNAP_CMD_RECORDED,
	DISTSNAP_CMD_DONE,
	DISTSNAP_CMD_SNAP_GET,
	DISTSNAP_CMD_RECORD_GET,
	DISTSNAP_CMD_THREAD_GET,
	DISTSNAP_CMD_CUT_GET,
	DISTSNAP_CMD_DATA_GET,
	DISTSNAP_CMD_DROP,
	DISTSNAP_CMD_COUNTER_GET,
	__DISTSNAP_CMD_MAX,
};

#define DISTSNAP_CMD_MAX	(__DISTSNAP_CMD_MAX - 1)

/*
 * Attributes.  Numbers are in host byte order, addresses and ports in network
 * byte order.  Stream positions (OUT_*, IN_*, OFFSET) are 64-bit offsets: 0 is
 * the first byte after the SYN; a FIN takes one position and no byte.
 */
enum distsnap_attr {
	DISTSNAP_A_UNSPEC,
	DISTSNAP_A_PAD,
	DISTSNAP_A_NAME,		/* string: group */
	DISTSNAP_A_ID,			/* u16: group id on the wire, not 0 */
	DISTSNAP_A_PEERS,		/* nest of DISTSNAP_A_PREFIX */
	DISTSNAP_A_PREFIX,		/* binary: struct distsnap_prefix */
	DISTSNAP_A_PAUSE_MAX,		/* u32: ms a member may stay parked */
	DISTSNAP_A_RECORD_MAX,		/* u32: ms from trigger to recorded */
	DISTSNAP_A_SNAP_MAX,		/* u32: ms from trigger to done */
	DISTSNAP_A_BYTES_MAX,		/* u64: captured and logged bytes a node */
	DISTSNAP_A_EPOCH,		/* u32 */
	DISTSNAP_A_STATE,		/* u32: enum distsnap_state */
	DISTSNAP_A_FLAGS,		/* u32: DISTSNAP_F_* */
	DISTSNAP_A_AGENT,		/* u32: port id of the agent's socket */
	DISTSNAP_A_MEMBERS,		/* u32: how many */
	DISTSNAP_A_CHANNELS,		/* u32: how many */
	DISTSNAP_A_THREADS,		/* u32: how many */
	DISTSNAP_A_PID,			/* u32: in the caller's pid namespace */
	DISTSNAP_A_MEMBER,		/* u32: id on this node, never reused */
	DISTSNAP_A_MEMBER_NAME,		/* string */
	DISTSNAP_A_CHANNEL,		/* u32: id on this node, never reused */
	DISTSNAP_A_FAMILY,		/* u16: AF_INET or AF_INET6 */
	DISTSNAP_A_SADDR,		/* binary: local address */
	DISTSNAP_A_SPORT,		/* be16 */
	DISTSNAP_A_DADDR,		/* binary: remote address */
	DISTSNAP_A_DPORT,		/* be16 */
	DISTSNAP_A_ISN,			/* u32: own initial sequence number */
	DISTSNAP_A_PEER_ISN,		/* u32 */
	DISTSNAP_A_PEER,		/* u32: enum distsnap_peer */
	DISTSNAP_A_TCP_STATE,		/* u32: TCP_ESTABLISHED etc. */
	DISTSNAP_A_INODE,		/* u64: socket:[N] in /proc/PID/fd */
	DISTSNAP_A_OUT_UNA,		/* u64: first byte the peer did not ack */
	DISTSNAP_A_OUT_SENT,		/* u64: the anchor: write_seq when recorded */
	DISTSNAP_A_IN_READ,		/* u64: copied_seq when recorded */
	DISTSNAP_A_IN_NEXT,		/* u64: rcv_nxt when recorded */
	DISTSNAP_A_IN_MARKER,		/* u64: the peer's anchor, if CUT_CLOSED */
	DISTSNAP_A_CUT_FLAGS,		/* u32: DISTSNAP_CUT_* */
	DISTSNAP_A_ORIGIN,		/* u32: enum distsnap_origin */
	DISTSNAP_A_OFFSET,		/* u64 */
	DISTSNAP_A_DATA,		/* binary */
	DISTSNAP_A_TID,			/* u32: in the caller's pid namespace */
	DISTSNAP_A_PARKED,		/* u32: enum distsnap_parked */
	DISTSNAP_A_SYSCALL,		/* s32: number, or -1 in user mode */
	DISTSNAP_A_ARGS,		/* binary: 6 x u64 */
	DISTSNAP_A_REGSET,		/* nest of NOTE_TYPE, DATA; repeated */
	DISTSNAP_A_NOTE_TYPE,		/* u32: NT_PRSTATUS (registers only), ... */
	DISTSNAP_A_STATUS,		/* u32: 0 or a positive errno */
	DISTSNAP_A_MESSAGE,		/* string */
	DISTSNAP_A_REASON,		/* string, repeated */
	DISTSNAP_A_TRIGGERED,		/* u64: CLOCK_REALTIME, ns */
	DISTSNAP_A_PARK_NS,		/* u64: since trigger: parking began */
	DISTSNAP_A_PARKED_NS,		/* u64: all threads parked */
	DISTSNAP_A_CAPTURED_NS,		/* u64: channels and threads captured */
	DISTSNAP_A_RECORDED_NS,		/* u64: published, about to be released */
	DISTSNAP_A_DONE_NS,		/* u64: last channel closed and answered */
	DISTSNAP_A_TIMEOUT,		/* u32: us */
	DISTSNAP_A_BYTES,		/* u64 */
	DISTSNAP_A_HELD_BYTES,		/* u64: held at most, at any moment */
	DISTSNAP_A_COUNTER_NAME,	/* string */
	DISTSNAP_A_COUNTER_VALUE,	/* u64 */
	__DISTSNAP_A_MAX,
};

#define DISTSNAP_A_MAX		(__DISTSNAP_A_MAX - 1)

/**
 * struct distsnap_prefix - peers that may be members
 * @family: AF_INET or AF_INET6
 * @plen: prefix length in bits
 * @addr: network byte order, IPv4 in the first four bytes
 */
struct distsnap_prefix {
	__u16	family;
	__u8	plen;
	__u8	pad;
	__u8	addr[16];
};

#define DISTSNAP_PREFIXES_MAX	16

/* State of a group, a member, a record or a snapshot on this node. */
enum distsnap_state {
	DISTSNAP_S_IDLE,		/* no snapshot so far, or it was dropped */
	DISTSNAP_S_TRIGGERED,		/* red segments are held from here on */
	DISTSNAP_S_CAPTURED,		/* parked, channels and threads captured */
	DISTSNAP_S_RECORDED,		/* published; channels still open */
	DISTSNAP_S_DONE,		/* every channel closed and answered */
	DISTSNAP_S_EXPIRED,		/* deadline passed with channels open */
	DISTSNAP_S_ABORTED,		/* not recorded; the reasons say why */
	DISTSNAP_S_SUPERSEDED,		/* a newer epoch came first */
};

#define DISTSNAP_F_LIGHT	0x1	/* without memory images */
#define DISTSNAP_F_INITIATOR	0x2	/* started by a take on this node */
#define DISTSNAP_F_IMAGE	0x4	/* the agent recorded the local state */
#define DISTSNAP_F_ENDED	0x8	/* there is none: only connections are left */

enum distsnap_peer {
	DISTSNAP_PEER_UNKNOWN,		/* probing */
	DISTSNAP_PEER_MEMBER,
	DISTSNAP_PEER_EXTERNAL,		/* no answer, or outside the prefixes */
	DISTSNAP_PEER_REWRITTEN,	/* something rewrites sequence numbers */
	DISTSNAP_PEER_UNSUPPORTED,	/* cannot be captured: see README */
	DISTSNAP_PEER_CONNECTING,	/* nothing came back yet: no connection */
};

#define DISTSNAP_CUT_CLOSED	0x01	/* in: the peer's marker (or FIN) is in */
#define DISTSNAP_CUT_ACKED	0x02	/* out: the peer acknowledged our marker */
#define DISTSNAP_CUT_NAKED	0x04	/* the peer refused the epoch */
#define DISTSNAP_CUT_MISSED	0x08	/* superseded by a newer epoch */
#define DISTSNAP_CUT_FIN_OUT	0x10	/* our FIN lies before OUT_SENT */
#define DISTSNAP_CUT_FIN_IN	0x20	/* the peer's FIN lies before IN_NEXT */
#define DISTSNAP_CUT_TRUNCATED	0x40	/* bytes are missing: cap or memory */
#define DISTSNAP_CUT_GONE	0x80	/* the connection died before the end */
#define DISTSNAP_CUT_CONTRADICTED 0x100	/* two anchors for one marker */
#define DISTSNAP_CUT_LEFT	0x200	/* out: the peer closed and says no more */
#define DISTSNAP_CUT_BORN	0x400	/* established after the recording */
#define DISTSNAP_CUT_TOMB	0x800	/* gone before it: final positions */
#define DISTSNAP_CUT_SHORT	0x1000	/* in: it ended without a FIN, at the marker */
#define DISTSNAP_CUT_RESET	0x2000	/* the peer's side had reset it before */

enum distsnap_origin {
	DISTSNAP_ORIGIN_SENDQ,		/* our send queue: outgoing offsets */
	DISTSNAP_ORIGIN_RECVQ,		/* receive queue: incoming offsets */
	DISTSNAP_ORIGIN_OFO,		/* out-of-order queue */
	DISTSNAP_ORIGIN_LOG,		/* arrived after the recording */
};

enum distsnap_parked {
	DISTSNAP_PARKED_CALLBACK,	/* on its way to user mode */
	DISTSNAP_PARKED_ASLEEP,		/* inside a system call that goes on */
};

#endif /* _UAPI_DISTSNAP_H */
