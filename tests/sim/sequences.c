// SPDX-License-Identifier: GPL-2.0-only
/*
 * Crash enumeration: every sequence of one or two operations on a pool that
 * holds something already, cut at every position.
 */
#include <string.h>

#include "script.h"
#include "cache/admission.h"
#include "super/members.h"

enum op {
	OP_WRITE, OP_OVERWRITE, OP_WRITE_FLUSH, OP_FUA, OP_LARGE, OP_DISCARD, OP_CHECKPOINT,
	OP_SCRUB, OP_LEG_LOSS, OP_LEG_OFFLINE, OPS,
	/* of a pool with a cache */
	OP_SSD_LOSS = OPS, OP_SSD_OFFLINE, OP_SSDS_LOSS, CACHE_OPS,
	/* with some of the others only: a resilver is long */
	OP_LEG_RETURNS = CACHE_OPS, ALL_OPS
};

static const char * const op_names[ALL_OPS] = {
	"write", "overwrite", "write+flush", "fua", "large", "discard", "checkpoint",
	"scrub", "leg-loss", "leg-offline", "ssd-loss", "ssd-offline", "ssds-loss",
	"leg-returns",
};

#define LARGE_OF_TWO	40	/* blocks, of which the first vdev has 24 */

/* The sequence that a case is; it stays over its turns. */
static struct {
	enum op ops[4];
	u32 nr;
	u32 tail_ms;		/* idle time at the end: timers do their work */
} seq;

/* With two vdevs, blocks from 60 on lie on both sides of their boundary, or beyond it. */
static u64 at(const struct script *s, u64 block)
{
	return s->start.second && block >= 60 ? block - 66 + host_boundary(&s->start) : block;
}

/* The cache is behind all other legs. */
static void lose_ssds(struct script *s, u32 n)
{
	u32 disk = s->start.legs - s->start.cache;

	for (; n--; disk++) {
		s->crash.lost |= BIT(disk);
		disks_kill(disk);
	}
}

static void leg_leaves(struct script *s)
{
	s->crash.lost |= 2;
	s->crash.back_at = 0;
	host_offline(&s->host, 1);
}

/* It misses something, and has all of it when the resilver has ended. */
static void leg_returns(struct script *s)
{
	struct host *h = &s->host;
	int ret;

	leg_leaves(s);
	host_write(h, 5, 2, true);
	disks.dead[1] = false;
	while ((ret = host_online(h, 1)) == -EBUSY)
		host_sleep(50);
	if (ret)
		sim_fail("the leg does not return: %s", h->refusal.why);
	host_write(h, 6, 2, false);
	host_wait_resilver(h);
	if (!kvp_leg_in_sync(host_leg(h, 1)))
		sim_fail("the leg is in state %u", host_leg(h, 1)->state);
	s->crash.back_at = disks.trace.nr;
}

static void do_op_of_legs(struct script *s, enum op op)
{
	switch (op) {
	case OP_LEG_LOSS:
		s->crash.lost |= 2;
		s->crash.back_at = 0;
		disks_kill(1);
		break;
	case OP_LEG_OFFLINE:
		leg_leaves(s);
		break;
	case OP_LEG_RETURNS:
		leg_returns(s);
		break;
	case OP_SSD_LOSS:
		lose_ssds(s, 1);
		break;
	case OP_SSD_OFFLINE:
		s->crash.lost |= BIT(script_first_ssd(s));
		host_offline(&s->host, script_first_ssd(s));
		break;
	case OP_SSDS_LOSS:
		lose_ssds(s, s->start.cache);
		break;
	default:
		break;
	}
}

static void do_op(struct script *s, enum op op)
{
	struct host *h = &s->host;
	u64 healed, unrepaired;

	switch (op) {
	case OP_WRITE:
		host_write(h, 20, 3, false);
		break;
	case OP_OVERWRITE:
		host_write(h, 2, 3, false);
		/* with two vdevs: blocks of both */
		host_write(h, at(s, 70) - (s->start.second ? 6 : 0), s->start.second ? 4 : 2,
			   false);
		break;
	case OP_WRITE_FLUSH:
		host_write(h, 4, 2, false);
		host_write(h, at(s, 80), 1, false);
		host_flush(h);
		break;
	case OP_FUA:
		host_write(h, 3, 1, true);
		break;
	case OP_LARGE:
		/* with two vdevs: enough of each for intents, whole stripes of a parity1 */
		host_write(h, at(s, 60) - (s->start.second ? 18 : 0),
			   s->start.second ? LARGE_OF_TWO : 20,
			   false);
		break;
	case OP_DISCARD:
		host_discard(h, 1, 3);
		/* with two vdevs: blocks of both */
		host_discard(h, at(s, 66) - (s->start.second ? 3 : 0), 8);
		break;
	case OP_CHECKPOINT:
		host_checkpoint(h);
		break;
	case OP_SCRUB:
		host_scrub(h, &healed, &unrepaired);
		/* The leg that died is found by the scrub. */
		if ((healed || unrepaired) && (!s->crash.lost || s->crash.back_at))
			sim_fail("scrub of a sound pool healed %llu, found %llu", healed,
				 unrepaired);
		break;
	default:
		do_op_of_legs(s, op);
		break;
	}
}

/* Check that the sequence has made its intents. */
static void expect_intents(const struct script *s)
{
	u64 n = s->host.pool->log->intent_blocks;

	if (s->start.second && seq.nr == 1 && seq.ops[0] == OP_LARGE && seq.tail_ms &&
	    n != LARGE_OF_TWO)
		sim_fail("%llu blocks went home by intent: the case was not set up", n);
}

/* They have tests of their own, and here would find an SSD lost before the operations do. */
static void begin(struct script *s)
{
	kvp_admit_stop(s->host.pool->admission);
}

static void play_sequence(struct script *s)
{
	static const u64 probes[] = { 2, 3, 4, 20, 60, 66, 70, 80 };
	u32 i;

	s->crash.back = 2;
	if (!seq.nr)
		s->from = 0;
	for (i = 0; i < seq.nr; i++)
		do_op(s, seq.ops[i]);
	for (i = 0; i < ARRAY_SIZE(probes); i++)
		host_read_check(&s->host, at(s, probes[i]));
	if (seq.tail_ms)
		host_sleep(seq.tail_ms);
	expect_intents(s);
}

static const char *shape_of(const struct host_start *shape)
{
	return shape->parity ? "parity+mirror" : shape->second_parity ? "mirror+parity" :
	       "mirror+mirror";
}

static void name_sequence(const struct host_start *shape, char name[128])
{
	u32 i, n;

	n = snprintf(name, 128, "%s%s%s%s", deep_name("sequence:"),
		     sim_fua == FUA_NONE ? "no-fua-" : "",
		     shape->cache_parity ? "cachep1-" : shape->cache > 1 ? "cache2-" :
		     shape->cache ? "cache-" : "",
		     shape->second ? shape_of(shape) :
		     shape->parity && shape->strict ? "parity-strict" :
		     shape->parity ? "parity" :
		     shape->legs == 1 ? "single" :
		     shape->strict ? "strict" : "mirror");
	for (i = 0; i < seq.nr; i++)
		n += snprintf(name + n, 128 - n, ":%s", op_names[seq.ops[i]]);
	snprintf(name + n, 128 - n, ":%u", seq.tail_ms);
}

/* To be cut. A resilver has many: in a short check, some of them. */
static u32 positions(void)
{
	u32 i;

	for (i = 0; i < seq.nr; i++)
		if (seq.ops[i] == OP_LEG_RETURNS && !opt.thorough)
			return 10;
	return SCRIPT_EVERYWHERE;
}

static void sequence(const struct host_start *shape, const enum op *ops, u32 nr, u32 tail_ms)
{
	char name[128];
	struct script_case c = {
		.name = name, .shape = shape, .begin = begin, .act = play_sequence, .leave = true,
		.turns = 1, .most = 1, .salt = tail_ms, .depth = CHECK_RECRASH,
	};

	memcpy(seq.ops, ops, nr * sizeof(*ops));
	seq.nr = nr;
	seq.tail_ms = tail_ms;
	c.cuts = positions();
	name_sequence(shape, name);
	script_run(&c);
}

/* With power cut at once; after the commit timer; after destage and checkpoint. */
static const u32 tails[] = { 0, 1500, 8000 };

/* True if another shape has this pair, in a short check. */
enum pairs { ALL_PAIRS, ODD_PAIRS, EVEN_PAIRS };

static bool left_out(enum pairs pairs, u32 sum)
{
	return !opt.thorough && pairs != ALL_PAIRS && sum % 2 == (pairs == ODD_PAIRS ? 0 : 1);
}

/* All sequences of up to two operations of the first @n kinds, or half of those of two. */
static void sequences_of(const struct host_start *shape, enum op n, enum pairs pairs)
{
	enum op ops[2] = { OP_WRITE };
	u32 t;

	sequence(shape, ops, 0, 0);
	for (ops[0] = 0; ops[0] < n; ops[0]++) {
		for (t = 0; t < 3; t++)
			sequence(shape, ops, 1, tails[t]);
		for (ops[1] = 0; ops[1] < n; ops[1]++)
			for (t = 0; t < 3 && !left_out(pairs, ops[0] + ops[1]); t++)
				if (opt.thorough || t == (ops[0] + ops[1]) % 3)
					sequence(shape, ops, 2, tails[t]);
	}
}

/* A leg returns, before and after others. */
static void returns_of(const struct host_start *shape)
{
	static const enum op with[][2] = {
		{ OP_OVERWRITE, OP_LEG_RETURNS }, { OP_LARGE, OP_LEG_RETURNS },
		{ OP_LEG_LOSS, OP_LEG_RETURNS }, { OP_LEG_OFFLINE, OP_LEG_RETURNS },
		{ OP_LEG_RETURNS, OP_LARGE }, { OP_LEG_RETURNS, OP_DISCARD },
		{ OP_LEG_RETURNS, OP_LEG_LOSS }, { OP_LEG_RETURNS, OP_SCRUB },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(with); i++)
		sequence(shape, with[i], 2, tails[i % 3]);
}

static void short_sequences(const struct host_start *shape, enum op n)
{
	sequences_of(shape, n, ALL_PAIRS);
}

/*
 * A few of those with checkpoints behind them; on three levels each page above the leaves has one
 * below it that is written, too.
 */
void run_deep_sequences(void)
{
	static const enum op twice[] = { OP_OVERWRITE, OP_CHECKPOINT, OP_WRITE_FLUSH,
					 OP_CHECKPOINT };
	static const enum op lost[] = { OP_LARGE, OP_CHECKPOINT, OP_LEG_LOSS, OP_CHECKPOINT };
	static const struct host_start shapes[] = {
		{ .legs = 1 }, { .legs = 2 }, { .legs = 3, .parity = true },
			{ .legs = 5, .second = 3, .second_parity = true },
	};
	enum op op;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		if (opt.thorough && !shapes[i].second)
			short_sequences(&shapes[i], shapes[i].legs == 1 ? OP_LEG_LOSS : OPS);
		for (op = 0; !opt.thorough && !shapes[i].second &&
		     op < (shapes[i].legs == 1 ? OP_LEG_LOSS : OPS); op++)
			sequence(&shapes[i], &op, 1, tails[2]);
		sequence(&shapes[i], twice, 4, tails[0]);
		if (shapes[i].legs > 1)
			sequence(&shapes[i], lost, 4, tails[0]);
	}
}

/*
 * Disks without FUA: a power cut between each write and its flush, and in the recoveries as well.
 */
static void sequences_without_fua(void)
{
	static const struct host_start shapes[] = {
		{ .legs = 1 }, { .legs = 2 }, { .legs = 3, .parity = true },
	};
	enum op op;
	u32 i;

	sim_fua = FUA_NONE;
	for (i = 0; i < (opt.thorough ? ARRAY_SIZE(shapes) : 2); i++)
		for (op = 0; op < (shapes[i].legs == 1 ? OP_LEG_LOSS : OPS); op++)
			sequence(&shapes[i], &op, 1, tails[op % 3]);
	sim_fua = FUA_OWN;
}

void run_sequences(void)
{
	static const enum op strict[] = { OP_LARGE, OP_OVERWRITE };
	static const struct host_start strict_mirror = { .legs = 2, .strict = true };
	static const struct host_start strict_parity = { .legs = 3, .strict = true,
							 .parity = true };
	u32 t;

	short_sequences(&(struct host_start){ .legs = 1 }, OP_LEG_LOSS);
	short_sequences(&(struct host_start){ .legs = 2 }, OPS);
	for (t = 0; t < 3; t++) {
		sequence(&strict_mirror, strict, 2, tails[t]);
		sequence(&strict_parity, strict, 2, tails[t]);
	}
	short_sequences(&(struct host_start){ .legs = 3, .parity = true }, OPS);
	sequences_without_fua();
	returns_of(&(struct host_start){ .legs = 2 });
	returns_of(&(struct host_start){ .legs = 3, .parity = true });
}

/*
 * The same on two vdevs, with writes and discards on both. The two shapes with a parity1 have half
 * of the pairs each.
 */
void run_vdevs(void)
{
	short_sequences(&(struct host_start){ .legs = 4, .second = 2 }, OPS);
	sequences_of(&(struct host_start){ .legs = 5, .second = 3, .second_parity = true }, OPS,
		     ODD_PAIRS);
	sequences_of(&(struct host_start){ .legs = 5, .parity = true, .second = 2 }, OPS,
		     EVEN_PAIRS);
	returns_of(&(struct host_start){ .legs = 5, .parity = true, .second = 2 });
	run_mixed();
	run_turns();
}

/* With the log on a cache of one SSD, of two, and on one of kind parity1. */
void run_cache_sequences(void)
{
	short_sequences(&(struct host_start){ .legs = 3, .cache = 1 }, CACHE_OPS);
	short_sequences(&(struct host_start){ .legs = 4, .cache = 2 }, CACHE_OPS);
	short_sequences(&(struct host_start){ .legs = 5, .parity = true, .cache = 2 }, CACHE_OPS);
	short_sequences(&(struct host_start){ .legs = 5, .cache = 3, .cache_parity = true },
			CACHE_OPS);
	short_sequences(&(struct host_start){ .legs = 6, .parity = true, .cache = 3,
					      .cache_parity = true }, CACHE_OPS);
}
