/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program of many threads that connect to others of its kind, and answer them; see
 * swarm.sh.  It says "ready" when it listens, "asking" after SIGUSR2, and after
 * SIGUSR1 "quiet" when nobody asks any more; SIGTERM ends the answering.
 */
#ifndef WORKLOAD_SWARM_H
#define WORKLOAD_SWARM_H

#include <stdbool.h>

#define SWARM_MAX	64	/* threads of each kind */

struct swarm {
	int listener;			/* not blocking */
	unsigned int threads, answering;
	void (*ask)(unsigned int nr);	/* as long as swarm_asks() */
	void (*answer)(int fd);		/* of a connection, which is closed then */
};

bool swarm_asks(void);

/* An error, which ends the asking.  Returns -1. */
int swarm_complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* All of it.  Returns how many errors there were. */
unsigned int swarm_run(const struct swarm *s);

#endif
