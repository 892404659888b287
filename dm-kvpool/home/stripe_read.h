/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A read of neighbours of a parity1, from all its legs at once and without a lock.
 *
 * It says what is to be read of each leg, and where it goes. Data goes to the reader.
 * While a leg is out, the parity of what it had goes to the reader too, right where
 * the missing data belongs; what the other legs have of these rows is added to it
 * there, and it is the missing data. What of a row the reader does not want is read
 * for that into memory of the read's own.
 *
 * Memory is counted in *slots* of a block: slot i, below the number of blocks that are
 * read, is the reader's i-th block; those above are the read's own.
 *
 * Nothing is verified here: the reader compares all blocks with the table (R8).
 * But a sum alone would not do for what was made from a row that is being written: crc32c
 * is linear, so a new version of one block can have the sum of the older one, and then the
 * new data and the old parity make something wrong of another block that has its sum. So
 * what was made counts only if no write to any of its rows was on its way home meanwhile
 * (kvp_stripe_read_make()).
 */
#ifndef KVP_STRIPE_READ_H
#define KVP_STRIPE_READ_H

#include <linux/types.h>

struct kvp_pool;
struct kvp_tpage;

#define KVP_SLOT_JUNK	(~0u)	/* between two stretches, and of no use */

/**
 * struct kvp_stripe_read - one of them
 * @leaf: of all its blocks; the caller's reference
 * @first, @end: from and up to where; blocks of the vdev
 * @out: the leg that is out, by its place in the vdev; the number of legs if none is
 * @lacking: the leg that is out has some of the blocks
 * @rebuild: these are to be made from the other legs; otherwise nothing comes for them
 * @changes: of @leaf, counted before
 */
struct kvp_stripe_read {
	const struct kvp_tpage *leaf;
	u64 first, end;
	u32 out;
	bool lacking, rebuild;
	u32 changes;
};

/**
 * kvp_stripe_read_begin() - @count blocks of the pool from @block on, all below @leaf
 *
 * Return: false if more than one leg is out. Context: any.
 */
bool kvp_stripe_read_begin(struct kvp_stripe_read *s, const struct kvp_tpage *leaf, u64 block,
			   u32 count);

/** kvp_stripe_read_own() - how many slots there may be above the reader's; few of them are used */
u32 kvp_stripe_read_own(const struct kvp_stripe_read *s);

/**
 * kvp_stripe_read_cut() - what is to be read of leg @leg
 * @add: called for each stretch, in order of @at, its block on the leg; @nr blocks go
 *	to as many slots from @slot on, or nowhere: KVP_SLOT_JUNK. The reader's slots come
 *	in order, too. It returns whether to go on.
 * @to: for @add
 *
 * Junk is what a disk that seeks passes over; alone it is not worth a request. Return:
 * false if @add did. Context: any.
 */
bool kvp_stripe_read_cut(const struct kvp_stripe_read *s, u32 leg,
			 bool (*add)(void *to, u64 at, u32 slot, u32 nr), void *to);

/**
 * kvp_stripe_read_make() - when all has come without an error: make what the leg that is out had
 * @xor: add @nr blocks from slot @from on to those from @slot on
 * @to: for @xor
 *
 * Return: how many blocks were made, each of which has to be verified; -EAGAIN: a row is
 * being written, or was, or its parity is not known, so none is to be believed, whatever
 * its sum is. Context: process.
 */
int __must_check kvp_stripe_read_make(const struct kvp_stripe_read *s, void (*xor)(void *to,
				      u32 slot, u32 from, u32 nr), void *to);

#endif /* KVP_STRIPE_READ_H */
