/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How destage yields to the host. It works in bursts. With the log on legs, these are short while
 * the host has requests. Destage rests between short bursts, and holds no lock then. How long it
 * rests depends on how full the log and the buffer are (policy/yield.h). It does not rest while a
 * caller waits for space that destage frees.
 *
 * With the log on a cache, destage has its pace instead (cache/pacing.h). Its bursts are short
 * where renewals make the log's space, which wait for the end of a burst, and beside readers of
 * home. Such readers then have the disks for a while, in which the worker does not sleep
 * (until_readers_had_theirs() in destage.c).
 */
#ifndef KVP_BURST_H
#define KVP_BURST_H

#include <linux/types.h>

#include "core/crowd.h"
#include "policy/yield.h"

struct kvp_home;
struct kvp_pool;

/**
 * struct kvp_burst - the burst of destage that runs, or ran last; by the destage worker
 * @spell: how long the worker has had its processor
 * @host: what was learned of the host's requests
 * @napped: ns of naps so far when the burst began
 * @rest: to rest after the last burst, ns
 * @rested: how many times it has rested
 * @brief: this burst is short
 */
struct kvp_burst {
	struct kvp_pool *pool;
	struct kvp_spell spell;
	struct kvp_yield host;
	u64 napped;
	u64 rest;
	u32 rested;
	bool brief;
};

/** kvp_burst_init() - before the first burst. All other fields are 0. */
void kvp_burst_init(struct kvp_burst *b, struct kvp_pool *pool);

/**
 * kvp_burst_begin() - a burst of destage begins, which writes home with @home. Context: the destage
 * worker.
 */
void kvp_burst_begin(struct kvp_burst *b, struct kvp_home *home);

/**
 * kvp_burst_is_short() - true if this burst should be short, for the host or for a renewal
 */
static inline bool kvp_burst_is_short(const struct kvp_burst *b)
{
	return b->brief;
}

/**
 * kvp_burst_yields() - is_brief of destage from legs (work/destage_ops.h): a burst yields to a host
 * that has requests
 *
 * kvp_burst_rest_for() - rest of destage from legs, after such a burst
 *
 * kvp_burst_no_rest() - the same from a cache: destage has its pace
 */
bool kvp_burst_yields(struct kvp_pool *pool, bool busy);
u64 kvp_burst_rest_for(const struct kvp_pool *pool, u64 ns);
u64 kvp_burst_no_rest(const struct kvp_pool *pool, u64 ns);

/** kvp_burst_end() - the burst has ended, after @ns nanoseconds without naps */
void kvp_burst_end(struct kvp_burst *b, u64 ns);

/** kvp_burst_rest() - rest after a short burst. Context: the destage worker; holds no lock. */
void kvp_burst_rest(struct kvp_burst *b);

#endif /* KVP_BURST_H */
