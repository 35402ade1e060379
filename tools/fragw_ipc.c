// SPDX-License-Identifier: GPL-2.0
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fragw.h"
#include "util.h"

/* Whether column @column of a /proc/net table holds @inode. */
static bool lists(const char *table, int column, uint64_t inode)
{
	const char *line = table, *s;
	int i;

	while (line && *line) {
		s = line + strspn(line, " ");
		for (i = 0; i < column && *s && *s != '\n'; i++) {
			s += strcspn(s, "\n ");
			s += strspn(s, " ");
		}
		if (strtoull(s, NULL, 10) == inode)
			return true;
		line = strchr(line, '\n');
		if (line)
			line++;
	}
	return false;
}

static const struct {
	const char *table, *what;
	int column;
} kinds[] = {
	{ "unix", "unix ", 6 },
	{ "udp", "udp ", 9 },
	{ "udp6", "udp ", 9 },
};

struct tables {
	char *text[ARRAY_SIZE(kinds)];
};

static void read_tables(struct tables *t)
{
	char path[64];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		snprintf(path, sizeof(path), "/proc/self/net/%s",
			 kinds[i].table);
		t->text[i] = read_whole(path, NULL);
	}
}

/* NULL: none of our business, or covered as a channel. */
static const char *kind_of(const struct tables *t, const struct image_fd *f)
{
	uint64_t inode;
	size_t i;

	if (!strncmp(f->target, "pipe:", 5) || !strcmp(f->target, "anon_inode:[io_uring]"))
		return "";
	if (sscanf(f->target, "socket:[%" SCNu64 "]", &inode) != 1)
		return NULL;
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (t->text[i] && lists(t->text[i], kinds[i].column, inode))
			return kinds[i].what;
	}
	return NULL;
}

static void add(json_t *list, char *text)
{
	json_array_append_new(list, fragw_text(text));
	free(text);
}

json_t *fragw_uncovered(const struct image *img)
{
	struct tables t = { 0 };
	json_t *list = json_array();
	const char *kind;
	size_t i;

	if (img->n_fds)
		read_tables(&t);
	for (i = 0; i < img->n_fds; i++) {
		kind = kind_of(&t, &img->fds[i]);
		if (kind)
			add(list, xasprintf("fd %d: %s%s", img->fds[i].fd, kind,
					    img->fds[i].target));
	}
	if (*img->fds_cut)
		add(list, xstrdup(img->fds_cut));
	for (i = 0; i < img->vmas.n; i++) {
		const struct vma *v = &img->vmas.v[i];

		if (v->unreadable)
			add(list, xasprintf("memory %" PRIx64 "-%" PRIx64 " %s: cannot be read",
					    v->start, v->end, v->path));
	}
	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		free(t.text[i]);
	return list;
}
