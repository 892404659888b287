// SPDX-License-Identifier: GPL-2.0-only
/*
 * A superblock that was cut, failed, or did not come to a leg, and what its slot shows later: R27.
 */
#include <string.h>

#include "lives.h"
#include "super/members.h"

/* --- superblocks that are torn ---------------------------------------------------------------- */

/* Half of what this write of a superblock had came to @leg. */
static void tear(struct script *s, u32 leg, const struct trace_request *r)
{
	u32 b;

	for (b = 0; b < KVP_SB_BLOCKS; b++)
		image_write(&s->img[leg], r->block + b, r->data[b], ALL_SECTORS);
	damage(&s->img[leg], r->block, DAMAGE_BIT);
}

/* Tear the superblocks of @leg whose writes have failed, or have not ended; returns how many. */
static u32 tear_superblocks(struct script *s, u32 leg)
{
	const struct trace *t = &disks.trace;
	u32 i, torn = 0;

	for (i = 0; i < t->nr_requests; i++) {
		const struct trace_request *r = &t->requests[i];

		if (r->disk != leg || r->nr != KVP_SB_BLOCKS || r->op == KVP_IO_READ ||
		    (r->ended && !r->error))
			continue;
		tear(s, leg, r);
		torn++;
	}
	return torn;
}

/* The superblock that the next start writes is cut on leg 1: what is on its way there is torn. */
static bool tear_first_superblock(struct script *s)
{
	own.stalled = BIT(1);
	if (!run_life(s, NULL))
		return false;
	own.stalled = 0;
	return expect(tear_superblocks(s, 1),
		      "no superblock was on its way: the case was not set up\n");
}

/* Two starts are cut. None of their superblocks was durable, so leg 1 may be alone afterwards. */
static bool superblocks_that_are_cut_in_a_row_were_not_durable(struct script *s)
{
	return run_life(s, live_superblocks) && tear_first_superblock(s) &&
	       tear_first_superblock(s) && tear_first_superblock(s) && all_there(s, 0) &&
	       starts(s) && all_there(s, 0);
}

/* Until the next one has the slot of the one that was cut. */
static void live_most_of_a_round(struct script *s)
{
	struct host *h = &s->host;

	while (h->pool->sb->sequence + 1 < own.noted[1] + KVP_SB_RING - 1) {
		host_write(h, 10, 2, false);
		host_flush(h);
		host_checkpoint(h);
	}
	if (h->pool->sb->sequence + 1 != own.noted[1] + KVP_SB_RING - 1)
		sim_fail("the next superblock is not the one before: the case was not set up");
}

/* One was cut, and a round later the one that comes before its slot is cut. */
static bool superblocks_that_are_cut_a_round_apart_were_not_durable(struct script *s)
{
	if (!run_life(s, live_superblocks) || !tear_first_superblock(s))
		return false;
	note(s, newest_sequence(&s->img[0]));
	return run_life(s, live_most_of_a_round) && tear_first_superblock(s) && all_there(s, 0) &&
	       starts(s) && all_there(s, 0);
}

/* The only leg fails a superblock in both rings. The next one is on its way when the power goes. */
static void live_superblock_behind_one_that_failed(struct script *s)
{
	struct kvp_pool *pool = s->host.pool;
	u64 last = disks.img[0].blocks - 1;

	live_superblocks(s);
	s->host.may_fail = true;
	mutex_lock(&pool->sb_lock);
	disks_fault(FAULT_WRITE_EIO, 0, 0, KVP_LABEL_BLOCKS - 1);
	disks_fault(FAULT_WRITE_EIO, 0, last - KVP_LABEL_BLOCKS + 1, last);
	if (!kvp_sb_commit(pool))
		sim_fail("a superblock that no leg has counts: the case was not set up");
	disks.nr_faults = 0;
	hold_labels(0);
	mutex_unlock(&pool->sb_lock);
	sim_spawn("superblock", superblock_task, s);
	host_sleep(500);
}

/* A write that fails may be torn, like one that is cut. None of the two superblocks was durable. */
static bool superblocks_that_fail_and_are_cut_were_not_durable(struct script *s)
{
	u32 torn;

	if (!run_life(s, live_superblock_behind_one_that_failed))
		return false;
	torn = tear_superblocks(s, 0);
	return expect(torn > 2, "%u slots are torn: the case was not set up\n", torn) &&
	       all_there(s, 0) && starts(s) && all_there(s, 0);
}

/* --- slots that a leg left out ---------------------------------------------------------------- */

static void live_checkpoints(struct script *s, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		host_write(&s->host, 10 + 30 * (i % 6), 20, false);
		host_flush(&s->host);
		host_checkpoint(&s->host);
	}
	live_one_flush(s);
}

static void live_after_a_cut_start(struct script *s)
{
	live_checkpoints(s, 1);
}

/* The next superblock fails in @rings of leg 0, bit each. */
static void live_failed_superblock(struct script *s, u32 rings)
{
	struct host *h = &s->host;
	bool counts = rings != 3;
	u32 end;

	live_one_flush(s);
	note(s, h->pool->sb->sequence + 1);
	for (end = 0; end < 2; end++) {
		u64 at = slot_block(&disks.img[0], end, own.noted[0]);

		if (rings >> end & 1)
			disks_fault(FAULT_WRITE_EIO, 0, at, at + KVP_SB_BLOCKS - 1);
	}
	h->may_fail = true;
	/* One that a ring failed is followed by another one at once. */
	if (!host_checkpoint(h) != counts || h->pool->sb->sequence != own.noted[0] + counts)
		sim_fail("superblock %llu %s: the case was not set up", h->pool->sb->sequence,
			 counts ? "failed" : "did not fail");
	h->may_fail = false;
	disks.nr_faults = 0;
	kvp_pool_clear(h->pool, -1);
	live_checkpoints(s, 2);
}

static void live_one_that_failed(struct script *s)
{
	live_failed_superblock(s, 3);
}

static void live_one_that_failed_in_front(struct script *s)
{
	live_failed_superblock(s, 1);
}

static void live_one_that_failed_at_the_back(struct script *s)
{
	live_failed_superblock(s, 2);
}

/*
 * On @legs all from @first on cannot be read in both rings. They are not missed because of what the
 * slot of the one before shows.
 */
static bool are_waited_for(struct script *s, u32 legs, u64 first)
{
	u64 last = 0;
	u32 i;

	for (i = 0; i < s->legs; i++)
		if (legs >> i & 1)
			last = max(last, newest_sequence(&s->img[i]));
	if (!expect(last >= first && last < first + KVP_SB_RING - 3,
		    "superblocks %llu to %llu: the case was not set up\n", first, last))
		return false;
	own.unread = (struct unread){ .legs = legs, .rings = 3, .first = first,
				     .count = last - first + 1 };
	if (!refused(s, -EIO, "newer superblock"))
		return false;
	memset(&own.unread, 0, sizeof(own.unread));
	own.bad_legs = 0;
	return true;
}

static bool superblocks_behind_one_that_failed_are_waited_for(struct script *s)
{
	return run_life(s, live_one_that_failed) && are_waited_for(s, 1, own.noted[0] + 1) &&
	       all_there_together(s);
}

/* The ring that took it cannot be read there, either. The other one shows that it is not there. */
static bool behind_one_ring(struct script *s, u32 end)
{
	own.bad_legs = 1;
	own.bad_first = slot_block(&s->img[0], end, own.noted[0]);
	own.bad_last = own.bad_first + KVP_SB_BLOCKS - 1;
	return are_waited_for(s, 1, own.noted[0] + 1) && all_there_together(s);
}

static bool superblocks_behind_one_that_failed_in_a_ring_are_waited_for(struct script *s)
{
	return run_life(s, live_one_that_failed_in_front) && behind_one_ring(s, 1);
}

static bool superblocks_behind_one_that_failed_at_the_back_are_waited_for(struct script *s)
{
	return run_life(s, live_one_that_failed_at_the_back) && behind_one_ring(s, 0);
}

/* Then a start is cut when its superblock is in the front ring alone. */
static bool superblocks_behind_one_that_was_cut_are_waited_for(struct script *s)
{
	note(s, newest_sequence(&s->img[0]) + 1);
	own.stalled = 1;
	own.stalled_rings = 2;
	own.stalled_at = own.noted[0];
	if (!run_life(s, NULL))
		return false;
	own.stalled = own.stalled_rings = 0;
	own.stalled_at = 0;
	return expect(newest_sequence(&s->img[0]) == own.noted[0], "the case was not set up\n") &&
	       run_life(s, live_after_a_cut_start) && behind_one_ring(s, 0);
}

/* A start is cut when all legs but those of @legs have its superblock. Returns its number, or 0. */
static u64 cut_start(struct script *s, u32 legs)
{
	u32 other = legs & 1;
	u64 last = newest_sequence(&s->img[other]);

	own.stalled = legs;
	if (!run_life(s, NULL))
		return 0;
	own.stalled = 0;
	return expect(newest_sequence(&s->img[other]) == last + 1, "superblock %llu is not %llu\n",
		      newest_sequence(&s->img[other]), last + 1) ? last + 1 : 0;
}

static void live_leg_0_is_lost(struct script *s)
{
	live_one_flush(s);
	disks_kill(0);
	live_checkpoints(s, 2);
}

/* Leg 1 did not get the superblock of a start that was cut. Later leg 0 is lost. */
static bool superblocks_behind_a_cut_start_are_waited_for(struct script *s)
{
	u64 cut = cut_start(s, BIT(1));

	return cut && run_life(s, live_leg_0_is_lost) && are_waited_for(s, BIT(1), cut + 1) &&
	       all_there(s, BIT(0));
}

/* The next start is cut when leg 1 has its superblock, and does not have it in that slot yet. */
static bool superblocks_behind_two_cut_starts_are_waited_for(struct script *s)
{
	u64 cut = cut_start(s, BIT(1));

	own.stalled = BIT(1);
	own.stalled_at = cut;
	if (!cut || !run_life(s, NULL))
		return false;
	own.stalled = 0;
	own.stalled_at = 0;
	return expect(newest_sequence(&s->img[1]) == cut + 1, "leg 1 has superblock %llu, not %llu\n",
		      newest_sequence(&s->img[1]), cut + 1) &&
	       run_life(s, live_leg_0_is_lost) && are_waited_for(s, BIT(1), cut + 1) &&
	       all_there(s, BIT(0));
}

static void live_leg_1_returns(struct script *s, u32 missed)
{
	struct host *h = &s->host;

	live_one_flush(s);
	host_offline(h, 1);
	live_checkpoints(s, missed);
	note(s, h->pool->sb->sequence + 1);
	if (host_online(h, 1))
		sim_fail("leg 1 does not return: %s", h->refusal.why);
	host_wait_resilver(h);
	disks_kill(0);
	live_checkpoints(s, 2);
}

static void live_leg_1_missed_few(struct script *s)
{
	live_leg_1_returns(s, 3);
}

static void live_leg_1_missed_many(struct script *s)
{
	live_leg_1_returns(s, 20);
}

/* All that it has since it returned cannot be read. The other leg calls it in sync. */
static bool superblocks_since_a_return_are_waited_for(struct script *s)
{
	return run_life(s, live_leg_1_missed_few) && are_waited_for(s, BIT(1), own.noted[0]) &&
	       all_there(s, BIT(0));
}

static bool superblocks_since_a_late_return_are_waited_for(struct script *s)
{
	return run_life(s, live_leg_1_missed_many) && are_waited_for(s, BIT(1), own.noted[0]) &&
	       all_there(s, BIT(0));
}

/*
 * Two starts were cut when leg 1 alone had their first superblock; the second one is torn in its
 * back ring. The next start is cut before leg 0 has all that it lacked. Both are in sync.
 */
static bool leg_that_gets_older_numbers_outdates_no_other(struct script *s)
{
	u64 last = newest_sequence(&s->img[1]);
	u32 i;

	for (i = 0; i < 2; i++)
		if (!cut_start(s, (BIT(s->legs) - 1) & ~BIT(1)))
			return false;
	if (!expect(newest_sequence(&s->img[1]) == last + 2 && newest_sequence(&s->img[0]) == last,
		    "superblocks %llu and %llu: the case was not set up\n",
		    newest_sequence(&s->img[0]), newest_sequence(&s->img[1])))
		return false;
	damage(&s->img[1], slot_block(&s->img[1], 1, last + 2), DAMAGE_BIT);
	own.stalled = BIT(s->legs - 1) - 1;
	own.stalled_at = last + 2;
	s->start.missing = BIT(s->legs - 1);
	if (!run_life(s, NULL))
		return false;
	s->start.missing = 0;
	own.stalled = 0;
	own.stalled_at = 0;
	return starts(s) && all_there(s, BIT(s->legs - 1));
}

static void live_torn_slot(struct script *s)
{
	if (!(host_leg(&s->host, 1)->torn & BIT(own.noted[0] % KVP_SB_RING)))
		sim_fail("slot %llu may be torn, and was not noted", own.noted[0] % KVP_SB_RING);
}

/* Leg 1 did not get the superblock of a start that was cut, and cannot get it later, either. */
static bool slot_that_cannot_be_filled_may_be_torn(struct script *s)
{
	note(s, cut_start(s, BIT(1)));
	if (!own.noted[0])
		return false;
	own.unread = (struct unread){ .legs = BIT(1), .unwritable = 3, .first = own.noted[0],
				     .count = 1 };
	if (!run_life(s, live_torn_slot))
		return false;
	memset(&own.unread, 0, sizeof(own.unread));
	return all_there(s, BIT(0));
}

static void live_look_for_bad_slots(struct script *s)
{
	if (host_leg(&s->host, 1)->unreadable)
		sim_fail("%u slots of leg 1 do not verify", host_leg(&s->host, 1)->unreadable);
}

/* A young pool: a leg lacks more superblocks than the numbers of its slots are. */
static bool slots_of_low_numbers_are_valid(struct script *s)
{
	u32 i;

	for (i = 0; i < KVP_SB_RING - 2; i++)
		if (!cut_start(s, BIT(1)))
			return false;
	return starts(s) && run_life(s, live_look_for_bad_slots) && all_there(s, 0);
}

/* The last leg of a vdev fails a superblock for good. By now the third next one has that slot. */
static void live_slot_that_fails_for_long(struct script *s)
{
	struct host *h = &s->host;
	u32 end;

	live_one_flush(s);
	host_offline(h, 1);
	note(s, h->pool->sb->sequence + 1);
	for (end = 0; end < 2; end++) {
		u64 at = slot_block(&disks.img[0], end, own.noted[0]);

		disks_fault(FAULT_WRITE_EIO, 0, at, at + KVP_SB_BLOCKS - 1);
	}
	h->may_fail = true;
	if (!host_checkpoint(h) || h->pool->sb->sequence != own.noted[0])
		sim_fail("superblock %llu counts: the case was not set up", own.noted[0]);
	h->may_fail = false;
	kvp_pool_clear(h->pool, -1);
	while (h->pool->sb->sequence < own.noted[0] + KVP_SB_RING - 3) {
		host_write(h, 10, 2, false);
		host_flush(h);
		host_checkpoint(h);
	}
	if (h->pool->sb->sequence != own.noted[0] + KVP_SB_RING - 3)
		sim_fail("superblock %llu: the case was not set up", h->pool->sb->sequence);
}

/*
 * The start writes two superblocks. The second one has a new epoch. Filled then, the slot would
 * have one of the leg's last two when the third one is written there.
 */
static bool slots_of_the_next_superblocks_are_not_filled(struct script *s)
{
	return run_life(s, live_slot_that_fails_for_long) && starts(s) && all_there(s, BIT(1));
}

/*
 * The power goes anywhere as legs get what they lack: one had two superblocks alone, one has one.
 */
static bool slots_are_filled_while_the_power_goes(struct script *s)
{
	if (!cut_start(s, (BIT(s->legs) - 1) & ~BIT(0)) ||
	    !cut_start(s, (BIT(s->legs) - 1) & ~BIT(0)) || !run_life(s, live_after_a_cut_start))
		return false;
	s->from = 0;
	return script_check_cuts(s);
}

/* --- a ring that fails ------------------------------------------------------------------------ */

/* One ring of leg 0 fails the superblock that records leg 1 out; with @all, all later ones too. */
static void live_loss_in_one_ring(struct script *s, u32 end, bool all)
{
	struct host *h = &s->host;
	u64 at;

	live_one_flush(s);
	note(s, h->pool->sb->sequence + 1);
	at = slot_block(&disks.img[0], end, own.noted[0]);
	disks_fault(FAULT_WRITE_EIO, 0, at, at + (all ? 3 : 1) * KVP_SB_BLOCKS - 1);
	if (kvp_leg_offline(h->pool, host_leg(h, 1)))
		sim_fail("leg 1 stays");
	host_write(h, 40, 7, true);
	note(s, h->pool->sb->sequence);
}

static void live_loss_that_the_front_failed(struct script *s)
{
	live_loss_in_one_ring(s, 0, false);
}

static void live_loss_that_the_back_failed(struct script *s)
{
	live_loss_in_one_ring(s, 1, false);
}

static void live_losses_that_the_front_failed(struct script *s)
{
	live_loss_in_one_ring(s, 0, true);
}

static void live_without_leg_1(struct script *s)
{
	if (kvp_leg_in_sync(host_leg(&s->host, 1)))
		sim_fail("leg 1 is a source, and lacks what was acknowledged without it");
	host_read_each(&s->host, 40, 7);
}

/*
 * A superblock is in one ring of a leg only, since the write to the other ring failed. Later its
 * slot cannot be read. But another superblock with the same contents was written at once.
 */
static bool superblock_that_a_ring_failed_is_not_alone(struct script *s)
{
	u32 end;

	remember(s, s->img);
	for (end = 0; end < 2; end++) {
		own.nr_noted = 0;
		recall(s);
		if (!run_life(s, end ? live_loss_that_the_back_failed :
				 live_loss_that_the_front_failed))
			return false;
		own.unread = (struct unread){ .legs = 1, .rings = end ? 1 : 2,
					     .first = own.noted[0], .count = 1 };
		if (!run_life(s, live_without_leg_1))
			return false;
		memset(&own.unread, 0, sizeof(own.unread));
	}
	return all_there(s, BIT(1));
}

/*
 * The same with a ring that fails them all. A loss takes two superblocks, and the third one says
 * the same as the second. That ring lacks more than one of them: it does not answer for the newest.
 */
static bool superblocks_that_a_ring_failed_say_the_same(struct script *s)
{
	if (!run_life(s, live_losses_that_the_front_failed))
		return false;
	if (!expect(own.noted[1] == own.noted[0] + 2, "%llu superblocks: the case was not set up\n",
		    own.noted[1] + 1 - own.noted[0]))
		return false;
	own.unread = (struct unread){ .legs = 1, .rings = 2, .first = own.noted[1], .count = 1 };
	if (!refused(s, -EIO, "does not answer"))
		return false;
	own.unread.first--;
	if (!run_life(s, live_without_leg_1))
		return false;
	memset(&own.unread, 0, sizeof(own.unread));
	return all_there(s, BIT(1));
}

/* Leg 1 is out. A ring of leg 0 fails the superblock that has a new setting. */
static void live_setting_in_one_ring(struct script *s)
{
	struct host *h = &s->host;
	u64 at;

	if (kvp_leg_offline(h->pool, host_leg(h, 1)))
		sim_fail("leg 1 stays");
	live_one_flush(s);
	note(s, h->pool->sb->sequence + 1);
	at = slot_block(&disks.img[0], 0, own.noted[0]);
	disks_fault(FAULT_WRITE_EIO, 0, at, at + KVP_SB_BLOCKS - 1);
	if (kvp_pool_set(h->pool, KVP_T_STRICT, 1))
		sim_fail("the tunable cannot be set");
}

static void live_with_the_setting(struct script *s)
{
	if (!s->host.pool->tunables[KVP_T_STRICT])
		sim_fail("a setting is lost that was answered");
}

/* As above, with a change that needs one superblock only. */
static bool setting_that_a_ring_failed_is_not_alone(struct script *s)
{
	if (!run_life(s, live_setting_in_one_ring))
		return false;
	own.unread = (struct unread){ .legs = 1, .rings = 2, .first = own.noted[0], .count = 1 };
	if (!run_life(s, live_with_the_setting))
		return false;
	memset(&own.unread, 0, sizeof(own.unread));
	return all_there(s, BIT(1));
}

/* --- the cases -------------------------------------------------------------------------------- */

void run_lives_slots(void)
{
	ON_LEGS(superblocks_that_are_cut_in_a_row_were_not_durable, 2);
	ON_PARITY(superblocks_that_are_cut_in_a_row_were_not_durable);
	ON_LEGS(superblocks_that_are_cut_a_round_apart_were_not_durable, 2);
	ON_PARITY(superblocks_that_are_cut_a_round_apart_were_not_durable);
	ON_LEGS(superblocks_that_fail_and_are_cut_were_not_durable, 1);
	ON_LEGS(superblocks_behind_one_that_failed_are_waited_for, 1);
	ON_LEGS(superblocks_behind_one_that_failed_in_a_ring_are_waited_for, 1);
	ON_LEGS(superblocks_behind_one_that_failed_at_the_back_are_waited_for, 1);
	ON_LEGS(superblocks_behind_one_that_was_cut_are_waited_for, 1);
	ON_LEGS(superblocks_behind_a_cut_start_are_waited_for, 2);
	ON_LEGS(superblocks_behind_two_cut_starts_are_waited_for, 2);
	ON_LEGS(superblocks_since_a_return_are_waited_for, 2);
	ON_LEGS(superblocks_since_a_late_return_are_waited_for, 2);
	ON_PARITY(leg_that_gets_older_numbers_outdates_no_other);
	ON_TWO_VDEVS(leg_that_gets_older_numbers_outdates_no_other);
	ON_LEGS(slot_that_cannot_be_filled_may_be_torn, 2);
	ON_LEGS(slots_of_low_numbers_are_valid, 2);
	ON_TWO_VDEVS(slots_of_the_next_superblocks_are_not_filled);
	ON_LEGS(slots_are_filled_while_the_power_goes, 2);
	ON_PARITY(slots_are_filled_while_the_power_goes);
	ON_TWO_VDEVS(slots_are_filled_while_the_power_goes);
	ON_CACHE(slots_are_filled_while_the_power_goes);
	ON_LEGS(superblock_that_a_ring_failed_is_not_alone, 2);
	ON_LEGS(superblocks_that_a_ring_failed_say_the_same, 2);
	ON_LEGS(setting_that_a_ring_failed_is_not_alone, 2);
}
