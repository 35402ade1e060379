// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "jsonread.h"
#include "util.h"

#define TEXT_MAX	4096

bool jsonread_name_ok(const char *name, size_t max)
{
	static const char ok[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
	size_t len = strlen(name);

	return len && len <= max && *name != '.' && strspn(name, ok) == len;
}

void texts_add(struct texts *t, char *text)
{
	t->v = xrealloc(t->v, (t->n + 1) * sizeof(*t->v));
	t->v[t->n++] = text;
}

static int text_cmp(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void texts_sort(struct texts *t)
{
	size_t i, n = 0;

	if (!t->n)
		return;
	qsort(t->v, t->n, sizeof(*t->v), text_cmp);
	for (i = 0; i < t->n; i++) {
		if (n && !strcmp(t->v[n - 1], t->v[i]))
			free(t->v[i]);
		else
			t->v[n++] = t->v[i];
	}
	t->n = n;
}

void texts_free(struct texts *t)
{
	while (t->n)
		free(t->v[--t->n]);
	free(t->v);
	t->v = NULL;
}

/* A NUL inside would end our copy early, so that two names could look equal. */
static const char *plain_text(const json_t *v)
{
	const char *s = json_string_value(v);

	if (!s || json_string_length(v) > TEXT_MAX ||
	    strlen(s) != json_string_length(v))
		return NULL;
	return s;
}

static int find_word(const json_t *v, const char *const *words)
{
	const char *s = plain_text(v);
	int i;

	for (i = 0; s && words[i]; i++)
		if (!strcmp(words[i], s))
			return i;
	return -1;
}

static bool read_texts(const json_t *v, struct texts *to)
{
	const char *s;
	json_t *item;
	size_t i;

	if (!json_is_array(v))
		return false;
	json_array_foreach(v, i, item) {
		s = plain_text(item);
		if (!s)
			return false;
		texts_add(to, xstrdup(s));
	}
	return true;
}

static bool read_flags(const json_t *v, const char *const *words,
		       unsigned int *to)
{
	json_t *item;
	size_t i;
	int bit;

	if (!json_is_array(v))
		return false;
	json_array_foreach(v, i, item) {
		bit = find_word(item, words);
		if (bit < 0)
			return false;
		*to |= 1u << bit;
	}
	return true;
}

static bool read_text(const json_t *v, const struct jsonread_field *f, char **to)
{
	const char *s = plain_text(v);

	if (!s || (f->kind == READ_NAME && !jsonread_name_ok(s, f->max)))
		return false;
	*to = xstrdup(s);
	return true;
}

static bool read_uint(const json_t *v, uint64_t max, uint64_t *to)
{
	json_int_t n = json_integer_value(v);

	if (!json_is_integer(v) || n < 0 || (uint64_t)n > max)
		return false;
	*to = n;
	return true;
}

static bool read_value(const json_t *v, const struct jsonread_field *f, void *to)
{
	int i;

	switch (f->kind) {
	case READ_UINT:
		return read_uint(v, f->max, to);
	case READ_BOOL:
		*(bool *)to = json_is_true(v);
		return json_is_boolean(v);
	case READ_TEXT:
	case READ_NAME:
		return read_text(v, f, to);
	case READ_TEXTS:
		return read_texts(v, to);
	case READ_FLAGS:
		return read_flags(v, f->words, to);
	case READ_WORD:
		i = find_word(v, f->words);
		*(unsigned int *)to = i;
		return i >= 0;
	}
	return false;
}

int jsonread(const json_t *obj, const struct jsonread_field *fields, size_t n,
	     void *to, const char *what, struct why *why)
{
	const json_t *v;
	size_t i;

	if (!json_is_object(obj))
		return why_set(why, "%s is not an object", what);
	for (i = 0; i < n; i++) {
		v = json_object_get(obj, fields[i].key);
		if (fields[i].optional && (!v || json_is_null(v)))
			continue;
		if (!v)
			return why_set(why, "%s: \"%s\" is missing", what,
				       fields[i].key);
		if (!read_value(v, &fields[i], (char *)to + fields[i].at))
			return why_set(why, "%s: \"%s\" is not valid", what,
				       fields[i].key);
	}
	return 0;
}

const json_t *jsonread_array(const json_t *obj, const char *key,
			     const char *what, struct why *why)
{
	const json_t *v = json_object_get(obj, key);

	if (!json_is_array(v)) {
		why_set(why, "%s: \"%s\" is not an array", what, key);
		return NULL;
	}
	return v;
}
