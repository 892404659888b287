// SPDX-License-Identifier: GPL-2.0-only
/*
 * The newest superblocks cannot be read. They are waited for, or the pool goes back by order: R27,
 * R29.
 */
#include <string.h>

#include "lives.h"

/*
 * The newest superblocks cannot be read: the start is refused without a change. Later they can be
 * read.
 */
static bool newest_superblocks_that_cannot_be_read_are_waited_for(struct script *s)
{
	u32 all = BIT(s->legs) - 1, n;

	if (!run_life(s, live_superblocks))
		return false;
	remember(s, s->img);
	for (n = 1; n <= 4; n++) {
		hidden(s, all, 3, own.noted[0] + 1 - n, n);
		if (!refused(s, -EIO, "newer superblock"))
			return false;
		memset(&own.unread, 0, sizeof(own.unread));
		if (!all_there_together(s))
			return false;
	}
	return has_all(s);
}

/* The other ring has them; or the other legs do. */
static bool superblocks_that_can_be_read_elsewhere_are_not(struct script *s)
{
	u32 all = BIT(s->legs) - 1, n;

	if (!run_life(s, live_superblocks))
		return false;
	remember(s, s->img);
	for (n = 1; n <= 4; n++)
		if ((hidden(s, all, 1, own.noted[0] + 1 - n, n) && !has_all(s)) ||
		    (hidden(s, all, 2, own.noted[0] + 1 - n, n) && !has_all(s)) ||
		    (s->legs > 1 && hidden(s, 1, 3, own.noted[0] + 1 - n, n) && !has_all(s)))
			return false;
	/* All of a ring. */
	hidden(s, all, 2, 0, KVP_SB_RING / s->legs);
	return has_all(s);
}

/*
 * A slot in which the next superblock would be says nothing if it can be read in neither ring; one
 * behind it is of no account.
 */
static bool slot_of_the_next_superblock_counts(struct script *s)
{
	u64 next;

	if (!run_life(s, live_superblocks))
		return false;
	remember(s, s->img);
	next = own.noted[0] + 1;
	if ((hidden(s, 1, 1, next, 1) && !has_all(s)) || (hidden(s, 1, 2, next, 1) &&
							  !has_all(s)) ||
	    (hidden(s, 1, 3, next + 1, 8) && !has_all(s)))
		return false;
	hidden(s, 1, 3, next, 1);
	/*
	 * the others are one too few to have gone on alone: their later writes were not
	 * acknowledged
	 */
	if (own.base->parity || own.base->second)
		return has_all(s);
	if (!refused(s, -EIO, "does not answer"))
		return false;
	s->start.degraded = true;
	if (s->legs == 1)
		return refused(s, -EIO, "cannot do without it") &&
		       strstr(s->host.refusal.mend, "--accept-fork");
	if (!starts(s))
		return false;
	s->start.degraded = false;
	memset(&own.unread, 0, sizeof(own.unread));
	return run_life(s, live_look_for_state) && all_there(s, 1);
}

static void live_note_superblock(struct script *s)
{
	const struct kvp_sb *sb = s->host.pool->sb;
	u32 i;

	for (i = 0; i < s->legs; i++)
		if (!kvp_leg_in_sync(host_leg(&s->host, i)))
			sim_fail("leg %u is not in use", i);
	note(s, sb->sequence);
	note(s, sb->epoch);
	host_write(&s->host, 300, 1, true);
}

static void live_after_going_back(struct script *s)
{
	const struct kvp_sb *sb = s->host.pool->sb;

	if (sb->sequence <= own.noted[1] || sb->epoch <= own.noted[2])
		sim_fail("superblock %llu of epoch %llu, after %llu of epoch %llu", sb->sequence,
			 sb->epoch,
			 own.noted[1], own.noted[2]);
	host_read_check(&s->host, 300);
	host_stop(&s->host);
}

/*
 * The newest superblocks will never be readable again, on all legs: by order the pool goes back to
 * the newest that can be read. If those are readable after all, later, they do not count, and all
 * that was acknowledged since is there.
 */
static bool pool_goes_back_by_order(struct script *s)
{
	u32 all = BIT(s->legs) - 1, n;

	if (!run_life(s, live_superblocks))
		return false;
	remember(s, s->img);
	for (n = 1; n <= 3; n++) {
		own.nr_noted = 1;
		hidden(s, all, 3, own.noted[0] + 1 - n, n);
		s->start.degraded = true;
		if (!refused(s, -EIO, "cannot do without it"))
			return false;
		s->start.accept_fork = own.goes_back = true;
		if (!run_life(s, live_note_superblock))
			return false;
		own.goes_back = false;
		s->start.degraded = false;
		s->start.accept_fork = false;
		memset(&own.unread, 0, sizeof(own.unread));
		/*
		 * Of the same activation: the log has all data. But pages of the table may be those
		 * of later superblocks.
		 */
		own.may_lose = n > 1;
		if (!all_there_together(s) || !run_life(s, live_after_going_back))
			return false;
	}
	return true;
}

/*
 * A newer module has written the newest superblocks, with a feature that this one does not know.
 * The reason says so, and no order goes back before them.
 */
static bool newest_superblocks_of_a_newer_module_are_kept(struct script *s)
{
	u32 n, i;

	if (!run_life(s, live_superblocks))
		return false;
	remember(s, s->img);
	for (n = 1; n <= 3; n++) {
		recall(s);
		for (i = 0; i < s->legs * n; i++)
			life_newer_module(&s->img[i % s->legs], own.noted[0] - i / s->legs,
					  own.noted[0] - i / s->legs);
		s->start.degraded = s->start.accept_fork = false;
		if (!refused(s, -EOPNOTSUPP, "a newer module wrote"))
			return false;
		s->start.degraded = true;
		if (!refused(s, -EOPNOTSUPP, "a newer module wrote"))
			return false;
		s->start.accept_fork = true;
		if (!refused(s, -EOPNOTSUPP, "a newer module wrote"))
			return false;
	}
	s->start.degraded = s->start.accept_fork = false;
	for (i = 0; i < s->legs * KVP_SB_RING; i++)
		life_newer_module(&s->img[i % s->legs], own.noted[0] + i / s->legs,
				  own.noted[0] + i / s->legs);
	if (!refused(s, -EOPNOTSUPP, "a newer module wrote its label"))
		return false;
	recall(s);
	return has_all(s);
}

/*
 * One leg was out as the newer module began. No order starts the pool without that module's leg,
 * though the other legs may suffice: they have the state before.
 */
static bool leg_of_a_newer_module_is_not_left_out(struct script *s)
{
	u32 i;

	if (!run_life(s, live_superblocks))
		return false;
	remember(s, s->img);
	for (i = 0; i < s->legs; i++) {
		recall(s);
		life_newer_module(&s->img[i], own.noted[0], own.noted[0] + 1);
		if (!refused(s, -EOPNOTSUPP, "a newer module wrote"))
			return false;
		s->start.degraded = true;
		if (!refused(s, -EOPNOTSUPP, "a newer module wrote") ||
		    strstr(s->host.refusal.mend, "degraded"))
			return false;
		s->start.accept_fork = true;
		if (!refused(s, -EOPNOTSUPP, "a newer module wrote"))
			return false;
		s->start.degraded = s->start.accept_fork = false;
	}
	recall(s);
	return has_all(s);
}

/*
 * And the slot of one ring cannot be written over: the first superblock that follows has that slot,
 * and the other ring takes it. None of the last two is there, so both rings are tried.
 */
static bool pool_goes_back_over_a_bad_slot(struct script *s)
{
	u32 all = BIT(s->legs) - 1, ring;

	if (!run_life(s, live_superblocks))
		return false;
	remember(s, s->img);
	for (ring = 0; ring < 2; ring++) {
		own.nr_noted = 1;
		hidden(s, all, 3, own.noted[0], 1);
		own.unread.unwritable = BIT(ring);
		s->start.degraded = s->start.accept_fork = own.goes_back = true;
		if (!run_life(s, live_note_superblock))
			return false;
		s->start.degraded = s->start.accept_fork = own.goes_back = false;
		memset(&own.unread, 0, sizeof(own.unread));
		if (!all_there_together(s) || !run_life(s, live_after_going_back))
			return false;
	}
	return true;
}

/*
 * Superblocks that all legs but the first fail: they count for nothing, and are tried again under
 * the next number.
 */
static void live_superblocks_of_leg_0(struct script *s)
{
	u64 last = disks.img[0].blocks - 1;
	u32 i;

	live_one_flush(s);
	note(s, s->host.pool->sb->sequence);
	s->host.may_fail = true;
	for (i = 1; i < s->legs; i++) {
		disks_fault(FAULT_WRITE_EIO, i, 0, KVP_LABEL_BLOCKS - 1);
		disks_fault(FAULT_WRITE_EIO, i, last - KVP_LABEL_BLOCKS + 1, last);
	}
	for (i = 0; i < 3; i++)
		if (!kvp_pool_mark(s->host.pool, 0, 0))
			sim_fail("a superblock that one leg has counts: the case was not set up");
}

static void live_beside_unreadable(struct script *s)
{
	if (s->host.pool->recovery.went_back)
		sim_fail("the pool says that it went back, and nothing was lost");
	live_note_superblock(s);
}

/*
 * These cannot be read at the next start. The leg is in use all the same, since nothing depended on
 * them. When they can be read again they do not count: other data was acknowledged at their place
 * meanwhile.
 */
static bool leg_in_doubt_is_passed_by(struct script *s)
{
	u64 last;

	if (!run_life(s, live_superblocks_of_leg_0))
		return false;
	/* A worker may have tried one more. */
	last = newest_sequence(&s->img[0]);
	if (!expect(last >= own.noted[0] + 3 && newest_sequence(&s->img[1]) == own.noted[0],
		    "legs have superblocks %llu and %llu: the case was not set up\n",
		    last, newest_sequence(&s->img[1])))
		return false;
	own.unread = (struct unread){ .legs = BIT(0), .rings = 3, .first = own.noted[0] + 1,
				     .count = last - own.noted[0] };
	own.goes_back = true;
	if (!run_life(s, live_beside_unreadable))
		return false;
	own.goes_back = false;
	memset(&own.unread, 0, sizeof(own.unread));
	return all_there_together(s) && run_life(s, live_after_going_back);
}

static bool superblocks_are_asked_for_again(struct script *s)
{
	u32 all = BIT(s->legs) - 1;

	if (!run_life(s, live_superblocks))
		return false;
	remember(s, s->img);
	hidden(s, all, 3, own.noted[0], 1);
	own.unread.times = 3;
	return has_all(s);
}

/* Two that do not verify in either ring: one of them was durable. */
static bool rotten_superblocks_are_not_absent(struct script *s)
{
	u32 leg, ring, n;

	if (!run_life(s, live_superblocks))
		return false;
	for (n = 0; n < 2; n++)
		for (leg = 0; leg < s->legs; leg++)
			for (ring = 0; ring < 2; ring++) {
				u64 at = kvp_sb_slot_offset(s->img[leg].blocks, ring,
							    (own.noted[0] - n) % KVP_SB_RING);

				damage(&s->img[leg], at >> KVP_BLOCK_SHIFT, DAMAGE_BIT);
			}
	return refused(s, -EIO, "superblock");
}

/* --- the cases -------------------------------------------------------------------------------- */

void run_lives_unread(void)
{
	ON_LEGS(newest_superblocks_that_cannot_be_read_are_waited_for, 1);
	ON_LEGS(newest_superblocks_that_cannot_be_read_are_waited_for, 2);
	ON_TWO_VDEVS(newest_superblocks_that_cannot_be_read_are_waited_for);
	ON_PARITY(newest_superblocks_that_cannot_be_read_are_waited_for);
	ON_CACHE(newest_superblocks_that_cannot_be_read_are_waited_for);
	ON_LEGS(superblocks_that_can_be_read_elsewhere_are_not, 1);
	ON_LEGS(superblocks_that_can_be_read_elsewhere_are_not, 2);
	ON_TWO_VDEVS(superblocks_that_can_be_read_elsewhere_are_not);
	ON_PARITY(superblocks_that_can_be_read_elsewhere_are_not);
	ON_CACHE(superblocks_that_can_be_read_elsewhere_are_not);
	ON_LEGS(slot_of_the_next_superblock_counts, 1);
	ON_LEGS(slot_of_the_next_superblock_counts, 2);
	ON_TWO_VDEVS(slot_of_the_next_superblock_counts);
	ON_PARITY(slot_of_the_next_superblock_counts);
	ON_LEGS(pool_goes_back_by_order, 1);
	ON_LEGS(pool_goes_back_by_order, 2);
	ON_PARITY(pool_goes_back_by_order);
	ON_LEGS(newest_superblocks_of_a_newer_module_are_kept, 1);
	ON_LEGS(newest_superblocks_of_a_newer_module_are_kept, 2);
	ON_PARITY(newest_superblocks_of_a_newer_module_are_kept);
	ON_CACHE(newest_superblocks_of_a_newer_module_are_kept);
	ON_LEGS(leg_of_a_newer_module_is_not_left_out, 2);
	ON_TWO_VDEVS(leg_of_a_newer_module_is_not_left_out);
	ON_PARITY(leg_of_a_newer_module_is_not_left_out);
	ON_CACHE(leg_of_a_newer_module_is_not_left_out);
	ON_LEGS(pool_goes_back_over_a_bad_slot, 1);
	ON_LEGS(pool_goes_back_over_a_bad_slot, 2);
	ON_TWO_VDEVS(leg_in_doubt_is_passed_by);
	ON_PARITY(leg_in_doubt_is_passed_by);
	ON_LEGS(superblocks_are_asked_for_again, 1);
	ON_LEGS(superblocks_are_asked_for_again, 2);
	ON_LEGS(rotten_superblocks_are_not_absent, 1);
	ON_LEGS(rotten_superblocks_are_not_absent, 2);
}
