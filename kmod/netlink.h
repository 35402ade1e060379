/* SPDX-License-Identifier: GPL-2.0 */
/* The generic netlink family; the interface is described in uapi/distsnap.h. */
#ifndef _DISTSNAP_NETLINK_H
#define _DISTSNAP_NETLINK_H

#include <net/genetlink.h>

struct ds_group;
struct ds_member;
struct ds_snap;

extern struct genl_family ds_genl_family;

/* Events to the agent, agent.c. */
bool ds_agent_ask(struct ds_member *m, u32 epoch, u32 timeout_us);
void ds_agent_done(struct ds_group *g, const struct ds_snap *snap);
int ds_agent_init(void);
void ds_agent_exit(void);

/* The dumps, netlink_dump.c. */
int ds_dump_groups(struct sk_buff *skb, struct netlink_callback *cb);
int ds_dump_members(struct sk_buff *skb, struct netlink_callback *cb);
int ds_dump_channels(struct sk_buff *skb, struct netlink_callback *cb);
int ds_dump_snaps(struct sk_buff *skb, struct netlink_callback *cb);
int ds_dump_records(struct sk_buff *skb, struct netlink_callback *cb);
int ds_dump_threads(struct sk_buff *skb, struct netlink_callback *cb);
int ds_dump_cuts(struct sk_buff *skb, struct netlink_callback *cb);
int ds_dump_data(struct sk_buff *skb, struct netlink_callback *cb);
int ds_dump_counters(struct sk_buff *skb, struct netlink_callback *cb);
int ds_fill_group(struct sk_buff *skb, struct ds_group *g);

int ds_netlink_init(void);
void ds_netlink_exit(void);

#endif /* _DISTSNAP_NETLINK_H */
