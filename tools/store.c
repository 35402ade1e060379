// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "store.h"
#include "util.h"

#define HOLD		".merging-"
#define HOLD_MAX_S	3600		/* whoever holds it longer has died */

char *store_hold(const char *dir)
{
	char host[65] = "";
	char *path;
	int fd;

	gethostname(host, sizeof(host) - 1);
	path = xasprintf("%s/" HOLD "%s-%d", dir, host, getpid());
	fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
	return path;
}

void store_release(char *held)
{
	unlink(held);
	free(held);
}

struct pruning {
	int dir;			/* STORE/GROUP */
	const char *node;
	uint32_t newest;
	uint32_t *age;			/* how far behind @newest */
	size_t n;
};

/* The name of an epoch's directory, and of an older one than @p->newest. */
static bool parse_age(const struct pruning *p, const char *name, uint32_t *age)
{
	char again[16];
	uint32_t epoch;

	if (parse_u32(name, UINT32_MAX, &epoch))
		return false;
	snprintf(again, sizeof(again), "%u", epoch);
	*age = p->newest - epoch;
	return !strcmp(again, name) && (int32_t)*age > 0;
}

static bool is_fresh(int dir, const char *name)
{
	struct stat st;

	return !fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) &&
	       st.st_mtime > time(NULL) - HOLD_MAX_S;
}

static DIR *open_epoch(const struct pruning *p, const char *name)
{
	int fd = openat(p->dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
			O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir && fd >= 0)
		close(fd);
	return dir;
}

/* Is somebody merging it?  Is there something of ours in it? */
static void look_into(const struct pruning *p, const char *name, bool *held,
		      bool *ours)
{
	DIR *dir = open_epoch(p, name);
	struct dirent *d;

	*held = false;
	*ours = dir && !p->node;
	while (dir && (d = readdir(dir))) {
		if (!strncmp(d->d_name, HOLD, strlen(HOLD)))
			*held |= is_fresh(dirfd(dir), d->d_name);
		else if (p->node && !strcmp(d->d_name, p->node))
			*ours = true;
	}
	if (dir)
		closedir(dir);
}

/* Fills @p->age; returns the age of the oldest epoch that is held, or 0. */
static uint32_t list_epochs(struct pruning *p)
{
	uint32_t age, oldest_held = 0;
	DIR *dir = open_epoch(p, ".");
	struct dirent *d;
	bool held, ours;

	while (dir && (d = readdir(dir))) {
		if (!parse_age(p, d->d_name, &age))
			continue;
		look_into(p, d->d_name, &held, &ours);
		if (held && age > oldest_held)
			oldest_held = age;
		if (!ours)
			continue;
		p->age = xrealloc(p->age, (p->n + 1) * sizeof(*p->age));
		p->age[p->n++] = age;
	}
	if (dir)
		closedir(dir);
	return oldest_held;
}

static int by_age(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static int remove_epoch(const struct pruning *p, const char *name)
{
	DIR *dir;
	int err;

	if (!p->node)
		return remove_tree(p->dir, name);
	dir = open_epoch(p, name);
	if (!dir)
		return 0;
	err = remove_tree(dirfd(dir), p->node);
	closedir(dir);
	/* The last one out; with others still in it this fails, as it should. */
	if (!err)
		unlinkat(p->dir, name, AT_REMOVEDIR);
	return err;
}

size_t store_prune(const char *cmd, const char *store, const char *group,
		   const char *node, uint32_t keep, uint32_t newest)
{
	char *path = xasprintf("%s/%s", store, group), name[16];
	struct pruning p = { .node = node, .newest = newest };
	size_t i, removed = 0;
	uint32_t held;
	int err;

	p.dir = keep ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	held = p.dir < 0 ? 0 : list_epochs(&p);
	if (p.n)
		qsort(p.age, p.n, sizeof(*p.age), by_age);
	/* The newest one counts and is not in the list. */
	for (i = keep ? keep - 1 : 0; i < p.n; i++) {
		if (p.age[i] <= held)
			continue;
		snprintf(name, sizeof(name), "%u", newest - p.age[i]);
		err = remove_epoch(&p, name);
		if (err)
			complain("%s: %s/%s: cannot be removed: %s", cmd, path,
				 name, strerror(-err));
		else
			removed++;
	}
	if (p.dir >= 0)
		close(p.dir);
	free(p.age);
	free(path);
	return removed;
}

uint32_t store_newest(const char *store, const char *group, uint32_t last)
{
	char *path = xasprintf("%s/%s", store, group);
	DIR *dir = opendir(path);
	uint32_t epoch;
	struct dirent *d;
	struct stat st;

	while (dir && (d = readdir(dir)))
		if (!parse_u32(d->d_name, UINT32_MAX, &epoch) && epoch &&
		    (int32_t)(epoch - last) > 0 &&
		    !fstatat(dirfd(dir), d->d_name, &st, 0) &&
		    time(NULL) - st.st_mtime > STORE_FRESH)
			last = epoch;
	if (dir)
		closedir(dir);
	free(path);
	return last;
}
