/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ranges of pending discards, for readers. They are sorted, in an array that stays where it is.
 * A reader takes no lock. It looks again if the array has changed meanwhile (@seq). It may see a
 * half of a change: it follows no pointer, so that does no harm.
 *
 * A change moves 24 KiB at most, which takes a microsecond. Changes are few, and looks are many.
 */
#ifndef KVP_PENDING_H
#define KVP_PENDING_H

#include <linux/seqlock.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "format/format.h"

#define KVP_PENDING_MAX	1024u

/**
 * struct kvp_pending_range - the blocks from @first to @last, inclusive
 * @reach: the largest @last of this range and all before it
 */
struct kvp_pending_range {
	kvp_block_t first, last, reach;
};

/**
 * struct kvp_pending - the ranges, sorted by @first; changed under the lock that kvp_pending_init()
 * got
 */
struct kvp_pending {
	seqcount_spinlock_t seq;
	u32 nr;
	struct kvp_pending_range at[KVP_PENDING_MAX];
};

/** kvp_pending_init() - begin without a range; changes are made under @lock */
void kvp_pending_init(struct kvp_pending *p, spinlock_t *lock);

/** __kvp_pending_add() - add a range; there may be KVP_PENDING_MAX. Caller holds the lock. */
void __kvp_pending_add(struct kvp_pending *p, kvp_block_t first, kvp_block_t last);

/** __kvp_pending_del() - remove a range that was added. Caller holds the lock. */
void __kvp_pending_del(struct kvp_pending *p, kvp_block_t first, kvp_block_t last);

/**
 * __kvp_pending_grow() - replace a range that was added by a larger one
 *
 * It changes at once: no look misses it in between. Caller holds the lock.
 */
void __kvp_pending_grow(struct kvp_pending *p, kvp_block_t first, kvp_block_t last,
			kvp_block_t to_first, kvp_block_t to_last);

/**
 * kvp_pending_any() - true if a range has one of the blocks from @first to @last
 *
 * The caller orders what it reads before and behind that: the seqcount is read with acquire, and by
 * its readers alone. Context: any but interrupt; takes no lock.
 */
bool kvp_pending_any(const struct kvp_pending *p, kvp_block_t first, kvp_block_t last);

#endif
