/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Resets that none of our connections sends: TCP refuses a SYN, or answers a segment
 * to a socket that is gone.  Who closed that door, and when, is not known any more.
 * So they show the last epoch that anybody here knows of, as a SYN-ACK shows that of
 * its member, and whoever gets one is recorded, or skips the epoch, before TCP has it.
 */
#ifndef _DISTSNAP_RESET_H
#define _DISTSNAP_RESET_H

#include <linux/netfilter.h>
#include "segment.h"

struct ds_channel;
struct ds_net;

unsigned int ds_reset_out(struct ds_net *dn, struct sk_buff *skb, const struct ds_seg *seg);
bool ds_reset_is_nobodys(const struct ds_seg *seg);
unsigned int ds_reset_in(struct ds_channel *ch, struct sk_buff *skb,
			 const struct ds_seg *seg, const struct nf_hook_state *state);

#endif /* _DISTSNAP_RESET_H */
