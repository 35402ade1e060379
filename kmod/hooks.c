// SPDX-License-Identifier: GPL-2.0
/*
 * Where segments meet the rules.
 *
 * LOCAL_IN runs behind filters, NAT and NFQUEUE and before conntrack confirms:
 * at an earlier priority a segment that a firewall drops would move the epoch.
 * LOCAL_OUT runs behind everything, so that nothing changes what we measured.
 */
#include <linux/ip.h>
#include <linux/netdevice.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6.h>
#include <net/inet_hashtables.h>
#include <net/request_sock.h>
#include <net/tcp.h>

#include "channel.h"
#include "compat.h"
#include "handshake.h"
#include "hooks.h"
#include "mutant.h"
#include "reset.h"
#include "segment.h"
#include "stream.h"

/*
 * An option on a socket that we do not track: a connection accepted since the
 * last look into the file tables, or no member's at all.  Look again, and let
 * no red byte in before that.
 */
static unsigned int untracked_in(struct ds_net *dn, const struct ds_seg *seg,
				 bool connected)
{
	struct ds_group *g = ds_group_by_id_rcu(dn, seg->opt.group);

	if (!g) {
		ds_count(dn, opt_group);
		return NF_ACCEPT;
	}
	if (!ds_group_allows_rcu(g, &seg->saddr)) {
		ds_count(dn, opt_foreign);
		return NF_ACCEPT;
	}
	ds_count(dn, opt_untracked);
	if (!connected || !ds_group_want_scan(g))
		return NF_ACCEPT;
	if (seg->opt.flags & DISTSNAP_OPT_MARKER &&
	    ds_seq_after(seg->reach, seg->opt.anchor)) {
		ds_count(dn, red_untracked);
		return NF_DROP;
	}
	return NF_ACCEPT;
}

/*
 * The connection that TCP will find; with a reference if @refcounted.  A request
 * that early demux has found may have become a connection while the segment waited.
 * In the middle of that a lookup finds neither (inet_ehash_insert()); TCP then asks
 * the request, which leads to the connection.
 */
static struct sock *find_sock(const struct nf_hook_state *state,
			      struct sk_buff *skb, const struct ds_seg *seg,
			      bool *refcounted)
{
	struct sock *sk;

	*refcounted = false;
	if (skb->sk && skb->sk->sk_state != TCP_NEW_SYN_RECV)	/* early demux */
		return skb->sk;
	sk = skb->sk && ds_mutant(no_request) ? NULL :
	     ds_find_established(state, skb, &seg->saddr, seg->sport, &seg->daddr,
				 ntohs(seg->dport));
	*refcounted = sk;
	return sk || ds_mutant(no_request) ? sk : skb->sk;
}

static unsigned int hook_in(void *priv, struct sk_buff *skb,
			    const struct nf_hook_state *state)
{
	struct ds_net *dn = ds_net(state->net);
	struct ds_channel *ch = NULL;
	unsigned int verdict = NF_ACCEPT;
	bool refcounted, connected;
	struct ds_seg seg;
	struct sock *sk;
	int tcp;

	tcp = ds_seg_tcp_offset(skb, state->pf);
	if (!tcp)
		return NF_ACCEPT;
	if (!atomic_read(&dn->active) && !ds_seg_may_matter(skb, tcp))
		return NF_ACCEPT;
	if (!ds_seg_parse(skb, state->pf, tcp, &seg))
		return NF_ACCEPT;
	if (seg.bad_opt == -EPROTONOSUPPORT)
		ds_count(dn, opt_version);
	else if (seg.bad_opt)
		ds_count(dn, opt_malformed);
	if (!seg.has_opt && !seg.rst && !atomic_read(&dn->active))
		return NF_ACCEPT;

	sk = find_sock(state, skb, &seg, &refcounted);
	connected = sk && sk_fullsock(sk) && sk->sk_state != TCP_LISTEN;
	if (connected)
		ch = ds_channel_find_rcu(sk);
	else if (sk && sk->sk_state == TCP_NEW_SYN_RECV)
		ch = ds_channel_find_rcu(inet_reqsk(sk)->rsk_listener);
	/* It has just begun to listen, or stopped. */
	if (ch && ch->listening == connected)
		ch = NULL;
	if (ch && !ch->listening && ds_reset_is_nobodys(&seg))
		verdict = ds_reset_in(ch, skb, &seg, state);
	else if (ch && ch->listening)
		verdict = ds_handshake_ack_in(ch, inet_reqsk(sk), skb, &seg, state);
	else if (ch && READ_ONCE(ch->unborn) && !seg.rst &&
		 (seg.syn || sk->sk_state == TCP_SYN_RECV))
		verdict = ds_handshake_answer_in(ch, skb, &seg, state);
	else if (ch)
		verdict = ds_stream_in(ch, skb, &seg, state);
	else if (!sk)
		verdict = ds_handshake_cookie_in(skb, &seg, state);
	if (!ch && verdict == NF_ACCEPT && seg.has_opt)
		verdict = untracked_in(dn, &seg, connected);
	if (refcounted && sk)
		sock_gen_put(sk);
	return verdict;
}

/*
 * May a segment of this socket have something to say?  Those that TCP sends on its own
 * have no socket, or one that only sends (ip_send_unicast_reply()) and is never open.
 */
static bool speaks(struct ds_net *dn, const struct sk_buff *skb, struct ds_channel **ch)
{
	const struct sock *sk = skb->sk;

	*ch = NULL;
	if (!sk || sk->sk_state == TCP_NEW_SYN_RECV)
		return true;
	if (!sk_fullsock(sk) || sk->sk_protocol != IPPROTO_TCP ||
	    (!atomic_read(&dn->active) &&
	     !((1 << sk->sk_state) & (TCPF_SYN_SENT | TCPF_SYN_RECV | TCPF_CLOSE))))
		return false;
	*ch = ds_queue_channel(skb) ?: ds_channel_find_rcu(sk);
	return *ch ? !(*ch)->listening : sk->sk_state == TCP_CLOSE;
}

static unsigned int hook_out(void *priv, struct sk_buff *skb,
			     const struct nf_hook_state *state)
{
	struct ds_net *dn = ds_net(state->net);
	struct sock *sk = skb->sk;
	struct ds_channel *ch;
	struct ds_seg seg;
	int tcp;

	if (!speaks(dn, skb, &ch))
		return NF_ACCEPT;
	tcp = ds_seg_tcp_offset(skb, state->pf);
	if (!tcp || !ds_seg_parse(skb, state->pf, tcp, &seg))
		return NF_ACCEPT;
	if (ch)
		return ds_stream_out(ch, skb, &seg, state);
	if (seg.rst)
		return ds_reset_out(dn, skb, &seg);
	return sk && sk_fullsock(sk) ? NF_ACCEPT :
	       ds_handshake_synack_out(sk, skb, &seg, state);
}

static const struct nf_hook_ops ops[] = {
	{
		.hook = hook_in,
		.pf = NFPROTO_IPV4,
		.hooknum = NF_INET_LOCAL_IN,
		.priority = INT_MAX - 1,
	}, {
		.hook = hook_out,
		.pf = NFPROTO_IPV4,
		.hooknum = NF_INET_LOCAL_OUT,
		.priority = INT_MAX - 1,
	},
#if IS_ENABLED(CONFIG_IPV6)
	{
		.hook = hook_in,
		.pf = NFPROTO_IPV6,
		.hooknum = NF_INET_LOCAL_IN,
		.priority = INT_MAX - 1,
	}, {
		.hook = hook_out,
		.pf = NFPROTO_IPV6,
		.hooknum = NF_INET_LOCAL_OUT,
		.priority = INT_MAX - 1,
	},
#endif
};

/* ds_hooks_register() - once per namespace; context: ds_mutex */
int ds_hooks_register(struct ds_net *dn)
{
	int err;

	if (dn->hooked)
		return 0;
	err = nf_register_net_hooks(dn->net, ops, ARRAY_SIZE(ops));
	dn->hooked = !err;
	return err;
}

/* ds_hooks_unregister() - context: ds_mutex; no group is left */
void ds_hooks_unregister(struct ds_net *dn)
{
	if (dn->hooked)
		nf_unregister_net_hooks(dn->net, ops, ARRAY_SIZE(ops));
	dn->hooked = false;
}

/* Go on at our own hook, or behind it.  Context: BH off. */
static void go_on(struct sk_buff *skb, struct nf_hook_state *state, unsigned int behind)
{
	const struct nf_hook_entries *e;
	struct nf_hook_ops **regs;
	unsigned int i = 0;
	int ret = 1;

	rcu_read_lock();
	if (state->pf == NFPROTO_IPV4)
		e = rcu_dereference(state->net->nf.hooks_ipv4[state->hook]);
	else
		e = rcu_dereference(state->net->nf.hooks_ipv6[state->hook]);
	if (e) {
		regs = nf_hook_entries_get_hook_ops(e);
		for (i = 0; i < e->num_hook_entries; i++)
			if (regs[i] >= ops && regs[i] < ops + ARRAY_SIZE(ops))
				break;
		ret = nf_hook_slow(skb, state, e, i + behind);
	}
	if (ret == 1)
		state->okfn(state->net, state->sk, skb);
	rcu_read_unlock();
}

/**
 * ds_hooks_reenter() - a segment that waited goes on
 * @skb: the segment; consumed
 * @state: of the hook it was taken from
 *
 * It goes on *at our own hook*, so that the rules see it again and everything
 * behind us (conntrack, counters) sees it once.
 *
 * Context: BH off; the references in @state are the caller's.
 */
void ds_hooks_reenter(struct sk_buff *skb, struct nf_hook_state *state)
{
	go_on(skb, state, 0);
}

/**
 * ds_hooks_go_on() - a segment goes on at once, in the middle of our hook
 * @skb: the segment; consumed, and the hook returns NF_STOLEN
 * @state: of the hook
 *
 * Context: BH off.
 */
void ds_hooks_go_on(struct sk_buff *skb, struct nf_hook_state *state)
{
	go_on(skb, state, 1);
}

/* A device that goes away must not wait for what we hold. */
static int device_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	struct net_device *dev = netdev_notifier_info_to_dev(ptr);
	struct ds_net *dn = ds_net(dev_net(dev));
	struct ds_member *m;
	struct ds_group *g;

	if (event != NETDEV_GOING_DOWN && event != NETDEV_DOWN &&
	    event != NETDEV_UNREGISTER)
		return NOTIFY_DONE;
	if (!dn)	/* the namespace is being unwound before our init */
		return NOTIFY_DONE;
	mutex_lock(&ds_mutex);
	list_for_each_entry(g, &dn->groups, node) {
		mutex_lock(&g->mutex);
		list_for_each_entry(m, &g->members, node) {
			ds_queue_flush(m, &m->hold, dev);
			ds_queue_flush(m, &m->gate, dev);
		}
		mutex_unlock(&g->mutex);
	}
	mutex_unlock(&ds_mutex);
	return NOTIFY_DONE;
}

static struct notifier_block notifier = {
	.notifier_call = device_event,
};

int ds_notifier_init(void)
{
	return register_netdevice_notifier(&notifier);
}

void ds_notifier_exit(void)
{
	unregister_netdevice_notifier(&notifier);
}
