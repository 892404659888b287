/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Destage beside the host, with the log on legs: its turns are short while the host asks for
 * something, and it rests between them, with no lock held. How long depends on how full the log and
 * the buffer are (policy/yield.h). It does not rest when a caller waits for what it makes free.
 *
 * With the log on a cache, destage has its pace instead (cache/pacing.h). Its turns are short where
 * renewals make the log's space: those wait for the end of a turn.
 */
#ifndef KVP_TURN_H
#define KVP_TURN_H

#include "core/core.h"

struct kvp_pool;

/** kvp_turn_begin() - a turn of destage begins. Context: destage alone. */
void kvp_turn_begin(struct kvp_pool *pool);

/**
 * kvp_turn_is_short() - true if this turn should be short: the host, or a renewal, waits beside it
 */
bool kvp_turn_is_short(const struct kvp_pool *pool);

/** kvp_turn_end() - the turn is over; it took @ns */
void kvp_turn_end(struct kvp_pool *pool, u64 ns);

/** kvp_turn_rest() - rest after the last turn, if it was short. Context: destage; holds no lock. */
void kvp_turn_rest(struct kvp_pool *pool);

#endif /* KVP_TURN_H */
