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

u32 kvp_sb_with_data(const struct kvp_sb *sb)
{
	u32 v, n = 0;

	for (v = 0; v < sb->vdev_count; v++)
		n += kvp_has_data(&sb->vdevs[v]);
	return n;
}

u32 kvp_caches_asked(const struct kvp_vdev_asked *v, u32 nr)
{
	u32 n = 0;

	while (nr--)
		n += kvp_cache_kind(v[nr].kind);
	return n;
}

u64 kvp_cache_features(const struct kvp_sb *sb)
{
	int v = kvp_cache_find(sb);
	const struct kvp_geometry *g = &sb->vdevs[v < 0 ? 0 : v];

	if (v < 0)
		return 0;
	return KVP_INCOMPAT_CACHE | (kvp_log_striped(g) ? KVP_INCOMPAT_CACHE_PARITY1 : 0) |
	       (g->log_window ? KVP_INCOMPAT_LOG_WINDOW : 0);
}

void kvp_cache_say(struct kvp_sb *sb)
{
	sb->incompat &= ~KVP_CACHE_FEATURES;
	sb->incompat |= kvp_cache_features(sb);
}

/* How many legs of the vdevs with data may be lost, any of them. */
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

void kvp_log_track(const struct kvp_sb *sb, struct kvp_log_track *track)
{
	u32 v;

	track->nr = 0;
	for (v = 0; v < sb->vdev_count; v++)
		if (v == sb->log_vdev || sb->log_others >> v & 1)
			track->vdev[track->nr++] = (u8)v;
}

bool kvp_log_stays(const struct kvp_sb *sb)
{
	u32 v;

	for (v = 0; v < sb->vdev_count; v++)
		if (kvp_is_parity1(&sb->vdevs[v]))
			return false;
	return kvp_log_on_cache(sb);
}

u32 kvp_log_mates(const struct kvp_sb *sb, u32 vdev, const u32 *spare)
{
	const struct kvp_geometry *g = &sb->vdevs[vdev];
	u32 mates = 0, v;

	for (v = 0; v < sb->vdev_count; v++) {
		const struct kvp_geometry *other = &sb->vdevs[v];

		if (v != vdev && kvp_has_data(g) && kvp_has_data(other) &&
		    spare[v] >= spare[vdev] &&
		    other->segment_blocks == g->segment_blocks && other->segments >= g->segments)
			mates |= 1u << v;
	}
	return mates;
}

/*
 * True if more vdevs can carry the log together with @a than with @b. Both can lose equally many
 * legs.
 */
static bool leads_before(const struct kvp_geometry *a, const struct kvp_geometry *b)
{
	if (a->segment_blocks != b->segment_blocks)
		return a->segment_blocks > b->segment_blocks;
	return a->segments < b->segments;
}

u32 kvp_log_leader(const struct kvp_sb *sb, const u32 *spare)
{
	u32 best = 0, v;

	for (v = 1; v < sb->vdev_count; v++)
		if (kvp_has_data(&sb->vdevs[v]) &&
		    (spare[v] > spare[best] ||
		     (spare[v] == spare[best] && leads_before(&sb->vdevs[v], &sb->vdevs[best]))))
			best = v;
	return best;
}

bool kvp_log_widens(const struct kvp_sb *sb, const u32 *spare, u32 *vdev, u32 *others)
{
	if (kvp_log_on_cache(sb))
		return false;
	*vdev = kvp_log_leader(sb, spare);
	*others = kvp_log_mates(sb, *vdev, spare);
	return *vdev != sb->log_vdev || *others != sb->log_others;
}

void kvp_log_carry(struct kvp_sb *sb, u32 vdev, u32 others)
{
	sb->log_vdev = vdev;
	sb->log_others = others;
	/* An older module must not look for all of it on one vdev. */
	if (others)
		sb->incompat |= KVP_INCOMPAT_LOG_TURNS;
	else
		sb->incompat &= ~KVP_INCOMPAT_LOG_TURNS;
}

/*
 * Check only the shapes of the vdevs. How many legs they can lose may have changed since they were
 * chosen.
 */
const char *kvp_log_place_fault(const struct kvp_sb *sb)
{
	u32 spare[KVP_MAX_VDEVS] = { 0 };

	if (!sb->log_others != !(sb->incompat & KVP_INCOMPAT_LOG_TURNS))
		return "feature bit of the log's turns";
	if (sb->log_others & ~kvp_log_mates(sb, sb->log_vdev, spare))
		return "vdevs of the log";
	return NULL;
}

void kvp_log_choose(struct kvp_sb *sb)
{
	u64 given = sb->tunable_mask & 1ull << KVP_T_CACHE_MODE;
	u32 spare[KVP_MAX_VDEVS] = { 0 }, v;
	int cache = kvp_cache_find(sb);

	for (v = 0; v < sb->vdev_count; v++)
		spare[v] = kvp_losses(&sb->vdevs[v]);
	v = kvp_log_leader(sb, spare);
	kvp_log_carry(sb, v, kvp_log_mates(sb, v, spare));
	if (cache < 0)
		return;
	if (!given && kvp_cache_lowers(sb)) {
		sb->tunable_mask |= 1ull << KVP_T_CACHE_MODE;
		sb->tunables[KVP_T_CACHE_MODE] = KVP_CACHE_WRITETHROUGH;
		given = 1;
	}
	if (!given || sb->tunables[KVP_T_CACHE_MODE] == KVP_CACHE_WRITEBACK)
		kvp_log_carry(sb, (u32)cache, 0);
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

void kvp_log_anew(struct kvp_sb *sb, u32 vdev, u32 others, u64 nonce)
{
	const struct kvp_geometry *old = &sb->vdevs[sb->log_vdev], *g = &sb->vdevs[vdev];
	kvp_lsn_t lsn = kvp_lsn_add(sb->log_commit, kvp_log_blocks(old) + kvp_log_blocks(g));

	kvp_log_carry(sb, vdev, others);
	sb->log_nonce = nonce;
	sb->log_tail = kvp_lsn_down(lsn, g->segment_blocks);
	sb->log_commit = sb->log_tail;
	sb->log_prev_lsn = 0;
	sb->log_prev_csum = 0;
	sb->redo_nonce = 0;
	sb->redo_lsn = 0;
	sb->redo_state = KVP_REDO_UNKNOWN;
	kvp_generations_trim(sb);
}
