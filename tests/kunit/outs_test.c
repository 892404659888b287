// SPDX-License-Identifier: GPL-2.0-only
/* Superblocks that never counted: which leg may be passed by, and which superblock counts. */
#include "kvpool_kunit.h"
#include "format/outs.c"

#define LEGS	4	/* of two mirrors */

/*
 * Leg 0 calls leg 1 out, and this has not counted. The others went on, and call leg 0 out. Leg 1
 * has the superblock by which that counts.
 */
struct parted {
	struct kvp_sb own, best, third;
};

static void make_sb(struct kvp_sb *sb, u32 leg, u64 epoch, u64 sequence)
{
	u32 i;

	memset(sb, 0, sizeof(*sb));
	sb->vdev_count = 2;
	sb->leg_count = LEGS;
	sb->leg_index = leg;
	sb->epoch = epoch;
	sb->sequence = sequence;
	for (i = 0; i < 2; i++)
		sb->vdevs[i] = (struct kvp_geometry){ .kind = KVP_VDEV_MIRROR, .leg_count = 2,
						      .first_leg = 2 * i };
	for (i = 0; i < LEGS; i++) {
		sb->legs[i].uuid[0] = (u8)(i + 1);
		sb->legs[i].state = KVP_LEG_IN_SYNC;
	}
	memcpy(sb->leg_uuid, sb->legs[leg].uuid, sizeof(sb->leg_uuid));
}

static void call_out(struct kvp_sb *sb, u32 leg, u64 out)
{
	sb->legs[leg].state = KVP_LEG_FAULTED;
	sb->legs[leg].out = out;
}

static int make_parted(struct kunit *test)
{
	struct parted *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, p);
	make_sb(&p->own, 0, 5, 10);
	call_out(&p->own, 1, KVP_OUT_CALLED);
	make_sb(&p->best, 1, 6, 12);
	call_out(&p->best, 0, 11 + 1);
	make_sb(&p->third, 2, 6, 12);
	call_out(&p->third, 0, 11 + 1);
	test->priv = p;
	return 0;
}

enum whose { OWN, BEST, BOTH };

struct case_of_parted {
	const char *name;
	enum whose whose;
	void (*change)(struct kvp_sb *sb);
	bool passed;
};

static void nothing(struct kvp_sb *sb) {}
static void counted(struct kvp_sb *sb) { sb->legs[1].out = 11; }
static void unknown(struct kvp_sb *sb) { sb->legs[1].out = 0; }
static void loses_another(struct kvp_sb *sb) { call_out(sb, 2, 11); }
static void tries_another(struct kvp_sb *sb) { call_out(sb, 2, KVP_OUT_CALLED); }
static void calls_none(struct kvp_sb *sb) { sb->legs[1].state = KVP_LEG_IN_SYNC; }
static void is_out(struct kvp_sb *sb) { call_out(sb, 0, 2); }
static void only_called(struct kvp_sb *sb) { sb->legs[0].out = KVP_OUT_CALLED; }
static void says_nothing(struct kvp_sb *sb) { sb->legs[0].out = 0; }
static void has_it_in_sync(struct kvp_sb *sb) { sb->legs[0].state = KVP_LEG_IN_SYNC; }
static void has_it_resilver(struct kvp_sb *sb) { sb->legs[0].state = KVP_LEG_RESILVERING; }
static void leg_0_returned(struct kvp_sb *sb) { sb->legs[0].in_sync_epoch = 4; }
static void leg_1_returned(struct kvp_sb *sb) { sb->legs[1].in_sync_epoch = 4; }
static void leg_3_returned(struct kvp_sb *sb) { sb->legs[3].in_sync_epoch = 4; }
static void lost_leg_2_too(struct kvp_sb *sb) { call_out(sb, 2, 12); }
static void own_leg_is_out(struct kvp_sb *sb) { call_out(sb, sb->leg_index, 12); }
static void was_forced(struct kvp_sb *sb) { sb->forks[sb->fork_count++] = 7; }
static void gave_up_the_log(struct kvp_sb *sb) { sb->log_discards++; }
static void is_far_ahead(struct kvp_sb *sb) { sb->sequence = 12; }
static void is_ahead_alone(struct kvp_sb *sb) { sb->sequence = 12; sb->behind = 1; }
static void is_as_far(struct kvp_sb *sb) { sb->sequence = 11; }
static void is_far_behind(struct kvp_sb *sb) { sb->sequence = 9; only_called(sb); }
static void is_another_pool(struct kvp_sb *sb) { sb->pool_uuid[0] = 1; }
static void has_a_new_leg(struct kvp_sb *sb) { sb->legs[3].uuid[0] = 99; }
static void has_one_more(struct kvp_sb *sb) { sb->leg_count++; }
static void has_parity(struct kvp_sb *sb) { sb->vdevs[0].kind = KVP_VDEV_PARITY1; }
static void joins(struct kvp_sb *sb) { sb->flags |= KVP_SB_JOINING; }

static const struct case_of_parted cases_of_parted[] = {
	{ "as it was", BOTH, nothing, true },
	{ "it counted", OWN, counted, false },
	{ "an older module wrote it", OWN, unknown, false },
	{ "it calls two out, and one counted", OWN, loses_another, false },
	{ "it calls two out, and none counted", OWN, tries_another, true },
	{ "it calls none out", OWN, calls_none, false },
	{ "it calls itself out", OWN, is_out, false },
	{ "the other one did not count either", BEST, only_called, true },
	{ "an older module wrote the other one", BEST, says_nothing, false },
	{ "the other one has it in sync", BEST, has_it_in_sync, false },
	{ "it is about to return", BEST, has_it_resilver, false },
	{ "it returned since", OWN, leg_0_returned, false },
	{ "it returned since, as the other one says", BEST, leg_0_returned, false },
	{ "it returned before", BOTH, leg_0_returned, true },
	{ "the leg that it calls out returned", BEST, leg_1_returned, false },
	{ "a third leg returned", BEST, leg_3_returned, false },
	{ "a third leg is lost", BEST, lost_leg_2_too, true },
	{ "the other one is of a leg that is out", BEST, own_leg_is_out, false },
	{ "the other one was forced", BEST, was_forced, false },
	{ "it was forced", OWN, was_forced, false },
	{ "both were forced before", BOTH, was_forced, true },
	{ "a log was given up", BEST, gave_up_the_log, false },
	{ "the other one was put back", OWN, is_far_ahead, false },
	{ "the other one lacks what never counted", OWN, is_ahead_alone, true },
	{ "the other one went on from there", OWN, is_as_far, true },
	{ "the other one was put back, and did not count either", BEST, is_far_behind, false },
	{ "another pool", BEST, is_another_pool, false },
	{ "a leg was replaced", BEST, has_a_new_leg, false },
	{ "a leg was attached", BEST, has_one_more, false },
	{ "another kind of vdev", BEST, has_parity, false },
	{ "a label that joins", OWN, joins, false },
};
KUNIT_ARRAY_PARAM_DESC(case_of_parted, cases_of_parted, name);

static void only_a_leg_that_did_nothing_is_passed_by(struct kunit *test)
{
	const struct case_of_parted *c = test->param_value;
	struct parted *p = test->priv;

	if (c->whose != BEST)
		c->change(&p->own);
	if (c->whose != OWN)
		c->change(&p->best);
	KUNIT_EXPECT_EQ(test, kvp_sb_never_counted(&p->own, &p->best), c->passed);
}

static const struct kvp_sb *choose(struct parted *p, bool all_read)
{
	const struct kvp_rival rivals[] = {
		{ &p->own, all_read }, { &p->best, true }, { &p->third, true },
	};

	return kvp_rivals_choose(rivals, ARRAY_SIZE(rivals));
}

static void the_newest_is_passed_by_too(struct kunit *test)
{
	struct parted *p = test->priv;

	KUNIT_EXPECT_PTR_EQ(test, choose(p, true), (const struct kvp_sb *)&p->best);
	p->own.epoch = 9;
	KUNIT_EXPECT_PTR_EQ(test, choose(p, true), (const struct kvp_sb *)&p->best);
	KUNIT_EXPECT_PTR_EQ(test, choose(p, false), (const struct kvp_sb *)&p->own);
	p->own.legs[1].out = 11;
	KUNIT_EXPECT_PTR_EQ(test, choose(p, true), (const struct kvp_sb *)&p->own);
	KUNIT_EXPECT_NULL(test, kvp_rivals_choose(NULL, 0));
}

/* No other leg hides a split brain, even if that leg is in sync in both histories. */
static void a_split_brain_is_not_got_round(struct kunit *test)
{
	struct parted *p = test->priv;

	counted(&p->own);
	p->third.sequence = p->best.sequence;
	KUNIT_EXPECT_PTR_EQ(test, choose(p, true), (const struct kvp_sb *)&p->best);
	KUNIT_EXPECT_TRUE(test, kvp_sb_forked(&p->own, &p->best, false));
	KUNIT_EXPECT_FALSE(test, kvp_sb_never_counted(&p->own, &p->best));
}

/* Legs 1 and 2 have the one superblock, leg 0 the other, and both have the same number. */
static void of_two_that_were_cut_one_is_chosen(struct kunit *test)
{
	struct parted *p = test->priv;

	only_called(&p->best);
	only_called(&p->third);
	p->own.epoch = p->best.epoch;
	p->own.sequence = p->best.sequence;
	KUNIT_EXPECT_PTR_EQ(test, choose(p, true), (const struct kvp_sb *)&p->best);
	/* Leg 2 has neither. */
	make_sb(&p->third, 2, 5, 9);
	KUNIT_EXPECT_PTR_EQ(test, choose(p, true), (const struct kvp_sb *)&p->own);
}

static void a_loss_needs_two_superblocks(struct kunit *test)
{
	struct parted *p = test->priv;
	struct kvp_sb *sb = &p->own;

	KUNIT_EXPECT_TRUE(test, kvp_outs_counted(sb));
	KUNIT_EXPECT_EQ(test, sb->legs[1].out, 10 + KVP_OUT_CALLED);
	sb->sequence++;
	KUNIT_EXPECT_FALSE(test, kvp_outs_counted(sb));
	KUNIT_EXPECT_EQ(test, sb->legs[1].out, 10 + KVP_OUT_CALLED);
	/* An older module called this one out. It is known to have counted by now. */
	call_out(sb, 3, 0);
	KUNIT_EXPECT_FALSE(test, kvp_outs_counted(sb));
	KUNIT_EXPECT_EQ(test, sb->legs[3].out, 11 + KVP_OUT_CALLED);
	KUNIT_EXPECT_NULL(test, kvp_outs_fault(sb));
	sb->legs[1].state = KVP_LEG_IN_SYNC;
	KUNIT_EXPECT_NOT_NULL(test, kvp_outs_fault(sb));
	kvp_outs_note(sb);
	KUNIT_EXPECT_EQ(test, sb->legs[1].out, 0);
	KUNIT_EXPECT_NULL(test, kvp_outs_fault(sb));
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(only_a_leg_that_did_nothing_is_passed_by, case_of_parted_gen_params),
	KUNIT_CASE(the_newest_is_passed_by_too),
	KUNIT_CASE(a_split_brain_is_not_got_round),
	KUNIT_CASE(of_two_that_were_cut_one_is_chosen),
	KUNIT_CASE(a_loss_needs_two_superblocks),
	{}
};

static struct kunit_suite suite = {
	.name = "kvpool_outs",
	.init = make_parted,
	.test_cases = cases,
};
kunit_test_suite(suite);
