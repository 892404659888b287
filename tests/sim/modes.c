// SPDX-License-Identifier: GPL-2.0-only
/*
 * The log of a pool in use moves onto its cache and off it, by command. The power goes at every
 * step, or a leg or an SSD fails.
 */
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "pool/cachemode.h"
#include "pool/cachevdev.h"
#include "super/members.h"
#include "table/table.h"

#define NO_DISK	6u	/* behind the disks of all pools here */

/* One change of mode after the other. */
static const struct course {
	const char *name;
	bool writethrough;	/* it begins so */
	u32 modes[4], nr;
} courses[] = {
	{ "to-legs", false, { KVP_CACHE_WRITETHROUGH }, 1 },
	{ "to-cache", true, { KVP_CACHE_WRITEBACK }, 1 },
	{ "off-and-on", false, { KVP_CACHE_WRITEAROUND, KVP_CACHE_WRITEBACK }, 2 },
	{ "on-and-off", true, { KVP_CACHE_WRITEBACK, KVP_CACHE_WRITETHROUGH,
				KVP_CACHE_WRITEAROUND }, 3 },
};

static const struct host_start shapes[] = {
	{ .legs = 3, .cache = 1 }, { .legs = 4, .cache = 2 },
		{ .legs = 4, .parity = true, .cache = 1 },
	{ .legs = 5, .cache = 3, .cache_parity = true },
};

/* With a window of its own: what depends on that when the cache comes, goes, or gets the log. */
static const struct host_start wide = { .legs = 4, .cache = 2, .cache_dirty = WIDE_WINDOW };

struct change {
	const struct course *course;
	struct host host;
	struct host_start start;
	struct oracle o;
	struct crash crash;
	u32 victim, after;	/* disk that dies after that many of its requests; NO_DISK: none */
	u32 from;
	bool busy;
	u32 writers;
	bool is_set, flushed;	/* it has returned */
	int error;
};

static void begin(struct change *c)
{
	if (host_start(&c->host, &c->o, &c->start))
		sim_fail("start: %s", c->host.refusal.why);
}

/* --- it is in use ----------------------------------------------------------------------- */

/* Small writes that are waited for, and now and then a large one by intent. */
static void writer(void *arg)
{
	struct change *c = arg;
	struct host *h = &c->host;
	u32 i;

	for (i = 0; c->busy && i < 12; i++) {
		host_write(h, 60 + i % 5, 2, true);
		if (i % 4 == 1)
			host_write(h, 128 + 24 * (i % 3), 24, false);
		host_flush(h);
	}
	c->writers--;
}

static void expect_place(struct change *c, u64 mode)
{
	struct kvp_pool *pool = c->host.pool;
	bool on_cache = !kvp_has_data(pool->vdevs.log_vdev->g);

	if (on_cache != (mode == KVP_CACHE_WRITEBACK) || pool->tunables[KVP_T_CACHE_MODE] != mode)
		sim_fail("mode is %llu, not %llu, and the log on vdev %u",
			 pool->tunables[KVP_T_CACHE_MODE], mode, pool->vdevs.log_vdev->index);
	if (c->start.cache_dirty && kvp_log_window(kvp_pool_cache(pool)->g) != c->start.cache_dirty)
		sim_fail("the window has %llu blocks", kvp_log_window(kvp_pool_cache(pool)->g));
}

static void set_mode(struct change *c, u64 mode)
{
	struct host *h = &c->host;
	int ret = kvp_cache_set_mode(h->pool, mode, true, &h->refusal);

	if (!ret) {
		if (c->victim == NO_DISK)
			expect_place(c, mode);
		return;
	}
	if (c->victim == NO_DISK)
		sim_fail("mode not set: %s", h->refusal.why);
	if (!h->refusal.why[0])
		sim_fail("refused with %d and no reason", ret);
}

static void change_main(void *arg)
{
	struct change *c = arg;
	struct host *h = &c->host;
	u32 i;

	begin(c);
	host_write(h, 20, 30, false);
	host_write(h, 200, 40, false);
	host_flush(h);
	host_write(h, 22, 3, false);
	if (c->victim != NO_DISK) {
		disks_fault(FAULT_DEATH, c->victim, 0, ~0ull)->after = c->after;
		h->may_fail = true;
	}
	c->from = disks.trace.nr;
	c->busy = true;
	c->writers = 1;
	sim_spawn("writer", writer, c);
	for (i = 0; i < c->course->nr; i++) {
		set_mode(c, c->course->modes[i]);
		host_write(h, 21 + i, 4, true);
		host_write(h, 300, 5 + i, false);
		host_flush(h);
		host_read_check(h, 22);
		host_read_check(h, 210);
	}
	c->busy = false;
	while (c->writers)
		host_sleep(10);
	host_write(h, 23, 2, true);
	for (i = 0; i < h->pool->nr_legs; i++)
		if (!kvp_leg_in_sync(&h->pool->legs[i]))
			c->crash.lost |= BIT(i);
}

/* Stopped cleanly and started again: mode, place and contents are unchanged. */
static void whole_main(void *arg)
{
	struct change *c = arg;
	u64 block, mode = c->course->modes[c->course->nr - 1];

	change_main(c);
	host_stop(&c->host);
	begin(c);
	expect_place(c, mode);
	for (block = 0; block < c->o.blocks; block++)
		host_read_check(&c->host, block);
	set_mode(c, mode == KVP_CACHE_WRITEBACK ? KVP_CACHE_WRITETHROUGH : KVP_CACHE_WRITEBACK);
	for (block = 0; block < c->o.blocks; block++)
		host_read_check(&c->host, block);
	host_stop(&c->host);
}

/* --- step by step ------------------------------------------------------------------------ */

static void setter(void *arg)
{
	struct change *c = arg;

	c->error = kvp_cache_set_mode(c->host.pool, c->course->modes[0], true, &c->host.refusal);
	c->is_set = true;
}

static void flusher(void *arg)
{
	struct change *c = arg;

	host_write(&c->host, 4, 1, false);
	host_flush(&c->host);
	c->flushed = true;
}

static u32 data_legs(const struct change *c)
{
	return c->start.legs - c->start.cache;
}

static void stall(struct change *c, u32 first, u32 end, u64 from, u64 to)
{
	for (; first < end; first++)
		disks_stall(first, from, to);
	sim_spawn("setter", setter, c);
	host_sleep(400);
}

static void release(struct change *c)
{
	u32 i;

	for (i = 0; i < c->start.legs; i++)
		disks_release(i);
	host_sleep(400);
}

/* Some rows, or blocks, are in the log. */
static void log_some(struct change *c)
{
	u32 i;

	begin(c);
	for (i = 0; i < 8; i++)
		host_write(&c->host, 2 + 14 * i, 1, false);
	host_flush(&c->host);
	c->from = disks.trace.nr;
}

/* Homes hang: the log stays where it is, and the machine ends so. */
static void hanging_main(void *arg)
{
	struct change *c = arg;

	log_some(c);
	stall(c, 0, 1, disks.data_start, disks.data_start + POOL_BLOCKS);
	if (c->is_set)
		sim_fail("the mode is set before the contents of the log are home");
	expect_place(c, c->start.writethrough ? KVP_CACHE_WRITETHROUGH : KVP_CACHE_WRITEBACK);
}

/* Superblocks hang: nothing can be durable in a log that is being left. Then all goes on. */
static void between_main(void *arg)
{
	struct change *c = arg;

	log_some(c);
	stall(c, 0, data_legs(c), 0, KVP_LABEL_BLOCKS);
	if (c->is_set)
		sim_fail("the mode is set before a superblock says so");
	sim_spawn("flusher", flusher, c);
	host_sleep(400);
	if (c->flushed)
		sim_fail("FLUSH was answered by a log that is being left");
	release(c);
	if (!c->is_set || c->error || !c->flushed)
		sim_fail("set %d with %d, flushed %d", c->is_set, c->error, c->flushed);
	expect_place(c, c->course->modes[0]);
	host_write(&c->host, 20, 5, true);
}

/* The SSDs die as the superblock is written that names the log there. */
static void dying_main(void *arg)
{
	struct change *c = arg;
	u32 i;

	log_some(c);
	host_checkpoint(&c->host);
	host_write(&c->host, 70, 2, true);
	stall(c, data_legs(c), c->start.legs, 0, KVP_LABEL_BLOCKS);
	for (i = data_legs(c); i < c->start.legs; i++)
		disks_kill(i);
	release(c);
	/*
	 * Or the superblock had the new mode by then: it was set, and the log moves back with its
	 * first entry.
	 */
	if (!c->is_set || (c->error && c->error != -ENODEV))
		sim_fail("set %d with %d", c->is_set, c->error);
	if (c->error)
		expect_place(c, KVP_CACHE_WRITETHROUGH);
	flusher(c);
	if (!kvp_has_data(c->host.pool->vdevs.log_vdev->g))
		sim_fail("the log is on SSDs that are dead");
	host_write(&c->host, 20, 5, true);
	host_checkpoint(&c->host);
	host_write(&c->host, 71, 2, true);
}

/* --- refusals ------------------------------------------------------------------------------ */

static void expect_refusal(struct change *c, u64 mode, bool force, int error, const char *words)
{
	struct host *h = &c->host;
	int ret = kvp_cache_set_mode(h->pool, mode, force, &h->refusal);

	if (ret != error || !strstr(h->refusal.why, words))
		sim_fail("set gave %d (%s)", ret, h->refusal.why);
}

static void refusal_main(void *arg)
{
	struct change *c = arg;
	struct host *h = &c->host;
	/* Without another one a log there would survive no loss. */
	u32 spare = c->start.cache_parity ? data_legs(c) + 1 : c->start.legs - 1, i;

	begin(c);
	if (c->start.cache == 1)
		expect_refusal(c, KVP_CACHE_WRITEBACK, false, -EPERM, "on one SSD");
	else if (kvp_cache_set_mode(h->pool, KVP_CACHE_WRITEBACK, false, &h->refusal))
		sim_fail("refused: %s", h->refusal.why);
	set_mode(c, KVP_CACHE_WRITETHROUGH);
	host_write(h, 20, 3, true);
	for (i = c->start.legs - c->start.cache; i < c->start.legs; i++) {
		if (i == spare && c->start.cache > 1)
			expect_refusal(c, KVP_CACHE_WRITEBACK, false, -EPERM,
				       c->start.cache_parity ? "on the rest" : "on one SSD");
		if (kvp_leg_offline(h->pool, host_leg(h, i)))
			sim_fail("an SSD cannot be taken out");
		if (i == spare && c->start.cache_parity)
			expect_refusal(c, KVP_CACHE_WRITEBACK, true, -ENODEV, "too few SSDs");
	}
	expect_refusal(c, KVP_CACHE_WRITEBACK, true, -ENODEV, "no SSD");
	host_write(h, 21, 3, true);
	host_stop(h);
}

/*
 * --- the log is emptied first ------------------------------------------------------------------
 */

static void filler(void *arg)
{
	struct change *c = arg;
	u32 i;

	for (i = 0; c->busy; i++) {
		host_write(&c->host, i * 3 % POOL_BLOCKS, 1, false);
		if (i % 8 == 7)
			host_flush(&c->host);
	}
	c->writers--;
}

/* Writes continue without end: the log still gets empty, and the mode changes. */
static void overload_main(void *arg)
{
	struct change *c = arg;
	struct host *h = &c->host;

	/* Gigabytes are written. */
	disks.forgets = true;
	begin(c);
	c->busy = true;
	c->writers = 1;
	sim_spawn("filler", filler, c);
	host_sleep(2000);
	set_mode(c, KVP_CACHE_WRITETHROUGH);
	host_sleep(500);
	set_mode(c, KVP_CACHE_WRITEBACK);
	c->busy = false;
	while (c->writers)
		host_sleep(10);
	if (READ_ONCE(h->pool->log->squeeze))
		sim_fail("users may still have less of the log");
	host_stop(h);
}

/* --- a cache joins and leaves ---------------------------------------------------------------- */

static struct host_start without(const struct change *c)
{
	struct host_start hs = c->start;

	hs.legs -= hs.cache;
	hs.cache = 0;
	hs.writethrough = false;
	return hs;
}

static void some_writes(struct change *c)
{
	struct host *h = &c->host;

	host_write(h, 20, 30, false);
	host_flush(h);
	host_write(h, 22, 3, true);
	host_write(h, 300, 5, false);
}

static void note_lost(struct change *c)
{
	u32 i;

	for (i = 0; i < c->host.pool->nr_legs; i++)
		if (!kvp_leg_in_sync(&c->host.pool->legs[i]))
			c->crash.lost |= BIT(i);
	/* the death of a disk that has left is not recorded any more */
	if (c->victim != NO_DISK && c->victim >= c->host.pool->nr_legs)
		c->crash.lost |= BIT(c->victim);
}

static void die(struct change *c)
{
	if (c->victim == NO_DISK)
		return;
	/* A new SSD gets blank labels first, and each ring of events by one request. */
	disks_fault(FAULT_DEATH, c->victim, 0, ~0ull)->after =
		c->after + (c->victim < data_legs(c) || c->crash.leaves_at ? 0 :
			    2 * KVP_LABEL_BLOCKS + 2);
	c->host.may_fail = true;
}

static void join_main(void *arg)
{
	struct change *c = arg;
	struct host *h = &c->host;
	struct host_start old = without(c);

	if (host_start(h, &c->o, &old))
		sim_fail("start: %s", h->refusal.why);
	some_writes(c);
	c->crash.joins_at = ~0u;
	c->from = disks.trace.nr;
	die(c);
	if (!host_grow(h, &c->start)) {
		c->crash.joins_at = disks.trace.nr;
		expect_place(c, KVP_CACHE_WRITETHROUGH);
		host_write(h, 21, 4, true);
		set_mode(c, KVP_CACHE_WRITEBACK);
	} else if (c->victim == NO_DISK) {
		sim_fail("not grown: %s", h->refusal.why);
	}
	host_write(h, 60, 4, true);
	host_write(h, 100, 20, false);
	host_flush(h);
	host_read_check(h, 22);
	note_lost(c);
}

static void notes_end(void *arg)
{
	const struct change *c = arg;

	host_sleep(500);
	disks_release(c->start.legs - 1);
}

/* The record of a loss takes half a second to reach the last SSD. */
static void notes_hang(struct change *c)
{
	disks_stall(c->start.legs - 1, KVP_EVENTS_BLOCK, KVP_EVENTS_BLOCK + KVP_EVENTS_BLOCKS - 1);
	sim_spawn("notes", notes_end, c);
}

static void leave_main(void *arg)
{
	struct change *c = arg;
	struct host *h = &c->host;
	struct host_start new = without(c);

	begin(c);
	some_writes(c);
	c->crash.leaves_at = ~0u;
	c->from = disks.trace.nr;
	die(c);
	if (c->victim != NO_DISK)
		notes_hang(c);
	if (!host_shrink(h, &new)) {
		c->crash.leaves_at = disks.trace.nr;
		if (h->pool->nr_legs != new.legs || !kvp_has_data(h->pool->vdevs.log_vdev->g))
			sim_fail("%u legs, the log on vdev %u", h->pool->nr_legs,
				 h->pool->vdevs.log_vdev->index);
	} else if (c->victim == NO_DISK) {
		sim_fail("not without its cache: %s", h->refusal.why);
	}
	host_write(h, 21, 4, true);
	host_write(h, 60, 30, false);
	host_flush(h);
	host_read_check(h, 22);
	host_read_check(h, 301);
	note_lost(c);
}

/*
 * There and back again, with orderly ends between; and an SSD that has left is none of the pool's.
 */
static void there_and_back_main(void *arg)
{
	struct change *c = arg;
	struct host *h = &c->host;
	struct host_start less = without(c);
	u64 block;
	u32 round;

	begin(c);
	for (round = 0; round < 2; round++) {
		some_writes(c);
		set_mode(c, KVP_CACHE_WRITEBACK);
		host_write(h, 40 + round, 3, true);
		if (host_shrink(h, &less))
			sim_fail("not without its cache: %s", h->refusal.why);
		some_writes(c);
		host_stop(h);
		if (!host_start(h, &c->o, &c->start))
			sim_fail("started with an SSD that has left");
		if (host_start(h, &c->o, &less))
			sim_fail("start: %s", h->refusal.why);
		for (block = 0; block < c->o.blocks; block++)
			host_read_check(h, block);
		if (host_grow(h, &c->start))
			sim_fail("not grown: %s", h->refusal.why);
		expect_place(c, KVP_CACHE_WRITETHROUGH);
		host_write(h, 50 + round, 3, true);
		host_stop(h);
		begin(c);
	}
	for (block = 0; block < c->o.blocks; block++)
		host_read_check(h, block);
	host_stop(h);
}

static void wait_for_drain(struct change *c)
{
	while (c->host.pool->drain->state == KVP_DRAIN_RUNNING)
		host_sleep(20);
}

static void begin_to_drain(struct change *c)
{
	if (kvp_drain_start(c->host.pool, &c->host.refusal))
		sim_fail("not drained: %s", c->host.refusal.why);
}

static void quiescer(void *arg)
{
	struct change *c = arg;

	kvp_drain_quiesce(c->host.pool);
	if (sim_current->hung)
		sim_fail("a stop during a long move looks hung: %s", sim_current->hung);
	c->flushed = true;
}

static void patient_setter(void *arg)
{
	struct change *c = arg;

	setter(arg);
	if (sim_current->hung)
		sim_fail("a long move looks hung: %s", sim_current->hung);
	if (c->error)
		sim_fail("not moved: %s", c->host.refusal.why);
}

/* Disks take minutes. The move waits for that, and so does a stop: no task looks hung meanwhile. */
static void moves_for_minutes(struct change *c, bool stop)
{
	struct host *h = &c->host;
	u32 i;

	h->pool->tunables[KVP_T_LEG_TIMEOUT] = 3600;
	host_write(h, 30, 3, true);
	for (i = 0; i < data_legs(c); i++)
		disks_stall(i, disks.data_start, disks.data_start + POOL_BLOCKS);
	c->is_set = c->flushed = false;
	if (stop)
		begin_to_drain(c);
	else
		sim_spawn("setter", patient_setter, c);
	host_sleep(200);
	if (stop)
		sim_spawn("stop", quiescer, c);
	host_sleep(150 * 1000);
	if (c->is_set || c->flushed || h->pool->drain->order != KVP_DRAIN_MOVES)
		sim_fail("it does not move for minutes: the case was not set up");
	release(c);
	while (!(stop ? c->flushed : c->is_set))
		host_sleep(20);
	kvp_drain_unquiesce(h->pool);
	expect_place(c, KVP_CACHE_WRITETHROUGH);
	set_mode(c, KVP_CACHE_WRITEBACK);
}

/* The log is nearly empty, so that it moves at once, and waits for data that does not get home. */
static void cancel_too_late(struct change *c)
{
	struct host *h = &c->host;
	u32 i;

	host_write(h, 30, 3, true);
	for (i = 0; i < data_legs(c); i++)
		disks_stall(i, disks.data_start, disks.data_start + POOL_BLOCKS);
	begin_to_drain(c);
	host_sleep(200);
	if (h->pool->drain->state != KVP_DRAIN_RUNNING)
		sim_fail("it has moved already: the case was not set up");
	if (kvp_drain_cancel(h->pool) != -EBUSY)
		sim_fail("it moves, and yet was cancelled");
	release(c);
	wait_for_drain(c);
	expect_place(c, KVP_CACHE_WRITETHROUGH);
	if (kvp_drain_cancel(h->pool) != -ENOENT)
		sim_fail("a log that has moved was cancelled");
}

/* A suspend does not wait for a drain of the log, off the cache or onto it. */
static void end_for_a_suspend(struct change *c)
{
	struct host *h = &c->host;

	kvp_pool_suspending(h->pool);
	host_sleep(20);
	if (h->pool->drain->state != KVP_DRAIN_CANCELLED)
		sim_fail("it is drained, or goes on, though the pool is about to be suspended");
	if (!kvp_drain_start_to(h->pool, KVP_CACHE_WRITETHROUGH, false, &h->refusal)) {
		wait_for_drain(c);
		if (h->pool->drain->state == KVP_DRAIN_DONE)
			sim_fail("drained while the pool is about to be suspended");
	}
	kvp_pool_not_suspending(h->pool);
}

/* A drain without a waiter ends: by itself, by command, and by a suspend. */
static void drain_main(void *arg)
{
	struct change *c = arg;
	struct host *h = &c->host;
	struct host_start less = without(c);
	u64 block;
	u32 i;

	begin(c);
	if (kvp_drain_cancel(h->pool) != -ENOENT)
		sim_fail("something was cancelled");
	some_writes(c);
	begin_to_drain(c);
	wait_for_drain(c);
	expect_place(c, KVP_CACHE_WRITETHROUGH);
	begin_to_drain(c);
	if (h->pool->drain->state != KVP_DRAIN_DONE)
		sim_fail("a log on the legs is drained");
	set_mode(c, KVP_CACHE_WRITEBACK);
	/* one by one where a window is larger: with so much in the log it does not move at once */
	for (i = 0; i < 200; i++)
		host_write(h, i * 2, 1, c->start.cache_parity);
	host_flush(h);
	for (i = 0; i < data_legs(c); i++)
		disks_stall(i, disks.data_start, disks.data_start + POOL_BLOCKS);
	begin_to_drain(c);
	host_sleep(200);
	if (kvp_drain_start(h->pool, &h->refusal) != -EBUSY)
		sim_fail("drained twice");
	if (kvp_cache_set_mode(h->pool, KVP_CACHE_WRITEAROUND, true, &h->refusal) != -EBUSY)
		sim_fail("set, though it is being drained");
	if (!c->start.parity && kvp_drain_cancel(h->pool))
		sim_fail("not to be cancelled");
	if (!c->start.parity) {
		wait_for_drain(c);
		begin_to_drain(c);
		host_sleep(200);
		end_for_a_suspend(c);
	}
	release(c);
	wait_for_drain(c);
	if (!c->start.parity)
		expect_place(c, KVP_CACHE_WRITEBACK);
	set_mode(c, KVP_CACHE_WRITEBACK);
	moves_for_minutes(c, false);
	moves_for_minutes(c, true);
	cancel_too_late(c);
	if (kvp_drain_start_to(h->pool, KVP_CACHE_WRITEBACK, true, &h->refusal))
		sim_fail("does not begin to move onto the cache: %s", h->refusal.why);
	wait_for_drain(c);
	expect_place(c, KVP_CACHE_WRITEBACK);
	some_writes(c);
	begin_to_drain(c);
	if (host_shrink(h, &less))
		sim_fail("not without its cache: %s", h->refusal.why);
	for (block = 0; block < c->o.blocks; block++)
		host_read_check(h, block);
	host_stop(h);
}

/*
 * Data that a stop left in the log cannot be read, for longer than any wait: the log is not given
 * up for that.
 */
static void silent_main(void *arg)
{
	struct change *c = arg;
	struct host *h = &c->host;
	struct host_start less = without(c);
	u64 block;
	u32 i;

	begin(c);
	some_writes(c);
	host_stop(h);
	begin(c);
	if (!h->pool->recovery.kept)
		sim_fail("nothing is left in the log: the case was not set up");
	for (i = data_legs(c); i < c->start.legs; i++)
		disks_fault(FAULT_READ_EIO, i, 0, ~0ull);
	if (!host_shrink(h, &less) || !strstr(h->refusal.why, "not all written data is home"))
		sim_fail("the cache has left with the only copy of blocks: %s", h->refusal.why);
	if (h->pool->table->poisoned)
		sim_fail("%llu blocks are given up", h->pool->table->poisoned);
	disks.nr_faults = 0;
	for (block = 0; block < c->o.blocks; block++)
		host_read_check(h, block);
	if (host_shrink(h, &less))
		sim_fail("not without its cache: %s", h->refusal.why);
	for (block = 0; block < c->o.blocks; block++)
		host_read_check(h, block);
	host_stop(h);
}

/* The first SSD that leaves does not answer the write that is to wipe its label. */
static void leaving_hangs_main(void *arg)
{
	struct change *c = arg;
	struct host *h = &c->host;
	struct host_start less = without(c);
	u32 ssd = data_legs(c);
	unsigned long since;

	begin(c);
	some_writes(c);
	disks_stall(ssd, 0, 3);
	since = jiffies;
	if (host_shrink(h, &less))
		sim_fail("not without its cache: %s", h->refusal.why);
	if (time_after(jiffies, since + 15 * HZ))
		sim_fail("the pool was held up for %u ms", jiffies_to_msecs(jiffies - since));
	if (!host_labelled(ssd))
		sim_fail("the label is gone: the case was not set up");
	some_writes(c);
	disks_release(ssd);
	host_read_check(h, 22);
	host_stop(h);
}

/* Old labels show an old state: a start with them is refused. */
static void left_main(void *arg)
{
	struct change *c = arg;
	struct host *h = &c->host;
	struct host_start less = without(c), alone = c->start;
	u32 i;

	begin(c);
	some_writes(c);
	for (i = data_legs(c); i < c->start.legs; i++) {
		disks_fault(FAULT_WRITE_EIO, i, 0, KVP_LABEL_BLOCKS);
		disks_fault(FAULT_WRITE_EIO, i, POOL_LEG_BLOCKS - KVP_LABEL_BLOCKS, ~0ull);
	}
	h->may_fail = true;
	if (host_shrink(h, &less))
		sim_fail("not without its cache: %s", h->refusal.why);
	h->may_fail = false;
	some_writes(c);
	host_stop(h);
	disks.nr_faults = 0;
	if (!host_start(h, &c->o, &c->start))
		sim_fail("started with an SSD that has left");
	alone.missing = BIT(data_legs(c)) - 1;
	alone.degraded = true;
	if (!host_start(h, &c->o, &alone))
		sim_fail("an SSD that has left is a pool by itself");
	if (host_start(h, &c->o, &less))
		sim_fail("start: %s", h->refusal.why);
	host_read_check(h, 22);
	if (!host_grow(h, &c->start) || !strstr(h->refusal.why, "is not blank"))
		sim_fail("taken, though it is not blank: %s", h->refusal.why);
	host_stop(h);
}

/* --- the cases -------------------------------------------------------------------------------- */

static void set_up(struct change *c, const struct host_start *shape, const struct course *course)
{
	c->course = course;
	c->start = *shape;
	c->start.writethrough = course->writethrough;
	oracle_copy(&c->o, &base_cache(&c->start)->o);
	c->crash = (struct crash){ .legs = shape->legs, .parity = shape->parity,
				   .cache = shape->cache, .cache_parity = shape->cache_parity,
				   .o = &c->o };
}

/* SSDs that are to join are blank, beside a pool without a cache. */
static void begin_disks(struct change *c, bool joins)
{
	struct host_start hs = without(c);
	struct image img[MAX_DISKS];
	const struct base *b;
	u32 i;

	if (!joins) {
		disks_begin(base_cache(&c->start)->img, c->start.legs);
		return;
	}
	b = hs.parity ? base_parity(hs.legs, false) : base_pool(hs.legs, false);
	oracle_free(&c->o);
	oracle_copy(&c->o, &b->o);
	for (i = 0; i < hs.legs; i++)
		image_copy(&img[i], &b->img[i]);
	blank_disks(img + hs.legs, c->start.cache, POOL_LEG_BLOCKS);
	disks_begin(img, c->start.legs);
	for (i = 0; i < c->start.legs; i++)
		image_free(&img[i]);
}

static void case_of(const char *what, const struct host_start *shape, const struct course *course,
		    void (*main)(void *arg), u32 victim, u32 after, u32 cuts)
{
	struct change *c = calloc(1, sizeof(*c));
	struct sim_config config;
	char name[96];
	bool good;

	snprintf(name, sizeof(name), victim == NO_DISK ? "modes:%s:%s%s%s:%s" :
		 "modes:%s:%s%s%s:%s:%u:%u",
		 what, shape->parity ? "parity" : "mirror",
		 shape->cache_parity ? "+3" : shape->cache > 1 ? "+2" : "+1", host_window(shape),
		 course->name, victim, after);
	if (wanted(name)) {
		set_up(c, shape, course);
		c->victim = victim;
		c->after = after;
		c->crash.heal_allowed = victim != NO_DISK;
		/*
		 * without the last SSD, rows are written home without logged parity:
		 * docs/design/known-gaps.md
		 */
		c->crash.poison_allowed = shape->parity && shape->cache == 1 &&
					  victim == shape->legs - 1;
		check_seed_config(&config, mix64(opt.seed, 900 + 100 * victim + after));
		begin_disks(c, main == join_main);
		good = sim_run(&config, main, c) == SIM_RETURNED;
		disks_end();
		if (good && cuts)
			good = victim == NO_DISK ?
				!cut_sampled(name, &c->crash, c->from, CHECK_RECRASH, cuts) :
				!cut_sampled(name, &c->crash, c->from, CHECK_LEGS, cuts);
		result(name, good);
		oracle_free(&c->o);
	}
	free(c);
}

void run_modes(void)
{
	u32 i, j, victim, after;

	case_of("whole", &wide, &courses[0], whole_main, NO_DISK, 0, 0);
	case_of("join", &wide, &courses[1], join_main, NO_DISK, 0, ~0u);
	case_of("leave", &wide, &courses[0], leave_main, NO_DISK, 0, ~0u);
	case_of("there-and-back", &wide, &courses[0], there_and_back_main, NO_DISK, 0, 0);
	case_of("overload", &wide, &courses[0], overload_main, NO_DISK, 0, 0);
	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		for (j = 0; j < ARRAY_SIZE(courses); j++) {
			case_of("cut", &shapes[i], &courses[j], change_main, NO_DISK, 0, ~0u);
			case_of("whole", &shapes[i], &courses[j], whole_main, NO_DISK, 0, 0);
		}
		for (j = 0; j < 2; j++) {
			case_of("hanging", &shapes[i], &courses[j], hanging_main, NO_DISK, 0, 30);
			case_of("between", &shapes[i], &courses[j], between_main, NO_DISK, 0, 60);
		}
		case_of("dying", &shapes[i], &courses[1], dying_main, NO_DISK, 0, ~0u);
		case_of("join", &shapes[i], &courses[1], join_main, NO_DISK, 0, ~0u);
		case_of("leave", &shapes[i], &courses[0], leave_main, NO_DISK, 0, ~0u);
		case_of("leave", &shapes[i], &courses[1], leave_main, NO_DISK, 0, ~0u);
		case_of("there-and-back", &shapes[i], &courses[0], there_and_back_main, NO_DISK, 0,
			0);
		case_of("drain", &shapes[i], &courses[0], drain_main, NO_DISK, 0, 0);
		case_of("left", &shapes[i], &courses[0], left_main, NO_DISK, 0, 0);
		case_of("leaving-hangs", &shapes[i], &courses[0], leaving_hangs_main, NO_DISK, 0, 0);
		if (!shapes[i].parity)
			case_of("silent", &shapes[i], &courses[0], silent_main, NO_DISK, 0, 0);
		case_of("refused", &shapes[i], &courses[1], refusal_main, NO_DISK, 0, 0);
		case_of("overload", &shapes[i], &courses[0], overload_main, NO_DISK, 0, 0);
	}
	for (i = 0; i < ARRAY_SIZE(shapes); i++)
		for (victim = 0; victim < shapes[i].legs; victim++)
			for (after = 0; after < 12; after += opt.thorough ? 1 : 2) {
				case_of("join-lost", &shapes[i], &courses[1], join_main, victim,
					after, 6);
				case_of("leave-lost", &shapes[i], &courses[0], leave_main, victim,
					after, 6);
			}
	for (i = 0; i < ARRAY_SIZE(shapes); i++)
		for (j = 0; j < 2; j++)
			for (victim = 0; victim < shapes[i].legs; victim++)
				for (after = 0; after < 40; after += opt.thorough ? 1 : 3)
					case_of("lost", &shapes[i], &courses[j], change_main,
						victim, after, 4);
	run_replace();
}
