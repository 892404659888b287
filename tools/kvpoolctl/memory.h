/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory that a pool's cache needs; shown before the cache is made, added or started. */
#ifndef KVPOOLCTL_MEMORY_H
#define KVPOOLCTL_MEMORY_H

#include "format/format.h"

/**
 * memory_of_cache() - the most memory that the cache of a pool may take, in any mode
 *
 * It covers clean blocks, and dirty blocks, which need none until the log is there. 0: the pool has
 * no cache.
 */
u64 memory_of_cache(const struct kvp_sb *sb);

/** memory_of_dirty() - the part of that which @bytes of dirty data take */
u64 memory_of_dirty(u64 bytes);

#endif
