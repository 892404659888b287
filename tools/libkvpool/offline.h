/* SPDX-License-Identifier: GPL-2.0-only */
/* The legs of one pool, opened to be read without the module. */
#ifndef KVPOOLCTL_OFFLINE_H
#define KVPOOLCTL_OFFLINE_H

#include "scan.h"

struct offline_pool {
	const struct kvp_sb *sb;		/* the newest of the legs' */
	const struct kvp_geometry *g;		/* its vdev; of several the one that carries the log */
	u32 seed;				/* of the sums of data and table */
	const struct device *legs[KVP_MAX_MIRROR_LEGS];	/* that may be read; open */
	unsigned int leg_count;
	/* of a pool that was opened by offline_open() */
	struct device devs[KVP_MAX_MIRROR_LEGS];
	u32 index[KVP_MAX_MIRROR_LEGS];		/* of legs[] in the superblock */
};

/** offline_init() - a pool without legs, described by @sb */
void offline_init(struct offline_pool *p, const struct kvp_sb *sb);

/** offline_open() - with the legs of that vdev of @found that are in sync and of its history */
int offline_open(struct offline_pool *p, const struct found_pool *found, struct err *err);
void offline_close(struct offline_pool *p);

#endif
