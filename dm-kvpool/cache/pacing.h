/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pacing: how fast dirty data on an SSD cache goes home.
 *
 * home/speed.h measures the speed of the data vdevs: how much destage has written back while it
 * ran. ssdpolicy.h decides the rest from how full the log's window is. Destage asks
 * kvp_pacing_wants(). home/throttle.h slows writers down.
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
 * kvp_pacing_wants() - versions a second that should go home now
 *
 * 0: nothing is dirty. kvp_speed_full() or more: as fast as possible. Context: any but interrupt.
 */
u64 kvp_pacing_wants(struct kvp_pool *pool);

/**
 * kvp_pacing_room() - per cent of the limit of buffered blocks that are left
 *
 * 0 too if the limit is 0, as it may be for a moment while the window becomes smaller
 * (kvp_log_limit_empty()). Any context.
 */
u32 kvp_pacing_room(const struct kvp_pool *pool);

/**
 * kvp_pacing_in_use() - kvp_log_ops.in_use of a log on a cache: versions need no pages, as they are
 * spilled
 */
u64 kvp_pacing_in_use(const struct kvp_pool *pool, u64 *most);

/**
 * kvp_pacing_in_use_for_streams() - kvp_log_ops.in_use_for_streams of a log on a cache: a stream
 * that passes dirty blocks needs room for records, and makes those blocks clean
 */
u64 kvp_pacing_in_use_for_streams(const struct kvp_pool *pool, u64 *most);

/**
 * kvp_pacing_joins_stream() - kvp_log_ops.joins_stream of a log on a cache
 *
 * That is decided when the write comes, since it may lie alone in the buffer. The answer is kept in
 * its versions (struct kvp_version).
 */
bool kvp_pacing_joins_stream(struct kvp_pool *pool, kvp_block_t first, u32 blocks, u32 ask);

#endif /* KVP_PACING_H */
