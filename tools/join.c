// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "nl.h"
#include "util.h"

#define BUSY_TRIES	100
#define BUSY_US		10000

static const char help_join[] =
"Usage: distsnap join GROUP --pid N [--name MEMBER]\n\n"
"Makes the running process N a member; it is not stopped and not changed.\n"
"MEMBER defaults to COMM.PID.\n";

static const char help_leave[] =
"Usage: distsnap leave GROUP --pid N\n";

struct args {
	const char *group, *name;
	uint32_t pid;
};

static const struct option options[] = {
	{ "pid", required_argument, NULL, 'p' },
	{ "name", required_argument, NULL, 'n' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

/* -1: go on; otherwise the exit code. */
static int parse(int argc, char **argv, const char *help, struct args *a)
{
	const char *cmd = argv[0];
	int opt;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (opt) {
		case 'p':
			if (parse_u32(optarg, INT32_MAX, &a->pid) || !a->pid)
				return fail(EXIT_USAGE, "%s: '%s' is no process id",
					    cmd, optarg);
			break;
		case 'n':
			a->name = optarg;
			break;
		case 'h':
			fputs(help, stdout);
			return EXIT_OK;
		default:
			return fail(EXIT_USAGE, "%s: %s: no such option, or its value is missing; 'distsnap %s --help' tells the options",
				    cmd, argv[optind - 1], cmd);
		}
	}
	if (optind != argc - 1 || !a->pid)
		return fail(EXIT_USAGE, "%s: one group and --pid are needed",
			    cmd);
	a->group = argv[optind];
	if (!valid_name(a->group))
		return fail(EXIT_USAGE, "%s: '%s' is no valid group name", cmd,
			    a->group);
	if (a->name && !valid_name(a->name))
		return fail(EXIT_USAGE, "%s: '%s' is no valid member name", cmd,
			    a->name);
	return -1;
}

static int refused(struct ds_conn *c, const char *cmd, const struct args *a)
{
	return fail(EXIT_REFUSED, "%s %s: process %u: %s", cmd, a->group,
		    a->pid, ds_error(c));
}

int cmd_join(int argc, char **argv)
{
	struct args a = { 0 };
	uint32_t member;
	struct ds_conn *c;
	int err, tries;

	err = parse(argc, argv, help_join, &a);
	if (err >= 0)
		return err;
	c = ds_open();
	if (!c)
		return EXIT_REFUSED;
	/* A socket may be in use at the very moment that it is looked at. */
	for (tries = 0; tries < BUSY_TRIES; tries++) {
		err = ds_join(c, a.group, a.pid, a.name, &member);
		if (err != -EAGAIN)
			break;
		usleep(BUSY_US);
	}
	if (err)
		err = refused(c, "join", &a);
	ds_close(c);
	return err;
}

int cmd_leave(int argc, char **argv)
{
	struct args a = { 0 };
	struct ds_conn *c;
	int err;

	err = parse(argc, argv, help_leave, &a);
	if (err >= 0)
		return err;
	c = ds_open();
	if (!c)
		return EXIT_REFUSED;
	err = ds_leave(c, a.group, a.pid);
	if (err)
		err = refused(c, "leave", &a);
	ds_close(c);
	return err;
}
