// SPDX-License-Identifier: GPL-2.0-only
/* The write buffer alone, without a pool. */
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
	return memory_is_short || (order && memory_is_scattered) ? NULL :
		real_alloc_pages(gfp, order);
}

#undef alloc_page
#undef alloc_pages
#define alloc_pages(gfp, order)	scarce_alloc_pages(gfp, order)
#define alloc_page(gfp)		scarce_alloc_pages(gfp, 0)

#include "ram/packs.c"
#include "ram/pending.c"
#include "ram/wbuf.c"

#define LIMIT	64u

/* The place where waiters for space are woken. */
static int told_of_space;

static void tell_of_space(void *of)
{
	told_of_space++;
}

static struct kvp_wbuf_client client = { .space = tell_of_space };

static int make_buffer(struct kunit *test)
{
	struct kvp_wbuf *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, w);
	memory_is_short = false;
	memory_is_scattered = false;
	told_of_space = 0;
	client.stats = alloc_percpu(struct kvp_stats);
	KUNIT_ASSERT_NOT_NULL(test, client.stats);
	test->priv = w;
	KUNIT_ASSERT_EQ(test, kvp_wbuf_init(w, &client, LIMIT, 0), 0);
	return 0;
}

static void drop_buffer(struct kunit *test)
{
	memory_is_short = false;
	if (test->priv)
		kvp_wbuf_exit(test->priv);
	free_percpu(client.stats);
}

/* A write that fills the block with @fill. */
static struct kvp_version *write(struct kvp_wbuf *w, u64 block, u8 fill)
{
	struct kvp_version *d = kvp_wbuf_begin_write(w, block, false);

	if (d) {
		memset(page_address(d->page), fill, PAGE_SIZE);
		kvp_wbuf_end_write(w, d);
	}
	return d;
}

/* The byte that a reader would find, or -1. */
static int contents(struct kvp_wbuf *w, u64 block)
{
	struct kvp_version *d = kvp_wbuf_find(w, block);
	int fill = -1;

	if (d) {
		fill = *(u8 *)page_address(d->page);
		kvp_wbuf_unlock(w, block);
	}
	return fill;
}

/*
 * Takes a version off the list of buffered versions, as a commit does. The entry's own list is left
 * out.
 */
static void advance(struct kvp_wbuf *w, struct kvp_version *d, enum kvp_version_state state)
{
	LIST_HEAD(entry);

	if (state == KVP_VERSION_BUFFERED)
		return;
	if (d->state == KVP_VERSION_BUFFERED) {
		kvp_wbuf_seq(w);	/* all that is accepted is on a list then */
		list_move_tail(&d->list, &entry);
		kvp_wbuf_fix(w, &entry);
		list_move_tail(&d->list, &w->logged);
	}
	kvp_wbuf_advance(d, state);
}

static struct kvp_version *punch(struct kunit *test, u64 block, u32 count)
{
	struct kvp_wbuf *w = test->priv;
	u64 seq;

	KUNIT_ASSERT_EQ(test, kvp_wbuf_discard(w, block, count, &seq), 0);
	return list_last_entry(&w->buffered, struct kvp_version, list);
}

static void drop(struct kvp_wbuf *w, struct kvp_version *d)
{
	kvp_wbuf_seq(w);	/* all that is accepted is on a list then */
	list_del(&d->list);
	kvp_wbuf_drop(w, d);
}

static void a_write_is_found(struct kunit *test)
{
	struct kvp_wbuf *w = test->priv;

	KUNIT_EXPECT_EQ(test, contents(w, 7), -1);
	KUNIT_EXPECT_FALSE(test, kvp_wbuf_any(w, 0, 100));
	write(w, 7, 0xab);
	KUNIT_EXPECT_EQ(test, contents(w, 7), 0xab);
	KUNIT_EXPECT_EQ(test, contents(w, 6), -1);
	KUNIT_EXPECT_EQ(test, contents(w, 8), -1);
	KUNIT_EXPECT_TRUE(test, kvp_wbuf_any(w, 7, 1));
	KUNIT_EXPECT_TRUE(test, kvp_wbuf_any(w, 0, 8));
	KUNIT_EXPECT_FALSE(test, kvp_wbuf_any(w, 0, 7));
	KUNIT_EXPECT_FALSE(test, kvp_wbuf_any(w, 8, 100));
}

/* More blocks than locks, so that some share one. */
static void many_blocks_do_not_mix(struct kunit *test)
{
	struct kvp_wbuf *w = test->priv;
	u64 block;

	kvp_wbuf_set_limit(w, 600);
	for (block = 0; block < 600; block++)
		KUNIT_ASSERT_NOT_NULL(test, write(w, block << 40 | block, (u8)block));
	for (block = 0; block < 600; block++)
		KUNIT_EXPECT_EQ(test, contents(w, block << 40 | block), (u8)block);
}

static void a_rewrite_takes_the_same_page(struct kunit *test)
{
	struct kvp_wbuf *w = test->priv;
	struct kvp_version *first = write(w, 7, 1), *second = write(w, 7, 2);

	KUNIT_EXPECT_PTR_EQ(test, first, second);
	KUNIT_EXPECT_EQ(test, contents(w, 7), 2);
	KUNIT_EXPECT_EQ(test, kvp_wbuf_used(w), 1u);
	KUNIT_EXPECT_EQ(test, kvp_wbuf_buffered(w), 1u);
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
	struct kvp_wbuf *w = test->priv;
	struct kvp_version *old = write(w, 7, 1), *new;

	advance(w, old, s->state);
	new = write(w, 7, 2);
	KUNIT_EXPECT_PTR_NE(test, new, old);
	KUNIT_EXPECT_EQ(test, *(u8 *)page_address(old->page), 1);
	KUNIT_EXPECT_EQ(test, contents(w, 7), 2);
	KUNIT_EXPECT_TRUE(test, kvp_wbuf_superseded(old));
	KUNIT_EXPECT_FALSE(test, kvp_wbuf_superseded(new));
}

static void dropping_an_old_version_leaves_the_newest(struct kunit *test)
{
	struct kvp_wbuf *w = test->priv;
	struct kvp_version *old = write(w, 7, 1), *new;

	advance(w, old, KVP_VERSION_LOGGED);
	new = write(w, 7, 2);
	drop(w, old);
	KUNIT_EXPECT_EQ(test, contents(w, 7), 2);
	KUNIT_EXPECT_EQ(test, kvp_wbuf_used(w), 1u);
	drop(w, new);
	KUNIT_EXPECT_EQ(test, contents(w, 7), -1);
	KUNIT_EXPECT_EQ(test, kvp_wbuf_used(w), 0u);
}

/* While an older version is not yet home, the next one must not be written directly. */
static void a_version_knows_that_it_follows_another(struct kunit *test)
{
	const struct stage *s = test->param_value;
	struct kvp_wbuf *w = test->priv;
	struct kvp_version *old = write(w, 7, 1), *new;

	KUNIT_EXPECT_FALSE(test, old->follows);
	advance(w, old, s->state);
	new = write(w, 7, 2);
	KUNIT_EXPECT_TRUE(test, new->follows);
	KUNIT_EXPECT_FALSE(test, write(w, 8, 1)->follows);
}

static void a_version_after_one_that_is_home_is_free(struct kunit *test)
{
	struct kvp_wbuf *w = test->priv;
	struct kvp_version *old = write(w, 7, 1);

	advance(w, old, KVP_VERSION_LOGGED);
	drop(w, old);
	KUNIT_EXPECT_FALSE(test, write(w, 7, 2)->follows);
}

/* A page returns from the free list like a new one. */
static void nothing_is_left_of_the_last_use(struct kunit *test)
{
	struct kvp_wbuf *w = test->priv;
	struct kvp_version *d = write(w, 7, 1), *again;

	d->intent = true;
	d->zero = true;
	d->follows = true;
	d->passed = true;
	d->crc = 5;
	d->lsn = 6;
	drop(w, d);
	clear_shelves(w);	/* pages at hand would be taken first */
	again = write(w, 9, 2);
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
	struct kvp_wbuf *w = test->priv;
	struct kvp_version *d = write(w, 100, 1);

	write(w, h->block - 1, 2);
	write(w, h->block + h->count, 3);
	punch(test, h->block, h->count);
	KUNIT_EXPECT_EQ(test, contents(w, 100), -1);
	KUNIT_EXPECT_TRUE(test, kvp_wbuf_superseded(d));
	KUNIT_EXPECT_TRUE(test, kvp_wbuf_in_hole(w, 100));
	KUNIT_EXPECT_EQ(test, contents(w, h->block - 1), 2);
	KUNIT_EXPECT_EQ(test, contents(w, h->block + h->count), 3);
	KUNIT_EXPECT_FALSE(test, kvp_wbuf_in_hole(w, h->block - 1));
	KUNIT_EXPECT_FALSE(test, kvp_wbuf_in_hole(w, h->block + h->count));
}

static void a_hole_is_over_when_it_is_dropped(struct kunit *test)
{
	struct kvp_wbuf *w = test->priv;
	struct kvp_version *first = punch(test, 10, 10), *second;

	/* while the first is buffered the second would become part of it */
	KUNIT_EXPECT_PTR_EQ(test, punch(test, 12, 4), first);
	advance(w, first, KVP_VERSION_LOGGED);
	second = punch(test, 15, 10);
	KUNIT_EXPECT_PTR_NE(test, first, second);
	KUNIT_EXPECT_TRUE(test, kvp_wbuf_any(w, 0, 11));
	KUNIT_EXPECT_TRUE(test, kvp_wbuf_any(w, 24, 1));
	drop(w, first);
	KUNIT_EXPECT_FALSE(test, kvp_wbuf_in_hole(w, 14));
	KUNIT_EXPECT_TRUE(test, kvp_wbuf_in_hole(w, 15));
	drop(w, second);
	KUNIT_EXPECT_FALSE(test, kvp_wbuf_in_hole(w, 15));
	KUNIT_EXPECT_FALSE(test, kvp_wbuf_any(w, 0, 100));
	KUNIT_EXPECT_EQ(test, w->nr_holes, 0);
}

static void a_write_into_a_hole_is_found(struct kunit *test)
{
	struct kvp_wbuf *w = test->priv;
	struct kvp_version *old = write(w, 7, 1), *hole = punch(test, 0, 100), *new;

	new = write(w, 7, 2);
	KUNIT_EXPECT_PTR_NE(test, new, old);
	KUNIT_EXPECT_EQ(test, contents(w, 7), 2);
	KUNIT_EXPECT_LT(test, old->seq, hole->seq);
	KUNIT_EXPECT_LT(test, hole->seq, new->seq);
}

static void order_of_acceptance_is_kept(struct kunit *test)
{
	struct kvp_wbuf *w = test->priv;
	struct kvp_version *d;
	u64 last = 0;

	write(w, 5, 1);
	write(w, 3, 1);
	punch(test, 3, 1);
	write(w, 5, 2);
	write(w, 3, 2);
	kvp_wbuf_seq(w);
	KUNIT_EXPECT_EQ(test, kvp_wbuf_buffered(w), 4u);
	list_for_each_entry(d, &w->buffered, list) {
		KUNIT_EXPECT_GT(test, d->seq, last);
		last = d->seq;
	}
	KUNIT_EXPECT_EQ(test, last, kvp_wbuf_seq(w));
}

/* A FLUSH after a rewrite in place must wait for the version that holds the rewrite. */
static void a_rewrite_is_covered_by_its_seq(struct kunit *test)
{
	struct kvp_wbuf *w = test->priv;
	struct kvp_version *d = kvp_wbuf_begin_write(w, 7, false);
	u64 seq, again;

	kvp_wbuf_end_write(w, d);
	KUNIT_EXPECT_EQ(test, d->seq, KVP_SEQ_LATER);
	seq = kvp_wbuf_seq(w);
	KUNIT_EXPECT_EQ(test, seq, d->seq);
	d = kvp_wbuf_begin_write(w, 7, false);
	kvp_wbuf_end_write(w, d);
	again = kvp_wbuf_seq(w);
	KUNIT_EXPECT_EQ(test, again, seq);
	KUNIT_EXPECT_EQ(test, d->seq, seq);
}

/* What shelves of other processors have is found when no other page is free. */
static void a_page_on_another_shelf_is_found(struct kunit *test)
{
	struct kvp_wbuf *w = test->priv;
	struct kvp_wbuf_shelf *mine, *other;
	u64 block;

	preempt_disable();
	write(w, 0, 1);
	mine = &w->shelves[raw_smp_processor_id() % ARRAY_SIZE(w->shelves)];
	other = &w->shelves[(raw_smp_processor_id() + 1) % ARRAY_SIZE(w->shelves)];
	swap(mine->at, other->at);
	swap(mine->end, other->end);
	memcpy(other->pages, mine->pages, sizeof(mine->pages));
	preempt_enable();
	KUNIT_EXPECT_NE(test, other->at, other->end);
	for (block = 1; block < LIMIT; block++)
		KUNIT_ASSERT_NOT_NULL(test, write(w, block, 1));
	KUNIT_EXPECT_NULL(test, write(w, LIMIT, 1));
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
	struct kvp_wbuf *w = test->priv;
	struct kvp_version *old = write(w, 7, 1), *new;

	advance(w, old, KVP_VERSION_LOGGED);
	new = s->hole ? punch(test, 0, 100) : write(w, 7, 2);
	new->intent = s->intent;
	advance(w, new, s->state);
	if (s->dropped)
		drop(w, new);
	KUNIT_EXPECT_EQ(test, kvp_wbuf_outlived(w, old), s->outlived);
}

static void the_newest_version_is_not_outlived(struct kunit *test)
{
	struct kvp_wbuf *w = test->priv;
	struct kvp_version *d = write(w, 7, 1);

	advance(w, d, KVP_VERSION_LOGGED);
	punch(test, 8, 100);
	KUNIT_EXPECT_FALSE(test, kvp_wbuf_outlived(w, d));
}

static void a_full_buffer_takes_no_more(struct kunit *test)
{
	struct kvp_wbuf *w = test->priv;
	u64 block;

	for (block = 0; block < LIMIT; block++)
		KUNIT_ASSERT_NOT_NULL(test, write(w, block, 1));
	KUNIT_EXPECT_NULL(test, write(w, LIMIT, 1));
	KUNIT_EXPECT_EQ(test, contents(w, LIMIT), -1);
	KUNIT_EXPECT_PTR_NE(test, write(w, 5, 2), NULL);	/* in place */
	KUNIT_EXPECT_EQ(test, told_of_space, 0);
	kvp_wbuf_seq(w);
	drop(w, list_first_entry(&w->buffered, struct kvp_version, list));
	KUNIT_EXPECT_EQ(test, told_of_space, 1);
	KUNIT_EXPECT_NOT_NULL(test, write(w, LIMIT, 1));
	KUNIT_EXPECT_EQ(test, kvp_wbuf_used(w), LIMIT);
}

static void a_full_buffer_does_not_lose_the_old_version(struct kunit *test)
{
	struct kvp_wbuf *w = test->priv;
	struct kvp_version *old = write(w, 0, 1);
	u64 block;

	advance(w, old, KVP_VERSION_LOGGED);
	for (block = 1; block < LIMIT; block++)
		KUNIT_ASSERT_NOT_NULL(test, write(w, block, 1));
	KUNIT_EXPECT_NULL(test, write(w, 0, 2));
	KUNIT_EXPECT_EQ(test, contents(w, 0), 1);
	KUNIT_EXPECT_FALSE(test, kvp_wbuf_superseded(old));
}

static void a_lower_limit_frees_pages(struct kunit *test)
{
	struct kvp_wbuf *w = test->priv;
	LIST_HEAD(all);
	u64 block;

	for (block = 0; block < LIMIT; block++)
		KUNIT_ASSERT_NOT_NULL(test, write(w, block, 1));
	kvp_wbuf_set_limit(w, 10);
	KUNIT_EXPECT_NULL(test, write(w, LIMIT, 1));
	kvp_wbuf_seq(w);
	list_splice_init(&w->buffered, &all);
	kvp_wbuf_drop_list(w, &all);
	/* In whole chunks. */
	KUNIT_EXPECT_EQ(test, w->pages, KVP_CHUNK_PAGES);
	KUNIT_EXPECT_EQ(test, kvp_wbuf_used(w), 0u);
	KUNIT_EXPECT_EQ(test, told_of_space, 2);
}

/* Pages that no version has are not handed out first. */
static void a_lower_limit_frees_unused_pages(struct kunit *test)
{
	struct kvp_wbuf *w = test->priv;
	u32 limit = LIMIT - 2 * KVP_CHUNK_PAGES, n;

	KUNIT_ASSERT_NOT_NULL(test, write(w, 0, 1));
	KUNIT_ASSERT_EQ(test, w->pages, LIMIT);
	kvp_wbuf_set_limit(w, limit);
	KUNIT_EXPECT_EQ(test, w->pages, limit);
	for (n = 1; n < LIMIT && write(w, n, 1);)
		n++;
	KUNIT_EXPECT_EQ(test, n, limit);
	KUNIT_EXPECT_EQ(test, kvp_wbuf_used(w), limit);
	KUNIT_EXPECT_EQ(test, contents(w, 0), 1);
}

static void single_pages_do_as_well(struct kunit *test)
{
	struct kvp_wbuf *w = test->priv;
	LIST_HEAD(all);
	u64 block;

	kvp_wbuf_exit(w);
	memory_is_scattered = true;
	KUNIT_ASSERT_EQ(test, kvp_wbuf_init(w, &client, LIMIT, 0), 0);
	for (block = 0; block < LIMIT; block++)
		KUNIT_ASSERT_NOT_NULL(test, write(w, block, block));
	for (block = 0; block < LIMIT; block++)
		KUNIT_EXPECT_EQ(test, contents(w, block), block);
	kvp_wbuf_seq(w);
	list_splice_init(&w->buffered, &all);
	kvp_wbuf_drop_list(w, &all);
	KUNIT_EXPECT_EQ(test, kvp_wbuf_used(w), 0u);
}

static void without_memory_a_write_is_refused(struct kunit *test)
{
	struct kvp_wbuf *w = test->priv;
	u64 block;

	kvp_wbuf_set_limit(w, 2 * LIMIT);
	for (block = 0; block < LIMIT; block++)
		KUNIT_ASSERT_NOT_NULL(test, write(w, block, 1));
	memory_is_short = true;
	KUNIT_EXPECT_NULL(test, write(w, LIMIT, 1));
	KUNIT_EXPECT_EQ(test, w->pages, LIMIT);
	KUNIT_EXPECT_EQ(test, kvp_wbuf_used(w), LIMIT);
	memory_is_short = false;
	KUNIT_EXPECT_NOT_NULL(test, write(w, LIMIT, 1));
}

static void without_memory_there_is_no_buffer(struct kunit *test)
{
	struct kvp_wbuf *w = test->priv;

	kvp_wbuf_exit(w);
	memory_is_short = true;
	KUNIT_EXPECT_EQ(test, kvp_wbuf_init(w, &client, LIMIT, 0), -ENOMEM);
	KUNIT_EXPECT_NULL(test, w->buckets);
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
	.init = make_buffer,
	.exit = drop_buffer,
	.test_cases = cases,
};
kunit_test_suite(suite);
