// SPDX-License-Identifier: GPL-2.0
/* Fault points; see fault.h. */
#include <linux/jiffies.h>
#include <linux/moduleparam.h>
#include <linux/pid.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/wait.h>

#include "fault.h"

/* Longer than a test needs, much shorter than the kernel's patience. */
#define FAULT_MAX	(20 * HZ)

static const char * const names[DS_FAULT_MAX] = {
#define DS_FAULT_NAME(name) [DS_FAULT_##name] = #name,
	DS_FAULTS(DS_FAULT_NAME)
#undef DS_FAULT_NAME
};

/* All that follows; nobody is stopped for long by this. */
static DEFINE_SPINLOCK(fault_lock);
static enum ds_fault next, at;
static pid_t at_pid;
static unsigned int skip;
static DECLARE_WAIT_QUEUE_HEAD(stopped);

/**
 * ds_fault_stop() - is this where to stop?
 * @point: where we are
 * @pid: the member's
 *
 * Context: process, no spinlock.
 */
void ds_fault_stop(enum ds_fault point, struct pid *pid)
{
	bool here;

	spin_lock(&fault_lock);
	here = next == point && !(skip && skip--);
	if (here) {
		next = DS_FAULT_none;
		at = point;
		at_pid = pid_nr(pid);
	}
	spin_unlock(&fault_lock);
	if (here)
		wait_event_timeout(stopped, READ_ONCE(at) != point, FAULT_MAX);
}

static int set_next(const char *val, const struct kernel_param *kp)
{
	unsigned int i;

	for (i = 1; i < DS_FAULT_MAX; i++)
		if (sysfs_streq(val, names[i]))
			break;
	if (i == DS_FAULT_MAX && !sysfs_streq(val, ""))
		return -EINVAL;
	spin_lock(&fault_lock);
	next = i == DS_FAULT_MAX ? DS_FAULT_none : i;
	at = DS_FAULT_none;
	spin_unlock(&fault_lock);
	wake_up_all(&stopped);
	return 0;
}

static int get_at(char *buf, const struct kernel_param *kp)
{
	int n = 0;

	spin_lock(&fault_lock);
	if (at)
		n = sysfs_emit(buf, "%s %d\n", names[at], at_pid);
	spin_unlock(&fault_lock);
	return n;
}

static int get_names(char *buf, const struct kernel_param *kp)
{
	unsigned int i;
	int n = 0;

	for (i = 1; i < DS_FAULT_MAX; i++)
		n += sysfs_emit_at(buf, n, "%s\n", names[i]);
	return n;
}

static const struct kernel_param_ops next_ops = { .set = set_next };
static const struct kernel_param_ops at_ops = { .get = get_at };
static const struct kernel_param_ops names_ops = { .get = get_names };

module_param_named(fault_skip, skip, uint, 0600);
module_param_cb(fault, &next_ops, NULL, 0200);
module_param_cb(fault_at, &at_ops, NULL, 0400);
module_param_cb(fault_points, &names_ops, NULL, 0400);
