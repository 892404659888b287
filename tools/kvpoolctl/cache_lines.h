/* SPDX-License-Identifier: GPL-2.0-only */
/* The lines of status about the cache of a running pool. */
#ifndef KVPOOLCTL_CACHE_LINES_H
#define KVPOOLCTL_CACHE_LINES_H

#include <stdio.h>

#include "ctl.h"

/**
 * cache_lines() - print mode, contents and moves of the log; @pool has a cache and is made by
 * pool_object()
 */
void cache_lines(const struct ctl *ctl, json_object *pool, FILE *out);

#endif
