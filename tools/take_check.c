// SPDX-License-Identifier: GPL-2.0
/* What can be known to be wrong with a take before anything is photographed. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"
#include "merge.h"
#include "snapdir.h"
#include "take.h"
#include "util.h"

/* A series may go on where an earlier one ended. */
static int check_series(const char *out, struct why *why)
{
	struct stat st;

	if (stat(out, &st))
		return snapdir_check_parent(out, why);
	if (!S_ISDIR(st.st_mode))
		return why_set(why, "%s exists and is not a directory; give another name",
			       out);
	if (access(out, W_OK | X_OK))
		return why_set(why, "%s is not writable: %s", out,
			       strerror(errno));
	return 0;
}

static int check_out(const struct take *t)
{
	struct why why;
	int ret;

	if (!t->out)			/* take_prepare() knows the name */
		return 0;
	if (t->series)
		ret = check_series(t->out, &why);
	else
		ret = snapdir_check(t->out, &why);
	return ret ? fail(EXIT_USAGE, "take: %s", why.text) : 0;
}

int take_check(const struct take *t)
{
	size_t i;

	for (i = 0; i < t->n_expect; i++)
		if (!merge_expectable(t->expect[i]))
			return fail(EXIT_USAGE, "take --expect %s: not NODE/MEMBER",
				    t->expect[i]);
	return check_out(t);
}

static int make_dirs(const char *path, const char *option)
{
	int err = mkdirs(path);

	if (!err && access(path, W_OK | X_OK))
		err = -errno;
	return err ? fail(EXIT_USAGE, "take %s %s: %s", option, path,
			  strerror(-err)) : 0;
}

int take_prepare(struct take *t, uint32_t epoch)
{
	char *path = xasprintf("%s/%s", t->store, t->group);
	struct why why;
	int ret;

	ret = make_dirs(path, "--store");
	free(path);
	if (!ret && t->series && t->out)
		ret = make_dirs(t->out, "-o");
	if (ret || t->out)
		return ret;
	path = take_path(t, epoch);
	if (snapdir_check(path, &why))
		ret = fail(EXIT_USAGE, "take: %s", why.text);
	free(path);
	return ret;
}
