// SPDX-License-Identifier: GPL-2.0-only
/*
 * Years of a pool: many lives, and between them people who pull disks, plug them in again under
 * other names or later, put in an old copy of a disk, replace one, and cut the power. A model that
 * knows only the administrator's guide says which starts must succeed. Whatever starts has all
 * acknowledged data. In the end all disks are there, and each copy is right.
 */
#include <stdlib.h>
#include <string.h>

#include "life.h"
#include "suite.h"
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
 * struct years - a pool, and what people know of it
 * @img: the disks of its legs, and behind them a blank one
 * @old: an older state of each disk
 * @on: the disk of each leg
 * @at: where the last life was cut; ~0u: it was stopped
 * @sync: bit per leg: it was in sync to the end of the last life for certain
 * @copied: bit per leg: @old has a copy that may be put back
 * @reverted: bit per leg: it was put back before this life
 * @out: bit per leg: out of use at the end of the last life, which was stopped
 * @through: bit per leg: in sync all through this life so far
 * @replaced: the leg that got another disk in this life; ~0u: none. It was on @old_disk
 * @served: the place in the trace from which on this life may be cut
 * @ill: the start of this life meets errors
 */
struct years {
	const char *name;
	struct host host;
	struct host_start start;
	struct oracle o;
	struct image img[MOST_LEGS + 1], old[MOST_LEGS];
	u8 on[MOST_LEGS];
	struct rng rng;
	struct life_writer writer;
	u32 blocks, at, served, year;
	u32 sync, copied, reverted, out;
	u32 through;
	bool refused, begun, last, ill;
	u32 replaced, old_disk;
	char why[512];
};

static u32 all_legs(const struct years *y)
{
	return BIT(y->start.legs) - 1;
}

static struct kvp_leg *leg_of(struct years *y, u32 i)
{
	return &y->host.pool->legs[i];
}

static u32 in_sync(struct years *y)
{
	u32 i, mask = 0;

	for (i = 0; i < y->start.legs; i++)
		if (kvp_leg_in_sync(leg_of(y, i)))
			mask |= BIT(i);
	return mask;
}

/* Out, and not about to be in sync. */
static u32 out_of_use(struct years *y)
{
	u32 i, mask = 0;

	for (i = 0; i < y->start.legs; i++)
		if (!kvp_leg_takes_writes(leg_of(y, i)))
			mask |= BIT(i);
	return mask;
}

/* Do these legs hold all data, and may each vdev go on with them? */
static bool suffice(const struct years *y, u32 legs)
{
	u32 first = y->start.legs - y->start.second;
	u32 a = hweight32(legs & (BIT(first) - 1)), b = hweight32(legs >> first);

	if (a < (y->start.parity ? first - 1 : 1))
		return false;
	return !y->start.second ||
	       b >= (y->start.second_parity ? y->start.second - 1 : 1);
}

/* --- what happens in a life ------------------------------------------------------------ */

static void look_at_all(struct years *y)
{
	char why[160];
	u8 data[4096];
	u64 block;
	int ret;

	for (block = 0; block < y->blocks; block++) {
		ret = host_read(&y->host, block, data);
		if (ret)
			sim_fail("year %u: block %llu: %d", y->year, block, ret);
		if (y->at == ~0u ? !oracle_current(&y->o, block, data,
						   oracle_accepted(&y->o, block), why) :
				   !oracle_allows(&y->o, block, data, y->at, why))
			sim_fail("year %u: block %llu: %s", y->year, block, why);
		if (oracle_touched(&y->o, block))
			oracle_rebase(&y->o, block, data);
	}
}

static void a_leg_leaves(struct years *y)
{
	u32 i = rng_below(&y->rng, y->start.legs);

	if (!suffice(y, in_sync(y) & ~BIT(i)) || !kvp_leg_in_sync(leg_of(y, i)))
		return;
	if (rng_chance(&y->rng, 400)) {
		disks_kill(y->on[i]);
		while (kvp_leg_in_sync(leg_of(y, i)))
			life_writes(&y->writer, 2);
	} else if (kvp_leg_offline(y->host.pool, leg_of(y, i))) {
		sim_fail("year %u: leg %u does not leave", y->year, i);
	}
}

static void a_leg_returns(struct years *y)
{
	u32 i = rng_below(&y->rng, y->start.legs), disk = y->on[i];
	struct kvp_leg *leg = leg_of(y, i);

	if (y->start.missing >> i & 1 || kvp_leg_in_sync(leg) || kvp_leg_resilvers(leg))
		return;
	disks.dead[disk] = false;
	if (host_online(&y->host, disk) && !kvp_leg_takes_writes(leg) && !disks.nr_faults)
		sim_fail("year %u: leg %u does not return: %s", y->year, i, y->host.refusal.why);
	if (rng_chance(&y->rng, 500))
		host_wait_resilver(&y->host);
}

static void an_error(struct years *y)
{
	static const enum fault_kind kinds[] = { FAULT_WRITE_ONCE, FAULT_READ_ONCE };
	static const int errors[] = { -EIO, -ENOMEM, -EAGAIN, -ETIMEDOUT };
	struct fault *f;

	if (disks.nr_faults)
		return;
	f = disks_fault(kinds[rng_below(&y->rng, 2)], rng_below(&y->rng, y->start.legs), 0, ~0ull);
	f->after = rng_below(&y->rng, 30);
	f->times = 1;
	f->error = errors[rng_below(&y->rng, 4)];
}

/* A leg that is out, or away, gets a new disk. The old one goes to the shelf. */
static void a_leg_is_replaced(struct years *y)
{
	u32 i = 1 + rng_below(&y->rng, y->start.legs - 1), new = y->start.legs;
	struct host_start hs = y->start;
	u8 on[MOST_LEGS];

	if (kvp_leg_in_sync(leg_of(y, i)) || kvp_leg_resilvers(leg_of(y, i)) ||
	    !suffice(y, in_sync(y)) || host_labelled(new))
		return;
	memcpy(on, y->on, sizeof(on));
	on[i] = (u8)new;
	hs.on = on;
	hs.missing &= ~BIT_ULL(i);
	hs.swapped = i;
	if (host_replace(&y->host, &hs))
		sim_fail("year %u: leg %u is not replaced: %s", y->year, i, y->host.refusal.why);
	y->start.missing &= ~BIT_ULL(i);
	y->served = disks.trace.nr;
	y->replaced = i;
	y->old_disk = y->on[i];
	y->on[i] = (u8)new;
	y->copied &= ~BIT(i);
}

static void something(struct years *y)
{
	switch (rng_below(&y->rng, 12)) {
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
		life_writes(&y->writer, 1 + rng_below(&y->rng, 4));
	}
	y->through &= in_sync(y);
}

static void bring_all_back(struct years *y)
{
	u64 healed, unrepaired;
	u32 i;

	host_wait_resilver(&y->host);
	for (i = 0; i < y->start.legs; i++)
		if (!kvp_leg_in_sync(leg_of(y, i)) && host_online(&y->host, y->on[i]))
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
static void fall_ill(struct years *y)
{
	static const int errors[] = { -EIO, -ENOMEM, -EAGAIN, -ETIMEDOUT };

	y->start.refused_until = 0;
	if (rng_chance(&y->rng, 200)) {
		y->start.refused_from = 1 + rng_below(&y->rng, 60);
		y->start.refused_until = y->start.refused_from + 1 + rng_below(&y->rng, 3);
		return;
	}
	disks.hiccup.first = rng_below(&y->rng, 100);
	disks.hiccup.nr = rng_chance(&y->rng, 500) ? 1 + rng_below(&y->rng, 8) : 1000000;
	disks.hiccup.error = errors[rng_below(&y->rng, 4)];
}

/* --- lives --------------------------------------------------------------------------------- */

static bool year_begins(struct years *y)
{
	if (y->ill)
		fall_ill(y);
	y->refused = host_start(&y->host, &y->o, &y->start);
	memset(&disks.hiccup, 0, sizeof(disks.hiccup));
	if (y->refused) {
		snprintf(y->why, sizeof(y->why), "%s", y->host.refusal.why);
		return false;
	}
	if (!y->begun)
		host_write(&y->host, 0, y->blocks / 2, true);
	else
		look_at_all(y);
	y->begun = true;
	y->served = disks.trace.nr;
	y->through = in_sync(y);
	if (kvp_pool_set(y->host.pool, KVP_T_ONLINE_AUTO, rng_below(&y->rng, 2)))
		sim_fail("online_auto is not set");
	return true;
}

static void year_main(void *arg)
{
	struct years *y = arg;
	bool writer;
	u32 n;

	if (!year_begins(y))
		return;
	writer = rng_chance(&y->rng, 300);
	if (writer)
		life_begin_writer(&y->writer);
	for (n = 2 + rng_below(&y->rng, 8); n; n--)
		something(y);
	if (writer)
		life_end_writer(&y->writer);
	y->through &= in_sync(y);
	disks.nr_faults = 0;
	if (y->last) {
		memset(disks.dead, 0, sizeof(disks.dead));
		bring_all_back(y);
	}
	host_flush(&y->host);
	y->sync = in_sync(y);
	y->out = out_of_use(y);
	host_stop(&y->host);
}

/* The disk that was replaced goes, and a blank one has its name. */
static void tidy_shelf(struct years *y)
{
	u32 i, n = y->start.legs, was;

	if (y->replaced == ~0u)
		return;
	i = y->replaced;
	was = y->old_disk;
	image_free(&y->img[was]);
	y->img[was] = y->img[n];
	image_init(&y->img[n], y->img[was].blocks);
	y->on[i] = (u8)was;
}

static void keep_images(struct years *y, bool cut)
{
	u32 i, turn = rng_below(&y->rng, 4);

	for (i = 0; i <= y->start.legs; i++)
		image_free(&y->img[i]);
	if (cut) {
		y->at = y->served + rng_below(&y->rng, disks.trace.nr - y->served + 1);
		cut_trace(&disks.trace, y->at, turn, &y->rng, y->img);
		y->sync = y->through;
		y->out = 0;
	} else {
		for (i = 0; i <= y->start.legs; i++)
			image_copy(&y->img[i], &disks.img[i]);
		if (!y->refused)
			y->at = ~0u;
	}
	tidy_shelf(y);
}

static bool must_start(const struct years *y)
{
	u32 there = all_legs(y) & ~(u32)y->start.missing & ~y->reverted;

	if (!suffice(y, there & y->sync))
		return false;
	return !y->start.missing || y->start.degraded ||
	       (y->at == ~0u && !(y->start.missing & ~(u64)y->out));
}

static void tell(const struct years *y, const struct years *before, const char *end)
{
	printf("# year %u:%s missing %llx%s, put back %x, in sync %x, out %x: %s\n", y->year,
	       y->ill ? " ill," : "", before->start.missing,
	       before->start.degraded ? ", degraded" : "", before->reverted, before->sync,
	       before->out, end);
}

static bool live(struct years *y, bool cut)
{
	struct years *before = malloc(sizeof(*before));
	bool good;

	memcpy(before, y, sizeof(*y));
	y->replaced = ~0u;
	good = run_machine(y->img, y->start.legs + 1, rng_next(&y->rng), year_main, y);
	y->start.refused_from = y->start.refused_until = 0;
	if (good && y->refused && !y->ill)
		good = !must_start(before);
	if (!good || opt.verbose)
		tell(y, before, !good && !y->refused ? "failed" : y->refused ? y->why :
				cut ? "cut" : "stopped");
	free(before);
	if (!good)
		return false;
	/*
	 * The legs that are away may be recorded out before the start fails: by force, or if too
	 * few are away to have gone on by themselves (R16).
	 */
	if (y->refused && y->ill)
		y->sync &= ~(u32)y->start.missing;
	keep_images(y, cut && !y->refused);
	if (!y->refused)
		y->reverted &= ~y->sync;
	return true;
}

/* --- between lives ------------------------------------------------------------------------ */

static void swap_names(struct years *y)
{
	u32 i = rng_below(&y->rng, y->start.legs), j = rng_below(&y->rng, y->start.legs);
	struct image img = y->img[y->on[i]];
	u8 on = y->on[i];

	y->img[on] = y->img[y->on[j]];
	y->img[y->on[j]] = img;
	y->on[i] = y->on[j];
	y->on[j] = on;
}

static void keep_copy(struct years *y)
{
	u32 i = rng_below(&y->rng, y->start.legs);

	if (!(y->sync >> i & 1) || y->reverted)
		return;
	if (y->copied >> i & 1)
		image_free(&y->old[i]);
	image_copy(&y->old[i], &y->img[y->on[i]]);
	y->copied |= BIT(i);
}

static void put_copy_back(struct years *y)
{
	u32 i = rng_below(&y->rng, y->start.legs);

	if (!(y->copied >> i & 1) || !suffice(y, y->sync & ~BIT(i)))
		return;
	image_free(&y->img[y->on[i]]);
	y->img[y->on[i]] = y->old[i];
	y->copied &= ~BIT(i);
	y->reverted |= BIT(i);
	y->sync &= ~BIT(i);
}

static void someone_comes(struct years *y)
{
	u32 away = 0;

	if (rng_chance(&y->rng, 300))
		swap_names(y);
	if (rng_chance(&y->rng, 300))
		keep_copy(y);
	if (rng_chance(&y->rng, 250))
		put_copy_back(y);
	if (rng_chance(&y->rng, 400))
		away = BIT(rng_below(&y->rng, y->start.legs));
	if (away && rng_chance(&y->rng, 300))
		away |= BIT(rng_below(&y->rng, y->start.legs));
	if (y->reverted && !suffice(y, y->sync & ~away))
		away = 0;
	if (away == all_legs(y))
		away = 0;
	y->start.missing = away;
	y->start.degraded = suffice(y, y->sync & ~away) && away && rng_chance(&y->rng, 500);
	y->ill = rng_chance(&y->rng, 250);
	y->start.hostile = true;	/* any leg may be found to be behind */
}

static void make(struct years *y, const char *name, const struct shape *s, u64 seed)
{
	u32 i;

	memset(y, 0, sizeof(*y));
	sim_least_levels = max(opt.levels, s->levels);
	y->name = name;
	y->start = s->start;
	y->start.format = true;
	y->start.on = y->on;
	y->rng.s = seed;
	y->blocks = s->start.second ? host_boundary(&s->start) + 128 : YEARS_BLOCKS;
	y->writer = (struct life_writer){ .host = &y->host, .rng = &y->rng, .blocks = y->blocks };
	for (i = 0; i < y->start.legs; i++)
		y->on[i] = (u8)i;
	oracle_init(&y->o, y->blocks);
	blank_disks(y->img, y->start.legs + 1, POOL_LEG_BLOCKS);
	y->at = ~0u;
}

static void clean_up(struct years *y)
{
	u32 i;

	for (i = 0; i <= y->start.legs; i++)
		image_free(&y->img[i]);
	for (i = 0; i < y->start.legs; i++)
		if (y->copied >> i & 1)
			image_free(&y->old[i]);
	oracle_free(&y->o);
	sim_least_levels = opt.levels;
}

static bool some_years(struct years *y)
{
	u32 n = 4 + rng_below(&y->rng, 10);

	if (!live(y, false))
		return false;
	y->start.format = false;
	for (y->year = 1; y->year < n; y->year++) {
		someone_comes(y);
		if (!live(y, rng_chance(&y->rng, 500)))
			return false;
	}
	someone_comes(y);
	y->start.missing = 0;
	y->start.degraded = false;
	y->last = true;
	y->ill = false;
	return live(y, false);
}

static void years(const struct shape *s, u32 times)
{
	struct years *y = calloc(1, sizeof(*y));
	char name[96];
	bool good = true;
	u32 i;

	snprintf(name, sizeof(name), "years:%s", s->name);
	if (wanted(name)) {
		for (i = 0; good && i < (opt.rounds ?: times); i++) {
			make(y, name, s, mix64(opt.seed, 11000 + i));
			good = some_years(y);
			if (!good)
				fprintf(stderr, "# %s: round %u\n", name, i);
			clean_up(y);
		}
		result(name, good);
	}
	free(y);
}

void run_years(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(shapes); i++)
		years(&shapes[i], opt.thorough ? 200 : 12);
}
