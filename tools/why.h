/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Why something failed, in words.  The words may quote what a stranger wrote,
 * so that only printable ASCII is kept and the length is bounded.
 */
#ifndef DISTSNAP_WHY_H
#define DISTSNAP_WHY_H

struct why {
	char text[512];
};

/* Replace whatever could steer a terminal, in place. */
void why_clean(char *text);

/* Set the words; the value is always -1. */
int why_set(struct why *why, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Put words in front: "what: why".  The value is always -1. */
int why_about(struct why *why, const char *what);

/* The words as a new string. */
char *why_format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
