// SPDX-License-Identifier: GPL-2.0-only
/*
 * Long random runs: several tasks write, read, flush and discard at once while
 * timers, checkpoints, scrubs, lost legs and bad sectors come as they like.
 * Every read is checked while the pool runs; then the power is cut at random
 * positions of the run.
 *
 * Runs of the kind "renews" are longer, and have a cache whose window is large enough for renewals.
 * Hardly any order writes all home. So the log comes round with dirty blocks in it.
 */
#include <stdio.h>

#include <linux/completion.h>
#include <linux/mutex.h>

#include "script.h"
#include "core/cache.h"
#include "core/core.h"
#include "pool/cachemode.h"
#include "pool/cachewindow.h"
#include "pool/pool.h"
#include "ram/rcache.h"
#include "ram/wbuf.h"
#include "super/members.h"
#include "table/table.h"

#define MAX_TASKS 3
#define ROUND	10u	/* so many more steps a log needs that comes round */
#define ORDERS	12u

enum trouble {
	TROUBLE_NONE, TROUBLE_LEG_DIES, TROUBLE_OFFLINE, TROUBLE_BAD_SECTORS, TROUBLE_ROT,
	TROUBLE_LOST_WRITES, TROUBLE_MISDIRECTED, TROUBLE_FLUSH_FAILS, TROUBLE_MEMORY,
	TROUBLE_LOG_FAILS, TROUBLE_RETURNS, TROUBLE_ORDERS, TROUBLES
};

static const char * const trouble_names[TROUBLES] = {
	"none", "leg-dies", "offline", "bad-sectors", "rot", "lost-writes", "misdirected",
	"flush-fails", "memory", "log-fails", "returns", "orders",
};

struct run_task {
	struct script *s;
	struct rng rng;
	u32 steps;
};

static struct {
	struct rng rng;
	struct mutex region[POOL_BLOCKS / 64];	/* host's own: discards do not race writes */
	struct run_task tasks[MAX_TASKS];
	u32 nr_tasks, running;
	struct completion all_done;
	bool stop;		/* it ends in good order */
	bool renews;		/* the log comes round, and little is ordered home */
	u32 restarts;		/* so many are left */
} own;

/* What happens to all turns of the case. */
static enum trouble trouble;

/* --- the work of a task --------------------------------------------------------------- */

static void lock_range(struct script *s, u64 block, u32 count)
{
	u64 i;

	for (i = block / 64; i <= (block + count - 1) / 64; i++)
		mutex_lock(&own.region[i]);
}

static void unlock_range(struct script *s, u64 block, u32 count)
{
	u64 i;

	for (i = block / 64; i <= (block + count - 1) / 64; i++)
		mutex_unlock(&own.region[i]);
}

static void random_write(struct script *s, struct rng *rng)
{
	static const u32 most[] = { 1, 4, 16, 64, 120 };
	u32 count = 1 + rng_below(rng, most[rng_below(rng, 5)]);
	/* Some places are written again and again. */
	u64 block = rng_chance(rng, 500) ? rng_below(rng, 24) :
		    rng_below(rng, POOL_BLOCKS - count);
	bool fua = rng_chance(rng, 100);

	lock_range(s, block, count);
	/* Runs that touch may become one intent. */
	if (!s->start.strict)
		oracle_mixable(&s->o, block, count);
	host_write(&s->host, block, count, fua);
	unlock_range(s, block, count);
}

static void random_discard(struct script *s, struct rng *rng)
{
	u32 count = 1 + rng_below(rng, 60);
	u64 block = rng_below(rng, POOL_BLOCKS - count);

	lock_range(s, block, count);
	host_discard(&s->host, block, count);
	unlock_range(s, block, count);
}

static void random_reads(struct script *s, struct rng *rng)
{
	u32 n = 1 + rng_below(rng, 10);
	u64 block = rng_chance(rng, 500) ? rng_below(rng, 24) : rng_below(rng, POOL_BLOCKS - n);

	if (s->start.parity && rng_chance(rng, 500)) {
		n = 1 + rng_below(rng, min(60u, (u32)(POOL_BLOCKS - block)));
		host_read_wide_check(&s->host, block, n);
		return;
	}
	while (n--)
		host_read_check(&s->host, block++);
}

static void random_cache(struct script *s, struct rng *rng)
{
	struct kvp_pool *pool = s->host.pool;

	switch (rng_below(rng, 4)) {
	case 0:
		kvp_rcache_drop(pool->rcache);
		break;
	case 1:
		/* Want of memory, in some runs. */
		kvp_rcache_resize(pool->rcache, rng_below(rng, 3) * 64);
		break;
	default:
		kvp_rcache_shrink(pool->rcache, rng_below(rng, 100));
	}
}

static void one_step(struct script *s, struct rng *rng)
{
	u32 dice = rng_below(rng, 100);

	if (dice < 45)
		random_write(s, rng);
	else if (dice < 65)
		random_reads(s, rng);
	else if (dice < 80)
		host_flush(&s->host);
	else if (dice < 90)
		random_discard(s, rng);
	else if (dice < 93 && (!own.renews || rng_chance(rng, 20)))
		host_checkpoint(&s->host);
	else if (dice < 96)
		random_cache(s, rng);
	else
		host_sleep(1 + rng_below(rng, rng_chance(rng, own.renews ? 10 : 100) ? 7000 : 40));
}

static void task_of_run(void *arg)
{
	struct run_task *t = arg;
	struct script *s = t->s;

	while (t->steps--)
		one_step(s, &t->rng);
	if (!--own.running)
		complete_all(&own.all_done);
}

/* --- trouble ------------------------------------------------------------------------------ */

static void start_trouble(struct script *s)
{
	u32 i, leg = s->start.legs - 1;
	struct fault *f;

	switch (trouble) {
	case TROUBLE_LEG_DIES:
		f = disks_fault(FAULT_DEATH, leg, 0, ~0ull);
		f->after = rng_below(&own.rng, 150);
		break;
	case TROUBLE_BAD_SECTORS:
		for (i = 0; i < 6; i++) {
			u64 block = disks.table_start +
				    rng_below(&own.rng, POOL_LEG_BLOCKS - disks.table_start - 256);

			f = disks_fault(FAULT_READ_EIO, leg, block, block);
			f->after = rng_below(&own.rng, 3);
		}
		break;
	case TROUBLE_LOST_WRITES:
	case TROUBLE_MISDIRECTED:
		f = disks_fault(trouble == TROUBLE_LOST_WRITES ? FAULT_LOST_WRITE :
				FAULT_MISDIRECTED, leg, disks.data_start,
				disks.data_start + POOL_BLOCKS - 2);
		f->after = rng_below(&own.rng, 20);
		f->times = 3;
		break;
	case TROUBLE_FLUSH_FAILS:
		f = disks_fault(FAULT_FLUSH_EIO, leg, 0, ~0ull);
		f->after = rng_below(&own.rng, 6);
		break;
	case TROUBLE_LOG_FAILS:
		/* On one leg, or on all for some time. */
		for (i = rng_below(&own.rng, 2) && !s->start.parity ? 0 : leg; i <= leg; i++) {
			f = disks_fault(FAULT_WRITE_EIO, i, disks.log_start,
					disks.log_start + disks.log_blocks - 1);
			f->after = rng_below(&own.rng, 20);
			f->times = 1 + rng_below(&own.rng, 4);
		}
		s->host.may_fail = true;
		break;
	default:
		break;
	}
}

/* Garbage on one leg, before the pool starts: anywhere but on all of its labels. */
static void rot(struct script *s, struct image *img)
{
	struct rng rng = own.rng;
	u8 junk[4096];
	u32 i, n;

	for (n = 0; n < 12; n++) {
		for (i = 0; i < 4096; i++)
			junk[i] = (u8)rng_next(&rng);
		image_write_data(img, KVP_SB_FIRST_BLOCK +
				 rng_below(&rng, POOL_LEG_BLOCKS - KVP_SB_FIRST_BLOCK), junk);
	}
}

/* --- a run ----------------------------------------------------------------------------------- */

/* The last leg with data. */
static u32 victim(const struct script *s)
{
	return s->start.legs - s->start.cache - 1;
}

/* A leg leaves and returns, a few times, at any moments. */
static void leave_and_return(struct script *s)
{
	struct host *h = &s->host;
	u32 times = 1 + rng_below(&own.rng, 3);

	while (times--) {
		host_sleep(rng_below(&own.rng, 300));
		if (kvp_leg_offline(h->pool, host_leg(h, victim(s))))
			sim_fail("a leg cannot be taken offline");
		host_sleep(rng_below(&own.rng, 300));
		if (host_online(h, victim(s)))
			sim_fail("the leg does not return: %s", h->refusal.why);
	}
	if (rng_chance(&own.rng, 500))
		host_wait_resilver(h);
}

static int move_log(struct host *h)
{
	u64 mode = kvp_pool_logs_on_cache(h->pool) ? KVP_CACHE_WRITETHROUGH : KVP_CACHE_WRITEBACK;

	return kvp_cache_set_mode(h->pool, mode, true, &h->refusal);
}

static int change_window(struct host *h)
{
	u64 blocks = rng_chance(&own.rng, 500) ? NARROW_WINDOW : WIDE_WINDOW;

	return kvp_cache_set_window(h->pool, blocks << KVP_BLOCK_SHIFT, &h->refusal);
}

static void suspend_for_a_while(struct host *h)
{
	h->haste = rng_chance(&own.rng, 300);
	host_suspend(h);
	host_sleep(rng_below(&own.rng, 20));
	host_resume(h);
	h->haste = false;
}

/* One SSD dies, if the pool does not have to start with it again. True if it does. */
static bool let_an_ssd_die(struct script *s)
{
	struct fault *f;

	if (!rng_chance(&own.rng, 300) || own.restarts)
		return false;
	f = disks_fault(FAULT_DEATH, s->start.legs - 1, 0, ~0ull);
	f->after = rng_below(&own.rng, 900);
	s->crash.lost |= BIT(s->start.legs - 1);
	return true;
}

/* The log moves off the cache and back, its window and mark change, and the pool is suspended. */
static void give_orders(struct script *s)
{
	static const u64 marks[] = { 0, 10, 40, 60, 70 };
	u32 times = 2 + rng_below(&own.rng, ORDERS);
	bool dies = let_an_ssd_die(s);
	struct host *h = &s->host;
	int ret = 0;

	while (times--) {
		host_sleep(rng_below(&own.rng, 500));
		switch (rng_below(&own.rng, 5)) {
		case 0:
			ret = move_log(h);
			break;
		case 1:
			ret = change_window(h);
			break;
		case 2:
			suspend_for_a_while(h);
			break;
		case 3:
			ret = kvp_pool_set(h->pool, KVP_T_RENEW_MARK,
					   marks[rng_below(&own.rng, ARRAY_SIZE(marks))]);
			break;
		default:
			kvp_table_shrink(h->pool->table, true);
		}
		if (ret && !dies)
			sim_fail("an order was refused: %s", h->refusal.why);
	}
}

/* True of those that damage what the last leg holds, without a word. */
static bool is_silent(enum trouble t)
{
	return t == TROUBLE_ROT || t == TROUBLE_LOST_WRITES || t == TROUBLE_MISDIRECTED;
}

/* The SSD that may not hold what was written there: the last leg, in the run and after a cut. */
static u64 lying(const struct script *s)
{
	return s->start.cache && is_silent(trouble) ? BIT(s->start.legs - 1) : 0;
}

static void prepare(struct script *s)
{
	if (trouble == TROUBLE_MEMORY)
		sim_set_oom(200);
}

static void begin_tasks(struct script *s)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(own.region); i++)
		mutex_init(&own.region[i]);
	init_completion(&own.all_done);
	start_trouble(s);
	own.running = own.nr_tasks;
	for (i = 0; i < own.nr_tasks; i++)
		sim_spawn("host", task_of_run, &own.tasks[i]);
}

/* All data is there, whatever has happened. */
static void look_at_all(struct script *s)
{
	struct host *h = &s->host;
	u32 i;

	h->may_fail = false;
	/* reads admit blocks to the cache, and so may write to it: lost data is lost by now */
	if (trouble == TROUBLE_LOG_FAILS)
		disks.nr_faults = 0;
	for (i = 0; i < s->legs; i++)
		if (!kvp_leg_in_sync(&h->pool->legs[i]))
			s->crash.lost |= BIT(i);
	for (i = 0; i < POOL_BLOCKS; i += 1 + rng_below(&own.rng, 5))
		host_read_check(h, i);
	host_cache_check(h);
}

static void plan_tasks(struct script *s)
{
	u32 i;

	own.nr_tasks = 1 + rng_below(&own.rng, MAX_TASKS);
	own.stop = rng_chance(&own.rng, 250);
	own.renews = s->start.cache_dirty;
	for (i = 0; i < own.nr_tasks; i++) {
		own.tasks[i].s = s;
		own.tasks[i].rng.s = rng_next(&own.rng);
		own.tasks[i].steps = (5 + rng_below(&own.rng, 60)) * (own.renews ? ROUND : 1);
	}
}

/* So that versions are spilled. */
static void small_buffer(struct script *s)
{
	struct kvp_wbuf *w = s->host.pool->wbuf;

	if (own.renews)
		kvp_wbuf_set_limit(w, KVP_CHUNK_PAGES * (3 + rng_below(&own.rng, 12)));
	else if (s->start.cache && rng_chance(&own.rng, 700))
		kvp_wbuf_set_limit(w, 12 + rng_below(&own.rng, 60));
}

/* The log keeps what it has. Its older generations go round with what is written now. */
static void restart(struct script *s)
{
	host_stop(&s->host);
	if (host_start(&s->host, &s->o, &s->start))
		sim_fail("start: %s", s->host.refusal.why);
	small_buffer(s);
	plan_tasks(s);
	begin_tasks(s);
}

static void run(struct script *s)
{
	struct host *h = &s->host;
	u64 healed, unrepaired;

	/* After a cut it returns by itself. */
	if (trouble == TROUBLE_RETURNS && kvp_pool_set(h->pool, KVP_T_ONLINE_AUTO, 1))
		sim_fail("online_auto cannot be set");
	script_cut_from_here(s);
	h->lying = lying(s);
	small_buffer(s);
	begin_tasks(s);
	if (rng_chance(&own.rng, 300)) {
		host_sleep(rng_below(&own.rng, 100));
		host_scrub(h, &healed, &unrepaired);
	}
	if (trouble == TROUBLE_OFFLINE) {
		host_sleep(rng_below(&own.rng, 300));
		host_offline(h, s->legs - 1);
	}
	if (trouble == TROUBLE_RETURNS)
		leave_and_return(s);
	if (trouble == TROUBLE_ORDERS)
		give_orders(s);
	wait_for_completion(&own.all_done);
	while (own.restarts) {
		own.restarts--;
		restart(s);
		give_orders(s);
		wait_for_completion(&own.all_done);
	}
	look_at_all(s);
}

/* The first of the numbers that a seed gives decides it. */
static bool is_strict(struct rng *rng)
{
	return rng_chance(rng, 250);
}

static void set_up(struct script *s)
{
	own.rng.s = s->seed;
	is_strict(&own.rng);	/* as case_of() has asked */
	plan_tasks(s);
	if (trouble == TROUBLE_ORDERS)
		own.restarts = rng_below(&own.rng, 4);
	if (trouble == TROUBLE_RETURNS)
		s->crash.lost = BIT(victim(s));
	if (trouble == TROUBLE_LEG_DIES || trouble == TROUBLE_OFFLINE ||
	    trouble == TROUBLE_FLUSH_FAILS || trouble == TROUBLE_LOG_FAILS ||
	    trouble == TROUBLE_BAD_SECTORS)
		s->crash.lost = BIT(s->legs - 1);
	s->crash.returns = trouble == TROUBLE_RETURNS;
	/*
	 * Damage that was there before is no fault of the recovery. What has rotten under an open
	 * intent of a parity1 looks like a write that was cut short. In a mirror the other leg
	 * tells.
	 */
	s->crash.astray = trouble == TROUBLE_LOST_WRITES || trouble == TROUBLE_MISDIRECTED ||
			  (trouble == TROUBLE_ROT && s->start.parity);
	s->crash.rotten = lying(s);
	s->crash.heal_allowed = is_silent(trouble) || trouble == TROUBLE_BAD_SECTORS;
	if (trouble == TROUBLE_ROT)
		rot(s, &s->img[s->legs - 1]);
}

static bool play(struct script *s)
{
	return script_live(s, run, !own.stop) && script_check_cuts(s);
}

/* --- the cases ------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	struct host_start shape;
} kinds[] = {
	{ "1", { .legs = 1 } }, { "2", { .legs = 2 } }, { "3", { .legs = 3 } },
	{ "parity", { .legs = 3, .parity = true } }, { "cache", { .legs = 4, .cache = 2 } },
	{ "renews", { .legs = 4, .cache = 2, .cache_dirty = WIDE_WINDOW } },
};

/* Each round is a case: rounds differ in whether the pool is strict. */
static void case_of(u32 kind, u32 round)
{
	u32 salt = round * 100 + trouble * 10 + kind + 1;
	struct rng rng = { mix64(opt.seed, salt) };
	struct host_start shape = kinds[kind].shape;
	char name[64];
	const struct script_case c = {
		.name = name, .shape = &shape, .set_up = set_up, .prepare = prepare, .play = play,
		.turns = 1, .most = 1, .salt = salt, .cuts = opt.thorough ? 40 : 8,
		.depth = is_silent(trouble) ? CHECK_CONTENTS : CHECK_RECRASH, .images = 3,
		.own = &own, .own_size = sizeof(own),
	};

	/* there are no images of strict pools with a cache */
	shape.strict = is_strict(&rng) && !shape.cache;
	snprintf(name, sizeof(name), "random:%s:%s:%u", trouble_names[trouble], kinds[kind].name,
		 round);
	script_run(&c);
}

/* Others need a good copy elsewhere. */
static bool is_for_singles(enum trouble t)
{
	return t == TROUBLE_NONE || t == TROUBLE_MEMORY;
}

/* How many rounds of a kind there are. Those of a log that comes round are long. */
static u32 rounds_of(u32 kind)
{
	bool renews = kinds[kind].shape.cache_dirty;

	if (trouble == TROUBLE_ORDERS)
		return !renews ? 0 : opt.rounds ?: opt.thorough ? 100 : 4;
	if (kinds[kind].shape.legs == 1 && !is_for_singles(trouble))
		return 0;
	return opt.rounds ?: opt.thorough ? (renews ? 40 : 400) : renews ? 1 : 6;
}

void run_random(void)
{
	u32 round, kind;

	for (trouble = 0; trouble < TROUBLES; trouble++)
		for (kind = 0; kind < ARRAY_SIZE(kinds); kind++)
			for (round = 0; round < rounds_of(kind); round++)
				case_of(kind, round);
}
