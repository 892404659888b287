/* SPDX-License-Identifier: GPL-2.0-only */
/* The legs of one pool, opened to be read without the module. */
#ifndef KVPOOLCTL_OFFLINE_H
#define KVPOOLCTL_OFFLINE_H

#include "label.h"

struct offline_pool {
	const struct kvp_sb *sb;		/* the newest of the legs' */
	const struct kvp_geometry *g;		/* its vdev */
	u32 seed;				/* of the sums of data and table */
	const struct device *legs[KVP_MAX_MIRROR_LEGS];	/* that may be read; open */
	unsigned int leg_count;
};

/** offline_init() - a pool without legs, described by @sb */
static inline void offline_init(struct offline_pool *p, const struct kvp_sb *sb)
{
	memset(p, 0, sizeof(*p));
	p->sb = sb;
	p->g = &sb->vdevs[0];
	p->seed = kvp_sum_seed(sb->nonce, 0);
}

#endif
