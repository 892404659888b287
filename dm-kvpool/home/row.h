/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rows of a parity1. Row r is block r of the data area of every leg of its vdev. Pieces 1 to n -
 * 1 are data. Piece 0 is their parity: the XOR of all. Blocks that are unwritten or poisoned count
 * as zeros in it, and are never read.
 *
 * Each piece has a sum in the table, the parity too (kvp_table_parity()). So each piece can be
 * verified by itself. A piece that was made from the others counts only if it has its sum.
 *
 * Callers of these functions hold the range lock of the whole stripe. @leaf is the leaf of the
 * table that has the row's entries; it knows the vdev.
 */
#ifndef KVP_ROW_H
#define KVP_ROW_H

#include "format/format.h"

struct kvp_leg;
struct kvp_pool;
struct kvp_tpage;
struct page;

/** kvp_row_place() - the home of a piece: leg, and block on it. Any context. */
struct kvp_place kvp_row_place(const struct kvp_geometry *g, u64 row, u32 piece);

/**
 * kvp_row_block_at() - the block of the pool that is piece @piece of @row; not for the parity. Any
 * context.
 */
kvp_block_t kvp_row_block_at(const struct kvp_tpage *leaf, u64 row, u32 piece);

/** kvp_row_sum() - compute the sum of @page as that piece. Any context. */
u32 kvp_row_sum(const struct kvp_tpage *leaf, u64 row, u32 piece, struct page *page);

/** kvp_row_entry() - the table's entry of a piece. Any context. */
u64 kvp_row_entry(const struct kvp_tpage *leaf, u64 row, u32 piece);

/**
 * kvp_row_read() - read one piece from its home, and verify it; count errors
 *
 * Data that is unwritten or poisoned is zeros, and so is unwritten parity. Return: 0; -EILSEQ: the
 * piece does not match the table; -ENODATA: poisoned parity, or a sector that is gone for good;
 * -ENXIO: its leg is out; another -errno: its leg does not answer. Context: process, waits for I/O,
 * as kvp_io_read_patiently().
 */
int __must_check kvp_row_read(const struct kvp_tpage *leaf, u64 row, u32 piece, struct page *page);

/**
 * kvp_row_silent() - true if, after this error of kvp_row_read(), the leg may still have the piece
 */
bool kvp_row_silent(int error);

/**
 * kvp_row_rebuild() - make one piece from all others, or take it from the SSD cache, and verify it
 * @page: receives it
 * @scratch: another page
 *
 * The piece itself is not read. Parity whose sum is not known (and no other piece) is not compared
 * with a sum: it is right, as it comes from verified data. Return: 0; -EBADMSG: the piece is lost;
 * -EIO: a leg, or an SSD, that may have a missing piece does not answer. Context: process, waits
 * for I/O, as kvp_io_read_patiently().
 */
int __must_check kvp_row_rebuild(struct kvp_pool *pool, const struct kvp_tpage *leaf, u64 row,
				 u32 piece, struct page *page, struct page *scratch);

/**
 * kvp_row_heal() - overwrite a bad piece with @good, and read it back; its leg is given up if that
 * fails
 *
 * Does nothing if the leg is out or the pool read-only. Context: process, waits for I/O.
 */
void kvp_row_heal(struct kvp_pool *pool, const struct kvp_tpage *leaf, u64 row, u32 piece,
		  struct page *good, struct page *scratch);

/**
 * kvp_row_fetch() - read one piece, or make it from the others (kvp_row_rebuild()), and heal it
 * @page: receives it
 * @scratch: another page
 * @bad: receives the error of its own copy, as of kvp_row_read(), or 0
 *
 * If the leg refuses the read, the others are asked at once. Return: as kvp_row_rebuild(). Context:
 * the same.
 */
int __must_check kvp_row_fetch(struct kvp_pool *pool, const struct kvp_tpage *leaf, u64 row,
			       u32 piece, struct page *page, struct page *scratch, int *bad);

/**
 * kvp_row_poison() - @piece is lost: poison it (R8). Its parity is unknown until it is computed
 * anew.
 *
 * Context: process; takes the table's lock.
 */
void kvp_row_poison(struct kvp_pool *pool, struct kvp_tpage *leaf, u64 row, u32 piece);

/** kvp_row_home_read() - kvp_home_read() for a block of a parity1 that the table calls valid */
int __must_check kvp_row_home_read(struct kvp_pool *pool, struct kvp_tpage *leaf, kvp_block_t block,
				   struct page *page, struct page *spare);

/**
 * kvp_row_scrub_parity() - verify the parity of a row, and repair or compute it
 *
 * Return: 0; -EIO: the parity's leg did not take it. Context: process, waits for I/O, and for
 * memory.
 */
int __must_check kvp_row_scrub_parity(struct kvp_pool *pool, struct kvp_tpage *leaf, u64 row,
				      struct page *page, struct page *scratch);

#endif /* KVP_ROW_H */
