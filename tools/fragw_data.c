// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fragw.h"
#include "names.h"
#include "util.h"

void fragw_data_name(uint32_t channel, uint32_t origin, char *name, size_t n)
{
	snprintf(name, n, "%u.%s.bin", channel, origin_name(origin));
}

static int finish_file(struct fragw_data *f)
{
	int err = 0;

	if (f->fd >= 0) {
		if (fsync(f->fd))
			err = -errno;
		close(f->fd);
	}
	f->fd = -1;
	return err;
}

static int switch_file(struct fragw_data *f, const struct ds_data *d)
{
	char name[48];
	off_t end;
	int err;

	if (f->fd >= 0 && f->channel == d->channel && f->origin == d->origin)
		return 0;
	err = finish_file(f);
	if (err)
		return err;
	fragw_data_name(d->channel, d->origin, name, sizeof(name));
	f->fd = openat(f->dirfd, name,
		       O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
		       0600);
	if (f->fd < 0)
		return -errno;
	end = lseek(f->fd, 0, SEEK_END);
	if (end < 0)
		return -errno;
	f->pos = end;
	f->channel = d->channel;
	f->origin = d->origin;
	return 0;
}

/* Chunks that continue each other become one piece. */
static void add_piece(struct fragw_data *f, const struct ds_data *d)
{
	struct fragw_piece *p = f->n ? &f->pieces[f->n - 1] : NULL;

	if (p && p->channel == d->channel && p->origin == d->origin &&
	    p->offset + p->len == d->offset && p->pos + p->len == f->pos) {
		p->len += d->len;
		return;
	}
	if (f->n == f->cap) {
		f->cap = f->cap ? f->cap * 2 : 64;
		f->pieces = xrealloc(f->pieces, f->cap * sizeof(*p));
	}
	f->pieces[f->n++] = (struct fragw_piece) {
		.channel = d->channel, .origin = d->origin,
		.offset = d->offset, .len = d->len, .pos = f->pos,
	};
}

static int keep_chunk(const struct ds_data *d, void *arg)
{
	struct fragw_data *f = arg;
	int err;

	if (!d->len)
		return 0;
	err = switch_file(f, d);
	if (!err)
		err = write_all(f->fd, d->data, d->len);
	if (err)
		return err;
	add_piece(f, d);
	f->pos += d->len;
	return 0;
}

int fragw_data(struct ds_conn *c, const struct fragw_job *job, uint32_t member,
	       int dirfd, struct fragw_data *data)
{
	int err, err2;

	memset(data, 0, sizeof(*data));
	data->dirfd = dirfd;
	data->fd = -1;
	err = ds_data(c, job->group, job->epoch, member, keep_chunk, data);
	err2 = finish_file(data);
	return err ? err : err2;
}
