// SPDX-License-Identifier: GPL-2.0-only
#include <linux/random.h>

#include "format/logplace.h"
#include "log/internal.h"
#include "log/move.h"
#include "pool/pool.h"

bool kvp_log_lost(struct kvp_pool *pool)
{
	struct kvp_vdev *v = pool->log.v;
	u32 i;

	if (kvp_has_data(v->g))
		return false;
	for (i = 0; i < v->nr_legs; i++)
		if (kvp_leg_usable(&v->legs[i]))
			kvp_leg_fail(&v->legs[i], "a log write failed");
	return READ_ONCE(pool->log.moving);
}

void kvp_log_move_kick(struct kvp_pool *pool)
{
	if (READ_ONCE(pool->log.moving) && test_bit(KVP_POOL_RUNNING, &pool->flags) &&
	    !READ_ONCE(pool->log.stopped))
		queue_work(pool->work_wq, &pool->log.move_work);
}

void kvp_log_new_fill(struct kvp_pool *pool)
{
	struct kvp_log_new *to = pool->log.next;
	const struct kvp_vdev *from = pool->log.v;
	struct kvp_sb *sb = pool->sb;
	u32 i;

	lockdep_assert_held(&pool->sb_lock);
	to->old_vdev = sb->log_vdev;
	to->old_nonce = sb->log_nonce;
	for (i = 0; i < from->nr_legs; i++)
		to->old_states[i] = sb->legs[from->g->first_leg + i].state;
	sb->log_vdev = to->v->index;
	sb->log_nonce = to->nonce;
	WRITE_ONCE(sb->epoch, sb->epoch + 1);
}

void kvp_log_new_undo(struct kvp_pool *pool)
{
	const struct kvp_log_new *to = pool->log.next;
	const struct kvp_vdev *from = pool->log.v;
	struct kvp_sb *sb = pool->sb;
	u32 i;

	lockdep_assert_held(&pool->sb_lock);
	sb->log_vdev = to->old_vdev;
	sb->log_nonce = to->old_nonce;
	for (i = 0; i < from->nr_legs; i++)
		sb->legs[from->g->first_leg + i].state = to->old_states[i];
}

/* Has every entry ended, and its versions moved on? */
static bool all_entries_free(struct kvp_log *log)
{
	u32 i;

	for (i = 0; i < KVP_ENTRIES; i++)
		if (smp_load_acquire(&log->entries[i].phase) != KVP_ENTRY_FREE)
			return false;
	return true;
}

/* Is home what the log holds? If not, see to it that somebody is at it, who kicks in the end. */
static bool all_home(struct kvp_pool *pool)
{
	struct kvp_log_mark floor = { .lsn = ~0ull };
	bool logged;

	/* Some may be about to be parked. */
	spin_lock(&pool->wbuf.lock);
	logged = __kvp_wbuf_oldest(&pool->wbuf);
	spin_unlock(&pool->wbuf.lock);
	if (logged) {
		kvp_destage_kick(pool, true);
		return false;
	}
	kvp_log_floor(pool, &floor);
	return floor.lsn == ~0ull;
}

/* The new log is in the superblock: it is the one from here on. */
static void take_over(struct kvp_pool *pool, const struct kvp_log_new *to,
		      const struct kvp_log_mark *head)
{
	struct kvp_log *log = &pool->log;
	unsigned long flags;
	LIST_HEAD(done);

	mutex_lock(&log->build_lock);
	spin_lock(&pool->wbuf.lock);
	log->logged = *head;
	log->counts = head->lsn;
	log->nr_milestones = 0;
	spin_unlock(&pool->wbuf.lock);
	spin_lock_irqsave(&log->lock, flags);
	WRITE_ONCE(log->v, to->v);
	log->nonce = to->nonce;
	log->head = *head;
	log->durable = *head;
	log->tail = head->lsn;
	log->redo = 0;
	log->failed = false;
	log->built_seq = log->durable_seq;
	memset(log->owed_of, 0, kvp_log_max_segments(pool) * sizeof(*log->owed_of));
	WRITE_ONCE(log->owed, 0);
	WRITE_ONCE(log->moving, false);
	__kvp_collect_waiters(pool, &done);
	spin_unlock_irqrestore(&log->lock, flags);
	mutex_unlock(&log->build_lock);
	kvp_answer(&done, 0);
	kvp_log_limit_buffered(pool);
}

/* All is home, and stays so, as nothing is built: the checkpoint that says so names the new log. */
static int move_log(struct kvp_pool *pool)
{
	struct kvp_log *log = &pool->log;
	struct kvp_log_new to = { .v = kvp_log_refuge(pool) };
	const struct kvp_geometry *g = to.v->g;
	u64 lsn = log->durable.lsn + kvp_log_blocks(log->v->g) + kvp_log_blocks(g);
	struct kvp_log_mark head = { lsn - lsn % g->segment_blocks, 0, 0 };
	int ret;

	lockdep_assert_held(&pool->checkpoint_lock);
	get_random_bytes(&to.nonce, sizeof(to.nonce));
	log->next = &to;
	ret = kvp_checkpoint(pool, &head);
	log->next = NULL;
	if (!ret)
		take_over(pool, &to, &head);
	return ret;
}

void kvp_log_move_work(struct work_struct *work)
{
	struct kvp_log *log = container_of(work, struct kvp_log, move_work);
	struct kvp_pool *pool = container_of(log, struct kvp_pool, log);
	int ret = -EAGAIN;

	mutex_lock(&pool->checkpoint_lock);
	if (READ_ONCE(log->moving) && !kvp_pool_faulted(pool) && all_entries_free(log) &&
	    all_home(pool))
		ret = move_log(pool);
	mutex_unlock(&pool->checkpoint_lock);
	if (ret == -EAGAIN)
		return;
	if (ret) {
		if (ret != -ENOMEM)
			kvp_pool_fault(pool, "the log cannot be moved off the cache");
		else
			kvp_destage_kick(pool, true);
		return;
	}
	kvp_event(pool, "log_moved vdev=%u why=the cache was lost", log->v->index);
	queue_work(pool->commit_wq, &log->flush_work);
	kvp_commit_kick(pool, true);
	kvp_pool_space(pool);
}
