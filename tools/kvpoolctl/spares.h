/* SPDX-License-Identifier: GPL-2.0-only */
/* How many legs of a running pool's vdevs may be lost, by what the module tells of them. */
#ifndef KVPOOLCTL_SPARES_H
#define KVPOOLCTL_SPARES_H

#include "stats.h"

/** struct vdev_range - legs @first to @end - 1 of the pool */
struct vdev_range {
	unsigned int first, end;
};

/** vdev_range() - the legs of vdev @v. Whatever the module tells: no more than a pool can have, and none if it makes no sense. */
struct vdev_range vdev_range(const struct stats *s, unsigned int v);

/** stats_losses() - so many legs the pool may lose, by its own account; 0 if that makes no sense */
int stats_losses(const struct stats *s);

/** vdev_spares() - so many of the legs of vdev @v that are in use may be lost; of a cache, without its log being lost */
int vdev_spares(const struct stats *s, unsigned int v);

/** losses_without_cache() - so many legs the pool may lose once nothing depends on its cache */
int losses_without_cache(const struct stats *s);

/** losses_without_leg() - the same once leg @leg is out. Without too many of its SSDs a cache does not carry the log. */
int losses_without_leg(const struct stats *s, unsigned int leg);

#endif
