/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Spilled versions: versions in the log of an SSD cache that have given their pages back.
 *
 * The write buffer is small, and an SSD that carries the log is not. Once its record is durable
 * there, a version need not keep its page until it is home: it can be spilled. Destage and readers
 * then read its contents from the log. Its struct kvp_version stays in memory, and keeps its place
 * in all lists. So nothing else changes: a later version supersedes it, and it goes home in log
 * order.
 *
 * The oldest versions are spilled first: all on wbuf->spilled were logged before all on
 * wbuf->logged. A place in the log is not written again before the tail has passed it. The tail
 * does not pass a version that is not home, and no version goes home without the block's range
 * lock. So under that lock, the contents of a version that is in the buffer lie where they were
 * written.
 *
 * Contents are right if they have the version's sum, which is in memory. Every SSD of the cache is
 * asked for them. If none has them, the version is lost, and its block is poisoned. In a cache of
 * kind parity1 one SSD has the contents, and they can be made from those of the others.
 */
#ifndef KVP_SPILL_H
#define KVP_SPILL_H

#include <linux/list.h>
#include <linux/types.h>

#include "format/format.h"

/* Pages that all readers of spilled versions may have together: 8 MiB. */
#define KVP_READERS_PAGES	2048

struct kvp_log;
struct kvp_log_memory;
struct kvp_reload;
struct kvp_spilled_read;
struct kvp_version;
struct page;

/**
 * kvp_reload_alloc() - memory for destage to read spilled versions: 0 or -ENOMEM. May sleep.
 *
 * It fills the buffer's reserve of pages, too (kvp_wbuf_reserve()).
 *
 * kvp_reload_free() - free it, but not that reserve; @r may be NULL. Destage must not run.
 */
int __must_check kvp_reload_alloc(struct kvp_log *log, struct kvp_log_memory *m);
void kvp_reload_free(struct kvp_reload *r);

/** kvp_log_of_cache_spills() - kvp_spill() of a log on a cache */
bool kvp_log_of_cache_spills(struct kvp_log *log);

/**
 * struct kvp_spilled - the facts needed to read a spilled version
 * @block: of the pool
 * @lsn: place of its contents in the log
 * @crc: sum of the contents
 * @row: kvp_version.row
 */
struct kvp_spilled {
	kvp_block_t block;
	kvp_lsn_t lsn;
	u32 crc;
	u8 row;
};

/** kvp_spill_read_copies() - kvp_spill_read() from a cache in which each SSD has all of the log */
int __must_check kvp_spill_read_copies(struct kvp_log *log, const struct kvp_spilled *p,
					struct page *page, struct page *spare);

/**
 * kvp_spill_read_rows() - the same from a cache whose log lies in rows; makes the contents from the
 * row if need be
 */
int __must_check kvp_spill_read_rows(struct kvp_log *log, const struct kvp_spilled *p,
				     struct page *page, struct page *spare);

/**
 * kvp_spill_read() - read the contents of a spilled version
 * @page: private page that receives the contents
 * @spare: another one, or NULL: one is allocated if it is needed
 *
 * Caller holds the block's range lock, and has found the version in the buffer under it. Return: 0;
 * -EILSEQ: no SSD has the contents; -EIO: an SSD that may have them does not answer; -ENOMEM: try
 * again. Context: process, waits for I/O.
 */
int __must_check kvp_spill_read(struct kvp_log *log, const struct kvp_spilled *p,
				struct page *page, struct page *spare);

/**
 * kvp_reload() - give spilled versions pages again, with their contents; only if kvp_log_spills()
 * @versions: HOMING, in log order. Keeps the first ones, up to the first without a page
 * @lost: receives the first ones, if @versions keeps none, and no SSD has their contents any more
 * @rest: receives all others, in order
 *
 * Return: 0; -ENOMEM: @versions and @lost are empty, try again later; -EINTR: they are empty, and
 * an SSD does not answer while the log of a suspended pool is emptied. Then no version may be given
 * up, and the caller stops destage. Context: the destage worker; waits for I/O.
 */
int __must_check kvp_reload(struct kvp_log *log, struct list_head *versions,
			    struct list_head *lost, struct list_head *rest);

/**
 * kvp_reload_copies() - read the contents of spilled versions, which stay spilled
 * @of: @n of them. The caller makes sure that they do not go home, and are not dropped
 * @pages: receives a page for each, to be freed with kvp_wbuf_lone_page_free(); NULL: no SSD gave
 *	the contents
 *
 * Does not wait for an SSD that does not answer. Return: the number of versions that it asked for:
 * fewer than @n if pages or requests were short. Context: the destage worker, under
 * checkpoint_lock; waits for I/O.
 */
u32 kvp_reload_copies(struct kvp_log *log, struct kvp_version **of, struct page **pages, u32 n);

/** kvp_log_of_cache_read() - kvp_spilled_read() of a log on a cache */
struct kvp_spilled_read *kvp_log_of_cache_read(struct kvp_log *log, kvp_block_t block, u32 count,
					       kvp_block_t *end);

/**
 * kvp_spilled_page() - the contents of @block's version, if that is still the newest one
 *
 * Asking in order is fast. NULL: it was not read, it has changed meanwhile, or its contents do not
 * have its sum. The page stays until kvp_spilled_free(). Context: process.
 */
struct page *kvp_spilled_page(struct kvp_spilled_read *r, kvp_block_t block);

/** kvp_spilled_free() - @r may be NULL */
void kvp_spilled_free(struct kvp_spilled_read *r);

#endif /* KVP_SPILL_H */
