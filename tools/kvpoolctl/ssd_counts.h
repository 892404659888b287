/* SPDX-License-Identifier: GPL-2.0-only */
/* Blocks not admitted to the SSD cache, by reason, and bytes written to it, by cause. */
#ifndef KVPOOLCTL_SSD_COUNTS_H
#define KVPOOLCTL_SSD_COUNTS_H

#include "ctl.h"
#include "stats.h"

#define SSD_REASONS	6
#define SSD_CAUSES	7

struct ssd_counts {
	u64 refused[SSD_REASONS];	/* blocks */
	u64 written[SSD_CAUSES];	/* bytes, to each SSD; the first cause is data of users */
};

/** ssd_counts_load() - the module's counts; all 0 without a cache */
void ssd_counts_load(const struct stats *s, struct ssd_counts *c);

/** ssd_counts_since() - subtract the counts of @before; a count that shrank began at zero */
void ssd_counts_since(struct ssd_counts *c, const struct ssd_counts *before);

/**
 * ssd_amplification() - bytes written to an SSD for each byte that users wrote there; 0: they wrote
 * none
 */
double ssd_amplification(const struct ssd_counts *c);

/** ssd_counts_json() - add "refused", "written", and "amplification" in per cent */
void ssd_counts_json(json_object *cache, const struct ssd_counts *c);

#endif
