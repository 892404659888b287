/* SPDX-License-Identifier: GPL-2.0-only */
/* Changes of a running pool's cache SSDs: replace, attach, detach, online. */
#ifndef KVPOOLCTL_SSDS_H
#define KVPOOLCTL_SSDS_H

#include <stdbool.h>

#include "ctl.h"

/**
 * struct ssds_order - the requested change
 * @action: word of the command
 * @pool: name or UUID
 * @leg: the SSD in question: a path, or its UUID
 * @new: an SSD that takes its place, or joins it; NULL: none
 * @leaves: @leg leaves the cache
 * @anew: @leg is out of use, and starts again empty
 * @force: ignore foreign signatures on @new
 */
struct ssds_order {
	const char *action, *pool, *leg, *new;
	bool leaves, anew, force;
};

/**
 * ssds_change() - make the change, or print the plan; returns the exit status
 *
 * With the pool's lock (pool_lock.h). It is let go of while the log leaves the cache.
 */
int ssds_change(struct ctl *ctl, const struct ssds_order *o);

#endif
