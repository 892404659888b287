/* SPDX-License-Identifier: GPL-2.0-only */
/* What a resilver copies: blocks of a mirror, pieces of rows of a parity1. */
#ifndef KVP_RESILVER_COPY_H
#define KVP_RESILVER_COPY_H

#include "core/core.h"
#include "format/stripe.h"
#include "io/batch.h"
#include "io/io.h"

struct kvp_tpage;

/* The most pages of a step: as many blocks as have their entries in one leaf, with their parity. */
#define KVP_RESILVER_PAGES	KVP_PTRS_PER_PAGE

/**
 * struct kvp_resilver_io - memory to copy with, and what the step is about
 * @since: era: entries that are older are on the legs already
 * @legs: a bit per leg of the vdev: those that this step is for
 * @copied: blocks that were written to a leg, since the resilver began
 * @batch: what is written
 * @pages: what is read; @spare: one more
 */
struct kvp_resilver_io {
	u32 since;
	u64 legs;
	u64 copied;
	struct kvp_batch *batch;
	struct kvp_io_group group;
	struct kvp_io ios[KVP_STRIPE_MAX_LEGS];
	struct page *pages[KVP_RESILVER_PAGES], *spare;
};

/** kvp_resilver_alloc() - memory for a resilver; NULL if there is none. Context: process. */
struct kvp_resilver_io * __must_check kvp_resilver_alloc(struct kvp_pool *pool);
void kvp_resilver_free(struct kvp_resilver_io *io);

/** kvp_resilver_step() - blocks of the pool in a step from @at on; of a parity1 whole stripes */
u32 kvp_resilver_step(const struct kvp_spot *at);

/**
 * kvp_resilver_copies() - copy those of @n blocks that changed to each leg of the step
 *
 * Reads one leg in a long request. The blocks are locked, and lie below @leaf. Return: false: some
 * block does not verify, and it is unknown which ones were copied. Context: process; waits for I/O.
 */
bool kvp_resilver_copies(struct kvp_pool *pool, struct kvp_resilver_io *io, struct kvp_tpage *leaf,
			 u64 block, u32 n);

/**
 * kvp_resilver_rows() - the same for rows: the pieces of the leg, data or parity, are rebuilt from
 * all others; false as well if the blocks are no whole stripes
 */
bool kvp_resilver_rows(struct kvp_pool *pool, struct kvp_resilver_io *io, struct kvp_tpage *leaf,
		       u64 block, u32 n);

/**
 * kvp_resilver_block() - copy one block, which is locked, if it changed; heals and poisons as
 * kvp_home_read(), and returns the same
 */
int kvp_resilver_block(struct kvp_pool *pool, struct kvp_resilver_io *io, struct kvp_tpage *leaf,
		       u64 block);

/** kvp_resilver_parity() - rebuild the parity of the row whose first piece is @block; -errno */
int kvp_resilver_parity(struct kvp_pool *pool, struct kvp_resilver_io *io, struct kvp_tpage *leaf,
			u64 block);

#endif /* KVP_RESILVER_COPY_H */
