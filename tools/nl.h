/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's side of distsnap as plain structs; netlink stays behind them.
 *
 * Every function that can fail returns 0 or a negative errno, and ds_error()
 * then holds the reason in words.  A connection belongs to one thread.
 * Lists come back as arrays that the matching ds_free_*() releases.
 */
#ifndef DISTSNAP_NL_H
#define DISTSNAP_NL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <distsnap.h>

#define DS_NAME_SIZE	(DISTSNAP_NAME_MAX + 1)

struct ds_strings {
	char **s;
	size_t n;
};

/* What a group may be set to; zero or NULL fields of a set are left alone. */
struct ds_group {
	char name[DS_NAME_SIZE];
	uint16_t id;
	struct distsnap_prefix peers[DISTSNAP_PREFIXES_MAX];
	size_t n_peers;
	uint32_t pause_max, record_max, snap_max;	/* ms */
	uint64_t bytes_max;
	uint32_t epoch, state, agent, members;
};

struct ds_member {
	char group[DS_NAME_SIZE], name[DS_NAME_SIZE];
	uint32_t id, pid, epoch, state, channels;
};

/* A live connection, or with the positions what was recorded of one. */
struct ds_channel {
	char group[DS_NAME_SIZE], member_name[DS_NAME_SIZE];
	uint32_t member, id;
	uint16_t family, sport, dport;			/* ports in network order */
	uint8_t saddr[16], daddr[16];
	uint32_t isn, peer_isn, peer, tcp_state;
	uint64_t inode;
	uint64_t out_una, out_sent, in_read, in_next, in_marker;
	uint32_t flags;
};

struct ds_snap {
	char group[DS_NAME_SIZE];
	uint32_t epoch, state, flags, members;
	uint64_t triggered, bytes, held_bytes;
	struct ds_strings reasons;
};

struct ds_record {
	char name[DS_NAME_SIZE];
	uint32_t member, pid, state, flags, threads, channels;
	uint64_t park, parked, captured, recorded, done; /* ns since trigger */
	struct ds_strings reasons;
};

struct ds_regset {
	uint32_t type;
	uint32_t len;
	void *data;
};

struct ds_thread {
	uint32_t tid, parked;
	int32_t syscall;
	uint64_t args[6];
	struct ds_regset *regsets;
	size_t n_regsets;
};

struct ds_counter {
	char name[64];
	uint64_t value;
};

struct ds_data {
	uint32_t channel, origin;
	uint64_t offset;
	const void *data;
	size_t len;
};

struct ds_event {
	uint8_t cmd;				/* DISTSNAP_CMD_RECORD or _DONE */
	char group[DS_NAME_SIZE], name[DS_NAME_SIZE];
	uint32_t epoch, member, pid, timeout, state;
};

struct ds_conn;

struct ds_conn *ds_open(void);		/* NULL: a message is printed */
void ds_close(struct ds_conn *c);
int ds_fd(struct ds_conn *c);
const char *ds_error(struct ds_conn *c);
/* The same, without the advice to create what somebody meant to find. */
const char *ds_error_plain(struct ds_conn *c);
bool ds_loaded(void);			/* is the module there? */

int ds_group_set(struct ds_conn *c, const struct ds_group *g);
int ds_group_del(struct ds_conn *c, const char *name);
int ds_group_get(struct ds_conn *c, const char *name, struct ds_group *g);
int ds_groups(struct ds_conn *c, struct ds_group **g, size_t *n);

int ds_join(struct ds_conn *c, const char *group, uint32_t pid,
	    const char *name, uint32_t *member);
int ds_leave(struct ds_conn *c, const char *group, uint32_t pid);
int ds_members(struct ds_conn *c, const char *group, struct ds_member **m,
	       size_t *n);
int ds_channels(struct ds_conn *c, const char *group, struct ds_channel **ch,
		size_t *n);
int ds_counters(struct ds_conn *c, struct ds_counter **k, size_t *n);

int ds_take(struct ds_conn *c, const char *group, uint32_t flags,
	    uint32_t *epoch);

/* The agent: attach, then wait for ds_fd() to be readable. */
int ds_agent(struct ds_conn *c, const char *group);
/* 1: an event; 0: none now; -ENOBUFS: some were lost; other: dead. */
int ds_event(struct ds_conn *c, struct ds_event *ev);
int ds_recorded(struct ds_conn *c, const struct ds_event *ev, int status,
		const char *message);

/* What is kept of an epoch. */
int ds_snaps(struct ds_conn *c, const char *group, struct ds_snap **s,
	     size_t *n);
int ds_snap_get(struct ds_conn *c, const char *group, uint32_t epoch,
		struct ds_snap *s);
int ds_records(struct ds_conn *c, const char *group, uint32_t epoch,
	       struct ds_record **r, size_t *n);
int ds_threads(struct ds_conn *c, const char *group, uint32_t epoch,
	       uint32_t member, struct ds_thread **t, size_t *n);
int ds_cuts(struct ds_conn *c, const char *group, uint32_t epoch,
	    uint32_t member, struct ds_channel **ch, size_t *n);
/* @fn's negative return ends the dump and is returned. */
int ds_data(struct ds_conn *c, const char *group, uint32_t epoch,
	    uint32_t member, int (*fn)(const struct ds_data *d, void *arg),
	    void *arg);
int ds_drop(struct ds_conn *c, const char *group, uint32_t epoch);

void ds_free_strings(struct ds_strings *s);
void ds_free_snaps(struct ds_snap *s, size_t n);
void ds_free_records(struct ds_record *r, size_t n);
void ds_free_threads(struct ds_thread *t, size_t n);

#endif
