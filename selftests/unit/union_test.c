// SPDX-License-Identifier: GPL-2.0
/* Links with tools/union.c. */
#include "../../tools/union.h"
#include "kselftest_harness.h"

static struct union_piece piece(uint64_t start, uint64_t end)
{
	return (struct union_piece){ .start = start, .end = end };
}

TEST(no_pieces_are_one_hole)
{
	struct union_holes h = union_holes(NULL, 0, 5, 9);

	EXPECT_EQ(4, h.bytes);
	EXPECT_EQ(5, h.first);
}

TEST(nothing_wanted_has_no_hole)
{
	struct union_piece p[] = { piece(2, 4) };

	EXPECT_EQ(0, union_holes(NULL, 0, 5, 5).bytes);
	EXPECT_EQ(0, union_holes(p, 1, 3, 3).bytes);
}

TEST(adjacent_pieces_cover)
{
	struct union_piece p[] = { piece(7, 9), piece(0, 3), piece(3, 7) };

	union_sort(p, 3);
	EXPECT_EQ(0, union_holes(p, 3, 0, 9).bytes);
	EXPECT_EQ(0, union_holes(p, 3, 1, 8).bytes);
}

TEST(holes_before_between_and_behind)
{
	struct union_piece p[] = { piece(20, 25), piece(10, 15), piece(11, 12) };
	struct union_holes h;

	union_sort(p, 3);
	h = union_holes(p, 3, 8, 30);
	EXPECT_EQ(2 + 5 + 5, h.bytes);
	EXPECT_EQ(8, h.first);
	h = union_holes(p, 3, 10, 22);
	EXPECT_EQ(5, h.bytes);
	EXPECT_EQ(15, h.first);
}

TEST(a_long_piece_hides_short_ones)
{
	struct union_piece p[] = { piece(0, 100), piece(5, 6), piece(50, 60) };

	union_sort(p, 3);
	EXPECT_EQ(0, union_holes(p, 3, 0, 100).bytes);
	EXPECT_EQ(1, union_holes(p, 3, 0, 101).bytes);
	EXPECT_EQ(100, union_holes(p, 3, 0, 101).first);
}

TEST(pieces_outside_count_nothing)
{
	struct union_piece p[] = { piece(0, 5), piece(90, 95), piece(7, 7) };

	union_sort(p, 3);
	EXPECT_EQ(80, union_holes(p, 3, 10, 90).bytes);
	EXPECT_EQ(10, union_holes(p, 3, 10, 90).first);
}

TEST(offsets_far_beyond_32_bits)
{
	uint64_t far = 1ull << 60;
	struct union_piece p[] = { piece(far, far + 3), piece(far + 5, far + 9) };
	struct union_holes h = union_holes(p, 2, far, far + 9);

	EXPECT_EQ(2, h.bytes);
	EXPECT_EQ(far + 3, h.first);
}

TEST(clip_to_the_window)
{
	struct union_piece p = piece(5, 15), q = piece(0, 10), r = piece(10, 10);
	struct union_window w;
	uint64_t from, to;

	union_begin(&w, 10, 20, NULL);
	EXPECT_TRUE(union_clip(&w, &p, &from, &to));
	EXPECT_EQ(10, from);
	EXPECT_EQ(15, to);
	EXPECT_FALSE(union_clip(&w, &q, &from, &to));
	EXPECT_FALSE(union_clip(&w, &r, &from, &to));
}

static bool put(struct union_window *w, uint64_t start, const char *text,
		uint64_t *where)
{
	return union_put(w, start, start + strlen(text),
			 (const uint8_t *)text, where);
}

TEST(overlaps_that_agree)
{
	uint8_t bytes[10];
	struct union_window w;
	uint64_t where;

	union_begin(&w, 100, 110, bytes);
	EXPECT_TRUE(put(&w, 100, "abcd", &where));
	EXPECT_TRUE(put(&w, 101, "bc", &where));
	EXPECT_TRUE(put(&w, 102, "cdefgh", &where));
	EXPECT_TRUE(put(&w, 108, "ij", &where));
	EXPECT_EQ(110, w.filled);
	EXPECT_EQ(0, memcmp(bytes, "abcdefghij", 10));
}

TEST(overlap_that_disagrees)
{
	uint8_t bytes[10];
	struct union_window w;
	uint64_t where = 0;

	union_begin(&w, 100, 110, bytes);
	EXPECT_TRUE(put(&w, 100, "abcdef", &where));
	EXPECT_FALSE(put(&w, 102, "cdXfgh", &where));
	EXPECT_EQ(104, where);
}

TEST(what_lies_in_a_hole_is_not_compared)
{
	uint8_t bytes[10];
	struct union_window w;
	uint64_t where = 0;

	memset(bytes, 'z', sizeof(bytes));
	union_begin(&w, 100, 110, bytes);
	EXPECT_TRUE(put(&w, 100, "ab", &where));
	EXPECT_TRUE(put(&w, 105, "fgh", &where));
	EXPECT_TRUE(put(&w, 106, "ghij", &where));
	EXPECT_FALSE(put(&w, 107, "hiX", &where));
	EXPECT_EQ(109, where);
}

/* Random cuts of one stream, in windows of every size, give the stream back. */
TEST(random_cuts)
{
	uint8_t stream[64], out[64];
	struct union_piece p[12];
	struct union_window w;
	uint64_t at, from, to, where;
	unsigned int round, i, size;

	srandom(1);
	for (i = 0; i < sizeof(stream); i++)
		stream[i] = random();
	for (round = 0; round < 2000; round++) {
		for (i = 0; i < 12; i++) {
			p[i].start = random() % 64;
			p[i].end = p[i].start + random() % (65 - p[i].start);
		}
		for (i = 0; i < 4; i++)	/* so that nothing is missing */
			p[i] = piece(16 * i, 16 * i + 16);
		union_sort(p, 12);
		ASSERT_EQ(0, union_holes(p, 12, 0, 64).bytes);
		size = 1 + random() % 64;
		for (at = 0; at < 64; at += size) {
			union_begin(&w, at, at + size < 64 ? at + size : 64,
				    out + at);
			for (i = 0; i < 12; i++)
				if (union_clip(&w, &p[i], &from, &to))
					ASSERT_TRUE(union_put(&w, from, to, stream + from, &where));
			ASSERT_EQ(w.end, w.filled);
		}
		ASSERT_EQ(0, memcmp(stream, out, 64));
	}
}

TEST_HARNESS_MAIN
