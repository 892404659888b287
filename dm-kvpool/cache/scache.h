/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The SSD cache as a cache of reads. Logged blocks stay on the SSDs when they have come home and
 * have left the write buffer, and can be read there until the log comes round to them.
 *
 * For each such block index.h knows the place. The table names the newest version of a block,
 * unless the write buffer has a newer one. The rule is that of the RAM cache (rcache.h): if a block
 * is in the index and not in the buffer, then its place holds the version that the table names. It
 * holds because
 *
 *   - a block enters when it has come home, after its entry in the table was set, under its range
 *     lock;
 *   - every change of an entry forgets the block, in the one place in table.c that changes entries;
 *   - an entry of the log forgets the blocks at its place before it is written.
 *
 * But no reader relies on that. It verifies a block against the table as it is when the data has
 * come, like one from home (R26). A block that does not verify is a miss: it may have changed
 * meanwhile, or the log have come round, or the SSD be damaged.
 *
 * rebuild.h brings back blocks from before the start of the pool. Those need one more test: the era
 * in which the block's entry was born (kvp_scache_current()).
 *
 * A cache of kind parity1 has each block on one SSD. If that SSD is gone, the block is a miss: it
 * is clean, so it is not worth making from the others.
 *
 * A place is counted from where the log was first, or, once it has come round, from what will be
 * overwritten first. So the index grows as the log moves on, and costs no memory for places that
 * were never written.
 */
#ifndef KVP_SCACHE_H
#define KVP_SCACHE_H

#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "core/core.h"
#include "policy/index.h"

struct kvp_version;
struct kvp_leg;
struct kvp_pool;
struct kvp_tpage;
struct kvp_vdev;
struct page;

#define KVP_SCACHE_READ	64u	/* blocks: longer reads do not ask the cache */

/**
 * struct kvp_on_ssd - place of some neighbours on the SSD cache
 * @block: the first of them, on each of its legs; 0: they are not there
 * @leg: in a cache of kind parity1: the one that has them
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
 * struct kvp_scache - the index of the SSD cache
 * @v: the cache; NULL: none is in use, and nothing else is valid
 * @blocks: of its log
 * @base: lsn that has place 0
 * @wiped: lsn up to which the log may have written; by log->build_lock, read without it
 * @before: places before @base that may be in the index; by log->build_lock, read without it
 * @doubt: lsn up to which an earlier, unknown start may have written
 * @wanted: places that there should be by now; by log->build_lock, read without it
 * @grow_lock: held while @index grows; memory is allocated without I/O under it
 * @grow_work: allocates memory for @index, before the log needs it
 * @grow_at: there was no memory; jiffies of the next try
 */
struct kvp_scache {
	struct kvp_pool *pool;
	struct kvp_vdev *v;
	u32 blocks, wanted, before;
	kvp_lsn_t base, wiped, doubt;
	struct kvp_index index;
	struct mutex grow_lock;
	struct work_struct grow_work;
	unsigned long grow_at;
};

/**
 * kvp_scache_start() - begin to note which blocks lie on the cache, if there is one Return: 0, or
 * -ENOMEM: the pool runs without the index. Context: process, may sleep.
 */
int __must_check kvp_scache_start(struct kvp_pool *pool);

/**
 * kvp_scache_next_lsn() - the first place at or behind @lsn for a log that moves to @v
 *
 * On a cache with known blocks: the segment behind the one where its last log stood, so that the
 * oldest blocks are overwritten first. Context: process.
 */
kvp_lsn_t kvp_scache_next_lsn(const struct kvp_pool *pool, const struct kvp_vdev *v, kvp_lsn_t lsn);

/**
 * kvp_scache_log_moved() - the log begins anew at @lsn of log->pool->log_vdev. Under
 * log->build_lock.
 */
void kvp_scache_log_moved(struct kvp_pool *pool, kvp_lsn_t lsn);

/**
 * kvp_scache_renumber() - the cache may be another of pool->vdevs[] by now. The pool must be
 * quiesced.
 */
void kvp_scache_renumber(struct kvp_pool *pool);

/** kvp_scache_exit() - forget everything. The pool must not be in use; may sleep. */
void kvp_scache_exit(struct kvp_pool *pool);

/** kvp_scache_came_home() - @d is home, and in the table. Under its range lock; process context. */
void kvp_scache_came_home(struct kvp_pool *pool, const struct kvp_version *d);

/**
 * kvp_scache_fill() - @e->key lies at @lsn of the log, in a durable entry that the tail has not
 * passed
 * @e: all but the place is set
 * @changes: of the block's table entry, a count
 * @seen: that count before the block was read
 *
 * Return: 0: it is known from now on; -ESTALE: its entry has changed since; -EEXIST: its block is
 * known already; -EINVAL: there is no memory for it, or no cache; -ENODEV: the SSD that should have
 * it is gone. Context: process.
 */
int __must_check kvp_scache_fill(struct kvp_pool *pool, kvp_lsn_t lsn, struct kvp_index_entry *e,
				 const atomic_t *changes, u32 seen);

/**
 * kvp_scache_move() - the same for @e->key, which was copied there from the place in @e
 *
 * It counts wherever the block lies by now. Return: as kvp_scache_fill(). Context: process.
 */
int __must_check kvp_scache_move(struct kvp_pool *pool, kvp_lsn_t lsn, struct kvp_index_entry *e,
				 const atomic_t *changes, u32 seen);

/**
 * kvp_scache_live() - the known blocks in the @nr blocks of a segment that the log writes next at
 * @lsn
 * @e: with room for @nr
 *
 * Return: how many. Context: process.
 */
u32 kvp_scache_live(struct kvp_pool *pool, kvp_lsn_t lsn, u32 nr, struct kvp_index_entry *e);

/**
 * kvp_scache_reread() - read a block from the SSD, to write it there again
 * @e: its place
 * @entry: its entry in the table
 *
 * Return: 0 if @page is that version. Else it is not there any more, or cannot be read; no error of
 * the SSD is counted, since a read by a user does that. Context: process, waits for I/O.
 */
int __must_check kvp_scache_reread(struct kvp_pool *pool, const struct kvp_index_entry *e,
				   u64 entry, struct page *page);

/**
 * kvp_scache_place() - the place of the segment at @lsn, of this round or the one before. Any
 * context.
 */
u32 kvp_scache_place(const struct kvp_pool *pool, kvp_lsn_t lsn);

/**
 * kvp_scache_make_room() - allocate memory for the places of the segment at @lsn. Return: true if
 * there is enough. Context: process, may sleep, but does no I/O for it; without build_lock.
 */
bool kvp_scache_make_room(struct kvp_pool *pool, kvp_lsn_t lsn);

/**
 * kvp_scache_restore() - add blocks of the segment at @lsn that were written before the start
 * @e: @n entries that are old, with their places
 *
 * A block enters if it is not known, and if the log has not come to that segment again. Return: how
 * many entered; -ESTALE: the log has. Context: process, may sleep.
 */
int __must_check kvp_scache_restore(struct kvp_pool *pool, kvp_lsn_t lsn,
				    const struct kvp_index_entry *e, u32 n);

/**
 * kvp_scache_forget() - entries of @count blocks from @block on in the table have changed. Process
 * context.
 */
void kvp_scache_forget(struct kvp_pool *pool, kvp_block_t block, u32 count);

/** kvp_scache_overwrite() - the log is about to write @nr blocks at @lsn. Under log->build_lock. */
void kvp_scache_overwrite(struct kvp_pool *pool, kvp_lsn_t lsn, u32 nr);

/**
 * kvp_scache_ring() - for a cache without the log: take a place to write @nr blocks to
 *
 * kvp_ring_at() says which block goes where. Old blocks at the place are forgotten. Under
 * log->build_lock; the cache is in use. Return: their lsn, for kvp_scache_fill().
 */
kvp_lsn_t kvp_scache_ring(struct kvp_pool *pool, u32 nr);

/**
 * kvp_scache_passed() - lsn up to which the log, or the ring, has overwritten old blocks. Any
 * context.
 */
static inline kvp_lsn_t kvp_scache_passed(const struct kvp_scache *s)
{
	return READ_ONCE(s->wiped);
}

/** kvp_scache_in_use() - the cache, once the index is in use; or NULL. Any context. */
static inline struct kvp_vdev *kvp_scache_in_use(const struct kvp_scache *s)
{
	/* Once set, it stays; all other fields were set before. */
	return smp_load_acquire(&s->v);
}

/**
 * kvp_scache_asked() - true if there is a cache that may answer reads of so many blocks. Any
 * context.
 */
static inline bool kvp_scache_asked(const struct kvp_pool *pool, u32 count)
{
	const struct kvp_vdev *v = kvp_scache_in_use(pool->scache);

	/* False also if no SSD is left; of kind parity1, if too few are left for a log. */
	return count <= KVP_SCACHE_READ && v && kvp_vdev_has_log(v);
}

/** kvp_scache_find() - kvp_scache_alike() if kvp_scache_asked() */
u32 kvp_scache_find(struct kvp_pool *pool, kvp_block_t block, u32 count, struct kvp_on_ssd *at);

/** kvp_scache_has() - true if the index has @block; that is no hit. Any context. */
static inline bool kvp_scache_has(struct kvp_pool *pool, kvp_block_t block)
{
	struct kvp_index_entry e;

	return kvp_scache_in_use(pool->scache) &&
	       kvp_index_find(&pool->scache->index, kvp_block_nr(block), &e);
}

/**
 * kvp_scache_alike() - find how many blocks from @block on are on the SSD together, or are not
 * there. Those that are there count as hit.
 * @block: the first of @count
 * @at: set to their place
 *
 * Ask the buffer first. Blocks read from @at count only if kvp_scache_intact() says so then, and if
 * they verify against the table. Return: so many are there one behind the other; or so many from
 * the first on are not. Context: process.
 */
static inline u32 kvp_scache_alike(struct kvp_pool *pool, kvp_block_t block, u32 count,
				   struct kvp_on_ssd *at)
{
	if (kvp_scache_asked(pool, count))
		return kvp_scache_find(pool, block, count, at);
	at->block = 0;
	at->before = ~0u;
	return count;
}

/** kvp_scache_intact() - true if the blocks read from @at still lay there. Any context. */
bool kvp_scache_intact(const struct kvp_pool *pool, const struct kvp_on_ssd *at);

/**
 * kvp_scache_current() - true if the blocks at @at are the newest at home, by the entries in the
 * table
 * @leaf: with the entries of all @count blocks
 *
 * Ask before reading them. Forgets blocks that are not. Context: process.
 */
bool kvp_scache_current(struct kvp_pool *pool, const struct kvp_tpage *leaf, kvp_block_t block,
			u32 count, const struct kvp_on_ssd *at);

/**
 * kvp_scache_is_newest() - the same for @e, which is in the index, by its @entry in the table. Any
 * context.
 */
bool kvp_scache_is_newest(const struct kvp_pool *pool, const struct kvp_index_entry *e, u64 entry);

/**
 * kvp_scache_choose() - the leg to read the @nr blocks at @at from; NULL: none is left
 *
 * Release it with kvp_leg_unchoose(). Context: any.
 */
struct kvp_leg *kvp_scache_choose(struct kvp_pool *pool, const struct kvp_on_ssd *at, u32 nr);

/** kvp_scache_mistrust() - these blocks did not verify: forget them. Process context. */
void kvp_scache_mistrust(struct kvp_pool *pool, kvp_block_t block, u32 count);

/**
 * kvp_scache_rescue() - no leg has @block any more, nor can it be rebuilt: read it from an SSD
 * @entry: of the table
 * @page: receives it
 *
 * A copy with the right sum is as good as any. Return: 0: @page is that version. Else it may hold
 * anything: -ENOENT: no SSD has it; -EIO or -ENOMEM: one that may have it did not answer. Context:
 * process, waits for I/O; under the block's range lock.
 */
int __must_check kvp_scache_rescue(struct kvp_pool *pool, kvp_block_t block, u64 entry,
				   struct page *page);

/**
 * kvp_scache_written() - behind this lsn nothing was ever written to the cache
 *
 * Call it also when the log moves off a cache without known blocks. Return: 0: as the superblock
 * says. Context: process, under sb_lock.
 */
kvp_lsn_t kvp_scache_written(const struct kvp_pool *pool);

/** kvp_scache_unused() - how many of its blocks were never known, in this life. Any context. */
u32 kvp_scache_unused(const struct kvp_pool *pool);

/** kvp_scache_size() - blocks that it has room for; 0: it is not in use, or not any more */
u64 kvp_scache_size(const struct kvp_pool *pool);

/** kvp_scache_used() - blocks that can be read there. Takes each lock of the index. */
u64 kvp_scache_used(struct kvp_pool *pool);

/** kvp_scache_bytes() - memory of the index */
u64 kvp_scache_bytes(const struct kvp_pool *pool);

#endif /* KVP_SCACHE_H */
