/* SPDX-License-Identifier: GPL-2.0-only */
/* The legs of one vdev of a pool, opened for reading without the module. */
#ifndef KVPOOLCTL_OFFLINE_H
#define KVPOOLCTL_OFFLINE_H

#include "scan.h"

struct offline_pool {
	const struct kvp_sb *sb;		/* the newest superblock of all legs */
	u32 vdev;
	const struct kvp_geometry *g;		/* of the vdev */
	u32 first_root;				/* index of its first root in the superblock */
	struct kvp_seed seed;			/* for its table pages and its parity */
	struct kvp_seed data_seed;		/* for data, by block of the pool */
	const struct device *legs[KVP_MAX_MIRROR_LEGS];	/* legs that may be read; open */
	/* leg index in the superblock, by place in legs[] */
	u32 index[KVP_MAX_MIRROR_LEGS];
	unsigned int leg_count;
	const struct offline_pool *log_next;	/* the next vdev that carries the log; NULL: none */
	struct device devs[KVP_MAX_MIRROR_LEGS];	/* devices opened by offline_open() */
};

/** offline_init() - vdev @vdev, without legs, of the pool that @sb describes */
void offline_init(struct offline_pool *p, const struct kvp_sb *sb, u32 vdev);

/** offline_open() - open the legs of vdev @vdev of @found that are in sync and share its history */
int offline_open(struct offline_pool *p, const struct found_pool *found, u32 vdev,
		 struct err *err);
void offline_close(struct offline_pool *p);

/**
 * offline_link_log() - link those vdevs in @pools that carry the log
 *
 * Return: the first of them.
 */
const struct offline_pool *offline_link_log(struct offline_pool *pools);

/** offline_leg() - index in legs[] of leg @leg of the vdev; -1: it may not be read */
int offline_leg(const struct offline_pool *p, u32 leg);

/**
 * offline_needed() - legs of a vdev that its pool needs to run; for a cache this depends on the log
 */
static inline u32 offline_needed(const struct kvp_geometry *g)
{
	if (!kvp_has_data(g))
		return 0;
	return kvp_is_parity1(g) ? g->leg_count - 1 : 1;
}

#endif
