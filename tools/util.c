// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <distsnap.h>

#include "util.h"

static void vcomplain(const char *fmt, va_list ap)
{
	char line[1024];

	/* One write, so that lines of several processes do not mix. */
	vsnprintf(line, sizeof(line), fmt, ap);
	fflush(stdout);
	fprintf(stderr, "distsnap: %s\n", line);
}

void complain(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vcomplain(fmt, ap);
	va_end(ap);
}

int fail(int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vcomplain(fmt, ap);
	va_end(ap);
	return code;
}

static void *checked(void *p)
{
	if (!p) {
		complain("out of memory");
		exit(4);
	}
	return p;
}

void *xmalloc(size_t size)
{
	return checked(malloc(size ? size : 1));
}

void *xcalloc(size_t n, size_t size)
{
	return checked(calloc(n ? n : 1, size ? size : 1));
}

void *xrealloc(void *p, size_t size)
{
	return checked(realloc(p, size ? size : 1));
}

char *xstrdup(const char *s)
{
	return checked(strdup(s));
}

char *xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) < 0)
		s = NULL;
	va_end(ap);
	return checked(s);
}

static int parse_number(const char *s, uint64_t *out, const char **end)
{
	char *e;

	if (!isdigit((unsigned char)*s))
		return -1;
	errno = 0;
	*out = strtoull(s, &e, 10);
	*end = e;
	return errno ? -1 : 0;
}

int parse_u32(const char *s, uint32_t max, uint32_t *out)
{
	const char *end;
	uint64_t v;

	if (parse_number(s, &v, &end) || *end || v > max)
		return -1;
	*out = v;
	return 0;
}

int parse_u64(const char *s, uint64_t *out)
{
	const char *end;

	return parse_number(s, out, &end) || *end ? -1 : 0;
}

int parse_ms(const char *s, uint64_t *ms)
{
	const char *end;
	uint64_t v;

	if (parse_number(s, &v, &end) || v > UINT32_MAX)
		return -1;
	if (!strcmp(end, "s"))
		v *= 1000;
	else if (!strcmp(end, "m"))
		v *= 60000;
	else if (*end && strcmp(end, "ms"))
		return -1;
	*ms = v;
	return 0;
}

int parse_bytes(const char *s, uint64_t *bytes)
{
	static const char units[] = "KMGT";
	const char *end, *unit;
	unsigned int shift = 0;
	uint64_t v;

	if (parse_number(s, &v, &end))
		return -1;
	if (*end) {
		unit = strchr(units, toupper((unsigned char)*end));
		if (!unit || (end[1] && strcmp(end + 1, "iB")))
			return -1;
		shift = 10 * (unit - units + 1);
	}
	if (v > UINT64_MAX >> shift)
		return -1;
	*bytes = v << shift;
	return 0;
}

bool valid_name(const char *s)
{
	size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-");

	return n && !s[n] && *s != '.' && n <= DISTSNAP_NAME_MAX;
}

uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000ull + ts.tv_nsec / 1000;
}

char *read_whole(const char *path, size_t *len)
{
	size_t size = 4096, n = 0;
	char *buf = NULL;
	ssize_t r;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	do {
		size *= 2;
		buf = xrealloc(buf, size);
		while ((r = read(fd, buf + n, size - 1 - n)) > 0)
			n += r;
	} while (r == 0 && n == size - 1);
	close(fd);
	if (r < 0) {
		free(buf);
		return NULL;
	}
	buf[n] = 0;
	if (len)
		*len = n;
	return buf;
}

int write_all(int fd, const void *buf, size_t len)
{
	const char *p = buf;
	ssize_t r;

	while (len) {
		r = write(fd, p, len);
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		p += r;
		len -= r;
	}
	return 0;
}

int mkdirs(const char *path)
{
	char *copy = xstrdup(path), *p = copy;
	int err = 0;

	do {
		p = strchrnul(p + 1, '/');
		char c = *p;

		*p = 0;
		if (mkdir(copy, 0700) && errno != EEXIST)
			err = -errno;
		*p = c;
	} while (*p && !err);
	free(copy);
	return err;
}

int remove_tree(int dirfd, const char *name)
{
	struct dirent *d;
	int fd, err = 0;
	DIR *dir;

	if (!unlinkat(dirfd, name, 0) || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	while (!err && (d = readdir(dir))) {
		if (strcmp(d->d_name, ".") && strcmp(d->d_name, ".."))
			err = remove_tree(fd, d->d_name);
	}
	closedir(dir);
	if (!err && unlinkat(dirfd, name, AT_REMOVEDIR))
		err = -errno;
	return err;
}
