/* SPDX-License-Identifier: GPL-2.0 */
/* Files that change hands; all return -1 with errno. */
#ifndef WORKLOAD_PASS_H
#define WORKLOAD_PASS_H

#include <stddef.h>

/* With @n bytes of @data, over the Unix socket @via (SCM_RIGHTS). */
int pass_fd(int via, int fd, const void *data, size_t n);
int take_fd(int via, void *data, size_t n);

/* Ends of a Unix socket by that path; pass_listen() waits for the other one. */
int pass_listen(const char *path);
int pass_connect(const char *path);

/* Returns an io_uring instance that has the file. */
int pass_to_ring(int fd);

#endif
