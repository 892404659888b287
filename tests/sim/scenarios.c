// SPDX-License-Identifier: GPL-2.0-only
/*
 * Situations that reviewers found on paper, each set up on purpose: requests
 * to some range are held back until the rest has happened, then the power is
 * cut everywhere.
 */
#include <stdlib.h>
#include <string.h>

#include <linux/completion.h>
#include <linux/mm.h>

#include "suite.h"

struct scenario {
	struct host host;
	struct host_start start;
	struct oracle o;
	const char *name;
	void (*run)(struct scenario *s);
	struct crash crash;
	enum check_depth depth;
	u32 cuts_from;		/* position in the trace */
	u32 positions;		/* 0: all */
	struct completion flushed;
	bool flush_over;
	int flush_error;
};

static void scenario_main(void *arg)
{
	struct scenario *s = arg;

	if (host_start(&s->host, &s->o, &s->start))
		sim_fail("start: %s", s->host.refusal.why);
	s->cuts_from = disks.trace.nr;
	s->run(s);
}

static bool run_once(struct scenario *s, u64 seed)
{
	const struct base *base = base_pool(s->start.legs, s->start.strict);
	struct sim_config config;
	bool good;

	oracle_copy(&s->o, &base->o);
	s->crash = (struct crash){ .legs = base->legs, .o = &s->o };
	s->depth = CHECK_RECRASH;
	s->flush_over = false;
	check_seed_config(&config, seed);
	disks_begin(base->img, base->legs);
	good = sim_run(&config, scenario_main, s) == SIM_RETURNED;
	disks_end();
	if (good && s->positions)
		good = !cut_sampled(s->name, &s->crash, s->cuts_from, s->depth, s->positions);
	else if (good)
		good = !cut_everywhere(s->name, &s->crash, s->cuts_from, s->depth);
	oracle_free(&s->o);
	return good;
}

static void scenario(const char *name, void (*run)(struct scenario *s), u32 legs, bool strict,
		     u32 rounds)
{
	struct scenario *s;
	bool good = true;
	u32 i;

	if (!wanted(name))
		return;
	s = calloc(1, sizeof(*s));
	s->name = name;
	s->run = run;
	rounds = opt.rounds ?: opt.thorough ? 8 * rounds : rounds;
	for (i = 0; good && i < rounds; i++) {
		memset(&s->start, 0, sizeof(s->start));
		s->start.legs = legs;
		s->start.strict = strict;
		s->positions = 0;
		good = run_once(s, i ? mix64(opt.seed, 1000 + i) : opt.seed);
	}
	result(name, good);
	free(s);
}

/* --- a FLUSH beside what the scenario does ---------------------------------------------- */

static void flush_task(void *arg)
{
	struct scenario *s = arg;

	s->flush_error = host_flush(&s->host);
	s->flush_over = true;
	complete_all(&s->flushed);
}

static void flush_begin(struct scenario *s)
{
	init_completion(&s->flushed);
	s->flush_over = false;
	sim_spawn("flush", flush_task, s);
}

static void flush_end(struct scenario *s)
{
	wait_for_completion(&s->flushed);
}

static void hold_home(u32 disk, u64 block, u32 count)
{
	disks_stall(disk, disks.data_start + block, disks.data_start + block + count - 1);
}

static void release_all(void)
{
	u32 i;

	for (i = 0; i < disks.nr; i++)
		disks_release(i);
}

/* --- the scenarios -------------------------------------------------------------------------- */

/* Old contents are acknowledged; new ones go home by intent and are half there when a FLUSH comes. */
static void flush_while_bypass_supersedes_acknowledged(struct scenario *s)
{
	struct host *h = &s->host;
	u32 i;

	host_write(h, 64, 40, false);
	host_flush(h);
	for (i = 0; i < s->start.legs; i++)
		hold_home(i, 80, 1);
	host_write(h, 64, 40, false);
	host_sleep(1500);		/* the intents are durable, home writes hang */
	host_write(h, 8, 1, false);
	flush_begin(s);
	host_sleep(300);
	if (s->flush_over)
		sim_fail("FLUSH did not wait for a bypass that supersedes acknowledged blocks");
	release_all();
	flush_end(s);
	host_write(h, 70, 2, true);
}

/* A checkpoint hangs in its table pages while a bypass comes home, not covered by its flush. */
static void checkpoint_task(void *arg)
{
	struct scenario *s = arg;

	host_checkpoint(&s->host);
	s->flush_over = true;
	complete_all(&s->flushed);
}

static void checkpoint_snapshot_beside_unflushed_bypass(struct scenario *s)
{
	struct host *h = &s->host;
	u32 i;

	host_write(h, 2, 3, false);
	host_flush(h);
	init_completion(&s->flushed);
	for (i = 0; i < s->start.legs; i++)
		disks_stall(i, disks.table_start, disks.log_start - 1);
	sim_spawn("checkpoint", checkpoint_task, s);
	host_sleep(200);
	host_write(h, 64, 40, false);
	kvp_commit_now(h->pool);
	kvp_commit_kick(h->pool, true);
	host_sleep(200);		/* home, but only in the devices' caches */
	release_all();
	wait_for_completion(&s->flushed);
	host_write(h, 64, 20, false);
	host_sleep(1200);
}

/* One leg has the new contents, the other the old ones, and dies; later it is back. */
static void legs_diverge_under_intent_while_one_is_lost_and_returns(struct scenario *s)
{
	struct host *h = &s->host;

	host_write(h, 64, 40, false);
	host_flush(h);
	hold_home(1, 70, 20);
	host_write(h, 64, 40, false);
	host_sleep(1200);
	s->crash.lost |= 2;
	disks_kill(1);
	release_all();
	host_write(h, 72, 2, false);
	host_flush(h);
	host_write(h, 90, 3, false);
	host_checkpoint(h);
	host_write(h, 64, 18, false);
	host_flush(h);
}

/* No leg takes log entries for a while. */
static void failed_commit(struct scenario *s, bool large)
{
	struct host *h = &s->host;
	struct fault *faults[MAX_DISKS];
	u32 i;

	host_write(h, 2, 2, false);
	host_flush(h);
	for (i = 0; i < s->start.legs; i++)
		faults[i] = disks_fault(FAULT_WRITE_EIO, i, disks.log_start,
					disks.log_start + disks.log_blocks - 1);
	h->may_fail = true;
	host_write(h, 2, 1, false);
	if (large)
		host_write(h, 64, 20, false);
	for (i = 0; i < 3; i++) {
		if (!host_flush(h))
			sim_fail("FLUSH %u succeeded although no leg takes the log", i);
		if (!host_write(h, 5, 1, true))
			sim_fail("FUA %u succeeded although no leg takes the log", i);
		host_read_check(h, 2);
		host_sleep(700);
	}
	for (i = 0; i < s->start.legs; i++)
		faults[i]->kind = FAULT_NONE;
	h->may_fail = false;
	host_sleep(10);
	host_flush(h);
	host_read_check(h, 2);
	host_checkpoint(h);
}

static void failed_commit_keeps_flush_failing_until_durable(struct scenario *s)
{
	failed_commit(s, false);
}

static void failed_commit_with_intents(struct scenario *s)
{
	failed_commit(s, true);
}

/* Two full entries; the first hangs while the second is on the medium. */
static void two_entries_in_flight_earlier_lost(struct scenario *s)
{
	struct host *h = &s->host;
	u64 at = disks.log_start + kvp_log_pos(h->pool->g, h->pool->log.head.lsn);
	u32 i;

	for (i = 0; i < s->start.legs; i++)
		disks_stall(i, at, at);
	host_write(h, 0, 256, false);
	host_write(h, 256, 256, false);
	flush_begin(s);
	host_sleep(200);
	if (list_is_singular(&h->pool->log.in_flight))
		sim_fail("only one entry is in flight: the scenario is not what it says");
	if (s->flush_over)
		sim_fail("FLUSH was answered with an earlier entry in flight");
	/* Cut here only: what follows is of no interest. */
	s->positions = 60;
	release_all();
	flush_end(s);
}

/* Users write what they found in the log and in the labels: none of it may count. */
static void user_data_imitates_log_entries(struct scenario *s)
{
	struct host *h = &s->host;
	u8 data[4096];
	u64 lsn;
	u32 i, n = 0;

	for (i = 0; i < 6; i++) {
		host_write(h, 10 + i, 1, false);
		host_flush(h);
	}
	lsn = h->pool->log.tail;
	for (i = 0; i < 60 && n < 24; i++) {
		image_read(&disks.img[0], disks.log_start + kvp_log_pos(h->pool->g, lsn + i), data);
		if (le32_to_cpu(*(__le32 *)data) == KVP_LOG_MAGIC)
			host_write_special(h, 100 + n++, data);
	}
	for (i = 0; i < 4; i++) {
		image_read(&disks.img[0], KVP_SB_FIRST_BLOCK + 4 * i, data);
		host_write_special(h, 200 + i, data);
	}
	if (n < 4)
		sim_fail("no log entries were found to imitate");
	host_flush(h);
	host_write(h, 30, 1, false);
	host_flush(h);
}

/* The log goes round several times, entries of all sizes; then the power fails. */
static void log_wrap_over_stale_entries(struct scenario *s)
{
	struct host *h = &s->host;
	u32 round = 0;
	u64 first = h->pool->log.head.lsn;

	while (h->pool->log.head.lsn - first < 3 * disks.log_blocks) {
		u32 at = rng_below(&sim_rng, POOL_BLOCKS - 64), n = 1 + rng_below(&sim_rng, 63);

		host_write(h, at, n, false);
		if (round % 3 != 2)
			host_flush(h);
		if (round++ > 2000)
			sim_fail("the log does not move");
	}
	s->cuts_from = disks.trace.nr > 400 ? disks.trace.nr - 400 : 0;
	s->positions = 40;
	for (round = 0; round < 6; round++) {
		host_write(h, 40 * round, 10 + round, false);
		host_flush(h);
	}
}

#define NAMED(function) #function, function

void run_scenarios(void)
{
	scenario(NAMED(flush_while_bypass_supersedes_acknowledged), 2, false, 3);
	scenario(NAMED(checkpoint_snapshot_beside_unflushed_bypass), 2, false, 3);
	scenario(NAMED(legs_diverge_under_intent_while_one_is_lost_and_returns), 2, false, 3);
	scenario(NAMED(failed_commit_keeps_flush_failing_until_durable), 2, false, 3);
	scenario("failed_commit_keeps_flush_failing_until_durable_on_a_single",
		 failed_commit_keeps_flush_failing_until_durable, 1, false, 3);
	scenario(NAMED(failed_commit_with_intents), 2, false, 3);
	scenario(NAMED(two_entries_in_flight_earlier_lost), 2, true, 1);
	scenario(NAMED(user_data_imitates_log_entries), 2, true, 2);
	scenario(NAMED(log_wrap_over_stale_entries), 2, true, 3);
	scenario("log_wrap_over_stale_entries_on_a_single", log_wrap_over_stale_entries, 1, true, 2);
}
