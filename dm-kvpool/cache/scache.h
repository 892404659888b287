/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The SSD cache as a cache of reads: what was logged there stays there, and is read from
 * there when it has come home and has left the write buffer, until the log comes round
 * to it.
 *
 * For each such block index.h knows the place. Which version of a block is its newest,
 * the table says, unless the write buffer has a newer one; the rule is that of the RAM
 * cache (rcache.h): if a block is in the index and not in the buffer, then what lies at
 * its place is the version that the table names. It holds because
 *
 *   - a block enters when it has come home, after its entry in the table was set, under
 *     its range lock;
 *   - every change of an entry forgets the block, in the one place in table.c that
 *     changes entries;
 *   - an entry of the log forgets what lies where it goes before it is written.
 *
 * And nothing that is read there is believed because of that: the reader verifies it
 * against the table as it is when the data has come, as what comes from home (R26).
 * What does not verify is a miss: the block may have changed meanwhile, or the log have
 * come round, or the SSD be rotten.
 *
 * What was there before the pool was started, rebuild.h brings back. Of that more has to be asked before
 * it is believed: in which era the block's entry was born (kvp_scache_current()).
 *
 * A cache of kind parity1 has each block on one SSD. What lay on one that is gone is a miss: it is clean, so it is
 * not worth while to make it from the others.
 *
 * A place is counted from where the log was first, or, once it has come round, from what will be
 * overwritten first: so the index grows as the log moves on, and costs no memory for what was never written.
 */
#ifndef KVP_SCACHE_H
#define KVP_SCACHE_H

#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "policy/index.h"

struct kvp_version;
struct kvp_leg;
struct kvp_pool;
struct kvp_tpage;
struct kvp_vdev;
struct page;

#define KVP_SCACHE_READ	64u	/* blocks: longer reads do not ask the cache */

/**
 * struct kvp_on_ssd - where some neighbours lie on the SSD cache
 * @block: the first of them, on each of its legs; 0: they are not there
 * @leg: of a cache of kind parity1: the one that has them
 * @until: they lie there for as long as the log has not gone beyond this lsn
 * @before: they are not the newest unless their entries were born before this era; ~0: nothing to be asked
 */
struct kvp_on_ssd {
	u64 block, until;
	u32 before, leg;
};

/**
 * struct kvp_scache - what is known of the SSD cache
 * @v: the cache; NULL while nothing is known of any: then nothing else is valid
 * @blocks: of its log
 * @base: lsn that has place 0
 * @wiped: lsn up to which the log may have written; by log->build_lock, read without it
 * @before: places before @base that something is known of; by log->build_lock, read without it
 * @doubt: lsn up to which an earlier, unknown start may have written
 * @wanted: places that there should be by now; by log->build_lock, read without it
 * @grow_lock: held while @index grows; memory is had without I/O under it
 * @grow_work: more memory for @index, before the log comes to where it is needed
 * @grow_at: there was none; not before, in jiffies, is it worth another try
 */
struct kvp_scache {
	struct kvp_pool *pool;
	struct kvp_vdev *v;
	u32 blocks, wanted, before;
	u64 base, wiped, doubt;
	struct kvp_index index;
	struct mutex grow_lock;
	struct work_struct grow_work;
	unsigned long grow_at;
};

/**
 * kvp_scache_start() - begin to note what lies on the cache, if there is one
 * Return: 0, or -ENOMEM: the pool does without. Context: process, may sleep.
 */
int __must_check kvp_scache_start(struct kvp_pool *pool);

/**
 * kvp_scache_next_lsn() - the first place at or behind @lsn for a log that moves to @v
 *
 * On a cache of which something is known, the segment behind the one where its last log stood:
 * so that what was written there longest ago is overwritten first. Context: process.
 */
u64 kvp_scache_next_lsn(const struct kvp_pool *pool, const struct kvp_vdev *v, u64 lsn);

/** kvp_scache_log_moved() - the log begins anew at @lsn of log->pool->log_vdev. Under log->build_lock. */
void kvp_scache_log_moved(struct kvp_pool *pool, u64 lsn);

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
 * kvp_scache_fill() - @e->key lies at @lsn of the log, in a durable entry that the tail has not passed
 * @e: all but the place
 * @changes: of the block's table entry, a count
 * @seen: what it was before the block was read
 *
 * Return: 0: it is known from now on; -ESTALE: its entry has changed since; -EEXIST: something is
 * known of it; -EINVAL: there is no memory for it, or no cache; -ENODEV: the SSD that should have it is
 * gone. Context: process.
 */
int __must_check kvp_scache_fill(struct kvp_pool *pool, u64 lsn, struct kvp_index_entry *e,
				 const atomic_t *changes, u32 seen);

/**
 * kvp_scache_move() - the same of @e->key, which was copied there from where @e says
 *
 * Wherever it lies by now. Return: as kvp_scache_fill(). Context: process.
 */
int __must_check kvp_scache_move(struct kvp_pool *pool, u64 lsn, struct kvp_index_entry *e,
				 const atomic_t *changes, u32 seen);

/**
 * kvp_scache_live() - what lies in the @nr blocks of a segment that the log writes next at @lsn
 * @e: with room for @nr
 *
 * Return: how many. Context: process.
 */
u32 kvp_scache_live(struct kvp_pool *pool, u64 lsn, u32 nr, struct kvp_index_entry *e);

/**
 * kvp_scache_reread() - read a block from the SSD, to write it there again
 * @e: where it lies
 * @entry: its entry in the table
 *
 * Return: 0 if @page is that version. Else it is not there any more, or cannot be read; no error of
 * the SSD is counted, since a read by a user does that. Context: process, waits for I/O.
 */
int __must_check kvp_scache_reread(struct kvp_pool *pool, const struct kvp_index_entry *e,
				   u64 entry, struct page *page);

/** kvp_scache_place() - the place of the segment at @lsn, of this round or the one before. Any context. */
u32 kvp_scache_place(const struct kvp_pool *pool, u64 lsn);

/**
 * kvp_scache_make_room() - have memory for the places of the segment at @lsn
 * Return: is there? Context: process, may sleep, but does no I/O for it; without build_lock.
 */
bool kvp_scache_make_room(struct kvp_pool *pool, u64 lsn);

/**
 * kvp_scache_restore() - what lies in the segment at @lsn was written there before the start
 * @e: @n entries that are old, with their places
 *
 * They enter where nothing is known of their blocks, if the log has not come to that segment again.
 * Return: how many did; -ESTALE: it has. Context: process, may sleep.
 */
int __must_check kvp_scache_restore(struct kvp_pool *pool, u64 lsn, const struct kvp_index_entry *e,
				    u32 n);

/** kvp_scache_forget() - the entry of @block in the table has changed. Process context. */
void kvp_scache_forget(struct kvp_pool *pool, u64 block);

/** kvp_scache_overwrite() - the log is about to write @nr blocks at @lsn. Under log->build_lock. */
void kvp_scache_overwrite(struct kvp_pool *pool, u64 lsn, u32 nr);

/**
 * kvp_scache_ring() - of a cache without the log: where @nr blocks may be written now
 *
 * Which block goes where, kvp_ring_at() says. What lay there is forgotten. Under log->build_lock; the cache is in use.
 * Return: their lsn, for kvp_scache_fill().
 */
u64 kvp_scache_ring(struct kvp_pool *pool, u32 nr);

/**
 * kvp_scache_passed() - lsn up to which the log, or the ring, has written over what was there.
 *	Any context.
 */
static inline u64 kvp_scache_passed(const struct kvp_scache *s)
{
	return READ_ONCE(s->wiped);
}

/** kvp_scache_asked() - is there a cache that is asked for reads of so many blocks? Any context. */
bool kvp_scache_asked(const struct kvp_pool *pool, u32 count);

/**
 * kvp_scache_alike() - are blocks on the SSD, or not? Those that are count as hit.
 * @block: the first of @count
 * @at: set to where it lies
 *
 * Ask the buffer first. What was read there is theirs if kvp_scache_intact() says so then, and
 * it is to be verified against the table.
 * Return: so many are there one behind the other; or so many from the first on are not.
 * Context: process.
 */
u32 kvp_scache_alike(struct kvp_pool *pool, u64 block, u32 count, struct kvp_on_ssd *at);

/** kvp_scache_intact() - was what has been read at @at still theirs? Any context. */
bool kvp_scache_intact(const struct kvp_pool *pool, const struct kvp_on_ssd *at);

/**
 * kvp_scache_current() - is what lies at @at the newest that is home, by the entries in the table?
 * @leaf: with the entries of all @count blocks
 *
 * To be asked before it is read. What is not is forgotten. Context: process.
 */
bool kvp_scache_current(struct kvp_pool *pool, const struct kvp_tpage *leaf, u64 block, u32 count,
			const struct kvp_on_ssd *at);

/** kvp_scache_is_newest() - the same of @e, which the index has, by its @entry in the table. Any context. */
bool kvp_scache_is_newest(const struct kvp_pool *pool, const struct kvp_index_entry *e, u64 entry);

/**
 * kvp_scache_choose() - the leg to read the @nr blocks at @at from; NULL: none is left
 *
 * To be given back with kvp_leg_unchoose(). Context: any.
 */
struct kvp_leg *kvp_scache_choose(struct kvp_pool *pool, const struct kvp_on_ssd *at, u32 nr);

/** kvp_scache_mistrust() - what was read for these was not what it should be: forget them. Process context. */
void kvp_scache_mistrust(struct kvp_pool *pool, u64 block, u32 count);

/**
 * kvp_scache_rescue() - no leg has @block any more, nor what it could be rebuilt from: has an SSD?
 * @entry: of the table
 * @page: where to
 *
 * What has its sum is as good as any copy.
 * Return: 0: @page is that version. Else it may hold anything: -ENOENT: no SSD has it; -EIO or
 * -ENOMEM: one that may have it did not answer. Context: process, waits for I/O; under the
 * block's range lock.
 */
int __must_check kvp_scache_rescue(struct kvp_pool *pool, u64 block, u64 entry, struct page *page);

/**
 * kvp_scache_written() - behind this lsn nothing was ever written to the cache
 *
 * Also if nothing is known of it, when the log moves off it. Return: 0: as the superblock says.
 * Context: process, under sb_lock.
 */
u64 kvp_scache_written(const struct kvp_pool *pool);

/** kvp_scache_unused() - of those that it has room for, of so many nothing was ever known. Any context. */
u32 kvp_scache_unused(const struct kvp_pool *pool);

/** kvp_scache_size() - blocks that it has room for; 0: it is not in use, or no more */
u64 kvp_scache_size(const struct kvp_pool *pool);

/** kvp_scache_used() - blocks that can be read there. Takes each lock of the index. */
u64 kvp_scache_used(struct kvp_pool *pool);

/** kvp_scache_bytes() - memory that the index takes */
u64 kvp_scache_bytes(const struct kvp_pool *pool);

#endif /* KVP_SCACHE_H */
