/* SPDX-License-Identifier: GPL-2.0 */
/* Regular files of strangers, opened and copied with care. */
#ifndef DISTSNAP_FILE_H
#define DISTSNAP_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "why.h"

/* Open @name, a regular file and no link, for reading.  -1 and @why. */
int file_open(int dir, const char *name, struct why *why);

/* All of @fd, with a NUL behind.  NULL and @why, also if more than @max. */
char *file_read(int fd, uint64_t max, size_t *len, struct why *why);

/* Exactly @len bytes at @pos, or -1 and @why. */
int file_pread(int fd, void *to, size_t len, uint64_t pos, struct why *why);

int file_write(int fd, const void *from, size_t len, struct why *why);

/* A new file for the owner only.  -1 and @why. */
int file_create(int dir, const char *name, struct why *why);

/* Copy @fd, keeping holes, into a new file.  0, or -1 and @why. */
int file_copy(int fd, int dir, const char *name, struct why *why);

/* Hard-link @name, which is open as @fd, or else copy it. */
int file_link(int fd, int from, int to, const char *name, struct why *why);

/* Does @fd hold exactly these bytes?  1, 0, or -1 and @why. */
int file_holds(int fd, const char *bytes, size_t len, struct why *why);

/* Same bytes?  1, 0, or -1 and @why.  Closes both; one may be -1. */
int file_same(int a, int b, struct why *why);

#endif
