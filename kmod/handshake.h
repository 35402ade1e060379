/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The segments from which connections are born, and levelling: a connection never
 * joins two colours.
 *
 * Whoever is given a connection by a segment (the connecting side by the SYN-ACK,
 * the accepting side by the ACK that completes the handshake) sees in its option
 * the last epoch that lies behind the sender.  If that is newer than its own, the
 * segment waits until it has recorded that epoch too, or skipped it.  While a
 * member is being recorded no connection of it is born at all.
 *
 * What is left: a handshake may complete with a white ACK after the accepting side
 * was recorded.  That connection has a cut in the record, from its first byte on.
 */
#ifndef _DISTSNAP_HANDSHAKE_H
#define _DISTSNAP_HANDSHAKE_H

#include <linux/netfilter.h>
#include "segment.h"
#include "stream.h"

struct ds_channel;
struct ds_member;
struct request_sock;

enum ds_trust ds_handshake_trust(struct ds_group *g, struct sk_buff *skb,
				 const struct ds_seg *seg,
				 const struct nf_hook_state *state);
unsigned int ds_handshake_level(struct ds_channel *ch, struct sk_buff *skb,
				const struct ds_seg *seg,
				const struct nf_hook_state *state, enum ds_trust trust);
unsigned int ds_handshake_ack_in(struct ds_channel *lis, const struct request_sock *req,
				 struct sk_buff *skb, const struct ds_seg *seg,
				 const struct nf_hook_state *state);
unsigned int ds_handshake_cookie_in(struct sk_buff *skb, const struct ds_seg *seg,
				    const struct nf_hook_state *state);
unsigned int ds_handshake_answer_in(struct ds_channel *ch, struct sk_buff *skb,
				    const struct ds_seg *seg,
				    const struct nf_hook_state *state);
unsigned int ds_handshake_synack_out(const struct sock *sk, struct sk_buff *skb,
				     const struct ds_seg *seg,
				     const struct nf_hook_state *state);
void ds_handshake_connected(struct ds_channel *ch, bool crossed);
void ds_handshake_accepted(struct sock *sk);
unsigned int ds_handshakes_open(struct ds_member *m);

#endif /* _DISTSNAP_HANDSHAKE_H */
