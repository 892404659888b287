/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Superblocks, and which legs are members.
 *
 * The superblock in memory is pool->sb. Code that changes it holds sb_lock, and calls
 * kvp_sb_commit(), which writes it to every leg in use, into both rings. So all changes of a pool
 * end in one function: losses of legs, checkpoints, tunables, marks, progress of a scrub.
 *
 * The loss of a leg has two halves. kvp_leg_fail() takes the leg out in memory, at once, from any
 * context. From then on kvp_members_dirty() is true, and no FLUSH is answered. That ends when a
 * superblock records the leg out, under a new epoch (R16). members_work writes this superblock, or
 * the first caller of kvp_members_settle().
 *
 * Locks: sb_lock is a mutex, held while superblocks are written. Under it, members_lock (irqsave)
 * guards leg states, so that completions can give up a leg. Code that holds sb_lock never waits for
 * the log, for a checkpoint, or for a range.
 *
 * Files: members.c loses legs, joins.c lets them return, commit.h says when a superblock counts,
 * sb_write.c writes it to rings, and label.c labels devices that are no legs yet. Of others,
 * pool/labels.c reads labels, pool/choose.c chooses among them, format/superblock.c encodes and
 * decodes them, events.c has the ring of events, and finds.c reports bad places.
 */
#ifndef KVP_MEMBERS_H
#define KVP_MEMBERS_H

#include "core/core.h"
#include "super/commit.h"

/**
 * struct kvp_members_client - calls about losses; registered with the pool
 * @left: a leg is out of use, or its failure was reported. Any context.
 */
struct kvp_members_client {
	void (*left)(struct kvp_pool *pool);
};

/* The leg client of a pool: it takes out legs that fail, and records them out. */
extern const struct kvp_leg_client kvp_members_hear;

/**
 * kvp_leg_answers() - read the label at either end of a leg, into @page
 *
 * Return: false if neither end gives an answer. A bad sector is one. Context: process; waits for
 * I/O, as long as the leg may keep a request.
 */
bool kvp_leg_answers(struct kvp_leg *leg, struct page *page);

/**
 * kvp_sb_join() - label @nr legs from legs[@first] on as about to join the pool
 *
 * The label has the contents of pool->sb, and a flag that no pool may start from it. Return: 0: the
 * labels are durable; -EIO: some ring did not take its label. Caller holds sb_lock. Context:
 * process, waits for I/O.
 */
int __must_check kvp_sb_join(struct kvp_pool *pool, u32 first, u32 nr);

/**
 * kvp_sb_note_shadow() - record the number of the shadow's next label, and then write that label
 *
 * The number is recorded by a superblock first. So the device never has a label that no leg knows.
 * Context: as kvp_sb_note(). Return: false: the label cannot be written, and the shadow is given
 * up.
 */
bool kvp_sb_note_shadow(struct kvp_pool *pool);

/**
 * kvp_sb_label_shadow() - write the shadow's label
 * @last: the next superblock makes the shadow a leg
 *
 * The label is that of a leg in the place of the leg that the shadow is to replace. It says what
 * pool->sb->shadow says. With @last, two labels are written under the sequences before that
 * superblock, so that these are the last two on the device, as on any leg (R13). Otherwise the
 * label has the number that pool->sb->shadow names. The legs get nothing. Context and return: as
 * kvp_sb_join().
 */
int __must_check kvp_sb_label_shadow(struct kvp_pool *pool, bool last);

/**
 * kvp_log_legs_fail() - too few legs of the cache @v took an entry: the log is lost
 * @which: a bit for each leg of @v that did not take it
 *
 * All of them are taken out together, so each of them has all that counts. The log moves, also if
 * @which is 0 since too few legs were in use. Caller holds build_lock.
 */
void kvp_log_legs_fail(struct kvp_vdev *v, unsigned long which);

/**
 * kvp_log_legs_keep() - mark all legs of the lost log that no superblock records out
 *
 * None of them lacks an entry, so their log is kept until it has moved. Caller holds sb_lock and
 * members_lock.
 */
void kvp_log_legs_keep(struct kvp_pool *pool);

/**
 * kvp_sb_buffers_alloc() - get memory to write the superblock to all legs that the pool has now
 *
 * It is allocated early: recording a loss must not need any. What is there stays, so call it again
 * when there are more legs. Return: 0 or -ENOMEM.
 *
 * kvp_sb_buffers_free() - free all of it; nothing if there is none
 *
 * Context: process, may sleep.
 */
int __must_check kvp_sb_buffers_alloc(struct kvp_pool *pool);
void kvp_sb_buffers_free(struct kvp_pool *pool);

/**
 * kvp_members_settle() - wait until every loss is recorded; 0 or -EIO. Takes sb_lock. Context:
 * process.
 */
int __must_check kvp_members_settle(struct kvp_pool *pool);

/**
 * kvp_leg_resilver() - let @leg, which is out, take writes from now on (R17)
 * @in_sync_era, @cursor, @cursor_era: what it has, for struct kvp_leg_info
 *
 * A superblock under a new epoch records that, on @leg too. If @leg fails this write, it is out
 * again when this returns. Requests that were in flight before do not go to it: the caller waits
 * for those. Caller holds checkpoint_lock and sb_lock. Context: process, waits for I/O. Return: 0;
 * -EBUSY: the leg still has strays, and is out as before; -EIO: no superblock became durable, and
 * the pool is faulted.
 */
int __must_check kvp_leg_resilver(struct kvp_leg *leg, u32 in_sync_era, kvp_vblock_t cursor,
				  u32 cursor_era);

/** kvp_shadow_may_join() - true if there is a shadow that may begin to resilver. Context: any. */
bool kvp_shadow_may_join(const struct kvp_pool *pool);

/**
 * kvp_shadow_resilver() - let home writes and table pages of its leg go to the shadow, too
 *
 * Requests that were in flight before do not go to it: the caller waits for those. No superblock
 * records the state of the shadow, as nothing depends on it. But its label gets a new number
 * before. Caller holds checkpoint_lock and sb_lock. Context: process, waits for I/O. Return: false:
 * its leg is not in sync, or the shadow has failed, or still has strays.
 */
bool kvp_shadow_resilver(struct kvp_pool *pool);

/**
 * kvp_shadow_complete() - note that the shadow has all that its leg has, durably
 *
 * That is true as long as it resilvers. Return: false: it was given up meanwhile. Caller holds
 * sb_lock.
 */
bool kvp_shadow_complete(struct kvp_pool *pool);

/**
 * kvp_legs_resilvered() - legs of @v that still resilver are in sync from now on
 * @which: a bit for each leg of @v
 *
 * These legs have everything, durably: all that is at home, all table pages, and the log from its
 * durable tail on. They become sources when the superblock counts that says so: the sources of
 * before have it, as far as the vdev needs them (R16). If it does not count, they resilver still,
 * and the next superblock says the same. Caller holds sb_lock. Context: process, waits for I/O.
 * Return: 0 or -EIO, as kvp_sb_commit().
 */
int __must_check kvp_legs_resilvered(struct kvp_vdev *v, u64 which);

/**
 * kvp_leg_offline() - take a leg out by order
 *
 * A leg that is out already becomes offline, too: it does not return by itself any more. Return: 0;
 * -EBUSY: it is the last leg in sync that its vdev needs; -ENODEV: the same, and it has no device;
 * -EROFS; -EIO. Context: process; waits for I/O. Takes sb_lock.
 */
int __must_check kvp_leg_offline(struct kvp_pool *pool, struct kvp_leg *leg);

/** kvp_losses_survivable() - how many more legs may be lost, in the worst case. Context: any. */
u32 kvp_losses_survivable(const struct kvp_pool *pool);

/**
 * kvp_members_work() - pool->members_work: write a superblock that records losses, if there are any
 *
 * If none becomes durable, the pool is faulted. Takes sb_lock; waits for I/O.
 */
void kvp_members_work(struct work_struct *work);

#endif /* KVP_MEMBERS_H */
