/* SPDX-License-Identifier: GPL-2.0-only */
/* What destroy and export share: mark the labels, remove the device. */
#ifndef KVPOOLCTL_STOP_H
#define KVPOOLCTL_STOP_H

#include "ctl.h"

/**
 * pool_stop() - mark a pool's labels and remove its device
 * @mark: "destroyed" or "exported"
 * @drain: what only a cache holds goes home first
 *
 * With -n, prints what would be done. Return: the exit status.
 */
int pool_stop(struct ctl *ctl, const struct dm_entry *e, const char *mark, bool drain);

#endif
