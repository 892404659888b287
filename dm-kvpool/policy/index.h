/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where on the SSD cache the newest logged version of each block lies.
 *
 * A place is a number of a 4 KiB block of the cache. The index has one slot for each
 * place, and the slot's number is the place: so a place costs no bits, the live blocks
 * of a segment are found by looking at the slots of its places, and there is memory for
 * every block that the cache could hold before it is written. An insert cannot fail for
 * want of memory: what can fail is kvp_index_grow(), which must have made the slots of
 * a segment before the log opens it.
 *
 * From block to place it is a hash table of chains. Slots hold the block's whole number,
 * never a part of a hash, so an answer is the block's own or there is none. What the
 * place then holds has to match the slot's crc32c before any code may use it (R26).
 *
 * The table grows by linear hashing (Litwin, VLDB'80): a new chunk of slots brings a
 * quarter as many buckets, and each of these takes its blocks from one older bucket.
 * Nothing else moves, so no caller waits for longer than for one chain.
 *
 * Memory: 14 bytes for a slot and 1 for its quarter of a bucket, whatever the cache
 * holds. With what vmalloc() needs for a chunk, the pointer to it, and the locks, it is
 * 15.1; kvp_index_bytes() counts. 4096 places (16 MiB) are the least that can be added.
 *
 * Locks: each operation takes one spinlock, that of its block's stripe, for the time of
 * a walk along one chain, and no other; buckets that are split from one another belong
 * to the same stripe. A hit costs an access to the SSD, beside which an uncontended lock
 * is nothing, and readers that need no lock would need a word of 16 bytes to be read at
 * once. An operation that names a place does nothing if the block is no longer there. So
 * after reading, destaging or copying a version, the caller finds out whether it has been
 * superseded. All this keeps the index whole. The caller decides, under the block's lock,
 * which version of a block is its newest.
 *
 * No interrupt may use it. No I/O; memory is allocated in kvp_index_init() and
 * kvp_index_grow() only.
 */
#ifndef KVP_INDEX_H
#define KVP_INDEX_H

#include <linux/atomic.h>
#include <linux/build_bug.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "format/format.h"

#define KVP_INDEX_KEY_BITS	42		/* a block's number: of 4 KiB, 16 PiB */
#define KVP_INDEX_CHUNK		4096u		/* places that come and go together: 16 MiB */
#define KVP_INDEX_BUCKETS	(KVP_INDEX_CHUNK / 4)
#define KVP_INDEX_MAX_PLACES	(1u << 31)	/* 8 TiB */
#define KVP_INDEX_MAX_HITS	3
#define KVP_INDEX_PLACE_BYTES	16		/* of memory for each place, at most */

/**
 * struct kvp_index_chunk - slots of some places, and as many buckets as they bring
 * @bucket: first place of each chain
 * @next: the next one of the same chain
 * @crc: of the block's data
 * @key: low bits of the block's number
 * @rest: its high bits, and flags; 0 is a place that holds no block's newest version
 *
 * All by the lock of the block's stripe. A slot that is in no chain belongs to the caller
 * that is about to write its place. @key and @rest are also read without a lock, as a
 * hint that is then verified.
 */
struct kvp_index_chunk {
	u32 bucket[KVP_INDEX_BUCKETS];
	u32 next[KVP_INDEX_CHUNK];
	u32 crc[KVP_INDEX_CHUNK];
	u32 key[KVP_INDEX_CHUNK];
	u16 rest[KVP_INDEX_CHUNK];
};

static_assert(sizeof(struct kvp_index_chunk) == 15 * 4096);	/* whole pages */

/** struct kvp_index_count - blocks in the index: all, and of these dirty ones, and metadata */
struct kvp_index_count {
	u64 live, dirty, meta;
};

/** struct kvp_index_stripe - a lock, and how many of its blocks there are; the sum may wrap */
struct kvp_index_stripe {
	spinlock_t lock;
	u32 live, dirty, meta;
};

/**
 * struct kvp_index - an index
 * @most: places that there may ever be
 * @places: that there are: changed by kvp_index_grow()
 * @buckets: that there are: changed under the lock of the bucket that is added
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
 * @crc: of its data
 * @hits: how often it was hit since it is there; at most KVP_INDEX_MAX_HITS
 * @dirty: home has an older version: this is the only good one
 * @meta: it is metadata of a file system, or urgent (REQ_META, REQ_PRIO)
 * @old: it was written there before the pool was started, and may not be the newest (rebuild.h)
 */
struct kvp_index_entry {
	u64 key;
	u32 place, crc;
	u8 hits;
	bool dirty, meta, old;
};

/**
 * kvp_index_init() - an index that is empty, with one chunk of places
 * @most: places that there may ever be; the pointers to their chunks are allocated here
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
 * kvp_index_grow() - KVP_INDEX_CHUNK more places
 *
 * To be called until @ix->places covers a segment, before the log opens it. If there is
 * no memory, nothing has changed, and the log can go on with the segments it has.
 *
 * Return: 0, -ENOSPC (there are @ix->most) or -ENOMEM.
 * Context: may sleep, as kvp_index_init(). Not beside another kvp_index_grow(); beside
 * everything else.
 */
int kvp_index_grow(struct kvp_index *ix);

/** kvp_index_bytes() - memory that an index of @places takes, when it may grow to @most */
u64 kvp_index_bytes(u32 places, u32 most);

/** kvp_index_count() - blocks; exact if the index does not change meanwhile. Takes each lock. */
void kvp_index_count(struct kvp_index *ix, struct kvp_index_count *sum);

/**
 * kvp_index_find() - what is known of block @key
 *
 * Return: true, and @e as it was at one moment of this call; false if there was nothing.
 * The place may have been given to another block by the time it is read, unless the
 * caller holds the block's lock or keeps its segment from being reclaimed; then the data
 * does not match @e->crc, and the caller begins anew.
 * Context: any but interrupt.
 */
bool kvp_index_find(struct kvp_index *ix, u64 key, struct kvp_index_entry *e);

/**
 * kvp_index_set() - @e is the newest version of block @e->key
 * @e: as it shall be found. @e->place must be free, a place of @ix that holds no block, or be its own: a
 *	summary may know of a version what a recovery, with an older superblock, brings home once more
 * @old: set to what it supersedes, whose place is free now
 *
 * Return: 1 if there was an older version, 0 if not; -EINVAL if @e cannot be a block of
 * @ix, -EEXIST if its place is not free: then nothing was changed, and the caller is wrong.
 * Context: any but interrupt. For what is dirty the caller holds the block's lock.
 */
int __must_check kvp_index_set(struct kvp_index *ix, const struct kvp_index_entry *e,
			       struct kvp_index_entry *old);

/**
 * kvp_index_fill() - as kvp_index_set(), but only if nothing is known of the block
 *
 * For what was read from home. If something was written meanwhile that is not in the index
 * yet, this would come too early: so the caller holds the block's lock, and has made sure
 * that its version is the one that was read (R4).
 *
 * Return: 0; -EEXIST if the block is in the index, or the place is not free; -EINVAL.
 * Context: any but interrupt.
 */
int __must_check kvp_index_fill(struct kvp_index *ix, const struct kvp_index_entry *e);

/**
 * kvp_index_fill_unless() - kvp_index_fill(), unless a change of the block was counted
 * @changes: a count that grows before a change of the block calls kvp_index_remove()
 * @seen: what it was before the block was read
 *
 * The count is read under the block's lock: either this sees the change, or the change finds the
 * block in the index. So the caller need not hold a lock.
 *
 * Return: as kvp_index_fill(); -ESTALE: it is not @seen any more.
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
 * Return: as kvp_index_move(); -ESTALE: it is not @seen any more.
 */
int __must_check kvp_index_move_unless(struct kvp_index *ix, u64 key, u32 from, u32 to,
				       const atomic_t *changes, u32 seen);

/**
 * kvp_index_remove() - nothing is known of block @key any more
 * @old: set to what was
 *
 * Return: was there anything?
 * Context: any but interrupt.
 */
bool kvp_index_remove(struct kvp_index *ix, u64 key, struct kvp_index_entry *old);

/** kvp_index_remove_at() - the same, but only if it is at @place. Return: was it? */
bool kvp_index_remove_at(struct kvp_index *ix, u64 key, u32 place);

/** kvp_index_clean() - what is at @place is durable at home. Return: is it still the newest? */
bool kvp_index_clean(struct kvp_index *ix, u64 key, u32 place);

/** kvp_index_hit() - block @key was read from @place; if it is there no more, no harm */
void kvp_index_hit(struct kvp_index *ix, u64 key, u32 place);

/**
 * kvp_index_next() - the blocks of a segment, one after another
 * @place: where to begin; set to that of the block
 * @end: where the segment ends
 *
 * Blocks that are there from before the first call to the last are all reported, and
 * nothing is that was never there.
 *
 * Return: false if there is none up to @end.
 * Context: any but interrupt.
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
