// SPDX-License-Identifier: GPL-2.0-only
#include "compat/compat.h"
#include "core/core.h"

#define CREATE_TRACE_POINTS
#include "core/trace_points.h"

/*
 * A copy of the name: a tracepoint measures the name and then copies it, and a rename must not come
 * in between.
 */
struct name {
	char text[KVP_NAME_LEN + 1];
};

static struct name name_of(const struct kvp_sb *sb)
{
	struct name n;

	strscpy(n.text, sb->name, sizeof(n.text));
	return n;
}

void kvp_trace_commit(const struct kvp_sb *sb, kvp_lsn_t lsn, u32 data, u32 intents)
{
	if (trace_kvpool_commit_enabled())
		trace_kvpool_commit(name_of(sb).text, kvp_lsn_nr(lsn), data, intents);
}

void kvp_trace_destage(struct kvp_pool *pool, u32 versions)
{
	if (trace_kvpool_destage_enabled())
		trace_kvpool_destage(name_of(pool->sb).text, versions);
}

void kvp_trace_checkpoint(struct kvp_pool *pool, kvp_lsn_t tail, int error)
{
	if (trace_kvpool_checkpoint_enabled())
		trace_kvpool_checkpoint(name_of(pool->sb).text, kvp_lsn_nr(tail), error);
}

void kvp_trace_heal(struct kvp_pool *pool, u32 leg, kvp_block_t block)
{
	if (trace_kvpool_heal_enabled())
		trace_kvpool_heal(name_of(pool->sb).text, leg, kvp_block_nr(block));
}

void kvp_trace_recovery(struct kvp_pool *pool, u64 entries, u64 records)
{
	if (trace_kvpool_recovery_enabled())
		trace_kvpool_recovery(name_of(pool->sb).text, entries, records);
}
