/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How destage yields to the host. With the log on legs, its turns are short while the host has
 * requests. It rests between turns, and holds no lock then. How long it rests depends on how full
 * the log and the buffer are (policy/yield.h). It does not rest while a caller waits for space that
 * destage frees.
 *
 * With the log on a cache, destage has its pace instead (cache/pacing.h). Its turns are short where
 * renewals make the log's space: renewals wait for the end of a turn.
 */
#ifndef KVP_TURN_H
#define KVP_TURN_H

#include "core/core.h"

struct kvp_pool;

/** kvp_turn_begin() - a turn of destage begins. Context: the destage worker. */
void kvp_turn_begin(struct kvp_pool *pool);

/**
 * kvp_turn_is_short() - true if this turn should be short, for the host or for a renewal
 */
bool kvp_turn_is_short(const struct kvp_pool *pool);

/** kvp_turn_end() - the turn has ended, after @ns nanoseconds */
void kvp_turn_end(struct kvp_pool *pool, u64 ns);

/** kvp_turn_rest() - rest after a short turn. Context: the destage worker; holds no lock. */
void kvp_turn_rest(struct kvp_pool *pool);

#endif /* KVP_TURN_H */
