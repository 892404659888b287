/* SPDX-License-Identifier: GPL-2.0-only */
/* One leg, described without the module. */
#ifndef KVPOOLCTL_INSPECT_H
#define KVPOOLCTL_INSPECT_H

#include "ctl.h"
#include "label.h"

#define INSPECT_MAX_ENTRIES	1000

/**
 * inspect_object() - labels, superblock, log and table of the open device @d
 *
 * Return: an object, NULL with @err. Without a usable label it has "labels" only.
 */
json_object *inspect_object(const struct device *d, const struct label *l, struct err *err);

#endif
