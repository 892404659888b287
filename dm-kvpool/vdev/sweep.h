/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The order in which what is parked goes home: by address, from one end of the pool to the
 * other and again from the start, over all that the log of a cache holds without pages. What
 * lies side by side at home is found there together, however far apart in time it was written.
 *
 * What the sweep knows is on wbuf->swept, in log order, so that the oldest of all is known; and
 * here by block. A version that is older than another one of its block, or of its stripe, never
 * goes after it: what the sweep does not know is newer than all that it knows.
 */
#ifndef KVP_SWEEP_H
#define KVP_SWEEP_H

#include <linux/list.h>
#include <linux/types.h>

struct kvp_log_at;
struct kvp_pool;

/**
 * struct kvp_sweep - versions by block; by pool->checkpoint_lock
 * @ahead: linked by by_block: the sweep has not come to these; those of one block in log order
 * @behind: it has passed these blocks, so their turn comes in the next sweep
 * @hand: what is gathered of this block and those that follow is ahead
 * @nr: versions on both
 */
struct kvp_sweep {
	struct list_head ahead, behind;
	u64 hand;
	u32 nr;
};

void kvp_sweep_init(struct kvp_sweep *s);

/**
 * kvp_sweep_gather() - get to know what was parked since, below @limit and before the first discard
 *
 * Looks only if that is much beside what is known, or if it may lie before a discard: to sort it in
 * costs a look at everything. Context: caller holds pool->checkpoint_lock; may sleep.
 */
void kvp_sweep_gather(struct kvp_pool *pool, u64 limit);

/**
 * kvp_sweep_take() - the next versions by address, some @max, in some @runs requests to each leg
 * @to: empty; gets them in log order
 * @end: in: above all that the sweep knows; out: of what the sweep does not know the first, if it is
 *	below: of the rows of what was taken nothing that is older stays
 *
 * All versions of a block, or of a stripe, are taken together. Return: how many. Context: caller
 * holds pool->checkpoint_lock; may sleep.
 */
u32 kvp_sweep_take(struct kvp_pool *pool, u32 max, u32 runs, struct list_head *to, struct kvp_log_at *end);

/** kvp_sweep_put_back() - @versions were taken last, are in log order, and did not come home; empties it */
void kvp_sweep_put_back(struct kvp_pool *pool, struct list_head *versions);

/**
 * kvp_sweep_drop() - versions that discards cover which are newer than all that the sweep knows
 * @holes: durable discards, of a pool without parity
 * @to: gets the versions, in no order. They need not go home, and must not any more.
 */
void kvp_sweep_drop(struct kvp_pool *pool, struct list_head *holes, struct list_head *to);

#endif /* KVP_SWEEP_H */
