// SPDX-License-Identifier: GPL-2.0-only
#include "policy/dirty.h"
#include "format/logplace.h"
#include "format/regions.h"
#include "memory.h"

/*
 * The most bytes for each 4 KiB of a cache: 15.1 for the index, more if it is small, and 0.9 for
 * the ghost.
 */
#define CACHE_RAM	17

u64 memory_of_cache(const struct kvp_sb *sb)
{
	int cache = kvp_cache_find(sb);
	const struct kvp_geometry *g = &sb->vdevs[cache < 0 ? 0 : cache];

	return cache < 0 ? 0 : kvp_log_blocks(g) * CACHE_RAM + kvp_dirty_ram(g);
}

u64 memory_of_dirty(u64 bytes)
{
	return (bytes >> KVP_BLOCK_SHIFT) * KVP_DIRTY_BYTES;
}
