// SPDX-License-Identifier: GPL-2.0-only
/*
 * Situations that reviewers found on paper, each set up on purpose: requests
 * to some range are held back until the rest has happened, then the power is
 * cut everywhere.
 */
#include <string.h>

#include <linux/completion.h>
#include <linux/mm.h>

#include "script.h"
#include "home/heal.h"
#include "io/io.h"
#include "io/mirror.h"
#include "ram/rcache.h"
#include "ram/wbuf.h"
#include "super/events.h"
#include "work/destage.h"
#include "work/scrub.h"

/* What a case remembers; zeroed for each turn. */
static struct {
	struct completion flushed;
	bool flush_over;
	u32 suspend;		/* number of the last suspend */
	int flush_error;
	u32 flushes, writes;
	u32 begun, flushers;
} own;

static void set_up(struct script *s)
{
	s->start.rotational = s->turn % 2;
}

static void end(struct script *s)
{
	u32 i;

	host_cache_check(&s->host);
	for (i = 0; i < s->start.legs; i++)
		if (!kvp_leg_in_sync(host_leg(&s->host, i)))
			s->crash.lost |= BIT(i);
}

static void scenario(const char *name, void (*act)(struct script *s), u32 legs, bool strict,
		     u32 turns)
{
	const struct host_start shape = { .legs = legs, .strict = strict };
	const struct script_case c = {
		.name = deep_name(name), .shape = &shape, .set_up = set_up, .act = act,
		.end = end, .leave = true, .turns = opt.thorough ? 8 * turns : turns,
		.first_plain = true, .salt = 1000, .cuts = SCRIPT_EVERYWHERE,
		.depth = CHECK_RECRASH, .own = &own, .own_size = sizeof(own),
	};

	script_run(&c);
}

/* --- a FLUSH beside the scenario's work ------------------------------------------------ */

static void flush_task(void *arg)
{
	struct script *s = arg;

	own.flush_error = host_flush(&s->host);
	own.flush_over = true;
	complete_all(&own.flushed);
}

static void flush_begin(struct script *s)
{
	init_completion(&own.flushed);
	own.flush_over = false;
	sim_spawn("flush", flush_task, s);
}

static void flush_end(struct script *s)
{
	wait_for_completion(&own.flushed);
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

static void fail_writes(struct script *s, u64 first, u64 last, u32 times)
{
	u32 i;

	for (i = 0; i < s->start.legs; i++)
		disks_fault(FAULT_WRITE_EIO, i, first, last)->times = times;
}

static void cure_all(void)
{
	u32 i;

	for (i = 0; i < disks.nr_faults; i++)
		disks.faults[i].kind = FAULT_NONE;
}

/* --- the scenarios -------------------------------------------------------------------------- */

/*
 * Old contents are acknowledged; new ones go home by intent and are half there when a FLUSH comes.
 */
static void flush_while_direct_write_supersedes_acknowledged(struct script *s)
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
	if (own.flush_over)
		sim_fail("FLUSH did not wait for a bypass that supersedes acknowledged blocks");
	release_all();
	flush_end(s);
	host_write(h, 70, 2, true);
}

#define FLUSHERS	3u
#define FLUSHES		200u

static void flusher(void *arg)
{
	struct script *s = arg;
	u32 i, first = 40 * own.begun++;

	for (i = 0; i < FLUSHES; i++) {
		host_write(&s->host, first, 30, false);
		host_flush(&s->host);
	}
	own.flushers--;
}

/* Intents become durable, with a waiter, while a FLUSH checks for intents. */
static void flushes_beside_each_other(struct script *s)
{
	u32 i;

	s->cuts = 20;
	own.begun = 0;
	own.flushers = FLUSHERS;
	sim_slow = "kvpool-commit";
	for (i = 0; i < FLUSHERS; i++)
		sim_spawn("flusher", flusher, s);
	while (own.flushers)
		host_sleep(20);
	sim_slow = NULL;
	host_write(&s->host, 70, 2, true);
}

/*
 * A checkpoint hangs at its table pages while a direct write goes home, which its flush does not
 * cover.
 */
static void checkpoint_task(void *arg)
{
	struct script *s = arg;

	host_checkpoint(&s->host);
	own.flush_over = true;
	complete_all(&own.flushed);
}

static void snapshot_beside_unflushed_direct_write(struct script *s, bool copies)
{
	struct host *h = &s->host;
	u32 i;

	host_write(h, 64, 30, false);
	host_flush(h);			/* home: only the table is left to do */
	init_completion(&own.flushed);
	for (i = 0; i < s->start.legs; i++)
		disks_stall(i, disks.table_start, disks.log_start - 1);
	sim_memory_short = copies ? 0 : 1000;
	sim_spawn("checkpoint", checkpoint_task, s);
	while (!disks_wait())
		host_sleep(1);
	sim_memory_short = 0;
	host_write(h, 64, 40, false);
	kvp_commit_now(h->pool->log);
	kvp_commit_kick(h->pool->log, true);
	host_sleep(200);		/* home, but only in the devices' caches */
	release_all();
	wait_for_completion(&own.flushed);
	host_write(h, 64, 20, false);
	host_sleep(1200);
}

static void checkpoint_snapshot_beside_unflushed_direct_write(struct script *s)
{
	snapshot_beside_unflushed_direct_write(s, true);
}

/* Then the leaf itself is written, and a change of it waits. */
static void checkpoint_snapshot_without_memory_beside_unflushed_direct_write(struct script *s)
{
	snapshot_beside_unflushed_direct_write(s, false);
}

/*
 * A checkpoint hangs in its first flush while entries of its leaf change: the changes belong to the
 * next one.
 */
static void leaf_changes_before_it_is_summed(struct script *s)
{
	struct host *h = &s->host;
	u64 before = h->pool->sb->checkpoint;

	host_write(h, 64, 30, false);
	host_flush(h);
	init_completion(&own.flushed);
	disks.flushes_stalled = true;
	sim_spawn("checkpoint", checkpoint_task, s);
	while (!disks_wait())
		host_sleep(1);
	host_write(h, 64, 40, false);
	kvp_commit_now(h->pool->log);
	kvp_commit_kick(h->pool->log, true);
	host_sleep(200);		/* home by intent */
	disks.flushes_stalled = false;
	wait_for_completion(&own.flushed);
	if (h->pool->sb->checkpoint == before)
		sim_fail("there was no checkpoint");
	host_write(h, 64, 20, false);
	host_sleep(1200);
}

/*
 * One leg takes no table pages, or none does: then there was no checkpoint, and the next one has no
 * other space than this one had.
 */
static void pages_that_failed_are_no_checkpoint(struct script *s)
{
	struct host *h = &s->host;
	u64 before;
	u32 i;

	host_write(h, 2, 3, false);
	host_checkpoint(h);
	host_write(h, 5, 3, false);
	host_flush(h);
	for (i = 0; i < s->start.legs; i++)
		disks_fault(FAULT_WRITE_EIO, i, disks.table_start, disks.log_start - 1);
	before = h->pool->sb->checkpoint;
	h->may_fail = true;
	if (!host_checkpoint(h) || h->pool->sb->checkpoint != before)
		sim_fail("a checkpoint whose pages no leg took");
	host_write(h, 300, 2, false);
	host_checkpoint(h);
	cure_all();
	kvp_pool_clear(h->pool, -1);
	h->may_fail = false;
	host_write(h, 4, 2, false);
	host_checkpoint(h);
	host_write(h, 64, 2, true);
}

static void fill_task(void *arg)
{
	struct script *s = arg;
	u32 i;

	for (i = 0; i < 3 * disks.log_blocks / 64; i++) {
		host_write(&s->host, 64 * (i % 4), 64, false);
		host_flush(&s->host);
	}
	complete_all(&own.flushed);
}

/*
 * Superblocks hang, and with them the log space that a checkpoint frees, though the rest of it is
 * done.
 */
static void space_waits_for_the_superblock(struct script *s)
{
	struct host *h = &s->host;
	u64 tail = h->pool->sb->log_tail, end = disks.img[0].blocks;
	u32 i;

	for (i = 0; i < s->start.legs; i++) {
		disks_stall(i, KVP_SB_FIRST_BLOCK, KVP_EVENTS_BLOCK - 1);
		disks_stall(i, end - KVP_LABEL_BLOCKS, end - 1);
	}
	init_completion(&own.flushed);
	sim_spawn("filler", fill_task, s);
	host_sleep(5000);
	if (!disks_wait() || h->pool->log->head.lsn - tail < disks.log_blocks / 2)
		sim_fail("no superblock is held up: the case was not set up");
	if (h->pool->log->tail != tail || h->pool->log->head.lsn - tail > disks.log_blocks)
		sim_fail("space of the log is free before the superblock that says so is durable");
	s->cuts = 20;
	release_all();
	wait_for_completion(&own.flushed);
}

/* One leg has the new contents, the other the old ones, and dies; later it is back. */
static void legs_diverge_under_intent_while_one_is_lost_and_returns(struct script *s)
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
static void failed_commit(struct script *s, bool large)
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

static void failed_commit_keeps_flush_failing_until_durable(struct script *s)
{
	failed_commit(s, false);
}

static void failed_commit_with_intents(struct script *s)
{
	failed_commit(s, true);
}

/* Two full entries; the first hangs while the second is on the medium. */
static void two_entries_in_flight_earlier_lost(struct script *s)
{
	struct host *h = &s->host;
	u64 at = disks.log_start + kvp_log_pos(h->pool->vdevs.v[0].g, h->pool->log->head.lsn);
	u32 i;

	for (i = 0; i < s->start.legs; i++)
		disks_stall(i, at, at);
	host_write(h, 0, 256, false);
	host_write(h, 256, 256, false);
	flush_begin(s);
	host_sleep(200);
	if (list_is_singular(&h->pool->log->in_flight))
		sim_fail("only one entry is in flight: the case was not set up");
	if (own.flush_over)
		sim_fail("FLUSH was answered with an earlier entry in flight");
	/* cut only here: later writes are not the subject */
	s->cuts = 60;
	release_all();
	flush_end(s);
}

/* All that a user knows: the format, but neither nonce. It says that much came after it. */
static void forge_header(u8 *data)
{
	struct kvp_disk_log_hdr *d = (void *)data;

	memset(data, 0, KVP_BLOCK_SIZE);
	d->magic = cpu_to_le32(KVP_LOG_MAGIC);
	d->epoch = cpu_to_le64(1ull << 40);
	d->blocks = cpu_to_le32(1);
	d->hdr_blocks = cpu_to_le32(1);
	d->csum = cpu_to_le32(kvp_crc32c(~0u, data, KVP_LOG_HDR_SIZE));
}

/* Users write copies of log entries and labels: none of these may count. */
static void user_data_imitates_log_entries(struct script *s)
{
	struct host *h = &s->host;
	u8 data[4096];
	u64 lsn;
	u32 i, n = 0;

	for (i = 0; i < 6; i++) {
		host_write(h, 10 + i, 1, false);
		host_flush(h);
	}
	lsn = h->pool->log->tail;
	for (i = 0; i < 60 && n < 24; i++) {
		image_read(&disks.img[0], disks.log_start + kvp_log_pos(h->pool->vdevs.v[0].g,
			lsn + i), data);
		if (le32_to_cpu(*(__le32 *)data) == KVP_LOG_MAGIC)
			host_write_special(h, 100 + n++, data);
	}
	for (i = 0; i < 4; i++) {
		image_read(&disks.img[0], KVP_SB_FIRST_BLOCK + 4 * i, data);
		host_write_special(h, 200 + i, data);
	}
	if (n < 4)
		sim_fail("no log entries were found to imitate");
	/* for some only the payload arrives before the power goes, and not the header before it */
	forge_header(data);
	for (i = 0; i < 8; i++) {
		host_write_special(h, 210 + i, data);
		host_flush(h);
	}
	/* from here on user data lies beyond the end, where a recovery looks for headers */
	host_checkpoint(h);
	host_write(h, 30, 1, false);
	host_flush(h);
}

/* The log goes round several times, entries of all sizes; then the power fails. */
static void log_wrap_over_stale_entries(struct script *s)
{
	struct host *h = &s->host;
	u32 round = 0;
	u64 first = h->pool->log->head.lsn;

	while (h->pool->log->head.lsn - first < 3 * disks.log_blocks) {
		u32 at = rng_below(&sim_rng, POOL_BLOCKS - 64), n = 1 + rng_below(&sim_rng, 63);

		host_write(h, at, n, false);
		if (round % 3 != 2)
			host_flush(h);
		if (round++ > 2000)
			sim_fail("the log does not move");
	}
	s->from = disks.trace.nr > 400 ? disks.trace.nr - 400 : 0;
	s->cuts = 40;
	for (round = 0; round < 6; round++) {
		host_write(h, 40 * round, 10 + round, false);
		host_flush(h);
	}
}

/* After a failed flush the device may have lost anything, and there is no other leg. */
static void flush_that_fails_on_the_last_leg_stays_failed(struct script *s)
{
	struct host *h = &s->host;
	u64 checkpoints = h->pool->sb->checkpoint;
	u32 i;

	host_write(h, 64, 40, false);
	disks_fault(FAULT_FLUSH_EIO, 0, 0, ~0ull)->times = 1;
	h->may_fail = true;
	for (i = 0; i < 4; i++) {
		if (!host_flush(h))
			sim_fail("FLUSH %u succeeded behind a flush that failed", i);
		if (!host_write(h, 5, 1, true))
			sim_fail("FUA %u succeeded behind a flush that failed", i);
		host_sleep(700);
		kvp_pool_clear(h->pool, -1);
	}
	host_sleep(12000);
	if (h->pool->sb->checkpoint != checkpoints)
		sim_fail("a checkpoint behind a flush that failed");
}

/* It was never issued, so nothing is lost: the pool stands until one is, and needs no restart. */
static void flush_that_is_not_issued_on_the_last_leg(struct script *s)
{
	struct host *h = &s->host;
	struct fault *f = disks_fault(FAULT_FLUSH_EIO, 0, 0, ~0ull);

	f->error = -ENOMEM;
	f->times = 1;
	host_write(h, 64, 40, false);
	h->may_fail = true;
	if (!host_flush(h) || !kvp_pool_faulted(h->pool))
		sim_fail("FLUSH succeeded, and no flush was issued");
	kvp_pool_clear(h->pool, -1);
	h->may_fail = false;
	host_flush(h);
	host_write(h, 5, 1, true);
	host_checkpoint(h);
	host_flush(h);
}

/* The other one is good: it goes on, and the one that failed is out, for good. */
static void leg_whose_flush_failed_is_given_up(struct script *s)
{
	struct host *h = &s->host;

	host_write(h, 64, 40, false);
	disks_fault(FAULT_FLUSH_EIO, 1, 0, ~0ull)->times = 1;
	s->crash.lost |= 2;
	host_flush(h);
	if (kvp_leg_in_sync(host_leg(h, 1)))
		sim_fail("a leg whose flush failed is in use");
	host_write(h, 70, 2, true);
	host_checkpoint(h);
	host_flush(h);
}

/* All requests to @first .. @last fail, on every leg, @times of them. */
/* How many events of this text are in the ring. */
static u32 events_of(struct kvp_pool *pool, const char *text)
{
	struct kvp_disk_event e;
	u64 seq, next = pool->events->next;
	u32 n = 0;

	for (seq = next > KVP_EVENT_RING ? next - KVP_EVENT_RING : 0; seq < next; seq++)
		n += kvp_event_get(pool, seq, &e) && !strcmp((char *)e.text, text);
	return n;
}

/*
 * An entry that no leg took may be on one all the same. The next one would not
 * fit behind it and would go to the next segment; recovery would then find the
 * old one first, and nothing behind it.
 */
static void entry_that_failed_is_overwritten_by_the_next(struct script *s)
{
	struct host *h = &s->host;
	struct kvp_log *log = h->pool->log;
	u32 i;

	for (i = 0; ; i = (i + 1) % 8) {
		const struct kvp_geometry *g = h->pool->vdevs.v[0].g;
		u64 left = kvp_log_segment_end(g, log->head.lsn) - log->head.lsn;

		if (left > 4 && left < 24)
			break;
		host_write(h, i, 1, false);
		host_flush(h);
	}
	script_cut_from_here(s);
	fail_writes(s, disks.log_start, disks.log_start + disks.log_blocks - 1, 1);
	h->may_fail = true;
	host_write(h, 2, 1, false);
	if (!host_flush(h))
		sim_fail("FLUSH succeeded although no leg took the entry");
	h->may_fail = false;
	for (i = 0; i < 40; i++)
		host_write(h, 150 + 2 * i, 1, false);
	host_flush(h);
	if (events_of(h->pool, "resumed") != 1)
		sim_fail("no event tells that the log is taken again");
	host_write(h, 3, 1, true);
}

/*
 * A superblock that failed may be on a leg, and name slots of the table that a
 * later checkpoint would write into.
 */
static void superblock_that_failed_may_be_there_all_the_same(struct script *s)
{
	struct host *h = &s->host;
	u64 ring = KVP_SB_RING * KVP_SB_BLOCKS, end;
	u32 i;

	end = kvp_sb_slot_offset(disks.img[0].blocks, 1, 0) >> KVP_BLOCK_SHIFT;
	host_write(h, 2, 3, false);
	host_flush(h);
	for (i = 0; i < s->start.legs; i++)
		hold_home(i, 64, 40);
	host_write(h, 64, 40, false);
	host_sleep(1500);
	fail_writes(s, KVP_SB_FIRST_BLOCK, KVP_SB_FIRST_BLOCK + ring - 1, 1);
	fail_writes(s, end, end + ring - 1, 1);
	host_destage(h);
	host_sleep(500);
	if (!kvp_pool_faulted(h->pool))
		sim_fail("no superblock failed: the case was not set up");
	/* The table changes before it is tried again. */
	release_all();
	host_sleep(100);
	kvp_pool_clear(h->pool, -1);
	host_write(h, 4, 2, false);
	host_checkpoint(h);
}

/* After a checkpoint that failed, the next superblock names the old roots, and their counts. */
static void counts_of_a_checkpoint_that_failed_are_not_told(struct script *s)
{
	struct host *h = &s->host;
	u64 ring = KVP_SB_RING * KVP_SB_BLOCKS, end, written;
	const struct kvp_sb *sb = h->pool->sb;

	end = kvp_sb_slot_offset(disks.img[0].blocks, 1, 0) >> KVP_BLOCK_SHIFT;
	host_discard(h, 0, (u32)sb->pool_blocks);
	host_write(h, 2, 3, false);
	host_checkpoint(h);
	written = sb->written_blocks;
	host_write(h, 20, 5, false);
	host_flush(h);
	host_home_without_checkpoint(h);
	fail_writes(s, KVP_SB_FIRST_BLOCK, KVP_SB_FIRST_BLOCK + ring - 1, 1);
	fail_writes(s, end, end + ring - 1, 1);
	h->may_fail = true;
	if (!host_checkpoint(h))
		sim_fail("no superblock failed: the case was not set up");
	h->may_fail = false;
	if (kvp_pool_mark(h->pool, 0, 0) || written != 3 || sb->written_blocks != written)
		sim_fail("a superblock says that %llu blocks are written, and its roots have %llu",
			 sb->written_blocks,
			 written);
	kvp_pool_clear(h->pool, -1);
	host_checkpoint(h);
	if (sb->written_blocks != 8)
		sim_fail("%llu blocks are written, not 8", sb->written_blocks);
}

static void fail_superblocks(struct script *s)
{
	u64 ring = KVP_SB_RING * KVP_SB_BLOCKS, end;

	end = kvp_sb_slot_offset(disks.img[0].blocks, 1, 0) >> KVP_BLOCK_SHIFT;
	fail_writes(s, KVP_SB_FIRST_BLOCK, KVP_SB_FIRST_BLOCK + ring - 1, 0);
	fail_writes(s, end, end + ring - 1, 0);
}

/* One event for each step: faulted, then in need of a restart. Later failures are no news. */
static void a_failure_is_told_when_it_gets_worse(struct script *s)
{
	struct kvp_pool *pool = s->host.pool;
	u32 i;

	fail_superblocks(s);
	for (i = 0; i < 3; i++)
		if (!kvp_pool_mark(pool, 0, 0))
			sim_fail("no superblock failed: the case was not set up");
	if (kvp_pool_failure(pool) != KVP_FAULTED || events_of(pool, "suspended why=no leg took the superblock") != 1)
		sim_fail("a pool that is faulted does not say so once");
	cure_all();
	disks_fault(FAULT_FLUSH_EIO, 0, 0, ~0ull)->times = 1;
	for (i = 0; i < 3; i++) {
		if (!kvp_legs_flush(pool))
			sim_fail("flush %u ended well behind one that failed", i);
		kvp_pool_clear(pool, -1);
		kvp_fail(&pool->failure, KVP_FAIL_LEGS, "a test");
	}
	if (kvp_pool_failure(pool) != KVP_NEEDS_RESTART || events_of(pool, "suspended why=a test") ||
	    events_of(pool, "suspended why=a flush failed on the last leg") != 1)
		sim_fail("a pool that needs a restart does not say so once");
}

static void a_rename_is_durable_or_undone(struct script *s)
{
	static const char *const bad[] = { "", "9tank", "ta nk", "../x", "-x" };
	struct kvp_pool *pool = s->host.pool;
	u64 sequence = pool->sb->sequence;
	char text[KVP_EVENT_TEXT];
	u32 i;

	snprintf(text, sizeof(text), "renamed old=%s name=lake", pool->sb->name);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		if (kvp_pool_rename(pool, bad[i]) != -EINVAL)
			sim_fail("a pool may be called '%s'", bad[i]);
	if (pool->sb->sequence != sequence)
		sim_fail("a refused name was written");
	if (kvp_pool_rename(pool, "lake") || strcmp(pool->sb->name, "lake") ||
	    pool->sb->sequence == sequence || events_of(pool, text) != 1)
		sim_fail("a new name was not written");
	fail_superblocks(s);
	if (!kvp_pool_rename(pool, "pond") || strcmp(pool->sb->name, "lake") ||
	    events_of(pool, "renamed old=lake name=pond"))
		sim_fail("a name that no leg has counts");
	cure_all();
}

static void stall_superblocks(struct script *s)
{
	u64 ring = KVP_SB_RING * KVP_SB_BLOCKS, end;
	u32 i;

	end = kvp_sb_slot_offset(disks.img[0].blocks, 1, 0) >> KVP_BLOCK_SHIFT;
	for (i = 0; i < s->start.legs; i++) {
		disks_stall(i, KVP_SB_FIRST_BLOCK, KVP_SB_FIRST_BLOCK + ring - 1);
		disks_stall(i, end, end + ring - 1);
	}
}

static void clear_task(void *arg)
{
	struct script *s = arg;

	kvp_pool_clear(s->host.pool, -1);
}

/*
 * The superblock write that failed says that the log is empty, and may be on a leg. A FLUSH that is
 * acknowledged before a newer superblock is durable would be lost in a power cut.
 */
static void clear_answers_after_its_superblock(struct script *s)
{
	struct host *h = &s->host;
	u64 checkpoint, sequence;

	host_write(h, 2, 3, false);
	host_checkpoint(h);
	fail_superblocks(s);
	h->may_fail = true;
	checkpoint = h->pool->sb->checkpoint;
	sequence = h->pool->sb->sequence;
	kvp_pool_quiesce(h->pool);
	cure_all();
	if (!kvp_pool_faulted(h->pool) || h->pool->sb->checkpoint != checkpoint ||
	    h->pool->sb->sequence == sequence)
		sim_fail("no superblock of a stop failed: the case was not set up");
	kvp_pool_unquiesce(h->pool);
	stall_superblocks(s);
	sim_spawn("clear", clear_task, s);
	host_sleep(50);
	host_write(h, 4, 2, false);
	flush_begin(s);
	host_sleep(200);
	release_all();
	flush_end(s);
	host_sleep(100);
	if (kvp_pool_faulted(h->pool))
		sim_fail("the pool does not go on");
	h->may_fail = false;
	host_flush(h);
	host_write(h, 6, 2, true);
}

/*
 * A waiter for a write home that cannot succeed gets an error; when it can succeed again, it is
 * done.
 */
static void home_writes_that_fail_everywhere_are_no_hang(struct script *s)
{
	struct host *h = &s->host;
	u32 i;

	fail_writes(s, disks.data_start, ~0ull, 0);
	h->may_fail = true;
	host_write(h, 64, 40, false);
	if (!host_flush(h))
		sim_fail("FLUSH succeeded although its intents cannot go home");
	/* More than the buffer holds. */
	for (i = 0; i < 30; i++)
		host_write(h, 10 * i, 50, false);
	if (!host_flush(h))
		sim_fail("FLUSH succeeded on a faulted pool");
	cure_all();
	kvp_pool_clear(h->pool, -1);
	h->may_fail = false;
	script_cut_from_here(s);
	s->cuts = 40;
	host_flush(h);
	host_read_check(h, 64);
	host_checkpoint(h);
}

static void suspend_task(void *arg)
{
	struct script *s = arg;

	kvp_pool_quiesce(s->host.pool);
	own.flush_over = true;
	complete_all(&own.flushed);
}

/* Under a noflush suspend waiting requests are returned, except the pool's own. */
static void requeue_answers_all_who_wait(struct script *s)
{
	struct host *h = &s->host;
	u32 i;

	h->may_fail = true;
	hold_home(0, 64, 40);
	host_write(h, 64, 40, false);
	host_sleep(1500);
	flush_begin(s);
	host_sleep(100);
	kvp_commit_requeue(h->pool->log);
	host_sleep(10);
	if (!own.flush_over || own.flush_error != -EAGAIN)
		sim_fail("a FLUSH that waits for a bypass was not sent away");
	release_all();
	for (i = 0; i < s->start.legs; i++)
		disks_stall(i, disks.log_start, disks.log_start + disks.log_blocks - 1);
	host_write(h, 3, 1, false);
	flush_begin(s);
	host_sleep(100);
	kvp_commit_requeue(h->pool->log);
	host_sleep(10);
	if (!own.flush_over || own.flush_error != -EAGAIN)
		sim_fail("a FLUSH that waits for the log was not sent away");
	init_completion(&own.flushed);
	own.flush_over = false;
	sim_spawn("checkpoint", checkpoint_task, s);
	host_sleep(100);
	kvp_commit_requeue(h->pool->log);
	host_sleep(10);
	if (own.flush_over)
		sim_fail("the pool's own waiter was sent away");
	release_all();
	wait_for_completion(&own.flushed);
	h->may_fail = false;
	host_flush(h);
}

static void order_task(void *arg)
{
	struct script *s = arg;

	own.flush_error = kvp_destage_order(s->host.pool);
	own.flush_over = true;
	complete_all(&own.flushed);
}

static void order_begin(struct script *s)
{
	init_completion(&own.flushed);
	own.flush_over = false;
	sim_spawn("order", order_task, s);
	host_sleep(300);
	if (own.flush_over)
		sim_fail("the order has ended with %d: the case was not set up",
			 own.flush_error);
}

/*
 * A suspend waits for messages, with all I/O stopped. So their work ends, and dirty data is written
 * home before.
 */
static void order_ends_for_a_suspend(struct script *s)
{
	struct host *h = &s->host;
	u32 i;

	for (i = 0; i < s->start.legs; i++)
		hold_home(i, 64, 3);
	host_write(h, 64, 3, true);
	order_begin(s);
	kvp_pool_suspending(h->pool);
	host_sleep(10);
	if (!own.flush_over || own.flush_error != -EINTR)
		sim_fail("an order outlasts the wish to suspend");
	host_write(h, 70, 2, true);
	host_read_check(h, 64);
	if (kvp_destage_order(h->pool) != -EINTR)
		sim_fail("an order was carried out while the pool is about to be suspended");
	/* the suspend was interrupted */
	kvp_pool_not_suspending(h->pool);
	order_begin(s);
	release_all();
	wait_for_completion(&own.flushed);
	if (own.flush_error)
		sim_fail("an order failed with %d", own.flush_error);
	host_write(h, 80, 3, false);
	kvp_pool_write_back(h->pool, kvp_pool_suspending(h->pool), false);
	if (kvp_wbuf_used(h->pool->wbuf))
		sim_fail("%u blocks are left to write home while all I/O waits",
			 kvp_wbuf_used(h->pool->wbuf));
	kvp_pool_quiesce(h->pool);
	if (kvp_destage_order(h->pool) == -EINTR)
		sim_fail("a pool that is suspended is said to be about to be");
	kvp_pool_unquiesce(h->pool);
	host_write(h, 90, 1, true);
}

/*
 * Users may copy or snapshot the disks below a suspended device. So all accepted data is durable
 * then, without a FLUSH. It stays durable when the device resumes.
 */
static void suspend_makes_all_durable(struct script *s)
{
	struct host *h = &s->host;
	u64 mark;

	host_write(h, 64, 3, false);
	host_write(h, 20, 40, false);
	host_discard(h, 30, 2);
	mark = oracle_mark(h->o);
	kvp_pool_quiesce(h->pool);
	oracle_ack(h->o, mark);
	host_sleep(10);
	kvp_pool_unquiesce(h->pool);
	host_write(h, 65, 1, false);
	host_write(h, 90, 1, true);
}

/*
 * The journal of a file system: each of its blocks by FUA, and never a FLUSH, while others write.
 * Written over when it comes round.
 */
static void journal_by_fua_alone(struct script *s)
{
	struct host *h = &s->host;
	u32 i;

	for (i = 0; i < 10; i++) {
		host_write(h, 100 + 7 * i, 2, false);
		host_write(h, 40 + i % 4, 1 + i % 2, true);
	}
	host_write(h, 41, 1, false);
	host_write(h, 60, 24, true);
	host_write(h, 61, 2, true);
}

static void write_back_task(void *arg)
{
	struct script *s = arg;

	kvp_pool_write_back(s->host.pool, own.suspend, false);
	own.flush_over = true;
	complete_all(&own.flushed);
}

static void hold_home_everywhere(struct script *s, u64 block, u32 count)
{
	u32 i;

	for (i = 0; i < s->start.legs; i++)
		hold_home(i, block, count);
}

/* A suspend writes back what it must, and the homes of that are held. */
static void begin_write_back(struct script *s)
{
	hold_home_everywhere(s, 64, 3);
	host_write(&s->host, 64, 3, true);
	init_completion(&own.flushed);
	own.flush_over = false;
	own.suspend = kvp_pool_suspending(s->host.pool);
	sim_spawn("suspend", write_back_task, s);
	host_sleep(300);
}

/*
 * Only the data of the suspend's begin must be home before I/O is stopped: other writers continue,
 * and the suspend does not wait for them.
 */
static void write_back_beside_writers(struct script *s)
{
	struct host *h = &s->host;

	begin_write_back(s);
	if (own.flush_over)
		sim_fail("blocks that are not home are said to be");
	/* The worker finds more to do when it is through with that. */
	host_write(h, 80, 3, true);
	kvp_destage_kick(h->pool, true);
	release_all();
	hold_home_everywhere(s, 80, 3);
	host_sleep(500);
	if (!own.flush_over)
		sim_fail("a suspend waits for writes that came after it began");
	kvp_pool_not_suspending(h->pool);
	release_all();
	host_checkpoint(h);
	host_write(h, 90, 1, true);
}

/* What a suspend writes back beforehand ends, too, when the suspend is interrupted. */
static void write_back_ends_with_its_suspend(struct script *s)
{
	struct host *h = &s->host;

	begin_write_back(s);
	if (own.flush_over || !disks_wait())
		sim_fail("nothing is written back: the case was not set up");
	kvp_pool_not_suspending(h->pool);
	host_sleep(1);
	if (!own.flush_over || !disks_wait())
		sim_fail("an interrupted suspend waits for what it writes back");
	release_all();
	host_checkpoint(h);
	host_write(h, 90, 1, true);
}

/* The same, and another suspend begins before that has looked. */
static void second_write_back_at_once(struct script *s)
{
	struct host *h = &s->host;

	begin_write_back(s);
	if (own.flush_over || !disks_wait())
		sim_fail("nothing is written back: the case was not set up");
	kvp_pool_not_suspending(h->pool);
	kvp_pool_suspending(h->pool);
	host_sleep(1);
	if (!own.flush_over || !disks_wait())
		sim_fail("what an interrupted suspend writes back goes on for the next one");
	kvp_pool_not_suspending(h->pool);
	release_all();
	host_checkpoint(h);
	host_write(h, 90, 1, true);
}

static void wait_suspending_task(void *arg)
{
	struct script *s = arg;

	own.flush_error = kvp_pool_wait_suspending(s->host.pool, own.suspend);
	own.flush_over = true;
}

/*
 * A suspend asks a scrub to end, and its caller can be killed while a leg hangs. Then the scrub
 * goes on, and ends once. The suspend's own worker ends at once, and does not wait for the leg.
 */
static void suspend_given_up_beside_a_scrub(struct script *s)
{
	struct host *h = &s->host;
	struct kvp_pool *pool = h->pool;

	host_write(h, 64, 3, true);
	host_checkpoint(h);
	hold_home_everywhere(s, 64, 3);
	if (kvp_scrub_start(pool, 0))
		sim_fail("a scrub does not start");
	host_sleep(300);
	if (!disks_wait())
		sim_fail("the scrub waits for no leg: the case was not set up");
	own.suspend = kvp_pool_suspending(pool);
	if (!disks_wait())
		sim_fail("the wish to suspend waits for a leg");
	own.flush_over = false;
	sim_spawn("suspend", wait_suspending_task, s);
	host_sleep(300);
	if (own.flush_over)
		sim_fail("a suspend does not wait for a scrub");
	kvp_pool_not_suspending(pool);
	host_sleep(1);
	if (!own.flush_over || own.flush_error || !disks_wait())
		sim_fail("the worker of a suspend that was given up goes on");
	release_all();
	flush_work(&pool->scrub->work);
	if (events_of(pool, "scrub_finished healed=0 unrepaired=0") != 1)
		sim_fail("a scrub beside a suspend that was given up has ended %u times",
			 events_of(pool, "scrub_finished healed=0 unrepaired=0"));
	/* Now the suspend waits for it. */
	hold_home_everywhere(s, 64, 3);
	if (kvp_scrub_start(pool, 0))
		sim_fail("a scrub does not start again");
	host_sleep(300);
	own.suspend = kvp_pool_suspending(pool);
	release_all();
	if (!kvp_pool_wait_suspending(pool, own.suspend))
		sim_fail("a suspend counts as given up");
	if (pool->scrub->info.state != KVP_SCRUB_RUNNING || sim_work_busy(&pool->scrub->work))
		sim_fail("a scrub goes on, or has ended, when the pool is to be suspended");
	kvp_pool_write_back(pool, own.suspend, false);
	kvp_pool_quiesce(pool);
	kvp_pool_unquiesce(pool);
	flush_work(&pool->scrub->work);
	if (pool->scrub->info.state != KVP_SCRUB_FINISHED)
		sim_fail("a scrub does not go on after a suspend");
	host_write(h, 90, 1, true);
}

/* The worker of a suspend that was interrupted takes no later suspend for its own. */
static void second_suspend_at_once(struct script *s)
{
	struct host *h = &s->host;
	struct kvp_pool *pool = h->pool;

	host_write(h, 64, 3, true);
	host_checkpoint(h);
	hold_home_everywhere(s, 64, 3);
	if (kvp_scrub_start(pool, 0))
		sim_fail("a scrub does not start");
	host_sleep(300);
	own.flush_over = false;
	own.suspend = kvp_pool_suspending(pool);
	sim_spawn("suspend", wait_suspending_task, s);
	host_sleep(300);
	if (own.flush_over || !disks_wait())
		sim_fail("a suspend waits for no scrub: the case was not set up");
	kvp_pool_not_suspending(pool);
	own.suspend = kvp_pool_suspending(pool);
	host_sleep(300);
	if (!own.flush_over || own.flush_error || !disks_wait())
		sim_fail("the worker of a suspend that was given up waits for the next one");
	release_all();
	if (!kvp_pool_wait_suspending(pool, own.suspend))
		sim_fail("the next suspend counts as given up");
	kvp_pool_quiesce(pool);
	kvp_pool_unquiesce(pool);
	flush_work(&pool->scrub->work);
	host_write(h, 90, 1, true);
}

static void stop_task(void *arg)
{
	struct script *s = arg;

	kvp_pool_quiesce(s->host.pool);
	if (sim_current->hung)
		sim_fail("a stop that takes minutes looks hung: %s", sim_current->hung);
	own.flush_over = true;
	complete_all(&own.flushed);
}

/*
 * A stop waits for slow disks, and sleeps in a way that the kernel does not report as hung. When
 * the stop comes, destage is in a run that takes minutes more. So does the run after that.
 */
static void a_long_stop_looks_not_hung(struct script *s)
{
	struct host *h = &s->host;

	h->pool->tunables[KVP_T_LEG_TIMEOUT] = 3600;
	hold_home_everywhere(s, 64, 3);
	host_write(h, 64, 3, true);
	host_sleep(100);
	kvp_destage_kick(h->pool, true);
	while (!disks_wait())
		host_sleep(10);
	host_write(h, 80, 3, true);
	init_completion(&own.flushed);
	own.flush_over = false;
	sim_spawn("stop", stop_task, s);
	host_sleep(150 * 1000);
	if (own.flush_over)
		sim_fail("blocks that are not home are said to be");
	release_all();
	hold_home_everywhere(s, 80, 3);
	host_sleep(150 * 1000);
	if (own.flush_over)
		sim_fail("blocks that came later are not home, and are said to be");
	release_all();
	wait_for_completion(&own.flushed);
	if (kvp_wbuf_nr_logged(h->pool->wbuf))
		sim_fail("the pool is stopped, and blocks are not home");
	kvp_pool_unquiesce(h->pool);
	host_write(h, 90, 1, true);
}

static void halt_task(void *arg)
{
	struct script *s = arg;

	kvp_pool_halt(s->host.pool);
	if (sim_current->hung)
		sim_fail("a halt that takes minutes looks hung: %s", sim_current->hung);
	own.flush_over = true;
	complete_all(&own.flushed);
}

/* The same while the loss of a leg is recorded on a slow one; also for a suspend in haste. */
static void a_stop_in_a_long_record_looks_not_hung(struct script *s)
{
	struct host *h = &s->host;
	u64 last = disks.img[0].blocks - 1;

	h->may_fail = true;
	h->pool->tunables[KVP_T_LEG_TIMEOUT] = 3600;
	disks_stall(0, 0, KVP_LABEL_BLOCKS - 1);
	disks_stall(0, last - KVP_LABEL_BLOCKS + 1, last);
	disks_kill(1);
	host_write(h, 64, 3, false);
	kvp_commit_now(h->pool->log);
	kvp_commit_kick(h->pool->log, true);
	host_sleep(1000);
	if (!disks_wait())
		sim_fail("no superblock is on its way: the case was not set up");
	init_completion(&own.flushed);
	own.flush_over = false;
	sim_spawn("stop", s->turn % 2 ? halt_task : stop_task, s);
	host_sleep(150 * 1000);
	if (own.flush_over)
		sim_fail("the pool is stopped, and the loss is not recorded");
	disks_release_all();
	wait_for_completion(&own.flushed);
	kvp_pool_unquiesce(h->pool);
}

/* With no leg left and failmode=wait too, and for requests after the suspend has begun. */
static void requeue_is_asked_while_no_leg_is_left(struct script *s)
{
	struct host *h = &s->host;

	h->may_fail = true;
	h->pool->tunables[KVP_T_FAILMODE] = 1;
	fail_writes(s, 0, ~0ull, 0);
	host_write(h, 3, 2, false);
	flush_begin(s);
	host_sleep(2000);
	if (!kvp_pool_waits(h->pool) || own.flush_over)
		sim_fail("a FLUSH was answered with %d though legs may come back", own.flush_error);
	h->pool->log->requeue = true;
	kvp_commit_requeue(h->pool->log);
	host_sleep(10);
	if (!own.flush_over || own.flush_error != -EAGAIN)
		sim_fail("a FLUSH that waits for legs was not sent away");
	flush_begin(s);
	host_sleep(10);
	if (!own.flush_over || own.flush_error != -EAGAIN)
		sim_fail("a FLUSH during the suspend was not sent away");
	h->pool->log->requeue = false;
	kvp_pool_clear(h->pool, -1);
	if (events_of(h->pool, "resumed"))
		sim_fail("said to be resumed, and there is no leg");
	cure_all();
	h->pool->tunables[KVP_T_FAILMODE] = 0;
	kvp_pool_clear(h->pool, -1);
	if (events_of(h->pool, "resumed") != 1)
		sim_fail("no event tells that the pool goes on");
	h->may_fail = false;
	host_flush(h);
	host_read_check(h, 3);
}

/*
 * failmode=wait. A FLUSH finds that one leg has failed, and that no superblock can record it: the
 * other leg takes the log, and no superblock.
 */
static void flush_finds_the_fault(struct script *s)
{
	u64 last = KVP_SB_RING * KVP_SB_BLOCKS - 1, end;
	struct host *h = &s->host;

	end = kvp_sb_slot_offset(disks.img[0].blocks, 1, 0) >> KVP_BLOCK_SHIFT;
	h->may_fail = true;
	h->pool->tunables[KVP_T_FAILMODE] = 1;
	disks_fault(FAULT_WRITE_EIO, 0, 0, ~0ull);
	disks_fault(FAULT_WRITE_EIO, 1, KVP_SB_FIRST_BLOCK, KVP_SB_FIRST_BLOCK + last);
	disks_fault(FAULT_WRITE_EIO, 1, end, end + last);
	host_write(h, 3, 2, false);
	flush_begin(s);
	host_sleep(2000);
	if (!kvp_pool_waits(h->pool))
		sim_fail("the pool does not wait: the case was not set up");
	if (own.flush_over)
		sim_fail("failmode=wait, and a FLUSH was answered with %d", own.flush_error);
}

static void the_legs_come_back(struct script *s)
{
	struct host *h = &s->host;

	cure_all();
	kvp_pool_clear(h->pool, -1);
	host_sleep(1000);
	h->pool->tunables[KVP_T_FAILMODE] = 0;
	h->may_fail = false;
}

static void flush_that_finds_the_fault_waits(struct script *s)
{
	flush_finds_the_fault(s);
	the_legs_come_back(s);
	if (!own.flush_over || own.flush_error)
		sim_fail("after `clear` a FLUSH that waited has not ended well (%d)",
			 own.flush_error);
	host_read_check(&s->host, 3);
}

/* A noflush suspend returns it, and another mode ends it: as all others that wait for legs. */
static void flush_that_found_the_fault_ends(struct script *s)
{
	struct host *h = &s->host;
	bool requeue = s->turn % 2;

	flush_finds_the_fault(s);
	if (requeue)
		kvp_commit_requeue(h->pool->log);
	else if (!kvp_pool_set(h->pool, KVP_T_FAILMODE, 0))
		sim_fail("a superblock was written: the case was not set up");
	host_sleep(10);
	if (!own.flush_over || own.flush_error != (requeue ? -EAGAIN : -EIO))
		sim_fail("a FLUSH that waited for legs was not ended (%d)", own.flush_error);
	the_legs_come_back(s);
	host_flush(h);
	host_read_check(h, 3);
}

/* The same with intents: the flush of the legs fails, as it was never issued. */
static void flush_that_is_not_issued_waits(struct script *s)
{
	struct host *h = &s->host;
	struct fault *f = disks_fault(FAULT_FLUSH_EIO, 0, 0, ~0ull);

	f->error = -ENOMEM;
	f->times = 1;
	h->may_fail = true;
	h->pool->tunables[KVP_T_FAILMODE] = 1;
	host_write(h, 64, 40, false);
	flush_begin(s);
	host_sleep(30000);
	if (!kvp_pool_waits(h->pool) || own.flush_over)
		sim_fail("a FLUSH was answered with %d, and no flush was issued", own.flush_error);
	the_legs_come_back(s);
	if (!own.flush_over || own.flush_error)
		sim_fail("after `clear` a FLUSH that waited has not ended well (%d)",
			 own.flush_error);
	host_read_check(h, 64);
}

/* Legs take the log and nothing else: `clear` helps a FLUSH, if not destage. */
static void clear_in_vain_lets_a_flush_wait(struct script *s)
{
	struct host *h = &s->host;

	h->may_fail = true;
	h->pool->tunables[KVP_T_FAILMODE] = 1;
	host_write(h, 3, 2, false);
	host_flush(h);
	fail_writes(s, disks.data_start, ~0ull, 0);
	fail_writes(s, 0, disks.log_start - 1, 0);
	host_sleep(1000);
	kvp_destage_kick(h->pool, true);
	host_sleep(20000);
	if (!kvp_pool_waits(h->pool))
		sim_fail("the pool does not wait: the case was not set up");
	host_write(h, 5, 2, false);
	flush_begin(s);
	host_sleep(1000);
	if (own.flush_over)
		sim_fail("a FLUSH of a faulted pool was answered with %d", own.flush_error);
	kvp_pool_clear(h->pool, -1);
	host_sleep(2000);
	if (own.flush_over && own.flush_error)
		sim_fail("`clear` in vain, and a FLUSH was answered with %d", own.flush_error);
	the_legs_come_back(s);
	if (!own.flush_over || own.flush_error)
		sim_fail("after `clear` a FLUSH that waited has not ended well (%d)",
			 own.flush_error);
}

/*
 * A suspend while commits fail and intents are ready to be written home: the pool's own waiters get
 * the error. After the resume the intents are written home.
 */
static void intents_survive_a_suspend_that_failed(struct script *s)
{
	struct host *h = &s->host;
	u32 i;

	h->may_fail = true;
	for (i = 0; i < s->start.legs; i++)
		hold_home(i, 0, POOL_BLOCKS);
	init_completion(&own.flushed);
	for (i = 0; i < 4; i++) {
		host_write(h, 100 * i, 40, false);
		host_sleep(1500);
	}
	if (h->pool->log->nr_open < 3)
		sim_fail("%u intents: the case was not set up", h->pool->log->nr_open);
	fail_writes(s, disks.log_start, disks.log_start + disks.log_blocks - 1, 0);
	host_write(h, 450, 1, false);
	sim_spawn("suspend", suspend_task, s);
	host_sleep(3000);
	release_all();
	wait_for_completion(&own.flushed);
	if (!kvp_commit_sync(h->pool->log))
		sim_fail("a suspended pool whose commits fail says that all is durable");
	cure_all();
	kvp_pool_unquiesce(h->pool);
	h->may_fail = false;
	host_flush(h);
	host_checkpoint(h);
	for (i = 0; i < 4; i++)
		host_read_check(h, 100 * i + 7);
}

/*
 * A stream without flushes has more intents than there are places for. Those that are home are
 * closed after a flush of the legs, without a checkpoint.
 */
static void intents_are_closed_without_a_checkpoint(struct script *s)
{
	struct host *h = &s->host;
	u64 checkpoint, intents;
	u32 i;

	host_write(h, 0, 480, false);
	host_checkpoint(h);
	checkpoint = h->pool->sb->checkpoint;
	intents = h->pool->log->intent_blocks;
	script_cut_from_here(s);
	s->cuts = 200;
	for (i = 0; i < 12; i++) {
		host_write(h, 40 * i, 40, false);
		kvp_commit_now(h->pool->log);
		kvp_commit_kick(h->pool->log, true);
		host_sleep(20);
	}
	if (h->pool->sb->checkpoint != checkpoint ||
	    h->pool->log->intent_blocks != intents + 12 * 40 ||
	    h->pool->log->nr_open > KVP_MAX_OPEN_INTENTS / 2)
		sim_fail("%u intents are open: the case was not set up",
			 h->pool->log->nr_open);
	host_write(h, 490, 1, true);
}

static void reader_task(void *arg)
{
	struct script *s = arg;
	struct page *page = alloc_page(GFP_KERNEL);

	own.flush_error = kvp_block_read(s->host.pool, 70, page);
	__free_page(page);
	own.flush_over = true;
	complete_all(&own.flushed);
}

/* A bad copy is found just as a newer version goes home: neither may harm the other. */
static void reader_heals_while_a_newer_version_is_written_home(struct script *s)
{
	struct host *h = &s->host;
	u64 at = disks.data_start + 70, healed, unrepaired;
	u8 junk[4096] = { 1, 2, 3 };

	image_write_data(&disks.img[0], at, junk);
	image_write_data(&disks.trace.start[0], at, junk);
	s->crash.heal_allowed = true;
	s->depth = CHECK_CONTENTS;
	init_completion(&own.flushed);
	disks_stall(0, at, at);
	sim_spawn("reader", reader_task, s);
	host_sleep(20);
	host_write(h, 70, 1, false);
	host_flush(h);
	host_destage(h);
	host_sleep(200);
	release_all();
	wait_for_completion(&own.flushed);
	if (own.flush_error)
		sim_fail("a block that one leg had was not read: %d", own.flush_error);
	host_checkpoint(h);
	host_read_check(h, 70);
	host_scrub(h, &healed, &unrepaired);
	if (healed || unrepaired)
		sim_fail("scrub healed %llu, found %llu: the reader put old contents back", healed,
			 unrepaired);
}

static void filler_task(void *arg)
{
	struct script *s = arg;
	u32 i;

	for (i = 0; i < 80; i++) {
		host_write(&s->host, 20 * (i % 25), 20, false);
		host_flush(&s->host);
	}
	own.flush_over = true;
	complete_all(&own.flushed);
}

/* Destage hangs in the first entry while @filler fills the log behind it. */
static void fill_log(struct script *s, void (*filler)(void *arg))
{
	struct host *h = &s->host;
	u32 i;

	host_write(h, 250, 4, false);
	host_flush(h);
	for (i = 0; i < s->start.legs; i++)
		hold_home(i, 0, POOL_BLOCKS);
	host_destage(h);
	host_sleep(50);
	init_completion(&own.flushed);
	own.flush_over = false;
	own.flushes = 0;
	sim_spawn("filler", filler, s);
	for (i = 0; i < 100 && !kvp_log_short(h->pool->log); i++)
		host_sleep(50);
	if (!kvp_log_short(h->pool->log) || own.flush_over)
		sim_fail("the log is not full: the case was not set up");
	script_cut_from_here(s);
}

/* Nothing is written home until the log is full; then all of it is, without a block of log. */
static void full_log_drains(struct script *s)
{
	fill_log(s, filler_task);
	s->cuts = 30;
	release_all();
	wait_for_completion(&own.flushed);
}

static void low_and_high_task(void *arg)
{
	struct script *s = arg;
	u32 i;

	for (i = 0; i < 80; i++) {
		host_write(&s->host, 20 * (i % 10) + (i < 25 ? 0 : 300), 20, false);
		host_flush(&s->host);
		own.flushes++;
	}
	own.flush_over = true;
	complete_all(&own.flushed);
}

/*
 * The log is full, and only its older part can be written home: that frees space for the waiters.
 */
static void log_space_comes_by_rounds(struct script *s)
{
	u32 i, before;

	fill_log(s, low_and_high_task);
	before = own.flushes;
	if (before < 26)
		sim_fail("the log is not full of both: the case was not set up");
	s->cuts = 60;
	release_all();
	for (i = 0; i < s->start.legs; i++)
		hold_home(i, 300, POOL_BLOCKS - 300);
	for (i = 0; i < 100 && own.flushes == before; i++)
		host_sleep(50);
	if (own.flushes == before)
		sim_fail("older entries are home, and no writer got their space");
	release_all();
	wait_for_completion(&own.flushed);
}

static void storm_task(void *arg)
{
	struct script *s = arg;
	u32 i;

	for (i = 0; i < 3000; i++) {
		host_write(&s->host, 7 * i % POOL_BLOCKS, 1, false);
		WRITE_ONCE(own.writes, i + 1);
	}
}

/*
 * Nothing goes home, and writers have taken all that they get: there is log for a FLUSH all the
 * same.
 */
static void flush_finds_space_after_a_storm(struct script *s)
{
	struct host *h = &s->host;
	u32 i, before = ~0u;

	own.writes = 0;
	for (i = 0; i < s->start.legs; i++)
		hold_home(i, 0, POOL_BLOCKS);
	sim_spawn("storm", storm_task, s);
	for (i = 0; i < 100 && before != READ_ONCE(own.writes); i++) {
		before = READ_ONCE(own.writes);
		host_sleep(2000);
	}
	if (before < 600 || before == 3000)
		sim_fail("%u writes: the case was not set up", before);
	script_cut_from_here(s);
	s->cuts = 20;
	flush_begin(s);
	for (i = 0; i < 20 && !own.flush_over; i++)
		host_sleep(50);
	if (!own.flush_over)
		sim_fail("a FLUSH waits for space in the log: %llu of %llu blocks are used, %u "
			 "buffered",
			 kvp_log_used(h->pool->log), kvp_log_blocks(h->pool->vdevs.v[0].g),
			 kvp_wbuf_buffered(h->pool->wbuf));
	release_all();
	flush_end(s);
	while (READ_ONCE(own.writes) < 3000)
		host_sleep(50);
}

/* Zeros are recorded as discards, and go the way of discards. */
static void blocks_of_zeros_are_holes(struct script *s)
{
	static const u8 zeros[4096];
	struct host *h = &s->host;

	host_write(h, 20, 4, false);
	host_flush(h);
	host_write_special(h, 21, zeros);
	host_write_special(h, 22, zeros);
	host_write_special(h, 66, zeros);
	host_flush(h);
	host_read_check(h, 21);
	host_checkpoint(h);
	host_read_check(h, 66);
	host_write(h, 22, 1, true);
	host_write(h, 66, 2, false);
	host_checkpoint(h);
}

/*
 * Two entries fail and yet arrive. A much shorter entry is written in their place. So the second
 * one stays at the start of a segment, where a recovery looks for the next entry; and its contents
 * are outdated.
 */
static void entry_that_failed_stays_behind_the_end(struct script *s)
{
	struct host *h = &s->host;
	u32 i;

	for (i = 0; i < s->start.legs; i++)
		disks_stall(i, disks.log_start, disks.log_start + disks.log_blocks - 1);
	fail_writes(s, disks.log_start, disks.log_start + disks.log_blocks - 1, 2);
	h->may_fail = true;
	host_write(h, 0, 256, false);
	host_write(h, 256, 256, false);
	flush_begin(s);
	host_sleep(200);
	if (list_is_singular(&h->pool->log->in_flight))
		sim_fail("only one entry is in flight: the case was not set up");
	release_all();
	flush_end(s);
	if (!own.flush_error)
		sim_fail("FLUSH succeeded although no leg took the entries");
	cure_all();
	h->may_fail = false;
	host_write_zeros(h, 0, 512);
	host_write(h, 300, 1, false);
	host_flush(h);
	script_cut_from_here(s);
	host_sleep(50);
}

/* The log is checkpointed up to an intent that is half home, and not beyond. */
static void checkpoint_beside_an_open_intent(struct script *s)
{
	struct host *h = &s->host;
	u64 checkpoints = h->pool->sb->checkpoint;

	host_write(h, 2, 3, false);
	host_flush(h);
	hold_home(0, 80, 1);
	host_write(h, 64, 40, false);
	host_sleep(1500);
	host_write(h, 20, 1, false);
	kvp_commit_now(h->pool->log);
	kvp_commit_kick(h->pool->log, true);
	host_sleep(100);
	host_destage(h);
	host_sleep(500);
	if (h->pool->sb->checkpoint == checkpoints)
		sim_fail("no checkpoint: the case was not set up");
	release_all();
	host_flush(h);
}

/* The version that superseded it is only in memory, so the old one must still be written home. */
static void superseded_version_goes_home_before_its_record_dies(struct script *s)
{
	struct host *h = &s->host;

	host_write(h, 70, 2, false);
	host_flush(h);
	host_write(h, 70, 2, false);
	host_destage(h);
	host_sleep(300);
	host_flush(h);
	host_destage(h);
	host_sleep(300);
}

/* Records that a discard covers do not count, however often the log is read. */
static void discard_hides_what_was_logged_before(struct script *s)
{
	struct host *h = &s->host;

	host_write(h, 66, 8, false);
	host_flush(h);
	host_discard(h, 68, 4);
	host_flush(h);
	host_write(h, 69, 1, true);
	host_discard(h, 2, 3);
	host_flush(h);
	host_checkpoint(h);
}

/* An entry is built while the superblock that raises the epoch is being written. */
static void entry_beside_the_record_of_a_loss(struct script *s)
{
	struct host *h = &s->host;
	u32 i;

	disks_stall(0, 0, KVP_LABEL_BLOCKS - 1);
	disks_stall(0, disks.img[0].blocks - KVP_LABEL_BLOCKS, disks.img[0].blocks - 1);
	disks_kill(1);
	for (i = 0; i < 3; i++) {
		host_write(h, 10 + i, 1, false);
		kvp_commit_now(h->pool->log);
		kvp_commit_kick(h->pool->log, true);
		host_sleep(200);
	}
	if (h->pool->durable_epoch == h->pool->sb->epoch || h->pool->log->commits < 3)
		sim_fail("no entry beside a superblock: the case was not set up");
	release_all();
	host_flush(h);
}

/*
 * While the loss is not recorded, headers name no new watermark: the log continues only so far
 * (watch.c).
 */
static void loss_unrecorded_holds_the_log_up(struct script *s)
{
	struct host *h = &s->host;
	u32 i;

	disks_stall(0, 0, KVP_LABEL_BLOCKS - 1);
	disks_stall(0, disks.img[0].blocks - KVP_LABEL_BLOCKS, disks.img[0].blocks - 1);
	disks_kill(1);
	for (i = 0; i < 40; i++) {
		host_write(h, 10, 12, false);
		kvp_commit_now(h->pool->log);
		kvp_commit_kick(h->pool->log, true);
		host_sleep(20);
	}
	if (!kvp_wbuf_buffered(h->pool->wbuf) || kvp_log_is_full(h->pool->log))
		sim_fail("the log is not held up: the case was not set up");
	release_all();
	host_sleep(10);
	if (kvp_wbuf_buffered(h->pool->wbuf))
		sim_fail("the loss is recorded, and the log does not go on");
	host_flush(h);
}

/* --- the RAM cache: changes between a read and the page that it admits ----------------- */

/* Reads a block that is home while @what changes it; only a later read shows the result. */
static void read_while(struct script *s, u64 block, void (*what)(struct host *h))
{
	struct host *h = &s->host;

	kvp_rcache_drop(h->pool->rcache);
	h->before_fill = what;
	host_read_check(h, block);
	if (h->before_fill)
		sim_fail("the read did not come from home: the case was not set up");
	host_cache_check(h);
}

/* At a border of regions, so that requests reach into two regions. */
#define BORDER	(4 * KVP_RCACHE_STRETCH + 1)

static void overwrite_and_write_home(struct host *h)
{
	host_write(h, BORDER, 1, false);
	host_write(h, 70, 1, false);
	host_checkpoint(h);
}

/* Check whether the block is in the cache. The read gets the newest version in any case. */
static void expect_cached(struct host *h, u64 block, bool cached)
{
	if (host_cached(h, block) != cached)
		sim_fail("block %llu is %s the RAM cache", block, cached ? "not in" : "in");
	host_read_check(h, block);
	host_cache_check(h);
}

/*
 * The page that it has verified is outdated: the next reader must not get it, not even after a
 * crash.
 */
static void fill_races_a_write(struct script *s)
{
	struct host *h = &s->host;
	u32 i;

	for (i = 0; i < 6; i++) {
		read_while(s, BORDER, overwrite_and_write_home);
		expect_cached(h, BORDER, true);	/* written blocks */
	}
	s->cuts = 40;
	host_write(h, BORDER, 1, true);
	host_read_check(h, BORDER);
}

static void overwrite_while_the_cache_is_off(struct host *h)
{
	if (kvp_rcache_resize(h->pool->rcache, 0))
		sim_fail("the cache cannot be switched off");
	host_write(h, 70, 1, false);
	host_checkpoint(h);
	if (kvp_rcache_resize(h->pool->rcache, 256))
		sim_fail("the cache cannot be switched on");
}

/* Changes are not counted without a cache: a block read before must not enter the next cache. */
static void fill_outlives_its_cache(struct script *s)
{
	struct host *h = &s->host;

	read_while(s, 70, overwrite_while_the_cache_is_off);
	if (host_cached(h, 70))
		sim_fail("a page was kept that is older than its block at home");
	host_read_check(h, 70);
	s->cuts = 20;
	host_write(h, 70, 1, true);
	host_read_check(h, 70);
}

static u8 twins[2][4096];

static void overwrite_with_the_twin(struct host *h)
{
	host_write_special(h, 70, twins[1]);
	host_checkpoint(h);
}

/* A sum is no version: a write of contents with the same sum still counts as a write. */
static void fill_races_a_write_of_the_same_sum(struct script *s)
{
	struct host *h = &s->host;
	u32 i;

	for (i = 0; i < 4096; i++)
		twins[0][i] = (u8)(i * 7 + 1);
	same_sum(twins[0], twins[1], 100);
	if (kvp_block_sum(h->pool->seed, 70, twins[0]) != kvp_block_sum(h->pool->seed, 70,
		twins[1]) ||
	    !memcmp(twins[0], twins[1], 4096))
		sim_fail("no twins: the case was not set up");
	host_write_special(h, 70, twins[0]);
	host_checkpoint(h);
	read_while(s, 70, overwrite_with_the_twin);
	host_read_check(h, 70);
}

static void discard_and_apply(struct host *h)
{
	host_discard(h, 68, 4);
	host_checkpoint(h);
}

static void fill_races_a_discard(struct script *s)
{
	struct host *h = &s->host;

	read_while(s, 70, discard_and_apply);
	host_read_check(h, 70);
	/* and blocks already in the cache */
	host_read_check(h, 80);
	host_discard(h, 80, 1);
	host_read_check(h, 80);
	host_checkpoint(h);
	host_read_check(h, 80);
	if (host_cached(h, 70) || host_cached(h, 80))
		sim_fail("a discarded block is in the cache");
}

static void overwrite_and_log(struct host *h)
{
	host_write(h, 70, 1, false);
	host_flush(h);
}

/* It may enter, since the buffer has the newer one; but must leave before that does. */
static void fill_races_destage(struct script *s)
{
	struct host *h = &s->host;
	u32 i;

	read_while(s, 70, overwrite_and_log);
	if (!host_cached(h, 70))
		sim_fail("the old version did not enter: the case was not set up");
	host_read_check(h, 70);
	for (i = 0; i < s->start.legs; i++)
		hold_home(i, 70, 1);
	host_destage(h);
	host_sleep(200);
	host_read_check(h, 70);
	release_all();
	host_checkpoint(h);
	expect_cached(h, 70, true);
}

static void hold_home_of_70(struct script *s)
{
	u32 i;

	for (i = 0; i < s->start.legs; i++)
		hold_home(i, 70, 1);
	host_destage(&s->host);
	host_sleep(200);
}

/* The cached version is read until the next one is accepted, and the next one once it is home. */
static void written_is_cached_when_it_is_home(struct script *s)
{
	struct host *h = &s->host;

	kvp_rcache_drop(h->pool->rcache);
	host_write(h, 70, 4, false);
	host_flush(h);
	if (host_cached(h, 70))
		sim_fail("a block is in the RAM cache that is not home");
	host_checkpoint(h);
	expect_cached(h, 70, true);
	expect_cached(h, 73, true);
	host_write(h, 70, 1, false);
	host_flush(h);
	hold_home_of_70(s);
	host_write(h, 70, 1, false);
	host_read_check(h, 70);
	release_all();
	host_sleep(200);
	host_read_check(h, 70);
	host_checkpoint(h);
	expect_cached(h, 70, true);
	s->cuts = 20;
	host_write(h, 70, 1, true);
	host_checkpoint(h);
	expect_cached(h, 70, true);
}

/*
 * Discards, zeros, a stream, which is written directly, and blocks without memory: all are dropped.
 */
static void what_is_not_cached_when_it_is_home(struct script *s)
{
	static const u8 zeros[4096];
	struct host *h = &s->host;

	kvp_rcache_drop(h->pool->rcache);
	host_write(h, 70, 4, false);
	host_checkpoint(h);
	expect_cached(h, 70, true);
	host_write(h, 72, 1, false);
	host_flush(h);
	sim_memory_short = 1000;	/* and no page to spare either, as none was taken out yet */
	host_checkpoint(h);
	sim_memory_short = 0;
	expect_cached(h, 72, false);
	expect_cached(h, 73, true);
	host_discard(h, 70, 1);
	host_write_special(h, 71, zeros);
	host_checkpoint(h);
	expect_cached(h, 70, false);
	expect_cached(h, 71, false);
	expect_cached(h, 72, true);
	host_write(h, 72, 32, false);
	host_checkpoint(h);
	expect_cached(h, 72, false);
	expect_cached(h, 73, false);
	expect_cached(h, 90, false);
}

/* One copy rots, then the other: a healed block may be kept, a lost block is lost. */
static void healed_is_kept_and_poison_is_not(struct script *s)
{
	u64 at = disks.data_start + 70, healed, unrepaired;
	struct host *h = &s->host;
	u8 junk[4096] = { 1, 2, 3 }, data[4096];
	u32 i;

	s->crash.heal_allowed = true;
	s->crash.poison_allowed = true;
	s->depth = CHECK_CONTENTS;
	image_write_data(&disks.img[0], at, junk);
	image_write_data(&disks.trace.start[0], at, junk);
	for (i = 0; i < 4; i++)
		host_read_check(h, 70);
	host_scrub(h, &healed, &unrepaired);
	host_read_check(h, 70);
	if (!host_cached(h, 70) || unrepaired)
		sim_fail("a healed block was not kept: the case was not set up");
	for (i = 0; i < s->start.legs; i++)
		image_write_data(&disks.img[i], at, junk);
	host_scrub(h, &healed, &unrepaired);
	if (unrepaired != 1)
		sim_fail("the scrub found %llu: the case was not set up", unrepaired);
	if (!host_read(h, 70, data))
		sim_fail("a block that is poisoned was read from the RAM cache");
	script_cut_from_here(s);
	host_write(h, 70, 1, true);
	host_read_check(h, 70);
	host_checkpoint(h);
	host_read_check(h, 70);
}

/* A leg accepts a repair but does not keep it: that is no repair, so the leg is given up (R19). */
static void heal_that_does_not_stay_gives_up_the_leg(struct script *s)
{
	u64 at = disks.data_start + 70, healed, unrepaired;
	struct host *h = &s->host;
	u8 junk[4096] = { 1, 2, 3 };

	s->crash.heal_allowed = true;
	s->depth = CHECK_CONTENTS;
	image_write_data(&disks.img[0], at, junk);
	image_write_data(&disks.trace.start[0], at, junk);
	disks_fault(FAULT_LOST_WRITE, 0, at, at);
	s->crash.lost |= BIT(0);
	script_cut_from_here(s);
	host_scrub(h, &healed, &unrepaired);
	if (healed || kvp_leg_in_sync(host_leg(h, 0)))
		sim_fail("a leg that lost the healed contents of a block is in use");
	host_read_check(h, 70);
	host_write(h, 71, 1, true);
}

/* The whole cache goes; reads of other blocks stay right. */
static void shrink_and_read_others(struct host *h)
{
	u32 i;

	kvp_rcache_shrink(h->pool->rcache, 8);
	kvp_rcache_drop(h->pool->rcache);
	for (i = 64; i < 144; i++)
		if (i != 70)
			host_read_check(h, i);
}

/* It is forgotten, after which its page could be the next block's. */
static void overwrite_and_read_others(struct host *h)
{
	u32 i;

	overwrite_and_write_home(h);
	for (i = 64; i < 144; i++)
		if (i != 70)
			host_read_check(h, i);
}

static void cache_shrinks_in_the_middle_of_a_hit(struct script *s)
{
	static void (* const what[])(struct host *h) = {
		shrink_and_read_others, overwrite_and_read_others, discard_and_apply,
	};
	struct host *h = &s->host;
	u32 i;

	kvp_rcache_resize(h->pool->rcache, KVP_RCACHE_SHARDS * 4);
	for (i = 0; i < ARRAY_SIZE(what); i++) {
		kvp_rcache_drop(h->pool->rcache);	/* and the spare pages */
		host_read_check(h, 70);
		if (!host_cached(h, 70))
			sim_fail("the block is not cached: the case was not set up");
		h->amid_hit = what[i];
		host_read_check(h, 70);
		if (h->amid_hit)
			sim_fail("it was no hit: the case was not set up");
		host_cache_check(h);
	}
}

/*
 * --- two entries as one request ----------------------------------------------------------------
 */

/* Requests to logs, in the trace from @from on, that have two entries of one block. */
static u32 joined_requests(u32 from)
{
	u32 i, n = 0;

	for (i = from; i < disks.trace.nr_requests; i++) {
		const struct trace_request *r = &disks.trace.requests[i];

		n += r->op == KVP_IO_WRITE_FUA && r->nr == 2 && disk_has_log(r->disk, r->block);
	}
	return n;
}

/* The intents of one entry are going home, and hang. */
static void hold_intents(struct script *s)
{
	struct host *h = &s->host;
	u32 i;

	host_write(h, 0, 480, false);
	host_checkpoint(h);
	kvp_wbuf_set_limit(h->pool->wbuf, 256);
	for (i = 0; i < s->start.legs; i++)
		hold_home(i, 0, 64);
	host_write(h, 0, 64, false);
	host_sleep(50);
}

/* And the next entry is kept. */
static void keep_an_entry(struct script *s)
{
	struct host *h = &s->host;

	hold_intents(s);
	script_cut_from_here(s);
	s->cuts = 150;
	host_write(h, 100, 64, false);
	host_sleep(50);
	if (!h->pool->log->unsent)
		sim_fail("no entry is kept: the case was not set up");
}

/* Everywhere in it, with each part of the request there or torn. */
static void two_entries_are_one_request(struct script *s)
{
	struct host *h = &s->host;
	u32 from;

	keep_an_entry(s);
	from = disks.trace.nr_requests;
	host_write(h, 200, 64, false);
	host_sleep(50);
	if (h->pool->log->unsent || joined_requests(from) != s->start.legs)
		sim_fail("%u requests with two entries: the case was not set up",
			 joined_requests(from));
	flush_begin(s);
	host_sleep(50);
	if (own.flush_over)
		sim_fail("FLUSH did not wait for intents");
	release_all();
	flush_end(s);
	host_write(h, 130, 1, true);
}

static void one_leg_fails_two_entries(struct script *s)
{
	struct host *h = &s->host;

	h->may_fail = true;
	keep_an_entry(s);
	disks_fault(FAULT_WRITE_EIO, 1, disks.log_start,
		    disks.log_start + disks.log_blocks - 1)->times = 1;
	s->crash.given_up = BIT(1);
	host_write(h, 200, 64, false);
	host_sleep(50);
	if (kvp_leg_in_sync(host_leg(h, 1)))
		sim_fail("no leg was given up");
	release_all();
	h->may_fail = false;
	host_flush(h);
	host_read_check(h, 100);
	host_read_check(h, 263);
}

static void no_leg_takes_two_entries(struct script *s)
{
	struct host *h = &s->host;
	u32 from;

	h->may_fail = true;
	keep_an_entry(s);
	fail_writes(s, disks.log_start, disks.log_start + disks.log_blocks - 1, 1);
	from = disks.trace.nr_requests;
	host_write(h, 200, 64, false);
	host_sleep(50);
	if (joined_requests(from) != s->start.legs ||
	    events_of(h->pool, "commit_failed why=no leg took the log entry") != 1)
		sim_fail("no commit failed: the case was not set up");
	release_all();
	h->may_fail = false;
	host_flush(h);
	host_read_check(h, 100);
	host_read_check(h, 263);
}

/* An entry in flight fails: the one kept for later is sent, or neither would end. */
static void an_entry_fails_and_the_next_is_kept(struct script *s)
{
	struct host *h = &s->host;
	u64 at = disks.log_start + kvp_log_pos(h->pool->vdevs.v[0].g, h->pool->log->head.lsn);
	u32 i;

	h->may_fail = true;
	kvp_wbuf_set_limit(h->pool->wbuf, 256);
	fail_writes(s, at, at, 1);
	for (i = 0; i < s->start.legs; i++)
		disks_stall(i, at, at);
	host_write(h, 0, 64, false);
	host_write(h, 100, 64, false);
	host_sleep(50);
	if (!h->pool->log->unsent)
		sim_fail("no entry is kept: the case was not set up");
	release_all();
	host_sleep(50);
	if (events_of(h->pool, "commit_failed why=no leg took the log entry") != 1)
		sim_fail("no waiter was told that the commit failed");
	h->may_fail = false;
	host_flush(h);
	host_read_check(h, 0);
	host_read_check(h, 163);
}

/* A FLUSH has it sent; with nothing else to write home, the wait ends too. */
static void a_flush_does_not_wait_for_a_second_entry(struct script *s)
{
	keep_an_entry(s);
	flush_begin(s);
	host_sleep(50);
	if (s->host.pool->log->unsent)
		sim_fail("an entry with a waiter is kept");
	release_all();
	flush_end(s);
}

/*
 * The interval is over, so the few blocks that are buffered become an entry. It is sent at once,
 * although it has nothing but intents, and takes all that was buffered.
 */
static void an_entry_of_the_interval_is_not_kept(struct script *s)
{
	struct host *h = &s->host;
	struct kvp_log *log = h->pool->log;
	u64 intents;
	u32 ms;

	hold_intents(s);
	script_cut_from_here(s);
	s->cuts = 150;
	intents = log->intent_blocks;
	host_write(h, 100, 20, false);
	host_sleep(50);
	if (kvp_wbuf_buffered(h->pool->wbuf) != 20 || log->unsent)
		sim_fail("an entry was built before the interval was over: the case was not set up");
	ms = h->pool->tunables[KVP_T_COMMIT_INTERVAL_MS];
	host_sleep(ms + 50);
	if (log->intent_blocks != intents + 20 || kvp_wbuf_buffered(h->pool->wbuf))
		sim_fail("no entry has all of it by intent: the case was not set up");
	if (log->unsent || log->durable_seq != h->pool->wbuf->seq)
		sim_fail("the interval is over, and the entry is kept");
	if (!disks_wait())
		sim_fail("nothing is on its way home: the case was not set up");
	release_all();
	host_flush(h);
	host_read_check(h, 119);
}

static void a_stream_that_ends_has_nothing_kept(struct script *s)
{
	keep_an_entry(s);
	release_all();
	host_sleep(500);
	if (s->host.pool->log->unsent || s->host.pool->log->durable_seq != s->host.pool->wbuf->seq)
		sim_fail("an entry is kept, and no intents are going home");
	host_flush(&s->host);
}

#define NAMED(function) #function, function

/* Scenarios of checkpoints. */
void run_deep_scenarios(void)
{
	scenario(NAMED(checkpoint_snapshot_beside_unflushed_direct_write), 2, false, 2);
	scenario(NAMED(leaf_changes_before_it_is_summed), 2, false, 2);
	scenario(NAMED(pages_that_failed_are_no_checkpoint), 2, false, 2);
	scenario("pages_that_failed_are_no_checkpoint_on_a_single",
		 pages_that_failed_are_no_checkpoint, 1, false, 1);
	scenario(NAMED(superblock_that_failed_may_be_there_all_the_same), 2, false, 1);
	scenario("superblock_that_failed_may_be_there_all_the_same_on_a_single",
		 superblock_that_failed_may_be_there_all_the_same, 1, false, 1);
}

/*
 * Destage has read a gap from a disk that seeks, up to where another leg has its turn. A read that
 * goes on from there goes to the same disk: its head is there.
 */
static void a_read_follows_the_head_of_a_disk(struct script *s)
{
	struct kvp_pool *pool = s->host.pool;
	struct kvp_vdev *v = &pool->vdevs.v[0];
	struct kvp_spot behind = kvp_locate(pool, 256);
	struct kvp_leg *first, *next;

	first = kvp_leg_choose_copy(v, kvp_home_block(pool, 252), 4);
	kvp_leg_unchoose(first);
	next = kvp_leg_choose(&behind, 4);
	kvp_leg_unchoose(next);
	if ((first == next) != s->start.rotational)
		sim_fail("leg %u read blocks 252 to 255, and leg %u those behind", first->index,
			 next->index);
}

static void run_durable(void)
{
	scenario(NAMED(flush_while_direct_write_supersedes_acknowledged), 2, false, 3);
	scenario(NAMED(flushes_beside_each_other), 2, false, 2);
	scenario(NAMED(a_read_follows_the_head_of_a_disk), 2, false, 2);
	scenario(NAMED(checkpoint_snapshot_beside_unflushed_direct_write), 2, false, 8);
	scenario(NAMED(checkpoint_snapshot_without_memory_beside_unflushed_direct_write), 2, false,
		 8);
	scenario(NAMED(leaf_changes_before_it_is_summed), 2, false, 2);
	scenario(NAMED(pages_that_failed_are_no_checkpoint), 2, false, 2);
	scenario(NAMED(legs_diverge_under_intent_while_one_is_lost_and_returns), 2, false, 3);
	scenario(NAMED(failed_commit_keeps_flush_failing_until_durable), 2, false, 3);
	scenario("failed_commit_keeps_flush_failing_until_durable_on_a_single",
		 failed_commit_keeps_flush_failing_until_durable, 1, false, 3);
	scenario(NAMED(failed_commit_with_intents), 2, false, 3);
	scenario(NAMED(flush_that_fails_on_the_last_leg_stays_failed), 1, false, 2);
	scenario(NAMED(flush_that_is_not_issued_on_the_last_leg), 1, false, 2);
	scenario(NAMED(a_failure_is_told_when_it_gets_worse), 1, false, 2);
	scenario(NAMED(a_rename_is_durable_or_undone), 1, false, 2);
	scenario(NAMED(leg_whose_flush_failed_is_given_up), 2, false, 2);
	scenario(NAMED(entry_that_failed_is_overwritten_by_the_next), 2, false, 2);
	scenario("entry_that_failed_is_overwritten_by_the_next_on_a_single",
		 entry_that_failed_is_overwritten_by_the_next, 1, false, 1);
	scenario(NAMED(entry_that_failed_stays_behind_the_end), 2, true, 1);
	scenario(NAMED(discard_hides_what_was_logged_before), 2, false, 2);
	scenario(NAMED(entry_beside_the_record_of_a_loss), 2, false, 2);
	scenario(NAMED(loss_unrecorded_holds_the_log_up), 2, false, 2);
	scenario(NAMED(checkpoint_beside_an_open_intent), 2, false, 2);
	scenario("checkpoint_beside_an_open_intent_on_a_single", checkpoint_beside_an_open_intent,
		 1,
		 false, 2);
	scenario(NAMED(superseded_version_goes_home_before_its_record_dies), 2, false, 2);
	scenario(NAMED(counts_of_a_checkpoint_that_failed_are_not_told), 1, false, 2);
}

static void run_superblocks_and_faults(void)
{
	scenario(NAMED(superblock_that_failed_may_be_there_all_the_same), 2, false, 2);
	scenario("superblock_that_failed_may_be_there_all_the_same_on_a_single",
		 superblock_that_failed_may_be_there_all_the_same, 1, false, 2);
	scenario(NAMED(clear_answers_after_its_superblock), 2, false, 2);
	scenario("clear_answers_after_its_superblock_on_a_single",
		 clear_answers_after_its_superblock, 1, false, 2);
	scenario(NAMED(home_writes_that_fail_everywhere_are_no_hang), 2, false, 2);
	scenario(NAMED(requeue_answers_all_who_wait), 2, false, 2);
	scenario(NAMED(requeue_is_asked_while_no_leg_is_left), 2, false, 2);
	scenario(NAMED(flush_that_finds_the_fault_waits), 2, false, 2);
	scenario(NAMED(flush_that_found_the_fault_ends), 2, false, 2);
	scenario(NAMED(flush_that_is_not_issued_waits), 1, false, 2);
	scenario(NAMED(clear_in_vain_lets_a_flush_wait), 2, false, 2);
}

static void run_suspends_and_intents(void)
{
	scenario(NAMED(order_ends_for_a_suspend), 2, false, 2);
	scenario(NAMED(write_back_beside_writers), 2, false, 2);
	scenario(NAMED(write_back_ends_with_its_suspend), 2, false, 2);
	scenario(NAMED(second_write_back_at_once), 2, false, 2);
	scenario(NAMED(suspend_given_up_beside_a_scrub), 2, false, 2);
	scenario(NAMED(second_suspend_at_once), 2, false, 2);
	scenario(NAMED(a_long_stop_looks_not_hung), 2, false, 1);
	scenario(NAMED(a_stop_in_a_long_record_looks_not_hung), 2, false, 4);
	scenario(NAMED(suspend_makes_all_durable), 2, false, 1);
	scenario("suspend_makes_all_durable_on_a_single", suspend_makes_all_durable, 1, false, 1);
	scenario(NAMED(journal_by_fua_alone), 2, false, 1);
	scenario("journal_by_fua_alone_on_a_single", journal_by_fua_alone, 1, false, 1);
	scenario(NAMED(intents_survive_a_suspend_that_failed), 2, false, 2);
	scenario("intents_survive_a_suspend_that_failed_on_a_single",
		 intents_survive_a_suspend_that_failed, 1, false, 2);
	scenario(NAMED(intents_are_closed_without_a_checkpoint), 2, false, 2);
	scenario("intents_are_closed_without_a_checkpoint_on_a_single",
		 intents_are_closed_without_a_checkpoint, 1, false, 1);
}

static void run_readers(void)
{
	scenario(NAMED(reader_heals_while_a_newer_version_is_written_home), 2, false, 8);
	scenario(NAMED(fill_races_a_write), 2, false, 2);
	scenario("fill_races_a_write_on_a_single", fill_races_a_write, 1, false, 1);
	scenario(NAMED(fill_races_a_write_of_the_same_sum), 2, false, 1);
	scenario(NAMED(fill_outlives_its_cache), 2, false, 2);
	scenario(NAMED(fill_races_a_discard), 2, false, 2);
	scenario(NAMED(fill_races_destage), 2, false, 2);
	scenario(NAMED(written_is_cached_when_it_is_home), 2, false, 2);
	scenario("written_is_cached_when_it_is_home_on_a_single",
		 written_is_cached_when_it_is_home, 1, false, 1);
	scenario(NAMED(what_is_not_cached_when_it_is_home), 2, false, 1);
	scenario(NAMED(healed_is_kept_and_poison_is_not), 2, false, 1);
	scenario(NAMED(heal_that_does_not_stay_gives_up_the_leg), 2, false, 1);
	scenario(NAMED(cache_shrinks_in_the_middle_of_a_hit), 2, false, 2);
}

static void run_log(void)
{
	scenario(NAMED(full_log_drains), 2, true, 1);
	scenario(NAMED(space_waits_for_the_superblock), 2, true, 1);
	scenario(NAMED(log_space_comes_by_rounds), 2, true, 2);
	scenario("log_space_comes_by_rounds_on_a_single", log_space_comes_by_rounds, 1, true, 2);
	scenario(NAMED(flush_finds_space_after_a_storm), 2, true, 1);
	scenario(NAMED(blocks_of_zeros_are_holes), 2, false, 1);
	scenario(NAMED(two_entries_in_flight_earlier_lost), 2, true, 1);
	scenario(NAMED(two_entries_are_one_request), 2, false, 3);
	scenario(NAMED(one_leg_fails_two_entries), 2, false, 2);
	scenario(NAMED(no_leg_takes_two_entries), 2, false, 2);
	scenario(NAMED(an_entry_fails_and_the_next_is_kept), 2, false, 2);
	scenario(NAMED(a_flush_does_not_wait_for_a_second_entry), 2, false, 2);
	scenario(NAMED(an_entry_of_the_interval_is_not_kept), 2, false, 2);
	scenario(NAMED(a_stream_that_ends_has_nothing_kept), 2, false, 2);
	scenario(NAMED(user_data_imitates_log_entries), 2, true, 2);
	scenario(NAMED(log_wrap_over_stale_entries), 2, true, 3);
	scenario("log_wrap_over_stale_entries_on_a_single", log_wrap_over_stale_entries, 1, true,
		 2);
}

void run_scenarios(void)
{
	run_durable();
	run_superblocks_and_faults();
	run_suspends_and_intents();
	run_readers();
	run_log();
	run_widths();
	run_beside();
	run_over();
}
