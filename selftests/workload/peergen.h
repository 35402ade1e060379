/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What peers say to each other: any byte of any stream follows from the seed, the
 * two ports and its offset.
 */
#ifndef PEERGEN_H
#define PEERGEN_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "bankgen.h"

static inline uint64_t peer_key(uint64_t seed, unsigned int from, unsigned int to)
{
	return bank_mix(seed ^ (uint64_t)from << 32 ^ to);
}

static inline unsigned char peer_byte(uint64_t key, uint64_t offset)
{
	return bank_mix(key + offset / 8) >> offset % 8 * 8;
}

static inline void peer_fill(uint64_t key, uint64_t offset, unsigned char *buf, size_t n)
{
	while (n) {
		uint64_t word = htole64(bank_mix(key + offset / 8));
		size_t skip = offset % 8, part = 8 - skip < n ? 8 - skip : n;

		memcpy(buf, (unsigned char *)&word + skip, part);
		buf += part;
		offset += part;
		n -= part;
	}
}

/* The first of @n bytes that is not as it should be, or @n. */
static inline size_t peer_differ(uint64_t key, uint64_t offset,
				 const unsigned char *buf, size_t n)
{
	unsigned char want[512];
	size_t done = 0;

	while (done < n) {
		size_t part = n - done < sizeof(want) ? n - done : sizeof(want);
		size_t i = 0;

		peer_fill(key, offset + done, want, part);
		while (i < part && buf[done + i] == want[i])
			i++;
		done += i;
		if (i < part)
			break;
	}
	return done;
}

#endif
