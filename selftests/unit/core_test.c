// SPDX-License-Identifier: GPL-2.0
/*
 * The core writer, without the module: a child of known state is stopped by
 * ptrace, copied, written as a core file, and looked at by gdb and by libelf.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/procfs.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "core.h"
#include "image.h"
#include "util.h"

#define THREADS		3
#define GIANT		(1ul << 40)
#define SPARSE		(1ul << 36)
#define SOME		(8ul << 20)

/* What the child's memory holds; gdb reads it by name. */
int core_test_data = 0x5eed;
int core_test_bss[1 << 20];
const int core_test_const = 4711;
char *core_test_giant, *core_test_sparse, *core_test_shared, *core_test_none;

static int ready[2];

static __attribute__((noinline)) void core_test_deepest(void)
{
	char c = 1;

	if (write(ready[1], &c, 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static __attribute__((noinline)) void *core_test_thread(void *arg)
{
	core_test_deepest();
	__asm__ volatile("" : : : "memory");
	return arg;
}

static void *map(size_t size, int prot, int flags)
{
	void *p = mmap(NULL, size, prot, flags | MAP_ANONYMOUS | MAP_NORESERVE,
		       -1, 0);

	if (p == MAP_FAILED)
		_exit(1);
	return p;
}

static void child(void)
{
	pthread_t t;
	int i;

	core_test_data = 0xbeef;
	core_test_bss[1000] = 42;
	core_test_giant = map(GIANT, PROT_NONE, MAP_PRIVATE);
	core_test_sparse = map(SPARSE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	core_test_sparse[SPARSE / 2] = 'S';
	core_test_shared = map(SOME, PROT_READ | PROT_WRITE, MAP_SHARED);
	/* In the object, but not in this process's page tables. */
	core_test_shared[SOME / 2] = 'H';
	madvise(core_test_shared, SOME, MADV_DONTNEED);
	core_test_none = map(4096, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	core_test_none[1] = 'N';
	mprotect(core_test_none, 4096, PROT_NONE);
	for (i = 1; i < THREADS; i++)
		pthread_create(&t, NULL, core_test_thread, NULL);
	core_test_thread(NULL);
}

static void add_regset(struct ds_thread *t, uint32_t type)
{
	struct ds_regset *r;
	char buf[16384];
	struct iovec iov = { buf, sizeof(buf) };

	if (ptrace(PTRACE_GETREGSET, t->tid, (long)type, &iov))
		return;
	t->regsets = xrealloc(t->regsets, ++t->n_regsets * sizeof(*r));
	r = &t->regsets[t->n_regsets - 1];
	r->type = type;
	r->len = iov.iov_len;
	r->data = xmalloc(r->len);
	memcpy(r->data, buf, r->len);
}

static size_t stop_threads(pid_t pid, struct ds_thread *t)
{
	char path[64];
	struct dirent *d;
	size_t n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (d = readdir(dir)) && n < THREADS) {
		if (d->d_name[0] == '.')
			continue;
		t[n].tid = atoi(d->d_name);
		if (ptrace(PTRACE_SEIZE, t[n].tid, 0, 0) ||
		    ptrace(PTRACE_INTERRUPT, t[n].tid, 0, 0) ||
		    waitpid(t[n].tid, NULL, __WALL) < 0)
			break;
		add_regset(&t[n], NT_PRSTATUS);
		add_regset(&t[n], NT_FPREGSET);
		add_regset(&t[n], NT_X86_XSTATE);
		n++;
	}
	if (dir)
		closedir(dir);
	return n;
}

FIXTURE(core) {
	pid_t pid;
	struct ds_thread threads[THREADS];
	size_t n;
	struct image *img;
	char path[32], why[128];
	int fd;
};

FIXTURE_SETUP(core)
{
	char c;
	int i;

	memset(self->threads, 0, sizeof(self->threads));
	ASSERT_EQ(0, pipe(ready));
	self->pid = fork();
	if (!self->pid)
		child();
	for (i = 0; i < THREADS; i++)
		ASSERT_EQ(1, read(ready[0], &c, 1));
	usleep(20000);
	self->n = stop_threads(self->pid, self->threads);
	ASSERT_EQ((size_t)THREADS, self->n);
	strcpy(self->path, "/tmp/core_test.XXXXXX");
	self->fd = mkstemp(self->path);
	ASSERT_LE(0, self->fd);
	self->img = image_new();
	ASSERT_EQ(0, image_reserve(self->img, image_guess(self->pid)));
	i = image_copy(self->img, self->pid, 0, self->why, sizeof(self->why));
	if (i)
		TH_LOG("%s", self->why);
	ASSERT_EQ(0, i);
	image_fill(self->img);
	ASSERT_EQ(0, core_write(self->fd, self->img, self->threads, self->n,
				"core_test child"));
}

FIXTURE_TEARDOWN(core)
{
	kill(self->pid, SIGKILL);
	/* Every traced thread wants to be waited for. */
	while (waitpid(-1, NULL, __WALL) > 0)
		;
	unlink(self->path);
	image_free(self->img);
}

/* What gdb says of the core file. */
static char *run_gdb(const char *core, const char *commands)
{
	char exe[4096] = "", *cmd, *out = xcalloc(1, 65536);
	FILE *f;

	if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0)
		return out;
	cmd = xasprintf("gdb -batch -nx %s %s %s 2>&1", commands, exe, core);
	f = popen(cmd, "r");
	if (f) {
		if (fread(out, 1, 65535, f) == 0)
			strcpy(out, "no output");
		pclose(f);
	}
	free(cmd);
	return out;
}

static bool has(const char *out, const char *text)
{
	if (strstr(out, text))
		return true;
	printf("# no '%s' in: %s\n", text, out);
	return false;
}

TEST_F(core, gdb_shows_globals)
{
	static const struct {
		const char *expr, *value;
	} globals[] = {
		{ "/x core_test_data", "$1 = 0xbeef" },
		{ "core_test_bss[1000]", "$2 = 42" },
		{ "core_test_bss[900000]", "$3 = 0" },
		{ "core_test_const", "$4 = 4711" },
		{ "core_test_sparse[1ul<<35]", "'S'" },
		{ "core_test_shared[4<<20]", "'H'" },
		{ "core_test_none[1]", "'N'" },
	};
	char *commands = xstrdup(""), *more, *out;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(globals); i++) {
		more = xasprintf("%s -ex 'p%s%s'", commands,
				 *globals[i].expr == '/' ? "" : " ",
				 globals[i].expr);
		free(commands);
		commands = more;
	}
	out = run_gdb(self->path, commands);
	for (i = 0; i < ARRAY_SIZE(globals); i++)
		ASSERT_TRUE(has(out, globals[i].value));
	free(commands);
	free(out);
}

TEST_F(core, gdb_shows_threads)
{
	char *out = run_gdb(self->path, "-ex 'info threads' -ex 'thread apply all bt'");
	const char *at = out;
	int frames = 0;

	ASSERT_TRUE(has(out, "Core was generated by `core_test child'"));
	ASSERT_TRUE(has(out, "Thread 3 "));
	ASSERT_TRUE(has(out, "core_test_thread"));
	while ((at = strstr(at, "in core_test_deepest"))) {
		frames++;
		at++;
	}
	if (frames < THREADS)
		TH_LOG("%s", out);
	ASSERT_LE(THREADS, frames);
	free(out);
}

TEST_F(core, nothing_is_paid_for_holes)
{
	struct stat st;

	ASSERT_EQ(0, fstat(self->fd, &st));
	ASSERT_GT(4 << 20, st.st_blocks * 512ll);
	ASSERT_GT(256 << 20, st.st_size);
	ASSERT_GT(4u << 20, self->img->used);
}

TEST_F(core, libelf_reads_it)
{
	GElf_Phdr p, giant = { 0 };
	size_t n, i, offset = 0, name, desc;
	int prstatus = 0, auxv = 0, files = 0;
	GElf_Nhdr note;
	Elf_Data *data;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(self->fd, ELF_C_READ, NULL);
	ASSERT_NE(NULL, elf);
	ASSERT_EQ(0, elf_getphdrnum(elf, &n));
	for (i = 0; i < n; i++) {
		gelf_getphdr(elf, i, &p);
		if (p.p_type == PT_LOAD && !p.p_flags && p.p_memsz >= GIANT)
			giant = p;
		if (p.p_type == PT_LOAD && p.p_filesz)
			ASSERT_EQ(0u, p.p_offset % 4096);
	}
	ASSERT_NE(0u, giant.p_memsz);
	ASSERT_EQ(0u, giant.p_filesz);
	gelf_getphdr(elf, 0, &p);
	ASSERT_EQ((unsigned int)PT_NOTE, p.p_type);
	data = elf_getdata_rawchunk(elf, p.p_offset, p.p_filesz, ELF_T_NHDR);
	ASSERT_NE(NULL, data);
	while ((offset = gelf_getnote(data, offset, &note, &name, &desc))) {
		prstatus += note.n_type == NT_PRSTATUS;
		auxv += note.n_type == NT_AUXV;
		files += note.n_type == NT_FILE;
	}
	ASSERT_EQ(THREADS, prstatus);
	ASSERT_EQ(1, auxv);
	ASSERT_EQ(1, files);
	elf_end(elf);
}

/* The next snapshot uses the same arena; a stranger is refused in words. */
TEST_F(core, image_is_reusable)
{
	size_t used = self->img->used, n = self->img->n_runs;
	uint64_t before = now_us();

	ASSERT_EQ(0, image_copy(self->img, self->pid, 0, self->why,
				sizeof(self->why)));
	TH_LOG("copied in %llu us", (unsigned long long)(now_us() - before));
	image_fill(self->img);
	ASSERT_EQ(used, self->img->used);
	ASSERT_EQ(n, self->img->n_runs);
	ASSERT_GT(0, image_copy(self->img, 0x3ffffff, 0, self->why,
				sizeof(self->why)));
	ASSERT_NE(NULL, strstr(self->why, "is gone"));
	ASSERT_GT(0, image_copy(self->img, self->pid, 1, self->why,
				sizeof(self->why)));
	ASSERT_NE(NULL, strstr(self->why, "too long"));
}

TEST_HARNESS_MAIN
