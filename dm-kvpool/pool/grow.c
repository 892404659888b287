// SPDX-License-Identifier: GPL-2.0-only
/*
 * All legs of a vdev have become larger: they were replaced by larger devices, or the devices grew.
 * So the vdev becomes larger, and the pool.
 *
 * The pool is quiesced: everything is home and checkpointed, and its log is empty. Log and data
 * stay where they are. The table would be in the way of more data, or has no room for its sums. So
 * it moves to the end of the legs, behind the data (kvp_layout_larger()).
 *
 *   1. One superblock says how large the legs are. This size gives the place of each leg's second
 *      label, at its end. So the old second label may be overwritten, which may lie in the middle
 *      of a device that grew.
 *   2. All pages of the table are written to their new places, on all legs, and flushed. Nothing
 *      names these places: they lie behind the present data and table. Most pages may have been
 *      written before, while the pool was in use: kvp_pool_grow_ahead() begins that with step 1.
 *   3. One superblock under a new epoch has the new geometry, more roots, and more blocks of the
 *      pool. Another one follows, so that the two newest ones have the same shape. Only then may
 *      data be written where the table was.
 *
 * If the power goes before 3, the pool is the old one. In 3 the newest superblock that is left
 * decides (R13), and both states are right: the old table is whole until the end of 3, and the new
 * one was flushed on each leg before. A leg that fails before 3 ends the growth: the pool stays as
 * it was. A leg that fails the superblock has all of the table in its new place, and is recorded
 * out as usual. So it misses only what is newer than its era, as any leg.
 *
 * A leg that is out has none of the pages in their new places, and may have the old size. So all
 * legs must be in sync.
 */
#include <linux/mm.h>

#include "core/core.h"
#include "core/refusal.h"
#include "format/grow.h"
#include "io/mirror.h"
#include "log/log.h"
#include "pool/add.h"
#include "pool/ahead.h"
#include "pool/grow.h"
#include "pool/pool.h"
#include "super/events.h"
#include "super/heartbeat.h"
#include "super/members.h"
#include "table/move.h"
#include "table/table.h"

/**
 * struct larger - a growth
 * @old: superblock, with the new sizes of legs
 * @next: superblock
 * @w: the legs, and which vdevs grow
 * @roots: of each vdev that grows
 * @pages: pages of tables that were copied while all requests waited
 */
struct larger {
	struct kvp_sb *old, *next;
	struct kvp_grow w;
	u64 (*roots)[KVP_MAX_ROOTS];
	u64 pages;
};

/* --- the plan ------------------------------------------------------------------- */

static u64 size_in_table(const struct kvp_leg *leg, const struct kvp_start *s)
{
	u32 i;

	for (i = 0; i < s->nr_legs; i++)
		if (s->legs[i].bdev && s->legs[i].bdev == leg->bdev)
			return s->legs[i].size_blocks;
	return leg->size_blocks;
}

/* Plan the growth. @w has the sizes of the legs. */
static int plan_sizes(const struct kvp_pool *pool, struct kvp_sb *next, struct kvp_grow *w,
		      struct kvp_refusal *r)
{
	struct kvp_why why;
	u32 i;
	int ret;

	w->sources = 0;
	for (i = 0; i < pool->nr_legs; i++)
		if (kvp_leg_in_sync(&pool->legs[i]))
			w->sources |= BIT_ULL(i);
	ret = kvp_grow_plan(next, pool->sb, w, &why);
	return ret ? kvp_refuse(r, ret, kvp_grow_mend(ret), "%s", why.text) : 0;
}

static int plan(const struct kvp_pool *pool, const struct kvp_start *s, struct kvp_sb *next,
		struct kvp_grow *w, struct kvp_refusal *r)
{
	u32 i;

	for (i = 0; i < pool->nr_legs; i++)
		w->leg_blocks[i] = size_in_table(&pool->legs[i], s);
	return plan_sizes(pool, next, w, r);
}

int kvp_pool_grow_plan(const struct kvp_pool *pool, const struct kvp_start *s,
		       struct kvp_sb *next, struct kvp_refusal *r)
{
	struct kvp_grow w;
	int ret = kvp_change_able(pool, r);

	/* The shadow does not have the table in its new place. */
	if (!ret && pool->sb->shadow.of)
		ret = kvp_refuse(r, -EBUSY, "wait for the end, or kvpoolctl cancel POOL replace",
				 "a leg of a parity1 is being replaced");
	if (!ret)
		ret = plan(pool, s, next, &w, r);
	if (!ret && s->pool_blocks && s->pool_blocks != next->pool_blocks)
		ret = kvp_refuse(r, -EINVAL, "use the length that the refusal names",
				 "the table is %llu sectors long, the pool would be %llu",
				 (unsigned long long)s->pool_blocks * KVP_BLOCK_SECTORS,
				 (unsigned long long)next->pool_blocks * KVP_BLOCK_SECTORS);
	return ret;
}

/* --- the steps ------------------------------------------------------------------------ */

/* Step 1. Commit the sizes of the legs that the plan has looked at. */
static int say_sizes(struct kvp_pool *pool, const struct kvp_grow *w, struct kvp_refusal *r)
{
	u32 i;
	int ret;

	mutex_lock(&pool->sb_lock);
	for (i = 0; i < pool->nr_legs; i++) {
		if (!pool->legs[i].bdev || !kvp_leg_in_sync(&pool->legs[i]) ||
		    !(w->sources >> i & 1))
			continue;
		pool->legs[i].size_blocks = w->leg_blocks[i];
		pool->sb->legs[i].size_blocks = w->leg_blocks[i];
	}
	ret = kvp_sb_commit(pool);
	mutex_unlock(&pool->sb_lock);
	return ret ? kvp_refuse(r, ret, "see kvpoolctl status",
				"not enough legs took the superblock") : 0;
}

static int move_table(struct kvp_pool *pool, struct larger *l, u32 v, u32 since)
{
	struct kvp_table_move m = {
		.t = pool->table,
		.v = &pool->vdevs.v[v],
		.to = &l->next->vdevs[v],
		.since = since,
	};
	int ret = kvp_table_move(&m, l->roots[v]);

	l->pages += m.written;
	return ret;
}

/* Step 2. Write the tables to their new places. */
static int move_tables(struct kvp_pool *pool, struct larger *l, struct kvp_refusal *r)
{
	u32 since = kvp_ahead_since(pool, l->next, &l->w), v;
	int ret = 0;

	for (v = 0; !ret && v < pool->vdevs.nr; v++)
		if (l->w.grown >> v & 1)
			ret = move_table(pool, l, v, since);
	if (!ret)
		ret = kvp_legs_flush(pool);
	if (!ret && !kvp_table_forget(pool->table))
		ret = -EAGAIN;
	if (ret == -ENOMEM)
		return kvp_refuse(r, ret, "free some memory and try again", "out of memory");
	if (ret && kvp_table_last_lost(pool->table)->blocks)
		return kvp_refuse(r, ret, "see the event table_lost; kvpoolctl giveup ends that",
				  "a page of its table is bad in every copy");
	return ret ? kvp_refuse(r, ret, "scrub the pool, then try again",
				"not all of its table could be copied") : 0;
}

/* Check that the plan still holds: no leg of a vdev that grows was lost. */
static int plan_again(struct kvp_pool *pool, const struct kvp_start *s, struct larger *l,
		      struct kvp_refusal *r)
{
	u32 grown = l->w.grown, v;
	int ret = plan(pool, s, l->next, &l->w, r);

	if (!ret && l->w.grown != grown)
		ret = -EIO;
	if (ret)
		return kvp_refuse(r, ret, "see kvpoolctl status", "a leg was lost meanwhile");
	for (v = 0; v < l->next->vdev_count; v++)
		if (grown >> v & 1)
			kvp_grow_take_roots(l->next, v, l->roots[v]);
	return 0;
}

static void take_shape(struct kvp_pool *pool, const struct kvp_sb *sb)
{
	kvp_take_shape(pool, sb);
	kvp_table_take_roots(pool->table, sb);
}

/*
 * Some leg may have the new superblock: write a newer one with the old shape. If that fails, the
 * pool is faulted.
 */
static void undo(struct kvp_pool *pool, const struct larger *l)
{
	take_shape(pool, l->old);
	WRITE_ONCE(pool->sb->epoch, pool->sb->epoch + 1);
	kvp_sb_undone(pool);
}

/* Step 3. Commit the new shape. */
static int commit(struct kvp_pool *pool, const struct kvp_start *s, struct larger *l,
		  struct kvp_refusal *r)
{
	int ret;

	mutex_lock(&pool->sb_lock);
	ret = plan_again(pool, s, l, r);
	if (ret)
		goto out;
	*l->old = *pool->sb;
	take_shape(pool, l->next);
	WRITE_ONCE(pool->sb->epoch, pool->sb->epoch + 1);
	ret = kvp_sb_commit(pool) ?: kvp_sb_commit(pool);
	if (!ret)
		goto out;
	kvp_refuse(r, ret, "see kvpoolctl status", "not enough legs took the superblock");
	undo(pool, l);
out:
	mutex_unlock(&pool->sb_lock);
	return ret;
}

static int grow(struct kvp_pool *pool, const struct kvp_start *s, struct larger *l,
		struct kvp_refusal *r)
{
	u64 before = pool->sb->pool_blocks;
	int ret = kvp_pool_grow_plan(pool, s, l->next, r) ?: plan(pool, s, l->next, &l->w, r);

	if (ret)
		return ret;
	/* No leg changes its place before commit(), and the copy may take minutes. */
	kvp_heartbeat_go(pool);
	ret = say_sizes(pool, &l->w, r) ?: move_tables(pool, l, r);
	kvp_heartbeat_stop(pool);
	if (!ret)
		ret = commit(pool, s, l, r);
	kvp_ahead_grown(pool, l->pages);
	if (ret)
		return ret;
	kvp_log_limit_buffered(pool->log);
	kvp_event(pool, "legs_grown vdevs=%u blocks=%llu before=%llu pages=%llu",
		  hweight32(l->w.grown), (unsigned long long)pool->sb->pool_blocks,
		  (unsigned long long)before, (unsigned long long)l->pages);
	return 0;
}

int kvp_pool_grow(struct kvp_pool *pool, const struct kvp_start *s, struct kvp_refusal *r)
{
	struct larger *l = kzalloc(sizeof(*l), GFP_KERNEL);
	int ret;

	if (!l)
		return kvp_change_no_memory(r);
	l->old = kvzalloc(sizeof(*l->old), GFP_KERNEL);
	l->next = kvzalloc(sizeof(*l->next), GFP_KERNEL);
	l->roots = kvcalloc(KVP_MAX_VDEVS, sizeof(*l->roots), GFP_KERNEL);
	/*
	 * Write home what a stop has left in the log of a cache. If that fails, kvp_change_larger()
	 * refuses.
	 */
	kvp_pool_empty(pool);
	kvp_events_flush(pool);
	if (l->old && l->next && l->roots)
		ret = kvp_change_larger(pool, r) ?: grow(pool, s, l, r);
	else
		ret = kvp_change_no_memory(r);
	kvfree(l->roots);
	kvfree(l->next);
	kvfree(l->old);
	kfree(l);
	return ret;
}

/* --- ahead ------------------------------------------------------------------------------ */

int kvp_pool_grow_ahead(struct kvp_pool *pool, struct kvp_grow *w, struct kvp_refusal *r)
{
	struct kvp_sb *next = kvzalloc(sizeof(*next), GFP_KERNEL);
	int ret;

	if (!next)
		return kvp_change_no_memory(r);
	ret = kvp_change_able(pool, r) ?: plan_sizes(pool, next, w, r) ?: say_sizes(pool, w, r);
	if (ret) {
		kvfree(next);
		return ret;
	}
	ret = kvp_ahead_start(pool, next, w);
	return ret ? kvp_refuse(r, ret, "stop it or let it end",
				"the checksum table is being copied already") : 0;
}
