/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which blocks a RAM cache of reads keeps: S3-FIFO (Yang et al., "FIFO queues
 * are all you need for cache eviction", SOSP'23, section 4), with one access bit
 * and a small queue that adapts.
 *
 * A new block enters the small queue. If it comes to the end of it without having
 * been asked for again, it is evicted and leaves a fingerprint in the ghost;
 * otherwise it moves to the main queue, where each block that was hit gets another
 * round. A block whose fingerprint is still in the ghost enters the main queue at
 * once. So what is read once, a scan, passes through the small queue only, and a
 * hit changes no queue: it sets a bit.
 *
 * The paper's small queue has 10 % of the cache, which is too little where the hot
 * set changes often. Here it has 10 to 40 %, by the rule of ARC (Megiddo and Modha,
 * FAST'03): blocks evicted from main leave fingerprints too, and each ghost hit
 * makes the queue larger that the block was evicted from.
 *
 * A block is in a slot, a number below the capacity, and slots are linked by their
 * numbers. A queue is linked in one direction only. With that, a block costs at
 * most 28 bytes: 24 for its slot (the user's pointer to the page is in it), 2 for
 * the hash table, 1.8 for the ghost. The price is that removing a block from the
 * middle of a queue moves another one to its slot.
 *
 * Pure: no page, no lock, no clock, no random number, and no memory is allocated
 * but in kvp_s3_alloc(). Calls that change the cache must be made one at a time,
 * under a lock of the caller's that may be a spinlock; they are short, but for
 * kvp_s3_resize(). kvp_s3_find() and kvp_s3_hit() need no lock, and may run beside
 * everything. But the memory of a table that was replaced, and all that values
 * point to, must not be freed before readers that may have found it are done (RCU).
 */
#ifndef KVP_S3FIFO_H
#define KVP_S3FIFO_H

#include <linux/atomic.h>
#include <linux/build_bug.h>
#include <linux/types.h>

#define KVP_S3_NONE		(~0u)		/* no slot */
#define KVP_S3_KEY_BITS		48		/* a block's number: of 4 KiB, 1 EiB */
#define KVP_S3_MAX_CAPACITY	(1u << 26)	/* 256 GiB: kvcalloc() gives up to 2 GiB */
#define KVP_S3_WAYS		16
#define KVP_S3_BLOCK_BYTES	28		/* of memory for each block, at most */

/**
 * struct kvp_s3_slot - a place for one block
 * @tag: number of the block, queue, access bit, and a count of lives, in one word:
 *	so that a reader without the lock sees all of it or nothing
 * @value: the user's; for instance its page
 * @chain: next slot in the same bucket of the hash table
 * @next: next newer slot in the same queue, or next free one; by the lock
 */
struct kvp_s3_slot {
	atomic64_t tag;
	void *value;
	u32 chain;
	u32 next;
};

static_assert(sizeof(struct kvp_s3_slot) <= 24);

/**
 * struct kvp_s3_table - all that has the size of the capacity
 * @capacity: slots
 * @buckets: of the hash table: one for two slots
 * @sets: of the ghost: 0.9 fingerprints for a slot
 * @ghosts: fingerprints there are, of blocks evicted from small and from main
 * @slot: its slots
 * @bucket: first slot of each chain
 * @ghost: fingerprints, newest first; 0 is none
 */
struct kvp_s3_table {
	u32 capacity, buckets, sets;
	u32 ghosts[2];
	struct kvp_s3_slot *slot;
	u32 *bucket;
	u16 (*ghost)[KVP_S3_WAYS];
};

/** struct kvp_s3_queue - slots in order of insertion; the ends mean nothing while it is empty */
struct kvp_s3_queue {
	u32 oldest, newest, count;
};

/**
 * struct kvp_s3 - a cache; by the caller's lock, but readers load @table without it
 * @table: never NULL
 * @seed: of the hash, so that a user cannot choose blocks that share a bucket
 * @small: blocks that have not been asked for twice yet
 * @main: the others
 * @free: first of the free slots
 * @target: blocks that @small should have; while it has more, blocks are evicted from it
 */
struct kvp_s3 {
	struct kvp_s3_table *table;
	u64 seed;
	struct kvp_s3_queue small, main;
	u32 free;
	u32 target;
};

/** struct kvp_s3_block - a block that has left the cache; @value is NULL if none has */
struct kvp_s3_block {
	u64 key;
	void *value;
};

typedef void (*kvp_s3_drop_fn)(void *arg, const struct kvp_s3_block *block);

/**
 * kvp_s3_alloc() - memory for a cache of @capacity blocks; may be 0
 * @gfp: GFP_KERNEL, or GFP_NOIO where I/O may wait for the caller
 *
 * Return: for kvp_s3_resize(); NULL if there is no memory, or @capacity is over
 * KVP_S3_MAX_CAPACITY.
 * Context: may sleep. No lock.
 */
struct kvp_s3_table *kvp_s3_alloc(u32 capacity, gfp_t gfp);

/** kvp_s3_free() - of a table that no cache and no reader uses; NULL is allowed. May sleep. */
void kvp_s3_free(struct kvp_s3_table *t);

/** kvp_s3_bytes() - what kvp_s3_alloc() takes for @capacity blocks, values included */
u64 kvp_s3_bytes(u32 capacity);

/**
 * kvp_s3_init() - an empty cache of @capacity blocks
 * @seed: random
 * @gfp: as for kvp_s3_alloc()
 *
 * Return: 0, -EINVAL (over KVP_S3_MAX_CAPACITY) or -ENOMEM.
 * Context: may sleep. The caller is the only user of @c.
 */
int __must_check kvp_s3_init(struct kvp_s3 *c, u32 capacity, u64 seed, gfp_t gfp);

/**
 * kvp_s3_exit() - free its memory
 *
 * Blocks that are still there are forgotten. To free their values, take them out
 * with kvp_s3_evict() first.
 * Context: may sleep. @c must not be in use, by readers neither.
 */
void kvp_s3_exit(struct kvp_s3 *c);

/** kvp_s3_count() - blocks in the cache. Caller holds the lock. */
static inline u32 kvp_s3_count(const struct kvp_s3 *c)
{
	return c->small.count + c->main.count;
}

/** kvp_s3_lookup() - the slot of block @key, or KVP_S3_NONE. Caller holds the lock. */
u32 kvp_s3_lookup(const struct kvp_s3 *c, u64 key);

/** kvp_s3_value() - what was inserted into @slot, which is in use. Caller holds the lock. */
static inline void *kvp_s3_value(const struct kvp_s3 *c, u32 slot)
{
	return c->table->slot[slot].value;
}

/**
 * kvp_s3_find() - the value of block @key, without the lock
 * @slot: set to where it is, for kvp_s3_hit() and nothing else
 *
 * Return: the value, which was the block's at some moment of this call; or NULL.
 * NULL may be wrong, though rarely, when the chain changes again and again
 * meanwhile. A caller that takes a reference to the value must then find the same
 * value again: only that shows that it was not given to another block before.
 *
 * Context: any, under rcu_read_lock() or the lock.
 */
void *kvp_s3_find(const struct kvp_s3 *c, u64 key, u32 *slot);

/**
 * kvp_s3_hit() - the block in @slot was asked for
 *
 * Writes only if that is news, so a hot block's cache line stays shared. If the
 * slot has been given to another block meanwhile, that one gets the bit: no harm.
 *
 * Context: any, under rcu_read_lock() or the lock.
 */
void kvp_s3_hit(struct kvp_s3 *c, u32 slot);

/**
 * kvp_s3_insert() - block @key is in the cache from now on
 * @key: below 2^KVP_S3_KEY_BITS
 * @value: not NULL
 * @victim: set to what left the cache for it: a block that was evicted, or @key
 *	itself with its value before, if it was there already; or nothing
 *
 * Return: its slot, or KVP_S3_NONE if the capacity is 0.
 * Context: any. Caller holds the lock.
 */
u32 kvp_s3_insert(struct kvp_s3 *c, u64 key, void *value, struct kvp_s3_block *victim);

/**
 * kvp_s3_remove() - take the block in @slot out; it leaves nothing in the ghost
 *
 * Another block may move into @slot from its own, so numbers of slots that were
 * found before are void.
 *
 * Return: its value.
 * Context: any. Caller holds the lock.
 */
void *kvp_s3_remove(struct kvp_s3 *c, u32 slot);

/**
 * kvp_s3_evict() - make the cache smaller by one block, for a shrinker: from small, then from main
 *
 * Return: false if it is empty.
 * Context: any. Caller holds the lock.
 */
bool kvp_s3_evict(struct kvp_s3 *c, struct kvp_s3_block *victim);

/**
 * kvp_s3_resize() - go on with table @t, and with its capacity
 * @t: from kvp_s3_alloc()
 * @drop: called with each block that no longer fits, in the order of eviction
 *
 * Blocks keep their order and access bits; the ghost begins anew. Takes time for
 * each block. Under a spinlock, evict step by step before, and do not copy.
 *
 * Return: the old table, for kvp_s3_free() when no reader uses it any more.
 * Context: any. Caller holds the lock.
 */
struct kvp_s3_table *kvp_s3_resize(struct kvp_s3 *c, struct kvp_s3_table *t,
				   kvp_s3_drop_fn drop, void *arg);

/**
 * kvp_s3_check() - check that the cache is consistent. For tests; takes time for each slot.
 *
 * Every slot is on exactly one of the free list, small and main; what is on a queue
 * is found through the hash table and nothing else is; counts agree; the ghost and
 * the target are within their bounds.
 *
 * Return: NULL, or what is wrong.
 * Context: any. Caller holds the lock.
 */
const char *kvp_s3_check(const struct kvp_s3 *c);

#endif /* KVP_S3FIFO_H */
