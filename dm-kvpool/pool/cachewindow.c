// SPDX-License-Identifier: GPL-2.0-only
/*
 * Changes the window of a cache's log while the pool runs: how much of the cache may be dirty.
 *
 * A start reads no further than the window of the superblock that it finds. While a superblock with
 * another window is written, it may find either. So the log uses the smaller of the two until the
 * new one counts:
 *
 * - A larger window: the superblock is written first, then the log uses it.
 * - A smaller window: first the log is emptied until it fits, by renewals, or as before a change of
 *   mode. Then nothing is appended beyond the new window any more. Then the superblock is written.
 *
 * If the superblock does not count, some leg may have it all the same. The smaller window stays in
 * memory then, which fits both.
 */
#include "core/cache.h"
#include "core/core.h"
#include "core/refusal.h"
#include "format/logplace.h"
#include "log/log.h"
#include "policy/renew.h"
#include "pool/cachemode.h"
#include "pool/cachewindow.h"
#include "pool/change.h"
#include "super/commit.h"
#include "super/events.h"

/* What may be in flight at the end of a log, as in cache/client.c */
#define IN_FLIGHT	(KVP_ENTRIES * (KVP_MAX_ENTRY_BLOCKS + 32))

static u64 bytes_of(u64 blocks)
{
	return blocks << KVP_BLOCK_SHIFT;
}

/* Blocks of a window that renewals need; 0: nothing is renewed there. */
static u64 reserve_of(struct kvp_pool *pool, const struct kvp_geometry *g, u64 window)
{
	return kvp_log_renew_kept(pool->log) ? kvp_renew_reserve(window, g->segment_blocks) : 0;
}

/*
 * Blocks that a smaller window must have left. A start doubts cached blocks that entries in flight
 * may have torn, and looks for these in the window only. So the window must not end before them.
 * And renewals must find their reserve: without it all would go home.
 */
static u64 spare_of(struct kvp_pool *pool, const struct kvp_geometry *g, u64 window)
{
	u64 in_flight = min_t(u64, window / 4, IN_FLIGHT + KVP_ENTRIES * kvp_log_kept(g));

	return max(in_flight, reserve_of(pool, g, window));
}

static bool fits(struct kvp_pool *pool, const struct kvp_geometry *g, u64 window)
{
	return kvp_log_narrow(pool->log, window, spare_of(pool, g, window));
}

/*
 * Free the log until it fits @window, and let it stay so. The oldest blocks are renewed as in the
 * smaller window: so nothing goes home that may be dirty there. Otherwise all would go: destage
 * goes by address, and the tail passes no block that is left.
 */
static int narrow(struct kvp_pool *pool, const struct kvp_vdev *cache, u64 window)
{
	u64 goal = window - cache->g->segment_blocks - spare_of(pool, cache->g, window);
	int ret = 0;

	while (!ret && kvp_pool_logs_on_cache(pool) && !fits(pool, cache->g, window)) {
		kvp_log_shrink(pool->log, reserve_of(pool, cache->g, goal) ? goal : 0);
		ret = kvp_drain_log(pool, goal);
		if (!ret && READ_ONCE(pool->vdevs.log_moving))
			ret = -ENODEV;
		/* An entry may have taken the rest of a segment since. */
		goal -= min_t(u64, goal / 2, cache->g->segment_blocks / 2);
	}
	return ret ?: kvp_drain_is_over(pool);
}

/* Commit the superblock with the window of @new. */
static int commit(struct kvp_pool *pool, const struct kvp_vdev *cache,
		  const struct kvp_geometry *new, struct kvp_refusal *r)
{
	struct kvp_geometry *g = &pool->sb->vdevs[cache->index];
	bool larger;
	u64 was;
	int ret;

	mutex_lock(&pool->sb_lock);
	was = g->log_window;
	larger = kvp_log_window(new) > kvp_log_window(g);
	WRITE_ONCE(g->log_window, new->log_window);
	kvp_cache_say(pool->sb);
	ret = kvp_change_commit(pool, r);
	if (ret && larger) {
		WRITE_ONCE(g->log_window, was);
		kvp_cache_say(pool->sb);
	}
	mutex_unlock(&pool->sb_lock);
	return ret;
}

/* The geometry with a window of @blocks. */
static int plan(struct kvp_pool *pool, const struct kvp_vdev *cache, u64 blocks,
		struct kvp_geometry *new, struct kvp_refusal *r)
{
	int ret = kvp_cache_able(pool, r);
	struct kvp_why why;

	if (ret)
		return ret;
	*new = *cache->g;
	ret = kvp_layout_window(blocks, new, &why);
	if (ret)
		return kvp_refuse(r, ret, "give 64 MiB to 64 GiB", "%s", why.text);
	if (!kvp_log_holds_discard(new, pool->vdevs.max_chunk))
		return kvp_refuse(r, -ERANGE, "give more",
				  "%llu bytes are too few for the chunks of the pool's vdevs",
				  bytes_of(kvp_log_window(new)));
	return 0;
}

static int set_window(struct kvp_pool *pool, const struct kvp_vdev *cache,
		      const struct kvp_geometry *new, struct kvp_refusal *r)
{
	u64 window = kvp_log_window(new), was = kvp_log_window(cache->g);
	int ret;

	if (window != was && kvp_pool_logs_on_cache(pool))
		ret = narrow(pool, cache, min(window, was));
	else
		ret = kvp_drain_is_over(pool);
	if (!ret && new->log_window != cache->g->log_window)
		ret = commit(pool, cache, new, r);
	if (ret == -ECANCELED)
		ret = kvp_refuse(r, ret, "ask for it again",
				 "the change was cancelled; nothing has changed");
	else if (ret == -ENODEV)
		ret = kvp_refuse(r, ret, "see kvpoolctl status",
				 "the last SSD of the cache failed; nothing has changed");
	else if (ret && !r->why[0])
		ret = kvp_refuse(r, ret, "see kvpoolctl status; mend what is wrong, then 'clear'",
				 "not enough data of the log could be written home");
	/* Now the window in memory is the smaller one, or counts. */
	if (!kvp_log_narrow(pool->log, 0, 0))
		WARN_ON_ONCE(1);
	kvp_log_shrink(pool->log, 0);
	kvp_log_squeeze(pool->log, 0);
	return ret;
}

static int set_and_tell(struct kvp_pool *pool, const struct kvp_drain_job *job,
			struct kvp_refusal *r)
{
	const struct kvp_vdev *cache = kvp_pool_cache(pool);
	struct kvp_geometry new;
	int ret = plan(pool, cache, job->window, &new, r);

	if (!ret)
		ret = set_window(pool, cache, &new, r);
	kvp_drain_ended(pool, ret);
	if (!ret)
		kvp_event(pool, "cache_dirty_max bytes=%llu", bytes_of(kvp_log_window(&new)));
	return ret;
}

static struct kvp_drain_job job_for(u64 bytes)
{
	return (struct kvp_drain_job){
		.act = set_and_tell, .window = kvp_log_window_asked(bytes)
	};
}

int kvp_cache_set_window(struct kvp_pool *pool, u64 bytes, struct kvp_refusal *r)
{
	struct kvp_drain_job job = job_for(bytes);
	struct kvp_geometry new;
	int ret = plan(pool, kvp_pool_cache(pool), job.window, &new, r);

	return ret ?: kvp_drain_do(pool, &job, r);
}

int kvp_cache_start_window(struct kvp_pool *pool, u64 bytes, struct kvp_refusal *r)
{
	struct kvp_drain_job job = job_for(bytes);
	const struct kvp_vdev *cache = kvp_pool_cache(pool);
	struct kvp_geometry new;
	int ret = plan(pool, cache, job.window, &new, r);

	if (ret)
		return ret;
	return kvp_drain_queue(pool, &job, kvp_pool_logs_on_cache(pool) &&
			       kvp_log_window(&new) < kvp_log_window(cache->g), r);
}
