/* SPDX-License-Identifier: GPL-2.0 */
/* Fragments of one epoch, one of each node, whatever order they came in. */
#ifndef DISTSNAP_FRAGSET_H
#define DISTSNAP_FRAGSET_H

#include "fragment.h"

struct fragset {
	struct fragment **v;
	size_t n;
};

/* Load one more; see fragment_load().  0, or -1 and @why. */
int fragset_load(struct fragset *set, int at, const char *path, bool nofollow,
		 struct why *why);

/*
 * Sort by node, drop what was given twice, and refuse what does not belong
 * together or lacks files.  0, or -1 and @why.
 */
int fragset_settle(struct fragset *set, struct why *why);

void fragset_free(struct fragset *set);

#endif
