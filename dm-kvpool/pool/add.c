// SPDX-License-Identifier: GPL-2.0-only
/*
 * Adds vdevs to a running pool, with data or a cache.
 *
 * The pool is quiesced: everything is home and checkpointed, and its log is empty. The pool's
 * blocks stay where they are; regions for the new vdevs follow.
 *
 *   1. The new legs are blank. They get labels that name the pool, their UUIDs and the pool's new
 *      shape, with the flag JOINING and epoch 0: durable, in both rings.
 *   2. One superblock goes to all legs, old and new, as every superblock does.
 *
 * If the power goes before 2, the pool is the old one: no leg of it knows the new legs, and no pool
 * starts from a label that says JOINING. If the power goes during 2, the newest superblock that is
 * left decides (R13). If that is the new one, its legs have labels, because of 1. If it is the old
 * one, no request was answered by the new vdevs. After 2 the pool needs the new vdevs as all
 * others.
 *
 * Step 2 does not overwrite the labels of 1: they are in the slots of the superblock before.
 *
 * Beside a cache: cacheadd.c.
 */
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/random.h>

#include "cache/client.h"
#include "core/core.h"
#include "core/refusal.h"
#include "format/logplace.h"
#include "format/regions.h"
#include "log/log.h"
#include "log/spill.h"
#include "policy/dirty.h"
#include "pool/add.h"
#include "pool/cacheadd.h"
#include "pool/cachemode.h"
#include "pool/cachevdev.h"
#include "pool/parts.h"
#include "pool/pool.h"
#include "pool/start.h"
#include "ram/wbuf.h"
#include "super/events.h"
#include "super/heartbeat.h"
#include "super/members.h"
#include "table/table.h"

/* Memory for the new shape, allocated before any write. */
struct growth {
	struct kvp_sb *old, *next;
	struct kvp_parts parts;
	struct kvp_log_memory log;
	struct hlist_head *buckets;	/* for the write buffer, if it needs more; else NULL */
	u32 bucket_bits;
	struct kvp_leg *legs;	/* to change their order */
	struct page *page;
	bool tried;		/* a commit was tried: some leg may have the new superblock */
};

/* --- the plan ------------------------------------------------------------------- */

static int lay_out_vdev(const struct kvp_start *s, u32 max_roots, struct kvp_sb *next,
			struct kvp_refusal *r)
{
	u32 index = next->vdev_count, first = next->leg_count, n = s->vdevs[index].nr_legs, i;
	struct kvp_geometry *g = &next->vdevs[index];
	u64 smallest = ~0ull;
	struct kvp_why why;
	int ret;

	for (i = first; i < first + n; i++) {
		if (!s->legs[i].bdev)
			return kvp_refuse(r, -EINVAL, "give every leg",
					  "a new vdev cannot miss a leg");
		smallest = min(smallest, s->legs[i].size_blocks);
		memset(&next->legs[i], 0, sizeof(next->legs[i]));
		next->legs[i].state = KVP_LEG_IN_SYNC;
		next->legs[i].size_blocks = s->legs[i].size_blocks;
	}
	memset(g, 0, sizeof(*g));
	g->first_leg = first;
	g->chunk_blocks = kvp_chunk_asked(s->chunk_bytes);
	g->log_window = kvp_log_window_asked(s->dirty_bytes);
	ret = kvp_layout_one(s->vdevs[index].kind, n, kvp_leg_room(smallest),
			     s->leg_bytes >> KVP_BLOCK_SHIFT,
			     s->log_bytes, max_roots, g, &why);
	if (ret)
		return kvp_refuse(r, ret, kvp_layout_mend(ret), "%s", why.text);
	next->leg_count += n;
	next->vdev_count++;
	return 0;
}

/*
 * Plan the log: by turns on the new vdevs, too; or on the new ones alone, if these survive more
 * losses. It is empty, and has its own nonce.
 */
static void plan_log(const struct kvp_pool *pool, struct kvp_sb *next)
{
	u32 spare[KVP_MAX_VDEVS] = { 0 }, others, v;
	u64 nonce;

	for (v = 0; v < kvp_sb_with_data(next); v++)
		spare[v] = v < kvp_sb_with_data(pool->sb) ? kvp_vdev_spare(&pool->vdevs.v[v]) :
							    kvp_losses(&next->vdevs[v]);
	if (!kvp_log_widens(next, spare, &v, &others))
		return;
	get_random_bytes(&nonce, sizeof(nonce));
	kvp_log_anew(next, v, others, nonce);
}

/* True if @s names the pool's vdevs, and more vdevs behind those with data. */
static bool goes_on(const struct kvp_sb *sb, const struct kvp_start *s)
{
	u32 data = kvp_sb_with_data(sb), i;

	if (s->nr_vdevs <= sb->vdev_count)
		return false;
	for (i = 0; i < data; i++)
		if (!kvp_vdev_named(sb, i, s, i))
			return false;
	return kvp_cache_goes_on(sb, s);
}

/* Check the log's size on all vdevs: the log may move to any of them. */
static int check_logs(const struct kvp_sb *next, struct kvp_refusal *r)
{
	u32 i;

	for (i = 0; i < next->vdev_count; i++)
		if (!kvp_logs_hold_discard(next, next->vdevs[i].chunk_blocks))
			return kvp_refuse(r, -EINVAL, "give larger SSDs or logs, or smaller chunks",
					  "a log of the pool would be too small for chunks of %u KiB",
					  next->vdevs[i].chunk_blocks * 4);
	return 0;
}

/* Lay out the vdevs of @next: those with data, the new ones, and what stays behind them. */
static int lay_out(const struct kvp_sb *sb, const struct kvp_start *s, struct kvp_sb *next,
		   struct kvp_refusal *r)
{
	u32 roots = (u32)kvp_sb_roots(sb), data = kvp_sb_with_data(sb);
	u32 new = s->nr_vdevs - sb->vdev_count, i;
	u32 max_roots = (KVP_MAX_ROOTS - roots) / new;
	int ret = 0;

	if (!max_roots)
		return kvp_refuse(r, -ENOSPC, "make another pool",
				  "the pool's table has no root left for another vdev");
	*next = *sb;
	next->vdev_count = data;
	next->leg_count = kvp_add_at(sb);
	for (i = 0; !ret && i < new; i++)
		ret = lay_out_vdev(s, max_roots, next, r);
	if (ret)
		return ret;
	if (kvp_regions_add(next, data))
		return kvp_refuse(r, -EINVAL, "add fewer vdevs, or of more equal sizes",
				  "the pool would have too many regions or roots");
	memset(&next->roots[roots], 0, (KVP_MAX_ROOTS - roots) * sizeof(next->roots[0]));
	next->root_count = (u32)kvp_sb_roots(next);
	/*
	 * The pool may have been made smaller than its vdevs. Adding a cache must not change its
	 * size.
	 */
	if (kvp_map_blocks(&next->map) != kvp_map_blocks(&sb->map))
		next->pool_blocks = kvp_map_blocks(&next->map);
	kvp_cache_lay_out(sb, next);
	return 0;
}

int kvp_add_plan(const struct kvp_pool *pool, const struct kvp_start *s, struct kvp_sb *next,
		  struct kvp_refusal *r)
{
	const struct kvp_sb *sb = pool->sb;
	int ret = kvp_change_able(pool, r) ?: kvp_cache_beside(sb, s, r);

	if (ret)
		return ret;
	if (!goes_on(sb, s))
		return kvp_refuse(r, -EINVAL,
				  "name all vdevs of the pool, the new ones behind those with data, and a cache last",
				  "the table does not name the pool's vdevs and more");
	ret = lay_out(sb, s, next, r);
	if (ret)
		return ret;
	if (kvp_sb_with_data(next) > kvp_sb_with_data(sb))
		plan_log(pool, next);
	ret = check_logs(next, r);
	if (ret)
		return ret;
	if (s->pool_blocks && s->pool_blocks != next->pool_blocks)
		return kvp_refuse(r, -EINVAL, "use the length that the refusal names",
				  "the table is %llu sectors long, the pool would be %llu",
				  (unsigned long long)s->pool_blocks * KVP_BLOCK_SECTORS,
				  (unsigned long long)next->pool_blocks * KVP_BLOCK_SECTORS);
	return 0;
}

u32 kvp_add_at(const struct kvp_sb *sb)
{
	const struct kvp_geometry *last = &sb->vdevs[kvp_sb_with_data(sb) - 1];

	return last->first_leg + last->leg_count;
}

/* --- memory ------------------------------------------------------------------------- */

static void free_growth(struct growth *w)
{
	if (!w)
		return;
	kvp_parts_free(&w->parts);
	kvp_log_memory_free(&w->log);
	kvfree(w->buckets);
	kvfree(w->legs);
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
	w->legs = kvcalloc(KVP_MAX_LEGS, sizeof(*w->legs), GFP_KERNEL);
	w->page = alloc_page(GFP_KERNEL);
	if (w->old && w->next && w->legs && w->page)
		return w;
	free_growth(w);
	return NULL;
}

/* Allocate hash buckets if the log may hold more spilled versions than before. */
static int alloc_buckets(struct kvp_pool *pool, struct growth *w)
{
	w->bucket_bits = kvp_wbuf_bucket_bits(pool->vdevs.spill_window);
	if (kvp_wbuf_has_buckets(pool->wbuf, w->bucket_bits))
		return 0;
	w->buckets = kvp_wbuf_buckets(w->bucket_bits);
	return w->buckets ? 0 : -ENOMEM;
}

/* Allocate memory for the vdevs that the pool has now. */
static int alloc_parts(struct kvp_pool *pool, struct growth *w)
{
	if (kvp_log_memory_alloc(pool->log, &w->log) || alloc_buckets(pool, w))
		return -ENOMEM;
	return kvp_parts_alloc(pool, &w->parts);
}

/* Use the new memory. The pool is quiesced, so the old memory is not in use. */
static void use_parts(struct kvp_pool *pool, struct growth *w)
{
	kvp_parts_use(pool, &w->parts);
	/* The log is empty, so no parity must be carried over. */
	kvp_log_memory_swap(pool->log, &w->log);
	if (w->buckets)
		w->buckets = kvp_wbuf_use_buckets(pool->wbuf, w->buckets, w->bucket_bits);
	kvp_cache_added(pool, w->old);
}

/* --- the steps ------------------------------------------------------------------------ */

/* Put the new legs behind the present ones, for now. They are in use once they are blank. */
static void install_legs(struct kvp_pool *pool, const struct kvp_start *s)
{
	u32 from = kvp_add_at(pool->sb), i;

	for (i = pool->nr_legs; i < s->nr_legs; i++, from++) {
		struct kvp_leg *leg = &pool->legs[i];

		memset(leg, 0, sizeof(*leg));
		leg->pool = pool;
		leg->index = i;
		leg->bdev = s->legs[from].bdev;
		leg->size_blocks = s->legs[from].size_blocks;
		leg->rotational = s->legs[from].rotational;
		leg->state = KVP_LEG_STALE;
		memcpy(leg->path, s->legs[from].path, sizeof(leg->path));
	}
}

static int check_legs(struct kvp_pool *pool, const struct kvp_start *s, struct growth *w,
		      struct kvp_refusal *r)
{
	u32 to = kvp_add_at(pool->sb), i;
	int ret = 0;

	/* No leg of the pool moves before take_in(), and a new device may hang. */
	kvp_heartbeat_go(pool);
	for (i = pool->nr_legs; !ret && i < s->nr_legs; i++, to++) {
		ret = kvp_check_blank(&pool->legs[i], w->page, r);
		kvp_random_uuid(w->next->legs[to].uuid);
	}
	kvp_heartbeat_stop(pool);
	for (i = pool->nr_legs; !ret && i < s->nr_legs; i++)
		pool->legs[i].state = KVP_LEG_IN_SYNC;
	return ret;
}

/* Move the @nr legs from @b on to before those from @a on. None of them is in use. */
static void exchange_legs(struct kvp_pool *pool, struct growth *w, u32 a, u32 b, u32 nr)
{
	struct kvp_leg *legs = pool->legs;
	u32 i;

	memcpy(w->legs, &legs[b], nr * sizeof(*legs));
	memmove(&legs[a + nr], &legs[a], (b - a) * sizeof(*legs));
	memcpy(&legs[a], w->legs, nr * sizeof(*legs));
	for (i = a; i < b + nr; i++)
		legs[i].index = i;
}

void kvp_take_shape(struct kvp_pool *pool, const struct kvp_sb *sb)
{
	u64 sequence = pool->sb->sequence, epoch = pool->sb->epoch;

	*pool->sb = *sb;
	pool->sb->sequence = sequence;
	pool->sb->epoch = epoch;
	pool->nr_legs = sb->leg_count;
	kvp_vdevs_init(pool);
	kvp_cache_renumber(pool);
}

/* Steps 1 and 2. In memory the pool has the new shape. */
static int label_and_commit(struct kvp_pool *pool, struct growth *w, struct kvp_refusal *r)
{
	u32 first = kvp_add_at(w->old), nr = pool->nr_legs - w->old->leg_count, i;
	int ret;

	for (i = first; i < first + nr; i++)
		kvp_events_lack(&pool->legs[i]);
	kvp_events_give(pool);
	ret = kvp_sb_join(pool, first, nr);
	if (ret)
		return kvp_refuse(r, ret, "use another device", "a new leg did not take its label");
	w->tried = true;
	ret = kvp_sb_commit(pool);
	return ret ? kvp_refuse(r, ret, "use other devices; see kvpoolctl status",
				"not enough legs took the superblock") : 0;
}

/*
 * Undo the change. If some leg may have the new superblock, a newer one with the old shape must
 * become durable, or the pool stays faulted.
 */
static void undo(struct kvp_pool *pool, struct growth *w)
{
	u32 at = kvp_add_at(w->old), more = pool->nr_legs - w->old->leg_count;

	kvp_events_hold(pool);
	exchange_legs(pool, w, at, at + more, w->old->leg_count - at);
	kvp_take_shape(pool, w->old);
	kvp_events_go_on(pool);
	if (!w->tried)
		return;
	WRITE_ONCE(pool->sb->epoch, pool->sb->epoch + 1);
	kvp_sb_undone(pool);
}

/*
 * Events are written to all legs without a lock: wait for code that saw the larger number of legs.
 */
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
	kvp_events_hold(pool);
	exchange_legs(pool, w, kvp_add_at(w->old), pool->nr_legs,
		      w->next->leg_count - pool->nr_legs);
	kvp_take_shape(pool, w->next);
	kvp_events_go_on(pool);
	if (w->next->log_nonce != w->old->log_nonce)
		WRITE_ONCE(pool->sb->epoch, pool->sb->epoch + 1);
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

int kvp_pool_add(struct kvp_pool *pool, const struct kvp_start *s, struct kvp_refusal *r)
{
	struct growth *w = alloc_growth();
	u32 vdevs = pool->vdevs.nr, known = pool->sb->root_count;
	int ret;

	if (!w)
		return kvp_change_no_memory(r);
	/* Write home what a stop has left. If that fails, kvp_change_larger() refuses. */
	kvp_pool_empty(pool);
	/* Write waiting events now, to the present legs. */
	kvp_events_flush(pool);
	ret = kvp_change_larger(pool, r);
	if (!ret)
		ret = kvp_add_plan(pool, s, w->next, r);
	if (!ret)
		ret = grow(pool, s, w, r);
	if (!ret) {
		use_parts(pool, w);
		if (w->next->log_nonce != w->old->log_nonce)
			kvp_log_begin(pool->log);
		kvp_table_clear_roots(pool->table, known);
		kvp_cache_begin(pool);
		kvp_log_limit_buffered(pool->log);
		kvp_event(pool, "grown vdevs=%u blocks=%llu", pool->vdevs.nr - vdevs,
			  (unsigned long long)pool->sb->pool_blocks);
	}
	free_growth(w);
	return ret;
}
