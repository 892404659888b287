/* SPDX-License-Identifier: GPL-2.0-only */
/* Pools that devices tell of, that should run and do not. */
#ifndef KVPOOLCTL_IDLE_H
#define KVPOOLCTL_IDLE_H

#include "ctl.h"

/**
 * idle_find() - look for pools that do not run although nobody has stopped them
 * @where: folders, devices or image files; none: all block devices
 * @list: gets {"name","uuid","why","mend"} of each
 *
 * A pool that was exported or destroyed need not run, and one that another host has not stopped may
 * run there. Devices that cannot be looked at are a failure: what cannot be read is not absent.
 *
 * Return: 0, or -1 with @err.
 */
int idle_find(const char *const *where, unsigned int count, json_object *list, struct err *err);

#endif
