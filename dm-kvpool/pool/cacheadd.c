// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cache while vdevs are added: it is added itself, or others are added beside it.
 *
 * A cache stays the last vdev. So it can be removed without a change of another vdev's number, and
 * these numbers seed the sums. New vdevs go before it. The cache has no sums of its own. It gets
 * another number, as do its legs: in memory while the pool is quiesced, on disk by the superblock
 * of 2. A label gives the number of its leg in the order of its own superblock.
 */
#include "core/core.h"
#include "core/refusal.h"
#include "format/logplace.h"
#include "pool/cacheadd.h"
#include "pool/start.h"

int kvp_cache_beside(const struct kvp_sb *sb, const struct kvp_start *s, struct kvp_refusal *r)
{
	int at = kvp_cache_find(sb);
	bool there = at >= 0, asked = kvp_caches_asked(s->vdevs + s->nr_vdevs - 1, 1);

	/*
	 * In a pool that was made with its cache in another place, no vdev can be added before the
	 * cache.
	 */
	if (there && (u32)at != sb->vdev_count - 1)
		return kvp_refuse(r, -EOPNOTSUPP, "make another pool",
				  "the cache is not the last of its vdevs, so nothing can be added");
	if (!there && s->nr_vdevs > sb->vdev_count + 1 && asked)
		return kvp_refuse(r, -EOPNOTSUPP, "add them first, then the cache",
				  "vdevs with data and a cache cannot be added at once");
	if (s->dirty_bytes && (there || !asked))
		return kvp_refuse(r, -EINVAL,
				  "leave out cache_dirty_max; kvpoolctl set changes it",
				  "no cache is added");
	return 0;
}

bool kvp_cache_goes_on(const struct kvp_sb *sb, const struct kvp_start *s)
{
	u32 data = kvp_sb_with_data(sb);

	/* Only the last vdev may be a cache. */
	if (kvp_caches_asked(s->vdevs + data, s->nr_vdevs - data - 1))
		return false;
	return data == sb->vdev_count || kvp_vdev_named(sb, data, s, s->nr_vdevs - 1);
}

/* Append the pool's cache, unchanged, behind the new vdevs. */
static void take_along(const struct kvp_sb *sb, struct kvp_sb *next)
{
	const struct kvp_geometry *g = &sb->vdevs[sb->vdev_count - 1];
	u32 to = next->vdev_count++;

	next->vdevs[to] = *g;
	next->vdevs[to].first_leg = next->leg_count;
	memcpy(&next->legs[next->leg_count], &sb->legs[g->first_leg],
	       g->leg_count * sizeof(next->legs[0]));
	next->leg_count += g->leg_count;
	if (kvp_log_on_cache(sb))
		next->log_vdev = to;
}

/*
 * A new cache begins without the log; setting the mode moves the log there. Until then it does
 * nothing in a pool with a parity1.
 */
static void begin_idle(struct kvp_sb *next)
{
	kvp_cache_say(next);
	next->tunable_mask |= BIT_ULL(KVP_T_CACHE_MODE);
	next->tunables[KVP_T_CACHE_MODE] = KVP_CACHE_WRITETHROUGH;
}

void kvp_cache_lay_out(const struct kvp_sb *sb, struct kvp_sb *next)
{
	if (kvp_cache_find(sb) >= 0)
		take_along(sb, next);
	else if (kvp_cache_find(next) >= 0)
		begin_idle(next);
}

void kvp_cache_added(struct kvp_pool *pool, const struct kvp_sb *old)
{
	if (kvp_cache_find(pool->sb) >= 0 && kvp_cache_find(old) < 0)
		WRITE_ONCE(pool->tunables[KVP_T_CACHE_MODE], KVP_CACHE_WRITETHROUGH);
}
