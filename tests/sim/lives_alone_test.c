// SPDX-License-Identifier: GPL-2.0-only
/*
 * One leg alone knows of a loss, and the others go on without it. It is passed by if that loss
 * never counted, and else the user is asked.
 */
#include <string.h>

#include "lives.h"
#include "super/events.h"
#include "super/members.h"

static void live_leg_offline(struct script *s)
{
	live_one_flush(s);
	remember_past(s);
	WRITE_ONCE(s->host.pool->sb->epoch, s->host.pool->sb->epoch + own.ahead);
	host_offline(&s->host, own.lost);
}

/*
 * A block of superblock @sequence that two images have, and others have not: ~0 if there is none.
 */
static u32 block_alike(const struct image *a, const struct image *b, const struct image *other,
		       u64 sequence)
{
	u64 at = slot_block(a, 0, sequence), where;
	u32 i;

	/* Not the first one, which has the sum. */
	for (i = 1; i < KVP_SB_BLOCKS; i++)
		if (image_same(a, b, at + i, 1, &where) && !image_same(a, other, at + i, 1, &where))
			return i;
	return ~0u;
}

/* @leg gets its part of superblock @sequence from that life's end, without the block @less. */
static void put_superblock(struct script *s, u32 leg, u64 sequence, u32 less)
{
	u32 end, i;

	for (end = 0; end < 2; end++)
		for (i = 0; i < KVP_SB_BLOCKS; i++) {
			u64 at = slot_block(&s->img[leg], end, sequence) + i;

			if (i != less)
				image_write(&s->img[leg], at, image_blk(&own.old[leg], at),
					    ALL_SECTORS);
		}
}

/* All legs get the contents that remember_past() noted. */
static void recall_past(struct script *s, u32 past)
{
	u32 i;

	for (i = 0; i < s->legs; i++) {
		image_free(&s->img[i]);
		image_copy(&s->img[i], &own.past[past][i]);
	}
}

/*
 * The superblock that records a leg out reaches one leg alone, and torn. The next start does not
 * know it, and uses its number again. That one is cut as well, and this leg gets only the block of
 * it that was missing, in which both are equal. So the first one is complete there, beside the
 * second one on all other legs, and they are in sync.
 */
static bool torn_superblocks_make_a_whole_one(struct script *s)
{
	u64 cut;
	u32 less;

	own.lost = 1;
	if (!run_life(s, live_leg_offline))
		return false;
	/* The last one says that this one counts. */
	cut = newest_sequence(&s->img[0]) - 1;
	remember(s, s->img);
	recall_past(s, 0);
	/* once to see the writes of the next start; then with the old contents */
	own.stalled = BIT(0);
	if (!run_life(s, NULL))
		return false;
	less = block_alike(&own.old[0], &s->img[1], &own.past[0][0], cut);
	if (!expect(less < KVP_SB_BLOCKS && newest_sequence(&s->img[0]) < cut &&
		    newest_sequence(&s->img[1]) == cut,
		    "block %u, superblocks %llu and %llu, not %llu: the case was not set up\n",
		    less,
		    newest_sequence(&s->img[0]), newest_sequence(&s->img[1]), cut))
		return false;
	recall_past(s, 0);
	put_superblock(s, 0, cut, less);
	if (!run_life(s, NULL))
		return false;
	if (!expect(newest_sequence(&s->img[1]) == cut &&
		    block_alike(&own.old[0], &s->img[1], &own.past[0][0], cut) == less,
		    "the torn superblock counts\n"))
		return false;
	own.stalled = 0;
	put_superblock(s, 0, cut, ~0u);
	return all_there(s, BIT(1)) && starts(s);
}

/*
 * The loss of leg @lost is recorded on leg @alone when the power goes, and on no other leg. The
 * first superblock that calls leg @lost out is there; with @counted, also the one by which that
 * counts, and all that follow. Returns the number of the first one; 0: the test has failed.
 */
static u64 loss_that_one_leg_knows_of(struct script *s, bool counted)
{
	u64 called, last;
	u32 i;

	if (!run_life(s, live_leg_offline))
		return 0;
	remember(s, s->img);
	last = newest_sequence(&s->img[own.alone]);
	called = own.past_sequence[0] + 1;
	recall_past(s, 0);
	for (i = 0; called + i <= (counted ? last : called); i++)
		put_superblock(s, own.alone, called + i, ~0u);
	if (expect(last == called + 1, "superblocks up to %llu, not %llu: the case was not set up",
		   last, called + 1))
		return called;
	return 0;
}

static void live_without_the_one(struct script *s)
{
	const struct kvp_leg *legs = s->host.pool->legs;

	if (kvp_leg_in_sync(&legs[own.alone]) || !kvp_leg_in_sync(&legs[own.lost]))
		sim_fail("leg %u is in state %u, leg %u in state %u", own.alone,
			 legs[own.alone].state, own.lost, legs[own.lost].state);
	host_write(&s->host, 42, 3, false);
	host_flush(&s->host);
}

static void live_beside_the_one(struct script *s)
{
	struct kvp_pool *pool = s->host.pool;
	char text[KVP_EVENT_TEXT], name[KVP_LEG_WORDS];

	live_without_the_one(s);
	snprintf(text, sizeof(text), "leg_passed_by leg=%u%s", own.alone,
		 kvp_leg_words(&pool->legs[own.alone], name));
	if (!told(pool, text))
		sim_fail("no event tells that leg %u is passed by", own.alone);
}

static void live_the_one_returns(struct script *s)
{
	live_without_the_one(s);
	if (s->host.pool->sb->legs[own.alone].in_sync_era)
		sim_fail("leg %u is said to have era %u", own.alone,
			 s->host.pool->sb->legs[own.alone].in_sync_era);
	if (host_online(&s->host, own.alone))
		sim_fail("the leg does not return: %s", s->host.refusal.why);
	host_wait_resilver(&s->host);
	if (!kvp_leg_in_sync(host_leg(&s->host, own.alone)))
		sim_fail("the leg is in state %u", host_leg(&s->host, own.alone)->state);
	host_flush(&s->host);
}

static bool goes_on_without_the_one(struct script *s)
{
	s->start.missing = BIT(own.alone);
	if (!run_life(s, live_without_the_one))
		return false;
	s->start.missing = 0;
	return true;
}

/*
 * A loss is recorded on leg 0 alone when the power goes, and the next start is without leg 0: the
 * other vdev is complete. Leg 0 says that this counts. So the others cannot know that it has not
 * gone on, and it is a fork. The pool starts if leg 0 is missing, or if the user allows it.
 */
static bool leg_that_alone_knew_of_a_loss_is_asked_about(struct script *s)
{
	own.lost = 1;
	if (!loss_that_one_leg_knows_of(s, true) || !goes_on_without_the_one(s) ||
	    !refused(s, -ESTALE, "split brain") || !goes_on_without_the_one(s))
		return false;
	s->start.accept_fork = true;
	if (!starts(s))
		return false;
	s->start.accept_fork = false;
	return all_there(s, BIT(0));
}

static void live_alone(struct script *s)
{
	live_leg_offline(s);
	host_write(&s->host, 44, 3, false);
	host_flush(&s->host);
}

/* Leg 0 has answered requests without leg 1. The others are put back, and go on without it. */
static bool leg_that_went_on_alone_is_asked_about(struct script *s)
{
	u32 i;

	own.lost = 1;
	if (!run_life(s, live_alone))
		return false;
	for (i = 1; i < s->legs; i++) {
		image_free(&s->img[i]);
		image_copy(&s->img[i], &own.past[0][i]);
	}
	s->start.missing = BIT(0);
	if (!starts(s))
		return false;
	s->start.missing = 0;
	return refused(s, -ESTALE, "split brain");
}

/*
 * The loss is known as above, but leg @alone does not say that it counts: it has not gone on. So it
 * is passed by, without an order, also if its superblock is the newest. It may return.
 */
static bool passed_by(struct script *s, u32 alone, u32 lost)
{
	own.alone = alone;
	own.lost = lost;
	return loss_that_one_leg_knows_of(s, false) && goes_on_without_the_one(s) &&
	       all_there(s, BIT(alone)) && run_life(s, live_beside_the_one) &&
	       all_there(s, BIT(alone)) && run_life(s, live_without_the_one) &&
	       run_life(s, live_the_one_returns) && all_there(s, BIT(lost)) &&
	       run_life(s, live_one_flush) && all_there(s, BIT(lost));
}

static bool leg_whose_superblock_never_counted_is_passed_by(struct script *s)
{
	return passed_by(s, 0, 1);
}

static bool newest_superblock_that_never_counted_is_passed_by(struct script *s)
{
	own.ahead = 20;
	return passed_by(s, 0, 1);
}

/* All of @leg but its labels has other contents. */
static void overwrite_all(struct script *s, u32 leg)
{
	struct image *img = &s->img[leg];
	u8 data[KVP_BLOCK_SIZE];
	u64 block;

	for (block = KVP_LABEL_BLOCKS; block < img->blocks - KVP_LABEL_BLOCKS; block++) {
		memset(data, (int)(block % 251 + 1), sizeof(data));
		image_write_data(img, block, data);
	}
}

/*
 * Whatever the attempt left on the leg, it counts for nothing: when the leg is back in sync, it has
 * all, and the pool can do without the leg that it called out. Its history is given up also if the
 * superblock that was chosen is of a leg which it has in sync.
 */
static bool leg_that_is_passed_by_gets_everything(struct script *s)
{
	own.lost = 2;
	if (!loss_that_one_leg_knows_of(s, false))
		return false;
	overwrite_all(s, 0);
	return goes_on_without_the_one(s) && run_life(s, live_without_the_one) &&
	       run_life(s, live_the_one_returns) && all_there(s, BIT(2)) &&
	       run_life(s, live_one_flush) && all_there(s, BIT(2));
}

/* The pool does not get an epoch above that of the leg: the next start could not read it. */
static bool leg_of_the_largest_epoch_is_not_passed_by(struct script *s)
{
	own.lost = 1;
	own.ahead = KVP_SB_COUNT_END - KVP_SB_COUNT_ROOM;
	return loss_that_one_leg_knows_of(s, false) && goes_on_without_the_one(s) &&
	       refused(s, -EOVERFLOW, "no room to grow") && goes_on_without_the_one(s);
}

/* An SSD of a cache, which begins anew when it returns. */
static bool ssd_whose_superblock_never_counted_is_passed_by(struct script *s)
{
	own.alone = s->legs - 1;
	own.lost = 1;
	return loss_that_one_leg_knows_of(s, false) && goes_on_without_the_one(s) &&
	       run_life(s, live_without_the_one) && all_there_together(s) &&
	       run_life(s, live_without_the_one) && all_there_together(s);
}

/* A newer superblock may be where leg 0 cannot be read: that the first one counts. */
static bool leg_that_may_know_more_is_not_passed_by(struct script *s)
{
	u64 called;
	u32 rings;

	own.lost = 1;
	called = loss_that_one_leg_knows_of(s, false);
	if (!called || !goes_on_without_the_one(s))
		return false;
	for (rings = 1; rings < 4; rings++) {
		own.unread = (struct unread){ .legs = BIT(0), .rings = rings,
					     .first = called + 1, .count = 1 };
		if (!refused(s, -ESTALE, "split brain"))
			return false;
	}
	memset(&own.unread, 0, sizeof(own.unread));
	return run_life(s, live_the_one_returns) && all_there(s, BIT(1));
}

static void live_much_and_lose_one(struct script *s)
{
	live_superblocks(s);
	live_leg_offline(s);
}

/*
 * Leg 0 calls leg 1 out, and this has not counted. But the others are put back to a state from long
 * before, and go on from there: leg 0 has what they do not know.
 */
static bool leg_beside_others_that_were_put_back_is_asked_about(struct script *s)
{
	u32 last, i;

	own.lost = 1;
	if (!run_life(s, live_much_and_lose_one))
		return false;
	last = own.nr_past - 1;
	remember(s, s->img);
	recall_past(s, last);
	put_superblock(s, 0, own.past_sequence[last] + 1, ~0u);
	for (i = 1; i < s->legs; i++) {
		image_free(&s->img[i]);
		image_copy(&s->img[i], &own.past[0][i]);
	}
	s->start.missing = BIT(0);
	if (!starts(s) || !starts(s))
		return false;
	s->start.missing = 0;
	return refused(s, -ESTALE, "split brain");
}

/* Superblock @sequence of @leg says @out of the leg that is lost, in both rings. */
static void say_out(struct script *s, u32 leg, u64 sequence, u64 out)
{
	static struct kvp_disk_sb d;
	u32 end, i;

	for (end = 0; end < 2; end++) {
		u64 at = slot_block(&s->img[leg], end, sequence);

		for (i = 0; i < KVP_SB_BLOCKS; i++)
			image_read(&s->img[leg], at + i, (u8 *)&d + i * KVP_BLOCK_SIZE);
		d.legs[own.lost].out = cpu_to_le64(out);
		d.csum = 0;
		d.csum = cpu_to_le32(kvp_crc32c(~0u, &d, sizeof(d)));
		for (i = 0; i < KVP_SB_BLOCKS; i++)
			image_write_data(&s->img[leg], at + i, (u8 *)&d + i * KVP_BLOCK_SIZE);
	}
}

/* A module that does not know the field wrote the superblock of leg 0: nothing is known. */
static bool leg_of_an_older_module_is_asked_about(struct script *s)
{
	u64 called;

	own.lost = 1;
	called = loss_that_one_leg_knows_of(s, false);
	if (!called)
		return false;
	say_out(s, 0, called, 0);
	if (!goes_on_without_the_one(s) || !refused(s, -ESTALE, "split brain"))
		return false;
	say_out(s, 0, called, 1);
	return run_life(s, live_the_one_returns) && all_there(s, BIT(1));
}

/* A forced start of leg 0 and one without it: leg 0 knows nothing of the other one. */
static bool leg_that_others_went_on_without_by_force_is_asked_about(struct script *s)
{
	own.lost = 1;
	if (!loss_that_one_leg_knows_of(s, false))
		return false;
	s->start.degraded = true;
	if (!goes_on_without_the_one(s))
		return false;
	s->start.degraded = false;
	return refused(s, -ESTALE, "split brain");
}

/*
 * The start without leg 0 is cut as well, when its first superblock has reached legs @reached. So
 * neither history has counted, and both have the same number. Either may be gone on from.
 */
static bool both_cut(struct script *s, u32 reached)
{
	u64 called;
	u32 i;

	own.lost = 1;
	called = loss_that_one_leg_knows_of(s, false);
	if (!called)
		return false;
	own.nr_past = 2;
	for (i = 0; i < s->legs; i++)
		image_copy(&own.past[1][i], &s->img[i]);
	s->start.missing = BIT(0);
	if (!starts(s))
		return false;
	s->start.missing = 0;
	remember(s, s->img);
	recall_past(s, 1);
	for (i = 1; i < s->legs; i++)
		if (reached >> i & 1)
			put_superblock(s, i, called, ~0u);
	return starts(s) && all_there_together(s) && run_life(s, live_one_flush) &&
	       all_there_together(s) && starts(s);
}

static bool two_superblocks_that_never_counted(struct script *s)
{
	u32 reached;

	for (reached = 0; reached < BIT(s->legs); reached += 2) {
		u32 i;

		if (!both_cut(s, reached))
			return false;
		if (reached + 2 == BIT(s->legs))
			break;
		/* again, from the state before the loss */
		recall_past(s, 0);
		own.nr_past = 0;
		for (i = 0; i < s->legs; i++) {
			image_free(&own.past[0][i]);
			image_free(&own.past[1][i]);
		}
	}
	return true;
}

/*
 * Leg 0 says that the loss of leg 1 counts. The first start of the others is cut, too, so that they
 * call leg 0 out under a number that is not lower than that of leg 0's superblock.
 */
static bool leg_that_is_called_out_late_is_asked_about(struct script *s)
{
	u64 called;
	u32 i;

	own.lost = 1;
	called = loss_that_one_leg_knows_of(s, true);
	if (!called)
		return false;
	own.nr_past = 2;
	for (i = 0; i < s->legs; i++)
		image_copy(&own.past[1][i], &s->img[i]);
	s->start.missing = BIT(0);
	if (!starts(s))
		return false;
	remember(s, s->img);
	recall_past(s, 1);
	put_superblock(s, 1, called, ~0u);
	return goes_on_without_the_one(s) && refused(s, -ESTALE, "split brain");
}

/* --- the cases -------------------------------------------------------------------------------- */

void run_lives_alone(void)
{
	ON_TWO_VDEVS(torn_superblocks_make_a_whole_one);
	ON_TWO_VDEVS(leg_that_alone_knew_of_a_loss_is_asked_about);
	ON_PARITY(leg_that_alone_knew_of_a_loss_is_asked_about);
	ON_TWO_VDEVS(leg_that_went_on_alone_is_asked_about);
	ON_PARITY(leg_that_went_on_alone_is_asked_about);
	ON_TWO_VDEVS(leg_whose_superblock_never_counted_is_passed_by);
	ON_PARITY(leg_whose_superblock_never_counted_is_passed_by);
	ON_TWO_VDEVS(newest_superblock_that_never_counted_is_passed_by);
	ON_PARITY(newest_superblock_that_never_counted_is_passed_by);
	ON_TWO_VDEVS(leg_that_is_passed_by_gets_everything);
	ON_PARITY(leg_that_is_passed_by_gets_everything);
	ON_TWO_VDEVS(leg_of_the_largest_epoch_is_not_passed_by);
	TEST(ssd_whose_superblock_never_counted_is_passed_by, .legs = 4, .cache = 2);
	TEST(ssd_whose_superblock_never_counted_is_passed_by, .legs = 5, .parity = true,
	     .cache = 2);
	ON_TWO_VDEVS(leg_that_may_know_more_is_not_passed_by);
	ON_PARITY(leg_that_may_know_more_is_not_passed_by);
	ON_TWO_VDEVS(leg_beside_others_that_were_put_back_is_asked_about);
	ON_PARITY(leg_beside_others_that_were_put_back_is_asked_about);
	ON_TWO_VDEVS(leg_of_an_older_module_is_asked_about);
	ON_PARITY(leg_of_an_older_module_is_asked_about);
	ON_LEGS(leg_that_others_went_on_without_by_force_is_asked_about, 2);
	ON_TWO_VDEVS(two_superblocks_that_never_counted);
	ON_PARITY(two_superblocks_that_never_counted);
	ON_TWO_VDEVS(leg_that_is_called_out_late_is_asked_about);
}
