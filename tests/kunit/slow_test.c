// SPDX-License-Identifier: GPL-2.0-only
/* When the other legs of a parity1 make what a slow leg has. Verdicts: suite slow of tests/sim. */
#include "kvpool_kunit.h"
#include "policy/slow.c"

static void others_make_blocks_until_their_queue_lasts_as_long(struct kunit *test)
{
	u32 own;

	for (own = 0; own < 100; own++) {
		KUNIT_EXPECT_TRUE(test, kvp_slow_leaves_to_others(own, 10 * own + 9, true, 10));
		KUNIT_EXPECT_FALSE(test, kvp_slow_leaves_to_others(own, 10 * own + 10, true, 10));
	}
}

static void ssds_that_are_not_busy_make_blocks(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, kvp_slow_leaves_to_others(0, KVP_SLOW_IDLE - 1, false, 10));
	KUNIT_EXPECT_FALSE(test, kvp_slow_leaves_to_others(0, KVP_SLOW_IDLE, false, 10));
	KUNIT_EXPECT_TRUE(test, kvp_slow_leaves_to_others(9, 99, false, 10));
	KUNIT_EXPECT_FALSE(test, kvp_slow_leaves_to_others(9, 100, false, 10));
}

static void no_queue_is_too_long_to_count(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, kvp_slow_leaves_to_others(~0u, ~0u, true, 1000));
	KUNIT_EXPECT_FALSE(test, kvp_slow_leaves_to_others(0, ~0u, false, 1000));
}

static struct kunit_case cases[] = {
	KUNIT_CASE(others_make_blocks_until_their_queue_lasts_as_long),
	KUNIT_CASE(ssds_that_are_not_busy_make_blocks),
	KUNIT_CASE(no_queue_is_too_long_to_count),
	{}
};

static struct kunit_suite suite = {
	.name = "kvpool_slow",
	.test_cases = cases,
};
kunit_test_suite(suite);
