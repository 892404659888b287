// SPDX-License-Identifier: GPL-2.0-only
/* Replacing a leg of a parity1 that is in use: shadow.h has the steps. */
#include <linux/gfp.h>
#include <linux/mm.h>

#include "core/core.h"
#include "core/refusal.h"
#include "core/shadow.h"
#include "io/flight.h"
#include "io/mirror.h"
#include "pool/add.h"
#include "pool/online.h"
#include "pool/shadow.h"
#include "pool/start.h"
#include "super/events.h"
#include "super/members.h"

int kvp_shadow_table_fits(const struct kvp_pool *pool, const struct kvp_start *s,
			  struct kvp_refusal *r)
{
	if (!kvp_vdevs_match(pool->sb, s))
		return kvp_refuse(r, -EINVAL, "name all vdevs as they are",
				  "the table names other vdevs than the pool has");
	if (s->pool_blocks && s->pool_blocks != pool->sb->pool_blocks)
		return kvp_refuse(r, -EINVAL, "use the length that the pool has",
				  "the table is not as long as the pool");
	return 0;
}

/* Wipe the label of @leg. The pool is suspended, so a device that hangs must not delay it. */
static void wipe(struct kvp_pool *pool, struct kvp_leg *leg)
{
	if (!leg->bdev)
		return;
	if (kvp_leg_has_strays(leg))
		kvp_event(pool, "label_left leg=%u path=%s", leg->index, leg->path);
	else
		kvp_label_wipe(pool, leg);
}

/*
 * The watch, status and events look at the shadow at any time. The fields that say that it is there
 * (v, bdev, state) are cleared before the rest changes, and set after that. @pool and @index never
 * change.
 */
#define CHANGES	offsetof(struct kvp_leg, path)	/* all fields from here on may change */

static_assert(offsetof(struct kvp_leg, pool) < CHANGES && offsetof(struct kvp_leg, v) < CHANGES &&
	      offsetof(struct kvp_leg, index) < CHANGES &&
	      offsetof(struct kvp_leg, bdev) < CHANGES &&
	      offsetof(struct kvp_leg, state) > CHANGES);

static void hide(struct kvp_pool *pool)
{
	struct kvp_leg *shadow = &pool->shadow;

	WRITE_ONCE(pool->shadow_ready, false);
	WRITE_ONCE(shadow->state, KVP_LEG_OFFLINE);
	WRITE_ONCE(shadow->v, NULL);
	WRITE_ONCE(shadow->bdev, NULL);
	kvp_flights_wait_watch(pool);
	memset((u8 *)shadow + CHANGES, 0, sizeof(*shadow) - CHANGES);
	shadow->state = KVP_LEG_OFFLINE;
}

static void show(struct kvp_pool *pool, struct kvp_vdev *v, struct block_device *bdev)
{
	WRITE_ONCE(pool->shadow.bdev, bdev);
	smp_store_release(&pool->shadow.v, v);	/* pairs with kvp_shadowed() */
}

/* --- the shadow comes (1) ------------------------------------------------------- */

/* The leg that @s names by its UUID, or NULL. */
static const struct kvp_leg *leg_that_leaves(const struct kvp_pool *pool, const struct kvp_start *s)
{
	u32 i;

	for (i = 0; s->replaces && i < pool->nr_legs; i++)
		if (!memcmp(pool->sb->legs[i].uuid, s->leaves, 16))
			return &pool->legs[i];
	return NULL;
}

static int check_device(const struct kvp_leg *old, const struct kvp_start_leg *new,
			struct kvp_refusal *r)
{
	const struct kvp_geometry *g = old->v->g;
	struct kvp_why why;

	if (!new->bdev || kvp_pool_has_leg_on(old->pool, new->bdev))
		return kvp_refuse(r, -EINVAL, "name it with shadow=",
				  "the table names no new device");
	if (kvp_geometry_check(g, new->size_blocks, &why))
		return kvp_refuse(r, -ENOSPC, "use a larger one",
				  "%s has %llu bytes, and a leg of that vdev needs %llu", new->path,
				  (unsigned long long)new->size_blocks << KVP_BLOCK_SHIFT,
				  (unsigned long long)kvp_leg_least(g) << KVP_BLOCK_SHIFT);
	return 0;
}

int kvp_shadow_plan(const struct kvp_pool *pool, const struct kvp_start *s, struct kvp_refusal *r)
{
	const struct kvp_leg *old = leg_that_leaves(pool, s);
	int ret = kvp_change_able(pool, r) ?: kvp_shadow_table_fits(pool, s, r);

	if (ret)
		return ret;
	if (!old || kvp_vdev_needed(old->v) < 2)
		return kvp_refuse(r, -EINVAL, "name the UUID of a leg of a parity1",
				  "the leg that is to be replaced is of no parity1");
	if (pool->sb->shadow.of)
		return kvp_refuse(r, -EBUSY, "wait for the end, or kvpoolctl cancel POOL replace",
				  "a leg of a parity1 is being replaced already");
	if (!kvp_leg_in_sync(old))
		return kvp_refuse(r, -EBUSY, "let the new one take its place at once, or wait",
				  "%s is not in sync", old->path);
	return check_device(old, &s->shadow, r);
}

static void put_shadow(struct kvp_pool *pool, const struct kvp_leg *old,
		       const struct kvp_start_leg *new)
{
	struct kvp_shadow_info *order = &pool->sb->shadow;
	struct kvp_leg *shadow = &pool->shadow;

	hide(pool);
	shadow->size_blocks = new->size_blocks;
	shadow->rotational = new->rotational;
	shadow->answered = jiffies;
	shadow->state = KVP_LEG_STALE;
	memcpy(shadow->path, new->path, sizeof(shadow->path));
	pool->shadow_of = (u32)(old - old->v->legs);
	*order = (struct kvp_shadow_info){ .size_blocks = new->size_blocks, .vdev = old->v->index,
					   .of = pool->shadow_of + 1,
					   .label = pool->sb->sequence };
	kvp_random_uuid(order->uuid);
	show(pool, old->v, new->bdev);
}

static void drop_shadow(struct kvp_pool *pool)
{
	hide(pool);
	memset(&pool->sb->shadow, 0, sizeof(pool->sb->shadow));
}

/**
 * struct coming - a device that is to become a shadow
 * @page: buffer to look at the device
 * @lost: the shadow as it was when that failed
 * @spares: the list of spares before
 * @labelled: it may have its label
 */
struct coming {
	struct page *page;
	struct kvp_leg lost;
	u8 spares[KVP_MAX_SPARES][16];
	bool labelled;
};

static int label_and_commit(struct kvp_pool *pool, struct coming *x, struct kvp_refusal *r)
{
	int ret;

	/* With strays, a late write for another shadow or leg could overwrite the label. */
	if (kvp_leg_has_strays(&pool->shadow))
		return kvp_refuse(r, -EBUSY, "wait until it answers, or use another device",
				  "%s has not answered all requests yet", pool->shadow.path);
	if (kvp_flights_reserve(pool))
		return kvp_change_no_memory(r);
	ret = kvp_change_blank(pool, &pool->shadow, x->page, r);
	if (ret)
		return ret;
	x->labelled = true;
	if (kvp_sb_label_shadow(pool, false))
		return kvp_refuse(r, -EIO, "use another device", "%s did not take its label",
				  pool->shadow.path);
	return kvp_sb_commit(pool) ? kvp_change_no_superblock(r) : 0;
}

/*
 * Begin to use the shadow. If a superblock that names the device failed, write a newer one without
 * it.
 */
static int begin(struct kvp_pool *pool, const struct kvp_start *s, struct coming *x,
		 struct kvp_refusal *r)
{
	int ret;

	mutex_lock(&pool->sb_lock);
	memcpy(x->spares, pool->sb->spares, sizeof(x->spares));
	put_shadow(pool, leg_that_leaves(pool, s), &s->shadow);
	ret = label_and_commit(pool, x, r);
	if (ret) {
		x->lost = pool->shadow;
		drop_shadow(pool);
		memcpy(pool->sb->spares, x->spares, sizeof(x->spares));
		if (kvp_failed_by(&pool->failure, KVP_FAIL_SUPERBLOCK))
			kvp_sb_undone(pool);
	}
	mutex_unlock(&pool->sb_lock);
	if (ret && x->labelled) {
		x->lost.state = KVP_LEG_OFFLINE;
		wipe(pool, &x->lost);
	}
	return ret;
}

int kvp_pool_shadow(struct kvp_pool *pool, const struct kvp_start *s, struct kvp_refusal *r)
{
	char name[KVP_LEG_WORDS];
	struct coming *x;
	int ret = kvp_change_settled(pool, r) ?: kvp_shadow_plan(pool, s, r);

	if (ret)
		return ret;
	x = kzalloc(sizeof(*x), GFP_KERNEL);
	if (x)
		x->page = alloc_page(GFP_KERNEL);
	ret = x && x->page ? begin(pool, s, x, r) : kvp_change_no_memory(r);
	if (x && x->page)
		__free_page(x->page);
	kfree(x);
	if (!ret)
		kvp_event(pool, "shadow_added leg=%u%s", kvp_shadowed(pool)->index,
			  kvp_leg_words(&pool->shadow, name));
	return ret;
}

/* --- it takes the place (4) ----------------------------------------------------- */

/**
 * struct taking - the shadow takes the place of a leg
 * @at: number of the leg
 * @whole: the shadow is complete, and will be a source; else it is out, as the leg was
 * @old: the leg, as it was
 * @info: the same, in the superblock
 * @shadow: as it was
 * @order: the same, in the superblock
 * @words: name of the leg, in events
 */
struct taking {
	u32 at;
	bool whole;
	struct kvp_leg old, shadow;
	struct kvp_leg_info info;
	struct kvp_shadow_info order;
	char words[KVP_LEG_WORDS];
};

int kvp_take_place_plan(const struct kvp_pool *pool, struct kvp_refusal *r)
{
	const struct kvp_leg *old = kvp_shadowed(pool);
	int ret = kvp_change_able(pool, r);

	if (ret)
		return ret;
	if (!old)
		return kvp_refuse(r, -EINVAL, "name a leg and a device to replace it",
				  "no device is to take the place of a leg, or it is not there");
	if (kvp_leg_resilvers(old))
		return kvp_refuse(r, -EBUSY, "wait for the end (kvpoolctl wait -t resilver)",
				  "%s is resilvering", old->path);
	if (kvp_leg_in_sync(old) &&
	    (!kvp_leg_resilvers(&pool->shadow) || !READ_ONCE(pool->shadow_ready)))
		return kvp_refuse(r, -EBUSY, "wait for the end (kvpoolctl wait -t replace)",
				  "%s does not have all that %s has", pool->shadow.path, old->path);
	return 0;
}

/*
 * Make all that the leg has durable on the shadow, too, and make sure that neither has data in a
 * log.
 */
static int make_equal(struct kvp_pool *pool, struct kvp_refusal *r)
{
	int ret = 0;

	if (kvp_vdev_carries_log(kvp_shadowed(pool)->v)) {
		/* If this fails, kvp_change_ready() refuses. */
		kvp_pool_empty(pool);
		ret = kvp_change_ready(pool, r);
	}
	if (ret)
		return ret;
	if (kvp_legs_flush(pool) || kvp_members_settle(pool))
		return kvp_change_faulted(r);
	return kvp_take_place_plan(pool, r);
}

/* Replace the leg by its shadow, in memory and in pool->sb. */
static void replace_leg(struct kvp_pool *pool, struct taking *x)
{
	struct kvp_leg *leg = &pool->legs[x->at];
	struct kvp_leg_info *info = &pool->sb->legs[x->at];

	kvp_events_hold(pool);
	x->shadow = pool->shadow;
	memset(info, 0, sizeof(*info));
	memcpy(info->uuid, x->order.uuid, sizeof(info->uuid));
	info->state = x->whole ? KVP_LEG_IN_SYNC : KVP_LEG_STALE;
	info->size_blocks = x->order.size_blocks;
	info->in_sync_epoch = x->whole ? pool->sb->epoch + 1 : 0;
	info->cursor = x->whole ? 0 : x->order.cursor;
	info->cursor_era = x->whole ? 0 : x->order.cursor_era;
	*leg = x->shadow;
	leg->index = x->at;
	leg->queue = NULL;
	leg->state = info->state;
	/*
	 * The others that the vdev needs must take the superblock (R16). If they are too few, no
	 * leg is given up, and this one is a source at once.
	 */
	leg->joins = x->whole && kvp_vdev_usable(leg->v) > kvp_vdev_needed(leg->v);
	if (leg->joins)
		leg->state = KVP_LEG_RESILVERING;
	leg->left_at = 0;
	leg->has_era = 0;
	leg->torn = ~0u;	/* any of its labels may have been cut */
	/* This superblock directly follows the last two labels: one ring may fail it (R13, R27). */
	leg->taken = 2;
	drop_shadow(pool);
	kvp_events_go_on(pool);
}

static int commit(struct kvp_pool *pool, struct taking *x, struct kvp_refusal *r)
{
	int ret = kvp_change_commit(pool, r);

	if (ret)
		return ret;
	if (x->whole && !kvp_leg_in_sync(&pool->legs[x->at]))
		return kvp_refuse(r, -EIO, "kvpoolctl cancel POOL replace; use another device",
				  "%s did not take the superblock", x->shadow.path);
	return 0;
}

/*
 * Give the leg its place back. A leg that has the other superblock did not go on without it: the
 * leg is in sync as of the newer superblock. The shadow may have the other superblock, and cannot
 * be used any more.
 */
static void undo(struct kvp_pool *pool, struct taking *x)
{
	kvp_events_hold(pool);
	pool->legs[x->at] = x->old;
	pool->legs[x->at].queue = NULL;
	kvp_events_go_on(pool);
	pool->sb->legs[x->at] = x->info;
	memcpy((u8 *)&pool->shadow + CHANGES, (u8 *)&x->shadow + CHANGES,
	       sizeof(pool->shadow) - CHANGES);
	pool->shadow.queue = NULL;
	pool->shadow.state = KVP_LEG_FAULTED;
	pool->shadow.left_at = jiffies | 1;
	pool->sb->shadow = x->order;
	show(pool, x->shadow.v, x->shadow.bdev);
	WRITE_ONCE(pool->sb->epoch, pool->sb->epoch + 1);
	if (x->info.state == KVP_LEG_IN_SYNC)
		pool->sb->legs[x->at].in_sync_epoch = pool->sb->epoch;
	kvp_sb_undone(pool);
}

static int change(struct kvp_pool *pool, struct taking *x, struct kvp_refusal *r)
{
	int ret;

	mutex_lock(&pool->sb_lock);
	x->at = kvp_shadowed(pool)->index;
	x->old = pool->legs[x->at];
	x->info = pool->sb->legs[x->at];
	x->order = pool->sb->shadow;
	x->whole = kvp_leg_in_sync(&x->old);
	kvp_leg_words(&x->old, x->words);
	if (x->whole && kvp_sb_label_shadow(pool, true)) {
		ret = kvp_refuse(r, -EIO, "kvpoolctl cancel POOL replace; use another device",
				 "%s did not take its label", pool->shadow.path);
	} else {
		replace_leg(pool, x);
		if (x->whole) {
			kvp_events_lack(&pool->legs[x->at]);
			kvp_events_give(pool);
		}
		ret = commit(pool, x, r);
		if (ret)
			undo(pool, x);
	}
	mutex_unlock(&pool->sb_lock);
	return ret;
}

static int take_place(struct kvp_pool *pool, struct taking *x, struct kvp_refusal *r)
{
	char name[KVP_LEG_WORDS];
	int ret = change(pool, x, r);

	if (ret)
		return ret;
	kvp_return_wanted(&pool->legs[x->at], !x->whole);
	/* The name of the old leg begins with its UUID. */
	kvp_event(pool, "leg_replaced leg=%u%s old=%.36s", x->at,
		  kvp_leg_words(&pool->legs[x->at], name), x->words + strlen(" uuid="));
	/* With this state a write that hangs is given up. */
	x->old.state = KVP_LEG_OFFLINE;
	wipe(pool, &x->old);
	return 0;
}

int kvp_pool_take_place(struct kvp_pool *pool, struct kvp_refusal *r)
{
	struct taking *x;
	int ret = kvp_change_settled(pool, r) ?: kvp_take_place_plan(pool, r);

	if (!ret && kvp_leg_in_sync(kvp_shadowed(pool)))
		ret = make_equal(pool, r);
	if (ret)
		return ret;
	x = kzalloc(sizeof(*x), GFP_KERNEL);
	ret = x ? take_place(pool, x, r) : kvp_change_no_memory(r);
	kfree(x);
	return ret;
}

/* --- it leaves ------------------------------------------------------------------ */

void kvp_shadow_let_go(struct kvp_pool *pool)
{
	if (pool->shadow.bdev)
		hide(pool);
}

int kvp_forget_shadow_plan(const struct kvp_pool *pool, const struct kvp_start *s,
			   struct kvp_refusal *r)
{
	int ret = kvp_change_able(pool, r);

	if (ret)
		return ret;
	if (!pool->sb->shadow.of)
		return kvp_refuse(r, -EINVAL, "nothing needs to be done",
				  "no leg of a parity1 is being replaced");
	return kvp_shadow_table_fits(pool, s, r);
}

/*
 * Cancel the order. @shadow: receives the shadow as it was. If the superblock fails, the order
 * stays, but the device is not used.
 */
static int forget(struct kvp_pool *pool, struct kvp_leg *shadow, struct kvp_refusal *r)
{
	struct kvp_shadow_info order;
	int ret;

	mutex_lock(&pool->sb_lock);
	order = pool->sb->shadow;
	*shadow = pool->shadow;
	drop_shadow(pool);
	ret = kvp_sb_commit(pool);
	if (ret) {
		pool->sb->shadow = order;
		kvp_sb_undone(pool);
	}
	mutex_unlock(&pool->sb_lock);
	return ret ? kvp_change_no_superblock(r) : 0;
}

int kvp_pool_forget_shadow(struct kvp_pool *pool, struct kvp_refusal *r)
{
	struct kvp_leg *shadow;
	char name[KVP_LEG_WORDS];
	int ret = kvp_change_settled(pool, r) ?: kvp_change_able(pool, r);

	if (ret)
		return ret;
	if (!pool->sb->shadow.of)
		return kvp_refuse(r, -EINVAL, "nothing needs to be done",
				  "no leg of a parity1 is being replaced");
	shadow = kmalloc(sizeof(*shadow), GFP_KERNEL);
	if (!shadow)
		return kvp_change_no_memory(r);
	kvp_leg_words(&pool->shadow, name);
	ret = forget(pool, shadow, r);
	if (!ret) {
		kvp_event(pool, "shadow_removed%s", name);
		shadow->state = KVP_LEG_OFFLINE;
		wipe(pool, shadow);
	}
	kfree(shadow);
	return ret;
}
