// SPDX-License-Identifier: GPL-2.0-only
/*
 * The misses of every policy on every trace, for `make report`. One line for each trace and size:
 * the trace's name, the size in percent of the footprint, and each policy's misses in percent of
 * the blocks read. SCALE=N: N times the objects and requests.
 */
#include <stdio.h>
#include <stdlib.h>

#include "replay.h"
#include "suite.h"
#include "trace.h"

int main(void)
{
	unsigned int scale = getenv("SCALE") ? atoi(getenv("SCALE")) : 4, kind, size, p;
	static struct replay r;

	replay_run(&r, scale, getenv("SEED") ? strtoull(getenv("SEED"), NULL, 0) : 1);
	printf("trace\tsize");
	for (p = 0; p < POLICIES; p++)
		printf("\t%s", replay_policy(p)->name);
	putchar('\n');
	for (kind = 0; kind < REPLAY_KINDS; kind++)
		for (size = 0; size < REPLAY_SIZES; size++) {
			printf("%s\t%u", trace_kinds[kind], replay_percent[size]);
			for (p = 0; p < POLICIES; p++)
				printf("\t%.3f", 100 * r.misses[kind][size][p] / r.reads[kind]);
			putchar('\n');
		}
	return 0;
}
