// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flush_latency.h"

static void add_bucket(struct latency *l, u64 bound, u64 count)
{
	/* bounds that do not grow are not from the module */
	if (l->buckets == LATENCY_BUCKETS ||
	    (l->buckets && bound <= l->bucket[l->buckets - 1].bound))
		return;
	l->bucket[l->buckets].bound = bound;
	l->bucket[l->buckets++].count = count;
	l->count += count;
}

void latency_parse(const char *text, struct latency *l)
{
	const char *line = text;
	u64 bound, count;

	memset(l, 0, sizeof(*l));
	while (line) {
		if (sscanf(line, "flush sum %" SCNu64, &count) == 1)
			l->sum = count;
		else if (sscanf(line, "flush %" SCNu64 " %" SCNu64, &bound, &count) == 2)
			add_bucket(l, bound, count);
		line = strchr(line, '\n');
		if (line)
			line++;
	}
}

int latency_load(const char *name, struct latency *l, struct err *err)
{
	char *text;

	memset(l, 0, sizeof(*l));
	if (dm_message(name, "latency", &text, err))
		return -1;
	latency_parse(text, l);
	free(text);
	return 0;
}

static u64 count_below(const struct latency *l, u64 bound)
{
	unsigned int i;

	for (i = 0; i < l->buckets; i++)
		if (l->bucket[i].bound == bound)
			return l->bucket[i].count;
	return 0;
}

void latency_since(const struct latency *l, const struct latency *before, struct latency *diff)
{
	unsigned int i;

	*diff = *l;
	if (before->count > l->count)
		return;
	diff->sum -= before->sum;
	diff->count = 0;
	for (i = 0; i < diff->buckets; i++) {
		diff->bucket[i].count -= count_below(before, diff->bucket[i].bound);
		diff->count += diff->bucket[i].count;
	}
}

/* A bucket is a quarter of a power of two wide; @bound may be the end of that power. */
static u64 width(u64 bound)
{
	u64 power = 1ull << (63 - __builtin_clzll(bound));

	return bound == power ? power / 8 : power / 4;
}

u64 latency_quantile(const struct latency *l, unsigned int permille)
{
	double rank = (double)l->count * permille / 1000, below = 0;
	unsigned int i;

	for (i = 0; i < l->buckets; i++) {
		u64 bound = l->bucket[i].bound;
		double n = (double)l->bucket[i].count;

		if (!l->bucket[i].count || below + n < rank) {
			below += n;
			continue;
		}
		if (bound == UINT64_MAX || !bound)
			return i ? l->bucket[i - 1].bound : 0;
		return bound - (u64)((double)width(bound) * (1 - (rank - below) / n));
	}
	return 0;
}

void latency_json(json_object *o, const struct latency *l)
{
	static const struct {
		const char *key;
		unsigned int permille;
	} quantiles[] = { { "p50_us", 500 }, { "p99_us", 990 }, { "p999_us", 999 } };
	unsigned int i;

	json_number(o, "count", l->count);
	for (i = 0; i < 3; i++)
		if (l->count)
			json_number(o, quantiles[i].key,
				    (latency_quantile(l, quantiles[i].permille) + 500) / 1000);
		else
			json_object_object_add(o, quantiles[i].key, NULL);
}
