/* SPDX-License-Identifier: GPL-2.0-only */
/* Sound superblocks to begin with: the golden one, and pools of each kind. */
#ifndef KVPOOL_FUZZ_SHAPES_H
#define KVPOOL_FUZZ_SHAPES_H

#include "format/format.h"

#define SHAPES	14

/** shape() - number @which, below SHAPES */
const struct kvp_sb *shape(u32 which);

/** shape_disk() - the same as it is on disk */
const struct kvp_disk_sb *shape_disk(u32 which);

/**
 * shape_fill() - what a superblock has besides its vdevs, which are laid out; where its log begins
 * follows from them
 */
void shape_fill(struct kvp_sb *sb);

#endif
