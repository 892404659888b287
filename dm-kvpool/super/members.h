/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Superblocks, and which legs are members.
 *
 * The superblock in memory is pool->sb. Code that changes it holds sb_lock, and calls
 * kvp_sb_commit(), which writes it to every leg in use, in both rings. So all changes of a pool end
 * in one function: losses of legs, checkpoints, tunables, marks, progress of a scrub.
 *
 * The loss of a leg has two halves. kvp_leg_fail() takes the leg out in memory, at once, from any
 * context. From then on kvp_members_dirty() is true, and no FLUSH is answered. The superblock that
 * says so, under a new epoch, ends that (R16): members_work writes it, or the first caller of
 * kvp_members_settle() does.
 *
 * A commit of a superblock:
 * 1. It notes how many losses there are, and takes over which legs are out (note_losses()).
 * 2. It raises the sequence, and writes (write_round()). A ring that may hold the only copy of the
 *    newest superblock is written after the other one (write_in_turn(), R13).
 * 3. count_taken() gives up legs that took it in neither ring. If the pool cannot do without one of
 *    them, the superblock does not count, and the pool is faulted (core/failure.h).
 * 4. If legs were lost meanwhile, all of it begins again.
 * 5. The members client is told that losses are recorded: the log goes on.
 *
 * Locks: sb_lock is a mutex, held while superblocks are written. Under it, members_lock (irqsave)
 * guards leg states, so that completions can give a leg up. Code with sb_lock held never waits for
 * the log, for a checkpoint, or for a range.
 *
 * Where else: reading labels and choosing among them is pool/start.c, their codec
 * format/superblock.c, the ring of events events.c, and what was found bad finds.c.
 */
#ifndef KVP_MEMBERS_H
#define KVP_MEMBERS_H

#include "core/core.h"

/**
 * struct kvp_members_client - calls about superblocks, and about legs that go; registered with the
 * pool
 * @about_to_write: a superblock is about to be written; caller holds sb_lock (kvp_log_new_check())
 * @note: put the progress of other parts (a scrub) into the superblock; caller holds sb_lock
 * @recorded: the loss of a leg is recorded; caller holds sb_lock (kvp_log_recorded())
 * @left: a leg is out of use, or was reported to be. Any context.
 * @faulted: the pool is faulted: waits for legs end. Any context.
 */
struct kvp_members_client {
	void (*about_to_write)(struct kvp_pool *pool);
	void (*note)(struct kvp_pool *pool);
	void (*recorded)(struct kvp_pool *pool);
	void (*left)(struct kvp_pool *pool);
	void (*faulted)(struct kvp_pool *pool);
};

/* For struct kvp_pool: legs that fail are taken out, and recorded so. */
extern const struct kvp_leg_client kvp_members_hear;

/**
 * kvp_sb_commit() - write pool->sb to all in-sync legs, both rings, with FUA
 *
 * Raises the sequence. A leg that fails is recorded out on the others, in a
 * further superblock. Caller holds sb_lock. Return: 0, -EIO if no leg took it,
 * or of a parity1 too few did.
 */
int __must_check kvp_sb_commit(struct kvp_pool *pool);

/**
 * kvp_sb_roll_forward() - kvp_sb_commit() of the first superblock of a start
 *
 * A leg may have the next superblock in a ring that cannot be read (recovery.next_unread). It was
 * cut, and counts for nothing. It may become readable when pages that it names were written over,
 * so it must never be newer than this one, nor have the same number. So number and epoch pass it
 * by. They are raised only here: until the log was read, an entry of a higher epoch than the
 * superblock's must be noticed (R12). The slot is the one behind it, so that it is not written over
 * either (R13).
 *
 * Context and return: as kvp_sb_commit().
 */
int __must_check kvp_sb_roll_forward(struct kvp_pool *pool);

/**
 * kvp_sb_note() - kvp_sb_commit() where the caller does not depend on it
 *
 * If no leg takes the superblock, the pool is faulted by that, and stays so until a newer one is
 * durable. Caller holds sb_lock.
 */
void kvp_sb_note(struct kvp_pool *pool);

/**
 * kvp_unfault() - a faulted pool goes on: the only way back from KVP_FAIL_LEGS
 * @anew: write a superblock in any case, as pool->sb has changed
 *
 * If a superblock failed before, some leg may have it. Then, or with @anew, a newer one becomes
 * durable first. KVP_FAIL_LEGS ends only after that. Where a restart is needed, the pool stays
 * faulted. Caller holds sb_lock. Return: 0, or -EIO: no superblock became durable, and the pool
 * stays faulted.
 */
int __must_check kvp_unfault(struct kvp_pool *pool, bool anew);

/**
 * kvp_sb_undone() - a change of pool->sb was undone: write a newer superblock
 *
 * Some leg may have the superblock of the change. If no newer one becomes durable, the pool is
 * faulted by that, and kvp_unfault() tries again before the pool goes on. So the caller, whose
 * change has failed anyway, does not depend on it. The caller has raised the epoch, and holds
 * sb_lock.
 */
void kvp_sb_undone(struct kvp_pool *pool);

/**
 * kvp_sb_join() - label @nr legs from legs[@first] on as about to join the pool
 *
 * The label has the content of pool->sb, and says that no pool may start from it. It is
 * durable when 0 is returned; -EIO: some ring did not take it. Caller holds sb_lock.
 */
int __must_check kvp_sb_join(struct kvp_pool *pool, u32 first, u32 nr);

/**
 * kvp_sb_note_shadow() - commit a superblock that knows the shadow's next label, and then write that
 *
 * So the device never has a label that no leg knows. Context: as kvp_sb_note(). Return: false: the
 * label cannot be written, and the shadow is given up.
 */
bool kvp_sb_note_shadow(struct kvp_pool *pool);

/**
 * kvp_sb_label_shadow() - write the shadow's label: that of a leg in the place of the one that it is
 * to replace, which has what pool->sb->shadow says
 * @last: the next superblock makes it a leg. Two labels have the numbers before that, so that those
 *	two are the last on the device, as on any leg (R13). Else its labels have numbers of their own
 *
 * As kvp_sb_join(). The legs get nothing.
 */
int __must_check kvp_sb_label_shadow(struct kvp_pool *pool, bool last);

/**
 * kvp_log_legs_fail() - too few legs of the cache @v took an entry: the log is lost
 * @which: bit per leg of @v: those that did not take it
 *
 * All are taken out together, so each of them has all that counts. Caller holds build_lock.
 */
void kvp_log_legs_fail(struct kvp_vdev *v, unsigned long which);

/**
 * kvp_log_legs_keep() - the log of a cache is lost with all its legs that no superblock records out
 *
 * None of them lacks an entry. Caller holds sb_lock and members_lock.
 */
void kvp_log_legs_keep(struct kvp_pool *pool);

/* Memory for superblock writes, so that recording a loss needs none. */
int __must_check kvp_sb_buffers_alloc(struct kvp_pool *pool);
void kvp_sb_buffers_free(struct kvp_pool *pool);

/** kvp_members_settle() - wait until every loss is recorded; 0 or -EIO. Context: process. */
int __must_check kvp_members_settle(struct kvp_pool *pool);

/**
 * kvp_leg_resilver() - @leg, which is out, takes writes from now on (R17)
 * @in_sync_era, @cursor, @cursor_era: what it has, for struct kvp_leg_info
 *
 * A superblock under a new epoch says so, on @leg too. If @leg fails that, it is out again when
 * this returns. Requests that were on their way before do not go to it: the caller waits for those.
 * Caller holds checkpoint_lock and sb_lock. Return: 0; -EBUSY: the leg still has requests that lost
 * their waiters, and is out as before; -EIO: no superblock became durable, and the pool is faulted.
 */
int __must_check kvp_leg_resilver(struct kvp_leg *leg, u32 in_sync_era, kvp_vblock_t cursor,
				  u32 cursor_era);

/** kvp_shadow_may_join() - true if the shadow is there, does not resilver, and may. Context: any. */
bool kvp_shadow_may_join(const struct kvp_pool *pool);

/**
 * kvp_shadow_resilver() - home writes and table pages of its leg go to the shadow from now on
 *
 * Requests that were on their way before do not: the caller waits for those. No superblock says so,
 * as nothing depends on it; but its label gets a new number before. Caller holds checkpoint_lock and sb_lock. Return: false: its leg is not
 * in sync, the shadow has failed, or has not answered all requests.
 */
bool kvp_shadow_resilver(struct kvp_pool *pool);

/**
 * kvp_shadow_complete() - the shadow has all that its leg has, durably; as long as it resilvers
 *
 * Return: false: it was left meanwhile. Caller holds sb_lock.
 */
bool kvp_shadow_complete(struct kvp_pool *pool);

/**
 * kvp_legs_resilvered() - legs of @v that still resilver are in sync from now on
 * @which: a bit per leg of @v
 *
 * They have everything, durably: all that is at home, all table pages, and the log from its durable
 * tail on. Caller holds sb_lock. Return: as kvp_leg_resilver().
 */
int __must_check kvp_legs_resilvered(struct kvp_vdev *v, u64 which);

/**
 * kvp_leg_offline() - take a leg out by order; one that is out already does not return by itself then
 *
 * Return: 0; -EBUSY: it is the last one in sync; -EROFS; -EIO. Context: process; waits for I/O.
 */
int kvp_leg_offline(struct kvp_pool *pool, struct kvp_leg *leg);

/** kvp_losses_survivable() - how many more legs may be lost, whichever they are */
u32 kvp_losses_survivable(const struct kvp_pool *pool);

void kvp_members_work(struct work_struct *work);

#endif /* KVP_MEMBERS_H */
