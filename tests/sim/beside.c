// SPDX-License-Identifier: GPL-2.0-only
/*
 * Destage beside a busy host, with the log on legs: its turns are short, and it rests between them.
 * Meanwhile blocks are written again, discarded, and go home by intent. The power is cut at many
 * positions. And nothing that waits for destage waits for a rest.
 */
#include <stdlib.h>
#include <string.h>

#include "script.h"
#include "core/stats.h"
#include "home/speed.h"
#include "home/throttle.h"
#include "log/log.h"
#include "ram/wbuf.h"
#include "work/destage.h"

#define ROUNDS		2u
#define POSITIONS	20u
#define FEW_POSITIONS	3u	/* of a pool with a cache, which is larger */

/* What a case knows besides its script. */
static struct {
	struct rng rng;
	bool asks, asked;	/* the reader goes on; it has ended */
} own;

/* The host reads from home all the time. It is counted as the request path counts it. */
static void ask(void *arg)
{
	struct script *b = arg;

	while (own.asks) {
		b->host.pool->stats->read_blocks++;
		b->host.pool->stats->home_read_blocks++;
		host_read_check(&b->host, rng_below(&own.rng, 400));
		host_sleep(5);
	}
	own.asked = true;
}

static void begin_to_ask(struct script *b)
{
	own.asks = true;
	own.asked = false;
	sim_spawn("reader", ask, b);
}

static void end_to_ask(struct script *b)
{
	own.asks = false;
	while (!own.asked)
		host_sleep(1);
}

/* @n blocks alone, none beside another, so that each is a request. */
static void scatter(struct script *b, u32 first, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		host_write(&b->host, first + (i * 37 % n) * 6, 1, false);
	host_flush(&b->host);
}

static u32 rested(const struct script *b)
{
	return READ_ONCE(b->host.pool->destage->burst.rested);
}

static void wait_for_rest(struct script *b, u32 before)
{
	u32 i;

	for (i = 0; rested(b) == before; i++, host_sleep(20))
		if (i == 1000)
			sim_fail("destage does not rest beside the host");
}

static void wait_for_home(struct script *b, u32 most_ms)
{
	u32 ms;

	for (ms = 0; kvp_wbuf_nr_logged(b->host.pool->wbuf); ms += 20, host_sleep(20))
		if (ms >= most_ms)
			sim_fail("%u versions are not home after %u ms",
				 kvp_wbuf_nr_logged(b->host.pool->wbuf), ms);
}

static void begin(struct script *b)
{
	begin_to_ask(b);
	scatter(b, 0, 60);
	wait_for_rest(b, 0);
}

/* Versions of which older ones wait by address: data, a discard, and a stream. */
static void newer_ones_beside_a_rest(struct script *b)
{
	struct host *h = &b->host;

	begin(b);
	scatter(b, 0, 30);
	wait_for_rest(b, rested(b));
	host_write(h, 200, 70, false);
	host_write(h, 6, 1, true);
	host_discard(h, 100, 40);
	host_write(h, 102, 1, false);
	host_flush(h);
	wait_for_home(b, 60000);
	end_to_ask(b);
}

/* In the midst of a rest, a caller wants all at home. */
static void an_order_ends_the_rest(struct script *b)
{
	u32 before;

	begin(b);
	scatter(b, 0, 60);
	before = rested(b);
	host_destage(&b->host);
	wait_for_home(b, 1500);
	if (rested(b) > before + 1)
		sim_fail("destage rested %u times although a caller waits", rested(b) - before);
	end_to_ask(b);
}

/* A host that falls silent has all at home soon. */
static void a_quiet_host_costs_nothing(struct script *b)
{

	begin(b);
	end_to_ask(b);
	wait_for_home(b, 1500);
	host_write(&b->host, 3, 1, true);
}

/* The log gets full beside a rest: writers go on, and destage gets the legs. */
static void a_full_log_ends_the_rest(struct script *b)
{
	struct host *h = &b->host;
	u32 i;

	begin(b);
	for (i = 0; i < 40; i++)
		host_write(h, i * 11 % 400, 50, true);
	end_to_ask(b);
	host_flush(h);
}

/*
 * Single blocks, and no FLUSH. Before writers are slowed down for long, these are in the log and go
 * home, though the interval is not over: nothing else makes room.
 */
static void no_writer_waits_for_the_interval(struct script *b)
{
	struct kvp_pool *pool = b->host.pool;
	u32 i, ms;

	WRITE_ONCE(pool->tunables[KVP_T_COMMIT_INTERVAL_MS], 600 * 1000);
	for (i = 0; i < 2 * kvp_log_limit_empty(pool->log); i++) {
		host_write(&b->host, i * 37 % POOL_BLOCKS, 1, false);
		for (ms = 0; kvp_throttle_is_slow(pool); ms += 20, host_sleep(20))
			if (ms == 10000)
				sim_fail("writers are slowed down, with %u blocks in the buffer alone",
					 kvp_wbuf_buffered(pool->wbuf));
	}
}

/* The time of its burst is next to all fixed cost. Writers are not slowed down for that. */
static void one_block_shows_no_speed(struct script *b)
{
	struct kvp_pool *pool = b->host.pool;
	u64 before = kvp_speed_full(pool);
	u32 ms;

	begin_to_ask(b);
	disks_hold_homes(b->legs, POOL_BLOCKS);
	host_write(&b->host, 7, 1, true);
	for (ms = 0; !READ_ONCE(pool->speed->began); ms += 20, host_sleep(20))
		if (ms == 10000)
			sim_fail("no burst begins");
	if (!kvp_burst_is_short(&pool->destage->burst))
		sim_fail("the burst is not short: the case was not set up");
	host_sleep(100);
	disks_release_all();
	wait_for_home(b, 1000);
	host_sleep(1000);
	end_to_ask(b);
	if (kvp_speed_full(pool) != before)
		sim_fail("after a burst of one block destage has %llu blocks a second",
			 (unsigned long long)kvp_speed_full(pool));
}

/* The log of a parity1 holds far fewer blocks than the buffer. Destage begins before it is full. */
static void a_small_log_goes_home_early(struct script *b)
{
	struct kvp_pool *pool = b->host.pool;
	u32 quarter = (u32)kvp_log_limit_empty(pool->log) / 4, ms;

	scatter(b, 0, min(quarter * 3 / 2, POOL_BLOCKS / 6));
	for (ms = 0; kvp_wbuf_nr_logged(pool->wbuf) > quarter; ms += 20, host_sleep(20))
		if (ms == 3000)
			sim_fail("%u of %u blocks in the log, and none goes home",
				 kvp_wbuf_nr_logged(pool->wbuf), 4 * quarter);
}

/* --- with the log on a cache, beside readers of home ---------------------------------------- */

#define DIRTY	480u	/* blocks: several rounds, and less than the mark of renewal */
#define OLD	120u	/* blocks that are written twice: several short rounds */
#define APART	34u	/* blocks: too many to be written home together */
#define HELD	100u	/* ms that a burst takes: a rest of three seconds follows it */

static u64 blocks_home(const struct script *b)
{
	return atomic64_read(&b->host.pool->work_stats.destage_blocks);
}

/* Nothing goes home at its pace for the next minute. */
static void make_dirty(struct script *b)
{
	struct kvp_pool *pool = b->host.pool;
	u32 i;

	WRITE_ONCE(pool->destage->next, jiffies + 60 * HZ);
	kvp_wbuf_set_limit(pool->wbuf, 256);
	for (i = 0; i < DIRTY; i++)
		host_write(&b->host, i * 8, 1, i % 32 == 31);
	for (i = 0; kvp_wbuf_nr_logged(pool->wbuf) < DIRTY; i++, host_sleep(1))
		if (i == 100 || blocks_home(b))
			sim_fail("%u blocks are dirty: the case was not set up",
				 kvp_wbuf_nr_logged(pool->wbuf));
}

/* Writes home hang for a while, until the burst has begun that they are of. */
static void wait_for_burst(struct script *b)
{
	u32 ms;

	for (ms = 0; !disks_wait(); ms++, host_sleep(1))
		if (ms == 10000)
			sim_fail("no burst has begun: the case was not set up");
	host_sleep(HELD);
}

/* A burst takes a tenth of a second beside readers. They have the disks after it. */
static void a_burst_beside_readers(struct script *b)
{
	struct kvp_pool *pool = b->host.pool;

	begin_to_ask(b);
	make_dirty(b);
	disks_hold_homes(2, LARGE_BLOCKS);
	WRITE_ONCE(pool->destage->next, jiffies);
	kvp_destage_kick(pool, false);
	wait_for_burst(b);
	if (!kvp_burst_is_short(&pool->destage->burst))
		sim_fail("the burst is as long as without readers");
	disks_release_all();
	host_sleep(200);
	if (!blocks_home(b))
		sim_fail("the burst does not end: the case was not set up");
}

static void must_rest(struct script *b, u32 ms)
{
	u64 before = blocks_home(b);

	host_sleep(ms);
	if (blocks_home(b) != before)
		sim_fail("%llu blocks went home while readers had the disks",
			 (unsigned long long)(blocks_home(b) - before));
}

/* More than @before blocks come home. */
static void must_go_on(struct script *b, u64 before, u32 most_ms)
{
	u32 ms;

	for (ms = 0; blocks_home(b) == before; ms += 20, host_sleep(20))
		if (ms >= most_ms)
			sim_fail("nothing went home for %u ms", ms);
}

/* Readers never have the disks for ever. */
static void readers_have_the_disks(struct script *b)
{
	a_burst_beside_readers(b);
	must_rest(b, 2000);
	must_go_on(b, blocks_home(b), 4500);
	end_to_ask(b);
	wait_for_home(b, 60000);
}

/* Readers that fall silent have the blocks at home soon. */
static void silent_readers_cost_nothing(struct script *b)
{
	u64 before;

	a_burst_beside_readers(b);
	must_rest(b, 500);
	WRITE_ONCE(b->host.pool->destage->next, jiffies);
	kvp_destage_kick(b->host.pool, false);
	must_rest(b, 200);
	before = blocks_home(b);
	end_to_ask(b);
	/* The first kick may find what was read since the last look. */
	kvp_destage_kick(b->host.pool, false);
	host_sleep(60);
	kvp_destage_kick(b->host.pool, false);
	must_go_on(b, before, 500);
}

/* In the midst of a rest, a caller wants all at home. */
static void an_order_goes_before_readers(struct script *b)
{
	a_burst_beside_readers(b);
	host_destage(&b->host);
	wait_for_home(b, 1500);
	end_to_ask(b);
}

/* No block was written for a while. That alone takes the disks from no reader. */
static void a_drain_begins_after_readers(struct script *b)
{
	WRITE_ONCE(b->host.pool->tunables[KVP_T_DESTAGE_IDLE_MS], 300);
	a_burst_beside_readers(b);
	must_rest(b, 2000);
	end_to_ask(b);
	wait_for_home(b, 5000);
}

/* The drain of such a time runs when readers come. */
static void a_drain_ends_for_readers(struct script *b)
{
	struct kvp_pool *pool = b->host.pool;
	u32 runs = pool->destage->runs;

	WRITE_ONCE(pool->tunables[KVP_T_DESTAGE_IDLE_MS], 300);
	make_dirty(b);
	disks_hold_homes(2, LARGE_BLOCKS);
	wait_for_burst(b);
	begin_to_ask(b);
	host_sleep(20);
	disks_release_all();
	host_sleep(200);
	if (kvp_wbuf_nr_logged(pool->wbuf) < DIRTY / 2)
		sim_fail("%llu blocks went home beside readers",
			 (unsigned long long)blocks_home(b));
	if (kvp_speed_full(pool) > 1000)
		sim_fail("a burst of few requests does not show how fast destage is");
	must_rest(b, 1000);
	end_to_ask(b);
	wait_for_home(b, 5000);
	if (pool->destage->runs != runs)
		sim_fail("rounds of few requests let the next ones have %u", pool->destage->runs);
}

/* Readers do not stop writers: a cache that fills up beside them goes home. */
static void a_full_cache_goes_before_readers(struct script *b)
{
	u32 i;

	a_burst_beside_readers(b);
	for (i = 0; i < 3 * WIDE_WINDOW; i++)
		host_write(&b->host, i * 7 % LARGE_BLOCKS, 1, false);
	end_to_ask(b);
	host_flush(&b->host);
}

/*
 * Rounds of versions that newer ones have outlived take no time. They do not tell how long a round
 * takes that has to be written.
 */
static void outlived_versions_tell_nothing(struct script *b)
{
	struct kvp_destage *dg = b->host.pool->destage;
	u32 i, round = OLD / 4;

	WRITE_ONCE(dg->next, jiffies + 60 * HZ);
	for (i = 0; i < 2 * OLD; i++)
		host_write(&b->host, i % OLD * APART, 1, i % 30 == 29);
	WRITE_ONCE(dg->round, round);
	disks_hold_homes(2, LARGE_BLOCKS);
	WRITE_ONCE(dg->next, jiffies);
	kvp_destage_kick(b->host.pool, false);
	wait_for_burst(b);
	if (kvp_wbuf_nr_logged(b->host.pool->wbuf) > OLD * 3 / 2)
		sim_fail("no round has dropped old versions: the case was not set up");
	if (dg->round > round)
		sim_fail("after rounds that wrote nothing, one takes %u versions", dg->round);
	disks_release_all();
	wait_for_home(b, 60000);
}

static void set_up(struct script *b)
{
	own.rng.s = b->seed;
	b->start.rotational = b->turn % 2;
}

static void beside(const char *what, void (*act)(struct script *b), bool parity, bool strict,
		   u32 cuts)
{
	struct host_start shape = { .legs = parity ? 3 : 2, .parity = parity, .strict = strict };
	char name[80];
	struct script_case c = {
		.name = name, .shape = &shape, .set_up = set_up, .act = act, .leave = true,
		.turns = ROUNDS, .salt = 7000, .cuts = cuts, .depth = CHECK_RECRASH,
		.own = &own, .own_size = sizeof(own),
	};

	snprintf(name, sizeof(name), "beside:%s:%s", parity ? "parity1" : "mirror", what);
	script_run(&c);
}

static void beside_cache(const char *what, void (*act)(struct script *b), u32 cuts)
{
	static const struct host_start shape = {
		.legs = 4, .cache = 2, .cache_dirty = WIDE_WINDOW, .large = true,
	};
	char name[80];
	struct script_case c = {
		.name = name, .shape = &shape, .set_up = set_up, .act = act, .leave = true,
		.turns = ROUNDS, .salt = 7000, .cuts = cuts, .depth = CHECK_RECRASH,
		.own = &own, .own_size = sizeof(own),
	};

	snprintf(name, sizeof(name), "beside:cache:%s", what);
	script_run(&c);
}

void run_beside(void)
{
	u32 parity;

	for (parity = 0; parity < 2; parity++) {
		beside("newer-ones", newer_ones_beside_a_rest, parity, false, POSITIONS);
		beside("order", an_order_ends_the_rest, parity, false, POSITIONS);
		beside("quiet", a_quiet_host_costs_nothing, parity, false, POSITIONS);
		beside("full-log", a_full_log_ends_the_rest, parity, true, POSITIONS);
		beside("one-block", one_block_shows_no_speed, parity, false, 0);
		beside("small-log", a_small_log_goes_home_early, parity, false, 0);
		beside("interval", no_writer_waits_for_the_interval, parity, false, 0);
	}
	beside_cache("readers", readers_have_the_disks, FEW_POSITIONS);
	beside_cache("silent-readers", silent_readers_cost_nothing, 0);
	beside_cache("order", an_order_goes_before_readers, 0);
	beside_cache("drain-after-readers", a_drain_begins_after_readers, 0);
	beside_cache("drain-ends", a_drain_ends_for_readers, FEW_POSITIONS);
	beside_cache("outlived", outlived_versions_tell_nothing, 0);
	beside_cache("full", a_full_cache_goes_before_readers, 0);
}
