// SPDX-License-Identifier: GPL-2.0
/*
 * peer-audit SEED SNAP...: are the bytes in flight between peers as they were sent?
 * Prints each channel: its ends, the positions received and sent, and the bytes.
 * Exit status: 0 yes, 1 no, 2 usage, 3 a snapshot is incomplete.
 */
#include <inttypes.h>
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

static int audit(const struct snap *s, uint64_t seed)
{
	int status = 0;
	unsigned int i;

	for (i = 0; i < s->nr_channels; i++) {
		const struct snap_channel *c = &s->channels[i];
		uint64_t key = peer_key(seed, port_in(c->src_addr), port_in(c->dst_addr));
		size_t n = c->sent - c->read, bad = peer_differ(key, c->read, c->data, n);

		printf("%s -> %s %s -> %s read %" PRIu64 " sent %" PRIu64 " bytes %zu\n",
		       c->src, c->dst, c->src_addr, c->dst_addr, c->read, c->sent, n);
		if (bad == n)
			continue;
		printf("%s: byte %" PRIu64 " is not as sent\n", s->path, c->read + bad);
		status = 1;
	}
	return status;
}

int main(int argc, char **argv)
{
	int i, status = 0;

	if (argc < 3) {
		fprintf(stderr, "usage: peer-audit SEED SNAP...\n");
		return 2;
	}
	for (i = 2; i < argc && !status; i++) {
		struct why w = { "" };
		struct snap s;
		int ret = snap_open(&s, argv[i], &w);

		if (ret) {
			printf("%s: %s\n", argv[i], w.text);
			status = ret == SNAP_INCOMPLETE ? 3 : 1;
		} else {
			status = audit(&s, strtoull(argv[1], NULL, 10));
		}
		snap_close(&s);
	}
	return status;
}
