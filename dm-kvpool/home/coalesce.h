/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Coalescing: gaps between blocks that go home to disks that seek.
 *
 * To such a disk a request costs as much as a MiB that it reads or writes in one piece. So where
 * several blocks of a short stretch go home, the whole stretch is read from one leg of the mirror.
 * Then it is written as one request: the new blocks, and between them the old ones once more. The
 * old ones are verified against the table, under the lock of the whole stretch, so no other code
 * changes them meanwhile. And the stretch is written to one leg at a time (batch.h). So whatever a
 * power cut does to sectors that are being written, another leg has them.
 */
#ifndef KVP_COALESCE_H
#define KVP_COALESCE_H

#include <linux/list.h>
#include <linux/types.h>

#include "format/format.h"

struct kvp_batch;
struct kvp_coalesce;
struct kvp_pool;
struct kvp_spot;
struct kvp_tpage;
struct kvp_vdev;
struct kvp_version;

#define KVP_STRETCH_BLOCKS	256u	/* at most; a request of 1 MiB */

/**
 * kvp_coalesce_alloc() - allocate memory; NULL if there is none
 *
 * kvp_coalesce_free() - free it; @b may be NULL
 *
 * Context: process, may sleep.
 */
struct kvp_coalesce * __must_check kvp_coalesce_alloc(struct kvp_pool *pool);
void kvp_coalesce_free(struct kvp_coalesce *b);

/**
 * kvp_coalesce_gap() - the longest gap, in blocks, that may be written along with blocks that go
 * home to a mirror; 0: none. Any context.
 */
u32 kvp_coalesce_gap(const struct kvp_vdev *v);

/**
 * kvp_coalesce_last() - find how far a stretch should reach
 * @versions: sorted by block
 * @d: the first version of the stretch, on @versions
 * @at: the place of its block
 *
 * Return: the last block of the stretch, which has a version on @versions; 0: a stretch does not
 * pay, or cannot be made. Context: process; may allocate memory, but does not wait for it.
 */
kvp_block_t kvp_coalesce_last(struct kvp_coalesce *b, const struct list_head *versions,
			      const struct kvp_version *d, struct kvp_spot at);

/**
 * kvp_coalesce_read() - begin to read a stretch that is to be written
 * @leaf: the leaf of its blocks; the caller holds their range lock until after kvp_coalesce_add()
 * @first: its first block
 * @last: from kvp_coalesce_last(); no other stretch was begun since
 *
 * Context: process.
 */
void kvp_coalesce_read(struct kvp_coalesce *b, struct kvp_tpage *leaf, kvp_block_t first,
		       kvp_block_t last);

/** kvp_coalesce_is_full() - true if there is no place for another stretch */
bool kvp_coalesce_is_full(const struct kvp_coalesce *b);

/**
 * kvp_coalesce_wait() - wait until all reads have ended. Return: true if there were any. Context:
 * process.
 */
bool kvp_coalesce_wait(struct kvp_coalesce *b);

/**
 * kvp_coalesce_add() - add the next stretch to @batch, in the order in which they were begun
 * @versions: those that go home to it, one for each block at most, sorted by block
 * @batch: receives them, and each gap between two of them that was read and verified as a whole; so
 *	it gets no more runs than the versions are by themselves
 *
 * @batch uses pages of @b until kvp_coalesce_reset(). Return: false if @batch had no room for all;
 * then it must not be written. Context: after kvp_coalesce_wait().
 */
bool __must_check kvp_coalesce_add(struct kvp_coalesce *b, const struct list_head *versions,
				   struct kvp_batch *batch);

/** kvp_coalesce_reset() - forget all stretches. None may be being read or written. */
void kvp_coalesce_reset(struct kvp_coalesce *b);

#endif /* KVP_COALESCE_H */
