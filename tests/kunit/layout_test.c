// SPDX-License-Identifier: GPL-2.0-only
/* Layout: properties that hold for every size, and refusals. */
#include <linux/bitmap.h>

#include "kvpool_kunit.h"
#include "policy/dirty.h"
#include "format/layout.c"
#include "format/logstripe.c"
#include "format/stripe.c"

#define MIB_BLOCKS	256ull
#define GIB_BLOCKS	(1024 * MIB_BLOCKS)
#define TIB_BLOCKS	(1024 * GIB_BLOCKS)

struct leg {
	const char *name;
	u64 blocks, use_blocks, log_bytes;
	u32 kind, legs;
};

static const struct leg legs[] = {
	{ "smallest", 2048, 0, 0, KVP_VDEV_SINGLE, 1 },
	{ "smallest, odd", 2049, 0, 0, KVP_VDEV_SINGLE, 1 },
	{ "16 MiB", 16 * MIB_BLOCKS, 0, 0, KVP_VDEV_MIRROR, 2 },
	{ "100 MB", 24414, 0, 0, KVP_VDEV_MIRROR, 3 },
	{ "256 MiB", 256 * MIB_BLOCKS, 0, 0, KVP_VDEV_MIRROR, 2 },
	{ "1 GiB, smallest log", GIB_BLOCKS, 0, 4 << 20, KVP_VDEV_MIRROR, 2 },
	{ "1 GiB, odd log", GIB_BLOCKS, 0, (4 << 20) + 1, KVP_VDEV_MIRROR, 2 },
	{ "1 GiB, log of 100 MB", GIB_BLOCKS, 0, 100000000, KVP_VDEV_MIRROR, 2 },
	{ "1 TB, uses 10 GiB", 244190646, 10 * GIB_BLOCKS, 0, KVP_VDEV_MIRROR, 16 },
	{ "uses more than there is", GIB_BLOCKS, GIB_BLOCKS + 1, 0, KVP_VDEV_SINGLE, 1 },
	{ "last with one level", 1024 * 512 + 7000, 0, 0, KVP_VDEV_SINGLE, 1 },
	{ "1 TiB", TIB_BLOCKS, 0, 0, KVP_VDEV_MIRROR, 2 },
	{ "1 TiB, largest log", TIB_BLOCKS, 0, 64ull << 30, KVP_VDEV_MIRROR, 2 },
	{ "20 TB", 4882812500ull, 0, 0, KVP_VDEV_MIRROR, 2 },
	{ "100 TiB less one block", 100 * TIB_BLOCKS - 1, 0, 0, KVP_VDEV_SINGLE, 1 },
	{ "512 TiB", 512 * TIB_BLOCKS, 0, 0, KVP_VDEV_MIRROR, 2 },
};
KUNIT_ARRAY_PARAM_DESC(leg, legs, name);

static struct kvp_geometry lay_out(struct kunit *test)
{
	const struct leg *l = test->param_value;
	struct kvp_geometry g = {};
	struct kvp_why why = {};

	KUNIT_ASSERT_EQ_MSG(test, kvp_layout(l->kind, l->legs, l->blocks, l->use_blocks,
					     l->log_bytes, &g, &why), 0, "%s", why.text);
	return g;
}

static u64 table_end(const struct kvp_geometry *g)
{
	return g->table_start + kvp_table_blocks(g);
}

static void regions_never_overlap(struct kunit *test)
{
	const struct leg *l = test->param_value;
	struct kvp_geometry g = lay_out(test);
	u64 usable = min(l->use_blocks ?: l->blocks, l->blocks);

	KUNIT_EXPECT_GE(test, g.table_start, KVP_LABEL_BLOCKS);
	KUNIT_EXPECT_LE(test, table_end(&g), g.table_copy ?: g.log_start);
	KUNIT_EXPECT_LE(test, kvp_page_copy(&g, table_end(&g), kvp_table_copies(&g) - 1),
			g.log_start);
	KUNIT_EXPECT_LE(test, g.log_start + kvp_log_blocks(&g), g.data_start);
	KUNIT_EXPECT_LE(test, g.data_start + g.data_blocks, usable - KVP_LABEL_BLOCKS);
}

static void regions_begin_at_whole_mebibytes(struct kunit *test)
{
	struct kvp_geometry g = lay_out(test);

	KUNIT_EXPECT_EQ(test, g.table_start % MIB_BLOCKS, 0);
	KUNIT_EXPECT_EQ(test, g.log_start % MIB_BLOCKS, 0);
	KUNIT_EXPECT_EQ(test, g.data_start % MIB_BLOCKS, 0);
}

static void a_layout_passes_its_own_check(struct kunit *test)
{
	const struct leg *l = test->param_value;
	struct kvp_geometry g = lay_out(test);
	struct kvp_why why = {};

	KUNIT_EXPECT_EQ_MSG(test, kvp_geometry_check(&g, l->blocks, &why), 0, "%s", why.text);
	KUNIT_EXPECT_EQ(test, g.kind, l->kind);
	KUNIT_EXPECT_EQ(test, g.leg_count, l->legs);
	KUNIT_EXPECT_EQ(test, kvp_table_copies(&g), l->legs == 1 ? 2 : 1);
}

static void the_roots_fit_into_the_superblock(struct kunit *test)
{
	struct kvp_geometry g = lay_out(test);

	KUNIT_EXPECT_LE(test, kvp_pages_at(&g, g.levels - 1), KVP_MAX_ROOTS);
	if (g.levels > 1)	/* and every level is needed */
		KUNIT_EXPECT_GT(test, kvp_pages_at(&g, g.levels - 2), KVP_MAX_ROOTS);
}

static void little_is_lost(struct kunit *test)
{
	const struct leg *l = test->param_value;
	struct kvp_geometry g = lay_out(test);
	u64 usable = min(l->use_blocks ?: l->blocks, l->blocks);
	u64 rest = usable - 2 * KVP_LABEL_BLOCKS - kvp_log_blocks(&g);

	/* A copy of the table takes 1 in 256, alignment up to 1 MiB a region. */
	KUNIT_EXPECT_GE(test, g.data_blocks + 3 * MIB_BLOCKS,
			rest - rest / 200 * kvp_table_copies(&g));
}

static void the_log_has_whole_segments(struct kunit *test)
{
	const struct leg *l = test->param_value;
	struct kvp_geometry g = lay_out(test);

	KUNIT_EXPECT_GE(test, g.segments, KVP_MIN_SEGMENTS);
	KUNIT_EXPECT_GE(test, g.segment_blocks, KVP_MAX_ENTRY_BLOCKS);
	if (l->log_bytes)
		KUNIT_EXPECT_LE(test, kvp_log_blocks(&g) << KVP_BLOCK_SHIFT, l->log_bytes);
}

/* Positions far into the life of a log, around the end of a round. */
static void an_entry_never_wraps(struct kunit *test)
{
	struct kvp_geometry g = lay_out(test);
	u64 log = kvp_log_blocks(&g), round;
	int step;

	for (round = 1; round < 1ull << 55; round = round * 1001 + 1) {
		for (step = -3; step <= 3; step++) {
			u64 lsn = min(round, (1ull << 55) / log) * log + step;
			u64 end = kvp_log_segment_end(&g, lsn);

			KUNIT_EXPECT_GT(test, end, lsn);
			KUNIT_EXPECT_LE(test, end - lsn, g.segment_blocks);
			KUNIT_EXPECT_LE(test, kvp_log_pos(&g, lsn) + (end - lsn), log);
			KUNIT_EXPECT_EQ(test, kvp_log_pos(&g, lsn), kvp_log_pos(&g, lsn + log));
			KUNIT_EXPECT_EQ(test, end % g.segment_blocks, 0);
		}
	}
}

/* Every slot of every page, for sizes small enough. */
static void no_two_pages_share_a_block(struct kunit *test)
{
	struct kvp_geometry g = lay_out(test);
	u64 blocks = kvp_table_blocks(&g), index;
	unsigned long *seen;
	unsigned int slot;
	u32 level;

	if (blocks > 1 << 14)
		kunit_skip(test, "too many pages");
	seen = kunit_kcalloc(test, BITS_TO_LONGS(blocks), sizeof(long), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, seen);
	for (level = 0; level < g.levels; level++) {
		for (index = 0; index < 2 * kvp_pages_at(&g, level); index++) {
			slot = index & 1;
			u64 at = kvp_page_block(&g, level, index / 2, slot) - g.table_start;

			KUNIT_ASSERT_LT(test, at, blocks);
			KUNIT_ASSERT_FALSE(test, test_and_set_bit(at, seen));
		}
	}
}

/* The ends of each level, for sizes with too many pages to check all. */
static void levels_lie_one_behind_the_other(struct kunit *test)
{
	struct kvp_geometry g = lay_out(test);
	u64 end = g.table_start;
	u32 level;

	for (level = 0; level < g.levels; level++) {
		u64 pages = kvp_pages_at(&g, level);

		KUNIT_EXPECT_EQ(test, kvp_page_block(&g, level, 0, 0), end);
		end += 2 * round_up_to(pages, KVP_SLOT_GROUP);
		KUNIT_EXPECT_LT(test, kvp_page_block(&g, level, pages - 1, 1), end);
	}
	KUNIT_EXPECT_EQ(test, end, table_end(&g));
}

static void slots_lie_in_groups_of_sixteen(struct kunit *test)
{
	struct kvp_geometry g = { .kind = KVP_VDEV_MIRROR, .leg_count = 2, .table_start = 256,
				  .data_blocks = 512 * 40, .levels = 1 };
	u64 index;

	for (index = 0; index < 40; index++) {
		u64 group = 256 + index / 16 * 32;

		KUNIT_EXPECT_EQ(test, kvp_page_block(&g, 0, index, 0), group + index % 16);
		KUNIT_EXPECT_EQ(test, kvp_page_block(&g, 0, index, 1), group + 16 + index % 16);
	}
}

struct refused_layout {
	const char *name;
	struct leg leg;
	int err;
	const char *words;
};

static const struct refused_layout refused_layouts[] = {
	{ "single of two", { "", GIB_BLOCKS, 0, 0, KVP_VDEV_SINGLE, 2 }, -EINVAL, "one leg" },
	{ "single of none", { "", GIB_BLOCKS, 0, 0, KVP_VDEV_SINGLE, 0 }, -EINVAL, "one leg" },
	{ "mirror of one", { "", GIB_BLOCKS, 0, 0, KVP_VDEV_MIRROR, 1 }, -EINVAL, "2 to 16" },
	{ "mirror of 17", { "", GIB_BLOCKS, 0, 0, KVP_VDEV_MIRROR, 17 }, -EINVAL, "2 to 16" },
	{ "kind 0", { "", GIB_BLOCKS, 0, 0, 0, 2 }, -EINVAL, "mirror" },
	{ "parity1 of two", { "", GIB_BLOCKS, 0, 0, KVP_VDEV_PARITY1, 2 }, -EINVAL, "3 to 16" },
	{ "parity1 of 17", { "", GIB_BLOCKS, 0, 0, KVP_VDEV_PARITY1, 17 }, -EINVAL, "3 to 16" },
	{ "empty leg", { "", 0, 0, 0, KVP_VDEV_SINGLE, 1 }, -ENOSPC, "too few" },
	{ "one block", { "", 1, 0, 0, KVP_VDEV_SINGLE, 1 }, -ENOSPC, "too few" },
	{ "only labels", { "", 512, 0, 0, KVP_VDEV_SINGLE, 1 }, -ENOSPC, "too few" },
	{ "one block short", { "", 2047, 0, 0, KVP_VDEV_SINGLE, 1 }, -ENOSPC, "too few" },
	{ "uses one block less than it must", { "", GIB_BLOCKS, 2047, 0, KVP_VDEV_SINGLE, 1 },
	  -ENOSPC, "too few" },
	{ "log larger than the leg", { "", GIB_BLOCKS, 0, 2ull << 30, KVP_VDEV_SINGLE, 1 },
	  -ENOSPC, "too few" },
	{ "log one byte too small", { "", GIB_BLOCKS, 0, (4 << 20) - 1, KVP_VDEV_SINGLE, 1 },
	  -EINVAL, "log size" },
	{ "log one byte too large", { "", TIB_BLOCKS, 0, (64ull << 30) + 1, KVP_VDEV_SINGLE, 1 },
	  -EINVAL, "log size" },
};
KUNIT_ARRAY_PARAM_DESC(refused_layout, refused_layouts, name);

static void a_layout_is_refused(struct kunit *test)
{
	const struct refused_layout *r = test->param_value;
	const struct leg *l = &r->leg;
	struct kvp_geometry g = {};
	struct kvp_why why = {};

	KUNIT_EXPECT_EQ(test, kvp_layout(l->kind, l->legs, l->blocks, l->use_blocks, l->log_bytes,
					 &g, &why), r->err);
	EXPECT_WHY(test, &why, r->words);
}

/* More than the table can describe: the layout is refused, or uses only a part. */
static void a_leg_can_be_too_large(struct kunit *test)
{
	struct kvp_geometry g = {};
	struct kvp_why why = {};
	int shift;

	for (shift = 38; shift <= 52; shift++) {
		if (kvp_layout(KVP_VDEV_SINGLE, 1, 1ull << shift, 0, 0, &g, &why))
			continue;
		KUNIT_EXPECT_EQ_MSG(test, kvp_geometry_check(&g, 1ull << shift, &why), 0,
				    "2^%d blocks: %s", shift, why.text);
		KUNIT_EXPECT_LE(test, kvp_pages_at(&g, g.levels - 1), KVP_MAX_ROOTS);
	}
}

/* A geometry as it may come from a device, with one fault. */
struct spoilt {
	const char *name;
	void (*spoil)(struct kvp_geometry *g);
	const char *words;		/* NULL: it has no fault */
};

#define SPOIL(id, change) \
	static void spoil_##id(struct kvp_geometry *g) { change; }

SPOIL(nothing, (void)g)
SPOIL(kind, g->kind = KVP_VDEV_CACHE)
SPOIL(parity_of_two, g->kind = KVP_VDEV_PARITY1)
SPOIL(no_chunk, g->kind = KVP_VDEV_PARITY1; g->leg_count = 3)
SPOIL(kind_huge, g->kind = ~0u)
SPOIL(no_legs, g->leg_count = 0)
SPOIL(one_leg, g->leg_count = 1)
SPOIL(many_legs, g->leg_count = 17)
SPOIL(no_data, g->data_blocks = 0)
SPOIL(much_data, g->data_blocks = ~0ull)
SPOIL(data_reaches_label, g->data_blocks = GIB_BLOCKS - KVP_LABEL_BLOCKS - g->data_start + 1)
SPOIL(data_ends_at_label, g->data_blocks = GIB_BLOCKS - KVP_LABEL_BLOCKS - g->data_start)
SPOIL(data_far, g->data_start = ~0ull)
SPOIL(data_wraps, g->data_start = ~0ull - g->data_blocks + 2)
SPOIL(data_in_label, g->data_start = 0)
SPOIL(no_levels, g->levels = 0)
SPOIL(many_levels, g->levels = 4)
SPOIL(levels_huge, g->levels = ~0u)
SPOIL(small_segments, g->segment_blocks = KVP_MAX_ENTRY_BLOCKS - 1)
SPOIL(no_segment_blocks, g->segment_blocks = 0)
SPOIL(large_segments, g->segment_blocks = 65537)
SPOIL(few_segments, g->segments = KVP_MIN_SEGMENTS - 1)
SPOIL(many_segments, g->segments = ~0u)
SPOIL(log_far, g->log_start = ~0ull)
SPOIL(log_in_label, g->log_start = KVP_LABEL_BLOCKS - 1)
SPOIL(log_over_data, g->log_start += g->segment_blocks)
SPOIL(log_in_table, g->log_start = g->table_start)
SPOIL(table_in_label, g->table_start = KVP_LABEL_BLOCKS - 1)
SPOIL(table_far, g->table_start = ~0ull - 3)
SPOIL(table_over_log, g->table_start = g->log_start)
SPOIL(table_behind_data, g->table_start = g->data_start)
SPOIL(copy_in_label, g->table_copy = 1)
SPOIL(copy_in_table, g->table_copy = g->table_start + 1)
SPOIL(copy_in_log, g->table_copy = g->log_start - 1)
SPOIL(window_of_data, g->log_window = KVP_LOG_WINDOW_LEAST)
SPOIL(copy_far, g->table_copy = ~0ull)
SPOIL(copy_between, g->log_start += 1024; g->data_start += 1024; g->data_blocks -= 1024;
      g->table_copy = g->log_start - kvp_table_blocks(g))

static const struct spoilt spoilt[] = {
	{ "nothing", spoil_nothing, NULL },
	{ "cache with data", spoil_kind, "of a cache" },
	{ "parity1 of two", spoil_parity_of_two, "number of legs" },
	{ "parity1 without chunks", spoil_no_chunk, "chunk" },
	{ "unknown kind", spoil_kind_huge, "kind" },
	{ "mirror of none", spoil_no_legs, "number of legs" },
	{ "mirror of one", spoil_one_leg, "number of legs" },
	{ "mirror of 17", spoil_many_legs, "number of legs" },
	{ "no data", spoil_no_data, "data area" },
	{ "endless data", spoil_much_data, "data area" },
	{ "data reaches into the label", spoil_data_reaches_label, "data area" },
	{ "data ends at the label", spoil_data_ends_at_label, NULL },
	{ "data far away", spoil_data_far, "data area" },
	{ "data wraps", spoil_data_wraps, "data area" },
	{ "data in the label", spoil_data_in_label, "data area" },
	{ "no levels", spoil_no_levels, "table levels" },
	{ "four levels", spoil_many_levels, "table levels" },
	{ "endless levels", spoil_levels_huge, "table levels" },
	{ "segments too small", spoil_small_segments, "log area" },
	{ "segments of nothing", spoil_no_segment_blocks, "log area" },
	{ "segments too large", spoil_large_segments, "log area" },
	{ "too few segments", spoil_few_segments, "log area" },
	{ "endless segments", spoil_many_segments, "log area" },
	{ "log far away", spoil_log_far, "log area" },
	{ "log in the label", spoil_log_in_label, "log area" },
	{ "log reaches into the data", spoil_log_over_data, "order of the areas" },
	{ "log in the table", spoil_log_in_table, "order of the areas" },
	{ "a cache's window", spoil_window_of_data, "log area" },
	{ "table in the label", spoil_table_in_label, "table area" },
	{ "table far away", spoil_table_far, "table area" },
	{ "table in the log", spoil_table_over_log, "order of the areas" },
	{ "table behind the data", spoil_table_behind_data, "order of the areas" },
	{ "second table in the label", spoil_copy_in_label, "second copy" },
	{ "second table in the first", spoil_copy_in_table, "second copy" },
	{ "second table in the log", spoil_copy_in_log, "second copy" },
	{ "second table far away", spoil_copy_far, "second copy" },
	{ "second table before the log", spoil_copy_between, NULL },
};
KUNIT_ARRAY_PARAM_DESC(spoilt, spoilt, name);

static void a_geometry_is_checked(struct kunit *test)
{
	const struct spoilt *s = test->param_value;
	struct kvp_geometry g = {};
	struct kvp_why why = {};
	int ret;

	ret = kvp_layout(KVP_VDEV_MIRROR, 2, GIB_BLOCKS, 0, 0, &g, &why);
	KUNIT_ASSERT_EQ(test, ret, 0);
	s->spoil(&g);
	ret = kvp_geometry_check(&g, GIB_BLOCKS, &why);
	KUNIT_EXPECT_EQ(test, ret, s->words ? -EUCLEAN : 0);
	if (s->words)
		EXPECT_WHY(test, &why, s->words);
}

static void a_sound_geometry_needs_a_device_of_its_size(struct kunit *test)
{
	static const u64 sizes[] = { 0, 1, 511, 512, 513, GIB_BLOCKS - 10 * MIB_BLOCKS };
	struct kvp_geometry g = {};
	struct kvp_why why = {};
	int i, ret;

	ret = kvp_layout(KVP_VDEV_MIRROR, 2, GIB_BLOCKS, 0, 0, &g, &why);
	KUNIT_ASSERT_EQ(test, ret, 0);
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		KUNIT_EXPECT_EQ_MSG(test, kvp_geometry_check(&g, sizes[i], &why), -EUCLEAN,
				    "%llu blocks", sizes[i]);
}

/* The dirty limit of a cache: the size asked for, and the size recorded. */
struct asked_window {
	const char *name;
	u64 leg_blocks, asked;
	int err;
	u64 noted, window;
};

#define CACHE_4G	(4 * GIB_BLOCKS)

static const struct asked_window asked_windows[] = {
	{ "nothing", CACHE_4G, 0, 0, 0, 1 << 18 },
	{ "the default", CACHE_4G, 1 << 18, 0, 0, 1 << 18 },
	{ "the default and a little", CACHE_4G, (1 << 18) + 511, 0, 0, 1 << 18 },
	{ "twice that", CACHE_4G, 1 << 19, 0, 1 << 19, 1 << 19 },
	{ "no whole segments", CACHE_4G, (1 << 19) + 1, 0, 1 << 19, 1 << 19 },
	{ "the least", CACHE_4G, 1 << 14, 0, 1 << 14, 1 << 14 },
	{ "too little", CACHE_4G, (1 << 14) - 1, -ERANGE, 0, 0 },
	{ "a block", CACHE_4G, 1, -ERANGE, 0, 0 },
	{ "the most", 128 * GIB_BLOCKS, 1 << 24, 0, 1 << 24, 1 << 24 },
	{ "too much", 128 * GIB_BLOCKS, (1 << 24) + 1, -ERANGE, 0, 0 },
	{ "endless", 128 * GIB_BLOCKS, ~0ull, -ERANGE, 0, 0 },
	{ "more than the cache has", 80 * MIB_BLOCKS, 1 << 18, 0, 0, 0 },
	{ "a part of a small cache", 80 * MIB_BLOCKS, 1 << 14, 0, 1 << 14, 1 << 14 },
	{ "more than a smaller cache has", 40 * MIB_BLOCKS, 1 << 14, 0, 0, 0 },
};
KUNIT_ARRAY_PARAM_DESC(asked_window, asked_windows, name);

static void a_window_is_chosen(struct kunit *test)
{
	const struct asked_window *a = test->param_value;
	struct kvp_geometry g = { .log_window = a->asked };
	struct kvp_why why = {};
	int ret = kvp_layout_cache(KVP_VDEV_CACHE, 2, a->leg_blocks, &g, &why);

	KUNIT_ASSERT_EQ_MSG(test, ret, a->err, "%s", why.text);
	if (ret) {
		EXPECT_WHY(test, &why, "64 MiB and 64 GiB");
		return;
	}
	KUNIT_EXPECT_EQ(test, g.log_window, a->noted);
	KUNIT_EXPECT_EQ(test, kvp_log_window(&g), a->window ?: kvp_log_blocks(&g));
	KUNIT_EXPECT_EQ(test, kvp_geometry_check(&g, a->leg_blocks, &why), 0);
}

static void a_window_is_checked(struct kunit *test)
{
	static const u64 bad[] = { 1, 511, 512, (1 << 14) - 512, (1 << 14) + 1, (1 << 18) + 256,
		(1 << 24) + 512,
				   0xfffffe00, ~0u };
	struct kvp_geometry g = {};
	struct kvp_why why = {};
	int i;

	KUNIT_ASSERT_EQ(test, kvp_layout_cache(KVP_VDEV_CACHE, 2, 128 * GIB_BLOCKS, &g, &why), 0);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		g.log_window = bad[i];
		KUNIT_EXPECT_EQ_MSG(test, kvp_geometry_check(&g, 128 * GIB_BLOCKS, &why), -EUCLEAN,
				    "%llu", bad[i]);
		EXPECT_WHY(test, &why, "window of the log");
	}
	g.log_window = 0;
	KUNIT_ASSERT_EQ(test, kvp_layout_cache(KVP_VDEV_CACHE, 2, GIB_BLOCKS, &g, &why), 0);
	g.log_window = kvp_log_blocks(&g) + g.segment_blocks;
	KUNIT_EXPECT_EQ(test, kvp_geometry_check(&g, GIB_BLOCKS, &why), -EUCLEAN);
	g.log_window = kvp_log_blocks(&g);
	KUNIT_EXPECT_EQ(test, kvp_geometry_check(&g, GIB_BLOCKS, &why), 0);
}

/* Chains must stay short on a cache; elsewhere the size is as before. */
static void the_hash_table_grows_with_the_window(struct kunit *test)
{
	struct kvp_geometry g = {};
	struct kvp_why why = {};

	KUNIT_EXPECT_EQ(test, kvp_wbuf_bucket_bits(0), 14);
	KUNIT_EXPECT_EQ(test, kvp_wbuf_bucket_bits(1 << 14), 14);
	KUNIT_EXPECT_EQ(test, kvp_wbuf_bucket_bits(1 << 17), 14);
	KUNIT_EXPECT_EQ(test, kvp_wbuf_bucket_bits((1 << 17) + 1), 15);
	KUNIT_EXPECT_EQ(test, kvp_wbuf_bucket_bits(1 << 18), 15);
	KUNIT_EXPECT_EQ(test, kvp_wbuf_bucket_bits(1 << 24), 21);
	KUNIT_ASSERT_EQ(test, kvp_layout_cache(KVP_VDEV_CACHE, 2, 128 * GIB_BLOCKS, &g, &why), 0);
	g.log_window = 1 << 24;
	KUNIT_EXPECT_EQ(test, kvp_dirty_ram(&g), (384ull << 20) + (16 << 20));
}

/* Legs of more than 16 TiB have more rows than 32 bits count. */
/* What a layout uses of a leg, and the label area behind that, is nearly all of the leg. */
static void all_of_a_leg_is_used(struct kunit *test)
{
	static const struct {
		u32 kind, legs;
	} vdevs[] = {
		{ KVP_VDEV_SINGLE, 1 }, { KVP_VDEV_MIRROR, 2 }, { KVP_VDEV_PARITY1, 3 },
		{ KVP_VDEV_PARITY1, 16 },
	};
	struct kvp_geometry g;
	struct kvp_why why;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(vdevs); i++) {
		memset(&g, 0, sizeof(g));
		KUNIT_ASSERT_EQ(test, kvp_layout(vdevs[i].kind, vdevs[i].legs, GIB_BLOCKS, 0, 0, &g,
						 &why), 0);
		KUNIT_EXPECT_LE(test, kvp_leg_used(&g), (u64)GIB_BLOCKS);
		KUNIT_EXPECT_GT(test, kvp_leg_used(&g), GIB_BLOCKS - 4 * KVP_LABEL_BLOCKS);
	}
}

static void rows_beyond_32_bits(struct kunit *test)
{
	struct kvp_geometry g = {};
	struct kvp_why why = {};
	u64 row, block;
	u32 piece;

	KUNIT_ASSERT_EQ(test, kvp_layout(KVP_VDEV_PARITY1, 5, 64 * TIB_BLOCKS, 0, 0, &g, &why), 0);
	KUNIT_ASSERT_GT(test, kvp_row_count(&g), 3ull << 32);
	for (row = (3ull << 32) - 20; row < (3ull << 32) + 20; row++) {
		KUNIT_EXPECT_EQ(test, kvp_parity_place(&g, row).block, g.data_start + row);
		for (piece = 1; piece < g.leg_count; piece++) {
			block = kvp_row_block(&g, row, piece);
			KUNIT_EXPECT_EQ(test, kvp_row_of(&g, block), row);
			KUNIT_EXPECT_EQ(test, kvp_piece_of(&g, block), piece);
			KUNIT_EXPECT_EQ(test, kvp_data_place(&g, block).block, g.data_start + row);
			KUNIT_EXPECT_EQ(test, kvp_entry_index(&g, block) >> KVP_PTRS_SHIFT,
					kvp_parity_index(&g, row) >> KVP_PTRS_SHIFT);
		}
	}
}

/* Bytes of logs of four and of five segments of 256 blocks. */
#define FOUR_SEGMENTS	(4ull << 20)
#define FIVE_SEGMENTS	(5ull << 20)

static const struct discard_room {
	const char *name;
	u32 chunk;
	u64 log_bytes;
	bool holds;
} discard_rooms[] = {
	{ "half the largest chunk", 64, FOUR_SEGMENTS, true },
	{ "largest chunk", 128, FOUR_SEGMENTS, false },
	{ "largest chunk, nearly a segment more", 128, FIVE_SEGMENTS - 1, false },
	{ "largest chunk, a segment more", 128, FIVE_SEGMENTS, true },
};
KUNIT_ARRAY_PARAM_DESC(discard_room, discard_rooms, name);

static void a_log_holds_a_discard(struct kunit *test)
{
	const struct discard_room *r = test->param_value;
	struct kvp_geometry g = { .chunk_blocks = r->chunk };
	struct kvp_why why = {};
	int ret = kvp_layout(KVP_VDEV_PARITY1, 3, GIB_BLOCKS, 0, r->log_bytes, &g, &why);

	KUNIT_EXPECT_EQ_MSG(test, ret, r->holds ? 0 : -EINVAL, "%s", why.text);
	if (!r->holds)
		EXPECT_WHY(test, &why, "too small for chunks of 512 KiB");

	/* The same as it may come from a device. */
	g.chunk_blocks = r->chunk;
	ret = kvp_layout(KVP_VDEV_PARITY1, 3, GIB_BLOCKS, 0, FIVE_SEGMENTS, &g, &why);
	KUNIT_ASSERT_EQ_MSG(test, ret, 0, "%s", why.text);
	KUNIT_ASSERT_EQ(test, g.segments, 5);
	g.segments = (u32)((r->log_bytes >> KVP_BLOCK_SHIFT) / g.segment_blocks);
	ret = kvp_geometry_check(&g, GIB_BLOCKS, &why);
	KUNIT_EXPECT_EQ_MSG(test, ret, r->holds ? 0 : -EUCLEAN, "%s", why.text);
	if (!r->holds)
		EXPECT_WHY(test, &why, "log size for its chunks");
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(regions_never_overlap, leg_gen_params),
	KUNIT_CASE_PARAM(regions_begin_at_whole_mebibytes, leg_gen_params),
	KUNIT_CASE_PARAM(a_layout_passes_its_own_check, leg_gen_params),
	KUNIT_CASE_PARAM(the_roots_fit_into_the_superblock, leg_gen_params),
	KUNIT_CASE_PARAM(little_is_lost, leg_gen_params),
	KUNIT_CASE_PARAM(the_log_has_whole_segments, leg_gen_params),
	KUNIT_CASE_PARAM(an_entry_never_wraps, leg_gen_params),
	KUNIT_CASE_PARAM(no_two_pages_share_a_block, leg_gen_params),
	KUNIT_CASE_PARAM(levels_lie_one_behind_the_other, leg_gen_params),
	KUNIT_CASE(slots_lie_in_groups_of_sixteen),
	KUNIT_CASE_PARAM(a_layout_is_refused, refused_layout_gen_params),
	KUNIT_CASE(a_leg_can_be_too_large),
	KUNIT_CASE(rows_beyond_32_bits),
	KUNIT_CASE(all_of_a_leg_is_used),
	KUNIT_CASE_PARAM(a_geometry_is_checked, spoilt_gen_params),
	KUNIT_CASE(a_sound_geometry_needs_a_device_of_its_size),
	KUNIT_CASE_PARAM(a_log_holds_a_discard, discard_room_gen_params),
	KUNIT_CASE_PARAM(a_window_is_chosen, asked_window_gen_params),
	KUNIT_CASE(a_window_is_checked),
	KUNIT_CASE(the_hash_table_grows_with_the_window),
	{}
};

static struct kunit_suite suite = {
	.name = "kvpool_layout",
	.test_cases = cases,
};
kunit_test_suite(suite);
