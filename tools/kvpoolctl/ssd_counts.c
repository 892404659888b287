// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>

#include "ssd_counts.h"

static const char *const reasons[SSD_REASONS] = {
	"evidence", "stream", "budget", "memory", "log", "changed"
};

static const char *const causes[SSD_CAUSES] = {
	"data", "headers", "parity", "fills", "reinserted", "renewed", "table"
};

void ssd_counts_load(const struct stats *s, struct ssd_counts *c)
{
	unsigned int i;

	for (i = 0; i < SSD_REASONS; i++)
		c->refused[i] = stats_number(s, "ssd.refused_%s", reasons[i]);
	for (i = 0; i < SSD_CAUSES; i++)
		c->written[i] = stats_number(s, "ssd.written_%s", causes[i]);
}

static void since(u64 *counts, const u64 *before, unsigned int nr)
{
	for (; nr; nr--, counts++, before++)
		if (*counts >= *before)
			*counts -= *before;
}

void ssd_counts_since(struct ssd_counts *c, const struct ssd_counts *before)
{
	since(c->refused, before->refused, SSD_REASONS);
	since(c->written, before->written, SSD_CAUSES);
}

double ssd_amplification(const struct ssd_counts *c)
{
	double all = 0;
	unsigned int i;

	for (i = 0; i < SSD_CAUSES; i++)
		all += (double)c->written[i];
	return c->written[0] ? all / (double)c->written[0] : 0;
}

static void add(json_object *o, const char *const *keys, const u64 *counts, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		json_number(o, keys[i], counts[i]);
}

void ssd_counts_json(json_object *cache, const struct ssd_counts *c)
{
	add(json_child(cache, "refused"), reasons, c->refused, SSD_REASONS);
	add(json_child(cache, "written"), causes, c->written, SSD_CAUSES);
	json_number(cache, "amplification", (u64)llround(100 * ssd_amplification(c)));
}
