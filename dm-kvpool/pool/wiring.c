// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registers the clients of the floors. A floor does not know the floors above it, and tells them
 * something through a client. This file registers all clients but one, so it shows each call that
 * runs upwards. The exception is the client of a cache: its kind of vdev registers it
 * (kinds/cache.c), and cache/client.c lists its calls.
 */
#include "checkpoint/checkpoint.h"
#include "checkpoint/newlog.h"
#include "core/core.h"
#include "io/mirror.h"
#include "kinds/kinds.h"
#include "log/log.h"
#include "log/move.h"
#include "pool/pool.h"
#include "pool/wiring.h"
#include "super/events.h"
#include "super/finds.h"
#include "super/members.h"
#include "table/table.h"
#include "work/destage.h"
#include "work/scrub.h"
#include "work/trim.h"

/* What runs for long goes on after a restart where the last superblock says. */
static void note_progress(struct kvp_pool *pool)
{
	kvp_scrub_note(pool);
	kvp_trim_note(pool);
}

/* A superblock is about to be written. It may name a log to which the pool is moving. */
static void about_to_write(struct kvp_pool *pool)
{
	if (kvp_log_begins_anew(pool->log))
		kvp_log_new_check(pool);
}

/* The log has its parts while the pool runs. Before that, none of what follows concerns it. */
static bool runs(const struct kvp_pool *pool)
{
	return test_bit(KVP_POOL_RUNNING, &pool->flags);
}

static void loss_recorded(struct kvp_pool *pool)
{
	kvp_log_recorded(pool->log);
}

static void leg_left(struct kvp_pool *pool)
{
	if (runs(pool))
		kvp_log_move_kick(pool->log);
}

static void pool_faulted(struct kvp_pool *pool)
{
	if (runs(pool))
		kvp_log_faulted(pool->log);
}

static const struct kvp_sb_client sb_client = {
	.about_to_write = about_to_write,
	.note = note_progress,
	.recorded = loss_recorded,
	.faulted = pool_faulted,
};

static const struct kvp_members_client members_client = {
	.left = leg_left,
};

static int table_make_poison_durable(void *pool)
{
	return kvp_poison_make_durable(pool);
}

static void table_healed(void *pool, struct kvp_leg *leg, u32 level, u64 index)
{
	kvp_found(pool, KVP_FIND_HEALED_PAGE, leg, level, index);
}

static void table_lost(void *pool, const struct kvp_table_part *page)
{
	kvp_found_part(pool, KVP_FIND_LOST_PAGE, page);
}

static void table_silent(void *pool, const struct kvp_table_part *page)
{
	kvp_found_part(pool, KVP_FIND_SILENT_PAGE, page);
}

static void table_given_up(void *pool, const struct kvp_tpage *tp, kvp_block_t first, u64 blocks)
{
	kvp_event(pool, "table_given_up level=%u index=%llu block=%llu blocks=%llu", tp->level,
		  (unsigned long long)tp->index, kvp_block_nr(first), (unsigned long long)blocks);
}

void kvp_wire_table(struct kvp_pool *pool, struct kvp_table_client *client)
{
	client->of = pool;
	client->make_poison_durable = table_make_poison_durable;
	client->healed = table_healed;
	client->lost = table_lost;
	client->silent = table_silent;
	client->given_up = table_given_up;
}

/* --- the log --------------------------------------------------------------------------- */

static void log_destage(void *pool, bool now)
{
	kvp_destage_kick(pool, now);
}

static void log_space(void *pool)
{
	kvp_pool_space(pool);
}

static int log_settle(void *pool)
{
	return kvp_members_settle(pool);
}

static int log_flush(void *pool)
{
	return kvp_legs_flush(pool);
}

static void log_poison(void *of)
{
	struct kvp_pool *pool = of;

	queue_work(pool->work_wq, &pool->poison_work);
}

static bool log_fail_leg(void *pool, struct kvp_leg *leg)
{
	return kvp_leg_fail(leg, "a log write failed");
}

static int log_checkpoint(void *pool, const struct kvp_log_mark *head, struct kvp_log_new *to)
{
	return kvp_checkpoint_anew(pool, head, to);
}

static void log_resumed(void *pool)
{
	kvp_event(pool, "resumed");
}

static void log_commit_failed(void *pool)
{
	kvp_event(pool, "commit_failed why=no leg took the log entry");
}

static void log_moved(void *pool, const struct kvp_vdev *v, bool by_order)
{
	kvp_event(pool, "log_moved vdev=%u why=%s", v->index,
		  by_order ? "by order" : "the cache was lost");
}

static const struct kvp_log_client log_client = {
	.destage = log_destage,
	.space = log_space,
	.settle = log_settle,
	.flush = log_flush,
	.poison = log_poison,
	.fail_leg = log_fail_leg,
	.checkpoint = log_checkpoint,
	.resumed = log_resumed,
	.commit_failed = log_commit_failed,
	.moved = log_moved,
};

void kvp_wire_log(struct kvp_pool *pool, struct kvp_log_given *given)
{
	given->client = &log_client;
	given->of = pool;
}

void kvp_wire(struct kvp_pool *pool)
{
	pool->ops_of = kvp_vdev_ops_of;
	pool->leg_client = &kvp_members_hear;
	pool->failure.faulted = kvp_members_faulted;
	pool->members_client = &members_client;
	pool->sb_client = &sb_client;
	pool->checkpointed = kvp_passdown_checkpointed;
	pool->put = kvp_pool_free;
}
