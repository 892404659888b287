// SPDX-License-Identifier: GPL-2.0-only
#include <linux/kernel.h>

#include "policy/runs.h"

static bool belongs(const struct kvp_run *run, u64 first, bool write)
{
	return run->blocks && run->write == write && first + KVP_RUN_SLACK >= run->end &&
	       first <= run->end + KVP_RUN_SLACK;
}

/* The run that ends nearest to @first, or the one that has not grown for the longest time. */
static struct kvp_run *find_run(struct kvp_runs *s, u64 first, bool write)
{
	struct kvp_run *run, *near = NULL, *old = s->run;
	u64 distance, least = ~0ull;

	for (run = s->run; run < s->run + KVP_RUNS; run++) {
		distance = run->end > first ? run->end - first : first - run->end;
		if (distance < least && belongs(run, first, write)) {
			least = distance;
			near = run;
		}
		if (s->clock - run->used > s->clock - old->used)
			old = run;
	}
	return near ?: old;
}

u32 kvp_run_note(struct kvp_runs *s, u64 first, u32 blocks, bool write)
{
	struct kvp_run *run = find_run(s, first, write);
	u64 end = first + blocks;

	s->clock++;
	if (!belongs(run, first, write)) {
		*run = (struct kvp_run){ end, blocks, s->clock, write };
	} else if (end > run->end) {
		/* What overlaps has been counted. */
		blocks = min_t(u64, blocks, end - run->end);
		run->blocks += min(blocks, ~0u - run->blocks);
		run->end = end;
		run->used = s->clock;
	}
	return run->blocks;
}
