// SPDX-License-Identifier: GPL-2.0-only
/*
 * Legs that return: a leg, or the shadow of one, begins to take writes, and later has everything.
 *
 * A superblock records each step of a leg. Nothing depends on the state of the shadow, so only the
 * number of its label is recorded.
 */
#include "core/core.h"
#include "core/shadow.h"
#include "io/flight.h"
#include "super/internal.h"
#include "super/members.h"

/*
 * Change both states under one lock. Otherwise note_losses() would take the difference for a loss.
 */
static void set_state(struct kvp_leg *leg, u32 state)
{
	struct kvp_pool *pool = leg->pool;
	unsigned long flags;

	lockdep_assert_held(&pool->sb_lock);
	spin_lock_irqsave(&pool->members_lock, flags);
	pool->sb->legs[leg->index].state = state;
	WRITE_ONCE(leg->state, state);
	spin_unlock_irqrestore(&pool->members_lock, flags);
}

int kvp_leg_resilver(struct kvp_leg *leg, u32 in_sync_era, kvp_vblock_t cursor, u32 cursor_era)
{
	struct kvp_pool *pool = leg->pool;
	struct kvp_leg_info *info = &pool->sb->legs[leg->index];
	bool flush_lost = READ_ONCE(leg->flush_lost);
	unsigned long left_at = READ_ONCE(leg->left_at);
	u32 state = READ_ONCE(leg->state);

	lockdep_assert_held(&pool->sb_lock);
	/*
	 * Clear these before the state changes. A leg in use whose flush is lost would be given up
	 * at once. And a leg that is given up at once must keep the time of that.
	 */
	WRITE_ONCE(leg->takes_log, false);
	WRITE_ONCE(leg->keeps_log, false);
	WRITE_ONCE(leg->flush_lost, false);
	WRITE_ONCE(leg->late, false);
	WRITE_ONCE(leg->left_at, 0);
	set_state(leg, KVP_LEG_RESILVERING);
	/*
	 * From here on no request to the leg becomes a stray. An older stray could overwrite later
	 * writes.
	 */
	if (kvp_leg_has_strays(leg)) {
		set_state(leg, state);
		WRITE_ONCE(leg->flush_lost, flush_lost);
		WRITE_ONCE(leg->left_at, left_at);
		return -EBUSY;
	}
	leg->adopt = false;
	leg->taken = 0;
	info->in_sync_era = in_sync_era;
	info->cursor = cursor;
	info->cursor_era = cursor_era;
	WRITE_ONCE(pool->sb->epoch, pool->sb->epoch + 1);
	return kvp_sb_commit(pool);
}

static void leave_shadow(struct kvp_pool *pool, u32 state)
{
	unsigned long flags;

	spin_lock_irqsave(&pool->members_lock, flags);
	__kvp_leave_shadow(pool, state);
	spin_unlock_irqrestore(&pool->members_lock, flags);
	kvp_flights_kick(pool);
}

bool kvp_sb_note_shadow(struct kvp_pool *pool)
{
	pool->sb->shadow.label = pool->shadow.has_sequence + 1;
	kvp_sb_note(pool);
	if (!kvp_sb_label_shadow(pool, false))
		return true;
	leave_shadow(pool, KVP_LEG_FAULTED);
	kvp_leg_lost(&pool->shadow, "its label cannot be written");
	return false;
}

bool kvp_shadow_may_join(const struct kvp_pool *pool)
{
	return pool->shadow.v && READ_ONCE(pool->shadow.state) == KVP_LEG_STALE &&
	       kvp_leg_in_sync(kvp_shadowed(pool));
}

bool kvp_shadow_resilver(struct kvp_pool *pool)
{
	struct kvp_leg *shadow = &pool->shadow;
	unsigned long flags;
	bool joins;

	lockdep_assert_held(&pool->sb_lock);
	if (!kvp_shadow_may_join(pool) || kvp_leg_has_strays(shadow))
		return false;
	/* Otherwise kvp_io_too_late() would end the write of its label. */
	WRITE_ONCE(shadow->left_at, 0);
	/*
	 * The device gets new contents from now on. Give it a new label first, so that no older
	 * label of it matches: the legs may be put back to an older state.
	 */
	if (!kvp_sb_note_shadow(pool))
		return false;
	spin_lock_irqsave(&pool->members_lock, flags);
	joins = kvp_shadow_may_join(pool);
	if (joins) {
		WRITE_ONCE(shadow->flush_lost, false);
		WRITE_ONCE(shadow->late, false);
		WRITE_ONCE(pool->shadow_ready, false);
		WRITE_ONCE(shadow->state, KVP_LEG_RESILVERING);
	}
	spin_unlock_irqrestore(&pool->members_lock, flags);
	/* As in kvp_leg_resilver(): from here on no request to it becomes a stray. */
	if (joins && kvp_leg_has_strays(shadow)) {
		leave_shadow(pool, KVP_LEG_STALE);
		return false;
	}
	return joins;
}

bool kvp_shadow_complete(struct kvp_pool *pool)
{
	unsigned long flags;
	bool complete;

	spin_lock_irqsave(&pool->members_lock, flags);
	complete = kvp_leg_resilvers(&pool->shadow);
	WRITE_ONCE(pool->shadow_ready, complete);
	spin_unlock_irqrestore(&pool->members_lock, flags);
	return complete;
}

/*
 * The next superblock calls @leg in sync. It is a source when that counts: end_joins(). If too few
 * legs take it, nothing is answered before another one counts, and that says the same. The leg has
 * everything, and takes all writes. So if the others are dead for good, its label says that a start
 * by order may go on with it. No label of it calls it one that resilvers any more.
 */
static void begin_join(struct kvp_pool *pool, struct kvp_leg *leg)
{
	struct kvp_leg_info *info = &pool->sb->legs[leg->index];
	unsigned long flags;

	leg->has_era = 0;
	leg->lag = 0;
	info->in_sync_era = 0;
	info->in_sync_epoch = pool->sb->epoch + 1;
	info->cursor = 0;
	info->cursor_era = 0;
	spin_lock_irqsave(&pool->members_lock, flags);
	leg->joins = true;
	info->state = KVP_LEG_IN_SYNC;
	spin_unlock_irqrestore(&pool->members_lock, flags);
}

int kvp_legs_resilvered(struct kvp_vdev *v, u64 which)
{
	struct kvp_pool *pool = v->pool;
	u32 i;

	lockdep_assert_held(&pool->sb_lock);
	for (i = 0; i < v->nr_legs; i++)
		if ((which >> i & 1) && kvp_leg_resilvers(&v->legs[i]))
			begin_join(pool, &v->legs[i]);
	WRITE_ONCE(pool->sb->epoch, pool->sb->epoch + 1);
	return kvp_sb_commit(pool);
}
