// SPDX-License-Identifier: GPL-2.0-only
/* The histogram of latencies. */
#include "kvpool_kunit.h"
#include "core/latency.c"

static void buckets_follow_one_another(struct kunit *test)
{
	u32 i;

	KUNIT_EXPECT_EQ(test, kvp_latency_bucket(0), 0u);
	for (i = 0; i + 1 < KVP_LATENCY_BUCKETS; i++) {
		u64 bound = kvp_latency_bound(i);

		KUNIT_ASSERT_EQ(test, kvp_latency_bucket(bound - 1), i);
		KUNIT_ASSERT_EQ(test, kvp_latency_bucket(bound), i + 1);
	}
	KUNIT_EXPECT_EQ(test, kvp_latency_bucket(U64_MAX), KVP_LATENCY_BUCKETS - 1);
	KUNIT_EXPECT_EQ(test, kvp_latency_bound(KVP_LATENCY_BUCKETS - 1), U64_MAX);
}

static void a_bucket_is_a_quarter_wide(struct kunit *test)
{
	u32 i;

	for (i = 1; i + 1 < KVP_LATENCY_BUCKETS; i++) {
		u64 from = kvp_latency_bound(i - 1);

		KUNIT_ASSERT_LE(test, 4 * (kvp_latency_bound(i) - from), from);
	}
	/* an hour has a bucket of its own */
	KUNIT_EXPECT_LT(test, kvp_latency_bucket(3600ull * NSEC_PER_SEC), KVP_LATENCY_BUCKETS - 1);
}

static void what_is_added_is_counted_once(struct kunit *test)
{
	struct kvp_latency *l = kunit_kzalloc(test, sizeof(*l), GFP_KERNEL);
	u64 total = 0;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, l);
	for (i = 0; i < 1000; i++)
		kvp_latency_add(l, i * 1000ull);
	for (i = 0; i < KVP_LATENCY_BUCKETS; i++)
		total += atomic64_read(&l->count[i]);
	KUNIT_EXPECT_EQ(test, total, 1000ull);
	KUNIT_EXPECT_EQ(test, (u64)atomic64_read(&l->sum), 499500ull * 1000);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(buckets_follow_one_another),
	KUNIT_CASE(a_bucket_is_a_quarter_wide),
	KUNIT_CASE(what_is_added_is_counted_once),
	{}
};

static struct kunit_suite suite = {
	.name = "kvpool_latency",
	.test_cases = cases,
};
kunit_test_suite(suite);
