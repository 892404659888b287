/* SPDX-License-Identifier: GPL-2.0-only */
/* Verified and healed reads of blocks at home. */
#ifndef KVP_HEAL_H
#define KVP_HEAL_H

#include "core/core.h"

struct kvp_tpage;
struct kvp_version;
struct page;

/**
 * kvp_block_lock() - lock what must not change while @block is read or healed
 *
 * Locks the block; in a parity1 its stripe, from which it may have to be rebuilt. Release with
 * kvp_range_unlock(). Context: as kvp_range_lock().
 */
void kvp_block_lock(struct kvp_pool *pool, struct kvp_range *range, kvp_block_t block);

/**
 * kvp_home_read() - one block from its home, verified, healed (heal.c)
 * @page: private page that receives it
 * @spare: another page, to read every copy; NULL: stop at the first that verifies
 *
 * Caller holds the lock of kvp_block_lock() and has looked into the buffer. Return: 0; -ENODATA:
 * poisoned; -EIO: some leg does not answer and no other has the block; -ENOMEM: try again, nothing
 * is known (with @spare: not of every copy); -EBADMSG: no copy verifies, and the block is poisoned
 * now. The caller releases the lock, and calls kvp_poison_make_durable() before it answers.
 */
int __must_check kvp_home_read(struct kvp_pool *pool, kvp_block_t block, struct page *page,
			       struct page *spare);

/**
 * kvp_copies_read() - kvp_home_read() for a block that is on all legs, and that the table calls
 * valid by @entry
 */
int __must_check kvp_copies_read(struct kvp_pool *pool, struct kvp_tpage *leaf, kvp_block_t block,
				 u64 entry, struct page *page, struct page *spare);

/** kvp_copies_lose() - no copy of such a block verifies: poison it until it is overwritten (R8) */
int __must_check kvp_copies_lose(struct kvp_pool *pool, struct kvp_tpage *leaf, kvp_block_t block);

/**
 * kvp_block_lose() - a logged version that no SSD has any more: poison its block (R8)
 *
 * Not if a newer version is durable: then nothing is lost. @d is gone after that. Return: 0, or the
 * error of the table, and nothing is changed. Context: the destage worker, which has brought home
 * what was logged before; waits for I/O.
 */
int __must_check kvp_block_lose(struct kvp_pool *pool, struct kvp_version *d);

/**
 * kvp_block_read() - read the newest version of one block into a private page
 *
 * Return: 0; -EBADMSG: it is lost; -EIO: some leg does not answer. Context: process; takes the
 * range lock; waits for I/O, and for memory.
 */
int __must_check kvp_block_read(struct kvp_pool *pool, kvp_block_t block, struct page *page);

#endif /* KVP_HEAL_H */
