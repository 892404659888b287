/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The RAM cache: pages of blocks that were read from home and verified, or that were written and
 * are home.
 *
 * s3fifo.h decides which blocks stay. This file has their pages, and it sees to it that a page that
 * is found is never out of date. Blocks have the numbers that the table uses.
 *
 * The table names the version of a block, unless the write buffer has a newer one. The rule: if a
 * block is in the cache and not in the buffer, then its page is the version that the table names. A
 * read asks the buffer first. So it gets the version that was the newest at some moment of the
 * read. The rule holds because
 *
 *   - every change of an entry forgets the block, or replaces its page by the contents that the
 *     entry names from now on. kvp_rcache_forget() and kvp_rcache_home_written() do that; the one
 *     place in table/ that changes entries calls them. The version leaves the buffer only after
 *     that;
 *   - a read that may bring a page takes a token before it looks where to read
 *     (kvp_rcache_token()). Its page is refused if the block was forgotten since
 *     (kvp_rcache_insert()). A count of changes decides that, not the sum in the entry: different
 *     contents may have the same sum, and an attacker may make some that do.
 *
 * Changes are counted for stretches of neighbouring blocks. Several stretches share a count. If a
 * page is refused because of another block, that costs a second read, no more.
 *
 * Readers take no lock. They find the page under RCU and take a reference to it, as readers of the
 * page cache do. Then they look whether it still belongs to the block. So a reader can copy from a
 * page while it is evicted. As soon as there is no reference, the page can be used again or given
 * back to the kernel. With RCU alone, each page would wait for a grace period. Then a cache that is
 * filled fast would hold thousands of useless pages, and a shrinker would free nothing now.
 *
 * Pages are allocated one by one. When its block is evicted, a page is used again for the next
 * block. So a full cache allocates nothing. Nor does the kernel clear anything then, which clears
 * the pages that it gives.
 */
#ifndef KVP_RCACHE_H
#define KVP_RCACHE_H

#include <linux/atomic.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>

#include "core/stats.h"
#include "format/format.h"
#include "policy/s3fifo.h"

struct kvp_version;
struct kvp_stats;
struct page;

#define KVP_RCACHE_SHARDS	16
#define KVP_RCACHE_STRETCH_SHIFT	4
#define KVP_RCACHE_STRETCH	(1u << KVP_RCACHE_STRETCH_SHIFT)	/* blocks */
#define KVP_RCACHE_COUNT_BITS	12

/**
 * struct kvp_rshard - the blocks of one in sixteen stretches
 * @lock: irqsave; protects everything here, and @held of its stretches' counts
 * @spare: free page for the next block, or NULL
 */
struct kvp_rshard {
	spinlock_t lock;
	struct kvp_s3 s3;
	struct page *spare;
} ____cacheline_aligned_in_smp;

/**
 * struct kvp_rcount - counts of the stretches that share it
 * @changes: number of times that one of their blocks was forgotten; may wrap
 * @held: number of their blocks that are in the cache; by the shard's lock, read without it
 */
struct kvp_rcount {
	atomic_t changes;
	u32 held;
};

/**
 * struct kvp_rcache - a RAM cache; it knows no pool
 * @stats: counts fills, and written blocks
 * @blocks: capacity in blocks, 0: none; by @resize_lock, read without it
 * @next: the shard that the shrinker tries first; any value is right
 */
struct kvp_rcache {
	struct kvp_rshard shards[KVP_RCACHE_SHARDS];
	struct kvp_rcount counts[1 << KVP_RCACHE_COUNT_BITS];
	struct mutex resize_lock;
	struct kvp_stats __percpu *stats;
	u64 blocks;
	u32 next;
};

/**
 * kvp_rcache_init() - begin without capacity; kvp_rcache_resize() gives it some. Return: 0 or
 * -ENOMEM. Counts in @stats.
 */
int __must_check kvp_rcache_init(struct kvp_rcache *rc, struct kvp_stats __percpu *stats);

/**
 * kvp_rcache_exit() - free everything
 *
 * There are no reads any more. Works also after an init that failed, or without one.
 */
void kvp_rcache_exit(struct kvp_rcache *rc);

/**
 * kvp_rcache_resize() - change the capacity to @blocks, rounded down to the number of shards
 *
 * Keeps the pages that were used last, up to 1 GiB. Return: 0; -ENOMEM: nothing was changed, as
 * memory is short, or the machine has less than that. Context: process, may sleep; allocates with
 * GFP_NOIO.
 */
int kvp_rcache_resize(struct kvp_rcache *rc, u64 blocks);

/** kvp_rcache_drop() - forget every block, and free the pages. Context: process. */
void kvp_rcache_drop(struct kvp_rcache *rc);

/**
 * kvp_rcache_shrink() - free up to @nr pages. Return: how many. Any context: it only tries locks,
 * and allocates nothing.
 */
u32 kvp_rcache_shrink(struct kvp_rcache *rc, u32 nr);

/**
 * kvp_rcache_bytes() - bytes of memory of the cache: pages in use, and tables
 *
 * Any context; takes no lock.
 */
u64 kvp_rcache_bytes(const struct kvp_rcache *rc);

/** kvp_rcache_used() - pages in use. Any context; takes no lock. */
u64 kvp_rcache_used(const struct kvp_rcache *rc);

/** kvp_rcache_enabled() - true if the cache has a capacity. Any context. */
static inline bool kvp_rcache_enabled(const struct kvp_rcache *rc)
{
	return READ_ONCE(rc->blocks);
}

/** kvp_rcache_capacity() - blocks that it may hold. Any context. */
static inline u64 kvp_rcache_capacity(const struct kvp_rcache *rc)
{
	return READ_ONCE(rc->blocks);
}

/**
 * kvp_rcache_get() - the page of @block, or NULL
 *
 * Ask the buffer first. The page does not change until kvp_rcache_put(), though it may be evicted.
 * Context: any; takes no lock.
 */
struct page *kvp_rcache_get(struct kvp_rcache *rc, kvp_block_t block);
void kvp_rcache_put(struct page *page);

/**
 * kvp_rcache_token() - take a token, to admit some of @count blocks at @block later
 * @count: at most KVP_RCACHE_STRETCH
 *
 * Take it before any other look: before the SSD cache is asked where the blocks lie, before they
 * are read, and before the entries are read to verify them against. Context: any; takes no lock.
 */
u32 kvp_rcache_token(const struct kvp_rcache *rc, kvp_block_t block, u32 count);

/**
 * struct kvp_rfill - the read that brings a block
 * @first, @count: blocks of the read
 * @token: taken before the read
 * @favoured: its blocks enter as if they had been hit
 */
struct kvp_rfill {
	kvp_block_t first;
	u32 count, token;
	bool favoured;
};

/**
 * kvp_rcache_page() - get a page to read @block into; NULL: do without
 *
 * The caller copies the block to this page and verifies it there, not where it was copied from
 * (R23). Then it passes the page to kvp_rcache_insert() or kvp_rcache_unpage(). Context: any.
 */
struct page *kvp_rcache_page(struct kvp_rcache *rc, kvp_block_t block);

/**
 * kvp_rcache_insert() - keep @page, which holds @block, verified, unless the block was forgotten
 * since the token was taken
 *
 * Takes over the page in either case. Context: any.
 */
void kvp_rcache_insert(struct kvp_rcache *rc, kvp_block_t block, struct page *page,
		       const struct kvp_rfill *fill);

/** kvp_rcache_unpage() - free a page whose contents do not verify. Context: any. */
void kvp_rcache_unpage(struct kvp_rcache *rc, kvp_block_t block, struct page *page);

/**
 * kvp_rcache_forget() - the table's entry of @block has changed
 *
 * Call it after that change, and before the version that the entry names leaves the buffer. Changes
 * are not counted while the cache is off: switching it on makes all tokens void. Context: any.
 */
void kvp_rcache_forget(struct kvp_rcache *rc, kvp_block_t block);

/**
 * kvp_rcache_forget_range() - the same for @count blocks from @block on, whose entries have all
 * changed
 *
 * Changes are counted for KVP_RCACHE_STRETCH blocks at once. So this costs as much for all of them
 * as for one, if none is in the cache. Context: any.
 */
void kvp_rcache_forget_range(struct kvp_rcache *rc, kvp_block_t block, u32 count);

/**
 * kvp_rcache_home_written() - the entry of @d's block has changed: it names @d, which is home
 *
 * Call it instead of kvp_rcache_forget(), and at the same moment. Then a copy of @d's page is in
 * the cache. If the block was there, it keeps its place, and counts as asked for once more. Else it
 * enters like a miss. But the block is only forgotten if @d is zeros, or there is no memory. The
 * same holds if @d went home by intent, since it is then part of a long write or of a stream.
 *
 * Context: process; does not sleep. Caller holds the table's lock, under which it has changed the
 * entry. It holds the block's range lock until @d has left the buffer.
 */
void kvp_rcache_home_written(struct kvp_rcache *rc, const struct kvp_version *d);

/** kvp_rcache_check() - for tests: NULL, or an error text. The cache must not be in use. */
const char *kvp_rcache_check(struct kvp_rcache *rc);

#endif /* KVP_RCACHE_H */
