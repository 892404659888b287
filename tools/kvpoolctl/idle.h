/* SPDX-License-Identifier: GPL-2.0-only */
/* Pools that devices belong to, and that should run and do not. */
#ifndef KVPOOLCTL_IDLE_H
#define KVPOOLCTL_IDLE_H

#include "ctl.h"

/**
 * idle_find() - find pools that do not run although they were not stopped
 * @where: folders, devices or image files; none: all block devices
 * @list: receives {"name","uuid","why","mend"} of each
 *
 * An exported or destroyed pool need not run. A pool that another host has not stopped may run
 * there. Devices that cannot be read are a failure: an unreadable pool is not an absent one.
 *
 * Return: 0, or -1 with @err.
 */
int idle_find(const char *const *where, unsigned int count, json_object *list, struct err *err);

#endif
