/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Copies of a leg: a snapshot, a clone of a virtual disk, the result of dd. The label of a copy
 * tells the same leg. A resilver, or a new SSD, would write over it, and its owner may need it.
 */
#ifndef KVPOOLCTL_COPIES_H
#define KVPOOLCTL_COPIES_H

#include "scan.h"

/**
 * copies_check_label() - refuse a device if its label shows that it is an older copy of the leg
 * @path: of the device
 * @in_sync_era: the pool knows that its leg had all of this era; 0: nothing is known
 *
 * The leg itself took superblocks up to this era at least: a power cut may have taken the next one
 * from it. A label of which something cannot be read says nothing.
 */
int copies_check_label(const char *path, const struct label *l, u64 in_sync_era, struct err *err);

/** copies_check_scan() - refuse leg @d, with the label @l, if another device in @s is that leg */
int copies_check_scan(const struct scan *s, const struct device *d, const struct label *l,
		      struct err *err);

/**
 * copies_check() - both, for the device at @path, which is to return as a leg
 *
 * Reads the labels of all devices. Return: 0; or -1 with @err.
 */
int copies_check(const char *path, u64 in_sync_era, struct err *err);

#endif
