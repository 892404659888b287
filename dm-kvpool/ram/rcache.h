/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The RAM cache: pages of blocks that were read from home and verified, or were written and are
 * home.
 *
 * s3fifo.h decides which blocks stay. This file has their pages, and the reason why a page that is
 * found is never out of date. Blocks have the numbers that the table uses.
 *
 * The table names the version of a block, unless the write buffer has a newer one. The rule: if a
 * block is in the cache and not in the buffer, then its page is the version that the table names. A
 * read asks the buffer first, so it gets the version that was the newest at some moment of the
 * read. The rule holds because
 *
 *   - every change of an entry forgets the block, or replaces its page by the contents that the
 *     entry names from now on (kvp_rcache_forget() and kvp_rcache_came_home(), called from the one
 *     place in table.c that changes entries). The version leaves the buffer only after that;
 *   - a read that may fill the cache takes a token before it reads the disk (kvp_rcache_token()).
 *     Its page is refused if the block was forgotten since (kvp_rcache_insert()). A count of
 *     changes decides that, not the sum in the entry: different contents may have the same sum, and
 *     may be made to.
 *
 * Counts are kept for regions of neighbouring blocks, several regions to a count. If a fill is
 * refused because of another block, that costs a second read, no more.
 *
 * Readers take no lock. They find the page under RCU and take a reference to it, as readers of the
 * page cache do, then look whether it still belongs to the block. So a reader can copy from a page
 * while it is evicted. As soon as there is no reference, the page can be filled anew or given back
 * to the kernel. With RCU alone each would wait for a grace period: a cache that is filled fast
 * would hold thousands of useless pages, and a shrinker would free nothing now.
 *
 * Pages are single ones. When its block is evicted, a page is used again for the next block. So a
 * full cache allocates nothing (and the kernel, which clears pages that it gives, clears nothing).
 */
#ifndef KVP_RCACHE_H
#define KVP_RCACHE_H

#include <linux/atomic.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>

#include "format/format.h"
#include "policy/s3fifo.h"

struct kvp_version;
struct kvp_pool;
struct page;

#define KVP_RCACHE_SHARDS	16
#define KVP_RCACHE_REGION_SHIFT	4
#define KVP_RCACHE_REGION	(1u << KVP_RCACHE_REGION_SHIFT)	/* blocks */
#define KVP_RCACHE_COUNT_BITS	12

/**
 * struct kvp_rshard - the blocks of one in sixteen regions
 * @lock: irqsave; for everything here, and @held of its regions' counts
 * @spare: free page for the next fill, or NULL
 */
struct kvp_rshard {
	spinlock_t lock;
	struct kvp_s3 s3;
	struct page *spare;
} ____cacheline_aligned_in_smp;

/**
 * struct kvp_rcount - counts of the regions that share it
 * @changes: how often one of their blocks was forgotten; may wrap
 * @held: blocks that are in the cache; by the shard's lock, read without it
 */
struct kvp_rcount {
	atomic_t changes;
	u32 held;
};

/**
 * struct kvp_rcache - the RAM cache of a pool
 * @blocks: capacity, 0 for none; by @resize_lock, read without it
 * @next: shard that the shrinker tries first; any value will do
 */
struct kvp_rcache {
	struct kvp_rshard shards[KVP_RCACHE_SHARDS];
	struct kvp_rcount counts[1 << KVP_RCACHE_COUNT_BITS];
	struct mutex resize_lock;
	u64 blocks;
	u32 next;
};

/** kvp_rcache_init() - begin without capacity; kvp_rcache_resize() gives it some. 0 or -ENOMEM. */
int __must_check kvp_rcache_init(struct kvp_pool *pool);

/**
 * kvp_rcache_exit() - free all; there are no reads any more. Also after an init that failed, or
 * without one.
 */
void kvp_rcache_exit(struct kvp_pool *pool);

/**
 * kvp_rcache_resize() - change the capacity to @blocks, rounded down to the number of shards
 *
 * Keeps the pages that were used last, up to 1 GiB. Return: 0, or -ENOMEM (also for more than the
 * machine has): nothing was changed. Context: process, may sleep; allocates with GFP_NOIO.
 */
int kvp_rcache_resize(struct kvp_pool *pool, u64 blocks);

/** kvp_rcache_drop() - forget every block, and free the pages. Context: process. */
void kvp_rcache_drop(struct kvp_pool *pool);

/** kvp_rcache_shrink() - free up to @nr pages; returns how many. Tries locks, allocates nothing. */
u32 kvp_rcache_shrink(struct kvp_pool *pool, u32 nr);

/**
 * kvp_rcache_bytes() - memory of the cache: pages in use, and tables. Any context; takes no lock.
 */
u64 kvp_rcache_bytes(const struct kvp_pool *pool);

/** kvp_rcache_used() - pages in use. Any context; takes no lock. */
u64 kvp_rcache_used(const struct kvp_pool *pool);

/** kvp_rcache_enabled() - true if the cache has a capacity */
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
 * Ask the buffer first. The page does not change until kvp_rcache_put(), though
 * it may be evicted. Context: any; no lock.
 */
struct page *kvp_rcache_get(struct kvp_pool *pool, kvp_block_t block);
void kvp_rcache_put(struct page *page);

/**
 * kvp_rcache_token() - take a token for a fill of some of @count blocks at @block
 * @count: at most KVP_RCACHE_REGION
 *
 * Take it before reading the blocks from home, and before reading the entries to verify them
 * against. Context: any; no lock.
 */
u32 kvp_rcache_token(const struct kvp_pool *pool, kvp_block_t block, u32 count);

/**
 * struct kvp_rfill - the read that brings a block: its blocks, the token taken before it, and
 * whether it is favoured
 */
struct kvp_rfill {
	kvp_block_t first;
	u32 count, token;
	bool favoured;		/* enters as if it had been hit */
};

/**
 * kvp_rcache_page() - get a page to read @block into; NULL: do without
 *
 * The caller verifies the contents of this page, not those that it was copied from (R23), and
 * passes it to kvp_rcache_insert() or kvp_rcache_unpage(). Context: any.
 */
struct page *kvp_rcache_page(struct kvp_pool *pool, kvp_block_t block);

/**
 * kvp_rcache_insert() - the page holds @block, verified: keep it, unless the block was forgotten
 * since
 */
void kvp_rcache_insert(struct kvp_pool *pool, kvp_block_t block, struct page *page,
		       const struct kvp_rfill *fill);

/** kvp_rcache_unpage() - the page does not verify: free it */
void kvp_rcache_unpage(struct kvp_pool *pool, kvp_block_t block, struct page *page);

/**
 * kvp_rcache_forget() - the table's entry of @block has changed
 *
 * Call it after that, and before the version that the entry names leaves the buffer. Switching the
 * cache on makes all tokens void, so changes are not counted while it is off. Context: any.
 */
void kvp_rcache_forget(struct kvp_pool *pool, kvp_block_t block);

/**
 * kvp_rcache_forget_range() - the same for @count blocks from @block on, all entries of which have
 * changed
 *
 * Changes are counted for KVP_RCACHE_REGION blocks at once, so this costs as much for all of those
 * as for one, if none is held. Context: any.
 */
void kvp_rcache_forget_range(struct kvp_pool *pool, kvp_block_t block, u32 count);

/**
 * kvp_rcache_came_home() - the entry of @d's block has changed: it names @d, which is home
 *
 * Instead of kvp_rcache_forget(), and at the same moment. Then a copy of @d's page is in the cache.
 * If the block was there, it keeps its place, and counts as asked for once more; else it enters
 * like a miss. If @d went home by intent (it is long, or part of a stream), or is zeros, or there
 * is no memory, the block is forgotten.
 *
 * Context: process; does not sleep. Caller holds the table's lock, under which it has changed the
 * entry, and the block's range lock until @d has left the buffer.
 */
void kvp_rcache_came_home(struct kvp_pool *pool, const struct kvp_version *d);

/** kvp_rcache_check() - for tests: NULL, or an error text. The cache must not be in use. */
const char *kvp_rcache_check(struct kvp_pool *pool);

#endif /* KVP_RCACHE_H */
