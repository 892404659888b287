/* SPDX-License-Identifier: GPL-2.0-only */
/* Verifies a whole pool without the module. */
#ifndef KVPOOLCTL_CHECK_H
#define KVPOOLCTL_CHECK_H

#include "ctl.h"
#include "scan.h"

/**
 * check_object() - verify the pool @p, whose devices are in @legs
 * @s: a scan of the devices, which must be of one pool
 * @status: receives the exit status
 *
 * Return: an object, NULL with @err.
 */
json_object *check_object(struct ctl *ctl, struct scan *s, int *status, struct err *err);

#endif
