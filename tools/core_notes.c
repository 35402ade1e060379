// SPDX-License-Identifier: GPL-2.0
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>
#include <sys/user.h>

#include "core_notes.h"
#include "util.h"

struct identity {
	char comm[17], state;
	int ppid, pgrp, sid;
};

/* COMM may hold anything, ')' too: the last one ends it. */
static void parse_stat(const char *stat, struct identity *id)
{
	const char *open = strchr(stat, '('), *close = strrchr(stat, ')');

	memset(id, 0, sizeof(*id));
	id->state = 'S';
	if (!open || !close)
		return;
	snprintf(id->comm, sizeof(id->comm), "%.*s", (int)(close - open - 1),
		 open + 1);
	if (sscanf(close + 1, " %c %d %d %d", &id->state, &id->ppid, &id->pgrp,
		   &id->sid) != 4)
		id->state = 'S';
}

static void append(struct notes *n, const void *data, size_t len)
{
	size_t padded = (len + 3) & ~3ul;

	if (n->len + padded > n->cap) {
		n->cap = (n->len + padded) * 2;
		n->data = xrealloc(n->data, n->cap);
	}
	memcpy(n->data + n->len, data, len);
	memset(n->data + n->len + len, 0, padded - len);
	n->len += padded;
}

static void add_note(struct notes *n, const char *owner, uint32_t type,
		     const void *data, size_t len)
{
	Elf64_Nhdr h = { .n_namesz = strlen(owner) + 1, .n_descsz = len,
			 .n_type = type };

	append(n, &h, sizeof(h));
	append(n, owner, h.n_namesz);
	append(n, data, len);
}

static const struct ds_regset *find_regset(const struct ds_thread *t,
					   uint32_t type)
{
	size_t i;

	for (i = 0; i < t->n_regsets; i++) {
		if (t->regsets[i].type == type)
			return &t->regsets[i];
	}
	return NULL;
}

static int add_prstatus(struct notes *n, const struct ds_thread *t,
			const struct identity *id)
{
	const struct ds_regset *regs = find_regset(t, NT_PRSTATUS);
	struct elf_prstatus st = { 0 };

	if (!regs || regs->len != sizeof(struct user_regs_struct) ||
	    regs->len != sizeof(st.pr_reg))
		return -EINVAL;
	st.pr_pid = t->tid;
	st.pr_ppid = id->ppid;
	st.pr_pgrp = id->pgrp;
	st.pr_sid = id->sid;
	memcpy(&st.pr_reg, regs->data, regs->len);
	st.pr_fpvalid = !!find_regset(t, NT_FPREGSET);
	add_note(n, "CORE", NT_PRSTATUS, &st, sizeof(st));
	return 0;
}

static void add_regsets(struct notes *n, const struct ds_thread *t)
{
	size_t i;

	for (i = 0; i < t->n_regsets; i++) {
		const struct ds_regset *r = &t->regsets[i];

		if (r->type != NT_PRSTATUS)
			add_note(n, r->type == NT_FPREGSET ? "CORE" : "LINUX",
				 r->type, r->data, r->len);
	}
}

static void add_psinfo(struct notes *n, const struct image *img,
		       const struct identity *id, const char *cmdline)
{
	static const char states[] = "RSDTZW";
	const char *at = strchr(states, id->state);
	struct elf_prpsinfo ps = {
		.pr_state = at ? at - states : 1,
		.pr_sname = id->state,
		.pr_zomb = id->state == 'Z',
		.pr_pid = img->pid,
		.pr_ppid = id->ppid,
		.pr_pgrp = id->pgrp,
		.pr_sid = id->sid,
	};

	memcpy(ps.pr_fname, id->comm, sizeof(ps.pr_fname));
	snprintf(ps.pr_psargs, sizeof(ps.pr_psargs), "%s",
		 cmdline ? cmdline : id->comm);
	add_note(n, "CORE", NT_PRPSINFO, &ps, sizeof(ps));
}

/* Counts and addresses first, then the names, as in the kernel. */
static void add_files(struct notes *n, const struct image *img)
{
	struct notes table = { 0 };
	uint64_t head[2] = { 0, 4096 }, row[3];
	char *names = NULL;
	size_t names_len = 0, len, i;

	append(&table, head, sizeof(head));
	for (i = 0; i < img->vmas.n; i++) {
		const struct vma *v = &img->vmas.v[i];

		if (!vma_has_file(v))
			continue;
		row[0] = v->start;
		row[1] = v->end;
		row[2] = v->pgoff / 4096;
		append(&table, row, sizeof(row));
		head[0]++;
		len = strlen(v->path) + 1;
		names = xrealloc(names, names_len + len);
		memcpy(names + names_len, v->path, len);
		names_len += len;
	}
	memcpy(table.data, head, sizeof(head));
	table.data = xrealloc(table.data, table.len + names_len);
	if (names_len)
		memcpy(table.data + table.len, names, names_len);
	add_note(n, "CORE", NT_FILE, table.data, table.len + names_len);
	free(table.data);
	free(names);
}

static size_t find_leader(const struct image *img,
			  const struct ds_thread *threads, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (threads[i].tid == (uint32_t)img->pid)
			return i;
	}
	return 0;
}

int notes_build(struct notes *n, const struct image *img,
		const struct ds_thread *threads, size_t n_threads,
		const char *cmdline)
{
	siginfo_t none = { 0 };
	struct identity id;
	size_t first, i;
	int err;

	if (!n_threads)
		return -EINVAL;
	parse_stat(img->stat, &id);
	first = find_leader(img, threads, n_threads);
	err = add_prstatus(n, &threads[first], &id);
	if (err)
		return err;
	add_psinfo(n, img, &id, cmdline);
	add_note(n, "CORE", NT_SIGINFO, &none, sizeof(none));
	add_note(n, "CORE", NT_AUXV, img->auxv, img->auxv_len);
	add_files(n, img);
	add_regsets(n, &threads[first]);
	for (i = 0; i < n_threads; i++) {
		if (i == first)
			continue;
		err = add_prstatus(n, &threads[i], &id);
		if (err)
			return err;
		add_regsets(n, &threads[i]);
	}
	return 0;
}
