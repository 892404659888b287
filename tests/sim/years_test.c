// SPDX-License-Identifier: GPL-2.0-only
/*
 * Years of a pool: many lives, and between them people who pull disks, plug them in again under
 * other names or later, put in an old copy of a disk, replace one, and cut the power. A model that
 * knows only the administrator's guide says which starts must succeed. Whatever starts has all
 * acknowledged data. In the end all disks are there, and each copy is right.
 */
#include <string.h>

#include "life.h"
#include "script.h"
#include "pool/online.h"
#include "super/members.h"
#include "table/table.h"

#define MOST_LEGS	8
#define YEARS_BLOCKS	512u

static const struct shape {
	const char *name;
	struct host_start start;
	u32 levels;
} shapes[] = {
	{ "mirror", { .legs = 2 } },
	{ "mirror3", { .legs = 3 } },
	{ "deep2-mirror3", { .legs = 3 }, 2 },
	{ "parity1", { .legs = 3, .parity = true, .strict = true } },
	{ "parity1-of-4", { .legs = 4, .parity = true, .strict = true } },
	{ "mirrors", { .legs = 4, .second = 2 } },
	{ "mirror-and-parity1",
	  { .legs = 5, .second = 3, .second_parity = true, .strict = true } },
	{ "parity1-and-mirror", { .legs = 5, .parity = true, .second = 2, .strict = true } },
	{ "single-and-mirror", { .legs = 3, .second = 2 } },
};

/**
 * struct known - what people know of a pool besides its script
 * @old: an older state of each disk
 * @on: the disk of each leg. Behind these disks is a blank one
 * @at: where the last life was cut; ~0u: it was stopped
 * @sync: bit per leg: it was in sync to the end of the last life for certain
 * @copied: bit per leg: @old has a copy that may be put back
 * @reverted: bit per leg: it was put back before this life
 * @out: bit per leg: out of use at the end of the last life, which was stopped
 * @through: bit per leg: in sync all through this life so far
 * @replaced: the leg that got another disk in this life; ~0u: none. It was on @old_disk
 * @served: the place in the trace from which on this life may be cut
 * @missing: bit per leg: it was away as this life began
 * @ill: the start of this life meets errors
 * @faulted: it met them so late that the pool started, and was faulted at once: the life ends
 */
static struct known {
	struct image old[MOST_LEGS];
	u8 on[MOST_LEGS];
	struct rng rng;
	struct life_writer writer;
	u32 blocks, at, served, year;
	u32 sync, copied, reverted, out;
	u32 through;
	u64 missing;
	bool begun, last, ill, faulted;
	u32 replaced, old_disk;
} own;

static u32 all_legs(const struct script *y)
{
	return BIT(y->legs) - 1;
}

static struct kvp_leg *leg_of(struct script *y, u32 i)
{
	return &y->host.pool->legs[i];
}

static u32 in_sync(struct script *y)
{
	u32 i, mask = 0;

	for (i = 0; i < y->legs; i++)
		if (kvp_leg_in_sync(leg_of(y, i)))
			mask |= BIT(i);
	return mask;
}

/* Out, and not about to be in sync. */
static u32 out_of_use(struct script *y)
{
	u32 i, mask = 0;

	for (i = 0; i < y->legs; i++)
		if (!kvp_leg_takes_writes(leg_of(y, i)))
			mask |= BIT(i);
	return mask;
}

/* Do these legs hold all data, and may each vdev go on with them? */
static bool suffice(const struct script *y, u32 legs)
{
	u32 first = y->legs - y->start.second;
	u32 a = hweight32(legs & (BIT(first) - 1)), b = hweight32(legs >> first);

	if (a < (y->start.parity ? first - 1 : 1))
		return false;
	return !y->start.second ||
	       b >= (y->start.second_parity ? y->start.second - 1 : 1);
}

/* --- what happens in a life ------------------------------------------------------------ */

static void look_at_all(struct script *y)
{
	char why[160];
	u8 data[4096];
	u64 block;
	int ret;

	for (block = 0; block < own.blocks; block++) {
		ret = host_read(&y->host, block, data);
		if (ret)
			sim_fail("year %u: block %llu: %d", own.year, block, ret);
		if (own.at == ~0u ? !oracle_current(&y->o, block, data,
						   oracle_accepted(&y->o, block), why) :
				   !oracle_allows(&y->o, block, data, own.at, why))
			sim_fail("year %u: block %llu: %s", own.year, block, why);
		if (oracle_touched(&y->o, block))
			oracle_rebase(&y->o, block, data);
	}
}

static void a_leg_leaves(struct script *y)
{
	u32 i = rng_below(&own.rng, y->legs);

	if (!suffice(y, in_sync(y) & ~BIT(i)) || !kvp_leg_in_sync(leg_of(y, i)))
		return;
	if (rng_chance(&own.rng, 400)) {
		disks_kill(own.on[i]);
		while (kvp_leg_in_sync(leg_of(y, i)))
			life_writes(&own.writer, 2);
	} else if (kvp_leg_offline(y->host.pool, leg_of(y, i))) {
		sim_fail("year %u: leg %u does not leave", own.year, i);
	}
}

static void a_leg_returns(struct script *y)
{
	u32 i = rng_below(&own.rng, y->legs), disk = own.on[i];
	struct kvp_leg *leg = leg_of(y, i);

	if (y->start.missing >> i & 1 || kvp_leg_in_sync(leg) || kvp_leg_resilvers(leg))
		return;
	disks.dead[disk] = false;
	if (host_online(&y->host, disk) && !kvp_leg_takes_writes(leg) && !disks.nr_faults)
		sim_fail("year %u: leg %u does not return: %s", own.year, i, y->host.refusal.why);
	if (rng_chance(&own.rng, 500))
		host_wait_resilver(&y->host);
}

static void an_error(struct script *y)
{
	static const enum fault_kind kinds[] = { FAULT_WRITE_ONCE, FAULT_READ_ONCE };
	static const int errors[] = { -EIO, -ENOMEM, -EAGAIN, -ETIMEDOUT };
	struct fault *f;

	if (disks.nr_faults)
		return;
	f = disks_fault(kinds[rng_below(&own.rng, 2)], rng_below(&own.rng, y->legs), 0, ~0ull);
	f->after = rng_below(&own.rng, 30);
	f->times = 1;
	f->error = errors[rng_below(&own.rng, 4)];
}

/* A leg that is out, or away, gets a new disk. The old one goes to the shelf. */
static void a_leg_is_replaced(struct script *y)
{
	u32 i = 1 + rng_below(&own.rng, y->legs - 1), new = y->legs;
	struct host_start hs = y->start;
	u8 on[MOST_LEGS];

	if (kvp_leg_in_sync(leg_of(y, i)) || kvp_leg_resilvers(leg_of(y, i)) ||
	    !suffice(y, in_sync(y)) || host_labelled(new))
		return;
	memcpy(on, own.on, sizeof(on));
	on[i] = (u8)new;
	hs.on = on;
	hs.missing &= ~BIT_ULL(i);
	hs.swapped = i;
	if (host_replace(&y->host, &hs))
		sim_fail("year %u: leg %u is not replaced: %s", own.year, i, y->host.refusal.why);
	y->start.missing &= ~BIT_ULL(i);
	own.served = disks.trace.nr;
	own.replaced = i;
	own.old_disk = own.on[i];
	own.on[i] = (u8)new;
	own.copied &= ~BIT(i);
}

static void something(struct script *y)
{
	switch (rng_below(&own.rng, 12)) {
	case 0:
		a_leg_leaves(y);
		break;
	case 1:
	case 2:
		a_leg_returns(y);
		break;
	case 3:
		an_error(y);
		break;
	case 4:
		a_leg_is_replaced(y);
		break;
	case 5:
		host_wait_resilver(&y->host);
		break;
	case 6:
		host_checkpoint(&y->host);
		break;
	case 7:
		host_sleep(1100);
		break;
	default:
		life_writes(&own.writer, 1 + rng_below(&own.rng, 4));
	}
	own.through &= in_sync(y);
}

static void bring_all_back(struct script *y)
{
	u64 healed, unrepaired;
	u32 i;

	host_wait_resilver(&y->host);
	for (i = 0; i < y->legs; i++)
		if (!kvp_leg_in_sync(leg_of(y, i)) && host_online(&y->host, own.on[i]))
			sim_fail("at last: leg %u does not return: %s", i,
				 y->host.refusal.why);
	host_wait_resilver(&y->host);
	if (in_sync(y) != all_legs(y))
		sim_fail("at last: only legs %x are in sync", in_sync(y));
	kvp_table_shrink(y->host.pool->table, true);
	host_scrub(&y->host, &healed, &unrepaired);
	if (healed || unrepaired)
		sim_fail("at last a scrub healed %llu, and %llu could not be", healed, unrepaired);
}

/* Requests of the start fail, or allocations do. */
static void fall_ill(struct script *y)
{
	static const int errors[] = { -EIO, -ENOMEM, -EAGAIN, -ETIMEDOUT };

	y->start.refused_from = y->start.refused_until = 0;
	if (!own.ill)
		return;
	if (rng_chance(&own.rng, 200)) {
		y->start.refused_from = 1 + rng_below(&own.rng, 60);
		y->start.refused_until = y->start.refused_from + 1 + rng_below(&own.rng, 3);
		return;
	}
	disks.hiccup.first = rng_below(&own.rng, 100);
	disks.hiccup.nr = rng_chance(&own.rng, 500) ? 1 + rng_below(&own.rng, 8) : 1000000;
	disks.hiccup.error = errors[rng_below(&own.rng, 4)];
}

static void get_well(struct script *y)
{
	memset(&disks.hiccup, 0, sizeof(disks.hiccup));
}

/* --- lives --------------------------------------------------------------------------------- */

static void year_begins(struct script *y)
{
	own.faulted = own.ill && kvp_pool_faulted(y->host.pool);
	if (own.faulted) {
		/* Losses may not be recorded. Nothing is written, and people start it again. */
		own.sync &= in_sync(y);
		return;
	}
	if (!own.begun)
		host_write(&y->host, 0, own.blocks / 2, true);
	else
		look_at_all(y);
	own.begun = true;
	own.served = disks.trace.nr;
	own.through = in_sync(y);
	if (kvp_pool_set(y->host.pool, KVP_T_ONLINE_AUTO, rng_below(&own.rng, 2)))
		sim_fail("online_auto is not set");
}

static void year_passes(struct script *y)
{
	bool writer = rng_chance(&own.rng, 300);
	u32 n;

	if (own.faulted)
		return;
	if (writer)
		life_begin_writer(&own.writer);
	for (n = 2 + rng_below(&own.rng, 8); n; n--)
		something(y);
	if (writer)
		life_end_writer(&own.writer);
	own.through &= in_sync(y);
}

static void year_ends(struct script *y)
{
	disks.nr_faults = 0;
	if (own.faulted)
		return;
	if (own.last) {
		memset(disks.dead, 0, sizeof(disks.dead));
		bring_all_back(y);
	}
	host_flush(&y->host);
	own.sync = in_sync(y);
	own.out = out_of_use(y);
}

/* The disk that was replaced goes, and a blank one has its name. */
static void tidy_shelf(struct script *y)
{
	u32 i, n = y->legs, was;

	if (own.replaced == ~0u)
		return;
	i = own.replaced;
	was = own.old_disk;
	image_free(&y->img[was]);
	y->img[was] = y->img[n];
	image_init(&y->img[n], y->img[was].blocks);
	own.on[i] = (u8)was;
}

static void keep_disks(struct script *y, bool cut)
{
	u32 turn = rng_below(&own.rng, 4);

	if (cut) {
		own.at = own.served + rng_below(&own.rng, disks.trace.nr - own.served + 1);
		script_cut(y, own.at, turn, &own.rng);
		own.sync = own.through;
		own.out = 0;
	} else {
		script_keep(y);
		if (!y->refused && !own.faulted)
			own.at = ~0u;
	}
	tidy_shelf(y);
}

static bool must_start(const struct script *y, const struct known *before)
{
	u32 there = all_legs(y) & ~(u32)before->missing & ~before->reverted;

	if (!suffice(y, there & before->sync))
		return false;
	return !before->missing || y->start.degraded ||
	       (before->at == ~0u && !(before->missing & ~(u64)before->out));
}

static void tell(const struct script *y, const struct known *before, const char *end)
{
	printf("# year %u:%s missing %llx%s, put back %x, in sync %x, out %x: %s\n", own.year,
	       own.ill ? " ill," : "", before->missing, y->start.degraded ? ", degraded" : "",
	       before->reverted, before->sync, before->out, end);
}

static bool live(struct script *y, bool cut)
{
	struct known before;
	bool good;

	y->seed = rng_next(&own.rng);
	own.missing = y->start.missing;
	before = own;
	own.replaced = ~0u;
	own.faulted = false;
	good = script_live(y, year_passes, false);
	if (good && y->refused && !own.ill)
		good = !must_start(y, &before);
	if (!good || opt.verbose)
		tell(y, &before, !good && !y->refused ? "failed" : y->refused ?
				 y->host.refusal.why : cut ? "cut" : "stopped");
	if (!good)
		return false;
	/*
	 * The legs that are away may be recorded out before the start fails: by force, or if too
	 * few are away to have gone on by themselves (R16).
	 */
	if (y->refused && own.ill)
		own.sync &= ~(u32)y->start.missing;
	keep_disks(y, cut && !y->refused && !own.faulted);
	if (!y->refused && !own.faulted)
		own.reverted &= ~own.sync;
	return true;
}

/* --- between lives ------------------------------------------------------------------------ */

static void swap_names(struct script *y)
{
	u32 i = rng_below(&own.rng, y->legs), j = rng_below(&own.rng, y->legs);
	struct image img = y->img[own.on[i]];
	u8 on = own.on[i];

	y->img[on] = y->img[own.on[j]];
	y->img[own.on[j]] = img;
	own.on[i] = own.on[j];
	own.on[j] = on;
}

static void keep_copy(struct script *y)
{
	u32 i = rng_below(&own.rng, y->legs);

	if (!(own.sync >> i & 1) || own.reverted)
		return;
	if (own.copied >> i & 1)
		image_free(&own.old[i]);
	image_copy(&own.old[i], &y->img[own.on[i]]);
	own.copied |= BIT(i);
}

static void put_copy_back(struct script *y)
{
	u32 i = rng_below(&own.rng, y->legs);

	if (!(own.copied >> i & 1) || !suffice(y, own.sync & ~BIT(i)))
		return;
	image_free(&y->img[own.on[i]]);
	y->img[own.on[i]] = own.old[i];
	own.copied &= ~BIT(i);
	own.reverted |= BIT(i);
	own.sync &= ~BIT(i);
}

static void someone_comes(struct script *y)
{
	u32 away = 0;

	if (rng_chance(&own.rng, 300))
		swap_names(y);
	if (rng_chance(&own.rng, 300))
		keep_copy(y);
	if (rng_chance(&own.rng, 250))
		put_copy_back(y);
	if (rng_chance(&own.rng, 400))
		away = BIT(rng_below(&own.rng, y->legs));
	if (away && rng_chance(&own.rng, 300))
		away |= BIT(rng_below(&own.rng, y->legs));
	if (own.reverted && !suffice(y, own.sync & ~away))
		away = 0;
	if (away == all_legs(y))
		away = 0;
	y->start.missing = away;
	y->start.degraded = suffice(y, own.sync & ~away) && away && rng_chance(&own.rng, 500);
	own.ill = rng_chance(&own.rng, 250);
	y->start.hostile = true;	/* any leg may be found to be behind */
}

static bool some_years(struct script *y)
{
	u32 n = 4 + rng_below(&own.rng, 10);

	if (!live(y, false))
		return false;
	for (own.year = 1; own.year < n; own.year++) {
		someone_comes(y);
		if (!live(y, rng_chance(&own.rng, 500)))
			return false;
	}
	someone_comes(y);
	y->start.missing = 0;
	y->start.degraded = false;
	own.last = true;
	own.ill = false;
	return live(y, false);
}

static void set_up(struct script *y)
{
	u32 i;

	y->start.on = own.on;
	own.rng.s = y->seed;
	own.blocks = y->o.blocks;
	own.writer = (struct life_writer){ &y->host, &own.rng, own.blocks };
	for (i = 0; i < y->legs; i++)
		own.on[i] = (u8)i;
	own.at = ~0u;
}

static void clean_up(struct script *y)
{
	u32 i;

	for (i = 0; i < y->legs; i++)
		if (own.copied >> i & 1)
			image_free(&own.old[i]);
}

static void years(const struct shape *s, u32 turns)
{
	const struct host_start *hs = &s->start;
	char name[96];
	const struct script_case c = {
		.name = name, .shape = hs, .spares = 1, .blank = POOL_LEG_BLOCKS,
		.blocks = hs->second ? host_boundary(hs) + 128 : YEARS_BLOCKS,
		.set_up = set_up, .clean_up = clean_up, .prepare = fall_ill, .may_refuse = true,
		.tried = get_well, .begin = year_begins, .end = year_ends, .play = some_years,
		.turns = turns, .salt = 11000, .own = &own, .own_size = sizeof(own),
	};

	snprintf(name, sizeof(name), "years:%s", s->name);
	sim_least_levels = max(opt.levels, s->levels);
	script_run(&c);
	sim_least_levels = opt.levels;
}

void run_years(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(shapes); i++)
		years(&shapes[i], opt.thorough ? 200 : 12);
}
