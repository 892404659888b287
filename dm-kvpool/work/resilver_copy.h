/* SPDX-License-Identifier: GPL-2.0-only */
/* How a resilver copies: blocks of a mirror, pieces of rows of a parity1. */
#ifndef KVP_RESILVER_COPY_H
#define KVP_RESILVER_COPY_H

#include "core/core.h"
#include "format/stripe.h"
#include "io/batch.h"
#include "io/io.h"
#include "table/copy.h"

struct kvp_tpage;

#define KVP_RESILVER_STEPS	3u	/* in flight: one is read, one verified, one written */
#define KVP_RESILVER_PARTS	8u
#define KVP_RESILVER_PAGES	1024u	/* the most pages of a step */

/**
 * struct kvp_resilver_part - blocks of a step below one leaf, and in one turn of their vdev
 * @block: the first one, as a block of the pool
 * @first: how many blocks of the step come before
 * @n: number of blocks
 */
struct kvp_resilver_part {
	struct kvp_range range;
	struct kvp_tpage *leaf;
	kvp_block_t block;
	u32 first, n;
};

/**
 * struct kvp_resilver_step - blocks that are copied together, by one long request to each leg
 * @v: their vdev
 * @own: the first one, as a block of the vdev
 * @n: number of blocks
 * @legs: a bit for each leg of the vdev that the step is for
 * @since: era: older entries are on these legs already
 * @began: ns
 * @good: all blocks were read and verify, and are being written
 * @parts: @nr_parts of them. Their ranges are locked until the writes have ended
 * @ios: reads; one with a leg is in flight, or has ended
 * @batch: the writes
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
 * @steps: a ring; @nr from @first on are in flight, of which the first @writing have been read
 * @copied: blocks that were written to a leg since the resilver began
 * @since, @legs: as of a step, while it is copied block by block
 * @page, @spare: for copying block by block
 * @table: for copying table pages; it uses memory of a step, as none is in flight then
 */
struct kvp_resilver_io {
	struct kvp_resilver_step steps[KVP_RESILVER_STEPS];
	struct kvp_table_copy table;
	u32 first, nr, writing, since;
	u64 copied, legs;
	struct page *page, *spare;
};

/**
 * kvp_resilver_alloc() - allocate memory for a resilver; NULL on failure
 *
 * kvp_resilver_free() - free it; @io may be NULL. No step is in flight.
 *
 * Context: process.
 */
struct kvp_resilver_io * __must_check kvp_resilver_alloc(struct kvp_pool *pool);
void kvp_resilver_free(struct kvp_resilver_io *io);

/**
 * kvp_resilver_begin() - lock the first blocks from @step->own on, and begin to read what changed
 * @step: @v, @own, @legs and @since are set
 * @end: behind the last block that may belong to it
 * @wait: wait for a locked range; the caller holds none
 *
 * Return: 0: it is in flight, with @step->n blocks; -EAGAIN: the range is locked; -ENOMEM. Another
 * -errno: @step->n blocks have a leaf that cannot be read. Context: process; waits for table pages.
 */
int __must_check kvp_resilver_begin(struct kvp_pool *pool, struct kvp_resilver_step *step,
				    kvp_vblock_t end, bool wait);

/** kvp_resilver_write() - wait until @step is read; if it verifies, begin to write it */
void kvp_resilver_write(struct kvp_pool *pool, struct kvp_resilver_step *step);

/**
 * kvp_resilver_end() - wait until @step is written, or read, and unlock its ranges
 *
 * The caller must call kvp_resilver_put(). Return: how many blocks were written; or -EBADMSG: it is
 * unknown which ones were copied, so copy block by block.
 */
int kvp_resilver_end(struct kvp_pool *pool, struct kvp_resilver_step *step);

/**
 * kvp_resilver_cancel() - wait until @step is read, and write nothing
 *
 * The caller must call kvp_resilver_end().
 */
void kvp_resilver_cancel(struct kvp_resilver_step *step);

/** kvp_resilver_put() - release the leaves of a step that has ended */
void kvp_resilver_put(struct kvp_resilver_step *step);

/**
 * kvp_resilver_read_copies() - begin to read the changed blocks of @step from one leg
 *
 * The blocks are locked. Return: false: copy block by block. Context: process.
 */
bool kvp_resilver_read_copies(struct kvp_pool *pool, struct kvp_resilver_step *step);

/**
 * kvp_resilver_add_copies() - @step is read: add to its batch what its legs miss
 *
 * Return: false: some block does not verify. Context: process.
 */
bool kvp_resilver_add_copies(struct kvp_pool *pool, struct kvp_resilver_step *step);

/**
 * kvp_resilver_read_rows() - kvp_resilver_read_copies() for rows, from all other legs
 *
 * Return: false as well if the blocks are not whole stripes.
 */
bool kvp_resilver_read_rows(struct kvp_pool *pool, struct kvp_resilver_step *step);

/**
 * kvp_resilver_add_rows() - kvp_resilver_add_copies() for rows
 *
 * Makes the pieces of the leg, data or parity, from all other pieces.
 */
bool kvp_resilver_add_rows(struct kvp_pool *pool, struct kvp_resilver_step *step);

/**
 * kvp_resilver_block_if_sound() - copy one block of a mirror, which is locked, if a leg has it
 *
 * A block that no leg has is left alone: no leg is blamed, and nothing is healed or poisoned.
 *
 * Return: true if the legs have it now, or did not miss it. Context: process.
 */
bool kvp_resilver_block_if_sound(struct kvp_pool *pool, struct kvp_resilver_io *io,
				 struct kvp_tpage *leaf, kvp_block_t block);

/**
 * kvp_resilver_block() - copy one block, which is locked, if it changed
 *
 * Heals and poisons as kvp_home_read(), and returns the same.
 */
int __must_check kvp_resilver_block(struct kvp_pool *pool, struct kvp_resilver_io *io,
				    struct kvp_tpage *leaf, kvp_block_t block);

/**
 * kvp_resilver_parity() - rebuild the parity of the row whose first piece is @block
 *
 * The row is locked. Return: 0, or -errno. -EBADMSG: a piece was lost and is poisoned now.
 */
int __must_check kvp_resilver_parity(struct kvp_pool *pool, struct kvp_resilver_io *io,
				     struct kvp_tpage *leaf, kvp_block_t block);

#endif /* KVP_RESILVER_COPY_H */
