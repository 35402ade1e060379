/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is kept of a snapshot on this node: a ds_snap for each epoch, in it a
 * ds_record for each member, in that a ds_cut for each connection and a
 * ds_thread for each thread.
 *
 * Lifetime: a ds_snap is open from the trigger until ds_snap_finish().  While it
 * is open, members and channels point into it (member->rec, channel->cut) and
 * it stays.  When it is finished nobody points into it any more, it does not
 * change, and it is freed by DROP, by newer snapshots or with its group.
 */
#ifndef _DISTSNAP_RECORD_H
#define _DISTSNAP_RECORD_H

#include <linux/in6.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/pid.h>
#include <linux/skbuff.h>
#include <asm/ptrace.h>
#include <asm/user.h>
#include "../uapi/distsnap.h"

struct ds_channel;
struct ds_group;
struct ds_member;

#define DS_SNAPS_KEPT		4	/* finished and not fetched */
#define DS_ORIGINS		4	/* enum distsnap_origin */

/* A reason why something is incomplete, in words. */
struct ds_reason {
	struct list_head node;
	char text[];
};

/**
 * struct ds_snap - an epoch on this node; fields: group->mutex
 * @node: in group->snaps
 * @epoch: which; @group: id of the group
 * @flags: DISTSNAP_F_*
 * @state: TRIGGERED while open
 * @t0: when it was triggered; all times of records count from here
 * @realtime: the same moment on CLOCK_REALTIME, ns
 * @records: struct ds_record
 * @n_records: how many
 * @bytes: memory that captured and logged segments take; any context
 * @held_max: bytes that waited at once, at most; any context
 * @reasons: struct ds_reason
 */
struct ds_snap {
	struct list_head node;
	u32 epoch;
	u16 group;
	u32 flags;
	enum distsnap_state state;
	ktime_t t0;
	u64 realtime;
	struct list_head records;
	unsigned int n_records;
	atomic64_t bytes;
	atomic64_t held_max;
	struct list_head reasons;
};

/**
 * struct ds_record - what one member recorded; fields: member->mutex
 * @node: in snap->records
 * @snap: its snapshot
 * @member: id, @name and @pid say whose it is; the member may be gone
 * @state: enum distsnap_state; also read under member->lock
 * @flags: DISTSNAP_F_IMAGE or DISTSNAP_F_ENDED, or neither
 * @pending: directions neither closed nor answered, and one while connections may
 *	still be born of handshakes that were under way, and one for each segment that
 *	is logged when TCP has it (log_begins()); member->lock
 * @cuts: struct ds_cut
 * @threads: array of @n_threads
 */
struct ds_record {
	struct list_head node;
	struct ds_snap *snap;
	u32 member;
	char name[DISTSNAP_NAME_MAX + 1];
	struct pid *pid;
	enum distsnap_state state;
	u32 flags;
	unsigned int pending;
	unsigned int n_cuts;
	struct list_head cuts;
	unsigned int n_threads;
	struct ds_thread *threads;
	u64 park_ns;
	u64 parked_ns;
	u64 captured_ns;
	u64 recorded_ns;
	u64 done_ns;
	struct list_head reasons;
};

/**
 * struct ds_cut - one connection at the instant of its member's recording
 * @node: in record->cuts, or a tombstone in member->tombs
 * @rec: its record
 * @died: of a tombstone (jiffies)
 * @channel: id of the connection; the addresses and the rest are copies
 * @flags: DISTSNAP_CUT_*; member->lock
 * @pending_in: the incoming direction is still open; member->lock
 * @pending_out: our marker is not answered yet; member->lock
 * @logging: clone what comes in; member->lock
 * @captured: positions and queues are set; member->lock
 * @unborn: the connection was in SYN_SENT
 * @born: it was not even that: it is logged from its first byte on
 * @fin: the peer's FIN is in; member->lock
 * @log_lost: the log has a hole; member->lock
 * @rcv_nxt: sequence number of @in_next, to convert others
 * @marker: sequence number of the peer's anchor, with CUT_CLOSED
 * @q: clones by origin, positions in TCP_SKB_CB; member->lock until finished
 */
struct ds_cut {
	struct list_head node;
	struct ds_record *rec;
	unsigned long died;
	u32 channel;
	struct in6_addr saddr;
	struct in6_addr daddr;
	__be16 sport;
	__be16 dport;
	u16 family;
	u32 isn;
	u32 peer_isn;
	u64 inode;
	enum distsnap_peer peer;
	u32 tcp_state;
	u32 flags;
	bool pending_in;
	bool pending_out;
	bool logging;
	bool captured;
	bool unborn;
	bool born;
	bool fin;
	bool log_lost;
	u32 snd_una;
	u32 rcv_nxt;
	u32 marker;
	u64 out_una;
	u64 out_sent;
	u64 in_read;
	u64 in_next;
	struct sk_buff_head q[DS_ORIGINS];
};

/**
 * struct ds_thread - a parked thread
 * @tid: its pid; a reference
 * @parked: how
 * @syscall: number of the call it is in, -1 none
 * @args: of the call
 * @regs: NT_PRSTATUS registers
 * @fpregs: NT_PRFPREG, @fplen bytes; NULL when they could not be read
 */
struct ds_thread {
	struct pid *tid;
	enum distsnap_parked parked;
	int syscall;
	u64 args[6];
	struct user_regs_struct regs;
	void *fpregs;
	unsigned int fplen;
};

struct ds_snap *ds_snap_find(struct ds_group *g, u32 epoch);
struct ds_snap *ds_snap_get_or_create(struct ds_group *g, u32 epoch, u32 flags,
				      ktime_t t0);
bool ds_record_is_open(const struct ds_record *rec);
bool ds_snap_is_open(const struct ds_snap *snap);
bool ds_group_has_open(struct ds_group *g);
void ds_snap_free(struct ds_snap *snap);
void ds_snap_finish(struct ds_group *g, struct ds_snap *snap);
struct ds_record *ds_record_create(struct ds_snap *snap, struct ds_member *m);
void ds_record_detach(struct ds_member *m, enum distsnap_state state);
void ds_record_settled(struct ds_record *rec, struct ds_cut *cut, bool in,
		       u32 flags);
void ds_record_born(struct ds_member *m);
struct ds_cut *ds_cut_create(struct ds_record *rec, struct ds_channel *ch);
void ds_cut_begin(struct ds_cut *cut, struct ds_channel *ch);
struct ds_cut *ds_cut_bury(struct ds_channel *ch);
void ds_cut_remove(struct ds_cut *cut);
int ds_record_tombs(struct ds_member *m, struct ds_record *rec);
void ds_cut_born(struct ds_record *rec, struct ds_channel *ch);
__printf(2, 3)
void ds_reason_add(struct list_head *reasons, const char *fmt, ...);
void ds_threads_free(struct ds_thread *threads, unsigned int n);
u64 ds_cut_offset(const struct ds_cut *cut, enum distsnap_origin origin, u32 seq);

#endif /* _DISTSNAP_RECORD_H */
