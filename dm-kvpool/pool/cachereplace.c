// SPDX-License-Identifier: GPL-2.0-only
/*
 * Changes the SSDs of a cache: one is replaced, added, or removed; or an SSD that is out of use
 * begins anew. A cache of kind parity1 keeps its number of SSDs.
 *
 * Nothing is copied. The pool is quiesced. If the log is on the cache, and a stop has left data in
 * it, that is written home first. Then the log is empty, and the SSDs have only copies.
 *
 *   1. New SSDs are blank, or spares of the pool (change.h); the labels of an SSD that begins anew
 *      are wiped. They get labels as joining legs do (add.c): with the flag JOINING, of epoch 0,
 *      durable in both rings.
 *   2. One superblock goes to all legs of the new shape, and names the new set of SSDs. If the log
 *      is on the cache, it names an empty log with a new nonce, so that no SSD has an entry that
 *      the others lack.
 *   3. The labels of SSDs that have left are wiped (change.c).
 *
 * If the power goes before 2, or no leg that is left has 2, the old SSDs are the cache, with an
 * empty log, so that the pool can do without any of them. A superblock of 2 names the new SSDs,
 * which have labels because of 1. An SSD that has left is then no leg of the pool any more.
 *
 * An SSD that begins anew was recorded out. It is not read, so its labels can be wiped before 2.
 * They must be: otherwise an old label, too, would say what the SSD is. It gets another UUID.
 *
 * The pool forgets which blocks are on the SSDs, as a new SSD has none of them.
 */
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/random.h>

#include "cache/admission.h"
#include "cache/rebuild.h"
#include "cache/scache.h"
#include "core/core.h"
#include "core/refusal.h"
#include "format/logplace.h"
#include "format/logstripe.h"
#include "log/log.h"
#include "pool/add.h"
#include "pool/cachemode.h"
#include "pool/pool.h"
#include "pool/start.h"
#include "super/events.h"
#include "super/members.h"

#define NEW	KVP_MAX_LEGS	/* instead of an old leg's number */

struct replacement {
	struct kvp_sb *old, *next;
	struct kvp_leg *legs;			/* old legs of the cache */
	u8 from[KVP_MAX_MIRROR_LEGS];	/* of each leg of the new set: its old number, or NEW */
	struct page *page;
	bool tried;				/* some leg may have the new superblock */
	bool moving;				/* the log was about to move before */
};

/* --- the plan ------------------------------------------------------------------- */

/* True if @s names the pool's vdevs, and the last one is a cache with any number of legs. */
static bool names_vdevs(const struct kvp_sb *sb, const struct kvp_start *s)
{
	u32 last = sb->vdev_count - 1, i;

	if (s->nr_vdevs != sb->vdev_count || kvp_cache_find(sb) != (int)last ||
	    s->vdevs[last].kind != sb->vdevs[last].kind)
		return false;
	for (i = 0; i < last; i++)
		if (!kvp_vdev_named(sb, i, s, i))
			return false;
	return true;
}

/* The number of the leg of cache @v that is on @bdev, or NEW. */
static u32 leg_on(const struct kvp_vdev *v, const struct block_device *bdev)
{
	u32 i;

	for (i = 0; i < v->nr_legs; i++)
		if (v->legs[i].bdev == bdev)
			return i;
	return NEW;
}

/*
 * The missing leg that has this UUID. With several missing legs, the user chooses the one that
 * leaves.
 */
static u32 leg_named(const struct kvp_pool *pool, const struct kvp_vdev *v, const u8 *uuid)
{
	u32 i;

	for (i = 0; i < v->nr_legs; i++)
		if (!v->legs[i].bdev && !memcmp(pool->sb->legs[v->g->first_leg + i].uuid, uuid, 16))
			return i;
	return NEW;
}

/*
 * The missing leg that "-" stands for as SSD @at: the one in that place, else the first, but none
 * of @taken.
 */
static u32 leg_missing(const struct kvp_vdev *v, u32 at, u32 taken)
{
	u32 i;

	if (at < v->nr_legs && !v->legs[at].bdev && !(taken >> at & 1))
		return at;
	for (i = 0; i < v->nr_legs; i++)
		if (!v->legs[i].bdev && !(taken >> i & 1))
			return i;
	return NEW;
}

/*
 * If the table names all SSDs as they are, those that are out of use begin anew. True if there are
 * any.
 */
static bool begin_anew(const struct kvp_vdev *v, u8 *from)
{
	bool any = false;
	u32 i;

	for (i = 0; i < v->nr_legs; i++) {
		if (!v->legs[i].bdev || kvp_leg_in_sync(&v->legs[i]))
			continue;
		from[i] = NEW;
		any = true;
	}
	return any;
}

/* Find out which SSDs stay, and in which order. */
static int match_legs(const struct kvp_pool *pool, const struct kvp_start *s, u8 *from,
		      struct kvp_refusal *r)
{
	const struct kvp_vdev *v = &pool->vdevs.v[pool->vdevs.nr - 1];
	u32 n = s->vdevs[pool->vdevs.nr - 1].nr_legs, first = v->g->first_leg, taken = 0, i;
	bool same = n == v->nr_legs;

	for (i = 0; i < n; i++) {
		struct block_device *bdev = s->legs[first + i].bdev;

		from[i] = s->legs[first + i].named ? leg_named(pool, v, s->legs[first + i].uuid) :
			  bdev ? leg_on(v, bdev) : NEW;
		if (from[i] == NEW)
			continue;
		/* A decoder refuses a superblock with such legs: no start would take it. */
		if (taken & BIT(from[i]))
			return kvp_refuse(r, -EINVAL, "name each missing SSD once",
					  "the table names the same SSD in two places");
		taken |= BIT(from[i]);
	}
	for (i = 0; i < n; i++) {
		if (!s->legs[first + i].bdev && !s->legs[first + i].named) {
			from[i] = leg_missing(v, i, taken);
			taken |= from[i] == NEW ? 0 : BIT(from[i]);
		}
		if (!s->legs[first + i].bdev && from[i] == NEW)
			return kvp_refuse(r, -EINVAL, "name the device",
					  "a new SSD cannot be missing");
		same &= from[i] == i;
	}
	if (same && !begin_anew(v, from))
		return kvp_refuse(r, -EINVAL, "name others",
				  "the table names the cache's own SSDs, and no connected one is out of use");
	return 0;
}

/* A row of a parity1 log has a block on each SSD, so another number would need another log. */
static int check_number(const struct kvp_geometry *g, u32 nr, struct kvp_refusal *r)
{
	if (kvp_log_fits_legs(g, nr))
		return 0;
	return kvp_refuse(r, -EOPNOTSUPP,
			  "take the cache out (kvpoolctl remove POOL cache), and add it again with the new set of SSDs",
			  "the number of SSDs of a parity1 cache is fixed");
}

/* Each SSD must have room for the log. The rest of a larger SSD is not used. */
static int check_sizes(const struct kvp_sb *next, struct kvp_refusal *r)
{
	const struct kvp_geometry *g = &next->vdevs[next->vdev_count - 1];
	u64 smallest = ~0ull;
	struct kvp_why why;
	u32 i;

	for (i = 0; i < g->leg_count; i++)
		smallest = min(smallest, next->legs[g->first_leg + i].size_blocks);
	if (kvp_geometry_check(g, smallest, &why))
		return kvp_refuse(r, -ENOSPC, "use a larger one; or take the cache out, and add it again",
				  "a new SSD is smaller than the space that the cache uses of the others");
	return 0;
}

static int check_usable(const struct kvp_pool *pool, const struct kvp_sb *next, const u8 *from,
			struct kvp_refusal *r)
{
	const struct kvp_vdev *v = &pool->vdevs.v[pool->vdevs.nr - 1];
	u32 i;

	for (i = 0; i < next->vdevs[v->index].leg_count; i++)
		if (from[i] == NEW || kvp_leg_in_sync(&v->legs[from[i]]))
			return 0;
	return kvp_refuse(r, -ENODEV, "keep one that is in use, or name a new one",
			  "no SSD of the cache would be in use");
}

static int plan(const struct kvp_pool *pool, const struct kvp_start *s, struct kvp_sb *next,
		u8 *from, struct kvp_refusal *r)
{
	const struct kvp_sb *sb = pool->sb;
	struct kvp_geometry *g = &next->vdevs[sb->vdev_count - 1];
	int ret = kvp_change_able(pool, r);
	u32 i;

	if (ret)
		return ret;
	if (!names_vdevs(sb, s))
		return kvp_refuse(r, -EINVAL,
				  "name all vdevs with data as they are, then the cache",
				  "the table names no device for a leg that is out, nor SSDs of a cache that is the last vdev");
	if (s->pool_blocks && s->pool_blocks != sb->pool_blocks)
		return kvp_refuse(r, -EINVAL, "use the length that the pool has",
				  "the table is not as long as the pool");
	ret = check_number(&sb->vdevs[sb->vdev_count - 1],
			   s->vdevs[sb->vdev_count - 1].nr_legs, r) ?:
	      match_legs(pool, s, from, r);
	if (ret)
		return ret;
	*next = *sb;
	g->leg_count = s->vdevs[sb->vdev_count - 1].nr_legs;
	next->leg_count = g->first_leg + g->leg_count;
	memset(&next->legs[g->first_leg], 0, (KVP_MAX_LEGS - g->first_leg) * sizeof(next->legs[0]));
	for (i = 0; i < g->leg_count; i++) {
		struct kvp_leg_info *info = &next->legs[g->first_leg + i];

		if (from[i] != NEW) {
			*info = sb->legs[g->first_leg + from[i]];
			continue;
		}
		info->state = KVP_LEG_IN_SYNC;
		info->size_blocks = s->legs[g->first_leg + i].size_blocks;
	}
	return check_sizes(next, r) ?: check_usable(pool, next, from, r);
}

int kvp_replace_plan(const struct kvp_pool *pool, const struct kvp_start *s, struct kvp_sb *next,
		      struct kvp_refusal *r)
{
	u8 from[KVP_MAX_MIRROR_LEGS];

	return plan(pool, s, next, from, r);
}

/* --- the steps ------------------------------------------------------------------------ */

static void free_replacement(struct replacement *x)
{
	if (!x)
		return;
	kvfree(x->old);
	kvfree(x->next);
	kvfree(x->legs);
	if (x->page)
		__free_page(x->page);
	kfree(x);
}

static struct replacement *alloc_replacement(void)
{
	struct replacement *x = kzalloc(sizeof(*x), GFP_KERNEL);

	if (!x)
		return NULL;
	x->old = kvzalloc(sizeof(*x->old), GFP_KERNEL);
	x->next = kvzalloc(sizeof(*x->next), GFP_KERNEL);
	x->legs = kvcalloc(KVP_MAX_MIRROR_LEGS, sizeof(*x->legs), GFP_KERNEL);
	x->page = alloc_page(GFP_KERNEL);
	if (x->old && x->next && x->legs && x->page)
		return x;
	free_replacement(x);
	return NULL;
}

static u32 first_ssd(const struct replacement *x)
{
	return x->next->vdevs[x->next->vdev_count - 1].first_leg;
}

static u32 nr_ssds(const struct kvp_sb *sb)
{
	return sb->vdevs[sb->vdev_count - 1].leg_count;
}

/* Make the leg for the SSD that the table names as leg @i. */
static void make_leg(struct kvp_pool *pool, const struct kvp_start *s, u32 i, struct kvp_leg *leg)
{
	memset(leg, 0, sizeof(*leg));
	leg->pool = pool;
	leg->bdev = s->legs[i].bdev;
	leg->size_blocks = s->legs[i].size_blocks;
	leg->rotational = s->legs[i].rotational;
	leg->state = KVP_LEG_IN_SYNC;
	memcpy(leg->path, s->legs[i].path, sizeof(leg->path));
}

/*
 * Each new SSD gets a UUID. The pool needs room for one leg more, as the tool puts in one after
 * the other.
 */
static int name_new(const struct kvp_pool *pool, struct replacement *x, struct kvp_refusal *r)
{
	u32 first = first_ssd(x), i;

	for (i = 0; i < nr_ssds(x->next); i++) {
		if (x->from[i] != NEW)
			continue;
		if (pool->nr_legs == KVP_MAX_LEGS)
			return kvp_refuse(r, -EINVAL, "detach one first",
					  "the pool has %u legs, and no room for one more",
					  KVP_MAX_LEGS);
		kvp_random_uuid(x->next->legs[first + i].uuid);
	}
	return 0;
}

/* Put the SSDs into their new places. The pool is quiesced, so the legs are not in use. */
static void put_legs(struct kvp_pool *pool, const struct kvp_start *s, struct replacement *x)
{
	u32 first = first_ssd(x), i;

	for (i = 0; i < nr_ssds(x->next); i++) {
		if (x->from[i] == NEW)
			make_leg(pool, s, first + i, &pool->legs[first + i]);
		else
			pool->legs[first + i] = x->legs[x->from[i]];
		pool->legs[first + i].index = first + i;
	}
}

/*
 * False if the superblock failed on new SSDs, which were given up, so that nothing is gained; or if
 * too few SSDs are left.
 */
static bool in_use_now(const struct kvp_pool *pool, const struct replacement *x)
{
	const struct kvp_vdev *v = &pool->vdevs.v[pool->vdevs.nr - 1];
	u32 i;

	for (i = 0; i < v->nr_legs; i++)
		if (x->from[i] == NEW && !kvp_leg_in_sync(&v->legs[i]))
			return false;
	return kvp_log_on_cache(pool->sb) ? kvp_vdev_has_log(v) : kvp_vdev_usable(v);
}

/* True if the SSD was a leg of the cache before. */
static bool begins_anew(const struct replacement *x, const struct kvp_leg *leg)
{
	u32 i;

	for (i = 0; i < nr_ssds(x->old); i++)
		if (x->legs[i].bdev == leg->bdev)
			return true;
	return false;
}

static void set_new(struct kvp_pool *pool, const struct replacement *x, u32 state)
{
	u32 i;

	for (i = 0; i < nr_ssds(x->next); i++)
		if (x->from[i] == NEW)
			WRITE_ONCE(pool->legs[first_ssd(x) + i].state, state);
}

/*
 * Make new SSDs blank. One that begins anew is held by the pool, so it has no other user. A spare
 * goes off the list in memory; undo() puts it back. New SSDs are not in use meanwhile: the
 * heartbeat writes nothing to them, and one that hangs is given up, though no other has the log.
 */
static int blank_new(struct kvp_pool *pool, struct replacement *x, struct kvp_refusal *r)
{
	u32 first = first_ssd(x), i;
	int ret = 0;

	set_new(pool, x, KVP_LEG_STALE);
	for (i = 0; !ret && i < nr_ssds(x->next); i++)
		if (x->from[i] == NEW && !begins_anew(x, &pool->legs[first + i]))
			ret = kvp_change_blank(pool, &pool->legs[first + i], x->page, r);
	if (!ret)
		set_new(pool, x, KVP_LEG_IN_SYNC);
	return ret;
}

/* An SSD may have lines of another history, and is in sync once the superblock counts. */
static void give_events(struct kvp_pool *pool, const struct replacement *x)
{
	u32 i;

	for (i = 0; i < nr_ssds(x->next); i++)
		if (x->from[i] == NEW)
			kvp_events_lack(&pool->legs[first_ssd(x) + i]);
	kvp_events_give(pool);
}

/* Step 1, for one SSD. */
static int label_new(struct kvp_pool *pool, struct replacement *x, u32 leg)
{
	if (begins_anew(x, &pool->legs[leg]) && !kvp_label_wipe(pool, &pool->legs[leg]))
		return -EIO;
	return kvp_sb_join(pool, leg, 1);
}

/* Steps 1 and 2. After an error the caller undoes both. */
static int label_and_commit(struct kvp_pool *pool, struct replacement *x, struct kvp_refusal *r)
{
	u32 first = first_ssd(x), i;
	int ret = kvp_sb_buffers_alloc(pool);

	if (ret)
		return kvp_refuse(r, ret, "free some memory and try again", "out of memory");
	ret = blank_new(pool, x, r);
	if (ret)
		return ret;
	give_events(pool, x);
	for (i = 0; !ret && i < nr_ssds(x->next); i++)
		if (x->from[i] == NEW)
			ret = label_new(pool, x, first + i);
	if (ret)
		return kvp_refuse(r, ret, "use another device", "a new SSD did not take its label");
	x->tried = true;
	ret = kvp_change_commit(pool, r);
	if (ret)
		return ret;
	return in_use_now(pool, x) ? 0 :
	       kvp_refuse(r, -EIO, "use another device; see kvpoolctl status",
			  "an SSD failed as it was written to");
}

/*
 * The old SSDs go back to their places: those that would have stayed, as they are by now. Returns
 * those that were given up, as bits.
 */
static u64 put_legs_back(struct kvp_pool *pool, struct replacement *x)
{
	u32 first = first_ssd(x), i;
	u64 out = 0;

	for (i = 0; i < nr_ssds(x->next); i++) {
		struct kvp_leg *leg = &pool->legs[first + i];

		if (x->from[i] == NEW)
			continue;
		if (kvp_change_put_back(leg, &x->legs[x->from[i]]))
			out |= BIT_ULL(first + x->from[i]);
		x->legs[x->from[i]] = *leg;
	}
	memcpy(&pool->legs[first], x->legs, nr_ssds(x->old) * sizeof(*x->legs));
	for (i = 0; i < nr_ssds(x->old); i++) {
		pool->legs[first + i].index = first + i;
		/* Other devices may have got the queues of these places. */
		pool->legs[first + i].queue = NULL;
	}
	return out;
}

/*
 * Undo the change. If some leg may have the new superblock, write a newer one with the old shape.
 */
static void undo(struct kvp_pool *pool, struct replacement *x)
{
	u64 out;

	kvp_events_hold(pool);
	out = put_legs_back(pool, x);
	kvp_take_shape(pool, x->old);
	/*
	 * The last SSD of the new set may have failed, and set this. If one of the old set has, it
	 * must not be recorded out before the log has moved (R14).
	 */
	if (x->tried)
		WRITE_ONCE(pool->vdevs.log_moving, x->moving);
	kvp_change_leave_strays(pool);
	kvp_events_go_on(pool);
	if (!x->tried)
		return;
	WRITE_ONCE(pool->sb->epoch, pool->sb->epoch + 1);
	kvp_change_in_sync_again(pool, out);
	kvp_sb_undone(pool);
}

static int replace_ssds(struct kvp_pool *pool, const struct kvp_start *s, struct replacement *x,
			struct kvp_refusal *r)
{
	u64 nonce;
	int ret;

	ret = name_new(pool, x, r);
	if (ret)
		return ret;
	mutex_lock(&pool->sb_lock);
	*x->old = *pool->sb;
	x->moving = READ_ONCE(pool->vdevs.log_moving);
	memcpy(x->legs, &pool->legs[first_ssd(x)], nr_ssds(x->old) * sizeof(*x->legs));
	get_random_bytes(&nonce, sizeof(nonce));
	if (kvp_log_on_cache(x->old))
		kvp_log_anew(x->next, x->next->vdev_count - 1, 0, nonce);
	/*
	 * A new SSD lacks the blocks of those that stay. So let the ring go on at a place where no
	 * old summary counts.
	 */
	if (x->next->cache_lsn)
		x->next->cache_lsn =
			kvp_lsn_add(x->next->cache_lsn,
				    2 * kvp_log_blocks(&x->next->vdevs[x->next->vdev_count - 1]));
	kvp_events_hold(pool);
	put_legs(pool, s, x);
	kvp_take_shape(pool, x->next);
	kvp_events_go_on(pool);
	ret = label_and_commit(pool, x, r);
	if (ret)
		undo(pool, x);
	mutex_unlock(&pool->sb_lock);
	return ret;
}

static bool stays(const struct replacement *x, u32 leg)
{
	u32 i;

	for (i = 0; i < nr_ssds(x->next); i++)
		if (x->from[i] == leg)
			return true;
	return false;
}

/*
 * True if the device is an SSD of the cache: one that began anew has a new label, which must stay.
 */
static bool is_leg(const struct kvp_pool *pool, const struct block_device *bdev)
{
	const struct kvp_vdev *v = &pool->vdevs.v[pool->vdevs.nr - 1];

	return bdev && leg_on(v, bdev) != NEW;
}

/* Step 3. Its failures cannot fail the replacement. */
static void after(struct kvp_pool *pool, struct replacement *x)
{
	u32 new = 0, gone = 0, i;

	if (kvp_log_on_cache(x->old))
		kvp_log_begin(pool->log);
	kvp_rebuild_exit(pool->rebuild);
	kvp_admit_exit(pool->admission);
	kvp_scache_exit(pool->scache);
	kvp_cache_begin(pool);
	for (i = 0; i < nr_ssds(x->old); i++) {
		if (stays(x, i))
			continue;
		gone++;
		if (!is_leg(pool, x->legs[i].bdev))
			kvp_label_wipe(pool, &x->legs[i]);
	}
	for (i = 0; i < nr_ssds(x->next); i++)
		new += x->from[i] == NEW;
	kvp_forget_legs(pool);
	kvp_log_limit_buffered(pool->log);
	kvp_event(pool, "cache_exchanged new=%u gone=%u", new, gone);
}

int kvp_pool_replace_ssds(struct kvp_pool *pool, const struct kvp_start *s, struct kvp_refusal *r)
{
	struct replacement *x = alloc_replacement();
	int ret;

	if (!x)
		return kvp_change_no_memory(r);
	/* If this fails, kvp_change_ready() refuses. */
	kvp_pool_empty(pool);
	kvp_events_flush(pool);
	ret = kvp_change_ready(pool, r);
	if (!ret)
		ret = plan(pool, s, x->next, x->from, r);
	if (!ret)
		ret = replace_ssds(pool, s, x, r);
	if (ret)
		kvp_forget_legs(pool);
	else
		after(pool, x);
	free_replacement(x);
	return ret;
}
