// SPDX-License-Identifier: GPL-2.0-only
#include <linux/random.h>

#include "core/cache_client.h"
#include "core/core.h"
#include "log/internal.h"
#include "log/log.h"
#include "log/move.h"
#include "ram/wbuf.h"
#include "super/events.h"
#include "super/members.h"

bool kvp_log_lost(struct kvp_pool *pool)
{
	return kvp_pool_logs_on_cache(pool) && READ_ONCE(pool->vdevs.log_moving);
}

void kvp_log_move_on(struct kvp_pool *pool)
{
	if (test_bit(KVP_POOL_RUNNING, &pool->flags) && !READ_ONCE(pool->log->stopped))
		queue_work(pool->work_wq, &pool->log->move_work);
}

/*
 * True if every entry has ended, and its versions have moved on. No other entry is built meanwhile.
 */
static bool all_entries_free(struct kvp_pool *pool)
{
	struct kvp_log *log = pool->log;
	bool free = true;
	u32 i;

	/* A builder that began before building was forbidden holds this lock. */
	mutex_lock(&log->build_lock);
	for (i = 0; free && i < KVP_ENTRIES; i++)
		free = smp_load_acquire(&log->entries[i].phase) == KVP_ENTRY_FREE;
	kvp_log_unlock_build(pool);
	return free;
}

/*
 * True if all data of the log is home. If it is not, start the work that writes it home, and that
 * kicks the move when it ends.
 */
static bool all_home(struct kvp_pool *pool)
{
	struct kvp_log_mark floor = { .lsn = KVP_LSN_MAX };
	bool logged;

	/* The oldest of all lists: some versions may be about to be spilled. */
	kvp_wbuf_lock_lists(pool->wbuf);
	logged = __kvp_wbuf_oldest(pool->wbuf);
	kvp_wbuf_unlock_lists(pool->wbuf);
	kvp_log_floor(pool, &floor);
	/*
	 * Withdrawn intents cannot become data, as nothing is built. So the tail must pass them.
	 * After that they are in the buffer, and the move does not wait for that.
	 */
	if (logged || (floor.lsn != KVP_LSN_MAX && READ_ONCE(pool->log->withdrawn))) {
		pool->log_client->destage(pool, true);
		return false;
	}
	return floor.lsn == KVP_LSN_MAX;
}

/* Use the new log from here on: the superblock names it. */
static void take_over(struct kvp_pool *pool, const struct kvp_log_new *to,
		      const struct kvp_log_mark *head)
{
	struct kvp_log *log = pool->log;
	bool lost = READ_ONCE(log->pool->vdevs.log_moving) && kvp_home_blocks(to->v->g);
	unsigned long flags;
	LIST_HEAD(done);

	mutex_lock(&log->build_lock);
	kvp_wbuf_lock_lists(pool->wbuf);
	log->logged = *head;
	log->counts = head->lsn;
	log->nr_milestones = 0;
	kvp_wbuf_unlock_lists(pool->wbuf);
	kvp_cache_log_begins(&pool->vdevs, head->lsn);
	spin_lock_irqsave(&log->lock, flags);
	log->nonce = to->nonce;
	log->head = *head;
	log->durable = *head;
	log->witnessed = head->lsn;
	log->tail = head->lsn;
	log->redo = 0;
	kvp_fail_ended(&pool->failure, KVP_FAIL_COMMIT);
	log->tail_intents = head->intents;
	WRITE_ONCE(log->full, false);
	log->built_seq = log->durable_seq;
	memset(log->reserved_of, 0, kvp_log_max_segments(pool) * sizeof(*log->reserved_of));
	WRITE_ONCE(log->reserved, 0);
	/* If the new log is on a cache, that cache may have been lost since. */
	if (kvp_home_blocks(to->v->g))
		WRITE_ONCE(log->pool->vdevs.log_moving, false);
	__kvp_collect_waiters(pool, &done);
	spin_unlock_irqrestore(&log->lock, flags);
	mutex_unlock(&log->build_lock);
	/* Do this before any answer: a waiter for the move then finds it among the events. */
	kvp_event(pool, "log_moved vdev=%u why=%s", to->v->index,
		  lost || !to->by_order ? "the cache was lost" : "by order");
	kvp_answer(&done, 0);
	kvp_log_limit_buffered(pool);
}

/*
 * Move the log. All its data is home, and stays so, as nothing is built. The checkpoint that says
 * so names the new log.
 */
static int move_log(struct kvp_pool *pool, struct kvp_log_new *to)
{
	struct kvp_log *log = pool->log;
	const struct kvp_geometry *g = to->v->g;
	kvp_lsn_t lsn = kvp_lsn_add(log->durable.lsn,
				    kvp_log_blocks(log->pool->vdevs.log_vdev->g) + kvp_log_blocks(g));
	kvp_lsn_t at = kvp_cache_next_place(&pool->vdevs, to->v, kvp_lsn_down(lsn, g->segment_blocks));
	struct kvp_log_mark head = { at, 0, 0 };
	int ret;

	lockdep_assert_held(&pool->checkpoint_lock);
	get_random_bytes(&to->nonce, sizeof(to->nonce));
	ret = pool->log_client->checkpoint(pool, &head, to);
	if (ret)
		return ret;
	if (to->in_sb) {
		take_over(pool, to, &head);
		return 0;
	}
	/* The new log could not be used: this was a checkpoint of the old one. */
	kvp_log_retire(pool, &log->durable);
	return -ENODEV;
}

/*
 * Move the log if a move is wanted and all data is home. Returns -EAGAIN if it cannot be moved yet.
 */
static int try_to_move(struct kvp_pool *pool)
{
	struct kvp_log *log = pool->log;
	struct kvp_log_new own = { .v = NULL }, *to = log->plan;

	lockdep_assert_held(&pool->checkpoint_lock);
	if (!READ_ONCE(log->pool->vdevs.log_moving) && !to)
		return -EAGAIN;
	if (kvp_pool_faulted(pool))
		return to ? -EIO : -EAGAIN;
	/* No clean block may be on its way to the cache either: the log would overtake it. */
	if (!all_entries_free(pool) || kvp_cache_clean_on_its_way(&pool->vdevs) || !all_home(pool))
		return -EAGAIN;
	/* An order from before the SSDs were lost will do as well, if it names a vdev with data. */
	if (!to || (READ_ONCE(log->pool->vdevs.log_moving) && !kvp_home_blocks(to->v->g))) {
		own.v = kvp_log_refuge(&pool->vdevs);
		to = &own;
	}
	return kvp_vdev_has_log(to->v) ? move_log(pool, to) : -ENODEV;
}

/* Tell the waiting order how the move ended. */
static void end_plan(struct kvp_pool *pool, int error)
{
	struct kvp_log_new *plan = pool->log->plan;

	lockdep_assert_held(&pool->checkpoint_lock);
	if (!plan)
		return;
	pool->log->plan = NULL;
	WRITE_ONCE(pool->log->held, false);
	plan->error = error;
	complete(&plan->done);
}

void kvp_log_move_work(struct work_struct *work)
{
	struct kvp_log *log = container_of(work, struct kvp_log, move_work);
	struct kvp_pool *pool = log->pool;
	bool lost;
	int ret;

	mutex_lock(&pool->checkpoint_lock);
	lost = READ_ONCE(log->pool->vdevs.log_moving);
	ret = try_to_move(pool);
	if (ret != -EAGAIN && ret != -ENOMEM)
		end_plan(pool, ret);
	mutex_unlock(&pool->checkpoint_lock);
	if (ret == -EAGAIN)
		return;
	if (ret == -ENOMEM) {
		pool->log_client->destage(pool, true);
		return;
	}
	if (ret && lost)
		kvp_fail(&pool->failure, KVP_FAIL_LEGS, "the log cannot be moved off the cache");
	/* A log that was lost again in the meantime has to move again. */
	kvp_log_move_kick(pool);
	queue_work(pool->commit_wq, &log->flush_work);
	kvp_commit_kick(pool, true);
	kvp_pool_space(pool);
}

int kvp_log_move_to(struct kvp_pool *pool, struct kvp_log_new *plan)
{
	struct kvp_log *log = pool->log;

	init_completion(&plan->done);
	plan->by_order = true;
	mutex_lock(&pool->checkpoint_lock);
	if (READ_ONCE(log->stopped)) {
		mutex_unlock(&pool->checkpoint_lock);
		return -ECANCELED;
	}
	log->plan = plan;
	WRITE_ONCE(log->held, true);
	mutex_unlock(&pool->checkpoint_lock);
	kvp_log_move_kick(pool);
	wait_for_completion(&plan->done);
	return plan->error;
}

void kvp_log_move_cancel(struct kvp_pool *pool)
{
	mutex_lock(&pool->checkpoint_lock);
	end_plan(pool, -ECANCELED);
	mutex_unlock(&pool->checkpoint_lock);
}
