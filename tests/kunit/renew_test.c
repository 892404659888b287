// SPDX-License-Identifier: GPL-2.0-only
/* Renewal: what it writes to SSDs, in a model of a log whose blocks are overwritten at random. */
#include "kvpool_kunit.h"
#include "format/tunables.h"
#include "policy/renew.c"
#include "policy/throttle.h"

#define WINDOW	4096u
#define SEGMENT	64u
#define PARTS	4u	/* of a step, as log/renew.c */
#define ENTRY	32u	/* users' writes in an entry: as many as wait at a time */
#define BATCH	64u	/* renewed blocks in one */
#define ROUNDS	40u

struct model {
	u64 at[WINDOW];		/* where the newest version of a block lies */
	u32 block[WINDOW];	/* of what lies there, by lsn */
	u64 head, tail, looked, written, renewed, most;
	u32 live, seed, scale;	/* the policy sees a window of so many times WINDOW blocks */
};

static u32 any_below(struct model *m, u32 n)
{
	m->seed = m->seed * 1664525u + 1013904223u;
	return (m->seed >> 8) % n;
}

/* @n: of the blocks that come together; each so many have a header. */
static void append(struct model *m, u32 block, u64 n, u32 entry)
{
	if (!(n % entry))
		m->block[m->head++ % WINDOW] = ~0u;
	m->block[m->head % WINDOW] = block;
	m->at[block] = m->head++;
	m->most = max(m->most, m->head - m->tail);
}

static u64 model_step(const struct model *m)
{
	return div_u64(kvp_renew_step((u64)WINDOW * m->scale, SEGMENT), m->scale);
}

/* What the destage worker does when it is due; the tail frees whole segments. */
static void renew(struct model *m)
{
	u64 span = div_u64(kvp_renew_span((u64)WINDOW * m->scale, SEGMENT,
					  (u64)m->live * m->scale), m->scale);
	u64 below, lsn, n = 0;

	if (m->head < span + m->looked + model_step(m) / PARTS)
		return;
	below = m->head - span;
	for (lsn = m->looked; lsn < below; lsn++) {
		u32 block = m->block[lsn % WINDOW];

		if (block == ~0u || m->at[block] != lsn)
			continue;
		append(m, block, n++, BATCH);
	}
	m->renewed += n;
	m->looked = below;
	if (below - m->tail >= model_step(m))
		m->tail = below - below % max(SEGMENT / m->scale, 1u);
}

static void overwrite_at_random(struct kunit *test, struct model *m, u32 mark, u32 scale)
{
	u64 end;
	u32 i;

	m->seed = 1;
	m->scale = scale;
	m->live = WINDOW * mark / 100;
	for (i = 0; i < m->live; i++)
		append(m, i, i, ENTRY);
	KUNIT_ASSERT_TRUE(test, kvp_renew_pays(WINDOW, mark, m->live));
	/* Two rounds until it is steady. */
	for (end = 2 * WINDOW; m->head < ROUNDS * WINDOW;) {
		if (m->head >= end) {
			m->written = m->renewed = 0;
			end = ~0ull;
		}
		append(m, any_below(m, m->live), m->written++, ENTRY);
		renew(m);
	}
}

/* Hundredths of a block, for each block that users wrote. */
static u64 amplification(struct kunit *test, u32 mark, u32 scale)
{
	struct model *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, m);
	overwrite_at_random(test, m, mark, scale);
	KUNIT_EXPECT_GT(test, m->renewed, 0ull);
	KUNIT_EXPECT_LE(test, m->most, (u64)WINDOW - max(SEGMENT / scale, 1u));
	return div64_u64(100 * (m->written + m->renewed), m->written);
}

/* Users' blocks and renewed ones, at the mark, where it is most. */
static void the_default_mark_writes_each_block_at_most_two_and_a_half_times(struct kunit *test)
{
	u32 mark = (u32)kvp_tunables[KVP_T_RENEW_MARK].def;

	KUNIT_ASSERT_GT(test, mark, 0u);
	KUNIT_EXPECT_LE(test, amplification(test, mark, 1), 250ull);
}

/* A window of 4 GiB, and one of 64 GiB: there a step of the tail is a smaller part of it. */
static void a_large_window_is_renewed_later(struct kunit *test)
{
	u32 mark = (u32)kvp_tunables[KVP_T_RENEW_MARK].def;
	u64 window;

	KUNIT_EXPECT_GE(test, amplification(test, mark, 256), 200ull);
	KUNIT_EXPECT_LE(test, amplification(test, mark, 4096), 180ull);
	/* No step is shorter than 256 MiB for that. */
	for (window = 1ull << 14; window <= 1ull << 30; window += window / 8) {
		u64 step = kvp_renew_step(window, SEGMENT);

		KUNIT_EXPECT_GE(test, step, min(window / 16, 1ull << 16));
		KUNIT_EXPECT_LE(test, step, window / 16);
	}
}

static void a_higher_mark_writes_more(struct kunit *test)
{
	u64 half = amplification(test, 50, 1), more = amplification(test, 60, 1);

	KUNIT_EXPECT_GT(test, half, 100ull);
	KUNIT_EXPECT_LT(test, half, more);
	KUNIT_EXPECT_LT(test, more, amplification(test, 70, 1));
}

/* A tenth above the mark, where writers are slowed down, but not above 66 per cent. */
static void little_is_renewed_above_the_mark_and_nothing_without_one(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, kvp_renew_pays(1000, 60, 660));
	KUNIT_EXPECT_FALSE(test, kvp_renew_pays(1000, 60, 661));
	KUNIT_EXPECT_TRUE(test, kvp_renew_pays(1000, 20, 220));
	KUNIT_EXPECT_FALSE(test, kvp_renew_pays(1000, 20, 221));
	KUNIT_EXPECT_TRUE(test, kvp_renew_pays(1000, 70, 700));
	KUNIT_EXPECT_FALSE(test, kvp_renew_pays(1000, 70, 701));
	KUNIT_EXPECT_FALSE(test, kvp_renew_pays(1000, 0, 0));
}

/* Of a log of 10000 blocks, by a window of 1000. */
static u64 fullness(u32 mark, u64 live)
{
	return kvp_renew_fullness(1000, mark, live, 10000);
}

/* Step by step, to the rate of destage where renewals end. */
static void writers_are_slowed_down_from_the_mark_on(struct kunit *test)
{
	u32 mark, live;

	for (mark = 10; mark < 65; mark += 5) {
		u64 at = 10 * mark, end = at;

		while (kvp_renew_pays(1000, mark, end + 1))
			end++;
		KUNIT_EXPECT_FALSE(test, kvp_throttle_slows(10000, fullness(mark, at)));
		KUNIT_EXPECT_TRUE(test, kvp_throttle_slows(10000, fullness(mark, at + 1)));
		KUNIT_EXPECT_EQ(test, kvp_throttle_rate(10000, fullness(mark, end), 500), 500ull);
		for (live = 1; live <= end; live++)
			KUNIT_EXPECT_LE(test, fullness(mark, live - 1), fullness(mark, live));
	}
}

static void streams_pass_from_the_mark_until_a_third_of_it(struct kunit *test)
{
	bool passes = false;
	u32 live;

	for (live = 0; live < 610; live++) {
		passes = kvp_renew_passes(passes, 10000, fullness(60, live));
		KUNIT_EXPECT_EQ(test, passes, live > 600);
	}
	while (live--) {
		passes = kvp_renew_passes(passes, 10000, fullness(60, live));
		KUNIT_EXPECT_EQ(test, passes, live > 200);
	}
}

static void a_window_of_few_segments_keeps_nothing(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, kvp_renew_reserve(5 * SEGMENT, SEGMENT), 0ull);
	KUNIT_EXPECT_EQ(test, kvp_renew_reserve(6 * SEGMENT, SEGMENT), (u64)SEGMENT + SEGMENT / 4);
}

/* Else no block that was read would enter a log that has come round. */
static void clean_blocks_enter_while_blocks_are_renewed(struct kunit *test)
{
	u64 window;

	for (window = 16 * SEGMENT; window <= 1024 * SEGMENT; window *= 4) {
		u64 clean = kvp_renew_clean(window, SEGMENT);
		u64 users = window - SEGMENT - kvp_renew_reserve(window, SEGMENT);

		KUNIT_EXPECT_GT(test, clean,
				kvp_renew_span(window, SEGMENT, window / 2) + window / 64);
		KUNIT_EXPECT_LE(test, clean + window / 16, users);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(the_default_mark_writes_each_block_at_most_two_and_a_half_times),
	KUNIT_CASE(a_large_window_is_renewed_later),
	KUNIT_CASE(a_higher_mark_writes_more),
	KUNIT_CASE(little_is_renewed_above_the_mark_and_nothing_without_one),
	KUNIT_CASE(writers_are_slowed_down_from_the_mark_on),
	KUNIT_CASE(streams_pass_from_the_mark_until_a_third_of_it),
	KUNIT_CASE(a_window_of_few_segments_keeps_nothing),
	KUNIT_CASE(clean_blocks_enter_while_blocks_are_renewed),
	{}
};

static struct kunit_suite suite = {
	.name = "kvpool_renew",
	.test_cases = cases,
};
kunit_test_suite(suite);
