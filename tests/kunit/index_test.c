// SPDX-License-Identifier: GPL-2.0-only
/* The index of the SSD cache, in a kernel: its locks, its memory, and several processors. */
#include <linux/gfp.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "kvpool_kunit.h"

static int allocations_left = -1;	/* until one fails; -1: none does */

static bool memory_is_short(void)
{
	return allocations_left >= 0 && !allocations_left--;
}

static void *test_vmalloc(unsigned long size, gfp_t gfp)
{
	return memory_is_short() ? NULL : __vmalloc(size, gfp);
}

#undef __vmalloc
#define __vmalloc(size, gfp)	test_vmalloc(size, gfp)
#undef kvcalloc
#define kvcalloc(n, size, gfp) \
	(memory_is_short() ? NULL : kvmalloc_array(n, size, (gfp) | __GFP_ZERO))

#include "policy/index.c"

#define MOST	(4 * KVP_INDEX_CHUNK)

static int make_index(struct kunit *test)
{
	struct kvp_index *ix = kunit_kzalloc(test, sizeof(*ix), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, ix);
	allocations_left = -1;
	KUNIT_ASSERT_EQ(test, kvp_index_init(ix, MOST, 0x5eed), 0);
	test->priv = ix;
	return 0;
}

static void drop_index(struct kunit *test)
{
	allocations_left = -1;
	if (test->priv)
		kvp_index_exit(test->priv);
}

static void expect_sound(struct kunit *test)
{
	const char *wrong = kvp_index_check(test->priv);

	KUNIT_EXPECT_NULL_MSG(test, wrong, "%s is wrong", wrong);
}

static u32 crc_for(u64 key, u32 place)
{
	return (u32)key * 31 + place;
}

static int set(struct kunit *test, u64 key, u32 place)
{
	struct kvp_index_entry old, e = {
		.key = key, .place = place, .crc = crc_for(key, place), .dirty = true,
	};

	return kvp_index_set(test->priv, &e, &old);
}

static void expect_at(struct kunit *test, u64 key, u32 place)
{
	struct kvp_index_entry e = { 0 };

	KUNIT_EXPECT_TRUE(test, kvp_index_find(test->priv, key, &e));
	KUNIT_EXPECT_EQ(test, e.key, key);
	KUNIT_EXPECT_EQ(test, e.place, place);
	KUNIT_EXPECT_EQ(test, e.crc, crc_for(key, place));
}

static void the_newest_version_counts(struct kunit *test)
{
	u64 last = (1ull << KVP_INDEX_KEY_BITS) - 1;
	struct kvp_index *ix = test->priv;
	struct kvp_index_entry e;

	KUNIT_EXPECT_EQ(test, set(test, last, 10), 0);
	KUNIT_EXPECT_EQ(test, set(test, last, 11), 1);
	expect_at(test, last, 11);
	KUNIT_EXPECT_FALSE(test, kvp_index_clean(ix, last, 10));
	KUNIT_EXPECT_FALSE(test, kvp_index_remove_at(ix, last, 10));
	KUNIT_EXPECT_EQ(test, kvp_index_move(ix, last, 10, 12), -ENOENT);
	KUNIT_EXPECT_EQ(test, set(test, 5, 11), -EEXIST);
	KUNIT_EXPECT_FALSE(test, kvp_index_find(ix, last >> 1, &e));
	expect_at(test, last, 11);
	KUNIT_EXPECT_TRUE(test, kvp_index_clean(ix, last, 11));
	KUNIT_EXPECT_TRUE(test, kvp_index_remove(ix, last, &e) && !e.dirty);
	expect_sound(test);
}

static void every_place_is_found_while_it_grows(struct kunit *test)
{
	struct kvp_index *ix = test->priv;
	u32 place = 0, n;

	do {
		for (; place < ix->places; place++)
			KUNIT_ASSERT_EQ(test, set(test, place * 7ull << 20, place), 0);
		expect_sound(test);
	} while (!kvp_index_grow(ix));
	KUNIT_EXPECT_EQ(test, ix->places, MOST);
	for (n = 0; n < MOST; n++)
		expect_at(test, n * 7ull << 20, n);
}

static void memory_for_a_place_is_bounded(struct kunit *test)
{
	u64 places;

	for (places = MOST; places <= KVP_INDEX_MAX_PLACES; places *= 2)
		KUNIT_EXPECT_LE(test, kvp_index_bytes(places, places),
				places * KVP_INDEX_PLACE_BYTES);
}

static void without_memory_nothing_changes(struct kunit *test)
{
	struct kvp_index *ix = test->priv, other;
	int n;

	KUNIT_EXPECT_EQ(test, set(test, 1, 1), 0);
	allocations_left = 0;
	KUNIT_EXPECT_EQ(test, kvp_index_grow(ix), -ENOMEM);
	KUNIT_EXPECT_EQ(test, ix->places, KVP_INDEX_CHUNK);
	expect_at(test, 1, 1);
	expect_sound(test);
	for (n = 0; n < 3; n++) {
		allocations_left = n;
		KUNIT_EXPECT_EQ(test, kvp_index_init(&other, MOST, 1), -ENOMEM);
	}
	allocations_left = 0;
	for (n = 2; n < KVP_INDEX_CHUNK; n++)
		KUNIT_ASSERT_EQ(test, set(test, n, n), 0);
	KUNIT_EXPECT_EQ(test, allocations_left, 0);
}

/* --- readers on another processor --------------------------------------------------- */

#define KEYS	600u

struct reader {
	struct kvp_index *index;
	unsigned long found, wrong;
};

static int reader_thread(void *arg)
{
	struct reader *r = arg;
	struct kvp_index_entry e;
	u32 place;
	u64 key;

	while (!kthread_should_stop()) {
		for (key = 0; key < KEYS; key++) {
			if (!kvp_index_find(r->index, key, &e))
				continue;
			kvp_index_hit(r->index, key, e.place);
			r->found++;
			r->wrong += e.key != key || e.crc != crc_for(key, e.place);
		}
		for (place = 0; kvp_index_next(r->index, &place, 2 * KEYS, &e); place++)
			r->wrong += e.place != place || e.crc != crc_for(e.key, place);
		cond_resched();
	}
	return 0;
}

static void readers_find_whole_entries(struct kunit *test)
{
	struct reader r = { .index = test->priv };
	struct task_struct *thread = kthread_run(reader_thread, &r, "kvpool_ix_reader");
	struct kvp_index_entry old;
	u32 i, place = 0;

	KUNIT_ASSERT_FALSE(test, IS_ERR(thread));
	for (i = 0; i < 100000; i++) {
		/* go round at twice as many places as there are blocks */
		while (set(test, i * 7ull % KEYS, place) == -EEXIST)
			place = (place + 1) % (2 * KEYS);
		if (i % 5 == 0)
			kvp_index_remove(test->priv, i * 3ull % KEYS, &old);
		if (i % 20000 == 10000)
			kvp_index_grow(test->priv);
		cond_resched();
	}
	kthread_stop(thread);
	KUNIT_EXPECT_EQ(test, r.wrong, 0);
	KUNIT_EXPECT_GT(test, r.found, 0);
	expect_sound(test);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(the_newest_version_counts),
	KUNIT_CASE(every_place_is_found_while_it_grows),
	KUNIT_CASE(memory_for_a_place_is_bounded),
	KUNIT_CASE(without_memory_nothing_changes),
	KUNIT_CASE(readers_find_whole_entries),
	{}
};

static struct kunit_suite suite = {
	.name = "kvpool_index",
	.init = make_index,
	.exit = drop_index,
	.test_cases = cases,
};
kunit_test_suite(suite);
