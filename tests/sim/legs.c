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

#include "script.h"
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

/* The case, and what a life of it knows besides its script. */
static struct {
	enum trouble trouble;
	int error;
	u32 victim, after, first, step;
	bool reads;		/* count those */
	struct fault *fault;
	/* HANGS: this leg of another vdev hangs as well, from as many requests on; 0: none does */
	u32 also;
	struct fault *also_fault;
	u32 requests;		/* of the victim */
} own;

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
	struct script *l = arg;

	while (!disks.hung[own.victim])
		host_sleep(100);
	if (own.trouble == BRIEFLY)
		host_sleep(5000);
	/*
	 * As soon as the leg is out, or the pool has stopped: others may be using the same pages.
	 */
	while (own.trouble == IS_LATE && l->host.pool &&
	       kvp_leg_in_sync(host_leg(&l->host, own.victim)))
		host_sleep(5);
	disks_wake(own.victim);
}

static void leave(void *arg)
{
	struct script *l = arg;
	int ret;

	while (!disks.hung[own.victim])
		host_sleep(100);
	host_sleep(500);
	ret = kvp_leg_offline(l->host.pool, host_leg(&l->host, own.victim));
	if (ret)
		sim_fail("offline failed with %d", ret);
}

static void make_trouble(struct script *l)
{
	bool hangs = own.trouble >= HANGS && own.trouble <= IS_LEFT;

	bool read = own.trouble == READ_FAILS_ONCE || own.reads;

	own.fault = disks_fault(hangs ? FAULT_HANG : read ? FAULT_READ_ONCE : FAULT_ONCE,
				own.victim, 0, ~0ull);
	own.fault->after = own.trouble == NONE ? ~0u : own.after;
	own.fault->times = own.trouble == FAILS_ONCE || own.trouble == READ_FAILS_ONCE;
	own.fault->error = own.error;
	if (own.also && own.trouble == HANGS) {
		own.also_fault = disks_fault(FAULT_HANG, own.also, 0, ~0ull);
		own.also_fault->after = own.after;
	}
	if (own.trouble == IS_LATE || own.trouble == BRIEFLY)
		sim_spawn("late", answer_late, l);
	if (own.trouble == IS_LEFT) {
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
static void rot_some(struct script *l)
{
	u32 leg = l->start.cache ? l->start.legs - l->start.cache - 1 : own.also ?: own.victim, i;
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
static void live(struct script *l)
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
	if (own.trouble == NONE && !healed)
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
static void wait_for_trouble(struct script *l)
{
	bool is_given_up = own.trouble == HANGS || own.trouble == IS_LATE || own.trouble == IS_LEFT;
	u32 waits = is_given_up ? 600 : 1;

	while (waits-- && kvp_leg_in_sync(host_leg(&l->host, own.victim)))
		host_sleep(100);
	/* it began to hang later */
	for (waits = 600; own.also_fault && own.also_fault->hit && waits &&
	     kvp_leg_in_sync(host_leg(&l->host, own.also)); waits--)
		host_sleep(100);
}

static void check_leg(struct script *l)
{
	bool usable = kvp_leg_in_sync(host_leg(&l->host, own.victim));
	const struct fault *f = own.fault;

	if ((own.trouble == NONE || own.trouble == BRIEFLY || own.trouble == READ_FAILS_ONCE) &&
	    !usable)
		sim_fail("the leg was given up");
	/*
	 * A failed flush may have lost anything, unless it was never issued: a thin device has no
	 * space for a write.
	 */
	if (own.trouble == FAILS_ONCE && f->hit) {
		bool refused = own.error == -ENOMEM || own.error == -EBUSY ||
			own.error == -EAGAIN || (own.error == -ENOSPC && !f->hit_alone);
		bool lost = f->hit_flush && !refused;

		if (!usable && !lost)
			sim_fail("the leg was given up for one error");
		if (usable && lost)
			sim_fail("a leg whose flush failed is in use");
	}
	if ((own.trouble == HANGS || own.trouble == IS_LATE || own.trouble == IS_LEFT) && f->hit &&
	    usable)
		sim_fail("the leg that hangs is in use");
	if (own.also_fault && own.also_fault->hit && kvp_leg_in_sync(host_leg(&l->host, own.also)))
		sim_fail("the other leg that hangs is in use");
}

static void live_in_trouble(struct script *l)
{
	struct host *h = &l->host;

	live(l);
	own.requests = own.fault->seen;
	script_cut_from_here(l);
	if (own.fault->hit || (own.also_fault && own.also_fault->hit))
		wait_for_trouble(l);
	check_leg(l);
	if (own.trouble == FAILS_ONCE || own.trouble == READ_FAILS_ONCE || own.trouble == BRIEFLY)
		disks.nr_faults = 0;
	l->crash.lost = kvp_leg_in_sync(host_leg(h, own.victim)) ? 0 : BIT(own.victim);
	if (own.also && !kvp_leg_in_sync(host_leg(h, own.also)))
		l->crash.lost |= BIT(own.also);
	/* A suspend ends, and so does a stop, without the leg. */
}

/* All begin on the same disks. */
static bool one_life(struct script *l, enum trouble trouble)
{
	script_anew(l);
	l->crash.heal_allowed = true;
	own.trouble = trouble;
	own.also_fault = NULL;
	return script_live(l, live_in_trouble, false) &&
	       (trouble == NONE || script_check_cuts(l));
}

/* A life without trouble, which counts the requests; then one for each of them, or some. */
static bool all_lives(struct script *l)
{
	enum trouble trouble = own.trouble;
	bool good = one_life(l, NONE);
	u32 n = own.requests, i;

	for (i = own.first; good && i < n; i += own.step) {
		own.after = i;
		good = one_life(l, trouble);
		if (!good)
			fprintf(stderr, "# request %u of %u\n", i, n);
	}
	return good && n;
}

/* @own says what happens. */
static void run_case(const char *name, const struct host_start *shape)
{
	const struct script_case c = {
		.name = name, .shape = shape, .begin = make_trouble, .play = all_lives,
		.turns = 1, .most = 1, .first_plain = true, .cuts = 2, .depth = CHECK_CONTENTS,
	};

	script_run(&c);
}

/* Other errors of the kinds that are tried again. */
static const struct {
	const char *name;
	int error;
} others[] = {
	{ "busy-once", -EBUSY },
	{ "would-wait-once", -EAGAIN },
	{ "timeout-once", -ETIMEDOUT },
	{ "link-once", -ENOLINK },
};

static const char * const fua_names[] = { "", ":no-fua", ":may-be-fua" };

static void lives(u32 shape, const char *what, enum trouble trouble, int error, u32 step)
{
	const struct host_start *hs = &shapes[shape];
	char name[96];

	snprintf(name, sizeof(name), "legs:%s:%s%s", shape_names[shape], what, fua_names[sim_fua]);
	memset(&own, 0, sizeof(own));
	own.trouble = trouble;
	own.error = error;
	own.step = opt.thorough ? 1 : step;
	own.first = (u32)(opt.seed % own.step);
	/* with a cache the last SSD, which nothing here is read from; otherwise the last leg */
	own.victim = hs->legs - 1 - (trouble == READ_FAILS_ONCE ? hs->cache : 0);
	own.reads = trouble == READ_FAILS_ONCE;
	run_case(name, hs);
}

static void lives_with_others(u32 shape)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(others); i++)
		lives(shape, others[i].name, FAILS_ONCE, others[i].error, 5);
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
		lives_with_others(s);
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
	char name[96];

	snprintf(name, sizeof(name), "legs:%s:both-hang", pair->name);
	memset(&own, 0, sizeof(own));
	own.trouble = HANGS;
	own.step = opt.thorough ? 1 : 7;
	own.first = (u32)(opt.seed % own.step);
	own.victim = pair->shape.legs - 1;
	own.also = pair->also;
	run_case(name, &pair->shape);
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
		lives_with_others(s);
		lives(s, "transport-once", FAILS_ONCE, -EIO, 3);
		lives(s, "medium-once", FAILS_ONCE, -ENODATA, 5);
		lives(s, "fails", FAILS, -EIO, 5);
		lives(s, "transport-read-once", READ_FAILS_ONCE, -EIO, 1);
		lives(s, "medium-read-once", READ_FAILS_ONCE, -ENODATA, 3);
		lives(s, "no-memory-read-once", READ_FAILS_ONCE, -ENOMEM, 3);
		lives(s, "timeout-read-once", READ_FAILS_ONCE, -ETIMEDOUT, 3);
	}
}
