// SPDX-License-Identifier: GPL-2.0-only
#include <linux/ktime.h>
#include <linux/math64.h>

#include "core/core.h"
#include "core/log_ops.h"
#include "core/stats.h"
#include "home/speed.h"
#include "home/throttle.h"
#include "log/log.h"
#include "ram/wbuf.h"

#define SLOWEST		16ull			/* blocks a second; writers are never slower */
#define NO_LIMIT	(~0ull)
#define LOOK_BLOCKS	64u			/* the answer is as old as so many blocks at most */

void kvp_throttle_init(struct kvp_pool *pool)
{
	spin_lock_init(&pool->throttle->lock);
	kvp_runs_init(&pool->throttle->runs);
	pool->throttle->rate = NO_LIMIT;
}

static u64 in_use(const struct kvp_pool *pool, u64 *most)
{
	return kvp_log_ops(&pool->vdevs)->in_use(pool, most);
}

u64 kvp_throttle_in_use(const struct kvp_pool *pool, u64 *most)
{
	u64 used, pages = kvp_wbuf_limit(pool->wbuf), logged = kvp_wbuf_nr_logged(pool->wbuf);

	*most = kvp_log_limit_empty(pool->log);
	used = kvp_log_taken(pool->log, *most);
	if (logged * *most <= used * pages)
		return used;
	*most = pages;
	return logged;
}

bool kvp_throttle_is_slow(const struct kvp_pool *pool)
{
	u64 most, used = in_use(pool, &most);

	return kvp_throttle_slows(most, used);
}

/* True if the newest @blocks of this processor's blocks begin another LOOK_BLOCKS of them. */
static bool looks_anew(const struct kvp_pool *pool, u32 blocks)
{
	u64 n = this_cpu_read(pool->stats->write_blocks);

	return blocks >= LOOK_BLOCKS || n % LOOK_BLOCKS < blocks;
}

/* The rate of writers, in blocks a second, by what is in use now. */
static u64 rate_now(const struct kvp_pool *pool)
{
	u64 most, used = in_use(pool, &most), full;

	if (!kvp_throttle_slows(most, used))
		return NO_LIMIT;
	full = kvp_speed_full(pool);
	/*
	 * The log is never full for long, so its reservation for parity must not stop a writer
	 * here.
	 */
	return max3(kvp_throttle_rate(most, used, full), full / 8, SLOWEST);
}

/* The rate that was found last; it is found anew for a write that begins a jiffy or many blocks. */
static u64 recent_rate(struct kvp_pool *pool, u32 blocks)
{
	struct kvp_throttle *t = pool->throttle;
	unsigned long now = jiffies;
	u64 rate = READ_ONCE(t->rate);

	if (READ_ONCE(t->looked) == now && !looks_anew(pool, blocks))
		return rate;
	rate = rate_now(pool);
	if (READ_ONCE(t->rate) != rate)
		WRITE_ONCE(t->rate, rate);
	if (READ_ONCE(t->looked) != now)
		WRITE_ONCE(t->looked, now);
	return rate;
}

bool kvp_throttle_may_slow(struct kvp_pool *pool, u32 blocks)
{
	return recent_rate(pool, blocks) != NO_LIMIT;
}

u32 kvp_throttle_run(struct kvp_pool *pool, kvp_block_t first, u32 blocks)
{
	return max(kvp_run_note(&pool->throttle->runs, kvp_block_nr(first), blocks, true), blocks);
}

/* A stream that is only buffered needs no more than records. */
u64 kvp_throttle_in_use_for_streams(const struct kvp_pool *pool, u64 *most)
{
	u64 used = kvp_throttle_in_use(pool, most), empty = kvp_log_limit_empty(pool->log);

	return *most == empty ? kvp_log_spent(pool->log, *most) : used;
}

bool kvp_throttle_joins_stream(struct kvp_pool *pool, kvp_block_t first, u32 blocks, u32 ask)
{
	return kvp_throttle_may_slow(pool, blocks) &&
	       kvp_throttle_run(pool, first, blocks) >= kvp_log_legs_cutoff(pool->log);
}

bool kvp_throttle_passes(const struct kvp_pool *pool)
{
	u64 most, used = kvp_log_ops(&pool->vdevs)->in_use_for_streams(pool, &most);

	return kvp_log_takes_intents(pool->log) && used <= most - most / 32;
}

u64 kvp_throttle_admit(struct kvp_pool *pool, u32 blocks)
{
	struct kvp_throttle *t = pool->throttle;
	u64 rate = recent_rate(pool, blocks), wait;
	unsigned long flags;

	if (rate == NO_LIMIT)
		return 0;
	spin_lock_irqsave(&t->lock, flags);
	wait = kvp_bucket_take(&t->bucket, ktime_get_ns(), blocks, rate);
	spin_unlock_irqrestore(&t->lock, flags);
	return min_t(u64, wait, NSEC_PER_SEC);
}
