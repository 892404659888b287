// SPDX-License-Identifier: GPL-2.0-only
/*
 * Legs that went on without each other, by forced starts, or as copies of one leg: R16.
 */
#include "lives.h"
#include "super/members.h"

static bool copied_leg_is_refused(struct script *s)
{
	image_free(&s->img[1]);
	image_copy(&s->img[1], &s->img[0]);
	return refused(s, -EEXIST, "same leg UUID");
}

/* How far each half of a fork came, or began. */
static u64 half_epoch[2], half_sequence[2];

static void note_half(struct script *s)
{
	const struct kvp_sb *sb = s->host.pool->sb;
	u32 half = !!host_leg(&s->host, 1);

	half_epoch[half] = sb->epoch;
	half_sequence[half] = sb->sequence;
}

static void live_many_superblocks(struct script *s)
{
	u32 i;

	for (i = 0; i < 24; i++) {
		host_write(&s->host, 40 + i, 1, false);
		host_checkpoint(&s->host);
	}
	note_half(s);
}

static void live_few_superblocks(struct script *s)
{
	note_half(s);
	live_one_flush(s);
}

static void live_accept_fork(struct script *s)
{
	if (kvp_legs_usable(s->host.pool) != 1)
		sim_fail("both halves of a fork are sources");
	own.winner = kvp_leg_in_sync(host_leg(&s->host, 1));
	/* the legs must not count as equal */
	if (s->host.pool->sb->legs[!own.winner].in_sync_era)
		sim_fail("a leg that went its own way is said to have era %u",
			 s->host.pool->sb->legs[!own.winner].in_sync_era);
	host_stop(&s->host);
}

/* The leg whose history was given up has nothing of this one, and gets everything. */
static void live_forked_leg_returns(struct script *s)
{
	live_one_flush(s);
	if (host_online(&s->host, !own.winner))
		sim_fail("the leg does not return: %s", s->host.refusal.why);
	host_wait_resilver(&s->host);
	if (kvp_legs_usable(s->host.pool) != 2)
		sim_fail("the leg is in state %u", host_leg(&s->host, !own.winner)->state);
	host_flush(&s->host);
}

/*
 * The half that was started more often has the higher epoch, and wins; it wrote fewer superblocks.
 */
static bool epoch_comes_before_sequence(struct script *s)
{
	u32 half, i;

	if (!run_life(s, live_two_eras))
		return false;
	s->start.degraded = true;
	for (half = 0; half < 2; half++) {
		s->start.missing = half ? 1 : 2;
		for (i = 0; i < 1 + half; i++)
			if (!run_life(s, half ? live_few_superblocks : live_many_superblocks))
				return false;
	}
	s->start.degraded = false;
	s->start.missing = 0;
	s->start.accept_fork = true;
	return expect(half_epoch[1] > half_epoch[0] && half_sequence[1] < half_sequence[0],
		      "epochs %llu %llu, sequences %llu %llu: the case was not set up", half_epoch[0],
		      half_epoch[1], half_sequence[0], half_sequence[1]) &&
	       run_life(s, live_accept_fork) &&
	       expect(own.winner == 1, "the half with the lower epoch won");
}

/* Both halves were started alone; the user keeps one. Later starts do not ask again. */
static bool accepted_fork_is_settled_for_good(struct script *s)
{
	u32 half;

	if (!run_life(s, live_two_eras))
		return false;
	s->start.degraded = true;
	for (half = 0; half < 2; half++) {
		s->start.missing = half ? 1 : 2;
		if (!run_life(s, live_one_flush))
			return false;
	}
	s->start.degraded = false;
	s->start.missing = 0;
	if (!refused(s, -ESTALE, "split brain"))
		return false;
	s->start.accept_fork = true;
	if (!run_life(s, live_accept_fork))
		return false;
	s->start.accept_fork = false;
	if (!starts(s))
		return false;
	/* The other cannot be a source, and says itself why. */
	s->start.missing = own.winner == 1 ? 2 : 1;
	if (!refused(s, -ENXIO, "no leg that is in sync"))
		return false;
	s->start.missing = 0;
	return run_life(s, live_forked_leg_returns) && all_there(s, 0);
}

/* The label of leg 2 then says that leg 1 is out, and leg 2 itself not in sync. */
static void live_resilver_one_of_two(struct script *s)
{
	struct kvp_pool *pool = s->host.pool;

	if (kvp_leg_offline(pool, host_leg(&s->host, 1)) ||
	    kvp_leg_offline(pool, host_leg(&s->host, 2)))
		sim_fail("a leg does not leave");
	if (host_online(&s->host, 2))
		sim_fail("leg 2 does not return: %s", s->host.refusal.why);
	if (!kvp_leg_resilvers(host_leg(&s->host, 2)))
		sim_fail("the resilver has ended: the case was not set up");
}

static void live_beside_a_target(struct script *s)
{
	if (kvp_legs_usable(s->host.pool) != 1 || !kvp_leg_in_sync(host_leg(&s->host, 1)))
		sim_fail("the source is not leg 1 alone");
	live_one_flush(s);
	if (host_online(&s->host, 2))
		sim_fail("leg 2 does not return: %s", s->host.refusal.why);
	host_wait_resilver(&s->host);
	if (!kvp_leg_in_sync(host_leg(&s->host, 2)))
		sim_fail("leg 2 is in state %u", host_leg(&s->host, 2)->state);
	host_stop(&s->host);
}

static void live_read_all(struct script *s)
{
	u64 block;

	for (block = 0; block < s->o.blocks; block++)
		host_read_check(&s->host, block);
	host_stop(&s->host);
}

/*
 * Leg 1 was started by force while the others were away. Of those leg 2 is back. Its label calls
 * leg 1 out, but leg 0 wrote that label: leg 2 has not gone on alone, and may return.
 */
static bool target_of_a_lost_source_is_no_fork(struct script *s)
{
	u32 i;

	if (!run_life(s, live_resilver_one_of_two))
		return false;
	s->start.degraded = true;
	s->start.missing = 5;
	for (i = 0; i < 4; i++)
		if (!run_life(s, live_one_flush))
			return false;
	s->start.degraded = false;
	s->start.missing = 0;
	if (!refused(s, -ESTALE, "split brain"))
		return false;
	s->start.missing = 1;
	if (!run_life(s, live_beside_a_target))
		return false;
	s->start.degraded = true;
	s->start.missing = 3;
	return run_life(s, live_read_all);
}

/*
 * As if that many forced starts had been, and the leg that each was without had been copied to
 * since.
 */
static void live_with_a_history(struct script *s)
{
	struct kvp_sb *sb = s->host.pool->sb;
	u32 i;

	for (i = 0; i < KVP_MAX_FORKS; i++)
		sb->forks[i] = i + 1;
	sb->fork_count = KVP_MAX_FORKS;
	if (kvp_pool_set(s->host.pool, KVP_T_SCRUB_RATE, 1 << 20))
		sim_fail("not set");
	host_stop(&s->host);
}

static void live_one_fork_more(struct script *s)
{
	const struct kvp_sb *sb = s->host.pool->sb;
	u32 i;

	if (sb->fork_count != KVP_MAX_FORKS)
		sim_fail("%u forced starts are known", sb->fork_count);
	for (i = 0; i + 1 < KVP_MAX_FORKS; i++)
		if (sb->forks[i] != i + 2)
			sim_fail("forced start %u is not known, or in another place", i + 2);
	if (sb->forks[i] <= KVP_MAX_FORKS)
		sim_fail("this one is not");
	live_one_flush(s);
}

/*
 * The list of forced starts is full: the newest are known. One that is older may come back; one
 * that went on may not.
 */
static bool a_forced_start_more_than_can_be_listed(struct script *s)
{
	if (!run_life(s, live_with_a_history))
		return false;
	s->start.degraded = true;
	s->start.missing = 2;
	if (!run_life(s, live_one_fork_more))
		return false;
	remember(s, s->img);
	s->start.degraded = false;
	s->start.missing = 0;
	if (!starts(s) || !all_there(s, 2))
		return false;
	/* Leg 1 goes on by itself, from where it was before. */
	swap(s->img[1], own.old[1]);
	s->start.degraded = true;
	s->start.missing = 1;
	if (!run_life(s, live_one_fork_more))
		return false;
	swap(s->img[0], own.old[0]);
	s->start.degraded = false;
	s->start.missing = 0;
	return refused(s, -ESTALE, "split brain");
}

static void live_beside_the_clone(struct script *s)
{
	live_one_flush(s);
	host_checkpoint(&s->host);
}

/* A copy of leg 1 was started alone elsewhere and comes back in its place. */
static bool clone_that_went_its_own_way_is_no_source(struct script *s)
{
	struct oracle elsewhere;
	struct oracle here = s->o;
	u32 i;

	remember(s, s->img);
	oracle_copy(&elsewhere, &here);
	s->o = elsewhere;
	s->start.degraded = true;
	s->start.missing = 1;
	if (!run_life(s, live_one_flush))
		return false;
	oracle_free(&s->o);
	s->o = here;
	swap(s->img[0], own.old[0]);
	swap(s->img[1], own.old[1]);
	s->start.degraded = false;
	s->start.missing = 0;
	for (i = 0; i < 3; i++)
		if (!run_life(s, live_beside_the_clone))
			return false;
	swap(s->img[1], own.old[1]);
	if (!refused(s, -ESTALE, "split brain"))
		return false;
	s->start.accept_fork = true;
	if (!run_life(s, live_accept_fork) || own.winner)
		return false;
	s->start.accept_fork = false;
	return all_there(s, 2);
}

static bool both_halves_written_are_refused(struct script *s)
{
	u32 half;

	for (half = 0; half < 2; half++) {
		s->start.missing = half ? 5 : 10;
		s->start.degraded = false;
		if (!refused(s, -ENOTCONN, "newer data may be there"))
			return false;
		s->start.degraded = true;
		if (!run_life(s, live_one_flush))
			return false;
	}
	s->start.degraded = false;
	s->start.missing = 0;
	return refused(s, -ESTALE, "split brain");
}

/* --- the cases -------------------------------------------------------------------------------- */

void run_lives_forks(void)
{
	ON_LEGS(copied_leg_is_refused, 2);
	ON_LEGS(epoch_comes_before_sequence, 2);
	ON_LEGS(accepted_fork_is_settled_for_good, 2);
	ON_LEGS(target_of_a_lost_source_is_no_fork, 3);
	ON_LEGS(a_forced_start_more_than_can_be_listed, 2);
	ON_LEGS(clone_that_went_its_own_way_is_no_source, 2);
	ON_TWO_VDEVS(both_halves_written_are_refused);
}
