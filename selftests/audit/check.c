// SPDX-License-Identifier: GPL-2.0
/* The three rules of check.h. */
#include <arpa/inet.h>
#include <endian.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "vault.h"

/* One channel with both its ends. */
struct flow {
	const struct snap_channel *c;
	const struct vault *from, *to;
	unsigned int src, dst;			/* ids of the banks */
	struct bank_stream *stream;
	uint64_t credited, created;		/* messages */
	uint64_t begin, last, end;		/* of message credited, of the last
						 * one created, and of that its end
						 */
};

struct bank_stream *check_stream(uint64_t seed, uint32_t max_len,
				 unsigned int from, unsigned int to)
{
	static struct bank_stream streams[BANK_MAX][BANK_MAX];
	struct bank_stream *s = &streams[from][to];

	if (s->seed != seed || s->max_len != max_len)
		bank_stream_init(s, seed, from, to, max_len);
	return s;
}

static int same_address(const struct sockaddr_storage *addr, const char *text)
{
	const struct sockaddr_in *v4 = (const void *)addr;
	const struct sockaddr_in6 *v6 = (const void *)addr;
	char host[INET6_ADDRSTRLEN], full[INET6_ADDRSTRLEN + 16];

	if (addr->ss_family == AF_INET) {
		inet_ntop(AF_INET, &v4->sin_addr, host, sizeof(host));
		snprintf(full, sizeof(full), "%s:%u", host, ntohs(v4->sin_port));
	} else {
		/* A mapped address is IPv4 on the wire. */
		int mapped = IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr);

		inet_ntop(mapped ? AF_INET : AF_INET6,
			  v6->sin6_addr.s6_addr + (mapped ? 12 : 0), host, sizeof(host));
		snprintf(full, sizeof(full), mapped ? "%s:%u" : "[%s]:%u", host,
			 ntohs(v6->sin6_port));
	}
	return !strcmp(full, text);
}

/* The manifest's addresses must be those that the banks have for each other. */
static int check_addresses(const struct flow *f, struct why *w)
{
	const struct bank_conn *out = &f->from->bank->conn[f->dst];
	const struct bank_conn *in = &f->to->bank->conn[f->src];

	if (same_address(&out->local, f->c->src_addr) &&
	    same_address(&out->remote, f->c->dst_addr) &&
	    same_address(&in->local, f->c->dst_addr) &&
	    same_address(&in->remote, f->c->src_addr))
		return 0;
	return why(w, "stream %u->%u: %s -> %s is not its connection", f->src,
		   f->dst, f->c->src_addr, f->c->dst_addr);
}

static int set_bounds(struct flow *f, struct why *w)
{
	f->credited = f->to->ledger.credited[f->src];
	f->created = f->from->ledger.created[f->dst];
	if (f->credited > f->created)
		return why(w, "stream %u->%u: %" PRIu64 " messages are credited, but only %"
			   PRIu64 " created", f->src, f->dst, f->credited, f->created);
	bank_seek(f->stream, f->credited);
	f->begin = f->last = f->end = f->stream->start;
	if (f->created) {
		bank_seek(f->stream, f->created - 1);
		f->last = f->stream->start;
		f->end = f->last + bank_len(f->stream);
	}
	return 0;
}

/* Rule 1, for one end. */
static int check_position(const struct flow *f, int sending, struct why *w)
{
	const struct vault *v = sending ? f->from : f->to;
	unsigned int peer = sending ? f->dst : f->src;
	const struct bank_conn *conn = &v->bank->conn[peer];
	uint64_t known = sending ? conn->tx_pos : conn->rx_pos;
	uint64_t cut = sending ? f->c->sent : f->c->read;
	const char *did = sending ? "sent" : "received";
	struct pending p;

	if (vault_pending(v, peer, sending, &p, w))
		return -1;
	if (cut >= known && cut - known >= p.min && cut - known <= p.max)
		return 0;
	if (!p.tid)
		return why(w, "stream %u->%u: %s knows of %" PRIu64 " bytes %s and no thread is at it, but the snapshot says %"
			   PRIu64, f->src, f->dst, v->name, known, did, cut);
	return why(w, "stream %u->%u: %s knows of %" PRIu64 " bytes %s, thread %d moved %"
		   PRIu64 " to %" PRIu64 " more, but the snapshot says %" PRIu64,
		   f->src, f->dst, v->name, known, did, p.tid, p.min, p.max, cut);
}

static int check_bounds(const struct flow *f, struct why *w)
{
	uint64_t r = f->c->read, s = f->c->sent;

	if (r < f->begin)
		return why(w, "stream %u->%u: %" PRIu64 " bytes were read, but the messages credited end at %"
			   PRIu64, f->src, f->dst, r, f->begin);
	if (r - f->begin > f->to->bank->max_len)
		return why(w, "stream %u->%u: %" PRIu64 " bytes were read, more than a message behind those credited, which end at %"
			   PRIu64, f->src, f->dst, r, f->begin);
	if (s < f->last)
		return why(w, "stream %u->%u: %" PRIu64 " bytes were sent, but message %"
			   PRIu64 " was created, which begins at %" PRIu64,
			   f->src, f->dst, s, f->created - 1, f->last);
	if (s > f->end)
		return why(w, "stream %u->%u: %" PRIu64 " bytes were sent, but the messages created end at %"
			   PRIu64, f->src, f->dst, s, f->end);
	return 0;
}

static const char *place(const struct flow *f, uint64_t offset)
{
	if (offset < f->c->read)
		return "in the receiver's buffer";
	if (offset < f->c->sent)
		return "in the channel";
	return "in the sender's buffer";
}

/* What has left the sender's balance and not reached the receiver's. */
static unsigned char *collect(const struct flow *f)
{
	size_t in = f->c->read - f->begin, mid = f->c->sent - f->c->read;
	size_t out = f->end - f->c->sent;
	unsigned char *buf = malloc(in + mid + out + 1);

	if (!buf)
		return NULL;
	memcpy(buf, f->to->bank->rx_buf[f->src], in);
	memcpy(buf + in, f->c->data, mid);
	memcpy(buf + in + mid,
	       f->from->bank->tx_buf[f->dst] + (f->c->sent - f->last), out);
	return buf;
}

static int mismatch(const struct flow *f, size_t at, unsigned char got,
		    struct why *w)
{
	uint64_t offset = f->stream->start + at;
	unsigned char want;

	bank_bytes(f->stream, at, &want, 1);
	return why(w, "stream %u->%u: byte %" PRIu64 " %s, byte %zu of message %"
		   PRIu64 ", is 0x%02x and should be 0x%02x", f->src, f->dst,
		   offset, place(f, offset), at, f->stream->index, got, want);
}

/* Rule 2.  The amount is the one that stands in these bytes. */
static int check_bytes(const struct flow *f, int64_t *in_flight, struct why *w)
{
	unsigned char *buf = collect(f), *p = buf;
	uint32_t len, amount;
	size_t bad;
	int ret = 0;

	if (!buf)
		return why(w, "no memory");
	for (bank_seek(f->stream, f->credited); f->stream->index < f->created;
	     bank_next(f->stream)) {
		len = bank_len(f->stream);
		bad = bank_differ(f->stream, 0, p, len);
		if (bad < len) {
			ret = mismatch(f, bad, p[bad], w);
			break;
		}
		memcpy(&amount, p + 4, sizeof(amount));
		*in_flight += le32toh(amount);
		p += len;
	}
	free(buf);
	return ret;
}

static const struct vault *find_vault(const struct snap *s,
				      const struct vault *vaults, const char *id)
{
	unsigned int i;

	for (i = 0; i < s->nr_members; i++)
		if (!strcmp(s->members[i].id, id))
			return &vaults[i];
	return NULL;
}

static int check_channel(const struct snap *s, const struct vault *vaults,
			 const struct snap_channel *c, uint32_t *seen,
			 struct finding *found, struct why *w)
{
	struct flow f = { .c = c };

	f.from = find_vault(s, vaults, c->src);
	f.to = find_vault(s, vaults, c->dst);
	if (!f.from || !f.to || f.from == f.to)
		return why(w, "channel %s -> %s is not between two banks",
			   c->src, c->dst);
	f.src = f.from->bank->id;
	f.dst = f.to->bank->id;
	if (seen[f.src] & 1U << f.dst)
		return why(w, "stream %u->%u is there twice", f.src, f.dst);
	seen[f.src] |= 1U << f.dst;
	f.stream = check_stream(f.from->bank->seed, f.from->bank->max_len,
				f.src, f.dst);
	if (check_addresses(&f, w) || set_bounds(&f, w) ||
	    check_position(&f, 0, w) || check_position(&f, 1, w) ||
	    check_bounds(&f, w))
		return -1;
	found->ahead += f.c->read > f.to->bank->conn[f.src].rx_pos;
	found->ahead += f.c->sent > f.from->bank->conn[f.dst].tx_pos;
	return check_bytes(&f, &found->in_flight, w);
}

/* All the banks of one mesh, each once. */
static int check_members(const struct audit *a, const struct snap *s,
			 const struct vault *vaults, struct why *w)
{
	const struct bank *first = vaults[0].bank, *b;
	unsigned int i, ids = 0;

	if (s->nr_members != first->n)
		return why(w, "%u members of %u banks", s->nr_members, first->n);
	if (a->has_seed && first->seed != a->seed)
		return why(w, "the banks' seed is %" PRIu64 ", not %" PRIu64,
			   first->seed, a->seed);
	for (i = 0; i < s->nr_members; i++) {
		b = vaults[i].bank;
		if (b->seed != first->seed || b->n != first->n ||
		    b->max_len != first->max_len)
			return why(w, "%s and %s are not of one mesh",
				   vaults[0].name, vaults[i].name);
		if (ids & 1U << b->id)
			return why(w, "bank %u is there twice", b->id);
		ids |= 1U << b->id;
	}
	if (s->nr_channels != first->n * (first->n - 1))
		return why(w, "%u channels between %u banks", s->nr_channels,
			   first->n);
	return 0;
}

static int open_vaults(const struct audit *a, const struct snap *s,
		       struct vault *vaults, struct why *w)
{
	char path[PATH_MAX];
	unsigned int i;

	if (!s->nr_members)
		return why(w, "no members");
	for (i = 0; i < s->nr_members; i++) {
		if (!s->members[i].core)
			return why(w, "%s has no core; try --light",
				   s->members[i].id);
		snprintf(path, sizeof(path), "%s/%s", s->path,
			 s->members[i].core);
		if (vault_open(&vaults[i], s->members[i].id, path, a->exe, w))
			return -1;
	}
	return check_members(a, s, vaults, w);
}

/* Rule 3. */
static int check_total(const struct audit *a, const struct snap *s,
		       const struct vault *vaults, struct finding *f,
		       struct why *w)
{
	unsigned int i;

	f->total = 0;
	for (i = 0; i < s->nr_members; i++) {
		f->balances += vaults[i].ledger.balance;
		f->total += vaults[i].bank->initial;
	}
	if (a->has_total && a->total != f->total)
		return why(w, "the banks began with %" PRId64 ", not with %" PRId64,
			   f->total, a->total);
	if (f->balances + f->in_flight != f->total)
		return why(w, "balances %" PRId64 " and %" PRId64 " in flight make %"
			   PRId64 ", not %" PRId64, f->balances, f->in_flight,
			   f->balances + f->in_flight, f->total);
	return 0;
}

static int check_full(const struct audit *a, const struct snap *s,
		      struct finding *f, struct why *w)
{
	struct vault *vaults = calloc(s->nr_members + 1, sizeof(*vaults));
	uint32_t seen[BANK_MAX] = { 0 };
	unsigned int i;
	int ret;

	if (!vaults)
		return why(w, "no memory");
	for (i = 0; i < s->nr_members; i++)
		vaults[i].core.fd = -1;
	ret = open_vaults(a, s, vaults, w);
	for (i = 0; !ret && i < s->nr_channels; i++)
		ret = check_channel(s, vaults, &s->channels[i], seen, f, w);
	if (!ret)
		ret = check_total(a, s, vaults, f, w);
	for (i = 0; i < s->nr_members; i++)
		vault_close(&vaults[i]);
	free(vaults);
	return ret;
}

int check_snapshot(const struct audit *a, const char *path, struct finding *f,
		   struct why *w)
{
	struct snap s;
	unsigned int i;
	int ret;

	*f = (struct finding){ 0 };
	ret = snap_open(&s, path, w);
	f->epoch = s.epoch;
	f->pause_us = s.pause_us;
	f->members = s.nr_members;
	f->channels = s.nr_channels;
	for (i = 0; i < s.nr_channels; i++) {
		f->bytes += s.channels[i].sent - s.channels[i].read;
		f->busy += s.channels[i].sent > s.channels[i].read;
	}
	if (!ret)
		ret = a->light ? check_light(a, &s, w) :
				 check_full(a, &s, f, w);
	snap_close(&s);
	return ret;
}
