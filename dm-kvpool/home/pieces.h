/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A long read that failed is repeated piece by piece.
 *
 * A device that answers a read of a MiB with an error may have one bad sector, or may be about to
 * die. Read block by block, that would be 256 requests, one after the other. So pieces are read,
 * one request each, under their range lock and into private pages. A piece is verified as a whole.
 * The blocks of a piece that is not right are read one by one (heal.h), which heals.
 *
 * The first pieces are read from the leg that failed: a bad sector lies in one piece, and the
 * others are sound. Two pieces that this leg does not give either are read block by block, too.
 * From then on the leg is not asked: the other legs have what it does not give.
 */
#ifndef KVP_PIECES_H
#define KVP_PIECES_H

#include <linux/types.h>

#include "format/numbers.h"

struct kvp_leg;
struct kvp_pool;
struct page;

#define KVP_PIECE_BLOCKS	32u

/**
 * struct kvp_pieces - a long read that failed
 * @failed: the leg that answered with an error; NULL: it is not known
 * @strikes: pieces that it has not given since
 */
struct kvp_pieces {
	const struct kvp_leg *failed;
	u32 strikes;
};

/** kvp_piece_blocks() - how many of @count blocks from @block on make one piece. Any context. */
u32 kvp_piece_blocks(struct kvp_pool *pool, kvp_block_t block, u32 count);

/**
 * kvp_piece_read() - read the next piece
 * @nr: kvp_piece_blocks()
 * @give: called for each block in order, with a page that it may read until it returns
 * @to: for @give
 *
 * Return: 0; -errno: @give was not called. The caller then reads each block of the piece by
 * itself, which waits for memory, heals, and finds lost blocks. Context: process, waits for I/O;
 * takes range locks.
 */
int __must_check kvp_piece_read(struct kvp_pool *pool, struct kvp_pieces *p, kvp_block_t block,
				u32 nr, void (*give)(void *to, struct page *page), void *to);

#endif /* KVP_PIECES_H */
