/* SPDX-License-Identifier: GPL-2.0-only */
/* What follows when a device has become a leg or a spare, or is none any more. */
#ifndef KVPOOLCTL_ANNOUNCE_H
#define KVPOOLCTL_ANNOUNCE_H

#include <sys/types.h>

#include "ctl.h"

/**
 * announce_joined() - a device may have become a leg or a spare
 * announce_left() - a device may be none any more
 *
 * They write or clear the protective MBR if the labels say so (protect.h), and tell udev. An error
 * is passed over: the device is what its labels say, also without the MBR.
 */
void announce_joined(dev_t rdev);
void announce_left(dev_t rdev);

#endif
