/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by destroy and export: mark the labels, remove the device. */
#ifndef KVPOOLCTL_STOP_H
#define KVPOOLCTL_STOP_H

#include "ctl.h"

/**
 * pool_stop() - mark a pool's labels and remove its device
 * @mark: "destroyed" or "exported"
 * @drain: write home first the data that only a cache has
 *
 * With -n, prints the plan. Return: the exit status.
 */
int pool_stop(struct ctl *ctl, const struct dm_entry *e, const char *mark, bool drain);

#endif
