// SPDX-License-Identifier: GPL-2.0
/* Reads manifest.json and the channels' files; see snap.h. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "snap.h"

static int read_members(struct snap *s, struct why *w)
{
	json_t *list = json_object_get(s->manifest, "members"), *one;
	struct snap_member *m;
	const char *node;
	size_t i;

	s->members = calloc(json_array_size(list) + 1, sizeof(*s->members));
	json_array_foreach(list, i, one) {
		m = &s->members[s->nr_members];
		if (json_unpack(one, "{s:s, s:s, s?s}", "name", &m->name,
				"node", &node, "core", &m->core) &&
		    json_unpack(one, "{s:s, s:s, s:n}", "name", &m->name,
				"node", &node, "core"))
			return why(w, "member %zu of the manifest is malformed", i);
		snprintf(m->id, sizeof(m->id), "%s/%s", node, m->name);
		s->nr_members++;
	}
	return 0;
}

/* Exactly as many bytes as the positions demand, no more. */
static int read_data(struct snap *s, struct snap_channel *c, const char *file,
		     struct why *w)
{
	size_t n = c->sent - c->read, got;
	char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", s->path, file);
	f = fopen(path, "re");
	if (!f)
		return why(w, "%s: %s", path, strerror(errno));
	c->data = malloc(n + 1);
	got = c->data ? fread(c->data, 1, n + 1, f) : 0;
	fclose(f);
	if (got > n)
		return why(w, "channel %s -> %s: the file has more than the %zu bytes from %"
			   PRIu64 " to %" PRIu64, c->src, c->dst, n, c->read, c->sent);
	if (got < n)
		return why(w, "channel %s -> %s: the file has %zu bytes, but from %"
			   PRIu64 " to %" PRIu64 " there are %zu",
			   c->src, c->dst, got, c->read, c->sent, n);
	return 0;
}

static int read_channels(struct snap *s, struct why *w)
{
	json_t *list = json_object_get(s->manifest, "channels"), *one;
	size_t i;

	s->channels = calloc(json_array_size(list) + 1, sizeof(*s->channels));
	json_array_foreach(list, i, one) {
		struct snap_channel *c = &s->channels[s->nr_channels];
		json_int_t read, sent, bytes;
		const char *file;
		int fin;

		if (json_unpack(one, "{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:b, s:s}",
				"src", &c->src, "dst", &c->dst,
				"src_addr", &c->src_addr,
				"dst_addr", &c->dst_addr, "read", &read,
				"sent", &sent, "bytes", &bytes, "fin", &fin,
				"file", &file))
			return why(w, "channel %zu of the manifest is malformed", i);
		s->nr_channels++;
		if (fin && read == sent)
			read--;
		sent -= fin;
		if (read < 0 || read > sent)
			return why(w, "channel %s -> %s: %lld bytes were read, but only %lld sent",
				   c->src, c->dst, (long long)read, (long long)sent);
		if (bytes != sent - read)
			return why(w, "channel %s -> %s: the manifest says %lld bytes, but from %lld to %lld there are %lld",
				   c->src, c->dst, (long long)bytes,
				   (long long)read, (long long)sent,
				   (long long)(sent - read));
		c->read = read;
		c->sent = sent;
		if (read_data(s, c, file, w))
			return -1;
	}
	return 0;
}

int snap_open(struct snap *s, const char *path, struct why *w)
{
	const char *format, *verdict, *reason = NULL;
	char file[PATH_MAX];
	json_error_t err;
	int version;
	json_int_t epoch, pause = 0;

	*s = (struct snap){ .path = path };
	snprintf(file, sizeof(file), "%s/manifest.json", path);
	s->manifest = json_load_file(file, 0, &err);
	if (!s->manifest)
		return why(w, "%s: %s", file, err.text);
	if (json_unpack(s->manifest, "{s:s, s:i, s:I, s:s, s?{s?I}}",
			"format", &format, "version", &version,
			"epoch", &epoch, "verdict", &verdict,
			"totals", "longest_pause_us", &pause) ||
	    strcmp(format, "distsnap-snapshot") || version != 1)
		return why(w, "%s is no manifest of version 1", file);
	s->epoch = epoch;
	s->pause_us = pause;
	if (strcmp(verdict, "complete")) {
		json_unpack(s->manifest, "{s:[s]}", "reasons", &reason);
		why(w, "incomplete: %s", reason ?: "without a reason");
		return SNAP_INCOMPLETE;
	}
	if (read_members(s, w) || read_channels(s, w))
		return -1;
	return 0;
}

int snap_alone(const struct snap *s, struct why *w)
{
	json_t *list = json_object_get(s->manifest, "externals");
	const char *local = "?", *remote = "?";

	if (!json_array_size(list))
		return 0;
	json_unpack(json_array_get(list, 0), "{s:s, s:s}", "local", &local,
		    "remote", &remote);
	return why(w, "%zu connections are said to be a stranger's, the first %s - %s",
		   json_array_size(list), local, remote);
}

void snap_close(struct snap *s)
{
	unsigned int i;

	for (i = 0; i < s->nr_channels; i++)
		free(s->channels[i].data);
	free(s->channels);
	free(s->members);
	json_decref(s->manifest);
}
