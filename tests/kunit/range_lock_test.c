// SPDX-License-Identifier: GPL-2.0-only
/* Locks on ranges of blocks: which exclude which, and that a waiter gets its lock. */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/kthread.h>

#include "kvpool_kunit.h"
#include "core/range_lock.c"

#define SOON	(10 * HZ)	/* enough for an emulated and busy machine */

struct pair {
	const char *name;
	u64 first, last;	/* wanted while 10 .. 19 is held */
	bool free;
};

static const struct pair pairs[] = {
	{ "the same", 10, 19, false },
	{ "inside", 12, 13, false },
	{ "around", 0, 100, false },
	{ "first block", 10, 10, false },
	{ "last block", 19, 19, false },
	{ "up to the first block", 0, 10, false },
	{ "from the last block", 19, 30, false },
	{ "just before", 0, 9, true },
	{ "just behind", 20, 29, true },
	{ "one block before", 9, 9, true },
	{ "one block behind", 20, 20, true },
	{ "the end of all", ~0ull, ~0ull, true },
	{ "everything", 0, ~0ull, false },
};
KUNIT_ARRAY_PARAM_DESC(pair, pairs, name);

static int make_locks(struct kunit *test)
{
	struct kvp_range_locks *locks = kunit_kzalloc(test, sizeof(*locks), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, locks);
	kvp_range_locks_init(locks);
	test->priv = locks;
	return 0;
}

static void ranges_that_overlap_exclude_each_other(struct kunit *test)
{
	const struct pair *p = test->param_value;
	struct kvp_range_locks *locks = test->priv;
	struct kvp_range held, wanted;

	KUNIT_ASSERT_TRUE(test, kvp_range_trylock(locks, &held, 10, 19));
	KUNIT_EXPECT_EQ(test, kvp_range_trylock(locks, &wanted, p->first, p->last), p->free);
}

static void a_range_is_free_after_unlock(struct kunit *test)
{
	const struct pair *p = test->param_value;
	struct kvp_range_locks *locks = test->priv;
	struct kvp_range held, wanted;

	KUNIT_ASSERT_TRUE(test, kvp_range_trylock(locks, &held, 10, 19));
	kvp_range_unlock(locks, &held);
	KUNIT_EXPECT_TRUE(test, kvp_range_trylock(locks, &wanted, p->first, p->last));
	kvp_range_unlock(locks, &wanted);
	KUNIT_EXPECT_TRUE(test, RB_EMPTY_ROOT(&locks->held.rb_root));
}

static void a_refused_range_is_not_held(struct kunit *test)
{
	struct kvp_range_locks *locks = test->priv;
	struct kvp_range held, refused, other;

	KUNIT_ASSERT_TRUE(test, kvp_range_trylock(locks, &held, 10, 19));
	KUNIT_ASSERT_FALSE(test, kvp_range_trylock(locks, &refused, 15, 25));
	KUNIT_EXPECT_TRUE(test, kvp_range_trylock(locks, &other, 20, 25));
}

static void many_ranges_are_held_at_once(struct kunit *test)
{
	struct kvp_range_locks *locks = test->priv;
	struct kvp_range *ranges = kunit_kcalloc(test, 200, sizeof(*ranges), GFP_KERNEL), wanted;
	u64 i;

	KUNIT_ASSERT_NOT_NULL(test, ranges);
	for (i = 0; i < 200; i++)
		KUNIT_ASSERT_TRUE(test, kvp_range_trylock(locks, &ranges[i], i * 10, i * 10 + 8));
	for (i = 0; i < 2000; i++) {
		bool gap = i % 10 == 9;

		KUNIT_ASSERT_EQ(test, kvp_range_trylock(locks, &wanted, i, i), gap);
		if (gap)
			kvp_range_unlock(locks, &wanted);
	}
	for (i = 0; i < 200; i++)
		kvp_range_unlock(locks, &ranges[i]);
	KUNIT_EXPECT_TRUE(test, RB_EMPTY_ROOT(&locks->held.rb_root));
}

static void ranges_are_locked_up_to_one_that_is_held(struct kunit *test)
{
	struct kvp_range_locks *locks = test->priv;
	struct kvp_range *r = kunit_kcalloc(test, KVP_RANGES_AT_ONCE, sizeof(*r), GFP_KERNEL), held;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, r);
	for (i = 0; i < KVP_RANGES_AT_ONCE; i++)
		kvp_range_set(&r[i], i * 10, i * 10 + 8);
	KUNIT_ASSERT_TRUE(test, kvp_range_trylock(locks, &held, 205, 205));
	KUNIT_ASSERT_EQ(test, kvp_range_trylock_each(locks, r, KVP_RANGES_AT_ONCE), 20u);
	KUNIT_EXPECT_EQ(test, kvp_range_trylock_each(locks, &r[20], 4), 0u);
	kvp_range_unlock(locks, &held);
	KUNIT_EXPECT_EQ(test, kvp_range_trylock_each(locks, &r[20], KVP_RANGES_AT_ONCE - 20),
			KVP_RANGES_AT_ONCE - 20);
	kvp_range_unlock_each(locks, r, KVP_RANGES_AT_ONCE);
	KUNIT_EXPECT_TRUE(test, RB_EMPTY_ROOT(&locks->held.rb_root));
	/* Two that overlap: the first is held. */
	kvp_range_set(&r[1], 8, 9);
	KUNIT_EXPECT_EQ(test, kvp_range_trylock_each(locks, r, 2), 1u);
	kvp_range_unlock(locks, r);
}

struct waiter {
	struct kvp_range_locks *locks;
	u64 first, last;
	struct completion got, done;
};

static int take_and_give(void *data)
{
	struct waiter *w = data;
	struct kvp_range range;

	kvp_range_lock(w->locks, &range, w->first, w->last);
	complete(&w->got);
	kvp_range_unlock(w->locks, &range);
	complete(&w->done);
	return 0;
}

static void start_waiter(struct kunit *test, struct waiter *w, u64 first, u64 last)
{
	struct task_struct *task;

	w->locks = test->priv;
	w->first = first;
	w->last = last;
	init_completion(&w->got);
	init_completion(&w->done);
	task = kthread_run(take_and_give, w, "kvpool_kunit");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
}

static void who_waits_gets_it(struct kunit *test)
{
	static const u64 places[][2] = { { 0, 10 }, { 12, 15 }, { 19, 40 }, { 0, ~0ull } };
	struct waiter *w = kunit_kcalloc(test, ARRAY_SIZE(places), sizeof(*w), GFP_KERNEL);
	struct kvp_range_locks *locks = test->priv;
	struct kvp_range held;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, w);
	KUNIT_ASSERT_TRUE(test, kvp_range_trylock(locks, &held, 10, 19));
	for (i = 0; i < ARRAY_SIZE(places); i++)
		start_waiter(test, &w[i], places[i][0], places[i][1]);
	msleep(50);
	for (i = 0; i < ARRAY_SIZE(places); i++)
		KUNIT_EXPECT_FALSE(test, completion_done(&w[i].got));
	kvp_range_unlock(locks, &held);
	for (i = 0; i < ARRAY_SIZE(places); i++)
		KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&w[i].done, SOON), 0);
	KUNIT_EXPECT_TRUE(test, RB_EMPTY_ROOT(&locks->held.rb_root));
}

#define ROUNDS		300
#define THREADS		4
#define PLACES		16

/* Threads that lock ranges, each alone in it. */
struct crowd {
	struct kvp_range_locks *locks;
	int inside[PLACES];
	atomic_t seed, broken, running;
	struct completion done;
};

static int jostle(void *data)
{
	struct crowd *c = data;
	u32 seed = (u32)atomic_inc_return(&c->seed), round, i;

	for (round = 0; round < ROUNDS; round++) {
		struct kvp_range range;
		u32 first, last;

		seed = seed * 1664525 + 1013904223;
		first = (seed >> 8) % PLACES;
		last = first + (seed >> 16) % (PLACES - first);
		kvp_range_lock(c->locks, &range, first, last);
		for (i = first; i <= last; i++)
			if (c->inside[i]++)
				atomic_inc(&c->broken);
		if (!(round % 16))
			schedule();
		for (i = first; i <= last; i++)
			c->inside[i]--;
		kvp_range_unlock(c->locks, &range);
	}
	if (atomic_dec_and_test(&c->running))
		complete(&c->done);
	return 0;
}

static void nobody_is_ever_two(struct kunit *test)
{
	struct crowd *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	struct kvp_range_locks *locks = test->priv;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, c);
	c->locks = locks;
	init_completion(&c->done);
	atomic_set(&c->running, THREADS);
	for (i = 0; i < THREADS; i++)
		KUNIT_ASSERT_FALSE(test, IS_ERR(kthread_run(jostle, c, "kvpool_kunit")));
	KUNIT_ASSERT_NE(test, wait_for_completion_timeout(&c->done, 6 * SOON), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->broken), 0);
	KUNIT_EXPECT_TRUE(test, RB_EMPTY_ROOT(&locks->held.rb_root));
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(ranges_that_overlap_exclude_each_other, pair_gen_params),
	KUNIT_CASE_PARAM(a_range_is_free_after_unlock, pair_gen_params),
	KUNIT_CASE(a_refused_range_is_not_held),
	KUNIT_CASE(many_ranges_are_held_at_once),
	KUNIT_CASE(ranges_are_locked_up_to_one_that_is_held),
	KUNIT_CASE(who_waits_gets_it),
	KUNIT_CASE(nobody_is_ever_two),
	{}
};

static struct kunit_suite suite = {
	.name = "kvpool_range_lock",
	.init = make_locks,
	.test_cases = cases,
};
kunit_test_suite(suite);
