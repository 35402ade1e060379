/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the banks say to each other.  Message i of the stream from one bank to
 * another depends on nothing but (seed, from, to, i), so whoever knows the seed
 * can say for any position of any stream which byte must stand there: the
 * receiving bank does it all the time, the oracle for what was in flight.
 *
 * A message is a header {le32 length, le32 amount, le64 index} and a payload of
 * pseudo-random bytes.  Its length, header included, is odd: with most of them
 * short and some very long a cut falls inside a message nearly always.  Amounts
 * do not depend on balances, which may become negative: a bank that looks at
 * its balance first would say things that nobody else can predict.
 */
#ifndef BANKGEN_H
#define BANKGEN_H

#include <stddef.h>
#include <stdint.h>

#define BANK_HEADER	16
#define BANK_LEN_MAX	65535	/* of any message */
#define BANK_LEN_USUAL	32767	/* default of --max-len */

/* A stream, standing at the start of message @index. */
struct bank_stream {
	uint64_t seed;
	uint32_t from, to;
	uint32_t max_len;
	uint64_t index;
	uint64_t start;		/* stream offset of its first byte */
};

void bank_stream_init(struct bank_stream *s, uint64_t seed, uint32_t from,
		      uint32_t to, uint32_t max_len);

/* About the message at which the stream stands. */
uint32_t bank_len(const struct bank_stream *s);
uint32_t bank_amount(const struct bank_stream *s);
/* Its bytes [off, off + n). */
void bank_bytes(const struct bank_stream *s, size_t off, void *buf, size_t n);
/* Where @buf differs from them first; @n if nowhere. */
size_t bank_differ(const struct bank_stream *s, size_t off, const void *buf,
		   size_t n);

void bank_next(struct bank_stream *s);
void bank_seek(struct bank_stream *s, uint64_t index);
/* To the message that has the byte at @offset. */
void bank_find(struct bank_stream *s, uint64_t offset);

/* A checksum over whole messages; begin with 0. */
uint64_t bank_sum(uint64_t sum, const void *msg, size_t len);

/* splitmix64, for whoever needs other random numbers. */
uint64_t bank_mix(uint64_t x);

#endif
