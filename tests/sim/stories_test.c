// SPDX-License-Identifier: GPL-2.0-only
/*
 * What people told of disks that go and come back. Each story is a few lives of a pool, with what
 * the administrator's guide promises for it.
 */
#include <stdlib.h>
#include <string.h>

#include "life.h"
#include "script.h"
#include "pool/cachemode.h"
#include "pool/online.h"
#include "super/members.h"
#include "table/table.h"

/* What a telling knows besides its script. */
static struct {
	u8 on[MAX_DISKS];	/* the disk of each leg */
	struct rng rng;
	struct life_writer writer;
	u32 blocks;
} own;

static struct kvp_leg *leg_of(struct script *s, u32 i)
{
	return &s->host.pool->legs[i];
}

/* A life that ends well. A start that is refused is one, too. */
static bool live(struct script *s, void (*act)(struct script *s))
{
	s->seed = rng_next(&own.rng);
	if (!script_live(s, act, false))
		return false;
	script_keep(s);
	return true;
}

static bool tell(const char *what)
{
	printf("# %s\n", what);
	return false;
}

static bool starts(struct script *s, void (*act)(struct script *s))
{
	if (!live(s, act))
		return false;
	if (s->refused)
		printf("# refused: %s\n", s->host.refusal.why);
	return !s->refused;
}

/* The start is refused, with @word in its reason, and that writes nothing that matters. */
static bool is_refused(struct script *s, const char *word)
{
	if (!live(s, NULL))
		return false;
	if (!s->refused)
		return tell("started, though it must be refused");
	return strstr(s->host.refusal.why, word) || tell(s->host.refusal.why);
}

static void all_is_there(struct script *s)
{
	u64 block;

	for (block = 0; block < own.blocks; block++)
		host_read_check(&s->host, block);
}

static void some_writes(struct script *s)
{
	all_is_there(s);
	life_writes(&own.writer, 8);
}

static void all_return(struct script *s)
{
	u32 i;

	all_is_there(s);
	host_wait_resilver(&s->host);
	for (i = 0; i < s->start.legs; i++)
		if (!kvp_leg_in_sync(leg_of(s, i)) && host_online(&s->host, own.on[i]))
			sim_fail("leg %u does not return: %s", i, s->host.refusal.why);
	host_wait_resilver(&s->host);
	for (i = 0; i < s->start.legs; i++)
		if (!kvp_leg_in_sync(leg_of(s, i)))
			sim_fail("leg %u is in state %u", i, leg_of(s, i)->state);
	life_expect_sound(&s->host, own.blocks);
}

static void leave(struct script *s, u32 i)
{
	if (kvp_leg_offline(s->host.pool, leg_of(s, i)))
		sim_fail("leg %u does not leave", i);
}

static void set(struct script *s, enum kvp_tunable_id id, u64 value)
{
	if (kvp_pool_set(s->host.pool, id, value))
		sim_fail("a tunable is not set");
}

static void copy_disk(struct script *s, u32 disk, struct image *to)
{
	image_copy(to, &s->img[disk]);
}

static void put_back(struct script *s, u32 disk, struct image *from)
{
	image_free(&s->img[disk]);
	s->img[disk] = *from;
}

static bool all_well_at_last(struct script *s)
{
	s->start.missing = 0;
	s->start.degraded = false;
	return starts(s, all_return);
}

/* --- legs of a mirror of three ------------------------------------------------------------ */

static void two_leave_in_turn(struct script *s)
{
	life_writes(&own.writer, 4);
	leave(s, 0);
	life_writes(&own.writer, 6);
	leave(s, 1);
	life_writes(&own.writer, 6);
}

/* The one that left first returns first, and then is the only source. */
static void returns_and_source_leaves(struct script *s)
{
	all_is_there(s);
	if (host_online(&s->host, own.on[s->turn & 1]))
		sim_fail("does not return: %s", s->host.refusal.why);
	host_wait_resilver(&s->host);
	life_writes(&own.writer, 3);
	leave(s, 2);
	life_writes(&own.writer, 3);
	if (host_online(&s->host, own.on[!(s->turn & 1)]))
		sim_fail("does not return: %s", s->host.refusal.why);
	host_wait_resilver(&s->host);
	all_is_there(s);
	life_writes(&own.writer, 3);
}

static bool legs_return_in_another_order(struct script *s)
{
	return starts(s, two_leave_in_turn) && starts(s, returns_and_source_leaves) &&
	       all_well_at_last(s);
}

/* Each life is forced with another leg, and what is away never has anything that is newer. */
static bool lives_on_other_legs(struct script *s)
{
	s->start.missing = BIT(0);
	s->start.degraded = true;
	if (!starts(s, some_writes))
		return false;
	s->start.missing = BIT(0) | BIT(1);
	if (!starts(s, some_writes) || !starts(s, some_writes))
		return false;
	/* The other two know nothing of that, and say that leg 2 may have it. */
	s->start.missing = BIT(2);
	s->start.degraded = false;
	if (!is_refused(s, ""))
		return false;
	return all_well_at_last(s);
}

static void resilver_slowly(struct script *s)
{
	all_is_there(s);
	if (host_checkpoint(&s->host))
		sim_fail("not all is home");
	set(s, KVP_T_RESILVER_RATE, 64 << 10);
}

static void both_get_some(struct script *s)
{
	resilver_slowly(s);
	if (host_online(&s->host, own.on[0]) || host_online(&s->host, own.on[1]))
		sim_fail("does not return: %s", s->host.refusal.why);
	host_sleep(200 * (s->turn + 1));
}

/* The pool is exported while two legs resilver, and the import lacks their source. */
static bool source_is_left_behind(struct script *s)
{
	if (!starts(s, two_leave_in_turn) || !starts(s, both_get_some))
		return false;
	s->start.missing = BIT(2);
	if (!is_refused(s, ""))
		return false;
	s->start.degraded = true;
	if (!is_refused(s, ""))
		return false;
	s->start.missing = BIT(0);
	s->start.degraded = false;
	return starts(s, some_writes) && all_well_at_last(s);
}

static void flap(struct script *s)
{
	u32 i;

	life_begin_writer(&own.writer);
	for (i = 0; i < 12; i++) {
		leave(s, i % 3);
		host_sleep(rng_below(&own.rng, 60));
		while (host_online(&s->host, own.on[i % 3]))
			host_sleep(10);
		if (rng_chance(&own.rng, 300))
			host_sleep(rng_below(&own.rng, 80));
		else
			host_wait_resilver(&s->host);
		if (!kvp_leg_in_sync(leg_of(s, i % 3)))
			host_wait_resilver(&s->host);
	}
	life_end_writer(&own.writer);
}

static bool cable_is_loose(struct script *s)
{
	return starts(s, flap) && all_well_at_last(s);
}

/* --- labels --------------------------------------------------------------------------------- */

static void wipe(struct image *img, u64 first, u64 count)
{
	u8 zeros[4096] = { 0 };
	u64 i;

	for (i = first; i < first + count; i++)
		image_write_data(img, i, zeros);
}

static void one_leaves(struct script *s)
{
	life_writes(&own.writer, 4);
	leave(s, 1);
	life_writes(&own.writer, 4);
}

/* A leg that is out lost one of its rings to another tool meanwhile. */
static bool half_a_label_returns(struct script *s)
{
	struct image *img = &s->img[1];

	if (!starts(s, one_leaves))
		return false;
	wipe(img, s->turn & 1 ? img->blocks - 256 : 0, 256);
	return all_well_at_last(s);
}

static u64 label_number(const struct image *img, u32 end, u32 slot, u64 *at)
{
	u8 block[KVP_BLOCK_SIZE];
	__le64 number;

	*at = kvp_sb_slot_offset(img->blocks, end, slot) >> KVP_BLOCK_SHIFT;
	image_read(img, *at, block);
	memcpy(&number, block + offsetof(struct kvp_disk_sb, sequence), sizeof(number));
	return le64_to_cpu(number);
}

/*
 * The power went between the two rings: only the front one has the newest superblock. The leg has
 * the one that is @far numbers older, and none between them.
 */
static void forget_newest_at_the_back(struct image *img, u64 far)
{
	u64 newest = 0, at, number;
	u32 slot, end;

	for (slot = 0; slot < KVP_SB_RING; slot++)
		newest = max(newest, label_number(img, 0, slot, &at));
	for (end = 0; end < 2; end++)
		for (slot = 0; slot < KVP_SB_RING; slot++) {
			number = label_number(img, end, slot, &at);
			if (number + far > newest && number + !end <= newest)
				wipe(img, at, KVP_SB_BLOCKS);
		}
}

static void superblocks_pass(struct script *s)
{
	u32 i;

	for (i = 0; i < s->turn % 16; i++)
		set(s, KVP_T_COMMIT_INTERVAL_MS, 1000 + i);
	all_return(s);
}

/* Its next superblocks have any slots, also those of its own last two. */
static bool newest_label_is_in_one_ring(struct script *s)
{
	if (!starts(s, one_leaves))
		return false;
	forget_newest_at_the_back(&s->img[1], s->turn < 16 ? 1 : 5);
	return starts(s, superblocks_pass) && all_well_at_last(s);
}

static void many_superblocks(struct script *s)
{
	u32 i;

	for (i = 0; i < 24; i++)
		set(s, KVP_T_COMMIT_INTERVAL_MS, 1000 + i);
}

/* The newest number at the front of @img. */
static u64 newest_number(const struct image *img)
{
	u64 newest = 0, at;
	u32 slot;

	for (slot = 0; slot < KVP_SB_RING; slot++)
		newest = max(newest, label_number(img, 0, slot, &at));
	return newest;
}

/* Write the superblock with @number to the front ring of @img as it is on @from. */
static bool put_at_the_front(struct image *img, const struct image *from, u64 number)
{
	u8 block[KVP_BLOCK_SIZE];
	u64 at;
	u32 i;

	if (label_number(from, 0, number % KVP_SB_RING, &at) != number)
		return tell("the case was not set up: the first superblock is not there");
	for (i = 0; i < KVP_SB_BLOCKS; i++) {
		image_read(from, at + i, block);
		image_write_data(img, at + i, block);
	}
	return true;
}

/* Each half is started alone. That of leg 0 has the higher epoch, and leg 1 the higher numbers. */
static bool halves_part(struct script *s)
{
	s->start.degraded = true;
	s->start.missing = BIT(0);
	if (!starts(s, many_superblocks))
		return false;
	s->start.missing = BIT(1);
	if (!starts(s, NULL) || !starts(s, NULL))
		return false;
	s->start.degraded = false;
	s->start.missing = 0;
	return newest_number(&s->img[0]) < newest_number(&s->img[1]) ||
	       tell("the case was not set up: leg 0 has the higher numbers");
}

/*
 * The history of leg 1 is given up by order. The power goes when only its front ring has the first
 * superblock. So its newest one has a lower number than those of the history that was given up.
 */
static bool order_is_cut(struct script *s)
{
	u64 first = newest_number(&s->img[0]) + 1;
	struct image before[2];
	bool good;

	copy_disk(s, 0, &before[0]);
	copy_disk(s, 1, &before[1]);
	s->start.accept_fork = true;
	good = starts(s, NULL) && put_at_the_front(&before[1], &s->img[1], first);
	s->start.accept_fork = false;
	put_back(s, 0, &before[0]);
	put_back(s, 1, &before[1]);
	return good;
}

/* The pool goes on without that leg, which then returns. Its first superblock has any slot. */
static bool leg_with_higher_numbers_returns(struct script *s)
{
	if (!halves_part(s) || !order_is_cut(s))
		return false;
	s->start.missing = BIT(1);
	if (!starts(s, NULL))
		return false;
	s->start.missing = 0;
	return starts(s, superblocks_pass) && all_well_at_last(s);
}

/* --- disks that do not belong ----------------------------------------------------------------- */

static void is_replaced(struct script *s)
{
	struct host_start hs = s->start;
	u8 on[MAX_DISKS];

	memcpy(on, own.on, sizeof(on));
	on[1] = (u8)s->start.legs;
	hs.on = on;
	hs.swapped = 1;
	if (s->turn & 1) {
		/* It is in use again, so only an order to leave makes it one that is out. */
		resilver_slowly(s);
		if (host_online(&s->host, own.on[1]))
			sim_fail("does not return: %s", s->host.refusal.why);
		host_sleep(100);
	}
	if (s->turn & 1) {
		if (!host_replace(&s->host, &hs) ||
		    !strstr(s->host.refusal.why, "is resilvering"))
			sim_fail("replaced as it resilvers: %s", s->host.refusal.why);
		leave(s, 1);
	}
	if (host_replace(&s->host, &hs))
		sim_fail("not replaced: %s", s->host.refusal.why);
	own.on[1] = on[1];
	set(s, KVP_T_RESILVER_RATE, 0);
	if (s->turn & 2)
		host_wait_resilver(&s->host);
	life_writes(&own.writer, 3);
}

/* A leg that is out, or resilvers, is replaced. Then the old disk is back as it was before. */
static bool replaced_one_is_plugged_in(struct script *s)
{
	struct image old;
	u8 new;

	if (!starts(s, one_leaves))
		return false;
	copy_disk(s, 1, &old);
	if (!starts(s, is_replaced))
		return false;
	put_back(s, 1, &old);
	new = own.on[1];
	own.on[1] = 1;
	if (!is_refused(s, ""))
		return false;
	/* alone, it says that the others may have more */
	s->start.missing = (BIT(s->start.legs) - 1) & ~BIT(1);
	if (!is_refused(s, ""))
		return false;
	own.on[1] = new;
	return all_well_at_last(s);
}

/* The halves are started alone by force, and both die at once each time. */
static bool each_half_alone_by_force(struct script *s)
{
	u32 last = s->start.legs - 1;

	s->start.degraded = true;
	s->start.missing = BIT(last);
	if (!starts(s, some_writes))
		return false;
	/* What the left half did is away now. */
	s->start.missing = (BIT(s->start.legs) - 1) & ~BIT(last);
	if (!live(s, NULL) || s->refused)
		return tell("the other half does not start by force");
	s->start.missing = 0;
	s->start.degraded = false;
	if (!is_refused(s, "split brain"))
		return false;
	/* The right half is dropped. */
	s->start.missing = BIT(last);
	return starts(s, some_writes);
}

static bool refused_by(struct script *s, const struct base *other, u32 which)
{
	struct image mine = s->img[which];

	image_copy(&s->img[which], &other->img[which]);
	if (!live(s, NULL))
		return false;
	put_back(s, which, &mine);
	return s->refused || tell("a disk of another pool is taken");
}

/* Leg 1 has died, and no request has told so. Then the good one is taken out by mistake. */
static void wrong_leg_leaves(struct script *s)
{
	u32 last = s->start.legs - 1, wrong = last - 1;

	all_is_there(s);
	disks_kill(own.on[last]);
	if (!kvp_leg_offline(s->host.pool, leg_of(s, wrong)))
		sim_fail("the last good leg leaves");
	life_writes(&own.writer, 4);
	if (kvp_pool_faulted(s->host.pool) || !kvp_leg_in_sync(leg_of(s, wrong)) ||
	    kvp_leg_in_sync(leg_of(s, last)))
		sim_fail("the pool does not go on with the good leg");
	all_is_there(s);
}

static bool good_leg_is_taken_out_by_mistake(struct script *s)
{
	return starts(s, wrong_leg_leaves) && all_well_at_last(s);
}

/* --- caches -----------------------------------------------------------------------------------*/

static void ssd_leaves(struct script *s)
{
	life_writes(&own.writer, 4);
	leave(s, 3);
	life_writes(&own.writer, 8);
	/* This is not home at the stop, so the log is needed. */
	host_write(&s->host, 3, 2, true);
}

/* The SSD that was out is all that is left of the cache: it lacks what was acknowledged. */
static bool only_the_outdated_ssd_is_left(struct script *s)
{
	if (!starts(s, ssd_leaves))
		return false;
	s->start.missing = BIT(2);
	if (!is_refused(s, ""))
		return false;
	s->start.degraded = true;
	if (!is_refused(s, ""))
		return false;
	s->start.missing = 0;
	s->start.degraded = false;
	return starts(s, some_writes);
}

/*
 * The legs of a cache, or those with data, are put back to an older state, all of them. The start
 * is refused, unless the last life left nothing in the log: then SSDs are not needed, and all is
 * there.
 */
static bool all_are_put_back(struct script *s, u32 first)
{
	struct image old[2], now[2];
	bool good;
	u32 i;

	for (i = 0; i < 2; i++)
		copy_disk(s, first + i, &old[i]);
	if (!starts(s, some_writes) || !starts(s, some_writes))
		return false;
	for (i = 0; i < 2; i++) {
		copy_disk(s, first + i, &now[i]);
		put_back(s, first + i, &old[i]);
	}
	good = live(s, all_is_there);
	for (i = 0; i < 2; i++)
		put_back(s, first + i, &now[i]);
	return good && starts(s, some_writes);
}

static bool ssds_are_put_back(struct script *s)
{
	return all_are_put_back(s, 2);
}

static bool disks_behind_ssds_are_put_back(struct script *s)
{
	return all_are_put_back(s, 0);
}

static bool one_ssd_is_put_back(struct script *s)
{
	struct image old;

	copy_disk(s, 3, &old);
	if (!starts(s, some_writes) || !starts(s, some_writes))
		return false;
	put_back(s, 3, &old);
	return starts(s, some_writes) && starts(s, some_writes);
}

static void set_mode(struct script *s, u64 mode)
{
	if (kvp_cache_set_mode(s->host.pool, mode, true, &s->host.refusal))
		sim_fail("the log does not move: %s", s->host.refusal.why);
}

static void begin_slow_return(struct script *s)
{
	leave(s, 1);
	life_writes(&own.writer, 8);
	resilver_slowly(s);
	if (host_online(&s->host, own.on[1]))
		sim_fail("does not return: %s", s->host.refusal.why);
	host_sleep(50 * s->turn);
}

static void end_return(struct script *s)
{
	set(s, KVP_T_RESILVER_RATE, 0);
	host_wait_resilver(&s->host);
	if (!kvp_leg_in_sync(leg_of(s, 1)))
		sim_fail("leg 1 is in state %u", leg_of(s, 1)->state);
	life_expect_sound(&s->host, own.blocks);
}

/* The log moves to the legs and back to the SSDs while a leg resilvers, beside a writer. */
static void log_moves_to_and_fro(struct script *s)
{
	begin_slow_return(s);
	life_begin_writer(&own.writer);
	set_mode(s, KVP_CACHE_WRITETHROUGH);
	host_sleep(40);
	set_mode(s, KVP_CACHE_WRITEBACK);
	host_sleep(40);
	set_mode(s, KVP_CACHE_WRITETHROUGH);
	life_end_writer(&own.writer);
	end_return(s);
}

static bool log_moves_while_a_leg_resilvers(struct script *s)
{
	if (!starts(s, log_moves_to_and_fro))
		return false;
	/* The leg that was there all the time is lost: the other one has all. */
	s->start.missing = BIT(0);
	s->start.degraded = true;
	return starts(s, some_writes);
}

static void cache_leaves(struct script *s)
{
	struct host_start hs = s->start;

	begin_slow_return(s);
	set_mode(s, KVP_CACHE_WRITETHROUGH);
	hs.cache = 0;
	hs.legs -= 2;
	if (host_shrink(&s->host, &hs))
		sim_fail("the cache stays: %s", s->host.refusal.why);
	s->start = hs;
	life_writes(&own.writer, 4);
	end_return(s);
}

static bool cache_is_removed_while_a_leg_resilvers(struct script *s)
{
	if (!starts(s, cache_leaves))
		return false;
	s->start.missing = BIT(0);
	s->start.degraded = true;
	return starts(s, some_writes) && all_well_at_last(s);
}

static void ssds_die_one_after_the_other(struct script *s)
{
	begin_slow_return(s);
	life_begin_writer(&own.writer);
	disks_kill(own.on[2]);
	host_sleep(100);
	disks_kill(own.on[3]);
	host_sleep(100);
	life_end_writer(&own.writer);
	host_flush(&s->host);
	end_return(s);
}

/* The last SSD takes no more writes: the log moves to the disks, and nothing is lost. */
static bool ssds_die_while_a_leg_resilvers(struct script *s)
{
	if (!starts(s, ssds_die_one_after_the_other))
		return false;
	s->start.missing = BIT(0) | BIT(2) | BIT(3);
	s->start.degraded = true;
	return starts(s, some_writes);
}

static void leg_leaves_for_long(struct script *s)
{
	life_writes(&own.writer, 4);
	leave(s, 1);
	life_writes(&own.writer, 4);
}

/* The pool runs on the SSDs and one disk. Then the other disk alone is connected with them. */
static bool wrong_disk_is_beside_the_ssds(struct script *s)
{
	if (!starts(s, leg_leaves_for_long) || !starts(s, some_writes))
		return false;
	s->start.missing = BIT(0);
	if (!is_refused(s, ""))
		return false;
	s->start.degraded = true;
	if (!is_refused(s, ""))
		return false;
	return all_well_at_last(s);
}

/* --- the frame -------------------------------------------------------------------------------- */

static void first_life(struct script *s)
{
	host_write(&s->host, 0, own.blocks / 2, true);
	life_writes(&own.writer, 6);
	host_checkpoint(&s->host);
	set(s, KVP_T_ONLINE_AUTO, 0);
}

static bool disk_of_another_pool(struct script *s)
{
	const struct base *other = base_for(s->c->shape);
	u32 i;

	for (i = 0; i < s->legs; i++)
		if (!refused_by(s, other, i))
			return false;
	return all_well_at_last(s);
}

#define MIRROR		{ .legs = 2 }
#define MIRROR3		{ .legs = 3 }
#define PARITY1		{ .legs = 3, .parity = true, .strict = true }
#define CACHED		{ .legs = 4, .cache = 2 }

static const struct {
	const char *name;
	bool (*tell)(struct script *s);
	struct host_start shape;
	u32 times;
} stories[] = {
	{ "mirror3:legs_return_in_another_order", legs_return_in_another_order, MIRROR3, 4 },
	{ "mirror3:lives_on_other_legs", lives_on_other_legs, MIRROR3, 2 },
	{ "mirror3:source_is_left_behind", source_is_left_behind, MIRROR3, 4 },
	{ "mirror3:cable_is_loose", cable_is_loose, MIRROR3, 4 },
	{ "mirror:half_a_label_returns", half_a_label_returns, MIRROR, 2 },
	{ "parity1:half_a_label_returns", half_a_label_returns, PARITY1, 2 },
	{ "mirror:newest_label_is_in_one_ring", newest_label_is_in_one_ring, MIRROR, 32 },
	{ "parity1:newest_label_is_in_one_ring", newest_label_is_in_one_ring, PARITY1, 32 },
	{ "mirror:leg_with_higher_numbers_returns", leg_with_higher_numbers_returns, MIRROR, 16 },
	{ "mirror:replaced_one_is_plugged_in", replaced_one_is_plugged_in, MIRROR, 4 },
	{ "parity1:replaced_one_is_plugged_in", replaced_one_is_plugged_in, PARITY1, 4 },
	{ "mirror:each_half_alone_by_force", each_half_alone_by_force, MIRROR, 1 },
	{ "mirror:disk_of_another_pool", disk_of_another_pool, MIRROR, 1 },
	{ "mirror:good_leg_is_taken_out_by_mistake", good_leg_is_taken_out_by_mistake, MIRROR, 1 },
	{ "parity1:good_leg_is_taken_out_by_mistake", good_leg_is_taken_out_by_mistake, PARITY1, 1 },
	{ "mirrors:good_leg_is_taken_out_by_mistake", good_leg_is_taken_out_by_mistake,
	  { .legs = 4, .second = 2 }, 1 },
	{ "cache:only_the_outdated_ssd_is_left", only_the_outdated_ssd_is_left, CACHED, 2 },
	{ "cache:ssds_are_put_back", ssds_are_put_back, CACHED, 2 },
	{ "cache:disks_behind_ssds_are_put_back", disks_behind_ssds_are_put_back, CACHED, 2 },
	{ "cache:one_ssd_is_put_back", one_ssd_is_put_back, CACHED, 2 },
	{ "cache:log_moves_while_a_leg_resilvers", log_moves_while_a_leg_resilvers, CACHED, 4 },
	{ "cache:cache_is_removed_while_a_leg_resilvers", cache_is_removed_while_a_leg_resilvers,
	  CACHED, 4 },
	{ "cache:ssds_die_while_a_leg_resilvers", ssds_die_while_a_leg_resilvers, CACHED, 4 },
	{ "cache:wrong_disk_is_beside_the_ssds", wrong_disk_is_beside_the_ssds, CACHED, 2 },
	{ "cache:disk_of_another_pool", disk_of_another_pool, CACHED, 1 },
};

static bool (*story)(struct script *s);	/* that is told now */

static bool told(struct script *s)
{
	return starts(s, first_life) && story(s);
}

static void set_up(struct script *s)
{
	u32 i;

	for (i = 0; i < s->legs; i++)
		own.on[i] = (u8)i;
	s->start.on = own.on;
	s->start.hostile = true;
	own.rng.s = s->seed;
	own.blocks = s->o.blocks;
	own.writer = (struct life_writer){ &s->host, &own.rng, own.blocks };
}

static void end(struct script *s)
{
	disks.nr_faults = 0;
	host_flush(&s->host);
}

static void run_story(u32 i)
{
	const struct host_start *shape = &stories[i].shape;
	char name[96];
	const struct script_case c = {
		.name = name, .shape = shape, .spares = 1, .blank = POOL_LEG_BLOCKS,
		.blocks = shape->second ? host_boundary(shape) + 128 : POOL_BLOCKS,
		.set_up = set_up, .may_refuse = true, .end = end, .play = told,
		.turns = stories[i].times, .most = stories[i].times, .salt = 12000,
		.own = &own, .own_size = sizeof(own),
	};

	snprintf(name, sizeof(name), "story:%s", stories[i].name);
	story = stories[i].tell;
	script_run(&c);
}

void run_stories(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(stories); i++)
		run_story(i);
}
