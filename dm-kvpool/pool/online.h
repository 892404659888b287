/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A leg that is out is brought online: by order, or by itself at a start.
 *
 * 1. kvp_leg_online() refuses a leg that cannot return: it is missing, too small, or still has
 *    strays, or its label does not belong to this history of the pool.
 * 2. The label and the superblock tell up to which era it has everything (what_it_has()).
 * 3. kvp_resilver_join() does the rest (work/resilver.h).
 *
 * At a start, and after a suspend, kvp_returns_unquiesce() does that for legs that were recorded
 * out, if online_auto is set. It leaves out legs that an administrator took offline, and a leg
 * whose history this start gave up. A resilver that was interrupted goes on in any case.
 */
#ifndef KVP_ONLINE_H
#define KVP_ONLINE_H

#include <linux/bitmap.h>

#include "core/core.h"

/**
 * struct kvp_returns - legs that are brought online by themselves
 * @lock: one leg at a time
 * @wanted: a bit for each leg of the pool
 * @quiesce: not now
 */
struct kvp_returns {
	struct kvp_pool *pool;
	struct mutex lock;
	struct delayed_work work;
	DECLARE_BITMAP(wanted, KVP_MAX_LEGS);
	bool quiesce;
};

/**
 * kvp_leg_online() - bring a leg of a vdev with data online
 *
 * Return: 0: its resilver has begun; -EALREADY: it is in sync, or resilvers; -EINVAL: it is an SSD
 * of a cache; -ENODEV: it is missing; -EBUSY: it still has strays; -ESTALE: its label belongs to
 * another history; -ENOSPC: it is too small; -EROFS; -EIO; -ENOMEM; or another error of its label.
 * Context: process; waits for I/O.
 */
int __must_check kvp_leg_online(struct kvp_pool *pool, struct kvp_leg *leg, struct kvp_refusal *r);

/**
 * kvp_leg_resized() - the device of @leg has @blocks blocks now
 *
 * A leg that is out may have got another size under the same device number, by nbd, dm or a resize.
 * The size tells where its second label is. A leg that is written keeps the size under which that
 * was begun. Context: process; no leg is being brought online, or it waits for that.
 */
void kvp_leg_resized(struct kvp_leg *leg, u64 blocks);

/** kvp_return_wanted() - set whether @leg is brought online when the pool goes on. Context: any. */
void kvp_return_wanted(struct kvp_leg *leg, bool wanted);

/**
 * kvp_returns_shift() - legs from @at on have new numbers: one higher with @up, else one lower
 *
 * The pool is quiesced. Context: process.
 */
void kvp_returns_shift(struct kvp_pool *pool, u32 at, bool up);

struct kvp_refusal;
struct kvp_start;

/**
 * kvp_pool_reconnect() - find lost legs on devices of the table that the pool does not have
 * @s: the table
 *
 * Each leg that is found is brought online when the pool goes on, as by order. Other devices are
 * left alone. The pool is quiesced. Context: process; waits for I/O.
 */
void kvp_pool_reconnect(struct kvp_pool *pool, const struct kvp_start *s);

/**
 * kvp_returns_init() - at the start of a pool: note the legs that are to return by themselves
 *
 * Nothing returns before kvp_returns_unquiesce(). Context: process.
 */
void kvp_returns_init(struct kvp_pool *pool);

/** kvp_returns_wait() - true if some leg has yet to be brought online by itself. Any context. */
static inline bool kvp_returns_wait(const struct kvp_pool *pool)
{
	return !bitmap_empty(pool->returns->wanted, KVP_MAX_LEGS) && !kvp_pool_readonly(pool);
}

/**
 * kvp_returns_quiesce() - let no leg return by itself until kvp_returns_unquiesce()
 *
 * It waits for the leg that is being brought online. kvp_returns_end_soon() does not. Then
 * kvp_returns_work() is true as long as that goes on. Context: process.
 */
void kvp_returns_quiesce(struct kvp_pool *pool);
void kvp_returns_end_soon(struct kvp_pool *pool);
bool kvp_returns_work(struct kvp_pool *pool);
void kvp_returns_unquiesce(struct kvp_pool *pool);

#endif /* KVP_ONLINE_H */
