// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cache vdev when the pool starts (R14).
 *
 * Every superblock says where the log is, and whether it was empty at the last stop. A superblock
 * clears that mark before anything is appended. So without the cache, the legs that are here show
 * whether data is missing.
 *
 *   empty, and the cache missing     the log begins anew on the vdevs with data
 *   not empty, and missing           refused; discard_log discards it (recovery/discard_log.c)
 *
 * A cache of kind parity1 counts as missing if too few of its SSDs are there to read its log
 * (kvp_log_needs()), whatever their contents.
 *
 * One superblock makes the new log, and records the SSDs out. If they come back with their old
 * contents, they are never read, and nothing on them verifies under the new log nonce. After a cut
 * before that superblock nothing has changed.
 */
#include <linux/random.h>

#include "core/core.h"
#include "core/refusal.h"
#include "format/logplace.h"
#include "log/log.h"
#include "pool/cachevdev.h"
#include "pool/pool.h"
#include "pool/start.h"

/* An SSD that is present, and would be used if it had not been put back to an older state (R29). */
static const struct kvp_leg *outdated_ssd(const struct kvp_pool *pool)
{
	const struct kvp_vdev *v = pool->vdevs.log_vdev;
	u32 i;

	for (i = 0; i < v->nr_legs; i++)
		if (v->legs[i].lag)
			return &v->legs[i];
	return NULL;
}

int kvp_cache_check(struct kvp_pool *pool, const struct kvp_start *s, struct kvp_refusal *r)
{
	struct kvp_sb *sb = pool->sb;
	struct kvp_vdev *refuge;
	u64 nonce;

	if (s->format || !kvp_log_on_cache(sb))
		return 0;
	pool->recovery.may_discard_log = s->discard_log;
	pool->recovery.mend =
		"connect every SSD; or discard_log (import --discard-log), which loses the log's data";
	if (kvp_vdev_has_log(pool->vdevs.log_vdev))
		return 0;
	if (!(sb->flags & KVP_SB_CLEAN)) {
		if (!s->discard_log && outdated_ssd(pool))
			return kvp_refuse(r, -ESTALE,
				"connect it in its newest state; or discard_log (import --discard-log), which loses the log's data",
				"%s is outdated: its label is %llu superblocks behind that of the other legs, so it was put back to an older state, and no SSD has the log of the cache, which is not empty",
				outdated_ssd(pool)->path,
				(unsigned long long)outdated_ssd(pool)->lag);
		if (!s->discard_log)
			return kvp_refuse(r, -ENOTCONN,
				"connect an SSD of it; or discard_log (import --discard-log), which loses the log's data: some of it may be older than that checkpoint",
				"the cache is missing, and its log, from lsn %llu on, may have the only copy of data: %llu MiB counted by checkpoint %llu, and all later writes",
				(unsigned long long)kvp_lsn_nr(sb->log_tail),
				(unsigned long long)kvp_log_counted_mib(sb),
				(unsigned long long)sb->checkpoint);
		pool->recovery.discard_log = true;
		return 0;
	}
	refuge = kvp_log_refuge(&pool->vdevs);
	get_random_bytes(&nonce, sizeof(nonce));
	kvp_log_anew(sb, refuge->index, kvp_log_others(&pool->vdevs, refuge), nonce);
	kvp_log_take_place(&pool->vdevs);
	pool->recovery.log_moved = true;
	return 0;
}
