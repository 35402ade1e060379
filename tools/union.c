// SPDX-License-Identifier: GPL-2.0
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../kmod/mutant.h"
#include "union.h"

static int by_start(const void *a, const void *b)
{
	const struct union_piece *p = a, *q = b;

	if (p->start != q->start)
		return p->start < q->start ? -1 : 1;
	if (p->end != q->end)
		return p->end < q->end ? -1 : 1;
	return 0;
}

void union_sort(struct union_piece *p, size_t n)
{
	if (n)
		qsort(p, n, sizeof(*p), by_start);
}

struct union_holes union_holes(const struct union_piece *p, size_t n,
			       uint64_t start, uint64_t end)
{
	struct union_holes h = { 0, 0 };
	uint64_t at = start, next;
	size_t i;

	for (i = 0; i <= n && at < end; i++) {
		next = i < n && p[i].start < end ? p[i].start : end;
		if (next > at) {
			if (!h.bytes)
				h.first = at;
			h.bytes += next - at;
			at = next;
		}
		if (i < n && p[i].end > at)
			at = p[i].end;
	}
	return h;
}

void union_begin(struct union_window *w, uint64_t start, uint64_t end,
		 uint8_t *bytes)
{
	*w = (struct union_window){
		.start = start, .end = end, .bytes = bytes,
		.run = start, .filled = start,
	};
}

bool union_clip(const struct union_window *w, const struct union_piece *p,
		uint64_t *start, uint64_t *end)
{
	*start = p->start > w->start ? p->start : w->start;
	*end = p->end < w->end ? p->end : w->end;
	return *start < *end;
}

bool union_put(struct union_window *w, uint64_t start, uint64_t end,
	       const uint8_t *bytes, uint64_t *where)
{
	uint8_t *have = w->bytes + (start - w->start);
	uint64_t both, i;

	assert(start >= w->run && end <= w->end && start <= end);

	/* Sorted order: below @filled nothing is missing from @run on. */
	if (start > w->filled) {
		w->run = start;
		w->filled = start;
	}

	both = (end < w->filled ? end : w->filled) - start;
	if (!ds_mutant(no_overlap) && memcmp(have, bytes, both)) {
		for (i = 0; have[i] == bytes[i]; i++)
			;
		*where = start + i;
		return false;
	}
	memcpy(have + both, bytes + both, end - start - both);
	if (end > w->filled)
		w->filled = end;
	return true;
}
