// SPDX-License-Identifier: GPL-2.0-only
/*
 * Removes the cache of a pool.
 *
 * The pool is quiesced. If the log is on the cache, and a stop has left data in it, that is written
 * home first.
 *
 *   1. One superblock, without the cache, goes to all other legs. If the log was on the cache, it
 *      names an empty log on a vdev with data, under a new nonce and epoch.
 *   2. The labels of the SSDs are wiped.
 *
 * If the power goes before 1, or no leg that is left has it, the cache is there, with an empty log.
 * After 1 no superblock that counts names the SSDs. An SSD that still has its label is refused: it
 * is no leg of the pool any more, and is no pool by itself. So 2 only makes the SSD free for
 * another use, and a failure of 2 does no harm.
 */
#include <linux/mm.h>
#include <linux/random.h>

#include "cache/admission.h"
#include "cache/rebuild.h"
#include "cache/scache.h"
#include "core/core.h"
#include "core/refusal.h"
#include "format/logplace.h"
#include "log/log.h"
#include "pool/add.h"
#include "pool/cachevdev.h"
#include "pool/pool.h"
#include "pool/start.h"
#include "super/events.h"
#include "super/members.h"
#include "table/ssdcopy.h"
#include "work/destage.h"

/* --- the plan ------------------------------------------------------------------- */

/* True if @s names all of the pool's vdevs except the last one. */
static bool leaves_out_last(const struct kvp_sb *sb, const struct kvp_start *s)
{
	u32 i;

	if (s->nr_vdevs + 1 != sb->vdev_count)
		return false;
	for (i = 0; i < s->nr_vdevs; i++)
		if (!kvp_vdev_named(sb, i, s, i))
			return false;
	return true;
}

bool kvp_cache_leg_leaves(const struct kvp_leg *leg, const struct kvp_start *s)
{
	const struct kvp_sb *sb = leg->pool->sb;

	return (s->replace || (s->remove && !kvp_vdevs_match(sb, s))) &&
	       kvp_cache_find(sb) == (int)leg->v->index;
}

int kvp_cache_without_log(const struct kvp_pool *pool, struct kvp_refusal *r)
{
	return kvp_log_on_cache(pool->sb) ?
	       kvp_refuse(r, -EBUSY, "set cache_mode=writethrough first, which empties it",
			  "the log is on the cache") : 0;
}

int kvp_remove_plan(const struct kvp_pool *pool, const struct kvp_start *s, struct kvp_sb *next,
		    struct kvp_refusal *r)
{
	const struct kvp_sb *sb = pool->sb;
	u32 last = sb->vdev_count - 1, i;
	int ret = kvp_change_able(pool, r);

	if (ret)
		return ret;
	if (kvp_cache_find(sb) != (int)last)
		return kvp_refuse(r, -EOPNOTSUPP, "see the vdevs in status",
				  "only a cache can be taken out, and only if it is the last vdev");
	if (!leaves_out_last(sb, s))
		return kvp_refuse(r, -EINVAL, "name all vdevs of the pool but the cache",
				  "the table does not name the pool's vdevs without its cache");
	if (s->pool_blocks && s->pool_blocks != sb->pool_blocks)
		return kvp_refuse(r, -EINVAL, "use the length that the pool has",
				  "the table is not as long as the pool");
	*next = *sb;
	next->vdev_count--;
	next->leg_count = sb->vdevs[last].first_leg;
	memset(&next->vdevs[last], 0, sizeof(next->vdevs[last]));
	for (i = next->leg_count; i < sb->leg_count; i++)
		memset(&next->legs[i], 0, sizeof(next->legs[i]));
	kvp_cache_say(next);
	next->tunable_mask &= ~BIT_ULL(KVP_T_CACHE_MODE);
	next->tunables[KVP_T_CACHE_MODE] = 0;
	return 0;
}

/* --- the steps ------------------------------------------------------------------------ */

/* Undo the change: write a superblock with the old shape that is newer than any on some leg. */
static void undo(struct kvp_pool *pool, const struct kvp_sb *old)
{
	kvp_take_shape(pool, old);
	WRITE_ONCE(pool->sb->epoch, pool->sb->epoch + 1);
	kvp_sb_undone(pool);
}

/* Step 1. Commit the superblock without the cache. After an error the pool is as before. */
static int commit_without(struct kvp_pool *pool, struct kvp_sb *old, struct kvp_sb *next)
{
	struct kvp_vdev *refuge = kvp_log_refuge(&pool->vdevs);
	u64 nonce;
	int ret;

	mutex_lock(&pool->sb_lock);
	*old = *pool->sb;
	get_random_bytes(&nonce, sizeof(nonce));
	if (kvp_log_on_cache(old))
		kvp_log_anew(next, refuge->index, kvp_log_others(&pool->vdevs, refuge), nonce);
	kvp_take_shape(pool, next);
	WRITE_ONCE(pool->sb->epoch, pool->sb->epoch + 1);
	ret = kvp_sb_commit(pool);
	if (ret)
		undo(pool, old);
	mutex_unlock(&pool->sb_lock);
	return ret;
}

/* Forget all state of the SSDs, also in the parts. The pool is quiesced, so no code uses it. */
static void forget_cache(struct kvp_pool *pool)
{
	kvp_rebuild_exit(pool->rebuild);
	kvp_admit_exit(pool->admission);
	kvp_scache_exit(pool->scache);
	kvp_ssdcopy_exit(pool->ssdcopies);
	kvp_log_forget_cache(pool->log);
	WRITE_ONCE(pool->tunables[KVP_T_CACHE_MODE], kvp_tunables[KVP_T_CACHE_MODE].def);
}

/* Step 2. Its failures cannot fail the removal. */
static void after(struct kvp_pool *pool, u32 legs, bool log_was_there)
{
	u32 i;

	if (log_was_there)
		kvp_log_begin(pool->log);
	forget_cache(pool);
	for (i = pool->nr_legs; i < legs; i++)
		kvp_label_wipe(pool, &pool->legs[i]);
	kvp_forget_legs(pool);
	kvp_log_limit_buffered(pool->log);
	kvp_event(pool, "cache_removed legs=%u", legs - pool->nr_legs);
}

int kvp_pool_remove(struct kvp_pool *pool, const struct kvp_start *s, struct kvp_refusal *r)
{
	struct kvp_sb *old = kvzalloc(sizeof(*old), GFP_KERNEL);
	struct kvp_sb *next = kvzalloc(sizeof(*next), GFP_KERNEL);
	u32 legs = pool->nr_legs;
	int ret = -ENOMEM;

	if (old && next) {
		/* If this fails, kvp_change_ready() refuses. */
		kvp_pool_empty(pool);
		/*
		 * Write waiting events to all legs now: none must be written after a label is
		 * wiped.
		 */
		kvp_events_flush(pool);
		ret = kvp_change_ready(pool, r);
		if (!ret)
			ret = kvp_remove_plan(pool, s, next, r);
		if (!ret && commit_without(pool, old, next))
			ret = kvp_refuse(r, -EIO, "see kvpoolctl status",
					 "not enough legs took the superblock");
		if (!ret)
			after(pool, legs, kvp_log_on_cache(old));
	} else {
		kvp_refuse(r, ret, "free some memory and try again", "out of memory");
	}
	kvfree(old);
	kvfree(next);
	return ret;
}
