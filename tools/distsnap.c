// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "util.h"
#include "version.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} commands[] = {
	{ "group",	cmd_group,	"create, change or delete a group" },
	{ "join",	cmd_join,	"make a running process a member of a group" },
	{ "leave",	cmd_leave,	"end a membership" },
	{ "agent",	cmd_agent,	"record this node's members whenever a snapshot runs" },
	{ "status",	cmd_status,	"show groups and the last snapshots of this node" },
	{ "members",	cmd_members,	"show the members on this node" },
	{ "channels",	cmd_channels,	"show the members' connections" },
	{ "take",	cmd_take,	"take a snapshot of a group" },
	{ "merge",	cmd_merge,	"make a snapshot of the fragments of its nodes" },
	{ "show",	cmd_show,	"show what a snapshot holds" },
	{ "check",	cmd_check,	"check a property of a snapshot" },
};

static int overview(FILE *to, int code)
{
	size_t i;

	fprintf(to, "Usage: distsnap COMMAND [ARGUMENTS]\n\n"
		    "Consistent snapshots of distributed programs, while they run.\n\n");
	for (i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(to, "  %-10s%s\n", commands[i].name, commands[i].help);
	fprintf(to, "\n'distsnap help COMMAND' tells more; 'distsnap --version' the version.\n"
		    HELP_EXIT);
	return code;
}

static int run(int argc, char **argv)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		if (!strcmp(argv[0], commands[i].name))
			return commands[i].run(argc, argv);
	}
	return fail(EXIT_USAGE,
		    "%s: no such command; 'distsnap help' lists them", argv[0]);
}

static int help(int argc, char **argv)
{
	static char option[] = "--help";
	char *args[] = { argv[1], option, NULL };

	if (argc > 2)
		return fail(EXIT_USAGE, "help: one command only: '%s' is too much",
			    argv[2]);
	return argc < 2 ? overview(stdout, EXIT_OK) : run(2, args);
}

static int dispatch(int argc, char **argv)
{
	if (argc < 2)
		return overview(stderr, EXIT_USAGE);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return overview(stdout, EXIT_OK);
	if (!strcmp(argv[1], "help"))
		return help(argc - 1, argv + 1);
	if (!strcmp(argv[1], "--version")) {
		puts("distsnap " TOOL_VERSION);
		return EXIT_OK;
	}
	return run(argc - 1, argv + 1);
}

/* Whoever reads the answer in a pipe or a file must not miss a part of it. */
int main(int argc, char **argv)
{
	int ret = dispatch(argc, argv);

	if (fflush(stdout) || ferror(stdout))
		return fail(EXIT_REFUSED, "standard output: %s", strerror(errno));
	return ret;
}
