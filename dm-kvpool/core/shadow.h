/* SPDX-License-Identifier: GPL-2.0-only */
/* The shadow of a leg: a device that is to take its place, and gets what the leg has. */
#ifndef KVP_CORE_SHADOW_H
#define KVP_CORE_SHADOW_H

#include "core/core.h"

/**
 * kvp_shadowed() - the leg that the pool's shadow is to replace; NULL: there is none. Context: any.
 */
static inline struct kvp_leg *kvp_shadowed(const struct kvp_pool *pool)
{
	/* pairs with show() in pool/shadow.c */
	const struct kvp_vdev *v = smp_load_acquire(&pool->shadow.v);

	return v ? &v->legs[pool->shadow_of] : NULL;
}

/**
 * kvp_leg_shadow() - the shadow, if home writes and table pages for @leg go to it as well; or NULL
 *
 * Writes that heal a copy on @leg do not: the shadow has that version already, and a write that a
 * power cut tears would damage it. Context: any.
 */
static inline struct kvp_leg *kvp_leg_shadow(const struct kvp_leg *leg)
{
	struct kvp_pool *pool = leg->pool;

	return kvp_shadowed(pool) == leg && kvp_leg_resilvers(&pool->shadow) ? &pool->shadow : NULL;
}

/**
 * kvp_legs_beside() - the number of legs, and one more if the shadow has a device. Context: any.
 */
static inline u32 kvp_legs_beside(const struct kvp_pool *pool)
{
	return pool->nr_legs + (READ_ONCE(pool->shadow.bdev) ? 1 : 0);
}

/** kvp_leg_beside() - leg @i of kvp_legs_beside(); the last one is the shadow. Context: any. */
static inline struct kvp_leg *kvp_leg_beside(struct kvp_pool *pool, u32 i)
{
	return i < pool->nr_legs ? &pool->legs[i] : &pool->shadow;
}

#endif /* KVP_CORE_SHADOW_H */
