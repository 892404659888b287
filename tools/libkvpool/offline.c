// SPDX-License-Identifier: GPL-2.0-only
/* Opens a pool for reading without the module. */
#include "offline.h"

void offline_init(struct offline_pool *p, const struct kvp_sb *sb, u32 vdev)
{
	u32 i;

	memset(p, 0, sizeof(*p));
	p->sb = sb;
	p->vdev = vdev;
	p->g = &sb->vdevs[vdev];
	p->seed = kvp_sum_seed(sb->nonce, vdev, sb->incompat);
	p->data_seed = kvp_sum_seed(sb->nonce, 0, sb->incompat);
	for (i = 0; i < vdev; i++)
		p->first_root += kvp_has_data(&sb->vdevs[i]) ? kvp_root_count(&sb->vdevs[i]) : 0;
}

int offline_open(struct offline_pool *p, const struct found_pool *found, u32 vdev,
		 struct err *err)
{
	u32 i, n;

	offline_init(p, found->sb, vdev);
	for (i = p->g->first_leg; i < p->g->first_leg + p->g->leg_count; i++) {
		if (!scan_leg_in_sync(found, i))
			continue;
		n = p->leg_count;
		if (device_reopen(&found->legs[i]->dev, &p->devs[n], err)) {
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

int offline_leg(const struct offline_pool *p, u32 leg)
{
	unsigned int i;

	for (i = 0; i < p->leg_count; i++)
		if (p->index[i] == p->g->first_leg + leg)
			return (int)i;
	return -1;
}

const struct offline_pool *offline_link_log(struct offline_pool *pools)
{
	const struct kvp_sb *sb = pools->sb;
	struct offline_pool *last = &pools[sb->log_vdev];
	u32 v;

	for (v = 0; v < sb->vdev_count; v++) {
		if (!(sb->log_others >> v & 1))
			continue;
		last->log_next = &pools[v];
		last = &pools[v];
	}
	last->log_next = NULL;
	return &pools[sb->log_vdev];
}
