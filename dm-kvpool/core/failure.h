/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a pool fails: one mode, one setter, one way back.
 *
 * The mode says what requests get. It follows from the reasons that hold at present, as the worst of theirs.
 * kvp_fail() adds a reason: that can only make the mode worse, and when it does, the pool tells so once.
 * Each reason ends in its own way:
 *
 *   KVP_FAIL_COMMIT      the next entry that enough legs take, or a new log
 *   KVP_FAIL_LEGS        kvp_unfault(): `clear`, or a change of legs that was undone
 *   KVP_FAIL_SUPERBLOCK  kvp_sb_commit(): a newer superblock is durable
 *   KVP_FAIL_LOST        a restart: recovery reads the log
 *
 * kvp_unfault() first makes a superblock durable, and ends KVP_FAIL_LEGS only then. docs/design/membership.md
 * has the table of modes. To add a reason, give it a mode in kvp_failure_mode_of(), and a line in that table.
 */
#ifndef KVP_FAILURE_H
#define KVP_FAILURE_H

#include <linux/atomic.h>
#include <linux/types.h>

struct kvp_pool;

/** enum kvp_failure_mode - the worse, the higher */
enum kvp_failure_mode {
	KVP_WORKS,
	KVP_COMMIT_FAILED,	/* too few legs took the newest entry: one at a time is tried, for a waiter */
	KVP_FAULTED,		/* nothing becomes durable until `clear` */
	KVP_NEEDS_RESTART,	/* nothing becomes durable any more: `clear` does not help */
};

/** enum kvp_fail_reason - independent of each other: several may hold */
enum kvp_fail_reason {
	KVP_FAIL_COMMIT,	/* too few legs took a log entry */
	KVP_FAIL_LEGS,		/* no leg is left that carries out writes and flushes */
	KVP_FAIL_SUPERBLOCK,	/* a superblock may be on some leg that the pool does not know of */
	KVP_FAIL_LOST,		/* a flush lost writes, or half a row is home: only the log can tell */
	KVP_FAIL_CLEARING,	/* no reason: `clear` finds out whether the legs take a commit again */
};

/** kvp_failure_mode_of() - the mode that @reasons, a bit for each, make */
static inline enum kvp_failure_mode kvp_failure_mode_of(u32 reasons)
{
	if (reasons & 1u << KVP_FAIL_LOST)
		return KVP_NEEDS_RESTART;
	if (reasons & (1u << KVP_FAIL_LEGS | 1u << KVP_FAIL_SUPERBLOCK))
		return KVP_FAULTED;
	return reasons & 1u << KVP_FAIL_COMMIT ? KVP_COMMIT_FAILED : KVP_WORKS;
}

/**
 * kvp_fail() - the pool fails for one more reason
 * @why: for the event, in words
 *
 * If the pool is faulted by that, or needs a restart from here on, an event says so, and waits for legs end.
 * KVP_FAIL_COMMIT is told by each commit that fails. Context: any; KVP_FAIL_COMMIT under log->lock.
 */
void kvp_fail(struct kvp_pool *pool, enum kvp_fail_reason reason, const char *why);

/**
 * kvp_fail_ended() - @reason holds no longer
 *
 * Only for the functions that the head of this file names. Context: any.
 */
void kvp_fail_ended(struct kvp_pool *pool, enum kvp_fail_reason reason);

/**
 * kvp_fail_clearing() - `clear` begins to find out whether legs work again, or has found out
 *
 * With failmode=wait, requests wait on meanwhile (kvp_pool_waits()). A full barrier. Context: any.
 */
void kvp_fail_clearing(struct kvp_pool *pool, bool begins);

#endif /* KVP_FAILURE_H */
