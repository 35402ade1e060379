// SPDX-License-Identifier: GPL-2.0
/* The codec of the TCP option, the module's own source. */
#include "kselftest_harness.h"

#include "../../kmod/option.c"

static const struct ds_option marker = {
	.flags = DISTSNAP_OPT_MARKER | DISTSNAP_OPT_ACK,
	.open = 15, .group = 7, .epoch = 0x80000001, .anchor = 0xfffffff0,
};

static const u8 stamps[12] = { 1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8 };

TEST(round_trip)
{
	struct ds_option got = { 0 };
	u8 wire[DISTSNAP_OPT_LEN];

	ds_option_encode(wire, &marker);
	ASSERT_EQ(1, ds_option_find(wire, sizeof(wire), &got));
	EXPECT_EQ(marker.flags, got.flags);
	EXPECT_EQ(marker.open, got.open);
	EXPECT_EQ(marker.group, got.group);
	EXPECT_EQ(marker.epoch, got.epoch);
	EXPECT_EQ(marker.anchor, got.anchor);
}

/* As the uapi header draws it, byte for byte. */
TEST(wire_format)
{
	static const u8 want[DISTSNAP_OPT_LEN] = {
		253, 16, 0xd1, 0x5a, 0x03, 0x1f, 0, 7,
		0x80, 0, 0, 1, 0xff, 0xff, 0xff, 0xf0,
	};
	u8 wire[DISTSNAP_OPT_LEN];

	ds_option_encode(wire, &marker);
	EXPECT_EQ(0, memcmp(want, wire, sizeof(wire)));
}

TEST(found_behind_others)
{
	u8 own[DISTSNAP_OPT_LEN], block[40];
	struct ds_option got;

	ds_option_encode(own, &marker);
	memcpy(block, stamps, sizeof(stamps));
	memcpy(block + 12, own, sizeof(own));
	EXPECT_EQ(1, ds_option_find(block, 28, &got));
	EXPECT_EQ(0, ds_option_find(block, 12, &got));
}

TEST(refused)
{
	struct ds_option got, opt;
	u8 w[2 * DISTSNAP_OPT_LEN];
	unsigned int i;

	ds_option_encode(w, &marker);
	/* Truncated anywhere: TCP stops reading there. */
	for (i = 0; i < DISTSNAP_OPT_LEN; i++)
		EXPECT_EQ(0, ds_option_find(w, i, &got));
	/* Twice. */
	ds_option_encode(w + DISTSNAP_OPT_LEN, &marker);
	EXPECT_EQ(-EINVAL, ds_option_find(w, sizeof(w), &got));
	/* Another experiment's. */
	w[2]++;
	EXPECT_EQ(1, ds_option_find(w, sizeof(w), &got));
	w[2]--;
	/* Another version, of any length. */
	w[5] = 0x2f;
	EXPECT_EQ(-EPROTONOSUPPORT, ds_option_find(w, DISTSNAP_OPT_LEN, &got));
	w[5] = 0x1f;
	/* A wrong length. */
	w[1] = 12;
	EXPECT_EQ(-EINVAL, ds_option_find(w, DISTSNAP_OPT_LEN, &got));

	for (i = 0; i < 256; i++) {
		static const u8 fine[] = {
			0x01, 0x02, 0x03, 0x04, 0x08, 0x10,
			0x21, 0x22, 0x23, 0x24, 0x28, 0x30,
		};
		bool ok = false;
		unsigned int k;

		for (k = 0; k < sizeof(fine); k++)
			ok |= i == fine[k];
		opt = marker;
		opt.flags = i;
		ds_option_encode(w, &opt);
		EXPECT_EQ(ok ? 1 : -EINVAL,
			  ds_option_find(w, DISTSNAP_OPT_LEN, &got)) {
			TH_LOG("flags 0x%02x", i);
		}
	}
	opt = marker;
	opt.epoch = 0;
	ds_option_encode(w, &opt);
	EXPECT_EQ(-EINVAL, ds_option_find(w, DISTSNAP_OPT_LEN, &got));
	opt = marker;
	opt.group = 0;
	ds_option_encode(w, &opt);
	EXPECT_EQ(-EINVAL, ds_option_find(w, DISTSNAP_OPT_LEN, &got));
}

/* A block as TCP writes it: time stamps and @blocks SACK blocks. */
static unsigned int established(u8 *out, unsigned int blocks)
{
	unsigned int i;

	memcpy(out, stamps, sizeof(stamps));
	if (!blocks)
		return 12;
	out[12] = 1;
	out[13] = 1;
	out[14] = 5;
	out[15] = 2 + 8 * blocks;
	for (i = 0; i < 8 * blocks; i++)
		out[16 + i] = i + 1;
	return 16 + 8 * blocks;
}

TEST(added)
{
	u8 own[DISTSNAP_OPT_LEN], opts[40], out[40];
	unsigned int blocks, len;
	struct ds_option got;
	int n;

	ds_option_encode(own, &marker);
	for (blocks = 0; blocks <= 3; blocks++) {
		len = established(opts, blocks);
		n = ds_option_add(out, opts, len, own);
		/* One SACK block fits beside time stamps, the newest. */
		EXPECT_EQ(blocks ? 36 : 28, n);
		EXPECT_EQ(1, ds_option_find(out, n, &got));
		EXPECT_EQ(0, memcmp(out + 16, stamps + 2, 10));
		if (blocks) {
			EXPECT_EQ(5, out[26]);
			EXPECT_EQ(10, out[27]);
			EXPECT_EQ(0, memcmp(out + 28, opts + 16, 8));
		}
	}
}

/* A segment may pass us twice: the newer word counts. */
TEST(replaced)
{
	u8 own[DISTSNAP_OPT_LEN], older[DISTSNAP_OPT_LEN], block[40], out[40];
	struct ds_option opt = marker, got;

	ds_option_encode(own, &marker);
	opt.epoch--;
	ds_option_encode(older, &opt);
	memcpy(block, older, sizeof(older));
	memcpy(block + 16, stamps, sizeof(stamps));
	ASSERT_EQ(28, ds_option_add(out, block, 28, own));
	ASSERT_EQ(1, ds_option_find(out, 28, &got));
	EXPECT_EQ(marker.epoch, got.epoch);
}

/* Whoever signs a header signs its length. */
TEST(signed_headers)
{
	static const u8 kinds[] = { 19, 29 };
	u8 out[DS_TCP_OPTIONS_MAX], own[DISTSNAP_OPT_LEN] = { 0 }, opts[20] = { 1, 1 };
	unsigned int i;

	opts[3] = 18;
	for (i = 0; i < 2; i++) {
		opts[2] = kinds[i];
		EXPECT_EQ(-EOPNOTSUPP, ds_option_add(out, opts, sizeof(opts), own));
	}
	opts[2] = 254;
	EXPECT_LT(0, ds_option_add(out, opts, sizeof(opts), own));
}

TEST(no_room)
{
	u8 own[DISTSNAP_OPT_LEN], out[40];
	/* Something as long as a signature, and time stamps. */
	u8 opts[40] = { 250, 18 };

	ds_option_encode(own, &marker);
	memcpy(opts + 18, stamps, sizeof(stamps));
	EXPECT_EQ(-ENOSPC, ds_option_add(out, opts, 30, own));
	opts[1] = 1;
	EXPECT_EQ(-EINVAL, ds_option_add(out, opts, 30, own));
	opts[1] = 60;
	EXPECT_EQ(-EINVAL, ds_option_add(out, opts, 30, own));
}

TEST_HARNESS_MAIN
