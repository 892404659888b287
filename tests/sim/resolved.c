// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checkpoints resolve intents: a recovery takes the table for their blocks, and reads none of them
 * at home. Older versions of these blocks lie in the log, and are dirty. Each case is cut
 * everywhere, with second cuts. Then a start finds the homes of the stream unreadable: only intents
 * that are not resolved need them.
 */
#include <stdlib.h>
#include <string.h>

#include "checkpoint/checkpoint.h"
#include "log/internal.h"
#include "policy/replay.h"
#include "ram/wbuf.h"
#include "script.h"
#include "table/table.h"
#include "work/destage.h"

#define FIRST		64u	/* the stream's first block, and how many it has */
#define STREAM		40u
#define OTHER		128u	/* a second stream of as many */
#define DIRTY		200u	/* more than destage calls few */
#define WIDE		256u	/* from here on streams go past the cache */

/* What a case knows besides its script. */
static struct {
	u64 data_start;
	bool unresolved;	/* the next start needs the homes of a stream */
	u32 unreadable;		/* first block of the stream whose homes it cannot read */
	bool done;
	int error;
} own;

/* --- what happens in a life --------------------------------------------------------------- */

static u32 homes(const struct script *t)
{
	return t->start.legs - t->start.cache;
}

static void write_older(struct script *t)
{
	static const u32 at[] = { 0, 5, 6, 17, 30, 39 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(at); i++)
		host_write(&t->host, FIRST + at[i], 1, false);
	host_flush(&t->host);
}

/* All of the stream goes home by intent, and a FLUSH has answered for it. */
static void stream(struct script *t, u32 first)
{
	struct kvp_log *log = t->host.pool->log;
	u64 before = log->intent_blocks;

	host_write(&t->host, first, STREAM, false);
	host_flush(&t->host);
	if (log->intent_blocks != before + STREAM)
		sim_fail("%llu blocks went by intent: the case was not set up",
			 log->intent_blocks - before);
}

/* A checkpoint that leaves the tail where it is. */
static int resolve(struct script *t)
{
	struct kvp_pool *pool = t->host.pool;
	int ret;

	flush_delayed_work(&pool->log->post_work);
	mutex_lock(&pool->checkpoint_lock);
	ret = kvp_checkpoint(pool, NULL);
	mutex_unlock(&pool->checkpoint_lock);
	return ret;
}

static void expect_intents(struct script *t, u64 n)
{
	if (kvp_log_intents_since(t->host.pool->log) != n)
		sim_fail("%llu intents are not resolved, and not %llu",
			 kvp_log_intents_since(t->host.pool->log), n);
}

static void expect_dirty(struct script *t)
{
	flush_delayed_work(&t->host.pool->log->post_work);
	if (!kvp_wbuf_nr_logged(t->host.pool->wbuf))
		sim_fail("nothing is dirty: the case was not set up");
}

static void resolve_all(struct script *t)
{
	if (resolve(t))
		sim_fail("no checkpoint");
	expect_intents(t, 0);
}

static void dirty_and_streamed(struct script *t)
{
	write_older(t);
	expect_dirty(t);
	script_cut_from_here(t);
	stream(t, FIRST);
	expect_intents(t, STREAM);
	resolve_all(t);
}

/* What comes later counts: data, zeros and a discard. */
static void later_ones_count(struct script *t)
{
	dirty_and_streamed(t);
	host_write(&t->host, FIRST + 5, 2, false);
	host_write_zeros(&t->host, FIRST + 8, 1);
	host_discard(&t->host, FIRST + 30, 3);
	host_write(&t->host, FIRST + 31, 1, true);
}

static void older_ones_do_not(struct script *t)
{
	dirty_and_streamed(t);
	host_write(&t->host, 5, 1, true);
}

/* Discards and zeros that are older are in the log, too, and their blocks have newer contents. */
static void older_discards_do_not(struct script *t)
{
	host_write(&t->host, FIRST, STREAM, false);
	host_checkpoint(&t->host);
	host_write_zeros(&t->host, FIRST + 3, 2);
	host_discard(&t->host, FIRST + 10, 40);
	host_flush(&t->host);
	host_write(&t->host, OTHER, 1, true);
	host_home_without_checkpoint(&t->host);
	host_write_zeros(&t->host, FIRST + 20, 1);
	host_write(&t->host, FIRST + 21, 1, true);
	expect_dirty(t);
	script_cut_from_here(t);
	stream(t, FIRST);
	resolve_all(t);
	host_write(&t->host, 5, 1, true);
}

/* A recovery that has no memory for the second part of a discard must not go on without it. */
static void no_memory_to_cut_a_discard(struct script *t)
{
	struct kvp_rec discard = { .kind = KVP_REC_DISCARD, .block = FIRST, .count = STREAM };
	struct kvp_rec intent = { .kind = KVP_REC_INTENT, .block = FIRST + 9, .count = 3 };
	struct kvp_log_at at = { .lsn = 1 };
	struct kvp_replay r;
	int ret;

	t->untraced = true;
	kvp_replay_init(&r);
	if (kvp_replay_add(&r, &discard, at, 0, 0))
		sim_fail("no discard is noted");
	sim_refused_from = sim_allocations + 1;
	sim_refused_until = sim_refused_from + 1;
	ret = kvp_replay_resolved(&r, &intent);
	if (sim_allocations < sim_refused_from)
		sim_fail("no memory is asked for: the case was not set up");
	sim_refused_from = sim_refused_until = 0;
	kvp_replay_exit(&r);
	if (ret != -ENOMEM)
		sim_fail("a discard is cut without memory: %d", ret);
	/* The last life needs the log as the others have it. */
	dirty_and_streamed(t);
}

/* A stream whose homes are held is not resolved, and nor is what comes behind it. */
static void one_on_its_way_is_not(struct script *t)
{
	u32 i;

	dirty_and_streamed(t);
	for (i = 0; i < homes(t); i++)
		disks_stall(i, own.data_start + OTHER + 10, own.data_start + OTHER + 20);
	host_write(&t->host, OTHER, STREAM, false);
	kvp_commit_now(t->host.pool->log);
	kvp_commit_kick(t->host.pool->log, true);
	host_sleep(300);
	if (resolve(t))
		sim_fail("no checkpoint");
	expect_intents(t, STREAM);
	host_sleep(100);
	disks_release_all();
	host_flush(&t->host);
	own.unresolved = true;
	own.unreadable = OTHER;
}

static void checkpoint_task(void *arg)
{
	struct script *t = arg;

	own.error = resolve(t);
	own.done = true;
}

/* A stream gets home while the checkpoint flushes the homes: its pages lack the stream. */
static void home_too_late(struct script *t)
{
	struct kvp_log *log = t->host.pool->log;
	u64 before;

	write_older(t);
	expect_dirty(t);
	script_cut_from_here(t);
	disks.flushes_stalled = true;
	own.done = false;
	sim_spawn("checkpoint", checkpoint_task, t);
	while (!disks_wait())
		host_sleep(1);
	before = log->intent_blocks;
	host_write(&t->host, FIRST, STREAM, false);
	kvp_commit_now(log);
	kvp_commit_kick(log, true);
	host_sleep(300);
	if (log->intent_blocks != before + STREAM)
		sim_fail("the stream is not home: the case was not set up");
	disks.flushes_stalled = false;
	disks_release_all();
	while (!own.done)
		host_sleep(1);
	if (own.error)
		sim_fail("no checkpoint");
	expect_intents(t, STREAM);
	host_flush(&t->host);
	own.unresolved = true;
}

/*
 * More is streamed past a cache than a recovery may have to read at home, while much is dirty. That
 * stays dirty, and streams go on.
 */
static void streams_leave_what_is_dirty(struct script *t)
{
	struct kvp_pool *pool = t->host.pool;
	u64 before = pool->log->intent_blocks, most;
	kvp_lsn_t tail;
	u32 i, turns;

	t->untraced = true;
	sim_many_intents = KVP_ENTRY_MAX_INTENTS;
	most = kvp_log_many_intents(pool->log);
	/* The cache has none of the stream's blocks: those would stay there. */
	host_discard(&t->host, WIDE, POOL_BLOCKS - WIDE);
	host_checkpoint(&t->host);
	kvp_wbuf_set_limit(pool->wbuf, 4 * POOL_BLOCKS);
	/* The pace writes nothing home meanwhile. */
	WRITE_ONCE(pool->destage->next, jiffies + 600 * HZ);
	for (i = 0; i < DIRTY; i++)
		host_write(&t->host, i * 77 % DIRTY, 1, i == DIRTY - 1);
	flush_delayed_work(&pool->log->post_work);
	tail = kvp_log_tail(pool->log);
	while (pool->log->intent_blocks - before < most + most / 2) {
		host_write(&t->host, WIDE, POOL_BLOCKS - WIDE, false);
		kvp_commit_now(pool->log);
		kvp_commit_kick(pool->log, true);
		for (turns = 0; kvp_wbuf_used(pool->wbuf) > 8 && turns < 500; turns++)
			host_sleep(2);
		if (kvp_log_intents_since(pool->log) > most + KVP_ENTRY_MAX_INTENTS)
			sim_fail("%llu intents are not resolved",
				 kvp_log_intents_since(pool->log));
	}
	if (kvp_log_tail(pool->log) != tail || kvp_wbuf_nr_logged(pool->wbuf) < DIRTY / 2)
		sim_fail("what was dirty went home: %u blocks are left",
			 kvp_wbuf_nr_logged(pool->wbuf));
	host_read_each(&t->host, 0, DIRTY);
	sim_many_intents = 1u << 17;
}

/* The superblock fails: nothing is resolved. The next one, with the old roots, does not say so. */
static void superblock_fails(struct script *t)
{
	u64 ring = KVP_SB_RING * KVP_SB_BLOCKS, end;
	u64 first[2] = { KVP_SB_FIRST_BLOCK };
	u32 i;

	end = kvp_sb_slot_offset(disks.img[0].blocks, 1, 0) >> KVP_BLOCK_SHIFT;
	first[1] = end;
	write_older(t);
	expect_dirty(t);
	script_cut_from_here(t);
	stream(t, FIRST);
	for (i = 0; i < ARRAY_SIZE(first); i++)
		disks_fault(FAULT_WRITE_EIO, 0, first[i], first[i] + ring - 1)->times = 1;
	t->host.may_fail = true;
	if (!resolve(t))
		sim_fail("no superblock failed: the case was not set up");
	t->host.may_fail = false;
	expect_intents(t, STREAM);
	if (kvp_pool_mark(t->host.pool, 0, 0))
		sim_fail("no superblock");
	own.unresolved = true;
}

/* A recovery takes checkpoints amid its intents: its table has room for one page. */
static void recovery_is_amid_them(struct script *t)
{
	struct kvp_sb *sb = t->host.pool->sb;

	sb->tunable_mask |= BIT_ULL(KVP_T_TABLE_CACHE);
	sb->tunables[KVP_T_TABLE_CACHE] = KVP_BLOCK_SIZE;
	write_older(t);
	host_checkpoint(&t->host);
	script_cut_from_here(t);
	stream(t, FIRST);
	host_write(&t->host, FIRST + 4, 1, true);
	expect_intents(t, STREAM);
	own.unresolved = true;
}

static void parity_needs_them(struct script *t)
{
	write_older(t);
	script_cut_from_here(t);
	host_write_by_intent(&t->host, FIRST, 2 * STREAM);
	host_flush(&t->host);
	if (resolve(t))
		sim_fail("no checkpoint");
	if (t->host.pool->sb->log_resolved)
		sim_fail("intents of a parity1 are resolved");
	own.unresolved = true;
}

/* --- running them --------------------------------------------------------------------------- */

static void set_up(struct script *t)
{
	own.data_start = base_for(t->c->shape)->data_start;
	own.unreadable = FIRST;
}

/* In the second life no home of the stream can be read. */
static void prepare(struct script *t)
{
	u32 i;

	for (i = 0; t->lives > 1 && i < homes(t); i++)
		disks_fault(FAULT_READ_EIO, i, own.data_start + own.unreadable,
			    own.data_start + own.unreadable + STREAM - 1);
}

static void begin(struct script *t)
{
	struct kvp_pool *pool = t->host.pool;

	if (t->start.cache && (kvp_pool_set(pool, KVP_T_RENEW_MARK, 0) ||
			       kvp_pool_set(pool, KVP_T_SEQ_CUTOFF_WRITE,
					    STREAM * KVP_BLOCK_SIZE)))
		sim_fail("a tunable cannot be set");
	/* Versions wait until a test asks for them. */
	WRITE_ONCE(pool->tunables[KVP_T_DESTAGE_IDLE_MS], 600 * 1000);
	script_cut_from_here(t);
}

static bool start_without_homes(struct script *t)
{
	if (!script_live(t, NULL, true))
		return false;
	if (!t->refused == !own.unresolved)
		return true;
	snprintf(sim_failure, sizeof(sim_failure), "without the homes of the stream: %d: %s",
		 t->refused, t->host.refusal.why);
	return false;
}

static bool play(struct script *t)
{
	struct rng rng = { mix64(t->seed, 31) };

	if (!script_live(t, t->c->then, true))
		return false;
	script_cut(t, disks.trace.nr, t->turn, &rng);
	return script_check_cuts(t) && start_without_homes(t);
}

static void resolved(const char *what, void (*act)(struct script *t),
		     const struct host_start *shape)
{
	char name[80];
	const struct script_case c = {
		.name = name, .shape = shape, .set_up = set_up, .prepare = prepare,
		.may_refuse = true, .begin = begin, .play = play, .then = act, .turns = 1,
		.most = 2, .salt = 9100,
		.cuts = SCRIPT_EVERYWHERE, .depth = CHECK_RECRASH,
		.own = &own, .own_size = sizeof(own),
	};

	snprintf(name, sizeof(name), "resolved:%s:%s",
		 shape->cache_parity ? "striped" : shape->cache ? "cache" : shape->parity ?
		 "parity1" : shape->legs > 1 ? "mirror" : "single", what);
	script_run(&c);
}

#define NAMED(function) #function, function

void run_resolved(void)
{
	static const struct host_start shapes[] = {
		{ .legs = 3, .cache = 1, .cache_dirty = WIDE_WINDOW }, { .legs = 2 },
		{ .legs = 5, .cache = 3, .cache_parity = true },
	};
	static const struct host_start single = { .legs = 1 };
	static const struct host_start parity = { .legs = 3, .parity = true };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		resolved(NAMED(later_ones_count), &shapes[i]);
		resolved(NAMED(older_ones_do_not), &shapes[i]);
		resolved(NAMED(older_discards_do_not), &shapes[i]);
		resolved(NAMED(one_on_its_way_is_not), &shapes[i]);
		resolved(NAMED(home_too_late), &shapes[i]);
	}
	resolved(NAMED(streams_leave_what_is_dirty), &shapes[0]);
	resolved(NAMED(no_memory_to_cut_a_discard), &single);
	resolved(NAMED(superblock_fails), &single);
	resolved(NAMED(recovery_is_amid_them), &single);
	resolved(NAMED(parity_needs_them), &parity);
}
