/* SPDX-License-Identifier: GPL-2.0 */
/* A TCP segment at a netfilter hook: reading it, trusting it, tagging it. */
#ifndef _DISTSNAP_SEGMENT_H
#define _DISTSNAP_SEGMENT_H

#include <linux/in6.h>
#include <linux/netfilter.h>
#include <linux/skbuff.h>
#include "option.h"

struct sock;
struct ds_net;

/**
 * struct ds_seg - a segment
 * @pf: NFPROTO_IPV4 or NFPROTO_IPV6, which carried it
 * @saddr: and @daddr: IPv4 addresses as mapped ones
 * @iplen: IP header with its options or extensions
 * @hdrlen: IP and TCP headers
 * @payload: bytes of data
 * @seq: of the first byte
 * @end: behind the last byte and FIN
 * @reach: behind the last byte, FIN and urgent byte: what decides its colour; not to
 *	be taken for a position
 * @ack: acknowledgment number
 * @has_opt: @opt is valid
 * @bad_opt: errno of an option that is not
 */
struct ds_seg {
	u8 pf;
	struct in6_addr saddr;
	struct in6_addr daddr;
	__be16 sport;
	__be16 dport;
	unsigned int iplen;
	unsigned int hdrlen;
	unsigned int payload;
	u32 seq;
	u32 end;
	u32 reach;
	u32 ack;
	bool syn;
	bool fin;
	bool rst;
	bool is_ack;
	bool has_tsval;
	u32 tsval;
	bool has_opt;
	int bad_opt;
	struct ds_option opt;
};

int ds_seg_tcp_offset(const struct sk_buff *skb, u8 pf);
bool ds_seg_may_matter(const struct sk_buff *skb, int tcp);
bool ds_seg_parse(struct sk_buff *skb, u8 pf, int tcp, struct ds_seg *seg);
bool ds_seg_in_bounds(const struct sock *sk, const struct ds_seg *seg);
bool ds_seg_is_plausible(const struct sock *sk, struct sk_buff *skb,
			 const struct ds_seg *seg, unsigned int hook);
bool ds_seg_resets(const struct sock *sk, const struct ds_seg *seg);
bool ds_seg_may_reset(const struct sock *sk, const struct ds_seg *seg);
bool ds_seg_checksum_ok(struct sk_buff *skb, const struct ds_seg *seg,
			unsigned int hook);
int ds_seg_tag(struct ds_net *dn, struct sk_buff *skb, const struct ds_seg *seg,
	       const struct ds_option *opt);

#endif /* _DISTSNAP_SEGMENT_H */
