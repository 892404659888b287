/* SPDX-License-Identifier: GPL-2.0-only */
/* A running pool as a JSON object, which list and status print as text or as JSON. */
#ifndef KVPOOLCTL_POOL_OBJECT_H
#define KVPOOLCTL_POOL_OBJECT_H

#include "ctl.h"
#include "stats.h"

#define RANGES_MAX	1000

/** pool_object() - ask a running pool and describe it; NULL with @err */
json_object *pool_object(const struct dm_entry *e, struct err *err);

/**
 * pool_unasked() - the known facts of a suspended pool that cannot be asked, like pool_object()
 * with mostly nulls
 *
 * Such a pool does not run: its next table could not be started.
 */
json_object *pool_unasked(const struct dm_entry *e);

/**
 * pool_describe() - pool_object(), or pool_unasked() if the pool cannot be asked; NULL with @err
 */
json_object *pool_describe(const struct dm_entry *e, struct err *err);

/** pool_legs() - array of a pool's legs, of all its vdevs; to be released */
json_object *pool_legs(json_object *pool);

/**
 * leg_device() - device number of @path, the module's or a person's: a path or MAJOR:MINOR; 0: no
 * device
 */
dev_t leg_device(const char *path);

/** leg_path() - the name by which people know the device that the module calls @path */
const char *leg_path(const char *path, char *buf, size_t size);

/**
 * leg_find() - the leg of a running pool that @dev names
 * @dev: a path or link, MAJOR:MINOR or the leg's UUID
 * @uuid: receives the leg's UUID
 */
int leg_find(const char *pool, const struct stats *s, const char *dev, char uuid[UUID_BUF],
	     unsigned int *index, struct err *err);

/**
 * leg_open() - find a running pool and one of its legs, for a command
 * @pool, @dev: as the user named them; @dev as for leg_find()
 * @e, @s, @leg: receive the pool, its statistics and the leg. Call stats_free() in the end
 *
 * Return: 0, or the exit status of a failure, which is reported.
 */
int leg_open(struct ctl *ctl, const char *pool, const char *dev, struct dm_entry *e,
	     struct stats *s, unsigned int *leg);

#endif
