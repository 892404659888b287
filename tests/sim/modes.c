// SPDX-License-Identifier: GPL-2.0-only
/*
 * The log of a pool in use moves onto its cache and off it, by command. The power goes at every
 * step, or a leg or an SSD fails.
 */
#include <string.h>

#include "core/cache.h"
#include "inuse.h"
#include "pool/cachemode.h"
#include "pool/cachevdev.h"
#include "script.h"
#include "super/members.h"
#include "table/table.h"

#define NO_DISK	IN_USE_NO_DISK

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

/* How a case differs from others of its kind. */
static struct {
	const struct course *course;
	struct host_start with;	/* the shape with its cache, also if that is to join */
	u32 victim, after;	/* disk that dies after that many of its requests; NO_DISK: none */
} variant;

/* What the tasks of a turn know of one another. */
static struct {
	struct in_use use;
	bool busy;
	u32 writers;
	bool is_set, flushed;	/* it has returned */
	int error;
} own;

static void read_all(struct script *s)
{
	host_read_each(&s->host, 0, s->o.blocks);
}

/* --- it is in use ----------------------------------------------------------------------- */

static void expect_place(struct script *s, u64 mode)
{
	struct kvp_pool *pool = s->host.pool;
	bool on_cache = !kvp_has_data(pool->vdevs.log_vdev->g);

	if (on_cache != (mode == KVP_CACHE_WRITEBACK) || pool->tunables[KVP_T_CACHE_MODE] != mode)
		sim_fail("mode is %llu, not %llu, and the log on vdev %u",
			 pool->tunables[KVP_T_CACHE_MODE], mode, pool->vdevs.log_vdev->index);
	if (s->start.cache_dirty && kvp_log_window(kvp_pool_cache(pool)->g) != s->start.cache_dirty)
		sim_fail("the window has %llu blocks", kvp_log_window(kvp_pool_cache(pool)->g));
}

static void set_mode(struct script *s, u64 mode)
{
	struct host *h = &s->host;
	int ret = kvp_cache_set_mode(h->pool, mode, true, &h->refusal);

	if (!ret) {
		if (variant.victim == NO_DISK)
			expect_place(s, mode);
		return;
	}
	if (variant.victim == NO_DISK)
		sim_fail("mode not set: %s", h->refusal.why);
	if (!h->refusal.why[0])
		sim_fail("refused with %d and no reason", ret);
}

static void change(struct script *s)
{
	struct host *h = &s->host;
	u32 i;

	host_write(h, 20, 30, false);
	host_write(h, 200, 40, false);
	host_flush(h);
	host_write(h, 22, 3, false);
	own.use.most = 12;
	in_use_begin(&own.use, s, variant.victim, variant.after);
	for (i = 0; i < variant.course->nr; i++) {
		set_mode(s, variant.course->modes[i]);
		in_use_step(s, i);
		host_read_check(h, 210);
	}
	in_use_end(&own.use);
	host_write(h, 23, 2, true);
	script_note_lost(s);
}

/* Stopped cleanly and started again: mode, place and contents are unchanged. */
static void whole(struct script *s)
{
	u64 mode = variant.course->modes[variant.course->nr - 1];

	change(s);
	host_stop(&s->host);
	script_start(s);
	expect_place(s, mode);
	read_all(s);
	set_mode(s, mode == KVP_CACHE_WRITEBACK ? KVP_CACHE_WRITETHROUGH : KVP_CACHE_WRITEBACK);
	read_all(s);
}

/* --- step by step ------------------------------------------------------------------------ */

static void setter(void *arg)
{
	struct script *s = arg;

	own.error = kvp_cache_set_mode(s->host.pool, variant.course->modes[0], true,
				       &s->host.refusal);
	own.is_set = true;
}

static void flusher(void *arg)
{
	struct script *s = arg;

	host_write(&s->host, 4, 1, false);
	host_flush(&s->host);
	own.flushed = true;
}

static u32 data_legs(const struct script *s)
{
	return s->start.legs - s->start.cache;
}

static void stall(struct script *s, u32 first, u32 end, u64 from, u64 to)
{
	for (; first < end; first++)
		disks_stall(first, from, to);
	sim_spawn("setter", setter, s);
	host_sleep(400);
}

static void release(struct script *s)
{
	u32 i;

	for (i = 0; i < s->start.legs; i++)
		disks_release(i);
	host_sleep(400);
}

/* Some rows, or blocks, are in the log. */
static void log_some(struct script *s)
{
	u32 i;

	for (i = 0; i < 8; i++)
		host_write(&s->host, 2 + 14 * i, 1, false);
	host_flush(&s->host);
	script_cut_from_here(s);
}

/* Homes hang: the log stays where it is, and the machine ends so. */
static void hanging(struct script *s)
{

	log_some(s);
	stall(s, 0, 1, disks.data_start, disks.data_start + POOL_BLOCKS);
	if (own.is_set)
		sim_fail("the mode is set before the contents of the log are home");
	expect_place(s, s->start.writethrough ? KVP_CACHE_WRITETHROUGH : KVP_CACHE_WRITEBACK);
}

/* Superblocks hang: nothing can be durable in a log that is being left. Then all goes on. */
static void between(struct script *s)
{

	log_some(s);
	stall(s, 0, data_legs(s), 0, KVP_LABEL_BLOCKS);
	if (own.is_set)
		sim_fail("the mode is set before a superblock says so");
	sim_spawn("flusher", flusher, s);
	host_sleep(400);
	if (own.flushed)
		sim_fail("FLUSH was answered by a log that is being left");
	release(s);
	if (!own.is_set || own.error || !own.flushed)
		sim_fail("set %d with %d, flushed %d", own.is_set, own.error, own.flushed);
	expect_place(s, variant.course->modes[0]);
	host_write(&s->host, 20, 5, true);
}

/* The SSDs die as the superblock is written that names the log there. */
static void dying(struct script *s)
{
	u32 i;

	log_some(s);
	host_checkpoint(&s->host);
	host_write(&s->host, 70, 2, true);
	stall(s, data_legs(s), s->start.legs, 0, KVP_LABEL_BLOCKS);
	for (i = data_legs(s); i < s->start.legs; i++)
		disks_kill(i);
	release(s);
	/*
	 * Or the superblock had the new mode by then: it was set, and the log moves back with its
	 * first entry.
	 */
	if (!own.is_set || (own.error && own.error != -ENODEV))
		sim_fail("set %d with %d", own.is_set, own.error);
	if (own.error)
		expect_place(s, KVP_CACHE_WRITETHROUGH);
	flusher(s);
	if (!kvp_has_data(s->host.pool->vdevs.log_vdev->g))
		sim_fail("the log is on SSDs that are dead");
	host_write(&s->host, 20, 5, true);
	host_checkpoint(&s->host);
	host_write(&s->host, 71, 2, true);
}

/* --- refusals ------------------------------------------------------------------------------ */

static void expect_refusal(struct script *s, u64 mode, bool force, int error, const char *words)
{
	struct host *h = &s->host;
	int ret = kvp_cache_set_mode(h->pool, mode, force, &h->refusal);

	if (ret != error || !strstr(h->refusal.why, words))
		sim_fail("set gave %d (%s)", ret, h->refusal.why);
}

static void refusal(struct script *s)
{
	struct host *h = &s->host;
	/* Without another one a log there would survive no loss. */
	u32 spare = s->start.cache_parity ? data_legs(s) + 1 : s->start.legs - 1, i;

	if (s->start.cache == 1)
		expect_refusal(s, KVP_CACHE_WRITEBACK, false, -EPERM, "on one SSD");
	else if (kvp_cache_set_mode(h->pool, KVP_CACHE_WRITEBACK, false, &h->refusal))
		sim_fail("refused: %s", h->refusal.why);
	set_mode(s, KVP_CACHE_WRITETHROUGH);
	host_write(h, 20, 3, true);
	for (i = s->start.legs - s->start.cache; i < s->start.legs; i++) {
		if (i == spare && s->start.cache > 1)
			expect_refusal(s, KVP_CACHE_WRITEBACK, false, -EPERM,
				       s->start.cache_parity ? "on the rest" : "on one SSD");
		if (kvp_leg_offline(h->pool, host_leg(h, i)))
			sim_fail("an SSD cannot be taken out");
		if (i == spare && s->start.cache_parity)
			expect_refusal(s, KVP_CACHE_WRITEBACK, true, -ENODEV, "too few SSDs");
	}
	expect_refusal(s, KVP_CACHE_WRITEBACK, true, -ENODEV, "no SSD");
	host_write(h, 21, 3, true);
}

/*
 * --- the log is emptied first ------------------------------------------------------------------
 */

static void filler(void *arg)
{
	struct script *s = arg;
	u32 i;

	for (i = 0; own.busy; i++) {
		host_write(&s->host, i * 3 % POOL_BLOCKS, 1, false);
		if (i % 8 == 7)
			host_flush(&s->host);
	}
	own.writers--;
}

/* Gigabytes are written. */
static void forget_trace(struct script *s)
{
	disks.forgets = true;
}

/* Writes continue without end: the log still gets empty, and the mode changes. */
static void overload(struct script *s)
{
	struct host *h = &s->host;

	own.busy = true;
	own.writers = 1;
	sim_spawn("filler", filler, s);
	host_sleep(2000);
	set_mode(s, KVP_CACHE_WRITETHROUGH);
	host_sleep(500);
	set_mode(s, KVP_CACHE_WRITEBACK);
	own.busy = false;
	while (own.writers)
		host_sleep(10);
	if (READ_ONCE(h->pool->log->squeeze))
		sim_fail("users may still have less of the log");
}

/* --- a cache joins and leaves ---------------------------------------------------------------- */

static struct host_start without(struct host_start hs)
{
	hs.legs -= hs.cache;
	hs.cache = 0;
	hs.writethrough = false;
	return hs;
}

static void some_writes(struct script *s)
{
	struct host *h = &s->host;

	host_write(h, 20, 30, false);
	host_flush(h);
	host_write(h, 22, 3, true);
	host_write(h, 300, 5, false);
}

static void note_lost(struct script *s)
{
	script_note_lost(s);
	/* the death of a disk that has left is not recorded any more */
	if (variant.victim != NO_DISK && variant.victim >= s->host.pool->nr_legs)
		s->crash.lost |= BIT(variant.victim);
}

static void die(struct script *s)
{
	if (variant.victim == NO_DISK)
		return;
	/* A new SSD gets blank labels first, and each ring of events by one request. */
	disks_fault(FAULT_DEATH, variant.victim, 0, ~0ull)->after =
		variant.after + (variant.victim < data_legs(s) || s->crash.leaves_at ? 0 :
			    2 * KVP_LABEL_BLOCKS + 2);
	s->host.may_fail = true;
}

static void join(struct script *s)
{
	struct host *h = &s->host;

	some_writes(s);
	s->crash.joins_at = ~0u;
	script_cut_from_here(s);
	die(s);
	if (!host_grow(h, &variant.with)) {
		s->crash.joins_at = disks.trace.nr;
		expect_place(s, KVP_CACHE_WRITETHROUGH);
		host_write(h, 21, 4, true);
		set_mode(s, KVP_CACHE_WRITEBACK);
	} else if (variant.victim == NO_DISK) {
		sim_fail("not grown: %s", h->refusal.why);
	}
	host_write(h, 60, 4, true);
	host_write(h, 100, 20, false);
	host_flush(h);
	host_read_check(h, 22);
	note_lost(s);
}

static void notes_end(void *arg)
{
	const struct script *s = arg;

	host_sleep(500);
	disks_release(s->start.legs - 1);
}

/* The record of a loss takes half a second to reach the last SSD. */
static void notes_hang(struct script *s)
{
	disks_stall(s->start.legs - 1, KVP_EVENTS_BLOCK, KVP_EVENTS_BLOCK + KVP_EVENTS_BLOCKS - 1);
	sim_spawn("notes", notes_end, s);
}

static void leave(struct script *s)
{
	struct host *h = &s->host;
	struct host_start new = without(s->start);

	some_writes(s);
	s->crash.leaves_at = ~0u;
	script_cut_from_here(s);
	die(s);
	if (variant.victim != NO_DISK)
		notes_hang(s);
	if (!host_shrink(h, &new)) {
		s->crash.leaves_at = disks.trace.nr;
		if (h->pool->nr_legs != new.legs || !kvp_has_data(h->pool->vdevs.log_vdev->g))
			sim_fail("%u legs, the log on vdev %u", h->pool->nr_legs,
				 h->pool->vdevs.log_vdev->index);
	} else if (variant.victim == NO_DISK) {
		sim_fail("not without its cache: %s", h->refusal.why);
	}
	host_write(h, 21, 4, true);
	host_write(h, 60, 30, false);
	host_flush(h);
	host_read_check(h, 22);
	host_read_check(h, 301);
	note_lost(s);
}

/*
 * There and back again, with orderly ends between; and an SSD that has left is none of the pool's.
 */
static void there_and_back(struct script *s)
{
	struct host *h = &s->host;
	struct host_start less = without(s->start);
	u32 round;

	for (round = 0; round < 2; round++) {
		some_writes(s);
		set_mode(s, KVP_CACHE_WRITEBACK);
		host_write(h, 40 + round, 3, true);
		if (host_shrink(h, &less))
			sim_fail("not without its cache: %s", h->refusal.why);
		some_writes(s);
		host_stop(h);
		if (!host_start(h, &s->o, &s->start))
			sim_fail("started with an SSD that has left");
		if (host_start(h, &s->o, &less))
			sim_fail("start: %s", h->refusal.why);
		read_all(s);
		if (host_grow(h, &s->start))
			sim_fail("not grown: %s", h->refusal.why);
		expect_place(s, KVP_CACHE_WRITETHROUGH);
		host_write(h, 50 + round, 3, true);
		host_stop(h);
		script_start(s);
	}
	read_all(s);
}

static void wait_for_drain(struct script *s)
{
	while (s->host.pool->drain->state == KVP_DRAIN_RUNNING)
		host_sleep(20);
}

static void begin_to_drain(struct script *s)
{
	if (kvp_drain_start(s->host.pool, &s->host.refusal))
		sim_fail("not drained: %s", s->host.refusal.why);
}

static void quiescer(void *arg)
{
	struct script *s = arg;

	kvp_drain_quiesce(s->host.pool);
	if (sim_current->hung)
		sim_fail("a stop during a long move looks hung: %s", sim_current->hung);
	own.flushed = true;
}

static void patient_setter(void *arg)
{
	struct script *s = arg;

	setter(arg);
	if (sim_current->hung)
		sim_fail("a long move looks hung: %s", sim_current->hung);
	if (own.error)
		sim_fail("not moved: %s", s->host.refusal.why);
}

/* Disks take minutes. The move waits for that, and so does a stop: no task looks hung meanwhile. */
static void moves_for_minutes(struct script *s, bool stop)
{
	struct host *h = &s->host;
	u32 i;

	h->pool->tunables[KVP_T_LEG_TIMEOUT] = 3600;
	host_write(h, 30, 3, true);
	for (i = 0; i < data_legs(s); i++)
		disks_stall(i, disks.data_start, disks.data_start + POOL_BLOCKS);
	own.is_set = own.flushed = false;
	if (stop)
		begin_to_drain(s);
	else
		sim_spawn("setter", patient_setter, s);
	host_sleep(200);
	if (stop)
		sim_spawn("stop", quiescer, s);
	host_sleep(150 * 1000);
	if (own.is_set || own.flushed || h->pool->drain->order != KVP_DRAIN_MOVES)
		sim_fail("it does not move for minutes: the case was not set up");
	release(s);
	while (!(stop ? own.flushed : own.is_set))
		host_sleep(20);
	kvp_drain_unquiesce(h->pool);
	expect_place(s, KVP_CACHE_WRITETHROUGH);
	set_mode(s, KVP_CACHE_WRITEBACK);
}

/* The log is nearly empty, so that it moves at once, and waits for data that does not get home. */
static void cancel_too_late(struct script *s)
{
	struct host *h = &s->host;
	u32 i;

	host_write(h, 30, 3, true);
	for (i = 0; i < data_legs(s); i++)
		disks_stall(i, disks.data_start, disks.data_start + POOL_BLOCKS);
	begin_to_drain(s);
	host_sleep(200);
	if (h->pool->drain->state != KVP_DRAIN_RUNNING)
		sim_fail("it has moved already: the case was not set up");
	if (kvp_drain_cancel(h->pool) != -EBUSY)
		sim_fail("it moves, and yet was cancelled");
	release(s);
	wait_for_drain(s);
	expect_place(s, KVP_CACHE_WRITETHROUGH);
	if (kvp_drain_cancel(h->pool) != -ENOENT)
		sim_fail("a log that has moved was cancelled");
}

/* A suspend does not wait for a drain of the log, off the cache or onto it. */
static void end_for_a_suspend(struct script *s)
{
	struct host *h = &s->host;

	kvp_pool_suspending(h->pool);
	host_sleep(20);
	if (h->pool->drain->state != KVP_DRAIN_CANCELLED)
		sim_fail("it is drained, or goes on, though the pool is about to be suspended");
	if (!kvp_drain_start_to(h->pool, KVP_CACHE_WRITETHROUGH, false, &h->refusal)) {
		wait_for_drain(s);
		if (h->pool->drain->state == KVP_DRAIN_DONE)
			sim_fail("drained while the pool is about to be suspended");
	}
	kvp_pool_not_suspending(h->pool);
}

static void drain_to_the_end(struct script *s)
{
	struct host *h = &s->host;

	if (kvp_drain_cancel(h->pool) != -ENOENT)
		sim_fail("something was cancelled");
	some_writes(s);
	begin_to_drain(s);
	wait_for_drain(s);
	expect_place(s, KVP_CACHE_WRITETHROUGH);
	begin_to_drain(s);
	if (h->pool->drain->state != KVP_DRAIN_DONE)
		sim_fail("a log on the legs is drained");
	set_mode(s, KVP_CACHE_WRITEBACK);
}

/* Homes hang, so that it does not end by itself. */
static void drain_beside_orders(struct script *s)
{
	struct host *h = &s->host;
	u32 i;

	/* one by one where a window is larger: with so much in the log it does not move at once */
	for (i = 0; i < 200; i++)
		host_write(h, i * 2, 1, s->start.cache_parity);
	host_flush(h);
	for (i = 0; i < data_legs(s); i++)
		disks_stall(i, disks.data_start, disks.data_start + POOL_BLOCKS);
	begin_to_drain(s);
	host_sleep(200);
	if (kvp_drain_start(h->pool, &h->refusal) != -EBUSY)
		sim_fail("drained twice");
	if (kvp_cache_set_mode(h->pool, KVP_CACHE_WRITEAROUND, true, &h->refusal) != -EBUSY)
		sim_fail("set, though it is being drained");
	if (!s->start.parity && kvp_drain_cancel(h->pool))
		sim_fail("not to be cancelled");
	if (!s->start.parity) {
		wait_for_drain(s);
		begin_to_drain(s);
		host_sleep(200);
		end_for_a_suspend(s);
	}
	release(s);
	wait_for_drain(s);
	if (!s->start.parity)
		expect_place(s, KVP_CACHE_WRITEBACK);
	set_mode(s, KVP_CACHE_WRITEBACK);
}

/* A drain without a waiter ends: by itself, by command, and by a suspend. */
static void drain(struct script *s)
{
	struct host *h = &s->host;
	struct host_start less = without(s->start);

	drain_to_the_end(s);
	drain_beside_orders(s);
	moves_for_minutes(s, false);
	moves_for_minutes(s, true);
	cancel_too_late(s);
	if (kvp_drain_start_to(h->pool, KVP_CACHE_WRITEBACK, true, &h->refusal))
		sim_fail("does not begin to move onto the cache: %s", h->refusal.why);
	wait_for_drain(s);
	expect_place(s, KVP_CACHE_WRITEBACK);
	some_writes(s);
	begin_to_drain(s);
	if (host_shrink(h, &less))
		sim_fail("not without its cache: %s", h->refusal.why);
	read_all(s);
}

/*
 * Data that a stop left in the log cannot be read, for longer than any wait: the log is not given
 * up for that.
 */
static void silent(struct script *s)
{
	struct host *h = &s->host;
	struct host_start less = without(s->start);
	u32 i;

	some_writes(s);
	host_stop(h);
	script_start(s);
	if (!h->pool->recovery.kept)
		sim_fail("nothing is left in the log: the case was not set up");
	for (i = data_legs(s); i < s->start.legs; i++)
		disks_fault(FAULT_READ_EIO, i, 0, ~0ull);
	if (!host_shrink(h, &less) || !strstr(h->refusal.why, "not all written data is home"))
		sim_fail("the cache has left with the only copy of blocks: %s", h->refusal.why);
	if (h->pool->table->poisoned)
		sim_fail("%llu blocks are given up", h->pool->table->poisoned);
	disks.nr_faults = 0;
	read_all(s);
	if (host_shrink(h, &less))
		sim_fail("not without its cache: %s", h->refusal.why);
	read_all(s);
}

/* The first SSD that leaves does not answer the write that is to wipe its label. */
static void leaving_hangs(struct script *s)
{
	struct host *h = &s->host;
	struct host_start less = without(s->start);
	u32 ssd = data_legs(s);
	unsigned long since;

	some_writes(s);
	disks_stall(ssd, 0, 3);
	since = jiffies;
	if (host_shrink(h, &less))
		sim_fail("not without its cache: %s", h->refusal.why);
	if (time_after(jiffies, since + 15 * HZ))
		sim_fail("the pool was held up for %u ms", jiffies_to_msecs(jiffies - since));
	if (!host_labelled(ssd))
		sim_fail("the label is gone: the case was not set up");
	some_writes(s);
	disks_release(ssd);
	host_read_check(h, 22);
}

/* Old labels show an old state: a start with them is refused. */
static void left(struct script *s)
{
	struct host *h = &s->host;
	struct host_start less = without(s->start), alone = s->start;
	u32 i;

	some_writes(s);
	for (i = data_legs(s); i < s->start.legs; i++) {
		disks_fault(FAULT_WRITE_EIO, i, 0, KVP_LABEL_BLOCKS);
		disks_fault(FAULT_WRITE_EIO, i, POOL_LEG_BLOCKS - KVP_LABEL_BLOCKS, ~0ull);
	}
	h->may_fail = true;
	if (host_shrink(h, &less))
		sim_fail("not without its cache: %s", h->refusal.why);
	h->may_fail = false;
	some_writes(s);
	host_stop(h);
	disks.nr_faults = 0;
	if (!host_start(h, &s->o, &s->start))
		sim_fail("started with an SSD that has left");
	alone.missing = BIT(data_legs(s)) - 1;
	alone.degraded = true;
	if (!host_start(h, &s->o, &alone))
		sim_fail("an SSD that has left is a pool by itself");
	if (host_start(h, &s->o, &less))
		sim_fail("start: %s", h->refusal.why);
	host_read_check(h, 22);
	if (!host_grow(h, &s->start) || !strstr(h->refusal.why, "is not blank"))
		sim_fail("taken, though it is not blank: %s", h->refusal.why);
}

/* --- the cases -------------------------------------------------------------------------------- */

static void set_up(struct script *s)
{
	const struct host_start *with = &variant.with;

	/* SSDs that are to join are legs as soon as the pool has taken them. */
	s->crash.legs = with->legs;
	s->crash.cache = with->cache;
	s->crash.spare = 0;
	s->crash.heal_allowed = variant.victim != NO_DISK;
	/* without the last SSD, rows are written home without logged parity: known-gaps.md */
	s->crash.poison_allowed = with->parity && with->cache == 1 &&
				  variant.victim == with->legs - 1;
}

/* The trace of @act is cut at about so many positions; 0: it ends with a stop. */
static void case_of(const char *what, const struct host_start *with, const struct course *course,
		    void (*act)(struct script *s), u32 cuts)
{
	struct host_start shape = act == join ? without(*with) : *with;
	char name[96];
	const struct script_case c = {
		.name = name, .shape = &shape, .spares = act == join ? with->cache : 0,
		.set_up = set_up, .prepare = act == overload ? forget_trace : NULL, .act = act,
		.leave = cuts, .turns = 1, .most = 1,
		.salt = 900 + 100 * variant.victim + variant.after, .cuts = cuts,
		.depth = variant.victim == NO_DISK ? CHECK_RECRASH : CHECK_LEGS,
		.own = &own, .own_size = sizeof(own),
	};

	shape.writethrough = act != join && course->writethrough;
	variant.course = course;
	variant.with = *with;
	variant.with.writethrough = course->writethrough;
	snprintf(name, sizeof(name), variant.victim == NO_DISK ? "modes:%s:%s%s%s:%s" :
		 "modes:%s:%s%s%s:%s:%u:%u", what, with->parity ? "parity" : "mirror",
		 with->cache_parity ? "+3" : with->cache > 1 ? "+2" : "+1", host_window(with),
		 course->name, variant.victim, variant.after);
	script_run(&c);
}

/* With a window of its own: what depends on that when the cache comes, goes, or gets the log. */
static void wide_window(void)
{
	static const struct host_start wide = { .legs = 4, .cache = 2, .cache_dirty = WIDE_WINDOW };

	case_of("whole", &wide, &courses[0], whole, 0);
	case_of("join", &wide, &courses[1], join, SCRIPT_EVERYWHERE);
	case_of("leave", &wide, &courses[0], leave, SCRIPT_EVERYWHERE);
	case_of("there-and-back", &wide, &courses[0], there_and_back, 0);
	case_of("overload", &wide, &courses[0], overload, 0);
}

static void all_of(const struct host_start *with)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(courses); i++) {
		case_of("cut", with, &courses[i], change, SCRIPT_EVERYWHERE);
		case_of("whole", with, &courses[i], whole, 0);
	}
	for (i = 0; i < 2; i++) {
		case_of("hanging", with, &courses[i], hanging, 30);
		case_of("between", with, &courses[i], between, 60);
	}
	case_of("dying", with, &courses[1], dying, SCRIPT_EVERYWHERE);
	case_of("join", with, &courses[1], join, SCRIPT_EVERYWHERE);
	case_of("leave", with, &courses[0], leave, SCRIPT_EVERYWHERE);
	case_of("leave", with, &courses[1], leave, SCRIPT_EVERYWHERE);
	case_of("there-and-back", with, &courses[0], there_and_back, 0);
	case_of("drain", with, &courses[0], drain, 0);
	case_of("left", with, &courses[0], left, 0);
	case_of("leaving-hangs", with, &courses[0], leaving_hangs, 0);
	if (!with->parity)
		case_of("silent", with, &courses[0], silent, 0);
	case_of("refused", with, &courses[1], refusal, 0);
	case_of("overload", with, &courses[0], overload, 0);
}

/* A disk dies while the cache joins or leaves. */
static void lose_beside_a_cache(const struct host_start *with)
{
	for (variant.victim = 0; variant.victim < with->legs; variant.victim++)
		for (variant.after = 0; variant.after < 12;
		     variant.after += opt.thorough ? 1 : 2) {
			case_of("join-lost", with, &courses[1], join, 6);
			case_of("leave-lost", with, &courses[0], leave, 6);
		}
}

/* A disk dies while the mode changes. */
static void lose(const struct host_start *with)
{
	u32 i;

	for (i = 0; i < 2; i++)
		for (variant.victim = 0; variant.victim < with->legs; variant.victim++)
			for (variant.after = 0; variant.after < 40;
			     variant.after += opt.thorough ? 1 : 3)
				case_of("lost", with, &courses[i], change, 4);
}

void run_modes(void)
{
	const struct host_start *shape, *end = shapes + ARRAY_SIZE(shapes);

	variant.victim = NO_DISK;
	variant.after = 0;
	wide_window();
	for (shape = shapes; shape < end; shape++)
		all_of(shape);
	for (shape = shapes; shape < end; shape++)
		lose_beside_a_cache(shape);
	for (shape = shapes; shape < end; shape++)
		lose(shape);
	run_replace();
	run_window_changes();
}
