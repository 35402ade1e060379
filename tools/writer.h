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

/**
 * struct writer_conf - where fragments go
 * @store: shared by all nodes
 * @group: whose they are
 * @node: this one's name
 * @keep: how many epochs of this node stay in the store, 0 for all
 */
struct writer_conf {
	const char *store, *group, *node;
	uint32_t keep;
};

/* The strings have to live on; NULL: a message is printed. */
struct writer *writer_start(const struct writer_conf *conf, struct pool *pool);
/* Finishes what is queued. */
void writer_stop(struct writer *w);
/* Keeps @img until the epoch is written, then gives it back to the pool. */
void writer_add_image(struct writer *w, uint32_t epoch, uint32_t member,
		      struct image *img);
/* The epoch is done; asked twice it is written once. */
void writer_add_epoch(struct writer *w, uint32_t epoch);

#endif
