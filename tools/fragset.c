// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>
#include <string.h>

#include "fragset.h"
#include "util.h"

int fragset_load(struct fragset *set, int at, const char *path, bool nofollow,
		 struct why *why)
{
	struct fragment *f = fragment_load(at, path, nofollow, why);

	if (!f)
		return why_about(why, path);
	set->v = xrealloc(set->v, (set->n + 1) * sizeof(*set->v));
	set->v[set->n++] = f;
	return 0;
}

static int by_node(const void *a, const void *b)
{
	const struct fragment *f = *(struct fragment *const *)a;
	const struct fragment *g = *(struct fragment *const *)b;
	int ret = strcmp(f->node, g->node);

	return ret ? ret : strcmp(f->path, g->path);
}

static int check_epoch(const struct fragment *f, const struct fragment *g,
		       struct why *why)
{
	if (strcmp(f->group, g->group) || f->group_id != g->group_id)
		return why_set(why, "%s: it is of group %s (id %llu), but %s is of group %s (id %llu)",
			       g->path, g->group,
			       (unsigned long long)g->group_id, f->path,
			       f->group, (unsigned long long)f->group_id);
	if (f->epoch != g->epoch)
		return why_set(why, "%s: it is of epoch %llu, but %s is of epoch %llu",
			       g->path, (unsigned long long)g->epoch, f->path,
			       (unsigned long long)f->epoch);
	return 0;
}

/* Two of one node: once too often is fine, anything else is not. */
static int check_twin(const struct fragment *f, const struct fragment *g,
		      struct why *why)
{
	int same;

	if (strcmp(f->boot_id, g->boot_id))
		return why_set(why, "node %s: %s and %s are from different boots of it",
			       f->node, f->path, g->path);
	same = fragment_same(f, g, why);
	if (same < 0)
		return why_about(why, g->path);
	if (!same)
		return why_set(why, "node %s: %s and %s are different fragments of one epoch",
			       f->node, f->path, g->path);
	return 0;
}

int fragset_settle(struct fragset *set, struct why *why)
{
	size_t i, n = 0;

	if (set->n)
		qsort(set->v, set->n, sizeof(*set->v), by_node);
	for (i = 1; i < set->n; i++)
		if (check_epoch(set->v[0], set->v[i], why))
			return -1;
	for (i = 0; i < set->n; i++)
		if (fragment_check_files(set->v[i], why))
			return why_about(why, set->v[i]->path);
	for (i = 1; i < set->n; i++)
		if (!strcmp(set->v[i - 1]->node, set->v[i]->node) &&
		    check_twin(set->v[i - 1], set->v[i], why))
			return -1;
	for (i = 0; i < set->n; i++) {
		if (n && !strcmp(set->v[n - 1]->node, set->v[i]->node))
			fragment_free(set->v[i]);
		else
			set->v[n++] = set->v[i];
	}
	set->n = n;
	return 0;
}

void fragset_free(struct fragset *set)
{
	while (set->n)
		fragment_free(set->v[--set->n]);
	free(set->v);
	set->v = NULL;
}
