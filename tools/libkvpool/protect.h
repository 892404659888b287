/* SPDX-License-Identifier: GPL-2.0-only */
/* The protective MBR follows the labels: a leg or a spare has it; a device that is none has not. */
#ifndef KVPOOLCTL_PROTECT_H
#define KVPOOLCTL_PROTECT_H

#include "device.h"

/**
 * protect_device() - give a device the protective MBR, or take it away, if its labels say so
 * @path: it may be in use by its pool, which uses no block 0
 * @write: write it on a leg or a spare where block 0 is zeros; else clear it on a device that is
 *	none any more. A leg of a destroyed pool is none.
 * @dry_run: change nothing
 * @done: whether it was changed, or would be
 *
 * Call it when the labels are durable. If the power goes between the two, a leg has no MBR, as one
 * that an older kvpoolctl made, or a former leg still has it, which create names.
 * If no label can be read, block 0 stays. A device that hangs is given up after five seconds.
 *
 * Return: 0, or -1 with @err.
 */
int protect_device(const char *path, bool write, bool dry_run, bool *done, struct err *err);

/** protect_is_there() - has @d the protective MBR? No, if block 0 cannot be read. */
bool protect_is_there(const struct device *d);

#endif
