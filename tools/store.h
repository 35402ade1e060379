/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Keeping the store small.  STORE/GROUP/EPOCH holds the fragments of an epoch;
 * who merges them holds the epoch meanwhile, and neither it nor what is newer
 * is removed.
 */
#ifndef DISTSNAP_STORE_H
#define DISTSNAP_STORE_H

#include <stddef.h>
#include <stdint.h>

/* Holds @dir, an epoch's directory; the result is for store_release(). */
char *store_hold(const char *dir);
void store_release(char *held);

/*
 * Removes what is older than the newest @keep epochs up to and with @newest: the
 * fragments of @node, or if that is NULL whole epochs.  A @keep of 0 keeps all.
 * Returns how many were removed; failures are printed, with @cmd in front.
 */
size_t store_prune(const char *cmd, const char *store, const char *group,
		   const char *node, uint32_t keep, uint32_t newest);

/*
 * The newest epoch of which the store has something that is not being written now,
 * or @last if none is newer: a node that was started again has forgotten what its
 * number was.  (What is younger than STORE_FRESH seconds may be the same snapshot,
 * begun by another initiator.)
 */
#define STORE_FRESH	10

uint32_t store_newest(const char *store, const char *group, uint32_t last);

#endif
