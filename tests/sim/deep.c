// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tables of two and three levels. Test pools are so small that one level would do; sim_least_levels
 * makes new ones deeper. Parts of other suites run on them, cut everywhere, and tests of pages
 * above the leaves.
 */
#include <stdlib.h>
#include <string.h>

#include "checkpoint/checkpoint.h"
#include "suite.h"
#include "trouble.h"
#include "cache/scache.h"
#include "ram/rcache.h"
#include "super/events.h"
#include "super/finds.h"
#include "super/members.h"
#include "table/table.h"

static u32 copies_of_page(const struct host *h)
{
	return disks.nr * kvp_table_copies(h->pool->vdevs.v[0].g);
}

/* Copy @n of the page that page_at() found. */
static u64 copy_at(const struct host *h, u64 at, u32 n)
{
	return kvp_page_copy(h->pool->vdevs.v[0].g, at, n / disks.nr);
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
	u32 n = h->pool->vdevs.v[0].g->levels;

	if (n != sim_least_levels)
		sim_fail("the table has %u levels: the case was not set up", n);
	return n;
}

/*
 * One copy of a page is bad: a scrub finds it on any level, whether the page is in memory or not.
 */
static void scrub_looks_at_each_level(struct script *t)
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
				kvp_table_shrink(h->pool->table, true);
			before = atomic64_read(&h->pool->work_stats.table_healed);
			/*
			 * any reader may heal a page that is not in memory; the scrub does not
			 * count that
			 */
			host_scrub(h, &healed, &unrepaired);
			if (unrepaired ||
			    atomic64_read(&h->pool->work_stats.table_healed) != before + 1)
				sim_fail("a bad copy of a page of level %u is not repaired", level);
			if (!same_copies(h, at))
				sim_fail("copy %u of a page of level %u is not repaired", n, level);
		}
}

/* The first leaf below each page above is unwritten, so the cursor enters the page further on. */
static void scrub_looks_above_unwritten(struct script *t)
{
	struct host *h = &t->host;
	u64 at, healed, unrepaired;
	u32 n, level;

	spread(h);
	host_discard(h, 0, LEAF);
	host_checkpoint(h);
	for (level = 1; level < levels(h); level++)
		for (n = 0; n < copies_of_page(h); n++) {
			at = page_at(h, level, 5 * LEAF);
			rot(n % disks.nr, copy_at(h, at, n));
			host_scrub(h, &healed, &unrepaired);
			if (healed != 1 || unrepaired || !same_copies(h, at))
				sim_fail("copy %u of a page of level %u is not repaired", n, level);
		}
	expect_scrub(h, 0, 0);
}

/*
 * A reader that finds a bad copy of a page repairs it, without a scrub. One copy of each page is
 * read first.
 */
static void readers_repair_each_level(struct script *t)
{
	struct host *h = &t->host;
	u32 n, level, repaired;
	u64 at;

	spread(h);
	for (level = 0; level < levels(h); level++) {
		for (n = repaired = 0; n < copies_of_page(h); n++) {
			at = page_at(h, level, 5 * LEAF);
			rot(n % disks.nr, copy_at(h, at, n));
			kvp_table_shrink(h->pool->table, true);
			kvp_rcache_drop(h->pool->rcache);
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

/* --- a page above the leaves that is bad in every copy ------------------------------- */

#define WIDE_LEGS	(3u * 262144)		/* 3 GiB: pages above the leaves have neighbours */
#define BELOW		(512u * LEAF)		/* blocks below one of those */
#define BESIDE		(600u * LEAF)		/* below another */

static void lose_first_page_above(struct host *h)
{
	levels(h);
	spread(h);
	host_write(h, BESIDE + 7, 2, false);
	host_checkpoint(h);
	lose_page(h, 1, 0);
}

static void expect_poisoned(struct host *h, u64 blocks)
{
	if (h->pool->sb->poisoned_blocks != blocks || h->pool->table->poisoned != blocks)
		sim_fail("%llu blocks are durably poisoned, and %llu are, not %llu",
			 h->pool->sb->poisoned_blocks, h->pool->table->poisoned, blocks);
}

/* Leaves that no leg has: the first is an event at once, and the others are a few. */
static void lost_pages_share_events(struct script *t)
{
	struct host *h = &t->host;
	struct kvp_pool *pool = h->pool;
	u64 seq = pool->events->next, pages = 0;
	struct kvp_disk_event e;
	u32 i, lines = 0;
	const char *many;

	spread(h);
	for (i = 10; i < 60; i++)
		lose_page(h, 0, i * LEAF);
	for (i = 10; i < 60; i++)
		expect_eio(h, i * LEAF + 300);
	kvp_finds_report(pool);
	for (; seq < pool->events->next; seq++) {
		if (!kvp_event_get(pool, seq, &e) || strncmp((char *)e.text,
							     "table_lost level=0 index=", 25))
			continue;
		many = strstr((char *)e.text, " pages=");
		pages += many ? strtoull(many + 7, NULL, 10) : 1;
		if (!lines++ && strcmp((char *)e.text,
				       "table_lost level=0 index=10 block=5120 blocks=512"))
			sim_fail("the first lost page is '%s'", (char *)e.text);
	}
	if (pages != 50 || lines > 4)
		sim_fail("%llu of 50 lost pages in %u events", pages, lines);
}

static void another_task(void *arg)
{
	struct script *t = arg;

	kvp_event(t->host.pool, "another task=1");
}

/* The events of a task that carries out an order tell whose order that is, and no others. */
static void events_tell_who(struct script *t)
{
	static const char *const texts[] = {
		"renamed old=a name=b uid=7 login=8", "set key=comment uid=7 login=8 value=a b uid=9",
		"imported epoch=4 uid=7 login=8 host=h", "lost uid=7 login=8 why=it is", "another task=1",
		NULL, "renamed old=a name=b",
	};
	struct kvp_event_by by = { .words = " uid=7 login=8" };
	struct kvp_pool *pool = t->host.pool;
	u64 seq = pool->events->next;
	char full[KVP_EVENT_TEXT];
	struct kvp_disk_event e;
	u32 i;

	memset(full, 'x', sizeof(full));
	full[sizeof(full) - sizeof(" uid=7 login=8") + 1] = 0;
	kvp_events_by(pool, &by);
	kvp_event(pool, "renamed old=a name=b");
	kvp_event(pool, "set key=comment value=a b uid=9");
	kvp_event(pool, "imported epoch=4 host=h");
	kvp_event(pool, "lost why=it is");
	sim_spawn("another", another_task, t);
	host_sleep(10);
	/* by one character too long for the words */
	kvp_event(pool, "%s", full);
	kvp_events_by_end(pool, &by);
	kvp_event(pool, "renamed old=a name=b");
	for (i = 0; i < ARRAY_SIZE(texts); i++)
		if (!kvp_event_get(pool, seq + i, &e) || strcmp((char *)e.text, texts[i] ?: full))
			sim_fail("event %u is '%s', not '%s'", i, (char *)e.text, texts[i] ?: full);
}

/* The rest of the pool is used as before, several times round the log. */
static void use_what_is_beside(struct host *h)
{
	u64 first = h->pool->log->head.lsn;
	u32 i = 0;

	while (h->pool->log->head.lsn - first < 2 * disks.log_blocks) {
		host_write(h, BESIDE + 100 * (i % 40), 30, false);
		host_flush(h);
		i++;
	}
	host_checkpoint(h);
	host_read_check(h, BESIDE + 100);
	host_read_check(h, BESIDE + 7);
	if (kvp_pool_faulted(h->pool))
		sim_fail("the pool is faulted");
}

/*
 * Readers get EIO, which changes nothing, and all other blocks work. The giveup message poisons all
 * of it, and writes no leaf.
 */
static void lost_page_above_is_given_up(struct script *t)
{
	struct host *h = &t->host;
	u64 healed, unrepaired, leaves, next;

	lose_first_page_above(h);
	expect_eio(h, 5 * LEAF + 300);
	expect_eio(h, 300 * LEAF);
	use_what_is_beside(h);
	host_scrub(h, &healed, &unrepaired);
	if (unrepaired != BELOW)
		sim_fail("scrub counts %llu blocks below a lost page", unrepaired);
	expect_poisoned(h, 0);
	if (kvp_table_give_up(h->pool->table, BESIDE, false) != -ENOENT)
		sim_fail("a page was given up that is not lost");
	leaves = atomic64_read(&h->pool->work_stats.leaf_writes);
	if (kvp_table_give_up(h->pool->table, 5 * LEAF, false))
		sim_fail("the lost page was not given up");
	if (atomic64_read(&h->pool->work_stats.leaf_writes) != leaves)
		sim_fail("leaves were written for that");
	expect_poisoned(h, BELOW);
	if (kvp_table_give_up(h->pool->table, 5 * LEAF, false) != -ENOENT)
		sim_fail("it was given up twice");
	expect_eio(h, 5 * LEAF + 300);
	if (kvp_table_next_poisoned(h->pool->table, 300 * LEAF + 3, &next) ||
	    next != 300 * LEAF + 3)
		sim_fail("the list of poisoned blocks goes on at %llu", next);
	if (kvp_table_next_poisoned(h->pool->table, BELOW, &next) || next < BLOCKS)
		sim_fail("block %llu is poisoned", next);
	host_write(h, 5 * LEAF + 300, 1, true);
	host_checkpoint(h);
	expect_poisoned(h, BELOW - 1);
	kvp_table_shrink(h->pool->table, true);
}

static void what_was_given_up_stays_so(struct script *t)
{
	struct host *h = &t->host;

	expect_poisoned(h, BELOW - 1);
	host_read_check(h, 5 * LEAF + 300);
	host_read_check(h, BESIDE + 7);
	expect_eio(h, 5 * LEAF + 301);
	expect_eio(h, 511 * LEAF + 1);
	host_discard(h, 0, BELOW);
	host_checkpoint(h);
	expect_poisoned(h, 0);
	host_read_check(h, 5 * LEAF + 301);
	host_read_check(h, 511 * LEAF + 1);
	expect_scrub(h, 0, 0);
}

/*
 * An accepted write goes home: it is not lost, and stops no other write. All blocks around it are
 * lost.
 */
static void write_below_a_lost_page(struct script *t)
{
	struct host *h = &t->host;

	lose_first_page_above(h);
	expect_eio(h, 5 * LEAF + 300);
	host_write(h, 5 * LEAF + 7, 2, true);
	host_write(h, 7 * LEAF, 40, false);
	host_flush(h);
	use_what_is_beside(h);
	expect_poisoned(h, BELOW - 42);
	kvp_rcache_drop(h->pool->rcache);
	host_read_check(h, 5 * LEAF + 7);
	host_read_each(h, 7 * LEAF, 40);
	expect_eio(h, 5 * LEAF + 300);
	expect_eio(h, 7 * LEAF + 40);
	kvp_table_shrink(h->pool->table, true);
	host_read_check(h, 5 * LEAF + 8);
	expect_eio(h, 5 * LEAF + 9);
}

#define SMALL_LEGS	9216u		/* 36 MiB: less to check after each cut */

static void lose_all_pages_above(struct script *t)
{
	struct host *h = &t->host;

	host_write(h, 3 * LEAF + 7, 20, false);
	host_write(h, 9 * LEAF, 4, false);
	host_checkpoint(h);
	lose_page(h, levels(h) - 1, 0);
}

/*
 * Cut everywhere: given up blocks never read as unwritten, and later acknowledged writes are not
 * lost.
 */
static void write_below_and_give_up(struct script *t)
{
	struct host *h = &t->host;

	t->crash.poison_allowed = t->crash.heal_allowed = true;
	t->crash.sound = 3 * LEAF + 7;
	t->crash.sound_count = 3;
	if (rng_below(&sim_rng, 2) && kvp_table_give_up(h->pool->table, 9 * LEAF, false))
		sim_fail("the lost page was not given up");
	host_write(h, 3 * LEAF + 7, 3, false);
	host_flush(h);
	t->crash.sound_at = disks.trace.nr;
	host_write(h, 5 * LEAF, 30, false);
	host_checkpoint(h);
	host_discard(h, 9 * LEAF + 1, 2);
	host_write(h, 3 * LEAF + 8, 1, true);
	host_checkpoint(h);
}

/* R27: a leg that does not answer, or is out, may have the page. */
static void page_above_that_may_come_back(struct script *t)
{
	struct host *h = &t->host;
	u64 at;

	levels(h);
	spread(h);
	at = page_at(h, 1, 0);
	rot(0, at);
	disks_fault(FAULT_READ_EIO, 1, at, at);
	kvp_table_shrink(h->pool->table, true);
	kvp_rcache_drop(h->pool->rcache);
	expect_eio(h, 5 * LEAF + 300);
	if (kvp_table_give_up(h->pool->table, 5 * LEAF, false) != -EIO)
		sim_fail("a page was given up that a silent leg may have");
	disks_fault(FAULT_READ_EIO, 1, 0, ~0u);
	if (kvp_table_give_up(h->pool->table, 5 * LEAF, true) != -EIO)
		sim_fail("a page was given up that a leg may have which answers nowhere");
	expect_poisoned(h, 0);
	disks.nr_faults = 0;
	host_read_check(h, 5 * LEAF + 300);
	/* the reader has healed the other copy */
	host_offline(h, 1);
	lose_page(h, 1, 0);
	expect_eio(h, 5 * LEAF + 300);
	if (kvp_table_give_up(h->pool->table, 5 * LEAF, false) != -EBUSY)
		sim_fail("a page was given up that a leg may have which is out");
	expect_poisoned(h, 0);
	if (kvp_table_give_up(h->pool->table, 5 * LEAF, true) || !h->pool->sb->poisoned_blocks)
		sim_fail("it was not given up by force");
}

/* --- discards ------------------------------------------------------------ */

static u64 leaf_discards(struct host *h)
{
	return atomic64_read(&h->pool->work_stats.leaf_discards);
}

/* All of the pool; returns how many leaves were looked at for that. */
static u64 discard_all(struct host *h)
{
	u64 before = leaf_discards(h), reads = atomic64_read(&h->pool->work_stats.page_reads);

	host_discard(h, 3, (u32)h->pool->sb->pool_blocks - 5);
	host_checkpoint(h);
	if (leaf_discards(h) == before &&
	    atomic64_read(&h->pool->work_stats.page_reads) - reads > 3)
		sim_fail("%llu pages were read, though nothing was written",
			 (u64)atomic64_read(&h->pool->work_stats.page_reads) - reads);
	return leaf_discards(h) - before;
}

static void expect_nothing_written(struct host *h)
{
	u64 next;

	kvp_table_shrink(h->pool->table, true);
	if (kvp_table_next_written(h->pool->table, 8 * LEAF, &next) ||
	    next < h->pool->sb->pool_blocks - 8 * LEAF)
		sim_fail("there is a leaf of block %llu", next);
}

/* A null page stays null after reads; a discarded one is null again. */
static void discards_of_nothing_cost_nothing(struct script *t)
{
	struct host *h = &t->host;
	u64 n;
	u32 i;

	n = discard_all(h);
	if (n > 2)
		sim_fail("a discard of a pool that is empty looked at %llu leaves", n);
	for (i = 20; i < 60; i++)
		host_read_check(h, i * LEAF);
	if (discard_all(h) > 2)
		sim_fail("leaves that readers had made were looked at");
	expect_nothing_written(h);
	spread(h);
	n = discard_all(h);
	/* several vdevs have leaves of their own */
	if (n < LEAVES / 2 || n > 2 * LEAVES + 8)
		sim_fail("a discard looked at %llu leaves, and %u were written", n, LEAVES);
	expect_nothing_written(h);
	if (discard_all(h) > 4)
		sim_fail("a second discard looked at leaves");
	host_write(h, 30 * LEAF + 5, 2, false);
	host_checkpoint(h);
	kvp_table_shrink(h->pool->table, true);
	kvp_rcache_drop(h->pool->rcache);
	host_read_each(h, 30 * LEAF, 10);
}

static void discards_stay_after_a_restart(struct script *t)
{
	struct host *h = &t->host;
	u32 i;

	for (i = 8; i < LEAVES; i++)
		host_read_check(h, i * LEAF + i);
	host_read_each(h, 30 * LEAF, 10);
	expect_scrub(h, 0, 0);
}

/* A log full of discards; the recovery does the same. */
static void discards_without_a_checkpoint(struct script *t)
{
	struct host *h = &t->host;
	u32 i;

	spread(h);
	for (i = 0; i < 40; i++)
		host_discard(h, 8 * LEAF + 3 * i, (u32)h->pool->sb->pool_blocks / 2);
	host_write(h, 30 * LEAF + 5, 2, true);
}

static void begin_checkpoint(void *arg)
{
	struct script *t = arg;

	struct kvp_pool *pool = t->host.pool;

	mutex_lock(&pool->checkpoint_lock);
	beside.checkpoint_error = kvp_checkpoint(pool, NULL);
	beside.checkpointed = leaf_discards(&t->host);
	mutex_unlock(&pool->checkpoint_lock);
}

/*
 * One discard in many turns, of leaves that are in memory: each turn goes on where the one before
 * has ended.
 */
static void discard_in_many_turns(struct script *t)
{
	struct host *h = &t->host;
	u32 i;

	spread(h);
	h->pool->table->budget = 32;
	for (i = 1; i < LEAVES; i++)
		host_read_check(h, i * LEAF + 300);
	host_discard(h, LEAF, (LEAVES - 1) * LEAF);
	host_flush(h);
	host_destage(h);
	host_checkpoint(h);
	kvp_table_shrink(h->pool->table, true);
	kvp_rcache_drop(h->pool->rcache);
	for (i = 1; i < LEAVES; i++)
		host_read_check(h, i * LEAF + i);
}

/*
 * The table has space for few dirty pages, so they are written in between. A checkpoint that is
 * requested meanwhile completes.
 */
static void discards_in_little_room(struct script *t)
{
	struct host *h = &t->host;
	u64 before, checkpoints, at;
	u32 i;

	spread(h);
	at = page_at(h, 0, 60 * LEAF);
	kvp_table_shrink(h->pool->table, true);
	h->pool->table->budget = 32;
	before = leaf_discards(h);
	checkpoints = h->pool->sb->checkpoint;
	beside.checkpointed = 0;
	for (i = 0; i < t->start.legs; i++)
		disks_stall(i, at, at);
	/* Parts of leaves: each is read, and dirty then. */
	for (i = 1; i < LEAVES; i++)
		host_discard(h, i * LEAF + 1, LEAF - 1);
	host_flush(h);
	host_destage(h);
	while (!disks_wait())
		host_sleep(1);
	sim_hands_over = true;
	sim_spawn("checkpoint", begin_checkpoint, t);
	host_sleep(50);
	disks_release_all();
	host_checkpoint(h);
	while (!beside.checkpointed)
		host_sleep(1);
	sim_hands_over = false;
	if (h->pool->sb->checkpoint - checkpoints < (LEAVES - 1) / 32)
		sim_fail("%llu checkpoints for %u leaves", h->pool->sb->checkpoint - checkpoints,
			 LEAVES);
	if (beside.checkpoint_error || beside.checkpointed - before >= LEAVES - 1)
		sim_fail("a checkpoint waited until %llu leaves were discarded",
			 beside.checkpointed - before);
	/* Each turn has gone on where the one before had ended. */
	kvp_table_shrink(h->pool->table, true);
	kvp_rcache_drop(h->pool->rcache);
	for (i = 1; i < LEAVES; i++)
		host_read_check(h, i * LEAF + 300);
}

static void expect_written(struct host *h, u64 written, u32 uncounted)
{
	struct kvp_sb *sb = h->pool->sb;

	if (sb->written_blocks != written || sb->uncounted_leaves != uncounted)
		sim_fail("%llu blocks are written, and %u leaves not counted, not %llu and %u",
			 sb->written_blocks,
			 sb->uncounted_leaves, written, uncounted);
}

static u64 page_reads(struct host *h)
{
	return atomic64_read(&h->pool->work_stats.page_reads);
}

/* Leaves are not read to be discarded, only pages above them. */
static void discards_read_no_leaf(struct script *t)
{
	struct host *h = &t->host;
	u64 reads, written;

	host_discard(h, 0, (u32)h->pool->sb->pool_blocks);
	host_checkpoint(h);
	expect_written(h, 0, 0);
	spread(h);
	written = h->pool->sb->written_blocks;
	reads = page_reads(h);
	host_discard(h, 10 * LEAF, 8 * LEAF);
	host_checkpoint(h);
	reads = page_reads(h) - reads;
	/* pages above the leaves; in a parity1 also leaves that the discard covers in part */
	if (reads > (t->start.parity ? 12 : 2))
		sim_fail("%llu pages were read to discard eight leaves", reads);
	if (h->pool->sb->written_blocks > written - 8 * 4 ||
	    !(h->pool->sb->uncounted_leaves || t->start.parity))
		sim_fail("%llu blocks are written, %u leaves not counted",
			 h->pool->sb->written_blocks,
			 h->pool->sb->uncounted_leaves);
	host_read_each(h, 10 * LEAF - 3, 20);
	kvp_table_shrink(h->pool->table, true);
	reads = page_reads(h);
	host_discard(h, 0, (u32)h->pool->sb->pool_blocks);
	host_checkpoint(h);
	reads = page_reads(h) - reads;
	if (reads > 12)
		sim_fail("%llu pages were read to discard a pool of %u leaves", reads, LEAVES);
	/* no block is left, so that is the count, whatever was uncounted */
	expect_written(h, 0, 0);
	expect_nothing_written(h);
	host_write(h, 30 * LEAF + 5, 2, false);
	host_checkpoint(h);
	expect_written(h, 2, 0);
	kvp_table_shrink(h->pool->table, true);
	kvp_rcache_drop(h->pool->rcache);
	host_read_each(h, 30 * LEAF, 10);
}

/* The blocks that the RAM cache was told of, and those that it holds. */
static void rcache_figures(struct host *h, u64 *told, u64 *held)
{
	const struct kvp_rcache *rc = h->pool->rcache;
	u32 i;

	*told = *held = 0;
	for (i = 0; i < ARRAY_SIZE(rc->counts); i++) {
		*told += (u32)atomic_read(&rc->counts[i].changes);
		*held += rc->counts[i].held;
	}
}

/*
 * Caches forget the blocks of leaves that are not read, wherever they lie, and are told of many at
 * once.
 */
static void caches_forget_unread_leaves(struct script *t)
{
	static const u32 at[] = { 0, 15, 16, 33, 300, LEAF - 17, LEAF - 1 };
	struct host *h = &t->host;
	struct kvp_index_entry e;
	u64 before, told, held;
	u32 leaf, i;

	spread(h);
	for (leaf = 10; leaf < 18; leaf++)
		for (i = 0; i < ARRAY_SIZE(at); i++)
			host_write(h, leaf * LEAF + at[i], 1, false);
	host_checkpoint(h);
	kvp_table_shrink(h->pool->table, true);
	for (leaf = 10; leaf < 18; leaf++)
		for (i = 0; i < ARRAY_SIZE(at); i++)
			host_read_check(h, leaf * LEAF + at[i]);
	kvp_table_shrink(h->pool->table, true);
	rcache_figures(h, &before, &held);
	if (held < 8 * ARRAY_SIZE(at))
		sim_fail("%llu blocks are in RAM: the case was not set up", held);
	for (i = 0; t->start.cache && i < ARRAY_SIZE(at); i++)
		if (!kvp_index_find(&h->pool->scache->index, 10 * LEAF + at[i], &e))
			sim_fail("block %u is on no SSD: the case was not set up", 10 * LEAF + at[i]);
	host_discard(h, 10 * LEAF, 8 * LEAF);
	host_checkpoint(h);
	rcache_figures(h, &told, &held);
	/* those at the edges, amid a leaf of a vdev, one by one */
	if (told - before > 8 * LEAF / KVP_RCACHE_STRETCH + (t->start.second ? 2 * LEAF : 0))
		sim_fail("the cache was told %llu times of eight leaves", told - before);
	for (leaf = 10; leaf < 18; leaf++)
		for (i = 0; i < ARRAY_SIZE(at); i++)
			host_read_check(h, leaf * LEAF + at[i]);
	for (i = 0; t->start.cache && i < ARRAY_SIZE(at); i++)
		if (kvp_index_find(&h->pool->scache->index, 10 * LEAF + at[i], &e))
			sim_fail("block %u is unwritten, and on an SSD", 10 * LEAF + at[i]);
}

/*
 * Discard @count blocks from the first on, again and again, and write there at once. A slot that
 * counts until the checkpoint is not overwritten by a leaf that is made again earlier.
 */
static void discard_and_make_again(struct script *t, u32 count)
{
	struct host *h = &t->host;
	u64 at[8], leaf;
	u32 again;

	spread(h);
	for (leaf = 0; leaf < 8; leaf += 2)
		host_write(h, leaf * LEAF + 77, 1, false);
	host_checkpoint(h);
	for (again = 0; again < 3; again++) {
		for (leaf = 0; leaf < 8; leaf++)
			at[leaf] = page_at(h, 0, leaf * LEAF);
		kvp_table_shrink(h->pool->table, true);
		host_discard(h, 0, count);
		host_flush(h);
		for (leaf = 0; leaf < 8; leaf++)
			host_write(h, leaf * LEAF + 5, 2, false);
		host_checkpoint(h);
		kvp_table_shrink(h->pool->table, true);
		for (leaf = 0; leaf < 8; leaf++) {
			if (page_at(h, 0, leaf * LEAF) == at[leaf])
				sim_fail("leaf %llu was written over while it counted", leaf);
			host_read_each(h, leaf * LEAF, 10);
		}
		host_read_check(h, 60 * LEAF + 300);
	}
	/* in between all of it is null, durably: either slot is free, and neither counts */
	host_discard(h, 0, count);
	host_checkpoint(h);
	for (leaf = 0; leaf < 8; leaf++)
		host_write(h, leaf * LEAF + 6, 1, false);
	host_checkpoint(h);
	kvp_table_shrink(h->pool->table, true);
	host_read_each(h, 0, 10);
	expect_scrub(h, 0, 0);
}

static void discarded_leaf_is_made_again(struct script *t)
{
	discard_and_make_again(t, 8 * LEAF);
}

/* Of all of the pool: the page above is not read for that. */
static void discarded_page_is_made_again(struct script *t)
{
	discard_and_make_again(t, (u32)t->host.pool->sb->pool_blocks);
}

static void read_a_block(void *arg)
{
	struct script *t = arg;
	u8 *data = kmalloc(KVP_BLOCK_SIZE, GFP_KERNEL);

	/* The old version or zeros: the discard is not answered for that. */
	host_read(&t->host, 7 * LEAF + 300, data);
	kfree(data);
	beside.scrubbed = true;
}

/* A leaf is read while all of it is discarded. */
static void discard_beside_a_reader(struct script *t)
{
	struct host *h = &t->host;
	u64 at;
	u32 i;

	spread(h);
	at = page_at(h, 0, 7 * LEAF);
	/* Pages above stay in memory. */
	kvp_table_put(kvp_table_load(h->pool->table, 9 * LEAF));
	kvp_table_shrink(h->pool->table, true);
	kvp_table_put(kvp_table_load(h->pool->table, 9 * LEAF));
	kvp_rcache_drop(h->pool->rcache);
	for (i = 0; i < t->start.legs; i++)
		disks_stall(i, at, at);
	beside.scrubbed = false;
	sim_spawn("reader", read_a_block, t);
	while (!disks_wait())
		host_sleep(1);
	host_discard(h, 6 * LEAF, 3 * LEAF);
	host_flush(h);
	host_destage(h);
	host_sleep(20);
	disks_release_all();
	while (!beside.scrubbed)
		host_sleep(1);
	host_checkpoint(h);
	host_read_each(h, 7 * LEAF + 295, 10);
	kvp_table_shrink(h->pool->table, true);
	kvp_rcache_drop(h->pool->rcache);
	host_read_each(h, 7 * LEAF + 295, 10);
	expect_scrub(h, 0, 0);
}

/* Poison one block, durably; nothing of the table stays in memory. */
static void poison_block(struct host *h, u64 block)
{
	struct kvp_tpage *leaf = kvp_table_load(h->pool->table, block);

	kvp_table_set(h->pool->table, leaf, block, 0, KVP_ENTRY_POISONED);
	kvp_table_put(leaf);
	if (kvp_poison_make_durable(h->pool))
		sim_fail("poison cannot be made durable");
	kvp_table_shrink(h->pool->table, true);
}

/* Discarded poison is counted in all cases, also given up blocks. */
static void discards_of_poison(struct script *t)
{
	struct host *h = &t->host;

	spread(h);
	/* Without this one, a checkpoint would set the number right: no root has poison. */
	poison_block(h, BESIDE + 3);
	poison_block(h, 77 * LEAF + 9);
	host_discard(h, 70 * LEAF, 10 * LEAF);
	host_checkpoint(h);
	expect_poisoned(h, 1);
	poison_block(h, 90 * LEAF);
	host_discard(h, 0, BELOW);
	host_checkpoint(h);
	expect_poisoned(h, 1);
	spread(h);
	lose_page(h, 1, 0);
	if (kvp_table_give_up(h->pool->table, 5 * LEAF, false))
		sim_fail("the lost page was not given up");
	kvp_table_shrink(h->pool->table, true);
	host_discard(h, 0, BELOW);
	host_checkpoint(h);
	expect_poisoned(h, 1);
	host_discard(h, 0, (u32)h->pool->sb->pool_blocks);
	host_checkpoint(h);
	expect_poisoned(h, 0);
	expect_nothing_written(h);
}

static void spread_in_both_slots(struct script *t)
{
	struct host *h = &t->host;
	u32 leaf;

	for (leaf = 0; leaf < 10; leaf++)
		host_write(h, leaf * LEAF + leaf, 20, false);
	host_checkpoint(h);
	for (leaf = 0; leaf < 10; leaf += 2)
		host_write(h, leaf * LEAF + 300, 2, false);
	host_checkpoint(h);
}

/* Cut everywhere: over leaves that were not read, and some that are made again at once. */
static void discard_and_write_again(struct script *t)
{
	struct host *h = &t->host;

	host_discard(h, LEAF, 6 * LEAF);
	host_flush(h);
	host_write(h, 2 * LEAF + 2, 3, false);
	host_write(h, 3 * LEAF + 2, 3, true);
	host_try_home(h);
	host_write(h, 3 * LEAF + 4, 3, false);
	host_checkpoint(h);
	host_discard(h, 2 * LEAF, 3 * LEAF);
	host_write(h, 4 * LEAF, 2, true);
	host_checkpoint(h);
}

/* --- pages above the leaves that are discarded unread -------------------------------- */

/* So many pages are read to discard one of level 1 as a whole: those above it. */
static void expect_reads_above(struct host *h, u64 before)
{
	u64 reads = page_reads(h) - before, most = 0;
	u32 v;

	for (v = 0; v < h->pool->vdevs.nr; v++)
		most += h->pool->vdevs.v[v].g->levels > 2;
	if (reads > most)
		sim_fail("%llu pages were read, not %llu", reads, most);
}

/* A page with all that is below it is discarded, and one beside it is not; then all of the pool. */
static void discards_read_no_page_above(struct script *t)
{
	struct host *h = &t->host;
	u64 reads;

	levels(h);
	spread(h);
	host_write(h, BESIDE + 7, 2, false);
	host_checkpoint(h);
	kvp_table_shrink(h->pool->table, true);
	kvp_rcache_drop(h->pool->rcache);
	reads = page_reads(h);
	host_discard(h, 0, BELOW);
	host_checkpoint(h);
	expect_reads_above(h, reads);
	/* It is taken for full, with each of its leaves. */
	expect_written(h, 0, 512);
	host_read_check(h, 5 * LEAF + 300);
	host_read_each(h, BESIDE + 5, 5);
	kvp_table_shrink(h->pool->table, true);
	kvp_rcache_drop(h->pool->rcache);
	host_read_check(h, 5 * LEAF + 300);
	spread(h);
	reads = page_reads(h);
	host_discard(h, 0, (u32)h->pool->sb->pool_blocks);
	host_checkpoint(h);
	expect_reads_above(h, reads);
	expect_written(h, 0, 0);
	expect_nothing_written(h);
	host_read_each(h, BESIDE + 5, 5);
	expect_scrub(h, 0, 0);
}

/* Bring a discard of all of the pool to the table, as destage does, but without a checkpoint. */
static kvp_vblock_t discard_in_table(struct host *h, kvp_vblock_t behind)
{
	kvp_vblock_t own = 0;

	mutex_lock(&h->pool->checkpoint_lock);
	if (kvp_table_discard(h->pool->table, &h->pool->vdevs.v[0], &own, behind) < 0)
		sim_fail("the discard failed");
	mutex_unlock(&h->pool->checkpoint_lock);
	return own;
}

static void load_below(struct host *h, int error)
{
	struct kvp_tpage *leaf = kvp_table_load(h->pool->table, 5 * LEAF);

	if (PTR_ERR_OR_ZERO(leaf) != error)
		sim_fail("a leaf below it: %d, not %d", (int)PTR_ERR_OR_ZERO(leaf), error);
	if (error)
		return;
	if (kvp_entry_state(kvp_table_entry(leaf, 5 * LEAF + 300)) !=
	    KVP_ENTRY_UNWRITTEN)
		sim_fail("a discarded block is written");
	kvp_table_put(leaf);
}

/* How a page that was discarded unread is found: no leg answers; none has it, once; none has it. */
enum found { SILENT, LOST_ONCE, LOST };

static void spoil_page(u64 at, enum found how)
{
	struct fault *f;
	u32 i;

	for (i = 0; i < 2; i++) {
		if (how == LOST) {
			rot(i, at);
			continue;
		}
		f = disks_fault(FAULT_READ_EIO, i, at, at);
		f->times = how == LOST_ONCE;
		f->error = how == LOST_ONCE ? -ENODATA : -EIO;
	}
}

/* The old contents of a page that was discarded unread are wanted, and are found in each way. */
static void discarded_page_is_gone(struct script *t)
{
	struct host *h = &t->host;
	struct kvp_vdev *v = &h->pool->vdevs.v[0];
	u64 all = h->pool->sb->pool_blocks, leaf;
	enum found how;

	for (how = SILENT; how <= LOST; how++) {
		u64 at;

		spread(h);
		at = page_at(h, 1, 0);
		leaf = page_at(h, 0, 5 * LEAF);
		kvp_table_shrink(h->pool->table, true);
		host_discard(h, 0, (u32)all);
		host_flush(h);
		spoil_page(at, how);
		if (discard_in_table(h, kvp_table_discard_reach(v->pool->table, v, 0, all)) != all)
			sim_fail("the page was read");
		load_below(h, how == SILENT ? -EIO : 0);
		disks.nr_faults = 0;
		load_below(h, 0);
		host_write(h, 5 * LEAF + 7, 1, false);
		host_checkpoint(h);
		if (how != LOST && page_at(h, 0, 5 * LEAF) == leaf)
			sim_fail("a leaf was written over while it counted");
		host_read_check(h, 5 * LEAF + 300);
		host_discard(h, 0, (u32)all);
		host_checkpoint(h);
		expect_nothing_written(h);
		expect_scrub(h, 0, 0);
	}
}

/*
 * A reader has come to the page, and to a leaf below it: they count, and the discard goes on leaf
 * by leaf.
 */
static void discarded_page_is_read(struct script *t)
{
	struct host *h = &t->host;
	u64 all = h->pool->sb->pool_blocks;
	kvp_vblock_t behind;
	struct kvp_tpage *leaf;

	spread(h);
	host_discard(h, 0, (u32)all);
	host_flush(h);
	behind = kvp_table_discard_reach(h->pool->table, &h->pool->vdevs.v[0], 0, all);
	leaf = kvp_table_load(h->pool->table, 7 * LEAF);
	if (discard_in_table(h, behind) != LEAF)
		sim_fail("a page was discarded that a reader has");
	host_checkpoint(h);
	if (kvp_entry_state(kvp_table_entry(leaf, 7 * LEAF + 300)) !=
	    KVP_ENTRY_UNWRITTEN)
		sim_fail("a leaf that a reader has was not changed");
	kvp_table_put(leaf);
	expect_nothing_written(h);
	host_read_check(h, 7 * LEAF + 300);
}

/* Cut everywhere: all of the pool, and some of it is written again at once. */
static void discard_all_and_write_again(struct script *t)
{
	struct host *h = &t->host;
	u32 all;

	all = (u32)h->pool->sb->pool_blocks;
	host_discard(h, 0, all);
	host_flush(h);
	host_write(h, 2 * LEAF + 2, 3, false);
	host_write(h, 3 * LEAF + 2, 3, true);
	host_try_home(h);
	host_write(h, 3 * LEAF + 4, 3, false);
	host_checkpoint(h);
	kvp_table_shrink(h->pool->table, true);
	host_discard(h, 0, all);
	host_write(h, 4 * LEAF, 2, true);
	host_checkpoint(h);
}

/* --- poison, and a scrub's locks ----------------------------------------------------- */

/* Pointers show where poison is; until they do, pages in memory do. */
static void poison_is_found_by_pointers(struct script *t)
{
	struct host *h = &t->host;
	struct kvp_tpage *leaf;
	u64 reads, next;

	spread(h);
	leaf = kvp_table_load(h->pool->table, 77 * LEAF + 9);
	kvp_table_set(h->pool->table, leaf, 77 * LEAF + 9, 0, KVP_ENTRY_POISONED);
	kvp_table_put(leaf);
	if (kvp_table_next_poisoned(h->pool->table, 0, &next) || next != 77 * LEAF + 9)
		sim_fail("fresh poison is not found, but %llu", next);
	if (kvp_poison_make_durable(h->pool))
		sim_fail("poison cannot be made durable");
	kvp_table_shrink(h->pool->table, true);
	reads = atomic64_read(&h->pool->work_stats.page_reads);
	if (kvp_table_next_poisoned(h->pool->table, 0, &next) || next != 77 * LEAF + 9)
		sim_fail("poison is not found, but %llu", next);
	if (kvp_table_next_poisoned(h->pool->table, next + 1, &next) || next < BLOCKS)
		sim_fail("there is poison at %llu", next);
	reads = atomic64_read(&h->pool->work_stats.page_reads) - reads;
	if (reads > levels(h))
		sim_fail("%llu pages were read to find one block", reads);
	host_discard(h, 77 * LEAF + 9, 1);
	host_checkpoint(h);
}

/*
 * Discards of all that was written since the start may be in the log: each of those leaves is read.
 */
static void estimate_counts_what_was_written(struct script *t)
{
	struct host *h = &t->host;
	u64 before = kvp_pool_recovery_ms(h->pool), after;
	u32 leaf;

	for (leaf = 0; leaf < 50; leaf++)
		host_write(h, leaf * LEAF, 1, false);
	host_checkpoint(h);
	after = kvp_pool_recovery_ms(h->pool);
	/* 40 us each */
	if (after < before + 2)
		sim_fail("a recovery took %llu ms, and with 50 leaves more %llu", before, after);
	host_discard(h, 0, 50 * LEAF);
	host_checkpoint(h);
	if (kvp_pool_recovery_ms(h->pool) >= after)
		sim_fail("leaves that are not written any more count");
}

static void scrub_task(void *arg)
{
	struct script *t = arg;
	u64 healed, unrepaired;

	host_scrub(&t->host, &healed, &unrepaired);
	beside.scrubbed = true;
}

/* The scrub's requests for table pages hang; direct writes still change entries. */
static void scrub_holds_up_no_write(struct script *t)
{
	struct host *h = &t->host;

	spread(h);
	kvp_table_put(kvp_table_load(h->pool->table, 0));
	kvp_table_put(kvp_table_load(h->pool->table, 9 * LEAF));
	beside.scrubbed = false;
	/* Or a write that waits for the scrub would go on when the leg is given up. */
	h->pool->tunables[KVP_T_LEG_TIMEOUT] = 0;
	disks_stall(1, disks.table_start, disks.log_start - 1);
	sim_spawn("scrub", scrub_task, t);
	while (!disks_wait())
		host_sleep(1);
	host_write_by_intent(h, 9 * LEAF, 60);
	host_flush(h);
	host_read_check(h, 9 * LEAF + 7);
	if (beside.scrubbed)
		sim_fail("the scrub did not wait: the case was not set up");
	disks_release(1);
	while (!beside.scrubbed)
		host_sleep(1);
}

/* A scrub begins, and one of its requests for the copy of a page at @at on disk 1 hangs. */
static void scrub_hangs_at(struct script *t, u64 at)
{
	beside.scrubbed = false;
	t->host.pool->tunables[KVP_T_LEG_TIMEOUT] = 0;
	disks_stall(1, at, at);
	sim_spawn("scrub", scrub_task, t);
	while (!disks_wait())
		host_sleep(1);
}

static void scrub_goes_on(void)
{
	if (beside.scrubbed)
		sim_fail("the scrub did not wait: the case was not set up");
	disks_release(1);
	while (!beside.scrubbed)
		host_sleep(1);
}

/* Any page is scrubbed, and a leg hangs: checkpoints go on, and so does destage. */
static void scrub_holds_up_no_checkpoint(struct script *t)
{
	struct host *h = &t->host;
	u32 level;

	spread(h);
	for (level = 0; level < levels(h); level++) {
		kvp_table_put(kvp_table_load(h->pool->table, 5 * LEAF));
		scrub_hangs_at(t, copy_at(h, page_at(h, level, 5 * LEAF), 1));
		host_write(h, 9 * LEAF + level, 1, true);
		host_checkpoint(h);
		scrub_goes_on();
		expect_scrub(h, 0, 0);
	}
}

/* A bad copy is read, and a checkpoint writes the page elsewhere: no leg is to blame any more. */
static void scrub_leaves_a_page_that_moved(struct script *t)
{
	struct host *h = &t->host;
	struct kvp_leg *leg = host_leg(h, 1);
	u64 healed = atomic64_read(&h->pool->work_stats.table_healed), at;
	u32 level;

	spread(h);
	for (level = 0; level < levels(h); level++) {
		kvp_table_put(kvp_table_load(h->pool->table, 5 * LEAF));
		at = copy_at(h, page_at(h, level, 5 * LEAF), 1);
		rot(1, at);
		scrub_hangs_at(t, at);
		host_write(h, 5 * LEAF + 300, 1, true);
		host_checkpoint(h);
		scrub_goes_on();
		if (atomic64_read(&leg->err_checksum) || atomic64_read(&leg->healed) ||
		    atomic64_read(&h->pool->work_stats.table_healed) != healed)
			sim_fail("a leg is to blame for a page that has moved");
		if (!same_copies(h, page_at(h, level, 5 * LEAF)))
			sim_fail("a page that has moved is overwritten");
		expect_scrub(h, 0, 0);
	}
}

/* --- all of them ------------------------------------------------------------ */

static void run_deep_discards(void)
{
	static const struct host_start mirror = { .legs = 2 },
		parity = { .legs = 3, .parity = true, .grown = true },
		mixed = { .legs = 5, .parity = true, .second = 2, .grown = true },
		cached = { .legs = 3, .cache = 1 };

	lives_of(NAMED(discards_of_nothing_cost_nothing), discards_stay_after_a_restart, &mirror,
		 LEG_BLOCKS);
	lives_of("discards_of_nothing_cost_nothing_on_a_parity1", discards_of_nothing_cost_nothing,
		 discards_stay_after_a_restart, &parity, LEG_BLOCKS);
	lives_of("discards_of_nothing_cost_nothing_on_two_vdevs", discards_of_nothing_cost_nothing,
		 discards_stay_after_a_restart, &mixed, LEG_BLOCKS);
	lives_of(NAMED(discards_without_a_checkpoint), discards_stay_after_a_restart, &mirror,
		 LEG_BLOCKS);
	lives_of("discards_without_a_checkpoint_on_two_vdevs", discards_without_a_checkpoint,
		 discards_stay_after_a_restart, &mixed, LEG_BLOCKS);
	trouble(NAMED(discard_in_many_turns), 2);
	trouble(NAMED(discards_in_little_room), 2);
	lives_of(NAMED(discards_read_no_leaf), NULL, &mirror, LEG_BLOCKS);
	lives_of("discards_read_no_leaf_on_a_parity1", discards_read_no_leaf, NULL, &parity,
		 LEG_BLOCKS);
	lives_of("discards_read_no_leaf_on_two_vdevs", discards_read_no_leaf, NULL, &mixed,
		 LEG_BLOCKS);
	trouble(NAMED(caches_forget_unread_leaves), 2);
	lives_of("caches_forget_unread_leaves_on_two_vdevs", caches_forget_unread_leaves, NULL,
		 &mixed, LEG_BLOCKS);
	lives_of("caches_forget_unread_leaves_with_an_ssd", caches_forget_unread_leaves, NULL,
		 &cached, LEG_BLOCKS);
	trouble(NAMED(discarded_leaf_is_made_again), 2);
	trouble(NAMED(discard_beside_a_reader), 2);
	two_lives(NAMED(discards_of_poison), NULL, 2, WIDE_LEGS);
	two_lives(NAMED(discards_read_no_page_above), NULL, 2, WIDE_LEGS);
	trouble(NAMED(discarded_page_is_made_again), 2);
	lives_of("discarded_page_is_made_again_on_a_parity1", discarded_page_is_made_again, NULL,
		 &parity, LEG_BLOCKS);
	lives_of("discarded_page_is_made_again_on_two_vdevs", discarded_page_is_made_again, NULL,
		 &mixed, LEG_BLOCKS);
	trouble(NAMED(discarded_page_is_gone), 2);
	trouble(NAMED(discarded_page_is_read), 2);
	if (!opt.thorough && sim_least_levels != 2)
		return;
	cut_lives("discard_and_write_again", spread_in_both_slots, discard_and_write_again, 2,
		  SMALL_LEGS);
	cut_lives("discard_all_and_write_again", spread_in_both_slots, discard_all_and_write_again,
		  2, SMALL_LEGS);
}

void run_deep(void)
{
	u32 levels;

	for (levels = 2; levels <= KVP_MAX_LEVELS; levels++) {
		sim_least_levels = levels;
		if (opt.thorough || levels == KVP_MAX_LEVELS) {
			run_deep_sequences();
			run_deep_scenarios();
			cut_lives("write_below_and_give_up", lose_all_pages_above,
				  write_below_and_give_up, 2,
				  SMALL_LEGS);
		}
		trouble(NAMED(scrub_looks_at_each_level), 2);
		trouble("scrub_looks_at_each_level_on_a_single", scrub_looks_at_each_level, 1);
		trouble(NAMED(scrub_looks_above_unwritten), 2);
		trouble(NAMED(readers_repair_each_level), 2);
		trouble("readers_repair_each_level_on_a_single", readers_repair_each_level, 1);
		two_lives(NAMED(lost_page_above_is_given_up), what_was_given_up_stays_so, 2,
			  WIDE_LEGS);
		two_lives(NAMED(write_below_a_lost_page), NULL, 2, WIDE_LEGS);
		trouble(NAMED(page_above_that_may_come_back), 2);
		trouble(NAMED(lost_pages_share_events), 2);
		trouble(NAMED(events_tell_who), 2);
		run_lost_pages();
		run_deep_discards();
		trouble(NAMED(poison_is_found_by_pointers), 2);
		trouble(NAMED(estimate_counts_what_was_written), 2);
		trouble(NAMED(scrub_holds_up_no_write), 2);
		trouble(NAMED(scrub_holds_up_no_checkpoint), 2);
		trouble(NAMED(scrub_leaves_a_page_that_moved), 2);
		run_trouble();
	}
	sim_least_levels = opt.levels;
}
