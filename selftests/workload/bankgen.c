// SPDX-License-Identifier: GPL-2.0
/* The messages of the bank; see bankgen.h. */
#include <endian.h>
#include <string.h>

#include "bankgen.h"

#define GOLDEN	0x9e3779b97f4a7c15ULL

/* What the numbers drawn from the key of a message are for. */
enum draw {
	DRAW_SIZE,
	DRAW_LENGTH,
	DRAW_AMOUNT,
	DRAW_PAYLOAD,		/* and all that follow */
};

uint64_t bank_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

static uint64_t key(const struct bank_stream *s)
{
	uint64_t pair = ((uint64_t)s->from << 32 | s->to) + 1;

	return bank_mix(bank_mix(s->seed + pair * GOLDEN) + s->index * GOLDEN);
}

static uint64_t draw(uint64_t key, uint64_t what)
{
	return bank_mix(key + (what + 1) * GOLDEN);
}

void bank_stream_init(struct bank_stream *s, uint64_t seed, uint32_t from,
		      uint32_t to, uint32_t max_len)
{
	*s = (struct bank_stream){ .seed = seed, .from = from, .to = to,
				   .max_len = max_len };
}

uint32_t bank_len(const struct bank_stream *s)
{
	uint64_t k = key(s);
	uint32_t size = draw(k, DRAW_SIZE) % 100;
	uint32_t top = s->max_len - BANK_HEADER - 1;

	if (size < 70 && top > 512)
		top = 512;
	else if (size < 95 && top > 4096)
		top = 4096;
	return (BANK_HEADER + draw(k, DRAW_LENGTH) % (top + 1)) | 1;
}

uint32_t bank_amount(const struct bank_stream *s)
{
	return 1 + draw(key(s), DRAW_AMOUNT) % 1000;
}

static void header(const struct bank_stream *s, unsigned char *buf)
{
	uint32_t len = htole32(bank_len(s));
	uint32_t amount = htole32(bank_amount(s));
	uint64_t index = htole64(s->index);

	memcpy(buf, &len, 4);
	memcpy(buf + 4, &amount, 4);
	memcpy(buf + 8, &index, 8);
}

void bank_bytes(const struct bank_stream *s, size_t off, void *buf, size_t n)
{
	unsigned char *out = buf;
	unsigned char word[BANK_HEADER];
	uint64_t k = key(s);

	while (n) {
		size_t size, skip, part;

		if (off < BANK_HEADER) {
			header(s, word);
			size = BANK_HEADER;
			skip = off;
		} else {
			uint64_t x = htole64(draw(k, DRAW_PAYLOAD + off / 8));

			memcpy(word, &x, 8);
			size = 8;
			skip = off % 8;
		}
		part = size - skip < n ? size - skip : n;
		memcpy(out, word + skip, part);
		out += part;
		off += part;
		n -= part;
	}
}

size_t bank_differ(const struct bank_stream *s, size_t off, const void *buf,
		   size_t n)
{
	const unsigned char *got = buf;
	unsigned char want[512];
	size_t done = 0;

	while (done < n) {
		size_t part = n - done < sizeof(want) ? n - done : sizeof(want);
		size_t i = 0;

		bank_bytes(s, off + done, want, part);
		if (memcmp(got + done, want, part)) {
			while (got[done + i] == want[i])
				i++;
			return done + i;
		}
		done += part;
	}
	return n;
}

void bank_next(struct bank_stream *s)
{
	s->start += bank_len(s);
	s->index++;
}

void bank_seek(struct bank_stream *s, uint64_t index)
{
	if (index < s->index)
		s->index = s->start = 0;
	while (s->index < index)
		bank_next(s);
}

void bank_find(struct bank_stream *s, uint64_t offset)
{
	if (offset < s->start)
		s->index = s->start = 0;
	while (s->start + bank_len(s) <= offset)
		bank_next(s);
}

uint64_t bank_sum(uint64_t sum, const void *msg, size_t len)
{
	const unsigned char *p = msg;
	uint64_t word;

	for (; len >= 8; p += 8, len -= 8) {
		memcpy(&word, p, 8);
		sum = bank_mix(sum ^ word) + GOLDEN;
	}
	word = len;
	memcpy((unsigned char *)&word + 1, p, len);
	return bank_mix(sum ^ word) + GOLDEN;
}
