// SPDX-License-Identifier: GPL-2.0-only
/*
 * When a superblock counts, and what it records: losses, joins, counters, how far behind a leg may
 * be. If it does not count, the pool is faulted, and goes on only after a newer one is durable.
 *
 * A leg of a parity1 may leave while whole stripes are on their way home under intents (R7). Such a
 * stripe is half home for a moment, and what the leg had of it could not be made then. So the loss
 * is not recorded before these writes have ended and were flushed (end_stripes()). No others
 * begin meanwhile (kvp_vdev_begin_stripes()). Until it is recorded, a start takes the leg for one
 * in sync, and has all that the leg had.
 */
#include <linux/time64.h>

#include "core/core.h"
#include "format/heartbeat.h"
#include "format/outs.h"
#include "format/sbring.h"
#include "io/flight.h"
#include "io/mirror.h"
#include "super/events.h"
#include "super/commit.h"
#include "super/members.h"
#include "super/sb_write.h"

static void note_counters(struct kvp_pool *pool)
{
	u32 i;

	/* So every superblock has the progress of a scrub or a trim, if not to the last block. */
	pool->sb_client->note(pool);
	for (i = 0; i < pool->nr_legs; i++) {
		struct kvp_leg_info *info = &pool->sb->legs[i];
		struct kvp_leg *leg = &pool->legs[i];

		info->err_read = atomic64_read(&leg->err_read);
		info->err_write = atomic64_read(&leg->err_write);
		info->err_checksum = atomic64_read(&leg->err_checksum);
		info->healed = atomic64_read(&leg->healed);
	}
}

/*
 * While the log moves off a cache, only its SSDs have all that was acknowledged. SSDs that have all
 * of it are not recorded out before the superblock that names the new log: if the power goes first,
 * the next start may find them again. SSDs that were lost earlier lack later entries. They are
 * recorded out at once, or they would pass for a log that ends there (R1).
 */
static bool still_needed(const struct kvp_pool *pool, const struct kvp_leg *leg)
{
	return READ_ONCE(pool->vdevs.log_moving) && READ_ONCE(leg->keeps_log) &&
	       leg->v->index == pool->sb->log_vdev;
}

/*
 * A leg that was in sync is lost: note the era of the last durable superblock that had it in use.
 * This superblock may name a new era and fail, so its era is not taken. Changes that come later may
 * have the noted era, since an era lasts a second. A leg that was lost while it resilvered keeps
 * its eras and its cursor (R17).
 */
static void note_era(struct kvp_leg_info *info, const struct kvp_leg *leg)
{
	info->in_sync_era = leg->has_era ? leg->has_era - 1 : 0;
	info->cursor = 0;
	info->cursor_era = 0;
}

static bool lacks_a_leg(const struct kvp_vdev *v)
{
	return kvp_vdev_usable(v) < v->nr_legs;
}

/*
 * R7: of each vdev that lacks a leg, wait until stripes under intents are home, and flush them.
 * The worker that writes such stripes holds range locks, and waits for legs alone, as this caller
 * does.
 * Returns 0 or the error of the flush.
 */
static int end_stripes(struct kvp_pool *pool)
{
	unsigned long which = 0;
	int ret = 0;
	u32 i;

	for (i = 0; i < pool->vdevs.nr; i++) {
		struct kvp_vdev *v = &pool->vdevs.v[i];

		if (!lacks_a_leg(v) || !kvp_vdev_half_home(v))
			continue;
		wait_event_idle(pool->stripes_wait, !atomic_read(&v->homing));
		which |= BIT(i);
	}
	if (which)
		ret = kvp_legs_flush(pool);
	for (i = 0; !ret && i < pool->vdevs.nr; i++)
		if (which & BIT(i))
			WRITE_ONCE(pool->vdevs.v[i].unflushed, false);
	return ret;
}

/*
 * Record out the legs that were given up since the last superblock, under a new epoch. Returns true
 * if one is left out, since it left after end_stripes() looked, and stripes may be half home.
 * Another superblock must record it.
 */
static bool note_losses(struct kvp_pool *pool)
{
	struct kvp_sb *sb = pool->sb;
	bool lost = false, later = false;
	u32 i;

	for (i = 0; i < pool->nr_legs; i++) {
		u32 state = READ_ONCE(pool->legs[i].state);

		/* The superblock calls it in sync, and the leg is not yet. */
		if (state == KVP_LEG_RESILVERING && pool->legs[i].joins)
			continue;
		smp_rmb();	/* state, then keeps_log; pairs with the one in __take_out() */
		if (sb->legs[i].state == state || still_needed(pool, &pool->legs[i]))
			continue;
		if (kvp_vdev_half_home(pool->legs[i].v)) {
			later = true;
			continue;
		}
		if (sb->legs[i].state == KVP_LEG_IN_SYNC) {
			note_era(&sb->legs[i], &pool->legs[i]);
			sb->legs[i].out = KVP_OUT_CALLED;
		}
		sb->legs[i].state = state;
		lost = true;
	}
	if (lost)
		WRITE_ONCE(sb->epoch, sb->epoch + 1);
	return later;
}

/*
 * R29: note how far behind a leg may be that the next superblock calls in sync. Normally each leg
 * has the superblock before. There are three exceptions. That superblock failed on a leg that the
 * pool needs; recoveries are cut each time they write their first superblock; or an SSD is kept
 * while its log moves. A leg that is further behind was put back to an older state.
 */
static void note_behind(struct kvp_pool *pool)
{
	struct kvp_sb *sb = pool->sb;
	u64 oldest = sb->sequence - 1;
	u32 i;

	for (i = 0; i < pool->nr_legs; i++)
		if (sb->legs[i].state == KVP_LEG_IN_SYNC)
			oldest = min(oldest, pool->legs[i].has_sequence);
	sb->behind = (u32)min_t(u64, sb->sequence - 1 - oldest, U32_MAX - 1);
	sb->behind_known = true;
}

/*
 * The superblock counts: legs that it calls in sync for the first time are sources from now on, and
 * not before (R16). Suppose that they were sources at once, and that all older sources fail this
 * superblock. The labels of these say that they can do without the new leg. So a later start from
 * them alone would need no order, and would lack what the pool did with the new leg alone.
 */
static void end_joins(struct kvp_pool *pool)
{
	unsigned long flags;
	u32 i;

	spin_lock_irqsave(&pool->members_lock, flags);
	for (i = 0; i < pool->nr_legs; i++) {
		struct kvp_leg *leg = &pool->legs[i];

		if (leg->joins && kvp_leg_resilvers(leg))
			WRITE_ONCE(leg->state, KVP_LEG_IN_SYNC);
		leg->joins = false;
	}
	spin_unlock_irqrestore(&pool->members_lock, flags);
}

/* The superblock counts: note its era for each leg in use. */
static void note_eras(struct kvp_pool *pool)
{
	u32 i;

	for (i = 0; i < pool->nr_legs; i++)
		if (kvp_leg_in_sync(&pool->legs[i]))
			pool->legs[i].has_era = pool->sb->era;
}

/*
 * R27: true if a leg in use has the superblock in one ring alone, and the other ring has the one
 * before, or one more before that. Should that slot become unreadable, the other ring would say
 * that the superblock is not there. A ring that missed more says nothing.
 */
static bool is_in_one_ring(const struct kvp_pool *pool)
{
	u32 i, end;

	for (i = 0; i < pool->nr_legs; i++)
		for (end = 0; end < 2; end++)
			if (kvp_leg_in_sync(&pool->legs[i]) && pool->legs[i].missed[end] &&
			    pool->legs[i].missed[end] <= 2)
				return true;
	return false;
}

/*
 * Bring pool->sb up to date, under the next number. Returns true if it leaves out a loss, as
 * note_losses() says.
 */
static bool bring_up_to_date(struct kvp_pool *pool)
{
	struct kvp_sb *sb = pool->sb;
	bool later;

	pool->sb_client->about_to_write(pool);
	later = note_losses(pool);
	kvp_outs_note(sb);
	kvp_sb_note_resilver(sb);
	kvp_sb_note_heartbeat(sb);
	note_counters(pool);
	sb->event_seq = (u32)kvp_events_next(pool->events);
	sb->write_time = ktime_get_real_seconds();
	sb->sequence++;
	note_behind(pool);
	return later;
}

void kvp_sb_publish(struct kvp_pool *pool)
{
	write_seqcount_begin(&pool->published_seq);
	*pool->published = *pool->sb;
	write_seqcount_end(&pool->published_seq);
}

void kvp_sb_published(struct kvp_pool *pool, struct kvp_sb *copy)
{
	unsigned int seq;

	do {
		seq = read_seqcount_begin(&pool->published_seq);
		*copy = *pool->published;
	} while (read_seqcount_retry(&pool->published_seq, seq));
}

int kvp_sb_commit(struct kvp_pool *pool)
{
	const char *why = "no leg took the superblock";
	struct kvp_sb *sb = pool->sb;
	bool later, again, twice = false;
	int losses;
	u32 ok;

	lockdep_assert_held(&pool->sb_lock);
	if (WARN_ON_ONCE(kvp_pool_readonly(pool)))
		return -EROFS;
	do {
		bool second = twice;

		/* Read before the states, so that a loss in between causes another round. */
		losses = atomic_read_acquire(&pool->losses.seen);
		if (end_stripes(pool)) {
			why = "a flush failed before a loss was recorded";
			ok = 0;
			break;
		}
		later = bring_up_to_date(pool);
		ok = kvp_sb_write_round(pool);
		if (ok) {
			end_joins(pool);
			note_eras(pool);
		}
		/* R16: a loss is recorded when the legs know that a superblock with it counts. */
		again = ok && kvp_outs_counted(sb);
		/* R27: once two superblocks say the same, one of them may be lost. */
		twice = ok && !again && !later && !second && is_in_one_ring(pool);
	} while (ok && (again || twice || later || losses != atomic_read(&pool->losses.seen)));
	if (!ok) {
		kvp_fail(&pool->failure, KVP_FAIL_SUPERBLOCK, why);
		kvp_fail(&pool->failure, KVP_FAIL_LEGS, why);
		return -EIO;
	}
	kvp_sb_fill_gaps(pool);
	kvp_sb_publish(pool);
	kvp_fail_ended(&pool->failure, KVP_FAIL_SUPERBLOCK);
	WRITE_ONCE(pool->durable_epoch, sb->epoch);
	if (atomic_xchg(&pool->losses.recorded, losses) != losses &&
	    test_bit(KVP_POOL_RUNNING, &pool->flags))
		pool->sb_client->recorded(pool);
	return 0;
}

int kvp_sb_roll_forward(struct kvp_pool *pool)
{
	struct kvp_sb *sb = pool->sb;

	lockdep_assert_held(&pool->sb_lock);
	if (pool->recovery.next_unread) {
		WRITE_ONCE(sb->epoch, sb->epoch + 2 * KVP_SB_RING);
		sb->sequence += KVP_SB_RING + 1;
	}
	pool->recovery.next_unread = false;
	/* A leg that was passed by gets this superblock, too. It must be the newest one there. */
	if (pool->recovery.passed_epoch >= sb->epoch)
		WRITE_ONCE(sb->epoch, pool->recovery.passed_epoch + 1);
	pool->recovery.passed_epoch = 0;
	return kvp_sb_commit(pool);
}

void kvp_sb_note(struct kvp_pool *pool)
{
	int ret = kvp_sb_commit(pool);

	WARN_ON_ONCE(ret && !kvp_failed_by(&pool->failure, KVP_FAIL_SUPERBLOCK));
}

/*
 * A superblock that failed may be on some leg anyway, and say that the log is empty, or begins
 * elsewhere. If a request were answered and the power went before a newer superblock is durable,
 * the next start would not look for the blocks of that request. So the superblock comes first.
 */
int kvp_unfault(struct kvp_pool *pool, bool anew)
{
	int ret = 0;

	lockdep_assert_held(&pool->sb_lock);
	if (anew || kvp_failed_by(&pool->failure, KVP_FAIL_SUPERBLOCK))
		ret = kvp_sb_commit(pool);
	if (!ret)
		kvp_fail_ended(&pool->failure, KVP_FAIL_LEGS);
	return ret;
}

void kvp_sb_undone(struct kvp_pool *pool)
{
	int ret = kvp_unfault(pool, true);

	WARN_ON_ONCE(ret && !kvp_failed_by(&pool->failure, KVP_FAIL_SUPERBLOCK));
}

void kvp_members_faulted(struct kvp_failure *f, const char *why)
{
	struct kvp_pool *pool = container_of(f, struct kvp_pool, failure);

	kvp_event(pool, "suspended why=%s", why);
	pool->sb_client->faulted(pool);
	kvp_pool_space(pool);
}
