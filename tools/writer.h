/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The agent's second thread: writes fragments while the first one waits for
 * the next member to be paused.
 */
#ifndef DISTSNAP_WRITER_H
#define DISTSNAP_WRITER_H

#include "image.h"
#include "pool.h"

struct writer;

/* The strings have to live on; NULL: a message is printed. */
struct writer *writer_start(const char *store, const char *group,
			    const char *node, struct pool *pool);
/* Finishes what is queued. */
void writer_stop(struct writer *w);
/* Keeps @img until the epoch is written, then gives it back to the pool. */
void writer_add_image(struct writer *w, uint32_t epoch, uint32_t member,
		      struct image *img);
/* The epoch is done; asked twice it is written once. */
void writer_add_epoch(struct writer *w, uint32_t epoch);

#endif
