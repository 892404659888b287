// SPDX-License-Identifier: GPL-2.0-only
/*
 * A leg of a parity1 that is in use is replaced: a shadow gets all that the leg has, and takes its
 * place. Until then the leg is a source, and nothing is read from the shadow. Afterwards any leg
 * can be lost. The power goes at every step.
 */
#include <string.h>

#include "life.h"
#include "script.h"
#include "core/shadow.h"
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

/* The mirror survives two losses, so it alone carries the log. */
static const struct shape beside_the_log = {
	"parity1-beside-the-log", { .legs = 6, .parity = true, .second = 3 }, 0, 3,
};

/* What a turn knows besides its script. */
static struct {
	struct host_start before;	/* the pool as it was before the shadow took its place */
	u8 on[MAX_DISKS], taken_on[MAX_DISKS];
	u32 order;		/* decides what differs between turns */
	u32 at, old, new;	/* the leg, its disk, and the new one */
	struct rng rng;
	u32 taken_at;
	struct life_writer writer;
	u64 kept;		/* number of the superblock that the new disk has kept */
} own;

static const struct shape *own_shape;	/* of the case */

/* --- a life ------------------------------------------------------------------------- */

static void writes(u32 n)
{
	life_writes(&own.writer, n);
}

static struct kvp_leg *old_leg(struct script *l)
{
	return &l->host.pool->legs[own.at];
}

static struct kvp_leg *shadow(struct script *l)
{
	return &l->host.pool->shadow;
}

static u32 next_leg(void)
{
	return own_shape->first + (own.at - own_shape->first + 1) % own_shape->n;
}

/* What the pool says of itself holds while a label of the new disk is on its way, too. */
static void expect_own_superblock(struct script *l)
{
	const struct kvp_sb *sb = l->host.pool->sb;

	if (!sb->epoch || sb->flags & KVP_SB_JOINING || sb->legs[own.at].state != KVP_LEG_IN_SYNC)
		sim_fail("the pool's superblock has become the label of the new disk");
}

static void expect_sound(struct script *l)
{
	life_expect_in_sync(l);
	life_expect_sound(&l->host, own.writer.blocks);
}

static void wait_sound(struct script *l)
{
	host_wait_resilver(&l->host);
	expect_sound(l);
}

static void leave(struct script *l, struct kvp_leg *leg)
{
	if (kvp_leg_offline(l->host.pool, leg))
		sim_fail("the leg does not leave");
}

static void come_back(struct script *l, u32 disk)
{
	if (host_online(&l->host, disk))
		sim_fail("the leg does not return: %s", l->host.refusal.why);
}

/* --- the changes ----------------------------------------------------------------- */

static int try_shadow(struct script *l, u32 leg, u32 disk)
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

static void add_shadow(struct script *l)
{
	u32 survives = kvp_losses_survivable(l->host.pool);

	if (try_shadow(l, own.at, own.new))
		sim_fail("no shadow: %s", l->host.refusal.why);
	if (kvp_losses_survivable(l->host.pool) != survives || !kvp_leg_in_sync(old_leg(l)))
		sim_fail("the pool survives the loss of %u legs, not %u",
			 kvp_losses_survivable(l->host.pool), survives);
}

/* The same, but so slowly that the test can look at it half way. There are blocks to copy. */
static void add_shadow_slowly(struct script *l)
{
	host_write(&l->host, own_shape->first ? own.writer.blocks - 64 : 64, 40, false);
	host_flush(&l->host);
	life_set_rate(l, 64 << 10);
	add_shadow(l);
	host_sleep(300);
	if (!kvp_leg_resilvers(shadow(l)) || l->host.pool->shadow_ready)
		sim_fail("the shadow does not resilver: the case was not set up");
	if (!host_take_place(&l->host))
		sim_fail("the shadow takes the place before it is complete");
}

static void wait_complete(struct script *l)
{
	life_set_rate(l, 0);
	host_wait_resilver(&l->host);
	if (!kvp_leg_resilvers(shadow(l)) || !l->host.pool->shadow_ready)
		sim_fail("the shadow is in state %u, and %scomplete", shadow(l)->state,
			 l->host.pool->shadow_ready ? "" : "not ");
	if (!kvp_leg_in_sync(old_leg(l)))
		sim_fail("the old leg is no source any more");
}

static void add_complete_shadow(struct script *l)
{
	add_shadow(l);
	wait_complete(l);
}

static void forget_shadow(struct script *l)
{
	if (host_forget_shadow(&l->host))
		sim_fail("not cancelled: %s", l->host.refusal.why);
	l->start.shadow = 0;
}

static void taken(struct script *l)
{
	own.before = l->start;
	l->start.on = own.taken_on;
	l->start.shadow = 0;
	own.taken_at = disks.trace.nr;
}

static void take_place(struct script *l)
{
	if (host_take_place(&l->host))
		sim_fail("the shadow does not take its place: %s", l->host.refusal.why);
	taken(l);
	if (host_labelled(own.old) != disks.dead[own.old])
		sim_fail("the label of the old disk is %s", disks.dead[own.old] ? "gone" : "there");
}

static void end_well(struct script *l)
{
	wait_complete(l);
	writes(3);
	take_place(l);
	expect_sound(l);
	writes(3);
	life_again(l);
	expect_sound(l);
	life_stop(l);
}

/* The new disk is blank again. */
static void end_with_another(struct script *l)
{
	life_blank_disk(l, own.new);
	add_shadow(l);
	end_well(l);
}

/* --- lives ------------------------------------------------------------------------ */

/* Nothing is read from the shadow but its label. */
static void leg_is_replaced(struct script *l)
{
	struct fault *f;

	writes(12);
	if (own.order & 1) {
		add_shadow(l);
	} else {
		add_shadow_slowly(l);
	}
	f = disks_fault(FAULT_READ_EIO, own.new, KVP_LABEL_BLOCKS,
			disks.img[own.new].blocks - KVP_LABEL_BLOCKS);
	writes(6);
	wait_complete(l);
	writes(3);
	life_expect_sound(&l->host, own.writer.blocks);
	if (f->hit)
		sim_fail("the shadow was read");
	disks.nr_faults = 0;
	end_well(l);
}

static void replaced_beside_a_writer(struct script *l)
{
	writes(10);
	life_begin_writer(&own.writer);
	add_shadow_slowly(l);
	wait_complete(l);
	host_sleep(200);
	take_place(l);
	life_end_writer(&own.writer);
	expect_sound(l);
	host_flush(&l->host);
}

/* It is in the superblock, with a cursor: the next start goes on. */
static void replaced_after_a_restart(struct script *l)
{
	writes(12);
	add_shadow_slowly(l);
	host_sleep(own.order & 1 ? 11000 : 100);
	writes(3);
	life_again(l);
	writes(3);
	if (own.order & 2) {
		wait_complete(l);
		life_again(l);
		writes(3);
	}
	end_well(l);
}

/* It is another device for a while, is not there, or hangs: the order waits. */
static void shadow_is_away(struct script *l)
{
	u32 how = own.order % 3, named[] = { own.new + 2, 0, own.new + 1 };

	writes(10);
	add_shadow_slowly(l);
	life_stop(l);
	l->start.shadow = named[how];
	if (how == 2)
		disks_fault(FAULT_HANG, own.new, 0, ~0ull);
	script_start(l);
	writes(4);
	host_wait_resilver(&l->host);
	/* A cancel wipes the label of the device that the pool has. */
	if (shadow(l)->v || shadow(l)->bdev || !l->host.pool->sb->shadow.of)
		sim_fail("another device is taken, or the order is gone");
	disks_wake(own.new);
	disks.nr_faults = 0;
	life_stop(l);
	l->start.shadow = own.new + 1;
	script_start(l);
	end_well(l);
}

/* The newest label of the shadow is one that a newer module wrote: that may have made it a leg. */
static void newer_module_wrote_the_shadow(struct script *l)
{
	struct image *img = &disks.img[own.new], before;
	u64 label;

	writes(10);
	add_shadow_slowly(l);
	label = l->host.pool->sb->shadow.label;
	life_stop(l);
	life_newer_module(img, label, label + 1);
	image_copy(&before, img);
	watch_forget(own.new);
	l->untraced = true;
	script_start(l);
	writes(4);
	host_wait_resilver(&l->host);
	if (shadow(l)->v || shadow(l)->bdev || !l->host.pool->sb->shadow.of)
		sim_fail("the device is taken, or the order is gone");
	life_stop(l);
	if (!image_same(&before, img, 0, before.blocks, NULL))
		sim_fail("what a newer module wrote was overwritten");
	image_free(&before);
}

/* The new disk fails as it is looked at, labelled, or written to. The old leg stays. */
static void shadow_fails(struct script *l)
{
	static const u32 steps[] = { 0, 2 * KVP_LABEL_BLOCKS, 2 * KVP_LABEL_BLOCKS + 1,
				     2 * KVP_LABEL_BLOCKS + 2, 2 * KVP_LABEL_BLOCKS + 9,
				     2 * KVP_LABEL_BLOCKS + 30 };
	static const enum fault_kind kinds[] = { FAULT_WRITE_EIO, FAULT_FLUSH_EIO, FAULT_DEATH,
						 FAULT_HANG };
	bool there;

	writes(8);
	disks_fault(kinds[own.order % 4], own.new, 0, ~0ull)->after =
		steps[(own.order + own.order / 4) % ARRAY_SIZE(steps)];
	there = !try_shadow(l, own.at, own.new);
	writes(4);
	host_wait_resilver(&l->host);
	life_expect_in_sync(l);
	disks_wake(own.new);
	disks.nr_faults = 0;
	disks.dead[own.new] = false;
	host_sleep(50);
	if (there && !kvp_leg_resilvers(shadow(l)) && !host_take_place(&l->host))
		sim_fail("a shadow that has failed takes a place");
	if (there && host_forget_shadow(&l->host))
		sim_fail("not cancelled: %s", l->host.refusal.why);
	l->start.shadow = 0;
	/* The watch may have found it late when it was still there. */
	kvp_leg_give_up(shadow(l), "does not answer");
	life_expect_in_sync(l);
	end_with_another(l);
}

/* The new disk has no space, or no memory, for two seconds, once it has its label: that passes. */
static void shadow_short_for_a_time(struct script *l)
{
	struct fault *f;

	writes(8);
	f = disks_fault(FAULT_WRITE_ONCE, own.new, KVP_LABEL_BLOCKS, ~0ull);
	f->error = own.order % 2 ? -ENOMEM : -ENOSPC;
	f->after = 2 + 9 * own.order;
	f->times = 20;
	add_shadow(l);
	writes(6);
	end_well(l);
	if (!f->hit)
		sim_fail("no write found the disk short: the case was not set up");
}

/* The old leg is lost: the shadow has what its cursor says, and gets the rest from the others. */
static void old_leg_fails(struct script *l)
{
	writes(10);
	if (own.order & 1)
		add_shadow(l);
	else
		add_shadow_slowly(l);
	if (own.order & 1)
		wait_complete(l);
	disks_kill(own.old);
	writes(6);
	while (kvp_leg_in_sync(old_leg(l)))
		host_sleep(10);
	if (kvp_leg_resilvers(shadow(l)))
		sim_fail("the shadow is written to, and its leg is not");
	writes(3);
	if (own.order & 2) {
		l->start.missing = BIT(own.at);
		life_again(l);
		l->start.missing = 0;
		writes(2);
	}
	take_place(l);
	life_set_rate(l, 0);
	wait_sound(l);
	life_again(l);
	expect_sound(l);
	host_flush(&l->host);
}

/* It is out for a while, and returns: then the shadow goes on. */
static void old_leg_returns(struct script *l)
{
	writes(10);
	if (own.order & 1) {
		add_complete_shadow(l);
	} else {
		add_shadow_slowly(l);
	}
	leave(l, old_leg(l));
	writes(6);
	host_sleep(1100);
	writes(3);
	come_back(l, own.old);
	end_well(l);
}

/* Another leg is out: the shadow goes on, and takes its place beside it. */
static void other_leg_is_out(struct script *l)
{
	u32 other = next_leg();

	writes(10);
	if (own.order & 1)
		add_shadow_slowly(l);
	leave(l, &l->host.pool->legs[other]);
	writes(6);
	if (!(own.order & 1))
		add_shadow_slowly(l);
	if (own.order & 2) {
		wait_complete(l);
		take_place(l);
		writes(3);
	}
	come_back(l, host_disk(&l->start, other));
	writes(3);
	if (!(own.order & 2)) {
		end_well(l);
		return;
	}
	life_set_rate(l, 0);
	wait_sound(l);
	host_flush(&l->host);
}

/* Bad blocks on the old leg: the shadow gets good ones. */
static void old_leg_is_rotten(struct script *l)
{
	const struct kvp_geometry *g = l->host.pool->legs[own.at].v->g;
	u8 rot[KVP_BLOCK_SIZE];
	u64 block;

	writes(14);
	host_destage(&l->host);
	host_sleep(2000);
	memset(rot, 0x5a, sizeof(rot));
	for (block = g->data_start; block < g->data_start + g->data_blocks / (own_shape->n - 1);
	     block += 3)
		if (image_blk(&disks.img[own.old], block))
			image_write_data(&disks.img[own.old], block, rot);
	kvp_table_shrink(l->host.pool->table, true);
	l->untraced = true;
	add_shadow(l);
	end_well(l);
}

/* The old disk is back with its label when its place is taken. */
static void old_disk_comes_back(struct script *l)
{
	struct host_start hs;

	writes(8);
	add_complete_shadow(l);
	disks_kill(own.old);
	if (!kvp_leg_in_sync(old_leg(l)))
		sim_fail("the leg has left: the case was not set up");
	/* Its loss may be noticed first. */
	if (host_take_place(&l->host))
		sim_fail("the shadow does not take its place: %s", l->host.refusal.why);
	taken(l);
	host_wait_resilver(&l->host);
	life_expect_in_sync(l);
	writes(3);
	life_stop(l);
	disks.dead[own.old] = false;
	hs = own.before;
	if (!host_start(&l->host, &l->o, &hs))
		sim_fail("started with a leg that has left");
	hs.degraded = true;
	if (!host_start(&l->host, &l->o, &hs))
		sim_fail("started by force with a leg that has left");
	script_start(l);
	expect_sound(l);
	life_stop(l);
}

/* Superblocks, until one has the slot of @sequence; then the new disk takes what it has kept. */
static void take_late(struct script *l, u64 sequence)
{
	struct kvp_pool *pool = l->host.pool;
	struct host_start hs;

	while (pool->sb->sequence % KVP_SB_RING != sequence % KVP_SB_RING)
		if (kvp_pool_set_comment(pool, "x"))
			sim_fail("no superblock");
	disks_release(own.new);
	host_sleep(50);
	life_stop(l);
	disks.nr_faults = 0;
	hs = l->start;
	hs.on = own.taken_on;
	hs.shadow = 0;
	if (!host_start(&l->host, &l->o, &hs))
		sim_fail("the shadow passes for the leg that it is to replace");
	script_start(l);
	life_expect_in_sync(l);
	life_stop(l);
}

/*
 * The new disk keeps the write of a label, and takes it late: it must not carry another leg's
 * label.
 */
static void label_comes_late(struct script *l)
{
	u64 label;
	u32 i;

	writes(10);
	add_shadow_slowly(l);
	label = shadow(l)->has_sequence + 1;
	life_hold_superblock(own.new, 3, label);
	for (i = 0; i < 200 && kvp_leg_resilvers(shadow(l)); i++) {
		expect_own_superblock(l);
		host_sleep(1000);
	}
	if (kvp_leg_resilvers(shadow(l)))
		sim_fail("the shadow is not left: the case was not set up");
	take_late(l, label);
}

static void keep_the_last(struct host *h)
{
	own.kept = h->pool->sb->sequence + 1;
	life_hold_superblock(own.new, 3, own.kept);
}

/* It keeps the superblock that makes it a leg, so that is undone. */
static void superblock_comes_late(struct script *l)
{
	writes(10);
	add_complete_shadow(l);
	l->host.quiesced = keep_the_last;
	if (!host_take_place(&l->host))
		sim_fail("the place is taken, and the new leg has no superblock");
	life_expect_in_sync(l);
	take_late(l, own.kept);
}

/* It is written to, and its walk does not end. */
static void go_on_for_a_while(struct script *l)
{
	u32 i;

	sim_slow = "kvpool-scrub";
	script_start(l);
	while (!kvp_leg_resilvers(shadow(l)))
		host_sleep(1);
	for (i = 0; i < 30; i++)
		life_write(&own.writer);
	host_destage(&l->host);
	if (l->host.pool->shadow_ready)
		sim_fail("the shadow is complete: the case was not set up");
	sim_slow = NULL;
	/* By then it is complete, and has another label for that. */
	if (own.order & 1)
		host_sleep(11000);
	life_stop(l);
}

/* The legs are put back to an older state together, and the shadow is not. */
static void legs_are_put_back(struct script *l)
{
	struct image img[MAX_DISKS];
	u64 block;
	u32 i;

	for (block = 0; block + 32 <= own.writer.blocks; block += 32)
		host_write(&l->host, block, 32, false);
	add_complete_shadow(l);
	life_stop(l);
	for (i = 0; i < l->start.legs; i++)
		image_copy(&img[i], &disks.img[i]);
	go_on_for_a_while(l);
	for (i = 0; i < l->start.legs; i++) {
		image_free(&disks.img[i]);
		disks.img[i] = img[i];
		watch_forget(i);
	}
	l->untraced = true;
	script_start(l);
	wait_complete(l);
	take_place(l);
	life_expect_scrubbed(&l->host);
	life_stop(l);
}

static void keep_from_joining(struct host *h)
{
	mutex_lock(&h->pool->checkpoint_lock);
}

/*
 * A write by intent is with the old leg, and not with the shadow, when that joins. The walk would
 * pass its blocks.
 */
static void home_write_is_held(struct script *l)
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
	disks_stall(own.old, g->data_start, g->data_start + g->data_blocks / (own_shape->n - 1));
	disks.stalls_writes = true;
	host_write(&l->host, own_shape->first ? own.writer.blocks - 64 : 64, 40, false);
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
	disks_release(own.old);
	disks.stalls_writes = false;
	wait_complete(l);
	take_place(l);
	life_expect_sound(&l->host, own.writer.blocks);
	life_stop(l);
}

/* Some rows, on two legs. All is home: nothing needs their blocks to write others. */
static void rows_cannot_be_read(struct host *h)
{
	struct script *l = container_of(h, struct script, host);
	u64 start = old_leg(l)->v->g->data_start;

	disks_fault(FAULT_READ_EIO, own.old, start, start + 3);
	disks_fault(FAULT_READ_EIO, host_disk(&l->start, next_leg()), start, start + 3);
}

/* Blocks that no leg gives now are left for later; another leg joins before that. */
static void other_leg_joins_over_skipped_ranges(struct script *l)
{
	u32 other = next_leg(), i;

	for (i = 0; i + 32 <= own.writer.blocks; i += 32)
		host_write(&l->host, i, 32, false);
	host_destage(&l->host);
	host_sleep(1100);
	writes(2);
	kvp_table_shrink(l->host.pool->table, true);
	l->host.quiesced = rows_cannot_be_read;
	add_shadow(l);
	for (i = 0; i < 100 && !l->host.pool->resilver->skipped.nr; i++)
		host_sleep(10);
	if (!l->host.pool->resilver->skipped.nr)
		sim_fail("nothing is left for later: the case was not set up");
	leave(l, &l->host.pool->legs[other]);
	host_write(&l->host, own.writer.blocks / 2, 20, false);
	disks.nr_faults = 0;
	come_back(l, host_disk(&l->start, other));
	end_well(l);
}

static void replace_is_cancelled(struct script *l)
{
	writes(8);
	if (own.order & 1) {
		add_complete_shadow(l);
	} else {
		add_shadow_slowly(l);
	}
	forget_shadow(l);
	if (host_labelled(own.new))
		sim_fail("the label of the new disk is there");
	writes(3);
	life_expect_in_sync(l);
	life_again(l);
	expect_sound(l);
	end_with_another(l);
}

/*
 * The shadow fails, hangs, or is not there at a start, and the order is cancelled. It is not taken
 * when its device returns, with the label that could not be wiped.
 */
static void cancelled_without_its_device(struct script *l)
{
	u32 how = own.order % 3;

	writes(8);
	add_shadow_slowly(l);
	if (how == 0) {
		disks_kill(own.new);
		writes(4);
		host_flush(&l->host);
	} else {
		life_stop(l);
		l->start.shadow = 0;
		if (how == 2) {
			l->start.shadow = own.new + 1;
			disks_fault(FAULT_HANG, own.new, 0, ~0ull);
		}
		script_start(l);
	}
	forget_shadow(l);
	if (l->host.pool->sb->shadow.of || shadow(l)->v)
		sim_fail("the order is still there");
	writes(3);
	life_expect_in_sync(l);
	disks_wake(own.new);
	disks.nr_faults = 0;
	disks.dead[own.new] = false;
	life_stop(l);
	l->start.shadow = own.new + 1;
	script_start(l);
	if (shadow(l)->v || shadow(l)->bdev || l->host.pool->sb->shadow.of)
		sim_fail("the device is the shadow again");
	l->start.shadow = 0;
	life_again(l);
	expect_sound(l);
	end_with_another(l);
}

static void expect_refused(int ret, int error, const char *word, const struct script *l)
{
	if (ret != error || !strstr(l->host.refusal.why, word))
		sim_fail("%d, not %d: %s", ret, error, l->host.refusal.why);
}

/* Another device does not take the place at once: the shadow has more. */
static void refused_another_device(struct script *l)
{
	struct host_start hs = l->start;
	u8 on[MAX_DISKS];

	memcpy(on, own.on, sizeof(on));
	on[own.at] = (u8)(own.new + 1);
	hs.on = on;
	leave(l, old_leg(l));
	expect_refused(host_replace(&l->host, &hs), -EBUSY, "another device has part", l);
	come_back(l, own.old);
}

/* The device would take requests for blocks that the pool has not. */
static void refused_as_table_is_longer(struct script *l)
{
	l->start.table_blocks = l->host.pool->sb->pool_blocks + 1;
	expect_refused(try_shadow(l, own.at, own.new), -EINVAL, "not as long", l);
	l->start.table_blocks = 0;
}

static void refused_to_be_shadow(struct script *l)
{
	struct image *new = &disks.img[own.new];
	u64 blocks = new->blocks;
	u8 data[KVP_BLOCK_SIZE] = { 1 };

	refused_as_table_is_longer(l);
	expect_refused(host_take_place(&l->host), -EINVAL, "no device", l);
	expect_refused(host_forget_shadow(&l->host), -EINVAL, "no leg", l);
	expect_refused(try_shadow(l, own.at, host_disk(&l->start, (own.at + 1) % l->start.legs)),
		       -EINVAL,
		       "no new device", l);
	if (l->start.second || l->start.cache)
		expect_refused(try_shadow(l, own_shape->first ? 0 : own_shape->n, own.new), -EINVAL,
			       "no parity1", l);
	new->blocks = kvp_leg_least(old_leg(l)->v->g) - 1;
	expect_refused(try_shadow(l, own.at, own.new), -ENOSPC, "needs", l);
	new->blocks = blocks;
	image_write_data(new, blocks - 3, data);
	expect_refused(try_shadow(l, own.at, own.new), -EEXIST, "not blank", l);
	life_blank_disk(l, own.new);
	writes(10);
	add_shadow_slowly(l);
	expect_refused(try_shadow(l, own.at, own.new + 1), -EBUSY, "already", l);
	expect_refused(host_larger(&l->host, &l->start), -EBUSY, "being replaced", l);
	refused_another_device(l);
	end_well(l);
}

/* --- superblocks that fail ---------------------------------------------------------- */

/* The superblock after the next @skip fails on @leg. */
static void fail_superblock(const struct kvp_leg *leg, u32 skip)
{
	life_fail_superblock(leg->bdev->index, 3, leg->pool->sb->sequence + 1 + skip);
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

static void not_taken_as_superblocks_fail(struct script *l)
{
	static void (*const fail[])(struct host *h) = {
		fail_on_all, fail_on_shadow, fail_on_shadow_and_then_on_another, fail_on_one,
	};
	const struct kvp_leg *old;
	u64 epoch;

	writes(8);
	add_complete_shadow(l);
	epoch = l->host.pool->sb->epoch;
	l->host.quiesced = fail[own.order % ARRAY_SIZE(fail)];
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
	life_again(l);
	host_wait_resilver(&l->host);
	life_expect_in_sync(l);
	writes(3);
	life_expect_sound(&l->host, own.writer.blocks);
	forget_shadow(l);
	end_with_another(l);
}

static void fail_in_one_ring_of_shadow(struct host *h)
{
	life_fail_superblock(own.new, BIT(own.order % 2), h->pool->sb->sequence + 1);
}

/* A bad sector in one ring of the new disk: the superblock that makes it a leg is in the other. */
static void taken_with_a_bad_sector(struct script *l)
{
	writes(8);
	add_complete_shadow(l);
	script_cut_from_here(l);
	l->host.quiesced = fail_in_one_ring_of_shadow;
	take_place(l);
	if (!disks.faults[0].hit)
		sim_fail("no superblock failed: the case was not set up");
	life_expect_in_sync(l);
	writes(3);
	life_again(l);
	expect_sound(l);
	life_stop(l);
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

static void not_undone_as_superblocks_fail(struct script *l)
{
	writes(8);
	add_complete_shadow(l);
	l->host.quiesced = fail_for_good;
	if (!host_take_place(&l->host))
		sim_fail("the place is taken without a superblock");
	if (!kvp_pool_faulted(l->host.pool))
		sim_fail("the pool goes on without a superblock");
	host_stop(&l->host);
	disks.nr_faults = 0;
	script_start(l);
	host_wait_resilver(&l->host);
	life_expect_in_sync(l);
	writes(3);
	life_expect_sound(&l->host, own.writer.blocks);
	forget_shadow(l);
	end_with_another(l);
}

/* The superblock with the order comes to too few legs. */
static void fail_order(struct host *h)
{
	struct script *l = container_of(h, struct script, host);
	const struct kvp_leg *old = old_leg(l);
	u32 i;

	for (i = 0; i < old->v->nr_legs; i++)
		if (&old->v->legs[i] != old)
			fail_superblock(&old->v->legs[i], 0);
}

/* The new disk is a spare, which the pool lists, beside another one. */
static void make_spare(struct script *l)
{
	struct image *img = &disks.img[own.new];
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

static bool is_listed(const struct script *l, u8 number)
{
	u8 uuid[16] = { number };

	return kvp_spares_find(l->host.pool->sb, uuid) < KVP_MAX_SPARES;
}

static void order_fails(struct script *l)
{
	writes(8);
	make_spare(l);
	l->host.quiesced = fail_order;
	if (!try_shadow(l, own.at, own.new))
		sim_fail("there is an order without a superblock");
	disks.nr_faults = 0;
	if (host_labelled(own.new))
		sim_fail("the label of the new disk is there");
	if (!is_listed(l, 5) || !is_listed(l, 6))
		sim_fail("the spare is blank, and is not missed");
	life_again(l);
	host_wait_resilver(&l->host);
	life_expect_in_sync(l);
	/* As it is: it is blank. */
	add_shadow(l);
	end_well(l);
}

static void spare_is_shadow(struct script *l)
{
	writes(8);
	make_spare(l);
	add_shadow(l);
	if (is_listed(l, 5) || !is_listed(l, 6))
		sim_fail("the shadow is listed as a spare, or the other spare is not");
	end_well(l);
}

static void keep_label(struct host *h)
{
	life_hold_superblock(own.new, 3, h->pool->sb->sequence);
}

/* It has kept a write since it was to be a shadow before. */
static void shadow_has_strays(struct script *l)
{
	writes(8);
	l->host.quiesced = keep_label;
	if (!try_shadow(l, own.at, own.new))
		sim_fail("there is a shadow without a label");
	expect_refused(try_shadow(l, own.at, own.new), -EBUSY, "has not answered", l);
	disks_release(own.new);
	host_sleep(50);
	end_with_another(l);
}

/* --- to be cut everywhere ------------------------------------------------------------ */

static void cut_shadowed(struct script *l)
{
	writes(4);
	script_cut_from_here(l);
	add_shadow(l);
	writes(2);
	wait_complete(l);
	writes(2);
	life_stop(l);
}

/* With a cursor in the middle. */
static void cut_shadowed_slowly(struct script *l)
{
	writes(6);
	add_shadow_slowly(l);
	script_cut_from_here(l);
	host_sleep(11000);
	writes(3);
	wait_complete(l);
	life_stop(l);
}

static void cut_taken(struct script *l)
{
	writes(4);
	add_complete_shadow(l);
	writes(2);
	script_cut_from_here(l);
	take_place(l);
	writes(2);
	life_stop(l);
}

/* --- all of them ---------------------------------------------------------------------------- */

static void set_up(struct script *l)
{
	const struct host_start *hs = l->c->shape;
	u32 i;

	/* What is cut has one turn, and another leg with each seed. */
	own.order = l->c->most ? opt.seed % own_shape->n : l->turn;
	own.at = own.old = own_shape->first + own.order % own_shape->n;
	own.new = hs->legs;
	own.rng.s = mix64(l->c->most ? opt.seed : l->seed, 47);
	for (i = 0; i < MAX_DISKS; i++)
		own.on[i] = own.taken_on[i] = (u8)i;
	own.taken_on[own.at] = (u8)own.new;
	l->start.on = own.on;
}

static void begin(struct script *l)
{
	life_begin(l, &own.writer, &own.rng);
}

/* Checks are told of the pool as the life ended. */
static void set_crash(struct script *l)
{
	const struct host_start *hs = &l->start;

	l->crash.on = hs->on;
	l->crash.shadow = hs->shadow;
	l->crash.taken_on = own.taken_on;
	l->crash.returns = true;
	if (l->c->most && own.taken_at) {
		l->crash.before = &own.before;
		l->crash.changes_at = own.taken_at;
	}
}

static void run_case(struct script_case *c, const char *what, const char *cut,
		     const struct shape *shape)
{
	char name[96];

	snprintf(name, sizeof(name), "shadow:%s:%s%s", shape->name, what, cut);
	own_shape = shape;
	c->name = name;
	c->shape = &shape->start;
	c->set_up = set_up;
	c->begin = begin;
	c->own = &own;
	c->own_size = sizeof(own);
	life_run(c);
}

/* @act on a shape, some times, in other orders. Any leg can be lost after it. */
static void lives(const char *what, void (*act)(struct script *l), const struct shape *shape,
		  u32 turns)
{
	struct script_case c = {
		.act = act, .end = set_crash, .turns = opt.thorough ? 8 * turns : turns,
		.salt = 8600, .cuts = SCRIPT_AT_THE_END, .depth = CHECK_LEGS,
	};

	run_case(&c, what, "", shape);
}

/* Cut what @act left at about @positions, from where it says on. */
static void cut_life(const char *what, void (*act)(struct script *l), const struct shape *shape,
		     u32 positions)
{
	struct script_case c = {
		.act = act, .end = set_crash, .turns = 1, .most = 1, .salt = 8700,
		.cuts = opt.thorough ? 16 * positions : positions, .depth = CHECK_RECRASH,
	};

	run_case(&c, what, "-cut", shape);
}

static void shadow_of(const struct shape *s)
{
	lives(NAMED(leg_is_replaced), s, 3);
	lives(NAMED(replaced_beside_a_writer), s, 2);
	lives(NAMED(replaced_after_a_restart), s, 4);
	lives(NAMED(shadow_is_away), s, 3);
	lives(NAMED(newer_module_wrote_the_shadow), s, 1);
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
	lives(NAMED(other_leg_joins_over_skipped_ranges), s, 1);
	lives(NAMED(replace_is_cancelled), s, 2);
	lives(NAMED(cancelled_without_its_device), s, 3);
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

/* The leg and its shadow have no log, and the log need not be empty for them. */
static void replaced_beside_the_log(struct script *l)
{
	if (kvp_vdev_carries_log(old_leg(l)->v))
		sim_fail("the leg has the log: the case was not set up");
	leg_is_replaced(l);
}

/* The log has flushed writes as the pool is suspended for it. */
static void cut_taken_beside_the_log(struct script *l)
{
	writes(4);
	add_complete_shadow(l);
	writes(2);
	host_write(&l->host, 30, 6, false);
	host_flush(&l->host);
	script_cut_from_here(l);
	take_place(l);
	writes(2);
	life_stop(l);
}

static void shadow_beside_the_log(void)
{
	const struct shape *s = &beside_the_log;

	lives(NAMED(replaced_beside_the_log), s, 3);
	lives(NAMED(replaced_beside_a_writer), s, 1);
	lives(NAMED(shadow_fails), s, 2);
	lives(NAMED(old_leg_fails), s, 2);
	lives(NAMED(other_leg_is_out), s, 2);
	cut_life(NAMED(cut_shadowed), s, 4);
	cut_life(NAMED(cut_taken_beside_the_log), s, 6);
}

void run_shadow(void)
{
	const struct shape *s;

	for (s = shapes; s < shapes + ARRAY_SIZE(shapes); s++)
		shadow_of(s);
	shadow_beside_the_log();
}
