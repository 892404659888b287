/* SPDX-License-Identifier: GPL-2.0-only */
/* Legs that a running pool does not have any more. */
#ifndef KVPOOLCTL_FORMER_H
#define KVPOOLCTL_FORMER_H

#include "label.h"

/**
 * former_refuse() - refuse a device with the label of a leg, by @mend
 *
 * The pool may run without it: then the refusal says so, and how to free the device.
 */
int former_refuse(const char *path, const struct kvp_sb *sb, const char *mend, struct err *err);

#endif
