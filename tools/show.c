// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "snapdir.h"
#include "table.h"
#include "util.h"

static const char help[] =
"Usage: distsnap show SNAP [--json]\n\n"
"Show the members, the channels and the verdict of a snapshot.\n\n"
"  --json   print its manifest\n\n"
HELP_EXIT;

/* The manifest may come from anybody: what is not there is shown as '-'. */
static const char *text_at(const json_t *obj, const char *key)
{
	const char *s = json_string_value(json_object_get(obj, key));

	return s ? s : "-";
}

static void add_text(struct table *t, const json_t *obj, const char *key)
{
	table_add(t, "%s", text_at(obj, key));
}

static void add_number(struct table *t, const json_t *obj, const char *key)
{
	const json_t *v = json_object_get(obj, key);

	if (json_is_integer(v))
		table_add(t, "%lld", (long long)json_integer_value(v));
	else
		table_add(t, "-");
}

static void add_ms(struct table *t, const json_t *obj, const char *key)
{
	const json_t *v = json_object_get(obj, key);

	if (json_is_integer(v))
		table_add(t, "%.3f ms", json_integer_value(v) / 1000.0);
	else
		table_add(t, "-");
}

static void add_titles(struct table *t, const char *const *titles)
{
	unsigned int i;

	for (i = 0; i < t->columns; i++)
		table_add(t, "%s", titles[i]);
}

static void print(struct table *t)
{
	putchar('\n');
	table_print(t, stdout);
	table_free(t);
}

static void show_members(const json_t *root)
{
	static const char *const titles[] = {
		"MEMBER", "PID", "STATE", "PAUSE", "RECORDED AFTER", "THREADS",
		"CORE",
	};
	struct table t = { .columns = ARRAY_SIZE(titles), .right = 0x3a };
	const json_t *m;
	size_t i;

	add_titles(&t, titles);
	json_array_foreach(json_object_get(root, "members"), i, m) {
		table_add(&t, "%s/%s", text_at(m, "node"), text_at(m, "name"));
		add_number(&t, m, "pid");
		add_text(&t, m, "state");
		add_ms(&t, m, "pause_us");
		add_ms(&t, m, "trigger_to_recorded_us");
		add_number(&t, m, "threads");
		add_text(&t, m, "core");
	}
	print(&t);
}

static void show_channels(const json_t *root)
{
	static const char *const titles[] = {
		"FROM", "", "TO", "", "RECEIVED", "SENT", "IN FLIGHT", "END",
	};
	struct table t = { .columns = ARRAY_SIZE(titles), .right = 0x70 };
	const json_t *c;
	size_t i;

	add_titles(&t, titles);
	json_array_foreach(json_object_get(root, "channels"), i, c) {
		add_text(&t, c, "src");
		add_text(&t, c, "src_addr");
		add_text(&t, c, "dst");
		add_text(&t, c, "dst_addr");
		add_number(&t, c, "read");
		add_number(&t, c, "sent");
		add_number(&t, c, "bytes");
		table_add(&t, "%s", json_is_true(json_object_get(c, "fin")) ?
			  "closed" : "-");
	}
	if (i)
		print(&t);
	else
		table_free(&t);
}

static void show_externals(const json_t *root)
{
	static const char *const titles[] = {
		"OUTSIDE", "LOCAL", "REMOTE", "WHY",
	};
	struct table t = { .columns = ARRAY_SIZE(titles) };
	const json_t *e;
	size_t i;

	add_titles(&t, titles);
	json_array_foreach(json_object_get(root, "externals"), i, e) {
		add_text(&t, e, "member");
		add_text(&t, e, "local");
		add_text(&t, e, "remote");
		add_text(&t, e, "why");
	}
	if (i)
		print(&t);
	else
		table_free(&t);
}

static void show_texts(const json_t *root, const char *key, const char *title)
{
	struct table t = { .columns = 1 };
	const json_t *item;
	size_t i;

	json_array_foreach(json_object_get(root, key), i, item) {
		if (!i)
			table_add(&t, "%s", title);
		table_add(&t, "  %s", json_string_value(item) ?
			  json_string_value(item) : "-");
	}
	if (i)
		print(&t);
	else
		table_free(&t);
}

static void show_head(const json_t *root)
{
	const json_t *totals = json_object_get(root, "totals");
	struct table t = { .columns = 7 };

	table_add(&t, "group");
	add_text(&t, root, "group");
	table_add(&t, "epoch");
	add_number(&t, root, "epoch");
	add_text(&t, root, "verdict");
	add_text(&t, root, "scope");
	add_number(&t, totals, "bytes_in_flight");
	printf("group %s, epoch %s: %s, %s, %s bytes in flight\n",
	       t.cells.v[1], t.cells.v[3], t.cells.v[4], t.cells.v[5],
	       t.cells.v[6]);
	table_free(&t);
}

static int show(const char *snap, bool json)
{
	struct snapdir sd;
	struct why why = { "" };
	json_t *root;
	char *text;

	if (snapdir_open(&sd, snap, &why))
		return fail(EXIT_REFUSED, "show: %s", why.text);
	root = snapdir_load_manifest(&sd, &why);
	text = root ? snapdir_read_manifest(&sd, &why) : NULL;
	snapdir_close(&sd);
	if (!text) {
		json_decref(root);
		return fail(EXIT_REFUSED, "show: %s: %s", snap, why.text);
	}
	if (json) {
		fputs(text, stdout);
	} else {
		show_head(root);
		show_members(root);
		show_channels(root);
		show_externals(root);
		show_texts(root, "reasons", "Incomplete, because");
		show_texts(root, "open_because", "Open, because");
	}
	free(text);
	json_decref(root);
	return EXIT_OK;
}

int cmd_show(int argc, char **argv)
{
	const char *snap = NULL;
	bool json = false;
	int i;

	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			fputs(help, stdout);
			return EXIT_OK;
		}
		if (!strcmp(argv[i], "--json"))
			json = true;
		else if (*argv[i] == '-' || snap)
			return fail(EXIT_USAGE, "show: %s: unexpected; 'distsnap show --help' tells more",
				    argv[i]);
		else
			snap = argv[i];
	}
	if (!snap)
		return fail(EXIT_USAGE, "show: name a snapshot directory");
	return show(snap, json);
}
