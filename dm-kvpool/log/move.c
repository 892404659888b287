// SPDX-License-Identifier: GPL-2.0-only
#include <linux/random.h>

#include "core/cache_client.h"
#include "core/core.h"
#include "core/log_mark.h"
#include "core/log_ops.h"
#include "log/internal.h"
#include "log/log.h"
#include "log/move.h"
#include "ram/wbuf.h"

/* The pool fails first: its vdevs with data are lost together with such a log. */
bool kvp_log_is_never_lost(const struct kvp_vdevs *vdevs)
{
	return false;
}

struct kvp_vdev *kvp_log_stays_there(struct kvp_vdevs *vdevs, struct kvp_vdev *v)
{
	return v;
}

/* The log is off the SSDs that are lost. */
bool kvp_log_ends_loss(struct kvp_vdevs *vdevs)
{
	bool lost = READ_ONCE(vdevs->log_moving);

	WRITE_ONCE(vdevs->log_moving, false);
	return lost;
}

bool kvp_log_lost(struct kvp_log *log)
{
	return kvp_log_ops(log->vdevs)->lost(log->vdevs);
}

void kvp_log_move_on(struct kvp_log *log)
{
	if (test_bit(KVP_POOL_RUNNING, log->flags) && !READ_ONCE(log->stopped))
		queue_work(log->work_wq, &log->move_work);
}

/*
 * True if every entry has ended, and its versions have moved on. No other entry is built meanwhile.
 */
static bool all_entries_free(struct kvp_log *log)
{
	bool free = true;
	u32 i;

	/* A builder that began before building was forbidden holds this lock. */
	mutex_lock(&log->build_lock);
	for (i = 0; free && i < KVP_ENTRIES; i++)
		free = smp_load_acquire(&log->entries[i].phase) == KVP_ENTRY_FREE;
	kvp_log_unlock_build(log);
	return free;
}

/*
 * True if all data of the log is home. If it is not, destage or direct workers write it home, and
 * kick the move when they have ended.
 */
static bool all_home(struct kvp_log *log)
{
	struct kvp_log_mark floor = { .lsn = KVP_LSN_MAX };
	kvp_lsn_t oldest;
	bool logged;

	/* Look at all lists: some versions may be about to be spilled. */
	kvp_wbuf_lock_lists(log->wbuf);
	logged = __kvp_wbuf_oldest(log->wbuf, &oldest);
	kvp_wbuf_unlock_lists(log->wbuf);
	kvp_log_floor(log, &floor);
	/*
	 * Withdrawn intents cannot become data, since nothing is built. So the tail must pass them.
	 * After that their versions are in the buffer, and the move does not wait for them.
	 */
	if (logged || (floor.lsn != KVP_LSN_MAX && READ_ONCE(log->withdrawn))) {
		log->client->destage(log->of, true);
		return false;
	}
	return floor.lsn == KVP_LSN_MAX;
}

/* Use the new log from here on: the superblock names it. */
static void take_over(struct kvp_log *log, const struct kvp_log_new *to,
		      const struct kvp_log_mark *head)
{
	unsigned long flags;
	LIST_HEAD(done);
	bool lost;

	mutex_lock(&log->build_lock);
	kvp_wbuf_lock_lists(log->wbuf);
	log->logged = *head;
	log->counts = head->lsn;
	log->nr_milestones = 0;
	kvp_wbuf_unlock_lists(log->wbuf);
	kvp_cache_log_begins(log->vdevs, head->lsn);
	spin_lock_irqsave(&log->lock, flags);
	log->nonce = to->nonce;
	log->head = *head;
	log->durable = *head;
	log->witnessed = head->lsn;
	log->tail = head->lsn;
	log->redo = 0;
	kvp_fail_ended(log->failure, KVP_FAIL_COMMIT);
	log->tail_intents = head->intents;
	log->resolved_intents = head->intents;
	WRITE_ONCE(log->full, false);
	log->built_seq = log->durable_seq;
	memset(log->reserved_of, 0, kvp_log_max_segments(log) * sizeof(*log->reserved_of));
	WRITE_ONCE(log->reserved, 0);
	lost = to->v->log->arrived(log->vdevs);
	__kvp_collect_waiters(log, &done);
	spin_unlock_irqrestore(&log->lock, flags);
	mutex_unlock(&log->build_lock);
	/* Do this before any answer: a waiter for the move then finds it among the events. */
	log->client->moved(log->of, to->v, !lost && to->by_order);
	kvp_answer(&done, 0);
	kvp_log_limit_buffered(log);
}

/*
 * Move the log. All its data is home, and nothing is built, so that stays true. The checkpoint that
 * says so names the new log.
 */
static int move_log(struct kvp_log *log, struct kvp_log_new *to)
{
	const struct kvp_geometry *g = to->v->g;
	kvp_lsn_t lsn = kvp_lsn_add(log->durable.lsn,
				    kvp_log_blocks(log->vdevs->log_vdev->g) + kvp_log_blocks(g));
	kvp_lsn_t at = kvp_cache_next_place(log->vdevs, to->v,
					    kvp_lsn_down(lsn, g->segment_blocks));
	struct kvp_log_mark head = { at, 0, 0 };
	int ret;

	lockdep_assert_held(log->checkpoint_lock);
	get_random_bytes(&to->nonce, sizeof(to->nonce));
	ret = log->client->checkpoint(log->of, &head, to);
	if (ret)
		return ret;
	if (to->in_sb) {
		take_over(log, to, &head);
		return 0;
	}
	/* The new log could not be used: this was a checkpoint of the old one. */
	kvp_log_retire(log, &log->durable);
	return -ENODEV;
}

/*
 * Move the log if a move is wanted and all data is home. Returns -EAGAIN if it cannot be moved yet.
 */
static int try_to_move(struct kvp_log *log)
{
	struct kvp_log_new own = { .v = NULL }, *to = log->plan;
	struct kvp_vdev *v;

	lockdep_assert_held(log->checkpoint_lock);
	if (!READ_ONCE(log->vdevs->log_moving) && !to)
		return -EAGAIN;
	if (kvp_faulted(log->failure))
		return to ? -EIO : -EAGAIN;
	/* No clean block may be on its way to the cache either: the log would overtake it. */
	if (!all_entries_free(log) || kvp_cache_clean_on_its_way(log->vdevs) || !all_home(log))
		return -EAGAIN;
	v = to ? to->v : kvp_log_refuge(log->vdevs);
	/* If the SSDs are lost, an order to move the log to a vdev with data serves as well. */
	if (READ_ONCE(log->vdevs->log_moving))
		v = v->log->refuge(log->vdevs, v);
	if (!to || v != to->v) {
		own.v = v;
		to = &own;
	}
	return kvp_vdev_has_log(to->v) ? move_log(log, to) : -ENODEV;
}

/* Tell the waiting order how the move ended. */
static void end_plan(struct kvp_log *log, int error)
{
	struct kvp_log_new *plan = log->plan;

	lockdep_assert_held(log->checkpoint_lock);
	if (!plan)
		return;
	log->plan = NULL;
	WRITE_ONCE(log->held, false);
	plan->error = error;
	smp_store_release(&plan->ended, true);	/* the order has @plan again */
	wake_up_all(&log->entry_wait);
}

void kvp_log_move_work(struct work_struct *work)
{
	struct kvp_log *log = container_of(work, struct kvp_log, move_work);
	bool lost;
	int ret;

	mutex_lock(log->checkpoint_lock);
	lost = READ_ONCE(log->vdevs->log_moving);
	ret = try_to_move(log);
	if (ret != -EAGAIN && ret != -ENOMEM)
		end_plan(log, ret);
	mutex_unlock(log->checkpoint_lock);
	if (ret == -EAGAIN)
		return;
	if (ret == -ENOMEM) {
		log->client->destage(log->of, true);
		return;
	}
	if (ret && lost)
		kvp_fail(log->failure, KVP_FAIL_LEGS, "the log cannot be moved off the cache");
	/* A log that was lost again in the meantime has to move again. */
	kvp_log_move_kick(log);
	queue_work(log->commit_wq, &log->flush_work);
	kvp_commit_kick(log, true);
	log->client->space(log->of);
}

int kvp_log_move_to(struct kvp_log *log, struct kvp_log_new *plan)
{
	plan->by_order = true;
	mutex_lock(log->checkpoint_lock);
	if (READ_ONCE(log->stopped)) {
		mutex_unlock(log->checkpoint_lock);
		return -ECANCELED;
	}
	log->plan = plan;
	WRITE_ONCE(log->held, true);
	mutex_unlock(log->checkpoint_lock);
	kvp_log_move_kick(log);
	/* Idle, as slow disks may take minutes (kvp_orders_drain()); pairs with end_plan(). */
	wait_event_idle(log->entry_wait, smp_load_acquire(&plan->ended));
	return plan->error;
}

void kvp_log_move_cancel(struct kvp_log *log)
{
	/* Neither destage nor a move runs, which have it for long (kvp_log_stop()). */
	mutex_lock(log->checkpoint_lock);
	end_plan(log, -ECANCELED);
	mutex_unlock(log->checkpoint_lock);
}
