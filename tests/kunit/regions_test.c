// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which vdev holds which block. tests/sim covers every shape of pool; this covers one, in a kernel.
 */
#include "kvpool_kunit.h"
#include "format/logplace.c"
#include "format/regions.c"

#define EXTENT	KVP_EXTENT_BLOCKS
#define LEAF	512u
#define SHARED	(3 * 3 * LEAF)	/* blocks of the region that both have */

/* Mirrors of three and of seven leaves: the second has two extents in each turn, and the rest. */
static int make_pool(struct kunit *test)
{
	struct kvp_sb *sb = kunit_kzalloc(test, sizeof(*sb), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, sb);
	sb->vdev_count = 2;
	for (i = 0; i < 2; i++)
		sb->vdevs[i] = (struct kvp_geometry){
			.kind = KVP_VDEV_MIRROR, .first_leg = 2 * i, .leg_count = 2 + i,
			.levels = 1, .data_blocks = (3 + 4 * i) * LEAF,
		};
	KUNIT_ASSERT_EQ(test, kvp_regions_lay_out(sb), 0);
	test->priv = sb;
	return 0;
}

static void vdevs_take_turns(struct kunit *test)
{
	const struct kvp_sb *sb = test->priv;
	u32 i;

	KUNIT_ASSERT_EQ(test, kvp_map_blocks(&sb->map), 10ull * LEAF);
	for (i = 0; i < 10 * LEAF / EXTENT; i++)
		KUNIT_EXPECT_EQ_MSG(test, kvp_map_find(&sb->map, i * EXTENT + 7).vdev,
				    (u32)(i % 3 != 0 || i >= SHARED / EXTENT), "extent %u", i);
}

static void there_and_back_is_the_same_block(struct kunit *test)
{
	const struct kvp_sb *sb = test->priv;
	u64 block;

	for (block = 0; block < 10 * LEAF; block++) {
		struct kvp_map_place p = kvp_map_find(&sb->map, block);
		u32 in = block % (3 * EXTENT);

		KUNIT_ASSERT_EQ(test, kvp_map_block(&sb->map, p.vdev, p.block), block);
		KUNIT_ASSERT_EQ(test, kvp_map_from(&sb->map, p.vdev, block), p.block);
		KUNIT_ASSERT_EQ(test, p.left, block >= SHARED ? (u32)(10 * LEAF - block) :
					      in < EXTENT ? EXTENT - in : 3 * EXTENT - in);
	}
}

static void a_leaf_knows_its_blocks(struct kunit *test)
{
	const struct kvp_sb *sb = test->priv;
	u64 block;

	for (block = 0; block < 10 * LEAF; block++) {
		struct kvp_map_place p = kvp_map_find(&sb->map, block);
		struct kvp_map_leaf leaf = kvp_map_leaf(&sb->map, p.vdev, p.block - p.block % LEAF);

		KUNIT_ASSERT_EQ(test, leaf.blocks, LEAF);
		KUNIT_ASSERT_EQ(test, kvp_map_leaf_block(&leaf, p.block), block);
		KUNIT_ASSERT_EQ(test, kvp_map_leaf_own(&leaf, block), p.block);
	}
}

/* The number of blocks of the pool in which each vdev has whole requests. */
static void a_stream_ends_with_whole_requests(struct kunit *test)
{
	const struct kvp_sb *sb = test->priv;

	KUNIT_EXPECT_EQ(test, kvp_map_whole(&sb->map, 1000, 256), 768ull);
	KUNIT_EXPECT_EQ(test, kvp_map_whole(&sb->map, 767, 256), 0ull);
	KUNIT_EXPECT_EQ(test, kvp_map_whole(&sb->map, SHARED + 300, 256), SHARED + 256ull);
}

static void the_log_goes_where_most_survives(struct kunit *test)
{
	const struct kvp_sb *sb = test->priv;

	KUNIT_EXPECT_EQ(test, sb->log_vdev, 1u);
}

/*
 * Two vdevs that survive the same losses, and a third that survives fewer: see also
 * tests/sim/rotation.c.
 */
static void entries_have_turns_on_the_safest(struct kunit *test)
{
	static const struct {
		u64 lsn;
		u32 vdev;
	} turns[] = { { 8192, 1 }, { 8194, 2 }, { 8208, 2 }, { 8224, 1 }, { 8704, 2 },
		{ 1ull << 40, 1 } };
	struct kvp_sb *sb = test->priv;
	struct kvp_log_track track;
	u32 i;

	sb->vdevs[sb->vdev_count++] = sb->vdevs[1];
	kvp_log_choose(sb);
	KUNIT_EXPECT_EQ(test, sb->log_vdev, 1u);
	KUNIT_EXPECT_EQ(test, sb->log_others, 4u);
	KUNIT_EXPECT_TRUE(test, sb->incompat & KVP_INCOMPAT_LOG_TURNS);
	KUNIT_EXPECT_NULL(test, kvp_log_place_fault(sb));
	kvp_log_track(sb, &track);
	KUNIT_ASSERT_EQ(test, track.nr, 2u);
	for (i = 0; i < ARRAY_SIZE(turns); i++)
		KUNIT_EXPECT_EQ_MSG(test, kvp_log_turn(&track, turns[i].lsn), turns[i].vdev, "lsn %llu",
				    turns[i].lsn);
	sb->log_others |= 1;
	KUNIT_EXPECT_NULL(test, kvp_log_place_fault(sb));
	sb->log_others = 2;
	KUNIT_EXPECT_NOT_NULL(test, kvp_log_place_fault(sb));
}

static void a_region_needs_whole_rounds(struct kunit *test)
{
	struct kvp_sb *sb = test->priv;

	sb->regions[0].blocks--;
	KUNIT_EXPECT_NOT_NULL(test, kvp_map_build(sb, &sb->map));
}

static void a_region_needs_room_on_its_vdevs(struct kunit *test)
{
	struct kvp_sb *sb = test->priv;

	sb->vdevs[1].data_blocks--;
	KUNIT_EXPECT_NOT_NULL(test, kvp_map_build(sb, &sb->map));
}

static struct kunit_case cases[] = {
	KUNIT_CASE(vdevs_take_turns),
	KUNIT_CASE(there_and_back_is_the_same_block),
	KUNIT_CASE(a_leaf_knows_its_blocks),
	KUNIT_CASE(a_stream_ends_with_whole_requests),
	KUNIT_CASE(the_log_goes_where_most_survives),
	KUNIT_CASE(entries_have_turns_on_the_safest),
	KUNIT_CASE(a_region_needs_whole_rounds),
	KUNIT_CASE(a_region_needs_room_on_its_vdevs),
	{}
};

static struct kunit_suite suite = {
	.name = "kvpool_regions",
	.init = make_pool,
	.test_cases = cases,
};
kunit_test_suite(suite);
