/* SPDX-License-Identifier: GPL-2.0-only */
/* A pool that does not run, with its legs opened to be read: for check and extract. */
#ifndef KVPOOLCTL_OPENED_H
#define KVPOOLCTL_OPENED_H

#include "verify.h"

struct opened {
	const struct found_pool *found;
	struct offline_pool *pools;	/* by vdev, with the legs that may be read */
};

/** opened_scan() - scan devices, each of which must open, be unused, and have a label */
int opened_scan(char **paths, int count, struct scan *s, struct err *err);

/**
 * opened_begin() - open the legs of the one pool in @s, which stays in use until opened_end()
 *
 * Refuses several pools, copies of a leg, and devices that are no legs of it.
 */
int opened_begin(const struct scan *s, struct opened *o, struct err *err);
void opened_end(struct opened *o);

/** opened_log() - the vdev that carries the log */
const struct offline_pool *opened_log(const struct opened *o);

/** opened_has() - may leg @index of the superblock be read? */
bool opened_has(const struct opened *o, u32 index);

/** opened_count() - number of legs that may be read */
unsigned int opened_count(const struct opened *o);

/** opened_readable() - are there enough legs to read the pool's contents? */
bool opened_readable(const struct opened *o);

/**
 * opened_fault() - say why the contents cannot be read, or which of two histories would be read
 *
 * Return: 0; or -1 with @err, a refusal.
 */
int opened_fault(const struct opened *o, struct err *err);

/**
 * opened_verify() - verify_pool(), and look once more whether it was one state that was read
 *
 * Nothing holds the legs, so a start may have changed them meanwhile. A start writes labels first.
 *
 * Return: 0; or -1 with @err.
 */
int opened_verify(const struct opened *o, struct verify *v, struct err *err);

#endif
