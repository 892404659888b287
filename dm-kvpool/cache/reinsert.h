/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Before the log of an SSD cache, or the ring of one without it, comes round to a segment, blocks
 * there that are worth it are written again.
 *
 * A worker looks at the segments ahead of the head, one after the other. ssdpolicy.h says which
 * blocks should stay. Each is read from the SSD, verified against the table, and becomes a clean
 * record like a fill, when no request waits for the log and the log has room. When that is durable,
 * the index gets the new place, if the block has not changed since before it was read.
 *
 * No request waits for any of this, and nothing is reserved for it. A block that is not done when
 * the log gets there is lost to the cache, and lies at home.
 */
#ifndef KVP_REINSERT_H
#define KVP_REINSERT_H

#include <linux/types.h>
#include <linux/workqueue.h>

struct kvp_index_entry;
struct kvp_pool;

/**
 * struct kvp_reinsert - of a pool; all by @work
 * @e: live blocks of the segment that was looked at last; NULL: nothing is ever written again
 * @keep: whether each should stay
 * @nr, @at: number of blocks in @e; the next one
 * @walked: place in the log behind that segment
 */
struct kvp_reinsert {
	struct kvp_pool *pool;
	struct work_struct work;
	struct kvp_index_entry *e;
	bool *keep;
	u32 nr, at;
	kvp_lsn_t walked;
};

/**
 * kvp_reinsert_start() - with fills. Return: 0 or -ENOMEM: nothing is written again. Process, may
 * sleep.
 */
int __must_check kvp_reinsert_start(struct kvp_pool *pool);

/** kvp_reinsert_exit() - after the last other user of the pool is gone. May sleep. */
void kvp_reinsert_exit(struct kvp_pool *pool);

/** kvp_reinsert_stop() - call it once fills are stopped: it takes no more candidates. May sleep. */
void kvp_reinsert_stop(struct kvp_pool *pool);

/**
 * kvp_reinsert_kick() - the log has gone on: look at what is ahead of it, if it is time. Any
 * context.
 */
void kvp_reinsert_kick(struct kvp_pool *pool);

#endif /* KVP_REINSERT_H */
