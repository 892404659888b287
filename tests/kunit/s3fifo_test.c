// SPDX-License-Identifier: GPL-2.0-only
/* The eviction policy of the RAM cache, in a kernel. tests/cache measures its quality. */
#include <linux/gfp.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "kvpool_kunit.h"

static int allocations_left = -1;	/* until one fails; -1: none does */

static bool memory_is_short(void)
{
	return allocations_left >= 0 && !allocations_left--;
}

#undef kvcalloc
#define kvcalloc(n, size, gfp) \
	(memory_is_short() ? NULL : kvmalloc_array(n, size, (gfp) | __GFP_ZERO))

#include "policy/s3fifo.c"

#define CAPACITY	100u

/* Values name their block. */
static void *value_of(u64 key)
{
	return (void *)(unsigned long)(key << 1 | 1);
}

static int make_cache(struct kunit *test)
{
	struct kvp_s3 *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, c);
	allocations_left = -1;
	KUNIT_ASSERT_EQ(test, kvp_s3_init(c, CAPACITY, 0x5eed, GFP_KERNEL), 0);
	test->priv = c;
	return 0;
}

static void drop_cache(struct kunit *test)
{
	allocations_left = -1;
	if (test->priv)
		kvp_s3_exit(test->priv);
}

static void expect_sound(struct kunit *test)
{
	const char *wrong = kvp_s3_check(test->priv);

	KUNIT_EXPECT_NULL_MSG(test, wrong, "%s is wrong", wrong);
}

static bool is_in(struct kvp_s3 *c, u64 key)
{
	return kvp_s3_lookup(c, key) != KVP_S3_NONE;
}

/* A hit, or a miss that inserts the block. */
static void ask(struct kunit *test, u64 key)
{
	struct kvp_s3 *c = test->priv;
	struct kvp_s3_block victim;
	void *value;
	u32 slot;

	value = kvp_s3_find(c, key, &slot);
	if (value) {
		KUNIT_EXPECT_PTR_EQ(test, value, value_of(key));
		kvp_s3_hit(c, slot);
		return;
	}
	kvp_s3_insert(c, key, value_of(key), &victim);
	if (victim.value)
		KUNIT_EXPECT_PTR_EQ(test, victim.value, value_of(victim.key));
}

static void ask_all(struct kunit *test, u64 first, u64 count)
{
	u64 key;

	for (key = first; key < first + count; key++)
		ask(test, key);
}

static u64 evicted(struct kunit *test)
{
	struct kvp_s3_block b;

	KUNIT_ASSERT_TRUE(test, kvp_s3_evict(test->priv, &b));
	KUNIT_EXPECT_PTR_EQ(test, b.value, value_of(b.key));
	return b.key;
}

static void the_oldest_that_was_not_hit_goes_first(struct kunit *test)
{
	struct kvp_s3 *c = test->priv;
	u64 key;

	ask_all(test, 0, CAPACITY);
	ask_all(test, 10, 5);
	for (key = 0; key < CAPACITY; key++)
		if (key < 10 || key >= 15)
			KUNIT_EXPECT_EQ(test, evicted(test), key);
	KUNIT_EXPECT_EQ(test, c->main.count, 5);
	KUNIT_EXPECT_EQ(test, evicted(test), 10);
	expect_sound(test);
}

static void a_scan_leaves_what_is_hot(struct kunit *test)
{
	u64 key;

	ask_all(test, 0, CAPACITY / 2);
	ask_all(test, 0, CAPACITY / 2);
	ask_all(test, 1000, 5 * CAPACITY);
	for (key = 0; key < CAPACITY / 2; key++)
		KUNIT_EXPECT_TRUE_MSG(test, is_in(test->priv, key), "%llu went", key);
	expect_sound(test);
}

static void a_block_that_comes_back_enters_main(struct kunit *test)
{
	struct kvp_s3 *c = test->priv;

	ask_all(test, 0, CAPACITY + 20);
	KUNIT_ASSERT_FALSE(test, is_in(c, 19));
	ask(test, 19);
	KUNIT_EXPECT_EQ(test, c->main.count, 1);
	KUNIT_EXPECT_EQ(test, c->main.newest, kvp_s3_lookup(c, 19));
	KUNIT_EXPECT_EQ(test, c->target, CAPACITY / 10 + 1);
	expect_sound(test);
}

static void blocks_are_removed_from_anywhere(struct kunit *test)
{
	struct kvp_s3 *c = test->priv;
	u64 key, i;

	ask_all(test, 0, CAPACITY);
	for (i = 0; i < CAPACITY; i++) {
		key = i * 37 % CAPACITY;
		KUNIT_ASSERT_TRUE(test, is_in(c, key));
		KUNIT_EXPECT_PTR_EQ(test, kvp_s3_remove(c, kvp_s3_lookup(c, key)), value_of(key));
		KUNIT_EXPECT_FALSE(test, is_in(c, key));
		KUNIT_EXPECT_EQ(test, kvp_s3_count(c), CAPACITY - 1 - i);
		expect_sound(test);
	}
}

static void the_largest_block_number_is_found(struct kunit *test)
{
	u64 last = (1ull << KVP_S3_KEY_BITS) - 1;
	struct kvp_s3 *c = test->priv;

	ask_all(test, last, 1);
	ask_all(test, 0, 1);
	KUNIT_EXPECT_TRUE(test, is_in(c, last) && is_in(c, 0));
	KUNIT_EXPECT_FALSE(test, is_in(c, last >> 1));
	KUNIT_EXPECT_EQ(test, evicted(test), last);
}

static void count_dropped(void *arg, const struct kvp_s3_block *b)
{
	if (b->value == value_of(b->key))
		++*(u32 *)arg;
}

struct size {
	const char *name;
	u32 capacity;
};

static const struct size sizes[] = {
	{ "nothing", 0 },
	{ "one block", 1 },
	{ "half", CAPACITY / 2 },
	{ "the same", CAPACITY },
	{ "many", 10000 },
};
KUNIT_ARRAY_PARAM_DESC(size, sizes, name);

static void a_resize_keeps_what_fits(struct kunit *test)
{
	const struct size *size = test->param_value;
	struct kvp_s3 *c = test->priv;
	struct kvp_s3_table *t;
	u32 dropped = 0;

	ask_all(test, 0, CAPACITY);
	ask_all(test, 0, 20);
	t = kvp_s3_alloc(size->capacity, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t);
	kvp_s3_free(kvp_s3_resize(c, t, count_dropped, &dropped));
	KUNIT_EXPECT_EQ(test, kvp_s3_count(c), min(size->capacity, CAPACITY));
	KUNIT_EXPECT_EQ(test, kvp_s3_count(c) + dropped, CAPACITY);
	expect_sound(test);
	ask_all(test, 1000, 300);
	expect_sound(test);
}

static void memory_for_a_block_is_bounded(struct kunit *test)
{
	u32 capacity;

	for (capacity = 1000; capacity <= KVP_S3_MAX_CAPACITY; capacity *= 2)
		KUNIT_EXPECT_LE(test, kvp_s3_bytes(capacity),
				(u64)capacity * KVP_S3_BLOCK_BYTES + sizeof(struct kvp_s3_table));
}

static void without_memory_there_is_no_table(struct kunit *test)
{
	struct kvp_s3 c;
	int n;

	for (n = 0; n < 3; n++) {
		allocations_left = n;
		KUNIT_EXPECT_NULL(test, kvp_s3_alloc(CAPACITY, GFP_KERNEL));
		allocations_left = n;
		KUNIT_EXPECT_EQ(test, kvp_s3_init(&c, CAPACITY, 1, GFP_KERNEL), -ENOMEM);
	}
	allocations_left = -1;
	KUNIT_EXPECT_EQ(test, kvp_s3_init(&c, KVP_S3_MAX_CAPACITY + 1, 1, GFP_KERNEL), -EINVAL);
}

/* --- readers on another processor --------------------------------------------------- */

#define FEW_KEYS	48	/* in few buckets, so that slots often change their chain */

struct reader {
	struct kvp_s3 *cache;
	unsigned long found, wrong;
};

static int reader_thread(void *arg)
{
	struct reader *r = arg;
	void *value;
	u64 key;
	u32 slot;

	while (!kthread_should_stop()) {
		rcu_read_lock();
		for (key = 0; key < FEW_KEYS; key++) {
			value = kvp_s3_find(r->cache, key, &slot);
			if (!value)
				continue;
			kvp_s3_hit(r->cache, slot);
			r->found++;
			r->wrong += value != value_of(key);
		}
		rcu_read_unlock();
		cond_resched();
	}
	return 0;
}

static void change(struct kunit *test, u32 i)
{
	struct kvp_s3_table *t;
	u32 dropped = 0, slot;

	ask(test, i * 7 % FEW_KEYS);
	slot = kvp_s3_lookup(test->priv, i * 29 % FEW_KEYS);
	if (slot != KVP_S3_NONE && i % 3 == 0)
		kvp_s3_remove(test->priv, slot);
	if (i % 5000)
		return;
	t = kvp_s3_alloc(10 + i / 5000 % 20, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t);
	t = kvp_s3_resize(test->priv, t, count_dropped, &dropped);
	synchronize_rcu();
	kvp_s3_free(t);
	expect_sound(test);
}

static void readers_find_their_own_block(struct kunit *test)
{
	struct reader r = { .cache = test->priv };
	struct task_struct *thread = kthread_run(reader_thread, &r, "kvpool_s3_reader");
	u32 i;

	KUNIT_ASSERT_FALSE(test, IS_ERR(thread));
	for (i = 0; i < 30000; i++) {
		change(test, i);
		cond_resched();
	}
	kthread_stop(thread);
	KUNIT_EXPECT_EQ(test, r.wrong, 0);
	KUNIT_EXPECT_GT(test, r.found, 0);
	expect_sound(test);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(the_oldest_that_was_not_hit_goes_first),
	KUNIT_CASE(a_scan_leaves_what_is_hot),
	KUNIT_CASE(a_block_that_comes_back_enters_main),
	KUNIT_CASE(blocks_are_removed_from_anywhere),
	KUNIT_CASE(the_largest_block_number_is_found),
	KUNIT_CASE_PARAM(a_resize_keeps_what_fits, size_gen_params),
	KUNIT_CASE(memory_for_a_block_is_bounded),
	KUNIT_CASE(without_memory_there_is_no_table),
	KUNIT_CASE(readers_find_their_own_block),
	{}
};

static struct kunit_suite suite = {
	.name = "kvpool_s3fifo",
	.init = make_cache,
	.exit = drop_cache,
	.test_cases = cases,
};
kunit_test_suite(suite);
