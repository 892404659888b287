/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parking: versions in the log of an SSD cache that have given their pages back.
 *
 * The write buffer is small, and an SSD that carries the log is not. So a version whose
 * record is durable there need not keep its page until it is home: it is parked, and its
 * contents are read from the log when destage, or a reader, wants them. What is left of it
 * in memory is its struct kvp_version, in the same place of all orders, so that nothing else
 * about it changes: a later version supersedes it, and it goes home in log order.
 *
 * The oldest are parked first: wbuf->parked holds what was logged before all that is on
 * wbuf->logged. A place in the log is not written again before the tail has passed it, and
 * the tail does not pass a version that is not home. So under the block's range lock,
 * without which nothing comes home, the contents of a version that was found in the buffer
 * lie where they were written.
 *
 * They are believed if they have the sum of the version, which is in memory. Every SSD of
 * the cache is asked; if none has them the version is lost, and its block is poisoned. Of a cache
 * of kind parity1 one SSD has them, and the others what they can be made from.
 */
#ifndef KVP_SPILL_H
#define KVP_SPILL_H

#include <linux/list.h>
#include <linux/types.h>

struct kvp_pool;
struct kvp_reload;
struct page;

/** kvp_reload_alloc() - what destage needs to read parked versions; NULL: no memory. May sleep. */
struct kvp_reload * __must_check kvp_reload_alloc(struct kvp_pool *pool);
void kvp_reload_free(struct kvp_reload *r);

/**
 * kvp_spill() - if the buffer is getting full, give back pages of what the log of a cache has
 *
 * Wakes waiters for pages. Return: true if it was a full share, so that more is to be given back at
 * once. Context: process; does not wait.
 */
bool kvp_spill(struct kvp_pool *pool);

/**
 * struct kvp_spilled - what is to be known of a parked version to read it
 * @block: of the pool
 * @lsn: where in the log its contents lie
 * @crc: their sum
 * @row: kvp_version.row
 */
struct kvp_spilled {
	u64 block, lsn;
	u32 crc;
	u8 row;
};

/** kvp_spill_read_copies() - kvp_spill_read() from a cache of which each SSD has all of the log */
int kvp_spill_read_copies(struct kvp_pool *pool, const struct kvp_spilled *p, struct page *page,
			  struct page *spare);

/**
 * kvp_spill_read_rows() - the same from one whose log lies in rows: made from its row, if need be
 */
int kvp_spill_read_rows(struct kvp_pool *pool, const struct kvp_spilled *p, struct page *page,
			struct page *spare);

/**
 * kvp_spill_read() - the contents of a parked version
 * @page: private page that receives them
 * @spare: another one, or NULL: one is allocated if it is needed
 *
 * Caller holds the block's range lock, and has found the version in the buffer under it.
 * Return: 0; -EILSEQ: no SSD has them; -EIO: one that may have them does not answer; -ENOMEM:
 * try again.
 * Context: process, waits for I/O.
 */
int __must_check kvp_spill_read(struct kvp_pool *pool, const struct kvp_spilled *p,
				struct page *page, struct page *spare);

/**
 * kvp_reload() - give parked versions pages again, with their contents; if kvp_log_spills()
 * @versions: HOMING, in log order; those from the first on that have pages then stay
 * @lost: if there are none: the first ones, if no SSD has them any more
 * @rest: all others, in order
 *
 * Return: 0, or -ENOMEM: nothing is on @versions or @lost, for now; or -EINTR: nothing is, and
 * while the log of a suspended pool is emptied nothing is to be given up, so destage has been stopped.
 * Context: the destage worker; waits for I/O.
 */
int __must_check kvp_reload(struct kvp_pool *pool, struct list_head *versions,
			    struct list_head *lost, struct list_head *rest);

#endif /* KVP_SPILL_H */
