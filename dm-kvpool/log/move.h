/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The last SSD of a cache dies while the pool runs: its log moves to the vdevs
 * with data.
 *
 * All that the log held, and that is not yet home, is in RAM. From the moment at
 * which the loss of the last SSD is noted (log->moving):
 *
 *   - nothing is built, and nobody is answered who waits for durability, not even
 *     for what was durable in the log that is lost;
 *   - entries that were in flight end, well or badly: their versions go to destage,
 *     or back into the buffer;
 *   - destage and bypass bring home all that was in the log. Parity is not logged
 *     for that (R6): a cut now finds no log in any case;
 *   - a checkpoint says that all this is home. Its superblock, the same one, names
 *     an empty log on a vdev with data, under a new nonce and epoch (R11);
 *   - those who wait are answered if theirs is home, and the buffer is committed
 *     to the new log.
 *
 * That superblock is also the first that records the last SSDs out. A power cut
 * before it: the legs say that the log is on the cache, and not empty, so a start
 * needs an SSD of it (R14), which has all that was ever acknowledged. After it, the
 * SSDs are not needed, and never read again.
 */
#ifndef KVP_LOG_MOVE_H
#define KVP_LOG_MOVE_H

#include <linux/types.h>
#include <linux/workqueue.h>

#include "kvpool_format.h"

struct kvp_log_mark;
struct kvp_pool;
struct kvp_vdev;

/* An empty log that takes the place of the one there is, with the next checkpoint. */
struct kvp_log_new {
	struct kvp_vdev *v;
	u64 nonce;
	/* What the superblock says otherwise, and of the legs of the old log. */
	u64 old_nonce;
	u32 old_vdev;
	u32 old_states[KVP_MAX_MIRROR_LEGS];
};

/** kvp_log_new_fill() - pool->sb names log->next, which is set; caller holds sb_lock and fills in the tail */
void kvp_log_new_fill(struct kvp_pool *pool);

/** kvp_log_new_undo() - that superblock could not be written; caller holds sb_lock */
void kvp_log_new_undo(struct kvp_pool *pool);

/** kvp_log_lost() - no leg took an entry of a cache's log: give them up. True: the log moves. */
bool kvp_log_lost(struct kvp_pool *pool);

/** kvp_log_move_kick() - something ended that a move may have waited for. Any context. */
void kvp_log_move_kick(struct kvp_pool *pool);

void kvp_log_move_work(struct work_struct *work);

#endif /* KVP_LOG_MOVE_H */
