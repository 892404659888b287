// SPDX-License-Identifier: GPL-2.0-only
#include "format/logplace.h"
#include "format/regions.h"

#define MAX_SHARE	16u	/* extents in a row on one vdev: a stream should use all */

/* --- working out -------------------------------------------------------------- */

/* Blocks of each vdev that regions have used so far. */
struct used {
	u64 blocks[KVP_MAX_VDEVS];
};

static const char *add_part(const struct kvp_sb *sb, const struct kvp_region *r, u32 vdev,
			    struct kvp_map_region *m, const struct used *used)
{
	const struct kvp_geometry *g = &sb->vdevs[vdev];
	struct kvp_map_part *p = &m->part[m->nr++];

	if (vdev >= sb->vdev_count || !kvp_has_data(g))
		return "share of a vdev that has no data";
	p->vdev = vdev;
	p->leaf = kvp_leaf_blocks(g);
	p->at = m->round;
	p->width = r->share[vdev] * kvp_extent_blocks(g);
	/* All blocks below one leaf are of one region. */
	p->first = kvp_vblock((used->blocks[vdev] + p->leaf - 1) / p->leaf * p->leaf);
	m->round += p->width;
	return NULL;
}

/* Take from the vdevs what the region needs of them. */
static const char *use_parts(const struct kvp_sb *sb, const struct kvp_map_region *m,
			     struct used *used)
{
	u64 blocks = kvp_block_since(m->end, m->start);
	u32 i;

	/* A region of one vdev may end anywhere. */
	if (m->nr > 1 && blocks % m->round)
		return "size of a region";
	for (i = 0; i < m->nr; i++) {
		const struct kvp_map_part *p = &m->part[i];
		u64 need = m->nr > 1 ? blocks / m->round * p->width : blocks;
		u64 all = sb->vdevs[p->vdev].data_blocks, first = kvp_vblock_nr(p->first);

		if (first > all || need > all - first)
			return "size of a region";
		used->blocks[p->vdev] = first + need;
	}
	return NULL;
}

static const char *build_region(const struct kvp_sb *sb, const struct kvp_region *r,
				struct kvp_map *map, struct used *used)
{
	struct kvp_map_region *m = &map->region[map->nr];
	const char *fault = NULL;
	u32 v;

	memset(m, 0, sizeof(*m));
	m->start = kvp_map_end(map);
	m->end = kvp_block_add(m->start, r->blocks);
	for (v = 0; !fault && v < KVP_MAX_VDEVS; v++)
		if (r->share[v])
			fault = add_part(sb, r, v, m, used);
	if (!fault && (!m->nr || !r->blocks || r->blocks >> 55))
		fault = "region";
	if (!fault)
		fault = use_parts(sb, m, used);
	map->nr++;
	return fault;
}

const char *kvp_map_build(const struct kvp_sb *sb, struct kvp_map *map)
{
	/* A pool that was made with one vdev has no regions on disk: that vdev has all blocks. */
	struct kvp_region all = { .blocks = sb->vdevs[0].data_blocks, .share = { 1 } };
	struct used used = { { 0 } };
	const char *fault = NULL;
	u32 i;

	map->nr = 0;
	if (!sb->region_count)
		return build_region(sb, &all, map, &used);
	for (i = 0; !fault && i < sb->region_count; i++)
		fault = build_region(sb, &sb->regions[i], map, &used);
	return fault;
}

kvp_block_t kvp_map_end(const struct kvp_map *map)
{
	return map->nr ? map->region[map->nr - 1].end : kvp_block(0);
}

u64 kvp_map_blocks(const struct kvp_map *map)
{
	return kvp_block_nr(kvp_map_end(map));
}

/* --- from the pool to a vdev, and back --------------------------------------------- */

static const struct kvp_map_region *region_of(const struct kvp_map *map, kvp_block_t block)
{
	const struct kvp_map_region *m = map->region;

	while (m < &map->region[map->nr - 1] && !kvp_block_before(block, m->end))
		m++;
	return m;
}

struct kvp_map_place kvp_map_find(const struct kvp_map *map, kvp_block_t block)
{
	const struct kvp_map_region *m = region_of(map, block);
	const struct kvp_map_part *p = m->part;
	u64 in = kvp_block_since(block, m->start), own = kvp_vblock_nr(p->first) + in;
	u64 left = kvp_block_since(m->end, block);
	u32 below;

	if (m->nr > 1) {
		u64 round = in / m->round;
		u32 rest = (u32)(in - round * m->round);

		while (rest >= p->at + p->width)
			p++;
		own = kvp_vblock_nr(p->first) + round * p->width + (rest - p->at);
		left = p->at + p->width - rest;
	}
	below = p->leaf - (u32)(own % p->leaf);
	return (struct kvp_map_place){ p->vdev, left < below ? (u32)left : below, kvp_vblock(own) };
}

static const struct kvp_map_part *part_of(const struct kvp_map_region *m, u32 vdev)
{
	u32 i;

	for (i = 0; i < m->nr; i++)
		if (m->part[i].vdev == vdev)
			return &m->part[i];
	return NULL;
}

/* Blocks of a vdev that a region has. */
static u64 part_blocks(const struct kvp_map_region *m, const struct kvp_map_part *p)
{
	u64 blocks = kvp_block_since(m->end, m->start);

	return m->nr > 1 ? blocks / m->round * p->width : blocks;
}

kvp_block_t kvp_map_block(const struct kvp_map *map, u32 vdev, kvp_vblock_t block)
{
	u32 i;

	for (i = 0; i < map->nr; i++) {
		const struct kvp_map_region *m = &map->region[i];
		const struct kvp_map_part *p = part_of(m, vdev);
		u64 in;

		if (!p || kvp_vblock_before(block, p->first) ||
		    kvp_vblock_since(block, p->first) >= part_blocks(m, p))
			continue;
		in = kvp_vblock_since(block, p->first);
		if (m->nr == 1)
			return kvp_block_add(m->start, in);
		return kvp_block_add(m->start, in / p->width * m->round + p->at + in % p->width);
	}
	return kvp_map_end(map);
}

kvp_vblock_t kvp_map_stretch(const struct kvp_map *map, u32 vdev, kvp_vblock_t own,
			     kvp_vblock_t *end)
{
	u32 i;

	for (i = 0; i < map->nr; i++) {
		const struct kvp_map_part *p = part_of(&map->region[i], vdev);

		if (!p)
			continue;
		*end = kvp_vblock_add(p->first, part_blocks(&map->region[i], p));
		if (kvp_vblock_before(own, *end))
			return kvp_vblock_last(own, p->first);
	}
	*end = own;
	return own;
}

struct kvp_map_leaf kvp_map_leaf(const struct kvp_map *map, u32 vdev, kvp_vblock_t block)
{
	struct kvp_map_leaf leaf = {
		.block = kvp_map_block(map, vdev, block), .own = block, .turn = 1,
	};
	const struct kvp_map_region *m = region_of(map, leaf.block);
	const struct kvp_map_part *p = part_of(m, vdev);
	u64 left, in;

	if (!p || !kvp_block_before(leaf.block, m->end))
		return leaf;
	in = kvp_vblock_since(block, p->first);
	left = part_blocks(m, p) - in;
	leaf.blocks = left < p->leaf ? (u32)left : p->leaf;
	if (m->nr > 1) {
		leaf.in = (u32)(in % p->width);
		leaf.turn = p->width;
		leaf.others = m->round - p->width;
	}
	return leaf;
}

kvp_block_t kvp_map_whole(const struct kvp_map *map, kvp_block_t end, u32 unit)
{
	const struct kvp_map_region *m = region_of(map, end ? kvp_block_back(end, 1) : end);
	u64 step = unit;
	u32 i, rounds = 1;

	if (m->nr > 1) {
		/*
		 * Each vdev has its width in a round. This many rounds are whole units for all of
		 * them.
		 */
		for (i = 0; i < m->nr; i++)
			while ((u64)rounds * m->part[i].width % unit && rounds < unit)
				rounds *= 2;
		step = (u64)rounds * m->round;
	}
	return kvp_block_back(end, kvp_block_since(end, m->start) % step);
}

/* The same in one region: how many blocks of the part lie before @in, counted from its start. */
static u64 blocks_before(const struct kvp_map_region *m, const struct kvp_map_part *p, u64 in)
{
	u64 round = in / m->round, rest = in % m->round;

	if (m->nr == 1)
		return in;
	rest = rest > p->at ? rest - p->at : 0;
	return round * p->width + (rest < p->width ? rest : p->width);
}

kvp_vblock_t kvp_map_from(const struct kvp_map *map, u32 vdev, kvp_block_t block)
{
	kvp_vblock_t from = kvp_vblock(0);
	u32 i;

	for (i = 0; i < map->nr; i++) {
		const struct kvp_map_region *m = &map->region[i];
		const struct kvp_map_part *p = part_of(m, vdev);

		if (!p)
			continue;
		if (!kvp_block_before(m->start, block))
			return p->first;
		from = kvp_vblock_add(p->first, part_blocks(m, p));
		/* Behind the last turn comes the next region, which begins with another leaf. */
		if (kvp_block_before(block, m->end)) {
			u64 before = blocks_before(m, p, kvp_block_since(block, m->start));

			if (before < part_blocks(m, p))
				return kvp_vblock_add(p->first, before);
		}
	}
	return from;
}

/* --- sharing out ---------------------------------------------------------------------- */

/* Extents that each vdev has. */
static void count_extents(const struct kvp_sb *sb, u64 *extents)
{
	u32 v;

	for (v = 0; v < KVP_MAX_VDEVS; v++)
		extents[v] = v < sb->vdev_count && kvp_has_data(&sb->vdevs[v]) ?
			sb->vdevs[v].data_blocks / kvp_extent_blocks(&sb->vdevs[v]) : 0;
}

static u64 least(const u64 *extents)
{
	u64 n = 0;
	u32 v;

	for (v = 0; v < KVP_MAX_VDEVS; v++)
		if (extents[v] && (!n || extents[v] < n))
			n = extents[v];
	return n;
}

/* What remains of @left extents after using this many: the rest of a leaf that is begun is lost. */
static u64 unbegun(const struct kvp_geometry *g, u64 left, u64 used)
{
	u64 each = kvp_leaf_blocks(g) / kvp_extent_blocks(g);

	used = (used + each - 1) / each * each;
	return used < left ? left - used : 0;
}

/* Make a region of all vdevs that have extents left, by size, and take from them what it uses. */
static void share_once(const struct kvp_sb *sb, u64 *extents, struct kvp_region *r)
{
	u64 smallest = least(extents), rounds = ~0ull;
	u32 v;

	memset(r, 0, sizeof(*r));
	for (v = 0; v < KVP_MAX_VDEVS; v++) {
		u64 share = (extents[v] + smallest / 2) / smallest;

		if (!extents[v])
			continue;
		r->share[v] = (u16)(share > MAX_SHARE ? MAX_SHARE : share);
		if (extents[v] / r->share[v] < rounds)
			rounds = extents[v] / r->share[v];
	}
	for (v = 0; v < KVP_MAX_VDEVS; v++) {
		if (!r->share[v])
			continue;
		r->blocks += rounds * r->share[v] * kvp_extent_blocks(&sb->vdevs[v]);
		extents[v] = unbegun(&sb->vdevs[v], extents[v], rounds * r->share[v]);
	}
}

/* Make regions until @extents are used up. */
static int share_extents(struct kvp_sb *sb, u64 *extents)
{
	while (least(extents)) {
		if (sb->region_count == KVP_MAX_REGIONS)
			return -EINVAL;
		share_once(sb, extents, &sb->regions[sb->region_count++]);
	}
	return 0;
}

/* Make regions for all vdevs from @first on, until their extents are used up. */
static int share_out(struct kvp_sb *sb, u32 first)
{
	u64 extents[KVP_MAX_VDEVS];
	u32 v;

	sb->incompat |= KVP_INCOMPAT_VDEVS;
	count_extents(sb, extents);
	for (v = 0; v < first; v++)
		extents[v] = 0;
	return share_extents(sb, extents);
}

/* True if the last region is of vdev @v alone. */
static bool ends_with(const struct kvp_map *map, u32 v)
{
	const struct kvp_map_region *m = &map->region[map->nr - 1];

	return m->nr == 1 && m->part[0].vdev == v;
}

/* Count extents of the vdevs of @grown that no region has. A region begins with a whole leaf. */
static void count_unused(const struct kvp_sb *sb, u32 grown, u64 *extents)
{
	kvp_block_t end = kvp_map_end(&sb->map);
	u64 used, leaf;
	u32 v;

	for (v = 0; v < KVP_MAX_VDEVS; v++) {
		extents[v] = 0;
		if (!(grown >> v & 1))
			continue;
		leaf = kvp_leaf_blocks(&sb->vdevs[v]);
		used = (kvp_vblock_nr(kvp_map_from(&sb->map, v, end)) + leaf - 1) / leaf * leaf;
		extents[v] = (sb->vdevs[v].data_blocks - used) / kvp_extent_blocks(&sb->vdevs[v]);
	}
}

int kvp_regions_grow(struct kvp_sb *sb, u32 grown)
{
	u64 extents[KVP_MAX_VDEVS];
	kvp_vblock_t first;
	u32 v = 0;

	if (!sb->region_count)
		return kvp_map_build(sb, &sb->map) ? -EINVAL : 0;
	while (!(grown >> v & 1))
		v++;
	if (grown >> v == 1 && ends_with(&sb->map, v)) {
		first = sb->map.region[sb->map.nr - 1].part[0].first;
		sb->regions[sb->region_count - 1].blocks =
			sb->vdevs[v].data_blocks - kvp_vblock_nr(first);
	} else {
		count_unused(sb, grown, extents);
		if (share_extents(sb, extents))
			return -EINVAL;
	}
	return kvp_map_build(sb, &sb->map) ? -EINVAL : 0;
}

int kvp_regions_lay_out(struct kvp_sb *sb)
{
	if (kvp_sb_roots(sb) > KVP_MAX_ROOTS)
		return -EINVAL;
	if (sb->vdev_count > 1 && share_out(sb, 0))
		return -EINVAL;
	kvp_cache_say(sb);
	kvp_log_choose(sb);
	return kvp_map_build(sb, &sb->map) ? -EINVAL : 0;
}

int kvp_regions_add(struct kvp_sb *sb, u32 first)
{
	if (kvp_sb_roots(sb) > KVP_MAX_ROOTS)
		return -EINVAL;
	/* Before, the superblock need not say that the only vdev has all blocks. */
	if (!sb->region_count)
		sb->regions[sb->region_count++] =
			(struct kvp_region){ .blocks = sb->vdevs[0].data_blocks, .share = { 1 } };
	return share_out(sb, first) || kvp_map_build(sb, &sb->map) ? -EINVAL : 0;
}
