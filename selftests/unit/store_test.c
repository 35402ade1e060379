// SPDX-License-Identifier: GPL-2.0
/* What is pruned from the store, what is not, and which descriptors are seen. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "crafted.h"
#include "kselftest_harness.h"

#include "image.h"
#include "image_scan.h"
#include "store.h"
#include "util.h"

FIXTURE(store)
{
	char top[64];
};

FIXTURE_SETUP(store)
{
	strcpy(self->top, "/tmp/distsnap-store.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->top));
}

FIXTURE_TEARDOWN(store)
{
	craft_remove(self->top);
}

static char *path_of(struct _test_data_store *self, uint32_t epoch,
		     const char *node)
{
	return xasprintf("%s/g/%u/%s", self->top, epoch, node);
}

static void put(struct _test_data_store *self, uint32_t epoch, const char *node)
{
	char *path = path_of(self, epoch, node);
	char *file = xasprintf("%s/fragment.json", path);

	mkdirs(path);
	close(open(file, O_WRONLY | O_CREAT, 0600));
	free(file);
	free(path);
}

static bool has(struct _test_data_store *self, uint32_t epoch, const char *node)
{
	char *path = path_of(self, epoch, node);
	bool there = !access(path, F_OK);

	free(path);
	return there;
}

TEST_F(store, own_fragments)
{
	uint32_t i;

	for (i = 1; i <= 5; i++)
		put(self, i, "a");
	put(self, 2, "b");
	EXPECT_EQ(0, store_prune("t", self->top, "g", "a", 0, 5));
	EXPECT_EQ(0, store_prune("t", self->top, "g", "a", 5, 5));
	EXPECT_EQ(2, store_prune("t", self->top, "g", "a", 2, 4));
	EXPECT_FALSE(has(self, 1, ""));
	EXPECT_FALSE(has(self, 2, "a"));
	EXPECT_TRUE(has(self, 2, "b"));
	EXPECT_TRUE(has(self, 3, "a"));
	EXPECT_TRUE(has(self, 4, "a"));
	EXPECT_TRUE(has(self, 5, "a"));
}

TEST_F(store, whole_epochs)
{
	put(self, 7, "a");
	put(self, 8, "a");
	put(self, 9, "b");
	mkdirs(xasprintf("%s/g/x", self->top));
	mkdirs(xasprintf("%s/g/07", self->top));
	EXPECT_EQ(1, store_prune("t", self->top, "g", NULL, 1, 8));
	EXPECT_FALSE(has(self, 7, ""));
	EXPECT_TRUE(has(self, 8, "a"));
	EXPECT_TRUE(has(self, 9, "b"));
	EXPECT_EQ(0, store_prune("t", self->top, "nosuch", NULL, 1, 8));
	EXPECT_FALSE(access(xasprintf("%s/g/07", self->top), F_OK));
}

/* Epochs are serial numbers. */
TEST_F(store, wraps)
{
	put(self, UINT32_MAX, "a");
	put(self, UINT32_MAX - 1, "a");
	put(self, 1, "a");
	put(self, 2, "a");
	EXPECT_EQ(1, store_prune("t", self->top, "g", "a", 2, 1));
	EXPECT_FALSE(has(self, UINT32_MAX - 1, "a"));
	EXPECT_TRUE(has(self, UINT32_MAX, "a"));
	EXPECT_TRUE(has(self, 2, "a"));
}

/* Nothing from before may become a part of a snapshot of the same number. */
TEST_F(store, what_is_old_is_not_used_again)
{
	const struct timespec past[] = { { .tv_sec = time(NULL) - STORE_FRESH - 5 },
					 { .tv_sec = time(NULL) - STORE_FRESH - 5 } };
	char *path;

	EXPECT_EQ(7, store_newest(self->top, "g", 7));
	put(self, 8, "b");
	put(self, 9, "b");
	/* Another initiator's, perhaps of this very snapshot. */
	EXPECT_EQ(7, store_newest(self->top, "g", 7));
	path = xasprintf("%s/g/8", self->top);
	ASSERT_EQ(0, utimensat(AT_FDCWD, path, past, 0));
	free(path);
	EXPECT_EQ(8, store_newest(self->top, "g", 7));
	EXPECT_EQ(8, store_newest(self->top, "g", 0));
	EXPECT_EQ(11, store_newest(self->top, "g", 11));
}

TEST_F(store, what_is_merged_stays)
{
	char *dir = path_of(self, 2, ""), *held;
	uint32_t i;

	for (i = 1; i <= 5; i++)
		put(self, i, "a");
	held = store_hold(dir);
	EXPECT_EQ(1, store_prune("t", self->top, "g", "a", 1, 5));
	EXPECT_FALSE(has(self, 1, ""));
	EXPECT_TRUE(has(self, 2, "a"));
	EXPECT_TRUE(has(self, 3, "a"));
	store_release(held);
	EXPECT_EQ(3, store_prune("t", self->top, "g", NULL, 1, 5));
	EXPECT_FALSE(has(self, 2, ""));
	EXPECT_TRUE(has(self, 5, "a"));
	free(dir);
}

/* A pause that is nearly over does not hide the few that most have. */
TEST(descriptors_late)
{
	struct image *img = image_new();
	int fds[20][2], i, procfd;

	for (i = 0; i < 20; i++)
		ASSERT_EQ(0, pipe(fds[i]));
	procfd = open("/proc/self", O_PATH | O_DIRECTORY);
	scan_fds(img, procfd, 1);
	EXPECT_STREQ("", img->fds_cut);
	EXPECT_LE(40, img->n_fds);
	for (i = 0; i < 20; i++) {
		close(fds[i][0]);
		close(fds[i][1]);
	}
	close(procfd);
	image_free(img);
}

TEST(descriptors_thousands)
{
	struct image *img = image_new();
	int procfd, i;

	for (i = 0; i < 2000; i++)
		dup2(2, 1000 + i);
	procfd = open("/proc/self", O_PATH | O_DIRECTORY);
	scan_fds(img, procfd, 1);
	if (fcntl(2999, F_GETFD) >= 0)
		EXPECT_NE(NULL, strstr(img->fds_cut, "more than the 1024 file descriptors")) TH_LOG("%s", img->fds_cut);
	image_free(img);
}

TEST(descriptors_of_nobody)
{
	struct image *img = image_new();

	image_describe(img, 0x7ffffff0);
	EXPECT_NE(NULL, strstr(img->fds_cut, "the process is gone")) TH_LOG("%s", img->fds_cut);
	image_free(img);
}

TEST_HARNESS_MAIN
