// SPDX-License-Identifier: GPL-2.0-only
/*
 * All legs of a vdev become larger, and the pool uses that. The power goes at every step: it is the
 * pool of before or the larger one, with all acknowledged data.
 */
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "format/regions.h"
#include "pool/ahead.h"
#include "pool/pool.h"
#include "super/members.h"
#include "table/table.h"

#define MOST_BLOCKS	21000u	/* that any of these pools comes to have */
#define MORE		4400u	/* blocks of a leg that has grown once */
#define MOST		6700u	/* that has grown twice */
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

struct larger {
	const struct shape *shape;
	struct host host;
	struct host_start hs;
	struct oracle o;
	struct crash crash;
	u32 victim, after, from;
	u32 spare;	/* so many disks behind those of the pool */
	struct image img[MAX_DISKS];
};

static void start(struct larger *g, bool format)
{
	g->hs.format = format;
	if (host_start(&g->host, &g->o, &g->hs))
		sim_fail("start: %s", g->host.refusal.why);
	g->hs.format = false;
}

static void become(struct larger *g, u32 blocks)
{
	g->hs.leg_blocks = blocks;
	g->hs.all_blocks = g->shape->first;
	g->hs.second_blocks = g->shape->second;
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
static bool grow(struct larger *g, u32 blocks)
{
	struct host *h = &g->host;
	struct kvp_map was = h->pool->sb->map;
	u64 before = h->pool->sb->pool_blocks;
	u32 least = sim_least_levels;
	int ret;

	become(g, blocks);
	if (g->shape->levels)
		sim_least_levels = g->shape->levels;
	ret = host_larger(h, &g->hs);
	sim_least_levels = least;
	if (ret) {
		if (g->victim == NO_DISK)
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

static void note_lost(struct larger *g)
{
	u32 i;

	for (i = 0; i < g->host.pool->nr_legs; i++)
		if (!kvp_leg_in_sync(&g->host.pool->legs[i]))
			g->crash.lost |= BIT(g->host.pool->legs[i].bdev->index);
}

static void grow_main(void *arg)
{
	struct larger *g = arg;
	struct host *h = &g->host;
	u64 before;

	start(g, true);
	before = h->pool->sb->pool_blocks;
	fill(h, 3, before);
	host_write(h, before - 9, 9, true);
	host_checkpoint(h);
	g->from = disks.trace.nr;
	if (g->victim != NO_DISK) {
		disks_fault(FAULT_DEATH, g->victim, 0, ~0ull)->after = g->after;
		h->may_fail = true;
	}
	if (grow(g, MORE)) {
		g->crash.grown_at = disks.trace.nr;
		g->crash.grown_from = before;
		if (g->victim == NO_DISK && g->shape->regions &&
		    h->pool->sb->region_count != g->shape->regions)
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

static void ahead_begins(struct larger *g, u32 blocks)
{
	u32 least = sim_least_levels;

	become(g, blocks);
	if (g->shape->levels)
		sim_least_levels = g->shape->levels;
	if (host_grow_ahead(&g->host, &g->hs))
		sim_fail("not copied ahead: %s", g->host.refusal.why);
	sim_least_levels = least;
}

static void wait_for_ahead(struct larger *g)
{
	const struct kvp_ahead *a = g->host.pool->ahead;

	while (READ_ONCE(a->state) == KVP_AHEAD_RUNNING)
		host_sleep(1);
	if (a->state != KVP_AHEAD_READY && g->victim == NO_DISK)
		sim_fail("not copied ahead: state %u", a->state);
}

/* Each block has what was written last, from the disks alone. */
static void read_all(struct larger *g)
{
	u64 block;

	host_stop(&g->host);
	start(g, false);
	for (block = 0; block < g->host.pool->sb->pool_blocks; block++)
		host_read_check(&g->host, block);
}

/* A pool of several leaves, which may grow once more. */
static u64 start_larger(struct larger *g)
{
	u64 blocks;

	start(g, true);
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
static void ahead_main(void *arg)
{
	struct larger *g = arg;
	struct host *h = &g->host;
	u64 before = start_larger(g);

	host_write(h, 300, 5, true);
	g->from = disks.trace.nr;
	if (g->victim != NO_DISK) {
		disks_fault(FAULT_DEATH, g->victim, 0, ~0ull)->after = g->after;
		h->may_fail = true;
	}
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
static bool only_what_changed(const struct larger *g, u64 pages, u64 whole)
{
	u64 above = 2 * g->host.pool->vdevs.v[0].g->levels;

	return pages && pages < whole && pages <= max(whole / 2, above);
}

/*
 * Pages go to their places once: in a second pass only those that changed, and in the growth those
 * that changed after that. A suspend in between interrupts a pass.
 */
static void ahead_twice_main(void *arg)
{
	struct larger *g = arg;
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
	host_stop(h);
}

/*
 * Pages that were copied ahead do not count for a leg that was out meanwhile: it may have lost
 * those that it had not flushed.
 */
static void ahead_away_main(void *arg)
{
	struct larger *g = arg;
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
	g->hs.missing = BIT(0);
	g->hs.degraded = true;
	start(g, false);
	read_all(g);
	host_stop(h);
}

/* And once more: data comes to where the table was. */
static void again_main(void *arg)
{
	struct larger *g = arg;
	struct host *h = &g->host;
	u64 before;

	start(g, true);
	fill(h, 5, h->pool->sb->pool_blocks);
	grow(g, MORE);
	before = h->pool->sb->pool_blocks;
	fill(h, 50, before);
	host_write(h, before - 3, 3, true);
	g->from = disks.trace.nr;
	grow(g, MOST);
	g->crash.grown_at = disks.trace.nr;
	g->crash.grown_from = before;
	host_write(h, before - 2, 60, true);
	fill(h, before, h->pool->sb->pool_blocks);
	host_write(h, before + 30, 3, true);
}

/* All is there after a start and another growth, from the disks alone; nothing leaks. */
static void whole_main(void *arg)
{
	struct larger *g = arg;
	struct host *h = &g->host;
	u64 block;
	u32 i;

	start(g, true);
	fill(h, 7, h->pool->sb->pool_blocks);
	for (i = 0; i < 2; i++) {
		grow(g, i ? MOST : MORE);
		fill(h, 11 + i, h->pool->sb->pool_blocks);
		host_stop(h);
		start(g, false);
		for (block = 0; block < h->pool->sb->pool_blocks; block++)
			host_read_check(h, block);
		if (!host_larger(h, &g->hs))
			sim_fail("grown, and no leg is larger");
		if (!strstr(h->refusal.why, "not enough to grow"))
			sim_fail("refused: %s", h->refusal.why);
	}
	host_stop(h);
}

/* A leg is away while the vdev is to grow: refused. It returns, and all grow. */
static void away_main(void *arg)
{
	struct larger *g = arg;
	struct host *h = &g->host;
	u64 before, block;

	start(g, true);
	fill(h, 7, h->pool->sb->pool_blocks);
	before = h->pool->sb->pool_blocks;
	h->may_fail = true;
	if (kvp_leg_offline(h->pool, &h->pool->legs[1]))
		sim_fail("leg 1 stays: %s", h->refusal.why);
	host_write(h, 40, 9, true);
	become(g, MORE);
	if (!host_larger(h, &g->hs))
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
	g->hs.missing = 1;
	g->hs.degraded = true;
	start(g, false);
	for (block = 0; block < h->pool->sb->pool_blocks; block++)
		host_read_check(h, block);
	host_stop(h);
}

/* A leg has its old size at the next start: refused, or out. */
static void small_leg_main(void *arg)
{
	struct larger *g = arg;
	struct host *h = &g->host;

	start(g, true);
	grow(g, MORE);
	host_stop(h);
	become(g, POOL_LEG_BLOCKS);
	if (!host_start(h, &g->o, &g->hs))
		sim_fail("started on legs that are too small");
	if (!strstr(h->refusal.why, "is too small"))
		sim_fail("refused: %s", h->refusal.why);
}

static void set_rate(struct host *h, u64 rate)
{
	if (kvp_pool_set(h->pool, KVP_T_RESILVER_RATE, rate))
		sim_fail("resilver_rate is not set");
}

static void expect_refused(struct larger *g, const struct host_start *hs)
{
	if (!host_larger(&g->host, hs))
		sim_fail("grown, though a leg is being replaced");
	if (!strstr(g->host.refusal.why, "not in sync"))
		sim_fail("refused: %s", g->host.refusal.why);
}

/* A leg is being replaced while it is in use: refused until the old one has been detached. */
static void replaced_main(void *arg)
{
	static const u8 on[] = { 1, 2 };
	struct larger *g = arg;
	struct host *h = &g->host;
	struct host_start more;
	u8 uuid[16];
	u64 block;

	start(g, true);
	fill(h, 7, h->pool->sb->pool_blocks);
	become(g, MORE);
	memcpy(uuid, h->pool->sb->legs[0].uuid, sizeof(uuid));
	more = g->hs;
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
	g->hs.on = on;
	if (host_detach(h, &g->hs))
		sim_fail("not detached: %s", h->refusal.why);
	grow(g, MORE);
	fill(h, 11, h->pool->sb->pool_blocks);
	host_stop(h);
	start(g, false);
	for (block = 0; block < h->pool->sb->pool_blocks; block++)
		host_read_check(h, block);
	host_stop(h);
}

/* --- the cases ------------------------------------------------------------------------ */

static void set_up(struct larger *g, const struct shape *s)
{
	u32 i;

	g->shape = s;
	g->hs = s->hs;
	g->hs.grown = true;
	g->hs.leg_blocks = POOL_LEG_BLOCKS;
	g->crash = (struct crash){ .legs = s->hs.legs, .parity = s->hs.parity,
				   .second = s->hs.second, .second_parity = s->hs.second_parity,
				   .cache = s->hs.cache, .o = &g->o, .growing = true,
				   .grown_at = ~0u };
	oracle_init(&g->o, MOST_BLOCKS);
	for (i = 0; i < s->hs.legs + g->spare; i++)
		blank_disks(&g->img[i], 1,
			    i < s->hs.legs - s->hs.second - s->hs.cache &&
			    s->first ? s->first : MOST);
}

static void case_of(const char *what, const struct shape *s, void (*main)(void *arg), u32 victim,
		    u32 after, u32 positions)
{
	struct larger *g = calloc(1, sizeof(*g));
	char name[64];
	bool good;
	u32 i;

	snprintf(name, sizeof(name), victim == NO_DISK ? "%s:%s" : "%s:%s:%u:%u", what, s->name,
		 victim, after);
	if (wanted(name)) {
		g->spare = main == replaced_main;
		set_up(g, s);
		g->victim = victim;
		g->after = after;
		g->crash.heal_allowed = victim != NO_DISK;
		good = run_machine(g->img, g->hs.legs + g->spare,
				   mix64(opt.seed, 900 + 100 * victim + after), main, g);
		if (good && positions)
			good = !cut_sampled(name, &g->crash, g->from, CHECK_LEGS, positions);
		result(name, good);
		for (i = 0; i < g->hs.legs + g->spare; i++)
			image_free(&g->img[i]);
		oracle_free(&g->o);
	}
	free(g);
}

void run_larger(void)
{
	u32 i, victim, after;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		const struct shape *s = &shapes[i];

		case_of("larger", s, grow_main, NO_DISK, 0, opt.thorough ? ~0u : 60);
		case_of("larger-whole", s, whole_main, NO_DISK, 0, 0);
		case_of("larger-ahead", s, ahead_main, NO_DISK, 0, opt.thorough ? ~0u : 10);
		if (!s->first && !s->second)
			case_of("larger-again", s, again_main, NO_DISK, 0, 24);
		if (s->hs.legs > 1 && !s->hs.second && !s->hs.cache)
			case_of("larger-away", s, away_main, NO_DISK, 0, 0);
		case_of("larger-small-leg", s, small_leg_main, NO_DISK, 0, 0);
	}
	case_of("larger-ahead-twice", &shapes[1], ahead_twice_main, NO_DISK, 0, 0);
	case_of("larger-ahead-away", &shapes[1], ahead_away_main, NO_DISK, 0, 0);
	for (victim = 0; victim < 2; victim++)
		for (after = 0; after < 40; after += 5)
			case_of("larger-ahead-lost", &shapes[1], ahead_main, victim, after, 4);
	case_of("larger-replaced", &shapes[1], replaced_main, NO_DISK, 0, 0);
	for (victim = 0; victim < 2; victim++)
		for (after = 0; after < 24; after++)
			case_of("larger-lost", &shapes[1], grow_main, victim, after, 6);
}
