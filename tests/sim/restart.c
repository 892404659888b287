// SPDX-License-Identifier: GPL-2.0-only
/*
 * A log on a cache that is retained over stops, power cuts and recoveries in sequence. Each test
 * has several lives, each on the contents of the life before. They are cut everywhere, with second
 * cuts in the recoveries. So the log has several generations, and versions, discards and intents in
 * each of them.
 */
#include <stdlib.h>
#include <string.h>

#include "cache/admission.h"
#include "cache/client.h"
#include "cache/rebuild.h"
#include "cache/scache.h"
#include "checkpoint/checkpoint.h"
#include "format/logstripe.h"
#include "format/summary.h"
#include "policy/index.h"
#include "pool/cachemode.h"
#include "ram/rcache.h"
#include "ram/wbuf.h"
#include "super/members.h"
#include "table/table.h"
#include "work/destage.h"
#include "script.h"

#define LIVES	5u	/* one more than the superblock can name generations */
#define HOT	28u	/* blocks that are written again and again */
#define WIDE	64u	/* the first that is written by intent */

static struct {
	struct rng rng;
	u64 data_start;			/* where homes begin on the legs */
	u32 at;				/* the life before was cut there, and left the contents */
	u32 cut;			/* where the power goes in this life; 0: at its end */
	/* in this life nothing goes home, and everything that it writes is flushed */
	bool hold;
	bool scrub;			/* it begins with a scrub, which must find nothing */
	bool checked;			/* nothing is cut any more */
	/* blocks of SSDs that are not read until that is released */
	struct kvp_place slow[MAX_DISKS];
	u32 nr_slow;
	bool fills;			/* read and written blocks are admitted to the cache */
	bool oom;			/* at times only urgent allocations succeed */
	u32 generations;		/* that the superblock names now */
	u32 lost;			/* bit per leg: recorded out, or as good as */
	/* from this position of the life on they are in sync again; 0: they are not */
	u32 back_at;
	u32 gone, lie_on[MAX_DISKS];	/* a missing SSD of several; number of blocks on each */
	bool mistrusts;			/* something clean is rotten on an SSD */
	u64 rotten;			/* block of each SSD that may be clean, too; 0: none */
	u64 eio;			/* this block, and no other, cannot be read; 0: none */
	struct kvp_geometry g;		/* of the cache */
} own;

/* --- a life --------------------------------------------------------------------------- */

/* The contents now are what the oracle allows for the life before, and count from here on. */
static void look_at_all(struct script *s)
{
	u8 data[KVP_BLOCK_SIZE];
	char why[160];
	u64 block;

	for (block = 0; block < s->o.blocks; block++) {
		if (!host_read(&s->host, block, data) == (own.eio && block == own.eio))
			sim_fail("life %u: block %llu %s be read", s->lives, block,
				 own.eio == block ? "is rotten, and could" : "cannot");
		if (own.eio && block == own.eio)
			continue;
		if (!oracle_allows(&s->o, block, data, own.at, why))
			sim_fail("life %u: %s", s->lives, why);
		if (oracle_touched(&s->o, block))
			oracle_rebase(&s->o, block, data);
	}
}

static void scrub_all(struct script *s)
{
	u64 healed, unrepaired;

	host_scrub(&s->host, &healed, &unrepaired);
	if (healed || unrepaired)
		sim_fail("life %u: scrub healed %llu, and could not heal %llu", s->lives, healed,
			 unrepaired);
}

/*
 * Versions that stay in the log are spilled in their order, or the tail would pass versions that
 * are not home. No intent may pass one that a recovery has left: it lies on a cache.
 */
static void check_order(struct kvp_pool *pool)
{
	struct kvp_version *d, *before = NULL;

	spin_lock(&pool->wbuf->lock);
	list_for_each_entry(d, &pool->wbuf->spilled, list) {
		if (before && (before->lsn > d->lsn || (before->lsn == d->lsn &&
							before->rec >= d->rec)))
			sim_fail("lsn %llu is spilled before lsn %llu", before->lsn, d->lsn);
		if (d->restored && d->over != KVP_OVER_UNKNOWN)
			sim_fail("an intent may pass lsn %llu", d->lsn);
		before = d;
	}
	spin_unlock(&pool->wbuf->lock);
	if (before && before->lsn < pool->log->tail)
		sim_fail("the tail has passed versions that are not home");
}

/* Blocks of a missing SSD are not in the index. */
static void check_legs(struct script *s)
{
	struct kvp_scache *c = s->host.pool->scache;
	struct kvp_index_entry e;
	u32 place = 0;

	if (!c->v || !kvp_log_striped(c->v->g))
		return;
	while (kvp_index_next(&c->index, &place, c->index.places, &e)) {
		u32 leg = kvp_log_place(c->v->g, c->base + place++, 0).leg;

		/*
		 * a block that was just written home is dropped from the index at its next look-up
		 */
		if (e.old && !kvp_leg_in_sync(&c->v->legs[leg]))
			sim_fail("life %u: block %llu is known on SSD %u, which is not there",
				 s->lives, e.key, leg);
	}
}

static void prepare(struct script *s)
{
	u32 ssd = script_first_ssd(s), i;

	if (own.oom)
		sim_set_oom(300);
	for (i = 0; own.hold && i < ssd; i++)
		disks_stall(i, own.data_start, own.data_start + POOL_BLOCKS);
	for (i = 0; i < own.nr_slow; i++)
		disks_stall(ssd + own.slow[i].leg, own.slow[i].block, own.slow[i].block + 1);
}

/* What the lives before have left is there. */
static void begin(struct script *s)
{
	struct kvp_pool *pool = s->host.pool;

	/* Data goes home only by order. */
	WRITE_ONCE(pool->tunables[KVP_T_DESTAGE_IDLE_MS], 600 * 1000);
	if (!own.fills)
		kvp_admit_stop(pool->admission);
	s->host.rotten = own.rotten;
	check_order(pool);
	own.generations = pool->sb->generation_count;
	if (own.scrub)
		scrub_all(s);
	if (!own.nr_slow)
		host_warm_up(&s->host);
	check_legs(s);
	/* homes cannot be read while they are held */
	if (!own.hold) {
		host_cache_check(&s->host);
		look_at_all(s);
	}
	/* during admission the cache may overwrite a block beneath a reader */
	if (s->host.mistrusted && !own.fills && !own.mistrusts)
		sim_fail("life %u: %u blocks were read from the SSD, and were not what they "
			 "should be", s->lives, s->host.mistrusted);
	script_cut_from_here(s);
}

/* The contents after a power cut at the end of the trace go to s->img. */
static void cut_at_end(struct script *s)
{
	struct cutter *cut = malloc(sizeof(*cut));
	u32 which[MAX_PENDING], n, i;
	u8 fates[MAX_PENDING];

	cutter_init(cut, &disks.trace);
	cutter_seek(cut, own.cut ?: disks.trace.nr);
	n = cutter_majors(cut, which);
	for (i = 0; i < n; i++)
		fates[i] = rng_below(&own.rng, 3);
	cutter_images(cut, fates, &own.rng, s->img);
	cutter_free(cut);
	free(cut);
}

static void keep_images(struct script *s, bool stopped)
{
	if (stopped) {
		script_keep(s);
		return;
	}
	script_free_disks(s, s->img);
	cut_at_end(s);
}

/* One life; then cuts of its trace, if any are asked for. */
static bool life(struct script *s, void (*live)(struct script *s), bool stop)
{
	own.cut = own.back_at = 0;
	if (!script_live(s, live, !stop))
		return false;
	if (s->refused) {
		snprintf(sim_failure, sizeof(sim_failure), "life %u: start refused (%d): %s",
			 s->lives, s->refused, s->host.refusal.why);
		return false;
	}
	own.at = own.hold ? ~0u : own.cut ?: disks.trace.nr;
	s->crash.lost = own.lost;
	s->crash.back = own.back_at ? own.lost : 0;
	s->crash.back_at = own.back_at;
	if (own.back_at)
		own.lost = 0;
	keep_images(s, stop);
	return own.checked || own.hold || script_check_cuts(s);
}

/* --- what happens in them ----------------------------------------------------------------- */

/*
 * All versions that can be written home are, because of their space in the buffer; the tail mostly
 * stays.
 */
static void home_without_tail(struct host *h)
{
	host_press(h, 3);
}

static void some_operation(struct script *s)
{
	struct host *h = &s->host;
	u32 at = 1 + rng_below(&own.rng, HOT), n = 1 + rng_below(&own.rng, 4);

	switch (rng_below(&own.rng, 9)) {
	case 0:
		host_write(h, WIDE + rng_below(&own.rng, 2) * 8, 24, false);
		break;
	case 1:
		host_discard(h, at, n);
		break;
	case 2:
		host_discard(h, WIDE + at, n);
		break;
	case 3:
		host_write(h, WIDE + at, n, false);
		break;
	case 4:
		host_write_zeros(h, at, 1);
		break;
	case 5:
		home_without_tail(h);
		break;
	case 6:
		host_flush(h);
		break;
	default:
		host_write(h, at, n, false);
	}
}

static void operations(struct script *s)
{
	u32 n = 3 + rng_below(&own.rng, 8);

	while (n--)
		some_operation(s);
	if (rng_chance(&own.rng, 700))
		host_flush(&s->host);
	if (rng_chance(&own.rng, 200))
		host_checkpoint(&s->host);
}

static void write_one(struct script *s)
{
	host_write(&s->host, 10 + s->lives, 2, false);
	host_write(&s->host, 5, 1, false);
	host_flush(&s->host);
}

static void discard_one(struct script *s)
{
	host_discard(&s->host, 11, 1);
	host_flush(&s->host);
}

static void nothing(struct script *s)
{
}

static void all_home(struct script *s)
{
	host_checkpoint(&s->host);
	if (s->host.pool->sb->generation_count || s->host.pool->wbuf->nr_lone)
		sim_fail("all is home, and %u generations are named",
			 s->host.pool->sb->generation_count);
}

static bool expect_generations(struct script *s, u32 n)
{
	if (own.generations != n)
		snprintf(sim_failure, sizeof(sim_failure),
			 "life %u: %u generations are named, and not %u",
			 s->lives, own.generations, n);
	return own.generations == n;
}

/* --- tests ---------------------------------------------------------------------------------- */

static bool several_lives(struct script *s)
{
	bool good = true;
	u32 i;

	for (i = 0; good && i < LIVES; i++) {
		own.scrub = rng_chance(&own.rng, 300);
		good = life(s, operations, rng_chance(&own.rng, 400));
	}
	return good && life(s, all_home, true);
}

/* A leg of the mirror is gone from some life on. */
static bool leg_lost_between(struct script *s)
{
	bool good = life(s, operations, false) && life(s, operations, true);

	s->start.missing = own.lost = BIT(rng_below(&own.rng, 2));
	s->start.degraded = true;
	good = good && life(s, operations, false) && life(s, operations, true);
	s->start.missing = 0;
	return good && life(s, operations, false) && life(s, all_home, true);
}

static u32 leg_that_moves(const struct script *s)
{
	return s->seed % 2;
}

static void leg_leaves(struct script *s)
{
	operations(s);
	own.lost = BIT(leg_that_moves(s));
	if (kvp_leg_offline(s->host.pool, host_leg(&s->host, leg_that_moves(s))))
		sim_fail("a leg does not leave");
	operations(s);
}

/* What it missed is at home, or in any generation of the log. */
static void leg_returns(struct script *s)
{
	operations(s);
	if (host_online(&s->host, leg_that_moves(s)))
		sim_fail("the leg does not return: %s", s->host.refusal.why);
	operations(s);
	host_wait_resilver(&s->host);
	if (!kvp_leg_in_sync(host_leg(&s->host, leg_that_moves(s))))
		sim_fail("the leg is in state %u", host_leg(&s->host, leg_that_moves(s))->state);
	own.back_at = disks.trace.nr;
	operations(s);
}

/* A leg is out for some lives, and returns while the log has generations that it never had. */
static bool leg_leaves_and_returns(struct script *s)
{
	return life(s, operations, false) && life(s, leg_leaves, false) &&
		life(s, operations, true) &&
	       life(s, leg_returns, false) && life(s, operations, false) && life(s, all_home, true);
}

#define BAD_HOME	5u	/* of blocks 2 to 17 */

/* A leg leaves. What it misses is home, and a newer version of it is in the log. */
static void leg_leaves_with_a_log(struct script *s)
{
	struct host *h = &s->host;
	u32 i;

	own.lost = BIT(1);
	if (kvp_leg_offline(h->pool, host_leg(h, 1)))
		sim_fail("a leg does not leave");
	host_write(h, 2, 16, false);
	host_checkpoint(h);
	own.data_start = disks.data_start;
	/* Single blocks: a stream would go home by intent. */
	for (i = 0; i < 16; i++)
		host_write(h, 2 + i * 7 % 16, 1, true);
	for (i = 0; i < 16; i++)
		if (!kvp_wbuf_any(h->pool->wbuf, 2 + i, 1))
			sim_fail("not all is in the log: the case was not set up");
}

static void expect_same_homes(struct script *s)
{
	u8 data[2][KVP_BLOCK_SIZE];
	u64 block;
	u32 i;

	for (block = 2; block < 18; block++) {
		for (i = 0; i < 2; i++)
			image_read(&disks.img[i], own.data_start + block, data[i]);
		if (block != BAD_HOME && memcmp(data[0], data[1], KVP_BLOCK_SIZE))
			sim_fail("a leg in sync lacks block %llu", block);
	}
}

/*
 * The leg returns, and destage rests. Home has neither version of one block. That is no fault, and
 * the leg need not wait. All other blocks can be copied. In every second turn some are not as the
 * recovery has left them any more: a user wrote them again.
 */
static void leg_returns_beside_a_log(struct script *s)
{
	struct host *h = &s->host;
	u32 i;

	for (i = 0; s->turn % 2 && i < 4; i++)
		host_write(h, 4 + i * 3 % 4, 1, true);
	if (!kvp_wbuf_any(h->pool->wbuf, BAD_HOME, 1))
		sim_fail("all is home: the case was not set up");
	if (!h->pool->recovery.kept)
		sim_fail("no log is retained: the case was not set up");
	if (host_online(h, 1))
		sim_fail("the leg does not return: %s", h->refusal.why);
	for (i = 0; !kvp_leg_in_sync(host_leg(h, 1)); i++, host_sleep(100))
		if (i == 1200)
			sim_fail("a leg is left behind: its resilver does not end");
	if (h->pool->table->poisoned)
		sim_fail("%llu blocks are poisoned, and the log has them", h->pool->table->poisoned);
	expect_same_homes(s);
}

static bool home_is_cut_short_beside_a_log(struct script *s)
{
	u8 junk[KVP_BLOCK_SIZE];

	own.checked = true;
	if (!life(s, leg_leaves_with_a_log, true))
		return false;
	memset(junk, 0x5a, sizeof(junk));
	image_write_data(&s->img[0], own.data_start + BAD_HOME, junk);
	return life(s, leg_returns_beside_a_log, true) && life(s, all_home, true);
}

/* An SSD of two misses a generation, and is back: it must not be asked. */
static bool ssd_lost_between(struct script *s)
{
	u32 ssd = BIT(s->legs - 1 - rng_below(&own.rng, 2));
	bool good = life(s, operations, false);

	if (s->start.cache < 2)
		return good;
	s->start.missing = own.lost = ssd;
	good = good && life(s, operations, false) && life(s, operations, true);
	s->start.missing = 0;
	return good && life(s, operations, false) && life(s, operations, false) &&
	       life(s, all_home, true);
}

/* Renewed versions leave the oldest generation, and a checkpoint may drop it from the list. */
static void write_to_stay(struct script *s)
{
	if (kvp_pool_set(s->host.pool, KVP_T_RENEW_MARK, 0))
		sim_fail("the tunable cannot be set");
	write_one(s);
}

/* When no more generations can be named a recovery writes all home. */
static bool list_is_full(struct script *s)
{
	bool good;
	u32 i;

	own.hold = true;
	good = life(s, write_to_stay, false);
	for (i = 1; good && i < KVP_MAX_GENERATIONS; i++)
		good = life(s, write_one, false) && expect_generations(s, i);
	/* The window is small: there is no room for more data. */
	good = good && life(s, discard_one, false) && expect_generations(s, KVP_MAX_GENERATIONS);
	own.hold = false;
	good = good && life(s, write_one, false) && expect_generations(s, 0);
	return good && life(s, nothing, true) && expect_generations(s, 1);
}

/* Lives in which nothing is written need no generation. */
static bool lives_of_nothing(struct script *s)
{
	bool good = life(s, write_one, true);
	u32 i;

	for (i = 0; good && i < 2 * KVP_MAX_GENERATIONS; i++)
		good = life(s, nothing, i & 1) && expect_generations(s, 1);
	return good && life(s, write_one, true) && life(s, all_home, true) &&
	       expect_generations(s, 2) &&
	       life(s, nothing, true) && expect_generations(s, 0);
}

/* Which blocks of the log a version has, from one life to the next. */
static u64 lsn_of(struct script *s, u64 block)
{
	struct kvp_version *d = kvp_wbuf_find(s->host.pool->wbuf, block);
	u64 lsn;

	if (!d)
		sim_fail("block %llu is not in the buffer: the case was not set up", block);
	lsn = d->lsn;
	kvp_wbuf_unlock(s->host.pool->wbuf, block);
	return lsn;
}

static u64 rot_at;

static void note_place(struct script *s)
{
	rot_at = kvp_log_place(s->host.pool->vdevs.log_vdev->g, lsn_of(s, 12), 0).block;
	write_one(s);
}

static void rot_on(struct script *s, u32 ssd)
{
	u8 junk[KVP_BLOCK_SIZE];

	memset(junk, 0x5a, sizeof(junk));
	image_write_data(&s->img[script_first_ssd(s) + ssd], rot_at, junk);
}

static void rot(struct script *s, u32 ssds)
{
	u32 i;

	for (i = 0; i < ssds; i++)
		rot_on(s, i);
}

/* An entry of an older generation, wherever in it, was acknowledged. */
static bool older_entry_rots(struct script *s)
{
	/* the entry of life 1; another one follows it */
	if (!life(s, write_one, false) || !life(s, note_place, false) || !life(s, write_one, false))
		return false;
	own.checked = true;
	rot(s, s->start.cache - 1);
	if (s->start.cache > 1)
		return life(s, write_one, false);
	rot(s, 1);
	if (life(s, nothing, false))
		snprintf(sim_failure, sizeof(sim_failure),
			 "started, though acknowledged data is gone");
	return s->refused == -EUCLEAN;
}

static void write_some(struct script *s, u64 block, u64 end)
{
	for (; block < end; block++) {
		host_write(&s->host, block, 1, false);
		host_flush(&s->host);
	}
}

/* More than destage takes in a round, and more than a segment of the log. */
static void write_many(struct script *s)
{
	write_some(s, 210, 390);
}

/* written by write_many(), so early that the next segment says that it was durable */
#define WORN	215u

static struct { u64 header, payload; u8 data[KVP_BLOCK_SIZE]; } worn;

static void write_worn(struct script *s)
{
	const struct kvp_geometry *g = s->host.pool->vdevs.log_vdev->g;
	struct kvp_version *d;

	write_some(s, 210, WORN + 1);
	d = kvp_wbuf_find(s->host.pool->wbuf, WORN);
	if (!d)
		sim_fail("block %u is not in the buffer: the case was not set up", WORN);
	worn.header = kvp_log_place(g, d->lsn, 0).block;
	worn.payload = kvp_log_place(g, d->lsn + d->payload, 0).block;
	kvp_wbuf_unlock(s->host.pool->wbuf, WORN);
	write_some(s, WORN + 1, 390);
}

static bool live_and_wear(struct script *s)
{
	bool good = life(s, write_one, false);

	own.hold = true;
	good = good && life(s, write_worn, false);
	own.hold = false;
	own.checked = true;
	return good;
}

static void write_over_worn(struct script *s)
{
	host_write(&s->host, WORN, 1, false);
	host_flush(&s->host);
	own.eio = 0;
}

/*
 * A block rots that is known to have been durable: one SSD of two makes up for it, or it is lost,
 * and nothing else.
 */
static bool durable_block_rots(struct script *s)
{
	if (!live_and_wear(s))
		return false;
	rot_at = worn.payload;
	rot(s, 1);
	own.eio = s->start.cache == 1 ? WORN : 0;
	/*
	 * Once home, the block is still rotten there, and the index names it: a read from that SSD
	 * fails its sum. Until a read has chosen that SSD, nothing tells.
	 */
	own.mistrusts = s->start.cache > 1;
	own.rotten = rot_at;
	return life(s, nothing, true) && life(s, all_home, false) && life(s, nothing, true) &&
	       life(s, write_over_worn, false) && life(s, all_home, true);
}

/* Its header on one SSD of two, whichever: the other one is lost next. */
static bool durable_header_rots(struct script *s)
{
	u32 on = rng_below(&own.rng, 2);

	if (!live_and_wear(s))
		return false;
	rot_at = worn.header;
	rot_on(s, on);
	own.hold = true;
	if (!life(s, nothing, false))
		return false;
	own.hold = false;
	s->start.missing = own.lost = BIT(s->legs - 1 - on);
	return life(s, nothing, false) && life(s, all_home, true);
}

/* Without memory all must be written home, and all is verified before anything is written. */
static bool durable_block_rots_without_memory(struct script *s)
{
	if (!live_and_wear(s))
		return false;
	rot_at = worn.payload;
	rot(s, s->start.cache);
	own.oom = true;
	if (life(s, nothing, false))
		snprintf(sim_failure, sizeof(sim_failure), "what is rotten in the log was written home");
	if (s->refused != -EUCLEAN)
		return false;
	own.oom = false;
	own.eio = WORN;
	return life(s, nothing, false) && life(s, all_home, true);
}

/* All is home, and still in the log; a large write over it is going home. */
static void write_wide_over_worn(struct script *s)
{
	struct host *h = &s->host;
	u64 before;
	u32 i;

	write_worn(s);
	for (i = 0; i < 4; i++)
		home_without_tail(h);
	if (host_read(h, WORN, worn.data))
		sim_fail("block %u cannot be read", WORN);
	before = h->pool->log->intent_blocks;
	host_write(h, WORN - 3, 24, false);
	host_sleep(6000);
	if (h->pool->log->intent_blocks == before)
		sim_fail("%llu blocks went by intent: the case was not set up",
			 h->pool->log->intent_blocks - before);
}

/*
 * The write was cut short, and home has @home there; the version before is rotten in the log. With
 * @eio the block is lost.
 *
 * The index may name the rotten block: the version was clean in the life before, and if its segment
 * was summarised after that, it comes back unread. No read may get as far as the SSD: what the
 * intent came to is younger than the summary.
 */
static bool cut_over_worn(struct script *s, const void *home, u64 eio)
{
	u32 i;

	own.checked = true;
	if (!life(s, write_wide_over_worn, false))
		return false;
	for (i = 0; i < script_first_ssd(s); i++)
		image_write_data(&s->img[i], own.data_start + WORN, home);
	rot_at = worn.payload;
	rot(s, s->start.cache);
	own.rotten = rot_at;
	own.eio = eio;
	return life(s, nothing, false) && life(s, all_home, true) && life(s, nothing, true);
}

/* Neither that nor a mixture may be read. */
static bool durable_block_rots_under_an_intent(struct script *s)
{
	static u8 junk[KVP_BLOCK_SIZE];

	memset(junk, 0x33, sizeof(junk));
	return cut_over_worn(s, junk, WORN);
}

/* The version was home before the write over it began, and nothing of that write got there. */
static bool rotten_though_it_is_home(struct script *s)
{
	return cut_over_worn(s, worn.data, 0);
}

/* Where they begin is known; then the tail is brought there. */
static void home_bit_by_bit(struct script *s)
{
	struct host *h = &s->host;
	u32 i;

	for (i = 0; i < 600; i++) {
		host_write(h, 1 + i % 200, 1, false);
		host_flush(h);
	}
}

/* The tail goes through the generations as the log fills. */
static bool tail_moves_on(struct script *s)
{
	return life(s, write_one, false) && life(s, write_many, false) &&
	       life(s, operations, false) &&
	       life(s, home_bit_by_bit, false) && life(s, home_bit_by_bit, true) &&
	       life(s, operations, false) && life(s, all_home, true);
}

/* Destage is at work when the power goes, or the stop comes: nothing at home may be blamed. */
static void half_home(struct script *s)
{
	struct host *h = &s->host;
	u64 place = disks.data_start + 2 + rng_below(&own.rng, 10);

	host_write(h, 2, 16, false);
	host_write(h, 40, 16, false);
	host_flush(h);
	disks_stall(rng_below(&own.rng, 2), place, place + 60);
	host_destage(h);
	host_sleep(300);
}

static bool destage_is_cut_short(struct script *s)
{
	bool good = life(s, write_one, true) && life(s, half_home, false);

	own.scrub = true;
	return good && life(s, write_one, false) && life(s, half_home, false) &&
	       life(s, nothing, true) && life(s, all_home, true);
}

/* Below the mark of renewal a stream leaves blocks on the cache that are there. */
static void let_streams_pass(struct host *h)
{
	if (kvp_pool_set(h->pool, KVP_T_RENEW_MARK, 0))
		sim_fail("renew_mark is not set");
}

/* A large write over data that is home, and in the log all the same. */
static void intents_over_data(struct script *s)
{
	struct host *h = &s->host;
	u64 intents, block;

	for (block = WIDE; block < WIDE + 48; block += 8) {
		host_write(h, block, 8, false);
		host_flush(h);
	}
	home_without_tail(h);
	let_streams_pass(h);
	intents = h->pool->log->intent_blocks;
	host_write(h, WIDE, 48, false);
	host_flush(h);
	if (h->pool->log->intent_blocks != intents + 48)
		sim_fail("%llu intents: the case was not set up",
			 h->pool->log->intent_blocks - intents);
}

/* One more is half home when the power goes. */
static void open_intents(struct script *s)
{
	struct host *h = &s->host;
	u32 i;

	intents_over_data(s);
	for (i = 0; i < script_first_ssd(s); i++)
		disks_stall(i, disks.data_start + WIDE + 10, disks.data_start + WIDE + 50);
	host_write(h, WIDE, 48, false);
	host_sleep(1500);
	if (list_empty(&h->pool->log->open))
		sim_fail("no intent is open: the case was not set up");
}

/* A recovery's verdict about intents stays, whatever the log has about them later. */
static bool intents_are_resolved_once(struct script *s)
{
	return life(s, write_one, false) && life(s, intents_over_data, false) &&
	       life(s, open_intents, false) && life(s, write_one, false) &&
	       life(s, nothing, false) && life(s, open_intents, false) &&
	       life(s, nothing, false) && life(s, write_one, false) && life(s, all_home, true);
}

/*
 * The superblock says that the log holds data: without the SSDs the pool does not start. Data that
 * is home needs none.
 */
static bool stopped_with_a_log(struct script *s)
{
	u32 ssds = (BIT(s->start.cache) - 1) << (script_first_ssd(s));

	own.checked = true;
	if (!life(s, write_one, true))
		return false;
	s->start.missing = ssds;
	if (life(s, nothing, true) || s->refused != -ENOTCONN) {
		snprintf(sim_failure, sizeof(sim_failure), "without the SSDs: %d", s->refused);
		return false;
	}
	s->start.missing = 0;
	if (!life(s, all_home, true) || !expect_generations(s, 1))
		return false;
	s->start.missing = ssds;
	return life(s, write_one, true);
}

/* A stop waits for no disk: nothing is written home for it. */
static void disks_are_slow(struct script *s)
{
	struct kvp_pool *pool = s->host.pool;
	u32 i;

	write_one(s);
	for (i = 0; i < script_first_ssd(s); i++)
		disks_stall(i, disks.data_start, disks.data_start + POOL_BLOCKS);
	kvp_pool_quiesce(pool);
	if (pool->sb->flags & KVP_SB_CLEAN || !kvp_log_counts(pool->log))
		sim_fail("the log is empty");
	kvp_pool_unquiesce(pool);
	write_one(s);
}

static bool stop_waits_for_no_disk(struct script *s)
{
	return life(s, disks_are_slow, true) && life(s, disks_are_slow, false) &&
	       life(s, all_home, true);
}

static struct {
	bool ended;
	const char *hung;
} stop_now;

static void stop_task(void *arg)
{
	struct script *s = arg;

	if (s->turn % 2)
		kvp_pool_halt(s->host.pool);
	else
		kvp_pool_quiesce(s->host.pool);
	stop_now.hung = sim_current->hung;
	stop_now.ended = true;
}

/* A round of destage takes minutes. A stop, or a suspend in haste, waits, and never looks hung. */
static void disks_are_slow_amid_a_round(struct script *s)
{
	struct kvp_pool *pool = s->host.pool;
	u32 i;

	WRITE_ONCE(pool->tunables[KVP_T_LEG_TIMEOUT], 3600);
	write_one(s);
	for (i = 0; i < script_first_ssd(s); i++)
		disks_stall(i, disks.data_start, disks.data_start + POOL_BLOCKS);
	kvp_destage_kick(pool, true);
	while (!disks_wait())
		host_sleep(10);
	stop_now.ended = false;
	sim_spawn("stop", stop_task, s);
	host_sleep(150 * 1000);
	if (stop_now.ended)
		sim_fail("no stop waits for a round: the case was not set up");
	disks_release_all();
	for (i = 0; !stop_now.ended; i++, host_sleep(10))
		if (i == 1000)
			sim_fail("a stop is left waiting");
	if (stop_now.hung)
		sim_fail("a stop during a long round looks hung: %s", stop_now.hung);
	kvp_pool_unquiesce(pool);
	write_one(s);
}

static bool stop_waits_for_a_round(struct script *s)
{
	own.checked = true;
	return life(s, disks_are_slow_amid_a_round, true) && life(s, all_home, true);
}

/* Blocks that the SSDs had, and that are home since: the SSDs die, and nothing of those is lost. */
static void home_and_dead(struct script *s)
{
	struct host *h = &s->host;
	u32 i;

	for (i = script_first_ssd(s); i < s->legs; i++)
		disks_kill(i);
	host_write(h, 200, 1, false);
	host_flush(h);
	if (!kvp_has_data(h->pool->vdevs.log_vdev->g) || h->pool->table->poisoned)
		sim_fail("%llu blocks are lost", h->pool->table->poisoned);
	for (i = 0; i < 60; i++)
		host_read_check(h, i);
}

static void home_but_for_the_tail(struct script *s)
{
	struct kvp_pool *pool = s->host.pool;

	write_one(s);
	host_home_without_checkpoint(&s->host);
	mutex_lock(&pool->checkpoint_lock);
	if (kvp_checkpoint(pool, NULL))
		sim_fail("no checkpoint");
	mutex_unlock(&pool->checkpoint_lock);
}

static bool what_is_home_is_not_lost(struct script *s)
{
	own.checked = true;
	return life(s, home_but_for_the_tail, false) && life(s, home_and_dead, true) &&
	       expect_generations(s, 1);
}

/* The last SSDs are away for some seconds, and the log moves: what only they have is waited for. */
static void away_while_it_moves(struct script *s)
{
	struct host *h = &s->host;
	u32 i;

	for (i = script_first_ssd(s); i < s->legs; i++) {
		disks_fault(FAULT_READ_EIO, i, 0, ~0ull);
		disks_fault(FAULT_WRITE_EIO, i, 0, ~0ull);
	}
	host_write(h, 200, 1, false);
	kvp_commit_kick(h->pool->log, true);
	host_sleep(10 * 1000);
	if (!h->pool->vdevs.log_moving)
		sim_fail("the log is not moving: the case was not set up");
	disks.nr_faults = 0;
	host_flush(h);
	if (!kvp_has_data(h->pool->vdevs.log_vdev->g) || h->pool->table->poisoned)
		sim_fail("%llu blocks are lost", h->pool->table->poisoned);
	for (i = 0; i < 60; i++)
		host_read_check(h, i);
}

static bool ssds_may_come_back(struct script *s)
{
	own.checked = true;
	return life(s, write_one, false) && life(s, away_while_it_moves, true) &&
	       expect_generations(s, 1);
}

/* There is no memory for retained versions: all are written home, and the pool starts. */
static bool no_memory_to_stay(struct script *s)
{
	bool good = life(s, write_one, true) && life(s, write_many, true);

	own.oom = true;
	good = good && life(s, nothing, false) && expect_generations(s, 0);
	own.oom = false;
	return good && life(s, operations, true) && life(s, all_home, true);
}

/* Unwritten, which is a discard in the log, and data: which is home, and the tail before both. */
static void discarded_and_home(struct script *s)
{
	struct host *h = &s->host;

	host_write(h, 4, 12, false);
	host_flush(h);
	host_discard(h, 4, 3);
	host_write_zeros(h, 10, 4);
	host_flush(h);
	host_write(h, 5, 1, false);
	host_write(h, 11, 2, false);
	host_flush(h);
	home_but_for_the_tail(s);
}

static void only_homes(struct script *s)
{
	if (!kvp_has_data(s->host.pool->vdevs.log_vdev->g) || s->host.pool->table->poisoned)
		sim_fail("%llu blocks are lost", s->host.pool->table->poisoned);
}

/* A recovery does not undo a version in the table that was written home after a discard. */
static bool discarded_before_is_not_lost(struct script *s)
{
	u32 ssds = (BIT(s->start.cache) - 1) << (script_first_ssd(s));

	own.checked = true;
	if (!life(s, discarded_and_home, false) || !life(s, nothing, rng_chance(&own.rng, 500)))
		return false;
	if (rng_chance(&own.rng, 500))
		return life(s, home_and_dead, true) && expect_generations(s, 1);
	s->start.missing = ssds;
	s->start.discard_log = true;
	return life(s, only_homes, true);
}

/* --- what is clean ------------------------------------------------------------------------- */

/* @from_ssd of the blocks are read from the SSD, with right contents. */
static void expect_from_ssd(struct script *s, u64 first, u32 count, u32 least, u32 most)
{
	u32 before = s->host.ssd_reads, i, n;

	kvp_rcache_drop(s->host.pool->rcache);
	for (i = 0; i < count; i++)
		host_read_check(&s->host, first + i);
	n = s->host.ssd_reads - before;
	if (n < least || n > most)
		sim_fail("life %u: %u of %u blocks from %llu on were read from the SSD", s->lives, n,
			 count,
			 first);
}

static void write_each(struct script *s, u64 first, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++) {
		host_write(&s->host, first + i, 1, false);
		host_flush(&s->host);
		if (i % 128 == 127)
			host_checkpoint(&s->host);
	}
}

static void write_and_write_home(struct script *s)
{
	write_each(s, 100, 40);
	host_checkpoint(&s->host);
	expect_from_ssd(s, 100, 40, 40, 40);
}

/* All written directly, discarded, zeros, one in the log: the rest is unchanged. */
static void change_some(struct script *s)
{
	expect_from_ssd(s, 100, 40, 40, 40);
	let_streams_pass(&s->host);
	host_write(&s->host, 64, 40, false);	/* up to 103 */
	host_checkpoint(&s->host);
	host_discard(&s->host, 110, 2);
	host_write_zeros(&s->host, 115, 1);
	write_each(s, 120, 1);
	host_checkpoint(&s->host);
	host_cache_check(&s->host);
	expect_from_ssd(s, 100, 40, 33, 33);
}

static void expect_the_rest(struct script *s)
{
	expect_from_ssd(s, 100, 40, 33, 33);
}

/* A block that was clean in any life is clean again; a block that changed otherwise is not. */
static bool clean_comes_back(struct script *s)
{
	return life(s, write_and_write_home, true) && life(s, change_some, true) &&
	       life(s, expect_the_rest, true) && life(s, expect_the_rest, true);
}

/* Counts the blocks that lie on each SSD, by the summaries. */
static void note_legs(struct script *s, u64 first, u32 count)
{
	struct kvp_on_ssd at;
	u32 i;

	own.g = *s->host.pool->scache->v->g;
	memset(own.lie_on, 0, sizeof(own.lie_on));
	for (i = 0; i < count; i++) {
		kvp_scache_alike(s->host.pool->scache, first + i, 1, &at);
		if (at.block)
			own.lie_on[at.leg]++;
	}
}

static void write_home_and_note(struct script *s)
{
	write_and_write_home(s);
	note_legs(s, 100, 40);
}

/* All blocks except those of the missing SSD. */
static void expect_without_one(struct script *s)
{
	u32 left = 40 - own.lie_on[own.gone];

	if (left == 40)
		sim_fail("SSD %u has nothing: the case was not set up", own.gone);
	expect_from_ssd(s, 100, 40, left, left);
}

static void one_is_gone(struct script *s, u32 which)
{
	own.gone = which;
	s->start.missing = own.lost = BIT(script_first_ssd(s) + which);
}

/* An SSD is missing: blocks of the others are there. When it is back, it is not used. */
static bool clean_without(struct script *s, u32 which)
{
	bool good = life(s, write_home_and_note, true);

	one_is_gone(s, which);
	good = good && life(s, expect_without_one, rng_chance(&own.rng, 500));
	s->start.missing = 0;
	return good && life(s, expect_without_one, true) && life(s, expect_without_one, true);
}

static bool clean_without_first(struct script *s)
{
	return clean_without(s, 0);
}

static bool clean_without_second(struct script *s)
{
	return clean_without(s, 1);
}

static bool clean_without_third(struct script *s)
{
	return clean_without(s, 2);
}

static void expect_all_of_it(struct script *s)
{
	expect_from_ssd(s, 100, 40, 40, 40);
}

/* One copy of each summary rots: the other one is used. */
static bool summaries_rot(struct script *s)
{
	u32 copy = rng_below(&own.rng, s->start.cache_parity ? 2 : s->start.cache), i;
	bool good = life(s, write_home_and_note, true);
	u8 junk[KVP_BLOCK_SIZE];

	memset(junk, 0x5a, sizeof(junk));
	for (i = 0; good && i < own.g.segments; i++) {
		struct kvp_place at = kvp_summary_place(&own.g, (u64)i * own.g.segment_blocks,
							copy);

		image_write_data(&s->img[script_first_ssd(s) + at.leg], at.block, junk);
		copy = !copy;
	}
	own.checked = true;
	return good && life(s, expect_all_of_it, true);
}

/* Until it is not time for any summary, or never. */
static void until_sealed(struct kvp_pool *pool)
{
	while (kvp_rebuild_unsealed(pool->rebuild))
		host_sleep(50);
}

/* More than a segment, and the segments have their summaries. */
static void fill_segments(struct script *s)
{
	/* the index grows when the log continues; until then new blocks are not entered */
	write_each(s, 99, 1);
	flush_work(&s->host.pool->scache->grow_work);
	write_each(s, 100, 200);
	host_checkpoint(&s->host);
	until_sealed(s->host.pool);
	if (READ_ONCE(s->host.pool->rebuild->home) == s->host.pool->rebuild->next)
		sim_fail("no segment has a summary");
}

static void expect_a_segment(struct script *s)
{
	expect_from_ssd(s, 100, 200, 100, 200);
}

/* After a power cut those that lie in segments with a summary. */
static bool clean_after_a_cut(struct script *s)
{
	return life(s, fill_segments, false) && life(s, expect_a_segment, false) &&
	       life(s, expect_a_segment, true);
}

/* The log continues into a segment with a summary, which is wrong then. */
static void come_round(struct script *s)
{
	write_each(s, 310, 120 + rng_below(&own.rng, 70));
	write_each(s, 310, rng_below(&own.rng, 190));
	if (rng_chance(&own.rng, 500))
		host_checkpoint(&s->host);
}

static void expect_most_of_a_segment(struct script *s)
{
	expect_from_ssd(s, 100, 200, 60, 200);
}

/*
 * The same with an SSD less from the cut on, which the summaries that are written then are not for.
 */
static bool cut_without_one(struct script *s)
{
	bool good = life(s, fill_segments, false);

	one_is_gone(s, rng_below(&own.rng, s->start.cache));
	good = good && life(s, expect_most_of_a_segment, false) && life(s, come_round, false) &&
	       life(s, fill_segments, false) && life(s, expect_most_of_a_segment, true);
	s->start.missing = 0;
	return good && life(s, expect_most_of_a_segment, false) &&
	       life(s, expect_most_of_a_segment, true);
}

static bool stale_summary(struct script *s)
{
	bool good = life(s, fill_segments, rng_chance(&own.rng, 500));
	u32 i;

	for (i = 0; good && i < 6; i++)
		good = life(s, rng_chance(&own.rng, 300) ? fill_segments : come_round,
			    rng_chance(&own.rng, 300));
	return good;
}

/* The same for the ring of a cache without the log, which admits written blocks. */
static void write_into_ring(struct script *s)
{
	write_each(s, 100, 40);
	host_checkpoint(&s->host);
	host_sleep(50);
	/* blocks that neighbours kept out are admitted by reads */
	expect_from_ssd(s, 100, 40, 0, 40);
	host_sleep(50);
	expect_from_ssd(s, 100, 40, 40, 40);
	host_sleep(1200);
}

static void expect_the_ring(struct script *s)
{
	expect_from_ssd(s, 100, 40, 40, 40);
}

static void change_in_ring(struct script *s)
{
	expect_from_ssd(s, 100, 40, 40, 40);
	kvp_admit_stop(s->host.pool->admission);
	host_write(&s->host, 64, 40, false);
	host_checkpoint(&s->host);
	host_discard(&s->host, 110, 2);
	write_each(s, 120, 2);
	host_checkpoint(&s->host);
	expect_from_ssd(s, 100, 40, 32, 32);
}

static void expect_ring_rest(struct script *s)
{
	kvp_admit_stop(s->host.pool->admission);
	expect_from_ssd(s, 100, 40, 32, 32);
}

static bool ring_comes_back(struct script *s)
{
	own.fills = true;
	return life(s, write_into_ring, true) && life(s, expect_the_ring, true) &&
	       life(s, change_in_ring, rng_chance(&own.rng, 500)) &&
	       life(s, expect_ring_rest, true) &&
	       life(s, expect_ring_rest, false);
}

/* Blocks that were not in the ring yet, some that were, and a checkpoint now and then. */
static void go_round(struct script *s)
{
	u32 n = 60 + rng_below(&own.rng, 200), i;

	for (i = 0; i < n; i += 4) {
		write_each(s, 100 + rng_below(&own.rng, 300), 4);
		if (rng_chance(&own.rng, 150))
			host_checkpoint(&s->host);
		host_sleep(rng_chance(&own.rng, 20) ? 1200 : 5);
	}
}

static bool stale_ring(struct script *s)
{
	bool good = true;
	u32 i;

	own.fills = true;
	for (i = 0; good && i < 8; i++)
		good = life(s, go_round, rng_chance(&own.rng, 400));
	return good;
}

/*
 * As they are written home, some blocks that are no neighbours enter the ring; nothing is
 * checkpointed.
 */
static void some_into_ring(struct script *s)
{
	u32 i;

	for (i = 0; i < 24; i++)
		host_write(&s->host, 100 + 16 * i + rng_below(&own.rng, 12), 1, false);
	host_flush(&s->host);
	home_without_tail(&s->host);
	host_sleep(10);
}

static void once_round(struct script *s)
{
	u64 begin = s->host.pool->scache->wiped;

	while (s->host.pool->scache->wiped - begin < s->host.pool->scache->blocks)
		some_into_ring(s);
	host_checkpoint(&s->host);
	host_sleep(1500);
}

static void further_on(struct script *s)
{
	u64 begin;

	host_checkpoint(&s->host);
	begin = s->host.pool->scache->wiped;
	/* A little into a segment, which has a summary of the round before. */
	while (s->host.pool->scache->wiped - begin < 100 ||
	       s->host.pool->scache->wiped % 256 - 24 > 40)
		some_into_ring(s);
}

/* After a cut it is known how far the ring may have been, also if no checkpoint has come since. */
static bool ring_goes_on(struct script *s)
{
	own.fills = true;
	return life(s, once_round, false) && life(s, further_on, false) &&
	       life(s, further_on, false) &&
	       life(s, nothing, true);
}

/* Blocks read from home enter the ring, whether they were known there or not. */
static void read_into_ring(struct script *s, u64 first, u32 count)
{
	struct kvp_pool *pool = s->host.pool;
	u32 i;

	kvp_cache_mistrust(pool, first, count);
	kvp_rcache_drop(pool->rcache);
	for (i = 0; i < count; i++)
		host_read_check(&s->host, first + i);
	host_sleep(150);
}

/*
 * An SSD is lost that has unflushed writes of the ring, and the loss cannot be recorded. It may
 * return without them, as one in sync. So the ring leaves the segment.
 */
static void lose_unflushed(struct script *s)
{
	struct kvp_pool *pool = s->host.pool;
	struct kvp_scache *c = pool->scache;
	u32 step = c->v->g->segment_blocks;
	u64 end;

	write_each(s, 100, 300);
	host_checkpoint(&s->host);
	while (c->wiped % step < 8 || c->wiped % step > 64)
		read_into_ring(s, 200, 20);
	/* Nothing that is behind is summarised later, and flushed for that. */
	host_checkpoint(&s->host);
	host_sleep(2500);
	end = kvp_log_segment_end(c->v->g, c->wiped);
	read_into_ring(s, 100, 60);
	if (kvp_log_segment_end(c->v->g, c->wiped) != end)
		sim_fail("the ring has left the segment: the case was not set up");
	/* It may go on without a superblock. */
	mutex_lock(&pool->sb_lock);
	pool->sb->cache_lsn = end + 4 * step;
	if (kvp_sb_commit(pool))
		sim_fail("no leg took the superblock");
	WRITE_ONCE(pool->scache->claimed, pool->sb->cache_lsn);
	kvp_leg_give_up(&c->v->legs[0], "a test");
	while (c->wiped < end + 8)
		read_into_ring(s, 200, 100);
	host_sleep(2500);
	if (READ_ONCE(pool->rebuild->left) < end)
		sim_fail("it is not time for a summary: the case was not set up");
	if (!kvp_members_dirty(pool))
		sim_fail("the loss is recorded: the case was not set up");
	own.cut = disks.trace.nr;
	mutex_unlock(&pool->sb_lock);
}

static bool lost_and_back(struct script *s)
{
	own.fills = true;
	own.checked = true;
	if (!life(s, lose_unflushed, false))
		return false;
	/* every known block has the right contents */
	own.fills = false;
	return life(s, nothing, true);
}

static void change_mode(struct script *s)
{
	struct host *h = &s->host;
	bool there = !kvp_has_data(h->pool->vdevs.log_vdev->g);

	come_round(s);
	if (kvp_cache_set_mode(h->pool, there ? KVP_CACHE_WRITETHROUGH : KVP_CACHE_WRITEBACK, true,
			       &h->refusal))
		sim_fail("mode not set: %s", h->refusal.why);
	host_cache_check(h);
	if (rng_chance(&own.rng, 700))
		come_round(s);
	host_sleep(rng_chance(&own.rng, 500) ? 1200 : 5);
}

/* The log comes and goes, so neither the log nor the ring alone knows all places of the cache. */
static bool modes_change(struct script *s)
{
	bool good = life(s, fill_segments, rng_chance(&own.rng, 500));
	u32 i;

	own.fills = true;
	/* for kind parity1 a round is three times as long */
	for (i = 0; good && i < (s->start.cache_parity ? 3 : 8); i++)
		good = life(s, i % 2 ? go_round : change_mode, rng_chance(&own.rng, 400));
	return good;
}

/* As if there had been no memory for the index. The log goes round, and then to the legs. */
static void round_without_index(struct script *s)
{
	struct host *h = &s->host;
	struct kvp_pool *pool = h->pool;
	u64 end = pool->log->head.lsn + kvp_log_blocks(pool->scache->v->g) + 64;

	kvp_pool_quiesce(pool);
	kvp_rebuild_exit(pool->rebuild);
	kvp_admit_exit(pool->admission);
	kvp_scache_exit(pool->scache);
	kvp_pool_unquiesce(pool);
	while (pool->log->head.lsn < end)
		write_each(s, 310, 64);
	host_checkpoint(h);
	if (pool->scache->v)
		sim_fail("there is an index: the case was not set up");
	if (kvp_cache_set_mode(pool, KVP_CACHE_WRITETHROUGH, true, &h->refusal))
		sim_fail("mode not set: %s", h->refusal.why);
	host_warm_up(h);
	host_cache_check(h);
}

static bool round_is_noted(struct script *s)
{
	bool good = life(s, fill_segments, true);

	own.fills = true;
	return good && life(s, round_without_index, true) && life(s, nothing, true);
}

static u64 left_at;

/*
 * The log leaves a segment with a summary, some of whose blocks are still unchanged. The ring has
 * not written when the power goes.
 */
static void leave_a_summary(struct script *s)
{
	struct host *h = &s->host;
	struct kvp_pool *pool = h->pool;
	const struct kvp_geometry *g = pool->scache->v->g;

	left_at = kvp_log_segment_end(g, pool->log->head.lsn);
	while (pool->log->head.lsn < left_at)
		write_each(s, 1, 1);
	write_each(s, 310, 60);
	while (pool->log->head.lsn < left_at + g->segment_blocks)
		write_each(s, 1, 1);
	host_checkpoint(h);
	until_sealed(pool);
	if (READ_ONCE(pool->rebuild->home) < left_at + g->segment_blocks)
		sim_fail("there is no summary: the case was not set up");
	if (kvp_cache_set_mode(pool, KVP_CACHE_WRITETHROUGH, true, &h->refusal))
		sim_fail("mode not set: %s", h->refusal.why);
	host_cache_check(h);
}

/* if the ring began earlier, it would half overwrite the segment with the summary */
static void ring_as_far(struct script *s)
{
	struct kvp_scache *c = s->host.pool->scache;
	u64 begin = c->wiped;

	while (c->wiped < max(begin, left_at) + 100)
		some_into_ring(s);
}

static bool ring_follows_log(struct script *s)
{
	bool good = life(s, leave_a_summary, false);

	own.fills = true;
	return good && life(s, ring_as_far, false) && life(s, nothing, true);
}

/* A block that a summary names changes past the log, in the same life. */
static void change_behind_summary(struct script *s)
{
	fill_segments(s);
	host_write(&s->host, 100, 60, false);
	host_checkpoint(&s->host);
	host_discard(&s->host, 180, 20);
	host_checkpoint(&s->host);
}

static bool changed_behind_summary(struct script *s)
{
	return life(s, change_behind_summary, false) && life(s, nothing, true);
}

/* All segments have a summary; then an entry is in flight into one of them when the power goes. */
static void end_in_flight(struct script *s)
{
	struct kvp_pool *pool = s->host.pool;
	const struct kvp_geometry *g = pool->vdevs.log_vdev->g;
	u64 begin = pool->log->head.lsn;
	u32 i;

	while (pool->log->head.lsn - begin < kvp_log_blocks(g))
		write_each(s, 100, 128);
	host_checkpoint(&s->host);
	host_sleep(2500);
	/* It may have ended before it is looked at. */
	for (i = 0; i < 6 && list_empty(&pool->log->in_flight); i++) {
		/* So little is left that nothing more has room there. */
		while (kvp_log_segment_end(g, pool->log->head.lsn) - pool->log->head.lsn >=
		       kvp_log_kept(g) + kvp_log_entry_blocks(g, 1, 1))
			write_each(s, 300, 1);
		host_write(&s->host, 310, 12, false);
		kvp_commit_now(pool->log);
		kvp_commit_kick(pool->log, true);
	}
	if (list_empty(&pool->log->in_flight))
		sim_fail("nothing is in flight: the case was not set up");
}

static bool torn_into_segment(struct script *s)
{
	bool good = true;
	u32 i;

	for (i = 0; good && i < 3; i++)
		good = life(s, end_in_flight, false) && life(s, nothing, false);
	return good;
}

/* Much of a segment of the round before is home unchanged; the log continues a little into it. */
static void come_to_old_segment(struct script *s)
{
	struct kvp_pool *pool = s->host.pool;
	const struct kvp_geometry *g = pool->vdevs.log_vdev->g;
	u64 begin;

	while (pool->log->head.lsn % g->segment_blocks > 8)
		write_each(s, 300, 1);
	begin = pool->log->head.lsn - pool->log->head.lsn % g->segment_blocks;
	write_each(s, 100, 120);
	host_checkpoint(&s->host);
	while (pool->log->head.lsn < begin + kvp_log_blocks(g)) {
		write_each(s, 300, 1);
		if (pool->log->head.lsn % 64 < 2)
			host_checkpoint(&s->host);
	}
	write_each(s, 301, 10);
	host_checkpoint(&s->host);
	/*
	 * All before it has its summaries: no late one is written where that of this segment goes.
	 */
	until_sealed(pool);
	if (READ_ONCE(pool->rebuild->home) < begin + kvp_log_blocks(g))
		sim_fail("summaries are missing: the case was not set up");
	expect_from_ssd(s, 140, 60, 50, 60);
}

static void suspend_and_resume(struct script *s)
{
	kvp_pool_quiesce(s->host.pool);
	host_cache_check(&s->host);
	kvp_pool_unquiesce(s->host.pool);
	if (!own.fills)
		kvp_admit_stop(s->host.pool->admission);
}

/* Not out of the segment, but over what lay in it. */
static void suspended_in_segment(struct script *s)
{
	struct kvp_pool *pool = s->host.pool;
	u64 end;

	come_to_old_segment(s);
	end = kvp_log_segment_end(pool->vdevs.log_vdev->g, pool->log->head.lsn);
	suspend_and_resume(s);
	while (pool->log->head.lsn + 64 < end)
		write_each(s, 301, 1);
	if (kvp_log_segment_end(pool->vdevs.log_vdev->g, pool->log->head.lsn) != end)
		sim_fail("the log has left the segment: the case was not set up");
}

/*
 * A suspend writes a summary of the log's present segment, which stays right after the log has gone
 * on.
 */
static bool goes_on_in_segment(struct script *s)
{
	return life(s, suspended_in_segment, false) && life(s, nothing, false) &&
	       life(s, nothing, true);
}

static void ring_suspended_in_segment(struct script *s)
{
	struct kvp_scache *c = s->host.pool->scache;
	u32 step = c->v->g->segment_blocks;
	u64 end;

	once_round(s);
	while (c->wiped % step < 8 || c->wiped % step > 64)
		some_into_ring(s);
	host_checkpoint(&s->host);
	host_sleep(2500);
	end = kvp_log_segment_end(c->v->g, c->wiped);
	suspend_and_resume(s);
	while (c->wiped + 64 < end)
		some_into_ring(s);
	if (kvp_log_segment_end(c->v->g, c->wiped) != end)
		sim_fail("the ring has left the segment: the case was not set up");
}

static bool ring_goes_on_in_segment(struct script *s)
{
	own.fills = true;
	return life(s, ring_suspended_in_segment, false) && life(s, nothing, false) &&
	       life(s, nothing, true);
}

static void note_summary(struct script *s)
{
	struct kvp_pool *pool = s->host.pool;
	const struct kvp_geometry *g = pool->scache->v->g;
	u32 i;

	fill_segments(s);
	host_checkpoint(&s->host);
	own.nr_slow = kvp_summary_copies(g);
	for (i = 0; i < own.nr_slow; i++)
		own.slow[i] = kvp_summary_place(g, pool->log->head.lsn, i);
}

/* All that was there is written over before its summary has been read. */
static void overtake(struct script *s)
{
	struct kvp_pool *pool = s->host.pool;
	u64 begin = pool->log->head.lsn;
	u32 i;

	if (!pool->rebuild->restoring)
		sim_fail("nothing is held up: the case was not set up");
	while (pool->log->head.lsn - begin < kvp_log_blocks(pool->scache->v->g))
		write_each(s, 310, 64);
	for (i = 0; i < s->start.cache; i++)
		disks_release(script_first_ssd(s) + i);
	host_warm_up(&s->host);
	host_cache_check(&s->host);
}

static bool log_overtakes_summaries(struct script *s)
{
	own.checked = true;
	return life(s, note_summary, true) && life(s, overtake, true);
}

/* --- running them ----------------------------------------------------------------------------- */

static void set_up(struct script *s)
{
	own.rng.s = mix64(s->seed, 99);
	own.data_start = base_for(s->c->shape)->data_start;
}

static void test_often(const char *what, const struct host_start *shape,
		       bool (*run)(struct script *s), u32 often)
{
	char name[128];
	const struct script_case c = {
		.name = name, .shape = shape, .set_up = set_up, .prepare = prepare,
		.may_refuse = true, .begin = begin, .play = run,
		.turns = opt.thorough ? 24 : often, .salt = 1000, .first_plain = true,
		.life_seeds = true, .cuts = opt.thorough ? 200 : 12, .depth = CHECK_RECRASH,
		.own = &own, .own_size = sizeof(own),
	};

	snprintf(name, sizeof(name), "restart:%s+%u%s:%s", shape->writethrough ? "ring" :
		 shape->cache_parity ? "parity1" : "mirror", shape->cache, host_window(shape),
		 what);
	script_run(&c);
}

static void test(const char *what, const struct host_start *shape,
		 bool (*run)(struct script *s))
{
	test_often(what, shape, run, 3);
}

/* Any cache with the log, also with a window of only two segments, so that much is written home. */
static void run_log_tests(const struct host_start *shape)
{
	test_often("several-lives", shape, several_lives, 8);
	test("leg-lost-between", shape, leg_lost_between);
	test("ssd-lost-between", shape, ssd_lost_between);
	test("tail-moves-on", shape, tail_moves_on);
	test("destage-is-cut-short", shape, destage_is_cut_short);
	test("intents-are-resolved-once", shape, intents_are_resolved_once);
	test("stopped-with-a-log", shape, stopped_with_a_log);
	test("what-is-home-is-not-lost", shape, what_is_home_is_not_lost);
	test("no-memory-to-stay", shape, no_memory_to_stay);
	test("discarded-before-is-not-lost", shape, discarded_before_is_not_lost);
}

/* Clean blocks, on any cache with the log. */
static void run_clean_tests(const struct host_start *shape)
{
	test("clean-comes-back", shape, clean_comes_back);
	test("clean-after-a-cut", shape, clean_after_a_cut);
	test("stale-summary", shape, stale_summary);
	test("changed-behind-summary", shape, changed_behind_summary);
	test("torn-into-segment", shape, torn_into_segment);
	test("goes-on-in-segment", shape, goes_on_in_segment);
	test("log-overtakes-summaries", shape, log_overtakes_summaries);
}

static void run_windows(void)
{
	static const struct host_start windows[] = {
		{ .legs = 4, .cache = 2, .cache_dirty = WIDE_WINDOW },
		{ .legs = 3, .cache = 1, .cache_dirty = NARROW_WINDOW },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(windows); i++) {
		test("several-lives", &windows[i], several_lives);
		test("tail-moves-on", &windows[i], tail_moves_on);
		test("stopped-with-a-log", &windows[i], stopped_with_a_log);
		/* With a wide one, nearly all of so small a log may be torn: most is forgotten. */
		if (windows[i].cache_dirty < USUAL_WINDOW)
			test("clean-after-a-cut", &windows[i], clean_after_a_cut);
		test("log-overtakes-summaries", &windows[i], log_overtakes_summaries);
	}
}

/* The same with the usual window, which is large enough for them. */
static void run_more_tests(const struct host_start *shape)
{
	test("list-is-full", shape, list_is_full);
	test("ssds-may-come-back", shape, ssds_may_come_back);
	test("stop-waits-for-no-disk", shape, stop_waits_for_no_disk);
	test("stop-waits-for-a-round", shape, stop_waits_for_a_round);
	test("home-is-cut-short-beside-a-log", shape, home_is_cut_short_beside_a_log);
	test("lives-of-nothing", shape, lives_of_nothing);
	test("older-entry-rots", shape, older_entry_rots);
	test("modes-change", shape, modes_change);
	test("round-is-noted", shape, round_is_noted);
	test("ring-follows-log", shape, ring_follows_log);
}

/* A cache of kind parity1. */
static void run_striped(const struct host_start *shape)
{
	test_often("leg-leaves-and-returns", shape, leg_leaves_and_returns, 2);
	run_log_tests(shape);
	run_clean_tests(shape);
	test("clean-without-first", shape, clean_without_first);
	test("clean-without-second", shape, clean_without_second);
	test("clean-without-third", shape, clean_without_third);
	test("cut-without-one", shape, cut_without_one);
	test("summaries-rot", shape, summaries_rot);
	run_more_tests(shape);
}

/* A cache whose SSDs have the same each. */
static void run_mirrored(const struct host_start *shape)
{
	if (shape->cache > 1) {
		test_often("leg-leaves-and-returns", shape, leg_leaves_and_returns, 2);
		test("summaries-rot", shape, summaries_rot);
		test_often("durable-header-rots", shape, durable_header_rots, 8);
	}
	run_log_tests(shape);
	test("durable-block-rots", shape, durable_block_rots);
	test("durable-block-rots-without-memory", shape, durable_block_rots_without_memory);
	test("durable-block-rots-under-an-intent", shape, durable_block_rots_under_an_intent);
	test("rotten-though-it-is-home", shape, rotten_though_it_is_home);
	run_clean_tests(shape);
	run_more_tests(shape);
}

/* A cache without the log. */
static void run_ring(struct host_start shape)
{
	shape.writethrough = true;
	test("clean-comes-back", &shape, ring_comes_back);
	test("stale-summary", &shape, stale_ring);
	/* the right place of the cut is only a few blocks wide */
	test_often("goes-on", &shape, ring_goes_on, 8);
	test("goes-on-in-segment", &shape, ring_goes_on_in_segment);
	if (shape.cache_parity)
		test("lost-and-back", &shape, lost_and_back);
}

void run_restart(void)
{
	static const struct host_start one = { .legs = 3, .cache = 1 };
	static const struct host_start two = { .legs = 4, .cache = 2 };
	static const struct host_start rows = { .legs = 5, .cache = 3, .cache_parity = true };

	run_windows();
	run_striped(&rows);
	run_mirrored(&one);
	run_mirrored(&two);
	run_ring(one);
	run_ring(two);
	run_ring(rows);
}
