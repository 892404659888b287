// SPDX-License-Identifier: GPL-2.0-only
/*
 * A cache that carries the log: sequences cut everywhere (sequences.c), and lives
 * of which the later ones lack its SSDs, or find them again (R14).
 */
#include <stdlib.h>
#include <string.h>

#include "script.h"
#include "ram/wbuf.h"
#include "super/members.h"

/* What a case knows besides its script. */
static struct {
	struct oracle old;	/* the versions of the last checkpoint */
	u32 at;
	const struct oracle *expected;	/* of a life that looks at all blocks */
	u64 gone, nr_gone;		/* blocks that are known to be lost, and read EIO */
	u64 hurt;			/* block of an SSD that is to be damaged */
	/* the log's segment with that block: its first block, and behind it; the next segment */
	u64 segment, behind, next;
	/* error of reads of an SSD's log outside these places; 0: none */
	int silent;
	bool given_up;			/* the image was checked after its log was given up */
	bool flushed;
	bool last;			/* the cut is at the end of the trace */
} own;

static u32 ssds(const struct script *t)
{
	return (BIT(t->start.cache) - 1) << (t->legs - t->start.cache);
}

/* --- lives -------------------------------------------------------------------------- */

static void look_at_all(struct script *t)
{
	u8 data[KVP_BLOCK_SIZE];
	char why[160];
	u64 block;

	for (block = 0; block < own.expected->blocks; block++) {
		bool gone = block >= own.gone && block < own.gone + own.nr_gone;

		if (!host_read(&t->host, block, data) == gone)
			sim_fail(gone ? "block %llu is lost, and can be read" :
				 "block %llu cannot be read", block);
		if (gone)
			continue;
		if (!oracle_allows(own.expected, block, data, own.at, why))
			sim_fail("%s", why);
	}
}

/* Reads of the SSDs' logs fail, except the part in which a recovery finds the damage. */
static void silence(struct script *t)
{
	u64 end = disks.img[t->legs - 1].blocks - KVP_LABEL_BLOCKS;
	u32 i;

	for (i = t->legs - t->start.cache; i < t->legs; i++) {
		disks_fault(FAULT_READ_EIO, i, own.next < own.segment ? own.next + 1 :
			    KVP_LABEL_BLOCKS,
			    own.segment - 1)->error = own.silent;
		disks_fault(FAULT_READ_EIO, i, own.behind + (own.next == own.behind),
			    end - 1)->error = own.silent;
	}
}

static void prepare(struct script *t)
{
	if (own.silent)
		silence(t);
}

static void begin(struct script *t)
{
	if (own.expected)
		look_at_all(t);
}

/* One life on @img, which leaves its contents in the disks. False: the test has failed. */
static bool run_on(struct script *t, const struct image *img, void (*live)(struct script *t),
		   const struct oracle *expected)
{
	own.expected = expected;
	return script_live_on(t, img, live, true);
}

/* The same; the disks keep the contents. The pool must start. */
static bool life(struct script *t, u32 missing, bool discard,
		 void (*live)(struct script *t), const struct oracle *expected)
{
	t->start.missing = missing;
	t->start.discard_log = discard;
	own.at = ~0u;
	if (!run_on(t, t->img, live, expected))
		return false;
	script_keep(t);
	if (t->refused)
		snprintf(sim_failure, sizeof(sim_failure), "start refused (%d): %s", t->refused,
			 t->host.refusal.why);
	return !t->refused;
}

/* Refused without the cache, and nothing was written. */
static bool refused(struct script *t)
{
	t->start.missing = ssds(t);
	t->start.discard_log = false;
	if (!run_on(t, t->img, NULL, NULL))
		return false;
	if (t->refused == -ENOTCONN && strstr(t->host.refusal.why, "cache is missing") &&
	    !disks.trace.nr)
		return true;
	snprintf(sim_failure, sizeof(sim_failure), "start gave %d, %u events", t->refused,
		 disks.trace.nr);
	return false;
}

/* A start of @img, without @missing, is cut as well: @img is what that leaves. */
static bool cut_start(struct script *t, struct image *img, u32 missing, bool discard,
		      struct rng *rng)
{
	struct image again[MAX_DISKS];
	struct trace trace;
	bool good;

	t->start.missing = missing;
	t->start.discard_log = discard;
	good = run_on(t, img, NULL, NULL);
	trace = script_take_trace();
	cut_trace(&trace, rng_below(rng, trace.nr + 1), rng_below(rng, 4), rng, again);
	trace_free(&trace);
	script_free_disks(t, img);
	memcpy(img, again, t->legs * sizeof(*img));
	return good;
}

/*
 * Cuts of the last life's trace; @look checks each image. For every third the next start, without
 * @missing, is cut too.
 */
static bool each_cut(struct script *t, u32 positions,
		     bool (*look)(struct script *t, const struct image *img),
		     u32 missing, bool discard)
{
	struct rng rng = { mix64(t->seed, 4711) };
	struct trace trace = script_take_trace();
	bool good = true, twice;
	u32 p;

	for (p = 0; good && p < positions; p++) {
		u32 at = p ? rng_below(&rng, trace.nr + 1) : trace.nr;
		struct image img[MAX_DISKS];

		cut_trace(&trace, at, p, &rng, img);
		own.at = at;
		own.last = at == trace.nr;
		twice = p % 3 == 2;
		good = (!twice || cut_start(t, img, missing, discard, &rng)) && look(t, img);
		if (!good)
			fprintf(stderr, "  ^ cut at %u of %u%s\n", at, trace.nr,
				twice ? ", and in the next start" : "");
		script_free_disks(t, img);
	}
	trace_free(&trace);
	return good;
}

/* --- what happens in them -------------------------------------------------------------- */

static void expect_log(struct script *t, bool on_cache)
{
	if (kvp_has_data(t->host.pool->vdevs.log_vdev->g) == on_cache)
		sim_fail("the log is on vdev %u", t->host.pool->vdevs.log_vdev->index);
}

/* Some are home, with a checkpoint; others, and newer ones, are in the log alone. */
static void live_and_log(struct script *t)
{
	struct host *h = &t->host;

	expect_log(t, true);
	host_write(h, 2, 6, false);
	host_write(h, 64, 20, false);
	host_checkpoint(h);
	oracle_free(&own.old);
	oracle_copy(&own.old, &t->o);
	host_write(h, 4, 3, false);
	host_write(h, 100, 5, false);
	host_flush(h);
}

static void live_and_stop(struct script *t)
{
	host_write(&t->host, 4, 3, false);
	host_checkpoint(&t->host);
	host_stop(&t->host);
}

static void live_on_legs(struct script *t)
{
	expect_log(t, false);
	host_write(&t->host, 4, 2, false);
	host_write(&t->host, 200, 2, false);
	host_flush(&t->host);
}

static void stale_ssds(struct script *t)
{
	u32 i;

	expect_log(t, false);
	for (i = t->legs - t->start.cache; i < t->legs; i++)
		if (kvp_leg_in_sync(host_leg(&t->host, i)))
			sim_fail("an SSD that was given up is in use");
	host_write(&t->host, 5, 1, false);
	host_flush(&t->host);
}

/* --- the tests --------------------------------------------------------------------------- */

static bool missing_with_a_log_is_refused(struct script *t)
{
	return life(t, 0, false, live_and_log, NULL) && refused(t) &&
	       life(t, 0, false, NULL, &t->o);
}

static bool missing_with_an_empty_log_starts_on_the_legs(struct script *t)
{
	return life(t, 0, false, live_and_stop, NULL) &&
	       life(t, ssds(t), false, live_on_legs, &t->o) &&
	       life(t, 0, false, stale_ssds, &t->o) && life(t, ssds(t), false, NULL, &t->o);
}

/* Whenever it is cut: given up once more, or not needed any more. */
static bool given_up_again(struct script *t, const struct image *img)
{
	t->start.missing = ssds(t);
	t->start.discard_log = true;
	own.at = ~0u;
	if (!run_on(t, img, NULL, &own.old))
		return false;
	if (t->refused)
		snprintf(sim_failure, sizeof(sim_failure), "refused: %s", t->host.refusal.why);
	return !t->refused;
}

/* From the last checkpoint on the given up log does not count, with or without its SSD. */
static bool given_up_log_does_not_come_back(struct script *t)
{
	struct oracle all;
	bool good;

	if (!life(t, 0, false, live_and_log, NULL) ||
	    !life(t, ssds(t), true, NULL, &own.old) || !each_cut(t, 12, given_up_again, ssds(t),
								true))
		return false;
	all = t->o;
	oracle_copy(&t->o, &own.old);
	good = life(t, ssds(t), false, live_on_legs, &t->o) &&
	       life(t, 0, true, stale_ssds, &t->o) && life(t, 0, false, NULL, &t->o);
	oracle_free(&all);
	return good;
}

/* The option for a lost log does not lose a log that is there. */
static bool nothing_is_given_up_that_is_there(struct script *t)
{
	return life(t, 0, false, live_and_log, NULL) && life(t, 0, true, NULL, &t->o);
}

/* --- blocks that are known to be lost ---------------------------------------------------- */

#define KNOWN		100u
#define NR_KNOWN	5u

/* An SSD is out before the end: it knows of some that only the other one has the newest of. */
static void live_and_outdate_an_ssd(struct script *t)
{
	struct host *h = &t->host;

	host_write(h, 2, 6, false);
	host_write(h, KNOWN, 1, false);
	host_checkpoint(h);
	oracle_free(&own.old);
	oracle_copy(&own.old, &t->o);
	host_write(h, 30, 2, false);
	host_flush(h);
	host_discard(h, 30, 2);
	host_write(h, KNOWN, NR_KNOWN, false);
	host_flush(h);
	if (kvp_leg_offline(h->pool, host_leg(h, t->legs - 2)))
		sim_fail("an SSD cannot be taken out");
	host_write(h, 4, 3, false);
	host_write(h, KNOWN + 1, 1, false);
	host_flush(h);
}

/* Entries that follow one whose header will rot. */
static void live_and_log_behind(struct script *t)
{
	const struct kvp_geometry *g = t->host.pool->vdevs.log_vdev->g;
	struct host *h = &t->host;
	struct kvp_version *d;

	host_write(h, 2, 6, false);
	host_write(h, KNOWN, 1, false);
	host_checkpoint(h);
	oracle_free(&own.old);
	oracle_copy(&own.old, &t->o);
	host_write(h, 4, 3, false);
	host_flush(h);
	host_write(h, KNOWN, NR_KNOWN, false);
	host_flush(h);
	d = kvp_wbuf_find(h->pool->wbuf, 5);
	if (!d)
		sim_fail("it is home already: the case was not set up");
	own.hurt = kvp_log_place(g, d->lsn, 0).block;
	own.segment = kvp_log_place(g, kvp_log_segment_end(g, d->lsn) - g->segment_blocks, 0).block;
	own.behind = own.segment + g->segment_blocks;
	own.next = kvp_log_place(g, kvp_log_segment_end(g, d->lsn), 0).block;
	kvp_wbuf_unlock(h->pool->wbuf, 5);
}

static bool starts_with(struct script *t, const struct image *img, u32 missing,
			bool discard, const struct oracle *expected, u64 nr_gone)
{
	t->start.missing = missing;
	t->start.discard_log = discard;
	own.gone = KNOWN;
	own.nr_gone = nr_gone;
	own.at = ~0u;
	if (!run_on(t, img, NULL, expected))
		return false;
	own.nr_gone = 0;
	if (t->refused)
		snprintf(sim_failure, sizeof(sim_failure), "refused: %s", t->host.refusal.why);
	return !t->refused;
}

static void note_state(struct script *t)
{
	u8 data[KVP_BLOCK_SIZE];

	own.given_up = host_read(&t->host, KNOWN, data);
}

/*
 * With all SSDs: nothing was given up, or all. By order in any case, and then to the same result.
 */
static bool given_up_or_not(struct script *t, const struct image *img)
{
	t->start.missing = 0;
	t->start.discard_log = false;
	if (!run_on(t, img, note_state, NULL))
		return false;
	if (t->refused) {
		snprintf(sim_failure, sizeof(sim_failure), "refused: %s", t->host.refusal.why);
		return false;
	}
	return starts_with(t, img, 0, false, own.given_up ? &own.old : &t->o,
			   own.given_up ? NR_KNOWN : 0) &&
	       starts_with(t, img, BIT(t->legs - 1), true, &own.old, NR_KNOWN);
}

static bool outdated_ssd_tells_what_is_lost(struct script *t)
{
	own.gone = KNOWN;
	if (!life(t, 0, false, live_and_outdate_an_ssd, NULL))
		return false;
	t->start.missing = BIT(t->legs - 1);
	t->start.discard_log = false;
	if (!run_on(t, t->img, NULL, NULL))
		return false;
	if (t->refused != -ENOTCONN) {
		snprintf(sim_failure, sizeof(sim_failure), "start gave %d", t->refused);
		return false;
	}
	own.nr_gone = NR_KNOWN;
	if (!life(t, BIT(t->legs - 1), true, NULL, &own.old))
		return false;
	own.nr_gone = 0;
	return each_cut(t, 34, given_up_or_not, BIT(t->legs - 1), true) &&
	       starts_with(t, t->img, 0, false, &own.old, NR_KNOWN);
}

static bool again_by_order(struct script *t, const struct image *img)
{
	return starts_with(t, img, 0, true, &own.old, NR_KNOWN);
}

static void overwrite_what_is_lost(struct script *t)
{
	expect_log(t, true);
	host_write(&t->host, KNOWN, NR_KNOWN, false);
	host_flush(&t->host);
}

/*
 * Entries that follow may name lost blocks: no log is given up before they could be read, whatever
 * the error (R27).
 */
static bool silent_ssds_are_waited_for(struct script *t)
{
	static const int errors[] = { -EIO, -ETIMEDOUT, -ENOMEM };
	bool good = true;
	u32 i;

	t->start.discard_log = true;
	for (i = 0; good && i < ARRAY_SIZE(errors); i++) {
		own.silent = errors[i];
		good = run_on(t, t->img, NULL, NULL) &&
		       expect(t->refused == -EIO && strstr(t->host.refusal.why,
							   "nothing is lost") &&
			      (errors[i] != -EIO || strstr(t->host.refusal.why,
							   "of the log that is given up")),
			      "error %d: the start gave %d %s\n", errors[i], t->refused,
			      t->host.refusal.why);
	}
	own.silent = 0;
	return good;
}

/* The SSDs are there, and in the middle of their log something is not. */
static bool damaged_log_tells_what_is_lost(struct script *t)
{
	u8 junk[KVP_BLOCK_SIZE];
	u32 i;

	if (!life(t, 0, false, live_and_log_behind, NULL))
		return false;
	memset(junk, 0x5a, sizeof(junk));
	for (i = t->legs - t->start.cache; i < t->legs; i++)
		image_write_data(&t->img[i], own.hurt, junk);
	t->start.discard_log = false;
	if (!run_on(t, t->img, NULL, NULL))
		return false;
	if (t->refused != -EUCLEAN || !strstr(t->host.refusal.mend, "discard_log")) {
		snprintf(sim_failure, sizeof(sim_failure), "start gave %d: %s", t->refused,
			 t->host.refusal.mend);
		return false;
	}
	if (!silent_ssds_are_waited_for(t))
		return false;
	own.gone = KNOWN;
	own.nr_gone = NR_KNOWN;
	if (!life(t, 0, true, NULL, &own.old))
		return false;
	own.nr_gone = 0;
	if (!each_cut(t, 34, again_by_order, 0, true) ||
	    !starts_with(t, t->img, 0, false, &own.old, NR_KNOWN))
		return false;
	oracle_free(&t->o);
	oracle_copy(&t->o, &own.old);
	return life(t, 0, false, overwrite_what_is_lost, NULL) && life(t, 0, false, NULL, &t->o);
}

static void fill_task(void *arg)
{
	struct host *h = &((struct script *)arg)->host;
	u32 i;

	for (i = 0; i < 900; i++) {
		host_write(h, i % POOL_BLOCKS, 1, false);
		host_flush(h);
	}
}

/*
 * Nothing goes home until the log takes nothing more: when the power goes, it is as full as it can
 * be.
 */
static void live_and_fill_the_log(struct script *t)
{
	struct host *h = &t->host;
	const struct kvp_geometry *g = h->pool->vdevs.log_vdev->g;
	u32 i;

	/* Writers may use what would be kept for renewal, too. */
	if (kvp_pool_set(h->pool, KVP_T_RENEW_MARK, 0))
		sim_fail("the tunable cannot be set");
	for (i = 0; i < t->legs - t->start.cache; i++)
		disks_stall(i, disks.data_start, disks.data_start + POOL_BLOCKS);
	sim_spawn("filler", fill_task, t);
	host_sleep(20000);
	/* A parity1 keeps two thirds for its parity. */
	if (t->start.cache_dirty && kvp_log_window(g) != t->start.cache_dirty)
		sim_fail("the window has %llu blocks", kvp_log_window(g));
	if (kvp_log_used(h->pool->log) < kvp_log_window(g) / (t->start.parity ? 5 : 2) ||
	    (t->start.cache_dirty > USUAL_WINDOW && !t->start.parity &&
	     kvp_log_used(h->pool->log) <= USUAL_WINDOW))
		sim_fail("%llu blocks are in the log: the case was not set up",
			 kvp_log_used(h->pool->log));
}

static bool all_that_the_window_holds_counts(struct script *t)
{
	return life(t, 0, false, live_and_fill_the_log, NULL) && life(t, 0, false, NULL, &t->o);
}

static void flush_task(void *arg)
{
	struct script *t = arg;

	host_flush(&t->host);
	own.flushed = true;
}

/*
 * The last SSD dies with much in its log, while homes hang: nothing may be acknowledged as durable.
 */
static void live_and_lose_the_ssds(struct script *t)
{
	struct host *h = &t->host;
	u32 i;

	expect_log(t, true);
	host_write(h, 2, 6, false);
	host_write(h, 64, 20, false);
	host_flush(h);
	host_write(h, 2, 3, false);
	for (i = 0; i < t->legs - t->start.cache; i++)
		disks_stall(i, disks.data_start, disks.data_start + 300);
	for (i = t->legs - t->start.cache; i < t->legs; i++)
		disks_kill(i);
	sim_spawn("flush", flush_task, t);
	host_sleep(400);
	if (own.flushed)
		sim_fail("FLUSH was answered before the contents of the lost log were home");
	for (i = 0; i < disks.nr; i++)
		disks_release(i);
	host_sleep(400);
	if (!own.flushed)
		sim_fail("FLUSH was not answered when the log had moved");
	expect_log(t, false);
	host_write(h, 3, 3, false);
	host_flush(h);
	host_write(h, 300, 40, false);
	host_flush(h);
	host_checkpoint(h);
	host_write(h, 4, 1, true);
}

static void lose_the_ssds_by_order(struct script *t)
{
	u32 i;

	for (i = t->legs - t->start.cache; i < t->legs; i++)
		if (kvp_leg_offline(t->host.pool, host_leg(&t->host, i)))
			sim_fail("an SSD cannot be taken out");
}

/* The buffer is empty: a FLUSH asks for data that was durable in a log that no longer counts. */
static void live_and_take_the_ssds_out(struct script *t)
{
	struct host *h = &t->host;
	u32 i;

	host_write(h, 2, 6, false);
	host_flush(h);
	for (i = 0; i < t->legs - t->start.cache; i++)
		disks_stall(i, disks.data_start, disks.data_start + 300);
	lose_the_ssds_by_order(t);
	sim_spawn("flush", flush_task, t);
	host_sleep(400);
	if (own.flushed)
		sim_fail("FLUSH was answered before its blocks were home");
	for (i = 0; i < disks.nr; i++)
		disks_release(i);
	host_sleep(400);
	if (!own.flushed)
		sim_fail("FLUSH was not answered when the log had moved");
	expect_log(t, false);
	host_write(h, 4, 1, true);
}

/*
 * Large writes over acknowledged blocks are half home: the log that has their intents must not be
 * left.
 */
static void live_and_lose_open_intents(struct script *t)
{
	struct host *h = &t->host;
	u32 i;

	host_write(h, 64, 48, false);
	host_flush(h);
	for (i = 0; i < t->legs - t->start.cache; i++)
		disks_stall(i, disks.data_start + 36, disks.data_start + 36 + 36);
	host_write(h, 64, 48, false);
	host_sleep(1500);
	if (list_empty(&h->pool->log->open))
		sim_fail("no intent is open: the case was not set up");
	lose_the_ssds_by_order(t);
	host_sleep(400);
	expect_log(t, true);
	for (i = 0; i < disks.nr; i++)
		disks_release(i);
	host_sleep(400);
	expect_log(t, false);
	host_flush(h);
}

/*
 * The power goes, from the pool's view: it is faulted before the loss of the SSDs moves its log,
 * which cannot move then. A request for durability must get an answer, or the device could not be
 * removed.
 */
static void live_and_lose_everything(struct script *t)
{
	struct host *h = &t->host;
	u32 i;

	host_write(h, 2, 6, false);
	host_flush(h);
	for (i = 0; i < t->legs; i++)
		disks_kill(i);
	/* The idle timer finds it: where blocks are renewed, when writers have been quiet. */
	host_sleep(16000);
	if (!kvp_pool_faulted(h->pool))
		sim_fail("the loss was not noticed: the case was not set up");
	for (i = t->legs - t->start.cache; i < t->legs; i++)
		kvp_leg_give_up(host_leg(h, i), "a superblock write failed");
	if (!READ_ONCE(h->pool->vdevs.log_moving))
		sim_fail("the log does not move: the case was not set up");
	if (!kvp_commit_sync(h->pool->log))
		sim_fail("all is durable in a log that is lost");
	host_stop(h);
}

/* Without the SSDs: all data acknowledged since one of them failed, or a refusal. */
static bool all_there_or_refused(struct script *t, const struct image *img)
{
	t->start.discard_log = false;
	t->start.missing = ssds(t);
	if (!run_on(t, img, NULL, &t->o))
		return false;
	if (t->refused && (own.last || t->refused != -ENOTCONN)) {
		snprintf(sim_failure, sizeof(sim_failure), "refused: %s", t->host.refusal.why);
		return false;
	}
	/* with their contents, even more so */
	t->start.missing = 0;
	if (!run_on(t, img, NULL, &t->o))
		return false;
	if (t->refused)
		snprintf(sim_failure, sizeof(sim_failure), "refused: %s", t->host.refusal.why);
	return !t->refused;
}

static bool log_moves_to_the_legs(struct script *t)
{
	return life(t, 0, false, live_and_lose_the_ssds, NULL) &&
	       each_cut(t, 46, all_there_or_refused, 0, false) &&
	       life(t, ssds(t), false, live_on_legs, &t->o) && life(t, 0, false, stale_ssds, &t->o);
}

static bool log_moves_by_order(struct script *t)
{
	return life(t, 0, false, live_and_take_the_ssds_out, NULL) &&
	       each_cut(t, 32, all_there_or_refused, 0, false) &&
	       life(t, ssds(t), false, live_on_legs, &t->o);
}

static bool log_moves_after_its_intents(struct script *t)
{
	return life(t, 0, false, live_and_lose_open_intents, NULL) &&
	       each_cut(t, 32, all_there_or_refused, 0, false) &&
	       life(t, ssds(t), false, live_on_legs, &t->o);
}

static bool all_is_lost_at_once(struct script *t)
{
	return life(t, 0, false, live_and_lose_everything, NULL) && life(t, 0, false, NULL, &t->o);
}

static bool idle_cache_may_go(struct script *t)
{
	return life(t, 0, false, live_on_legs, NULL) && life(t, ssds(t), false, live_on_legs,
							     &t->o) &&
	       life(t, 0, false, NULL, &t->o);
}

/* --- running them --------------------------------------------------------------------------- */

static void set_up(struct script *t)
{
	oracle_copy(&own.old, &t->o);
}

static void clean_up(struct script *t)
{
	oracle_free(&own.old);
}

static void test(const char *what, const struct host_start *shape,
		 bool (*play)(struct script *t))
{
	char name[128];
	struct script_case c = {
		.name = name, .shape = shape, .set_up = set_up, .clean_up = clean_up,
		.prepare = prepare, .may_refuse = true, .begin = begin, .play = play,
		.turns = opt.thorough ? 16 : 3, .salt = 1000, .first_plain = true,
		.life_seeds = true, .own = &own, .own_size = sizeof(own),
	};

	snprintf(name, sizeof(name), "cache:%s%s%s:%s", shape->parity ? "parity" : "mirror",
		 shape->cache > 1 ? "+2" : "+1", host_window(shape), what);
	script_run(&c);
}

void run_cache(void)
{
	static const struct host_start shapes[] = {
		{ .legs = 3, .cache = 1 }, { .legs = 4, .cache = 2 },
		{ .legs = 4, .parity = true, .cache = 1 },
			{ .legs = 5, .parity = true, .cache = 2 },
	};
	static const struct host_start lost[] = {
		{ .legs = 4, .cache = 2 }, { .legs = 5, .cache = 3 },
			{ .legs = 5, .parity = true, .cache = 2 },
	};
	static const struct host_start idle = { .legs = 3, .cache = 1, .writethrough = true };
	static const struct host_start windows[] = {
		{ .legs = 4, .cache = 2, .cache_dirty = WIDE_WINDOW },
		{ .legs = 4, .parity = true, .cache = 1, .cache_dirty = WIDE_WINDOW },
		{ .legs = 3, .cache = 1, .cache_dirty = NARROW_WINDOW },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(windows); i++) {
		test("damaged", &windows[i], damaged_log_tells_what_is_lost);
		test("window", &windows[i], all_that_the_window_holds_counts);
		test("all-at-once", &windows[i], all_is_lost_at_once);
	}

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		test("missing-with-a-log", &shapes[i], missing_with_a_log_is_refused);
		test("missing-empty", &shapes[i], missing_with_an_empty_log_starts_on_the_legs);
		test("given-up", &shapes[i], given_up_log_does_not_come_back);
		test("nothing-given-up", &shapes[i], nothing_is_given_up_that_is_there);
		test("damaged", &shapes[i], damaged_log_tells_what_is_lost);
		if (shapes[i].cache > 1)
			test("outdated", &shapes[i], outdated_ssd_tells_what_is_lost);
		test("log-moves", &shapes[i], log_moves_to_the_legs);
		test("moves-by-order", &shapes[i], log_moves_by_order);
		test("moves-after-intents", &shapes[i], log_moves_after_its_intents);
		test("window", &shapes[i], all_that_the_window_holds_counts);
		test("all-at-once", &shapes[i], all_is_lost_at_once);
	}
	test("idle", &idle, idle_cache_may_go);
	for (i = 0; i < ARRAY_SIZE(lost); i++)
		run_lost_ssds(&lost[i]);
	run_cache_sequences();
}
