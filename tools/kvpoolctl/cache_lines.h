/* SPDX-License-Identifier: GPL-2.0-only */
/* What status says of the cache of a running pool. */
#ifndef KVPOOLCTL_CACHE_LINES_H
#define KVPOOLCTL_CACHE_LINES_H

#include <stdio.h>

#include "ctl.h"

/** cache_lines() - mode, what it holds, and whether the log moves; @pool has a cache, as pool_object() makes it */
void cache_lines(const struct ctl *ctl, json_object *pool, FILE *out);

#endif
