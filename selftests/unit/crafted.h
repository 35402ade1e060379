/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Crafted fragments: two members, a/one and b/two, and the connection between
 * them, caught with bytes in flight from a to b.
 *
 *	a sent [0, 100), of which [60, 100) is not acknowledged: its send queue
 *	b read [0, 50); receive queue [50, 70), out of order [80, 90), and its
 *	log [70, 100) after the recording
 *	b sent 30 bytes, and a read them all
 */
#ifndef CRAFTED_H
#define CRAFTED_H

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct side {
	char dir[256];
	json_t *root, *member, *cut;
};

/* Byte @off of a stream */
static inline char stream_byte(uint64_t off)
{
	return off * 7 + (off >> 8) + 3;
}

static inline void set(json_t *obj, const char *key, json_t *value)
{
	json_object_set_new(obj, key, value);
}

static inline json_t *get(json_t *obj, const char *key)
{
	return json_object_get(obj, key);
}

/* A piece of data at the end of its file, which is written at once. */
static inline json_t *add_data(struct side *s, const char *origin, uint64_t off,
			       uint64_t len)
{
	long long id = json_integer_value(get(s->cut, "id"));
	const char *name = json_string_value(get(s->member, "name"));
	char file[128], path[512];
	json_t *piece;
	uint64_t i;
	long pos;
	FILE *f;

	snprintf(file, sizeof(file), "%s/%lld.%s.bin", name, id, origin);
	snprintf(path, sizeof(path), "%s/%s", s->dir, name);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/%s", s->dir, file);
	f = fopen(path, "a");
	fseek(f, 0, SEEK_END);
	pos = ftell(f);
	for (i = 0; i < len; i++)
		fputc(stream_byte(off + i), f);
	fclose(f);
	chmod(path, 0600);
	piece = json_pack("{s:s, s:I, s:I, s:s, s:I}", "origin", origin,
			  "offset", (json_int_t)off, "length", (json_int_t)len,
			  "file", file, "pos", (json_int_t)pos);
	json_array_append_new(get(s->cut, "data"), piece);
	return piece;
}

/* One more connection of the member; it becomes the side's @cut. */
static inline void add_cut(struct side *s, int id, const char *local,
			   const char *remote, unsigned int isn,
			   unsigned int peer_isn)
{
	s->cut = json_pack("{s:i, s:s, s:s, s:s, s:I, s:I, s:i, s:s, s:s, s:[s,s],"
			   " s:{s:i, s:i}, s:{s:i, s:i, s:i}, s:[]}",
			   "id", id, "family", *local == '[' ? "ipv6" : "ipv4",
			   "local", local, "remote", remote,
			   "isn", (json_int_t)isn, "peer_isn",
			   (json_int_t)peer_isn, "inode", 4711, "tcp_state",
			   "ESTABLISHED", "peer", "member", "flags", "closed",
			   "acked", "out", "una", 0, "sent", 0,
			   "in", "read", 0, "next", 0, "marker", 0, "data");
	json_array_append_new(get(s->member, "channels"), s->cut);
}

static inline void add_member(struct side *s, const char *name)
{
	s->member = json_pack("{s:s, s:i, s:i, s:s, s:s, s:s, s:[], s:s, s:n,"
			      " s:{s:i, s:i}, s:i, s:[{s:i, s:s, s:{s:i, s:[s,s,s,s,s,s]}}],"
			      " s:[], s:[]}",
			      "name", name, "id",
			      (int)json_array_size(get(s->root, "members")) + 1,
			      "pid", 77, "comm", name, "exe", "/bin/x",
			      "state", "done", "reasons", "image", "none",
			      "core", "times", "park", 1000, "recorded",
			      2500000, "pause_us", 1234, "threads", "tid", 77,
			      "parked", "asleep", "syscall", "nr", 45, "args",
			      "0x3", "0x0", "0xffffffffffffffff", "0x0", "0x0",
			      "0x0", "uncovered", "channels");
	json_array_append_new(get(s->root, "members"), s->member);
}

static inline void craft_node(struct side *s, const char *dir, const char *node,
			      bool initiator)
{
	snprintf(s->dir, sizeof(s->dir), "%s", dir);
	mkdir(dir, 0700);
	s->root = json_pack("{s:s, s:i, s:s, s:i, s:i, s:s, s:s, s:i, s:s, s:b, s:b,"
			    " s:s, s:i, s:i, s:i, s:[], s:[]}",
			    "format", "distsnap-fragment", "version", 1,
			    "group", "bank", "group_id", 7, "epoch", 12,
			    "node", node, "boot_id",
			    "5f0c0f0e-1111-2222-3333-444455556666", "netns", 1,
			    "kernel", "6.1", "initiator", initiator,
			    "light", 0, "state", "done", "triggered", 1,
			    "bytes", 0, "held_bytes", 0, "reasons", "members");
}

static inline void set_out(struct side *s, json_int_t una, json_int_t sent)
{
	set(s->cut, "out", json_pack("{s:I, s:I}", "una", una, "sent", sent));
}

static inline void set_in(struct side *s, json_int_t read, json_int_t next,
			  json_int_t marker)
{
	set(s->cut, "in", json_pack("{s:I, s:I, s:I}", "read", read, "next",
				    next, "marker", marker));
}

static inline void set_flags(struct side *s, const char *a, const char *b,
			     const char *c)
{
	set(s->cut, "flags", json_pack("[s*, s*, s*]", a, b, c));
}

static inline void craft_a(struct side *s, const char *dir)
{
	craft_node(s, dir, "a", true);
	add_member(s, "one");
	add_cut(s, 17, "10.0.0.1:1000", "10.0.0.2:2000", 111, 4000000000u);
	set_out(s, 60, 100);
	set_in(s, 30, 30, 30);
	add_data(s, "sendq", 60, 40);
}

static inline void craft_b(struct side *s, const char *dir)
{
	craft_node(s, dir, "b", false);
	add_member(s, "two");
	add_cut(s, 5, "10.0.0.2:2000", "10.0.0.1:1000", 4000000000u, 111);
	set_out(s, 30, 30);
	set_in(s, 50, 70, 100);
	add_data(s, "recvq", 50, 20);
	add_data(s, "ofo", 80, 10);
	add_data(s, "log", 70, 15);
	add_data(s, "log", 85, 15);
}

static inline void craft_write(const struct side *s)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/fragment.json", s->dir);
	json_dump_file(s->root, path, JSON_INDENT(1));
	chmod(path, 0600);
}

static inline int craft_rm(const char *path, const struct stat *st, int flag,
			   struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static inline void craft_remove(const char *path)
{
	nftw(path, craft_rm, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
