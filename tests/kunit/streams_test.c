// SPDX-License-Identifier: GPL-2.0-only
/* Detection of reads that belong to a long stream. */
#include "kvpool_kunit.h"
#include "policy/streams.c"

static int make_streams(struct kunit *test)
{
	test->priv = kunit_kzalloc(test, sizeof(struct kvp_streams), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, test->priv);
	return 0;
}

static void a_read_alone_is_as_long_as_it_is(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, kvp_streams_read(test->priv, 1000, 8), 8u);
	KUNIT_EXPECT_EQ(test, kvp_streams_read(test->priv, 0, 1), 1u);
}

static void reads_that_follow_one_another_add_up(struct kunit *test)
{
	u32 i;

	for (i = 0; i < 300; i++)
		KUNIT_ASSERT_EQ(test, kvp_streams_read(test->priv, 5000 + 4 * i, 4), 4 * (i + 1));
}

static void a_gap_or_a_step_back_begins_anew(struct kunit *test)
{
	kvp_streams_read(test->priv, 100, 4);
	KUNIT_EXPECT_EQ(test, kvp_streams_read(test->priv, 105, 4), 4u);
	KUNIT_EXPECT_EQ(test, kvp_streams_read(test->priv, 105, 4), 4u);
	KUNIT_EXPECT_EQ(test, kvp_streams_read(test->priv, 100, 4), 4u);
	KUNIT_EXPECT_EQ(test, kvp_streams_read(test->priv, 104, 1), 5u);
}

/* Two streams that are read alternately, far from one another, and at different places. */
static void streams_side_by_side_are_told_apart(struct kunit *test)
{
	u32 i, both = 0;

	for (i = 0; i < 64; i++) {
		both += kvp_streams_read(test->priv, 8 * i, 8) == 8 * (i + 1);
		both += kvp_streams_read(test->priv, (1ull << 30) + 8 * i, 8) == 8 * (i + 1);
	}
	/* Sometimes they meet in one place, and one starts again. */
	KUNIT_EXPECT_GE(test, both, 64u);
}

static void the_length_has_an_end(struct kunit *test)
{
	u64 at = 1ull << 40;
	u32 i, length = 0;

	for (i = 0; i < 5000; i++, at += 1024) {
		u32 next = kvp_streams_read(test->priv, at, 1024);

		KUNIT_ASSERT_GE(test, next, length);
		length = next;
	}
	KUNIT_EXPECT_EQ(test, length, (1u << 20) - 1);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(a_read_alone_is_as_long_as_it_is),
	KUNIT_CASE(reads_that_follow_one_another_add_up),
	KUNIT_CASE(a_gap_or_a_step_back_begins_anew),
	KUNIT_CASE(streams_side_by_side_are_told_apart),
	KUNIT_CASE(the_length_has_an_end),
	{}
};

static struct kunit_suite suite = {
	.name = "kvpool_streams",
	.init = make_streams,
	.test_cases = cases,
};
kunit_test_suite(suite);
