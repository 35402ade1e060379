/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Strict reading of JSON objects into plain structs, by tables.  A value of the
 * wrong type, out of range, or missing is refused; unknown keys are ignored.
 */
#ifndef DISTSNAP_JSONREAD_H
#define DISTSNAP_JSONREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <jansson.h>

#include "why.h"

struct texts {
	char **v;
	size_t n;
};

enum jsonread_kind {
	READ_UINT,		/* uint64_t */
	READ_BOOL,		/* bool */
	READ_TEXT,		/* char *, allocated */
	READ_NAME,		/* char *, allocated: see jsonread_name_ok() */
	READ_TEXTS,		/* struct texts, allocated */
	READ_WORD,		/* unsigned int: index into @words */
	READ_FLAGS,		/* unsigned int: a bit for each of @words */
};

/**
 * struct jsonread_field - where a value of an object goes
 * @key: its name
 * @kind: its type, here and there
 * @at: offset in the struct
 * @max: highest number, or longest name
 * @words: the words allowed, ending with NULL
 * @optional: absent or null leaves the struct as it is
 */
struct jsonread_field {
	const char *key;
	enum jsonread_kind kind;
	size_t at;
	uint64_t max;
	const char *const *words;
	bool optional;
};

/* @what names the object in the message.  0, or -1 and @why. */
int jsonread(const json_t *obj, const struct jsonread_field *fields, size_t n,
	     void *to, const char *what, struct why *why);

/* The array @key, or NULL and @why. */
const json_t *jsonread_array(const json_t *obj, const char *key,
			     const char *what, struct why *why);

/* [A-Za-z0-9._-]+, not starting with '.', at most @max: a safe file name */
bool jsonread_name_ok(const char *name, size_t max);

void texts_add(struct texts *t, char *text);
void texts_sort(struct texts *t);	/* and drop duplicates */
void texts_free(struct texts *t);

#endif
