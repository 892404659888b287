// SPDX-License-Identifier: GPL-2.0-only
/*
 * A trim goes on after a restart, where the last superblock says; one that was stopped does not.
 * Three batches of runs between written blocks, of which the second one waits for the legs.
 */
#include <linux/mutex.h>

#include "script.h"
#include "trim_test.h"
#include "super/commit.h"
#include "work/trim.h"

#define LEG	16384u		/* blocks of a leg */
#define EVERY	32u		/* one block of so many is written */
#define BATCH	(64u * EVERY)	/* a batch takes so many runs */
#define END	(3 * BATCH)	/* nothing is written behind that */

enum how { CUT, CUT_LATER, STOP, ORDERED, ORDERED_LATE, HOWS };

static struct {
	struct kvp_trim_info info;	/* of the last superblock of the life before */
} own;

static bool is_ordered(const struct script *t)
{
	return t->turn % HOWS >= ORDERED;
}

static void note(struct kvp_pool *pool)
{
	mutex_lock(&pool->sb_lock);
	kvp_sb_note(pool);
	mutex_unlock(&pool->sb_lock);
}

/* Begin a trim, and come to where the second batch waits for the legs. */
static void begin(struct script *t)
{
	struct kvp_pool *pool = t->host.pool;
	u32 i;

	for (i = 0; i < END; i += EVERY)
		host_write(&t->host, i, 1, false);
	host_checkpoint(&t->host);
	for (i = 0; i < t->start.legs; i++)
		disks_stall(i, disks.data_start + BATCH, disks.data_start + 2 * BATCH);
	if (kvp_trim_start(pool))
		sim_fail("no trim starts");
	/* As if the first batch took so long. */
	if (t->turn % HOWS == CUT)
		pool->trim->noted = jiffies - KVP_NOTE_WORK - 1;
	for (i = 0; !disks_wait() && i < 1000; i++)
		host_sleep(10);
	if (t->turn % HOWS != CUT)
		note(pool);
	own.info = pool->sb->trim;
	if (own.info.state != KVP_TRIM_RUNNING || own.info.cursor != BATCH ||
	    own.info.blocks != BATCH - BATCH / EVERY)
		sim_fail("the superblock has state %u, at block %llu, with %llu", own.info.state,
			 kvp_block_nr(own.info.cursor), own.info.blocks);
}

static void end(struct script *t)
{
	struct kvp_pool *pool = t->host.pool;

	begin(t);
	if (t->turn % HOWS <= CUT_LATER)
		return;
	if (t->turn % HOWS != ORDERED)
		kvp_trim_end_soon(pool);
	disks_release_all();
	if (t->turn % HOWS != ORDERED)
		kvp_trim_quiesce(pool);
	if (is_ordered(t) && kvp_trim_stop(pool))
		sim_fail("the trim is not stopped");
	own.info = pool->trim->info;
	if (is_ordered(t) && pool->sb->trim.state != KVP_TRIM_STOPPED)
		sim_fail("the superblock has state %u", pool->sb->trim.state);
}

/* It tells the legs of the rest, and of nothing that they were told of before. */
static void goes_on(struct script *t)
{
	struct kvp_pool *pool = t->host.pool;
	struct kvp_trim *trim = pool->trim;
	u64 all = pool->sb->pool_blocks - END / EVERY;
	u32 i;

	flush_work(&trim->work);
	if (trim->info.state != (is_ordered(t) ? KVP_TRIM_STOPPED : KVP_TRIM_FINISHED))
		sim_fail("the trim is in state %u", trim->info.state);
	if (is_ordered(t) ? trim->info.blocks != own.info.blocks : trim->info.blocks != all)
		sim_fail("%llu blocks in all, of %llu", trim->info.blocks, all);
	if (disks.discarded != t->start.legs * (trim->info.blocks - own.info.blocks))
		sim_fail("%u blocks discarded, and %llu were left", disks.discarded,
			 trim->info.blocks - own.info.blocks);
	for (i = 0; i < END; i += EVERY)
		host_read_each(&t->host, i, 2);
	own.info = trim->info;
}

static bool play(struct script *t)
{
	if (!script_live(t, end, t->turn % HOWS <= CUT_LATER))
		return false;
	script_keep(t);
	if (!script_live(t, goes_on, false))
		return false;
	script_keep(t);
	return script_live(t, goes_on, false);
}

/* --- a leg hangs --------------------------------------------------------------------------- */

#define TIMEOUT	5u		/* seconds */

/*
 * A leg keeps what it is told of, and answers all else. Other blocks go home meanwhile, and there
 * are checkpoints. A write into the range does not go home until the leg is out, which takes four
 * times leg_timeout, as the leg answers. The trim goes on without it (R28). What the leg does later
 * harms nothing.
 */
static void leg_keeps_discards(struct script *t)
{
	struct kvp_pool *pool = t->host.pool;
	u64 since;
	u32 i;

	WRITE_ONCE(pool->tunables[KVP_T_LEG_TIMEOUT], TIMEOUT);
	for (i = 0; i < END; i += EVERY)
		host_write(&t->host, i, 1, false);
	host_checkpoint(&t->host);
	disks_stall(1, disks.data_start + BATCH, disks.data_start + 2 * BATCH);
	if (kvp_trim_start(pool))
		sim_fail("no trim starts");
	for (i = 0; !disks_wait() && i < 1000; i++)
		host_sleep(10);
	since = ktime_get_ns();
	host_write(&t->host, 1, 2, true);
	host_checkpoint(&t->host);
	host_write(&t->host, BATCH + EVERY + 1, 2, true);
	if (ktime_get_ns() - since > NSEC_PER_SEC || !kvp_leg_in_sync(&pool->legs[1]))
		sim_fail("other blocks wait for a leg that keeps a discard");
	host_checkpoint(&t->host);
	if (ktime_get_ns() - since > (4 * TIMEOUT + 3) * NSEC_PER_SEC)
		sim_fail("a leg that keeps a discard is not left");
	if (kvp_leg_in_sync(&pool->legs[1]))
		sim_fail("a leg that keeps a discard is in use: the case was not set up");
	flush_work(&pool->trim->work);
	if (pool->trim->info.state != KVP_TRIM_FINISHED)
		sim_fail("the trim is in state %u", pool->trim->info.state);
	disks_release_all();
	host_sleep(100);
	for (i = 0; i < END; i += EVERY)
		host_read_each(&t->host, i, 3);
	if (host_online(&t->host, 1))
		sim_fail("the leg does not return: %s", t->host.refusal.why);
	host_wait_resilver(&t->host);
	if (!kvp_leg_in_sync(&pool->legs[1]))
		sim_fail("the leg is in state %u", pool->legs[1].state);
	host_read_each(&t->host, BATCH + EVERY, 4);
}

void run_trims(void)
{
	static const struct host_start shape = { .legs = 2 };
	static const struct script_case hangs = {
		.name = "discards:mirror:trim_beside_a_hung_leg", .shape = &shape, .blank = LEG,
		.blocks = LEG, .act = leg_keeps_discards, .turns = 2, .most = 2, .salt = 1150,
	};
	static const struct script_case c = {
		.name = "discards:mirror:trim_goes_on", .shape = &shape, .blank = LEG,
		.blocks = LEG, .play = play, .turns = HOWS, .most = HOWS, .salt = 1100,
		.own = &own, .own_size = sizeof(own),
	};

	script_run(&c);
	script_run(&hangs);
}
