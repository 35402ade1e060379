/* SPDX-License-Identifier: GPL-2.0 */
/* The subcommands: argv[0] is the subcommand's name; returns an exit code. */
#ifndef DISTSNAP_CMD_H
#define DISTSNAP_CMD_H

enum {
	EXIT_OK = 0,		/* done, or the property holds */
	EXIT_VIOLATED = 1,	/* the property does not hold */
	EXIT_USAGE = 2,
	EXIT_INCOMPLETE = 3,
	EXIT_REFUSED = 4,	/* by the kernel, or it failed */
};

int cmd_group(int argc, char **argv);
int cmd_join(int argc, char **argv);
int cmd_leave(int argc, char **argv);
int cmd_agent(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_members(int argc, char **argv);
int cmd_channels(int argc, char **argv);
int cmd_take(int argc, char **argv);
int cmd_merge(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_check(int argc, char **argv);

/* The part that every help ends with. */
#define HELP_EXIT	"Exit codes: 0 done, or the property holds; 1 it does not; 2 usage;\n" \
			"3 incomplete; 4 refused, or failed.\n"

#endif
