// SPDX-License-Identifier: GPL-2.0-only
/* Which vdev holds which block, for many shapes of pools. */
#include <stdlib.h>
#include <string.h>

#include "format/regions.h"
#include "suite.h"

#define MOST_BLOCKS	200000u

/* A vdev of about so many extents; only what regions ask of it. */
static void add_vdev(struct kvp_sb *sb, u32 kind, u32 legs, u64 extents)
{
	struct kvp_geometry *g = &sb->vdevs[sb->vdev_count++];

	memset(g, 0, sizeof(*g));
	g->kind = kind;
	g->leg_count = legs;
	g->first_leg = sb->leg_count;
	g->chunk_blocks = kind == KVP_VDEV_PARITY1 ? KVP_CHUNK_BLOCKS : 0;
	g->levels = 2;
	g->data_blocks = extents * kvp_leaf_blocks(g) + 5;	/* and a little that stays unused */
	sb->leg_count += legs;
}

static struct kvp_sb *blank_sb(void)
{
	return calloc(1, sizeof(struct kvp_sb));
}

/* One mirror half as large as the other, and a little; the log goes to the one of three legs. */
bool regions_example_test(void)
{
	static const u32 order[] = { 0, 1, 1, 0, 1, 1, 0, 1, 1, 1 };
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
	for (i = 0; good && i < ARRAY_SIZE(order); i++)
		good = expect(kvp_map_find(&sb->map, i * 512 + 3).vdev == order[i], "extent %u", i);
	free(sb);
	return good;
}

/* Every block has one place, no place has two, and a vdev's are used from its start on. */
static bool places_once(const struct kvp_sb *sb)
{
	u64 blocks = kvp_map_blocks(&sb->map), next[KVP_MAX_VDEVS] = { 0 }, block;
	bool good = true;
	u32 v;

	for (block = 0; good && block < blocks; block++) {
		struct kvp_map_place p = kvp_map_find(&sb->map, block);

		good = expect(p.vdev < sb->vdev_count, "block %llu: vdev %u", block, p.vdev) &&
		       expect(p.block == next[p.vdev], "block %llu: %llu of vdev %u, not %llu", block,
			      p.block, p.vdev, next[p.vdev]) &&
		       expect(kvp_map_block(&sb->map, p.vdev, p.block) == block,
			      "block %llu: back to %llu", block,
			      kvp_map_block(&sb->map, p.vdev, p.block));
		next[p.vdev]++;
		for (v = 0; good && v < sb->vdev_count; v++)
			good = expect(kvp_map_from(&sb->map, v, block + 1) == next[v],
				      "behind block %llu vdev %u goes on at %llu, not %llu", block, v,
				      kvp_map_from(&sb->map, v, block + 1), next[v]);
	}
	for (v = 0; good && v < sb->vdev_count; v++)
		good = expect(sb->vdev_count == 1 ||
			      sb->vdevs[v].data_blocks - next[v] < kvp_leaf_blocks(&sb->vdevs[v]),
			      "vdev %u: %llu of %llu used", v, next[v], sb->vdevs[v].data_blocks) &&
		       expect(kvp_map_block(&sb->map, v, next[v]) == blocks, "vdev %u: a block too many", v);
	return good;
}

/* What is said to lie together does, below one leaf, in whole stripes. */
static bool extents_hold(const struct kvp_sb *sb)
{
	u64 blocks = kvp_map_blocks(&sb->map), block = 0;
	bool good = true;

	while (good && block < blocks) {
		struct kvp_map_place p = kvp_map_find(&sb->map, block);
		const struct kvp_geometry *g = &sb->vdevs[p.vdev];
		struct kvp_map_place last = kvp_map_find(&sb->map, block + p.left - 1);

		good = expect(p.left && block + p.left <= blocks, "%u left of %llu", p.left, block) &&
		       expect(last.vdev == p.vdev && last.block == p.block + p.left - 1,
			      "the extent of block %llu is torn", block) &&
		       expect(p.block / kvp_leaf_blocks(g) == last.block / kvp_leaf_blocks(g),
			      "the extent of block %llu is below two leaves", block) &&
		       expect(!kvp_is_parity1(g) || sb->vdev_count == 1 ||
			      (!(p.block % kvp_stripe_blocks(g)) && !(p.left % kvp_stripe_blocks(g))),
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
		expect(m->round <= (u64)sb->vdev_count * 16 * KVP_PTRS_PER_PAGE, "a round of %llu blocks",
		       m->round));
}

bool regions_property_test(void)
{
	struct rng rng = { mix64(opt.seed, 4711) };
	bool good = true;
	u32 i, k, n;

	for (i = 0; good && i < 200; i++) {
		struct kvp_sb *sb = blank_sb();

		for (k = 0, n = 1 + rng_below(&rng, 6); k < n; k++) {
			u32 legs = 3 + rng_below(&rng, 6);

			add_vdev(sb, rng_chance(&rng, 500) ? KVP_VDEV_PARITY1 : KVP_VDEV_MIRROR, legs,
				 1 + rng_below(&rng, 1u << rng_below(&rng, 7)));
		}
		if (kvp_regions_lay_out(sb))
			good = expect(n > 3, "%u vdevs refused", n);
		else
			good = expect(kvp_map_blocks(&sb->map) < MOST_BLOCKS, "too large a test") &&
			       places_once(sb) && extents_hold(sb) && turns_are_short(sb);
		free(sb);
	}
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
				    rng_below(&rng, 8) * (512 * rng_below(&rng, 3) +
							  320 * rng_below(&rng, 3));
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
				good = expect(p.vdev < 2 && p.block < sb->vdevs[p.vdev].data_blocks &&
					      kvp_map_block(&sb->map, p.vdev, p.block) == block,
					      "block %llu lies at %llu of vdev %u", block, p.block,
					      p.vdev);
			}
		}
		free(sb);
	}
	return good && expect(taken > 100 && taken < 10000, "%u of 20000 taken", taken);
}
