// SPDX-License-Identifier: GPL-2.0-only
/*
 * A leg goes on answering, but refuses reads (kvp_io_refused()): for a moment, for some seconds, or
 * for good. Other copies and parity are asked at once. Only a block that nothing else has is waited
 * for, and that wait has an end. Then the leg counts as one that does not answer: nothing is lost.
 */
#include <stdlib.h>

#include "io/io.h"
#include "ram/rcache.h"
#include "super/members.h"
#include "table/table.h"
#include "trouble.h"
#include "work/scrub.h"

#define FIRST	64u	/* the blocks of a test */
#define COUNT	24u

static const int errors[] = { -ENOMEM, -EBUSY, -EAGAIN };

static int error_of(const struct script *t)
{
	return errors[t->turn % ARRAY_SIZE(errors)];
}

/* Leg @leg refuses the next @times reads of data; 0: all. */
static struct fault *refuse(const struct script *t, u32 leg, u32 times)
{
	struct fault *f = disks_fault(FAULT_READ_ONCE, leg, disks.data_start, ~0ull);

	f->error = error_of(t);
	f->times = times;
	return f;
}

static void begin(struct script *t)
{
	host_write(&t->host, FIRST, COUNT, true);
	host_checkpoint(&t->host);
	kvp_rcache_drop(t->host.pool->rcache);
}

/* The reads of @block in the slow way and by a bio both end within @ms. */
static void expect_within(struct host *h, u64 block, u32 ms, bool good)
{
	unsigned long start = jiffies;
	u8 *data = malloc(KVP_BLOCK_SIZE);
	int ret = host_read_slowly(h, block, data);

	if (good == !!ret)
		sim_fail("the read of block %llu ended with %d", block, ret);
	if (jiffies_to_msecs(jiffies - start) > ms)
		sim_fail("the read took %u ms", jiffies_to_msecs(jiffies - start));
	free(data);
	kvp_rcache_drop(h->pool->rcache);
	if (good)
		host_read_check(h, block);
	else
		expect_eio(h, block);
	kvp_rcache_drop(h->pool->rcache);
	if (jiffies_to_msecs(jiffies - start) > 2 * ms)
		sim_fail("the reads took %u ms", jiffies_to_msecs(jiffies - start));
}

static void expect_nothing_lost(struct script *t)
{
	disks.nr_faults = 0;
	kvp_rcache_drop(t->host.pool->rcache);
	if (t->host.pool->table->poisoned)
		sim_fail("%llu blocks are poisoned", t->host.pool->table->poisoned);
	host_read_each(&t->host, FIRST, COUNT);
}

/* --- the only copy ---------------------------------------------------------------------- */

static void only_copy_refuses_reads(struct script *t)
{
	struct kvp_leg *leg = host_leg(&t->host, 0);
	struct host *h = &t->host;
	u32 i;

	begin(t);
	/* For three seconds: the read waits. */
	refuse(t, 0, 30);
	expect_within(h, FIRST, 5000, true);
	if (disks.faults[0].hit != 30 || atomic64_read(&leg->err_read))
		sim_fail("it was not waited for");
	/* For good: the first read waits, and no other one. */
	disks.nr_faults = 0;
	refuse(t, 0, 0);
	expect_within(h, FIRST + 1, 12000, false);
	for (i = 2; i < 8; i++)
		expect_within(h, FIRST + i, 500, false);
	if (!atomic64_read(&leg->err_read))
		sim_fail("the error was not counted");
	/* It is back: it will be waited for again. */
	expect_nothing_lost(t);
	expect_within(h, FIRST, 100, true);
	refuse(t, 0, 30);
	expect_within(h, FIRST, 5000, true);
	expect_nothing_lost(t);
}

/* Each copy of a page of the table: on two legs, or both on one. */
static void table_page_refuses_reads(struct script *t)
{
	bool single = t->start.legs == 1;
	struct host *h = &t->host;
	struct fault *f[2];
	u64 page, at;
	u32 i;

	spread(h);
	page = page_at(h, 0, 5 * LEAF);
	kvp_table_shrink(h->pool->table, true);
	for (i = 0; i < 2; i++) {
		at = single ? kvp_page_copy(h->pool->vdevs.v[0].g, page, i) : page;
		f[i] = disks_fault(FAULT_READ_ONCE, single ? 0 : i, at, at);
		f[i]->error = error_of(t);
		f[i]->times = 10;
	}
	kvp_rcache_drop(h->pool->rcache);
	expect_within(h, 5 * LEAF + 300, 5000, true);
	kvp_table_shrink(h->pool->table, true);
	f[0]->times = f[1]->times = 0;
	expect_within(h, 5 * LEAF + 300, 12000, false);
	disks.nr_faults = 0;
	expect_within(h, 5 * LEAF + 300, 500, true);
	if (h->pool->table->poisoned)
		sim_fail("%llu blocks are poisoned", h->pool->table->poisoned);
}

/* --- one of two copies ------------------------------------------------------------------ */

static void other_copy_is_read_at_once(struct script *t)
{
	struct kvp_leg *leg = host_leg(&t->host, 1);
	struct fault *f;
	u32 i;

	begin(t);
	f = refuse(t, 1, 0);
	for (i = 0; i < COUNT; i++)
		expect_within(&t->host, FIRST + i, 500, true);
	/* Blocks of another stretch begin with the other leg. */
	host_write(&t->host, FIRST + 256, COUNT, true);
	host_checkpoint(&t->host);
	for (i = 0; i < COUNT; i++)
		expect_within(&t->host, FIRST + 256 + i, 500, true);
	if (!f->hit)
		sim_fail("the leg was never asked: the case was not set up");
	if (!kvp_leg_in_sync(leg) || atomic64_read(&leg->healed))
		sim_fail("the leg was given up, or healed");
	expect_nothing_lost(t);
}

/* All copies are waited for at the same time: the first one that is given ends the wait. */
static void each_copy_refuses_reads(struct script *t)
{
	u32 i, stretch;

	begin(t);
	/* Blocks of another stretch begin with another leg. */
	for (stretch = 1; stretch < 3; stretch++)
		host_write(&t->host, FIRST + 256 * stretch, 2, true);
	host_checkpoint(&t->host);
	for (i = 0; i < t->legs; i++)
		refuse(t, i, 0);
	for (i = 0; i < t->legs; i++) {
		disks.faults[i].times = disks.faults[i].hit + 20;
		for (stretch = 0; stretch < 3; stretch++)
			expect_within(&t->host, FIRST + 256 * stretch, 5000, true);
		disks.faults[i].times = 0;
	}
	expect_within(&t->host, FIRST + 1, 12000, false);
	expect_within(&t->host, FIRST + 257, 500, false);
	expect_nothing_lost(t);
}

/* A scrub must read that copy: it waits. */
static void scrub_waits_for_a_leg_that_refuses(struct script *t)
{
	begin(t);
	refuse(t, 1, 40);
	expect_scrub(&t->host, 0, 0);
	if (disks.faults[0].hit != 40 || !kvp_leg_in_sync(host_leg(&t->host, 1)))
		sim_fail("leg 1 was given up, or not waited for");
	expect_nothing_lost(t);
}

/* It counts as one with bad copies, which cannot be healed. */
static void scrub_ends_though_a_leg_refuses(struct script *t)
{
	unsigned long start;

	begin(t);
	refuse(t, 1, 0);
	start = jiffies;
	expect_scrub(&t->host, 0, 0);
	if (time_after(jiffies, start + 40 * HZ))
		sim_fail("the scrub took %u ms", jiffies_to_msecs(jiffies - start));
	if (kvp_leg_in_sync(host_leg(&t->host, 1)))
		sim_fail("a leg that cannot be read is in use");
	expect_nothing_lost(t);
}

/* A scrub runs, and waits for leg 1. */
static void begin_a_scrub_that_waits(struct script *t)
{
	begin(t);
	refuse(t, 1, 0);
	if (kvp_scrub_start(t->host.pool, 0))
		sim_fail("the scrub does not start");
	host_sleep(2000);
	if (!disks.faults[0].hit || t->host.pool->scrub->info.state != KVP_SCRUB_RUNNING)
		sim_fail("the scrub does not wait: the case was not set up");
}

static void expect_scrub_ends(struct script *t, unsigned long since, u32 ms, u32 state)
{
	const struct kvp_scrub *scrub = t->host.pool->scrub;

	flush_work(&t->host.pool->scrub->work);
	if (jiffies_to_msecs(jiffies - since) > ms || scrub->info.state != state)
		sim_fail("after %u ms the scrub is in state %u", jiffies_to_msecs(jiffies - since),
			 scrub->info.state);
	expect_nothing_lost(t);
}

/* It stops once it has done with the block: it does not wait for another one. */
static void scrub_that_waits_is_stopped(struct script *t)
{
	unsigned long start;

	begin_a_scrub_that_waits(t);
	start = jiffies;
	if (kvp_scrub_stop(t->host.pool))
		sim_fail("the scrub cannot be stopped");
	expect_scrub_ends(t, start, 19000, KVP_SCRUB_STOPPED);
}

/* The leg is taken out: there is nothing to wait for. */
static void scrub_waits_for_no_leg_that_left(struct script *t)
{
	unsigned long start;

	begin_a_scrub_that_waits(t);
	start = jiffies;
	host_offline(&t->host, 1);
	expect_scrub_ends(t, start, 1000, KVP_SCRUB_FINISHED);
}

/* --- parity ----------------------------------------------------------------------------- */

static void block_is_made_at_once(struct script *t)
{
	struct host *h = &t->host;
	unsigned long start;
	u32 i;

	begin(t);
	refuse(t, 1, 0);
	for (i = 0; i < COUNT; i++)
		expect_within(h, FIRST + i, 500, true);
	/* A partial row goes home: its other pieces are made as well. */
	start = jiffies;
	for (i = 0; i < COUNT; i += 5)
		host_write(h, FIRST + i, 1, true);
	host_checkpoint(h);
	if (time_after(jiffies, start + 15 * HZ))
		sim_fail("the checkpoint took %u ms", jiffies_to_msecs(jiffies - start));
	if (!disks.faults[0].hit || !kvp_leg_in_sync(host_leg(h, 1)))
		sim_fail("leg 1 was not asked, or given up");
	expect_nothing_lost(t);
	expect_scrub(h, 0, 0);
}

static void scrub_of_rows_ends_though_a_leg_refuses(struct script *t)
{
	scrub_ends_though_a_leg_refuses(t);
}

/* Without leg 0 nothing else gives what leg 1 refuses. */
static void no_other_leg_makes_the_block(struct script *t)
{
	struct host *h = &t->host;
	u32 i;

	begin(t);
	if (kvp_leg_offline(h->pool, host_leg(h, 0)))
		sim_fail("leg 0 does not leave");
	for (i = 0; i < COUNT; i++) {
		refuse(t, 1, 10);
		refuse(t, 2, 10);
		expect_within(h, FIRST + i, 5000, true);
		disks.nr_faults = 0;
	}
	refuse(t, 1, 0);
	refuse(t, 2, 0);
	expect_within(h, FIRST, 12000, false);
	for (i = 1; i < COUNT; i++)
		expect_within(h, FIRST + i, 500, false);
	expect_nothing_lost(t);
}

void run_refused(void)
{
	static const struct host_start rows = { .legs = 3, .parity = true, .grown = true };

	trouble(NAMED(only_copy_refuses_reads), 1);
	trouble(NAMED(table_page_refuses_reads), 2);
	trouble("table_page_refuses_reads_on_a_single", table_page_refuses_reads, 1);
	trouble(NAMED(other_copy_is_read_at_once), 2);
	trouble(NAMED(each_copy_refuses_reads), 3);
	trouble(NAMED(scrub_waits_for_a_leg_that_refuses), 2);
	trouble(NAMED(scrub_ends_though_a_leg_refuses), 2);
	trouble(NAMED(scrub_that_waits_is_stopped), 2);
	trouble(NAMED(scrub_waits_for_no_leg_that_left), 2);
	lives_of("block_is_made_at_once", block_is_made_at_once, NULL, &rows, LEG_BLOCKS);
	lives_of("scrub_of_rows_ends_though_a_leg_refuses",
		 scrub_of_rows_ends_though_a_leg_refuses, NULL, &rows, LEG_BLOCKS);
	lives_of("no_other_leg_makes_the_block", no_other_leg_makes_the_block, NULL, &rows,
		 LEG_BLOCKS);
}
