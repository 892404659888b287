/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a resilver skipped: blocks that no leg in sync gives now.
 *
 * The worker notes them as ranges, and walks on. Behind the walk it takes the ranges of a vdev out,
 * and tries them again. What still cannot be copied is noted again. The cursor stays below the
 * first range, and a leg that misses one is not in sync.
 *
 * There are at most KVP_SKIPPED_RANGES. If there would be more, two of a vdev become one, with all
 * that lies between them. So a range may have blocks that were copied already.
 *
 * Only the worker changes the ranges, or a caller that has quiesced the pool. Others may look at
 * any time. Each change and each look takes skipped->lock. Nothing is taken under it.
 */
#ifndef KVP_SKIPPED_H
#define KVP_SKIPPED_H

#include "core/core.h"

#define KVP_SKIPPED_RANGES	64

/**
 * struct kvp_skipped_range - blocks that could not be copied yet
 * @v: their vdev
 * @legs: a bit for each leg of @v that misses them
 * @own: the first one, as a block of the vdev
 * @n: how many; blocks between them may be copied already
 */
struct kvp_skipped_range {
	struct kvp_vdev *v;
	kvp_vblock_t own;
	u64 legs, n;
};

/**
 * struct kvp_skipped - all ranges
 * @lock: for all below
 * @at, @nr: those that are noted
 * @again, @nr_again: those that are tried again now. They were taken out of @at
 */
struct kvp_skipped {
	spinlock_t lock;
	struct kvp_skipped_range at[KVP_SKIPPED_RANGES], again[KVP_SKIPPED_RANGES];
	u32 nr, nr_again;
};

/** kvp_skipped_init() - nothing was skipped. Context: process. */
void kvp_skipped_init(struct kvp_skipped *s);

/** kvp_skipped_end() - the block behind the last one of @range. Any context. */
static inline kvp_vblock_t kvp_skipped_end(const struct kvp_skipped_range *range)
{
	return kvp_vblock_add(range->own, range->n);
}

/** kvp_skipped_note() - note @range, which is not empty. Context: the worker. */
void kvp_skipped_note(struct kvp_skipped *s, const struct kvp_skipped_range *range);

/**
 * kvp_skipped_forget() - forget the ranges of @v; NULL: of all vdevs
 *
 * Context: the worker, or the pool is quiesced.
 */
void kvp_skipped_forget(struct kvp_skipped *s, const struct kvp_vdev *v);

/**
 * kvp_skipped_first() - the lowest block of @v that was skipped
 *
 * Return: false if there is none. Context: the worker.
 */
bool kvp_skipped_first(struct kvp_skipped *s, const struct kvp_vdev *v, kvp_vblock_t *first);

/**
 * kvp_skipped_take() - take out all ranges of @v, to try them again
 *
 * They are in s->again until kvp_skipped_tried(), and are still seen there.
 *
 * Return: how many there are. Context: the worker.
 */
u32 kvp_skipped_take(struct kvp_skipped *s, const struct kvp_vdev *v);

/** kvp_skipped_tried() - all that were taken out were tried, and noted again if need be */
void kvp_skipped_tried(struct kvp_skipped *s);

/** kvp_skipped_blocks() - how many blocks were skipped. Context: process. */
u64 kvp_skipped_blocks(struct kvp_skipped *s);

/**
 * kvp_skipped_next() - the first blocks of the pool that were skipped, at or behind @from
 * @first: the first one
 * @count: how many neighbours from there on were skipped, too; with several vdevs, of one turn
 *
 * Return: false if there is none. Context: process.
 */
bool kvp_skipped_next(struct kvp_skipped *s, struct kvp_pool *pool, kvp_block_t from,
		    kvp_block_t *first, u64 *count);

#endif
