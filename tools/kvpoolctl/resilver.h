/* SPDX-License-Identifier: GPL-2.0-only */
/* Legs with data that are out, and get what they missed. */
#ifndef KVPOOLCTL_RESILVER_H
#define KVPOOLCTL_RESILVER_H

#include "ctl.h"
#include "stats.h"

/** resilver_is_ssd() - is leg @leg an SSD of the cache? Such a leg begins anew, and copies nothing. */
bool resilver_is_ssd(const struct stats *s, unsigned int leg);

/**
 * resilver_online() - bring a leg with data online, or print the plan; returns the exit status
 * @s: of the pool; its leg @leg is no SSD
 * @dev: the leg, as the user named it
 * @wait: return when the leg is in sync
 */
int resilver_online(struct ctl *ctl, const struct dm_entry *e, const struct stats *s,
		    unsigned int leg, const char *dev, bool wait);

/**
 * resilver_label_leg() - the leg of a running pool that the label of the device @dev names
 *
 * Return: its number, or -1: no label of this pool is there.
 */
int resilver_label_leg(const struct dm_entry *e, const struct stats *s, const char *dev);

/** resilver_not_held() - refuse a leg whose device the running pool does not have; returns -1 */
int resilver_not_held(const char *pool, const char *dev, const char *why, struct err *err);

/**
 * resilver_wait() - wait until the leg @uuid does not resilver any more; NULL: every leg that does now
 *
 * Return: 0; or -1 with @err: a leg is not in sync.
 */
int resilver_wait(struct ctl *ctl, const char *pool, const char *uuid, struct err *err);

#endif
