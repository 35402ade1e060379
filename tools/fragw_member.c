// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core.h"
#include "fragw.h"
#include "names.h"
#include "util.h"

/* One member on its way into the fragment. */
struct member {
	const struct fragw_job *job;
	const struct ds_record *r;
	char dir[DS_NAME_SIZE + 16];
	int dirfd;
	json_t *json, *reasons;
	bool broken;			/* something could not be written */
};

json_t *fragw_text(const char *s)
{
	json_t *j = json_string(s);
	char *copy, *p;

	if (j)
		return j;
	copy = xstrdup(s);
	for (p = copy; *p; p++) {
		if (*p & 0x80)
			*p = '?';
	}
	j = json_string(copy);
	free(copy);
	return j;
}

json_t *fragw_texts(const struct ds_strings *s)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < s->n; i++)
		json_array_append_new(list, fragw_text(s->s[i]));
	return list;
}

static void put(json_t *o, const char *key, uint64_t v)
{
	json_object_set_new(o, key, json_integer(v));
}

static void put_text(json_t *o, const char *key, const char *s)
{
	json_object_set_new(o, key, s && *s ? fragw_text(s) : json_null());
}

static void broken(struct member *m, const char *what, const char *why)
{
	char *text = xasprintf("%s: %s", what, why);

	m->broken = true;
	json_array_append_new(m->reasons, fragw_text(text));
	complain("agent: epoch %u: member %s: %s", m->job->epoch, m->r->name,
		 text);
	free(text);
}

static const struct image *find_image(const struct fragw_job *job,
				      uint32_t member)
{
	size_t i;

	for (i = 0; i < job->n_images; i++) {
		if (job->images[i].member == member)
			return job->images[i].img;
	}
	return NULL;
}

static void put_times(struct member *m)
{
	const struct ds_record *r = m->r;
	json_t *t = json_object();
	const struct {
		const char *key;
		uint64_t ns;
	} times[] = {
		{ "park", r->park }, { "parked", r->parked },
		{ "captured", r->captured }, { "recorded", r->recorded },
		{ "done", r->done },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(times); i++) {
		if (times[i].ns)
			put(t, times[i].key, times[i].ns);
	}
	json_object_set_new(m->json, "times", t);
	if (r->park && r->recorded > r->park)
		put(m->json, "pause_us", (r->recorded - r->park) / 1000);
}

static json_t *thread_json(const struct ds_thread *t)
{
	json_t *o = json_object(), *call, *args;
	char hex[24];
	size_t i;

	put(o, "tid", t->tid);
	put_text(o, "parked", t->parked == DISTSNAP_PARKED_ASLEEP ?
			      "asleep" : "callback");
	if (t->syscall < 0) {
		json_object_set_new(o, "syscall", json_null());
		return o;
	}
	call = json_object();
	args = json_array();
	put(call, "nr", t->syscall);
	for (i = 0; i < ARRAY_SIZE(t->args); i++) {
		snprintf(hex, sizeof(hex), "0x%" PRIx64, t->args[i]);
		json_array_append_new(args, json_string(hex));
	}
	json_object_set_new(call, "args", args);
	json_object_set_new(o, "syscall", call);
	return o;
}

static json_t *flags_json(uint32_t flags)
{
	json_t *list = json_array();
	unsigned int bit;

	for (bit = 0; cut_flag_name(bit); bit++) {
		if (flags & 1u << bit)
			json_array_append_new(list,
					      json_string(cut_flag_name(bit)));
	}
	return list;
}

static json_t *pieces_json(const struct member *m, const struct fragw_data *d,
			   uint32_t channel)
{
	char name[48], path[128];
	json_t *list = json_array(), *o;
	size_t i;

	for (i = 0; i < d->n; i++) {
		const struct fragw_piece *p = &d->pieces[i];

		if (p->channel != channel)
			continue;
		fragw_data_name(p->channel, p->origin, name, sizeof(name));
		snprintf(path, sizeof(path), "%s/%s", m->dir, name);
		o = json_object();
		put_text(o, "origin", origin_name(p->origin));
		put(o, "offset", p->offset);
		put(o, "length", p->len);
		put_text(o, "file", path);
		put(o, "pos", p->pos);
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *cut_json(const struct member *m, const struct ds_channel *c,
			const struct fragw_data *d)
{
	json_t *o = json_object(), *out = json_object(), *in = json_object();
	char text[ENDPOINT_SIZE];

	put(o, "id", c->id);
	put_text(o, "family", c->family == 10 ? "ipv6" : "ipv4");
	endpoint_name(c->family, c->saddr, c->sport, text);
	put_text(o, "local", text);
	endpoint_name(c->family, c->daddr, c->dport, text);
	put_text(o, "remote", text);
	put(o, "isn", c->isn);
	put(o, "peer_isn", c->peer_isn);
	put(o, "inode", c->inode);
	put_text(o, "tcp_state", tcp_state_name(c->tcp_state));
	put_text(o, "peer", peer_name(c->peer));
	json_object_set_new(o, "flags", flags_json(c->flags));
	put(out, "una", c->out_una);
	put(out, "sent", c->out_sent);
	json_object_set_new(o, "out", out);
	put(in, "read", c->in_read);
	put(in, "next", c->in_next);
	/* Its place counts from what was captured. */
	json_object_set_new(in, "marker",
			    c->flags & DISTSNAP_CUT_CLOSED && m->r->captured ?
			    json_integer(c->in_marker) : json_null());
	json_object_set_new(o, "in", in);
	json_object_set_new(o, "data", pieces_json(m, d, c->id));
	return o;
}

/* What is there of them would only mislead, and takes room. */
static void drop_pieces(struct member *m, struct fragw_data *d)
{
	char name[48];

	for (; d->n; d->n--) {
		fragw_data_name(d->pieces[d->n - 1].channel,
				d->pieces[d->n - 1].origin, name, sizeof(name));
		unlinkat(m->dirfd, name, 0);
	}
}

static void put_channels(struct ds_conn *c, struct member *m)
{
	const struct fragw_job *job = m->job;
	json_t *list = json_array();
	struct ds_channel *cuts;
	struct fragw_data data;
	size_t n, i;

	if (ds_cuts(c, job->group, job->epoch, m->r->member, &cuts, &n)) {
		broken(m, "channels could not be fetched", ds_error(c));
		json_object_set_new(m->json, "channels", list);
		return;
	}
	if (fragw_data(c, job, m->r->member, m->dirfd, &data)) {
		broken(m, "captured bytes could not be written", *ds_error(c) ?
		       ds_error(c) : strerror(errno));
		drop_pieces(m, &data);
	}
	for (i = 0; i < n; i++)
		json_array_append_new(list, cut_json(m, &cuts[i], &data));
	json_object_set_new(m->json, "channels", list);
	free(data.pieces);
	free(cuts);
}

static char *read_cmdline(pid_t pid)
{
	char path[64], *text;
	size_t len, i;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	text = read_whole(path, &len);
	for (i = 0; text && i + 1 < len; i++) {
		if (!text[i])
			text[i] = ' ';
	}
	return text;
}

static int write_core(struct member *m, const struct image *img,
		      const struct ds_thread *t, size_t n)
{
	char *cmdline;
	int fd, err;

	fd = openat(m->dirfd, "core",
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	cmdline = read_cmdline(img->pid);
	err = core_write(fd, img, t, n, cmdline);
	free(cmdline);
	if (!err && fsync(fd))
		err = -errno;
	close(fd);
	/* Half a core is worth nothing and may be why the disk is full. */
	if (err)
		unlinkat(m->dirfd, "core", 0);
	return err;
}

static void put_core(struct member *m, const struct image *img,
		     const struct ds_thread *t, size_t n)
{
	char path[128];
	int err = -ENOENT;

	/* An image without a recording is of no use. */
	if (m->r->state == DISTSNAP_S_ABORTED) {
		img = NULL;
	} else if (img) {
		err = write_core(m, img, t, n);
		if (err == -EINVAL)
			broken(m, "no core file", "the registers are not those of a 64-bit process");
		else if (err)
			broken(m, "the core file could not be written",
			       strerror(-err));
	} else if (m->r->flags & DISTSNAP_F_IMAGE) {
		broken(m, "its memory image is lost", "the agent that copied it has ended");
	} else if (!m->job->light && !(m->r->flags & DISTSNAP_F_ENDED)) {
		broken(m, "no memory image", "no agent was there to copy it");
	}
	snprintf(path, sizeof(path), "%s/core", m->dir);
	put_text(m->json, "image", err ? "none" : "copy");
	put_text(m->json, "core", err ? NULL : path);
}

static void put_threads(struct ds_conn *c, struct member *m,
			const struct image *img)
{
	json_t *list = json_array();
	struct ds_thread *t = NULL;
	size_t n = 0, i;

	if (ds_threads(c, m->job->group, m->job->epoch, m->r->member, &t, &n))
		broken(m, "threads could not be fetched", ds_error(c));
	put_core(m, img, t, n);
	for (i = 0; i < n; i++)
		json_array_append_new(list, thread_json(&t[i]));
	json_object_set_new(m->json, "threads", list);
	ds_free_threads(t, n);
}

/* Who the process is: by its image, else as it stands now. */
static void put_identity(struct member *m, const struct image *img)
{
	const char *open = strchr(img->stat, '(');
	const char *close = strrchr(img->stat, ')');
	char comm[32] = "";

	if (open && close)
		snprintf(comm, sizeof(comm), "%.*s", (int)(close - open - 1),
			 open + 1);
	put_text(m->json, "comm", comm);
	put_text(m->json, "exe", img->exe);
	json_object_set_new(m->json, "uncovered", fragw_uncovered(img));
}

static int make_dir(struct member *m, int dirfd)
{
	const struct ds_record *r = m->r;

	snprintf(m->dir, sizeof(m->dir), "%s", r->name);
	if (!valid_name(r->name) || mkdirat(dirfd, m->dir, 0700)) {
		/* Someone left and another joined under the same name. */
		snprintf(m->dir, sizeof(m->dir), "member.%u", r->member);
		if (mkdirat(dirfd, m->dir, 0700))
			return -errno;
	}
	m->dirfd = openat(dirfd, m->dir,
			  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return m->dirfd < 0 ? -errno : 0;
}

json_t *fragw_member(struct ds_conn *c, const struct fragw_job *job,
		     const struct ds_record *r, int dirfd)
{
	struct member m = { .job = job, .r = r };
	const struct image *img = find_image(job, r->member);
	struct image *now = NULL;

	if (make_dir(&m, dirfd))
		return NULL;
	m.json = json_object();
	m.reasons = fragw_texts(&r->reasons);
	put_text(m.json, "name", m.dir);
	put(m.json, "id", r->member);
	put(m.json, "pid", r->pid);
	if (!img) {
		now = image_new();
		image_describe(now, r->pid);
	}
	put_identity(&m, img ? img : now);
	image_free(now);
	put_times(&m);
	put_threads(c, &m, img);
	put_channels(c, &m);
	put_text(m.json, "state",
		 state_name(m.broken ? DISTSNAP_S_ABORTED : r->state));
	json_object_set_new(m.json, "reasons", m.reasons);
	if (fsync(m.dirfd))
		complain("agent: %s: %s", m.dir, strerror(errno));
	close(m.dirfd);
	return m.json;
}
