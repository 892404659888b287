// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table at the end of this file says which function of the SSD cache serves each call of the
 * lower floors.
 */
#include "cache/admission.h"
#include "cache/client.h"
#include "cache/rebuild.h"
#include "cache/reinsert.h"
#include "cache/scache.h"
#include "core/core.h"

static void moved_on(struct kvp_pool *pool)
{
	kvp_admit_kick(pool);
	kvp_reinsert_kick(pool);
	kvp_rebuild_kick(pool);
}

static bool clean_waits(const struct kvp_pool *pool)
{
	return kvp_admit_waiting(pool->admission);
}

static bool clean_on_its_way(const struct kvp_pool *pool)
{
	return kvp_admit_busy(pool->admission);
}

static kvp_lsn_t passed(const struct kvp_pool *pool)
{
	return kvp_scache_passed(pool->scache);
}

static bool has(struct kvp_pool *pool, kvp_block_t block)
{
	return kvp_scache_has(pool, block);
}

const struct kvp_cache_client kvp_cache_client_calls = {
	.moved_on = moved_on,
	.clean_durable = kvp_admit_durable,
	.clean_failed = kvp_admit_failed,
	.clean_waits = clean_waits,
	.clean_on_its_way = clean_on_its_way,
	.overwrites = kvp_scache_overwrite,
	.begins = kvp_scache_log_moved,
	.next_place = kvp_scache_next_lsn,
	.written = kvp_scache_written,
	.passed = passed,
	.checkpointed = kvp_rebuild_checkpointed,
	.came_home = kvp_scache_came_home,
	.forget = kvp_scache_forget,
	.has = has,
	.rescue = kvp_scache_rescue,
};
