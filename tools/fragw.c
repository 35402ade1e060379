// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "fragw.h"
#include "names.h"
#include "util.h"

static void put(json_t *o, const char *key, uint64_t v)
{
	json_object_set_new(o, key, json_integer(v));
}

static void put_text(json_t *o, const char *key, const char *s)
{
	json_object_set_new(o, key, fragw_text(s));
}

static void put_boot(json_t *o)
{
	char *id = read_whole("/proc/sys/kernel/random/boot_id", NULL);
	struct utsname u;
	struct stat st;

	if (id)
		id[strcspn(id, "\n")] = 0;
	put_text(o, "boot_id", id ? id : "");
	free(id);
	put(o, "netns", stat("/proc/self/ns/net", &st) ? 0 : st.st_ino);
	put_text(o, "kernel", uname(&u) ? "" : u.release);
}

static json_t *snapshot_json(const struct fragw_job *job,
			     const struct ds_snap *s, const struct ds_group *g)
{
	json_t *o = json_object();

	put_text(o, "format", "distsnap-fragment");
	put(o, "version", 1);
	put_text(o, "group", job->group);
	put(o, "group_id", g->id);
	put(o, "epoch", job->epoch);
	put_text(o, "node", job->node);
	put_boot(o);
	json_object_set_new(o, "initiator",
			    json_boolean(s->flags & DISTSNAP_F_INITIATOR));
	json_object_set_new(o, "light",
			    json_boolean(s->flags & DISTSNAP_F_LIGHT));
	put_text(o, "state", state_name(s->state));
	put(o, "triggered", s->triggered);
	put(o, "bytes", s->bytes);
	put(o, "held_bytes", s->held_bytes);
	json_object_set_new(o, "reasons", fragw_texts(&s->reasons));
	return o;
}

static json_t *members_json(struct ds_conn *c, const struct fragw_job *job,
			    int dirfd, size_t *n)
{
	json_t *list = json_array(), *m;
	struct ds_record *r;
	size_t i;

	if (ds_records(c, job->group, job->epoch, &r, n)) {
		complain("agent: epoch %u: cannot fetch the records: %s",
			 job->epoch, ds_error(c));
		json_decref(list);
		return NULL;
	}
	for (i = 0; i < *n; i++) {
		m = fragw_member(c, job, &r[i], dirfd);
		if (!m) {
			complain("agent: epoch %u: member %s: cannot make its directory: %s",
				 job->epoch, r[i].name, strerror(errno));
			json_decref(list);
			list = NULL;
			break;
		}
		json_array_append_new(list, m);
	}
	ds_free_records(r, *n);
	return list;
}

static int write_json(json_t *o, int dirfd)
{
	/* json_dumpfd() would write each token by itself. */
	char *text = json_dumps(o, JSON_INDENT(2));
	int fd, err;

	if (!text)
		return -ENOMEM;
	fd = openat(dirfd, "fragment.json",
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	err = fd < 0 ? -errno : write_all(fd, text, strlen(text));
	free(text);
	if (!err && (fsync(fd) || fsync(dirfd)))
		err = -errno;
	if (fd >= 0)
		close(fd);
	return err;
}

/* What could not be written counts as not recorded. */
static bool lacks_one(const json_t *members)
{
	const char *state;
	json_t *m;
	size_t i;

	json_array_foreach(members, i, m) {
		state = json_string_value(json_object_get(m, "state"));
		if (!strcmp(state, state_name(DISTSNAP_S_ABORTED)))
			return true;
	}
	return false;
}

/* Fills the fragment's directory @dirfd. */
static int fill(struct ds_conn *c, struct fragw_job *job, int dirfd,
		struct fragw_result *res)
{
	struct ds_snap s = { 0 };
	struct ds_group g;
	json_t *o, *members;
	int err;

	err = ds_group_get(c, job->group, &g);
	if (!err)
		err = ds_snap_get(c, job->group, job->epoch, &s);
	if (err) {
		complain("agent: epoch %u: cannot fetch it: %s", job->epoch,
			 ds_error(c));
		return err;
	}
	o = snapshot_json(job, &s, &g);
	res->state = s.state;
	job->light = s.flags & DISTSNAP_F_LIGHT;
	ds_free_strings(&s.reasons);
	members = members_json(c, job, dirfd, &res->members);
	if (!members) {
		json_decref(o);
		return -EIO;
	}
	json_object_set_new(o, "members", members);
	if (lacks_one(members)) {
		res->state = DISTSNAP_S_ABORTED;
		put_text(o, "state", state_name(res->state));
	}
	err = write_json(o, dirfd);
	json_decref(o);
	if (err)
		complain("agent: epoch %u: cannot write the fragment: %s",
			 job->epoch, strerror(-err));
	return err;
}

/* A fragment of that name is from before this node lost its last epoch. */
static int publish(int basefd, const char *tmp, const char *node)
{
	char old[64];
	int err = 0;

	if (!renameat(basefd, tmp, basefd, node))
		goto out;
	if (errno != ENOTEMPTY && errno != EEXIST)
		return -errno;
	snprintf(old, sizeof(old), ".%s.old", node);
	err = remove_tree(basefd, old);
	if (!err && (renameat(basefd, node, basefd, old) ||
		     renameat(basefd, tmp, basefd, node)))
		err = -errno;
	remove_tree(basefd, old);
out:
	fsync(basefd);
	return err;
}

static int open_dir(int basefd, const char *name)
{
	return openat(basefd, name,
		      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int write_below(struct ds_conn *c, struct fragw_job *job,
		       int basefd, struct fragw_result *res)
{
	char tmp[64];
	int fd, err;

	snprintf(tmp, sizeof(tmp), ".%s.tmp", job->node);
	err = remove_tree(basefd, tmp);
	if (!err && mkdirat(basefd, tmp, 0700))
		err = -errno;
	fd = err ? -1 : open_dir(basefd, tmp);
	if (fd < 0)
		return fail(err ? err : -errno, "agent: %s/%s: %s", res->path,
			    tmp, strerror(err ? -err : errno));
	err = fill(c, job, fd, res);
	close(fd);
	if (!err) {
		err = publish(basefd, tmp, job->node);
		if (err)
			complain("agent: %s/%s: cannot be put in place: %s",
				 res->path, job->node, strerror(-err));
	}
	if (err)
		remove_tree(basefd, tmp);
	return err;
}

int fragw_write(struct ds_conn *c, struct fragw_job *job,
		struct fragw_result *res)
{
	int fd, err;

	memset(res, 0, sizeof(*res));
	snprintf(res->path, sizeof(res->path), "%s/%s/%u", job->store,
		 job->group, job->epoch);
	err = mkdirs(res->path);
	fd = err ? -1 : open(res->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return fail(err ? err : -errno, "agent: %s: %s", res->path,
			    strerror(err ? -err : errno));
	err = write_below(c, job, fd, res);
	close(fd);
	return err;
}
