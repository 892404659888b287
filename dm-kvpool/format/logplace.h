/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which vdev carries the log. Pure.
 *
 * A cache does, in the mode writeback: what is acknowledged is on its SSDs until
 * it is home. That lowers the redundancy of the pool if the cache has none and the
 * vdevs with data have some, so it must have been asked for then. Without a cache
 * that may, the log is on the vdev that survives most.
 */
#ifndef KVP_LOGPLACE_H
#define KVP_LOGPLACE_H

#include "format/format.h"

/** kvp_cache_find() - index of the cache vdev, or -1 */
int kvp_cache_find(const struct kvp_sb *sb);

/** kvp_cache_lowers() - would the log on the cache make the pool survive less? There is a cache. */
bool kvp_cache_lowers(const struct kvp_sb *sb);

/** kvp_log_on_cache() - does a cache carry the log? */
static inline bool kvp_log_on_cache(const struct kvp_sb *sb)
{
	return !kvp_has_data(&sb->vdevs[sb->log_vdev]);
}

/** kvp_log_counted_mib() - so much of the log counts by what the superblock knows, in MiB, rounded up */
static inline u64 kvp_log_counted_mib(const struct kvp_sb *sb)
{
	return (sb->log_commit - sb->log_tail + 255) >> (20 - KVP_BLOCK_SHIFT);
}

/**
 * kvp_log_choose() - choose the vdev of a new pool's log
 *
 * By what tunables say of cache_mode; if they say nothing, and the cache must not
 * carry the log, they say writethrough afterwards.
 */
void kvp_log_choose(struct kvp_sb *sb);

/** kvp_logs_hold_discard() - kvp_log_holds_discard() of each vdev that may have to carry the log */
bool kvp_logs_hold_discard(const struct kvp_sb *sb, u32 chunk_blocks);

/** kvp_log_anew() - the log is an empty one of @nonce on vdev @vdev, behind all positions there were */
void kvp_log_anew(struct kvp_sb *sb, u32 vdev, u64 nonce);

#endif /* KVP_LOGPLACE_H */
