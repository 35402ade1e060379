// SPDX-License-Identifier: GPL-2.0
/*
 * check consistency: reach the verdict again, from the fragments alone, and
 * compare it and every byte in flight with what the snapshot says.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"
#include "file.h"
#include "manifest.h"
#include "snapdir.h"
#include "util.h"

static const char help[] =
"Usage: distsnap check consistency SNAP\n\n"
"Verify the snapshot from the fragments in it: nothing was received that was\n"
"not sent, and the bytes in flight are exactly the ones in between.\n\n"
"Exit codes: 0 consistent; 1 not; 2 usage; 3 incomplete; 4 it cannot be read.\n";

/* The file of a channel, and how far it was compared. */
struct compare {
	int fd;
	uint64_t at;
	bool differs;
};

static int sink_compare(void *ctx, const void *bytes, size_t len,
			struct why *why)
{
	struct compare *c = ctx;
	void *have = xmalloc(len);

	if (file_pread(c->fd, have, len, c->at, why) ||
	    memcmp(have, bytes, len))
		c->differs = true;
	c->at += len;
	free(have);
	return c->differs ? -1 : 0;
}

static bool has_size(int fd, uint64_t size)
{
	struct stat st;

	return !fstat(fd, &st) && (uint64_t)st.st_size == size;
}

static int check_channel(struct verdict *v, struct channel *ch,
			 const struct snapdir *sd, struct why *why)
{
	struct compare c = { .fd = -1 };
	int ret;

	/* A channel that is not whole has no file, which check_names() sees. */
	if (faccessat(sd->channels, ch->file, F_OK, AT_SYMLINK_NOFOLLOW))
		return channel_read(v, ch, NULL, NULL, why);
	c.fd = file_open(sd->channels, ch->file, why);
	if (c.fd < 0)
		return -1;
	ret = channel_read(v, ch, sink_compare, &c, why);
	if (c.differs || (!ret && ch->whole && !has_size(c.fd, ch->bytes)))
		ret = why_set(why, SNAPDIR_CHANNELS "/%s differs from what the fragments hold",
			      ch->file);
	close(c.fd);
	return ret;
}

/* channels/ holds a file for every whole channel and nothing else. */
static int check_names(const struct verdict *v, const struct snapdir *sd,
		       struct why *why)
{
	struct texts want = { NULL, 0 }, have = { NULL, 0 };
	int ret = snapdir_list(sd->channels, &have, why);
	size_t i;

	for (i = 0; i < v->n_channels; i++)
		if (v->channels[i].whole)
			texts_add(&want, xstrdup(v->channels[i].file));
	texts_sort(&want);
	for (i = 0; !ret && (i < want.n || i < have.n); i++) {
		if (i == want.n || (i < have.n &&
				    strcmp(have.v[i], want.v[i]) < 0))
			ret = why_set(why, SNAPDIR_CHANNELS "/%s belongs to no channel",
				      have.v[i]);
		else if (i == have.n || strcmp(have.v[i], want.v[i]))
			ret = why_set(why, SNAPDIR_CHANNELS "/%s is missing",
				      want.v[i]);
	}
	texts_free(&want);
	texts_free(&have);
	return ret;
}

static int check_manifest(const struct verdict *v, const struct snapdir *sd,
			  struct why *why)
{
	char *want = manifest_render(v);
	char *have = snapdir_read_manifest(sd, why);
	int ret = -1;

	if (have)
		ret = !strcmp(want, have) ? 0 :
		      why_set(why, SNAPDIR_MANIFEST " does not say what the fragments say");
	free(want);
	free(have);
	return ret;
}

static int verify(struct verdict *v, const struct fragset *set,
		  const struct texts *expect, const struct snapdir *sd,
		  struct why *why)
{
	size_t i;

	verdict_reach(v, set->v, set->n, (const char *const *)expect->v,
		      expect->n);
	for (i = 0; i < v->n_channels; i++)
		if (check_channel(v, &v->channels[i], sd, why))
			return -1;
	verdict_finish(v);
	if (v->ranked[BLAME_WRONG].n)		/* says more than that a file differs */
		return 0;
	return check_names(v, sd, why) || check_manifest(v, sd, why) ? -1 : 0;
}

static int say_reason(const char *snap, const char *what,
		      const struct texts *reasons, int code)
{
	printf("%s: %s: %s", snap, what, reasons->v[0]);
	if (reasons->n > 1)
		printf(" (and %zu more)", reasons->n - 1);
	putchar('\n');
	return code;
}

static int say(const struct verdict *v, const char *snap)
{
	if (v->ranked[BLAME_WRONG].n)
		return say_reason(snap, "inconsistent",
				  &v->ranked[BLAME_WRONG], EXIT_VIOLATED);
	if (v->reasons.n)
		return say_reason(snap, "incomplete", &v->reasons,
				  EXIT_INCOMPLETE);
	printf("%s: consistent: epoch %" PRIu64 ", %zu member%s, %zu channel%s, %" PRIu64 " bytes in flight",
	       snap, v->frags[0]->epoch, v->n_members,
	       v->n_members == 1 ? "" : "s", v->n_channels,
	       v->n_channels == 1 ? "" : "s", manifest_bytes(v));
	if (v->open_because.n)
		printf("; open: %s%s", v->open_because.v[0],
		       v->open_because.n > 1 ? ", and more" : "");
	putchar('\n');
	return EXIT_OK;
}

static bool has_node(const struct fragset *set, const char *node)
{
	size_t i;

	for (i = 0; i < set->n; i++)
		if (!strcmp(set->v[i]->node, node))
			return true;
	return false;
}

/* Nodes that the manifest names and that no fragment is of. */
static void list_missing(const json_t *manifest, const struct fragset *set,
			 struct texts *missing)
{
	const json_t *item;
	const char *node;
	size_t i;

	json_array_foreach(json_object_get(manifest, "members"), i, item) {
		node = json_string_value(json_object_get(item, "node"));
		if (node && !has_node(set, node))
			texts_add(missing, why_format("the fragment of node %s is missing",
						      node));
	}
	json_array_foreach(json_object_get(manifest, "initiators"), i, item) {
		node = json_string_value(item);
		if (node && !has_node(set, node))
			texts_add(missing, why_format("the fragment of node %s is missing",
						      node));
	}
	texts_sort(missing);
}

static int check_set(const struct fragset *set, const struct snapdir *sd,
		     const struct texts *expect, const char *snap,
		     struct why *why)
{
	struct verdict v;
	int ret;

	if (!set->n)
		return why_set(why, "it holds no fragments");
	ret = verify(&v, set, expect, sd, why);
	if (!ret)
		ret = say(&v, snap);
	verdict_free(&v);
	return ret;
}

static int check_fragments(const struct snapdir *sd, const json_t *manifest,
			   const struct texts *expect, const char *snap,
			   struct why *why)
{
	struct fragset set = { NULL, 0 };
	struct texts missing = { NULL, 0 };
	int ret = snapdir_load_fragments(sd, &set, why);

	if (!ret) {
		list_missing(manifest, &set, &missing);
		ret = missing.n ? say_reason(snap, "incomplete", &missing,
					     EXIT_INCOMPLETE) :
		      check_set(&set, sd, expect, snap, why);
	}
	texts_free(&missing);
	fragset_free(&set);
	return ret;
}

static int check_consistency(const char *snap)
{
	static const struct jsonread_field fields[] = {
		{ .key = "expected", .kind = READ_TEXTS },
	};
	struct texts expect = { NULL, 0 };
	struct snapdir sd;
	struct why why = { "" };
	json_t *manifest;
	int ret = -1;

	if (snapdir_open(&sd, snap, &why))
		return fail(EXIT_REFUSED, "check: %s", why.text);
	manifest = snapdir_load_manifest(&sd, &why);
	/* What was expected is the only thing that no fragment knows. */
	if (manifest && !jsonread(manifest, fields, 1, &expect,
				  SNAPDIR_MANIFEST, &why))
		ret = check_fragments(&sd, manifest, &expect, snap, &why);
	if (ret < 0) {
		printf("%s: inconsistent: %s\n", snap, why.text);
		ret = EXIT_VIOLATED;
	}
	json_decref(manifest);
	texts_free(&expect);
	snapdir_close(&sd);
	return ret;
}

int cmd_check(int argc, char **argv)
{
	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		fputs(help, stdout);
		return EXIT_OK;
	}
	if (argc < 2)
		return fail(EXIT_USAGE, "check: name a property; 'distsnap check --help' tells more");
	if (strcmp(argv[1], "consistency"))
		return fail(EXIT_USAGE, "check: %s: no such property; it is 'consistency'",
			    argv[1]);
	if (argc != 3)
		return fail(EXIT_USAGE, "check consistency: name one snapshot directory");
	return check_consistency(argv[2]);
}
