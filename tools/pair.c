// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>
#include <string.h>

#include "pair.h"
#include "util.h"

struct key {
	uint64_t own, peer;
	struct end *end;
};

static int by_key(const void *a, const void *b)
{
	const struct key *k = a, *l = b;

	if (k->own != l->own)
		return k->own < l->own ? -1 : 1;
	if (k->peer != l->peer)
		return k->peer < l->peer ? -1 : 1;
	return 0;
}

static struct key key_of(struct end *e)
{
	return (struct key){ e->cut->isn, e->cut->peer_isn, e };
}

/* The first of the keys that are not below @want */
static size_t lower(const struct key *keys, size_t n, const struct key *want)
{
	size_t lo = 0, mid;

	while (n) {
		mid = n / 2;
		if (by_key(&keys[lo + mid], want) < 0) {
			lo += mid + 1;
			n -= mid + 1;
		} else {
			n = mid;
		}
	}
	return lo;
}

static bool facing(const struct end *a, const struct end *b)
{
	return !strcmp(a->cut->local, b->cut->remote) &&
	       !strcmp(a->cut->remote, b->cut->local);
}

/*
 * Only the first few that fit are looked at: more than two mean that the
 * fragments lie, and lies must not cost time.
 */
static void find_mate(struct end *e, const struct key *keys, size_t n)
{
	const struct key want = { e->cut->peer_isn, e->cut->isn, NULL };
	struct end *fits = NULL, *faces = NULL;
	size_t i, n_fits = 0, n_faces = 0;

	if (!want.own && !want.peer)	/* not known */
		return;
	i = lower(keys, n, &want);
	for (; i < n && !by_key(&keys[i], &want) && n_fits < 8; i++) {
		if (keys[i].end == e)
			continue;
		fits = keys[i].end;
		n_fits++;
		if (facing(e, fits)) {
			faces = fits;
			n_faces++;
		}
	}
	if (n_fits == 1)
		e->mate = fits;
	else if (n_faces == 1)
		e->mate = faces;
	else if (n_fits)
		e->twice = true;
	else if (want.own == want.peer && facing(e, e))
		e->mate = e;
}

static void collect(struct ends *ends, struct fragment *const *frags, size_t n)
{
	const struct frag_member *m;
	size_t i, j, k;

	for (i = 0; i < n; i++) {
		for (j = 0; j < frags[i]->n_members; j++) {
			m = &frags[i]->members[j];
			ends->v = xrealloc(ends->v, (ends->n + m->n_cuts + 1) *
					   sizeof(*ends->v));
			for (k = 0; k < m->n_cuts; k++)
				ends->v[ends->n++] = (struct end){
					frags[i], m, &m->cuts[k], NULL, false,
				};
		}
	}
}

void ends_pair(struct ends *ends, struct fragment *const *frags, size_t n)
{
	struct key *keys;
	struct end *e;
	size_t i;

	*ends = (struct ends){ NULL, 0 };
	collect(ends, frags, n);
	if (!ends->n)
		return;
	keys = xcalloc(ends->n, sizeof(*keys));
	for (i = 0; i < ends->n; i++)
		keys[i] = key_of(&ends->v[i]);
	qsort(keys, ends->n, sizeof(*keys), by_key);
	for (i = 0; i < ends->n; i++)
		find_mate(&ends->v[i], keys, ends->n);
	free(keys);

	/* Two that claim the same mate: it can only be one of them. */
	for (i = 0; i < ends->n; i++) {
		e = &ends->v[i];
		if (e->mate && e->mate->mate != e)
			e->twice = true;
	}
	for (i = 0; i < ends->n; i++) {
		e = &ends->v[i];
		if (e->mate && e->mate->twice)
			e->twice = true;
	}
}

void ends_free(struct ends *ends)
{
	free(ends->v);
	*ends = (struct ends){ NULL, 0 };
}
