// SPDX-License-Identifier: GPL-2.0-only
/* The write buffer, in a pool with nothing else. */
#include <linux/gfp.h>
#include <linux/mm.h>

#include "kvpool_kunit.h"

static bool memory_is_short, memory_is_scattered;

static struct page *real_alloc_pages(gfp_t gfp, unsigned int order)
{
	return alloc_pages(gfp, order);
}

static struct page *scarce_alloc_pages(gfp_t gfp, unsigned int order)
{
	return memory_is_short || (order && memory_is_scattered) ? NULL : real_alloc_pages(gfp, order);
}

#undef alloc_page
#undef alloc_pages
#define alloc_pages(gfp, order)	scarce_alloc_pages(gfp, order)
#define alloc_page(gfp)		scarce_alloc_pages(gfp, 0)

#include "ram/pending.c"
#include "ram/wbuf.c"

#define LIMIT	64u

/* The place where waiters for space are woken. */
static int told_of_space;

/* The log is on a leg with data. */
static const struct kvp_geometry with_data = { .data_blocks = 1024 };

static void tell_of_space(struct kvp_pool *pool)
{
	told_of_space++;
}

static int make_pool(struct kunit *test)
{
	struct kvp_pool *pool = kunit_kzalloc(test, sizeof(*pool), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, pool);
	memory_is_short = false;
	memory_is_scattered = false;
	told_of_space = 0;
	pool->stats = alloc_percpu(struct kvp_stats);
	KUNIT_ASSERT_NOT_NULL(test, pool->stats);
	pool->wbuf = kunit_kzalloc(test, sizeof(*pool->wbuf), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, pool->wbuf);
	pool->log_vdev = kunit_kzalloc(test, sizeof(*pool->log_vdev), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, pool->log_vdev);
	pool->log_vdev->g = &with_data;
	pool->space = tell_of_space;
	test->priv = pool;
	KUNIT_ASSERT_EQ(test, kvp_wbuf_init(pool, LIMIT, 0), 0);
	return 0;
}

static void drop_pool(struct kunit *test)
{
	struct kvp_pool *pool = test->priv;

	memory_is_short = false;
	if (!pool)
		return;
	kvp_wbuf_exit(pool);
	free_percpu(pool->stats);
}

/* A write that fills the block with @fill. */
static struct kvp_version *write(struct kvp_pool *pool, u64 block, u8 fill)
{
	struct kvp_version *d = kvp_wbuf_begin_write(pool, block);

	if (d) {
		memset(page_address(d->page), fill, PAGE_SIZE);
		kvp_wbuf_end_write(pool, d);
	}
	return d;
}

/* The byte that a reader would find, or -1. */
static int contents(struct kvp_pool *pool, u64 block)
{
	struct kvp_version *d = kvp_wbuf_find(pool, block);
	int fill = -1;

	if (d) {
		fill = *(u8 *)page_address(d->page);
		kvp_wbuf_unlock(pool, block);
	}
	return fill;
}

/*
 * Takes a version off the list of buffered versions, as a commit does. The entry's own list is left
 * out.
 */
static void advance(struct kvp_pool *pool, struct kvp_version *d, enum kvp_version_state state)
{
	LIST_HEAD(entry);

	if (state == KVP_VERSION_BUFFERED)
		return;
	if (d->state == KVP_VERSION_BUFFERED) {
		kvp_wbuf_seq(pool);	/* all that is accepted is on a list then */
		list_move_tail(&d->list, &entry);
		kvp_wbuf_fix(pool, &entry);
		list_move_tail(&d->list, &pool->wbuf->logged);
	}
	kvp_wbuf_advance(d, state);
}

static struct kvp_version *punch(struct kunit *test, u64 block, u32 count)
{
	struct kvp_pool *pool = test->priv;
	u64 seq;

	KUNIT_ASSERT_EQ(test, kvp_wbuf_discard(pool, block, count, &seq), 0);
	return list_last_entry(&pool->wbuf->buffered, struct kvp_version, list);
}

static void drop(struct kvp_pool *pool, struct kvp_version *d)
{
	kvp_wbuf_seq(pool);	/* all that is accepted is on a list then */
	list_del(&d->list);
	kvp_wbuf_drop(pool, d);
}

static void a_write_is_found(struct kunit *test)
{
	struct kvp_pool *pool = test->priv;

	KUNIT_EXPECT_EQ(test, contents(pool, 7), -1);
	KUNIT_EXPECT_FALSE(test, kvp_wbuf_any(pool, 0, 100));
	write(pool, 7, 0xab);
	KUNIT_EXPECT_EQ(test, contents(pool, 7), 0xab);
	KUNIT_EXPECT_EQ(test, contents(pool, 6), -1);
	KUNIT_EXPECT_EQ(test, contents(pool, 8), -1);
	KUNIT_EXPECT_TRUE(test, kvp_wbuf_any(pool, 7, 1));
	KUNIT_EXPECT_TRUE(test, kvp_wbuf_any(pool, 0, 8));
	KUNIT_EXPECT_FALSE(test, kvp_wbuf_any(pool, 0, 7));
	KUNIT_EXPECT_FALSE(test, kvp_wbuf_any(pool, 8, 100));
}

/* More blocks than locks, so that some share one. */
static void many_blocks_do_not_mix(struct kunit *test)
{
	struct kvp_pool *pool = test->priv;
	u64 block;

	kvp_wbuf_set_limit(pool, 600);
	for (block = 0; block < 600; block++)
		KUNIT_ASSERT_NOT_NULL(test, write(pool, block << 40 | block, (u8)block));
	for (block = 0; block < 600; block++)
		KUNIT_EXPECT_EQ(test, contents(pool, block << 40 | block), (u8)block);
}

static void a_rewrite_takes_the_same_page(struct kunit *test)
{
	struct kvp_pool *pool = test->priv;
	struct kvp_version *first = write(pool, 7, 1), *second = write(pool, 7, 2);

	KUNIT_EXPECT_PTR_EQ(test, first, second);
	KUNIT_EXPECT_EQ(test, contents(pool, 7), 2);
	KUNIT_EXPECT_EQ(test, kvp_wbuf_used(pool->wbuf), 1u);
	KUNIT_EXPECT_EQ(test, kvp_wbuf_buffered(pool->wbuf), 1u);
	KUNIT_EXPECT_FALSE(test, kvp_wbuf_superseded(first));
}

struct stage {
	const char *name;
	enum kvp_version_state state;
};

static const struct stage fixed[] = {
	{ "committing", KVP_VERSION_COMMITTING },
	{ "logged", KVP_VERSION_LOGGED },
	{ "homing", KVP_VERSION_HOMING },
};
KUNIT_ARRAY_PARAM_DESC(fixed, fixed, name);

static void a_version_in_the_log_is_not_touched(struct kunit *test)
{
	const struct stage *s = test->param_value;
	struct kvp_pool *pool = test->priv;
	struct kvp_version *old = write(pool, 7, 1), *new;

	advance(pool, old, s->state);
	new = write(pool, 7, 2);
	KUNIT_EXPECT_PTR_NE(test, new, old);
	KUNIT_EXPECT_EQ(test, *(u8 *)page_address(old->page), 1);
	KUNIT_EXPECT_EQ(test, contents(pool, 7), 2);
	KUNIT_EXPECT_TRUE(test, kvp_wbuf_superseded(old));
	KUNIT_EXPECT_FALSE(test, kvp_wbuf_superseded(new));
}

static void dropping_an_old_version_leaves_the_newest(struct kunit *test)
{
	struct kvp_pool *pool = test->priv;
	struct kvp_version *old = write(pool, 7, 1), *new;

	advance(pool, old, KVP_VERSION_LOGGED);
	new = write(pool, 7, 2);
	drop(pool, old);
	KUNIT_EXPECT_EQ(test, contents(pool, 7), 2);
	KUNIT_EXPECT_EQ(test, kvp_wbuf_used(pool->wbuf), 1u);
	drop(pool, new);
	KUNIT_EXPECT_EQ(test, contents(pool, 7), -1);
	KUNIT_EXPECT_EQ(test, kvp_wbuf_used(pool->wbuf), 0u);
}

/* While an older version is not yet home, the next one must not be written directly. */
static void a_version_knows_that_it_follows_another(struct kunit *test)
{
	const struct stage *s = test->param_value;
	struct kvp_pool *pool = test->priv;
	struct kvp_version *old = write(pool, 7, 1), *new;

	KUNIT_EXPECT_FALSE(test, old->follows);
	advance(pool, old, s->state);
	new = write(pool, 7, 2);
	KUNIT_EXPECT_TRUE(test, new->follows);
	KUNIT_EXPECT_FALSE(test, write(pool, 8, 1)->follows);
}

static void a_version_after_one_that_is_home_is_free(struct kunit *test)
{
	struct kvp_pool *pool = test->priv;
	struct kvp_version *old = write(pool, 7, 1);

	advance(pool, old, KVP_VERSION_LOGGED);
	drop(pool, old);
	KUNIT_EXPECT_FALSE(test, write(pool, 7, 2)->follows);
}

/* A page returns from the free list like a new one. */
static void nothing_is_left_of_the_last_use(struct kunit *test)
{
	struct kvp_pool *pool = test->priv;
	struct kvp_version *d = write(pool, 7, 1), *again;

	d->intent = true;
	d->zero = true;
	d->follows = true;
	d->passed = true;
	d->crc = 5;
	d->lsn = 6;
	drop(pool, d);
	clear_shelves(pool->wbuf);	/* pages at hand would be taken first */
	again = write(pool, 9, 2);
	KUNIT_ASSERT_PTR_EQ(test, again, d);
	KUNIT_EXPECT_FALSE(test, again->intent || again->zero || again->follows || again->passed);
	KUNIT_EXPECT_EQ(test, again->state, KVP_VERSION_BUFFERED);
	KUNIT_EXPECT_EQ(test, again->crc, 0);
	KUNIT_EXPECT_EQ(test, again->lsn, 0);
}

struct hole {
	const char *name;
	u64 block;
	u32 count;
};

static const struct hole holes[] = {
	{ "one block", 100, 1 },
	{ "first of many", 100, 1000 },
	{ "last of many", 91, 10 },
	{ "as many as buckets", 50, 1 << KVP_WBUF_BUCKET_BITS },
	{ "more than buckets", 50, (1 << KVP_WBUF_BUCKET_BITS) + 1 },
	{ "everything", 50, ~0u },
};
KUNIT_ARRAY_PARAM_DESC(hole, holes, name);

static void a_hole_hides_what_was_written(struct kunit *test)
{
	const struct hole *h = test->param_value;
	struct kvp_pool *pool = test->priv;
	struct kvp_version *d = write(pool, 100, 1);

	write(pool, h->block - 1, 2);
	write(pool, h->block + h->count, 3);
	punch(test, h->block, h->count);
	KUNIT_EXPECT_EQ(test, contents(pool, 100), -1);
	KUNIT_EXPECT_TRUE(test, kvp_wbuf_superseded(d));
	KUNIT_EXPECT_TRUE(test, kvp_wbuf_in_hole(pool, 100));
	KUNIT_EXPECT_EQ(test, contents(pool, h->block - 1), 2);
	KUNIT_EXPECT_EQ(test, contents(pool, h->block + h->count), 3);
	KUNIT_EXPECT_FALSE(test, kvp_wbuf_in_hole(pool, h->block - 1));
	KUNIT_EXPECT_FALSE(test, kvp_wbuf_in_hole(pool, h->block + h->count));
}

static void a_hole_is_over_when_it_is_dropped(struct kunit *test)
{
	struct kvp_pool *pool = test->priv;
	struct kvp_version *first = punch(test, 10, 10), *second;

	/* while the first is buffered the second would become part of it */
	KUNIT_EXPECT_PTR_EQ(test, punch(test, 12, 4), first);
	advance(pool, first, KVP_VERSION_LOGGED);
	second = punch(test, 15, 10);
	KUNIT_EXPECT_PTR_NE(test, first, second);
	KUNIT_EXPECT_TRUE(test, kvp_wbuf_any(pool, 0, 11));
	KUNIT_EXPECT_TRUE(test, kvp_wbuf_any(pool, 24, 1));
	drop(pool, first);
	KUNIT_EXPECT_FALSE(test, kvp_wbuf_in_hole(pool, 14));
	KUNIT_EXPECT_TRUE(test, kvp_wbuf_in_hole(pool, 15));
	drop(pool, second);
	KUNIT_EXPECT_FALSE(test, kvp_wbuf_in_hole(pool, 15));
	KUNIT_EXPECT_FALSE(test, kvp_wbuf_any(pool, 0, 100));
	KUNIT_EXPECT_EQ(test, pool->wbuf->nr_holes, 0);
}

static void a_write_into_a_hole_is_found(struct kunit *test)
{
	struct kvp_pool *pool = test->priv;
	struct kvp_version *old = write(pool, 7, 1), *hole = punch(test, 0, 100), *new;

	new = write(pool, 7, 2);
	KUNIT_EXPECT_PTR_NE(test, new, old);
	KUNIT_EXPECT_EQ(test, contents(pool, 7), 2);
	KUNIT_EXPECT_LT(test, old->seq, hole->seq);
	KUNIT_EXPECT_LT(test, hole->seq, new->seq);
}

static void order_of_acceptance_is_kept(struct kunit *test)
{
	struct kvp_pool *pool = test->priv;
	struct kvp_version *d;
	u64 last = 0;

	write(pool, 5, 1);
	write(pool, 3, 1);
	punch(test, 3, 1);
	write(pool, 5, 2);
	write(pool, 3, 2);
	kvp_wbuf_seq(pool);
	KUNIT_EXPECT_EQ(test, kvp_wbuf_buffered(pool->wbuf), 4u);
	list_for_each_entry(d, &pool->wbuf->buffered, list) {
		KUNIT_EXPECT_GT(test, d->seq, last);
		last = d->seq;
	}
	KUNIT_EXPECT_EQ(test, last, kvp_wbuf_seq(pool));
}

/* A FLUSH after a rewrite in place must wait for the version that holds the rewrite. */
static void a_rewrite_is_covered_by_its_seq(struct kunit *test)
{
	struct kvp_pool *pool = test->priv;
	struct kvp_version *d = kvp_wbuf_begin_write(pool, 7);
	u64 seq, again;

	kvp_wbuf_end_write(pool, d);
	KUNIT_EXPECT_EQ(test, d->seq, KVP_SEQ_LATER);
	seq = kvp_wbuf_seq(pool);
	KUNIT_EXPECT_EQ(test, seq, d->seq);
	d = kvp_wbuf_begin_write(pool, 7);
	kvp_wbuf_end_write(pool, d);
	again = kvp_wbuf_seq(pool);
	KUNIT_EXPECT_EQ(test, again, seq);
	KUNIT_EXPECT_EQ(test, d->seq, seq);
}

/* What shelves of other processors have is found when no other page is free. */
static void a_page_on_another_shelf_is_found(struct kunit *test)
{
	struct kvp_pool *pool = test->priv;
	struct kvp_wbuf *w = pool->wbuf;
	struct kvp_wbuf_shelf *mine, *other;
	u64 block;

	preempt_disable();
	write(pool, 0, 1);
	mine = &w->shelves[raw_smp_processor_id() % ARRAY_SIZE(w->shelves)];
	other = &w->shelves[(raw_smp_processor_id() + 1) % ARRAY_SIZE(w->shelves)];
	swap(mine->at, other->at);
	swap(mine->end, other->end);
	memcpy(other->pages, mine->pages, sizeof(mine->pages));
	preempt_enable();
	KUNIT_EXPECT_NE(test, other->at, other->end);
	for (block = 1; block < LIMIT; block++)
		KUNIT_ASSERT_NOT_NULL(test, write(pool, block, 1));
	KUNIT_EXPECT_NULL(test, write(pool, LIMIT, 1));
	KUNIT_EXPECT_EQ(test, kvp_wbuf_used(w), LIMIT);
}

struct survival {
	const char *name;
	enum kvp_version_state state;	/* of the newer version */
	bool hole, intent, dropped, outlived;
};

static const struct survival survivals[] = {
	{ "a buffered write", KVP_VERSION_BUFFERED, false, false, false, false },
	{ "a write being committed", KVP_VERSION_COMMITTING, false, false, false, false },
	{ "a logged write", KVP_VERSION_LOGGED, false, false, false, true },
	{ "a write on its way home", KVP_VERSION_HOMING, false, false, false, true },
	{ "a write that is home", KVP_VERSION_HOMING, false, false, true, true },
	{ "an intent being committed", KVP_VERSION_COMMITTING, false, true, false, false },
	{ "an open intent", KVP_VERSION_LOGGED, false, true, false, false },
	{ "an intent on its way home", KVP_VERSION_HOMING, false, true, false, false },
	{ "a buffered hole", KVP_VERSION_BUFFERED, true, false, false, false },
	{ "a hole being committed", KVP_VERSION_COMMITTING, true, false, false, false },
	{ "a logged hole", KVP_VERSION_LOGGED, true, false, false, true },
	{ "a hole that is home", KVP_VERSION_LOGGED, true, false, true, true },
};
KUNIT_ARRAY_PARAM_DESC(survival, survivals, name);

static void a_version_is_outlived_by_what_is_durable(struct kunit *test)
{
	const struct survival *s = test->param_value;
	struct kvp_pool *pool = test->priv;
	struct kvp_version *old = write(pool, 7, 1), *new;

	advance(pool, old, KVP_VERSION_LOGGED);
	new = s->hole ? punch(test, 0, 100) : write(pool, 7, 2);
	new->intent = s->intent;
	advance(pool, new, s->state);
	if (s->dropped)
		drop(pool, new);
	KUNIT_EXPECT_EQ(test, kvp_wbuf_outlived(pool, old), s->outlived);
}

static void the_newest_version_is_not_outlived(struct kunit *test)
{
	struct kvp_pool *pool = test->priv;
	struct kvp_version *d = write(pool, 7, 1);

	advance(pool, d, KVP_VERSION_LOGGED);
	punch(test, 8, 100);
	KUNIT_EXPECT_FALSE(test, kvp_wbuf_outlived(pool, d));
}

static void a_full_buffer_takes_no_more(struct kunit *test)
{
	struct kvp_pool *pool = test->priv;
	u64 block;

	for (block = 0; block < LIMIT; block++)
		KUNIT_ASSERT_NOT_NULL(test, write(pool, block, 1));
	KUNIT_EXPECT_NULL(test, write(pool, LIMIT, 1));
	KUNIT_EXPECT_EQ(test, contents(pool, LIMIT), -1);
	KUNIT_EXPECT_PTR_NE(test, write(pool, 5, 2), NULL);	/* in place */
	KUNIT_EXPECT_EQ(test, told_of_space, 0);
	kvp_wbuf_seq(pool);
	drop(pool, list_first_entry(&pool->wbuf->buffered, struct kvp_version, list));
	KUNIT_EXPECT_EQ(test, told_of_space, 1);
	KUNIT_EXPECT_NOT_NULL(test, write(pool, LIMIT, 1));
	KUNIT_EXPECT_EQ(test, kvp_wbuf_used(pool->wbuf), LIMIT);
}

static void a_full_buffer_does_not_lose_the_old_version(struct kunit *test)
{
	struct kvp_pool *pool = test->priv;
	struct kvp_version *old = write(pool, 0, 1);
	u64 block;

	advance(pool, old, KVP_VERSION_LOGGED);
	for (block = 1; block < LIMIT; block++)
		KUNIT_ASSERT_NOT_NULL(test, write(pool, block, 1));
	KUNIT_EXPECT_NULL(test, write(pool, 0, 2));
	KUNIT_EXPECT_EQ(test, contents(pool, 0), 1);
	KUNIT_EXPECT_FALSE(test, kvp_wbuf_superseded(old));
}

static void a_lower_limit_frees_pages(struct kunit *test)
{
	struct kvp_pool *pool = test->priv;
	struct kvp_wbuf *w = pool->wbuf;
	LIST_HEAD(all);
	u64 block;

	for (block = 0; block < LIMIT; block++)
		KUNIT_ASSERT_NOT_NULL(test, write(pool, block, 1));
	kvp_wbuf_set_limit(pool, 10);
	KUNIT_EXPECT_NULL(test, write(pool, LIMIT, 1));
	kvp_wbuf_seq(pool);
	list_splice_init(&w->buffered, &all);
	kvp_wbuf_drop_list(pool, &all);
	/* In whole chunks. */
	KUNIT_EXPECT_EQ(test, w->pages, KVP_CHUNK_PAGES);
	KUNIT_EXPECT_EQ(test, kvp_wbuf_used(w), 0u);
	KUNIT_EXPECT_EQ(test, told_of_space, 2);
}

/* Pages that no version has are not handed out first. */
static void a_lower_limit_frees_unused_pages(struct kunit *test)
{
	struct kvp_pool *pool = test->priv;
	struct kvp_wbuf *w = pool->wbuf;
	u32 limit = LIMIT - 2 * KVP_CHUNK_PAGES, n;

	KUNIT_ASSERT_NOT_NULL(test, write(pool, 0, 1));
	KUNIT_ASSERT_EQ(test, w->pages, LIMIT);
	kvp_wbuf_set_limit(pool, limit);
	KUNIT_EXPECT_EQ(test, w->pages, limit);
	for (n = 1; n < LIMIT && write(pool, n, 1);)
		n++;
	KUNIT_EXPECT_EQ(test, n, limit);
	KUNIT_EXPECT_EQ(test, kvp_wbuf_used(w), limit);
	KUNIT_EXPECT_EQ(test, contents(pool, 0), 1);
}

static void single_pages_do_as_well(struct kunit *test)
{
	struct kvp_pool *pool = test->priv;
	struct kvp_wbuf *w = pool->wbuf;
	LIST_HEAD(all);
	u64 block;

	kvp_wbuf_exit(pool);
	memory_is_scattered = true;
	KUNIT_ASSERT_EQ(test, kvp_wbuf_init(pool, LIMIT, 0), 0);
	for (block = 0; block < LIMIT; block++)
		KUNIT_ASSERT_NOT_NULL(test, write(pool, block, block));
	for (block = 0; block < LIMIT; block++)
		KUNIT_EXPECT_EQ(test, contents(pool, block), block);
	kvp_wbuf_seq(pool);
	list_splice_init(&w->buffered, &all);
	kvp_wbuf_drop_list(pool, &all);
	KUNIT_EXPECT_EQ(test, kvp_wbuf_used(w), 0u);
}

static void without_memory_a_write_is_refused(struct kunit *test)
{
	struct kvp_pool *pool = test->priv;
	struct kvp_wbuf *w = pool->wbuf;
	u64 block;

	kvp_wbuf_set_limit(pool, 2 * LIMIT);
	for (block = 0; block < LIMIT; block++)
		KUNIT_ASSERT_NOT_NULL(test, write(pool, block, 1));
	memory_is_short = true;
	KUNIT_EXPECT_NULL(test, write(pool, LIMIT, 1));
	KUNIT_EXPECT_EQ(test, w->pages, LIMIT);
	KUNIT_EXPECT_EQ(test, kvp_wbuf_used(w), LIMIT);
	memory_is_short = false;
	KUNIT_EXPECT_NOT_NULL(test, write(pool, LIMIT, 1));
}

static void without_memory_there_is_no_buffer(struct kunit *test)
{
	struct kvp_pool *pool = test->priv;

	kvp_wbuf_exit(pool);
	memory_is_short = true;
	KUNIT_EXPECT_EQ(test, kvp_wbuf_init(pool, LIMIT, 0), -ENOMEM);
	KUNIT_EXPECT_NULL(test, pool->wbuf->buckets);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(a_write_is_found),
	KUNIT_CASE(many_blocks_do_not_mix),
	KUNIT_CASE(a_rewrite_takes_the_same_page),
	KUNIT_CASE_PARAM(a_version_in_the_log_is_not_touched, fixed_gen_params),
	KUNIT_CASE(dropping_an_old_version_leaves_the_newest),
	KUNIT_CASE_PARAM(a_version_knows_that_it_follows_another, fixed_gen_params),
	KUNIT_CASE(a_version_after_one_that_is_home_is_free),
	KUNIT_CASE(nothing_is_left_of_the_last_use),
	KUNIT_CASE_PARAM(a_hole_hides_what_was_written, hole_gen_params),
	KUNIT_CASE(a_hole_is_over_when_it_is_dropped),
	KUNIT_CASE(a_write_into_a_hole_is_found),
	KUNIT_CASE(order_of_acceptance_is_kept),
	KUNIT_CASE(a_rewrite_is_covered_by_its_seq),
	KUNIT_CASE(a_page_on_another_shelf_is_found),
	KUNIT_CASE_PARAM(a_version_is_outlived_by_what_is_durable, survival_gen_params),
	KUNIT_CASE(the_newest_version_is_not_outlived),
	KUNIT_CASE(a_full_buffer_takes_no_more),
	KUNIT_CASE(a_full_buffer_does_not_lose_the_old_version),
	KUNIT_CASE(a_lower_limit_frees_pages),
	KUNIT_CASE(a_lower_limit_frees_unused_pages),
	KUNIT_CASE(single_pages_do_as_well),
	KUNIT_CASE(without_memory_a_write_is_refused),
	KUNIT_CASE(without_memory_there_is_no_buffer),
	{}
};

static struct kunit_suite suite = {
	.name = "kvpool_wbuf",
	.init = make_pool,
	.exit = drop_pool,
	.test_cases = cases,
};
kunit_test_suite(suite);
