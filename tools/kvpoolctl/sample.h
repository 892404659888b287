/* SPDX-License-Identifier: GPL-2.0-only */
/* The counters of a running pool at one moment, and their growth: for iostat and top. */
#ifndef KVPOOLCTL_SAMPLE_H
#define KVPOOLCTL_SAMPLE_H

#include <limits.h>

#include "flush_latency.h"
#include "iocount.h"
#include "ssd_counts.h"

#define SAMPLE_LEGS	64	/* bound for numbers from the module */

/* Counters of the caches since the start of the pool, in blocks. */
enum sample_count {
	COUNT_HITS, COUNT_MISSES, COUNT_LONG, COUNT_STREAM, COUNT_AHEAD, COUNT_SSD_HITS,
	COUNT_SSD_MISSES, COUNT_SSD_FILLS, COUNT_SSD_REINSERTED, COUNT_LOGGED, COUNT_PAST_LOG,
	COUNTS
};

struct leg_sample {
	char path[PATH_MAX], uuid[UUID_BUF];
	struct iocount io;
};

struct sample {
	double at;		/* of sample_now(); in a difference: the seconds between the two */
	struct iocount io;
	struct latency flush;
	u64 uptime_ms;
	u64 counts[COUNTS];
	struct ssd_counts ssd;
	bool cached;
	u64 dirty, log_used, destage_rate, drain_ms;	/* as they are: bytes, not rates */
	unsigned int legs;
	struct leg_sample leg[SAMPLE_LEGS];
};

/** sample_now() - seconds of a clock that also runs while the machine sleeps */
double sample_now(void);

/** sample_take() - ask the pool @name; @stats, of that moment, is to be freed after success */
int sample_take(const char *name, struct sample *s, struct stats *stats, struct err *err);

/**
 * sample_difference() - the growth of all counters since @before
 *
 * If the pool was started meanwhile, or a leg has another device, counters began at zero.
 */
void sample_difference(const struct sample *s, const struct sample *before, struct sample *d);

/** sample_rate() - @count in each of @seconds, rounded; 0 if there were none */
u64 sample_rate(u64 count, double seconds);

/** sample_percent() - "NN%" of @hits among both, "-" if there were none */
const char *sample_percent(u64 hits, u64 misses, char buf[16]);

#endif
