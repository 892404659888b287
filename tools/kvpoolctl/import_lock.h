/* SPDX-License-Identifier: GPL-2.0-only */
/* One import of a pool at a time: at boot each leg that appears asks for one. */
#ifndef KVPOOLCTL_IMPORT_LOCK_H
#define KVPOOLCTL_IMPORT_LOCK_H

#include <linux/types.h>

#include "ctl.h"

#define IMPORT_LOCK_DIR	"/run"

/**
 * import_lock() - wait until no other import of the pool is at work
 *
 * What looks whether a leg is free holds it for a moment, and what starts a pool needs all of them; so two at
 * once could both fail, where each alone would start it. Without IMPORT_LOCK_DIR, or the right to write there,
 * there is nothing to wait for: the module lets one start at most.
 *
 * Return: to be closed when the pool has started, or has not; or -1 without a lock.
 */
int import_lock(const struct ctl *ctl, const u8 uuid[16]);

#endif
