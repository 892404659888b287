// SPDX-License-Identifier: GPL-2.0-only
/*
 * The device-mapper target: resume and suspend of a table, and its registration.
 *
 * The constructor (ctr.c) only parses the line. Labels are read when the device is resumed for the
 * first time (instance.c). The pool belongs to the mapped device, not to the table: a reload finds
 * the pool again and gives it the new table's devices (reload.c).
 */
#include <linux/device-mapper.h>
#include <linux/module.h>
#include <linux/sched/mm.h>

#include "compat/compat.h"
#include "compat/crc.h"
#include "core/core.h"
#include "core/refusal.h"
#include "core/shadow.h"
#include "io/flight.h"
#include "pool/pool.h"
#include "super/events.h"
#include "target/instance.h"
#include "target/message.h"
#include "target/order.h"
#include "target/pm.h"
#include "target/read_end.h"
#include "target/registry.h"
#include "target/reload.h"
#include "target/request.h"
#include "target/status.h"
#include "target/target.h"

#define MAX_DISCARD_SECTORS	(1u << 21)	/* 1 GiB */

static int bind(struct dm_target *ti, struct kvp_target *t)
{
	struct kvp_instance *inst = kvp_registry_get(dm_table_get_md(ti->table));
	int ret;

	if (!inst)
		return kvp_instance_start(ti, t);
	/*
	 * Wait for messages that the old table got after it was suspended. The new table has had
	 * none yet.
	 */
	kvp_orders_drain(&inst->orders);
	ret = kvp_instance_reload(ti, t, inst);
	if (ret && kvp_registry_put(inst))
		kvp_instance_free(inst);
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

	for (i = 0; i < pool->vdevs.nr_with_data; i++) {
		const struct kvp_vdev *v = pool->vdevs.with_data[i];

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
	u32 suspend;
	bool haste;
};

static int act_write_back(struct kvp_order *order)
{
	struct write_back *w = container_of(order, struct write_back, order);

	if (!kvp_pool_wait_suspending(w->pool, w->suspend))
		return -EINTR;
	return kvp_pool_write_back(w->pool, w->suspend, w->haste);
}

static void release_write_back(struct kvp_order *order)
{
	kfree(container_of(order, struct write_back, order));
}

/*
 * Let work in the background end, and write back, while I/O is served. A leg may hang meanwhile.
 * Only the suspending task waits for all of this, and it can be killed. Then device-mapper goes on,
 * unless requests are in flight.
 */
static void write_back(struct kvp_instance *inst, u32 suspend)
{
	struct write_back *w = kzalloc(sizeof(*w), GFP_NOIO);

	/* Without memory, postsuspend does all of the work. */
	if (!w)
		return;
	w->pool = inst->pool;
	w->suspend = suspend;
	w->haste = inst->haste;
	w->order.act = act_write_back;
	w->order.release = release_write_back;
	kvp_order_start(&inst->orders, &w->order);
	if (!kvp_order_wait_killable(&w->order)) {
		inst->haste = true;
		kvp_pool_hasten(inst->pool);
	}
	kvp_order_put(&w->order);
}

/*
 * After this, device-mapper stops all I/O, waits for all messages, and calls postsuspend. So first
 * let messages return. Then do most of the work of postsuspend while I/O is still served. A suspend
 * in haste (without a flush, or whose caller was killed) writes nothing home.
 */
static void kvp_presuspend(struct dm_target *ti)
{
	struct kvp_instance *inst = ((struct kvp_target *)ti->private)->inst;
	u32 suspend;

	if (!inst)
		return;
	kvp_orders_end(&inst->orders);
	suspend = kvp_pool_suspending(inst->pool);
	inst->haste = dm_noflush_suspending(ti);
	if (inst->haste)
		kvp_requests_requeue(&inst->requests, ti);
	write_back(inst, suspend);
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

static void stop_work(struct kvp_instance *inst)
{
	if (test_bit(KVP_POOL_QUIESCED, &inst->pool->flags))
		return;
	if (inst->haste)
		kvp_pool_halt(inst->pool);
	else
		kvp_pool_quiesce(inst->pool);
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
	stop_work(inst);
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
			kvp_instance_free(inst);
	}
	kvp_target_put_devices(ti, t);
	kvfree(t);
}

/* --- bios and limits ------------------------------------------------------------------ */

static int kvp_map(struct dm_target *ti, struct bio *bio)
{
	struct kvp_target *t = ti->private;

	return kvp_requests_map(&t->inst->requests, bio);
}

static int kvp_end_io(struct dm_target *ti, struct bio *bio, blk_status_t *error)
{
	struct kvp_target *t = ti->private;

	return kvp_read_end_io(&t->inst->requests, bio, error);
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
	.ctr = kvp_target_ctr,
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
