/* SPDX-License-Identifier: GPL-2.0 */
/* The ways to send bytes on a TCP socket, and an unusual one to receive them. */
#ifndef WORKLOAD_WAYS_H
#define WORKLOAD_WAYS_H

#include <sys/types.h>

enum way { WAY_SEND, WAY_MORE, WAY_SPLICE, WAY_SENDFILE, WAY_PIPE, WAY_URGENT,
	   WAY_ZEROCOPY, WAYS };

extern const char * const way_names[WAYS];

/* The way by its name, or WAYS. */
enum way way_find(const char *name);

/*
 * Sends, in one call where there is one that can, and returns how many bytes went,
 * or -1 with errno.  Takes @buf from the heap, and frees it or leaves it to TCP.
 */
ssize_t way_send(enum way way, int sock, unsigned char *buf, size_t n);

/*
 * Receives up to @n bytes into @buf: those that TCP can map (TCP_ZEROCOPY_RECEIVE)
 * from there, *@mapped of them, or else by recv().  Returns how many, as recv() does.
 */
ssize_t way_map(int sock, void *buf, size_t n, size_t *mapped);

#endif
