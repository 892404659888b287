/* SPDX-License-Identifier: GPL-2.0-only */
/* The cache at a start of the pool, and at a change of its SSDs. */
#ifndef KVP_CACHEVDEV_H
#define KVP_CACHEVDEV_H

#include "pool/pool.h"

struct kvp_leg;
struct kvp_refusal;
struct kvp_start;

/**
 * kvp_cache_check() - check that the cache with the log is there, before a start reads the log
 * (R14)
 *
 * If no leg of that cache is there, pool->sb gets an empty log on the vdevs with data; nothing is
 * written yet. That is right only for a log that was empty. Another log is discarded only by order,
 * in the recovery. Return: 0, or -errno with @r filled in. Context: process.
 */
int __must_check kvp_cache_check(struct kvp_pool *pool, const struct kvp_start *s,
				  struct kvp_refusal *r);

/**
 * kvp_cache_leg_leaves() - true if @leg is of a cache that @s takes out of the pool, or whose SSDs
 * it changes. Context: process, under sb_lock or with the pool quiesced.
 */
bool kvp_cache_leg_leaves(const struct kvp_leg *leg, const struct kvp_start *s);

#endif /* KVP_CACHEVDEV_H */
