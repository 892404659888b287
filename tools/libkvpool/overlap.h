/* SPDX-License-Identifier: GPL-2.0-only */
/* Two names of the same blocks: what the kernel tells, before anything is written. */
#ifndef KVPOOLCTL_OVERLAP_H
#define KVPOOLCTL_OVERLAP_H

#include "device.h"

/**
 * device_overlaps() - does a write to one of them change the other?
 *
 * They are the same; or a disk and its partition; or a loop device and what it lies on; or two loop
 * devices on one file, or on one device. Two parts that have no block in common do not overlap.
 * Return: false, too, if what a loop device lies on cannot be found.
 */
bool device_overlaps(const struct device *a, const struct device *b);

#define DEVICE_WWID	200

/**
 * device_same_wwid() - do they have blocks in common if a WWID means one disk only?
 * @wwid: receives the WWID
 *
 * Without multipath, a disk with two paths is two devices that have nothing in common but that
 * number. But there are cheap disks and docks that all have one number, so this proves nothing.
 */
bool device_same_wwid(const struct device *a, const struct device *b, char wwid[DEVICE_WWID]);

#endif
