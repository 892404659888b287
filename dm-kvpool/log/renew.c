// SPDX-License-Identifier: GPL-2.0-only
#include "core/core.h"
#include "log/internal.h"
#include "log/log.h"
#include "log/renew.h"
#include "policy/renew.h"
#include "policy/throttle.h"
#include "ram/wbuf.h"

#define AT_ONCE		64u	/* a 64th of the window is renewed together */

static u32 mark_of(const struct kvp_pool *pool)
{
	return (u32)READ_ONCE(pool->tunables[KVP_T_RENEW_MARK]);
}

/* True if nothing new may enter the log, or all of it is about to go home. */
static bool is_closed(const struct kvp_pool *pool)
{
	return kvp_log_is_closed(pool->log) || kvp_log_is_squeezed(pool->log) ||
	       kvp_pool_faulted(pool) || test_bit(KVP_POOL_SUSPENDING, &pool->flags) ||
	       test_bit(KVP_POOL_QUIESCED, &pool->flags) ||
	       test_bit(KVP_POOL_EMPTYING, &pool->flags);
}

bool kvp_log_of_cache_may_renew(const struct kvp_pool *pool)
{
	kvp_lsn_t tail = kvp_log_tail(pool->log);

	return kvp_log_renew_kept(pool) && !is_closed(pool) &&
	       READ_ONCE(pool->log->renew_stuck) != kvp_lsn_add(tail, 1);
}

bool kvp_log_of_cache_renews(const struct kvp_pool *pool)
{
	return kvp_log_may_renew(pool) &&
	       kvp_renew_pays(kvp_log_window(pool->vdevs.log_vdev->g), mark_of(pool),
			      kvp_wbuf_live(pool->wbuf));
}

u64 kvp_log_of_cache_fullness(const struct kvp_pool *pool, u64 most)
{
	if (!kvp_log_renews(pool))
		return kvp_log_taken(pool, most);
	return kvp_renew_fullness(kvp_log_window(READ_ONCE(pool->vdevs.log_vdev)->g), mark_of(pool),
				  kvp_wbuf_live(pool->wbuf), most);
}

bool kvp_log_streams_pass(const struct kvp_pool *pool)
{
	u64 most = kvp_log_limit_empty(pool);

	return !kvp_log_renews(pool) || kvp_throttle_slows(most, kvp_log_fullness(pool, most));
}

u64 kvp_log_clean_limit(const struct kvp_pool *pool)
{
	const struct kvp_geometry *g = READ_ONCE(pool->vdevs.log_vdev)->g;
	u64 window = kvp_log_window(g), usual = window / 8 * 5;

	return kvp_log_renews(pool) ? max(usual, kvp_renew_clean(window, g->segment_blocks)) :
				      usual;
}

/*
 * A checkpoint is taken when half of the log is used. Clean blocks may use that half. Otherwise a
 * log with little else would get no checkpoint, and its tail would not move. While the checkpoint
 * runs, clean blocks may use another eighth, and no more. Where blocks are renewed, more of the log
 * is in use all the time (kvp_log_clean_limit()).
 */
bool kvp_log_has_spare(struct kvp_pool *pool, u32 blocks)
{
	struct kvp_log *log = pool->log;
	u64 window = kvp_log_window(pool->vdevs.log_vdev->g), used = kvp_log_used(pool);
	u64 rest = kvp_log_renews(pool) ? window / 32 : window / 16;

	lockdep_assert_held(&log->build_lock);
	/* The entry may begin with the next segment, and leave this many blocks unused. */
	blocks += 32;
	used += kvp_log_reserved(pool);
	return !READ_ONCE(log->full) && used + blocks <= kvp_log_clean_limit(pool) &&
	       kvp_wbuf_buffered(pool->wbuf) + rest <= kvp_log_limit_after(pool, blocks);
}

kvp_lsn_t kvp_log_renew_below(const struct kvp_pool *pool)
{
	const struct kvp_geometry *g = pool->vdevs.log_vdev->g;
	kvp_lsn_t head = kvp_log_head(pool->log);
	u64 span = kvp_renew_span(kvp_log_window(g), g->segment_blocks, kvp_wbuf_live(pool->wbuf));

	return kvp_lsn_nr(head) > span ? kvp_lsn_back(head, span) : 0;
}

bool kvp_log_renew_due(struct kvp_pool *pool)
{
	kvp_lsn_t below = kvp_log_renew_below(pool);
	u64 some = kvp_log_window(pool->vdevs.log_vdev->g) / AT_ONCE;

	return kvp_lsn_nr(below) > some &&
	       kvp_wbuf_waits_below(pool->wbuf, kvp_lsn_back(below, some));
}

void kvp_log_renew_stuck(struct kvp_pool *pool)
{
	WRITE_ONCE(pool->log->renew_stuck, kvp_lsn_add(kvp_log_tail(pool->log), 1));
}
