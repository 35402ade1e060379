// SPDX-License-Identifier: GPL-2.0
/* Capturing sockets: positions, queues, anchors; and the log behind them. */
#include <linux/delay.h>
#include <linux/slab.h>
#include <net/tcp.h>

#include "addr.h"
#include "capture.h"
#include "channel.h"
#include "member.h"
#include "mutant.h"
#include "segment.h"

/*
 * What is kept counts with all the memory that it pins: a byte in a segment of
 * its own keeps a whole buffer.
 */
static bool charge(struct ds_member *m, struct ds_cut *cut, struct sk_buff *c)
{
	struct ds_snap *snap = cut->rec->snap;

	if (atomic64_add_return(c->truesize, &snap->bytes) <=
	    READ_ONCE(m->group->limits.bytes_max))
		return true;
	atomic64_sub(c->truesize, &snap->bytes);
	return false;
}

/* ds_forget() - free what was kept, taken off its queue */
void ds_forget(struct ds_cut *cut, struct sk_buff *c)
{
	if (ds_mutant(leak_bytes))
		return;
	atomic64_sub(c->truesize, &cut->rec->snap->bytes);
	kfree_skb(c);
}

/*
 * Keep the bytes and nothing else that would be missed elsewhere: route, owner,
 * conntrack, extensions, device.  The pages are shared with TCP, which does not
 * write to what it has queued; pages of others (zero copy, splice) may change, so
 * those are copied.  What is to be sent gets page references of its own: TCP
 * splits unsent segments in place (tso_fragment()) and would cut a clone short.
 */
static struct sk_buff *keep(struct sk_buff *skb, bool unsent)
{
	struct sk_buff *c;

	if (skb_zcopy(skb) || skb_has_shared_frag(skb))
		c = skb_copy(skb, GFP_ATOMIC | __GFP_NOWARN);
	else if (unsent && !ds_mutant(clone_unsent))
		c = pskb_copy(skb, GFP_ATOMIC | __GFP_NOWARN);
	else
		c = skb_clone(skb, GFP_ATOMIC | __GFP_NOWARN);
	if (!c)
		return NULL;
	skb_dst_drop(c);
	skb_orphan(c);
	nf_reset_ct(c);
	skb_ext_reset(c);
	c->dev = NULL;
	return c;
}

/* Queue a clone of a segment of a socket queue, unless it has no byte. */
static void keep_queued(struct ds_member *m, struct ds_cut *cut,
			enum distsnap_origin origin, struct sk_buff *skb)
{
	struct sk_buff *c;

	if (!skb->len)
		return;
	if ((ds_mutant(no_sendq) && origin == DISTSNAP_ORIGIN_SENDQ) ||
	    (ds_mutant(no_recvq) && origin == DISTSNAP_ORIGIN_RECVQ) ||
	    (ds_mutant(no_ofo) && origin == DISTSNAP_ORIGIN_OFO))
		return;
	if (origin == DISTSNAP_ORIGIN_SENDQ) {
		/* The route's place holds the list of unacknowledged segments. */
		tcp_skb_tsorted_save(skb) {
			c = keep(skb, true);
		} tcp_skb_tsorted_restore(skb);
	} else {
		c = keep(skb, false);
	}
	if (c && !charge(m, cut, c)) {
		kfree_skb(c);
		c = NULL;
	}
	if (!c) {
		cut->flags |= DISTSNAP_CUT_TRUNCATED;
		ds_count(m->group->dn, capture_dropped);
		return;
	}
	TCP_SKB_CB(c)->seq = TCP_SKB_CB(skb)->seq;
	/* A SYN takes a number and no byte. */
	if (TCP_SKB_CB(skb)->tcp_flags & TCPHDR_SYN)
		TCP_SKB_CB(c)->seq++;
	__skb_queue_tail(&cut->q[origin], c);
}

static void capture_queues(struct ds_member *m, struct ds_cut *cut, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct sk_buff *skb;
	struct rb_node *p;

	for (p = rb_first(&sk->tcp_rtx_queue); p; p = rb_next(p))
		keep_queued(m, cut, DISTSNAP_ORIGIN_SENDQ, rb_to_skb(p));
	skb_queue_walk(&sk->sk_write_queue, skb)
		keep_queued(m, cut, DISTSNAP_ORIGIN_SENDQ, skb);
	skb_queue_walk(&sk->sk_receive_queue, skb)
		keep_queued(m, cut, DISTSNAP_ORIGIN_RECVQ, skb);
	for (p = rb_first(&tp->out_of_order_queue); p; p = rb_next(p))
		keep_queued(m, cut, DISTSNAP_ORIGIN_OFO, rb_to_skb(p));
}

/* An urgent byte that was read out of band is skipped only by the next read. */
static u32 read_position(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return tp->copied_seq + (tp->urg_data == TCP_URG_READ &&
				 tp->copied_seq == tp->urg_seq &&
				 !sock_flag(sk, SOCK_URGINLINE));
}

static void capture_positions(struct ds_channel *ch, struct ds_cut *cut)
{
	const struct tcp_sock *tp = tcp_sk(ch->sk);
	unsigned int state = 1 << ch->sk->sk_state;

	cut->tcp_state = ch->sk->sk_state;
	if (ch->unborn)
		return;
	cut->snd_una = tp->snd_una;
	cut->rcv_nxt = tp->rcv_nxt;
	/* 64-bit offsets: the counters of bytes, less what the SYN takes. */
	cut->out_una = tp->bytes_acked -
		       (u32)((u32)tp->bytes_acked - (tp->snd_una - ch->isn - 1));
	cut->out_sent = cut->out_una + (u32)(tp->write_seq - tp->snd_una);
	cut->in_next = tp->bytes_received;
	cut->in_read = cut->in_next - (u32)(tp->rcv_nxt - read_position(ch->sk));
	if (state & (TCPF_FIN_WAIT1 | TCPF_FIN_WAIT2 | TCPF_CLOSING | TCPF_LAST_ACK) ||
	    (state == TCPF_CLOSE && ch->fin_out))
		cut->flags |= DISTSNAP_CUT_FIN_OUT;
	if (state & (TCPF_CLOSE_WAIT | TCPF_LAST_ACK | TCPF_CLOSING) ||
	    (state == TCPF_CLOSE && ch->fin_in))
		cut->flags |= DISTSNAP_CUT_FIN_IN;
	if (state == TCPF_CLOSE && ch->reset)
		cut->flags |= DISTSNAP_CUT_RESET;
}

/**
 * ds_capture_final() - the positions of a socket that TCP is about to forget
 * @ch: the channel
 * @cut: a tombstone
 *
 * What has not been read is lost with it, and was received in no other sense.
 *
 * Context: the socket's lock, member->lock.
 */
void ds_capture_final(struct ds_channel *ch, struct ds_cut *cut)
{
	capture_positions(ch, cut);
	cut->tcp_state = TCP_CLOSE;
	cut->in_read = cut->in_next;
	cut->marker = cut->rcv_nxt;
	cut->flags = DISTSNAP_CUT_TOMB | DISTSNAP_CUT_CLOSED | DISTSNAP_CUT_LEFT |
		     (ch->fin_out ? DISTSNAP_CUT_FIN_OUT : 0) |
		     (ch->fin_in ? DISTSNAP_CUT_FIN_IN : DISTSNAP_CUT_SHORT) |
		     (ch->reset ? DISTSNAP_CUT_RESET : 0);
	cut->captured = true;
}

/* What the queues cover need not be kept twice. */
static void trim_log(struct ds_cut *cut)
{
	struct sk_buff *skb, *tmp;

	skb_queue_walk_safe(&cut->q[DISTSNAP_ORIGIN_LOG], skb, tmp) {
		if (ds_seq_after(TCP_SKB_CB(skb)->end_seq, cut->rcv_nxt))
			continue;
		__skb_unlink(skb, &cut->q[DISTSNAP_ORIGIN_LOG]);
		ds_forget(cut, skb);
	}
}

static void forget_queues(struct ds_cut *cut)
{
	struct sk_buff *skb;
	unsigned int i;

	for (i = DISTSNAP_ORIGIN_SENDQ; i <= DISTSNAP_ORIGIN_OFO; i++) {
		while ((skb = __skb_dequeue(&cut->q[i])))
			ds_forget(cut, skb);
	}
	cut->flags &= ~(DISTSNAP_CUT_FIN_IN | DISTSNAP_CUT_FIN_OUT | DISTSNAP_CUT_RESET);
	if (!cut->log_lost)
		cut->flags &= ~DISTSNAP_CUT_TRUNCATED;
	cut->captured = false;
}

/*
 * One socket, under its lock: cloning takes microseconds where copying the
 * queues took up to 0.6 s.  The backlog needs no capture: it is empty while the
 * socket has no owner.
 */
static bool capture_channel(struct ds_member *m, struct ds_channel *ch)
{
	struct ds_cut *cut = ch->cut;

	if (!ds_channel_lock_sock(ch))
		return false;
	spin_lock(&m->lock);
	if (cut->captured)
		forget_queues(cut);
	/* The socket is another connection now: buried when all is observed again. */
	if (ch->stale) {
		spin_unlock(&m->lock);
		ds_channel_unlock_sock(ch);
		return true;
	}
	if (ch->unborn) {
		ds_channel_identify(ch);
		ds_cut_begin(cut, ch);
	} else {
		ds_channel_recheck(ch);
	}
	if (ch->peer == DISTSNAP_PEER_UNSUPPORTED) {
		cut->peer = ch->peer;
		if (ch->ends.out_epoch == m->colour.current_epoch)
			ds_disarm(&ch->ends);
		ds_record_settled(cut->rec, cut, true, 0);
		ds_record_settled(cut->rec, cut, false, 0);
	}
	capture_positions(ch, cut);
	if (ds_channel_waits_for_peer(ch)) {
		capture_queues(m, cut, ch->sk);
		trim_log(cut);
		ds_arm(&m->colour, &ch->ends, tcp_sk(ch->sk)->write_seq,
		       m->flags & DISTSNAP_F_LIGHT);
	}
	cut->captured = true;
	if (cut->flags & DISTSNAP_CUT_FIN_IN) {
		cut->fin = true;
		if (cut->pending_in)
			cut->marker = cut->rcv_nxt;
		ds_record_settled(cut->rec, cut, true, DISTSNAP_CUT_CLOSED);
	}
	if (ch->sk->sk_state == TCP_CLOSE) {	/* with bytes unread */
		if (cut->pending_in)
			cut->marker = cut->rcv_nxt;
		ds_record_settled(cut->rec, cut, true, DISTSNAP_CUT_CLOSED |
				  DISTSNAP_CUT_SHORT);
		ds_record_settled(cut->rec, cut, false, DISTSNAP_CUT_LEFT);
	}
	spin_unlock(&m->lock);
	/* Now, so that whatever is built from here on has room for its tag. */
	if (ds_channel_waits_for_peer(ch) && ch->sk->sk_state != TCP_CLOSE)
		ds_channel_reserve(ch);
	ds_channel_unlock_sock(ch);
	return true;
}

/**
 * ds_capture() - capture all sockets and threads of a parked member
 * @m: the member, parked
 * @rec: its record; each channel has a cut that is logging, and a grace period
 *	has ended since
 * @deadline: give up then
 *
 * A sleeper that wakes in the middle may move bytes in one socket before and in
 * another after its capture, or finish its call: then all is captured again.
 * One that wakes afterwards changes nothing that was recorded: what it sends
 * waits at the gate, and what it receives was recorded as not received.
 *
 * Context: process, member->mutex.
 *
 * Return: 0; -EAGAIN when a connection has come that is not observed yet;
 * -ETIMEDOUT, with a reason; -ENOMEM.
 */
int ds_capture(struct ds_member *m, struct ds_record *rec, ktime_t deadline)
{
	char from[DS_ENDPOINT_LEN], to[DS_ENDPOINT_LEN];
	struct ds_channel *ch;
	bool fresh = false;
	int err;

	lockdep_assert_held(&m->mutex);
	for (;;) {
		struct ds_channel *busy = NULL;
		ktime_t began = ktime_get();

		err = ds_park_look(m, rec);
		if (err && err != -EAGAIN)
			return err;
		if (ds_mutant(no_unmoved))
			msleep(20);
		if (!err) {
			list_for_each_entry(ch, &m->channels, node) {
				if (ch->cut && !capture_channel(m, ch)) {
					busy = ch;
					break;
				}
			}
			if (!busy && ds_park_unmoved(m))
				break;
		}
		ds_count(m->group->dn, capture_retried);
		if (ds_member_given_up(m))
			return -ECANCELED;
		if (ktime_after(ktime_get(), deadline)) {
			if (busy)
				ds_reason_add(&rec->reasons,
					      "member %s: connection %s -> %s stays busy in a call",
					      m->name,
					      ds_endpoint_text(from, &busy->saddr, busy->sport),
					      ds_endpoint_text(to, &busy->daddr, busy->dport));
			else
				ds_reason_add(&rec->reasons,
					      "member %s: its threads do not keep still",
					      m->name);
			return -ETIMEDOUT;
		}
		ds_workers_pause(began);
	}
	if (ds_mutant(late_log))
		mdelay(2);
	spin_lock_bh(&m->lock);
	/* None is born while the member is recorded; but it must not be missed. */
	list_for_each_entry(ch, &m->channels, node)
		fresh |= !ch->cut || ch->stale || (ch->cut->unborn && !ch->unborn);
	if (fresh) {
		spin_unlock_bh(&m->lock);
		return -EAGAIN;
	}
	m->colour.phase = DS_CAPTURED;
	if (ds_mutant(late_log))
		list_for_each_entry(ch, &m->channels, node)
			ch->cut->logging = ch->cut->pending_in;
	rec->state = DISTSNAP_S_CAPTURED;
	spin_unlock_bh(&m->lock);
	return 0;
}

/* ds_capture_undo() - after an abort; context: process, member->mutex */
void ds_capture_undo(struct ds_member *m)
{
	struct ds_channel *ch;

	list_for_each_entry(ch, &m->channels, node)
		ds_channel_unreserve(ch);
}

/**
 * ds_log() - keep a clone of an incoming segment
 * @m: the member
 * @cut: its cut, logging
 * @skb: at LOCAL_IN, its checksum is right; NULL when there was no memory to copy it
 * @seg: its headers
 *
 * From the trigger until the channel's marker is in.  What TCP will drop as a
 * duplicate is kept as well: it is the same bytes.
 *
 * Context: member->lock.
 */
void ds_log(struct ds_member *m, struct ds_cut *cut, struct sk_buff *skb,
	    const struct ds_seg *seg)
{
	struct ds_net *dn = m->group->dn;
	struct sk_buff *c;

	lockdep_assert_held(&m->lock);
	if (cut->captured && !ds_seq_after(seg->end, cut->rcv_nxt))
		return;
	c = skb ? keep(skb, false) : NULL;
	if (c && !charge(m, cut, c)) {
		kfree_skb(c);
		c = NULL;
	}
	if (!c) {
		cut->log_lost = true;
		cut->flags |= DISTSNAP_CUT_TRUNCATED;
		ds_count(dn, log_dropped);
		return;
	}
	__skb_pull(c, skb_network_offset(c) + seg->hdrlen);
	TCP_SKB_CB(c)->seq = seg->seq + seg->syn;
	TCP_SKB_CB(c)->end_seq = seg->end;
	__skb_queue_tail(&cut->q[DISTSNAP_ORIGIN_LOG], c);
	ds_count(dn, logged);
}
