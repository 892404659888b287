// SPDX-License-Identifier: GPL-2.0-only
/*
 * SSDs that carry the log are lost one after the other, or at once. The power goes at any time, and
 * any of the SSDs come back. All acknowledged data is there, or the start is refused (R1, R16). A
 * start is not refused for SSDs whose data the others have.
 */
#include <stdlib.h>
#include <string.h>

#include "script.h"
#include "super/members.h"

#define LOOKED_AT	160u	/* blocks; all that is written lies there */
#define HOME		70u	/* a block that is home, and that no log knows of */
#define SPARES		3u

/* What a case knows besides its script. */
static struct {
	u64 seed;		/* of the turn; lives have others, made from it */
	u64 log_start;		/* on each SSD */
	u32 at;
	/* the next start is the one that is cut: its nonces are no other's */
	bool cut;
	bool again;		/* the second life: its acknowledged data was acknowledged before */
	bool fails;		/* the first SSD takes no log writes, from the start on */
	/* bit per leg: a start without these, or some of them, is not refused */
	u32 spare[SPARES];
	bool flushed, offline;
} own;

static u32 ssd(const struct script *l, u32 i)
{
	return l->start.legs - l->start.cache + i;
}

static u32 ssds(const struct script *l)
{
	return (BIT(l->start.cache) - 1) << ssd(l, 0);
}

/* The number of lost SSDs that loses the log. */
static u32 too_many(const struct script *l)
{
	return l->start.cache_parity ? 2 : l->start.cache;
}

/* --- what happens to SSDs --------------------------------------------------------------- */

static void hold_log(struct script *l, u32 i)
{
	disks_stall(ssd(l, i), disks.log_first[ssd(l, i)], disks.log_end[ssd(l, i)] - 1);
}

static void log_fails(struct script *l, u32 i)
{
	disks_fault(FAULT_WRITE_EIO, ssd(l, i), own.log_start,
		    disks.img[ssd(l, i)].blocks - KVP_LABEL_BLOCKS - 1);
}

static void hold_labels(struct script *l, u32 i)
{
	disks_stall(ssd(l, i), 0, KVP_LABEL_BLOCKS - 1);
	disks_stall(ssd(l, i), disks.img[ssd(l, i)].blocks - KVP_LABEL_BLOCKS,
		    disks.img[ssd(l, i)].blocks - 1);
}

static void labels_fail(struct script *l, u32 i)
{
	disks_fault(FAULT_WRITE_EIO, ssd(l, i), 0, KVP_LABEL_BLOCKS - 1);
	disks_fault(FAULT_WRITE_EIO, ssd(l, i), disks.img[ssd(l, i)].blocks - KVP_LABEL_BLOCKS,
		    ~0ull);
}

static void release(struct script *l, u32 i)
{
	disks_release(ssd(l, i));
	host_sleep(400);
}

static void expect_lost(struct script *l, u32 i, bool lost)
{
	if (kvp_leg_in_sync(host_leg(&l->host, ssd(l, i))) == lost)
		sim_fail("SSD %u is %sgiven up: the case was not set up", i,
			 lost ? "not " : "");
}

static void flush_task(void *arg)
{
	struct script *l = arg;

	host_flush(&l->host);
	own.flushed = true;
}

static void begin_flush(struct script *l)
{
	own.flushed = false;
	sim_spawn("flush", flush_task, l);
	host_sleep(100);
}

static void superblock_task(void *arg)
{
	struct kvp_pool *pool = ((struct script *)arg)->host.pool;

	mutex_lock(&pool->sb_lock);
	kvp_sb_note(pool);
	mutex_unlock(&pool->sb_lock);
}

static void begin_superblock(struct script *l)
{
	sim_spawn("superblock", superblock_task, l);
	host_sleep(100);
}

static void begin(struct script *l)
{
	host_write(&l->host, 2, 6, false);
	host_flush(&l->host);
	script_cut_from_here(l);
}

static void expect_moved(struct script *l)
{
	if (!own.flushed)
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
static void one_after_the_other(struct script *l)
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
	if (own.flushed || kvp_log_used(h->pool->log) == 0)
		sim_fail("a superblock was written: the case was not set up");
	disks_kill(ssd(l, last));
	release(l, last);
	expect_lost(l, last, true);
	expect_moved(l);
	own.spare[0] = BIT(ssd(l, last)) - BIT(ssd(l, 0));
}

/*
 * One fails a write that the other took, which was given up meanwhile for another reason: the one
 * that is lost last lacks it.
 */
static void the_last_lacks_what_others_took(struct script *l)
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
	own.spare[0] = BIT(ssd(l, last)) - BIT(ssd(l, 0));
}

static void offline_task(void *arg)
{
	struct script *l = arg;

	if (kvp_leg_offline(l->host.pool, host_leg(&l->host, ssd(l, 0))))
		sim_fail("the first SSD cannot be taken offline");
	own.offline = true;
}

/* One SSD too many fails in the same write: all of them have the same contents. */
static void lose_at_once(struct script *l, bool offline)
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
	if (own.offline != offline ||
	    (offline && l->host.pool->sb->legs[ssd(l, 0)].state != KVP_LEG_OFFLINE))
		sim_fail("the first SSD is not recorded offline");
	for (i = 0; i < SPARES && i < l->start.cache; i++)
		own.spare[i] = BIT(ssd(l, i)) | (l->start.cache_parity ? 0 :
						ssds(l) & ~BIT(ssd(l, (i + 1) % n)));
}

static void at_once(struct script *l)
{
	lose_at_once(l, false);
}

/* And while the log moves off them, one is taken offline. All of it may still be needed. */
static void offline_while_the_log_moves(struct script *l)
{
	lose_at_once(l, true);
}

/*
 * The power goes while all but the first have an entry; in the recovery the first does not take it.
 */
static void one_lacks_the_end(struct script *l)
{
	begin(l);
	hold_log(l, 0);
	host_write(&l->host, HOME, 3, false);
	begin_flush(l);
	if (own.flushed)
		sim_fail("FLUSH was answered: the case was not set up");
}

static void expect_recovered(struct script *l)
{
	expect_lost(l, 0, true);
	own.spare[0] = BIT(ssd(l, 0));
}

/* --- any of them come back ------------------------------------------------------------------ */

static void look(struct script *l)
{
	u8 data[KVP_BLOCK_SIZE];
	char why[160];
	u64 block;

	for (block = 0; block < LOOKED_AT; block++) {
		if (host_read(&l->host, block, data))
			sim_fail("block %llu cannot be read", block);
		if (!oracle_allows(&l->o, block, data, own.at, why))
			sim_fail("%s", why);
	}
}

static void prepare(struct script *l)
{
	if (own.fails)
		log_fails(l, 0);
}

static bool live(struct script *l, const struct image *img, void (*act)(struct script *l))
{
	l->seed = mix64(own.seed, own.cut ? 2 : act == look);
	return script_live_on(l, img, act, true);
}

static bool may_be_refused(const struct script *l, u32 missing)
{
	u32 i;

	for (i = 0; i < SPARES; i++)
		if (!(missing & ~own.spare[i]))
			return false;
	return true;
}

/* @gone: there was a recovery without these, or it was cut; so they may know less */
static bool without_some(struct script *l, const struct image *img, u32 gone)
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
					"%#x: %s\n", own.at,
				missing, gone, sim_failure);
		check_stats.images++;
		/* the next one that is part of it */
		missing = (missing - ssds(l)) & ssds(l);
	} while (good && missing);
	return good;
}

/* The recovery is cut as well, with some SSDs or all; afterwards others of them are there. */
static bool cut_recovery(struct script *l, const struct image *img, struct rng *rng)
{
	u32 gone = rng_next(rng) & ssds(l), at;
	struct image again[MAX_DISKS];
	struct trace trace;
	bool good;

	l->start.missing = gone;
	own.cut = true;
	good = live(l, img, look);
	own.cut = false;
	trace = script_take_trace();
	at = rng_below(rng, trace.nr + 1);
	cut_trace(&trace, at, rng_below(rng, 4), rng, again);
	good = good && without_some(l, again, gone);
	if (!good)
		fprintf(stderr, "  ^ second cut at %u of %u, without the legs %#x\n", at, trace.nr,
			gone);
	trace_free(&trace);
	script_free_disks(l, again);
	return good;
}

/* The power goes at every position of the last life. */
static bool cut_losses(struct script *l)
{
	struct cutter *cut = malloc(sizeof(*cut));
	struct rng rng = { mix64(own.seed, 815) };
	struct trace trace = script_take_trace();
	u32 i, turn = 0;
	bool good = true;

	cutter_init(cut, &trace);
	cutter_seek(cut, own.again ? 0 : l->from);
	do {
		own.at = own.again ? ~0u : cut->at;
		for (i = 0; good && i < (opt.images ?: 4); i++, turn++) {
			struct image img[MAX_DISKS];

			cutter_mixed(cut, turn, &rng, img);
			good = turn % 8 == 3 ? cut_recovery(l, img, &rng) : without_some(l, img, 0);
			script_free_disks(l, img);
		}
	} while (good && cutter_step(cut));
	cutter_free(cut);
	trace_free(&trace);
	free(cut);
	return good;
}

/* The last life, of which the recovery is what matters, begins with what one before it left. */
static bool live_again(struct script *l)
{
	bool good;

	script_keep(l);
	own.again = true;
	own.fails = true;
	good = live(l, l->img, l->c->then) && !l->refused;
	own.fails = false;
	return good;
}

static void set_up(struct script *l)
{
	own.seed = l->seed;
	own.log_start = base_for(l->c->shape)->log_start;
}

static bool losses(struct script *l)
{
	return live(l, l->img, l->c->act) && !l->refused &&
	       (!l->c->then || live_again(l)) && cut_losses(l);
}

static void test(const char *what, const struct host_start *shape, void (*act)(struct script *l),
		 void (*last)(struct script *l))
{
	char name[128];
	struct script_case c = {
		.name = name, .shape = shape, .set_up = set_up, .prepare = prepare,
		.may_refuse = true, .act = act, .then = last, .play = losses, .turns = 3,
		.first_plain = true, .own = &own, .own_size = sizeof(own),
	};

	snprintf(name, sizeof(name), "%s:%s%u+%u:%s", shape->cache_parity ? "cachep1" : "cache",
		 shape->parity ? "parity" : "mirror", shape->legs - shape->cache, shape->cache,
		 what);
	script_run(&c);
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
