/* SPDX-License-Identifier: GPL-2.0 */
/* What the oracle believes of a manifest: who, which channels, which files. */
#ifndef AUDIT_SNAP_H
#define AUDIT_SNAP_H

#include <jansson.h>
#include <stdint.h>

#include "why.h"

struct snap_member {
	char id[128];			/* NODE/MEMBER */
	const char *name;
	const char *core;		/* relative to the snapshot, or NULL */
};

struct snap_channel {
	const char *src, *dst;		/* NODE/MEMBER */
	const char *src_addr, *dst_addr;
	uint64_t read, sent;		/* without a FIN's position */
	unsigned char *data;		/* sent - read bytes */
};

struct snap {
	const char *path;
	json_t *manifest;		/* owns the strings */
	uint64_t epoch;
	uint64_t pause_us;
	unsigned int nr_members, nr_channels;
	struct snap_member *members;
	struct snap_channel *channels;
};

#define SNAP_INCOMPLETE	(-2)

/* 0, -1, or SNAP_INCOMPLETE when the manifest itself says so. */
int snap_open(struct snap *s, const char *path, struct why *w);
/* 0, or -1 when some connection is with nobody: where all are members that is wrong. */
int snap_alone(const struct snap *s, struct why *w);
void snap_close(struct snap *s);

#endif
