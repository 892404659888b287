/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A read of neighbouring blocks of a parity1, from all its legs at once and without a lock.
 *
 * This code says which blocks to read from each leg, and where they go. Data goes to the reader's
 * memory. While a leg is out, parity goes there too, to the place of the missing data. The blocks
 * that the other legs have in these rows are added to it there, and the result is the missing data.
 * Blocks of a row that the reader does not want are read into memory of the read's own.
 *
 * A leg in use that is read last (kvp_leg_to_pass_over()) is passed over: its blocks are made
 * as if it was out. If they cannot be made, they are read from it after all.
 *
 * Memory is counted in *slots* of a block. Slot i, below the number of blocks that are read, is the
 * reader's i-th block. Slots above belong to the read itself.
 *
 * Nothing is verified here: the reader compares all blocks with the table (R8). But a sum alone
 * does not prove a block that was made from a row that is being written. Sums are linear, so a new
 * version of one block can have the sum of the older one. Then the new data and the old parity make
 * wrong contents of another block, which have the right sum. So what was made counts only if no
 * write to any of its rows was going home meanwhile (kvp_stripe_read_make()).
 */
#ifndef KVP_STRIPE_READ_H
#define KVP_STRIPE_READ_H

#include <linux/types.h>

#include "format/format.h"

struct kvp_pool;
struct kvp_tpage;

#define KVP_SLOT_JUNK	(~0u)	/* between two stretches; not used */

/**
 * struct kvp_stripe_read - one such read
 * @leaf: the leaf of all its blocks; the caller's reference
 * @first, @end: number of the first block, and of the one behind the last, in the vdev
 * @out: the leg that is out, or is passed over, by its place in the vdev; the number of legs if
 *	there is none
 * @lacking: that leg has some of the blocks
 * @rebuild: those are made from the other legs; otherwise they are not read at all
 * @passes: the leg is in use, and is passed over
 * @changes: of @leaf, counted at the beginning
 */
struct kvp_stripe_read {
	const struct kvp_tpage *leaf;
	u64 first, end;
	u32 out;
	bool lacking, rebuild, passes;
	u32 changes;
};

/**
 * kvp_stripe_read_begin() - begin a read of @count blocks of the pool from @block on, all below
 * @leaf
 *
 * @passes: a leg may be passed over
 *
 * Return: false if more than one leg is out. Context: any.
 */
bool kvp_stripe_read_begin(struct kvp_stripe_read *s, const struct kvp_tpage *leaf,
			   kvp_block_t block, u32 count, bool passes);

/**
 * kvp_stripe_read_only() - there is no memory to make blocks: only read, and cut anew
 *
 * A leg that was passed over is read. Blocks of a leg that is out are not. Context: any.
 */
void kvp_stripe_read_only(struct kvp_stripe_read *s);

/**
 * kvp_stripe_read_own() - how many slots there may be above the reader's; the read uses few of them
 */
u32 kvp_stripe_read_own(const struct kvp_stripe_read *s);

/**
 * kvp_stripe_read_cut() - list the stretches to read from leg @leg
 * @add: called for each stretch, in order of @at, its block on the leg. @nr blocks go to as many
 *	slots from @slot on, or nowhere: KVP_SLOT_JUNK. The reader's slots come in order, too. It
 *	returns whether to go on.
 * @to: for @add
 *
 * A disk that seeks passes over junk. Junk alone is not worth a request. Return: false if @add did.
 * Context: any.
 */
bool kvp_stripe_read_cut(const struct kvp_stripe_read *s, u32 leg,
			 bool (*add)(void *to, kvp_lblock_t at, u32 slot, u32 nr), void *to);

/**
 * kvp_stripe_read_make() - all reads ended without an error: make the blocks of the leg that is out
 * @xor: add @nr blocks from slot @from on to those from @slot on
 * @to: for @xor
 *
 * Return: the number of blocks made. The caller verifies each. -EAGAIN: a row is or was being
 * written, or its parity is not known. Then no block counts, whatever its sum is. Context: process.
 */
int __must_check kvp_stripe_read_make(const struct kvp_stripe_read *s, void (*xor)(void *to,
				      u32 slot, u32 from, u32 nr), void *to);

#endif /* KVP_STRIPE_READ_H */
