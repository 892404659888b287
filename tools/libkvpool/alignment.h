/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a device begins on the disks below it.
 */
#ifndef ALIGNMENT_H
#define ALIGNMENT_H

#include <stdbool.h>
#include <sys/types.h>

/**
 * device_misaligned() - does @rdev begin inside a block of its disk, or inside 4 KiB?
 *
 * If so, the disk reads before each small write. Looks through partitions, loop devices, md, and
 * the targets linear and crypt of device-mapper. Other devices count as disks.
 */
bool device_misaligned(dev_t rdev);

#endif
