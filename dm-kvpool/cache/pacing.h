/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How fast dirty data on an SSD cache goes home, and how fast writers may add more.
 *
 * The speed of the data vdevs is measured: how much destage has written back while it ran
 * (home/speed.h). ssdpolicy.h decides the rest from how full the log's window is. Destage asks
 * kvp_pacing_destage(). Before a write is accepted, its caller asks kvp_pacing_is_slow(), which is
 * cheap, then kvp_pacing_admit(), and keeps the write for the time that this returns, without
 * sleeping. If the log becomes full anyway, writers wait as they do without pacing.
 *
 * A log on legs has no pace: it is never slow.
 */
#ifndef KVP_PACING_H
#define KVP_PACING_H

#include <linux/spinlock.h>
#include <linux/types.h>

#include "core/core.h"
#include "policy/runs.h"
#include "policy/ssdpolicy.h"

struct kvp_pool;

/**
 * struct kvp_pacing - of a pool
 * @lock: irqsave; for all below
 * @bucket: the rate of writers
 * @runs: finds out which writes are parts of long streams; kept while the log is on a cache
 * @waiting: writes are kept waiting; set by the code that keeps them
 */
struct kvp_pacing {
	spinlock_t lock;
	struct kvp_ssd_bucket bucket;
	struct kvp_runs runs;
	bool waiting;
};

void kvp_pacing_init(struct kvp_pool *pool);

/**
 * kvp_pacing_note_waiting() - note whether any write is kept waiting.
 *
 * Context: the code that keeps writes.
 */
static inline void kvp_pacing_note_waiting(struct kvp_pacing *p, bool waiting)
{
	WRITE_ONCE(p->waiting, waiting);
}

/** kvp_pacing_any_waits() - true if a write is kept waiting. Any context. */
static inline bool kvp_pacing_any_waits(const struct kvp_pacing *p)
{
	return READ_ONCE(p->waiting);
}

/**
 * kvp_pacing_dirty() - blocks of the log from the first version that is not home on, and the
 * reservation for parity
 */
u64 kvp_pacing_dirty(struct kvp_pool *pool);

/*
 * kvp_pacing_destage(), kvp_pacing_is_slow() and kvp_pacing_left() of a pool whose log is on a
 * cache.
 */
u64 kvp_pacing_wants(struct kvp_pool *pool);
bool kvp_pacing_slows(const struct kvp_pool *pool);
u32 kvp_pacing_room(const struct kvp_pool *pool);

/**
 * kvp_pacing_destage() - versions a second that should go home now
 *
 * 0: nothing is dirty, or the log is on legs, and has no pace. At least kvp_speed_full(): as fast
 * as possible. Context: any but interrupt.
 */
static inline u64 kvp_pacing_destage(struct kvp_pool *pool)
{
	return kvp_pool_logs_on_cache(pool) ? kvp_pacing_wants(pool) : 0;
}

/** kvp_pacing_is_slow() - true if the log is so full that writers are slowed down. Any context. */
static inline bool kvp_pacing_is_slow(const struct kvp_pool *pool)
{
	return kvp_pool_logs_on_cache(pool) && kvp_pacing_slows(pool);
}

/**
 * kvp_pacing_left() - per cent of the limit of buffered blocks that are left; 100 if the log is on
 * legs. Any context.
 */
static inline u32 kvp_pacing_left(const struct kvp_pool *pool)
{
	return kvp_pool_logs_on_cache(pool) ? kvp_pacing_room(pool) : 100;
}

bool kvp_pacing_joins_stream(struct kvp_pool *pool, u64 first, u32 blocks, u32 ask);

/**
 * kvp_pacing_stream() - true if a write of @blocks from @first on should go home by intent, past a
 * cache
 * @ask: KVP_ASK_*
 *
 * It should if it belongs to a stream that has gone on for long enough. That is decided when the
 * write comes, since in the buffer it may lie alone; and kept in its versions (struct kvp_version).
 * Never without the log on a cache: then its run in the buffer decides (log/build.c). Context: any;
 * once for each write.
 */
static inline bool kvp_pacing_stream(struct kvp_pool *pool, u64 first, u32 blocks, u32 ask)
{
	return kvp_pool_logs_on_cache(pool) && kvp_pacing_joins_stream(pool, first, blocks, ask);
}

/**
 * kvp_pacing_passes() - true if writes of streams are accepted without delay
 *
 * They fill the log a hundred times more slowly, so they are not slowed down, as long as there is
 * some room. Context: any.
 */
bool kvp_pacing_passes(const struct kvp_pool *pool);

/**
 * kvp_pacing_admit() - ask whether a write of @blocks may be accepted now
 *
 * Return: 0: yes, and they are counted; else ask again after so many ns. At most a second, as the
 * pace changes. Context: any.
 */
u64 kvp_pacing_admit(struct kvp_pool *pool, u32 blocks);

#endif /* KVP_PACING_H */
