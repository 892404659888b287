/* SPDX-License-Identifier: GPL-2.0-only */
/* How many legs of a running pool's vdevs may be lost, by what the module tells of them. */
#ifndef KVPOOLCTL_SPARES_H
#define KVPOOLCTL_SPARES_H

#include "stats.h"

/** vdev_spares() - so many of the legs of vdev @v that are in use may be lost; of a cache, without its log being lost */
int vdev_spares(const struct stats *s, unsigned int v);

/** losses_without_cache() - so many legs the pool may lose once nothing depends on its cache */
int losses_without_cache(const struct stats *s);

/** losses_without_leg() - the same once leg @leg is out. Without too many of its SSDs a cache does not carry the log. */
int losses_without_leg(const struct stats *s, unsigned int leg);

#endif
