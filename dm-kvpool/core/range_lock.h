/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Locks on ranges of blocks, for code that writes home, or that needs a block and its table entry
 * to agree: destage, direct writes, heal, scrub, discard. Reads and buffered writes do not take
 * them.
 *
 * Code that holds a range takes another one with a try variant. If that fails, it first releases,
 * or finishes with, the ranges that it holds. So no two holders wait for each other.
 */
#ifndef KVP_RANGE_LOCK_H
#define KVP_RANGE_LOCK_H

#include <linux/interval_tree.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "format/format.h"

struct kvp_range_locks {
	spinlock_t lock;
	u64 taken;			/* ranges locked so far; by @lock */
	struct rb_root_cached held;	/* by @lock */
	wait_queue_head_t wait;
};

struct kvp_range {
	struct interval_tree_node node;
	u64 number;			/* its number in the order of kvp_range_locks.taken */
};

/** kvp_range_locks_init() - begin with no range locked, before the first user. Context: any. */
void kvp_range_locks_init(struct kvp_range_locks *locks);

/**
 * kvp_range_trylock() - lock blocks @first to @last; false if any of them is locked. Context:
 * process.
 */
bool __must_check kvp_range_trylock(struct kvp_range_locks *locks, struct kvp_range *r,
				    kvp_block_t first, kvp_block_t last);

/** kvp_range_lock() - the same, but wait. Context: process, holding no other range. */
void kvp_range_lock(struct kvp_range_locks *locks, struct kvp_range *r, kvp_block_t first,
		    kvp_block_t last);

/** kvp_range_unlock() - unlock @r, and wake those that wait for its blocks. Context: process. */
void kvp_range_unlock(struct kvp_range_locks *locks, struct kvp_range *r);

/*
 * The most ranges locked at once: meanwhile other processors wait for the spinlock of all ranges.
 */
#define KVP_RANGES_AT_ONCE	32u

/** kvp_range_set() - set the blocks of a range, for kvp_range_trylock_each() */
static inline void kvp_range_set(struct kvp_range *r, kvp_block_t first, kvp_block_t last)
{
	r->node.start = kvp_block_nr(first);
	r->node.last = kvp_block_nr(last);
}

/** kvp_range_first(), kvp_range_last() - the blocks of a range that was set, or locked */
static inline kvp_block_t kvp_range_first(const struct kvp_range *r)
{
	return kvp_block(r->node.start);
}

static inline kvp_block_t kvp_range_last(const struct kvp_range *r)
{
	return kvp_block(r->node.last);
}

/**
 * kvp_range_trylock_each() - kvp_range_trylock() for each of @n ranges, in their order
 * @n: at most KVP_RANGES_AT_ONCE
 *
 * Return: how many it locked. The next one overlaps a range that is locked, perhaps one of these.
 */
u32 __must_check kvp_range_trylock_each(struct kvp_range_locks *locks, struct kvp_range *r, u32 n);

/** kvp_range_unlock_each() - kvp_range_unlock() for each of @n ranges, any number */
void kvp_range_unlock_each(struct kvp_range_locks *locks, struct kvp_range *r, u32 n);

/**
 * kvp_range_wait_all() - wait until each range that is locked now has been released
 *
 * Code that locks a range later sees all that the caller did before. Other ranges may be locked
 * meanwhile. Context: process, holding no range.
 */
void kvp_range_wait_all(struct kvp_range_locks *locks);

#endif /* KVP_RANGE_LOCK_H */
