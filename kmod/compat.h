/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Differences between the kernels that we support.  Probed by the compiler,
 * not by version: stable updates change signatures too.
 */
#ifndef _DISTSNAP_COMPAT_H
#define _DISTSNAP_COMPAT_H

#include <linux/netfilter.h>
#include <net/inet6_hashtables.h>
#include <net/inet_hashtables.h>
#include <net/ipv6.h>
#include <net/tcp.h>

/* __tcp_send_ack() gained header flags in 6.12.y. */
typedef void (*ds_send_ack2)(struct sock *sk, u32 rcv_nxt);
typedef void (*ds_send_ack3)(struct sock *sk, u32 rcv_nxt, u16 flags);

static inline void ds_tcp_send_ack(struct sock *sk)
{
	void *func = __tcp_send_ack;

	/* The branch that does not apply is not compiled in. */
	if (__same_type(&__tcp_send_ack, ds_send_ack2))
		((ds_send_ack2)func)(sk, tcp_sk(sk)->rcv_nxt);
	else
		((ds_send_ack3)func)(sk, tcp_sk(sk)->rcv_nxt, 0);
}

static inline struct inet_hashinfo *ds_hashinfo(const struct net *net)
{
	return net->ipv4.tcp_death_row.hashinfo;
}

/* A TCP connection by its addresses, IPv4 ones mapped; with a reference. */
static inline struct sock *ds_find_established(const struct nf_hook_state *state,
					       struct sk_buff *skb,
					       const struct in6_addr *saddr, __be16 sport,
					       const struct in6_addr *daddr, u16 dport)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (state->pf == NFPROTO_IPV6)
		return __inet6_lookup_established(state->net, ds_hashinfo(state->net),
						  saddr, sport, daddr, dport,
						  inet6_iif(skb), inet6_sdif(skb));
#endif
	return __inet_lookup_established(state->net, ds_hashinfo(state->net),
					 saddr->s6_addr32[3], sport,
					 daddr->s6_addr32[3], dport,
					 inet_iif(skb), inet_sdif(skb));
}

#endif /* _DISTSNAP_COMPAT_H */
