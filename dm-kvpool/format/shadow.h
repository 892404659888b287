/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A shadow: a device that is to take the place of a leg of a parity1 which is in use, as the
 * superblock remembers it. Pure.
 *
 * It is no leg: legs[] does not list it, so no code counts it, reads it, or misses it. Its vdev has
 * its UUID, the leg that is to leave, and how far it has got. A pool has one at most. A module that
 * does not know the fields writes zeros there: the order is forgotten, and no copy is lost by that.
 */
#ifndef KVP_SHADOW_H
#define KVP_SHADOW_H

#include "format/format.h"

#define KVP_SHADOW	KVP_MAX_LEGS		/* its number, behind those of all legs */
#define KVP_LEGS_BESIDE	(KVP_MAX_LEGS + 1)	/* legs and the shadow */

/** kvp_shadow_leg() - number of the leg that is to leave; KVP_MAX_LEGS: there is no shadow */
u32 kvp_shadow_leg(const struct kvp_sb *sb);

/** kvp_shadow_fault() - what is wrong with it, or NULL */
const char *kvp_shadow_fault(const struct kvp_sb *sb);

/**
 * kvp_shadow_encode() - write @shadow into its vdev of @d, which is zeros there: kvp_sb_encode()
 *
 * Does nothing if there is no shadow.
 */
void kvp_shadow_encode(const struct kvp_shadow_info *shadow, struct kvp_disk_sb *d);

/** kvp_shadow_decode() - take @sb->shadow from @d. @sb has its number of vdevs. Two are a fault. */
void kvp_shadow_decode(const struct kvp_disk_sb *d, struct kvp_sb *sb);

#endif /* KVP_SHADOW_H */
