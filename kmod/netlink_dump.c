// SPDX-License-Identifier: GPL-2.0
/*
 * The dumps.  Every call of a dump finds its place again by numbers, not by
 * pointers: what is dumped may be dropped between two calls.
 */
#include <linux/elf.h>
#include <linux/pid.h>
#include <net/tcp.h>

#include "channel.h"
#include "member.h"
#include "netlink.h"

#define CHUNK_MAX	16384
#define CHUNK_MIN	1024

/**
 * struct ctx - a dump between two calls; lives in netlink_callback->ctx
 * @started: the request was parsed
 * @id: group id, 0 all
 * @epoch: 0 all
 * @member: 0 all
 * @channel: 0 all
 * @at: how many items are out
 * @segment: DATA_GET: how many segments of the current cut
 * @offset: ... and bytes of the current segment
 */
struct ctx {
	bool started;
	u16 id;
	u32 epoch;
	u32 member;
	u32 channel;
	u32 at;
	u32 segment;
	u32 offset;
};

/* What a dump's walk hands to the functions that fill a message. */
struct walk {
	struct sk_buff *skb;
	struct netlink_callback *cb;
	struct ctx *ctx;
	u32 index;
	u8 cmd;
};

static u32 attr_u32(struct nlattr **attrs, int type)
{
	return attrs[type] ? nla_get_u32(attrs[type]) : 0;
}

static int start(struct netlink_callback *cb, struct ctx *ctx, bool inside)
{
	struct net *net = sock_net(cb->skb->sk);
	struct nlattr **attrs;
	struct ds_group *g;
	int err;

	BUILD_BUG_ON(sizeof(*ctx) > sizeof(cb->ctx));
	if (ctx->started)
		return 0;
	/* Whoever joined had to be allowed to look inside; so has who fetches. */
	if (inside && !netlink_ns_capable(cb->skb, net->user_ns, CAP_SYS_PTRACE)) {
		NL_SET_ERR_MSG(cb->extack, "needs CAP_SYS_PTRACE");
		return -EPERM;
	}
	attrs = kcalloc(DISTSNAP_A_MAX + 1, sizeof(*attrs), GFP_KERNEL);
	if (!attrs)
		return -ENOMEM;
	err = genlmsg_parse(cb->nlh, &ds_genl_family, attrs, DISTSNAP_A_MAX,
			    ds_genl_family.policy, cb->extack);
	if (err)
		goto out;
	if (attrs[DISTSNAP_A_NAME]) {
		g = ds_group_by_name(ds_net(net), nla_data(attrs[DISTSNAP_A_NAME]));
		if (!g) {
			NL_SET_ERR_MSG(cb->extack,
				       "no such group on this node: create it with 'distsnap group'");
			err = -ENOENT;
			goto out;
		}
		ctx->id = g->id;
	}
	ctx->epoch = attr_u32(attrs, DISTSNAP_A_EPOCH);
	ctx->member = attr_u32(attrs, DISTSNAP_A_MEMBER);
	ctx->channel = attr_u32(attrs, DISTSNAP_A_CHANNEL);
	ctx->started = true;
out:
	kfree(attrs);
	return err;
}

static void *put(struct walk *w)
{
	return genlmsg_put(w->skb, NETLINK_CB(w->cb->skb).portid,
			   w->cb->nlh->nlmsg_seq, &ds_genl_family, NLM_F_MULTI,
			   w->cmd);
}

/* End an item: out, or for the next call. */
static int done(struct walk *w, void *hdr, int err)
{
	if (err) {
		genlmsg_cancel(w->skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(w->skb, hdr);
	w->ctx->at++;
	return 0;
}

/* Is the next item one that an earlier call has put out? */
static bool skip(struct walk *w)
{
	return w->index++ < w->ctx->at;
}

static int walk_groups(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd,
		       int (*fn)(struct walk *w, struct ds_group *g))
{
	struct walk w = { .skb = skb, .cb = cb, .ctx = (void *)cb->ctx, .cmd = cmd };
	struct ds_net *dn = ds_net(sock_net(cb->skb->sk));
	struct ds_group *g;
	int err;

	mutex_lock(&ds_mutex);
	err = start(cb, w.ctx, cmd == DISTSNAP_CMD_THREAD_GET ||
			       cmd == DISTSNAP_CMD_DATA_GET);
	if (!err) {
		list_for_each_entry(g, &dn->groups, node) {
			if (w.ctx->id && w.ctx->id != g->id)
				continue;
			mutex_lock(&g->mutex);
			err = fn(&w, g);
			mutex_unlock(&g->mutex);
			if (err)
				break;
		}
	}
	mutex_unlock(&ds_mutex);
	if (err && err != -EMSGSIZE)
		return err;
	return skb->len ?: err;
}

static int put_peers(struct sk_buff *skb, const struct ds_group *g)
{
	const struct ds_prefixes *ps;
	struct nlattr *nest;
	unsigned int i;
	int err = 0;

	nest = nla_nest_start(skb, DISTSNAP_A_PEERS);
	if (!nest)
		return -EMSGSIZE;
	ps = rcu_dereference_protected(g->prefixes, lockdep_is_held(&ds_mutex));
	for (i = 0; ps && i < ps->n && !err; i++)
		err = nla_put(skb, DISTSNAP_A_PREFIX, sizeof(ps->p[i]), &ps->p[i]);
	nla_nest_end(skb, nest);
	return err;
}

static int put_u64(struct sk_buff *skb, int attr, u64 v)
{
	return nla_put_u64_64bit(skb, attr, v, DISTSNAP_A_PAD);
}

/* ds_fill_group() - the attributes of a group; context: ds_mutex, group->mutex */
int ds_fill_group(struct sk_buff *skb, struct ds_group *g)
{
	u32 last, port;

	spin_lock_bh(&g->lock);
	last = g->last;
	port = g->agent;
	spin_unlock_bh(&g->lock);
	return nla_put_string(skb, DISTSNAP_A_NAME, g->name) ||
	       nla_put_u16(skb, DISTSNAP_A_ID, g->id) ||
	       put_peers(skb, g) ||
	       nla_put_u32(skb, DISTSNAP_A_PAUSE_MAX, g->limits.pause_max) ||
	       nla_put_u32(skb, DISTSNAP_A_RECORD_MAX, g->limits.record_max) ||
	       nla_put_u32(skb, DISTSNAP_A_SNAP_MAX, g->limits.snap_max) ||
	       put_u64(skb, DISTSNAP_A_BYTES_MAX, g->limits.bytes_max) ||
	       nla_put_u32(skb, DISTSNAP_A_EPOCH, last) ||
	       nla_put_u32(skb, DISTSNAP_A_MEMBERS, g->n_members) ||
	       nla_put_u32(skb, DISTSNAP_A_AGENT, port) ||
	       nla_put_u32(skb, DISTSNAP_A_STATE, ds_group_has_open(g) ?
			   DISTSNAP_S_TRIGGERED : DISTSNAP_S_IDLE) ? -EMSGSIZE : 0;
}

static int one_group(struct walk *w, struct ds_group *g)
{
	void *hdr;

	if (skip(w))
		return 0;
	hdr = put(w);
	if (!hdr)
		return -EMSGSIZE;
	return done(w, hdr, ds_fill_group(w->skb, g));
}

int ds_dump_groups(struct sk_buff *skb, struct netlink_callback *cb)
{
	return walk_groups(skb, cb, DISTSNAP_CMD_GROUP_GET, one_group);
}

static enum distsnap_state member_state(const struct ds_member *m)
{
	switch (m->colour.phase) {
	case DS_TRIGGERED:
		return DISTSNAP_S_TRIGGERED;
	case DS_CAPTURED:
		return DISTSNAP_S_CAPTURED;
	default:
		return m->rec ? DISTSNAP_S_RECORDED : DISTSNAP_S_IDLE;
	}
}

static int members_of(struct walk *w, struct ds_group *g)
{
	enum distsnap_state state;
	struct ds_member *m;
	u32 epoch, n;
	void *hdr;
	int err;

	list_for_each_entry(m, &g->members, node) {
		if (skip(w))
			continue;
		hdr = put(w);
		if (!hdr)
			return -EMSGSIZE;
		spin_lock_bh(&m->lock);
		state = member_state(m);
		epoch = m->colour.recorded;
		n = m->n_channels;
		spin_unlock_bh(&m->lock);
		err = nla_put_string(w->skb, DISTSNAP_A_NAME, g->name) ||
		      nla_put_u32(w->skb, DISTSNAP_A_MEMBER, m->id) ||
		      nla_put_string(w->skb, DISTSNAP_A_MEMBER_NAME, m->name) ||
		      nla_put_u32(w->skb, DISTSNAP_A_PID, pid_vnr(m->pid)) ||
		      nla_put_u32(w->skb, DISTSNAP_A_EPOCH, epoch) ||
		      nla_put_u32(w->skb, DISTSNAP_A_STATE, state) ||
		      nla_put_u32(w->skb, DISTSNAP_A_CHANNELS, n);
		err = done(w, hdr, err);
		if (err)
			return err;
	}
	return 0;
}

int ds_dump_members(struct sk_buff *skb, struct netlink_callback *cb)
{
	return walk_groups(skb, cb, DISTSNAP_CMD_MEMBER_GET, members_of);
}

static int put_address(struct sk_buff *skb, int attr, u16 family,
		       const struct in6_addr *addr)
{
	return family == AF_INET ? nla_put_in_addr(skb, attr, addr->s6_addr32[3]) :
				   nla_put_in6_addr(skb, attr, addr);
}

static int put_addresses(struct sk_buff *skb, u16 family,
			 const struct in6_addr *saddr, __be16 sport,
			 const struct in6_addr *daddr, __be16 dport)
{
	return nla_put_u16(skb, DISTSNAP_A_FAMILY, family) ||
	       put_address(skb, DISTSNAP_A_SADDR, family, saddr) ||
	       nla_put_be16(skb, DISTSNAP_A_SPORT, sport) ||
	       put_address(skb, DISTSNAP_A_DADDR, family, daddr) ||
	       nla_put_be16(skb, DISTSNAP_A_DPORT, dport);
}

static int channel(struct walk *w, const struct ds_channel *ch)
{
	const struct ds_member *m = ch->member;
	struct sk_buff *skb = w->skb;
	void *hdr = put(w);

	if (!hdr)
		return -EMSGSIZE;
	return done(w, hdr,
		    nla_put_string(skb, DISTSNAP_A_NAME, m->group->name) ||
		    nla_put_u32(skb, DISTSNAP_A_MEMBER, m->id) ||
		    nla_put_string(skb, DISTSNAP_A_MEMBER_NAME, m->name) ||
		    nla_put_u32(skb, DISTSNAP_A_CHANNEL, ch->id) ||
		    put_addresses(skb, ch->family, &ch->saddr, ch->sport,
				  &ch->daddr, ch->dport) ||
		    nla_put_u32(skb, DISTSNAP_A_ISN, ch->isn) ||
		    nla_put_u32(skb, DISTSNAP_A_PEER_ISN, ch->peer_isn) ||
		    nla_put_u32(skb, DISTSNAP_A_PEER, ch->peer) ||
		    nla_put_u32(skb, DISTSNAP_A_TCP_STATE, READ_ONCE(ch->sk->sk_state)) ||
		    put_u64(skb, DISTSNAP_A_INODE, ch->inode));
}

static int channels_of(struct walk *w, struct ds_group *g)
{
	struct ds_channel *ch;
	struct ds_member *m;
	int err = 0;

	list_for_each_entry(m, &g->members, node) {
		spin_lock_bh(&m->lock);
		list_for_each_entry(ch, &m->channels, node) {
			if (!skip(w))
				err = channel(w, ch);
			if (err)
				break;
		}
		spin_unlock_bh(&m->lock);
		if (err)
			return err;
	}
	return 0;
}

int ds_dump_channels(struct sk_buff *skb, struct netlink_callback *cb)
{
	return walk_groups(skb, cb, DISTSNAP_CMD_CHANNEL_GET, channels_of);
}

static int put_reasons(struct sk_buff *skb, const struct list_head *reasons)
{
	const struct ds_reason *r;

	list_for_each_entry(r, reasons, node)
		if (nla_put_string(skb, DISTSNAP_A_REASON, r->text))
			return -EMSGSIZE;
	return 0;
}

static int snaps_of(struct walk *w, struct ds_group *g)
{
	struct sk_buff *skb = w->skb;
	struct ds_snap *snap;
	void *hdr;
	int err;

	list_for_each_entry(snap, &g->snaps, node) {
		if ((w->ctx->epoch && w->ctx->epoch != snap->epoch) || skip(w))
			continue;
		hdr = put(w);
		if (!hdr)
			return -EMSGSIZE;
		err = nla_put_string(skb, DISTSNAP_A_NAME, g->name) ||
		      nla_put_u16(skb, DISTSNAP_A_ID, g->id) ||
		      nla_put_u32(skb, DISTSNAP_A_EPOCH, snap->epoch) ||
		      nla_put_u32(skb, DISTSNAP_A_STATE, snap->state) ||
		      nla_put_u32(skb, DISTSNAP_A_FLAGS, snap->flags) ||
		      put_u64(skb, DISTSNAP_A_TRIGGERED, snap->realtime) ||
		      nla_put_u32(skb, DISTSNAP_A_MEMBERS, snap->n_records) ||
		      put_u64(skb, DISTSNAP_A_BYTES, atomic64_read(&snap->bytes)) ||
		      put_u64(skb, DISTSNAP_A_HELD_BYTES,
			      atomic64_read(&snap->held_max)) ||
		      (!ds_snap_is_open(snap) && put_reasons(skb, &snap->reasons));
		err = done(w, hdr, err);
		if (err)
			return err;
	}
	return 0;
}

int ds_dump_snaps(struct sk_buff *skb, struct netlink_callback *cb)
{
	return walk_groups(skb, cb, DISTSNAP_CMD_SNAP_GET, snaps_of);
}

/* Walk over the records that the request names, of finished epochs. */
static int walk_records(struct walk *w, struct ds_group *g,
			int (*fn)(struct walk *w, struct ds_record *rec))
{
	struct ds_snap *snap = ds_snap_find(g, w->ctx->epoch);
	struct ds_record *rec;
	int err;

	if (!snap)
		return 0;
	list_for_each_entry(rec, &snap->records, node) {
		if (w->ctx->member && w->ctx->member != rec->member)
			continue;
		err = fn(w, rec);
		if (err)
			return err;
	}
	return 0;
}

static int record(struct walk *w, struct ds_record *rec)
{
	bool open = ds_snap_is_open(rec->snap);
	struct sk_buff *skb = w->skb;
	void *hdr;

	if (skip(w))
		return 0;
	hdr = put(w);
	if (!hdr)
		return -EMSGSIZE;
	return done(w, hdr,
		    nla_put_u32(skb, DISTSNAP_A_MEMBER, rec->member) ||
		    nla_put_string(skb, DISTSNAP_A_MEMBER_NAME, rec->name) ||
		    nla_put_u32(skb, DISTSNAP_A_PID, pid_vnr(rec->pid)) ||
		    nla_put_u32(skb, DISTSNAP_A_STATE, READ_ONCE(rec->state)) ||
		    nla_put_u32(skb, DISTSNAP_A_FLAGS, rec->flags) ||
		    put_u64(skb, DISTSNAP_A_PARK_NS, rec->park_ns) ||
		    put_u64(skb, DISTSNAP_A_PARKED_NS, rec->parked_ns) ||
		    put_u64(skb, DISTSNAP_A_CAPTURED_NS, rec->captured_ns) ||
		    put_u64(skb, DISTSNAP_A_RECORDED_NS, rec->recorded_ns) ||
		    put_u64(skb, DISTSNAP_A_DONE_NS, rec->done_ns) ||
		    nla_put_u32(skb, DISTSNAP_A_THREADS, open ? 0 : rec->n_threads) ||
		    nla_put_u32(skb, DISTSNAP_A_CHANNELS, open ? 0 : rec->n_cuts) ||
		    (!open && put_reasons(skb, &rec->reasons)));
}

static int records_of(struct walk *w, struct ds_group *g)
{
	return walk_records(w, g, record);
}

int ds_dump_records(struct sk_buff *skb, struct netlink_callback *cb)
{
	return walk_groups(skb, cb, DISTSNAP_CMD_RECORD_GET, records_of);
}

static int put_regset(struct sk_buff *skb, u32 type, unsigned int len,
		      const void *data)
{
	struct nlattr *nest = nla_nest_start(skb, DISTSNAP_A_REGSET);

	if (!nest || nla_put_u32(skb, DISTSNAP_A_NOTE_TYPE, type) ||
	    nla_put(skb, DISTSNAP_A_DATA, len, data))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int thread(struct walk *w, const struct ds_thread *t)
{
	struct sk_buff *skb = w->skb;
	void *hdr = put(w);

	if (!hdr)
		return -EMSGSIZE;
	return done(w, hdr,
		    nla_put_u32(skb, DISTSNAP_A_TID, pid_vnr(t->tid)) ||
		    nla_put_u32(skb, DISTSNAP_A_PARKED, t->parked) ||
		    nla_put_s32(skb, DISTSNAP_A_SYSCALL, t->syscall) ||
		    nla_put(skb, DISTSNAP_A_ARGS, sizeof(t->args), t->args) ||
		    put_regset(skb, NT_PRSTATUS, sizeof(t->regs), &t->regs) ||
		    (t->fpregs &&
		     put_regset(skb, NT_PRFPREG, t->fplen, t->fpregs)));
}

/* Threads do not change once the member is recorded: the agent asks early. */
static int threads(struct walk *w, struct ds_record *rec)
{
	unsigned int i;
	int err;

	if (smp_load_acquire(&rec->state) == DISTSNAP_S_TRIGGERED)
		return 0;
	for (i = 0; i < rec->n_threads; i++) {
		if (skip(w))
			continue;
		err = thread(w, &rec->threads[i]);
		if (err)
			return err;
	}
	return 0;
}

static int threads_of(struct walk *w, struct ds_group *g)
{
	return walk_records(w, g, threads);
}

int ds_dump_threads(struct sk_buff *skb, struct netlink_callback *cb)
{
	return walk_groups(skb, cb, DISTSNAP_CMD_THREAD_GET, threads_of);
}

static int cut(struct walk *w, const struct ds_cut *c)
{
	struct sk_buff *skb = w->skb;
	void *hdr = put(w);
	int err;

	if (!hdr)
		return -EMSGSIZE;
	err = nla_put_u32(skb, DISTSNAP_A_MEMBER, c->rec->member) ||
	      nla_put_u32(skb, DISTSNAP_A_CHANNEL, c->channel) ||
	      put_addresses(skb, c->family, &c->saddr, c->sport, &c->daddr, c->dport) ||
	      nla_put_u32(skb, DISTSNAP_A_ISN, c->isn) ||
	      nla_put_u32(skb, DISTSNAP_A_PEER_ISN, c->peer_isn) ||
	      nla_put_u32(skb, DISTSNAP_A_PEER, c->peer) ||
	      nla_put_u32(skb, DISTSNAP_A_TCP_STATE, c->tcp_state) ||
	      put_u64(skb, DISTSNAP_A_INODE, c->inode) ||
	      nla_put_u32(skb, DISTSNAP_A_CUT_FLAGS, c->flags) ||
	      put_u64(skb, DISTSNAP_A_OUT_UNA, c->out_una) ||
	      put_u64(skb, DISTSNAP_A_OUT_SENT, c->out_sent) ||
	      put_u64(skb, DISTSNAP_A_IN_READ, c->in_read) ||
	      put_u64(skb, DISTSNAP_A_IN_NEXT, c->in_next);
	/* A marker's place counts from the captured positions. */
	if (!err && c->captured && c->flags & DISTSNAP_CUT_CLOSED)
		err = put_u64(skb, DISTSNAP_A_IN_MARKER,
			      ds_cut_offset(c, DISTSNAP_ORIGIN_RECVQ, c->marker));
	return done(w, hdr, err);
}

static int cuts(struct walk *w, struct ds_record *rec)
{
	const struct ds_cut *c;
	int err;

	if (ds_snap_is_open(rec->snap))
		return 0;
	list_for_each_entry(c, &rec->cuts, node) {
		if (skip(w))
			continue;
		err = cut(w, c);
		if (err)
			return err;
	}
	return 0;
}

static int cuts_of(struct walk *w, struct ds_group *g)
{
	return walk_records(w, g, cuts);
}

int ds_dump_cuts(struct sk_buff *skb, struct netlink_callback *cb)
{
	return walk_groups(skb, cb, DISTSNAP_CMD_CUT_GET, cuts_of);
}

/* Bytes of one captured segment, in chunks. */
static int chunks(struct walk *w, const struct ds_cut *c,
		  enum distsnap_origin origin, const struct sk_buff *seg)
{
	u32 seq = TCP_SKB_CB(seg)->seq;
	struct sk_buff *skb = w->skb;

	while (w->ctx->offset < seg->len) {
		u32 len = min_t(u32, seg->len - w->ctx->offset, CHUNK_MAX);
		int room = skb_tailroom(skb) - 256;
		struct nlattr *data = NULL;
		void *hdr;
		int err;

		if (room < CHUNK_MIN)
			return -EMSGSIZE;
		len = min_t(u32, len, room);
		hdr = put(w);
		if (!hdr)
			return -EMSGSIZE;
		err = nla_put_u32(skb, DISTSNAP_A_MEMBER, c->rec->member) ||
		      nla_put_u32(skb, DISTSNAP_A_CHANNEL, c->channel) ||
		      nla_put_u32(skb, DISTSNAP_A_ORIGIN, origin) ||
		      put_u64(skb, DISTSNAP_A_OFFSET,
			      ds_cut_offset(c, origin, seq + w->ctx->offset));
		if (!err)
			data = nla_reserve(skb, DISTSNAP_A_DATA, len);
		if (!data) {
			genlmsg_cancel(skb, hdr);
			return -EMSGSIZE;
		}
		err = skb_copy_bits(seg, w->ctx->offset, nla_data(data), len);
		if (err) {
			genlmsg_cancel(skb, hdr);
			return err;
		}
		genlmsg_end(skb, hdr);
		w->ctx->offset += len;
	}
	w->ctx->offset = 0;
	return 0;
}

static int data(struct walk *w, struct ds_record *rec)
{
	const struct ds_cut *c;
	struct sk_buff *seg;
	unsigned int i, n;
	int err;

	if (ds_snap_is_open(rec->snap))
		return 0;
	list_for_each_entry(c, &rec->cuts, node) {
		if (!c->captured)
			continue;
		if ((w->ctx->channel && w->ctx->channel != c->channel) || skip(w))
			continue;
		n = 0;
		for (i = 0; i < DS_ORIGINS; i++) {
			skb_queue_walk(&c->q[i], seg) {
				if (n++ < w->ctx->segment)
					continue;
				err = chunks(w, c, i, seg);
				if (err)
					return err;
				w->ctx->segment++;
			}
		}
		w->ctx->segment = 0;
		w->ctx->at++;
	}
	return 0;
}

static int data_of(struct walk *w, struct ds_group *g)
{
	return walk_records(w, g, data);
}

int ds_dump_data(struct sk_buff *skb, struct netlink_callback *cb)
{
	return walk_groups(skb, cb, DISTSNAP_CMD_DATA_GET, data_of);
}

int ds_dump_counters(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct walk w = { .skb = skb, .cb = cb, .ctx = (void *)cb->ctx,
			  .cmd = DISTSNAP_CMD_COUNTER_GET };
	struct ds_net *dn = ds_net(sock_net(cb->skb->sk));
	unsigned int i;

	for (i = w.ctx->at; i < DS_CNT_MAX; i++) {
		void *hdr = put(&w);

		if (!hdr)
			break;
		if (done(&w, hdr,
			 nla_put_string(skb, DISTSNAP_A_COUNTER_NAME,
					ds_counter_names[i]) ||
			 put_u64(skb, DISTSNAP_A_COUNTER_VALUE,
				 atomic64_read(&dn->counters.v[i]))))
			break;
	}
	return skb->len;
}
