// SPDX-License-Identifier: GPL-2.0
/*
 * Layout: ELF header, program headers, notes, then from a page boundary on the
 * contents of the PT_LOADs in the order of their addresses.
 *
 * Memory without a file reads as zero where no page is: short gaps are made
 * part of the segment (as holes), long ones a segment without contents.
 * Where a file is behind the memory a gap is never zero: every run of pages is
 * a segment of its own, and debuggers take the gaps from the file (NT_FILE).
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core.h"
#include "core_notes.h"
#include "util.h"

#define PAGE	4096ull
#define GAP_MAX	(16ull << 20)

struct loads {
	Elf64_Phdr *p;
	size_t n, cap;
	uint64_t offset;		/* in the file, of the next contents */
};

static void add_load(struct loads *l, const struct vma *v, uint64_t start,
		     uint64_t end, uint64_t contents)
{
	if (start == end)
		return;
	if (l->n == l->cap) {
		l->cap = l->cap ? l->cap * 2 : 256;
		l->p = xrealloc(l->p, l->cap * sizeof(*l->p));
	}
	l->p[l->n++] = (Elf64_Phdr) {
		.p_type = PT_LOAD,
		.p_flags = (v->prot & PROT_READ ? PF_R : 0) |
			   (v->prot & PROT_WRITE ? PF_W : 0) |
			   (v->prot & PROT_EXEC ? PF_X : 0),
		.p_offset = l->offset,
		.p_vaddr = start,
		.p_filesz = contents,
		.p_memsz = end - start,
		.p_align = PAGE,
	};
	l->offset += contents;
}

/* The segments of one mapping, whose runs are @run[0..n). */
static void load_vma(struct loads *l, const struct vma *v,
		     const struct image_run *run, size_t n)
{
	uint64_t gap_max = vma_zero_filled(v) ? GAP_MAX : 0;
	uint64_t start = v->start, at = start, next;
	size_t i;

	/* Nobody can have read a zero where reading is forbidden. */
	if (!(v->prot & PROT_READ) || v->unreadable)
		gap_max = 0;
	for (i = 0; i <= n; i++) {
		next = i < n ? run[i].addr : v->end;
		if (next - at > gap_max) {
			add_load(l, v, start, at, at - start);
			add_load(l, v, at, next, 0);
			start = next;
		}
		at = i < n ? next + run[i].len : next;
	}
	add_load(l, v, start, at, at - start);
}

static void add_loads(struct loads *l, const struct image *img)
{
	size_t i, run = 0, first;

	for (i = 0; i < img->vmas.n; i++) {
		first = run;
		while (run < img->n_runs && img->runs[run].vma == i)
			run++;
		if (img->vmas.v[i].want != VMA_NOTHING)
			load_vma(l, &img->vmas.v[i], &img->runs[first],
				 run - first);
	}
}

static int pwrite_all(int fd, const void *buf, size_t len, off_t at)
{
	ssize_t r;

	while (len) {
		r = pwrite(fd, buf, len, at);
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		buf = (const char *)buf + r;
		at += r;
		len -= r;
	}
	return 0;
}

static int write_runs(int fd, const struct image *img, const struct loads *l)
{
	const struct image_run *r;
	size_t i, p = 0;
	uint64_t at;
	int err = 0;

	for (i = 0; i < img->n_runs && !err; i++) {
		r = &img->runs[i];
		while (p < l->n &&
		       l->p[p].p_vaddr + l->p[p].p_memsz <= r->addr)
			p++;
		if (p == l->n)
			return -EINVAL;
		at = l->p[p].p_offset + (r->addr - l->p[p].p_vaddr);
		err = pwrite_all(fd, img->arena + r->pos, r->len, at);
	}
	return err;
}

/* More than 65534 segments are counted in a section header. */
static int write_headers(int fd, struct loads *l, const struct notes *notes,
			 uint64_t data)
{
	size_t headers = sizeof(Elf64_Ehdr) + (l->n + 1) * sizeof(Elf64_Phdr);
	Elf64_Shdr many = { .sh_info = l->n + 1 };
	Elf64_Phdr note = { .p_type = PT_NOTE, .p_filesz = notes->len,
			    .p_align = 4 };
	Elf64_Ehdr e = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
			     ELFDATA2LSB, EV_CURRENT, ELFOSABI_NONE },
		.e_type = ET_CORE, .e_machine = EM_X86_64,
		.e_version = EV_CURRENT, .e_phoff = sizeof(e),
		.e_ehsize = sizeof(e), .e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = l->n + 1,
	};
	size_t i;
	int err;

	if (l->n + 1 >= PN_XNUM) {
		e.e_phnum = PN_XNUM;
		e.e_shoff = headers;
		e.e_shnum = 1;
		e.e_shentsize = sizeof(many);
		headers += sizeof(many);
	}
	note.p_offset = headers;
	for (i = 0; i < l->n; i++)
		l->p[i].p_offset += data;
	err = pwrite_all(fd, &e, sizeof(e), 0);
	if (!err)
		err = pwrite_all(fd, &note, sizeof(note), sizeof(e));
	if (!err)
		err = pwrite_all(fd, l->p, l->n * sizeof(*l->p),
				 sizeof(e) + sizeof(note));
	if (!err && e.e_shnum)
		err = pwrite_all(fd, &many, sizeof(many), e.e_shoff);
	if (!err)
		err = pwrite_all(fd, notes->data, notes->len, note.p_offset);
	return err;
}

int core_write(int fd, const struct image *img, const struct ds_thread *threads,
	       size_t n_threads, const char *cmdline)
{
	struct notes notes = { 0 };
	struct loads l = { 0 };
	uint64_t data;
	int err;

	err = notes_build(&notes, img, threads, n_threads, cmdline);
	if (err)
		goto out;
	add_loads(&l, img);
	data = sizeof(Elf64_Ehdr) + (l.n + 1) * sizeof(Elf64_Phdr) +
	       sizeof(Elf64_Shdr) + notes.len;
	data = (data + PAGE - 1) / PAGE * PAGE;
	err = write_headers(fd, &l, &notes, data);
	if (!err)
		err = write_runs(fd, img, &l);
	if (!err && ftruncate(fd, data + l.offset))
		err = -errno;
out:
	free(l.p);
	free(notes.data);
	return err;
}
