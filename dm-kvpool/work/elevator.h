/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Spilled versions go home by address, from one end of the pool to the other and again from the
 * start, over all that the log of a cache holds without pages. So neighbours at home are found
 * together, however far apart in time they were written.
 *
 * Versions that the sweep knows are on wbuf->swept, in log order, so that the oldest of all is
 * known; and here by block. A version that is older than another one of its block, or of its
 * stripe, never goes home after it: all versions that the sweep does not know are newer than those
 * that it knows.
 */
#ifndef KVP_ELEVATOR_H
#define KVP_ELEVATOR_H

#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/types.h>

#include "format/format.h"

struct kvp_version;
struct kvp_log_at;
struct kvp_pool;

/**
 * struct kvp_elevator - versions by block; by pool->checkpoint_lock
 * @known: linked by by_block; those of one block in log order
 * @hand: where the sweep goes on; versions below it wait for the next sweep
 * @nr: number in @known
 * @part: so many are gathered at a time; only tests change it
 */
struct kvp_elevator {
	struct rb_root known;
	kvp_block_t hand;
	u32 nr, part;
};

void kvp_elevator_init(struct kvp_elevator *s);

/**
 * kvp_elevator_gather() - learn of versions that were spilled since, below @limit and before the
 * first discard
 *
 * The oldest first, and at most @part of them: after a restart there may be millions. Return: true
 * if that was reached, and there may be more. Context: caller holds pool->checkpoint_lock; may
 * sleep.
 */
bool kvp_elevator_gather(struct kvp_pool *pool, kvp_lsn_t limit);

/**
 * kvp_elevator_take() - take the next versions by address, about @max, in about @runs requests to
 * each leg
 * @to: empty; gets them in log order
 * @end: in: above all that the sweep knows. Out: the first version that the sweep does not know, if
 *	that is below. No version below @end stays in the rows of those taken
 *
 * All versions of a block, or of a stripe, are taken together. Return: how many. Context: caller
 * holds pool->checkpoint_lock; may sleep.
 */
u32 kvp_elevator_take(struct kvp_pool *pool, u32 max, u32 runs, struct list_head *to,
		      struct kvp_log_at *end);

/**
 * kvp_elevator_put_back() - put back @versions, which were taken last, are in log order, and did
 * not come home; empties it
 */
void kvp_elevator_put_back(struct kvp_pool *pool, struct list_head *versions);

/**
 * kvp_elevator_drop() - drop versions that are covered by a discard newer than all that the sweep
 * knows
 * @hole: durable, in a pool without parity
 * @to: gets the versions, by address, behind those that it has. They must not go home any more.
 *
 * Looks at these alone. Context: caller holds pool->checkpoint_lock; may sleep.
 */
void kvp_elevator_drop(struct kvp_pool *pool, const struct kvp_version *hole, struct list_head *to);

/**
 * struct kvp_elevator_look - what lies at the tail
 * @below: look at versions below this place, the oldest first
 * @max: at most so many in @of
 * @of: result: versions that are the newest of their block, in log order; @nr of them
 * @pending: result: versions of which a newer one exists, but is not durable
 * @outlived: empty; gets versions that need not go home any more, at most KVP_WBUF_AT_ONCE. They
 *	are off the sweep
 */
struct kvp_elevator_look {
	kvp_lsn_t below;
	u32 max, nr, pending;
	struct kvp_version **of;
	struct list_head outlived;
};

/**
 * kvp_elevator_look() - look at the oldest versions of the sweep; fills in @look
 *
 * Stops after KVP_ELEVATOR_PENDING pending ones. Only in a pool without parity, where nothing
 * counts outlived versions. Context: the destage worker, under checkpoint_lock.
 */
#define KVP_ELEVATOR_PENDING	1024u
void kvp_elevator_look(struct kvp_pool *pool, struct kvp_elevator_look *look);

#endif /* KVP_ELEVATOR_H */
