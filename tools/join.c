// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "nl.h"
#include "opts.h"
#include "util.h"

#define BUSY_TRIES	100
#define BUSY_US		10000

static const char help_join[] =
"Usage: distsnap join GROUP --pid N [--name MEMBER]\n\n"
"Makes the running process N a member; it is not stopped and not changed.\n"
"The group has to exist on this host, and the process to run here, in this\n"
"network namespace.\n\n"
"  --pid N        the process, one at a time\n"
"  --name MEMBER  its name in snapshots (default: COMM.PID)\n\n"
HELP_EXIT;

static const char help_leave[] =
"Usage: distsnap leave GROUP --pid N\n\n"
"Ends the membership of the process N, which runs on.\n\n"
"  --pid N   the process, one at a time\n\n"
HELP_EXIT;

struct args {
	const char *group, *name;
	uint32_t pid;
};

static const struct option options[] = {
	{ "name", required_argument, NULL, 'n' },	/* of join only */
	{ "pid", required_argument, NULL, 'p' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static int parse_pid(const char *cmd, struct args *a)
{
	if (a->pid)
		return fail(EXIT_USAGE, "%s: one process at a time: '%s' is too much",
			    cmd, optarg);
	return opt_number(cmd, "--pid", optarg, 1, INT32_MAX, &a->pid);
}

static int check_args(const char *cmd, int argc, char **argv, struct args *a)
{
	/* What $(pidof NAME) gives when there are several. */
	if (optind + 1 < argc && a->pid &&
	    !argv[optind + 1][strspn(argv[optind + 1], "0123456789")])
		return fail(EXIT_USAGE, "%s: one process at a time: '%s' is too much",
			    cmd, argv[optind + 1]);
	if (opt_group(cmd, argc, argv))
		return EXIT_USAGE;
	a->group = argv[optind];
	if (!a->pid)
		return fail(EXIT_USAGE, "%s: name the process with --pid", cmd);
	if (a->name && !valid_name(a->name))
		return fail(EXIT_USAGE, "%s --name %s: no valid name: up to %d of [A-Za-z0-9._-], no '.' first",
			    cmd, a->name, DISTSNAP_NAME_MAX);
	return -1;
}

/* -1: go on; otherwise the exit code. */
static int parse(int argc, char **argv, const char *help, struct args *a)
{
	bool join = help == help_join;
	const char *cmd = argv[0];
	int opt, err;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":h", join ? options :
				  options + 1, NULL)) != -1) {
		switch (opt) {
		case 'p':
			err = parse_pid(cmd, a);
			if (err)
				return err;
			break;
		case 'n':
			a->name = optarg;
			break;
		case 'h':
			fputs(help, stdout);
			return EXIT_OK;
		default:
			return opt_refuse(cmd, argv, opt);
		}
	}
	return check_args(cmd, argc, argv, a);
}

static int refused(struct ds_conn *c, const char *cmd, const struct args *a)
{
	return fail(EXIT_REFUSED, "%s %s: process %u: %s", cmd, a->group,
		    a->pid, strcmp(cmd, "leave") ? ds_error(c) :
		    ds_error_plain(c));
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
