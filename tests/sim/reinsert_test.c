// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reinsertion: before the log or the ring of an SSD overwrites a segment, blocks there that have
 * hits are written again, and no others. Each race of that is cut everywhere. Part of the suite
 * scache.
 */
#include <string.h>

#include "script.h"
#include "cache/reinsert.h"
#include "cache/scache.h"
#include "core/stats.h"
#include "policy/index.h"
#include "ram/rcache.h"

/* first of the blocks that are home, and not on the SSD, in every base image */
#define FIRST	64u
#define COUNT	24u
#define HIT	12u	/* the first of these are read twice */
#define OTHER	300u	/* later writes of the log */

/* Of one turn. */
static struct {
	bool stays[COUNT];		/* hit, or metadata */
	u32 nr_stay;
} own;

static bool lies_at(struct script *p, u64 block, u32 *place)
{
	struct kvp_index_entry e;
	bool known = kvp_index_find(&p->host.pool->scache->index, block, &e);

	*place = known ? e.place : ~0u;
	return known;
}

static u64 again(struct script *p)
{
	return p->host.pool->stats->ssd_reinserted;
}

/* Where the cache is written next. */
static u64 head_of(const struct script *p)
{
	const struct kvp_pool *pool = p->host.pool;

	return p->start.writethrough ? pool->scache->wiped : pool->log->head.lsn;
}

static void read_anew(struct script *p, u64 first, u32 count)
{
	kvp_rcache_drop(p->host.pool->rcache);
	host_read_each(&p->host, first, count);
}

/* COUNT blocks lie on the SSD; HIT of them were read from there. */
static void fill(struct script *p)
{
	struct kvp_index_entry e;
	u32 i;

	read_anew(p, FIRST, COUNT);
	host_sleep(50);
	read_anew(p, FIRST, HIT);
	for (i = 0; i < COUNT; i++) {
		if (!kvp_index_find(&p->host.pool->scache->index, FIRST + i, &e))
			sim_fail("block %u is not on the SSD: the case was not set up",
				 FIRST + i);
		/* some reads are marked as metadata */
		own.stays[i] = i < HIT || e.meta;
		own.nr_stay += own.stays[i];
	}
	if (own.nr_stay == COUNT)
		sim_fail("all are metadata: the case was not set up");
}

static void append_some(struct script *p, u32 i)
{
	host_write(&p->host, OTHER + i % 8, 8, false);
	host_flush(&p->host);
	/* so that the log has space for blocks that no test needs */
	if (i % 8 == 7)
		host_checkpoint(&p->host);
}

/*
 * The log goes on until it is @short_of blocks from having come round, or to @short_of blocks
 * beyond.
 */
static void go_round(struct script *p, u64 begin, s32 beyond)
{
	struct kvp_pool *pool = p->host.pool;
	u32 i;

	for (i = 0; head_of(p) < begin + pool->scache->blocks + beyond; i++)
		append_some(p, i);
}

/* --- cases --------------------------------------------------------------------------- */

static void stay(struct script *p)
{
	u64 begin = head_of(p);
	u32 i, place;

	fill(p);
	go_round(p, begin, 128);
	host_sleep(50);
	for (i = 0; i < COUNT; i++)
		if (lies_at(p, FIRST + i, &place) != own.stays[i])
			sim_fail("block %u is %s the SSD", FIRST + i,
				 own.stays[i] ? "not on" : "still on");
	if (again(p) != own.nr_stay)
		sim_fail("%llu blocks were written again, not %u", again(p), own.nr_stay);
	if (p->host.pool->log->ssd_blocks[KVP_LOG_AGAIN] != own.nr_stay)
		sim_fail("%llu blocks count as written again",
			 p->host.pool->log->ssd_blocks[KVP_LOG_AGAIN]);
	host_cache_check(&p->host);
	i = p->host.ssd_reads;
	read_anew(p, FIRST, HIT);
	if (p->host.ssd_reads - i != HIT)
		sim_fail("%u of %u were read from the SSD", p->host.ssd_reads - i, HIT);
}

/* Reads of the SSD hang where these lie: reinsertion has begun with them, and gets no further. */
static void stall_reads(struct script *p)
{
	u32 i, place;

	if (!lies_at(p, FIRST, &place))
		sim_fail("block %u is not on the SSD", FIRST);
	for (i = 0; i < p->start.cache; i++)
		disks_stall(script_ssd(p, i)->bdev - disks.bdev,
			    kvp_log_place(p->host.pool->scache->v->g,
					  p->host.pool->scache->base + place, 0).block,
			    kvp_log_place(p->host.pool->scache->v->g,
					  p->host.pool->scache->base + place, 0).block + 1);
}

/* So far that reinsertion has begun: its first read hangs. */
static void begin_again(struct script *p)
{
	struct kvp_pool *pool = p->host.pool;
	u64 begin = head_of(p);
	u32 i;

	fill(p);
	stall_reads(p);
	for (i = 0; !pool->reinsert->nr || pool->reinsert->at == pool->reinsert->nr; i++) {
		if (head_of(p) > begin + pool->scache->blocks)
			sim_fail("the log came round: the case was not set up");
		append_some(p, i);
		host_sleep(1);
	}
}

/* The first of them changes after its reinsertion was requested. */
static void race(struct script *p, bool discard)
{
	begin_again(p);
	if (discard)
		host_discard(&p->host, FIRST, 1);
	else
		host_write(&p->host, FIRST, 1, false);
	host_flush(&p->host);
	host_checkpoint(&p->host);
	disks_release_all();
	host_sleep(50);
	host_cache_check(&p->host);
	read_anew(p, FIRST, COUNT);
}

static void race_write(struct script *p)
{
	race(p, false);
}

static void race_discard(struct script *p)
{
	race(p, true);
}

/*
 * The reinserting write hangs, and the power may go; the newer version lies before it in the log,
 * or after it.
 */
static void stall_log(struct script *p)
{
	const struct kvp_geometry *g = p->host.pool->vdevs.log_vdev->g;
	u64 lsn = p->host.pool->log->head.lsn;
	u32 i;

	for (i = 0; i < p->start.cache; i++) {
		/* In full stripes the next one begins somewhere in a row. */
		struct kvp_place at = kvp_log_place(g, kvp_log_striped(g) ? lsn + i : lsn, 0);

		disks_stall(script_ssd(p, kvp_log_striped(g) ? at.leg : i)->bdev - disks.bdev,
			    at.block,
			    at.block + 32);
	}
}

static void race_in_flight(struct script *p)
{
	begin_again(p);
	/* the read continues; its admission stands still */
	disks_release_all();
	stall_log(p);
	host_sleep(20);
	host_write(&p->host, FIRST, 1, false);
	host_write(&p->host, FIRST + 1, 1, false);
	host_sleep(20);
	disks_release_all();
	host_flush(&p->host);
	host_sleep(50);
	host_cache_check(&p->host);
	host_checkpoint(&p->host);
	host_cache_check(&p->host);
	read_anew(p, FIRST, COUNT);
}

/* A rotten block is not reinserted. */
static void rotten(struct script *p)
{
	u64 begin = head_of(p);
	u8 junk[KVP_BLOCK_SIZE];
	struct kvp_place at;
	u32 i, place, kept;

	memset(junk, 0x55, sizeof(junk));
	fill(p);
	if (!lies_at(p, FIRST + 2, &place))
		sim_fail("block %u is not on the SSD", FIRST + 2);
	at = kvp_log_place(p->host.pool->scache->v->g, p->host.pool->scache->base + place, 0);
	for (i = 0; i < p->start.cache; i++)
		if (!p->start.cache_parity || i == at.leg)
			image_write_data(&disks.img[script_ssd(p, i)->bdev - disks.bdev], at.block,
					 junk);
	go_round(p, begin, 128);
	host_sleep(50);
	if (lies_at(p, FIRST + 2, &kept))
		sim_fail("a block that is rotten was written again");
	if (again(p) != own.nr_stay - 1)
		sim_fail("%llu blocks were written again, not %u", again(p), own.nr_stay - 1);
	read_anew(p, FIRST, COUNT);
}

/* The log is short of space: nothing is reinserted, and writes continue. */
static void short_of_space(struct script *p)
{
	struct kvp_pool *pool = p->host.pool;
	u64 begin = pool->log->head.lsn, window = kvp_log_window(pool->vdevs.log_vdev->g);
	u32 i, place;

	/* What renewal keeps back is more than the rest of a window of six segments. */
	if (kvp_pool_set(pool, KVP_T_RENEW_MARK, 0))
		sim_fail("the tunable cannot be set");
	fill(p);
	go_round(p, begin, -(s32)(window / 8 * 5 + 2 * pool->vdevs.log_vdev->g->segment_blocks));
	if (again(p))
		sim_fail("too early: the case was not set up");
	/* There is no checkpoint. */
	mutex_lock(&pool->checkpoint_lock);
	for (i = 0; kvp_log_used(pool->log) < window / 8 * 5; i += 8) {
		host_write(&p->host, OTHER, 8, false);
		host_flush(&p->host);
	}
	place = again(p);
	for (i = 0; i < 6; i++) {
		host_write(&p->host, OTHER, 8, false);
		host_flush(&p->host);
		host_sleep(2);
	}
	if (again(p) != place)
		sim_fail("%llu blocks were written again while the log was short of space",
			 again(p) - place);
	mutex_unlock(&pool->checkpoint_lock);
	host_checkpoint(&p->host);
	host_cache_check(&p->host);
}

/* --- running them ------------------------------------------------------------------------- */

static void run_case(const char *what, const struct host_start *shape,
		     void (*act)(struct script *p),
		     bool cut)
{
	char name[128];
	struct script_case c = {
		.name = name, .shape = shape, .act = act, .turns = opt.thorough ? 16 : 2,
		.images = 2, .cuts = !cut ? 0 : opt.thorough ? 200 : 12,
		.depth = CHECK_RECRASH,
		.own = &own, .own_size = sizeof(own),
	};

	snprintf(name, sizeof(name), "scache:%s+%u%s%s:%s", shape->parity ? "parity" : "mirror",
		 shape->cache, host_window(shape), shape->writethrough ? "-ring" : "", what);
	script_run(&c);
}

/* In the ring, which never lacks space, and where a reinserted block is no entry. */
static void run_ring(const struct host_start *shape)
{
	struct host_start ring = *shape;

	ring.writethrough = true;
	run_case("again", &ring, stay, false);
	run_case("again-races-write", &ring, race_write, true);
	run_case("again-races-discard", &ring, race_discard, true);
	run_case("again-rotten", &ring, rotten, false);
}

void run_reinserts(const struct host_start *shape)
{
	run_case("again", shape, stay, false);
	run_case("again-races-write", shape, race_write, true);
	run_case("again-races-discard", shape, race_discard, true);
	run_case("again-in-flight", shape, race_in_flight, true);
	run_case("again-rotten", shape, rotten, false);
	/*
	 * with a parity1 so much of the log is reserved for parity that it never gets so full;
	 * segments of a parity1 cache are large
	 */
	if (!shape->parity && !shape->cache_parity)
		run_case("again-short-of-space", shape, short_of_space, false);
	/* for kind parity1 only one shape: its ring is three times as long */
	if (!shape->cache_parity || (shape->cache == 3 && !shape->parity))
		run_ring(shape);
}
