/* SPDX-License-Identifier: GPL-2.0 */
/* What the module keeps for a network namespace ("node"). */
#ifndef _DISTSNAP_PERNET_H
#define _DISTSNAP_PERNET_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <net/net_namespace.h>
#include "counters.h"

/**
 * struct ds_net - a node
 * @net: the namespace; it outlives us
 * @groups: struct ds_group; changed under ds_mutex, read under RCU by the hooks
 * @hooked: the netfilter hooks are registered (ds_mutex)
 * @active: groups with something going on (atomic); while it is 0 the hook for
 *	outgoing packets returns at once
 * @counters: see counters.h
 */
struct ds_net {
	struct net *net;
	struct list_head groups;
	bool hooked;
	atomic_t active;
	struct ds_counters counters;
};

/*
 * ds_mutex serialises the control plane: groups coming and going.  Order of the
 * locks, outermost first:
 *
 *	ds_mutex > group->mutex > member->mutex > the socket's lock
 *		 > member->lock > group->lock
 */
extern struct mutex ds_mutex;

struct ds_net *ds_net(const struct net *net);
int ds_pernet_init(void);
void ds_pernet_exit(void);

#endif /* _DISTSNAP_PERNET_H */
