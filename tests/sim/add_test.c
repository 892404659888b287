// SPDX-License-Identifier: GPL-2.0-only
/*
 * A pool gets another vdev, and the power goes at every step: afterwards it is the old pool or the
 * grown one, with all acknowledged data.
 */
#include <string.h>

#include "life.h"
#include "script.h"
#include "pool/online.h"
#include "pool/pool.h"
#include "ram/rcache.h"
#include "super/commit.h"
#include "super/members.h"
#include "table/table.h"

#define MOST_BLOCKS	2560u	/* that any of these pools comes to have */

/* The pool, and the added vdev, which is on the blank disks. */
static const struct shape {
	const char *name;
	struct host_start start;
	bool parity;	/* the new one is a parity1 */
	u32 turns;	/* number of vdevs that carry the log then; 0: one */
} shapes[] = {
	{ "mirror+mirror", { .legs = 2, .blank = 2 }, .turns = 2 },
	{ "mirror+single", { .legs = 2, .blank = 1 } },
	{ "single+single", { .legs = 1, .blank = 1 }, .turns = 2 },
	{ "mirror+parity1", { .legs = 2, .blank = 3 }, .parity = true, .turns = 2 },
	{ "parity1+mirror", { .legs = 3, .parity = true, .blank = 2 }, .turns = 2 },
	{ "cache:mirror+mirror", { .legs = 4, .cache = 2, .blank = 2 } },
	{ "cache:mirror+single", { .legs = 3, .cache = 1, .blank = 1 } },
	{ "cache:mirror+parity1", { .legs = 3, .cache = 1, .blank = 3 }, .parity = true },
	{ "cache:parity1+mirror", { .legs = 4, .parity = true, .cache = 1, .blank = 2 } },
	{ "cache:through:mirror+mirror",
	  { .legs = 3, .cache = 1, .writethrough = true, .blank = 2 }, .turns = 2 },
};

/* What a case knows besides its script. */
static struct {
	const struct shape *shape;
	struct host_start new;
	/* disk that dies after that many of its requests; NO_DISK: none */
	u32 victim, after;
} own;

#define NO_DISK		6u	/* behind the disks of all pools here */
#define BLANK_READS	(2 * KVP_LABEL_BLOCKS)	/* by which a new leg is found to be blank */

/* A cache is unchanged, after the new vdev. */
static void expect_log(struct script *s)
{
	struct kvp_pool *pool = s->host.pool;
	u32 last = pool->vdevs.nr - 1, i;
	bool there = own.new.cache && !own.new.writethrough &&
		     kvp_vdev_usable(&pool->vdevs.v[last]);

	if (own.new.cache && (pool->vdevs.log_vdev == &pool->vdevs.v[last]) != there)
		sim_fail("the log is on vdev %u", pool->vdevs.log_vdev->index);
	for (i = 0; i < pool->nr_legs; i++)
		if (pool->legs[i].bdev != &disks.bdev[i] || pool->legs[i].index != i)
			sim_fail("disk %u is not leg %u", pool->legs[i].bdev->index, i);
}

/* --- the power goes ------------------------------------------------------------------ */

static bool is_new(u32 disk)
{
	u32 first = own.new.legs - own.new.cache - own.new.second;

	return disk >= first && disk < first + own.new.second;
}

static void try_to_grow(struct script *s)
{
	struct host *h = &s->host;
	u64 before = h->pool->sb->pool_blocks, epoch = h->pool->sb->epoch;

	if (!host_grow(h, &own.new)) {
		if (h->pool->sb->pool_blocks <= before || h->pool->nr_legs != own.new.legs)
			sim_fail("grown to %llu blocks", h->pool->sb->pool_blocks);
		if (own.victim == NO_DISK)
			expect_log(s);
		/* a leg that died meanwhile must not carry data that others could lose */
		if (own.victim == NO_DISK &&
		    h->pool->vdevs.log_track.nr != max(own.shape->turns, 1u))
			sim_fail("%u vdevs carry the log", h->pool->vdevs.log_track.nr);
		s->crash.grown_at = disks.trace.nr;
		host_write(h, before - 2, 70, false);
		host_write(h, h->pool->sb->pool_blocks - 12, 5, true);
		return;
	}
	if (own.victim == NO_DISK)
		sim_fail("not grown: %s", h->refusal.why);
	if (h->pool->sb->pool_blocks != before || h->pool->nr_legs != s->start.legs ||
	    h->pool->sb->epoch < epoch)
		sim_fail("not grown, and yet another pool");
}

static void grow(struct script *s)
{
	struct host *h = &s->host;
	u32 i;

	host_write(h, 20, 30, false);
	host_write(h, 500, 3, true);
	if (own.victim != NO_DISK) {
		disks_fault(FAULT_DEATH, own.victim, 0, ~0ull)->after =
			own.after + (is_new(own.victim) ? BLANK_READS : 0);
		h->may_fail = true;
	}
	script_cut_from_here(s);
	try_to_grow(s);
	host_write(h, 21, 4, true);
	host_flush(h);
	host_discard(h, 300, 20);
	host_checkpoint(h);
	for (i = 0; i < h->pool->nr_legs; i++)
		if (!kvp_leg_in_sync(&h->pool->legs[i]))
			s->crash.lost |= BIT(h->pool->legs[i].bdev->index);
}

/*
 * Much is on the cache alone when the device is suspended, some of it spilled. It is written home
 * first. Blocks that were read from there before are read from there afterwards.
 */
static void full(struct script *s)
{
	struct host *h = &s->host;
	u64 block;
	u32 i;

	for (i = 0; i < 40; i++)
		host_write(h, 7 * i % 400, 2, true);
	host_checkpoint(h);
	for (i = 0; i < 20; i++)
		host_write(h, 13 * i % 400, 1, true);
	script_cut_from_here(s);
	try_to_grow(s);
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
static void whole(struct script *s)
{
	u64 block, blocks;

	try_to_grow(s);
	blocks = s->host.pool->sb->pool_blocks;
	host_stop(&s->host);
	s->start = own.new;
	script_start(s);
	if (s->host.pool->sb->pool_blocks != blocks)
		sim_fail("the grown pool has another size at its next start");
	for (block = 0; block < blocks; block++)
		host_read_check(&s->host, block);
}

static void expect_refusal(struct script *s, const struct host_start *hs, const char *words)
{
	if (!host_start(&s->host, &s->o, hs))
		sim_fail("started, though %s", words);
	if (!strstr(s->host.refusal.why, words))
		sim_fail("refused, but not because %s: %s", words, s->host.refusal.why);
}

/*
 * New legs that were labelled, and no more: alone they are refused in words, and the old pool goes
 * on.
 */
static void joining(struct script *s)
{
	struct host_start alone = own.new;
	u32 i;

	for (i = 0; i < own.new.legs; i++)
		alone.missing |= is_new(i) ? 0 : BIT(i);
	alone.degraded = true;
	disks_fault(FAULT_WRITE_EIO, own.new.legs - own.new.cache - 1,
		    POOL_LEG_BLOCKS - KVP_LABEL_BLOCKS, ~0ull);
	s->host.may_fail = true;
	if (!host_grow(&s->host, &own.new))
		sim_fail("grown, though a leg did not take its label");
	s->host.may_fail = false;
	host_write(&s->host, 20, 30, true);
	host_stop(&s->host);
	disks.nr_faults = 0;
	expect_refusal(s, &alone, "unfinished add");
	expect_refusal(s, &own.new, "the pool has");
	script_start(s);
	host_read_check(&s->host, 20);
	if (!host_grow(&s->host, &own.new))
		sim_fail("legs were taken that are not blank");
	if (!strstr(s->host.refusal.why, "is not blank"))
		sim_fail("refused: %s", s->host.refusal.why);
}

/* The last leaf of the old pool is lost: that does not affect the blocks after it. */
static void lost_leaf(struct script *s)
{
	struct host *h = &s->host;
	u8 data[KVP_BLOCK_SIZE];
	u64 end, at;
	u32 i;

	end = h->pool->sb->pool_blocks;
	if (end <= KVP_PTRS_PER_PAGE || end % KVP_PTRS_PER_PAGE == 0)
		sim_fail("%llu blocks end with a whole leaf", end);
	if (host_grow(h, &own.new))
		sim_fail("not grown: %s", h->refusal.why);
	host_write(h, end - 5, 12, false);
	host_checkpoint(h);
	at = kvp_page_place(h->pool->vdevs.v[0].g, 0, 1,
			    kvp_ptr_slot(h->pool->table->roots[1]), 0).block;
	memset(data, 0x77, sizeof(data));
	for (i = 0; i < s->start.legs; i++)
		image_write_data(&disks.img[i], at, data);
	kvp_table_shrink(h->pool->table, true);
	kvp_rcache_drop(h->pool->rcache);
	if (!host_read(h, end - 5, data))
		sim_fail("a block was read, though its sum is lost");
	host_read_check(h, end);
	if (h->pool->sb->poisoned_blocks != end % KVP_PTRS_PER_PAGE)
		sim_fail("%llu blocks are poisoned, not %llu", h->pool->sb->poisoned_blocks,
			 end % KVP_PTRS_PER_PAGE);
}

static void lost_leaf_case(void)
{
	static const struct host_start shape = { .legs = 2 };
	const struct script_case c = {
		.name = "grow-lost-leaf", .shape = &shape, .spares = 2,
		.blank = POOL_LEG_BLOCKS + 300, .blocks = MOST_BLOCKS, .act = lost_leaf,
		.turns = 1, .most = 1, .first_plain = true,
	};

	own.new = (struct host_start){ .legs = 4, .second = 2, .grown = true };
	script_run(&c);
}

/* --- a log that is too small for large chunks ------------------------------------------------- */

/* blocks: a discard of a stripe's part needs five segments of log */
#define LARGE_CHUNK	128u

/*
 * The log of a parity1 holds a discard of its chunks; that of the SSD does not, and the log would
 * move there. A new pool with both is refused, and so is a cache that is added to the other one.
 */
static void new_is_refused(struct script *s)
{
	struct host_start made = own.new;

	made.format = true;
	expect_refusal(s, &made, "too small for chunks");
}

static void small_logs(struct script *s)
{
	struct host *h = &s->host;

	host_write(h, 20, 30, true);
	if (!host_grow(h, &own.new))
		sim_fail("a cache was taken whose log cannot hold a discard");
	if (!strstr(h->refusal.why, "too small for chunks"))
		sim_fail("refused: %s", h->refusal.why);
	if (host_labelled(3))
		sim_fail("the SSD was labelled");
	host_discard(h, 25, 400);
	host_checkpoint(h);
	host_read_each(h, 20, 30);
}

static void small_logs_case(void)
{
	static const struct host_start shape = {
		.legs = 3, .parity = true, .log_mib = 5, .chunk = LARGE_CHUNK,
	};
	const struct script_case c = {
		.name = "grow-small-logs", .shape = &shape, .spares = 1,
		.blank = 2 * POOL_LEG_BLOCKS, .blocks = MOST_BLOCKS, .prepare = new_is_refused,
		.act = small_logs, .turns = 1, .most = 1, .first_plain = true,
	};

	own.new = shape;
	own.new.legs++;
	own.new.cache = 1;
	script_run(&c);
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
static void discard_beside(struct script *s)
{
	struct host *h = &s->host;
	struct discarding d = { .host = h };
	struct kvp_range range;
	u32 i;

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
}

static void enlarge_first(struct script *s)
{
	script_blank_disks(s, 0, 2, POOL_LEG_BLOCKS + 600);
}

/*
 * 17 extents beside 12, eight of which are a leaf: of a region of 12 each, half a leaf is lost, and
 * one is left for the next.
 */
static void discard_beside_case(void)
{
	static const struct host_start shape = { .legs = 4, .second = 2, .grown = true };
	const struct script_case c = {
		.name = "grow-discard-beside", .shape = &shape, .blank = POOL_LEG_BLOCKS + 300,
		.blocks = MOST_BLOCKS, .set_up = enlarge_first, .act = discard_beside,
		.turns = 1, .most = 1, .first_plain = true,
	};

	script_run(&c);
}

/* --- devices that hang, and are no legs ----------------------------------------------------- */

static struct {
	struct script *s;
	bool over;
	int ret;
} side;

/* Wait until the side task is over, which has @disk to look at, and hangs with it. */
static void expect_over(u32 disk)
{
	u32 limit = (u32)side.s->host.pool->tunables[KVP_T_LEG_TIMEOUT], i;

	for (i = 0; i < 3 * limit && !side.over; i++)
		host_sleep(1000);
	if (!side.over)
		sim_fail("the suspended pool waits for disk %u, which is no leg", disk);
	disks_release(disk);
	host_write(&side.s->host, 20, 30, true);
	host_read_each(&side.s->host, 0, 60);
}

static void grow_side(void *arg)
{
	side.ret = host_grow(&side.s->host, &own.new);
	side.over = true;
}

/* A new device hangs while the pool looks whether it is blank: refused, and the pool goes on. */
static void new_device_hangs(struct script *s)
{
	u32 disk = own.new.legs - own.new.cache - 1;

	side = (typeof(side)){ .s = s };
	host_write(&s->host, 20, 30, true);
	disks_stall(disk, 0, 255);
	sim_spawn("grow", grow_side, NULL);
	expect_over(disk);
	if (!side.ret)
		sim_fail("a device that hangs was added");
}

static int grow_once(struct script *s)
{
	return host_grow(&s->host, &own.new);
}

static void new_device_hangs_beside_beats(struct script *s)
{
	life_while_it_hangs(s, own.new.legs - own.new.cache - 1, grow_once);
}

static void reconnect_side(void *arg)
{
	host_suspend(&side.s->host);
	kvp_pool_reconnect(side.s->host.pool, arg);
	host_resume(&side.s->host);
	side.over = true;
}

/* A lost leg is back on a device that hangs as its label is read: it stays out. */
static void returned_device_hangs(struct script *s)
{
	struct kvp_start *t = kzalloc(sizeof(*t), GFP_KERNEL);
	struct kvp_leg *leg = &s->host.pool->legs[1];

	side = (typeof(side)){ .s = s };
	host_write(&s->host, 20, 30, true);
	if (kvp_leg_offline(s->host.pool, leg))
		sim_fail("not offline");
	host_suspend(&s->host);
	leg->bdev = NULL;
	host_resume(&s->host);
	t->nr_legs = 2;
	t->legs[1].bdev = &disks.bdev[1];
	t->legs[1].size_blocks = leg->size_blocks;
	snprintf(t->legs[1].path, sizeof(t->legs[1].path), "disk1");
	disks_stall(1, 0, 255);
	sim_spawn("reconnect", reconnect_side, t);
	expect_over(1);
	if (kvp_leg_takes_writes(leg))
		sim_fail("a device that hangs is a leg again");
	kfree(t);
}

/* A pool has as many legs as it may have. One is lost, and back on another device. */
static void returns_to_a_full_pool(struct script *s)
{
	struct kvp_start *t = kzalloc(sizeof(*t), GFP_KERNEL);
	struct host *h = &s->host;
	struct kvp_leg *leg = &h->pool->legs[1], *other = &h->pool->legs[17];
	char path[KVP_PATH_LEN];

	if (h->pool->nr_legs != KVP_MAX_LEGS)
		sim_fail("%u legs: the case was not set up", h->pool->nr_legs);
	host_write(h, 20, 30, true);
	if (kvp_leg_offline(h->pool, leg) || kvp_leg_offline(h->pool, other))
		sim_fail("not offline");
	host_write(h, 30, 9, true);
	memcpy(path, leg->path, sizeof(path));
	t->nr_legs = KVP_MAX_LEGS;
	t->legs[17].bdev = other->bdev;
	t->legs[17].size_blocks = other->size_blocks;
	snprintf(t->legs[17].path, sizeof(t->legs[17].path), "again");
	host_suspend(h);
	leg->bdev = other->bdev = NULL;
	kvp_pool_reconnect(h->pool, t);
	host_resume(h);
	kfree(t);
	host_wait_resilver(h);
	if (!kvp_leg_in_sync(other) || strcmp(other->path, "again"))
		sim_fail("the leg that is back is out");
	if (leg->bdev || strcmp(leg->path, path) || kvp_leg_takes_writes(leg))
		sim_fail("the leg that is lost has another device, %s", leg->path);
	host_read_each(h, 0, 60);
}

static void rename_side(void *arg)
{
	side.ret = kvp_pool_rename(side.s->host.pool, "other");
	side.over = true;
}

/* A superblock waits for a leg that hangs. What counts can be read meanwhile, and is as before. */
static void superblock_hangs(struct script *s)
{
	struct kvp_pool *pool = s->host.pool;
	struct kvp_sb *sb = kzalloc(sizeof(*sb), GFP_KERNEL);
	u64 sequence = pool->sb->sequence;
	char name[sizeof(sb->name)];

	side = (typeof(side)){ .s = s };
	memcpy(name, pool->sb->name, sizeof(name));
	disks_stall(0, 0, 255);
	sim_spawn("rename", rename_side, NULL);
	host_sleep(5000);
	if (side.over || !mutex_is_locked(&pool->sb_lock))
		sim_fail("the superblock does not hang: the case was not set up");
	kvp_sb_published(pool, sb);
	if (side.over || sb->sequence != sequence || strcmp(sb->name, name))
		sim_fail("'%s', number %llu: that superblock does not count", sb->name,
			 sb->sequence);
	expect_over(0);
	kvp_sb_published(pool, sb);
	if (side.ret || sb->sequence <= sequence || strcmp(sb->name, "other"))
		sim_fail("'%s', number %llu: there is a newer superblock", sb->name, sb->sequence);
	kfree(sb);
}

struct setter {
	struct kvp_pool *pool;
	u64 value;
	bool over;
};

static void set_side(void *arg)
{
	struct setter *t = arg;

	if (kvp_pool_set(t->pool, KVP_T_SLOW_LEG, t->value))
		sim_fail("slow_leg is not set");
	t->over = true;
}

/* Two orders set a tunable at the same time: the value on disk is the one that applies. */
static void two_set_it(struct script *s)
{
	struct kvp_pool *pool = s->host.pool;
	u32 i;

	sim_slow = "set a";
	for (i = 0; i < 100; i++) {
		struct setter a = { pool, 2 + i }, b = { pool, 300 + i };

		sim_spawn("set a", set_side, &a);
		sim_spawn("set b", set_side, &b);
		while (!a.over || !b.over)
			host_sleep(1);
		if (pool->sb->tunables[KVP_T_SLOW_LEG] != pool->tunables[KVP_T_SLOW_LEG])
			sim_fail("%llu is on disk, and %llu applies",
				 pool->sb->tunables[KVP_T_SLOW_LEG],
				 pool->tunables[KVP_T_SLOW_LEG]);
	}
	sim_slow = NULL;
}

/* --- the cases ------------------------------------------------------------------------------ */

/* The contents have room for the new blocks. */
static void enlarge_oracle(struct oracle *o)
{
	struct oracle small = *o;
	u64 block;

	oracle_init(o, MOST_BLOCKS);
	o->next_id = small.next_id;
	o->order = small.order;
	for (block = 0; block < small.blocks; block++)
		memcpy(o->b[block].base, small.b[block].base, sizeof(small.b[block].base));
	oracle_free(&small);
}

static void set_up(struct script *s)
{
	u32 more = s->start.blank;

	s->start.grown = true;
	own.new = s->start;
	own.new.legs += more;
	own.new.second = more;
	own.new.second_parity = own.shape->parity;
	own.new.blank = 0;
	s->crash.legs = own.new.legs;
	s->crash.spare = 0;
	s->crash.second = more;
	s->crash.second_parity = own.shape->parity;
	s->crash.growing = true;
	s->crash.grown_at = ~0u;
	s->crash.heal_allowed = own.victim != NO_DISK;
	enlarge_oracle(&s->o);
}

/* The first life of @act is cut at about so many positions; 0: it ends with a stop. */
static void case_of(const char *what, const struct shape *shape, void (*act)(struct script *s),
		    u32 cuts)
{
	char name[64];
	const struct script_case c = {
		.name = name, .shape = &shape->start, .set_up = set_up, .act = act,
		.leave = cuts, .turns = 1, .most = 1, .salt = 700 + 100 * own.victim + own.after,
		.cuts = cuts, .depth = cuts == SCRIPT_EVERYWHERE ? CHECK_RECRASH : CHECK_LEGS,
	};

	snprintf(name, sizeof(name), own.victim == NO_DISK ? "%s:%s" : "%s:%s:%u:%u", what,
		 shape->name, own.victim, own.after);
	own.shape = shape;
	script_run(&c);
}

static void full_pool_case(void)
{
	static const struct host_start full = { .legs = KVP_MAX_LEGS, .second = 16, .cache = 16 };
	const struct script_case c = {
		.name = "full-pool-return", .shape = &full, .act = returns_to_a_full_pool,
		.turns = 1, .most = 1, .depth = CHECK_LEGS,
	};

	script_run(&c);
}

static void lose(const struct shape *shape)
{
	u32 all = shape->start.legs + shape->start.blank;

	/* The first two writes to a new leg are its labels, the next two the superblock. */
	for (own.victim = 0; own.victim < all; own.victim++)
		for (own.after = 0; own.after < 6; own.after++)
			case_of("grow-lost", shape, grow, 8);
}

void run_grow(void)
{
	const struct shape *shape, *end = shapes + ARRAY_SIZE(shapes);

	run_larger();
	own.victim = NO_DISK;
	own.after = 0;
	for (shape = shapes; shape < end; shape++) {
		case_of("grow", shape, grow, SCRIPT_EVERYWHERE);
		case_of("grow-whole", shape, whole, 0);
		case_of("grow-joining", shape, joining, 0);
		if (shape->start.cache)
			case_of("grow-full", shape, full, 40);
	}
	lost_leaf_case();
	small_logs_case();
	discard_beside_case();
	case_of("grow-hangs", &shapes[0], new_device_hangs, 0);
	case_of("grow-hangs-beside-beats", &shapes[0], new_device_hangs_beside_beats, 0);
	case_of("grow-return-hangs", &shapes[0], returned_device_hangs, 0);
	full_pool_case();
	case_of("grow-two-orders", &shapes[0], two_set_it, 0);
	case_of("grow-superblock-hangs", &shapes[0], superblock_hangs, 0);
	for (shape = shapes; shape < end; shape++)
		if (!shape->start.parity && !shape->parity && !shape->start.writethrough)
			lose(shape);
}
