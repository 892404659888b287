/* SPDX-License-Identifier: GPL-2.0-only */
/* Legs with data that are out, and get what they missed. */
#ifndef KVPOOLCTL_RESILVER_H
#define KVPOOLCTL_RESILVER_H

#include "ctl.h"
#include "stats.h"

/** resilver_is_ssd() - is leg @leg an SSD of the cache? Such a leg begins anew. */
bool resilver_is_ssd(const struct stats *s, unsigned int leg);

/**
 * resilver_online() - bring a leg with data online, or print the plan; returns the exit status
 * @s: of the pool; its leg @leg is no SSD
 * @dev: the leg, as the user named it
 * @wait: return when the leg is in sync
 * @force: also if the device may be a copy of the leg (copies.h)
 *
 * A leg whose device the pool does not have, or not any more, gets the device @dev by a reload.
 */
int resilver_online(struct ctl *ctl, const struct dm_entry *e, const struct stats *s,
		    unsigned int leg, const char *dev, bool wait, bool force);

/**
 * resilver_label_leg() - the leg of a running pool that the label of the device @dev names
 *
 * Return: its number, or -1: no label of this pool is there.
 */
int resilver_label_leg(const struct dm_entry *e, const struct stats *s, const char *dev);

/**
 * resilver_find_device() - find the device of leg @leg, which is out, if the pool does not have it
 * @dev: the leg, as the user named it
 * @params: of the pool's table
 * @rdev: receives the device, whose label says that it is the leg
 *
 * A device that dropped out and came back is another one: the pool holds that which has gone. One
 * of device-mapper stays when its disk has gone, so the user may name another one, which has it.
 *
 * Return: 1; 0: the pool has its device; -1 with @err: no device is the leg.
 */
int resilver_find_device(const struct dm_entry *e, const struct stats *s, unsigned int leg,
			 const char *dev, const char *params, dev_t *rdev, struct err *err);

/**
 * resilver_table() - a pool's table with the device @rdev, 0: none, as leg @leg, which is out
 * @params: the table as it is
 * @gone: is the device of this word not there any more? It is left out, as it cannot be opened
 * @buf: receives it, with no UUID and no options
 *
 * Return: false if @params is no table, or @buf is too small.
 */
bool resilver_table(const struct stats *s, unsigned int leg, dev_t rdev, const char *params,
		    bool (*gone)(const char *word), char *buf, size_t size);

/**
 * resilver_wait() - wait until the leg @uuid does not resilver any more; NULL: until no leg does
 *
 * Lets go of the pool's lock (pool_lock.h).
 *
 * Return: 0; or -1 with @err: a leg is not in sync.
 */
int resilver_wait(struct ctl *ctl, const char *pool, const char *uuid, struct err *err);

#endif
