/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The memory of a bank, as its threads keep it and as the oracle reads it out
 * of a core by the symbol "bank".
 *
 * A snapshot stops every thread between any two instructions.  What follows
 * holds at each of these points, so a core can be audited to the byte:
 *
 * - @ledger is kept twice and bank.ledger[bank.cur] is always whole.  A thread
 *   writes the other copy, under a mutex, and makes it valid by the one store
 *   to @cur (release: the copy is complete before).
 * - A sender fills tx_buf[peer] with message created[peer], and counts it as
 *   created (and its amount as gone) only after that.  It fills the next one
 *   only when the whole message has been handed to the kernel.  So the bytes
 *   of the last created message from tx_pos on stand in tx_buf.
 * - A receiver reads message credited[peer] to the place in rx_buf[peer] where
 *   it belongs, and credits it only when it is complete and right.  So all that
 *   was read of a message not yet credited stands in rx_buf.
 * - tx_pos and rx_pos say how many bytes of a stream a bank knows to have moved.
 *   Each has one writer, bank_move(), and one instruction that advances it: the
 *   result of a system call is either in rax, between the labels bank_moved and
 *   bank_move_done, or in the position.  Elsewhere the position is exact; in a
 *   call that goes on, the kernel may be ahead by up to the length asked for, or
 *   not at all if it waits for data to receive and may return less.
 *
 * Stores by different threads need no order among each other: all threads are
 * stopped, and what was executed is in memory.  The compiler alone must not
 * change the order, which is what the atomics and bank_move() being opaque are
 * good for.
 */
#ifndef BANK_H
#define BANK_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdint.h>

#include "bankgen.h"

#define BANK_MAX	8
#define BANK_MAGIC	0x314b4e41424e5344ULL	/* "DSNBANK1" */

struct bank_ledger {
	int64_t balance;
	uint64_t created[BANK_MAX];	/* messages to each peer */
	uint64_t credited[BANK_MAX];	/* messages from each peer */
};

struct bank_conn {
	int fd;
	struct sockaddr_storage local, remote;
	_Atomic uint64_t tx_pos, rx_pos;
};

struct bank {
	uint64_t magic;
	uint32_t id, n;			/* which of how many */
	uint64_t seed;
	uint32_t max_len;
	int64_t initial;
	_Atomic uint32_t cur;
	struct bank_ledger ledger[2];
	struct bank_conn conn[BANK_MAX];	/* by peer; fd -1 for itself */
	unsigned char tx_buf[BANK_MAX][BANK_LEN_MAX + 1];
	unsigned char rx_buf[BANK_MAX][BANK_LEN_MAX + 1];
};

extern struct bank bank;

/*
 * Make system call @nr(@fd, @a, @b, @c, 0, 0), one that moves bytes of a
 * stream, and add a positive result to @pos.  Returns what the kernel did.
 */
long bank_move(long nr, long fd, const void *a, long b, long c,
	       _Atomic uint64_t *pos);

/* mesh.c: connect to all lower banks and wait for all higher ones. */
struct bank_options {
	struct sockaddr_storage addr[BANK_MAX];
	int sockbuf;
	long rate;			/* messages a second and stream; 0: any */
	int allow_short;
};

extern struct bank_options opt;

void bank_mesh(void);
void bank_die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/* transfer.c */
void bank_start(void);		/* one sender and one receiver for each peer */
void bank_stop(void);		/* half-close and drain */
void bank_summary(void);

#endif
