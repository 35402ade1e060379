// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "jsonread.h"
#include "merge.h"
#include "opts.h"
#include "util.h"

static const char help[] =
"Usage: distsnap merge FRAGMENT... -o SNAP [--expect NODE/MEMBER[,...]]\n\n"
"Make the snapshot directory SNAP of the fragments of one epoch, given as the\n"
"directories that the agents wrote (STORE/GROUP/EPOCH/NODE), in any order.\n\n"
"  -o, --output SNAP   a new or empty directory\n"
"  --expect MEMBERS    the snapshot is incomplete without these members, each\n"
"                      NODE/MEMBER (default: those that a connection leads to)\n\n"
"Exit codes: 0 the snapshot is complete; 2 usage; 3 it is not, and every reason is\n"
"printed; 4 refused, or failed.\n";

enum { OPT_EXPECT = 256 };

static const struct option options[] = {
	{ "output", required_argument, NULL, 'o' },
	{ "expect", required_argument, NULL, OPT_EXPECT },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static void add_expected(struct texts *expect, const char *arg)
{
	char *copy = xstrdup(arg), *rest = copy, *s;

	while ((s = strsep(&rest, ",")))
		texts_add(expect, xstrdup(s));
	free(copy);
}

static void print(const struct merge_summary *sum, const char *snap)
{
	size_t i;

	printf("%s: %u member%s, %u channel%s, %" PRIu64 " bytes in flight, longest pause %.1f ms: %s%s\n",
	       snap, sum->members, sum->members == 1 ? "" : "s",
	       sum->channels, sum->channels == 1 ? "" : "s", sum->bytes,
	       sum->longest_pause_us / 1000.0,
	       sum->complete ? "complete" : "incomplete",
	       sum->closed ? "" : ", open");
	for (i = 0; i < sum->n_reasons; i++)
		printf("  %s\n", sum->reasons[i]);
}

static int run(const char *const *dirs, size_t n, const struct texts *expect,
	       const char *snap)
{
	const struct merge_opts opts = {
		.expect = (const char *const *)expect->v,
		.n_expect = expect->n,
	};
	struct merge_summary sum;
	size_t i;
	int ret;

	for (i = 0; i < expect->n; i++)
		if (!merge_expectable(expect->v[i]))
			return fail(EXIT_USAGE, "merge --expect %s: not NODE/MEMBER",
				    expect->v[i]);
	if (!snap)
		return fail(EXIT_USAGE, "merge: say with -o where the snapshot goes; 'distsnap merge --help' tells more");
	if (!n)
		return fail(EXIT_USAGE, "merge: name the fragments; 'distsnap merge --help' tells more");
	if (merge_run(dirs, n, &opts, snap, &sum))
		return EXIT_REFUSED;
	print(&sum, snap);
	ret = sum.complete ? EXIT_OK : EXIT_INCOMPLETE;
	merge_summary_free(&sum);
	return ret;
}

int cmd_merge(int argc, char **argv)
{
	struct texts expect = { NULL, 0 };
	const char *snap = NULL;
	int opt, ret = -1;

	opterr = 0;
	while (ret < 0 &&
	       (opt = getopt_long(argc, argv, ":o:h", options, NULL)) != -1) {
		if (opt == 'o') {
			snap = optarg;
		} else if (opt == OPT_EXPECT) {
			add_expected(&expect, optarg);
		} else if (opt == 'h') {
			fputs(help, stdout);
			ret = EXIT_OK;
		} else {
			ret = opt_refuse("merge", argv, opt);
		}
	}
	if (ret < 0)
		ret = run((const char *const *)argv + optind, argc - optind,
			  &expect, snap);
	texts_free(&expect);
	return ret;
}
