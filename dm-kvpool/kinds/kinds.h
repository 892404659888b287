/* SPDX-License-Identifier: GPL-2.0-only */
/* The kinds of vdev: one table of operations each (core/vdev_ops.h), in a file of the kind's name. */
#ifndef KVP_KINDS_H
#define KVP_KINDS_H

#include "core/vdev_ops.h"

/** kvp_vdev_kinds - the operations of each kind, by its number on disk */
extern const struct kvp_vdev_ops *const kvp_vdev_kinds[];

extern const struct kvp_vdev_ops kvp_copies_ops;	/* of a single too, which is a mirror of one leg */
extern const struct kvp_vdev_ops kvp_parity1_ops;
extern const struct kvp_vdev_ops kvp_cache_ops;		/* of both kinds of cache */

/** kvp_homes_needed() - kvp_vdev_needed() of a vdev with data: it needs the same legs whatever else is going on */
u32 kvp_homes_needed(const struct kvp_vdev *v);

#endif /* KVP_KINDS_H */
