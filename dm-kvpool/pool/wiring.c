// SPDX-License-Identifier: GPL-2.0-only
/*
 * A floor does not know the floors above it. It tells them something through a client. This file
 * registers all clients, so it shows each call that runs upwards.
 */
#include "cache/admission.h"
#include "cache/rebuild.h"
#include "cache/reinsert.h"
#include "cache/scache.h"
#include "core/core.h"
#include "home/heal.h"
#include "kinds/kinds.h"
#include "log/checkpoint.h"
#include "log/log.h"
#include "log/move.h"
#include "pool/pool.h"
#include "pool/wiring.h"
#include "super/members.h"
#include "table/table.h"
#include "work/destage.h"
#include "work/scrub.h"
#include "work/trim.h"

static const struct kvp_members_client members_client = {
	.about_to_write = kvp_log_new_check,
	.note = kvp_scrub_note,
	.recorded = kvp_log_recorded,
	.left = kvp_log_move_kick,
	.faulted = kvp_log_faulted,
};

static const struct kvp_table_client table_client = {
	.written_back = kvp_scache_came_home,
	.changed = kvp_scache_forget,
	.settle_poison = kvp_poison_settle,
};

static void moved_on(struct kvp_pool *pool)
{
	kvp_admit_kick(pool);
	kvp_reinsert_kick(pool);
	kvp_rebuild_kick(pool);
}

static bool clean_waits(const struct kvp_pool *pool)
{
	return kvp_admit_waiting(pool->fill);
}

static bool clean_on_its_way(const struct kvp_pool *pool)
{
	return kvp_admit_busy(pool->fill);
}

static u64 cache_passed(const struct kvp_pool *pool)
{
	return kvp_scache_passed(pool->scache);
}

static void checkpointed(struct kvp_pool *pool, u32 era, u64 passed, const struct kvp_log_mark *tail)
{
	kvp_passdown_checkpointed(pool);
	kvp_rebuild_checkpointed(pool, era, passed, tail);
}

static const struct kvp_log_client log_client = {
	.destage = kvp_destage_kick,
	.checkpoint = kvp_checkpoint,
	.moved_on = moved_on,
	.clean_durable = kvp_admit_durable,
	.clean_failed = kvp_admit_failed,
	.clean_waits = clean_waits,
	.clean_on_its_way = clean_on_its_way,
	.overwrites = kvp_scache_overwrite,
	.begins = kvp_scache_log_moved,
	.next_place = kvp_scache_next_lsn,
	.cache_written = kvp_scache_written,
	.cache_passed = cache_passed,
	.checkpointed = checkpointed,
};

static const struct kvp_home_client home_client = {
	.rescue = kvp_scache_rescue,
};

void kvp_wire(struct kvp_pool *pool)
{
	pool->kinds = kvp_vdev_kinds;
	pool->leg_client = &kvp_members_hear;
	pool->members_client = &members_client;
	pool->table_client = &table_client;
	pool->log_client = &log_client;
	pool->home_client = &home_client;
	pool->put = kvp_pool_free;
}
