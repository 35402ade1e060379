/* SPDX-License-Identifier: GPL-2.0 */
/* The transport below nl.h: one request at a time, events kept meanwhile. */
#ifndef DISTSNAP_NLCONN_H
#define DISTSNAP_NLCONN_H

#include <netlink/msg.h>

#include "nl.h"
#include "nlparse.h"

/* A request in the making; NULL is impossible (out of memory ends). */
struct nl_msg *conn_msg(struct ds_conn *c, uint8_t cmd, int flags);

/*
 * Sends and frees @m, then waits for the end of the answer.  @fn sees each
 * message of it parsed by @l; a negative return ends the call and is returned.
 */
int conn_call(struct ds_conn *c, struct nl_msg *m, const struct layout *l,
	      int (*fn)(void *parsed, void *arg), void *arg);

/* The same for a dump that becomes an array of @l's structs. */
int conn_list(struct ds_conn *c, struct nl_msg *m, const struct layout *l,
	      void **array, size_t *n);

#endif
