/* SPDX-License-Identifier: GPL-2.0-only */
/* One import of a pool at a time: at boot each leg that appears starts one. */
#ifndef KVPOOLCTL_IMPORT_LOCK_H
#define KVPOOLCTL_IMPORT_LOCK_H

#include <linux/types.h>

#include "ctl.h"

#define IMPORT_LOCK_DIR	"/run"

/**
 * import_lock() - wait until no other import of the pool runs
 *
 * A check whether a leg is free holds the leg for a moment, and a start of the pool needs all legs.
 * So two imports at once could both fail, where one alone would succeed. Without IMPORT_LOCK_DIR,
 * or the right to write there, there is no waiting: the module lets at most one start.
 *
 * The lock is this process's: one that is given up, as its disk hangs, does not keep it.
 *
 * Return: a descriptor, for import_unlock() when the import has ended; or -1 without a lock.
 */
int import_lock(const struct ctl *ctl, const u8 uuid[16]);
void import_unlock(int fd);

#endif
