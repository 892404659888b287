// SPDX-License-Identifier: GPL-2.0-only
/* The pools that tests begin with. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"

u32 sim_least_levels = 1;

const char *deep_name(const char *name)
{
	static char deep[128];

	if (sim_least_levels == 1)
		return name;
	snprintf(deep, sizeof(deep), "deep%u-%s", sim_least_levels, name);
	return deep;
}

struct making {
	struct host host;
	struct host_start start;
	struct oracle *o;
	u32 blocks;
	struct kvp_place *places;	/* of each block, once; on disks */
};

void blank_disks(struct image *img, u32 legs, u32 blocks)
{
	u32 i;

	for (i = 0; i < legs; i++)
		image_init(&img[i], blocks);
}

static void note_places(struct making *m)
{
	u64 block;

	for (block = 0; block < m->o->blocks; block++) {
		struct kvp_spot at = kvp_locate(m->host.pool, block);

		m->places[block] = kvp_data_place(at.v->g, at.block);
		m->places[block].leg = at.v->legs[m->places[block].leg].bdev->index;
	}
}

static void make_pool(void *arg)
{
	struct making *m = arg;
	int ret = host_start(&m->host, m->o, &m->start);

	if (ret)
		sim_fail("format: %s", m->host.refusal.why);
	/* Two leaves' worth would be nicer, but tiny pools have one page; leave some unwritten. */
	host_write(&m->host, 0, 12, false);
	/* with two vdevs, blocks on both sides of their boundary */
	host_write(&m->host, m->start.second ? host_boundary(&m->start) - 40 : 64, 80, false);
	host_write(&m->host, 300, 8, true);
	host_checkpoint(&m->host);
	note_places(m);
	host_stop(&m->host);
}

static void rebase_from(struct base *b, struct making *m)
{
	u8 data[4096];
	u64 block;

	for (block = 0; block < b->o.blocks; block++) {
		struct kvp_place at = m->places[block];

		image_read(&disks.img[at.leg], at.block, data);
		if (oracle_touched(&b->o, block))
			oracle_rebase(&b->o, block, data);
	}
}

/* The base of a table of another depth, or with vdevs of another width. */
static void forget_base(struct base *b)
{
	u32 i;

	if (!b->legs)
		return;
	for (i = 0; i < b->legs; i++)
		image_free(&b->img[i]);
	oracle_free(&b->o);
	memset(b, 0, sizeof(*b));
}

static const struct base *make_base(struct base *b, const struct host_start *shape)
{
	u32 legs = shape->legs;
	struct sim_config config = { .seed = mix64(opt.seed, 9000 + legs) };
	struct making m = { .o = &b->o, .start = *shape };
	struct image blank[MAX_DISKS];
	enum sabotage sabotage = disks.sabotage;
	u32 i;

	if (b->legs == legs && b->second == shape->second && b->levels == sim_least_levels &&
	    b->old_sums == sim_old_sums)
		return b;
	forget_base(b);
	b->levels = sim_least_levels;
	b->old_sums = sim_old_sums;
	disks.sabotage = BREAK_NOTHING;
	oracle_init(&b->o, shape->second ? host_boundary(shape) + 128 :
			   shape->large  ? LARGE_BLOCKS : POOL_BLOCKS);
	m.places = calloc(b->o.blocks, sizeof(*m.places));
	m.start.format = true;
	blank_disks(blank, legs, (shape->large ? 3 : shape->log_mib ? 2 : 1) * POOL_LEG_BLOCKS);
	disks_begin(blank, legs);
	if (sim_run(&config, make_pool, &m) != SIM_RETURNED) {
		printf("FAIL making a pool of %u legs\n", legs);
		exit(2);
	}
	disks_end();
	rebase_from(b, &m);
	for (i = 0; i < legs; i++) {
		image_copy(&b->img[i], &disks.img[i]);
		image_free(&blank[i]);
	}
	b->legs = legs;
	free(m.places);
	b->parity = shape->parity;
	b->second = shape->second;
	b->cache = shape->cache;
	b->second_parity = shape->second_parity;
	b->log_start = disks.log_start;
	b->log_blocks = disks.log_blocks;
	b->data_start = disks.data_start;
	disks.sabotage = sabotage;
	return b;
}

const struct base *base_pool(u32 legs, bool strict)
{
	static struct base bases[MAX_DISKS + 1][2];
	struct host_start shape = { .legs = legs, .strict = strict };

	return make_base(&bases[legs][strict], &shape);
}

const struct base *base_parity(u32 legs, bool strict)
{
	static struct base bases[MAX_DISKS + 1][2];
	struct host_start shape = { .legs = legs, .strict = strict, .parity = true };

	return make_base(&bases[legs][strict], &shape);
}

const struct base *base_two(const struct host_start *shape)
{
	static struct base bases[2][2][2];

	return make_base(&bases[shape->parity][shape->second_parity][shape->cache], shape);
}

const struct base *base_cache(const struct host_start *shape)
{
	static struct base bases[3][2][MAX_DISKS][2][2][2];
	u32 usual = shape->cache_parity ? 3 * USUAL_WINDOW : USUAL_WINDOW;
	u32 window = shape->cache_dirty > usual ? 2 : !!shape->cache_dirty;

	return make_base(&bases[window][shape->parity][shape->cache][shape->cache_parity]
			       [shape->writethrough][shape->large], shape);
}

/* A strict parity1 of 3 legs, twice as large, with a log of 8 MiB. */
static const struct base *base_long_log(void)
{
	static struct base base;
	struct host_start shape = { .legs = 3, .strict = true, .parity = true, .log_mib = 8 };

	return make_base(&base, &shape);
}

const struct base *base_for(const struct host_start *shape)
{
	if (shape->second)
		return base_two(shape);
	if (shape->cache || shape->large)
		return base_cache(shape);
	if (shape->log_mib)
		return base_long_log();
	return shape->parity ? base_parity(shape->legs, shape->strict) :
			       base_pool(shape->legs, shape->strict);
}
