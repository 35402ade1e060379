/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The codec of the TCP option (its layout is drawn in uapi/distsnap.h) and the
 * arithmetic of a TCP option block.  Pure: no kernel calls, any context.
 */
#ifndef _DISTSNAP_OPTION_H
#define _DISTSNAP_OPTION_H

#include "pure.h"
#include "../uapi/distsnap.h"

#define DS_TCP_OPTIONS_MAX	40	/* doff is four bits of words, RFC 9293 */

/**
 * struct ds_option - the option in host order
 * @flags: DISTSNAP_OPT_*
 * @open: sixteenths of the snapshot's deadline that remain, 0 = closed
 * @group: group id
 * @epoch: epoch, never 0 in a MARKER, ACK or NAK
 * @anchor: sequence number (MARKER: the cut; PROBE, REPLY: the sender's initial
 *	one), or the reason of a NAK
 */
struct ds_option {
	u8 flags;
	u8 open;
	u16 group;
	u32 epoch;
	u32 anchor;
};

void ds_option_encode(u8 out[DISTSNAP_OPT_LEN], const struct ds_option *opt);
int ds_option_find(const u8 *opts, unsigned int len, struct ds_option *opt);
int ds_option_add(u8 out[DS_TCP_OPTIONS_MAX], const u8 *opts, unsigned int len,
		  const u8 own[DISTSNAP_OPT_LEN]);

#endif /* _DISTSNAP_OPTION_H */
