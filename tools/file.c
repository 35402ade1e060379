// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"
#include "util.h"

#define BLOCK	(1u << 20)

int file_open(int dir, const char *name, struct why *why)
{
	struct stat st;
	int fd;

	/* O_NONBLOCK: opening a fifo must not wait. */
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC |
		    O_NOCTTY);
	if (fd < 0 && errno == ELOOP)
		return why_set(why, "%s is a symbolic link", name);
	if (fd < 0)
		return why_set(why, "%s: %s", name, strerror(errno));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return why_set(why, "%s is not a regular file", name);
	}
	return fd;
}

char *file_read(int fd, uint64_t max, size_t *len, struct why *why)
{
	struct stat st;
	char *text;

	if (fstat(fd, &st)) {
		why_set(why, "%s", strerror(errno));
		return NULL;
	}
	if ((uint64_t)st.st_size > max) {
		why_set(why, "%lld bytes are more than %llu",
			(long long)st.st_size, (unsigned long long)max);
		return NULL;
	}
	text = xcalloc(st.st_size + 1, 1);
	*len = st.st_size;
	if (file_pread(fd, text, *len, 0, why)) {
		free(text);
		return NULL;
	}
	return text;
}

int file_pread(int fd, void *to, size_t len, uint64_t pos, struct why *why)
{
	ssize_t n;

	while (len) {
		n = pread(fd, to, len, pos);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return why_set(why, "%s", strerror(errno));
		if (!n)
			return why_set(why, "it became shorter while it was read");
		to = (char *)to + n;
		pos += n;
		len -= n;
	}
	return 0;
}

int file_write(int fd, const void *from, size_t len, struct why *why)
{
	int err = write_all(fd, from, len);

	return err ? why_set(why, "%s", strerror(-err)) : 0;
}

int file_create(int dir, const char *name, struct why *why)
{
	int fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	return fd < 0 ? why_set(why, "%s: %s", name, strerror(errno)) : fd;
}

static int copy_range(int from, int to, off_t at, off_t end, char *buf,
		      struct why *why)
{
	ssize_t n;

	while (at < end) {
		n = end - at < BLOCK ? end - at : BLOCK;
		if (file_pread(from, buf, n, at, why) ||
		    file_write(to, buf, n, why))
			return -1;
		at += n;
	}
	return 0;
}

static int copy(int from, int to, char *buf, struct why *why)
{
	off_t data = 0, hole = 0, size;
	struct stat st;

	if (fstat(from, &st))
		return why_set(why, "%s", strerror(errno));
	size = st.st_size;
	for (; hole < size; data = hole) {
		data = lseek(from, data, SEEK_DATA);
		if (data < 0 && errno == ENXIO)
			break;
		hole = data < 0 ? -1 : lseek(from, data, SEEK_HOLE);
		if (hole < 0) {		/* not on this file system */
			data = 0;
			hole = size;
		}
		if (hole > size)
			hole = size;
		if (lseek(to, data, SEEK_SET) < 0)
			return why_set(why, "%s", strerror(errno));
		if (copy_range(from, to, data, hole, buf, why))
			return -1;
	}
	if (ftruncate(to, size))
		return why_set(why, "%s", strerror(errno));
	return 0;
}

int file_copy(int fd, int dir, const char *name, struct why *why)
{
	int to = file_create(dir, name, why);
	char *buf;
	int ret;

	if (to < 0)
		return -1;
	buf = xcalloc(BLOCK, 1);
	ret = copy(fd, to, buf, why);
	free(buf);
	if (close(to) && !ret)
		ret = why_set(why, "%s: %s", name, strerror(errno));
	return ret;
}

int file_link(int fd, int from, int to, const char *name, struct why *why)
{
	struct stat a, b;

	/* A file that others may open or change would not stay what it is. */
	if (fstat(fd, &a) || a.st_uid != geteuid() || (a.st_mode & 077) ||
	    linkat(from, name, to, name, 0))
		return file_copy(fd, to, name, why);
	if (!fstatat(to, name, &b, AT_SYMLINK_NOFOLLOW) &&
	    a.st_ino == b.st_ino && a.st_dev == b.st_dev)
		return 0;
	if (unlinkat(to, name, 0))	/* replaced since it was opened */
		return why_set(why, "%s: %s", name, strerror(errno));
	return file_copy(fd, to, name, why);
}

static int same_bytes(int a, int b, struct why *why)
{
	char *x, *y;
	struct stat s, t;
	off_t at, n;
	int ret = 1;

	if (fstat(a, &s) || fstat(b, &t))
		return why_set(why, "%s", strerror(errno));
	if (s.st_dev == t.st_dev && s.st_ino == t.st_ino)
		return 1;
	if (s.st_size != t.st_size)
		return 0;
	x = xcalloc(BLOCK, 2);
	y = x + BLOCK;
	for (at = 0; at < s.st_size && ret > 0; at += n) {
		n = s.st_size - at < BLOCK ? s.st_size - at : BLOCK;
		if (file_pread(a, x, n, at, why) || file_pread(b, y, n, at, why))
			ret = -1;
		else if (memcmp(x, y, n))
			ret = 0;
	}
	free(x);
	return ret;
}

int file_same(int a, int b, struct why *why)
{
	int ret = a < 0 || b < 0 ? -1 : same_bytes(a, b, why);

	if (a >= 0)
		close(a);
	if (b >= 0)
		close(b);
	return ret;
}

int file_holds(int fd, const char *bytes, size_t len, struct why *why)
{
	size_t size;
	char *have;
	int ret;

	have = file_read(fd, INT64_MAX, &size, why);
	if (!have)
		return -1;
	ret = size == len && !memcmp(have, bytes, len);
	free(have);
	return ret;
}
