/* SPDX-License-Identifier: GPL-2.0 */
/* What "take" was asked for, and where its snapshots go. */
#ifndef DISTSNAP_TAKE_H
#define DISTSNAP_TAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct take {
	const char *group, *out, *store;
	const char **expect;
	size_t n_expect;
	bool light, json;
	uint32_t timeout, every;	/* ms */
	uint32_t count, keep;
	bool series;			/* --count or --every: SNAP/0001, ... */
	unsigned int number;		/* of the next one in the series */
};

/* -1: go on; otherwise the exit code. */
int take_parse(int argc, char **argv, struct take *t);

/*
 * take_check.c: what would be in the way of a snapshot, before it is started; 0
 * or an exit code.
 */
int take_check(const struct take *t);
/* Makes the directories that @t will need; then @epoch's snapshot has room. */
int take_prepare(struct take *t, uint32_t epoch);

/* Where the snapshot of @epoch goes; the caller frees it. */
char *take_path(struct take *t, uint32_t epoch);
/*
 * Removes what is older than the newest t->keep of the series, and in the store
 * than the newest t->keep epochs up to @epoch.
 */
void take_prune(const struct take *t, uint32_t epoch);

#endif
