/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KVP_CACHE_SHRINKER_H
#define KVP_CACHE_SHRINKER_H

#include "compat/shrinker.h"

struct kvp_rcache;

/**
 * kvp_rcache_shrinker_add() - let the kernel take pages of the RAM cache when memory is short
 *
 * Return: 0 or -ENOMEM. Context: process, may sleep.
 */
int __must_check kvp_rcache_shrinker_add(struct kvp_shrinker *s, struct kvp_rcache *rc);
/**
 * kvp_rcache_shrinker_remove() - wait until the kernel takes no page, and let it take no more
 *
 * Does nothing if @s is zeros, or was removed. Context: process, may sleep.
 */
void kvp_rcache_shrinker_remove(struct kvp_shrinker *s);

#endif /* KVP_CACHE_SHRINKER_H */
