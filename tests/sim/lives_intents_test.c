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

/* --- contents that differ, and have one sum --------------------------------------------------- */

static u8 triplets[3][KVP_BLOCK_SIZE];

static void make_triplets(void)
{
	u32 i;

	for (i = 0; i < KVP_BLOCK_SIZE; i++)
		triplets[0][i] = (u8)(i * 7 + 1);
	same_sum(triplets[0], triplets[1], 100);
	same_sum(triplets[0], triplets[2], 200);
}

static bool have_one_sum(const struct host *h)
{
	struct kvp_seed seed = h->pool->seed;
	u32 sum = kvp_block_sum(seed, 70, triplets[0]);

	return sum == kvp_block_sum(seed, 70, triplets[1]) &&
	       sum == kvp_block_sum(seed, 70, triplets[2]) &&
	       memcmp(triplets[1], triplets[2], KVP_BLOCK_SIZE);
}

/* The third of them, amid blocks of which none gets home. */
static void write_third_by_intent(struct script *s)
{
	u64 before = s->host.pool->log->intent_blocks;

	host_write(&s->host, 64, 40, false);
	host_write_special(&s->host, 70, triplets[2]);
	host_sleep(1500);
	if (s->host.pool->log->intent_blocks != before + 40 || !have_one_sum(&s->host))
		sim_fail("no intent, or not one sum: the case was not set up");
}

/*
 * Home has the first, durably. The second is durable in the log. The third is under an intent that
 * is open, and never gets home.
 */
static void live_open_intent_over_data_of_its_sum(struct script *s)
{
	struct host *h = &s->host;

	make_triplets();
	host_write_special(h, 70, triplets[0]);
	host_flush(h);
	host_checkpoint(h);
	hold_homes(s, 64, 40);
	host_write_special(h, 70, triplets[1]);
	host_flush(h);
	write_third_by_intent(s);
}

/* The sum at home does not show that the direct write got there: the log has a newer version. */
static bool intent_is_not_at_home_by_its_sum_alone(struct script *s)
{
	return run_life(s, live_open_intent_over_data_of_its_sum) && all_there(s, 0);
}

#define ROWS	32u	/* the first row of block 64 */

static void live_first_of_one_sum(struct script *s)
{
	make_triplets();
	host_write(&s->host, 64, 40, false);
	host_write_special(&s->host, 70, triplets[0]);
	host_flush(&s->host);
	host_checkpoint(&s->host);
}

/* No checkpoint ends: no page of the table is written. */
static void hold_table(struct script *s)
{
	u64 end = disks.table_start < disks.log_start ? disks.log_start : disks.data_start;
	u32 i;

	for (i = 0; i < s->legs; i++)
		disks_stall(i, disks.table_start, end - 1);
}

/* Beside a parity1 the second must be home before there is an intent. The log has it still. */
static void live_second_and_third_of_one_sum(struct script *s)
{
	struct host *h = &s->host;
	kvp_lsn_t tail = h->pool->log->tail;
	u32 ms;

	host_read_check(h, 70);		/* its leaf is in memory */
	hold_table(s);
	host_write_special(h, 70, triplets[1]);
	host_flush(h);
	for (ms = 0; kvp_wbuf_any(h->pool->wbuf, 70, 1); ms += 5) {
		if (ms > 10000)
			sim_fail("block 70 does not go home");
		host_sleep(5);
	}
	hold_homes(s, ROWS, 20);
	write_third_by_intent(s);
	if (h->pool->log->tail != tail)
		sim_fail("there was a checkpoint: the case was not set up");
}

/* The rows are as they were: nothing has flushed what was written to them. */
static void drop_unflushed_rows(struct script *s)
{
	u8 data[KVP_BLOCK_SIZE];
	u64 block;
	u32 leg;

	for (leg = 0; leg < s->legs; leg++)
		for (block = own.base->data_start + ROWS;
		     block < own.base->data_start + ROWS + 20; block++) {
			image_read(&own.old[leg], block, data);
			image_write_data(&s->img[leg], block, data);
		}
}

static bool intent_is_not_in_its_row_by_its_sum_alone(struct script *s)
{
	if (!run_life(s, live_first_of_one_sum))
		return false;
	remember(s, s->img);
	if (!run_life(s, live_second_and_third_of_one_sum))
		return false;
	drop_unflushed_rows(s);
	return all_there_together(s) && all_there(s, 0);
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
	ON_LEGS(intent_is_not_at_home_by_its_sum_alone, 1);
	ON_LEGS(intent_is_not_at_home_by_its_sum_alone, 2);
	ON_PARITY(intent_is_not_in_its_row_by_its_sum_alone);
}
