/* SPDX-License-Identifier: GPL-2.0-only */
/* The legs of one vdev of a pool, opened to be read without the module. */
#ifndef KVPOOLCTL_OFFLINE_H
#define KVPOOLCTL_OFFLINE_H

#include "scan.h"

struct offline_pool {
	const struct kvp_sb *sb;		/* the newest of the legs' */
	u32 vdev;
	const struct kvp_geometry *g;		/* of the vdev */
	u32 first_root;				/* where its part of the table's roots begins */
	u32 seed;				/* of the sums of its table pages and its parity */
	u32 data_seed;				/* of data, by block of the pool */
	const struct device *legs[KVP_MAX_MIRROR_LEGS];	/* that may be read; open */
	u32 index[KVP_MAX_MIRROR_LEGS];		/* of legs[] in the superblock */
	unsigned int leg_count;
	const struct offline_pool *log_next;	/* another vdev that carries the log; NULL: no more */
	struct device devs[KVP_MAX_MIRROR_LEGS];	/* if it was opened by offline_open() */
};

/** offline_init() - vdev @vdev, without legs, of the pool described by @sb */
void offline_init(struct offline_pool *p, const struct kvp_sb *sb, u32 vdev);

/** offline_open() - with the legs of that vdev of @found that are in sync and of its history */
int offline_open(struct offline_pool *p, const struct found_pool *found, u32 vdev,
		 struct err *err);
void offline_close(struct offline_pool *p);

/**
 * offline_link_log() - of all vdevs of a pool, in @pools, those that carry the log
 *
 * Return: the first, which leads to the others.
 */
const struct offline_pool *offline_link_log(struct offline_pool *pools);

/** offline_leg() - the place in legs[] of leg @leg of the vdev; -1: it may not be read */
int offline_leg(const struct offline_pool *p, u32 leg);

/** offline_needed() - so many legs of a vdev must be there for its pool to run; of a cache it depends */
static inline u32 offline_needed(const struct kvp_geometry *g)
{
	if (!kvp_has_data(g))
		return 0;
	return kvp_is_parity1(g) ? g->leg_count - 1 : 1;
}

#endif
