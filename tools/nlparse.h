/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Attributes to structs, by table: one line per attribute says where its value
 * goes.  Attributes without a line are ignored, so a newer module is no error.
 */
#ifndef DISTSNAP_NLPARSE_H
#define DISTSNAP_NLPARSE_H

#include <stddef.h>
#include <stdint.h>

#include <netlink/attr.h>

enum field_kind {
	FIELD_U16,
	FIELD_U32,
	FIELD_U64,
	FIELD_STR,		/* char array */
	FIELD_BIN,		/* byte array, shorter data is zero-padded */
	FIELD_STRINGS,		/* struct ds_strings, repeated attribute */
	FIELD_PREFIXES,		/* struct ds_group's peers and n_peers */
	FIELD_REGSET,		/* struct ds_thread's regsets, repeated */
	FIELD_DATA,		/* struct ds_data's data and len: not copied */
};

struct field {
	uint16_t attr;
	uint8_t kind;
	uint16_t offset;
	uint16_t size;
};

struct layout {
	const struct field *fields;
	size_t n;
	size_t size;			/* of the struct */
	void (*release)(void *parsed);	/* what it points to, if anything */
};

extern const struct layout layout_group, layout_member, layout_channel,
	layout_snap, layout_record, layout_thread, layout_counter, layout_data,
	layout_event;

/* Fills @out, zeroed by the caller. */
void layout_parse(const struct layout *l, struct nlattr *head, int len,
		  void *out);

#endif
