// SPDX-License-Identifier: GPL-2.0-only
/*
 * A leg is lost, and the others record that before anything depends on it: R13, R16, R17.
 */
#include <string.h>

#include "lives.h"
#include "ram/wbuf.h"
#include "super/members.h"
#include "table/table.h"

static struct kvp_waiter flusher;
static bool flusher_answered;
static int flusher_error;

static void flusher_done(struct kvp_waiter *w, int error)
{
	flusher_answered = true;
	flusher_error = error;
}

/* As host_flush(), but does not wait. */
static void begin_flush(struct script *s)
{
	memset(&flusher, 0, sizeof(flusher));
	flusher.seq = kvp_wbuf_seq(s->host.pool->wbuf);
	flusher.done = flusher_done;
	flusher_answered = false;
	kvp_commit_wait_async(s->host.pool->log, &flusher);
}

static void fail_log_of(u32 disk)
{
	disks_fault(FAULT_WRITE_EIO, disk, disks.log_start, disks.log_start + disks.log_blocks - 1);
}

static void live_loss_is_recorded_first(struct script *s)
{
	hold_labels(0);
	fail_log_of(1);
	host_write(&s->host, 20, 1, false);
	begin_flush(s);
	host_sleep(500);
	if (kvp_leg_in_sync(host_leg(&s->host, 1)))
		sim_fail("leg 1 is in use: the case was not set up");
	if (flusher_answered)
		sim_fail("FLUSH was answered before the survivors knew of the loss of a leg");
	disks_release(0);
	host_flush(&s->host);
	if (!flusher_answered || flusher_error)
		sim_fail("FLUSH was not answered");
}

static bool loss_is_recorded_before_a_flush_is_answered(struct script *s)
{
	if (!run_life(s, live_loss_is_recorded_first) || !all_there(s, 2))
		return false;
	/* Not by force: the survivor knows that nothing newer is missing. */
	s->start.missing = 2;
	return starts(s);
}

static void live_loss_beside_a_loss(struct script *s)
{
	struct host *h = &s->host;

	if (own.second)
		life_hold_superblock(0, 3, h->pool->sb->sequence + 2);
	else
		hold_labels(0);
	fail_log_of(2);
	host_write(h, 20, 1, false);
	begin_flush(s);
	host_sleep(500);
	/* The superblock that records it is being written, or the one behind that. */
	fail_log_of(1);
	host_write(h, 22, 1, false);
	kvp_commit_now(h->pool->log);
	kvp_commit_kick(h->pool->log, true);
	host_sleep(500);
	if (kvp_legs_usable(h->pool) != 1 || flusher_answered)
		sim_fail("%u legs in use, FLUSH %s: the case was not set up",
			 kvp_legs_usable(h->pool), flusher_answered ? "answered" : "waits");
	disks_release(0);
	host_flush(h);
}

static bool loss_while_a_loss_is_recorded_is_recorded_too(struct script *s)
{
	if (!run_life(s, live_loss_beside_a_loss) || !all_there(s, 6))
		return false;
	s->start.missing = 6;
	return starts(s);
}

static bool loss_while_a_loss_is_said_to_count_is_recorded_too(struct script *s)
{
	own.second = true;
	return loss_while_a_loss_is_recorded_is_recorded_too(s);
}

static void offline_task(void *arg)
{
	struct script *s = arg;

	if (kvp_leg_offline(s->host.pool, host_leg(&s->host, 1)))
		sim_fail("leg 1 cannot be taken offline");
	note(s, s->host.pool->durable_epoch);
}

static void live_taken_offline_once_lost(struct script *s)
{
	struct host *h = &s->host;
	const struct kvp_leg_info *info = &h->pool->sb->legs[1];
	u32 era = host_leg(h, 1)->has_era;
	u64 epoch = h->pool->durable_epoch;

	hold_labels(0);
	sim_spawn("superblock", superblock_task, s);
	host_sleep(100);
	fail_log_of(1);
	host_write(h, 20, 1, false);
	begin_flush(s);
	host_sleep(500);
	sim_spawn("offline", offline_task, s);
	host_sleep(100);
	if (kvp_leg_in_sync(host_leg(h, 1)) || own.nr_noted || h->pool->durable_epoch != epoch)
		sim_fail("the loss is recorded: the case was not set up");
	disks_release(0);
	host_flush(h);
	host_sleep(100);
	if (!own.nr_noted || info->state != KVP_LEG_OFFLINE)
		sim_fail("leg 1 is recorded as %u, not offline", info->state);
	if (own.noted[0] == epoch)
		sim_fail("the loss was recorded under the epoch that leg 1 has, too");
	if (!era || info->in_sync_era != era - 1)
		sim_fail("leg 1 is said to have era %u, not %u", info->in_sync_era, era - 1);
}

/* A leg is lost, and before that is recorded it is taken offline: the record is that of a loss. */
static bool taken_offline_before_the_loss_is_recorded(struct script *s)
{
	if (!run_life(s, live_two_eras) || !run_life(s, live_taken_offline_once_lost) ||
	    !all_there(s, 2))
		return false;
	s->start.missing = 2;
	return starts(s);
}

static void live_checkpoint_known_to_leg_0(struct script *s)
{
	live_one_flush(s);
	hold_labels(1);
	host_destage(&s->host);
	host_sleep(500);
	/* So that the recovery changes the table. */
	host_write(&s->host, 44, 2, false);
	kvp_commit_now(s->host.pool->log);
	kvp_commit_kick(s->host.pool->log, true);
	host_sleep(50);
}

/* The recovery goes by its superblock, is cut, and it is lost: the other's must still do. */
static bool superblock_on_one_leg_is_rolled_forward_first(struct script *s)
{
	struct crash c = { .images = s->img, .legs = s->legs, .second = own.base->second,
			   .o = &s->o, .at = ~0u };
	u32 i;

	if (!run_life(s, live_checkpoint_known_to_leg_0))
		return false;
	for (i = 0; i < 12; i++) {
		c.seed = mix64(s->seed, 400 + i);
		if (check_crash(&c, CHECK_RECRASH))
			return false;
	}
	return true;
}

static void live_without_leg_0(struct script *s)
{
	disks_kill(0);
	live_one_flush(s);
	host_checkpoint(&s->host);
	host_write(&s->host, 41, 3, true);
}

/* It comes first in the table and on every list, and yet it is stale. */
static bool first_leg_is_lost_and_returns(struct script *s)
{
	return run_life(s, live_without_leg_0) && all_there(s, 1) &&
	       run_life(s, live_look_for_state) &&
	       all_there(s, 1);
}

/* A superblock with a new era is one that a leg fails: it is of the era before. */
static void live_loss_at_a_new_era(struct script *s)
{
	struct host *h = &s->host;
	u64 last = disks.img[1].blocks - 1;
	u32 i;

	for (i = 0; i < 2; i++) {
		host_write(h, 20 + i, 1, false);
		host_sleep(1500);
		host_checkpoint(h);
	}
	note(s, h->pool->sb->era);
	host_sleep(1500);
	disks_fault(FAULT_WRITE_EIO, 1, 0, KVP_LABEL_BLOCKS - 1);
	disks_fault(FAULT_WRITE_EIO, 1, last - KVP_LABEL_BLOCKS + 1, last);
	host_write(h, 30, 1, false);
	host_checkpoint(h);
	if (h->pool->sb->era == own.noted[0] || h->pool->sb->legs[1].state == KVP_LEG_IN_SYNC)
		sim_fail("no new era, or no loss: the case was not set up");
	if (h->pool->sb->legs[1].in_sync_era >= own.noted[0])
		sim_fail("leg 1 is said to have all of era %u, and was lost in era %llu",
			 h->pool->sb->legs[1].in_sync_era, own.noted[0]);
}

static bool leg_is_lost_in_the_era_that_was_durable(struct script *s)
{
	return run_life(s, live_loss_at_a_new_era) && all_there(s, 2);
}

/* --- two mirrors: legs 0 and 1, and 2 and 3 --------------------------------------------------- */

/* True if the missing legs could have gone on alone. Not while a vdev is complete here (R16). */
static bool one_leg_of_two_vdevs_needs_no_order(struct script *s)
{
	s->start.missing = 1;
	if (!run_life(s, live_one_flush))
		return false;
	s->start.missing = 0;
	/* It was recorded out by those that went on. */
	return run_life(s, live_look_for_state) && all_there(s, 1);
}

static bool pool_without_a_vdev_is_refused(struct script *s)
{
	s->start.degraded = true;
	s->start.missing = 3;
	if (!refused(s, -ENXIO, "of vdev 0 no leg"))
		return false;
	s->start.missing = 12;
	return refused(s, -ENXIO, "of vdev 1 no leg");
}

static void live_lose_a_vdev(struct script *s)
{
	struct host *h = &s->host;

	disks_kill(2);
	host_write(h, host_boundary(&s->start) + 3, 2, true);
	host_checkpoint(h);
	if (host_leg(h, 2)->state == KVP_LEG_IN_SYNC)
		sim_fail("a leg that died is not given up");
	/* The next entry is the other vdev's: it is at home that this one fails. */
	while (kvp_log_vdev(&h->pool->vdevs, h->pool->log->head.lsn) != &h->pool->vdevs.v[0])
		host_write(h, 3, 1, true);
	disks_kill(3);
	h->may_fail = true;
	host_write(h, host_boundary(&s->start) + 4, 1, true);
	host_checkpoint(h);
	if (host_leg(h, 3)->state != KVP_LEG_IN_SYNC)
		sim_fail("the last leg of a vdev was given up");
	if (!kvp_pool_faulted(h->pool))
		sim_fail("a pool that lost a vdev is not faulted");
}

/* The other vdev's legs are of no use then: it stands, and goes on when the leg is back. */
static bool last_leg_of_a_vdev_is_kept(struct script *s)
{
	return run_life(s, live_lose_a_vdev) && all_there(s, 4);
}

/* Superblocks fail on leg 0; its rings take some more first. */
static void fail_labels(u32 front, u32 back)
{
	u32 end;

	for (end = 0; end < 2; end++) {
		u64 at = slot_block(&disks.img[0], end, 0);

		disks_fault(FAULT_WRITE_EIO, 0, at, at + KVP_SB_RING * KVP_SB_BLOCKS - 1)->after =
			end ? back : front;
	}
}

/*
 * Leg 0, the last of its vdev, fails a checkpoint. It fails the next one, too, after a superblock
 * with that era has counted. The pool goes back to the era before. Then leg 2 is lost.
 */
static void live_loss_behind_failed_checkpoints(struct script *s)
{
	struct host *h = &s->host;
	const struct kvp_sb *sb = h->pool->sb;

	host_offline(h, 1);
	host_sleep(1500);
	host_write(h, 30, 1, true);
	host_checkpoint(h);
	note(s, sb->era);
	host_sleep(1500);
	host_write(h, 30, 1, true);
	h->may_fail = true;
	fail_labels(0, 0);
	host_checkpoint(h);
	disks.nr_faults = 0;
	/* The first one after that counts, and a slot is filled. A checkpoint follows by itself. */
	fail_labels(3, 2);
	kvp_pool_clear(h->pool, -1);
	host_sleep(1500);
	if (!kvp_pool_faulted(h->pool) || sb->era != own.noted[0] ||
	    h->pool->table->era < sb->era + 2)
		sim_fail("no two checkpoints failed: the case was not set up");
	disks.nr_faults = 0;
	disks_kill(2);
	kvp_pool_clear(h->pool, -1);
	if (sb->legs[2].state == KVP_LEG_IN_SYNC)
		sim_fail("leg 2 is not lost: the case was not set up");
	if (sb->legs[2].in_sync_era > sb->era)
		sim_fail("leg 2 is said to have all of era %u, and the pool is in era %u",
			 sb->legs[2].in_sync_era, sb->era);
}

static bool leg_is_lost_behind_failed_checkpoints(struct script *s)
{
	return run_life(s, live_loss_behind_failed_checkpoints) && all_there(s, BIT(1) | BIT(2));
}

/* --- the cases -------------------------------------------------------------------------------- */

void run_lives_losses(void)
{
	ON_LEGS(loss_is_recorded_before_a_flush_is_answered, 2);
	ON_LEGS(loss_while_a_loss_is_recorded_is_recorded_too, 3);
	ON_LEGS(loss_while_a_loss_is_said_to_count_is_recorded_too, 3);
	ON_LEGS(taken_offline_before_the_loss_is_recorded, 3);
	ON_LEGS(superblock_on_one_leg_is_rolled_forward_first, 2);
	ON_TWO_VDEVS(superblock_on_one_leg_is_rolled_forward_first);
	ON_LEGS(first_leg_is_lost_and_returns, 2);
	ON_LEGS(leg_is_lost_in_the_era_that_was_durable, 2);
	ON_TWO_VDEVS(one_leg_of_two_vdevs_needs_no_order);
	ON_TWO_VDEVS(pool_without_a_vdev_is_refused);
	ON_TWO_VDEVS(last_leg_of_a_vdev_is_kept);
	ON_TWO_VDEVS(leg_is_lost_behind_failed_checkpoints);
}
