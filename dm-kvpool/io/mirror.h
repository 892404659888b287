/* SPDX-License-Identifier: GPL-2.0-only */
/* Choosing a leg to read, or one to pass over, and flushing all. */
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
 * kvp_leg_choose() - choose the leg to read @nr blocks from @at on; counts the read as in flight
 *
 * In a parity1 the blocks are all in one chunk. Return: the leg; NULL: no leg in use has them, or
 * in a parity1 that leg is read last. Then kvp_stripe_read_begin() decides. The caller calls
 * kvp_leg_unchoose() when the read has ended. Any context.
 */
struct kvp_leg *kvp_leg_choose(const struct kvp_spot *at, u32 nr);
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
 * kvp_leg_to_pass_over() - the leg of @v, a parity1, whose blocks should be made from the others
 *
 * That is a leg which is read last, if all legs are in use, and the others are not too busy
 * (kvp_slow_leaves_to_others()). It takes its probes (kvp_slow_probes()), which the caller counts.
 * Return: NULL: none. Context: any.
 */
struct kvp_leg *kvp_leg_to_pass_over(const struct kvp_vdev *v);

/**
 * kvp_legs_flush() - flush all legs that take writes, except those of a cache; give up those that
 * fail
 *
 * Return: 0; -EIO: a leg that the pool needs failed, or none is left. Context: process, waits for
 * I/O.
 */
int __must_check kvp_legs_flush(struct kvp_pool *pool);

#endif /* KVP_MIRROR_H */
