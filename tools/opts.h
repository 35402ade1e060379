/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Values of options.  What is not valid is refused with one line that names the
 * option, the value and what would be valid; the result is then EXIT_USAGE.
 */
#ifndef DISTSNAP_OPTS_H
#define DISTSNAP_OPTS_H

#include <stdint.h>

/* For helps: what opt_ms() and opt_bytes() take. */
#define OPTS_TIMES	"Times are in milliseconds, or with a suffix: 500ms, 5s, 1m.\n"
#define OPTS_SIZES	"Sizes are in bytes, or with a suffix: 64K, 256M, 1G.\n"

int opt_number(const char *cmd, const char *opt, const char *arg, uint32_t min,
	       uint32_t max, uint32_t *out);
int opt_text(const char *cmd, const char *opt, char *arg, const char **out);
int opt_ms(const char *cmd, const char *opt, const char *arg, uint32_t min,
	   uint32_t max, uint32_t *out);
int opt_bytes(const char *cmd, const char *opt, const char *arg, uint64_t min,
	      uint64_t max, uint64_t *out);

/*
 * What getopt_long() did not take: @got is ':' or '?', and the option string
 * starts with ':'.  Always EXIT_USAGE.
 */
int opt_refuse(const char *cmd, char **argv, int got);

/* argv[optind] is the only one left and a valid name: 0 or EXIT_USAGE. */
int opt_group(const char *cmd, int argc, char **argv);

#endif
