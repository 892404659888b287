// SPDX-License-Identifier: GPL-2.0-only
#include "ram/rcache.h"
#include "ram/shrinker.h"

static unsigned long count_pages(struct shrinker *shrinker, struct shrink_control *sc)
{
	return kvp_rcache_used(kvp_shrinker_private(shrinker)) ?: SHRINK_EMPTY;
}

/* Reclaim may call this anywhere, so it only tries locks, and allocates nothing. */
static unsigned long scan_pages(struct shrinker *shrinker, struct shrink_control *sc)
{
	u32 nr = min_t(unsigned long, sc->nr_to_scan, U32_MAX);

	return kvp_rcache_shrink(kvp_shrinker_private(shrinker), nr) ?: SHRINK_STOP;
}

int kvp_rcache_shrinker_add(struct kvp_shrinker *s, struct kvp_rcache *rc)
{
	return kvp_shrinker_register(s, rc, count_pages, scan_pages, "kvpool-ram");
}

void kvp_rcache_shrinker_remove(struct kvp_shrinker *s)
{
	kvp_shrinker_unregister(s);
}
