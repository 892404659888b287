/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ranges of pending discards, for readers: sorted, in an array that stays where it is. A reader
 * takes no lock. It looks again if the array has changed meanwhile (@seq), and so can look at any
 * half of a change: it follows no pointer.
 *
 * A change moves 24 KiB at most, a microsecond. There are few changes, and many looks.
 */
#ifndef KVP_PENDING_H
#define KVP_PENDING_H

#include <linux/seqlock.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "format/format.h"

#define KVP_PENDING_MAX	1024u

/**
 * struct kvp_pending_range - blocks from @first to @last
 * @reach: the largest @last of this range and all before it
 */
struct kvp_pending_range {
	kvp_block_t first, last, reach;
};

/**
 * struct kvp_pending - the ranges, by @first; changed by the lock that kvp_pending_init() got
 */
struct kvp_pending {
	seqcount_spinlock_t seq;
	u32 nr;
	struct kvp_pending_range at[KVP_PENDING_MAX];
};

/** kvp_pending_init() - no range. Changes hold @lock. */
void kvp_pending_init(struct kvp_pending *p, spinlock_t *lock);

/** __kvp_pending_add() - one more range, at most KVP_PENDING_MAX. Caller holds the lock. */
void __kvp_pending_add(struct kvp_pending *p, kvp_block_t first, kvp_block_t last);

/** __kvp_pending_del() - a range that was added is gone. Caller holds the lock. */
void __kvp_pending_del(struct kvp_pending *p, kvp_block_t first, kvp_block_t last);

/**
 * __kvp_pending_grow() - a range that was added becomes a larger one
 *
 * At once: no look misses it in between. Caller holds the lock.
 */
void __kvp_pending_grow(struct kvp_pending *p, kvp_block_t first, kvp_block_t last,
			kvp_block_t to_first, kvp_block_t to_last);

/**
 * kvp_pending_any() - true if a range has a block of those from @first to @last
 *
 * Reads of memory before it, and behind it, stay there. Context: any but interrupts; no lock.
 */
bool kvp_pending_any(const struct kvp_pending *p, kvp_block_t first, kvp_block_t last);

#endif
