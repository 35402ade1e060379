// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"
#include "manifest.h"
#include "snapdir.h"
#include "util.h"

static const struct snapdir nothing = { NULL, NULL, -1, -1, -1 };

static int open_dir(int at, const char *name, int flags, struct why *why)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);

	return fd < 0 ? why_set(why, "%s: %s", name, strerror(errno)) : fd;
}

static int make_dir(int at, const char *name, struct why *why)
{
	if (mkdirat(at, name, 0700))
		return why_set(why, "%s: %s", name, strerror(errno));
	return open_dir(at, name, O_NOFOLLOW, why);
}

int snapdir_list(int dir, struct texts *names, struct why *why)
{
	struct dirent *d;
	DIR *stream;
	int fd;

	fd = open_dir(dir, ".", 0, why);
	if (fd < 0)
		return -1;
	stream = fdopendir(fd);
	if (!stream) {
		close(fd);
		return why_set(why, "%s", strerror(errno));
	}
	while ((d = readdir(stream)))
		if (strcmp(d->d_name, ".") && strcmp(d->d_name, ".."))
			texts_add(names, xstrdup(d->d_name));
	closedir(stream);
	texts_sort(names);
	return 0;
}

/* An empty directory may become the snapshot, anything else is in the way. */
static int check_free(const char *path, struct why *why)
{
	struct texts names = { NULL, 0 };
	struct stat st;
	int dir, ret;

	if (lstat(path, &st))
		return errno == ENOENT ? 0 :
		       why_set(why, "%s: %s", path, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return why_set(why, "%s exists and is not a directory; give another name",
			       path);
	dir = open_dir(AT_FDCWD, path, 0, why);
	if (dir < 0)
		return -1;
	ret = snapdir_list(dir, &names, why);
	close(dir);
	if (!ret && names.n)
		ret = why_set(why, "%s exists and is not empty; remove it or give another name",
			      path);
	texts_free(&names);
	return ret;
}

static char *without_slashes(const char *path)
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	return xasprintf("%.*s", (int)len, path);
}

/* Where the last part of @path begins; NULL and @why if it is no name. */
static const char *base_of(const char *path, struct why *why)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;

	if (*base && strcmp(base, ".") && strcmp(base, ".."))
		return base;
	why_set(why, "\"%s\" cannot be the name of a new snapshot", path);
	return NULL;
}

/* "dir/snap" gives "dir/.snap.XXXXXX". */
static int name_tmp(struct snapdir *sd, struct why *why)
{
	const char *base = base_of(sd->path, why);

	if (!base)
		return -1;
	sd->tmp = xasprintf("%.*s.%s.XXXXXX", (int)(base - sd->path), sd->path,
			    base);
	return 0;
}

static int check_parent(const char *path, const char *base, struct why *why)
{
	int len = base - path > 1 ? base - path - 1 : base - path;
	char *parent = len ? xasprintf("%.*s", len, path) : xstrdup(".");
	struct stat st;
	int ret = 0;

	if (stat(parent, &st))
		ret = why_set(why, "%s: its directory %s: %s", path, parent,
			      strerror(errno));
	else if (!S_ISDIR(st.st_mode))
		ret = why_set(why, "%s: %s is not a directory", path, parent);
	else if (faccessat(AT_FDCWD, parent, W_OK | X_OK, AT_EACCESS))
		ret = why_set(why, "%s: its directory %s is not writable: %s",
			      path, parent, strerror(errno));
	free(parent);
	return ret;
}

int snapdir_check_parent(const char *path, struct why *why)
{
	char *plain = without_slashes(path);
	const char *base = base_of(plain, why);
	int ret = base ? check_parent(plain, base, why) : -1;

	free(plain);
	return ret;
}

int snapdir_check(const char *path, struct why *why)
{
	char *plain = without_slashes(path);
	int ret = -1;

	if (!snapdir_check_parent(plain, why))
		ret = check_free(plain, why);
	free(plain);
	return ret;
}

static int make_tmp(struct snapdir *sd, struct why *why)
{
	if (!mkdtemp(sd->tmp)) {
		why_set(why, "%s: %s", sd->path, strerror(errno));
		free(sd->tmp);
		sd->tmp = NULL;		/* nothing to remove */
		return -1;
	}
	sd->fd = open_dir(AT_FDCWD, sd->tmp, O_NOFOLLOW, why);
	if (sd->fd < 0)
		return -1;
	sd->nodes = make_dir(sd->fd, SNAPDIR_NODES, why);
	if (sd->nodes < 0)
		return -1;
	sd->channels = make_dir(sd->fd, SNAPDIR_CHANNELS, why);
	return sd->channels < 0 ? -1 : 0;
}

int snapdir_create(struct snapdir *sd, const char *path, struct why *why)
{
	*sd = nothing;
	sd->path = without_slashes(path);
	if (check_free(sd->path, why) || name_tmp(sd, why) ||
	    make_tmp(sd, why)) {
		snapdir_abandon(sd);
		return -1;
	}
	return 0;
}

static int link_open(int fd, int from, int to, const char *name,
		     struct why *why)
{
	int ret;

	if (fd < 0)
		return -1;
	ret = file_link(fd, from, to, name, why);
	close(fd);
	return ret;
}

static int add_data(const struct fragment *f, const struct frag_member *m,
		    int from, int to, struct why *why)
{
	char name[FRAGMENT_NAME_LEN];
	const struct frag_cut *c;
	unsigned int origin;
	size_t i;

	if (m->has_core && link_open(fragment_open_core(f, m, why), from, to,
				     FRAGMENT_CORE, why))
		return -1;
	for (i = 0; i < m->n_cuts; i++) {
		c = &m->cuts[i];
		for (origin = 0; origin < FRAGMENT_ORIGINS; origin++) {
			if (!fragment_has_origin(c, origin))
				continue;
			fragment_data_name(c, origin, name);
			if (link_open(fragment_open_data(f, m, c, origin, why),
				      from, to, name, why))
				return -1;
		}
	}
	return 0;
}

static bool has_files(const struct frag_member *m)
{
	size_t i;

	for (i = 0; i < m->n_cuts; i++)
		if (m->cuts[i].n_pieces)
			return true;
	return m->has_core;
}

static int add_member(const struct fragment *f, const struct frag_member *m,
		      int node, struct why *why)
{
	int from, to, ret;

	if (!has_files(m))
		return 0;
	from = open_dir(f->fd, m->name, O_NOFOLLOW, why);
	if (from < 0)
		return -1;
	to = make_dir(node, m->name, why);
	ret = to < 0 ? -1 : add_data(f, m, from, to, why);
	if (to >= 0)
		close(to);
	close(from);
	return ret;
}

/* What was judged is what was read: not what the file may hold by now. */
static int add_text(const struct fragment *f, int node, struct why *why)
{
	int fd, ret, same;

	ret = link_open(file_open(f->fd, FRAGMENT_FILE, why), f->fd, node,
			FRAGMENT_FILE, why);
	if (ret)
		return ret;
	fd = file_open(node, FRAGMENT_FILE, why);
	if (fd < 0)
		return -1;
	same = file_holds(fd, f->text, f->text_len, why);
	close(fd);
	if (!same)
		why_set(why, "%s: " FRAGMENT_FILE " changed while it was read",
			f->path);
	return same > 0 ? 0 : -1;
}

int snapdir_add_fragment(struct snapdir *sd, const struct fragment *f,
			 struct why *why)
{
	int node, ret;
	size_t i;

	node = make_dir(sd->nodes, f->node, why);
	if (node < 0)
		return -1;
	ret = add_text(f, node, why);
	for (i = 0; i < f->n_members && !ret; i++)
		ret = add_member(f, &f->members[i], node, why);
	close(node);
	return ret ? why_about(why, f->path) : 0;
}

int snapdir_add_manifest(struct snapdir *sd, const char *text, struct why *why)
{
	int fd, ret;

	fd = file_create(sd->fd, SNAPDIR_MANIFEST, why);
	if (fd < 0)
		return -1;
	ret = file_write(fd, text, strlen(text), why);
	if (!ret && fsync(fd))
		ret = why_set(why, "%s", strerror(errno));
	close(fd);
	return ret ? why_about(why, SNAPDIR_MANIFEST) : 0;
}

int snapdir_commit(struct snapdir *sd, struct why *why)
{
	/* Takes the place of an empty directory, and of nothing else. */
	if (rename(sd->tmp, sd->path)) {
		if (errno == EEXIST || errno == ENOTEMPTY)
			why_set(why, "%s exists and is not empty; remove it or give another name",
				sd->path);
		else
			why_set(why, "%s: %s", sd->path, strerror(errno));
		snapdir_abandon(sd);
		return -1;
	}
	snapdir_close(sd);
	return 0;
}

void snapdir_abandon(struct snapdir *sd)
{
	if (sd->tmp)
		remove_tree(AT_FDCWD, sd->tmp);
	snapdir_close(sd);
}

int snapdir_open(struct snapdir *sd, const char *path, struct why *why)
{
	*sd = nothing;
	sd->path = xstrdup(path);
	sd->fd = open_dir(AT_FDCWD, path, 0, why);
	if (sd->fd < 0)
		goto fail;
	sd->nodes = open_dir(sd->fd, SNAPDIR_NODES, O_NOFOLLOW, why);
	if (sd->nodes < 0)
		goto strange;
	sd->channels = open_dir(sd->fd, SNAPDIR_CHANNELS, O_NOFOLLOW, why);
	if (sd->channels < 0)
		goto strange;
	return 0;
strange:
	why_set(why, "%s is not a snapshot directory", path);
fail:
	snapdir_close(sd);
	return -1;
}

char *snapdir_read_manifest(const struct snapdir *sd, struct why *why)
{
	size_t len;
	char *text;
	int fd;

	fd = file_open(sd->fd, SNAPDIR_MANIFEST, why);
	if (fd < 0)
		return NULL;
	text = file_read(fd, SNAPDIR_MANIFEST_MAX, &len, why);
	close(fd);
	if (!text) {
		why_about(why, SNAPDIR_MANIFEST);
	} else if (strlen(text) != len) {	/* what is behind would not be looked at */
		why_set(why, SNAPDIR_MANIFEST ": it has a zero byte");
		free(text);
		text = NULL;
	}
	return text;
}

json_t *snapdir_load_manifest(const struct snapdir *sd, struct why *why)
{
	char *text = snapdir_read_manifest(sd, why);
	json_error_t err;
	json_t *root;

	if (!text)
		return NULL;
	root = json_loads(text, JSON_REJECT_DUPLICATES, &err);
	free(text);
	if (!root) {
		why_set(why, SNAPDIR_MANIFEST " line %d: %s", err.line,
			err.text);
		return NULL;
	}
	if (manifest_check_head(root, why)) {
		json_decref(root);
		return NULL;
	}
	return root;
}

int snapdir_load_fragments(const struct snapdir *sd, struct fragset *set,
			   struct why *why)
{
	struct texts names = { NULL, 0 };
	int ret = snapdir_list(sd->nodes, &names, why);
	size_t i;

	for (i = 0; i < names.n && !ret; i++) {
		ret = fragset_load(set, sd->nodes, names.v[i], true, why);
		if (!ret && strcmp(set->v[set->n - 1]->node, names.v[i]))
			ret = why_set(why, "%s: it is of node %s", names.v[i],
				      set->v[set->n - 1]->node);
	}
	texts_free(&names);
	return ret ? -1 : fragset_settle(set, why);
}

void snapdir_close(struct snapdir *sd)
{
	if (sd->channels >= 0)
		close(sd->channels);
	if (sd->nodes >= 0)
		close(sd->nodes);
	if (sd->fd >= 0)
		close(sd->fd);
	free(sd->tmp);
	free(sd->path);
	*sd = nothing;
}
