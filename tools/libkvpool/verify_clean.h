/* SPDX-License-Identifier: GPL-2.0-only */
/* What lies clean on a cache: copies of what is home as well, so that nothing hangs on them. */
#ifndef KVPOOLCTL_VERIFY_CLEAN_H
#define KVPOOLCTL_VERIFY_CLEAN_H

#include "table.h"
#include "verify.h"

/**
 * verify_clean() - read all that the summaries of a cache say is clean, and count what has its sum
 * @pools: as for verify_pool(), which has walked the log
 * @tables: of each vdev with data; their counts of pages go on
 *
 * Return: 0, or -ENOMEM.
 */
int verify_clean(const struct offline_pool *pools, struct table *tables, struct verify *v);

#endif
