/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The import that udev starts when a leg appears: it starts the leg's pool once the pool is whole.
 */
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

/** boot_leaves() - why @sb's pool must not start by itself; NULL: it may */
const char *boot_leaves(const struct kvp_sb *sb);

/**
 * boot_find() - find the pool of a leg, and wait until it can start
 * @s: holds the result; to be released after a return of 1
 * @p: receives the pool
 * @why: receives the reason of a return of 0
 *
 * Each leg that appears makes udev call this, so the call for the last leg finds all of them. The
 * earlier calls wait for that, or until the legs that are there must do.
 *
 * Return: 1 (start @p), 0 (nothing to do, for the reason @why), -1 with @err.
 */
int boot_find(const struct boot_request *b, struct scan *s, const struct found_pool **p,
	      const char **why, struct err *err);

#endif
