// SPDX-License-Identifier: GPL-2.0-only
/*
 * The faults that disks have, while a leg resilvers. The leg returns, or a shadow of it gets all
 * that it has. The fault strikes a leg that the walk reads from, or the one that it writes to, and
 * users write meanwhile. No read may return wrong bytes. While the pool lacks a leg, a fault of
 * another leg may cost the blocks that it hit, and no other. Where no leg is lacking it costs none.
 * In the end all legs are in sync, and any leg with data can be lost.
 */
#include <string.h>

#include "life.h"
#include "script.h"
#include "core/core.h"
#include "pool/pool.h"
#include "ram/rcache.h"
#include "super/members.h"
#include "table/table.h"
#include "work/resilver.h"

#define ROWS	24u	/* of each leg: a fault strikes there */
#define STRUCK	8u	/* so many rows rot, or cannot be read */

static const struct shape {
	const char *name;
	struct host_start start;
	bool shadow;	/* the leg stays in use, and a shadow resilvers */
} shapes[] = {
	{ "mirror", { .legs = 2 } },
	{ "mirror3", { .legs = 3 } },
	{ "parity1", { .legs = 3, .parity = true } },
	{ "parity1-shadow", { .legs = 3, .parity = true }, true },
	{ "mirror-cache", { .legs = 4, .cache = 2 } },
	{ "mirror3-cache", { .legs = 5, .cache = 2 } },
	{ "parity1-cache", { .legs = 5, .parity = true, .cache = 2 } },
	{ "parity1-shadow-cache", { .legs = 5, .parity = true, .cache = 2 }, true },
};

static const struct shape *own_shape;	/* of the case */

/* What a turn knows besides its script. */
static struct {
	u8 on[MAX_DISKS];
	struct rng rng;
	struct life_writer writer;
	u32 source, target;	/* disks */
	u32 at;			/* the leg that returns, or has the shadow */
	u32 first;		/* row: faults strike from there on */
	u32 lost;		/* so many blocks may be lost, and no more */
	bool before;		/* the fault struck before the walk */
	bool waited;		/* a task that wrote has ended */
} own;

/* --- the walk --------------------------------------------------------------------------- */

static u32 data_legs(const struct script *l)
{
	return l->start.legs - l->start.cache;
}

/* The blocks of the pool that lie in a row. */
static u32 per_row(const struct script *l)
{
	return l->start.parity ? data_legs(l) - 1 : 1;
}

/* Without the leg that resilvers no block has a second copy. */
static bool is_degraded(const struct script *l)
{
	return !own_shape->shadow && (l->start.parity || data_legs(l) == 2);
}

static struct kvp_leg *target(struct script *l)
{
	return own_shape->shadow ? &l->host.pool->shadow : &l->host.pool->legs[own.at];
}

static u64 first_row(struct script *l)
{
	return l->host.pool->legs[own.at].v->g->data_start + own.first;
}

/*
 * The rows that are struck, and a checkpoint: they are at home. Rows before them are written, too,
 * for the walk to come to first.
 */
static void write_rows(struct script *l)
{
	u32 row;

	for (row = 0; row < own.first + ROWS; row += ROWS)
		host_write(&l->host, row * per_row(l), ROWS * per_row(l), false);
	host_checkpoint(&l->host);
}

/* The fault strikes before the walk begins, or when it has read some of what it copies. */
static void begin_walk_with(struct script *l, void (*strike)(struct script *l))
{
	struct host_start hs = l->start;
	u8 uuid[16];

	write_rows(l);
	life_writes(&own.writer, 6);
	if (!own_shape->shadow) {
		host_offline(&l->host, own.target);
		write_rows(l);
		life_writes(&own.writer, 4);
		host_checkpoint(&l->host);
	}
	own.before = l->turn & 1;
	if (own.before)
		strike(l);
	life_set_rate(l, 64 << 10);
	if (own_shape->shadow) {
		memcpy(uuid, l->host.pool->sb->legs[own.at].uuid, sizeof(uuid));
		hs.replaces = uuid;
		hs.shadow = own.target + 1;
		if (host_shadow(&l->host, &hs))
			sim_fail("no shadow: %s", l->host.refusal.why);
		l->start.shadow = hs.shadow;
	} else if (host_online(&l->host, own.target)) {
		sim_fail("the leg does not return: %s", l->host.refusal.why);
	}
	host_sleep(100 + 100 * l->turn);
	if (!kvp_leg_resilvers(target(l)) || l->host.pool->shadow_ready)
		sim_fail("the walk has ended: the case was not set up");
	if (!own.before)
		strike(l);
}

static void nothing(struct script *l)
{
}

static void begin_walk(struct script *l)
{
	begin_walk_with(l, nothing);
}

/* An SSD that was out stays so until it is told to return. */
static void expect_in_sync(struct script *l)
{
	u32 i;

	for (i = 0; i < data_legs(l); i++)
		if (!kvp_leg_in_sync(&l->host.pool->legs[i]))
			sim_fail("leg %u is in state %u", i, l->host.pool->legs[i].state);
}

static void forget_ram(struct script *l)
{
	kvp_rcache_drop(l->host.pool->rcache);
	kvp_table_shrink(l->host.pool->table, true);
}

/* So many blocks cannot be read. Those that can are right. */
static u32 unreadable(struct script *l)
{
	u8 *data = kmalloc(KVP_BLOCK_SIZE, GFP_KERNEL);
	u32 block, n = 0;

	forget_ram(l);
	for (block = 0; block < own.writer.blocks; block++)
		n += !!host_read(&l->host, block, data);
	kfree(data);
	l->host.may_fail = n;
	host_read_each(&l->host, 0, own.writer.blocks);
	l->host.may_fail = false;
	return n;
}

static void heal(struct script *l)
{
	u64 healed, unrepaired;

	forget_ram(l);
	host_scrub(&l->host, &healed, &unrepaired);
	if (unrepaired)
		sim_fail("a scrub found %llu blocks beyond repair", unrepaired);
}

/* The pool without each of its legs in turn. They return. */
static void expect_each_can_be_lost(struct script *l)
{
	u32 leg;

	for (leg = 0; leg < data_legs(l); leg++) {
		life_stop(l);
		l->start.missing = BIT(leg);
		l->start.degraded = true;
		script_start(l);
		host_read_each(&l->host, 0, own.writer.blocks);
		life_stop(l);
		l->start.missing = 0;
		l->start.degraded = false;
		script_start(l);
		host_wait_resilver(&l->host);
		expect_in_sync(l);
	}
}

/* The disk of the shadow is a leg. */
static void take_place(struct script *l)
{
	host_wait_resilver(&l->host);
	if (!l->host.pool->shadow_ready)
		sim_fail("the shadow is in state %u", target(l)->state);
	if (host_take_place(&l->host))
		sim_fail("the shadow does not take its place: %s", l->host.refusal.why);
	own.on[own.at] = (u8)own.target;
	l->start.shadow = 0;
}

/* The walk ends. What is lost is written anew, and then nothing is wrong any more. */
static void end_well(struct script *l)
{
	u32 n;

	life_set_rate(l, 0);
	if (own_shape->shadow)
		take_place(l);
	host_wait_resilver(&l->host);
	expect_in_sync(l);
	n = unreadable(l);
	if (n > own.lost)
		sim_fail("%u blocks cannot be read, and the fault hit %u", n, own.lost);
	if (n)
		host_write(&l->host, 0, own.writer.blocks, false);
	host_flush(&l->host);
	disks.nr_faults = 0;
	heal(l);
	life_expect_sound(&l->host, own.writer.blocks);
	expect_each_can_be_lost(l);
	life_stop(l);
}

/* --- silent faults ---------------------------------------------------------------------- */

/* Rows of one disk rot. Those of the row that have nothing else to be made from go with them. */
static void rot(struct script *l, u32 disk)
{
	u8 data[KVP_BLOCK_SIZE];
	u64 at = first_row(l);
	u32 i;

	l->untraced = true;
	for (i = 0; i < STRUCK; i++) {
		image_read(&disks.img[disk], at + i, data);
		data[100] ^= 0x10;
		image_write_data(&disks.img[disk], at + i, data);
		watch_forget(disk);
	}
	forget_ram(l);
}

static void rot_source(struct script *l)
{
	rot(l, own.source);
}

static void rot_target(struct script *l)
{
	rot(l, own.target);
}

static void source_rots(struct script *l)
{
	begin_walk_with(l, rot_source);
	own.lost = is_degraded(l) ? STRUCK * (1 + per_row(l)) : 0;
	life_writes(&own.writer, 4);
	end_well(l);
}

static void target_rots(struct script *l)
{
	begin_walk_with(l, rot_target);
	life_writes(&own.writer, 4);
	end_well(l);
}

/* A write to these rows of the disk is acknowledged, and is not there, or not in its place. */
static void strays(struct script *l, u32 disk, enum fault_kind kind)
{
	u64 at = first_row(l);
	u32 i, most = 0;
	struct fault *f = disks_fault(kind, disk, at, at + ROWS - 2);

	f->times = 1;
	for (i = 0; i < 40 && !f->hit; i++) {
		most = 1 + i % 3;
		host_write(&l->host, (own.first + i % (ROWS - 4)) * per_row(l), most, false);
		host_checkpoint(&l->host);
	}
	if (!f->hit)
		sim_fail("no write was hit: the case was not set up");
	if (disk == own.source && is_degraded(l))
		own.lost = (most + (kind == FAULT_MISDIRECTED)) * (1 + per_row(l));
	life_writes(&own.writer, 4);
	end_well(l);
}

static void source_loses_a_write(struct script *l)
{
	begin_walk(l);
	strays(l, own.source, FAULT_LOST_WRITE);
}

static void target_loses_a_write(struct script *l)
{
	begin_walk(l);
	strays(l, own.target, FAULT_LOST_WRITE);
}

static void source_misplaces_a_write(struct script *l)
{
	begin_walk(l);
	strays(l, own.source, FAULT_MISDIRECTED);
}

static void target_misplaces_a_write(struct script *l)
{
	begin_walk(l);
	strays(l, own.target, FAULT_MISDIRECTED);
}

/* --- errors ------------------------------------------------------------------------------ */

/* A rewrite of a block cures it. */
static void make_bad(u32 disk, u64 at)
{
	u32 i;

	for (i = 0; i < STRUCK; i++)
		disks_fault(FAULT_READ_EIO, disk, at + i, at + i);
}

static void make_source_bad(struct script *l)
{
	make_bad(own.source, first_row(l));
}

static void make_target_bad(struct script *l)
{
	make_bad(own.target, first_row(l));
}

/* The walk gets what others have. Else it waits until users write anew. */
static void source_has_bad_blocks(struct script *l)
{
	u32 n;

	begin_walk_with(l, make_source_bad);
	life_set_rate(l, 0);
	if (is_degraded(l)) {
		host_sleep(30000);
		if (own.before && !kvp_leg_resilvers(target(l)))
			sim_fail("the leg is in state %u", target(l)->state);
		n = unreadable(l);
		/* The SSDs may have them. */
		if ((!n && !l->start.cache) || n > STRUCK * (1 + per_row(l)))
			sim_fail("%u blocks cannot be read", n);
		write_rows(l);
	}
	end_well(l);
}

static void target_has_bad_blocks(struct script *l)
{
	begin_walk_with(l, make_target_bad);
	life_writes(&own.writer, 4);
	end_well(l);
}

/* The next requests of @disk fail, and later ones do not. */
static void fail_for_a_time(struct script *l, u32 disk, enum fault_kind kind, int error)
{
	u64 at = first_row(l);
	struct fault *f = disks_fault(kind, disk, at, at + ROWS - 1);

	f->error = error;
	f->times = 3;
}

/* No leg leaves, and nothing is lost. */
static void end_after_errors(struct script *l, bool must_hit)
{
	life_set_rate(l, 0);
	host_wait_resilver(&l->host);
	if (must_hit && !disks.faults[0].hit)
		sim_fail("no request was hit: the case was not set up");
	end_well(l);
}

static void fail_reads(struct script *l)
{
	fail_for_a_time(l, own.source, FAULT_READ_ONCE, 0);
}

/* The walk may have read these rows before. */
static void source_answers_late(struct script *l)
{
	begin_walk_with(l, fail_reads);
	end_after_errors(l, own.before);
}

static void source_is_short_for_a_time(struct script *l)
{
	begin_walk(l);
	fail_for_a_time(l, own.source, FAULT_WRITE_ONCE, -ENOSPC);
	write_rows(l);
	end_after_errors(l, true);
}

static void target_is_short_for_a_time(struct script *l)
{
	begin_walk(l);
	fail_for_a_time(l, own.target, FAULT_WRITE_ONCE, -ENOMEM);
	write_rows(l);
	end_after_errors(l, true);
}

/* --- disks that are gone ------------------------------------------------------------------ */

/* Users write, and the pool goes on. */
static void go_on(struct script *l)
{
	u32 i;

	for (i = 0; i < 30; i++) {
		host_write(&l->host, rng_below(&own.rng, own.writer.blocks), 1, i % 4 == 0);
		host_sleep(50);
	}
	if (kvp_pool_faulted(l->host.pool))
		sim_fail("the pool does not go on");
}

static void all_return(struct script *l)
{
	u32 i;

	for (i = 0; i < data_legs(l); i++)
		if (!kvp_leg_takes_writes(&l->host.pool->legs[i]) &&
		    host_online(&l->host, own.on[i]) &&
		    !kvp_leg_takes_writes(&l->host.pool->legs[i]))
			sim_fail("leg %u does not return: %s", i, l->host.refusal.why);
}

/*
 * The pool cannot be without two legs. Users are told, the source is kept, and nothing of what was
 * durable is given up. The life ends so, and in the next one the source is back.
 */
static void end_without_source(struct script *l)
{
	bool told = false;
	u32 i;

	l->cuts = SCRIPT_AT_THE_END;
	l->crash.lost = BIT(own.target);
	l->crash.returns = true;
	l->host.may_fail = true;
	for (i = 0; i < 200 && !told; i++) {
		host_write(&l->host, rng_below(&own.rng, own.writer.blocks), 1, false);
		host_checkpoint(&l->host);
		host_sleep(50);
		told = host_flush(&l->host) || kvp_pool_faulted(l->host.pool);
	}
	if (!told)
		sim_fail("the pool goes on without both legs");
	if (kvp_leg_in_sync(target(l)) || !kvp_leg_in_sync(host_leg(&l->host, own.source)))
		sim_fail("a leg that has all is given up for one that has not");
	if (l->host.pool->table->poisoned)
		sim_fail("%llu blocks are given up", l->host.pool->table->poisoned);
}

static void source_is_lost(struct script *l)
{
	begin_walk(l);
	disks_kill(own.source);
	if (is_degraded(l)) {
		end_without_source(l);
		return;
	}
	go_on(l);
	disks.dead[own.source] = false;
	all_return(l);
	end_well(l);
}

static void target_is_lost(struct script *l)
{
	begin_walk(l);
	disks_kill(own.target);
	go_on(l);
	disks.dead[own.target] = false;
	if (own_shape->shadow) {
		life_again(l);
	} else {
		all_return(l);
	}
	end_well(l);
}

static void waits(void *arg)
{
	struct script *l = arg;

	host_write(&l->host, own.first * per_row(l), 4, false);
	host_flush(&l->host);
	host_checkpoint(&l->host);
	own.waited = true;
}

/*
 * The leg does not answer for two minutes. It is given up where others have all that it has. Else
 * it is waited for, or the pool is faulted until it answers.
 */
static void source_hangs(struct script *l)
{
	begin_walk(l);
	disks.hung[own.source] = true;
	if (is_degraded(l)) {
		l->host.may_fail = true;
		sim_spawn("waits", waits, l);
	} else {
		go_on(l);
	}
	host_sleep(120000);
	disks_wake(own.source);
	host_sleep(50);
	if (is_degraded(l)) {
		while (!own.waited)
			host_sleep(100);
		kvp_pool_clear(l->host.pool, -1);
		l->host.may_fail = false;
		if (kvp_pool_faulted(l->host.pool))
			sim_fail("the pool does not go on when the leg answers");
		write_rows(l);
	}
	host_wait_resilver(&l->host);
	all_return(l);
	end_well(l);
}

static void target_hangs(struct script *l)
{
	begin_walk(l);
	disks.hung[own.target] = true;
	go_on(l);
	host_sleep(120000);
	disks_wake(own.target);
	host_sleep(50);
	if (own_shape->shadow)
		life_again(l);
	else
		all_return(l);
	end_well(l);
}

static void ssd_is_lost(struct script *l)
{
	begin_walk(l);
	disks_kill(own.on[data_legs(l)]);
	go_on(l);
	life_set_rate(l, 0);
	host_wait_resilver(&l->host);
	disks.dead[own.on[data_legs(l)]] = false;
	life_again(l);
	end_well(l);
}

/* --- power cuts --------------------------------------------------------------------------- */

/* To be cut from the walk on; shadow_test.c cuts that of a shadow. */
static void power_goes(struct script *l)
{
	begin_walk_with(l, script_cut_from_here);
	life_writes(&own.writer, 4);
	life_set_rate(l, 0);
	host_wait_resilver(&l->host);
	expect_in_sync(l);
	l->crash.back_at = disks.trace.nr;
	life_writes(&own.writer, 2);
	l->cuts = opt.thorough ? 60 : 3;
	l->depth = CHECK_RECRASH;
	l->crash.lost = l->crash.back = BIT(own.target);
	l->crash.returns = true;
}

/* --- all of them ---------------------------------------------------------------------------- */

static const struct row {
	const char *name;
	void (*act)(struct script *l);
	bool cache;	/* only with one */
	bool returns;	/* only of a leg that returns */
} rows[] = {
	{ "source-rots", source_rots },
	{ "target-rots", target_rots },
	{ "source-loses-a-write", source_loses_a_write },
	{ "target-loses-a-write", target_loses_a_write },
	{ "source-misplaces-a-write", source_misplaces_a_write },
	{ "target-misplaces-a-write", target_misplaces_a_write },
	{ "source-has-bad-blocks", source_has_bad_blocks },
	{ "target-has-bad-blocks", target_has_bad_blocks },
	{ "source-answers-late", source_answers_late },
	{ "source-is-short-for-a-time", source_is_short_for_a_time },
	{ "target-is-short-for-a-time", target_is_short_for_a_time },
	{ "source-is-lost", source_is_lost },
	{ "target-is-lost", target_is_lost },
	{ "source-hangs", source_hangs },
	{ "target-hangs", target_hangs },
	{ "ssd-is-lost", ssd_is_lost, .cache = true },
	{ "power-goes", power_goes, .returns = true },
};

static void set_up(struct script *l)
{
	u32 i;

	for (i = 0; i < MAX_DISKS; i++)
		own.on[i] = (u8)i;
	own.at = l->turn % data_legs(l);
	own.target = own_shape->shadow ? l->start.legs : own.at;
	own.source = own_shape->shadow ? own.at : (own.at + 1) % data_legs(l);
	own.first = (POOL_BLOCKS / per_row(l) / ROWS - 1) * ROWS;
	own.rng.s = mix64(l->seed, 53);
	l->start.on = own.on;
}

static void begin(struct script *l)
{
	life_begin(l, &own.writer, &own.rng);
}

void run_matrix(void)
{
	const struct shape *s;
	const struct row *r;
	char name[96];

	for (s = shapes; s < shapes + ARRAY_SIZE(shapes); s++)
		for (r = rows; r < rows + ARRAY_SIZE(rows); r++) {
			struct script_case c = {
				.name = name, .shape = &s->start, .act = r->act, .set_up = set_up,
				.begin = begin, .turns = opt.thorough ? 12 : 2, .salt = 8800,
				.depth = CHECK_CONTENTS,
				.own = &own, .own_size = sizeof(own),
			};

			if ((r->cache && !s->start.cache) || (r->returns && s->shadow))
				continue;
			own_shape = s;
			snprintf(name, sizeof(name), "matrix:%s:%s", s->name, r->name);
			life_run(&c);
		}
}
