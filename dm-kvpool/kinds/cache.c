// SPDX-License-Identifier: GPL-2.0-only
/* The kinds of cache: SSDs with the log, or with clean blocks, and no homes. */
#include "core/core.h"
#include "kinds/kinds.h"

/* What is in its log is in RAM as well, once the pool runs. A recovery has to read it. */
static u32 needed(const struct kvp_vdev *v)
{
	const struct kvp_pool *pool = v->pool;

	return v == pool->log_vdev && !test_bit(KVP_POOL_RUNNING, &pool->flags) ? kvp_log_needs(v->g) : 0;
}

/* With the log, and the power, acknowledged blocks would be lost. */
static u32 survives(const struct kvp_vdev *v)
{
	u32 usable = kvp_vdev_usable(v), least = kvp_log_needs(v->g);

	if (v != v->pool->log_vdev)
		return KVP_MAX_LEGS;
	return usable > least ? usable - least : 0;
}

static int discard(struct kvp_home *h, struct kvp_vdev *v, u64 *own, u64 end, struct kvp_log_at behind,
		   u32 *leaves)
{
	return 0;
}

static u32 slice(const struct kvp_vdev *v)
{
	return 0;
}

static int redo_discard(struct kvp_recovery *rec, struct kvp_vdev *v, u64 own, u64 end)
{
	return 0;
}

static int each_row(struct kvp_recovery *rec, const struct kvp_vdev *v, int (*fn)(struct kvp_recovery *rec))
{
	return 0;
}

const struct kvp_vdev_ops kvp_cache_ops = {
	.needed = needed,
	.survives = survives,
	.discard = discard,
	.slice = slice,
	.redo_discard = redo_discard,
	.each_row = each_row,
};
