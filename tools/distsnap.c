// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "util.h"

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
	fprintf(to, "\n'distsnap COMMAND --help' tells more.\n"
		    "Exit codes: 0 done, or the property holds; 1 it does not; 2 usage;\n"
		    "3 incomplete; 4 refused by the kernel.\n");
	return code;
}

int main(int argc, char **argv)
{
	size_t i;

	if (argc < 2)
		return overview(stderr, EXIT_USAGE);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ||
	    !strcmp(argv[1], "help"))
		return overview(stdout, EXIT_OK);
	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	}
	return fail(EXIT_USAGE,
		    "%s: no such command; 'distsnap help' lists them", argv[1]);
}
