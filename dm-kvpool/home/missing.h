/* SPDX-License-Identifier: GPL-2.0-only */
/* Reading what a leg of a parity1 had that is out: neighbours at once. */
#ifndef KVP_MISSING_H
#define KVP_MISSING_H

#include <linux/types.h>

struct kvp_leg;
struct kvp_pool;
struct page;

/**
 * kvp_block_leg() - the leg that @block of the pool lies on; NULL: on all of its vdev. Any
 * context.
 */
const struct kvp_leg *kvp_block_leg(struct kvp_pool *pool, u64 block);

/** kvp_block_missing() - is the leg out that @block of the pool, of a parity1, lies on? Any context. */
bool kvp_block_missing(struct kvp_pool *pool, u64 block);

/**
 * kvp_missing_read() - blocks whose leg is out, from all other legs in one round
 * @block: the pool's; @nr of them lie in one chunk
 * @give: called for each in order, with a page that it may read until it returns
 * @to: for @give
 *
 * Return: 0; -errno: none was given, and each has to be read by itself, which
 * waits for memory, heals, and finds out what is lost. Context: process, waits
 * for I/O; takes the stripe's range lock.
 */
int __must_check kvp_missing_read(struct kvp_pool *pool, u64 block, u32 nr, void (*give)(void *to,
				  struct page *page), void *to);

#endif /* KVP_MISSING_H */
