/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a pool fails: one mode, one setter, one way back.
 *
 * The mode decides what requests get. It is the worst mode of all reasons that hold. kvp_fail()
 * adds a reason. That can only make the mode worse, and each step raises one event. Each reason
 * ends in its own way:
 *
 *   KVP_FAIL_COMMIT      the next entry that enough legs take, or a new log
 *   KVP_FAIL_LEGS        kvp_unfault(): `clear`, or a change of legs that was undone
 *   KVP_FAIL_SUPERBLOCK  kvp_sb_commit(): a newer superblock is durable
 *   KVP_FAIL_LOST        a restart: the recovery reads the log
 *   KVP_FAIL_HOST        a restart, if no other host has the pool by then
 *
 * kvp_unfault() ends KVP_FAIL_LEGS only when no leg can have a superblock that the pool does not
 * know. docs/design/membership.md has the table of modes. To add a reason, give it a mode in
 * kvp_failure_mode_of(), and a line in that table.
 *
 * A part that knows no pool holds the pool's struct kvp_failure.
 */
#ifndef KVP_FAILURE_H
#define KVP_FAILURE_H

#include <linux/atomic.h>
#include <linux/types.h>

/** enum kvp_failure_mode - a higher value is worse */
enum kvp_failure_mode {
	KVP_WORKS,
	KVP_COMMIT_FAILED,	/* too few legs took the newest entry; waiters get one try each */
	KVP_FAULTED,		/* nothing becomes durable until `clear` */
	KVP_NEEDS_RESTART,	/* nothing becomes durable any more: `clear` does not help */
};

/** enum kvp_fail_reason - independent of each other: several may hold */
enum kvp_fail_reason {
	KVP_FAIL_COMMIT,	/* too few legs took a log entry */
	KVP_FAIL_LEGS,		/* no leg is left that takes writes and flushes */
	KVP_FAIL_SUPERBLOCK,	/* some leg may have a superblock that the pool does not know */
	/* A flush lost writes, or half a row is home: only the log can tell. */
	KVP_FAIL_LOST,
	/* Another host has taken over the pool, or may have: no I/O at all. */
	KVP_FAIL_HOST,
	/*
	 * This is no reason, but is read together with them: `clear` is trying whether legs work
	 * again.
	 */
	KVP_FAIL_CLEARING,
};

/** kvp_failure_mode_of() - the mode for @reasons, a bit for each. Pure. */
static inline enum kvp_failure_mode kvp_failure_mode_of(u32 reasons)
{
	if (reasons & (1u << KVP_FAIL_LOST | 1u << KVP_FAIL_HOST))
		return KVP_NEEDS_RESTART;
	if (reasons & (1u << KVP_FAIL_LEGS | 1u << KVP_FAIL_SUPERBLOCK))
		return KVP_FAULTED;
	return reasons & 1u << KVP_FAIL_COMMIT ? KVP_COMMIT_FAILED : KVP_WORKS;
}

/**
 * struct kvp_failure - how a pool fails
 * @reasons: bits of enum kvp_fail_reason; changed only by failure.c
 * @faulted: kvp_fail() made the pool faulted, or made a restart necessary; any context
 */
struct kvp_failure {
	atomic_t reasons;
	void (*faulted)(struct kvp_failure *f, const char *why);
};

/** kvp_failure_mode() - how the pool fails now. Context: any. */
static inline enum kvp_failure_mode kvp_failure_mode(const struct kvp_failure *f)
{
	return kvp_failure_mode_of((u32)atomic_read(&f->reasons));
}

/** kvp_failed_by() - true if @reason holds. Context: any. */
static inline bool kvp_failed_by(const struct kvp_failure *f, enum kvp_fail_reason reason)
{
	return (u32)atomic_read(&f->reasons) >> reason & 1;
}

/** kvp_faulted() - true if nothing becomes durable until `clear`, or at all. Context: any. */
static inline bool kvp_faulted(const struct kvp_failure *f)
{
	return kvp_failure_mode(f) >= KVP_FAULTED;
}

/**
 * kvp_failure_waits() - true if requests that lack legs wait, and do not fail
 * @failmode: the tunable
 *
 * Also true while `clear` finds out whether legs are back. Not if another host has the pool: no
 * order mends that. Context: any.
 */
static inline bool kvp_failure_waits(const struct kvp_failure *f, u64 failmode)
{
	u32 reasons = (u32)atomic_read(&f->reasons);

	return failmode && !(reasons >> KVP_FAIL_HOST & 1) &&
	       (kvp_failure_mode_of(reasons) >= KVP_FAULTED || reasons >> KVP_FAIL_CLEARING & 1);
}

/**
 * kvp_fail() - add a reason why the pool fails
 * @why: for the event, in words
 *
 * If that makes the pool faulted, or makes a restart necessary, it raises an event and ends waits
 * for legs. Each commit that fails raises its own event for KVP_FAIL_COMMIT. Context: any; for
 * KVP_FAIL_COMMIT under log->lock.
 */
void kvp_fail(struct kvp_failure *f, enum kvp_fail_reason reason, const char *why);

/**
 * kvp_fail_late() - the time limit of the heartbeat is over: KVP_FAIL_HOST; returns true
 *
 * Context: any.
 */
bool kvp_fail_late(struct kvp_failure *f);

/**
 * kvp_fail_ended() - @reason does not hold any more
 *
 * Only for the functions that the head of this file names. Context: any.
 */
void kvp_fail_ended(struct kvp_failure *f, enum kvp_fail_reason reason);

/**
 * kvp_fail_clearing() - `clear` begins to try whether legs work again, or has ended
 *
 * While it tries, requests wait if failmode=wait (kvp_pool_waits()). A full barrier. Context: any.
 */
void kvp_fail_clearing(struct kvp_failure *f, bool begins);

#endif /* KVP_FAILURE_H */
