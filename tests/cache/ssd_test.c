// SPDX-License-Identifier: GPL-2.0-only
/* Admission to an SSD cache, reinsertion, and the rate of destage; and limits on their quality. */
#include <stdlib.h>
#include <string.h>

#include <linux/errno.h>
#include <linux/gfp.h>
#include <linux/kernel.h>

#include "policy/ssdpolicy.h"
#include "policy/throttle.h"
#include "policy/runs.h"
#include "ssd_replay.h"
#include "suite.h"
#include "trace.h"

#define CAPACITY	4000u
#define SEGMENT		40u
#define DAY		86400u
#define SCALE		1

static struct kvp_runs streams;

static bool note(u64 first, u32 blocks, bool write, u32 run)
{
	u32 got = kvp_run_note(&streams, first, blocks, write);

	return expect(got == run, "%u blocks at %llu: a run of %u, not %u", blocks, first, got, run);
}

/* --- streams ------------------------------------------------------------------------ */

static bool test_run(void)
{
	bool good = true;
	u32 i;

	kvp_runs_init(&streams);
	for (i = 0; i < 100; i++)
		good &= note(1000 + 8 * i, 8, false, 8 * (i + 1));
	good &= note(1800 + 32, 8, false, 808);		/* a gap of 32 blocks */
	good &= note(1840 + 33, 8, false, 8);		/* one block more is too much */
	good &= note(1881 - 4, 8, false, 12);		/* an overlap counts once */
	good &= note(1885 - 15, 4, false, 12);		/* late, and known already */
	good &= note(1885, 8, true, 8);			/* writes are runs of their own */
	good &= note(1885, 8, false, 20);
	/* the first stream continues in its place */
	good &= note(1840, 8, false, 816);
	good &= note(1862, 1, false, 817);		/* it is nearer than the second */
	good &= note(0, 8, false, 8) && note(8, ~0u, false, ~0u) && note(8ull + ~0u, 8, false, ~0u);
	return good;
}

/* Sets of runs have borders every 512 blocks. A stream does not feel them, on neither side. */
static bool test_border(void)
{
	bool good = true;
	u64 border;
	u32 i;

	kvp_runs_init(&streams);
	for (i = 0; i < 400; i++)
		good &= note(100 + 12 * i, 12, false, 12 * (i + 1));
	for (border = 1ull << 30; border < (1ull << 30) + 40 * 512; border += 2 * 512) {
		good &= note(border - 20, 10, true, 10);
		/* behind the border, the run before */
		good &= note(border + 15, 10, true, 20);
		good &= note(border - 5, 10, true, 20);		/* the other way round: late */
	}
	return good;
}

/* As many streams as fit, in turns. With one more, the oldest is forgotten. */
static bool test_runs_that(u32 wraps)
{
	bool good = true;
	u64 stream;
	u32 i;

	kvp_runs_init(&streams);
	atomic_set(&streams.clock, ~0u - 19 * KVP_RUNS - wraps);
	for (i = 0; i < 20; i++)
		for (stream = 0; stream < KVP_RUNS; stream++)
			good &= note(stream << 30 | 16 * i, 16, stream % 2, 16 * (i + 1));
	good &= note(~0ull >> 1, 16, false, 16);
	for (stream = 1; stream < KVP_RUNS; stream++)
		good &= note(stream << 30 | 320, 16, stream % 2, 336);
	good &= note(320, 16, false, 16);
	return good;
}

/* The clock wraps in the last round: in the middle, or early, between the sets' oldest. */
static bool test_runs(void)
{
	return test_runs_that(KVP_RUNS / 2) & test_runs_that(4);
}

/* A hot part of the device is no stream, however often it is read. */
static bool test_no_run(void)
{
	struct rng rng = { seed };
	u32 i, run, longest = 0;

	kvp_runs_init(&streams);
	for (i = 0; i < 100000; i++) {
		run = kvp_run_note(&streams, 5000 + rng_below(&rng, 200), 1, false);
		longest = max(longest, run);
	}
	return expect(longest < 256, "a run of %u blocks among 200", longest);
}

static bool test_bypass(void)
{
	static const struct {
		u32 ask, write, blocks, run, bypass;
	} cases[] = {
		{ 0, 0, 32, 256, 0 }, { 0, 0, 32, 257, 1 }, { 0, 1, 32, 257, 1 },
		{ KVP_ASK_META, 0, 32, 9999, 0 }, { KVP_ASK_META, 1, 32, 9999, 0 },
		{ KVP_ASK_AHEAD, 0, 32, 257, 1 },
		{ KVP_ASK_SYNC, 1, 16, 9999, 0 }, { KVP_ASK_SYNC, 1, 17, 9999, 1 },
		{ KVP_ASK_SYNC, 0, 1, 9999, 1 },
	};
	bool good = true, got;
	unsigned int i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		got = kvp_ssd_bypass(cases[i].ask, cases[i].write, cases[i].blocks, cases[i].run,
				     256);
		good &= expect(got == cases[i].bypass, "case %u: %d", i, got);
	}
	return good;
}

static bool test_cutoff(void)
{
	bool good = true;

	good &= expect(kvp_ssd_cutoff_write(0, false) == 1024, "4 MiB by itself");
	good &= expect(kvp_ssd_cutoff_write(0, true) == 64, "256 KiB where the disks are the limit");
	good &= expect(kvp_ssd_cutoff_write(256, false) == 256 &&
		       kvp_ssd_cutoff_write(256, true) == 256,
		       "what was set counts, whatever the load is");
	good &= expect(kvp_ssd_least_run(0, false) == 16, "64 KiB of a stream lie together");
	good &= expect(kvp_ssd_least_run(0, true) == 64, "256 KiB, where somebody waits");
	good &= expect(kvp_ssd_least_run(32, true) == 32, "no more than what was set");
	good &= expect(!kvp_ssd_stream_passes(256, 0, 1) && !kvp_ssd_stream_passes(256, 4, 4),
		       "few pieces of a stream go round what is cached");
	good &= expect(kvp_ssd_stream_passes(256, 5, 5) && kvp_ssd_stream_passes(256, 127, 90) &&
		       !kvp_ssd_stream_passes(256, 128, 90),
		       "many pieces pass it, unless half of the part is cached");
	good &= expect(!kvp_ssd_may_bypass(KVP_ASK_SYNC, true, 16) &&
		       kvp_ssd_may_bypass(KVP_ASK_SYNC, true, 17) &&
		       kvp_ssd_may_bypass(0, true, 1) &&
		       !kvp_ssd_may_bypass(KVP_ASK_META, true, 256),
		       "of what nothing is noted");
	return good;
}

/* --- admission ------------------------------------------------------------------------ */

static struct kvp_ssd_policy p;
static struct kvp_ssd_state st;

/* A full cache with a large budget. */
static bool make(u32 fill_percent)
{
	memset(&st, 0, sizeof(st));
	return expect(!kvp_ssd_init(&p, CAPACITY, SEGMENT, fill_percent, 0, seed, GFP_KERNEL),
		      "init");
}

static bool end(bool good)
{
	const char *wrong = kvp_ssd_check(&p);

	kvp_ssd_exit(&p);
	return expect(!wrong, "%s is wrong", wrong) && good;
}

static bool admit(u64 key, u32 ask, enum kvp_ssd_verdict verdict)
{
	enum kvp_ssd_verdict got = kvp_ssd_admit(&p, key, ask, &st);

	return expect(got == verdict, "block %llu: %d, not %d", key, got, verdict);
}

static bool test_room(void)
{
	bool good = make(100);
	u64 key;

	st.unused = CAPACITY / 5 + 1;
	for (key = 0; key < 100; key++)
		good &= admit(key, key % 2 ? KVP_ASK_AHEAD : 0, KVP_SSD_ADMIT);
	st.unused--;
	good &= admit(500, 0, KVP_SSD_UNPROVEN) && admit(501, KVP_ASK_AHEAD, KVP_SSD_AHEAD);
	return end(good);
}

/* Admitted at the third read. A block that was admitted must prove itself again. */
static bool test_sightings(void)
{
	bool good = make(100);
	u64 key;

	for (key = 1; key < 1ull << 43; key *= 2) {
		good &= admit(key, 0, KVP_SSD_UNPROVEN) && admit(key, 0, KVP_SSD_UNPROVEN);
		good &= admit(key, 0, KVP_SSD_ADMIT) && admit(key, 0, KVP_SSD_UNPROVEN);
	}
	p.need = 2;
	good &= admit(77, 0, KVP_SSD_UNPROVEN) && admit(77, 0, KVP_SSD_ADMIT);
	/* a read ahead is no evidence */
	for (key = 0; key < 9; key++)
		good &= admit(78, KVP_ASK_AHEAD, KVP_SSD_AHEAD);
	good &= admit(78, 0, KVP_SSD_UNPROVEN) && admit(78, 0, KVP_SSD_ADMIT);
	return end(good);
}

/* The ghost remembers three fifths as many blocks as the cache has, the latest ones. */
static bool test_ghost(void)
{
	u32 soon = 0, late = 0, wrong = 0, n = CAPACITY / 3;
	bool good = make(1000);
	u64 key;

	p.need = 2;
	for (key = 0; key < 4 * CAPACITY; key++)
		wrong += kvp_ssd_admit(&p, key, 0, &st) == KVP_SSD_ADMIT;
	good &= expect(wrong < 4 * CAPACITY / 50, "%u of %u new ones were known", wrong, 4 * CAPACITY);
	for (key = 4 * CAPACITY - 1; key >= 4 * CAPACITY - n; key--)
		soon += kvp_ssd_admit(&p, key, 0, &st) == KVP_SSD_ADMIT;
	good &= expect(soon > n * 95 / 100, "%u of %u were known", soon, n);
	for (key = 0; key < CAPACITY; key++)
		late += kvp_ssd_admit(&p, key, 0, &st) == KVP_SSD_ADMIT;
	good &= expect(late < CAPACITY / 50, "%u were known after so long", late);
	return end(good);
}

/* With the index: all memory that a cache takes for each of its blocks. */
static bool test_memory(void)
{
	static const u32 sizes[] = { 1u << 24, 1u << 26 };
	bool good = true;
	u64 bytes;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct kvp_ghost g;

		if (kvp_ghost_init(&g, sizes[i], 1, GFP_KERNEL))
			return false;
		bytes = kvp_index_bytes(sizes[i], sizes[i]) + kvp_ghost_bytes(&g);
		good &= expect(bytes <= 16ull * sizes[i], "%llu bytes for %u blocks",
			       (unsigned long long)bytes, sizes[i]);
		kvp_ghost_exit(&g);
	}
	return good;
}

static bool test_meta(void)
{
	bool good = make(100);

	good &= admit(1, KVP_ASK_META, KVP_SSD_ADMIT);
	good &= admit(2, KVP_ASK_META | KVP_ASK_AHEAD, KVP_SSD_ADMIT);
	st.count.meta = CAPACITY / 10 - 1;
	good &= admit(3, KVP_ASK_META, KVP_SSD_ADMIT);
	st.count.meta++;
	good &= admit(4, KVP_ASK_META, KVP_SSD_UNPROVEN);
	good &= admit(5, KVP_ASK_META | KVP_ASK_AHEAD, KVP_SSD_AHEAD);
	return end(good);
}

/* The number of admissions among @n blocks that may enter. */
static u32 fill(u32 n)
{
	u32 filled = 0;

	st.unused = CAPACITY;
	while (n--)
		filled += kvp_ssd_admit(&p, n, 0, &st) == KVP_SSD_ADMIT;
	st.unused = 0;
	return filled;
}

static bool filled(u32 asked, u32 limit)
{
	u32 n = fill(asked);

	return expect(n == limit, "%u of %u filled, not %u", n, asked, limit);
}

static bool test_budget(void)
{
	bool good = make(50);
	u32 n = 0, i;

	good &= filled(CAPACITY, CAPACITY / 2) && filled(10, 0);
	/* a block refused for lack of credit is not forgotten */
	good &= admit(~0u, 0, KVP_SSD_UNPROVEN) && admit(~0u, 0, KVP_SSD_UNPROVEN);
	good &= admit(~0u, 0, KVP_SSD_BUDGET) && admit(1, KVP_ASK_META, KVP_SSD_BUDGET);
	st.now += DAY / 10;
	good &= admit(~0u, 0, KVP_SSD_ADMIT) && filled(CAPACITY, CAPACITY / 20 - 1);
	/* no more than a day's credit is saved up */
	st.now += 5 * DAY;
	good &= filled(CAPACITY, CAPACITY / 2);
	/* unused credit is returned, once */
	kvp_ssd_refund(&p);
	kvp_ssd_refund(&p);
	good &= filled(10, 2);
	st.now += 5 * DAY;
	good &= filled(0, 0) && admit(1, KVP_ASK_META, KVP_SSD_ADMIT);
	kvp_ssd_refund(&p);
	kvp_ssd_refund(&p);
	good &= expect(!kvp_ssd_check(&p), "more than a day's") && filled(CAPACITY, CAPACITY / 2);
	/* A budget of a few blocks is not lost by rounding. */
	kvp_ssd_set_budget(&p, 1);
	for (i = 0; i < 3 * DAY; i++) {
		st.now++;
		n += fill(1);
	}
	good &= expect(n == 3 * CAPACITY / 100, "%u blocks in three days", n);
	kvp_ssd_set_budget(&p, 0);
	st.now += DAY;
	good &= filled(10, 0);
	kvp_ssd_exit(&p);
	/* The largest does not overflow. */
	good &= expect(!kvp_ssd_init(&p, 1u << 20, SEGMENT, KVP_SSD_MAX_FILL, 0, 1, GFP_KERNEL),
		       "init");
	p.capacity = KVP_INDEX_MAX_PLACES;
	p.credit = 0;
	st.now = 2 * DAY;
	good &= admit(1, KVP_ASK_META, KVP_SSD_ADMIT) &&
		expect(p.credit == (u64)DAY * KVP_SSD_MAX_FILL * p.capacity - 100 * DAY,
				       "a credit of %llu", p.credit);
	return end(good);
}

/*
 * The budget may change at any time. The credit never exceeds a day of the new budget, and there is
 * no debt.
 */
static bool test_budget_set(void)
{
	bool good = make(100);

	kvp_ssd_set_budget(&p, 10);
	good &= expect(!kvp_ssd_check(&p), "more than a day's of the lower one");
	/* the same credit as a new cache, although there was no request since */
	kvp_ssd_set_budget(&p, 50);
	good &= filled(CAPACITY, CAPACITY / 10);
	/* the new budget does not make up for earlier admissions */
	kvp_ssd_set_budget(&p, 10);
	good &= filled(10, 0);
	st.now += DAY / 10;
	good &= filled(CAPACITY, CAPACITY / 100);
	st.now += DAY / 10;
	kvp_ssd_set_budget(&p, 100);
	good &= filled(CAPACITY, CAPACITY / 10);
	/* returned credit is limited by a day's budget, too */
	kvp_ssd_set_budget(&p, 0);
	kvp_ssd_refund(&p);
	good &= expect(!kvp_ssd_check(&p), "more than none") && filled(10, 0);
	kvp_ssd_set_budget(&p, KVP_SSD_MAX_FILL);
	good &= expect(!kvp_ssd_check(&p), "a higher one") && filled(10, 0);
	st.now++;
	good &= filled(CAPACITY, CAPACITY * (KVP_SSD_MAX_FILL / 100) / DAY);
	return end(good);
}

/* --- reinsertion ---------------------------------------------------------------------- */

static struct kvp_index_entry e[SEGMENT];
static bool keep[SEGMENT];

static void fresh(void)
{
	u32 i;

	memset(e, 0, sizeof(e));
	for (i = 0; i < SEGMENT; i++)
		e[i].key = e[i].place = i;
}

static bool kept(u32 n, const char *which)
{
	char got[SEGMENT + 1] = "";
	u32 ret = kvp_ssd_reinsert(&p, e, strlen(which), &st, keep), i;

	for (i = 0; which[i]; i++)
		got[i] = keep[i] ? 'k' : '.';
	return expect(ret == n && !strcmp(got, which), "%u kept: %s, not %s", ret, got, which);
}

static bool test_reinsert(void)
{
	bool good = make(100);
	u32 i;

	fresh();
	good &= kept(0, "......") && kept(0, "");
	e[1].hits = e[4].hits = 1;
	good &= kept(2, ".k..k.");
	/* at most ten of forty: those with the most hits, then the first */
	for (i = 0; i < SEGMENT; i++)
		e[i].hits = i < 20 ? 1 : i < 24 ? 3 : 2;
	good &= kept(10, "....................kkkkkkkkkk..........");
	for (i = 20; i < SEGMENT; i++)
		e[i].hits = i < 24 ? 3 : 0;
	good &= kept(10, "kkkkkk..............kkkk................");
	return end(good);
}

/* The cache has the only copy of dirty blocks. */
static bool test_dirty_stays(void)
{
	bool good = make(100);
	u32 i;

	fresh();
	for (i = 0; i < SEGMENT; i++)
		e[i].dirty = true;
	good &= kept(SEGMENT, "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk");
	for (i = 0; i < 20; i++)
		e[i].dirty = false;
	e[7].hits = 1;
	good &= kept(21, ".......k............kkkkkkkkkkkkkkkkkkkk");
	return end(good);
}

static bool test_meta_stays(void)
{
	bool good = make(100);
	u32 i;

	fresh();
	for (i = 0; i < 20; i++)
		e[i].meta = true;
	e[30].hits = 1;
	st.count.meta = CAPACITY / 10;
	good &= kept(21, "kkkkkkkkkkkkkkkkkkkk..........k.........");
	/* more than a tenth: like others, if they were hit */
	st.count.meta++;
	good &= kept(1, "..............................k.........");
	e[3].hits = 1;
	good &= kept(2, "...k..........................k.........");
	return end(good);
}

/* Reclaims a large part of the cache, of which @hit of forty blocks were hit. */
static u32 need_after(u32 hit)
{
	u32 i, round;

	fresh();
	for (i = 0; i < hit; i++)
		e[i].hits = 1;
	for (round = 0; round < CAPACITY / 4 / SEGMENT; round++)
		kvp_ssd_reinsert(&p, e, SEGMENT, &st, keep);
	return p.need;
}

/* Where admitted blocks get hits, two reads suffice. */
static bool test_need(void)
{
	bool good = make(100);
	u32 i, before;

	good &= expect(p.need == 3 && need_after(11) == 3, "it begins with three");
	good &= expect(need_after(21) == 2, "half were hit");
	good &= expect(need_after(11) == 2, "between the two it stays as it is");
	good &= expect(need_after(10) == 3, "a quarter was hit");
	/* dirty blocks and metadata were not admitted in this way */
	fresh();
	before = p.left;
	for (i = 0; i < SEGMENT; i++) {
		e[i].dirty = i % 2;
		e[i].meta = !e[i].dirty;
		e[i].hits = 3;
	}
	kvp_ssd_reinsert(&p, e, SEGMENT, &st, keep);
	good &= expect(p.left == before, "%u were judged", p.left - before);
	return end(good);
}

/* --- the rate of destage -------------------------------------------------------------- */

static bool test_destage(void)
{
	u64 dirty, rate, last = 0, full = 1000;
	bool good = make(100);

	good &= expect(kvp_ssd_destage(CAPACITY, 0, 0, full) == 0, "nothing is dirty");
	for (dirty = 1; dirty <= CAPACITY; dirty++) {
		rate = kvp_ssd_destage(CAPACITY, 0, dirty, full);
		good &= expect(rate >= last && rate >= 1 && rate <= full, "%llu dirty: %llu", dirty,
			       rate);
		good &= expect(rate * 3600 >= CAPACITY, "an hour is not enough");
		last = rate;
	}
	good &= expect(kvp_ssd_destage(CAPACITY, 0, CAPACITY / 10, full) == 2, "a tenth is dirty");
	good &= expect(kvp_ssd_destage(CAPACITY, 0, CAPACITY * 3 / 10, full) == 500, "half the way");
	good &= expect(kvp_ssd_destage(CAPACITY, 0, CAPACITY / 2, full) == full, "half is dirty");
	good &= expect(kvp_ssd_destage(CAPACITY, 0, 1, 0) == 1, "no data vdev is that slow");
	good &= expect(kvp_ssd_destage(CAPACITY, 77, 1, full) == 77, "the floor that was set");
	good &= expect(kvp_ssd_destage(CAPACITY, 2 * full, 1, full) == full, "a floor above what can be");
	return end(good);
}

static bool test_accept(void)
{
	u64 dirty, rate, last = ~0ull, full = 10000;
	bool good = make(100);

	good &= expect(kvp_throttle_rate(CAPACITY, CAPACITY * 3 / 4, full) == ~0ull, "too early");
	for (dirty = CAPACITY * 3 / 4 + 1; dirty <= CAPACITY; dirty++) {
		rate = kvp_throttle_rate(CAPACITY, dirty, full);
		good &= expect(rate <= last, "%llu dirty: %llu, before that %llu", dirty, rate, last);
		/* smoothly: no step exceeds a hundredth of the vdevs' rate */
		good &= expect(last == ~0ull || last - rate <= full / 100, "a step of %llu", last - rate);
		last = rate;
	}
	good &= expect(kvp_throttle_rate(CAPACITY, CAPACITY * 3 / 4 + 1, full) < 5 * full / 2, "too late");
	good &= expect(kvp_throttle_rate(CAPACITY, CAPACITY * 9 / 10, full) == full, "nine tenths");
	good &= expect(!kvp_throttle_rate(CAPACITY, CAPACITY, full) &&
		       !kvp_throttle_rate(CAPACITY, CAPACITY + 1, full),
		       "nothing fits");
	return end(good);
}

/*
 * The blocks that the bucket admits in a second, asked every millisecond for @blocks, with no
 * larger request before. ~0 if a wait was longer than for these.
 */
static u64 taken(struct kvp_bucket *b, u64 *now, u32 blocks, u64 rate)
{
	u64 end = *now + 1000000000, n = 0, wait;

	for (; *now < end; *now += 1000000) {
		while (!(wait = kvp_bucket_take(b, *now, blocks, rate)) && n < 1000000)
			n += blocks;
		if (!expect(wait <= blocks * 1000000000ull / rate + 1, "%llu ns is too long", wait))
			return ~0ull;
	}
	return n;
}

/*
 * A rate that changes during a wait: half of the wait at the old rate, and half of the rest at the
 * new one.
 */
static bool test_pace_changes(void)
{
	u64 now = 5000000000, half = 8000000000, wait;
	struct kvp_bucket b = { .next = now };
	bool good = make(100);

	good &= expect(!kvp_bucket_take(&b, now, 256, 16), "no writer has gone before");
	now += half;
	wait = kvp_bucket_take(&b, now, 1, 16);
	good &= expect(wait == half, "%llu ns at the old pace", wait);
	wait = kvp_bucket_take(&b, now, 1, 16000);
	good &= expect(wait == half / 1000, "%llu ns at a faster pace", wait);
	now += wait / 2;
	wait = kvp_bucket_take(&b, now, 1, 16);
	good &= expect(wait == half / 2, "%llu ns at the slow one again", wait);
	now += wait - 1;
	good &= expect(kvp_bucket_take(&b, now, 1, 16) == 1, "just before the end");
	good &= expect(!kvp_bucket_take(&b, now + 1, 1, 16), "it has waited");
	/* the largest possible wait */
	b = (struct kvp_bucket){ .next = now };
	good &= expect(!kvp_bucket_take(&b, now, ~0u, 1), "the largest");
	wait = kvp_bucket_take(&b, now, 1, 1ull << 32);
	good &= expect(wait < 1000000000 && wait > 999999990, "%llu ns for the largest", wait);
	return end(good);
}

static bool test_take(void)
{
	struct kvp_bucket b = { 0 };
	u64 now = 5000000000, n;
	bool good = make(100);

	n = taken(&b, &now, 1, 250);
	good &= expect(n >= 249 && n <= 250 + 250 / 32 + 1, "%llu of 250", n);
	n = taken(&b, &now, 1, 20000);
	good &= expect(n >= 19900 && n <= 20100, "%llu of 20000", n);
	n = taken(&b, &now, 16, 20000);
	good &= expect(n >= 19900 && n <= 20100, "%llu of 20000, by sixteen", n);
	now += 3600 * 1000000000ull;
	n = taken(&b, &now, 1, 1000);
	good &= expect(n >= 1000 && n <= 1000 + 1000 / 32 + 1, "%llu of 1000 after an hour", n);
	return end(good);
}

/*
 * A cache under load for @seconds, in steps of a tenth. Returns the dirty part at the end. @least
 * receives the lowest rate accepted in a second of the second half.
 */
static double load(double dirty, double wanted, double full, u32 seconds, double *least)
{
	double in, out, accepted = 0;
	u32 i;

	*least = wanted;
	for (i = 0; i < 10 * seconds; i++) {
		in = kvp_throttle_rate(CAPACITY, dirty, full);
		in = (in > wanted ? wanted : in) / 10;
		out = kvp_ssd_destage(CAPACITY, 0, dirty, full) / 10.;
		dirty += in - (out > dirty ? dirty : out);
		accepted += in;
		if (i % 10 == 9) {
			if (i > 5 * seconds && accepted < *least)
				*least = accepted;
			accepted = 0;
		}
	}
	return dirty;
}

/*
 * A load within the data vdevs' rate is never slowed down. Above that the rate settles, and never
 * reaches zero.
 */
static bool test_load(void)
{
	bool good = make(100);
	double dirty, least;

	dirty = load(0, 90, 100, 3600, &least);
	good &= expect(dirty < CAPACITY / 2. && least > 89.9, "%.0f dirty, %.1f accepted", dirty, least);
	dirty = load(0, 400, 100, 3600, &least);
	good &= expect(dirty < CAPACITY * .92 && least > 95, "%.0f dirty, %.1f accepted", dirty, least);
	dirty = load(dirty, 0, 100, 3600, &least);
	good &= expect(dirty < 1, "%.1f dirty after an hour", dirty);
	return end(good);
}

static bool test_no_memory(void)
{
	bool good;

	memory_fail_at = 1;
	good = expect(kvp_ssd_init(&p, CAPACITY, SEGMENT, 100, 0, 1, GFP_KERNEL) == -ENOMEM, "memory");
	memory_fail_at = 0;
	kvp_ssd_exit(&p);
	good &= expect(kvp_ssd_init(&p, CAPACITY, 0, 100, 0, 1, GFP_KERNEL) == -EINVAL, "segment");
	good &= expect(kvp_ssd_init(&p, CAPACITY, CAPACITY + 1, 100, 0, 1, GFP_KERNEL) == -EINVAL,
		       "segment");
	good &= expect(kvp_ssd_init(&p, KVP_INDEX_MAX_PLACES + 1, 1, 100, 0, 1, GFP_KERNEL) ==
		       -EINVAL,
		       "capacity");
	good &= expect(kvp_ssd_init(&p, CAPACITY, 1, KVP_SSD_MAX_FILL + 1, 0, 1, GFP_KERNEL) ==
		       -EINVAL,
		       "budget");
	/* the largest one needs no more in one piece than kvmalloc() gives */
	good &= expect(!kvp_ssd_init(&p, KVP_INDEX_MAX_PLACES, SEGMENT, 100, 0, 1, GFP_KERNEL), "8 TiB");
	good &= expect(memory_bytes() < 1ull << 31, "%zu bytes", memory_bytes());
	kvp_ssd_exit(&p);
	good &= make(100) && expect(memory_bytes() <= 2 * CAPACITY, "%zu bytes", memory_bytes());
	return end(good);
}

/* --- beside others ------------------------------------------------------------------ */

static const struct ssd_replay *replay(void)
{
	static struct ssd_replay r;

	if (!r.cell[0][0][0].reads)
		ssd_replay_run(&r, SCALE, seed);
	return &r;
}

static bool at_most(const char *what, double value, double limit)
{
	printf("# %s: %+.1f %%, at most %+.1f %%\n", what, 100 * value, 100 * limit);
	return expect(value <= limit, "%s: %+.1f %%", what, 100 * value);
}

/* The index and the policies together never give a wrong answer. */
static bool test_whole(void)
{
	unsigned int kind, size;
	const struct ssd_cell *c;
	bool good = true;

	for (kind = 0; kind < SSD_KINDS; kind++)
		for (size = 0; size < SSD_SIZES; size++) {
			c = &replay()->cell[kind][size][SSD_OURS];
			good &= expect(!c->wrong, "%s, %u %%: %lu wrong answers", trace_kinds[kind],
				       ssd_percent[size], c->wrong);
			good &= expect(c->misses > 0 && c->misses <= c->reads, "misses");
		}
	return good;
}

static bool test_misses(void)
{
	return at_most("SSD: misses against FIFO", ssd_misses(replay(), SSD_OURS, SSD_FIFO), -.03) &
	       at_most("SSD: misses against LRU", ssd_misses(replay(), SSD_OURS, SSD_LRU), .01);
}

static bool test_written(void)
{
	return at_most("SSD: written against FIFO", ssd_wear(replay(), SSD_OURS, SSD_FIFO), -.68);
}

/* Copied blocks relative to written and admitted ones; the worst cell. */
static bool test_amplification(void)
{
	double mixed = 0, all = 0, x;
	const struct ssd_cell *c;
	unsigned int kind, size;

	for (kind = 0; kind < SSD_KINDS; kind++)
		for (size = 0; size < SSD_SIZES; size++) {
			c = &replay()->cell[kind][size][SSD_OURS];
			x = c->reinserted / (c->writes + c->fills);
			all = max(all, x);
			if (c->writes)
				mixed = max(mixed, x);
		}
	return at_most("SSD: copied, where there are writes", mixed, .25) &
	       at_most("SSD: copied, anywhere", all, .34) &
	       expect(mixed > .01, "nothing was copied");
}

const struct test tests[] = {
	{ "run", test_run },
	{ "border", test_border },
	{ "runs", test_runs },
	{ "no-run", test_no_run },
	{ "bypass", test_bypass },
	{ "cutoff", test_cutoff },
	{ "room", test_room },
	{ "sightings", test_sightings },
	{ "ghost", test_ghost },
	{ "memory", test_memory },
	{ "meta", test_meta },
	{ "budget", test_budget },
	{ "budget-set", test_budget_set },
	{ "reinsert", test_reinsert },
	{ "dirty-stays", test_dirty_stays },
	{ "meta-stays", test_meta_stays },
	{ "need", test_need },
	{ "destage", test_destage },
	{ "accept", test_accept },
	{ "take", test_take },
	{ "pace-changes", test_pace_changes },
	{ "load", test_load },
	{ "no-memory", test_no_memory },
	{ "gate-whole", test_whole },
	{ "gate-misses", test_misses },
	{ "gate-written", test_written },
	{ "gate-amplification", test_amplification },
	{ 0 }
};
