/* SPDX-License-Identifier: GPL-2.0-only */
/* What memory the cache of a pool takes, as it is said before it is made, added or started. */
#ifndef KVPOOLCTL_MEMORY_H
#define KVPOOLCTL_MEMORY_H

#include "format/format.h"

/**
 * memory_of_cache() - so much may the cache of a pool take, in any mode: for what is clean, and for
 * what is dirty, which is nothing until the log is there; 0: the pool has no cache
 */
u64 memory_of_cache(const struct kvp_sb *sb);

#endif
