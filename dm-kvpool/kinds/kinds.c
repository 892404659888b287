// SPDX-License-Identifier: GPL-2.0-only
#include "core/core.h"
#include "kinds/kinds.h"

const struct kvp_vdev_ops *const kvp_vdev_kinds[] = {
	[KVP_VDEV_SINGLE] = &kvp_copies_ops,
	[KVP_VDEV_MIRROR] = &kvp_copies_ops,
	[KVP_VDEV_PARITY1] = &kvp_parity1_ops,
	[KVP_VDEV_CACHE] = &kvp_cache_ops,
	[KVP_VDEV_CACHE_PARITY1] = &kvp_cache_ops,
};

u32 kvp_homes_needed(const struct kvp_vdev *v)
{
	return kvp_homes_need(v->g);
}
