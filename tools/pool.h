/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Images that wait for the next snapshot with their memory faulted in: one for
 * each member, of about its size.  Safe between threads.
 */
#ifndef DISTSNAP_POOL_H
#define DISTSNAP_POOL_H

#include "image.h"
#include "nl.h"

struct pool;

struct pool *pool_new(void);
void pool_free(struct pool *p);
/* Never fails; the best fit for @pid as of the last pool_tune(). */
struct image *pool_take(struct pool *p, pid_t pid);
void pool_put(struct pool *p, struct image *img);
/* Makes room for these members and frees what is beyond their number. */
void pool_tune(struct pool *p, const struct ds_member *m, size_t n);

#endif
