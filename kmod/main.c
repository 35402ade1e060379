// SPDX-License-Identifier: GPL-2.0
/*
 * distsnap: causally consistent snapshots of running, unmodified processes
 * that talk TCP.  Start reading at snapshot.h (the rules), recording.c (what
 * happens to a member) and hooks.c (what happens to a segment).
 */
#include <linux/module.h>
#include <linux/rcupdate.h>

#include "group.h"
#include "hooks.h"
#include "life.h"
#include "netlink.h"
#include "objects.h"
#include "park.h"
#include "pernet.h"
#include "timers.h"

struct workqueue_struct *ds_wq;

static int __init ds_init(void)
{
	int err;

	err = ds_objects_init();
	if (err)
		return err;
	err = -ENOMEM;
	ds_wq = alloc_workqueue("distsnap", WQ_HIGHPRI | WQ_UNBOUND, 0);
	if (!ds_wq)
		goto err_objects;
	ds_park_setup();
	err = ds_pernet_init();
	if (err)
		goto err_wq;
	err = ds_notifier_init();
	if (err)
		goto err_pernet;
	err = ds_life_init();
	if (err)
		goto err_notifier;
	err = ds_netlink_init();
	if (err)
		goto err_life;
	return 0;

err_life:
	ds_life_exit();
err_notifier:
	ds_notifier_exit();
err_pernet:
	ds_pernet_exit();
err_wq:
	destroy_workqueue(ds_wq);
err_objects:
	ds_objects_exit();
	return err;
}

/*
 * No new request, then every group goes (threads and segments are released),
 * then whoever still runs our code or owes us a callback.
 */
static void __exit ds_exit(void)
{
	ds_netlink_exit();
	ds_life_exit();
	ds_notifier_exit();	/* replays every device: the groups must be there */
	ds_pernet_exit();
	destroy_workqueue(ds_wq);
	ds_park_exit();
	rcu_barrier();
	ds_objects_exit();
}

module_init(ds_init);
module_exit(ds_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Consistent snapshots of TCP-connected processes");
