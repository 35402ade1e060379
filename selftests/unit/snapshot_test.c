// SPDX-License-Identifier: GPL-2.0
/* The rules of the algorithm, the module's own source. */
#include "kselftest_harness.h"

#include "../../kmod/option.c"
#include "../../kmod/snapshot.c"

FIXTURE(rules)
{
	struct ds_colour m;
	struct ds_ends c;
};

FIXTURE_SETUP(rules)
{
	memset(self, 0, sizeof(*self));
}

FIXTURE_TEARDOWN(rules)
{
}

static unsigned int hear(struct ds_colour *m, struct ds_ends *c, u8 flags,
			 u32 epoch, u32 anchor)
{
	struct ds_option opt = {
		.flags = flags, .group = 1, .epoch = epoch, .anchor = anchor,
	};

	return ds_receive(m, c, &opt);
}

static bool red(struct ds_colour *m, struct ds_ends *c, u32 epoch, u32 anchor,
		u32 end)
{
	struct ds_option opt = {
		.flags = DISTSNAP_OPT_MARKER, .group = 1, .epoch = epoch,
		.anchor = anchor,
	};

	return ds_is_red(m, c, &opt, end, false);
}

TEST(epochs_are_serial)
{
	EXPECT_TRUE(ds_epoch_after(1, 0));
	EXPECT_FALSE(ds_epoch_after(0, 1));
	EXPECT_FALSE(ds_epoch_after(0, 0));
	EXPECT_FALSE(ds_epoch_after(5, 5));
	EXPECT_TRUE(ds_epoch_after(1, 0xffffffff));
	EXPECT_EQ(1, ds_epoch_next(0xffffffff));
	EXPECT_EQ(1, ds_epoch_next(0));
}

/* Where it comes from nobody knows whether that was before or after. */
TEST_F(rules, a_reset_waits_while_its_receiver_is_recorded)
{
	EXPECT_FALSE(ds_is_red(&self->m, &self->c, NULL, 1, true));
	ASSERT_TRUE(ds_trigger(&self->m, 5));
	EXPECT_TRUE(ds_is_red(&self->m, &self->c, NULL, 1, true));
	EXPECT_FALSE(ds_is_red(&self->m, &self->c, NULL, 1, false));
	ds_publish(&self->m);
	EXPECT_FALSE(ds_is_red(&self->m, &self->c, NULL, 1, true));
}

TEST_F(rules, first_marker_triggers_and_holds)
{
	unsigned int act = hear(&self->m, &self->c, DISTSNAP_OPT_MARKER, 5, 1000);

	EXPECT_EQ(DS_ACT_CLOSED | DS_ACT_TRIGGER, act);
	EXPECT_TRUE(red(&self->m, &self->c, 5, 1000, 1001));
	EXPECT_FALSE(red(&self->m, &self->c, 5, 1000, 1000));
	ASSERT_TRUE(ds_trigger(&self->m, 5));
	EXPECT_FALSE(ds_trigger(&self->m, 5));
	EXPECT_TRUE(red(&self->m, &self->c, 5, 1000, 1001));
	/* Also without its option. */
	EXPECT_TRUE(ds_is_red(&self->m, &self->c, NULL, 1001, false));
	EXPECT_FALSE(ds_is_red(&self->m, &self->c, NULL, 1000, false));
	ds_arm(&self->m, &self->c, 77, false);
	ds_publish(&self->m);
	EXPECT_FALSE(red(&self->m, &self->c, 5, 1000, 1001));
}

TEST_F(rules, no_answer_before_recorded)
{
	struct ds_option opt = { 0 };

	hear(&self->m, &self->c, DISTSNAP_OPT_MARKER, 5, 1000);
	ds_trigger(&self->m, 5);
	EXPECT_FALSE(ds_compose(&self->m, &self->c, &opt));
	ds_arm(&self->m, &self->c, 77, false);
	EXPECT_EQ(0, hear(&self->m, &self->c, DISTSNAP_OPT_MARKER, 5, 1000));
	EXPECT_FALSE(ds_compose(&self->m, &self->c, &opt));
	EXPECT_TRUE(ds_is_gated(&self->m, &self->c, 78, false));
	EXPECT_TRUE(ds_is_gated(&self->m, &self->c, 1, true));
	EXPECT_FALSE(ds_is_gated(&self->m, &self->c, 77, false));
	ds_publish(&self->m);
	EXPECT_FALSE(ds_is_gated(&self->m, &self->c, 78, false));
	ASSERT_TRUE(ds_compose(&self->m, &self->c, &opt));
	EXPECT_EQ(DISTSNAP_OPT_MARKER | DISTSNAP_OPT_ACK, opt.flags);
	EXPECT_EQ(5, opt.epoch);
	EXPECT_EQ(77, opt.anchor);
}

/* "Recorded" alone is not "and your marker is in". */
TEST_F(rules, no_ack_without_the_marker)
{
	struct ds_option opt = { 0 };

	ds_trigger(&self->m, 5);
	ds_arm(&self->m, &self->c, 77, false);
	ds_publish(&self->m);
	ASSERT_TRUE(ds_compose(&self->m, &self->c, &opt));
	EXPECT_EQ(DISTSNAP_OPT_MARKER, opt.flags);
}

TEST_F(rules, only_its_own_ack_stops_a_marker)
{
	ds_trigger(&self->m, 5);
	ds_arm(&self->m, &self->c, 77, false);
	/* Not even the right one before the publication. */
	EXPECT_EQ(0, hear(&self->m, &self->c, DISTSNAP_OPT_ACK, 5, 0));
	ds_publish(&self->m);
	EXPECT_EQ(0, hear(&self->m, &self->c, DISTSNAP_OPT_ACK, 4, 0));
	EXPECT_EQ(0, hear(&self->m, &self->c, DISTSNAP_OPT_NAK, 4, 0));
	EXPECT_TRUE(ds_is_marking(&self->m, &self->c));
	EXPECT_EQ(DS_ACT_ACKED, hear(&self->m, &self->c, DISTSNAP_OPT_ACK, 5, 0));
	EXPECT_FALSE(ds_is_marking(&self->m, &self->c));
	EXPECT_EQ(0, hear(&self->m, &self->c, DISTSNAP_OPT_ACK, 5, 0));
}

TEST_F(rules, newer_ack_is_a_miss)
{
	ds_trigger(&self->m, 5);
	ds_arm(&self->m, &self->c, 77, false);
	ds_publish(&self->m);
	EXPECT_EQ(DS_ACT_MISSED, hear(&self->m, &self->c, DISTSNAP_OPT_ACK, 6, 0));
}

TEST_F(rules, late_markers_do_nothing)
{
	hear(&self->m, &self->c, DISTSNAP_OPT_MARKER, 5, 1000);
	ds_trigger(&self->m, 5);
	ds_publish(&self->m);
	EXPECT_EQ(DS_ACT_STALE, hear(&self->m, &self->c, DISTSNAP_OPT_MARKER, 4, 900));
	EXPECT_FALSE(red(&self->m, &self->c, 4, 900, 2000));
	EXPECT_EQ(DS_ACT_ANSWER, hear(&self->m, &self->c, DISTSNAP_OPT_MARKER, 5, 1000));
	EXPECT_EQ(DS_ACT_CONTRADICTED,
		  hear(&self->m, &self->c, DISTSNAP_OPT_MARKER, 5, 1001));
}

TEST_F(rules, an_abort_consumes_its_epoch)
{
	struct ds_option opt = { 0 };

	hear(&self->m, &self->c, DISTSNAP_OPT_MARKER, 5, 1000);
	ds_trigger(&self->m, 5);
	ds_arm(&self->m, &self->c, 77, false);
	ds_abort(&self->m);
	ds_disarm(&self->c);
	EXPECT_EQ(0, ds_answer_kept(&self->m, &self->c, 5));
	EXPECT_FALSE(red(&self->m, &self->c, 5, 1000, 2000));
	EXPECT_FALSE(ds_trigger(&self->m, 5));
	ASSERT_TRUE(ds_compose(&self->m, &self->c, &opt));
	EXPECT_EQ(DISTSNAP_OPT_NAK, opt.flags);
	EXPECT_EQ(5, opt.epoch);
	EXPECT_TRUE(ds_answer_waits(&self->m, &self->c));
	ds_said(&self->c, &opt);
	EXPECT_FALSE(ds_answer_waits(&self->m, &self->c));
	EXPECT_FALSE(ds_compose(&self->m, &self->c, &opt));
	/* The peer did not hear it. */
	EXPECT_EQ(DS_ACT_ANSWER, hear(&self->m, &self->c, DISTSNAP_OPT_MARKER, 5, 1000));
	EXPECT_TRUE(ds_compose(&self->m, &self->c, &opt));
}

TEST_F(rules, a_newer_marker_is_kept_during_a_recording)
{
	struct ds_option opt = { 0 };

	ds_trigger(&self->m, 5);
	EXPECT_EQ(DS_ACT_CLOSED, hear(&self->m, &self->c, DISTSNAP_OPT_MARKER, 6, 1000));
	EXPECT_TRUE(red(&self->m, &self->c, 6, 1000, 1001));
	ds_arm(&self->m, &self->c, 77, false);
	ds_publish(&self->m);
	EXPECT_EQ(6, ds_answer_kept(&self->m, &self->c, 5));
	EXPECT_FALSE(self->c.answer_due);
	EXPECT_TRUE(red(&self->m, &self->c, 6, 1000, 1001));
	ASSERT_TRUE(ds_trigger(&self->m, 6));
	/* Nothing is said about 6 before it is recorded. */
	ASSERT_TRUE(ds_compose(&self->m, &self->c, &opt));
	EXPECT_EQ(DISTSNAP_OPT_MARKER, opt.flags);
	EXPECT_EQ(5, opt.epoch);
}

TEST_F(rules, a_connection_joins_one_colour)
{
	EXPECT_EQ(DS_GO_ON, ds_level(&self->m, 0, false));
	EXPECT_EQ(DS_RECORD, ds_level(&self->m, 5, true));
	EXPECT_EQ(DS_SKIP, ds_level(&self->m, 5, false));
	ds_trigger(&self->m, 5);
	/* Not even one that is behind. */
	EXPECT_EQ(DS_WAIT, ds_level(&self->m, 0, false));
	EXPECT_EQ(DS_WAIT, ds_level(&self->m, 6, true));
	EXPECT_EQ(0, self->m.level);
	ds_publish(&self->m);
	EXPECT_EQ(5, self->m.level);
	EXPECT_EQ(DS_GO_ON, ds_level(&self->m, 5, true));
	EXPECT_EQ(DS_GO_ON, ds_level(&self->m, 4, true));
	EXPECT_EQ(DS_RECORD, ds_level(&self->m, 6, true));
	/* Skipped or given up, it lies behind as well. */
	ds_skip(&self->m, 6);
	EXPECT_EQ(DS_GO_ON, ds_level(&self->m, 6, true));
	ds_trigger(&self->m, 7);
	ds_abort(&self->m);
	EXPECT_EQ(DS_GO_ON, ds_level(&self->m, 7, true));
	EXPECT_EQ(7, self->m.level);
	EXPECT_EQ(5, self->m.recorded);
}

/* Nor is anything owed again for an epoch that was answered long ago. */
TEST_F(rules, answers_are_given_once)
{
	struct ds_option opt = { 0 };

	hear(&self->m, &self->c, DISTSNAP_OPT_MARKER, 5, 1000);
	ds_trigger(&self->m, 5);
	ds_arm(&self->m, &self->c, 77, false);
	ds_publish(&self->m);
	ds_answer_kept(&self->m, &self->c, 5);
	ASSERT_TRUE(ds_compose(&self->m, &self->c, &opt));
	ds_said(&self->c, &opt);
	EXPECT_FALSE(self->c.answer_due);

	ds_trigger(&self->m, 6);
	ds_arm(&self->m, &self->c, 99, true);
	ds_publish(&self->m);
	ds_answer_kept(&self->m, &self->c, 6);
	EXPECT_FALSE(self->c.answer_due);
	ASSERT_TRUE(ds_compose(&self->m, &self->c, &opt));
	EXPECT_EQ(DISTSNAP_OPT_MARKER | DISTSNAP_OPT_LIGHT, opt.flags);
	/* The peer still marks 5: our marker of 6 tells it. */
	hear(&self->m, &self->c, DISTSNAP_OPT_MARKER, 5, 1000);
	EXPECT_TRUE(self->c.answer_due);
	ds_said(&self->c, &opt);
	EXPECT_FALSE(self->c.answer_due);
}

TEST_F(rules, a_skipped_epoch_is_refused)
{
	struct ds_option opt = { 0 };

	ds_skip(&self->m, 500000);
	EXPECT_EQ(DS_ACT_CLOSED | DS_ACT_ANSWER,
		  hear(&self->m, &self->c, DISTSNAP_OPT_MARKER, 500000, 1000));
	EXPECT_FALSE(red(&self->m, &self->c, 500000, 1000, 2000));
	ASSERT_TRUE(ds_compose(&self->m, &self->c, &opt));
	EXPECT_EQ(DISTSNAP_OPT_NAK, opt.flags);
}

TEST_F(rules, sequence_numbers_wrap)
{
	hear(&self->m, &self->c, DISTSNAP_OPT_MARKER, 5, 0xfffffff0);
	EXPECT_TRUE(red(&self->m, &self->c, 5, 0xfffffff0, 0xfffffff1));
	EXPECT_TRUE(red(&self->m, &self->c, 5, 0xfffffff0, 5));
	EXPECT_FALSE(red(&self->m, &self->c, 5, 5, 0xfffffff0));
}

TEST_HARNESS_MAIN
