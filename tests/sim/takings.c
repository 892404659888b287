// SPDX-License-Identifier: GPL-2.0-only
/*
 * How often the work of a pool takes a lock of which the pool has only one. All processors meet at
 * such a lock. Here one task runs at a time, and is not preempted. So the counts of a caller depend
 * on the code alone. Those of background work also depend a little on the order in which requests
 * end. Each count has a bound. --verbose prints the counts, and where the locks are taken.
 */
#include "cache/admission.h"
#include "cache/client.h"
#include "cache/scache.h"
#include "ram/rcache.h"
#include "ram/wbuf.h"
#include "suite.h"

#define BLOCKS	64u	/* of each kind of work */

/* --- the work ------------------------------------------------------------------------ */

/* Not side by side: no two are one run. */
static void write_singles(struct host *h, u64 first)
{
	u32 i;

	for (i = 0; i < BLOCKS; i++)
		host_write(h, first + 2 * i, 1, false);
}

static void write_long(struct host *h, u64 first)
{
	host_write(h, first, BLOCKS, false);
}

static void flush(struct host *h, u64 first)
{
	host_flush(h);
}

/* Up to where destage owns the versions. */
static void commit(struct host *h, u64 first)
{
	write_singles(h, first);
	sim_count_takings();
	if (kvp_commit_sync(h->pool->log))
		sim_fail("the commit failed");
	kvp_post_kick(h->pool->log);
	kvp_post_flush(h->pool->log);
}

static void checkpoint(struct host *h, u64 first)
{
	host_checkpoint(h);
}

static void by_intent(struct host *h, u64 first)
{
	host_write_by_intent(h, first, BLOCKS);
	host_flush(h);
}

/* The blocks are home, and not in the RAM cache; with a cache of SSDs, they are in that. */
static void lie_home(struct host *h, u64 first)
{
	u32 i;

	write_singles(h, first);
	host_checkpoint(h);
	kvp_rcache_drop(h->pool->rcache);
	for (i = 0; i < BLOCKS; i++)
		if (host_cached(h, first + 2 * i))
			sim_fail("block %llu is in the RAM cache", first + 2 * i);
	sim_count_takings();
}

static void read_singles(struct host *h, u64 first)
{
	u32 i;

	for (i = 0; i < BLOCKS; i++)
		host_read_check(h, first + 2 * i);
}

static void read_ram(struct host *h, u64 first)
{
	u32 i;

	lie_home(h, first);
	read_singles(h, first);
	for (i = 0; i < BLOCKS; i++)
		if (!host_cached(h, first + 2 * i))
			sim_fail("block %llu is not in the RAM cache", first + 2 * i);
	sim_count_takings();
	read_singles(h, first);
}

/* They enter the RAM cache. */
static void read_home(struct host *h, u64 first)
{
	lie_home(h, first);
	read_singles(h, first);
}

/* From RAM, and of blocks that are discarded, while many discards are pending. */
static void read_beside(struct host *h, u64 first)
{
	u32 i;

	lie_home(h, first);
	read_singles(h, first);
	for (i = 0; i < BLOCKS; i += 2)
		host_discard(h, first + 2 * i, 1);
	sim_count_takings();
	read_singles(h, first);
	if (kvp_wbuf_nr_holes(h->pool->wbuf) != BLOCKS / 2)
		sim_fail("%u discards are pending", kvp_wbuf_nr_holes(h->pool->wbuf));
}

static void read_ssd(struct host *h, u64 first)
{
	u32 before = h->ssd_reads;

	lie_home(h, first);
	read_singles(h, first);
	if (h->ssd_reads - before != BLOCKS)
		sim_fail("%u of %u blocks came from the SSD", h->ssd_reads - before, BLOCKS);
}

/* From home, and into the RAM cache and the SSD cache. */
static void fill_ssd(struct host *h, u64 first)
{
	u64 before = this_cpu_ptr(h->pool->stats)->ssd_fills;

	write_singles(h, first);
	host_checkpoint(h);
	kvp_cache_mistrust(h->pool, first, 2 * BLOCKS);
	h->pool->admission->gather = msecs_to_jiffies(KVP_ADMIT_GATHER_MS);
	kvp_rcache_drop(h->pool->rcache);
	sim_count_takings();
	read_singles(h, first);
	host_sleep(2000);
	if (this_cpu_ptr(h->pool->stats)->ssd_fills - before != BLOCKS)
		sim_fail("%llu blocks entered the SSD", this_cpu_ptr(h->pool->stats)->ssd_fills - before);
}

/* --- the runner ------------------------------------------------------------------------ */

/**
 * struct work - a kind of work whose takings are counted
 * @name: the end of the test's name
 * @go: does the work; may begin to count anew
 * @first: the first block that it uses
 * @most: bound of the takings; @most_cached: in a pool with a cache; @most_rows: in a parity1. ~0u:
 *	such a pool has no work of this kind, or it is not counted
 */
static const struct work {
	const char *name;
	void (*go)(struct host *h, u64 first);
	u64 first;
	u32 most, most_cached, most_rows;
} works[] = {
	{ "write", write_singles, 256, 4, 4, 4 },
	{ "rewrite", write_singles, 256, 0, 0, 0 },
	{ "flush", flush, 0, 16, 16, ~0u },
	{ "home", checkpoint, 0, 44, 52, 88 },
	{ "write-long", write_long, 384, 3, 3, ~0u },
	{ "commit", commit, 256, 56, 56, ~0u },
	{ "by-intent", by_intent, 64, 52, ~0u, ~0u },
	{ "read-ram", read_ram, 256, 0, 0, 0 },
	{ "read-home", read_home, 256, 0, ~0u, 0 },
	{ "read-beside", read_beside, 256, 0, 0, ~0u },
	{ "read-ssd", read_ssd, 256, ~0u, 0, ~0u },
	{ "fill-ssd", fill_ssd, 256, ~0u, 118, ~0u },
};

static struct {
	const struct host_start *start;
	const char *pool;
	struct oracle o;
} own;

/*
 * The order in which requests end decides whether destage of a parity1 has three rounds or four.
 * Each takes six locks: that of the checkpoint, and those of the buffer and of the log for the
 * round as a whole, not for each block. The bounds are those of the least rounds.
 */
#define LEAST_ROUNDS	3u
#define MOST_ROUNDS	4u
#define ROUND_TAKES	6u

/* How many more than in the least rounds; ~0u: there were too many rounds. */
static u32 takings_of_rounds(void)
{
	u32 rounds = sim_takings_in("destage_below");

	if (!own.start->parity || rounds <= LEAST_ROUNDS)
		return 0;
	return rounds > MOST_ROUNDS ? ~0u : (rounds - LEAST_ROUNDS) * ROUND_TAKES;
}

static bool take_one(struct host *h, const struct work *k)
{
	u32 most = own.start->cache ? k->most_cached : own.start->parity ? k->most_rows : k->most,
		more, n;

	if (most == ~0u)
		return true;
	sim_count_takings();
	k->go(h, k->first);
	n = sim_takings();
	more = takings_of_rounds();
	most = more == ~0u ? 0 : most + more;
	if (opt.verbose || n > most)
		printf("locks:%s: %s: %u takings, %u at most\n", own.pool, k->name, n, most);
	if (opt.verbose || n > most)
		sim_print_takings(stdout);
	return n <= most;
}

static void work_main(void *arg)
{
	static struct host h;
	u32 i, wrong = 0;

	memset(&h, 0, sizeof(h));
	if (host_start(&h, &own.o, own.start))
		sim_fail("start: %s", h.refusal.why);
	host_warm_up(&h);
	for (i = 0; i < ARRAY_SIZE(works); i++)
		wrong += !take_one(&h, &works[i]);
	host_stop(&h);
	if (wrong)
		sim_fail("%u kinds of work take locks of the pool too often", wrong);
}

static void run_pool(const char *pool, const struct host_start *start, const struct base *base)
{
	struct sim_config config;
	char name[64];
	bool good;

	snprintf(name, sizeof(name), "locks:%s", pool);
	if (!wanted(name))
		return;
	own.start = start;
	own.pool = pool;
	oracle_copy(&own.o, &base->o);
	/* Without preemption: the numbers must not depend on chance. */
	memset(&config, 0, sizeof(config));
	config.seed = opt.seed;
	disks_begin(base->img, base->legs);
	good = sim_run(&config, work_main, NULL) == SIM_RETURNED;
	disks_end();
	oracle_free(&own.o);
	result(name, good);
}

void run_takings(void)
{
	static const struct host_start mirror = { .legs = 2 }, cache = { .legs = 3, .cache = 1 };
	static const struct host_start rows = { .legs = 3, .parity = true };

	run_pool("mirror", &mirror, base_pool(2, false));
	run_pool("cache", &cache, base_cache(&cache));
	run_pool("parity1", &rows, base_parity(3, false));
}
