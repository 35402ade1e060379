/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rules of the algorithm: Chandy & Lamport, "Distributed Snapshots",
 * ACM TOCS 3(1), 1985, with the colouring of Lai & Yang (every red message says
 * that it is red) because TCP segments are lost, repeated and reordered.
 *
 * Pure: no kernel calls, no clock, no allocation.  The caller serialises the
 * functions of one member and of all its channels (in the module: member->lock).
 *
 * A member goes round:
 *
 *	       ds_trigger()         ds_capture()           ds_publish()
 *	IDLE -------------> TRIGGERED ----------> CAPTURED -----------> IDLE
 *	  ^                     |                     |          recorded = epoch
 *	  +---------------------+---------------------+
 *	             ds_abort(): the epoch stays consumed
 *
 * Each channel, seen from its sender, for the epoch in @out_epoch:
 *
 *	      ds_arm()    ds_publish()       ACK, NAK, a newer ACK, or forgotten
 *	CLEAR ------> ARMED ------> (marking) ------> ANSWERED
 *
 * Marking is not a state of its own: a channel marks when its anchor is armed
 * for the very epoch that its member recorded.  So one store on the member
 * turns all its anchors into markers at one instant.
 */
#ifndef _DISTSNAP_SNAPSHOT_H
#define _DISTSNAP_SNAPSHOT_H

#include "option.h"

enum ds_phase {
	DS_IDLE,
	DS_TRIGGERED,	/* red segments are held */
	DS_CAPTURED,	/* and what goes beyond an armed anchor waits as well */
};

/**
 * struct ds_colour - what a member has to do with epochs
 * @recorded: last epoch recorded, 0 none
 * @consumed: newest epoch recorded, begun or refused: it is never begun again
 * @level: newest epoch that lies behind it, recorded or not: what it shows to
 *	the peers of new connections
 * @current_epoch: the epoch being recorded, 0 when idle
 * @phase: how far that is
 */
struct ds_colour {
	u32 recorded;
	u32 consumed;
	u32 level;
	u32 current_epoch;
	enum ds_phase phase;
};

enum ds_out_state {
	DS_OUT_CLEAR,
	DS_OUT_ARMED,
	DS_OUT_ACKED,
	DS_OUT_NAKED,
	DS_OUT_MISSED,	/* the peer moved on to a newer epoch, or we gave up */
};

/**
 * struct ds_ends - both directions of a connection, as its member sees them
 * @out_state: what became of our marker
 * @out_epoch: epoch of @out_anchor
 * @out_anchor: write_seq when the member was captured
 * @in_epoch: newest epoch that the peer marked, 0 none
 * @in_anchor: where
 * @out_light: our marker asks for a recording without images
 * @in_light: so does the peer's
 * @answer_due: the peer waits for an ACK or NAK of @in_epoch
 * @nak_reason: goes into the NAK (a positive errno)
 */
struct ds_ends {
	enum ds_out_state out_state;
	u32 out_epoch;
	u32 out_anchor;
	u32 in_epoch;
	u32 in_anchor;
	bool out_light;
	bool in_light;
	bool answer_due;
	u8 nak_reason;
};

/* What ds_receive() asks its caller to do. */
#define DS_ACT_TRIGGER		0x01	/* a newer epoch: record it */
#define DS_ACT_CLOSED		0x02	/* @in_epoch and @in_anchor are news */
#define DS_ACT_ANSWER		0x04	/* an answer is due */
#define DS_ACT_ACKED		0x08
#define DS_ACT_NAKED		0x10
#define DS_ACT_MISSED		0x20
#define DS_ACT_STALE		0x40	/* a marker older than one we know */
#define DS_ACT_CONTRADICTED	0x80	/* another anchor for the same epoch */

/* What a handshake asks of the member that it would give a connection to. */
enum ds_handshake {
	DS_GO_ON,	/* both sides are of one colour */
	DS_WAIT,	/* it is being recorded: no connection is born meanwhile */
	DS_RECORD,	/* the peer is ahead, and that epoch is still open */
	DS_SKIP,	/* the peer is ahead, and that epoch is over */
};

/* An epoch further ahead than this is never recorded, only skipped. */
#define DS_EPOCH_JUMP_MAX	0x10000

unsigned int ds_receive(const struct ds_colour *m, struct ds_ends *c,
			const struct ds_option *opt);
bool ds_is_red(const struct ds_colour *m, const struct ds_ends *c,
	       const struct ds_option *opt, u32 end, bool reset);
bool ds_trigger(struct ds_colour *m, u32 epoch);
void ds_arm(const struct ds_colour *m, struct ds_ends *c, u32 anchor, bool light);
void ds_arm_late(const struct ds_colour *m, struct ds_ends *c, u32 anchor, bool light);
void ds_disarm(struct ds_ends *c);
bool ds_is_gated(const struct ds_colour *m, const struct ds_ends *c, u32 end,
		 bool reset);
void ds_publish(struct ds_colour *m);
u32 ds_answer_kept(const struct ds_colour *m, struct ds_ends *c, u32 epoch);
bool ds_answer_waits(const struct ds_colour *m, const struct ds_ends *c);
enum ds_handshake ds_level(const struct ds_colour *m, u32 epoch, bool open);
void ds_skip(struct ds_colour *m, u32 epoch);
void ds_abort(struct ds_colour *m);
bool ds_is_marking(const struct ds_colour *m, const struct ds_ends *c);
bool ds_compose(const struct ds_colour *m, const struct ds_ends *c,
		struct ds_option *opt);
void ds_said(struct ds_ends *c, const struct ds_option *opt);

#endif /* _DISTSNAP_SNAPSHOT_H */
