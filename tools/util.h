/* SPDX-License-Identifier: GPL-2.0 */
/* Small helpers that every subcommand shares. */
#ifndef DISTSNAP_UTIL_H
#define DISTSNAP_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#endif
#define DEFAULT_STORE	"/var/lib/distsnap"

/* One line on stderr: "distsnap: WHAT: why; way out". */
void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same, and returns @code: return fail(EXIT_USAGE, "..."); */
int fail(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Out of memory ends the program: nothing here can go on without. */
void *xmalloc(size_t size);
void *xcalloc(size_t n, size_t size);
void *xrealloc(void *p, size_t size);
char *xstrdup(const char *s);
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Numbers: 0, or -1 when @s is not one. Times take ms, s or m, sizes K, M, G. */
int parse_u64(const char *s, uint64_t *out);
int parse_u32(const char *s, uint32_t max, uint32_t *out);
int parse_ms(const char *s, uint64_t *ms);
int parse_bytes(const char *s, uint64_t *bytes);

/* Names of groups, nodes and members: [A-Za-z0-9._-]+, no '.' first. */
bool valid_name(const char *s);

uint64_t now_us(void);		/* CLOCK_MONOTONIC */

/* Whole small file, NUL-terminated; NULL and errno. Caller frees. */
char *read_whole(const char *path, size_t *len);
int write_all(int fd, const void *buf, size_t len);	/* 0 or -errno */

int mkdirs(const char *path);				/* 0 or -errno */
/* Removes @name under @dirfd with all below it; never follows a link. */
int remove_tree(int dirfd, const char *name);

#endif
