// SPDX-License-Identifier: GPL-2.0-only
/* The lines of status about the cache of a running pool. */
#include <string.h>

#include "cache_lines.h"

/* The log moves, or shrinks to a smaller limit of dirty data. */
static void drain_line(const struct ctl *ctl, json_object *pool, bool log, FILE *out)
{
	u64 wanted = json_number_at(pool, "cache.dirty_max_wanted");
	char limit[SIZE_BUF], a[SIZE_BUF], b[SIZE_BUF], c[SIZE_BUF];

	if (wanted)
		fprintf(out, "           cache_dirty_max will be %s once the dirty data fits",
			ctl_size(ctl, wanted, limit));
	else
		fprintf(out, "           the log %s", log ? "leaves it" : "moves onto it");
	fprintf(out, ": %s of %s left, %s/s\n",
		ctl_size(ctl, json_number_at(pool, "cache.drain.left"), a),
		ctl_size(ctl, json_number_at(pool, "cache.drain.total"), b),
		ctl_size(ctl, json_number_at(pool, "cache.drain.rate"), c));
}

void cache_lines(const struct ctl *ctl, json_object *pool, FILE *out)
{
	const char *mode = json_text_at(pool, "cache.mode");
	u64 rate = json_number_at(pool, "cache.destage_rate");
	u64 drain_ms = json_number_at(pool, "cache.drain_ms");
	char a[SIZE_BUF], b[SIZE_BUF];
	bool log = !strcmp(json_text_at(pool, "log.on"), "cache");

	if (!strcmp(json_text_at(pool, "cache.state"), "faulted")) {
		fprintf(out, "    cache: %s: lost, the log is on the legs\n", mode);
		return;
	}
	fprintf(out, "    cache: %s: %s; %s of %s can be read there, %" PRIu64
		" hit(s), %" PRIu64 " miss(es), %" PRIu64 " fill(s)\n",
		!strcmp(mode, "writeback") ? "write-back" : !strcmp(mode, "writearound") ?
		"write-around" : "write-through", log ? "carries the log" :
		"the log is on the legs",
		ctl_size(ctl, json_number_at(pool, "cache.clean"), a),
		ctl_size(ctl, json_number_at(pool, "cache.size"), b),
		json_number_at(pool, "cache.hits"), json_number_at(pool, "cache.misses"),
		json_number_at(pool, "cache.fills"));
	fprintf(out, "           %s are dirty; %s",
		ctl_size(ctl, json_number_at(pool, "cache.dirty"), b),
		rate ? "" : "no recent writes home\n");
	if (rate)
		fprintf(out, "%s/s written home%s", ctl_size(ctl, rate, a), drain_ms ? "" : "\n");
	if (rate && drain_ms)
		fprintf(out, "; all in %" PRIu64 " s\n", (drain_ms + 999) / 1000);
	if (!strcmp(json_text_at(pool, "cache.drain.state"), "running"))
		drain_line(ctl, pool, log, out);
}
