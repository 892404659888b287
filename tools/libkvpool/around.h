/* SPDX-License-Identifier: GPL-2.0-only */
/* Members of pools on a device's partitions, or on the disk that it is a partition of. */
#ifndef KVPOOLCTL_AROUND_H
#define KVPOOLCTL_AROUND_H

#include "label.h"

/**
 * around_check() - would a write to all of @d destroy a leg or spare that shares its blocks?
 *
 * Looks at the partitions of a disk, and at the disk of a partition. Reads labels. The label of a
 * disk whose partitions are in use does not count: that pool was given up.
 *
 * Return: 0, or -1 with @err: a pool was not destroyed that has a member there.
 */
int around_check(const struct device *d, struct err *err);

/** around_has_member() - is it the label of such a member, or may it be one? */
bool around_has_member(const struct label *l);

#endif
