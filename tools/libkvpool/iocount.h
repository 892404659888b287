/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's counters of a block device: Documentation/block/stat.rst. */
#ifndef KVPOOLCTL_IOCOUNT_H
#define KVPOOLCTL_IOCOUNT_H

#include <stdbool.h>
#include <sys/types.h>

#include "format/format.h"

struct iocount {
	u64 reads, writes, discards;		/* completed requests */
	u64 read_bytes, write_bytes;
	u64 read_ms, write_ms;			/* that requests took, added up */
	u64 busy_ms;				/* with a request in flight */
};

/** iocount_load() - counters of a device; false, and zeros, if there is no such device */
bool iocount_load(dev_t rdev, struct iocount *c);

/** iocount_parse() - counters from a line of sysfs; false if the line is malformed */
bool iocount_parse(const char *line, struct iocount *c);

#endif
