/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Types for the files that are free of kernel calls (option.c, snapshot.c), so
 * that the same source also runs in user-space tests.
 */
#ifndef _DISTSNAP_PURE_H
#define _DISTSNAP_PURE_H

#ifdef __KERNEL__
#include <linux/types.h>
#include <linux/string.h>
#include <linux/errno.h>
#else
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef int32_t s32;
#endif

/* Sequence numbers (RFC 9293, 3.4): is @a before, or at or after, @b? */
static inline bool ds_seq_before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

static inline bool ds_seq_after(u32 a, u32 b)
{
	return ds_seq_before(b, a);
}

/*
 * Epochs (RFC 1982).  0 is "none" and older than everything; the successor of
 * 0xffffffff is 1.
 */
static inline bool ds_epoch_after(u32 a, u32 b)
{
	if (!a || !b)
		return a && !b;
	return (s32)(a - b) > 0;
}

static inline u32 ds_epoch_next(u32 e)
{
	return e + 1 ? e + 1 : 1;
}

#endif /* _DISTSNAP_PURE_H */
