// SPDX-License-Identifier: GPL-2.0
#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fragment.h"
#include "fragset.h"
#include "gather.h"
#include "merge.h"
#include "pair.h"
#include "util.h"

#define NAMED_MAX	4	/* peers that are waited for and named */

void gather_init(struct gather *g, char *dir)
{
	memset(g, 0, sizeof(*g));
	g->dir = dir;
}

void gather_free(struct gather *g)
{
	while (g->n) {
		g->n--;
		free(g->names[g->n]);
		free(g->paths[g->n]);
	}
	free(g->names);
	free(g->paths);
	free(g->dir);
}

static bool has(const struct gather *g, const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < g->n; i++) {
		if (strlen(g->names[i]) == len &&
		    !strncmp(g->names[i], name, len))
			return true;
	}
	return false;
}

/* A node is a network namespace of a boot. */
static bool is_own(const char *path)
{
	char *file = xasprintf("%s/" FRAGMENT_FILE, path);
	char *boot = read_whole("/proc/sys/kernel/random/boot_id", NULL);
	json_t *root = json_load_file(file, 0, NULL);
	const char *id = json_string_value(json_object_get(root, "boot_id"));
	json_int_t ns = json_integer_value(json_object_get(root, "netns"));
	struct stat st;
	bool own;

	own = boot && id && !strncmp(boot, id, strlen(id)) && *id &&
	      !stat("/proc/self/ns/net", &st) && ns == (json_int_t)st.st_ino;
	json_decref(root);
	free(boot);
	free(file);
	return own;
}

static void add(struct gather *g, const char *name)
{
	g->names = xrealloc(g->names, (g->n + 1) * sizeof(*g->names));
	g->paths = xrealloc(g->paths, (g->n + 1) * sizeof(*g->paths));
	g->names[g->n] = xstrdup(name);
	g->paths[g->n] = xasprintf("%s/%s", g->dir, name);
	g->own |= is_own(g->paths[g->n]);
	g->n++;
}

bool gather_scan(struct gather *g)
{
	size_t before = g->n;
	struct dirent *d;
	DIR *dir;

	dir = opendir(g->dir);
	while (dir && (d = readdir(dir))) {
		/* One that is still being written has a dot in front. */
		if (valid_name(d->d_name) &&
		    !has(g, d->d_name, strlen(d->d_name)))
			add(g, d->d_name);
	}
	if (dir)
		closedir(dir);
	return g->n > before;
}

static size_t node_len(const char *expected)
{
	return strcspn(expected, "/");
}

bool gather_complete(const struct gather *g, const char *const *expect,
		     size_t n_expect)
{
	size_t i;

	if (!g->own)
		return false;
	for (i = 0; i < n_expect; i++) {
		if (!has(g, expect[i], node_len(expect[i])))
			return false;
	}
	return merge_ready((const char *const *)g->paths, g->n) == 1;
}

struct list {
	char *text;
	size_t n;
};

static void say(struct list *l, char *what)
{
	char *text = NULL;

	if (l->n++ < NAMED_MAX)
		text = xasprintf("%s%s%s", l->text ? l->text : "",
				 l->text ? ", " : "", what);
	free(what);
	if (!text)
		return;
	free(l->text);
	l->text = text;
}

static void say_peers(struct list *l, const struct gather *g)
{
	struct fragset set = { 0 };
	struct ends ends = { 0 };
	struct why why;
	size_t i;

	for (i = 0; i < g->n; i++) {
		if (fragset_load(&set, AT_FDCWD, g->paths[i], true, &why))
			say(l, xasprintf("a readable fragment of node %s",
					 g->names[i]));
	}
	ends_pair(&ends, set.v, set.n);
	for (i = 0; i < ends.n; i++) {
		const struct end *e = &ends.v[i];

		if (end_is_alone(e))
			say(l, xasprintf("the fragment with %s, peer of %s/%s",
					 e->cut->remote, e->frag->node,
					 e->member->name));
	}
	ends_free(&ends);
	fragset_free(&set);
}

char *gather_missing(const struct gather *g, const char *const *expect,
		     size_t n_expect)
{
	struct list l = { 0 };
	char *text;
	size_t i;

	if (!g->own)
		say(&l, xstrdup("this node's fragment"));
	for (i = 0; i < n_expect; i++) {
		if (!has(g, expect[i], node_len(expect[i])))
			say(&l, xasprintf("the fragment of node %.*s",
					  (int)node_len(expect[i]), expect[i]));
	}
	say_peers(&l, g);
	if (l.n <= NAMED_MAX)
		return l.text ? l.text : xstrdup("nothing");
	text = xasprintf("%s and %zu more", l.text, l.n - NAMED_MAX);
	free(l.text);
	return text;
}
