// SPDX-License-Identifier: GPL-2.0-only
/*
 * A superblock of a pool of some shape, patched and mostly sealed again. If it is accepted, it must
 * be safe to use: every place that follows from it is valid. Input: shape, flags, [size of the
 * leg,] patches.
 */
#include <stdlib.h>
#include <string.h>

#include "format/generations.h"
#include "format/logplace.h"
#include "format/logstripe.h"
#include "format/regions.h"
#include "format/sbring.h"
#include "format/summary.h"
#include "fuzz.h"
#include "shapes.h"

#define UNSEALED	1	/* the sum is as the patches left it */
#define ELSEWHERE	2	/* read at another place than its own */
#define OTHER_SIZE	4	/* of the leg */
#define SAMPLES		6

static u64 chance;

/* A number below @end: the first, the last, or some other. */
static u64 some(u64 end)
{
	chance = chance * 6364136223846793005ull + 1442695040888963407ull;
	switch (chance >> 33 & 3) {
	case 0:
		return 0;
	case 1:
		return end - 1;
	default:
		return (chance >> 20) % end;
	}
}

static void inside(const struct kvp_geometry *g, struct kvp_place p, u64 start, u64 blocks,
		   const char *what)
{
	sure(p.leg < g->leg_count && p.block >= start && p.block - start < blocks,
	     "%s: leg %u, block %llu",
	     what, p.leg, (unsigned long long)p.block);
}

/* The regions of a single vdev lie between the labels of its smallest leg. */
static void check_ends(const struct kvp_sb *sb, const struct kvp_geometry *g, u64 leg_blocks)
{
	u64 least = ~0ull;
	u32 l;

	for (l = g->first_leg; l < g->first_leg + g->leg_count; l++) {
		u64 blocks = l == sb->leg_index ? leg_blocks : sb->legs[l].size_blocks;

		least = blocks < least ? blocks : least;
	}
	least = sb->vdev_count == 1 ? leg_blocks : least;
	sure(g->first_leg + g->leg_count <= sb->leg_count, "legs of a vdev");
	sure(least > KVP_LABEL_BLOCKS, "a leg of %llu blocks", (unsigned long long)least);
	least -= KVP_LABEL_BLOCKS;
	sure(g->log_start >= KVP_LABEL_BLOCKS && g->log_start + kvp_log_area(g) <= least,
	     "log area");
	if (kvp_ssdcopy_blocks(g))
		sure(g->table_start + kvp_ssdcopy_blocks(g) <= least, "copies of the table");
	if (kvp_has_data(g))
		sure(g->table_start >= KVP_LABEL_BLOCKS &&
		     g->table_start + kvp_table_blocks(g) <= g->log_start &&
		     g->data_start + kvp_home_blocks(g) <= least, "table and data");
}

static void check_log(const struct kvp_sb *sb, const struct kvp_geometry *g)
{
	u64 lsn = sb->log_tail + some(2 * kvp_log_blocks(g));
	u32 copy;

	for (copy = 0; copy < kvp_log_copies(g); copy++)
		inside(g, kvp_log_place(g, lsn, copy), g->log_start, kvp_log_area(g), "log");
	if (!kvp_is_cache(g))
		return;
	for (copy = 0; copy < kvp_summary_copies(g); copy++)
		inside(g, kvp_summary_place(g, lsn - lsn % g->segment_blocks, copy), g->log_start,
		       kvp_log_area(g) - KVP_SUMMARY_BLOCKS + 1, "summary");
}

static void check_table(const struct kvp_geometry *g)
{
	u32 level = (u32)some(g->levels), copy;
	u64 index = some(kvp_pages_at(g, level)), first = g->table_start,
		blocks = kvp_table_blocks(g);

	for (copy = 0; copy < kvp_page_copies(g); copy++) {
		struct kvp_place p = kvp_page_place(g, level, index, (u32)some(2), copy);
		bool second = !kvp_is_parity1(g) && copy >= g->leg_count;

		inside(g, p, second ? g->table_copy : first, blocks, "table");
	}
}

static void check_data(const struct kvp_geometry *g)
{
	u64 block = some(g->data_blocks), pages = kvp_pages_at(g, 0), row;

	inside(g, kvp_data_place(g, block), g->data_start, kvp_home_blocks(g), "data");
	sure(kvp_entry_index(g, block) >> KVP_PTRS_SHIFT < pages, "entry of a block");
	if (!kvp_is_parity1(g))
		return;
	row = kvp_row_of(g, block);
	sure(row < kvp_row_count(g), "row of a block");
	sure(kvp_row_block(g, row, kvp_piece_of(g, block)) == block,
	     "a block, from its row and piece");
	inside(g, kvp_parity_place(g, row), g->data_start, kvp_home_blocks(g), "parity");
	sure(kvp_parity_place(g, row).leg != kvp_data_place(g, block).leg,
	     "a block beside its parity");
	sure(kvp_parity_index(g, row) >> KVP_PTRS_SHIFT == kvp_entry_index(g,
		block) >> KVP_PTRS_SHIFT,
	     "entry of a parity");
	sure(kvp_parity_index(g, row) != kvp_entry_index(g, block), "one entry of two");
}

static void check_map(const struct kvp_sb *sb)
{
	const struct kvp_map *map = &sb->map;
	u64 blocks = kvp_map_blocks(map), block = some(sb->pool_blocks), end = 1 + some(blocks);
	struct kvp_map_place p = kvp_map_find(map, block);
	const struct kvp_geometry *g = &sb->vdevs[p.vdev];
	struct kvp_map_leaf leaf;
	u64 first;

	sure(p.vdev < sb->vdev_count && kvp_has_data(g) && p.left && p.block < g->data_blocks &&
	     p.left <= g->data_blocks - p.block, "place of block %llu", (unsigned long long)block);
	sure(kvp_map_block(map, p.vdev, p.block) == block, "a block, from its place");
	sure(kvp_map_from(map, p.vdev, block) == p.block,
	     "first block of a vdev from one of it on");
	sure(kvp_map_whole(map, end, 64) <= end, "whole units");
	first = p.block - p.block % kvp_leaf_blocks(g);
	leaf = kvp_map_leaf(map, p.vdev, first);
	sure(leaf.blocks > p.block - first, "a leaf without its block");
	sure(kvp_map_leaf_block(&leaf, p.block) == block &&
	     kvp_map_leaf_own(&leaf, block) == p.block,
	     "a block, from its leaf");
}

static void check_track(const struct kvp_sb *sb)
{
	u64 lsn = sb->log_tail + some(kvp_log_window(&sb->vdevs[sb->log_vdev]));
	struct kvp_log_track track;
	const struct kvp_geometry *g;
	u32 v;

	kvp_log_track(sb, &track);
	sure(track.nr && track.nr <= sb->vdev_count, "%u vdevs carry the log", track.nr);
	v = kvp_log_turn(&track, lsn);
	sure(v < sb->vdev_count, "turn of vdev %u", v);
	g = &sb->vdevs[v];
	inside(g, kvp_log_place(g, lsn, 0), g->log_start, kvp_log_area(g), "log by turns");
	sure(kvp_log_window(g) <= kvp_log_blocks(g), "window of a log");
}

static void check_use(const struct kvp_sb *sb, u64 leg_blocks)
{
	u32 i, v;

	for (v = 0; v < sb->vdev_count; v++) {
		check_ends(sb, &sb->vdevs[v], leg_blocks);
		for (i = 0; i < SAMPLES; i++) {
			check_log(sb, &sb->vdevs[v]);
			if (!kvp_has_data(&sb->vdevs[v]))
				continue;
			check_table(&sb->vdevs[v]);
			check_data(&sb->vdevs[v]);
		}
	}
	for (i = 0; i < SAMPLES; i++) {
		check_map(sb);
		check_track(sb);
	}
}

/* An accepted superblock, written again, is the same and can be read. */
static void check_again(const struct kvp_sb *sb, u64 offset, u64 leg_blocks, int expected)
{
	static struct kvp_disk_sb first, second;
	static struct kvp_sb back;
	struct kvp_why why = { "" };
	int ret;

	kvp_sb_encode(sb, &first);
	ret = kvp_sb_decode(&first, offset, leg_blocks, &back, &why);
	sure(ret == expected, "encoded, then %d: %s", ret, why.text);
	kvp_sb_encode(&back, &second);
	sure(!memcmp(&first, &second, sizeof(first)), "encoded to something else");
}

/* After the changes of a start and a checkpoint it can still be read. */
static void check_next(const struct kvp_sb *sb, u64 offset, u64 leg_blocks)
{
	static struct kvp_sb next;
	struct kvp_geometry *g;

	if (sb->log_commit >> 54)
		return;
	next = *sb;
	g = &next.vdevs[next.log_vdev];
	if (!next.redo_nonce) {
		next.log_tail += some(next.log_commit - next.log_tail + 1);
		kvp_generations_trim(&next);
		/* the entry before the tail then is the last of that generation */
		if (next.generation_count && next.generations[0].last_lsn < next.log_tail)
			next.log_prev_lsn = next.generations[0].last_lsn;
		check_again(&next, offset, leg_blocks, 0);
	}
	next = *sb;
	if (!kvp_generations_full(&next, next.log_commit - 1) && kvp_log_stays(&next) &&
	    kvp_log_window(g) >= next.log_commit - next.log_tail + g->segment_blocks) {
		u64 last = next.log_commit - 1;

		next.log_commit = kvp_log_segment_end(g, last);
		if (next.log_commit - 1 > next.log_tail)
			kvp_generation_end(&next, next.log_commit, last, 1);
		check_again(&next, offset, leg_blocks,
			    next.log_commit - next.log_tail <= kvp_log_window(g) ? 0 : -EUCLEAN);
	}
	next = *sb;
	kvp_log_anew(&next, next.log_vdev, next.log_others, 77);
	check_again(&next, offset, leg_blocks, 0);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };
	static struct kvp_disk_sb d;
	static struct kvp_sb sb;
	struct kvp_why why = { "" };
	u32 which = (u32)take(&in, 1) % SHAPES, flags = (u32)take(&in, 1);
	const struct kvp_sb *sound = shape(which);
	u64 leg_blocks = sound->legs[sound->leg_index].size_blocks, offset;
	int ret;

	if (flags & OTHER_SIZE)
		leg_blocks = take(&in, 7);
	chance = kvp_crc32c(0, data, size);
	d = *shape_disk(which);
	patch(&in, &d, sizeof(d));
	offset = le64_to_cpu(d.self_offset) + (flags & ELSEWHERE);
	if (!(flags & UNSEALED)) {
		d.csum = 0;
		d.csum = cpu_to_le32(kvp_crc32c(~0u, &d, sizeof(d)));
	}
	ret = kvp_sb_decode(&d, offset, leg_blocks, &sb, &why);
	reached(!ret);
	if (ret)
		sure(*why.text, "refused (%d) without a reason", ret);
	if (ret && ret != -ENOSPC)
		return 0;
	check_again(&sb, offset, leg_blocks, ret);
	sure(kvp_sb_lag(sound, &sb, sb.sequence) <= KVP_SB_COUNT_END, "lag of a leg");
	if (ret)
		return 0;
	check_use(&sb, leg_blocks);
	check_next(&sb, offset, leg_blocks);
	return 0;
}

void fuzz_seeds(void)
{
	/* the log of a cache behind a mirror goes beyond the end */
	const u32 at = offsetof(struct kvp_disk_sb, vdevs[1].log_segments);
	const u8 beyond[] = { 9, 0, 2, (u8)at, (u8)(at >> 8), 11, 0, 0, 0 };
	u8 text[2] = { 0 };
	u32 i;

	for (i = 0; i < SHAPES; i++) {
		text[0] = (u8)i;
		seed(text, sizeof(text));
	}
	text[1] = ELSEWHERE;
	seed(text, sizeof(text));
	seed(beyond, sizeof(beyond));
}
