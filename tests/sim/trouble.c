// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory, table pages or legs fail while a pool runs, often two of these at once. The pool has
 * several table pages, unlike those of most other tests. There are no power cuts. Each test ends
 * with a check of the contents.
 */
#include <stdlib.h>
#include <string.h>

#include <linux/completion.h>
#include <linux/mm.h>

#include "core/cache.h"
#include "home/pieces.h"
#include "io/flight.h"
#include "trouble.h"
#include "io/mirror.h"
#include "ram/rcache.h"
#include "ram/wbuf.h"
#include "table/ssdcopy.h"
#include "table/table.h"
#include "work/scrub.h"

struct beside beside;

/* The contents that the first life left count, at any cut of the second; for a mirror. */
static void rebase(struct oracle *o)
{
	u8 data[KVP_BLOCK_SIZE];
	u64 block;

	for (block = 0; block < o->blocks; block++) {
		if (!oracle_touched(o, block))
			continue;
		image_read(&disks.img[0], disks.data_start + block, data);
		oracle_rebase(o, block, data);
	}
}

/* Only the second life is cut. */
static bool both_lives(struct script *t)
{
	if (!script_live(t, t->c->act, true))
		return false;
	script_keep(t);
	if (t->cuts)
		rebase(&t->o);
	return script_live(t, t->c->then, false) && script_check_cuts(t);
}

static void lives(const char *name, void (*run)(struct script *t), void (*then)(struct script *t),
		  void (*prepare)(struct script *t), const struct host_start *shape,
		  u32 leg_blocks, bool cut)
{
	const struct script_case c = {
		.name = deep_name(name), .shape = shape, .blank = leg_blocks,
		.blocks = leg_blocks * (shape->parity ? 4 : 1), .prepare = prepare, .act = run,
		.then = then, .play = then ? both_lives : NULL,
		.turns = opt.thorough ? 24 : cut ? 2 : 3, .first_plain = true, .salt = 3000,
		.cuts = cut ? SCRIPT_EVERYWHERE : 0, .depth = CHECK_CONTENTS,
		.own = &beside, .own_size = sizeof(beside),
	};

	script_run(&c);
}

void lives_of(const char *name, void (*run)(struct script *t), void (*then)(struct script *t),
	      const struct host_start *shape, u32 leg_blocks)
{
	lives(name, run, then, NULL, shape, leg_blocks, false);
}

void cut_lives(const char *name, void (*run)(struct script *t), void (*then)(struct script *t),
	       u32 legs, u32 leg_blocks)
{
	const struct host_start shape = { .legs = legs };

	lives(name, run, then, NULL, &shape, leg_blocks, true);
}

void two_lives(const char *name, void (*run)(struct script *t), void (*then)(struct script *t),
	       u32 legs, u32 leg_blocks)
{
	const struct host_start shape = { .legs = legs };

	lives_of(name, run, then, &shape, leg_blocks);
}

void trouble(const char *name, void (*run)(struct script *t), u32 legs)
{
	two_lives(name, run, NULL, legs, LEG_BLOCKS);
}

/* --- shared ----------------------------------------------------------------------------- */

void spread(struct host *h)
{
	u32 leaf;

	for (leaf = 0; leaf < LEAVES; leaf++) {
		host_write(h, leaf * LEAF + leaf, 3, false);
		host_write(h, leaf * LEAF + 300, 1, false);
	}
	host_checkpoint(h);
	kvp_table_shrink(h->pool->table, true);
}

void rot(u32 disk, u64 block)
{
	u8 data[KVP_BLOCK_SIZE];

	image_read(&disks.img[disk], block, data);
	memset(data + 100, 0x77, 50);
	image_write_data(&disks.img[disk], block, data);
}

void expect_scrub(struct host *h, u64 healed, u64 unrepaired)
{
	u64 got_healed, got_unrepaired;

	host_scrub(h, &got_healed, &got_unrepaired);
	if (got_healed != healed || got_unrepaired != unrepaired)
		sim_fail("scrub healed %llu and left %llu, not %llu and %llu", got_healed,
			 got_unrepaired, healed, unrepaired);
}

/* --- a scrub of new data ---------------------------------------------------------------- */

/*
 * It reads all data changed since the checkpoint, also data that is not home yet, and no old leaf.
 */
static void scrub_since_a_checkpoint(struct script *t)
{
	static const u32 leaves[] = { 3, 5, 7, 9 };
	struct host *h = &t->host;
	u64 healed, unrepaired;
	u32 old, since, i;

	spread(h);
	old = h->pool->sb->era;
	host_sleep(1500);
	/* The last one of its era. */
	host_write(h, 11 * LEAF + 301, 1, false);
	host_checkpoint(h);
	host_write(h, 9 * LEAF + 301, 1, false);
	host_checkpoint(h);
	since = h->pool->sb->era;
	if (since <= old)
		sim_fail("era %u after %u", since, old);
	host_sleep(1500);
	host_write(h, 3 * LEAF + 301, 1, false);
	host_checkpoint(h);
	for (i = 0; i < ARRAY_SIZE(leaves); i++)
		rot(i % 2, disks.data_start + leaves[i] * LEAF + 300);
	host_write(h, 7 * LEAF + 301, 1, false);
	host_scrub_since(h, since, &healed, &unrepaired);
	if (healed != 3 || unrepaired)
		sim_fail("healed %llu and left %llu since era %u", healed, unrepaired, since);
	if (kvp_scrub_start(h->pool, h->pool->sb->era + 1) != -ERANGE)
		sim_fail("a scrub since an era that is still to come");
	expect_scrub(h, 1, 0);
}

/* --- memory ---------------------------------------------------------------------------------- */

/* Blocks that a scrub skips for lack of memory are read later, and are not called damaged. */
/* A pool without writes takes no checkpoints. Its superblock has the progress all the same. */
static void scrub_notes_how_far_it_is(struct script *t)
{
	struct host *h = &t->host;
	u64 sequence;

	host_write(h, 0, 1024, false);
	host_checkpoint(h);
	if (kvp_pool_set(h->pool, KVP_T_SCRUB_RATE, 1 << 20) || kvp_scrub_start(h->pool, 0))
		sim_fail("a scrub does not start");
	sequence = h->pool->sb->sequence;
	host_sleep(1500);
	if (h->pool->sb->sequence != sequence)
		sim_fail("a superblock at once");
	h->pool->scrub->noted = jiffies - KVP_NOTE_WORK - 1;
	host_sleep(1000);
	if (h->pool->sb->sequence == sequence || !h->pool->sb->scrub.cursor ||
	    h->pool->sb->scrub.state != KVP_SCRUB_RUNNING)
		sim_fail("the superblock has state %u, at block %llu", h->pool->sb->scrub.state,
			 kvp_block_nr(h->pool->sb->scrub.cursor));
	flush_work(&h->pool->scrub->work);
}

static void scrub_without_memory(struct script *t)
{
	struct host *h = &t->host;
	u32 leaf;

	spread(h);
	for (leaf = 0; leaf < LEAVES; leaf++) {
		rot(leaf % 2, disks.data_start + leaf * LEAF + leaf + 1);
		rot(1, disks.data_start + leaf * LEAF + 300);
	}
	sim_memory_short = 400;
	expect_scrub(h, 2 * LEAVES, 0);
	sim_memory_short = 0;
	expect_scrub(h, 0, 0);
	for (leaf = 0; leaf < LEAVES; leaf++)
		host_read_check(h, leaf * LEAF + 300);
}

/*
 * Almost no allocation succeeds, and the table does not fit into the reserve: writes, discards and
 * reads all end (R24).
 */
static void progress_without_memory(struct script *t)
{
	struct host *h = &t->host;
	u32 round, leaf;

	spread(h);
	sim_memory_short = 1000;
	for (round = 0; round < 3; round++) {
		for (leaf = 0; leaf < LEAVES; leaf++)
			host_write(h, leaf * LEAF + 17 * round, round == 1 ? 40 : 2, false);
		host_flush(h);
		for (leaf = 0; leaf < LEAVES; leaf++)
			host_read_check(h, leaf * LEAF + 300);
	}
	sim_memory_short = 0;
	host_discard(h, 100, BLOCKS - 400);
	sim_memory_short = 1000;
	host_flush(h);
	host_checkpoint(h);
	for (leaf = 0; leaf < LEAVES; leaf++) {
		host_read_check(h, leaf * LEAF + 300);
		host_read_check(h, leaf * LEAF + 18);
	}
	sim_memory_short = 0;
}

/*
 * --- poison ------------------------------------------------------------------------------------
 */

struct side {
	struct host *host;
	u64 block;		/* to read; ~0: FLUSH */
	struct completion done;
	bool over;
	int error;
};

static void side_main(void *arg)
{
	struct side *s = arg;
	u8 data[KVP_BLOCK_SIZE];

	s->error = s->block == ~0ull ? host_flush(s->host) : host_read(s->host, s->block, data);
	s->over = true;
	complete_all(&s->done);
}

static void begin(struct side *s, struct host *h, u64 block)
{
	*s = (struct side){ .host = h, .block = block };
	init_completion(&s->done);
	sim_spawn(block == ~0ull ? "flush" : "read", side_main, s);
}

static void lose_block(struct host *h, u64 block)
{
	u32 i;

	for (i = 0; i < h->pool->nr_legs; i++)
		rot(i, disks.data_start + block);
}

/* R8: neither the read that finds poison nor a FLUSH after it is answered before it is durable. */
static void flush_waits_for_fresh_poison(struct script *t)
{
	struct host *h = &t->host;
	struct side read, flush;
	u8 data[KVP_BLOCK_SIZE];
	u32 i;

	spread(h);
	lose_block(h, 300);
	if (!host_read(h, 300, data) || h->pool->sb->poisoned_blocks != 1)
		sim_fail("the poison of a read that was answered is not durable");
	kvp_table_put(kvp_table_load(h->pool->table, LEAF + 300));
	lose_block(h, LEAF + 300);
	for (i = 0; i < t->start.legs; i++)
		disks_stall(i, disks.table_start, disks.log_start - 1);
	begin(&read, h, LEAF + 300);
	host_sleep(50);
	host_write(h, 5, 1, false);
	begin(&flush, h, ~0ull);
	host_sleep(200);
	if (read.over || flush.over)
		sim_fail("%s was answered before poison was durable", read.over ? "read" : "FLUSH");
	for (i = 0; i < t->start.legs; i++)
		disks_release(i);
	wait_for_completion(&flush.done);
	if (h->pool->sb->poisoned_blocks != 2)
		sim_fail("FLUSH was answered, and the poison is not durable");
	wait_for_completion(&read.done);
	if (!read.error || flush.error)
		sim_fail("read ended with %d, FLUSH with %d", read.error, flush.error);
}

/* R27: one copy has rotted, and the other one does not answer for a while. It may be good. */
static void copy_that_may_come_back(struct script *t)
{
	struct host *h = &t->host;
	u64 at = disks.data_start + 300;
	u8 data[KVP_BLOCK_SIZE];
	int error;

	spread(h);
	rot(0, at);
	disks_fault(FAULT_READ_EIO, 1, at, at);
	error = host_read(h, 300, data);
	if (error != -EIO)
		sim_fail("the read ended with %d", error);
	if (h->pool->table->poisoned)
		sim_fail("%llu blocks are poisoned, and one leg did not answer",
			 h->pool->table->poisoned);
	disks.nr_faults = 0;
	host_read_check(h, 300);
}

/*
 * One block is no longer poisoned when another one is: the number stays, and yet it must be
 * written.
 */
static void poison_that_makes_up_for_poison(struct script *t)
{
	struct host *h = &t->host;
	struct kvp_tpage *leaf;
	u8 data[KVP_BLOCK_SIZE];
	u64 before;

	spread(h);
	lose_block(h, 300);
	if (!host_read(h, 300, data) || h->pool->sb->poisoned_blocks != 1)
		sim_fail("no poison");
	leaf = kvp_table_load(h->pool->table, 300);
	kvp_table_set(h->pool->table, leaf, 300, 0, KVP_ENTRY_UNWRITTEN);
	kvp_table_put(leaf);
	lose_block(h, LEAF + 300);
	before = h->pool->sb->checkpoint;
	if (!host_read(h, LEAF + 300, data))
		sim_fail("a lost block was read");
	if (h->pool->sb->checkpoint == before)
		sim_fail("the poison of a read that was answered is not durable");
}

/*
 * --- pages of the table --------------------------------------------------------------------------
 */

u64 page_at(struct host *h, u32 level, u64 block)
{
	struct kvp_tpage *leaf = kvp_table_load(h->pool->table, block), *tp = leaf;
	u64 at;

	while (tp->level < level)
		tp = tp->parent;
	at = kvp_page_block(h->pool->vdevs.v[0].g, level, tp->index, kvp_ptr_slot(tp->durable));
	kvp_table_put(leaf);
	return at;
}

/* What happens to a copy of a page: it rots, or reads of it end with @error. */
static void spoil(u32 disk, u64 block, int error)
{
	if (error)
		disks_fault(FAULT_READ_EIO, disk, block, block)->error = error;
	else
		rot(disk, block);
}

/*
 * The copies of a page on SSDs, if there is a cache. Which SSD has it depends on those that are in
 * use.
 */
static void lose_copies(struct host *h, const struct kvp_tpage *tp, int error)
{
	struct kvp_vdev *v = kvp_pool_cache(h->pool);
	u32 i;

	kvp_ssdcopy_drain(h->pool->ssdcopies);
	for (i = 0; v && i < v->nr_legs; i++)
		spoil((u32)(v->legs - h->pool->legs) + i,
		      kvp_ssdcopy_place(v, tp->v->index, tp->level, tp->index), error);
}

void lose_page_with(struct host *h, u32 level, u64 block, int error)
{
	struct kvp_tpage *leaf = kvp_table_load(h->pool->table, block), *tp = leaf;
	u32 copy;

	while (tp->level < level)
		tp = tp->parent;
	for (copy = 0; copy < kvp_page_copies(tp->v->g); copy++) {
		struct kvp_place at = kvp_page_place(tp->v->g, level, tp->index,
						     kvp_ptr_slot(tp->durable), copy);

		spoil((u32)(tp->v->legs - h->pool->legs) + at.leg, at.block, error);
	}
	lose_copies(h, tp, error);
	kvp_table_put(leaf);
	kvp_table_shrink(h->pool->table, true);
	kvp_rcache_drop(h->pool->rcache);
}

void lose_page(struct host *h, u32 level, u64 block)
{
	lose_page_with(h, level, block, 0);
}

void expect_eio(struct host *h, u64 block)
{
	u8 data[KVP_BLOCK_SIZE];

	if (!host_read(h, block, data))
		sim_fail("block %llu was read, though its sum is lost", block);
}

/* A leaf bad on every leg: its blocks are EIO until they are overwritten, and the pool goes on. */
static void lost_leaf_while_running(struct script *t)
{
	struct host *h = &t->host;
	u64 healed, unrepaired;

	spread(h);
	lose_page(h, 0, 5 * LEAF);
	if (rng_below(&sim_rng, 2)) {
		expect_eio(h, 5 * LEAF + 300);
		if (h->pool->sb->poisoned_blocks != LEAF)
			sim_fail("%llu blocks are durably poisoned", h->pool->sb->poisoned_blocks);
	} else {
		host_scrub(h, &healed, &unrepaired);
		if (unrepaired != LEAF)
			sim_fail("scrub counts %llu blocks of a lost leaf", unrepaired);
	}
	host_write(h, 5 * LEAF + 7, 2, true);
	host_checkpoint(h);
	host_read_check(h, 5 * LEAF + 7);
	host_read_check(h, 4 * LEAF + 300);
	expect_eio(h, 5 * LEAF + 300);
	expect_eio(h, 5 * LEAF + 200);
	host_discard(h, 5 * LEAF, LEAF);
	host_checkpoint(h);
	host_read_check(h, 5 * LEAF + 300);
	if (h->pool->sb->poisoned_blocks)
		sim_fail("%llu blocks are still poisoned", h->pool->sb->poisoned_blocks);
	expect_scrub(h, 0, 0);
}

/* A single has each page twice: either copy will do, and the other one is healed. */
static void single_heals_its_table(struct script *t)
{
	struct host *h = &t->host;
	const struct kvp_geometry *g = h->pool->vdevs.v[0].g;
	u64 healed, unrepaired;
	u32 leaf;

	spread(h);
	for (leaf = 0; leaf < LEAVES; leaf++) {
		u64 at = kvp_page_copy(g, page_at(h, 0, leaf * LEAF), leaf % 2);

		if (leaf % 3)
			rot(0, at);
		else
			disks_fault(FAULT_READ_EIO, 0, at, at);
		if (disks.nr_faults == MAX_FAULTS)
			disks.nr_faults = 0;
	}
	kvp_table_shrink(h->pool->table, true);
	for (leaf = 0; leaf < LEAVES; leaf++)
		host_read_check(h, leaf * LEAF + 300);
	host_scrub(h, &healed, &unrepaired);
	if (!healed || unrepaired || h->pool->sb->poisoned_blocks)
		sim_fail("scrub healed %llu and left %llu, %llu are poisoned", healed, unrepaired,
			 h->pool->sb->poisoned_blocks);
	for (leaf = 0; leaf < LEAVES; leaf++) {
		u64 at = page_at(h, 0, leaf * LEAF);

		if (memcmp(image_blk(&disks.img[0], at)->data,
			   image_blk(&disks.img[0], kvp_page_copy(g, at, 1))->data, KVP_BLOCK_SIZE))
			sim_fail("the copies of leaf %u differ", leaf);
	}
	expect_scrub(h, 0, 0);
}

/* One leg does not answer: it may have the page, so nothing is given up for lost. */
static void leaf_that_may_come_back(struct script *t)
{
	struct host *h = &t->host;
	u64 at, healed, unrepaired;

	spread(h);
	at = page_at(h, 0, 5 * LEAF);
	rot(0, at);
	disks_fault(FAULT_READ_EIO, 1, at, at);
	kvp_table_shrink(h->pool->table, true);
	expect_eio(h, 5 * LEAF + 300);
	if (h->pool->table->poisoned)
		sim_fail("%llu blocks are poisoned", h->pool->table->poisoned);
	disks.nr_faults = 0;
	host_read_check(h, 5 * LEAF + 300);
	/* The other copy was read first, or healed from. */
	kvp_table_shrink(h->pool->table, true);
	host_scrub(h, &healed, &unrepaired);
	if (unrepaired)
		sim_fail("%llu blocks are lost", unrepaired);
	expect_scrub(h, 0, 0);
}

static void write_and_lose_leaf(struct script *t)
{
	spread(&t->host);
	lose_page(&t->host, 0, 5 * LEAF);
	host_write(&t->host, 5 * LEAF + 7, 2, false);
	host_write(&t->host, 9 * LEAF + 7, 2, true);
}

static void read_without_leaf(struct script *t)
{
	struct host *h = &t->host;

	host_read_check(h, 5 * LEAF + 7);
	host_read_check(h, 9 * LEAF + 8);
	expect_eio(h, 5 * LEAF + 300);
	if (h->pool->sb->poisoned_blocks != LEAF - 2)
		sim_fail("%llu blocks are durably poisoned", h->pool->sb->poisoned_blocks);
}

static void write_and_lose_page_above(struct script *t)
{
	struct host *h = &t->host;

	if (h->pool->vdevs.v[0].g->levels < 2)
		sim_fail("the table has no page above the leaves");
	spread(h);
	host_write(h, 5 * LEAF + 7, 2, true);
	host_write(h, 600 * LEAF + 7, 2, true);
	lose_page(h, 1, 0);
}

/*
 * The log holds writes below the page. They are not lost. All other blocks below it are, and no
 * block elsewhere.
 */
static void read_without_page_above(struct script *t)
{
	struct host *h = &t->host;

	host_read_check(h, 5 * LEAF + 7);
	host_read_check(h, 600 * LEAF + 8);
	expect_eio(h, 5 * LEAF + 300);
	expect_eio(h, 511 * LEAF);
	host_read_check(h, 512 * LEAF);
	if (h->pool->sb->poisoned_blocks != 512 * LEAF - 2)
		sim_fail("%llu blocks are durably poisoned", h->pool->sb->poisoned_blocks);
}

static void write_and_silence_page_above(struct script *t)
{
	struct host *h = &t->host;
	u64 at;

	spread(h);
	host_write(h, 5 * LEAF + 7, 2, true);
	at = page_at(h, 1, 0);
	rot(0, at);
}

/*
 * One leg does not answer: it may have the page, so the start is refused and nothing poisoned;
 * later all is there.
 */
static void silent_leg_at_start(struct script *t)
{
	if (t->lives == 1)
		return;
	disks_fault(FAULT_READ_EIO, 1, disks.img[1].blocks ? KVP_LABEL_BLOCKS : 0,
		    KVP_LABEL_BLOCKS + 4096);
	if (!host_start(&t->host, &t->o, &t->start))
		sim_fail("started, although a leg that does not answer may have the page");
	disks.nr_faults = 0;
}

/* The same for a moment: that leg fails the first reads of its table. Later all is there. */
static void leg_silent_for_a_moment_at_start(struct script *t)
{
	u32 i;

	if (t->lives == 1)
		return;
	for (i = 0; i < 3; i++)
		disks_fault(FAULT_READ_EIO, 1, KVP_LABEL_BLOCKS, KVP_LABEL_BLOCKS + 4096)->times =
			1 + i;
}

static void read_below_page_above(struct script *t)
{
	struct host *h = &t->host;

	host_read_each(h, 5 * LEAF, LEAF);
	if (h->pool->table->poisoned)
		sim_fail("%llu blocks are poisoned", h->pool->table->poisoned);
}

/* --- legs that hang ------------------------------------------------------------ */

#define HELD 5

/* As a user's bio reads: it is no flight. */
struct own_read {
	struct kvp_io io;
	struct page *page;
	bool over;
};

static void own_read_done(struct kvp_io *io)
{
	struct own_read *r = io->private;

	kvp_leg_unchoose(io->leg);
	r->over = true;
}

static void own_read(struct own_read *r, struct host *h, u64 block)
{
	struct kvp_spot at = kvp_locate(h->pool, block);

	memset(r, 0, sizeof(*r));
	r->page = alloc_page(GFP_KERNEL);
	r->io = (struct kvp_io){
		.leg = kvp_leg_choose(&at, 1), .op = KVP_IO_READ, .nr = 1,
		.pages = &r->page, .block = kvp_home_block(h->pool, block),
		.done = own_read_done, .private = r,
	};
	kvp_io_submit(&r->io);
}

/*
 * Readers' own requests are no flights, and nothing else is asked of the leg. New reads avoid it
 * all the same, though it has less to do, and in the end it is taken out.
 */
static void reads_avoid_a_leg_that_hangs(struct script *t)
{
	struct host *h = &t->host;
	struct own_read held, later[HELD];
	u32 i;

	spread(h);
	disks.hung[1] = true;
	own_read(&held, h, HELD * LEAF + 300);
	host_sleep(2500);
	if (held.over)
		sim_fail("the block was read from another leg: this test is about nothing");
	for (i = 0; i < HELD; i++)
		own_read(&later[i], h, i * LEAF + 300);
	host_sleep(500);
	for (i = 0; i < HELD; i++)
		if (!later[i].over || later[i].io.error)
			sim_fail("a new read waits for the leg that hangs, or failed: %d",
				 later[i].io.error);
	host_sleep(40000);
	if (kvp_leg_in_sync(host_leg(h, 1)))
		sim_fail("a leg that keeps a read for 40 seconds is in use");
	disks_wake(1);
	host_sleep(100);
	if (!held.over || held.io.error)
		sim_fail("the read that was kept ended with %d", held.io.error);
	__free_page(held.page);
	for (i = 0; i < HELD; i++)
		__free_page(later[i].page);
}

/* A read of a leg that was just given up does not wait. */
static void leg_that_was_left_just_now(struct script *t)
{
	struct host *h = &t->host;
	struct kvp_leg *leg = host_leg(h, 1);
	struct page *page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	unsigned long before;
	int error;

	spread(h);
	disks.hung[1] = true;
	if (!kvp_leg_fail(leg, "a test"))
		sim_fail("the leg was not given up");
	host_sleep(50);
	before = jiffies;
	error = kvp_io_page(leg, KVP_IO_WRITE_FUA, disks.data_start, page);
	if (error != -ETIMEDOUT || time_after(jiffies, before + HZ))
		sim_fail("it ended with %d after %lu jiffies", error, jiffies - before);
	disks_wake(1);
	__free_page(page);
}

/*
 * Without memory each request takes a bio of the reserve. A leg that hangs keeps some, also as
 * strays, but none that requests to the other leg need.
 */
static void strays_keep_no_more_than_their_share(struct script *t)
{
	u32 i, all = KVP_BIO_SHARE * disks.nr;
	struct host *h = &t->host;
	struct kvp_leg *leg = host_leg(h, 1);
	struct kvp_io_group group;
	struct page *page = alloc_page(GFP_KERNEL);
	struct kvp_io ios[2 * KVP_BIO_SHARE];

	spread(h);
	disks.hung[1] = true;
	disks.no_memory = true;
	kvp_io_group_init(&group);
	for (i = 0; i < all; i++) {
		ios[i] = (struct kvp_io){ .leg = leg, .op = KVP_IO_READ,
			.block = disks.data_start + i,
					  .nr = 1, .pages = &page };
		kvp_io_group_submit(&group, &ios[i]);
	}
	kvp_io_group_wait(&group);
	for (i = 0; i < all; i++)
		if (ios[i].error != -ETIMEDOUT)
			sim_fail("the request to the leg ended with %d", ios[i].error);
	host_sleep(10);
	if (kvp_strays(h->pool) != KVP_BIO_SHARE || disks.reserved != KVP_BIO_SHARE)
		sim_fail("%u strays, and %u bios of the reserve", kvp_strays(h->pool), disks.reserved);
	for (i = 0; i < HELD; i++)
		host_write(h, i * LEAF + 300, 1, i % 2);
	host_checkpoint(h);
	host_read_each(h, 300, 1);
	disks_wake(1);
	host_sleep(100);
	if (disks.reserved)
		sim_fail("%u bios of the reserve are not back", disks.reserved);
	disks.no_memory = false;
	__free_page(page);
}

/* Without reads where a leg may be out and a read needs one page more: that waits for memory. */
static void keep_all_busy(struct script *t, u32 round)
{
	struct host *h = &t->host;
	u32 leaf;

	for (leaf = 0; leaf < LEAVES; leaf++)
		host_write(h, leaf * LEAF + 17 * round, round == 1 ? 40 : 2, leaf % 3 == 2);
	host_flush(h);
	host_checkpoint(h);
	for (leaf = 0; !t->start.parity && leaf < LEAVES; leaf++)
		host_read_check(h, leaf * LEAF + 300);
}

/* So long the watch sees the leg's requests, and finds memory. */
static void refill(struct host *h)
{
	u32 i;

	for (i = 0; i < 4; i++) {
		host_write(h, 300, 1, true);
		host_sleep(1100);
	}
}

static u32 shares_of(const struct host *h, u32 leg)
{
	return READ_ONCE(h->pool->flights->shares[leg].nr);
}

/*
 * No memory, also none for flights, and a leg that hangs: all that waits goes on when the leg is
 * left, and long requests go in pieces. The strays leave the reserve of the leg, which gets another
 * one when there is memory (R24, R28).
 */
static void leg_hangs_without_memory(struct script *t)
{
	struct host *h = &t->host;
	u32 last = disks.nr - 1, strays, round;
	unsigned long before;

	spread(h);
	sim_memory_short = 1000;
	keep_all_busy(t, 0);
	if (shares_of(h, last) != KVP_FLIGHT_SHARE)
		sim_fail("a leg that answers has %u flights in reserve", shares_of(h, last));
	disks.hung[last] = true;
	before = jiffies;
	keep_all_busy(t, 1);
	if (kvp_leg_in_sync(host_leg(h, last)) || time_after(jiffies, before + 100 * HZ))
		sim_fail("the leg that hangs is in use after %lu jiffies", jiffies - before);
	strays = kvp_strays(h->pool);
	if (!strays || strays > KVP_FLIGHT_SHARE || shares_of(h, last) != KVP_FLIGHT_SHARE - strays)
		sim_fail("%u strays, and %u in reserve", strays, shares_of(h, last));
	keep_all_busy(t, 2);
	sim_memory_short = 0;
	refill(h);
	for (round = 0; round < disks.nr; round++)
		if (shares_of(h, round) != KVP_FLIGHT_SHARE)
			sim_fail("leg %u has %u in reserve", round, shares_of(h, round));
	disks_wake(last);
	host_sleep(100);
	if (kvp_strays(h->pool))
		sim_fail("%u strays are not back", kvp_strays(h->pool));
}

#define LONG	37	/* blocks: more than a flight of the reserve has, and no multiple of that */

static void long_requests(struct host *h, enum kvp_io_op op, u64 block, struct page **pages)
{
	struct kvp_io_group group;
	struct kvp_io ios[3];
	u32 i;

	kvp_io_group_init(&group);
	for (i = 0; i < ARRAY_SIZE(ios); i++) {
		ios[i] = (struct kvp_io){ .leg = host_leg(h, 1), .op = op, .nr = LONG,
					  .block = block + LONG * i, .pages = &pages[LONG * i] };
		kvp_io_group_submit(&group, &ios[i]);
	}
	kvp_io_group_wait(&group);
	for (i = 0; i < ARRAY_SIZE(ios); i++)
		if (ios[i].error)
			sim_fail("request %u ended with %d", i, ios[i].error);
}

/*
 * Three want the two flights that a leg has in reserve: they wait, and go in pieces. Where a write
 * with FUA is a write and a flush, its flush follows its last piece.
 */
static void long_requests_without_memory(struct script *t)
{
	u64 block = disks.data_start + BLOCKS - 3 * LONG;	/* never written */
	struct page *out[3 * LONG], *in[3 * LONG];
	u32 i, flushes;
	u8 on_disk[KVP_BLOCK_SIZE];

	host_checkpoint(&t->host);
	for (i = 0; i < ARRAY_SIZE(out); i++) {
		out[i] = alloc_page(GFP_KERNEL);
		in[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		memset(page_address(out[i]), (int)i + 1, KVP_BLOCK_SIZE);
	}
	flushes = disks.flushes;
	sim_memory_short = 1000;
	long_requests(&t->host, KVP_IO_WRITE_FUA, block, out);
	if (disks.flushes != flushes + (disks.fua == FUA_NONE ? 3 : 0))
		sim_fail("%u flushes were sent behind three writes", disks.flushes - flushes);
	long_requests(&t->host, KVP_IO_READ, block, in);
	sim_memory_short = 0;
	for (i = 0; i < ARRAY_SIZE(out); i++) {
		image_read(&disks.img[1], block + i, on_disk);
		if (memcmp(page_address(out[i]), on_disk, KVP_BLOCK_SIZE))
			sim_fail("block %u was not written", i);
		if (memcmp(page_address(in[i]), on_disk, KVP_BLOCK_SIZE))
			sim_fail("block %u was not read", i);
		__free_page(out[i]);
		__free_page(in[i]);
	}
}

/* The same without a leg. */
static void degraded_without_memory(struct script *t)
{
	u32 round;

	spread(&t->host);
	if (!kvp_leg_fail(host_leg(&t->host, disks.nr - 1), "a test"))
		sim_fail("the leg was not given up");
	sim_memory_short = 1000;
	for (round = 0; round < 3; round++)
		keep_all_busy(t, round);
	sim_memory_short = 0;
}

/* --- a page that is being written ------------------------------------------------------- */

static void checkpoint_main(void *arg)
{
	struct script *t = arg;

	host_checkpoint(&t->host);
	beside.over = true;
}

/* No copy of the leaf could be made for the checkpoint, so the leaf itself is written. */
static void begin_to_write_leaf(struct script *t, u64 block)
{
	struct host *h = &t->host;
	u32 i;

	host_write(h, block, 30, false);
	host_flush(h);
	for (i = 0; i < t->start.legs; i++)
		disks_stall(i, disks.table_start, disks.log_start - 1);
	sim_memory_short = 1000;
	beside.over = false;
	sim_spawn("checkpoint", checkpoint_main, t);
	while (!disks_wait())
		host_sleep(1);
	sim_memory_short = 0;
}

/*
 * One write goes home below two leaves. The first may change; the second is being written, and must
 * not change meanwhile.
 */
static void second_of_two_leaves_is_being_written(struct script *t)
{
	struct host *h = &t->host;
	struct kvp_tpage *leaf;
	u64 border = 6 * LEAF;

	begin_to_write_leaf(t, border);
	host_write_by_intent(h, border - 32, 128);
	leaf = kvp_table_load(h->pool->table, border);
	if (IS_ERR(leaf) || !test_bit(KVP_TPAGE_WRITING, &leaf->flags) || leaf->fixed)
		sim_fail("the leaf is not being written: the case was not set up");
	if (kvp_entry_state(kvp_table_entry(leaf, border + 31)) !=
	    KVP_ENTRY_UNWRITTEN)
		sim_fail("the leaf changes while it is being written");
	disks_release_all();
	while (!beside.over)
		host_sleep(1);
	host_checkpoint(h);
	if (kvp_entry_state(kvp_table_entry(leaf, border + 31)) != KVP_ENTRY_VALID)
		sim_fail("the write was not written home");
	kvp_table_put(leaf);
	host_read_check(h, border - 32);
	host_read_check(h, border + 31);
}

/* Of many blocks that go home, one is held: those before it are written home, and it does not. */
static void destage_meets_a_held_range(struct script *t)
{
	struct host *h = &t->host;
	struct kvp_range range;
	u32 i;

	for (i = 0; i < 60; i++)
		host_write(h, 100 + 20 * i, 1, false);
	host_flush(h);
	kvp_range_lock(&h->pool->ranges, &range, 90 + 20 * 50, 110 + 20 * 50);
	beside.over = false;
	sim_spawn("checkpoint", checkpoint_main, t);
	host_sleep(500);
	for (i = 0; i < 60; i++) {
		bool waits = kvp_wbuf_any(h->pool->wbuf, 100 + 20 * i, 1);

		if (waits != (i >= 50))
			sim_fail("version %u is %s", i, waits ? "not home" : "home");
	}
	kvp_range_unlock(&h->pool->ranges, &range);
	while (!beside.over)
		host_sleep(1);
	for (i = 0; i < 60; i++)
		host_read_check(h, 100 + 20 * i);
	if (kvp_wbuf_any(h->pool->wbuf, 100, 20 * 60))
		sim_fail("not all was written home");
}

/* --- a long read that failed, piece by piece ----------------------------------------------- */

#define A_MIB		256u	/* blocks of it, within a leaf */

struct again {
	struct kvp_pieces p;
	u8 data[KVP_PIECE_BLOCKS][KVP_BLOCK_SIZE];
	u32 nr, good, bad;		/* blocks given; pieces */
};

static void give_one(void *to, struct page *page)
{
	struct again *a = to;

	memcpy(a->data[a->nr++], page_address(page), KVP_BLOCK_SIZE);
}

/* What a piece gives is the same as block by block. Of a piece that is not given nothing is. */
static void read_again(struct host *h, struct again *a, u64 first, u32 requests)
{
	u32 before = disks.reads, n, i;
	char why[160];
	u64 block;

	a->good = a->bad = 0;
	for (block = first; block < first + A_MIB; block += n) {
		n = kvp_piece_blocks(h->pool, block, (u32)(first + A_MIB - block));
		a->nr = 0;
		if (kvp_piece_read(h->pool, &a->p, block, n, give_one, a))
			a->bad++;
		else
			a->good++;
		for (i = 0; i < a->nr; i++)
			if (!oracle_current(h->o, block + i, a->data[i],
					    oracle_accepted(h->o, block + i), why))
				sim_fail("a piece: %s", why);
		if (a->nr && a->nr != n)
			sim_fail("%u of %u blocks were given", a->nr, n);
	}
	if (disks.reads - before > requests)
		sim_fail("%u requests, not %u", disks.reads - before, requests);
}

static void expect_pieces(const struct again *a, u32 good, u32 bad)
{
	if (a->good != good || a->bad != bad)
		sim_fail("%u pieces are good, %u are not; not %u and %u", a->good, a->bad, good, bad);
}

static void write_long(struct host *h, u64 first)
{
	u32 i;

	for (i = 0; i < A_MIB; i += 32)
		host_write(h, first + i, 32, false);
	host_checkpoint(h);
	host_discard(h, first + 3, 2);
	host_checkpoint(h);
}

/* Of a mirror: one bad sector, then a leg that gives nothing, then a block in the buffer. */
static void pieces_of_a_long_read(struct script *t)
{
	struct again *a = kzalloc(sizeof(*a), GFP_KERNEL);
	struct host *h = &t->host;
	u64 first = 2 * LEAF + 64;

	write_long(h, first);
	a->p.failed = &h->pool->legs[1];
	disks_fault(FAULT_READ_EIO, 1, disks.data_start + first + 100,
		    disks.data_start + first + 100);
	read_again(h, a, first, 8);
	expect_pieces(a, 7, 1);
	if (a->p.failed != &h->pool->legs[1] || a->p.strikes != 1)
		sim_fail("the leg has %u strikes", a->p.strikes);
	a->p.strikes = 0;
	host_write(h, first + 200, 1, false);
	read_again(h, a, first, 7);
	expect_pieces(a, 6, 2);
	host_checkpoint(h);
	/* From the third piece on the other leg is asked. */
	disks_fault(FAULT_READ_EIO, 1, disks.data_start, ~0ull);
	a->p.strikes = 0;
	read_again(h, a, first, 8);
	expect_pieces(a, 6, 2);
	/* It has rotten blocks, and nothing else is there. */
	rot(0, disks.data_start + first + 250);
	read_again(h, a, first, 8);
	expect_pieces(a, 7, 1);
	disks.nr_faults = 0;
	kfree(a);
}

/* Of a parity1: what a leg does not give is made from the others. */
static void pieces_of_a_long_read_of_rows(struct script *t)
{
	struct again *a = kzalloc(sizeof(*a), GFP_KERNEL);
	struct host *h = &t->host;
	u64 first = 2 * LEAF;

	write_long(h, first);
	read_again(h, a, first, A_MIB);
	expect_pieces(a, a->good, 0);
	disks_fault(FAULT_READ_EIO, 1, 0, ~0ull);
	read_again(h, a, first, 3 * A_MIB);
	expect_pieces(a, a->good, 2);
	if (a->p.failed != &h->pool->legs[1])
		sim_fail("another leg failed");
	disks.nr_faults = 0;
	kfree(a);
}

void run_trouble(void)
{
	static const struct host_start mirror = { .legs = 2 },
		parity = { .legs = 3, .parity = true, .grown = true };

	trouble(NAMED(leg_hangs_without_memory), 2);
	lives_of("leg_hangs_without_memory_on_a_parity1", leg_hangs_without_memory, NULL,
		 &parity, LEG_BLOCKS);
	sim_fua = FUA_NONE;
	trouble("leg_hangs_without_memory_or_fua", leg_hangs_without_memory, 2);
	trouble("long_requests_without_memory_or_fua", long_requests_without_memory, 2);
	sim_fua = FUA_OWN;
	trouble(NAMED(long_requests_without_memory), 2);
	trouble(NAMED(degraded_without_memory), 2);
	trouble(NAMED(second_of_two_leaves_is_being_written), 2);
	trouble(NAMED(destage_meets_a_held_range), 2);
	trouble(NAMED(pieces_of_a_long_read), 2);
	lives_of("pieces_of_a_long_read_of_rows", pieces_of_a_long_read_of_rows, NULL, &parity, LEG_BLOCKS);
	lives_of("degraded_without_memory_on_a_parity1", degraded_without_memory, NULL, &parity,
		 LEG_BLOCKS);
	lives_of("progress_without_memory_on_a_parity1", progress_without_memory, NULL, &parity,
		 LEG_BLOCKS);
	trouble(NAMED(strays_keep_no_more_than_their_share), 2);
	trouble(NAMED(reads_avoid_a_leg_that_hangs), 2);
	trouble(NAMED(leg_that_was_left_just_now), 2);
	trouble(NAMED(scrub_since_a_checkpoint), 2);
	trouble(NAMED(scrub_notes_how_far_it_is), 2);
	trouble(NAMED(scrub_without_memory), 2);
	trouble(NAMED(progress_without_memory), 2);
	trouble("progress_without_memory_on_a_single", progress_without_memory, 1);
	trouble(NAMED(flush_waits_for_fresh_poison), 2);
	trouble("flush_waits_for_fresh_poison_on_a_single", flush_waits_for_fresh_poison, 1);
	trouble(NAMED(copy_that_may_come_back), 2);
	trouble(NAMED(poison_that_makes_up_for_poison), 2);
	trouble(NAMED(lost_leaf_while_running), 2);
	trouble("lost_leaf_while_running_on_a_single", lost_leaf_while_running, 1);
	trouble(NAMED(single_heals_its_table), 1);
	trouble(NAMED(leaf_that_may_come_back), 2);
	two_lives("lost_leaf_at_start", write_and_lose_leaf, read_without_leaf, 2, LEG_BLOCKS);
	two_lives("lost_page_above_at_start", write_and_lose_page_above, read_without_page_above,
		  2, 3 * 262144);
	lives("silent_page_above_at_start", write_and_silence_page_above, read_below_page_above,
	      silent_leg_at_start, &mirror, 3 * 262144, false);
	lives("page_above_silent_for_a_moment_at_start", write_and_silence_page_above,
	      read_below_page_above, leg_silent_for_a_moment_at_start, &mirror, 3 * 262144, false);
	run_refused();
}
