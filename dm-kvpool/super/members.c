// SPDX-License-Identifier: GPL-2.0-only
/*
 * The loss of legs.
 *
 * A leg that did not take a required write is marked at once, so that it is not read any more. Then
 * kvp_members_work() records its state, under a new epoch, on all legs that are left. Until that is
 * durable no FLUSH and no FUA is acknowledged (R16).
 */
#include <linux/math64.h>

#include "core/core.h"
#include "core/shadow.h"
#include "core/vdev_ops.h"
#include "io/flight.h"
#include "io/io.h"
#include "super/events.h"
#include "super/internal.h"
#include "super/members.h"

u32 kvp_losses_survivable(const struct kvp_pool *pool)
{
	u32 least = KVP_MAX_LEGS, i;

	for (i = 0; i < pool->vdevs.nr; i++) {
		const struct kvp_vdev *v = &pool->vdevs.v[i];

		least = min(least, v->ops->survives(v));
	}
	return least;
}

/*
 * Stop writing to the shadow. If the leg that it is to replace is given up, too, this must come
 * first: code that sees that leg out, and so does not write to it, must not find the shadow in use,
 * nor note a cursor for it.
 */
void __kvp_leave_shadow(struct kvp_pool *pool, u32 state)
{
	lockdep_assert_held(&pool->members_lock);
	WRITE_ONCE(pool->shadow.left_at, jiffies | 1);
	WRITE_ONCE(pool->shadow_ready, false);
	WRITE_ONCE(pool->shadow.state, state);
	smp_wmb();	/* before the state of that leg; pairs with add_for_shadow(), batch.c */
}

/*
 * Stop using @leg. With @keeps_log the log is lost with this leg, and moves: nothing more is
 * acknowledged from that log, and note_losses() skips the legs that are given up now or later.
 */
static void __take_out(struct kvp_leg *leg, u32 state, bool keeps_log)
{
	struct kvp_pool *pool = leg->pool;

	lockdep_assert_held(&pool->members_lock);
	if (keeps_log) {
		WRITE_ONCE(leg->keeps_log, true);
		WRITE_ONCE(pool->vdevs.log_moving, true);
		/* pairs with readers of the state: note_losses(), kvp_leg_keeps_log() */
		smp_wmb();
	}
	/* Count before the state changes: work that skips the leg then sees an unrecorded loss. */
	atomic_inc(&pool->losses.seen);
	smp_mb__after_atomic();
	if (leg == kvp_shadowed(pool) && kvp_leg_resilvers(&pool->shadow))
		__kvp_leave_shadow(pool, KVP_LEG_STALE);
	WRITE_ONCE(leg->left_at, jiffies | 1);
	WRITE_ONCE(leg->state, state);
	/* Count again: a superblock may have been written in between. */
	atomic_inc_return_release(&pool->losses.seen);
}

/*
 * True if the vdev of @leg, which is in sync, can do without it. Another leg may be about to join.
 * Until its join counts, it is no reason to do without this one (R16): kvp_leg.joins.
 */
static bool can_spare(const struct kvp_leg *leg)
{
	const struct kvp_vdev *v = leg->v;
	u32 i, others = 0;

	for (i = 0; i < v->nr_legs; i++)
		others += &v->legs[i] != leg && kvp_leg_in_sync(&v->legs[i]) && !v->legs[i].joins;
	return others >= kvp_vdev_needed(v);
}

/* Take @leg out as @state unless its vdev needs it. No vdev needs a leg that resilvers. */
static bool take_out(struct kvp_leg *leg, u32 state)
{
	struct kvp_pool *pool = leg->pool;
	u32 usable;
	unsigned long flags;
	bool taken;

	/* No leg is at fault: the pool did not send the request. Nor can a loss be recorded. */
	if (kvp_failed_by(&pool->failure, KVP_FAIL_HOST))
		return false;
	spin_lock_irqsave(&pool->members_lock, flags);
	/* The watch may report a shadow that is gone by now, and has no vdev any more. */
	usable = leg->v ? kvp_vdev_usable(leg->v) : 0;
	taken = kvp_leg_in_sync(leg) && can_spare(leg);
	if (kvp_leg_is_shadow(leg)) {
		/*
		 * The shadow is no leg, so no request waits for its loss to be recorded (R16). Its
		 * cursor is noted later.
		 */
		taken = kvp_leg_resilvers(leg);
		if (taken)
			__kvp_leave_shadow(pool, state);
	} else if (kvp_leg_resilvers(leg)) {
		__take_out(leg, state, false);
		taken = true;
	} else if (taken) {
		__take_out(leg, state,
			   leg->v == pool->vdevs.log_vdev && usable <= kvp_log_needs(leg->v->g));
	}
	spin_unlock_irqrestore(&pool->members_lock, flags);
	/* Let requests to the leg end: their senders need not wait any more. */
	if (taken)
		kvp_flights_kick(pool);
	pool->members_client->left(pool);
	return taken;
}

void kvp_leg_lost(struct kvp_leg *leg, const char *why)
{
	struct kvp_pool *pool = leg->pool;
	char name[KVP_LEG_WORDS];

	if (kvp_leg_is_shadow(leg)) {
		kvp_event(pool, "shadow_lost%s why=%s", kvp_leg_words(leg, name), why);
		return;
	}
	kvp_event(pool, "leg_lost leg=%u%s why=%s", leg->index, kvp_leg_words(leg, name), why);
	if (test_bit(KVP_POOL_RUNNING, &pool->flags))
		queue_work(pool->work_wq, &pool->members_work);
}

bool kvp_leg_answers(struct kvp_leg *leg, struct page *page)
{
	u64 blocks = leg->pool->sb->legs[leg->index].size_blocks;
	u32 end;

	for (end = 0; end < 2; end++) {
		u64 at = kvp_sb_slot_offset(blocks, end, 0) >> KVP_BLOCK_SHIFT;
		int error = kvp_io_page(leg, KVP_IO_READ, kvp_lblock(at), page);

		if (!error || kvp_error_kind(error) == KVP_ERR_MEDIUM)
			return true;
	}
	return false;
}

static bool leg_fail(struct kvp_leg *leg, const char *why)
{
	if (!take_out(leg, KVP_LEG_FAULTED))
		/* Another task may have given up the leg before. */
		return READ_ONCE(leg->state) != KVP_LEG_IN_SYNC;
	kvp_leg_lost(leg, why);
	return true;
}

static bool leg_flush_failed(struct kvp_leg *leg)
{
	struct kvp_pool *pool = leg->pool;

	if (kvp_leg_fail(leg, "a flush failed"))
		return true;
	/*
	 * The flush was never issued. Nothing has changed on the leg, and a later flush can make
	 * the writes durable.
	 */
	if (leg->bdev && !READ_ONCE(leg->flush_lost)) {
		kvp_fail(&pool->failure, KVP_FAIL_LEGS,
			 "a flush could not be issued on the last leg");
		return false;
	}
	/* It is unknown which writes were lost: nothing more may be acknowledged. */
	kvp_fail(&pool->failure, KVP_FAIL_LOST, "a flush failed on the last leg");
	return false;
}

void kvp_log_legs_fail(struct kvp_vdev *v, unsigned long which)
{
	struct kvp_pool *pool = v->pool;
	unsigned long flags, taken = 0;
	u32 i;

	/* As in take_out(). */
	if (kvp_failed_by(&pool->failure, KVP_FAIL_HOST))
		return;
	spin_lock_irqsave(&pool->members_lock, flags);
	for (i = 0; i < v->nr_legs; i++) {
		if (!(which >> i & 1) || !kvp_leg_in_sync(&v->legs[i]))
			continue;
		__take_out(&v->legs[i], KVP_LEG_FAULTED, true);
		taken |= BIT(i);
	}
	/*
	 * If too few legs were in use before, too, none may have failed. No entry will ever count
	 * there, so the log moves all the same.
	 */
	if (v == pool->vdevs.log_vdev && !kvp_vdev_has_log(v))
		WRITE_ONCE(pool->vdevs.log_moving, true);
	spin_unlock_irqrestore(&pool->members_lock, flags);
	kvp_flights_kick(pool);
	pool->members_client->left(pool);
	for (i = 0; i < v->nr_legs; i++)
		if (taken >> i & 1)
			kvp_leg_lost(&v->legs[i], "a log write failed");
}

void kvp_log_legs_keep(struct kvp_pool *pool)
{
	struct kvp_vdev *v = pool->vdevs.log_vdev;
	u32 i;

	lockdep_assert_held(&pool->sb_lock);
	lockdep_assert_held(&pool->members_lock);
	/*
	 * Leave out a leg that was put back to an older state or has another history: its log is
	 * not the log that is lost.
	 */
	for (i = 0; i < v->nr_legs; i++)
		if (!kvp_leg_in_sync(&v->legs[i]) && !v->legs[i].lag && !v->legs[i].adopt &&
		    pool->sb->legs[v->legs[i].index].state == KVP_LEG_IN_SYNC)
			WRITE_ONCE(v->legs[i].keeps_log, true);
	WRITE_ONCE(pool->vdevs.log_moving, true);
}

void kvp_members_work(struct work_struct *work)
{
	struct kvp_pool *pool = container_of(work, struct kvp_pool, members_work);

	/* A read-only pool does without the leg, and records nothing. */
	if (kvp_pool_readonly(pool))
		return;
	mutex_lock(&pool->sb_lock);
	if (kvp_members_dirty(pool))
		kvp_sb_note(pool);
	mutex_unlock(&pool->sb_lock);
}

int kvp_members_settle(struct kvp_pool *pool)
{
	int ret = 0;

	if (!kvp_members_dirty(pool))
		return 0;
	mutex_lock(&pool->sb_lock);
	if (kvp_members_dirty(pool))
		ret = kvp_sb_commit(pool);
	mutex_unlock(&pool->sb_lock);
	return ret;
}

/*
 * Set a leg that is out to OFFLINE: it does not return by itself any more. That is recorded as any
 * loss: under a new epoch, and not before the log has moved off an SSD that has all of it. Returns
 * false if the leg is in sync.
 */
static bool keep_out(struct kvp_leg *leg)
{
	struct kvp_pool *pool = leg->pool;
	unsigned long flags;
	bool out;

	spin_lock_irqsave(&pool->members_lock, flags);
	out = READ_ONCE(leg->state) != KVP_LEG_IN_SYNC;
	if (out)
		__take_out(leg, KVP_LEG_OFFLINE, false);
	spin_unlock_irqrestore(&pool->members_lock, flags);
	return out;
}

/*
 * The other legs of the vdev are about to go on without @leg. One may be dead, and no request has
 * told so yet. Were it the last one then, no leg could record that @leg is out. So each is flushed,
 * and given up if that fails, while @leg is there. A mate that has not answered for a second is not
 * asked: if two legs hang, each order would wait for the other leg.
 */
static void ask_mates(struct kvp_leg *leg)
{
	u32 i;

	for (i = 0; leg->v && i < leg->v->nr_legs; i++) {
		struct kvp_io io = { .leg = &leg->v->legs[i], .op = KVP_IO_FLUSH };

		if (io.leg == leg || !kvp_leg_in_sync(io.leg) || READ_ONCE(io.leg->late) ||
		    !kvp_io_sync(&io))
			continue;
		kvp_leg_failed_write(io.leg);
		kvp_leg_flush_failed(io.leg);
	}
}

int kvp_leg_offline(struct kvp_pool *pool, struct kvp_leg *leg)
{
	char name[KVP_LEG_WORDS];

	if (READ_ONCE(leg->state) == KVP_LEG_OFFLINE)
		return 0;
	if (kvp_pool_readonly(pool))
		return -EROFS;
	if (kvp_leg_in_sync(leg))
		ask_mates(leg);
	if (!take_out(leg, KVP_LEG_OFFLINE) && !keep_out(leg))
		return leg->bdev ? -EBUSY : -ENODEV;
	kvp_event(pool, "leg_offline leg=%u%s", leg->index, kvp_leg_words(leg, name));
	return kvp_members_settle(pool);
}

static void leg_slow(struct kvp_leg *leg, const char *by, u64 p99, u64 others)
{
	char name[KVP_LEG_WORDS];

	if (by)
		kvp_event(leg->pool, "leg_slow leg=%u by=%s p99_us=%llu others_us=%llu%s",
			  leg->index, by, div_u64(p99, NSEC_PER_USEC),
			  div_u64(others, NSEC_PER_USEC), kvp_leg_words(leg, name));
	else
		kvp_event(leg->pool, "leg_not_slow leg=%u%s", leg->index,
			  kvp_leg_words(leg, name));
}

const struct kvp_leg_client kvp_members_hear = {
	.fail = leg_fail,
	.flush_failed = leg_flush_failed,
	.slow = leg_slow,
};
