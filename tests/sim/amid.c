// SPDX-License-Identifier: GPL-2.0-only
/*
 * A leg of a parity1 leaves while stripes are on their way home by intent (R7): a flush fails
 * before that can be recorded, another parity1 of the pool has such stripes or loses a leg, too, or
 * the leg is back before all has become data. What was left is cut, and looked at without any one
 * leg.
 */
#include <stdlib.h>
#include <string.h>

#include <linux/completion.h>

#include "script.h"
#include "core/vdev.h"
#include "log/internal.h"
#include "ram/wbuf.h"
#include "super/members.h"

#define COUNT		64u	/* blocks of each vdev: more slices than there are workers */
#define STARTED		16u	/* of these all slices have a worker */

/* What a case knows besides its script. */
static struct {
	u32 died_at;		/* position in the trace: no superblock from before counts */
	struct completion done;
} own;

/* --- where things are -------------------------------------------------------------------- */

/* The first of COUNT blocks of vdev @v. */
static u64 area(const struct script *t, u32 v)
{
	if (!t->start.second)
		return COUNT;
	return host_boundary(&t->start) - (v ? 0 : COUNT);
}

static u32 nr_vdevs(const struct script *t)
{
	return t->start.second ? 2 : 1;
}

static u32 disk_of(const struct script *t, u32 v, u32 leg)
{
	return v ? t->start.legs - t->start.second + leg : leg;
}

static void hold_homes(struct script *t, u32 v, u32 leg)
{
	u32 disk = disk_of(t, v, leg);

	disks_stall(disk, t->host.pool->vdevs.v[v].g->data_start,
		    disks.img[disk].blocks - KVP_LABEL_BLOCKS - 1);
}

static bool in_sync(struct script *t, u32 v, u32 leg)
{
	return kvp_leg_in_sync(host_leg(&t->host, disk_of(t, v, leg)));
}

/* --- steps ------------------------------------------------------------------------------- */

static void commit(struct script *t)
{
	kvp_commit_now(t->host.pool->log);
	kvp_commit_kick(t->host.pool->log, true);
	host_sleep(100);
}

/* All that is to be written over is durable, and in the table. */
static void write_older(struct script *t)
{
	u32 v;

	for (v = 0; v < nr_vdevs(t); v++)
		host_write(&t->host, area(t, v), COUNT, false);
	host_flush(&t->host);
	host_checkpoint(&t->host);
	script_cut_from_here(t);
}

/* @count blocks of vdev @v go home by intent, and wait for its leg 0. */
static void begin_stripes(struct script *t, u32 v, u32 count)
{
	u64 intents = t->host.pool->log->intent_blocks;

	hold_homes(t, v, 0);
	host_write(&t->host, area(t, v), count, false);
	commit(t);
	if (t->host.pool->log->intent_blocks != intents + count ||
	    !atomic_read(&t->host.pool->vdevs.v[v].homing))
		sim_fail("no stripes of vdev %u are on their way home: the case was not set up", v);
}

/* As when a log write fails. */
static void leaves(struct script *t, u32 v, u32 leg)
{
	if (!kvp_leg_fail(host_leg(&t->host, disk_of(t, v, leg)), "it died"))
		sim_fail("leg %u of vdev %u is needed", leg, v);
	t->crash.lost |= BIT(disk_of(t, v, leg));
	own.died_at = own.died_at ?: disks.trace.nr;
}

static void dies(struct script *t, u32 v, u32 leg)
{
	disks_kill(disk_of(t, v, leg));
	leaves(t, v, leg);
}

/* True if some superblock that was sent calls the leg out. */
static bool is_called_out(struct script *t, u32 v, u32 leg)
{
	const struct trace *trace = &disks.trace;
	static struct kvp_sb sb;
	u32 i;

	for (i = 0; i < trace->nr_requests; i++)
		if (trace->requests[i].submitted > own.died_at &&
		    host_wrote_superblock(&trace->requests[i], &sb) &&
		    sb.legs[host_leg(&t->host, disk_of(t, v, leg))->index].state !=
		    KVP_LEG_IN_SYNC)
			return true;
	return false;
}

static void expect_called_out(struct script *t, u32 v, u32 leg, bool out)
{
	if (is_called_out(t, v, leg) != out)
		sim_fail("leg %u of vdev %u is %scalled out", leg, v, out ? "not " : "");
}

static void wait_recorded(struct script *t)
{
	u32 i;

	for (i = 0; i < 1000 && kvp_members_dirty(t->host.pool); i++)
		host_sleep(1);
	if (kvp_members_dirty(t->host.pool))
		sim_fail("a loss was not recorded");
	t->crash.recorded_at = disks.trace.nr;
}

/* All that was written is durable, and nothing is open any more. */
static void end_well(struct script *t)
{
	u32 v, twice;

	host_flush(&t->host);
	for (twice = 0; twice < 2; twice++) {
		for (v = 0; v < nr_vdevs(t); v++)
			host_read_each(&t->host, area(t, v), COUNT);
		host_checkpoint(&t->host);
	}
	if (t->host.pool->log->nr_open || t->host.pool->log->withdrawn)
		sim_fail("intents are open after a checkpoint");
}

/* --- the flush before the superblock fails ------------------------------------------------ */

/* The leg that the pool needs fails flushes with @error. */
static void fail_the_flush(struct script *t, int error)
{
	struct fault *f;

	write_older(t);
	begin_stripes(t, 0, COUNT);
	dies(t, 0, 1);
	host_sleep(50);
	expect_called_out(t, 0, 1, false);
	f = disks_fault(FAULT_FLUSH_EIO, 0, 0, ~0ull);
	f->error = error;
	t->host.may_fail = true;
	disks_release(0);
	host_sleep(200);
	if (!f->hit)
		sim_fail("no flush failed: the case was not set up");
	expect_called_out(t, 0, 1, false);
	if (!kvp_pool_faulted(t->host.pool) || !host_flush(&t->host))
		sim_fail("a FLUSH succeeded, and stripes may be lost with a leg");
}

/* It is not known what was lost: only a restart helps, with all legs. */
static void flush_fails_before_a_loss_is_recorded(struct script *t)
{
	u32 i;

	fail_the_flush(t, 0);
	disks.nr_faults = 0;
	for (i = 0; i < 3; i++) {
		kvp_pool_clear(t->host.pool, -1);
		host_sleep(50);
		if (!host_flush(&t->host) || !host_write(&t->host, 5, 1, true))
			sim_fail("it succeeds behind a flush that failed");
	}
	expect_called_out(t, 0, 1, false);
}

/* It was never issued: clear makes another one, and then the loss is recorded. */
static void flush_is_not_issued_before_a_loss_is_recorded(struct script *t)
{
	fail_the_flush(t, -ENOMEM);
	disks.nr_faults = 0;
	kvp_pool_clear(t->host.pool, -1);
	t->host.may_fail = false;
	wait_recorded(t);
	expect_called_out(t, 0, 1, true);
	end_well(t);
}

/* --- two parity1s ------------------------------------------------------------------------- */

/* Of each a leg dies. The loss of neither is recorded before stripes of both are home. */
static void both_lose_a_leg(struct script *t)
{
	write_older(t);
	begin_stripes(t, 1, STARTED);
	begin_stripes(t, 0, COUNT);
	dies(t, 1, 1);
	dies(t, 0, 2);
	host_sleep(50);
	disks_release(disk_of(t, 0, 0));
	host_sleep(50);
	expect_called_out(t, 0, 2, false);
	expect_called_out(t, 1, 1, false);
	disks_release(disk_of(t, 1, 0));
	wait_recorded(t);
	end_well(t);
}

/* Stripes of the other one are no reason to wait: all its legs are there. They go home later. */
static void other_has_stripes(struct script *t)
{
	u64 data;

	write_older(t);
	begin_stripes(t, 0, COUNT);
	data = t->host.pool->log->data_blocks;
	dies(t, 1, 1);
	wait_recorded(t);
	expect_called_out(t, 1, 1, true);
	disks_release(disk_of(t, 0, 0));
	host_sleep(50);
	host_flush(&t->host);
	if (t->host.pool->log->data_blocks != data)
		sim_fail("stripes of a whole vdev became data");
	end_well(t);
}

/* An entry has intents of both. Those of the whole one go home, of the other what was begun. */
static void one_entry_of_both(struct script *t)
{
	u64 data;

	write_older(t);
	begin_stripes(t, 0, STARTED);
	hold_homes(t, 1, 0);
	data = t->host.pool->log->data_blocks;
	host_write(&t->host, area(t, 0) + STARTED, 2 * COUNT - STARTED, false);
	commit(t);
	dies(t, 1, 2);
	host_sleep(50);
	disks_release(disk_of(t, 0, 0));
	host_sleep(50);
	disks_release(disk_of(t, 1, 0));
	wait_recorded(t);
	end_well(t);
	if (t->host.pool->log->data_blocks == data)
		sim_fail("nothing became data: the case was not set up");
}

/*
 * A leg of the second one dies when stripes of the first one are home, and are being flushed. The
 * superblock that records the first loss does not record that one, as stripes are on their way.
 */
static void second_dies_during_the_flush(struct script *t)
{
	u32 i;

	write_older(t);
	begin_stripes(t, 1, STARTED);
	begin_stripes(t, 0, COUNT);
	dies(t, 0, 1);
	host_sleep(20);
	disks.flushes_stalled = true;
	disks_release(disk_of(t, 0, 0));
	for (i = 0; i < 200 && atomic_read(&t->host.pool->vdevs.v[0].homing); i++)
		host_sleep(1);
	host_sleep(20);
	expect_called_out(t, 0, 1, false);
	dies(t, 1, 2);
	disks.flushes_stalled = false;
	for (i = 0; i < 200 && !is_called_out(t, 0, 1); i++)
		host_sleep(1);
	host_sleep(50);
	expect_called_out(t, 0, 1, true);
	expect_called_out(t, 1, 2, false);
	disks_release(disk_of(t, 1, 0));
	wait_recorded(t);
	expect_called_out(t, 1, 2, true);
	end_well(t);
}

/* --- the leg is back ------------------------------------------------------------------------ */

static void return_task(void *arg)
{
	struct script *t = arg;

	if (host_online(&t->host, disk_of(t, 0, 1)))
		sim_fail("leg 1 does not return: %s", t->host.refusal.why);
	complete_all(&own.done);
}

static void begins_to_return(struct script *t)
{
	t->crash.back = BIT(disk_of(t, 0, 1));
	init_completion(&own.done);
	sim_spawn("returner", return_task, t);
}

static void has_returned(struct script *t)
{
	wait_for_completion(&own.done);
	host_wait_resilver(&t->host);
	if (!in_sync(t, 0, 1))
		sim_fail("leg 1 is in state %u",
			 host_leg(&t->host, disk_of(t, 0, 1))->state);
	t->crash.back_at = disks.trace.nr;
}

/* One leg of each vdev keeps blocks of the log. */
static void hold_log(struct script *t)
{
	u32 v, disk;

	for (v = 0; v < nr_vdevs(t); v++) {
		disk = disk_of(t, v, 2);
		disks_stall(disk, disks.log_first[disk], disks.log_end[disk] - 1);
	}
}

static void leaves_amid_stripes(struct script *t)
{
	write_older(t);
	begin_stripes(t, 0, COUNT);
	leaves(t, 0, 1);
}

/* It is back while what was withdrawn is on its way to the log, and in sync before that is home. */
static void back_as_stripes_become_data(struct script *t)
{
	struct kvp_log *log = t->host.pool->log;
	u32 i;

	leaves_amid_stripes(t);
	hold_log(t);
	disks_release(0);
	wait_recorded(t);
	for (i = 0; i < 200 && !log->withdrawn; i++)
		host_sleep(1);
	if (!log->withdrawn)
		sim_fail("nothing is withdrawn: the case was not set up");
	begins_to_return(t);
	host_sleep(50);
	host_write(&t->host, area(t, 0) + 8, STARTED, false);
	disks_release_all();
	has_returned(t);
	end_well(t);
	host_write_by_intent(&t->host, area(t, 0), 48);
	host_flush(&t->host);
	host_checkpoint(&t->host);
}

/* The order comes while stripes are half home: the loss is recorded first. */
static void back_before_the_loss_is_recorded(struct script *t)
{
	leaves_amid_stripes(t);
	begins_to_return(t);
	host_sleep(50);
	if (host_leg(&t->host, disk_of(t, 0, 1))->state == KVP_LEG_RESILVERING)
		sim_fail("leg 1 resilvers, and its loss was not recorded");
	disks_release(0);
	has_returned(t);
	if (!is_called_out(t, 0, 1))
		sim_fail("leg 1 was never called out");
	end_well(t);
}

/* It leaves again at once, amid the first stripes that go by intent again. */
static void leaves_once_more(struct script *t)
{
	back_as_stripes_become_data(t);
	t->crash.back = t->crash.back_at = 0;
	t->crash.recorded_at = 0;
	own.died_at = 0;
	script_cut_from_here(t);
	begin_stripes(t, 0, COUNT);
	dies(t, 0, 1);
	host_sleep(50);
	expect_called_out(t, 0, 1, false);
	disks_release(0);
	wait_recorded(t);
	end_well(t);
}

/* --- running them --------------------------------------------------------------------------- */

static void amid(const char *what, void (*act)(struct script *t), const struct host_start *shape)
{
	char name[96];
	/* Each image is started once for each leg. */
	struct script_case c = {
		.name = name, .shape = shape, .act = act, .leave = true,
		.turns = opt.thorough ? 8 : 1, .salt = 9700,
		.cuts = opt.thorough ? 100 : opt.images < 3 ? 20 : 40, .depth = CHECK_RECRASH,
		.own = &own, .own_size = sizeof(own),
	};

	snprintf(name, sizeof(name), "amid:%s:%s", shape->second ? "two" : "one", what);
	script_run(&c);
}

#define NAMED(function) #function, function

void run_amid(void)
{
	static const struct host_start one = { .legs = 3, .parity = true };
	static const struct host_start two = { .legs = 6, .parity = true, .second = 3,
					       .second_parity = true };

	amid(NAMED(flush_fails_before_a_loss_is_recorded), &one);
	amid(NAMED(flush_is_not_issued_before_a_loss_is_recorded), &one);
	amid(NAMED(flush_is_not_issued_before_a_loss_is_recorded), &two);
	amid(NAMED(both_lose_a_leg), &two);
	amid(NAMED(other_has_stripes), &two);
	amid(NAMED(one_entry_of_both), &two);
	amid(NAMED(second_dies_during_the_flush), &two);
	amid(NAMED(back_as_stripes_become_data), &one);
	amid(NAMED(back_before_the_loss_is_recorded), &one);
	amid(NAMED(leaves_once_more), &one);
}
