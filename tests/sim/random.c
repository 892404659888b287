// SPDX-License-Identifier: GPL-2.0-only
/*
 * Long random runs: several tasks write, read, flush and discard at once while
 * timers, checkpoints, scrubs, lost legs and bad sectors come as they like.
 * Every read is checked while the pool runs; then the power is cut at random
 * positions of the run.
 */
#include <stdlib.h>
#include <string.h>

#include <linux/completion.h>
#include <linux/mutex.h>

#include "suite.h"
#include "pool/pool.h"
#include "ram/rcache.h"
#include "ram/wbuf.h"
#include "super/members.h"

#define MAX_TASKS 3

enum trouble {
	TROUBLE_NONE, TROUBLE_LEG_DIES, TROUBLE_OFFLINE, TROUBLE_BAD_SECTORS, TROUBLE_ROT,
	TROUBLE_LOST_WRITES, TROUBLE_MISDIRECTED, TROUBLE_FLUSH_FAILS, TROUBLE_MEMORY,
	TROUBLE_LOG_FAILS, TROUBLE_RETURNS, TROUBLES
};

static const char * const trouble_names[TROUBLES] = {
	"none", "leg-dies", "offline", "bad-sectors", "rot", "lost-writes", "misdirected",
	"flush-fails", "memory", "log-fails", "returns",
};

struct run;

struct run_task {
	struct run *run;
	struct rng rng;
	u32 steps;
};

struct run {
	struct host host;
	struct host_start start;
	struct oracle o;
	enum trouble trouble;
	struct rng rng;
	struct mutex region[POOL_BLOCKS / 64];	/* host's own: discards do not race writes */
	struct run_task tasks[MAX_TASKS];
	u32 nr_tasks, running;
	struct completion all_done;
	u32 served, lost;
	bool stop;
};

/* --- the work of a task --------------------------------------------------------------- */

static void lock_range(struct run *r, u64 block, u32 count)
{
	u64 i;

	for (i = block / 64; i <= (block + count - 1) / 64; i++)
		mutex_lock(&r->region[i]);
}

static void unlock_range(struct run *r, u64 block, u32 count)
{
	u64 i;

	for (i = block / 64; i <= (block + count - 1) / 64; i++)
		mutex_unlock(&r->region[i]);
}

static void random_write(struct run *r, struct rng *rng)
{
	static const u32 most[] = { 1, 4, 16, 64, 120 };
	u32 count = 1 + rng_below(rng, most[rng_below(rng, 5)]);
	/* Some places are written again and again. */
	u64 block = rng_chance(rng, 500) ? rng_below(rng, 24) :
		    rng_below(rng, POOL_BLOCKS - count);
	bool fua = rng_chance(rng, 100);

	lock_range(r, block, count);
	/* Runs that touch may become one intent. */
	if (!r->start.strict)
		oracle_mixable(&r->o, block, count);
	host_write(&r->host, block, count, fua);
	unlock_range(r, block, count);
}

static void random_discard(struct run *r, struct rng *rng)
{
	u32 count = 1 + rng_below(rng, 60);
	u64 block = rng_below(rng, POOL_BLOCKS - count);

	lock_range(r, block, count);
	host_discard(&r->host, block, count);
	unlock_range(r, block, count);
}

static void random_reads(struct run *r, struct rng *rng)
{
	u32 n = 1 + rng_below(rng, 10);
	u64 block = rng_chance(rng, 500) ? rng_below(rng, 24) : rng_below(rng, POOL_BLOCKS - n);

	if (r->start.parity && rng_chance(rng, 500)) {
		n = 1 + rng_below(rng, min(60u, (u32)(POOL_BLOCKS - block)));
		host_read_wide_check(&r->host, block, n);
		return;
	}
	while (n--)
		host_read_check(&r->host, block++);
}

static void random_cache(struct run *r, struct rng *rng)
{
	struct kvp_pool *pool = r->host.pool;

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

static void one_step(struct run *r, struct rng *rng)
{
	u32 dice = rng_below(rng, 100);

	if (dice < 45)
		random_write(r, rng);
	else if (dice < 65)
		random_reads(r, rng);
	else if (dice < 80)
		host_flush(&r->host);
	else if (dice < 90)
		random_discard(r, rng);
	else if (dice < 93)
		host_checkpoint(&r->host);
	else if (dice < 96)
		random_cache(r, rng);
	else
		host_sleep(1 + rng_below(rng, rng_chance(rng, 100) ? 7000 : 40));
}

static void task_of_run(void *arg)
{
	struct run_task *t = arg;
	struct run *r = t->run;

	while (t->steps--)
		one_step(r, &t->rng);
	if (!--r->running)
		complete_all(&r->all_done);
}

/* --- trouble ------------------------------------------------------------------------------ */

static void start_trouble(struct run *r)
{
	u32 i, leg = r->start.legs - 1;
	struct fault *f;

	switch (r->trouble) {
	case TROUBLE_LEG_DIES:
		f = disks_fault(FAULT_DEATH, leg, 0, ~0ull);
		f->after = rng_below(&r->rng, 150);
		break;
	case TROUBLE_BAD_SECTORS:
		for (i = 0; i < 6; i++) {
			u64 block = disks.table_start +
				    rng_below(&r->rng, POOL_LEG_BLOCKS - disks.table_start - 256);

			f = disks_fault(FAULT_READ_EIO, leg, block, block);
			f->after = rng_below(&r->rng, 3);
		}
		break;
	case TROUBLE_LOST_WRITES:
	case TROUBLE_MISDIRECTED:
		f = disks_fault(r->trouble == TROUBLE_LOST_WRITES ? FAULT_LOST_WRITE :
				FAULT_MISDIRECTED, leg, disks.data_start,
				disks.data_start + POOL_BLOCKS - 2);
		f->after = rng_below(&r->rng, 20);
		f->times = 3;
		break;
	case TROUBLE_FLUSH_FAILS:
		f = disks_fault(FAULT_FLUSH_EIO, leg, 0, ~0ull);
		f->after = rng_below(&r->rng, 6);
		break;
	case TROUBLE_LOG_FAILS:
		/* On one leg, or on all for some time. */
		for (i = rng_below(&r->rng, 2) && !r->start.parity ? 0 : leg; i <= leg; i++) {
			f = disks_fault(FAULT_WRITE_EIO, i, disks.log_start,
					disks.log_start + disks.log_blocks - 1);
			f->after = rng_below(&r->rng, 20);
			f->times = 1 + rng_below(&r->rng, 4);
		}
		r->host.may_fail = true;
		break;
	default:
		break;
	}
}

/* Garbage on one leg, before the pool starts: anywhere but on all of its labels. */
static void rot(struct run *r, struct image *img)
{
	struct rng rng = r->rng;
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
static u32 victim(const struct run *r)
{
	return r->start.legs - r->start.cache - 1;
}

/* A leg leaves and returns, a few times, at any moments. */
static void leave_and_return(struct run *r)
{
	struct host *h = &r->host;
	u32 times = 1 + rng_below(&r->rng, 3);

	while (times--) {
		host_sleep(rng_below(&r->rng, 300));
		if (kvp_leg_offline(h->pool, host_leg(h, victim(r))))
			sim_fail("a leg cannot be taken offline");
		host_sleep(rng_below(&r->rng, 300));
		if (host_online(h, victim(r)))
			sim_fail("the leg does not return: %s", h->refusal.why);
	}
	if (rng_chance(&r->rng, 500))
		host_wait_resilver(h);
}

/* True of those that damage what the last leg holds, without a word. */
static bool is_silent(enum trouble t)
{
	return t == TROUBLE_ROT || t == TROUBLE_LOST_WRITES || t == TROUBLE_MISDIRECTED;
}

/* The SSD that may not hold what was written there: the last leg, in the run and after a cut. */
static u64 lying(const struct run *r)
{
	return r->start.cache && is_silent(r->trouble) ? BIT(r->start.legs - 1) : 0;
}

static void run_main(void *arg)
{
	struct run *r = arg;
	u64 healed, unrepaired;
	u32 i;

	if (host_start(&r->host, &r->o, &r->start))
		sim_fail("start: %s", r->host.refusal.why);
	/* After a cut it returns by itself. */
	if (r->trouble == TROUBLE_RETURNS && kvp_pool_set(r->host.pool, KVP_T_ONLINE_AUTO, 1))
		sim_fail("online_auto cannot be set");
	r->served = disks.trace.nr;
	r->host.lying = lying(r);
	/* So that versions are spilled. */
	if (r->start.cache && rng_chance(&r->rng, 700))
		kvp_wbuf_set_limit(r->host.pool->wbuf, 12 + rng_below(&r->rng, 60));
	for (i = 0; i < ARRAY_SIZE(r->region); i++)
		mutex_init(&r->region[i]);
	init_completion(&r->all_done);
	start_trouble(r);
	r->running = r->nr_tasks;
	for (i = 0; i < r->nr_tasks; i++)
		sim_spawn("host", task_of_run, &r->tasks[i]);
	if (rng_chance(&r->rng, 300)) {
		host_sleep(rng_below(&r->rng, 100));
		host_scrub(&r->host, &healed, &unrepaired);
	}
	if (r->trouble == TROUBLE_OFFLINE) {
		host_sleep(rng_below(&r->rng, 300));
		host_offline(&r->host, r->start.legs - 1);
	}
	if (r->trouble == TROUBLE_RETURNS)
		leave_and_return(r);
	wait_for_completion(&r->all_done);
	r->host.may_fail = false;
	/* reads admit blocks to the cache, and so may write to it: lost data is lost by now */
	if (r->trouble == TROUBLE_LOG_FAILS)
		disks.nr_faults = 0;
	for (i = 0; i < r->start.legs; i++)
		if (!kvp_leg_in_sync(&r->host.pool->legs[i]))
			r->lost |= BIT(i);
	for (i = 0; i < POOL_BLOCKS; i += 1 + rng_below(&r->rng, 5))
		host_read_check(&r->host, i);
	host_cache_check(&r->host);
	if (r->stop)
		host_stop(&r->host);
}

static void plan(struct run *r, u32 legs, bool parity, u32 cache, enum trouble trouble, u64 seed)
{
	u32 i;

	memset(r, 0, sizeof(*r));
	r->rng.s = seed;
	r->trouble = trouble;
	r->start.legs = legs;
	r->start.strict = rng_chance(&r->rng, 250);
	r->start.parity = parity;
	r->start.cache = cache;
	if (cache)
		r->start.strict = false;	/* as those of which there are images */
	r->nr_tasks = 1 + rng_below(&r->rng, MAX_TASKS);
	r->stop = rng_chance(&r->rng, 250);
	for (i = 0; i < r->nr_tasks; i++) {
		r->tasks[i].run = r;
		r->tasks[i].rng.s = rng_next(&r->rng);
		r->tasks[i].steps = 5 + rng_below(&r->rng, 60);
	}
	if (trouble == TROUBLE_RETURNS)
		r->lost = BIT(victim(r));
	if (trouble == TROUBLE_LEG_DIES || trouble == TROUBLE_OFFLINE ||
	    trouble == TROUBLE_FLUSH_FAILS || trouble == TROUBLE_LOG_FAILS ||
	    trouble == TROUBLE_BAD_SECTORS)
		r->lost = BIT(legs - 1);
}

static bool run_random_one(struct run *r, const char *name, u32 legs, u64 seed)
{
	const struct base *base = r->start.cache ? base_cache(&r->start) :
				  r->start.parity ? base_parity(legs, r->start.strict) :
				  base_pool(legs, r->start.strict);
	bool silent = is_silent(r->trouble);
	struct image img[MAX_DISKS];
	struct sim_config config;
	struct crash crash = { .legs = legs, .parity = base->parity, .cache = r->start.cache,
			       .o = &r->o };
	bool good;
	u32 i;

	oracle_copy(&r->o, &base->o);
	for (i = 0; i < legs; i++)
		image_copy(&img[i], &base->img[i]);
	if (r->trouble == TROUBLE_ROT)
		rot(r, &img[legs - 1]);
	check_seed_config(&config, seed);
	config.oom = r->trouble == TROUBLE_MEMORY ? 200 : 0;
	disks_begin(img, legs);
	good = sim_run(&config, run_main, r) == SIM_RETURNED;
	disks_end();
	crash.lost = r->lost;
	crash.returns = r->trouble == TROUBLE_RETURNS;
	/*
	 * Damage that was there before is no fault of the recovery. What has rotten under an open
	 * intent of a parity1 looks like a write that was cut short. In a mirror the other leg
	 * tells.
	 */
	crash.astray = r->trouble == TROUBLE_LOST_WRITES || r->trouble == TROUBLE_MISDIRECTED ||
		       (r->trouble == TROUBLE_ROT && r->start.parity);
	crash.rotten = lying(r);
	crash.heal_allowed = silent || r->trouble == TROUBLE_BAD_SECTORS;
	if (good)
		good = !cut_sampled(name, &crash, r->served,
				    silent ? CHECK_CONTENTS : CHECK_RECRASH, opt.thorough ? 40 : 8);
	oracle_free(&r->o);
	for (i = 0; i < legs; i++)
		image_free(&img[i]);
	return good;
}

void run_random(void)
{
	/* A single, mirrors of two and three legs, a parity1 of three, a mirror with two SSDs. */
	static const char * const kinds[] = { "", "1", "2", "3", "parity", "cache" };
	u32 rounds = opt.rounds ?: opt.thorough ? 400 : 6, round, t, kind;
	struct run *r = malloc(sizeof(*r));
	u32 images = opt.images;

	opt.images = min(opt.images, 3u);
	for (t = 0; t < TROUBLES; t++)
		for (kind = 1; kind <= 5; kind++)
			for (round = 0; round < rounds; round++) {
				u64 seed = mix64(opt.seed, round * 100 + t * 10 + kind);
				u32 legs = kind == 5 ? 4 : min(kind, 3u);
				char name[64];

				/* these troubles need a good copy elsewhere */
				if (legs == 1 && t != TROUBLE_NONE && t != TROUBLE_MEMORY)
					continue;
				snprintf(name, sizeof(name), "random:%s:%s:%u", trouble_names[t],
					 kinds[kind], round);
				if (!wanted(name))
					continue;
				plan(r, legs, kind == 4, kind == 5 ? 2 : 0, t, seed);
				result(name, run_random_one(r, name, legs, seed));
			}
	opt.images = images;
	free(r);
}
