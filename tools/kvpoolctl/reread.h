/* SPDX-License-Identifier: GPL-2.0-only */
/* Are the labels of a pool still as they were read? */
#ifndef KVPOOLCTL_REREAD_H
#define KVPOOLCTL_REREAD_H

#include <stdbool.h>

#include "scan.h"

/**
 * reread_same() - read the labels of a pool again, and compare
 * @s: what was read earlier, of all devices
 * @uuid: of the pool
 *
 * Each host that starts a pool, and each order that marks it, writes a newer superblock. Reads each
 * device that belongs to the pool: its legs, those that cannot be used, and its spares. False also
 * if one of them has gone, or cannot be read now: that is not the same as no change.
 */
bool reread_same(const struct scan *s, const u8 uuid[16]);

#endif
