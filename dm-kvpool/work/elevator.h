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
#ifndef KVP_ELEVATOR_H
#define KVP_ELEVATOR_H

#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/types.h>

struct kvp_version;
struct kvp_log_at;
struct kvp_pool;

/**
 * struct kvp_elevator - versions by block; by pool->checkpoint_lock
 * @known: linked by by_block; those of one block in log order
 * @hand: where the sweep goes on; what lies below it, or comes to, waits for the next sweep
 * @nr: of @known
 * @part: so many are gathered at a time; a constant, but for tests
 */
struct kvp_elevator {
	struct rb_root known;
	u64 hand;
	u32 nr, part;
};

void kvp_elevator_init(struct kvp_elevator *s);

/**
 * kvp_elevator_gather() - get to know what was parked since, below @limit and before the first discard
 *
 * The oldest first, and no more than @part of it: after a restart it may be millions. Return: that was
 * reached, and there may be more. Context: caller holds pool->checkpoint_lock; may sleep.
 */
bool kvp_elevator_gather(struct kvp_pool *pool, u64 limit);

/**
 * kvp_elevator_take() - the next versions by address, some @max, in some @runs requests to each leg
 * @to: empty; gets them in log order
 * @end: in: above all that the sweep knows; out: of what the sweep does not know the first, if it is
 *	below: of the rows of what was taken nothing that is older stays
 *
 * All versions of a block, or of a stripe, are taken together. Return: how many. Context: caller
 * holds pool->checkpoint_lock; may sleep.
 */
u32 kvp_elevator_take(struct kvp_pool *pool, u32 max, u32 runs, struct list_head *to, struct kvp_log_at *end);

/** kvp_elevator_put_back() - @versions were taken last, are in log order, and did not come home; empties it */
void kvp_elevator_put_back(struct kvp_pool *pool, struct list_head *versions);

/**
 * kvp_elevator_drop() - versions that a discard covers which is newer than all that the sweep knows
 * @hole: durable, of a pool without parity
 * @to: gets the versions, by address, behind what it has. They need not go home, and must not any more.
 *
 * Looks at these alone. Context: caller holds pool->checkpoint_lock; may sleep.
 */
void kvp_elevator_drop(struct kvp_pool *pool, const struct kvp_version *hole, struct list_head *to);

#endif /* KVP_ELEVATOR_H */
