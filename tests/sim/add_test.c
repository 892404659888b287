// SPDX-License-Identifier: GPL-2.0-only
/*
 * A pool gets another vdev, and the power goes at every step: afterwards it is the old pool or the
 * grown one, with all acknowledged data.
 */
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "ram/rcache.h"
#include "table/table.h"

#define MOST_BLOCKS	2560u	/* that any of these pools comes to have */

/* The pool, and the added vdev. */
static const struct shape {
	const char *name;
	u32 legs, more;
	bool parity, more_parity;
	u32 cache;		/* SSDs beside them */
	bool writethrough;	/* without the log */
	u32 turns;	/* number of vdevs that carry the log then; 0: one */
} shapes[] = {
	{ .name = "mirror+mirror", .legs = 2, .more = 2, .turns = 2 },
	{ .name = "mirror+single", .legs = 2, .more = 1 },
	{ .name = "single+single", .legs = 1, .more = 1, .turns = 2 },
	{ .name = "mirror+parity1", .legs = 2, .more = 3, .more_parity = true, .turns = 2 },
	{ .name = "parity1+mirror", .legs = 3, .more = 2, .parity = true, .turns = 2 },
	{ .name = "cache:mirror+mirror", .legs = 2, .more = 2, .cache = 2 },
	{ .name = "cache:mirror+single", .legs = 2, .more = 1, .cache = 1 },
	{ .name = "cache:mirror+parity1", .legs = 2, .more = 3, .more_parity = true, .cache = 1 },
	{ .name = "cache:parity1+mirror", .legs = 3, .more = 2, .parity = true, .cache = 1 },
	{ .name = "cache:through:mirror+mirror", .legs = 2, .more = 2, .cache = 1,
	  .writethrough = true,
	  .turns = 2 },
};

struct growing {
	const struct shape *shape;
	struct host host;
	struct host_start old, new;
	struct oracle o;
	struct crash crash;
	u32 victim, after;	/* disk that dies after that many of its requests; NO_DISK: none */
	u32 from;
	u32 disks;
	struct image img[MAX_DISKS];
};

#define NO_DISK		6u	/* behind the disks of all pools here */
#define BLANK_READS	(2 * KVP_LABEL_BLOCKS)	/* by which a new leg is found to be blank */

static void start(struct growing *g, const struct host_start *hs)
{
	if (host_start(&g->host, &g->o, hs))
		sim_fail("start: %s", g->host.refusal.why);
}

/* A cache is unchanged, after the new vdev. */
static void expect_log(struct growing *g)
{
	struct kvp_pool *pool = g->host.pool;
	u32 last = pool->vdevs.nr - 1, i;
	bool there = g->new.cache && !g->new.writethrough && kvp_vdev_usable(&pool->vdevs.v[last]);

	if (g->new.cache && (pool->vdevs.log_vdev == &pool->vdevs.v[last]) != there)
		sim_fail("the log is on vdev %u", pool->vdevs.log_vdev->index);
	for (i = 0; i < pool->nr_legs; i++)
		if (pool->legs[i].bdev != &disks.bdev[i] || pool->legs[i].index != i)
			sim_fail("disk %u is not leg %u", pool->legs[i].bdev->index, i);
}

/* --- the power goes ------------------------------------------------------------------ */

static bool is_new(const struct growing *g, u32 disk)
{
	u32 first = g->new.legs - g->new.cache - g->new.second;

	return disk >= first && disk < first + g->new.second;
}

static void try_to_grow(struct growing *g)
{
	struct host *h = &g->host;
	u64 before = h->pool->sb->pool_blocks, epoch = h->pool->sb->epoch;

	if (!host_grow(h, &g->new)) {
		if (h->pool->sb->pool_blocks <= before || h->pool->nr_legs != g->new.legs)
			sim_fail("grown to %llu blocks", h->pool->sb->pool_blocks);
		if (g->victim == NO_DISK)
			expect_log(g);
		/* a leg that died meanwhile must not carry data that others could lose */
		if (g->victim == NO_DISK && h->pool->vdevs.log_track.nr != max(g->shape->turns, 1u))
			sim_fail("%u vdevs carry the log", h->pool->vdevs.log_track.nr);
		g->crash.grown_at = disks.trace.nr;
		host_write(h, before - 2, 70, false);
		host_write(h, h->pool->sb->pool_blocks - 12, 5, true);
		return;
	}
	if (g->victim == NO_DISK)
		sim_fail("not grown: %s", h->refusal.why);
	if (h->pool->sb->pool_blocks != before || h->pool->nr_legs != g->old.legs ||
	    h->pool->sb->epoch < epoch)
		sim_fail("not grown, and yet another pool");
}

static void grow_main(void *arg)
{
	struct growing *g = arg;
	struct host *h = &g->host;
	u32 i;

	start(g, &g->old);
	host_write(h, 20, 30, false);
	host_write(h, 500, 3, true);
	if (g->victim != NO_DISK) {
		disks_fault(FAULT_DEATH, g->victim, 0, ~0ull)->after =
			g->after + (is_new(g, g->victim) ? BLANK_READS : 0);
		h->may_fail = true;
	}
	g->from = disks.trace.nr;
	try_to_grow(g);
	host_write(h, 21, 4, true);
	host_flush(h);
	host_discard(h, 300, 20);
	host_checkpoint(h);
	for (i = 0; i < h->pool->nr_legs; i++)
		if (!kvp_leg_in_sync(&h->pool->legs[i]))
			g->crash.lost |= BIT(h->pool->legs[i].bdev->index);
}

/*
 * Much is on the cache alone when the device is suspended, some of it spilled. It is written home
 * first. Blocks that were read from there before are read from there afterwards.
 */
static void full_main(void *arg)
{
	struct growing *g = arg;
	struct host *h = &g->host;
	u64 block;
	u32 i;

	start(g, &g->old);
	for (i = 0; i < 40; i++)
		host_write(h, 7 * i % 400, 2, true);
	host_checkpoint(h);
	for (i = 0; i < 20; i++)
		host_write(h, 13 * i % 400, 1, true);
	g->from = disks.trace.nr;
	try_to_grow(g);
	host_cache_check(h);
	for (block = 0; block < 420; block++)
		host_read_check(h, block);
	if (!h->ssd_reads)
		sim_fail("nothing was read from the cache: the case was not set up");
	host_write(h, 21, 4, true);
	host_flush(h);
}

/* --- it does not ------------------------------------------------------------------------ */

/* A clean end leaks no memory, and all written data is there at the next start. */
static void whole_main(void *arg)
{
	struct growing *g = arg;
	u64 block, blocks;

	start(g, &g->old);
	try_to_grow(g);
	blocks = g->host.pool->sb->pool_blocks;
	host_stop(&g->host);
	start(g, &g->new);
	if (g->host.pool->sb->pool_blocks != blocks)
		sim_fail("the grown pool has another size at its next start");
	for (block = 0; block < blocks; block++)
		host_read_check(&g->host, block);
	host_stop(&g->host);
}

static void expect_refusal(struct growing *g, const struct host_start *hs, const char *words)
{
	if (!host_start(&g->host, &g->o, hs))
		sim_fail("started, though %s", words);
	if (!strstr(g->host.refusal.why, words))
		sim_fail("refused, but not because %s: %s", words, g->host.refusal.why);
}

/*
 * New legs that were labelled, and no more: alone they are refused in words, and the old pool goes
 * on.
 */
static void joining_main(void *arg)
{
	struct growing *g = arg;
	struct host_start alone = g->new;
	u32 i;

	for (i = 0; i < g->new.legs; i++)
		alone.missing |= is_new(g, i) ? 0 : BIT(i);
	alone.degraded = true;
	start(g, &g->old);
	disks_fault(FAULT_WRITE_EIO, g->new.legs - g->new.cache - 1,
		    POOL_LEG_BLOCKS - KVP_LABEL_BLOCKS, ~0ull);
	g->host.may_fail = true;
	if (!host_grow(&g->host, &g->new))
		sim_fail("grown, though a leg did not take its label");
	g->host.may_fail = false;
	host_write(&g->host, 20, 30, true);
	host_stop(&g->host);
	disks.nr_faults = 0;
	expect_refusal(g, &alone, "unfinished add");
	expect_refusal(g, &g->new, "the pool has");
	start(g, &g->old);
	host_read_check(&g->host, 20);
	if (!host_grow(&g->host, &g->new))
		sim_fail("legs were taken that are not blank");
	if (!strstr(g->host.refusal.why, "is not blank"))
		sim_fail("refused: %s", g->host.refusal.why);
	host_stop(&g->host);
}

/* The last leaf of the old pool is lost: that does not affect the blocks after it. */
static void lost_leaf_main(void *arg)
{
	struct growing *g = arg;
	struct host *h = &g->host;
	u8 data[KVP_BLOCK_SIZE];
	u64 end, at;
	u32 i;

	g->old.format = true;
	start(g, &g->old);
	end = h->pool->sb->pool_blocks;
	if (end <= KVP_PTRS_PER_PAGE || end % KVP_PTRS_PER_PAGE == 0)
		sim_fail("%llu blocks end with a whole leaf", end);
	if (host_grow(h, &g->new))
		sim_fail("not grown: %s", h->refusal.why);
	host_write(h, end - 5, 12, false);
	host_checkpoint(h);
	at = kvp_page_place(h->pool->vdevs.v[0].g, 0, 1,
			    kvp_ptr_slot(h->pool->table->roots[1]), 0).block;
	memset(data, 0x77, sizeof(data));
	for (i = 0; i < g->old.legs; i++)
		image_write_data(&disks.img[i], at, data);
	kvp_table_shrink(h->pool->table, true);
	kvp_rcache_drop(h->pool->rcache);
	if (!host_read(h, end - 5, data))
		sim_fail("a block was read, though its sum is lost");
	host_read_check(h, end);
	if (h->pool->sb->poisoned_blocks != end % KVP_PTRS_PER_PAGE)
		sim_fail("%llu blocks are poisoned, not %llu", h->pool->sb->poisoned_blocks,
			 end % KVP_PTRS_PER_PAGE);
	host_stop(h);
}

static void lost_leaf_case(void)
{
	struct growing *g = calloc(1, sizeof(*g));
	u32 i;

	g->old = (struct host_start){ .legs = 2 };
	g->new = (struct host_start){ .legs = 4, .second = 2, .grown = true };
	oracle_init(&g->o, MOST_BLOCKS);
	blank_disks(g->img, 4, POOL_LEG_BLOCKS + 300);
	result("grow-lost-leaf", run_machine(g->img, 4, opt.seed, lost_leaf_main, g));
	for (i = 0; i < 4; i++)
		image_free(&g->img[i]);
	oracle_free(&g->o);
	free(g);
}

/* --- a log that is too small for large chunks ------------------------------------------------- */

/* blocks: a discard of a stripe's part needs five segments of log */
#define LARGE_CHUNK	128u

/*
 * The log of a parity1 holds a discard of its chunks; that of the SSD does not, and the log would
 * move there. A new pool with both is refused, and so is a cache that is added to the other one.
 */
static void small_logs_main(void *arg)
{
	struct growing *g = arg;
	struct host_start made = g->new;

	made.format = true;
	expect_refusal(g, &made, "too small for chunks");
	start(g, &g->old);
	host_write(&g->host, 20, 30, true);
	if (!host_grow(&g->host, &g->new))
		sim_fail("a cache was taken whose log cannot hold a discard");
	if (!strstr(g->host.refusal.why, "too small for chunks"))
		sim_fail("refused: %s", g->host.refusal.why);
	if (host_labelled(3))
		sim_fail("the SSD was labelled");
	host_discard(&g->host, 25, 400);
	host_checkpoint(&g->host);
	host_read_each(&g->host, 20, 30);
	host_stop(&g->host);
}

static void small_logs_case(void)
{
	struct growing *g = calloc(1, sizeof(*g));
	u32 i;

	g->old = (struct host_start){ .legs = 3, .parity = true, .log_mib = 5, .format = true,
				      .chunk = LARGE_CHUNK };
	g->new = (struct host_start){ .legs = 4, .parity = true, .log_mib = 5, .cache = 1,
				      .chunk = LARGE_CHUNK };
	oracle_init(&g->o, MOST_BLOCKS);
	blank_disks(g->img, 4, 2 * POOL_LEG_BLOCKS);
	result("grow-small-logs", run_machine(g->img, 4, opt.seed, small_logs_main, g));
	for (i = 0; i < 4; i++)
		image_free(&g->img[i]);
	oracle_free(&g->o);
	free(g);
}

/* --- a region ends within a leaf ------------------------------------------------------------- */

struct discarding {
	struct host *host;
	u64 end;
	bool over;
};

static void discard_side(void *arg)
{
	struct discarding *d = arg;

	host_discard(d->host, 0, d->end + 10);
	host_checkpoint(d->host);
	d->over = true;
}

/*
 * A discard over the end of a region locks only its own part of the next one: a writer holds the
 * rest, and it need not wait.
 */
static void discard_beside_main(void *arg)
{
	struct growing *g = arg;
	struct host *h = &g->host;
	struct discarding d = { .host = h };
	struct kvp_range range;
	u32 i;

	start(g, &g->new);
	d.end = h->pool->sb->map.region[0].end;
	if (h->pool->sb->map.nr < 2 || kvp_locate(h->pool, d.end).v->index ||
	    kvp_map_block(&h->pool->sb->map, 0,
			  kvp_vdev_from(&h->pool->vdevs.v[0], d.end) - 1) < d.end)
		sim_fail("no region ends within a leaf of a vdev that the next has, too");
	for (i = 0; i < d.end; i += 64)
		host_write(h, i, 1, false);
	host_checkpoint(h);
	kvp_range_lock(&h->pool->ranges, &range, d.end + 20, d.end + 30);
	sim_spawn("discard", discard_side, &d);
	for (i = 0; i < 100 && !d.over; i++)
		host_sleep(100);
	if (!d.over)
		sim_fail("the discard waits for blocks that are not its own");
	kvp_range_unlock(&h->pool->ranges, &range);
	host_stop(h);
}

/*
 * 17 extents beside 12, eight of which are a leaf: of a region of 12 each, half a leaf is lost, and
 * one is left for the next.
 */
static void discard_beside_case(void)
{
	struct growing *g = calloc(1, sizeof(*g));
	u32 i;

	g->new = (struct host_start){ .legs = 4, .second = 2, .format = true, .grown = true };
	oracle_init(&g->o, MOST_BLOCKS);
	blank_disks(g->img, 2, POOL_LEG_BLOCKS + 600);
	blank_disks(g->img + 2, 2, POOL_LEG_BLOCKS + 300);
	result("grow-discard-beside", run_machine(g->img, 4, opt.seed, discard_beside_main, g));
	for (i = 0; i < 4; i++)
		image_free(&g->img[i]);
	oracle_free(&g->o);
	free(g);
}

/* --- the cases ------------------------------------------------------------------------------ */

static void larger_oracle(struct oracle *to, const struct oracle *from)
{
	u64 block;

	oracle_init(to, MOST_BLOCKS);
	to->next_id = from->next_id;
	to->order = from->order;
	for (block = 0; block < from->blocks; block++)
		memcpy(to->b[block].base, from->b[block].base, sizeof(to->b[block].base));
}

static const struct base *base_of(const struct shape *s)
{
	struct host_start hs = { .legs = s->legs + s->cache, .parity = s->parity, .cache = s->cache,
				 .writethrough = s->writethrough };

	if (s->cache)
		return base_cache(&hs);
	return s->parity ? base_parity(s->legs, false) : base_pool(s->legs, false);
}

static void set_up(struct growing *g, const struct shape *s)
{
	const struct base *base = base_of(s);
	u32 legs = s->legs + s->more + s->cache, i;

	g->shape = s;
	g->old = (struct host_start){ .legs = s->legs + s->cache, .parity = s->parity,
				      .grown = true,
				      .cache = s->cache, .writethrough = s->writethrough,
				      .blank = s->more };
	g->new = (struct host_start){ .legs = legs, .parity = s->parity, .second = s->more,
				      .second_parity = s->more_parity, .grown = true,
				      .cache = s->cache, .writethrough = s->writethrough };
	g->crash = (struct crash){ .legs = legs, .parity = s->parity, .second = s->more,
				   .second_parity = s->more_parity, .cache = s->cache, .o = &g->o,
				   .growing = true, .grown_at = ~0u };
	larger_oracle(&g->o, &base->o);
	for (i = 0; i < s->legs; i++)
		image_copy(&g->img[i], &base->img[i]);
	blank_disks(g->img + s->legs, s->more, POOL_LEG_BLOCKS);
	for (i = 0; i < s->cache; i++)
		image_copy(&g->img[s->legs + s->more + i], &base->img[s->legs + i]);
}

/* One life of the machine; its possible cuts are checked if @cut. */
static void case_of(const char *what, const struct shape *s, void (*main)(void *arg), u32 victim,
		    u32 after, bool cut)
{
	struct growing *g = calloc(1, sizeof(*g));
	char name[64];
	bool good;
	u32 i;

	snprintf(name, sizeof(name), victim == NO_DISK ? "%s:%s" : "%s:%s:%u:%u", what, s->name,
		 victim, after);
	if (wanted(name)) {
		set_up(g, s);
		g->victim = victim;
		g->after = after;
		g->crash.heal_allowed = victim != NO_DISK;
		good = run_machine(g->img, g->new.legs,
				   mix64(opt.seed, 700 + 100 * victim + after), main, g);
		if (good && cut)
			good = main == full_main ?
				!cut_sampled(name, &g->crash, g->from, CHECK_LEGS, 40) :
					victim == NO_DISK ?
				!cut_everywhere(name, &g->crash, g->from, CHECK_RECRASH) :
				!cut_sampled(name, &g->crash, g->from, CHECK_LEGS, 8);
		result(name, good);
		for (i = 0; i < g->new.legs; i++)
			image_free(&g->img[i]);
		oracle_free(&g->o);
	}
	free(g);
}

void run_grow(void)
{
	u32 i, victim, after;

	run_larger();
	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		const struct shape *s = &shapes[i];

		case_of("grow", s, grow_main, NO_DISK, 0, true);
		case_of("grow-whole", s, whole_main, NO_DISK, 0, false);
		case_of("grow-joining", s, joining_main, NO_DISK, 0, false);
		if (s->cache)
			case_of("grow-full", s, full_main, NO_DISK, 0, true);
	}
	if (wanted("grow-lost-leaf"))
		lost_leaf_case();
	if (wanted("grow-small-logs"))
		small_logs_case();
	if (wanted("grow-discard-beside"))
		discard_beside_case();
	/* The first two writes to a new leg are its labels, the next two the superblock. */
	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		u32 all = shapes[i].legs + shapes[i].more + shapes[i].cache;

		if (shapes[i].parity || shapes[i].more_parity || shapes[i].writethrough)
			continue;
		for (victim = 0; victim < all; victim++)
			for (after = 0; after < 6; after++)
				case_of("grow-lost", &shapes[i], grow_main, victim, after, true);
	}
}
