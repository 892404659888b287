/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rows of a parity1: row r is block r of the data region of every leg of its vdev. Pieces 1 to
 * n - 1 are data, piece 0 is their parity: the XOR of all, in which blocks that
 * are unwritten or poisoned are zeros, and are never read.
 *
 * Each piece has a sum in the table, the parity too (kvp_table_parity()), so it
 * is known of every piece by itself whether it is what it should be. What can
 * be told from others is only believed if it has its sum.
 *
 * Callers of these functions hold the range lock of the whole stripe. @leaf is the leaf of the
 * table that the row is below, which knows the vdev.
 */
#ifndef KVP_ROW_H
#define KVP_ROW_H

#include "format/format.h"

struct kvp_leg;
struct kvp_pool;
struct kvp_tpage;
struct page;

/** kvp_row_place() - home of a piece */
struct kvp_place kvp_row_place(const struct kvp_geometry *g, u64 row, u32 piece);

/** kvp_row_block_at() - the pool's block that piece @piece, not the parity, of @row is */
u64 kvp_row_block_at(const struct kvp_tpage *leaf, u64 row, u32 piece);

/** kvp_row_sum() - the sum that @page has as that piece */
u32 kvp_row_sum(const struct kvp_tpage *leaf, u64 row, u32 piece, struct page *page);

/** kvp_row_entry() - what the table says of a piece */
u64 kvp_row_entry(struct kvp_pool *pool, const struct kvp_tpage *leaf, u64 row, u32 piece);

/** kvp_row_load() - what is at @block of a leg, however long memory is short; its error */
int __must_check kvp_row_load(struct kvp_leg *leg, u64 block, struct page *page);

/**
 * kvp_row_read() - one piece from its home, verified; counts what is wrong
 *
 * Data that is unwritten or poisoned is zeros. Return: 0; -EILSEQ: it is not
 * what the table says; -ENODATA: poisoned parity, or a sector that is
 * gone for good; -ENXIO: its leg is out; another -errno: its leg does not
 * answer. Context: process, waits for I/O, and for memory.
 */
int __must_check kvp_row_read(struct kvp_pool *pool, const struct kvp_tpage *leaf, u64 row,
			      u32 piece, struct page *page);

/**
 * kvp_row_rebuild() - one piece from all others, or the SSD cache, verified; the piece itself is not read
 * @page: receives it
 * @scratch: another page
 *
 * Of parity whose sum is not known (and of no other piece) it is what it should
 * be, from verified data. Return: 0; -EBADMSG: it is lost; -EIO: a leg does not
 * answer that may have what is missing.
 */
int __must_check kvp_row_rebuild(struct kvp_pool *pool, const struct kvp_tpage *leaf, u64 row,
				 u32 piece, struct page *page, struct page *scratch);

/** kvp_row_heal() - a bad piece gets @good; its leg is given up if it does not take it */
void kvp_row_heal(struct kvp_pool *pool, const struct kvp_tpage *leaf, u64 row, u32 piece,
		  struct page *good, struct page *scratch);

/** kvp_row_poison() - @piece is lost (R8), and its parity is unknown until it is computed anew */
void kvp_row_poison(struct kvp_pool *pool, struct kvp_tpage *leaf, u64 row, u32 piece);

/**
 * kvp_row_home_read() - kvp_home_read() for a block of a parity1 that the table calls valid
 */
int __must_check kvp_row_home_read(struct kvp_pool *pool, struct kvp_tpage *leaf, u64 block,
				   struct page *page, struct page *spare);

/** kvp_row_scrub_parity() - verify the parity of a row, and mend or compute it; as kvp_home_read() */
int __must_check kvp_row_scrub_parity(struct kvp_pool *pool, struct kvp_tpage *leaf, u64 row,
				      struct page *page, struct page *scratch);

#endif /* KVP_ROW_H */
