/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What peers say to each other: any byte of any stream follows from the seed, the
 * two ports and its offset.
 */
#ifndef PEERGEN_H
#define PEERGEN_H

#include <stddef.h>
#include <stdint.h>

#include "bankgen.h"

static inline uint64_t peer_key(uint64_t seed, unsigned int from, unsigned int to)
{
	return bank_mix(seed ^ (uint64_t)from << 32 ^ to);
}

/* Eight bytes, the first one lowest. */
static inline uint64_t peer_word(uint64_t key, uint64_t offset)
{
	return bank_mix(key + offset / 8);
}

static inline unsigned char peer_byte(uint64_t key, uint64_t offset)
{
	return peer_word(key, offset) >> offset % 8 * 8;
}

static inline void peer_fill(uint64_t key, uint64_t offset, unsigned char *buf, size_t n)
{
	uint64_t word = 0;
	size_t i;

	for (i = 0; i < n; i++, offset++) {
		if (!i || offset % 8 == 0)
			word = peer_word(key, offset) >> offset % 8 * 8;
		buf[i] = word;
		word >>= 8;
	}
}

/* The first of @n bytes that is not as it should be, or @n. */
static inline size_t peer_differ(uint64_t key, uint64_t offset,
				 const unsigned char *buf, size_t n)
{
	uint64_t word = 0;
	size_t i;

	for (i = 0; i < n; i++, offset++) {
		if (!i || offset % 8 == 0)
			word = peer_word(key, offset) >> offset % 8 * 8;
		if (buf[i] != (unsigned char)word)
			break;
		word >>= 8;
	}
	return i;
}

#endif
