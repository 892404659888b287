/* SPDX-License-Identifier: GPL-2.0-only */
/* The way of a read from map to a leg. */
#ifndef KVP_READ_H
#define KVP_READ_H

#include "format/format.h"

struct bio;
struct bvec_iter;
struct kvp_bio;
struct kvp_pool;
struct kvp_requests;

/** kvp_read_map() - serve a read; a DM_MAPIO_* value. Context: map; never waits. */
int kvp_read_map(struct kvp_requests *r, struct bio *bio, struct kvp_bio *k);

enum kvp_buffered { KVP_BUFFER_LACKS, KVP_BUFFER_HAD, KVP_BUFFER_HAS_NO_PAGE };

/**
 * kvp_read_buffered() - copy a block from the write buffer to @iter, and move @iter behind it
 *
 * Return: KVP_BUFFER_HAD if that is done; KVP_BUFFER_HAS_NO_PAGE: the block is spilled. Context:
 * not in interrupts.
 */
enum kvp_buffered kvp_read_buffered(struct kvp_pool *pool, struct bio *bio, struct bvec_iter *iter,
				    kvp_block_t block);

#endif /* KVP_READ_H */
