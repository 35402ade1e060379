/* SPDX-License-Identifier: GPL-2.0 */
/* The fragments of one epoch as they arrive in the store. */
#ifndef DISTSNAP_GATHER_H
#define DISTSNAP_GATHER_H

#include <stdbool.h>
#include <stddef.h>

struct gather {
	char *dir;			/* STORE/GROUP/EPOCH */
	char **names, **paths;		/* of the nodes, and of their fragments */
	size_t n;
	bool own;			/* this node's is among them */
};

void gather_init(struct gather *g, char *dir);	/* takes over @dir */
void gather_free(struct gather *g);

/* Looks for new ones; true if there are. */
bool gather_scan(struct gather *g);

/*
 * Nothing is missing: this node's fragment, those of the nodes in @expect
 * (NODE/MEMBER) and both ends of every member channel are there.
 */
bool gather_complete(const struct gather *g, const char *const *expect,
		     size_t n_expect);

/* What is missing, in words; the caller frees it. */
char *gather_missing(const struct gather *g, const char *const *expect,
		     size_t n_expect);

#endif
