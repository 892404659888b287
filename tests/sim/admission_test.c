// SPDX-License-Identifier: GPL-2.0-only
/*
 * Admission to the SSD that carries the log: only blocks read from home enter. The races of
 * admission, each cut everywhere. Part of the suite scache.
 */
#include <linux/mm.h>
#include <string.h>

#include "cache/admission.h"
#include "cache/client.h"
#include "cache/scache.h"
#include "core/stats.h"
#include "log/internal.h"
#include "policy/index.h"
#include "ram/rcache.h"
#include "ram/wbuf.h"
#include "script.h"

/* first of the blocks that are home, and not on the SSD, in every base image */
#define FIRST	64u
#define COUNT	80u

/* Of one turn. */
static struct {
	u64 at;			/* where a clean block lies on each SSD, */
	u32 at_leg;		/* or on this one */
	bool done;
} own;

static bool is_known(struct script *p, u64 block)
{
	struct kvp_index_entry e;

	return kvp_index_find(&p->host.pool->scache->index, block, &e);
}

/* Read from home, or from the SSD: not from RAM. */
static void read_anew(struct script *p, u64 first, u32 count)
{
	kvp_rcache_drop(p->host.pool->rcache);
	host_read_each(&p->host, first, count);
}

static void expect_known(struct script *p, u64 first, u32 count, bool known)
{
	u32 i;

	for (i = 0; i < count; i++)
		if (is_known(p, first + i) != known)
			sim_fail("block %llu is %sknown to lie on the SSD", first + i,
				 known ? "not " : "");
}

/* The log's next writes hang, on every SSD. */
static void stall_log(struct script *p)
{
	const struct kvp_geometry *g = p->host.pool->vdevs.log_vdev->g;
	u64 lsn = p->host.pool->log->head.lsn;
	u32 i;

	for (i = 0; i < p->start.cache; i++) {
		/* In full stripes the next one begins somewhere in a row. */
		struct kvp_place at = kvp_log_place(g, kvp_log_striped(g) ? lsn + i : lsn, 0);

		disks_stall(script_ssd(p, kvp_log_striped(g) ? at.leg : i)->bdev - disks.bdev,
			    at.block,
			    at.block + 32);
	}
}

static void expect_in_flight(struct script *p)
{
	if (!p->host.pool->admission->busy)
		sim_fail("no fill is in flight: the case was not set up");
}

/* --- cases --------------------------------------------------------------------------- */

static void enter(struct script *p)
{
	struct kvp_pool *pool = p->host.pool;
	u32 before;

	expect_known(p, FIRST, COUNT, false);
	read_anew(p, FIRST, COUNT);
	host_sleep(50);
	expect_known(p, FIRST, COUNT, true);
	host_cache_check(&p->host);
	before = p->host.ssd_reads;
	read_anew(p, FIRST, COUNT);
	if (p->host.ssd_reads - before != COUNT)
		sim_fail("%u of %u blocks were read from the SSD", p->host.ssd_reads - before,
			 COUNT);
	/* They are no reason for a checkpoint, and do not stand in the way of one. */
	before = pool->sb->checkpoint;
	host_sleep(20000);
	if (pool->sb->checkpoint != before || !kvp_log_used(pool->log))
		sim_fail("a checkpoint for clean blocks alone");
	host_checkpoint(&p->host);
	if (kvp_log_used(pool->log))
		sim_fail("%llu blocks of the log are in use", kvp_log_used(pool->log));
	host_write(&p->host, FIRST + 3, 2, true);
	expect_known(p, FIRST, COUNT, true);
	host_checkpoint(&p->host);
	host_cache_check(&p->host);
}

/* A few blocks wait for more, and share a header; a full entry does not wait. */
static void gather(struct script *p)
{
	struct kvp_pool *pool = p->host.pool;
	const struct kvp_geometry *g = pool->scache->v->g;
	u64 before = pool->log->ssd_blocks[KVP_LOG_HEADERS];
	u32 copies = kvp_log_striped(g) ? 2 : 1, i;

	pool->admission->gather = msecs_to_jiffies(KVP_ADMIT_GATHER_MS);
	for (i = 0; i < 8; i++) {
		read_anew(p, FIRST + i, 1);
		host_sleep(KVP_ADMIT_GATHER_MS / 20);
	}
	host_sleep(2 * KVP_ADMIT_GATHER_MS);
	expect_known(p, FIRST, 8, true);
	/* a segment that was completed meanwhile has a summary */
	if (pool->log->ssd_blocks[KVP_LOG_HEADERS] - before > copies * (1 + KVP_SUMMARY_BLOCKS))
		sim_fail("%llu headers for 8 blocks",
			 pool->log->ssd_blocks[KVP_LOG_HEADERS] - before);
	read_anew(p, FIRST + 8, 2 * KVP_ADMIT_ENTRY);
	host_sleep(KVP_ADMIT_GATHER_MS / 5);
	expect_known(p, FIRST + 8, KVP_ADMIT_ENTRY, true);
	host_cache_check(&p->host);
}

static void set_budget(struct script *p, u64 hundredths)
{
	if (kvp_pool_set(p->host.pool, KVP_T_FILL_DWPD, hundredths))
		sim_fail("the budget cannot be set");
}

/* Admission never exceeds the budget; the credit saved up covers only the time since. */
static void budget(struct script *p)
{
	set_budget(p, 0);
	read_anew(p, FIRST, COUNT);
	host_sleep(50);
	expect_known(p, FIRST, COUNT, false);
	if (p->host.pool->stats->ssd_refused[KVP_ADMIT_BUDGET] < COUNT)
		sim_fail("%llu blocks were too many",
			 p->host.pool->stats->ssd_refused[KVP_ADMIT_BUDGET]);
	set_budget(p, 100 * 100);
	host_sleep(10000);
	read_anew(p, FIRST, 4);
	host_sleep(50);
	expect_known(p, FIRST, 4, true);
	host_cache_check(&p->host);
}

/* In the worker's hands, and in the log behind a version that was written meanwhile. */
static void fill_behind(struct script *p, u64 block, bool discard)
{
	struct kvp_pool *pool = p->host.pool;

	mutex_lock(&pool->log->build_lock);
	kvp_rcache_drop(pool->rcache);
	host_read_check(&p->host, block);
	host_sleep(5);
	if (discard)
		host_discard(&p->host, block, 1);
	else
		host_write(&p->host, block, 1, false);
	if (!kvp_log_build_entry(pool->log))
		sim_fail("no entry can be built: the case was not set up");
	stall_log(p);
	mutex_unlock(&pool->log->build_lock);
	host_sleep(5);
	expect_in_flight(p);
}

/* The same, and the new version goes home before the older fill is durable. */
static void race(struct script *p, bool discard)
{
	fill_behind(p, FIRST + 5, discard);
	host_flush(&p->host);
	host_checkpoint(&p->host);
	if (kvp_wbuf_any(p->host.pool->wbuf, FIRST + 5, 1))
		sim_fail("it is not home: the case was not set up");
	disks_release_all();
	host_sleep(50);
	/* a copy there must match the table */
	host_cache_check(&p->host);
	expect_known(p, FIRST + 5, 1, !discard);
	read_anew(p, FIRST, COUNT);
}

static void race_write(struct script *p)
{
	race(p, false);
}

static void race_discard(struct script *p)
{
	race(p, true);
}

/* It is durable, and behind a newer version in the log when the power goes. */
static void race_cut(struct script *p)
{
	fill_behind(p, FIRST + 5, false);
	host_flush(&p->host);
	disks_release_all();
	host_sleep(50);
	expect_known(p, FIRST + 5, 1, false);
	host_write(&p->host, FIRST + 20, 2, true);
}

/* A write is accepted while the fill is in flight. */
static void under_newer(struct script *p)
{
	stall_log(p);
	read_anew(p, FIRST, 8);
	host_sleep(20);
	expect_in_flight(p);
	host_write(&p->host, FIRST, 1, false);
	disks_release_all();
	host_sleep(50);
	expect_known(p, FIRST, 1, false);
	host_flush(&p->host);
	host_checkpoint(&p->host);
	host_cache_check(&p->host);
	read_anew(p, FIRST, 8);
}

/* The read is late: its data has been dropped, and the block's state is unknown. */
static void forget(struct host *h)
{
	host_discard(h, FIRST + 1, 1);
	host_checkpoint(h);
}

static void late_read(struct script *p)
{
	p->host.before_ssd_fill = forget;
	/* the reader gets the data of the time of its request */
	kvp_rcache_drop(p->host.pool->rcache);
	host_read_check(&p->host, FIRST + 1);
	host_sleep(50);
	host_cache_check(&p->host);
	read_anew(p, FIRST, 4);
}

static void flush_task(void *arg)
{
	struct script *p = arg;

	host_flush(&p->host);
	own.done = true;
}

/* A FLUSH does not wait for a fill to end before its own entry is sent. */
static void flush_meanwhile(struct script *p)
{
	struct kvp_pool *pool = p->host.pool;

	stall_log(p);
	read_anew(p, FIRST, 8);
	host_sleep(20);
	expect_in_flight(p);
	host_write(&p->host, 300, 2, false);
	sim_spawn("flush", flush_task, p);
	host_sleep(20);
	if (own.done || pool->log->built_seq < kvp_wbuf_seq(pool->wbuf))
		sim_fail("the entry that a FLUSH waits for was not sent");
	disks_release_all();
	host_sleep(50);
	if (!own.done)
		sim_fail("the FLUSH has not ended");
}

static void fill_again(struct script *p, u32 i)
{
	kvp_cache_mistrust(p->host.pool, FIRST, COUNT);
	read_anew(p, FIRST, COUNT);
	host_sleep(i % 8);
}

/* As much as can be read, again and again: the log stays far from full, and goes on. */
static void flood(struct script *p)
{
	struct kvp_pool *pool = p->host.pool;
	u64 begin = pool->log->head.lsn, window = kvp_log_window(pool->vdevs.log_vdev->g);
	u32 i;

	/* There is no checkpoint. */
	mutex_lock(&pool->checkpoint_lock);
	for (i = 0; i < 30; i++)
		fill_again(p, i);
	if (kvp_log_used(pool->log) > window / 8 * 5 || kvp_log_short(pool->log))
		sim_fail("%llu of %llu blocks of the log are in use", kvp_log_used(pool->log),
			 window);
	/* so that there is space for the write */
	host_write(&p->host, 300, 8, true);
	mutex_unlock(&pool->checkpoint_lock);
	/* a few dirty blocks lie at the tail, and a writer continues slowly */
	host_checkpoint(&p->host);
	host_write(&p->host, 300, 8, true);
	for (i = 0; i < 200; i++) {
		fill_again(p, i);
		if (i % 16 == 15)
			host_write(&p->host, 300 + i % 8, 1, true);
	}
	/* The day's budget is not much more. */
	if (pool->log->head.lsn - begin < window + window / 2)
		sim_fail("only %llu blocks were appended", pool->log->head.lsn - begin);
	host_cache_check(&p->host);
}

/* The SSDs die while a fill is in flight. */
static void ssds_die(struct script *p)
{
	u32 i;

	stall_log(p);
	read_anew(p, FIRST, 8);
	host_sleep(20);
	expect_in_flight(p);
	for (i = 0; i < p->start.cache; i++)
		disks_kill(script_ssd(p, i)->bdev - disks.bdev);
	disks_release_all();
	host_write(&p->host, FIRST + 2, 1, true);
	read_anew(p, FIRST, COUNT);
	host_checkpoint(&p->host);
	host_cache_check(&p->host);
}

/* The device is suspended while fills are in flight: its label says that the log is empty. */
static void suspend(struct script *p)
{
	struct kvp_pool *pool = p->host.pool;

	read_anew(p, FIRST, COUNT);
	kvp_pool_quiesce(pool);
	if (!(pool->sb->flags & KVP_SB_CLEAN))
		sim_fail("the label does not say that the log is empty");
	kvp_pool_unquiesce(pool);
	kvp_cache_mistrust(pool, FIRST, COUNT);
	read_anew(p, FIRST, COUNT);
	host_sleep(50);
	expect_known(p, FIRST, COUNT, true);
}

/*
 * The legs fail while a fill is in flight, and its entry cannot move on: the loss of a leg cannot
 * be recorded. A suspend does not wait for the fill, which is dropped.
 */
static void faulted_suspend(struct script *p)
{
	struct kvp_pool *pool = p->host.pool;
	u32 i;

	p->host.may_fail = true;
	stall_log(p);
	read_anew(p, FIRST, 8);
	host_sleep(20);
	expect_in_flight(p);
	for (i = 0; i < script_first_ssd(p); i++)
		disks_fault(FAULT_WRITE_EIO, i, 0, ~0ull);
	if (!kvp_pool_set_comment(pool, "x") || !kvp_pool_faulted(pool))
		sim_fail("the pool is not faulted: the case was not set up");
	disks_release_all();
	host_sleep(2000);
	if (pool->admission->busy)
		sim_fail("a fill in a faulted pool has no end");
	kvp_pool_suspending(pool);
	kvp_pool_quiesce(pool);
	kvp_pool_unquiesce(pool);
	for (i = 0; i < disks.nr_faults; i++)
		disks.faults[i].kind = FAULT_NONE;
	kvp_pool_clear(pool, -1);
	p->host.may_fail = false;
	host_sleep(2000);
	/* The only leg with data is not given up, so no loss holds entries up there. */
	if (script_first_ssd(p) > 1)
		expect_known(p, FIRST, 8, false);
	/* The cache goes on. */
	read_anew(p, FIRST, COUNT);
	host_sleep(50);
	host_cache_check(&p->host);
	host_write(&p->host, FIRST + 2, 1, true);
}

/* An admitted block rots; writes that count lie before and after it. */
static void fill_and_go(struct script *p)
{
	const struct kvp_geometry *g = p->host.pool->vdevs.log_vdev->g;
	struct kvp_place at;

	host_write(&p->host, 300, 2, true);
	/* Behind the header, or the header and the parity. */
	at = kvp_log_place(g, p->host.pool->log->head.lsn + (kvp_log_striped(g) ? 3 : 1), 0);
	own.at = at.block;
	own.at_leg = at.leg;
	read_anew(p, FIRST, 8);
	host_sleep(50);
	expect_known(p, FIRST, 8, true);
	host_write(&p->host, 302, 2, true);
}

static void rot_is_no_loss(struct script *p)
{
	u32 i;

	for (i = 0; i < POOL_BLOCKS; i++)
		host_read_check(&p->host, i);
}

/* --- running them ------------------------------------------------------------------------- */

/* All written data is there, but the clean blocks differ. */
static bool rot_clean_blocks(struct script *p)
{
	u32 i, first = script_first_ssd(p);
	u8 junk[KVP_BLOCK_SIZE];

	memset(junk, 0x77, sizeof(junk));
	for (i = 0; i < p->legs; i++) {
		image_free(&p->img[i]);
		image_copy(&p->img[i], &disks.img[i]);
		if (i >= first && (!p->start.cache_parity || i == first + own.at_leg))
			image_write_data(&p->img[i], own.at, junk);
	}
	return script_live(p, rot_is_no_loss, false);
}

static void run_case(const char *what, const struct host_start *shape,
		     void (*act)(struct script *p),
		     bool cut, bool (*after)(struct script *p))
{
	char name[128];
	struct script_case c = {
		.name = name, .shape = shape, .act = act, .leave = after, .after = after,
		.turns = opt.thorough ? 32 : 4, .images = 3,
		.cuts = !cut ? 0 : opt.thorough ? 200 : 25,
		.depth = CHECK_RECRASH,
		.own = &own, .own_size = sizeof(own),
	};

	snprintf(name, sizeof(name), "scache:%s+%u:%s", shape->parity ? "parity" : "mirror",
		 shape->cache, what);
	script_run(&c);
}

void run_fills(const struct host_start *shape)
{
	run_case("fills-enter", shape, enter, true, NULL);
	run_case("fills-gather", shape, gather, true, NULL);
	run_case("fills-budget", shape, budget, false, NULL);
	/* with a parity1, parity is logged after the admission, before data is written home */
	if (!shape->parity) {
		run_case("fill-races-write", shape, race_write, true, NULL);
		run_case("fill-races-discard", shape, race_discard, true, NULL);
	}
	run_case("fill-races-write-cut", shape, race_cut, true, NULL);
	run_case("fill-under-newer", shape, under_newer, true, NULL);
	run_case("fill-late", shape, late_read, true, NULL);
	run_case("fill-and-flush", shape, flush_meanwhile, false, NULL);
	/*
	 * With few large segments in the window there is never room for a fill, and a checkpoint at
	 * once.
	 */
	if (!shape->cache_parity)
		run_case("fill-flood", shape, flood, false, NULL);
	run_case("fill-ssds-die", shape, ssds_die, false, NULL);
	run_case("fill-suspend", shape, suspend, true, NULL);
	run_case("fill-faulted-suspend", shape, faulted_suspend, false, NULL);
	run_case("fill-rots", shape, fill_and_go, false, rot_clean_blocks);
}
