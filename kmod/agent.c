// SPDX-License-Identifier: GPL-2.0
/*
 * The agent: events to it, and what happens when it goes.
 *
 * The kernel does not trust it: whatever it does, a member is parked no longer
 * than the limits say, and not a moment longer than its socket is open.
 */
#include <linux/netlink.h>
#include <linux/pid.h>
#include <linux/rculist.h>

#include "member.h"
#include "netlink.h"

/* A message to the agent; NULL without an agent or memory. */
static struct sk_buff *new_event(struct ds_group *g, u8 cmd, u32 epoch,
				 void **hdr, u32 *port, struct pid **agent)
{
	struct sk_buff *msg;

	spin_lock_bh(&g->lock);
	*port = g->agent;
	if (agent)
		*agent = get_pid(g->agent_pid);
	spin_unlock_bh(&g->lock);
	if (!*port)
		return NULL;
	msg = nlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!msg)
		return NULL;
	*hdr = genlmsg_put(msg, 0, 0, &ds_genl_family, 0, cmd);
	if (*hdr && !nla_put_string(msg, DISTSNAP_A_NAME, g->name) &&
	    !nla_put_u32(msg, DISTSNAP_A_EPOCH, epoch))
		return msg;
	nlmsg_free(msg);
	return NULL;
}

/**
 * ds_agent_ask() - ask the agent to record a member's local state
 * @m: the member, captured
 * @epoch: the epoch
 * @timeout_us: how long the pause may still be
 *
 * The pid is given as the agent's pid namespace numbers it.
 *
 * Context: process, member->mutex.
 *
 * Return: false when there is no agent to ask.
 */
bool ds_agent_ask(struct ds_member *m, u32 epoch, u32 timeout_us)
{
	struct ds_group *g = m->group;
	struct pid *agent = NULL;
	struct sk_buff *msg;
	void *hdr;
	u32 port, nr;

	msg = new_event(g, DISTSNAP_CMD_RECORD, epoch, &hdr, &port, &agent);
	nr = agent ? pid_nr_ns(m->pid, ns_of_pid(agent)) : 0;
	put_pid(agent);
	if (!msg)
		return false;
	if (nla_put_u32(msg, DISTSNAP_A_MEMBER, m->id) ||
	    nla_put_string(msg, DISTSNAP_A_MEMBER_NAME, m->name) ||
	    nla_put_u32(msg, DISTSNAP_A_PID, nr) ||
	    nla_put_u32(msg, DISTSNAP_A_TIMEOUT, timeout_us)) {
		nlmsg_free(msg);
		return false;
	}
	genlmsg_end(msg, hdr);
	return !genlmsg_unicast(g->dn->net, msg, port);
}

/* ds_agent_done() - tell the agent that an epoch can be fetched */
void ds_agent_done(struct ds_group *g, const struct ds_snap *snap)
{
	struct sk_buff *msg;
	void *hdr;
	u32 port;

	msg = new_event(g, DISTSNAP_CMD_DONE, snap->epoch, &hdr, &port, NULL);
	if (!msg)
		return;
	if (nla_put_u32(msg, DISTSNAP_A_STATE, snap->state)) {
		nlmsg_free(msg);
		return;
	}
	genlmsg_end(msg, hdr);
	genlmsg_unicast(g->dn->net, msg, port);
}

/* The agent's socket was closed: nobody waits for it a moment longer. */
static void agent_gone(struct ds_group *g)
{
	struct ds_member *m;

	mutex_lock(&g->mutex);
	list_for_each_entry(m, &g->members, node) {
		spin_lock_bh(&m->lock);
		if (m->asking) {
			m->asking = false;
			m->status = EPIPE;
			strscpy(m->message, "it ended", sizeof(m->message));
			complete(&m->answered);
		}
		spin_unlock_bh(&m->lock);
	}
	mutex_unlock(&g->mutex);
}

static int socket_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	struct netlink_notify *n = ptr;
	struct ds_net *dn = ds_net(n->net);
	struct ds_group *g;
	bool was = false;

	if (event != NETLINK_URELEASE || n->protocol != NETLINK_GENERIC || !dn)
		return NOTIFY_DONE;
	/* Nearly every socket is nobody's agent: no mutex for those. */
	rcu_read_lock();
	list_for_each_entry_rcu(g, &dn->groups, node)
		was |= READ_ONCE(g->agent) == n->portid;
	rcu_read_unlock();
	if (!was)
		return NOTIFY_DONE;
	mutex_lock(&ds_mutex);
	list_for_each_entry(g, &dn->groups, node) {
		spin_lock_bh(&g->lock);
		was = g->agent == n->portid;
		if (was)
			g->agent = 0;
		spin_unlock_bh(&g->lock);
		if (was)
			agent_gone(g);
	}
	mutex_unlock(&ds_mutex);
	return NOTIFY_DONE;
}

static struct notifier_block notifier = {
	.notifier_call = socket_event,
};

int ds_agent_init(void)
{
	return netlink_register_notifier(&notifier);
}

void ds_agent_exit(void)
{
	netlink_unregister_notifier(&notifier);
}
