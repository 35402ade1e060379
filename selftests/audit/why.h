/* SPDX-License-Identifier: GPL-2.0 */
/* The sentence that says why a snapshot was rejected. */
#ifndef AUDIT_WHY_H
#define AUDIT_WHY_H

struct why {
	char text[512];
};

/* Always returns -1. */
int why(struct why *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
