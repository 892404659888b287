/* SPDX-License-Identifier: GPL-2.0-only */
/* Sound superblocks as a start: the golden one, and pools of each kind. */
#ifndef KVPOOL_FUZZ_SHAPES_H
#define KVPOOL_FUZZ_SHAPES_H

#include "format/format.h"

#define SHAPES	14

/** shape() - number @which, below SHAPES */
const struct kvp_sb *shape(u32 which);

/** shape_disk() - the same in its form on disk */
const struct kvp_disk_sb *shape_disk(u32 which);

/**
 * shape_fill() - fill in all of a superblock except the vdevs, which are laid out; the log's
 * position follows from them
 */
void shape_fill(struct kvp_sb *sb);

#endif
