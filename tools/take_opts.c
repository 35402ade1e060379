// SPDX-License-Identifier: GPL-2.0
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "opts.h"
#include "store.h"
#include "take.h"
#include "util.h"

static const char help[] =
"Usage: distsnap take GROUP [-o SNAP] [OPTIONS]\n\n"
"Takes a snapshot of the group, starting here, and merges what the nodes\n"
"recorded into the directory SNAP.  The group needs members and an agent on this\n"
"host, and an agent on every other host with members, all with the same store.\n\n"
"  -o, --output SNAP  where it goes: a new or empty directory, in one that exists\n"
"                     (default: GROUP.EPOCH)\n"
"  --store DIR        shared by all nodes (default " DEFAULT_STORE ")\n"
"  --light            registers and channels only, no memory\n"
"  --timeout MS       how long to wait for the fragments (default 10s)\n"
"  --expect N/M,...   members without which it is incomplete, as NODE/MEMBER\n"
"                     (default: those that a connection leads to)\n"
"  --count N          take N snapshots, into SNAP/0001 and so on (default 1)\n"
"  --every MS         start one that often; without --count until interrupted\n"
"  --keep N           keep the newest N epochs in the store, and of a series the\n"
"                     newest N snapshots (default: all)\n"
"  --json             print objects, one a line\n\n"
OPTS_TIMES
"Without --keep, here or with the agents, nothing is ever removed from the store.\n"
"With it, no epoch is removed that is newer than what is merged, here or by\n"
"another take.\n\n"
"Exit codes: 0 all are complete; 2 usage, and nothing was done; 3 one is not\n"
"complete; 4 refused, or failed.\n";

#define TIME_MAX_MS	86400000	/* a day */

enum {
	OPT_STORE = 256, OPT_LIGHT, OPT_TIMEOUT, OPT_EXPECT, OPT_COUNT,
	OPT_EVERY, OPT_KEEP, OPT_JSON,
};

static const struct option options[] = {
	{ "output", required_argument, NULL, 'o' },
	{ "store", required_argument, NULL, OPT_STORE },
	{ "light", no_argument, NULL, OPT_LIGHT },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "expect", required_argument, NULL, OPT_EXPECT },
	{ "count", required_argument, NULL, OPT_COUNT },
	{ "every", required_argument, NULL, OPT_EVERY },
	{ "keep", required_argument, NULL, OPT_KEEP },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

/* The names live as long as the process. */
static void add_expected(struct take *t, const char *arg)
{
	char *copy = xstrdup(arg), *s;

	while ((s = strsep(&copy, ","))) {
		t->expect = xrealloc(t->expect, (t->n_expect + 1) *
						sizeof(*t->expect));
		t->expect[t->n_expect++] = s;
	}
}

static int parse_number(const char *opt, uint32_t *n)
{
	return opt_number("take", opt, optarg, 1, INT32_MAX, n);
}

static int parse_time(const char *opt, uint32_t *ms)
{
	return opt_ms("take", opt, optarg, 1, TIME_MAX_MS, ms);
}

/* 0: go on; otherwise the exit code. */
static int parse_option(int opt, char **argv, struct take *t)
{
	switch (opt) {
	case 'o':
		return opt_text("take", "-o", optarg, &t->out);
	case OPT_STORE:
		return opt_text("take", "--store", optarg, &t->store);
	case OPT_LIGHT:
		t->light = true;
		return 0;
	case OPT_TIMEOUT:
		return parse_time("--timeout", &t->timeout);
	case OPT_EXPECT:
		add_expected(t, optarg);
		return 0;
	case OPT_COUNT:
		t->series = true;
		return parse_number("--count", &t->count);
	case OPT_EVERY:
		t->series = true;
		return parse_time("--every", &t->every);
	case OPT_KEEP:
		return parse_number("--keep", &t->keep);
	case OPT_JSON:
		t->json = true;
		return 0;
	default:
		return opt_refuse("take", argv, opt);
	}
}

static bool is_number(const char *s)
{
	return strlen(s) >= 4 && strspn(s, "0123456789") == strlen(s);
}

/* A series goes on where an earlier one in the same directory ended. */
static unsigned int last_number(const char *out)
{
	unsigned int last = 0, n;
	struct dirent *d;
	DIR *dir;

	dir = opendir(out);
	while (dir && (d = readdir(dir))) {
		n = is_number(d->d_name) ? strtoul(d->d_name, NULL, 10) : 0;
		if (n > last)
			last = n;
	}
	if (dir)
		closedir(dir);
	return last;
}

int take_parse(int argc, char **argv, struct take *t)
{
	int opt, ret;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":o:h", options, NULL)) != -1) {
		if (opt == 'h') {
			fputs(help, stdout);
			return EXIT_OK;
		}
		ret = parse_option(opt, argv, t);
		if (ret)
			return ret;
	}
	if (opt_group("take", argc, argv))
		return EXIT_USAGE;
	t->group = argv[optind];
	if (!t->series)
		t->count = 1;
	else if (t->out)
		t->number = last_number(t->out) + 1;
	ret = take_check(t);
	return ret ? ret : -1;
}

char *take_path(struct take *t, uint32_t epoch)
{
	if (!t->out)
		return xasprintf("%s.%u", t->group, epoch);
	if (!t->series)
		return xstrdup(t->out);
	return xasprintf("%s/%04u", t->out, t->number++);
}

static void prune_series(const struct take *t)
{
	struct dirent *d;
	int fd, err;
	DIR *dir;

	fd = open(t->out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd < 0 ? NULL : opendir(t->out);
	while (dir && (d = readdir(dir))) {
		if (!is_number(d->d_name) ||
		    strtoul(d->d_name, NULL, 10) >= t->number - t->keep)
			continue;
		err = remove_tree(fd, d->d_name);
		if (err)
			complain("take: %s/%s: cannot be removed: %s", t->out,
				 d->d_name, strerror(-err));
	}
	if (dir)
		closedir(dir);
	if (fd >= 0)
		close(fd);
}

void take_prune(const struct take *t, uint32_t epoch)
{
	if (t->series && t->out && t->keep && t->number > t->keep)
		prune_series(t);
	store_prune("take", t->store, t->group, NULL, t->keep, epoch);
}
