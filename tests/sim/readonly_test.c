// SPDX-License-Identifier: GPL-2.0-only
/*
 * A pool that was started read-only. It may be one that went back to older contents for a look, so
 * no order, no fault of a leg and no stop may write anything to it. Its legs answer reads as ever.
 */
#include "script.h"
#include "pool/pool.h"
#include "super/members.h"
#include "table/table.h"
#include "work/destage.h"
#include "work/scrub.h"
#include "work/trim.h"

#define BLOCKS	24u
#define TURNS	2u

static struct {
	u32 before;		/* writes and flushes when the read-only start was over */
} own;

static u32 written(void)
{
	return disks.writes + disks.flushes;
}

static void expect_unwritten(const char *after)
{
	if (written() != own.before)
		sim_fail("%s: %u writes to a pool that is read-only", after,
			 written() - own.before);
}

static void expect_refused(const char *order, int ret)
{
	if (ret != -EROFS)
		sim_fail("%s of a pool that is read-only: %d", order, ret);
	expect_unwritten(order);
}

/* --- the life before --------------------------------------------------------------------- */

/* A scrub runs as slowly as can be: the stop records it as one that runs. */
static void write_and_scrub(struct script *s)
{
	host_write(&s->host, 0, BLOCKS, true);
	host_checkpoint(&s->host);
	if (kvp_pool_set(s->host.pool, KVP_T_SCRUB_RATE, 1 << 20) ||
	    kvp_scrub_start(s->host.pool, 0))
		sim_fail("no scrub runs");
}

/* So does a trim, which has no worker until the stop. */
static void write_and_trim(struct script *s)
{
	write_and_scrub(s);
	kvp_trim_quiesce(s->host.pool);
	if (kvp_trim_start(s->host.pool))
		sim_fail("no trim runs");
}

static void write_and_pause(struct script *s)
{
	write_and_scrub(s);
	if (kvp_scrub_pause(s->host.pool))
		sim_fail("no scrub is paused");
}

/* --- orders ------------------------------------------------------------------------------ */

static void give_orders(struct script *s)
{
	struct kvp_pool *pool = s->host.pool;

	own.before = written();
	expect_refused("scrub start", kvp_scrub_start(pool, 0));
	expect_refused("scrub stop", kvp_scrub_stop(pool));
	expect_refused("scrub pause", kvp_scrub_pause(pool));
	expect_refused("scrub resume", kvp_scrub_resume(pool));
	expect_refused("trim start", kvp_trim_start(pool));
	expect_refused("trim stop", kvp_trim_stop(pool));
	expect_refused("give_up", kvp_table_give_up(pool->table, kvp_block(0), true));
	expect_refused("offline", kvp_leg_offline(pool, &pool->legs[0]));
	expect_refused("set", kvp_pool_set(pool, KVP_T_LEG_TIMEOUT, 1));
	expect_refused("comment", kvp_pool_set_comment(pool, "x"));
	expect_refused("rename", kvp_pool_rename(pool, "other"));
	expect_refused("mark", kvp_pool_mark(pool, KVP_SB_EXPORTED, 0));
	kvp_pool_clear(pool, -1);
	kvp_pool_clear(pool, 0);
	host_sleep(2000);
	expect_unwritten("clear");
	host_read_each(&s->host, 0, BLOCKS);
}

/* --- a leg that hangs, or dies ----------------------------------------------------------- */

static void watch_leg(struct script *s, enum fault_kind kind)
{
	own.before = written();
	disks_fault(kind, 0, 0, ~0ull);
	host_read_each(&s->host, 0, BLOCKS);
	/* Longer than leg_timeout: by now a leg that hangs is given up. */
	host_sleep(100 * 1000);
	host_read_each(&s->host, 0, BLOCKS);
	expect_unwritten("a leg does not answer");
	disks_wake(0);
}

static void lose_leg(struct script *s)
{
	watch_leg(s, s->turn & 1 ? FAULT_DEATH : FAULT_HANG);
}

/* A pool in use finds the leg as it was: nobody has recorded a loss. */
static void all_in_sync(struct script *s)
{
	u32 i;

	for (i = 0; i < s->legs; i++)
		if (!kvp_leg_in_sync(host_leg(&s->host, i)))
			sim_fail("leg %u is not in sync", i);
	host_read_each(&s->host, 0, BLOCKS);
}

/* --- frame ------------------------------------------------------------------------------- */

static bool live(struct script *s, void (*act)(struct script *s))
{
	bool good = script_live(s, act, false);

	script_keep(s);
	return good;
}

static bool play(struct script *s, void (*before)(struct script *s),
		 void (*act)(struct script *s))
{
	bool good = live(s, before);

	s->start.readonly = true;
	good = good && live(s, act);
	s->start.readonly = false;
	return good && live(s, all_in_sync);
}

static bool orders_beside_pause(struct script *s)
{
	return play(s, write_and_pause, give_orders);
}

static bool orders_beside_scrub(struct script *s)
{
	return play(s, write_and_scrub, give_orders);
}

static bool orders_beside_trim(struct script *s)
{
	return play(s, write_and_trim, give_orders);
}

static bool leg_is_lost(struct script *s)
{
	return play(s, write_and_pause, lose_leg);
}

static void readonly(const char *shape_name, const struct host_start *shape, const char *what,
		     bool (*turn)(struct script *s))
{
	char name[80];
	struct script_case c = {
		.name = name, .shape = shape, .play = turn, .turns = TURNS, .salt = 9900,
		.life_seeds = true, .own = &own, .own_size = sizeof(own),
	};

	snprintf(name, sizeof(name), "readonly:%s:%s", shape_name, what);
	script_run(&c);
}

void run_readonly(void)
{
	static const struct {
		const char *name;
		struct host_start start;
	} shapes[] = {
		{ "mirror", { .legs = 2 } },
		{ "parity", { .legs = 3, .parity = true } },
		{ "cached", { .legs = 3, .cache = 1, .writethrough = true } },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		readonly(shapes[i].name, &shapes[i].start, "paused", orders_beside_pause);
		readonly(shapes[i].name, &shapes[i].start, "scrubbed", orders_beside_scrub);
		readonly(shapes[i].name, &shapes[i].start, "trimmed", orders_beside_trim);
		readonly(shapes[i].name, &shapes[i].start, "leg-lost", leg_is_lost);
	}
}
