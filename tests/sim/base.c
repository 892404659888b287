// SPDX-License-Identifier: GPL-2.0-only
/* The pools that tests begin with. */
#include <stdlib.h>

#include "suite.h"

struct making {
	struct host host;
	struct host_start start;
	struct oracle *o;
	struct kvp_geometry g;
};

void blank_disks(struct image *img, u32 legs, u32 blocks)
{
	u32 i;

	for (i = 0; i < legs; i++)
		image_init(&img[i], blocks);
}

static void make_pool(void *arg)
{
	struct making *m = arg;
	int ret = host_start(&m->host, m->o, &m->start);

	if (ret)
		sim_fail("format: %s", m->host.refusal.why);
	/* Two leaves' worth would be nicer, but tiny pools have one page; leave some unwritten. */
	host_write(&m->host, 0, 12, false);
	host_write(&m->host, 64, 80, false);
	host_write(&m->host, 300, 8, true);
	host_checkpoint(&m->host);
	m->g = *m->host.pool->vdevs[0].g;
	host_stop(&m->host);
}

static void rebase_from(struct base *b, struct making *m)
{
	u8 data[4096];
	u64 block;

	for (block = 0; block < b->o.blocks; block++) {
		struct kvp_place at = kvp_data_place(&m->g, block);

		image_read(&disks.img[at.leg], at.block, data);
		if (oracle_touched(&b->o, block))
			oracle_rebase(&b->o, block, data);
	}
}

static const struct base *make_base(struct base *b, u32 legs, bool strict, bool parity, u32 log_mib)
{
	struct sim_config config = { .seed = mix64(opt.seed, 9000 + legs) };
	struct making m = { .o = &b->o };
	struct image blank[MAX_DISKS];
	enum sabotage sabotage = disks.sabotage;
	u32 i;

	if (b->legs)
		return b;
	disks.sabotage = BREAK_NOTHING;
	oracle_init(&b->o, POOL_BLOCKS);
	m.start = (struct host_start){ .legs = legs, .format = true, .strict = strict,
				       .parity = parity };
	m.start.log_mib = log_mib;
	blank_disks(blank, legs, log_mib ? 2 * POOL_LEG_BLOCKS : POOL_LEG_BLOCKS);
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
	b->parity = parity;
	b->log_start = disks.log_start;
	b->log_blocks = disks.log_blocks;
	b->data_start = disks.data_start;
	disks.sabotage = sabotage;
	return b;
}

const struct base *base_pool(u32 legs, bool strict)
{
	static struct base bases[MAX_DISKS + 1][2];

	return make_base(&bases[legs][strict], legs, strict, false, 0);
}

const struct base *base_parity(u32 legs)
{
	static struct base bases[MAX_DISKS + 1];

	return make_base(&bases[legs], legs, true, true, 0);
}

const struct base *base_parity_long_log(void)
{
	static struct base base;

	return make_base(&base, 3, true, true, 8);
}
