/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The log moves while the pool runs: from a cache to the vdevs with data, because the last SSD of
 * the cache dies; or by order, in either direction.
 *
 * By order (log->plan), the old log counts until the last step:
 *
 *  1. Nothing is built (log->held). What is durable by then is acknowledged as ever, and the buffer
 *     waits.
 *  2. All that the log holds goes home, with parity logged as ever: a cut finds the log.
 *  3. A checkpoint says that all this is home. Its superblock, the same one, names an empty log at
 *     the new place, under a new nonce and epoch (R11), and the mode of the cache.
 *  4. From there on entries are built, for the new log.
 *
 * A power cut before that superblock finds the old log, and after it the new one. If the superblock
 * is on some legs only, R13 decides, and either log is whole: the contents of the old one are home.
 * If the log was to move to SSDs that die before it is durable, the next superblock says that the
 * log is where it was.
 *
 * When the last SSD dies:
 *
 * All that the log held, and that is not yet home, is in RAM, unless it is spilled. From the moment
 * at which the loss of the last SSD is noted (log->vdevs->log_moving):
 *
 *  1. Nothing is built, and no waiter for durability is answered, not even for entries that were
 *     durable in the log that is lost.
 *  2. Entries that were in flight end, well or badly: their versions go to destage, or back into
 *     the buffer.
 *  3. Destage and direct workers bring home all that was in the log. Parity is not logged for that
 *     (R6): a cut now finds no log in any case.
 *  4. A checkpoint says that all this is home. Its superblock, the same one, names an empty log on
 *     a vdev with data, under a new nonce and epoch (R11).
 *  5. Waiters are answered if their blocks are home, and the buffer is committed to the new log.
 *
 * That superblock is also the first that records the last SSDs out. SSDs that were lost earlier are
 * recorded as ever (kvp_leg_keeps_log()). A power cut before it: the legs say that the log is on
 * the cache, and not empty. So a start needs an SSD of it (R14), which has all that was ever
 * acknowledged. After it, the SSDs are not needed, and never read again.
 */
#ifndef KVP_LOG_MOVE_H
#define KVP_LOG_MOVE_H

#include <linux/completion.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "core/core.h"
#include "kvpool_format.h"
#include "log/log.h"

struct kvp_vdev;

/**
 * struct kvp_log_new - an empty log that replaces the present one, with a checkpoint
 * @v: the vdev whose legs will carry it. If it has data, others may carry it, too
 * @nonce: its own
 * @mode: the new value of the tunable cache_mode; only with @by_order
 * @by_order: an order waits for @done
 * @in_sb: the superblock names it; by sb_lock (checkpoint/newlog.h)
 * @error: result; valid at @done
 * @old_nonce, @old_mask, @old_mode, @old_vdev, @old_others: fields of the superblock before
 * @old_states: states of the old log's legs before
 */
struct kvp_log_new {
	struct kvp_vdev *v;
	u64 nonce, mode;
	bool by_order, in_sb;
	int error;
	struct completion done;
	u64 old_nonce, old_mask, old_mode;
	u32 old_vdev, old_others;
	u32 old_states[KVP_MAX_MIRROR_LEGS];
};

/** kvp_log_next() - the new log that the next checkpoint begins; NULL: none. By sb_lock. */
static inline struct kvp_log_new *kvp_log_next(const struct kvp_log *log)
{
	return log->next;
}

/** kvp_log_set_next() - set it; caller holds checkpoint_lock and sb_lock */
static inline void kvp_log_set_next(struct kvp_log *log, struct kvp_log_new *to)
{
	log->next = to;
}

/** kvp_log_lost() - no leg, or too few, took an entry: true if the log is on a cache and moves */
bool kvp_log_lost(struct kvp_log *log);

/** kvp_log_move_on() - kvp_log_move_kick() of a log that is to move. Any context. */
void kvp_log_move_on(struct kvp_log *log);

/** kvp_log_move_kick() - call it when work has ended that a move may wait for. Any context. */
static inline void kvp_log_move_kick(struct kvp_log *log)
{
	if (READ_ONCE(log->vdevs->log_moving) || READ_ONCE(log->held))
		kvp_log_move_on(log);
}

/**
 * kvp_log_move_to() - move the log to @plan->v, and set the cache's mode with the same superblock
 * @plan: @v and @mode are set
 *
 * Waiters for durability wait until it has moved, so the log should hold little. One move at a
 * time. Return: 0; -ENODEV: that vdev lost its last leg, and the log is where it was; -EIO;
 * -ECANCELED: the pool stops. Context: process, waits for I/O.
 */
int __must_check kvp_log_move_to(struct kvp_log *log, struct kvp_log_new *plan);

/** kvp_log_move_cancel() - the log is stopped: end the wait of an order for its move */
void kvp_log_move_cancel(struct kvp_log *log);

void kvp_log_move_work(struct work_struct *work);

#endif /* KVP_LOG_MOVE_H */
