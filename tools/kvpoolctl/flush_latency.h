/* SPDX-License-Identifier: GPL-2.0-only */
/* The module's histogram of how long flushes took: its answer to the message "latency". */
#ifndef KVPOOLCTL_FLUSH_LATENCY_H
#define KVPOOLCTL_FLUSH_LATENCY_H

#include "ctl.h"

#define LATENCY_BUCKETS	256	/* at most; the module has fewer */

/* Buckets in the order of their bounds; those that were empty need not be there. */
struct latency {
	u64 sum;			/* ns */
	u64 count;			/* of all buckets */
	unsigned int buckets;
	struct {
		u64 bound;		/* ns, exclusive; UINT64_MAX: none */
		u64 count;
	} bucket[LATENCY_BUCKETS];
};

/** latency_load() - ask the pool called @name; a module that does not know it has none */
int latency_load(const char *name, struct latency *l, struct err *err);

/** latency_parse() - from lines "flush sum NS" and "flush BOUND COUNT"; others are left out */
void latency_parse(const char *text, struct latency *l);

/** latency_since() - what came to @l since @before was taken; all of it if it began anew */
void latency_since(const struct latency *l, const struct latency *before, struct latency *diff);

/**
 * latency_quantile() - what @permille of all took no longer than, in ns; 0 if there were none
 *
 * Within a bucket, a quarter of a power of two wide, they are taken to be spread evenly.
 */
u64 latency_quantile(const struct latency *l, unsigned int permille);

/** latency_json() - count and quantiles in microseconds; null if there were none */
void latency_json(json_object *o, const struct latency *l);

#endif
