/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which blocks changed since a point in the history of the pool, for backups that copy only those.
 *
 * Each entry of the table has the era of its birth, and no block changes without a new entry. A
 * write makes one when it has been written home, and a discard when it is applied. Poison makes
 * one, too, and so does every block that a recovery resolves. Data in the buffer or the log has no
 * era yet. So a point is taken when all of that is home:
 *
 *   1. kvp_changed_point() writes home what was accepted so far, ends the era, and takes a
 *      checkpoint. The era of this checkpoint, A, is the point.
 *   2. kvp_changed_next() walks the table for all that was born in era S or later.
 *
 * Changes since S that were accepted before step 1 began are in that checkpoint: in the table, and
 * in its pointers. So step 2 finds them. Changes that are not in that checkpoint get the era A or a
 * later one, so the next walk, from A on, finds them. A is durable before the caller gets it. So
 * after a power cut, later changes still have later eras.
 *
 * The walk may find more than what changed:
 *
 *  - blocks of the era S that changed before S was taken;
 *  - blocks that a recovery resolved to the same contents;
 *  - all blocks below a pointer that does not say which of them changed (struct kvp_stretch).
 */
#ifndef KVP_CHANGED_H
#define KVP_CHANGED_H

#include "format/point.h"

struct kvp_pool;

/**
 * kvp_changed_check() - check that @p is a point of this pool's history from which changes can be
 * told
 *
 * Return: 0; -ERANGE: its era is still to come; -ESTALE: it belongs to another pool, or to a
 * history that was given up; -ENOTUNIQ: it has no tag, and the pool once went back to older
 * contents, so it may belong to either history; -EPERM: this start is read-only and by order, and
 * may itself have gone back. Context: any.
 */
int __must_check kvp_changed_check(const struct kvp_pool *pool, const struct kvp_point *p);

/**
 * kvp_changed_point() - take a point, as above
 * @p: receives it, with its tag
 *
 * A pool that was started read-only has nothing to write home. Return: 0; -EINTR: the pool is about
 * to be suspended; -EPERM as above; or -EIO. Context: process; waits until everything is home,
 * while writers go on.
 */
int __must_check kvp_changed_point(struct kvp_pool *pool, struct kvp_point *p);

/**
 * kvp_changed_next() - find the next blocks that changed in era @since or later
 * @from: where to begin; receives where to go on
 * @first, @count: receive neighbours that changed. A count of 0: none were found, but there may be
 *	more from @from on
 *
 * Looks into one leaf at most. Return: 1; 0: there are none from *@from on; -EINTR: the pool is
 * about to be suspended; -ENOMEM. Context: process, may wait for I/O; takes no lock over that.
 */
int __must_check kvp_changed_next(struct kvp_pool *pool, u32 since, kvp_block_t *from,
				  kvp_block_t *first, u64 *count);

#endif /* KVP_CHANGED_H */
