/* SPDX-License-Identifier: GPL-2.0 */
/* A connection whose initial sequence number is chosen. */
#ifndef WORKLOAD_ISN_H
#define WORKLOAD_ISN_H

#include <stdint.h>

/*
 * Before it connects.  TCP keeps the number that a socket in repair was given last
 * (tcp_v4_connect()); that takes CAP_NET_ADMIN.  Returns 0, or -1 with errno.
 */
int isn_set(int sock, uint32_t isn);

#endif
