/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads of neighbouring blocks that lie on a leg of a parity1 that is out, many at once. */
#ifndef KVP_MISSING_H
#define KVP_MISSING_H

#include <linux/types.h>

#include "format/format.h"

struct kvp_leg;
struct kvp_pool;
struct page;

/**
 * kvp_block_leg() - the leg that @block of the pool lies on; NULL: all legs of its vdev have it
 *
 * Any context.
 */
const struct kvp_leg *kvp_block_leg(struct kvp_pool *pool, kvp_block_t block);

/**
 * kvp_block_missing() - true if @block of the pool lies on a leg of a parity1 that is out
 *
 * Any context.
 */
bool kvp_block_missing(struct kvp_pool *pool, kvp_block_t block);

/**
 * kvp_missing_read() - make blocks whose leg is out from all other legs, in one round
 * @block: block of the pool; @nr blocks from it on lie in one chunk
 * @give: called for each block in order, with a page that it may read until it returns
 * @to: for @give
 *
 * Return: 0; -errno: @give was not called. The caller then reads each block by itself, which waits
 * for memory, heals, and finds lost blocks. Context: process, waits for I/O; takes the stripe's
 * range lock.
 */
int __must_check kvp_missing_read(struct kvp_pool *pool, kvp_block_t block, u32 nr,
				  void (*give)(void *to, struct page *page), void *to);

#endif /* KVP_MISSING_H */
