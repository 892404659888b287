// SPDX-License-Identifier: GPL-2.0-only
/*
 * A page of the table above the leaves, or the root page itself, is bad in every copy: on each kind
 * of vdev, beside other vdevs and beside caches, with poison below it, and while other work goes
 * on. A part of the suite deep.
 */
#include <stdlib.h>
#include <string.h>

#include "checkpoint/checkpoint.h"
#include "ram/rcache.h"
#include "ram/wbuf.h"
#include "suite.h"
#include "trouble.h"
#include "table/table.h"
#include "work/changed.h"

/* Blocks of the pool that belong to vdev @v, from @from on: the first one, or the pool's size. */
static u64 next_of(struct host *h, u32 v, u64 from)
{
	u64 size = h->pool->sb->pool_blocks;

	while (from < size && kvp_locate(h->pool, from).v->index != v)
		from += kvp_locate(h->pool, from).left;
	return min(from, size);
}

static u64 count_of(struct host *h, u32 v)
{
	u64 at = 0, n = 0, left;

	while ((at = next_of(h, v, at)) < h->pool->sb->pool_blocks) {
		left = min_t(u64, kvp_locate(h->pool, at).left, h->pool->sb->pool_blocks - at);
		n += left;
		at += left;
	}
	return n;
}

static void poison_one(struct host *h, u64 block)
{
	struct kvp_tpage *leaf = kvp_table_load(h->pool->table, block);

	kvp_table_set(h->pool->table, leaf, block, 0, KVP_ENTRY_POISONED);
	kvp_table_put(leaf);
	if (kvp_poison_make_durable(h->pool))
		sim_fail("poison cannot be made durable");
}

static u32 top(const struct host *h)
{
	return h->pool->vdevs.v[0].g->levels - 1;
}

static void expect_poison(struct host *h, u64 blocks)
{
	if (h->pool->sb->poisoned_blocks != blocks || h->pool->table->poisoned != blocks)
		sim_fail("%llu blocks are durably poisoned, and %llu are, not %llu",
			 h->pool->sb->poisoned_blocks, h->pool->table->poisoned, blocks);
}

/* All of the pool is discarded, in parts, or at once. */
static void discard_all(struct host *h)
{
	u64 all = h->pool->sb->pool_blocks;

	host_discard(h, 0, (u32)all);
	host_checkpoint(h);
}

static u64 changed_of(struct host *h, u32 since)
{
	kvp_block_t from = 0, first;
	u64 n, sum = 0;
	int ret;

	while ((ret = kvp_changed_next(h->pool, since, &from, &first, &n)) > 0)
		sum += n;
	if (ret)
		sim_fail("the list of changes ends with %d", ret);
	return sum;
}

/* The root page of the first vdev is lost, with a poisoned block below it. */
static void lose_root(struct script *t)
{
	struct host *h = &t->host;
	u64 healed, unrepaired, next, block, below = count_of(h, 0), other;
	u32 reads;

	spread(h);
	block = next_of(h, 0, 3 * LEAF);
	poison_one(h, block + 1);
	other = t->start.second ? next_of(h, 1, 20 * LEAF) : ~0ull;
	if (other != ~0ull)
		poison_one(h, other + 2);
	lose_page(h, top(h), 0);
	expect_eio(h, block + 2);
	if (other != ~0ull)
		host_read_check(h, other + 5);
	if (kvp_table_next_poisoned(h->pool->table, 0, &next) || next != (other == ~0ull ?
	    h->pool->sb->pool_blocks : other + 2))
		sim_fail("beside a lost page poison is listed at %llu", next);
	if (changed_of(h, 1) < below)
		sim_fail("%llu blocks changed", changed_of(h, 1));
	reads = disks.reads;
	host_scrub(h, &healed, &unrepaired);
	/* of one vdev with data all below the page is passed at once */
	if (!t->start.second && disks.reads - reads > 30)
		sim_fail("a scrub read %u times to learn that all is lost", disks.reads - reads);
	if (unrepaired != below)
		sim_fail("scrub counts %llu blocks, not %llu", unrepaired, below);
	if (kvp_table_give_up(h->pool->table, block, false))
		sim_fail("it was not given up");
	/* The page no longer tells that one of them was counted before. */
	expect_poison(h, below + 1 + (other != ~0ull));
	if (kvp_table_next_poisoned(h->pool->table, block, &next) || next != block)
		sim_fail("poison is listed at %llu", next);
	host_write(h, block, 1, true);
	host_checkpoint(h);
	host_read_check(h, block);
}

static void go_on_without(struct script *t)
{
	struct host *h = &t->host;

	host_read_check(h, next_of(h, 0, 3 * LEAF));
	expect_eio(h, next_of(h, 0, 3 * LEAF) + 2);
	discard_all(h);
	expect_poison(h, 0);
	spread(h);
	expect_scrub(h, 0, 0);
}

/*
 * Each leg says that it has lost the page: by a bad sector, or by sums of its own, as dm-integrity
 * does. That is an answer. So blocks below a leaf are poisoned, and a page above the leaves is
 * given up.
 */
static void lost_with(struct script *t, int error)
{
	struct host *h = &t->host;
	u64 leaf = next_of(h, 0, 9 * LEAF), above = next_of(h, 0, 3 * LEAF);

	spread(h);
	lose_page_with(h, 0, leaf, error);
	host_write(h, leaf + 1, 2, true);
	host_checkpoint(h);
	expect_eio(h, leaf + 4);
	host_read_check(h, leaf + 2);
	if (!h->pool->table->poisoned)
		sim_fail("no block is poisoned");
	lose_page_with(h, top(h), above, error);
	expect_eio(h, above + 2);
	if (kvp_table_give_up(h->pool->table, above, false))
		sim_fail("the page was not given up");
	host_write(h, above + 2, 1, true);
	host_checkpoint(h);
	host_read_check(h, above + 2);
	discard_all(h);
	expect_poison(h, 0);
}

static void lost_by_sums(struct script *t)
{
	lost_with(t, -EILSEQ);
}

static void lost_by_sectors(struct script *t)
{
	lost_with(t, -ENODATA);
}

/*
 * Legs are silent for a few reads of the page, and the order comes meanwhile: nothing is given up,
 * and the order does not say so either.
 */
static void silent_for_a_moment(struct script *t)
{
	struct host *h = &t->host;
	u32 reads, i;
	int ret;

	spread(h);
	for (reads = 1; reads < 7; reads++) {
		lose_page_with(h, top(h), 0, -EIO);
		for (i = 0; i < disks.nr_faults; i++)
			disks.faults[i].times = reads;
		ret = kvp_table_give_up(h->pool->table, 3 * LEAF, false);
		if (!ret || (ret != -ENOENT && ret != -EIO))
			sim_fail("silent for %u reads, and the order ends with %d", reads, ret);
		disks.nr_faults = 0;
		expect_poison(h, 0);
		host_read_check(h, 3 * LEAF + 4);
	}
}

/* The next @times reads of each copy of the page fail. */
static void silence(struct host *h, u32 level, u64 block, u32 times)
{
	u32 i;

	lose_page_with(h, level, block, -EIO);
	for (i = 0; i < disks.nr_faults; i++)
		disks.faults[i].times = times;
}

/* Blocks go home, and discards too, below a page that legs fail to read for a moment. */
static void silent_on_the_way_home(struct script *t)
{
	struct host *h = &t->host;
	u64 block = next_of(h, 0, 3 * LEAF);
	u32 level, times;

	spread(h);
	for (level = 0; level <= top(h); level++)
		for (times = 1; times < 5; times++) {
			silence(h, level, block, times);
			if (times % 2)
				host_write(h, block + 8 * level + times, 1, true);
			else
				host_discard(h, block + 8 * level + times - 1, 1);
			host_checkpoint(h);
			disks.nr_faults = 0;
			if (kvp_pool_faulted(h->pool))
				sim_fail("%u failed reads of level %u fault the pool", times,
					 level);
			host_read_check(h, block + 8 * level + times);
		}
	expect_poison(h, 0);
	expect_scrub(h, 0, 0);
}

/*
 * Each leg fails to read the page for good, and answers elsewhere. It is given up by force alone.
 * What is written below it after that is there.
 */
static void give_up_silent(struct script *t, u32 level)
{
	struct host *h = &t->host;
	u64 block = next_of(h, 0, (3 + 2 * level) * LEAF), before = h->pool->table->poisoned;

	lose_page_with(h, level, block, -EIO);
	expect_eio(h, block + 2);
	if (kvp_table_give_up(h->pool->table, block, false) != -EIO)
		sim_fail("a page of level %u was given up that may come back", level);
	if (h->pool->table->poisoned != before)
		sim_fail("%llu blocks are poisoned", h->pool->table->poisoned - before);
	if (kvp_table_give_up(h->pool->table, block, true))
		sim_fail("a page of level %u was not given up by force", level);
	if (h->pool->sb->poisoned_blocks <= before)
		sim_fail("nothing is durably poisoned");
	host_write(h, block + 2, 1, true);
	host_checkpoint(h);
	disks.nr_faults = 0;
	host_read_check(h, block + 2);
	expect_eio(h, block + 3);
	if (kvp_table_give_up(h->pool->table, block, true) != -ENOENT)
		sim_fail("it was given up twice");
}

static void silent_for_good(struct script *t)
{
	struct host *h = &t->host;
	u32 level;

	spread(h);
	for (level = 0; level <= top(h); level++)
		give_up_silent(t, level);
	discard_all(h);
	expect_poison(h, 0);
}

/* One event of those since @seq names the page above @block, which is silent, and no other does. */
static void expect_silent_event(struct host *h, u64 seq, u32 level, u64 block)
{
	struct kvp_disk_event e;
	u64 first;
	u32 n = 0;

	kvp_finds_report(h->pool);
	for (; seq < kvp_events_next(h->pool->events); seq++) {
		if (!kvp_event_get(h->pool, seq, &e) || strncmp((char *)e.text, "table_silent ", 13))
			continue;
		first = strtoull(strstr((char *)e.text, " block=") + 7, NULL, 10);
		if (n++ || first > block || first + LEAF * (level ? 512 : 1) <= block ||
		    strtoul(strstr((char *)e.text, "level=") + 6, NULL, 10) != level)
			sim_fail("a silent page of level %u above %llu: '%s'", level, block,
				 (char *)e.text);
	}
	if (!n)
		sim_fail("no event names a silent page of level %u", level);
}

/*
 * Legs fail to read the page for a long time. What lies below it waits in the buffer, and is read
 * there. All else goes home. Later it goes home too, the newest version of each block.
 */
static void wait_below_silent(struct script *t, u32 level)
{
	struct host *h = &t->host;
	u64 block = next_of(h, 0, 3 * LEAF), other = next_of(h, 0, 9 * LEAF);
	u64 seq = kvp_events_next(h->pool->events);
	u32 i;

	lose_page_with(h, level, block, -EIO);
	h->may_fail = true;
	for (i = 0; i < 3; i++) {
		host_write(h, block + 2 + i, 2, true);
		host_write(h, other + 2 + i, 2, true);
		/* With parity, a discard waits until all older versions are home. */
		if (i == 1 && !t->start.parity)
			host_discard(h, other + 4, 1);
		if (i == 2)
			host_discard(h, block + 3, 1);
		host_flush(h);
		if (!host_checkpoint(h))
			sim_fail("all is home below a silent page");
		/* The run that answered may have begun before the last writes. */
		host_sleep(500);
		if (kvp_pool_faulted(h->pool))
			sim_fail("a silent page of level %u faults the pool", level);
		/* Behind a discard below the page more may wait. */
		if (!level && i < 2 && kvp_wbuf_nr_logged(h->pool->wbuf) > 2 * (i + 1))
			sim_fail("%u blocks wait for a leaf",
				 kvp_wbuf_nr_logged(h->pool->wbuf));
		host_read_each(h, block + 2, 3 + i);
		host_sleep(i * 4000);
	}
	expect_silent_event(h, seq, level, block);
	disks.nr_faults = 0;
	host_sleep(6000);
	h->may_fail = false;
	host_checkpoint(h);
	kvp_table_shrink(h->pool->table, true);
	kvp_rcache_drop(h->pool->rcache);
	host_read_each(h, block, 8);
	host_read_each(h, other, 8);
}

static void silent_for_long(struct script *t)
{
	struct host *h = &t->host;
	u32 level;

	spread(h);
	for (level = 0; level <= top(h); level++)
		wait_below_silent(t, level);
	expect_poison(h, 0);
	expect_scrub(h, 0, 0);
}

/* The same until the log is full: the pool is faulted then, and works when the page is there. */
static void silent_until_full(struct script *t)
{
	struct host *h = &t->host;
	u64 block = next_of(h, 0, 3 * LEAF), other = next_of(h, 0, 9 * LEAF);
	u32 i;

	spread(h);
	lose_page_with(h, 0, block, -EIO);
	host_write(h, block + 2, 2, true);
	h->may_fail = true;
	for (i = 0; i < 20000 && !kvp_pool_faulted(h->pool); i++)
		host_write(h, other + i % 64, 4, true);
	if (i < 100 || i == 20000)
		sim_fail("%s after %u writes", i == 20000 ? "not faulted" : "faulted", i);
	disks.nr_faults = 0;
	host_sleep(6000);
	kvp_pool_clear(h->pool, -1);
	host_sleep(6000);
	h->may_fail = false;
	host_checkpoint(h);
	host_write(h, other + 3, 9, true);
	host_checkpoint(h);
	host_read_each(h, block, 8);
	expect_poison(h, 0);
}

/*
 * The legs become larger. A table of which a page is lost is not moved, and the refusal says what
 * helps. Given up, it is moved, and what the pool gets is not lost.
 */
static void lose_root_and_grow(struct script *t)
{
	struct host *h = &t->host;
	struct host_start larger = t->start;
	u64 before = h->pool->sb->pool_blocks, i;

	larger.leg_blocks = 0;
	larger.format = false;
	spread(h);
	lose_page(h, top(h), 0);
	expect_eio(h, 3 * LEAF + 2);
	if (!host_larger(h, &larger) || !strstr(h->refusal.mend, "giveup"))
		sim_fail("not refused in words: %s", h->refusal.mend);
	if (h->pool->sb->pool_blocks != before)
		sim_fail("not grown, and yet larger");
	if (kvp_table_give_up(h->pool->table, 3 * LEAF, false))
		sim_fail("the page was not given up");
	kvp_table_shrink(h->pool->table, true);
	if (host_larger(h, &larger))
		sim_fail("not grown: %s", h->refusal.why);
	t->start = larger;
	for (i = before; i < h->pool->sb->pool_blocks; i += 100)
		host_read_check(h, i);
	host_read_check(h, before);
	expect_eio(h, before - 1);
	expect_eio(h, 3 * LEAF + 2);
	expect_poison(h, before);
	host_write(h, before - 3, 10, true);
	host_write(h, 3 * LEAF, 1, true);
	host_checkpoint(h);
	expect_poison(h, before - 4);
}

static void go_on_larger(struct script *t)
{
	struct host *h = &t->host;

	expect_eio(h, 3 * LEAF + 2);
	host_read_check(h, h->pool->sb->pool_blocks - 1);
	host_discard(h, 0, 2 * LEAF);
	discard_all(h);
	expect_poison(h, 0);
	expect_scrub(h, 0, 0);
}

void run_lost_pages(void)
{
	static const struct host_start mirror = { .legs = 2 }, single = { .legs = 1 },
		parity = { .legs = 3, .parity = true, .grown = true },
		mixed = { .legs = 5, .parity = true, .second = 2, .grown = true },
		cached = { .legs = 3, .cache = 1 },
		small = { .legs = 2, .leg_blocks = LEG_BLOCKS },
		ssds = { .legs = 6, .parity = true, .cache = 3, .cache_parity = true,
			 .grown = true };

	lives_of("lost_root_of_a_mirror", lose_root, go_on_without, &mirror, LEG_BLOCKS);
	lives_of("lost_root_of_a_single", lose_root, go_on_without, &single, LEG_BLOCKS);
	lives_of("lost_root_of_a_parity1", lose_root, go_on_without, &parity, LEG_BLOCKS);
	lives_of("lost_root_of_one_vdev", lose_root, go_on_without, &mixed, LEG_BLOCKS);
	lives_of("lost_root_beside_an_ssd", lose_root, go_on_without, &cached, LEG_BLOCKS);
	lives_of("lost_root_beside_ssds", lose_root, go_on_without, &ssds, LEG_BLOCKS);
	lives_of("page_silent_for_a_moment", silent_for_a_moment, NULL, &mirror, LEG_BLOCKS);
	lives_of(NAMED(silent_on_the_way_home), NULL, &mirror, LEG_BLOCKS);
	lives_of("silent_on_the_way_home_of_a_single", silent_on_the_way_home, NULL, &single,
		 LEG_BLOCKS);
	lives_of("silent_on_the_way_home_of_a_parity1", silent_on_the_way_home, NULL, &parity,
		 LEG_BLOCKS);
	lives_of(NAMED(silent_for_long), NULL, &mirror, LEG_BLOCKS);
	lives_of("silent_for_long_on_a_single", silent_for_long, NULL, &single, LEG_BLOCKS);
	lives_of("silent_for_long_on_a_parity1", silent_for_long, NULL, &parity, LEG_BLOCKS);
	lives_of("silent_for_long_beside_an_ssd", silent_for_long, NULL, &cached, LEG_BLOCKS);
	lives_of(NAMED(silent_until_full), NULL, &mirror, LEG_BLOCKS);
	lives_of(NAMED(silent_for_good), NULL, &mirror, LEG_BLOCKS);
	lives_of("silent_for_good_on_a_single", silent_for_good, NULL, &single, LEG_BLOCKS);
	lives_of("silent_for_good_on_a_parity1", silent_for_good, NULL, &parity, LEG_BLOCKS);
	lives_of("pages_lost_by_sums", lost_by_sums, NULL, &mirror, LEG_BLOCKS);
	lives_of("pages_lost_by_sums_on_a_parity1", lost_by_sums, NULL, &parity, LEG_BLOCKS);
	lives_of("pages_lost_by_sums_beside_an_ssd", lost_by_sums, NULL, &cached, LEG_BLOCKS);
	lives_of("pages_lost_by_sectors", lost_by_sectors, NULL, &mirror, LEG_BLOCKS);
	lives_of("lost_root_and_larger_legs", lose_root_and_grow, go_on_larger, &small,
		 LEG_BLOCKS + 20000);
}
