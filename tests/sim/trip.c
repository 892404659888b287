// SPDX-License-Identifier: GPL-2.0-only
/*
 * The trip of one 4 KiB write with fdatasync through the files of the engine, and of other work of
 * a pool without a cache, for `make trip`.
 *
 * There the engine is compiled with -finstrument-functions. During a journey each call of an engine
 * function, and each return, is noted: first the function, then the place that called it. The
 * script `trip` turns these addresses into files. Elsewhere the same test only sees that all of it
 * ends well.
 */
#include <stdlib.h>

#include "suite.h"

#define MOST_STEPS	(1u << 16)

static FILE *to;
static u32 steps;

void __cyg_profile_func_enter(void *function, void *site);
void __cyg_profile_func_exit(void *function, void *site);

void __cyg_profile_func_enter(void *function, void *site)
{
	if (to && steps++ < MOST_STEPS)
		fprintf(to, "> %p %p\n", function, site);
}

void __cyg_profile_func_exit(void *function, void *site)
{
	if (to && steps++ < MOST_STEPS)
		fprintf(to, "< %p %p\n", function, site);
}

/* Each journey is made twice, and the second one is noted: the first may have work of a start. */
static void write_and_flush(struct host *h, u64 block)
{
	if (host_write(h, block, 1, false) || host_flush(h))
		sim_fail("the write failed");
}

/* All that an entry does once it is durable, too. */
static void commit(struct host *h, u64 block)
{
	host_write(h, block, 1, false);
	if (kvp_commit_sync(h->pool->log))
		sim_fail("the commit failed");
	kvp_post_kick(h->pool->log);
	kvp_post_flush(h->pool->log);
}

static void destage(struct host *h, u64 block)
{
	host_write(h, block, 4, false);
	host_checkpoint(h);
}

static void discard(struct host *h, u64 block)
{
	host_discard(h, block, 4);
	host_checkpoint(h);
}

static void read_home(struct host *h, u64 block)
{
	if (host_cached(h, block))
		sim_fail("block %llu is in the RAM cache", block);
	host_read_check(h, block);
}

static void read_ram(struct host *h, u64 block)
{
	if (!host_cached(h, block))
		sim_fail("block %llu is not in the RAM cache", block);
	host_read_check(h, block);
}

static void by_intent(struct host *h, u64 block)
{
	host_write_by_intent(h, block, 64);
	host_flush(h);
}

/**
 * struct journey - work whose way is noted
 * @name: the name that `trip` prints
 * @go: does the work
 * @first, @second: the block of the first time, and that of the second time, which is noted
 */
static const struct journey {
	const char *name;
	void (*go)(struct host *h, u64 block);
	u64 first, second;
} journeys[] = {
	{ "a write with fdatasync", write_and_flush, 8, 9 },
	{ "a commit", commit, 10, 11 },
	{ "a destage with its checkpoint", destage, 12, 20 },
	{ "a read from home", read_home, 0, 1 },
	{ "a read from RAM", read_ram, 0, 1 },
	{ "a discard", discard, 12, 20 },
	{ "a write by intent", by_intent, 128, 256 },
};

/** struct trip - the journeys with one kind of pool */
struct trip {
	const char *name, *kind;
	struct host_start start;
	struct oracle o;
	FILE *trace;
};

static void travel(struct host *h, const struct journey *j, const struct trip *t)
{
	j->go(h, j->first);
	host_sleep(100);
	if (t->trace)
		fprintf(t->trace, "= %s: %s\n", t->kind, j->name);
	steps = 0;
	to = t->trace;
	j->go(h, j->second);
	to = NULL;
	if (steps > MOST_STEPS)
		sim_fail("%s has %u steps", j->name, steps);
	host_sleep(100);
}

static void trip_main(void *arg)
{
	struct trip *t = arg;
	static struct host h;
	u32 i;

	memset(&h, 0, sizeof(h));
	if (host_start(&h, &t->o, &t->start))
		sim_fail("start: %s", h.refusal.why);
	for (i = 0; i < ARRAY_SIZE(journeys); i++)
		travel(&h, &journeys[i], t);
	host_stop(&h);
}

static void make_trip(struct trip *t, const struct base *base)
{
	struct sim_config config;
	bool good;

	oracle_copy(&t->o, &base->o);
	/* Without preemption: the trip must not depend on chance. */
	memset(&config, 0, sizeof(config));
	config.seed = opt.seed;
	disks_begin(base->img, base->legs);
	good = sim_run(&config, trip_main, t) == SIM_RETURNED;
	disks_end();
	oracle_free(&t->o);
	result(t->name, good);
}

void run_trip(void)
{
	struct trip mirror = { "trip:mirror", "a mirror", .start = { .legs = 2 } };
	struct trip parity = { "trip:parity1", "a parity1", .start = { .legs = 3, .parity = true } };
	const char *path = getenv("KVPOOL_TRIP");
	FILE *trace = path ? fopen(path, "w") : NULL;

	mirror.trace = parity.trace = trace;
	if (wanted(mirror.name))
		make_trip(&mirror, base_pool(2, false));
	if (wanted(parity.name))
		make_trip(&parity, base_parity(3, false));
	if (trace)
		fclose(trace);
}
