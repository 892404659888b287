/* SPDX-License-Identifier: GPL-2.0-only */
/* The import that udev asks for when a leg appears: of its pool, once it is whole. */
#ifndef KVPOOLCTL_BOOT_H
#define KVPOOLCTL_BOOT_H

#include "import.h"

#define BOOT_PATIENCE	30	/* seconds: disks that spin up one after another */

struct boot_request {
	const char *leg;		/* the device that appeared */
	const char *const *places;	/* where to look, as for scan_run() */
	unsigned int place_count;
	unsigned int patience;		/* seconds to wait for legs that are missing */
};

/** boot_leaves() - why @sb's pool is not to be started unasked; NULL: it may be */
const char *boot_leaves(const struct kvp_sb *sb);

/**
 * boot_find() - the pool of a leg, when it is time to start it
 * @s: holds the result; to be released after a return of 1
 * @p: receives the pool
 * @why: receives why there is nothing to do
 *
 * Each leg of a pool has this called for itself, so the last one finds them
 * all. Those before wait, for that, or until what is there has to do.
 *
 * Return: 1 (start @p), 0 (nothing to do, for the reason @why), -1 with @err.
 */
int boot_find(const struct boot_request *b, struct scan *s, const struct found_pool **p,
	      const char **why, struct err *err);

#endif
