/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long something takes: a histogram that only grows, so that two reads tell what
 * lies between them. A bucket is a quarter of a power of two wide, so a value that is
 * read from it is at most a quarter too large.
 */
#ifndef KVP_LATENCY_H
#define KVP_LATENCY_H

#include <linux/atomic.h>
#include <linux/types.h>

#define KVP_LATENCY_BUCKETS	132	/* the last one takes what is longer: over an hour */

struct kvp_latency {
	atomic64_t count[KVP_LATENCY_BUCKETS];
	atomic64_t sum;			/* ns */
};

/** kvp_latency_bucket() - the bucket that @ns nanoseconds belong to; pure */
u32 kvp_latency_bucket(u64 ns);

/**
 * kvp_latency_bound() - all values in @bucket are shorter than this, in ns; U64_MAX for the last;
 * pure
 */
u64 kvp_latency_bound(u32 bucket);

/** kvp_latency_add() - count one that took @ns; any context */
void kvp_latency_add(struct kvp_latency *l, u64 ns);

#endif /* KVP_LATENCY_H */
