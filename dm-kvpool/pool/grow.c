// SPDX-License-Identifier: GPL-2.0-only
/*
 * More vdevs for a pool that has begun, with data or a cache.
 *
 * The pool is quiesced: everything is home and checkpointed, and its log empty.
 * What it holds stays where it is; regions for the new vdevs follow.
 *
 *   1. The new legs are blank. They get labels that name the pool, their UUIDs
 *      and what the pool is to be, marked JOINING, of epoch 0: durable, in both rings.
 *   2. One superblock goes to all legs, old and new, as every superblock does.
 *
 * If the power goes before 2, the pool is the old one: no leg of it knows of the
 * others, and nobody starts by a label that says JOINING. If it goes during 2, the
 * newest superblock that is left decides (R13). Where that is the new one, its
 * legs are there, because of 1; where it is not, nothing was written to the new
 * vdevs that anybody was told of. After 2 the new vdevs are needed as any others.
 *
 * Step 2 leaves the labels of 1 alone: they have its predecessor's slots.
 */
#include <linux/gfp.h>
#include <linux/mm.h>

#include "cache/park.h"
#include "format/logplace.h"
#include "format/regions.h"
#include "io/batch.h"
#include "log/internal.h"
#include "pool/grow.h"
#include "pool/start.h"
#include "vdev/home.h"

#define HOMES	(KVP_BYPASS_WORKERS + 1)	/* destage's is the last */

/* What depends on the vdevs, made before anything is written. */
struct growth {
	struct kvp_sb *old, *next;
	struct kvp_home *homes[HOMES];
	struct kvp_batch *batch;
	u32 *owed_of;
	struct kvp_recall *recall;
	struct page *page;
	bool tried;		/* to commit: some leg may have the new superblock */
};

/* --- the plan ------------------------------------------------------------------- */

static int lay_out_vdev(const struct kvp_start *s, u32 index, u32 max_roots, struct kvp_sb *next,
			struct kvp_refusal *r)
{
	struct kvp_geometry *g = &next->vdevs[index];
	u32 first = next->leg_count, n = s->vdevs[index].nr_legs, i;
	u64 smallest = ~0ull;
	struct kvp_why why;
	int ret;

	for (i = first; i < first + n; i++) {
		if (!s->legs[i].bdev)
			return kvp_refuse(r, -EINVAL, "give every leg", "a new vdev cannot miss a leg");
		smallest = min(smallest, s->legs[i].size_blocks);
		memset(&next->legs[i], 0, sizeof(next->legs[i]));
		next->legs[i].state = KVP_LEG_IN_SYNC;
		next->legs[i].size_blocks = s->legs[i].size_blocks;
	}
	memset(g, 0, sizeof(*g));
	g->first_leg = first;
	g->chunk_blocks = s->chunk_bytes >> KVP_BLOCK_SHIFT;
	ret = kvp_layout_one(s->vdevs[index].kind, n, smallest, s->leg_bytes >> KVP_BLOCK_SHIFT,
			     s->log_bytes, max_roots, g, &why);
	if (ret)
		return kvp_refuse(r, ret, "use larger devices or a smaller log", "%s", why.text);
	if (!kvp_log_holds_discard(&next->vdevs[next->log_vdev], g->chunk_blocks))
		return kvp_refuse(r, -EINVAL, "give smaller chunks",
				  "the log of the pool is too small for chunks of %u KiB",
				  g->chunk_blocks * 4);
	next->leg_count += n;
	return 0;
}

/* Does @s name the vdevs that there are, and more? */
static bool goes_on(const struct kvp_sb *sb, const struct kvp_start *s)
{
	u32 i;

	for (i = 0; i < sb->vdev_count && i < s->nr_vdevs; i++)
		if (sb->vdevs[i].kind != s->vdevs[i].kind ||
		    sb->vdevs[i].leg_count != s->vdevs[i].nr_legs)
			return false;
	return s->nr_vdevs > sb->vdev_count;
}

static bool names_cache(const struct kvp_start *s)
{
	u32 i;

	for (i = 0; i < s->nr_vdevs; i++)
		if (s->vdevs[i].kind == KVP_VDEV_CACHE)
			return true;
	return false;
}

/* A cache is the last of the vdevs: so none need change its number when it goes. */
static int check_cache(const struct kvp_sb *sb, const struct kvp_start *s, struct kvp_refusal *r)
{
	if (kvp_cache_find(sb) >= 0)
		return kvp_refuse(r, -EOPNOTSUPP, "take the cache out, add them, and add it again",
				  "nothing can be added to a pool with a cache");
	if (names_cache(s) && s->nr_vdevs > sb->vdev_count + 1)
		return kvp_refuse(r, -EOPNOTSUPP, "add them first, then the cache",
				  "vdevs with data and a cache cannot be added at once");
	return 0;
}

/* It begins idle; the log moves there by the mode. */
static int plan_cache(const struct kvp_sb *sb, struct kvp_sb *next, struct kvp_refusal *r)
{
	u32 i;

	for (i = 0; i < sb->vdev_count; i++)
		if (!kvp_log_holds_discard(&next->vdevs[sb->vdev_count], sb->vdevs[i].chunk_blocks))
			return kvp_refuse(r, -EINVAL, "give larger SSDs",
					  "a log there would be too small for chunks of %u KiB",
					  sb->vdevs[i].chunk_blocks * 4);
	next->incompat |= KVP_INCOMPAT_CACHE;
	next->tunable_mask |= BIT_ULL(KVP_T_CACHE_MODE);
	next->tunables[KVP_T_CACHE_MODE] = KVP_CACHE_WRITETHROUGH;
	/* It may have been made smaller than what its vdevs have. */
	next->pool_blocks = sb->pool_blocks;
	return 0;
}

int kvp_change_able(const struct kvp_pool *pool, struct kvp_refusal *r)
{
	if (kvp_pool_readonly(pool))
		return kvp_refuse(r, -EROFS, "export it and import it without --readonly",
				  "the pool is read-only");
	if (kvp_pool_faulted(pool))
		return kvp_refuse(r, -EBUSY, "see kvpoolctl status; mend that first",
				  "the pool is faulted");
	return 0;
}

int kvp_grow_plan(const struct kvp_pool *pool, const struct kvp_start *s, struct kvp_sb *next,
		  struct kvp_refusal *r)
{
	const struct kvp_sb *sb = pool->sb;
	u32 roots = (u32)kvp_sb_roots(sb), i, max_roots;
	int ret = kvp_change_able(pool, r) ?: check_cache(pool->sb, s, r);

	if (ret)
		return ret;
	if (!goes_on(sb, s))
		return kvp_refuse(r, -EINVAL, "name all vdevs of the pool, then the new ones",
				  "the table does not name the pool's vdevs and more");
	max_roots = (KVP_MAX_ROOTS - roots) / (s->nr_vdevs - sb->vdev_count);
	if (!max_roots)
		return kvp_refuse(r, -ENOSPC, "make another pool",
				  "the pool's table has no root left for another vdev");
	*next = *sb;
	for (i = sb->vdev_count; !ret && i < s->nr_vdevs; i++)
		ret = lay_out_vdev(s, i, max_roots, next, r);
	if (ret)
		return ret;
	next->vdev_count = s->nr_vdevs;
	if (kvp_regions_add(next, sb->vdev_count))
		return kvp_refuse(r, -EINVAL, "add fewer vdevs, or of more equal sizes",
				  "the pool would have more regions, or roots, than there is room for");
	memset(&next->roots[roots], 0, (KVP_MAX_ROOTS - roots) * sizeof(next->roots[0]));
	next->root_count = (u32)kvp_sb_roots(next);
	next->pool_blocks = kvp_map_blocks(&next->map);
	ret = names_cache(s) ? plan_cache(sb, next, r) : 0;
	if (ret)
		return ret;
	if (s->pool_blocks && s->pool_blocks != next->pool_blocks)
		return kvp_refuse(r, -EINVAL, "use the length that the refusal names",
				  "the table is %llu sectors long, the pool would be %llu",
				  (unsigned long long)s->pool_blocks * KVP_BLOCK_SECTORS,
				  (unsigned long long)next->pool_blocks * KVP_BLOCK_SECTORS);
	return 0;
}

/* --- memory ------------------------------------------------------------------------- */

static void free_growth(struct growth *w)
{
	u32 i;

	if (!w)
		return;
	for (i = 0; i < HOMES; i++)
		kvp_home_free(w->homes[i]);
	kvp_batch_free(w->batch);
	kvp_recall_free(w->recall);
	kvfree(w->owed_of);
	kvfree(w->old);
	kvfree(w->next);
	if (w->page)
		__free_page(w->page);
	kfree(w);
}

static struct growth *alloc_growth(void)
{
	struct growth *w = kzalloc(sizeof(*w), GFP_KERNEL);

	if (!w)
		return NULL;
	w->old = kvzalloc(sizeof(*w->old), GFP_KERNEL);
	w->next = kvzalloc(sizeof(*w->next), GFP_KERNEL);
	w->page = alloc_page(GFP_KERNEL);
	if (w->old && w->next && w->page)
		return w;
	free_growth(w);
	return NULL;
}

/* For the vdevs that the pool has by now. */
static int alloc_parts(struct kvp_pool *pool, struct growth *w)
{
	u32 i;

	for (i = 0; i < HOMES; i++) {
		w->homes[i] = kvp_home_alloc(pool, i < KVP_BYPASS_WORKERS);
		if (!w->homes[i])
			return -ENOMEM;
	}
	w->batch = kvp_batch_alloc(pool);
	w->owed_of = kvcalloc(kvp_log_max_segments(pool), sizeof(*w->owed_of), GFP_KERNEL);
	if (kvp_pool_cache(pool))
		w->recall = kvp_recall_alloc(pool);
	return w->batch && w->owed_of && (w->recall || !kvp_pool_cache(pool)) ? kvp_sb_buffers_alloc(pool) : -ENOMEM;
}

/* Nobody works with what was there before: the pool is quiesced. */
static void use_parts(struct kvp_pool *pool, struct growth *w)
{
	u32 i;

	for (i = 0; i < KVP_BYPASS_WORKERS; i++)
		swap(pool->log.workers[i].home, w->homes[i]);
	swap(pool->destage.home, w->homes[KVP_BYPASS_WORKERS]);
	swap(pool->table.batch, w->batch);
	/* Nothing is in the log that could owe anything. */
	swap(pool->log.owed_of, w->owed_of);
	swap(pool->destage.recall, w->recall);
	if (kvp_pool_cache(pool))
		WRITE_ONCE(pool->tunables[KVP_T_CACHE_MODE], KVP_CACHE_WRITETHROUGH);
}

/* --- the steps ------------------------------------------------------------------------ */

int kvp_change_ready(struct kvp_pool *pool, struct kvp_refusal *r)
{
	if (!test_bit(KVP_POOL_QUIESCED, &pool->flags) || !(pool->sb->flags & KVP_SB_CLEAN))
		return kvp_refuse(r, -EBUSY, "see kvpoolctl status; mend that first",
				  "not all that was written is home, so the pool stays as it is");
	return 0;
}

static void install_legs(struct kvp_pool *pool, const struct kvp_start *s)
{
	u32 i;

	for (i = pool->nr_legs; i < s->nr_legs; i++) {
		struct kvp_leg *leg = &pool->legs[i];

		memset(leg, 0, sizeof(*leg));
		leg->pool = pool;
		leg->index = i;
		leg->bdev = s->legs[i].bdev;
		leg->size_blocks = s->legs[i].size_blocks;
		leg->rotational = s->legs[i].rotational;
		leg->state = KVP_LEG_IN_SYNC;
		memcpy(leg->path, s->legs[i].path, sizeof(leg->path));
	}
}

static int check_legs(struct kvp_pool *pool, const struct kvp_start *s, struct growth *w,
		      struct kvp_refusal *r)
{
	int ret = 0;
	u32 i;

	for (i = pool->nr_legs; !ret && i < s->nr_legs; i++) {
		ret = kvp_check_blank(&pool->legs[i], w->page, r);
		kvp_random_uuid(w->next->legs[i].uuid);
	}
	return ret;
}

void kvp_take_shape(struct kvp_pool *pool, const struct kvp_sb *sb)
{
	u64 sequence = pool->sb->sequence, epoch = pool->sb->epoch;

	*pool->sb = *sb;
	pool->sb->sequence = sequence;
	pool->sb->epoch = epoch;
	pool->nr_legs = sb->leg_count;
	kvp_vdevs_init(pool);
}

static int label_and_commit(struct kvp_pool *pool, struct growth *w, struct kvp_refusal *r)
{
	int ret = kvp_sb_join(pool, w->old->leg_count);

	if (ret)
		return kvp_refuse(r, ret, "use another device", "a new leg did not take its label");
	w->tried = true;
	ret = kvp_sb_commit(pool);
	return ret ? kvp_refuse(r, ret, "use other devices; see kvpoolctl status",
				"not enough legs took the superblock") : 0;
}

/*
 * As it was. Some leg may have the new superblock: then one must be durable
 * that is newer, and says otherwise, or the pool stays faulted.
 */
static void undo(struct kvp_pool *pool, struct growth *w)
{
	kvp_take_shape(pool, w->old);
	if (!w->tried)
		return;
	clear_bit(KVP_POOL_FAULTED, &pool->flags);
	WRITE_ONCE(pool->sb->epoch, pool->sb->epoch + 1);
	kvp_sb_commit(pool);
}

/* Events go to all legs there are, without a lock: wait for those that saw more. */
void kvp_forget_legs(struct kvp_pool *pool)
{
	u32 first = pool->nr_legs;

	kvp_events_flush(pool);
	memset(&pool->legs[first], 0, (KVP_MAX_LEGS - first) * sizeof(pool->legs[0]));
}

static int take_in(struct kvp_pool *pool, struct growth *w, struct kvp_refusal *r)
{
	int ret;

	mutex_lock(&pool->sb_lock);
	*w->old = *pool->sb;
	kvp_take_shape(pool, w->next);
	ret = alloc_parts(pool, w);
	if (ret)
		kvp_refuse(r, ret, "free some memory and try again", "out of memory");
	else
		ret = label_and_commit(pool, w, r);
	if (ret)
		undo(pool, w);
	mutex_unlock(&pool->sb_lock);
	return ret;
}

static int grow(struct kvp_pool *pool, const struct kvp_start *s, struct growth *w,
		struct kvp_refusal *r)
{
	int ret;

	install_legs(pool, s);
	ret = check_legs(pool, s, w, r);
	if (!ret)
		ret = take_in(pool, w, r);
	if (ret)
		kvp_forget_legs(pool);
	return ret;
}

int kvp_pool_grow(struct kvp_pool *pool, const struct kvp_start *s, struct kvp_refusal *r)
{
	struct growth *w = alloc_growth();
	u32 vdevs = pool->nr_vdevs, known = pool->sb->root_count;
	int ret;

	if (!w)
		return kvp_refuse(r, -ENOMEM, "free some memory and try again", "out of memory");
	/* What is about to be noted goes to the legs that there are. */
	kvp_events_flush(pool);
	ret = kvp_change_ready(pool, r);
	if (!ret)
		ret = kvp_grow_plan(pool, s, w->next, r);
	if (!ret)
		ret = grow(pool, s, w, r);
	if (!ret) {
		use_parts(pool, w);
		memset(&pool->table.roots[known], 0,
		       (KVP_MAX_ROOTS - known) * sizeof(pool->table.roots[0]));
		kvp_cache_begin(pool);
		kvp_log_limit_buffered(pool);
		kvp_estimate_recovery(pool);
		kvp_event(pool, "grown vdevs=%u blocks=%llu", pool->nr_vdevs - vdevs,
			  (unsigned long long)pool->sb->pool_blocks);
	}
	free_growth(w);
	return ret;
}
