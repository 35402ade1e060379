// SPDX-License-Identifier: GPL-2.0
#include <getopt.h>
#include <string.h>

#include <distsnap.h>

#include "cmd.h"
#include "opts.h"
#include "util.h"

int opt_number(const char *cmd, const char *opt, const char *arg, uint32_t min,
	       uint32_t max, uint32_t *out)
{
	uint64_t v;

	/* All digits and too long for 64 bits is a number nevertheless. */
	if (!*arg || arg[strspn(arg, "0123456789")])
		return fail(EXIT_USAGE, "%s %s %s: not a number", cmd, opt, arg);
	if (parse_u64(arg, &v) || v < min || v > max)
		return fail(EXIT_USAGE, "%s %s %s: not in %u..%u", cmd, opt,
			    arg, min, max);
	*out = v;
	return 0;
}

/* An unset variable of a script must not stand for a place. */
int opt_text(const char *cmd, const char *opt, char *arg, const char **out)
{
	if (!*arg)
		return fail(EXIT_USAGE, "%s: %s: needs a value", cmd, opt);
	*out = arg;
	return 0;
}

int opt_ms(const char *cmd, const char *opt, const char *arg, uint32_t min,
	   uint32_t max, uint32_t *out)
{
	uint64_t v;

	if (parse_ms(arg, &v))
		return fail(EXIT_USAGE, "%s %s %s: not a time (milliseconds, or 5s, 1m)",
			    cmd, opt, arg);
	if (v < min || v > max)
		return fail(EXIT_USAGE, "%s %s %s: not in %u..%u ms", cmd, opt,
			    arg, min, max);
	*out = v;
	return 0;
}

int opt_bytes(const char *cmd, const char *opt, const char *arg, uint64_t min,
	      uint64_t max, uint64_t *out)
{
	uint64_t v;

	if (parse_bytes(arg, &v))
		return fail(EXIT_USAGE, "%s %s %s: not a size (bytes, or 64K, 256M, 1G)",
			    cmd, opt, arg);
	if (v < min || v > max)
		return fail(EXIT_USAGE, "%s %s %s: not in %llu..%lluK", cmd,
			    opt, arg, (unsigned long long)min,
			    (unsigned long long)max >> 10);
	*out = v;
	return 0;
}

int opt_refuse(const char *cmd, char **argv, int got)
{
	const char *arg = argv[optind - 1];
	char letter[] = { '-', optopt, 0 };
	int len = strcspn(arg, "=");

	if (strncmp(arg, "--", 2) && optopt > ' ' && optopt < 0x7f) {
		arg = letter;
		len = 2;
	}
	if (got == ':')
		return fail(EXIT_USAGE, "%s: %.*s: needs a value", cmd, len,
			    arg);
	if (arg != letter && optopt)
		return fail(EXIT_USAGE, "%s: %.*s: takes no value", cmd, len,
			    arg);
	return fail(EXIT_USAGE, "%s: %.*s: no such option; 'distsnap %s --help' tells the options",
		    cmd, len, arg, cmd);
}

int opt_group(const char *cmd, int argc, char **argv)
{
	if (optind >= argc)
		return fail(EXIT_USAGE, "%s: name a group; 'distsnap %s --help' tells more",
			    cmd, cmd);
	if (optind + 1 < argc)
		return fail(EXIT_USAGE, "%s: one group only: '%s' is too much",
			    cmd, argv[optind + 1]);
	if (!valid_name(argv[optind]))
		return fail(EXIT_USAGE, "%s: '%s' is no valid group name: up to %d of [A-Za-z0-9._-], no '.' first",
			    cmd, argv[optind], DISTSNAP_NAME_MAX);
	return 0;
}
