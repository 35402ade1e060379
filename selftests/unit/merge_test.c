// SPDX-License-Identifier: GPL-2.0
/*
 * Fragments in, snapshot and verdict out: see crafted.h for the fragments.
 * Links with all of tools/ that is not netlink: merge.c and what it calls, and
 * the commands merge, show and check.
 */
#define _GNU_SOURCE
#include "../../tools/cmd.h"
#include "../../tools/merge.h"
#include "crafted.h"
#include "kselftest_harness.h"

FIXTURE(snap)
{
	char top[64], snap[128], said[4096];
	struct side a, b;
	struct merge_summary sum;
};

/* What is printed from here on goes to a file, for said(). */
static int hush(const char *top)
{
	char path[128];
	int fd, saved;

	fflush(NULL);
	snprintf(path, sizeof(path), "%s/said", top);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	saved = dup(1);
	dup2(fd, 1);
	dup2(fd, 2);
	close(fd);
	return saved;
}

static void unhush(int saved, char *said, size_t size)
{
	ssize_t n;

	fflush(NULL);
	n = pread(1, said, size - 1, 0);
	said[n < 0 ? 0 : n] = 0;
	dup2(saved, 1);
	dup2(saved, 2);
	close(saved);
}

FIXTURE_SETUP(snap)
{
	char dir[128];

	strcpy(self->top, "/tmp/distsnap-merge.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->top));
	snprintf(self->snap, sizeof(self->snap), "%s/snap", self->top);
	snprintf(dir, sizeof(dir), "%s/fa", self->top);
	craft_a(&self->a, dir);
	snprintf(dir, sizeof(dir), "%s/fb", self->top);
	craft_b(&self->b, dir);
}

FIXTURE_TEARDOWN(snap)
{
	json_decref(self->a.root);
	json_decref(self->b.root);
	merge_summary_free(&self->sum);
	craft_remove(self->top);
}

static int merge_list(struct _test_data_snap *self, const char *const *dirs,
		      size_t n, const struct merge_opts *opts)
{
	int saved, ret;

	merge_summary_free(&self->sum);
	saved = hush(self->top);
	ret = merge_run(dirs, n, opts, self->snap, &self->sum);
	unhush(saved, self->said, sizeof(self->said));
	return ret;
}

/* Write both fragments and merge them. */
static int merge_both(struct _test_data_snap *self)
{
	const char *dirs[] = { self->a.dir, self->b.dir };

	craft_write(&self->a);
	craft_write(&self->b);
	return merge_list(self, dirs, 2, NULL);
}

static int command(struct _test_data_snap *self, int (*cmd)(int, char **),
		   const char *name, const char *arg, const char *last)
{
	const char *argv[] = { name, arg, last, NULL };
	int saved = hush(self->top), ret;

	ret = cmd(last ? 3 : 2, (char **)argv);
	unhush(saved, self->said, sizeof(self->said));
	return ret;
}

static int check(struct _test_data_snap *self)
{
	return command(self, cmd_check, "check", "consistency", self->snap);
}

static bool has_reason(struct _test_data_snap *self, const char *text)
{
	size_t i;

	for (i = 0; i < self->sum.n_reasons; i++)
		if (strstr(self->sum.reasons[i], text))
			return true;
	for (i = 0; i < self->sum.n_reasons; i++)
		fprintf(stderr, "# reason: %s\n", self->sum.reasons[i]);
	fprintf(stderr, "# no reason has: %s\n", text);
	return false;
}

/* Incomplete for this one reason; @code is what check says. */
#define EXPECT_ONLY(text, code) do {					\
	ASSERT_EQ(0, merge_both(self)) TH_LOG("%s", self->said);	\
	EXPECT_FALSE(self->sum.complete);				\
	EXPECT_EQ(1, self->sum.n_reasons);				\
	EXPECT_TRUE(has_reason(self, text));				\
	EXPECT_EQ(code, check(self)) TH_LOG("%s", self->said);		\
} while (0)

static unsigned int count_files(const char *path)
{
	unsigned int n = 0;
	struct dirent *d;
	DIR *dir;

	dir = opendir(path);
	while (dir && (d = readdir(dir)))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

/* Refused with these words, and nothing is left behind. */
#define EXPECT_REFUSED(text) do {					\
	ASSERT_EQ(-1, merge_both(self));				\
	EXPECT_NE(NULL, strstr(self->said, text)) TH_LOG("%s", self->said); \
	EXPECT_EQ(2 + 3, count_files(self->top));			\
} while (0)

static bool file_is(const char *top, const char *name, uint64_t from,
		    uint64_t to)
{
	char path[512];
	uint64_t i;
	FILE *f;
	bool ok;
	int c;

	snprintf(path, sizeof(path), "%s/%s", top, name);
	f = fopen(path, "r");
	if (!f)
		return false;
	for (i = from, ok = true; i < to && ok; i++) {
		c = fgetc(f);
		ok = c != EOF && (char)c == stream_byte(i);
	}
	ok = ok && fgetc(f) == EOF;
	fclose(f);
	return ok;
}

static void poke(const char *top, const char *name, long at, char byte)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", top, name);
	fd = open(path, O_WRONLY);
	if (fd < 0 || pwrite(fd, &byte, 1, at) != 1)
		abort();
	close(fd);
}

static json_t *manifest(struct _test_data_snap *self)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/manifest.json", self->snap);
	return json_load_file(path, 0, NULL);
}

TEST_F(snap, complete)
{
	struct stat st;

	ASSERT_EQ(0, merge_both(self)) TH_LOG("%s", self->said);
	EXPECT_TRUE(self->sum.complete);
	EXPECT_TRUE(self->sum.closed);
	EXPECT_EQ(2, self->sum.members);
	EXPECT_EQ(2, self->sum.channels);
	EXPECT_EQ(0, self->sum.externals);
	EXPECT_EQ(50, self->sum.bytes);
	EXPECT_EQ(1234, self->sum.longest_pause_us);
	EXPECT_TRUE(file_is(self->snap, "channels/10.0.0.1:1000-10.0.0.2:2000.bin", 50, 100));
	EXPECT_TRUE(file_is(self->snap, "channels/10.0.0.2:2000-10.0.0.1:1000.bin", 0, 0));
	EXPECT_TRUE(file_is(self->snap, "nodes/a/one/17.sendq.bin", 60, 100));
	EXPECT_EQ(0, check(self)) TH_LOG("%s", self->said);
	EXPECT_EQ(0, command(self, cmd_show, "show", self->snap, NULL));
	EXPECT_NE(NULL, strstr(self->said, "b/two"));
	ASSERT_EQ(0, stat(self->snap, &st));
	EXPECT_EQ(0700, st.st_mode & 07777);
}

TEST_F(snap, manifest)
{
	json_t *root, *ch;

	ASSERT_EQ(0, merge_both(self));
	root = manifest(self);
	ASSERT_NE(NULL, root);
	EXPECT_STREQ("complete", json_string_value(get(root, "verdict")));
	EXPECT_STREQ("closed", json_string_value(get(root, "scope")));
	EXPECT_STREQ("a", json_string_value(json_array_get(get(root, "initiators"), 0)));
	ch = json_array_get(get(root, "channels"), 0);
	EXPECT_STREQ("a/one", json_string_value(get(ch, "src")));
	EXPECT_STREQ("b/two", json_string_value(get(ch, "dst")));
	EXPECT_EQ(111, json_integer_value(get(ch, "isn")));
	EXPECT_EQ(4000000000ll, json_integer_value(get(ch, "peer_isn")));
	EXPECT_EQ(50, json_integer_value(get(ch, "bytes")));
	EXPECT_STREQ("channels/10.0.0.1:1000-10.0.0.2:2000.bin",
		     json_string_value(get(ch, "file")));
	EXPECT_EQ(0, command(self, cmd_show, "show", "--json", self->snap));
	EXPECT_EQ('{', self->said[0]);
	json_decref(root);
}

TEST_F(snap, one_missing)
{
	const char *dirs[] = { self->a.dir };

	craft_write(&self->a);
	EXPECT_EQ(0, merge_ready(dirs, 1));
	ASSERT_EQ(0, merge_list(self, dirs, 1, NULL));
	EXPECT_FALSE(self->sum.complete);
	EXPECT_EQ(3, self->sum.n_reasons);
	EXPECT_EQ(1, self->sum.n_causes);
	EXPECT_STREQ("nothing from 10.0.0.2 (1 connection of a/one): no agent there, or another store?",
		     self->sum.reasons[0]);
	EXPECT_TRUE(has_reason(self, "channel 10.0.0.1:1000 -> 10.0.0.2:2000: the receiver's fragment is missing"));
	EXPECT_TRUE(has_reason(self, "channel 10.0.0.2:2000 -> 10.0.0.1:1000: the sender's fragment is missing"));
	EXPECT_EQ(3, check(self));
}

TEST_F(snap, initiator_missing)
{
	const char *dirs[] = { self->b.dir };

	craft_write(&self->b);
	ASSERT_EQ(0, merge_list(self, dirs, 1, NULL));
	EXPECT_EQ(4, self->sum.n_reasons);
	EXPECT_EQ(2, self->sum.n_causes);
	EXPECT_NE(NULL, strstr(self->sum.reasons[1], "initiator's fragment is missing"));
}

/* One line for each address, whoever of us is connected to it. */
TEST_F(snap, nothing_from)
{
	const char *dirs[] = { self->a.dir };

	add_cut(&self->a, 18, "10.0.0.1:1001", "10.0.0.2:2000", 112, 9);
	add_cut(&self->a, 19, "10.0.0.1:1002", "10.0.0.20:2000", 113, 9);
	set(self->a.cut, "peer", json_string("external"));
	add_cut(&self->a, 20, "10.0.0.1:1003", "10.0.0.3:2000", 114, 9);
	add_member(&self->a, "other");
	add_cut(&self->a, 21, "10.0.0.1:1004", "10.0.0.2:2000", 115, 9);
	craft_write(&self->a);
	ASSERT_EQ(0, merge_list(self, dirs, 1, NULL));
	EXPECT_EQ(2 + 2 * 4, self->sum.n_reasons);
	EXPECT_EQ(2, self->sum.n_causes);
	EXPECT_STREQ("nothing from 10.0.0.2 (2 connections of a/one, 1 of a/other): no agent there, or another store?",
		     self->sum.reasons[0]);
	EXPECT_STREQ("nothing from 10.0.0.3 (1 connection of a/one): no agent there, or another store?",
		     self->sum.reasons[1]);
	EXPECT_EQ(3, check(self));
	EXPECT_NE(NULL, strstr(self->said, "incomplete: nothing from 10.0.0.2"));
	EXPECT_NE(NULL, strstr(self->said, "(and 9 more)"));
}

TEST_F(snap, host_without_the_other_end)
{
	add_cut(&self->b, 6, "10.0.0.2:1", "10.0.0.1:9", 5, 6);
	ASSERT_EQ(0, merge_both(self));
	EXPECT_EQ(2, self->sum.n_reasons);
	EXPECT_TRUE(has_reason(self, "channel 10.0.0.2:1 -> 10.0.0.1:9: node a did not record the receiver's end"));
}

TEST_F(snap, ready)
{
	const char *dirs[] = { self->b.dir, self->a.dir };

	EXPECT_EQ(-1, merge_ready(dirs, 2));
	craft_write(&self->a);
	craft_write(&self->b);
	EXPECT_EQ(1, merge_ready(dirs, 2));
	EXPECT_EQ(0, merge_ready(dirs, 1));
	set(self->b.cut, "peer", json_string("external"));
	craft_write(&self->b);
	EXPECT_EQ(1, merge_ready(dirs, 1));
}

TEST_F(snap, one_twice)
{
	const char *dirs[] = { self->b.dir, self->a.dir, self->b.dir };

	craft_write(&self->a);
	craft_write(&self->b);
	ASSERT_EQ(0, merge_list(self, dirs, 3, NULL)) TH_LOG("%s", self->said);
	EXPECT_TRUE(self->sum.complete);
	EXPECT_EQ(2, self->sum.members);
}

/* A copy counts once as well, but only if it is one. */
TEST_F(snap, copy)
{
	char dir[128];
	const char *dirs[] = { self->b.dir, self->a.dir, dir };
	struct side c;

	snprintf(dir, sizeof(dir), "%s/fc", self->top);
	craft_b(&c, dir);
	craft_write(&self->a);
	craft_write(&self->b);
	craft_write(&c);
	poke(dir, "two/5.log.bin", 3, 0);
	ASSERT_EQ(-1, merge_list(self, dirs, 3, NULL));
	EXPECT_NE(NULL, strstr(self->said, "different fragments"));
	poke(dir, "two/5.log.bin", 3, stream_byte(73));
	ASSERT_EQ(0, merge_list(self, dirs, 3, NULL)) TH_LOG("%s", self->said);
	EXPECT_TRUE(self->sum.complete);
	json_decref(c.root);
}

TEST_F(snap, two_boots)
{
	char dir[128];
	const char *dirs[] = { self->b.dir, self->a.dir, dir };
	struct side c;

	snprintf(dir, sizeof(dir), "%s/fc", self->top);
	craft_b(&c, dir);
	set(c.root, "boot_id", json_string("other"));
	craft_write(&self->a);
	craft_write(&self->b);
	craft_write(&c);
	ASSERT_EQ(-1, merge_list(self, dirs, 3, NULL));
	EXPECT_NE(NULL, strstr(self->said, "node b: "));
	EXPECT_NE(NULL, strstr(self->said, "different boots"));
	json_decref(c.root);
}

TEST_F(snap, any_order)
{
	const char *ab[] = { self->a.dir, self->b.dir };
	const char *ba[] = { self->b.dir, self->a.dir, self->a.dir };
	char first[128], diff[512];

	craft_write(&self->a);
	craft_write(&self->b);
	ASSERT_EQ(0, merge_list(self, ab, 2, NULL));
	snprintf(first, sizeof(first), "%s/first", self->top);
	ASSERT_EQ(0, rename(self->snap, first));
	ASSERT_EQ(0, merge_list(self, ba, 3, NULL));
	snprintf(diff, sizeof(diff), "diff -r %s %s", first, self->snap);
	EXPECT_EQ(0, system(diff));
}

TEST_F(snap, other_epoch)
{
	set(self->b.root, "epoch", json_integer(13));
	EXPECT_REFUSED("epoch 13");
}

TEST_F(snap, other_group)
{
	set(self->b.root, "group", json_string("ring"));
	EXPECT_REFUSED("group ring");
}

TEST_F(snap, other_group_id)
{
	set(self->b.root, "group_id", json_integer(8));
	EXPECT_REFUSED("id 8");
}

TEST_F(snap, newer_version)
{
	set(self->b.root, "version", json_integer(2));
	EXPECT_REFUSED("version 2 and this tool reads version 1");
}

TEST_F(snap, other_format)
{
	set(self->b.root, "format", json_string("distsnap-snapshot"));
	EXPECT_REFUSED("its format is");
}

TEST_F(snap, truncated_json)
{
	const char *dirs[] = { self->a.dir, self->b.dir };
	char path[512];
	struct stat st;
	off_t len;

	craft_write(&self->a);
	craft_write(&self->b);
	snprintf(path, sizeof(path), "%s/fragment.json", self->b.dir);
	ASSERT_EQ(0, stat(path, &st));
	for (len = st.st_size - 2; len >= 0; len -= 97) {
		ASSERT_EQ(0, truncate(path, len));
		ASSERT_EQ(-1, merge_list(self, dirs, 2, NULL));
		ASSERT_NE(NULL, strstr(self->said, "fragment.json"));
		ASSERT_EQ(2 + 3, count_files(self->top));
	}
}

/* Whatever key is missing or of another type: refused, or not needed. */
TEST_F(snap, every_key_matters_or_not)
{
	json_t *objs[] = { self->b.root, self->b.member, self->b.cut,
			   get(self->b.cut, "in"), get(self->b.cut, "out"),
			   json_array_get(get(self->b.cut, "data"), 0),
			   json_array_get(get(self->b.member, "threads"), 0) };
	json_t *old, *copy;
	const char *key;
	size_t i;
	void *it;

	for (i = 0; i < sizeof(objs) / sizeof(objs[0]); i++) {
		copy = json_copy(objs[i]);
		json_object_foreach_safe(copy, it, key, old) {
			json_object_del(objs[i], key);
			merge_both(self);
			craft_remove(self->snap);
			json_object_set_new(objs[i], key, json_real(0.5));
			if (!merge_both(self))
				EXPECT_NE(NULL, strstr("netns kernel triggered bytes held_bytes", key)) TH_LOG("%s", key);
			craft_remove(self->snap);
			json_object_set(objs[i], key, old);
		}
		json_decref(copy);
	}
	EXPECT_EQ(0, merge_both(self)) TH_LOG("%s", self->said);
}

TEST_F(snap, hole)
{
	json_array_remove(get(self->b.cut, "data"), 0);
	EXPECT_ONLY("10 of 50 bytes in flight were recorded by neither end, the first at 50", 3);
	EXPECT_FALSE(file_is(self->snap, "channels/10.0.0.1:1000-10.0.0.2:2000.bin", 0, 0));
}

TEST_F(snap, one_byte_missing)
{
	json_array_clear(get(self->a.cut, "data"));
	json_array_remove(get(self->b.cut, "data"), 3);
	add_data(&self->b, "log", 86, 14);
	set(json_array_get(get(self->b.cut, "data"), 1), "length", json_integer(5));
	EXPECT_ONLY("1 of 50 bytes", 3);
}

TEST_F(snap, disagreement)
{
	poke(self->b.dir, "two/5.recvq.bin", 15, 0);
	EXPECT_ONLY("channel 10.0.0.1:1000 -> 10.0.0.2:2000: what the ends recorded differs at byte 65", 1);
}

TEST_F(snap, received_beyond_sent)
{
	set_in(&self->b, 101, 101, 100);
	EXPECT_ONLY("received up to 101, but sent only up to 100", 1);
}

TEST_F(snap, marker_is_not_sent)
{
	set_in(&self->b, 50, 70, 99);
	EXPECT_ONLY("the marker came at 99, but the sender was at 100", 1);
}

TEST_F(snap, no_marker)
{
	set(get(self->b.cut, "in"), "marker", json_null());
	EXPECT_ONLY("does not say where the marker was", 3);
}

TEST_F(snap, not_acknowledged)
{
	set_flags(&self->a, "closed", NULL, NULL);
	EXPECT_ONLY("the marker of member a/one was not acknowledged", 3);
}

TEST_F(snap, not_closed)
{
	set_flags(&self->b, "acked", NULL, NULL);
	set(get(self->b.cut, "in"), "marker", json_null());
	EXPECT_ONLY("channel 10.0.0.1:1000 -> 10.0.0.2:2000: the sender's marker did not reach member b/two", 3);
}

FIXTURE(flag)
{
	struct _test_data_snap m;
};

FIXTURE_VARIANT(flag)
{
	const char *name, *phrase;
};

FIXTURE_SETUP(flag)
{
	snap_setup(_metadata, &self->m, NULL);
}

FIXTURE_TEARDOWN(flag)
{
	snap_teardown(_metadata, &self->m, NULL);
}

FIXTURE_VARIANT_ADD(flag, naked) { "naked", "the peer refused" };
FIXTURE_VARIANT_ADD(flag, missed) { "missed", "a newer epoch came" };
FIXTURE_VARIANT_ADD(flag, truncated) { "truncated", "bytes are missing" };
FIXTURE_VARIANT_ADD(flag, gone) { "gone", "the connection died" };
FIXTURE_VARIANT_ADD(flag, contradicted) { "contradicted", "two markers" };

TEST_F(flag, makes_incomplete)
{
	set_flags(&self->m.b, "closed", "acked", variant->name);
	ASSERT_EQ(0, merge_both(&self->m));
	EXPECT_EQ(1, self->m.sum.n_reasons);
	EXPECT_TRUE(has_reason(&self->m, variant->phrase));
	EXPECT_TRUE(has_reason(&self->m, "member b/two"));
	EXPECT_EQ(3, check(&self->m));
}

TEST_F(snap, unknown_flag)
{
	set_flags(&self->b, "closed", "acked", "sealed");
	EXPECT_REFUSED("\"flags\" is not valid");
}

/* a closes: its FIN takes position 99, so that the bytes end at 99. */
static void add_fin(struct _test_data_snap *self)
{
	json_t *data = get(self->b.cut, "data");

	set_flags(&self->a, "closed", "acked", "fin-out");
	set(json_array_get(get(self->a.cut, "data"), 0), "length", json_integer(39));
	set(json_array_get(data, 3), "length", json_integer(14));
}

TEST_F(snap, fin_in_flight)
{
	json_t *root, *ch;

	add_fin(self);
	ASSERT_EQ(0, merge_both(self));
	EXPECT_TRUE(self->sum.complete) has_reason(self, "?");
	EXPECT_EQ(49, self->sum.bytes);
	EXPECT_TRUE(file_is(self->snap, "channels/10.0.0.1:1000-10.0.0.2:2000.bin", 50, 99));
	EXPECT_EQ(0, check(self)) TH_LOG("%s", self->said);
	root = manifest(self);
	ch = json_array_get(get(root, "channels"), 0);
	EXPECT_TRUE(json_is_true(get(ch, "fin")));
	json_decref(root);
}

TEST_F(snap, fin_received)
{
	add_fin(self);
	set_flags(&self->b, "closed", "acked", "fin-in");
	set_in(&self->b, 100, 100, 100);
	ASSERT_EQ(0, merge_both(self));
	EXPECT_TRUE(self->sum.complete) has_reason(self, "?");
	EXPECT_EQ(0, self->sum.bytes);
}

TEST_F(snap, fin_alone_in_flight)
{
	add_fin(self);
	set_in(&self->b, 99, 99, 100);
	ASSERT_EQ(0, merge_both(self));
	EXPECT_TRUE(self->sum.complete) has_reason(self, "?");
	EXPECT_EQ(0, self->sum.bytes);
}

TEST_F(snap, byte_in_place_of_fin)
{
	set_flags(&self->a, "closed", "acked", "fin-out");
	EXPECT_ONLY("a byte was recorded at 99, where the stream ends", 1);
}

TEST_F(snap, fin_that_was_not_sent)
{
	set_flags(&self->b, "closed", "acked", "fin-in");
	set_in(&self->b, 100, 100, 100);
	EXPECT_ONLY("disagree about whether the stream ended", 1);
}

static void add_flag(struct side *s, const char *name)
{
	json_array_append_new(get(s->cut, "flags"), json_string(name));
}

/* b's end was gone before b recorded; it had come to @next. */
static void bury_b(struct _test_data_snap *self, json_int_t next, const char *how)
{
	set_flags(&self->b, "closed", "left", "tomb");
	add_flag(&self->b, how);
	set_in(&self->b, next, next, next);
	json_array_clear(get(self->b.cut, "data"));
}

TEST_F(snap, what_a_dead_socket_did_not_get_is_lost)
{
	bury_b(self, 70, "short");
	ASSERT_EQ(0, merge_both(self));
	EXPECT_TRUE(self->sum.complete) has_reason(self, "?");
	EXPECT_EQ(0, self->sum.bytes);
	EXPECT_EQ(0, check(self)) TH_LOG("%s", self->said);
}

TEST_F(snap, a_dead_socket_got_more_than_was_sent)
{
	bury_b(self, 101, "short");
	ASSERT_EQ(0, merge_both(self));
	EXPECT_FALSE(self->sum.complete);
	EXPECT_TRUE(has_reason(self, "received up to 101, but sent only up to 100"));
	EXPECT_EQ(1, check(self));
}

TEST_F(snap, a_dead_socket_got_more_than_its_end)
{
	bury_b(self, 70, "short");
	set_in(&self->b, 80, 80, 70);
	EXPECT_ONLY("received up to 80, but sent only up to 70", 1);
}

/* A FIN ends the stream where the sender says, or something is wrong. */
TEST_F(snap, a_dead_socket_that_got_a_fin)
{
	bury_b(self, 70, "fin-in");
	ASSERT_EQ(0, merge_both(self));
	EXPECT_FALSE(self->sum.complete);
	EXPECT_TRUE(has_reason(self, "the marker came at 70, but the sender was at 100"));
}

/* Not without a tombstone: what a live socket sent before it recorded is there. */
TEST_F(snap, a_reset_loses_nothing_that_was_recorded)
{
	set_flags(&self->b, "closed", "acked", "short");
	set_in(&self->b, 50, 70, 90);
	ASSERT_EQ(0, merge_both(self));
	EXPECT_TRUE(self->sum.complete) has_reason(self, "?");
	EXPECT_EQ(50, self->sum.bytes);
}

/* Before it recorded, so the other side did it before, too, or is recorded with it. */
TEST_F(snap, a_reset_from_who_has_it_open)
{
	bury_b(self, 70, "short");
	add_flag(&self->b, "reset");
	ASSERT_EQ(0, merge_both(self));
	EXPECT_FALSE(self->sum.complete);
	EXPECT_TRUE(has_reason(self, "was reset before member b/two was recorded"));
}

TEST_F(snap, a_reset_from_who_has_closed)
{
	bury_b(self, 70, "short");
	add_flag(&self->b, "reset");
	set(self->a.cut, "tcp_state", json_string("CLOSE"));
	ASSERT_EQ(0, merge_both(self));
	EXPECT_TRUE(self->sum.complete) has_reason(self, "?");
}

TEST_F(snap, dead_on_both_ends)
{
	bury_b(self, 70, "short");
	set_flags(&self->a, "closed", "left", "tomb");
	ASSERT_EQ(0, merge_both(self));
	EXPECT_TRUE(self->sum.complete) has_reason(self, "?");
	EXPECT_EQ(0, self->sum.channels);
}

/* Its peer ended it even earlier, or was recorded before it was there. */
TEST_F(snap, a_tombstone_alone)
{
	bury_b(self, 70, "short");
	json_array_clear(get(self->a.member, "channels"));
	ASSERT_EQ(0, merge_both(self));
	EXPECT_TRUE(self->sum.complete) has_reason(self, "?");
}

/* Its peer's process was killed; what had come from it can still be read. */
TEST_F(snap, a_closed_socket_alone)
{
	set_flags(&self->b, "closed", "left", "short");
	set(self->b.cut, "tcp_state", json_string("CLOSE"));
	json_array_clear(get(self->a.member, "channels"));
	ASSERT_EQ(0, merge_both(self));
	EXPECT_TRUE(self->sum.complete) has_reason(self, "?");
	EXPECT_EQ(0, self->sum.channels);
}

TEST_F(snap, a_connect_under_way)
{
	set(self->a.cut, "peer", json_string("connecting"));
	set(self->a.cut, "peer_isn", json_integer(0));
	json_array_clear(get(self->b.member, "channels"));
	ASSERT_EQ(0, merge_both(self));
	EXPECT_TRUE(self->sum.complete) has_reason(self, "?");
	EXPECT_TRUE(self->sum.closed);
	EXPECT_EQ(0, self->sum.channels);
}

TEST_F(snap, a_connect_under_way_that_the_peer_has)
{
	set(self->a.cut, "peer", json_string("connecting"));
	EXPECT_ONLY("it was not there yet, and the other end was recorded", 1);
}

TEST_F(snap, a_peer_that_closed_need_not_answer)
{
	set_flags(&self->a, "closed", "left", NULL);
	ASSERT_EQ(0, merge_both(self));
	EXPECT_TRUE(self->sum.complete) has_reason(self, "?");
}

TEST_F(snap, lost_fin)
{
	add_fin(self);
	set_in(&self->b, 50, 100, 100);
	EXPECT_ONLY("disagree about whether the stream ended", 1);
}

TEST_F(snap, contradicting_positions)
{
	set_out(&self->b, 31, 30);
	EXPECT_ONLY("member b/two: its positions contradict each other", 1);
}

TEST_F(snap, more_in_flight_than_tcp_has)
{
	set_out(&self->a, 60, 1ll << 40);
	set_in(&self->b, 50, 70, 1ll << 40);
	EXPECT_ONLY("more bytes in flight than TCP can have", 1);
}

TEST_F(snap, states)
{
	set(self->a.root, "state", json_string("expired"));
	set(self->b.member, "state", json_string("aborted"));
	set(self->b.member, "reasons", json_pack("[s]", "thread 78 \033[1m did not park"));
	set(self->b.root, "reasons", json_pack("[s]", "disk full"));
	ASSERT_EQ(0, merge_both(self));
	EXPECT_EQ(4, self->sum.n_reasons);
	EXPECT_TRUE(has_reason(self, "node a: the deadline passed"));
	EXPECT_TRUE(has_reason(self, "member b/two: the recording was aborted"));
	EXPECT_TRUE(has_reason(self, "member b/two: thread 78 ?[1m did not park"));
	EXPECT_TRUE(has_reason(self, "node b: disk full"));
	EXPECT_EQ(3, check(self));
}

/*
 * What a member had captured when its recording was given up is no cut: it proves
 * nothing, neither that something is missing nor that something is wrong.
 */
/* Without this its channels would not be judged. */
TEST_F(snap, done_and_never_recorded)
{
	json_object_del(get(self->a.member, "times"), "recorded");
	EXPECT_ONLY("member a/one: done, and there is no time at which it was recorded", 1);
}

TEST_F(snap, given_up)
{
	set(self->b.member, "state", json_string("aborted"));
	json_object_del(get(self->b.member, "times"), "recorded");
	set_in(&self->b, 500, 70, 3);
	set_out(&self->b, 9, 1);
	ASSERT_EQ(0, merge_both(self));
	EXPECT_FALSE(self->sum.complete);
	EXPECT_EQ(1, self->sum.n_reasons);
	EXPECT_TRUE(has_reason(self, "member b/two: the recording was aborted"));
	EXPECT_EQ(3, check(self)) TH_LOG("%s", self->said);
}

/* The cause comes first, whatever else follows from it, and says so once. */
TEST_F(snap, ranks)
{
	const char *cause = "member b/two: the agent failed: process 4 is gone";

	set(self->a.root, "state", json_string("expired"));
	set(self->a.member, "state", json_string("expired"));
	set(self->a.member, "reasons",
	    json_pack("[s]", "member one: 2 markers or answers did not come in time"));
	set_flags(&self->a, NULL, NULL, NULL);
	set(self->b.root, "state", json_string("aborted"));
	set(self->b.root, "reasons",
	    json_pack("[s,s]", "member two: the agent failed: process 4 is gone",
		      "member gone left the group"));
	set(self->b.member, "state", json_string("aborted"));
	set(self->b.member, "image", json_string("copy"));
	set(self->b.member, "reasons",
	    json_pack("[s]", "member two: the agent failed: process 4 is gone"));
	ASSERT_EQ(0, merge_both(self));
	EXPECT_EQ(2, self->sum.n_causes);
	EXPECT_STREQ("member b/gone: left the group", self->sum.reasons[0]);
	EXPECT_STREQ(cause, self->sum.reasons[1]);
	EXPECT_TRUE(has_reason(self, "member a/one: 2 markers"));
	EXPECT_TRUE(has_reason(self, "member b/two: its memory image is missing"));
	EXPECT_EQ(3, check(self));
	EXPECT_NE(NULL, strstr(self->said, "incomplete: member b/gone: left the group (and "));
}

/* Nobody failed: then those who waited say most. */
TEST_F(snap, ranks_without_a_cause)
{
	set(self->b.member, "state", json_string("expired"));
	set(self->b.member, "reasons",
	    json_pack("[s]", "member two: 1 markers or answers did not come in time"));
	set_flags(&self->b, NULL, "acked", NULL);
	ASSERT_EQ(0, merge_both(self));
	EXPECT_EQ(0, self->sum.n_causes);
	EXPECT_EQ(3, self->sum.n_reasons);
	EXPECT_NE(NULL, strstr(self->sum.reasons[0], "member b/two: 1 markers"));
	EXPECT_NE(NULL, strstr(self->sum.reasons[1], "member b/two: the deadline"));
	EXPECT_EQ(3, check(self));
}

TEST_F(snap, image_missing)
{
	set(self->a.member, "image", json_string("copy"));
	EXPECT_ONLY("member a/one: its memory image is missing", 3);
}

TEST_F(snap, expected)
{
	const char *names[] = { "c/three", "b/two", "b/three", "c/three" };
	const struct merge_opts opts = { names, 4 };
	const char *dirs[] = { self->a.dir, self->b.dir };

	craft_write(&self->a);
	craft_write(&self->b);
	ASSERT_EQ(0, merge_list(self, dirs, 2, &opts));
	EXPECT_EQ(2, self->sum.n_reasons);
	EXPECT_TRUE(has_reason(self, "member c/three: expected"));
	EXPECT_TRUE(has_reason(self, "member b/three: expected"));
	EXPECT_EQ(3, check(self)) TH_LOG("%s", self->said);
}

TEST_F(snap, expected_nonsense)
{
	const char *names[] = { "c/../three" };
	const struct merge_opts opts = { names, 1 };
	const char *dirs[] = { self->a.dir, self->b.dir };

	craft_write(&self->a);
	craft_write(&self->b);
	EXPECT_EQ(-1, merge_list(self, dirs, 2, &opts));
	EXPECT_EQ(-1, merge_list(self, dirs, 0, NULL));
}

TEST_F(snap, external)
{
	add_cut(&self->a, 18, "10.0.0.1:1001", "192.0.2.1:443", 9, 10);
	set(self->a.cut, "peer", json_string("external"));
	set_flags(&self->a, NULL, NULL, NULL);
	set(self->b.member, "uncovered", json_pack("[s]", "fd 1: pipe:[12]"));
	ASSERT_EQ(0, merge_both(self));
	EXPECT_TRUE(self->sum.complete);
	EXPECT_FALSE(self->sum.closed);
	EXPECT_EQ(1, self->sum.externals);
	EXPECT_EQ(0, check(self));
	EXPECT_NE(NULL, strstr(self->said, "open"));
	EXPECT_EQ(0, command(self, cmd_show, "show", self->snap, NULL));
	EXPECT_NE(NULL, strstr(self->said, "192.0.2.1:443"));
	EXPECT_NE(NULL, strstr(self->said, "pipe:[12]"));
}

TEST_F(snap, both_took_each_other_for_external)
{
	set(self->a.cut, "peer", json_string("external"));
	set(self->b.cut, "peer", json_string("external"));
	EXPECT_ONLY("members a/one and b/two took each other for external", 3);
	EXPECT_EQ(0, self->sum.channels);
}

TEST_F(snap, one_took_the_other_for_external)
{
	set(self->b.cut, "peer", json_string("rewritten"));
	EXPECT_ONLY("member b/two took member a/one for rewritten", 3);
}

TEST_F(snap, one_cannot_be_recorded)
{
	set(self->b.cut, "peer", json_string("unsupported"));
	EXPECT_ONLY("the end of member b/two cannot be recorded: kernel TLS", 3);
}

TEST_F(snap, unknown_counts_when_matched)
{
	set(self->b.cut, "peer", json_string("unknown"));
	ASSERT_EQ(0, merge_both(self));
	EXPECT_TRUE(self->sum.complete);
}

/* Addresses were translated on the way; sequence numbers tell. */
TEST_F(snap, translated_addresses)
{
	set(self->b.cut, "remote", json_string("203.0.113.5:61000"));
	ASSERT_EQ(0, merge_both(self));
	EXPECT_TRUE(self->sum.complete);
}

TEST_F(snap, same_end_twice)
{
	add_member(&self->b, "child");
	self->b.cut = json_deep_copy(self->b.cut);
	json_array_append_new(get(self->b.member, "channels"), self->b.cut);
	json_array_clear(get(self->b.cut, "data"));
	ASSERT_EQ(0, merge_both(self));
	EXPECT_TRUE(has_reason(self, "member b/child: more than one member recorded the same end"));
	EXPECT_TRUE(has_reason(self, "member b/two: more than one member recorded the same end"));
}

/* By chance the same numbers: the addresses tell who belongs together. */
TEST_F(snap, same_numbers_twice)
{
	add_cut(&self->a, 19, "10.0.0.1:3", "10.0.0.2:4", 111, 4000000000u);
	add_cut(&self->b, 9, "10.0.0.2:4", "10.0.0.1:3", 4000000000u, 111);
	ASSERT_EQ(0, merge_both(self));
	EXPECT_TRUE(self->sum.complete) has_reason(self, "?");
	EXPECT_EQ(4, self->sum.channels);
	EXPECT_EQ(50, self->sum.bytes);
}

/* Two claim to be the other end; only one of them has its addresses. */
TEST_F(snap, pretender)
{
	add_cut(&self->b, 9, "10.0.0.2:4", "10.0.0.1:3", 4000000000u, 111);
	ASSERT_EQ(0, merge_both(self));
	EXPECT_FALSE(self->sum.complete);
	EXPECT_TRUE(has_reason(self, "10.0.0.2:4 - 10.0.0.1:3 of member b/two: more than one"));
}

/* Both ends in one member, IPv6, and nothing else. */
TEST_F(snap, loopback)
{
	const char *dirs[] = { self->a.dir };

	add_cut(&self->a, 20, "[::1]:5", "[::1]:6", 1000, 2000);
	set_out(&self->a, 0, 10);
	set_in(&self->a, 0, 0, 0);
	add_data(&self->a, "sendq", 0, 10);
	add_cut(&self->a, 21, "[::1]:6", "[::1]:5", 2000, 1000);
	set_in(&self->a, 4, 10, 10);
	add_data(&self->a, "recvq", 4, 6);
	json_array_remove(get(self->a.member, "channels"), 0);
	craft_write(&self->a);
	EXPECT_EQ(1, merge_ready(dirs, 1));
	ASSERT_EQ(0, merge_list(self, dirs, 1, NULL)) TH_LOG("%s", self->said);
	EXPECT_TRUE(self->sum.complete) has_reason(self, "?");
	EXPECT_EQ(2, self->sum.channels);
	EXPECT_TRUE(file_is(self->snap, "channels/[::1]:5-[::1]:6.bin", 4, 10));
	EXPECT_EQ(0, check(self)) TH_LOG("%s", self->said);
}

/* A socket that is connected to itself is one channel. */
TEST_F(snap, self_connected)
{
	add_cut(&self->a, 20, "127.0.0.1:5", "127.0.0.1:5", 1000, 1000);
	set_out(&self->a, 0, 10);
	set_in(&self->a, 4, 10, 10);
	add_data(&self->a, "recvq", 4, 6);
	ASSERT_EQ(0, merge_both(self));
	EXPECT_TRUE(self->sum.complete) has_reason(self, "?");
	EXPECT_EQ(3, self->sum.channels);
	EXPECT_EQ(56, self->sum.bytes);
}

/* Two connections in turn with the same addresses: two files. */
TEST_F(snap, addresses_used_again)
{
	add_cut(&self->a, 19, "10.0.0.1:1000", "10.0.0.2:2000", 1, 2);
	add_cut(&self->b, 9, "10.0.0.2:2000", "10.0.0.1:1000", 2, 1);
	ASSERT_EQ(0, merge_both(self));
	EXPECT_TRUE(self->sum.complete);
	EXPECT_EQ(4, self->sum.channels);
	EXPECT_TRUE(file_is(self->snap, "channels/10.0.0.1:1000-10.0.0.2:2000.2.bin", 0, 0));
	EXPECT_EQ(0, check(self)) TH_LOG("%s", self->said);
}

TEST_F(snap, many_windows)
{
	const uint64_t far = (1ull << 33) + 5, len = 3 << 20;
	uint64_t at;

	json_array_clear(get(self->a.cut, "data"));
	json_array_clear(get(self->b.cut, "data"));
	set_out(&self->a, far, far + len);
	set_in(&self->b, far, far, far + len);
	for (at = 0; at < len; at += 100000)
		add_data(&self->b, "log", far + at, len - at < 130001 ? len - at : 130001);
	ASSERT_EQ(0, merge_both(self)) TH_LOG("%s", self->said);
	EXPECT_TRUE(self->sum.complete) has_reason(self, "?");
	EXPECT_TRUE(file_is(self->snap, "channels/10.0.0.1:1000-10.0.0.2:2000.bin", far, far + len));
	EXPECT_EQ(0, check(self)) TH_LOG("%s", self->said);
}

static void set_name(json_t *member, const char *name)
{
	set(member, "name", json_string(name));
}

TEST_F(snap, hostile_member_names)
{
	static const char *const names[] = { "../two", "/etc", "..", ".", "", "a/b",
					     "a b", "x\ny", ".two",
					     "0123456789012345678901234567890123456789" };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		set_name(self->b.member, names[i]);
		EXPECT_REFUSED("\"name\" is not valid");
	}
	set(self->b.member, "name", json_stringn("two\0x", 5));
	EXPECT_REFUSED("fragment.json");
}

TEST_F(snap, hostile_node_names)
{
	static const char *const names[] = { "../b", "/b", "..", "", "a/b" };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		set(self->b.root, "node", json_string(names[i]));
		EXPECT_REFUSED("\"node\" is not valid");
	}
}

TEST_F(snap, hostile_files)
{
	static const char *const files[] = { "../fa/one/17.sendq.bin", "/etc/passwd",
					     "two/../two/5.recvq.bin", "two/6.recvq.bin",
					     "two/5.log.bin", "" };
	json_t *piece = json_array_get(get(self->b.cut, "data"), 0);
	size_t i;

	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		set(piece, "file", json_string(files[i]));
		EXPECT_REFUSED("is not \"two/5.recvq.bin\"");
	}
}

TEST_F(snap, hostile_core)
{
	set(self->b.member, "core", json_string("/etc/shadow"));
	EXPECT_REFUSED("core file \"/etc/shadow\" is not \"two/core\"");
	set(self->b.member, "core", json_string("two/core"));
	EXPECT_REFUSED("core: No such file");
}

TEST_F(snap, hostile_addresses)
{
	static const char *const addrs[] = { "10.0.0.2", "10.0.0.2:65536", "10.0.0.2:+5",
					     "10.0.0.2:05", "../../x:5", "10.0.2:5", "[::1]:5",
					     "10.0.0.2:5/..", ":5", "", "10.0.0.2:-1",
					     "010.0.0.2:5" };
	size_t i;

	for (i = 0; i < sizeof(addrs) / sizeof(addrs[0]); i++) {
		set(self->b.cut, "local", json_string(addrs[i]));
		EXPECT_REFUSED("is not an address with a port");
	}
	set(self->b.cut, "family", json_string("ipv6"));
	set(self->b.cut, "remote", json_string("[::2]:1"));
	set(self->b.cut, "local", json_string("[0::1]:5"));
	EXPECT_REFUSED("is not an address with a port");
	set(self->b.cut, "local", json_string("["));
	EXPECT_REFUSED("is not an address with a port");
}

TEST_F(snap, hostile_links)
{
	const char *dirs[] = { self->a.dir, self->b.dir };
	char path[512], other[512];

	craft_write(&self->a);
	craft_write(&self->b);
	snprintf(path, sizeof(path), "%s/two/5.recvq.bin", self->b.dir);
	snprintf(other, sizeof(other), "%s/two/5.log.bin", self->b.dir);
	ASSERT_EQ(0, unlink(path) || symlink("/etc/passwd", path));
	EXPECT_EQ(-1, merge_list(self, dirs, 2, NULL));
	EXPECT_NE(NULL, strstr(self->said, "symbolic link"));
	ASSERT_EQ(0, unlink(path) || mkfifo(path, 0600));
	EXPECT_EQ(-1, merge_list(self, dirs, 2, NULL));
	EXPECT_NE(NULL, strstr(self->said, "not a regular file"));
	ASSERT_EQ(0, unlink(path) || mkdir(path, 0700));
	EXPECT_EQ(-1, merge_list(self, dirs, 2, NULL));
	EXPECT_NE(NULL, strstr(self->said, "not a regular file"));

	snprintf(path, sizeof(path), "%s/two", self->b.dir);
	snprintf(other, sizeof(other), "%s/elsewhere", self->top);
	ASSERT_EQ(0, rename(path, other) || symlink(other, path));
	EXPECT_EQ(-1, merge_list(self, dirs, 2, NULL));
	EXPECT_NE(NULL, strstr(self->said, "directory two"));

	snprintf(path, sizeof(path), "%s/fragment.json", self->b.dir);
	snprintf(other, sizeof(other), "%s/json", self->top);
	ASSERT_EQ(0, rename(path, other) || symlink(other, path));
	EXPECT_EQ(-1, merge_list(self, dirs, 2, NULL));
	EXPECT_NE(NULL, strstr(self->said, "fragment.json is a symbolic link"));
}

TEST_F(snap, hostile_numbers)
{
	static const json_int_t bad[] = { -1, INT64_MIN, INT64_MAX, 1ll << 61 };
	static const char *const keys[] = { "offset", "length", "pos" };
	json_t *piece = json_array_get(get(self->b.cut, "data"), 0), *old;
	size_t i, k;

	for (k = 0; k < 3; k++) {
		old = json_deep_copy(get(piece, keys[k]));
		for (i = 0; i < 4; i++) {
			set(piece, keys[k], json_integer(bad[i]));
			EXPECT_REFUSED("is not valid");
		}
		set(piece, keys[k], old);
	}
	set(piece, "length", json_integer(1ll << 32));
	EXPECT_REFUSED("5.recvq.bin has 20 bytes, not 4294967296");
	set(piece, "length", json_integer(21));
	EXPECT_REFUSED("5.recvq.bin has 20 bytes, not 21");
	set(piece, "length", json_integer(20));
	set(self->b.cut, "isn", json_integer(1ll << 32));
	EXPECT_REFUSED("\"isn\" is not valid");
}

TEST_F(snap, hostile_threads)
{
	static const char *const args[] = { "3", "0x", "0xg", "-0x1", "0x11112222333344445", "" };
	json_t *call = get(json_array_get(get(self->b.member, "threads"), 0), "syscall");
	size_t i;

	for (i = 0; i < sizeof(args) / sizeof(args[0]); i++) {
		json_array_set_new(get(call, "args"), 2, json_string(args[i]));
		EXPECT_REFUSED("an argument is not hexadecimal");
	}
	json_array_remove(get(call, "args"), 2);
	EXPECT_REFUSED("not six arguments");
}

/* Beyond 63 bits not even JSON gets there. */
TEST_F(snap, offset_near_64_bits)
{
	const char *dirs[] = { self->a.dir, self->b.dir };
	char path[512], *text, *at;
	FILE *f;

	craft_write(&self->a);
	text = json_dumps(self->b.root, 0);
	at = strstr(text, "\"sent\": 30");
	ASSERT_NE(NULL, at);
	snprintf(path, sizeof(path), "%s/fragment.json", self->b.dir);
	f = fopen(path, "w");
	fprintf(f, "%.*s\"sent\": 18446744073709551610%s", (int)(at - text), text,
		at + 10);
	fclose(f);
	free(text);
	EXPECT_EQ(-1, merge_list(self, dirs, 2, NULL));
	EXPECT_NE(NULL, strstr(self->said, "too big")) TH_LOG("%s", self->said);
}

TEST_F(snap, duplicates)
{
	json_t *again = json_deep_copy(self->b.cut);

	json_array_append(get(self->b.member, "channels"), again);
	EXPECT_REFUSED("channel 5 appears twice");
	json_array_remove(get(self->b.member, "channels"), 1);
	json_decref(again);
	json_array_append_new(get(self->b.root, "members"), json_deep_copy(self->b.member));
	EXPECT_REFUSED("member two appears twice");
	json_array_remove(get(self->b.root, "members"), 1);
	json_array_append(get(self->b.cut, "data"), json_array_get(get(self->b.cut, "data"), 0));
	EXPECT_REFUSED("share bytes of the recvq file");
}

TEST_F(snap, occupied)
{
	char path[256];

	ASSERT_EQ(0, mkdir(self->snap, 0700));
	ASSERT_EQ(0, merge_both(self)) TH_LOG("%s", self->said);
	EXPECT_EQ(-1, merge_both(self));
	EXPECT_NE(NULL, strstr(self->said, "exists and is not empty"));
	EXPECT_EQ(0, check(self));
	craft_remove(self->snap);
	ASSERT_EQ(0, symlink("/tmp", self->snap));
	EXPECT_EQ(-1, merge_both(self));
	EXPECT_NE(NULL, strstr(self->said, "is not a directory"));
	snprintf(path, sizeof(path), "%s", self->snap);
	snprintf(self->snap, sizeof(self->snap), "%s/no/where", self->top);
	EXPECT_EQ(-1, merge_both(self));
	EXPECT_NE(NULL, strstr(self->said, "No such file"));
	EXPECT_EQ(2 + 4, count_files(self->top));
}

/* What others may write is copied, the rest is linked. */
TEST_F(snap, links)
{
	char path[512];
	struct stat st;

	snprintf(path, sizeof(path), "%s/two/5.log.bin", self->b.dir);
	ASSERT_EQ(0, chmod(path, 0666));
	ASSERT_EQ(0, merge_both(self));
	snprintf(path, sizeof(path), "%s/nodes/b/two/5.log.bin", self->snap);
	ASSERT_EQ(0, stat(path, &st));
	EXPECT_EQ(1, st.st_nlink);
	EXPECT_EQ(0600, st.st_mode & 07777);
	snprintf(path, sizeof(path), "%s/nodes/b/two/5.ofo.bin", self->snap);
	ASSERT_EQ(0, stat(path, &st));
	EXPECT_EQ(2, st.st_nlink);
}

TEST_F(snap, check_sees_a_changed_channel)
{
	const char *name = "channels/10.0.0.1:1000-10.0.0.2:2000.bin";
	char path[512];

	ASSERT_EQ(0, merge_both(self));
	poke(self->snap, name, 7, 0);
	EXPECT_EQ(1, check(self));
	EXPECT_NE(NULL, strstr(self->said, "differs from what the fragments hold"));
	poke(self->snap, name, 7, stream_byte(57));
	EXPECT_EQ(0, check(self));
	poke(self->snap, name, 50, 0);
	EXPECT_EQ(1, check(self));
	snprintf(path, sizeof(path), "%s/%s", self->snap, name);
	ASSERT_EQ(0, truncate(path, 49));
	EXPECT_EQ(1, check(self));
	ASSERT_EQ(0, unlink(path));
	EXPECT_EQ(1, check(self));
	EXPECT_NE(NULL, strstr(self->said, "is missing"));
}

TEST_F(snap, check_sees_what_does_not_belong)
{
	char path[512];

	ASSERT_EQ(0, merge_both(self));
	snprintf(path, sizeof(path), "%s/channels/x.bin", self->snap);
	close(open(path, O_WRONLY | O_CREAT, 0600));
	EXPECT_EQ(1, check(self));
	EXPECT_NE(NULL, strstr(self->said, "belongs to no channel"));
	unlink(path);
	snprintf(path, sizeof(path), "%s/nodes/c", self->snap);
	mkdir(path, 0700);
	EXPECT_EQ(1, check(self));
}

TEST_F(snap, check_misses_a_node)
{
	char path[512];

	ASSERT_EQ(0, merge_both(self));
	snprintf(path, sizeof(path), "%s/nodes/b", self->snap);
	craft_remove(path);
	EXPECT_EQ(3, check(self));
	EXPECT_NE(NULL, strstr(self->said, "incomplete: the fragment of node b is missing"));
	snprintf(path, sizeof(path), "%s/nodes/a", self->snap);
	craft_remove(path);
	EXPECT_EQ(3, check(self));
	EXPECT_NE(NULL, strstr(self->said, "node a is missing (and 1 more)"));
}

/* The verdict in the manifest counts for nothing. */
TEST_F(snap, check_does_not_believe_the_manifest)
{
	char path[512];
	json_t *root;

	set_flags(&self->a, "closed", NULL, NULL);
	ASSERT_EQ(0, merge_both(self));
	root = manifest(self);
	set(root, "verdict", json_string("complete"));
	set(root, "reasons", json_array());
	snprintf(path, sizeof(path), "%s/manifest.json", self->snap);
	json_dump_file(root, path, JSON_INDENT(2));
	EXPECT_EQ(1, check(self));
	EXPECT_NE(NULL, strstr(self->said, "does not say what the fragments say"));
	json_decref(root);
}

TEST_F(snap, check_sees_what_is_behind_the_manifest)
{
	char path[512];
	FILE *f;

	ASSERT_EQ(0, merge_both(self));
	snprintf(path, sizeof(path), "%s/manifest.json", self->snap);
	f = fopen(path, "a");
	fwrite("\0x", 1, 2, f);
	fclose(f);
	EXPECT_EQ(1, check(self));
	EXPECT_NE(NULL, strstr(self->said, "zero byte")) TH_LOG("%s", self->said);
}

TEST_F(snap, check_sees_a_changed_fragment)
{
	ASSERT_EQ(0, merge_both(self));
	poke(self->snap, "nodes/b/two/5.log.bin", 12, 0);
	EXPECT_EQ(1, check(self));
	EXPECT_NE(NULL, strstr(self->said, "differs at byte 82"));
}

TEST_F(snap, commands)
{
	EXPECT_EQ(2, command(self, cmd_merge, "merge", self->a.dir, NULL));
	EXPECT_EQ(2, command(self, cmd_merge, "merge", self->a.dir, "--expect=a"));
	EXPECT_EQ(2, command(self, cmd_check, "check", "consistency", NULL));
	EXPECT_EQ(2, command(self, cmd_check, "check", "luck", self->snap));
	EXPECT_EQ(4, command(self, cmd_check, "check", "consistency", self->top));
	EXPECT_EQ(4, command(self, cmd_show, "show", self->top, NULL));
	EXPECT_EQ(2, command(self, cmd_show, "show", self->top, "-x"));
	EXPECT_EQ(0, command(self, cmd_show, "show", "--help", NULL));
}

TEST_HARNESS_MAIN
