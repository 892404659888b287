// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of several lives of a pool, with changes of the disks in between. A life ends in a power
 * cut that keeps all writes. Then the test damages, rolls back, copies or removes parts, and states
 * the expected result of the next start.
 */
#include <stdlib.h>
#include <string.h>

#include <linux/delay.h>
#include <linux/mm.h>

#include "life.h"
#include "suite.h"
#include "io/io.h"
#include "ram/wbuf.h"
#include "super/events.h"
#include "super/finds.h"
#include "super/members.h"
#include "table/table.h"
#include "work/destage.h"

#define MAX_NOTED 32
#define MAX_PAST 8

/* Superblocks that cannot be read: of @legs and @rings, bit each, @count from number @first on. */
struct unread {
	u32 legs, rings, count;
	u64 first;
	u32 times;		/* so often each; 0: for good */
	u64 made;		/* blocks of the legs when they were made; 0: they did not grow */
	u32 unwritable;		/* rings, bit each, in which they cannot be written over either */
};

struct lives_test {
	struct host host;
	struct host_start start;
	const struct base *base;
	struct oracle o;
	struct image img[MAX_DISKS];	/* contents of the disks */
	struct image old[MAX_DISKS];	/* as remember() found them */
	const char *name;
	u32 legs, lives, winner;
	u64 seed;
	void (*live)(struct lives_test *s);
	int refused;
	/* bit per leg: in the next lives these blocks cannot be read there */
	u32 bad_legs;
	u64 bad_first, bad_last;
	int bad_error;			/* but end with this */
	u32 bad_after;			/* so many of these reads pass first, on each leg */
	bool bad_ring;			/* a block of each leg's ring of events cannot be read */
	struct unread unread;
	bool goes_back;			/* to a superblock before the last, which is written over */
	bool may_lose;			/* table pages were written over: blocks may read EIO */
	/*
	 * bit per leg: it takes no superblocks, in a life that ends after a while; or not the one
	 * with this number, or only not in these rings, bit each
	 */
	u32 stalled, stalled_rings;
	u64 stalled_at;
	/* leg @alone knows that leg @lost is out, by a superblock @ahead epochs ahead */
	u32 alone, lost;
	u64 ahead;
	bool second;			/* of the two superblocks of a loss, it is this one */
	/* earlier contents of the disks, and the superblock then */
	struct image past[MAX_PAST][MAX_DISKS];
	u64 past_sequence[MAX_PAST];
	u32 nr_past;
	u64 noted[MAX_NOTED];		/* for the test itself */
	u32 nr_noted;
};

/* --- lives ----------------------------------------------------------------------- */

static void hide_superblocks(const struct unread *u)
{
	u32 leg, ring, i;

	for (leg = 0; leg < disks.nr; leg++)
		for (ring = 0; ring < 2; ring++)
			for (i = 0; i < u->count; i++) {
				u64 at = kvp_sb_slot_offset(u->made ?: disks.img[leg].blocks, ring,
							    (u->first + i) % KVP_SB_RING);

				if (u->legs >> leg & u->rings >> ring & 1)
					disks_fault(FAULT_READ_EIO, leg, at >> KVP_BLOCK_SHIFT,
						    (at >> KVP_BLOCK_SHIFT) +
						    KVP_SB_BLOCKS - 1)->times = u->times;
				if (u->legs >> leg & u->unwritable >> ring & 1)
					disks_fault(FAULT_WRITE_EIO, leg, at >> KVP_BLOCK_SHIFT,
						    (at >> KVP_BLOCK_SHIFT) + KVP_SB_BLOCKS - 1);
			}
}

static void hold_labels(u32 disk)
{
	u64 last = disks.img[disk].blocks - 1;

	disks_stall(disk, 0, KVP_LABEL_BLOCKS - 1);
	disks_stall(disk, last - KVP_LABEL_BLOCKS + 1, last);
}

static void cut_later(void *arg)
{
	/* It may take a second to read labels. */
	msleep(3000);
	sim_power_cut();
}

static void life_main(void *arg)
{
	struct lives_test *s = arg;
	u32 i;

	disks.forged = s->goes_back;
	hide_superblocks(&s->unread);
	for (i = 0; i < s->legs; i++)
		if (s->stalled >> i & 1 && s->stalled_at)
			life_hold_superblock(i, s->stalled_rings ?: 3, s->stalled_at);
		else if (s->stalled >> i & 1)
			hold_labels(i);
	if (s->stalled) {
		disks.stalls_writes = true;
		sim_spawn("cutter", cut_later, NULL);
	}
	for (i = 0; s->bad_ring && i < s->legs; i++)
		disks_fault(FAULT_READ_EIO, i, KVP_EVENTS_BLOCK + 40, KVP_EVENTS_BLOCK + 40);
	for (i = 0; i < s->legs; i++)
		if (s->bad_legs >> i & 1) {
			struct fault *f = disks_fault(FAULT_READ_EIO, i, s->bad_first, s->bad_last);

			f->error = s->bad_error;
			f->after = s->bad_after;
		}
	s->refused = host_start(&s->host, &s->o, &s->start);
	if (s->live && s->refused)
		sim_fail("start refused (%d): %s", s->refused, s->host.refusal.why);
	if (s->live)
		s->live(s);
	else if (!s->refused)
		host_stop(&s->host);
}

/* False: the test has failed. */
static bool run_life(struct lives_test *s, void (*live)(struct lives_test *s))
{
	struct sim_config config;
	bool good;
	u32 i;

	check_seed_config(&config, mix64(s->seed, ++s->lives));
	s->live = live;
	disks_begin(s->img, s->legs);
	good = sim_run(&config, life_main, s) == (s->stalled ? SIM_POWER_CUT : SIM_RETURNED);
	disks_end();
	check_stats.machines++;
	for (i = 0; i < s->legs; i++) {
		image_free(&s->img[i]);
		image_copy(&s->img[i], &disks.img[i]);
	}
	return good;
}

/*
 * A start that must be refused, with these words in its reason. Nothing may be
 * written but copies of log entries that another leg has.
 */
static bool refused(struct lives_test *s, int error, const char *words)
{
	const struct trace *t = &disks.trace;
	u32 i;

	if (!run_life(s, NULL))
		return false;
	if (s->refused != error || !strstr(s->host.refusal.why, words)) {
		snprintf(sim_failure, sizeof(sim_failure), "start gave %d, '%s'; wanted %d, '%s'",
			 s->refused, s->host.refusal.why, error, words);
		return false;
	}
	for (i = 0; i < t->nr_requests; i++)
		if (t->requests[i].op != KVP_IO_WRITE_FUA ||
		    t->requests[i].block < s->base->log_start ||
		    t->requests[i].block >= s->base->log_start + s->base->log_blocks) {
			snprintf(sim_failure, sizeof(sim_failure),
				 "a start that was refused wrote block %llu", t->requests[i].block);
			return false;
		}
	return true;
}

static bool starts(struct lives_test *s)
{
	if (run_life(s, NULL) && !s->refused)
		return true;
	if (s->refused)
		snprintf(sim_failure, sizeof(sim_failure), "start refused (%d): %s", s->refused,
			 s->host.refusal.why);
	return false;
}

/* All acknowledged data is there, whatever else happens. The images are unchanged. */
static bool all_there_if(struct lives_test *s, u32 lost, enum check_depth depth)
{
	struct crash c = {
		.images = s->img, .legs = s->legs, .second = s->base->second, .o = &s->o,
		.parity = s->base->parity, .second_parity = s->base->second_parity,
			.cache = s->base->cache,
		.at = ~0u, .lost = lost,
		.seed = mix64(s->seed, 77), .heal_allowed = true, .poison_allowed = s->may_lose,
	};

	return !check_crash(&c, depth);
}

static bool all_there(struct lives_test *s, u32 lost)
{
	return all_there_if(s, lost, CHECK_LEGS);
}

/* One leg alone may lack it now. */
static bool all_there_together(struct lives_test *s)
{
	return all_there_if(s, 0, CHECK_CONTENTS);
}

/* --- at the disks ------------------------------------------------------------------- */

static void remember(struct lives_test *s, const struct image *img)
{
	u32 i;

	for (i = 0; i < s->legs; i++) {
		image_free(&s->old[i]);
		image_copy(&s->old[i], &img[i]);
	}
}

static void recall(struct lives_test *s)
{
	u32 i;

	for (i = 0; i < s->legs; i++) {
		image_free(&s->img[i]);
		image_copy(&s->img[i], &s->old[i]);
	}
}

/* Restores the superblocks of @leg, at both ends. */
static void recall_labels(struct lives_test *s, u32 leg)
{
	struct image *img = &s->img[leg];
	u32 b;

	for (b = 0; b < KVP_LABEL_BLOCKS; b++) {
		u64 last = img->blocks - KVP_LABEL_BLOCKS + b;

		image_write(img, b, image_blk(&s->old[leg], b), ALL_SECTORS);
		image_write(img, last, image_blk(&s->old[leg], last), ALL_SECTORS);
	}
}

enum damage { DAMAGE_ZEROS, DAMAGE_BIT, DAMAGE_PAYLOAD, DAMAGES };

static void damage(struct image *img, u64 block, enum damage how)
{
	u8 data[KVP_BLOCK_SIZE];

	image_read(img, block + (how == DAMAGE_PAYLOAD), data);
	if (how == DAMAGE_ZEROS)
		memset(data, 0, sizeof(data));
	else
		data[how == DAMAGE_BIT ? 49 : 2000] ^= 4;
	image_write_data(img, block + (how == DAMAGE_PAYLOAD), data);
}

static void rot_home(struct lives_test *s, u32 leg, u64 block)
{
	damage(&s->img[leg], s->base->data_start + block, DAMAGE_BIT);
}

/* --- in a life ------------------------------------------------------------------------- */

/* Where the next entry goes, as a block on every leg. */
static u64 log_head(struct lives_test *s)
{
	struct kvp_pool *pool = s->host.pool;

	return pool->vdevs.v[0].g->log_start + kvp_log_pos(pool->vdevs.v[0].g, pool->log->head.lsn);
}

static void note(struct lives_test *s, u64 what)
{
	s->noted[s->nr_noted++] = what;
}

static void live_entries(struct lives_test *s)
{
	u32 i;

	for (i = 0; i < 6; i++) {
		note(s, log_head(s));
		host_write(&s->host, 10 + 3 * i, 2, false);
		host_flush(&s->host);
	}
}

static void live_one_flush(struct lives_test *s)
{
	host_write(&s->host, 40, 2, false);
	host_flush(&s->host);
}

static void hold_homes(struct lives_test *s, u64 block, u32 count)
{
	u32 i;

	for (i = 0; i < s->legs; i++)
		disks_stall(i, disks.data_start + block, disks.data_start + block + count - 1);
}

/* --- the log: R10, R11, R12 --------------------------------------------------------------- */

/* Later entries say that it was durable: refused if no leg has it, of no account if one has. */
static bool damaged_log_below_the_watermark_is_refused(struct lives_test *s)
{
	u32 entry, leg, how;

	if (!run_life(s, live_entries))
		return false;
	remember(s, s->img);
	for (entry = 0; entry < 5; entry++)
		for (how = 0; how < DAMAGES; how++) {
			recall(s);
			for (leg = 0; leg < s->legs; leg++) {
				damage(&s->img[leg], s->noted[entry], how);
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
static void live_checkpoint_beside_an_open_intent(struct lives_test *s)
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
	if (h->pool->sb->checkpoint == s->noted[1] ||
	    h->pool->sb->log_commit <= h->pool->sb->log_tail)
		sim_fail("no checkpoint beside an intent: the case was not set up");
}

static bool damaged_log_that_the_superblock_names_is_refused(struct lives_test *s)
{
	u32 leg;

	if (!run_life(s, live_checkpoint_beside_an_open_intent) || !all_there(s, 0))
		return false;
	for (leg = 0; leg < s->legs; leg++)
		damage(&s->img[leg], s->noted[0], DAMAGE_ZEROS);
	return refused(s, -EUCLEAN, "damaged");
}

static bool names_both_epochs(struct lives_test *s, u64 log, u64 label)
{
	char both[64];

	snprintf(both, sizeof(both), "epoch %llu", (unsigned long long)log);
	if (!refused(s, -ESTALE, both))
		return false;
	snprintf(both, sizeof(both), "epoch %llu", (unsigned long long)label);
	return refused(s, -ESTALE, both);
}

static void live_loss_of_leg_1(struct lives_test *s)
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
static bool log_of_a_higher_epoch_is_refused(struct lives_test *s)
{
	if (!run_life(s, live_loss_of_leg_1))
		return false;
	recall_labels(s, 0);
	return names_both_epochs(s, s->noted[1], s->noted[0]);
}

static void live_and_note_epoch(struct lives_test *s)
{
	live_one_flush(s);
	note(s, s->host.pool->durable_epoch);
	note(s, s->host.pool->log->head.lsn);
}

/* The same with a later activation whose log does not verify. */
static bool log_of_a_later_life_is_refused(struct lives_test *s)
{
	u32 leg;

	if (!run_life(s, live_and_note_epoch))
		return false;
	remember(s, s->img);
	if (!run_life(s, live_and_note_epoch))
		return false;
	for (leg = 0; leg < s->legs; leg++)
		recall_labels(s, leg);
	return names_both_epochs(s, s->noted[2], s->noted[0]);
}

static void live_entry_on_leg_1(struct lives_test *s)
{
	disks_stall(0, disks.log_start, disks.log_start + disks.log_blocks - 1);
	host_write(&s->host, 64, 15, false);
	kvp_commit_now(s->host.pool->log);
	kvp_commit_kick(s->host.pool->log, true);
	host_sleep(50);
}

/* Recovery takes it from there, and is cut, and that leg is lost: the other must have it. */
static bool entry_on_one_leg_is_equalised_before_it_goes_home(struct lives_test *s)
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
static void live_long_log(struct lives_test *s)
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
static void wipe_headers(struct lives_test *s, u64 lsn, u64 end)
{
	u8 data[KVP_BLOCK_SIZE];
	u32 leg;

	for (; lsn < end; lsn++)
		for (leg = 0; leg < s->legs; leg++) {
			u64 block = s->base->log_start + lsn % s->base->log_blocks;

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
static bool one_segment_far_behind_is_a_witness(struct lives_test *s)
{
	u64 begin, far;

	if (!run_life(s, live_long_log))
		return false;
	begin = s->noted[0];
	far = far_from(begin + 13);
	wipe_headers(s, begin + 1, far);
	wipe_headers(s, far + 1, begin + s->base->log_blocks);
	if (!refused(s, -EUCLEAN, "damaged"))
		return false;
	wipe_headers(s, far, far + 1);
	return starts(s);
}

static void live_long_log_and_note_nonce(struct lives_test *s)
{
	live_long_log(s);
	note(s, s->host.pool->sb->nonce);
}

/* Gives the header at @lsn, on all legs, so many open intents that it needs more than one block. */
static void lengthen_header(struct lives_test *s, u64 lsn, u64 nonce)
{
	u64 block = s->base->log_start + lsn % s->base->log_blocks;
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
static bool long_header_far_behind_is_a_witness(struct lives_test *s)
{
	u64 begin, far;

	if (!run_life(s, live_long_log_and_note_nonce))
		return false;
	begin = s->noted[0];
	far = far_from(begin + 13);
	lengthen_header(s, far, s->noted[2]);
	wipe_headers(s, begin + 1, far);
	wipe_headers(s, far + 2, begin + s->base->log_blocks);
	if (!refused(s, -EUCLEAN, "damaged"))
		return false;
	wipe_headers(s, far, far + 1);
	return starts(s);
}

/* Nor need it be the first header of its segment, as long as that is near. */
static bool entry_in_the_next_segment_is_a_witness(struct lives_test *s)
{
	u64 begin, next;

	if (!run_life(s, live_long_log))
		return false;
	begin = s->noted[0];
	next = begin - begin % disks.log_segment + disks.log_segment;
	if (far_from(begin + 13) <= next + 1 + 13)
		sim_fail("no entry is in the next segment: the case was not set up");
	wipe_headers(s, begin + 1, next + 1);
	wipe_headers(s, far_from(begin + 13), begin + s->base->log_blocks);
	return refused(s, -EUCLEAN, "damaged");
}

/* The same of a later activation, of which the superblocks know nothing. */
static bool later_life_far_behind_is_refused(struct lives_test *s)
{
	u64 begin, far;
	u32 leg;

	if (!run_life(s, live_and_note_epoch))
		return false;
	remember(s, s->img);
	if (!run_life(s, live_long_log))
		return false;
	begin = s->noted[2];
	far = far_from(s->noted[1]);
	wipe_headers(s, begin, far);
	wipe_headers(s, far + 1, begin + s->base->log_blocks - disks.log_segment);
	for (leg = 0; leg < s->legs; leg++)
		recall_labels(s, leg);
	return names_both_epochs(s, s->noted[3], s->noted[0]);
}

/* --- intents: R4, R5, R8, R17 ----------------------------------------------------------------- */

/* Old contents home but still in the log, as data; new ones by an intent that a FLUSH closed. */
static void live_closed_intent_over_data(struct lives_test *s)
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

static void live_lost_block(struct lives_test *s)
{
	u64 poisoned = 0;
	u8 data[KVP_BLOCK_SIZE];

	if (host_read(&s->host, 70, data) != -EIO)
		sim_fail("a block that no leg has was read");
	if (kvp_table_next_poisoned(s->host.pool->table, 0, &poisoned) || poisoned != 70)
		sim_fail("block 70 is lost, and %llu is poisoned", poisoned);
}

static void live_overwrite_lost_block(struct lives_test *s)
{
	live_lost_block(s);
	host_write(&s->host, 70, 1, true);
	host_checkpoint(&s->host);
	host_read_check(&s->host, 70);
}

/* Damage below it is damage: neither the older record nor a mixture may come back. */
static bool closed_intent_is_not_undone(struct lives_test *s)
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

static void live_find_lost_block(struct lives_test *s)
{
	u8 data[KVP_BLOCK_SIZE];

	if (host_read(&s->host, 70, data) != -EIO)
		sim_fail("a block that no leg has was read");
}

/* The answer that a block is lost does not go away with the power. */
static bool poison_is_durable_before_it_is_told(struct lives_test *s)
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

static void live_intents_that_never_go_home(struct lives_test *s)
{
	hold_homes(s, 64, 40);
	note(s, s->host.pool->sb->era);
	host_write(&s->host, 64, 40, false);
	host_sleep(1500);
}

static void live_look_at_eras(struct lives_test *s)
{
	struct kvp_tpage *leaf = kvp_table_load(s->host.pool->table, 70);
	u64 entry = kvp_table_entry(leaf, 70);

	kvp_table_put(leaf);
	if (kvp_entry_era(entry) <= s->noted[0])
		sim_fail("resolved to the old version, yet of era %u, not later than %llu",
			 kvp_entry_era(entry), s->noted[0]);
}

/* A leg that comes back may hold the new version: it must get the old one again. */
static bool resolved_to_old_gets_the_era_of_the_recovery(struct lives_test *s)
{
	return run_life(s, live_intents_that_never_go_home) && run_life(s, live_look_at_eras) &&
	       all_there(s, 0);
}

/*
 * --- members: R13, R16, R17 ----------------------------------------------------------------------
 */

static struct kvp_waiter flusher;
static bool flusher_answered;
static int flusher_error;

static void flusher_done(struct kvp_waiter *w, int error)
{
	flusher_answered = true;
	flusher_error = error;
}

/* As host_flush(), but does not wait. */
static void begin_flush(struct lives_test *s)
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

static void live_loss_is_recorded_first(struct lives_test *s)
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

static bool loss_is_recorded_before_a_flush_is_answered(struct lives_test *s)
{
	if (!run_life(s, live_loss_is_recorded_first) || !all_there(s, 2))
		return false;
	/* Not by force: the survivor knows that nothing newer is missing. */
	s->start.missing = 2;
	return starts(s);
}

static void live_loss_beside_a_loss(struct lives_test *s)
{
	struct host *h = &s->host;

	if (s->second)
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

static bool loss_while_a_loss_is_recorded_is_recorded_too(struct lives_test *s)
{
	if (!run_life(s, live_loss_beside_a_loss) || !all_there(s, 6))
		return false;
	s->start.missing = 6;
	return starts(s);
}

static bool loss_while_a_loss_is_said_to_count_is_recorded_too(struct lives_test *s)
{
	s->second = true;
	return loss_while_a_loss_is_recorded_is_recorded_too(s);
}

static void live_two_eras(struct lives_test *s)
{
	u32 i;

	for (i = 0; i < 3; i++) {
		host_write(&s->host, 20 + i, 1, false);
		host_sleep(1500);
		host_checkpoint(&s->host);
	}
}

static void superblock_task(void *arg)
{
	struct kvp_pool *pool = ((struct lives_test *)arg)->host.pool;

	mutex_lock(&pool->sb_lock);
	kvp_sb_note(pool);
	mutex_unlock(&pool->sb_lock);
}

static void offline_task(void *arg)
{
	struct lives_test *s = arg;

	if (kvp_leg_offline(s->host.pool, host_leg(&s->host, 1)))
		sim_fail("leg 1 cannot be taken offline");
	note(s, s->host.pool->durable_epoch);
}

static void live_taken_offline_once_lost(struct lives_test *s)
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
	if (kvp_leg_in_sync(host_leg(h, 1)) || s->nr_noted || h->pool->durable_epoch != epoch)
		sim_fail("the loss is recorded: the case was not set up");
	disks_release(0);
	host_flush(h);
	host_sleep(100);
	if (!s->nr_noted || info->state != KVP_LEG_OFFLINE)
		sim_fail("leg 1 is recorded as %u, not offline", info->state);
	if (s->noted[0] == epoch)
		sim_fail("the loss was recorded under the epoch that leg 1 has, too");
	if (!era || info->in_sync_era != era - 1)
		sim_fail("leg 1 is said to have era %u, not %u", info->in_sync_era, era - 1);
}

/* A leg is lost, and before that is recorded it is taken offline: the record is that of a loss. */
static bool taken_offline_before_the_loss_is_recorded(struct lives_test *s)
{
	if (!run_life(s, live_two_eras) || !run_life(s, live_taken_offline_once_lost) ||
	    !all_there(s, 2))
		return false;
	s->start.missing = 2;
	return starts(s);
}

static void live_checkpoint_known_to_leg_0(struct lives_test *s)
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
static bool superblock_on_one_leg_is_rolled_forward_first(struct lives_test *s)
{
	struct crash c = { .images = s->img, .legs = s->legs, .second = s->base->second,
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

static void live_without_leg_0(struct lives_test *s)
{
	disks_kill(0);
	live_one_flush(s);
	host_checkpoint(&s->host);
	host_write(&s->host, 41, 3, true);
}

static void live_look_for_state(struct lives_test *s)
{
	if (host_leg(&s->host, 0)->state == KVP_LEG_IN_SYNC)
		sim_fail("a leg that missed writes is in sync again");
	host_read_check(&s->host, 40);
	live_one_flush(s);
}

/* It comes first in the table and on every list, and yet it is stale. */
static bool first_leg_is_lost_and_returns(struct lives_test *s)
{
	return run_life(s, live_without_leg_0) && all_there(s, 1) &&
	       run_life(s, live_look_for_state) &&
	       all_there(s, 1);
}

static bool copied_leg_is_refused(struct lives_test *s)
{
	image_free(&s->img[1]);
	image_copy(&s->img[1], &s->img[0]);
	return refused(s, -EEXIST, "same leg UUID");
}

/* How far each half of a fork came, or began. */
static u64 half_epoch[2], half_sequence[2];

static void note_half(struct lives_test *s)
{
	const struct kvp_sb *sb = s->host.pool->sb;
	u32 half = !!host_leg(&s->host, 1);

	half_epoch[half] = sb->epoch;
	half_sequence[half] = sb->sequence;
}

static void live_many_superblocks(struct lives_test *s)
{
	u32 i;

	for (i = 0; i < 24; i++) {
		host_write(&s->host, 40 + i, 1, false);
		host_checkpoint(&s->host);
	}
	note_half(s);
}

static void live_few_superblocks(struct lives_test *s)
{
	note_half(s);
	live_one_flush(s);
}

static void live_accept_fork(struct lives_test *s)
{
	if (kvp_legs_usable(s->host.pool) != 1)
		sim_fail("both halves of a fork are sources");
	s->winner = kvp_leg_in_sync(host_leg(&s->host, 1));
	/* the legs must not count as equal */
	if (s->host.pool->sb->legs[!s->winner].in_sync_era)
		sim_fail("a leg that went its own way is said to have era %u",
			 s->host.pool->sb->legs[!s->winner].in_sync_era);
	host_stop(&s->host);
}

/* The leg whose history was given up has nothing of this one, and gets everything. */
static void live_forked_leg_returns(struct lives_test *s)
{
	live_one_flush(s);
	if (host_online(&s->host, !s->winner))
		sim_fail("the leg does not return: %s", s->host.refusal.why);
	host_wait_resilver(&s->host);
	if (kvp_legs_usable(s->host.pool) != 2)
		sim_fail("the leg is in state %u", host_leg(&s->host, !s->winner)->state);
	host_flush(&s->host);
}

/*
 * The half that was started more often has the higher epoch, and wins; it wrote fewer superblocks.
 */
static bool epoch_comes_before_sequence(struct lives_test *s)
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
	       expect(s->winner == 1, "the half with the lower epoch won");
}

/* Both halves were started alone; the user keeps one. Later starts do not ask again. */
static bool accepted_fork_is_settled_for_good(struct lives_test *s)
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
	s->start.missing = s->winner == 1 ? 2 : 1;
	if (!refused(s, -ENXIO, "no leg that is in sync"))
		return false;
	s->start.missing = 0;
	return run_life(s, live_forked_leg_returns) && all_there(s, 0);
}

/* The label of leg 2 then says that leg 1 is out, and leg 2 itself not in sync. */
static void live_resilver_one_of_two(struct lives_test *s)
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

static void live_beside_a_target(struct lives_test *s)
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

static void live_read_all(struct lives_test *s)
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
static bool target_of_a_lost_source_is_no_fork(struct lives_test *s)
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
static void live_with_a_history(struct lives_test *s)
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

static void live_one_fork_more(struct lives_test *s)
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
static bool a_forced_start_more_than_can_be_listed(struct lives_test *s)
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
	swap(s->img[1], s->old[1]);
	s->start.degraded = true;
	s->start.missing = 1;
	if (!run_life(s, live_one_fork_more))
		return false;
	swap(s->img[0], s->old[0]);
	s->start.degraded = false;
	s->start.missing = 0;
	return refused(s, -ESTALE, "split brain");
}

static void live_beside_the_clone(struct lives_test *s)
{
	live_one_flush(s);
	host_checkpoint(&s->host);
}

/* A copy of leg 1 was started alone elsewhere and comes back in its place. */
static bool clone_that_went_its_own_way_is_no_source(struct lives_test *s)
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
	swap(s->img[0], s->old[0]);
	swap(s->img[1], s->old[1]);
	s->start.degraded = false;
	s->start.missing = 0;
	for (i = 0; i < 3; i++)
		if (!run_life(s, live_beside_the_clone))
			return false;
	swap(s->img[1], s->old[1]);
	if (!refused(s, -ESTALE, "split brain"))
		return false;
	s->start.accept_fork = true;
	if (!run_life(s, live_accept_fork) || s->winner)
		return false;
	s->start.accept_fork = false;
	return all_there(s, 2);
}

/* --- two mirrors: legs 0 and 1, and 2 and 3 ------------------------------------------------ */

/* True if the missing legs could have gone on alone. Not while a vdev is complete here (R16). */
static bool one_leg_of_two_vdevs_needs_no_order(struct lives_test *s)
{
	s->start.missing = 1;
	if (!run_life(s, live_one_flush))
		return false;
	s->start.missing = 0;
	/* It was recorded out by those that went on. */
	return run_life(s, live_look_for_state) && all_there(s, 1);
}

static bool both_halves_written_are_refused(struct lives_test *s)
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

static bool pool_without_a_vdev_is_refused(struct lives_test *s)
{
	s->start.degraded = true;
	s->start.missing = 3;
	if (!refused(s, -ENXIO, "of vdev 0 no leg"))
		return false;
	s->start.missing = 12;
	return refused(s, -ENXIO, "of vdev 1 no leg");
}

static void live_lose_a_vdev(struct lives_test *s)
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
static bool last_leg_of_a_vdev_is_kept(struct lives_test *s)
{
	return run_life(s, live_lose_a_vdev) && all_there(s, 4);
}

/* --- labels: R27, R29 ------------------------------------------------------------------------- */

/* As its first ring says. */
static u64 newest_sequence(const struct image *img)
{
	u64 newest = 0;
	u32 slot;

	for (slot = 0; slot < KVP_SB_RING; slot++) {
		struct blk *b = image_blk(img, kvp_sb_slot_offset(img->blocks, 0,
			slot) >> KVP_BLOCK_SHIFT);

		if (b)
			newest = max(newest,
				     le64_to_cpu(((struct kvp_disk_sb *)b->data)->sequence));
	}
	return newest;
}

/* The place of a superblock on @img, in the ring @end. */
static u64 slot_block(const struct image *img, u32 end, u64 sequence)
{
	return kvp_sb_slot_offset(img->blocks, end, sequence % KVP_SB_RING) >> KVP_BLOCK_SHIFT;
}

static void remember_past(struct lives_test *s)
{
	u32 i;

	for (i = 0; i < s->legs; i++)
		image_copy(&s->past[s->nr_past][i], &disks.img[i]);
	s->past_sequence[s->nr_past++] = s->host.pool->sb->sequence;
}

/* Superblock after superblock, each with something new in it, also at home. */
static void live_superblocks(struct lives_test *s)
{
	u32 i;

	for (i = 0; i + 1 < MAX_PAST; i++) {
		remember_past(s);
		host_write(&s->host, 10 + 30 * i, 20, false);
		host_flush(&s->host);
		host_checkpoint(&s->host);
	}
	note(s, s->host.pool->sb->sequence);
	live_one_flush(s);
	if (s->host.pool->sb->sequence != s->noted[0])
		sim_fail("superblocks by themselves: the case was not set up");
}

static void live_superblocks_and_stop(struct lives_test *s)
{
	live_superblocks(s);
	host_stop(&s->host);
}

static bool hidden(struct lives_test *s, u32 legs, u32 rings, u64 first, u32 count)
{
	s->unread = (struct unread){ .legs = legs, .rings = rings, .first = first, .count = count };
	recall(s);
	return true;
}

/* It starts, and has everything. */
static bool has_all(struct lives_test *s)
{
	bool good = starts(s);

	memset(&s->unread, 0, sizeof(s->unread));
	return good && all_there(s, 0);
}

/*
 * The newest superblocks cannot be read: the start is refused without a change. Later they can be
 * read.
 */
static bool newest_superblocks_that_cannot_be_read_are_waited_for(struct lives_test *s)
{
	u32 all = BIT(s->legs) - 1, n;

	if (!run_life(s, live_superblocks))
		return false;
	remember(s, s->img);
	for (n = 1; n <= 4; n++) {
		hidden(s, all, 3, s->noted[0] + 1 - n, n);
		if (!refused(s, -EIO, "newer superblock"))
			return false;
		memset(&s->unread, 0, sizeof(s->unread));
		if (!all_there_together(s))
			return false;
	}
	return has_all(s);
}

/* The other ring has them; or the other legs do. */
static bool superblocks_that_can_be_read_elsewhere_are_not(struct lives_test *s)
{
	u32 all = BIT(s->legs) - 1, n;

	if (!run_life(s, live_superblocks))
		return false;
	remember(s, s->img);
	for (n = 1; n <= 4; n++)
		if ((hidden(s, all, 1, s->noted[0] + 1 - n, n) && !has_all(s)) ||
		    (hidden(s, all, 2, s->noted[0] + 1 - n, n) && !has_all(s)) ||
		    (s->legs > 1 && hidden(s, 1, 3, s->noted[0] + 1 - n, n) && !has_all(s)))
			return false;
	/* All of a ring. */
	hidden(s, all, 2, 0, KVP_SB_RING / s->legs);
	return has_all(s);
}

/*
 * A slot in which the next superblock would be says nothing if it can be read in neither ring; one
 * behind it is of no account.
 */
static bool slot_of_the_next_superblock_counts(struct lives_test *s)
{
	u64 next;

	if (!run_life(s, live_superblocks))
		return false;
	remember(s, s->img);
	next = s->noted[0] + 1;
	if ((hidden(s, 1, 1, next, 1) && !has_all(s)) || (hidden(s, 1, 2, next, 1) &&
							  !has_all(s)) ||
	    (hidden(s, 1, 3, next + 1, 8) && !has_all(s)))
		return false;
	hidden(s, 1, 3, next, 1);
	/*
	 * the others are one too few to have gone on alone: their later writes were not
	 * acknowledged
	 */
	if (s->base->parity || s->base->second)
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
	memset(&s->unread, 0, sizeof(s->unread));
	return run_life(s, live_look_for_state) && all_there(s, 1);
}

static void live_note_superblock(struct lives_test *s)
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

static void live_after_going_back(struct lives_test *s)
{
	const struct kvp_sb *sb = s->host.pool->sb;

	if (sb->sequence <= s->noted[1] || sb->epoch <= s->noted[2])
		sim_fail("superblock %llu of epoch %llu, after %llu of epoch %llu", sb->sequence,
			 sb->epoch,
			 s->noted[1], s->noted[2]);
	host_read_check(&s->host, 300);
	host_stop(&s->host);
}

/*
 * The newest superblocks will never be readable again, on all legs: by order the pool goes back to
 * the newest that can be read. If those are readable after all, later, they do not count, and all
 * that was acknowledged since is there.
 */
static bool pool_goes_back_by_order(struct lives_test *s)
{
	u32 all = BIT(s->legs) - 1, n;

	if (!run_life(s, live_superblocks))
		return false;
	remember(s, s->img);
	for (n = 1; n <= 3; n++) {
		s->nr_noted = 1;
		hidden(s, all, 3, s->noted[0] + 1 - n, n);
		s->start.degraded = true;
		if (!refused(s, -EIO, "cannot do without it"))
			return false;
		s->start.accept_fork = s->goes_back = true;
		if (!run_life(s, live_note_superblock))
			return false;
		s->goes_back = false;
		s->start.degraded = false;
		s->start.accept_fork = false;
		memset(&s->unread, 0, sizeof(s->unread));
		/*
		 * Of the same activation: the log has all data. But pages of the table may be those
		 * of later superblocks.
		 */
		s->may_lose = n > 1;
		if (!all_there_together(s) || !run_life(s, live_after_going_back))
			return false;
	}
	return true;
}

/*
 * And the slot of one ring cannot be written over: the first superblock that follows has that slot,
 * and the other ring takes it. None of the last two is there, so both rings are tried.
 */
static bool pool_goes_back_over_a_bad_slot(struct lives_test *s)
{
	u32 all = BIT(s->legs) - 1, ring;

	if (!run_life(s, live_superblocks))
		return false;
	remember(s, s->img);
	for (ring = 0; ring < 2; ring++) {
		s->nr_noted = 1;
		hidden(s, all, 3, s->noted[0], 1);
		s->unread.unwritable = BIT(ring);
		s->start.degraded = s->start.accept_fork = s->goes_back = true;
		if (!run_life(s, live_note_superblock))
			return false;
		s->start.degraded = s->start.accept_fork = s->goes_back = false;
		memset(&s->unread, 0, sizeof(s->unread));
		if (!all_there_together(s) || !run_life(s, live_after_going_back))
			return false;
	}
	return true;
}

/*
 * Superblocks that all legs but the first fail: they count for nothing, and are tried again under
 * the next number.
 */
static void live_superblocks_of_leg_0(struct lives_test *s)
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

static void live_beside_unreadable(struct lives_test *s)
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
static bool leg_in_doubt_is_passed_by(struct lives_test *s)
{
	u64 last;

	if (!run_life(s, live_superblocks_of_leg_0))
		return false;
	/* A worker may have tried one more. */
	last = newest_sequence(&s->img[0]);
	if (!expect(last >= s->noted[0] + 3 && newest_sequence(&s->img[1]) == s->noted[0],
		    "legs have superblocks %llu and %llu: the case was not set up\n",
		    last, newest_sequence(&s->img[1])))
		return false;
	s->unread = (struct unread){ .legs = BIT(0), .rings = 3, .first = s->noted[0] + 1,
				     .count = last - s->noted[0] };
	s->goes_back = true;
	if (!run_life(s, live_beside_unreadable))
		return false;
	s->goes_back = false;
	memset(&s->unread, 0, sizeof(s->unread));
	return all_there_together(s) && run_life(s, live_after_going_back);
}

static bool superblocks_are_asked_for_again(struct lives_test *s)
{
	u32 all = BIT(s->legs) - 1;

	if (!run_life(s, live_superblocks))
		return false;
	remember(s, s->img);
	hidden(s, all, 3, s->noted[0], 1);
	s->unread.times = 3;
	return has_all(s);
}

/* Two that do not verify in either ring: one of them was durable. */
static bool rotten_superblocks_are_not_absent(struct lives_test *s)
{
	u32 leg, ring, n;

	if (!run_life(s, live_superblocks))
		return false;
	for (n = 0; n < 2; n++)
		for (leg = 0; leg < s->legs; leg++)
			for (ring = 0; ring < 2; ring++) {
				u64 at = kvp_sb_slot_offset(s->img[leg].blocks, ring,
							    (s->noted[0] - n) % KVP_SB_RING);

				damage(&s->img[leg], at >> KVP_BLOCK_SHIFT, DAMAGE_BIT);
			}
	return refused(s, -EIO, "superblock");
}

/* Half of what this write of a superblock had came to @leg. */
static void tear(struct lives_test *s, u32 leg, const struct trace_request *r)
{
	u32 b;

	for (b = 0; b < KVP_SB_BLOCKS; b++)
		image_write(&s->img[leg], r->block + b, r->data[b], ALL_SECTORS);
	damage(&s->img[leg], r->block, DAMAGE_BIT);
}

/* Tear the superblocks of @leg whose writes have failed, or have not ended; returns how many. */
static u32 tear_superblocks(struct lives_test *s, u32 leg)
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
static bool tear_first_superblock(struct lives_test *s)
{
	s->stalled = BIT(1);
	if (!run_life(s, NULL))
		return false;
	s->stalled = 0;
	return expect(tear_superblocks(s, 1),
		      "no superblock was on its way: the case was not set up\n");
}

/* Two starts are cut. None of their superblocks was durable, so leg 1 may be alone afterwards. */
static bool superblocks_that_are_cut_in_a_row_were_not_durable(struct lives_test *s)
{
	return run_life(s, live_superblocks) && tear_first_superblock(s) &&
	       tear_first_superblock(s) && tear_first_superblock(s) && all_there(s, 0) &&
	       starts(s) && all_there(s, 0);
}

/* Until the next one has the slot of the one that was cut. */
static void live_most_of_a_round(struct lives_test *s)
{
	struct host *h = &s->host;

	while (h->pool->sb->sequence + 1 < s->noted[1] + KVP_SB_RING - 1) {
		host_write(h, 10, 2, false);
		host_flush(h);
		host_checkpoint(h);
	}
	if (h->pool->sb->sequence + 1 != s->noted[1] + KVP_SB_RING - 1)
		sim_fail("the next superblock is not the one before: the case was not set up");
}

/* One was cut, and a round later the one that comes before its slot is cut. */
static bool superblocks_that_are_cut_a_round_apart_were_not_durable(struct lives_test *s)
{
	if (!run_life(s, live_superblocks) || !tear_first_superblock(s))
		return false;
	note(s, newest_sequence(&s->img[0]));
	return run_life(s, live_most_of_a_round) && tear_first_superblock(s) && all_there(s, 0) &&
	       starts(s) && all_there(s, 0);
}

/* The only leg fails a superblock in both rings. The next one is on its way when the power goes. */
static void live_superblock_behind_one_that_failed(struct lives_test *s)
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
static bool superblocks_that_fail_and_are_cut_were_not_durable(struct lives_test *s)
{
	u32 torn;

	if (!run_life(s, live_superblock_behind_one_that_failed))
		return false;
	torn = tear_superblocks(s, 0);
	return expect(torn > 2, "%u slots are torn: the case was not set up\n", torn) &&
	       all_there(s, 0) && starts(s) && all_there(s, 0);
}

/* --- slots that a leg left out: R27 ------------------------------------------------- */

static void live_checkpoints(struct lives_test *s, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		host_write(&s->host, 10 + 30 * (i % 6), 20, false);
		host_flush(&s->host);
		host_checkpoint(&s->host);
	}
	live_one_flush(s);
}

static void live_after_a_cut_start(struct lives_test *s)
{
	live_checkpoints(s, 1);
}

/* The next superblock fails in @rings of leg 0, bit each. */
static void live_failed_superblock(struct lives_test *s, u32 rings)
{
	struct host *h = &s->host;
	bool counts = rings != 3;
	u32 end;

	live_one_flush(s);
	note(s, h->pool->sb->sequence + 1);
	for (end = 0; end < 2; end++) {
		u64 at = slot_block(&disks.img[0], end, s->noted[0]);

		if (rings >> end & 1)
			disks_fault(FAULT_WRITE_EIO, 0, at, at + KVP_SB_BLOCKS - 1);
	}
	h->may_fail = true;
	/* One that a ring failed is followed by another one at once. */
	if (!host_checkpoint(h) != counts || h->pool->sb->sequence != s->noted[0] + counts)
		sim_fail("superblock %llu %s: the case was not set up", h->pool->sb->sequence,
			 counts ? "failed" : "did not fail");
	h->may_fail = false;
	disks.nr_faults = 0;
	kvp_pool_clear(h->pool, -1);
	live_checkpoints(s, 2);
}

static void live_one_that_failed(struct lives_test *s)
{
	live_failed_superblock(s, 3);
}

static void live_one_that_failed_in_front(struct lives_test *s)
{
	live_failed_superblock(s, 1);
}

static void live_one_that_failed_at_the_back(struct lives_test *s)
{
	live_failed_superblock(s, 2);
}

/*
 * On @legs all from @first on cannot be read in both rings. They are not missed because of what the
 * slot of the one before shows.
 */
static bool are_waited_for(struct lives_test *s, u32 legs, u64 first)
{
	u64 last = 0;
	u32 i;

	for (i = 0; i < s->legs; i++)
		if (legs >> i & 1)
			last = max(last, newest_sequence(&s->img[i]));
	if (!expect(last >= first && last < first + KVP_SB_RING - 3,
		    "superblocks %llu to %llu: the case was not set up\n", first, last))
		return false;
	s->unread = (struct unread){ .legs = legs, .rings = 3, .first = first,
				     .count = last - first + 1 };
	if (!refused(s, -EIO, "newer superblock"))
		return false;
	memset(&s->unread, 0, sizeof(s->unread));
	s->bad_legs = 0;
	return true;
}

static bool superblocks_behind_one_that_failed_are_waited_for(struct lives_test *s)
{
	return run_life(s, live_one_that_failed) && are_waited_for(s, 1, s->noted[0] + 1) &&
	       all_there_together(s);
}

/* The ring that took it cannot be read there, either. The other one shows that it is not there. */
static bool behind_one_ring(struct lives_test *s, u32 end)
{
	s->bad_legs = 1;
	s->bad_first = slot_block(&s->img[0], end, s->noted[0]);
	s->bad_last = s->bad_first + KVP_SB_BLOCKS - 1;
	return are_waited_for(s, 1, s->noted[0] + 1) && all_there_together(s);
}

static bool superblocks_behind_one_that_failed_in_a_ring_are_waited_for(struct lives_test *s)
{
	return run_life(s, live_one_that_failed_in_front) && behind_one_ring(s, 1);
}

static bool superblocks_behind_one_that_failed_at_the_back_are_waited_for(struct lives_test *s)
{
	return run_life(s, live_one_that_failed_at_the_back) && behind_one_ring(s, 0);
}

/* Then a start is cut when its superblock is in the front ring alone. */
static bool superblocks_behind_one_that_was_cut_are_waited_for(struct lives_test *s)
{
	note(s, newest_sequence(&s->img[0]) + 1);
	s->stalled = 1;
	s->stalled_rings = 2;
	s->stalled_at = s->noted[0];
	if (!run_life(s, NULL))
		return false;
	s->stalled = s->stalled_rings = 0;
	s->stalled_at = 0;
	return expect(newest_sequence(&s->img[0]) == s->noted[0], "the case was not set up\n") &&
	       run_life(s, live_after_a_cut_start) && behind_one_ring(s, 0);
}

/* A start is cut when all legs but those of @legs have its superblock. Returns its number, or 0. */
static u64 cut_start(struct lives_test *s, u32 legs)
{
	u32 other = legs & 1;
	u64 last = newest_sequence(&s->img[other]);

	s->stalled = legs;
	if (!run_life(s, NULL))
		return 0;
	s->stalled = 0;
	return expect(newest_sequence(&s->img[other]) == last + 1, "superblock %llu is not %llu\n",
		      newest_sequence(&s->img[other]), last + 1) ? last + 1 : 0;
}

static void live_leg_0_is_lost(struct lives_test *s)
{
	live_one_flush(s);
	disks_kill(0);
	live_checkpoints(s, 2);
}

/* Leg 1 did not get the superblock of a start that was cut. Later leg 0 is lost. */
static bool superblocks_behind_a_cut_start_are_waited_for(struct lives_test *s)
{
	u64 cut = cut_start(s, BIT(1));

	return cut && run_life(s, live_leg_0_is_lost) && are_waited_for(s, BIT(1), cut + 1) &&
	       all_there(s, BIT(0));
}

/* The next start is cut when leg 1 has its superblock, and does not have it in that slot yet. */
static bool superblocks_behind_two_cut_starts_are_waited_for(struct lives_test *s)
{
	u64 cut = cut_start(s, BIT(1));

	s->stalled = BIT(1);
	s->stalled_at = cut;
	if (!cut || !run_life(s, NULL))
		return false;
	s->stalled = 0;
	s->stalled_at = 0;
	return expect(newest_sequence(&s->img[1]) == cut + 1, "leg 1 has superblock %llu, not %llu\n",
		      newest_sequence(&s->img[1]), cut + 1) &&
	       run_life(s, live_leg_0_is_lost) && are_waited_for(s, BIT(1), cut + 1) &&
	       all_there(s, BIT(0));
}

static void live_leg_1_returns(struct lives_test *s, u32 missed)
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

static void live_leg_1_missed_few(struct lives_test *s)
{
	live_leg_1_returns(s, 3);
}

static void live_leg_1_missed_many(struct lives_test *s)
{
	live_leg_1_returns(s, 20);
}

/* All that it has since it returned cannot be read. The other leg calls it in sync. */
static bool superblocks_since_a_return_are_waited_for(struct lives_test *s)
{
	return run_life(s, live_leg_1_missed_few) && are_waited_for(s, BIT(1), s->noted[0]) &&
	       all_there(s, BIT(0));
}

static bool superblocks_since_a_late_return_are_waited_for(struct lives_test *s)
{
	return run_life(s, live_leg_1_missed_many) && are_waited_for(s, BIT(1), s->noted[0]) &&
	       all_there(s, BIT(0));
}

/*
 * Two starts were cut when leg 1 alone had their first superblock; the second one is torn in its
 * back ring. The next start is cut before leg 0 has all that it lacked. Both are in sync.
 */
static bool leg_that_gets_older_numbers_outdates_no_other(struct lives_test *s)
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
	s->stalled = BIT(s->legs - 1) - 1;
	s->stalled_at = last + 2;
	s->start.missing = BIT(s->legs - 1);
	if (!run_life(s, NULL))
		return false;
	s->start.missing = 0;
	s->stalled = 0;
	s->stalled_at = 0;
	return starts(s) && all_there(s, BIT(s->legs - 1));
}

static void live_torn_slot(struct lives_test *s)
{
	if (!(host_leg(&s->host, 1)->torn & BIT(s->noted[0] % KVP_SB_RING)))
		sim_fail("slot %llu may be torn, and was not noted", s->noted[0] % KVP_SB_RING);
}

/* Leg 1 did not get the superblock of a start that was cut, and cannot get it later, either. */
static bool slot_that_cannot_be_filled_may_be_torn(struct lives_test *s)
{
	note(s, cut_start(s, BIT(1)));
	if (!s->noted[0])
		return false;
	s->unread = (struct unread){ .legs = BIT(1), .unwritable = 3, .first = s->noted[0],
				     .count = 1 };
	if (!run_life(s, live_torn_slot))
		return false;
	memset(&s->unread, 0, sizeof(s->unread));
	return all_there(s, BIT(0));
}

static void live_look_for_bad_slots(struct lives_test *s)
{
	if (host_leg(&s->host, 1)->unreadable)
		sim_fail("%u slots of leg 1 do not verify", host_leg(&s->host, 1)->unreadable);
}

/* A young pool: a leg lacks more superblocks than the numbers of its slots are. */
static bool slots_of_low_numbers_are_valid(struct lives_test *s)
{
	u32 i;

	for (i = 0; i < KVP_SB_RING - 2; i++)
		if (!cut_start(s, BIT(1)))
			return false;
	return starts(s) && run_life(s, live_look_for_bad_slots) && all_there(s, 0);
}

/* The last leg of a vdev fails a superblock for good. By now the third next one has that slot. */
static void live_slot_that_fails_for_long(struct lives_test *s)
{
	struct host *h = &s->host;
	u32 end;

	live_one_flush(s);
	host_offline(h, 1);
	note(s, h->pool->sb->sequence + 1);
	for (end = 0; end < 2; end++) {
		u64 at = slot_block(&disks.img[0], end, s->noted[0]);

		disks_fault(FAULT_WRITE_EIO, 0, at, at + KVP_SB_BLOCKS - 1);
	}
	h->may_fail = true;
	if (!host_checkpoint(h) || h->pool->sb->sequence != s->noted[0])
		sim_fail("superblock %llu counts: the case was not set up", s->noted[0]);
	h->may_fail = false;
	kvp_pool_clear(h->pool, -1);
	while (h->pool->sb->sequence < s->noted[0] + KVP_SB_RING - 3) {
		host_write(h, 10, 2, false);
		host_flush(h);
		host_checkpoint(h);
	}
	if (h->pool->sb->sequence != s->noted[0] + KVP_SB_RING - 3)
		sim_fail("superblock %llu: the case was not set up", h->pool->sb->sequence);
}

/*
 * The start writes two superblocks. The second one has a new epoch. Filled then, the slot would
 * have one of the leg's last two when the third one is written there.
 */
static bool slots_of_the_next_superblocks_are_not_filled(struct lives_test *s)
{
	return run_life(s, live_slot_that_fails_for_long) && starts(s) && all_there(s, BIT(1));
}

/*
 * The power goes anywhere as legs get what they lack: one had two superblocks alone, one has one.
 */
static bool slots_are_filled_while_the_power_goes(struct lives_test *s)
{
	struct crash c = {
		.legs = s->legs, .second = s->base->second, .o = &s->o, .parity = s->base->parity,
		.cache = s->base->cache,
	};

	if (!cut_start(s, (BIT(s->legs) - 1) & ~BIT(0)) ||
	    !cut_start(s, (BIT(s->legs) - 1) & ~BIT(0)) || !run_life(s, live_after_a_cut_start))
		return false;
	return !cut_sampled(s->name, &c, 0, CHECK_RECRASH, opt.thorough ? ~0u : 8);
}

static bool told(struct kvp_pool *pool, const char *text)
{
	struct kvp_disk_event e;
	u64 seq;

	for (seq = 0; seq < pool->events->next; seq++)
		if (kvp_event_get(pool, seq, &e) && !strcmp((char *)e.text, text))
			return true;
	return false;
}

/* An event says how far the leg is behind, and names it: its number may be another's later. */
static bool told_outdated(struct kvp_pool *pool, u32 leg)
{
	char text[KVP_EVENT_TEXT], name[KVP_LEG_WORDS];

	snprintf(text, sizeof(text), "leg_outdated leg=%u behind=%llu%s", leg, pool->legs[leg].lag,
		 kvp_leg_words(&pool->legs[leg], name));
	return told(pool, text);
}

static void live_look_for_the_outdated(struct lives_test *s)
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
static bool found_stale(struct lives_test *s, u32 leg)
{
	u32 cache = s->base->cache ? BIT(s->legs - 1) : 0;

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
static bool any_leg_put_back(struct lives_test *s, void (*live)(struct lives_test *s))
{
	u64 newest;
	u32 leg, past;

	if (!run_life(s, live))
		return false;
	newest = newest_sequence(&s->img[0]);
	remember(s, s->img);
	for (leg = 0; leg < s->legs; leg++)
		for (past = 0; past < s->nr_past; past++) {
			bool ssd = leg >= s->legs - s->base->cache;

			recall(s);
			image_free(&s->img[leg]);
			image_copy(&s->img[leg], &s->past[past][leg]);
			/* As much a power cut between the writes to two legs may leave. */
			if (newest - s->past_sequence[past] < 2)
				continue;
			/* no other leg has the log */
			if (ssd ? !refused(s, -ESTALE, "outdated") : !found_stale(s, leg))
				return false;
		}
	return true;
}

static bool leg_put_back_is_stale(struct lives_test *s)
{
	return any_leg_put_back(s, live_superblocks);
}

static bool leg_put_back_after_an_export_is_stale(struct lives_test *s)
{
	return any_leg_put_back(s, live_superblocks_and_stop);
}

/*
 * By one superblock, which a power cut leaves as well. But its checkpoint has changed the table,
 * and the leg lacks the pages.
 */
static bool leg_put_back_by_a_checkpoint_is_stale(struct lives_test *s)
{
	u32 leg, past;

	if (!run_life(s, live_superblocks))
		return false;
	remember(s, s->img);
	past = s->nr_past - 1;
	if (!expect(newest_sequence(&s->img[0]) == s->past_sequence[past] + 1,
		    "superblock %llu after %llu: the case was not set up\n",
		    newest_sequence(&s->img[0]), s->past_sequence[past]))
		return false;
	/* Of several vdevs and of a parity1, these legs have the pages that changed. */
	for (leg = 0; leg < (s->base->second || s->base->parity ? 2 : s->legs); leg++) {
		recall(s);
		image_free(&s->img[leg]);
		image_copy(&s->img[leg], &s->past[past][leg]);
		if (!found_stale(s, leg))
			return false;
	}
	return true;
}

/* All of a vdev: no other leg has its data. */
static bool vdev_put_back_by_a_checkpoint_is_refused(struct lives_test *s)
{
	u32 leg;

	if (!run_life(s, live_superblocks))
		return false;
	remember(s, s->img);
	for (leg = 0; leg < 2; leg++) {
		image_free(&s->img[leg]);
		image_copy(&s->img[leg], &s->past[s->nr_past - 1][leg]);
	}
	if (!refused(s, -ESTALE, "disk0 is outdated"))
		return false;
	recall(s);
	return has_all(s);
}

/* The leg has all but the newest superblock: the power went between the writes to two legs. */
static bool lacks_the_superblock_alone(struct lives_test *s, u32 leg)
{
	u32 past = s->nr_past - 1, i;

	for (i = 0; i < s->legs; i++) {
		image_free(&s->old[i]);
		image_copy(&s->old[i], &s->past[past][i]);
	}
	recall_labels(s, leg);
	return expect(newest_sequence(&s->img[leg]) == s->past_sequence[past],
		      "leg %u has superblock %llu: the case was not set up\n", leg,
		      newest_sequence(&s->img[leg]));
}

/* It is in sync, and any other leg of its vdev may be lost then. */
static bool leg_that_lacks_a_superblock_alone_is_in_sync(struct lives_test *s)
{
	u32 leg, other;

	for (leg = 0; leg < s->legs; leg++) {
		s->nr_past = s->nr_noted = 0;
		if (!run_life(s, live_superblocks) || !lacks_the_superblock_alone(s, leg) ||
		    !starts(s))
			return false;
		other = leg ^ 1;
		if (!all_there(s, other < s->legs - s->base->cache ? BIT(other) : 0))
			return false;
	}
	return true;
}

/* The newest superblock says nothing new of the table. */
static void live_superblock_of_a_mark(struct lives_test *s)
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
static bool leg_put_back_by_a_mark_is_in_sync(struct lives_test *s)
{
	u32 leg;

	for (leg = 0; leg < 2; leg++) {
		s->nr_past = 0;
		if (!run_life(s, live_superblock_of_a_mark))
			return false;
		image_free(&s->img[leg]);
		image_copy(&s->img[leg], &s->past[0][leg]);
		if (!expect(newest_sequence(&s->img[leg]) + 1 == newest_sequence(&s->img[!leg]),
			    "the case was not set up\n") ||
		    !starts(s) || !all_there(s, BIT(!leg)))
			return false;
	}
	return true;
}

/* The table of the leg cannot be read at this start. That does not say that it is not there. */
static bool leg_whose_pages_cannot_be_read_is_in_sync(struct lives_test *s)
{
	if (!run_life(s, live_superblocks) || !lacks_the_superblock_alone(s, 1))
		return false;
	s->bad_legs = BIT(1);
	s->bad_first = disks.table_start;
	s->bad_last = s->base->log_start - 1;
	if (!starts(s))
		return false;
	s->bad_legs = 0;
	return all_there(s, BIT(0));
}

/* All of a vdev: no other leg has its data. */
static bool vdev_put_back_is_refused(struct lives_test *s)
{
	u32 leg;

	if (!run_life(s, live_superblocks))
		return false;
	remember(s, s->img);
	for (leg = 0; leg < 2; leg++) {
		image_free(&s->img[leg]);
		image_copy(&s->img[leg], &s->past[2][leg]);
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
static bool leg_that_misses_many_superblocks_is_in_sync(struct lives_test *s)
{
	u32 i;

	if (!run_life(s, live_superblocks))
		return false;
	s->stalled = BIT(1);
	for (i = 0; i < KVP_SB_RING + 1; i++)
		if (!run_life(s, NULL))
			return false;
	s->stalled = 0;
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
static bool leg_with_a_superblock_that_was_cut_is_in_sync(struct lives_test *s)
{
	u64 cut;

	if (!run_life(s, live_superblocks))
		return false;
	s->stalled = 0x1d;
	if (!run_life(s, NULL))
		return false;
	cut = newest_sequence(&s->img[1]);
	s->unread = (struct unread){ .legs = BIT(1), .rings = 3, .first = cut, .count = 1 };
	s->start.missing = BIT(4);
	s->stalled = 0x1e;
	s->goes_back = true;
	if (!run_life(s, NULL))
		return false;
	s->goes_back = false;
	memset(&s->unread, 0, sizeof(s->unread));
	s->stalled = 0;
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

static void live_leg_offline(struct lives_test *s)
{
	live_one_flush(s);
	remember_past(s);
	WRITE_ONCE(s->host.pool->sb->epoch, s->host.pool->sb->epoch + s->ahead);
	host_offline(&s->host, s->lost);
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
static void put_superblock(struct lives_test *s, u32 leg, u64 sequence, u32 less)
{
	u32 end, i;

	for (end = 0; end < 2; end++)
		for (i = 0; i < KVP_SB_BLOCKS; i++) {
			u64 at = slot_block(&s->img[leg], end, sequence) + i;

			if (i != less)
				image_write(&s->img[leg], at, image_blk(&s->old[leg], at),
					    ALL_SECTORS);
		}
}

/* All legs get the contents that remember_past() noted. */
static void recall_past(struct lives_test *s, u32 past)
{
	u32 i;

	for (i = 0; i < s->legs; i++) {
		image_free(&s->img[i]);
		image_copy(&s->img[i], &s->past[past][i]);
	}
}

/*
 * The superblock that records a leg out reaches one leg alone, and torn. The next start does not
 * know it, and uses its number again. That one is cut as well, and this leg gets only the block of
 * it that was missing, in which both are equal. So the first one is complete there, beside the
 * second one on all other legs, and they are in sync.
 */
static bool torn_superblocks_make_a_whole_one(struct lives_test *s)
{
	u64 cut;
	u32 less;

	s->lost = 1;
	if (!run_life(s, live_leg_offline))
		return false;
	/* The last one says that this one counts. */
	cut = newest_sequence(&s->img[0]) - 1;
	remember(s, s->img);
	recall_past(s, 0);
	/* once to see the writes of the next start; then with the old contents */
	s->stalled = BIT(0);
	if (!run_life(s, NULL))
		return false;
	less = block_alike(&s->old[0], &s->img[1], &s->past[0][0], cut);
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
		    block_alike(&s->old[0], &s->img[1], &s->past[0][0], cut) == less,
		    "the torn superblock counts\n"))
		return false;
	s->stalled = 0;
	put_superblock(s, 0, cut, ~0u);
	return all_there(s, BIT(1)) && starts(s);
}

/*
 * The loss of leg @lost is recorded on leg @alone when the power goes, and on no other leg. The
 * first superblock that calls leg @lost out is there; with @counted, also the one by which that
 * counts, and all that follow. Returns the number of the first one; 0: the test has failed.
 */
static u64 loss_that_one_leg_knows_of(struct lives_test *s, bool counted)
{
	u64 called, last;
	u32 i;

	if (!run_life(s, live_leg_offline))
		return 0;
	remember(s, s->img);
	last = newest_sequence(&s->img[s->alone]);
	called = s->past_sequence[0] + 1;
	recall_past(s, 0);
	for (i = 0; called + i <= (counted ? last : called); i++)
		put_superblock(s, s->alone, called + i, ~0u);
	if (expect(last == called + 1, "superblocks up to %llu, not %llu: the case was not set up",
		   last, called + 1))
		return called;
	return 0;
}

static void live_without_the_one(struct lives_test *s)
{
	const struct kvp_leg *legs = s->host.pool->legs;

	if (kvp_leg_in_sync(&legs[s->alone]) || !kvp_leg_in_sync(&legs[s->lost]))
		sim_fail("leg %u is in state %u, leg %u in state %u", s->alone,
			 legs[s->alone].state, s->lost, legs[s->lost].state);
	host_write(&s->host, 42, 3, false);
	host_flush(&s->host);
}

static void live_beside_the_one(struct lives_test *s)
{
	struct kvp_pool *pool = s->host.pool;
	char text[KVP_EVENT_TEXT], name[KVP_LEG_WORDS];

	live_without_the_one(s);
	snprintf(text, sizeof(text), "leg_passed_by leg=%u%s", s->alone,
		 kvp_leg_words(&pool->legs[s->alone], name));
	if (!told(pool, text))
		sim_fail("no event tells that leg %u is passed by", s->alone);
}

static void live_the_one_returns(struct lives_test *s)
{
	live_without_the_one(s);
	if (s->host.pool->sb->legs[s->alone].in_sync_era)
		sim_fail("leg %u is said to have era %u", s->alone,
			 s->host.pool->sb->legs[s->alone].in_sync_era);
	if (host_online(&s->host, s->alone))
		sim_fail("the leg does not return: %s", s->host.refusal.why);
	host_wait_resilver(&s->host);
	if (!kvp_leg_in_sync(host_leg(&s->host, s->alone)))
		sim_fail("the leg is in state %u", host_leg(&s->host, s->alone)->state);
	host_flush(&s->host);
}

static bool goes_on_without_the_one(struct lives_test *s)
{
	s->start.missing = BIT(s->alone);
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
static bool leg_that_alone_knew_of_a_loss_is_asked_about(struct lives_test *s)
{
	s->lost = 1;
	if (!loss_that_one_leg_knows_of(s, true) || !goes_on_without_the_one(s) ||
	    !refused(s, -ESTALE, "split brain") || !goes_on_without_the_one(s))
		return false;
	s->start.accept_fork = true;
	if (!starts(s))
		return false;
	s->start.accept_fork = false;
	return all_there(s, BIT(0));
}

static void live_alone(struct lives_test *s)
{
	live_leg_offline(s);
	host_write(&s->host, 44, 3, false);
	host_flush(&s->host);
}

/* Leg 0 has answered requests without leg 1. The others are put back, and go on without it. */
static bool leg_that_went_on_alone_is_asked_about(struct lives_test *s)
{
	u32 i;

	s->lost = 1;
	if (!run_life(s, live_alone))
		return false;
	for (i = 1; i < s->legs; i++) {
		image_free(&s->img[i]);
		image_copy(&s->img[i], &s->past[0][i]);
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
static bool passed_by(struct lives_test *s, u32 alone, u32 lost)
{
	s->alone = alone;
	s->lost = lost;
	return loss_that_one_leg_knows_of(s, false) && goes_on_without_the_one(s) &&
	       all_there(s, BIT(alone)) && run_life(s, live_beside_the_one) &&
	       all_there(s, BIT(alone)) && run_life(s, live_without_the_one) &&
	       run_life(s, live_the_one_returns) && all_there(s, BIT(lost)) &&
	       run_life(s, live_one_flush) && all_there(s, BIT(lost));
}

static bool leg_whose_superblock_never_counted_is_passed_by(struct lives_test *s)
{
	return passed_by(s, 0, 1);
}

static bool newest_superblock_that_never_counted_is_passed_by(struct lives_test *s)
{
	s->ahead = 20;
	return passed_by(s, 0, 1);
}

/* All of @leg but its labels has other contents. */
static void overwrite_all(struct lives_test *s, u32 leg)
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
static bool leg_that_is_passed_by_gets_everything(struct lives_test *s)
{
	s->lost = 2;
	if (!loss_that_one_leg_knows_of(s, false))
		return false;
	overwrite_all(s, 0);
	return goes_on_without_the_one(s) && run_life(s, live_without_the_one) &&
	       run_life(s, live_the_one_returns) && all_there(s, BIT(2)) &&
	       run_life(s, live_one_flush) && all_there(s, BIT(2));
}

/* The pool does not get an epoch above that of the leg: the next start could not read it. */
static bool leg_of_the_largest_epoch_is_not_passed_by(struct lives_test *s)
{
	s->lost = 1;
	s->ahead = KVP_SB_COUNT_END - KVP_SB_COUNT_ROOM;
	return loss_that_one_leg_knows_of(s, false) && goes_on_without_the_one(s) &&
	       refused(s, -EOVERFLOW, "no room to grow") && goes_on_without_the_one(s);
}

/* An SSD of a cache, which begins anew when it returns. */
static bool ssd_whose_superblock_never_counted_is_passed_by(struct lives_test *s)
{
	s->alone = s->legs - 1;
	s->lost = 1;
	return loss_that_one_leg_knows_of(s, false) && goes_on_without_the_one(s) &&
	       run_life(s, live_without_the_one) && all_there_together(s) &&
	       run_life(s, live_without_the_one) && all_there_together(s);
}

/* A newer superblock may be where leg 0 cannot be read: that the first one counts. */
static bool leg_that_may_know_more_is_not_passed_by(struct lives_test *s)
{
	u64 called;
	u32 rings;

	s->lost = 1;
	called = loss_that_one_leg_knows_of(s, false);
	if (!called || !goes_on_without_the_one(s))
		return false;
	for (rings = 1; rings < 4; rings++) {
		s->unread = (struct unread){ .legs = BIT(0), .rings = rings,
					     .first = called + 1, .count = 1 };
		if (!refused(s, -ESTALE, "split brain"))
			return false;
	}
	memset(&s->unread, 0, sizeof(s->unread));
	return run_life(s, live_the_one_returns) && all_there(s, BIT(1));
}

static void live_much_and_lose_one(struct lives_test *s)
{
	live_superblocks(s);
	live_leg_offline(s);
}

/*
 * Leg 0 calls leg 1 out, and this has not counted. But the others are put back to a state from long
 * before, and go on from there: leg 0 has what they do not know.
 */
static bool leg_beside_others_that_were_put_back_is_asked_about(struct lives_test *s)
{
	u32 last, i;

	s->lost = 1;
	if (!run_life(s, live_much_and_lose_one))
		return false;
	last = s->nr_past - 1;
	remember(s, s->img);
	recall_past(s, last);
	put_superblock(s, 0, s->past_sequence[last] + 1, ~0u);
	for (i = 1; i < s->legs; i++) {
		image_free(&s->img[i]);
		image_copy(&s->img[i], &s->past[0][i]);
	}
	s->start.missing = BIT(0);
	if (!starts(s) || !starts(s))
		return false;
	s->start.missing = 0;
	return refused(s, -ESTALE, "split brain");
}

/* Superblock @sequence of @leg says @out of the leg that is lost, in both rings. */
static void say_out(struct lives_test *s, u32 leg, u64 sequence, u64 out)
{
	static struct kvp_disk_sb d;
	u32 end, i;

	for (end = 0; end < 2; end++) {
		u64 at = slot_block(&s->img[leg], end, sequence);

		for (i = 0; i < KVP_SB_BLOCKS; i++)
			image_read(&s->img[leg], at + i, (u8 *)&d + i * KVP_BLOCK_SIZE);
		d.legs[s->lost].out = cpu_to_le64(out);
		d.csum = 0;
		d.csum = cpu_to_le32(kvp_crc32c(~0u, &d, sizeof(d)));
		for (i = 0; i < KVP_SB_BLOCKS; i++)
			image_write_data(&s->img[leg], at + i, (u8 *)&d + i * KVP_BLOCK_SIZE);
	}
}

/* A module that does not know the field wrote the superblock of leg 0: nothing is known. */
static bool leg_of_an_older_module_is_asked_about(struct lives_test *s)
{
	u64 called;

	s->lost = 1;
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
static bool leg_that_others_went_on_without_by_force_is_asked_about(struct lives_test *s)
{
	s->lost = 1;
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
static bool both_cut(struct lives_test *s, u32 reached)
{
	u64 called;
	u32 i;

	s->lost = 1;
	called = loss_that_one_leg_knows_of(s, false);
	if (!called)
		return false;
	s->nr_past = 2;
	for (i = 0; i < s->legs; i++)
		image_copy(&s->past[1][i], &s->img[i]);
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

static bool two_superblocks_that_never_counted(struct lives_test *s)
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
		s->nr_past = 0;
		for (i = 0; i < s->legs; i++) {
			image_free(&s->past[0][i]);
			image_free(&s->past[1][i]);
		}
	}
	return true;
}

/*
 * Leg 0 says that the loss of leg 1 counts. The first start of the others is cut, too, so that they
 * call leg 0 out under a number that is not lower than that of leg 0's superblock.
 */
static bool leg_that_is_called_out_late_is_asked_about(struct lives_test *s)
{
	u64 called;
	u32 i;

	s->lost = 1;
	called = loss_that_one_leg_knows_of(s, true);
	if (!called)
		return false;
	s->nr_past = 2;
	for (i = 0; i < s->legs; i++)
		image_copy(&s->past[1][i], &s->img[i]);
	s->start.missing = BIT(0);
	if (!starts(s))
		return false;
	remember(s, s->img);
	recall_past(s, 1);
	put_superblock(s, 1, called, ~0u);
	return goes_on_without_the_one(s) && refused(s, -ESTALE, "split brain");
}

/* A superblock with a new era is one that a leg fails: it is of the era before. */
static void live_loss_at_a_new_era(struct lives_test *s)
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
	if (h->pool->sb->era == s->noted[0] || h->pool->sb->legs[1].state == KVP_LEG_IN_SYNC)
		sim_fail("no new era, or no loss: the case was not set up");
	if (h->pool->sb->legs[1].in_sync_era >= s->noted[0])
		sim_fail("leg 1 is said to have all of era %u, and was lost in era %llu",
			 h->pool->sb->legs[1].in_sync_era, s->noted[0]);
}

static bool leg_is_lost_in_the_era_that_was_durable(struct lives_test *s)
{
	return run_life(s, live_loss_at_a_new_era) && all_there(s, 2);
}

static void resize(struct image *img, u32 blocks)
{
	struct image new;
	u32 b;

	image_init(&new, blocks);
	for (b = 0; b < min(blocks, img->blocks); b++)
		if (image_blk(img, b))
			image_write(&new, b, image_blk(img, b), ALL_SECTORS);
	image_free(img);
	*img = new;
}

/* Its end now has no label. The old one is in its place, and answers for the other. */
static bool label_of_a_grown_leg_is_found(struct lives_test *s)
{
	u64 made = s->img[0].blocks;

	if (!run_life(s, live_superblocks))
		return false;
	resize(&s->img[0], made + 300);
	remember(s, s->img);
	if ((hidden(s, 1, 1, s->noted[0], 1) && !has_all(s)) ||
	    (hidden(s, 0, 0, 0, 0) && !has_all(s)))
		return false;
	hidden(s, 1, 3, s->noted[0], 1);
	s->unread.made = made;
	return refused(s, -EIO, "newer superblock");
}

static void live_to_another_superblock(struct lives_test *s)
{
	live_one_flush(s);
	host_checkpoint(&s->host);
	note(s, s->host.pool->sb->sequence);
}

/*
 * A device grows, is used, and grows again: nothing names the end where its second label lies. The
 * one at the first end has the newest superblock that can be read, and was left since. It does not
 * say that there is no newer one.
 */
static bool label_of_a_leg_that_grew_twice_is_waited_for(struct lives_test *s)
{
	u64 made = s->img[0].blocks;

	if (!run_life(s, live_to_another_superblock))
		return false;
	resize(&s->img[0], made + 300);
	if (!run_life(s, live_to_another_superblock))
		return false;
	resize(&s->img[0], made + 600);
	remember(s, s->img);
	hidden(s, 1, 1, s->noted[0] + 1, s->noted[1] - s->noted[0]);
	/* Another leg has the newest one: this leg is as good. */
	if (s->legs > 1)
		return has_all(s);
	if (!refused(s, -EIO, "newer superblock"))
		return false;
	memset(&s->unread, 0, sizeof(s->unread));
	return has_all(s);
}

/* Its legs are larger, and say so. Then one is lost. */
static void live_larger_without_a_leg(struct lives_test *s)
{
	struct host *h = &s->host;

	live_one_flush(s);
	note(s, h->pool->sb->sequence);
	s->start.leg_blocks = disks.img[0].blocks - 300;
	if (host_grow_ahead(h, &s->start))
		sim_fail("not copied ahead: %s", h->refusal.why);
	host_sleep(100);
	live_one_flush(s);
	if (kvp_leg_offline(h->pool, host_leg(h, 1)))
		sim_fail("leg 1 stays");
	host_write(h, 60, 5, true);
	note(s, h->pool->sb->sequence);
}

/*
 * The devices have grown once more. The newest superblocks of leg 0 are at an end that only the
 * label of leg 1 names, and they record that leg out.
 */
static bool label_at_an_end_that_another_leg_names_is_found(struct lives_test *s)
{
	u64 made = s->img[0].blocks;
	u32 i;

	for (i = 0; i < s->legs; i++)
		resize(&s->img[i], made + 2400);
	s->start.leg_blocks = made;
	if (!run_life(s, live_larger_without_a_leg))
		return false;
	s->start.leg_blocks = 0;
	remember(s, s->img);
	hidden(s, 1, 1, s->noted[0] + 1, s->noted[1] - s->noted[0]);
	if (!starts(s))
		return false;
	memset(&s->unread, 0, sizeof(s->unread));
	return all_there(s, BIT(1));
}

/* One ring of leg 0 fails the superblock that records leg 1 out; with @all, all later ones too. */
static void live_loss_in_one_ring(struct lives_test *s, u32 end, bool all)
{
	struct host *h = &s->host;
	u64 at;

	live_one_flush(s);
	note(s, h->pool->sb->sequence + 1);
	at = slot_block(&disks.img[0], end, s->noted[0]);
	disks_fault(FAULT_WRITE_EIO, 0, at, at + (all ? 3 : 1) * KVP_SB_BLOCKS - 1);
	if (kvp_leg_offline(h->pool, host_leg(h, 1)))
		sim_fail("leg 1 stays");
	host_write(h, 40, 7, true);
	note(s, h->pool->sb->sequence);
}

static void live_loss_that_the_front_failed(struct lives_test *s)
{
	live_loss_in_one_ring(s, 0, false);
}

static void live_loss_that_the_back_failed(struct lives_test *s)
{
	live_loss_in_one_ring(s, 1, false);
}

static void live_losses_that_the_front_failed(struct lives_test *s)
{
	live_loss_in_one_ring(s, 0, true);
}

static void live_without_leg_1(struct lives_test *s)
{
	if (kvp_leg_in_sync(host_leg(&s->host, 1)))
		sim_fail("leg 1 is a source, and lacks what was acknowledged without it");
	host_read_each(&s->host, 40, 7);
}

/*
 * A superblock is in one ring of a leg only, since the write to the other ring failed. Later its
 * slot cannot be read. But another superblock with the same contents was written at once.
 */
static bool superblock_that_a_ring_failed_is_not_alone(struct lives_test *s)
{
	u32 end;

	remember(s, s->img);
	for (end = 0; end < 2; end++) {
		s->nr_noted = 0;
		recall(s);
		if (!run_life(s, end ? live_loss_that_the_back_failed :
				 live_loss_that_the_front_failed))
			return false;
		s->unread = (struct unread){ .legs = 1, .rings = end ? 1 : 2,
					     .first = s->noted[0], .count = 1 };
		if (!run_life(s, live_without_leg_1))
			return false;
		memset(&s->unread, 0, sizeof(s->unread));
	}
	return all_there(s, BIT(1));
}

/*
 * The same with a ring that fails them all. A loss takes two superblocks, and the third one says
 * the same as the second. That ring lacks more than one of them: it does not answer for the newest.
 */
static bool superblocks_that_a_ring_failed_say_the_same(struct lives_test *s)
{
	if (!run_life(s, live_losses_that_the_front_failed))
		return false;
	if (!expect(s->noted[1] == s->noted[0] + 2, "%llu superblocks: the case was not set up\n",
		    s->noted[1] + 1 - s->noted[0]))
		return false;
	s->unread = (struct unread){ .legs = 1, .rings = 2, .first = s->noted[1], .count = 1 };
	if (!refused(s, -EIO, "does not answer"))
		return false;
	s->unread.first--;
	if (!run_life(s, live_without_leg_1))
		return false;
	memset(&s->unread, 0, sizeof(s->unread));
	return all_there(s, BIT(1));
}

/* Leg 1 is out. A ring of leg 0 fails the superblock that has a new setting. */
static void live_setting_in_one_ring(struct lives_test *s)
{
	struct host *h = &s->host;
	u64 at;

	if (kvp_leg_offline(h->pool, host_leg(h, 1)))
		sim_fail("leg 1 stays");
	live_one_flush(s);
	note(s, h->pool->sb->sequence + 1);
	at = slot_block(&disks.img[0], 0, s->noted[0]);
	disks_fault(FAULT_WRITE_EIO, 0, at, at + KVP_SB_BLOCKS - 1);
	if (kvp_pool_set(h->pool, KVP_T_STRICT, 1))
		sim_fail("the tunable cannot be set");
}

static void live_with_the_setting(struct lives_test *s)
{
	if (!s->host.pool->tunables[KVP_T_STRICT])
		sim_fail("a setting is lost that was answered");
}

/* As above, with a change that needs one superblock only. */
static bool setting_that_a_ring_failed_is_not_alone(struct lives_test *s)
{
	if (!run_life(s, live_setting_in_one_ring))
		return false;
	s->unread = (struct unread){ .legs = 1, .rings = 2, .first = s->noted[0], .count = 1 };
	if (!run_life(s, live_with_the_setting))
		return false;
	memset(&s->unread, 0, sizeof(s->unread));
	return all_there(s, BIT(1));
}

static void live_larger(struct lives_test *s)
{
	struct host *h = &s->host;

	live_one_flush(s);
	note(s, h->pool->sb->sequence);
	s->start.leg_blocks = 0;
	if (host_larger(h, &s->start))
		sim_fail("not grown: %s", h->refusal.why);
	host_write(h, 60, 5, true);
	note(s, h->pool->sb->sequence);
}

/*
 * The pool has grown, and a device has its old size again. Its label there, and what can be read at
 * the front, are of before. The other leg says what the layout is.
 */
static bool small_leg_without_its_newest_label_is_named(struct lives_test *s)
{
	u32 made = s->img[0].blocks, i;

	for (i = 0; i < s->legs; i++)
		resize(&s->img[i], made + 2100);
	s->start.leg_blocks = made;
	s->start.grown = true;
	if (!run_life(s, live_larger))
		return false;
	resize(&s->img[0], made);
	remember(s, s->img);
	hidden(s, 1, 1, s->noted[0] + 1, s->noted[1] - s->noted[0]);
	return refused(s, -ENOSPC, "disk0 is too small");
}

static void live_in_a_large_pool(struct lives_test *s)
{
	host_write(&s->host, 10, 20, true);
	host_checkpoint(&s->host);
}

static void live_and_read(struct lives_test *s)
{
	host_read_each(&s->host, 10, 20);
	host_write(&s->host, 15, 3, true);
	host_stop(&s->host);
}

/* A dock takes the last MiB, or returns it: all of the layout is still there. */
static bool large_leg_may_lose_some_of_its_end(struct lives_test *s)
{
	const u32 blocks = KVP_SLACK_FROM + 77;
	u32 i;

	for (i = 0; i < s->legs; i++) {
		image_free(&s->img[i]);
		image_init(&s->img[i], blocks);
	}
	s->start.format = true;
	if (!run_life(s, live_in_a_large_pool))
		return false;
	s->start.format = false;
	for (i = 0; i < 3; i++) {
		resize(&s->img[0], i == 1 ? blocks : blocks - KVP_SLACK_BLOCKS);
		if (!run_life(s, live_and_read))
			return false;
	}
	resize(&s->img[0], blocks - 2 * KVP_SLACK_BLOCKS);
	return refused(s, -ENOSPC, "disk0 is too small");
}

/* Its last block is cut off, and with it the place of the label there. */
static bool shortened_leg_is_named(struct lives_test *s)
{
	struct image *img = &s->img[s->legs - 1];
	char words[32];

	resize(img, img->blocks - 1);
	snprintf(words, sizeof(words), "disk%u is too small", s->legs - 1);
	return refused(s, -ENOSPC, words);
}

/* --- events ------------------------------------------------------------------------------ */

static void live_told(struct lives_test *s)
{
	struct kvp_pool *pool = s->host.pool;

	note(s, pool->events->next);
	kvp_event(pool, "told");
	kvp_events_flush(pool);
}

static void live_remembering(struct lives_test *s)
{
	struct kvp_disk_event e;

	if (!kvp_event_get(s->host.pool, s->noted[0], &e) || strcmp((char *)e.text, "told"))
		sim_fail("an event of an earlier life is forgotten");
}

/* One block of the ring hides no more than itself. */
static bool events_outlive_a_bad_block(struct lives_test *s)
{
	if (!run_life(s, live_told) || !run_life(s, live_remembering))
		return false;
	s->bad_ring = true;
	return run_life(s, live_remembering);
}

/*
 * The number of finds in events from @seq on whose text begins with @begin; *@lines: the number of
 * these events.
 */
static u64 finds_of(struct lives_test *s, u64 seq, const char *begin, u32 *lines)
{
	struct kvp_pool *pool = s->host.pool;
	struct kvp_disk_event e;
	const char *many;
	u64 n = 0;

	for (*lines = 0; seq < pool->events->next; seq++) {
		if (!kvp_event_get(pool, seq, &e) || strncmp((char *)e.text, begin, strlen(begin)))
			continue;
		(*lines)++;
		many = strstr((char *)e.text, "blocks=");
		n += many ? strtoull(many + 7, NULL, 10) : 1;
	}
	return n;
}

/*
 * Twenty thousand bad blocks of two kinds in three minutes, with a pause that ends the first half.
 */
static void live_rotting(struct lives_test *s)
{
	struct kvp_pool *pool = s->host.pool;
	char name[KVP_LEG_WORDS], text[KVP_EVENT_TEXT];
	struct kvp_disk_event e;
	u32 i, lines;
	u64 n;

	note(s, pool->events->next);
	kvp_event(pool, "told");
	kvp_found(pool, KVP_FIND_HEALED, host_leg(&s->host, 0), 0, 1000);
	snprintf(text, sizeof(text), "healed leg=0 block=1000%s",
		 kvp_leg_words(host_leg(&s->host, 0), name));
	if (!kvp_event_get(pool, s->noted[0] + 1, &e) || strcmp((char *)e.text, text) ||
	    !strstr(text, " path=disk0"))
		sim_fail("the first find is '%s', not '%s'", (char *)e.text, text);
	for (i = 1; i < 20000; i++) {
		kvp_found(pool, KVP_FIND_HEALED, host_leg(&s->host, 0), 0, 1000 + 3 * i);
		kvp_found(pool, KVP_FIND_LOST, NULL, 0, i);
		if (i % 200 == 0)
			host_sleep(i == 10000 ? 100000 : 1000);
	}
	kvp_finds_report(pool);
	if (!kvp_event_get(pool, s->noted[0], &e) || strcmp((char *)e.text, "told"))
		sim_fail("older events are pushed out of the ring");
	n = finds_of(s, s->noted[0], "healed leg=0 block=", &lines);
	if (n != 20000 || lines > 24)
		sim_fail("%llu of 20000 in %u events", n, lines);
	if (finds_of(s, s->noted[0], "unrepaired block=", &lines) != 19999 || lines > 24)
		sim_fail("lost blocks make no event, or %u events", lines);
	kvp_events_flush(pool);
}

/* The disks have bad blocks, and a scrub mends them: two events. */
static void live_mended(struct lives_test *s)
{
	struct kvp_pool *pool = s->host.pool;
	u64 seq = pool->events->next, healed, unrepaired;
	u8 zeros[KVP_BLOCK_SIZE] = { 0 };
	u32 lines, i;

	host_write(&s->host, 0, 200, true);
	if (kvp_destage_all(pool))
		sim_fail("not home");
	for (i = 0; i < 200; i++)
		image_write_data(&disks.img[0], s->base->data_start + i, zeros);
	host_scrub(&s->host, &healed, &unrepaired);
	if (healed < 200 || unrepaired || finds_of(s, seq, "healed leg=0 block=",
						   &lines) != healed || lines > 3)
		sim_fail("%llu healed, in %u events", healed, lines);
}

static bool rot_leaves_the_ring_its_lines(struct lives_test *s)
{
	return run_life(s, live_rotting) && run_life(s, live_remembering) &&
	       run_life(s, live_mended);
}

/* --- what cannot be read now is not absent: R27 -------------------------------------- */

static const int any_error[] = { -EIO, -ENOMEM, -EAGAIN, -ETIMEDOUT, -ENOLINK, -ENODATA };

static void live_and_note_the_head(struct lives_test *s)
{
	live_entries(s);
	note(s, log_head(s));
}

static void cannot_read(struct lives_test *s, u32 legs, u64 first, u64 last, int error)
{
	s->bad_legs = legs;
	s->bad_first = first;
	s->bad_last = last;
	s->bad_error = error;
}

static u64 last_of_log(const struct lives_test *s)
{
	return s->base->log_start + s->base->log_blocks - 1;
}

/* From an entry on, or a block of its payload: no leg gives it, and the next start finds all. */
static bool unreadable_log_is_waited_for(struct lives_test *s)
{
	u32 all = BIT(s->legs) - 1, entry, i;

	if (!run_life(s, live_entries))
		return false;
	for (entry = 0; entry < 6; entry++)
		for (i = 0; i < ARRAY_SIZE(any_error); i++) {
			cannot_read(s, all, s->noted[entry], last_of_log(s), any_error[i]);
			if (!refused(s, -EIO, "nothing is lost"))
				return false;
			cannot_read(s, all, s->noted[entry] + 1, s->noted[entry] + 1, any_error[i]);
			if (!refused(s, -EIO, "nothing is lost") || !all_there_together(s))
				return false;
		}
	return all_there(s, 0);
}

/*
 * The others have this leg's part, and show where the log ends: all must have the log before a
 * write is acknowledged (R15).
 */
static bool one_leg_whose_log_cannot_be_read_is_not_waited_for(struct lives_test *s)
{
	u32 leg, i;

	if (!run_life(s, live_entries))
		return false;
	remember(s, s->img);
	for (leg = 0; leg < s->legs; leg++)
		for (i = 0; i < ARRAY_SIZE(any_error); i++) {
			recall(s);
			cannot_read(s, BIT(leg), s->base->log_start, last_of_log(s), any_error[i]);
			if (!starts(s))
				return false;
			if (!all_there_together(s))
				return false;
		}
	return true;
}

/* One leg's part of the last entry is rotten, like torn: the other leg has it. */
static bool part_of_an_entry_is_no_answer(struct lives_test *s)
{
	u32 leg, i, how;

	if (!run_life(s, live_entries))
		return false;
	remember(s, s->img);
	for (leg = 0; leg < 2; leg++)
		for (i = 0; i < ARRAY_SIZE(any_error) - 1; i++)
			for (how = DAMAGE_BIT; how < DAMAGES; how++) {
				recall(s);
				damage(&s->img[leg], s->noted[5], how);
				cannot_read(s, BIT(!leg), s->noted[5], last_of_log(s),
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
static bool bad_sector_behind_the_end_is_no_matter(struct lives_test *s)
{
	u32 all = BIT(s->legs) - 1, i;

	if (!run_life(s, live_and_note_the_head))
		return false;
	remember(s, s->img);
	for (i = 0; i < ARRAY_SIZE(any_error); i++) {
		bool medium = any_error[i] == -EIO || any_error[i] == -ENODATA;

		cannot_read(s, all, s->noted[6] + 20, s->noted[6] + 20, any_error[i]);
		if (!(medium ? starts(s) : refused(s, -EIO, "nothing is lost")) ||
		    !all_there_together(s))
			return false;
		recall(s);
		cannot_read(s, all, s->noted[6] + 1, last_of_log(s), any_error[i]);
		if (!refused(s, -EIO, "nothing is lost") || !all_there_together(s))
			return false;
	}
	return true;
}

/*
 * All that is near could be read, which is much more than the first headers that are far. Only
 * these show that the log went on, and no leg gives them.
 */
static bool far_headers_that_do_not_answer_are_waited_for(struct lives_test *s)
{
	u32 all = BIT(s->legs) - 1, i;
	u64 begin, far, first, count;

	if (!run_life(s, live_long_log))
		return false;
	begin = s->noted[0];
	far = far_from(begin + 13);
	first = far % s->base->log_blocks;
	count = begin + s->base->log_blocks - far;
	if (!expect(first + count <= s->base->log_blocks,
		    "the log goes round there: the case was not set up\n"))
		return false;
	wipe_headers(s, begin + 1, far);
	for (i = 0; i < ARRAY_SIZE(any_error) - 1; i++) {
		cannot_read(s, all, s->base->log_start + first,
			    s->base->log_start + first + count - 1, any_error[i]);
		if (!refused(s, -EIO, "nothing is lost"))
			return false;
	}
	cannot_read(s, 0, 0, 0, 0);
	return refused(s, -EUCLEAN, "damaged");
}

static void live_with_an_open_intent(struct lives_test *s)
{
	live_one_flush(s);
	hold_homes(s, 64, 40);
	host_write(&s->host, 64, 40, false);
	host_sleep(1500);
}

static void live_open_intent_over_data(struct lives_test *s)
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
static bool older_version_that_cannot_be_read_again_is_not_lost(struct lives_test *s)
{
	u32 leg, after, refusals = 0;

	if (!run_life(s, live_open_intent_over_data))
		return false;
	for (leg = 0; leg < s->legs; leg++)
		rot_home(s, leg, 70);
	remember(s, s->img);
	for (after = 0; after < 8; after++) {
		recall(s);
		cannot_read(s, BIT(s->legs) - 1, s->noted[0] + 1, s->noted[0] + 1, -EIO);
		s->bad_after = after;
		if (!run_life(s, NULL))
			return false;
		refusals += s->refused && strstr(s->host.refusal.why, "read from the log");
		s->bad_legs = s->bad_after = 0;
		if (!starts(s) || !all_there(s, 0))
			return false;
	}
	return expect(refusals, "no start was refused: the case was not set up\n");
}

/* One leg has a mixture or rot at home: it is not accepted while another one may have a version. */
static bool mixture_is_not_accepted_beside_a_silent_leg(struct lives_test *s)
{
	u64 home = s->base->data_start + 70;
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

/* --- running them ------------------------------------------------------------ */

static const struct base *base_of(const struct host_start *shape)
{
	if (shape->cache)
		return base_cache(shape);
	if (shape->second)
		return base_two(shape);
	return shape->parity ? base_parity(shape->legs, false) : base_pool(shape->legs, false);
}

static void free_images(struct image *img, u32 legs)
{
	u32 i;

	for (i = 0; i < legs; i++)
		image_free(&img[i]);
}

static bool tell_once(const char *name, bool (*tell)(struct lives_test *s),
		      const struct host_start *shape, u32 round)
{
	const struct base *base = base_of(shape);
	struct lives_test *s = calloc(1, sizeof(*s));
	bool good;
	u32 i;

	s->name = name;
	s->base = base;
	s->start = *shape;
	s->legs = shape->legs;
	s->seed = mix64(opt.seed, 5000 + round);
	oracle_copy(&s->o, &base->o);
	for (i = 0; i < s->legs; i++)
		image_copy(&s->img[i], &base->img[i]);
	good = tell(s);
	oracle_free(&s->o);
	free_images(s->img, s->legs);
	free_images(s->old, s->legs);
	for (i = 0; i < s->nr_past; i++)
		free_images(s->past[i], s->legs);
	free(s);
	return good;
}

static void test(const char *name, bool (*tell)(struct lives_test *s), struct host_start shape)
{
	u32 rounds = opt.rounds ?: opt.thorough ? 20 : 2, round;
	char full[128];
	bool good = true;

	snprintf(full, sizeof(full), "%s%s:%u", name, shape.parity ? ":parity" : shape.cache ?
		 ":cache" : "", shape.legs);
	if (!wanted(full))
		return;
	for (round = 0; good && round < rounds; round++)
		good = tell_once(full, tell, &shape, round);
	result(full, good);
}

#define TEST(function, ...) test(#function, function, (struct host_start){ __VA_ARGS__ })
#define ON_LEGS(function, n) TEST(function, .legs = n)
#define ON_TWO_VDEVS(function) TEST(function, .legs = 4, .second = 2)
#define ON_PARITY(function) TEST(function, .legs = 3, .parity = true)
#define ON_CACHE(function) TEST(function, .legs = 3, .cache = 1)

/* Tests of labels, for all kinds of pools. */
static void tell_of_labels(void)
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
	ON_LEGS(pool_goes_back_over_a_bad_slot, 1);
	ON_LEGS(pool_goes_back_over_a_bad_slot, 2);
	ON_TWO_VDEVS(leg_in_doubt_is_passed_by);
	ON_PARITY(leg_in_doubt_is_passed_by);
	ON_LEGS(superblocks_are_asked_for_again, 1);
	ON_LEGS(superblocks_are_asked_for_again, 2);
	ON_LEGS(rotten_superblocks_are_not_absent, 1);
	ON_LEGS(rotten_superblocks_are_not_absent, 2);
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
	ON_TWO_VDEVS(torn_superblocks_make_a_whole_one);
	ON_TWO_VDEVS(leg_that_alone_knew_of_a_loss_is_asked_about);
	ON_TWO_VDEVS(leg_that_is_called_out_late_is_asked_about);
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
	ON_LEGS(leg_is_lost_in_the_era_that_was_durable, 2);
	ON_LEGS(superblock_that_a_ring_failed_is_not_alone, 2);
	ON_LEGS(setting_that_a_ring_failed_is_not_alone, 2);
	ON_LEGS(superblocks_that_a_ring_failed_say_the_same, 2);
	ON_LEGS(label_of_a_grown_leg_is_found, 1);
	ON_LEGS(label_of_a_leg_that_grew_twice_is_waited_for, 1);
	ON_LEGS(label_of_a_leg_that_grew_twice_is_waited_for, 2);
	ON_LEGS(label_at_an_end_that_another_leg_names_is_found, 2);
	ON_LEGS(small_leg_without_its_newest_label_is_named, 2);
	ON_LEGS(large_leg_may_lose_some_of_its_end, 1);
	ON_LEGS(large_leg_may_lose_some_of_its_end, 2);
	ON_LEGS(shortened_leg_is_named, 1);
	ON_LEGS(shortened_leg_is_named, 2);
	ON_CACHE(shortened_leg_is_named);
}

void run_lives(void)
{
	ON_LEGS(damaged_log_below_the_watermark_is_refused, 1);
	ON_LEGS(damaged_log_below_the_watermark_is_refused, 2);
	ON_LEGS(damaged_log_that_the_superblock_names_is_refused, 1);
	ON_LEGS(damaged_log_that_the_superblock_names_is_refused, 2);
	ON_LEGS(log_of_a_higher_epoch_is_refused, 2);
	ON_LEGS(log_of_a_later_life_is_refused, 1);
	ON_LEGS(log_of_a_later_life_is_refused, 2);
	ON_LEGS(one_segment_far_behind_is_a_witness, 1);
	ON_LEGS(one_segment_far_behind_is_a_witness, 2);
	ON_LEGS(long_header_far_behind_is_a_witness, 1);
	ON_LEGS(long_header_far_behind_is_a_witness, 2);
	ON_LEGS(entry_in_the_next_segment_is_a_witness, 1);
	ON_LEGS(entry_in_the_next_segment_is_a_witness, 2);
	ON_LEGS(later_life_far_behind_is_refused, 1);
	ON_LEGS(later_life_far_behind_is_refused, 2);
	ON_LEGS(entry_on_one_leg_is_equalised_before_it_goes_home, 2);
	ON_LEGS(closed_intent_is_not_undone, 1);
	ON_LEGS(closed_intent_is_not_undone, 2);
	ON_LEGS(poison_is_durable_before_it_is_told, 1);
	ON_LEGS(poison_is_durable_before_it_is_told, 2);
	ON_LEGS(resolved_to_old_gets_the_era_of_the_recovery, 1);
	ON_LEGS(resolved_to_old_gets_the_era_of_the_recovery, 2);
	ON_LEGS(loss_is_recorded_before_a_flush_is_answered, 2);
	ON_LEGS(loss_while_a_loss_is_recorded_is_recorded_too, 3);
	ON_LEGS(loss_while_a_loss_is_said_to_count_is_recorded_too, 3);
	ON_LEGS(taken_offline_before_the_loss_is_recorded, 3);
	ON_LEGS(superblock_on_one_leg_is_rolled_forward_first, 2);
	ON_LEGS(first_leg_is_lost_and_returns, 2);
	ON_LEGS(copied_leg_is_refused, 2);
	ON_LEGS(accepted_fork_is_settled_for_good, 2);
	ON_LEGS(epoch_comes_before_sequence, 2);
	ON_LEGS(target_of_a_lost_source_is_no_fork, 3);
	ON_LEGS(a_forced_start_more_than_can_be_listed, 2);
	ON_LEGS(clone_that_went_its_own_way_is_no_source, 2);
	ON_LEGS(rot_leaves_the_ring_its_lines, 2);
	ON_LEGS(events_outlive_a_bad_block, 1);
	ON_LEGS(events_outlive_a_bad_block, 2);
	tell_of_labels();
	ON_LEGS(unreadable_log_is_waited_for, 1);
	ON_LEGS(unreadable_log_is_waited_for, 2);
	ON_LEGS(one_leg_whose_log_cannot_be_read_is_not_waited_for, 2);
	ON_LEGS(part_of_an_entry_is_no_answer, 2);
	ON_LEGS(mixture_is_not_accepted_beside_a_silent_leg, 2);
	ON_LEGS(older_version_that_cannot_be_read_again_is_not_lost, 1);
	ON_LEGS(older_version_that_cannot_be_read_again_is_not_lost, 2);
	ON_LEGS(bad_sector_behind_the_end_is_no_matter, 1);
	ON_LEGS(bad_sector_behind_the_end_is_no_matter, 2);
	ON_LEGS(far_headers_that_do_not_answer_are_waited_for, 1);
	ON_LEGS(far_headers_that_do_not_answer_are_waited_for, 2);
	ON_TWO_VDEVS(one_leg_of_two_vdevs_needs_no_order);
	ON_TWO_VDEVS(both_halves_written_are_refused);
	ON_TWO_VDEVS(pool_without_a_vdev_is_refused);
	ON_TWO_VDEVS(last_leg_of_a_vdev_is_kept);
	ON_TWO_VDEVS(superblock_on_one_leg_is_rolled_forward_first);
}
