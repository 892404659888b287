// SPDX-License-Identifier: GPL-2.0-only
/* How background work yields to the host. */
#include "kvpool_kunit.h"
#include "policy/yield.c"

#define MS	1000000ull

static void a_host_that_was_never_seen_to_ask_is_quiet(struct kunit *test)
{
	struct kvp_yield y = { 0 };

	kvp_yield_begin(&y, 1000);
	KUNIT_EXPECT_FALSE(test, kvp_yield_busy(&y, 1000, 1, 50 * MS));
	KUNIT_EXPECT_FALSE(test, kvp_yield_busy(&y, 1000, 1000 * MS, 50 * MS));
}

static void a_host_is_busy_until_it_has_been_quiet_for_long(struct kunit *test)
{
	struct kvp_yield y = { 0 };

	kvp_yield_begin(&y, 7);
	KUNIT_EXPECT_TRUE(test, kvp_yield_busy(&y, 8, 1000 * MS, 50 * MS));
	KUNIT_EXPECT_TRUE(test, kvp_yield_busy(&y, 8, 1050 * MS - 1, 50 * MS));
	KUNIT_EXPECT_FALSE(test, kvp_yield_busy(&y, 8, 1050 * MS, 50 * MS));
	/* Two owners of one look may ask for different times. */
	KUNIT_EXPECT_TRUE(test, kvp_yield_busy(&y, 8, 1050 * MS, 500 * MS));
	/* Counters of processors are read one after the other: less is a change, too. */
	KUNIT_EXPECT_TRUE(test, kvp_yield_busy(&y, 5, 2000 * MS, 50 * MS));
}

static void the_host_gets_less_the_fuller_it_is(struct kunit *test)
{
	u32 full, seek, before;

	for (seek = 0; seek < 2; seek++)
		for (full = 0, before = KVP_YIELD_OTHERS; full <= 100; full++) {
			u32 now = kvp_yield_others(full, seek);

			KUNIT_EXPECT_LE(test, now, before);
			KUNIT_EXPECT_LE(test, before - now, 3u);
			before = now;
		}
	KUNIT_EXPECT_EQ(test, kvp_yield_others(50, true), KVP_YIELD_OTHERS);
	KUNIT_EXPECT_GT(test, kvp_yield_others(94, true), 0u);
	KUNIT_EXPECT_GE(test, kvp_yield_others(80, true), KVP_YIELD_OTHERS / 2);
	KUNIT_EXPECT_EQ(test, kvp_yield_others(95, true), 0u);
	KUNIT_EXPECT_EQ(test, kvp_yield_others(50, false), KVP_YIELD_OTHERS);
	KUNIT_EXPECT_GT(test, kvp_yield_others(74, false), 0u);
	KUNIT_EXPECT_EQ(test, kvp_yield_others(75, false), 0u);
}

static void a_rest_is_in_proportion_and_has_a_limit(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, kvp_yield_rest(MS, KVP_YIELD_OTHERS, 1), 31 * MS);
	KUNIT_EXPECT_EQ(test, kvp_yield_rest(MS, 16, 1), MS);
	KUNIT_EXPECT_EQ(test, kvp_yield_rest(MS, 0, 1), 0ull);
	KUNIT_EXPECT_EQ(test, kvp_yield_rest(100 * MS, KVP_YIELD_OTHERS, 1), 1000 * MS);
	KUNIT_EXPECT_EQ(test, kvp_yield_rest(~0ull, KVP_YIELD_OTHERS, 4), 4000 * MS);
}

static void a_walk_meets_fewer_than_one_request_in_a_hundred(struct kunit *test)
{
	u64 took, request = 4 * MS;

	/*
	 * It waits for a request, reads, and writes. In a rest the host gets an answer each time.
	 */
	took = 3 * request;
	KUNIT_EXPECT_GT(test, div64_u64(kvp_yield_rest_of_walk(took, 1), request), 100ull);
	KUNIT_EXPECT_EQ(test, kvp_yield_rest_of_walk(20 * MS, 1), 1000 * MS);
	KUNIT_EXPECT_EQ(test, kvp_yield_rest_of_walk(~0ull, 4), 4000 * MS);
	KUNIT_EXPECT_EQ(test, kvp_yield_rest_of_walk(0, 1), 0ull);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(a_host_that_was_never_seen_to_ask_is_quiet),
	KUNIT_CASE(a_host_is_busy_until_it_has_been_quiet_for_long),
	KUNIT_CASE(the_host_gets_less_the_fuller_it_is),
	KUNIT_CASE(a_rest_is_in_proportion_and_has_a_limit),
	KUNIT_CASE(a_walk_meets_fewer_than_one_request_in_a_hundred),
	{}
};

static struct kunit_suite suite = {
	.name = "kvpool_yield",
	.test_cases = cases,
};
kunit_test_suite(suite);
