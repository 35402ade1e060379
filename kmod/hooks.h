/* SPDX-License-Identifier: GPL-2.0 */
/* The netfilter hooks: where segments meet the rules. */
#ifndef _DISTSNAP_HOOKS_H
#define _DISTSNAP_HOOKS_H

#include <linux/netfilter.h>

struct ds_net;

int ds_hooks_register(struct ds_net *dn);
void ds_hooks_unregister(struct ds_net *dn);
void ds_hooks_reenter(struct sk_buff *skb, struct nf_hook_state *state);
void ds_hooks_go_on(struct sk_buff *skb, struct nf_hook_state *state);
int ds_notifier_init(void);
void ds_notifier_exit(void);

#endif /* _DISTSNAP_HOOKS_H */
