/* SPDX-License-Identifier: GPL-2.0 */
/* The mappings of a process, from /proc/PID/maps and, for giants, smaps. */
#ifndef DISTSNAP_VMA_H
#define DISTSNAP_VMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which of its pages an image needs. */
enum vma_want {
	VMA_NOTHING,		/* not memory of the process: vvar, devices */
	VMA_FILE,		/* none: the file has them */
	VMA_DIRTY,		/* those that differ from the file */
	VMA_PRESENT,		/* those in the page tables; others are zero or the file's */
	VMA_OBJECT,		/* those of the shared memory object behind it */
	VMA_WHOLE,		/* all */
};

struct vma {
	uint64_t start, end, pgoff;	/* pgoff in bytes */
	uint64_t inode;
	const char *path;		/* "" if none; lives as long as the list */
	int prot;
	bool shared;
	bool unreadable;		/* tried, and failed */
	uint8_t want;
	int fd;				/* VMA_OBJECT, while copying */
	uint64_t real;			/* pages that smaps knows; UINT64_MAX: unknown */
};

struct vma_list {
	struct vma *v;
	size_t n, cap;
	char *text;			/* of maps; paths point into it */
	size_t text_cap;
};

/* Reads /proc/PID/maps (@procfd is /proc/PID); 0 or -errno. */
int vma_read(int procfd, struct vma_list *l);
/* Fills in @real from smaps: what a giant mapping really holds. */
int vma_read_real(int procfd, struct vma_list *l);
void vma_free(struct vma_list *l);

static inline bool vma_has_file(const struct vma *v)
{
	return *v->path == '/';
}

/* A page that is nowhere reads as zero (else as what the file holds). */
static inline bool vma_zero_filled(const struct vma *v)
{
	return v->want == VMA_OBJECT || !vma_has_file(v);
}

#endif
