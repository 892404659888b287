/* SPDX-License-Identifier: GPL-2.0-only */
/* How many legs of a running pool's vdevs may be lost, by the module's numbers. */
#ifndef KVPOOLCTL_SPARES_H
#define KVPOOLCTL_SPARES_H

#include "stats.h"

/** struct vdev_range - legs @first to @end - 1 of the pool */
struct vdev_range {
	unsigned int first, end;
};

/**
 * vdev_range() - the legs of vdev @v. It never exceeds a pool's limits, and is empty if the
 * module's numbers make no sense.
 */
struct vdev_range vdev_range(const struct stats *s, unsigned int v);

/**
 * stats_losses() - the number of legs that the pool may lose, by its own account; 0 if that makes
 * no sense
 */
int stats_losses(const struct stats *s);

/**
 * vdev_spares() - the number of used legs of vdev @v that may be lost; of a cache, without losing
 * its log
 */
int vdev_spares(const struct stats *s, unsigned int v);

/**
 * leg_is_needed() - leg @leg is in sync, and its vdev cannot be without it, so offline is refused.
 * No SSD of a cache is needed.
 */
bool leg_is_needed(const struct stats *s, unsigned int leg);

/**
 * losses_without_cache() - the number of legs the pool may lose once it does not depend on its
 * cache
 */
int losses_without_cache(const struct stats *s);

/**
 * losses_without_leg() - the same once leg @leg is out. A cache with too few SSDs does not carry
 * the log.
 */
int losses_without_leg(const struct stats *s, unsigned int leg);

/** leg_has_log() - leg @leg is an SSD of the cache, and the cache carries the log */
bool leg_has_log(const struct stats *s, unsigned int leg);

/**
 * log_stays_without() - leg @leg is an SSD of the cache, and the log stays there once it is out.
 * False: the log is on the legs, or moves there.
 */
bool log_stays_without(const struct stats *s, unsigned int leg);

/** losses_with_leg() - the same once leg @leg, which is out, is in sync */
int losses_with_leg(const struct stats *s, unsigned int leg);

/** losses_with_copy() - the same once vdev @v, a single or mirror, has one leg more in sync */
int losses_with_copy(const struct stats *s, unsigned int v);

#endif
