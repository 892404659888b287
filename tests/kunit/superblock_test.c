// SPDX-License-Identifier: GPL-2.0-only
/* Superblock codec: decoding returns what was encoded, and every wrong field is named. */
#include "kvpool_kunit.h"
#include "format/generations.c"
#include "format/kind.c"
#include "format/replaces.c"
#include "format/shadow.c"
#include "format/spare.c"
#include "format/superblock.c"

#define LEG_BLOCKS	65536ull	/* 256 MiB */
#define OFFSET		65536ull	/* of slot 0 at the front */

struct slot {
	struct kvp_sb in, out;
	struct kvp_disk_sb disk;
	struct kvp_why why;
};

static void fill_legs(struct kvp_sb *sb)
{
	u32 i;

	for (i = 0; i < sb->leg_count; i++) {
		struct kvp_leg_info *l = &sb->legs[i];

		memset(l->uuid, 0xa0, sizeof(l->uuid));
		l->uuid[15] = (u8)i;
		l->state = i ? KVP_LEG_STALE : KVP_LEG_IN_SYNC;
		l->in_sync_era = 30 + i;
		l->size_blocks = LEG_BLOCKS + i;
		l->err_read = 31 + i;
		l->err_write = 32 + i;
		l->err_checksum = 33 + i;
		l->healed = 34 + i;
		l->cursor = i ? 35 + i : 0;
		l->cursor_era = i ? 36 + i : 0;
		l->in_sync_epoch = 37 + i;
		l->replaces = i == 1;
		l->out = i ? 38 + i : 0;
	}
	memcpy(sb->leg_uuid, sb->legs[sb->leg_index].uuid, sizeof(sb->leg_uuid));
}

static void fill_lists(struct kvp_sb *sb)
{
	u32 i;

	sb->fork_count = 3;
	for (i = 0; i < sb->fork_count; i++)
		sb->forks[i] = 0x1000 + i;
	sb->tunable_mask = 0x5;
	for (i = 0; i < KVP_MAX_TUNABLES; i++)
		sb->tunables[i] = 0x2000 + i;
	sb->root_count = (u32)kvp_pages_at(&sb->vdevs[0], sb->vdevs[0].levels - 1);
	for (i = 0; i < sb->root_count; i++)
		sb->roots[i] = 0xfedcba9876543210ull + i;
}

/* Every field has a value of its own. */
static void fill(struct kvp_sb *sb)
{
	u64 log = kvp_log_blocks(&sb->vdevs[0]);

	memset(sb->pool_uuid, 0x11, sizeof(sb->pool_uuid));
	sb->compat = 1;
	sb->ro_compat = 2;
	sb->self_offset = OFFSET;
	sb->epoch = 0x1122334455667788ull;
	sb->sequence = 3;
	sb->write_time = 4;
	sb->create_time = 5;
	sb->leg_index = 1;
	sb->flags = KVP_SB_EXPORTED | KVP_SB_CLEAN;
	sb->nonce = 6;
	sb->log_nonce = 7;
	sb->log_tail = log + 8;
	sb->log_prev_lsn = log + 1;
	sb->log_commit = log + 9;
	sb->log_resolved = log + 7;
	sb->log_prev_csum = 10;
	sb->era = KVP_ERA_LAST;
	sb->behind = 2;
	sb->behind_known = true;
	sb->checkpoint = 11;
	sb->written_blocks = 12;
	sb->poisoned_blocks = 13;
	sb->uncounted_leaves = 19;
	sb->log_discards = 3;
	sb->pool_blocks = 14;
	sb->vdev_count = 1;
	sb->leg_count = 2;
	sb->event_seq = 15;
	sb->scrub = (struct kvp_scrub_info){ 16, 17, 18, 19, 20, KVP_SCRUB_STOPPED };
	memset(sb->name, 'n', KVP_NAME_LEN);
	memset(sb->comment, 'c', KVP_COMMENT_LEN);
	sb->host = 21;
	memset(sb->host_name, 'h', KVP_NAME_LEN);
	fill_legs(sb);
	fill_lists(sb);
	kvp_map_build(sb, &sb->map);
}

static int make_slot(struct kunit *test)
{
	struct slot *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kvp_layout(KVP_VDEV_MIRROR, 2, LEG_BLOCKS, 0, 0, &s->in.vdevs[0],
					 &s->why), 0);
	fill(&s->in);
	kvp_sb_encode(&s->in, &s->disk);
	test->priv = s;
	return 0;
}

static int decode(struct slot *s)
{
	return kvp_sb_decode(&s->disk, OFFSET, LEG_BLOCKS, &s->out, &s->why);
}

static void seal(struct kvp_disk_sb *d)
{
	d->csum = cpu_to_le32(disk_sum(d));
}

static void what_goes_in_comes_out(struct kunit *test)
{
	struct slot *s = test->priv;

	KUNIT_EXPECT_EQ_MSG(test, decode(s), 0, "%s", s->why.text);
	KUNIT_EXPECT_MEMEQ(test, &s->out, &s->in, sizeof(s->in));
}

static void decoded_text_ends(struct kunit *test)
{
	struct slot *s = test->priv;

	memset(&s->out, 0xff, sizeof(s->out));
	KUNIT_EXPECT_EQ(test, decode(s), 0);
	KUNIT_EXPECT_EQ(test, strlen(s->out.name), KVP_NAME_LEN);
	KUNIT_EXPECT_EQ(test, strlen(s->out.comment), KVP_COMMENT_LEN);
	KUNIT_EXPECT_EQ(test, strlen(s->out.host_name), KVP_NAME_LEN);
}

static void reserved_bytes_are_zero(struct kunit *test)
{
	struct slot *s = test->priv;

	memset(&s->disk, 0xff, sizeof(s->disk));
	kvp_sb_encode(&s->in, &s->disk);
	KUNIT_EXPECT_NULL(test, memchr_inv(s->disk.generations, 0, sizeof(s->disk.generations)));
	KUNIT_EXPECT_EQ(test, s->disk.reserved1, 0);
	KUNIT_EXPECT_NULL(test, memchr_inv(&s->disk.vdevs[1], 0, sizeof(s->disk.vdevs[1]) * 15));
	KUNIT_EXPECT_NULL(test, memchr_inv(&s->disk.legs[2], 0, sizeof(s->disk.legs[2]) * 46));
}

static void encoding_is_little_endian(struct kunit *test)
{
	struct slot *s = test->priv;

	KUNIT_EXPECT_MEMEQ(test, s->disk.magic, "KVPOOL\r\n\x1asblk\0\0", 16);
	KUNIT_EXPECT_MEMEQ(test, &s->disk.version, "\x01\0\0\0", 4);
	KUNIT_EXPECT_MEMEQ(test, &s->disk.epoch, "\x88\x77\x66\x55\x44\x33\x22\x11", 8);
	KUNIT_EXPECT_MEMEQ(test, &s->disk.era, "\xfe\xff\xff\x3f", 4);
}

/* One field is changed and the sum made to match. */
struct change {
	const char *name;
	struct poke poke;
	int err;
	const char *words;
};

#define SB(field, value)	POKE(kvp_disk_sb, field, value)

static const struct change changes[] = {
	/* magic, version, features, location */
	{ "no magic", SB(magic[0], 0), -ENODATA, "no superblock" },
	{ "last byte of the magic", SB(magic[15], 1), -ENODATA, "no superblock" },
	{ "newer version", SB(version, 2), -EOPNOTSUPP, "version is 2, expected 1" },
	{ "version 0", SB(version, 0), -EOPNOTSUPP, "version is 0, expected 1" },
	{ "incompatible feature", SB(incompat, 8), -EOPNOTSUPP, "incompatible features is 8" },
	{ "vdevs whose extents were leaves", SB(incompat, 1), -EOPNOTSUPP, "incompatible features is 1" },
	{ "last incompatible feature", SB(incompat, 1ull << 63), -EOPNOTSUPP, "incompatible" },
	{ "any compatible feature", SB(compat, ~0ull), 0, NULL },
	{ "any read-only feature", SB(ro_compat, ~0ull), 0, NULL },
	{ "lies elsewhere", SB(self_offset, 0), -EUCLEAN, "own location is 0, expected 65536" },
	/* counts */
	{ "no vdev", SB(vdev_count, 0), -EUCLEAN, "number of vdevs" },
	{ "two vdevs", SB(vdev_count, 2), -EUCLEAN, "number of vdevs" },
	{ "endless vdevs", SB(vdev_count, ~0u), -EUCLEAN, "number of vdevs" },
	{ "regions without their feature", SB(region_count, 1), -EUCLEAN, "number of regions" },
	{ "the cache's feature without a cache", SB(incompat, 2), -EUCLEAN, "feature bit of the cache" },
	{ "their feature without regions", SB(incompat, 4), -EUCLEAN, "number of regions" },
	{ "log on a vdev that is not there", SB(log_vdev, 1), -EUCLEAN, "vdev of the log" },
	{ "the log's turns without their feature", SB(log_others, 2), -EUCLEAN, "log's turns" },
	{ "their feature without turns", SB(incompat, 32), -EUCLEAN, "log's turns" },
	{ "no legs", SB(leg_count, 0), -EUCLEAN, "number of legs" },
	{ "one leg too many", SB(leg_count, KVP_MAX_LEGS + 1), -EUCLEAN, "number of legs" },
	{ "endless legs", SB(leg_count, ~0u), -EUCLEAN, "number of legs" },
	{ "a leg beyond the last", SB(leg_index, 2), -EUCLEAN, "index of this leg" },
	{ "a leg far beyond", SB(leg_index, ~0u), -EUCLEAN, "index of this leg" },
	{ "all forks", SB(fork_count, KVP_MAX_FORKS), 0, NULL },
	{ "one fork too many", SB(fork_count, KVP_MAX_FORKS + 1), -EUCLEAN, "number of forks" },
	{ "one root too many", SB(root_count, KVP_MAX_ROOTS + 1), -EUCLEAN, "number of roots" },
	{ "endless roots", SB(root_count, ~0u), -EUCLEAN, "number of roots" },
	{ "era beyond its bits", SB(era, KVP_ERA_MAX + 1), -EUCLEAN, "era" },
	{ "era that has no next one", SB(era, KVP_ERA_MAX), -EUCLEAN, "era" },
	{ "era of a leg that is to come", SB(legs[1].in_sync_era, KVP_ERA_MAX), -EUCLEAN, "era of a leg" },
	{ "largest epoch that counts", SB(epoch, KVP_SB_COUNT_END - 1), 0, NULL },
	{ "epoch at its end", SB(epoch, KVP_SB_COUNT_END), -EUCLEAN, "epoch" },
	{ "largest epoch", SB(epoch, ~0ull), -EUCLEAN, "epoch" },
	{ "largest sequence", SB(sequence, ~0ull), -EUCLEAN, "sequence" },
	{ "largest number of a checkpoint", SB(checkpoint, ~0ull), -EUCLEAN, "number of the checkpoint" },
	{ "legs lack more than there was", SB(behind, 4), -EUCLEAN, "superblocks that legs lack" },
	{ "legs lack more than can be", SB(behind, ~0u), -EUCLEAN, "superblocks that legs lack" },
	{ "unknown scrub state", SB(scrub_state, 5), -EUCLEAN, "scrub state" },
	/* geometry: layout_test.c has the rest */
	{ "unknown kind", SB(vdevs[0].kind, 9), -EUCLEAN, "geometry: bad kind" },
	{ "17 legs in the vdev", SB(vdevs[0].leg_count, 17), -EUCLEAN, "number of legs" },
	{ "a window of a vdev with data", SB(vdevs[0].log_window, 1 << 18), -EUCLEAN, "log area" },
	{ "its feature without a cache", SB(incompat, 128), -EUCLEAN, "feature bit of the cache" },
	{ "no levels", SB(vdevs[0].table_levels, 0), -EUCLEAN, "table levels" },
	{ "table at 0", SB(vdevs[0].table_start, 0), -EUCLEAN, "table area" },
	{ "log at 0", SB(vdevs[0].log_start, 0), -EUCLEAN, "log area" },
	{ "no segments", SB(vdevs[0].log_segments, 0), -EUCLEAN, "log area" },
	{ "empty segments", SB(vdevs[0].segment_blocks, 0), -EUCLEAN, "log area" },
	{ "data at 0", SB(vdevs[0].data_start, 0), -EUCLEAN, "data area" },
	{ "endless data", SB(vdevs[0].data_blocks, ~0ull), -EUCLEAN, "data area" },
	/* content */
	{ "second table in the first", SB(vdevs[0].table_copy, 256), -EUCLEAN, "second copy" },
	{ "vdev begins at the second leg", SB(vdevs[0].first_leg, 1), -EUCLEAN, "legs of the vdev" },
	{ "more legs than the vdev has", SB(leg_count, 3), -EUCLEAN, "legs of the vdev" },
	{ "vdev has more legs", SB(vdevs[0].leg_count, 3), -EUCLEAN, "legs of the vdev" },
	{ "empty pool", SB(pool_blocks, 0), -EUCLEAN, "size of the pool" },
	{ "pool larger than the data", SB(pool_blocks, LEG_BLOCKS), -EUCLEAN, "size of the pool" },
	{ "no roots", SB(root_count, 0), -EUCLEAN, "number of roots" },
	{ "a root more than the table has", SB(root_count, KVP_MAX_ROOTS), -EUCLEAN, "number of roots" },
	{ "log tail at 0", SB(log_tail, 0), -EUCLEAN, "log position" },
	{ "log tail beyond all", SB(log_tail, 1ull << 56), -EUCLEAN, "log position" },
	{ "commit before the tail", SB(log_commit, 1), -EUCLEAN, "log position" },
	{ "commit a round away", SB(log_commit, ~0ull), -EUCLEAN, "log position" },
	{ "intents resolved beyond the commit", SB(legs[2].resolved[1], 1), -EUCLEAN,
	  "log position" },
	{ "place in the cache that wraps", SB(cache_lsn, 1ull << 55), -EUCLEAN,
	  "place in the cache" },
	{ "chain without rows", SB(redo_nonce, 1), -EUCLEAN, "place of a recovery's chain" },
	{ "state of no chain", SB(redo_state, KVP_REDO_BEGUN), -EUCLEAN,
	  "state of a recovery's chain" },
	{ "feature of a table behind the data", SB(incompat, KVP_INCOMPAT_TABLE_BEHIND), -EUCLEAN,
	  "feature bit of a table behind the data" },
	{ "feature of a heartbeat that is off", SB(incompat, KVP_INCOMPAT_HEARTBEAT), -EUCLEAN,
	  "feature bit of the heartbeat" },
	{ "scrub beyond the end", SB(scrub_cursor, LEG_BLOCKS), -EUCLEAN, "scrub cursor" },
	{ "trim beyond the end", SB(vdevs[2].trim[1], 255), 0, NULL },
	{ "unknown state of a trim", SB(trim_state, KVP_TRIM_FAILED + 1), 0, NULL },
	{ "control character in the name", SB(name[1], '\n'), -EUCLEAN, "name: control characters" },
	{ "control character in the comment", SB(comment[3], 127), -EUCLEAN, "comment: control" },
	{ "UTF-8 in the comment", SB(comment[3], 0xc3), 0, NULL },
	{ "control character in the host's name", SB(host_name[0], 27), -EUCLEAN, "host's name" },
	{ "leg without a state", SB(legs[1].state, 0), -EUCLEAN, "state of a leg" },
	{ "leg in an unknown state", SB(legs[0].state, 6), -EUCLEAN, "state of a leg" },
	{ "leg resilvering without the feature", SB(legs[1].state, KVP_LEG_RESILVERING), -EUCLEAN,
	  "feature bit of a resilver" },
	{ "resilver without a leg", SB(incompat, KVP_INCOMPAT_RESILVER), -EUCLEAN,
	  "feature bit of a resilver" },
	{ "cursor of a leg in sync", SB(legs[0].cursor, 1), -EUCLEAN, "cursor of a leg" },
	{ "cursor beyond the vdev", SB(legs[1].cursor, ~0ull), -EUCLEAN, "cursor of a leg" },
	{ "cursor of a later era", SB(legs[1].cursor_era, ~0u), -EUCLEAN, "cursor of a leg" },
	{ "in sync in an epoch to come", SB(legs[0].in_sync_epoch, ~0ull), -EUCLEAN, "epoch of a leg" },
	{ "era without a cursor", SB(legs[1].cursor, 0), -EUCLEAN, "cursor of a leg" },
	{ "leg in sync that is called out", SB(legs[0].out, 1), -EUCLEAN, "that called a leg out" },
	{ "called out by a superblock to come", SB(legs[1].out, 1ull << 63), -EUCLEAN,
	  "that called a leg out" },
	{ "called out, and none counts", SB(legs[1].out, 1), 0, NULL },
	{ "leg that replaces itself", SB(legs[1].replaces, 2), -EUCLEAN, "leg that another replaces" },
	{ "leg that replaces none there is", SB(legs[1].replaces, 3), -EUCLEAN, "leg that another replaces" },
	{ "leg that replaces none", SB(legs[1].replaces, 0), 0, NULL },
	{ "legs that replace each other", SB(legs[0].replaces, 2), 0, NULL },
	{ "a shadow of a mirror's leg", SB(vdevs[0].shadow_of, 1), -EUCLEAN, "leg whose place is to be taken" },
	{ "the rest of no shadow", SB(vdevs[0].shadow_cursor, ~0ull), 0, NULL },
	{ "leg offline", SB(legs[0].state, KVP_LEG_OFFLINE), 0, NULL },
	{ "two legs of one UUID", SB(legs[0].uuid[15], 1), -EUCLEAN, "one is there twice" },
	{ "not the leg it says", SB(leg_uuid[15], 0), -EUCLEAN, "UUID of this leg" },
};
KUNIT_ARRAY_PARAM_DESC(change, changes, name);

static void a_wrong_field_is_named(struct kunit *test)
{
	const struct change *c = test->param_value;
	struct slot *s = test->priv;

	poke(&s->disk, &c->poke);
	seal(&s->disk);
	KUNIT_EXPECT_EQ_MSG(test, decode(s), c->err, "%s", s->why.text);
	if (c->words)
		EXPECT_WHY(test, &s->why, c->words);
}

static void nothing_is_believed_before_the_sum(struct kunit *test)
{
	const struct change *c = test->param_value;
	struct slot *s = test->priv;

	if (c->err == -ENODATA)
		kunit_skip(test, "the magic comes before the sum");
	poke(&s->disk, &c->poke);
	KUNIT_EXPECT_EQ(test, decode(s), -EUCLEAN);
	EXPECT_WHY(test, &s->why, "superblock: sum is");
}

/* The same in a pool with a parity1, whose recovery has written a chain. */
#define CHAIN_SEGMENT	512	/* blocks */

static const struct change chain_changes[] = {
	{ "the chain of a recovery", SB(redo_state, KVP_REDO_AGAIN), 0, NULL },
	{ "amid a segment", SB(redo_lsn, 1), -EUCLEAN, "place of a recovery's chain" },
	{ "before the tail", SB(redo_lsn, -(u64)CHAIN_SEGMENT), -EUCLEAN,
	  "place of a recovery's chain" },
	{ "behind the window", SB(redo_lsn, 1ull << 40), -EUCLEAN, "place of a recovery's chain" },
	{ "unknown state", SB(redo_state, KVP_REDO_AGAIN + 1), -EUCLEAN,
	  "state of a recovery's chain" },
	{ "state without a chain", SB(redo_nonce, 0), -EUCLEAN, "state of a recovery's chain" },
};
KUNIT_ARRAY_PARAM_DESC(chain_change, chain_changes, name);

static void a_wrong_chain_is_named(struct kunit *test)
{
	const struct change *c = test->param_value;
	struct slot *s = test->priv;
	struct poke change = c->poke;

	memset(&s->in, 0, sizeof(s->in));
	KUNIT_ASSERT_EQ(test, kvp_layout(KVP_VDEV_PARITY1, 3, LEG_BLOCKS, 0, 0, &s->in.vdevs[0],
					 &s->why), 0);
	fill(&s->in);
	s->in.leg_count = 3;
	fill_legs(&s->in);
	s->in.legs[1].replaces = 0;
	KUNIT_ASSERT_EQ(test, s->in.vdevs[0].segment_blocks, CHAIN_SEGMENT);
	s->in.redo_nonce = 9;
	s->in.redo_lsn = kvp_log_blocks(&s->in.vdevs[0]) + s->in.vdevs[0].segment_blocks;
	s->in.redo_state = KVP_REDO_COMPLETE;
	kvp_sb_encode(&s->in, &s->disk);
	/* Places are counted from that of the chain. */
	if (change.at == offsetof(struct kvp_disk_sb, redo_lsn))
		change.value += s->in.redo_lsn;
	poke(&s->disk, &change);
	seal(&s->disk);
	KUNIT_EXPECT_EQ_MSG(test, decode(s), c->err, "%s", s->why.text);
	if (c->words)
		EXPECT_WHY(test, &s->why, c->words);
}

/* A parity1 with the largest chunk, whose second leg resilvers, and a cache with the least log. */
#define CACHE_BLOCKS	(1024 + 2 * KVP_LABEL_BLOCKS)

static const struct change cached_changes[] = {
	{ "nothing", SB(era, KVP_ERA_LAST), 0, NULL },
	{ "log too small for a discard of a stripe", SB(log_vdev, 1), -EUCLEAN,
	  "log size for the chunks" },
	{ "SSD that is out", SB(legs[4].state, KVP_LEG_OFFLINE), 0, NULL },
	{ "SSD that resilvers", SB(legs[4].state, KVP_LEG_RESILVERING), -EUCLEAN,
	  "state of a leg" },
	{ "cursor of an SSD", SB(legs[4].cursor, 1), -EUCLEAN, "cursor of a leg" },
	{ "era of a cursor of an SSD", SB(legs[4].cursor_era, 1), -EUCLEAN, "cursor of a leg" },
	{ "leg of a parity1 that replaces one", SB(legs[1].replaces, 1), -EUCLEAN,
	  "leg that another replaces" },
	{ "SSD that replaces one", SB(legs[4].replaces, 1), -EUCLEAN,
	  "leg that another replaces" },
};
KUNIT_ARRAY_PARAM_DESC(cached_change, cached_changes, name);

static void fill_cached(struct kunit *test, struct kvp_sb *sb, struct kvp_why *why)
{
	u32 i;

	memset(sb, 0, sizeof(*sb));
	sb->vdevs[0].chunk_blocks = 128;
	sb->vdevs[1].first_leg = 3;
	KUNIT_ASSERT_EQ(test, kvp_layout(KVP_VDEV_PARITY1, 3, LEG_BLOCKS, 0, 5 << 20,
					 &sb->vdevs[0], why), 0);
	KUNIT_ASSERT_EQ(test, kvp_layout_cache(KVP_VDEV_CACHE, 2, CACHE_BLOCKS, &sb->vdevs[1],
					       why), 0);
	fill(sb);
	sb->vdev_count = 2;
	sb->leg_count = 5;
	sb->incompat = KVP_INCOMPAT_VDEVS | KVP_INCOMPAT_RESILVER | kvp_cache_features(sb);
	sb->region_count = 1;
	sb->regions[0] = (struct kvp_region){ .blocks = sb->vdevs[0].data_blocks, .share = { 1 } };
	fill_legs(sb);
	sb->legs[1].state = KVP_LEG_RESILVERING;
	for (i = 1; i < sb->leg_count; i++)
		sb->legs[i].replaces = 0;
	for (i = sb->vdevs[1].first_leg; i < sb->leg_count; i++) {
		sb->legs[i].cursor = 0;
		sb->legs[i].cursor_era = 0;
	}
}

static void a_wrong_field_beside_a_cache_is_named(struct kunit *test)
{
	const struct change *c = test->param_value;
	struct slot *s = test->priv;

	fill_cached(test, &s->in, &s->why);
	kvp_sb_encode(&s->in, &s->disk);
	poke(&s->disk, &c->poke);
	seal(&s->disk);
	KUNIT_EXPECT_EQ_MSG(test, decode(s), c->err, "%s", s->why.text);
	if (c->words)
		EXPECT_WHY(test, &s->why, c->words);
}

/* In a mirror of three, each leg may replace one, but no two the same one. */
static void two_legs_do_not_replace_one(struct kunit *test)
{
	struct slot *s = test->priv;

	memset(&s->in, 0, sizeof(s->in));
	KUNIT_ASSERT_EQ(test, kvp_layout(KVP_VDEV_MIRROR, 3, LEG_BLOCKS, 0, 0, &s->in.vdevs[0],
					 &s->why), 0);
	fill(&s->in);
	s->in.leg_count = 3;
	fill_legs(&s->in);
	s->in.legs[2].replaces = 2;
	kvp_sb_encode(&s->in, &s->disk);
	KUNIT_EXPECT_EQ_MSG(test, decode(s), 0, "%s", s->why.text);
	s->in.legs[2].replaces = s->in.legs[1].replaces;
	kvp_sb_encode(&s->in, &s->disk);
	KUNIT_EXPECT_EQ(test, decode(s), -EUCLEAN);
	EXPECT_WHY(test, &s->why, "leg that another replaces");
}

/* A pool with its log on a cache, which has two generations behind the tail. */
static void fill_generations(struct kvp_sb *sb)
{
	u64 from = 20 * CHAIN_SEGMENT;

	memset(sb, 0, sizeof(*sb));
	sb->vdev_count = 2;
	sb->vdevs[0].kind = KVP_VDEV_MIRROR;
	sb->vdevs[1].kind = KVP_VDEV_CACHE;
	sb->vdevs[1].segment_blocks = CHAIN_SEGMENT;
	sb->log_vdev = 1;
	sb->incompat = KVP_INCOMPAT_GENERATIONS;
	sb->log_tail = from + 5;
	sb->log_commit = from + 4 * CHAIN_SEGMENT;
	sb->generation_count = 2;
	sb->generations[0] = (struct kvp_generation){ 1, from + CHAIN_SEGMENT, from + 9 };
	sb->generations[1] = (struct kvp_generation){ 2, from + 3 * CHAIN_SEGMENT,
						      from + 2 * CHAIN_SEGMENT };
}

/* One field is another one: the fault has these words, or there is none. */
#define EXPECT_GENERATIONS(field, value, words) do {					\
	const char *fault;								\
											\
	fill_generations(sb);								\
	sb->field = (value);								\
	fault = kvp_generations_fault(sb);						\
	KUNIT_EXPECT_EQ_MSG(test, strcmp(fault ?: "none", words), 0, #field ": %s",	\
			    fault ?: "none");						\
} while (0)

static void generations_that_lie_are_named(struct kunit *test)
{
	static const char end[] = "end of a generation of the log";
	static const char none[] = "generations of a log that has none";
	static const char bit[] = "feature bit of the log's generations";
	struct slot *s = test->priv;
	struct kvp_sb *sb = &s->in;
	u64 from = 20 * CHAIN_SEGMENT;

	EXPECT_GENERATIONS(log_vdev, 1, "none");
	EXPECT_GENERATIONS(incompat, 0, bit);
	EXPECT_GENERATIONS(generation_count, 0, bit);
	EXPECT_GENERATIONS(log_vdev, 0, none);
	EXPECT_GENERATIONS(vdevs[0].kind, KVP_VDEV_PARITY1, none);
	EXPECT_GENERATIONS(generations[0].next_lsn, from + CHAIN_SEGMENT + 1, end);
	EXPECT_GENERATIONS(generations[0].next_lsn, from, end);
	EXPECT_GENERATIONS(generations[0].next_lsn, from + 3 * CHAIN_SEGMENT, end);
	EXPECT_GENERATIONS(generations[1].next_lsn, from + 5 * CHAIN_SEGMENT, end);
	EXPECT_GENERATIONS(generations[1].last_lsn, from + 3 * CHAIN_SEGMENT, end);
	EXPECT_GENERATIONS(generations[1].last_lsn, from + CHAIN_SEGMENT - 1, end);
	EXPECT_GENERATIONS(generations[0].last_lsn, from + 4, end);
	/* That is right if it is the entry before the tail. */
	sb->log_prev_lsn = from + 4;
	KUNIT_EXPECT_NULL(test, kvp_generations_fault(sb));
}

static void any_changed_bit_is_noticed(struct kunit *test)
{
	struct slot *s = test->priv;
	u8 *bytes = (u8 *)&s->disk;
	u32 bit;

	for (bit = 0; bit < sizeof(s->disk) * 8; bit += 997) {
		bytes[bit / 8] ^= 1 << bit % 8;
		KUNIT_EXPECT_NE_MSG(test, decode(s), 0, "bit %u", bit);
		bytes[bit / 8] ^= 1 << bit % 8;
	}
	KUNIT_EXPECT_EQ(test, decode(s), 0);
}

static void a_copy_of_another_place_is_refused(struct kunit *test)
{
	struct slot *s = test->priv;
	int ret = kvp_sb_decode(&s->disk, OFFSET + KVP_SB_SIZE, LEG_BLOCKS, &s->out, &s->why);

	KUNIT_EXPECT_EQ(test, ret, -EUCLEAN);
	EXPECT_WHY(test, &s->why, "own location");
}

static void every_known_feature_has_a_name(struct kunit *test)
{
	char text[KVP_FEATURES_LEN];
	u32 bit;

	for (bit = 0; bit < 64; bit++) {
		kvp_features_print(1ull << bit, text);
		KUNIT_EXPECT_EQ_MSG(test, !*text, !(KVP_INCOMPAT_KNOWN >> bit & 1), "bit %u: %s", bit, text);
	}
	kvp_features_print(0, text);
	KUNIT_EXPECT_STREQ(test, text, "");
	kvp_features_print(KVP_INCOMPAT_CACHE | KVP_INCOMPAT_VDEVS | KVP_INCOMPAT_LOG_WINDOW, text);
	KUNIT_EXPECT_STREQ(test, text, "vdevs,cache,log-window");
	kvp_features_print(~0ull, text);
	KUNIT_EXPECT_STREQ(test, text, "vdevs,cache,cache-parity1,log-window,log-turns,generations,resilver,table-behind,heartbeat,folded-sums");
}

/* The superblock of a parity1 of three legs; the second one is to leave. */
static void shadow_slot(struct slot *s)
{
	memset(&s->in.legs[2], 0, sizeof(s->in.legs[2]));
	s->in.legs[1].replaces = 0;
	s->in.legs[2].state = KVP_LEG_IN_SYNC;
	s->in.legs[2].size_blocks = LEG_BLOCKS;
	s->in.leg_count = 3;
	s->in.root_count = (u32)kvp_sb_roots(&s->in);
	s->in.log_tail = kvp_lsn(kvp_log_blocks(&s->in.vdevs[0]) + 8);
	s->in.log_prev_lsn = kvp_lsn(kvp_log_blocks(&s->in.vdevs[0]) + 1);
	s->in.log_commit = s->in.log_tail;
	s->in.shadow = (struct kvp_shadow_info){ .size_blocks = LEG_BLOCKS, .cursor = kvp_vblock(5),
						 .cursor_era = 6, .of = 2, .label = 7 };
	memset(s->in.shadow.uuid, 0x5d, sizeof(s->in.shadow.uuid));
	kvp_map_build(&s->in, &s->in.map);
	kvp_sb_encode(&s->in, &s->disk);
}

static void a_shadow_of_a_parity1(struct kunit *test)
{
	static const struct change wrong[] = {
		{ "beyond the legs", SB(vdevs[0].shadow_of, 4), 0, "leg whose place is to be taken" },
		{ "cursor beyond the vdev", SB(vdevs[0].shadow_cursor, ~0ull), 0, "cursor of a device" },
		{ "later era", SB(vdevs[0].shadow_era, ~0u), 0, "cursor of a device" },
		{ "era without a cursor", SB(vdevs[0].shadow_cursor, 0), 0, "cursor of a device" },
	};
	struct slot *s = test->priv;
	u32 i;

	KUNIT_ASSERT_EQ(test, kvp_layout(KVP_VDEV_PARITY1, 3, LEG_BLOCKS, 0, 0, &s->in.vdevs[0],
					 &s->why), 0);
	shadow_slot(s);
	KUNIT_EXPECT_EQ_MSG(test, decode(s), 0, "%s", s->why.text);
	KUNIT_EXPECT_MEMEQ(test, &s->out, &s->in, sizeof(s->in));
	KUNIT_EXPECT_EQ(test, kvp_shadow_leg(&s->out), 1u);
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		kvp_sb_encode(&s->in, &s->disk);
		poke(&s->disk, &wrong[i].poke);
		seal(&s->disk);
		KUNIT_EXPECT_EQ_MSG(test, decode(s), -EUCLEAN, "%s", wrong[i].name);
		EXPECT_WHY(test, &s->why, wrong[i].words);
	}
	memcpy(s->in.shadow.uuid, s->in.legs[2].uuid, sizeof(s->in.shadow.uuid));
	kvp_sb_encode(&s->in, &s->disk);
	KUNIT_EXPECT_EQ(test, decode(s), -EUCLEAN);
	EXPECT_WHY(test, &s->why, "UUID of a device");
	s->in.shadow.of = 0;
	kvp_sb_encode(&s->in, &s->disk);
	KUNIT_EXPECT_EQ(test, decode(s), 0);
	KUNIT_EXPECT_EQ(test, kvp_shadow_leg(&s->out), (u32)KVP_MAX_LEGS);
}

static void a_shrunken_device_is_refused(struct kunit *test)
{
	struct slot *s = test->priv;
	int ret = kvp_sb_decode(&s->disk, OFFSET, LEG_BLOCKS / 2, &s->out, &s->why);

	KUNIT_EXPECT_EQ(test, ret, -ENOSPC);
	EXPECT_WHY(test, &s->why, "of the end are gone");
	KUNIT_EXPECT_MEMEQ(test, s->out.leg_uuid, s->in.leg_uuid, 16);
	/* a list that never fitted is damage */
	s->disk.legs[1].size_blocks = cpu_to_le64(LEG_BLOCKS / 2);
	seal(&s->disk);
	ret = kvp_sb_decode(&s->disk, OFFSET, LEG_BLOCKS / 2, &s->out, &s->why);
	KUNIT_EXPECT_EQ(test, ret, -EUCLEAN);
	EXPECT_WHY(test, &s->why, "device of 32768 blocks");
}

static void slots_lie_in_their_label_area(struct kunit *test)
{
	u64 last = 0;
	unsigned int end, n;

	for (end = 0; end < 2; end++) {
		u64 label = end ? (LEG_BLOCKS - KVP_LABEL_BLOCKS) * KVP_BLOCK_SIZE : 0;

		for (n = 0; n < KVP_SB_RING; n++) {
			u64 at = kvp_sb_slot_offset(LEG_BLOCKS, end, n);

			KUNIT_EXPECT_EQ(test, at % KVP_SB_SIZE, 0);
			KUNIT_EXPECT_GE(test, at, label + KVP_SB_FIRST_BLOCK * KVP_BLOCK_SIZE);
			KUNIT_EXPECT_GE(test, at, last);
			last = at + KVP_SB_SIZE;
			KUNIT_EXPECT_LE(test, last, label + KVP_EVENTS_BLOCK * KVP_BLOCK_SIZE);
		}
		KUNIT_EXPECT_EQ(test, kvp_sb_slot_offset(LEG_BLOCKS, end, KVP_SB_RING),
				kvp_sb_slot_offset(LEG_BLOCKS, end, 0));
	}
}

struct rivals {
	const char *name;
	u64 epoch, sequence, other_epoch, other_sequence;
	bool newer;
};

static const struct rivals rivals[] = {
	{ "higher sequence", 1, 2, 1, 1, true },
	{ "lower sequence", 1, 1, 1, 2, false },
	{ "the same", 1, 1, 1, 1, false },
	{ "higher epoch", 2, 1, 1, 9, true },
	{ "lower epoch", 1, 9, 2, 1, false },
	{ "largest", ~0ull, ~0ull, ~0ull, 0, true },
};
KUNIT_ARRAY_PARAM_DESC(rivals, rivals, name);

static void epoch_comes_before_sequence(struct kunit *test)
{
	const struct rivals *r = test->param_value;
	struct slot *s = test->priv;

	s->in.epoch = r->epoch;
	s->in.sequence = r->sequence;
	s->out.epoch = r->other_epoch;
	s->out.sequence = r->other_sequence;
	KUNIT_EXPECT_EQ(test, kvp_sb_newer(&s->in, &s->out), r->newer);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(what_goes_in_comes_out),
	KUNIT_CASE(decoded_text_ends),
	KUNIT_CASE(reserved_bytes_are_zero),
	KUNIT_CASE(encoding_is_little_endian),
	KUNIT_CASE_PARAM(a_wrong_field_is_named, change_gen_params),
	KUNIT_CASE_PARAM(nothing_is_believed_before_the_sum, change_gen_params),
	KUNIT_CASE_PARAM(a_wrong_chain_is_named, chain_change_gen_params),
	KUNIT_CASE_PARAM(a_wrong_field_beside_a_cache_is_named, cached_change_gen_params),
	KUNIT_CASE(two_legs_do_not_replace_one),
	KUNIT_CASE(generations_that_lie_are_named),
	KUNIT_CASE(any_changed_bit_is_noticed),
	KUNIT_CASE(a_copy_of_another_place_is_refused),
	KUNIT_CASE(every_known_feature_has_a_name),
	KUNIT_CASE(a_shadow_of_a_parity1),
	KUNIT_CASE(a_shrunken_device_is_refused),
	KUNIT_CASE(slots_lie_in_their_label_area),
	KUNIT_CASE_PARAM(epoch_comes_before_sequence, rivals_gen_params),
	{}
};

static struct kunit_suite suite = {
	.name = "kvpool_superblock",
	.init = make_slot,
	.test_cases = cases,
};
kunit_test_suite(suite);
