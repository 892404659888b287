// SPDX-License-Identifier: GPL-2.0-only
/* Sums: known answers, and the inputs of a sum. */
#include <linux/sort.h>

#include "kvpool_kunit.h"
#include "format/sum.c"

/*
 * From RFC 3720 (B.4) and the catalogue of CRCs. The standard inverts the result; kvpool does not.
 */
struct answer {
	const char *name;
	const char *data;
	size_t bytes;
	u32 inverted;
};

static const struct answer answers[] = {
	{ "nothing", "", 0, 0x00000000 },
	{ "check string", "123456789", 9, 0xe3069283 },
	{ "32 bytes of zeros", (const char[32]){}, 32, 0x8a9136aa },
	{ "32 bytes of ones", (const char[32]){ [0 ... 31] = -1 }, 32, 0x62a8ab43 },
	{ "32 bytes rising",
	  "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"
	  "\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f", 32, 0x46dd794e },
	{ "32 bytes falling",
	  "\x1f\x1e\x1d\x1c\x1b\x1a\x19\x18\x17\x16\x15\x14\x13\x12\x11\x10"
	  "\x0f\x0e\x0d\x0c\x0b\x0a\x09\x08\x07\x06\x05\x04\x03\x02\x01\x00", 32, 0x113fdb5c },
	{ "iSCSI read command",
	  "\x01\xc0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x14\0\0\0\0\0\x04\0\0\0\0\x14"
	  "\0\0\0\x18\x28\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0", 48, 0xd9963a56 },
};
KUNIT_ARRAY_PARAM_DESC(answer, answers, name);

static void crc32c_knows_the_answer(struct kunit *test)
{
	const struct answer *a = test->param_value;

	KUNIT_EXPECT_EQ(test, ~kvp_crc32c(~0u, a->data, a->bytes), a->inverted);
}

/* The definition: bit by bit, polynomial 0x1edc6f41 reflected. */
static u32 crc32c_by_bits(u32 crc, const u8 *data, size_t bytes)
{
	int bit;

	while (bytes--) {
		crc ^= *data++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return crc;
}

static u8 *pattern(struct kunit *test)
{
	u8 *data = kunit_kmalloc(test, KVP_BLOCK_SIZE, GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, data);
	for (i = 0; i < KVP_BLOCK_SIZE; i++)
		data[i] = (u8)(i * 7);
	return data;
}

/* Short and long runs are computed in different ways. */
static void crc32c_is_right_for_every_length(struct kunit *test)
{
	u8 *data = pattern(test);
	size_t bytes;

	for (bytes = 0; bytes <= 80; bytes++)
		KUNIT_EXPECT_EQ_MSG(test, kvp_crc32c(5, data + 1, bytes),
				    crc32c_by_bits(5, data + 1, bytes), "%zu bytes", bytes);
	KUNIT_EXPECT_EQ(test, kvp_crc32c(5, data, KVP_BLOCK_SIZE),
			crc32c_by_bits(5, data, KVP_BLOCK_SIZE));
}

static void crc32c_continues_where_it_stopped(struct kunit *test)
{
	u8 *data = pattern(test);
	u32 whole = kvp_crc32c(~0u, data, KVP_BLOCK_SIZE);
	size_t at;

	for (at = 0; at <= KVP_BLOCK_SIZE; at += 128) {
		u32 parts = kvp_crc32c(kvp_crc32c(~0u, data, at), data + at, KVP_BLOCK_SIZE - at);

		KUNIT_EXPECT_EQ_MSG(test, parts, whole, "parted at %zu", at);
	}
}

/* Computed by another program from docs/on-disk-format.md. */
static void sums_have_known_answers(struct kunit *test)
{
	u8 *data = pattern(test);
	struct kvp_seed old = kvp_sum_seed(0x0123456789abcdefull, 0, 0);
	struct kvp_seed seed = kvp_sum_seed(0x0123456789abcdefull, 0, KVP_INCOMPAT_FOLDED_SUMS);

	KUNIT_EXPECT_EQ(test, seed.crc, 0xe994f25b);
	KUNIT_EXPECT_EQ(test, old.crc, seed.crc);
	KUNIT_EXPECT_EQ(test, kvp_block_sum(old, 5, data), 0xd435de65);
	KUNIT_EXPECT_EQ(test, kvp_block_sum(seed, 5, data), 0x74fd3b04);
	KUNIT_EXPECT_EQ(test, kvp_page_sum(old, 1, 5, data), 0x2ae62810);
	KUNIT_EXPECT_EQ(test, kvp_page_sum(seed, 1, 5, data), 0x2ae62810);
}

static const u64 features_of_sums[] = { 0, KVP_INCOMPAT_FOLDED_SUMS };

static void describe_sums(const u64 *features, char *desc)
{
	strscpy(desc, *features ? "folded sums" : "sums of older pools", KUNIT_PARAM_DESC_SIZE);
}
KUNIT_ARRAY_PARAM(sums, features_of_sums, describe_sums);

static void zeros_are_summed_without_a_look(struct kunit *test)
{
	u8 *zeros = kunit_kzalloc(test, KVP_BLOCK_SIZE, GFP_KERNEL);
	struct kvp_seed seed = kvp_sum_seed(77, 0, *(const u64 *)test->param_value);
	u32 bit;

	KUNIT_ASSERT_NOT_NULL(test, zeros);
	for (bit = 0; bit < 32; bit++) {
		seed.crc = BIT(bit);
		KUNIT_EXPECT_EQ_MSG(test, kvp_zeros_sum(seed, 0), kvp_block_sum(seed, 0, zeros),
				    "bit %u of the seed", bit);
	}
	for (bit = 0; bit < 64; bit++)
		KUNIT_EXPECT_EQ_MSG(test, kvp_zeros_sum(seed, BIT_ULL(bit)),
				    kvp_block_sum(seed, BIT_ULL(bit), zeros), "bit %u of the block",
				    bit);
}

/* This tells the parity of a row from its data. */
static void sums_of_blocks_add_up(struct kunit *test)
{
	u64 features = *(const u64 *)test->param_value;
	struct kvp_seed seed = kvp_sum_seed(77, 0, features);
	struct kvp_seed other = kvp_sum_seed(78, 1, features);
	u8 *a = pattern(test), *b = pattern(test), *both = pattern(test);
	u32 i;

	for (i = 0; i < KVP_BLOCK_SIZE; i++) {
		b[i] = (u8)(i * i >> 3);
		both[i] = a[i] ^ b[i];
	}
	KUNIT_EXPECT_EQ(test, kvp_block_sum(other, 99, both) ^ kvp_zeros_sum(other, 99),
			kvp_block_sum(seed, 17, a) ^ kvp_zeros_sum(seed, 17) ^
			kvp_block_sum(seed, 4711, b) ^ kvp_zeros_sum(seed, 4711));
}

/* Blocks that are less than 7 TiB apart have no sum in common if they have the same data. */
static void places_differ(struct kunit *test)
{
	struct kvp_seed seed = kvp_sum_seed(77, 0, KVP_INCOMPAT_FOLDED_SUMS);
	u32 here = kvp_zeros_sum(seed, 4711), shift;
	u64 step;

	for (step = 1; step < 100000; step++)
		KUNIT_EXPECT_NE_MSG(test, kvp_zeros_sum(seed, 4711 + step), here, "step %llu",
				    (unsigned long long)step);
	for (shift = 0; shift < 31; shift++)
		for (step = 1ull << shift; step < (1ull << shift) + 100; step++)
			KUNIT_EXPECT_NE_MSG(test, kvp_zeros_sum(seed, 4711 + step), here,
					    "step %llu", (unsigned long long)step);
}

/* The inputs of a sum besides the data. */
struct place {
	const char *name;
	u64 nonce, index;
	u32 vdev, level;
};

static const struct place here = { "here", 77, 1000, 0, 1 };
static const struct place elsewhere[] = {
	{ "next block", 77, 1001, 0, 1 },
	{ "block 0", 77, 0, 0, 1 },
	{ "far block", 77, 1000 + (1ull << 32), 0, 1 },
	{ "other pool", 78, 1000, 0, 1 },
	{ "other vdev", 77, 1000, 1, 1 },
};
KUNIT_ARRAY_PARAM_DESC(place, elsewhere, name);

static u32 block_sum_at(const struct place *p, const void *data)
{
	return kvp_block_sum(kvp_sum_seed(p->nonce, p->vdev, KVP_INCOMPAT_FOLDED_SUMS), p->index,
			     data);
}

static u32 page_sum_at(const struct place *p, const void *data)
{
	return kvp_page_sum(kvp_sum_seed(p->nonce, p->vdev, KVP_INCOMPAT_FOLDED_SUMS), p->level,
			    p->index, data);
}

static void a_moved_block_does_not_verify(struct kunit *test)
{
	const struct place *there = test->param_value;
	u8 *data = pattern(test);

	KUNIT_EXPECT_EQ(test, block_sum_at(&here, data), block_sum_at(&here, data));
	KUNIT_EXPECT_NE(test, block_sum_at(there, data), block_sum_at(&here, data));
	KUNIT_EXPECT_NE(test, page_sum_at(there, data), page_sum_at(&here, data));
}

static void a_page_of_another_level_does_not_verify(struct kunit *test)
{
	u8 *data = pattern(test);
	struct place p = here;

	for (p.level = 0; p.level < KVP_MAX_LEVELS; p.level++) {
		if (p.level != here.level)
			KUNIT_EXPECT_NE(test, page_sum_at(&p, data), page_sum_at(&here, data));
		KUNIT_EXPECT_NE(test, page_sum_at(&p, data), block_sum_at(&here, data));
	}
}

/* --- the fold ------------------------------------------------------------------------------- */

static u32 sum_by_pieces(const u8 *data, u32 first, u32 piece)
{
	struct kvp_sum sum;
	u32 at = 0, n = first;

	kvp_sum_begin(&sum, kvp_sum_seed(here.nonce, here.vdev, KVP_INCOMPAT_FOLDED_SUMS),
		      here.index);
	for (; at < KVP_BLOCK_SIZE; at += n, n = piece) {
		n = min_t(u32, n, KVP_BLOCK_SIZE - at);
		kvp_sum_add(&sum, data + at, n);
	}
	return kvp_sum_end(&sum);
}

/* A block may lie in any number of pieces, which need not be aligned. */
static void pieces_have_the_sum_of_the_whole(struct kunit *test)
{
	u8 *data = pattern(test);
	u32 want = block_sum_at(&here, data), first;

	for (first = 0; first < 70; first++)
		KUNIT_EXPECT_EQ_MSG(test, sum_by_pieces(data, first, 57 + first), want,
				    "the first has %u bytes", first);
	KUNIT_EXPECT_EQ(test, sum_by_pieces(data, 512, 512), want);
	KUNIT_EXPECT_EQ(test, sum_by_pieces(data, KVP_BLOCK_SIZE - 1, 1), want);
}

/* The change that each bit of a block makes to the sum, but for the address. */
static u32 *effects_of_bits(struct kunit *test)
{
	u32 *effects = kunit_kcalloc(test, KVP_BLOCK_SIZE * 8, sizeof(*effects), GFP_KERNEL), bit;
	u8 *data = kunit_kzalloc(test, KVP_BLOCK_SIZE, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, effects);
	KUNIT_ASSERT_NOT_NULL(test, data);
	for (bit = 0; bit < KVP_BLOCK_SIZE * 8; bit++) {
		data[bit / 8] = 1 << bit % 8;
		effects[bit] = block_sum_at(&here, data);
		data[bit / 8] = 0;
	}
	for (bit = 0; bit < KVP_BLOCK_SIZE * 8; bit++)
		effects[bit] ^= block_sum_at(&here, data);
	return effects;
}

static int by_size(const void *a, const void *b)
{
	return *(const u32 *)a < *(const u32 *)b ? -1 : *(const u32 *)a > *(const u32 *)b;
}

/* One wrong bit changes an odd number of bits of the sum, and no two change the same ones. */
static void three_wrong_bits_are_found(struct kunit *test)
{
	u32 *effects = effects_of_bits(test), bit, even = 0, alike = 0;

	for (bit = 0; bit < KVP_BLOCK_SIZE * 8; bit++)
		even += hweight32(effects[bit]) % 2 == 0;
	sort(effects, KVP_BLOCK_SIZE * 8, sizeof(*effects), by_size, NULL);
	for (bit = 1; bit < KVP_BLOCK_SIZE * 8; bit++)
		alike += effects[bit] == effects[bit - 1];
	KUNIT_EXPECT_EQ(test, even, 0);
	KUNIT_EXPECT_EQ(test, alike, 0);
}

/* True if no XOR of some of the @n effects is 0: elimination. */
static bool independent(const u32 *effects, u32 n)
{
	u32 basis[32] = { 0 }, i, bit;

	for (i = 0; i < n; i++) {
		u32 rest = effects[i];

		while (rest) {
			bit = fls(rest) - 1;
			if (!basis[bit])
				break;
			rest ^= basis[bit];
		}
		if (!rest)
			return false;
		basis[bit] = rest;
	}
	return true;
}

static void a_run_of_22_wrong_bits_is_found(struct kunit *test)
{
	u32 *effects = effects_of_bits(test), bit, missed = 0;

	for (bit = 0; bit + 22 <= KVP_BLOCK_SIZE * 8; bit++)
		missed += !independent(effects + bit, 22);
	KUNIT_EXPECT_EQ(test, missed, 0);
}

/* What ends with its own crc32c has the same crc32c in all versions. */
static void versions_of_what_sums_itself_differ(struct kunit *test)
{
	struct kvp_seed old = kvp_sum_seed(here.nonce, here.vdev, 0), seed = old;
	u8 *a = pattern(test), *b = pattern(test);
	u32 end = KVP_BLOCK_SIZE - sizeof(__le32);
	__le32 crc;

	seed.folded = true;
	b[100]++;
	crc = cpu_to_le32(kvp_crc32c(~0u, a, end));
	memcpy(a + end, &crc, sizeof(crc));
	crc = cpu_to_le32(kvp_crc32c(~0u, b, end));
	memcpy(b + end, &crc, sizeof(crc));
	KUNIT_EXPECT_EQ(test, kvp_block_sum(old, 5, a), kvp_block_sum(old, 5, b));
	KUNIT_EXPECT_NE(test, kvp_block_sum(seed, 5, a), kvp_block_sum(seed, 5, b));
}

static void any_changed_bit_changes_the_sum(struct kunit *test)
{
	u8 *data = pattern(test);
	u32 good = block_sum_at(&here, data), bit;

	for (bit = 0; bit < KVP_BLOCK_SIZE * 8; bit += 331) {
		data[bit / 8] ^= 1 << bit % 8;
		KUNIT_EXPECT_NE_MSG(test, block_sum_at(&here, data), good, "bit %u", bit);
		data[bit / 8] ^= 1 << bit % 8;
	}
}

/* A sum of 0 means that there is no page. Four bytes equal to the crc so far make it 0. */
static void the_sum_of_a_page_is_never_zero(struct kunit *test)
{
	u8 *data = pattern(test);
	u32 at = KVP_BLOCK_SIZE - sizeof(u32), seed = kvp_sum_seed(here.nonce, here.vdev, 0).crc;
	__le64 where = cpu_to_le64(here.index | (u64)(here.level + 1) << 56);
	__le32 last = cpu_to_le32(kvp_crc32c(kvp_crc32c(seed, &where, sizeof(where)), data, at));

	memcpy(data + at, &last, sizeof(last));
	KUNIT_EXPECT_EQ(test, page_sum_at(&here, data), 1);
}

struct packed {
	const char *name;
	u32 crc, era;
	unsigned int state, slot;
	bool poison;
};

static const struct packed packs[] = {
	{ "all zero", 0, 0, 0, 0, false },
	{ "all ones", ~0u, KVP_ERA_MAX, KVP_ENTRY_POISONED, 1, true },
	{ "only the crc", ~0u, 0, 0, 0, false },
	{ "only the era", 0, KVP_ERA_MAX, 0, 0, false },
	{ "only state and slot", 0, 0, KVP_ENTRY_VALID, 1, false },
	{ "only poison", 0, 0, KVP_ENTRY_POISONED, 0, true },
};
KUNIT_ARRAY_PARAM_DESC(packed, packs, name);

static void an_entry_keeps_its_parts_apart(struct kunit *test)
{
	const struct packed *p = test->param_value;
	u64 e = kvp_entry(p->crc, p->era, p->state);

	KUNIT_EXPECT_EQ(test, kvp_entry_crc(e), p->crc);
	KUNIT_EXPECT_EQ(test, kvp_entry_era(e), p->era);
	KUNIT_EXPECT_EQ(test, kvp_entry_state(e), p->state);
}

static void a_pointer_keeps_its_parts_apart(struct kunit *test)
{
	const struct packed *p = test->param_value;
	u64 ptr = kvp_ptr(p->crc, p->era, p->slot, p->poison);

	KUNIT_EXPECT_EQ(test, kvp_ptr_sum(ptr), p->crc);
	KUNIT_EXPECT_EQ(test, kvp_ptr_era(ptr), p->era);
	KUNIT_EXPECT_EQ(test, kvp_ptr_slot(ptr), p->slot);
	KUNIT_EXPECT_EQ(test, kvp_ptr_poison(ptr), p->poison);
	KUNIT_EXPECT_EQ(test, kvp_ptr_null(ptr), !p->crc);
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(crc32c_knows_the_answer, answer_gen_params),
	KUNIT_CASE(crc32c_is_right_for_every_length),
	KUNIT_CASE(crc32c_continues_where_it_stopped),
	KUNIT_CASE(sums_have_known_answers),
	KUNIT_CASE_PARAM(zeros_are_summed_without_a_look, sums_gen_params),
	KUNIT_CASE_PARAM(sums_of_blocks_add_up, sums_gen_params),
	KUNIT_CASE(places_differ),
	KUNIT_CASE_PARAM(a_moved_block_does_not_verify, place_gen_params),
	KUNIT_CASE(a_page_of_another_level_does_not_verify),
	KUNIT_CASE(pieces_have_the_sum_of_the_whole),
	KUNIT_CASE(three_wrong_bits_are_found),
	KUNIT_CASE(a_run_of_22_wrong_bits_is_found),
	KUNIT_CASE(versions_of_what_sums_itself_differ),
	KUNIT_CASE(any_changed_bit_changes_the_sum),
	KUNIT_CASE(the_sum_of_a_page_is_never_zero),
	KUNIT_CASE_PARAM(an_entry_keeps_its_parts_apart, packed_gen_params),
	KUNIT_CASE_PARAM(a_pointer_keeps_its_parts_apart, packed_gen_params),
	{}
};

static struct kunit_suite suite = {
	.name = "kvpool_sum",
	.test_cases = cases,
};
kunit_test_suite(suite);
