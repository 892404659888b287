// SPDX-License-Identifier: GPL-2.0-only
/* The pool of a mapped device: its start with the first table, and its end with the last. */
#include <linux/device-mapper.h>
#include <linux/module.h>

#include "core/core.h"
#include "io/flight.h"
#include "io/io_bio.h"
#include "pool/pool.h"
#include "pool/start.h"
#include "ram/shrinker.h"
#include "super/events.h"
#include "super/members.h"
#include "table/shrinker.h"
#include "target/instance.h"
#include "target/order.h"
#include "target/registry.h"
#include "target/request.h"
#include "target/target.h"
#include "target/who.h"

static bool degraded_start;
module_param(degraded_start, bool, 0644);
MODULE_PARM_DESC(degraded_start, "start pools without legs that may hold newer data");

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
 * Leave the registry. A stray keeps the next pool from its leg, so let the pool linger first: the
 * leg is claimed at every moment.
 */
static void leave(struct kvp_instance *inst)
{
	if (inst->pool && kvp_strays(inst->pool))
		kvp_registry_linger(inst->pool);
	kvp_registry_leave(inst);
}

void kvp_instance_free(struct kvp_instance *inst)
{
	kvp_rcache_shrinker_remove(&inst->ram_shrinker);
	kvp_table_shrinker_remove(&inst->table_shrinker);
	/* Orders may let requests go on, and the last work of these may still kick the pool. */
	kvp_orders_exit(&inst->orders);
	kvp_requests_exit(&inst->requests);
	kvp_pool_finish(inst->pool);
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

int kvp_instance_start(struct dm_target *ti, struct kvp_target *t)
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
