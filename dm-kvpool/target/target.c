// SPDX-License-Identifier: GPL-2.0-only
/*
 * The device-mapper target: table lines, and the stages of a device's life.
 *
 * The constructor only parses the line. Labels are read when the device is resumed for the first
 * time. The pool belongs to the mapped device, not to the table: a reload finds the pool again and
 * gives it the new table's devices.
 */
#include <linux/device-mapper.h>
#include <linux/module.h>
#include <linux/sched/mm.h>

#include "compat/compat.h"
#include "compat/crc.h"
#include "core/core.h"
#include "io/flight.h"
#include "io/io_bio.h"
#include "pool/add.h"
#include "pool/grow.h"
#include "pool/online.h"
#include "pool/pool.h"
#include "pool/shadow.h"
#include "pool/start.h"
#include "pool/tableline.h"
#include "ram/shrinker.h"
#include "super/events.h"
#include "super/heartbeat.h"
#include "super/members.h"
#include "table/shrinker.h"
#include "target/message.h"
#include "target/order.h"
#include "target/pm.h"
#include "target/registry.h"
#include "target/request.h"
#include "target/status.h"
#include "target/target.h"
#include "target/who.h"

#define MAX_DISCARD_SECTORS	(1u << 21)	/* 1 GiB */

static bool degraded_start;
module_param(degraded_start, bool, 0644);
MODULE_PARM_DESC(degraded_start, "start pools without legs that may hold newer data");

/* --- constructor --------------------------------------------------------------------- */

static const char *open_mend(int error)
{
	switch (error) {
	case -EBUSY:
		return "see what holds it: lsblk, fuser";
	case -EACCES:
	case -EROFS:
		return "make it writable, or start with the option readonly and dmsetup --readonly";
	default:
		return "check the path; '-' stands for a leg that is missing";
	}
}

/* Leg @i of the table, or the shadow. */
static struct kvp_start_leg *named_leg(struct kvp_start *s, u32 i)
{
	return i == KVP_SHADOW ? &s->shadow : &s->legs[i];
}

/*
 * Check that @leg, which has a device, is not the device of @other, which the table names before
 * it.
 */
static int check_beside(struct kvp_line *line, struct kvp_target *t,
			const struct kvp_start_leg *other, const struct kvp_start_leg *leg)
{
	if (other == leg || !other->bdev || !kvp_bdevs_overlap(other->bdev, leg->bdev))
		return 0;
	line->error = "a leg is named twice";
	return kvp_refuse(&t->refusal, -EINVAL, "name each device once",
			  "%s and %s are the same device, or one is a partition of the other",
			  other->path, leg->path);
}

static int check_leg(struct kvp_line *line, struct kvp_target *t, u32 i)
{
	struct kvp_start *s = &t->start;
	const struct kvp_start_leg *leg = named_leg(s, i);
	/* The shadow is an option, so it comes before all legs. */
	int ret = check_beside(line, t, &s->shadow, leg);
	u32 j;

	for (j = 0; !ret && i != KVP_SHADOW && j < i; j++)
		ret = check_beside(line, t, &s->legs[j], leg);
	if (!ret && bdev_logical_block_size(leg->bdev) > KVP_BLOCK_SIZE) {
		line->error = "logical blocks of a leg are larger than 4096 bytes";
		ret = -EINVAL;
	}
	return ret;
}

static int open_leg(struct kvp_line *line, struct kvp_start *s, u32 i, const char *arg)
{
	struct kvp_target *t = container_of(s, struct kvp_target, start);
	struct kvp_start_leg *leg = named_leg(s, i);
	struct dm_target *ti = t->ti;
	int ret;

	ret = dm_get_device(ti, arg, dm_table_get_mode(ti->table), &t->devs[i]);
	if (ret) {
		line->error = "cannot open a leg";
		return kvp_refuse(&t->refusal, ret, open_mend(ret), "leg %s cannot be opened: %pe",
				  arg, ERR_PTR(ret));
	}
	/*
	 * Events and refusals name the leg by this path, and may be read after a restart: numbers
	 * would tell nothing then. A path that is cut off would name something else, and one with
	 * control characters would forge lines of the status.
	 */
	if (*arg != '/')
		snprintf(leg->path, sizeof(leg->path), "/dev/%pg", t->devs[i]->bdev);
	else if (strlen(arg) >= sizeof(leg->path) || !kvp_text_valid(arg))
		strscpy(leg->path, t->devs[i]->name, sizeof(leg->path));
	leg->bdev = t->devs[i]->bdev;
	leg->size_blocks = bdev_nr_sectors(t->devs[i]->bdev) >> KVP_SECTORS_SHIFT;
	leg->rotational = !bdev_nonrot(t->devs[i]->bdev);
	return check_leg(line, t, i);
}

static int parse_line(struct dm_target *ti, struct kvp_target *t, unsigned int argc, char **argv)
{
	struct kvp_line line = {
		.argc = argc, .argv = argv, .refusal = &t->refusal, .open = open_leg,
	};
	int ret;

	t->ti = ti;
	t->start.pool_blocks = ti->len >> KVP_SECTORS_SHIFT;
	ret = kvp_line_parse(&line, &t->start);
	t->ti = NULL;
	ti->error = (char *)line.error;
	return ret;
}

static void put_devices(struct dm_target *ti, struct kvp_target *t)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(t->devs); i++)
		if (t->devs[i])
			dm_put_device(ti, t->devs[i]);
}

/* Keep the reason where tools read all other refusals. */
static void refuse_table(struct dm_target *ti, struct kvp_refusal *r)
{
	snprintf(r->what, sizeof(r->what), "table line");
	if (!r->why[0])
		kvp_refuse(r, 0, "see docs/dm-interface.md", "%s",
			   ti->error ?: "it cannot be read");
	kvp_registry_refused(r, true);
}

static void set_features(struct dm_target *ti)
{
	ti->num_flush_bios = 1;
	/* Without this, no FLUSH would reach this target if all legs are write-through. */
	ti->flush_supported = true;
	ti->num_discard_bios = 1;
	ti->discards_supported = true;
	ti->num_write_zeroes_bios = 1;
	ti->per_io_data_size = sizeof(struct kvp_bio);
}

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
	       !t->start.shadow.bdev && kvp_substitute_at(pool, &t->start) == KVP_MAX_LEGS;
}

/* True if the table names the pool's shadow in the place of its leg. */
static bool takes_place(const struct kvp_target *t, const struct kvp_pool *pool)
{
	const struct kvp_leg *old = kvp_shadowed(pool);
	u32 at = kvp_substitute_at(pool, &t->start);

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
static bool substitutes(const struct kvp_target *t, const struct kvp_pool *pool)
{
	return kvp_substitute_at(pool, &t->start) < KVP_MAX_LEGS;
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
	const struct kvp_start_leg *new = named_leg(&t->start, at);
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

static int check_substitute(struct kvp_target *t, struct kvp_pool *pool, struct kvp_refusal *r)
{
	return kvp_substitute_plan(pool, &t->start, r) ?:
	       check_apart(t, pool, kvp_substitute_at(pool, &t->start), r);
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
	if (!ret && kvp_log_on_cache(pool->sb) && !t->resuming)
		ret = kvp_refuse(r, -EBUSY, "set cache_mode=writethrough first, which empties it",
				 "the log is on the cache");
	return ret;
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
	if (substitutes(t, pool))
		return check_substitute(t, pool, r);
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
 * device.
 */
static bool may_go(const struct kvp_target *t, const struct kvp_leg *leg)
{
	const struct kvp_pool *pool = leg->pool;

	if (t->start.add || t->start.remove ||
	    (t->start.replace && !substitutes(t, pool) && !reshapes(t, pool) &&
	     !about_shadow(t, pool)))
		return false;
	return !kvp_leg_takes_writes(leg) && kvp_vdev_needed(leg->v);
}

/* True if the leg leaves the pool with this table. */
static bool leaves(const struct kvp_target *t, const struct kvp_leg *leg)
{
	const struct kvp_pool *pool = leg->pool;

	if (substitutes(t, pool))
		return leg->index == kvp_substitute_at(pool, &t->start);
	if (reshapes(t, pool))
		return leg->index == kvp_detach_at(pool, &t->start);
	if (about_shadow(t, pool))
		return false;
	return (t->start.replace || removes_cache(t, pool)) && !leg->v->homes;
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
static int check_loaded(struct dm_target *ti, struct kvp_target *t)
{
	struct loaded l = { .t = t };
	int ret = kvp_registry_check(dm_table_get_md(ti->table), check_instance, &l);

	if (!ret)
		return 0;
	ti->error = "the running pool cannot go on with this table";
	kvp_registry_refused(&l.refusal, true);
	return ret;
}

/* Check the line as a whole: its place in the table, and its mode. */
static int check_line(struct dm_target *ti, struct kvp_target *t)
{
	if (ti->begin || ti->len % KVP_BLOCK_SECTORS) {
		ti->error = "a pool begins at sector 0 and has whole 4096 byte blocks";
		return -EINVAL;
	}
	/* The legs were opened for reading: no log may be written home, and no label written. */
	if (!t->start.readonly && !(dm_table_get_mode(ti->table) & KVP_MODE_WRITE)) {
		ti->error = "the device is read-only, and the pool is not";
		return kvp_refuse(&t->refusal, -EROFS,
				  "add the option readonly, or leave out --readonly",
				  "the device is to be read-only, and the pool is not");
	}
	return 0;
}

static int kvp_ctr(struct dm_target *ti, unsigned int argc, char **argv)
{
	struct kvp_refusal none = { };
	struct kvp_target *t;
	int ret;

	if (argc < 5) {
		ti->error = "table needs UUID, options, vdev kind, number of legs and legs";
		refuse_table(ti, &none);
		return -EINVAL;
	}
	t = kvzalloc(sizeof(*t), GFP_KERNEL);
	if (!t) {
		ti->error = "out of memory";
		return -ENOMEM;
	}
	ret = parse_line(ti, t, argc, argv);
	if (!ret)
		ret = check_line(ti, t);
	if (ret)
		refuse_table(ti, &t->refusal);
	else
		ret = check_loaded(ti, t);
	if (ret) {
		put_devices(ti, t);
		kvfree(t);
		return ret;
	}
	ti->error = NULL;
	ti->private = t;
	set_features(ti);
	return 0;
}

/* --- binding to the pool ---------------------------------------------------------------- */

static void notify(struct kvp_pool *pool)
{
	struct kvp_instance *inst = pool->owner;
	struct dm_table *table = READ_ONCE(inst->table);

	if (table)
		dm_table_event(table);
}

/* Called with the last reference to the pool: no bio is in flight any more. */
static void pool_gone(struct kvp_pool *pool)
{
	kvp_registry_gone(pool);
	kvp_io_bio_exit(pool);
}

/*
 * Leave the registry. A stray keeps the next pool from its leg, so let the pool linger first,
 * without a gap in which neither is true.
 */
static void leave(struct kvp_instance *inst)
{
	if (inst->pool && kvp_strays(inst->pool))
		kvp_registry_linger(inst->pool);
	kvp_registry_leave(inst);
}

static void free_instance(struct kvp_instance *inst)
{
	kvp_rcache_shrinker_remove(&inst->ram_shrinker);
	kvp_table_shrinker_remove(&inst->table_shrinker);
	/* Orders may let requests go on, and the last work of these may still kick the pool. */
	kvp_orders_exit(&inst->orders);
	kvp_requests_exit(&inst->requests);
	kvp_pool_stop(inst->pool);
	leave(inst);
	kvp_pool_free(inst->pool);
	kfree(inst);
}

/*
 * Raise an event, so that the ring tells after which start, and on which host, later events came.
 */
static void note_start(struct kvp_pool *pool, const struct kvp_start *s)
{
	struct kvp_event_by by;

	kvp_who(by.words);
	kvp_events_by(pool, &by);
	kvp_event(pool, "%s epoch=%llu legs=%u%s%s%s%s host=%s", s->format ? "created" : "imported",
		  (unsigned long long)pool->sb->epoch, pool->nr_legs,
		  s->degraded ? " degraded=1" : "", s->accept_fork ? " accept_fork=1" : "",
		  pool->recovery.went_back ? " went_back=1" : "",
		  s->discard_log ? " discard_log=1" : "",
		  s->host_name[0] ? s->host_name : "-");
	kvp_events_by_end(pool, &by);
}

/*
 * Raise events if the shadow is missing, or is another device: then the order waits. A read-only
 * pool copies nothing.
 */
static void note_shadow(struct kvp_pool *pool, const struct kvp_start *s)
{
	if (s->readonly)
		return;
	if (s->shadow.bdev && !pool->shadow.bdev)
		kvp_event(pool, "device_ignored path=%.64s", s->shadow.path);
	if (pool->sb->shadow.of && !pool->shadow.v)
		kvp_event(pool, "shadow_missing leg=%u uuid=%pUb", kvp_shadow_leg(pool->sb),
			  pool->sb->shadow.uuid);
}

static int new_instance(struct dm_target *ti, struct kvp_target *t)
{
	struct kvp_instance *inst = kzalloc(sizeof(*inst), GFP_KERNEL);
	struct kvp_refusal refusal = { .what = "pool start" };
	int ret = -ENOMEM;

	if (!inst)
		return -ENOMEM;
	INIT_LIST_HEAD(&inst->list);
	inst->md = dm_table_get_md(ti->table);
	inst->pool = kvp_pool_alloc();
	if (inst->pool)
		inst->pool->gone = pool_gone;
	if (!inst->pool || kvp_io_bio_init(inst->pool) || kvp_orders_init(&inst->orders))
		goto fail;
	t->start.owner = inst;
	t->start.claim = kvp_registry_claim;
	t->start.auto_degraded = degraded_start;
	ret = kvp_registry_answered(&t->start, &refusal) ?:
	      kvp_pool_start(inst->pool, &t->start, &refusal);
	if (ret) {
		kvp_registry_refused(&refusal, true);
		goto fail;
	}
	ret = kvp_requests_init(&inst->requests, inst->pool);
	if (!ret)
		ret = kvp_table_shrinker_add(&inst->table_shrinker, inst->pool->table);
	if (!ret)
		ret = kvp_rcache_shrinker_add(&inst->ram_shrinker, inst->pool->rcache);
	if (ret) {
		kvp_table_shrinker_remove(&inst->table_shrinker);
		kvp_requests_exit(&inst->requests);
		kvp_pool_quiesce(inst->pool);
		kvp_pool_stop(inst->pool);
		goto fail;
	}
	inst->pool->notify = notify;
	inst->table = ti->table;
	t->inst = inst;
	note_start(inst->pool, &t->start);
	note_shadow(inst->pool, &t->start);
	/* Format only once. */
	t->start.format = false;
	kvp_registry_started(inst);
	return 0;
fail:
	/* The start may have claimed the pool before it failed. */
	leave(inst);
	kvp_orders_exit(&inst->orders);
	kvp_pool_free(inst->pool);
	kfree(inst);
	return ret;
}

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
	ret = kvp_pool_replace(inst->pool, &t->start, r);
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
	if (substitutes(t, pool))
		return take_device(t, inst, kvp_pool_substitute, r);
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
static int rebind(struct dm_target *ti, struct kvp_target *t, struct kvp_instance *inst)
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
		/* Its worker uses the devices. kvp_pool_unquiesce() starts it again. */
		kvp_heartbeat_stop(pool);
		take_devices(t, pool, devs);
		ret = change(t, inst, &refusal);
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

static int bind(struct dm_target *ti, struct kvp_target *t)
{
	struct kvp_instance *inst = kvp_registry_get(dm_table_get_md(ti->table));
	int ret;

	if (!inst)
		return new_instance(ti, t);
	/*
	 * Wait for messages that the old table got after it was suspended. The new table has had
	 * none yet.
	 */
	kvp_orders_drain(&inst->orders);
	ret = rebind(ti, t, inst);
	if (ret && kvp_registry_put(inst))
		free_instance(inst);
	return ret;
}

/*
 * Tell the queue the size of stripes: writes of whole stripes of a parity1 need no reads. The
 * labels tell it, and are not read yet when device-mapper asks for limits. So the queue learns it
 * here. If vdevs have stripes of different sizes, or none, no address of the pool is a multiple of
 * all of them.
 */
static void tell_stripes(struct dm_target *ti, const struct kvp_pool *pool)
{
	u32 stripe = 0, chunk = 0, blocks, i;

	for (i = 0; i < pool->vdevs.nr; i++) {
		const struct kvp_vdev *v = &pool->vdevs.v[i];

		if (!v->homes)
			continue;
		blocks = kvp_unit_blocks(v->g);
		if (blocks == 1 || (stripe && stripe != blocks))
			return;
		stripe = blocks;
		chunk = max(chunk, v->g->chunk_blocks);
	}
	kvp_compat_io_hints(dm_disk(dm_table_get_md(ti->table)), chunk << KVP_BLOCK_SHIFT,
			    stripe << KVP_BLOCK_SHIFT);
}

static int kvp_preresume(struct dm_target *ti)
{
	struct kvp_target *t = ti->private;
	unsigned int noio;
	int ret;

	if (t->inst)
		return 0;
	/* Memory reclaim must not write to this device, which is suspended (R24). */
	noio = memalloc_noio_save();
	ret = bind(ti, t);
	if (!ret)
		tell_stripes(ti, t->inst->pool);
	memalloc_noio_restore(noio);
	return ret;
}

static void kvp_resume(struct dm_target *ti)
{
	struct kvp_instance *inst = ((struct kvp_target *)ti->private)->inst;

	kvp_requests_requeue(&inst->requests, NULL);
	if (test_bit(KVP_POOL_QUIESCED, &inst->pool->flags))
		kvp_pool_unquiesce(inst->pool);
}

/* The order of a suspend. */
struct write_back {
	struct kvp_order order;
	struct kvp_pool *pool;
	bool noflush;
};

static int act_write_back(struct kvp_order *order)
{
	struct write_back *w = container_of(order, struct write_back, order);

	if (kvp_pool_wait_suspending(w->pool) && !w->noflush)
		kvp_pool_write_back(w->pool);
	return 0;
}

static void release_write_back(struct kvp_order *order)
{
	kfree(container_of(order, struct write_back, order));
}

/*
 * Let work in the background end, and write back, while I/O is served. A leg may hang meanwhile.
 * Only the suspending task waits for all of this, and it can be killed.
 */
static void write_back(struct kvp_instance *inst, bool noflush)
{
	struct write_back *w = kzalloc(sizeof(*w), GFP_NOIO);

	/* Without memory, postsuspend does all of the work. */
	if (!w)
		return;
	w->pool = inst->pool;
	w->noflush = noflush;
	w->order.act = act_write_back;
	w->order.release = release_write_back;
	kvp_order_start(&inst->orders, &w->order);
	kvp_order_wait_killable(&w->order);
	kvp_order_put(&w->order);
}

/*
 * After this, device-mapper stops all I/O, waits for all messages, and calls postsuspend, which
 * writes back what is not home. So first let messages return. Then write back most while I/O is
 * still served. A noflush suspend skips that: it must not wait for legs that may not answer.
 */
static void kvp_presuspend(struct dm_target *ti)
{
	struct kvp_instance *inst = ((struct kvp_target *)ti->private)->inst;

	if (!inst)
		return;
	kvp_orders_end(&inst->orders);
	kvp_pool_suspending(inst->pool);
	if (dm_noflush_suspending(ti))
		kvp_requests_requeue(&inst->requests, ti);
	write_back(inst, dm_noflush_suspending(ti));
}

static void kvp_presuspend_undo(struct dm_target *ti)
{
	struct kvp_instance *inst = ((struct kvp_target *)ti->private)->inst;

	if (!inst)
		return;
	kvp_requests_requeue(&inst->requests, NULL);
	kvp_pool_not_suspending(inst->pool);
	kvp_orders_again(&inst->orders);
}

static void kvp_postsuspend(struct dm_target *ti)
{
	struct kvp_instance *inst = ((struct kvp_target *)ti->private)->inst;

	if (!inst)
		return;
	/*
	 * Orders were told to end, and end soon. While the pool is quiesced no other code may use
	 * it.
	 */
	kvp_orders_drain(&inst->orders);
	if (!test_bit(KVP_POOL_QUIESCED, &inst->pool->flags))
		kvp_pool_quiesce(inst->pool);
	kvp_orders_again(&inst->orders);
}

static void kvp_dtr(struct dm_target *ti)
{
	struct kvp_target *t = ti->private;
	struct kvp_instance *inst = t->inst;

	if (inst) {
		/* The pool may go on with another table: its events must not use this one. */
		if (READ_ONCE(inst->table) == ti->table)
			WRITE_ONCE(inst->table, NULL);
		/* The table may be destroyed while the device is suspended. */
		cmpxchg(&inst->requests.suspending, ti, NULL);
		kvp_events_flush(inst->pool);
		if (kvp_registry_put(inst))
			free_instance(inst);
	}
	put_devices(ti, t);
	kvfree(t);
}

/* --- the rest of the target ---------------------------------------------------------------- */

static int kvp_map(struct dm_target *ti, struct bio *bio)
{
	struct kvp_target *t = ti->private;

	return kvp_requests_map(&t->inst->requests, bio);
}

static int kvp_end_io(struct dm_target *ti, struct bio *bio, blk_status_t *error)
{
	struct kvp_target *t = ti->private;

	return kvp_requests_end_io(&t->inst->requests, bio, error);
}

static int kvp_iterate_devices(struct dm_target *ti, iterate_devices_callout_fn fn, void *data)
{
	struct kvp_target *t = ti->private;
	u32 i;
	int ret = 0;

	/*
	 * Give lengths in whole blocks: device-mapper would refuse a leg that has a few sectors
	 * more.
	 */
	for (i = 0; !ret && i < t->start.nr_legs; i++)
		if (t->devs[i])
			ret = fn(ti, t->devs[i], 0,
				 t->start.legs[i].size_blocks << KVP_SECTORS_SHIFT, data);
	if (!ret && t->devs[KVP_SHADOW])
		ret = fn(ti, t->devs[KVP_SHADOW], 0,
			 t->start.shadow.size_blocks << KVP_SECTORS_SHIFT, data);
	return ret;
}

static void kvp_io_hints(struct dm_target *ti, struct queue_limits *limits)
{
	limits->logical_block_size = KVP_BLOCK_SIZE;
	limits->physical_block_size = max_t(u32, limits->physical_block_size, KVP_BLOCK_SIZE);
	limits->io_min = max_t(u32, limits->io_min, KVP_BLOCK_SIZE);
	limits->discard_granularity = KVP_BLOCK_SIZE;
	limits->max_write_zeroes_sectors = MAX_DISCARD_SECTORS;
	kvp_compat_discard_limits(limits, MAX_DISCARD_SECTORS);
}

static struct target_type kvpool_target = {
	.name = "kvpool",
	.version = { 0, 1, 0 },
	.features = DM_TARGET_SINGLETON | DM_TARGET_NOWAIT,
	.module = THIS_MODULE,
	.ctr = kvp_ctr,
	.dtr = kvp_dtr,
	.map = kvp_map,
	.end_io = kvp_end_io,
	.preresume = kvp_preresume,
	.resume = kvp_resume,
	.presuspend = kvp_presuspend,
	.presuspend_undo = kvp_presuspend_undo,
	.postsuspend = kvp_postsuspend,
	.status = kvp_status,
	.message = kvp_message,
	.iterate_devices = kvp_iterate_devices,
	.io_hints = kvp_io_hints,
};

static int __init kvp_init(void)
{
	int ret = kvp_crc_init();

	if (ret)
		return ret;
	ret = kvp_pm_init();
	if (ret)
		goto no_pm;
	kvp_strays_wq = alloc_workqueue("kvpool-strays", WQ_UNBOUND, 0);
	ret = kvp_strays_wq ? dm_register_target(&kvpool_target) : -ENOMEM;
	if (!ret)
		return 0;
	if (kvp_strays_wq)
		destroy_workqueue(kvp_strays_wq);
	kvp_pm_exit();
no_pm:
	kvp_crc_exit();
	return ret;
}

static void __exit kvp_exit(void)
{
	dm_unregister_target(&kvpool_target);
	kvp_pm_exit();
	/* The last stray may have released the module just now. */
	destroy_workqueue(kvp_strays_wq);
	kvp_crc_exit();
}

module_init(kvp_init);
module_exit(kvp_exit);

MODULE_DESCRIPTION("self-healing pool of block devices with checksums and a crash-safe log");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1.0");	/* the target's version, in /sys/module for all users */
MODULE_SOFTDEP("pre: crc32c");
