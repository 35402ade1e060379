// SPDX-License-Identifier: GPL-2.0
/* Handshakes; see handshake.h. */
#include <linux/percpu.h>
#include <net/request_sock.h>
#include <net/tcp.h>

#include "capture.h"
#include "channel.h"
#include "compat.h"
#include "handshake.h"
#include "hooks.h"
#include "mutant.h"
#include "stream.h"
#include "timers.h"

/*
 * The segment that TCP is completing a handshake with, on this processor, with BH
 * off; TCP gives birth to the socket in the middle of it.
 */
struct birth {
	struct ds_member *member;
	const struct ds_seg *seg;
	bool trusted;
	struct ds_channel *ch;	/* what came of it, with a reference */
};

static DEFINE_PER_CPU(struct birth *, birth);

/* What the other side shows of itself in a handshake. */
static u32 shown(const struct ds_seg *seg, bool *open)
{
	const u8 closed = DISTSNAP_OPT_PROBE | DISTSNAP_OPT_REPLY | DISTSNAP_OPT_NAK;

	*open = !(seg->opt.flags & closed) || seg->opt.open;
	return seg->opt.epoch;
}

/**
 * ds_handshake_trust() - what is the option of a segment worth that needs no connection?
 * @g: the group
 * @skb: at LOCAL_IN
 * @seg: its headers
 * @state: of the hook
 *
 * Context: RCU.
 */
enum ds_trust ds_handshake_trust(struct ds_group *g, struct sk_buff *skb,
				 const struct ds_seg *seg,
				 const struct nf_hook_state *state)
{
	if (!ds_option_is_ours(g, seg))
		return DS_IGNORED;
	ds_count(g->dn, opt_received);
	return ds_option_trust(g, &seg->opt, ds_seg_checksum_ok(skb, seg, state->hook));
}

/**
 * ds_handshake_level() - is the member on a level with who sends this segment?
 * @ch: the channel that it is for; of a listening socket, perhaps
 * @skb: at LOCAL_IN
 * @seg: its headers
 * @state: of the hook
 * @trust: from ds_handshake_trust(), not DS_DISTRUSTED
 *
 * If not, the segment waits or, when it cannot, is dropped: TCP repeats it.
 *
 * Context: member->lock.
 *
 * Return: the hook's verdict.
 */
unsigned int ds_handshake_level(struct ds_channel *ch, struct sk_buff *skb,
				const struct ds_seg *seg,
				const struct nf_hook_state *state, enum ds_trust trust)
{
	struct ds_member *m = ch->member;
	struct ds_net *dn = m->group->dn;
	bool open = false;
	u32 epoch = 0;

	lockdep_assert_held(&m->lock);
	if (m->gone)
		return NF_ACCEPT;
	if (trust >= DS_TRUSTED_SKIP)
		epoch = shown(seg, &open);
	if (trust == DS_TRUSTED_SKIP)
		ds_skip(&m->colour, epoch);
	if (ds_queue_must_follow(&m->hold, ch, skb))
		return ds_queue_steal(&m->hold, ch, skb, seg, state);

	switch (ds_level(&m->colour, epoch, open)) {
	case DS_GO_ON:
		return NF_ACCEPT;
	case DS_SKIP:
		ds_count(dn, levelled_skip);
		trace_ds_levelled(m, ch, seg, NULL, epoch, 0, DS_HOW_SKIP);
		ds_skip(&m->colour, epoch);
		return NF_ACCEPT;
	case DS_RECORD:
		ds_count(dn, levelled);
		trace_ds_levelled(m, ch, seg, NULL, epoch, 0, DS_HOW_RECORD);
		if (ds_member_trigger(m, epoch, seg->opt.flags & DISTSNAP_OPT_LIGHT,
				      DS_HOW_HANDSHAKE, ch, seg))
			ds_group_want(m->group, epoch, m->flags);
		break;
	case DS_WAIT:
		break;
	}
	ds_count(dn, held);
	return ds_queue_steal(&m->hold, ch, skb, seg, state);
}

/* The epoch whose record has room for a connection that is born now, or 0. */
static u32 open_epoch(const struct ds_member *m)
{
	return m->rec && m->rec->state == DISTSNAP_S_RECORDED &&
	       m->colour.phase == DS_IDLE ? m->rec->snap->epoch : 0;
}

/*
 * Did the peer have this connection when it recorded our last epoch, or will it
 * have?  Ours begins after our recording.  Context: member->lock.
 */
static bool peer_is_behind(const struct ds_member *m, const struct ds_seg *seg, bool trusted)
{
	if (!trusted || ds_mutant(no_born_cut) || m->colour.recorded != m->colour.level)
		return false;
	/* A marker of the same epoch: it has recorded this connection. */
	return ds_epoch_after(m->colour.recorded, seg->opt.epoch) ||
	       (seg->opt.epoch == m->colour.recorded &&
		seg->opt.flags & DISTSNAP_OPT_MARKER);
}

/*
 * Mark all that we send, and have a cut of it if the record is still open; if not,
 * the peer's record misses this end, and the snapshot is incomplete.
 */
static void mark(struct ds_channel *ch)
{
	struct ds_member *m = ch->member;

	if (open_epoch(m)) {
		ds_count(m->group->dn, born_in_cut);
		ds_cut_born(m->rec, ch);
	} else {
		ds_count(m->group->dn, born_behind);
		if (ds_mutant(no_late_marker))
			return;
	}
	ds_arm_late(&m->colour, &ch->ends, ch->isn + 1, m->recorded_light);
	ds_channel_reserve(ch);
	ch->backoff = DS_MARKER_MIN;
	ch->next = jiffies + ch->backoff;
	ds_group_wake(m->group, 0);
}

/* The listening socket's member gets a connection. */
static void give_birth(struct ds_member *m, struct sock *sk, struct birth *b)
{
	/* The SYN-ACK asked: a member has answered with this segment. */
	struct ds_channel *ch = ds_channel_new(m, sk, TCP_ESTABLISHED,
					       !b ? DISTSNAP_PEER_CONNECTING : b->trusted ?
					       DISTSNAP_PEER_MEMBER : DISTSNAP_PEER_EXTERNAL);
	bool inserted;

	if (!ch)
		return;
	/* All at once: the connection's next segment may be in our hook already. */
	spin_lock_bh(&m->lock);
	inserted = ds_channel_insert(ch);
	if (inserted)
		ds_channel_born(ch);
	if (inserted && b && ch->peer == DISTSNAP_PEER_MEMBER) {
		if (b->seg->opt.flags & DISTSNAP_OPT_PROBE &&
		    b->seg->opt.anchor != ch->peer_isn)
			ch->peer = DISTSNAP_PEER_REWRITTEN;
		else if (peer_is_behind(m, b->seg, b->trusted))
			mark(ch);
	}
	if (inserted)
		trace_ds_tracked(m, ch, NULL, NULL, 0, 0, DS_HOW_CONNECTED);
	spin_unlock_bh(&m->lock);
	if (inserted && b && ds_channel_get_maybe_zero(ch))
		b->ch = ch;
	if (!inserted)
		ds_channel_put(ch);
}

/**
 * ds_handshake_accepted() - TCP has just established a connection on its own
 * @sk: from SYN_RECV to ESTABLISHED
 *
 * Context: the child's lock, BH off, RCU.
 */
void ds_handshake_accepted(struct sock *sk)
{
	struct birth *b = __this_cpu_read(birth);
	struct in6_addr here, there;
	struct ds_channel *lis;
	struct sock *parent;

	if (b && b->seg->sport == inet_sk(sk)->inet_dport &&
	    b->seg->dport == inet_sk(sk)->inet_sport) {
		give_birth(b->member, sk, b);
		return;
	}
	ds_channel_addresses(sk, &here, &there);
	parent = ds_find_listener(sock_net(sk), &there, inet_sk(sk)->inet_dport,
				  &here, inet_sk(sk)->inet_num, sk->sk_bound_dev_if);
	lis = parent ? ds_channel_find_rcu(parent) : NULL;
	if (lis)
		give_birth(lis->member, sk, NULL);
}

/*
 * What comes with this segment is logged when TCP has it, and perhaps acknowledged,
 * so that the peer's marker may be here before: the record must not be finished.
 * Context: member->lock.  Returns the epoch of the record, 0 when there is none.
 */
static u32 log_begins(struct ds_member *m)
{
	u32 epoch = open_epoch(m);

	if (epoch)
		m->rec->pending++;
	return epoch;
}

/* @ch: who has got the bytes, or NULL; @clone: NULL without memory */
static void log_ends(struct ds_member *m, struct ds_channel *ch, u32 epoch,
		     struct sk_buff *clone, const struct ds_seg *seg)
{
	lockdep_assert_held(&m->lock);
	if (!epoch || !m->rec || m->rec->snap->epoch != epoch)
		return;
	if (ch && ch->cut && ch->cut->captured && ds_channel_waits_for_peer(ch))
		ds_log(m, ch->cut, clone, seg);
	if (!--m->rec->pending)
		ds_group_wake(m->group, 0);
}

/* What was said and sent with the last segment of the handshake. */
static void after_birth(struct birth *b, u32 epoch, struct sk_buff *clone, u64 sent_us)
{
	struct ds_member *m = b->member;
	struct ds_channel *ch = b->ch;

	spin_lock_bh(&m->lock);
	log_ends(m, ch, epoch, clone, b->seg);
	if (b->trusted && b->seg->opt.flags & DISTSNAP_OPT_MARKER)
		ds_stream_option(ch, b->seg);
	if (m->late_births && sent_us && sent_us < m->published_us)
		ds_record_born(m);
	spin_unlock_bh(&m->lock);
	ds_channel_put(ch);
}

/*
 * Another segment, on another processor, has completed the handshake before this
 * one, which TCP has given to the connection: it is to be logged as any other.
 */
static void log_twin(struct ds_member *m, u32 epoch, struct sk_buff *clone,
		     const struct ds_seg *seg, const struct nf_hook_state *state)
{
	struct sock *sk = !clone ? NULL :
			  ds_find_established(state, clone, &seg->saddr, seg->sport,
					      &seg->daddr, ntohs(seg->dport));
	struct ds_channel *ch = sk && sk_fullsock(sk) ? ds_channel_find_rcu(sk) : NULL;

	spin_lock_bh(&m->lock);
	log_ends(m, ch && ch->member == m ? ch : NULL, epoch, clone, seg);
	spin_unlock_bh(&m->lock);
	if (sk)
		sock_gen_put(sk);
}

/* @epoch: from log_begins(), if what comes with the segment is to be logged; or NULL */
static unsigned int level_in(struct ds_channel *lis, struct sk_buff *skb,
			     const struct ds_seg *seg, const struct nf_hook_state *state,
			     bool *trusted, u32 *epoch)
{
	enum ds_trust t = ds_handshake_trust(lis->member->group, skb, seg, state);
	bool sound = seg->payload && ds_seg_checksum_ok(skb, seg, state->hook);
	struct ds_member *m = lis->member;
	unsigned int verdict;

	*trusted = t >= DS_TRUSTED_SKIP;
	/* Red, perhaps, and nobody knows: TCP repeats what is real. */
	if (t == DS_DISTRUSTED)
		return NF_DROP;
	spin_lock_bh(&m->lock);
	verdict = ds_handshake_level(lis, skb, seg, state, t);
	if (verdict == NF_ACCEPT && sound && epoch)
		*epoch = log_begins(m);
	spin_unlock_bh(&m->lock);
	return verdict;
}

/*
 * A segment that TCP will complete a handshake with.  @sent_us: when the SYN-ACK was
 * sent first, 0 not known.
 */
static unsigned int complete_in(struct ds_channel *lis, struct sk_buff *skb,
				const struct ds_seg *seg,
				const struct nf_hook_state *state, u64 sent_us)
{
	struct ds_member *m = lis->member;
	struct birth b = { .member = m, .seg = seg };
	struct sk_buff *clone = NULL;
	unsigned int verdict;
	u32 epoch = 0;

	verdict = level_in(lis, skb, seg, state, &b.trusted, &epoch);
	if (verdict != NF_ACCEPT)
		return verdict;
	if (epoch)
		clone = skb_clone(skb, GFP_ATOMIC | __GFP_NOWARN);

	__this_cpu_write(birth, &b);
	ds_hooks_go_on(skb, (struct nf_hook_state *)state);
	__this_cpu_write(birth, NULL);
	if (b.ch)
		after_birth(&b, epoch, clone, sent_us);
	else if (epoch)
		log_twin(m, epoch, clone, seg, state);
	kfree_skb(clone);
	return NF_STOLEN;
}

/**
 * ds_handshake_ack_in() - a segment to a request, which may complete its handshake
 * @lis: the listening socket's channel
 * @req: the request
 * @skb: at LOCAL_IN
 * @seg: its headers
 * @state: of the hook
 *
 * Any segment in sequence that acknowledges our SYN may be the one that completes
 * it: the plain ACK may have been lost (tcp_check_req()).  A reset ends it, and must
 * not overtake an ACK that waits here: the connection would not be there to accept.
 *
 * Context: BH off, RCU.
 *
 * Return: the hook's verdict.
 */
unsigned int ds_handshake_ack_in(struct ds_channel *lis, const struct request_sock *req,
				 struct sk_buff *skb, const struct ds_seg *seg,
				 const struct nf_hook_state *state)
{
	const struct tcp_request_sock *treq = tcp_rsk(req);
	bool trusted;

	if (seg->rst && seg->seq == treq->rcv_nxt)
		return level_in(lis, skb, seg, state, &trusted, NULL);
	if (!seg->is_ack || seg->syn || seg->rst || seg->ack != treq->snt_isn + 1 ||
	    ds_seq_before(seg->seq, treq->rcv_isn + 1) ||
	    ds_seq_after(seg->seq, treq->rcv_nxt + req->rsk_rcv_wnd))
		return NF_ACCEPT;
	return complete_in(lis, skb, seg, state, treq->snt_synack);
}

/**
 * ds_handshake_cookie_in() - a segment that no socket or request waits for
 * @skb: at LOCAL_IN
 * @seg: its headers
 * @state: of the hook
 *
 * A listening socket with too many requests remembers none, but knows by their SYN
 * cookies those that it has answered (cookie_v4_check()).
 *
 * Context: BH off, RCU.
 *
 * Return: the hook's verdict.
 */
unsigned int ds_handshake_cookie_in(struct sk_buff *skb, const struct ds_seg *seg,
				    const struct nf_hook_state *state)
{
	const void *iph = skb_network_header(skb);
	struct ds_channel *lis;
	struct sock *sk;

	if (!seg->is_ack || seg->syn || seg->rst)
		return NF_ACCEPT;
	sk = ds_find_listener(state->net, &seg->saddr, seg->sport, &seg->daddr,
			      ntohs(seg->dport), skb->skb_iif);
	lis = sk ? ds_channel_find_rcu(sk) : NULL;
	if (!lis || !ds_cookie_is_ours(iph, iph + seg->iplen, state->pf == NFPROTO_IPV4))
		return NF_ACCEPT;
	ds_count(lis->member->group->dn, cookies);
	return complete_in(lis, skb, seg, state, 0);
}

/* Would TCP take it for an answer to our SYN, or to the SYN-ACK that came of it? */
static bool answers_us(const struct ds_channel *ch, const struct ds_seg *seg)
{
	const struct tcp_sock *tp = tcp_sk(ch->sk);

	/* Not snd_nxt: TCP raises it after it has sent the SYN (tcp_connect()). */
	return ds_seq_after(seg->ack, tp->snd_una) &&
	       !ds_seq_after(seg->ack, READ_ONCE(tp->write_seq)) &&
	       (seg->syn || (!ds_seq_before(seg->seq, tp->rcv_nxt) &&
			     !ds_seq_after(seg->seq, tp->rcv_nxt + tp->rcv_wnd)));
}

/* Who is it that answers?  Nobody knows yet who crosses. */
static enum distsnap_peer who_answers(const struct ds_channel *ch, const struct ds_seg *seg,
				      enum ds_trust trust)
{
	u32 isn = seg->syn ? seg->seq : tcp_sk(ch->sk)->rcv_nxt - 1;

	if (trust == DS_IGNORED)
		return seg->is_ack ? DISTSNAP_PEER_EXTERNAL : DISTSNAP_PEER_UNKNOWN;
	return seg->opt.flags & DISTSNAP_OPT_MARKER || seg->opt.anchor == isn ?
	       DISTSNAP_PEER_MEMBER : DISTSNAP_PEER_REWRITTEN;
}

/* The connection, and its cut, come with the first bytes. */
static unsigned int go_on_logged(struct ds_channel *ch, struct sk_buff *skb,
				 const struct ds_seg *seg,
				 const struct nf_hook_state *state, u32 epoch)
{
	struct sk_buff *clone = skb_clone(skb, GFP_ATOMIC | __GFP_NOWARN);
	struct ds_member *m = ch->member;

	ds_hooks_go_on(skb, (struct nf_hook_state *)state);
	spin_lock_bh(&m->lock);
	log_ends(m, ch, epoch, clone, seg);
	spin_unlock_bh(&m->lock);
	kfree_skb(clone);
	return NF_STOLEN;
}

/**
 * ds_handshake_answer_in() - a segment that answers our SYN, or a SYN that crosses it
 * @ch: unborn
 * @skb: at LOCAL_IN
 * @seg: its headers
 * @state: of the hook
 *
 * Where SYNs have crossed (RFC 9293, 3.5), both sides answer with SYN-ACKs, and any
 * segment that acknowledges ours establishes the connection.
 *
 * Context: BH off, RCU.
 *
 * Return: the hook's verdict.
 */
unsigned int ds_handshake_answer_in(struct ds_channel *ch, struct sk_buff *skb,
				    const struct ds_seg *seg,
				    const struct nf_hook_state *state)
{
	struct ds_member *m = ch->member;
	enum ds_trust t = DS_IGNORED;
	unsigned int verdict;
	bool sound = false;
	u32 epoch = 0;

	if (seg->is_ack ? !answers_us(ch, seg) : !seg->syn)
		return NF_ACCEPT;
	/* Without an acknowledgment anybody may have sent it. */
	if (seg->is_ack)
		t = ds_handshake_trust(m->group, skb, seg, state);
	if (t == DS_DISTRUSTED)
		return NF_DROP;
	if (seg->payload)
		sound = ds_seg_checksum_ok(skb, seg, state->hook);

	spin_lock_bh(&m->lock);
	verdict = ds_handshake_level(ch, skb, seg, state, t);
	if (verdict == NF_ACCEPT && !m->gone && ch->unborn) {
		ch->peer = who_answers(ch, seg, t);
		ch->lags = peer_is_behind(m, seg, t >= DS_TRUSTED_SKIP);
		/* Of crossing SYNs both answer: that is the greeting. */
		ch->greeting = ch->peer == DISTSNAP_PEER_MEMBER ||
			       ch->peer == DISTSNAP_PEER_UNKNOWN;
		if (ch->greeting)
			ds_group_wake(m->group, DS_PROBE_MIN);
		if (ch->lags && sound)
			epoch = log_begins(m);
	}
	spin_unlock_bh(&m->lock);
	return epoch ? go_on_logged(ch, skb, seg, state, epoch) : verdict;
}

/**
 * ds_handshake_connected() - a connection that we have asked for is established
 * @ch: unborn
 * @crossed: both sides have
 *
 * Whoever answers a plain SYN has the connection after us.  Where SYNs have crossed
 * the peer may have it before.
 *
 * Context: the socket's lock, member->lock, RCU.
 */
void ds_handshake_connected(struct ds_channel *ch, bool crossed)
{
	struct ds_member *m = ch->member;
	bool late = ch->cut && ch->cut->unborn && ch->cut->tcp_state == TCP_SYN_RECV;

	lockdep_assert_held(&m->lock);
	ds_channel_born(ch);
	trace_ds_born(m, ch, NULL, NULL, 0, 0, DS_HOW_NONE);
	if (!crossed)
		return;
	if (ch->lags && ch->peer == DISTSNAP_PEER_MEMBER)
		mark(ch);
	if (late)
		ds_record_born(m);
}

/**
 * ds_handshake_synack_out() - a SYN-ACK shows the last epoch that lies behind us
 * @sk: the request that it belongs to; NULL for one with a SYN cookie
 * @skb: at LOCAL_OUT
 * @seg: its headers
 * @state: of the hook
 *
 * Context: BH off, RCU.
 *
 * Return: the hook's verdict; never to leave bare where a member may be.
 */
unsigned int ds_handshake_synack_out(const struct sock *sk, struct sk_buff *skb,
				     const struct ds_seg *seg,
				     const struct nf_hook_state *state)
{
	const struct sock *parent;
	struct ds_channel *lis;
	struct ds_option opt;
	struct ds_member *m;
	int err;

	if (!seg->syn || !seg->is_ack)
		return NF_ACCEPT;
	parent = sk ? inet_reqsk(sk)->rsk_listener :
		      ds_find_listener(state->net, &seg->daddr, seg->dport, &seg->saddr,
				       ntohs(seg->sport), 0);
	lis = parent ? ds_channel_find_rcu(parent) : NULL;
	if (!lis)
		return NF_ACCEPT;
	m = lis->member;
	if (!ds_group_allows_rcu(m->group, &seg->daddr))
		return NF_ACCEPT;
	spin_lock_bh(&m->lock);
	ds_probe_compose(m, seg->seq, &opt);
	err = m->gone ? 0 : ds_seg_tag(m->group->dn, skb, seg, &opt);
	spin_unlock_bh(&m->lock);
	if (!err || err == -EOPNOTSUPP)	/* its connection will be unsupported */
		return NF_ACCEPT;
	ds_count(m->group->dn, tag_failed);
	return NF_DROP;
}

/**
 * ds_handshakes_open() - how many handshakes are under way with a member
 * @m: the member
 *
 * Context: member->lock.
 */
unsigned int ds_handshakes_open(struct ds_member *m)
{
	struct ds_channel *lis, *ch;
	unsigned int n = 0;

	lockdep_assert_held(&m->lock);
	list_for_each_entry(lis, &m->listeners, node)
		n += inet_csk_reqsk_queue_len(lis->sk);
	list_for_each_entry(ch, &m->channels, node)
		n += ch->cut && ch->cut->unborn && ch->cut->tcp_state == TCP_SYN_RECV;
	return n;
}
