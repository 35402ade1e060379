// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "fragset.h"
#include "manifest.h"
#include "merge.h"
#include "snapdir.h"
#include "util.h"
#include "verdict.h"

static int load(struct fragset *set, const char *const *dirs, size_t n,
		struct why *why)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (fragset_load(set, AT_FDCWD, dirs[i], false, why))
			return -1;
	return 0;
}

static int sink_file(void *ctx, const void *bytes, size_t len, struct why *why)
{
	return file_write(*(int *)ctx, bytes, len, why);
}

static int write_channel(struct verdict *v, struct channel *ch,
			 const struct snapdir *sd, struct why *why)
{
	int fd, ret;

	fd = file_create(sd->channels, ch->file, why);
	if (fd < 0)
		return -1;
	ret = channel_read(v, ch, sink_file, &fd, why);
	close(fd);
	if (!ret && !ch->whole && unlinkat(sd->channels, ch->file, 0))
		ret = why_set(why, "%s: %s", ch->file, strerror(errno));
	return ret;
}

static int write_snap(struct verdict *v, const struct fragset *set,
		      struct snapdir *sd, struct why *why)
{
	char *text;
	size_t i;
	int ret;

	for (i = 0; i < set->n; i++)
		if (snapdir_add_fragment(sd, set->v[i], why))
			return -1;
	for (i = 0; i < v->n_channels; i++)
		if (write_channel(v, &v->channels[i], sd, why))
			return -1;
	verdict_finish(v);
	text = manifest_render(v);
	ret = snapdir_add_manifest(sd, text, why);
	free(text);
	return ret;
}

static void sum_up(struct verdict *v, struct merge_summary *sum)
{
	*sum = (struct merge_summary){
		.members = v->n_members,
		.channels = v->n_channels,
		.externals = v->n_externals,
		.bytes = manifest_bytes(v),
		.longest_pause_us = v->longest_pause_us,
		.complete = !v->reasons.n,
		.closed = !v->open_because.n,
		.reasons = v->reasons.v,
		.n_reasons = v->reasons.n,
		.n_causes = v->n_causes,
	};
	v->reasons = (struct texts){ NULL, 0 };		/* given away */
}

static int merge(const struct fragset *set, const struct merge_opts *opts,
		 const char *snap, struct merge_summary *sum, struct why *why)
{
	struct snapdir sd;
	struct verdict v;
	int ret;

	if (snapdir_create(&sd, snap, why))
		return -1;
	verdict_reach(&v, set->v, set->n, opts ? opts->expect : NULL,
		      opts ? opts->n_expect : 0);
	ret = write_snap(&v, set, &sd, why);
	if (ret)
		snapdir_abandon(&sd);
	else
		ret = snapdir_commit(&sd, why);
	if (!ret)
		sum_up(&v, sum);
	verdict_free(&v);
	return ret;
}

bool merge_expectable(const char *name)
{
	const char *slash = strchrnul(name, '/');
	char *node = xasprintf("%.*s", (int)(slash - name), name);
	bool ok;

	ok = *slash && jsonread_name_ok(node, FRAGMENT_NODE_MAX) &&
	     jsonread_name_ok(slash + 1, DISTSNAP_NAME_MAX);
	free(node);
	return ok;
}

static int check_expect(const struct merge_opts *opts, struct why *why)
{
	size_t i;

	for (i = 0; opts && i < opts->n_expect; i++)
		if (!merge_expectable(opts->expect[i]))
			return why_set(why, "\"%s\" is not NODE/MEMBER",
				       opts->expect[i]);
	return 0;
}

int merge_try(const char *const *dirs, size_t n, const struct merge_opts *opts,
	      const char *snap, struct merge_summary *sum, struct why *why)
{
	struct fragset set = { NULL, 0 };
	int ret;

	*sum = (struct merge_summary){ 0 };
	ret = check_expect(opts, why);
	if (!ret && !n)
		ret = why_set(why, "there are no fragments");
	if (!ret)
		ret = load(&set, dirs, n, why);
	if (!ret)
		ret = fragset_settle(&set, why);
	if (!ret)
		ret = merge(&set, opts, snap, sum, why);
	fragset_free(&set);
	return ret;
}

int merge_run(const char *const *dirs, size_t n, const struct merge_opts *opts,
	      const char *snap, struct merge_summary *sum)
{
	struct why why = { "" };
	int ret = merge_try(dirs, n, opts, snap, sum, &why);

	if (ret)
		complain("merge: %s", why.text);
	return ret;
}

int merge_ready(const char *const *dirs, size_t n)
{
	struct fragset set = { NULL, 0 };
	struct why why = { "" };
	struct ends ends;
	size_t i;
	int ret;

	ret = load(&set, dirs, n, &why);
	if (!ret) {
		ret = 1;
		ends_pair(&ends, set.v, set.n);
		for (i = 0; i < ends.n; i++)
			if (end_is_alone(&ends.v[i]) &&
			    !ends.v[i].twice)
				ret = 0;
		ends_free(&ends);
	}
	fragset_free(&set);
	return ret;
}

void merge_summary_free(struct merge_summary *sum)
{
	size_t i;

	for (i = 0; i < sum->n_reasons; i++)
		free(sum->reasons[i]);
	free(sum->reasons);
	*sum = (struct merge_summary){ 0 };
}
