// SPDX-License-Identifier: GPL-2.0-only
/* Log entry codec: a sealed entry decodes, and hostile headers are refused by name. */
#include "kvpool_kunit.h"
#include "format/logentry.c"

#define POOL_NONCE	0x70706f6f6c0001ull
#define LOG_NONCE	0x6c6f670001ull
#define POOL_BLOCKS	1000ull
#define LSN		(5 * 2048 + 100ull)	/* in the first segment of the sixth round */
#define MOST_RECORDS	2048u

static const struct kvp_geometry geometry = { .segments = 4, .segment_blocks = 512 };

struct entry {
	struct kvp_log_hdr in, out;
	struct kvp_why why;
	u8 buf[KVP_LOG_HDR_SIZE + MOST_RECORDS * sizeof(struct kvp_disk_rec) + KVP_BLOCK_SIZE];
};

static struct kvp_disk_rec *rec_at(struct entry *e, u32 i)
{
	return (struct kvp_disk_rec *)(e->buf + KVP_LOG_HDR_SIZE) + i;
}

/* An entry of @records records: data, intents and discards in turn. */
static void fill(struct entry *e, u32 records)
{
	u32 i, data = 0;

	for (i = 0; i < records; i++) {
		struct kvp_rec r = { .block = i % POOL_BLOCKS, .count = 1, .crc = i,
				     .kind = KVP_REC_DATA + i % 3 };

		if (records > KVP_MAX_ENTRY_BLOCKS)
			r.kind = KVP_REC_INTENT;
		data += r.kind == KVP_REC_DATA;
		kvp_rec_encode(&r, rec_at(e, i));
	}
	e->in = (struct kvp_log_hdr){
		.nonce = LOG_NONCE, .epoch = 2, .lsn = LSN, .prev_lsn = LSN - 7, .durable = LSN - 9,
		.write_time = 3, .prev_csum = 4, .blocks = kvp_log_hdr_blocks(records) + data,
		.hdr_blocks = kvp_log_hdr_blocks(records), .rec_count = records,
		.open_count = 2, .flags = 5, .open = { LSN - 20, LSN - 10 }, .payload = data,
	};
	kvp_log_seal(e->buf, &e->in, POOL_NONCE);
}

static int make_entry(struct kunit *test)
{
	struct entry *e = kunit_kzalloc(test, sizeof(*e), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, e);
	test->priv = e;
	fill(e, 6);
	return 0;
}

static int decode(struct entry *e, u32 avail)
{
	return kvp_log_decode(&geometry, e->buf, avail, POOL_NONCE, LOG_NONCE, LSN, POOL_BLOCKS,
			      &e->out, &e->why);
}

/* Makes the sum match again, as far as a header can have one. */
static void reseal(struct entry *e)
{
	struct kvp_disk_log_hdr *d = (struct kvp_disk_log_hdr *)e->buf;
	u32 records = min(le32_to_cpu(d->rec_count), MOST_RECORDS);

	d->csum = cpu_to_le32(hdr_sum(d, POOL_NONCE, le64_to_cpu(d->nonce), hdr_bytes(records)));
}

struct amount {
	const char *name;
	u32 records, hdr_blocks;
};

static const struct amount amounts[] = {
	{ "no records", 0, 1 },
	{ "one record", 1, 1 },
	{ "six records", 6, 1 },
	{ "a full block", 240, 1 },
	{ "one more", 241, 2 },
	{ "two full blocks", 496, 2 },
	{ "the most of one build", 1780 + 238, 8 },
};
KUNIT_ARRAY_PARAM_DESC(amount, amounts, name);

static void what_is_sealed_decodes(struct kunit *test)
{
	const struct amount *a = test->param_value;
	struct entry *e = test->priv;

	fill(e, a->records);
	KUNIT_EXPECT_EQ(test, kvp_log_hdr_blocks(a->records), a->hdr_blocks);
	KUNIT_EXPECT_EQ_MSG(test, decode(e, a->hdr_blocks), 0, "%s", e->why.text);
	KUNIT_EXPECT_MEMEQ(test, &e->out, &e->in, sizeof(e->in));
}

static void padding_is_zero(struct kunit *test)
{
	const struct amount *a = test->param_value;
	struct entry *e = test->priv;
	size_t used = KVP_LOG_HDR_SIZE + a->records * sizeof(struct kvp_disk_rec);

	memset(e->buf, 0xff, sizeof(e->buf));
	fill(e, a->records);
	KUNIT_EXPECT_NULL(test, memchr_inv(e->buf + used, 0,
					   a->hdr_blocks * KVP_BLOCK_SIZE - used));
}

static void a_header_needs_all_its_blocks(struct kunit *test)
{
	const struct amount *a = test->param_value;
	struct entry *e = test->priv;

	fill(e, a->records);
	KUNIT_EXPECT_NE(test, decode(e, a->hdr_blocks - 1), 0);
}

struct record {
	const char *name;
	struct kvp_rec rec;
};

static const struct record records[] = {
	{ "data", { 0, 1, 0, KVP_REC_DATA } },
	{ "intent", { 999, 1, ~0u, KVP_REC_INTENT } },
	{ "discard", { 0, ~0u, 0, KVP_REC_DISCARD } },
	{ "last address", { (1ull << KVP_REC_ADDR_BITS) - 1, 1, 7, KVP_REC_DATA } },
};
KUNIT_ARRAY_PARAM_DESC(record, records, name);

static void a_record_keeps_its_parts_apart(struct kunit *test)
{
	const struct record *r = test->param_value;
	struct kvp_disk_rec disk;
	struct kvp_rec out = {};

	kvp_rec_encode(&r->rec, &disk);
	kvp_rec_decode(&disk, &out);
	KUNIT_EXPECT_EQ(test, out.block, r->rec.block);
	KUNIT_EXPECT_EQ(test, out.count, r->rec.count);
	KUNIT_EXPECT_EQ(test, out.crc, r->rec.crc);
	KUNIT_EXPECT_EQ(test, out.kind, r->rec.kind);
}

/* One field of the header is changed and the sum made to match. */
struct change {
	const char *name;
	struct poke poke;
	int err;
	const char *words;
};

#define HDR(field, value)	POKE(kvp_disk_log_hdr, field, value)
/* Of record 0 (data), 1 (an intent) or 2 (a discard). */
#define REC(i, field, v) \
	{ KVP_LOG_HDR_SIZE + (i) * sizeof(struct kvp_disk_rec) + \
	  offsetof(struct kvp_disk_rec, field), \
	  sizeof_field(struct kvp_disk_rec, field), (v) }
#define ADDR(kind, block)	((u64)(kind) << KVP_REC_KIND_SHIFT | (block))

static const struct change changes[] = {
	{ "no magic", HDR(magic, 0), -ENODATA, "none here" },
	{ "other magic", HDR(magic, KVP_EVENT_MAGIC), -ENODATA, "none here" },
	{ "log of another time", HDR(nonce, LOG_NONCE + 1), -ENODATA, "none here" },
	{ "endless records", HDR(rec_count, ~0u), -EUCLEAN, "header length" },
	{ "count that wraps", HDR(rec_count, 1u << 28), -EUCLEAN, "header length" },
	{ "records beyond the header", HDR(rec_count, 241), -EUCLEAN, "header length" },
	{ "no header blocks", HDR(hdr_blocks, 0), -EUCLEAN, "header length" },
	{ "header too long", HDR(hdr_blocks, 2), -EUCLEAN, "header length" },
	{ "endless header", HDR(hdr_blocks, ~0u), -EUCLEAN, "header length" },
	{ "position of another entry", HDR(lsn, LSN + 1), -EUCLEAN, "position" },
	{ "position a round ago", HDR(lsn, LSN - 2048), -EUCLEAN, "position" },
	{ "longer than an entry may be", HDR(blocks, KVP_MAX_ENTRY_BLOCKS + 1), -EUCLEAN, "length" },
	{ "endless", HDR(blocks, ~0u), -EUCLEAN, "length" },
	{ "no blocks", HDR(blocks, 0), -EUCLEAN, "length" },
	{ "a block too few", HDR(blocks, 2), -EUCLEAN, "length" },
	{ "a block too many", HDR(blocks, 4), -EUCLEAN, "length" },
	{ "too many intents", HDR(open_count, KVP_MAX_OPEN_INTENTS + 1), -EUCLEAN, "order" },
	{ "endless intents", HDR(open_count, ~0u), -EUCLEAN, "order" },
	{ "all the intents", HDR(open_count, KVP_MAX_OPEN_INTENTS), 0, NULL },
	{ "durable up to itself", HDR(durable, LSN), 0, NULL },
	{ "durable in the future", HDR(durable, LSN + 1), -EUCLEAN, "order" },
	{ "its own predecessor", HDR(prev_lsn, LSN), -EUCLEAN, "order" },
	{ "predecessor in the future", HDR(prev_lsn, ~0ull), -EUCLEAN, "order" },
	{ "first of its log", HDR(prev_lsn, 0), 0, NULL },
	{ "record without a kind", REC(0, addr, ADDR(0, 1)), -EUCLEAN, "kind of a record" },
	{ "record of an unknown kind", REC(0, addr, ADDR(6, 1)), -EUCLEAN, "kind of a record" },
	{ "record of kind 255", REC(2, addr, ADDR(255, 1)), -EUCLEAN, "kind of a record" },
	{ "reserved bit of the address", REC(0, addr, ADDR(KVP_REC_DATA, 1ull << 48)), -EUCLEAN,
	  "range of a record" },
	{ "last block", REC(0, addr, ADDR(KVP_REC_DATA, POOL_BLOCKS - 1)), 0, NULL },
	{ "block beyond the end", REC(0, addr, ADDR(KVP_REC_DATA, POOL_BLOCKS)), -EUCLEAN,
	  "range of a record" },
	{ "record of nothing", REC(0, count, 0), -EUCLEAN, "range of a record" },
	{ "data of two blocks", REC(0, count, 2), -EUCLEAN, "count of a record" },
	{ "intent of two blocks", REC(1, count, 2), -EUCLEAN, "count of a record" },
	{ "discard to the end", REC(2, count, POOL_BLOCKS - 2), 0, NULL },
	{ "discard beyond the end", REC(2, count, POOL_BLOCKS - 1), -EUCLEAN, "range of a record" },
	{ "endless discard", REC(2, count, ~0u), -EUCLEAN, "range of a record" },
	{ "intent that became data", REC(1, addr, ADDR(KVP_REC_DATA, 1)), -EUCLEAN, "length" },
	{ "data that became clean", REC(0, addr, ADDR(KVP_REC_CLEAN, 1)), 0, NULL },
	{ "intent that became clean", REC(1, addr, ADDR(KVP_REC_CLEAN, 1)), -EUCLEAN, "length" },
	{ "clean beyond the end", REC(0, addr, ADDR(KVP_REC_CLEAN, POOL_BLOCKS)), -EUCLEAN,
	  "range of a record" },
};
KUNIT_ARRAY_PARAM_DESC(change, changes, name);

static void a_wrong_field_is_named(struct kunit *test)
{
	const struct change *c = test->param_value;
	struct entry *e = test->priv;

	poke(e->buf, &c->poke);
	reseal(e);
	KUNIT_EXPECT_EQ_MSG(test, decode(e, 1), c->err, "%s", e->why.text);
	if (c->words)
		EXPECT_WHY(test, &e->why, c->words);
}

static void any_changed_bit_is_noticed(struct kunit *test)
{
	struct entry *e = test->priv;
	u32 bit, bits = 8 * hdr_bytes(e->in.rec_count);

	for (bit = 0; bit < bits; bit++) {
		e->buf[bit / 8] ^= 1 << bit % 8;
		KUNIT_EXPECT_NE_MSG(test, decode(e, 1), 0, "bit %u", bit);
		e->buf[bit / 8] ^= 1 << bit % 8;
	}
	KUNIT_EXPECT_EQ(test, decode(e, 1), 0);
}

/* A user's data in a payload: a perfect entry except for the nonces, which users cannot know. */
static void data_cannot_pose_as_an_entry(struct kunit *test)
{
	struct entry *e = test->priv;
	u64 epoch = 0;

	kvp_log_seal(e->buf, &e->in, POOL_NONCE + 1);
	KUNIT_EXPECT_EQ(test, decode(e, 1), -EUCLEAN);
	EXPECT_WHY(test, &e->why, "sum");
	KUNIT_EXPECT_FALSE(test, kvp_log_epoch(e->buf, 1, POOL_NONCE, &epoch));
}

/* Each size of an entry that crosses the end of its segment; the segment ends at LSN + 412. */
static void an_entry_stays_in_its_segment(struct kunit *test)
{
	struct entry *e = test->priv;
	u64 end = kvp_log_segment_end(&geometry, LSN), lsn;

	KUNIT_ASSERT_EQ(test, end, 6 * 2048ull - 3 * 512);
	for (lsn = end - 4; lsn < end; lsn++) {
		e->in.lsn = lsn;
		kvp_log_seal(e->buf, &e->in, POOL_NONCE);
		KUNIT_EXPECT_EQ_MSG(test,
				    kvp_log_decode(&geometry, e->buf, 1, POOL_NONCE, LOG_NONCE,
							 lsn, POOL_BLOCKS, &e->out, &e->why),
				    lsn + e->in.blocks <= end ? 0 : -EUCLEAN, "at end - %llu",
				    end - lsn);
	}
}

static void an_entry_of_any_activation_shows_its_epoch(struct kunit *test)
{
	struct entry *e = test->priv;
	u64 epoch = 0;

	e->in.nonce = LOG_NONCE + 99;
	e->in.epoch = 1234;
	kvp_log_seal(e->buf, &e->in, POOL_NONCE);
	KUNIT_EXPECT_TRUE(test, kvp_log_epoch(e->buf, 1, POOL_NONCE, &epoch));
	KUNIT_EXPECT_EQ(test, epoch, 1234);
	KUNIT_EXPECT_FALSE(test, kvp_log_epoch(e->buf, 0, POOL_NONCE, &epoch));
	e->buf[KVP_LOG_HDR_SIZE] ^= 1;
	KUNIT_EXPECT_FALSE(test, kvp_log_epoch(e->buf, 1, POOL_NONCE, &epoch));
	KUNIT_EXPECT_EQ(test, kvp_log_hdr_claims(e->buf), e->in.hdr_blocks);
	e->buf[0] ^= 1;
	KUNIT_EXPECT_EQ(test, kvp_log_hdr_claims(e->buf), 0);
}

/* Noise after a magic number is refused, whatever its lengths are. */
static void noise_is_refused(struct kunit *test)
{
	struct entry *e = test->priv;
	struct kvp_disk_log_hdr *d = (struct kvp_disk_log_hdr *)e->buf;
	u32 seed = 1, round, i;

	for (round = 0; round < 500; round++) {
		for (i = 0; i < KVP_BLOCK_SIZE; i++)
			e->buf[i] = (u8)((seed = seed * 1664525 + 1013904223) >> 24);
		d->magic = cpu_to_le32(KVP_LOG_MAGIC);
		d->nonce = cpu_to_le64(LOG_NONCE);
		d->rec_count = cpu_to_le32(round);
		if (round & 1)
			d->hdr_blocks = cpu_to_le32(kvp_log_hdr_blocks(round));
		KUNIT_EXPECT_EQ(test, decode(e, 3), -EUCLEAN);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(what_is_sealed_decodes, amount_gen_params),
	KUNIT_CASE_PARAM(padding_is_zero, amount_gen_params),
	KUNIT_CASE_PARAM(a_header_needs_all_its_blocks, amount_gen_params),
	KUNIT_CASE_PARAM(a_record_keeps_its_parts_apart, record_gen_params),
	KUNIT_CASE_PARAM(a_wrong_field_is_named, change_gen_params),
	KUNIT_CASE(any_changed_bit_is_noticed),
	KUNIT_CASE(data_cannot_pose_as_an_entry),
	KUNIT_CASE(an_entry_stays_in_its_segment),
	KUNIT_CASE(an_entry_of_any_activation_shows_its_epoch),
	KUNIT_CASE(noise_is_refused),
	{}
};

static struct kunit_suite suite = {
	.name = "kvpool_logentry",
	.init = make_entry,
	.test_cases = cases,
};
kunit_test_suite(suite);
