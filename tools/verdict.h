/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The verdict: do these fragments make a snapshot, and if not, why not?
 * Pure, but for channel.c, which reads the bytes.
 */
#ifndef DISTSNAP_VERDICT_H
#define DISTSNAP_VERDICT_H

#include "pair.h"

/**
 * struct channel - one direction of a connection between two members
 * @src: the sender's end
 * @dst: the receiver's end, whose mate is @src
 * @file: name of the file for its bytes
 * @fin: the sender's FIN lies before its recording
 * @bytes: in flight; how long @file is
 * @whole: the bytes in flight are known and agree
 */
struct channel {
	const struct end *src, *dst;
	char *file;
	uint64_t sent;		/* as far as it can ever be received */
	bool fin;
	uint64_t bytes;
	bool whole;
};

/*
 * Why it is incomplete, by rank: what comes first explains what comes later.
 * All but BLAME_WRONG say that something is missing.
 */
enum blame {
	BLAME_CAUSE,		/* what a node or a member says about itself */
	BLAME_FRAGMENT,		/* somebody's recording is not there */
	BLAME_WRONG,		/* what is there is not consistent */
	BLAME_WAITED,		/* who waited for channels in vain */
	BLAME_FOLLOWS,		/* channels, and what else follows */
	BLAMES,
};

/**
 * struct verdict - what a set of fragments amounts to
 * @frags: the caller's fragments, sorted by node
 * @expect: NODE/MEMBER names that were asked for
 * @ends: all ends of all connections
 * @hosts: the first of @ends on each host, sorted by its address
 * @n_hosts: how many
 * @channels: sorted by address
 * @externals: ends whose peer is no member
 * @ranked: why the snapshot is incomplete, by enum blame
 * @reasons: the same in one list, from verdict_finish() on
 * @n_causes: how many of @reasons come before BLAME_WAITED
 * @open_because: why influence may have come from outside
 * @longest_pause_us: of all members
 */
struct verdict {
	struct fragment *const *frags;
	size_t n_frags;
	size_t n_members;
	struct texts expect;
	struct ends ends;
	const struct end **hosts;
	size_t n_hosts;
	struct channel *channels;
	size_t n_channels;
	const struct end **externals;
	size_t n_externals;
	struct texts ranked[BLAMES];
	struct texts reasons, open_because;
	size_t n_causes;
	uint64_t longest_pause_us;
};

/* Apply every rule that needs no bytes; @frags must outlive the verdict. */
void verdict_reach(struct verdict *v, struct fragment *const *frags, size_t n,
		   const char *const *expect, size_t n_expect);

/*
 * Put the bytes of @ch together and give them to @sink, in order, as long as
 * all is well; @ch->whole says whether it stayed so to the end.  @v is told
 * what is wrong.  -1 and @why when a file cannot be read or @sink said so.
 */
typedef int (*channel_sink)(void *ctx, const void *bytes, size_t len,
			    struct why *why);
int channel_read(struct verdict *v, struct channel *ch, channel_sink sink,
		 void *ctx, struct why *why);

void verdict_blame(struct verdict *v, enum blame kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* silent.c: blame once each address that nothing came from, by @ends. */
void verdict_blame_silent(struct verdict *v);

/* The fragment of the node that has the other end's address, or NULL. */
const struct fragment *verdict_host(const struct verdict *v,
				    const struct end *e);

/* All channels are read: sort the reasons. */
void verdict_finish(struct verdict *v);
void verdict_free(struct verdict *v);

#endif
