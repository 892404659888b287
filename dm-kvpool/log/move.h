/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The log moves while the pool runs. It moves by order, to a cache or from it. It also moves from a
 * cache to the vdevs with data when the last SSD dies.
 *
 * By order (log->plan), the old log counts until the last step:
 *
 *  1. No entry is built (log->held). What is durable by then is acknowledged as usual, and the
 *     buffer waits.
 *  2. All that the log holds goes home. Parity is logged as usual, since a recovery would read this
 *     log.
 *  3. A checkpoint says that all this is home. The same superblock names an empty log at the new
 *     place, with a new nonce and epoch (R11), and the mode of the cache.
 *  4. After that entries are built again, for the new log.
 *
 * A power cut before that superblock finds the old log, and after it the new one. If the superblock
 * is on some legs only, R13 decides. Both logs are whole: the contents of the old one are home. If
 * the new log was to be on SSDs, and they die before that superblock is durable, the next one says
 * that the log is where it was.
 *
 * When the last SSD dies:
 *
 * All that the log held and that is not yet home is in RAM, unless it is spilled. From the moment
 * when the loss of the last SSD is noted (log->vdevs->log_moving):
 *
 *  1. No entry is built, and no waiter for durability is answered, not even for entries that were
 *     durable in the lost log.
 *  2. Entries that were in flight end, well or badly: their versions go to destage, or back into
 *     the buffer.
 *  3. Destage and direct workers write home all that was in the log. No parity is logged for that
 *     (R6), since a recovery could not read this log anyway.
 *  4. A checkpoint says that all this is home. The same superblock names an empty log on a vdev
 *     with data, with a new nonce and epoch (R11).
 *  5. Waiters are answered if their blocks are home, and the buffer is committed to the new log.
 *
 * That superblock is also the first that records the last SSDs out. SSDs that were lost earlier
 * were recorded at once (kvp_leg_keeps_log()). After a power cut before that superblock, the legs
 * say that the log is on the cache, and not empty. So a start needs an SSD of the cache (R14),
 * which has all that was acknowledged. After that superblock the SSDs are not needed, and never
 * read again.
 */
#ifndef KVP_LOG_MOVE_H
#define KVP_LOG_MOVE_H

#include <linux/types.h>
#include <linux/workqueue.h>

#include "core/core.h"
#include "kvpool_format.h"
#include "log/log.h"

struct kvp_vdev;

/**
 * struct kvp_log_new - an empty log, with which a checkpoint replaces the present one
 * @v: the vdev whose legs will carry it. If it has data, others may carry it, too
 * @nonce: the nonce of the new log
 * @mode: the new value of the tunable cache_mode; only with @by_order
 * @by_order: an order waits for @ended
 * @in_sb: the superblock names it; by sb_lock (checkpoint/newlog.h)
 * @error: result; valid when @ended is true
 * @ended: the order may go on
 * @old_nonce, @old_mask, @old_mode, @old_vdev, @old_others: fields of the superblock before the
 *	change
 * @old_states: states of the old log's legs before the change
 */
struct kvp_log_new {
	struct kvp_vdev *v;
	u64 nonce, mode;
	bool by_order, in_sb, ended;
	int error;
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

/** kvp_log_lost() - true if the log is on a cache that is lost, so that the log moves */
bool kvp_log_lost(struct kvp_log *log);

/** kvp_log_move_on() - the part of kvp_log_move_kick() for a log that is to move. Any context. */
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
 * Waiters for durability wait until the log has moved, so it should hold little. One move at a
 * time. Return: 0; -ENODEV: that vdev lost its last leg, and the log is where it was; -EIO;
 * -ECANCELED: the pool stops. Context: process, waits for I/O.
 */
int __must_check kvp_log_move_to(struct kvp_log *log, struct kvp_log_new *plan);

/** kvp_log_move_cancel() - the log is stopped: end the wait of an order for its move */
void kvp_log_move_cancel(struct kvp_log *log);

/**
 * kvp_log_move_work() - move the log if a move is wanted, and nothing is in the way
 *
 * Otherwise the next kvp_log_move_kick() queues it again. Work of the log, on log->work_wq. Takes
 * checkpoint_lock; waits for I/O.
 */
void kvp_log_move_work(struct work_struct *work);

#endif /* KVP_LOG_MOVE_H */
