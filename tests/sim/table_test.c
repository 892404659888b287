// SPDX-License-Identifier: GPL-2.0-only
/*
 * The checksum table alone, without a pool: entries, checkpoints, eviction, pages that are bad on
 * some legs or lost on all, and loads without memory.
 */
#include <linux/mm.h>

#include "core/core.h"
#include "core/stats.h"
#include "format/regions.h"
#include "kinds/kinds.h"
#include "ram/rcache.h"
#include "suite.h"
#include "table/ssdcopy.h"
#include "table/table.h"

#define LEGS		2u	/* of the mirror that most cases have */
#define MOST_LEGS	3u	/* of a parity1 */
#define LEG_BLOCKS	40960u	/* 160 MiB: more leaves than pages in reserve */
#define LEAF		512u	/* blocks below one leaf */
#define BUDGET		1024u
#define CRC		0x1234u

/* All that a table needs, and what it told. */
struct alone {
	struct kvp_sb sb;
	struct kvp_vdevs vdevs;
	struct kvp_leg legs[MOST_LEGS];
	u32 nr_legs;
	struct kvp_rcache rcache;
	struct kvp_stats __percpu *stats;
	struct kvp_ssdcopies copies;
	struct kvp_work_stats work_stats;
	unsigned long flags;
	struct mutex checkpoint_lock;
	struct kvp_table t;
	u32 made_durable, healed, lost, silent;
	u64 given_up;		/* blocks */
};

/* --- what it tells -------------------------------------------------------------------- */

static int make_poison_durable(void *of)
{
	struct alone *a = of;

	a->made_durable++;
	return 0;
}

static void healed(void *of, struct kvp_leg *leg, u32 level, u64 index)
{
	struct alone *a = of;

	a->healed++;
}

static void lost(void *of, const struct kvp_table_part *page)
{
	struct alone *a = of;

	a->lost++;
}

static void silent(void *of, const struct kvp_table_part *page)
{
	struct alone *a = of;

	a->silent++;
}

static void given_up(void *of, const struct kvp_tpage *tp, kvp_block_t first, u64 blocks)
{
	struct alone *a = of;

	a->given_up += blocks;
}

/* --- a table, and what is done with it ------------------------------------------------ */

/* Begin with the roots that the superblock has. */
static void begin(struct alone *a)
{
	const struct kvp_table_client client = {
		.vdevs = &a->vdevs, .flags = &a->flags, .checkpoint_lock = &a->checkpoint_lock,
		.rcache = &a->rcache, .copies = &a->copies, .stats = &a->work_stats, .of = a,
		.make_poison_durable = make_poison_durable, .healed = healed, .lost = lost,
		.silent = silent, .given_up = given_up,
	};

	memset(&a->t, 0, sizeof(a->t));
	if (kvp_table_init(&a->t, &client, BUDGET))
		sim_fail("there is no table");
}

/* As after a power cut: memory is gone. */
static void begin_again(struct alone *a)
{
	kvp_table_exit(&a->t);
	begin(a);
}

static void lay_out(struct alone *a)
{
	struct kvp_why why;

	if (a->nr_legs > LEGS ?
	    kvp_layout(KVP_VDEV_PARITY1, a->nr_legs, LEG_BLOCKS, 0, 0, &a->sb.vdevs[0], &why) :
	    kvp_layout(KVP_VDEV_MIRROR, a->nr_legs, LEG_BLOCKS, 0, 0, &a->sb.vdevs[0], &why))
		sim_fail("no layout: %s", why.text);
	a->sb.vdev_count = 1;
	a->sb.leg_count = a->nr_legs;
	a->sb.nonce = 99;
	if (kvp_regions_lay_out(&a->sb))
		sim_fail("there are no regions");
	a->sb.pool_blocks = kvp_map_blocks(&a->sb.map);
	a->sb.root_count = kvp_root_count(&a->sb.vdevs[0]);
}

static struct alone *make(u32 legs)
{
	struct alone *a = kzalloc(sizeof(*a), GFP_KERNEL);
	u32 i;

	a->nr_legs = legs;
	lay_out(a);
	for (i = 0; i < legs; i++) {
		a->legs[i].index = i;
		a->legs[i].bdev = &disks.bdev[i];
		a->legs[i].state = KVP_LEG_IN_SYNC;
	}
	kvp_vdevs_make(&a->vdevs, &a->sb, NULL, a->legs, kvp_vdev_ops_of);
	a->stats = alloc_percpu(struct kvp_stats);
	if (kvp_rcache_init(&a->rcache, a->stats) || kvp_rcache_resize(&a->rcache, 64))
		sim_fail("there is no RAM cache");
	kvp_ssdcopy_init(&a->copies, &a->flags, &a->work_stats);
	mutex_init(&a->checkpoint_lock);
	begin(a);
	return a;
}

static void drop(struct alone *a)
{
	kvp_table_exit(&a->t);
	kvp_ssdcopy_exit(&a->copies);
	kvp_rcache_exit(&a->rcache);
	free_percpu(a->stats);
	kfree(a);
}

static struct kvp_tpage *load(struct alone *a, u64 block)
{
	struct kvp_tpage *leaf = kvp_table_load(&a->t, kvp_block(block));

	if (IS_ERR(leaf))
		sim_fail("the leaf of block %llu cannot be loaded: %ld", block, PTR_ERR(leaf));
	return leaf;
}

static void set(struct alone *a, u64 block, u32 crc, enum kvp_entry_state state)
{
	struct kvp_tpage *leaf = load(a, block);

	kvp_table_set(&a->t, leaf, kvp_block(block), crc, state);
	kvp_table_put(leaf);
}

static void expect_entry(struct alone *a, u64 block, u32 crc, enum kvp_entry_state state)
{
	struct kvp_tpage *leaf = load(a, block);
	u64 entry = kvp_table_entry(leaf, kvp_block(block));

	kvp_table_put(leaf);
	if (kvp_entry_state(entry) != state ||
	    (state == KVP_ENTRY_VALID && kvp_entry_crc(entry) != crc))
		sim_fail("block %llu has entry %llx", block, (unsigned long long)entry);
}

static void expect_error(struct alone *a, u64 block, int error)
{
	struct kvp_tpage *leaf = kvp_table_load(&a->t, kvp_block(block));

	if (leaf != ERR_PTR(error))
		sim_fail("a load that must fail with %d gives %ld", error, (long)leaf);
}

static void snapshot(struct alone *a, struct list_head *pages)
{
	mutex_lock(&a->checkpoint_lock);
	a->sb.era = kvp_table_snapshot(&a->t, pages);
}

/* The superblock that becomes durable is a->sb. */
static void finish(struct alone *a, struct list_head *pages, int error)
{
	if (kvp_table_write(&a->t, pages))
		sim_fail("a checkpoint fails");
	if (!error)
		kvp_table_note(&a->t, &a->sb);
	kvp_table_written(&a->t, pages, error);
	mutex_unlock(&a->checkpoint_lock);
}

static void checkpoint(struct alone *a)
{
	LIST_HEAD(pages);

	snapshot(a, &pages);
	finish(a, &pages, 0);
}

static void expect_clean(struct alone *a, bool clean)
{
	if (kvp_table_forget(&a->t) != clean)
		sim_fail("pages are %s in memory", clean ? "still" : "not");
}

/* The copies on @leg of the page of @level above @block get other contents. */
static void damage(struct alone *a, u32 leg, u32 level, u64 block)
{
	const struct kvp_geometry *g = &a->sb.vdevs[0];
	struct kvp_tpage *leaf = load(a, block), *tp = leaf;
	u8 rot[KVP_BLOCK_SIZE];
	u32 copy;

	while (tp->level < level)
		tp = tp->parent;
	memset(rot, 0x5a, sizeof(rot));
	for (copy = 0; copy < kvp_page_copies(g); copy++) {
		struct kvp_place at = kvp_page_place(g, level, tp->index,
						     kvp_ptr_slot(tp->durable), copy);

		if (at.leg == leg)
			image_write_data(&disks.img[leg], kvp_lblock_nr(at.block), rot);
	}
	kvp_table_put(leaf);
}

/* --- cases ---------------------------------------------------------------------------- */

static void entries(struct alone *a)
{
	u32 token = kvp_rcache_token(&a->rcache, kvp_block(7), 1);
	struct kvp_table_figures f;
	struct kvp_tpage *leaf;
	kvp_block_t next;

	expect_entry(a, 7, 0, KVP_ENTRY_UNWRITTEN);
	set(a, 7, CRC, KVP_ENTRY_VALID);
	set(a, 3 * LEAF, CRC + 1, KVP_ENTRY_VALID);
	expect_entry(a, 7, CRC, KVP_ENTRY_VALID);
	expect_entry(a, 8, 0, KVP_ENTRY_UNWRITTEN);
	if (kvp_rcache_token(&a->rcache, kvp_block(7), 1) == token)
		sim_fail("the RAM cache was not told of a change");
	expect_clean(a, false);
	leaf = load(a, 7);
	checkpoint(a);
	expect_clean(a, false);		/* a reader has a leaf */
	kvp_table_put(leaf);
	expect_clean(a, true);
	kvp_table_figures(&a->t, &f);
	if (f.written != 2 || f.poisoned || f.pages || f.budget != BUDGET)
		sim_fail("%llu blocks are written", (unsigned long long)f.written);
	expect_entry(a, 7, CRC, KVP_ENTRY_VALID);
	if (!atomic64_read(&a->work_stats.page_reads))
		sim_fail("no page was read again");
	if (kvp_table_next_written(&a->t, kvp_block(LEAF), &next) || next != kvp_block(3 * LEAF))
		sim_fail("the next written block is %llu", kvp_block_nr(next));
	begin_again(a);
	expect_entry(a, 3 * LEAF, CRC + 1, KVP_ENTRY_VALID);
}

/* What changes after the snapshot belongs to the next checkpoint. */
static void snapshots(struct alone *a)
{
	LIST_HEAD(pages);

	set(a, 7, CRC, KVP_ENTRY_VALID);
	snapshot(a, &pages);
	set(a, 7, CRC + 1, KVP_ENTRY_VALID);
	set(a, 8, CRC, KVP_ENTRY_VALID);
	finish(a, &pages, 0);
	expect_clean(a, false);
	if (a->sb.written_blocks != 1)
		sim_fail("%llu blocks were written at the snapshot", a->sb.written_blocks);
	begin_again(a);
	expect_entry(a, 7, CRC, KVP_ENTRY_VALID);
	expect_entry(a, 8, 0, KVP_ENTRY_UNWRITTEN);

	/* The superblock fails: the old one names pages that were not written to. */
	set(a, 8, CRC, KVP_ENTRY_VALID);
	snapshot(a, &pages);
	finish(a, &pages, -EIO);
	expect_clean(a, false);
	begin_again(a);
	expect_entry(a, 7, CRC, KVP_ENTRY_VALID);
	expect_entry(a, 8, 0, KVP_ENTRY_UNWRITTEN);

	/* Or memory lasts: the pages stay dirty, and the next checkpoint writes them. */
	set(a, 8, CRC, KVP_ENTRY_VALID);
	snapshot(a, &pages);
	finish(a, &pages, -EIO);
	checkpoint(a);
	expect_clean(a, true);
	begin_again(a);
	expect_entry(a, 8, CRC, KVP_ENTRY_VALID);
}

/* No leg takes a page: it stays dirty. */
static void failed_writes(struct alone *a)
{
	LIST_HEAD(pages);

	set(a, 7, CRC, KVP_ENTRY_VALID);
	disks_fault(FAULT_WRITE_EIO, 0, 0, LEG_BLOCKS - 1);
	disks_fault(FAULT_WRITE_EIO, 1, 0, LEG_BLOCKS - 1);
	snapshot(a, &pages);
	if (kvp_table_write(&a->t, &pages) != -EIO)
		sim_fail("pages are written that no leg takes");
	kvp_table_written(&a->t, &pages, -EIO);
	mutex_unlock(&a->checkpoint_lock);
	disks.nr_faults = 0;
	expect_clean(a, false);
	checkpoint(a);
	begin_again(a);
	expect_entry(a, 7, CRC, KVP_ENTRY_VALID);
}

static void discard(struct alone *a, u64 own, u64 end)
{
	struct kvp_vdev *v = &a->vdevs.v[0];
	kvp_vblock_t at = kvp_vblock(own);

	mutex_lock(&a->checkpoint_lock);
	while (kvp_vblock_before(at, kvp_vblock(end)))
		if (kvp_table_discard(&a->t, v, &at,
				      kvp_table_discard_reach(&a->t, v, at, kvp_vblock(end))) < 0)
			sim_fail("a discard fails");
	mutex_unlock(&a->checkpoint_lock);
}

/* A leaf in part, and one as a whole. */
static void discards(struct alone *a)
{
	struct kvp_table_figures f;

	set(a, 7, CRC, KVP_ENTRY_VALID);
	set(a, 8, CRC, KVP_ENTRY_VALID);
	set(a, LEAF, CRC, KVP_ENTRY_VALID);
	checkpoint(a);
	expect_clean(a, true);
	discard(a, 8, 2 * LEAF);
	expect_entry(a, 7, CRC, KVP_ENTRY_VALID);
	expect_entry(a, 8, 0, KVP_ENTRY_UNWRITTEN);
	expect_entry(a, LEAF, 0, KVP_ENTRY_UNWRITTEN);
	begin_again(a);
	expect_entry(a, 8, CRC, KVP_ENTRY_VALID);
	discard(a, 0, 2 * LEAF);
	checkpoint(a);
	begin_again(a);
	expect_entry(a, 7, 0, KVP_ENTRY_UNWRITTEN);
	expect_entry(a, LEAF, 0, KVP_ENTRY_UNWRITTEN);
	kvp_table_figures(&a->t, &f);
	if (f.written)
		sim_fail("%llu blocks are written", (unsigned long long)f.written);
}

/* Of leaf n, leg n is asked first. */
static void heals(struct alone *a)
{
	u32 leg;

	for (leg = 0; leg < LEGS; leg++)
		set(a, leg * LEAF, CRC + leg, KVP_ENTRY_VALID);
	checkpoint(a);
	for (leg = 0; leg < LEGS; leg++) {
		damage(a, leg, 0, leg * LEAF);
		expect_clean(a, true);
		expect_entry(a, leg * LEAF, CRC + leg, KVP_ENTRY_VALID);
		if (a->healed != leg + 1)
			sim_fail("a bad copy was not healed");
		/* What was healed is all that is left. */
		damage(a, 1 - leg, 0, leg * LEAF);
		expect_clean(a, true);
		expect_entry(a, leg * LEAF, CRC + leg, KVP_ENTRY_VALID);
	}
	if (a->lost)
		sim_fail("a page is lost that a leg has");
}

/* No leg has the leaf: its blocks are poisoned, and stay so over checkpoints. */
static void loses_a_leaf(struct alone *a)
{
	u32 leg, poisonings = kvp_table_poisonings(&a->t);
	struct kvp_table_figures f;
	kvp_block_t next;

	set(a, LEAF + 7, CRC, KVP_ENTRY_VALID);
	checkpoint(a);
	for (leg = 0; leg < LEGS; leg++)
		damage(a, leg, 0, LEAF + 7);
	expect_clean(a, true);
	set_bit(KVP_POOL_READONLY, &a->flags);
	expect_error(a, LEAF + 7, -EIO);
	clear_bit(KVP_POOL_READONLY, &a->flags);
	expect_entry(a, LEAF + 7, 0, KVP_ENTRY_POISONED);
	expect_entry(a, LEAF + 8, 0, KVP_ENTRY_POISONED);
	kvp_table_figures(&a->t, &f);
	if (a->lost != 1 || f.poisoned != LEAF)
		sim_fail("%u pages are lost, and %llu blocks", a->lost, f.poisoned);
	if (kvp_table_last_lost(&a->t)->blocks != LEAF)
		sim_fail("the lost page has no name");
	if (kvp_table_next_poisoned(&a->t, kvp_block(0), &next) || next != kvp_block(LEAF))
		sim_fail("the first poisoned block is %llu", kvp_block_nr(next));
	set_bit(KVP_POOL_SUSPENDING, &a->flags);
	if (kvp_table_next_poisoned(&a->t, kvp_block(0), &next) != -EINTR)
		sim_fail("a suspend waits for a search");
	clear_bit(KVP_POOL_SUSPENDING, &a->flags);
	if (kvp_table_poison_durable(&a->t, kvp_table_poisonings(&a->t)) ||
	    kvp_table_poisonings(&a->t) == poisonings)
		sim_fail("poison is durable before a checkpoint");
	checkpoint(a);
	if (!kvp_table_poison_durable(&a->t, kvp_table_poisonings(&a->t)))
		sim_fail("poison is not durable after a checkpoint");
	begin_again(a);
	expect_entry(a, LEAF + 7, 0, KVP_ENTRY_POISONED);
}

/* A lost page above the leaves: reads fail, and it is given up by order only. */
static void gives_up_a_page(struct alone *a)
{
	struct kvp_table_figures f;
	u32 leg;

	set(a, 7, CRC, KVP_ENTRY_VALID);
	checkpoint(a);
	if (kvp_table_give_up(&a->t, kvp_block(7), false) != -ENOENT)
		sim_fail("a page is given up that is not lost");
	for (leg = 0; leg < LEGS; leg++)
		damage(a, leg, 1, 7);
	expect_clean(a, true);
	expect_error(a, 7, -EIO);
	expect_error(a, 5 * LEAF, -EIO);
	if (a->lost != 1 || a->given_up)
		sim_fail("%u pages are lost, and a read gives up %llu blocks", a->lost,
			 a->given_up);
	a->legs[1].state = KVP_LEG_STALE;
	if (kvp_table_give_up(&a->t, kvp_block(7), false) != -EBUSY)
		sim_fail("a page is given up that a leg may have which is out");
	a->legs[1].state = KVP_LEG_IN_SYNC;
	if (kvp_table_give_up(&a->t, kvp_block(7), false) || a->made_durable != 1)
		sim_fail("the lost page is not given up");
	kvp_table_figures(&a->t, &f);
	if (a->given_up != a->sb.pool_blocks || f.poisoned != a->given_up)
		sim_fail("%llu blocks are poisoned", f.poisoned);
	expect_entry(a, 5 * LEAF, 0, KVP_ENTRY_POISONED);
	checkpoint(a);
	begin_again(a);
	expect_entry(a, 7, 0, KVP_ENTRY_POISONED);
}

/* Without memory the reserve lasts for some leaves, then a checkpoint makes pages free. */
static void without_memory(struct alone *a)
{
	struct kvp_tpage *leaf;
	u32 i;

	sim_memory_short = 1000;
	for (i = 0; i < KVP_TABLE_RESERVE; i++)
		set(a, (u64)i * LEAF, CRC + i, KVP_ENTRY_VALID);
	expect_error(a, (u64)i * LEAF, -ENOMEM);
	if (kvp_table_dirty(&a->t) != KVP_TABLE_RESERVE || kvp_table_reclaim(&a->t, 1))
		sim_fail("a dirty page was reused");
	/* The snapshot finds no memory for copies: it fixes the leaves themselves. */
	checkpoint(a);
	leaf = load(a, (u64)i * LEAF);
	kvp_table_put(leaf);
	sim_memory_short = 0;
	for (i = 0; i < KVP_TABLE_RESERVE; i++)
		expect_entry(a, (u64)i * LEAF, CRC + i, KVP_ENTRY_VALID);
	kvp_table_set_budget(&a->t, 4);
	kvp_table_shrink(&a->t, false);
	kvp_table_shrink(&a->t, false);
	if (a->t.nr_pages > 4)
		sim_fail("%u pages are in memory", a->t.nr_pages);
}

/* A block of leaf @n. */
static u64 in_leaf(const struct alone *a, u32 n)
{
	return (u64)n * kvp_leaf_blocks(&a->sb.vdevs[0]) + n;
}

static void set_leaves(struct alone *a, u32 nr)
{
	u32 n;

	for (n = 0; n < a->nr_legs; n++)
		a->legs[n].rotational = true;
	for (n = 0; n < nr; n++)
		set(a, in_leaf(a, n), CRC + n, KVP_ENTRY_VALID);
	checkpoint(a);
}

/* Load leaf @n, which reads @reads pages; each block of it has the entry that it was given. */
static void expect_reads(struct alone *a, u32 n, u32 reads)
{
	u64 before = atomic64_read(&a->work_stats.page_reads);

	expect_entry(a, in_leaf(a, n), CRC + n, KVP_ENTRY_VALID);
	if (atomic64_read(&a->work_stats.page_reads) - before != reads)
		sim_fail("leaf %u took %llu reads, not %u", n,
			 (u64)atomic64_read(&a->work_stats.page_reads) - before, reads);
}

/*
 * Where legs seek, a stream reads the leaves of what comes next, each once. A leaf whose copy is
 * bad is not taken: it is read when it is needed, from another leg, and healed.
 */
static void reads_ahead(struct alone *a)
{
	u32 leg, n, above = a->sb.vdevs[0].levels - 1, healed;

	set_leaves(a, KVP_TABLE_LOAD_LOCKS + 24);
	for (leg = 0; leg < LEGS; leg++)
		damage(a, leg, 0, (20 + leg) * LEAF);
	begin_again(a);
	expect_reads(a, 10, 1 + above);	/* not a stream */
	expect_reads(a, 11, KVP_TABLE_LOAD_LOCKS);
	for (n = 12; n < 10 + KVP_TABLE_LOAD_LOCKS + 1; n++)
		if (n != 20 && n != 21)
			expect_reads(a, n, 0);
	healed = a->healed;
	expect_entry(a, 20 * LEAF + 20, CRC + 20, KVP_ENTRY_VALID);
	expect_entry(a, 21 * LEAF + 21, CRC + 21, KVP_ENTRY_VALID);
	if (a->healed != healed + 1 || a->lost)
		sim_fail("%u pages were healed, %u lost", a->healed - healed, a->lost);
	begin_again(a);
	a->legs[0].rotational = a->legs[1].rotational = false;
	expect_reads(a, 10, 1 + above);
	expect_reads(a, 11, 1);
	expect_reads(a, 12, 1);
}

/*
 * On a parity1 the leaves behind the first one have their copies on other legs. A leg that is out,
 * or slow, is not asked for them if another has a copy.
 */
static void reads_ahead_of_a_leg(struct alone *a)
{
	const u32 first = KVP_SLOT_GROUP / 2, end = first + KVP_TABLE_LOAD_LOCKS;
	u32 n, turn, reads;

	set_leaves(a, 40);
	for (turn = 0; turn < 4; turn++) {
		begin_again(a);
		a->legs[1].state = turn == 1 ? KVP_LEG_OFFLINE : KVP_LEG_IN_SYNC;
		a->legs[1].slow = turn == 2;
		a->legs[1].late = turn == 3;
		expect_entry(a, in_leaf(a, first - 1), CRC + first - 1, KVP_ENTRY_VALID);
		reads = disks.reads_of[1];
		expect_reads(a, first, KVP_TABLE_LOAD_LOCKS);
		if (disks.reads_of[1] - reads != !turn)
			sim_fail("leg 1 is read %u times in turn %u", disks.reads_of[1] - reads, turn);
		for (n = first + 1; n < end; n++)
			expect_reads(a, n, 0);
	}
}

/* --- the runner ----------------------------------------------------------------------- */

static const struct alone_case {
	const char *name;
	void (*fn)(struct alone *a);
	u32 levels, legs;
} cases[] = {
	{ "table_alone_entries", entries, 1, LEGS },
	{ "table_alone_entries_deep", entries, 2, LEGS },
	{ "table_alone_snapshots", snapshots, 1, LEGS },
	{ "table_alone_snapshots_deep", snapshots, 3, LEGS },
	{ "table_alone_failed_writes", failed_writes, 1, LEGS },
	{ "table_alone_discards", discards, 1, LEGS },
	{ "table_alone_discards_deep", discards, 2, LEGS },
	{ "table_alone_heals", heals, 1, LEGS },
	{ "table_alone_loses_a_leaf", loses_a_leaf, 1, LEGS },
	{ "table_alone_loses_a_leaf_deep", loses_a_leaf, 2, LEGS },
	{ "table_alone_gives_up_a_page", gives_up_a_page, 2, LEGS },
	{ "table_alone_without_memory", without_memory, 1, LEGS },
	{ "table_alone_reads_ahead", reads_ahead, 1, LEGS },
	{ "table_alone_reads_ahead_deep", reads_ahead, 2, LEGS },
	{ "table_alone_reads_ahead_of_a_leg", reads_ahead_of_a_leg, 1, MOST_LEGS },
	{ "table_alone_reads_ahead_of_a_leg_deep", reads_ahead_of_a_leg, 2, MOST_LEGS },
};

static void alone_main(void *arg)
{
	const struct alone_case *c = arg;
	struct alone *a = make(c->legs);

	c->fn(a);
	drop(a);
}

void table_alone_tests(void)
{
	u32 least = sim_least_levels, i, leg;
	struct image img[MOST_LEGS];

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		if (!wanted(cases[i].name))
			continue;
		sim_least_levels = cases[i].levels;
		blank_disks(img, cases[i].legs, LEG_BLOCKS);
		result(cases[i].name, run_machine(img, cases[i].legs, opt.seed, alone_main,
						  (void *)&cases[i]));
		for (leg = 0; leg < cases[i].legs; leg++)
			image_free(&img[leg]);
	}
	sim_least_levels = least;
}
