// SPDX-License-Identifier: GPL-2.0-only
#include "format/generations.h"
#include "format/logplace.h"

/*
 * True if the present generation has no entry yet: the log's last entry, at @last_lsn, is in the
 * newest of the older generations.
 */
static bool newest_is_empty(const struct kvp_sb *sb, kvp_lsn_t last_lsn)
{
	return sb->generation_count &&
	       kvp_lsn_before(last_lsn, sb->generations[sb->generation_count - 1].next_lsn);
}

bool kvp_generations_full(const struct kvp_sb *sb, kvp_lsn_t last_lsn)
{
	return sb->generation_count == KVP_MAX_GENERATIONS && !newest_is_empty(sb, last_lsn);
}

/* An older module must not take the newest generation for all of the log. */
static void set_feature(struct kvp_sb *sb)
{
	if (sb->generation_count)
		sb->incompat |= KVP_INCOMPAT_GENERATIONS;
	else
		sb->incompat &= ~KVP_INCOMPAT_GENERATIONS;
}

void kvp_generation_end(struct kvp_sb *sb, kvp_lsn_t next_lsn, kvp_lsn_t last_lsn, u32 last_csum)
{
	if (newest_is_empty(sb, last_lsn)) {
		sb->generations[sb->generation_count - 1].next_lsn = next_lsn;
		return;
	}
	sb->generations[sb->generation_count++] = (struct kvp_generation){
		.nonce = sb->log_nonce, .next_lsn = next_lsn, .last_lsn = last_lsn,
		.last_csum = last_csum,
	};
	set_feature(sb);
}

void kvp_generations_trim(struct kvp_sb *sb)
{
	u32 passed = 0, i;

	while (passed < sb->generation_count &&
	       !kvp_lsn_before(sb->log_tail, sb->generations[passed].next_lsn))
		passed++;
	sb->generation_count -= passed;
	for (i = 0; i < sb->generation_count; i++)
		sb->generations[i] = sb->generations[i + passed];
	set_feature(sb);
}

void kvp_generations_encode(const struct kvp_sb *sb, struct kvp_disk_sb *d)
{
	u32 i;

	for (i = 0; i < sb->generation_count; i++) {
		const struct kvp_generation *g = &sb->generations[i];

		d->generations[i].nonce = cpu_to_le64(g->nonce);
		d->generations[i].next_lsn = cpu_to_le64(kvp_lsn_nr(g->next_lsn));
		d->generations[i].last_back =
			cpu_to_le32((u32)kvp_lsn_since(g->next_lsn, g->last_lsn));
		d->generations[i].last_csum = cpu_to_le32(g->last_csum);
	}
}

void kvp_generations_decode(const struct kvp_disk_sb *d, struct kvp_sb *sb)
{
	u32 i;

	sb->generation_count = 0;
	for (i = 0; i < KVP_MAX_GENERATIONS && d->generations[i].next_lsn; i++) {
		struct kvp_generation *g = &sb->generations[sb->generation_count++];

		g->nonce = le64_to_cpu(d->generations[i].nonce);
		g->next_lsn = kvp_lsn(le64_to_cpu(d->generations[i].next_lsn));
		g->last_lsn = kvp_lsn_back(g->next_lsn, le32_to_cpu(d->generations[i].last_back));
		g->last_csum = le32_to_cpu(d->generations[i].last_csum);
	}
}

/* Where a generation of this log may end, if the one before it ended at @before. */
static bool end_sound(const struct kvp_sb *sb, const struct kvp_generation *g, kvp_lsn_t before)
{
	const struct kvp_geometry *log = &sb->vdevs[sb->log_vdev];

	return kvp_lsn_before(before, g->next_lsn) &&
	       kvp_lsn_nr(g->next_lsn) % log->segment_blocks == 0 &&
	       !kvp_lsn_before(sb->log_commit, g->next_lsn) &&
	       kvp_lsn_before(g->last_lsn, g->next_lsn) &&
	       (!kvp_lsn_before(g->last_lsn, before) || g->last_lsn == sb->log_prev_lsn);
}

const char *kvp_generations_fault(const struct kvp_sb *sb)
{
	kvp_lsn_t before = sb->log_tail;
	u32 i, v;

	if (!sb->generation_count != !(sb->incompat & KVP_INCOMPAT_GENERATIONS))
		return "feature bit of the log's generations";
	if (sb->generation_count && !kvp_log_on_cache(sb))
		return "generations of a log that has none";
	for (v = 0; sb->generation_count && v < sb->vdev_count; v++)
		if (kvp_is_parity1(&sb->vdevs[v]))
			return "generations of a log that has none";
	for (i = 0; i < sb->generation_count; i++) {
		if (!end_sound(sb, &sb->generations[i], before))
			return "end of a generation of the log";
		before = sb->generations[i].next_lsn;
	}
	return NULL;
}
