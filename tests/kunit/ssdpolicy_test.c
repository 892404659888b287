// SPDX-License-Identifier: GPL-2.0-only
/* The policy of the SSD cache, in a kernel. tests/cache measures its quality. */
#include <linux/gfp.h>
#include <linux/slab.h>

#include "kvpool_kunit.h"

#include "policy/ghost.c"
#include "policy/ssdpolicy.c"
#include "policy/runs.c"
#include "policy/throttle.c"

#define CAPACITY	4000u
#define SEGMENT		40u

static int make_policy(struct kunit *test)
{
	struct kvp_ssd_policy *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, p);
	KUNIT_ASSERT_EQ(test, kvp_ssd_init(p, CAPACITY, SEGMENT, 50, 0, 0x5eed, GFP_KERNEL), 0);
	test->priv = p;
	return 0;
}

static void drop_policy(struct kunit *test)
{
	if (!test->priv)
		return;
	KUNIT_EXPECT_NULL(test, kvp_ssd_check(test->priv));
	kvp_ssd_exit(test->priv);
}

static void the_third_sighting_lets_in(struct kunit *test)
{
	struct kvp_ssd_state st = { 0 };
	u64 key = (1ull << KVP_INDEX_KEY_BITS) - 1;

	KUNIT_EXPECT_EQ(test, kvp_ssd_admit(test->priv, key, KVP_ASK_AHEAD, &st), KVP_SSD_AHEAD);
	KUNIT_EXPECT_EQ(test, kvp_ssd_admit(test->priv, key, 0, &st), KVP_SSD_UNPROVEN);
	KUNIT_EXPECT_EQ(test, kvp_ssd_admit(test->priv, key, 0, &st), KVP_SSD_UNPROVEN);
	KUNIT_EXPECT_EQ(test, kvp_ssd_admit(test->priv, key, 0, &st), KVP_SSD_ADMIT);
	KUNIT_EXPECT_EQ(test, kvp_ssd_admit(test->priv, 7, KVP_ASK_META, &st), KVP_SSD_ADMIT);
}

static void fills_keep_to_their_budget(struct kunit *test)
{
	struct kvp_ssd_state st = { .unused = CAPACITY };
	u32 day, n, filled;

	for (day = 0; day < 3; day++) {
		filled = 0;
		for (n = 0; n < CAPACITY; n++)
			filled += kvp_ssd_admit(test->priv, n, 0, &st) == KVP_SSD_ADMIT;
		KUNIT_EXPECT_EQ(test, filled, CAPACITY / 2);
		st.now += DAY;
	}
}

static void what_is_dirty_stays(struct kunit *test)
{
	struct kvp_index_entry *e = kunit_kcalloc(test, SEGMENT, sizeof(*e), GFP_KERNEL);
	struct kvp_ssd_state st = { 0 };
	bool keep[SEGMENT];
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, e);
	for (i = 0; i < SEGMENT; i++) {
		e[i].dirty = i % 2;
		e[i].hits = i == 4 ? 1 : 0;
	}
	KUNIT_EXPECT_EQ(test, kvp_ssd_reinsert(test->priv, e, SEGMENT, &st, keep), SEGMENT / 2 + 1);
	for (i = 0; i < SEGMENT; i++)
		KUNIT_EXPECT_EQ(test, keep[i], i % 2 || i == 4);
}

static void the_largest_cache_does_not_overflow(struct kunit *test)
{
	u64 full = 10000000, most = KVP_INDEX_MAX_PLACES;

	KUNIT_EXPECT_EQ(test, kvp_ssd_destage(most, 0, most / 10 * 3, full) / 1000,
			full / 2 / 1000 - 1);
	KUNIT_EXPECT_EQ(test, kvp_ssd_destage(most, 0, most, full), full);
	KUNIT_EXPECT_EQ(test, kvp_throttle_rate(most, most, full), 0);
	KUNIT_EXPECT_EQ(test, kvp_throttle_rate(most, most / 2, full), ~0ull);
}

static void a_stream_grows(struct kunit *test)
{
	struct kvp_runs *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, s);
	kvp_runs_init(s);
	for (i = 0; i < 100; i++)
		KUNIT_EXPECT_EQ(test, kvp_run_note(s, 5000 + 8 * i, 8, false), 8 * (i + 1));
	KUNIT_EXPECT_EQ(test, kvp_run_note(s, 0, 8, false), 8);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(the_third_sighting_lets_in),
	KUNIT_CASE(fills_keep_to_their_budget),
	KUNIT_CASE(what_is_dirty_stays),
	KUNIT_CASE(the_largest_cache_does_not_overflow),
	KUNIT_CASE(a_stream_grows),
	{}
};

static struct kunit_suite suite = {
	.name = "kvpool_ssdpolicy",
	.init = make_policy,
	.exit = drop_policy,
	.test_cases = cases,
};
kunit_test_suite(suite);
