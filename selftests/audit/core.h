/* SPDX-License-Identifier: GPL-2.0 */
/* A core file and the program that it is of: symbols, memory, registers. */
#ifndef AUDIT_CORE_H
#define AUDIT_CORE_H

#include <gelf.h>
#include <stdint.h>
#include <sys/user.h>

#include "why.h"

struct exe {
	int fd;
	Elf *elf;
	uint64_t entry;
};

int exe_open(struct exe *exe, const char *path, struct why *w);
/* Where a symbol lies (before relocation) and how big it is. */
int exe_symbol(const struct exe *exe, const char *name, uint64_t *value,
	       uint64_t *size, struct why *w);
void exe_close(struct exe *exe);

struct core_thread {
	int tid;
	int64_t offset;			/* of regs in the file */
	struct user_regs_struct regs;
};

struct core {
	int fd;
	Elf *elf;
	uint64_t bias;			/* address of a symbol less its value */
	unsigned int nr_threads;
	struct core_thread *threads;
};

int core_open(struct core *core, const char *path, const struct exe *exe,
	      struct why *w);
int core_read(const struct core *core, uint64_t addr, void *buf, size_t n,
	      struct why *w);
/* Where the byte at @addr lies in the file; -1 if it does not. */
int64_t core_offset(const struct core *core, uint64_t addr, size_t *room);
void core_close(struct core *core);

#endif
