/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Segments that wait: incoming red ones until their member is recorded (hold),
 * outgoing ones beyond an armed anchor until it is published (gate).
 */
#ifndef _DISTSNAP_QUEUE_H
#define _DISTSNAP_QUEUE_H

#include <linux/list.h>
#include <linux/netfilter.h>
#include <linux/skbuff.h>

struct ds_channel;
struct ds_member;
struct ds_net;
struct ds_seg;

enum ds_queue_kind {
	DS_HOLD,
	DS_GATE,
	DS_QUEUES
};

/*
 * A segment taken out of the stack.  It holds references on all that its way on
 * needs: the devices, the route (skb_dst_force()), the channel and through it
 * the socket.
 */
struct ds_stolen {
	struct list_head node;
	struct sk_buff *skb;
	struct ds_channel *ch;
	struct nf_hook_state state;
};

/**
 * struct ds_queue - first in, first out; member->lock
 * @waiting: struct ds_stolen, until ds_queue_release()
 * @draining: the part that is on its way; newer segments of the same channel
 *	queue behind it, or they would overtake and cause retransmissions
 * @reentering: the segment that goes through the hook again at this moment
 * @kind: hold or gate
 * @bytes: sum of lengths
 */
struct ds_queue {
	struct list_head waiting;
	struct list_head draining;
	struct sk_buff *reentering;
	enum ds_queue_kind kind;
	u64 bytes;
};

void ds_queue_init(struct ds_queue *q, enum ds_queue_kind kind);
unsigned int ds_queue_steal(struct ds_queue *q, struct ds_channel *ch,
			    struct sk_buff *skb, const struct ds_seg *seg,
			    const struct nf_hook_state *state);
bool ds_queue_must_follow(const struct ds_queue *q, const struct ds_channel *ch,
			  const struct sk_buff *skb);
struct ds_channel *ds_queue_channel(const struct sk_buff *skb);
void ds_queue_release(struct ds_queue *q);
void ds_queue_drain(struct ds_member *m, struct ds_queue *q);
void ds_queue_flush(struct ds_member *m, struct ds_queue *q,
		    const struct net_device *dev);
bool ds_queue_is_empty(const struct ds_queue *q);

#endif /* _DISTSNAP_QUEUE_H */
