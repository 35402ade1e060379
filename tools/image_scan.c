// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "image_scan.h"
#include "util.h"

#define GIANT_PAGES	(1ull << 20)	/* beyond this smaps pays off */
#define FDS_PAUSE_US	50000		/* for descriptors, while it stands still */
#define FDS_FREE_US	2000000		/* and while it runs */

#define PM_PRESENT	(1ull << 63)
#define PM_SWAP		(1ull << 62)
#define PM_FILE		(1ull << 61)	/* of a file, or shared */
#define PM_EXCLUSIVE	(1ull << 56)	/* mapped nowhere else */

struct image_run *add_run(struct image *img)
{
	if (img->n_runs == img->cap_runs) {
		img->cap_runs = img->cap_runs ? img->cap_runs * 2 : 4096;
		img->runs = xrealloc(img->runs,
				     img->cap_runs * sizeof(*img->runs));
	}
	return &img->runs[img->n_runs++];
}

static void add_pages(struct image *img, uint32_t vma, uint64_t addr,
		      uint64_t len, int how)
{
	struct image_run *last = img->n_runs ? &img->runs[img->n_runs - 1] : NULL;

	if (last && last->vma == vma && last->addr + last->len == addr &&
	    last->how == (uint32_t)how) {
		last->len += len;
		return;
	}
	last = add_run(img);
	*last = (struct image_run) { .addr = addr, .len = len, .vma = vma,
				     .how = how };
}

static int how_to_read(const struct vma *v, uint64_t entry)
{
	if (!(v->prot & PROT_READ))
		return HOW_MEM;
	/*
	 * process_vm_readv pins pages and so gives the process its own copy of
	 * each that it still shares with a parent or child; mem does not.
	 */
	if ((entry & (PM_PRESENT | PM_FILE | PM_EXCLUSIVE)) == PM_PRESENT)
		return HOW_MEM;
	return HOW_READV;
}

/* @n entries from @addr on; returns how many surely are real pages. */
static uint64_t scan_entries(struct image *img, uint32_t vma, uint64_t addr,
			     size_t n)
{
	const struct vma *v = &img->vmas.v[vma];
	uint64_t real = 0, e;
	size_t i;

	for (i = 0; i < n; i++) {
		e = img->entries[i];
		if (!(e & (PM_PRESENT | PM_SWAP)))
			continue;
		/* The zero page is never exclusive and not known to smaps. */
		real += !!(e & (PM_EXCLUSIVE | PM_SWAP));
		if (v->want == VMA_DIRTY && e & PM_FILE)
			continue;
		add_pages(img, vma, addr + i * PAGE, PAGE, how_to_read(v, e));
	}
	return real;
}

static int scan_pagemap(struct image *img, uint32_t vma, int pagemap,
			uint64_t deadline)
{
	const struct vma *v = &img->vmas.v[vma];
	uint64_t addr = v->start, pages, real = 0;
	ssize_t got;

	while (addr < v->end && real < v->real) {
		if (deadline && now_us() > deadline)
			return -ETIMEDOUT;
		pages = (v->end - addr) / PAGE;
		if (pages > SCAN_ENTRIES)
			pages = SCAN_ENTRIES;
		got = pread(pagemap, img->entries, pages * 8, addr / PAGE * 8);
		if (got < 0)
			return -errno;
		if (!got)
			return -ESRCH;
		real += scan_entries(img, vma, addr, got / 8);
		addr += got / 8 * PAGE;
	}
	return 0;
}

/* The page tables do not tell what a shared memory object holds. */
static bool open_object(struct vma *v, int procfd)
{
	struct statfs fs;
	char path[64];

	snprintf(path, sizeof(path), "map_files/%" PRIx64 "-%" PRIx64,
		 v->start, v->end);
	v->fd = openat(procfd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (v->fd < 0)
		return false;
	if (!fstatfs(v->fd, &fs) && fs.f_type == TMPFS_MAGIC) {
		v->want = VMA_OBJECT;
		return true;
	}
	close(v->fd);
	v->fd = -1;
	return false;
}

static int scan_object(struct image *img, uint32_t vma)
{
	struct vma *v = &img->vmas.v[vma];
	off_t end = v->pgoff + (v->end - v->start), from, to = v->pgoff;

	for (;;) {
		from = lseek(v->fd, to, SEEK_DATA);
		if (from < 0 || from >= end)
			return from < 0 && errno != ENXIO ? -errno : 0;
		to = lseek(v->fd, from, SEEK_HOLE);
		if (to < 0)
			return -errno;
		if (to > end)
			to = end;
		from = from / PAGE * PAGE;
		add_pages(img, vma, v->start + (from - v->pgoff), to - from,
			  HOW_OBJECT);
	}
}

static int find_real(struct image *img, int procfd)
{
	uint64_t pages = 0;
	size_t i;

	for (i = 0; i < img->vmas.n; i++) {
		const struct vma *v = &img->vmas.v[i];

		if (v->want == VMA_PRESENT || v->want == VMA_DIRTY)
			pages += (v->end - v->start) / PAGE;
	}
	return pages > GIANT_PAGES ? vma_read_real(procfd, &img->vmas) : 0;
}

static int scan_vma(struct image *img, uint32_t vma, int pagemap,
		    uint64_t deadline)
{
	const struct vma *v = &img->vmas.v[vma];

	switch (v->want) {
	case VMA_WHOLE:
		add_pages(img, vma, v->start, v->end - v->start, HOW_READV);
		return 0;
	case VMA_OBJECT:
		return scan_object(img, vma);
	case VMA_DIRTY:
	case VMA_PRESENT:
		return scan_pagemap(img, vma, pagemap, deadline);
	default:
		return 0;
	}
}

int scan_pages(struct image *img, int procfd, uint64_t deadline)
{
	int pagemap, err;
	uint32_t i;

	for (i = 0; i < img->vmas.n; i++) {
		struct vma *v = &img->vmas.v[i];

		if (v->shared && v->want != VMA_NOTHING && vma_has_file(v))
			open_object(v, procfd);
	}
	err = find_real(img, procfd);
	if (err)
		return err;
	pagemap = openat(procfd, "pagemap", O_RDONLY | O_CLOEXEC);
	if (pagemap < 0)
		return -errno;
	for (i = 0; i < img->vmas.n && !err; i++)
		err = scan_vma(img, i, pagemap, deadline);
	close(pagemap);
	return err;
}

static void keep_fd(struct image *img, int fd, const char *target)
{
	struct image_fd *f;

	if (strncmp(target, "pipe:", 5) && strncmp(target, "socket:", 7))
		return;
	if (img->n_fds == img->cap_fds) {
		img->cap_fds = img->cap_fds ? img->cap_fds * 2 : 256;
		img->fds = xrealloc(img->fds, img->cap_fds * sizeof(*img->fds));
	}
	f = &img->fds[img->n_fds++];
	f->fd = fd;
	snprintf(f->target, sizeof(f->target), "%s", target);
}

void scan_fds_failed(struct image *img)
{
	snprintf(img->fds_cut, sizeof(img->fds_cut),
		 "file descriptors that could not be listed: %s",
		 errno == ENOENT || errno == ESRCH ? "the process is gone" :
		 strerror(errno));
}

/* After @n of them: whether the list ends here, and then says why. */
static bool scan_fds_ends(struct image *img, size_t n, uint64_t end)
{
	const char *why = NULL;

	if (n >= FDS_MAX)
		why = "no more are listed";
	else if (n >= FDS_SURE && now_us() > end)
		why = "there was no time for more";
	if (why)
		snprintf(img->fds_cut, sizeof(img->fds_cut),
			 "more than the %zu file descriptors that were looked at: %s",
			 n, why);
	return why;
}

static void scan_fds_dir(struct image *img, DIR *dir, uint64_t end)
{
	char target[64];
	struct dirent *d;
	size_t seen = 0;
	ssize_t n;

	errno = 0;
	while ((d = readdir(dir))) {
		if (*d->d_name == '.')
			continue;
		if (scan_fds_ends(img, seen++, end))
			return;
		n = readlinkat(dirfd(dir), d->d_name, target,
			       sizeof(target) - 1);
		if (n > 0) {
			target[n] = 0;
			keep_fd(img, atoi(d->d_name), target);
		}
		errno = 0;
	}
	if (errno)
		scan_fds_failed(img);
}

void scan_fds(struct image *img, int procfd, uint64_t deadline)
{
	uint64_t end = now_us() + (deadline ? FDS_PAUSE_US : FDS_FREE_US);
	DIR *dir;
	int fd;

	if (deadline && deadline < end)
		end = deadline;
	fd = openat(procfd, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		scan_fds_failed(img);
		if (fd >= 0)
			close(fd);
		return;
	}
	scan_fds_dir(img, dir, end);
	closedir(dir);
}
