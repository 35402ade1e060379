// SPDX-License-Identifier: GPL-2.0
/*
 * The agent: copies the memory of a member when the kernel has paused it for
 * that, and has fragments written when an epoch is done.
 *
 * Between RECORD and RECORDED every instruction is a pause of the member: the
 * main thread does nothing slow there, and the writer thread does the rest.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cmd.h"
#include "epochfile.h"
#include "nl.h"
#include "opts.h"
#include "pool.h"
#include "util.h"
#include "writer.h"

#define TICK_MS		1000	/* how often room for the members is adjusted */
#define BUSIEST		(-20)	/* nice: a paused member waits for us */

static const char help[] =
"Usage: distsnap agent GROUP [--store DIR] [--node NAME] [--keep N]\n\n"
"Stays in the foreground and writes what this node records of the group to\n"
"DIR/GROUP/EPOCH/NAME; ends on SIGTERM.  Every host with members needs one, and\n"
"has only one for each group; the group has to exist on this host.  It ends with\n"
"exit code 4 when the group is deleted or the module is unloaded.\n\n"
"  --store DIR   shared by all nodes (default " DEFAULT_STORE ")\n"
"  --node NAME   of this node, different on every host (default: the host's name)\n"
"  --keep N      keep the newest N epochs of this node in the store, except for\n"
"                those that a take is merging (default 0: all)\n\n"
"Without --keep, here or with take, nothing is ever removed from the store.\n\n"
HELP_EXIT;

enum { OPT_KEEP = 256 };

static const struct option options[] = {
	{ "store", required_argument, NULL, 's' },
	{ "node", required_argument, NULL, 'n' },
	{ "keep", required_argument, NULL, OPT_KEEP },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

struct agent {
	const char *group, *store, *node;
	uint32_t keep;
	char host[DS_NAME_SIZE];
	struct ds_conn *events, *conn;
	struct pool *pool;
	struct writer *writer;
};

static void record(struct agent *a, const struct ds_event *ev)
{
	uint64_t now = now_us();
	uint64_t deadline = ev->timeout ? now + ev->timeout : 0;
	struct image *img = pool_take(a->pool, ev->pid);
	char why[160];
	int err, refused;

	err = image_copy(img, ev->pid, deadline, why, sizeof(why));
	refused = ds_recorded(a->events, ev, -err, err ? why : NULL);
	if (err || refused) {
		complain("agent: epoch %u: member %s: %s", ev->epoch, ev->name,
			 err ? why : ds_error(a->events));
		pool_put(a->pool, img);
		return;
	}
	writer_add_image(a->writer, ev->epoch, ev->member, img);
}

static bool final(uint32_t state)
{
	return state == DISTSNAP_S_DONE || state == DISTSNAP_S_EXPIRED ||
	       state == DISTSNAP_S_ABORTED || state == DISTSNAP_S_SUPERSEDED;
}

/* Members of an open epoch that wait for us without our having been told. */
static int resync_epoch(struct agent *a, const struct ds_snap *s)
{
	struct ds_event ev = { .epoch = s->epoch };
	struct ds_record *r;
	size_t n, i;
	int err;

	err = ds_records(a->conn, a->group, s->epoch, &r, &n);
	for (i = 0; i < n && !(s->flags & DISTSNAP_F_LIGHT); i++) {
		/* Captured, and neither recorded nor given up. */
		if (!r[i].captured || r[i].recorded || final(r[i].state))
			continue;
		strcpy(ev.group, a->group);
		strcpy(ev.name, r[i].name);
		ev.member = r[i].member;
		ev.pid = r[i].pid;
		record(a, &ev);
	}
	ds_free_records(r, n);
	return err;
}

/* What a lost event, or an agent before this one, has left to do. */
static int resync(struct agent *a)
{
	struct ds_snap *s;
	size_t n, i;
	int err;

	err = ds_snaps(a->conn, a->group, &s, &n);
	for (i = 0; !err && i < n; i++) {
		if (final(s[i].state))
			writer_add_epoch(a->writer, s[i].epoch);
		else if (s[i].state != DISTSNAP_S_IDLE)
			err = resync_epoch(a, &s[i]);
	}
	if (err)
		complain("agent: cannot fetch the epochs: %s",
			 ds_error(a->conn));
	ds_free_snaps(s, n);
	return err;
}

static int handle_events(struct agent *a)
{
	struct ds_event ev;
	int got;

	while ((got = ds_event(a->events, &ev)) != 0) {
		if (got == -ENOBUFS) {
			complain("agent: events were lost; looking at what is there");
			if (resync(a))
				return EXIT_REFUSED;
		} else if (got < 0) {
			return fail(EXIT_REFUSED, "agent: %s",
				    ds_error(a->events));
		} else if (ev.cmd == DISTSNAP_CMD_RECORD) {
			record(a, &ev);
		} else if (ev.cmd == DISTSNAP_CMD_DONE) {
			writer_add_epoch(a->writer, ev.epoch);
		}
	}
	return 0;
}

/* Nobody tells us that the group was deleted or the module unloaded. */
static int say_gone(struct agent *a, int err)
{
	if (err == -ENOENT && !ds_loaded())
		return fail(EXIT_REFUSED, "agent: group %s: the module was unloaded",
			    a->group);
	if (err == -ENOENT)
		return fail(EXIT_REFUSED, "agent: group %s: it was deleted on this node",
			    a->group);
	return fail(EXIT_REFUSED, "agent: group %s: %s", a->group,
		    ds_error(a->conn));
}

/* Room for the members' memory, so that nobody waits for it in a pause. */
static void make_room(struct agent *a)
{
	struct ds_member *m;
	size_t n;

	if (!ds_members(a->conn, a->group, &m, &n))
		pool_tune(a->pool, m, n);
	free(m);
}

static int tick(struct agent *a)
{
	struct ds_group g;
	int err;

	err = ds_group_get(a->conn, a->group, &g);
	if (err)
		return say_gone(a, err);
	if (!g.agent && ds_agent(a->events, a->group))
		return fail(EXIT_REFUSED, "agent: group %s: %s", a->group,
			    ds_error(a->events));
	make_room(a);
	return 0;
}

static int loop(struct agent *a, int sigfd)
{
	struct pollfd p[] = {
		{ .fd = sigfd, .events = POLLIN },
		{ .fd = ds_fd(a->events), .events = POLLIN },
	};
	uint64_t next = 0, now;
	int err = 0;

	while (!err) {
		now = now_us();
		if (now >= next) {
			err = tick(a);
			next = now_us() + TICK_MS * 1000;
			continue;
		}
		if (poll(p, ARRAY_SIZE(p), (next - now) / 1000 + 1) < 0 &&
		    errno != EINTR)
			return fail(EXIT_REFUSED, "agent: %s", strerror(errno));
		if (p[0].revents)
			break;
		err = handle_events(a);
	}
	return err;
}

/*
 * The first copy ever would pay for page faults in our own code and buffers, and
 * a member would wait meanwhile: so the first copy is one of ourselves.
 */
static void warm_up(struct agent *a)
{
	struct image *img = image_new();
	char why[160];

	image_copy(img, getpid(), 0, why, sizeof(why));
	pool_put(a->pool, img);
}

/* The kernel keeps the larger of its epoch and ours. */
static int restore_epoch(struct agent *a)
{
	struct ds_group g = { 0 };
	int err;

	err = epochfile_read(a->store, a->group, a->node, &g.epoch);
	if (err)
		return fail(EXIT_REFUSED,
			    "agent: cannot read the last epoch from %s/%s/.epoch-%s: %s",
			    a->store, a->group, a->node, strerror(-err));
	if (!g.epoch)
		return 0;
	strcpy(g.name, a->group);
	if (ds_group_set(a->conn, &g))
		return fail(EXIT_REFUSED, "agent: group %s: %s", a->group,
			    ds_error(a->conn));
	return 0;
}

static int attach(struct agent *a)
{
	const struct writer_conf conf = {
		.store = a->store, .group = a->group, .node = a->node,
		.keep = a->keep,
	};
	struct ds_group g;
	int err;

	a->conn = ds_open();
	a->events = a->conn ? ds_open() : NULL;
	if (!a->events)
		return EXIT_REFUSED;
	if (ds_group_get(a->conn, a->group, &g))
		return fail(EXIT_REFUSED, "agent: group %s: %s", a->group,
			    ds_error(a->conn));
	err = mkdirs(a->store);
	if (err)
		return fail(EXIT_REFUSED, "agent: %s: %s", a->store,
			    strerror(-err));
	err = restore_epoch(a);
	if (err)
		return err;
	a->pool = pool_new();
	warm_up(a);
	a->writer = writer_start(&conf, a->pool);
	if (!a->writer)
		return EXIT_REFUSED;
	/* Of this thread only.  Whoever sees an agent may take at once. */
	setpriority(PRIO_PROCESS, 0, BUSIEST);
	make_room(a);
	if (ds_agent(a->events, a->group))
		return fail(EXIT_REFUSED, "agent: group %s: %s", a->group,
			    ds_error(a->events));
	return resync(a) ? EXIT_REFUSED : 0;
}

/* The events' socket first: that releases whoever still waits for us. */
static void detach(struct agent *a)
{
	if (a->events)
		ds_close(a->events);
	if (a->writer)
		writer_stop(a->writer);
	if (a->pool)
		pool_free(a->pool);
	if (a->conn)
		ds_close(a->conn);
}

static int run(struct agent *a)
{
	sigset_t set;
	int sigfd, err;

	/* Before the writer's thread starts, which inherits it. */
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigfd = signalfd(-1, &set, SFD_CLOEXEC);
	err = attach(a);
	if (!err)
		err = tick(a);
	if (!err) {
		printf("agent: ready\n");
		fflush(stdout);
		err = loop(a, sigfd);
	}
	detach(a);
	close(sigfd);
	return err;
}

/* -1: go on; otherwise the exit code. */
static int parse(int argc, char **argv, struct agent *a)
{
	int opt;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		switch (opt) {
		case 's':
			if (opt_text("agent", "--store", optarg, &a->store))
				return EXIT_USAGE;
			break;
		case 'n':
			a->node = optarg;
			break;
		case OPT_KEEP:
			if (opt_number("agent", "--keep", optarg, 0, INT32_MAX,
				       &a->keep))
				return EXIT_USAGE;
			break;
		case 'h':
			fputs(help, stdout);
			return EXIT_OK;
		default:
			return opt_refuse("agent", argv, opt);
		}
	}
	if (opt_group("agent", argc, argv))
		return EXIT_USAGE;
	a->group = argv[optind];
	return -1;
}

int cmd_agent(int argc, char **argv)
{
	struct agent a = { .store = DEFAULT_STORE };
	int ret = parse(argc, argv, &a);

	if (ret >= 0)
		return ret;
	if (!a.node && !gethostname(a.host, sizeof(a.host) - 1))
		a.node = a.host;
	if (!a.node || !valid_name(a.node))
		return fail(EXIT_USAGE, "agent: '%s' is no valid node name; give one with --node",
			    a.node ? a.node : "");
	return run(&a);
}
