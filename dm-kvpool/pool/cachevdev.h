/* SPDX-License-Identifier: GPL-2.0-only */
/* The cache among the vdevs. */
#ifndef KVP_CACHEVDEV_H
#define KVP_CACHEVDEV_H

#include "pool/pool.h"

/**
 * kvp_cache_settle() - before a start reads the log: is it there? (R14)
 *
 * With no leg of the cache that carries it, an empty log takes its place on the
 * vdevs with data, in pool->sb; nothing is written yet. That is for a log that
 * was empty; one that was not is given up by order only, by the recovery. Return: 0, or -errno
 * with @r filled in.
 */
int __must_check kvp_cache_settle(struct kvp_pool *pool, const struct kvp_start *s,
				  struct kvp_refusal *r);

#endif /* KVP_CACHEVDEV_H */
