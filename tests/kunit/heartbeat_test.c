// SPDX-License-Identifier: GPL-2.0-only
/* The block of the heartbeat: it comes from a device that other hosts write to. */
#include "kvpool_kunit.h"
#include "format/heartbeat.c"

static const u8 uuid[16] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };

static const struct kvp_beat sample = {
	.pool_uuid = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 },
	.claim = 7, .nonce = 0x1122334455667788, .counter = 9, .host = 0xaabbccdd,
	.time = 1700000000, .interval = 5, .limit = 35, .host_name = "alpha",
};

static u8 *made(struct kunit *test, const struct kvp_beat *b)
{
	u8 *block = kunit_kzalloc(test, KVP_BLOCK_SIZE, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, block);
	kvp_beat_encode(b, block);
	return block;
}

static void what_is_written_is_read(struct kunit *test)
{
	u8 *block = made(test, &sample);
	struct kvp_beat b;

	KUNIT_ASSERT_EQ(test, kvp_beat_decode(block, 3, uuid, &b), 0);
	KUNIT_EXPECT_EQ(test, memcmp(&b, &sample, sizeof(b)), 0);
}

/* The bytes that on-disk-format.md names; the sum is one of another program. */
static void its_bytes_are_those_of_the_format(struct kunit *test)
{
	u8 *block = made(test, &sample);
	struct kvp_disk_heartbeat *d = (void *)block;
	size_t i;

	KUNIT_EXPECT_EQ(test, memcmp(block, "KVPOOL\r\n\x1a" "beat\0\0\0", 16), 0);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(d->csum), 0xb0c367ebu);
	for (i = sizeof(*d); i < KVP_BLOCK_SIZE; i++)
		KUNIT_EXPECT_EQ(test, block[i], 0);
}

static void every_changed_byte_is_noticed(struct kunit *test)
{
	u8 *block = made(test, &sample);
	struct kvp_beat b;
	size_t i;

	for (i = 0; i < sizeof(struct kvp_disk_heartbeat); i++) {
		block[i] ^= 0x10;
		KUNIT_EXPECT_NE_MSG(test, kvp_beat_decode(block, 3, uuid, &b), 0, "byte %zu", i);
		block[i] ^= 0x10;
	}
}

static void another_slot_or_pool_is_refused(struct kunit *test)
{
	u8 *block = made(test, &sample);
	u8 other[16] = { 0 };
	struct kvp_beat b;

	KUNIT_EXPECT_EQ(test, kvp_beat_decode(block, 2, uuid, &b), -EUCLEAN);
	KUNIT_EXPECT_EQ(test, kvp_beat_decode(block, 3, other, &b), -ENODATA);
	memset(block, 0, KVP_BLOCK_SIZE);
	KUNIT_EXPECT_EQ(test, kvp_beat_decode(block, 3, uuid, &b), -ENODATA);
}

struct lie {
	const char *name;
	u64 claim;
	u32 interval, limit;
	const char *host;
};

static const struct lie lies[] = {
	{ "no claim", 0, 5, 35, "" },
	{ "claim without room above", 3ull << 62 | 3, 5, 35, "" },
	{ "no interval", 7, 0, 35, "" },
	{ "interval too long", 7, 61, 315, "" },
	{ "limit below the interval", 7, 5, 4, "" },
	{ "limit too long", 7, 5, 601, "" },
	{ "control characters", 7, 5, 35, "a\033[2J" },
};
KUNIT_ARRAY_PARAM_DESC(lie, lies, name);

/* The sum is right, and what it covers is not. */
static void a_lie_is_refused(struct kunit *test)
{
	const struct lie *l = test->param_value;
	struct kvp_beat b = sample;
	u8 *block;

	b.claim = l->claim;
	b.interval = l->interval;
	b.limit = l->limit;
	snprintf(b.host_name, sizeof(b.host_name), "%s", l->host);
	block = made(test, &b);
	KUNIT_EXPECT_EQ(test, kvp_beat_decode(block, kvp_beat_slot(l->claim), uuid, &b), -EUCLEAN);
}

static void a_newer_version_is_told_apart(struct kunit *test)
{
	u8 *block = made(test, &sample);
	struct kvp_disk_heartbeat *d = (void *)block;
	struct kvp_beat b;

	d->version = cpu_to_le32(2);
	d->csum = cpu_to_le32(sum_of(d));
	KUNIT_EXPECT_EQ(test, kvp_beat_decode(block, 3, uuid, &b), -EOPNOTSUPP);
}

static void who_came_later(struct kunit *test)
{
	struct kvp_beat own = sample, b = sample;

	KUNIT_EXPECT_FALSE(test, kvp_beat_above(&b, &own));
	b.counter = 100;
	KUNIT_EXPECT_FALSE(test, kvp_beat_above(&b, &own));
	b.nonce++;
	KUNIT_EXPECT_TRUE(test, kvp_beat_above(&b, &own));
	b.claim--;
	KUNIT_EXPECT_FALSE(test, kvp_beat_above(&b, &own));
	b.claim = own.claim + 1;
	KUNIT_EXPECT_TRUE(test, kvp_beat_above(&b, &own));
}

static void limits_are_bounded(struct kunit *test)
{
	u32 i;

	for (i = KVP_HEARTBEAT_LEAST; i <= KVP_HEARTBEAT_MOST; i++) {
		KUNIT_EXPECT_GT(test, kvp_beat_limit(i), i + REQUESTS);
		KUNIT_EXPECT_LE(test, kvp_beat_limit(i), KVP_HEARTBEAT_LIMIT_MOST);
	}
}

static struct kunit_case heartbeat_cases[] = {
	KUNIT_CASE(what_is_written_is_read),
	KUNIT_CASE(its_bytes_are_those_of_the_format),
	KUNIT_CASE(every_changed_byte_is_noticed),
	KUNIT_CASE(another_slot_or_pool_is_refused),
	KUNIT_CASE_PARAM(a_lie_is_refused, lie_gen_params),
	KUNIT_CASE(a_newer_version_is_told_apart),
	KUNIT_CASE(who_came_later),
	KUNIT_CASE(limits_are_bounded),
	{ }
};

static struct kunit_suite heartbeat_suite = {
	.name = "kvpool_heartbeat",
	.test_cases = heartbeat_cases,
};
kunit_test_suite(heartbeat_suite);
