/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pacing: how fast dirty data on an SSD cache goes home.
 *
 * home/speed.h measures the speed of the data vdevs: how much destage has written back while it
 * ran. ssdpolicy.h decides the rest from how full the log's window is. Destage asks
 * kvp_pacing_destage(). home/throttle.h slows writers down.
 *
 * A log on legs has no pace (work/burst.h).
 *
 * Unlike most files of this folder, this one knows the pool: it asks log and write buffer, and
 * hands the answers to the policy.
 */
#ifndef KVP_PACING_H
#define KVP_PACING_H

#include <linux/types.h>

#include "core/core.h"
#include "core/log_ops.h"
#include "policy/ssdpolicy.h"

struct kvp_pool;

/**
 * kvp_pacing_dirty() - blocks of the log from the first version that is not home on, and those
 * reserved for parity
 *
 * 0 if nothing is dirty. Context: any but interrupt; takes wbuf->lock.
 */
u64 kvp_pacing_dirty(struct kvp_pool *pool);

/**
 * kvp_pacing_wants() - kvp_pacing_destage() of a pool whose log is on a cache
 *
 * kvp_pacing_room() - kvp_pacing_left() of such a pool
 *
 * Call the functions below instead: they know where the log is. Context: any but interrupt;
 * kvp_pacing_room(): any.
 */
u64 kvp_pacing_wants(struct kvp_pool *pool);
u32 kvp_pacing_room(const struct kvp_pool *pool);

/**
 * kvp_pacing_destage() - versions a second that should go home now
 *
 * 0: nothing is dirty, or the log is on legs, which has no pace. kvp_speed_full() or more: as fast
 * as possible. Context: any but interrupt.
 */
static inline u64 kvp_pacing_destage(struct kvp_pool *pool)
{
	return kvp_log_ops(&pool->vdevs)->paced ? kvp_pacing_wants(pool) : 0;
}

/**
 * kvp_pacing_left() - per cent of the limit of buffered blocks that are left; 100 if the log is on
 * legs
 *
 * Any context.
 */
static inline u32 kvp_pacing_left(const struct kvp_pool *pool)
{
	return kvp_log_ops(&pool->vdevs)->paced ? kvp_pacing_room(pool) : 100;
}

/**
 * kvp_pacing_joins_stream() - kvp_pacing_stream() of a pool whose log is on a cache
 *
 * It notes the write as part of its stream. Call kvp_pacing_stream() instead.
 */
bool kvp_pacing_joins_stream(struct kvp_pool *pool, kvp_block_t first, u32 blocks, u32 ask);

/**
 * kvp_pacing_stream() - true if a write of @blocks from @first on should go home by intent, past a
 * cache
 * @ask: KVP_ASK_*
 *
 * It should if it belongs to a stream that has gone on for long enough. That is decided when the
 * write comes, since it may lie alone in the buffer. The answer is kept in its versions (struct
 * kvp_version). It is false if the log is on legs: then the run in the buffer decides
 * (log/build.c). Context: any; call it once for each write.
 */
static inline bool kvp_pacing_stream(struct kvp_pool *pool, kvp_block_t first, u32 blocks, u32 ask)
{
	return kvp_log_ops(&pool->vdevs)->keeps &&
	       kvp_pacing_joins_stream(pool, first, blocks, ask);
}

#endif /* KVP_PACING_H */
