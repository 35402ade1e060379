// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"
#include "fragment.h"
#include "util.h"

static void free_cut(struct frag_cut *c)
{
	free(c->local);
	free(c->remote);
	free(c->tcp_state);
	free(c->pieces);
}

static void free_member(struct frag_member *m)
{
	size_t i;

	for (i = 0; i < m->n_cuts; i++)
		free_cut(&m->cuts[i]);
	free(m->cuts);
	free(m->threads);
	free(m->name);
	free(m->comm);
	free(m->exe);
	texts_free(&m->reasons);
	texts_free(&m->uncovered);
}

void fragment_free(struct fragment *f)
{
	size_t i;

	if (!f)
		return;
	for (i = 0; i < f->n_members; i++)
		free_member(&f->members[i]);
	free(f->members);
	texts_free(&f->reasons);
	free(f->group);
	free(f->node);
	free(f->boot_id);
	free(f->text);
	free(f->path);
	if (f->fd >= 0)
		close(f->fd);
	free(f);
}

static int load(struct fragment *f, int at, bool nofollow, struct why *why)
{
	int fd;

	f->fd = openat(at, f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC |
		       (nofollow ? O_NOFOLLOW : 0));
	if (f->fd < 0)
		return why_set(why, "%s", strerror(errno));
	fd = file_open(f->fd, FRAGMENT_FILE, why);
	if (fd < 0)
		return -1;
	f->text = file_read(fd, FRAGMENT_JSON_MAX, &f->text_len, why);
	close(fd);
	if (!f->text)
		return why_about(why, FRAGMENT_FILE);
	return fragment_parse(f, why);
}

struct fragment *fragment_load(int at, const char *path, bool nofollow,
			       struct why *why)
{
	struct fragment *f = xcalloc(1, sizeof(*f));

	f->fd = -1;
	f->path = xstrdup(path);
	if (!load(f, at, nofollow, why))
		return f;
	fragment_free(f);
	return NULL;
}

void fragment_data_name(const struct frag_cut *c, unsigned int origin,
			char name[FRAGMENT_NAME_LEN])
{
	snprintf(name, FRAGMENT_NAME_LEN, "%llu.%s.bin",
		 (unsigned long long)c->id, fragment_origins[origin]);
}

bool fragment_has_origin(const struct frag_cut *c, unsigned int origin)
{
	size_t i;

	for (i = 0; i < c->n_pieces; i++)
		if (c->pieces[i].origin == origin)
			return true;
	return false;
}

static int open_in_member(const struct fragment *f, const struct frag_member *m,
			  const char *name, struct why *why)
{
	int dir, fd;

	dir = openat(f->fd, m->name,
		     O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (dir < 0)
		return why_set(why, "directory %s: %s", m->name,
			       strerror(errno));
	fd = file_open(dir, name, why);
	close(dir);
	return fd;
}

int fragment_open_data(const struct fragment *f, const struct frag_member *m,
		       const struct frag_cut *c, unsigned int origin,
		       struct why *why)
{
	char name[FRAGMENT_NAME_LEN];

	fragment_data_name(c, origin, name);
	return open_in_member(f, m, name, why);
}

int fragment_open_core(const struct fragment *f, const struct frag_member *m,
		       struct why *why)
{
	return open_in_member(f, m, FRAGMENT_CORE, why);
}

static int check_cut(const struct fragment *f, const struct frag_member *m,
		     const struct frag_cut *c, struct why *why)
{
	const struct frag_piece *p;
	struct stat st;
	size_t i;
	int fd;

	/* Sorted: the last piece of each origin lies furthest in its file. */
	for (i = 0; i < c->n_pieces; i++) {
		p = &c->pieces[i];
		if (i + 1 < c->n_pieces && p[1].origin == p->origin)
			continue;
		fd = fragment_open_data(f, m, c, p->origin, why);
		if (fd < 0)
			return -1;
		if (fstat(fd, &st))
			st.st_size = 0;
		close(fd);
		if ((uint64_t)st.st_size < p->pos + p->length)
			return why_set(why, "%s/%llu.%s.bin has %lld bytes, not %llu",
				       m->name, (unsigned long long)c->id,
				       fragment_origins[p->origin],
				       (long long)st.st_size,
				       (unsigned long long)(p->pos + p->length));
	}
	return 0;
}

int fragment_check_files(const struct fragment *f, struct why *why)
{
	const struct frag_member *m;
	size_t i, k;
	int fd;

	for (i = 0; i < f->n_members; i++) {
		m = &f->members[i];
		if (m->has_core) {
			fd = fragment_open_core(f, m, why);
			if (fd < 0)
				return -1;
			close(fd);
		}
		for (k = 0; k < m->n_cuts; k++)
			if (check_cut(f, m, &m->cuts[k], why))
				return -1;
	}
	return 0;
}

static int same_cut(const struct fragment *a, const struct fragment *b,
		    const struct frag_member *m, const struct frag_cut *c,
		    struct why *why)
{
	unsigned int origin;
	int ret = 1;

	for (origin = 0; origin < FRAGMENT_ORIGINS && ret > 0; origin++) {
		if (!fragment_has_origin(c, origin))
			continue;
		ret = file_same(fragment_open_data(a, m, c, origin, why),
				fragment_open_data(b, m, c, origin, why), why);
	}
	return ret;
}

int fragment_same(const struct fragment *a, const struct fragment *b,
		  struct why *why)
{
	const struct frag_member *m;
	size_t i, k;
	int ret = 1;

	if (a->text_len != b->text_len ||
	    memcmp(a->text, b->text, a->text_len))
		return 0;
	for (i = 0; i < a->n_members && ret > 0; i++) {
		m = &a->members[i];
		if (m->has_core)
			ret = file_same(fragment_open_core(a, m, why),
					fragment_open_core(b, m, why), why);
		for (k = 0; k < m->n_cuts && ret > 0; k++)
			ret = same_cut(a, b, m, &m->cuts[k], why);
	}
	return ret;
}
