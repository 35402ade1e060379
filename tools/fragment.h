/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A fragment: what one node recorded of one epoch, as the agent stored it.
 *
 * The directory may come from anybody.  Reading it follows no symbolic link,
 * opens no name that the format does not prescribe, and bounds every number,
 * so that the rest of the tool can add offsets without a thought.
 */
#ifndef DISTSNAP_FRAGMENT_H
#define DISTSNAP_FRAGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <distsnap.h>
#include "jsonread.h"
#include "why.h"

#define FRAGMENT_FORMAT		"distsnap-fragment"
#define FRAGMENT_VERSION	1
#define FRAGMENT_FILE		"fragment.json"
#define FRAGMENT_CORE		"core"

#define FRAGMENT_NODE_MAX	64
#define FRAGMENT_JSON_MAX	(256ULL << 20)
/* No stream gets that far, and four of them can be added. */
#define FRAGMENT_OFFSET_MAX	(1ULL << 60)
/* More than TCP's sequence numbers allow between the two ends. */
#define FRAGMENT_SPAN_MAX	(1ULL << 32)

#define FRAGMENT_NONE		UINT64_MAX	/* an optional number is absent */
#define FRAGMENT_ORIGINS	(DISTSNAP_ORIGIN_LOG + 1)
#define FRAGMENT_NAME_LEN	128		/* of a file in a fragment */

extern const char *const fragment_states[];	/* by enum distsnap_state */
extern const char *const fragment_peers[];	/* by enum distsnap_peer */
extern const char *const fragment_origins[];	/* by enum distsnap_origin */

/* @length bytes from stream offset @offset on, at @pos in the origin's file */
struct frag_piece {
	unsigned int origin;		/* enum distsnap_origin */
	uint64_t offset, length, pos;
};

struct frag_cut {
	uint64_t id;
	char *local, *remote;		/* ADDR:PORT in canonical form */
	uint64_t isn, peer_isn;		/* 32 bits */
	uint64_t inode;
	char *tcp_state;
	unsigned int peer;		/* enum distsnap_peer */
	unsigned int flags;		/* DISTSNAP_CUT_* */
	struct {
		uint64_t una, sent;
	} out;
	struct {
		uint64_t read, next, marker;	/* marker or FRAGMENT_NONE */
	} in;
	struct frag_piece *pieces;	/* sorted by origin and position */
	size_t n_pieces;
};

struct frag_thread {
	uint64_t tid;
	unsigned int parked;		/* enum distsnap_parked */
	bool in_syscall;
	uint64_t nr, args[6];
};

/* Nanoseconds since the trigger, or FRAGMENT_NONE */
struct frag_times {
	uint64_t park, parked, captured, recorded, done;
};

struct frag_member {
	char *name;
	uint64_t id, pid;
	char *comm, *exe;
	unsigned int state;		/* enum distsnap_state */
	struct texts reasons;
	bool wants_core, has_core;
	struct frag_times times;
	uint64_t pause_us;		/* or FRAGMENT_NONE */
	struct texts uncovered;
	struct frag_thread *threads;
	size_t n_threads;
	struct frag_cut *cuts;
	size_t n_cuts;
};

struct fragment {
	char *path;			/* for messages */
	int fd;				/* of the directory */
	char *text;			/* fragment.json */
	size_t text_len;

	char *group, *node, *boot_id;
	uint64_t group_id, epoch;
	bool initiator, light;
	unsigned int state;		/* enum distsnap_state */
	struct texts reasons;
	struct frag_member *members;	/* sorted by name */
	size_t n_members;
};

/*
 * Read the fragment in directory @path, relative to @at.  @nofollow: @path
 * itself must not be a symbolic link either.  NULL and @why on failure.
 */
struct fragment *fragment_load(int at, const char *path, bool nofollow,
			       struct why *why);
void fragment_free(struct fragment *f);

/* Are all files there, regular and long enough?  0, or -1 and @why. */
int fragment_check_files(const struct fragment *f, struct why *why);

/* Open for reading: the file of @origin of @c, or the core.  -1 and @why. */
int fragment_open_data(const struct fragment *f, const struct frag_member *m,
		       const struct frag_cut *c, unsigned int origin,
		       struct why *why);
int fragment_open_core(const struct fragment *f, const struct frag_member *m,
		       struct why *why);

/* The file's name inside the member's directory. */
void fragment_data_name(const struct frag_cut *c, unsigned int origin,
			char name[FRAGMENT_NAME_LEN]);

bool fragment_has_origin(const struct frag_cut *c, unsigned int origin);

/* Is everything in @a also in @b, byte for byte?  1, 0, or -1 and @why. */
int fragment_same(const struct fragment *a, const struct fragment *b,
		  struct why *why);

/* Fill @f from its @text: fragment_json.c. */
int fragment_parse(struct fragment *f, struct why *why);

#endif
