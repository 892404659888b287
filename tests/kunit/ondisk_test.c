// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sizes and offsets of everything on disk. They never change: a changed line here would mean that
 * older pools cannot be read any more.
 */
#include "kvpool_kunit.h"

struct field {
	const char *name;
	size_t at, size;		/* as compiled */
	size_t want_at, want_size;	/* as documented */
};

struct layout {
	const char *name;
	size_t size, want_size;
	const struct field *fields;
	size_t count;
};

#define FIELD(s, f, want_at, want_size) \
	{ #f, offsetof(struct kvp_disk_##s, f), sizeof_field(struct kvp_disk_##s, f), \
	  want_at, want_size }

static const struct field leg_fields[] = {
	FIELD(leg, uuid, 0, 16),
	FIELD(leg, state, 16, 4),
	FIELD(leg, in_sync_era, 20, 4),
	FIELD(leg, size_blocks, 24, 8),
	FIELD(leg, err_read, 32, 8),
	FIELD(leg, err_write, 40, 8),
	FIELD(leg, err_checksum, 48, 8),
	FIELD(leg, healed, 56, 8),
	FIELD(leg, cursor, 64, 8),
	FIELD(leg, in_sync_epoch, 72, 8),
	FIELD(leg, cursor_era, 80, 4),
	FIELD(leg, replaces, 84, 1),
	FIELD(leg, resolved, 85, 3),
	FIELD(leg, out, 88, 8),
};

static const struct field vdev_fields[] = {
	FIELD(vdev, kind, 0, 4),
	FIELD(vdev, first_leg, 4, 4),
	FIELD(vdev, leg_count, 8, 4),
	FIELD(vdev, table_levels, 12, 4),
	FIELD(vdev, table_start, 16, 8),
	FIELD(vdev, log_start, 24, 8),
	FIELD(vdev, log_segments, 32, 4),
	FIELD(vdev, segment_blocks, 36, 4),
	FIELD(vdev, data_start, 40, 8),
	FIELD(vdev, data_blocks, 48, 8),
	FIELD(vdev, chunk_blocks, 56, 4),
	FIELD(vdev, log_window, 60, 4),
	FIELD(vdev, table_copy, 64, 8),
	FIELD(vdev, shadow_uuid, 72, 16),
	FIELD(vdev, shadow_blocks, 88, 8),
	FIELD(vdev, shadow_cursor, 96, 8),
	FIELD(vdev, shadow_era, 104, 4),
	FIELD(vdev, shadow_of, 108, 1),
	FIELD(vdev, trim, 109, 3),
	FIELD(vdev, shadow_label, 112, 8),
	FIELD(vdev, spare, 120, 8),
};

static const struct field sb_fields[] = {
	FIELD(sb, magic, 0, 16),
	FIELD(sb, csum, 16, 4),
	FIELD(sb, version, 20, 4),
	FIELD(sb, compat, 24, 8),
	FIELD(sb, ro_compat, 32, 8),
	FIELD(sb, incompat, 40, 8),
	FIELD(sb, pool_uuid, 48, 16),
	FIELD(sb, leg_uuid, 64, 16),
	FIELD(sb, self_offset, 80, 8),
	FIELD(sb, epoch, 88, 8),
	FIELD(sb, sequence, 96, 8),
	FIELD(sb, write_time, 104, 8),
	FIELD(sb, create_time, 112, 8),
	FIELD(sb, leg_index, 120, 4),
	FIELD(sb, flags, 124, 4),
	FIELD(sb, nonce, 128, 8),
	FIELD(sb, log_nonce, 136, 8),
	FIELD(sb, log_tail, 144, 8),
	FIELD(sb, log_prev_lsn, 152, 8),
	FIELD(sb, log_prev_csum, 160, 4),
	FIELD(sb, era, 164, 4),
	FIELD(sb, log_commit, 168, 8),
	FIELD(sb, checkpoint, 176, 8),
	FIELD(sb, written_blocks, 184, 8),
	FIELD(sb, poisoned_blocks, 192, 8),
	FIELD(sb, pool_blocks, 200, 8),
	FIELD(sb, vdev_count, 208, 4),
	FIELD(sb, leg_count, 212, 4),
	FIELD(sb, fork_count, 216, 4),
	FIELD(sb, root_count, 220, 4),
	FIELD(sb, forks, 224, 128),
	FIELD(sb, tunable_mask, 352, 8),
	FIELD(sb, tunables, 360, 256),
	FIELD(sb, scrub_cursor, 616, 8),
	FIELD(sb, scrub_started, 624, 8),
	FIELD(sb, scrub_finished, 632, 8),
	FIELD(sb, scrub_healed, 640, 8),
	FIELD(sb, scrub_unrepaired, 648, 8),
	FIELD(sb, scrub_state, 656, 4),
	FIELD(sb, event_seq, 660, 4),
	FIELD(sb, name, 664, 64),
	FIELD(sb, comment, 728, 128),
	FIELD(sb, host, 856, 8),
	FIELD(sb, host_name, 864, 64),
	FIELD(sb, redo_nonce, 928, 8),
	FIELD(sb, redo_lsn, 936, 8),
	FIELD(sb, checkpoint_time, 944, 8),
	FIELD(sb, generations, 952, 72),
	FIELD(sb, vdevs, 1024, 2048),
	FIELD(sb, regions, 3072, 480),
	FIELD(sb, region_count, 3552, 4),
	FIELD(sb, log_vdev, 3556, 4),
	FIELD(sb, cache_lsn, 3560, 8),
	FIELD(sb, log_others, 3568, 4),
	FIELD(sb, behind, 3572, 4),
	FIELD(sb, uncounted_leaves, 3576, 4),
	FIELD(sb, log_discards, 3580, 1),
	FIELD(sb, trim_state, 3581, 1),
	FIELD(sb, reserved1, 3582, 1),
	FIELD(sb, redo_state, 3583, 1),
	FIELD(sb, legs, 3584, 4608),
	FIELD(sb, roots, 8192, 8192),
};

static const struct field page_fields[] = {
	FIELD(page, slot, 0, 4096),
};

static const struct field rec_fields[] = {
	FIELD(rec, addr, 0, 8),
	FIELD(rec, count, 8, 4),
	FIELD(rec, crc, 12, 4),
};

static const struct field log_hdr_fields[] = {
	FIELD(log_hdr, magic, 0, 4),
	FIELD(log_hdr, csum, 4, 4),
	FIELD(log_hdr, nonce, 8, 8),
	FIELD(log_hdr, epoch, 16, 8),
	FIELD(log_hdr, lsn, 24, 8),
	FIELD(log_hdr, prev_lsn, 32, 8),
	FIELD(log_hdr, prev_csum, 40, 4),
	FIELD(log_hdr, blocks, 44, 4),
	FIELD(log_hdr, durable, 48, 8),
	FIELD(log_hdr, hdr_blocks, 56, 4),
	FIELD(log_hdr, rec_count, 60, 4),
	FIELD(log_hdr, open_count, 64, 4),
	FIELD(log_hdr, flags, 68, 4),
	FIELD(log_hdr, open, 72, 128),
	FIELD(log_hdr, write_time, 200, 8),
	FIELD(log_hdr, limit_lsn, 208, 8),
	FIELD(log_hdr, limit_rec, 216, 4),
	FIELD(log_hdr, reserved, 220, 36),
};

static const struct field event_fields[] = {
	FIELD(event, magic, 0, 4),
	FIELD(event, csum, 4, 4),
	FIELD(event, seq, 8, 8),
	FIELD(event, time, 16, 8),
	FIELD(event, pool_uuid, 24, 16),
	FIELD(event, text, 40, 216),
};

static const struct field heartbeat_fields[] = {
	FIELD(heartbeat, magic, 0, 16),
	FIELD(heartbeat, csum, 16, 4),
	FIELD(heartbeat, version, 20, 4),
	FIELD(heartbeat, pool_uuid, 24, 16),
	FIELD(heartbeat, claim, 40, 8),
	FIELD(heartbeat, nonce, 48, 8),
	FIELD(heartbeat, counter, 56, 8),
	FIELD(heartbeat, host, 64, 8),
	FIELD(heartbeat, time, 72, 8),
	FIELD(heartbeat, interval, 80, 4),
	FIELD(heartbeat, limit, 84, 4),
	FIELD(heartbeat, host_name, 88, 64),
	FIELD(heartbeat, reserved, 152, 360),
};

#define LAYOUT(s, want_size) \
	{ "kvp_disk_" #s, sizeof(struct kvp_disk_##s), want_size, s##_fields, \
	  ARRAY_SIZE(s##_fields) }

static const struct layout layouts[] = {
	LAYOUT(leg, 96),
	LAYOUT(vdev, 128),
	LAYOUT(sb, 16384),
	LAYOUT(page, 4096),
	LAYOUT(rec, 16),
	LAYOUT(log_hdr, 256),
	LAYOUT(event, 256),
	LAYOUT(heartbeat, 512),
};
KUNIT_ARRAY_PARAM_DESC(layout, layouts, name);

static void a_structure_has_its_size(struct kunit *test)
{
	const struct layout *l = test->param_value;

	KUNIT_EXPECT_EQ(test, l->size, l->want_size);
}

static void every_field_is_in_its_place(struct kunit *test)
{
	const struct layout *l = test->param_value;
	size_t i;

	for (i = 0; i < l->count; i++) {
		KUNIT_EXPECT_EQ_MSG(test, l->fields[i].at, l->fields[i].want_at, "%s",
				    l->fields[i].name);
		KUNIT_EXPECT_EQ_MSG(test, l->fields[i].size, l->fields[i].want_size, "%s",
				    l->fields[i].name);
	}
}

/* then the tables above have every field */
static void the_fields_leave_no_gap(struct kunit *test)
{
	const struct layout *l = test->param_value;
	size_t i, at = 0;

	for (i = 0; i < l->count; i++) {
		KUNIT_EXPECT_EQ_MSG(test, l->fields[i].want_at, at, "%s", l->fields[i].name);
		at += l->fields[i].want_size;
	}
	KUNIT_EXPECT_EQ(test, at, l->want_size);
}

struct number {
	const char *name;
	u64 got, want;
};

static const struct number numbers[] = {
	{ "format version", KVP_FORMAT_VERSION, 1 },
	{ "block size", KVP_BLOCK_SIZE, 4096 },
	{ "label area", KVP_LABEL_BLOCKS, 256 },
	{ "first superblock", KVP_SB_FIRST_BLOCK, 16 },
	{ "superblock ring", KVP_SB_RING, 16 },
	{ "first heartbeat block", KVP_BEAT_BLOCK, 80 },
	{ "heartbeat blocks", KVP_BEAT_SLOTS, 4 },
	{ "first event block", KVP_EVENTS_BLOCK, 128 },
	{ "event blocks", KVP_EVENTS_BLOCKS, 64 },
	{ "first order block", KVP_ORDERS_BLOCK, 192 },
	{ "order blocks", KVP_ORDERS_BLOCKS, 64 },
	{ "events a block", KVP_EVENTS_PER_BLOCK, 16 },
	{ "entries a page", KVP_PTRS_PER_PAGE, 512 },
	{ "slot group", KVP_SLOT_GROUP, 16 },
	{ "log magic", KVP_LOG_MAGIC, 0x4c50564b },
	{ "event magic", KVP_EVENT_MAGIC, 0x4556504b },
	{ "longest entry", KVP_MAX_ENTRY_BLOCKS, 256 },
	{ "entry header", KVP_LOG_HDR_SIZE, 256 },
	{ "open intents", KVP_MAX_OPEN_INTENTS, 16 },
	{ "single", KVP_VDEV_SINGLE, 1 },
	{ "mirror", KVP_VDEV_MIRROR, 2 },
	{ "in sync", KVP_LEG_IN_SYNC, 1 },
	{ "stale", KVP_LEG_STALE, 2 },
	{ "faulted", KVP_LEG_FAULTED, 3 },
	{ "offline", KVP_LEG_OFFLINE, 4 },
	{ "resilvering", KVP_LEG_RESILVERING, 5 },
	{ "data record", KVP_REC_DATA, 1 },
	{ "intent record", KVP_REC_INTENT, 2 },
	{ "discard record", KVP_REC_DISCARD, 3 },
	{ "clean record", KVP_REC_CLEAN, 5 },
	{ "unwritten", KVP_ENTRY_UNWRITTEN, 0 },
	{ "valid", KVP_ENTRY_VALID, 1 },
	{ "poisoned", KVP_ENTRY_POISONED, 2 },
};
KUNIT_ARRAY_PARAM_DESC(number, numbers, name);

static void a_number_of_the_format_stays(struct kunit *test)
{
	const struct number *n = test->param_value;

	KUNIT_EXPECT_EQ(test, n->got, n->want);
}

static void the_rings_fit_into_the_label_area(struct kunit *test)
{
	u32 ring_end = KVP_SB_FIRST_BLOCK + KVP_SB_RING * KVP_SB_BLOCKS;

	KUNIT_EXPECT_EQ(test, sizeof(struct kvp_disk_sb), KVP_SB_SIZE);
	KUNIT_EXPECT_EQ(test, sizeof(struct kvp_disk_page), KVP_BLOCK_SIZE);
	KUNIT_EXPECT_LE(test, ring_end, KVP_EVENTS_BLOCK);
	KUNIT_EXPECT_LE(test, KVP_EVENTS_BLOCK + KVP_EVENTS_BLOCKS, KVP_ORDERS_BLOCK);
	KUNIT_EXPECT_LE(test, KVP_ORDERS_BLOCK + KVP_ORDERS_BLOCKS, KVP_LABEL_BLOCKS);
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(a_structure_has_its_size, layout_gen_params),
	KUNIT_CASE_PARAM(every_field_is_in_its_place, layout_gen_params),
	KUNIT_CASE_PARAM(the_fields_leave_no_gap, layout_gen_params),
	KUNIT_CASE_PARAM(a_number_of_the_format_stays, number_gen_params),
	KUNIT_CASE(the_rings_fit_into_the_label_area),
	{}
};

static struct kunit_suite suite = {
	.name = "kvpool_ondisk",
	.test_cases = cases,
};
kunit_test_suite(suite);
