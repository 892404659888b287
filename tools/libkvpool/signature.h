/* SPDX-License-Identifier: GPL-2.0-only */
/* libblkid: what else lies on a device. */
#ifndef KVPOOLCTL_SIGNATURE_H
#define KVPOOLCTL_SIGNATURE_H

#include <stddef.h>

#include "err.h"

/**
 * signature_find() - which signature (file system, partition table, RAID, ...) a device has
 * @type: receives its type, empty when the device has none
 *
 * Return: 1 found, 0 none, -1 with @err when it cannot be told.
 */
int signature_find(const char *path, char *type, size_t size, struct err *err);

/** signature_wipe() - remove all signatures, also those at the end; @fd open for writing */
int signature_wipe(int fd, const char *path, struct err *err);

#endif
