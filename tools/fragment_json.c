// SPDX-License-Identifier: GPL-2.0
/* fragment.json, version 1, into plain structs.  No I/O. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fragment_read.h"

const char *const fragment_states[] = {
	"idle", "triggered", "captured", "recorded", "done", "expired",
	"aborted", "superseded", NULL,
};

static const char *const parkings[] = { "callback", "asleep", NULL };
static const char *const images[] = { "none", "copy", NULL };

/* What is read of an object but not kept as it is. */
struct head {
	char *format;
	uint64_t version;
};

struct image {
	unsigned int kind;
	char *core;
};

static const struct jsonread_field head_fields[] = {
	F(head, "format", format, .kind = READ_TEXT),
	F(head, "version", version, .kind = READ_UINT, .max = ANY),
};

static const struct jsonread_field fragment_fields[] = {
	F(fragment, "group", group, .kind = READ_NAME, .max = DISTSNAP_NAME_MAX),
	F(fragment, "group_id", group_id, .kind = READ_UINT, .max = UINT16_MAX),
	F(fragment, "epoch", epoch, .kind = READ_UINT, .max = U32),
	F(fragment, "node", node, .kind = READ_NAME, .max = FRAGMENT_NODE_MAX),
	F(fragment, "boot_id", boot_id, .kind = READ_NAME, .max = 64),
	F(fragment, "initiator", initiator, .kind = READ_BOOL),
	F(fragment, "light", light, .kind = READ_BOOL, .optional = true),
	F(fragment, "state", state, .kind = READ_WORD, .words = fragment_states),
	F(fragment, "reasons", reasons, .kind = READ_TEXTS),
};

static const struct jsonread_field member_fields[] = {
	F(frag_member, "name", name, .kind = READ_NAME, .max = DISTSNAP_NAME_MAX),
	F(frag_member, "id", id, .kind = READ_UINT, .max = U32),
	F(frag_member, "pid", pid, .kind = READ_UINT, .max = U32),
	F(frag_member, "comm", comm, .kind = READ_TEXT, .optional = true),
	F(frag_member, "exe", exe, .kind = READ_TEXT, .optional = true),
	F(frag_member, "state", state, .kind = READ_WORD, .words = fragment_states),
	F(frag_member, "reasons", reasons, .kind = READ_TEXTS),
	F(frag_member, "pause_us", pause_us, .kind = READ_UINT, .max = ANY,
	  .optional = true),
	F(frag_member, "uncovered", uncovered, .kind = READ_TEXTS),
};

static const struct jsonread_field image_fields[] = {
	F(image, "image", kind, .kind = READ_WORD, .words = images),
	F(image, "core", core, .kind = READ_TEXT, .optional = true),
};

static const struct jsonread_field time_fields[] = {
#define T(k) F(frag_times, #k, k, .kind = READ_UINT, .max = ANY, .optional = true)
	T(park), T(parked), T(captured), T(recorded), T(done),
};

static const struct jsonread_field thread_fields[] = {
	F(frag_thread, "tid", tid, .kind = READ_UINT, .max = U32),
	F(frag_thread, "parked", parked, .kind = READ_WORD, .words = parkings),
};

static const struct jsonread_field syscall_fields[] = {
	F(frag_thread, "nr", nr, .kind = READ_UINT, .max = INT32_MAX),
};

/* "0x" and 1 to 16 digits */
static bool hex_ok(const json_t *v, uint64_t *to)
{
	const char *s = json_string_value(v);
	size_t len = json_string_length(v);

	if (!s || len < 3 || len > 18 || strncmp(s, "0x", 2) ||
	    strspn(s + 2, "0123456789abcdefABCDEF") != len - 2)
		return false;
	*to = strtoull(s, NULL, 16);
	return true;
}

static int read_thread(const json_t *obj, struct frag_thread *t,
		       const char *owner, struct why *why)
{
	const json_t *call, *args;
	char what[160];
	size_t i;

	snprintf(what, sizeof(what), "%s: a thread", owner);
	if (jsonread(obj, thread_fields, ARRAY_SIZE(thread_fields), t, what, why))
		return -1;
	call = json_object_get(obj, "syscall");
	if (!call || json_is_null(call))
		return 0;
	t->in_syscall = true;
	if (jsonread(call, syscall_fields, ARRAY_SIZE(syscall_fields), t, what, why))
		return -1;
	args = jsonread_array(call, "args", what, why);
	if (!args)
		return -1;
	if (json_array_size(args) != ARRAY_SIZE(t->args))
		return why_set(why, "%s: not six arguments", what);
	for (i = 0; i < ARRAY_SIZE(t->args); i++)
		if (!hex_ok(json_array_get(args, i), &t->args[i]))
			return why_set(why, "%s: an argument is not hexadecimal",
				       what);
	return 0;
}

static int read_lists(const json_t *obj, struct frag_member *m,
		      const char *what, struct why *why)
{
	const json_t *threads, *item;
	size_t i;

	threads = jsonread_array(obj, "threads", what, why);
	if (!threads)
		return -1;
	m->threads = xcalloc(json_array_size(threads), sizeof(*m->threads));
	json_array_foreach(threads, i, item) {
		if (read_thread(item, &m->threads[m->n_threads++], what, why))
			return -1;
	}
	return fragment_read_cuts(obj, m, what, why);
}

static int read_image(const json_t *obj, struct frag_member *m,
		      const char *what, struct why *why)
{
	char want[2 * FRAGMENT_NAME_LEN];
	struct image image = { 0 };
	int ret;

	ret = jsonread(obj, image_fields, ARRAY_SIZE(image_fields), &image, what,
		       why);
	m->wants_core = image.kind == 1;
	if (!ret && image.core) {
		m->has_core = true;
		snprintf(want, sizeof(want), "%s/" FRAGMENT_CORE, m->name);
		if (strcmp(image.core, want))
			ret = why_set(why, "%s: core file \"%s\" is not \"%s\"",
				      what, image.core, want);
	}
	free(image.core);
	return ret;
}

static int read_member(const json_t *obj, struct frag_member *m,
		       struct why *why)
{
	const json_t *times = json_object_get(obj, "times");
	char what[64];

	m->pause_us = FRAGMENT_NONE;
	memset(&m->times, 0xff, sizeof(m->times));
	if (jsonread(obj, member_fields, ARRAY_SIZE(member_fields), m, "a member",
		     why))
		return -1;
	snprintf(what, sizeof(what), "member %s", m->name);
	if (times && jsonread(times, time_fields, ARRAY_SIZE(time_fields),
			      &m->times, what, why))
		return -1;
	if (read_image(obj, m, what, why))
		return -1;
	return read_lists(obj, m, what, why);
}

static int by_name(const void *a, const void *b)
{
	const struct frag_member *m = a, *n = b;

	return strcmp(m->name, n->name);
}

static int read_members(const json_t *root, struct fragment *f,
			struct why *why)
{
	const json_t *members, *item;
	size_t i;

	members = jsonread_array(root, "members", FRAGMENT_FILE, why);
	if (!members)
		return -1;
	f->members = xcalloc(json_array_size(members), sizeof(*f->members));
	json_array_foreach(members, i, item) {
		if (read_member(item, &f->members[f->n_members++], why))
			return -1;
	}
	if (f->n_members)
		qsort(f->members, f->n_members, sizeof(*f->members), by_name);
	for (i = 1; i < f->n_members; i++)
		if (!strcmp(f->members[i].name, f->members[i - 1].name))
			return why_set(why, "member %s appears twice",
				       f->members[i].name);
	return 0;
}

static int check_head(const json_t *root, struct why *why)
{
	struct head head = { 0 };
	int ret;

	ret = jsonread(root, head_fields, ARRAY_SIZE(head_fields), &head,
		       FRAGMENT_FILE, why);
	if (!ret && strcmp(head.format, FRAGMENT_FORMAT))
		ret = why_set(why, "its format is \"%s\", not \""
			      FRAGMENT_FORMAT "\"", head.format);
	else if (!ret && head.version != FRAGMENT_VERSION)
		ret = why_set(why, "its format has version %llu and this tool reads version %d",
			      (unsigned long long)head.version,
			      FRAGMENT_VERSION);
	free(head.format);
	return ret;
}

int fragment_parse(struct fragment *f, struct why *why)
{
	json_error_t err;
	json_t *root;
	int ret;

	root = json_loadb(f->text, f->text_len, JSON_REJECT_DUPLICATES, &err);
	if (!root)
		return why_set(why, FRAGMENT_FILE " line %d: %s", err.line,
			       err.text);
	ret = check_head(root, why);
	if (!ret)
		ret = jsonread(root, fragment_fields, ARRAY_SIZE(fragment_fields),
			       f, FRAGMENT_FILE, why);
	if (!ret)
		ret = read_members(root, f, why);
	json_decref(root);
	return ret;
}
