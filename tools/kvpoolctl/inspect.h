/* SPDX-License-Identifier: GPL-2.0-only */
/* Describes one leg without the module. */
#ifndef KVPOOLCTL_INSPECT_H
#define KVPOOLCTL_INSPECT_H

#include "ctl.h"
#include "log.h"

#define INSPECT_MAX_ENTRIES	1000

/**
 * inspect_object() - labels, superblock, log and table of the open device @d
 *
 * Return: an object, NULL with @err. Without a usable label it has "labels" only.
 */
json_object *inspect_object(const struct device *d, const struct label *l, struct err *err);

/** log_object() - add the result of a walk of the log, as member "log", which is returned */
json_object *log_object(json_object *parent, const struct offline_pool *p,
			const struct log_walk *w);

#endif
