// SPDX-License-Identifier: GPL-2.0-only
/*
 * A leg of a parity1 that is in use is replaced: a shadow gets all that the leg has, and takes its
 * place. Until then the leg is a source, and nothing is read from the shadow. Afterwards any leg
 * can be lost. The power goes at every step.
 */
#include <stdlib.h>
#include <string.h>

#include "life.h"
#include "suite.h"
#include "core/vdev.h"
#include "format/spare.h"
#include "pool/spare.h"
#include "super/members.h"
#include "table/table.h"
#include "work/resilver.h"

#define NAMED(function) #function, function

/* The pool, and the first leg of its parity1. */
static const struct shape {
	const char *name;
	struct host_start start;
	u32 first, n;
} shapes[] = {
	{ "parity1", { .legs = 3, .parity = true }, 0, 3 },
	{ "parity1-of-4", { .legs = 4, .parity = true }, 0, 4 },
	{ "parity1-and-mirror", { .legs = 5, .parity = true, .second = 2 }, 0, 3 },
	{ "mirror-and-parity1", { .legs = 5, .second = 3, .second_parity = true }, 2, 3 },
	{ "parity1-and-cache", { .legs = 4, .parity = true, .cache = 1 }, 0, 3 },
};

struct life {
	const struct shape *shape;
	void (*run)(struct life *l);
	u32 order;		/* number of this life, of several */
	struct host host;
	struct host_start start, before;
	u8 on[MAX_DISKS], taken_on[MAX_DISKS];
	u32 at, old, new, disks;	/* the leg, its disk, the new one, and how many there are */
	struct oracle o;
	struct crash crash;
	struct rng rng;
	u32 blocks, from, taken_at;
	struct life_writer writer;
	bool untraced;		/* contents of disks, without a trace of that */
};

/* --- a life ------------------------------------------------------------------------- */

static void begin(struct life *l)
{
	if (host_start(&l->host, &l->o, &l->start))
		sim_fail("start: %s", l->host.refusal.why);
}

static void stop(struct life *l)
{
	host_flush(&l->host);
	host_stop(&l->host);
}

static void again(struct life *l)
{
	stop(l);
	begin(l);
}

static struct kvp_leg *old_leg(struct life *l)
{
	return &l->host.pool->legs[l->at];
}

static struct kvp_leg *shadow(struct life *l)
{
	return &l->host.pool->shadow;
}

/* What the pool says of itself holds while a label of the new disk is on its way, too. */
static void expect_own_superblock(struct life *l)
{
	const struct kvp_sb *sb = l->host.pool->sb;

	if (!sb->epoch || sb->flags & KVP_SB_JOINING || sb->legs[l->at].state != KVP_LEG_IN_SYNC)
		sim_fail("the pool's superblock has become the label of the new disk");
}

static void set_rate(struct life *l, u64 rate)
{
	if (kvp_pool_set(l->host.pool, KVP_T_RESILVER_RATE, rate))
		sim_fail("resilver_rate is not set");
}

static void expect_in_sync(struct life *l)
{
	struct kvp_pool *pool = l->host.pool;
	u32 i;

	for (i = 0; i < pool->nr_legs; i++)
		if (!kvp_leg_in_sync(&pool->legs[i]) || pool->legs[i].index != i ||
		    pool->legs[i].bdev != &disks.bdev[host_disk(&l->start, i)])
			sim_fail("leg %u is %s, in state %u", i, pool->legs[i].path, pool->legs[i].state);
}

static void blank_disk(struct life *l, u32 disk)
{
	l->untraced = true;
	life_blank_disk(disk);
}

/* --- the changes ----------------------------------------------------------------- */

static int try_shadow(struct life *l, u32 leg, u32 disk)
{
	struct host_start hs = l->start;
	u8 uuid[16];
	int ret;

	memcpy(uuid, l->host.pool->sb->legs[leg].uuid, sizeof(uuid));
	hs.replaces = uuid;
	hs.shadow = disk + 1;
	ret = host_shadow(&l->host, &hs);
	if (!ret)
		l->start.shadow = disk + 1;
	return ret;
}

static void add_shadow(struct life *l)
{
	u32 survives = kvp_losses_survivable(l->host.pool);

	if (try_shadow(l, l->at, l->new))
		sim_fail("no shadow: %s", l->host.refusal.why);
	if (kvp_losses_survivable(l->host.pool) != survives || !kvp_leg_in_sync(old_leg(l)))
		sim_fail("the pool survives the loss of %u legs, not %u",
			 kvp_losses_survivable(l->host.pool), survives);
}

/* The same, but so slowly that the test can look at it half way. There are blocks to copy. */
static void add_shadow_slowly(struct life *l)
{
	host_write(&l->host, l->shape->first ? l->blocks - 64 : 64, 40, false);
	host_flush(&l->host);
	set_rate(l, 64 << 10);
	add_shadow(l);
	host_sleep(300);
	if (!kvp_leg_resilvers(shadow(l)) || l->host.pool->shadow_ready)
		sim_fail("the shadow does not resilver: the case was not set up");
	if (!host_take_place(&l->host))
		sim_fail("the shadow takes the place before it is complete");
}

static void wait_complete(struct life *l)
{
	set_rate(l, 0);
	host_wait_resilver(&l->host);
	if (!kvp_leg_resilvers(shadow(l)) || !l->host.pool->shadow_ready)
		sim_fail("the shadow is in state %u, and %scomplete", shadow(l)->state,
			 l->host.pool->shadow_ready ? "" : "not ");
	if (!kvp_leg_in_sync(old_leg(l)))
		sim_fail("the old leg is no source any more");
}

static void taken(struct life *l)
{
	l->before = l->start;
	l->start.on = l->taken_on;
	l->start.shadow = 0;
	l->taken_at = disks.trace.nr;
}

static void take_place(struct life *l)
{
	if (host_take_place(&l->host))
		sim_fail("the shadow does not take its place: %s", l->host.refusal.why);
	taken(l);
	if (host_labelled(l->old) != disks.dead[l->old])
		sim_fail("the label of the old disk is %s", disks.dead[l->old] ? "gone" : "there");
}

static void end_well(struct life *l)
{
	wait_complete(l);
	life_writes(&l->writer, 3);
	take_place(l);
	expect_in_sync(l);
	life_expect_sound(&l->host, l->blocks);
	life_writes(&l->writer, 3);
	again(l);
	expect_in_sync(l);
	life_expect_sound(&l->host, l->blocks);
	stop(l);
}

/* --- lives ------------------------------------------------------------------------ */

/* Nothing is read from the shadow but its label. */
static void leg_is_replaced(struct life *l)
{
	struct fault *f;

	life_writes(&l->writer, 12);
	if (l->order & 1) {
		add_shadow(l);
	} else {
		add_shadow_slowly(l);
	}
	f = disks_fault(FAULT_READ_EIO, l->new, KVP_LABEL_BLOCKS,
			disks.img[l->new].blocks - KVP_LABEL_BLOCKS);
	life_writes(&l->writer, 6);
	wait_complete(l);
	life_writes(&l->writer, 3);
	life_expect_sound(&l->host, l->blocks);
	if (f->hit)
		sim_fail("the shadow was read");
	disks.nr_faults = 0;
	end_well(l);
}

static void replaced_beside_a_writer(struct life *l)
{
	life_writes(&l->writer, 10);
	life_begin_writer(&l->writer);
	add_shadow_slowly(l);
	wait_complete(l);
	host_sleep(200);
	take_place(l);
	life_end_writer(&l->writer);
	expect_in_sync(l);
	life_expect_sound(&l->host, l->blocks);
	host_flush(&l->host);
}

/* It is in the superblock, with a cursor: the next start goes on. */
static void replaced_after_a_restart(struct life *l)
{
	life_writes(&l->writer, 12);
	add_shadow_slowly(l);
	host_sleep(l->order & 1 ? 11000 : 100);
	life_writes(&l->writer, 3);
	again(l);
	life_writes(&l->writer, 3);
	if (l->order & 2) {
		wait_complete(l);
		again(l);
		life_writes(&l->writer, 3);
	}
	end_well(l);
}

/* It is another device for a while, is not there, or hangs: the order waits. */
static void shadow_is_away(struct life *l)
{
	u32 how = l->order % 3, named[] = { l->new + 2, 0, l->new + 1 };

	life_writes(&l->writer, 10);
	add_shadow_slowly(l);
	stop(l);
	l->start.shadow = named[how];
	if (how == 2)
		disks_fault(FAULT_HANG, l->new, 0, ~0ull);
	begin(l);
	life_writes(&l->writer, 4);
	host_wait_resilver(&l->host);
	/* A cancel wipes the label of the device that the pool has. */
	if (shadow(l)->v || shadow(l)->bdev || !l->host.pool->sb->shadow.of)
		sim_fail("another device is taken, or the order is gone");
	disks_wake(l->new);
	disks.nr_faults = 0;
	stop(l);
	l->start.shadow = l->new + 1;
	begin(l);
	end_well(l);
}

/* The new disk fails as it is looked at, labelled, or written to. The old leg stays. */
static void shadow_fails(struct life *l)
{
	static const u32 steps[] = { 0, 2 * KVP_LABEL_BLOCKS, 2 * KVP_LABEL_BLOCKS + 1,
				     2 * KVP_LABEL_BLOCKS + 2, 2 * KVP_LABEL_BLOCKS + 9,
				     2 * KVP_LABEL_BLOCKS + 30 };
	static const enum fault_kind kinds[] = { FAULT_WRITE_EIO, FAULT_FLUSH_EIO, FAULT_DEATH,
						 FAULT_HANG };
	bool there;

	life_writes(&l->writer, 8);
	disks_fault(kinds[l->order % 4], l->new, 0, ~0ull)->after =
		steps[(l->order + l->order / 4) % ARRAY_SIZE(steps)];
	there = !try_shadow(l, l->at, l->new);
	life_writes(&l->writer, 4);
	host_wait_resilver(&l->host);
	expect_in_sync(l);
	disks_wake(l->new);
	disks.nr_faults = 0;
	disks.dead[l->new] = false;
	host_sleep(50);
	if (there && !kvp_leg_resilvers(shadow(l)) && !host_take_place(&l->host))
		sim_fail("a shadow that has failed takes a place");
	if (there && host_forget_shadow(&l->host))
		sim_fail("not cancelled: %s", l->host.refusal.why);
	l->start.shadow = 0;
	/* The watch may have found it late when it was still there. */
	kvp_leg_give_up(shadow(l), "does not answer");
	expect_in_sync(l);
	blank_disk(l, l->new);
	add_shadow(l);
	end_well(l);
}

/* The new disk has no space, or no memory, for two seconds, once it has its label: that passes. */
static void shadow_short_for_a_time(struct life *l)
{
	struct fault *f;

	life_writes(&l->writer, 8);
	f = disks_fault(FAULT_WRITE_ONCE, l->new, KVP_LABEL_BLOCKS, ~0ull);
	f->error = l->order % 2 ? -ENOMEM : -ENOSPC;
	f->after = 2 + 9 * l->order;
	f->times = 20;
	add_shadow(l);
	life_writes(&l->writer, 6);
	end_well(l);
	if (!f->hit)
		sim_fail("no write found the disk short: the case was not set up");
}

/* The old leg is lost: the shadow has what its cursor says, and gets the rest from the others. */
static void old_leg_fails(struct life *l)
{
	life_writes(&l->writer, 10);
	if (l->order & 1)
		add_shadow(l);
	else
		add_shadow_slowly(l);
	if (l->order & 1)
		wait_complete(l);
	disks_kill(l->old);
	life_writes(&l->writer, 6);
	while (kvp_leg_in_sync(old_leg(l)))
		host_sleep(10);
	if (kvp_leg_resilvers(shadow(l)))
		sim_fail("the shadow is written to, and its leg is not");
	life_writes(&l->writer, 3);
	if (l->order & 2) {
		l->start.missing = BIT(l->at);
		again(l);
		l->start.missing = 0;
		life_writes(&l->writer, 2);
	}
	take_place(l);
	set_rate(l, 0);
	host_wait_resilver(&l->host);
	expect_in_sync(l);
	life_expect_sound(&l->host, l->blocks);
	again(l);
	expect_in_sync(l);
	life_expect_sound(&l->host, l->blocks);
	host_flush(&l->host);
}

/* It is out for a while, and returns: then the shadow goes on. */
static void old_leg_returns(struct life *l)
{
	life_writes(&l->writer, 10);
	if (l->order & 1) {
		add_shadow(l);
		wait_complete(l);
	} else {
		add_shadow_slowly(l);
	}
	if (kvp_leg_offline(l->host.pool, old_leg(l)))
		sim_fail("the leg does not leave");
	life_writes(&l->writer, 6);
	host_sleep(1100);
	life_writes(&l->writer, 3);
	if (host_online(&l->host, l->old))
		sim_fail("the leg does not return: %s", l->host.refusal.why);
	end_well(l);
}

/* Another leg is out: the shadow goes on, and takes its place beside it. */
static void other_leg_is_out(struct life *l)
{
	u32 other = l->shape->first + (l->at - l->shape->first + 1) % l->shape->n;

	life_writes(&l->writer, 10);
	if (l->order & 1)
		add_shadow_slowly(l);
	if (kvp_leg_offline(l->host.pool, &l->host.pool->legs[other]))
		sim_fail("the leg does not leave");
	life_writes(&l->writer, 6);
	if (!(l->order & 1))
		add_shadow_slowly(l);
	if (l->order & 2) {
		wait_complete(l);
		take_place(l);
		life_writes(&l->writer, 3);
	}
	if (host_online(&l->host, host_disk(&l->start, other)))
		sim_fail("the leg does not return: %s", l->host.refusal.why);
	life_writes(&l->writer, 3);
	if (!(l->order & 2)) {
		end_well(l);
		return;
	}
	set_rate(l, 0);
	host_wait_resilver(&l->host);
	expect_in_sync(l);
	life_expect_sound(&l->host, l->blocks);
	host_flush(&l->host);
}

/* Bad blocks on the old leg: the shadow gets good ones. */
static void old_leg_is_rotten(struct life *l)
{
	const struct kvp_geometry *g = l->host.pool->legs[l->at].v->g;
	u8 rot[KVP_BLOCK_SIZE];
	u64 block;

	life_writes(&l->writer, 14);
	host_destage(&l->host);
	host_sleep(2000);
	memset(rot, 0x5a, sizeof(rot));
	for (block = g->data_start; block < g->data_start + g->data_blocks / (l->shape->n - 1);
	     block += 3)
		if (image_blk(&disks.img[l->old], block))
			image_write_data(&disks.img[l->old], block, rot);
	kvp_table_shrink(l->host.pool->table, true);
	l->untraced = true;
	add_shadow(l);
	end_well(l);
}

/* The old disk is back with its label when its place is taken. */
static void old_disk_comes_back(struct life *l)
{
	struct host_start hs;

	life_writes(&l->writer, 8);
	add_shadow(l);
	wait_complete(l);
	disks_kill(l->old);
	if (!kvp_leg_in_sync(old_leg(l)))
		sim_fail("the leg has left: the case was not set up");
	/* Its loss may be noticed first. */
	if (host_take_place(&l->host))
		sim_fail("the shadow does not take its place: %s", l->host.refusal.why);
	taken(l);
	host_wait_resilver(&l->host);
	expect_in_sync(l);
	life_writes(&l->writer, 3);
	stop(l);
	disks.dead[l->old] = false;
	hs = l->before;
	if (!host_start(&l->host, &l->o, &hs))
		sim_fail("started with a leg that has left");
	hs.degraded = true;
	if (!host_start(&l->host, &l->o, &hs))
		sim_fail("started by force with a leg that has left");
	begin(l);
	expect_in_sync(l);
	life_expect_sound(&l->host, l->blocks);
	stop(l);
}

/* Superblocks, until one has the slot of @sequence; then the new disk takes what it has kept. */
static void take_late(struct life *l, u64 sequence)
{
	struct kvp_pool *pool = l->host.pool;
	struct host_start hs;

	while (pool->sb->sequence % KVP_SB_RING != sequence % KVP_SB_RING)
		if (kvp_pool_set_comment(pool, "x"))
			sim_fail("no superblock");
	disks_release(l->new);
	host_sleep(50);
	stop(l);
	disks.nr_faults = 0;
	hs = l->start;
	hs.on = l->taken_on;
	hs.shadow = 0;
	if (!host_start(&l->host, &l->o, &hs))
		sim_fail("the shadow passes for the leg that it is to replace");
	begin(l);
	expect_in_sync(l);
	stop(l);
}

static void keep_superblock(struct life *l, u64 sequence)
{
	u64 blocks = disks.img[l->new].blocks, at;
	u32 end;

	for (end = 0; end < 2; end++) {
		at = kvp_sb_slot_offset(blocks, end, sequence % KVP_SB_RING) >> KVP_BLOCK_SHIFT;
		disks_stall(l->new, at, at + KVP_SB_BLOCKS - 1);
	}
}

/*
 * The new disk keeps the write of a label, and takes it late: it must not carry another leg's
 * label.
 */
static void label_comes_late(struct life *l)
{
	u64 label;
	u32 i;

	life_writes(&l->writer, 10);
	add_shadow_slowly(l);
	label = shadow(l)->has_sequence + 1;
	keep_superblock(l, label);
	for (i = 0; i < 200 && kvp_leg_resilvers(shadow(l)); i++) {
		expect_own_superblock(l);
		host_sleep(1000);
	}
	if (kvp_leg_resilvers(shadow(l)))
		sim_fail("the shadow is not left: the case was not set up");
	take_late(l, label);
}

static u64 kept;

static void keep_the_last(struct host *h)
{
	struct life *l = container_of(h, struct life, host);

	kept = h->pool->sb->sequence + 1;
	keep_superblock(l, kept);
}

/* It keeps the superblock that makes it a leg, so that is undone. */
static void superblock_comes_late(struct life *l)
{
	life_writes(&l->writer, 10);
	add_shadow(l);
	wait_complete(l);
	l->host.quiesced = keep_the_last;
	if (!host_take_place(&l->host))
		sim_fail("the place is taken, and the new leg has no superblock");
	expect_in_sync(l);
	take_late(l, kept);
}

/* It is written to, and its walk does not end. */
static void go_on_for_a_while(struct life *l)
{
	u32 i;

	sim_slow = "kvpool-scrub";
	begin(l);
	while (!kvp_leg_resilvers(shadow(l)))
		host_sleep(1);
	for (i = 0; i < 30; i++)
		life_write(&l->writer);
	host_destage(&l->host);
	if (l->host.pool->shadow_ready)
		sim_fail("the shadow is complete: the case was not set up");
	sim_slow = NULL;
	/* By then it is complete, and has another label for that. */
	if (l->order & 1)
		host_sleep(11000);
	stop(l);
}

/* The legs are put back to an older state together, and the shadow is not. */
static void legs_are_put_back(struct life *l)
{
	struct image img[MAX_DISKS];
	u64 block;
	u32 i;

	for (block = 0; block + 32 <= l->blocks; block += 32)
		host_write(&l->host, block, 32, false);
	add_shadow(l);
	wait_complete(l);
	stop(l);
	for (i = 0; i < l->start.legs; i++)
		image_copy(&img[i], &disks.img[i]);
	go_on_for_a_while(l);
	for (i = 0; i < l->start.legs; i++) {
		image_free(&disks.img[i]);
		disks.img[i] = img[i];
		watch_forget(i);
	}
	l->untraced = true;
	begin(l);
	wait_complete(l);
	take_place(l);
	life_expect_scrubbed(&l->host);
	stop(l);
}

static void keep_from_joining(struct host *h)
{
	mutex_lock(&h->pool->checkpoint_lock);
}

/*
 * A write by intent is with the old leg, and not with the shadow, when that joins. The walk would
 * pass its blocks.
 */
static void home_write_is_held(struct life *l)
{
	const struct kvp_geometry *g = old_leg(l)->v->g;
	struct kvp_pool *pool = l->host.pool;
	u32 i;

	host_checkpoint(&l->host);
	host_sleep(1100);
	host_checkpoint(&l->host);
	l->host.quiesced = keep_from_joining;
	add_shadow(l);
	if (kvp_leg_resilvers(shadow(l)))
		sim_fail("the shadow has joined: the case was not set up");
	disks_stall(l->old, g->data_start, g->data_start + g->data_blocks / (l->shape->n - 1));
	disks.stalls_writes = true;
	host_write(&l->host, l->shape->first ? l->blocks - 64 : 64, 40, false);
	for (i = 0; i < 100 && !disks_wait(); i++)
		host_sleep(50);
	if (!disks_wait())
		sim_fail("no write is on its way home: the case was not set up");
	mutex_unlock(&pool->checkpoint_lock);
	while (!kvp_leg_resilvers(shadow(l)))
		host_sleep(1);
	host_sleep(200);
	if (pool->shadow_ready)
		sim_fail("the shadow is complete, and a write for it is not home");
	disks_release(l->old);
	disks.stalls_writes = false;
	wait_complete(l);
	take_place(l);
	life_expect_sound(&l->host, l->blocks);
	stop(l);
}

static u32 next_leg(const struct life *l)
{
	return l->shape->first + (l->at - l->shape->first + 1) % l->shape->n;
}

/* Some rows, on two legs. All is home: nothing needs their blocks to write others. */
static void rows_cannot_be_read(struct host *h)
{
	struct life *l = container_of(h, struct life, host);
	u64 start = old_leg(l)->v->g->data_start;

	disks_fault(FAULT_READ_EIO, l->old, start, start + 3);
	disks_fault(FAULT_READ_EIO, host_disk(&l->start, next_leg(l)), start, start + 3);
}

/* Blocks that no leg gives now are left for later; another leg joins before that. */
static void other_leg_joins_over_holes(struct life *l)
{
	u32 other = next_leg(l), i;

	for (i = 0; i + 32 <= l->blocks; i += 32)
		host_write(&l->host, i, 32, false);
	host_destage(&l->host);
	host_sleep(1100);
	life_writes(&l->writer, 2);
	kvp_table_shrink(l->host.pool->table, true);
	l->host.quiesced = rows_cannot_be_read;
	add_shadow(l);
	for (i = 0; i < 100 && !l->host.pool->resilver->skipped.nr; i++)
		host_sleep(10);
	if (!l->host.pool->resilver->skipped.nr)
		sim_fail("nothing is left for later: the case was not set up");
	if (kvp_leg_offline(l->host.pool, &l->host.pool->legs[other]))
		sim_fail("the leg does not leave");
	host_write(&l->host, l->blocks / 2, 20, false);
	disks.nr_faults = 0;
	if (host_online(&l->host, host_disk(&l->start, other)))
		sim_fail("the leg does not return: %s", l->host.refusal.why);
	end_well(l);
}

static void replace_is_cancelled(struct life *l)
{
	life_writes(&l->writer, 8);
	if (l->order & 1) {
		add_shadow(l);
		wait_complete(l);
	} else {
		add_shadow_slowly(l);
	}
	if (host_forget_shadow(&l->host))
		sim_fail("not cancelled: %s", l->host.refusal.why);
	l->start.shadow = 0;
	if (host_labelled(l->new))
		sim_fail("the label of the new disk is there");
	life_writes(&l->writer, 3);
	expect_in_sync(l);
	again(l);
	expect_in_sync(l);
	life_expect_sound(&l->host, l->blocks);
	blank_disk(l, l->new);
	add_shadow(l);
	end_well(l);
}

static void expect_refused(int ret, int error, const char *word, const struct life *l)
{
	if (ret != error || !strstr(l->host.refusal.why, word))
		sim_fail("%d, not %d: %s", ret, error, l->host.refusal.why);
}

/* Another device does not take the place at once: the shadow has more. */
static void refused_to_be_substituted(struct life *l)
{
	struct host_start hs = l->start;
	u8 on[MAX_DISKS];

	memcpy(on, l->on, sizeof(on));
	on[l->at] = (u8)(l->new + 1);
	hs.on = on;
	if (kvp_leg_offline(l->host.pool, old_leg(l)))
		sim_fail("the leg does not leave");
	expect_refused(host_replace(&l->host, &hs), -EBUSY, "another device has part", l);
	if (host_online(&l->host, l->old))
		sim_fail("the leg does not return: %s", l->host.refusal.why);
}

/* The device would take requests for blocks that the pool has not. */
static void refused_as_table_is_longer(struct life *l)
{
	l->start.table_blocks = l->host.pool->sb->pool_blocks + 1;
	expect_refused(try_shadow(l, l->at, l->new), -EINVAL, "not as long", l);
	l->start.table_blocks = 0;
}

static void refused_to_be_shadow(struct life *l)
{
	struct image *new = &disks.img[l->new];
	u64 blocks = new->blocks;
	u8 data[KVP_BLOCK_SIZE] = { 1 };

	refused_as_table_is_longer(l);
	expect_refused(host_take_place(&l->host), -EINVAL, "no device", l);
	expect_refused(host_forget_shadow(&l->host), -EINVAL, "no leg", l);
	expect_refused(try_shadow(l, l->at, host_disk(&l->start, (l->at + 1) % l->start.legs)),
		       -EINVAL,
		       "no new device", l);
	if (l->start.second || l->start.cache)
		expect_refused(try_shadow(l, l->shape->first ? 0 : l->shape->n, l->new), -EINVAL,
			       "no parity1", l);
	new->blocks = kvp_leg_least(old_leg(l)->v->g) - 1;
	expect_refused(try_shadow(l, l->at, l->new), -ENOSPC, "needs", l);
	new->blocks = blocks;
	image_write_data(new, blocks - 3, data);
	expect_refused(try_shadow(l, l->at, l->new), -EEXIST, "not blank", l);
	blank_disk(l, l->new);
	life_writes(&l->writer, 10);
	add_shadow_slowly(l);
	expect_refused(try_shadow(l, l->at, l->new + 1), -EBUSY, "already", l);
	expect_refused(host_larger(&l->host, &l->start), -EBUSY, "being replaced", l);
	refused_to_be_substituted(l);
	end_well(l);
}

/* --- superblocks that fail ---------------------------------------------------------- */

/* The superblock after the next @skip fails in ring @end of @leg. */
static void fail_in_ring(const struct kvp_leg *leg, u32 skip, u32 end)
{
	u64 sequence = leg->pool->sb->sequence + 1 + skip;
	u64 at = kvp_sb_slot_offset(leg->size_blocks, end, sequence % KVP_SB_RING) >>
		 KVP_BLOCK_SHIFT;

	disks_fault(FAULT_WRITE_EIO, leg->bdev->index, at, at + KVP_SB_BLOCKS - 1);
}

/* The same in both rings. */
static void fail_superblock(const struct kvp_leg *leg, u32 skip)
{
	fail_in_ring(leg, skip, 0);
	fail_in_ring(leg, skip, 1);
}

/* The next superblock fails on all legs of the parity1 that stay. */
static void fail_on_all(struct host *h)
{
	const struct kvp_leg *old = kvp_shadowed(h->pool);
	u32 i;

	for (i = 0; i < old->v->nr_legs; i++)
		if (&old->v->legs[i] != old)
			fail_superblock(&old->v->legs[i], 0);
}

/* On one of them. Its label says that the pool can do without the shadow. */
static void fail_on_one(struct host *h)
{
	const struct kvp_leg *old = kvp_shadowed(h->pool), *legs = old->v->legs;

	fail_superblock(old == legs ? &legs[1] : legs, 0);
}

static void fail_on_shadow(struct host *h)
{
	fail_superblock(&h->pool->shadow, 0);
}

/* And another leg does not get the one that undoes that: it did not go on without the old leg. */
static void fail_on_shadow_and_then_on_another(struct host *h)
{
	const struct kvp_leg *old = kvp_shadowed(h->pool), *legs = old->v->legs;

	fail_on_shadow(h);
	fail_superblock(old == legs ? &legs[1] : legs, 2);
}

static void not_taken_as_superblocks_fail(struct life *l)
{
	static void (*const fail[])(struct host *h) = {
		fail_on_all, fail_on_shadow, fail_on_shadow_and_then_on_another, fail_on_one,
	};
	const struct kvp_leg *old;
	u64 epoch;

	life_writes(&l->writer, 8);
	add_shadow(l);
	wait_complete(l);
	epoch = l->host.pool->sb->epoch;
	l->host.quiesced = fail[l->order % ARRAY_SIZE(fail)];
	if (!host_take_place(&l->host))
		sim_fail("the place is taken without a superblock");
	/* Other legs may have a superblock without the old leg: it is newer than that. */
	old = kvp_shadowed(l->host.pool);
	if (l->host.pool->sb->legs[old->index].in_sync_epoch <= epoch)
		sim_fail("the old leg is in sync again, and its superblock does not say so");
	if (kvp_pool_faulted(l->host.pool))
		sim_fail("the pool is faulted: %s", l->host.refusal.why);
	disks.nr_faults = 0;
	/* One leg that the pool can spare is out by that. */
	again(l);
	host_wait_resilver(&l->host);
	expect_in_sync(l);
	life_writes(&l->writer, 3);
	life_expect_sound(&l->host, l->blocks);
	if (host_forget_shadow(&l->host))
		sim_fail("not cancelled: %s", l->host.refusal.why);
	l->start.shadow = 0;
	blank_disk(l, l->new);
	add_shadow(l);
	end_well(l);
}

static void fail_in_one_ring_of_shadow(struct host *h)
{
	struct life *l = container_of(h, struct life, host);

	fail_in_ring(&h->pool->shadow, 0, l->order % 2);
}

/* A bad sector in one ring of the new disk: the superblock that makes it a leg is in the other. */
static void taken_with_a_bad_sector(struct life *l)
{
	life_writes(&l->writer, 8);
	add_shadow(l);
	wait_complete(l);
	l->from = disks.trace.nr;
	l->host.quiesced = fail_in_one_ring_of_shadow;
	take_place(l);
	if (!disks.faults[0].hit)
		sim_fail("no superblock failed: the case was not set up");
	expect_in_sync(l);
	life_writes(&l->writer, 3);
	again(l);
	expect_in_sync(l);
	life_expect_sound(&l->host, l->blocks);
	stop(l);
}

/* No leg of the parity1 but the old one takes a superblock any more: that is not undone, either. */
static void fail_for_good(struct host *h)
{
	const struct kvp_leg *old = kvp_shadowed(h->pool);
	u32 i;

	for (i = 0; i < old->v->nr_legs; i++)
		if (&old->v->legs[i] != old) {
			u64 blocks = old->v->legs[i].size_blocks;
			u32 disk = old->v->legs[i].bdev->index;

			disks_fault(FAULT_WRITE_EIO, disk, 0, KVP_LABEL_BLOCKS - 1);
			disks_fault(FAULT_WRITE_EIO, disk, blocks - KVP_LABEL_BLOCKS, blocks - 1);
		}
}

static void not_undone_as_superblocks_fail(struct life *l)
{
	life_writes(&l->writer, 8);
	add_shadow(l);
	wait_complete(l);
	l->host.quiesced = fail_for_good;
	if (!host_take_place(&l->host))
		sim_fail("the place is taken without a superblock");
	if (!kvp_pool_faulted(l->host.pool))
		sim_fail("the pool goes on without a superblock");
	host_stop(&l->host);
	disks.nr_faults = 0;
	begin(l);
	host_wait_resilver(&l->host);
	expect_in_sync(l);
	life_writes(&l->writer, 3);
	life_expect_sound(&l->host, l->blocks);
	if (host_forget_shadow(&l->host))
		sim_fail("not cancelled: %s", l->host.refusal.why);
	l->start.shadow = 0;
	blank_disk(l, l->new);
	add_shadow(l);
	end_well(l);
}

/* The superblock with the order comes to too few legs. */
static void fail_order(struct host *h)
{
	struct life *l = container_of(h, struct life, host);
	const struct kvp_leg *old = old_leg(l);
	u32 i;

	for (i = 0; i < old->v->nr_legs; i++)
		if (&old->v->legs[i] != old)
			fail_superblock(&old->v->legs[i], 0);
}

/* The new disk is a spare, which the pool lists, beside another one. */
static void make_spare(struct life *l)
{
	struct image *img = &disks.img[l->new];
	struct kvp_spare s = { .size_blocks = img->blocks, .uuid = { 5 } };
	u8 other[16] = { 6 };
	u32 end;

	l->untraced = true;
	memcpy(s.pool_uuid, l->host.pool->sb->pool_uuid, sizeof(s.pool_uuid));
	if (kvp_spare_note(l->host.pool, s.uuid, true) || kvp_spare_note(l->host.pool, other, true))
		sim_fail("the spares are not listed");
	for (end = 0; end < 2; end++)
		life_label_spare(img, &s, end);
}

static bool is_listed(const struct life *l, u8 number)
{
	u8 uuid[16] = { number };

	return kvp_spares_find(l->host.pool->sb, uuid) < KVP_MAX_SPARES;
}

static void order_fails(struct life *l)
{
	life_writes(&l->writer, 8);
	make_spare(l);
	l->host.quiesced = fail_order;
	if (!try_shadow(l, l->at, l->new))
		sim_fail("there is an order without a superblock");
	disks.nr_faults = 0;
	if (host_labelled(l->new))
		sim_fail("the label of the new disk is there");
	if (!is_listed(l, 5) || !is_listed(l, 6))
		sim_fail("the spare is blank, and is not missed");
	again(l);
	host_wait_resilver(&l->host);
	expect_in_sync(l);
	/* As it is: it is blank. */
	add_shadow(l);
	end_well(l);
}

static void spare_is_shadow(struct life *l)
{
	life_writes(&l->writer, 8);
	make_spare(l);
	add_shadow(l);
	if (is_listed(l, 5) || !is_listed(l, 6))
		sim_fail("the shadow is listed as a spare, or the other spare is not");
	end_well(l);
}

static void keep_label(struct host *h)
{
	keep_superblock(container_of(h, struct life, host), h->pool->sb->sequence);
}

/* It has kept a write since it was to be a shadow before. */
static void shadow_has_strays(struct life *l)
{
	life_writes(&l->writer, 8);
	l->host.quiesced = keep_label;
	if (!try_shadow(l, l->at, l->new))
		sim_fail("there is a shadow without a label");
	expect_refused(try_shadow(l, l->at, l->new), -EBUSY, "has not answered", l);
	disks_release(l->new);
	host_sleep(50);
	blank_disk(l, l->new);
	add_shadow(l);
	end_well(l);
}

/* --- to be cut everywhere ------------------------------------------------------------ */

static void cut_shadowed(struct life *l)
{
	life_writes(&l->writer, 4);
	l->from = disks.trace.nr;
	add_shadow(l);
	life_writes(&l->writer, 2);
	wait_complete(l);
	life_writes(&l->writer, 2);
	stop(l);
}

/* With a cursor in the middle. */
static void cut_shadowed_slowly(struct life *l)
{
	life_writes(&l->writer, 6);
	add_shadow_slowly(l);
	l->from = disks.trace.nr;
	host_sleep(11000);
	life_writes(&l->writer, 3);
	wait_complete(l);
	stop(l);
}

static void cut_taken(struct life *l)
{
	life_writes(&l->writer, 4);
	add_shadow(l);
	wait_complete(l);
	life_writes(&l->writer, 2);
	l->from = disks.trace.nr;
	take_place(l);
	life_writes(&l->writer, 2);
	stop(l);
}

/* --- all of them ---------------------------------------------------------------------------- */

static void life_main(void *arg)
{
	struct life *l = arg;

	l->start.format = true;
	begin(l);
	l->start.format = false;
	if (kvp_pool_set(l->host.pool, KVP_T_ONLINE_AUTO, 1))
		sim_fail("online_auto is not set");
	l->blocks = min_t(u64, l->o.blocks, l->host.pool->sb->pool_blocks);
	l->writer = (struct life_writer){ &l->host, &l->rng, l->blocks };
	l->run(l);
}

static void set_up(struct life *l, const struct shape *s, u64 seed)
{
	const struct host_start *hs = &s->start;
	u32 i;

	l->shape = s;
	l->start = *hs;
	l->at = s->first + l->order % s->n;
	l->disks = hs->legs + 2;
	l->old = l->at;
	l->new = hs->legs;
	l->rng.s = mix64(seed, 47);
	for (i = 0; i < MAX_DISKS; i++)
		l->on[i] = l->taken_on[i] = (u8)i;
	l->taken_on[l->at] = (u8)l->new;
	l->start.on = l->on;
	oracle_init(&l->o, hs->second ? host_boundary(hs) + 64 : POOL_BLOCKS);
}

static bool live(struct life *l, u64 seed)
{
	struct image img[MAX_DISKS];
	struct sim_config config;
	enum sim_end end;
	u32 i;

	check_seed_config(&config, seed);
	blank_disks(img, l->disks, POOL_LEG_BLOCKS);
	disks_begin(img, l->disks);
	end = sim_run(&config, life_main, l);
	disks_end();
	for (i = 0; i < l->disks; i++)
		image_free(&img[i]);
	check_stats.machines++;
	return end == SIM_RETURNED;
}

/* As the life ended. */
static void set_crash(struct life *l)
{
	const struct host_start *hs = &l->start;

	l->crash = (struct crash){ .legs = hs->legs, .parity = hs->parity, .second = hs->second,
				   .second_parity = hs->second_parity, .cache = hs->cache,
				   .on = hs->on, .shadow = hs->shadow, .taken_on = l->taken_on,
				   .spare = l->disks - hs->legs, .o = &l->o, .returns = true };
}

/* @run on shape @s, some times, in other orders; any leg can be lost after it. */
static void lives(const char *what, void (*run)(struct life *l), const struct shape *s, u32 times)
{
	struct life *l = calloc(1, sizeof(*l));
	char name[96];
	bool good = true;
	u32 i;

	snprintf(name, sizeof(name), "shadow:%s:%s", s->name, what);
	for (i = 0; wanted(name) && good && i < (opt.thorough ? 8 * times : times); i++) {
		memset(l, 0, sizeof(*l));
		l->run = run;
		l->order = i;
		set_up(l, s, mix64(opt.seed, 8600 + i));
		good = live(l, mix64(opt.seed, 8600 + i));
		set_crash(l);
		if (good && !l->untraced)
			good = !cut_sampled(name, &l->crash, disks.trace.nr, CHECK_LEGS, 1);
		if (!good)
			fprintf(stderr, "# %s: order %u\n", name, i);
		oracle_free(&l->o);
	}
	if (wanted(name))
		result(name, good);
	free(l);
}

/* Cut what @run left at about @positions, from l->from on. */
static void cut_life(const char *what, void (*run)(struct life *l), const struct shape *s,
		     u32 positions)
{
	struct life *l = calloc(1, sizeof(*l));
	char name[96];
	bool good;

	snprintf(name, sizeof(name), "shadow:%s:%s-cut", s->name, what);
	if (wanted(name)) {
		l->run = run;
		l->order = opt.seed % s->n;
		set_up(l, s, opt.seed);
		good = live(l, mix64(opt.seed, 8700));
		set_crash(l);
		if (l->taken_at) {
			l->crash.before = &l->before;
			l->crash.changes_at = l->taken_at;
		}
		if (good)
			good = !cut_sampled(name, &l->crash, l->from, CHECK_RECRASH,
					    opt.thorough ? 16 * positions : positions);
		result(name, good);
		oracle_free(&l->o);
	}
	free(l);
}

static void shadow_of(const struct shape *s)
{
	lives(NAMED(leg_is_replaced), s, 3);
	lives(NAMED(replaced_beside_a_writer), s, 2);
	lives(NAMED(replaced_after_a_restart), s, 4);
	lives(NAMED(shadow_is_away), s, 3);
	lives(NAMED(shadow_fails), s, s->start.legs == 3 ? 16 : 2);
	lives(NAMED(shadow_short_for_a_time), s, 2);
	lives(NAMED(old_leg_fails), s, 4);
	lives(NAMED(old_leg_returns), s, 2);
	lives(NAMED(other_leg_is_out), s, 4);
	lives(NAMED(old_leg_is_rotten), s, 2);
	lives(NAMED(old_disk_comes_back), s, 1);
	lives(NAMED(label_comes_late), s, 1);
	lives(NAMED(superblock_comes_late), s, 1);
	lives(NAMED(legs_are_put_back), s, 2);
	lives(NAMED(home_write_is_held), s, 1);
	lives(NAMED(other_leg_joins_over_holes), s, 1);
	lives(NAMED(replace_is_cancelled), s, 2);
	lives(NAMED(refused_to_be_shadow), s, 1);
	lives(NAMED(not_taken_as_superblocks_fail), s, 4);
	lives(NAMED(taken_with_a_bad_sector), s, 2);
	lives(NAMED(not_undone_as_superblocks_fail), s, 1);
	lives(NAMED(order_fails), s, 1);
	lives(NAMED(spare_is_shadow), s, 1);
	lives(NAMED(shadow_has_strays), s, 1);
	cut_life(NAMED(cut_shadowed), s, 6);
	cut_life(NAMED(cut_shadowed_slowly), s, 4);
	cut_life(NAMED(cut_taken), s, 6);
	cut_life(NAMED(taken_with_a_bad_sector), s, 4);
}

void run_shadow(void)
{
	const struct shape *s;

	for (s = shapes; s < shapes + ARRAY_SIZE(shapes); s++)
		shadow_of(s);
}
