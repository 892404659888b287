// SPDX-License-Identifier: GPL-2.0-only
/* The ring of orders: which slot an order gets, and what counts of what lies on the legs. */
#include "kvpool_kunit.h"
#include "format/order_ring.c"

#define RINGS	2	/* of a pool, and what lies on one of its legs */

struct rings {
	struct kvp_order_ring r[RINGS];
	u8 uuid[16];
};

static int make_rings(struct kunit *test)
{
	struct rings *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, t);
	memset(t->uuid, 7, sizeof(t->uuid));
	for (i = 0; i < RINGS; i++) {
		t->r[i].slots = kvzalloc(KVP_ORDER_RING * sizeof(*t->r[i].slots), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, t->r[i].slots);
	}
	test->priv = t;
	return 0;
}

static void free_rings(struct kunit *test)
{
	struct rings *t = test->priv;
	u32 i;

	for (i = 0; t && i < RINGS; i++)
		kvfree(t->r[i].slots);
}

static struct kvp_disk_event make_order(const struct rings *t, u64 seq)
{
	struct kvp_disk_event e = { .seq = cpu_to_le64(seq), .text = "set key=strict value=1" };

	memcpy(e.pool_uuid, t->uuid, sizeof(e.pool_uuid));
	kvp_event_seal(&e);
	return e;
}

static void add(struct rings *t, u32 ring, u64 seq)
{
	struct kvp_disk_event e = make_order(t, seq);

	kvp_order_ring_add(&t->r[ring], &e);
}

/* The pool takes over all of ring 1. */
static void take_all(struct rings *t)
{
	u32 i;

	for (i = 0; i < KVP_ORDERS_BLOCKS; i++)
		kvp_order_ring_take(&t->r[0], i, t->r[1].slots + i * KVP_EVENTS_PER_BLOCK, t->uuid);
}

static u64 found(const struct rings *t, u64 from)
{
	const struct kvp_disk_event *e = kvp_order_ring_find(&t->r[0], from);

	return e ? le64_to_cpu(e->seq) : ~0ull;
}

static void the_oldest_go_first(struct kunit *test)
{
	struct rings *t = test->priv;
	u64 seq, n;

	KUNIT_EXPECT_EQ(test, found(t, 0), ~0ull);
	KUNIT_EXPECT_EQ(test, kvp_order_ring_next(&t->r[0]), 0);
	for (seq = 0; seq < 3 * (KVP_ORDER_RING + 5); seq += 3)
		add(t, 0, seq);
	KUNIT_EXPECT_EQ(test, kvp_order_ring_next(&t->r[0]), seq - 2);
	for (n = 0, seq = 0; found(t, seq) != ~0ull; seq = found(t, seq) + 1, n++)
		KUNIT_ASSERT_EQ(test, found(t, seq), 15 + 3 * n);
	KUNIT_EXPECT_EQ(test, n, KVP_ORDER_RING);
}

static void blocks_are_written_once(struct kunit *test)
{
	struct rings *t = test->priv;
	u64 seq;

	KUNIT_EXPECT_EQ(test, kvp_order_ring_unwritten(&t->r[0]), 0);
	for (seq = 0; seq < KVP_EVENTS_PER_BLOCK + 1; seq++)
		add(t, 0, seq);
	KUNIT_EXPECT_EQ(test, kvp_order_ring_unwritten(&t->r[0]), 3);
	KUNIT_EXPECT_EQ(test, kvp_order_ring_unwritten(&t->r[0]), 0);
	add(t, 0, seq);
	KUNIT_EXPECT_EQ(test, kvp_order_ring_unwritten(&t->r[0]), 2);
}

static void blank_blocks_are_rewritten_too(struct kunit *test)
{
	struct rings *t = test->priv;

	add(t, 0, 0);
	t->r[0].unread = 4;
	KUNIT_EXPECT_EQ(test, kvp_order_ring_known(&t->r[0]), ~4ull);
}

/* The legs are read one after the other: @a, @b, and what has to be written then. */
static u64 to_write(struct rings *t, const u64 *a, const u64 *b)
{
	u32 leg, i;

	t->r[0].unread = ~0ull;
	t->r[0].unwritten = 0;
	memset(t->r[0].slots, 0, KVP_ORDER_RING * sizeof(*t->r[0].slots));
	for (leg = 0; leg < 2; leg++) {
		for (i = 0; i < 2; i++) {
			u64 seq = leg ? b[i] : a[i];

			memset(&t->r[1].slots[i], 0, sizeof(*t->r[1].slots));
			if (seq)
				t->r[1].slots[i] = make_order(t, seq);
		}
		take_all(t);
	}
	return t->r[0].unwritten;
}

static void what_a_leg_lacks_is_written(struct kunit *test)
{
	static const u64 none[2], one[2] = { 5 }, two[2] = { 5, 6 }, newer[2] = { 9, 6 };
	struct rings *t = test->priv;

	KUNIT_EXPECT_EQ(test, to_write(t, none, none), 0);
	KUNIT_EXPECT_EQ(test, to_write(t, two, two), 0);
	KUNIT_EXPECT_EQ(test, to_write(t, none, one), 1);
	KUNIT_EXPECT_EQ(test, to_write(t, one, none), 1);
	KUNIT_EXPECT_EQ(test, to_write(t, one, two), 1);
	KUNIT_EXPECT_EQ(test, to_write(t, two, one), 1);
	KUNIT_EXPECT_EQ(test, to_write(t, newer, two), 1);
	KUNIT_EXPECT_EQ(test, to_write(t, two, newer), 1);
}

/* One leg could not read blocks 0 and 1. Another one has orders in block 0 only. */
static void what_one_leg_cannot_read(struct kunit *test)
{
	struct rings *t = test->priv;

	t->r[0].unread = ~0ull;
	add(t, 1, 5);
	take_all(t);
	kvp_order_ring_taken(&t->r[0], 3);
	KUNIT_EXPECT_EQ(test, t->r[0].unwritten, 1);
	KUNIT_EXPECT_EQ(test, t->r[0].unread, 2);
}

static void the_newest_of_a_slot_wins(struct kunit *test)
{
	struct rings *t = test->priv;

	add(t, 0, 40);
	add(t, 1, 41);
	add(t, 1, 42);
	take_all(t);
	KUNIT_EXPECT_EQ(test, found(t, 0), 41);
	KUNIT_EXPECT_EQ(test, found(t, 42), 42);
	t->r[1].slots[0] = make_order(t, 40);
	t->r[1].slots[1] = make_order(t, 0);
	take_all(t);
	KUNIT_EXPECT_EQ(test, found(t, 0), 41);
	KUNIT_EXPECT_EQ(test, found(t, 42), 42);
}

static void unread_blocks_are_left_alone(struct kunit *test)
{
	struct rings *t = test->priv;
	u64 seq;

	t->r[0].unread = ~0ull;
	add(t, 0, 1);
	KUNIT_EXPECT_EQ(test, found(t, 0), ~0ull);
	KUNIT_EXPECT_EQ(test, kvp_order_ring_unwritten(&t->r[0]), 0);
	take_all(t);
	KUNIT_EXPECT_EQ(test, t->r[0].unread, 0);
	t->r[0].unread = 2;
	for (seq = 0; seq < KVP_ORDER_RING; seq++)
		add(t, 0, seq);
	KUNIT_EXPECT_EQ(test, t->r[0].slots[KVP_EVENTS_PER_BLOCK].magic, 0);
	KUNIT_EXPECT_EQ(test, found(t, 0), KVP_EVENTS_PER_BLOCK);
	KUNIT_EXPECT_EQ(test, t->r[0].unwritten, ~2ull);
}

static void an_unsound_order_does_not_count(struct kunit *test)
{
	struct rings *t = test->priv;
	struct kvp_disk_event *e = t->r[1].slots;
	u32 i;

	for (i = 0; i < sizeof(*e); i++) {
		*e = make_order(t, 3);
		((u8 *)e)[i] ^= 0x10;
		take_all(t);
		KUNIT_ASSERT_EQ(test, found(t, 0), ~0ull);
	}
	*e = make_order(t, 1ull << 47);
	take_all(t);
	KUNIT_EXPECT_EQ(test, found(t, 0), ~0ull);
	*e = make_order(t, 3);
	e->text[sizeof(e->text) - 1] = 'x';
	kvp_event_seal(e);
	take_all(t);
	KUNIT_EXPECT_EQ(test, found(t, 0), ~0ull);
	*e = make_order(t, 3);
	take_all(t);
	KUNIT_EXPECT_EQ(test, found(t, 0), 3);
}

/* Sums do not tell who wrote: any number may be in any slot. All of them are listed, in order. */
static void numbers_may_lie_anywhere(struct kunit *test)
{
	struct rings *t = test->priv;
	u64 seq, n = 0;
	u32 i;

	for (i = 0; i < KVP_ORDER_RING; i++)
		t->r[1].slots[i] = make_order(t, (i * 701u) % KVP_ORDER_RING);
	take_all(t);
	for (seq = 0; found(t, seq) != ~0ull; seq = found(t, seq) + 1)
		KUNIT_ASSERT_EQ(test, found(t, seq), n++);
	KUNIT_EXPECT_EQ(test, n, KVP_ORDER_RING);
	add(t, 0, kvp_order_ring_next(&t->r[0]));
	KUNIT_EXPECT_EQ(test, found(t, KVP_ORDER_RING), KVP_ORDER_RING);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(the_oldest_go_first),
	KUNIT_CASE(blocks_are_written_once),
	KUNIT_CASE(blank_blocks_are_rewritten_too),
	KUNIT_CASE(what_a_leg_lacks_is_written),
	KUNIT_CASE(what_one_leg_cannot_read),
	KUNIT_CASE(the_newest_of_a_slot_wins),
	KUNIT_CASE(unread_blocks_are_left_alone),
	KUNIT_CASE(an_unsound_order_does_not_count),
	KUNIT_CASE(numbers_may_lie_anywhere),
	{}
};

static struct kunit_suite suite = {
	.name = "kvpool_order_ring",
	.init = make_rings,
	.exit = free_rings,
	.test_cases = cases,
};
kunit_test_suite(suite);
