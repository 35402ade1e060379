// SPDX-License-Identifier: GPL-2.0
/* Reading, trusting and tagging TCP segments. */
#include <linux/ip.h>
#include <linux/netfilter_ipv4.h>
#include <linux/tcp.h>
#include <net/dst.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/ipv6.h>
#include <net/tcp.h>

#include "pernet.h"
#include "segment.h"

/**
 * ds_seg_tcp_offset() - where the TCP header begins
 * @skb: at a hook of @pf
 * @pf: NFPROTO_IPV4 or NFPROTO_IPV6
 *
 * Return: from the network header on; 0 when this is no TCP segment, or a part
 * of one.  (IPv4 fragments are put together before LOCAL_IN.  IPv6 fragments are
 * not, but TCP sends none.)
 */
int ds_seg_tcp_offset(const struct sk_buff *skb, u8 pf)
{
	int net = skb_network_offset(skb), off;
	unsigned int ah = 0;
	__be16 frag = 0;
	u8 next;

	if (pf == NFPROTO_IPV4)
		return ip_hdr(skb)->protocol == IPPROTO_TCP &&
		       !ip_is_fragment(ip_hdr(skb)) ? ip_hdrlen(skb) : 0;
	next = ipv6_hdr(skb)->nexthdr;
	if (next == IPPROTO_TCP)
		return sizeof(struct ipv6hdr);
	/* What is protected may neither be changed nor believed yet (IPv4: protocol 51). */
	if (next == NEXTHDR_AUTH || ipv6_find_hdr(skb, &ah, NEXTHDR_AUTH, NULL, NULL) >= 0)
		return 0;
	off = ipv6_skip_exthdr(skb, net + sizeof(struct ipv6hdr), &next, &frag);
	return off > 0 && next == IPPROTO_TCP && !frag ? off - net : 0;
}

/**
 * ds_seg_may_matter() - cheap test that stops nearly all segments
 * @skb: at a hook
 * @tcp: from ds_seg_tcp_offset()
 *
 * Time stamps alone take 12 bytes of options; ours takes 16.  Resets are always seen.
 */
bool ds_seg_may_matter(const struct sk_buff *skb, int tcp)
{
	struct tcphdr buf;
	const struct tcphdr *th;

	th = skb_header_pointer(skb, skb_network_offset(skb) + tcp, sizeof(buf), &buf);
	return th && (th->rst || th->doff * 4 >= sizeof(*th) + DISTSNAP_OPT_LEN);
}

/* Beyond any marker: windows are smaller (RFC 7323, 2.3). */
#define FAR_AWAY	(1U << 30)

/* RFC 7323: the time stamp, wherever it stands in the options. */
static void parse_tsval(struct ds_seg *seg, const u8 *o, unsigned int len)
{
	unsigned int i = 0;
	__be32 tsval;

	while (i < len && o[i] != TCPOPT_EOL) {
		if (o[i] == TCPOPT_NOP) {
			i++;
			continue;
		}
		if (i + 2 > len || o[i + 1] < 2 || i + o[i + 1] > len)
			return;
		if (o[i] == TCPOPT_TIMESTAMP && o[i + 1] == TCPOLEN_TIMESTAMP) {
			seg->has_tsval = true;
			memcpy(&tsval, o + i + 2, sizeof(tsval));
			seg->tsval = ntohl(tsval);
			return;
		}
		i += o[i + 1];
	}
}

/**
 * ds_seg_parse() - read the headers of a segment
 * @skb: at a hook of @pf; its headers are made linear
 * @pf: NFPROTO_IPV4 or NFPROTO_IPV6
 * @tcp: from ds_seg_tcp_offset(), not 0
 * @seg: filled in
 *
 * Return: false when this is no TCP segment that TCP would look at.
 */
bool ds_seg_parse(struct sk_buff *skb, u8 pf, int tcp, struct ds_seg *seg)
{
	unsigned int off = skb_network_offset(skb);
	const struct tcphdr *th;
	unsigned int optlen;
	const u8 *opts;
	int ret;

	memset(seg, 0, sizeof(*seg));
	seg->pf = pf;
	seg->iplen = tcp;
	if (!pskb_may_pull(skb, off + seg->iplen + sizeof(*th)))
		return false;
	th = (const void *)(skb_network_header(skb) + seg->iplen);
	if (th->doff < sizeof(*th) / 4 ||
	    !pskb_may_pull(skb, off + seg->iplen + th->doff * 4))
		return false;
	th = (const void *)(skb_network_header(skb) + seg->iplen);
	seg->hdrlen = seg->iplen + th->doff * 4;
	if (skb->len - off < seg->hdrlen)
		return false;

	if (pf == NFPROTO_IPV4) {
		ipv6_addr_set_v4mapped(ip_hdr(skb)->saddr, &seg->saddr);
		ipv6_addr_set_v4mapped(ip_hdr(skb)->daddr, &seg->daddr);
	} else {
		seg->saddr = ipv6_hdr(skb)->saddr;
		seg->daddr = ipv6_hdr(skb)->daddr;
	}
	seg->sport = th->source;
	seg->dport = th->dest;
	seg->payload = skb->len - off - seg->hdrlen;
	seg->seq = ntohl(th->seq);
	seg->ack = ntohl(th->ack_seq);
	seg->syn = th->syn;
	seg->fin = th->fin;
	seg->rst = th->rst;
	seg->is_ack = th->ack;
	seg->end = seg->seq + seg->payload + seg->syn + seg->fin;
	seg->reach = seg->end;
	/* TCP writes 0xffff for what is farther away, and nobody knows how far. */
	if (th->urg && th->urg_ptr == htons(U16_MAX))
		seg->reach = seg->seq + FAR_AWAY;
	else if (th->urg && ds_seq_after(seg->seq + ntohs(th->urg_ptr), seg->reach))
		seg->reach = seg->seq + ntohs(th->urg_ptr);

	opts = (const u8 *)(th + 1);
	optlen = th->doff * 4 - sizeof(*th);
	if (optlen >= DISTSNAP_OPT_LEN) {
		ret = ds_option_find(opts, optlen, &seg->opt);
		seg->has_opt = ret > 0;
		seg->bad_opt = ret < 0 ? ret : 0;
	}
	parse_tsval(seg, opts, optlen);
	return true;
}

bool ds_seg_checksum_ok(struct sk_buff *skb, const struct ds_seg *seg,
			unsigned int hook)
{
	return !nf_checksum(skb, hook, seg->iplen, IPPROTO_TCP, seg->pf);
}

/* Time stamps go on by one per millisecond, mostly. */
#define LATE_MAX	10000

static bool stamp_is_recent(const struct tcp_sock *tp, const struct ds_seg *seg, int late)
{
	struct tcp_options_received opts = tp->rx_opt;

	opts.rcv_tsval = seg->tsval;
	return !opts.tstamp_ok || !seg->has_tsval || tcp_paws_check(&opts, late);
}

static u32 receive_window(const struct tcp_sock *tp)
{
	return max(tp->rcv_wnd, (u32)READ_ONCE(tp->window_clamp));
}

/* Neither beyond what TCP takes nor older than what the peer may still repeat. */
static bool in_windows(const struct tcp_sock *tp, const struct ds_seg *seg)
{
	return seg->is_ack && !seg->syn &&
	       !ds_seq_after(seg->ack, READ_ONCE(tp->write_seq)) &&
	       !ds_seq_before(seg->ack, tp->snd_una - max(tp->max_window, 1U << 16)) &&
	       !ds_seq_after(seg->seq, READ_ONCE(tp->rcv_nxt) + receive_window(tp));
}

/**
 * ds_seg_in_bounds() - might TCP accept a segment with these numbers?
 * @sk: the connection, not locked
 * @seg: the segment's headers
 *
 * The socket moves on while we look, and TCP raises snd_nxt only after it has
 * sent, so these bounds reject only what TCP is certain to reject too
 * (tcp_validate_incoming(), tcp_ack()).
 */
bool ds_seg_in_bounds(const struct sock *sk, const struct ds_seg *seg)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return in_windows(tp, seg) && !ds_seq_before(seg->end, tp->rcv_wup) &&
	       stamp_is_recent(tp, seg, TCP_PAWS_WINDOW);
}

/**
 * ds_seg_resets() - does TCP accept this reset, as things are?
 * @sk: the connection, not locked
 * @seg: the segment's headers
 *
 * What TCP sends for a socket that is gone acknowledges nothing and has no time stamp;
 * TCP asks for the exact sequence number (RFC 5961), or that of the FIN which it has
 * taken (tcp_reset_check()), or else for an acknowledgment of our SYN
 * (tcp_rcv_synsent_state_process()).
 */
bool ds_seg_resets(const struct sock *sk, const struct ds_seg *seg)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	unsigned int state = 1 << READ_ONCE(sk->sk_state);

	if (state & TCPF_SYN_SENT)
		return seg->is_ack && ds_seq_after(seg->ack, tp->snd_una) &&
		       !ds_seq_after(seg->ack, READ_ONCE(tp->write_seq));
	return seg->seq == READ_ONCE(tp->rcv_nxt) ||
	       (state & (TCPF_CLOSE_WAIT | TCPF_LAST_ACK | TCPF_CLOSING) &&
		seg->seq == READ_ONCE(tp->rcv_nxt) - 1);
}

/**
 * ds_seg_may_reset() - might TCP accept this reset when it gets to it?
 * @sk: the connection, not locked
 * @seg: the segment's headers
 *
 * The numbers may move on until it looks.
 */
bool ds_seg_may_reset(const struct sock *sk, const struct ds_seg *seg)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return ds_seg_resets(sk, seg) ||
	       (READ_ONCE(sk->sk_state) != TCP_SYN_SENT &&
		!ds_seq_before(seg->seq, READ_ONCE(tp->rcv_nxt)) &&
		!ds_seq_after(seg->seq, READ_ONCE(tp->rcv_nxt) + receive_window(tp)));
}

/**
 * ds_seg_is_plausible() - may the option of this segment act?
 * @sk: the connection, not locked
 * @skb: the segment at LOCAL_IN
 * @seg: its headers
 * @hook: NF_INET_LOCAL_IN
 *
 * What an option says is still true in a segment that others have overtaken, which
 * TCP takes for an old one, as many pure ACKs of a busy connection are on a network
 * that reorders.  Off-path forgers need the sequence window, the acknowledgment
 * window and the time stamp right at once.
 */
bool ds_seg_is_plausible(const struct sock *sk, struct sk_buff *skb,
			 const struct ds_seg *seg, unsigned int hook)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	/* Nothing from before the handshake: that was another connection. */
	u64 late = min_t(u64, max(receive_window(tp), 1U << 16),
			 READ_ONCE(tp->bytes_received) + 1);

	if (tp->rx_opt.tstamp_ok && !seg->has_tsval)
		return false;
	return in_windows(tp, seg) &&
	       !ds_seq_before(seg->seq, READ_ONCE(tp->rcv_nxt) - (u32)late) &&
	       stamp_is_recent(tp, seg, LATE_MAX) && ds_seg_checksum_ok(skb, seg, hook);
}

/* RFC 2675: the length of a packet of more than 64 KiB (gso_max_size). */
static struct hop_jumbo_hdr *jumbo_header(struct sk_buff *skb)
{
	return ipv6_hdr(skb)->nexthdr == NEXTHDR_HOP && !ipv6_hdr(skb)->payload_len ?
	       (struct hop_jumbo_hdr *)(ipv6_hdr(skb) + 1) : NULL;
}

/* The longest packet that its IP header can tell the length of. */
static unsigned int longest(struct sk_buff *skb, u8 pf)
{
	if (pf == NFPROTO_IPV4)
		return IP_MAX_MTU;
	return jumbo_header(skb) ? UINT_MAX : sizeof(struct ipv6hdr) + IPV6_MAXPLEN;
}

/* The lengths in the IP header, and what protects them. */
static void set_lengths(struct sk_buff *skb, u8 pf)
{
	unsigned int payload = skb->len - sizeof(struct ipv6hdr);
	struct hop_jumbo_hdr *jumbo;

	if (pf == NFPROTO_IPV4) {
		ip_hdr(skb)->tot_len = htons(skb->len);
		ip_send_check(ip_hdr(skb));
		return;
	}
	jumbo = jumbo_header(skb);
	if (jumbo)
		jumbo->jumbo_payload_len = htonl(payload);
	else
		ipv6_hdr(skb)->payload_len = htons(payload);
}

/*
 * The check sum of what it was and what it is now.  It is that of the pseudo header
 * alone, of which the length has changed, when a device is to complete it.  The
 * destination in it need not be the packet's (IPV6_RTHDR), so it is not made anew.
 */
static void set_checksum(struct sk_buff *skb, struct tcphdr *th, __wsum before, int grow)
{
	__wsum sum;

	if (skb->ip_summed == CHECKSUM_PARTIAL) {
		th->check = grow < 0 ? csum16_sub(th->check, htons(-grow)) :
				       csum16_add(th->check, htons(grow));
		skb->csum_start = skb_transport_header(skb) - skb->head;
		return;
	}
	th->check = 0;
	sum = csum_sub(csum_partial(th, th->doff * 4, 0), before);
	sum = grow < 0 ? csum_sub(sum, (__force __wsum)htons(-grow)) :
			 csum_add(sum, (__force __wsum)htons(grow));
	th->check = csum_fold(sum);
}

/**
 * ds_seg_tag() - put our option into an outgoing segment
 * @dn: for its counters
 * @skb: at LOCAL_OUT, from TCP: a clone whose header is ours to write
 * @seg: its headers; stale afterwards
 * @opt: what to say
 *
 * GSO copies the option to each segment and gso_size need not change; the room
 * below the MTU comes from ds_channel_reserve().  See xt_TCPOPTSTRIP,
 * __tcp_v4_send_check() and __tcp_v6_send_check().
 *
 * Return: 0, -ENOSPC when there is no room for it, or another errno; @skb is
 * untouched then.
 */
int ds_seg_tag(struct ds_net *dn, struct sk_buff *skb, const struct ds_seg *seg,
	       const struct ds_option *opt)
{
	u8 block[DS_TCP_OPTIONS_MAX], own[DISTSNAP_OPT_LEN];
	unsigned int fixed = seg->iplen + sizeof(struct tcphdr);
	unsigned int old = seg->hdrlen - fixed;
	const struct dst_entry *dst = skb_dst(skb);
	struct tcphdr *th;
	unsigned int wire;
	__wsum before = 0;
	int len, grow;

	/* TCP has a device sum up all but what it sends for nobody. */
	if (!dst || (skb->ip_summed != CHECKSUM_PARTIAL &&
		     (skb->ip_summed != CHECKSUM_NONE || !seg->rst || seg->payload)))
		return -EINVAL;
	ds_option_encode(own, opt);
	len = ds_option_add(block, skb_network_header(skb) + fixed, old, own);
	if (len < 0)
		return len;
	grow = len - old;
	if (grow < DISTSNAP_OPT_LEN)
		ds_count(dn, sack_trimmed);

	wire = skb_is_gso(skb) ? fixed + len + skb_shinfo(skb)->gso_size :
				 skb->len + grow;
	/* Segmentation takes it out again. */
	if (skb_is_gso(skb) && seg->pf == NFPROTO_IPV6 && jumbo_header(skb))
		wire -= sizeof(struct hop_jumbo_hdr);
	if (wire > dst_mtu(dst) || skb->len + grow > longest(skb, seg->pf))
		return -ENOSPC;
	if (skb_cow_head(skb, max(grow, 0)))
		return -ENOMEM;
	if (skb->ip_summed == CHECKSUM_NONE)
		before = csum_partial(skb_network_header(skb) + seg->iplen,
				      seg->hdrlen - seg->iplen, 0);
	if (grow > 0)
		skb_push(skb, grow);
	else
		skb_pull(skb, -grow);
	memmove(skb->data, skb->data + grow, fixed);
	skb_reset_network_header(skb);
	skb_set_transport_header(skb, seg->iplen);

	th = tcp_hdr(skb);
	memcpy(th + 1, block, len);
	th->doff = (sizeof(*th) + len) / 4;
	set_lengths(skb, seg->pf);
	set_checksum(skb, th, before, grow);
	ds_count(dn, tagged);
	return 0;
}
