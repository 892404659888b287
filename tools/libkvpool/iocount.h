/* SPDX-License-Identifier: GPL-2.0-only */
/* What the kernel counts of every block device: Documentation/block/stat.rst. */
#ifndef KVPOOLCTL_IOCOUNT_H
#define KVPOOLCTL_IOCOUNT_H

#include <stdbool.h>
#include <sys/types.h>

#include "format/format.h"

struct iocount {
	u64 reads, writes, discards;		/* that have ended */
	u64 read_bytes, write_bytes;
};

/** iocount_load() - of a device; false, and zeros, if it is not there */
bool iocount_load(dev_t rdev, struct iocount *c);

/** iocount_parse() - from the line that sysfs has; false if it is none */
bool iocount_parse(const char *line, struct iocount *c);

#endif
