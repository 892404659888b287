// SPDX-License-Identifier: GPL-2.0-only
/* Fields of the superblock that name the log, when it moves: see log/move.h. */
#include "checkpoint/newlog.h"
#include "core/core.h"
#include "core/log_mark.h"
#include "format/logplace.h"
#include "log/log.h"
#include "log/move.h"
#include "super/members.h"

void kvp_log_new_fill(struct kvp_pool *pool)
{
	struct kvp_log_new *to = kvp_log_next(pool->log);
	const struct kvp_vdev *from = pool->vdevs.log_vdev;
	struct kvp_sb *sb = pool->sb;
	u32 i;

	lockdep_assert_held(&pool->sb_lock);
	to->old_vdev = sb->log_vdev;
	to->old_others = sb->log_others;
	to->old_nonce = sb->log_nonce;
	for (i = 0; i < from->nr_legs; i++)
		to->old_states[i] = sb->legs[from->g->first_leg + i].state;
	to->old_mask = sb->tunable_mask;
	to->old_mode = sb->tunables[KVP_T_CACHE_MODE];
	to->in_sb = true;
	kvp_log_carry(sb, to->v->index, kvp_log_others(&pool->vdevs, to->v));
	sb->log_nonce = to->nonce;
	if (to->by_order) {
		sb->tunable_mask |= BIT_ULL(KVP_T_CACHE_MODE);
		sb->tunables[KVP_T_CACHE_MODE] = to->mode;
	}
	WRITE_ONCE(sb->epoch, sb->epoch + 1);
}

void kvp_log_new_undo(struct kvp_pool *pool)
{
	struct kvp_log_new *to = kvp_log_next(pool->log);
	const struct kvp_vdev *from = pool->vdevs.log_vdev;
	struct kvp_sb *sb = pool->sb;
	u32 i;

	lockdep_assert_held(&pool->sb_lock);
	if (!to->in_sb)
		return;
	to->in_sb = false;
	kvp_log_carry(sb, to->old_vdev, to->old_others);
	sb->log_nonce = to->old_nonce;
	if (to->by_order) {
		sb->tunable_mask = to->old_mask;
		sb->tunables[KVP_T_CACHE_MODE] = to->old_mode;
	}
	for (i = 0; i < from->nr_legs; i++)
		sb->legs[from->g->first_leg + i].state = to->old_states[i];
}

void kvp_log_new_check(struct kvp_pool *pool)
{
	struct kvp_log_new *to = kvp_log_next(pool->log);
	struct kvp_sb *sb = pool->sb;
	struct kvp_log_mark end;

	lockdep_assert_held(&pool->sb_lock);
	if (!to || !to->in_sb || kvp_vdev_has_log(to->v))
		return;
	kvp_log_new_undo(pool);
	/* All data of the old log is home. */
	kvp_log_durable_mark(pool->log, &end);
	sb->log_tail = end.lsn;
	sb->log_prev_lsn = end.prev_lsn;
	sb->log_prev_csum = end.prev_csum;
	sb->log_commit = sb->log_tail;
}

/*
 * This must be done before another superblock is written. If the SSDs of the new log were lost just
 * now, that log is lost with them, though it is empty. Then it has to move, and its SSDs are
 * recorded out only with the superblock of that move.
 */
void kvp_log_new_adopt(struct kvp_pool *pool)
{
	struct kvp_log_new *to = kvp_log_next(pool->log);
	unsigned long flags;

	lockdep_assert_held(&pool->sb_lock);
	if (!to->in_sb)
		return;
	spin_lock_irqsave(&pool->members_lock, flags);
	kvp_log_take_place(&pool->vdevs);
	if (!kvp_vdev_has_log(to->v))
		kvp_log_legs_keep(pool);
	spin_unlock_irqrestore(&pool->members_lock, flags);
}
