// SPDX-License-Identifier: GPL-2.0
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../kmod/mutant.h"
#include "util.h"
#include "verdict.h"

static const char *const state_phrases[] = {
	[DISTSNAP_S_IDLE] = "nothing was recorded",
	[DISTSNAP_S_TRIGGERED] = "the recording was triggered and not finished",
	[DISTSNAP_S_CAPTURED] = "the recording was begun and not finished",
	[DISTSNAP_S_RECORDED] = "its channels were still open",
	[DISTSNAP_S_DONE] = "done",
	[DISTSNAP_S_EXPIRED] = "the deadline passed with channels open",
	[DISTSNAP_S_ABORTED] = "the recording was aborted",
	[DISTSNAP_S_SUPERSEDED] = "a newer epoch came before this one was done",
};

static const char *const flag_phrases[] = {
	[2] = "the peer refused to record this epoch",
	[3] = "a newer epoch came before this one was done",
	[6] = "bytes are missing because memory or its limit ran out",
	[7] = "the connection died before its recording was done",
	[8] = "two markers of this epoch contradict each other",
};

/* Those that no other member is behind. */
static const unsigned int cut_causes = DISTSNAP_CUT_TRUNCATED |
				       DISTSNAP_CUT_GONE;

static const char *const peer_phrases[] = {
	[DISTSNAP_PEER_EXTERNAL] = "no member answered there",
	[DISTSNAP_PEER_REWRITTEN] = "something on the way rewrites sequence numbers",
	[DISTSNAP_PEER_UNSUPPORTED] = "such a connection cannot be recorded",
};

void verdict_blame(struct verdict *v, enum blame kind, const char *fmt, ...)
{
	char text[sizeof(struct why)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	why_clean(text);
	texts_add(&v->ranked[kind], xstrdup(text));
}

/*
 * The kernel's reasons start with "member NAME: ": what follows, and where NAME
 * is and how long, or all of @text and NULL.
 */
static const char *split_reason(const char *text, const char **name, int *len)
{
	static const char start[] = "member ";
	const char *rest;

	*name = NULL;
	if (strncmp(text, start, strlen(start)))
		return text;
	rest = text + strlen(start);
	*len = strcspn(rest, ": ");
	if (strncmp(rest + *len, ": ", 2) &&
	    strcmp(rest + *len, " left the group"))
		return text;
	*name = rest;
	rest += *len;
	return rest + (*rest == ':') + 1;
}

/* It waited in vain, most often for one that failed. */
static enum blame kind_of(const char *reason)
{
	return strstr(reason, "markers or answers did not come in time") ?
	       BLAME_WAITED : BLAME_CAUSE;
}

static bool has_cause(const struct texts *reasons)
{
	size_t i;

	for (i = 0; i < reasons->n; i++)
		if (kind_of(reasons->v[i]) == BLAME_CAUSE)
			return true;
	return false;
}

/* Of a state that says less than @reasons do, or only that it waited. */
static enum blame kind_of_state(unsigned int state, const struct texts *reasons)
{
	if (state == DISTSNAP_S_EXPIRED || state == DISTSNAP_S_RECORDED)
		return BLAME_WAITED;
	return has_cause(reasons) ? BLAME_FOLLOWS : BLAME_CAUSE;
}

static void judge_reasons(struct verdict *v, const struct fragment *f,
			  const struct frag_member *m)
{
	const struct texts *reasons = m ? &m->reasons : &f->reasons;
	const char *rest, *name;
	size_t i;
	int len;

	for (i = 0; i < reasons->n; i++) {
		rest = split_reason(reasons->v[i], &name, &len);
		/* Two of one name: the second is stored under another. */
		if (m)
			verdict_blame(v, kind_of(rest), "member %s/%s: %s",
				      f->node, m->name, rest);
		else if (name)
			verdict_blame(v, kind_of(rest), "member %s/%.*s: %s",
				      f->node, len, name, rest);
		else
			verdict_blame(v, kind_of(rest), "node %s: %s", f->node,
				      rest);
	}
}

static void judge_member(struct verdict *v, const struct fragment *f,
			 const struct frag_member *m)
{
	size_t i;

	if (m->state != DISTSNAP_S_DONE)
		verdict_blame(v, kind_of_state(m->state, &m->reasons),
			      "member %s/%s: %s", f->node, m->name,
			      state_phrases[m->state]);
	/* Its connections cannot be judged without. */
	else if (m->times.recorded == FRAGMENT_NONE)
		verdict_blame(v, BLAME_WRONG,
			      "member %s/%s: done, and there is no time at which it was recorded",
			      f->node, m->name);
	if (m->wants_core && !m->has_core)
		verdict_blame(v, has_cause(&m->reasons) ? BLAME_FOLLOWS :
			      BLAME_CAUSE,
			      "member %s/%s: its memory image is missing",
			      f->node, m->name);
	judge_reasons(v, f, m);
	for (i = 0; i < m->uncovered.n; i++)
		texts_add(&v->open_because,
			  why_format("member %s/%s holds %s", f->node, m->name,
				     m->uncovered.v[i]));
	if (m->pause_us != FRAGMENT_NONE && m->pause_us > v->longest_pause_us)
		v->longest_pause_us = m->pause_us;
}

/* A node's state follows from that of its members, if one is not done. */
static enum blame kind_of_node(const struct fragment *f)
{
	size_t i;

	for (i = 0; i < f->n_members; i++)
		if (f->members[i].state != DISTSNAP_S_DONE)
			return BLAME_FOLLOWS;
	return kind_of_state(f->state, &f->reasons);
}

static void judge_node(struct verdict *v, const struct fragment *f)
{
	size_t i;

	if (f->state != DISTSNAP_S_DONE)
		verdict_blame(v, kind_of_node(f), "node %s: %s", f->node,
			      state_phrases[f->state]);
	judge_reasons(v, f, NULL);
	for (i = 0; i < f->n_members; i++)
		judge_member(v, f, &f->members[i]);
	v->n_members += f->n_members;
}

static void judge_nodes(struct verdict *v)
{
	bool initiator = false;
	size_t i;

	for (i = 0; i < v->n_frags; i++) {
		initiator |= v->frags[i]->initiator;
		judge_node(v, v->frags[i]);
	}
	if (!initiator)
		verdict_blame(v, BLAME_FRAGMENT,
			      "epoch %llu: the initiator's fragment is missing",
			      v->n_frags ? (unsigned long long)v->frags[0]->epoch : 0);
}

static bool is_present(const struct verdict *v, const char *name)
{
	const char *slash = strchr(name, '/');
	const struct fragment *f;
	size_t i, k, len;

	for (i = 0; slash && i < v->n_frags; i++) {
		f = v->frags[i];
		len = strlen(f->node);
		if (len != (size_t)(slash - name) || memcmp(f->node, name, len))
			continue;
		for (k = 0; k < f->n_members; k++)
			if (!strcmp(f->members[k].name, slash + 1))
				return true;
	}
	return false;
}

static void judge_expected(struct verdict *v, const char *const *expect,
			   size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		texts_add(&v->expect, xstrdup(expect[i]));
	texts_sort(&v->expect);
	for (i = 0; i < v->expect.n; i++)
		if (!is_present(v, v->expect.v[i]))
			verdict_blame(v, BLAME_FRAGMENT,
				      "member %s: expected, and no fragment has it",
				      v->expect.v[i]);
}

static size_t host_len(const char *addr)
{
	return strrchr(addr, ':') - addr;
}

/* The hosts of two ADDR:PORT */
static int host_cmp(const char *a, const char *b)
{
	size_t len = host_len(a), other = host_len(b);
	int ret = memcmp(a, b, len < other ? len : other);

	return ret || len == other ? ret : len < other ? -1 : 1;
}

/* By host, and for one host as they come in @ends */
static int by_local_host(const void *a, const void *b)
{
	const struct end *e = *(const struct end *const *)a;
	const struct end *f = *(const struct end *const *)b;
	int ret = host_cmp(e->cut->local, f->cut->local);

	return ret || e == f ? ret : e < f ? -1 : 1;
}

/* A fragment may be large: each of its ends looks for a host. */
static void index_hosts(struct verdict *v)
{
	const struct end *e;
	size_t i, n = 0;

	v->hosts = xcalloc(v->ends.n, sizeof(*v->hosts));
	for (i = 0; i < v->ends.n; i++)
		v->hosts[i] = &v->ends.v[i];
	if (v->ends.n)
		qsort(v->hosts, v->ends.n, sizeof(*v->hosts), by_local_host);
	for (i = 0; i < v->ends.n; i++) {
		e = v->hosts[i];
		if (!n || host_cmp(v->hosts[n - 1]->cut->local, e->cut->local))
			v->hosts[n++] = e;
	}
	v->n_hosts = n;
}

static int find_host(const void *remote, const void *host)
{
	return host_cmp(remote, (*(const struct end *const *)host)->cut->local);
}

const struct fragment *verdict_host(const struct verdict *v,
				    const struct end *e)
{
	const char *remote = e->cut->remote;
	const struct end **host;

	if (!strncmp(remote, "127.", 4) || !strncmp(remote, "[::1]", 5))
		return e->frag;
	if (!v->n_hosts)
		return NULL;
	host = bsearch(remote, v->hosts, v->n_hosts, sizeof(*v->hosts), find_host);
	return host ? (*host)->frag : NULL;
}

static void blame_mate(struct verdict *v, const struct end *e)
{
	const char *local = e->cut->local, *remote = e->cut->remote;
	const struct fragment *host = verdict_host(v, e);

	if (host) {
		verdict_blame(v, BLAME_FOLLOWS,
			      "channel %s -> %s: node %s did not record the receiver's end",
			      local, remote, host->node);
		verdict_blame(v, BLAME_FOLLOWS,
			      "channel %s -> %s: node %s did not record the sender's end",
			      remote, local, host->node);
		return;
	}
	verdict_blame(v, BLAME_FOLLOWS,
		      "channel %s -> %s: the receiver's fragment is missing",
		      local, remote);
	verdict_blame(v, BLAME_FOLLOWS,
		      "channel %s -> %s: the sender's fragment is missing",
		      remote, local);
}

/* Two that were members all along, and at least one did not know. */
static void blame_strangers(struct verdict *v, const struct end *e)
{
	const struct end *m = e->mate;

	if (e->cut->peer == DISTSNAP_PEER_UNSUPPORTED)
		verdict_blame(v, BLAME_CAUSE,
			      "connection %s - %s: the end of member %s/%s cannot be recorded: kernel TLS, a sockmap, MD5, AO, or unclear numbers",
			      e->cut->local, e->cut->remote, e->frag->node,
			      e->member->name);
	else if (end_inside(m))
		verdict_blame(v, BLAME_FOLLOWS,
			      "connection %s - %s: member %s/%s took member %s/%s for %s",
			      e->cut->local, e->cut->remote, e->frag->node,
			      e->member->name, m->frag->node, m->member->name,
			      fragment_peers[e->cut->peer]);
	else if (e <= m)
		verdict_blame(v, BLAME_FOLLOWS,
			      "connection %s - %s: members %s/%s and %s/%s took each other for %s",
			      e->cut->local, e->cut->remote, e->frag->node,
			      e->member->name, m->frag->node, m->member->name,
			      fragment_peers[e->cut->peer]);
}

/* A recording that was given up has positions, or none, that are not a cut's. */
static bool was_recorded(const struct end *e)
{
	return e->member->times.recorded != FRAGMENT_NONE;
}

static void judge_flags(struct verdict *v, const struct end *e)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(flag_phrases); i++)
		if (flag_phrases[i] && (e->cut->flags & (1u << i)))
			verdict_blame(v, cut_causes & (1u << i) ? BLAME_CAUSE :
				      BLAME_FOLLOWS,
				      "connection %s - %s of member %s/%s: %s",
				      e->cut->local, e->cut->remote,
				      e->frag->node, e->member->name,
				      flag_phrases[i]);
	/* Bare, as from a host on the way, or from none: it was not held. */
	if (e->cut->flags & DISTSNAP_CUT_RESET && e->mate && !end_is_over(e->mate) &&
	    !ds_mutant(no_reset_seen))
		verdict_blame(v, BLAME_CAUSE,
			      "connection %s - %s: it was reset before member %s/%s was recorded, and member %s/%s was recorded with it open",
			      e->cut->local, e->cut->remote, e->frag->node,
			      e->member->name, e->mate->frag->node,
			      e->mate->member->name);
	if (was_recorded(e) && (e->cut->out.una > e->cut->out.sent ||
				e->cut->in.read > e->cut->in.next))
		verdict_blame(v, BLAME_WRONG,
			      "connection %s - %s of member %s/%s: its positions contradict each other",
			      e->cut->local, e->cut->remote, e->frag->node,
			      e->member->name);
}

static void add_external(struct verdict *v, const struct end *e)
{
	v->externals = xrealloc(v->externals, (v->n_externals + 1) *
				sizeof(*v->externals));
	v->externals[v->n_externals++] = e;
	texts_add(&v->open_because,
		  why_format("member %s/%s, connection %s - %s: %s",
			     e->frag->node, e->member->name, e->cut->local,
			     e->cut->remote, peer_phrases[e->cut->peer]));
}

/* What was sent to a socket that ended without a FIN is lost behind that point. */
static struct channel channel_of(const struct end *e)
{
	const struct frag_cut *out = e->cut, *in = e->mate->cut;
	struct channel ch = {
		.src = e, .dst = e->mate, .sent = out->out.sent,
		.fin = out->flags & DISTSNAP_CUT_FIN_OUT,
	};

	if (in->flags & DISTSNAP_CUT_SHORT && in->in.marker < out->out.sent &&
	    (end_is_tomb(e) || end_is_tomb(e->mate))) {
		ch.sent = in->in.marker;
		ch.fin = false;
	}
	return ch;
}

static void judge_end(struct verdict *v, const struct end *e)
{
	/* Its peer has nothing of it: the handshake waits for the peer's recording. */
	if (e->cut->peer == DISTSNAP_PEER_CONNECTING) {
		if (e->mate || e->twice)
			verdict_blame(v, BLAME_WRONG,
				      "connection %s - %s of member %s/%s: it was not there yet, and the other end was recorded",
				      e->cut->local, e->cut->remote,
				      e->frag->node, e->member->name);
		return;
	}
	if (!end_inside(e))
		add_external(v, e);
	else
		judge_flags(v, e);

	if (e->twice)
		verdict_blame(v, BLAME_FOLLOWS,
			      "connection %s - %s of member %s/%s: more than one member recorded the same end",
			      e->cut->local, e->cut->remote, e->frag->node,
			      e->member->name);
	else if (!end_inside(e) && e->mate)
		blame_strangers(v, e);
	else if (end_is_alone(e))
		blame_mate(v, e);
	else if (end_inside(e) && e->mate && end_inside(e->mate) &&
		 was_recorded(e) && was_recorded(e->mate) &&
		 !(end_is_tomb(e) && end_is_tomb(e->mate)))
		v->channels[v->n_channels++] = channel_of(e);
}

static void judge_channel(struct verdict *v, const struct channel *ch)
{
	const struct frag_cut *out = ch->src->cut, *in = ch->dst->cut;
	const char *src = out->local, *dst = in->local;

	if (!(in->flags & DISTSNAP_CUT_CLOSED))
		verdict_blame(v, BLAME_FOLLOWS,
			      "channel %s -> %s: the sender's marker did not reach member %s/%s",
			      src, dst, ch->dst->frag->node,
			      ch->dst->member->name);
	else if (in->in.marker == FRAGMENT_NONE)
		verdict_blame(v, BLAME_FOLLOWS,
			      "channel %s -> %s: member %s/%s does not say where the marker was",
			      src, dst, ch->dst->frag->node,
			      ch->dst->member->name);
	if (!(out->flags & (DISTSNAP_CUT_ACKED | DISTSNAP_CUT_LEFT)))
		verdict_blame(v, BLAME_FOLLOWS,
			      "channel %s -> %s: the marker of member %s/%s was not acknowledged",
			      src, dst, ch->src->frag->node,
			      ch->src->member->name);
	if (in->in.marker != FRAGMENT_NONE && in->in.marker != ch->sent &&
	    !(in->flags & DISTSNAP_CUT_SHORT && in->in.marker < ch->sent))
		verdict_blame(v, BLAME_WRONG,
			      "channel %s -> %s: the marker came at %llu, but the sender was at %llu",
			      src, dst, (unsigned long long)in->in.marker,
			      (unsigned long long)ch->sent);
	if (in->in.read > ch->sent)
		verdict_blame(v, BLAME_WRONG,
			      "channel %s -> %s: received up to %llu, but sent only up to %llu",
			      src, dst, (unsigned long long)in->in.read,
			      (unsigned long long)ch->sent);

	/* A FIN that both know of lies right before what was sent. */
	if ((in->flags & DISTSNAP_CUT_FIN_IN) ?
	    !ch->fin && in->in.next <= ch->sent :
	    ch->fin && in->in.next >= ch->sent)
		verdict_blame(v, BLAME_WRONG,
			      "channel %s -> %s: the ends disagree about whether the stream ended",
			      src, dst);
}

static int end_cmp(const struct end *a, const struct end *b)
{
	int ret = strcmp(a->frag->node, b->frag->node);

	if (!ret)
		ret = strcmp(a->member->name, b->member->name);
	if (!ret && a->cut->id != b->cut->id)
		ret = a->cut->id < b->cut->id ? -1 : 1;
	return ret;
}

static int channel_cmp(const void *a, const void *b)
{
	const struct channel *c = a, *d = b;
	int ret = strcmp(c->src->cut->local, d->src->cut->local);

	if (!ret)
		ret = strcmp(c->dst->cut->local, d->dst->cut->local);
	return ret ? ret : end_cmp(c->src, d->src);
}

/* Sorted by address, so that those that need a number stand together. */
static void name_channels(struct verdict *v)
{
	struct channel *ch;
	unsigned int k = 1;
	size_t i;

	for (i = 0; i < v->n_channels; i++) {
		ch = &v->channels[i];
		if (i && !strcmp(ch[-1].src->cut->local, ch->src->cut->local) &&
		    !strcmp(ch[-1].dst->cut->local, ch->dst->cut->local))
			k++;
		else
			k = 1;
		if (k == 1)
			ch->file = xasprintf("%s-%s.bin", ch->src->cut->local,
					     ch->dst->cut->local);
		else
			ch->file = xasprintf("%s-%s.%u.bin",
					     ch->src->cut->local,
					     ch->dst->cut->local, k);
	}
}

void verdict_reach(struct verdict *v, struct fragment *const *frags, size_t n,
		   const char *const *expect, size_t n_expect)
{
	size_t i;

	*v = (struct verdict){ .frags = frags, .n_frags = n };
	judge_nodes(v);
	judge_expected(v, expect, n_expect);
	ends_pair(&v->ends, frags, n);
	index_hosts(v);
	v->channels = xcalloc(v->ends.n, sizeof(*v->channels));
	for (i = 0; i < v->ends.n; i++)
		judge_end(v, &v->ends.v[i]);
	verdict_blame_silent(v);
	if (v->n_channels)
		qsort(v->channels, v->n_channels, sizeof(*v->channels),
		      channel_cmp);
	name_channels(v);
	for (i = 0; i < v->n_channels; i++)
		judge_channel(v, &v->channels[i]);
}

void verdict_finish(struct verdict *v)
{
	unsigned int kind;
	size_t i;

	for (kind = 0; kind < BLAMES; kind++) {
		texts_sort(&v->ranked[kind]);
		if (kind == BLAME_WAITED)
			v->n_causes = v->reasons.n;
		for (i = 0; i < v->ranked[kind].n; i++)
			texts_add(&v->reasons, xstrdup(v->ranked[kind].v[i]));
	}
	texts_sort(&v->open_because);
}

void verdict_free(struct verdict *v)
{
	size_t i;

	for (i = 0; i < v->n_channels; i++)
		free(v->channels[i].file);
	free(v->channels);
	free(v->externals);
	free(v->hosts);
	ends_free(&v->ends);
	texts_free(&v->expect);
	texts_free(&v->reasons);
	for (i = 0; i < BLAMES; i++)
		texts_free(&v->ranked[i]);
	texts_free(&v->open_because);
}
