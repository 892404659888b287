// SPDX-License-Identifier: GPL-2.0-only
/*
 * Renewal: what is dirty at the tail of a cache's log is appended again, and the log goes round
 * without the disks. What writers, discards, failing SSDs and power cuts do meanwhile.
 */
#include <stdio.h>
#include <string.h>

#include "core/stats.h"
#include "home/speed.h"
#include "home/throttle.h"
#include "log/renew.h"
#include "pool/cachemode.h"
#include "ram/wbuf.h"
#include "script.h"
#include "table/table.h"
#include "work/burst.h"
#include "work/destage.h"

#define FIRST	64u	/* blocks that stay dirty */
#define COUNT	60u
#define HOT	300u	/* a few that are written all the time */
#define STREAM	40u

static bool checks;	/* of one case: it looks at old versions as the log goes on */

static u64 renewed(struct script *p)
{
	return atomic64_read(&p->host.pool->work_stats.renewed);
}

static u64 head_of(struct script *p)
{
	return kvp_log_head(p->host.pool->log);
}

static u64 window_of(struct script *p)
{
	return kvp_log_window(p->host.pool->vdevs.log_vdev->g);
}

/* No round is due for the next minute, so what moves the tail is renewal. */
static void no_rounds(struct script *p)
{
	WRITE_ONCE(p->host.pool->destage->next, jiffies + 60 * HZ);
}

/* True if an older version of @block waits, and holds the tail. */
static bool old_one_waits(struct kvp_pool *pool, u64 block)
{
	struct kvp_version *d;

	list_for_each_entry(d, &pool->wbuf->elevator, list)
		if (d->block == block)
			return true;
	return false;
}

/* The record of the old version is needed until the new one is durable. */
static void check_old_ones(struct script *p)
{
	struct kvp_pool *pool = p->host.pool;
	u64 block;

	mutex_lock(&pool->checkpoint_lock);
	for (block = FIRST; block < FIRST + COUNT; block++) {
		struct kvp_version *d = kvp_wbuf_find(pool->wbuf, block);
		bool pending = d && d->renewed && d->state < KVP_VERSION_LOGGED;

		if (d)
			kvp_wbuf_unlock(pool->wbuf, block);
		if (pending && !old_one_waits(pool, block))
			sim_fail("block %llu is only in RAM", block);
	}
	mutex_unlock(&pool->checkpoint_lock);
}

/* The log goes on by @blocks, with writes of a few blocks, each made durable. */
static void go_on(struct script *p, u64 blocks)
{
	u64 end = head_of(p) + blocks;
	u32 i;

	for (i = 0; head_of(p) < end; i++) {
		no_rounds(p);
		host_write(&p->host, HOT + i % 7, 1, false);
		host_flush(&p->host);
		if (checks)
			check_old_ones(p);
	}
}

static void must_be_renewed(struct script *p)
{
	if (!renewed(p))
		sim_fail("nothing was renewed: the case was not set up");
}

/* Blocks that nothing overwrites, and the log on its way round as far as before renewals. */
static void set_up(struct script *p)
{
	kvp_wbuf_set_limit(p->host.pool->wbuf, 64);
	if (kvp_pool_set(p->host.pool, KVP_T_RENEW_MARK, 70))
		sim_fail("the mark cannot be set");
	if (!kvp_log_renew_kept(p->host.pool->log))
		sim_fail("the window is too small: the case was not set up");
	no_rounds(p);
	host_write_each(&p->host, FIRST, COUNT);
}

/* A full buffer would have some written home. */
static void hold_homes(struct script *p)
{
	kvp_wbuf_set_limit(p->host.pool->wbuf, 256);
	disks_hold_homes(p->start.legs - p->start.cache, POOL_BLOCKS);
}

/* The log comes round several times, and no block is written to the disks. */
static void round_and_round(struct script *p)
{
	struct kvp_pool *pool = p->host.pool;
	u64 before;

	set_up(p);
	before = atomic64_read(&pool->work_stats.destage_blocks);
	hold_homes(p);
	checks = true;
	go_on(p, 3 * window_of(p));
	must_be_renewed(p);
	if (renewed(p) < 2 * COUNT)
		sim_fail("%llu blocks were renewed, not %u twice", renewed(p), COUNT);
	if (atomic64_read(&pool->work_stats.destage_blocks) != before)
		sim_fail("%llu blocks went home",
			 atomic64_read(&pool->work_stats.destage_blocks) - before);
	if (!pool->log->ssd_blocks[KVP_LOG_RENEWED] ||
	    pool->log->ssd_blocks[KVP_LOG_RENEWED] > renewed(p))
		sim_fail("%llu blocks count as renewed", pool->log->ssd_blocks[KVP_LOG_RENEWED]);
	if (kvp_wbuf_live(pool->wbuf) != COUNT + 7)
		sim_fail("%u blocks count as dirty", kvp_wbuf_live(pool->wbuf));
	host_read_each(&p->host, FIRST, COUNT);
	disks_release_all();
	host_checkpoint(&p->host);
	if (kvp_wbuf_live(pool->wbuf))
		sim_fail("all is home, and %u blocks count as dirty", kvp_wbuf_live(pool->wbuf));
	host_read_each(&p->host, FIRST, COUNT);
}

/* A pool of which no tunable was set. */
static void by_default(struct script *p)
{
	kvp_wbuf_set_limit(p->host.pool->wbuf, 64);
	no_rounds(p);
	host_write_each(&p->host, FIRST, COUNT);
	hold_homes(p);
	go_on(p, 2 * window_of(p));
	must_be_renewed(p);
	disks_release_all();
	host_read_each(&p->host, FIRST, COUNT);
}

/* The tunable, while the pool serves: nothing is renewed, then it is. */
static void by_tunable(struct script *p)
{
	struct kvp_pool *pool = p->host.pool;

	set_up(p);
	if (kvp_pool_set(pool, KVP_T_RENEW_MARK, 0) || kvp_log_renew_kept(pool->log))
		sim_fail("renewal cannot be turned off");
	go_on(p, 2 * window_of(p));
	if (renewed(p))
		sim_fail("%llu blocks were renewed", renewed(p));
	if (kvp_pool_set(pool, KVP_T_RENEW_MARK, 70))
		sim_fail("renewal cannot be turned on");
	no_rounds(p);
	host_write_each(&p->host, FIRST, COUNT);
	go_on(p, 2 * window_of(p));
	must_be_renewed(p);
}

/* Above the mark destage makes the space. */
static void above_the_mark(struct script *p)
{
	struct kvp_pool *pool = p->host.pool;

	if (kvp_pool_set(pool, KVP_T_RENEW_MARK, 1))
		sim_fail("the mark cannot be set");
	kvp_wbuf_set_limit(pool->wbuf, 64);
	host_write_each(&p->host, FIRST, COUNT);
	hold_homes(p);
	host_sleep(1);
	disks_release_all();
	go_on(p, 2 * window_of(p));
	host_read_each(&p->host, FIRST, COUNT);
	if (!atomic64_read(&pool->work_stats.destage_blocks))
		sim_fail("nothing went home");
}

/* A stream over some dirty blocks: so many of its blocks go home by intent. */
static void stream_over(struct script *p, u32 first, u64 intents, const char *when)
{
	struct kvp_log *log = p->host.pool->log;
	u64 before;
	u32 i;

	for (i = 0; i < STREAM; i += 10)
		host_write(&p->host, first + i, 1, false);
	host_flush(&p->host);
	before = log->intent_blocks;
	no_rounds(p);
	host_write(&p->host, first, STREAM, false);
	host_flush(&p->host);
	if (log->intent_blocks - before != intents)
		sim_fail("%s: %llu blocks went by intent, not %llu", when,
			 log->intent_blocks - before, intents);
	host_read_each(&p->host, first, STREAM);
}

/*
 * From the mark on streams pass dirty blocks, until far less is dirty: otherwise what stays would
 * make data of them, up to the mark again.
 */
static void streams_pass_for_long(struct script *p)
{
	struct kvp_pool *pool = p->host.pool;
	u64 at_mark = window_of(p) / 10;

	if (kvp_pool_set(pool, KVP_T_RENEW_MARK, 10) ||
	    kvp_pool_set(pool, KVP_T_SEQ_CUTOFF_WRITE, STREAM * KVP_BLOCK_SIZE))
		sim_fail("a tunable cannot be set");
	no_rounds(p);
	stream_over(p, 180, 0, "with little dirty");
	host_write_each(&p->host, FIRST, at_mark - STREAM + 2);
	stream_over(p, 220, STREAM, "at the mark");
	host_discard(&p->host, FIRST, 60);
	stream_over(p, 260, STREAM, "with half of that");
	host_discard(&p->host, FIRST + 60, 180 + STREAM - FIRST - 60);
	stream_over(p, 310, 0, "with little again");
}

/*
 * Little is dirty, so a stream goes round what the cache has. It passes that where it would be cut
 * into many pieces, unless the cache has half of it.
 */
static void streams_pass_pieces(struct script *p)
{
	struct kvp_pool *pool = p->host.pool;
	struct kvp_log *log = pool->log;
	u64 before = log->intent_blocks;
	u32 i;

	if (kvp_pool_set(pool, KVP_T_SEQ_CUTOFF_WRITE, STREAM * KVP_BLOCK_SIZE))
		sim_fail("the cutoff cannot be set");
	no_rounds(p);
	for (i = 0; i < STREAM; i += 8) {
		host_write(&p->host, FIRST + i, 1, false);
		host_write(&p->host, FIRST + 100 + i, 4, false);
	}
	host_flush(&p->host);
	host_write(&p->host, FIRST, STREAM, false);
	host_flush(&p->host);
	if (log->intent_blocks - before != STREAM)
		sim_fail("a stream over %u pieces: %llu blocks of %u went by intent", STREAM / 8,
			 log->intent_blocks - before, STREAM);
	before = log->intent_blocks;
	host_write(&p->host, FIRST + 100, STREAM, false);
	host_flush(&p->host);
	if (log->intent_blocks != before)
		sim_fail("a stream over blocks of which the cache has half went by intent");
	host_read_each(&p->host, FIRST, 100 + STREAM);
}

/* A stream passed dirty blocks as nothing was renewed. Renewals begin, and less is dirty. */
static void streams_go_on_passing(struct script *p)
{
	struct kvp_pool *pool = p->host.pool;
	u64 at_mark = window_of(p) / 10;

	if (kvp_pool_set(pool, KVP_T_RENEW_MARK, 0) ||
	    kvp_pool_set(pool, KVP_T_SEQ_CUTOFF_WRITE, STREAM * KVP_BLOCK_SIZE))
		sim_fail("a tunable cannot be set");
	no_rounds(p);
	host_write_each(&p->host, FIRST, at_mark / 2);
	stream_over(p, 220, STREAM, "with no renewals");
	if (kvp_pool_set(pool, KVP_T_RENEW_MARK, 10))
		sim_fail("renewal cannot be turned on");
	stream_over(p, 310, STREAM, "with renewals again");
}

/* The log is nearly full. A stream that is only buffered needs room for its records. */
static void buffered_stream_is_not_slowed_down(struct script *p)
{
	struct kvp_pool *pool = p->host.pool;
	u64 most = kvp_log_limit_empty(pool->log), used;

	if (kvp_pool_set(pool, KVP_T_RENEW_MARK, 0) ||
	    kvp_pool_set(pool, KVP_T_SEQ_CUTOFF_WRITE, STREAM * KVP_BLOCK_SIZE))
		sim_fail("a tunable cannot be set");
	hold_homes(p);
	kvp_wbuf_set_limit(pool->wbuf, 512);
	while (kvp_log_spent(pool->log, most) < most / 8 * 7)
		go_on(p, 8);
	host_write(&p->host, FIRST, 2 * STREAM + 10, false);
	used = kvp_log_taken(pool->log, most);
	if (used <= most - most / 32)
		sim_fail("%llu of %llu blocks are in use: the case was not set up", used, most);
	if (!kvp_throttle_is_slow(pool) || !kvp_throttle_passes(pool))
		sim_fail("a stream is slowed down");
	disks_release_all();
	host_read_each(&p->host, FIRST, 2 * STREAM + 10);
}

#define PART		16u	/* a stream that is as short as may be */
#define PLACES		(KVP_MAX_OPEN_INTENTS - 1)
#define LAST		300u	/* this stream finds no place for an open intent */
#define LAST_COUNT	120u	/* enough for an entry that no caller asks for */

static void commit_now(struct script *p)
{
	struct kvp_log *log = p->host.pool->log;
	bool waits;

	kvp_commit_now(log);
	kvp_commit_kick(log, true);
	do {
		host_sleep(1);
		/* What a worker builds an entry of is not buffered any more, and not yet built. */
		kvp_log_lock_build(log);
		waits = kvp_wbuf_buffered(log->wbuf) || log->durable_seq < log->built_seq;
		kvp_log_unlock_build(log);
	} while (waits);
}

/*
 * Streams past the cache have taken all places for open intents, and the disks answer none of their
 * blocks. Then comes another stream. Returns how many blocks went to the log as data before it.
 */
static u64 take_all_places(struct script *p)
{
	struct kvp_pool *pool = p->host.pool;
	u64 before = pool->log->data_blocks;
	u32 i;

	if (kvp_pool_set(pool, KVP_T_RENEW_MARK, 0) ||
	    kvp_pool_set(pool, KVP_T_COMMIT_INTERVAL_MS, 2000) ||
	    kvp_pool_set(pool, KVP_T_SEQ_CUTOFF_WRITE, PART * KVP_BLOCK_SIZE))
		sim_fail("a tunable cannot be set");
	hold_homes(p);
	kvp_wbuf_set_limit(pool->wbuf, 440);
	for (i = 0; i < PLACES; i++) {
		host_write(&p->host, i * (PART + 1), PART, false);
		commit_now(p);
	}
	if (pool->log->nr_open != PLACES || pool->log->data_blocks != before)
		sim_fail("%u places are taken, %llu blocks are data: the case was not set up",
			 pool->log->nr_open, pool->log->data_blocks - before);
	host_write(&p->host, LAST, LAST_COUNT, false);
	host_sleep(3000);
	if (pool->log->data_blocks != before || kvp_wbuf_buffered(pool->wbuf) != LAST_COUNT)
		sim_fail("%llu blocks became data, and %u are buffered",
			 pool->log->data_blocks - before, kvp_wbuf_buffered(pool->wbuf));
	return before;
}

static void read_places(struct script *p)
{
	u32 i;

	disks_release_all();
	host_flush(&p->host);
	for (i = 0; i < PLACES; i++)
		host_read_each(&p->host, i * (PART + 1), PART);
	host_read_each(&p->host, LAST, LAST_COUNT);
}

/* The disks answer, and the stream gets a place. Nothing of it becomes data. */
static void stream_gets_a_place(struct script *p)
{
	struct kvp_log *log = p->host.pool->log;
	u64 before = take_all_places(p);

	disks_release_all();
	host_sleep(1000);
	if (log->data_blocks != before || kvp_wbuf_buffered(p->host.pool->wbuf))
		sim_fail("%llu blocks became data, and %u are buffered", log->data_blocks - before,
			 kvp_wbuf_buffered(p->host.pool->wbuf));
	read_places(p);
}

/* The stream became data: all of it, and nothing else. */
static void must_be_data(struct script *p, u64 before)
{
	struct kvp_log *log = p->host.pool->log;

	if (log->data_blocks != before + LAST_COUNT || kvp_wbuf_buffered(p->host.pool->wbuf))
		sim_fail("%llu blocks became data, and %u are buffered", log->data_blocks - before,
			 kvp_wbuf_buffered(p->host.pool->wbuf));
	read_places(p);
}

/* The disks go on not answering. When the second interval is over, the stream becomes data. */
static void stream_waits_for_two_intervals(struct script *p)
{
	u64 before = take_all_places(p);

	host_sleep(2000);
	must_be_data(p, before);
}

/*
 * A writer finds the log short while the stream waits for a place. As data the stream would make it
 * shorter still. So it waits on, but not for longer than two intervals, though writers come again
 * and again.
 */
static void stream_waits_beside_a_writer(struct script *p)
{
	struct kvp_pool *pool = p->host.pool;
	u64 before = take_all_places(p);
	u32 ms;

	kvp_wbuf_set_limit(pool->wbuf, 1000);
	WRITE_ONCE(pool->wbuf->commit_limit, 40);
	if (!kvp_log_short(pool->log))
		sim_fail("the log is not short: the case was not set up");
	for (ms = 0; ms < 2000; ms += 100) {
		kvp_destage_relieve(pool);
		kvp_commit_kick(pool->log, true);
		host_sleep(100);
		if (ms < 500 && pool->log->data_blocks != before)
			sim_fail("%llu blocks became data for a writer",
				 pool->log->data_blocks - before);
	}
	must_be_data(p, before);
}

#define OLD		440u	/* a few blocks that are dirty, and hold the tail */
#define OLD_COUNT	20u

/* The log goes on until the oldest dirty blocks are due, and nothing is renewed yet. */
static void let_some_be_due(struct script *p)
{
	struct kvp_log *log = p->host.pool->log;
	u32 i;

	if (kvp_pool_set(p->host.pool, KVP_T_RENEW_MARK, 0))
		sim_fail("renewal cannot be turned off");
	no_rounds(p);
	host_write_each(&p->host, OLD, OLD_COUNT);
	for (i = 0; kvp_log_used(log) < window_of(p) / 2; i++) {
		host_write(&p->host, OLD + OLD_COUNT + i % 7, 1, false);
		host_flush(&p->host);
	}
	host_sleep(1500);
}

/*
 * Blocks are renewed while the stream waits for a place, and come behind it. As data it would fill
 * the log, and more would have to be renewed. So it waits on.
 */
static void stream_waits_beside_renewals(struct script *p)
{
	struct kvp_pool *pool = p->host.pool;
	u64 before;

	let_some_be_due(p);
	before = take_all_places(p);
	WRITE_ONCE(pool->tunables[KVP_T_RENEW_MARK],
		   kvp_wbuf_live(pool->wbuf) * 100 / window_of(p));
	kvp_destage_kick(pool, false);
	host_sleep(100);
	must_be_renewed(p);
	if (pool->log->data_blocks != before)
		sim_fail("%llu blocks became data for renewals", pool->log->data_blocks - before);
	disks_release_all();
	host_sleep(1000);
	if (pool->log->data_blocks != before || kvp_wbuf_buffered(pool->wbuf))
		sim_fail("%llu blocks became data, and %u are buffered",
			 pool->log->data_blocks - before, kvp_wbuf_buffered(pool->wbuf));
	read_places(p);
	host_read_each(&p->host, OLD, OLD_COUNT + 7);
}

/* A caller waits for the stream, which becomes data at once. */
static void stream_is_wanted(struct script *p)
{
	u64 before = take_all_places(p), began = ktime_get_ns();

	commit_now(p);
	/* The second interval would be over a second later. */
	if (ktime_get_ns() - began > NSEC_PER_SEC / 2)
		sim_fail("a caller waits for the interval");
	must_be_data(p, before);
}

/* Writers were not slowed down when that was asked last. It is found out in the same jiffy. */
static void slow_soon(struct script *p)
{
	struct kvp_pool *pool = p->host.pool;
	u32 i = 0;

	WRITE_ONCE(pool->throttle->rate, ~0ull);
	WRITE_ONCE(pool->throttle->looked, jiffies);
	do
		this_cpu_inc(pool->stats->write_blocks);
	while (!kvp_throttle_may_slow(pool, 1) && i++ < 64);
	if (i > 64 || !kvp_throttle_may_slow(pool, 1))
		sim_fail("%u blocks were written, and writers are not slowed down", i);
}

/*
 * Single blocks after streams. The first round with them is in progress, so no mean shows yet how
 * slow it is. Writers are slowed down all the same: SSDs may fill a cache before that round ends.
 */
static void before_the_round_ends(struct script *p)
{
	struct kvp_pool *pool = p->host.pool;
	u64 most, dirty = window_of(p) * 42 / 400;

	if (kvp_pool_set(pool, KVP_T_RENEW_MARK, 10))
		sim_fail("the mark cannot be set");
	kvp_speed_note(pool, 1000000, NSEC_PER_SEC, KVP_SPEED_FULL);
	disks_hold_homes(p->start.legs - p->start.cache, POOL_BLOCKS);
	host_write_each(&p->host, FIRST, dirty);
	kvp_destage_kick(pool, true);
	host_sleep(1000);
	most = kvp_log_limit_empty(pool->log);
	if (!kvp_throttle_is_slow(pool) || kvp_log_fullness(pool->log, most) >= most)
		sim_fail("writers are not slowed down, or stopped: the case was not set up");
	slow_soon(p);
	if (!pool->speed->began || kvp_speed_full(pool) > dirty)
		sim_fail("%llu blocks a second, before the first of %llu is home",
			 kvp_speed_full(pool), dirty);
	kvp_throttle_admit(pool, 64);
	if (!kvp_throttle_admit(pool, 1))
		sim_fail("writers are as fast as ever");
	disks_release_all();
	host_checkpoint(&p->host);
	if (pool->speed->began || kvp_speed_full(pool) > 4 * dirty)
		sim_fail("%llu blocks a second, after a round that took a second",
			 kvp_speed_full(pool));
	host_read_each(&p->host, FIRST, dirty);
}

/* Begin a round, behind a write. Its writes home hang. */
static void begin_a_round(struct script *p)
{
	struct kvp_pool *pool = p->host.pool;
	u32 i;

	host_write_each(&p->host, FIRST, 200);
	if (kvp_log_streams_pass(pool->log))
		sim_fail("writers are slowed down: the case was not set up");
	hold_homes(p);
	host_write(&p->host, HOT, 1, false);
	pool->stats->write_blocks++;	/* as the request path counts it */
	WRITE_ONCE(pool->destage->next, jiffies);
	kvp_destage_kick(pool, false);
	for (i = 0; !disks_wait(); i++, host_sleep(1))
		if (i == 100)
			sim_fail("no round has begun: the case was not set up");
}

/* A round lets renewals wait. So it is short beside a host that writes, also below the mark. */
static void short_beside_writers(struct script *p)
{
	set_up(p);
	begin_a_round(p);
	if (!kvp_burst_is_short(&p->host.pool->destage->burst))
		sim_fail("renewals wait as long as the disks like");
	disks_release_all();
	go_on(p, window_of(p));
	must_be_renewed(p);
	host_read_each(&p->host, FIRST, COUNT);
}

/* Reads of the SSDs hang from now on: the next renewal gets no further than to ask for contents. */
static void begin_to_renew(struct script *p)
{
	const struct kvp_geometry *g = p->host.pool->vdevs.log_vdev->g;
	u32 i, first = p->start.legs - p->start.cache;
	struct kvp_version *d = kvp_wbuf_find(p->host.pool->wbuf, FIRST);
	struct kvp_place at;

	if (!d || d->page)
		sim_fail("block %u is not spilled: the case was not set up", FIRST);
	at = kvp_log_place(g, d->lsn + d->payload, 0);
	kvp_wbuf_unlock(p->host.pool->wbuf, FIRST);
	for (i = first; i < p->start.legs; i++)
		if (!p->start.cache_parity || at.leg == i - first)
			disks_stall(i, at.block, at.block + 1);
	for (i = 0; !disks_wait() && i < 2000; i++) {
		go_on(p, 1);
		host_sleep(1);
	}
	if (!disks_wait() || renewed(p))
		sim_fail("no renewal has begun: the case was not set up");
}

/* The blocks change while their old contents are read: no older version comes after a newer one. */
static void race(struct script *p)
{
	set_up(p);
	begin_to_renew(p);
	host_write(&p->host, FIRST, 2, true);
	host_write(&p->host, FIRST + 2, 2, false);
	host_discard(&p->host, FIRST + 4, 2);
	host_flush(&p->host);
	host_discard(&p->host, FIRST + 6, 2);
	host_write(&p->host, FIRST + 7, 1, false);
	disks_release_all();
	go_on(p, window_of(p) / 2);
	must_be_renewed(p);
	host_read_each(&p->host, FIRST, COUNT);
	host_checkpoint(&p->host);
	host_read_each(&p->host, FIRST, COUNT);
}

/* The log takes nothing more from now on, and what hung before goes on. */
static void log_takes_nothing(struct script *p)
{
	const struct kvp_geometry *g = p->host.pool->vdevs.log_vdev->g;
	kvp_lsn_t head = kvp_log_head(p->host.pool->log);
	u64 first = kvp_log_place(g, head, 0).block;
	u64 next = kvp_log_place(g, kvp_log_segment_end(g, head), 0).block;
	u32 i;

	for (i = p->start.legs - p->start.cache; i < p->start.legs; i++) {
		disks_release(i);
		disks_stall(i, first, first + COUNT + 1);
		disks_stall(i, next, next + COUNT + 1);
	}
}

/* Renewed blocks of which the new version is not durable. */
static u32 pending(struct script *p)
{
	u32 n = 0, block;

	for (block = FIRST; block < FIRST + COUNT; block++) {
		struct kvp_version *d = kvp_wbuf_find(p->host.pool->wbuf, block);

		n += d && d->renewed && d->state < KVP_VERSION_LOGGED;
		if (d)
			kvp_wbuf_unlock(p->host.pool->wbuf, block);
	}
	return n;
}

static void wait_for_renewed(struct script *p)
{
	u32 i;

	for (i = 0; !renewed(p) || p->host.pool->destage->renewing; i++, host_sleep(1))
		if (i == 2000)
			sim_fail("nothing is renewed: the case was not set up");
	if (!pending(p))
		sim_fail("all renewed blocks are durable: the case was not set up");
}

/*
 * Old versions go home, and the tail passes them, while their new ones are on their way to the log.
 * Those are written over, discarded, and go home in their turn.
 */
static void destage_beside_renewals(struct script *p)
{
	struct kvp_pool *pool = p->host.pool;
	u64 before;
	u32 i;

	set_up(p);
	begin_to_renew(p);
	before = atomic64_read(&pool->work_stats.destage_blocks);
	script_cut_from_here(p);
	log_takes_nothing(p);
	wait_for_renewed(p);
	kvp_destage_kick(pool, true);
	for (i = 0; old_one_waits(pool, FIRST); i++, host_sleep(1))
		if (i == 5000)
			sim_fail("old versions do not go home");
	host_sleep(50);
	if (!pending(p) || atomic64_read(&pool->work_stats.destage_blocks) == before)
		sim_fail("destage and renewal did not meet: the case was not set up");
	host_write(&p->host, FIRST, 2, false);
	host_discard(&p->host, FIRST + 4, 2);
	host_write(&p->host, FIRST + 5, 1, false);
	host_read_each(&p->host, FIRST, COUNT);
	disks_release_all();
	host_flush(&p->host);
	host_read_each(&p->host, FIRST, COUNT);
}

static void destage_beside_and_on(struct script *p)
{
	destage_beside_renewals(p);
	go_on(p, window_of(p));
	host_read_each(&p->host, FIRST, COUNT);
	host_checkpoint(&p->host);
	host_read_each(&p->host, FIRST, COUNT);
}

/*
 * A discard has its place in the order, and comes to its blocks one by one: those that it has not
 * come to yet are not renewed behind it.
 */
static void discard_on_its_way(struct script *p)
{
	u32 i;

	set_up(p);
	begin_to_renew(p);
	disks_release_all();
	for (i = 0; i < 12; i++) {
		host_discard(&p->host, FIRST, COUNT);
		host_read_each(&p->host, FIRST, COUNT);
		no_rounds(p);
		host_write_each(&p->host, FIRST, COUNT);
		go_on(p, window_of(p) / 5 * 3);
	}
	must_be_renewed(p);
	host_discard(&p->host, FIRST, COUNT);
	host_read_each(&p->host, FIRST, COUNT);
}

/*
 * Writers that do not wait fill all of the log that is theirs, and no disk helps. No write is a
 * stream.
 */
static void crowd_of(struct script *p, u32 buffer)
{
	u64 end;
	u32 i;

	set_up(p);
	hold_homes(p);
	kvp_wbuf_set_limit(p->host.pool->wbuf, buffer);
	end = head_of(p) + 4 * window_of(p);
	for (i = 0; head_of(p) < end; i++) {
		no_rounds(p);
		host_write(&p->host, HOT + 10 * (i * 3 % 7), 8, false);
		if (i % 7 == 6) {
			kvp_commit_now(p->host.pool->log);
			kvp_commit_kick(p->host.pool->log, true);
		}
		/* The SSDs, and the worker, have processors of their own. */
		cond_resched();
	}
	must_be_renewed(p);
	host_read_each(&p->host, FIRST, COUNT);
	disks_release_all();
	host_checkpoint(&p->host);
	host_read_each(&p->host, FIRST, COUNT);
}

static void crowd(struct script *p)
{
	crowd_of(p, 256);
}

/* The log is short while the buffer is not half full. The writer must not order all home. */
static void crowd_in_a_large_buffer(struct script *p)
{
	crowd_of(p, 1024);
}

/*
 * The buffer is full of versions that may be spilled: the worker comes before they are. It spills
 * them, and begins no round, which would hold up renewals for as long as the disks take.
 */
static void full_buffer_is_spilled_first(struct script *p)
{
	struct kvp_pool *pool = p->host.pool;
	u64 before = atomic64_read(&pool->work_stats.destage_blocks);

	set_up(p);
	kvp_wbuf_set_limit(pool->wbuf, 256);
	host_write_each(&p->host, HOT, COUNT);
	host_flush(&p->host);
	disks_hold_homes(p->start.legs - p->start.cache, POOL_BLOCKS);
	no_rounds(p);
	if (kvp_wbuf_used(pool->wbuf) < COUNT)
		sim_fail("%u pages are in use: the case was not set up", kvp_wbuf_used(pool->wbuf));
	kvp_wbuf_set_limit(pool->wbuf, COUNT);
	kvp_destage_kick(pool, false);
	host_sleep(300);
	if (disks_wait() || atomic64_read(&pool->work_stats.destage_blocks) != before)
		sim_fail("a round went home for pages of what could be spilled");
	if (kvp_wbuf_used(pool->wbuf) > COUNT * 3 / 4)
		sim_fail("%u pages are still in use", kvp_wbuf_used(pool->wbuf));
	disks_release_all();
	host_read_each(&p->host, HOT, COUNT);
	host_read_each(&p->host, FIRST, COUNT);
}

/* Renewed blocks are rewritten and discarded while their new records are on their way. */
static void change_renewed(struct script *p)
{
	u32 i;

	set_up(p);
	for (i = 0; i < COUNT; i += 3) {
		go_on(p, window_of(p) / COUNT * 3);
		host_write(&p->host, FIRST + i, 1, i % 2);
		host_discard(&p->host, FIRST + (i * 7 + 1) % COUNT, 1);
	}
	go_on(p, window_of(p) / 2);
	must_be_renewed(p);
	host_read_each(&p->host, FIRST, COUNT);
}

/* For the cuts: several segments are renewed, and the tail passes them. */
static void renew(struct script *p)
{
	set_up(p);
	go_on(p, window_of(p) / 3);
	script_cut_from_here(p);
	go_on(p, window_of(p) / 2);
	must_be_renewed(p);
	host_read_each(&p->host, FIRST, COUNT);
}

/* Zeros have no contents in the log, and a discard at the tail is applied. */
static void zeros_and_discards(struct script *p)
{
	u32 i;

	set_up(p);
	host_write_zeros(&p->host, FIRST + 10, 5);
	host_flush(&p->host);
	host_discard(&p->host, FIRST + 20, 5);
	host_flush(&p->host);
	host_write_each(&p->host, FIRST + 22, 2);
	hold_homes(p);
	for (i = 0; i < 2; i++)
		go_on(p, window_of(p));
	must_be_renewed(p);
	host_read_each(&p->host, FIRST, COUNT);
	disks_release_all();
	host_checkpoint(&p->host);
	host_read_each(&p->host, FIRST, COUNT);
}

/* One block at the tail cannot be read from any SSD: it is not renewed, and only it is lost. */
static void rotten(struct script *p)
{
	u32 i, first = p->start.legs - p->start.cache;
	const struct kvp_geometry *g = p->host.pool->vdevs.log_vdev->g;
	struct kvp_version *d;
	u8 junk[KVP_BLOCK_SIZE];
	u64 at;

	set_up(p);
	d = kvp_wbuf_find(p->host.pool->wbuf, FIRST + 3);
	at = kvp_log_place(g, d->lsn + d->payload, 0).block;
	kvp_wbuf_unlock(p->host.pool->wbuf, FIRST + 3);
	memset(junk, 0x3c, sizeof(junk));
	for (i = first; i < p->start.legs; i++)
		image_write_data(&disks.img[i], at, junk);
	go_on(p, 2 * window_of(p));
	host_checkpoint(&p->host);
	if (!host_read(&p->host, FIRST + 3, junk))
		sim_fail("a rotten block was renewed");
	if (p->host.pool->table->poisoned != 1)
		sim_fail("%llu blocks are lost", p->host.pool->table->poisoned);
	host_read_each(&p->host, FIRST, 3);
	host_read_each(&p->host, FIRST + 4, COUNT - 4);
	host_write_each(&p->host, FIRST + 3, 1);
	host_checkpoint(&p->host);
}

/* An SSD dies while blocks are renewed; the last one too, and the log moves. */
static void ssds_die(struct script *p, u32 dead)
{
	u32 i, first = p->start.legs - p->start.cache;

	set_up(p);
	begin_to_renew(p);
	for (i = 0; i < dead; i++)
		disks_fault(FAULT_WRITE_EIO, first + i, 0, ~0ull);
	disks_release_all();
	go_on(p, 64);
	host_read_each(&p->host, FIRST, COUNT);
	host_checkpoint(&p->host);
	host_read_each(&p->host, FIRST, COUNT);
	if (p->host.pool->table->poisoned)
		sim_fail("%llu blocks are lost", p->host.pool->table->poisoned);
}

static void one_dies(struct script *p)
{
	ssds_die(p, 1);
}

static void all_die(struct script *p)
{
	ssds_die(p, p->start.cache);
	if (!kvp_has_data(p->host.pool->vdevs.log_vdev->g))
		sim_fail("the log has not moved");
}

/* The mode of the cache changes while blocks are renewed, and back. */
static void mode_changes(struct script *p)
{
	set_up(p);
	begin_to_renew(p);
	disks_release_all();
	if (kvp_cache_set_mode(p->host.pool, KVP_CACHE_WRITETHROUGH, true, &p->host.refusal))
		sim_fail("the log does not leave the cache");
	host_read_each(&p->host, FIRST, COUNT);
	if (kvp_log_renew_kept(p->host.pool->log))
		sim_fail("space of the legs' log is kept");
	host_write_each(&p->host, FIRST, COUNT);
	if (kvp_cache_set_mode(p->host.pool, KVP_CACHE_WRITEBACK, true, &p->host.refusal))
		sim_fail("the log does not return");
	host_write_each(&p->host, FIRST, COUNT);
	go_on(p, window_of(p));
	must_be_renewed(p);
	host_read_each(&p->host, FIRST, COUNT);
}

/* No commit takes renewed blocks for a time: their old versions stay. */
static void suspended(struct script *p)
{
	set_up(p);
	begin_to_renew(p);
	disks_release_all();
	kvp_pool_write_back(p->host.pool, kvp_pool_suspending(p->host.pool), false);
	kvp_pool_quiesce(p->host.pool);
	kvp_pool_unquiesce(p->host.pool);
	go_on(p, window_of(p));
	must_be_renewed(p);
	host_read_each(&p->host, FIRST, COUNT);
}

/* A second life, on what the first one left in the log: restored versions have no page. */
static void go_on_after_restart(struct script *p)
{
	host_stop(&p->host);
	if (host_start(&p->host, &p->o, &p->start))
		sim_fail("start: %s", p->host.refusal.why);
}

static void restart(struct script *p)
{
	set_up(p);
	go_on(p, window_of(p) / 2);
	go_on_after_restart(p);
	if (!p->host.pool->recovery.kept)
		sim_fail("nothing was restored: the case was not set up");
	kvp_wbuf_set_limit(p->host.pool->wbuf, 64);
	script_cut_from_here(p);
	go_on(p, window_of(p));
	must_be_renewed(p);
	host_read_each(&p->host, FIRST, COUNT);
	host_checkpoint(&p->host);
	host_read_each(&p->host, FIRST, COUNT);
}

/* --- running them ------------------------------------------------------------------------- */

static struct {
	u32 written;
	bool done;
} filler;

static void fill_task(void *arg)
{
	struct script *p = arg;

	for (filler.written = 0; filler.written < 200; filler.written++) {
		host_write(&p->host, 16 * (filler.written % 30), 14, false);
		host_flush(&p->host);
	}
	filler.done = true;
}

static void fill_until(struct script *p, u32 ms, bool done, const char *when)
{
	while (ms && !filler.done) {
		host_sleep(100);
		ms -= 100;
	}
	if (filler.done != done)
		sim_fail("%s: %u writes, %llu blocks of the log are used", when, filler.written,
			 kvp_log_used(p->host.pool->log));
}

/*
 * A round hangs, and renewals wait for it: writers stop when the log is full. They go on when the
 * disks answer. If only one hangs, they go on when it is given up.
 */
static void homes_hang(struct script *p)
{
	WRITE_ONCE(p->host.pool->tunables[KVP_T_LEG_TIMEOUT], 20);
	disks_hold_homes(p->start.legs - p->start.cache, POOL_BLOCKS);
	filler.done = false;
	sim_spawn("filler", fill_task, p);
	fill_until(p, 60000, false, "no disk answers, and the log takes all");
	disks_release_all();
	fill_until(p, 10000, true, "the disks answer");
	host_read_each(&p->host, 0, 480);
}

static void one_home_hangs(struct script *p)
{
	WRITE_ONCE(p->host.pool->tunables[KVP_T_LEG_TIMEOUT], 20);
	disks_hold_homes(1, POOL_BLOCKS);
	filler.done = false;
	sim_spawn("filler", fill_task, p);
	fill_until(p, 10000, false, "a disk hangs, and the log takes all");
	fill_until(p, 30000, true, "the disk was given up");
	host_read_each(&p->host, 0, 480);
	disks_release_all();
}

static void test(const char *what, const struct host_start *shape, void (*act)(struct script *p),
		 u32 cuts)
{
	char name[128];
	struct script_case c = {
		.name = name, .shape = shape, .act = act,
		.turns = opt.thorough ? 16 : strstr(what, "crowd") ? 8 : 2,
		.cuts = opt.thorough ? 40 * cuts : cuts, .depth = CHECK_RECRASH, .images = 2,
		.own = &checks, .own_size = sizeof(checks),
	};

	snprintf(name, sizeof(name), "renew:%u%s:%s", shape->cache,
		 shape->cache_parity ? "-rows" : "", what);
	script_run(&c);
}

void run_renew(void)
{
	static const struct host_start shapes[] = {
		{ .legs = 3, .cache = 1, .cache_dirty = WIDE_WINDOW },
		{ .legs = 4, .cache = 2, .cache_dirty = WIDE_WINDOW },
		{ .legs = 5, .cache = 3, .cache_parity = true, .cache_dirty = WIDE_WINDOW_OF_ROWS },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		test("round-and-round", &shapes[i], round_and_round, 0);
		test("cut", &shapes[i], renew, 12);
		test("race", &shapes[i], race, 8);
		test("discard-on-its-way", &shapes[i], discard_on_its_way, 0);
		test("crowd", &shapes[i], crowd, 0);
		test("crowd-in-a-large-buffer", &shapes[i], crowd_in_a_large_buffer, 0);
		test("change-renewed", &shapes[i], change_renewed, 8);
		test("zeros-and-discards", &shapes[i], zeros_and_discards, 0);
		if (!shapes[i].cache_parity) {
			test("rotten", &shapes[i], rotten, 0);
			test("destage-beside", &shapes[i], destage_beside_renewals, 16);
			test("destage-beside-and-on", &shapes[i], destage_beside_and_on, 0);
		}
		test("all-ssds-die", &shapes[i], all_die, 0);
		if (shapes[i].cache > 1)
			test("an-ssd-dies", &shapes[i], one_dies, 0);
		test("mode-changes", &shapes[i], mode_changes, 0);
		test("suspended", &shapes[i], suspended, 0);
		test("restart", &shapes[i], restart, 4);
	}
	test("homes-hang", &shapes[1], homes_hang, 0);
	test("one-home-hangs", &shapes[1], one_home_hangs, 0);
	test("full-buffer-is-spilled-first", &shapes[0], full_buffer_is_spilled_first, 0);
	test("by-default", &shapes[0], by_default, 0);
	test("by-tunable", &shapes[0], by_tunable, 0);
	test("above-the-mark", &shapes[0], above_the_mark, 0);
	test("streams-pass-for-long", &shapes[0], streams_pass_for_long, 0);
	test("streams-pass-pieces", &shapes[0], streams_pass_pieces, 12);
	test("streams-go-on-passing", &shapes[0], streams_go_on_passing, 0);
	test("buffered-stream-is-not-slowed-down", &shapes[0], buffered_stream_is_not_slowed_down,
	     0);
	test("stream-gets-a-place", &shapes[0], stream_gets_a_place, 4);
	test("stream-waits-for-two-intervals", &shapes[0], stream_waits_for_two_intervals, 4);
	test("stream-waits-beside-a-writer", &shapes[0], stream_waits_beside_a_writer, 0);
	test("stream-waits-beside-renewals", &shapes[0], stream_waits_beside_renewals, 0);
	test("stream-is-wanted", &shapes[0], stream_is_wanted, 0);
	test("short-beside-writers", &shapes[0], short_beside_writers, 0);
	test("before-the-round-ends", &shapes[0], before_the_round_ends, 0);
}
