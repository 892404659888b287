/* SPDX-License-Identifier: GPL-2.0-only */
/* Vdevs whose legs have all become larger: the superblock of the larger pool. Pure. */
#ifndef KVP_FORMAT_GROW_H
#define KVP_FORMAT_GROW_H

#include "format/format.h"

/**
 * struct kvp_grow - facts about the legs, and the vdevs that can grow
 * @leg_blocks: number of blocks of each device, in the order of the superblock
 * @sources: a bit for each leg that is in sync
 * @grown: a bit for each vdev that becomes larger
 */
struct kvp_grow {
	u64 leg_blocks[KVP_MAX_LEGS];
	u64 sources;
	u32 grown;
};

/**
 * kvp_grow_plan() - make @sb the superblock of pool @old with all space of its legs
 *
 * A vdev becomes larger if all of its legs are in sync, and are larger by enough. Addresses of the
 * pool do not change (kvp_regions_grow()). Roots, regions, features, and sizes of legs are those
 * of the larger pool. The roots of a vdev that has grown are null, and the others are as before.
 *
 * Return: 0. -ENOSPC: no vdev has larger legs; -EOVERFLOW: too many roots or regions; -ENODEV: a
 * leg in sync has fewer blocks than its vdev uses; @why says which vdev and leg.
 */
int __must_check kvp_grow_plan(struct kvp_sb *sb, const struct kvp_sb *old, struct kvp_grow *w,
			       struct kvp_why *why);

/** kvp_grow_take_roots() - set the roots of vdev @v of @sb, which has grown, to @roots */
void kvp_grow_take_roots(struct kvp_sb *sb, u32 v, const u64 *roots);

/** kvp_grow_mend() - advice for that error of kvp_grow_plan() */
const char *kvp_grow_mend(int error);

/**
 * kvp_grow_same_places() - do both superblocks have the tables of vdevs @grown in the same places?
 * @grown: a bit for each vdev
 *
 * The same legs and sizes are not enough. The place of a table depends on the roots that the other
 * vdevs leave to it. Pure.
 */
bool kvp_grow_same_places(const struct kvp_sb *a, const struct kvp_sb *b, u32 grown);

#endif /* KVP_FORMAT_GROW_H */
