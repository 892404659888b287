// SPDX-License-Identifier: GPL-2.0-only
/*
 * The estimate of a recovery's time: not less than the measurements in docs/benchmarks.md, and not
 * many times more.
 */
#include "kvpool_kunit.h"

#include "policy/estimate.c"

#define GIB	(1ull << 18)	/* blocks */
#define MIB	(1ull << 8)
#define SSD_US	KVP_READ_SSD_US

struct work {
	const char *name;
	struct kvp_recovery_work w;
	u64 least, most;	/* ms */
};

static const struct work works[] = {
	/* 2.2 s with commits of a block each, otherwise 0.7 s */
	{ "a cache that keeps its log", { GIB, .stays = true, .by_headers = true, .read_us = SSD_US, .home_rotates = true },
	  2200, 4400 },
	{ "the largest window",
	  { 64 * GIB, .stays = true, .by_headers = true, .read_us = SSD_US, .home_rotates = true },
	  64 * 2200, 64 * 4400 },
	/* all is verified: 8.9 us a block */
	{ "a cache in full stripes", { GIB, .stays = true, .read_us = SSD_US, .home_rotates = true }, 2330, 4660 },
	{ "a cache of disks", { GIB, .stays = true, .by_headers = true, .read_us = SSD_US, .log_rotates = true },
	  10000, 11000 },
	/* plus the homes of 512 MiB at 100 MB/s */
	{ "a stream went home", { GIB, GIB / 2, .stays = true, .by_headers = true, .read_us = SSD_US }, 7400, 10000 },
	/* read three times, and every block written home alone */
	{ "no generation is left", { GIB, .by_headers = true, .read_us = SSD_US, .home_rotates = true },
	  1310000, 1330000 },
	{ "no generation is left, before SSDs", { GIB, .by_headers = true, .read_us = SSD_US }, 12000, 24000 },
	/* the data written home depends on the legs with data, not on the number of SSDs */
	{ "parity1 behind a cache", { GIB, .row_legs = 3, .read_us = SSD_US, .home_rotates = true }, 3932000, 3950000 },
	{ "parity1 of SSDs behind a cache", { GIB, .row_legs = 3, .read_us = SSD_US }, 39000, 41000 },
	{ "a log on disks", { 64 * MIB, .log_rotates = true, .home_rotates = true }, 82000, 84000 },
	{ "a log on SSDs", { 64 * MIB }, 1900, 2000 },
	{ "a log on a parity1 of disks", { 64 * MIB, .row_legs = 6, .log_rotates = true, .home_rotates = true },
	  491000, 500000 },
	/* 32 Ki rows of 64 Ki blocks are in stripes that discards cut: the least is two reads */
	{ "discards that cut stripes",
	  { 256 * MIB, .row_legs = 4, .read_us = SSD_US, .home_rotates = true },
	  32768 * 4 * 2 * 5, 1330000 },
	/* 2 GiB of table pages in sequence. */
	{ "discards of all of a TiB", { 0, 0, GIB * 2 }, 20000, 22000 },
	{ "nothing", { 0 }, 0, 0 },
};
KUNIT_ARRAY_PARAM_DESC(work, works, name);

static void it_is_neither_too_short_nor_absurd(struct kunit *test)
{
	const struct work *t = test->param_value;
	u64 ms = kvp_recovery_worst_ms(&t->w);

	KUNIT_EXPECT_GE(test, ms, t->least);
	KUNIT_EXPECT_LE(test, ms, t->most);
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(it_is_neither_too_short_nor_absurd, work_gen_params),
	{}
};

static struct kunit_suite suite = {
	.name = "kvpool_estimate",
	.test_cases = cases,
};
kunit_test_suite(suite);
