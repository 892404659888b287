/* SPDX-License-Identifier: GPL-2.0-only */
/* Runs every trace through every policy, at several sizes. */
#ifndef CACHE_REPLAY_H
#define CACHE_REPLAY_H

#include "policies.h"

#define REPLAY_KINDS	8
#define REPLAY_SIZES	4
#define OURS		REFERENCES	/* index of the module's policy, after the references */
#define POLICIES	(REFERENCES + 1)

/** replay_percent - the sizes of the caches, in percent of the footprint */
extern const unsigned int replay_percent[REPLAY_SIZES];

/**
 * struct replay - misses of each policy in each cell
 * @reads: blocks that each trace reads
 * @misses: those that were not in the cache. A written block is in the cache afterwards, like a
 * read one, but counts as no miss.
 */
struct replay {
	double reads[REPLAY_KINDS];
	double misses[REPLAY_KINDS][REPLAY_SIZES][POLICIES];
};

/** replay_policy() - the reference or, with OURS, the module's policy */
const struct policy *replay_policy(unsigned int policy);

void replay_run(struct replay *r, unsigned int scale, uint64_t seed);

/** replay_against() - additional misses relative to those of @base; less than 0 is better */
double replay_against(const struct replay *r, unsigned int kind, unsigned int size,
		      unsigned int policy, unsigned int base);

/** replay_mean() - mean of replay_against() LRU, over all sizes of the first @kinds kinds */
double replay_mean(const struct replay *r, unsigned int kinds, unsigned int policy);

/** replay_worst() - the worst cell of a policy against LRU */
double replay_worst(const struct replay *r, unsigned int policy);

#endif
