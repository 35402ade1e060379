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

/*
 * Who listens at @daddr for @saddr; IPv4 addresses mapped.  Without a reference;
 * context: RCU, BH off.
 */
static inline struct sock *ds_find_listener(struct net *net, const struct in6_addr *saddr,
					    __be16 sport, const struct in6_addr *daddr,
					    u16 dport, int dif)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (!ipv6_addr_v4mapped(saddr))
		return inet6_lookup_listener(net, ds_hashinfo(net), NULL, 0, saddr, sport,
					     daddr, dport, dif, 0);
#endif
	return __inet_lookup_listener(net, ds_hashinfo(net), NULL, 0,
				      saddr->s6_addr32[3], sport,
				      daddr->s6_addr32[3], dport, dif, 0);
}

/* __cookie_v4_check() and its brother lost an argument in 6.8. */
typedef int (*ds_cookie4_check2)(const struct iphdr *iph, const struct tcphdr *th);
typedef int (*ds_cookie4_check3)(const struct iphdr *iph, const struct tcphdr *th,
				 u32 cookie);
typedef int (*ds_cookie6_check2)(const struct ipv6hdr *iph, const struct tcphdr *th);
typedef int (*ds_cookie6_check3)(const struct ipv6hdr *iph, const struct tcphdr *th,
				 u32 cookie);

/* Does the ACK at @th acknowledge a SYN cookie of ours? */
static inline bool ds_cookie_is_ours(const void *iph, const struct tcphdr *th, bool v4)
{
#ifdef CONFIG_SYN_COOKIES
	u32 cookie = ntohl(th->ack_seq) - 1;
	void *func4 = __cookie_v4_check;
#if IS_ENABLED(CONFIG_IPV6)
	void *func6 = __cookie_v6_check;

	if (!v4 && __same_type(&__cookie_v6_check, ds_cookie6_check2))
		return ((ds_cookie6_check2)func6)(iph, th) > 0;
	if (!v4)
		return ((ds_cookie6_check3)func6)(iph, th, cookie) > 0;
#endif
	if (__same_type(&__cookie_v4_check, ds_cookie4_check2))
		return v4 && ((ds_cookie4_check2)func4)(iph, th) > 0;
	return v4 && ((ds_cookie4_check3)func4)(iph, th, cookie) > 0;
#else
	return false;
#endif
}

#endif /* _DISTSNAP_COMPAT_H */
