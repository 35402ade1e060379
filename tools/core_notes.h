/* SPDX-License-Identifier: GPL-2.0 */
/* The contents of a core file's PT_NOTE. */
#ifndef DISTSNAP_CORE_NOTES_H
#define DISTSNAP_CORE_NOTES_H

#include <stddef.h>

#include "image.h"
#include "nl.h"

struct notes {
	char *data;		/* the caller frees it */
	size_t len, cap;
};

int notes_build(struct notes *n, const struct image *img,
		const struct ds_thread *threads, size_t n_threads,
		const char *cmdline);

#endif
