// SPDX-License-Identifier: GPL-2.0-only
/*
 * Limits on the policy's quality, beside references that are tested too; and the list of all tests
 * of this binary.
 */
#include <string.h>

#include "policy_test.h"
#include "replay.h"
#include "suite.h"
#include "trace.h"

#define SCALE	2
#define SKEWED	5	/* the first kinds, in which some blocks stay more popular than others */

/* Misses of a string of one-digit blocks. */
static unsigned int misses_of(const struct policy *p, const char *blocks, unsigned int capacity)
{
	void *cache = p->make(capacity, 16);
	unsigned int n = 0;

	for (; *blocks; blocks++)
		n += !p->ask(cache, *blocks - '0');
	p->drop(cache);
	return n;
}

/* Computed by hand. The first is Belady's example of FIFO that gets worse with more space. */
static bool test_references(void)
{
	static const struct {
		unsigned int policy, capacity, misses;
		const char *blocks;
	} known[] = {
		{ FIFO, 3, 9, "123412512345" },
		{ FIFO, 4, 10, "123412512345" },
		{ LRU, 3, 10, "123412512345" },
		{ LRU, 4, 8, "123412512345" },
		{ CLOCK, 3, 4, "31415" },		/* 3 1 4 1 5: one of them is a hit */
		{ CLOCK, 2, 4, "1213141" },		/* 1 is hit each time, and stays */
		{ FIFO, 2, 5, "1213141" },
		{ TWOQ, 4, 6, "1234515" },		/* 1 leaves by the queue of new blocks */
		{ ARC, 2, 4, "11213141" },		/* 1 was read twice, and stays */
		{ FIXED, 4, 6, "11234561" },		/* 1 moved to main */
	};
	bool good = true;
	unsigned int i, n;

	for (i = 0; i < sizeof(known) / sizeof(*known); i++) {
		n = misses_of(&references[known[i].policy], known[i].blocks, known[i].capacity);
		good &= expect(n == known[i].misses, "%s, %u, %s: %u misses, not %u",
			       references[known[i].policy].name, known[i].capacity, known[i].blocks,
			       n, known[i].misses);
	}
	return good;
}

static bool same(const struct trace *a, const struct trace *b)
{
	uint32_t i;

	for (i = 0; i < a->requests && i < b->requests; i++)
		if (a->request[i].block != b->request[i].block ||
		    a->request[i].blocks != b->request[i].blocks ||
		    a->request[i].write != b->request[i].write)
			return false;
	return a->requests == b->requests;
}

static bool test_traces(void)
{
	unsigned int kind;
	struct trace *a, *b, *other;
	bool good = true;
	uint32_t i, several;

	for (kind = 0; trace_kinds[kind]; kind++) {
		a = trace_make(kind, 1, seed);
		b = trace_make(kind, 1, seed);
		other = trace_make(kind, 1, seed + 1);
		good &= expect(same(a, b), "%s: another trace from the same seed", a->name);
		good &= expect(!same(a, other), "%s: the same from another seed", a->name);
		for (i = several = 0; i < a->requests; i++)
			several += a->request[i].blocks > 1;
		good &= expect(several > a->requests / 4, "%s: requests of one block", a->name);
		trace_free(a);
		trace_free(b);
		trace_free(other);
	}
	return good & expect(kind == REPLAY_KINDS, "%u kinds", kind);
}

static const struct replay *replay(void)
{
	static struct replay r;

	if (!r.reads[0])
		replay_run(&r, SCALE, seed);
	return &r;
}

static bool at_most(const char *what, double value, double limit)
{
	printf("# %s: %+.1f %%, at most %+.1f %%\n", what, 100 * value, 100 * limit);
	return expect(value <= limit, "%s: %+.1f %%", what, 100 * value);
}

static bool test_mean(void)
{
	return at_most("misses against LRU", replay_mean(replay(), REPLAY_KINDS, OURS), -.06);
}

static bool test_skewed(void)
{
	return at_most("misses against LRU where some blocks are popular",
		       replay_mean(replay(), SKEWED, OURS), -.095);
}

static bool test_worst(void)
{
	return at_most("worst cell against LRU", replay_worst(replay(), OURS), .06);
}

static bool test_clock(void)
{
	return at_most("misses against LRU, where CLOCK has more",
		       replay_mean(replay(), REPLAY_KINDS, OURS),
		       replay_mean(replay(), REPLAY_KINDS, CLOCK) - .03);
}

/* Adapting must cost little where 10 % are right, and improve the worst cases. */
static bool test_fixed(void)
{
	const struct replay *r = replay();

	return at_most("misses against LRU, beside 10 %", replay_mean(r, REPLAY_KINDS, OURS),
		       replay_mean(r, REPLAY_KINDS, FIXED) + .002) &
	       at_most("worst cell against LRU, beside 10 %", replay_worst(r, OURS),
		       replay_worst(r, FIXED) - .05);
}

const struct test tests[] = {
	{ "order", test_order },
	{ "full", test_full },
	{ "ghost", test_ghost },
	{ "scan", test_scan },
	{ "adapt", test_adapt },
	{ "patience", test_patience },
	{ "remove", test_remove },
	{ "replace", test_replace },
	{ "resize", test_resize },
	{ "spread", test_spread },
	{ "bytes", test_bytes },
	{ "no-memory", test_no_memory },
	{ "random", test_random },
	{ "references", test_references },
	{ "traces", test_traces },
	{ "gate-mean", test_mean },
	{ "gate-skewed", test_skewed },
	{ "gate-worst", test_worst },
	{ "gate-clock", test_clock },
	{ "gate-fixed", test_fixed },
	{ 0 }
};
