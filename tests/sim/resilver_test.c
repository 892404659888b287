// SPDX-License-Identifier: GPL-2.0-only
/*
 * Legs that were out return (R17, R18). A leg leaves, the pool goes on without it, and the leg
 * returns while there are writers. When its resilver has ended, each block and each table page on
 * the leg is right, so any other leg may be lost. The power goes at every step; at the next start
 * the leg returns by itself.
 */
#include <string.h>

#include "life.h"
#include "script.h"
#include "core/shadow.h"
#include "core/stats.h"
#include "format/spare.h"
#include "io/flight.h"
#include "log/log.h"
#include "pool/online.h"
#include "pool/spare.h"
#include "super/members.h"
#include "table/table.h"
#include "work/resilver.h"

#define BIG_LEGS	(6 * POOL_LEG_BLOCKS)
#define BIG_BLOCKS	9000u	/* 18 leaves, on each shape */
#define NAMED(function) #function, function

static const struct shape {
	const char *name;
	struct host_start start;
	u32 victim, levels;
	bool big;
} shapes[] = {
	{ "mirror", { .legs = 2 }, 1 },
	{ "mirror-first", { .legs = 2 }, 0 },
	{ "mirror3", { .legs = 3 }, 1 },
	{ "parity1", { .legs = 3, .parity = true }, 2 },
	{ "parity1-of-5", { .legs = 5, .parity = true }, 0 },
	{ "strict", { .legs = 3, .parity = true, .strict = true }, 1 },
	{ "mirrors", { .legs = 4, .second = 2 }, 2 },
	{ "mirror-and-parity1", { .legs = 5, .second = 3, .second_parity = true }, 3 },
	{ "parity1-and-mirror", { .legs = 5, .parity = true, .second = 2 }, 4 },
	{ "cache", { .legs = 4, .cache = 2 }, 1 },
	{ "cache-of-parity1", { .legs = 4, .parity = true, .cache = 1 }, 1 },
	{ "cache-of-rows", { .legs = 5, .cache = 3, .cache_parity = true }, 0 },
	{ "deep2-mirror", { .legs = 2 }, 1, 2 },
	{ "deep3-parity1", { .legs = 3, .parity = true }, 0, 3 },
	{ "big-mirror", { .legs = 2, .grown = true }, 1, 1, true },
	{ "big-parity1", { .legs = 3, .parity = true, .grown = true }, 1, 1, true },
	{ "big2-mirror3", { .legs = 3, .grown = true }, 2, 2, true },
	{ "big3-parity1", { .legs = 3, .parity = true, .grown = true }, 2, 3, true },
	{ "big2-mirror-and-parity1",
	  { .legs = 5, .second = 3, .second_parity = true, .grown = true }, 1, 2, true },
	/* The first vdev is larger. It has the end of the pool for itself, from another leaf on. */
	{ "unlike-mirrors",
	  { .legs = 4, .second = 2, .grown = true, .all_blocks = 7550, .second_blocks = 5700 },
	  0, 1, true },
	{ "unlike-parity1s",
	  { .legs = 6, .second = 3, .parity = true, .second_parity = true, .grown = true,
	    .all_blocks = 4700, .second_blocks = 3760 }, 0, 1, true },
	/* the log is on the first vdev alone, which survives more */
	{ "mirror3-and-mirror", { .legs = 5, .second = 2 }, 4 },
};

/* What a turn knows besides its script; its number decides what differs between turns. */
static struct {
	struct rng rng;
	u32 victim, blocks;
	u32 back_at;		/* position in the trace: the leg is in sync again */
	bool writes, wrote;	/* the writer goes on; it has ended */
	bool has_lost;		/* blocks may read EIO, and nothing else that is wrong */
	u64 missed;		/* blocks that were written while the leg was out */
	kvp_lsn_t walked;	/* the log's head while the walk went on for the last time */
	bool dies;		/* the leg leaves by errors */
} own;

static const struct shape *own_shape;	/* of the case */
static bool own_dies;		/* if the case is cut: the leg leaves by errors */
static bool own_spare;		/* the disk that takes its place is a spare of the pool */

/* --- a life ------------------------------------------------------------------------- */

static struct kvp_leg *victim(struct script *l)
{
	return &l->host.pool->legs[own.victim];
}

/* The legs return by themselves at later starts. */
static void let_return(struct script *l)
{
	if (kvp_pool_set(l->host.pool, KVP_T_ONLINE_AUTO, 1))
		sim_fail("online_auto is not set");
}

static void write_somewhere(struct script *l)
{
	u32 n = 1 + rng_below(&own.rng, rng_chance(&own.rng, 300) ? 40 : 6);
	u64 block = rng_below(&own.rng, own.blocks - n);

	switch (rng_below(&own.rng, 8)) {
	case 0:
		host_discard(&l->host, block, n);
		break;
	case 1:
		host_write_zeros(&l->host, block, n);
		break;
	default:
		host_write(&l->host, block, n, rng_chance(&own.rng, 100));
	}
}

/* Eras advance once a second. */
static void some_time(struct script *l)
{
	switch (rng_below(&own.rng, 6)) {
	case 0:
		host_checkpoint(&l->host);
		break;
	case 1:
		host_flush(&l->host);
		break;
	case 2:
		host_sleep(1100);
	}
}

static void some_writes(struct script *l, u32 n)
{
	while (n--) {
		write_somewhere(l);
		some_time(l);
	}
	host_flush(&l->host);
}

static void wait_out(struct script *l)
{
	while (kvp_leg_in_sync(victim(l)))
		host_sleep(10);
}

static void order_out(struct script *l, struct kvp_leg *leg)
{
	if (kvp_leg_offline(l->host.pool, leg))
		sim_fail("leg %u does not leave", leg->index);
}

static void leave(struct script *l)
{
	script_cut_from_here(l);
	if (own.dies) {
		disks_kill(own.victim);
		some_writes(l, 2);
	} else {
		order_out(l, victim(l));
	}
	wait_out(l);
	host_flush(&l->host);
}

static void come_back(struct script *l)
{
	disks.dead[own.victim] = false;
	if (host_online(&l->host, own.victim))
		sim_fail("the leg does not return: %s", l->host.refusal.why);
}

static void writer(void *arg)
{
	struct script *l = arg;

	while (own.writes) {
		write_somewhere(l);
		host_sleep(rng_below(&own.rng, 30));
		some_time(l);
	}
	own.wrote = true;
}

static void begin_writer(struct script *l)
{
	own.writes = true;
	own.wrote = false;
	sim_spawn("writer", writer, l);
}

static void end_writer(struct script *l)
{
	own.writes = false;
	while (!own.wrote)
		host_sleep(5);
}

/* The resilver has ended well: all legs are there, and each copy is right. */
static void wait_in_sync(struct script *l)
{
	host_wait_resilver(&l->host);
	life_expect_in_sync(l);
	own.back_at = disks.trace.nr;
}

static void stop(struct script *l)
{
	host_flush(&l->host);
	host_stop(&l->host);
}

static void again(struct script *l)
{
	stop(l);
	script_start(l);
}

static void end_scrubbed(struct script *l)
{
	life_expect_scrubbed(&l->host);
	host_flush(&l->host);
}

static void end_in_sync(struct script *l)
{
	wait_in_sync(l);
	end_scrubbed(l);
}

/* --- lives ---------------------------------------------------------------------------- */

static void returns(struct script *l)
{
	some_writes(l, 6);
	leave(l);
	some_writes(l, 12);
	come_back(l);
	wait_in_sync(l);
	life_expect_scrubbed(&l->host);
	some_writes(l, 4);
	stop(l);
}

/* No checkpoint writes a page anew. */
static void returns_to_an_idle_pool(struct script *l)
{
	leave(l);
	some_writes(l, 8);
	host_checkpoint(&l->host);
	host_sleep(1100);
	host_checkpoint(&l->host);
	come_back(l);
	end_in_sync(l);
}

static void returns_beside_a_writer(struct script *l)
{
	some_writes(l, 4);
	leave(l);
	some_writes(l, 10);
	begin_writer(l);
	come_back(l);
	wait_in_sync(l);
	end_writer(l);
	end_scrubbed(l);
}

static void hasty_writer(void *arg)
{
	struct script *l = arg;

	while (own.writes)
		host_write(&l->host, rng_below(&own.rng, own.blocks), 1, true);
	own.wrote = true;
}

/*
 * What is acknowledged while the last checkpoint is made is in the log alone, and the tail does not
 * pass it. The power goes as soon as the leg is in sync, and any leg with it.
 */
static void entries_amid_the_close(struct script *l)
{
	leave(l);
	some_writes(l, 4);
	own.writes = true;
	sim_spawn("hasty", hasty_writer, l);
	come_back(l);
	while (!kvp_leg_in_sync(victim(l)) || kvp_resilver_runs(l->host.pool))
		host_sleep(1);
	life_expect_in_sync(l);
}

/* What the walk looks for is at home, and the table on disk does not know. */
static void home_without_a_checkpoint(struct script *l)
{
	host_checkpoint(&l->host);
	host_sleep(1100);
	host_checkpoint(&l->host);
	leave(l);
	host_write(&l->host, 40, 20, false);
	host_flush(&l->host);
	host_try_home(&l->host);
	come_back(l);
	end_in_sync(l);
}

/*
 * A write by intent that does not know the leg is on its way home while the walk begins. The walk
 * would pass its blocks: nothing else has changed there.
 */
static void home_write_on_its_way(struct script *l)
{
	u64 at = l->host.pool->legs[0].v->g->data_start;
	u32 other = own.victim ? 0 : 1, i;

	host_checkpoint(&l->host);
	host_sleep(1100);
	host_checkpoint(&l->host);
	leave(l);
	disks_stall(other, at, at + 200);
	disks.stalls_writes = true;
	host_write(&l->host, 64, 40, false);
	for (i = 0; i < 100 && !disks_wait(); i++)
		host_sleep(50);
	if (!disks_wait())
		sim_fail("no write is on its way home: the case was not set up");
	come_back(l);
	host_sleep(200);
	disks_release_all();
	end_in_sync(l);
}

/* --- the leg that returns fails ------------------------------------------------------------ */

static const struct {
	const char *name;
	enum fault_kind kind;
	u32 step;		/* of requests that pass before */
} failures[] = {
	{ "writes", FAULT_WRITE_EIO, 7 },
	{ "flushes", FAULT_FLUSH_EIO, 1 },
	{ "dies", FAULT_DEATH, 11 },
	{ "hangs", FAULT_HANG, 9 },
};

/* Each leg of each vdev gets some of it. */
static void write_everywhere(struct script *l)
{
	u32 block;

	for (block = 0; block + 16 < own.blocks; block += own.blocks / 8)
		host_write(&l->host, block, 12, false);
	host_checkpoint(&l->host);
}

/* Whatever it fails, it is out again, and FLUSHes go on. Later it returns once more. */
static void target_fails(struct script *l, u32 which)
{
	struct fault *f;

	some_writes(l, 3);
	leave(l);
	some_writes(l, 8);
	disks.dead[own.victim] = false;
	f = disks_fault(failures[which].kind, own.victim, 0, ~0ull);
	f->after = failures[which].step * l->turn;
	begin_writer(l);
	if (host_online(&l->host, own.victim) && !f->hit)
		sim_fail("the leg does not return: %s", l->host.refusal.why);
	host_wait_resilver(&l->host);
	end_writer(l);
	write_everywhere(l);
	/* One ring of superblocks is enough, if that was the last write. */
	if (f->hit && kvp_leg_takes_writes(victim(l)))
		write_everywhere(l);
	if (!f->hit)
		life_expect_in_sync(l);
	else if (kvp_leg_takes_writes(victim(l)))
		sim_fail("a leg that failed is in state %u", victim(l)->state);
	disks_wake(own.victim);
	disks.nr_faults = 0;
	host_sleep(50);
	if (f->hit)
		come_back(l);
	end_in_sync(l);
}

static void target_fails_writes(struct script *l)
{
	target_fails(l, 0);
}

static void target_fails_flushes(struct script *l)
{
	target_fails(l, 1);
}

static void target_dies(struct script *l)
{
	target_fails(l, 2);
}

static void target_hangs(struct script *l)
{
	target_fails(l, 3);
}

/* A thin device below the target has no space for two seconds, or no memory: that passes. */
static void target_short_for_a_time(struct script *l)
{
	struct fault *f;

	some_writes(l, 3);
	leave(l);
	write_everywhere(l);
	disks.dead[own.victim] = false;
	f = disks_fault(FAULT_WRITE_ONCE, own.victim, 0, ~0ull);
	f->error = l->turn % 2 ? -ENOMEM : -ENOSPC;
	f->after = 5 * l->turn;
	f->times = 20;
	come_back(l);
	begin_writer(l);
	wait_in_sync(l);
	end_writer(l);
	if (!f->hit)
		sim_fail("no write found the target short: the case was not set up");
	end_scrubbed(l);
}

/* --- in the middle of a walk ----------------------------------------------------------------- */

/* Below each leaf, so that the walk has something to do there. */
static void write_widely(struct script *l)
{
	u32 leaf;

	for (leaf = 0; leaf < own.blocks / 512; leaf++)
		host_write(&l->host, 512 * leaf + rng_below(&own.rng, 400), 60, false);
	host_checkpoint(&l->host);
	host_sleep(1100);
	own.missed = own.blocks / 512 * 60;
}

/* A leaf takes some seconds, so a walk of all leaves takes half a minute. */
static void walk_slowly(struct script *l, bool slowly)
{
	u32 kib = l->start.second ? 256 : 512;

	if (kvp_pool_set(l->host.pool, KVP_T_RESILVER_RATE, slowly ? kib << 10 : 0))
		sim_fail("resilver_rate is not set");
}

/* It leaves while it resilvers, and returns, again and again. */
static void leaves_again(struct script *l)
{
	u32 i;

	leave(l);
	write_widely(l);
	walk_slowly(l, true);
	begin_writer(l);
	for (i = 0; i < 4; i++) {
		come_back(l);
		host_sleep(rng_below(&own.rng, 15000));
		order_out(l, victim(l));
		host_sleep(rng_below(&own.rng, 2000));
	}
	walk_slowly(l, false);
	come_back(l);
	wait_in_sync(l);
	end_writer(l);
	end_scrubbed(l);
}

static void suspends(struct script *l)
{
	u32 i;

	leave(l);
	write_widely(l);
	walk_slowly(l, true);
	come_back(l);
	for (i = 0; i < 5; i++) {
		host_sleep(rng_below(&own.rng, 6000));
		kvp_pool_quiesce(l->host.pool);
		host_sleep(100);
		kvp_pool_unquiesce(l->host.pool);
		some_writes(l, 2);
	}
	end_in_sync(l);
}

/* A stop in the middle: the next walk copies the rest, and not all again. */
static void goes_on_at_the_cursor(struct script *l)
{
	u64 first, second;

	leave(l);
	write_widely(l);
	walk_slowly(l, true);
	come_back(l);
	host_sleep(14000);
	if (!kvp_leg_resilvers(victim(l)))
		sim_fail("the resilver has ended: the case was not set up");
	first = l->host.pool->resilver->copied;
	again(l);
	some_writes(l, 2);
	walk_slowly(l, false);
	wait_in_sync(l);
	second = l->host.pool->resilver->copied;
	if (!first || second > own.missed - first / 3)
		sim_fail("%llu blocks were copied before the stop, and %llu after it", first,
			 second);
	end_scrubbed(l);
}

/* The cursor does not pass blocks that no source gave. */
static void skipped_before_the_cursor(struct script *l)
{
	u64 at = l->host.pool->legs[0].v->g->data_start;
	u32 other = own.victim ? 0 : 1;

	leave(l);
	write_widely(l);
	disks_fault(FAULT_READ_EIO, other, at, at + 511);
	walk_slowly(l, true);
	come_back(l);
	host_sleep(14000);
	if (!disks.faults[0].hit || !kvp_leg_resilvers(victim(l)))
		sim_fail("nothing was left out: the case was not set up");
	host_flush(&l->host);
	host_stop(&l->host);
	disks.nr_faults = 0;
	script_start(l);
	walk_slowly(l, false);
	end_in_sync(l);
}

/* No block of the leg is read, nor a table page, before it is in sync. */
static void target_is_not_read(struct script *l)
{
	u64 last = disks.img[own.victim].blocks - KVP_LABEL_BLOCKS - 1;
	struct fault *f;
	bool read = false;

	leave(l);
	some_writes(l, 10);
	host_checkpoint(&l->host);
	walk_slowly(l, true);
	come_back(l);
	f = disks_fault(FAULT_READ_EIO, own.victim, KVP_LABEL_BLOCKS, last);
	while (kvp_leg_resilvers(victim(l)) && !read) {
		host_read_check(&l->host, rng_below(&own.rng, own.blocks));
		host_sleep(20);
		kvp_table_shrink(l->host.pool->table, true);
		read = f->hit && kvp_leg_resilvers(victim(l));
	}
	if (read)
		sim_fail("a leg was read that resilvers");
	disks.nr_faults = 0;
	end_in_sync(l);
}

/* Two legs of a mirror of three return at different moments. */
static void two_return(struct script *l)
{
	u32 other = (own.victim + 1) % 3;

	leave(l);
	write_widely(l);
	order_out(l, host_leg(&l->host, other));
	some_writes(l, 10);
	walk_slowly(l, true);
	begin_writer(l);
	come_back(l);
	host_sleep(rng_below(&own.rng, 30000));
	if (host_online(&l->host, other))
		sim_fail("the other leg does not return");
	host_sleep(rng_below(&own.rng, 20000));
	walk_slowly(l, false);
	wait_in_sync(l);
	end_writer(l);
	end_scrubbed(l);
}

/* A source dies in the middle of a walk, the other one gives the rest. */
static void source_dies(struct script *l)
{
	u32 other = (own.victim + 1) % 3;

	leave(l);
	write_widely(l);
	walk_slowly(l, true);
	begin_writer(l);
	come_back(l);
	host_sleep(rng_below(&own.rng, 20000));
	disks_kill(other);
	host_sleep(rng_below(&own.rng, 10000));
	walk_slowly(l, false);
	host_wait_resilver(&l->host);
	if (!kvp_leg_in_sync(victim(l)))
		sim_fail("the leg is in state %u", victim(l)->state);
	end_writer(l);
	host_flush(&l->host);
	disks.dead[other] = false;
	if (host_online(&l->host, other))
		sim_fail("the source does not return: %s", l->host.refusal.why);
	end_in_sync(l);
}

/* Start with the legs that were in sync before. What was answered since, they have or are asked. */
static void start_with_the_old(struct script *l)
{
	struct host_start hs = l->start;

	hs.missing = BIT(own.victim);
	if (host_start(&l->host, &l->o, &hs))
		return;
	host_read_each(&l->host, 0, own.blocks);
	host_flush(&l->host);
	host_stop(&l->host);
}

/* Legs that are out return, if they do not by themselves. */
static void all_return(struct script *l)
{
	u32 i;

	for (i = 0; i < l->host.pool->nr_legs; i++)
		if (!kvp_leg_takes_writes(host_leg(&l->host, i)) &&
		    kvp_has_data(host_leg(&l->host, i)->v->g) &&
		    host_online(&l->host, i) && !kvp_leg_takes_writes(host_leg(&l->host, i)))
			sim_fail("leg %u does not return: %s", i, l->host.refusal.why);
}

/*
 * The superblock that calls the leg in sync, or one next to it, fails on a source. The leg must not
 * go on alone then. The source would lack what the leg does, and its label would not say so.
 */
static void source_lacks_the_end(struct script *l)
{
	u32 other = own.victim ? 0 : 1;
	u64 sequence;

	leave(l);
	some_writes(l, 6);
	sequence = l->host.pool->sb->sequence;
	life_fail_superblock(other, 3, sequence + 2 + l->turn / 2);
	come_back(l);
	host_sleep(20000);
	if (kvp_pool_faulted(l->host.pool)) {
		disks.nr_faults = 0;
		kvp_pool_clear(l->host.pool, -1);
		wait_in_sync(l);
	}
	some_writes(l, 4);
	host_stop(&l->host);
	disks.nr_faults = 0;
	start_with_the_old(l);
	script_start(l);
	all_return(l);
	end_in_sync(l);
}

/* True if a superblock that was sent after @since calls the victim in sync. */
static bool was_called_in_sync(const struct script *l, u32 since)
{
	const struct trace *t = &disks.trace;
	static struct kvp_sb sb;
	u32 i;

	for (i = 0; i < t->nr_requests; i++)
		if (t->requests[i].submitted > since &&
		    host_wrote_superblock(&t->requests[i], &sb) &&
		    sb.legs[own.victim].state == KVP_LEG_IN_SYNC)
			return true;
	return false;
}

/*
 * The source fails the superblock that calls the leg in sync, and then everything. It stays so when
 * that is tried again. A start without it needs an order, and has all that was answered.
 */
static void source_dies_at_the_end(struct script *l)
{
	u32 other = own.victim ? 0 : 1;
	struct host_start hs = l->start;
	u32 since;

	leave(l);
	some_writes(l, 6);
	since = disks.trace.nr;
	life_fail_superblock(other, 3, l->host.pool->sb->sequence + 2 + l->turn / 2);
	come_back(l);
	host_sleep(20000);
	if (!kvp_pool_faulted(l->host.pool) || !was_called_in_sync(l, since)) {
		/* It was another superblock. */
		disks.nr_faults = 0;
		kvp_pool_clear(l->host.pool, -1);
		all_return(l);
		wait_in_sync(l);
		return;
	}
	disks_kill(other);
	l->host.may_fail = true;
	kvp_pool_clear(l->host.pool, -1);
	host_sleep(15000);
	if (!kvp_pool_faulted(l->host.pool) || kvp_leg_in_sync(victim(l)))
		sim_fail("a leg goes on alone, and the other does not know");
	host_stop(&l->host);
	l->host.may_fail = false;
	disks.nr_faults = 0;
	hs.missing = BIT(other);
	if (!host_start(&l->host, &l->o, &hs))
		sim_fail("the source may have more, and nothing was asked");
	hs.degraded = true;
	if (host_start(&l->host, &l->o, &hs))
		sim_fail("start by order: %s", l->host.refusal.why);
	host_read_each(&l->host, 0, own.blocks);
	some_writes(l, 4);
	host_stop(&l->host);
	disks.dead[other] = false;
	script_start(l);
	all_return(l);
	end_in_sync(l);
}

/*
 * The power goes when the returned leg alone has the superblock that calls it in sync. The source
 * fails the first one of the next start, too.
 */
static void source_lacks_the_end_and_fails(struct script *l)
{
	u32 other = own.victim ? 0 : 1;
	struct host_start hs = l->start;
	u64 sequence;

	leave(l);
	some_writes(l, 6);
	sequence = l->host.pool->sb->sequence;
	life_fail_superblock(other, 3, sequence + 4 + l->turn / 2);
	come_back(l);
	host_sleep(20000);
	if (kvp_leg_in_sync(victim(l)) || !kvp_pool_faulted(l->host.pool)) {
		/* It was another superblock. */
		disks.nr_faults = 0;
		all_return(l);
		wait_in_sync(l);
		return;
	}
	sequence = l->host.pool->sb->sequence;
	host_stop(&l->host);
	disks.nr_faults = 0;
	life_fail_superblock(other, 3, sequence + 1);
	hs.missing = 0;
	if (!host_start(&l->host, &l->o, &hs)) {
		some_writes(l, 4);
		host_stop(&l->host);
	}
	disks.nr_faults = 0;
	start_with_the_old(l);
	script_start(l);
	all_return(l);
	end_in_sync(l);
}

/* Steps that are in flight when an older one does not verify are begun again. */
static void bad_block_before_others(struct script *l)
{
	u64 at = l->host.pool->legs[0].v->g->data_start;
	u8 data[KVP_BLOCK_SIZE];
	u32 i;

	l->untraced = true;
	leave(l);
	write_widely(l);
	host_write(&l->host, 40, 20, false);
	host_checkpoint(&l->host);
	for (i = 42; i < 44; i++) {
		image_read(&disks.img[0], at + i, data);
		data[7] ^= 1;
		image_write_data(&disks.img[0], at + i, data);
	}
	come_back(l);
	wait_in_sync(l);
	if (!l->host.pool->resilver->begun_ahead ||
	    atomic64_read(&l->host.pool->work_stats.healed) != 2)
		sim_fail("no bad block before other steps: the case was not set up");
	end_scrubbed(l);
}

/* Requests of the host, counted as the request path counts them. */
static void reader(void *arg)
{
	struct script *l = arg;

	while (own.writes) {
		l->host.pool->stats->read_blocks++;
		host_read_check(&l->host, rng_below(&own.rng, own.blocks));
		host_sleep(1);
	}
	own.wrote = true;
}

/* Writes of table pages to the victim, from request @from of the trace on. */
struct page_writes {
	u32 requests, pages, longest;
};

static struct page_writes page_writes(struct script *l, u32 from)
{
	const struct kvp_geometry *g = victim(l)->v->g;
	struct page_writes w = {};
	u32 i;

	for (i = from; i < disks.trace.nr_requests; i++) {
		const struct trace_request *q = &disks.trace.requests[i];

		if (q->disk != own.victim || q->op != KVP_IO_WRITE || q->block < g->table_start ||
		    q->block >= g->table_start + kvp_table_blocks(g))
			continue;
		w.requests++;
		w.pages += q->nr;
		w.longest = max(w.longest, q->nr);
	}
	return w;
}

/*
 * Table pages are copied one by one beside a host, and else those that lie together at once. A leg
 * of a parity1, or of one vdev of several, may have none that do.
 */
static void expect_page_writes(struct script *l, u32 from, bool busy)
{
	struct page_writes w = page_writes(l, from);

	if (!w.pages || (busy && w.longest > 1))
		sim_fail("%u table pages beside the host, at most %u at once", w.pages, w.longest);
	if (busy || l->start.parity || l->start.second)
		return;
	if (w.pages < 16 || w.longest < 2)
		sim_fail("%u table pages without a host, by %u requests", w.pages, w.requests);
}

/* The victim misses writes, and a reader begins. Returns the place in the trace. */
static u32 leave_beside_a_reader(struct script *l)
{
	u32 from;

	leave(l);
	write_widely(l);
	from = disks.trace.nr_requests;
	own.writes = true;
	own.wrote = false;
	sim_spawn("reader", reader, l);
	host_sleep(100);
	return from;
}

/*
 * Beside a host that reads all the time the walk goes on, with rests; else with none. No page is
 * dirty when the leg returns, so no checkpoint writes one.
 */
static void yields_to_the_host(struct script *l)
{
	struct kvp_resilver *r = l->host.pool->resilver;
	u64 copied, yields;
	u32 i, from;

	from = leave_beside_a_reader(l);
	sim_slow = "kvpool-scrub";
	come_back(l);
	for (i = 0; kvp_leg_resilvers(victim(l)); i++, host_sleep(1000))
		if (i == 600)
			sim_fail("the resilver does not go on beside the host");
	sim_slow = NULL;
	end_writer(l);
	if (!r->copied || r->yields < 10 || r->begun_ahead)
		sim_fail("%llu rests beside the host, %llu steps ahead", r->yields, r->begun_ahead);
	expect_page_writes(l, from, true);
	leave(l);
	write_widely(l);
	from = disks.trace.nr_requests;
	copied = r->copied;
	yields = r->yields;
	come_back(l);
	wait_in_sync(l);
	if (r->copied == copied || r->yields != yields || !r->begun_ahead)
		sim_fail("%llu rests without a host, %llu steps ahead", r->yields - yields,
			 r->begun_ahead);
	if (disks.scattered)
		sim_fail("%u reads into scattered pages", disks.scattered);
	expect_page_writes(l, from, false);
	end_scrubbed(l);
}

/*
 * Checkpoints hold their lock most of the time, beside a reader. A page waits for one of them, and
 * no longer: the walk does not rest because it has waited for a lock.
 */
static void pages_wait_for_the_lock(struct script *l)
{
	struct kvp_pool *pool = l->host.pool;
	u32 from, rounds;

	from = leave_beside_a_reader(l);
	come_back(l);
	for (rounds = 0; !READ_ONCE(victim(l)->takes_log) && rounds < 1000; rounds++) {
		mutex_lock(&pool->checkpoint_lock);
		host_sleep(400);
		mutex_unlock(&pool->checkpoint_lock);
		host_sleep(8);
	}
	end_writer(l);
	if (page_writes(l, from).pages < 16)
		sim_fail("%u table pages: the case was not set up", page_writes(l, from).pages);
	if (rounds > 2 * page_writes(l, from).pages)
		sim_fail("%u table pages waited for %u checkpoints", page_writes(l, from).pages,
			 rounds);
	end_in_sync(l);
}

/* The leg returns beside a reader, and its walk ends. The log has blocks that are not home. */
static void walk_beside_the_host(struct script *l)
{
	u32 i;

	leave(l);
	write_widely(l);
	own.writes = true;
	own.wrote = false;
	sim_spawn("reader", reader, l);
	host_sleep(100);
	sim_slow = "kvpool-scrub";
	come_back(l);
	for (i = 0; !READ_ONCE(victim(l)->takes_log); i++, host_sleep(1)) {
		if (i == 600000)
			sim_fail("the walk does not end beside the host");
		if (i % 100 == 0)
			host_write(&l->host, i / 10 * 37 % (own.blocks / 4) * 4, 1, true);
		own.walked = kvp_log_head(l->host.pool->log);
	}
	host_write(&l->host, 1, 1, true);
	if (!kvp_log_used(l->host.pool->log))
		sim_fail("all is home: the case was not set up");
}

static void expect_end(struct script *l, u32 most_ms)
{
	u32 ms;

	for (ms = 0; kvp_leg_resilvers(victim(l)); ms++, host_sleep(1))
		if (ms == most_ms)
			sim_fail("the resilver does not end in %u ms", most_ms);
	/* Until the superblock that says so is durable. */
	mutex_lock(&l->host.pool->sb_lock);
	own.back_at = disks.trace.nr;
	mutex_unlock(&l->host.pool->sb_lock);
	sim_slow = NULL;
}

/*
 * While the host has requests, destage writes the log home without hurry. Otherwise it is ordered
 * to.
 */
static void ends_beside_the_host(struct script *l)
{
	struct kvp_resilver *r = l->host.pool->resilver;
	u32 i;

	walk_beside_the_host(l);
	expect_end(l, 50000);
	end_writer(l);
	life_expect_in_sync(l);
	if (r->ordered)
		sim_fail("destage was ordered to hurry beside the host");
	life_expect_scrubbed(&l->host);
	host_sleep(1000);
	leave(l);
	for (i = 0; i < 20; i++)
		host_write(&l->host, i * 40, 1, true);
	come_back(l);
	wait_in_sync(l);
	if (!r->ordered)
		sim_fail("destage was not ordered to hurry without a host");
	end_scrubbed(l);
}

static void cut_at_the_end(struct script *l)
{
	walk_beside_the_host(l);
	expect_end(l, 50000);
	end_writer(l);
	life_expect_in_sync(l);
	host_write(&l->host, 5, 3, true);
}

/* Checkpoints are held up. */
static void expect_order(const struct kvp_resilver *r)
{
	u32 i;

	host_sleep(30000);
	if (r->ordered)
		sim_fail("destage is ordered to hurry too early");
	for (i = 0; !r->ordered; i++, host_sleep(1000))
		if (i == 200)
			sim_fail("destage is never ordered to hurry");
}

/* The tail does not move for minutes, and the host never rests. */
static void end_is_ordered_at_last(struct script *l)
{
	struct kvp_pool *pool = l->host.pool;

	walk_beside_the_host(l);
	mutex_lock(&pool->checkpoint_lock);
	/* By chance, all that the leg lacks of the log may be home. Then there is no wait. */
	l->spoilt = !kvp_lsn_before(kvp_log_tail(pool->log), own.walked);
	if (!l->spoilt)
		expect_order(pool->resilver);
	mutex_unlock(&pool->checkpoint_lock);
	expect_end(l, 50000);
	end_writer(l);
	end_scrubbed(l);
}

/*
 * The wait beside the host is interrupted by a suspend, or its leg is lost. In neither case is
 * destage ordered to hurry, and no superblock is written for a leg that is lost.
 */
static void end_is_interrupted(struct script *l)
{
	struct kvp_pool *pool = l->host.pool;
	struct kvp_resilver *r = pool->resilver;
	u64 sequence;

	walk_beside_the_host(l);
	mutex_lock(&pool->checkpoint_lock);
	host_sleep(1000);
	if (l->turn % 2) {
		kvp_resilver_end_soon(pool);
		host_sleep(1000);
		mutex_unlock(&pool->checkpoint_lock);
		kvp_resilver_quiesce(pool);
		kvp_resilver_unquiesce(pool);
	} else {
		order_out(l, victim(l));
		sequence = pool->sb->sequence;
		host_sleep(1000);
		if (pool->sb->sequence != sequence)
			sim_fail("a superblock is written for a leg that is lost");
		mutex_unlock(&pool->checkpoint_lock);
		host_sleep(1000);
		come_back(l);
	}
	if (r->ordered)
		sim_fail("destage is ordered to hurry for nothing");
	end_writer(l);
	end_in_sync(l);
	sim_slow = NULL;
}

/* Every page changes its slot, again and again. */
static void checkpointer(void *arg)
{
	struct script *l = arg;
	u32 leaf;

	while (own.writes) {
		for (leaf = 0; leaf < own.blocks / 512; leaf++)
			host_write(&l->host, 512 * leaf + rng_below(&own.rng, 500), 1, false);
		host_checkpoint(&l->host);
	}
	own.wrote = true;
}

/* While pages are copied no checkpoint writes into their slots. */
static void pages_beside_checkpoints(struct script *l)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		leave(l);
		write_widely(l);
		own.writes = true;
		own.wrote = false;
		sim_spawn("checkpointer", checkpointer, l);
		sim_slow = "kvpool-scrub";
		come_back(l);
		wait_in_sync(l);
		sim_slow = NULL;
		end_writer(l);
		life_expect_scrubbed(&l->host);
	}
	host_flush(&l->host);
}

/* --- bad sectors of a source ---------------------------------------------------------------- */

/* Without a leg that all others can be without: only the one that returned has some of the data. */
static void expect_alone(struct script *l)
{
	u32 other = own.victim ? 0 : 1;

	host_flush(&l->host);
	host_stop(&l->host);
	l->start.missing = l->start.parity || l->start.second ? BIT(other) :
			   (BIT(l->start.legs) - 1) & ~BIT(own.victim);
	l->start.degraded = true;
	script_start(l);
	l->host.may_fail = own.has_lost;
	host_read_each(&l->host, 0, own.blocks);
	if (!own.has_lost)
		life_expect_scrubbed(&l->host);
	host_stop(&l->host);
	l->start.missing = 0;
	l->start.degraded = false;
}

/* So many blocks of data read EIO. */
static u32 unreadable(struct script *l)
{
	u8 *data = kmalloc(KVP_BLOCK_SIZE, GFP_KERNEL);
	u32 block, n = 0;

	for (block = 0; block < own.blocks; block++)
		n += !!host_read(&l->host, block, data);
	kfree(data);
	return n;
}

/* The leg lacks versions, and the source has bad sectors or rotten blocks in their places. */
static void spoil_source(struct script *l, bool rots)
{
	u64 at = l->host.pool->legs[0].v->g->data_start;
	u32 other = own.victim ? 0 : 1, i;
	u8 data[KVP_BLOCK_SIZE];

	l->untraced = true;
	host_write(&l->host, 40, 20, false);
	leave(l);
	host_write(&l->host, 40, 20, false);
	some_writes(l, 4);
	host_write(&l->host, 42, 2, false);
	host_checkpoint(&l->host);
	for (i = 0; !rots && i < 25; i++)
		disks_fault(FAULT_READ_EIO, other, at + 2 * i, at + 2 * i);
	for (i = 0; rots && i < 50; i++) {
		image_read(&disks.img[other], at + i, data);
		data[7] ^= 1;
		image_write_data(&disks.img[other], at + i, data);
	}
}

static bool has_other_source(const struct script *l)
{
	return l->start.legs == 3 && !l->start.parity;
}

/* Another source gives what this one does not. Without it the leg waits, until users write anew. */
static void source_has_bad_sectors(struct script *l)
{
	spoil_source(l, false);
	come_back(l);
	if (!has_other_source(l)) {
		host_sleep(30000);
		if (!kvp_leg_resilvers(victim(l)))
			sim_fail("the leg is in state %u", victim(l)->state);
		host_write(&l->host, 0, 52 * (l->start.legs - 1), false);
		host_checkpoint(&l->host);
	}
	wait_in_sync(l);
	disks.nr_faults = 0;
	life_expect_scrubbed(&l->host);
	expect_alone(l);
}

/* Another source has them. What none has is poisoned, and the resilver ends. */
static void source_has_rotten_blocks(struct script *l)
{
	u32 n;

	spoil_source(l, true);
	come_back(l);
	wait_in_sync(l);
	own.has_lost = l->host.may_fail = !has_other_source(l);
	n = unreadable(l);
	if (n > 50 || (n && !own.has_lost))
		sim_fail("%u blocks cannot be read", n);
	expect_alone(l);
}

/* The source does not answer at first, but when the walk comes back. */
static void source_answers_late(struct script *l)
{
	u64 at = l->host.pool->legs[0].v->g->data_start;

	leave(l);
	host_write(&l->host, 40, 20, false);
	host_checkpoint(&l->host);
	disks_fault(FAULT_READ_EIO, own.victim ? 0 : 1, at, at + 50)->times = 24;
	come_back(l);
	wait_in_sync(l);
	if (!disks.faults[0].hit)
		sim_fail("no read failed: the case was not set up");
	disks.nr_faults = 0;
	life_expect_scrubbed(&l->host);
	expect_alone(l);
}

/* --- labels of other times and pools --------------------------------------------------------- */

static void put(struct script *l, u32 disk, const struct image *img)
{
	l->untraced = true;
	image_free(&disks.img[disk]);
	image_copy(&disks.img[disk], img);
}

/* An older state has less than the superblock says. */
static void older_leg_returns(struct script *l)
{
	struct image old;

	some_writes(l, 2);
	host_checkpoint(&l->host);
	host_sleep(1100);
	image_copy(&old, &disks.img[own.victim]);
	some_writes(l, 10);
	host_checkpoint(&l->host);
	host_sleep(1100);
	some_writes(l, 3);
	leave(l);
	some_writes(l, 4);
	put(l, own.victim, &old);
	come_back(l);
	image_free(&old);
	wait_in_sync(l);
	life_expect_scrubbed(&l->host);
	expect_alone(l);
}

/* The same while it resilvers: the cursor is not its own either. */
static void older_leg_returns_again(struct script *l)
{
	struct image old;

	leave(l);
	write_widely(l);
	image_copy(&old, &disks.img[own.victim]);
	walk_slowly(l, true);
	come_back(l);
	host_sleep(25000);
	if (!l->host.pool->sb->legs[own.victim].cursor)
		sim_fail("no cursor is noted: the case was not set up");
	order_out(l, victim(l));
	some_writes(l, 3);
	put(l, own.victim, &old);
	image_free(&old);
	walk_slowly(l, false);
	come_back(l);
	wait_in_sync(l);
	life_expect_scrubbed(&l->host);
	expect_alone(l);
}

/* A newer module may have gone on with the leg alone. That must not be lost either. */
static void leg_of_a_newer_module_stays_out(struct script *l)
{
	struct image before, newer;
	u64 newest;
	int ret;

	some_writes(l, 3);
	newest = l->host.pool->sb->sequence;
	image_copy(&before, &disks.img[own.victim]);
	leave(l);
	some_writes(l, 4);
	image_copy(&newer, &before);
	life_newer_module(&newer, newest, newest + 1);
	put(l, own.victim, &newer);
	disks.dead[own.victim] = false;
	ret = host_online(&l->host, own.victim);
	if (ret != -EOPNOTSUPP || kvp_leg_takes_writes(victim(l)))
		sim_fail("a leg of a newer module returns: %d, %s", ret, l->host.refusal.why);
	if (!image_same(&newer, &disks.img[own.victim], 0, newer.blocks, NULL))
		sim_fail("what a newer module wrote was overwritten");
	put(l, own.victim, &before);
	come_back(l);
	image_free(&newer);
	image_free(&before);
	wait_in_sync(l);
	life_expect_scrubbed(&l->host);
}

/* The leg went its own way: what it alone has must not be lost. */
static void forked_leg_stays_out(struct script *l)
{
	struct image before, forked;
	struct oracle o;
	int ret;

	some_writes(l, 3);
	host_stop(&l->host);
	o = l->o;
	image_copy(&before, &disks.img[own.victim]);
	l->start.missing = (BIT(l->start.legs) - 1) & ~BIT(own.victim);
	l->start.degraded = true;
	oracle_copy(&l->o, &o);
	script_start(l);
	some_writes(l, 3);
	host_stop(&l->host);
	oracle_free(&l->o);
	l->o = o;
	l->start.missing = 0;
	l->start.degraded = false;
	image_copy(&forked, &disks.img[own.victim]);
	put(l, own.victim, &before);
	watch_begin();
	script_start(l);
	leave(l);
	some_writes(l, 4);
	put(l, own.victim, &forked);
	disks.dead[own.victim] = false;
	ret = host_online(&l->host, own.victim);
	if (ret != -ESTALE || kvp_leg_takes_writes(victim(l)))
		sim_fail("a forked leg returns: %d, %s", ret, l->host.refusal.why);
	if (!image_same(&forked, &disks.img[own.victim], 0, (u32)forked.blocks, NULL))
		sim_fail("a forked leg is written to");
	put(l, own.victim, &before);
	come_back(l);
	image_free(&forked);
	image_free(&before);
	wait_in_sync(l);
	life_expect_scrubbed(&l->host);
	expect_alone(l);
}

/* All that was ever written is copied, though the leg missed little. */
static void expect_all_copied(struct script *l)
{
	struct kvp_pool *pool = l->host.pool;

	wait_in_sync(l);
	if (pool->resilver->copied < pool->table->written || pool->table->written < 100)
		sim_fail("of %llu blocks %llu were copied", pool->table->written,
			 pool->resilver->copied);
	end_scrubbed(l);
}

static void write_much(struct script *l)
{
	host_write(&l->host, 20, 120, false);
	host_checkpoint(&l->host);
	host_sleep(1100);
	host_checkpoint(&l->host);
}

/* Where a newer superblock would be, the leg does not answer: it may have been in use elsewhere. */
static void label_may_be_newer(struct script *l)
{
	u64 next;
	u32 ring;

	write_much(l);
	next = l->host.pool->sb->sequence + 1;
	leave(l);
	host_write(&l->host, 2, 2, true);
	disks.dead[own.victim] = false;
	disks.nr_faults = 0;
	for (ring = 0; ring < 2; ring++) {
		u64 at = life_superblock(own.victim, ring, next);

		disks_fault(FAULT_READ_EIO, own.victim, at, at + KVP_SB_BLOCKS - 1);
	}
	come_back(l);
	expect_all_copied(l);
	disks.nr_faults = 0;
}

/* The others were started by force without the leg, which may have what their log had lost. */
static void left_behind_by_force(struct script *l)
{
	write_much(l);
	stop(l);
	l->start.missing = BIT(own.victim);
	l->start.degraded = true;
	script_start(l);
	host_write(&l->host, 2, 2, true);
	stop(l);
	l->start.missing = 0;
	l->start.degraded = false;
	/* It returns by itself. */
	script_start(l);
	expect_all_copied(l);
}

/* A device that has the label of another leg, or none. */
static void others_stay_out(struct script *l)
{
	u32 other = own.victim ? 0 : 1;
	struct image before, blank;

	leave(l);
	some_writes(l, 4);
	disks.dead[own.victim] = false;
	image_copy(&before, &disks.img[own.victim]);
	image_init(&blank, before.blocks);
	put(l, own.victim, &disks.img[other]);
	if (host_online(&l->host, own.victim) != -EINVAL)
		sim_fail("another leg returns: %s", l->host.refusal.why);
	put(l, own.victim, &blank);
	if (!host_online(&l->host, own.victim))
		sim_fail("a blank device returns");
	put(l, own.victim, &before);
	image_free(&before);
	image_free(&blank);
	come_back(l);
	if (host_online(&l->host, own.victim) != -EALREADY)
		sim_fail("a leg returns twice");
	wait_in_sync(l);
	if (host_online(&l->host, own.victim) != -EALREADY)
		sim_fail("a leg that is in sync returns");
	life_expect_scrubbed(&l->host);
	expect_alone(l);
}

static void expect_out_by_order(struct script *l)
{
	host_sleep(20000);
	if (victim(l)->state != KVP_LEG_OFFLINE || kvp_leg_takes_writes(victim(l)) ||
	    l->host.pool->sb->legs[own.victim].state != KVP_LEG_OFFLINE)
		sim_fail("the leg that was taken out has state %u", victim(l)->state);
}

/*
 * A leg that was taken out by order stays out, although legs return by themselves. It does so at a
 * start without it, after which the pool is used, and at a start with it.
 */
static void ordered_out_stays_out(struct script *l)
{
	let_return(l);
	some_writes(l, 3);
	own.dies = false;
	leave(l);
	host_stop(&l->host);
	l->start.missing = BIT(own.victim);
	script_start(l);
	some_writes(l, 4);
	expect_out_by_order(l);
	host_stop(&l->host);
	l->start.missing = 0;
	script_start(l);
	some_writes(l, 2);
	expect_out_by_order(l);
	come_back(l);
	wait_in_sync(l);
	life_expect_scrubbed(&l->host);
	stop(l);
}

/* --- beside other changes --------------------------------------------------------------------- */

static void everywhere_task(void *arg)
{
	struct script *l = arg;

	write_everywhere(l);
	own.wrote = true;
}

/* A request that is still on its way to the leg could overwrite what the resilver writes. */
static void target_has_strays(struct script *l)
{
	int ret;

	some_writes(l, 3);
	disks_fault(FAULT_HANG, own.victim, 0, ~0ull);
	own.wrote = false;
	sim_spawn("everywhere", everywhere_task, l);
	host_sleep(1500);
	if (kvp_leg_offline(l->host.pool, victim(l)))
		sim_fail("leg %u does not leave", own.victim);
	while (!own.wrote)
		host_sleep(5);
	if (!kvp_leg_has_strays(victim(l)))
		sim_fail("the leg has no strays: the case was not set up");
	some_writes(l, 4);
	ret = host_online(&l->host, own.victim);
	if (ret != -EBUSY || kvp_leg_takes_writes(victim(l)))
		sim_fail("a leg with strays returns: %d, %s", ret, l->host.refusal.why);
	disks_wake(own.victim);
	disks.nr_faults = 0;
	host_sleep(50);
	come_back(l);
	end_in_sync(l);
}

/*
 * The SSDs with the log are lost at any moment of the end: the log moves to the legs, and to the
 * leg as well.
 */
static void log_moves_amid_the_close(struct script *l)
{
	u32 ssd = l->start.legs - l->start.cache, i;

	leave(l);
	some_writes(l, 8);
	come_back(l);
	for (i = 0; i < 2000 && kvp_leg_resilvers(victim(l)); i++) {
		if (READ_ONCE(victim(l)->takes_log))
			break;
		host_sleep(1);
	}
	host_sleep(l->turn % 3);
	for (i = ssd; i < l->start.legs; i++) {
		disks_kill(i);
		l->crash.lost |= BIT(i);
	}
	host_write(&l->host, 7, 3, true);
	host_wait_resilver(&l->host);
	host_write(&l->host, 9, 3, true);
	if (!kvp_has_data(l->host.pool->vdevs.log_vdev->g) || !kvp_leg_in_sync(victim(l)))
		sim_fail("the log is on vdev %u, and the leg in state %u",
			 l->host.pool->vdevs.log_vdev->index, victim(l)->state);
}

static u32 leg_of_another_vdev(const struct script *l)
{
	return own.victim < l->start.legs - l->start.second ? l->start.legs - 1 : 0;
}

/* A parity1 cannot give up a second leg, although the first one has some of its blocks again. */
static void second_of_parity1_dies(struct script *l)
{
	u32 other = (own.victim + 1) % l->start.legs, i;

	some_writes(l, 3);
	leave(l);
	write_everywhere(l);
	walk_slowly(l, true);
	come_back(l);
	l->crash.lost = BIT(own.victim);
	l->host.may_fail = true;
	disks_kill(other);
	for (i = 0; i < 200 && !kvp_pool_faulted(l->host.pool); i++) {
		host_write(&l->host, rng_below(&own.rng, own.blocks), 1, false);
		host_sleep(50);
	}
	if (!kvp_pool_faulted(l->host.pool) || !kvp_leg_in_sync(host_leg(&l->host, other)))
		sim_fail("the pool goes on, with the leg in state %u",
			 host_leg(&l->host, other)->state);
	if (kvp_leg_in_sync(victim(l)))
		sim_fail("the resilver has ended without one of its sources");
}

/* A leg of another vdev is lost in the walk, and returns before it has ended. */
static void one_of_each_vdev_returns(struct script *l)
{
	u32 other = leg_of_another_vdev(l);

	leave(l);
	some_writes(l, 10);
	begin_writer(l);
	come_back(l);
	host_sleep(rng_below(&own.rng, 100));
	order_out(l, host_leg(&l->host, other));
	host_sleep(rng_below(&own.rng, 3000));
	if (host_online(&l->host, other))
		sim_fail("the other leg does not return: %s", l->host.refusal.why);
	wait_in_sync(l);
	end_writer(l);
	end_scrubbed(l);
}

/*
 * The pool tells where the blocks are that it skipped: just those of the first vdev that
 * write_everywhere() wrote.
 */
static void expect_skipped(struct script *l)
{
	struct kvp_pool *pool = l->host.pool;
	struct kvp_resilver_figures f;
	kvp_block_t block = kvp_block(0);
	u64 count, told = 0, i, wanted = 0, each = own.blocks / 8;

	for (i = 0; i < own.blocks; i++)
		wanted += !kvp_locate(pool, kvp_block(i)).v->index && i % each < 12 &&
			  i - i % each + 16 < own.blocks;
	for (; kvp_resilver_skipped(pool, block, &block, &count);
	     block = kvp_block_add(block, count), told += count)
		for (i = 0; i < count; i++)
			if (kvp_locate(pool, kvp_block_add(block, i)).v->index)
				sim_fail("block %llu was not skipped", kvp_block_nr(block) + i);
	kvp_resilver_figures(pool, &f);
	if (told != wanted || f.unread != told)
		sim_fail("%llu blocks are told, %llu counted, and %llu were skipped", told,
			 f.unread, wanted);
}

/* Blocks of one vdev cannot be read. The leg of the other one is in sync nevertheless. */
static void one_vdev_has_skipped_ranges(struct script *l)
{
	struct kvp_vdev *v = l->host.pool->legs[0].v;
	u64 at = v->g->data_start, n = kvp_vblock_nr(kvp_vdev_from(v, kvp_pool_end(v->pool)));
	u32 other = l->start.legs - 1, i;

	own.victim = 0;
	leave(l);
	write_everywhere(l);
	for (i = 1; i < v->nr_legs; i++)
		disks_fault(FAULT_READ_EIO, i, at, at + n - 1);
	come_back(l);
	host_sleep(10000);
	if (!disks.faults[0].hit || !kvp_leg_resilvers(victim(l)))
		sim_fail("nothing was left out: the case was not set up");
	expect_skipped(l);
	order_out(l, host_leg(&l->host, other));
	some_writes(l, 3);
	if (host_online(&l->host, other))
		sim_fail("the other leg does not return: %s", l->host.refusal.why);
	for (i = 0; i < 3000 && !kvp_leg_in_sync(host_leg(&l->host, other)); i++)
		host_sleep(20);
	if (!kvp_leg_in_sync(host_leg(&l->host, other)) || !kvp_leg_resilvers(victim(l)))
		sim_fail("legs are in states %u and %u", victim(l)->state,
			 host_leg(&l->host, other)->state);
	disks.nr_faults = 0;
	end_in_sync(l);
}

/* One that leaves later calls the one before it out, and that one is back and in sync. */
static void returns_after_another(struct script *l)
{
	u32 other = (own.victim + 1) % 3;

	order_out(l, host_leg(&l->host, other));
	some_writes(l, 2);
	leave(l);
	some_writes(l, 2);
	if (host_online(&l->host, other))
		sim_fail("the other leg does not return: %s", l->host.refusal.why);
	host_wait_resilver(&l->host);
	if (!kvp_leg_in_sync(host_leg(&l->host, other)))
		sim_fail("the other leg is in state %u", host_leg(&l->host, other)->state);
	some_writes(l, 2);
	come_back(l);
	end_in_sync(l);
}

/* Nothing is written to a pool that is read-only. */
static void read_only_pool_refuses(struct script *l)
{
	leave(l);
	some_writes(l, 2);
	stop(l);
	disks.dead[own.victim] = false;
	l->start.readonly = true;
	script_start(l);
	if (host_online(&l->host, own.victim) != -EROFS || kvp_leg_takes_writes(victim(l)))
		sim_fail("a leg returns to a pool that is read-only");
	host_stop(&l->host);
	l->start.readonly = false;
	script_start(l);
	come_back(l);
	wait_in_sync(l);
	host_flush(&l->host);
}

/* An SSD need not have anything, and begins anew instead. */
static void ssd_is_refused(struct script *l)
{
	u32 ssd = l->start.legs - 1;

	if (kvp_leg_offline(l->host.pool, host_leg(&l->host, ssd)))
		sim_fail("the SSD does not leave");
	l->crash.lost = BIT(ssd);
	some_writes(l, 2);
	if (host_online(&l->host, ssd) != -EINVAL || kvp_leg_takes_writes(host_leg(&l->host, ssd)))
		sim_fail("an SSD returns as a leg with data does");
}

/* --- another disk in its place ---------------------------------------------------------------- */

/* The old disk may be there, and then has no label any more. */
static int try_replace(struct script *l)
{
	struct host_start hs = l->start;
	bool kept;
	int ret;

	hs.swapped = own.victim;
	ret = host_replace(&l->host, &hs);
	if (ret)
		return ret;
	l->start.swapped = own.victim;
	l->crash.swaps_at = disks.trace.nr;
	kept = disks.dead[own.victim] || disks.stalled[own.victim][0].end;
	if (host_labelled(own.victim) != kept)
		sim_fail("the label of the old disk is %s", kept ? "gone" : "there");
	return 0;
}

static void replace(struct script *l)
{
	if (try_replace(l))
		sim_fail("the leg is not replaced: %s", l->host.refusal.why);
}

static void leg_is_replaced(struct script *l)
{
	some_writes(l, 6);
	leave(l);
	some_writes(l, 8);
	replace(l);
	some_writes(l, 4);
	wait_in_sync(l);
	life_expect_scrubbed(&l->host);
	some_writes(l, 4);
	again(l);
	life_expect_in_sync(l);
	stop(l);
}

/* The old leg does not answer the write that is to wipe its label. */
static void replaced_one_hangs(struct script *l)
{
	unsigned long since;

	some_writes(l, 6);
	leave(l);
	some_writes(l, 2);
	disks_stall(own.victim, 0, 3);
	since = jiffies;
	replace(l);
	if (time_after(jiffies, since + 10 * HZ))
		sim_fail("the pool was held up for %u ms", jiffies_to_msecs(jiffies - since));
	some_writes(l, 4);
	disks_release(own.victim);
	wait_in_sync(l);
	life_expect_scrubbed(&l->host);
	stop(l);
}

static void replaced_in_an_idle_pool(struct script *l)
{
	leave(l);
	replace(l);
	end_in_sync(l);
}

static void replaced_beside_a_writer(struct script *l)
{
	some_writes(l, 4);
	leave(l);
	some_writes(l, 10);
	replace(l);
	begin_writer(l);
	wait_in_sync(l);
	end_writer(l);
	end_scrubbed(l);
}

static void message_sender(void *arg)
{
	struct script *l = arg;

	while (own.writes) {
		host_write(&l->host, rng_below(&own.rng, own.blocks), 1, false);
		host_checkpoint(&l->host);
	}
	own.wrote = true;
}

/* A message is always at work, or about to begin, when the device is suspended. None fails. */
static void replaced_beside_messages(struct script *l)
{
	leave(l);
	some_writes(l, 4);
	own.writes = true;
	own.wrote = false;
	sim_spawn("messages", message_sender, l);
	host_sleep(rng_below(&own.rng, 20));
	replace(l);
	wait_in_sync(l);
	end_writer(l);
	end_scrubbed(l);
}

/* The pool was started without the old disk. */
static void missing_leg_is_replaced(struct script *l)
{
	some_writes(l, 3);
	stop(l);
	l->start.missing = BIT(own.victim);
	l->start.degraded = true;
	script_start(l);
	some_writes(l, 3);
	l->start.missing = 0;
	l->start.degraded = false;
	disks.dead[own.victim] = true;
	replace(l);
	end_in_sync(l);
}

/* The new leg leaves while it resilvers, and returns: its cursor is its own. */
static void replaced_and_leaves_again(struct script *l)
{
	u32 i;

	leave(l);
	write_widely(l);
	walk_slowly(l, true);
	begin_writer(l);
	replace(l);
	for (i = 0; i < 3; i++) {
		host_sleep(rng_below(&own.rng, 15000));
		if (kvp_leg_offline(l->host.pool, victim(l)))
			sim_fail("the new leg does not leave");
		host_sleep(rng_below(&own.rng, 2000));
		if (host_online(&l->host, l->start.legs))
			sim_fail("the new leg does not return: %s", l->host.refusal.why);
	}
	walk_slowly(l, false);
	wait_in_sync(l);
	end_writer(l);
	end_scrubbed(l);
}

/* Another leg was out all the time. Its label calls the old leg in sync: that is no fork. */
static void other_returns_when_replaced(struct script *l)
{
	u32 other = (own.victim + 1) % 3;

	some_writes(l, 3);
	order_out(l, &l->host.pool->legs[other]);
	some_writes(l, 3);
	leave(l);
	some_writes(l, 3);
	replace(l);
	host_wait_resilver(&l->host);
	if (!kvp_leg_in_sync(victim(l)))
		sim_fail("the new leg is in state %u", victim(l)->state);
	if (host_online(&l->host, other))
		sim_fail("the other leg does not return: %s", l->host.refusal.why);
	end_in_sync(l);
}

/*
 * The new disk fails as it is looked at, as it gets its label, or as it is written to. Before the
 * superblock the pool is as it was: the old leg may return. After it the new one is a leg.
 */
static void replaced_by_one_that_fails(struct script *l)
{
	static const u32 steps[] = { 0, 2 * KVP_LABEL_BLOCKS, 2 * KVP_LABEL_BLOCKS + 1,
				     2 * KVP_LABEL_BLOCKS + 2, 2 * KVP_LABEL_BLOCKS + 9,
				     2 * KVP_LABEL_BLOCKS + 60 };
	u32 new = l->start.legs, fails = l->turn % ARRAY_SIZE(failures);
	struct fault *f;
	bool taken;

	leave(l);
	some_writes(l, 6);
	f = disks_fault(failures[fails].kind, new, 0, ~0ull);
	f->after = steps[(l->turn + l->turn / 4) % ARRAY_SIZE(steps)];
	taken = !try_replace(l);
	if (taken && victim(l)->bdev != &disks.bdev[new])
		sim_fail("the leg is %s", victim(l)->path);
	if (!taken &&
	    (victim(l)->bdev != &disks.bdev[own.victim] || kvp_leg_takes_writes(victim(l))))
		sim_fail("not replaced, and yet another leg");
	some_writes(l, 4);
	host_wait_resilver(&l->host);
	disks_wake(new);
	disks.nr_faults = 0;
	disks.dead[new] = false;
	host_sleep(50);
	if (!taken && host_labelled(new) && try_replace(l) != -EEXIST)
		sim_fail("a disk that is not blank is taken");
	if (!taken) {
		life_blank_disk(l, new);
		replace(l);
	} else if (!kvp_leg_takes_writes(victim(l)) && host_online(&l->host, new)) {
		sim_fail("the new leg does not return: %s", l->host.refusal.why);
	}
	end_in_sync(l);
}

/* The old leg returns after an attempt that failed: it kept its era. */
static void not_replaced_and_returns(struct script *l)
{
	u32 era;

	some_writes(l, 4);
	host_checkpoint(&l->host);
	host_sleep(1100);
	some_writes(l, 4);
	leave(l);
	some_writes(l, 6);
	era = l->host.pool->sb->legs[own.victim].in_sync_era;
	disks_fault(FAULT_WRITE_EIO, l->start.legs, 0, ~0ull);
	if (!try_replace(l))
		sim_fail("a disk that takes no label is taken");
	if (l->host.pool->sb->legs[own.victim].in_sync_era != era)
		sim_fail("the old leg has lost its era");
	disks.nr_faults = 0;
	come_back(l);
	end_in_sync(l);
}

/* Too few legs take the superblock: a newer one with the old leg is durable then. */
static void not_replaced_as_superblocks_fail(struct script *l)
{
	leave(l);
	some_writes(l, 4);
	l->host.quiesced = life_fail_next_superblock;
	if (!try_replace(l))
		sim_fail("replaced without a superblock");
	if (!disks.faults[0].hit)
		sim_fail("no superblock failed: %s", l->host.refusal.why);
	if (kvp_pool_faulted(l->host.pool))
		sim_fail("the pool is faulted");
	disks.nr_faults = 0;
	some_writes(l, 4);
	come_back(l);
	end_in_sync(l);
}

/* What is refused: a leg in use, a disk that is too small, two at once, one with data. */
static void refused_to_be_replaced(struct script *l)
{
	struct host_start hs = l->start;
	struct image *new = &disks.img[l->start.legs];
	u64 blocks = new->blocks;
	u8 data[KVP_BLOCK_SIZE] = { 1 };

	hs.swapped = own.victim;
	if (host_replace(&l->host, &hs) != -EBUSY || !strstr(l->host.refusal.why, "in use"))
		sim_fail("a leg in use is replaced: %s", l->host.refusal.why);
	leave(l);
	new->blocks = kvp_leg_least(victim(l)->v->g) - 1;
	if (host_replace(&l->host, &hs) != -ENOSPC || !strstr(l->host.refusal.why, "needs"))
		sim_fail("a disk that is too small is taken: %s", l->host.refusal.why);
	new->blocks = blocks;
	image_write_data(new, blocks - 3, data);
	if (host_replace(&l->host, &hs) != -EEXIST)
		sim_fail("a disk with data is taken: %s", l->host.refusal.why);
	if (victim(l)->bdev != &disks.bdev[own.victim])
		sim_fail("refused, and yet another leg");
	life_blank_disk(l, l->start.legs);
	replace(l);
	if (kvp_leg_in_sync(victim(l)))
		sim_fail("the new leg is a source at once");
	end_in_sync(l);
}

static u32 spare_labels(const struct script *l)
{
	return life_spare_labels(&disks.img[l->start.legs]);
}

static int note_spare(struct script *l, u8 number, bool listed)
{
	u8 uuid[16] = { number };

	return kvp_spare_note(l->host.pool, uuid, listed);
}

/* The spare is 5, and there are others. */
static void list_spares(struct script *l)
{
	u8 i;

	for (i = 4; i < 4 + KVP_MAX_SPARES; i++)
		if (note_spare(l, i, true))
			sim_fail("spare %u is not listed", i);
	if (note_spare(l, 20, true) != -ENOSPC || note_spare(l, 0, true) != -EINVAL)
		sim_fail("a spare too many is listed, or none");
	if (note_spare(l, 6, true) || note_spare(l, 7, false) || note_spare(l, 20, false))
		sim_fail("listed again, or taken off: refused");
	if (life_spares_listed(&l->host) != (0xff0u & ~BIT(7)))
		sim_fail("listed: %x", life_spares_listed(&l->host));
}

static void spares_are_listed(struct script *l)
{
	list_spares(l);
	some_writes(l, 3);
	again(l);
	if (life_spares_listed(&l->host) != (0xff0u & ~BIT(7)))
		sim_fail("listed after a restart: %x", life_spares_listed(&l->host));
	leave(l);
	some_writes(l, 3);
	l->host.quiesced = life_fail_next_superblock;
	if (!try_replace(l) || !disks.faults[0].hit)
		sim_fail("no superblock failed: %s", l->host.refusal.why);
	l->host.quiesced = NULL;
	disks.nr_faults = 0;
	if (life_spares_listed(&l->host) != (0xff0u & ~BIT(7)))
		sim_fail("undone, and a spare is not missed: %x", life_spares_listed(&l->host));
	life_blank_disk(l, l->start.legs);
	life_make_spare(&disks.img[l->start.legs], &disks.img[0]);
	replace(l);
	if (life_spares_listed(&l->host) != (0xff0u & ~BIT(7) & ~BIT(5)))
		sim_fail("taken, and listed: %x", life_spares_listed(&l->host));
	wait_in_sync(l);
	again(l);
	if (life_spares_listed(&l->host) != (0xff0u & ~BIT(7) & ~BIT(5)))
		sim_fail("taken, and listed after a restart: %x", life_spares_listed(&l->host));
	end_scrubbed(l);
}

static void replaced_by_a_spare(struct script *l)
{
	some_writes(l, 3);
	if (own.dies)
		disks_kill(own.victim);
	else
		leave(l);
	some_writes(l, 3);
	wait_out(l);
	if (spare_labels(l) != 3)
		sim_fail("the spare has no label: the case was not set up");
	replace(l);
	if (spare_labels(l))
		sim_fail("the new leg has the label of a spare");
	if (kvp_leg_in_sync(victim(l)))
		sim_fail("the spare is a source at once");
	some_writes(l, 3);
	wait_in_sync(l);
	life_expect_scrubbed(&l->host);
	again(l);
	life_expect_in_sync(l);
	stop(l);
}

/* A disk that is not, or not just, a spare of this pool; it stays as it is. */
static void expect_refused_spare(struct script *l, const char *what, u32 labels)
{
	int ret = try_replace(l);

	if (ret != -EEXIST)
		sim_fail("%s: %d %s", what, ret, l->host.refusal.why);
	if (spare_labels(l) != labels || victim(l)->bdev != &disks.bdev[own.victim])
		sim_fail("%s: refused, and yet changed", what);
}

/* In place of a leg that is there, at a start: a spare is no leg. */
static void start_without_spare(struct script *l)
{
	struct host_start hs = l->start;

	stop(l);
	hs.swapped = own.victim;
	hs.degraded = true;
	if (!host_start(&l->host, &l->o, &hs))
		sim_fail("a spare is taken for a leg");
	if (spare_labels(l) != 3)
		sim_fail("a start has changed a spare");
	script_start(l);
}

static void not_replaced_by_what_is_no_spare(struct script *l)
{
	struct image *new = &disks.img[l->start.legs];
	struct kvp_spare other = { .size_blocks = new->blocks, .uuid = { 5 }, .pool_uuid = { 7 } };
	struct host_start hs = l->start;
	u8 data[KVP_BLOCK_SIZE] = { 1 };

	start_without_spare(l);
	hs.swapped = own.victim;
	if (host_replace(&l->host, &hs) != -EBUSY || spare_labels(l) != 3)
		sim_fail("a leg in use is replaced: %s", l->host.refusal.why);
	leave(l);
	some_writes(l, 2);
	image_write_data(new, 3, data);
	expect_refused_spare(l, "data before the label", 3);
	life_blank_disk(l, l->start.legs);
	life_make_spare(&disks.img[l->start.legs], &disks.img[0]);
	life_label_spare(&disks.img[l->start.legs], &other, 1);
	expect_refused_spare(l, "the other label is of another pool", 3);
	life_label_spare(&disks.img[l->start.legs], &other, 0);
	expect_refused_spare(l, "a spare of another pool", 3);
	life_blank_disk(l, l->start.legs);
	life_make_spare(&disks.img[l->start.legs], &disks.img[0]);
	image_write_data(&disks.img[l->start.legs], KVP_SB_FIRST_BLOCK, data);
	expect_refused_spare(l, "one of its labels is damaged", 2);
	life_blank_disk(l, l->start.legs);
	life_make_spare(&disks.img[l->start.legs], &disks.img[0]);
	replace(l);
	end_in_sync(l);
}

/* A start that names the old disk, with the label that it had, in the place of the leg. */
static bool starts_with_old(struct script *l, u64 missing, bool force)
{
	struct host_start hs = l->start;

	hs.swapped = 0;
	hs.missing = missing;
	hs.degraded = force;
	return !host_start(&l->host, &l->o, &hs);
}

/* The old disk is back after all, as it was: it is no leg any more. */
static void replaced_one_comes_back(struct script *l)
{
	some_writes(l, 3);
	disks_kill(own.victim);
	some_writes(l, 3);
	wait_out(l);
	if (l->turn & 1) {
		replace(l);
		wait_in_sync(l);
	} else {
		/* The new leg resilvers still. */
		write_somewhere(l);
		walk_slowly(l, true);
		replace(l);
		host_sleep(500);
	}
	some_writes(l, 3);
	stop(l);
	disks.dead[own.victim] = false;
	if (starts_with_old(l, 0, false) || !strstr(l->host.refusal.why, "once a leg"))
		sim_fail("started with a leg that was replaced: %s", l->host.refusal.why);
	if (starts_with_old(l, 0, true))
		sim_fail("started by force with a leg that was replaced");
	script_start(l);
	walk_slowly(l, false);
	end_in_sync(l);
}

/* It went its own way meanwhile: neither that history nor the pool's is taken for the other. */
static void replaced_one_has_forked(struct script *l)
{
	struct oracle o;

	disks_kill(own.victim);
	some_writes(l, 3);
	wait_out(l);
	replace(l);
	wait_in_sync(l);
	some_writes(l, 3);
	stop(l);
	disks.dead[own.victim] = false;
	l->untraced = true;
	o = l->o;
	oracle_copy(&l->o, &o);
	watch_begin();
	if (!starts_with_old(l, (BIT(l->start.legs) - 1) & ~BIT(own.victim), true))
		sim_fail("the old leg does not start alone: %s", l->host.refusal.why);
	/* Order 1: its history is the newer one, as after many losses and starts. */
	if (l->turn & 1)
		WRITE_ONCE(l->host.pool->sb->epoch, l->host.pool->sb->epoch + 20);
	host_checkpoint(&l->host);
	host_stop(&l->host);
	oracle_free(&l->o);
	l->o = o;
	if (starts_with_old(l, 0, false) || starts_with_old(l, 0, true))
		sim_fail("started with two histories");
	if (!strstr(l->host.refusal.why, "split brain"))
		sim_fail("two histories, and refused for this: %s", l->host.refusal.why);
	script_start(l);
	life_expect_in_sync(l);
	end_scrubbed(l);
}

/* --- all of them ---------------------------------------------------------------------------- */

/* Blocks below each leaf, and all legs have them. */
static void make_big(struct script *l)
{
	u32 leaf;

	if (l->host.pool->sb->pool_blocks < BIG_BLOCKS)
		sim_fail("%llu blocks are too few", l->host.pool->sb->pool_blocks);
	for (leaf = 0; leaf < BIG_BLOCKS / 512; leaf++)
		host_write(&l->host, 512 * leaf + 7 * leaf, 1 + leaf % 3 * 20, false);
	host_checkpoint(&l->host);
	host_sleep(1100);
	again(l);
}

static void begin(struct script *l)
{
	if (own_shape->big)
		make_big(l);
	let_return(l);
}

static void set_up(struct script *l)
{
	own.victim = own_shape->victim;
	own.blocks = l->o.blocks;
	own.dies = l->c->most ? own_dies : l->turn & 1;
	/* What is cut has one turn; its writes are those of the seed of the command line. */
	own.rng.s = mix64(l->c->most ? opt.seed : l->seed, 42);
	l->crash.growing = own_shape->big;
	l->crash.returns = true;
	if (!l->c->spares)
		return;
	/* The disk that host_start.swapped says is another one; 0 would say none. */
	if (!own.victim)
		own.victim = 1;
	l->crash.old_cache = l->start.cache;
	l->crash.swapped = own.victim;
	l->crash.swaps_at = ~0u;
	if (own_spare)
		life_make_spare(&l->img[l->legs], &l->img[0]);
}

static void set_crash_of_return(struct script *l)
{
	l->crash.lost = l->crash.back = BIT(own.victim);
	l->crash.back_at = own.back_at;		/* 0: not at all */
}

static void run_case(struct script_case *c, const char *what, const struct shape *shape, bool dies)
{
	char name[96];

	snprintf(name, sizeof(name), "resilver:%s:%s%s", shape->name, what, dies ? "-dead" : "");
	own_shape = shape;
	own_dies = dies;
	/* The name tells whether another disk replaces the leg, and whether that is a spare. */
	own_spare = strstr(what, "spare");
	c->name = name;
	c->shape = &shape->start;
	c->spares = strstr(what, "replaced") ? 1 : 0;
	c->blank = shape->big ? BIG_LEGS : 0;
	c->blocks = shape->big ? BIG_BLOCKS : 0;
	c->set_up = set_up;
	c->begin = begin;
	c->leave = true;
	c->own = &own;
	c->own_size = sizeof(own);
	sim_least_levels = max(opt.levels, shape->levels);
	script_run(c);
	sim_least_levels = opt.levels;
}

/* @act on a shape, some times, in other orders; the other legs can be lost after it. */
static void lives(const char *what, void (*act)(struct script *l), const struct shape *shape,
		  u32 turns)
{
	struct script_case c = {
		.act = act, .turns = opt.thorough ? 8 * turns : turns, .salt = 7000,
		.cuts = SCRIPT_AT_THE_END, .depth = CHECK_LEGS,
	};

	run_case(&c, what, shape, false);
}

/* Cut what @act left at about @positions, from the moment on when the leg leaves. */
static void cut_life(const char *what, void (*act)(struct script *l), const struct shape *shape,
		     bool dies, u32 positions)
{
	struct script_case c = {
		.act = act, .end = set_crash_of_return, .turns = 1, .most = 1,
		.salt = 7100 + dies, .cuts = opt.thorough ? 16 * positions : positions,
		.depth = CHECK_RECRASH,
	};

	run_case(&c, what, shape, dies);
}

/* To be cut everywhere. */
static void cut_replaced(struct script *l)
{
	some_writes(l, 3);
	leave(l);
	some_writes(l, 4);
	script_cut_from_here(l);
	replace(l);
	some_writes(l, 1);
	wait_in_sync(l);
	some_writes(l, 2);
	stop(l);
}

static void cut_replaced_by_a_spare(struct script *l)
{
	cut_replaced(l);
}

static void replaced_of(const struct shape *s)
{
	lives(NAMED(leg_is_replaced), s, 2);
	lives(NAMED(replaced_in_an_idle_pool), s, 2);
	lives(NAMED(replaced_one_hangs), s, 1);
	lives(NAMED(replaced_beside_a_writer), s, 2);
	if (!s->big)
		lives(NAMED(replaced_beside_messages), s, 2);
	lives(NAMED(missing_leg_is_replaced), s, 1);
	lives(NAMED(replaced_by_one_that_fails), s, s->start.legs <= 3 && !s->levels ? 12 : 4);
	lives(NAMED(refused_to_be_replaced), s, 1);
	if (!s->big)
		lives(NAMED(not_replaced_and_returns), s, 1);
	if (!s->big && (s->start.legs == 2 || (s->start.legs == 3 && s->start.parity)))
		lives(NAMED(not_replaced_as_superblocks_fail), s, 2);
	if (s->big)
		lives(NAMED(replaced_and_leaves_again), s, 2);
	if (s->start.legs == 3 && !s->start.parity)
		lives(NAMED(other_returns_when_replaced), s, 2);
	if (!s->big)
		lives(NAMED(replaced_one_comes_back), s, 2);
	if (!s->big && s->start.legs == 2)
		lives(NAMED(replaced_one_has_forked), s, 2);
	if (!s->big)
		cut_life(NAMED(cut_replaced), s, s->victim & 1, 5);
	if (s->big || s->levels)
		return;
	lives(NAMED(replaced_by_a_spare), s, 2);
	lives(NAMED(not_replaced_by_what_is_no_spare), s, 1);
	if (s->start.legs == 2)
		lives("replaced_spares_are_listed", spares_are_listed, s, 1);
	cut_life(NAMED(cut_replaced_by_a_spare), s, false, 5);
}

/* To be cut everywhere. */
static void cut_returns(struct script *l)
{
	some_writes(l, 3);
	leave(l);
	some_writes(l, 6);
	come_back(l);
	some_writes(l, 1);
	wait_in_sync(l);
	some_writes(l, 2);
	stop(l);
}

/* The same; the cursor is noted twice. */
static void cut_in_a_slow_walk(struct script *l)
{
	leave(l);
	write_widely(l);
	walk_slowly(l, true);
	come_back(l);
	script_cut_from_here(l);
	host_sleep(24000);
	if (!kvp_leg_resilvers(victim(l)))
		sim_fail("the resilver has ended: the case was not set up");
	host_flush(&l->host);
}

/* The same at full speed: several steps are in flight. */
static void cut_in_a_walk(struct script *l)
{
	leave(l);
	write_widely(l);
	come_back(l);
	script_cut_from_here(l);
	wait_in_sync(l);
	if (!l->host.pool->resilver->begun_ahead)
		sim_fail("no step was begun ahead: the case was not set up");
	host_flush(&l->host);
}

static void faults_of(const struct shape *s)
{
	lives(NAMED(target_fails_writes), s, 6);
	lives(NAMED(target_fails_flushes), s, 5);
	lives(NAMED(target_dies), s, 6);
	lives(NAMED(target_hangs), s, 4);
	lives(NAMED(target_short_for_a_time), s, 2);
	if (!s->start.parity && !s->start.second && s->start.legs - s->start.cache == 2) {
		lives(NAMED(source_lacks_the_end), s, 12);
		lives(NAMED(source_lacks_the_end_and_fails), s, 8);
		lives(NAMED(source_dies_at_the_end), s, 12);
	}
}

/* The pool has no block of some that lie between two regions of the vdev. */
static void passes_what_is_no_block(struct script *l)
{
	struct kvp_vdev *v = victim(l)->v;
	kvp_block_t end = kvp_pool_end(v->pool);
	kvp_vblock_t own = kvp_vblock(0), behind = kvp_vdev_from(v, end);

	while (kvp_vblock_before(own, behind) && kvp_block_before(kvp_pool_block(v, own), end))
		own = kvp_vblock_add(own, 1);
	if (!kvp_vblock_before(own, behind))
		sim_fail("the vdev has no such blocks: the case was not set up");
	leave(l);
	write_widely(l);
	come_back(l);
	end_in_sync(l);
}

static void walks_of(const struct shape *s)
{
	lives(NAMED(leaves_again), s, 3);
	lives(NAMED(suspends), s, 2);
	lives(NAMED(yields_to_the_host), s, 1);
	lives(NAMED(ends_beside_the_host), s, 1);
	lives(NAMED(end_is_ordered_at_last), s, 1);
	lives(NAMED(end_is_interrupted), s, 2);
	if (!s->start.second)
		lives(NAMED(pages_beside_checkpoints), s, 1);
	lives(NAMED(goes_on_at_the_cursor), s, 2);
	lives(NAMED(older_leg_returns_again), s, 2);
	if (s->start.legs == 2) {
		lives(NAMED(pages_wait_for_the_lock), s, 1);
		lives(NAMED(skipped_before_the_cursor), s, 2);
	}
	cut_life(NAMED(cut_in_a_slow_walk), s, false, 4);
	if (s->levels == 1) {
		cut_life(NAMED(cut_in_a_walk), s, false, 2);
		cut_life(NAMED(cut_at_the_end), s, false, 4);
	}
	if (s->start.legs == 3 && !s->start.parity) {
		lives(NAMED(bad_block_before_others), s, 1);
		lives(NAMED(two_return), s, 4);
		lives(NAMED(source_dies), s, 4);
	}
}

/* Of pools of one vdev. */
static void labels_of(const struct shape *s)
{
	lives(NAMED(older_leg_returns), s, 3);
	lives(NAMED(others_stay_out), s, 2);
	lives(NAMED(ordered_out_stays_out), s, 1);
	lives(NAMED(leg_of_a_newer_module_stays_out), s, 1);
	lives(NAMED(source_has_bad_sectors), s, 2);
	lives(NAMED(source_has_rotten_blocks), s, 2);
	if (s->start.legs == 2) {
		lives(NAMED(source_answers_late), s, 2);
		lives(NAMED(label_may_be_newer), s, 1);
		lives(NAMED(left_behind_by_force), s, 1);
	}
	if (!s->start.parity)
		lives(NAMED(forked_leg_stays_out), s, 2);
}

static void changes_beside(const struct shape *s)
{
	lives(NAMED(target_has_strays), s, 1);
	if (s->start.cache && !s->start.second)
		lives(NAMED(log_moves_amid_the_close), s, 4);
	if (s->start.cache > 1)
		lives(NAMED(ssd_is_refused), s, 1);
	if (s->start.second)
		lives(NAMED(one_of_each_vdev_returns), s, 3);
	if (s->start.parity && !s->start.second && !s->start.cache)
		lives(NAMED(second_of_parity1_dies), s, 2);
	if (s->start.second && !s->start.parity)
		lives(NAMED(one_vdev_has_skipped_ranges), s, 1);
	if (s->start.legs == 3 && !s->start.parity)
		lives(NAMED(returns_after_another), s, 2);
	if (s->start.legs == 2)
		lives(NAMED(read_only_pool_refuses), s, 1);
}

void run_resilver(void)
{
	const struct shape *s;

	for (s = shapes; s < shapes + ARRAY_SIZE(shapes); s++) {
		if (s->start.all_blocks) {
			lives(NAMED(passes_what_is_no_block), s, 2);
			lives(NAMED(returns_beside_a_writer), s, 1);
			cut_life(NAMED(cut_in_a_walk), s, false, 1);
			continue;
		}
		lives(NAMED(returns), s, 2);
		lives(NAMED(returns_to_an_idle_pool), s, 2);
		lives(NAMED(target_is_not_read), s, 2);
		lives(NAMED(returns_beside_a_writer), s, 3);
		if (!s->start.cache && !s->big)
			lives(NAMED(entries_amid_the_close), s, 2);
		if (!s->start.cache)
			lives(NAMED(home_without_a_checkpoint), s, 2);
		if (!s->start.parity && !s->start.cache && !s->start.second)
			lives(NAMED(home_write_on_its_way), s, 2);
		faults_of(s);
		if (s->big)
			walks_of(s);
		if (!s->big && !s->start.second && !s->start.cache)
			labels_of(s);
		if (!s->big && !s->levels)
			changes_beside(s);
		if (!s->big)
			cut_life(NAMED(cut_returns), s, s->victim & 1, 6);
		replaced_of(s);
	}
}
