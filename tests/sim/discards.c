// SPDX-License-Identifier: GPL-2.0-only
/*
 * Discards, and written zeros: the blocks that they cover, their neighbours and later writes, cut
 * everywhere.
 */
#include <linux/completion.h>
#include <linux/mm.h>

#include "life.h"
#include "script.h"
#include "trim_test.h"
#include "log/log.h"
#include "ram/wbuf.h"
#include "table/table.h"
#include "work/destage.h"
#include "work/trim.h"

/* What a case remembers; zeroed for each turn. */
static struct {
	struct completion busy, done;
	u32 begun;
	u32 discards;
	struct rng rng;
	bool stops;		/* the writer is to end */
	u64 switches;	/* of the last start: a recovery makes way at each step */
} own;

static void read_range(struct script *t, u64 block, u32 count)
{
	while (count--)
		host_read_check(&t->host, block++);
}

/* --- what a recovery does with many ---------------------------------------------------- */

#define OVERLAPPING	64	/* discards */
#define OVERLAP_END	200	/* of each; every second block before it has newer data */

static void overlap_write(struct script *t)
{
	u32 i;

	/* Each discard has one block more, so none is lost in another before the log has it. */
	for (i = 0; i < own.discards; i++) {
		host_discard(&t->host, OVERLAPPING - i, OVERLAP_END - OVERLAPPING + i);
		host_flush(&t->host);
	}
	for (i = OVERLAPPING; i < OVERLAP_END; i += 2)
		host_write(&t->host, i, 1, false);
	host_flush(&t->host);
}

static void overlap_read(struct script *t)
{
	read_range(t, 0, OVERLAP_END);
}

static void before_start(struct script *t)
{
	own.switches = sim_switches;
}

static void after_start(struct script *t)
{
	own.switches = sim_switches - own.switches;
}

/* The switches of a start, with @discards that overlap in the log; 0: the test has failed. */
static u64 overlap_switches(struct script *t, u32 discards)
{
	own.discards = discards;
	script_anew(t);
	if (!script_live_on(t, base_for(t->c->shape)->img, overlap_write, true))
		return 0;
	script_keep(t);
	return script_live(t, overlap_read, true) ? own.switches : 0;
}

/*
 * A recovery does not go over the same blocks for each discard: of several that overlap, it looks
 * at each newer record once.
 */
static bool overlapping(struct script *t)
{
	u64 one = overlap_switches(t, 1), many = overlap_switches(t, OVERLAPPING);

	return one && many &&
	       expect(many <= one + OVERLAPPING * 8, "%llu switches for %u discards, %llu for one",
		      many, OVERLAPPING, one);
}

static void expect_holes(struct script *t, u32 nr)
{
	if (t->host.pool->wbuf->nr_holes != nr)
		sim_fail("%u discards are pending, not %u: the case was not set up",
			 t->host.pool->wbuf->nr_holes, nr);
}

/* --- discards that are pending ---------------------------------------------------------------- */

/* A stream goes home by intent although a discard is pending, of other blocks. */
static void intents_beside(struct script *t)
{
	struct host *h = &t->host;

	host_write(h, 300, 8, false);
	host_flush(h);
	host_discard(h, 302, 4);
	host_flush(h);
	expect_holes(t, 1);
	host_write_by_intent(h, 104, 48);
	expect_holes(t, 1);
	host_flush(h);
	host_checkpoint(h);
	read_range(t, 104, 48);
	read_range(t, 300, 8);
}

/* A write over a pending discard must not be wiped when the discard is applied. */
static void written_over(struct script *t)
{
	struct host *h = &t->host;

	host_write(h, 96, 64, false);
	host_checkpoint(h);
	script_cut_from_here(t);
	host_discard(h, 120, 8);
	host_flush(h);
	expect_holes(t, 1);
	host_write_by_intent(h, 96, 64);
	host_flush(h);
	host_checkpoint(h);
	read_range(t, 96, 64);
}

/* A discard that touches the last one extends it, unless a write was accepted in between. */
static void neighbours_are_one(struct script *t)
{
	struct host *h = &t->host;

	/* These are at home: a reader that does not find the discard gets them from there. */
	host_write(h, 230, 10, false);
	host_checkpoint(h);
	host_discard(h, 234, 2);
	host_discard(h, 236, 2);
	host_discard(h, 232, 2);
	host_discard(h, 238, 1);
	read_range(t, 230, 10);
	host_flush(h);
	host_checkpoint(h);
	script_cut_from_here(t);
	host_write(h, 196, 10, false);
	host_write(h, 300, 6, false);
	host_flush(h);
	host_discard(h, 200, 2);
	host_discard(h, 202, 2);
	host_discard(h, 198, 3);
	expect_holes(t, 1);
	host_discard(h, 300, 2);
	host_write(h, 302, 1, false);
	host_discard(h, 302, 2);
	expect_holes(t, 3);
	read_range(t, 196, 10);
	read_range(t, 300, 6);
	host_flush(h);
	host_checkpoint(h);
	read_range(t, 196, 10);
	read_range(t, 300, 6);
}

/*
 * An acknowledged version is discarded without a flush: its record dies only when the discard is
 * home.
 */
static void acknowledged_before(struct script *t)
{
	struct host *h = &t->host;

	host_write(h, 70, 2, false);
	host_flush(h);
	host_discard(h, 70, 2);
	host_destage(h);
	host_sleep(300);
	host_flush(h);
	host_destage(h);
	host_sleep(300);
}

/*
 * The same, and an older discard of the block is durable, and pending: it is no reason to drop the
 * version.
 */
static void older_is_no_reason(struct script *t)
{
	struct kvp_wbuf *w = t->host.pool->wbuf;
	struct host *h = &t->host;
	struct kvp_version *d;
	u32 n = 0;

	host_discard(h, 70, 2);
	host_flush(h);
	host_write(h, 70, 2, false);
	host_flush(h);
	host_sleep(10);
	host_discard(h, 70, 2);
	expect_holes(t, 2);
	list_for_each_entry(d, &w->logged, list) {
		if (d->hole || !kvp_wbuf_superseded(d))
			continue;
		n++;
		if (kvp_wbuf_outlived(w, d))
			sim_fail("a durable version may go, and the discard of it is not durable");
	}
	if (n != 2)
		sim_fail("%u versions wait for destage: the case was not set up", n);
	host_destage(h);
	host_sleep(300);
	host_flush(h);
	host_destage(h);
	host_sleep(300);
	read_range(t, 70, 2);
}

static void discard_many(void *arg)
{
	struct script *t = arg;

	/* Two in turns, so that none touches the one before. */
	for (own.begun = 0; own.begun < t->host.pool->wbuf->most_holes + 100; own.begun++)
		host_discard(&t->host, own.begun % 2 ? 300 : 310, 2);
	complete(&own.done);
}

/* The pending discards have a limit: those beyond it wait, and nothing else does. */
static void beyond_the_limit(struct script *t)
{
	struct host *h = &t->host;
	u32 most = h->pool->wbuf->most_holes, i;

	host_write(h, 20, 1, true);
	disks_hold_homes(t->start.legs, 64);
	host_destage(h);
	host_sleep(100);
	init_completion(&own.done);
	sim_spawn("discards", discard_many, t);
	for (i = 0; own.begun < most && i < 1000; i++)
		host_sleep(20);
	host_sleep(2000);
	expect_holes(t, most);
	script_cut_from_here(t);
	t->cuts = 20;
	host_write(h, 30, 1, true);
	host_write(h, 310, 1, true);
	host_write(h, 400, 40, false);
	host_flush(h);
	read_range(t, 400, 40);
	expect_holes(t, most);
	disks_release_all();
	wait_for_completion(&own.done);
	host_checkpoint(h);
	expect_holes(t, 0);
	read_range(t, 300, 12);
}

/* Ranges over one another, in one another, twice, and next to one another: found, and no others. */
static bool in_ranges(const u64 (*at)[2], u32 nr, u64 first, u64 last)
{
	while (nr--)
		if (at[nr][0] <= last && at[nr][1] >= first)
			return true;
	return false;
}

static void change_ranges(struct kvp_pending *p, u64 (*at)[2], u32 *nr, u64 dice)
{
	u64 first = dice % 200, last = first + (dice >> 8) % ((dice >> 16) % 4 ? 5 : 100);
	u32 i = *nr ? (dice >> 24) % *nr : 0;

	if (!*nr || (*nr < KVP_PENDING_MAX && (dice >> 40) % 8 < 5)) {
		__kvp_pending_add(p, first, last);
		at[*nr][0] = first;
		at[(*nr)++][1] = last;
	} else if ((dice >> 40) % 8 == 7) {
		__kvp_pending_grow(p, at[i][0], at[i][1], min(first, at[i][0]),
				   max(last, at[i][1]));
		at[i][0] = min(first, at[i][0]);
		at[i][1] = max(last, at[i][1]);
	} else {
		__kvp_pending_del(p, at[i][0], at[i][1]);
		memcpy(at[i], at[--*nr], sizeof(at[i]));
	}
}

static void ranges_are_found(struct script *t)
{
	static struct kvp_pending p;
	static u64 at[KVP_PENDING_MAX][2];
	spinlock_t lock;
	u32 nr = 0, i;
	u64 b;

	spin_lock_init(&lock);
	kvp_pending_init(&p, &lock);
	for (i = 0; i < 3000; i++) {
		spin_lock(&lock);
		change_ranges(&p, at, &nr, mix64(t->start.rotational, i));
		spin_unlock(&lock);
		if (nr != p.nr)
			sim_fail("%u ranges, not %u", p.nr, nr);
		for (b = 0; i % 16 == 0 && b < 320; b++)
			if (kvp_pending_any(&p, b, b + b % 3) != in_ranges(at, nr, b, b + b % 3))
				sim_fail("block %llu of %u ranges, after %u changes", b, nr, i);
	}
	if (nr < KVP_PENDING_MAX / 2)
		sim_fail("only %u ranges: the case was not set up", nr);
	script_cut_from_here(t);
}

/*
 * --- zeros that are written ---------------------------------------------------------------------
 */

static void expect_unwritten(struct script *t, u64 block, u32 count)
{
	struct kvp_pool *pool = t->host.pool;

	for (; count--; block++) {
		struct kvp_tpage *leaf = kvp_table_load(pool->table, block);

		if (kvp_entry_state(kvp_table_entry(leaf, block)) !=
		    KVP_ENTRY_UNWRITTEN)
			sim_fail("block %llu counts as written, and is zeros", block);
		kvp_table_put(leaf);
	}
}

/* A long run of zeros in a stream becomes a discard: it is not written home. */
static void zeros_in_a_stream(struct script *t)
{
	struct host *h = &t->host;
	u64 before;

	host_write(h, 160, 200, false);
	host_checkpoint(h);
	script_cut_from_here(t);
	t->cuts = 60;
	before = h->pool->log->intent_blocks;
	host_write(h, 160, 48, false);
	host_write_zeros(h, 208, 43);
	host_write(h, 251, 53, false);
	host_flush(h);
	/* Where entries end, a few blocks are data. Intents are on both sides of the zeros. */
	if (h->pool->log->intent_blocks <= before + 53)
		sim_fail("%llu intents: the case was not set up",
			 h->pool->log->intent_blocks - before);
	read_range(t, 160, 144);
	host_checkpoint(h);
	expect_unwritten(t, 208, 43);
	read_range(t, 160, 144);
}

/*
 * Only zeros, several entries long, over written blocks; and over blocks that the log has intents
 * of.
 */
static void zeros_only(struct script *t)
{
	struct host *h = &t->host;

	host_write(h, 104, 40, false);
	host_sleep(1500);
	host_write_zeros(h, 96, 300);
	host_flush(h);
	host_write(h, 150, 1, true);
	host_checkpoint(h);
	expect_unwritten(t, 96, 54);
	expect_unwritten(t, 151, 245);
	read_range(t, 96, 300);
}

/* --- trim ------------------------------------------------------------ */

static void trim(struct script *t)
{
	int ret = kvp_trim_start(t->host.pool);

	if (ret)
		sim_fail("trim does not start: %d", ret);
	flush_work(&t->host.pool->trim->work);
	if (t->host.pool->trim->info.state != KVP_TRIM_FINISHED)
		sim_fail("trim ended in state %u", t->host.pool->trim->info.state);
}

/* Trim discards all unwritten runs of a useful length on the legs, and nothing else. */
static void trim_tells(struct script *t)
{
	struct host *h = &t->host;
	u32 told;

	host_write(h, 0, h->pool->sb->pool_blocks, false);
	host_checkpoint(h);
	host_discard(h, 100, 60);
	host_discard(h, 301, 90);
	host_write_zeros(h, 200, 33);
	host_flush(h);
	script_cut_from_here(t);
	trim(t);
	/*
	 * a parity1 discards whole stripes: 104 to 159, 200 to 231, 304 to 391; each of its three
	 * legs half as much
	 */
	told = t->start.parity ? 3 * (56 + 32 + 80) / 2 : t->start.legs * (60 + 33 + 90);
	if (disks.discarded != told)
		sim_fail("%u blocks of the legs were discarded, not %u", disks.discarded, told);
	read_range(t, 0, 512);
	host_write(h, 102, 20, false);
	host_write(h, 310, 2, true);
	host_write(h, 200, 1, true);
	trim(t);
	host_checkpoint(h);
	read_range(t, 0, 512);
}

static void write_and_discard(void *arg)
{
	struct script *t = arg;
	struct host *h = &t->host;
	u32 i;

	for (i = 0; i < 12; i++) {
		host_write(h, 104 + i % 3 * 8, 40, false);
		if (i % 3 == 1)
			host_flush(h);
		host_write(h, 200 + i, 3, i % 2);
		host_discard(h, 104 + i % 2 * 16, 32);
		host_destage(h);
		host_sleep(5 * (i % 4));
		host_discard(h, 200, 20 + i);
	}
	host_flush(h);
	own.begun = 0;
	complete(&own.done);
}

/* While others write there, at home and by intent, and discard again. */
static void trim_beside_writers(struct script *t)
{
	script_cut_from_here(t);
	t->cuts = opt.images < 3 ? 40 : 120;
	own.begun = 1;
	init_completion(&own.done);
	sim_spawn("writer", write_and_discard, t);
	while (READ_ONCE(own.begun)) {
		trim(t);
		host_sleep(1);
	}
	wait_for_completion(&own.done);
	read_range(t, 96, 150);
	host_checkpoint(&t->host);
	trim(t);
	read_range(t, 96, 150);
}

/* A write during a leg's discard is written home after it. */
static void trim_holds_homes_up(struct script *t)
{
	struct host *h = &t->host;
	u32 i;

	host_write(h, 0, 300, false);
	host_discard(h, 96, 96);
	host_checkpoint(h);
	script_cut_from_here(t);
	for (i = 0; i < t->start.legs; i++)
		disks_stall(i, disks.data_start + 40, disks.data_start + 200);
	if (kvp_trim_start(h->pool))
		sim_fail("trim does not start");
	for (i = 0; !disks.discarded && i < 100; i++)
		host_sleep(10);
	host_write_by_intent(h, 104, 48);
	host_write(h, 160, 3, false);
	host_sleep(1500);
	expect_unwritten(t, 96, 96);
	read_range(t, 96, 96);
	disks_release_all();
	flush_work(&h->pool->trim->work);
	host_flush(h);
	host_checkpoint(h);
	read_range(t, 96, 96);
}

/*
 * A table entry that is only in memory is not passed to a leg: a start that gives up the log would
 * read it.
 */
static void trim_after_checkpoint(struct script *t)
{
	struct host *h = &t->host;
	struct kvp_pool *pool = h->pool;
	u64 checkpoints;

	host_write(h, 100, 60, false);
	host_checkpoint(h);
	kvp_trim_quiesce(pool);
	if (kvp_trim_start(pool))
		sim_fail("trim does not start");
	flush_work(&pool->trim->work);
	pool->trim->waited = true;	/* as if it had begun */
	host_discard(h, 100, 60);
	host_flush(h);
	if (!host_try_home(h))
		sim_fail("there was a checkpoint: the case was not set up");
	checkpoints = pool->sb->checkpoint;
	kvp_trim_unquiesce(pool);
	flush_work(&pool->trim->work);
	if (pool->trim->info.state != KVP_TRIM_FINISHED || !disks.discarded ||
	    pool->sb->checkpoint == checkpoints)
		sim_fail("state %u, %u blocks discarded, %llu checkpoints", pool->trim->info.state,
			 disks.discarded,
			 pool->sb->checkpoint - checkpoints);
}

static void write_directly(void *arg)
{
	struct script *t = arg;

	host_sleep(2 * own.begun);
	host_write(&t->host, 104, 48, false);
	kvp_commit_now(t->host.pool->log);
	kvp_commit_kick(t->host.pool->log, true);
	host_sleep(1500);
	complete(&own.busy);
}

/* What trim saw unwritten is written by intent before trim has its lock, in some of the rounds. */
static void trim_looks_again(struct script *t)
{
	struct host *h = &t->host;
	struct kvp_pool *pool = h->pool;
	u32 i;

	t->cuts = 4;
	for (i = 0; i < 24; i++) {
		host_discard(h, 0, pool->sb->pool_blocks);
		host_checkpoint(h);
		kvp_trim_quiesce(pool);
		if (kvp_trim_start(pool))
			sim_fail("trim does not start");
		flush_work(&pool->trim->work);
		pool->trim->waited = true;	/* as if it had begun: it waits for no write */
		init_completion(&own.busy);
		own.begun = i;
		sim_slow = "kvpool-scrub";
		sim_spawn("direct", write_directly, t);
		kvp_trim_unquiesce(pool);
		flush_work(&pool->trim->work);
		sim_slow = NULL;
		wait_for_completion(&own.busy);
		read_range(t, 96, 64);
	}
}

/* --- passing down ------------------------------------------------------------ */

/* The legs' blocks discarded since the last call; seeking legs get none. */
static void expect_passed(struct script *t, u32 *before, u32 mirror, u32 parity)
{
	u32 want = t->start.parity ? 3 * parity / 2 : t->start.legs * mirror;

	flush_work(&t->host.pool->passdown->work);
	if (disks.discarded - *before != (t->start.rotational ? 0 : want))
		sim_fail("%u blocks of the legs were discarded, not %u", disks.discarded - *before,
			 want);
	*before = disks.discarded;
}

/* Only with the tunable, only after a checkpoint, and nothing that was written again. */
static void passed_down(struct script *t)
{
	struct host *h = &t->host;
	u32 told = 0;

	host_write(h, 0, h->pool->sb->pool_blocks, false);
	host_discard(h, 100, 60);
	host_checkpoint(h);
	expect_passed(t, &told, 0, 0);
	if (kvp_pool_set(h->pool, KVP_T_DISCARD_PASSDOWN, 1))
		sim_fail("discard_passdown cannot be set");
	t->cuts = opt.images < 3 ? 6 : 100;
	host_discard(h, 301, 90);
	host_flush(h);
	host_write(h, 330, 5, false);
	host_flush(h);
	if (host_try_home(h))
		expect_passed(t, &told, 0, 0);
	script_cut_from_here(t);
	host_checkpoint(h);
	/* 301 to 329 and 335 to 390; of whole stripes 304 to 327 and 336 to 383. */
	expect_passed(t, &told, 29 + 56, 24 + 48);
	read_range(t, 290, 110);
	/* Written again behind the checkpoint, at home and by intent. */
	host_write(h, 310, 2, false);
	host_write_by_intent(h, 344, 24);
	host_checkpoint(h);
	expect_passed(t, &told, 0, 0);
	read_range(t, 290, 110);
}

/*
 * Dirty pages of the table are written first. Blocks written again since the checkpoint are left
 * alone.
 */
static void passed_down_late(struct script *t)
{
	struct host *h = &t->host;
	struct kvp_pool *pool = h->pool;
	u64 checkpoints;
	u32 told = 0;

	t->cuts = opt.images < 3 ? 6 : 100;
	if (kvp_pool_set(pool, KVP_T_DISCARD_PASSDOWN, 1))
		sim_fail("discard_passdown cannot be set");
	host_write(h, 100, 180, false);
	host_checkpoint(h);
	kvp_trim_quiesce(pool);
	host_discard(h, 104, 96);
	host_checkpoint(h);
	host_write(h, 120, 8, false);
	host_checkpoint(h);
	host_discard(h, 208, 16);
	host_flush(h);
	if (!host_try_home(h))
		sim_fail("there was a checkpoint: the case was not set up");
	checkpoints = pool->sb->checkpoint;
	script_cut_from_here(t);
	kvp_trim_unquiesce(pool);
	/* The second discard is there by its checkpoint. */
	expect_passed(t, &told, 16 + 72 + 16, 16 + 72 + 16);
	if (!t->start.rotational && pool->sb->checkpoint == checkpoints)
		sim_fail("legs were told of discards that no checkpoint had");
	read_range(t, 96, 190);
	host_write(h, 104, 20, true);
	read_range(t, 96, 190);
	host_checkpoint(h);
	read_range(t, 96, 190);
}

/* More than the limit that is remembered: the rest is dropped, without a wait. */
static void passed_down_in_part(struct script *t)
{
	struct kvp_pool *pool = t->host.pool;
	u32 i, told = 0;

	t->cuts = 4;
	if (kvp_pool_set(pool, KVP_T_DISCARD_PASSDOWN, 1))
		sim_fail("discard_passdown cannot be set");
	kvp_trim_quiesce(pool);
	mutex_lock(&pool->checkpoint_lock);
	for (i = 0; i < KVP_PASSDOWN_RANGES + 5; i++)
		kvp_passdown_note(pool, i * 2, 1);
	mutex_unlock(&pool->checkpoint_lock);
	if (!t->start.rotational && (pool->passdown->nr != KVP_PASSDOWN_RANGES ||
				     pool->passdown->dropped != 5))
		sim_fail("%u ranges, %llu blocks dropped", pool->passdown->nr,
			 pool->passdown->dropped);
	if (kvp_pool_set(pool, KVP_T_DISCARD_PASSDOWN, 0))
		sim_fail("discard_passdown cannot be set");
	host_write(&t->host, 0, 2, false);
	host_checkpoint(&t->host);
	kvp_trim_unquiesce(pool);
	expect_passed(t, &told, 0, 0);
	if (pool->passdown->nr)
		sim_fail("%u ranges are left", pool->passdown->nr);
}

/*
 * Writes go home while batches are passed down, so that soon a page of the table is dirty again.
 * There are no more of them: a round of destage that takes much of the log makes a checkpoint of
 * its own.
 */
static void keep_busy(void *arg)
{
	struct script *t = arg;
	u32 i;

	for (i = 0; t->host.pool->passdown->ready; i++) {
		if (kvp_table_dirty(t->host.pool->table)) {
			host_sleep(1);
			continue;
		}
		host_write(&t->host, 280 + i % 16, 1, false);
		host_flush(&t->host);
		host_try_home(&t->host);
	}
	complete(&own.busy);
}

/*
 * On a busy pool something is always dirty in the table. Two of the ranges lie over one another, so
 * there are two batches, and two checkpoints are enough. Locked blocks are not told, and are
 * counted.
 */
static void passed_down_together(struct script *t)
{
	struct host *h = &t->host;
	struct kvp_pool *pool = h->pool;
	struct kvp_range lock;
	u64 checkpoints;
	u32 told = 0, i;

	t->cuts = 4;
	if (kvp_pool_set(pool, KVP_T_DISCARD_PASSDOWN, 1))
		sim_fail("discard_passdown cannot be set");
	host_write(h, 0, 300, false);
	host_checkpoint(h);
	kvp_trim_quiesce(pool);
	for (i = 0; i < 8; i++)
		host_discard(h, 32 * i, 16);
	host_checkpoint(h);
	/* Over the last one, which is not joined to it. */
	host_discard(h, 32 * 7, 24);
	host_checkpoint(h);
	if (!t->start.rotational && (pool->passdown->nr != 9 || pool->passdown->ready != 9))
		sim_fail("%u ranges, %u of them ready: the case was not set up",
			 pool->passdown->nr,
			 pool->passdown->ready);
	host_write(h, 299, 1, false);
	host_flush(h);
	if (!host_try_home(h))
		sim_fail("there was a checkpoint: the case was not set up");
	checkpoints = pool->sb->checkpoint;
	kvp_range_lock(&pool->ranges, &lock, 40, 40);
	init_completion(&own.busy);
	sim_slow = "kvpool-scrub";
	sim_spawn("busy", keep_busy, t);
	kvp_trim_unquiesce(pool);
	flush_work(&pool->passdown->work);
	kvp_range_unlock(&pool->ranges, &lock);
	wait_for_completion(&own.busy);
	sim_slow = NULL;
	if (pool->sb->checkpoint > checkpoints + 2)
		sim_fail("%llu checkpoints for nine ranges", pool->sb->checkpoint - checkpoints);
	expect_passed(t, &told, 7 * 16 + 24, 0);
	if (!t->start.rotational && (pool->passdown->dropped != 16 ||
				     pool->passdown->blocks != 7 * 16 + 24))
		sim_fail("%llu blocks dropped, and %llu passed down", pool->passdown->dropped,
			 pool->passdown->blocks);
}

#define AT_RANDOM	280u	/* blocks */

static void write_at_random(void *arg)
{
	struct script *t = arg;

	while (!own.stops) {
		u32 n = 1 + rng_below(&own.rng, rng_chance(&own.rng, 300) ? 48 : 6);
		u64 block = rng_below(&own.rng, AT_RANDOM - n);

		if (rng_chance(&own.rng, 500))
			host_discard(&t->host, block, n);
		else
			host_write(&t->host, block, n, rng_chance(&own.rng, 100));
		if (rng_chance(&own.rng, 200))
			kvp_destage_ask(t->host.pool);
		host_sleep(rng_below(&own.rng, 4));
	}
	complete(&own.busy);
}

/* One of what may come while ranges are passed down: a lock, a stop, the tunable, a checkpoint. */
static void disturb(struct script *t)
{
	struct kvp_pool *pool = t->host.pool;
	struct kvp_range lock;

	switch (rng_below(&own.rng, 8)) {
	case 0:
		kvp_trim_quiesce(pool);
		host_sleep(rng_below(&own.rng, 30));
		kvp_trim_unquiesce(pool);
		break;
	case 1:
		if (kvp_pool_set(pool, KVP_T_DISCARD_PASSDOWN, rng_chance(&own.rng, 700)))
			sim_fail("discard_passdown cannot be set");
		break;
	case 2:
		kvp_range_lock(&pool->ranges, &lock, rng_below(&own.rng, AT_RANDOM - 32), 32);
		host_sleep(rng_below(&own.rng, 30));
		kvp_range_unlock(&pool->ranges, &lock);
		break;
	case 3:
		sim_slow = rng_chance(&own.rng, 500) ? "kvpool-scrub" : NULL;
		break;
	default:
		host_checkpoint(&t->host);
	}
	mutex_lock(&pool->checkpoint_lock);
	if (pool->passdown->ready > pool->passdown->nr ||
	    pool->passdown->nr > KVP_PASSDOWN_RANGES)
		sim_fail("%u of %u ranges are ready", pool->passdown->ready, pool->passdown->nr);
	mutex_unlock(&pool->checkpoint_lock);
}

/*
 * Ranges are passed down while others come, by batches, and one of the legs may die. In the end
 * none is left, and nothing else than unused blocks was discarded.
 */
static void passed_down_at_random(struct script *t)
{
	struct host *h = &t->host;
	struct kvp_pool *pool = h->pool;
	u32 i, dies;

	t->cuts = 4;
	own.rng.s = mix64(t->seed, 53);
	dies = t->start.legs > 1 && rng_chance(&own.rng, 500) ? rng_below(&own.rng, 60) : 60;
	if (kvp_pool_set(pool, KVP_T_DISCARD_PASSDOWN, 1))
		sim_fail("discard_passdown cannot be set");
	host_write(h, 0, AT_RANDOM, false);
	host_checkpoint(h);
	init_completion(&own.busy);
	sim_spawn("writer", write_at_random, t);
	for (i = 0; i < 60; i++) {
		if (i == dies)
			disks_kill(t->start.legs - 1);
		disturb(t);
		host_sleep(rng_below(&own.rng, 20));
	}
	own.stops = true;
	wait_for_completion(&own.busy);
	sim_slow = NULL;
	script_cut_from_here(t);
	host_checkpoint(h);
	flush_work(&pool->passdown->work);
	if (pool->passdown->nr)
		sim_fail("%u ranges are left, %u of them ready", pool->passdown->nr,
			 pool->passdown->ready);
	if (!t->start.rotational && !(pool->passdown->blocks && disks.discarded))
		sim_fail("nothing was passed down: the case was not set up");
	read_range(t, 0, AT_RANDOM);
	life_expect_scrubbed(h);
	script_note_lost(t);
}

static void set_up(struct script *t)
{
	t->start.rotational = t->turn % 2;
}

static void end(struct script *t)
{
	host_cache_check(&t->host);
}

static void test(const char *kind, const char *what, void (*act)(struct script *t),
		 const struct host_start *shape)
{
	char name[80];
	struct script_case c = {
		.name = name, .shape = shape, .set_up = set_up, .act = act, .end = end,
		.leave = true, .turns = opt.thorough ? 8 : 2, .first_plain = true, .salt = 1000,
		.cuts = SCRIPT_EVERYWHERE, .depth = CHECK_RECRASH, .own = &own,
		.own_size = sizeof(own),
	};

	snprintf(name, sizeof(name), "discards:%s:%s", kind, what);
	script_run(&c);
}

static void overlapping_test(void)
{
	static const struct host_start shape = { .legs = 2 };
	static const struct script_case c = {
		.name = "discards:mirror:overlapping", .shape = &shape, .prepare = before_start,
		.begin = after_start, .play = overlapping, .turns = 1, .most = 1,
		.first_plain = true, .own = &own, .own_size = sizeof(own),
	};

	script_run(&c);
}

#define ON(kind, n, parity1, what) \
	test(kind, #what, what, &(struct host_start){ .legs = n, .parity = parity1 })

void run_discards(void)
{
	ON("mirror", 2, false, intents_beside);
	ON("parity", 3, true, intents_beside);
	ON("mirror", 2, false, written_over);
	ON("single", 1, false, written_over);
	ON("parity", 3, true, written_over);
	ON("mirror", 2, false, neighbours_are_one);
	ON("parity", 3, true, neighbours_are_one);
	ON("mirror", 2, false, acknowledged_before);
	ON("mirror", 2, false, older_is_no_reason);
	ON("mirror", 2, false, beyond_the_limit);
	ON("parity", 3, true, beyond_the_limit);
	ON("single", 1, false, ranges_are_found);
	ON("mirror", 2, false, zeros_in_a_stream);
	ON("parity", 3, true, zeros_in_a_stream);
	ON("mirror", 2, false, zeros_only);
	ON("single", 1, false, zeros_only);
	ON("parity", 3, true, zeros_only);
	ON("mirror", 2, false, passed_down);
	ON("parity", 3, true, passed_down);
	ON("mirror", 2, false, passed_down_late);
	ON("single", 1, false, passed_down_in_part);
	ON("mirror", 2, false, passed_down_together);
	ON("mirror", 2, false, passed_down_at_random);
	ON("single", 1, false, passed_down_at_random);
	ON("parity", 3, true, passed_down_at_random);
	ON("mirror", 2, false, trim_tells);
	ON("single", 1, false, trim_tells);
	ON("parity", 3, true, trim_tells);
	ON("mirror", 2, false, trim_beside_writers);
	ON("parity", 3, true, trim_beside_writers);
	ON("mirror", 2, false, trim_holds_homes_up);
	ON("parity", 3, true, trim_holds_homes_up);
	ON("mirror", 2, false, trim_looks_again);
	ON("parity", 3, true, trim_looks_again);
	ON("mirror", 2, false, trim_after_checkpoint);
	overlapping_test();
	run_trims();
}
