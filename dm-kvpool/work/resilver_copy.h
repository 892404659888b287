/* SPDX-License-Identifier: GPL-2.0-only */
/* What a resilver copies: blocks of a mirror, pieces of rows of a parity1. */
#ifndef KVP_RESILVER_COPY_H
#define KVP_RESILVER_COPY_H

#include "core/core.h"
#include "format/stripe.h"
#include "io/batch.h"
#include "io/io.h"

struct kvp_tpage;

#define KVP_RESILVER_STEPS	3u	/* in flight: one is read, one is verified, one is written */
#define KVP_RESILVER_PARTS	8u
#define KVP_RESILVER_PAGES	1024u	/* the most of a step */

/**
 * struct kvp_resilver_part - blocks of a step that lie below one leaf, and in one turn of their
 * vdev
 * @block: of the pool
 * @first: so many blocks of the step come before
 * @n: blocks
 */
struct kvp_resilver_part {
	struct kvp_range range;
	struct kvp_tpage *leaf;
	kvp_block_t block;
	u32 first, n;
};

/**
 * struct kvp_resilver_step - blocks that are copied together, in one long request to each leg
 * @v: their vdev
 * @own: the first one, as the vdev counts
 * @n: how many
 * @legs: a bit per leg of the vdev: those that the step is for
 * @since: era: entries that are older are on these legs already
 * @began: ns
 * @good: all is read and verifies, and is being written
 * @parts: @nr_parts of them. Their ranges are locked until the writes have ended
 * @ios: reads; those with a leg are under way, or have ended
 * @batch: what is written
 * @pages: @nr_pages of them: what is read
 */
struct kvp_resilver_step {
	struct kvp_vdev *v;
	kvp_vblock_t own;
	u64 legs, began;
	u32 n, since, nr_parts, nr_pages;
	bool good;
	struct kvp_resilver_part parts[KVP_RESILVER_PARTS];
	struct kvp_io_group group;
	struct kvp_io ios[KVP_STRIPE_MAX_LEGS];
	struct kvp_batch *batch;
	struct page *pages[KVP_RESILVER_PAGES];
};

/**
 * struct kvp_resilver_io - memory to copy with
 * @steps: a ring; @nr from @first on are in flight, of which the first @writing are read
 * @copied: blocks that were written to a leg, since the resilver began
 * @since, @legs: as of a step, while one is copied block by block
 * @page, @spare: for that
 */
struct kvp_resilver_io {
	struct kvp_resilver_step steps[KVP_RESILVER_STEPS];
	u32 first, nr, writing, since;
	u64 copied, legs;
	struct page *page, *spare;
};

/** kvp_resilver_alloc() - memory for a resilver; NULL if there is none. Context: process. */
struct kvp_resilver_io * __must_check kvp_resilver_alloc(struct kvp_pool *pool);
void kvp_resilver_free(struct kvp_resilver_io *io);

/**
 * kvp_resilver_begin() - lock the first blocks from @step->own on, and begin to read what changed
 * @step: @v, @own, @legs and @since are set
 * @end: behind the last block that may belong to it
 * @wait: for a locked range; the caller holds none
 *
 * Return: 0: it is in flight; @step->n is how many blocks. -EAGAIN: others have locked the range.
 * -ENOMEM. Another -errno: @step->n blocks have a leaf that cannot be read. Context: process; waits
 * for table pages.
 */
int __must_check kvp_resilver_begin(struct kvp_pool *pool, struct kvp_resilver_step *step,
				    kvp_vblock_t end, bool wait);

/** kvp_resilver_write() - wait until @step is read, and begin to write it if it verifies */
void kvp_resilver_write(struct kvp_pool *pool, struct kvp_resilver_step *step);

/**
 * kvp_resilver_end() - wait until @step is written, or read, and unlock its ranges
 *
 * kvp_resilver_put() must follow. Return: blocks that were written; or -EBADMSG: look at each block
 * by itself, it is unknown which ones were copied.
 */
int kvp_resilver_end(struct kvp_pool *pool, struct kvp_resilver_step *step);

/**
 * kvp_resilver_cancel() - wait until @step is read, and write nothing; kvp_resilver_end() must
 * follow
 */
void kvp_resilver_cancel(struct kvp_resilver_step *step);

/** kvp_resilver_put() - release the leaves of a step that has ended */
void kvp_resilver_put(struct kvp_pool *pool, struct kvp_resilver_step *step);

/**
 * kvp_resilver_read_copies() - begin to read those blocks of @step that changed, from one leg
 *
 * The blocks are locked. Return: false: look at each block by itself. Context: process.
 */
bool kvp_resilver_read_copies(struct kvp_pool *pool, struct kvp_resilver_step *step);

/**
 * kvp_resilver_add_copies() - @step is read: add to its batch what the legs of the step miss
 *
 * Return: false: some block does not verify. Context: process.
 */
bool kvp_resilver_add_copies(struct kvp_pool *pool, struct kvp_resilver_step *step);

/**
 * kvp_resilver_read_rows() - kvp_resilver_read_copies() for rows, from all other legs; false as
 * well if the blocks are no whole stripes
 */
bool kvp_resilver_read_rows(struct kvp_pool *pool, struct kvp_resilver_step *step);

/**
 * kvp_resilver_add_rows() - kvp_resilver_add_copies() for rows: the pieces of the leg, data or
 * parity, are made from all others
 */
bool kvp_resilver_add_rows(struct kvp_pool *pool, struct kvp_resilver_step *step);

/**
 * kvp_resilver_block() - copy one block, which is locked, if it changed; heals and poisons as
 * kvp_home_read(), and returns the same
 */
int __must_check kvp_resilver_block(struct kvp_pool *pool, struct kvp_resilver_io *io,
				    struct kvp_tpage *leaf, kvp_block_t block);

/** kvp_resilver_parity() - rebuild the parity of the row whose first piece is @block; -errno */
int __must_check kvp_resilver_parity(struct kvp_pool *pool, struct kvp_resilver_io *io,
				     struct kvp_tpage *leaf, kvp_block_t block);

#endif /* KVP_RESILVER_COPY_H */
