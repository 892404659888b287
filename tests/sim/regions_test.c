// SPDX-License-Identifier: GPL-2.0-only
/* Which vdev holds which block, for many shapes of pools. */
#include <stdlib.h>
#include <string.h>

#include "format/regions.h"
#include "suite.h"

#define MOST_BLOCKS	200000u

/* A vdev of about @leaves leaves; it has only the fields that regions need. */
static void add_vdev(struct kvp_sb *sb, u32 kind, u32 legs, u64 leaves)
{
	struct kvp_geometry *g = &sb->vdevs[sb->vdev_count++];

	memset(g, 0, sizeof(*g));
	g->kind = kind;
	g->leg_count = legs;
	g->first_leg = sb->leg_count;
	g->chunk_blocks = kind == KVP_VDEV_PARITY1 ? KVP_CHUNK_BLOCKS : 0;
	g->levels = 2;
	g->data_blocks = leaves * kvp_leaf_blocks(g) + 5;	/* and a little that stays unused */
	sb->leg_count += legs;
}

static struct kvp_sb *blank_sb(void)
{
	return calloc(1, sizeof(struct kvp_sb));
}

/* One mirror half as large as the other, and a little; the log goes to the one of three legs. */
bool regions_example_test(void)
{
	static const u32 order[] = { 0, 1, 1 };
	struct kvp_sb *sb = blank_sb();
	bool good;
	u32 i;

	add_vdev(sb, KVP_VDEV_MIRROR, 2, 3);
	add_vdev(sb, KVP_VDEV_MIRROR, 3, 7);
	good = expect(!kvp_regions_lay_out(sb), "refused") &&
	       expect(sb->incompat == KVP_INCOMPAT_VDEVS, "no feature") &&
	       expect(sb->log_vdev == 1, "the log is on vdev %u", sb->log_vdev) &&
	       expect(sb->region_count == 2, "%u regions", sb->region_count) &&
	       expect(kvp_map_blocks(&sb->map) == 5120, "%llu blocks", kvp_map_blocks(&sb->map));
	for (i = 0; good && i < 80; i++)
		good = expect(kvp_map_find(&sb->map, i * 64 + 3).vdev == (i < 72 ? order[i % 3] :
			1),
			      "extent %u", i);
	free(sb);
	return good;
}

/* An extent is a whole part of a leaf, in whole stripes, and about 256 KiB where that goes. */
bool regions_extents_test(void)
{
	static const struct {
		u32 legs, chunk, blocks;
	} cases[] = {
		{ 0, 0, 64 }, { 3, 16, 64 }, { 4, 16, 96 }, { 5, 16, 64 }, { 6, 16, 80 },
			{ 9, 16, 128 },
		{ 3, 4, 112 }, { 3, 1, 68 }, { 4, 1, 96 }, { 4, 2, 96 }, { 5, 1, 68 },
			{ 3, 128, 256 }, { 16, 32, 480 },
	};
	bool good = true;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct kvp_geometry g = {
			.kind = cases[i].legs ? KVP_VDEV_PARITY1 : KVP_VDEV_MIRROR,
			.leg_count = cases[i].legs ?: 2, .chunk_blocks = cases[i].chunk,
		};
		u32 extent = kvp_extent_blocks(&g);

		good &= expect(extent == cases[i].blocks, "%u legs, chunk %u: %u", cases[i].legs,
			       cases[i].chunk, extent) &&
			expect(kvp_leaf_blocks(&g) % extent == 0, "part of a leaf") &&
			expect(!cases[i].legs || extent % kvp_stripe_blocks(&g) == 0,
			       "part of a stripe");
	}
	return good;
}

/* The blocks of each vdev that the pool uses, in sequence. */
struct owned {
	u64 nr[KVP_MAX_VDEVS];
	u32 block[KVP_MAX_VDEVS][MOST_BLOCKS];
};

/*
 * Every block has one place, no place has two, and a vdev's are used from its start on, region by
 * region.
 */
static bool places_once(const struct kvp_sb *sb, struct owned *own)
{
	u64 blocks = kvp_map_blocks(&sb->map), block;
	bool good = true;

	memset(own->nr, 0, sizeof(own->nr));
	for (block = 0; good && block < blocks; block++) {
		struct kvp_map_place p = kvp_map_find(&sb->map, block);
		u64 n = own->nr[p.vdev], next = n ? own->block[p.vdev][n - 1] + 1ull : 0;
		u32 leaf = kvp_leaf_blocks(&sb->vdevs[p.vdev]);

		good = expect(p.vdev < sb->vdev_count, "block %llu: vdev %u", block, p.vdev) &&
		       expect(p.block < sb->vdevs[p.vdev].data_blocks, "block %llu: %llu", block,
			      p.block) &&
		       /* A region begins with a whole leaf. */
		       expect(p.block == next || (p.block % leaf == 0 && p.block > next &&
						  p.block - next < leaf),
			      "block %llu: %llu of vdev %u, not %llu", block, p.block, p.vdev,
			      next) &&
		       expect(kvp_map_block(&sb->map, p.vdev, p.block) == block,
			      "block %llu: back to %llu", block,
			      kvp_map_block(&sb->map, p.vdev, p.block));
		own->block[p.vdev][own->nr[p.vdev]++] = (u32)p.block;
	}
	return good;
}

/* Every vdev continues from each block at the next; the unused rest is small. */
static bool goes_on(const struct kvp_sb *sb, const struct owned *own)
{
	u64 blocks = kvp_map_blocks(&sb->map), block, at[KVP_MAX_VDEVS] = { 0 };
	bool good = true;
	u32 v;

	for (block = 0; good && block < blocks; block++) {
		at[kvp_map_find(&sb->map, block).vdev]++;
		for (v = 0; good && v < sb->vdev_count; v++) {
			u64 n = at[v], next = n < own->nr[v] ? own->block[v][n] :
					      n ? own->block[v][n - 1] + 1ull : 0;

			good = expect(kvp_map_from(&sb->map, v, block + 1) == next,
				      "behind block %llu vdev %u goes on at %llu, not %llu", block,
				      v,
				      kvp_map_from(&sb->map, v, block + 1), next);
		}
	}
	for (v = 0; good && v < sb->vdev_count; v++)
		good = expect(sb->vdev_count == 1 ||
			      sb->vdevs[v].data_blocks - own->nr[v] <
					(u64)sb->region_count * kvp_leaf_blocks(&sb->vdevs[v]),
			      "vdev %u: %llu of %llu used", v, own->nr[v],
			      sb->vdevs[v].data_blocks) &&
		       expect(kvp_map_block(&sb->map, v, kvp_map_from(&sb->map, v,
			       blocks)) == blocks,
			      "vdev %u: a block too many", v);
	return good;
}

/* The blocks below a leaf, as the leaf and as the map have them, agree. */
static bool leaves_agree(const struct kvp_sb *sb, const struct owned *own)
{
	bool good = true;
	u64 i, below = 0;
	u32 v;

	for (v = 0; good && v < sb->vdev_count; v++)
		for (i = 0; good && i < own->nr[v]; i++) {
			u64 block = own->block[v][i], leaf = kvp_leaf_blocks(&sb->vdevs[v]);
			struct kvp_map_leaf l = kvp_map_leaf(&sb->map, v, block - block % leaf);
			u64 in_pool = kvp_map_block(&sb->map, v, block);

			below = block % leaf ? below + 1 : 1;
			good = expect(kvp_map_leaf_block(&l, block) == in_pool,
				      "block %llu of vdev %u: %llu, says its leaf", block, v,
				      kvp_map_leaf_block(&l, block)) &&
			       expect(kvp_map_leaf_own(&l, in_pool) == block,
				      "block %llu of vdev %u: its leaf says %llu", block, v,
				      kvp_map_leaf_own(&l, in_pool)) &&
			       expect(below <= l.blocks, "a leaf of %u has %llu", l.blocks,
				      below) &&
			       expect((i + 1 < own->nr[v] && own->block[v][i + 1] == block + 1 &&
				       (block + 1) % leaf) || below == l.blocks,
				      "a leaf of %u ends with %llu", l.blocks, below);
		}
	return good;
}

/* The stretches of a vdev have all of its blocks, and none that is no block of the pool. */
static bool stretches_hold(const struct kvp_sb *sb, const struct owned *own)
{
	bool good = true;
	u64 i, none;
	u32 v;

	for (v = 0; good && v < sb->vdev_count; v++) {
		kvp_vblock_t end = 0, first, next;

		for (i = 0; good && i < own->nr[v]; i++) {
			u64 block = own->block[v][i], before = i ? own->block[v][i - 1] + 1ull : 0;

			for (none = before; good && none < block; none++)
				good = expect(kvp_map_stretch(&sb->map, v, none, &next) == block,
					      "vdev %u: %llu is no block", v, none);
			good = good && expect(!i || before == block || before == end,
					      "vdev %u: a stretch ends at %llu", v, end);
			first = kvp_map_stretch(&sb->map, v, block, &end);
			good = good && expect(first == block && end > block,
					      "vdev %u: %llu to %llu", v, first, end) &&
			       expect(end <= block + own->nr[v] - i,
				      "vdev %u: a stretch to %llu", v, end);
		}
		first = kvp_map_stretch(&sb->map, v, sb->vdevs[v].data_blocks, &end);
		good = good && expect(first == end, "vdev %u: behind all", v);
	}
	return good;
}

/* An extent lies together, below one leaf, in whole stripes. */
static bool extents_hold(const struct kvp_sb *sb)
{
	u64 blocks = kvp_map_blocks(&sb->map), block = 0;
	bool good = true;

	while (good && block < blocks) {
		struct kvp_map_place p = kvp_map_find(&sb->map, block);
		const struct kvp_geometry *g = &sb->vdevs[p.vdev];
		struct kvp_map_place last = kvp_map_find(&sb->map, block + p.left - 1);

		good = expect(p.left && block + p.left <= blocks, "%u left of %llu", p.left,
			      block) &&
		       expect(last.vdev == p.vdev && last.block == p.block + p.left - 1,
			      "the extent of block %llu is torn", block) &&
		       expect(p.block / kvp_leaf_blocks(g) == last.block / kvp_leaf_blocks(g),
			      "the extent of block %llu is below two leaves", block) &&
		       expect(!kvp_is_parity1(g) || sb->vdev_count == 1 ||
			      (!(p.block % kvp_stripe_blocks(g)) &&
			       !(p.left % kvp_stripe_blocks(g))),
			      "the extent of block %llu has part of a stripe", block);
		block += p.left;
	}
	return good;
}

/* Before the smallest vdev is used up, no stream is long on the same one: all have their turns. */
static bool turns_are_short(const struct kvp_sb *sb)
{
	const struct kvp_map_region *m = &sb->map.region[0];

	return sb->vdev_count == 1 ||
	       (expect(m->nr == sb->vdev_count, "%u of %u vdevs share the first region", m->nr,
		       sb->vdev_count) &&
		expect(m->round <= sb->vdev_count * 16 * 2 * KVP_EXTENT_BLOCKS,
		       "a round of %u blocks",
		       m->round));
}

bool regions_property_test(void)
{
	struct rng rng = { mix64(opt.seed, 4711) };
	struct owned *own = malloc(sizeof(*own));
	bool good = true;
	u32 i, k, n;

	for (i = 0; good && i < 200; i++) {
		struct kvp_sb *sb = blank_sb();

		for (k = 0, n = 1 + rng_below(&rng, 6); k < n; k++) {
			u32 legs = 3 + rng_below(&rng, 6);

			add_vdev(sb, rng_chance(&rng, 500) ? KVP_VDEV_PARITY1 : KVP_VDEV_MIRROR,
				 legs,
				 1 + rng_below(&rng, 1u << rng_below(&rng, 7)));
		}
		if (kvp_regions_lay_out(sb))
			good = expect(n > 3, "%u vdevs refused", n);
		else
			good = expect(kvp_map_blocks(&sb->map) < MOST_BLOCKS, "too large a test") &&
			       places_once(sb, own) && goes_on(sb, own) && leaves_agree(sb, own) &&
			       stretches_hold(sb, own) &&
			       extents_hold(sb) && turns_are_short(sb);
		free(sb);
	}
	free(own);
	return good;
}

/* Regions from a device: refused, or sound. */
bool regions_hostile_test(void)
{
	struct rng rng = { mix64(opt.seed, 815) };
	u32 i, k, taken = 0;
	bool good = true;

	for (i = 0; good && i < 20000; i++) {
		struct kvp_sb *sb = blank_sb();
		struct kvp_region *r;

		add_vdev(sb, KVP_VDEV_MIRROR, 2, 5);
		add_vdev(sb, KVP_VDEV_PARITY1, 3, 9);
		sb->region_count = 1 + rng_below(&rng, 3);
		for (k = 0; k < sb->region_count; k++) {
			r = &sb->regions[k];
			r->blocks = rng_chance(&rng, 50) ? ~0ull >> rng_below(&rng, 60) :
				    rng_below(&rng, 40) * 64;
			r->share[rng_below(&rng, 2)] = rng_below(&rng, 3);
			r->share[rng_below(&rng, 2)] = rng_below(&rng, 3);
			if (rng_chance(&rng, 20))
				r->share[rng_below(&rng, KVP_MAX_VDEVS)] = 1;
		}
		if (!kvp_map_build(sb, &sb->map)) {
			struct kvp_map_place p;
			u64 block;

			taken++;
			for (block = 0; good && block < kvp_map_blocks(&sb->map); block++) {
				p = kvp_map_find(&sb->map, block);
				good = expect(p.vdev < 2 &&
					      p.block < sb->vdevs[p.vdev].data_blocks &&
					      kvp_map_block(&sb->map, p.vdev, p.block) == block,
					      "block %llu lies at %llu of vdev %u", block, p.block,
					      p.vdev);
			}
		}
		free(sb);
	}
	return good && expect(taken > 100 && taken < 10000, "%u of 20000 taken", taken);
}
