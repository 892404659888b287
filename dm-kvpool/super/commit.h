/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When a superblock counts.
 *
 * A commit of a superblock:
 * 1. It notes the number of losses, and records out the legs that are out (note_losses()).
 * 2. It raises the sequence, and writes (kvp_sb_write_round()). A ring that may hold the only copy
 *    of the newest superblock is written after the other ring (kvp_sb_write_in_turn(), R13).
 * 3. count_taken() gives up each leg that took the superblock in neither ring. If the pool cannot
 *    do without one of these legs, the superblock does not count, and the pool is faulted
 *    (core/failure.h).
 * 4. If legs were lost meanwhile, all of it begins again.
 * 5. The client is told that losses are recorded: the log goes on.
 */
#ifndef KVP_COMMIT_SB_H
#define KVP_COMMIT_SB_H

struct kvp_failure;
struct kvp_pool;
struct kvp_sb;

/**
 * struct kvp_sb_client - calls about superblocks; registered with the pool
 * @about_to_write: a superblock is about to be written; caller holds sb_lock (kvp_log_new_check())
 * @note: put the progress of other parts (a scrub) into the superblock; caller holds sb_lock
 * @recorded: the loss of a leg is recorded; caller holds sb_lock (kvp_log_recorded())
 * @faulted: the pool is faulted: waits for legs must end. Any context.
 */
struct kvp_sb_client {
	void (*about_to_write)(struct kvp_pool *pool);
	void (*note)(struct kvp_pool *pool);
	void (*recorded)(struct kvp_pool *pool);
	void (*faulted)(struct kvp_pool *pool);
};

/** kvp_members_faulted() - faulted() of a pool's failure state. Any context. */
void kvp_members_faulted(struct kvp_failure *f, const char *why);

/**
 * kvp_sb_commit() - write pool->sb to all legs in use, both rings, with FUA
 *
 * Raises the sequence. A leg that fails is recorded out on the others, by a further superblock.
 * Caller holds sb_lock. Context: process, waits for I/O. Return: 0; -EIO: a leg that the pool needs
 * did not take it, or none did, and the pool is faulted.
 */
int __must_check kvp_sb_commit(struct kvp_pool *pool);

/**
 * kvp_sb_publish() - let kvp_sb_published() give pool->sb as it is now
 *
 * kvp_sb_commit() calls it for each superblock that counts. A start calls it once the pool runs,
 * since a read-only pool commits none. Caller holds sb_lock. Context: process, does not sleep.
 */
void kvp_sb_publish(struct kvp_pool *pool);

/**
 * kvp_sb_published() - copy the newest superblock that counts to @copy
 *
 * For readers that must not wait: sb_lock is held while superblocks are written, for as long as a
 * leg hangs. Context: any, does not sleep.
 */
void kvp_sb_published(struct kvp_pool *pool, struct kvp_sb *copy);

/**
 * kvp_sb_roll_forward() - kvp_sb_commit() of the first superblock of a start
 *
 * A leg may have the next superblock in a ring that cannot be read (recovery.next_unread). Its
 * write was cut, so it does not count. It may become readable after pages that it names were
 * overwritten. So it must never be newer than this superblock, nor have the same sequence. This
 * function raises sequence and epoch by more than it can have. They are raised only here, after the
 * log was read: until then an entry of a higher epoch than the superblock's must be noticed (R12).
 * The new superblock goes to the slot behind the unreadable one, so that this one is not
 * overwritten either (R13).
 *
 * Context and return: as kvp_sb_commit().
 */
int __must_check kvp_sb_roll_forward(struct kvp_pool *pool);

/**
 * kvp_sb_note() - kvp_sb_commit() for a caller that does not depend on the result
 *
 * If no leg takes the superblock, the pool is faulted, and stays so until a newer one is durable.
 * Caller holds sb_lock. Context: process, waits for I/O.
 */
void kvp_sb_note(struct kvp_pool *pool);

/**
 * kvp_unfault() - let a faulted pool go on: the only way back from KVP_FAIL_LEGS
 * @anew: write a superblock in any case, as pool->sb has changed
 *
 * If a superblock failed before, some leg may have it. In this case, or with @anew, a newer
 * superblock becomes durable first. KVP_FAIL_LEGS ends only after that. Where a restart is needed,
 * the pool stays faulted. Caller holds sb_lock. Return: 0; -EIO: no superblock became durable, and
 * the pool stays faulted. Context: process, waits for I/O.
 */
int __must_check kvp_unfault(struct kvp_pool *pool, bool anew);

/**
 * kvp_sb_undone() - a change of pool->sb was undone: write a newer superblock
 *
 * Some leg may have the superblock of the change. If no newer one becomes durable, the pool is
 * faulted, and kvp_unfault() tries again before the pool goes on. So the caller, whose change has
 * failed anyway, does not depend on the result. The caller has raised the epoch, and holds sb_lock.
 * Context: process, waits for I/O.
 */
void kvp_sb_undone(struct kvp_pool *pool);

#endif /* KVP_COMMIT_SB_H */
