/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where on the SSD cache the newest logged version of each block lies.
 *
 * A place is the number of a 4 KiB block of the cache. The index has one slot for each place, and
 * the slot's number is the place. So a place costs no bits. The live blocks of a segment are found
 * in the slots of its places. The memory for a block exists before the cache holds the block, so
 * an insert cannot fail for want of memory. Only kvp_index_grow() can fail. It must have made the
 * slots of a segment before the log opens that segment.
 *
 * A hash table of chains leads from a block to its place. A slot has the whole number of its
 * block, not a part of a hash. So a lookup finds the block itself or nothing. The data at the
 * place must match the slot's crc32c before any code may use it (R26).
 *
 * The table grows by linear hashing (Litwin, VLDB'80). A new slot chunk brings a quarter as
 * many buckets. Each of these takes its blocks from one older bucket, and nothing else moves. So
 * no caller waits for longer than for one chain.
 *
 * Memory: 14 bytes for a slot and 1 for its quarter of a bucket, whatever the cache holds. With
 * vmalloc()'s own memory, the pointer to the slot chunk, and the locks, it is 15.1
 * (kvp_index_bytes()).
 * The least that can be added is 4096 places (16 MiB).
 *
 * Locks: each operation takes one spinlock, that of its block's stripe, for a walk along one
 * chain. It takes no other. Buckets that were split from one another belong to the same stripe. A
 * hit costs an access to the SSD, and an uncontended lock is nothing beside that. Readers without
 * a lock would have to read 16 bytes at once. An operation that names a place does nothing if the
 * block is no longer there. So after reading, destaging or copying a version, the caller finds out
 * whether it has been superseded. All this keeps the index whole. The caller decides, under the
 * block's lock, which version of a block is its newest.
 *
 * No interrupt may use it. No I/O. Only kvp_index_init() and kvp_index_grow() allocate memory.
 */
#ifndef KVP_INDEX_H
#define KVP_INDEX_H

#include <linux/atomic.h>
#include <linux/build_bug.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "format/format.h"

#define KVP_INDEX_KEY_BITS	42		/* bits of a block's number: 16 PiB */
#define KVP_INDEX_CHUNK		4096u		/* places that come and go together: 16 MiB */
#define KVP_INDEX_BUCKETS	(KVP_INDEX_CHUNK / 4)
#define KVP_INDEX_MAX_PLACES	(1u << 31)	/* 8 TiB */
#define KVP_INDEX_MAX_HITS	3
#define KVP_INDEX_PLACE_BYTES	16		/* of memory for each place, at most */

/**
 * struct kvp_index_chunk - a slot chunk: slots of some places, and the buckets that they bring
 * @bucket: first place of each chain
 * @next: the next place of the same chain
 * @crc: sum of the block's data
 * @key: low bits of the block's number
 * @rest: its high bits, and flags; 0: the place holds no block's newest version
 *
 * All by the lock of the block's stripe. A slot that is in no chain belongs to the caller that is
 * about to write its place. @key and @rest are also read without a lock, as a hint that is
 * verified then.
 */
struct kvp_index_chunk {
	u32 bucket[KVP_INDEX_BUCKETS];
	u32 next[KVP_INDEX_CHUNK];
	u32 crc[KVP_INDEX_CHUNK];
	u32 key[KVP_INDEX_CHUNK];
	u16 rest[KVP_INDEX_CHUNK];
};

static_assert(sizeof(struct kvp_index_chunk) == 15 * 4096);	/* whole pages */

/** struct kvp_index_count - blocks in the index: all of them, the dirty ones, and metadata */
struct kvp_index_count {
	u64 live, dirty, meta;
};

/** struct kvp_index_stripe - a lock, and the number of blocks under it; the sum may wrap */
struct kvp_index_stripe {
	spinlock_t lock;
	u32 live, dirty, meta;
};

/**
 * struct kvp_index - an index
 * @most: the largest number of places that it may have
 * @places: its places; kvp_index_grow() changes it
 * @buckets: its buckets; changed under the lock of the bucket that is added
 * @stripe_mask: stripes, less one; a power of two, not above KVP_INDEX_BUCKETS
 * @seed: of the hash, so that a user cannot choose blocks that share a bucket
 * @chunk: by place / KVP_INDEX_CHUNK; once set, it stays
 * @stripe: by the low bits of a block's hash
 */
struct kvp_index {
	u32 most, places, buckets, stripe_mask;
	u64 seed;
	struct kvp_index_chunk **chunk;
	struct kvp_index_stripe *stripe;
};

/**
 * struct kvp_index_entry - what the index says of a block
 * @key: number of the block, below 2^KVP_INDEX_KEY_BITS
 * @place: where it lies
 * @crc: sum of its data
 * @hits: hits since it came to this place; at most KVP_INDEX_MAX_HITS
 * @dirty: home has an older version: this is the only good one
 * @meta: it is metadata of a file system, or urgent (REQ_META, REQ_PRIO)
 * @old: it was written before the pool was started, and may not be the newest (rebuild.h)
 */
struct kvp_index_entry {
	u64 key;
	u32 place, crc;
	u8 hits;
	bool dirty, meta, old;
};

/**
 * kvp_index_init() - an index that is empty, with one slot chunk
 * @most: places that there may ever be; the pointers to their slot chunks are allocated here
 * @seed: random
 *
 * Return: 0, -EINVAL (@most is 0 or over KVP_INDEX_MAX_PLACES) or -ENOMEM.
 * Context: may sleep, and allocates with GFP_KERNEL: where I/O may wait for the caller,
 * in a memalloc_noio_save() section. The caller is the only user of @ix.
 */
int __must_check kvp_index_init(struct kvp_index *ix, u32 most, u64 seed);

/** kvp_index_exit() - free its memory. May sleep. @ix must not be in use. */
void kvp_index_exit(struct kvp_index *ix);

/**
 * kvp_index_grow() - add KVP_INDEX_CHUNK places
 *
 * Call it until @ix->places covers a segment, before the log opens that segment. If there is no
 * memory, nothing changes, and the log can go on with the segments that it has.
 *
 * Return: 0, -ENOSPC (there are @ix->most) or -ENOMEM. Context: may sleep, as kvp_index_init().
 * Not beside another kvp_index_grow(); beside everything else.
 */
int kvp_index_grow(struct kvp_index *ix);

/** kvp_index_bytes() - memory of an index of @places that may grow to @most */
u64 kvp_index_bytes(u32 places, u32 most);

/**
 * kvp_index_count() - count blocks; exact if the index does not change meanwhile. Takes each lock.
 */
void kvp_index_count(struct kvp_index *ix, struct kvp_index_count *sum);

/**
 * kvp_index_find() - look block @key up
 *
 * Return: true, and @e as it was at one moment of this call; false if the index has no such block.
 * The place may belong to another block by the time it is read, unless the caller holds the
 * block's lock or keeps its segment from being reclaimed. Then the data does not match @e->crc,
 * and the caller begins anew. Context: any but interrupt.
 */
bool kvp_index_find(struct kvp_index *ix, u64 key, struct kvp_index_entry *e);

/**
 * kvp_index_set() - @e is the newest version of block @e->key
 * @e: the entry. @e->place must be a free place of @ix, which holds no block, or the block's own
 *	place. The latter happens in a recovery with an older superblock: it brings a version home
 *	once more that a summary names
 * @old: set to the entry that it supersedes, whose place is free now
 *
 * Return: 1 if there was an older version, 0 if not; -EINVAL if @e cannot be a block of @ix,
 * -EEXIST if its place is not free. Then nothing has changed, and the caller is wrong. Context:
 * any but interrupt. For a dirty block the caller holds the block's lock.
 */
int __must_check kvp_index_set(struct kvp_index *ix, const struct kvp_index_entry *e,
			       struct kvp_index_entry *old);

/**
 * kvp_index_fill() - as kvp_index_set(), but only if the index does not have the block
 *
 * For a block that was read from home. A newer version may have been written that is not in the
 * index yet. So the caller holds the block's lock, and has made sure that its version is the one
 * that was read (R4).
 *
 * Return: 0; -EEXIST if the block is in the index, or the place is not free; -EINVAL. Context: any
 * but interrupt.
 */
int __must_check kvp_index_fill(struct kvp_index *ix, const struct kvp_index_entry *e);

/**
 * kvp_index_fill_unless() - kvp_index_fill(), unless a change of the block was counted
 * @changes: a count that grows before the caller that changes the block calls kvp_index_remove()
 * @seen: the count before the block was read
 *
 * The count is read under the stripe's lock. Either this function sees the change, or the change
 * finds the block in the index. So the caller need not hold a lock.
 *
 * Return: as kvp_index_fill(); -ESTALE: the count is not @seen any more.
 */
int __must_check kvp_index_fill_unless(struct kvp_index *ix, const struct kvp_index_entry *e,
				       const atomic_t *changes, u32 seen);

/**
 * kvp_index_move() - block @key has been copied from place @from to place @to
 *
 * Its hits are forgotten, so that it has to be hit again to be copied once more. The copier has
 * made sure that it is the newest version, so it does not count as old any more.
 *
 * Return: 0; -ENOENT if the newest version is no longer at @from; -EEXIST if @to is not free;
 * -EINVAL if it is no place. On error nothing has changed.
 * Context: any but interrupt.
 */
int __must_check kvp_index_move(struct kvp_index *ix, u64 key, u32 from, u32 to);

/**
 * kvp_index_move_unless() - kvp_index_move(), unless a change of the block was counted
 * @changes, @seen: as of kvp_index_fill_unless()
 *
 * Return: as kvp_index_move(); -ESTALE: the count is not @seen any more.
 */
int __must_check kvp_index_move_unless(struct kvp_index *ix, u64 key, u32 from, u32 to,
				       const atomic_t *changes, u32 seen);

/**
 * kvp_index_remove() - forget block @key
 * @old: set to its entry
 *
 * Return: true if the index had the block. Context: any but interrupt.
 */
bool kvp_index_remove(struct kvp_index *ix, u64 key, struct kvp_index_entry *old);

/** kvp_index_remove_at() - the same, but only if the block is at @place. Return: true if it was. */
bool kvp_index_remove_at(struct kvp_index *ix, u64 key, u32 place);

/**
 * kvp_index_clean() - the block at @place is durable at home. Return: true if it is still the
 * newest.
 */
bool kvp_index_clean(struct kvp_index *ix, u64 key, u32 place);

/**
 * kvp_index_hit() - block @key was read from @place; nothing happens if it is not there any more
 */
void kvp_index_hit(struct kvp_index *ix, u64 key, u32 place);

/**
 * kvp_index_next() - walk over the blocks of a segment
 * @place: where to begin; set to the place of the block
 * @end: where the segment ends
 *
 * The walk reports each block that is there from before the first call until after the last one.
 * It reports no block that was never there.
 *
 * Return: false if there is none up to @end. Context: any but interrupt.
 */
bool kvp_index_next(struct kvp_index *ix, u32 *place, u32 end, struct kvp_index_entry *e);

/**
 * kvp_index_check() - check that the index is consistent. For tests; takes time for each place.
 *
 * Return: NULL, or what is wrong.
 * Context: @ix must not change meanwhile.
 */
const char *kvp_index_check(struct kvp_index *ix);

#endif /* KVP_INDEX_H */
