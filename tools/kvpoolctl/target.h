/* SPDX-License-Identifier: GPL-2.0-only */
/* The file or block device that a copy of a pool goes to. */
#ifndef KVPOOLCTL_TARGET_H
#define KVPOOLCTL_TARGET_H

#include "scan.h"
#include "verify.h"

struct target {
	const char *path;
	bool force;		/* what is there may be overwritten */
	u64 bytes;		/* of the copy */
	u64 written;		/* bytes that are not zeros */
	bool begun;		/* it is open, and has been changed */
	int fd;
	struct device dev;	/* what was there; closed */
	bool exists;
};

/**
 * target_check() - may the copy of the pool in @s go there? Changes nothing
 * @t: with path, force and bytes; all else zeroed
 */
int target_check(struct target *t, const struct scan *s, struct err *err);

/** target_take() - write a part of the copy; see contents in struct verify */
int target_take(void *target, const struct verify_span *span, struct err *err);

/** target_end() - make the copy durable, unless the walk has @failed, and close it */
int target_end(struct target *t, bool failed, struct err *err);

#endif
