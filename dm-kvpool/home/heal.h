/* SPDX-License-Identifier: GPL-2.0-only */
/* Verified and healed reads of blocks at home. */
#ifndef KVP_HEAL_H
#define KVP_HEAL_H

#include "core/core.h"

struct kvp_tpage;
struct kvp_version;
struct page;

/**
 * kvp_block_lock() - lock the blocks that must not change while @block is read or healed
 *
 * These are @block; in a parity1 its stripe, from which it may have to be rebuilt. Release with
 * kvp_range_unlock(). Context: as kvp_range_lock().
 */
void kvp_block_lock(struct kvp_pool *pool, struct kvp_range *range, kvp_block_t block);

/**
 * kvp_home_read() - read one block from its home, verify it, and heal it (heal.c)
 * @page: private page that receives it
 * @spare: another page: every copy is read and healed; NULL: stop at the first copy that verifies
 *
 * Caller holds the lock of kvp_block_lock(), and has looked into the buffer. Return: 0; -ENODATA:
 * poisoned; -EIO: some leg does not answer, and no other has the block; -ENOMEM: try again, nothing
 * is known (with @spare: not of every copy); -EBADMSG: no copy verifies, and the block is poisoned
 * now. After -EBADMSG, and before it answers a read with -ENODATA, the caller releases the lock and
 * calls kvp_poison_make_durable(). Context: process, waits for I/O.
 */
int __must_check kvp_home_read(struct kvp_pool *pool, kvp_block_t block, struct page *page,
			       struct page *spare);

/**
 * kvp_copies_read() - kvp_home_read() for a valid block that is on all legs
 * @entry: its entry in the table
 */
int __must_check kvp_copies_read(struct kvp_pool *pool, struct kvp_tpage *leaf, kvp_block_t block,
				 u64 entry, struct page *page, struct page *spare);

/**
 * kvp_copies_lose() - no copy of such a block verifies: poison it until it is overwritten (R8)
 *
 * Return: -EBADMSG; -EIO: the pool is read-only, and the table was not changed.
 */
int __must_check kvp_copies_lose(struct kvp_pool *pool, struct kvp_tpage *leaf, kvp_block_t block);

/**
 * kvp_block_lose() - poison the block of logged version @d, which no SSD has any more (R8)
 *
 * Nothing is lost if a newer version is durable, or if @d was written home in an earlier start of
 * the pool: then it does not poison the block. It frees @d in either case. Return: 0; or the error
 * of the table, and nothing is changed. Context: the destage worker, when older versions are home;
 * waits for I/O.
 */
int __must_check kvp_block_lose(struct kvp_pool *pool, struct kvp_version *d);

/**
 * kvp_block_read() - read the newest version of one block into a private page
 *
 * Return: 0; -EBADMSG: the block is lost, which is durable; -EIO: some leg does not answer.
 * Context: process; takes the range lock; waits for I/O, and for memory.
 */
int __must_check kvp_block_read(struct kvp_pool *pool, kvp_block_t block, struct page *page);

#endif /* KVP_HEAL_H */
