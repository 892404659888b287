/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Trim tells legs that can discard which of their blocks have no contents. It runs by order, in the
 * background, from the start of the pool to its end. Passing down: with discard_passdown, SSDs are
 * told of discarded blocks, some time after the discard was applied.
 */
#ifndef KVP_TRIM_H
#define KVP_TRIM_H

#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "format/format.h"

struct kvp_pool;

/**
 * struct kvp_trim - the running trim, or the last one
 * @lock: for start and stop
 * @info: the worker changes cursor and blocks while it runs. Superblocks have it
 * @noted: when the superblock got it last
 * @waited: all that was accepted before the trim, or before this start, is home
 * @stop: the trim must end
 * @quiesce: the pool is suspended, or stops. The trim goes on at its cursor after that
 */
struct kvp_trim {
	struct kvp_pool *pool;
	struct work_struct work;
	struct mutex lock;
	struct kvp_trim_info info;
	unsigned long noted;		/* jiffies */
	bool waited, stop, quiesce;
};

#define KVP_PASSDOWN_RANGES	128u

/**
 * struct kvp_passdown - discards that were applied, and are to be passed down to SSDs
 * @lock: for @quiesce: with it set, no work is queued
 * @quiesce: as in struct kvp_trim
 * @ranges: blocks of the pool, @nr of them, the oldest first. A checkpoint was taken since the
 *	first @ready of them were applied. By pool->checkpoint_lock
 * @blocks: blocks of the pool that legs were told of
 * @dropped: blocks without a place in @ranges, without a checkpoint, or in use; trim can do them
 */
struct kvp_passdown {
	struct kvp_pool *pool;
	struct work_struct work;
	spinlock_t lock;
	bool quiesce;
	struct {
		kvp_block_t block;
		u64 count;
	} ranges[KVP_PASSDOWN_RANGES];
	u32 nr, ready;
	u64 blocks, dropped;
};

/**
 * kvp_trim_init() - begin quiesced, with the trim of the superblock, at the start of a pool
 *
 * If that one was running, it goes on with kvp_trim_unquiesce(), unless the pool is read-only.
 * There are no ranges to be passed down. Context: process.
 */
void kvp_trim_init(struct kvp_pool *pool);

/**
 * kvp_passdown_note() - a discard of @count blocks from @block on was applied
 *
 * Counted as dropped if there is no place for it. Context: process; caller holds
 * pool->checkpoint_lock.
 */
void kvp_passdown_note(struct kvp_pool *pool, kvp_block_t block, u64 count);

/** kvp_passdown_checkpointed() - a checkpoint is durable. Caller holds pool->checkpoint_lock. */
void kvp_passdown_checkpointed(struct kvp_pool *pool);

/**
 * kvp_trim_start() - begin a trim
 *
 * Its worker waits first until earlier discards are applied. A superblock notes it, if one can be
 * written. Return: 0; -EBUSY: a trim runs; -EOPNOTSUPP: no leg can discard; -EROFS. Context:
 * process; takes the lock of orders to trim, and sb_lock; waits for I/O.
 */
int __must_check kvp_trim_start(struct kvp_pool *pool);

/**
 * kvp_trim_stop() - end the trim
 *
 * A superblock notes it, as for kvp_trim_start(). Return: 0; -ENOENT: none runs; -EROFS. Context:
 * as there; also waits for a batch.
 */
int __must_check kvp_trim_stop(struct kvp_pool *pool);

/**
 * struct kvp_trim_figures - numbers for status
 * @state, @cursor, @blocks: as in struct kvp_trim_info
 * @passed: discarded blocks that SSDs were told of
 * @dropped: discarded blocks that were left out
 */
struct kvp_trim_figures {
	u32 state;
	kvp_block_t cursor;
	u64 blocks;
	u64 passed, dropped;
};

/** kvp_trim_figures() - fill in @f. Context: any; takes no lock. */
static inline void kvp_trim_figures(const struct kvp_trim *t, const struct kvp_passdown *p,
				    struct kvp_trim_figures *f)
{
	f->state = READ_ONCE(t->info.state);
	f->cursor = READ_ONCE(t->info.cursor);
	f->blocks = READ_ONCE(t->info.blocks);
	f->passed = READ_ONCE(p->blocks);
	f->dropped = READ_ONCE(p->dropped);
}

/** kvp_trim_note() - put the progress of a running trim into pool->sb. Caller holds sb_lock. */
void kvp_trim_note(struct kvp_pool *pool);

/**
 * kvp_trim_quiesce() - stop trim and passing down until kvp_trim_unquiesce()
 *
 * kvp_trim_end_soon() does the same, but does not wait for the batch in flight. Then
 * kvp_trim_works() is true as long as that goes on. Context: process.
 */
void kvp_trim_quiesce(struct kvp_pool *pool);
void kvp_trim_end_soon(struct kvp_pool *pool);
bool kvp_trim_works(struct kvp_pool *pool);
void kvp_trim_unquiesce(struct kvp_pool *pool);

#endif /* KVP_TRIM_H */
