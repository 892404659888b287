/* SPDX-License-Identifier: GPL-2.0-only */
/* The legs of a running pool, drawn below their vdevs. */
#ifndef KVPOOLCTL_LAYOUT_TREE_H
#define KVPOOLCTL_LAYOUT_TREE_H

#include "ctl.h"

/**
 * layout_tree() - draw pool, vdevs and legs with their states, legs with their errors
 * @pool: made by pool_object()
 * @verbose: also sizes, UUIDs, and which vdev carries the log
 */
void layout_tree(const struct ctl *ctl, json_object *pool, bool verbose, FILE *out);

#endif
