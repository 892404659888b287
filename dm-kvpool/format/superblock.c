// SPDX-License-Identifier: GPL-2.0-only
/*
 * Superblock codec. Encoding and decoding walk the fields in disk order; the
 * decoder trusts nothing before the sum, and nothing after it without a range.
 */
#include "format/format.h"
#include "format/generations.h"
#include "format/heartbeat.h"
#include "format/logplace.h"
#include "format/outs.h"
#include "format/regions.h"
#include "format/replaces.h"
#include "format/shadow.h"
#include "format/spare.h"

u64 kvp_sb_slot_offset(u64 leg_blocks, unsigned int end, unsigned int slot)
{
	u64 label = end ? leg_blocks - KVP_LABEL_BLOCKS : 0;

	return ((label + KVP_SB_FIRST_BLOCK) << KVP_BLOCK_SHIFT) +
	       (u64)(slot % KVP_SB_RING) * KVP_SB_SIZE;
}

static void encode_vdev(const struct kvp_geometry *g, struct kvp_disk_vdev *d)
{
	d->kind = cpu_to_le32(g->kind);
	d->first_leg = cpu_to_le32(g->first_leg);
	d->leg_count = cpu_to_le32(g->leg_count);
	d->table_levels = cpu_to_le32(g->levels);
	d->table_start = cpu_to_le64(g->table_start);
	d->log_start = cpu_to_le64(g->log_start);
	d->log_segments = cpu_to_le32(g->segments);
	d->segment_blocks = cpu_to_le32(g->segment_blocks);
	d->data_start = cpu_to_le64(g->data_start);
	d->data_blocks = cpu_to_le64(g->data_blocks);
	d->chunk_blocks = cpu_to_le32(g->chunk_blocks);
	d->log_window = cpu_to_le32((u32)g->log_window);
	d->table_copy = cpu_to_le64(g->table_copy);
}

static void decode_vdev(const struct kvp_disk_vdev *d, struct kvp_geometry *g)
{
	g->kind = le32_to_cpu(d->kind);
	g->first_leg = le32_to_cpu(d->first_leg);
	g->leg_count = le32_to_cpu(d->leg_count);
	g->levels = le32_to_cpu(d->table_levels);
	g->table_start = le64_to_cpu(d->table_start);
	g->log_start = le64_to_cpu(d->log_start);
	g->segments = le32_to_cpu(d->log_segments);
	g->segment_blocks = le32_to_cpu(d->segment_blocks);
	g->data_start = le64_to_cpu(d->data_start);
	g->data_blocks = le64_to_cpu(d->data_blocks);
	g->chunk_blocks = le32_to_cpu(d->chunk_blocks);
	g->log_window = le32_to_cpu(d->log_window);
	g->table_copy = le64_to_cpu(d->table_copy);
}

static void encode_leg(const struct kvp_leg_info *l, struct kvp_disk_leg *d)
{
	memcpy(d->uuid, l->uuid, sizeof(d->uuid));
	d->state = cpu_to_le32(l->state);
	d->in_sync_era = cpu_to_le32(l->in_sync_era);
	d->size_blocks = cpu_to_le64(l->size_blocks);
	d->err_read = cpu_to_le64(l->err_read);
	d->err_write = cpu_to_le64(l->err_write);
	d->err_checksum = cpu_to_le64(l->err_checksum);
	d->healed = cpu_to_le64(l->healed);
	d->cursor = cpu_to_le64(kvp_vblock_nr(l->cursor));
	d->cursor_era = cpu_to_le32(l->cursor_era);
	d->in_sync_epoch = cpu_to_le64(l->in_sync_epoch);
	d->replaces = l->replaces;
	d->out = cpu_to_le64(l->out);
}

static void decode_leg(const struct kvp_disk_leg *d, struct kvp_leg_info *l)
{
	memcpy(l->uuid, d->uuid, sizeof(l->uuid));
	l->state = le32_to_cpu(d->state);
	l->in_sync_era = le32_to_cpu(d->in_sync_era);
	l->size_blocks = le64_to_cpu(d->size_blocks);
	l->err_read = le64_to_cpu(d->err_read);
	l->err_write = le64_to_cpu(d->err_write);
	l->err_checksum = le64_to_cpu(d->err_checksum);
	l->healed = le64_to_cpu(d->healed);
	l->cursor = kvp_vblock(le64_to_cpu(d->cursor));
	l->cursor_era = le32_to_cpu(d->cursor_era);
	l->in_sync_epoch = le64_to_cpu(d->in_sync_epoch);
	l->replaces = d->replaces;
	l->out = le64_to_cpu(d->out);
}

static void encode_log(const struct kvp_sb *sb, struct kvp_disk_sb *d)
{
	d->log_nonce = cpu_to_le64(sb->log_nonce);
	d->log_tail = cpu_to_le64(kvp_lsn_nr(sb->log_tail));
	d->log_prev_lsn = cpu_to_le64(kvp_lsn_nr(sb->log_prev_lsn));
	d->log_prev_csum = cpu_to_le32(sb->log_prev_csum);
	d->log_commit = cpu_to_le64(kvp_lsn_nr(sb->log_commit));
	d->era = cpu_to_le32(sb->era);
	d->checkpoint = cpu_to_le64(sb->checkpoint);
	d->written_blocks = cpu_to_le64(sb->written_blocks);
	d->poisoned_blocks = cpu_to_le64(sb->poisoned_blocks);
	d->uncounted_leaves = cpu_to_le32(sb->uncounted_leaves);
	d->pool_blocks = cpu_to_le64(sb->pool_blocks);
	d->redo_nonce = cpu_to_le64(sb->redo_nonce);
	d->redo_lsn = cpu_to_le64(kvp_lsn_nr(sb->redo_lsn));
	d->redo_state = (u8)sb->redo_state;
	d->log_discards = sb->log_discards;
	d->checkpoint_time = cpu_to_le64(sb->checkpoint_time);
	kvp_generations_encode(sb, d);
}

static void encode_scrub(const struct kvp_scrub_info *s, struct kvp_disk_sb *d)
{
	d->scrub_cursor = cpu_to_le64(kvp_block_nr(s->cursor));
	d->scrub_started = cpu_to_le64(s->started);
	d->scrub_finished = cpu_to_le64(s->finished);
	d->scrub_healed = cpu_to_le64(s->healed);
	d->scrub_unrepaired = cpu_to_le64(s->unrepaired);
	d->scrub_state = cpu_to_le32(s->state);
}

/* Two little-endian numbers, the cursor first: three bytes in each vdev. */
static void encode_trim(const struct kvp_trim_info *t, struct kvp_disk_sb *d)
{
	__le64 raw[2] = { cpu_to_le64(kvp_block_nr(t->cursor)), cpu_to_le64(t->blocks) };
	u32 i;

	for (i = 0; i < sizeof(raw); i++)
		d->vdevs[i / 3].trim[i % 3] = ((const u8 *)raw)[i];
	d->trim_state = (u8)t->state;
}

/* A little-endian number: three bytes in each leg. */
static void encode_resolved(kvp_lsn_t lsn, struct kvp_disk_sb *d)
{
	__le64 raw = cpu_to_le64(kvp_lsn_nr(lsn));
	u32 i;

	for (i = 0; i < sizeof(raw); i++)
		d->legs[i / 3].resolved[i % 3] = ((const u8 *)&raw)[i];
}

static kvp_lsn_t decode_resolved(const struct kvp_disk_sb *d)
{
	__le64 raw;
	u32 i;

	for (i = 0; i < sizeof(raw); i++)
		((u8 *)&raw)[i] = d->legs[i / 3].resolved[i % 3];
	return kvp_lsn(le64_to_cpu(raw));
}

static void encode_regions(const struct kvp_sb *sb, struct kvp_disk_sb *d)
{
	u32 i, v;

	d->region_count = cpu_to_le32(sb->region_count);
	d->log_vdev = cpu_to_le32(sb->log_vdev);
	d->cache_lsn = cpu_to_le64(kvp_lsn_nr(sb->cache_lsn));
	d->log_others = cpu_to_le32(sb->log_others);
	d->behind = cpu_to_le32(sb->behind_known ? sb->behind + 1 : 0);
	for (i = 0; i < sb->region_count; i++) {
		d->regions[i].blocks = cpu_to_le64(sb->regions[i].blocks);
		for (v = 0; v < KVP_MAX_VDEVS; v++)
			d->regions[i].share[v] = cpu_to_le16(sb->regions[i].share[v]);
	}
}

static void encode_lists(const struct kvp_sb *sb, struct kvp_disk_sb *d)
{
	u32 i;

	d->vdev_count = cpu_to_le32(sb->vdev_count);
	d->leg_count = cpu_to_le32(sb->leg_count);
	d->fork_count = cpu_to_le32(sb->fork_count);
	d->root_count = cpu_to_le32(sb->root_count);
	d->tunable_mask = cpu_to_le64(sb->tunable_mask);
	for (i = 0; i < KVP_MAX_FORKS; i++)
		d->forks[i] = cpu_to_le64(sb->forks[i]);
	for (i = 0; i < KVP_MAX_TUNABLES; i++)
		d->tunables[i] = cpu_to_le64(sb->tunables[i]);
	for (i = 0; i < sb->vdev_count; i++)
		encode_vdev(&sb->vdevs[i], &d->vdevs[i]);
	kvp_shadow_encode(&sb->shadow, d);
	kvp_spares_encode(sb, d);
	encode_trim(&sb->trim, d);
	encode_regions(sb, d);
	for (i = 0; i < sb->leg_count; i++)
		encode_leg(&sb->legs[i], &d->legs[i]);
	encode_resolved(sb->log_resolved, d);
	for (i = 0; i < sb->root_count; i++)
		d->roots[i] = cpu_to_le64(sb->roots[i]);
}

void kvp_sb_encode(const struct kvp_sb *sb, struct kvp_disk_sb *d)
{
	memset(d, 0, sizeof(*d));
	memcpy(d->magic, KVP_SB_MAGIC, KVP_SB_MAGIC_LEN);
	d->version = cpu_to_le32(KVP_FORMAT_VERSION);
	d->compat = cpu_to_le64(sb->compat);
	d->ro_compat = cpu_to_le64(sb->ro_compat);
	d->incompat = cpu_to_le64(sb->incompat);
	memcpy(d->pool_uuid, sb->pool_uuid, sizeof(d->pool_uuid));
	memcpy(d->leg_uuid, sb->leg_uuid, sizeof(d->leg_uuid));
	d->self_offset = cpu_to_le64(sb->self_offset);
	d->epoch = cpu_to_le64(sb->epoch);
	d->sequence = cpu_to_le64(sb->sequence);
	d->write_time = cpu_to_le64(sb->write_time);
	d->create_time = cpu_to_le64(sb->create_time);
	d->leg_index = cpu_to_le32(sb->leg_index);
	d->flags = cpu_to_le32(sb->flags);
	d->nonce = cpu_to_le64(sb->nonce);
	encode_log(sb, d);
	encode_scrub(&sb->scrub, d);
	d->event_seq = cpu_to_le32(sb->event_seq);
	memcpy(d->name, sb->name, strnlen(sb->name, KVP_NAME_LEN));
	memcpy(d->comment, sb->comment, strnlen(sb->comment, KVP_COMMENT_LEN));
	d->host = cpu_to_le64(sb->host);
	memcpy(d->host_name, sb->host_name, strnlen(sb->host_name, KVP_NAME_LEN));
	encode_lists(sb, d);
	d->csum = cpu_to_le32(kvp_crc32c(~0u, d, sizeof(*d)));
}

static u32 disk_sum(const struct kvp_disk_sb *d)
{
	const __le32 zero = 0;
	size_t at = offsetof(struct kvp_disk_sb, csum), after = at + sizeof(zero);
	u32 crc = kvp_crc32c(~0u, d, at);

	crc = kvp_crc32c(crc, &zero, sizeof(zero));
	return kvp_crc32c(crc, (const u8 *)d + after, sizeof(*d) - after);
}

static void decode_fields(const struct kvp_disk_sb *d, struct kvp_sb *sb)
{
	u32 i;

	memset(sb, 0, sizeof(*sb));
	memcpy(sb->pool_uuid, d->pool_uuid, sizeof(sb->pool_uuid));
	memcpy(sb->leg_uuid, d->leg_uuid, sizeof(sb->leg_uuid));
	sb->compat = le64_to_cpu(d->compat);
	sb->ro_compat = le64_to_cpu(d->ro_compat);
	sb->incompat = le64_to_cpu(d->incompat);
	sb->self_offset = le64_to_cpu(d->self_offset);
	sb->epoch = le64_to_cpu(d->epoch);
	sb->sequence = le64_to_cpu(d->sequence);
	sb->write_time = le64_to_cpu(d->write_time);
	sb->create_time = le64_to_cpu(d->create_time);
	sb->leg_index = le32_to_cpu(d->leg_index);
	sb->flags = le32_to_cpu(d->flags);
	sb->nonce = le64_to_cpu(d->nonce);
	sb->log_nonce = le64_to_cpu(d->log_nonce);
	sb->log_tail = kvp_lsn(le64_to_cpu(d->log_tail));
	sb->log_prev_lsn = kvp_lsn(le64_to_cpu(d->log_prev_lsn));
	sb->log_prev_csum = le32_to_cpu(d->log_prev_csum);
	sb->log_commit = kvp_lsn(le64_to_cpu(d->log_commit));
	sb->log_resolved = decode_resolved(d);
	sb->era = le32_to_cpu(d->era);
	sb->checkpoint = le64_to_cpu(d->checkpoint);
	sb->written_blocks = le64_to_cpu(d->written_blocks);
	sb->poisoned_blocks = le64_to_cpu(d->poisoned_blocks);
	sb->uncounted_leaves = le32_to_cpu(d->uncounted_leaves);
	sb->pool_blocks = le64_to_cpu(d->pool_blocks);
	sb->redo_nonce = le64_to_cpu(d->redo_nonce);
	sb->redo_lsn = kvp_lsn(le64_to_cpu(d->redo_lsn));
	sb->redo_state = d->redo_state;
	sb->log_discards = d->log_discards;
	sb->checkpoint_time = le64_to_cpu(d->checkpoint_time);
	kvp_generations_decode(d, sb);
	sb->vdev_count = le32_to_cpu(d->vdev_count);
	sb->leg_count = le32_to_cpu(d->leg_count);
	sb->fork_count = le32_to_cpu(d->fork_count);
	sb->root_count = le32_to_cpu(d->root_count);
	sb->region_count = le32_to_cpu(d->region_count);
	sb->log_vdev = le32_to_cpu(d->log_vdev);
	sb->cache_lsn = kvp_lsn(le64_to_cpu(d->cache_lsn));
	sb->log_others = le32_to_cpu(d->log_others);
	sb->behind_known = d->behind;
	sb->behind = sb->behind_known ? le32_to_cpu(d->behind) - 1 : 0;
	sb->event_seq = le32_to_cpu(d->event_seq);
	sb->tunable_mask = le64_to_cpu(d->tunable_mask);
	for (i = 0; i < KVP_MAX_FORKS; i++)
		sb->forks[i] = le64_to_cpu(d->forks[i]);
	for (i = 0; i < KVP_MAX_TUNABLES; i++)
		sb->tunables[i] = le64_to_cpu(d->tunables[i]);
	sb->scrub.cursor = kvp_block(le64_to_cpu(d->scrub_cursor));
	sb->scrub.started = le64_to_cpu(d->scrub_started);
	sb->scrub.finished = le64_to_cpu(d->scrub_finished);
	sb->scrub.healed = le64_to_cpu(d->scrub_healed);
	sb->scrub.unrepaired = le64_to_cpu(d->scrub_unrepaired);
	sb->scrub.state = le32_to_cpu(d->scrub_state);
	memcpy(sb->name, d->name, KVP_NAME_LEN);
	memcpy(sb->comment, d->comment, KVP_COMMENT_LEN);
	sb->host = le64_to_cpu(d->host);
	memcpy(sb->host_name, d->host_name, KVP_NAME_LEN);
}

static const char *count_fault(const struct kvp_sb *sb)
{
	if (!sb->vdev_count || sb->vdev_count > KVP_MAX_VDEVS ||
	    (sb->vdev_count > 1 && !(sb->incompat & KVP_INCOMPAT_VDEVS)))
		return "number of vdevs";
	if (sb->region_count > KVP_MAX_REGIONS ||
	    !sb->region_count != !(sb->incompat & KVP_INCOMPAT_VDEVS))
		return "number of regions";
	if (sb->log_vdev >= sb->vdev_count)
		return "vdev of the log";
	if (!sb->leg_count || sb->leg_count > KVP_MAX_LEGS)
		return "number of legs";
	if (sb->leg_index >= sb->leg_count)
		return "index of this leg";
	if (sb->fork_count > KVP_MAX_FORKS)
		return "number of forks";
	if (sb->root_count > KVP_MAX_ROOTS)
		return "number of roots";
	/* A start raises each of them, and must not wrap. */
	if (sb->era > KVP_ERA_LAST)
		return "era";
	if (sb->epoch >= KVP_SB_COUNT_END)
		return "epoch";
	if (sb->sequence >= KVP_SB_COUNT_END)
		return "sequence";
	if (sb->checkpoint >= KVP_SB_COUNT_END)
		return "number of the checkpoint";
	if (sb->scrub.state > KVP_SCRUB_STOPPED)
		return "scrub state";
	return NULL;
}

/* Names and comments reach terminals and lines of KEY=VALUE. Bytes above 127 are UTF-8. */
bool kvp_text_valid(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 127)
			return false;
	return true;
}

/* Each vdev's legs follow those of the one before; the smallest of them is large enough for it. */
static int check_vdevs(const struct kvp_sb *sb, u64 leg_blocks, struct kvp_why *why)
{
	u32 next = 0, i, l;
	bool sound = true;
	int ret = 0;

	for (i = 0; !ret && i < sb->vdev_count; i++) {
		const struct kvp_geometry *g = &sb->vdevs[i];
		u64 smallest = ~0ull;

		for (l = next; l < sb->leg_count && l - next < g->leg_count; l++) {
			u64 blocks = l == sb->leg_index ? leg_blocks : sb->legs[l].size_blocks;

			smallest = blocks < smallest ? blocks : smallest;
		}
		/*
		 * A single vdev needs only this leg to be large enough: the others answer for
		 * themselves.
		 */
		ret = kvp_geometry_check(g, sb->vdev_count == 1 ? leg_blocks : smallest, why);
		sound &= g->first_leg == next && g->leg_count <= sb->leg_count - next;
		next = l;
	}
	if (!ret && (!sound || next != sb->leg_count)) {
		snprintf(why->text, sizeof(why->text), "superblock: bad legs of the vdev");
		ret = -EUCLEAN;
	}
	return ret;
}

/* The largest chunk of all vdevs; 0: none has parity. */
static u32 largest_chunk(const struct kvp_sb *sb)
{
	u32 i, chunk = 0;

	for (i = 0; i < sb->vdev_count; i++)
		if (kvp_is_parity1(&sb->vdevs[i]) && sb->vdevs[i].chunk_blocks > chunk)
			chunk = sb->vdevs[i].chunk_blocks;
	return chunk;
}

/* At most one cache, behind a vdev with data. An older module must notice it. */
static const char *cache_fault(const struct kvp_sb *sb)
{
	u32 i, n = 0;

	for (i = 0; i < sb->vdev_count; i++)
		n += !kvp_has_data(&sb->vdevs[i]);
	if (n > 1 || !kvp_has_data(&sb->vdevs[0]))
		return "number or place of cache vdevs";
	return (sb->incompat & KVP_CACHE_FEATURES) != kvp_cache_features(sb) ?
	       "feature bit of the cache" : NULL;
}

static bool any_table_behind(const struct kvp_sb *sb)
{
	u32 i;

	for (i = 0; i < sb->vdev_count; i++)
		if (kvp_table_behind(&sb->vdevs[i]))
			return true;
	return false;
}

static bool any_resilvers(const struct kvp_sb *sb)
{
	u32 i;

	for (i = 0; i < sb->leg_count; i++)
		if (sb->legs[i].state == KVP_LEG_RESILVERING)
			return true;
	return false;
}

void kvp_sb_note_resilver(struct kvp_sb *sb)
{
	if (any_resilvers(sb))
		sb->incompat |= KVP_INCOMPAT_RESILVER;
	else
		sb->incompat &= ~KVP_INCOMPAT_RESILVER;
}

/* Progress of a resilver. A leg in sync has none, nor has an SSD of a cache. */
static const char *resilver_fault(const struct kvp_sb *sb)
{
	u32 v, i;

	for (v = 0; v < sb->vdev_count; v++) {
		const struct kvp_geometry *g = &sb->vdevs[v];

		for (i = g->first_leg; i < g->first_leg + g->leg_count; i++) {
			const struct kvp_leg_info *l = &sb->legs[i];
			bool out = kvp_has_data(g) && l->state != KVP_LEG_IN_SYNC;
			u64 end = out ? g->data_blocks : 0;

			if (kvp_vblock_nr(l->cursor) > end || l->cursor_era > sb->era ||
			    (!l->cursor && l->cursor_era))
				return "cursor of a leg";
			/* The label of a leg that joins has no epoch. */
			if (l->in_sync_epoch > sb->epoch && !(sb->flags & KVP_SB_JOINING))
				return "epoch of a leg";
			if (l->state == KVP_LEG_RESILVERING && !kvp_has_data(g))
				return "state of a leg";
		}
	}
	return any_resilvers(sb) != !!(sb->incompat & KVP_INCOMPAT_RESILVER) ?
	       "feature bit of a resilver" : NULL;
}

static const char *content_fault(struct kvp_sb *sb)
{
	const struct kvp_geometry *g = &sb->vdevs[sb->log_vdev];
	const char *fault = cache_fault(sb) ?: kvp_log_place_fault(sb) ?:
			    kvp_map_build(sb, &sb->map);
	u32 i, j;

	if (fault)
		return fault;
	if (any_table_behind(sb) != !!(sb->incompat & KVP_INCOMPAT_TABLE_BEHIND))
		return "feature bit of a table behind the data";
	if (!kvp_sb_heartbeat(sb) != !(sb->incompat & KVP_INCOMPAT_HEARTBEAT))
		return "feature bit of the heartbeat";
	if (!sb->pool_blocks || sb->pool_blocks > kvp_map_blocks(&sb->map))
		return "size of the pool";
	if (sb->root_count != kvp_sb_roots(sb))
		return "number of roots";
	if (kvp_lsn_nr(sb->log_tail) < kvp_log_blocks(g) ||
	    kvp_lsn_nr(sb->log_tail) >= KVP_LOG_TAIL_END ||
	    kvp_lsn_before(sb->log_commit, sb->log_tail) ||
	    kvp_lsn_since(sb->log_commit, sb->log_tail) > kvp_log_window(g) ||
	    kvp_lsn_before(sb->log_commit, sb->log_resolved))
		return "log position";
	if (kvp_lsn_nr(sb->cache_lsn) >= KVP_CACHE_LSN_END)
		return "place in the cache";
	if (sb->behind && sb->behind >= sb->sequence)
		return "number of superblocks that legs lack";
	if (kvp_generations_fault(sb))
		return kvp_generations_fault(sb);
	if (sb->redo_nonce &&
	    (!largest_chunk(sb) || kvp_lsn_nr(sb->redo_lsn) % g->segment_blocks ||
	     kvp_lsn_before(sb->redo_lsn, sb->log_tail) ||
	     kvp_lsn_since(sb->redo_lsn, sb->log_tail) >= kvp_log_window(g)))
		return "place of a recovery's chain";
	if (sb->redo_state > KVP_REDO_AGAIN || (sb->redo_state && !sb->redo_nonce))
		return "state of a recovery's chain";
	if (!kvp_log_holds_discard(g, largest_chunk(sb)))
		return "log size for the chunks";
	if (kvp_block_nr(sb->scrub.cursor) > kvp_map_blocks(&sb->map))
		return "scrub cursor";
	if (!kvp_text_valid(sb->name))
		return "name: control characters";
	if (!kvp_text_valid(sb->comment))
		return "comment: control characters";
	if (!kvp_text_valid(sb->host_name))
		return "host's name: control characters";
	for (i = 0; i < sb->leg_count; i++) {
		if (sb->legs[i].state < KVP_LEG_IN_SYNC || sb->legs[i].state > KVP_LEG_RESILVERING)
			return "state of a leg";
		if (sb->legs[i].in_sync_era > sb->era)
			return "era of a leg";
		for (j = 0; j < i; j++)
			if (!memcmp(sb->legs[i].uuid, sb->legs[j].uuid, 16))
				return "leg UUIDs: one is there twice";
	}
	if (memcmp(sb->leg_uuid, sb->legs[sb->leg_index].uuid, 16))
		return "UUID of this leg";
	return resilver_fault(sb) ?: kvp_replaces_fault(sb) ?: kvp_outs_fault(sb) ?:
	       kvp_shadow_fault(sb);
}

static void decode_regions(const struct kvp_disk_sb *d, struct kvp_sb *sb)
{
	u32 i, v;

	for (i = 0; i < sb->region_count; i++) {
		sb->regions[i].blocks = le64_to_cpu(d->regions[i].blocks);
		for (v = 0; v < KVP_MAX_VDEVS; v++)
			sb->regions[i].share[v] = le16_to_cpu(d->regions[i].share[v]);
	}
}

static void decode_lists(const struct kvp_disk_sb *d, struct kvp_sb *sb)
{
	u32 i;

	for (i = 0; i < sb->vdev_count; i++)
		decode_vdev(&d->vdevs[i], &sb->vdevs[i]);
	kvp_shadow_decode(d, sb);
	kvp_spares_decode(d, sb);
	decode_regions(d, sb);
	for (i = 0; i < sb->leg_count; i++)
		decode_leg(&d->legs[i], &sb->legs[i]);
	for (i = 0; i < sb->root_count; i++)
		sb->roots[i] = le64_to_cpu(d->roots[i]);
}

/*
 * A trim loses nothing if it is forgotten. So what no module writes is no trim, and no reason to
 * refuse the pool.
 */
static void decode_trim(const struct kvp_disk_sb *d, struct kvp_sb *sb)
{
	__le64 raw[2];
	u64 cursor;
	u32 i;

	for (i = 0; i < sizeof(raw); i++)
		((u8 *)raw)[i] = d->vdevs[i / 3].trim[i % 3];
	cursor = le64_to_cpu(raw[0]);
	if (d->trim_state > KVP_TRIM_FAILED || cursor > kvp_map_blocks(&sb->map) ||
	    le64_to_cpu(raw[1]) > kvp_map_blocks(&sb->map))
		return;
	sb->trim = (struct kvp_trim_info){ kvp_block(cursor), le64_to_cpu(raw[1]), d->trim_state };
}

/*
 * True if the device has become too small for the leg on it. Then @sb may be used to tell which leg
 * it is.
 */
static int check_size(const struct kvp_sb *sb, u64 leg_blocks, struct kvp_why *why)
{
	u64 made = sb->legs[sb->leg_index].size_blocks;
	int ret = check_vdevs(sb, leg_blocks, why);

	if (!ret || made <= leg_blocks || check_vdevs(sb, made, why))
		return ret;
	snprintf(why->text, sizeof(why->text),
		 "%llu KiB of the end are gone since the label was made",
		 (unsigned long long)(made - leg_blocks) * (KVP_BLOCK_SIZE / 1024));
	return -ENOSPC;
}

static int bad(struct kvp_why *why, int err, const char *what, u64 got, u64 expected)
{
	snprintf(why->text, sizeof(why->text), "superblock: %s is %llu, expected %llu", what,
		 (unsigned long long)got, (unsigned long long)expected);
	return err;
}

#define BIT_AND_NAME(bit, name)	{ bit, name },
static const struct {
	u64 bit;
	const char *name;
} features[] = { KVP_INCOMPAT_NAMES(BIT_AND_NAME) };

void kvp_features_print(u64 bits, char *text)
{
	size_t len = 0;
	u32 i;

	*text = 0;
	for (i = 0; i < sizeof(features) / sizeof(features[0]); i++)
		if (bits & features[i].bit)
			len += (size_t)snprintf(text + len, KVP_FEATURES_LEN - len, "%s%s",
						len ? "," : "", features[i].name);
}

int kvp_sb_decode(const struct kvp_disk_sb *d, u64 offset, u64 leg_blocks,
		  struct kvp_sb *sb, struct kvp_why *why)
{
	const char *fault;
	int ret = 0;

	if (memcmp(d->magic, KVP_SB_MAGIC, KVP_SB_MAGIC_LEN)) {
		snprintf(why->text, sizeof(why->text), "no superblock here");
		return -ENODATA;
	}
	if (le32_to_cpu(d->csum) != disk_sum(d))
		return bad(why, -EUCLEAN, "sum", disk_sum(d), le32_to_cpu(d->csum));
	if (le32_to_cpu(d->version) != KVP_FORMAT_VERSION)
		return bad(why, -EOPNOTSUPP, "version", le32_to_cpu(d->version),
			   KVP_FORMAT_VERSION);
	decode_fields(d, sb);
	if (sb->incompat & ~KVP_INCOMPAT_KNOWN)
		return bad(why, -EOPNOTSUPP, "set of incompatible features", sb->incompat,
			   KVP_INCOMPAT_KNOWN);
	if (sb->self_offset != offset)
		return bad(why, -EUCLEAN, "own location", sb->self_offset, offset);
	fault = count_fault(sb);
	if (!fault) {
		decode_lists(d, sb);
		ret = check_size(sb, leg_blocks, why);
		if (ret && ret != -ENOSPC)
			return ret;
		fault = content_fault(sb);
		decode_trim(d, sb);
	}
	if (fault) {
		snprintf(why->text, sizeof(why->text), "superblock: bad %s", fault);
		return -EUCLEAN;
	}
	return ret;
}

bool kvp_sb_knows_forks(const struct kvp_sb *sb, const struct kvp_sb *of)
{
	u32 i;

	if (!of->fork_count)
		return true;
	for (i = 0; i < sb->fork_count; i++)
		if (sb->forks[i] == of->forks[of->fork_count - 1])
			return true;
	return false;
}

/* The leg of @sb that has this UUID, or KVP_MAX_LEGS. */
static u32 leg_named(const struct kvp_sb *sb, const u8 *uuid)
{
	u32 i;

	for (i = 0; i < sb->leg_count; i++)
		if (!memcmp(sb->legs[i].uuid, uuid, 16))
			return i;
	return KVP_MAX_LEGS;
}

/* The vdev that leg @i belongs to. */
static u32 vdev_of(const struct kvp_sb *sb, u32 i)
{
	u32 v;

	for (v = 0; v + 1 < sb->vdev_count; v++)
		if (i - sb->vdevs[v].first_leg < sb->vdevs[v].leg_count)
			break;
	return v;
}

/*
 * True if vdev @v with data is the same one in @own and in @best. Then they have a leg in common,
 * or all of @own's legs were replaced by others since. Such another leg resilvers, or is out, or
 * did so once. If neither holds, @own names legs that were to be added in an attempt that was
 * undone.
 */
static bool same_vdev(const struct kvp_sb *own, const struct kvp_sb *best, u32 v)
{
	const struct kvp_geometry *g = &own->vdevs[v];
	bool same = false;
	u32 i;

	if (v >= own->vdev_count || !kvp_has_data(g) || !kvp_has_data(&best->vdevs[v]))
		return false;
	for (i = g->first_leg; i < g->first_leg + g->leg_count; i++)
		same |= own->legs[i].state != KVP_LEG_IN_SYNC || own->legs[i].in_sync_epoch ||
			leg_named(best, own->legs[i].uuid) < KVP_MAX_LEGS;
	return same;
}

/*
 * True if @own's leg went on without leg @i, which @best calls in sync: it calls that leg out, or
 * its vdev has others. A leg that came to the vdev later is in sync since an epoch that @own does
 * not know. That does not hold for SSDs of a cache, which come and go.
 */
static bool went_on_without(const struct kvp_sb *own, const struct kvp_sb *best, u32 i)
{
	const struct kvp_leg_info *there = &best->legs[i];
	u32 at = leg_named(own, there->uuid);

	if (there->state != KVP_LEG_IN_SYNC || there->in_sync_epoch > own->epoch)
		return false;
	if (at < KVP_MAX_LEGS)
		return own->legs[at].state != KVP_LEG_IN_SYNC;
	return same_vdev(own, best, vdev_of(best, i));
}

bool kvp_sb_forked(const struct kvp_sb *own, const struct kvp_sb *best, bool any)
{
	bool forked = false;
	u32 i;

	if (!kvp_sb_knows_forks(best, own))
		return true;
	if (own->leg_index >= own->leg_count || own->legs[own->leg_index].state != KVP_LEG_IN_SYNC)
		return false;
	if (!any && best->legs[best->leg_index].state == KVP_LEG_IN_SYNC)
		return went_on_without(own, best, best->leg_index);
	for (i = 0; i < best->leg_count; i++)
		forked |= went_on_without(own, best, i);
	return forked;
}
