// SPDX-License-Identifier: GPL-2.0-only
/*
 * For `make report`: for each trace, size and kind of SSD cache, the blocks read from home in
 * percent of those read, and the blocks written to the SSD for each block of the trace. SCALE=N: N
 * times the objects and requests.
 */
#include <stdio.h>
#include <stdlib.h>

#include "ssd_replay.h"

int main(void)
{
	unsigned int scale = getenv("SCALE") ? atoi(getenv("SCALE")) : 4, kind, size, p;
	static struct ssd_replay r;
	const struct ssd_cell *c;

	ssd_replay_run(&r, scale, getenv("SEED") ? strtoull(getenv("SEED"), NULL, 0) : 1);
	printf("trace\tsize");
	for (p = 0; p < SSD_POLICIES; p++)
		printf("\t%s\t%s-written", ssd_policies[p], ssd_policies[p]);
	puts("\treinserted");
	for (kind = 0; kind < SSD_KINDS; kind++)
		for (size = 0; size < SSD_SIZES; size++) {
			printf("%s\t%u", trace_kinds[kind], ssd_percent[size]);
			for (p = 0; p < SSD_POLICIES; p++) {
				c = &r.cell[kind][size][p];
				printf("\t%.3f\t%.4f", 100 * c->misses / c->reads, ssd_written(c));
			}
			printf("\t%.4f\n", c->reinserted / (c->reads + c->writes));
		}
	return 0;
}
