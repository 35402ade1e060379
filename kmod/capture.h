/* SPDX-License-Identifier: GPL-2.0 */
/* Capturing the state of a member's sockets and threads. */
#ifndef _DISTSNAP_CAPTURE_H
#define _DISTSNAP_CAPTURE_H

#include <linux/ktime.h>
#include <linux/skbuff.h>

struct ds_cut;
struct ds_channel;
struct ds_member;
struct ds_record;
struct ds_seg;

int ds_capture(struct ds_member *m, struct ds_record *rec, ktime_t deadline);
void ds_capture_undo(struct ds_member *m);
void ds_capture_final(struct ds_channel *ch, struct ds_cut *cut);
void ds_forget(struct ds_cut *cut, struct sk_buff *c);
void ds_log(struct ds_member *m, struct ds_cut *cut, struct sk_buff *skb,
	    const struct ds_seg *seg);

#endif /* _DISTSNAP_CAPTURE_H */
