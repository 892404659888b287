// SPDX-License-Identifier: GPL-2.0-only
/*
 * A suspend in haste: kvp_pool_halt() makes all durable, and leaves in the log what is not home.
 * The pool goes on with that, is cut, or is stopped. suspends.c has such suspends beside orders,
 * and before a change of legs and vdevs.
 */
#include <string.h>

#include "core/cache.h"
#include "script.h"
#include "ram/wbuf.h"
#include "work/destage.h"

#define MOMENT_NS	(20 * NSEC_PER_MSEC)	/* what waits for no disk takes less */
#define FIRST		220u			/* the small writes of fill_log() */
#define WRITES		40u

static struct {
	bool halted, filled;
	u64 mark;		/* all that was accepted when the halt began */
} own;

static struct kvp_pool *pool_of(struct script *t)
{
	return t->host.pool;
}

/* So much is in the log, and not home. */
static void fill_log(struct script *t)
{
	u32 i;

	for (i = 0; i < WRITES; i++)
		host_write(&t->host, FIRST + 4 * i, 3, true);
}

static void hold_homes(struct script *t)
{
	u32 i;

	for (i = 0; i < t->start.legs - t->start.cache; i++)
		disks_stall(i, disks.data_start,
			    disks.img[i].blocks - KVP_LABEL_BLOCKS - 1);
}

/* What was accepted before is durable now. */
static void halt(struct script *t)
{
	own.mark = oracle_mark(t->host.o);
	kvp_pool_halt(pool_of(t));
	oracle_ack(t->host.o, own.mark);
}

static void expect_stands_still(void)
{
	u32 requests = disks.requests;

	host_sleep(500);
	if (disks.requests != requests)
		sim_fail("%u requests while the pool is suspended", disks.requests - requests);
}

static void read_all(struct script *t)
{
	host_read_each(&t->host, 0, POOL_BLOCKS);
}

/*
 * No disk answers a write home, and the pool is suspended at once. Then it goes on. A parity1 may
 * be in the midst of a round, which ends first.
 */
static void leaves_the_rest(struct script *t)
{
	struct host *h = &t->host;
	u64 before;

	fill_log(t);
	host_write(h, 10, 3, false);
	if (!t->start.parity)
		hold_homes(t);
	before = ktime_get_ns();
	halt(t);
	if (ktime_get_ns() - before > MOMENT_NS)
		sim_fail("a halt takes %llu ms", (ktime_get_ns() - before) / NSEC_PER_MSEC);
	if (!kvp_log_counts(pool_of(t)->log) || pool_of(t)->sb->flags & KVP_SB_CLEAN)
		sim_fail("all is home");
	expect_stands_still();
	disks_release_all();
	kvp_pool_unquiesce(pool_of(t));
	host_write(h, 11, 1, false);
	host_checkpoint(h);
	if (kvp_log_counts(pool_of(t)->log) && !kvp_pool_logs_on_cache(pool_of(t)))
		sim_fail("not all goes home after the resume");
	read_all(t);
}

/* Large writes, whose intents are open, and discards. The power may go at any time. */
static void makes_all_durable(struct script *t)
{
	struct host *h = &t->host;

	host_write(h, 64, 3, false);
	host_write(h, 20, 40, false);
	host_discard(h, 30, 2);
	halt(t);
	host_sleep(10);
	kvp_pool_unquiesce(pool_of(t));
	host_write(h, 65, 1, false);
	host_write(h, 90, 1, true);
}

/* Nothing is in the log. */
static void at_rest(struct script *t)
{
	host_write(&t->host, 64, 3, false);
	host_checkpoint(&t->host);
	halt(t);
	if (!(pool_of(t)->sb->flags & KVP_SB_CLEAN))
		sim_fail("the label of a pool at rest is not clean");
	kvp_pool_finish(pool_of(t));
	expect_stands_still();
	kvp_pool_unquiesce(pool_of(t));
	host_write(&t->host, 66, 3, true);
}

/* Most is done while requests are served: the commit. Nothing is written home for that. */
static void beforehand(struct script *t)
{
	struct kvp_pool *pool = pool_of(t);

	fill_log(t);
	host_write(&t->host, 10, 3, false);
	if (!t->start.parity)
		hold_homes(t);
	if (kvp_pool_write_back(pool, kvp_pool_suspending(pool), true))
		sim_fail("no commit before a halt");
	if (kvp_wbuf_buffered(pool->wbuf) || !kvp_log_counts(pool->log))
		sim_fail("a commit is left for the time when all I/O waits, or all is home");
	disks_release_all();
	halt(t);
	kvp_pool_unquiesce(pool);
	host_write(&t->host, 11, 1, true);
}

/* --- a full log ---------------------------------------------------------------------------- */

static void fill_task(void *arg)
{
	struct script *t = arg;
	u32 i;

	for (i = 0; i < 60; i++) {
		host_write(&t->host, 20 * (i % 20), 20, false);
		host_flush(&t->host);
	}
	own.filled = true;
}

static void halt_task(void *arg)
{
	halt(arg);
	own.halted = true;
}

static void wait_for(const bool *flag, const char *what)
{
	u32 ms;

	for (ms = 0; !*flag; ms++, host_sleep(1))
		if (ms > 60000)
			sim_fail("%s does not end", what);
}

/* What is accepted has its place in the log, though that is full, and a round hangs. */
static void beside_a_full_log(struct script *t)
{
	struct host *h = &t->host;
	u32 i;

	fill_log(t);
	hold_homes(t);
	host_destage(h);
	host_sleep(50);
	sim_spawn("filler", fill_task, t);
	for (i = 0; i < 200 && !kvp_log_short(pool_of(t)->log); i++)
		host_sleep(50);
	if (!kvp_log_short(pool_of(t)->log) || own.filled)
		sim_fail("the log is not full: the case was not set up");
	sim_spawn("halt", halt_task, t);
	host_sleep(500);
	if (own.halted)
		sim_fail("a halt waits for no commit: the case was not set up");
	disks_release_all();
	wait_for(&own.halted, "a halt");
	kvp_pool_unquiesce(pool_of(t));
	wait_for(&own.filled, "the filler");
	host_checkpoint(h);
	read_all(t);
}

/* --- amid a round ---------------------------------------------------------------------------- */

/* Destage writes home, and logs the parity of rows for that. The round ends first, and no other. */
static void amid_a_round(struct script *t)
{
	struct host *h = &t->host;
	u32 i;

	host_write(h, 0, 80, false);
	host_checkpoint(h);
	/* Of a parity1, parts of rows. */
	for (i = 0; i < 20; i++)
		host_write(h, 4 * i + i % 2, 1, true);
	hold_homes(t);
	host_destage(h);
	host_sleep(50);
	if (!disks_wait())
		sim_fail("nothing goes home: the case was not set up");
	sim_spawn("halt", halt_task, t);
	host_sleep(500);
	if (own.halted)
		sim_fail("a halt does not wait for a round");
	disks_release_all();
	wait_for(&own.halted, "a halt");
	if (kvp_pool_faulted(pool_of(t)))
		sim_fail("a halt faults the pool");
	expect_stands_still();
	kvp_pool_unquiesce(pool_of(t));
	host_checkpoint(h);
	read_all(t);
}

/* --- a pool that is faulted ----------------------------------------------------------------- */

static void fail_log(struct script *t)
{
	u32 i;

	for (i = 0; i < t->start.legs; i++)
		disks_fault(FAULT_WRITE_EIO, i, disks.log_start,
			    disks.log_start + disks.log_blocks - 1)->times = 0;
}

/* The commit fails. What was not durable stays, and goes on after `clear`. */
static void of_a_faulted_pool(struct script *t)
{
	struct host *h = &t->host;
	u32 i;

	fill_log(t);
	h->may_fail = true;
	fail_log(t);
	host_write(h, 10, 3, false);
	kvp_pool_halt(pool_of(t));
	if (!kvp_pool_faulted(pool_of(t)) && !kvp_log_failed(pool_of(t)->log))
		sim_fail("the log has not failed: the case was not set up");
	kvp_pool_finish(pool_of(t));
	for (i = 0; i < disks.nr_faults; i++)
		disks.faults[i].kind = FAULT_NONE;
	kvp_pool_clear(pool_of(t), -1);
	kvp_pool_unquiesce(pool_of(t));
	kvp_pool_clear(pool_of(t), -1);
	h->may_fail = false;
	host_flush(h);
	host_checkpoint(h);
	read_all(t);
}

/* --- a stop --------------------------------------------------------------------------------- */

/* The device is removed while it is suspended. */
static void then_a_stop(struct script *t)
{
	fill_log(t);
	host_write(&t->host, 10, 3, false);
	halt(t);
	if (!kvp_log_counts(pool_of(t)->log))
		sim_fail("all is home: the case was not set up");
	t->host.halted = true;
}

/* The next start finds a clean label. */
static void started_clean(struct script *t)
{
	if (pool_of(t)->recovery.replayed)
		sim_fail("a recovery replays %llu blocks after a stop",
			 (unsigned long long)pool_of(t)->recovery.replayed);
	read_all(t);
}

static bool start_clean(struct script *t)
{
	script_keep(t);
	return script_live(t, started_clean, false);
}

/* --- a log that is retained ------------------------------------------------------------------ */

/* The tail moves only when the rest is done. */
static void of_a_retained_log(struct script *t)
{
	struct kvp_log *log = pool_of(t)->log;
	u64 tail;

	fill_log(t);
	host_checkpoint(&t->host);
	host_write(&t->host, 10, 3, true);
	hold_homes(t);
	tail = kvp_log_tail(log);
	halt(t);
	if (kvp_log_tail(log) != tail)
		sim_fail("a halt takes a checkpoint");
	kvp_pool_finish(pool_of(t));
	expect_stands_still();
	disks_release_all();
	kvp_pool_unquiesce(pool_of(t));
	host_write(&t->host, 11, 3, true);
	halt(t);
	t->host.halted = true;
}

static bool start_again(struct script *t)
{
	script_keep(t);
	return script_live(t, read_all, false);
}

/* --- cases ----------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	struct host_start start;
} shapes[] = {
	{ "mirror", { .legs = 2 } },
	{ "single", { .legs = 1 } },
	{ "parity", { .legs = 3, .parity = true } },
	{ "cached", { .legs = 3, .cache = 1 } },
	{ "strict", { .legs = 2, .strict = true } },
};

enum { MIRROR, SINGLE, PARITY, CACHED, STRICT };

static void haste(const char *name, u32 shape, void (*act)(struct script *t),
		  bool (*after)(struct script *t), u32 cuts)
{
	char full[80];
	const struct script_case c = {
		.name = full, .shape = &shapes[shape].start, .act = act, .after = after,
		.leave = cuts, .turns = 2, .salt = 21200, .life_seeds = true, .cuts = cuts,
		.depth = CHECK_RECRASH, .own = &own, .own_size = sizeof(own),
	};

	snprintf(full, sizeof(full), "haste:%s:%s", shapes[shape].name, name);
	script_run(&c);
}

void run_haste(void)
{
	u32 i;

	for (i = MIRROR; i <= CACHED; i++) {
		haste("leaves-the-rest", i, leaves_the_rest, start_again, 0);
		haste("durable", i, makes_all_durable, NULL, SCRIPT_EVERYWHERE);
		haste("beforehand", i, beforehand, start_again, 0);
		haste("amid-a-round", i, amid_a_round, start_again, 0);
		haste("rest", i, at_rest, start_again, 0);
		haste("faulted", i, of_a_faulted_pool, start_again, 0);
		haste("stop", i, then_a_stop, i == CACHED ? start_again : start_clean, 0);
	}
	haste("full-log", STRICT, beside_a_full_log, start_again, 0);
	haste("full-log", PARITY, beside_a_full_log, start_again, 0);
	haste("retained", CACHED, of_a_retained_log, start_again, 0);
}
