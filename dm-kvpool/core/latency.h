/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Latency: a histogram that only grows, so that the difference of two readings tells what happened
 * between them. A bucket is a quarter of a power of two wide. So a value that is read from it is at
 * most a quarter too large.
 */
#ifndef KVP_LATENCY_H
#define KVP_LATENCY_H

#include <linux/atomic.h>
#include <linux/types.h>

#define KVP_LATENCY_BUCKETS	132	/* the last one counts all longer ones: over an hour */

struct kvp_latency {
	atomic64_t count[KVP_LATENCY_BUCKETS];
	atomic64_t sum;			/* ns */
};

/** kvp_latency_bucket() - the bucket that @ns nanoseconds belong to; pure */
u32 kvp_latency_bucket(u64 ns);

/**
 * kvp_latency_bound() - the bound in ns that all values in @bucket are below
 *
 * Return: U64_MAX for the last bucket. Pure.
 */
u64 kvp_latency_bound(u32 bucket);

/** kvp_latency_add() - count a value of @ns. Any context. */
void kvp_latency_add(struct kvp_latency *l, u64 ns);

#endif /* KVP_LATENCY_H */
