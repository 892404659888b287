// SPDX-License-Identifier: GPL-2.0-only
/*
 * Large writes that went home by intent, and damage there: R4, R5, R8, R17, R27.
 */
#include <string.h>

#include "lives.h"
#include "ram/wbuf.h"
#include "table/table.h"

/* Old contents home but still in the log, as data; new ones by an intent that a FLUSH closed. */
static void live_closed_intent_over_data(struct script *s)
{
	struct host *h = &s->host;
	u32 i;

	/* No two neighbours in a row, and many more than 64 to 103 after those. */
	for (i = 0; i < 290; i++)
		host_write(h, i < 64 ? 64 + 2 * i : 192 + 2 * (i - 64) % 319, 1, false);
	host_flush(h);
	host_sleep(200);
	if (kvp_wbuf_any(h->pool->wbuf, 64, 40) || h->pool->log->tail == h->pool->log->durable.lsn)
		sim_fail("not home, or not in the log any more: the case was not set up");
	host_write(h, 64, 40, false);
	host_flush(h);
	if (!h->pool->log->intent_blocks)
		sim_fail("no intents: the case was not set up");
}

static void live_lost_block(struct script *s)
{
	u64 poisoned = 0;
	u8 data[KVP_BLOCK_SIZE];

	if (host_read(&s->host, 70, data) != -EIO)
		sim_fail("a block that no leg has was read");
	if (kvp_table_next_poisoned(s->host.pool->table, 0, &poisoned) || poisoned != 70)
		sim_fail("block 70 is lost, and %llu is poisoned", poisoned);
}

static void live_overwrite_lost_block(struct script *s)
{
	live_lost_block(s);
	host_write(&s->host, 70, 1, true);
	host_checkpoint(&s->host);
	host_read_check(&s->host, 70);
}

/* Damage below it is damage: neither the older record nor a mixture may come back. */
static bool closed_intent_is_not_undone(struct script *s)
{
	u32 leg;

	if (!run_life(s, live_closed_intent_over_data))
		return false;
	for (leg = 0; leg < s->legs; leg++) {
		rot_home(s, leg, 70);
		if (leg + 1 < s->legs && !all_there_together(s))
			return false;
	}
	return run_life(s, live_lost_block) && run_life(s, live_overwrite_lost_block) &&
	       all_there(s, 0);
}

static void live_find_lost_block(struct script *s)
{
	u8 data[KVP_BLOCK_SIZE];

	if (host_read(&s->host, 70, data) != -EIO)
		sim_fail("a block that no leg has was read");
}

/* The answer that a block is lost does not go away with the power. */
static bool poison_is_durable_before_it_is_told(struct script *s)
{
	u32 leg;

	for (leg = 0; leg < s->legs; leg++)
		rot_home(s, leg, 70);
	if (!run_life(s, live_find_lost_block))
		return false;
	/* the device works again: lost blocks are lost */
	for (leg = 0; leg < s->legs; leg++)
		rot_home(s, leg, 70);
	return run_life(s, live_lost_block) && run_life(s, live_overwrite_lost_block);
}

static void live_intents_that_never_go_home(struct script *s)
{
	hold_homes(s, 64, 40);
	note(s, s->host.pool->sb->era);
	host_write(&s->host, 64, 40, false);
	host_sleep(1500);
}

static void live_look_at_eras(struct script *s)
{
	struct kvp_tpage *leaf = kvp_table_load(s->host.pool->table, 70);
	u64 entry = kvp_table_entry(leaf, 70);

	kvp_table_put(leaf);
	if (kvp_entry_era(entry) <= own.noted[0])
		sim_fail("resolved to the old version, yet of era %u, not later than %llu",
			 kvp_entry_era(entry), own.noted[0]);
}

/* A leg that comes back may hold the new version: it must get the old one again. */
static bool resolved_to_old_gets_the_era_of_the_recovery(struct script *s)
{
	return run_life(s, live_intents_that_never_go_home) && run_life(s, live_look_at_eras) &&
	       all_there(s, 0);
}

static void live_with_an_open_intent(struct script *s)
{
	live_one_flush(s);
	hold_homes(s, 64, 40);
	host_write(&s->host, 64, 40, false);
	host_sleep(1500);
}

static void live_open_intent_over_data(struct script *s)
{
	live_one_flush(s);
	hold_homes(s, 64, 40);
	note(s, log_head(s));
	host_write(&s->host, 70, 1, false);
	host_flush(&s->host);
	host_write_by_intent(&s->host, 64, 40);
	host_sleep(1500);
}

/*
 * Home has a mixture, and the log has the older version. All legs give that for a while, and not
 * when it is wanted: it is not lost.
 */
static bool older_version_that_cannot_be_read_again_is_not_lost(struct script *s)
{
	u32 leg, after, refusals = 0;

	if (!run_life(s, live_open_intent_over_data))
		return false;
	for (leg = 0; leg < s->legs; leg++)
		rot_home(s, leg, 70);
	remember(s, s->img);
	for (after = 0; after < 8; after++) {
		recall(s);
		cannot_read(s, BIT(s->legs) - 1, own.noted[0] + 1, own.noted[0] + 1, -EIO);
		own.bad_after = after;
		if (!run_life(s, NULL))
			return false;
		refusals += s->refused && strstr(s->host.refusal.why, "read from the log");
		own.bad_legs = own.bad_after = 0;
		if (!starts(s) || !all_there(s, 0))
			return false;
	}
	return expect(refusals, "no start was refused: the case was not set up\n");
}

/* One leg has a mixture or rot at home: it is not accepted while another one may have a version. */
static bool mixture_is_not_accepted_beside_a_silent_leg(struct script *s)
{
	u64 home = own.base->data_start + 70;
	u32 leg, i;

	if (!run_life(s, live_with_an_open_intent))
		return false;
	remember(s, s->img);
	for (leg = 0; leg < 2; leg++)
		for (i = 0; i < ARRAY_SIZE(any_error) - 1; i++) {
			recall(s);
			rot_home(s, leg, 70);
			cannot_read(s, BIT(!leg), home, home, any_error[i]);
			if (!run_life(s, NULL))
				return false;
			if (s->refused != -EIO || !strstr(s->host.refusal.why, "nothing is lost")) {
				snprintf(sim_failure, sizeof(sim_failure), "start gave %d, '%s'",
					 s->refused,
					 s->host.refusal.why);
				return false;
			}
			if (!all_there_together(s))
				return false;
		}
	return true;
}

/* --- the cases -------------------------------------------------------------------------------- */

void run_lives_intents(void)
{
	ON_LEGS(closed_intent_is_not_undone, 1);
	ON_LEGS(closed_intent_is_not_undone, 2);
	ON_LEGS(poison_is_durable_before_it_is_told, 1);
	ON_LEGS(poison_is_durable_before_it_is_told, 2);
	ON_LEGS(resolved_to_old_gets_the_era_of_the_recovery, 1);
	ON_LEGS(resolved_to_old_gets_the_era_of_the_recovery, 2);
	ON_LEGS(older_version_that_cannot_be_read_again_is_not_lost, 1);
	ON_LEGS(older_version_that_cannot_be_read_again_is_not_lost, 2);
	ON_LEGS(mixture_is_not_accepted_beside_a_silent_leg, 2);
}
