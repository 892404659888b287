// SPDX-License-Identifier: GPL-2.0-only
/*
 * All legs of a vdev become larger, and the pool uses that. The power goes at every step: it is the
 * pool of before or the larger one, with all acknowledged data.
 */
#include <string.h>

#include "script.h"
#include "format/regions.h"
#include "pool/ahead.h"
#include "pool/pool.h"
#include "super/members.h"
#include "table/table.h"

#define MOST_BLOCKS	21000u	/* that any of these pools comes to have */
#define MORE		4400u	/* blocks of a leg that has grown once */
#define MOST		6700u	/* that has grown twice */
#define WIDE		20000u	/* whose table begins elsewhere with one level more */
#define NO_DISK		MAX_DISKS

static const struct shape {
	const char *name;
	struct host_start hs;
	u32 first;	/* size of the legs of the first vdev then, if they do not grow; or 0 */
	u32 second;	/* the same of the second vdev */
	u32 levels;	/* of a new table, when it grows; 0: as before */
	u32 regions;	/* that it has then */
} shapes[] = {
	{ "single", { .legs = 1 } },
	{ "mirror", { .legs = 2 } },
	{ "parity1", { .legs = 3, .parity = true } },
	{ "deeper-mirror", { .legs = 2 }, .levels = 2 },
	{ "deeper-single", { .legs = 1 }, .levels = 3 },
	{ "deeper-parity1", { .legs = 3, .parity = true }, .levels = 2 },
	{ "cache-mirror", { .legs = 3, .cache = 1, .writethrough = true }, .regions = 1 },
	{ "mirror+single", { .legs = 3, .second = 1 }, .regions = 2 },
	{ "mirror+parity1", { .legs = 5, .second = 3, .second_parity = true } },
	{ "mirror+same", { .legs = 3, .second = 1 }, .second = POOL_LEG_BLOCKS, .regions = 2 },
	{ "same+single", { .legs = 2, .second = 1 }, .first = POOL_LEG_BLOCKS, .regions = 2 },
};

/* What a case knows besides its script. */
static struct {
	const struct shape *shape;
	u32 victim, after;	/* disk that dies after that many of its requests; NO_DISK: none */
} own;

static void become(struct script *g, u32 blocks)
{
	g->start.leg_blocks = blocks;
	g->start.all_blocks = own.shape->first;
	g->start.second_blocks = own.shape->second;
}

/* Each block of the pool is where it was. */
static void expect_addresses(const struct kvp_map *was, const struct kvp_map *is)
{
	u64 end = kvp_map_blocks(was), block;

	for (block = 0; block < end; block++) {
		struct kvp_map_place a = kvp_map_find(was, block), b = kvp_map_find(is, block);

		if (a.vdev != b.vdev || kvp_vblock_nr(a.block) != kvp_vblock_nr(b.block))
			sim_fail("block %llu has moved from %u:%llu to %u:%llu", block, a.vdev,
				 a.block, b.vdev, b.block);
	}
}

/* Returns true if it has grown. */
static bool grow(struct script *g, u32 blocks)
{
	struct host *h = &g->host;
	struct kvp_map was = h->pool->sb->map;
	u64 before = h->pool->sb->pool_blocks;
	u32 least = sim_least_levels;
	int ret;

	become(g, blocks);
	if (own.shape->levels)
		sim_least_levels = own.shape->levels;
	ret = host_larger(h, &g->start);
	sim_least_levels = least;
	if (ret) {
		if (own.victim == NO_DISK)
			sim_fail("not grown: %s", h->refusal.why);
		if (h->pool->sb->pool_blocks != before)
			sim_fail("not grown, and yet larger");
		return false;
	}
	if (h->pool->sb->pool_blocks < before + 1024)
		sim_fail("grown from %llu to %llu blocks", before, h->pool->sb->pool_blocks);
	expect_addresses(&was, &h->pool->sb->map);
	return true;
}

static void fill(struct host *h, u64 from, u64 end)
{
	for (; from + 40 < end; from += 97)
		host_write(h, from, 1 + from % 3, false);
	host_checkpoint(h);
}

static void note_lost(struct script *g)
{
	u32 i;

	for (i = 0; i < g->host.pool->nr_legs; i++)
		if (!kvp_leg_in_sync(&g->host.pool->legs[i]))
			g->crash.lost |= BIT(g->host.pool->legs[i].bdev->index);
}

static void cut_and_kill(struct script *g)
{
	script_cut_from_here(g);
	if (own.victim == NO_DISK)
		return;
	disks_fault(FAULT_DEATH, own.victim, 0, ~0ull)->after = own.after;
	g->host.may_fail = true;
}

static void grows(struct script *g)
{
	struct host *h = &g->host;
	u64 before;

	before = h->pool->sb->pool_blocks;
	fill(h, 3, before);
	host_write(h, before - 9, 9, true);
	host_checkpoint(h);
	cut_and_kill(g);
	if (grow(g, MORE)) {
		g->crash.grown_at = disks.trace.nr;
		g->crash.grown_from = before;
		if (own.victim == NO_DISK && own.shape->regions &&
		    h->pool->sb->region_count != own.shape->regions)
			sim_fail("%u regions", h->pool->sb->region_count);
		host_write(h, before - 4, 30, true);
		host_write(h, h->pool->sb->pool_blocks - 12, 12, true);
	}
	host_write(h, 21, 4, true);
	host_discard(h, before - 8, 6);
	host_checkpoint(h);
	host_write(h, 3, 70, false);
	host_flush(h);
	note_lost(g);
}

/* --- the table is copied ahead -------------------------------------------------------- */

static void ahead_begins(struct script *g, u32 blocks)
{
	u32 least = sim_least_levels;

	become(g, blocks);
	if (own.shape->levels)
		sim_least_levels = own.shape->levels;
	if (host_grow_ahead(&g->host, &g->start))
		sim_fail("not copied ahead: %s", g->host.refusal.why);
	sim_least_levels = least;
}

static void wait_for_ahead(struct script *g)
{
	const struct kvp_ahead *a = g->host.pool->ahead;

	while (READ_ONCE(a->state) == KVP_AHEAD_RUNNING)
		host_sleep(1);
	if (a->state != KVP_AHEAD_READY && own.victim == NO_DISK)
		sim_fail("not copied ahead: state %u", a->state);
}

/* Each block has what was written last, from the disks alone. */
static void read_all(struct script *g)
{
	u64 block;

	host_stop(&g->host);
	script_start(g);
	for (block = 0; block < g->host.pool->sb->pool_blocks; block++)
		host_read_check(&g->host, block);
}

/* A pool of several leaves, which may grow once more. */
static u64 start_larger(struct script *g)
{
	u64 blocks;

	grow(g, MORE);
	blocks = g->host.pool->sb->pool_blocks;
	fill(&g->host, 3, blocks);
	g->host.pool->ahead->step = 1;
	return blocks;
}

/*
 * The host goes on while the table is copied: pages that were copied change, others are dirty when
 * their turn comes, and some leave the table. Eras do not end meanwhile.
 */
static void ahead(struct script *g)
{
	struct host *h = &g->host;
	u64 before = start_larger(g);

	host_write(h, 300, 5, true);
	cut_and_kill(g);
	ahead_begins(g, MOST);
	host_write(h, 40, 3, true);
	host_discard(h, 512, 512);
	host_checkpoint(h);
	host_write(h, before - 9, 9, false);
	wait_for_ahead(g);
	host_write(h, 60, 3, true);
	host_checkpoint(h);
	host_write(h, 1100, 2, false);
	if (grow(g, MOST)) {
		g->crash.grown_at = disks.trace.nr;
		g->crash.grown_from = before;
		host_write(h, before - 4, 30, true);
	}
	host_write(h, 21, 4, true);
	host_checkpoint(h);
	host_write(h, 3, 70, false);
	host_flush(h);
	note_lost(g);
}

/* What changed so far is of an era before the durable one. */
static void end_era(struct host *h)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		host_sleep(1500);
		host_write(h, 40, 3, true);
		host_checkpoint(h);
	}
}

/*
 * After changes in two places: the pages above them, or up to half of all, as pages that were dirty
 * when their turn came are written again. Of a small table of several levels that may be most.
 */
static bool only_what_changed(struct script *g, u64 pages, u64 whole)
{
	u64 above = 2 * g->host.pool->vdevs.v[0].g->levels;

	return pages && pages < whole && pages <= max(whole / 2, above);
}

/*
 * Pages go to their places once: in a second pass only those that changed, and in the growth those
 * that changed after that. A suspend in between interrupts a pass.
 */
static void ahead_twice(struct script *g)
{
	struct host *h = &g->host;
	u64 whole, again;

	start_larger(g);
	end_era(h);
	ahead_begins(g, MOST);
	kvp_pool_suspending(h->pool);
	kvp_pool_quiesce(h->pool);
	if (h->pool->ahead->state != KVP_AHEAD_RUNNING)
		sim_fail("state %u: the case was not set up", h->pool->ahead->state);
	kvp_pool_unquiesce(h->pool);
	wait_for_ahead(g);
	whole = kvp_ahead_written(h->pool->ahead);
	end_era(h);
	ahead_begins(g, MOST);
	wait_for_ahead(g);
	again = kvp_ahead_written(h->pool->ahead);
	if (!only_what_changed(g, again, whole))
		sim_fail("%llu pages of %llu in the second pass", again, whole);
	host_write(h, 1100, 3, true);
	host_discard(h, 40, 2);
	grow(g, MOST);
	if (!only_what_changed(g, h->pool->ahead->grown, whole))
		sim_fail("%llu pages of %llu in the growth", h->pool->ahead->grown, whole);
	read_all(g);
}

/*
 * The place of a table depends on the roots that other vdevs leave to it: with fewer it gets a
 * level more, and begins elsewhere. Other vdevs may change between the copy and the growth, with
 * the same number of legs, of the same sizes. Pages that were copied ahead lie in the wrong place
 * then.
 */
static void ahead_elsewhere(struct script *g)
{
	u32 least = sim_least_levels;

	start_larger(g);
	end_era(&g->host);
	sim_least_levels = 2;
	ahead_begins(g, WIDE);
	wait_for_ahead(g);
	sim_least_levels = 3;
	if (grow(g, WIDE) && g->host.pool->sb->vdevs[0].table_start ==
			     g->host.pool->ahead->next->vdevs[0].table_start)
		sim_fail("the table is where it was copied to: the case was not set up");
	sim_least_levels = least;
	read_all(g);
}

/*
 * Pages that were copied ahead do not count for a leg that was out meanwhile: it may have lost
 * those that it had not flushed.
 */
static void ahead_away(struct script *g)
{
	struct host *h = &g->host;
	u64 whole;

	start_larger(g);
	end_era(h);
	ahead_begins(g, MOST);
	wait_for_ahead(g);
	whole = kvp_ahead_written(h->pool->ahead);
	h->may_fail = true;
	if (kvp_leg_offline(h->pool, &h->pool->legs[1]))
		sim_fail("leg 1 stays: %s", h->refusal.why);
	if (host_online(h, 1))
		sim_fail("leg 1 does not return: %s", h->refusal.why);
	host_wait_resilver(h);
	grow(g, MOST);
	if (h->pool->ahead->grown < whole)
		sim_fail("%llu pages of %llu in the growth", h->pool->ahead->grown, whole);
	host_stop(h);
	g->start.missing = BIT(0);
	g->start.degraded = true;
	script_start(g);
	read_all(g);
}

/* And once more: data comes to where the table was. */
static void again(struct script *g)
{
	struct host *h = &g->host;
	u64 before;

	fill(h, 5, h->pool->sb->pool_blocks);
	grow(g, MORE);
	before = h->pool->sb->pool_blocks;
	fill(h, 50, before);
	host_write(h, before - 3, 3, true);
	script_cut_from_here(g);
	grow(g, MOST);
	g->crash.grown_at = disks.trace.nr;
	g->crash.grown_from = before;
	host_write(h, before - 2, 60, true);
	fill(h, before, h->pool->sb->pool_blocks);
	host_write(h, before + 30, 3, true);
}

/* All is there after a start and another growth, from the disks alone; nothing leaks. */
static void whole(struct script *g)
{
	struct host *h = &g->host;
	u64 block;
	u32 i;

	fill(h, 7, h->pool->sb->pool_blocks);
	for (i = 0; i < 2; i++) {
		grow(g, i ? MOST : MORE);
		fill(h, 11 + i, h->pool->sb->pool_blocks);
		host_stop(h);
		script_start(g);
		for (block = 0; block < h->pool->sb->pool_blocks; block++)
			host_read_check(h, block);
		if (!host_larger(h, &g->start))
			sim_fail("grown, and no leg is larger");
		if (!strstr(h->refusal.why, "not enough to grow"))
			sim_fail("refused: %s", h->refusal.why);
	}
}

/* A leg is away while the vdev is to grow: refused. It returns, and all grow. */
static void away(struct script *g)
{
	struct host *h = &g->host;
	u64 before, block;

	fill(h, 7, h->pool->sb->pool_blocks);
	before = h->pool->sb->pool_blocks;
	h->may_fail = true;
	if (kvp_leg_offline(h->pool, &h->pool->legs[1]))
		sim_fail("leg 1 stays: %s", h->refusal.why);
	host_write(h, 40, 9, true);
	become(g, MORE);
	if (!host_larger(h, &g->start))
		sim_fail("grown, though a leg is out");
	if (!strstr(h->refusal.why, "not in sync") || h->pool->sb->pool_blocks != before)
		sim_fail("refused: %s", h->refusal.why);
	if (host_online(h, 1))
		sim_fail("leg 1 does not return: %s", h->refusal.why);
	host_wait_resilver(h);
	grow(g, MORE);
	/* The same once more, behind the growth. */
	if (kvp_leg_offline(h->pool, &h->pool->legs[1]))
		sim_fail("leg 1 stays: %s", h->refusal.why);
	fill(h, before, h->pool->sb->pool_blocks);
	host_write(h, 40, 9, true);
	if (host_online(h, 1))
		sim_fail("leg 1 does not return: %s", h->refusal.why);
	host_wait_resilver(h);
	host_stop(h);
	g->start.missing = 1;
	g->start.degraded = true;
	script_start(g);
	for (block = 0; block < h->pool->sb->pool_blocks; block++)
		host_read_check(h, block);
}

/* A leg has its old size at the next start: refused, or out. */
static void small_leg(struct script *g)
{
	struct host *h = &g->host;

	grow(g, MORE);
	host_stop(h);
	become(g, POOL_LEG_BLOCKS);
	if (!host_start(h, &g->o, &g->start))
		sim_fail("started on legs that are too small");
	if (!strstr(h->refusal.why, "is too small"))
		sim_fail("refused: %s", h->refusal.why);
}

/*
 * The first vdev could grow, and a leg behind it shows fewer blocks than are in use there, as a
 * device does that was pulled out. Refused: no superblock names that size.
 */
static void shows_less(struct script *g, u32 leg, u32 blocks, bool dies)
{
	struct host *h = &g->host;
	struct host_start hs;
	u64 sequence;

	fill(h, 7, h->pool->sb->pool_blocks);
	if (dies)
		disks_fault(FAULT_DEATH, h->pool->legs[leg].bdev->index, 0, ~0ull);
	h->may_fail = dies;
	become(g, MORE);
	hs = g->start;
	hs.second_blocks = POOL_LEG_BLOCKS;
	hs.shrunk = BIT(leg);
	hs.shrunk_blocks = blocks;
	sequence = h->pool->sb->sequence;
	if (!host_grow_ahead(h, &hs))
		sim_fail("copied ahead, though leg %u is too small", leg);
	if (!strstr(h->refusal.why, "fewer than are in use"))
		sim_fail("refused: %s", h->refusal.why);
	if (h->pool->sb->sequence != sequence)
		sim_fail("a superblock has the sizes");
	/* The new table would find out that the leg is dead, and grow without it. */
	if (!dies && !host_larger(h, &hs))
		sim_fail("grown, though leg %u is too small", leg);
	if (!strstr(h->refusal.why, "fewer than are in use"))
		sim_fail("refused: %s", h->refusal.why);
	become(g, POOL_LEG_BLOCKS);
}

static void pulled_out(struct script *g)
{
	u32 leg = own.shape->hs.legs - 1;

	shows_less(g, leg, 0, true);
	g->start.missing = BIT(leg);
	g->start.degraded = true;
	read_all(g);
}

static void cut_short(struct script *g)
{
	shows_less(g, own.shape->hs.legs - 1, POOL_LEG_BLOCKS / 2, false);
	read_all(g);
}

/* The table is copied for longer than the heartbeat's limit: rounds go on beside that. */
static void slow_with_heartbeat(struct script *g)
{
	struct host *h = &g->host;
	u32 i;

	fill(h, 7, h->pool->sb->pool_blocks);
	if (kvp_pool_set(h->pool, KVP_T_HEARTBEAT, 1))
		sim_fail("no heartbeat");
	for (i = 0; i < h->pool->nr_legs; i++) {
		disks.delay[i].write = 4500000;
		disks.delay[i].flush = 4500000;
	}
	h->may_fail = true;
	grow(g, MORE);
	if (kvp_failed_by(&h->pool->failure, KVP_FAIL_HOST))
		sim_fail("the pool has failed for want of a heartbeat");
	memset(disks.delay, 0, sizeof(disks.delay));
	h->may_fail = false;
	fill(h, 11, h->pool->sb->pool_blocks);
}

static void set_rate(struct host *h, u64 rate)
{
	if (kvp_pool_set(h->pool, KVP_T_RESILVER_RATE, rate))
		sim_fail("resilver_rate is not set");
}

static void expect_refused(struct script *g, const struct host_start *hs)
{
	if (!host_larger(&g->host, hs))
		sim_fail("grown, though a leg is being replaced");
	if (!strstr(g->host.refusal.why, "not in sync"))
		sim_fail("refused: %s", g->host.refusal.why);
}

/* A leg is being replaced while it is in use: refused until the old one has been detached. */
static void replaced(struct script *g)
{
	static const u8 on[] = { 1, 2 };
	struct host *h = &g->host;
	struct host_start more;
	u8 uuid[16];
	u64 block;

	fill(h, 7, h->pool->sb->pool_blocks);
	become(g, MORE);
	memcpy(uuid, h->pool->sb->legs[0].uuid, sizeof(uuid));
	more = g->start;
	more.legs++;
	more.replaces = uuid;
	set_rate(h, 64 << 10);
	if (host_attach(h, &more))
		sim_fail("not replaced: %s", h->refusal.why);
	more.replaces = NULL;
	host_sleep(100);
	if (!kvp_leg_resilvers(&h->pool->legs[2]))
		sim_fail("the leg does not resilver: the case was not set up");
	expect_refused(g, &more);
	set_rate(h, 0);
	host_wait_resilver(h);
	host_wait_replaced(h);
	expect_refused(g, &more);
	g->start.on = on;
	if (host_detach(h, &g->start))
		sim_fail("not detached: %s", h->refusal.why);
	grow(g, MORE);
	fill(h, 11, h->pool->sb->pool_blocks);
	host_stop(h);
	script_start(g);
	for (block = 0; block < h->pool->sb->pool_blocks; block++)
		host_read_check(h, block);
}

/* --- the cases ------------------------------------------------------------------------ */

static void set_up(struct script *g)
{
	const struct host_start *hs = g->c->shape;

	g->start.grown = true;
	g->start.leg_blocks = POOL_LEG_BLOCKS;
	g->crash.growing = true;
	g->crash.grown_at = ~0u;
	g->crash.heal_allowed = own.victim != NO_DISK;
	if (own.shape->first)
		script_blank_disks(g, 0, hs->legs - hs->second - hs->cache, own.shape->first);
}

/* The first life of @act is cut at about so many positions; 0: it ends with a stop. */
static void case_of(const char *what, const struct shape *shape, void (*act)(struct script *g),
		    u32 cuts)
{
	char name[64];
	const struct script_case c = {
		.name = name, .shape = &shape->hs, .spares = act == replaced,
		.blank = act == ahead_elsewhere ? WIDE : MOST, .blocks = MOST_BLOCKS,
		.set_up = set_up, .act = act,
		.leave = cuts || act == small_leg, .turns = 1, .most = 1,
		.salt = 900 + 100 * own.victim + own.after, .cuts = cuts, .depth = CHECK_LEGS,
	};

	snprintf(name, sizeof(name), own.victim == NO_DISK ? "%s:%s" : "%s:%s:%u:%u", what,
		 shape->name, own.victim, own.after);
	own.shape = shape;
	script_run(&c);
}

static void all_of(const struct shape *shape)
{
	const struct host_start *hs = &shape->hs;

	case_of("larger", shape, grows, opt.thorough ? SCRIPT_EVERYWHERE : 60);
	case_of("larger-whole", shape, whole, 0);
	case_of("larger-ahead", shape, ahead, opt.thorough ? SCRIPT_EVERYWHERE : 10);
	if (!shape->first && !shape->second)
		case_of("larger-again", shape, again, 24);
	if (hs->legs > 1 && !hs->second && !hs->cache)
		case_of("larger-away", shape, away, 0);
	case_of("larger-small-leg", shape, small_leg, 0);
	if (hs->second && !shape->second)
		case_of("larger-cut-short", shape, cut_short, 0);
	if (hs->second_parity || hs->cache)
		case_of("larger-pulled-out", shape, pulled_out, 0);
}

/* A leg of a mirror dies after each @step of its first @most requests. */
static void lose(const char *what, void (*act)(struct script *g), u32 most, u32 step, u32 cuts)
{
	for (own.victim = 0; own.victim < 2; own.victim++)
		for (own.after = 0; own.after < most; own.after += step)
			case_of(what, &shapes[1], act, cuts);
	own.victim = NO_DISK;
	own.after = 0;
}

void run_larger(void)
{
	u32 i;

	own.victim = NO_DISK;
	own.after = 0;
	for (i = 0; i < ARRAY_SIZE(shapes); i++)
		all_of(&shapes[i]);
	case_of("larger-ahead-twice", &shapes[1], ahead_twice, 0);
	case_of("larger-ahead-away", &shapes[1], ahead_away, 0);
	case_of("larger-ahead-elsewhere", &shapes[0], ahead_elsewhere, 0);
	lose("larger-ahead-lost", ahead, 40, 5, 4);
	case_of("larger-replaced", &shapes[1], replaced, 0);
	case_of("larger-slowly", &shapes[1], slow_with_heartbeat, 0);
	lose("larger-lost", grows, 24, 1, 6);
}
