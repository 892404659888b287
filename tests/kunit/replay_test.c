// SPDX-License-Identifier: GPL-2.0-only
/* Replay planning: the record of the log that counts for a block. */
#include <linux/slab.h>
#include <linux/xarray.h>

#include "kvpool_kunit.h"

/* Number of allocations that still succeed; negative: all. */
static int allocations_left = -1;

static bool may_allocate(void)
{
	if (allocations_left < 0)
		return true;
	return allocations_left && allocations_left--;
}

#undef kmalloc
#define kmalloc(bytes, gfp) \
	(may_allocate() ? kmalloc_array(1, bytes, gfp) : NULL)
#define xa_store(xa, index, entry, gfp) \
	(may_allocate() ? xa_store(xa, index, entry, gfp) : XA_ERROR(-ENOMEM))

#include "policy/replay.c"

static int make_replay(struct kunit *test)
{
	struct kvp_replay *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, r);
	kvp_replay_init(r);
	allocations_left = -1;
	test->priv = r;
	return 0;
}

static void drop_replay(struct kunit *test)
{
	allocations_left = -1;
	if (test->priv)
		kvp_replay_exit(test->priv);
}

static int add(struct kvp_replay *r, unsigned int kind, u64 block, u32 count, u64 lsn)
{
	struct kvp_rec rec = { .block = block, .count = count, .crc = (u32)lsn, .kind = kind };

	return kvp_replay_add(r, &rec, (struct kvp_log_at){ .lsn = lsn },
			      kind == KVP_REC_DATA ? lsn + 1 : 0, 0);
}

/* Records of block 5 at lsn 10, 20, ..., and the remaining chain, newest first. */
struct history {
	const char *name;
	const char *records;	/* d: data, i: intent, x: discard of 5, o: of its neighbours */
	const char *chain;	/* lsn / 10 of each link */
};

static const struct history histories[] = {
	{ "nothing", "", "" },
	{ "one data", "d", "1" },
	{ "one intent", "i", "1" },
	{ "newer data wins", "dd", "2" },
	{ "the newest of many", "ddddd", "5" },
	{ "an intent keeps what was before", "di", "21" },
	{ "intents make a chain", "dii", "321" },
	{ "a chain without data", "iii", "321" },
	{ "data ends a chain", "diid", "4" },
	{ "data in the middle", "idi", "32" },
	{ "a discard forgets data", "dx", "" },
	{ "a discard forgets a chain", "diix", "" },
	{ "data after a discard", "dxd", "3" },
	{ "an intent after a discard", "dxi", "3" },
	{ "a discard of nothing", "x", "" },
	{ "discards of neighbours", "dioo", "21" },
};
KUNIT_ARRAY_PARAM_DESC(history, histories, name);

static int add_history(struct kvp_replay *r, const char *records)
{
	u64 lsn;
	int ret = 0;

	for (lsn = 10; *records && !ret; records++, lsn += 10) {
		switch (*records) {
		case 'd':
			ret = add(r, KVP_REC_DATA, 5, 1, lsn);
			break;
		case 'i':
			ret = add(r, KVP_REC_INTENT, 5, 1, lsn);
			break;
		case 'x':
			ret = add(r, KVP_REC_DISCARD, 5, 1, lsn);
			break;
		case 'o':
			ret = add(r, KVP_REC_DISCARD, 0, 5, lsn) ?:
			      add(r, KVP_REC_DISCARD, 6, 1000, lsn);
			break;
		}
	}
	return ret;
}

static void the_right_records_are_left(struct kunit *test)
{
	const struct history *h = test->param_value;
	struct kvp_replay *r = test->priv;
	const struct kvp_replay_rec *rec;
	const char *link = h->chain;

	KUNIT_ASSERT_EQ(test, add_history(r, h->records), 0);
	for (rec = kvp_replay_newest(r, 5); rec && *link; rec = rec->older, link++) {
		KUNIT_EXPECT_EQ(test, rec->lsn, (u64)(*link - '0') * 10);
		KUNIT_EXPECT_EQ(test, rec->crc, rec->lsn);
	}
	KUNIT_EXPECT_NULL(test, rec);
	KUNIT_EXPECT_EQ(test, *link, 0);
}

static void a_record_keeps_kind_and_payload(struct kunit *test)
{
	struct kvp_replay *r = test->priv;
	const struct kvp_replay_rec *rec;

	KUNIT_ASSERT_EQ(test, add_history(r, "di"), 0);
	rec = kvp_replay_newest(r, 5);
	KUNIT_ASSERT_NOT_NULL(test, rec);
	KUNIT_EXPECT_EQ(test, rec->kind, KVP_REC_INTENT);
	KUNIT_EXPECT_EQ(test, rec->payload, 0);
	KUNIT_ASSERT_NOT_NULL(test, rec->older);
	KUNIT_EXPECT_EQ(test, rec->older->kind, KVP_REC_DATA);
	KUNIT_EXPECT_EQ(test, rec->older->payload, 11);
}

static void blocks_do_not_mix(struct kunit *test)
{
	static const u64 blocks[] = { 0, 1, 63, 64, 4095, 1ull << 32, (1ull << 48) - 1 };
	struct kvp_replay *r = test->priv;
	int i;

	for (i = 0; i < ARRAY_SIZE(blocks); i++)
		KUNIT_ASSERT_EQ(test, add(r, KVP_REC_DATA, blocks[i], 1, 100 + i), 0);
	for (i = 0; i < ARRAY_SIZE(blocks); i++) {
		struct kvp_replay_rec *rec = kvp_replay_newest(r, blocks[i]);

		KUNIT_ASSERT_NOT_NULL(test, rec);
		KUNIT_EXPECT_EQ(test, rec->lsn, 100 + i);
		KUNIT_EXPECT_NULL(test, rec->older);
	}
	KUNIT_EXPECT_NULL(test, kvp_replay_newest(r, 2));
	KUNIT_EXPECT_EQ(test, r->records, ARRAY_SIZE(blocks));
}

static void a_discard_forgets_its_range_only(struct kunit *test)
{
	struct kvp_replay *r = test->priv;
	u64 block;

	for (block = 0; block < 200; block++)
		KUNIT_ASSERT_EQ(test, add(r, KVP_REC_DATA, block, 1, 10), 0);
	KUNIT_ASSERT_EQ(test, add(r, KVP_REC_DISCARD, 60, 70, 20), 0);
	for (block = 0; block < 200; block++)
		KUNIT_EXPECT_EQ_MSG(test, !kvp_replay_newest(r, block), block >= 60 && block < 130,
				    "block %llu", block);
}

static void a_discard_of_everything_is_quick(struct kunit *test)
{
	struct kvp_replay *r = test->priv;

	KUNIT_ASSERT_EQ(test, add(r, KVP_REC_DATA, ~0u - 1, 1, 10), 0);
	KUNIT_ASSERT_EQ(test, add(r, KVP_REC_DATA, ~0u, 1, 10), 0);
	KUNIT_ASSERT_EQ(test, add(r, KVP_REC_DISCARD, 0, ~0u, 20), 0);
	KUNIT_EXPECT_NULL(test, kvp_replay_newest(r, ~0u - 1));
	KUNIT_EXPECT_NOT_NULL(test, kvp_replay_newest(r, ~0u));
}

static void discards_stay_in_order(struct kunit *test)
{
	static const struct { u64 block; u32 count; } ranges[] = {
		{ 50, 10 }, { 0, 1 }, { 55, 1 }, { 0, ~0u },
	};
	struct kvp_replay *r = test->priv;
	struct kvp_replay_discard *d;
	int i = 0;

	for (i = 0; i < ARRAY_SIZE(ranges); i++) {
		KUNIT_ASSERT_EQ(test, add(r, KVP_REC_DATA, 5, 1, 10), 0);
		KUNIT_ASSERT_EQ(test, add(r, KVP_REC_DISCARD, ranges[i].block, ranges[i].count, 20),
				0);
	}
	i = 0;
	list_for_each_entry(d, &r->discards, list) {
		KUNIT_ASSERT_LT(test, i, ARRAY_SIZE(ranges));
		KUNIT_EXPECT_EQ(test, d->block, ranges[i].block);
		KUNIT_EXPECT_EQ(test, kvp_block_since(d->end, d->block), ranges[i].count);
		i++;
	}
	KUNIT_EXPECT_EQ(test, i, ARRAY_SIZE(ranges));
}

static void resolve(struct kunit *test, u64 block, u32 count)
{
	struct kvp_rec rec = { .kind = KVP_REC_INTENT, .block = block, .count = count };

	KUNIT_ASSERT_EQ(test, kvp_replay_resolved(test->priv, &rec), 0);
}

/* What a resolved intent leaves of older discards: inside, at both ends, all of it, of two. */
static void resolved_intents_cut_discards(struct kunit *test)
{
	static const struct { u64 block, end; } left[] = {
		{ 11, 13 }, { 14, 18 }, { 34, 35 }, { 100, 101 },
	};
	struct kvp_replay *r = test->priv;
	struct kvp_replay_discard *d;
	int i = 0;

	KUNIT_ASSERT_EQ(test, add(r, KVP_REC_DISCARD, 10, 10, 10), 0);
	KUNIT_ASSERT_EQ(test, add(r, KVP_REC_DISCARD, 30, 5, 20), 0);
	KUNIT_ASSERT_EQ(test, add(r, KVP_REC_DISCARD, 28, 5, 30), 0);
	KUNIT_ASSERT_EQ(test, add(r, KVP_REC_DISCARD, 50, 1, 40), 0);
	KUNIT_ASSERT_EQ(test, add(r, KVP_REC_DATA, 50, 1, 50), 0);
	resolve(test, 10, 1);
	resolve(test, 13, 1);
	resolve(test, 18, 16);
	resolve(test, 50, 1);
	KUNIT_ASSERT_EQ(test, add(r, KVP_REC_DISCARD, 100, 1, 60), 0);
	resolve(test, 101, 1);
	KUNIT_EXPECT_NULL(test, kvp_replay_newest(r, 50));
	kvp_replay_join(r);
	list_for_each_entry(d, &r->discards, list) {
		KUNIT_ASSERT_LT(test, i, ARRAY_SIZE(left));
		KUNIT_EXPECT_EQ(test, d->block, left[i].block);
		KUNIT_EXPECT_EQ(test, d->end, left[i].end);
		i++;
	}
	KUNIT_EXPECT_EQ(test, i, ARRAY_SIZE(left));
}

/* In order of lsn, and only the newest record of each block. */
static void expect_list(struct kunit *test, const struct list_head *list, const u64 *lsns, int n)
{
	const struct kvp_replay_rec *rec;
	int i = 0;

	list_for_each_entry(rec, list, list) {
		KUNIT_ASSERT_LT(test, i, n);
		KUNIT_EXPECT_EQ(test, rec->lsn, lsns[i]);
		KUNIT_EXPECT_PTR_EQ(test, rec,
				    (const struct kvp_replay_rec *)
				    kvp_replay_newest(test->priv, rec->block));
		i++;
	}
	KUNIT_EXPECT_EQ(test, i, n);
}

static void what_is_newest_is_in_log_order(struct kunit *test)
{
	static const u64 data[] = { 30, 50 }, intents[] = { 60, 70 };
	struct kvp_replay *r = test->priv;

	KUNIT_ASSERT_EQ(test, add(r, KVP_REC_DATA, 9, 1, 10), 0);
	KUNIT_ASSERT_EQ(test, add(r, KVP_REC_DATA, 5, 1, 20), 0);
	KUNIT_ASSERT_EQ(test, add(r, KVP_REC_DATA, 8, 1, 30), 0);
	KUNIT_ASSERT_EQ(test, add(r, KVP_REC_DATA, 7, 1, 40), 0);
	KUNIT_ASSERT_EQ(test, add(r, KVP_REC_DATA, 9, 1, 50), 0);
	KUNIT_ASSERT_EQ(test, add(r, KVP_REC_INTENT, 7, 1, 60), 0);
	KUNIT_ASSERT_EQ(test, add(r, KVP_REC_INTENT, 3, 1, 70), 0);
	KUNIT_ASSERT_EQ(test, add(r, KVP_REC_DISCARD, 5, 1, 80), 0);
	expect_list(test, &r->data, data, ARRAY_SIZE(data));
	expect_list(test, &r->intents, intents, ARRAY_SIZE(intents));
}

struct shortage {
	const char *name;
	unsigned int kind;
	int succeed;		/* allocations before the one that fails */
};

static const struct shortage shortages[] = {
	{ "record of data", KVP_REC_DATA, 0 },
	{ "place of data", KVP_REC_DATA, 1 },
	{ "record of an intent", KVP_REC_INTENT, 0 },
	{ "place of an intent", KVP_REC_INTENT, 1 },
	{ "discard", KVP_REC_DISCARD, 0 },
};
KUNIT_ARRAY_PARAM_DESC(shortage, shortages, name);

/* KASAN and the scan for leaks notice memory that is freed twice or lost. */
static void without_memory_nothing_changes(struct kunit *test)
{
	const struct shortage *s = test->param_value;
	struct kvp_replay *r = test->priv;
	const struct kvp_replay_rec *rec;

	KUNIT_ASSERT_EQ(test, add_history(r, "di"), 0);
	allocations_left = s->succeed;
	KUNIT_EXPECT_EQ(test, add(r, s->kind, 5, 1, 30), -ENOMEM);
	rec = kvp_replay_newest(r, 5);
	KUNIT_ASSERT_NOT_NULL(test, rec);
	KUNIT_EXPECT_EQ(test, rec->lsn, 20);
	KUNIT_ASSERT_NOT_NULL(test, rec->older);
	KUNIT_EXPECT_EQ(test, rec->older->lsn, 10);
	KUNIT_EXPECT_TRUE(test, list_empty(&r->discards));
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(the_right_records_are_left, history_gen_params),
	KUNIT_CASE(a_record_keeps_kind_and_payload),
	KUNIT_CASE(blocks_do_not_mix),
	KUNIT_CASE(a_discard_forgets_its_range_only),
	KUNIT_CASE(a_discard_of_everything_is_quick),
	KUNIT_CASE(discards_stay_in_order),
	KUNIT_CASE(resolved_intents_cut_discards),
	KUNIT_CASE(what_is_newest_is_in_log_order),
	KUNIT_CASE_PARAM(without_memory_nothing_changes, shortage_gen_params),
	{}
};

static struct kunit_suite suite = {
	.name = "kvpool_replay",
	.init = make_replay,
	.exit = drop_replay,
	.test_cases = cases,
};
kunit_test_suite(suite);
