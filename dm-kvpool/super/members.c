// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writing superblocks, and the loss of legs.
 *
 * A leg that did not take a required write is marked at once, so that it is not read any more. Then
 * kvp_members_work() records its state, under a new epoch, on all legs that are left. Until that is
 * durable no FLUSH and no FUA is acknowledged (R16).
 *
 * A leg of a parity1 may leave while whole stripes are on their way home under intents (R7). Such a
 * stripe is half home for a moment, and what the leg had of it could not be made then. So the loss
 * is not recorded before these writes have ended and were flushed (settle_stripes()). No others
 * begin meanwhile (kvp_vdev_begin_stripes()). Until it is recorded, a start takes the leg for one
 * in sync, and has all that the leg had.
 */
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/time64.h>

#include "core/core.h"
#include "core/vdev_ops.h"
#include "format/heartbeat.h"
#include "format/outs.h"
#include "format/sbring.h"
#include "io/flight.h"
#include "io/io.h"
#include "io/mirror.h"
#include "super/events.h"
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

/* --- writing superblocks ---------------------------------------------------------- */

/**
 * struct sb_write - superblocks being written
 * @group: the requests, for one wait
 * @ios: two for each leg
 * @nr: number of @ios in use
 * @sb: what is written: the pool's superblock, or @label
 * @label: for legs that join, and for slots that were left out: made from the pool's superblock,
 *	which stays as it is
 * @disk: one superblock, while it is encoded
 * @pages: of each leg those of the front ring, then those of the back ring
 */
struct sb_write {
	struct kvp_io_group group;
	struct kvp_io ios[KVP_MAX_LEGS * 2];
	u32 nr;
	struct kvp_sb *sb, label;
	struct kvp_disk_sb disk;
	struct page *pages[KVP_MAX_LEGS * 2 * KVP_SB_BLOCKS];
};

/* The shadow's label is that of the leg that it is to replace: kvp_sb_label_shadow(). */
static u32 place_of(const struct kvp_leg *leg)
{
	return kvp_leg_is_shadow(leg) ? kvp_shadowed(leg->pool)->index : leg->index;
}

static struct page **pages_of(struct sb_write *w, const struct kvp_leg *leg, u32 end)
{
	return &w->pages[(place_of(leg) * 2 + end) * KVP_SB_BLOCKS];
}

/* Encode w->sb for ring @end of @leg, through a contiguous buffer. */
static void encode_for(struct sb_write *w, struct kvp_leg *leg, u32 end)
{
	struct page **pages = pages_of(w, leg, end);
	struct kvp_sb *sb = w->sb;
	u32 at = place_of(leg), i;

	memcpy(sb->leg_uuid, sb->legs[at].uuid, sizeof(sb->leg_uuid));
	sb->leg_index = at;
	sb->self_offset = kvp_sb_slot_offset(leg->size_blocks, end, sb->sequence % KVP_SB_RING);
	kvp_sb_encode(sb, &w->disk);
	for (i = 0; i < KVP_SB_BLOCKS; i++)
		memcpy(page_address(pages[i]), (u8 *)&w->disk + i * KVP_BLOCK_SIZE,
		       KVP_BLOCK_SIZE);
}

/*
 * Write w->sb to ring @end of @leg, from a copy of the pages (copied). A device that was given up
 * may take the write much later. By then another device may have that place, and its superblock may
 * be in these pages: with it the old device would pass for the other one.
 */
static void submit_sb(struct sb_write *w, struct kvp_leg *leg, u32 end)
{
	struct kvp_io *io = &w->ios[w->nr++];

	encode_for(w, leg, end);
	io->leg = leg;
	io->op = KVP_IO_WRITE_FUA;
	io->copied = true;
	io->block = kvp_lblock(w->sb->self_offset >> KVP_BLOCK_SHIFT);
	io->nr = KVP_SB_BLOCKS;
	io->pages = pages_of(w, leg, end);
	kvp_io_group_submit(&w->group, io);
}

static void note_counters(struct kvp_pool *pool)
{
	u32 i;

	/* So every superblock has the progress of a scrub, if not to the last block. */
	pool->members_client->note(pool);
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
static int settle_stripes(struct kvp_pool *pool)
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
 * if one is left out, since it left after settle_stripes() looked, and stripes may be half home.
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
 * has the superblock before. It does not if that superblock failed on a leg that the pool needs, if
 * recoveries are cut each time they write their first superblock, or if an SSD is kept whose log
 * moves. A leg that is further behind was put back to an older state.
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
 * them alone would need no order, and lack what was done with the new leg alone.
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

/* A write that failed may be half done: note that its slot is torn, as after a power cut. */
static void note_torn(struct kvp_leg *leg, u64 sequence, bool whole)
{
	if (whole)
		leg->torn &= ~BIT(sequence % KVP_SB_RING);
	else
		leg->torn |= BIT(sequence % KVP_SB_RING);
}

/* R27: note the slots of each ring that @leg left out as it took superblock @sequence. */
static void note_gaps(struct kvp_leg *leg, u64 sequence, int front, int back)
{
	u32 gaps = kvp_sb_gaps_between(leg->has_sequence, sequence), end;

	for (end = 0; end < 2; end++) {
		leg->gaps[end] |= gaps;
		if (end ? back : front)
			leg->gaps[end] |= BIT(sequence % KVP_SB_RING);
		else
			leg->gaps[end] &= ~BIT(sequence % KVP_SB_RING);
	}
}

/* R27: note which rings of @leg took the superblock. */
static void note_missed(struct kvp_leg *leg, int front, int back)
{
	leg->missed[0] = front ? min(leg->missed[0] + 1, 255) : 0;
	leg->missed[1] = back ? min(leg->missed[1] + 1, 255) : 0;
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
 * Count the legs in sync that took the superblock. Returns 0 if a leg that the pool needs did not
 * take it. One bad sector in a ring is no reason to give up a leg: the other ring has the
 * superblock.
 */
static u32 count_taken(struct kvp_pool *pool, const struct sb_write *w)
{
	bool enough = true;
	u32 i, ok = 0;

	for (i = 0; i + 1 < w->nr; i += 2) {
		struct kvp_leg *leg = w->ios[i].leg;

		if (!kvp_leg_takes_writes(leg)) {
			leg->adopt &= w->ios[i].error || w->ios[i + 1].error;
			/* A leg that hangs must not delay every superblock. */
			leg->adopt &= w->ios[i].error != -ETIMEDOUT &&
				      w->ios[i + 1].error != -ETIMEDOUT;
			continue;
		}
		if (w->ios[i].error)
			kvp_leg_failed_write(leg);
		if (w->ios[i + 1].error)
			kvp_leg_failed_write(leg);
		note_torn(leg, pool->sb->sequence, !w->ios[i].error && !w->ios[i + 1].error);
		if (!w->ios[i].error || !w->ios[i + 1].error) {
			note_gaps(leg, pool->sb->sequence, w->ios[i].error, w->ios[i + 1].error);
			note_missed(leg, w->ios[i].error, w->ios[i + 1].error);
			leg->has_sequence = pool->sb->sequence;
			leg->taken++;
			ok += kvp_leg_in_sync(leg);
			continue;
		}
		enough &= kvp_leg_fail(leg, "a superblock write failed");
	}
	return enough ? ok : 0;
}

/*
 * R13: the newest two superblocks of a leg must not be overwritten in both rings at once. That can
 * happen if the leg lacks so many superblocks that the next one has the same slot: superblocks
 * failed on it, or starts were cut before it got theirs. If the history of a leg was given up, it
 * is unknown which superblocks it has. A leg that returns has two of its own, and the next two
 * superblocks may have their slots.
 */
static bool comes_round(const struct kvp_pool *pool, const struct kvp_leg *leg)
{
	u64 lacks = pool->sb->sequence - leg->has_sequence;
	u32 slots = lacks % KVP_SB_RING;

	if (kvp_leg_resilvers(leg))
		return leg->taken < 2;
	return !kvp_leg_takes_writes(leg) ||
	       (lacks >= KVP_SB_RING - 1 && (!slots || slots == KVP_SB_RING - 1));
}

/*
 * R27: two superblocks in a row that verify in neither ring look as if one of them had been
 * durable. So next to a torn slot, both rings must not be written at once.
 */
static bool goes_in_turn(const struct kvp_pool *pool, const struct kvp_leg *leg)
{
	return comes_round(pool, leg) || kvp_sb_beside_torn(leg->torn, pool->sb->sequence);
}

/*
 * True if the slot of the superblock has one of the newest two of @leg, and only the front ring has
 * the newest: a power cut came between the two rings, or the back ring failed it. So the front ring
 * must be written last. The two need not be neighbours: a leg that returned has one from before.
 */
static bool front_is_last(const struct kvp_pool *pool, const struct kvp_leg *leg)
{
	u32 slots = (pool->sb->sequence - leg->has_sequence) % KVP_SB_RING;

	return leg->missed[1] > leg->missed[0] &&
	       (!slots || slots == KVP_SB_RING - 1 ||
		leg->front_last & BIT(pool->sb->sequence % KVP_SB_RING));
}

static int write_ring(struct sb_write *w, struct kvp_leg *leg, u32 at, u32 end)
{
	w->nr = at + end;
	kvp_io_group_init(&w->group);
	submit_sb(w, leg, end);
	kvp_io_group_wait(&w->group);
	return w->ios[at + end].error;
}

/*
 * Write to one ring of @leg after the other. With @over the slot may be that of one of the newest
 * superblocks, and the second ring is written only if the first one took this one. After an error
 * it is unknown what the slot of the first ring holds. The second ring may then have the only copy
 * of the newest superblock, and stays as it is. If the pool can spare the leg, it is given up: it
 * has lacked superblocks for long. If not, the next attempt has the next sequence, and so another
 * slot.
 */
static void write_in_turn(struct kvp_pool *pool, struct sb_write *w, struct kvp_leg *leg, bool over)
{
	u32 at = w->nr, first = over && front_is_last(pool, leg);

	if (write_ring(w, leg, at, first) && over)
		w->ios[at + !first] = w->ios[at + first];
	else
		write_ring(w, leg, at, !first);
	w->nr = at + 2;
}

/*
 * True if @leg is written. A leg whose history was given up gets superblocks, too: otherwise the
 * next start would ask for the order again.
 */
static bool gets_superblocks(const struct kvp_leg *leg)
{
	return kvp_leg_takes_writes(leg) || (leg->bdev && leg->adopt);
}

static void begin_write(struct sb_write *w, struct kvp_sb *sb)
{
	w->sb = sb;
	w->nr = 0;
	memset(w->ios, 0, sizeof(w->ios));
}

/* Write both rings of every leg in use. Returns how many legs in sync took it; 0: too few. */
static u32 write_round(struct kvp_pool *pool)
{
	struct sb_write *w = pool->sb_write;
	u32 i;

	begin_write(w, pool->sb);
	kvp_io_group_init(&w->group);
	for (i = 0; i < pool->nr_legs; i++) {
		if (!gets_superblocks(&pool->legs[i]) || goes_in_turn(pool, &pool->legs[i]))
			continue;
		submit_sb(w, &pool->legs[i], 0);
		submit_sb(w, &pool->legs[i], 1);
	}
	kvp_io_group_wait(&w->group);
	for (i = 0; i < pool->nr_legs; i++)
		if (gets_superblocks(&pool->legs[i]) && goes_in_turn(pool, &pool->legs[i]))
			write_in_turn(pool, w, &pool->legs[i], comes_round(pool, &pool->legs[i]));
	return count_taken(pool, w);
}

/*
 * Write the superblock to ring @end of @leg under an older number. The leg may fail that. Returns
 * true if the slot has it.
 */
static bool fill_gap(struct kvp_pool *pool, struct kvp_leg *leg, u32 end, u64 sequence)
{
	struct sb_write *w = pool->sb_write;

	begin_write(w, &w->label);
	w->label = *pool->sb;
	w->label.sequence = sequence;
	/* More would be no valid superblock. */
	w->label.behind = (u32)min_t(u64, pool->sb->behind, sequence - 1);
	kvp_io_group_init(&w->group);
	submit_sb(w, leg, end);
	kvp_io_group_wait(&w->group);
	if (w->ios[0].error) {
		note_torn(leg, sequence, false);
		return false;
	}
	leg->missed[end] = min_t(u64, leg->missed[end], pool->sb->sequence - sequence);
	return true;
}

/*
 * R27: suppose that a leg left out a slot, and that later slots cannot be read one day. Then the
 * old superblock in that slot says that there is no newer one. So the leg gets this superblock in
 * each slot that it left out, under the number of that slot.
 *
 * All legs have the superblock under its own number by then. So none of these older numbers is the
 * newest of a leg. A power cut among these writes changes nothing: no request was answered by this
 * superblock yet. The slots of the next two superblocks stay as they are: they must not have one of
 * the leg's last two (R13). A slot that cannot be written is not tried again. The exception is the
 * slot of the superblock just before: it is tried once more.
 */
static void fill_gaps(struct kvp_pool *pool)
{
	u64 newest = pool->sb->sequence, s;
	u32 i, end;

	for (i = 0; i < pool->nr_legs; i++) {
		struct kvp_leg *leg = &pool->legs[i];

		for (s = newest - 1; s && s + KVP_SB_RING - 2 > newest; s--)
			for (end = 0; end < 2; end++) {
				if (!(leg->gaps[end] & BIT(s % KVP_SB_RING)) ||
				    !kvp_leg_takes_writes(leg))
					continue;
				if (fill_gap(pool, leg, end, s) || s + 1 < newest)
					leg->gaps[end] &= ~BIT(s % KVP_SB_RING);
			}
	}
}

/*
 * Bring pool->sb up to date, under the next number. Returns true if it leaves out a loss, as
 * note_losses() says.
 */
static bool bring_up_to_date(struct kvp_pool *pool)
{
	struct kvp_sb *sb = pool->sb;
	bool later;

	pool->members_client->about_to_write(pool);
	later = note_losses(pool);
	kvp_outs_note(sb);
	kvp_sb_note_resilver(sb);
	kvp_sb_note_heartbeat(sb);
	note_counters(pool);
	sb->event_seq = (u32)READ_ONCE(pool->events->next);
	sb->write_time = ktime_get_real_seconds();
	sb->sequence++;
	note_behind(pool);
	return later;
}

int kvp_sb_commit(struct kvp_pool *pool)
{
	const char *why = "no leg took the superblock";
	struct kvp_sb *sb = pool->sb;
	bool later, again, twice = false;
	int losses;
	u32 ok;

	lockdep_assert_held(&pool->sb_lock);
	do {
		bool second = twice;

		/* Read before the states, so that a loss in between causes another round. */
		losses = atomic_read_acquire(&pool->losses.seen);
		if (settle_stripes(pool)) {
			why = "a flush failed before a loss was recorded";
			ok = 0;
			break;
		}
		later = bring_up_to_date(pool);
		ok = write_round(pool);
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
	fill_gaps(pool);
	kvp_fail_ended(&pool->failure, KVP_FAIL_SUPERBLOCK);
	WRITE_ONCE(pool->durable_epoch, sb->epoch);
	if (atomic_xchg(&pool->losses.recorded, losses) != losses &&
	    test_bit(KVP_POOL_RUNNING, &pool->flags))
		pool->members_client->recorded(pool);
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

/* Begin a label that says JOINING. It has epoch 0, so any superblock of a pool is newer. */
static void begin_joining(struct kvp_pool *pool, struct sb_write *w)
{
	w->label = *pool->sb;
	w->label.epoch = 0;
	w->label.flags |= KVP_SB_JOINING;
	w->label.write_time = ktime_get_real_seconds();
	begin_write(w, &w->label);
}

/* Note the sequence of the labels for their legs. Returns 0, or the first error. */
static int end_joining(struct sb_write *w)
{
	int ret = 0;
	u32 i;

	for (i = 0; i < w->nr; i++) {
		w->ios[i].leg->has_sequence = w->label.sequence;
		ret = ret ?: w->ios[i].error;
	}
	return ret;
}

int kvp_sb_join(struct kvp_pool *pool, u32 first, u32 nr)
{
	struct sb_write *w = pool->sb_write;
	u32 i;

	lockdep_assert_held(&pool->sb_lock);
	/* The label goes to a slot that the pool's next superblocks do not use. */
	begin_joining(pool, w);
	kvp_io_group_init(&w->group);
	for (i = first; i < first + nr; i++) {
		submit_sb(w, &pool->legs[i], 0);
		submit_sb(w, &pool->legs[i], 1);
	}
	kvp_io_group_wait(&w->group);
	return end_joining(w);
}

/* Let @sb describe the shadow as its leg @at: the shadow is to take that place. */
static void say_shadow(struct kvp_sb *sb, u32 at)
{
	struct kvp_leg_info *info = &sb->legs[at];

	memset(info, 0, sizeof(*info));
	memcpy(info->uuid, sb->shadow.uuid, sizeof(info->uuid));
	info->state = KVP_LEG_STALE;
	info->size_blocks = sb->shadow.size_blocks;
	info->cursor = sb->shadow.cursor;
	info->cursor_era = sb->shadow.cursor_era;
	memset(&sb->shadow, 0, sizeof(sb->shadow));
}

/* Write the shadow's label under @sequence. Its slot may be that of the newest label. */
static int write_label(struct kvp_pool *pool, u64 sequence)
{
	struct sb_write *w = pool->sb_write;

	begin_joining(pool, w);
	say_shadow(&w->label, kvp_shadowed(pool)->index);
	w->label.sequence = sequence;
	write_in_turn(pool, w, &pool->shadow, true);
	return end_joining(w);
}

int kvp_sb_label_shadow(struct kvp_pool *pool, bool last)
{
	u64 sequence = pool->sb->sequence;

	lockdep_assert_held(&pool->sb_lock);
	if (last)
		return write_label(pool, sequence - 1) ?: write_label(pool, sequence);
	return write_label(pool, pool->sb->shadow.label);
}

/* Allocates only the buffers that are missing: a pool may have got more legs. */
int kvp_sb_buffers_alloc(struct kvp_pool *pool)
{
	struct sb_write *w = pool->sb_write;
	u32 i;

	if (!w)
		w = pool->sb_write = kvzalloc(sizeof(*w), GFP_KERNEL);
	if (!w)
		return -ENOMEM;
	for (i = 0; i < pool->nr_legs * 2 * KVP_SB_BLOCKS; i++) {
		if (!w->pages[i])
			w->pages[i] = alloc_page(GFP_KERNEL);
		if (!w->pages[i])
			return -ENOMEM;
	}
	return 0;
}

void kvp_sb_buffers_free(struct kvp_pool *pool)
{
	struct sb_write *w = pool->sb_write;
	u32 i;

	for (i = 0; w && i < ARRAY_SIZE(w->pages); i++)
		if (w->pages[i])
			__free_page(w->pages[i]);
	kvfree(w);
	pool->sb_write = NULL;
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
	pool->members_client->faulted(pool);
	kvp_pool_space(pool);
}

/* --- losing legs -------------------------------------------------------------------- */

/*
 * Stop writing to the shadow. If the leg that it is to replace is given up, too, this must come
 * first: code that sees that leg out, and so does not write to it, must not find the shadow in use,
 * nor note a cursor for it.
 */
static void __leave_shadow(struct kvp_pool *pool, u32 state)
{
	lockdep_assert_held(&pool->members_lock);
	WRITE_ONCE(pool->shadow.left_at, jiffies | 1);
	WRITE_ONCE(pool->shadow_ready, false);
	WRITE_ONCE(pool->shadow.state, state);
	smp_wmb();	/* before the state of that leg */
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
		__leave_shadow(pool, KVP_LEG_STALE);
	WRITE_ONCE(leg->left_at, jiffies | 1);
	WRITE_ONCE(leg->state, state);
	/* Count again: a superblock may have been written in between. */
	atomic_inc_return_release(&pool->losses.seen);
}

/*
 * True if the vdev of @leg, which is in sync, can do without it. Another leg whose join may not
 * count is no reason to do without this one (R16): kvp_leg.joins.
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
			__leave_shadow(pool, state);
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

static void leg_lost(struct kvp_leg *leg, const char *why)
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

static bool leg_fail(struct kvp_leg *leg, const char *why)
{
	if (!take_out(leg, KVP_LEG_FAULTED))
		/* Another task may have given up the leg before. */
		return READ_ONCE(leg->state) != KVP_LEG_IN_SYNC;
	leg_lost(leg, why);
	return true;
}

static bool leg_flush_failed(struct kvp_leg *leg)
{
	struct kvp_pool *pool = leg->pool;

	if (kvp_leg_fail(leg, "a flush failed"))
		return true;
	/*
	 * The flush was never issued, for lack of memory. Nothing has changed on the leg, and a
	 * later flush can make the writes durable.
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

/* --- legs that return ---------------------------------------------------------------- */

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
	__leave_shadow(pool, state);
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
	leg_lost(&pool->shadow, "its label cannot be written");
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
	spin_unlock_irqrestore(&pool->members_lock, flags);
	kvp_flights_kick(pool);
	pool->members_client->left(pool);
	for (i = 0; i < v->nr_legs; i++)
		if (taken >> i & 1)
			leg_lost(&v->legs[i], "a log write failed");
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
