// SPDX-License-Identifier: GPL-2.0-only
/*
 * Intents of a mirror beside a parity1, and of both in one entry. Each test sets up a situation,
 * and cuts it everywhere. Each image is checked with any one leg gone. No block of the mirror may
 * be lost: only blocks of a parity1 are losable (oracle.h).
 */
#include <stdlib.h>
#include <string.h>

#include "script.h"

/* blocks of each vdev that are written from the start, on both sides of the boundary */
#define AREA	40

/* --- where blocks and legs are ------------------------------------------------------------ */

/* Block @i of AREA that the mirror has. */
static u64 on_mirror(const struct script *t, u32 i)
{
	return host_boundary(&t->start) - (t->start.parity ? 0 : AREA) + i;
}

/* The same of the parity1, where it is the first of a stripe if @i is. */
static u64 on_parity(const struct script *t, u32 i)
{
	return host_boundary(&t->start) - (t->start.parity ? AREA : 0) + i;
}

/* A block @before the first one behind the boundary. */
static u64 across(const struct script *t, u32 before)
{
	return host_boundary(&t->start) - before;
}

/* Block @i of AREA counted from its end that is away from the boundary. */
static u64 mirror_away(const struct script *t, u32 i)
{
	return on_mirror(t, t->start.parity ? AREA - 1 - i : i);
}

static u64 parity_away(const struct script *t, u32 i)
{
	return on_parity(t, t->start.parity ? i : AREA - 1 - i);
}

static u32 mirror_disk(const struct script *t, u32 leg)
{
	return t->start.parity ? t->start.legs - t->start.cache - t->start.second + leg : leg;
}

static u32 parity_disk(const struct script *t, u32 leg)
{
	return t->start.parity ? leg : t->start.legs - t->start.cache - t->start.second + leg;
}

static void lose(struct script *t, u32 disk)
{
	disks_kill(disk);
	t->crash.lost |= BIT(disk);
}

/* --- by intent ------------------------------------------------------------------------------ */

/* Writes and commits; exactly @count of the blocks are written directly. */
static void write_by_intent(struct script *t, u64 block, u32 n, u32 count)
{
	u64 before = t->host.pool->log->intent_blocks;

	host_write(&t->host, block, n, false);
	host_sleep(1500);
	if (t->host.pool->log->intent_blocks != before + count)
		sim_fail("%llu blocks from %llu on went by intent, not %u: the case was not set up",
			 t->host.pool->log->intent_blocks - before, block, count);
}

static void by_intent(struct script *t, u64 block, u32 n)
{
	write_by_intent(t, block, n, n);
}

/* Waits until no write is in flight: a write over one would be logged as data. */
static void wait_for_homes(struct script *t)
{
	struct kvp_log_mark floor = { .lsn = 0 };

	while (floor.lsn != ~0ull) {
		host_sleep(10);
		floor.lsn = ~0ull;
		kvp_log_floor(t->host.pool->log, &floor);
	}
}

/* If false, the test must be repeated with another order of events. */
static bool home_without_checkpoint(struct script *t)
{
	t->spoilt = !host_try_home(&t->host);
	return !t->spoilt;
}

/* Blocks of the mirror only, over blocks that are home and in the table. */
static void mirror_alone(struct script *t)
{
	by_intent(t, on_mirror(t, 8), 24);
	host_flush(&t->host);
	by_intent(t, on_mirror(t, 0), 20);
	host_checkpoint(&t->host);
}

/* One entry that has intents of both; then one that has data of both as well. */
static void both_in_one_entry(struct script *t)
{
	by_intent(t, across(t, 24), 40);
	host_flush(&t->host);
	host_write(&t->host, mirror_away(t, 2), 1, false);
	host_write(&t->host, parity_away(t, 5), 1, false);
	by_intent(t, across(t, 16), 32);
	host_write(&t->host, mirror_away(t, 30), 1, false);
	host_flush(&t->host);
	host_checkpoint(&t->host);
}

/* Older versions are in the log as data, and home, but not in the durable table. */
static void over_data_in_the_log(struct script *t)
{
	host_write(&t->host, across(t, 3), 6, true);
	host_write(&t->host, on_mirror(t, 20), 2, true);
	if (!home_without_checkpoint(t))
		return;
	script_cut_from_here(t);
	by_intent(t, across(t, 24), 40);
	host_flush(&t->host);
	host_write(&t->host, on_mirror(t, 20), 1, true);
	host_checkpoint(&t->host);
}

/*
 * Data of both over open intents, and parts of rows without an intent: a recovery resolves the
 * mirror's intents, then writes a chain.
 */
static void data_over_open_intents(struct script *t)
{
	by_intent(t, across(t, 24), 40);
	wait_for_homes(t);
	host_write(&t->host, across(t, 2), 4, false);
	host_write(&t->host, parity_away(t, 5), 1, false);
	/* No FLUSH, which would close them. */
	host_sleep(1500);
	if (t->host.pool->log->nr_open != 1)
		sim_fail("%u intents are open: the case was not set up",
			 t->host.pool->log->nr_open);
	script_cut_from_here(t);
	if (!home_without_checkpoint(t))
		return;
	host_write(&t->host, on_mirror(t, 20), 1, true);
	host_checkpoint(&t->host);
}

/* The same after a FLUSH has closed them: now none of them may be lost. */
static void data_over_closed_intents(struct script *t)
{
	by_intent(t, across(t, 24), 40);
	host_flush(&t->host);
	script_cut_from_here(t);
	host_write(&t->host, across(t, 2), 4, true);
	if (!home_without_checkpoint(t))
		return;
	host_write(&t->host, across(t, 1), 2, true);
	host_checkpoint(&t->host);
}

/* One that is not known to be durable over one that is, of which data is newer in part. */
static void over_closed_intents(struct script *t)
{
	by_intent(t, across(t, 24), 40);
	host_flush(&t->host);
	host_write(&t->host, across(t, 4), 6, true);
	if (!home_without_checkpoint(t))
		return;
	script_cut_from_here(t);
	by_intent(t, across(t, 24), 40);
	wait_for_homes(t);
	by_intent(t, on_mirror(t, 10), 16);
	host_flush(&t->host);
}

/* The log says that the blocks are discarded, on both; while it is pending all is logged. */
static void over_a_discard(struct script *t)
{
	host_discard(&t->host, across(t, 24), 40);
	write_by_intent(t, on_mirror(t, 4), 16, 0);
	host_flush(&t->host);
	if (!home_without_checkpoint(t))
		return;
	script_cut_from_here(t);
	by_intent(t, across(t, 24), 40);
	host_flush(&t->host);
	host_discard(&t->host, across(t, 3), 9);
	host_checkpoint(&t->host);
}

/* A leg of the mirror hangs, and dies: the other has all that a FLUSH answers for. */
static void leg_of_the_mirror_dies(struct script *t)
{
	u64 data_start = kvp_locate(t->host.pool, on_mirror(t, 0)).v->g->data_start;
	u32 disk = mirror_disk(t, 1);

	disks_stall(disk, data_start, disks.img[disk].blocks - KVP_LABEL_BLOCKS - 1);
	by_intent(t, across(t, 24), 40);
	lose(t, disk);
	disks_release(disk);
	host_flush(&t->host);
	/* A mirror needs no second leg for that. */
	by_intent(t, on_mirror(t, 6), 20);
	host_flush(&t->host);
	host_checkpoint(&t->host);
	host_read_check(&t->host, on_mirror(t, 7));
}

/* Without a leg of the parity1 that logs everything, and the mirror does not. */
static void leg_of_the_parity_is_out(struct script *t)
{
	lose(t, parity_disk(t, 1));
	host_write(&t->host, on_parity(t, 3), 1, true);
	host_checkpoint(&t->host);
	script_cut_from_here(t);
	write_by_intent(t, across(t, 24), 40, t->start.parity ? 16 : 24);
	host_flush(&t->host);
	host_write(&t->host, across(t, 2), 4, true);
	host_checkpoint(&t->host);
}

/*
 * --- running them ------------------------------------------------------------------------------
 */

/* Checkpoints come when a test asks for them. */
static void begin(struct script *t)
{
	WRITE_ONCE(t->host.pool->tunables[KVP_T_DESTAGE_IDLE_MS], 600 * 1000);
}

static void set_up(struct script *t)
{
	t->crash.each_leg = true;
}

static void mixed(const char *what, void (*act)(struct script *t), const struct host_start *shape)
{
	char name[128];
	/*
	 * Each image is started once for each leg: where few are asked for, not at every position.
	 */
	struct script_case c = {
		.name = name, .shape = shape, .set_up = set_up, .begin = begin, .act = act,
		.leave = true, .turns = opt.thorough ? 4 : 1, .salt = 1000, .first_plain = true,
		.cuts = opt.images < 3 ? 12 : SCRIPT_EVERYWHERE, .depth = CHECK_RECRASH,
	};

	snprintf(name, sizeof(name), "mixed:%s%s:%s", shape->cache ? "cache-" : "",
		 shape->parity ? "parity+mirror" : "mirror+parity", what);
	script_run(&c);
}

#define NAMED(function) #function, function

void run_mixed(void)
{
	/* The log is on the mirror, on the parity1, and on a cache. */
	static const struct host_start shapes[] = {
		{ .legs = 5, .second = 3, .second_parity = true },
		{ .legs = 5, .parity = true, .second = 2 },
		{ .legs = 6, .second = 3, .second_parity = true, .cache = 1 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		mixed(NAMED(mirror_alone), &shapes[i]);
		mixed(NAMED(both_in_one_entry), &shapes[i]);
		mixed(NAMED(over_data_in_the_log), &shapes[i]);
		mixed(NAMED(data_over_open_intents), &shapes[i]);
		mixed(NAMED(data_over_closed_intents), &shapes[i]);
		mixed(NAMED(over_closed_intents), &shapes[i]);
		mixed(NAMED(over_a_discard), &shapes[i]);
		mixed(NAMED(leg_of_the_mirror_dies), &shapes[i]);
		mixed(NAMED(leg_of_the_parity_is_out), &shapes[i]);
	}
}
