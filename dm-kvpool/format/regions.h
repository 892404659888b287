/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which vdev holds which block of the pool. Pure arithmetic.
 *
 * A pool is a row of regions. In a region the vdevs that have a share in it take
 * turns: in each round every one of them gets as many extents as its share says,
 * in the order of their numbers. An extent is 256 KiB or a little more: whole
 * stripes, all below one leaf of the vdev's table, which has several of them. Blocks
 * of a vdev are given out from 0 on, first region first, and never move. What is
 * below one leaf is of one region.
 *
 *   regions    | 0: shares 1 2            | 1: share - 1   | 2: added, - - 1
 *   pool       | A B B A B B ... A B B    | B B B          | C C C C ...
 *
 * A pool is made with as many regions as it takes to use vdevs of different
 * sizes in proportion; what is added makes another region at the end.
 */
#ifndef KVP_FORMAT_REGIONS_H
#define KVP_FORMAT_REGIONS_H

#include "format/format.h"

/*
 * Block @block of vdev @vdev, and @left that follow one another from it in one turn, below one
 * leaf.
 */
struct kvp_map_place {
	u32 vdev, left;
	kvp_vblock_t block;
};

/**
 * kvp_map_build() - work out the regions of @sb
 *
 * Return: NULL, or what is wrong with them, in a word or two.
 */
const char *kvp_map_build(const struct kvp_sb *sb, struct kvp_map *map);

/** kvp_map_end() - the block behind the last one of all regions */
kvp_block_t kvp_map_end(const struct kvp_map *map);

/** kvp_map_blocks() - blocks of all regions together */
u64 kvp_map_blocks(const struct kvp_map *map);

/** kvp_map_find() - where @block of the pool lies; it is below kvp_map_blocks() */
struct kvp_map_place kvp_map_find(const struct kvp_map *map, kvp_block_t block);

/** kvp_map_block() - the pool's block that @block of @vdev is; kvp_map_end() if it is none */
kvp_block_t kvp_map_block(const struct kvp_map *map, u32 vdev, kvp_vblock_t block);

/**
 * kvp_map_stretch() - the first blocks of @vdev, at or behind @own, that are blocks of the pool
 * @end: the block behind them
 *
 * Where a region of the vdev ends within a leaf, the rest of that leaf is no block of the pool: the
 * next region begins with another leaf. Return: the first one; or *@end, if there are none.
 */
kvp_vblock_t kvp_map_stretch(const struct kvp_map *map, u32 vdev, kvp_vblock_t own,
			     kvp_vblock_t *end);

/*
 * What a leaf of a vdev's table covers, as the pool counts. A turn of the vdev is followed by
 * @others blocks of other vdevs, and so on.
 */
struct kvp_map_leaf {
	kvp_block_t block;		/* the pool's block of its first entry */
	kvp_vblock_t own;	/* the same as the vdev counts it */
	u32 blocks;		/* number of blocks that the pool has of it */
	u32 in;			/* blocks of that turn before it */
	u32 turn, others;	/* blocks; others is 0 where there are none */
};

/**
 * kvp_map_leaf() - of the leaf that begins at @block of @vdev; there is such a block of the pool
 */
struct kvp_map_leaf kvp_map_leaf(const struct kvp_map *map, u32 vdev, kvp_vblock_t block);

/** kvp_map_leaf_block() - the pool's block that @own, a block of the vdev below @l, is */
static inline kvp_block_t kvp_map_leaf_block(const struct kvp_map_leaf *l, kvp_vblock_t own)
{
	u32 i = (u32)kvp_vblock_since(own, l->own);
	u64 others = l->others ? (u64)((l->in + i) / l->turn) * l->others : 0;

	return kvp_block_add(l->block, i + others);
}

/** kvp_map_leaf_run() - how many blocks from @own on, of @l, lie side by side in the pool */
static inline u32 kvp_map_leaf_run(const struct kvp_map_leaf *l, kvp_vblock_t own)
{
	u32 i = (u32)kvp_vblock_since(own, l->own);

	return l->others ? l->turn - (l->in + i) % l->turn : ~0u;
}

/** kvp_map_leaf_own() - the block of the vdev that @block, one of the pool below @l, is */
static inline kvp_vblock_t kvp_map_leaf_own(const struct kvp_map_leaf *l, kvp_block_t block)
{
	u64 i = kvp_block_since(block, l->block);

	if (l->others)
		i -= (l->in + i) / (l->turn + l->others) * l->others;
	return kvp_vblock_add(l->own, i);
}

/**
 * kvp_map_whole() - the last block up to @end at which all vdevs of its region have whole units
 * @unit: blocks of a vdev, a power of two
 */
kvp_block_t kvp_map_whole(const struct kvp_map *map, kvp_block_t end, u32 unit);

/** kvp_map_from() - the first block of @vdev that is the pool's @block or a later one */
kvp_vblock_t kvp_map_from(const struct kvp_map *map, u32 vdev, kvp_block_t block);

/**
 * kvp_regions_lay_out() - decide what each of sb->vdevs[] holds, and which carries the log
 *
 * For a new pool. Its vdevs are laid out and counted already. They share roughly in proportion to
 * their sizes. What is left over makes further regions. Each region leaves less than a leaf of a
 * vdev unused. logplace.h says where the log goes. Fills in regions, map, features and the log's
 * vdev.
 *
 * Return: 0, or -EINVAL: there are too many roots, or too many regions would be needed.
 */
int __must_check kvp_regions_lay_out(struct kvp_sb *sb);

/**
 * kvp_regions_add() - decide what vdevs hold that a pool gets later
 * @first: number of the first new one; they are laid out and counted
 *
 * What the pool holds stays where it is: the new vdevs share regions behind it. Return: as
 * kvp_regions_lay_out().
 */
int __must_check kvp_regions_add(struct kvp_sb *sb, u32 first);

/**
 * kvp_regions_grow() - decide what vdevs hold that have become larger
 * @grown: a bit for each of them; sb->map is still the old one, but their data_blocks are new
 *
 * What the pool holds stays where it is. If only one vdev has grown, and the last region is its
 * own, that region becomes longer. Otherwise the vdevs share regions behind it. Return: 0, or
 * -EINVAL: too many regions would be needed.
 */
int __must_check kvp_regions_grow(struct kvp_sb *sb, u32 grown);

#endif /* KVP_FORMAT_REGIONS_H */
