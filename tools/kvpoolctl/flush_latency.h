/* SPDX-License-Identifier: GPL-2.0-only */
/* The module's histogram of flush times: its answer to the message "latency". */
#ifndef KVPOOLCTL_FLUSH_LATENCY_H
#define KVPOOLCTL_FLUSH_LATENCY_H

#include "ctl.h"

#define LATENCY_BUCKETS	256	/* at most; the module has fewer */

/* Buckets in ascending order of their bounds; empty buckets may be missing. */
struct latency {
	u64 sum;			/* ns */
	u64 count;			/* of all buckets */
	unsigned int buckets;
	struct {
		u64 bound;		/* ns, exclusive; UINT64_MAX: none */
		u64 count;
	} bucket[LATENCY_BUCKETS];
};

/**
 * latency_load() - ask the pool called @name; a module without the message gives an empty histogram
 */
int latency_load(const char *name, struct latency *l, struct err *err);

/** latency_parse() - read lines "flush sum NS" and "flush BOUND COUNT"; skip others */
void latency_parse(const char *text, struct latency *l);

/** latency_since() - the growth of @l since @before; all of @l if its counters began at zero */
void latency_since(const struct latency *l, const struct latency *before, struct latency *diff);

/**
 * latency_quantile() - upper bound, in ns, of the times of @permille of all; 0 if there were none
 *
 * Within a bucket, a quarter of a power of two wide, times count as evenly spread.
 */
u64 latency_quantile(const struct latency *l, unsigned int permille);

/** latency_json() - count and quantiles in microseconds; null if there were none */
void latency_json(json_object *o, const struct latency *l);

#endif
