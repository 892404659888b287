// SPDX-License-Identifier: GPL-2.0-only
/* The packed set alone: records of versions, and about where they lie in the log. */
#include "kvpool_kunit.h"
#include "policy/packed.c"

#define MODEL		4096u		/* blocks of the model */
#define MANY		24000u		/* records; as many as a small log has dirty */
#define MOST_BYTES	24u		/* for a record, in the mean */

struct packed_test {
	struct kvp_packed p;
	struct kvp_packed_page *spare;
	u64 random;
	bool there[MODEL];
	u8 flags[MODEL];
	kvp_block_t blocks[MANY];
};

static int make_set(struct kunit *test)
{
	struct packed_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	kvp_packed_init(&t->p);
	t->random = 1;
	test->priv = t;
	return 0;
}

static void drop_set(struct kunit *test)
{
	struct packed_test *t = test->priv;

	if (!t)
		return;
	kvp_packed_clear(&t->p);
	kfree(t->spare);
}

static u64 next_random(struct packed_test *t)
{
	t->random = t->random * 6364136223846793005ull + 1442695040888963407ull;
	return t->random >> 20;
}

/* A record whose fields all follow from its block. */
static struct kvp_packed_rec record_of(kvp_block_t block)
{
	u32 n = (u32)kvp_block_nr(block) * 2654435761u;

	return (struct kvp_packed_rec){
		.block = block, .lsn = n, .crc = ~n, .payload = n & KVP_PACKED_MAX_PAYLOAD,
		.rec = n >> 8 & KVP_PACKED_MAX_REC, .row = (u8)(n >> 16),
	};
}

static bool add(struct packed_test *t, kvp_block_t block)
{
	struct kvp_packed_rec r = record_of(block);

	if (!t->spare)
		t->spare = kvp_packed_spare();
	return kvp_packed_add(&t->p, &r, &t->spare);
}

static void expect_record(struct kunit *test, const struct kvp_packed_rec *r, kvp_block_t block,
			  u8 flags)
{
	struct kvp_packed_rec right = record_of(block);

	KUNIT_ASSERT_EQ(test, kvp_block_nr(r->block), kvp_block_nr(block));
	KUNIT_ASSERT_EQ(test, r->lsn, right.lsn);
	KUNIT_ASSERT_EQ(test, r->crc, right.crc);
	KUNIT_ASSERT_EQ(test, r->payload, right.payload);
	KUNIT_ASSERT_EQ(test, r->rec, right.rec);
	KUNIT_ASSERT_EQ(test, r->row, right.row);
	KUNIT_ASSERT_EQ(test, r->flags, flags);
}

/* Half of the model lies behind 2^32, so it is in two groups of pages. */
static kvp_block_t model_block(u32 i)
{
	return i < MODEL / 2 ? kvp_block(3 * i) : kvp_block((1ull << 32) + i);
}

/* The walk meets all records of the model, in order, and no others. */
static void expect_model(struct kunit *test)
{
	struct packed_test *t = test->priv;
	kvp_block_t from = kvp_block(0);
	struct kvp_packed_rec r;
	u32 i;

	for (i = 0; i < MODEL; i++) {
		KUNIT_ASSERT_EQ(test, kvp_packed_find(&t->p, model_block(i), &r), t->there[i]);
		if (!t->there[i])
			continue;
		expect_record(test, &r, model_block(i), t->flags[i]);
		KUNIT_ASSERT_TRUE(test, kvp_packed_next(&t->p, from, &r));
		expect_record(test, &r, model_block(i), t->flags[i]);
		from = kvp_block_add(r.block, 1);
	}
	KUNIT_ASSERT_FALSE(test, kvp_packed_next(&t->p, from, &r));
}

static void supersede(struct kunit *test, u32 i)
{
	struct packed_test *t = test->priv;
	u8 flags = ~t->flags[i];
	bool first = !(t->flags[i] & KVP_PACKED_SUPERSEDED);

	KUNIT_ASSERT_EQ(test, kvp_packed_supersede(&t->p, model_block(i), &flags), first);
	if (first)
		KUNIT_ASSERT_EQ(test, flags, t->flags[i]);
	t->flags[i] |= KVP_PACKED_SUPERSEDED;
}

/* The new record differs from the old one in its marks alone. */
static void replace(struct kunit *test, u32 i)
{
	struct packed_test *t = test->priv;
	struct kvp_packed_rec r = record_of(model_block(i)), old;

	r.flags = next_random(t) % 16;
	KUNIT_ASSERT_TRUE(test, kvp_packed_replace(&t->p, &r, &old));
	expect_record(test, &old, model_block(i), t->flags[i]);
	t->flags[i] = r.flags;
}

/* Whatever page or slot was looked at last. */
static void expect_none(struct kunit *test, u32 i)
{
	struct packed_test *t = test->priv;
	struct kvp_packed_rec r = record_of(model_block(i)), found;
	u8 flags;

	KUNIT_ASSERT_FALSE(test, kvp_packed_find(&t->p, model_block(i), &found));
	KUNIT_ASSERT_FALSE(test, kvp_packed_replace(&t->p, &r, &found));
	KUNIT_ASSERT_FALSE(test, kvp_packed_supersede(&t->p, model_block(i), &flags));
}

static void step(struct kunit *test, u32 i)
{
	struct packed_test *t = test->priv;

	if (!t->there[i]) {
		KUNIT_ASSERT_TRUE(test, add(t, model_block(i)));
		t->there[i] = true;
		t->flags[i] = 0;
		return;
	}
	switch (next_random(t) % 6) {
	case 0:
		t->flags[i] |= 1 << next_random(t) % 4;
		kvp_packed_mark(&t->p, model_block(i), t->flags[i]);
		break;
	case 1:
		supersede(test, i);
		break;
	case 2:
		replace(test, i);
		break;
	default:
		KUNIT_ASSERT_FALSE(test, add(t, model_block(i)));
		kvp_packed_del(&t->p, model_block(i));
		t->there[i] = false;
		expect_none(test, i);
	}
}

static void it_is_as_the_model(struct kunit *test)
{
	struct packed_test *t = test->priv;
	u32 i, n;

	for (n = 0; n < 12; n++) {
		for (i = 0; i < 2000; i++)
			step(test, next_random(t) % MODEL);
		/* A stretch of neighbours, as destage takes them. */
		for (i = n * 300; n & 1 && i < n * 300 + 700; i++)
			step(test, i % MODEL);
		expect_model(test);
	}
	for (i = 0; i < MODEL; i++)
		if (t->there[i])
			kvp_packed_del(&t->p, model_block(i));
	KUNIT_EXPECT_EQ(test, t->p.nr, 0u);
	KUNIT_EXPECT_EQ(test, t->p.nr_pages, 0u);
}

static void a_record_that_finds_no_page_is_refused(struct kunit *test)
{
	struct packed_test *t = test->priv;
	struct kvp_packed_page *none = NULL;
	struct kvp_packed_rec r = record_of(kvp_block(9)), found;

	KUNIT_EXPECT_FALSE(test, kvp_packed_add(&t->p, &r, &none));
	KUNIT_EXPECT_FALSE(test, kvp_packed_find(&t->p, kvp_block(9), &found));
	KUNIT_EXPECT_EQ(test, t->p.nr, 0u);
}

/* --- memory ---------------------------------------------------------------------------------- */

static void expect_small(struct kunit *test)
{
	struct packed_test *t = test->priv;

	KUNIT_ASSERT_LE(test, t->p.nr_pages * (u64)KVP_PACKED_BYTES, (u64)t->p.nr * MOST_BYTES);
}

static void neighbours_fill_whole_pages(struct kunit *test)
{
	struct packed_test *t = test->priv;
	u32 i;

	for (i = 0; i < MANY; i++)
		KUNIT_ASSERT_TRUE(test, add(t, kvp_block(1000 + i)));
	KUNIT_EXPECT_EQ(test, t->p.nr_pages, DIV_ROUND_UP(MANY, KVP_PACKED_SLOTS));
}

/* At each size, from when there are some pages; and while blocks come and go. */
static void scattered_records_take_little(struct kunit *test)
{
	struct packed_test *t = test->priv;
	u32 i, k;

	for (i = 0; i < MANY; i++) {
		t->blocks[i] = kvp_block(next_random(t) % (1ull << 31));
		if (!add(t, t->blocks[i]))
			i--;
		else if (i > MANY / 8)
			expect_small(test);
	}
	for (k = 0; k < 2 * MANY; k++) {
		i = next_random(t) % MANY;
		kvp_packed_del(&t->p, t->blocks[i]);
		do
			t->blocks[i] = kvp_block(next_random(t) % (1ull << 31));
		while (!add(t, t->blocks[i]));
		expect_small(test);
	}
}

/* --- collecting ------------------------------------------------------------------------------ */

static void it_collects_the_oldest_and_the_marked(struct kunit *test)
{
	struct packed_test *t = test->priv;
	struct kvp_packed_query q = { .base = ~0u - 99, .span = 200, .flags = KVP_PACKED_PASSED };
	u32 i, n, sum = 0;

	/* The low half of the lsn overflows on the way. */
	for (i = 0; i < 2000; i++) {
		struct kvp_packed_rec r = { .block = kvp_block(7 * i), .lsn = ~0u - 99 + i };

		t->spare = t->spare ?: kvp_packed_spare();
		KUNIT_ASSERT_TRUE(test, kvp_packed_add(&t->p, &r, &t->spare));
	}
	kvp_packed_mark(&t->p, kvp_block(7 * 1999), KVP_PACKED_PASSED);
	do {
		n = kvp_packed_collect(&t->p, &q, t->blocks, 9);
		for (i = 0; i < n; i++, sum++)
			KUNIT_ASSERT_EQ(test, kvp_block_nr(t->blocks[i]),
					7ull * (sum < 200 ? sum : 1999));
	} while (q.more);
	KUNIT_EXPECT_EQ(test, sum, 201u);
}

/* --- places ---------------------------------------------------------------------------------- */

#define LIVE	3000u	/* records at a time */

static void no_record_lies_below_the_oldest_place(struct kunit *test)
{
	struct kvp_packed_places *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	struct packed_test *t = test->priv;
	u64 lsn = 1ull << 33, lsns[64] = { 0 };
	u32 i, k;

	KUNIT_ASSERT_NOT_NULL(test, s);
	kvp_packed_places_init(s);
	for (k = 0; k < LIVE; k++) {
		u64 *at = &lsns[next_random(t) % ARRAY_SIZE(lsns)], least = ~0ull;

		if (*at)
			kvp_packed_places_del(s, kvp_lsn(*at));
		lsn += next_random(t) % 90;
		*at = lsn;
		KUNIT_ASSERT_TRUE(test, kvp_packed_places_add(s, kvp_lsn(lsn)));
		for (i = 0; i < ARRAY_SIZE(lsns); i++)
			least = lsns[i] ? min(least, lsns[i]) : least;
		KUNIT_ASSERT_LE(test, kvp_lsn_nr(kvp_packed_places_oldest(s)), least);
		KUNIT_ASSERT_LT(test, least - kvp_lsn_nr(kvp_packed_places_oldest(s)),
				1ull << s->shift);
		KUNIT_ASSERT_GT(test, kvp_lsn_nr(kvp_packed_places_part(s, 1)), least);
		KUNIT_ASSERT_EQ(test, kvp_lsn_nr(kvp_packed_lsn(s->base, (u32)lsn)), lsn);
	}
	KUNIT_EXPECT_GT(test, s->shift, 0u);
	for (i = 0; i < ARRAY_SIZE(lsns); i++)
		if (lsns[i])
			kvp_packed_places_del(s, kvp_lsn(lsns[i]));
	KUNIT_EXPECT_EQ(test, s->nr, 0u);
	/* Begun anew, with exact places. */
	KUNIT_EXPECT_TRUE(test, kvp_packed_places_add(s, kvp_lsn(77)));
	KUNIT_EXPECT_EQ(test, kvp_lsn_nr(kvp_packed_places_oldest(s)), 77ull);
	KUNIT_EXPECT_FALSE(test, kvp_packed_places_add(s, kvp_lsn(76)));
	KUNIT_EXPECT_FALSE(test, kvp_packed_places_add(s, kvp_lsn(77 + (1ull << 31))));
}

static struct kunit_case packed_cases[] = {
	KUNIT_CASE(it_is_as_the_model),
	KUNIT_CASE(a_record_that_finds_no_page_is_refused),
	KUNIT_CASE(neighbours_fill_whole_pages),
	KUNIT_CASE(scattered_records_take_little),
	KUNIT_CASE(it_collects_the_oldest_and_the_marked),
	KUNIT_CASE(no_record_lies_below_the_oldest_place),
	{}
};

static struct kunit_suite packed_suite = {
	.name = "kvpool_packed",
	.init = make_set,
	.exit = drop_set,
	.test_cases = packed_cases,
};

kunit_test_suite(packed_suite);
