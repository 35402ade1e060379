/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The snapshot directory.
 *
 *	SNAP/manifest.json		the verdict, and what belongs together
 *	SNAP/nodes/NODE/...		the fragments, as they were recorded
 *	SNAP/channels/SRC-DST.bin	bytes in flight, an empty file if none
 *
 * It is written beside its place and moved there when it is whole: create, add,
 * commit.  Whoever gets as far as create() ends with commit() or abandon().
 */
#ifndef DISTSNAP_SNAPDIR_H
#define DISTSNAP_SNAPDIR_H

#include <jansson.h>

#include "fragset.h"

#define SNAPDIR_MANIFEST	"manifest.json"
#define SNAPDIR_NODES		"nodes"
#define SNAPDIR_CHANNELS	"channels"
#define SNAPDIR_MANIFEST_MAX	(256ULL << 20)

/**
 * struct snapdir - a snapshot directory, being written or being read
 * @path: where it is, or will be
 * @tmp: where it is written
 * @fd: of the directory
 * @nodes: of nodes/
 * @channels: of channels/
 */
struct snapdir {
	char *path, *tmp;
	int fd, nodes, channels;
};

/* Could a snapshot be written to @path?  0, or -1 and @why.  Writes nothing. */
int snapdir_check(const char *path, struct why *why);
/* May something be created in the directory of @path? */
int snapdir_check_parent(const char *path, struct why *why);

int snapdir_create(struct snapdir *sd, const char *path, struct why *why);
int snapdir_add_fragment(struct snapdir *sd, const struct fragment *f,
			 struct why *why);
int snapdir_add_manifest(struct snapdir *sd, const char *text,
			 struct why *why);
int snapdir_commit(struct snapdir *sd, struct why *why);
void snapdir_abandon(struct snapdir *sd);

int snapdir_open(struct snapdir *sd, const char *path, struct why *why);
char *snapdir_read_manifest(const struct snapdir *sd, struct why *why);
/* The same as JSON, of the right format and version. */
json_t *snapdir_load_manifest(const struct snapdir *sd, struct why *why);
/* All fragments in nodes/, each under its own name, settled. */
int snapdir_load_fragments(const struct snapdir *sd, struct fragset *set,
			   struct why *why);
/* Names in one of its directories, sorted. */
int snapdir_list(int dir, struct texts *names, struct why *why);
void snapdir_close(struct snapdir *sd);

#endif
