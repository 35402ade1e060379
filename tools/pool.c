// SPDX-License-Identifier: GPL-2.0
#include <pthread.h>
#include <stdlib.h>

#include "pool.h"
#include "util.h"

struct need {
	pid_t pid;
	size_t bytes;
};

struct pool {
	pthread_mutex_t lock;
	struct image **free;		/* smallest first after a tune */
	size_t n, cap;
	struct need *needs;		/* only the tuning thread takes and tunes */
	size_t n_needs;
};

struct pool *pool_new(void)
{
	struct pool *p = xcalloc(1, sizeof(*p));

	pthread_mutex_init(&p->lock, NULL);
	return p;
}

void pool_free(struct pool *p)
{
	while (p->n)
		image_free(p->free[--p->n]);
	pthread_mutex_destroy(&p->lock);
	free(p->free);
	free(p->needs);
	free(p);
}

/* The smallest of at least @bytes, else the largest; NULL if there is none. */
static struct image *take_fit(struct pool *p, size_t bytes)
{
	struct image *best = NULL;
	size_t i, at = 0;

	pthread_mutex_lock(&p->lock);
	for (i = 0; i < p->n; i++) {
		struct image *img = p->free[i];
		bool fits = img->size >= bytes;

		if (!best || (fits ? best->size < bytes || img->size < best->size :
			      best->size < img->size)) {
			best = img;
			at = i;
		}
	}
	if (best)
		p->free[at] = p->free[--p->n];
	pthread_mutex_unlock(&p->lock);
	return best;
}

struct image *pool_take(struct pool *p, pid_t pid)
{
	struct image *img;
	size_t i, bytes = 0;

	for (i = 0; i < p->n_needs; i++) {
		if (p->needs[i].pid == pid)
			bytes = p->needs[i].bytes;
	}
	img = take_fit(p, bytes);
	return img ? img : image_new();
}

void pool_put(struct pool *p, struct image *img)
{
	pthread_mutex_lock(&p->lock);
	if (p->n == p->cap) {
		p->cap = p->cap ? p->cap * 2 : 16;
		p->free = xrealloc(p->free, p->cap * sizeof(*p->free));
	}
	p->free[p->n++] = img;
	pthread_mutex_unlock(&p->lock);
}

static int largest_first(const void *a, const void *b)
{
	const struct need *x = a, *y = b;

	return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

void pool_tune(struct pool *p, const struct ds_member *m, size_t n)
{
	struct image **keep = xcalloc(n, sizeof(*keep)), *img;
	size_t i;

	p->needs = xrealloc(p->needs, n * sizeof(*p->needs));
	p->n_needs = n;
	for (i = 0; i < n; i++) {
		p->needs[i].pid = m[i].pid;
		p->needs[i].bytes = image_guess(m[i].pid);
	}
	qsort(p->needs, n, sizeof(*p->needs), largest_first);
	/* Taken out one by one, so that the lock is never held for long. */
	for (i = 0; i < n; i++) {
		keep[i] = take_fit(p, p->needs[i].bytes);
		/* The process was far larger once. */
		if (keep[i] && keep[i]->size > 4 * p->needs[i].bytes) {
			image_free(keep[i]);
			keep[i] = NULL;
		}
		if (!keep[i])
			keep[i] = image_new();
		image_reserve(keep[i], p->needs[i].bytes);
	}
	while ((img = take_fit(p, 0)))
		image_free(img);
	for (i = 0; i < n; i++)
		pool_put(p, keep[i]);
	free(keep);
}
