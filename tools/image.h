/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A copy of a process's memory, made while the process stands still.
 *
 * image_copy() runs inside the process's pause: it reads /proc and the memory,
 * never a disk, and into an arena whose pages are already there if
 * image_reserve() was called with a good guess.  image_fill() runs afterwards
 * and adds what may come from files.  An image can be used again and again.
 */
#ifndef DISTSNAP_IMAGE_H
#define DISTSNAP_IMAGE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "vma.h"

struct image_run {
	uint64_t addr, len;
	size_t pos;			/* in the arena */
	uint32_t vma;
	uint32_t how;
};

struct image_fd {
	int fd;
	char target[64];		/* "pipe:[1]" or "socket:[1]" */
};

struct image {
	pid_t pid;
	struct vma_list vmas;
	struct image_run *runs;		/* by address */
	size_t n_runs, cap_runs;
	char *arena;
	size_t size, used;
	uint64_t *entries;		/* of pagemap */

	uint8_t auxv[1024];
	size_t auxv_len;
	char exe[PATH_MAX], stat[1024];
	struct image_fd *fds;		/* pipes and sockets */
	size_t n_fds, cap_fds;
	char fds_cut[96];		/* why some are not listed, or "" */
};

struct image *image_new(void);
void image_free(struct image *img);

/* Room for @bytes, faulted in; 0 or -ENOMEM. Never shrinks. */
int image_reserve(struct image *img, size_t bytes);
/* A guess for image_reserve(), from what the process holds now; 0: gone. */
size_t image_guess(pid_t pid);

/*
 * Copies; @deadline in now_us() terms, 0 for none.  0 or -errno and the reason
 * in @why.
 */
int image_copy(struct image *img, pid_t pid, uint64_t deadline, char *why,
	       size_t why_size);
/* Only who it is and which pipes and sockets it holds: no memory. */
void image_describe(struct image *img, pid_t pid);
/* Adds ELF headers and untouched pages of small writable file mappings. */
void image_fill(struct image *img);

#endif
