/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds the cache of a pool: for files that are about nothing but caches. */
#ifndef KVP_CACHE_H
#define KVP_CACHE_H

#include "core/core.h"
#include "format/logplace.h"

/** kvp_pool_cache() - the cache vdev, or NULL. Context: any. */
static inline struct kvp_vdev *kvp_pool_cache(struct kvp_pool *pool)
{
	int v = kvp_cache_find(pool->sb);

	return v < 0 ? NULL : &pool->vdevs.v[v];
}

/** kvp_pool_logs_on_cache() - true if the cache carries the log now. It may move. Context: any. */
static inline bool kvp_pool_logs_on_cache(const struct kvp_pool *pool)
{
	return kvp_cache_find(pool->sb) == (int)READ_ONCE(pool->vdevs.log_vdev)->index;
}

#endif /* KVP_CACHE_H */
