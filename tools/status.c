// SPDX-License-Identifier: GPL-2.0
#include <arpa/inet.h>
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "names.h"
#include "nl.h"
#include "opts.h"
#include "table.h"
#include "util.h"

struct args {
	const char *group;
	bool json, counters;
};

static const struct option options[] = {
	{ "counters", no_argument, NULL, 'c' },	/* of status only */
	{ "json", no_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static void print_help(const char *cmd, bool status)
{
	printf("Usage: distsnap %s [GROUP] [--json]%s\n\n", cmd,
	       status ? " [--counters]" : "");
	if (status)
		printf("Shows the groups on this host, and the epochs that no agent has fetched yet.\n\n");
	else
		printf("Shows the %s on this host, of all groups or of GROUP.\n\n",
		       strcmp(cmd, "members") ? "members' connections" : cmd);
	printf("  --json      print it as JSON\n");
	if (status)
		printf("  --counters  how often something unusual happened, instead\n");
	printf("\n" HELP_EXIT);
}

/* -1: go on; otherwise the exit code. */
static int parse(int argc, char **argv, struct args *a)
{
	bool status = !strcmp(argv[0], "status");
	int opt;

	opterr = 0;
	/* The first one is --counters. */
	while ((opt = getopt_long(argc, argv, ":h", status ? options :
				  options + 1, NULL)) != -1) {
		if (opt == 'h') {
			print_help(argv[0], status);
			return EXIT_OK;
		}
		if (opt == 'j')
			a->json = true;
		else if (opt == 'c')
			a->counters = true;
		else
			return opt_refuse(argv[0], argv, opt);
	}
	if (optind < argc && opt_group(argv[0], argc, argv))
		return EXIT_USAGE;
	a->group = argv[optind];
	return -1;
}

static void put(json_t *o, const char *key, uint64_t v)
{
	json_object_set_new(o, key, json_integer(v));
}

static void put_text(json_t *o, const char *key, const char *s)
{
	json_object_set_new(o, key, json_string_nocheck(s));
}

static void print_json(json_t *j)
{
	json_dumpf(j, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(j);
}

static void prefix_text(const struct distsnap_prefix *p, char *out, size_t n)
{
	char text[INET6_ADDRSTRLEN] = "?";

	inet_ntop(p->family, p->addr, text, sizeof(text));
	snprintf(out, n, "%s/%u", text, p->plen);
}

static json_t *group_json(const struct ds_group *g)
{
	json_t *o = json_object(), *peers = json_array();
	char text[64];
	size_t i;

	for (i = 0; i < g->n_peers; i++) {
		prefix_text(&g->peers[i], text, sizeof(text));
		json_array_append_new(peers, json_string(text));
	}
	put_text(o, "group", g->name);
	put(o, "id", g->id);
	json_object_set_new(o, "peers", peers);
	put(o, "members", g->members);
	put(o, "epoch", g->epoch);
	put_text(o, "state", state_name(g->state));
	json_object_set_new(o, "agent", json_boolean(g->agent));
	put(o, "pause_max_ms", g->pause_max);
	put(o, "record_max_ms", g->record_max);
	put(o, "snap_max_ms", g->snap_max);
	put(o, "bytes_max", g->bytes_max);
	return o;
}

static void group_print(const struct ds_group *g)
{
	char text[64];
	size_t i;

	printf("group %s: id %u, %u member%s on this node, %s\n", g->name,
	       g->id, g->members, g->members == 1 ? "" : "s",
	       g->agent ? "agent attached" : "no agent");
	printf("  peers     ");
	for (i = 0; i < g->n_peers; i++) {
		prefix_text(&g->peers[i], text, sizeof(text));
		printf("%s%s", i ? ", " : "", text);
	}
	printf("\n  epoch     ");
	if (g->epoch)
		printf("%u was the last%s\n", g->epoch, g->state == DISTSNAP_S_IDLE ?
		       "" : ", and is open");
	else
		printf("none yet\n");
	printf("  limits    pause %u ms, recorded after %u ms, done after %u ms, %llu MiB\n",
	       g->pause_max, g->record_max, g->snap_max,
	       (unsigned long long)g->bytes_max >> 20);
}

/* Epochs that no agent has fetched yet. */
static int show_kept(struct ds_conn *c, const struct ds_group *g, json_t *o)
{
	json_t *list = json_array(), *e;
	struct ds_snap *s;
	size_t n, i;
	int err;

	err = ds_snaps(c, g->name, &s, &n);
	for (i = 0; !err && i < n; i++) {
		if (!o) {
			printf("  kept      epoch %u: %s, %u member%s, %llu KiB\n",
			       s[i].epoch, state_name(s[i].state), s[i].members,
			       s[i].members == 1 ? "" : "s",
			       (unsigned long long)s[i].bytes >> 10);
			continue;
		}
		e = json_object();
		put(e, "epoch", s[i].epoch);
		put_text(e, "state", state_name(s[i].state));
		put(e, "members", s[i].members);
		put(e, "bytes", s[i].bytes);
		json_array_append_new(list, e);
	}
	if (o)
		json_object_set(o, "kept", list);
	json_decref(list);
	ds_free_snaps(s, n);
	return err;
}

static int show_groups(struct ds_conn *c, const struct args *a)
{
	struct ds_group *g = NULL;
	json_t *list = json_array();
	size_t n = 1, i;
	int err;

	if (a->group) {
		g = xcalloc(1, sizeof(*g));
		err = ds_group_get(c, a->group, g);
	} else {
		err = ds_groups(c, &g, &n);
	}
	for (i = 0; !err && i < n; i++) {
		json_t *o = a->json ? group_json(&g[i]) : NULL;

		if (!o)
			group_print(&g[i]);
		err = show_kept(c, &g[i], o);
		if (o)
			json_array_append_new(list, o);
	}
	if (!err && a->json)
		print_json(json_incref(list));
	else if (!err && !n)
		printf("no groups; 'distsnap group GROUP --id N --peers PREFIX' makes one\n");
	json_decref(list);
	free(g);
	return err;
}

static int show_counters(struct ds_conn *c, const struct args *a)
{
	json_t *o = json_object();
	struct ds_counter *k;
	size_t n, i;
	int err;

	err = ds_counters(c, &k, &n);
	for (i = 0; !err && i < n; i++) {
		if (a->json)
			put(o, k[i].name, k[i].value);
		else
			printf("%-28s %llu\n", k[i].name,
			       (unsigned long long)k[i].value);
	}
	if (!err && a->json)
		print_json(json_incref(o));
	json_decref(o);
	free(k);
	return err;
}

static void print_table(struct table *t)
{
	table_print(t, stdout);
	table_free(t);
}

static void add_titles(struct table *t, const char *const *titles)
{
	unsigned int i;

	for (i = 0; i < t->columns; i++)
		table_add(t, "%s", titles[i]);
}

static json_t *member_json(const struct ds_member *m)
{
	json_t *o = json_object();

	put_text(o, "group", m->group);
	put_text(o, "name", m->name);
	put(o, "id", m->id);
	put(o, "pid", m->pid);
	put(o, "channels", m->channels);
	put(o, "epoch", m->epoch);
	put_text(o, "state", state_name(m->state));
	return o;
}

static void print_members(const struct ds_member *m, size_t n)
{
	static const char *const titles[] = {
		"GROUP", "MEMBER", "PID", "CHANNELS", "EPOCH", "STATE",
	};
	struct table t = { .columns = ARRAY_SIZE(titles), .right = 0x1c };
	size_t i;

	add_titles(&t, titles);
	for (i = 0; i < n; i++) {
		table_add(&t, "%s", m[i].group);
		table_add(&t, "%s", m[i].name);
		table_add(&t, "%u", m[i].pid);
		table_add(&t, "%u", m[i].channels);
		table_add(&t, "%u", m[i].epoch);
		table_add(&t, "%s", state_name(m[i].state));
	}
	print_table(&t);
}

static int show_members(struct ds_conn *c, const struct args *a)
{
	json_t *list = json_array();
	struct ds_member *m;
	size_t n, i;
	int err;

	err = ds_members(c, a->group, &m, &n);
	for (i = 0; !err && a->json && i < n; i++)
		json_array_append_new(list, member_json(&m[i]));
	if (!err && a->json)
		print_json(json_incref(list));
	else if (!err)
		print_members(m, n);
	json_decref(list);
	free(m);
	return err;
}

static void ends_text(const struct ds_channel *ch, char local[ENDPOINT_SIZE],
		      char remote[ENDPOINT_SIZE])
{
	endpoint_name(ch->family, ch->saddr, ch->sport, local);
	endpoint_name(ch->family, ch->daddr, ch->dport, remote);
}

static json_t *channel_json(const struct ds_channel *ch)
{
	char local[ENDPOINT_SIZE], remote[ENDPOINT_SIZE];
	json_t *o = json_object();

	ends_text(ch, local, remote);
	put_text(o, "group", ch->group);
	put_text(o, "member", ch->member_name);
	put(o, "id", ch->id);
	put_text(o, "local", local);
	put_text(o, "remote", remote);
	put(o, "isn", ch->isn);
	put(o, "peer_isn", ch->peer_isn);
	put(o, "inode", ch->inode);
	put_text(o, "tcp_state", tcp_state_name(ch->tcp_state));
	put_text(o, "peer", peer_name(ch->peer));
	return o;
}

static void print_channels(const struct ds_channel *ch, size_t n)
{
	static const char *const titles[] = {
		"GROUP", "MEMBER", "LOCAL", "REMOTE", "TCP", "PEER",
	};
	struct table t = { .columns = ARRAY_SIZE(titles) };
	char local[ENDPOINT_SIZE], remote[ENDPOINT_SIZE];
	size_t i;

	add_titles(&t, titles);
	for (i = 0; i < n; i++) {
		ends_text(&ch[i], local, remote);
		table_add(&t, "%s", ch[i].group);
		table_add(&t, "%s", ch[i].member_name);
		table_add(&t, "%s", local);
		table_add(&t, "%s", remote);
		table_add(&t, "%s", tcp_state_name(ch[i].tcp_state));
		table_add(&t, "%s", peer_name(ch[i].peer));
	}
	print_table(&t);
}

static int show_channels(struct ds_conn *c, const struct args *a)
{
	json_t *list = json_array();
	struct ds_channel *ch;
	size_t n, i;
	int err;

	err = ds_channels(c, a->group, &ch, &n);
	for (i = 0; !err && a->json && i < n; i++)
		json_array_append_new(list, channel_json(&ch[i]));
	if (!err && a->json)
		print_json(json_incref(list));
	else if (!err)
		print_channels(ch, n);
	json_decref(list);
	free(ch);
	return err;
}

static int show(int argc, char **argv,
		int (*fn)(struct ds_conn *c, const struct args *a))
{
	struct args a = { 0 };
	struct ds_conn *c;
	int err;

	err = parse(argc, argv, &a);
	if (err >= 0)
		return err;
	c = ds_open();
	if (!c)
		return EXIT_REFUSED;
	err = (a.counters ? show_counters : fn)(c, &a);
	if (err)
		err = fail(EXIT_REFUSED, "%s%s%s: %s", argv[0],
			   a.group ? " " : "", a.group ? a.group : "",
			   ds_error_plain(c));
	ds_close(c);
	return err;
}

int cmd_status(int argc, char **argv)
{
	return show(argc, argv, show_groups);
}

int cmd_members(int argc, char **argv)
{
	return show(argc, argv, show_members);
}

int cmd_channels(int argc, char **argv)
{
	return show(argc, argv, show_channels);
}
