// SPDX-License-Identifier: GPL-2.0
/* The trace points; see trace.h. */
#include <net/inet_sock.h>

#include "channel.h"
#include "member.h"
#include "segment.h"

/* Context: member->mutex. */
static unsigned int threads_of(const struct ds_member *m, const struct ds_record *rec)
{
	struct ds_parked *pt;
	unsigned int n = 0, bkt;

	if (rec && rec->n_threads)
		return rec->n_threads;
	hash_for_each(m->park.threads, bkt, pt, node)
		n++;
	return n;
}

struct ends {
	u16 family;
	__be16 sport;
	__be16 dport;
	struct in6_addr saddr;
	struct in6_addr daddr;
};

/*
 * A connection that is not there yet has only the addresses of the segment that comes
 * for it, or what its socket knows.
 */
static struct ends ends_of(const struct ds_channel *ch, const struct ds_seg *in)
{
	struct ends e = { 0 };

	if (!ch)
		return e;
	if (!ch->unborn && !ch->listening)
		return (struct ends) {
			.family = ch->family,
			.sport = ch->sport,
			.dport = ch->dport,
			.saddr = ch->saddr,
			.daddr = ch->daddr,
		};
	if (in)
		return (struct ends) {
			.family = in->pf == NFPROTO_IPV4 ? AF_INET : AF_INET6,
			.sport = in->dport,
			.dport = in->sport,
			.saddr = in->daddr,
			.daddr = in->saddr,
		};
	e.family = ds_channel_addresses(ch->sk, &e.saddr, &e.daddr);
	e.sport = inet_sk(ch->sk)->inet_sport;
	e.dport = inet_sk(ch->sk)->inet_dport;
	return e;
}

#define CREATE_TRACE_POINTS
#include "trace.h"
