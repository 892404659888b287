// SPDX-License-Identifier: GPL-2.0-only
/*
 * Damage in the log, and parts of it that no leg gives now: what was acknowledged is found, or the
 * start is refused. R10, R11, R12, R27.
 */
#include <string.h>

#include "lives.h"
#include "io/io.h"

/* --- damage: R10, R11, R12 -------------------------------------------------------------------- */

/* Later entries say that it was durable: refused if no leg has it, of no account if one has. */
static bool damaged_log_below_the_watermark_is_refused(struct script *s)
{
	u32 entry, leg, how;

	if (!run_life(s, live_entries))
		return false;
	remember(s, s->img);
	for (entry = 0; entry < 5; entry++)
		for (how = 0; how < DAMAGES; how++) {
			recall(s);
			for (leg = 0; leg < s->legs; leg++) {
				damage(&s->img[leg], own.noted[entry], how);
				if (leg + 1 < s->legs && !all_there_together(s))
					return false;
			}
			if (!refused(s, -EUCLEAN, "damaged"))
				return false;
		}
	return true;
}

/*
 * A checkpoint beside an open intent leaves the tail behind, but its superblock has the newer
 * watermark.
 */
static void live_checkpoint_beside_an_open_intent(struct script *s)
{
	struct host *h = &s->host;

	live_one_flush(s);
	hold_homes(s, 64, 40);
	host_write(h, 64, 40, false);
	host_sleep(1500);
	note(s, log_head(s));
	host_write(h, 20, 1, false);
	host_sleep(1500);
	note(s, h->pool->sb->checkpoint);
	host_destage(h);
	host_sleep(500);
	if (h->pool->sb->checkpoint == own.noted[1] ||
	    h->pool->sb->log_commit <= h->pool->sb->log_tail)
		sim_fail("no checkpoint beside an intent: the case was not set up");
}

static bool damaged_log_that_the_superblock_names_is_refused(struct script *s)
{
	u32 leg;

	if (!run_life(s, live_checkpoint_beside_an_open_intent) || !all_there(s, 0))
		return false;
	for (leg = 0; leg < s->legs; leg++)
		damage(&s->img[leg], own.noted[0], DAMAGE_ZEROS);
	return refused(s, -EUCLEAN, "damaged");
}

static bool names_both_epochs(struct script *s, u64 log, u64 label)
{
	char both[64];

	snprintf(both, sizeof(both), "epoch %llu", (unsigned long long)log);
	if (!refused(s, -ESTALE, both))
		return false;
	snprintf(both, sizeof(both), "epoch %llu", (unsigned long long)label);
	return refused(s, -ESTALE, both);
}

static void live_loss_of_leg_1(struct script *s)
{
	live_one_flush(s);
	note(s, s->host.pool->durable_epoch);
	remember(s, disks.img);
	disks_kill(1);
	live_one_flush(s);
	live_one_flush(s);
	note(s, s->host.pool->durable_epoch);
}

/* The leg that was in use last lost its newest superblocks: its log tells. */
static bool log_of_a_higher_epoch_is_refused(struct script *s)
{
	if (!run_life(s, live_loss_of_leg_1))
		return false;
	recall_labels(s, 0);
	return names_both_epochs(s, own.noted[1], own.noted[0]);
}

static void live_and_note_epoch(struct script *s)
{
	live_one_flush(s);
	note(s, s->host.pool->durable_epoch);
	note(s, s->host.pool->log->head.lsn);
}

/* The same with a later activation whose log does not verify. */
static bool log_of_a_later_life_is_refused(struct script *s)
{
	u32 leg;

	if (!run_life(s, live_and_note_epoch))
		return false;
	remember(s, s->img);
	if (!run_life(s, live_and_note_epoch))
		return false;
	for (leg = 0; leg < s->legs; leg++)
		recall_labels(s, leg);
	return names_both_epochs(s, own.noted[2], own.noted[0]);
}

static void live_entry_on_leg_1(struct script *s)
{
	disks_stall(0, disks.log_start, disks.log_start + disks.log_blocks - 1);
	host_write(&s->host, 64, 15, false);
	kvp_commit_now(s->host.pool->log);
	kvp_commit_kick(s->host.pool->log, true);
	host_sleep(50);
}

/* Recovery takes it from there, and is cut, and that leg is lost: the other must have it. */
static bool entry_on_one_leg_is_equalised_before_it_goes_home(struct script *s)
{
	struct crash c = { .images = s->img, .legs = s->legs, .o = &s->o, .at = ~0u };
	u32 i;

	if (!run_life(s, live_entry_on_leg_1))
		return false;
	for (i = 0; i < 8; i++) {
		c.seed = mix64(s->seed, 300 + i);
		if (check_crash(&c, CHECK_RECRASH))
			return false;
	}
	return true;
}

/*
 * Nothing goes home. The part of the log that counts begins at a noted place, and ends in the third
 * segment.
 */
static void live_long_log(struct script *s)
{
	const struct kvp_log *log = s->host.pool->log;
	u64 begin = log->head.lsn;

	note(s, begin);
	hold_homes(s, 0, disks.img[0].blocks - disks.data_start);
	while (log->head.lsn < begin + 2 * disks.log_segment + 40) {
		host_write(&s->host, 10, 12, false);
		host_flush(&s->host);
	}
	note(s, s->host.pool->durable_epoch);
}

/* No header is left on any leg from @lsn to before @end. */
static void wipe_headers(struct script *s, u64 lsn, u64 end)
{
	u8 data[KVP_BLOCK_SIZE];
	u32 leg;

	for (; lsn < end; lsn++)
		for (leg = 0; leg < s->legs; leg++) {
			u64 block = own.base->log_start + lsn % own.base->log_blocks;

			image_read(&s->img[leg], block, data);
			if (le32_to_cpu(*(__le32 *)data) == KVP_LOG_MAGIC)
				damage(&s->img[leg], block, DAMAGE_ZEROS);
		}
}

/*
 * Where recovery begins to look for the first headers of segments alone, when the log ends at @end.
 */
static u64 far_from(u64 end)
{
	u64 far = end + KVP_LOG_UNWITNESSED;

	return far - far % disks.log_segment + disks.log_segment;
}

/*
 * One entry is left before the damage, and behind it the first header of one segment: it is enough.
 */
static bool one_segment_far_behind_is_a_witness(struct script *s)
{
	u64 begin, far;

	if (!run_life(s, live_long_log))
		return false;
	begin = own.noted[0];
	far = far_from(begin + 13);
	wipe_headers(s, begin + 1, far);
	wipe_headers(s, far + 1, begin + own.base->log_blocks);
	if (!refused(s, -EUCLEAN, "damaged"))
		return false;
	wipe_headers(s, far, far + 1);
	return starts(s);
}

static void live_long_log_and_note_nonce(struct script *s)
{
	live_long_log(s);
	note(s, s->host.pool->sb->nonce);
}

/* Gives the header at @lsn, on all legs, so many open intents that it needs more than one block. */
static void lengthen_header(struct script *s, u64 lsn, u64 nonce)
{
	u64 block = own.base->log_start + lsn % own.base->log_blocks;
	u8 buf[2 * KVP_BLOCK_SIZE];
	struct kvp_disk_log_hdr *d = (struct kvp_disk_log_hdr *)buf;
	struct kvp_disk_rec *recs = (struct kvp_disk_rec *)(buf + KVP_LOG_HDR_SIZE);
	struct kvp_log_hdr h;
	u32 leg, i;

	image_read(&s->img[0], block, buf);
	h = (struct kvp_log_hdr){
		.nonce = le64_to_cpu(d->nonce), .epoch = le64_to_cpu(d->epoch), .lsn = lsn,
		.durable = le64_to_cpu(d->durable), .hdr_blocks = 2, .blocks = 2,
		.rec_count = (KVP_BLOCK_SIZE - KVP_LOG_HDR_SIZE) / sizeof(*recs) + 1,
	};
	for (i = 0; i < h.rec_count; i++) {
		struct kvp_rec r = { .kind = KVP_REC_INTENT, .block = i, .count = 1 };

		kvp_rec_encode(&r, &recs[i]);
	}
	kvp_log_seal_over(buf, &h, nonce, KVP_LOG_HDR_SIZE);
	for (leg = 0; leg < s->legs; leg++)
		for (i = 0; i < 2; i++)
			image_write_data(&s->img[leg], block + i, buf + i * KVP_BLOCK_SIZE);
}

/* Nor does it matter how long that header is. */
static bool long_header_far_behind_is_a_witness(struct script *s)
{
	u64 begin, far;

	if (!run_life(s, live_long_log_and_note_nonce))
		return false;
	begin = own.noted[0];
	far = far_from(begin + 13);
	lengthen_header(s, far, own.noted[2]);
	wipe_headers(s, begin + 1, far);
	wipe_headers(s, far + 2, begin + own.base->log_blocks);
	if (!refused(s, -EUCLEAN, "damaged"))
		return false;
	wipe_headers(s, far, far + 1);
	return starts(s);
}

/* Nor need it be the first header of its segment, as long as that is near. */
static bool entry_in_the_next_segment_is_a_witness(struct script *s)
{
	u64 begin, next;

	if (!run_life(s, live_long_log))
		return false;
	begin = own.noted[0];
	next = begin - begin % disks.log_segment + disks.log_segment;
	if (far_from(begin + 13) <= next + 1 + 13)
		sim_fail("no entry is in the next segment: the case was not set up");
	wipe_headers(s, begin + 1, next + 1);
	wipe_headers(s, far_from(begin + 13), begin + own.base->log_blocks);
	return refused(s, -EUCLEAN, "damaged");
}

/* The same of a later activation, of which the superblocks know nothing. */
static bool later_life_far_behind_is_refused(struct script *s)
{
	u64 begin, far;
	u32 leg;

	if (!run_life(s, live_and_note_epoch))
		return false;
	remember(s, s->img);
	if (!run_life(s, live_long_log))
		return false;
	begin = own.noted[2];
	far = far_from(own.noted[1]);
	wipe_headers(s, begin, far);
	wipe_headers(s, far + 1, begin + own.base->log_blocks - disks.log_segment);
	for (leg = 0; leg < s->legs; leg++)
		recall_labels(s, leg);
	return names_both_epochs(s, own.noted[3], own.noted[0]);
}

/* --- what cannot be read now is not absent: R27 ----------------------------------------------- */

static void live_and_note_the_head(struct script *s)
{
	live_entries(s);
	note(s, log_head(s));
}

/* From an entry on, or a block of its payload: no leg gives it, and the next start finds all. */
static bool unreadable_log_is_waited_for(struct script *s)
{
	u32 all = BIT(s->legs) - 1, entry, i;

	if (!run_life(s, live_entries))
		return false;
	for (entry = 0; entry < 6; entry++)
		for (i = 0; i < ARRAY_SIZE(any_error); i++) {
			cannot_read(s, all, own.noted[entry], last_of_log(s), any_error[i]);
			if (!refused(s, -EIO, "nothing is lost"))
				return false;
			cannot_read(s, all, own.noted[entry] + 1, own.noted[entry] + 1,
				    any_error[i]);
			if (!refused(s, -EIO, "nothing is lost") || !all_there_together(s))
				return false;
		}
	return all_there(s, 0);
}

/*
 * The others have this leg's part, and show where the log ends: all must have the log before a
 * write is acknowledged (R15).
 */
static bool one_leg_whose_log_cannot_be_read_is_not_waited_for(struct script *s)
{
	u32 leg, i;

	if (!run_life(s, live_entries))
		return false;
	remember(s, s->img);
	for (leg = 0; leg < s->legs; leg++)
		for (i = 0; i < ARRAY_SIZE(any_error); i++) {
			recall(s);
			cannot_read(s, BIT(leg), own.base->log_start, last_of_log(s), any_error[i]);
			if (!starts(s))
				return false;
			if (!all_there_together(s))
				return false;
		}
	return true;
}

/* One leg's part of the last entry is rotten, like torn: the other leg has it. */
static bool part_of_an_entry_is_no_answer(struct script *s)
{
	u32 leg, i, how;

	if (!run_life(s, live_entries))
		return false;
	remember(s, s->img);
	for (leg = 0; leg < 2; leg++)
		for (i = 0; i < ARRAY_SIZE(any_error) - 1; i++)
			for (how = DAMAGE_BIT; how < DAMAGES; how++) {
				recall(s);
				damage(&s->img[leg], own.noted[5], how);
				cannot_read(s, BIT(!leg), own.noted[5], last_of_log(s),
					    any_error[i]);
				if (!refused(s, -EIO, "nothing is lost") || !all_there_together(s))
					return false;
			}
	return true;
}

/*
 * A bad sector may be there for years. But a leg that does not answer at all may know that the log
 * went on.
 */
static bool bad_sector_behind_the_end_is_no_matter(struct script *s)
{
	u32 all = BIT(s->legs) - 1, i;

	if (!run_life(s, live_and_note_the_head))
		return false;
	remember(s, s->img);
	for (i = 0; i < ARRAY_SIZE(any_error); i++) {
		bool medium = any_error[i] == -EIO || any_error[i] == -ENODATA;

		cannot_read(s, all, own.noted[6] + 20, own.noted[6] + 20, any_error[i]);
		if (!(medium ? starts(s) : refused(s, -EIO, "nothing is lost")) ||
		    !all_there_together(s))
			return false;
		recall(s);
		cannot_read(s, all, own.noted[6] + 1, last_of_log(s), any_error[i]);
		if (!refused(s, -EIO, "nothing is lost") || !all_there_together(s))
			return false;
	}
	return true;
}

/*
 * All that is near could be read, which is much more than the first headers that are far. Only
 * these show that the log went on, and no leg gives them.
 */
static bool far_headers_that_do_not_answer_are_waited_for(struct script *s)
{
	u32 all = BIT(s->legs) - 1, i;
	u64 begin, far, first, count;

	if (!run_life(s, live_long_log))
		return false;
	begin = own.noted[0];
	far = far_from(begin + 13);
	first = far % own.base->log_blocks;
	count = begin + own.base->log_blocks - far;
	if (!expect(first + count <= own.base->log_blocks,
		    "the log goes round there: the case was not set up\n"))
		return false;
	wipe_headers(s, begin + 1, far);
	for (i = 0; i < ARRAY_SIZE(any_error) - 1; i++) {
		cannot_read(s, all, own.base->log_start + first,
			    own.base->log_start + first + count - 1, any_error[i]);
		if (!refused(s, -EIO, "nothing is lost"))
			return false;
	}
	cannot_read(s, 0, 0, 0, 0);
	return refused(s, -EUCLEAN, "damaged");
}

/* --- the cases -------------------------------------------------------------------------------- */

void run_lives_log(void)
{
	ON_LEGS(damaged_log_below_the_watermark_is_refused, 1);
	ON_LEGS(damaged_log_below_the_watermark_is_refused, 2);
	ON_LEGS(damaged_log_that_the_superblock_names_is_refused, 1);
	ON_LEGS(damaged_log_that_the_superblock_names_is_refused, 2);
	ON_LEGS(log_of_a_higher_epoch_is_refused, 2);
	ON_LEGS(log_of_a_later_life_is_refused, 1);
	ON_LEGS(log_of_a_later_life_is_refused, 2);
	ON_LEGS(entry_on_one_leg_is_equalised_before_it_goes_home, 2);
	ON_LEGS(one_segment_far_behind_is_a_witness, 1);
	ON_LEGS(one_segment_far_behind_is_a_witness, 2);
	ON_LEGS(long_header_far_behind_is_a_witness, 1);
	ON_LEGS(long_header_far_behind_is_a_witness, 2);
	ON_LEGS(entry_in_the_next_segment_is_a_witness, 1);
	ON_LEGS(entry_in_the_next_segment_is_a_witness, 2);
	ON_LEGS(later_life_far_behind_is_refused, 1);
	ON_LEGS(later_life_far_behind_is_refused, 2);
	ON_LEGS(unreadable_log_is_waited_for, 1);
	ON_LEGS(unreadable_log_is_waited_for, 2);
	ON_LEGS(one_leg_whose_log_cannot_be_read_is_not_waited_for, 2);
	ON_LEGS(part_of_an_entry_is_no_answer, 2);
	ON_LEGS(bad_sector_behind_the_end_is_no_matter, 1);
	ON_LEGS(bad_sector_behind_the_end_is_no_matter, 2);
	ON_LEGS(far_headers_that_do_not_answer_are_waited_for, 1);
	ON_LEGS(far_headers_that_do_not_answer_are_waited_for, 2);
}
