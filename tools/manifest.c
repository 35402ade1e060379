// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>
#include <string.h>

#include "manifest.h"
#include "snapdir.h"
#include "util.h"

/* jansson returns NULL when memory is out, and takes it for an argument. */
static json_t *must(json_t *v)
{
	if (!v) {
		complain("out of memory");
		exit(EXIT_FAILURE);
	}
	return v;
}

static void put(json_t *obj, const char *key, json_t *v)
{
	if (json_object_set_new(obj, key, must(v)))
		must(NULL);
}

static void push(json_t *array, json_t *v)
{
	if (json_array_append_new(array, must(v)))
		must(NULL);
}

static json_t *string(char *text)
{
	json_t *v = must(json_string(text));

	free(text);
	return v;
}

static json_t *strings(const struct texts *t)
{
	json_t *array = must(json_array());
	size_t i;

	for (i = 0; i < t->n; i++)
		push(array, json_string(t->v[i]));
	return array;
}

static json_t *number(uint64_t n)
{
	return n == FRAGMENT_NONE ? json_null() : json_integer(n);
}

static json_t *owner(const struct end *e)
{
	return string(xasprintf("%s/%s", e->frag->node, e->member->name));
}

static json_t *initiators(const struct verdict *v)
{
	json_t *array = must(json_array());
	size_t i;

	for (i = 0; i < v->n_frags; i++)
		if (v->frags[i]->initiator)
			push(array, json_string(v->frags[i]->node));
	return array;
}

static json_t *member(const struct fragment *f, const struct frag_member *m)
{
	const uint64_t recorded = m->times.recorded;
	json_t *obj = must(json_object());

	put(obj, "name", json_string(m->name));
	put(obj, "node", json_string(f->node));
	put(obj, "pid", json_integer(m->pid));
	put(obj, "state", json_string(fragment_states[m->state]));
	put(obj, "pause_us", number(m->pause_us));
	put(obj, "trigger_to_recorded_us",
	    recorded == FRAGMENT_NONE ? json_null() :
	    json_integer(recorded / 1000));
	put(obj, "core", m->has_core ?
	    string(xasprintf(SNAPDIR_NODES "/%s/%s/" FRAGMENT_CORE, f->node,
			     m->name)) : json_null());
	put(obj, "threads", json_integer(m->n_threads));
	return obj;
}

static json_t *members(const struct verdict *v)
{
	json_t *array = must(json_array());
	size_t i, k;

	for (i = 0; i < v->n_frags; i++)
		for (k = 0; k < v->frags[i]->n_members; k++)
			push(array, member(v->frags[i],
					   &v->frags[i]->members[k]));
	return array;
}

static json_t *channel(const struct channel *ch)
{
	json_t *obj = must(json_object());

	put(obj, "src", owner(ch->src));
	put(obj, "dst", owner(ch->dst));
	put(obj, "src_addr", json_string(ch->src->cut->local));
	put(obj, "dst_addr", json_string(ch->dst->cut->local));
	put(obj, "isn", json_integer(ch->src->cut->isn));
	put(obj, "peer_isn", json_integer(ch->dst->cut->isn));
	put(obj, "read", json_integer(ch->dst->cut->in.read));
	put(obj, "sent", json_integer(ch->sent));
	put(obj, "bytes", ch->whole ? json_integer(ch->bytes) : json_null());
	put(obj, "fin", json_boolean(ch->fin));
	put(obj, "file", ch->whole ?
	    string(xasprintf(SNAPDIR_CHANNELS "/%s", ch->file)) : json_null());
	return obj;
}

static json_t *channels(const struct verdict *v)
{
	json_t *array = must(json_array());
	size_t i;

	for (i = 0; i < v->n_channels; i++)
		push(array, channel(&v->channels[i]));
	return array;
}

static json_t *externals(const struct verdict *v)
{
	json_t *array = must(json_array()), *obj;
	const struct end *e;
	size_t i;

	for (i = 0; i < v->n_externals; i++) {
		e = v->externals[i];
		obj = must(json_object());
		put(obj, "member", owner(e));
		put(obj, "local", json_string(e->cut->local));
		put(obj, "remote", json_string(e->cut->remote));
		put(obj, "why", json_string(fragment_peers[e->cut->peer]));
		push(array, obj);
	}
	return array;
}

uint64_t manifest_bytes(const struct verdict *v)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < v->n_channels; i++)
		bytes += v->channels[i].bytes;
	return bytes;
}

static json_t *totals(const struct verdict *v)
{
	json_t *obj = must(json_object());
	size_t i, with_bytes = 0;

	for (i = 0; i < v->n_channels; i++)
		with_bytes += v->channels[i].bytes > 0;
	put(obj, "members", json_integer(v->n_members));
	put(obj, "channels", json_integer(v->n_channels));
	put(obj, "bytes_in_flight", json_integer(manifest_bytes(v)));
	put(obj, "channels_with_bytes", json_integer(with_bytes));
	put(obj, "longest_pause_us", json_integer(v->longest_pause_us));
	return obj;
}

char *manifest_render(const struct verdict *v)
{
	const struct fragment *f = v->frags[0];
	json_t *root = must(json_object());
	char *body, *text;

	put(root, "format", json_string(MANIFEST_FORMAT));
	put(root, "version", json_integer(MANIFEST_VERSION));
	put(root, "group", json_string(f->group));
	put(root, "group_id", json_integer(f->group_id));
	put(root, "epoch", json_integer(f->epoch));
	put(root, "initiators", initiators(v));
	put(root, "expected", strings(&v->expect));
	put(root, "verdict", json_string(v->reasons.n ? "incomplete" :
							"complete"));
	put(root, "reasons", strings(&v->reasons));
	put(root, "scope", json_string(v->open_because.n ? "open" : "closed"));
	put(root, "open_because", strings(&v->open_because));
	put(root, "members", members(v));
	put(root, "channels", channels(v));
	put(root, "externals", externals(v));
	put(root, "totals", totals(v));

	body = json_dumps(root, JSON_INDENT(2));
	json_decref(root);
	if (!body)
		must(NULL);
	text = xasprintf("%s\n", body);
	free(body);
	return text;
}

int manifest_check_head(const json_t *root, struct why *why)
{
	const char *format = json_string_value(json_object_get(root, "format"));
	json_int_t version;

	if (!format)
		return why_set(why, SNAPDIR_MANIFEST ": it has no format");
	if (strcmp(format, MANIFEST_FORMAT))
		return why_set(why, SNAPDIR_MANIFEST ": its format is \"%s\", not \""
			       MANIFEST_FORMAT "\"", format);
	version = json_integer_value(json_object_get(root, "version"));
	if (version != MANIFEST_VERSION)
		return why_set(why, SNAPDIR_MANIFEST ": its format has version %lld and this tool reads version %d",
			       (long long)version, MANIFEST_VERSION);
	return 0;
}
