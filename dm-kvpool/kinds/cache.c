// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kind cache: SSDs with the log, or with clean blocks. Each SSD has all of them. There are no
 * homes.
 */
#include "cache/client.h"
#include "core/core.h"
#include "core/order_ops.h"
#include "kinds/kinds.h"
#include "log/log.h"
#include "log/spill.h"
#include "recovery/recovery.h"
#include "super/members.h"

u32 kvp_cache_join(struct kvp_vdevs *vdevs, const struct kvp_vdev *v)
{
	vdevs->cache_client = &kvp_cache_client_calls;
	vdevs->spill_window = kvp_log_window_most(v->g);
	return 0;
}

/* Once the pool runs, RAM has the contents of the log, too. A recovery must read the log. */
u32 kvp_cache_needed(const struct kvp_vdev *v)
{
	const struct kvp_pool *pool = v->pool;

	return v == pool->vdevs.log_vdev && !test_bit(KVP_POOL_RUNNING, &pool->flags) ?
	       kvp_log_needs(v->g) : 0;
}

/* If the log is lost, and the power goes, acknowledged blocks are lost. */
u32 kvp_cache_survives(const struct kvp_vdev *v)
{
	u32 usable = kvp_vdev_usable(v), least = kvp_log_needs(v->g);

	if (v != v->pool->vdevs.log_vdev)
		return KVP_MAX_LEGS;
	return usable > least ? usable - least : 0;
}

/* Without its log the pool goes on: RAM has the contents of that. */
bool kvp_cache_is_lost(const struct kvp_vdev *v)
{
	return !kvp_vdev_has_log(v);
}

/* All blocks on a cache were written with FUA. */
bool kvp_cache_needs_no_flush(const struct kvp_leg *leg)
{
	return false;
}

const struct kvp_log_ops *kvp_log_at_cache(const struct kvp_vdevs *vdevs)
{
	return vdevs->order->on_cache;
}

const struct kvp_vdev_ops kvp_cache_ops = {
	.join = kvp_cache_join,
	.row_legs = kvp_none,
	.needed = kvp_cache_needed,
	.survives = kvp_cache_survives,
	.is_lost = kvp_cache_is_lost,
	.needs_flush = kvp_cache_needs_no_flush,
	.discard = kvp_no_discard,
	.log = kvp_log_at_cache,
	.slice = kvp_none,
	.reserves = kvp_none,
	.lay = kvp_log_lay_copies,
	.place_payload = kvp_log_place_in_order,
	.too_few_took = kvp_log_legs_fail,
	.only_log_leg = kvp_log_on_all,
	.read_spilled = kvp_spill_read_copies,
	.segment_sets = kvp_set_each_leg,
	.alloc_reader = kvp_recovery_alloc_ahead,
	.load_segment = kvp_segment_load_copies,
	.redo_discard = kvp_no_redo,
	.each_row = kvp_no_rows,
};
