/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Outsiders: whoever else has a member's connection, and may send or receive on it
 * while the member is parked.  A child that inherits it, a process that gets it over
 * a Unix socket; or nobody, while it is on its way there or registered with io_uring.
 */
#ifndef _DISTSNAP_OUTSIDER_H
#define _DISTSNAP_OUTSIDER_H

struct ds_member;
struct ds_record;

void ds_outsiders_look(struct ds_member *m, struct ds_record *rec);

#endif /* _DISTSNAP_OUTSIDER_H */
