// SPDX-License-Identifier: GPL-2.0
/*
 * Peers that nothing came from: member connections whose other end is on a host
 * that no fragment is from.  Their channels are all incomplete for one cause.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "util.h"
#include "verdict.h"

#define NAMED_MAX	3	/* members that are named for one address */

static int host_len(const struct end *e)
{
	return strrchr(e->cut->remote, ':') - e->cut->remote;
}

static int host_cmp(const struct end *a, const struct end *b)
{
	int len = host_len(a), other = host_len(b);
	int ret = memcmp(a->cut->remote, b->cut->remote,
			 len < other ? len : other);

	return ret ? ret : len - other;
}

static int member_cmp(const struct end *a, const struct end *b)
{
	int ret = strcmp(a->frag->node, b->frag->node);

	return ret ? ret : strcmp(a->member->name, b->member->name);
}

static int silent_cmp(const void *a, const void *b)
{
	const struct end *e = *(const struct end *const *)a;
	const struct end *f = *(const struct end *const *)b;
	int ret = host_cmp(e, f);

	return ret ? ret : member_cmp(e, f);
}

static size_t collect(const struct verdict *v, const struct end **silent)
{
	const struct end *e;
	size_t i, n = 0;

	for (i = 0; i < v->ends.n; i++) {
		e = &v->ends.v[i];
		if (end_is_alone(e) && !e->twice &&
		    !verdict_host(v, e))
			silent[n++] = e;
	}
	if (n)
		qsort(silent, n, sizeof(*silent), silent_cmp);
	return n;
}

/* "2 connections of a/x", then ", 1 of a/y" */
static void name_member(char **text, const struct end *e, size_t n)
{
	char *old = *text;

	if (old)
		*text = xasprintf("%s, %zu of %s/%s", old, n, e->frag->node,
				  e->member->name);
	else
		*text = xasprintf("%zu connection%s of %s/%s", n,
				  n == 1 ? "" : "s", e->frag->node,
				  e->member->name);
	free(old);
}

/* All @n are of one address. */
static void blame_host(struct verdict *v, const struct end **e, size_t n)
{
	size_t from, to, members = 0;
	char *text = NULL;

	for (from = 0; from < n; from = to) {
		for (to = from; to < n && !member_cmp(e[from], e[to]); to++)
			;
		if (members++ < NAMED_MAX)
			name_member(&text, e[from], to - from);
	}
	verdict_blame(v, BLAME_CAUSE,
		      "nothing from %.*s (%s%s): no agent there, or another store?",
		      host_len(*e), (*e)->cut->remote, text,
		      members > NAMED_MAX ? ", and others" : "");
	free(text);
}

void verdict_blame_silent(struct verdict *v)
{
	const struct end **silent = xcalloc(v->ends.n, sizeof(*silent));
	size_t n = collect(v, silent), from, to;

	for (from = 0; from < n; from = to) {
		for (to = from; to < n && !host_cmp(silent[from], silent[to]);
		     to++)
			;
		blame_host(v, silent + from, to - from);
	}
	free(silent);
}
