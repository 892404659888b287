// SPDX-License-Identifier: GPL-2.0-only
/*
 * A stream goes home by intent although older versions of its blocks wait for destage. That happens
 * with the log on legs, and on a cache that renews nothing. The older versions keep their records
 * until the stream is home, and never go home after it. Each case is cut everywhere, with second
 * cuts. The pools are a mirror, a single, two mirrors, and a mirror with a cache, where older
 * versions are spilled.
 */
#include <stdlib.h>
#include <string.h>

#include "script.h"
#include "cache/scache.h"
#include "core/cache.h"
#include "log/internal.h"
#include "pool/cachemode.h"
#include "ram/rcache.h"
#include "ram/wbuf.h"
#include "table/table.h"
#include "work/destage.h"

#define FIRST		64u	/* the stream's first block, and how many it has */
#define STREAM		40u
#define ROUNDS		2u

/* What a case knows besides its script. */
static struct {
	u32 first;		/* block of the stream */
	u64 intents;
	bool done;
} own;

/* Older versions that the log has, and that are not home: alone, in pairs, and at both ends. */
static void write_older(struct script *t)
{
	static const u32 at[] = { 0, 5, 6, 17, 30, 39 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(at); i++)
		host_write(&t->host, own.first + at[i], 1, false);
	host_flush(&t->host);
}

static u32 waiting(struct script *t)
{
	struct kvp_pool *pool = t->host.pool;

	flush_delayed_work(&pool->log->post_work);
	while (kvp_pool_logs_on_cache(pool) && kvp_wbuf_spill_oldest(pool->wbuf))
		;
	return kvp_wbuf_nr_logged(pool->wbuf);
}

static void commit(struct script *t)
{
	kvp_commit_now(t->host.pool->log);
	kvp_commit_kick(t->host.pool->log, true);
}

static void stream(struct script *t)
{
	own.intents = t->host.pool->log->intent_blocks;
	host_write(&t->host, own.first, STREAM, false);
	commit(t);
	host_sleep(100);
}

static void expect_intents(struct script *t, u64 blocks)
{
	u64 went = t->host.pool->log->intent_blocks - own.intents;

	if (went != blocks)
		sim_fail("%llu blocks went by intent, not %llu", went, blocks);
}

static void expect_waiting(struct script *t, u32 n)
{
	if (waiting(t) != n)
		sim_fail("%u versions wait, not %u: the case was not set up", waiting(t), n);
}

static void hold(struct script *t, u32 disk, u32 from, u32 count)
{
	u64 home = kvp_home_block(t->host.pool, own.first + from);

	disks_stall(disk, home, home + count - 1);
}

/* The disk of leg @leg of the vdev that has the stream. */
static u32 disk_of(const struct script *t, u32 leg)
{
	return t->start.second ? t->start.legs - t->start.second + leg : leg;
}

static void hold_everywhere(struct script *t, u32 from, u32 count)
{
	u32 i, n = t->start.second ?: t->start.legs - t->start.cache;

	for (i = 0; i < n; i++)
		hold(t, disk_of(t, i), from, count);
}

static void release_all(void)
{
	u32 i;

	for (i = 0; i < disks.nr; i++)
		disks_release(i);
}

static void begin(struct script *t)
{
	write_older(t);
	expect_waiting(t, 6);
	script_cut_from_here(t);
}

/* No older version goes home behind it: what is dropped costs the disks nothing. */
static void older_are_dropped(struct script *t)
{
	struct kvp_pool *pool = t->host.pool;
	u64 before;

	begin(t);
	stream(t);
	expect_intents(t, STREAM);
	host_flush(&t->host);
	expect_waiting(t, 6);
	before = atomic64_read(&pool->work_stats.destage_blocks);
	host_checkpoint(&t->host);
	if (atomic64_read(&pool->work_stats.destage_blocks) != before)
		sim_fail("versions that were passed went home");
	host_read_each(&t->host, own.first, STREAM);
}

/* A write behind the stream is not durable: it must not hide that the older version was passed. */
static void newer_is_only_buffered(struct script *t)
{
	begin(t);
	stream(t);
	expect_intents(t, STREAM);
	host_flush(&t->host);
	host_write(&t->host, own.first + 4, 3, false);
	host_write(&t->host, own.first + 17, 1, false);
	host_destage(&t->host);
	host_sleep(300);
	host_read_each(&t->host, own.first, STREAM);
	host_sleep(1500);
	host_checkpoint(&t->host);
}

/* Nor must a discard, which covers some of the blocks and is not durable. */
static void discard_is_only_buffered(struct script *t)
{
	begin(t);
	stream(t);
	expect_intents(t, STREAM);
	host_flush(&t->host);
	host_discard(&t->host, own.first + 5, 13);
	host_destage(&t->host);
	host_sleep(300);
	host_sleep(1500);
	host_write(&t->host, own.first + 6, 1, true);
	host_checkpoint(&t->host);
}

/* A FLUSH has answered for the older versions. The stream is half home, on no leg or on one. */
static void torn_over_older(struct script *t)
{
	begin(t);
	hold(t, disk_of(t, 0), 5, 20);
	stream(t);
	expect_intents(t, STREAM);
	host_sleep(300);
	host_write(&t->host, own.first + 6, 1, false);
	commit(t);
	host_sleep(300);
	release_all();
	host_flush(&t->host);
	host_checkpoint(&t->host);
}

static void destage_task(void *arg)
{
	struct script *t = arg;

	host_checkpoint(&t->host);
	own.done = true;
}

static void await_destage(struct script *t)
{
	while (!own.done)
		host_sleep(1);
}

/* Everything is to be written home, and a checkpoint follows, while the stream is on its way. */
static void destage_beside_it(struct script *t)
{
	begin(t);
	hold_everywhere(t, 10, 1);
	stream(t);
	expect_intents(t, STREAM);
	host_destage(&t->host);
	host_sleep(300);
	host_write(&t->host, own.first + 17, 2, false);
	host_sleep(300);
	release_all();
	host_flush(&t->host);
	host_write(&t->host, own.first + 30, 1, true);
	host_checkpoint(&t->host);
}

/* Older versions are on their way home when the stream is written. */
static void destage_is_in_flight(struct script *t)
{
	begin(t);
	hold_everywhere(t, 17, 1);
	own.done = false;
	sim_spawn("destage", destage_task, t);
	while (!disks_wait())
		host_sleep(1);
	stream(t);
	expect_intents(t, STREAM);
	release_all();
	await_destage(t);
	host_flush(&t->host);
	host_read_each(&t->host, own.first, STREAM);
	host_checkpoint(&t->host);
}

/*
 * A round of destage waits for the locks that the direct worker holds. It must not get them before
 * the table knows the stream, nor before the buffer has marked the older versions as passed.
 */
static void destage_waits_for_it(struct script *t)
{
	begin(t);
	hold_everywhere(t, 10, 1);
	stream(t);
	expect_intents(t, STREAM);
	host_destage(&t->host);
	host_sleep(300);
	expect_waiting(t, 0);
	sim_slow = "kvpool-work";
	release_all();
	host_sleep(1000);
	sim_slow = NULL;
	kvp_rcache_drop(t->host.pool->rcache);
	host_read_each(&t->host, own.first, STREAM);
	host_flush(&t->host);
	host_checkpoint(&t->host);
}

/* Data of some blocks is on its way to the log: the stream is durable only after it. */
static void older_are_in_flight(struct script *t)
{
	struct kvp_pool *pool = t->host.pool;
	kvp_lsn_t lsn = pool->log->head.lsn;
	u32 i;

	script_cut_from_here(t);
	for (i = 0; i < kvp_log_copies(pool->vdevs.log_vdev->g); i++) {
		struct kvp_place at = kvp_log_place(pool->vdevs.log_vdev->g, lsn, i);

		disks_stall(kvp_log_vdev(&pool->vdevs, lsn)->legs[at.leg].index, at.block,
			    at.block + 3);
	}
	host_write(&t->host, own.first + 5, 2, false);
	host_write(&t->host, own.first + 17, 1, false);
	commit(t);
	host_sleep(10);
	if (!disks_wait())
		sim_fail("no entry is in flight: the case was not set up");
	own.intents = pool->log->intent_blocks;
	host_write(&t->host, own.first, STREAM, false);
	kvp_log_lock_build(pool->log);
	kvp_log_build_entry(pool->log);
	kvp_log_unlock_build(pool->log);
	expect_intents(t, STREAM);
	host_sleep(300);
	release_all();
	host_flush(&t->host);
	host_write(&t->host, own.first + 6, 1, false);
	host_destage(&t->host);
	host_sleep(300);
	host_checkpoint(&t->host);
	host_read_each(&t->host, own.first, STREAM);
}

static void drop_passed(struct script *t)
{
	struct kvp_pool *pool = t->host.pool;

	mutex_lock(&pool->checkpoint_lock);
	kvp_destage_drop_passed(pool);
	mutex_unlock(&pool->checkpoint_lock);
}

/* Let the elevator know @n of the versions that wait. */
static void let_elevator_know(struct script *t, u32 n)
{
	struct kvp_pool *pool = t->host.pool;
	kvp_lsn_t limit = kvp_log_durable(pool->log);

	mutex_lock(&pool->checkpoint_lock);
	if (!kvp_pool_logs_on_cache(pool))
		kvp_wbuf_pass_on(pool->wbuf, limit, n, false);
	kvp_elevator_gather(&pool->destage->elevator, limit);
	mutex_unlock(&pool->checkpoint_lock);
}

/* What was passed is dropped before its turn comes, and nothing else is. */
static void dropped_before_their_turn(struct script *t)
{
	begin(t);
	host_write(&t->host, own.first + STREAM + 3, 1, true);
	hold_everywhere(t, 10, 1);
	stream(t);
	expect_intents(t, STREAM);
	let_elevator_know(t, 3);
	drop_passed(t);
	expect_waiting(t, 7);
	release_all();
	host_sleep(300);
	drop_passed(t);
	expect_waiting(t, 1);
	host_write(&t->host, own.first + 5, 1, false);
	host_flush(&t->host);
	host_write(&t->host, own.first + 6, 1, false);
	host_destage(&t->host);
	host_sleep(300);
	host_checkpoint(&t->host);
	host_read_each(&t->host, own.first, STREAM + 4);
}

/* Every block has several older versions. With too many, the stream breaks there. */
static void many_older(struct script *t)
{
	u32 i;

	begin(t);
	for (i = 0; i < KVP_OVER_MOST; i++) {
		host_write(&t->host, own.first + 5, 1, true);
		expect_waiting(t, 7 + i);
	}
	stream(t);
	/* One more than an intent may pass. */
	expect_intents(t, STREAM - 6);
	host_flush(&t->host);
	host_destage(&t->host);
	host_sleep(300);
	host_checkpoint(&t->host);
}

static void several_older(struct script *t)
{
	begin(t);
	host_write(&t->host, own.first + 17, 2, true);
	expect_waiting(t, 8);
	write_older(t);
	expect_waiting(t, 14);
	stream(t);
	expect_intents(t, STREAM);
	host_flush(&t->host);
	host_write(&t->host, own.first + 17, 1, false);
	host_destage(&t->host);
	host_sleep(1500);
	host_checkpoint(&t->host);
}

/* Blocks of zeros are waiting too: they would make their blocks unwritten. */
static void zeros_are_older(struct script *t)
{
	host_write(&t->host, own.first, 30, false);
	host_checkpoint(&t->host);
	host_write_zeros(&t->host, own.first + 3, 2);
	host_write(&t->host, own.first + 20, 1, true);
	expect_waiting(t, 3);
	script_cut_from_here(t);
	stream(t);
	expect_intents(t, STREAM);
	host_flush(&t->host);
	host_write(&t->host, own.first + 4, 1, false);
	host_destage(&t->host);
	host_sleep(300);
	host_checkpoint(&t->host);
}

/* No stream passes versions that are not durable yet, or that go home by intent themselves. */
static void stream_over_a_stream(struct script *t)
{
	begin(t);
	hold_everywhere(t, 12, 2);
	stream(t);
	expect_intents(t, STREAM);
	stream(t);
	expect_intents(t, 0);
	release_all();
	host_flush(&t->host);
	stream(t);
	host_flush(&t->host);
	host_checkpoint(&t->host);
	host_read_each(&t->host, own.first, STREAM);
}

/* A leg has older versions at home, or nothing, and dies while the stream is on its way to it. */
static void leg_dies_under_it(struct script *t)
{
	u32 disk = disk_of(t, 1);

	begin(t);
	hold(t, disk, 6, 30);
	stream(t);
	expect_intents(t, STREAM);
	host_sleep(300);
	t->crash.lost |= BIT(disk);
	disks_kill(disk);
	release_all();
	host_flush(&t->host);
	host_write(&t->host, own.first + 6, 1, false);
	host_destage(&t->host);
	host_sleep(300);
	host_checkpoint(&t->host);
}

/* No leg takes the stream, or a part of it, for a while. Destage may bring older versions home. */
static void homes_fail_under_it(struct script *t)
{
	struct kvp_pool *pool = t->host.pool;
	u64 home = kvp_home_block(pool, own.first);
	struct fault *faults[MAX_DISKS];
	u32 i, n = t->start.second ?: t->start.legs - t->start.cache;

	begin(t);
	for (i = 0; i < n; i++)
		faults[i] = disks_fault(FAULT_WRITE_EIO, disk_of(t, i), home + 8, home + 20);
	t->host.may_fail = true;
	stream(t);
	expect_intents(t, STREAM);
	host_destage(&t->host);
	host_sleep(300);
	for (i = 0; i < n; i++)
		faults[i]->kind = FAULT_NONE;
	kvp_pool_clear(pool, -1);
	host_sleep(300);
	t->host.may_fail = false;
	host_flush(&t->host);
	host_write(&t->host, own.first + 17, 1, false);
	host_destage(&t->host);
	host_sleep(300);
	host_checkpoint(&t->host);
	host_read_each(&t->host, own.first, STREAM);
}

/* The tail may pass older versions once the stream is home. */
static void log_comes_round(struct script *t)
{
	u32 i;

	t->cuts = 12;
	begin(t);
	for (i = 0; i < 2 * disks.log_blocks / 16; i++) {
		host_write(&t->host, own.first + i * 7 % STREAM, 1, false);
		host_write(&t->host, i % 8 * 8, 8, true);
		if (i % 5 == 0) {
			host_write(&t->host, own.first, STREAM, false);
			commit(t);
		}
		if (i % 11 == 0)
			host_discard(&t->host, own.first + i % STREAM, 3);
	}
	host_flush(&t->host);
	host_read_each(&t->host, own.first, STREAM);
}

static void kill_ssds(struct script *t)
{
	u32 i;

	for (i = t->start.legs - t->start.cache; i < t->start.legs; i++)
		disks_kill(i);
}

static void expect_moved(struct script *t)
{
	host_flush(&t->host);
	if (kvp_pool_logs_on_cache(t->host.pool))
		sim_fail("the log has not moved");
	if (t->host.pool->table->poisoned)
		sim_fail("%llu blocks are lost", t->host.pool->table->poisoned);
	host_read_each(&t->host, own.first, STREAM);
	host_write(&t->host, own.first + 17, 1, false);
	host_checkpoint(&t->host);
	host_read_each(&t->host, own.first, STREAM);
}

/* Older versions that RAM still has. */
static void begin_with_pages(struct script *t)
{
	write_older(t);
	flush_delayed_work(&t->host.pool->log->post_work);
	script_cut_from_here(t);
}

/* The cache is lost, and the log moves, while the stream is on its way home. */
static void cache_dies_under_it(struct script *t)
{
	begin_with_pages(t);
	hold_everywhere(t, 5, 20);
	stream(t);
	expect_intents(t, STREAM);
	kill_ssds(t);
	host_write(&t->host, own.first + 6, 1, false);
	commit(t);
	host_sleep(300);
	release_all();
	expect_moved(t);
}

/* It is lost when the stream was accepted, and the new log has its intents. */
static void cache_dies_before_it(struct script *t)
{
	begin_with_pages(t);
	kill_ssds(t);
	stream(t);
	host_sleep(300);
	expect_moved(t);
}

/*
 * The same, and no SSD gives the older versions, which RAM does not have: they are lost. After a
 * power cut, a block is that of the stream, or an error, but never older than the lost version.
 */
static void cache_dies_with_older_ones(struct script *t)
{
	begin(t);
	t->crash.poison_allowed = true;
	kill_ssds(t);
	hold(t, 0, 5, 20);
	stream(t);
	host_sleep(5000);
	release_all();
	host_flush(&t->host);
	if (kvp_pool_logs_on_cache(t->host.pool))
		sim_fail("the log has not moved");
	if (!atomic64_read(&t->host.pool->work_stats.unrepaired))
		sim_fail("no older version was lost: the case was not set up");
	host_read_each(&t->host, own.first, STREAM);
	host_checkpoint(&t->host);
}

/* The log leaves the cache by order, with the stream half home, or only accepted; and returns. */
static void mode_changes_under_it(struct script *t)
{
	begin(t);
	hold(t, 0, 5, 20);
	stream(t);
	expect_intents(t, STREAM);
	host_write(&t->host, own.first, STREAM, false);
	release_all();
	if (kvp_cache_set_mode(t->host.pool, KVP_CACHE_WRITETHROUGH, true, &t->host.refusal))
		sim_fail("the log does not leave the cache: %s", t->host.refusal.why);
	host_read_each(&t->host, own.first, STREAM);
	write_older(t);
	stream(t);
	if (kvp_cache_set_mode(t->host.pool, KVP_CACHE_WRITEBACK, true, &t->host.refusal))
		sim_fail("the log does not return: %s", t->host.refusal.why);
	write_older(t);
	stream(t);
	host_flush(&t->host);
	host_checkpoint(&t->host);
	host_read_each(&t->host, own.first, STREAM);
}

/* While dirty blocks are renewed, what is written over them stays on the cache. */
static void renewed_are_not_passed(struct script *t)
{
	if (kvp_pool_set(t->host.pool, KVP_T_RENEW_MARK, 60))
		sim_fail("the mark cannot be set");
	begin(t);
	stream(t);
	expect_intents(t, 0);
	host_flush(&t->host);
	host_read_each(&t->host, own.first, STREAM);
}

static void write_clean(struct script *t, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		host_write(&t->host, own.first + i, 1, false);
	host_checkpoint(&t->host);
}

static void expect_cached(struct script *t, u32 from, u32 count, bool cached)
{
	u32 i;

	for (i = from; i < from + count; i++)
		if (kvp_scache_has(t->host.pool->scache, own.first + i) != cached)
			sim_fail("block %u is %son the cache", i, cached ? "not " : "");
}

/*
 * A stream takes no clean block off the cache while dirty blocks may stay there. Blocks that the
 * cache does not have go past it. Where nothing may stay, all of the stream goes home.
 */
static void clean_ones_stay(struct script *t)
{
	struct kvp_pool *pool = t->host.pool;

	if (kvp_pool_set(pool, KVP_T_RENEW_MARK, 60))
		sim_fail("the mark cannot be set");
	write_clean(t, STREAM / 2);
	expect_cached(t, 0, STREAM / 2, true);
	expect_cached(t, STREAM / 2, STREAM / 2, false);
	script_cut_from_here(t);
	stream(t);
	expect_intents(t, STREAM / 2);
	host_flush(&t->host);
	host_checkpoint(&t->host);
	expect_cached(t, 0, STREAM / 2, true);
	expect_cached(t, STREAM / 2, STREAM / 2, false);
	if (kvp_pool_set(pool, KVP_T_RENEW_MARK, 0))
		sim_fail("the mark cannot be set");
	stream(t);
	expect_intents(t, STREAM);
	host_flush(&t->host);
	expect_cached(t, 0, STREAM, false);
	host_read_each(&t->host, own.first, STREAM);
}

/* A parity1 counts the versions of a row in the order of the log: there the stream is logged. */
static void parity_passes_none(struct script *t)
{
	begin(t);
	stream(t);
	expect_intents(t, 0);
	host_flush(&t->host);
	host_destage(&t->host);
	host_sleep(300);
	host_checkpoint(&t->host);
	host_read_each(&t->host, own.first, STREAM);
}

/* --- running them --------------------------------------------------------------------------- */

static void prepare(struct script *t)
{
	own.first = t->start.second ? (u32)host_boundary(&t->start) + 4 : FIRST;
	if (t->start.cache && (kvp_pool_set(t->host.pool, KVP_T_RENEW_MARK, 0) ||
			       kvp_pool_set(t->host.pool, KVP_T_SEQ_CUTOFF_WRITE,
					    STREAM * KVP_BLOCK_SIZE)))
		sim_fail("a tunable cannot be set");
	/* Versions wait until a test asks for them. */
	WRITE_ONCE(t->host.pool->tunables[KVP_T_DESTAGE_IDLE_MS], 600 * 1000);
	script_cut_from_here(t);
}

static void end(struct script *t)
{
	u32 i;

	host_cache_check(&t->host);
	for (i = 0; i < t->start.legs - t->start.cache; i++)
		if (!kvp_leg_in_sync(host_leg(&t->host, i)))
			t->crash.lost |= BIT(i);
}

static void set_up(struct script *t)
{
	t->start.rotational = t->turn % 2;
}

static void over(const char *what, void (*act)(struct script *t), const struct host_start *shape)
{
	char name[80];
	struct script_case c = {
		.name = name, .shape = shape, .set_up = set_up, .begin = prepare, .act = act,
		.end = end, .leave = true, .turns = ROUNDS, .salt = 9000,
		.cuts = SCRIPT_EVERYWHERE, .depth = CHECK_RECRASH,
		.own = &own, .own_size = sizeof(own),
	};

	snprintf(name, sizeof(name), "over:%s:%s",
		 shape->cache ? "cache" : shape->parity ? "parity1" : shape->second ? "mirrors" :
		 shape->legs > 1 ? "mirror" : "single", what);
	script_run(&c);
}

#define NAMED(function) #function, function

void run_over(void)
{
	static const struct host_start shapes[] = {
		{ .legs = 2 }, { .legs = 1 }, { .legs = 4, .second = 2 },
	};
	static const struct host_start parity = { .legs = 3, .parity = true };
	static const struct host_start cache = {
		.legs = 3, .cache = 1, .cache_dirty = WIDE_WINDOW,
	};
	u32 i;

	over(NAMED(parity_passes_none), &parity);
	over(NAMED(older_are_dropped), &cache);
	over(NAMED(newer_is_only_buffered), &cache);
	over(NAMED(torn_over_older), &cache);
	over(NAMED(destage_beside_it), &cache);
	over(NAMED(leg_dies_under_it), &cache);
	over(NAMED(discard_is_only_buffered), &cache);
	over(NAMED(destage_is_in_flight), &cache);
	over(NAMED(older_are_in_flight), &cache);
	over(NAMED(dropped_before_their_turn), &cache);
	over(NAMED(many_older), &cache);
	over(NAMED(several_older), &cache);
	over(NAMED(zeros_are_older), &cache);
	over(NAMED(stream_over_a_stream), &cache);
	over(NAMED(homes_fail_under_it), &cache);
	over(NAMED(log_comes_round), &cache);
	over(NAMED(cache_dies_under_it), &cache);
	over(NAMED(cache_dies_before_it), &cache);
	over(NAMED(cache_dies_with_older_ones), &cache);
	over(NAMED(mode_changes_under_it), &cache);
	over(NAMED(renewed_are_not_passed), &cache);
	over(NAMED(clean_ones_stay), &cache);
	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		over(NAMED(older_are_dropped), &shapes[i]);
		over(NAMED(newer_is_only_buffered), &shapes[i]);
		over(NAMED(torn_over_older), &shapes[i]);
		over(NAMED(destage_beside_it), &shapes[i]);
		if (shapes[i].legs > 1)
			over(NAMED(leg_dies_under_it), &shapes[i]);
		/* Of two mirrors all that is below is the same as of one. */
		if (shapes[i].second)
			continue;
		over(NAMED(discard_is_only_buffered), &shapes[i]);
		over(NAMED(destage_is_in_flight), &shapes[i]);
		over(NAMED(destage_waits_for_it), &shapes[i]);
		over(NAMED(older_are_in_flight), &shapes[i]);
		over(NAMED(dropped_before_their_turn), &shapes[i]);
		over(NAMED(many_older), &shapes[i]);
		over(NAMED(several_older), &shapes[i]);
		over(NAMED(zeros_are_older), &shapes[i]);
		over(NAMED(stream_over_a_stream), &shapes[i]);
		over(NAMED(homes_fail_under_it), &shapes[i]);
		over(NAMED(log_comes_round), &shapes[i]);
	}
}
