// SPDX-License-Identifier: GPL-2.0
/* The codec of the distsnap TCP option. */
#include "mutant.h"
#include "option.h"

#define KIND_EOL	0
#define KIND_NOP	1
#define KIND_SACK	5
#define KIND_MD5	19
#define KIND_AO		29
#define KIND_FASTOPEN	34
#define SACK_BLOCK	8

static void put16(u8 *p, u16 v)
{
	p[0] = v >> 8;
	p[1] = v;
}

static void put32(u8 *p, u32 v)
{
	put16(p, v >> 16);
	put16(p + 2, v);
}

static u16 get16(const u8 *p)
{
	return p[0] << 8 | p[1];
}

static u32 get32(const u8 *p)
{
	return (u32)get16(p) << 16 | get16(p + 2);
}

/**
 * ds_option_encode() - write @opt in wire order
 * @out: DISTSNAP_OPT_LEN bytes
 * @opt: what to say
 */
void ds_option_encode(u8 out[DISTSNAP_OPT_LEN], const struct ds_option *opt)
{
	out[0] = DISTSNAP_OPT_KIND;
	out[1] = DISTSNAP_OPT_LEN;
	put16(out + 2, DISTSNAP_OPT_EXID);
	out[4] = opt->flags;
	out[5] = DISTSNAP_OPT_VERSION << 4 | (opt->open & 0xf);
	put16(out + 6, opt->group);
	put32(out + 8, opt->epoch);
	put32(out + 12, opt->anchor);
}

/* Combinations that no sender of this version makes are not ours to guess. */
static bool sane(const struct ds_option *opt)
{
	const u8 says = DISTSNAP_OPT_MARKER | DISTSNAP_OPT_ACK | DISTSNAP_OPT_NAK;
	const u8 asks = DISTSNAP_OPT_PROBE | DISTSNAP_OPT_REPLY;

	if (!opt->group || opt->flags & ~(says | asks | DISTSNAP_OPT_LIGHT))
		return false;
	if (opt->flags & asks)
		return !(opt->flags & says) && (opt->flags & asks) != asks;
	if (!(opt->flags & says) || !opt->epoch)
		return false;
	return !(opt->flags & DISTSNAP_OPT_NAK) ||
	       !(opt->flags & (DISTSNAP_OPT_MARKER | DISTSNAP_OPT_ACK));
}

static bool is_ours(const u8 *o)
{
	return o[0] == DISTSNAP_OPT_KIND && o[1] >= 4 &&
	       get16(o + 2) == DISTSNAP_OPT_EXID;
}

/**
 * ds_option_find() - look for our option in a TCP option block
 * @opts: the block, behind the fixed 20 bytes of the header
 * @len: its length
 * @opt: filled in when found
 *
 * Return: 1 found, 0 not there, -EPROTONOSUPPORT for another version,
 * -EINVAL when it is malformed, contradictory or there twice.
 */
int ds_option_find(const u8 *opts, unsigned int len, struct ds_option *opt)
{
	unsigned int i = 0;
	int found = 0;

	while (i < len && opts[i] != KIND_EOL) {
		const u8 *o = opts + i;

		if (o[0] == KIND_NOP) {
			i++;
			continue;
		}
		if (i + 2 > len || o[1] < 2 || i + o[1] > len)
			break;	/* TCP stops here as well */
		i += o[1];
		if (!is_ours(o))
			continue;
		if (found || o[1] < 6)
			return -EINVAL;
		if (o[5] >> 4 != DISTSNAP_OPT_VERSION)
			return -EPROTONOSUPPORT;
		if (o[1] != DISTSNAP_OPT_LEN)
			return -EINVAL;
		opt->flags = o[4];
		opt->open = o[5] & 0xf;
		opt->group = get16(o + 6);
		opt->epoch = get32(o + 8);
		opt->anchor = get32(o + 12);
		if (!sane(opt))
			return -EINVAL;
		found = 1;
	}
	return found;
}

/**
 * ds_option_add() - build an option block with our option in it
 * @out: the new block
 * @opts: the block as TCP wrote it
 * @len: its length
 * @own: our option, encoded
 *
 * One that is there already gives way: a VRF has a segment pass LOCAL_OUT twice.
 * Padding is rebuilt and the last SACK blocks give way when there is no room:
 * RFC 2018 lets a sender report fewer, and the first block is the newest.  So does
 * the Fast Open cookie of a SYN-ACK: the client asks again (RFC 7413).
 *
 * Return: the length of the new block, a multiple of 4; -ENOSPC when it does
 * not fit, -EINVAL when @opts is malformed, -EOPNOTSUPP when the header is signed.
 */
int ds_option_add(u8 out[DS_TCP_OPTIONS_MAX], const u8 *opts, unsigned int len,
		  const u8 own[DISTSNAP_OPT_LEN])
{
	const u8 *sack = NULL, *cookie = NULL;
	unsigned int i = 0, n = DISTSNAP_OPT_LEN;
	unsigned int blocks;

	memcpy(out, own, DISTSNAP_OPT_LEN);
	while (i < len && opts[i] != KIND_EOL) {
		const u8 *o = opts + i;

		if (o[0] == KIND_NOP) {
			i++;
			continue;
		}
		if (i + 2 > len || o[1] < 2 || i + o[1] > len)
			return -EINVAL;
		i += o[1];
		/* RFC 2385, RFC 5925: the peer would drop it. */
		if ((o[0] == KIND_MD5 || o[0] == KIND_AO) && !ds_mutant(tag_signed))
			return -EOPNOTSUPP;
		if (is_ours(o))
			continue;
		if (o[0] == KIND_SACK) {
			sack = o;
			continue;
		}
		if (o[0] == KIND_FASTOPEN) {
			cookie = o;
			continue;
		}
		if (n + o[1] > DS_TCP_OPTIONS_MAX)
			return -ENOSPC;
		memcpy(out + n, o, o[1]);
		n += o[1];
	}
	if (sack) {
		if (ds_mutant(no_sack_trim) && n + sack[1] > DS_TCP_OPTIONS_MAX)
			return -ENOSPC;
		blocks = (sack[1] - 2) / SACK_BLOCK;
		while (blocks && n + 2 + blocks * SACK_BLOCK > DS_TCP_OPTIONS_MAX)
			blocks--;
		if (blocks) {
			out[n] = KIND_SACK;
			out[n + 1] = 2 + blocks * SACK_BLOCK;
			memcpy(out + n + 2, sack + 2, blocks * SACK_BLOCK);
			n += 2 + blocks * SACK_BLOCK;
		}
	}
	if (cookie && n + cookie[1] <= DS_TCP_OPTIONS_MAX) {
		memcpy(out + n, cookie, cookie[1]);
		n += cookie[1];
	}
	while (n % 4)
		out[n++] = KIND_NOP;
	return n;
}
