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
#include "take.h"
#include "util.h"

static const char help[] =
"Usage: distsnap take GROUP [-o SNAP] [OPTIONS]\n\n"
"Takes a snapshot of the group, starting here, and merges what the nodes\n"
"recorded into the directory SNAP (default: GROUP.EPOCH).\n\n"
"  -o, --output SNAP  where it goes: a new directory\n"
"  --store DIR        shared by all nodes (default " DEFAULT_STORE ")\n"
"  --light            registers and channels only, no memory\n"
"  --timeout MS       how long to wait for the fragments (default 10s)\n"
"  --expect N/M,...   members without which it is incomplete, as NODE/MEMBER\n"
"  --count N          take N snapshots, into SNAP/0001 and so on\n"
"  --every MS         start one that often; without --count until interrupted\n"
"  --keep N           keep the newest N of them only\n"
"  --json             print objects, one a line\n\n"
"Exit code 0 if all are complete, 3 if one is not, 4 if refused.\n";

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
	char *copy = xstrdup(arg), *save, *s;

	for (s = strtok_r(copy, ",", &save); s; s = strtok_r(NULL, ",", &save)) {
		t->expect = xrealloc(t->expect, (t->n_expect + 1) *
						sizeof(*t->expect));
		t->expect[t->n_expect++] = s;
	}
}

static int parse_number(const char *arg, uint32_t *n)
{
	return parse_u32(arg, UINT32_MAX, n) || !*n;
}

static int parse_option(int opt, struct take *t)
{
	switch (opt) {
	case 'o':
		t->out = optarg;
		return 0;
	case OPT_STORE:
		t->store = optarg;
		return 0;
	case OPT_LIGHT:
		t->light = true;
		return 0;
	case OPT_TIMEOUT:
		return parse_ms(optarg, &t->timeout);
	case OPT_EXPECT:
		add_expected(t, optarg);
		return 0;
	case OPT_COUNT:
		t->series = true;
		return parse_number(optarg, &t->count);
	case OPT_EVERY:
		t->series = true;
		return parse_ms(optarg, &t->every);
	case OPT_KEEP:
		return parse_number(optarg, &t->keep);
	case OPT_JSON:
		t->json = true;
		return 0;
	default:
		return 1;
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

static int check(struct take *t)
{
	int err;

	if (!valid_name(t->group))
		return fail(EXIT_USAGE, "take: '%s' is no valid group name",
			    t->group);
	if (t->keep && !(t->series && t->out))
		return fail(EXIT_USAGE, "take: --keep needs a series: --count or --every, and -o");
	if (!t->series)
		t->count = 1;
	if (!t->series || !t->out)
		return -1;
	err = mkdirs(t->out);
	if (err)
		return fail(EXIT_REFUSED, "take: %s: %s", t->out,
			    strerror(-err));
	t->number = last_number(t->out) + 1;
	return -1;
}

int take_parse(int argc, char **argv, struct take *t)
{
	int opt;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, "o:h", options, NULL)) != -1) {
		if (opt == 'h') {
			fputs(help, stdout);
			return EXIT_OK;
		}
		if (parse_option(opt, t))
			return fail(EXIT_USAGE, "take: %s: no such option, or no valid value; 'distsnap take --help' tells the options",
				    argv[optind - 1]);
	}
	if (optind != argc - 1)
		return fail(EXIT_USAGE, "take: name one group; 'distsnap take --help' tells more");
	t->group = argv[optind];
	return check(t);
}

char *take_path(struct take *t, uint32_t epoch)
{
	if (!t->out)
		return xasprintf("%s.%u", t->group, epoch);
	if (!t->series)
		return xstrdup(t->out);
	return xasprintf("%s/%04u", t->out, t->number++);
}

void take_prune(const struct take *t)
{
	struct dirent *d;
	int fd, err;
	DIR *dir;

	if (!t->keep || t->number <= t->keep)
		return;
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
