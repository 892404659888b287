// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pools of the maximum width: a mirror and a parity1 of 16 legs, 16 vdevs of 48 legs, and 15 of
 * them with a cache of three. Bit masks and arrays by leg or by vdev must have space for the last
 * one, and work in batches must not forget the rest. The cases: writes by the log and direct writes
 * to every vdev, flushed; the power goes anywhere, and writes without a flush are there, or not, or
 * in part. Then the pool starts with the right contents, and a scrub finds no fault; and the same
 * without one leg, another one each time.
 */
#include <stdlib.h>

#include "script.h"

#define POSITIONS	6u	/* number of cut positions of the trace, or a few more */

/* What a case knows besides its script. */
static struct {
	struct rng rng;		/* of the cuts */
	u32 at;			/* position of the last cut */
} own;

static u32 legs_of(const struct host_vdev *v)
{
	u32 legs = 0;

	for (; v->legs; v++)
		legs += v->legs;
	return legs;
}

/* All vdevs get some of it, in any rotation. */
static void write_all(struct script *w)
{
	struct host *h = &w->host;
	u32 block;

	for (block = 0; block + 64 <= w->o.blocks; block += 64)
		host_write(h, block + 7, 3, false);
	host_flush(h);
	/* direct writes: none is durable before the flush of each leg */
	for (block = 0; block + 64 <= w->o.blocks; block += 64)
		host_write(h, block, 64, false);
	host_flush(h);
	host_checkpoint(h);
	for (block = 0; block + 64 <= w->o.blocks; block += 128)
		host_write(h, block + 20, 5, false);
	host_flush(h);
	host_discard(h, 100, 200);
	host_write(h, 40, 1, true);
}

static void live(struct script *w)
{
	if (w->host.pool->sb->pool_blocks < w->o.blocks)
		sim_fail("%llu blocks are too few", w->host.pool->sb->pool_blocks);
	write_all(w);
}

static void look_at(struct script *w, u64 block)
{
	u8 data[KVP_BLOCK_SIZE];
	char why[160];

	if (host_read(&w->host, block, data)) {
		if (!w->start.missing || !oracle_may_be_lost(&w->o, block, own.at))
			sim_fail("block %llu cannot be read", block);
	} else if (!oracle_allows(&w->o, block, data, own.at, why)) {
		sim_fail("%s", why);
	}
}

static void look(struct script *w)
{
	u64 healed, unrepaired, block;

	for (block = 0; block < w->o.blocks; block++)
		look_at(w, block);
	if (w->start.missing)
		return;
	host_scrub(&w->host, &healed, &unrepaired);
	if (healed || unrepaired)
		sim_fail("a scrub healed %llu, and %llu are lost", healed, unrepaired);
}

static bool starts(struct script *w, const struct image *images, u64 missing)
{
	w->seed = mix64(opt.seed, mix64(own.at, missing));
	w->start.missing = missing;
	w->start.degraded = missing;
	if (script_live_on(w, images, look, false))
		return true;
	fprintf(stderr, "  ^ cut at %u, without legs %llx\n", own.at, missing);
	return false;
}

/* Writes that no flush covers are all there, or none, or some. */
static bool cut_here(struct script *w, const struct cutter *cut)
{
	static u32 which[MAX_PENDING];
	static u8 fates[MAX_PENDING];
	struct image images[MAX_DISKS];
	u32 n = cutter_majors(cut, which), choice, i;
	bool good = true;

	own.at = cut->at;
	for (choice = 0; good && choice < 3; choice++) {
		for (i = 0; i < n; i++)
			fates[i] = choice == 2 ? rng_below(&own.rng, 3) : choice ? FATE_KEPT :
				FATE_DROPPED;
		cutter_images(cut, fates, &own.rng, images);
		check_stats.images++;
		good = starts(w, images, 0) &&
		       starts(w, images, BIT_ULL(rng_below(&own.rng, w->start.legs)));
		script_free_disks(w, images);
	}
	return good;
}

static bool cut_some(struct script *w)
{
	struct trace t = script_take_trace();
	struct cutter *cut = malloc(sizeof(*cut));
	u32 from = w->from, left = t.nr - from, step = max(left / POSITIONS, 1u);
	bool good = true;

	own.rng.s = w->seed;
	cutter_init(cut, &t);
	cutter_seek(cut, from + rng_below(&own.rng, step));
	while (good && cut->at < t.nr) {
		good = cut_here(w, cut);
		cutter_seek(cut, min(cut->at + step, t.nr));
	}
	good = good && cut_here(w, cut);
	cutter_free(cut);
	free(cut);
	trace_free(&t);
	return good;
}

static void wide(const char *name, const struct host_vdev *vdevs, u32 blocks)
{
	const struct host_start shape = { .legs = legs_of(vdevs), .wide = vdevs };
	const struct script_case c = {
		.name = name, .shape = &shape, .blank = POOL_LEG_BLOCKS, .blocks = blocks,
		.act = live, .leave = true, .after = cut_some, .turns = 1, .most = 1,
		.salt = blocks,
	};

	script_run(&c);
}

void run_widths(void)
{
	static const struct host_vdev mirror[] = { { .legs = 16 }, { } };
	static const struct host_vdev parity[] = { { .legs = 16, .parity = true }, { } };
	struct host_vdev many[KVP_MAX_VDEVS + 1] = { };
	u32 i;

	wide("width:mirror16", mirror, 512);
	wide("width:parity16", parity, 3072);
	for (i = 0; i < KVP_MAX_VDEVS; i++)
		many[i] = (struct host_vdev){ .legs = KVP_MAX_LEGS / KVP_MAX_VDEVS,
					      .parity = i % 2 };
	wide("width:vdevs16", many, 3 * KVP_MAX_VDEVS * KVP_EXTENT_BLOCKS);
	many[i - 1] = (struct host_vdev){ .legs = KVP_MAX_LEGS / KVP_MAX_VDEVS, .cache = true };
	wide("width:vdevs15+3", many, 3 * KVP_MAX_VDEVS * KVP_EXTENT_BLOCKS);
}
