/* SPDX-License-Identifier: GPL-2.0-only */
/* Legs with the same contents: choosing one to read, and flushing all. */
#ifndef KVP_MIRROR_H
#define KVP_MIRROR_H

#include "core/core.h"

/**
 * kvp_leg_best_copy() - choose the leg of @v to read @block from, if all legs have it. Any context.
 *
 * Return: NULL: no leg is in use.
 */
struct kvp_leg *kvp_leg_best_copy(const struct kvp_vdev *v, kvp_lblock_t block);

/**
 * kvp_leg_choose() - choose the leg to read @nr blocks at @block from; counts the read as in flight
 *
 * In a parity1 the blocks are all in one chunk. Return: the leg, or NULL: no leg in use has them.
 * The caller calls kvp_leg_unchoose() when the read has ended. Any context.
 */
struct kvp_leg *kvp_leg_choose(struct kvp_pool *pool, kvp_block_t block, u32 nr);
void kvp_leg_unchoose(struct kvp_leg *leg);

/** kvp_leg_choose_copy() - the same for legs of @v that all have the same contents at @block */
struct kvp_leg *kvp_leg_choose_copy(const struct kvp_vdev *v, kvp_lblock_t block, u32 nr);

/**
 * kvp_leg_choose_log() - the same for blocks at kvp_log_place() on a cache
 *
 * They may be on that leg only.
 */
struct kvp_leg *kvp_leg_choose_log(const struct kvp_vdev *v, struct kvp_place at, u32 nr);

/** kvp_leg_choose_this() - count a read of @leg as in flight; for a read that has no other leg */
void kvp_leg_choose_this(struct kvp_leg *leg);

/**
 * kvp_legs_flush() - flush all legs that take writes, except those of a cache; give up those that
 * fail
 *
 * Return: 0; -EIO: a leg that the pool needs failed, or none is left. Context: process, waits for
 * I/O.
 */
int __must_check kvp_legs_flush(struct kvp_pool *pool);

#endif /* KVP_MIRROR_H */
