/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The two ends of each connection, found by the pair of initial sequence
 * numbers: what one end calls (own, peer's) the other calls (peer's, own).
 * Addresses only decide between several that fit.
 */
#ifndef DISTSNAP_PAIR_H
#define DISTSNAP_PAIR_H

#include <string.h>

#include "fragment.h"

/**
 * struct end - one end of a connection, as its member recorded it
 * @frag: the fragment that holds it
 * @member: whose it is
 * @cut: what was recorded
 * @mate: the other end; itself for a socket connected to itself; or NULL
 * @twice: recorded more than once, here or there, so that nothing is certain
 */
struct end {
	const struct fragment *frag;
	const struct frag_member *member;
	const struct frag_cut *cut;
	const struct end *mate;
	bool twice;
};

struct ends {
	struct end *v;
	size_t n;
};

/* All ends in @frags, in order, paired. */
void ends_pair(struct ends *ends, struct fragment *const *frags, size_t n);
void ends_free(struct ends *ends);

/* Is the peer a member, as far as this end knows? */
static inline bool end_inside(const struct end *e)
{
	return e->cut->peer == DISTSNAP_PEER_UNKNOWN ||
	       e->cut->peer == DISTSNAP_PEER_MEMBER;
}

/* Gone on both sides is what nobody need have recorded. */
static inline bool end_is_tomb(const struct end *e)
{
	return e->cut->flags & DISTSNAP_CUT_TOMB;
}

/* So is what TCP was done with on this side, although its process can still read. */
static inline bool end_is_over(const struct end *e)
{
	return end_is_tomb(e) || (e->cut->tcp_state && !strcmp(e->cut->tcp_state, "CLOSE"));
}

/* Its mate must be somewhere. */
static inline bool end_is_alone(const struct end *e)
{
	return end_inside(e) && !end_is_over(e) && !e->mate;
}

#endif
