// SPDX-License-Identifier: GPL-2.0-only
/* A new table for a pool that runs: may the pool go on with it, and what does it change? */
#include <linux/device-mapper.h>

#include "compat/compat.h"
#include "core/core.h"
#include "core/shadow.h"
#include "pool/add.h"
#include "pool/cachevdev.h"
#include "pool/grow.h"
#include "pool/online.h"
#include "pool/pool.h"
#include "pool/shadow.h"
#include "pool/start.h"
#include "super/events.h"
#include "super/heartbeat.h"
#include "super/members.h"
#include "target/registry.h"
#include "target/reload.h"
#include "target/request.h"
#include "target/target.h"
#include "target/who.h"

/* Find the leg of the new table that is on the same device as @old. */
static struct block_device *same_device(struct kvp_target *t, struct block_device *old)
{
	u32 i;

	for (i = 0; i < t->start.nr_legs; i++)
		if (t->start.legs[i].bdev && old && t->start.legs[i].bdev->bd_dev == old->bd_dev)
			return t->start.legs[i].bdev;
	return NULL;
}

static bool is_device(const struct block_device *a, const struct block_device *b)
{
	return a && b && a->bd_dev == b->bd_dev;
}

/* True if the table names a device that is to take the place of a leg of a parity1 in use. */
static bool begins_shadow(const struct kvp_target *t)
{
	return t->start.replaces && t->start.shadow_named;
}

/* True if the table cancels that: the device is to take no place any more. */
static bool forgets_shadow(const struct kvp_target *t, const struct kvp_pool *pool)
{
	return t->start.replace && !t->start.replaces && t->start.shadow_named &&
	       !t->start.shadow.bdev && kvp_leg_replace_at(pool, &t->start) == KVP_MAX_LEGS;
}

/* True if the table names the pool's shadow in the place of its leg. */
static bool takes_place(const struct kvp_target *t, const struct kvp_pool *pool)
{
	const struct kvp_leg *old = kvp_shadowed(pool);
	u32 at = kvp_leg_replace_at(pool, &t->start);

	return old && at == old->index && is_device(t->start.legs[at].bdev, pool->shadow.bdev);
}

/* True if the table is about the shadow, and names the pool's legs as they are. */
static bool about_shadow(const struct kvp_target *t, const struct kvp_pool *pool)
{
	return begins_shadow(t) || forgets_shadow(t, pool);
}

/* True if the table adds vdevs, and the pool does not have them yet. */
static bool adds_vdevs(const struct kvp_target *t, const struct kvp_pool *pool)
{
	return t->start.add && !kvp_vdevs_match(pool->sb, &t->start);
}

/* True if the table removes the cache, and the pool still has it. */
static bool removes_cache(const struct kvp_target *t, const struct kvp_pool *pool)
{
	return t->start.remove && !kvp_vdevs_match(pool->sb, &t->start);
}

/* True if the table names a new device for a leg with data that is out. */
static bool replaces_leg(const struct kvp_target *t, const struct kvp_pool *pool)
{
	return kvp_leg_replace_at(pool, &t->start) < KVP_MAX_LEGS;
}

/* True if the table names a mirror with one leg more. */
static bool attaches(const struct kvp_target *t, const struct kvp_pool *pool)
{
	return kvp_attach_at(pool, &t->start) < KVP_MAX_LEGS;
}

/* True if the table names a mirror with one leg more or less. */
static bool reshapes(const struct kvp_target *t, const struct kvp_pool *pool)
{
	return attaches(t, pool) || kvp_detaches(pool, &t->start);
}

/*
 * Check that leg @at of the table, or the shadow, shares no disk with a leg of the pool: the label
 * of such a leg may be wiped.
 */
static int check_apart(struct kvp_target *t, struct kvp_pool *pool, u32 at, struct kvp_refusal *r)
{
	const struct kvp_start_leg *new = kvp_target_leg(t, at);
	u32 i;

	for (i = 0; i < kvp_legs_beside(pool); i++) {
		const struct kvp_leg *leg = kvp_leg_beside(pool, i);

		if (leg->bdev && kvp_bdevs_overlap(leg->bdev, new->bdev))
			return kvp_refuse(r, -EINVAL, "name another device",
					  "%s is, or shares a disk with, the leg %s of the pool",
					  new->path, leg->path);
	}
	return 0;
}

static int check_replace(struct kvp_target *t, struct kvp_pool *pool, struct kvp_refusal *r)
{
	return kvp_leg_replace_plan(pool, &t->start, r) ?:
	       check_apart(t, pool, kvp_leg_replace_at(pool, &t->start), r);
}

static int check_attach(struct kvp_target *t, struct kvp_pool *pool, struct kvp_refusal *r)
{
	return kvp_attach_plan(pool, &t->start, r) ?:
	       check_apart(t, pool, kvp_attach_at(pool, &t->start), r);
}

/*
 * Check a table that lets the shadow take its place. It must not name the old leg: its label is
 * wiped.
 */
static int check_taking(struct kvp_target *t, struct kvp_pool *pool, struct kvp_refusal *r)
{
	const struct kvp_leg *old = kvp_shadowed(pool);
	u32 i;

	for (i = 0; i < t->start.nr_legs; i++)
		if (is_device(t->start.legs[i].bdev, old->bdev))
			return kvp_refuse(r, -EINVAL, "name the legs in the order of status",
					  "%s stands in the place of %s, which the table names elsewhere",
					  pool->shadow.path, old->path);
	return kvp_shadow_table_fits(pool, &t->start, r) ?: kvp_take_place_plan(pool, r);
}

/* Check what the table says about a shadow with which the pool goes on. */
static int check_same_shadow(struct kvp_target *t, struct kvp_pool *pool, struct kvp_refusal *r)
{
	const struct kvp_leg *shadow = &pool->shadow;

	if (t->start.shadow.bdev && !is_device(t->start.shadow.bdev, shadow->bdev))
		return kvp_refuse(r, -EINVAL,
				  "kvpoolctl cancel POOL replace, and begin again; or export and import",
				  "%s is not the device that is to take the place of a leg",
				  t->start.shadow.path);
	/* A shadow that a resilver writes, or may write soon, must stay. */
	if (!t->start.shadow.bdev && (kvp_leg_resilvers(shadow) || kvp_shadow_may_join(pool)))
		return kvp_refuse(r, -EINVAL, "name it with shadow=",
				  "the new table lacks %s, which is to take the place of a leg",
				  shadow->path);
	return 0;
}

/* Refuse changes beside a shadow: not all of them have been thought through together. */
static int check_no_shadow(const struct kvp_pool *pool, struct kvp_refusal *r)
{
	if (!pool->sb->shadow.of)
		return 0;
	return kvp_refuse(r, -EBUSY,
			  "wait for the end (kvpoolctl wait -t replace), or kvpoolctl cancel POOL replace",
			  "a leg of a parity1 is being replaced");
}

/* Check whether the cache may be removed, or have other SSDs. */
static int check_removal(struct kvp_target *t, struct kvp_pool *pool, struct kvp_refusal *r)
{
	struct kvp_sb *next = kvzalloc(sizeof(*next), GFP_KERNEL);
	int ret;

	if (!next)
		return kvp_refuse(r, -ENOMEM, "free some memory and try again", "out of memory");
	ret = t->start.replace ? kvp_replace_plan(pool, &t->start, next, r) :
				 kvp_remove_plan(pool, &t->start, next, r);
	kvfree(next);
	/*
	 * The log may move there before the device is resumed. Then it is emptied while all I/O
	 * waits.
	 */
	return ret || t->resuming ? ret : kvp_cache_without_log(pool, r);
}

/* Check whether the vdevs can be added. Does no I/O: that is done when the device is resumed. */
static int check_growth(struct kvp_target *t, struct kvp_pool *pool, struct kvp_refusal *r)
{
	struct kvp_sb *next = kvzalloc(sizeof(*next), GFP_KERNEL);
	u32 first = kvp_add_at(pool->sb), i, j;
	int ret;

	if (!next)
		return kvp_refuse(r, -ENOMEM, "free some memory and try again", "out of memory");
	ret = kvp_add_plan(pool, &t->start, next, r);
	kvfree(next);
	for (i = first; !ret && i < first + t->start.nr_legs - pool->nr_legs; i++)
		for (j = 0; j < pool->nr_legs; j++)
			if (pool->legs[j].bdev &&
			    kvp_bdevs_overlap(pool->legs[j].bdev, t->start.legs[i].bdev))
				ret = kvp_refuse(r, -EINVAL,
					"name the pool's own legs first, in their vdevs",
					"%s is a leg of the pool already", t->start.legs[i].path);
	return ret;
}

/* Check whether the pool can use more of its legs. */
static int check_larger(struct kvp_target *t, struct kvp_pool *pool, struct kvp_refusal *r)
{
	struct kvp_sb *next;
	int ret;

	if (!kvp_vdevs_match(pool->sb, &t->start))
		return kvp_refuse(r, -EINVAL, "grow first, or change its vdevs first",
				  "the new table names other vdevs than the pool has");
	next = kvzalloc(sizeof(*next), GFP_KERNEL);
	if (!next)
		return kvp_refuse(r, -ENOMEM, "free some memory and try again", "out of memory");
	ret = kvp_pool_grow_plan(pool, &t->start, next, r);
	kvfree(next);
	return ret;
}

/* Check a change of the pool's legs or vdevs, other than one of the shadow. */
static int check_change(struct kvp_target *t, struct kvp_pool *pool, struct kvp_refusal *r)
{
	int ret = check_no_shadow(pool, r);

	if (ret)
		return ret;
	if (t->start.grow)
		return check_larger(t, pool, r);
	if (adds_vdevs(t, pool))
		return check_growth(t, pool, r);
	if (attaches(t, pool))
		return check_attach(t, pool, r);
	if (kvp_detaches(pool, &t->start))
		return kvp_detach_plan(pool, &t->start, r);
	return check_removal(t, pool, r);
}

/* Check a change of the shadow. */
static int check_shadow(struct kvp_target *t, struct kvp_pool *pool, struct kvp_refusal *r)
{
	if (begins_shadow(t))
		return kvp_shadow_plan(pool, &t->start, r) ?: check_apart(t, pool, KVP_SHADOW, r);
	if (takes_place(t, pool))
		return check_taking(t, pool, r);
	return kvp_forget_shadow_plan(pool, &t->start, r);
}

/* Check that the table is for this pool, and that the change it asks for is possible. */
static int check_shape(struct kvp_target *t, struct kvp_pool *pool, struct kvp_refusal *r)
{
	int ret;

	if ((!t->start.any_uuid && memcmp(t->start.uuid, pool->sb->pool_uuid, 16)) ||
	    t->start.readonly != kvp_pool_readonly(pool))
		return kvp_refuse(r, -EINVAL, "load a table of this pool, in its mode",
				  "the new table is of another pool or mode");
	if (about_shadow(t, pool) || takes_place(t, pool))
		return check_shadow(t, pool, r);
	ret = check_same_shadow(t, pool, r);
	if (ret)
		return ret;
	if (t->start.replaces && !attaches(t, pool))
		return kvp_refuse(r, -EINVAL,
				  "name the new leg behind the others of a mirror or single",
				  "the table replaces a leg in use, and names no leg more");
	if (replaces_leg(t, pool))
		return check_replace(t, pool, r);
	if (t->start.grow || t->start.replace || adds_vdevs(t, pool) || removes_cache(t, pool))
		return check_change(t, pool, r);
	if (t->start.pool_blocks != pool->sb->pool_blocks || !kvp_vdevs_match(pool->sb, &t->start))
		return kvp_refuse(r, -EINVAL,
				  "load a table that names them; kvpoolctl add adds vdevs",
				  "the new table names other vdevs than the pool has, or another size");
	return 0;
}

/*
 * True if the table need not name the leg's device: the leg is out, and may be back on another
 * device. So may an SSD, which begins anew there, unless its log still counts.
 */
static bool may_go(const struct kvp_target *t, const struct kvp_leg *leg)
{
	const struct kvp_pool *pool = leg->pool;

	if (t->start.add || t->start.remove ||
	    (t->start.replace && !replaces_leg(t, pool) && !reshapes(t, pool) &&
	     !about_shadow(t, pool)))
		return false;
	return !kvp_leg_takes_writes(leg) && !kvp_leg_keeps_log(leg);
}

/* True if the leg leaves the pool with this table. */
static bool leaves(const struct kvp_target *t, const struct kvp_leg *leg)
{
	const struct kvp_pool *pool = leg->pool;

	if (replaces_leg(t, pool))
		return leg->index == kvp_leg_replace_at(pool, &t->start);
	if (reshapes(t, pool))
		return leg->index == kvp_detach_at(pool, &t->start);
	if (about_shadow(t, pool))
		return false;
	return kvp_cache_leg_leaves(leg, &t->start);
}

/*
 * Check whether the running pool may go on with this table. @devs: receives the devices of its legs
 * in the new table, in the pool's order.
 */
static int check_reload(struct kvp_target *t, struct kvp_pool *pool, struct block_device **devs,
			struct kvp_refusal *r)
{
	int ret;
	u32 i;

	*r = (struct kvp_refusal){ .what = "table reload" };
	ret = check_shape(t, pool, r);
	for (i = 0; !ret && i < pool->nr_legs; i++) {
		devs[i] = same_device(t, pool->legs[i].bdev);
		/* A leg that leaves keeps the old table's device until that table is destroyed. */
		if (!devs[i] && leaves(t, &pool->legs[i]))
			devs[i] = pool->legs[i].bdev;
		if (pool->legs[i].bdev && !devs[i] && !may_go(t, &pool->legs[i]))
			ret = kvp_refuse(r, -EINVAL, "load a table that names it",
					 "the new table lacks the leg %s", pool->legs[i].path);
	}
	return ret;
}

struct loaded {
	struct kvp_target *t;
	struct kvp_refusal refusal;
};

static int check_instance(struct kvp_instance *inst, void *data)
{
	struct block_device *devs[KVP_MAX_LEGS];
	struct loaded *l = data;

	return check_reload(l->t, inst->pool, devs, &l->refusal);
}

/*
 * Refuse a table that the running pool cannot go on with when it is loaded. At resume it would be
 * too late: device-mapper has destroyed the old table by then, and all I/O would wait for yet
 * another one.
 */
int kvp_instance_check(struct dm_target *ti, struct kvp_target *t)
{
	struct loaded l = { .t = t };
	int ret = kvp_registry_check(dm_table_get_md(ti->table), check_instance, &l);

	if (!ret)
		return 0;
	ti->error = "the running pool cannot go on with this table";
	kvp_registry_refused(&l.refusal, true);
	return ret;
}

/* --- the change ---------------------------------------------------------------------- */

/*
 * Add vdevs. The device is suspended, so the pool is quiesced. No message reaches the pool: the old
 * table is destroyed, and the new one does not have it yet. No request is left, but work for one
 * may go on.
 */
static int add_vdevs(struct kvp_target *t, struct kvp_instance *inst, struct kvp_refusal *r)
{
	int ret = kvp_registry_reserve(inst, &t->start, r);

	if (ret)
		return ret;
	kvp_requests_drain(&inst->requests);
	ret = kvp_pool_add(inst->pool, &t->start, r);
	kvp_registry_reserved(inst);
	return ret;
}

/* Remove the cache. The device is suspended, as in add_vdevs(). */
static int remove_cache(struct kvp_target *t, struct kvp_instance *inst, struct kvp_refusal *r)
{
	kvp_requests_drain(&inst->requests);
	return kvp_pool_remove(inst->pool, &t->start, r);
}

/* Change the SSDs of the cache. The device is suspended, as in add_vdevs(). */
static int replace_ssds(struct kvp_target *t, struct kvp_instance *inst, struct kvp_refusal *r)
{
	int ret = kvp_registry_reserve(inst, &t->start, r);

	if (ret)
		return ret;
	kvp_requests_drain(&inst->requests);
	ret = kvp_pool_replace_ssds(inst->pool, &t->start, r);
	kvp_registry_reserved(inst);
	return ret;
}

/*
 * A copy of the table with only the devices that the pool does not have; NULL without memory. @new:
 * their number.
 */
static struct kvp_start *new_devices(const struct kvp_target *t, const struct kvp_pool *pool,
				     u32 *new)
{
	struct kvp_start *s = kvmalloc(sizeof(*s), GFP_KERNEL);
	u32 i;

	*new = 0;
	if (s)
		*s = t->start;
	for (i = 0; s && i < s->nr_legs; i++) {
		if (s->legs[i].bdev && (kvp_pool_has_leg_on(pool, s->legs[i].bdev) ||
					is_device(s->legs[i].bdev, pool->shadow.bdev)))
			s->legs[i].bdev = NULL;
		*new += !!s->legs[i].bdev;
	}
	if (s && is_device(s->shadow.bdev, pool->shadow.bdev))
		s->shadow.bdev = NULL;
	return s;
}

/*
 * Take a device for a leg that is out, or as one leg more, or as a shadow. The device is suspended,
 * as in add_vdevs(). Only new devices are reserved: a leg that hangs is no reason to refuse this.
 */
static int take_device(struct kvp_target *t, struct kvp_instance *inst,
		       int (*take)(struct kvp_pool *pool, const struct kvp_start *s,
				   struct kvp_refusal *r),
		       struct kvp_refusal *r)
{
	u32 new;
	struct kvp_start *s = new_devices(t, inst->pool, &new);
	int ret;

	if (!s)
		return kvp_refuse(r, -ENOMEM, "free some memory and try again", "out of memory");
	ret = kvp_registry_reserve(inst, s, r);
	if (!ret) {
		kvp_requests_drain(&inst->requests);
		ret = take(inst->pool, &t->start, r);
		kvp_registry_reserved(inst);
	}
	kvfree(s);
	return ret;
}

/* Detach a leg. The device is suspended, as in add_vdevs(). */
static int detach(struct kvp_target *t, struct kvp_instance *inst, struct kvp_refusal *r)
{
	kvp_requests_drain(&inst->requests);
	return kvp_pool_detach(inst->pool, &t->start, r);
}

/* Let the shadow take its place. The device is suspended, as in add_vdevs(). */
static int take_place(struct kvp_target *t, struct kvp_instance *inst, struct kvp_refusal *r)
{
	kvp_requests_drain(&inst->requests);
	return kvp_pool_take_place(inst->pool, r);
}

/* Cancel the shadow. The device is suspended, as in add_vdevs(). */
static int forget_shadow(struct kvp_target *t, struct kvp_instance *inst, struct kvp_refusal *r)
{
	kvp_requests_drain(&inst->requests);
	return kvp_pool_forget_shadow(inst->pool, r);
}

/* Grow the pool. The device is suspended, as in add_vdevs(). */
static int grow(struct kvp_target *t, struct kvp_instance *inst, struct kvp_refusal *r)
{
	kvp_requests_drain(&inst->requests);
	return kvp_pool_grow(inst->pool, &t->start, r);
}

/*
 * Find lost legs on new devices. The device is suspended, as in add_vdevs(). A device that another
 * pool has is left out: if it were refused now, all I/O would wait. Only new devices are looked at:
 * a leg that hangs is no reason to leave out others.
 */
static void reconnect(struct kvp_target *t, struct kvp_instance *inst)
{
	struct kvp_refusal r = { .what = "table reload" };
	u32 new;
	struct kvp_start *s = new_devices(t, inst->pool, &new);

	if (!new)
		goto out;
	if (kvp_registry_reserve(inst, s, &r)) {
		pr_err("dm-kvpool: %s: %s; %s\n", r.what, r.why, r.mend);
		goto out;
	}
	kvp_pool_reconnect(inst->pool, s);
	kvp_registry_reserved(inst);
out:
	kvfree(s);
}

/*
 * Let the pool use the new table's device for the shadow. A cancel keeps the old table's device
 * until its label is wiped. A shadow that takes its place is named among the legs.
 */
static void take_shadow(struct kvp_target *t, struct kvp_pool *pool)
{
	struct block_device *named = t->start.shadow.bdev;

	if (about_shadow(t, pool))
		return;
	if (takes_place(t, pool))
		named = t->start.legs[kvp_shadowed(pool)->index].bdev;
	if (named)
		WRITE_ONCE(pool->shadow.bdev, named);
	else
		kvp_shadow_let_go(pool);
}

/* Let the legs have the new table's devices. A leg that is out may have another device, or none. */
static void take_devices(struct kvp_target *t, struct kvp_pool *pool, struct block_device **devs)
{
	u32 i;

	take_shadow(t, pool);
	for (i = 0; i < pool->nr_legs; i++) {
		if (pool->legs[i].bdev != devs[i])
			WRITE_ONCE(pool->legs[i].queue, NULL);
		pool->legs[i].bdev = devs[i];
		if (devs[i])
			kvp_leg_resized(&pool->legs[i],
					bdev_nr_sectors(devs[i]) >> KVP_SECTORS_SHIFT);
	}
}

/* Change the pool as the table says. No inlining: the caller has long arrays on its stack. */
static noinline_for_stack int change(struct kvp_target *t, struct kvp_instance *inst,
				     struct kvp_refusal *r)
{
	struct kvp_pool *pool = inst->pool;

	if (begins_shadow(t))
		return take_device(t, inst, kvp_pool_shadow, r);
	if (takes_place(t, pool))
		return take_place(t, inst, r);
	if (forgets_shadow(t, pool))
		return forget_shadow(t, inst, r);
	if (t->start.grow)
		return grow(t, inst, r);
	if (replaces_leg(t, pool))
		return take_device(t, inst, kvp_pool_replace_leg, r);
	if (attaches(t, pool))
		return take_device(t, inst, kvp_pool_attach, r);
	if (kvp_detaches(pool, &t->start))
		return detach(t, inst, r);
	if (t->start.replace)
		return replace_ssds(t, inst, r);
	if (adds_vdevs(t, pool))
		return add_vdevs(t, inst, r);
	if (removes_cache(t, pool))
		return remove_cache(t, inst, r);
	if (!kvp_pool_readonly(pool))
		reconnect(t, inst);
	return 0;
}

/*
 * Reload: the pool goes on with the new table's references to its devices. If that fails, the old
 * table is destroyed, and the pool stops in good order. The next table that fits starts it again.
 */
int kvp_instance_reload(struct dm_target *ti, struct kvp_target *t, struct kvp_instance *inst)
{
	struct block_device *devs[KVP_MAX_LEGS] = { NULL };
	struct kvp_pool *pool = inst->pool;
	struct kvp_refusal refusal;
	struct kvp_event_by by;
	int ret;

	kvp_who(by.words);
	kvp_events_by(pool, &by);
	/* Check again: another pool may have been running when the table was loaded. */
	t->resuming = true;
	ret = check_reload(t, pool, devs, &refusal);
	if (!ret) {
		/* Its worker uses the devices. */
		kvp_heartbeat_stop(pool);
		take_devices(t, pool, devs);
		kvp_change_begin(pool);
		ret = change(t, inst, &refusal);
		kvp_change_end(pool);
		/* The pool stays suspended. Otherwise kvp_pool_unquiesce() does this. */
		if (ret)
			kvp_heartbeat_go(pool);
	}
	kvp_events_by_end(pool, &by);
	if (ret) {
		kvp_registry_refused(&refusal, true);
		return ret;
	}
	WRITE_ONCE(inst->table, ti->table);
	t->inst = inst;
	return 0;
}
