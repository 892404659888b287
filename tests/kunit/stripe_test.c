// SPDX-License-Identifier: GPL-2.0-only
/* Parity1: the place of requests on the legs. layout_test.c includes the source. */
#include <linux/bitmap.h>

#include "kvpool_kunit.h"
#include "format/stripe.h"

#define EXAMPLE_LEGS	5
#define EXAMPLE_ROWS	7
#define MOST_ROWS	512

static const char * const example[EXAMPLE_ROWS] = {
	"P0 D0 D2 D4 D6", "P1 D1 D3 D5 D7", "P0 D0 D1 D2 P0", "D0 D1 D2 P0 D0",
	"D1 P0 D0 D3 D6", "D8 P1 D1 D4 D7", "D9 P2 D2 D5 --",
};

static const struct {
	u64 offset;
	u32 blocks;
} requests[] = { { 0, 8 }, { 10, 3 }, { 14, 3 }, { 18, 2 }, { 21, 10 } };

static void draw(struct kunit *test, char rows[EXAMPLE_ROWS][EXAMPLE_LEGS * 3],
		 const struct kvp_piece *p, char kind)
{
	u32 i;

	for (i = 0; i < p->blocks; i++) {
		KUNIT_ASSERT_LT(test, p->leg, EXAMPLE_LEGS);
		KUNIT_ASSERT_LT(test, p->block + i, EXAMPLE_ROWS);
		rows[p->block + i][3 * p->leg] = kind;
		rows[p->block + i][3 * p->leg + 1] = '0' + i + (kind == 'D' ? p->first : 0);
	}
}

static void the_example_is_as_drawn(struct kunit *test)
{
	char rows[EXAMPLE_ROWS][EXAMPLE_LEGS * 3];
	struct kvp_piece p;
	u32 i, piece;

	for (i = 0; i < EXAMPLE_ROWS; i++)
		memcpy(rows[i], "-- -- -- -- --", sizeof(rows[i]));
	for (i = 0; i < ARRAY_SIZE(requests); i++)
		for (piece = 0; piece < EXAMPLE_LEGS; piece++) {
			kvp_stripe_piece(EXAMPLE_LEGS, requests[i].offset, requests[i].blocks,
					 piece, &p);
			draw(test, rows, &p, piece ? 'D' : 'P');
		}
	for (i = 0; i < EXAMPLE_ROWS; i++)
		KUNIT_EXPECT_STREQ(test, rows[i], example[i]);
}

/* Legs from the fewest to the most. */
static const void *gen_legs(const void *prev, char *desc)
{
	unsigned long n = prev ? (unsigned long)prev + 1 : KVP_STRIPE_MIN_LEGS;

	if (n > KVP_STRIPE_MAX_LEGS)
		return NULL;
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%lu legs", n);
	return (void *)n;
}

static u32 take(struct kunit *test, unsigned long *taken, u32 legs, const struct kvp_piece *p)
{
	u32 i;

	KUNIT_ASSERT_LT(test, p->leg, legs);
	KUNIT_ASSERT_LE(test, p->block + p->blocks, MOST_ROWS);
	for (i = 0; i < p->blocks; i++)
		KUNIT_EXPECT_FALSE(test, __test_and_set_bit((p->block + i) * legs + p->leg, taken));
	return p->blocks;
}

/* In sequence the requests fill the legs without gaps; parity is never on a leg with its data. */
static void every_block_is_taken_once(struct kunit *test)
{
	u32 legs = (unsigned long)test->param_value, blocks, piece, got;
	unsigned long *taken = kunit_kzalloc(test, BITS_TO_LONGS(MOST_ROWS * legs) * sizeof(long),
					     GFP_KERNEL);
	struct kvp_piece p, parity;
	u64 offset = 0;

	KUNIT_ASSERT_NOT_NULL(test, taken);
	for (blocks = 1; offset + 4 * blocks < (MOST_ROWS - 8) * legs; blocks += 3) {
		kvp_stripe_piece(legs, offset, blocks, 0, &parity);
		got = take(test, taken, legs, &parity);
		KUNIT_EXPECT_EQ(test, got, DIV_ROUND_UP(blocks, legs - 1));
		for (piece = 1; piece < legs; piece++) {
			kvp_stripe_piece(legs, offset, blocks, piece, &p);
			KUNIT_EXPECT_NE(test, p.leg, parity.leg);
			KUNIT_EXPECT_LE(test, p.blocks, parity.blocks);
			got += take(test, taken, legs, &p);
		}
		KUNIT_EXPECT_EQ(test, got, kvp_stripe_request_size(legs, blocks));
		KUNIT_EXPECT_EQ(test, got, blocks + DIV_ROUND_UP(blocks, legs - 1));
		offset += got;
	}
	KUNIT_EXPECT_EQ(test, find_first_zero_bit(taken, MOST_ROWS * legs), offset);
	KUNIT_EXPECT_EQ(test, bitmap_weight(taken, MOST_ROWS * legs), offset);
}

/* At home every leg has each piece of a stripe in rotation. */
static void parity_goes_round_at_home(struct kunit *test)
{
	u32 legs = (unsigned long)test->param_value, stripe, piece, seen;
	struct kvp_piece p;

	for (stripe = 0; stripe < 2 * legs; stripe++) {
		for (piece = 0, seen = 0; piece < legs; piece++) {
			kvp_stripe_home(legs, 16, stripe, piece, &p);
			KUNIT_EXPECT_EQ(test, p.block, stripe * 16ull);
			KUNIT_EXPECT_EQ(test, p.blocks, 16);
			KUNIT_EXPECT_EQ(test, kvp_stripe_piece_on(legs, stripe, p.leg), piece);
			seen |= 1u << p.leg;
			if (!piece)
				KUNIT_EXPECT_EQ(test, p.leg, stripe % legs);
		}
		KUNIT_EXPECT_EQ(test, seen, (1u << legs) - 1);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(the_example_is_as_drawn),
	KUNIT_CASE_PARAM(every_block_is_taken_once, gen_legs),
	KUNIT_CASE_PARAM(parity_goes_round_at_home, gen_legs),
	{}
};

static struct kunit_suite suite = {
	.name = "kvpool_stripe",
	.test_cases = cases,
};
kunit_test_suite(suite);
