/* SPDX-License-Identifier: GPL-2.0 */
/* A bank as found in a core. */
#ifndef AUDIT_VAULT_H
#define AUDIT_VAULT_H

#include "../workload/bank.h"
#include "core.h"

struct vault {
	const char *name;
	struct bank *bank;
	struct bank_ledger ledger;	/* the valid copy */
	struct core core;
	uint64_t addr;			/* of the bank in the process */
	uint64_t moved, move_done;	/* of the labels */
};

/* What a thread has moved without having booked it. */
struct pending {
	uint64_t min, max;
	int tid;			/* 0: no thread */
};

int vault_open(struct vault *v, const char *name, const char *path,
	       const struct exe *exe, struct why *w);
int vault_pending(const struct vault *v, unsigned int peer, int sending,
		  struct pending *p, struct why *w);
void vault_close(struct vault *v);

#endif
