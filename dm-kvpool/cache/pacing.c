// SPDX-License-Identifier: GPL-2.0-only
#include <linux/ktime.h>
#include <linux/math64.h>

#include "cache/pacing.h"
#include "core/core.h"
#include "home/speed.h"
#include "log/log.h"
#include "policy/runs.h"
#include "policy/ssdpolicy.h"
#include "ram/wbuf.h"

#define SLOWEST		16ull			/* writers are never slower, blocks a second */

void kvp_pacing_init(struct kvp_pool *pool)
{
	spin_lock_init(&pool->pacing->lock);
}

/* --- the wanted rate ------------------------------------------------------------------- */

u64 kvp_pacing_dirty(struct kvp_pool *pool)
{
	struct kvp_wbuf *w = pool->wbuf;
	u64 head = kvp_log_head(pool->log), dirty = 0;
	struct kvp_version *first;

	kvp_wbuf_lock_lists(w);
	first = __kvp_wbuf_oldest(w);
	if (first && first->lsn < head)
		dirty = head - first->lsn;
	kvp_wbuf_unlock_lists(w);
	return dirty ? dirty + kvp_log_reserved(pool) : 0;
}

u64 kvp_pacing_wants(struct kvp_pool *pool)
{
	u64 floor = READ_ONCE(pool->tunables[KVP_T_DESTAGE_MIN_RATE]) >> KVP_BLOCK_SHIFT;

	return kvp_ssd_destage(kvp_log_window(READ_ONCE(pool->log_vdev)->g), floor, kvp_pacing_dirty(pool),
			       kvp_speed_full(pool));
}

/* The blocks in use, of @most that could be buffered if none were dirty. */
static u64 used_of(const struct kvp_pool *pool, u64 most)
{
	const struct kvp_wbuf *w = pool->wbuf;

	return kvp_wbuf_buffered(w) + most - min_t(u64, most, kvp_wbuf_commit_limit(w));
}

bool kvp_pacing_slows(const struct kvp_pool *pool)
{
	u64 most = kvp_log_limit_empty(pool);

	return kvp_ssd_slows(most, used_of(pool, most));
}

u32 kvp_pacing_room(const struct kvp_pool *pool)
{
	u64 most = kvp_log_limit_empty(pool);

	return (u32)div64_u64(100 * (most - min(most, used_of(pool, most))), most);
}

/* kvp_pacing_stream() of a pool whose log is on a cache. */
bool kvp_pacing_joins_stream(struct kvp_pool *pool, u64 first, u32 blocks, u32 ask)
{
	u32 set = READ_ONCE(pool->tunables[KVP_T_SEQ_CUTOFF_WRITE]) >> KVP_BLOCK_SHIFT;
	struct kvp_pacing *p = pool->pacing;
	unsigned long flags;
	u32 run;

	/* Finding a stream takes a microsecond: skip it for a write that could not use it. */
	if (!kvp_ssd_may_bypass(ask, true, blocks))
		return false;
	spin_lock_irqsave(&p->lock, flags);
	/* An overlap with another write counts once there; a write alone counts whole. */
	run = max(kvp_run_note(&p->runs, first, blocks, true), blocks);
	spin_unlock_irqrestore(&p->lock, flags);
	/* kvp_pacing_is_slow() is rarely reached. */
	return run >= kvp_ssd_cutoff_write(set, true) &&
	       run >= kvp_ssd_cutoff_write(set, kvp_pacing_is_slow(pool));
}

bool kvp_pacing_passes(const struct kvp_pool *pool)
{
	u64 most = kvp_log_limit_empty(pool);

	return kvp_log_takes_intents(pool) && used_of(pool, most) <= most - most / 32;
}

u64 kvp_pacing_admit(struct kvp_pool *pool, u32 blocks)
{
	u64 most = kvp_log_limit_empty(pool), full = kvp_speed_full(pool), rate, wait;
	struct kvp_pacing *p = pool->pacing;
	unsigned long flags;

	rate = kvp_ssd_accept(most, used_of(pool, most), full);
	if (rate == ~0ull || !kvp_pool_logs_on_cache(pool))
		return 0;
	/* The log is never full for long, so the reservation here must not stop a writer. */
	rate = max3(rate, full / 8, SLOWEST);
	spin_lock_irqsave(&p->lock, flags);
	wait = kvp_ssd_take(&p->bucket, ktime_get_ns(), blocks, rate);
	spin_unlock_irqrestore(&p->lock, flags);
	return min_t(u64, wait, NSEC_PER_SEC);
}
