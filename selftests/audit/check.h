/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rules by which a snapshot of the bank is consistent.
 *
 * From the manifest come names, positions and the recorded bytes: for a channel
 * R bytes had been read and S sent, and the bytes [R, S) were on their way.  All
 * the rest comes from the members' memory and registers:
 *
 * 1. The receiver knows of rx_pos <= R bytes.  It differs from R only by what
 *    one of its threads has moved and not yet booked: exactly the result of a
 *    call that returned, or 0 to len bytes of one still open.  The same holds
 *    for the sender, with tx_pos and S.
 * 2. What the receiver read of the message not yet credited, then the recorded
 *    bytes, then what the sender has still to send of the last message created,
 *    is exactly the messages credited .. created - 1, byte for byte.
 * 3. All balances and the amounts in these bytes give the total.
 */
#ifndef AUDIT_CHECK_H
#define AUDIT_CHECK_H

#include <stdint.h>

#include "core.h"
#include "snap.h"

struct audit {
	const struct exe *exe;
	int light;			/* without cores: rule 2 for [R, S) only */
	int has_seed, has_total;
	uint64_t seed;			/* light: this; else must agree */
	uint32_t max_len;		/* light only */
	int64_t total;
};

struct finding {
	uint64_t epoch, pause_us;
	unsigned int members, channels, busy;	/* busy: with bytes in flight */
	uint64_t bytes;
	unsigned int ahead;		/* ends where the kernel was ahead of memory */
	int64_t balances, in_flight, total;	/* not when light */
};

/* 0, -1 with a sentence, or SNAP_INCOMPLETE. */
int check_snapshot(const struct audit *a, const char *path, struct finding *f,
		   struct why *w);

/* light.c */
int check_light(const struct audit *a, const struct snap *s, struct why *w);

/* One for each pair of banks; a seek that goes on from the last is cheap. */
struct bank_stream *check_stream(uint64_t seed, uint32_t max_len,
				 unsigned int from, unsigned int to);

#endif
