/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * False entries of a log and false summaries of a cache, with good sums. They name only blocks of
 * their own pool. So a false entry may bring back an old version of a block, or lose it, and
 * nothing else.
 */
#ifndef SIM_FORGE_H
#define SIM_FORGE_H

#include "format/format.h"
#include "image.h"
#include "sched.h"

/** forge_log() - one entry of the log on @img lies, and those behind it may follow on it again
 *
 * @img: all legs of the pool whose newest superblock is @sb
 * Return: was there an entry?
 */
bool forge_log(struct rng *rng, struct image *img, const struct kvp_sb *sb);

/**
 * forge_summary() - one summary of the cache on @img, of vdev @cache of @sb, lies; false: there is
 * none
 */
bool forge_summary(struct rng *rng, struct image *img, const struct kvp_sb *sb, u32 cache);

#endif
