// SPDX-License-Identifier: GPL-2.0-only
/*
 * A new pool: check that its legs are blank, and make its first superblock. Nothing is written
 * here: kvp_format() only fills in pool->sb.
 */
#include <linux/mm.h>
#include <linux/random.h>

#include "core/core.h"
#include "core/refusal.h"
#include "format/logplace.h"
#include "format/regions.h"
#include "format/spare.h"
#include "io/io.h"
#include "pool/pool.h"
#include "pool/start.h"

/* True for the blocks of a spare's label at end @end. */
static bool in_label_of_spare(const struct kvp_leg *leg, u32 end, u64 block)
{
	return block - (kvp_spare_offset(leg->size_blocks, end) >> KVP_BLOCK_SHIFT) < KVP_SB_BLOCKS;
}

int kvp_check_unused(struct kvp_leg *leg, struct page *page, bool spare, struct kvp_refusal *r)
{
	u64 starts[2] = { 0, leg->size_blocks - KVP_LABEL_BLOCKS }, block;
	u32 end;

	for (end = 0; end < 2; end++)
		for (block = starts[end]; block < starts[end] + KVP_LABEL_BLOCKS; block++) {
			if (spare && in_label_of_spare(leg, end, block))
				continue;
			if (kvp_io_page(leg, KVP_IO_READ, kvp_lblock(block), page))
				return kvp_refuse(r, -EIO, "use a device that can be read",
						  "%s: block %llu cannot be read", leg->path,
						  (unsigned long long)block);
			if (memchr_inv(page_address(page), 0, KVP_BLOCK_SIZE))
				return kvp_refuse(r, -EEXIST,
					"zero the first and last MiB, or let kvpoolctl create -f do it",
					"%s is not blank: block %llu holds data", leg->path,
					(unsigned long long)block);
		}
	return 0;
}

int kvp_check_blank(struct kvp_leg *leg, struct page *page, struct kvp_refusal *r)
{
	return kvp_check_unused(leg, page, false, r);
}

void kvp_random_uuid(u8 *uuid)
{
	get_random_bytes(uuid, 16);
	uuid[6] = (uuid[6] & 0x0f) | 0x40;
	uuid[8] = (uuid[8] & 0x3f) | 0x80;
}

static void fill_new_sb(struct kvp_pool *pool, const struct kvp_start *s)
{
	struct kvp_sb *sb = pool->sb;
	u32 i;

	if (s->any_uuid)
		kvp_random_uuid(sb->pool_uuid);
	else
		memcpy(sb->pool_uuid, s->uuid, 16);
	snprintf(sb->name, sizeof(sb->name), "%s", s->name[0] ? s->name : "pool");
	snprintf(sb->comment, sizeof(sb->comment), "%s", s->comment);
	sb->create_time = ktime_get_real_seconds();
	get_random_bytes(&sb->nonce, sizeof(sb->nonce));
	sb->incompat |= KVP_FEATURES_OF_NEW;
	sb->log_tail = kvp_lsn(kvp_log_blocks(&sb->vdevs[sb->log_vdev]));
	sb->log_commit = sb->log_tail;
	sb->leg_count = s->nr_legs;
	sb->root_count = (u32)kvp_sb_roots(sb);
	sb->pool_blocks = s->pool_blocks ?: kvp_map_blocks(&sb->map);
	sb->flags = KVP_SB_CLEAN;
	for (i = 0; i < s->nr_legs; i++) {
		kvp_random_uuid(sb->legs[i].uuid);
		sb->legs[i].state = KVP_LEG_IN_SYNC;
		sb->legs[i].size_blocks = pool->legs[i].size_blocks;
		pool->legs[i].state = KVP_LEG_IN_SYNC;
	}
}

/* Lay out one vdev, whose legs begin with @first. */
static int lay_out_vdev(struct kvp_pool *pool, const struct kvp_start *s, u32 index, u32 first,
			struct kvp_refusal *r)
{
	struct kvp_geometry *g = &pool->sb->vdevs[index];
	u32 n = s->vdevs[index].nr_legs, i;
	u64 smallest = ~0ull;
	struct kvp_why why;
	int ret;

	for (i = first; i < first + n; i++) {
		if (!pool->legs[i].bdev)
			return kvp_refuse(r, -EINVAL, "give every leg",
					  "a new pool cannot miss a leg");
		smallest = min(smallest, pool->legs[i].size_blocks);
	}
	g->first_leg = first;
	g->chunk_blocks = kvp_chunk_asked(s->chunk_bytes);
	g->log_window = kvp_log_window_asked(s->dirty_bytes);
	ret = kvp_layout_one(s->vdevs[index].kind, n, kvp_leg_room(smallest),
			     s->leg_bytes >> KVP_BLOCK_SHIFT,
			     s->log_bytes, KVP_MAX_ROOTS / s->nr_vdevs, g, &why);
	return ret ? kvp_refuse(r, ret, kvp_layout_mend(ret), "%s", why.text) : 0;
}

/* Lay out all vdevs, and the part of the pool that each has. */
static int lay_out(struct kvp_pool *pool, const struct kvp_start *s, struct kvp_refusal *r)
{
	struct kvp_sb *sb = pool->sb;
	u32 i, first = 0;
	int ret = 0;

	/* The cache must be last: so new vdevs can go before it, and it can be removed. */
	if (kvp_caches_asked(s->vdevs, s->nr_vdevs - 1))
		return kvp_refuse(r, -EINVAL, "name the cache last",
				  "a vdev with data cannot follow the cache");
	if (s->dirty_bytes && !kvp_caches_asked(s->vdevs, s->nr_vdevs))
		return kvp_refuse(r, -EINVAL, "leave out cache_dirty_max, or name a cache",
				  "the pool has no cache");
	for (i = 0; !ret && i < s->nr_vdevs; i++) {
		ret = lay_out_vdev(pool, s, i, first, r);
		first += s->vdevs[i].nr_legs;
	}
	if (ret)
		return ret;
	sb->vdev_count = s->nr_vdevs;
	sb->tunable_mask = s->tunable_mask;
	memcpy(sb->tunables, s->tunables, sizeof(s->tunables));
	if (kvp_regions_lay_out(sb))
		return kvp_refuse(r, -EINVAL, "use fewer vdevs, or less of each leg with size=",
			"the vdevs are too large together, or their sizes too different, for one pool");
	for (i = 0; i < sb->vdev_count; i++)
		if (!kvp_logs_hold_discard(sb, sb->vdevs[i].chunk_blocks))
			return kvp_refuse(r, -EINVAL, "give a larger log_size=, or smaller chunks",
					  "the log is too small for chunks of %u KiB",
					  sb->vdevs[i].chunk_blocks * 4);
	if (s->pool_blocks > kvp_map_blocks(&sb->map))
		return kvp_refuse(r, -ENOSPC, "make the table shorter",
				  "the legs hold %llu sectors of data, the table is %llu long",
				  (unsigned long long)kvp_map_blocks(&sb->map) * KVP_BLOCK_SECTORS,
				  (unsigned long long)s->pool_blocks * KVP_BLOCK_SECTORS);
	return 0;
}

int kvp_format(struct kvp_pool *pool, struct kvp_labels *l, const struct kvp_start *s,
	       struct kvp_refusal *r)
{
	int ret = lay_out(pool, s, r);
	u32 i;

	if (ret)
		return ret;
	for (i = 0; i < pool->nr_legs; i++) {
		if (l->legs[i].valid || l->legs[i].bad)
			return kvp_refuse(r, -EEXIST,
					  "kvpoolctl labelclear it first, if that pool is not needed any more",
					  "%s carries a kvpool label already", pool->legs[i].path);
		ret = kvp_check_blank(&pool->legs[i], l->pages[0], r);
		if (ret)
			return ret;
	}
	fill_new_sb(pool, s);
	return 0;
}
