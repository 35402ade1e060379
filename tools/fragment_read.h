/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the files that read fragment.json. */
#ifndef DISTSNAP_FRAGMENT_READ_H
#define DISTSNAP_FRAGMENT_READ_H

#include "fragment.h"
#include "util.h"

#define U32	UINT32_MAX
#define OFF	FRAGMENT_OFFSET_MAX
#define ANY	INT64_MAX

/* A line of a table: key @k goes to field @f of struct @s. */
#define F(s, k, f, ...) { .key = k, .at = offsetof(struct s, f), __VA_ARGS__ }

/* The array "channels" of a member. */
int fragment_read_cuts(const json_t *obj, struct frag_member *m,
		       const char *what, struct why *why);

#endif
