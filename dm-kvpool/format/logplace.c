// SPDX-License-Identifier: GPL-2.0-only
#include "format/generations.h"
#include "format/logplace.h"
#include "format/tunables.h"

int kvp_cache_find(const struct kvp_sb *sb)
{
	u32 v;

	for (v = 0; v < sb->vdev_count; v++)
		if (!kvp_has_data(&sb->vdevs[v]))
			return (int)v;
	return -1;
}

/* So many legs may be lost, whichever they are, of the vdevs with data. */
static u32 data_losses(const struct kvp_sb *sb)
{
	u32 least = KVP_MAX_LEGS, v;

	for (v = 0; v < sb->vdev_count; v++)
		if (kvp_has_data(&sb->vdevs[v]) && kvp_losses(&sb->vdevs[v]) < least)
			least = kvp_losses(&sb->vdevs[v]);
	return least;
}

bool kvp_cache_lowers(const struct kvp_sb *sb)
{
	return !kvp_losses(&sb->vdevs[kvp_cache_find(sb)]) && data_losses(sb);
}

/* The vdev with data that survives most. */
static u32 data_vdev(const struct kvp_sb *sb)
{
	u32 best = 0, v;

	for (v = 1; v < sb->vdev_count; v++)
		if (kvp_has_data(&sb->vdevs[v]) &&
		    kvp_losses(&sb->vdevs[v]) > kvp_losses(&sb->vdevs[best]))
			best = v;
	return best;
}

void kvp_log_choose(struct kvp_sb *sb)
{
	u64 given = sb->tunable_mask & 1ull << KVP_T_CACHE_MODE;
	int cache = kvp_cache_find(sb);

	sb->log_vdev = data_vdev(sb);
	if (cache < 0)
		return;
	if (!given && kvp_cache_lowers(sb)) {
		sb->tunable_mask |= 1ull << KVP_T_CACHE_MODE;
		sb->tunables[KVP_T_CACHE_MODE] = KVP_CACHE_WRITETHROUGH;
		given = 1;
	}
	if (!given || sb->tunables[KVP_T_CACHE_MODE] == KVP_CACHE_WRITEBACK)
		sb->log_vdev = (u32)cache;
}

bool kvp_logs_hold_discard(const struct kvp_sb *sb, u32 chunk_blocks)
{
	bool cache = kvp_cache_find(sb) >= 0, hold = true;
	u32 v;

	for (v = 0; v < sb->vdev_count; v++)
		if (cache || v == sb->log_vdev)
			hold &= kvp_log_holds_discard(&sb->vdevs[v], chunk_blocks);
	return hold;
}

void kvp_log_anew(struct kvp_sb *sb, u32 vdev, u64 nonce)
{
	const struct kvp_geometry *old = &sb->vdevs[sb->log_vdev], *g = &sb->vdevs[vdev];
	u64 lsn = sb->log_commit + kvp_log_blocks(old) + kvp_log_blocks(g);

	sb->log_vdev = vdev;
	sb->log_nonce = nonce;
	sb->log_tail = lsn - lsn % g->segment_blocks;
	sb->log_commit = sb->log_tail;
	sb->log_prev_lsn = 0;
	sb->log_prev_csum = 0;
	sb->redo_nonce = 0;
	sb->redo_lsn = 0;
	kvp_generations_trim(sb);
}
