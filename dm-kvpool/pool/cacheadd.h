/* SPDX-License-Identifier: GPL-2.0-only */
/* The cache while vdevs are added (add.c): it is the last vdev, before and after. */
#ifndef KVP_CACHEADD_H
#define KVP_CACHEADD_H

#include "core/core.h"

struct kvp_refusal;
struct kvp_start;

/**
 * kvp_cache_beside() - check that vdevs can be added beside the pool's cache, or a cache beside its
 * vdevs
 *
 * Return: 0, or -errno with @r filled in. Context: any.
 */
int __must_check kvp_cache_beside(const struct kvp_sb *sb, const struct kvp_start *s,
				  struct kvp_refusal *r);

/**
 * kvp_cache_goes_on() - true if no vdev of the table behind those with data is a cache, but the
 * last, which is the pool's own if it has one. Context: any.
 */
bool kvp_cache_goes_on(const struct kvp_sb *sb, const struct kvp_start *s);

/**
 * kvp_cache_lay_out() - put the pool's cache behind the vdevs of @next, or let a new one begin idle
 *
 * Context: any.
 */
void kvp_cache_lay_out(const struct kvp_sb *sb, struct kvp_sb *next);

/** kvp_cache_added() - the pool has more vdevs than @old: if one is a cache, it is idle */
void kvp_cache_added(struct kvp_pool *pool, const struct kvp_sb *old);

#endif /* KVP_CACHEADD_H */
