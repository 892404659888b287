// SPDX-License-Identifier: GPL-2.0-only
/*
 * A leg is put back to an older state, as from a copy. It is found out. A leg that only lacks
 * superblocks is not taken for one: R13, R29.
 */
#include <string.h>

#include "lives.h"
#include "super/events.h"
#include "super/members.h"

static void live_superblocks_and_stop(struct script *s)
{
	live_superblocks(s);
	host_stop(&s->host);
}

/* An event says how far the leg is behind, and names it: its number may be another's later. */
static bool told_outdated(struct kvp_pool *pool, u32 leg)
{
	char text[KVP_EVENT_TEXT], name[KVP_LEG_WORDS];

	snprintf(text, sizeof(text), "leg_outdated leg=%u behind=%llu%s", leg, pool->legs[leg].lag,
		 kvp_leg_words(&pool->legs[leg], name));
	return told(pool, text);
}

static void live_look_for_the_outdated(struct script *s)
{
	u32 i;

	for (i = 0; i < s->legs; i++) {
		if (!(s->start.outdated >> i & 1))
			continue;
		if (kvp_leg_in_sync(host_leg(&s->host, i)))
			sim_fail("leg %u was put back to an older state, and is in use", i);
		if (!told_outdated(s->host.pool, i))
			sim_fail("no event names leg %u, which was put back", i);
	}
	host_read_check(&s->host, 20);
	host_stop(&s->host);
}

/* The others are enough: it is recorded out, and no source afterwards. */
static bool found_stale(struct script *s, u32 leg)
{
	u32 cache = own.base->cache ? BIT(s->legs - 1) : 0;

	s->start.outdated = BIT(leg);
	if (!run_life(s, live_look_for_the_outdated))
		return false;
	s->start.outdated = 0;
	if (!starts(s) || !all_there(s, BIT(leg)))
		return false;
	s->start.missing = (BIT(s->legs) - 1) & ~BIT(leg) & ~cache;
	if (!run_life(s, NULL))
		return false;
	s->start.missing = 0;
	if (!s->refused)
		snprintf(sim_failure, sizeof(sim_failure), "started from an outdated leg alone");
	return s->refused;
}

/* Each state in which it ever was, and each leg. */
static bool any_leg_put_back(struct script *s, void (*live)(struct script *s))
{
	u64 newest;
	u32 leg, past;

	if (!run_life(s, live))
		return false;
	newest = newest_sequence(&s->img[0]);
	remember(s, s->img);
	for (leg = 0; leg < s->legs; leg++)
		for (past = 0; past < own.nr_past; past++) {
			bool ssd = leg >= s->legs - own.base->cache;

			recall(s);
			image_free(&s->img[leg]);
			image_copy(&s->img[leg], &own.past[past][leg]);
			/* As much a power cut between the writes to two legs may leave. */
			if (newest - own.past_sequence[past] < 2)
				continue;
			/* no other leg has the log */
			if (ssd ? !refused(s, -ESTALE, "outdated") : !found_stale(s, leg))
				return false;
		}
	return true;
}

static bool leg_put_back_is_stale(struct script *s)
{
	return any_leg_put_back(s, live_superblocks);
}

static bool leg_put_back_after_an_export_is_stale(struct script *s)
{
	return any_leg_put_back(s, live_superblocks_and_stop);
}

/*
 * By one superblock, which a power cut leaves as well. But its checkpoint has changed the table,
 * and the leg lacks the pages.
 */
static bool leg_put_back_by_a_checkpoint_is_stale(struct script *s)
{
	u32 leg, past;

	if (!run_life(s, live_superblocks))
		return false;
	remember(s, s->img);
	past = own.nr_past - 1;
	if (!expect(newest_sequence(&s->img[0]) == own.past_sequence[past] + 1,
		    "superblock %llu after %llu: the case was not set up\n",
		    newest_sequence(&s->img[0]), own.past_sequence[past]))
		return false;
	/* Of several vdevs and of a parity1, these legs have the pages that changed. */
	for (leg = 0; leg < (own.base->second || own.base->parity ? 2 : s->legs); leg++) {
		recall(s);
		image_free(&s->img[leg]);
		image_copy(&s->img[leg], &own.past[past][leg]);
		if (!found_stale(s, leg))
			return false;
	}
	return true;
}

/* All of a vdev: no other leg has its data. */
static bool vdev_put_back_by_a_checkpoint_is_refused(struct script *s)
{
	u32 leg;

	if (!run_life(s, live_superblocks))
		return false;
	remember(s, s->img);
	for (leg = 0; leg < 2; leg++) {
		image_free(&s->img[leg]);
		image_copy(&s->img[leg], &own.past[own.nr_past - 1][leg]);
	}
	if (!refused(s, -ESTALE, "disk0 is outdated"))
		return false;
	recall(s);
	return has_all(s);
}

/* The leg has all but the newest superblock: the power went between the writes to two legs. */
static bool lacks_the_superblock_alone(struct script *s, u32 leg)
{
	u32 past = own.nr_past - 1, i;

	for (i = 0; i < s->legs; i++) {
		image_free(&own.old[i]);
		image_copy(&own.old[i], &own.past[past][i]);
	}
	recall_labels(s, leg);
	return expect(newest_sequence(&s->img[leg]) == own.past_sequence[past],
		      "leg %u has superblock %llu: the case was not set up\n", leg,
		      newest_sequence(&s->img[leg]));
}

/* It is in sync, and any other leg of its vdev may be lost then. */
static bool leg_that_lacks_a_superblock_alone_is_in_sync(struct script *s)
{
	u32 leg, other;

	for (leg = 0; leg < s->legs; leg++) {
		own.nr_past = own.nr_noted = 0;
		if (!run_life(s, live_superblocks) || !lacks_the_superblock_alone(s, leg) ||
		    !starts(s))
			return false;
		other = leg ^ 1;
		if (!all_there(s, other < s->legs - own.base->cache ? BIT(other) : 0))
			return false;
	}
	return true;
}

/* The newest superblock says nothing new of the table. */
static void live_superblock_of_a_mark(struct script *s)
{
	live_one_flush(s);
	remember_past(s);
	if (kvp_pool_mark(s->host.pool, 0, 0))
		sim_fail("no superblock: the case was not set up");
	host_write(&s->host, 300, 20, false);
	host_write_by_intent(&s->host, 0, 256);
	host_flush(&s->host);
	host_write(&s->host, 310, 2, false);
	host_flush(&s->host);
}

/* The log has all that the leg lacks, and the recovery makes the legs equal. */
static bool leg_put_back_by_a_mark_is_in_sync(struct script *s)
{
	u32 leg;

	for (leg = 0; leg < 2; leg++) {
		own.nr_past = 0;
		if (!run_life(s, live_superblock_of_a_mark))
			return false;
		image_free(&s->img[leg]);
		image_copy(&s->img[leg], &own.past[0][leg]);
		if (!expect(newest_sequence(&s->img[leg]) + 1 == newest_sequence(&s->img[!leg]),
			    "the case was not set up\n") ||
		    !starts(s) || !all_there(s, BIT(!leg)))
			return false;
	}
	return true;
}

/* The table of the leg cannot be read at this start. That does not say that it is not there. */
static bool leg_whose_pages_cannot_be_read_is_in_sync(struct script *s)
{
	if (!run_life(s, live_superblocks) || !lacks_the_superblock_alone(s, 1))
		return false;
	own.bad_legs = BIT(1);
	own.bad_first = disks.table_start;
	own.bad_last = own.base->log_start - 1;
	if (!starts(s))
		return false;
	own.bad_legs = 0;
	return all_there(s, BIT(0));
}

/* All of a vdev: no other leg has its data. */
static bool vdev_put_back_is_refused(struct script *s)
{
	u32 leg;

	if (!run_life(s, live_superblocks))
		return false;
	remember(s, s->img);
	for (leg = 0; leg < 2; leg++) {
		image_free(&s->img[leg]);
		image_copy(&s->img[leg], &own.past[2][leg]);
	}
	if (!refused(s, -ESTALE, "disk0 is outdated"))
		return false;
	recall(s);
	return has_all(s);
}

/*
 * Only power cuts: the same leg misses the first superblock of each start. In the end it misses so
 * many that its next one would overwrite its newest one: it goes to one ring after the other (R13).
 */
static bool leg_that_misses_many_superblocks_is_in_sync(struct script *s)
{
	u32 i;

	if (!run_life(s, live_superblocks))
		return false;
	own.stalled = BIT(1);
	for (i = 0; i < KVP_SB_RING + 1; i++)
		if (!run_life(s, NULL))
			return false;
	own.stalled = 0;
	if (newest_sequence(&s->img[0]) < newest_sequence(&s->img[1]) + 3) {
		snprintf(sim_failure, sizeof(sim_failure),
			 "leg 1 has superblock %llu, and leg 0 %llu: the case was not set up",
			 newest_sequence(&s->img[1]), newest_sequence(&s->img[0]));
		return false;
	}
	return all_there(s, 0);
}

/*
 * The first superblock of a start comes to one leg alone, which does not give it to the next start.
 * That one passes by its number, and records an SSD out that is missing. The leg has all that was
 * acknowledged, and without it and another one the legs are too few.
 */
static bool leg_with_a_superblock_that_was_cut_is_in_sync(struct script *s)
{
	u64 cut;

	if (!run_life(s, live_superblocks))
		return false;
	own.stalled = 0x1d;
	if (!run_life(s, NULL))
		return false;
	cut = newest_sequence(&s->img[1]);
	own.unread = (struct unread){ .legs = BIT(1), .rings = 3, .first = cut, .count = 1 };
	s->start.missing = BIT(4);
	own.stalled = 0x1e;
	own.goes_back = true;
	if (!run_life(s, NULL))
		return false;
	own.goes_back = false;
	memset(&own.unread, 0, sizeof(own.unread));
	own.stalled = 0;
	if (!expect(newest_sequence(&s->img[0]) == cut + KVP_SB_RING &&
		    newest_sequence(&s->img[1]) == cut,
		    "superblocks %llu and %llu, cut was %llu: the case was not set up\n",
		    newest_sequence(&s->img[0]), newest_sequence(&s->img[1]), cut))
		return false;
	s->start.missing = BIT(2);
	if (!starts(s))
		return false;
	s->start.missing = 0;
	return all_there(s, BIT(2) | BIT(4));
}

/* --- the cases -------------------------------------------------------------------------------- */

void run_lives_putback(void)
{
	ON_LEGS(leg_put_back_is_stale, 2);
	ON_LEGS(leg_put_back_is_stale, 3);
	ON_TWO_VDEVS(leg_put_back_is_stale);
	ON_PARITY(leg_put_back_is_stale);
	ON_CACHE(leg_put_back_is_stale);
	ON_LEGS(leg_put_back_after_an_export_is_stale, 2);
	ON_PARITY(leg_put_back_after_an_export_is_stale);
	ON_CACHE(leg_put_back_after_an_export_is_stale);
	ON_LEGS(leg_put_back_by_a_checkpoint_is_stale, 2);
	ON_LEGS(leg_put_back_by_a_checkpoint_is_stale, 3);
	ON_TWO_VDEVS(leg_put_back_by_a_checkpoint_is_stale);
	ON_PARITY(leg_put_back_by_a_checkpoint_is_stale);
	ON_TWO_VDEVS(vdev_put_back_by_a_checkpoint_is_refused);
	ON_LEGS(leg_that_lacks_a_superblock_alone_is_in_sync, 2);
	ON_LEGS(leg_that_lacks_a_superblock_alone_is_in_sync, 3);
	ON_TWO_VDEVS(leg_that_lacks_a_superblock_alone_is_in_sync);
	ON_PARITY(leg_that_lacks_a_superblock_alone_is_in_sync);
	ON_CACHE(leg_that_lacks_a_superblock_alone_is_in_sync);
	ON_LEGS(leg_put_back_by_a_mark_is_in_sync, 2);
	ON_PARITY(leg_put_back_by_a_mark_is_in_sync);
	ON_LEGS(leg_whose_pages_cannot_be_read_is_in_sync, 2);
	ON_TWO_VDEVS(vdev_put_back_is_refused);
	ON_LEGS(leg_that_misses_many_superblocks_is_in_sync, 2);
	TEST(leg_with_a_superblock_that_was_cut_is_in_sync, .legs = 5, .parity = true, .cache = 2);
}
