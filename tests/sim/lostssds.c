// SPDX-License-Identifier: GPL-2.0-only
/*
 * SSDs that carry the log are lost one after the other, or at once. The power goes at any time, and
 * any of the SSDs come back. All acknowledged data is there, or the start is refused (R1, R16). A
 * start is not refused for SSDs whose data the others have.
 */
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "super/members.h"

#define LOOKED_AT	160u	/* blocks; all that is written lies there */
#define HOME		70u	/* a block that is home, and that no log knows of */
#define SPARES		3u

struct loss {
	struct host host;
	struct host_start start;
	struct oracle o;
	void (*act)(struct loss *l);
	u64 seed;
	u64 log_start;		/* on each SSD */
	u32 at;
	/* the next start is the one that is cut: its nonces are no other's */
	bool cut;
	bool again;		/* the second life: its acknowledged data was acknowledged before */
	bool fails;		/* the first SSD takes no log writes, from the start on */
	u32 from;		/* position of the trace from which on the power may go */
	/* bit per leg: a start without these, or some of them, is not refused */
	u32 spare[SPARES];
	int refused;
	bool flushed, offline;
};

static u32 ssd(const struct loss *l, u32 i)
{
	return l->start.legs - l->start.cache + i;
}

static u32 ssds(const struct loss *l)
{
	return (BIT(l->start.cache) - 1) << ssd(l, 0);
}

/* The number of lost SSDs that loses the log. */
static u32 too_many(const struct loss *l)
{
	return l->start.cache_parity ? 2 : l->start.cache;
}

/* --- what happens to SSDs --------------------------------------------------------------- */

static void hold_log(struct loss *l, u32 i)
{
	disks_stall(ssd(l, i), disks.log_first[ssd(l, i)], disks.log_end[ssd(l, i)] - 1);
}

static void log_fails(struct loss *l, u32 i)
{
	disks_fault(FAULT_WRITE_EIO, ssd(l, i), l->log_start,
		    disks.img[ssd(l, i)].blocks - KVP_LABEL_BLOCKS - 1);
}

static void hold_labels(struct loss *l, u32 i)
{
	disks_stall(ssd(l, i), 0, KVP_LABEL_BLOCKS - 1);
	disks_stall(ssd(l, i), disks.img[ssd(l, i)].blocks - KVP_LABEL_BLOCKS,
		    disks.img[ssd(l, i)].blocks - 1);
}

static void labels_fail(struct loss *l, u32 i)
{
	disks_fault(FAULT_WRITE_EIO, ssd(l, i), 0, KVP_LABEL_BLOCKS - 1);
	disks_fault(FAULT_WRITE_EIO, ssd(l, i), disks.img[ssd(l, i)].blocks - KVP_LABEL_BLOCKS,
		    ~0ull);
}

static void release(struct loss *l, u32 i)
{
	disks_release(ssd(l, i));
	host_sleep(400);
}

static void expect_lost(struct loss *l, u32 i, bool lost)
{
	if (kvp_leg_in_sync(host_leg(&l->host, ssd(l, i))) == lost)
		sim_fail("SSD %u is %sgiven up: the case was not set up", i,
			 lost ? "not " : "");
}

static void flush_task(void *arg)
{
	struct loss *l = arg;

	host_flush(&l->host);
	l->flushed = true;
}

static void begin_flush(struct loss *l)
{
	l->flushed = false;
	sim_spawn("flush", flush_task, l);
	host_sleep(100);
}

static void superblock_task(void *arg)
{
	struct kvp_pool *pool = ((struct loss *)arg)->host.pool;

	mutex_lock(&pool->sb_lock);
	kvp_sb_note(pool);
	mutex_unlock(&pool->sb_lock);
}

static void begin_superblock(struct loss *l)
{
	sim_spawn("superblock", superblock_task, l);
	host_sleep(100);
}

static void begin(struct loss *l)
{
	host_write(&l->host, 2, 6, false);
	host_flush(&l->host);
	l->from = disks.trace.nr;
}

static void expect_moved(struct loss *l)
{
	if (!l->flushed)
		sim_fail("FLUSH was not answered");
	if (!kvp_has_data(l->host.pool->vdevs.log_vdev->g))
		sim_fail("the log has not moved");
	host_write(&l->host, 5, 2, true);
}

/* --- tests ------------------------------------------------------------------------------- */

/*
 * Each fails while the loss of the first is not yet recorded, since a superblock is being written,
 * which the last one does not take; and each takes writes that those before it lack.
 */
static void one_after_the_other(struct loss *l)
{
	struct host *h = &l->host;
	u32 last = too_many(l) - 1, i;

	begin(l);
	hold_labels(l, last);
	begin_superblock(l);
	log_fails(l, 0);
	host_write(h, HOME, 3, false);
	begin_flush(l);
	for (i = 1; i < last; i++) {
		kvp_leg_give_up(host_leg(h, ssd(l, i)), "a log write failed");
		host_write(h, HOME + i, 3, false);
		begin_flush(l);
	}
	expect_lost(l, last - 1, true);
	expect_lost(l, last, false);
	if (l->flushed || kvp_log_used(h->pool->log) == 0)
		sim_fail("a superblock was written: the case was not set up");
	disks_kill(ssd(l, last));
	release(l, last);
	expect_lost(l, last, true);
	expect_moved(l);
	l->spare[0] = BIT(ssd(l, last)) - BIT(ssd(l, 0));
}

/*
 * One fails a write that the other took, which was given up meanwhile for another reason: the one
 * that is lost last lacks it.
 */
static void the_last_lacks_what_others_took(struct loss *l)
{
	u32 last = too_many(l) - 1, i;

	begin(l);
	hold_log(l, last);
	host_write(&l->host, HOME, 3, false);
	begin_flush(l);
	for (i = 0; i < last; i++)
		labels_fail(l, i);
	begin_superblock(l);
	expect_lost(l, last - 1, true);
	expect_lost(l, last, false);
	disks_kill(ssd(l, last));
	release(l, last);
	expect_lost(l, last, true);
	expect_moved(l);
	l->spare[0] = BIT(ssd(l, last)) - BIT(ssd(l, 0));
}

static void offline_task(void *arg)
{
	struct loss *l = arg;

	if (kvp_leg_offline(l->host.pool, host_leg(&l->host, ssd(l, 0))))
		sim_fail("the first SSD cannot be taken offline");
	l->offline = true;
}

/* One SSD too many fails in the same write: all of them have the same contents. */
static void lose_at_once(struct loss *l, bool offline)
{
	u32 n = too_many(l), i;

	begin(l);
	for (i = 0; i < n; i++)
		log_fails(l, i);
	disks_hold_homes(ssd(l, 0), POOL_BLOCKS);
	host_write(&l->host, HOME, 3, false);
	begin_flush(l);
	expect_lost(l, 0, true);
	expect_lost(l, n - 1, true);
	if (offline) {
		sim_spawn("offline", offline_task, l);
		host_sleep(100);
		if (!READ_ONCE(l->host.pool->vdevs.log_moving))
			sim_fail("the log has moved: the case was not set up");
	}
	disks_release_all();
	host_sleep(400);
	expect_moved(l);
	if (l->offline != offline ||
	    (offline && l->host.pool->sb->legs[ssd(l, 0)].state != KVP_LEG_OFFLINE))
		sim_fail("the first SSD is not recorded offline");
	for (i = 0; i < SPARES && i < l->start.cache; i++)
		l->spare[i] = BIT(ssd(l, i)) | (l->start.cache_parity ? 0 :
						ssds(l) & ~BIT(ssd(l, (i + 1) % n)));
}

static void at_once(struct loss *l)
{
	lose_at_once(l, false);
}

/* And while the log moves off them, one is taken offline. All of it may still be needed. */
static void offline_while_the_log_moves(struct loss *l)
{
	lose_at_once(l, true);
}

/*
 * The power goes while all but the first have an entry; in the recovery the first does not take it.
 */
static void one_lacks_the_end(struct loss *l)
{
	begin(l);
	hold_log(l, 0);
	host_write(&l->host, HOME, 3, false);
	begin_flush(l);
	if (l->flushed)
		sim_fail("FLUSH was answered: the case was not set up");
}

static void expect_recovered(struct loss *l)
{
	expect_lost(l, 0, true);
	l->spare[0] = BIT(ssd(l, 0));
}

/* --- any of them come back ------------------------------------------------------------------ */

static void look(struct loss *l)
{
	u8 data[KVP_BLOCK_SIZE];
	char why[160];
	u64 block;

	for (block = 0; block < LOOKED_AT; block++) {
		if (host_read(&l->host, block, data))
			sim_fail("block %llu cannot be read", block);
		if (!oracle_allows(&l->o, block, data, l->at, why))
			sim_fail("%s", why);
	}
}

static void loss_main(void *arg)
{
	struct loss *l = arg;

	if (l->fails)
		log_fails(l, 0);
	l->refused = host_start(&l->host, &l->o, &l->start);
	if (!l->refused)
		l->act(l);
}

static bool live(struct loss *l, const struct image *img, void (*act)(struct loss *l))
{
	l->act = act;
	return run_machine(img, l->start.legs, mix64(l->seed, l->cut ? 2 : act == look),
			   loss_main, l);
}

static bool may_be_refused(const struct loss *l, u32 missing)
{
	u32 i;

	for (i = 0; i < SPARES; i++)
		if (!(missing & ~l->spare[i]))
			return false;
	return true;
}

/* @gone: there was a recovery without these, or it was cut; so they may know less */
static bool without_some(struct loss *l, const struct image *img, u32 gone)
{
	u32 missing = 0;
	bool good;

	do {
		l->start.missing = missing;
		good = live(l, img, look);
		if (good && l->refused) {
			good = l->refused == -ENOTCONN && may_be_refused(l, missing | gone);
			snprintf(sim_failure, sizeof(sim_failure), "refused: %s",
				 l->host.refusal.why);
		}
		if (!good)
			fprintf(stderr, "  ^ cut at %u, without the legs %#x, before that without "
					"%#x: %s\n", l->at,
				missing, gone, sim_failure);
		check_stats.images++;
		/* the next one that is part of it */
		missing = (missing - ssds(l)) & ssds(l);
	} while (good && missing);
	return good;
}

static void free_images(const struct loss *l, struct image *img)
{
	u32 i;

	for (i = 0; i < l->start.legs; i++)
		image_free(&img[i]);
}

/* The recovery is cut as well, with some SSDs or all; afterwards others of them are there. */
static bool cut_recovery(struct loss *l, const struct image *img, struct rng *rng)
{
	u32 gone = rng_next(rng) & ssds(l), at;
	struct image again[MAX_DISKS];
	struct trace trace;
	bool good;

	l->start.missing = gone;
	l->cut = true;
	good = live(l, img, look);
	l->cut = false;
	trace = disks.trace;
	memset(&disks.trace, 0, sizeof(disks.trace));
	at = rng_below(rng, trace.nr + 1);
	cut_trace(&trace, at, rng_below(rng, 4), rng, again);
	good = good && without_some(l, again, gone);
	if (!good)
		fprintf(stderr, "  ^ second cut at %u of %u, without the legs %#x\n", at, trace.nr,
			gone);
	trace_free(&trace);
	free_images(l, again);
	return good;
}

/* The power goes at every position of the last life. */
static bool cut_losses(struct loss *l)
{
	struct cutter *cut = malloc(sizeof(*cut));
	struct rng rng = { mix64(l->seed, 815) };
	struct trace trace = disks.trace;
	u32 i, turn = 0;
	bool good = true;

	memset(&disks.trace, 0, sizeof(disks.trace));
	cutter_init(cut, &trace);
	cutter_seek(cut, l->from);
	do {
		l->at = l->again ? ~0u : cut->at;
		for (i = 0; good && i < (opt.images ?: 4); i++, turn++) {
			struct image img[MAX_DISKS];

			cutter_mixed(cut, turn, &rng, img);
			good = turn % 8 == 3 ? cut_recovery(l, img, &rng) : without_some(l, img, 0);
			free_images(l, img);
		}
	} while (good && cutter_step(cut));
	cutter_free(cut);
	trace_free(&trace);
	free(cut);
	return good;
}

/* The last life, of which the recovery is what matters, begins with what one before it left. */
static bool live_again(struct loss *l, void (*act)(struct loss *l))
{
	struct image img[MAX_DISKS];
	bool good;
	u32 i;

	for (i = 0; i < l->start.legs; i++)
		image_copy(&img[i], &disks.img[i]);
	l->again = true;
	l->fails = true;
	l->from = 0;
	good = live(l, img, act) && !l->refused;
	l->fails = false;
	for (i = 0; i < l->start.legs; i++)
		image_free(&img[i]);
	return good;
}

static void test(const char *what, const struct host_start *shape, void (*act)(struct loss *l),
		 void (*last)(struct loss *l))
{
	const struct base *base = base_cache(shape);
	char name[128];
	bool good = true;
	u32 i;

	snprintf(name, sizeof(name), "%s:%s%u+%u:%s", shape->cache_parity ? "cachep1" : "cache",
		 shape->parity ? "parity" : "mirror", shape->legs - shape->cache, shape->cache,
		 what);
	if (!wanted(name))
		return;
	for (i = 0; good && i < (opt.rounds ?: 3); i++) {
		struct loss *l = calloc(1, sizeof(*l));

		l->start = *shape;
		l->seed = i ? mix64(opt.seed, i) : opt.seed;
		oracle_copy(&l->o, &base->o);
		l->log_start = base->log_start;
		good = live(l, base->img, act) && !l->refused && (!last || live_again(l, last)) &&
		       cut_losses(l);
		oracle_free(&l->o);
		free(l);
	}
	result(name, good);
}

void run_lost_ssds(const struct host_start *shape)
{
	test("one-after-the-other", shape, one_after_the_other, NULL);
	test("last-lacks-some", shape, the_last_lacks_what_others_took, NULL);
	test("at-once", shape, at_once, NULL);
	if (!shape->parity && (shape->cache == 2 || shape->cache_parity))
		test("offline", shape, offline_while_the_log_moves, NULL);
	test("in-a-recovery", shape, one_lacks_the_end, expect_recovered);
}
