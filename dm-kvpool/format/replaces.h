/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A leg of a mirror that replaces another: the order to replace a leg in use, as the superblock
 * remembers it. Pure.
 *
 * The new leg names the old one by its number in their vdev. That is all. While the new leg is not
 * in sync, the mirror has one leg more, and the old one is a source as before. A module that does
 * not know the field writes 0 there. So the order is forgotten, and no copy is lost.
 */
#ifndef KVP_REPLACES_H
#define KVP_REPLACES_H

#include "format/format.h"

/** kvp_replaced_by() - number of the leg that replaces leg @i; KVP_MAX_LEGS: none does */
u32 kvp_replaced_by(const struct kvp_sb *sb, u32 i);

/** kvp_replaces_leg() - number of the leg that leg @i replaces; KVP_MAX_LEGS: none */
u32 kvp_replaces_leg(const struct kvp_sb *sb, u32 i);

/** kvp_place_taken() - true if the leg that replaces leg @i is in sync */
bool kvp_place_taken(const struct kvp_sb *sb, u32 i);

/**
 * kvp_replaced_may_leave() - true if leg @i is to leave now
 *
 * That is so when the leg that replaces it is in sync. If leg @i is a source, each other place of
 * the vdev must be filled, too: by a leg in sync, or by the one that replaces it.
 */
bool kvp_replaced_may_leave(const struct kvp_sb *sb, u32 i);

/** kvp_replaces_without() - renumber, as @sb is about to lose leg @i, which is still listed */
void kvp_replaces_without(struct kvp_sb *sb, u32 i);

/** kvp_replaces_fault() - what is wrong with these numbers, or NULL */
const char *kvp_replaces_fault(const struct kvp_sb *sb);

#endif /* KVP_REPLACES_H */
