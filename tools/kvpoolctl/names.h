/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of pools, as the labels have them. */
#ifndef KVPOOLCTL_NAMES_H
#define KVPOOLCTL_NAMES_H

#include "err.h"

/**
 * names_check() - is a name free for the pool @uuid, on all devices of this machine?
 *
 * Two pools with one name could be imported by UUID only. A destroyed pool needs no name.
 *
 * Return: 0, or -1 with @err: another pool has the name, or devices cannot be read.
 */
int names_check(const char *name, const char *uuid, struct err *err);

#endif
