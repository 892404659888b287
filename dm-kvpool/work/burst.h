/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How destage yields to the host. It works in bursts. With the log on legs, these are short while
 * the host has requests. Destage rests between short bursts, and holds no lock then. How long it
 * rests depends on how full the log and the buffer are (policy/yield.h). It does not rest while a
 * caller waits for space that destage frees.
 *
 * With the log on a cache, destage has its pace instead (cache/pacing.h). Its bursts are short
 * where renewals make the log's space: renewals wait for the end of a burst.
 */
#ifndef KVP_BURST_H
#define KVP_BURST_H

#include "core/core.h"

struct kvp_pool;

/** kvp_burst_begin() - a burst of destage begins. Context: the destage worker. */
void kvp_burst_begin(struct kvp_pool *pool);

/**
 * kvp_burst_is_short() - true if this burst should be short, for the host or for a renewal
 */
bool kvp_burst_is_short(const struct kvp_pool *pool);

/** kvp_burst_end() - the burst has ended, after @ns nanoseconds */
void kvp_burst_end(struct kvp_pool *pool, u64 ns);

/** kvp_burst_rest() - rest after a short burst. Context: the destage worker; holds no lock. */
void kvp_burst_rest(struct kvp_pool *pool);

#endif /* KVP_BURST_H */
