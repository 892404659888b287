/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory of a pool's parts, where its size depends on the vdevs and their numbers of legs. */
#ifndef KVP_PARTS_H
#define KVP_PARTS_H

#include "core/core.h"
#include "log/log.h"

struct kvp_batch;
struct kvp_home;

/**
 * struct kvp_parts - memory for another shape of the pool
 * @homes: for the direct workers; the last one is for destage
 * @batch: for the pages of the table
 */
struct kvp_parts {
	struct kvp_home *homes[KVP_DIRECT_WORKERS + 1];
	struct kvp_batch *batch;
};

/**
 * kvp_parts_alloc() - allocate memory for the shape that the pool has now, and for its superblocks
 *
 * Return: 0 or -ENOMEM. The caller must call kvp_parts_free() in both cases. Context: process.
 */
int __must_check kvp_parts_alloc(struct kvp_pool *pool, struct kvp_parts *p);

/** kvp_parts_use() - exchange the pool's memory and @p. Context: the pool is quiesced. */
void kvp_parts_use(struct kvp_pool *pool, struct kvp_parts *p);

void kvp_parts_free(struct kvp_parts *p);

#endif /* KVP_PARTS_H */
