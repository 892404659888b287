/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which blocks changed since a point in the history of the pool, for backups that copy only those.
 *
 * An entry of the table has the era of its birth, and no block changes without a new entry: a write
 * when it comes home, a discard when it is applied, poison, and all that a recovery resolves. What
 * is in the buffer or the log has no era yet. So a point is taken once all that is home:
 *
 *   1. kvp_changed_point() brings home what was accepted so far, ends the era, and takes a
 *      checkpoint. The era of that one, A, is the point.
 *   2. kvp_changed_next() walks the table for all that was born in era S or later.
 *
 * Whatever was accepted before 1 began and changed since S is in the table, and in the pointers of
 * that checkpoint: 2 finds it. Whatever is not in that checkpoint gets the era A or a later one:
 * the next walk, from A on, finds it. A is durable before anything learns of it, so after a power
 * cut later changes still have later eras.
 *
 * More than what changed may be found: blocks of the era S that changed before S was taken, what a
 * recovery resolved to the same contents, and blocks below a pointer that tells only of all of them
 * (struct kvp_stretch).
 */
#ifndef KVP_CHANGED_H
#define KVP_CHANGED_H

#include "format/point.h"

struct kvp_pool;

/**
 * kvp_changed_check() - is @p a point of this pool's history, from which changes can be told?
 *
 * Return: 0; -ERANGE: it is still to come; -ESTALE: it belongs to another pool, or to a history
 * that was given up; -ENOTUNIQ: it has no tag, and the pool went back, so it may belong to either
 * history; -EPERM: this start, read-only and by order, may itself be one that goes back. Context:
 * any.
 */
int __must_check kvp_changed_check(const struct kvp_pool *pool, const struct kvp_point *p);

/**
 * kvp_changed_point() - take a point, as above
 * @p: receives it, with its tag
 *
 * Of a pool that was started read-only, nothing is to be brought home. Return: 0; -EINTR: the pool
 * is about to be suspended; -EPERM as above; or -EIO. Context: process, waits until everything is
 * home, beside writers.
 */
int __must_check kvp_changed_point(struct kvp_pool *pool, struct kvp_point *p);

/**
 * kvp_changed_next() - the next blocks that changed in era @since or later
 * @from: where to look; receives where to go on
 * @first, @count: receive neighbours that changed; a count of 0: none, but there may be more behind
 *	@from
 *
 * Looks into one leaf at most. Return: 1; 0: there is none from *@from on; -EINTR: the pool is
 * about to be suspended; -ENOMEM. Context: process, may wait for I/O; takes no lock over that.
 */
int __must_check kvp_changed_next(struct kvp_pool *pool, u32 since, kvp_block_t *from,
				  kvp_block_t *first, u64 *count);

#endif /* KVP_CHANGED_H */
