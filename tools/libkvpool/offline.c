// SPDX-License-Identifier: GPL-2.0-only
/* Opening a pool to be read without the module. */
#include "offline.h"

void offline_init(struct offline_pool *p, const struct kvp_sb *sb)
{
	memset(p, 0, sizeof(*p));
	p->sb = sb;
	p->g = &sb->vdevs[sb->log_vdev];
	p->seed = kvp_sum_seed(sb->nonce, 0);
}

int offline_open(struct offline_pool *p, const struct found_pool *found, struct err *err)
{
	u32 i, n;

	offline_init(p, found->sb);
	for (i = p->g->first_leg; i < p->g->first_leg + p->g->leg_count; i++) {
		if (!scan_leg_in_sync(found, i))
			continue;
		n = p->leg_count;
		if (device_open(found->legs[i]->dev.path, true, &p->devs[n], err)) {
			offline_close(p);
			return -1;
		}
		p->index[n] = i;
		p->legs[n] = &p->devs[n];
		p->leg_count++;
	}
	return 0;
}

void offline_close(struct offline_pool *p)
{
	while (p->leg_count)
		device_close(&p->devs[--p->leg_count]);
}
