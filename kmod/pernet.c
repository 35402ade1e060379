// SPDX-License-Identifier: GPL-2.0
/* What comes and goes with a network namespace. */
#include <net/netns/generic.h>

#include "group.h"
#include "pernet.h"

DEFINE_MUTEX(ds_mutex);

static unsigned int ds_net_id __read_mostly;

struct ds_net *ds_net(const struct net *net)
{
	return net_generic(net, ds_net_id);
}

static int __net_init init_net_ns(struct net *net)
{
	struct ds_net *dn = ds_net(net);

	dn->net = net;
	INIT_LIST_HEAD(&dn->groups);
	return 0;
}

/*
 * Before the devices go: what waits holds references on them.  Also runs for
 * every namespace when the module is unloaded.
 */
static void __net_exit pre_exit_net_ns(struct net *net)
{
	struct ds_net *dn = ds_net(net);
	struct ds_group *g;

	mutex_lock(&ds_mutex);
	while ((g = list_first_entry_or_null(&dn->groups, struct ds_group, node)))
		ds_group_destroy(g);
	mutex_unlock(&ds_mutex);
}

static struct pernet_operations ops = {
	.init = init_net_ns,
	.pre_exit = pre_exit_net_ns,
	.id = &ds_net_id,
	.size = sizeof(struct ds_net),
};

int ds_pernet_init(void)
{
	return register_pernet_device(&ops);
}

void ds_pernet_exit(void)
{
	unregister_pernet_device(&ops);
}
