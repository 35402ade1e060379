// SPDX-License-Identifier: GPL-2.0
/* The cuts in fragment.json: connections, positions and where the bytes are. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fragment_read.h"

const char *const fragment_peers[] = {
	"unknown", "member", "external", "rewritten", "unsupported",
	"connecting", NULL,
};

const char *const fragment_origins[] = {
	"sendq", "recvq", "ofo", "log", NULL,
};

static const char *const cut_flags[] = {
	"closed", "acked", "naked", "missed", "fin-out", "fin-in", "truncated",
	"gone", "contradicted", "left", "born",
	"tomb", "short", "reset", NULL,
};

static const char *const families[] = { "ipv4", "ipv6", NULL };

struct where {
	unsigned int family;
	char *file;
};

static const struct jsonread_field cut_fields[] = {
	F(frag_cut, "id", id, .kind = READ_UINT, .max = U32),
	F(frag_cut, "local", local, .kind = READ_TEXT),
	F(frag_cut, "remote", remote, .kind = READ_TEXT),
	F(frag_cut, "isn", isn, .kind = READ_UINT, .max = U32),
	F(frag_cut, "peer_isn", peer_isn, .kind = READ_UINT, .max = U32),
	F(frag_cut, "inode", inode, .kind = READ_UINT, .max = ANY,
	  .optional = true),
	F(frag_cut, "tcp_state", tcp_state, .kind = READ_TEXT, .optional = true),
	F(frag_cut, "peer", peer, .kind = READ_WORD, .words = fragment_peers),
	F(frag_cut, "flags", flags, .kind = READ_FLAGS, .words = cut_flags),
};

static const struct jsonread_field out_fields[] = {
	F(frag_cut, "una", out.una, .kind = READ_UINT, .max = OFF),
	F(frag_cut, "sent", out.sent, .kind = READ_UINT, .max = OFF),
};

static const struct jsonread_field in_fields[] = {
	F(frag_cut, "read", in.read, .kind = READ_UINT, .max = OFF),
	F(frag_cut, "next", in.next, .kind = READ_UINT, .max = OFF),
	F(frag_cut, "marker", in.marker, .kind = READ_UINT, .max = OFF,
	  .optional = true),
};

static const struct jsonread_field piece_fields[] = {
	F(frag_piece, "origin", origin, .kind = READ_WORD,
	  .words = fragment_origins),
	F(frag_piece, "offset", offset, .kind = READ_UINT, .max = OFF),
	F(frag_piece, "length", length, .kind = READ_UINT,
	  .max = FRAGMENT_SPAN_MAX),
	F(frag_piece, "pos", pos, .kind = READ_UINT, .max = OFF),
};

static const struct jsonread_field where_fields[] = {
	F(where, "family", family, .kind = READ_WORD, .words = families),
	F(where, "file", file, .kind = READ_TEXT),
};

/* ADDR:PORT in the one form that the kernel's numbers have: a safe file name */
static bool address_ok(const char *text, bool ipv6)
{
	char addr[INET6_ADDRSTRLEN], again[2 * INET6_ADDRSTRLEN];
	unsigned char raw[sizeof(struct in6_addr)];
	int family = ipv6 ? AF_INET6 : AF_INET;
	const char *colon = strrchr(text, ':');
	unsigned int port;
	size_t len;

	if (!colon || (ipv6 && (*text != '[' || colon - text < 3)))
		return false;
	len = ipv6 ? colon - text - 2 : colon - text;
	if (len >= sizeof(addr) || sscanf(colon, ":%5u", &port) != 1)
		return false;
	memcpy(addr, text + ipv6, len);
	addr[len] = 0;
	if (port > UINT16_MAX || inet_pton(family, addr, raw) != 1)
		return false;
	inet_ntop(family, raw, addr, sizeof(addr));
	snprintf(again, sizeof(again), ipv6 ? "[%s]:%u" : "%s:%u", addr, port);
	return !strcmp(text, again);
}

static int by_place(const void *a, const void *b)
{
	const struct frag_piece *p = a, *q = b;

	if (p->origin != q->origin)
		return p->origin < q->origin ? -1 : 1;
	if (p->pos != q->pos)
		return p->pos < q->pos ? -1 : 1;
	return p->length < q->length ? -1 : p->length > q->length;
}

static int read_piece(const json_t *obj, const char *member, struct frag_cut *c,
		      const char *what, struct why *why)
{
	struct frag_piece *p = &c->pieces[c->n_pieces];
	char name[FRAGMENT_NAME_LEN], want[2 * FRAGMENT_NAME_LEN];
	struct where where = { 0 };
	int ret;

	ret = jsonread(obj, piece_fields, ARRAY_SIZE(piece_fields), p, what, why);
	if (ret)
		return ret;
	c->n_pieces++;
	ret = jsonread(obj, where_fields + 1, 1, &where, what, why);
	if (ret)
		return ret;
	fragment_data_name(c, p->origin, name);
	snprintf(want, sizeof(want), "%s/%s", member, name);
	if (strcmp(where.file, want))
		ret = why_set(why, "%s: data file \"%s\" is not \"%s\"", what,
			      where.file, want);
	free(where.file);
	return ret;
}

/* Every byte of a file is used once: no small fragment makes work for ever. */
static int check_places(struct frag_cut *c, const char *what, struct why *why)
{
	const struct frag_piece *p;
	size_t i;

	if (c->n_pieces)
		qsort(c->pieces, c->n_pieces, sizeof(*c->pieces), by_place);
	for (i = 1; i < c->n_pieces; i++) {
		p = &c->pieces[i];
		if (p[-1].origin == p->origin && p[-1].pos + p[-1].length > p->pos)
			return why_set(why, "%s: two pieces of data share bytes of the %s file",
				       what, fragment_origins[p->origin]);
	}
	return 0;
}

static int read_cut(const json_t *obj, const char *member, struct frag_cut *c,
		    const char *owner, struct why *why)
{
	struct where where = { 0 };
	const json_t *data, *item;
	char what[160];
	size_t i;

	snprintf(what, sizeof(what), "%s: a channel", owner);
	if (jsonread(obj, cut_fields, ARRAY_SIZE(cut_fields), c, what, why))
		return -1;
	snprintf(what, sizeof(what), "%s: channel %llu", owner,
		 (unsigned long long)c->id);
	c->in.marker = FRAGMENT_NONE;
	if (jsonread(obj, where_fields, 1, &where, what, why) ||
	    jsonread(json_object_get(obj, "out"), out_fields,
		     ARRAY_SIZE(out_fields), c, what, why) ||
	    jsonread(json_object_get(obj, "in"), in_fields,
		     ARRAY_SIZE(in_fields), c, what, why))
		return -1;
	if (!address_ok(c->local, where.family) ||
	    !address_ok(c->remote, where.family))
		return why_set(why, "%s: \"%s\" or \"%s\" is not an address with a port",
			       what, c->local, c->remote);
	data = jsonread_array(obj, "data", what, why);
	if (!data)
		return -1;
	c->pieces = xcalloc(json_array_size(data), sizeof(*c->pieces));
	json_array_foreach(data, i, item) {
		if (read_piece(item, member, c, what, why))
			return -1;
	}
	return check_places(c, what, why);
}

static int by_id(const void *a, const void *b)
{
	const struct frag_cut *c = a, *d = b;

	return c->id < d->id ? -1 : c->id > d->id;
}

int fragment_read_cuts(const json_t *obj, struct frag_member *m,
		       const char *what, struct why *why)
{
	const json_t *cuts, *item;
	size_t i;

	cuts = jsonread_array(obj, "channels", what, why);
	if (!cuts)
		return -1;
	m->cuts = xcalloc(json_array_size(cuts), sizeof(*m->cuts));
	json_array_foreach(cuts, i, item) {
		if (read_cut(item, m->name, &m->cuts[m->n_cuts++], what, why))
			return -1;
	}
	if (m->n_cuts)
		qsort(m->cuts, m->n_cuts, sizeof(*m->cuts), by_id);
	for (i = 1; i < m->n_cuts; i++)
		if (m->cuts[i].id == m->cuts[i - 1].id)
			return why_set(why, "%s: channel %llu appears twice",
				       what, (unsigned long long)m->cuts[i].id);
	return 0;
}
