// SPDX-License-Identifier: GPL-2.0-only
/*
 * Legs that hang, and legs that fail once. A short life is repeated for each request of a leg.
 * Either that request and all later ones hang, for a while or for ever (R28). Or the request fails,
 * once or with all later ones, with each kind of error (kvp_error_kind()). All waits must end,
 * acknowledged data must be there after a power cut, and an error that does not repeat costs no
 * leg. The exception is a failed flush: its leg is given up, whatever sent the flush (R20). All of
 * this runs on disks with FUA, without FUA, and with a FUA that may be a write and a flush. Other
 * tests have two legs, of two vdevs, that hang at once.
 */
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "io/io.h"
#include "super/members.h"

enum trouble {
	NONE,			/* count the requests */
	HANGS,			/* for ever: leg_timeout sees to it */
	IS_LATE,		/* answers when it is out already */
	BRIEFLY,		/* answers before it is given up */
	IS_LEFT,		/* without leg_timeout: it is taken offline by order */
	FAILS_ONCE,		/* a write or a flush */
	READ_FAILS_ONCE,
	FAILS,			/* from there on */
};

struct life {
	struct host host;
	struct host_start start;
	struct oracle o;
	struct crash crash;
	enum trouble trouble;
	int error;
	u32 victim, after;
	bool reads;		/* count those */
	struct fault *fault;
	/* HANGS: this leg of another vdev hangs as well, from as many requests on; 0: none does */
	u32 also;
	struct fault *also_fault;
	u32 requests;		/* of the victim */
	u32 from;		/* in the trace: all is acknowledged */
};

static const struct host_start shapes[] = {
	{ .legs = 2 },
	{ .legs = 3, .parity = true },
	{ .legs = 4, .cache = 2 },
	{ .legs = 2, .rotational = true },
};

static const char * const shape_names[] = { "mirror", "parity1", "cache", "disks" };

/* Of each vdev a leg hangs, both at once: the last one, and @also. */
static const struct pair {
	struct host_start shape;
	u32 also;
	const char *name;
} pairs[] = {
	{ { .legs = 4, .second = 2 }, 1, "two-mirrors" },
	{ { .legs = 5, .second = 3, .second_parity = true }, 1, "mirror-parity1" },
	{ { .legs = 5, .second = 2, .parity = true }, 2, "parity1-mirror" },
	{ { .legs = 4, .cache = 2 }, 1, "mirror-cache" },
	{ { .legs = 5, .parity = true, .cache = 2 }, 2, "parity1-cache" },
};

static void answer_late(void *arg)
{
	struct life *l = arg;

	while (!disks.hung[l->victim])
		host_sleep(100);
	if (l->trouble == BRIEFLY)
		host_sleep(5000);
	/*
	 * As soon as the leg is out, or the pool has stopped: others may be using the same pages.
	 */
	while (l->trouble == IS_LATE && l->host.pool &&
	       kvp_leg_in_sync(host_leg(&l->host, l->victim)))
		host_sleep(5);
	disks_wake(l->victim);
}

static void leave(void *arg)
{
	struct life *l = arg;
	int ret;

	while (!disks.hung[l->victim])
		host_sleep(100);
	host_sleep(500);
	ret = kvp_leg_offline(l->host.pool, host_leg(&l->host, l->victim));
	if (ret)
		sim_fail("offline failed with %d", ret);
}

static void make_trouble(struct life *l)
{
	bool hangs = l->trouble >= HANGS && l->trouble <= IS_LEFT;

	bool read = l->trouble == READ_FAILS_ONCE || l->reads;

	l->fault = disks_fault(hangs ? FAULT_HANG : read ? FAULT_READ_ONCE : FAULT_ONCE, l->victim,
			       0, ~0ull);
	l->fault->after = l->trouble == NONE ? ~0u : l->after;
	l->fault->times = l->trouble == FAILS_ONCE || l->trouble == READ_FAILS_ONCE;
	l->fault->error = l->error;
	if (l->also && l->trouble == HANGS) {
		l->also_fault = disks_fault(FAULT_HANG, l->also, 0, ~0ull);
		l->also_fault->after = l->after;
	}
	if (l->trouble == IS_LATE || l->trouble == BRIEFLY)
		sim_spawn("late", answer_late, l);
	if (l->trouble == IS_LEFT) {
		l->host.pool->tunables[KVP_T_LEG_TIMEOUT] = 0;
		sim_spawn("leave", leave, l);
	}
}

/* Gaps that both legs of a mirror are read for at once; one of them answers. */
static void fill_gaps(struct host *h)
{
	u32 i;

	host_write(h, 64, 40, false);
	host_write(h, 320, 40, false);
	host_checkpoint(h);
	for (i = 0; i < 40; i += 4) {
		host_write(h, 64 + i, 1, false);
		host_write(h, 320 + i, 1, false);
	}
	host_checkpoint(h);
}

/*
 * Some blocks of the victim, or of the last leg with data, have rotten: a scrub writes them anew.
 * Of two vdevs a leg of the first has them.
 */
static void rot_some(struct life *l)
{
	u32 leg = l->start.cache ? l->start.legs - l->start.cache - 1 : l->also ?: l->victim, i;
	u8 data[KVP_BLOCK_SIZE];

	for (i = 0; i < 3; i++) {
		u64 at = kvp_home_block(l->host.pool, 66 + 9 * i);

		image_read(&disks.img[leg], at, data);
		memset(data + 100, 0x77, 50);
		image_write_data(&disks.img[leg], at, data);
	}
}

/*
 * A little of all that a leg is asked for: log, homes by intent and by destage, table, superblocks,
 * reads, healing.
 */
static void live(struct life *l)
{
	struct host *h = &l->host;
	u64 healed, unrepaired;
	u32 i;

	host_write(h, 3, 2, false);
	host_flush(h);
	host_write(h, 64, 40, false);
	host_flush(h);
	host_write(h, 4, 1, true);
	host_checkpoint(h);
	if (l->start.rotational)
		fill_gaps(h);
	host_write(h, 70, 3, false);
	host_flush(h);
	rot_some(l);
	host_scrub(h, &healed, &unrepaired);
	if (l->trouble == NONE && !healed)
		sim_fail("nothing was healed: the case was not set up");
	if (unrepaired)
		sim_fail("%llu blocks were not repaired", unrepaired);
	for (i = 0; i < 110; i += 10)
		host_read_check(h, i);
	host_write(h, 8, 1, false);
	host_flush(h);
}

/*
 * The hanging request may be one that live() does not wait for: the pool's own work, late. Its time
 * limit still runs.
 */
static void wait_for_trouble(struct life *l)
{
	u32 waits = l->trouble == HANGS || l->trouble == IS_LATE || l->trouble == IS_LEFT ? 600 : 1;

	while (waits-- && kvp_leg_in_sync(host_leg(&l->host, l->victim)))
		host_sleep(100);
	/* it began to hang later */
	for (waits = 600; l->also_fault && l->also_fault->hit && waits &&
	     kvp_leg_in_sync(host_leg(&l->host, l->also)); waits--)
		host_sleep(100);
}

static void check_leg(struct life *l)
{
	bool usable = kvp_leg_in_sync(host_leg(&l->host, l->victim));
	const struct fault *f = l->fault;

	if ((l->trouble == NONE || l->trouble == BRIEFLY || l->trouble == READ_FAILS_ONCE) &&
	    !usable)
		sim_fail("the leg was given up");
	/*
	 * A failed flush may have lost anything, unless it was never issued: a thin device has no
	 * space for a write.
	 */
	if (l->trouble == FAILS_ONCE && f->hit) {
		bool lost = f->hit_flush && l->error != -ENOMEM &&
			(f->hit_alone || l->error != -ENOSPC);

		if (!usable && !lost)
			sim_fail("the leg was given up for one error");
		if (usable && lost)
			sim_fail("a leg whose flush failed is in use");
	}
	if ((l->trouble == HANGS || l->trouble == IS_LATE || l->trouble == IS_LEFT) && f->hit &&
	    usable)
		sim_fail("the leg that hangs is in use");
	if (l->also_fault && l->also_fault->hit && kvp_leg_in_sync(host_leg(&l->host, l->also)))
		sim_fail("the other leg that hangs is in use");
}

static void life_main(void *arg)
{
	struct life *l = arg;
	struct host *h = &l->host;

	if (host_start(h, &l->o, &l->start))
		sim_fail("start: %s", h->refusal.why);
	make_trouble(l);
	live(l);
	l->requests = l->fault->seen;
	l->from = disks.trace.nr;
	if (l->fault->hit || (l->also_fault && l->also_fault->hit))
		wait_for_trouble(l);
	check_leg(l);
	if (l->trouble == FAILS_ONCE || l->trouble == READ_FAILS_ONCE || l->trouble == BRIEFLY)
		disks.nr_faults = 0;
	l->crash.lost = kvp_leg_in_sync(host_leg(h, l->victim)) ? 0 : BIT(l->victim);
	if (l->also && !kvp_leg_in_sync(host_leg(h, l->also)))
		l->crash.lost |= BIT(l->also);
	/* A suspend ends, and so does a stop, without the leg. */
	host_stop(h);
}

static bool one_life(struct life *l, const struct base *base, const char *name, u64 seed)
{
	bool good;

	oracle_copy(&l->o, &base->o);
	l->also_fault = NULL;
	l->crash = (struct crash){ .legs = l->start.legs, .parity = l->start.parity,
				   .second = l->start.second,
				   .second_parity = l->start.second_parity,
				   .cache = l->start.cache, .o = &l->o, .heal_allowed = true };
	good = run_machine(base->img, l->start.legs, seed, life_main, l);
	if (good && l->trouble != NONE)
		good = !cut_sampled(name, &l->crash, l->from, CHECK_CONTENTS, 2);
	oracle_free(&l->o);
	return good;
}

static const char * const fua_names[] = { "", ":no-fua", ":may-be-fua" };

static void lives(u32 shape, const char *what, enum trouble trouble, int error, u32 step)
{
	struct life *l = calloc(1, sizeof(*l));
	const struct host_start *hs = &shapes[shape];
	const struct base *base = hs->cache ? base_cache(hs) :
				  hs->parity ? base_parity(hs->legs, false) :
				  base_pool(hs->legs, false);
	char name[96];
	u32 i, n = 0, first = 0;
	bool good = true;

	snprintf(name, sizeof(name), "legs:%s:%s%s", shape_names[shape], what, fua_names[sim_fua]);
	if (!wanted(name)) {
		free(l);
		return;
	}
	if (opt.thorough)
		step = 1;
	else
		first = (u32)(opt.seed % step);
	l->start = *hs;
	l->error = error;
	/* with a cache the last SSD, which nothing here is read from; otherwise the last leg */
	l->victim = hs->legs - 1 - (trouble == READ_FAILS_ONCE ? hs->cache : 0);
	l->trouble = NONE;
	l->reads = trouble == READ_FAILS_ONCE;
	good = one_life(l, base, name, opt.seed);
	n = l->requests;
	l->trouble = trouble;
	for (i = first; good && i < n; i += step) {
		l->after = i;
		good = one_life(l, base, name, opt.seed);
		if (!good)
			fprintf(stderr, "# request %u of %u\n", i, n);
	}
	result(name, good && n);
	free(l);
}

/*
 * All requests of lives with many flushes: on disks without FUA, and on disks that only claim to
 * have it.
 */
static void lives_without_fua(enum disk_fua fua)
{
	u32 s;

	sim_fua = fua;
	for (s = 0; s < ARRAY_SIZE(shapes); s++) {
		lives(s, "transport-once", FAILS_ONCE, -EIO, 1);
		lives(s, "medium-once", FAILS_ONCE, -ENODATA, 5);
		lives(s, "no-memory-once", FAILS_ONCE, -ENOMEM, 3);
		lives(s, "no-space-once", FAILS_ONCE, -ENOSPC, 5);
		lives(s, "fails", FAILS, -EIO, 5);
		if (fua == FUA_CLAIMED)
			continue;
		lives(s, "hangs", HANGS, 0, 3);
		lives(s, "is-late", IS_LATE, 0, 5);
		lives(s, "briefly", BRIEFLY, 0, 7);
		lives(s, "is-left", IS_LEFT, 0, 5);
	}
	sim_fua = FUA_OWN;
}

/* Neither of the two is waited for, and the loss of one does not hold up that of the other. */
static void both_hang(const struct pair *pair)
{
	struct life *l = calloc(1, sizeof(*l));
	const struct base *base = pair->shape.second ? base_two(&pair->shape) :
				  base_cache(&pair->shape);
	u32 i, n, step = opt.thorough ? 1 : 7;
	char name[96];
	bool good;

	snprintf(name, sizeof(name), "legs:%s:both-hang", pair->name);
	if (!wanted(name)) {
		free(l);
		return;
	}
	l->start = pair->shape;
	l->victim = pair->shape.legs - 1;
	l->also = pair->also;
	l->trouble = NONE;
	good = one_life(l, base, name, opt.seed);
	n = l->requests;
	l->trouble = HANGS;
	for (i = (u32)(opt.seed % step); good && i < n; i += step) {
		l->after = i;
		good = one_life(l, base, name, opt.seed);
		if (!good)
			fprintf(stderr, "# request %u of %u\n", i, n);
	}
	result(name, good && n);
	free(l);
}

void run_legs(void)
{
	u32 s;

	for (s = 0; s < ARRAY_SIZE(pairs); s++)
		both_hang(&pairs[s]);

	lives_without_fua(FUA_NONE);
	lives_without_fua(FUA_CLAIMED);

	for (s = 0; s < ARRAY_SIZE(shapes); s++) {
		lives(s, "hangs", HANGS, 0, 3);
		lives(s, "is-late", IS_LATE, 0, 5);
		lives(s, "briefly", BRIEFLY, 0, 7);
		lives(s, "is-left", IS_LEFT, 0, 5);
		lives(s, "no-memory-once", FAILS_ONCE, -ENOMEM, 3);
		lives(s, "no-space-once", FAILS_ONCE, -ENOSPC, 7);
		lives(s, "transport-once", FAILS_ONCE, -EIO, 3);
		lives(s, "medium-once", FAILS_ONCE, -ENODATA, 5);
		lives(s, "fails", FAILS, -EIO, 5);
		lives(s, "transport-read-once", READ_FAILS_ONCE, -EIO, 1);
		lives(s, "medium-read-once", READ_FAILS_ONCE, -ENODATA, 3);
		lives(s, "no-memory-read-once", READ_FAILS_ONCE, -ENOMEM, 3);
		lives(s, "timeout-read-once", READ_FAILS_ONCE, -ETIMEDOUT, 3);
	}
}
