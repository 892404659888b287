// SPDX-License-Identifier: GPL-2.0-only
/*
 * The SSDs of a cache become others, and the power goes at every step of that: the cache is the old
 * one or the new one, and in either all is there that was acknowledged.
 */
#include <stdlib.h>
#include <string.h>

#include "suite.h"

#define NOBODY	MAX_DISKS

/* The pool, and what is to be of its cache; the last disk is new. */
static const struct swap {
	const char *name;
	struct host_start start;
	u32 ssds;		/* that there are to be */
	u32 leg;		/* that is on the new disk then; 0: none */
	bool lost;		/* the SSD that goes is dead before */
} swaps[] = {
	{ "replace", { .legs = 4, .cache = 2 }, 2, 2, false },
	{ "replace-lost", { .legs = 4, .cache = 2 }, 2, 3, true },
	{ "replace-only", { .legs = 3, .cache = 1 }, 1, 2, false },
	{ "replace-parity", { .legs = 4, .parity = true, .cache = 1 }, 1, 3, false },
	{ "replace-idle", { .legs = 3, .cache = 1, .writethrough = true }, 1, 2, false },
	{ "attach", { .legs = 3, .cache = 1 }, 2, 3, false },
	{ "detach", { .legs = 4, .cache = 2 }, 1, 0, false },
};

struct exchange {
	const struct swap *swap;
	struct host host;
	struct host_start old, new;
	struct oracle o;
	struct crash crash;
	u32 victim, after, from, disks;
};

static void begin(struct exchange *x, const struct host_start *hs)
{
	if (host_start(&x->host, &x->o, hs))
		sim_fail("start: %s", x->host.refusal.why);
}

static void some_writes(struct host *h)
{
	host_write(h, 20, 30, false);
	host_flush(h);
	host_write(h, 22, 3, true);
	host_checkpoint(h);
	host_write(h, 300, 5, false);
	host_flush(h);
}

static void expect_ssds(struct exchange *x, bool exchanged)
{
	struct kvp_pool *pool = x->host.pool;
	const struct host_start *hs = exchanged ? &x->new : &x->old;
	bool there = !hs->writethrough && kvp_vdev_usable(&pool->vdevs[pool->nr_vdevs - 1]);
	u32 i;

	if (pool->nr_legs != hs->legs)
		sim_fail("%u legs, not %u", pool->nr_legs, hs->legs);
	for (i = 0; i < hs->legs; i++)
		if (pool->legs[i].bdev != &disks.bdev[host_disk(hs, i)] || pool->legs[i].index != i)
			sim_fail("disk %u is leg %u", pool->legs[i].bdev->index, i);
	if (x->victim == NOBODY && (pool->log.v == &pool->vdevs[pool->nr_vdevs - 1]) != there)
		sim_fail("the log is on vdev %u", pool->log.v->index);
}

static void note_lost(struct exchange *x)
{
	struct kvp_pool *pool = x->host.pool;
	u32 i;

	for (i = 0; i < pool->nr_legs; i++)
		if (!kvp_leg_usable(&pool->legs[i]))
			x->crash.lost |= BIT(i);
}

static void exchange_main(void *arg)
{
	struct exchange *x = arg;
	struct host *h = &x->host;
	u64 epoch;

	begin(x, &x->old);
	if (x->swap->lost) {
		disks_kill(host_disk(&x->old, x->swap->leg));
		h->may_fail = true;
	}
	some_writes(h);
	h->may_fail = false;
	x->from = disks.trace.nr;
	x->crash.swaps_at = ~0u;
	if (x->victim != NOBODY) {
		disks_fault(FAULT_DEATH, x->victim, 0, ~0ull)->after =
			x->after + (x->victim == x->disks - 1 ? 2 * KVP_LABEL_BLOCKS : 0);
		h->may_fail = true;
	}
	epoch = h->pool->sb->epoch;
	if (!host_exchange(h, &x->new)) {
		x->crash.swaps_at = disks.trace.nr;
		expect_ssds(x, true);
	} else if (x->victim == NOBODY) {
		sim_fail("not exchanged: %s", h->refusal.why);
	} else if (h->pool->nr_legs != x->old.legs || h->pool->sb->epoch < epoch) {
		sim_fail("not exchanged, and yet another pool");
	}
	if (x->victim == NOBODY)
		host_cache_check(h);
	host_write(h, 21, 4, true);
	host_write(h, 60, 30, false);
	host_flush(h);
	host_read_check(h, 22);
	host_read_check(h, 301);
	note_lost(x);
}

/* With orderly ends between, and the SSD that has left is none of the pool's any more. */
static void whole_main(void *arg)
{
	struct exchange *x = arg;
	struct host *h = &x->host;
	u64 block;

	exchange_main(x);
	h->may_fail = false;
	host_stop(h);
	if (x->swap->lost)
		disks.dead[host_disk(&x->old, x->swap->leg)] = false;
	if (!host_start(h, &x->o, &x->old))
		sim_fail("started with an SSD that has left");
	begin(x, &x->new);
	expect_ssds(x, true);
	for (block = 0; block < x->o.blocks; block++)
		host_read_check(h, block);
	if (!host_exchange(h, &x->new) || !strstr(h->refusal.why, "that the cache has"))
		sim_fail("exchanged for the same");
	host_write(h, 40, 3, true);
	host_stop(h);
}

static void set_up(struct exchange *x, const struct swap *s)
{
	u32 data = s->start.legs - s->start.cache;

	x->swap = s;
	x->old = s->start;
	x->new = s->start;
	x->new.cache = s->ssds;
	x->new.legs = data + s->ssds;
	/* The new disk is behind all others: so an SSD that is added lies there by itself. */
	if (s->leg && s->leg < s->start.legs)
		x->new.swapped = s->leg;
	x->disks = s->start.legs + !!s->leg;
	oracle_copy(&x->o, &base_cache(&s->start)->o);
	x->crash = (struct crash){ .legs = x->new.legs, .parity = s->start.parity, .cache = s->ssds,
				   .old_cache = s->start.cache, .swapped = x->new.swapped,
				   .spare = x->disks - x->new.legs, .o = &x->o };
}

static void begin_disks(struct exchange *x)
{
	const struct base *b = base_cache(&x->swap->start);
	struct image img[MAX_DISKS];
	u32 i;

	for (i = 0; i < x->old.legs; i++)
		image_copy(&img[i], &b->img[i]);
	blank_disks(img + x->old.legs, x->disks - x->old.legs, POOL_LEG_BLOCKS);
	disks_begin(img, x->disks);
	for (i = 0; i < x->disks; i++)
		image_free(&img[i]);
}

static void case_of(const char *what, const struct swap *s, void (*main)(void *arg), u32 victim,
		    u32 after, u32 cuts)
{
	struct exchange *x = calloc(1, sizeof(*x));
	struct sim_config config;
	char name[96];
	bool good;

	snprintf(name, sizeof(name), victim == NOBODY ? "modes:%s:%s" : "modes:%s:%s:%u:%u", what,
		 s->name, victim, after);
	if (wanted(name)) {
		set_up(x, s);
		x->victim = victim;
		x->after = after;
		x->crash.heal_allowed = victim != NOBODY || s->lost;
		x->crash.poison_allowed = s->start.parity && victim == s->leg;
		check_seed_config(&config, mix64(opt.seed, 1500 + 100 * victim + after));
		begin_disks(x);
		good = sim_run(&config, main, x) == SIM_RETURNED;
		disks_end();
		if (good && cuts)
			good = !cut_sampled(name, &x->crash, x->from,
					    victim == NOBODY ? CHECK_RECRASH : CHECK_LEGS, cuts);
		result(name, good);
		oracle_free(&x->o);
	}
	free(x);
}

void run_exchange(void)
{
	u32 i, victim, after;

	for (i = 0; i < ARRAY_SIZE(swaps); i++) {
		case_of("exchange", &swaps[i], exchange_main, NOBODY, 0, opt.thorough ? ~0u : 80);
		case_of("exchange-whole", &swaps[i], whole_main, NOBODY, 0, 0);
	}
	for (i = 0; i < ARRAY_SIZE(swaps); i++)
		for (victim = 0; victim < swaps[i].start.legs + !!swaps[i].leg; victim++)
			for (after = 0; !swaps[i].lost && after < 8; after += opt.thorough ? 1 : 2)
				case_of("exchange-lost", &swaps[i], exchange_main, victim, after, 6);
}
