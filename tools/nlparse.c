// SPDX-License-Identifier: GPL-2.0
#include <string.h>
#include <stdlib.h>

#include "nl.h"
#include "nlparse.h"
#include "util.h"

void ds_free_strings(struct ds_strings *s)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		free(s->s[i]);
	free(s->s);
	memset(s, 0, sizeof(*s));
}

static void release_snap(void *s)
{
	ds_free_strings(&((struct ds_snap *)s)->reasons);
}

static void release_record(void *r)
{
	ds_free_strings(&((struct ds_record *)r)->reasons);
}

static void release_thread(void *p)
{
	struct ds_thread *t = p;
	size_t i;

	for (i = 0; i < t->n_regsets; i++)
		free(t->regsets[i].data);
	free(t->regsets);
}

void ds_free_snaps(struct ds_snap *s, size_t n)
{
	while (n)
		release_snap(&s[--n]);
	free(s);
}

void ds_free_records(struct ds_record *r, size_t n)
{
	while (n)
		release_record(&r[--n]);
	free(r);
}

void ds_free_threads(struct ds_thread *t, size_t n)
{
	while (n)
		release_thread(&t[--n]);
	free(t);
}

#define FIELD(st, a, k, m) \
	{ DISTSNAP_A_##a, FIELD_##k, offsetof(struct st, m), \
	  sizeof(((struct st *)0)->m) }
#define LAYOUT(name, st, f, rel) \
	const struct layout layout_##name = \
		{ f, ARRAY_SIZE(f), sizeof(struct st), rel }

static const struct field group_fields[] = {
	FIELD(ds_group, NAME, STR, name),
	FIELD(ds_group, ID, U16, id),
	FIELD(ds_group, PEERS, PREFIXES, peers),
	FIELD(ds_group, PAUSE_MAX, U32, pause_max),
	FIELD(ds_group, RECORD_MAX, U32, record_max),
	FIELD(ds_group, SNAP_MAX, U32, snap_max),
	FIELD(ds_group, BYTES_MAX, U64, bytes_max),
	FIELD(ds_group, EPOCH, U32, epoch),
	FIELD(ds_group, STATE, U32, state),
	FIELD(ds_group, AGENT, U32, agent),
	FIELD(ds_group, MEMBERS, U32, members),
};
LAYOUT(group, ds_group, group_fields, NULL);

static const struct field member_fields[] = {
	FIELD(ds_member, NAME, STR, group),
	FIELD(ds_member, MEMBER, U32, id),
	FIELD(ds_member, MEMBER_NAME, STR, name),
	FIELD(ds_member, PID, U32, pid),
	FIELD(ds_member, EPOCH, U32, epoch),
	FIELD(ds_member, STATE, U32, state),
	FIELD(ds_member, CHANNELS, U32, channels),
};
LAYOUT(member, ds_member, member_fields, NULL);

static const struct field channel_fields[] = {
	FIELD(ds_channel, NAME, STR, group),
	FIELD(ds_channel, MEMBER, U32, member),
	FIELD(ds_channel, MEMBER_NAME, STR, member_name),
	FIELD(ds_channel, CHANNEL, U32, id),
	FIELD(ds_channel, FAMILY, U16, family),
	FIELD(ds_channel, SADDR, BIN, saddr),
	FIELD(ds_channel, SPORT, U16, sport),
	FIELD(ds_channel, DADDR, BIN, daddr),
	FIELD(ds_channel, DPORT, U16, dport),
	FIELD(ds_channel, ISN, U32, isn),
	FIELD(ds_channel, PEER_ISN, U32, peer_isn),
	FIELD(ds_channel, PEER, U32, peer),
	FIELD(ds_channel, TCP_STATE, U32, tcp_state),
	FIELD(ds_channel, INODE, U64, inode),
	FIELD(ds_channel, OUT_UNA, U64, out_una),
	FIELD(ds_channel, OUT_SENT, U64, out_sent),
	FIELD(ds_channel, IN_READ, U64, in_read),
	FIELD(ds_channel, IN_NEXT, U64, in_next),
	FIELD(ds_channel, IN_MARKER, U64, in_marker),
	FIELD(ds_channel, CUT_FLAGS, U32, flags),
};
LAYOUT(channel, ds_channel, channel_fields, NULL);

static const struct field snap_fields[] = {
	FIELD(ds_snap, NAME, STR, group),
	FIELD(ds_snap, EPOCH, U32, epoch),
	FIELD(ds_snap, STATE, U32, state),
	FIELD(ds_snap, FLAGS, U32, flags),
	FIELD(ds_snap, TRIGGERED, U64, triggered),
	FIELD(ds_snap, MEMBERS, U32, members),
	FIELD(ds_snap, BYTES, U64, bytes),
	FIELD(ds_snap, HELD_BYTES, U64, held_bytes),
	FIELD(ds_snap, REASON, STRINGS, reasons),
};
LAYOUT(snap, ds_snap, snap_fields, release_snap);

static const struct field record_fields[] = {
	FIELD(ds_record, MEMBER, U32, member),
	FIELD(ds_record, MEMBER_NAME, STR, name),
	FIELD(ds_record, PID, U32, pid),
	FIELD(ds_record, STATE, U32, state),
	FIELD(ds_record, FLAGS, U32, flags),
	FIELD(ds_record, PARK_NS, U64, park),
	FIELD(ds_record, PARKED_NS, U64, parked),
	FIELD(ds_record, CAPTURED_NS, U64, captured),
	FIELD(ds_record, RECORDED_NS, U64, recorded),
	FIELD(ds_record, DONE_NS, U64, done),
	FIELD(ds_record, THREADS, U32, threads),
	FIELD(ds_record, CHANNELS, U32, channels),
	FIELD(ds_record, REASON, STRINGS, reasons),
};
LAYOUT(record, ds_record, record_fields, release_record);

static const struct field thread_fields[] = {
	FIELD(ds_thread, TID, U32, tid),
	FIELD(ds_thread, PARKED, U32, parked),
	FIELD(ds_thread, SYSCALL, U32, syscall),
	FIELD(ds_thread, ARGS, BIN, args),
	FIELD(ds_thread, REGSET, REGSET, regsets),
};
LAYOUT(thread, ds_thread, thread_fields, release_thread);

static const struct field counter_fields[] = {
	FIELD(ds_counter, COUNTER_NAME, STR, name),
	FIELD(ds_counter, COUNTER_VALUE, U64, value),
};
LAYOUT(counter, ds_counter, counter_fields, NULL);

static const struct field data_fields[] = {
	FIELD(ds_data, CHANNEL, U32, channel),
	FIELD(ds_data, ORIGIN, U32, origin),
	FIELD(ds_data, OFFSET, U64, offset),
	FIELD(ds_data, DATA, DATA, data),
};
LAYOUT(data, ds_data, data_fields, NULL);

static const struct field event_fields[] = {
	FIELD(ds_event, NAME, STR, group),
	FIELD(ds_event, EPOCH, U32, epoch),
	FIELD(ds_event, MEMBER, U32, member),
	FIELD(ds_event, MEMBER_NAME, STR, name),
	FIELD(ds_event, PID, U32, pid),
	FIELD(ds_event, TIMEOUT, U32, timeout),
	FIELD(ds_event, STATE, U32, state),
};
LAYOUT(event, ds_event, event_fields, NULL);

static void add_string(struct ds_strings *list, struct nlattr *a)
{
	char *s = xcalloc(1, nla_len(a) + 1);

	memcpy(s, nla_data(a), nla_len(a));
	list->s = xrealloc(list->s, (list->n + 1) * sizeof(*list->s));
	list->s[list->n++] = s;
}

static void add_prefixes(struct ds_group *g, struct nlattr *nest)
{
	struct nlattr *a;
	int rem;

	nla_for_each_nested(a, nest, rem) {
		if (nla_type(a) != DISTSNAP_A_PREFIX ||
		    nla_len(a) < (int)sizeof(g->peers[0]) ||
		    g->n_peers == ARRAY_SIZE(g->peers))
			continue;
		memcpy(&g->peers[g->n_peers++], nla_data(a),
		       sizeof(g->peers[0]));
	}
}

static void add_regset(struct ds_thread *t, struct nlattr *nest)
{
	struct ds_regset *r;
	struct nlattr *a;
	int rem;

	t->regsets = xrealloc(t->regsets,
			      (t->n_regsets + 1) * sizeof(*t->regsets));
	r = memset(&t->regsets[t->n_regsets++], 0, sizeof(*r));
	nla_for_each_nested(a, nest, rem) {
		if (nla_type(a) == DISTSNAP_A_NOTE_TYPE && nla_len(a) >= 4) {
			r->type = nla_get_u32(a);
		} else if (nla_type(a) == DISTSNAP_A_DATA && !r->data) {
			r->len = nla_len(a);
			r->data = xmalloc(r->len);
			memcpy(r->data, nla_data(a), r->len);
		}
	}
}

static void parse_field(const struct field *f, struct nlattr *a, void *out)
{
	size_t len = nla_len(a);
	void *to = (char *)out + f->offset;
	struct ds_data *d;

	switch (f->kind) {
	case FIELD_U16:
	case FIELD_U32:
	case FIELD_U64:
		if (len >= f->size)
			memcpy(to, nla_data(a), f->size);
		break;
	case FIELD_STR:
		memcpy(to, nla_data(a), len < f->size ? len : f->size - 1u);
		break;
	case FIELD_BIN:
		memcpy(to, nla_data(a), len < f->size ? len : f->size);
		break;
	case FIELD_STRINGS:
		add_string(to, a);
		break;
	case FIELD_PREFIXES:
		add_prefixes(out, a);
		break;
	case FIELD_REGSET:
		add_regset(out, a);
		break;
	case FIELD_DATA:
		d = out;
		d->data = nla_data(a);
		d->len = len;
		break;
	}
}

void layout_parse(const struct layout *l, struct nlattr *head, int len,
		  void *out)
{
	struct nlattr *a;
	size_t i;
	int rem;

	nla_for_each_attr(a, head, len, rem) {
		for (i = 0; i < l->n; i++) {
			if (l->fields[i].attr == nla_type(a))
				parse_field(&l->fields[i], a, out);
		}
	}
}
