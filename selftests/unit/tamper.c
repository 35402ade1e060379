// SPDX-License-Identifier: GPL-2.0
/*
 * tamper KIND BANK SNAP: falsify a good snapshot of the bank in one way, to show
 * that the oracle notices.  Without arguments it prints the kinds.  Channel
 * kinds take the channel with most bytes, core kinds the first bank in whose
 * core they are possible.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../audit/snap.h"
#include "../audit/vault.h"

struct scene {
	struct snap s;
	struct snap_channel *c;		/* the channel to falsify */
	json_t *entry;			/* its entry in the manifest */
	struct vault *vaults;
	struct bank_stream stream;	/* the channel's */
};

static void die(const char *what)
{
	fprintf(stderr, "tamper: %s\n", what);
	exit(1);
}

/* The channel as it is to be: other bytes, other positions. */
static void rewrite(struct scene *sc, const void *data, size_t n,
		    uint64_t read, uint64_t sent)
{
	const char *file = json_string_value(json_object_get(sc->entry, "file"));
	char path[PATH_MAX];
	FILE *f;

	json_object_set_new(sc->entry, "read", json_integer(read));
	json_object_set_new(sc->entry, "sent", json_integer(sent));
	json_object_set_new(sc->entry, "bytes", json_integer(sent - read));
	snprintf(path, sizeof(path), "%s/%s", sc->s.path, file);
	f = fopen(path, "we");
	if (!f || fwrite(data, 1, n, f) != n || fclose(f))
		die("cannot write the channel");
	snprintf(path, sizeof(path), "%s/manifest.json", sc->s.path);
	if (json_dump_file(sc->s.manifest, path, JSON_INDENT(2)))
		die("cannot write the manifest");
}

/* The bytes of the stream one message later, and how long that one is. */
static unsigned char *later(struct scene *sc, uint64_t *len)
{
	size_t n = sc->c->sent - sc->c->read, done = 0;
	unsigned char *buf = malloc(n + 1);
	struct bank_stream *s = &sc->stream;

	bank_find(s, sc->c->read);
	*len = bank_len(s);
	while (done < n) {
		uint64_t at = sc->c->read + *len + done;
		size_t part;

		bank_find(s, at);
		part = bank_len(s) - (at - s->start);
		if (part > n - done)
			part = n - done;
		bank_bytes(s, at - s->start, buf + done, part);
		done += part;
	}
	return buf;
}

static void shift(struct scene *sc)
{
	uint64_t len;
	unsigned char *data = later(sc, &len);

	rewrite(sc, data, sc->c->sent - sc->c->read, sc->c->read, sc->c->sent);
	free(data);
}

static void shift_told(struct scene *sc)
{
	uint64_t len;
	unsigned char *data = later(sc, &len);

	rewrite(sc, data, sc->c->sent - sc->c->read, sc->c->read + len,
		sc->c->sent + len);
	free(data);
}

static void missing(struct scene *sc)
{
	size_t n = sc->c->sent - sc->c->read;

	memmove(sc->c->data + n / 2, sc->c->data + n / 2 + 1, n - n / 2 - 1);
	rewrite(sc, sc->c->data, n - 1, sc->c->read, sc->c->sent);
}

static void missing_told(struct scene *sc)
{
	size_t n = sc->c->sent - sc->c->read;

	memmove(sc->c->data + n / 2, sc->c->data + n / 2 + 1, n - n / 2 - 1);
	rewrite(sc, sc->c->data, n - 1, sc->c->read, sc->c->sent - 1);
}

static void extra(struct scene *sc)
{
	size_t n = sc->c->sent - sc->c->read;

	sc->c->data[n] = 0;
	rewrite(sc, sc->c->data, n + 1, sc->c->read, sc->c->sent);
}

static void flip(struct scene *sc)
{
	size_t n = sc->c->sent - sc->c->read;

	sc->c->data[n / 2] ^= 0x10;
	rewrite(sc, sc->c->data, n, sc->c->read, sc->c->sent);
}

static void poke_file(struct scene *sc, const struct vault *v, int64_t offset,
		      const void *data, size_t n)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", sc->s.path,
		 sc->s.members[v - sc->vaults].core);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || pwrite(fd, data, n, offset) != (ssize_t)n || close(fd))
		die("cannot write the core");
}

/* Put @value, 8 bytes, at @offset of the bank. */
static void poke(struct scene *sc, const struct vault *v, size_t offset,
		 uint64_t value)
{
	size_t room;
	int64_t at = core_offset(&v->core, v->addr + offset, &room);

	if (at < 0)
		die("the core does not have it");
	poke_file(sc, v, at, &value, sizeof(value));
}

static size_t ledger_offset(const struct vault *v, size_t field)
{
	return offsetof(struct bank, ledger) +
	       v->bank->cur * sizeof(struct bank_ledger) + field;
}

static void balance(struct scene *sc)
{
	const struct vault *v = &sc->vaults[0];

	poke(sc, v, ledger_offset(v, offsetof(struct bank_ledger, balance)),
	     v->ledger.balance + 1);
}

static void created(struct scene *sc)
{
	const struct vault *v = &sc->vaults[0];
	unsigned int peer = !v->bank->id;

	poke(sc, v, ledger_offset(v, offsetof(struct bank_ledger, created[peer])),
	     v->ledger.created[peer] + 1);
}

static void credited(struct scene *sc)
{
	const struct vault *v = &sc->vaults[0];
	unsigned int peer = !v->bank->id;

	poke(sc, v, ledger_offset(v, offsetof(struct bank_ledger, credited[peer])),
	     v->ledger.credited[peer] + 1);
}

/* A byte of a message that was read in part, or sent in part. */
static void buffer(struct scene *sc)
{
	unsigned int i;

	for (i = 0; i < sc->s.nr_members; i++) {
		const struct vault *v = &sc->vaults[i];
		unsigned int peer;

		for (peer = 0; peer < v->bank->n; peer++) {
			struct bank_stream s;
			size_t at = offsetof(struct bank, rx_buf[peer][0]);
			uint64_t word;

			bank_stream_init(&s, v->bank->seed, peer, v->bank->id,
					 v->bank->max_len);
			if (peer == v->bank->id)
				continue;
			bank_seek(&s, v->ledger.credited[peer]);
			if (v->bank->conn[peer].rx_pos == s.start)
				continue;
			memcpy(&word, v->bank->rx_buf[peer], sizeof(word));
			poke(sc, v, at, word ^ 1);
			return;
		}
	}
	die("no message was read in part");
}

/* A receiver that waits and has got nothing yet: what it has may be told. */
struct waiting {
	const struct vault *v;
	const struct core_thread *t;
	unsigned int peer;
};

static struct waiting find_waiting(struct scene *sc)
{
	unsigned int i, peer, j;

	for (i = 0; i < sc->s.nr_members; i++) {
		const struct vault *v = &sc->vaults[i];
		const struct bank *there = (struct bank *)v->addr;

		for (j = 0; j < v->core.nr_threads; j++)
			for (peer = 0; peer < v->bank->n; peer++) {
				const struct core_thread *t = &v->core.threads[j];

				if (t->regs.rip == v->moved &&
				    t->regs.rbx == (uint64_t)&there->conn[peer].rx_pos &&
				    (long long)t->regs.rax < 0 &&
				    v->bank->conn[peer].rx_pos)
					return (struct waiting){ v, t, peer };
			}
	}
	die("no receiver waits");
	exit(1);
}

/*
 * Take @behind bytes of what the bank knows to have received, and let the
 * thread be where @regs says.
 */
static void rewind_by(struct scene *sc, const struct waiting *wt,
		      uint64_t behind, const struct user_regs_struct *regs)
{
	poke(sc, wt->v, offsetof(struct bank, conn[wt->peer].rx_pos),
	     wt->v->bank->conn[wt->peer].rx_pos - behind);
	poke_file(sc, wt->v, wt->t->offset, regs, sizeof(*regs));
}

static void position(struct scene *sc)
{
	struct waiting wt = find_waiting(sc);

	rewind_by(sc, &wt, 1, &wt.t->regs);
}

static void returned(struct scene *sc)
{
	struct waiting wt = find_waiting(sc);
	struct user_regs_struct regs = wt.t->regs;

	regs.rax = 1;
	rewind_by(sc, &wt, 1, &regs);
}

static void returned_more(struct scene *sc)
{
	struct waiting wt = find_waiting(sc);
	struct user_regs_struct regs = wt.t->regs;

	regs.rax = 2;
	rewind_by(sc, &wt, 1, &regs);
}

/* A call that waits for more than it has. */
static void open_call(struct scene *sc)
{
	struct waiting wt = find_waiting(sc);
	struct user_regs_struct regs = wt.t->regs;

	regs.rax = -ENOSYS;
	regs.orig_rax = SYS_recvfrom;
	regs.rdx = 2;
	regs.r10 = MSG_WAITALL;
	rewind_by(sc, &wt, 1, &regs);
}

/* One that would have returned with what it has. */
static void open_ahead(struct scene *sc)
{
	struct waiting wt = find_waiting(sc);
	struct user_regs_struct regs = wt.t->regs;

	regs.rax = -ENOSYS;
	regs.orig_rax = SYS_recvfrom;
	regs.rdx = 2;
	regs.r10 = 0;
	rewind_by(sc, &wt, 1, &regs);
}

static void open_elsewhere(struct scene *sc)
{
	struct waiting wt = find_waiting(sc);
	struct user_regs_struct regs = wt.t->regs;

	regs.rax = -ENOSYS;
	regs.orig_rax = 202;		/* futex */
	rewind_by(sc, &wt, 1, &regs);
}

static void preempted(struct scene *sc)
{
	struct waiting wt = find_waiting(sc);
	struct user_regs_struct regs = wt.t->regs;

	regs.rax = 1;
	regs.orig_rax = -1;
	regs.rip = wt.v->move_done - 1;
	rewind_by(sc, &wt, 1, &regs);
}

static void booked(struct scene *sc)
{
	struct waiting wt = find_waiting(sc);
	struct user_regs_struct regs = wt.t->regs;

	regs.rax = 1;
	regs.orig_rax = -1;
	regs.rip = wt.v->move_done;
	rewind_by(sc, &wt, 1, &regs);
}

static const struct kind {
	const char *name;
	void (*run)(struct scene *sc);
	const char *verdict;		/* what the oracle has to say */
} kinds[] = {
	{ "shift", shift, "NOT CONSISTENT .* byte [0-9]+ in the channel" },
	{ "shift-told", shift_told, "NOT CONSISTENT .* the snapshot says" },
	{ "missing", missing, "NOT CONSISTENT .* the file has [0-9]+ bytes, but" },
	{ "missing-told", missing_told, "NOT CONSISTENT .* sent.* the snapshot says" },
	{ "extra", extra, "NOT CONSISTENT .* the file has more than" },
	{ "flip", flip, "NOT CONSISTENT .* byte [0-9]+ in the channel" },
	{ "balance", balance, "NOT CONSISTENT .* in flight make 3000001, not 3000000" },
	{ "created", created, "NOT CONSISTENT .* (was created|sender.s buffer|in flight make)" },
	{ "credited", credited, "NOT CONSISTENT .* (credited|in flight make)" },
	{ "buffer", buffer, "NOT CONSISTENT .* in the receiver's buffer" },
	{ "position", position, "NOT CONSISTENT .* moved 0 to 0 more, but the snapshot says" },
	{ "returned-more", returned_more, "NOT CONSISTENT .* (moved 2 to 2 more, but|got 2)" },
	{ "open-elsewhere", open_elsewhere, "NOT CONSISTENT .* system call 202, which moves nothing" },
	{ "booked", booked, "NOT CONSISTENT .* no thread is at it" },
	{ "returned", returned, " consistent" },
	{ "open-call", open_call, " consistent" },
	{ "open-ahead", open_ahead, "NOT CONSISTENT .* moved 0 to 0 more, but the snapshot says" },
	{ "preempted", preempted, " consistent" },
};

static void open_scene(struct scene *sc, const struct exe *exe, const char *path)
{
	struct why w;
	json_t *list;
	unsigned int i, src, dst;

	if (snap_open(&sc->s, path, &w))
		die(w.text);
	sc->vaults = calloc(sc->s.nr_members, sizeof(*sc->vaults));
	for (i = 0; i < sc->s.nr_members; i++) {
		char core[PATH_MAX];

		snprintf(core, sizeof(core), "%s/%s", path,
			 sc->s.members[i].core);
		if (vault_open(&sc->vaults[i], sc->s.members[i].name, core, exe,
			       &w))
			die(w.text);
	}
	sc->c = sc->s.channels;
	for (i = 0; i < sc->s.nr_channels; i++) {
		struct snap_channel *c = &sc->s.channels[i];

		if (c->sent - c->read > sc->c->sent - sc->c->read)
			sc->c = c;
	}
	list = json_object_get(sc->s.manifest, "channels");
	sc->entry = json_array_get(list, sc->c - sc->s.channels);
	if (sc->c->sent - sc->c->read < 2 ||
	    sscanf(strrchr(sc->c->src, '/'), "/bank-%u", &src) != 1 ||
	    sscanf(strrchr(sc->c->dst, '/'), "/bank-%u", &dst) != 1)
		die("no channel with bytes");
	bank_stream_init(&sc->stream, sc->vaults[0].bank->seed, src, dst,
			 sc->vaults[0].bank->max_len);
}

int main(int argc, char **argv)
{
	struct scene sc = { .c = NULL };
	struct exe exe;
	struct why w;
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (argc == 1)
			printf("%s %s\n", kinds[i].name, kinds[i].verdict);
		if (argc != 4 || strcmp(kinds[i].name, argv[1]))
			continue;
		if (exe_open(&exe, argv[2], &w))
			die(w.text);
		open_scene(&sc, &exe, argv[3]);
		kinds[i].run(&sc);
		return 0;
	}
	return argc == 1 ? 0 : 2;
}
