// SPDX-License-Identifier: GPL-2.0
/* Reads cores and the program's symbols with libelf; see core.h. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>
#include <unistd.h>

#include "core.h"

static int open_elf(const char *path, int type, int *fd, Elf **elf,
		    GElf_Ehdr *ehdr, struct why *w)
{
	*elf = NULL;
	*fd = open(path, O_RDONLY | O_CLOEXEC);
	if (*fd < 0)
		return why(w, "%s: %s", path, strerror(errno));
	elf_version(EV_CURRENT);
	*elf = elf_begin(*fd, ELF_C_READ, NULL);
	if (!*elf || !gelf_getehdr(*elf, ehdr) || ehdr->e_machine != EM_X86_64)
		return why(w, "%s is no x86-64 ELF file", path);
	if (type == ET_CORE && ehdr->e_type != ET_CORE)
		return why(w, "%s is no core file", path);
	return 0;
}

int exe_open(struct exe *exe, const char *path, struct why *w)
{
	GElf_Ehdr ehdr;

	if (open_elf(path, ET_EXEC, &exe->fd, &exe->elf, &ehdr, w))
		return -1;
	exe->entry = ehdr.e_entry;
	return 0;
}

int exe_symbol(const struct exe *exe, const char *name, uint64_t *value,
	       uint64_t *size, struct why *w)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	GElf_Sym sym;
	Elf_Data *data;
	size_t i;

	while ((scn = elf_nextscn(exe->elf, scn))) {
		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_SYMTAB)
			continue;
		data = elf_getdata(scn, NULL);
		for (i = 0; data && i < shdr.sh_size / shdr.sh_entsize; i++) {
			const char *s;

			if (!gelf_getsym(data, i, &sym))
				continue;
			s = elf_strptr(exe->elf, shdr.sh_link, sym.st_name);
			if (!s || strcmp(s, name))
				continue;
			*value = sym.st_value;
			*size = sym.st_size;
			return 0;
		}
	}
	return why(w, "the program has no symbol '%s'", name);
}

void exe_close(struct exe *exe)
{
	elf_end(exe->elf);
	close(exe->fd);
}

static int add_thread(struct core *core, const void *desc, size_t size,
		      int64_t offset)
{
	struct elf_prstatus status;
	struct core_thread *t;

	if (size < sizeof(status))
		return -1;
	memcpy(&status, desc, sizeof(status));
	t = realloc(core->threads, (core->nr_threads + 1) * sizeof(*t));
	if (!t)
		return -1;
	core->threads = t;
	t += core->nr_threads++;
	t->tid = status.pr_pid;
	t->offset = offset + offsetof(struct elf_prstatus, pr_reg);
	memcpy(&t->regs, &status.pr_reg, sizeof(t->regs));
	return 0;
}

static void set_bias(struct core *core, const void *desc, size_t size,
		     uint64_t entry)
{
	const Elf64_auxv_t *auxv = desc;

	for (; size >= sizeof(*auxv); auxv++, size -= sizeof(*auxv))
		if (auxv->a_type == AT_ENTRY)
			core->bias = auxv->a_un.a_val - entry;
}

static int read_notes(struct core *core, const GElf_Phdr *phdr, uint64_t entry)
{
	size_t off = 0, name, desc;
	GElf_Nhdr nhdr;
	Elf_Data *data = elf_getdata_rawchunk(core->elf, phdr->p_offset,
					      phdr->p_filesz, ELF_T_NHDR);

	while (data && (off = gelf_getnote(data, off, &nhdr, &name, &desc))) {
		const char *d = (char *)data->d_buf + desc;

		if (nhdr.n_type == NT_PRSTATUS &&
		    add_thread(core, d, nhdr.n_descsz, phdr->p_offset + desc))
			return -1;
		if (nhdr.n_type == NT_AUXV)
			set_bias(core, d, nhdr.n_descsz, entry);
	}
	return 0;
}

int core_open(struct core *core, const char *path, const struct exe *exe,
	      struct why *w)
{
	GElf_Ehdr ehdr;
	GElf_Phdr phdr;
	size_t i, n;

	*core = (struct core){ .bias = UINT64_MAX };
	if (open_elf(path, ET_CORE, &core->fd, &core->elf, &ehdr, w))
		return -1;
	if (elf_getphdrnum(core->elf, &n))
		return why(w, "%s: %s", path, elf_errmsg(-1));
	for (i = 0; i < n; i++)
		if (gelf_getphdr(core->elf, i, &phdr) &&
		    phdr.p_type == PT_NOTE &&
		    read_notes(core, &phdr, exe->entry))
			return why(w, "%s has a bad note", path);
	if (!core->nr_threads)
		return why(w, "%s has no registers of any thread", path);
	if (core->bias == UINT64_MAX)
		return why(w, "%s has no NT_AUXV with AT_ENTRY", path);
	return 0;
}

int64_t core_offset(const struct core *core, uint64_t addr, size_t *room)
{
	GElf_Phdr phdr;
	size_t i, n;

	if (elf_getphdrnum(core->elf, &n))
		return -1;
	for (i = 0; i < n; i++) {
		if (!gelf_getphdr(core->elf, i, &phdr) ||
		    phdr.p_type != PT_LOAD || addr < phdr.p_vaddr ||
		    addr - phdr.p_vaddr >= phdr.p_filesz)
			continue;
		*room = phdr.p_filesz - (addr - phdr.p_vaddr);
		return phdr.p_offset + (addr - phdr.p_vaddr);
	}
	return -1;
}

int core_read(const struct core *core, uint64_t addr, void *buf, size_t n,
	      struct why *w)
{
	while (n) {
		size_t room;
		int64_t off = core_offset(core, addr, &room);
		ssize_t ret;

		if (off < 0)
			return why(w, "address %#llx is not in the core",
				   (unsigned long long)addr);
		ret = pread(core->fd, buf, n < room ? n : room, off);
		if (ret <= 0)
			return why(w, "address %#llx: the core is cut short",
				   (unsigned long long)addr);
		buf = (char *)buf + ret;
		addr += ret;
		n -= ret;
	}
	return 0;
}

void core_close(struct core *core)
{
	free(core->threads);
	elf_end(core->elf);
	if (core->fd >= 0)
		close(core->fd);
	*core = (struct core){ .fd = -1 };
}
