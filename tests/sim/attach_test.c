// SPDX-License-Identifier: GPL-2.0-only
/*
 * A mirror gets one leg more, or one less; a single becomes a mirror, and a mirror a single. That
 * gives legs of other vdevs other numbers. The power goes at every step: the pool has the old shape
 * or the new one, with all acknowledged data. A leg that was detached is never taken for a leg
 * again.
 */
#include <stdlib.h>
#include <string.h>

#include "life.h"
#include "script.h"
#include "io/flight.h"
#include "io/mirror.h"
#include "format/replaces.h"
#include "pool/online.h"
#include "pool/spare.h"
#include "super/members.h"
#include "table/table.h"
#include "work/resilver.h"

#define NAMED(function) #function, function

/* The pool at first, and the vdev that changes. */
static const struct shape {
	const char *name;
	struct host_start start;
	u32 vdev;
} shapes[] = {
	{ "single", { .legs = 1 }, 0 },
	{ "mirror", { .legs = 2 }, 0 },
	{ "mirror3", { .legs = 3 }, 0 },
	{ "single-and-mirror", { .legs = 3, .second = 2 }, 0 },
	{ "mirrors", { .legs = 4, .second = 2 }, 0 },
	{ "mirror3-and-mirror", { .legs = 5, .second = 2 }, 0 },
	{ "parity1-and-mirror", { .legs = 5, .parity = true, .second = 2 }, 1 },
	{ "mirror-and-parity1", { .legs = 5, .second = 3, .second_parity = true }, 0 },
	{ "cache", { .legs = 4, .cache = 2 }, 0 },
	{ "single-and-cache", { .legs = 2, .cache = 1 }, 0 },
};

/* What a turn knows besides its script; its number decides what differs between turns. */
static struct {
	struct host_start before;	/* the pool as it was before the last change */
	u8 on[5][MAX_DISKS];	/* disk of each leg: at first, and after each change */
	u32 changes;
	u32 first, n;		/* first leg of the vdev, and number of its legs */
	struct rng rng;
	u32 changes_at, back_at, left_at;
	u64 kept;		/* number of a superblock that disk @keeps does not answer */
	u8 keeps;
	u32 rings;
	struct life_writer writer;
} own;

static const struct shape *own_shape;	/* of the case */

/* --- a life ------------------------------------------------------------------------- */

static void writes(u32 n)
{
	life_writes(&own.writer, n);
}

static struct kvp_leg *leg_of(struct script *l, u32 i)
{
	return &l->host.pool->legs[own.first + i];
}

static void wait_in_sync(struct script *l)
{
	host_wait_resilver(&l->host);
	life_expect_in_sync(l);
	own.back_at = disks.trace.nr;
}

static void expect_sound(struct script *l)
{
	life_expect_in_sync(l);
	life_expect_sound(&l->host, own.writer.blocks);
}

static void wait_sound(struct script *l)
{
	wait_in_sync(l);
	life_expect_sound(&l->host, own.writer.blocks);
}

static void end_sound(struct script *l)
{
	expect_sound(l);
	host_flush(&l->host);
}

static void end_in_sync(struct script *l)
{
	wait_sound(l);
	host_flush(&l->host);
}

static void end_after_a_restart(struct script *l)
{
	life_again(l);
	expect_sound(l);
	life_stop(l);
}

/* --- changes ---------------------------------------------------------------------------- */

/* The shape with one leg more, on @disk. */
static struct host_start with_one_more(struct script *l, u32 disk)
{
	struct host_start hs = l->start;
	u8 *on = own.on[own.changes + 1];
	u32 i;

	for (i = 0; i < hs.legs; i++)
		on[i + (i >= own.first + own.n)] = (u8)host_disk(&l->start, i);
	on[own.first + own.n] = (u8)disk;
	hs.on = on;
	hs.legs++;
	hs.second += own_shape->vdev;
	return hs;
}

/* The shape without leg @out of the vdev. */
static struct host_start without_one(struct script *l, u32 out)
{
	struct host_start hs = l->start;
	u8 *on = own.on[own.changes + 1];
	u32 i;

	for (i = 0; i < hs.legs; i++)
		if (i != own.first + out)
			on[i - (i > own.first + out)] = (u8)host_disk(&l->start, i);
	hs.on = on;
	hs.legs--;
	hs.second -= own_shape->vdev;
	return hs;
}

static void changed(struct script *l, const struct host_start *hs, int more)
{
	own.before = l->start;
	l->start = *hs;
	l->start.replaces = NULL;
	own.n += more;
	own.changes++;
	own.changes_at = disks.trace.nr;
}

static int try_attach(struct script *l, u32 disk)
{
	struct host_start hs = with_one_more(l, disk);
	int ret = host_attach(&l->host, &hs);

	if (ret)
		return ret;
	changed(l, &hs, 1);
	if (kvp_leg_in_sync(leg_of(l, own.n - 1)))
		sim_fail("the new leg is a source at once");
	return 0;
}

static void attach(struct script *l, u32 disk)
{
	if (try_attach(l, disk))
		sim_fail("no leg more: %s", l->host.refusal.why);
}

static int try_detach(struct script *l, u32 out)
{
	u32 disk = host_disk(&l->start, own.first + out);
	struct host_start hs = without_one(l, out);
	int ret = host_detach(&l->host, &hs);
	bool kept;

	if (ret)
		return ret;
	changed(l, &hs, -1);
	kept = disks.dead[disk] || disks.stalled[disk][0].end;
	if (host_labelled(disk) != kept)
		sim_fail("the label of the old disk is %s", kept ? "gone" : "there");
	return 0;
}

static void detach(struct script *l, u32 out)
{
	if (try_detach(l, out))
		sim_fail("no leg less: %s", l->host.refusal.why);
}

/* The last disk is blank again, and becomes a leg. */
static void end_attached(struct script *l)
{
	life_blank_disk(l, l->disks - 1);
	attach(l, l->disks - 1);
	end_in_sync(l);
}

/* --- attach ------------------------------------------------------------------------------ */

static void leg_is_attached(struct script *l)
{
	writes(6);
	attach(l, l->disks - 1);
	writes(4);
	wait_sound(l);
	writes(4);
	end_after_a_restart(l);
}

static void attached_beside_a_writer(struct script *l)
{
	writes(10);
	life_begin_writer(&own.writer);
	attach(l, l->disks - 1);
	wait_in_sync(l);
	life_end_writer(&own.writer);
	life_expect_sound(&l->host, own.writer.blocks);
	host_flush(&l->host);
}

/*
 * Blocks that are not home need not be copied: if all were in the log, the resilver would end at
 * once.
 */
static void resilver_slowly(struct script *l)
{
	if (host_checkpoint(&l->host))
		sim_fail("not all is home");
	life_set_rate(l, 64 << 10);
}

/* The second one comes while the first one resilvers, and has come some way. */
static void two_are_attached(struct script *l)
{
	writes(10);
	resilver_slowly(l);
	attach(l, l->disks - 2);
	host_sleep(rng_below(&own.rng, 3000));
	if (!kvp_leg_resilvers(leg_of(l, own.n - 1)))
		sim_fail("the leg does not resilver: the case was not set up");
	writes(3);
	attach(l, l->disks - 1);
	life_set_rate(l, 0);
	writes(3);
	end_in_sync(l);
}

/*
 * The last leg is out, and waits for its return, or is out by order. It is the same leg afterwards.
 */
static void other_is_out(struct script *l)
{
	u32 last = l->start.legs - l->start.cache - 1, now = last + (last >= own.first + own.n);
	struct kvp_pool *pool = l->host.pool;
	u8 uuid[16];

	if (kvp_leg_offline(pool, &pool->legs[last]))
		sim_fail("leg %u does not leave", last);
	memcpy(uuid, pool->sb->legs[last].uuid, sizeof(uuid));
	writes(3);
	if (l->turn & 1)
		kvp_return_wanted(&pool->legs[last], true);
	attach(l, l->disks - 1);
	host_wait_resilver(&l->host);
	if (memcmp(pool->sb->legs[now].uuid, uuid, sizeof(uuid)))
		sim_fail("leg %u is another one", now);
	if (kvp_leg_in_sync(&pool->legs[now]) != (l->turn & 1))
		sim_fail("leg %u is in state %u", now, pool->legs[now].state);
	if (!(l->turn & 1) && host_online(&l->host, host_disk(&l->start, now)))
		sim_fail("leg %u does not return: %s", now, l->host.refusal.why);
	end_in_sync(l);
}

/*
 * A leg behind it resilvers, and gets the number of one whose resilver has ended. Its walk does not
 * go on with that one's.
 */
static void other_resilvers(struct script *l)
{
	u32 last = l->start.legs - 1, i;

	for (i = 0; i < 2; i++) {
		if (kvp_leg_offline(l->host.pool, &l->host.pool->legs[last - i]))
			sim_fail("leg %u does not leave", last - i);
		writes(8);
		life_set_rate(l, i ? 16 << 10 : 0);
		if (host_online(&l->host, host_disk(&l->start, last - i)))
			sim_fail("leg %u does not return: %s", last - i, l->host.refusal.why);
		if (!i)
			wait_in_sync(l);
	}
	/* Order 0: its walk has not begun. */
	if (l->turn)
		host_sleep(200);
	attach(l, l->disks - 1);
	if (!kvp_leg_resilvers(&l->host.pool->legs[last]))
		sim_fail("the leg does not resilver: the case was not set up");
	life_set_rate(l, 0);
	end_in_sync(l);
}

/*
 * The new disk fails as it is looked at, as it gets its label, or as it is written to. Before the
 * superblock the pool is as it was; after it the new one is a leg.
 */
static void attached_one_fails(struct script *l)
{
	static const u32 steps[] = { 0, 2 * KVP_LABEL_BLOCKS, 2 * KVP_LABEL_BLOCKS + 1,
				     2 * KVP_LABEL_BLOCKS + 2, 2 * KVP_LABEL_BLOCKS + 9,
				     2 * KVP_LABEL_BLOCKS + 60 };
	static const enum fault_kind kinds[] = { FAULT_WRITE_EIO, FAULT_FLUSH_EIO, FAULT_DEATH,
						 FAULT_HANG };
	u32 new = l->disks - 1;
	bool taken;

	writes(6);
	disks_fault(kinds[l->turn % 4], new, 0, ~0ull)->after =
		steps[(l->turn + l->turn / 4) % ARRAY_SIZE(steps)];
	taken = !try_attach(l, new);
	if (!taken && l->host.pool->nr_legs != l->start.legs)
		sim_fail("no leg more, and yet another pool");
	writes(4);
	host_wait_resilver(&l->host);
	disks_wake(new);
	disks.nr_faults = 0;
	disks.dead[new] = false;
	host_sleep(50);
	if (!taken && host_labelled(new) && try_attach(l, new) != -EEXIST)
		sim_fail("a disk that is not blank is taken");
	if (!taken) {
		life_expect_in_sync(l);
		life_blank_disk(l, new);
		attach(l, new);
	} else if (!kvp_leg_takes_writes(leg_of(l, own.n - 1)) && host_online(&l->host, new)) {
		sim_fail("the new leg does not return: %s", l->host.refusal.why);
	}
	end_in_sync(l);
}

/* The superblock after the next @skip fails on @leg. */
static void fail_superblock(const struct kvp_leg *leg, u32 skip)
{
	if (kvp_leg_in_sync(leg))
		life_fail_superblock(leg->bdev->index, 3, leg->pool->sb->sequence + 1 + skip);
}

/* The next superblock fails on all legs of the first vdev, and no other does. */
static void fail_next_superblock(struct host *h)
{
	u32 i;

	for (i = 0; i < h->pool->vdevs.v[0].nr_legs; i++)
		fail_superblock(&h->pool->legs[i], 0);
}

/* And the one that undoes that fails on the last leg, which the pool can spare. */
static void fail_two_superblocks(struct host *h)
{
	fail_next_superblock(h);
	fail_superblock(&h->pool->legs[h->pool->nr_legs - 1], 1);
}

static void expect_undone(struct script *l)
{
	u32 i, hit = 0;

	for (i = 0; i < disks.nr_faults; i++)
		hit += disks.faults[i].hit;
	if (!hit)
		sim_fail("no superblock failed: %s", l->host.refusal.why);
	if (kvp_pool_faulted(l->host.pool))
		sim_fail("the pool is faulted");
	disks.nr_faults = 0;
	life_expect_in_sync(l);
	writes(3);
	life_expect_sound(&l->host, own.writer.blocks);
}

/* Too few legs take the superblock: a newer one with the old shape is durable then. */
static void not_attached_as_superblocks_fail(struct script *l)
{
	writes(4);
	l->host.quiesced = fail_next_superblock;
	if (!try_attach(l, l->disks - 1))
		sim_fail("one leg more without a superblock");
	expect_undone(l);
	end_attached(l);
}

/*
 * All SSDs with the log are given up in a change. It is undone, and they are in use again: so the
 * log stays there, and no event says that it was lost.
 */
static void undone_and_the_log_stays(struct script *l)
{
	struct kvp_pool *pool = l->host.pool;
	const struct kvp_vdev *cache = pool->vdevs.log_vdev;

	writes(4);
	if (kvp_has_data(cache->g))
		sim_fail("the log is on no cache: the case was not set up");
	l->host.quiesced = life_fail_next_superblock;
	if (!(l->turn && own.n > 1 ? try_detach(l, own.n - 1) : try_attach(l, l->disks - 1)))
		sim_fail("changed without a superblock");
	expect_undone(l);
	if (pool->vdevs.log_vdev != cache)
		sim_fail("the log has left SSDs that are in use");
	end_attached(l);
	if (pool->vdevs.log_vdev->index != cache->index || kvp_has_data(pool->vdevs.log_vdev->g))
		sim_fail("the log has left SSDs that are in use");
}

/*
 * A spare of the pool is attached. It is blank before it gets a label, and the superblock takes it
 * off the list. If that superblock fails, the spare is missed.
 */
static void spare_is_attached(struct script *l)
{
	struct image *new = &disks.img[l->disks - 1];
	u8 spare[16] = { 5 };

	writes(4);
	life_make_spare(new, &disks.img[0]);
	l->untraced = true;
	if (kvp_spare_note(l->host.pool, spare, true))
		sim_fail("the spare is not listed");
	l->host.quiesced = fail_next_superblock;
	if (!try_attach(l, l->disks - 1))
		sim_fail("one leg more without a superblock");
	expect_undone(l);
	if (life_spares_listed(&l->host) != BIT(5))
		sim_fail("undone, and the spare is not missed");
	life_blank_disk(l, l->disks - 1);
	life_make_spare(&disks.img[l->disks - 1], &disks.img[0]);
	attach(l, l->disks - 1);
	if (life_spare_labels(&disks.img[l->disks - 1]) || life_spares_listed(&l->host))
		sim_fail("the new leg is a spare as well");
	wait_in_sync(l);
	life_again(l);
	life_expect_in_sync(l);
	if (life_spares_listed(&l->host))
		sim_fail("listed after a restart");
	life_expect_sound(&l->host, own.writer.blocks);
	life_stop(l);
}

/* What is refused: a disk that is too small, or has data; another table than for one leg more. */
static void refused_to_be_attached(struct script *l)
{
	struct host_start hs = with_one_more(l, l->disks - 1);
	struct image *new = &disks.img[l->disks - 1];
	u64 blocks = new->blocks;
	u8 data[KVP_BLOCK_SIZE] = { 1 };

	new->blocks = kvp_leg_least(l->host.pool->vdevs.v[own_shape->vdev].g) - 1;
	if (host_attach(&l->host, &hs) != -ENOSPC || !strstr(l->host.refusal.why, "needs"))
		sim_fail("a disk that is too small is taken: %s", l->host.refusal.why);
	new->blocks = blocks;
	image_write_data(new, blocks - 3, data);
	if (host_attach(&l->host, &hs) != -EEXIST)
		sim_fail("a disk with data is taken: %s", l->host.refusal.why);
	hs.missing = BIT(own.first + own.n);
	if (host_attach(&l->host, &hs) != -EINVAL)
		sim_fail("a leg without a device: %s", l->host.refusal.why);
	if (host_attach(&l->host, &l->start) != -EINVAL)
		sim_fail("the same legs: %s", l->host.refusal.why);
	life_expect_in_sync(l);
	end_attached(l);
}

/* --- detach ------------------------------------------------------------------------------- */

static void leg_is_detached(struct script *l)
{
	struct host_start old = l->start;

	writes(6);
	detach(l, l->turn % own.n);
	expect_sound(l);
	writes(4);
	life_stop(l);
	if (!host_start(&l->host, &l->o, &old))
		sim_fail("started with a leg that has left");
	script_start(l);
	expect_sound(l);
	life_stop(l);
}

static int attach_spare(struct script *l)
{
	return try_attach(l, l->disks - 1);
}

/* A new leg hangs as it is looked at. */
static void attached_one_hangs(struct script *l)
{
	writes(6);
	life_while_it_hangs(l, l->disks - 1, attach_spare);
	writes(4);
	expect_sound(l);
}

/* It answers all but the write that is to wipe its label. */
static void detached_one_hangs(struct script *l)
{
	u32 out = l->turn % own.n, disk = host_disk(&l->start, own.first + out);
	unsigned long since;

	writes(6);
	disks_stall(disk, 0, 3);
	since = jiffies;
	detach(l, out);
	if (time_after(jiffies, since + 10 * HZ))
		sim_fail("the pool was held up for %u ms", jiffies_to_msecs(jiffies - since));
	writes(4);
	if (kvp_strays(l->host.pool) != 1)
		sim_fail("%u requests are left with the disk", kvp_strays(l->host.pool));
	disks_release(disk);
	expect_sound(l);
	life_stop(l);
}

static void detached_beside_a_writer(struct script *l)
{
	life_begin_writer(&own.writer);
	host_sleep(500);
	detach(l, l->turn % own.n);
	host_sleep(500);
	life_end_writer(&own.writer);
	life_expect_sound(&l->host, own.writer.blocks);
	host_flush(&l->host);
}

/* One more, and one less: what the mirror loses then has the other copies. */
static void attached_and_detached(struct script *l)
{
	writes(4);
	attach(l, l->disks - 1);
	wait_in_sync(l);
	writes(4);
	detach(l, l->turn % (own.n - 1));
	expect_sound(l);
	writes(2);
	end_after_a_restart(l);
}

/* --- beside a leg that does not answer --------------------------------------------------- */

/* A leg with data that the pool can do without: before the place of a new leg, or from there on. */
static struct kvp_leg *leg_to_hang(struct script *l, bool before)
{
	struct kvp_pool *pool = l->host.pool;
	u32 data = l->start.legs - l->start.cache, i;

	for (i = before ? 0 : own.first + own.n; i < (before ? own.first + own.n : data); i++)
		if (kvp_vdev_usable(pool->legs[i].v) > kvp_vdev_needed(pool->legs[i].v))
			return &pool->legs[i];
	return NULL;
}

static void let_hang(struct script *l, struct kvp_leg *leg)
{
	disks_fault(FAULT_HANG, host_disk(&l->start, leg->index), 0, ~0ull);
	life_begin_writer(&own.writer);
	host_sleep(1500);
	if (kvp_leg_offline(l->host.pool, leg))
		sim_fail("leg %u does not leave", leg->index);
	life_end_writer(&own.writer);
	if (!kvp_leg_has_strays(leg))
		sim_fail("leg %u has answered: the case was not set up", leg->index);
}

static void let_answer(struct script *l, u32 leg)
{
	disks_wake(host_disk(&l->start, leg));
	disks.nr_faults = 0;
	host_sleep(50);
	if (host_online(&l->host, host_disk(&l->start, leg)))
		sim_fail("leg %u does not return: %s", leg, l->host.refusal.why);
}

/* Another leg moves in memory, and this one has requests: nothing changes until it answers. */
static void refused_beside_one_that_moves(struct script *l)
{
	struct kvp_leg *leg = leg_to_hang(l, false);
	u32 i;

	if (!leg) {
		host_flush(&l->host);
		return;
	}
	let_hang(l, leg);
	for (i = 0; i < (own.n > 1 ? 2 : 1); i++)
		if ((i ? try_detach(l, 0) : try_attach(l, l->disks - 1)) != -EBUSY ||
		    !strstr(l->host.refusal.why, "has not answered"))
			sim_fail("leg %u moves, and has requests: %s", leg->index,
				 l->host.refusal.why);
	let_answer(l, leg->index);
	attach(l, l->disks - 1);
	end_in_sync(l);
}

/* It ends while the pool has the new shape, at the latest when the superblock of that fails. */
static void end_late_read(void *arg)
{
	struct kvp_leg *leg = arg;
	u32 legs = leg->pool->nr_legs;

	while (leg->pool->nr_legs == legs && !disks.faults[0].hit)
		host_sleep(1);
	kvp_leg_unchoose(leg);
}

/* By then, leg 0 has a read that it has not answered. */
static void fail_beside_a_read(struct host *h)
{
	fail_next_superblock(h);
	sim_spawn("late read", end_late_read, &h->pool->legs[0]);
}

/* A change is undone, and the number of reads of a leg that did not move is right. */
static void undone_beside_a_read(struct script *l)
{
	struct kvp_leg *leg = &l->host.pool->legs[0];

	writes(4);
	kvp_leg_choose_this(leg);
	l->host.quiesced = fail_beside_a_read;
	if (!try_attach(l, l->disks - 1))
		sim_fail("one leg more without a superblock");
	host_sleep(50);
	if (atomic_read(&leg->in_flight))
		sim_fail("%d reads of leg 0 never end", atomic_read(&leg->in_flight));
	expect_undone(l);
	end_attached(l);
}

/*
 * The next superblock fails on the first leg of the first vdev, which is given up. The second one
 * calls it out, and fails on the other leg. The third one undoes the change, and fails on the last
 * leg, which the pool can spare.
 */
static void fail_three_superblocks(struct host *h)
{
	fail_superblock(&h->pool->legs[0], 0);
	fail_superblock(&h->pool->legs[1], 1);
	fail_superblock(&h->pool->legs[h->pool->nr_legs - 1], 2);
}

/*
 * A leg was given up during the change, and is in use again after the undo. The last leg has the
 * superblock that calls it out, and not the one that undoes that. It did not go on without the leg,
 * and returns.
 */
static void undone_and_one_calls_another_out(struct script *l)
{
	u32 last = l->start.legs - 1;

	writes(4);
	l->host.quiesced = fail_three_superblocks;
	if (!try_attach(l, l->disks - 1))
		sim_fail("one leg more without a superblock");
	if (kvp_leg_in_sync(&l->host.pool->legs[last]))
		sim_fail("the last leg has all superblocks: the case was not set up");
	if (!kvp_leg_in_sync(&l->host.pool->legs[0]))
		sim_fail("leg 0 is out: the case was not set up");
	writes(3);
	life_stop(l);
	disks.nr_faults = 0;
	script_start(l);
	end_in_sync(l);
}

/* How many rings of @disk were asked to take superblock @sequence. */
static u32 rings_asked(u32 disk, u64 sequence)
{
	u32 i, end, rings = 0;

	for (i = 0; i < disks.trace.nr_requests; i++)
		for (end = 0; end < 2; end++)
			if (disks.trace.requests[i].disk == disk &&
			    disks.trace.requests[i].block == life_superblock(disk, end, sequence))
				rings |= BIT(end);
	return hweight32(rings);
}

/* The superblock that undoes the change is on its way. */
static void look_at_rings(void *arg)
{
	while (!disks_wait())
		host_sleep(1);
	host_sleep(100);
	own.rings = rings_asked(own.keeps, own.kept);
	disks_release(own.keeps);
}

/* The next superblock fails on all legs of the first vdev, and the first leg keeps another one. */
static void fail_and_keep(struct host *h)
{
	fail_next_superblock(h);
	own.kept = h->pool->sb->sequence + 2;
	own.keeps = (u8)h->pool->legs[0].bdev->index;
	life_hold_superblock(own.keeps, 3, own.kept);
	sim_spawn("look", look_at_rings, NULL);
}

/*
 * A superblock that failed may be torn in both rings. So the one that undoes the change goes to one
 * ring after the other (R27): a power cut must not tear two in a row.
 */
static void undone_beside_torn_slots(struct script *l)
{
	writes(4);
	l->host.quiesced = fail_and_keep;
	if (!(l->turn && own.n > 1 ? try_detach(l, own.n - 1) : try_attach(l, l->disks - 1)))
		sim_fail("changed without a superblock");
	if (own.rings != 1)
		sim_fail("superblock %llu was written to %u rings at once", own.kept, own.rings);
	expect_undone(l);
	end_attached(l);
}

/* The next superblock: the first leg keeps it, and all others of the vdev fail it. */
static void keep_next_superblock(struct host *h)
{
	const struct kvp_vdev *v = &h->pool->vdevs.v[0];
	u32 i;

	own.kept = h->pool->sb->sequence + 1;
	own.keeps = (u8)v->legs[0].bdev->index;
	life_hold_superblock(own.keeps, 3, own.kept);
	for (i = 1; i < v->nr_legs; i++)
		fail_superblock(&v->legs[i], 0);
}

/* Superblocks, until one has the slot of the one that was kept: then the leg takes that. */
static void take_late(struct script *l)
{
	struct kvp_pool *pool = l->host.pool;

	while (pool->sb->sequence % KVP_SB_RING != own.kept % KVP_SB_RING)
		if (kvp_pool_set_comment(pool, "x"))
			sim_fail("no superblock");
	disks_release(own.keeps);
	host_sleep(50);
}

/*
 * A change is undone. A leg that was given up meanwhile, and still has a write, is not in use
 * again: that write may come much later, over a newer superblock.
 */
static void undone_beside_a_stray(struct script *l)
{
	struct kvp_leg *leg = &l->host.pool->legs[0];

	writes(4);
	l->host.quiesced = keep_next_superblock;
	if (!(l->turn & 1 && own.n > 2 ? try_detach(l, own.n - 1) : try_attach(l, l->disks - 1)))
		sim_fail("changed without a superblock");
	disks.nr_faults = 0;
	if (!kvp_leg_has_strays(leg))
		sim_fail("leg 0 has answered: the case was not set up");
	if (kvp_leg_takes_writes(leg) || leg->has_sequence > own.kept)
		sim_fail("leg 0 is in use again, and has not answered all requests");
	if (kvp_pool_faulted(l->host.pool))
		sim_fail("the pool is faulted");
	writes(3);
	take_late(l);
	if (host_online(&l->host, own.keeps))
		sim_fail("leg 0 does not return: %s", l->host.refusal.why);
	end_in_sync(l);
}

/* A leg that does not move has requests: that is no reason to refuse. */
static void changed_beside_one_that_hangs(struct script *l)
{
	struct kvp_leg *leg = leg_to_hang(l, true);
	u32 index;

	if (!leg) {
		host_flush(&l->host);
		return;
	}
	index = leg->index;
	let_hang(l, leg);
	attach(l, l->disks - 1);
	writes(4);
	if (&l->host.pool->legs[index] != leg || !kvp_leg_has_strays(leg))
		sim_fail("leg %u has moved, or answered", index);
	host_wait_resilver(&l->host);
	if (index < own.first)
		detach(l, own.n - 1);
	let_answer(l, index);
	end_in_sync(l);
}

/* A leg that resilvers goes: attach is taken back. */
static void detached_while_it_resilvers(struct script *l)
{
	writes(10);
	resilver_slowly(l);
	attach(l, l->disks - 1);
	host_sleep(300);
	if (!kvp_leg_resilvers(leg_of(l, own.n - 1)))
		sim_fail("the leg does not resilver: the case was not set up");
	if (try_detach(l, 0) != -EBUSY || !strstr(l->host.refusal.why, "not in sync"))
		sim_fail("a leg leaves beside one that is no source: %s", l->host.refusal.why);
	detach(l, own.n - 1);
	end_sound(l);
}

/* Where a leg is out only that one may leave. */
static void refused_to_be_detached(struct script *l)
{
	struct kvp_pool *pool = l->host.pool;

	if (kvp_leg_offline(pool, leg_of(l, 1)))
		sim_fail("the leg does not leave");
	writes(3);
	if (try_detach(l, 0) != -EBUSY || !strstr(l->host.refusal.why, "not in sync"))
		sim_fail("the last copy leaves: %s", l->host.refusal.why);
	if (!kvp_leg_in_sync(leg_of(l, 0)))
		sim_fail("refused, and yet another leg");
	detach(l, 1);
	end_sound(l);
}

/* A dead leg leaves. Its disk is back with its label, and is no leg any more. */
static void detached_one_comes_back(struct script *l)
{
	struct host_start old = l->start;
	u32 disk = host_disk(&l->start, own.first + 1);

	writes(3);
	disks_kill(disk);
	writes(3);
	while (kvp_leg_in_sync(leg_of(l, 1)))
		host_sleep(10);
	detach(l, 1);
	writes(3);
	life_stop(l);
	disks.dead[disk] = false;
	if (!host_start(&l->host, &l->o, &old))
		sim_fail("started with a leg that has left");
	old.degraded = true;
	if (!host_start(&l->host, &l->o, &old))
		sim_fail("started by force with a leg that has left");
	script_start(l);
	expect_sound(l);
	life_stop(l);
}

/* It went its own way meanwhile: neither that history nor the pool's is taken for the other. */
static void detached_one_has_forked(struct script *l)
{
	struct host_start old = l->start, alone = l->start;
	u32 disk = host_disk(&l->start, own.first + 1), i;
	struct oracle o;

	disks_kill(disk);
	writes(3);
	while (kvp_leg_in_sync(leg_of(l, 1)))
		host_sleep(10);
	detach(l, 1);
	writes(3);
	life_stop(l);
	disks.dead[disk] = false;
	l->untraced = true;
	o = l->o;
	oracle_copy(&l->o, &o);
	watch_begin();
	for (i = 0; i < own.n + 1; i++)
		if (i != 1)
			alone.missing |= BIT(own.first + i);
	alone.degraded = true;
	if (host_start(&l->host, &l->o, &alone))
		sim_fail("the old leg does not start alone: %s", l->host.refusal.why);
	/* Order 1: its history is the newer one, as after many losses and starts. */
	if (l->turn & 1)
		WRITE_ONCE(l->host.pool->sb->epoch, l->host.pool->sb->epoch + 20);
	host_checkpoint(&l->host);
	host_stop(&l->host);
	oracle_free(&l->o);
	l->o = o;
	if (!host_start(&l->host, &l->o, &old) || !strstr(l->host.refusal.why, "split brain"))
		sim_fail("two histories: %s", l->host.refusal.why);
	old.degraded = true;
	if (!host_start(&l->host, &l->o, &old) || !strstr(l->host.refusal.why, "split brain"))
		sim_fail("two histories, by force: %s", l->host.refusal.why);
	script_start(l);
	end_sound(l);
}

static void not_detached_as_superblocks_fail(struct script *l)
{
	writes(4);
	l->host.quiesced = fail_next_superblock;
	script_cut_from_here(l);
	if (!try_detach(l, l->turn % own.n))
		sim_fail("one leg less without a superblock");
	expect_undone(l);
	host_flush(&l->host);
}

/*
 * The last leg has the superblock without the leg, and not the one that undoes that: it is given
 * up. It did not go on without the leg, and returns.
 */
static void not_detached_and_one_lacks_that(struct script *l)
{
	u32 last = l->start.legs - 1;

	writes(4);
	l->host.quiesced = fail_two_superblocks;
	if (!try_detach(l, 0))
		sim_fail("one leg less without a superblock");
	if (kvp_leg_in_sync(&l->host.pool->legs[last]))
		sim_fail("the last leg has all superblocks: the case was not set up");
	writes(3);
	life_stop(l);
	disks.nr_faults = 0;
	script_start(l);
	end_in_sync(l);
}

/* --- a leg in use is replaced --------------------------------------------------------------- */

/* The leg @old of the vdev is to leave when the one on @disk is in sync. */
static int try_replace(struct script *l, u32 old, u32 disk)
{
	struct host_start hs = with_one_more(l, disk);
	u8 uuid[16];
	int ret;

	memcpy(uuid, l->host.pool->sb->legs[own.first + old].uuid, sizeof(uuid));
	hs.replaces = uuid;
	ret = host_attach(&l->host, &hs);
	if (!ret)
		changed(l, &hs, 1);
	return ret;
}

/* Begin a replacement as above, but so slowly that the test can look at it half way. */
static void replace(struct script *l, u32 old, u32 disk)
{
	u32 survives = kvp_losses_survivable(l->host.pool);

	resilver_slowly(l);
	if (try_replace(l, old, disk))
		sim_fail("not replaced: %s", l->host.refusal.why);
	host_sleep(100);
	if (!kvp_leg_resilvers(leg_of(l, own.n - 1)))
		sim_fail("the leg does not resilver: the case was not set up");
	if (!kvp_leg_in_sync(leg_of(l, old)))
		sim_fail("the old leg is no source any more");
	if (kvp_losses_survivable(l->host.pool) != survives)
		sim_fail("the pool survives the loss of %u legs, not %u",
			 kvp_losses_survivable(l->host.pool), survives);
}

/* The resilver ends, and leg @old leaves. */
static void wait_left(struct script *l, u32 old)
{
	life_set_rate(l, 0);
	host_wait_resilver(&l->host);
	own.back_at = disks.trace.nr;
	host_wait_replaced(&l->host);
	own.left_at = disks.trace.nr;
	if (!kvp_leg_in_sync(leg_of(l, own.n - 1)))
		sim_fail("the new leg is in state %u", leg_of(l, own.n - 1)->state);
	if (leg_of(l, old)->state != KVP_LEG_OFFLINE)
		sim_fail("the old leg is in state %u", leg_of(l, old)->state);
}

/* Then detach it, as the tool does. */
static void end_replaced(struct script *l, u32 old)
{
	u32 i;

	wait_left(l, old);
	writes(2);
	detach(l, old);
	for (i = 0; i < l->host.pool->nr_legs; i++)
		if (kvp_replaces_leg(l->host.pool->sb, i) < KVP_MAX_LEGS)
			sim_fail("leg %u replaces one that has left", i);
	end_sound(l);
}

static void replaced_in_use(struct script *l)
{
	u32 old = l->turn % own.n;

	writes(10);
	replace(l, old, l->disks - 1);
	writes(4);
	if (kvp_leg_in_sync(leg_of(l, own.n - 1)))
		sim_fail("the new leg is a source too early");
	wait_left(l, old);
	if (!host_online(&l->host, host_disk(&l->start, own.first + old)))
		sim_fail("the old leg is a source again");
	life_again(l);
	host_wait_resilver(&l->host);
	end_replaced(l, old);
	end_after_a_restart(l);
}

static void replaced_beside_a_writer(struct script *l)
{
	u32 old = l->turn % own.n;

	writes(10);
	life_begin_writer(&own.writer);
	replace(l, old, l->disks - 1);
	wait_left(l, old);
	host_sleep(100);
	detach(l, old);
	life_end_writer(&own.writer);
	end_sound(l);
}

/* The order is in the superblock: it is carried out by the next start. */
static void replaced_after_a_restart(struct script *l)
{
	u32 old = l->turn % own.n;

	writes(8);
	replace(l, old, l->disks - 1);
	life_again(l);
	writes(3);
	end_replaced(l, old);
}

/*
 * The new leg fails: the old one stays. The order waits until the new one is back, or is cancelled.
 */
static void replacement_fails(struct script *l)
{
	u32 old = l->turn / 2 % own.n, new = l->disks - 1;

	writes(10);
	replace(l, old, new);
	disks_kill(new);
	writes(4);
	while (kvp_leg_takes_writes(leg_of(l, own.n - 1)))
		host_sleep(10);
	host_wait_replaced(&l->host);
	if (!kvp_leg_in_sync(leg_of(l, old)))
		sim_fail("the old leg has left, and the new one has failed");
	disks.dead[new] = false;
	if (l->turn & 1) {
		if (host_online(&l->host, new))
			sim_fail("the new leg does not return: %s", l->host.refusal.why);
	} else {
		detach(l, own.n - 1);
		life_expect_in_sync(l);
		life_blank_disk(l, new);
		replace(l, old, new);
	}
	end_replaced(l, old);
}

/* The new leg fails, and another takes its place: the order is still to replace the old one. */
static void replacement_is_replaced(struct script *l)
{
	struct host_start hs;
	u32 old = l->turn % own.n, out = own.n;
	u8 on[MAX_DISKS];

	writes(10);
	replace(l, old, l->disks - 1);
	disks_kill(l->disks - 1);
	writes(4);
	while (kvp_leg_takes_writes(leg_of(l, out)))
		host_sleep(10);
	hs = l->start;
	memcpy(on, hs.on, sizeof(on));
	on[own.first + out] = (u8)(l->disks - 2);
	hs.on = on;
	if (host_replace(&l->host, &hs))
		sim_fail("the new leg is not replaced: %s", l->host.refusal.why);
	memcpy(own.on[own.changes], on, sizeof(on));
	end_replaced(l, old);
}

/* The old leg fails: the new one gets all from the others, and takes its place. */
static void replaced_one_fails(struct script *l)
{
	u32 old = l->turn % own.n, disk = host_disk(&l->start, own.first + old);

	writes(10);
	replace(l, old, l->disks - 1);
	disks_kill(disk);
	writes(4);
	while (kvp_leg_in_sync(leg_of(l, old)))
		host_sleep(10);
	if (l->turn & 1) {
		l->start.missing = BIT(own.first + old);
		l->start.degraded = true;
		life_again(l);
	}
	wait_left(l, old);
	l->start.missing = 0;
	l->start.degraded = false;
	detach(l, old);
	end_sound(l);
}

/* It is cancelled: the new leg leaves. So does the order. */
static void replace_is_cancelled(struct script *l)
{
	u32 old = l->turn % own.n;

	writes(10);
	replace(l, old, l->disks - 1);
	detach(l, own.n - 1);
	life_expect_in_sync(l);
	life_again(l);
	end_sound(l);
}

/*
 * Another leg is out: the old one stays until that is back, or the mirror would have a copy less.
 */
static void replaced_beside_one_that_is_out(struct script *l)
{
	u32 old = l->turn % 2, out = 1 - old;

	if (kvp_leg_offline(l->host.pool, leg_of(l, out)))
		sim_fail("the other leg does not leave");
	writes(10);
	replace(l, old, l->disks - 1);
	life_set_rate(l, 0);
	host_wait_resilver(&l->host);
	host_sleep(3000);
	if (!kvp_leg_in_sync(leg_of(l, own.n - 1)) || !kvp_leg_in_sync(leg_of(l, old)))
		sim_fail("a source leaves beside one that is out");
	writes(3);
	if (l->turn & 2) {
		detach(l, out);
		old -= old > out;
	} else if (host_online(&l->host, host_disk(&l->start, own.first + out))) {
		sim_fail("the other leg does not return: %s", l->host.refusal.why);
	}
	end_replaced(l, old);
}

/* Legs get other numbers; the one that leaves is still the same. */
static void other_leaves_meanwhile(struct script *l)
{
	u32 old = 1 + l->turn % (own.n - 1);

	if (kvp_leg_offline(l->host.pool, leg_of(l, 0)))
		sim_fail("the other leg does not leave");
	writes(10);
	replace(l, old, l->disks - 1);
	detach(l, 0);
	writes(3);
	end_replaced(l, old - 1);
}

/* Two legs of a mirror at once: each leaves when all places are filled. */
static void two_are_replaced(struct script *l)
{
	writes(8);
	replace(l, 0, l->disks - 2);
	if (try_replace(l, 1, l->disks - 1))
		sim_fail("no second one: %s", l->host.refusal.why);
	writes(3);
	wait_left(l, 1);
	wait_left(l, 0);
	detach(l, 1);
	end_replaced(l, 0);
}

static void refused_to_be_replaced_in_use(struct script *l)
{
	struct host_start hs = with_one_more(l, l->disks - 2);
	u8 uuid[16] = { 0 }, on[MAX_DISKS];

	hs.replaces = uuid;
	if (host_attach(&l->host, &hs) != -EINVAL || !strstr(l->host.refusal.why, "none of that"))
		sim_fail("a leg that is not there: %s", l->host.refusal.why);
	writes(10);
	replace(l, 0, l->disks - 1);
	if (try_replace(l, 0, l->disks - 2) != -EBUSY || !strstr(l->host.refusal.why, "already"))
		sim_fail("replaced twice: %s", l->host.refusal.why);
	/* By now its resilver may have ended. */
	if (try_replace(l, own.n - 1, l->disks - 2) != -EBUSY ||
	    (!strstr(l->host.refusal.why, "not in sync") &&
	     !strstr(l->host.refusal.why, "has not left yet")))
		sim_fail("the new one is replaced: %s", l->host.refusal.why);
	if (own.n > 2) {
		if (kvp_leg_offline(l->host.pool, leg_of(l, 0)))
			sim_fail("the old leg does not leave");
		hs = l->start;
		memcpy(on, hs.on, sizeof(on));
		on[own.first] = (u8)(l->disks - 2);
		hs.on = on;
		if (host_replace(&l->host, &hs) != -EBUSY ||
		    !strstr(l->host.refusal.why, "already"))
			sim_fail("replaced twice, when it is out: %s", l->host.refusal.why);
	}
	end_replaced(l, 0);
}

/* To be cut everywhere, until the old leg has left; and from then on, until it is detached. */
static void cut_replaced_in_use(struct script *l)
{
	writes(4);
	script_cut_from_here(l);
	if (try_replace(l, 0, l->disks - 1))
		sim_fail("not replaced: %s", l->host.refusal.why);
	writes(1);
	wait_left(l, 0);
	writes(2);
	life_stop(l);
}

static void cut_replaced_and_detached(struct script *l)
{
	writes(4);
	if (try_replace(l, 0, l->disks - 1))
		sim_fail("not replaced: %s", l->host.refusal.why);
	wait_left(l, 0);
	script_cut_from_here(l);
	detach(l, 0);
	writes(2);
	life_stop(l);
}

/* --- all of them ---------------------------------------------------------------------------- */

/* To be cut everywhere. */
static void cut_attached(struct script *l)
{
	writes(4);
	script_cut_from_here(l);
	attach(l, l->disks - 1);
	writes(1);
	wait_in_sync(l);
	writes(2);
	life_stop(l);
}

/* The same. */
static void cut_detached(struct script *l)
{
	writes(4);
	script_cut_from_here(l);
	detach(l, 0);
	writes(3);
	life_stop(l);
}

static void set_up(struct script *l)
{
	const struct host_start *hs = l->c->shape;
	u32 i;

	own.n = own_shape->vdev ? hs->second : hs->legs - hs->second - hs->cache;
	own.first = own_shape->vdev ? hs->legs - hs->second : 0;
	own.rng.s = mix64(l->seed, 43);
	for (i = 0; i < MAX_DISKS; i++)
		own.on[0][i] = (u8)i;
	l->start.on = own.on[0];
}

static void begin(struct script *l)
{
	life_begin(l, &own.writer, &own.rng);
}

/* Checks are told of the pool as the life ended. */
static void set_crash(struct script *l)
{
	const struct host_start *hs = &l->start;

	l->crash = (struct crash){ .legs = hs->legs, .parity = hs->parity, .second = hs->second,
				   .second_parity = hs->second_parity, .cache = hs->cache,
				   .on = hs->on, .spare = l->disks - hs->legs, .o = &l->o,
				   .returns = true };
}

static void set_crash_of_change(struct script *l)
{
	set_crash(l);
	l->crash.before = &own.before;
	l->crash.changes_at = own.changes_at;
	if (l->start.legs > own.before.legs) {
		l->crash.lost = l->crash.back = BIT(own.first + own.n - 1);
		l->crash.back_at = own.back_at;
		if (own.left_at) {
			l->crash.leaves = BIT(own.first);
			l->crash.left_at = own.left_at;
		}
	}
}

/* The shape is the old one at the end, and the new one had a leg less. */
static void set_crash_of_undone(struct script *l)
{
	set_crash(l);
	own.before = without_one(l, 0);
	l->crash.before = &own.before;
	l->crash.changes_at = ~0u;
}

static void run_case(struct script_case *c, const char *what, const char *cut,
		     const struct shape *shape)
{
	char name[96];

	snprintf(name, sizeof(name), "attach:%s:%s%s", shape->name, what, cut);
	own_shape = shape;
	c->name = name;
	c->shape = &shape->start;
	c->set_up = set_up;
	c->begin = begin;
	c->own = &own;
	c->own_size = sizeof(own);
	life_run(c);
}

/* Any leg can be lost after it. */
static void lives(const char *what, void (*act)(struct script *l), const struct shape *shape,
		  u32 turns)
{
	struct script_case c = {
		.act = act, .end = set_crash, .turns = opt.thorough ? 8 * turns : turns,
		.salt = 7600, .cuts = SCRIPT_AT_THE_END, .depth = CHECK_LEGS,
	};

	run_case(&c, what, "", shape);
}

/* Cut what @act left at about @positions, from where it says on; @end sets what checks are told. */
static void cut_life(const char *what, void (*act)(struct script *l), const struct shape *shape,
		     void (*end)(struct script *l), u32 positions)
{
	struct script_case c = {
		.act = act, .end = end, .turns = 1, .most = 1, .salt = 7700,
		.cuts = opt.thorough ? 16 * positions : positions, .depth = CHECK_RECRASH,
	};

	run_case(&c, what, "-cut", shape);
}

static void attach_of(const struct shape *s)
{
	lives(NAMED(leg_is_attached), s, 2);
	lives(NAMED(attached_beside_a_writer), s, 2);
	lives(NAMED(two_are_attached), s, 1);
	lives(NAMED(attached_one_fails), s, s->start.legs <= 2 ? 12 : 4);
	lives(NAMED(refused_to_be_attached), s, 1);
	lives(NAMED(attached_one_hangs), s, 1);
	lives(NAMED(not_attached_as_superblocks_fail), s, 1);
	if (s->start.cache)
		lives(NAMED(undone_and_the_log_stays), s, 2);
	lives(NAMED(spare_is_attached), s, 1);
	lives(NAMED(attached_and_detached), s, 2);
	lives(NAMED(detached_while_it_resilvers), s, 1);
	if (s->start.legs - s->start.cache > 1)
		lives(NAMED(other_is_out), s, 2);
	if (s->start.second == 2 && !s->vdev)
		lives(NAMED(other_resilvers), s, 2);
	lives(NAMED(refused_beside_one_that_moves), s, 1);
	lives(NAMED(changed_beside_one_that_hangs), s, 1);
	lives(NAMED(undone_beside_a_read), s, 4);
	if (s->start.second == 2 && !s->vdev && s->start.legs == 4)
		lives(NAMED(undone_and_one_calls_another_out), s, 1);
	if (!s->vdev && s->start.legs - s->start.second - s->start.cache > 1)
		lives(NAMED(undone_beside_a_stray), s, 2);
	if (!s->vdev)
		lives(NAMED(undone_beside_torn_slots), s, 2);
	cut_life(NAMED(cut_attached), s, set_crash_of_change, 6);
}

static void replace_of(const struct shape *s)
{
	u32 n = s->vdev ? s->start.second : s->start.legs - s->start.second - s->start.cache;

	lives(NAMED(replaced_in_use), s, 2);
	lives(NAMED(replaced_beside_a_writer), s, 2);
	lives(NAMED(replaced_after_a_restart), s, 1);
	lives(NAMED(replacement_fails), s, 2);
	lives(NAMED(replacement_is_replaced), s, 1);
	lives(NAMED(replace_is_cancelled), s, 1);
	lives(NAMED(refused_to_be_replaced_in_use), s, 1);
	if (n > 1) {
		lives(NAMED(replaced_one_fails), s, 2);
		lives(NAMED(replaced_beside_one_that_is_out), s, 4);
		lives(NAMED(two_are_replaced), s, 1);
	}
	if (n > 2)
		lives(NAMED(other_leaves_meanwhile), s, 2);
	cut_life(NAMED(cut_replaced_in_use), s, set_crash_of_change, 6);
	cut_life(NAMED(cut_replaced_and_detached), s, set_crash_of_change, 4);
}

static void detach_of(const struct shape *s)
{
	lives(NAMED(leg_is_detached), s, 3);
	lives(NAMED(detached_one_hangs), s, 2);
	lives(NAMED(detached_beside_a_writer), s, 2);
	lives(NAMED(refused_to_be_detached), s, 1);
	lives(NAMED(detached_one_comes_back), s, 1);
	if (!s->start.cache && !s->start.second)
		lives(NAMED(detached_one_has_forked), s, 2);
	if (!s->vdev)
		lives(NAMED(not_detached_as_superblocks_fail), s, 1);
	if (s->start.second == 2 && !s->vdev)
		lives(NAMED(not_detached_and_one_lacks_that), s, 1);
	/* While it is being undone, the superblock with one leg less may be the newest. */
	if (!s->vdev && (s->start.legs == 2 ||
			 s->start.legs - s->start.second - s->start.cache > 2))
		cut_life(NAMED(not_detached_as_superblocks_fail), s, set_crash_of_undone,
			 8);
	cut_life(NAMED(cut_detached), s, set_crash_of_change, 6);
}

void run_attach(void)
{
	const struct shape *s;

	for (s = shapes; s < shapes + ARRAY_SIZE(shapes); s++) {
		attach_of(s);
		/*
		 * The other shapes differ only in the vdevs beside that of the leg. Attach and
		 * detach suffice for these.
		 */
		if (!s->start.second || s->start.second_parity)
			replace_of(s);
		if (s->start.legs - s->start.second - s->start.cache > 1)
			detach_of(s);
	}
}
