// SPDX-License-Identifier: GPL-2.0-only
/*
 * Replaces a leg with data that is out, by a blank device or a spare of the pool.
 *
 * The pool is quiesced. Its blocks stay where they are, and so does the log.
 *
 *   1. The new device gets labels that say JOINING, of epoch 0, durable in both rings (add.c). In
 *      them it has a new UUID, in the place of the old leg. It is stale there, and has nothing: era
 *      0, no cursor.
 *   2. One superblock under a new epoch, which says the same, goes to all legs in use.
 *   3. The labels of the old leg are wiped, if it is there and answers.
 *   4. When the pool goes on, the new leg is brought online as any leg that is out (online.c). Its
 *      label and the superblock agree that it has nothing, so all that was ever written is copied.
 *
 * If the power goes before 2, the old leg is out as before, and the new device is no leg: its UUID
 * is in no superblock. If only some legs get 2, both states are right: neither the old leg nor the
 * new one is a source. From 2 on, the label of 1 is that of the leg.
 *
 * Why the new leg does not get the superblock of 2: it could be the only leg with it. Then a start
 * without the new leg would go on under the old epoch, as no other leg knows the new one. The
 * superblock on the new leg would be the newest of all, and out of date. The new leg gets the
 * superblock of 4 when all other legs know it.
 *
 * After 2 the UUID of the old leg is in no superblock. So it is never taken for a leg, wiped or
 * not. If it is started by force without all others, that is another history: in it a leg is in
 * sync that the others have replaced (kvp_sb_forked()).
 */
#include <linux/gfp.h>
#include <linux/mm.h>

#include "core/core.h"
#include "core/refusal.h"
#include "format/replaces.h"
#include "pool/add.h"
#include "pool/online.h"
#include "pool/pool.h"
#include "pool/start.h"
#include "super/events.h"
#include "super/members.h"

struct leg_replacement {
	u32 at;				/* number of the leg */
	struct kvp_leg old;
	struct kvp_leg_info info;	/* of the old leg; @name: the old leg's name, in events */
	u8 spares[KVP_MAX_SPARES][16];	/* the list before */
	char name[KVP_LEG_WORDS];
	struct page *page;
	bool tried;			/* some superblock may name the new leg */
};

/* --- the plan ------------------------------------------------------------------- */

u32 kvp_leg_replace_at(const struct kvp_pool *pool, const struct kvp_start *s)
{
	u32 i;

	if (!s->replace || !kvp_vdevs_match(pool->sb, s))
		return KVP_MAX_LEGS;
	for (i = 0; i < s->nr_legs; i++)
		if (s->legs[i].bdev && kvp_vdev_needed(pool->legs[i].v) &&
		    !kvp_pool_has_leg_on(pool, s->legs[i].bdev))
			return i;
	return KVP_MAX_LEGS;
}

/*
 * Check that all other devices are legs of the pool, and that the table does not name the old leg.
 */
static int check_others(const struct kvp_pool *pool, const struct kvp_start *s, u32 at,
			struct kvp_refusal *r)
{
	const struct kvp_leg *old = &pool->legs[at];
	u32 i;

	for (i = 0; i < s->nr_legs; i++) {
		if (!s->legs[i].bdev || i == at)
			continue;
		if (!kvp_pool_has_leg_on(pool, s->legs[i].bdev))
			return kvp_refuse(r, -EINVAL, "replace one leg after the other",
					  "the table names two new devices, %s and %s",
					  s->legs[at].path, s->legs[i].path);
		if (s->legs[i].bdev == old->bdev)
			return kvp_refuse(r, -EINVAL, "name the legs in the order of status",
					  "%s stands in the place of %s, which the table names elsewhere",
					  s->legs[at].path, old->path);
	}
	return 0;
}

/* Check that the old leg is out: only such a leg leaves, as it is no source. */
static int check_old(const struct kvp_pool *pool, const struct kvp_leg *old, struct kvp_refusal *r)
{
	if (kvp_leg_in_sync(old))
		return kvp_refuse(r, -EBUSY,
				  "take it out first (kvpoolctl offline), if the pool can be without it; or name the legs in the order of status",
				  "%s is in use", old->path);
	if (kvp_leg_takes_writes(old))
		return kvp_refuse(r, -EBUSY,
				  "wait for the end, or take it out first (kvpoolctl offline)",
				  "%s is resilvering", old->path);
	if (kvp_replaced_by(pool->sb, old->index) < KVP_MAX_LEGS)
		return kvp_refuse(r, -EBUSY, "wait for the end, or kvpoolctl cancel POOL replace",
				  "%s is being replaced already", old->path);
	if (kvp_shadow_leg(old->pool->sb) == old->index)
		return kvp_refuse(r, -EBUSY,
				  "kvpoolctl wait -t replace, or kvpoolctl cancel POOL replace",
				  "another device has part of what %s had", old->path);
	if (atomic_read(&old->in_flight) > 0)
		return kvp_refuse(r, -EBUSY, "wait until it answers, or disconnect it",
				  "%s has not answered all requests yet", old->path);
	return 0;
}

int kvp_leg_replace_plan(const struct kvp_pool *pool, const struct kvp_start *s,
			 struct kvp_refusal *r)
{
	u32 at = kvp_leg_replace_at(pool, s);
	const struct kvp_geometry *g;
	struct kvp_why why;
	int ret = kvp_change_able(pool, r);

	if (ret)
		return ret;
	if (at == KVP_MAX_LEGS)
		return kvp_refuse(r, -EINVAL, "name it in the place of the leg",
				  "the table names no new device");
	if (s->pool_blocks && s->pool_blocks != pool->sb->pool_blocks)
		return kvp_refuse(r, -EINVAL, "use the length that the pool has",
				  "the table is not as long as the pool");
	g = pool->legs[at].v->g;
	if (kvp_geometry_check(g, s->legs[at].size_blocks, &why))
		return kvp_refuse(r, -ENOSPC, "use a larger one",
				  "%s has %llu bytes, and a leg of that vdev needs %llu",
				  s->legs[at].path,
				  (unsigned long long)s->legs[at].size_blocks << KVP_BLOCK_SHIFT,
				  (unsigned long long)kvp_leg_least(g) << KVP_BLOCK_SHIFT);
	return check_others(pool, s, at, r) ?: check_old(pool, &pool->legs[at], r);
}

/* --- the steps ------------------------------------------------------------------------ */

/* Put the new leg into its place. It is out, too, so only its label is written. */
static void put_new(struct kvp_pool *pool, const struct kvp_start *s, u32 at)
{
	struct kvp_leg_info *info = &pool->sb->legs[at];
	struct kvp_leg *leg = &pool->legs[at];
	struct kvp_vdev *v = leg->v;

	memset(leg, 0, sizeof(*leg));
	leg->pool = pool;
	leg->v = v;
	leg->index = at;
	leg->bdev = s->legs[at].bdev;
	leg->size_blocks = s->legs[at].size_blocks;
	leg->rotational = s->legs[at].rotational;
	leg->state = KVP_LEG_STALE;
	memcpy(leg->path, s->legs[at].path, sizeof(leg->path));
	memset(info, 0, sizeof(*info));
	kvp_random_uuid(info->uuid);
	info->state = KVP_LEG_STALE;
	info->size_blocks = leg->size_blocks;
}

/*
 * Put the old leg back: it is out, as before. If some superblock may name the new leg, write a
 * newer one without it.
 */
static void undo(struct kvp_pool *pool, struct leg_replacement *x)
{
	pool->legs[x->at] = x->old;
	pool->legs[x->at].queue = NULL;
	memcpy(pool->sb->spares, x->spares, sizeof(x->spares));
	pool->sb->legs[x->at] = x->info;
	if (!x->tried)
		return;
	WRITE_ONCE(pool->sb->epoch, pool->sb->epoch + 1);
	kvp_sb_undone(pool);
}

static int replace_leg(struct kvp_pool *pool, const struct kvp_start *s, struct leg_replacement *x,
		       struct kvp_refusal *r)
{
	int ret;

	mutex_lock(&pool->sb_lock);
	x->old = pool->legs[x->at];
	x->info = pool->sb->legs[x->at];
	memcpy(x->spares, pool->sb->spares, sizeof(x->spares));
	kvp_leg_words(&x->old, x->name);
	put_new(pool, s, x->at);
	/* If the old leg was to replace another leg, the new leg is, too. */
	pool->sb->legs[x->at].replaces = x->info.replaces;
	ret = kvp_change_join(pool, x->at, x->page, &x->tried, r);
	if (ret)
		undo(pool, x);
	mutex_unlock(&pool->sb_lock);
	return ret;
}

static void after(struct kvp_pool *pool, struct leg_replacement *x)
{
	char name[KVP_LEG_WORDS];

	kvp_return_wanted(&pool->legs[x->at], true);
	/* The name of the old leg begins with its UUID. */
	kvp_event(pool, "leg_replaced leg=%u%s old=%.36s", x->at,
		  kvp_leg_words(&pool->legs[x->at], name), x->name + strlen(" uuid="));
	/* Step 3. */
	if (x->old.bdev)
		kvp_label_wipe(pool, &x->old);
}

static int check_and_replace(struct kvp_pool *pool, const struct kvp_start *s,
			     struct leg_replacement *x, struct kvp_refusal *r)
{
	/* The eras of the old leg are noted when its loss is recorded, and an undo keeps them. */
	int ret = kvp_change_settled(pool, r) ?: kvp_leg_replace_plan(pool, s, r);

	if (ret)
		return ret;
	x->at = kvp_leg_replace_at(pool, s);
	ret = replace_leg(pool, s, x, r);
	if (!ret)
		after(pool, x);
	return ret;
}

int kvp_pool_replace_leg(struct kvp_pool *pool, const struct kvp_start *s, struct kvp_refusal *r)
{
	struct leg_replacement *x = kzalloc(sizeof(*x), GFP_KERNEL);
	int ret;

	if (x)
		x->page = alloc_page(GFP_KERNEL);
	if (x && x->page)
		ret = check_and_replace(pool, s, x, r);
	else
		ret = kvp_change_no_memory(r);
	if (x && x->page)
		__free_page(x->page);
	kfree(x);
	return ret;
}
