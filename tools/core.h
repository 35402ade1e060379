/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An ELF core file of an image and its threads, as the kernel would write it
 * and gdb reads it.  Holes in memory are holes in the file.
 */
#ifndef DISTSNAP_CORE_H
#define DISTSNAP_CORE_H

#include <stddef.h>

#include "image.h"
#include "nl.h"

/*
 * Writes to the empty file @fd; 0 or -errno.  @cmdline is what ps shows, or
 * NULL.  The threads need a register set of type NT_PRSTATUS that holds a
 * struct user_regs_struct: -EINVAL if one has none (a 32-bit process).
 */
int core_write(int fd, const struct image *img, const struct ds_thread *threads,
	       size_t n_threads, const char *cmdline);

#endif
