// SPDX-License-Identifier: GPL-2.0-only
#include <linux/limits.h>
#include <linux/log2.h>
#include <linux/minmax.h>

#include "core/latency.h"

#define SHORTEST	10	/* bucket 0: below 2^10 ns, which no device reaches */

u32 kvp_latency_bucket(u64 ns)
{
	u32 power;

	if (ns < 1ull << SHORTEST)
		return 0;
	power = ilog2(ns);
	return min_t(u32, 1 + (power - SHORTEST) * 4 + (ns >> (power - 2)) % 4,
		     KVP_LATENCY_BUCKETS - 1);
}

u64 kvp_latency_bound(u32 bucket)
{
	if (bucket >= KVP_LATENCY_BUCKETS - 1)
		return U64_MAX;
	if (!bucket)
		return 1ull << SHORTEST;
	return (5ull + (bucket - 1) % 4) << (SHORTEST - 2 + (bucket - 1) / 4);
}

void kvp_latency_add(struct kvp_latency *l, u64 ns)
{
	atomic64_inc(&l->count[kvp_latency_bucket(ns)]);
	atomic64_add(ns, &l->sum);
}
