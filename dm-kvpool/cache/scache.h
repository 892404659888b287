/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The SSD cache as a cache of reads. Logged blocks stay on the SSDs after they have been written
 * home and have left the write buffer. They can be read there until the log comes round to them.
 *
 * index.h knows the place of each such block. The table names the newest version of a block, unless
 * the write buffer has a newer one. The rule is that of the RAM cache (rcache.h): if a block is in
 * the index and not in the buffer, then its place holds the version that the table names. It holds
 * because
 *
 *   - a block enters when it has been written home, after its entry in the table was set, under its
 *     range lock;
 *   - every change of an entry forgets the block, in the one place in table/ that changes entries;
 *   - before the log writes an entry, it forgets the blocks at the entry's place.
 *
 * But no reader relies on that. When the data has come, a reader verifies it against the table as
 * it is then, like data from home (R26). A block that does not verify is a miss. It may have
 * changed meanwhile, the log may have come round to it, or the SSD may be damaged.
 *
 * rebuild.h brings back blocks from before the start of the pool. Those need one more test: the era
 * in which the block's entry was born (kvp_cache_current()).
 *
 * A cache of kind parity1 has each block on one SSD. If that SSD is gone, the block is a miss. It
 * is clean, so it is not worth making from the other SSDs.
 *
 * A place is counted from where the log was first, or, once the log has come round, from the place
 * that it will overwrite first. So the index grows as the log moves on, and needs no memory for
 * places that were never written.
 *
 * The folder cache/ has this index, and the ways into and out of it:
 *
 *   given.h      what the folder is given of a pool, and asks of it
 *   admission.h  blocks that were read from home enter the cache
 *   reinsert.h   blocks that are worth it are written again before they are overwritten
 *   rebuild.h    blocks of before a start are known again
 *   pacing.h     how fast dirty data on the cache goes home
 *   client.h     the connection with the pool; begin here to see which floor calls what
 *
 * The folder decides little: policy/index.h keeps the places, policy/ssdpolicy.h says what is worth
 * them. No request waits for the folder, and no promise depends on it: all blocks of the index are
 * clean.
 *
 * Locks: log->build_lock is held while a place is taken, for an entry of the log or in the ring. It
 * is held, too, while places get new numbers. Inside it come the spinlocks of the index, which
 * guard its entries, and kvp_admission.lock, which guards the candidates.
 */
#ifndef KVP_SCACHE_H
#define KVP_SCACHE_H

#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "cache/given.h"
#include "core/core.h"
#include "policy/index.h"

struct kvp_version;
struct kvp_leg;
struct kvp_patience;
struct kvp_vdev;
struct page;

#define KVP_SCACHE_READ	64u	/* blocks: longer reads do not ask the cache */

/**
 * struct kvp_on_ssd - place of some neighbouring blocks on the SSD cache
 * @block: of the first of them, on each of its legs; 0: they are not there
 * @leg: in a cache of kind parity1: the leg that has them
 * @until: they lie there as long as the log has not gone beyond this lsn
 * @before: they are the newest only if their entries were born before this era; ~0: no test is
 *	needed
 */
struct kvp_on_ssd {
	kvp_lblock_t block;
	kvp_lsn_t until;
	u32 before, leg;
};

/**
 * struct kvp_scache - the index of the SSD cache; it knows no pool
 * @v: the cache; NULL: none is in use, and no other field is valid
 * @blocks: number of blocks of its log, and of places
 * @base: lsn that has place 0
 * @wiped: lsn up to which the log, or the ring, may have written; by log->build_lock, read without
 *	it
 * @before: places before @base that may be in the index; by log->build_lock, read without it
 * @doubt: lsn up to which the log may have written before this start, also entries that recovery
 *	did not find
 * @claimed: lsn up to which the ring may write: a durable superblock says so
 * @wanted: places that @index should have by now; by log->build_lock, read without it
 * @eras: by segment: era of the summary that its old blocks come from. NULL: there are no old
 *	blocks
 * @grow_lock: held while @index grows; memory is allocated without I/O under it
 * @grow_work: allocates memory for @index, before the log needs it
 * @grow_at: jiffies before which nothing is allocated again, after there was no memory
 */
struct kvp_scache {
	struct kvp_scache_given given;
	struct kvp_vdev *v;
	u32 blocks, wanted, before;
	kvp_lsn_t base, wiped, doubt, claimed;
	u32 *eras;
	struct kvp_index index;
	struct mutex grow_lock;
	struct work_struct grow_work;
	unsigned long grow_at;
};

/**
 * kvp_scache_init() - prepare to note which blocks lie on @v, a cache with a log
 * @given: is copied
 *
 * Return: 0, or -ENOMEM: the pool runs without the index. Context: process, may sleep.
 */
int __must_check kvp_scache_init(struct kvp_scache *s, const struct kvp_vdev *v,
				 const struct kvp_scache_given *given);

/**
 * kvp_scache_given() - what the cache was given at its start, for the other parts of the folder.
 * Any context.
 */
static inline const struct kvp_scache_given *kvp_scache_given(const struct kvp_scache *s)
{
	return &s->given;
}

/**
 * kvp_scache_begin() - begin to note which blocks lie on @v
 * @wiped: lsn up to which the log, or the ring, may have written
 * @doubt: as in struct kvp_scache
 *
 * From here on, an append calls kvp_scache_overwrite(). Caller holds log->build_lock, and has
 * called kvp_scache_init().
 */
void kvp_scache_begin(struct kvp_scache *s, struct kvp_vdev *v, kvp_lsn_t wiped, kvp_lsn_t doubt);

/**
 * kvp_scache_next_lsn() - the first place at or behind @lsn for a log that moves to @v
 *
 * On a cache with known blocks it is the segment behind the one where its last log stood. So the
 * oldest blocks are overwritten first. Context: process.
 */
kvp_lsn_t kvp_scache_next_lsn(const struct kvp_scache *s, const struct kvp_vdev *v, kvp_lsn_t lsn);

/**
 * kvp_scache_log_moved() - the log has moved to the cache, where it begins anew at @lsn
 *
 * Caller holds log->build_lock.
 */
void kvp_scache_log_moved(struct kvp_scache *s, kvp_lsn_t lsn);

/**
 * kvp_scache_renumber() - the cache is @v from now on, if it is in use
 *
 * Its place in pool->vdevs.v[] may have changed. The pool must be quiesced.
 */
void kvp_scache_renumber(struct kvp_scache *s, struct kvp_vdev *v);

/** kvp_scache_exit() - forget everything. The pool must not be in use; may sleep. */
void kvp_scache_exit(struct kvp_scache *s);

/**
 * kvp_scache_home_written() - @d is home, and in the table: it enters the index
 *
 * It came out of the log on the cache, as a record of data. Caller holds its range lock, and the
 * cache is in use. Context: process.
 */
void kvp_scache_home_written(struct kvp_scache *s, const struct kvp_version *d);

/**
 * kvp_scache_fill() - enter block @e->key, which lies at @lsn of the log, in a durable entry that
 * the tail has not passed
 * @e: all but the place is set
 * @changes: count of changes of the block's entry in the table
 * @seen: that count before the block was read
 *
 * Return: 0: the block is known from now on; -ESTALE: its entry has changed since; -EEXIST: the
 * block is known already; -EINVAL: there is no memory for it, or no cache; -ENODEV: the SSD that
 * should have it is gone. Context: process.
 */
int __must_check kvp_scache_fill(struct kvp_scache *s, kvp_lsn_t lsn, struct kvp_index_entry *e,
				 const atomic_t *changes, u32 seen);

/**
 * kvp_scache_move() - the same for @e->key, which was copied to @lsn from the place in @e
 *
 * The new place counts wherever the block is known to lie by now. Return: as kvp_scache_fill().
 * Context: process.
 */
int __must_check kvp_scache_move(struct kvp_scache *s, kvp_lsn_t lsn, struct kvp_index_entry *e,
				 const atomic_t *changes, u32 seen);

/**
 * kvp_scache_live() - get the known blocks among the @nr blocks of the segment at @lsn, which the
 * log writes next
 * @e: with room for @nr; filled in
 *
 * Return: how many. Context: process.
 */
u32 kvp_scache_live(struct kvp_scache *s, kvp_lsn_t lsn, u32 nr, struct kvp_index_entry *e);

/**
 * kvp_scache_reread() - read a block from the SSD, to write it there again
 * @e: its place
 * @entry: its entry in the table
 * @page: receives it
 *
 * Return: 0: @page is the version that @entry names. Else the block is not there any more, or
 * cannot be read. No error of the SSD is counted here: a read by a user does that. Context:
 * process, waits for I/O.
 */
int __must_check kvp_scache_reread(struct kvp_scache *s, const struct kvp_index_entry *e,
				   u64 entry, struct page *page);

/**
 * kvp_scache_place() - the place of the segment at @lsn, of this round or the one before. Any
 * context.
 */
u32 kvp_scache_place(const struct kvp_scache *s, kvp_lsn_t lsn);

/**
 * kvp_scache_make_room() - allocate memory for the places of the segment at @lsn. Return: true if
 * there is enough. Context: process, may sleep, but reclaim does no I/O; takes build_lock.
 */
bool kvp_scache_make_room(struct kvp_scache *s, kvp_lsn_t lsn);

/**
 * kvp_scache_restore() - add blocks of the segment at @lsn that were written before the start
 * @e: @n entries that are old, with their places
 *
 * A block enters if it is not known. Return: how many entered; -ESTALE: the log has come to that
 * segment again. Context: process, may sleep; takes build_lock.
 */
int __must_check kvp_scache_restore(struct kvp_scache *s, kvp_lsn_t lsn,
				    const struct kvp_index_entry *e, u32 n);

/**
 * kvp_scache_may_have_old() - false if the log has written over all that the segment at @lsn, of
 * the round before, had before the start
 *
 * It may have done so in entries that recovery did not find. Context: any.
 */
bool kvp_scache_may_have_old(const struct kvp_scache *s, kvp_lsn_t lsn);

/**
 * kvp_scache_expect_old() - old blocks may enter from now on: kvp_scache_restore(). Return: 0 or
 * -ENOMEM. Context: process, may sleep; one caller at a time.
 */
int __must_check kvp_scache_expect_old(struct kvp_scache *s);

/**
 * kvp_scache_set_era() - the old blocks of the segment at @place come from a summary of @era
 *
 * Call it before they enter. Context: process.
 */
void kvp_scache_set_era(struct kvp_scache *s, u32 place, u32 era);

/** kvp_scache_eras_bytes() - bytes of memory for the eras of old blocks. Any context. */
u64 kvp_scache_eras_bytes(const struct kvp_scache *s);

/**
 * kvp_scache_forget() - forget @count blocks from @block on: their entries in the table have
 * changed
 *
 * Context: process.
 */
void kvp_scache_forget(struct kvp_scache *s, kvp_block_t block, u32 count);

/**
 * kvp_scache_overwrite() - forget the old blocks where the log is about to write @nr blocks at @lsn
 *
 * Caller holds log->build_lock, and the log is on the cache.
 */
void kvp_scache_overwrite(struct kvp_scache *s, kvp_lsn_t lsn, u32 nr);

/**
 * kvp_scache_ring() - for a cache without the log: take a place to write @nr blocks to
 *
 * Old blocks at the place are forgotten. kvp_ring_at() says which block goes where. Caller holds
 * log->build_lock; the cache is in use. Return: the lsn of the place, for kvp_scache_fill().
 */
kvp_lsn_t kvp_scache_ring(struct kvp_scache *s, u32 nr);

/**
 * kvp_scache_claim() - for a cache without the log: record durably that the ring may go on
 *
 * After a crash the record shows how far the ring may have written. Return: true if the record is
 * durable, or if the cache carries the log; false: no leg took the superblock. Context: process,
 * waits for I/O.
 */
bool kvp_scache_claim(struct kvp_scache *s);

/**
 * kvp_scache_end_claim() - nothing is written to the ring any more: claim only what it has written
 *
 * Return: kvp_scache_written(), for a superblock. Context: process; the cache is stopped.
 */
kvp_lsn_t kvp_scache_end_claim(struct kvp_scache *s);

/**
 * kvp_scache_claimed() - true if the claim covers the next request of the ring
 *
 * Caller holds log->build_lock, or takes the answer as a hint.
 */
bool kvp_scache_claimed(const struct kvp_scache *s);

/**
 * kvp_scache_passed() - lsn up to which the log, or the ring, has overwritten old blocks. Any
 * context.
 */
static inline kvp_lsn_t kvp_scache_passed(const struct kvp_scache *s)
{
	return READ_ONCE(s->wiped);
}

/**
 * kvp_scache_round() - blocks that the log, or the ring, writes until it comes round. Any context.
 */
static inline u32 kvp_scache_round(const struct kvp_scache *s)
{
	return s->blocks;
}

/** kvp_scache_in_use() - the cache, once the index is in use; or NULL. Any context. */
static inline struct kvp_vdev *kvp_scache_in_use(const struct kvp_scache *s)
{
	/* Once set, it stays; all other fields were set before. */
	return smp_load_acquire(&s->v);
}

/** kvp_scache_geometry() - of the cache, which is in use. Any context. */
static inline const struct kvp_geometry *kvp_scache_geometry(const struct kvp_scache *s)
{
	return kvp_scache_in_use(s)->g;
}

/**
 * kvp_scache_asked() - true if there is a cache that may answer reads of @count blocks. Any
 * context.
 */
static inline bool kvp_scache_asked(const struct kvp_scache *s, u32 count)
{
	const struct kvp_vdev *v = kvp_scache_in_use(s);

	/* It also has no log if no SSD is left; in a cache of kind parity1, if too few are. */
	return count <= KVP_SCACHE_READ && v && kvp_vdev_has_log(v);
}

/** kvp_scache_find() - kvp_scache_alike() if kvp_scache_asked() */
u32 kvp_scache_find(struct kvp_scache *s, kvp_block_t block, u32 count, struct kvp_on_ssd *at);

/** kvp_scache_has() - true if the index has @block; does not count as a hit. Any context. */
static inline bool kvp_scache_has(struct kvp_scache *s, kvp_block_t block)
{
	struct kvp_index_entry e;

	return kvp_scache_in_use(s) &&
	       kvp_index_find(&s->index, kvp_block_nr(block), &e);
}

/**
 * kvp_scache_alike() - find how many blocks from @block on lie together on the SSD, or are not
 * there
 *
 * Blocks that are there count as hits.
 * @block: the first of @count
 * @at: set to their place
 *
 * Ask the buffer first. Blocks read from @at count only if kvp_scache_intact() says so afterwards,
 * and if they verify against the table. Return: the number of blocks that lie there one behind the
 * other; or, if @at->block is 0, the number of blocks from the first on that are not there.
 * Context: process.
 */
static inline u32 kvp_scache_alike(struct kvp_scache *s, kvp_block_t block, u32 count,
				   struct kvp_on_ssd *at)
{
	if (kvp_scache_asked(s, count))
		return kvp_scache_find(s, block, count, at);
	at->block = 0;
	at->before = ~0u;
	return count;
}

/**
 * kvp_scache_intact() - true if the blocks that were read from @at still lay there. Any context.
 */
bool kvp_scache_intact(const struct kvp_scache *s, const struct kvp_on_ssd *at);

/**
 * kvp_scache_era() - the era of the summary that an old block at @place comes from
 *
 * The block is the newest version if its entry in the table was born before this era. Any context.
 */
u32 kvp_scache_era(const struct kvp_scache *s, u32 place);

/**
 * kvp_scache_is_newest() - true if @e, which is in the index, is the newest version at home, by its
 * @entry in the table. Any context.
 */
bool kvp_scache_is_newest(const struct kvp_scache *s, const struct kvp_index_entry *e, u64 entry);

/**
 * kvp_scache_forget_older() - forget @block if it is of before the start, and not the newest
 * version by its @entry in the table: it will never be
 *
 * Context: process.
 */
void kvp_scache_forget_older(struct kvp_scache *s, kvp_block_t block, u64 entry);

/**
 * kvp_scache_choose() - the leg to read the @nr blocks at @at from; NULL: none is left
 *
 * Release it with kvp_leg_unchoose(). Context: any.
 */
struct kvp_leg *kvp_scache_choose(struct kvp_scache *s, const struct kvp_on_ssd *at, u32 nr);

/**
 * kvp_scache_rescue() - read @block from an SSD, as no leg has it any more, nor can it be rebuilt
 * @entry: of the table
 * @page: receives it
 * @p: as in kvp_io_ask()
 *
 * A copy with the right sum is as good as any. Return: 0: @page is that version. After an error
 * @page may hold anything: -ENOENT: no SSD has the block; -EIO: an SSD that may have it did not
 * answer; -EBUSY: one refused the read, and may be asked again. Context: process, waits for I/O;
 * caller holds the block's range lock.
 */
int __must_check kvp_scache_rescue(struct kvp_scache *s, kvp_block_t block, u64 entry,
				   struct page *page, struct kvp_patience *p);

/**
 * kvp_scache_written() - lsn behind which nothing was ever written to the cache, which is in use
 *
 * Context: any.
 */
kvp_lsn_t kvp_scache_written(const struct kvp_scache *s);

/**
 * kvp_scache_unused() - number of its blocks that were never known since the start. Any context.
 */
u32 kvp_scache_unused(const struct kvp_scache *s);

/**
 * kvp_scache_size() - blocks that it has room for; 0: it is not in use, or not any more. Any
 * context.
 */
u64 kvp_scache_size(const struct kvp_scache *s);

/**
 * kvp_scache_used() - blocks that can be read there. Context: process; takes each lock of the
 * index.
 */
u64 kvp_scache_used(struct kvp_scache *s);

/** kvp_scache_count() - count the entries of the index. Context: as kvp_scache_used(). */
void kvp_scache_count(struct kvp_scache *s, struct kvp_index_count *count);

/** kvp_scache_bytes() - bytes of memory of the index. Any context. */
u64 kvp_scache_bytes(const struct kvp_scache *s);

#endif /* KVP_SCACHE_H */
