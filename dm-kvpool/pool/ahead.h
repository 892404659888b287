/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes the pages of the checksum table to their new places before a pool grows, while it is in
 * use. The head of ahead.c has the steps.
 */
#ifndef KVP_POOL_AHEAD_H
#define KVP_POOL_AHEAD_H

#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "format/grow.h"
#include "table/move.h"

struct kvp_pool;

enum kvp_ahead_state {
	KVP_AHEAD_NONE,
	KVP_AHEAD_RUNNING,
	KVP_AHEAD_READY,
	KVP_AHEAD_STOPPED,
	KVP_AHEAD_FAILED,
};

/**
 * struct kvp_ahead - pages of tables written ahead of a growth; not kept over a restart
 * @lock: for start and stop, and for what is known of the last pass
 * @w: the growth, and @next its superblock
 * @epoch: of the pool, when the first of the passes began that build on one another
 * @era: pages that changed in this era or later may not be in their new places after the passes
 *	that have ended; 0: none has ended
 * @next_era: the same after the pass that runs
 * @step: pages written under one lock; tests use fewer
 * @vdev, @move: progress of the pass
 * @before: pages of earlier vdevs of the pass
 * @grown: pages that the last growth had to copy itself
 * @stop: the pass must end
 * @quiesce: the pool is suspended, or stops. The pass goes on after a suspend
 */
struct kvp_ahead {
	struct kvp_pool *pool;
	struct work_struct work;
	struct mutex lock;
	enum kvp_ahead_state state;
	struct kvp_grow w;
	struct kvp_sb *next;
	u64 epoch;
	u32 era, next_era;
	u32 step;
	u32 vdev;
	struct kvp_table_move move;
	u64 before, grown;
	bool stop, quiesce;
};

/**
 * kvp_ahead_init() - begin without a pass, and quiesced, at the start of a pool
 *
 * kvp_ahead_exit() - free what the last pass left. Its worker has ended.
 *
 * Context: process.
 */
void kvp_ahead_init(struct kvp_pool *pool);
void kvp_ahead_exit(struct kvp_pool *pool);

/**
 * kvp_ahead_start() - begin a pass
 * @next: superblock of the growth; the pass owns it from now on, also after an error
 * @w: the growth. If it is that of the last pass, only pages that changed since then are written
 *
 * Return: 0; -EBUSY: a pass runs. Context: process; does not wait for I/O.
 */
int __must_check kvp_ahead_start(struct kvp_pool *pool, struct kvp_sb *next,
				 const struct kvp_grow *w);

/** kvp_ahead_stop() - end the pass; -ENOENT: none runs. Context: process, waits for half a MiB. */
int __must_check kvp_ahead_stop(struct kvp_pool *pool);

/**
 * kvp_ahead_since() - the era since which pages must still be written for growth @w
 * @next: superblock of the growth
 *
 * Return: the era; 0: all pages must be written. Context: process; the pool is quiesced.
 */
u32 kvp_ahead_since(struct kvp_pool *pool, const struct kvp_sb *next, const struct kvp_grow *w);

/** kvp_ahead_grown() - the pool has grown, or tried to: it copied @pages. Forget the passes. */
void kvp_ahead_grown(struct kvp_pool *pool, u64 pages);

/** kvp_ahead_written() - how many pages the pass has written. Context: any; takes no lock. */
u64 kvp_ahead_written(const struct kvp_ahead *a);

/** kvp_ahead_state() - state of the last pass. Context: any; takes no lock. */
enum kvp_ahead_state kvp_ahead_state(const struct kvp_ahead *a);

/**
 * kvp_ahead_quiesce() - stop the pass until kvp_ahead_unquiesce()
 *
 * kvp_ahead_end_soon() does the same, but does not wait for the half MiB in flight. Then
 * kvp_ahead_works() is true as long as that goes on. kvp_ahead_unquiesce() waits for nothing.
 * Context: process.
 */
void kvp_ahead_quiesce(struct kvp_pool *pool);
void kvp_ahead_end_soon(struct kvp_pool *pool);
bool kvp_ahead_works(struct kvp_pool *pool);
void kvp_ahead_unquiesce(struct kvp_pool *pool);

#endif /* KVP_POOL_AHEAD_H */
