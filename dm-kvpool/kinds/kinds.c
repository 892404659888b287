// SPDX-License-Identifier: GPL-2.0-only
#include "core/core.h"
#include "core/order_ops.h"
#include "kinds/kinds.h"
#include "recovery/recovery.h"

static const struct kvp_vdev_ops *const kinds[] = {
	[KVP_VDEV_SINGLE] = &kvp_copies_ops,
	[KVP_VDEV_MIRROR] = &kvp_copies_ops,
	[KVP_VDEV_PARITY1] = &kvp_parity1_ops,
	[KVP_VDEV_CACHE] = &kvp_cache_ops,
	[KVP_VDEV_CACHE_PARITY1] = &kvp_cache_parity1_ops,
};

const struct kvp_vdev_ops *kvp_vdev_ops_of(const struct kvp_geometry *g)
{
	return kinds[g->kind];
}

const struct kvp_log_ops *kvp_log_at_homes(const struct kvp_vdevs *vdevs)
{
	return vdevs->order->on_legs;
}

u32 kvp_homes_needed(const struct kvp_vdev *v)
{
	return kvp_homes_need(v->g);
}

u32 kvp_homes_join(struct kvp_vdevs *vdevs, const struct kvp_vdev *v)
{
	vdevs->with_data[vdevs->nr_with_data++] = &vdevs->v[v->index];
	return kvp_root_count(v->g);
}

bool kvp_homes_fail_together(const struct kvp_vdev *v)
{
	return false;
}

void kvp_too_few_homes(struct kvp_vdev *v, unsigned long failed)
{
}

const struct kvp_leg *kvp_log_on_all(const struct kvp_vdev *v, struct kvp_place at)
{
	return NULL;
}

u32 kvp_set_each_leg(const struct kvp_recovery *rec)
{
	return rec->seg.nr;
}

int kvp_no_discard(struct kvp_home *h, struct kvp_vdev *v, kvp_vblock_t *own, kvp_vblock_t end,
		   struct kvp_log_at behind, u32 *leaves)
{
	return 0;
}

u32 kvp_none(const struct kvp_vdev *v)
{
	return 0;
}

int kvp_no_redo(struct kvp_recovery *rec, struct kvp_vdev *v, kvp_vblock_t own, kvp_vblock_t end)
{
	return 0;
}

int kvp_no_rows(struct kvp_recovery *rec, const struct kvp_vdev *v,
		int (*fn)(struct kvp_recovery *rec))
{
	return 0;
}
