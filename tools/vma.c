// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "util.h"
#include "vma.h"

#define FIRST_TEXT	(256 << 10)

/* Into the list's buffer, which stays for the next time. */
static int read_text(int procfd, const char *name, char **text, size_t *cap)
{
	size_t n = 0;
	ssize_t r;
	int fd;

	fd = openat(procfd, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	for (;;) {
		if (*cap - n < 4097) {
			*cap = *cap ? *cap * 2 : FIRST_TEXT;
			*text = xrealloc(*text, *cap);
		}
		r = read(fd, *text + n, *cap - n - 1);
		if (r <= 0)
			break;
		n += r;
	}
	r = r < 0 ? -errno : 0;
	close(fd);
	(*text)[n] = 0;
	return r;
}

/* The kernel writes a newline in a path as \012 and nothing else so. */
static void unescape(char *s)
{
	char *to = s;

	while (*s) {
		if (!strncmp(s, "\\012", 4)) {
			*to++ = '\n';
			s += 4;
		} else {
			*to++ = *s++;
		}
	}
	*to = 0;
}

static bool starts(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

static enum vma_want classify(const struct vma *v)
{
	if (starts(v->path, "[vvar") || starts(v->path, "[vsyscall"))
		return VMA_NOTHING;
	if (!strcmp(v->path, "[vdso]"))
		return VMA_WHOLE;
	/* Rings of io_uring, perf and the like; device memory. */
	if (starts(v->path, "anon_inode:"))
		return VMA_NOTHING;
	if (!vma_has_file(v))
		return VMA_PRESENT;
	if (starts(v->path, "/dev/") && !starts(v->path, "/dev/zero") &&
	    !starts(v->path, "/dev/shm/") && !starts(v->path, "/dev/hugepages/"))
		return VMA_NOTHING;
	/* Whether shared memory is an object without a file shows later. */
	if (v->shared)
		return v->prot & PROT_WRITE ? VMA_PRESENT : VMA_FILE;
	return v->prot & PROT_WRITE ? VMA_PRESENT : VMA_DIRTY;
}

static int parse_line(char *line, struct vma *v)
{
	char perms[5];
	int at = 0;

	memset(v, 0, sizeof(*v));
	v->fd = -1;
	v->real = UINT64_MAX;
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*x:%*x %" SCNu64 "%n",
		   &v->start, &v->end, perms, &v->pgoff, &v->inode, &at) < 5)
		return -1;
	v->prot = (perms[0] == 'r' ? PROT_READ : 0) |
		  (perms[1] == 'w' ? PROT_WRITE : 0) |
		  (perms[2] == 'x' ? PROT_EXEC : 0);
	v->shared = perms[3] == 's';
	line += at;
	line += strspn(line, " ");
	unescape(line);
	v->path = line;
	v->want = classify(v);
	return 0;
}

int vma_read(int procfd, struct vma_list *l)
{
	char *line, *next;
	int err;

	l->n = 0;
	err = read_text(procfd, "maps", &l->text, &l->text_cap);
	if (err)
		return err;
	for (line = l->text; *line; line = next) {
		next = strchrnul(line, '\n');
		if (*next)
			*next++ = 0;
		if (l->n == l->cap) {
			l->cap = l->cap ? l->cap * 2 : 1024;
			l->v = xrealloc(l->v, l->cap * sizeof(*l->v));
		}
		if (parse_line(line, &l->v[l->n]))
			return -EINVAL;
		l->n++;
	}
	/* A process without mappings has lost its memory: it is exiting. */
	return l->n ? 0 : -ESRCH;
}

int vma_read_real(int procfd, struct vma_list *l)
{
	char *text = NULL, *line, *next;
	uint64_t start, end, kib, page = 4;
	struct vma *v = NULL;
	size_t cap = 0, i = 0;
	int err;

	err = read_text(procfd, "smaps", &text, &cap);
	for (line = text; !err && *line; line = next) {
		next = strchrnul(line, '\n');
		if (*next)
			*next++ = 0;
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &start, &end) == 2) {
			while (i < l->n && l->v[i].start < start)
				i++;
			v = i < l->n && l->v[i].start == start ? &l->v[i] : NULL;
			page = 4;
		} else if (!v) {
			continue;
		} else if (sscanf(line, "KernelPageSize: %" SCNu64, &page) == 1) {
			/* hugetlb is in other lines: leave it unknown */
			v->real = page > 4 ? UINT64_MAX : 0;
		} else if (v->real != UINT64_MAX &&
			   (sscanf(line, "Rss: %" SCNu64, &kib) == 1 ||
			    sscanf(line, "Swap: %" SCNu64, &kib) == 1)) {
			v->real += kib / 4;
		}
	}
	free(text);
	return err;
}

void vma_free(struct vma_list *l)
{
	free(l->v);
	free(l->text);
	memset(l, 0, sizeof(*l));
}
