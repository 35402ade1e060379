// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "epochfile.h"
#include "fragw.h"
#include "names.h"
#include "nl.h"
#include "store.h"
#include "util.h"
#include "writer.h"

struct held {
	struct held *next;
	uint32_t epoch;
	struct fragw_image image;
};

struct queued {
	struct queued *next;
	uint32_t epoch;
};

struct writer {
	struct writer_conf conf;
	struct pool *pool;
	struct ds_conn *conn;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct held *held;
	struct queued *queue;		/* the first is being written */
	bool stop;
};

/* Moves the images of @epoch from the list into an array. */
static size_t take_images(struct writer *w, uint32_t epoch,
			  struct fragw_image **images)
{
	struct held **at = &w->held, *h;
	size_t n = 0;

	*images = NULL;
	while ((h = *at)) {
		if (h->epoch != epoch) {
			at = &h->next;
			continue;
		}
		*images = xrealloc(*images, (n + 1) * sizeof(**images));
		(*images)[n++] = h->image;
		*at = h->next;
		free(h);
	}
	return n;
}

static void save_epoch(struct writer *w)
{
	struct ds_group g;
	int err;

	if (ds_group_get(w->conn, w->conf.group, &g)) {
		complain("agent: group %s: %s", w->conf.group,
			 ds_error_plain(w->conn));
		return;
	}
	err = epochfile_write(w->conf.store, w->conf.group, w->conf.node, g.epoch);
	if (err)
		complain("agent: cannot keep the last epoch in %s: %s",
			 w->conf.store, strerror(-err));
}

static void write_epoch(struct writer *w, uint32_t epoch,
			struct fragw_image *images, size_t n)
{
	struct fragw_job job = { .store = w->conf.store, .group = w->conf.group,
				 .node = w->conf.node, .epoch = epoch,
				 .images = images, .n_images = n };
	struct fragw_result res;
	size_t i;

	for (i = 0; i < n; i++)
		image_fill(images[i].img);
	save_epoch(w);
	if (!fragw_write(w->conn, &job, &res)) {
		printf("epoch %u: %s, %zu member%s, in %s/%s\n", epoch,
		       state_name(res.state), res.members,
		       res.members == 1 ? "" : "s", res.path, w->conf.node);
		fflush(stdout);
	}
	/* Written or not: the kernel's room is for the next one. */
	if (ds_drop(w->conn, w->conf.group, epoch))
		complain("agent: epoch %u: cannot be dropped: %s", epoch,
			 ds_error(w->conn));
	for (i = 0; i < n; i++)
		pool_put(w->pool, images[i].img);
	free(images);
	store_prune("agent", w->conf.store, w->conf.group, w->conf.node,
		    w->conf.keep, epoch);
}

static void *run(void *arg)
{
	struct writer *w = arg;
	struct fragw_image *images;
	struct queued *q;
	size_t n;

	pthread_mutex_lock(&w->lock);
	for (;;) {
		while (!w->queue && !w->stop)
			pthread_cond_wait(&w->wake, &w->lock);
		q = w->queue;
		if (!q)
			break;
		n = take_images(w, q->epoch, &images);
		pthread_mutex_unlock(&w->lock);
		write_epoch(w, q->epoch, images, n);
		pthread_mutex_lock(&w->lock);
		w->queue = q->next;
		free(q);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

struct writer *writer_start(const struct writer_conf *conf, struct pool *pool)
{
	struct writer *w = xcalloc(1, sizeof(*w));
	int err;

	w->conf = *conf;
	w->pool = pool;
	w->conn = ds_open();
	if (!w->conn) {
		free(w);
		return NULL;
	}
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->wake, NULL);
	err = pthread_create(&w->thread, NULL, run, w);
	if (err) {
		complain("agent: no thread: %s", strerror(err));
		ds_close(w->conn);
		free(w);
		return NULL;
	}
	return w;
}

void writer_stop(struct writer *w)
{
	struct held *h;

	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	while ((h = w->held)) {
		w->held = h->next;
		image_free(h->image.img);
		free(h);
	}
	ds_close(w->conn);
	free(w);
}

void writer_add_image(struct writer *w, uint32_t epoch, uint32_t member,
		      struct image *img)
{
	struct held *h = xcalloc(1, sizeof(*h));

	h->epoch = epoch;
	h->image.member = member;
	h->image.img = img;
	pthread_mutex_lock(&w->lock);
	h->next = w->held;
	w->held = h;
	pthread_mutex_unlock(&w->lock);
}

void writer_add_epoch(struct writer *w, uint32_t epoch)
{
	struct queued *q = xcalloc(1, sizeof(*q)), **at;

	q->epoch = epoch;
	pthread_mutex_lock(&w->lock);
	for (at = &w->queue; *at && (*at)->epoch != epoch; at = &(*at)->next)
		;
	if (*at) {
		free(q);
	} else {
		*at = q;
		pthread_cond_signal(&w->wake);
	}
	pthread_mutex_unlock(&w->lock);
}
