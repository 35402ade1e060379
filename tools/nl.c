// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/netlink.h>

#include "nl.h"
#include "nlconn.h"
#include "util.h"

#define MESSAGE_MAX	63	/* the module takes no more */
#define DO	(NLM_F_REQUEST | NLM_F_ACK)
#define DUMP	(NLM_F_REQUEST | NLM_F_DUMP)

static struct nl_msg *named(struct ds_conn *c, uint8_t cmd, int flags,
			    const char *group)
{
	struct nl_msg *m = conn_msg(c, cmd, flags);

	if (group)
		nla_put_string(m, DISTSNAP_A_NAME, group);
	return m;
}

static struct nl_msg *of_epoch(struct ds_conn *c, uint8_t cmd, int flags,
			       const char *group, uint32_t epoch)
{
	struct nl_msg *m = named(c, cmd, flags, group);

	nla_put_u32(m, DISTSNAP_A_EPOCH, epoch);
	return m;
}

static struct nl_msg *of_record(struct ds_conn *c, uint8_t cmd, int flags,
				const char *group, uint32_t epoch,
				uint32_t member)
{
	struct nl_msg *m = of_epoch(c, cmd, flags, group, epoch);

	nla_put_u32(m, DISTSNAP_A_MEMBER, member);
	return m;
}

/* For answers of one message: the last one counts. */
struct one {
	void *out;
	size_t size;
	bool seen;
};

static int keep_one(void *parsed, void *arg)
{
	struct one *one = arg;

	memcpy(one->out, parsed, one->size);
	one->seen = true;
	return 0;
}

static void put_u32(struct nl_msg *m, int attr, uint32_t v)
{
	if (v)
		nla_put_u32(m, attr, v);
}

static void put_peers(struct nl_msg *m, const struct ds_group *g)
{
	struct nlattr *nest;
	size_t i;

	if (!g->n_peers)
		return;
	nest = nla_nest_start(m, DISTSNAP_A_PEERS);
	for (i = 0; i < g->n_peers; i++)
		nla_put(m, DISTSNAP_A_PREFIX, sizeof(g->peers[i]),
			&g->peers[i]);
	nla_nest_end(m, nest);
}

int ds_group_set(struct ds_conn *c, const struct ds_group *g)
{
	struct nl_msg *m = named(c, DISTSNAP_CMD_GROUP_SET, DO, g->name);

	if (g->id)
		nla_put_u16(m, DISTSNAP_A_ID, g->id);
	put_peers(m, g);
	put_u32(m, DISTSNAP_A_PAUSE_MAX, g->pause_max);
	put_u32(m, DISTSNAP_A_RECORD_MAX, g->record_max);
	put_u32(m, DISTSNAP_A_SNAP_MAX, g->snap_max);
	if (g->bytes_max)
		nla_put_u64(m, DISTSNAP_A_BYTES_MAX, g->bytes_max);
	put_u32(m, DISTSNAP_A_EPOCH, g->epoch);
	return conn_call(c, m, NULL, NULL, NULL);
}

int ds_group_del(struct ds_conn *c, const char *name)
{
	return conn_call(c, named(c, DISTSNAP_CMD_GROUP_DEL, DO, name), NULL,
			 NULL, NULL);
}

int ds_group_get(struct ds_conn *c, const char *name, struct ds_group *g)
{
	struct one one = { .out = g, .size = sizeof(*g) };

	memset(g, 0, sizeof(*g));
	return conn_call(c, named(c, DISTSNAP_CMD_GROUP_GET, DO, name),
			 &layout_group, keep_one, &one);
}

int ds_groups(struct ds_conn *c, struct ds_group **g, size_t *n)
{
	return conn_list(c, named(c, DISTSNAP_CMD_GROUP_GET, DUMP, NULL),
			 &layout_group, (void **)g, n);
}

int ds_join(struct ds_conn *c, const char *group, uint32_t pid,
	    const char *name, uint32_t *member)
{
	struct nl_msg *m = named(c, DISTSNAP_CMD_JOIN, DO, group);
	struct ds_member got = { 0 };
	struct one one = { .out = &got, .size = sizeof(got) };
	int err;

	nla_put_u32(m, DISTSNAP_A_PID, pid);
	if (name)
		nla_put_string(m, DISTSNAP_A_MEMBER_NAME, name);
	err = conn_call(c, m, &layout_member, keep_one, &one);
	if (member)
		*member = got.id;
	return err;
}

int ds_leave(struct ds_conn *c, const char *group, uint32_t pid)
{
	struct nl_msg *m = named(c, DISTSNAP_CMD_LEAVE, DO, group);

	nla_put_u32(m, DISTSNAP_A_PID, pid);
	return conn_call(c, m, NULL, NULL, NULL);
}

int ds_members(struct ds_conn *c, const char *group, struct ds_member **m,
	       size_t *n)
{
	return conn_list(c, named(c, DISTSNAP_CMD_MEMBER_GET, DUMP, group),
			 &layout_member, (void **)m, n);
}

int ds_channels(struct ds_conn *c, const char *group, struct ds_channel **ch,
		size_t *n)
{
	return conn_list(c, named(c, DISTSNAP_CMD_CHANNEL_GET, DUMP, group),
			 &layout_channel, (void **)ch, n);
}

int ds_counters(struct ds_conn *c, struct ds_counter **k, size_t *n)
{
	return conn_list(c, named(c, DISTSNAP_CMD_COUNTER_GET, DUMP, NULL),
			 &layout_counter, (void **)k, n);
}

int ds_take(struct ds_conn *c, const char *group, uint32_t flags,
	    uint32_t *epoch)
{
	struct nl_msg *m = named(c, DISTSNAP_CMD_TAKE, DO, group);
	struct ds_event got = { 0 };
	struct one one = { .out = &got, .size = sizeof(got) };
	int err;

	put_u32(m, DISTSNAP_A_FLAGS, flags);
	err = conn_call(c, m, &layout_event, keep_one, &one);
	*epoch = got.epoch;
	return err;
}

int ds_agent(struct ds_conn *c, const char *group)
{
	return conn_call(c, named(c, DISTSNAP_CMD_AGENT, DO, group), NULL,
			 NULL, NULL);
}

int ds_recorded(struct ds_conn *c, const struct ds_event *ev, int status,
		const char *message)
{
	struct nl_msg *m = of_record(c, DISTSNAP_CMD_RECORDED, DO, ev->group,
				     ev->epoch, ev->member);
	char text[MESSAGE_MAX + 1];

	nla_put_u32(m, DISTSNAP_A_STATUS, status);
	if (message) {
		snprintf(text, sizeof(text), "%s", message);
		nla_put_string(m, DISTSNAP_A_MESSAGE, text);
	}
	return conn_call(c, m, NULL, NULL, NULL);
}

int ds_snaps(struct ds_conn *c, const char *group, struct ds_snap **s,
	     size_t *n)
{
	return conn_list(c, named(c, DISTSNAP_CMD_SNAP_GET, DUMP, group),
			 &layout_snap, (void **)s, n);
}

int ds_snap_get(struct ds_conn *c, const char *group, uint32_t epoch,
		struct ds_snap *s)
{
	struct nl_msg *m = of_epoch(c, DISTSNAP_CMD_SNAP_GET, DUMP, group,
				    epoch);
	struct ds_snap *list;
	size_t n, i;
	int err;

	err = conn_list(c, m, &layout_snap, (void **)&list, &n);
	if (err)
		return err;
	err = -ENOENT;
	for (i = 0; i < n; i++) {
		if (list[i].epoch != epoch)
			continue;
		*s = list[i];
		memset(&list[i].reasons, 0, sizeof(list[i].reasons));
		err = 0;
		break;
	}
	ds_free_snaps(list, n);
	return err;
}

int ds_records(struct ds_conn *c, const char *group, uint32_t epoch,
	       struct ds_record **r, size_t *n)
{
	return conn_list(c, of_epoch(c, DISTSNAP_CMD_RECORD_GET, DUMP, group,
				     epoch),
			 &layout_record, (void **)r, n);
}

int ds_threads(struct ds_conn *c, const char *group, uint32_t epoch,
	       uint32_t member, struct ds_thread **t, size_t *n)
{
	return conn_list(c, of_record(c, DISTSNAP_CMD_THREAD_GET, DUMP, group,
				      epoch, member),
			 &layout_thread, (void **)t, n);
}

int ds_cuts(struct ds_conn *c, const char *group, uint32_t epoch,
	    uint32_t member, struct ds_channel **ch, size_t *n)
{
	return conn_list(c, of_record(c, DISTSNAP_CMD_CUT_GET, DUMP, group,
				      epoch, member),
			 &layout_channel, (void **)ch, n);
}

struct data_call {
	int (*fn)(const struct ds_data *d, void *arg);
	void *arg;
};

static int pass_data(void *parsed, void *arg)
{
	struct data_call *call = arg;

	return call->fn(parsed, call->arg);
}

int ds_data(struct ds_conn *c, const char *group, uint32_t epoch,
	    uint32_t member, int (*fn)(const struct ds_data *d, void *arg),
	    void *arg)
{
	struct data_call call = { .fn = fn, .arg = arg };

	return conn_call(c, of_record(c, DISTSNAP_CMD_DATA_GET, DUMP, group,
				      epoch, member),
			 &layout_data, pass_data, &call);
}

int ds_drop(struct ds_conn *c, const char *group, uint32_t epoch)
{
	return conn_call(c, of_epoch(c, DISTSNAP_CMD_DROP, DO, group, epoch),
			 NULL, NULL, NULL);
}
