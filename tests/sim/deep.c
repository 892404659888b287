// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tables of two and three levels. Pools of tests are so small that one level would do; sim_least_levels has new ones
 * made deeper. Parts of other suites run on them, cut everywhere, and what is about pages above the leaves.
 */
#include <string.h>

#include "suite.h"
#include "trouble.h"

static u32 copies_of_page(const struct host *h)
{
	return disks.nr * kvp_table_copies(h->pool->vdevs[0].g);
}

/* Copy @n of the page that page_at() found. */
static u64 copy_at(const struct host *h, u64 at, u32 n)
{
	return kvp_page_copy(h->pool->vdevs[0].g, at, n / disks.nr);
}

static bool same_copies(struct host *h, u64 at)
{
	u8 first[KVP_BLOCK_SIZE], other[KVP_BLOCK_SIZE];
	u32 n;

	image_read(&disks.img[0], at, first);
	for (n = 1; n < copies_of_page(h); n++) {
		image_read(&disks.img[n % disks.nr], copy_at(h, at, n), other);
		if (memcmp(first, other, sizeof(first)))
			return false;
	}
	return true;
}

static u32 levels(const struct host *h)
{
	u32 n = h->pool->vdevs[0].g->levels;

	if (n != sim_least_levels)
		sim_fail("the table has %u levels: the test is not what it says", n);
	return n;
}

/* One copy of a page is bad: a scrub finds it, on whatever level, whether the page is in memory or not. */
static void scrub_looks_at_each_level(struct trouble *t)
{
	struct host *h = &t->host;
	u64 at, healed, unrepaired, before;
	u32 n, level;

	spread(h);
	for (level = 0; level < levels(h); level++)
		for (n = 0; n < copies_of_page(h); n++) {
			at = page_at(h, level, 5 * LEAF);
			rot(n % disks.nr, copy_at(h, at, n));
			if (n % 2)
				kvp_table_shrink(h->pool, true);
			before = atomic64_read(&h->pool->work_stats.table_healed);
			/* A page that is not in memory may be healed by whoever reads it, which the scrub does not count. */
			host_scrub(h, &healed, &unrepaired);
			if (unrepaired || atomic64_read(&h->pool->work_stats.table_healed) != before + 1)
				sim_fail("a bad copy of a page of level %u is not repaired", level);
			if (!same_copies(h, at))
				sim_fail("copy %u of a page of level %u is not repaired", n, level);
		}
}

/* Whoever reads a page and finds a copy bad repairs it: nobody need scrub for that. One copy of each page is read first. */
static void readers_repair_each_level(struct trouble *t)
{
	struct host *h = &t->host;
	u32 n, level, repaired;
	u64 at;

	spread(h);
	for (level = 0; level < levels(h); level++) {
		for (n = repaired = 0; n < copies_of_page(h); n++) {
			at = page_at(h, level, 5 * LEAF);
			rot(n % disks.nr, copy_at(h, at, n));
			kvp_table_shrink(h->pool, true);
			kvp_rcache_drop(h->pool);
			host_read_check(h, 5 * LEAF + 300);
			if (same_copies(h, at))
				repaired++;
			else
				expect_scrub(h, 1, 0);
		}
		if (!repaired)
			sim_fail("no reader has repaired a page of level %u", level);
	}
}

void run_deep(void)
{
	u32 levels;

	for (levels = 2; levels <= KVP_MAX_LEVELS; levels++) {
		sim_least_levels = levels;
		if (opt.thorough || levels == KVP_MAX_LEVELS) {
			run_deep_sequences();
			run_deep_scenarios();
		}
		trouble(NAMED(scrub_looks_at_each_level), 2);
		trouble("scrub_looks_at_each_level_on_a_single", scrub_looks_at_each_level, 1);
		trouble(NAMED(readers_repair_each_level), 2);
		trouble("readers_repair_each_level_on_a_single", readers_repair_each_level, 1);
		run_trouble();
	}
	sim_least_levels = 1;
}
