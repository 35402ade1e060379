// SPDX-License-Identifier: GPL-2.0
/*
 * peer-audit SEED [--sum] SNAP...: are the bytes in flight between peers as they were
 * sent, and is no connection a stranger's?  Prints each channel: its ends, the positions received and sent, and the
 * bytes; or with --sum a line for each snapshot.
 * Exit status: 0 yes, 1 no, 2 usage, 3 a snapshot is incomplete.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/snap.h"
#include "workload/peergen.h"

static unsigned int port_in(const char *addr)
{
	const char *colon = strrchr(addr, ':');

	return colon ? atoi(colon + 1) : 0;
}

static int audit(const struct snap *s, uint64_t seed, bool sum)
{
	uint64_t all = 0;
	int status = 0;
	unsigned int i;

	for (i = 0; i < s->nr_channels; i++) {
		const struct snap_channel *c = &s->channels[i];
		uint64_t key = peer_key(seed, port_in(c->src_addr), port_in(c->dst_addr));
		size_t n = c->sent - c->read, bad = peer_differ(key, c->read, c->data, n);

		if (!sum)
			printf("%s -> %s %s -> %s read %" PRIu64 " sent %" PRIu64 " bytes %zu\n",
			       c->src, c->dst, c->src_addr, c->dst_addr, c->read, c->sent, n);
		all += n;
		if (bad == n)
			continue;
		printf("%s: %s -> %s: byte %" PRIu64 " is not as sent\n", s->path, c->src_addr,
		       c->dst_addr, c->read + bad);
		status = 1;
	}
	if (sum)
		printf("%s: %s, %u channels, %" PRIu64 " bytes\n", s->path,
		       status ? "INEXACT" : "exact", s->nr_channels, all);
	return status;
}

int main(int argc, char **argv)
{
	bool sum = argc > 2 && !strcmp(argv[2], "--sum");
	int i, status = 0;

	if (argc < 3 + sum) {
		fprintf(stderr, "usage: peer-audit SEED [--sum] SNAP...\n");
		return 2;
	}
	for (i = 2 + sum; i < argc; i++) {
		struct why w = { "" };
		struct snap s;
		int ret = snap_open(&s, argv[i], &w);

		if (ret)
			printf("%s: %s: %s\n", argv[i],
			       ret == SNAP_INCOMPLETE ? "incomplete" : "cannot be read", w.text);
		else if (snap_alone(&s, &w))
			ret = !!printf("%s: INEXACT, %s\n", argv[i], w.text);
		else
			ret = audit(&s, strtoull(argv[1], NULL, 10), sum);
		if (ret && status != 1)
			status = ret == SNAP_INCOMPLETE ? 3 : 1;
		snap_close(&s);
	}
	return status;
}
