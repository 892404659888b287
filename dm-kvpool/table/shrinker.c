// SPDX-License-Identifier: GPL-2.0-only
#include "core/core.h"
#include "table/shrinker.h"
#include "table/table.h"

static unsigned long count_pages(struct shrinker *shrinker, struct shrink_control *sc)
{
	const struct kvp_table *t = kvp_shrinker_private(shrinker);
	u32 all = READ_ONCE(t->nr_pages), dirty = READ_ONCE(t->nr_dirty);

	return all > dirty ? all - dirty : SHRINK_EMPTY;
}

/* Called under memory pressure: it only tries locks, and allocates nothing. */
static unsigned long scan_pages(struct shrinker *shrinker, struct shrink_control *sc)
{
	u32 freed = kvp_table_reclaim(kvp_shrinker_private(shrinker), sc->nr_to_scan);

	return freed ?: SHRINK_STOP;
}

int kvp_table_shrinker_add(struct kvp_shrinker *s, struct kvp_table *t)
{
	return kvp_shrinker_register(s, t, count_pages, scan_pages, "kvpool-table");
}

void kvp_table_shrinker_remove(struct kvp_shrinker *s)
{
	kvp_shrinker_unregister(s);
}
