/* SPDX-License-Identifier: GPL-2.0 */
/* The segments of a connection, and what their options are worth. */
#ifndef _DISTSNAP_STREAM_H
#define _DISTSNAP_STREAM_H

#include <linux/netfilter.h>
#include "segment.h"

struct ds_channel;
struct ds_group;
struct ds_member;

enum ds_trust {
	DS_IGNORED,		/* not ours, or from where no member can be */
	DS_DISTRUSTED,		/* TCP would drop it, or it claims too much */
	DS_TRUSTED_SKIP,	/* but its epoch is too far ahead */
	DS_TRUSTED,
};

bool ds_option_is_ours(struct ds_group *g, const struct ds_seg *seg);
enum ds_trust ds_option_trust(struct ds_group *g, const struct ds_option *opt,
			      bool plausible);
void ds_probe_compose(const struct ds_member *m, u32 isn, struct ds_option *opt);
void ds_stream_option(struct ds_channel *ch, const struct ds_seg *seg);
unsigned int ds_stream_in(struct ds_channel *ch, struct sk_buff *skb,
			  const struct ds_seg *seg, const struct nf_hook_state *state);
unsigned int ds_stream_out(struct ds_channel *ch, struct sk_buff *skb,
			   const struct ds_seg *seg,
			   const struct nf_hook_state *state);

#endif /* _DISTSNAP_STREAM_H */
