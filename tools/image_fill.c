// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image.h"
#include "image_scan.h"

static int by_address(const void *a, const void *b)
{
	const struct image_run *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* The file behind @v: by its mapping while that exists, else by its name. */
static int open_behind(struct image *img, const struct vma *v)
{
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64,
		 img->pid, v->start, v->end);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		fd = open(v->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd;
}

static bool same_file(int fd, const struct vma *v)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_ino == v->inode;
}

/* Appends [addr, addr + len) of @v from its file @fd. */
static void fill_range(struct image *img, uint32_t vma, int fd, uint64_t addr,
		       uint64_t len)
{
	struct vma *v = &img->vmas.v[vma];
	struct image_run *r;
	ssize_t got;

	if (image_reserve(img, img->used + len))
		return;
	got = pread(fd, img->arena + img->used, len,
		    v->pgoff + (addr - v->start));
	if (got <= 0)
		return;
	/* Past the end of the file a page is zero, past that page a fault. */
	len = (got + PAGE - 1) / PAGE * PAGE;
	memset(img->arena + img->used + got, 0, len - got);
	r = add_run(img);
	*r = (struct image_run) { .addr = addr, .len = len, .pos = img->used,
				  .vma = vma };
	img->used += len;
}

static void fill_vma(struct image *img, uint32_t vma, size_t run, size_t n)
{
	struct vma *v = &img->vmas.v[vma];
	uint64_t at = v->start, end = v->end;
	int fd;

	/* Of read-only mappings the first page does: debuggers look there. */
	if (!(v->prot & PROT_WRITE))
		end = at + PAGE;
	fd = open_behind(img, v);
	if (fd >= 0 && same_file(fd, v)) {
		for (; run < n && img->runs[run].vma == vma; run++) {
			if (img->runs[run].addr > at && at < end)
				fill_range(img, vma, fd, at,
					   img->runs[run].addr < end ?
					   img->runs[run].addr - at : end - at);
			at = img->runs[run].addr + img->runs[run].len;
		}
		if (at < end)
			fill_range(img, vma, fd, at, end - at);
	}
	if (fd >= 0)
		close(fd);
}

void image_fill(struct image *img)
{
	size_t n = img->n_runs, run = 0;
	uint32_t i;

	for (i = 0; i < img->vmas.n; i++) {
		struct vma *v = &img->vmas.v[i];

		while (run < n && img->runs[run].vma < i)
			run++;
		if (v->shared || !vma_has_file(v) || v->unreadable)
			continue;
		if (v->prot & PROT_WRITE ? v->end - v->start <= FILL_MAX :
		    v->want == VMA_DIRTY && !v->pgoff)
			fill_vma(img, i, run, n);
	}
	qsort(img->runs, img->n_runs, sizeof(*img->runs), by_address);
}
