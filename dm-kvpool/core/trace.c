// SPDX-License-Identifier: GPL-2.0-only
#include "compat/compat.h"
#include "core/core.h"

#define CREATE_TRACE_POINTS
#include "core/trace_points.h"

void kvp_trace_commit(struct kvp_pool *pool, u64 lsn, u32 data, u32 intents)
{
	trace_kvpool_commit(pool->sb->name, lsn, data, intents);
}

void kvp_trace_destage(struct kvp_pool *pool, u32 versions)
{
	trace_kvpool_destage(pool->sb->name, versions);
}

void kvp_trace_checkpoint(struct kvp_pool *pool, u64 tail, int error)
{
	trace_kvpool_checkpoint(pool->sb->name, tail, error);
}

void kvp_trace_heal(struct kvp_pool *pool, u32 leg, u64 block)
{
	trace_kvpool_heal(pool->sb->name, leg, block);
}

void kvp_trace_recovery(struct kvp_pool *pool, u64 entries, u64 records)
{
	trace_kvpool_recovery(pool->sb->name, entries, records);
}
