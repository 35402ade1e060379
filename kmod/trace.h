/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Trace points: what a snapshot does, step by step.  They are for people and tools that
 * look on (tracefs, perf, BPF); names and numbers stay as they are, new ones come last.
 * Not attached, each costs a jump that is patched out.
 *
 * There are two kinds, each with the same fields in all its events:
 *
 *	steps of a member	ds_parked ds_captured ds_recorded ds_released
 *				ds_aborted ds_done
 *	what befalls a channel	ds_trigger ds_levelled
 *				ds_tracked ds_born ds_untracked ds_buried
 *				ds_marker_sent ds_marker_received
 *				ds_answer_sent ds_answer_received
 *				ds_held ds_let_in ds_held_dropped
 *				ds_gated ds_let_out ds_gated_dropped
 *
 * and ds_settled, of one direction of a channel in a record.  All have
 *
 *	group	its id, the same on every host
 *	member	its id, and its name; ids of members and channels are never used again
 *		on this machine, in whatever namespace
 *	epoch	that it is about; 0 none
 *
 * Steps have, besides,
 *
 *	ns	since the snapshot was triggered on this node
 *	took	ns that the step took: until all threads were parked; from there until
 *		they and the sockets were captured; from there until the local state
 *		was recorded; ds_released: the whole pause; else 0
 *	threads	of the member, connections in its record, and how many directions are
 *		neither closed nor answered (pending)
 *	state	enum distsnap_state of the record; ds_done: how it ended
 *	error	errno of ds_aborted
 *
 * Channels, of which ports and addresses are as in the kernel's tcp:* events:
 *
 *	channel	its id, 0 when there is none (a trigger that came from no segment)
 *	isn	initial numbers: crosswise the same at the other end, behind any NAT
 *	peer	enum distsnap_peer
 *	seq	of a marker, its anchor; of a NAK, the reason (errno); of a segment, the
 *		number of its first byte
 *	len	bytes of data in the segment, where there is one
 *	skbaddr	tells which segment is let in or out
 *	how	enum ds_how
 *
 * A segment that was held or gated is let in or out once, or dropped.  What is let in
 * may be held again at once, by a newer epoch.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM distsnap

#if !defined(_DISTSNAP_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _DISTSNAP_TRACE_H

#include <linux/tracepoint.h>
#include "../uapi/distsnap.h"

struct ds_channel;
struct ds_cut;
struct ds_member;
struct ds_record;
struct ds_seg;

#ifndef _DISTSNAP_TRACE_HOW
#define _DISTSNAP_TRACE_HOW

enum ds_how {
	DS_HOW_NONE,
	DS_HOW_REQUEST,		/* ds_trigger: by a TAKE on this node */
	DS_HOW_NODE,		/* ... another member here had been triggered */
	DS_HOW_MARKER,		/* ... by a marker */
	DS_HOW_HANDSHAKE,	/* ... by a segment that a connection is born from */
	DS_HOW_FIRST,		/* ds_marker_sent: since somebody looks on */
	DS_HOW_REPEATED,	/* ... once more; ds_marker_received: known already */
	DS_HOW_ACCEPTED,	/* ds_marker_received: news */
	DS_HOW_STALE,		/* ... older than one that is known */
	DS_HOW_CONTRADICTED,	/* ... another anchor than before */
	DS_HOW_ACK,		/* ds_answer_*: has recorded it */
	DS_HOW_NAK,		/* ... will not */
	DS_HOW_MISSED,		/* ... is at a newer epoch already */
	DS_HOW_RECORD,		/* ds_levelled: it waits until the epoch is recorded */
	DS_HOW_SKIP,		/* ... which is over and is skipped */
	DS_HOW_LISTENING,	/* ds_tracked: a listening socket */
	DS_HOW_CONNECTING,	/* ... in SYN_SENT */
	DS_HOW_CONNECTED,	/* ... a connection */
	DS_HOW_RED,		/* ds_held, ds_gated: by its colour */
	DS_HOW_BEHIND,		/* ... behind others of its channel that are on the way */
	DS_HOW_FULL,		/* ds_*_dropped: did not wait, no room or memory */
	DS_HOW_FLUSHED,		/* ... had waited, its device or the member goes */
};

#endif

/* For tools that read the format from tracefs. */
TRACE_DEFINE_ENUM(DISTSNAP_S_TRIGGERED);
TRACE_DEFINE_ENUM(DISTSNAP_S_CAPTURED);
TRACE_DEFINE_ENUM(DISTSNAP_S_RECORDED);
TRACE_DEFINE_ENUM(DISTSNAP_S_DONE);
TRACE_DEFINE_ENUM(DISTSNAP_S_EXPIRED);
TRACE_DEFINE_ENUM(DISTSNAP_S_ABORTED);
TRACE_DEFINE_ENUM(DISTSNAP_S_SUPERSEDED);
TRACE_DEFINE_ENUM(DISTSNAP_PEER_UNKNOWN);
TRACE_DEFINE_ENUM(DISTSNAP_PEER_MEMBER);
TRACE_DEFINE_ENUM(DISTSNAP_PEER_EXTERNAL);
TRACE_DEFINE_ENUM(DISTSNAP_PEER_REWRITTEN);
TRACE_DEFINE_ENUM(DISTSNAP_PEER_UNSUPPORTED);
TRACE_DEFINE_ENUM(DISTSNAP_PEER_CONNECTING);
TRACE_DEFINE_ENUM(DS_HOW_NONE);
TRACE_DEFINE_ENUM(DS_HOW_REQUEST);
TRACE_DEFINE_ENUM(DS_HOW_NODE);
TRACE_DEFINE_ENUM(DS_HOW_MARKER);
TRACE_DEFINE_ENUM(DS_HOW_HANDSHAKE);
TRACE_DEFINE_ENUM(DS_HOW_FIRST);
TRACE_DEFINE_ENUM(DS_HOW_REPEATED);
TRACE_DEFINE_ENUM(DS_HOW_ACCEPTED);
TRACE_DEFINE_ENUM(DS_HOW_STALE);
TRACE_DEFINE_ENUM(DS_HOW_CONTRADICTED);
TRACE_DEFINE_ENUM(DS_HOW_ACK);
TRACE_DEFINE_ENUM(DS_HOW_NAK);
TRACE_DEFINE_ENUM(DS_HOW_MISSED);
TRACE_DEFINE_ENUM(DS_HOW_RECORD);
TRACE_DEFINE_ENUM(DS_HOW_SKIP);
TRACE_DEFINE_ENUM(DS_HOW_LISTENING);
TRACE_DEFINE_ENUM(DS_HOW_CONNECTING);
TRACE_DEFINE_ENUM(DS_HOW_CONNECTED);
TRACE_DEFINE_ENUM(DS_HOW_RED);
TRACE_DEFINE_ENUM(DS_HOW_BEHIND);
TRACE_DEFINE_ENUM(DS_HOW_FULL);
TRACE_DEFINE_ENUM(DS_HOW_FLUSHED);

#define ds_show_state(state) __print_symbolic(state,			\
	{ DISTSNAP_S_TRIGGERED,		"triggered" },			\
	{ DISTSNAP_S_CAPTURED,		"captured" },			\
	{ DISTSNAP_S_RECORDED,		"recorded" },			\
	{ DISTSNAP_S_DONE,		"done" },			\
	{ DISTSNAP_S_EXPIRED,		"expired" },			\
	{ DISTSNAP_S_ABORTED,		"aborted" },			\
	{ DISTSNAP_S_SUPERSEDED,	"superseded" })

#define ds_show_peer(peer) __print_symbolic(peer,			\
	{ DISTSNAP_PEER_UNKNOWN,	"unknown" },			\
	{ DISTSNAP_PEER_MEMBER,		"member" },			\
	{ DISTSNAP_PEER_EXTERNAL,	"external" },			\
	{ DISTSNAP_PEER_REWRITTEN,	"rewritten" },			\
	{ DISTSNAP_PEER_UNSUPPORTED,	"unsupported" },		\
	{ DISTSNAP_PEER_CONNECTING,	"connecting" })

#define ds_show_how(how) __print_symbolic(how,				\
	{ DS_HOW_NONE,			"-" },				\
	{ DS_HOW_REQUEST,		"request" },			\
	{ DS_HOW_NODE,			"node" },			\
	{ DS_HOW_MARKER,		"marker" },			\
	{ DS_HOW_HANDSHAKE,		"handshake" },			\
	{ DS_HOW_FIRST,			"first" },			\
	{ DS_HOW_REPEATED,		"repeated" },			\
	{ DS_HOW_ACCEPTED,		"accepted" },			\
	{ DS_HOW_STALE,			"stale" },			\
	{ DS_HOW_CONTRADICTED,		"contradicted" },		\
	{ DS_HOW_ACK,			"ack" },			\
	{ DS_HOW_NAK,			"nak" },			\
	{ DS_HOW_MISSED,		"missed" },			\
	{ DS_HOW_RECORD,		"record" },			\
	{ DS_HOW_SKIP,			"skip" },			\
	{ DS_HOW_LISTENING,		"listening" },			\
	{ DS_HOW_CONNECTING,		"connecting" },			\
	{ DS_HOW_CONNECTED,		"connected" },			\
	{ DS_HOW_RED,			"red" },			\
	{ DS_HOW_BEHIND,		"behind" },			\
	{ DS_HOW_FULL,			"full" },			\
	{ DS_HOW_FLUSHED,		"flushed" })

#define DS_CUT_NAMES							\
	{ DISTSNAP_CUT_CLOSED,		"closed" },			\
	{ DISTSNAP_CUT_ACKED,		"acked" },			\
	{ DISTSNAP_CUT_NAKED,		"naked" },			\
	{ DISTSNAP_CUT_MISSED,		"missed" },			\
	{ DISTSNAP_CUT_GONE,		"gone" },			\
	{ DISTSNAP_CUT_LEFT,		"left" },			\
	{ DISTSNAP_CUT_SHORT,		"short" }

/* @rec: NULL when it was not begun; @from: when the step began, or 0; @ns: 0 is now */
DECLARE_EVENT_CLASS(ds_step,
	TP_PROTO(const struct ds_member *m, const struct ds_record *rec, u64 from, u64 ns,
		 enum distsnap_state state, int error),
	TP_ARGS(m, rec, from, ns, state, error),
	TP_STRUCT__entry(
		__field(u16, group)
		__field(u16, state)
		__field(u32, member)
		__field(u32, epoch)
		__field(int, error)
		__field(u32, threads)
		__field(u32, connections)
		__field(u32, pending)
		__field(u64, ns)
		__field(u64, took)
		__array(char, name, DISTSNAP_NAME_MAX + 1)
	),
	TP_fast_assign(
		__entry->group = m->group->id;
		__entry->state = state;
		__entry->member = m->id;
		__entry->epoch = rec ? rec->snap->epoch : m->colour.current_epoch;
		__entry->error = error;
		__entry->threads = threads_of(m, rec);
		__entry->connections = rec ? rec->n_cuts : 0;
		__entry->pending = rec ? rec->pending : 0;
		__entry->ns = ns ?: ktime_to_ns(ktime_sub(ktime_get(), rec ? rec->snap->t0 :
							  m->triggered));
		__entry->took = from ? __entry->ns - from : 0;
		memcpy(__entry->name, m->name, sizeof(__entry->name));
	),
	TP_printk("group=%u member=%u name=%s epoch=%u state=%s error=%d threads=%u connections=%u pending=%u ns=%llu took=%llu",
		  __entry->group, __entry->member, __entry->name, __entry->epoch,
		  ds_show_state(__entry->state), __entry->error, __entry->threads,
		  __entry->connections, __entry->pending, __entry->ns, __entry->took)
);

#define DEFINE_DS_STEP(name)						\
DEFINE_EVENT(ds_step, name,						\
	TP_PROTO(const struct ds_member *m, const struct ds_record *rec, u64 from, u64 ns, \
		 enum distsnap_state state, int error),			\
	TP_ARGS(m, rec, from, ns, state, error))

DEFINE_DS_STEP(ds_parked);	/* no thread of it can reach user mode */
DEFINE_DS_STEP(ds_captured);	/* sockets and threads */
DEFINE_DS_STEP(ds_recorded);	/* published: its anchors are markers */
DEFINE_DS_STEP(ds_released);	/* its threads, whether it was recorded or not */
DEFINE_DS_STEP(ds_aborted);	/* what had been triggered; the epoch stays consumed */
DEFINE_DS_STEP(ds_done);	/* nothing more comes to its record */

/* @ch: NULL when there is none; @seg: NULL when it is none; @skb: one that waits */
DECLARE_EVENT_CLASS(ds_event,
	TP_PROTO(const struct ds_member *m, const struct ds_channel *ch,
		 const struct ds_seg *seg, const struct sk_buff *skb, u32 epoch, u32 seq,
		 enum ds_how how),
	TP_ARGS(m, ch, seg, skb, epoch, seq, how),
	TP_STRUCT__entry(
		__field(u16, group)
		__field(u16, how)
		__field(u32, member)
		__field(u32, epoch)
		__field(u32, channel)
		__field(u32, isn)
		__field(u32, peer_isn)
		__field(u32, seq)
		__field(u32, len)
		__field(const void *, skbaddr)
		__field(const void *, skaddr)
		__field(u16, peer)
		__field(u16, sport)
		__field(u16, dport)
		__field(u16, family)
		__array(u8, saddr, 4)
		__array(u8, daddr, 4)
		__array(u8, saddr_v6, 16)
		__array(u8, daddr_v6, 16)
		__array(char, name, DISTSNAP_NAME_MAX + 1)
	),
	TP_fast_assign(
		struct ends e = ends_of(ch, seg);

		__entry->group = m->group->id;
		__entry->how = how;
		__entry->member = m->id;
		__entry->epoch = epoch;
		__entry->channel = ch ? ch->id : 0;
		__entry->isn = ch ? ch->isn : 0;
		__entry->peer_isn = ch ? ch->peer_isn : 0;
		__entry->seq = seq;
		__entry->len = seg ? seg->payload : 0;
		__entry->skbaddr = skb;
		__entry->skaddr = ch ? ch->sk : NULL;
		__entry->peer = ch ? ch->peer : DISTSNAP_PEER_UNKNOWN;
		__entry->sport = ntohs(e.sport);
		__entry->dport = ntohs(e.dport);
		__entry->family = e.family;
		memcpy(__entry->saddr, &e.saddr.s6_addr32[3], sizeof(__entry->saddr));
		memcpy(__entry->daddr, &e.daddr.s6_addr32[3], sizeof(__entry->daddr));
		memcpy(__entry->saddr_v6, &e.saddr, sizeof(__entry->saddr_v6));
		memcpy(__entry->daddr_v6, &e.daddr, sizeof(__entry->daddr_v6));
		memcpy(__entry->name, m->name, sizeof(__entry->name));
	),
	TP_printk("group=%u member=%u name=%s epoch=%u how=%s channel=%u peer=%s family=%u sport=%u dport=%u saddr=%pI4 daddr=%pI4 saddrv6=%pI6c daddrv6=%pI6c isn=%u peer_isn=%u seq=%u len=%u skbaddr=%p",
		  __entry->group, __entry->member, __entry->name, __entry->epoch,
		  ds_show_how(__entry->how), __entry->channel, ds_show_peer(__entry->peer),
		  __entry->family, __entry->sport, __entry->dport, __entry->saddr,
		  __entry->daddr, __entry->saddr_v6, __entry->daddr_v6, __entry->isn,
		  __entry->peer_isn, __entry->seq, __entry->len, __entry->skbaddr)
);

#define DEFINE_DS_EVENT(name)						\
DEFINE_EVENT(ds_event, name,						\
	TP_PROTO(const struct ds_member *m, const struct ds_channel *ch, \
		 const struct ds_seg *seg, const struct sk_buff *skb, u32 epoch, u32 seq, \
		 enum ds_how how),					\
	TP_ARGS(m, ch, seg, skb, epoch, seq, how))

DEFINE_DS_EVENT(ds_trigger);		/* the first step of a member's recording */
DEFINE_DS_EVENT(ds_levelled);		/* a handshake showed a newer epoch */
DEFINE_DS_EVENT(ds_tracked);		/* a socket is a channel of the member */
DEFINE_DS_EVENT(ds_born);		/* ... what was connecting is connected */
DEFINE_DS_EVENT(ds_untracked);		/* ... no more */
DEFINE_DS_EVENT(ds_buried);		/* ... but its last positions are kept */
DEFINE_DS_EVENT(ds_marker_sent);	/* on a segment, or on a pure ACK (len 0) */
DEFINE_DS_EVENT(ds_marker_received);
DEFINE_DS_EVENT(ds_answer_sent);	/* once for each marker that asked for it */
DEFINE_DS_EVENT(ds_answer_received);	/* the first */
DEFINE_DS_EVENT(ds_held);		/* incoming */
DEFINE_DS_EVENT(ds_let_in);
DEFINE_DS_EVENT(ds_held_dropped);
DEFINE_DS_EVENT(ds_gated);		/* outgoing */
DEFINE_DS_EVENT(ds_let_out);
DEFINE_DS_EVENT(ds_gated_dropped);

/* One direction of a connection in a record has come to its end, and how. */
TRACE_EVENT(ds_settled,
	TP_PROTO(const struct ds_record *rec, const struct ds_cut *cut, bool in, u32 flags),
	TP_ARGS(rec, cut, in, flags),
	TP_STRUCT__entry(
		__field(u16, group)
		__field(u16, incoming)
		__field(u32, member)
		__field(u32, epoch)
		__field(u32, channel)
		__field(u32, isn)
		__field(u32, peer_isn)
		__field(u32, pending)
		__field(u32, cut_flags)
		__field(u64, ns)
		__field(u16, sport)
		__field(u16, dport)
		__field(u16, family)
		__array(u8, saddr, 4)
		__array(u8, daddr, 4)
		__array(u8, saddr_v6, 16)
		__array(u8, daddr_v6, 16)
		__array(char, name, DISTSNAP_NAME_MAX + 1)
	),
	TP_fast_assign(
		__entry->group = rec->snap->group;
		__entry->incoming = in;
		__entry->member = rec->member;
		__entry->epoch = rec->snap->epoch;
		__entry->channel = cut->channel;
		__entry->isn = cut->isn;
		__entry->peer_isn = cut->peer_isn;
		__entry->pending = rec->pending;
		__entry->cut_flags = flags;
		__entry->ns = ktime_to_ns(ktime_sub(ktime_get(), rec->snap->t0));
		__entry->sport = ntohs(cut->sport);
		__entry->dport = ntohs(cut->dport);
		__entry->family = cut->family;
		memcpy(__entry->saddr, &cut->saddr.s6_addr32[3], sizeof(__entry->saddr));
		memcpy(__entry->daddr, &cut->daddr.s6_addr32[3], sizeof(__entry->daddr));
		memcpy(__entry->saddr_v6, &cut->saddr, sizeof(__entry->saddr_v6));
		memcpy(__entry->daddr_v6, &cut->daddr, sizeof(__entry->daddr_v6));
		memcpy(__entry->name, rec->name, sizeof(__entry->name));
	),
	TP_printk("group=%u member=%u name=%s epoch=%u %s=%s channel=%u family=%u sport=%u dport=%u saddr=%pI4 daddr=%pI4 saddrv6=%pI6c daddrv6=%pI6c isn=%u peer_isn=%u pending=%u ns=%llu",
		  __entry->group, __entry->member, __entry->name, __entry->epoch,
		  __entry->incoming ? "in" : "out",
		  __print_flags(__entry->cut_flags, "|", DS_CUT_NAMES), __entry->channel,
		  __entry->family, __entry->sport, __entry->dport, __entry->saddr,
		  __entry->daddr, __entry->saddr_v6, __entry->daddr_v6, __entry->isn,
		  __entry->peer_isn, __entry->pending, __entry->ns)
);

#endif /* _DISTSNAP_TRACE_H */

/* Found by the -I of Kbuild. */
#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
