// SPDX-License-Identifier: GPL-2.0
/* Snapshots without cores: only what was recorded of the channels. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../workload/bank.h"
#include "check.h"

/* The id in NODE/bank-ID; -1 if there is none. */
static int id_of(const char *member)
{
	const char *name = strrchr(member, '/');
	unsigned int id;
	char end;

	if (!name || sscanf(name, "/bank-%u%c", &id, &end) != 1 ||
	    id >= BANK_MAX)
		return -1;
	return id;
}

static int check_bytes(const struct snap_channel *c, struct bank_stream *s,
		       struct why *w)
{
	const unsigned char *p = c->data;
	uint64_t at = c->read;

	while (at < c->sent) {
		size_t off, n, bad;

		bank_find(s, at);
		off = at - s->start;
		n = bank_len(s) - off;
		if (n > c->sent - at)
			n = c->sent - at;
		bad = bank_differ(s, off, p, n);
		if (bad < n)
			return why(w, "stream %u->%u: byte %" PRIu64 " in the channel, byte %zu of message %"
				   PRIu64 ", is not as sent", s->from, s->to,
				   at + bad, off + bad, s->index);
		at += n;
		p += n;
	}
	return 0;
}

int check_light(const struct audit *a, const struct snap *s, struct why *w)
{
	uint32_t seen[BANK_MAX] = { 0 };
	unsigned int i;

	for (i = 0; i < s->nr_channels; i++) {
		const struct snap_channel *c = &s->channels[i];
		int src = id_of(c->src), dst = id_of(c->dst);

		if (src < 0 || dst < 0 || src == dst)
			return why(w, "channel %s -> %s is not between two banks",
				   c->src, c->dst);
		if (seen[src] & 1U << dst)
			return why(w, "stream %d->%d is there twice", src, dst);
		seen[src] |= 1U << dst;
		if (check_bytes(c, check_stream(a->seed, a->max_len, src, dst), w))
			return -1;
	}
	if (s->nr_channels != s->nr_members * (s->nr_members - 1))
		return why(w, "%u channels between %u banks", s->nr_channels,
			   s->nr_members);
	return 0;
}
