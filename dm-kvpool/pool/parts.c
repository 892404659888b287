// SPDX-License-Identifier: GPL-2.0-only
#include "core/core.h"
#include "home/home.h"
#include "io/batch.h"
#include "pool/parts.h"
#include "super/members.h"
#include "table/table.h"
#include "work/destage.h"

int kvp_parts_alloc(struct kvp_pool *pool, struct kvp_parts *p)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(p->homes); i++) {
		p->homes[i] = kvp_home_alloc(pool, i < KVP_DIRECT_WORKERS);
		if (!p->homes[i])
			return -ENOMEM;
	}
	p->batch = kvp_batch_alloc(&pool->vdevs);
	return p->batch ? kvp_sb_buffers_alloc(pool) : -ENOMEM;
}

void kvp_parts_use(struct kvp_pool *pool, struct kvp_parts *p)
{
	struct kvp_home **last = &p->homes[KVP_DIRECT_WORKERS];
	u32 i;

	for (i = 0; i < KVP_DIRECT_WORKERS; i++)
		swap(kvp_direct_worker(pool->log, i)->home, p->homes[i]);
	*last = kvp_destage_swap_home(pool->destage, *last);
	p->batch = kvp_table_swap_batch(pool->table, p->batch);
}

void kvp_parts_free(struct kvp_parts *p)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(p->homes); i++)
		kvp_home_free(p->homes[i]);
	kvp_batch_free(p->batch);
}
