/* SPDX-License-Identifier: GPL-2.0-only */
/* Clean blocks of a cache: copies of home, so their loss costs no data. */
#ifndef KVPOOLCTL_VERIFY_CLEAN_H
#define KVPOOLCTL_VERIFY_CLEAN_H

#include "table.h"
#include "verify.h"

/**
 * verify_clean() - read all blocks that a cache's summaries call clean, and count those with the
 * right sum
 * @pools: as for verify_pool(), which has walked the log
 * @tables: of each vdev with data; their counts of pages continue
 *
 * Return: 0, or -ENOMEM.
 */
int verify_clean(const struct offline_pool *pools, struct table *tables, struct verify *v);

#endif
