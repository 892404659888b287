/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Traces through two tiers: a RAM cache that is the same for all, and an SSD cache of some kind
 * below it. Counted are blocks read from home, and blocks written to the SSD, payload only.
 */
#ifndef CACHE_SSD_REPLAY_H
#define CACHE_SSD_REPLAY_H

#include <stdint.h>

#include "trace.h"

#define SSD_KINDS	8
#define SSD_SIZES	3

/* Kinds of SSD cache. The first three admit all blocks, and write in place where they can. */
enum { SSD_FIFO, SSD_LRU, SSD_ARC, SSD_OURS, SSD_POLICIES };

/**
 * ssd_percent - the sizes of the SSD, in percent of the footprint; the RAM tier has a tenth of that
 */
extern const unsigned int ssd_percent[SSD_SIZES];
extern const char *const ssd_policies[SSD_POLICIES];

/**
 * struct ssd_cell - one trace through one cache
 * @reads: blocks that the trace reads; @misses: those read from home
 * @writes: blocks that the trace writes
 * @fills: blocks read from home that were written to the SSD
 * @reinserted: blocks copied when their segment was reclaimed
 * @wrong: impossible answers: a place, or a version, that is not the block's newest
 */
struct ssd_cell {
	double reads, misses, writes, fills, reinserted;
	unsigned long wrong;
};

struct ssd_replay {
	struct ssd_cell cell[SSD_KINDS][SSD_SIZES][SSD_POLICIES];
};

void ssd_replay_run(struct ssd_replay *r, unsigned int scale, uint64_t seed);

/** ssd_trace() - one cell */
void ssd_trace(struct ssd_cell *cell, const struct trace *t, unsigned int percent,
	       unsigned int policy);

/** ssd_written() - blocks written to the SSD for each block of the trace */
double ssd_written(const struct ssd_cell *c);

/** ssd_misses() - mean of the additional misses of @policy relative to those of @base */
double ssd_misses(const struct ssd_replay *r, unsigned int policy, unsigned int base);

/** ssd_wear() - the same for blocks written to the SSD */
double ssd_wear(const struct ssd_replay *r, unsigned int policy, unsigned int base);

#endif
