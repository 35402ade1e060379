// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "image.h"
#include "image_scan.h"
#include "util.h"

#define BATCH_RUNS	1024		/* UIO_MAXIOV */
#define BATCH_BYTES	(8u << 20)	/* between two looks at the clock */
#define SLACK		(1u << 20)

struct image *image_new(void)
{
	struct image *img = xcalloc(1, sizeof(*img));

	img->entries = xmalloc(SCAN_ENTRIES * sizeof(*img->entries));
	memset(img->entries, 0, SCAN_ENTRIES * sizeof(*img->entries));
	return img;
}

void image_free(struct image *img)
{
	if (!img)
		return;
	if (img->arena)
		munmap(img->arena, img->size);
	vma_free(&img->vmas);
	free(img->runs);
	free(img->entries);
	free(img->fds);
	free(img);
}

int image_reserve(struct image *img, size_t bytes)
{
	size_t size = (bytes + SLACK - 1) / SLACK * SLACK;
	char *p;

	if (size <= img->size)
		return 0;
	if (img->arena)
		p = mremap(img->arena, img->size, size, MREMAP_MAYMOVE);
	else
		p = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return -ENOMEM;
	img->arena = p;
	madvise(p, size, MADV_HUGEPAGE);
	/* Without it (before 5.14) the pages come by faults, more slowly. */
	if (madvise(p + img->size, size - img->size, MADV_POPULATE_WRITE) &&
	    errno == ENOMEM) {
		img->arena = mremap(p, size, img->size ? img->size : SLACK, 0);
		img->size = img->size ? img->size : SLACK;
		return -ENOMEM;
	}
	img->size = size;
	return 0;
}

size_t image_guess(pid_t pid)
{
	char path[64], *text;
	uint64_t rss = 0, swap = 0;
	const char *s;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	text = read_whole(path, NULL);
	if (!text)
		return 0;
	s = strstr(text, "\nRssAnon:");
	if (s)
		rss = strtoull(s + 9, NULL, 10);
	s = strstr(text, "\nRssShmem:");
	if (s)
		rss += strtoull(s + 10, NULL, 10);
	s = strstr(text, "\nVmSwap:");
	if (s)
		swap = strtoull(s + 8, NULL, 10);
	free(text);
	/* An eighth and a bit on top, for growth until the next look. */
	return ((rss + swap) * 9 / 8 << 10) + (4u << 20);
}

struct copying {
	struct image *img;
	pid_t pid;
	int mem;			/* /proc/PID/mem */
	uint64_t deadline;
};

/* The way that always works, if any does: bytes, 0 when the process is gone. */
static ssize_t read_slowly(struct copying *c, struct image_run *r, size_t off)
{
	struct vma *v = &c->img->vmas.v[r->vma];
	size_t len = r->len - off;

	if (len > BATCH_BYTES)
		len = BATCH_BYTES;
	if (r->how == HOW_OBJECT)
		return pread(v->fd, c->img->arena + r->pos + off, len,
			     v->pgoff + (r->addr + off - v->start));
	return pread(c->mem, c->img->arena + r->pos + off, len, r->addr + off);
}

/* As many runs as one call takes, from @i and @off on; returns the bytes. */
static size_t read_batch(struct copying *c, size_t i, size_t off)
{
	struct iovec remote[BATCH_RUNS], local;
	struct image *img = c->img;
	size_t bytes = 0, n = 0, len;
	ssize_t got;

	local.iov_base = img->arena + img->runs[i].pos + off;
	for (; i < img->n_runs && n < BATCH_RUNS && bytes < BATCH_BYTES; i++) {
		if (img->runs[i].how != HOW_READV)
			break;
		len = img->runs[i].len - off;
		if (len > BATCH_BYTES)
			len = BATCH_BYTES;
		remote[n].iov_base = (void *)(img->runs[i].addr + off);
		remote[n++].iov_len = len;
		bytes += len;
		if (off + len < img->runs[i].len)
			break;
		off = 0;
	}
	local.iov_len = bytes;
	got = process_vm_readv(c->pid, &local, 1, remote, n, 0);
	return got > 0 ? got : 0;
}

static int copy_runs(struct copying *c)
{
	struct image *img = c->img;
	size_t i = 0, off = 0;
	ssize_t got;

	while (i < img->n_runs) {
		struct image_run *r = &img->runs[i];

		if (c->deadline && now_us() > c->deadline)
			return -ETIMEDOUT;
		got = 0;
		if (r->how == HOW_READV)
			got = read_batch(c, i, off);
		if (!got)
			got = read_slowly(c, r, off);
		if (!got)
			return -ESRCH;
		if (got < 0) {
			/* Device memory, most likely: the image goes without. */
			img->vmas.v[r->vma].unreadable = true;
			i++;
			off = 0;
			continue;
		}
		while (i < img->n_runs && (size_t)got >= img->runs[i].len - off) {
			got -= img->runs[i].len - off;
			off = 0;
			i++;
		}
		off += got;
	}
	return 0;
}

/* Runs are laid out in the arena in their order. */
static int place_runs(struct image *img)
{
	size_t i, pos = 0;

	for (i = 0; i < img->n_runs; i++) {
		img->runs[i].pos = pos;
		pos += img->runs[i].len;
	}
	img->used = pos;
	return image_reserve(img, pos);
}

static void drop_unreadable(struct image *img)
{
	size_t i, n = 0;

	for (i = 0; i < img->n_runs; i++) {
		if (!img->vmas.v[img->runs[i].vma].unreadable)
			img->runs[n++] = img->runs[i];
	}
	img->n_runs = n;
}

static ssize_t read_small(int procfd, const char *name, void *buf, size_t size)
{
	ssize_t r;
	int fd;

	fd = openat(procfd, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	r = read(fd, buf, size);
	close(fd);
	return r < 0 ? 0 : r;
}

/* Cheap, and gone or changed as soon as the process runs on. */
static void read_identity(struct image *img, int procfd)
{
	ssize_t n;

	img->auxv_len = read_small(procfd, "auxv", img->auxv,
				   sizeof(img->auxv));
	n = read_small(procfd, "stat", img->stat, sizeof(img->stat) - 1);
	img->stat[n] = 0;
	n = readlinkat(procfd, "exe", img->exe, sizeof(img->exe) - 1);
	img->exe[n < 0 ? 0 : n] = 0;
}

static int copy_all(struct copying *c, int procfd, const char **what)
{
	struct image *img = c->img;
	int err;

	*what = "its mappings";
	err = vma_read(procfd, &img->vmas);
	if (err)
		return err;
	*what = "its page tables";
	err = scan_pages(img, procfd, c->deadline);
	if (err)
		return err;
	*what = "room for its memory";
	err = place_runs(img);
	if (err)
		return err;
	*what = "its memory";
	c->mem = openat(procfd, "mem", O_RDONLY | O_CLOEXEC);
	if (c->mem < 0)
		return -errno;
	err = copy_runs(c);
	close(c->mem);
	if (err)
		return err;
	drop_unreadable(img);
	read_identity(img, procfd);
	scan_fds(img, procfd, c->deadline);
	return 0;
}

static void reset(struct image *img, pid_t pid)
{
	img->pid = pid;
	img->vmas.n = 0;
	img->n_runs = 0;
	img->used = 0;
	img->n_fds = 0;
	img->fds_cut[0] = 0;
	img->auxv_len = 0;
	img->exe[0] = 0;
	img->stat[0] = 0;
}

static int open_proc(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", pid);
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

void image_describe(struct image *img, pid_t pid)
{
	int procfd = open_proc(pid);

	reset(img, pid);
	if (procfd < 0) {
		scan_fds_failed(img);
		return;
	}
	read_identity(img, procfd);
	scan_fds(img, procfd, 0);
	close(procfd);
}

int image_copy(struct image *img, pid_t pid, uint64_t deadline, char *why,
	       size_t why_size)
{
	struct copying c = { .img = img, .pid = pid, .deadline = deadline };
	const char *what = "/proc";
	int procfd, err;
	size_t i;

	reset(img, pid);
	procfd = open_proc(pid);
	if (procfd < 0) {
		err = -errno;
	} else {
		err = copy_all(&c, procfd, &what);
		close(procfd);
	}
	for (i = 0; i < img->vmas.n; i++) {
		if (img->vmas.v[i].fd >= 0)
			close(img->vmas.v[i].fd);
		img->vmas.v[i].fd = -1;
	}
	if (err == -ENOENT || err == -ESRCH)
		snprintf(why, why_size, "process %d is gone", pid);
	else if (err == -ETIMEDOUT)
		snprintf(why, why_size, "copying %s took too long", what);
	else if (err)
		snprintf(why, why_size, "cannot read %s: %s", what,
			 strerror(-err));
	return err;
}
