/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writers are slowed down while the log fills up, for pools with and without a cache.
 *
 * With the log on legs, they are also slowed down while the buffer fills up, where all versions
 * wait that are not yet home. policy/throttle.h decides by how much, from the measured speed of
 * destage (home/speed.h). Before a write is accepted, its caller asks kvp_throttle_may_slow(),
 * which is cheap. Then it asks kvp_throttle_admit(), and keeps the write for the time that this
 * returns, without sleeping. If there is no room anyway, writers wait as they do without all this.
 */
#ifndef KVP_THROTTLE_H
#define KVP_THROTTLE_H

#include <linux/compiler.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "format/format.h"
#include "policy/runs.h"
#include "policy/throttle.h"

struct kvp_pool;

/**
 * struct kvp_throttle - throttle of a pool's writers
 * @lock: irqsave; protects @bucket
 * @bucket: the rate of writers
 * @runs: finds out which writes are parts of long streams: with the log on a cache always, else
 *	while writers are slowed down. It has locks of its own
 * @waiting: writes are kept waiting; set by the code that keeps them
 * @rate, @looked: blocks a second, ~0: no limit; and the jiffy when that was found. No lock
 */
struct kvp_throttle {
	spinlock_t lock;
	struct kvp_bucket bucket;
	struct kvp_runs runs;
	bool waiting;
	u64 rate;
	unsigned long looked;
};

/** kvp_throttle_init() - begin without streams, before the pool runs. Context: any. */
void kvp_throttle_init(struct kvp_pool *pool);

/**
 * kvp_throttle_note_waiting() - note whether any write is kept waiting
 *
 * Context: the code that keeps writes.
 */
static inline void kvp_throttle_note_waiting(struct kvp_throttle *t, bool waiting)
{
	WRITE_ONCE(t->waiting, waiting);
}

/** kvp_throttle_any_waits() - true if a write is kept waiting. Any context. */
static inline bool kvp_throttle_any_waits(const struct kvp_throttle *t)
{
	return READ_ONCE(t->waiting);
}

/** kvp_throttle_is_slow() - true if writers are slowed down. Any context. */
bool kvp_throttle_is_slow(const struct kvp_pool *pool);

/**
 * kvp_throttle_may_slow() - true if writers are slowed down; asked for each write
 * @blocks: of the write; pool->stats has counted them
 *
 * To find out takes long. So the answer is used again: in the same jiffy, and for up to 64 blocks
 * of a processor. Context: any.
 */
bool kvp_throttle_may_slow(struct kvp_pool *pool, u32 blocks);

/**
 * kvp_throttle_run() - the length, in blocks, of the stream of writes that this write belongs to
 *
 * Blocks that writes of the stream have in common count once. A write that is part of no stream
 * counts as a stream by itself. Context: any; call it once for each write.
 */
u32 kvp_throttle_run(struct kvp_pool *pool, kvp_block_t first, u32 blocks);

/**
 * kvp_throttle_in_use() - in_use of a log on legs (core/log_ops.h): the log or the buffer counts,
 * the one that is fuller
 *
 * kvp_throttle_in_use_for_streams() - the same for streams, in_use_for_streams
 *
 * kvp_throttle_joins_stream() - joins_stream of such a log. A write is looked at only while writers
 * are slowed down: the answer does not matter otherwise.
 */
u64 kvp_throttle_in_use(const struct kvp_pool *pool, u64 *most);
u64 kvp_throttle_in_use_for_streams(const struct kvp_pool *pool, u64 *most);
bool kvp_throttle_joins_stream(struct kvp_pool *pool, kvp_block_t first, u32 blocks, u32 ask);

/**
 * kvp_throttle_passes() - true if writes of streams are accepted without delay
 *
 * They fill the log a hundred times more slowly. So they are not slowed down as long as there is
 * some room. Context: any.
 */
bool kvp_throttle_passes(const struct kvp_pool *pool);

/**
 * kvp_throttle_admit() - ask whether a write of @blocks may be accepted now
 *
 * The pace is as old as the answer of kvp_throttle_may_slow(). Return: 0: yes, and its blocks are
 * counted; else the ns after which to ask again. That is at most a second, since the pace changes.
 * Context: any.
 */
u64 kvp_throttle_admit(struct kvp_pool *pool, u32 blocks);

#endif /* KVP_THROTTLE_H */
