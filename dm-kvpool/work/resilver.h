/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Resilver: a leg that was out gets what it missed, while the pool is in use (R17, R18).
 *
 * The words: a leg in sync is a source. A leg that resilvers is a target: home writes, table pages,
 * superblocks and flushes go to it, and it is never read. It does not count for redundancy.
 *
 * 1. kvp_resilver_join(): a superblock under a new epoch says that the leg resilvers. The worker
 *    waits for all that was on its way home before, and takes a checkpoint. From here on the table
 *    on disk names all that the leg misses, and newer versions go to the leg as well.
 * 2. The worker walks the vdev by address, and copies what was born since (resilver_copy.c). One
 *    walk serves all legs of a vdev. The worker skips blocks that no leg in sync gives now,
 *    and tries them again until a leg gives them (skipped.h).
 * 3. Every ten seconds, or GiB, it notes the cursor, after a checkpoint that has flushed the leg.
 * 4. After the walk it copies the table pages that changed.
 * 5. From here on, entries of the log go to the leg. If the log is on such legs, destage moves the
 *    tail past all older entries. It does not hurry while the host is busy. Another checkpoint
 *    flushes the leg.
 * 6. kvp_legs_resilvered(): one superblock says that the leg is in sync.
 *
 * A power cut before 6: the leg is out, and nothing depends on its contents. Its eras and its
 * cursor are in the superblock, and a later resilver copies only what they do not cover. The same
 * holds if the leg is lost. docs/design/resilver.md has the reasons, docs/cases/resilver.md the
 * cases.
 *
 * Locks: a step holds range locks, a page checkpoint_lock. A few steps are in flight at a time.
 * While any is in flight, other locks are only tried. The worker rests, and does all other work,
 * only while none is in flight.
 */
#ifndef KVP_RESILVER_H
#define KVP_RESILVER_H

#include "core/core.h"
#include "policy/yield.h"
#include "work/skipped.h"

struct kvp_resilver_io;

/**
 * struct kvp_resilver - the resilver of a pool
 * @walks: of each leg that resilvers: its walk has begun, and may go on. The worker sets it;
 *	kvp_resilver_join() clears it under sb_lock, since the leg may return while the worker is
 *	still busy with its earlier resilver
 * @joined: of each leg: what it had when it joined; by sb_lock
 * @sync: the same, of legs that walk; this and all below by the worker
 * @next: of each leg: blocks of its vdev below are in sync, except what was skipped
 * @copied: blocks that were copied since the pool was started
 * @copied_at: of each leg: @copied when its walk began
 * @skipped: blocks that no leg in sync gives now
 * @pause: ms before the next try
 * @noted: jiffies: when the cursor was noted
 * @noted_at: @copied at that time
 * @host: statistics of the host's requests
 * @begun_ahead: steps that were begun while other steps were in flight
 * @began: when the last leg began its walk, ns
 * @ordered: how often destage was ordered to hurry, so that a resilver could end
 * @yields: steps after which the worker rested because the host was busy
 */
struct kvp_resilver {
	struct kvp_pool *pool;
	struct work_struct work;
	bool quiesce;
	bool walks[KVP_LEGS_BESIDE];
	struct kvp_leg_info joined[KVP_LEGS_BESIDE], sync[KVP_LEGS_BESIDE];
	kvp_vblock_t next[KVP_LEGS_BESIDE];
	u64 copied_at[KVP_LEGS_BESIDE], copied, noted_at;
	struct kvp_skipped skipped;
	u32 pause;
	unsigned long noted;
	struct kvp_yield host;
	u64 begun_ahead, yields, began, ordered;
};

/** kvp_resilver_init() - begin quiesced, at the start of a pool. Context: process. */
void kvp_resilver_init(struct kvp_pool *pool);

/**
 * kvp_resilver_join() - let @leg, which is out, get what it missed
 * @in_sync_era, @cursor, @cursor_era: what it has, as its label and the superblock say
 *
 * Return: 0: the worker does the rest; -EBUSY: the leg still has strays; -EIO: the pool is faulted,
 * or the leg failed at once. Context: process; waits for I/O. The caller holds no lock.
 */
int __must_check kvp_resilver_join(struct kvp_leg *leg, u32 in_sync_era, kvp_vblock_t cursor,
				   u32 cursor_era);

/** kvp_resilver_runs() - true if a leg, or the shadow, resilvers or may begin to. Any context. */
bool kvp_resilver_runs(const struct kvp_pool *pool);

/**
 * struct kvp_resilver_figures - progress, in blocks
 * @done, @total: of the vdevs with a leg that resilvers
 * @copied: since the pool was started
 * @unread: skipped: no leg in sync has given them yet; 0 at the end of each resilver
 */
struct kvp_resilver_figures {
	u64 done, total, copied, unread;
};

/** kvp_resilver_figures() - fill in @f. Context: process. */
void kvp_resilver_figures(struct kvp_pool *pool, struct kvp_resilver_figures *f);

/**
 * kvp_resilver_skipped() - the first blocks at or behind @from that no leg in sync gives now
 * @first, @count: as of kvp_skipped_next()
 *
 * Return: false if there are none. Context: process.
 */
bool kvp_resilver_skipped(struct kvp_pool *pool, kvp_block_t from, kvp_block_t *first, u64 *count);

/**
 * kvp_resilver_renumber() - legs have new numbers: begin all walks again, at the noted cursors
 *
 * What was written since a leg joined is on it, as no request is in flight. Context: process; the
 * pool is quiesced, sb_lock is held.
 */
void kvp_resilver_renumber(struct kvp_pool *pool);

/**
 * kvp_resilver_quiesce() - stop the worker until kvp_resilver_unquiesce()
 *
 * kvp_resilver_end_soon() does the same, but does not wait for the steps in flight. Then
 * kvp_resilver_works() is true as long as these go on. Context: process; _end_soon(): any.
 */
void kvp_resilver_quiesce(struct kvp_pool *pool);
void kvp_resilver_end_soon(struct kvp_pool *pool);
bool kvp_resilver_works(struct kvp_pool *pool);
void kvp_resilver_unquiesce(struct kvp_pool *pool);

/**
 * kvp_resilver_look_for_newer() - kvp_order_ops.look_before_copy, where the newest version counts
 */
int kvp_resilver_look_for_newer(struct kvp_pool *pool, kvp_block_t block);

#endif /* KVP_RESILVER_H */
