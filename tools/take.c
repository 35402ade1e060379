// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cmd.h"
#include "gather.h"
#include "merge.h"
#include "nl.h"
#include "store.h"
#include "take.h"
#include "util.h"
#include "why.h"

#define LOOK_MS		200	/* stores that other hosts write to send no events */
#define RETRY_MS	20	/* while the last epoch is not over on this node */
#define AGENT_MS	2000	/* how long its agent may take to attach */
#define REASONS_MAX	8	/* that are printed */

/* Sleeps until @fd is readable or @until; true: interrupted by a signal. */
static bool sleep_until(int sigfd, int fd, uint64_t until, uint32_t at_most_ms)
{
	struct pollfd p[] = {
		{ .fd = sigfd, .events = POLLIN },
		{ .fd = fd, .events = POLLIN },
	};
	uint64_t now = now_us(), ms;
	char drain[4096];

	ms = until > now ? (until - now) / 1000 + 1 : 0;
	if (ms > at_most_ms)
		ms = at_most_ms;
	poll(p, ARRAY_SIZE(p), ms);
	if (p[1].revents & POLLIN && read(fd, drain, sizeof(drain)) < 0)
		return false;
	return p[0].revents & POLLIN;
}

/* 0: nothing is missing; EXIT_INCOMPLETE: interrupted, and said so. */
static int wait_fragments(const struct take *t, struct gather *g, int sigfd,
			  uint32_t epoch)
{
	uint64_t end = now_us() + t->timeout * 1000ull;
	bool interrupted = false;
	char *missing;
	int fd;

	/* Without inotify the regular looks do. */
	fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (fd >= 0)
		inotify_add_watch(fd, g->dir, IN_MOVED_TO);
	do {
		if (gather_scan(g) &&
		    gather_complete(g, t->expect, t->n_expect))
			break;
		interrupted = sleep_until(sigfd, fd, end, LOOK_MS);
	} while (!interrupted && now_us() < end);
	gather_scan(g);
	if (fd >= 0)
		close(fd);
	if (!interrupted)
		return 0;
	missing = gather_missing(g, t->expect, t->n_expect);
	complain("take: epoch %u: interrupted while waiting for %s", epoch,
		 missing);
	free(missing);
	return EXIT_INCOMPLETE;
}

static void print_json(uint32_t epoch, const char *path,
		       const struct merge_summary *s)
{
	json_t *o = json_object(), *reasons = json_array();
	size_t i;

	for (i = 0; i < s->n_reasons; i++)
		json_array_append_new(reasons, json_string(s->reasons[i]));
	json_object_set_new(o, "epoch", json_integer(epoch));
	json_object_set_new(o, "snapshot", json_string(path));
	json_object_set_new(o, "members", json_integer(s->members));
	json_object_set_new(o, "channels", json_integer(s->channels));
	json_object_set_new(o, "externals", json_integer(s->externals));
	json_object_set_new(o, "bytes_in_flight", json_integer(s->bytes));
	json_object_set_new(o, "longest_pause_us",
			    json_integer(s->longest_pause_us));
	json_object_set_new(o, "verdict", json_string(s->complete ? "complete" :
						      "incomplete"));
	json_object_set_new(o, "scope", json_string(s->closed ? "closed" :
						    "open"));
	json_object_set_new(o, "reasons", reasons);
	json_dumpf(o, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(o);
}

/* The causes; of what follows from them only how much there is. */
static void print_reasons(const struct merge_summary *s, const char *path)
{
	size_t n = s->n_causes ? s->n_causes : s->n_reasons, i;

	if (n > REASONS_MAX)
		n = REASONS_MAX;
	for (i = 0; i < n; i++)
		printf("  %s\n", s->reasons[i]);
	if (n < s->n_reasons)
		printf("  (and %zu more: 'distsnap show %s' tells all)\n",
		       s->n_reasons - n, path);
}

static void print(uint32_t epoch, const struct merge_summary *s,
		  const char *path)
{
	printf("epoch %u: %u member%s, %u channel%s, %" PRIu64 " bytes in flight, longest pause %.1f ms: %s%s\n",
	       epoch, s->members, s->members == 1 ? "" : "s", s->channels,
	       s->channels == 1 ? "" : "s", s->bytes,
	       s->longest_pause_us / 1000.0,
	       s->complete ? "complete" : "incomplete",
	       s->closed ? "" : ", open");
	print_reasons(s, path);
}

/* The fragments are still there, and whoever reads this may try again. */
static int say_failed(const struct take *t, const struct gather *g,
		      uint32_t epoch, const char *path, const char *why)
{
	char *expect = NULL, *old;
	size_t i;

	for (i = 0; i < t->n_expect; i++) {
		old = expect;
		expect = xasprintf("%s%s%s", old ? old : " --expect ",
				   old ? "," : "", t->expect[i]);
		free(old);
	}
	complain("take: epoch %u: %s; the fragments are in %s, try again with: distsnap merge %s/* -o %s%s",
		 epoch, why, g->dir, g->dir, path, expect ? expect : "");
	free(expect);
	return EXIT_REFUSED;
}

static int report(struct take *t, uint32_t epoch, const char *path,
		  const struct merge_summary *s)
{
	if (t->json) {
		print_json(epoch, path, s);
	} else {
		print(epoch, s, path);
		if (!t->out)
			printf("  in %s\n", path);
	}
	fflush(stdout);
	return s->complete ? EXIT_OK : EXIT_INCOMPLETE;
}

static int merge(struct take *t, const struct gather *g, uint32_t epoch)
{
	struct merge_opts opts = { .expect = t->expect,
				   .n_expect = t->n_expect };
	struct merge_summary s = { 0 };
	struct why why;
	char *path;
	int ret;

	if (!g->n)
		return fail(EXIT_INCOMPLETE,
			    "take: epoch %u: no fragment in %s after %u ms; does the agent write there?",
			    epoch, g->dir, t->timeout);
	path = take_path(t, epoch);
	ret = merge_try((const char *const *)g->paths, g->n, &opts, path, &s,
			&why);
	if (ret)
		ret = say_failed(t, g, epoch, path, why.text);
	else
		ret = report(t, epoch, path, &s);
	merge_summary_free(&s);
	free(path);
	return ret;
}

/* Within a series the one before may not be over yet on this node. */
static int start(struct take *t, struct ds_conn *c, int sigfd, bool first,
		 uint32_t *epoch)
{
	uint64_t end = now_us() + t->timeout * 1000ull;
	int err;

	for (;;) {
		err = ds_take(c, t->group, t->light ? DISTSNAP_F_LIGHT : 0,
			      epoch);
		if (err != -EBUSY || first || now_us() > end)
			break;
		if (sleep_until(sigfd, -1, end, RETRY_MS))
			return fail(EXIT_INCOMPLETE,
				    "take: interrupted while waiting for the last epoch to end");
	}
	if (err)
		return fail(EXIT_REFUSED, "take %s: %s", t->group,
			    ds_error(c));
	return 0;
}

static int collect(struct take *t, int sigfd, uint32_t epoch, bool *stop)
{
	struct gather g;
	char *held;
	int ret;

	gather_init(&g, xasprintf("%s/%s/%u", t->store, t->group, epoch));
	ret = mkdirs(g.dir);
	if (ret) {
		ret = fail(EXIT_REFUSED, "take: %s: %s", g.dir, strerror(-ret));
		gather_free(&g);
		return ret;
	}
	held = store_hold(g.dir);
	ret = wait_fragments(t, &g, sigfd, epoch);
	if (!ret) {
		ret = merge(t, &g, epoch);
		*stop = ret == EXIT_REFUSED;
	}
	store_release(held);
	gather_free(&g);
	return ret;
}

static int take_one(struct take *t, struct ds_conn *c, int sigfd, bool first,
		    bool *stop)
{
	struct ds_group g;
	uint32_t epoch, newest;
	int ret;

	*stop = true;
	if (ds_group_get(c, t->group, &g))
		return fail(EXIT_REFUSED, "take %s: %s", t->group,
			    ds_error(c));
	/* Nothing that is in the store already may become a part of it. */
	newest = store_newest(t->store, t->group, g.epoch);
	if (g.members && newest != g.epoch) {
		struct ds_group raise = { .epoch = newest };

		snprintf(raise.name, sizeof(raise.name), "%s", t->group);
		if (ds_group_set(c, &raise))
			return fail(EXIT_REFUSED, "take %s: %s", t->group,
				    ds_error(c));
	}
	/* Without members the kernel refuses. */
	ret = g.members ? take_prepare(t, newest + 1) : 0;
	if (ret)
		return ret;
	ret = start(t, c, sigfd, first, &epoch);
	if (ret)
		return ret;
	ret = collect(t, sigfd, epoch, stop);
	if (!*stop)
		take_prune(t, epoch);
	return ret;
}

/*
 * Without its agent a node records nothing: better said at once.  One that was
 * started a moment ago may need another one, though.
 */
static int check_agent(struct take *t, struct ds_conn *c, int sigfd)
{
	uint64_t end = now_us() + AGENT_MS * 1000ull;
	struct ds_group g;

	do {
		if (ds_group_get(c, t->group, &g))
			return fail(EXIT_REFUSED, "take %s: %s", t->group,
				    ds_error(c));
		if (g.agent)
			return 0;
		if (!g.members)		/* the kernel says that better */
			return 0;
		if (sleep_until(sigfd, -1, end, RETRY_MS))
			return fail(EXIT_INCOMPLETE,
				    "take %s: interrupted while waiting for the agent",
				    t->group);
	} while (now_us() < end);
	return fail(EXIT_REFUSED,
		    "take %s: no agent on this node: run 'distsnap agent %s'",
		    t->group, t->group);
}

static int run(struct take *t, struct ds_conn *c, int sigfd)
{
	uint64_t next = now_us();
	int worst = EXIT_OK, ret;
	bool stop = false;
	uint32_t i;

	ret = check_agent(t, c, sigfd);
	if (ret)
		return ret;
	for (i = 0; !stop && (!t->count || i < t->count); i++) {
		while (now_us() < next) {
			if (sleep_until(sigfd, -1, next, UINT32_MAX / 2))
				return worst;
		}
		next = now_us() + t->every * 1000ull;
		ret = take_one(t, c, sigfd, !i, &stop);
		if (ret > worst)
			worst = ret;
	}
	return worst;
}

int cmd_take(int argc, char **argv)
{
	struct take t = { .store = DEFAULT_STORE, .timeout = 10000 };
	struct ds_conn *c;
	sigset_t set;
	int ret, sigfd;

	ret = take_parse(argc, argv, &t);
	if (ret >= 0)
		return ret;
	c = ds_open();
	if (!c)
		return EXIT_REFUSED;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigfd = signalfd(-1, &set, SFD_CLOEXEC);
	ret = run(&t, c, sigfd);
	close(sigfd);
	ds_close(c);
	free(t.expect);
	return ret;
}
