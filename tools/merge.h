/* SPDX-License-Identifier: GPL-2.0 */
/*
 * merge: fragments of one epoch become one snapshot directory with a verdict.
 *
 * Pure: the same fragments, in any order, give the same bytes, and nothing is
 * read but the fragments.  A fragment is not trusted: whatever is malformed is
 * refused with a message, whatever is missing makes the snapshot incomplete.
 */
#ifndef DISTSNAP_MERGE_H
#define DISTSNAP_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct merge_opts - what the caller knows beyond the fragments
 * @expect: NODE/MEMBER names that have to be present
 * @n_expect: how many
 */
struct merge_opts {
	const char *const *expect;
	size_t n_expect;
};

/**
 * struct merge_summary - the outcome in numbers
 * @members: members in the fragments
 * @channels: directions between two of them
 * @externals: connections to others
 * @bytes: in flight, all channels together
 * @longest_pause_us: of all members
 * @complete: nothing is missing
 * @closed: no externals and no uncovered IPC
 * @reasons: why not complete, one sentence each
 * @n_reasons: how many, causes first
 * @n_causes: how many of them do not only follow from others
 */
struct merge_summary {
	unsigned int members, channels, externals;
	uint64_t bytes;
	uint64_t longest_pause_us;
	bool complete;
	bool closed;
	char **reasons;
	size_t n_reasons, n_causes;
};

/*
 * Merge the fragment directories @dirs into the new directory @snap.  @opts may
 * be NULL.  Returns 0, or -1 when a message has been printed and nothing has
 * been written.  The caller frees the summary.
 */
int merge_run(const char *const *dirs, size_t n, const struct merge_opts *opts,
	      const char *snap, struct merge_summary *sum);

/* The same, but @why holds the message. */
struct why;
int merge_try(const char *const *dirs, size_t n, const struct merge_opts *opts,
	      const char *snap, struct merge_summary *sum, struct why *why);

/* Is it NODE/MEMBER? */
bool merge_expectable(const char *name);

/*
 * 1 when every member channel named in any fragment has both its ends among
 * @dirs, 0 when not yet, -1 when a fragment cannot be read.  Prints nothing.
 */
int merge_ready(const char *const *dirs, size_t n);

void merge_summary_free(struct merge_summary *sum);

#endif
