/* SPDX-License-Identifier: GPL-2.0-only */
/* Changes of a running pool's cache SSDs: replace, attach, detach, online. */
#ifndef KVPOOLCTL_SSDS_H
#define KVPOOLCTL_SSDS_H

#include <stdbool.h>

#include "ctl.h"
#include "stats.h"

/**
 * struct ssds_order - the requested change
 * @action: word of the command
 * @pool: name or UUID
 * @leg: the SSD in question: a path, or its UUID
 * @new: an SSD that takes its place, or joins it; NULL: none
 * @leaves: @leg leaves the cache
 * @anew: @leg is out of use, and starts again empty
 * @returns: @new is @leg itself, which was unplugged, and is back as another device
 * @force: ignore foreign signatures on @new; with @anew, that the SSD may have what the pool lacks
 */
struct ssds_order {
	const char *action, *pool, *leg, *new;
	bool leaves, anew, returns, force;
};

/**
 * ssds_change() - make the change, or print the plan; returns the exit status
 *
 * With the pool's lock (pool_lock.h). It is let go of while the log leaves the cache.
 */
int ssds_change(struct ctl *ctl, const struct ssds_order *o);

/**
 * ssds_online() - let an SSD that is out of use begin anew, or print the plan; returns the exit
 * status
 * @leg: the SSD, a leg of @s
 * @dev: the SSD, as the user named it
 * @force: as in struct ssds_order, with @anew
 *
 * With the pool's lock, as ssds_change().
 */
int ssds_online(struct ctl *ctl, const struct dm_entry *e, const struct stats *s, unsigned int leg,
		const char *dev, bool force);

#endif
