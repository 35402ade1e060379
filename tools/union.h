/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The union of byte ranges of one stream, by 64-bit stream offset.  Pure.
 *
 * Pieces are sorted by where they start.  union_holes() says what they leave
 * out.  To put the bytes together, go through the stream in windows, and in
 * each through the pieces in order: what a window holds already has to agree
 * with what comes, byte for byte.
 */
#ifndef DISTSNAP_UNION_H
#define DISTSNAP_UNION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct union_piece - a range of the stream and where its bytes are
 * @start: stream offset of its first byte
 * @end: stream offset behind its last byte, @end >= @start
 * @source: the caller's
 * @pos: the caller's
 */
struct union_piece {
	uint64_t start, end;
	unsigned int source;
	uint64_t pos;
};

/**
 * struct union_holes - what is not covered
 * @bytes: how many bytes
 * @first: the first of them, if any
 */
struct union_holes {
	uint64_t bytes, first;
};

/**
 * struct union_window - bytes [@start, @end) in the making
 * @bytes: room for them, the caller's
 * @run: where the last contiguous run began
 * @filled: where it ends; what comes next must not start before @run
 */
struct union_window {
	uint64_t start, end;
	uint8_t *bytes;
	uint64_t run, filled;
};

void union_sort(struct union_piece *p, size_t n);

/* @p sorted; the part of [start, end) that no piece covers */
struct union_holes union_holes(const struct union_piece *p, size_t n,
			       uint64_t start, uint64_t end);

void union_begin(struct union_window *w, uint64_t start, uint64_t end,
		 uint8_t *bytes);

/* The part of @p inside the window; false if there is none. */
bool union_clip(const struct union_window *w, const struct union_piece *p,
		uint64_t *start, uint64_t *end);

/*
 * Add bytes [start, end) of the stream, clipped, in sorted order.  False and
 * the place of the first contradiction if they are not what is there already.
 */
bool union_put(struct union_window *w, uint64_t start, uint64_t end,
	       const uint8_t *bytes, uint64_t *where);

#endif
