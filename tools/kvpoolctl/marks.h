/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Are new devices one disk? Without multipath, a disk with two paths is two devices, and a mirror
 * of both has one copy. Not every disk tells a WWID. So each device gets a mark of its own, and
 * then no mark may be read through another device.
 *
 * The marks lie in block 15, before the rings of superblocks. No pool uses it. A command that is
 * killed may leave them there, which does no harm: the next one zeroes the label areas first.
 */
#ifndef KVPOOLCTL_MARKS_H
#define KVPOOLCTL_MARKS_H

#include "plan.h"

#define MARK_BLOCK	15u

/**
 * marks_check() - refuse new legs that are one disk
 *
 * After all of them were made blank; while none has a label. Reads do not come from the page cache.
 * A device that does not return what was written to it is refused as well. The marks are gone
 * afterwards.
 *
 * Return: 0, or -1 with @err.
 */
int marks_check(const struct plan *p, struct err *err);

#endif
