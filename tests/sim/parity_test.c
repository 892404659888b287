// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parity1: situations set up on purpose, then cut everywhere, and each image
 * looked at with any one leg gone. The pool has chunks of four blocks: on three
 * legs row r of stripe s has blocks 8s + r and 8s + 4 + r, on five legs every
 * fourth of sixteen.
 */
#include <stdlib.h>
#include <string.h>

#include <linux/completion.h>
#include <linux/mm.h>

#include "script.h"
#include "checkpoint/checkpoint.h"
#include "home/missing.h"
#include "home/row.h"
#include "io/io.h"
#include "ram/rcache.h"
#include "ram/wbuf.h"
#include "super/members.h"
#include "table/table.h"
#include "work/destage.h"

/* What a case knows besides its script. */
static struct {
	bool before, larger;	/* of begin_large_write(): data is in the log before it */
	struct completion filled;
	u64 pair_lsn[220];	/* of tail_inside_a_row(): lsn after the first block of each */
} own;

static void set_up(struct script *t)
{
	t->crash.lost = t->start.missing;
}

/* @missing: bit per leg that is not there from the start */
static void test_without(const char *name, void (*act)(struct script *t), u32 legs, u32 missing,
			 u32 turns)
{
	const struct host_start shape = { .legs = legs, .parity = true, .missing = missing,
					  .strict = !strstr(name, "intent") };
	/*
	 * Each image is started once for each leg: where few are asked for, not at every position.
	 */
	const struct script_case c = {
		.name = name, .shape = &shape, .set_up = set_up, .act = act, .leave = true,
		.turns = opt.thorough ? 8 * turns : turns, .salt = 1000, .first_plain = true,
		.cuts = opt.images < 3 ? 25 : SCRIPT_EVERYWHERE, .depth = CHECK_RECRASH,
		.own = &own, .own_size = sizeof(own),
	};

	script_run(&c);
}

static void parity_test(const char *name, void (*act)(struct script *t), u32 legs, u32 turns)
{
	test_without(name, act, legs, 0, turns);
}

/* Rows of which two blocks are written, the second one some rows later. */
#define PAIRS		220
#define PAIR_LAG	6

static u64 pair_block(struct script *t, u32 i, u32 piece)
{
	return kvp_row_block(t->host.pool->vdevs.v[0].g, i % (POOL_BLOCKS / (t->start.legs - 1)),
			     piece);
}

/* --- at the disks ------------------------------------------------------------------------ */

static struct kvp_place place_of(struct script *t, u64 row, u32 piece)
{
	return kvp_row_place(t->host.pool->vdevs.v[0].g, row, piece);
}

/* A bit of a piece changes where it lies, unseen. */
static void rot(struct script *t, u64 row, u32 piece)
{
	struct kvp_place at = place_of(t, row, piece);
	u8 data[KVP_BLOCK_SIZE];

	image_read(&disks.img[at.leg], at.block, data);
	data[99] ^= 16;
	image_write_data(&disks.img[at.leg], at.block, data);
}

static void expect_read(struct script *t, u64 block, bool lost)
{
	u8 data[KVP_BLOCK_SIZE];

	kvp_rcache_drop(t->host.pool->rcache);
	if (!lost)
		host_read_check(&t->host, block);
	else if (host_read(&t->host, block, data) != -EIO)
		sim_fail("block %llu is lost, and was read", block);
}

static void expect_scrub(struct script *t, u64 healed, u64 unrepaired)
{
	u64 h, u;

	host_scrub(&t->host, &h, &u);
	if (h != healed || u != unrepaired)
		sim_fail("scrub healed %llu and found %llu, not %llu and %llu", h, u, healed,
			 unrepaired);
}

/* No checkpoint ends until the table can be written. */
static void hold_table(struct script *t, bool hold)
{
	const struct kvp_geometry *g = t->host.pool->vdevs.v[0].g;
	u32 i;

	for (i = 0; i < disks.nr; i++)
		if (hold)
			disks_stall(i, g->table_start, g->log_start - 1);
		else
			disks_release(i);
}

/* --- cutting ------------------------------------------------------------------------------- */

/* Parts of rows go home, one by one and together with others. */
static void partial_rows(struct script *t)
{
	host_write(&t->host, 64, 1, true);
	host_write(&t->host, 81, 6, false);
	host_checkpoint(&t->host);
	if (!host_cached(&t->host, 64) || !host_cached(&t->host, 86))
		sim_fail("a block that was written home is not in the RAM cache");
	host_cache_check(&t->host);
	host_write(&t->host, 3, 3, false);
	host_write(&t->host, 90, 1, true);
	host_checkpoint(&t->host);
}

/* Whole stripes, and a part on either side. */
static void whole_stripes(struct script *t)
{
	host_write(&t->host, 70, 28, false);
	host_flush(&t->host);
	host_checkpoint(&t->host);
}

/* Parity that counts an old version of a block, and a new one in the log beside it. */
static void newer_version_than_the_parity_counts(struct script *t)
{
	host_write(&t->host, 64, 1, true);
	host_write(&t->host, 73, 1, true);
	host_home_without_checkpoint(&t->host);
	/* Home and in the log's parity now, but not in the durable table. */
	host_write(&t->host, 64, 1, true);
	host_write(&t->host, 73, 1, true);
	script_cut_from_here(t);
	host_checkpoint(&t->host);
}

/* A row that was written in part, then as a whole, then in part again, before a checkpoint. */
static void row_in_every_way(struct script *t)
{
	host_write(&t->host, 64, 1, true);
	host_home_without_checkpoint(&t->host);
	host_write(&t->host, 64, 8, true);
	host_checkpoint(&t->host);
	host_write(&t->host, 68, 1, true);
	host_discard(&t->host, 64, 1);
	host_checkpoint(&t->host);
	host_write(&t->host, 64, 1, true);
	host_checkpoint(&t->host);
}

/* Old bytes at the home of an unwritten block are no data. */
static void unwritten_blocks_are_zeros(struct script *t)
{
	host_discard(&t->host, 65, 2);
	host_discard(&t->host, 80, 24);
	host_checkpoint(&t->host);
	host_write(&t->host, 69, 1, true);
	host_write(&t->host, 84, 1, true);
	host_checkpoint(&t->host);
	host_write(&t->host, 65, 1, true);
	host_checkpoint(&t->host);
}

/* A leg dies while parts of rows go home, and another could be lost with the power: not both. */
static void leg_dies(struct script *t)
{
	host_write(&t->host, 64, 3, true);
	disks_kill(1);
	t->crash.lost = 2;
	host_write(&t->host, 66, 20, false);
	host_flush(&t->host);
	host_checkpoint(&t->host);
	host_write(&t->host, 2, 1, true);
	host_write(&t->host, 7, 1, true);
	host_checkpoint(&t->host);
	host_read_check(&t->host, 64);
	host_read_check(&t->host, 100);
}

/* Leg 1 leaves, and misses parts of rows and whole ones. */
static void leave(struct script *t)
{
	host_write(&t->host, 64, 1, true);
	script_cut_from_here(t);
	t->crash.lost = t->crash.back = 2;
	if (kvp_leg_offline(t->host.pool, host_leg(&t->host, 1)))
		sim_fail("leg 1 does not leave");
	host_write(&t->host, 66, 20, false);
	host_checkpoint(&t->host);
	host_write(&t->host, 2, 1, true);
}

static void come_back(struct script *t)
{
	if (host_online(&t->host, 1))
		sim_fail("leg 1 does not return: %s", t->host.refusal.why);
}

static void wait_for_return(struct script *t)
{
	host_wait_resilver(&t->host);
	if (!kvp_leg_in_sync(host_leg(&t->host, 1)))
		sim_fail("leg 1 is in state %u", host_leg(&t->host, 1)->state);
	t->crash.back_at = disks.trace.nr;
}

/* Parts of rows are written before, while and after a leg returns: any leg may be lost then. */
static void leg_returns(struct script *t)
{
	t->cuts = min(t->cuts, 60u);
	leave(t);
	come_back(t);
	host_write(&t->host, 7, 1, true);
	host_write(&t->host, 68, 1, true);
	host_try_home(&t->host);
	host_write(&t->host, 64, 1, true);
	wait_for_return(t);
	host_write(&t->host, 65, 1, true);
	host_checkpoint(&t->host);
	expect_scrub(t, 0, 0);
}

/*
 * A second leg fails: no later write is durable, and the leg is not recorded out as if the rest
 * sufficed.
 */
static void second_leg_is_kept(struct script *t)
{
	t->cuts = 0;
	t->host.may_fail = true;
	disks_kill(1);
	host_write(&t->host, 64, 20, false);
	host_flush(&t->host);
	host_checkpoint(&t->host);
	disks_kill(2);
	host_write(&t->host, 64, 20, false);
	if (!host_flush(&t->host))
		sim_fail("a FLUSH succeeded with two legs gone");
	if (kvp_legs_usable(t->host.pool) != t->start.legs - 1)
		sim_fail("%u legs are in use", kvp_legs_usable(t->host.pool));
}

static void filler_task(void *arg)
{
	struct script *t = arg;
	u32 i;

	for (i = 0; i < 450; i++) {
		host_write(&t->host, 64 + (i * 5) % 80, 1, false);
		if (i % 20 == 19)
			host_flush(&t->host);
	}
	complete_all(&own.filled);
}

/* Scattered blocks fill the log while nothing is written home: there is space for their parity. */
static void full_log_has_room_for_parity(struct script *t)
{
	struct host *h = &t->host;
	u32 i;

	init_completion(&own.filled);
	for (i = 0; i < disks.nr; i++)
		disks_stall(i, disks.data_start, disks.img[i].blocks - KVP_LABEL_BLOCKS - 1);
	sim_spawn("filler", filler_task, t);
	for (i = 0; i < 100 && !kvp_log_short(h->pool->log); i++)
		host_sleep(50);
	if (!kvp_log_short(h->pool->log))
		sim_fail("the log is not full: the case was not set up");
	script_cut_from_here(t);
	t->cuts = 8;
	for (i = 0; i < disks.nr; i++)
		disks_release(i);
	wait_for_completion(&own.filled);
}

/*
 * Whole stripes, again and again: their reservations are released, or the log would stay full for
 * ever.
 */
static void whole_stripes_for_long(struct script *t)
{
	u32 i;

	t->cuts = 4;
	for (i = 0; i < 30; i++) {
		host_write(&t->host, 64 + 8 * (i % 2), 72, false);
		host_flush(&t->host);
	}
	host_checkpoint(&t->host);
	if (t->host.pool->log->reserved)
		sim_fail("the log is empty, and owes %u rows", t->host.pool->log->reserved);
}

/* One leg is given up for its labels. Of the two that are left, both must take the superblock. */
static void superblock_on_one_leg_is_not_enough(struct script *t)
{
	u32 i;

	t->cuts = 0;
	t->host.may_fail = true;
	host_write(&t->host, 64, 3, true);
	for (i = 1; i < 3; i++) {
		disks_fault(FAULT_WRITE_EIO, i, 0, KVP_EVENTS_BLOCK - 1);
		disks_fault(FAULT_WRITE_EIO, i, disks.img[i].blocks - KVP_LABEL_BLOCKS,
			    disks.img[i].blocks - 1);
	}
	if (!host_checkpoint(&t->host))
		sim_fail("a checkpoint of which only one leg knows");
}

static void pairs_task(void *arg)
{
	struct script *t = arg;
	u32 i;

	for (i = 0; i < PAIRS + PAIR_LAG; i++) {
		if (i < PAIRS) {
			host_write(&t->host, pair_block(t, i, 1), 1, true);
			own.pair_lsn[i] = t->host.pool->log->durable.lsn;
		}
		if (i >= PAIR_LAG)
			host_write(&t->host, pair_block(t, i - PAIR_LAG, 2), 1, true);
	}
	complete_all(&own.filled);
}

/*
 * A checkpoint between two rounds puts the tail between the two blocks of a row
 * that went home: of one that is whole with them, or (five legs) in part.
 */
static void tail_inside_a_row(struct script *t)
{
	struct kvp_pool *pool = t->host.pool;
	u64 tail = pool->log->tail;
	u32 i, inside = 0;

	init_completion(&own.filled);
	for (i = 0; i < disks.nr; i++)
		disks_stall(i, disks.data_start, disks.img[i].blocks - KVP_LABEL_BLOCKS - 1);
	sim_spawn("pairs", pairs_task, t);
	for (i = 0; i < 100 && !kvp_log_short(pool->log); i++)
		host_sleep(50);
	for (i = 0; i < disks.nr; i++)
		disks_release(i);
	for (i = 0; i < 1000 && READ_ONCE(pool->log->tail) == tail; i++)
		host_sleep(1);
	hold_table(t, true);
	script_cut_from_here(t);
	t->cuts = 12;
	host_sleep(300);
	tail = pool->log->tail;
	for (i = PAIR_LAG; i < PAIRS; i++)
		inside += own.pair_lsn[i - PAIR_LAG] && own.pair_lsn[i - PAIR_LAG] <= tail &&
			  own.pair_lsn[i] > tail;
	if (!inside)
		sim_fail("the tail is inside no row: the case was not set up");
	hold_table(t, false);
	wait_for_completion(&own.filled);
}

/* An orderly stop leaves nothing in the log, not even parity. */
static void stop_is_clean(struct script *t)
{
	host_write(&t->host, 64, 3, false);
	kvp_pool_quiesce(t->host.pool);
	if (!(t->host.pool->sb->flags & KVP_SB_CLEAN))
		sim_fail("the log is not empty after a stop");
}

/* --- by intent (R7) --------------------------------------------------------------------------- */

static void large_writes(struct script *t)
{
	host_write(&t->host, 60, 40, false);
	host_flush(&t->host);
	host_write_by_intent(&t->host, 16, 48);
	host_write_by_intent(&t->host, 24, 32);
	host_flush(&t->host);
	host_checkpoint(&t->host);
}

/*
 * A stream's gathered part ends within a stripe, and does not wait for that end: it becomes a
 * stripe with the rest.
 */
static void stream_in_pieces(struct script *t)
{
	struct kvp_log *log = t->host.pool->log;
	u64 data = log->data_blocks;

	host_write_by_intent(&t->host, 64, 28);
	host_write_by_intent(&t->host, 92, 20);
	if (log->data_blocks != data)
		sim_fail("%llu blocks of a stream were logged", log->data_blocks - data);
	/* A FLUSH does wait for it. Before it no timer is running, which could cut the stream. */
	host_checkpoint(&t->host);
	host_write(&t->host, 200, 28, false);
	host_flush(&t->host);
	if (log->data_blocks != data + 4)
		sim_fail("%llu blocks were logged for a FLUSH", log->data_blocks - data);
}

/*
 * Part of a stripe is written while the stripe is home by intent, but not known to be durable
 * there.
 */
static void part_over_an_open_intent(struct script *t)
{
	host_write_by_intent(&t->host, 64, 48);
	host_write(&t->host, 66, 1, false);
	host_write(&t->host, 77, 2, false);
	if (kvp_commit_sync(t->host.pool->log))
		sim_fail("a commit failed");
	host_home_without_checkpoint(&t->host);
	host_write(&t->host, 66, 1, true);
	host_checkpoint(&t->host);
}

/* The same after a FLUSH has closed the intent: now no block of it may be lost. */
static void part_over_a_closed_intent(struct script *t)
{
	host_write_by_intent(&t->host, 64, 48);
	host_flush(&t->host);
	script_cut_from_here(t);
	host_write(&t->host, 66, 1, true);
	host_write(&t->host, 77, 2, true);
	host_home_without_checkpoint(&t->host);
	host_write(&t->host, 66, 1, true);
	host_write(&t->host, 68, 1, true);
	host_checkpoint(&t->host);
}

/*
 * Older versions are in the log, as data and in parity, and at home, but not in the durable table.
 */
static void intent_over_logged_rows(struct script *t)
{
	host_write(&t->host, 64, 1, true);
	host_write(&t->host, 73, 5, true);
	host_discard(&t->host, 90, 4);
	host_flush(&t->host);
	host_home_without_checkpoint(&t->host);
	host_write_by_intent(&t->host, 64, 48);
	host_flush(&t->host);
	host_write(&t->host, 74, 1, true);
	host_checkpoint(&t->host);
}

/* One that is not known to be durable, over one that is. */
static void intent_over_a_closed_intent(struct script *t)
{
	host_write_by_intent(&t->host, 64, 48);
	host_flush(&t->host);
	host_write(&t->host, 70, 1, true);
	host_home_without_checkpoint(&t->host);
	script_cut_from_here(t);
	host_write_by_intent(&t->host, 64, 32);
	host_flush(&t->host);
}

/* A stream without flushes makes more intents than there are places for; no checkpoint comes. */
static void intents_closed_without_a_checkpoint(struct script *t)
{
	struct kvp_pool *pool = t->host.pool;
	u64 checkpoint, intents;
	u32 i;

	host_write(&t->host, 0, 480, false);
	host_flush(&t->host);
	host_checkpoint(&t->host);
	checkpoint = pool->sb->checkpoint;
	intents = pool->log->intent_blocks;
	script_cut_from_here(t);
	for (i = 0; i < 12; i++) {
		host_write(&t->host, 40 * i, 40, false);
		kvp_commit_now(pool->log);
		kvp_commit_kick(pool->log, true);
		host_sleep(20);
	}
	if (pool->sb->checkpoint != checkpoint || pool->log->intent_blocks != intents + 12 * 40 ||
	    pool->log->nr_open > KVP_MAX_OPEN_INTENTS / 2)
		sim_fail("%u intents are open: the case was not set up", pool->log->nr_open);
}

/* The log says that whole stripes are discarded; then they are written by intent. */
static void intent_over_a_discard(struct script *t)
{
	host_discard(&t->host, 64, 32);
	host_flush(&t->host);
	host_home_without_checkpoint(&t->host);
	host_write_by_intent(&t->host, 64, 48);
	host_flush(&t->host);
	host_checkpoint(&t->host);
}

/* Without a leg everything is logged: with the power alone nothing is lost. */
static void large_writes_without_a_leg(struct script *t)
{
	u64 before;

	disks_kill(1);
	t->crash.lost = 2;
	host_write(&t->host, 3, 1, true);
	host_checkpoint(&t->host);
	script_cut_from_here(t);
	before = t->host.pool->log->intent_blocks;
	host_write(&t->host, 64, 40, false);
	host_sleep(1500);
	host_flush(&t->host);
	if (t->host.pool->log->intent_blocks != before)
		sim_fail("intents on a pool that lacks a leg");
	host_checkpoint(&t->host);
}

/* While a leg returns everything is logged, and from then on whole stripes go by intent again. */
static void large_writes_beside_a_return(struct script *t)
{
	u64 before;

	t->cuts = min(t->cuts, 60u);
	leave(t);
	/* Its walk waits for these, so it cannot have ended. */
	disks_stall(0, disks.data_start, disks.img[0].blocks - KVP_LABEL_BLOCKS - 1);
	before = t->host.pool->log->intent_blocks;
	come_back(t);
	host_write(&t->host, 64, 40, false);
	host_sleep(1500);
	host_flush(&t->host);
	if (!kvp_leg_resilvers(host_leg(&t->host, 1)))
		sim_fail("the resilver has ended: the case was not set up");
	if (t->host.pool->log->intent_blocks != before)
		sim_fail("intents on a pool of which a leg is not in sync");
	disks_release(0);
	wait_for_return(t);
	host_write_by_intent(&t->host, 64, 48);
	host_flush(&t->host);
	host_checkpoint(&t->host);
}

/* A leg dies with a large write in flight. All data that a FLUSH acknowledged is there. */
static void leg_dies_amid_a_large_write(struct script *t)
{
	disks_stall(1, disks.data_start, disks.img[1].blocks - KVP_LABEL_BLOCKS - 1);
	host_write_by_intent(&t->host, 64, 48);
	disks_kill(1);
	disks_release(1);
	t->crash.lost = 2;
	host_flush(&t->host);
	host_write(&t->host, 70, 1, true);
	host_checkpoint(&t->host);
	host_read_check(&t->host, 64);
	host_read_check(&t->host, 71);
}

/* So many blocks are more slices than there are workers. */
static u32 large(const struct script *t)
{
	return own.larger ? 320 : 6 * KVP_DIRECT_ROWS * (t->start.legs - 1);
}

/*
 * A large write, with old contents below it that a FLUSH has answered for. Some of its stripes are
 * on their way home and wait for legs 0 and 1; the others are not begun.
 */
static void begin_large_write(struct script *t)
{
	struct kvp_log *log = t->host.pool->log;
	u32 i, count = large(t);
	u64 intents;

	host_write(&t->host, 64, count, false);
	host_flush(&t->host);
	host_checkpoint(&t->host);
	script_cut_from_here(t);
	for (i = 64; own.before && i < 64 + count; i += 5)
		host_write(&t->host, i, 1, true);
	host_home_without_checkpoint(&t->host);
	intents = log->intent_blocks;
	for (i = 0; i < 2; i++)
		disks_stall(i, disks.data_start, disks.img[i].blocks - KVP_LABEL_BLOCKS - 1);
	host_write(&t->host, 64, count, false);
	kvp_commit_now(t->host.pool->log);
	kvp_commit_kick(t->host.pool->log, true);
	host_sleep(200);
	if (log->intent_blocks == intents)
		sim_fail("no intents: the case was not set up");
}

/*
 * Leg 1 dies, and leg 0 answers some time later. From when that is recorded on, it costs nothing,
 * whenever the power goes.
 */
static void leg_leaves(struct script *t)
{
	struct kvp_pool *pool = t->host.pool;
	u32 i;

	disks_kill(1);
	t->crash.lost = 2;
	disks_release(1);
	/* As when a log write fails. */
	if (!kvp_leg_fail(host_leg(&t->host, 1), "it died"))
		sim_fail("leg 1 is needed");
	for (i = 0; i < 30 && kvp_members_dirty(pool); i++)
		host_sleep(10);
	if (!kvp_members_dirty(pool))
		t->crash.recorded_at = disks.trace.nr;
	disks_release(0);
	for (i = 0; i < 1000 && kvp_members_dirty(pool); i++)
		host_sleep(1);
	if (kvp_members_dirty(pool) || kvp_leg_in_sync(host_leg(&t->host, 1)))
		sim_fail("no loss was recorded");
	if (!t->crash.recorded_at)
		t->crash.recorded_at = disks.trace.nr;
}

/* All that a large write left is durable, and can be read; nothing of it is open any more. */
static void end_large_write(struct script *t)
{
	u32 i, count = large(t);

	host_flush(&t->host);
	for (i = 64; i < 64 + count; i++)
		host_read_check(&t->host, i);
	host_checkpoint(&t->host);
	for (i = 64; i < 64 + count; i++)
		host_read_check(&t->host, i);
	if (t->host.pool->log->nr_open || t->host.pool->log->withdrawn)
		sim_fail("intents are open after a checkpoint");
}

static void stripes_become_data(struct script *t)
{
	struct kvp_log *log = t->host.pool->log;
	u64 data;
	u32 i;

	begin_large_write(t);
	data = log->data_blocks;
	leg_leaves(t);
	for (i = 0; i < 6; i++) {
		host_write(&t->host, 400 + i, 1, false);
		kvp_commit_now(t->host.pool->log);
		kvp_commit_kick(t->host.pool->log, true);
		host_sleep(5);
	}
	end_large_write(t);
	if (log->data_blocks <= data + 6)
		sim_fail("nothing became data: the case was not set up");
}

/* An entry of more intents is kept, to be sent with the next one: it must not be kept for ever. */
static void stripes_beside_a_kept_entry(struct script *t)
{
	struct kvp_log *log = t->host.pool->log;
	u32 i;

	WRITE_ONCE(t->host.pool->tunables[KVP_T_COMMIT_INTERVAL_MS], 600 * 1000);
	begin_large_write(t);
	kvp_wbuf_set_limit(t->host.pool->wbuf, 256);
	for (i = 0; i < 4 && !log->unsent; i++)
		host_write(&t->host, 160 + 64 * i, 64, false);
	host_sleep(50);
	if (!log->unsent)
		sim_fail("no entry is kept: the case was not set up");
	leg_leaves(t);
	for (i = 0; i < 1000 && log->withdrawn; i++)
		host_sleep(1);
	if (log->unsent || log->withdrawn)
		sim_fail("an entry is kept though nothing goes home");
	end_large_write(t);
}

/* Newer versions of some blocks are in the log, and of others in the buffer; or discards. */
static void write_over_stripes(struct script *t, u32 from)
{
	u32 i;

	for (i = from; i < 64 + large(t); i += 9)
		host_write(&t->host, i, 1, false);
	host_discard(&t->host, from + 2, 3);
	host_discard(&t->host, from + 30, 8);
}

static void stripes_written_over_become_data(struct script *t)
{
	struct kvp_pool *pool = t->host.pool;

	begin_large_write(t);
	write_over_stripes(t, 66);
	kvp_commit_now(pool->log);
	kvp_commit_kick(pool->log, true);
	host_sleep(50);
	write_over_stripes(t, 67);
	leg_leaves(t);
	end_large_write(t);
}

static void slow_discarder(void *arg)
{
	struct script *t = arg;

	host_discard(&t->host, 70, large(t) - 12);
	complete_all(&own.filled);
}

/*
 * A discard has its place in the order, and comes to its blocks one by one. It may be in the log
 * before it has come to all of them: these must not become data behind it.
 */
static void discard_comes_to_stripes(struct script *t)
{
	struct kvp_pool *pool = t->host.pool;
	u32 i;

	begin_large_write(t);
	init_completion(&own.filled);
	sim_slow = "discarder";
	sim_spawn("discarder", slow_discarder, t);
	for (i = 0; i < 1000 && !kvp_wbuf_nr_holes(pool->wbuf); i++)
		host_sleep(1);
	kvp_commit_now(pool->log);
	kvp_commit_kick(pool->log, true);
	leg_leaves(t);
	sim_slow = NULL;
	wait_for_completion(&own.filled);
	end_large_write(t);
}

static void release_later(void *arg)
{
	host_sleep(50);
	disks_release(0);
	complete_all(&own.filled);
}

/* The pool is suspended when a leg has left, and before stripes have become data. */
static void stripes_at_a_suspend(struct script *t)
{
	begin_large_write(t);
	write_over_stripes(t, 66);
	disks_kill(1);
	t->crash.lost = 2;
	disks_release(1);
	if (!kvp_leg_fail(host_leg(&t->host, 1), "it died"))
		sim_fail("leg 1 is needed");
	init_completion(&own.filled);
	sim_spawn("releaser", release_later, NULL);
	host_suspend(&t->host);
	wait_for_completion(&own.filled);
	if (t->host.pool->log->nr_open || kvp_members_dirty(t->host.pool))
		sim_fail("intents are open after a stop");
	t->crash.recorded_at = disks.trace.nr;
	host_resume(&t->host);
	end_large_write(t);
}

/* Older data of the same rows is in the log, and home, but not in the durable table. */
static void stripes_over_data_become_data(struct script *t)
{
	own.before = true;
	begin_large_write(t);
	leg_leaves(t);
	end_large_write(t);
}

/*
 * The log has no room for them, since the versions behind the intents wait. So the tail passes the
 * intents.
 */
static void fill_behind_stripes(void *arg)
{
	struct script *t = arg;
	u32 i;

	for (i = 0; i < 400; i++)
		host_write(&t->host, 400 + i * 7 % 100, 1, false);
	complete_all(&own.filled);
}

static void leave_without_room(struct script *t)
{
	struct kvp_pool *pool = t->host.pool;
	u32 i;

	init_completion(&own.filled);
	sim_spawn("filler", fill_behind_stripes, t);
	for (i = 0; i < 100 && !kvp_log_short(pool->log); i++) {
		kvp_commit_now(pool->log);
		kvp_commit_kick(pool->log, true);
		host_sleep(20);
	}
	leg_leaves(t);
	wait_for_completion(&own.filled);
	end_large_write(t);
}

static void stripes_without_room(struct script *t)
{
	t->cuts = 30;
	own.larger = true;
	begin_large_write(t);
	leave_without_room(t);
	/* No version was superseded. */
	if (!t->host.pool->log->again_seq)
		sim_fail("the log had room: the case was not set up");
}

/* The same, and newer versions of some blocks are in the log. */
static void stripes_written_over_without_room(struct script *t)
{
	t->cuts = 30;
	own.larger = true;
	begin_large_write(t);
	write_over_stripes(t, 66);
	leave_without_room(t);
}

/* The entry that has them as data fails on all legs. */
static void stripes_whose_entry_fails(struct script *t)
{
	struct host *h = &t->host;
	u32 i;

	begin_large_write(t);
	h->may_fail = true;
	for (i = 0; i < disks.nr; i++)
		disks_fault(FAULT_WRITE_EIO, i, disks.log_start,
			    disks.log_start + disks.log_blocks - 1)->times = 1;
	leg_leaves(t);
	host_sleep(100);
	if (!disks.faults[0].hit && !disks.faults[2].hit)
		sim_fail("no entry failed: the case was not set up");
	disks.nr_faults = 0;
	h->may_fail = false;
	host_flush(h);
	end_large_write(t);
}

/* --- a block that does not answer ------------------------------------------------------------ */

static u32 missing_leg(const struct script *t)
{
	return __ffs(t->start.missing);
}

/* A row of which piece @piece is on the missing leg, and all pieces are written. */
static u64 row_without(struct script *t, u32 piece)
{
	u64 row = kvp_row_of(t->host.pool->vdevs.v[0].g, 128);

	while (place_of(t, row, piece).leg != missing_leg(t))
		row++;
	return row;
}

static u64 parity_entry(struct script *t, u64 row)
{
	struct kvp_pool *pool = t->host.pool;
	struct kvp_tpage *leaf = kvp_table_load(pool->table,
						kvp_row_block(pool->vdevs.v[0].g, row, 1));
	u64 entry;

	if (IS_ERR(leaf))
		sim_fail("no leaf");
	entry = kvp_row_entry(leaf, row, 0);
	kvp_table_put(leaf);
	return entry;
}

static void write_row(struct script *t, u64 row)
{
	u32 i;

	for (i = 1; i < t->start.legs; i++)
		host_write(&t->host, kvp_row_block(t->host.pool->vdevs.v[0].g, row, i), 1, false);
}

/*
 * The last piece of a row does not answer, while the first one is written anew; piece @out is on
 * the leg that is out. Then it answers, and is what it was.
 */
static void write_beside_silent(struct script *t, u32 out, u32 times)
{
	u64 row = row_without(t, out), stays, changes;
	u32 last = t->start.legs - 1;
	struct kvp_place at = place_of(t, row, last);
	struct fault *f;

	stays = kvp_row_block(t->host.pool->vdevs.v[0].g, row, last);
	changes = kvp_row_block(t->host.pool->vdevs.v[0].g, row, 1);
	write_row(t, row);
	host_checkpoint(&t->host);
	script_cut_from_here(t);
	t->crash.lost = t->start.missing;
	f = disks_fault(FAULT_READ_EIO, at.leg, at.block, at.block);
	f->times = times;
	host_write(&t->host, changes, 1, true);
	host_checkpoint(&t->host);
	if (!f->hit)
		sim_fail("the block was not asked for: the case was not set up");
	disks.nr_faults = 0;
	expect_read(t, stays, false);
	expect_read(t, changes, false);
	if (t->host.pool->table->poisoned)
		sim_fail("a block that did not answer is lost");
}

/*
 * No leg is out, and two blocks of a row do not answer. The old parity, and what was there of the
 * blocks that change, give the new one.
 */
static void silent_beside_a_write(struct script *t)
{
	const struct kvp_geometry *g = t->host.pool->vdevs.v[0].g;
	u64 row = kvp_row_of(g, 128);
	u32 i;

	write_row(t, row);
	host_checkpoint(&t->host);
	script_cut_from_here(t);
	for (i = 3; i < 5; i++) {
		struct kvp_place at = place_of(t, row, i);

		disks_fault(FAULT_READ_EIO, at.leg, at.block, at.block);
		host_write(&t->host, kvp_row_block(g, row, i - 2), 1, true);
	}
	host_checkpoint(&t->host);
	if (!disks.faults[0].hit)
		sim_fail("the blocks were not asked for: the case was not set up");
	disks.nr_faults = 0;
	for (i = 1; i < 5; i++)
		expect_read(t, kvp_row_block(g, row, i), false);
	if (t->host.pool->table->poisoned)
		sim_fail("a block that did not answer is lost");
}

/*
 * The piece that stays is on the leg that is out. It can only be made from the old parity, which
 * does not answer yet.
 */
static void silent_parity_for_a_time(struct script *t)
{
	const struct kvp_geometry *g = t->host.pool->vdevs.v[0].g;
	u64 row = row_without(t, 2);
	struct kvp_place at = place_of(t, row, 0);
	u32 i;

	write_row(t, row);
	host_checkpoint(&t->host);
	script_cut_from_here(t);
	t->crash.lost = t->start.missing;
	disks_fault(FAULT_READ_EIO, at.leg, at.block, at.block)->times = 9;
	host_write(&t->host, kvp_row_block(g, row, 1), 1, true);
	host_checkpoint(&t->host);
	if (!disks.faults[0].hit)
		sim_fail("the parity was not asked for: the case was not set up");
	disks.nr_faults = 0;
	for (i = 1; i < t->start.legs; i++)
		expect_read(t, kvp_row_block(g, row, i), false);
	if (t->host.pool->table->poisoned)
		sim_fail("a block is lost whose parity did not answer");
}

/* The new parity is not written anywhere. */
static void silent_in_a_row_without_parity(struct script *t)
{
	u64 row = row_without(t, 0);

	write_beside_silent(t, 0, 0);
	/* The next writes, of this row and of others, go home as usual. */
	write_row(t, row);
	host_write(&t->host, kvp_row_block(t->host.pool->vdevs.v[0].g, row, 1), 1, true);
	host_checkpoint(&t->host);
}

/*
 * And when its leg returns, the resilver makes the parity: any other leg may be lost then.
 */
static void silent_before_parity_returns(struct script *t)
{
	const struct kvp_geometry *g = t->host.pool->vdevs.v[0].g;
	u64 row = kvp_row_of(g, 128);
	struct kvp_place at;

	t->cuts = min(t->cuts, 40u);
	while (place_of(t, row, 0).leg != 1)
		row++;
	write_row(t, row);
	leave(t);
	at = place_of(t, row, 2);
	disks_fault(FAULT_READ_EIO, at.leg, at.block, at.block);
	host_write(&t->host, kvp_row_block(g, row, 1), 1, true);
	host_checkpoint(&t->host);
	if (!disks.faults[0].hit || kvp_entry_state(parity_entry(t, row)) != KVP_ENTRY_POISONED)
		sim_fail("the parity of the row is known: the case was not set up");
	disks.nr_faults = 0;
	come_back(t);
	wait_for_return(t);
	if (kvp_entry_state(parity_entry(t, row)) != KVP_ENTRY_VALID)
		sim_fail("the leg of the parity is back, and the parity is not known");
	expect_scrub(t, 0, 0);
	t->crash.back_at = disks.trace.nr;
}

/* Only the new parity will hold what is written. It is asked for again, and then answers. */
static void silent_for_a_time(struct script *t)
{
	write_beside_silent(t, 1, 9);
}

/*
 * The SSD never answers: the version is given up, since the log cannot wait. The pool does not wait
 * again for the next one.
 */
static void silent_for_good(struct script *t)
{
	const struct kvp_geometry *g = t->host.pool->vdevs.v[0].g;
	u64 row = row_without(t, 1), stays;
	u32 last = t->start.legs - 1, i;
	struct kvp_place at = place_of(t, row, last);
	unsigned long start;

	t->cuts = 0;
	for (i = 0; i < 4; i++)
		write_row(t, row + i);
	host_checkpoint(&t->host);
	disks_fault(FAULT_READ_EIO, at.leg, at.block, at.block + 3);
	start = jiffies;
	for (i = 0; i < 4 && place_of(t, row + i, 1).leg == missing_leg(t); i++)
		host_write(&t->host, kvp_row_block(g, row + i, 1), 1, true);
	host_checkpoint(&t->host);
	if (i < 2 || t->host.pool->table->poisoned != i)
		sim_fail("of %u blocks %llu are lost", i, t->host.pool->table->poisoned);
	if (time_after(jiffies, start + 12 * HZ))
		sim_fail("the log waited for %u s", (u32)(jiffies - start) / HZ);
	disks.nr_faults = 0;
	stays = kvp_row_block(g, row, last);
	expect_read(t, stays, true);
	expect_read(t, kvp_row_block(g, row, 1), false);
	host_write(&t->host, stays, 1, true);
	host_checkpoint(&t->host);
	expect_read(t, stays, false);
}

/* --- damage ----------------------------------------------------------------------------------- */

/* Any one bad block of a row heals, parity too. */
static void one_bad_block_in_a_row_heals(struct script *t)
{
	const struct kvp_geometry *g = t->host.pool->vdevs.v[0].g;
	u64 row = kvp_row_of(g, 64);
	u32 i;

	t->cuts = 0;
	for (i = 0; i < t->start.legs; i++)
		rot(t, row + i, i);
	expect_read(t, kvp_row_block(g, row + 1, 1), false);
	expect_scrub(t, t->start.legs - 1, 0);
	expect_scrub(t, 0, 0);
}

/*
 * A leg that accepts the healed contents of a block, or of parity, and does not keep them, is given
 * up (R19).
 */
static void heal_of_a_row_that_does_not_stay(struct script *t)
{
	const struct kvp_geometry *g = t->host.pool->vdevs.v[0].g;
	u64 row = kvp_row_of(g, 64), healed, unrepaired;
	struct kvp_place at = kvp_row_place(g, row, 1);

	t->cuts = 0;
	rot(t, row, 1);
	disks_fault(FAULT_LOST_WRITE, at.leg, at.block, at.block);
	host_scrub(&t->host, &healed, &unrepaired);
	if (healed || kvp_leg_in_sync(host_leg(&t->host, at.leg)))
		sim_fail("a leg that lost the healed contents of a block is in use");
	expect_read(t, kvp_row_block(g, row, 1), false);
}

/* Bad parity alone, also of a row whose first block was never written. */
static void bad_parity_heals(struct script *t)
{
	const struct kvp_geometry *g = t->host.pool->vdevs.v[0].g;

	t->cuts = 0;
	rot(t, kvp_row_of(g, 64), 0);
	expect_scrub(t, 1, 0);
	rot(t, kvp_row_of(g, 300), 0);
	expect_scrub(t, 1, 0);
	expect_scrub(t, 0, 0);
}

/* Two bad ones are lost, they alone, and until they are overwritten. */
static void two_bad_blocks_in_a_row_are_lost(struct script *t)
{
	const struct kvp_geometry *g = t->host.pool->vdevs.v[0].g;
	u64 row = kvp_row_of(g, 64), block;
	u32 i;

	t->cuts = 0;
	rot(t, row, 1);
	rot(t, row, 2);
	for (block = 64; block < 80; block++)
		expect_read(t, block, block == kvp_row_block(g, row, 1) ||
				      block == kvp_row_block(g, row, 2));
	host_write(&t->host, kvp_row_block(g, row, 1), 1, true);
	host_checkpoint(&t->host);
	expect_read(t, kvp_row_block(g, row, 1), false);
	expect_read(t, kvp_row_block(g, row, 2), true);
	/* the parity is known again, without the lost block */
	for (i = 0; i < t->start.legs; i++) {
		if (i == 2)
			continue;
		rot(t, row, i);
		expect_scrub(t, 1, 0);
	}
	host_write(&t->host, kvp_row_block(g, row, 2), 1, true);
	host_checkpoint(&t->host);
	rot(t, row, 1);
	expect_read(t, kvp_row_block(g, row, 1), false);
	expect_scrub(t, 0, 0);
}

/* A bad block and bad parity: the block is lost; the parity is computed again. */
static void bad_block_and_bad_parity(struct script *t)
{
	u64 row = kvp_row_of(t->host.pool->vdevs.v[0].g, 64);

	t->cuts = 0;
	rot(t, row, 0);
	rot(t, row, 1);
	expect_read(t, 64, true);
	expect_scrub(t, 0, 0);
	rot(t, row, 2);
	expect_scrub(t, 1, 0);
	expect_read(t, 64, true);
}

/* The other block is bad too; only a rebuild that needs it for parity reads it. */
static void bad_input_of_parity_is_rebuilt(struct script *t)
{
	const struct kvp_geometry *g = t->host.pool->vdevs.v[0].g;
	u64 row = kvp_row_of(g, 64);
	u32 i;

	t->cuts = 0;
	rot(t, row, 2);
	host_write(&t->host, 64, 1, true);
	host_checkpoint(&t->host);
	rot(t, row + 1, 0);
	host_write(&t->host, 65, 1, true);
	host_checkpoint(&t->host);
	for (i = 0; i < 2; i++) {
		expect_read(t, kvp_row_block(g, row + i, 1), false);
		expect_read(t, kvp_row_block(g, row + i, 2), false);
	}
	expect_scrub(t, 0, 0);
}

struct given {
	u8 data[4][KVP_BLOCK_SIZE];
	u32 nr;
};

static void give(void *to, struct page *page)
{
	struct given *g = to;

	memcpy(g->data[g->nr++], page_address(page), KVP_BLOCK_SIZE);
}

/* Chunks of a missing leg, read at once: the same as block by block, or nothing. */
static void missing_chunks_are_read_at_once(struct script *t)
{
	struct kvp_pool *pool = t->host.pool;
	struct given *g = malloc(sizeof(*g));
	u32 missing = 0, i;
	u64 block;

	t->cuts = 0;
	host_write(&t->host, 73, 1, true);
	host_discard(&t->host, 85, 1);
	host_checkpoint(&t->host);
	rot(t, kvp_row_of(pool->vdevs.v[0].g, 100), kvp_piece_of(pool->vdevs.v[0].g, 100));
	for (block = 64; block < 144; block += 4) {
		bool in_rotten_row = kvp_row_of(pool->vdevs.v[0].g, block) ==
				     kvp_row_of(pool->vdevs.v[0].g, 100) &&
				     !kvp_block_missing(pool, 100);
		int error;

		if (!kvp_block_missing(pool, block))
			continue;
		missing++;
		g->nr = 0;
		error = kvp_missing_read(pool, block, 4, give, g);
		if (!error == in_rotten_row)
			sim_fail("chunk %llu: %d", block, error);
		for (i = 0; i < g->nr; i++) {
			u8 data[KVP_BLOCK_SIZE];

			if (host_read(&t->host, block + i, data) ||
			    memcmp(data, g->data[i], KVP_BLOCK_SIZE))
				sim_fail("block %llu differs from a read of several", block + i);
		}
	}
	free(g);
	if (!missing)
		sim_fail("no chunk is missing: the case was not set up");
}

/* --- reads of neighbours from all legs at once, without a lock -------------------------------- */

static enum kvp_entry_state state_of(struct script *t, u64 block)
{
	struct kvp_tpage *leaf = kvp_table_load(t->host.pool->table, block);
	u64 entry = kvp_table_entry(leaf, block);

	kvp_table_put(leaf);
	return kvp_entry_state(entry);
}

/* In a case of that name the leg is not out, but slow. The watch's first look forgets that. */
static void slow_down(struct script *t)
{
	if (strstr(t->c->name, "passing"))
		WRITE_ONCE(host_leg(&t->host, 1)->slow, true);
}

/* True if reads without a lock make @block from the others. */
static bool is_made(struct script *t, u64 block)
{
	const struct kvp_leg *leg = kvp_block_leg(t->host.pool, block);

	return !kvp_leg_in_sync(leg) || READ_ONCE(leg->slow);
}

static u32 count_missing(struct script *t, u64 block, u32 count)
{
	u32 n = 0;

	for (; count--; block++)
		n += is_made(t, block) && state_of(t, block) == KVP_ENTRY_VALID;
	return n;
}

/* Any part of stripes, over unwritten blocks and across leaves: all blocks are rebuilt at once. */
static void wide_reads_rebuild(struct script *t)
{
	u32 edge = kvp_leaf_blocks(t->host.pool->vdevs.v[0].g), count, made, all = 0, want;
	u64 from, block;

	t->cuts = 0;
	host_write(&t->host, 73, 1, true);
	host_discard(&t->host, 85, 1);
	host_discard(&t->host, 91, 12);
	host_write(&t->host, 99, 2, true);
	host_write(&t->host, edge - 40, 60, true);
	host_checkpoint(&t->host);
	for (from = 64; from < edge; from += edge - 70 - 64)
		for (block = from; block < from + 17; block++)
			for (count = 1; count < 80; count += 1 + count / 3) {
				want = count_missing(t, block, count);
				made = host_read_wide_check(&t->host, block, count);
				if (made != want)
					sim_fail("%u of %u missing blocks made, of %u from %llu on",
						 made, want, count, block);
				all += made;
			}
	if (!all == !!t->start.missing)
		sim_fail("%u blocks made: the case was not set up", all);
}

/* The first block from @block on whose leg is missing, and another block of its row. */
static u64 missing_block(struct script *t, u64 block, u64 *other)
{
	const struct kvp_geometry *g = t->host.pool->vdevs.v[0].g;
	u32 piece;

	while (!is_made(t, block))
		block++;
	piece = kvp_piece_of(g, block);
	*other = kvp_row_block(g, kvp_row_of(g, block), piece == 1 ? 2 : 1);
	return block;
}

/* All but @lost[0 .. 2] can be read, time and again. */
static void expect_wide(struct script *t, u64 block, u32 count, const u64 *lost)
{
	u8 *data = malloc(count * KVP_BLOCK_SIZE);
	int *errors = calloc(count, sizeof(*errors));
	char why[160];
	u32 i;

	host_read_wide(&t->host, block, count, data, errors);
	for (i = 0; i < count; i++) {
		u64 b = block + i;
		bool gone = b == lost[0] || b == lost[1] || b == lost[2];

		if (!!errors[i] != gone)
			sim_fail("block %llu: %d", b, errors[i]);
		if (!gone && !oracle_current(&t->o, b, data + i * KVP_BLOCK_SIZE,
					     oracle_accepted(&t->o, b), why))
			sim_fail("%s", why);
	}
	free(data);
	free(errors);
}

/* A second fault loses only the blocks that need both. */
static void wide_reads_of_bad_blocks(struct script *t)
{
	const struct kvp_geometry *g = t->host.pool->vdevs.v[0].g;
	u64 lost[3], other;
	u32 made, i;

	t->cuts = 0;
	host_write(&t->host, 64, 64, true);
	host_checkpoint(&t->host);
	/* The parity of one row, and data of the next. */
	lost[0] = missing_block(t, 72, &other);
	rot(t, kvp_row_of(g, lost[0]), 0);
	lost[1] = missing_block(t, lost[0] + 1, &lost[2]);
	rot(t, kvp_row_of(g, lost[1]), kvp_piece_of(g, lost[2]));
	for (i = 0; i < 3; i++)
		expect_wide(t, 66, 60, lost);
	/* The rows are good again once they are written. */
	host_write(&t->host, 64, 64, true);
	host_checkpoint(&t->host);
	made = host_read_wide_check(&t->host, 66, 60);
	if (made != count_missing(t, 66, 60))
		sim_fail("%u blocks made", made);
}

/* Two contents of one sum, for a block beside one that is missing. */
static struct {
	u8 data[2][KVP_BLOCK_SIZE];
	u64 block, other;
	u32 stalled;
} twins;

static void make_twins(struct script *t)
{
	u32 i;

	for (i = 0; i < KVP_BLOCK_SIZE; i++)
		twins.data[0][i] = (u8)(i * 7 + 1);
	same_sum(twins.data[0], twins.data[1], 100);
	host_write(&t->host, 64, 64, true);
	slow_down(t);
	twins.block = missing_block(t, 72, &twins.other);
	host_write_special(&t->host, twins.other, twins.data[0]);
	host_checkpoint(&t->host);
	slow_down(t);
}

static void write_the_twin(struct host *h)
{
	host_write_special(h, twins.other, twins.data[1]);
	host_checkpoint(h);
}

/* The old parity and the new data make something else that has the right sum. */
static void wide_read_across_a_write(struct script *t)
{
	t->cuts = 0;
	make_twins(t);
	t->host.amid_wide = write_the_twin;
	if (host_read_wide_check(&t->host, twins.block, 1))
		sim_fail("a block was made of a row that was written meanwhile");
	if (t->host.amid_wide)
		sim_fail("nothing happened: the case was not set up");
	slow_down(t);
	if (host_read_wide_check(&t->host, twins.block, 1) != 1)
		sim_fail("a block was not made from a row without writes");
}

static void twin_task(void *arg)
{
	write_the_twin(arg);
}

static void release_task(void *arg)
{
	host_sleep(300);
	disks_release(twins.stalled);
}

/* The home write of the leg that was read hangs; that of the other is done. */
static void begin_to_write_the_twin(struct host *h)
{
	disks_stall(twins.stalled, disks.data_start, disks.data_start + POOL_BLOCKS);
	sim_spawn("twin", twin_task, h);
	host_sleep(200);
	sim_spawn("release", release_task, h);
}

/* The same, with half of the row written and the table not yet changed. */
static void wide_read_amid_a_write(struct script *t)
{
	const struct kvp_geometry *g = t->host.pool->vdevs.v[0].g;
	u64 row;

	t->cuts = 0;
	make_twins(t);
	row = kvp_row_of(g, twins.block);
	twins.stalled = min(place_of(t, row, 0).leg, place_of(t, row,
							      kvp_piece_of(g, twins.other)).leg);
	t->host.amid_wide = begin_to_write_the_twin;
	if (host_read_wide_check(&t->host, twins.block, 1))
		sim_fail("a block was made of a row that is being written");
}

static struct {
	struct host *host;
	u64 block;
	bool done;
} row_readers[8];

static void row_reader(void *arg)
{
	u32 i = (u32)(unsigned long)arg;

	host_read_check(row_readers[i].host, row_readers[i].block);
	row_readers[i].done = true;
}

/*
 * Readers of blocks of the missing leg wait for the locks of rows while a neighbour goes home. They
 * must not get these locks before the table has changed: with the new contents and the old sum no
 * block can be made.
 */
static void readers_wait_for_rows(struct script *t)
{
	u64 block = 64, other;
	u32 i, done;

	t->cuts = 0;
	host_write(&t->host, 64, 64, true);
	host_checkpoint(&t->host);
	for (i = 0; i < ARRAY_SIZE(row_readers); i++, block++) {
		block = missing_block(t, block, &other);
		row_readers[i].host = &t->host;
		row_readers[i].block = block;
		row_readers[i].done = false;
		host_write(&t->host, other, 1, true);
	}
	kvp_rcache_drop(t->host.pool->rcache);
	disks_hold_homes(disks.nr, POOL_BLOCKS);
	host_destage(&t->host);
	while (!disks_wait())
		host_sleep(1);
	for (i = 0; i < ARRAY_SIZE(row_readers); i++)
		sim_spawn("reader", row_reader, (void *)(unsigned long)i);
	host_sleep(300);
	sim_slow = "kvpool-work";
	for (i = done = 0; i < ARRAY_SIZE(row_readers); i++)
		done += row_readers[i].done;
	if (done == ARRAY_SIZE(row_readers))
		sim_fail("no reader waits: the case was not set up");
	disks_release_all();
	for (i = 0; i < ARRAY_SIZE(row_readers); i++)
		while (!row_readers[i].done)
			host_sleep(1);
	sim_slow = NULL;
	host_checkpoint(&t->host);
	host_read_each(&t->host, 64, 64);
}

/* Parity that counts a lost block: only this parity would rebuild a block with the right sum. */
static void wide_read_of_unknown_parity(struct script *t)
{
	const struct kvp_geometry *g = t->host.pool->vdevs.v[0].g;
	u8 nothing[KVP_BLOCK_SIZE];
	u64 lost[3];
	u32 i;

	t->cuts = 0;
	make_twins(t);
	for (i = 0; i < KVP_BLOCK_SIZE; i++)
		nothing[i] = twins.data[0][i] ^ twins.data[1][i];
	host_write_special(&t->host, twins.other, nothing);
	host_checkpoint(&t->host);
	rot(t, kvp_row_of(g, twins.other), kvp_piece_of(g, twins.other));
	expect_read(t, twins.other, true);
	lost[0] = lost[1] = twins.block;
	lost[2] = twins.other;
	expect_wide(t, twins.block, 1, lost);
	expect_wide(t, 66, 60, lost);
}

/*
 * --- a recovery whose chain is cut short -------------------------------------------------------
 */

/* One block of each row is in the log, all others at home only. */
static void log_part_of_every_row(struct script *t)
{
	u32 stripe;

	for (stripe = 0; stripe < 64; stripe++)
		host_write(&t->host, 8 * stripe, 8, false);
	host_checkpoint(&t->host);
	for (stripe = 0; stripe < 64; stripe++)
		host_write(&t->host, 8 * stripe + stripe % 2 * 4, 4, false);
	host_flush(&t->host);
}

/* The last machine's contents, cut at @at, with all writes in flight. */
static void cut_at(u32 at, struct image *out)
{
	struct rng rng = { opt.seed };
	struct cutter *cut = malloc(sizeof(*cut));
	u8 fates[MAX_PENDING];

	memset(fates, FATE_KEPT, sizeof(fates));
	cutter_init(cut, &disks.trace);
	cutter_seek(cut, at);
	cutter_images(cut, fates, &rng, out);
	cutter_free(cut);
	free(cut);
}

/* Where the last entry of the recovery's chain is submitted first: 0 if nowhere. */
static u32 last_of_chain(void)
{
	u32 i;

	for (i = 0; i < disks.trace.nr_requests; i++) {
		const struct trace_request *r = &disks.trace.requests[i];
		const struct kvp_disk_log_hdr *d;

		if (r->op != KVP_IO_WRITE_FUA || !r->nr)
			continue;
		d = (const struct kvp_disk_log_hdr *)r->data[0]->data;
		if (le32_to_cpu(d->magic) == KVP_LOG_MAGIC && le32_to_cpu(d->flags) & KVP_LOG_LAST)
			return r->submitted - 1;
	}
	return 0;
}

/* The recovery after the one that was cut is itself cut here and there, and a leg is gone. */
static bool cut_second_recovery(struct script *t)
{
	u32 total = disks.trace.nr, i;
	struct trace trace = disks.trace;
	bool good = true;

	for (i = 1; good && i < 12; i++) {
		struct crash c = { .legs = 3, .parity = true, .o = &t->o, .at = ~0u };
		struct image img[MAX_DISKS];

		disks.trace = trace;
		cut_at(total / 12 * i, img);
		memset(&disks.trace, 0, sizeof(disks.trace));
		c.images = img;
		c.seed = mix64(opt.seed, i);
		good = !check_crash(&c, CHECK_LEGS);
		script_free_disks(t, img);
	}
	trace_free(&trace);
	return good;
}

/* The next life finds the disks as after a cut at @at, with all writes in flight. */
static void keep_cut_at(struct script *t, u32 at)
{
	script_free_disks(t, t->img);
	cut_at(at, t->img);
}

/* A recovery writes its chain. Return: where the chain ends in its trace; 0: it failed. */
static u32 recover_with_a_chain(struct script *t)
{
	u32 at;

	if (!script_live(t, log_part_of_every_row, true))
		return 0;
	keep_cut_at(t, disks.trace.nr);
	if (!script_live(t, NULL, true))
		return 0;
	at = last_of_chain();
	return expect(at, "no chain: the case was not set up") ? at : 0;
}

static bool chain_is_cut_short(struct script *t)
{
	u32 at = recover_with_a_chain(t);

	if (!at)
		return false;
	keep_cut_at(t, at);
	return script_live(t, NULL, true) && cut_second_recovery(t);
}

/* --- a chain that was complete, and cannot be read any more (R27) -------------------- */

/* Where on each disk a chain lies; and a start during which it cannot be read there. */
static struct {
	u64 first[3], end[3];
	int error;			/* of reads of its blocks; 0: they can be read */
	u32 refusals;
} chain;

/* All entries that a recovery has written are of its chain. */
static void note_chain(void)
{
	u32 i;

	for (i = 0; i < disks.trace.nr_requests; i++) {
		const struct trace_request *r = &disks.trace.requests[i];
		const struct kvp_disk_log_hdr *d = r->nr ? (const void *)r->data[0]->data : NULL;

		if (r->op != KVP_IO_WRITE_FUA || !d || le32_to_cpu(d->magic) != KVP_LOG_MAGIC)
			continue;
		chain.first[r->disk] = !chain.end[r->disk] ? r->block :
				       min(chain.first[r->disk], r->block);
		chain.end[r->disk] = max(chain.end[r->disk], r->block + r->nr);
	}
}

/* Every other write in flight at @at is there. */
static void cut_half(u32 at, struct image *out)
{
	struct rng rng = { opt.seed };
	struct cutter *cut = malloc(sizeof(*cut));
	u8 fates[MAX_PENDING];
	u32 i;

	for (i = 0; i < MAX_PENDING; i++)
		fates[i] = i % 2 ? FATE_KEPT : FATE_DROPPED;
	cutter_init(cut, &disks.trace);
	cutter_seek(cut, at);
	cutter_images(cut, fates, &rng, out);
	cutter_free(cut);
	free(cut);
}

static void silence_chain(struct script *t)
{
	u32 i;

	for (i = 0; chain.error && i < t->legs; i++)
		if (chain.end[i])
			disks_fault(FAULT_READ_EIO, i, chain.first[i],
				    chain.end[i] - 1)->error = chain.error;
}

/* Without leg @missing, or with all. No block may be lost, now or in a later start. */
static bool chain_start_without(struct script *t, u32 missing, const char *what)
{
	struct crash crash = t->crash;
	struct image img[MAX_DISKS];
	bool good;
	u32 i;

	t->start.missing = missing;
	t->start.degraded = missing;
	good = script_live(t, NULL, false);
	for (i = 0; i < t->legs; i++)
		image_copy(&img[i], &disks.img[i]);
	chain.refusals += !!t->refused;
	crash.at = ~0u;
	crash.seed = opt.seed;
	crash.images = img;
	crash.given_up = t->refused ? 0 : missing;
	good = good && !check_crash(&crash, CHECK_CONTENTS);
	script_free_disks(t, img);
	return expect(good, "%s, error %d, legs %x missing: the start gave %d %s\n", what,
		      chain.error, missing, t->refused, t->host.refusal.why);
}

/* The same without each of the legs, of which one has parts of the chain that nothing else has. */
static bool chain_start_without_each(struct script *t, const char *what)
{
	bool good = true;
	u32 missing;

	for (missing = 0; good && missing < t->legs; missing++)
		good = chain_start_without(t, BIT(missing), what);
	return good;
}

/* With all legs nothing is lost; without one the start waits for it. */
static bool chain_needs_all_legs(struct script *t, const char *what)
{
	return chain_start_without_each(t, what) &&
	       expect(chain.refusals, "no start was refused\n") &&
	       chain_start_without(t, 0, what) &&
	       expect(!t->refused, "refused with all legs: %s\n", t->host.refusal.why);
}

/* A recovery is cut when it has written half of the rows home, after its chain. */
static bool cut_behind_chain(struct script *t)
{
	u32 at = recover_with_a_chain(t);

	if (!at)
		return false;
	note_chain();
	script_free_disks(t, t->img);
	cut_half(at + (disks.trace.nr - at) / 2, t->img);
	return true;
}

static bool chain_cannot_be_read(struct script *t)
{
	static const int errors[] = { -EIO, -ENOMEM, -EAGAIN, -ETIMEDOUT, -ENODATA };
	bool good = cut_behind_chain(t);
	u32 i;

	for (i = 0; good && i < ARRAY_SIZE(errors); i++) {
		chain.error = errors[i];
		good = chain_start_without_each(t, "the chain does not answer");
	}
	return good && expect(chain.refusals, "no start was refused\n");
}

static void rot_chain(struct script *t)
{
	u8 data[KVP_BLOCK_SIZE];
	u64 block;
	u32 i;

	for (i = 0; i < t->legs; i++)
		for (block = chain.first[i]; block < chain.end[i]; block++) {
			image_read(&t->img[i], block, data);
			data[49] ^= 4;
			image_write_data(&t->img[i], block, data);
		}
}

static bool chain_has_rotten(struct script *t)
{
	if (!cut_behind_chain(t))
		return false;
	rot_chain(t);
	return chain_needs_all_legs(t, "the chain is rotten");
}

/*
 * The start that begins another chain in its place is cut too, before that chain is complete: its
 * missing blocks are still missing.
 */
static bool chain_in_place_of_a_rotten_one_is_cut_short(struct script *t)
{
	u32 at;

	if (!cut_behind_chain(t))
		return false;
	rot_chain(t);
	if (!script_live(t, NULL, true))
		return false;
	at = last_of_chain();
	keep_cut_at(t, at);
	return expect(at, "no other chain: the case was not set up\n") &&
	       chain_needs_all_legs(t, "another chain was begun");
}

static void close_an_intent(struct script *t)
{
	u32 i;

	host_write(&t->host, 64, 1, true);
	host_write(&t->host, 73, 1, true);
	host_home_without_checkpoint(&t->host);
	host_write_by_intent(&t->host, 64, 48);
	host_flush(&t->host);
	for (i = 1; i < 3; i++)
		rot(t, kvp_row_of(t->host.pool->vdevs.v[0].g, 64), i);
}

static void two_are_lost(struct script *t)
{
	u64 block;

	for (block = 64; block < 80; block++)
		expect_read(t, block, block == 64 || block == 68);
	if (t->host.pool->recovery.torn_accepted)
		sim_fail("damage under a closed intent was taken for a torn write");
}

/*
 * Two blocks of a row are bad that a FLUSH has answered for: neither older versions nor the damage
 * count.
 */
static bool closed_intent_is_not_undone(struct script *t)
{
	if (!script_live(t, close_an_intent, true))
		return false;
	script_keep(t);
	return script_live(t, two_are_lost, true);
}

static void two_lives(const char *name, bool (*play)(struct script *t), u32 legs)
{
	const struct host_start shape = { .legs = legs, .parity = true };
	const struct script_case c = {
		.name = name, .shape = &shape, .play = play, .turns = 1, .most = 1,
		.first_plain = true, .life_seeds = true,
	};

	script_run(&c);
}

/*
 * The log has parity of a row that counts a block which is lost by now. A scrub has made the parity
 * at home anew.
 */
static void parity_is_made_anew(struct script *t)
{
	struct kvp_pool *pool = t->host.pool;
	u64 row = kvp_row_of(pool->vdevs.v[0].g, 64);

	host_write(&t->host, 64, 16, true);
	host_checkpoint(&t->host);
	host_write(&t->host, 64, 1, true);
	host_home_without_checkpoint(&t->host);
	rot(t, row, 0);
	rot(t, row, 2);
	expect_read(t, kvp_row_block(pool->vdevs.v[0].g, row, 2), true);
	expect_scrub(t, 0, 0);
	mutex_lock(&pool->checkpoint_lock);
	if (kvp_checkpoint(pool, NULL))
		sim_fail("no checkpoint");
	mutex_unlock(&pool->checkpoint_lock);
}

static void one_is_lost(struct script *t)
{
	const struct kvp_geometry *g = t->host.pool->vdevs.v[0].g;
	u64 block, lost = kvp_row_block(g, kvp_row_of(g, 64), 2);

	for (block = 64; block < 64 + kvp_stripe_blocks(g); block++)
		expect_read(t, block, block == lost);
}

/* A start without legs @missing; and that start is cut everywhere. */
static bool one_is_lost_without(struct script *t, const struct image *img, u32 missing)
{
	struct rng rng = { opt.seed };
	struct trace trace;
	bool good;
	u32 at;

	t->start.missing = missing;
	t->start.degraded = missing;
	good = script_live_on(t, img, one_is_lost, true);
	trace = script_take_trace();
	for (at = 0; good && at <= trace.nr; at++) {
		disks.trace = trace;
		script_cut(t, at, at, &rng);
		memset(&disks.trace, 0, sizeof(disks.trace));
		good = script_live(t, one_is_lost, true);
	}
	trace_free(&trace);
	return good;
}

/*
 * The power goes, and with it any one leg. What the leg had is made from the parity at home: the
 * one in the log does not give it.
 */
static bool parity_at_home_is_newer(struct script *t)
{
	struct image img[MAX_DISKS];
	bool good = script_live(t, parity_is_made_anew, true);
	u32 i;

	for (i = 0; i < t->disks; i++)
		image_copy(&img[i], &disks.img[i]);
	for (i = 0; good && i <= t->legs; i++)
		good = one_is_lost_without(t, img, i < t->legs ? BIT(i) : 0);
	script_free_disks(t, img);
	return good;
}

/* The log is long enough for a chain of all rows. */
static void chain_test(const char *name, bool (*play)(struct script *t))
{
	static const struct host_start shape = {
		.legs = 3, .parity = true, .strict = true, .log_mib = 8,
	};
	const struct script_case c = {
		.name = name, .shape = &shape, .prepare = silence_chain, .may_refuse = true,
		.play = play, .turns = 1, .most = 1, .first_plain = true, .life_seeds = true,
		.own = &chain, .own_size = sizeof(chain),
	};

	script_run(&c);
}

/* How many blocks of the head's segment are left. */
static u64 left_of_segment(struct script *t)
{
	const struct kvp_log *log = t->host.pool->log;

	return kvp_log_segment_end(log->vdevs->log_vdev->g, log->head.lsn) - log->head.lsn;
}

/* Fill the segment up to its last block, without a FLUSH. Destage hangs, so it logs no parity. */
static bool fill_up_to_the_last_block(struct script *t)
{
	u32 i, left;

	for (i = 0; i < t->start.legs; i++)
		disks_stall(i, disks.data_start, disks.img[i].blocks - KVP_LABEL_BLOCKS - 1);
	for (i = 0; i < 10 && (left = left_of_segment(t)) > 2 && left <= 90; i++) {
		host_write(&t->host, 3, left > 40 ? 20 : left - 2, false);
		host_sleep(1500);
	}
	/* Another entry may have come between. */
	t->spoilt = left_of_segment(t) != 1;
	return !t->spoilt;
}

/*
 * A header that closes intents fails on all legs, in the last block of a segment. The next entry
 * must overwrite it, and parity does not fit there.
 */
static void parity_behind_a_failed_header(struct script *t)
{
	struct host *h = &t->host;
	struct kvp_log *log = h->pool->log;
	u32 i;

	for (i = 0; i < 40 && (left_of_segment(t) > 90 || left_of_segment(t) < 60); i++) {
		host_write(h, 3, 8, true);
		host_checkpoint(h);
	}
	t->from = disks.trace.nr;
	host_write(h, 128, 64, false);
	host_sleep(1500);
	if (!fill_up_to_the_last_block(t)) {
		disks_release_all();
		return;
	}
	if (list_empty(&log->open))
		sim_fail("no intent is open: the case was not set up");
	h->may_fail = true;
	for (i = 0; i < t->start.legs; i++)
		disks_fault(FAULT_WRITE_EIO, i, disks.log_start,
			    disks.log_start + disks.log_blocks - 1)->times = 1;
	if (!host_flush(h) || log->redo != log->head.lsn || kvp_pool_faulted(h->pool))
		sim_fail("no header failed: the case was not set up");
	disks.nr_faults = 0;
	disks_release_all();
	kvp_destage_kick(h->pool, true);
	host_sleep(20000);
	if (kvp_pool_faulted(h->pool))
		sim_fail("the pool is faulted, and only a commit has failed");
	h->may_fail = false;
	host_flush(h);
	host_checkpoint(h);
	host_read_each(h, 3, 20);
	host_read_each(h, 128, 64);
}

#define NAMED(function) "parity:" #function, function
#define NAMED_WITHOUT(function) "parity-without:" #function, function
#define NAMED_WITHOUT_WIDE(function) "parity5-without:" #function, function
#define NAMED_WIDE(function) "parity5:" #function, function

#define BY_INTENT(function) "parity-intent:" #function, function
#define BY_INTENT_WIDE(function) "parity-intent5:" #function, function

static void run_rows(void)
{
	parity_test(NAMED(partial_rows), 3, 2);
	parity_test(NAMED_WIDE(partial_rows), 5, 1);
	parity_test(NAMED(whole_stripes), 3, 1);
	parity_test(NAMED(newer_version_than_the_parity_counts), 3, 2);
	parity_test(NAMED_WIDE(newer_version_than_the_parity_counts), 5, 1);
	parity_test(NAMED(row_in_every_way), 3, 1);
	parity_test(NAMED_WIDE(row_in_every_way), 5, 1);
	parity_test(NAMED(unwritten_blocks_are_zeros), 3, 1);
	parity_test(NAMED_WIDE(unwritten_blocks_are_zeros), 5, 1);
	test_without(NAMED_WITHOUT(partial_rows), 3, 1, 1);
	test_without(NAMED_WITHOUT(row_in_every_way), 3, 2, 1);
	test_without(NAMED_WITHOUT(unwritten_blocks_are_zeros), 3, 4, 1);
	test_without(NAMED_WITHOUT(newer_version_than_the_parity_counts), 5, 8, 1);
	parity_test(NAMED(leg_dies), 3, 2);
	parity_test(NAMED_WIDE(leg_dies), 5, 1);
	parity_test(NAMED(leg_returns), 3, 1);
	parity_test(NAMED_WIDE(leg_returns), 5, 1);
	parity_test(NAMED(full_log_has_room_for_parity), 3, 1);
	parity_test(NAMED(second_leg_is_kept), 3, 2);
	parity_test(NAMED(whole_stripes_for_long), 3, 1);
	parity_test(NAMED(superblock_on_one_leg_is_not_enough), 3, 1);
	parity_test(NAMED(tail_inside_a_row), 3, 1);
	parity_test(NAMED_WIDE(tail_inside_a_row), 5, 1);
	parity_test(NAMED(stop_is_clean), 3, 1);
}

static void run_intents(void)
{
	parity_test(BY_INTENT(large_writes), 3, 2);
	parity_test(BY_INTENT_WIDE(large_writes), 5, 1);
	parity_test(BY_INTENT(stream_in_pieces), 3, 1);
	parity_test(BY_INTENT(part_over_an_open_intent), 3, 2);
	parity_test(BY_INTENT_WIDE(part_over_an_open_intent), 5, 1);
	parity_test(BY_INTENT(part_over_a_closed_intent), 3, 2);
	parity_test(BY_INTENT_WIDE(part_over_a_closed_intent), 5, 1);
	parity_test(BY_INTENT(intent_over_logged_rows), 3, 2);
	parity_test(BY_INTENT_WIDE(intent_over_logged_rows), 5, 1);
	parity_test(BY_INTENT(intent_over_a_closed_intent), 3, 2);
	parity_test(BY_INTENT(intent_over_a_discard), 3, 1);
	parity_test(BY_INTENT(intents_closed_without_a_checkpoint), 3, 1);
	parity_test(BY_INTENT(large_writes_without_a_leg), 3, 1);
	parity_test(BY_INTENT(large_writes_beside_a_return), 3, 1);
	parity_test(BY_INTENT(leg_dies_amid_a_large_write), 3, 1);
	parity_test(BY_INTENT(stripes_become_data), 3, 2);
	parity_test(BY_INTENT_WIDE(stripes_become_data), 5, 1);
	parity_test(BY_INTENT(stripes_beside_a_kept_entry), 3, 1);
	parity_test(BY_INTENT(stripes_written_over_become_data), 3, 2);
	parity_test(BY_INTENT_WIDE(stripes_written_over_become_data), 5, 1);
	parity_test(BY_INTENT(discard_comes_to_stripes), 3, 2);
	parity_test(BY_INTENT(stripes_at_a_suspend), 3, 1);
	parity_test(BY_INTENT(stripes_over_data_become_data), 3, 2);
	parity_test(BY_INTENT(stripes_without_room), 3, 1);
	parity_test(BY_INTENT(stripes_written_over_without_room), 3, 1);
	parity_test(BY_INTENT(stripes_whose_entry_fails), 3, 1);
	parity_test(BY_INTENT(parity_behind_a_failed_header), 3, 1);
}

static void run_wide_reads(void)
{
	test_without(NAMED_WITHOUT(missing_chunks_are_read_at_once), 3, 1, 1);
	test_without(NAMED_WITHOUT_WIDE(missing_chunks_are_read_at_once), 5, 4, 1);
	parity_test(NAMED(wide_reads_rebuild), 3, 1);
	test_without(NAMED_WITHOUT(wide_reads_rebuild), 3, 1, 1);
	test_without("parity-without-2:wide_reads_rebuild", wide_reads_rebuild, 3, 4, 1);
	test_without(NAMED_WITHOUT_WIDE(wide_reads_rebuild), 5, 4, 1);
	test_without(NAMED_WITHOUT(wide_reads_of_bad_blocks), 3, 2, 1);
	test_without(NAMED_WITHOUT_WIDE(wide_reads_of_bad_blocks), 5, 1, 1);
	test_without(NAMED_WITHOUT(wide_read_across_a_write), 3, 1, 2);
	test_without(NAMED_WITHOUT(wide_read_amid_a_write), 3, 2, 2);
	parity_test("parity-passing:wide_read_across_a_write", wide_read_across_a_write, 3, 2);
	parity_test("parity-passing:wide_read_amid_a_write", wide_read_amid_a_write, 3, 2);
	test_without(NAMED_WITHOUT(readers_wait_for_rows), 4, 2, 2);
	test_without(NAMED_WITHOUT(wide_read_of_unknown_parity), 3, 4, 1);
}

static void run_silent(void)
{
	parity_test(NAMED_WIDE(silent_beside_a_write), 5, 1);
	test_without(NAMED_WITHOUT_WIDE(silent_parity_for_a_time), 5, 4, 1);
	test_without(NAMED_WITHOUT(silent_in_a_row_without_parity), 3, 1, 1);
	test_without(NAMED_WITHOUT_WIDE(silent_in_a_row_without_parity), 5, 8, 1);
	parity_test(NAMED(silent_before_parity_returns), 3, 1);
	test_without(NAMED_WITHOUT(silent_for_a_time), 3, 2, 1);
	test_without(NAMED_WITHOUT(silent_for_good), 3, 4, 1);
}

static void run_chains_and_heals(void)
{
	chain_test("parity:chain_is_cut_short", chain_is_cut_short);
	chain_test("parity:chain_cannot_be_read", chain_cannot_be_read);
	chain_test("parity:chain_has_rotten", chain_has_rotten);
	chain_test("parity:chain_in_place_of_a_rotten_one",
		   chain_in_place_of_a_rotten_one_is_cut_short);
	two_lives("parity-intent:closed_intent_is_not_undone", closed_intent_is_not_undone, 3);
	two_lives("parity5:parity_at_home_is_newer", parity_at_home_is_newer, 5);
	parity_test(NAMED(one_bad_block_in_a_row_heals), 3, 1);
	parity_test(NAMED_WIDE(one_bad_block_in_a_row_heals), 5, 1);
	parity_test(NAMED(heal_of_a_row_that_does_not_stay), 3, 1);
	parity_test(NAMED(bad_parity_heals), 3, 1);
	parity_test(NAMED_WIDE(bad_parity_heals), 5, 1);
	parity_test(NAMED(two_bad_blocks_in_a_row_are_lost), 3, 1);
	parity_test(NAMED_WIDE(two_bad_blocks_in_a_row_are_lost), 5, 1);
	parity_test(NAMED(bad_block_and_bad_parity), 3, 1);
	parity_test(NAMED(bad_input_of_parity_is_rebuilt), 3, 1);
	parity_test(NAMED_WIDE(bad_input_of_parity_is_rebuilt), 5, 1);
}

void run_parity(void)
{
	run_rows();
	run_intents();
	run_wide_reads();
	run_silent();
	run_chains_and_heals();
	run_amid();
}
