// SPDX-License-Identifier: GPL-2.0
/*
 * The bytes of a channel: the sender's queue and the receiver's queues and log,
 * put together by stream offset.
 */
#include <stdlib.h>
#include <unistd.h>

#include "../kmod/mutant.h"
#include "file.h"
#include "union.h"
#include "util.h"
#include "verdict.h"

#define WINDOW	(1u << 20)

/* Whose file of @origin belongs to the stream from @src to @dst? */
static const struct end *owner(const struct channel *ch, unsigned int origin)
{
	return origin == DISTSNAP_ORIGIN_SENDQ ? ch->src : ch->dst;
}

struct stream {
	struct union_piece *pieces;
	size_t n;
	int fds[FRAGMENT_ORIGINS];
	uint64_t start, end;		/* of what is in flight */
};

static void collect(struct stream *s, const struct channel *ch)
{
	const struct frag_cut *out = ch->src->cut, *in = ch->dst->cut;
	const struct frag_piece *p;
	const struct frag_cut *c;
	unsigned int origin;
	size_t i;

	s->pieces = xcalloc(out->n_pieces + in->n_pieces, sizeof(*s->pieces));
	for (origin = 0; origin < FRAGMENT_ORIGINS; origin++) {
		c = owner(ch, origin)->cut;
		for (i = 0; i < c->n_pieces; i++) {
			p = &c->pieces[i];
			if (p->origin == origin)
				s->pieces[s->n++] = (struct union_piece){
					.start = p->offset,
					.end = p->offset + p->length,
					.source = origin, .pos = p->pos,
				};
		}
	}
	union_sort(s->pieces, s->n);
}

static int open_files(struct stream *s, const struct channel *ch,
		      struct why *why)
{
	unsigned int origin;
	const struct end *e;

	for (origin = 0; origin < FRAGMENT_ORIGINS; origin++) {
		e = owner(ch, origin);
		if (!fragment_has_origin(e->cut, origin))
			continue;
		s->fds[origin] = fragment_open_data(e->frag, e->member, e->cut,
						    origin, why);
		if (s->fds[origin] < 0)
			return why_about(why, e->frag->path);
	}
	return 0;
}

/* 1: filled and agreeing, 0: not, -1: cannot be read. */
static int fill(const struct stream *s, struct union_window *w, uint8_t *room,
		uint64_t *where, struct why *why)
{
	const struct union_piece *p;
	uint64_t from, to;
	size_t i;

	for (i = 0; i < s->n && s->pieces[i].start < w->end; i++) {
		p = &s->pieces[i];
		if (!union_clip(w, p, &from, &to))
			continue;
		if (file_pread(s->fds[p->source], room, to - from,
			       p->pos + (from - p->start), why))
			return -1;
		if (!union_put(w, from, to, room, where))
			return 0;
	}
	return 1;
}

static int run(const struct stream *s, struct verdict *v, struct channel *ch,
	       channel_sink sink, void *ctx, struct why *why)
{
	uint8_t *bytes = xmalloc(2 * WINDOW);
	struct union_window w;
	uint64_t at, len, where;
	int ret = 1;

	for (at = s->start; at < s->end && ret > 0; at += len) {
		len = s->end - at < WINDOW ? s->end - at : WINDOW;
		union_begin(&w, at, at + len, bytes);
		ret = fill(s, &w, bytes + WINDOW, &where, why);
		if (ret > 0 && ch->whole && sink && sink(ctx, bytes, len, why))
			ret = -1;
	}
	free(bytes);
	if (!ret) {
		ch->whole = false;
		verdict_blame(v, BLAME_WRONG,
			      "channel %s -> %s: what the ends recorded differs at byte %llu",
			      ch->src->cut->local, ch->dst->cut->local,
			      (unsigned long long)where);
	}
	return ret < 0 ? -1 : 0;
}

static void judge_cover(const struct stream *s, struct verdict *v,
			struct channel *ch)
{
	struct union_holes h, fin;

	h = union_holes(s->pieces, s->n, s->start, s->end);
	if (h.bytes && !ds_mutant(no_gap)) {
		ch->whole = false;
		verdict_blame(v, BLAME_FOLLOWS,
			      "channel %s -> %s: %llu of %llu bytes in flight were recorded by neither end, the first at %llu",
			      ch->src->cut->local, ch->dst->cut->local,
			      (unsigned long long)h.bytes,
			      (unsigned long long)(s->end - s->start),
			      (unsigned long long)h.first);
	}
	if (!ch->fin || s->end + 1 != ch->sent)
		return;
	fin = union_holes(s->pieces, s->n, s->end, s->end + 1);
	if (!fin.bytes) {
		ch->whole = false;
		verdict_blame(v, BLAME_WRONG,
			      "channel %s -> %s: a byte was recorded at %llu, where the stream ends",
			      ch->src->cut->local, ch->dst->cut->local,
			      (unsigned long long)s->end);
	}
}

int channel_read(struct verdict *v, struct channel *ch, channel_sink sink,
		 void *ctx, struct why *why)
{
	const uint64_t sent = ch->sent;
	struct stream s = { .fds = { -1, -1, -1, -1 } };
	int i, ret;

	s.start = ch->dst->cut->in.read;
	s.end = ch->fin && sent ? sent - 1 : sent;
	ch->whole = s.start <= sent;
	if (s.end < s.start)		/* the FIN was received, or worse */
		s.end = s.start;
	if (s.end - s.start > FRAGMENT_SPAN_MAX) {
		ch->whole = false;
		verdict_blame(v, BLAME_WRONG,
			      "channel %s -> %s: more bytes in flight than TCP can have",
			      ch->src->cut->local, ch->dst->cut->local);
	}
	if (!ch->whole)
		return 0;
	collect(&s, ch);
	judge_cover(&s, v, ch);
	ret = open_files(&s, ch, why);
	if (!ret)
		ret = run(&s, v, ch, sink, ctx, why);
	for (i = 0; i < (int)FRAGMENT_ORIGINS; i++)
		if (s.fds[i] >= 0)
			close(s.fds[i]);
	free(s.pieces);
	if (ch->whole)
		ch->bytes = s.end - s.start;
	return ret;
}
