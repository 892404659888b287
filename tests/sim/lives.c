// SPDX-License-Identifier: GPL-2.0-only
/* The suite lives: what its parts share, which are in lives_SUBJECT_test.c. See lives.h. */
#include <stdio.h>
#include <string.h>

#include <linux/delay.h>

#include "lives.h"
#include "super/events.h"
#include "super/members.h"

struct lives_own own;

/* --- lives ------------------------------------------------------------------------------------ */

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

void hold_labels(u32 disk)
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

/* Superblocks are held, until the power goes. */
static void hold_superblocks(struct script *s)
{
	u32 i;

	for (i = 0; i < s->legs; i++)
		if (own.stalled >> i & 1 && own.stalled_at)
			life_hold_superblock(i, own.stalled_rings ?: 3, own.stalled_at);
		else if (own.stalled >> i & 1)
			hold_labels(i);
	if (own.stalled) {
		disks.stalls_writes = true;
		sim_spawn("cutter", cut_later, NULL);
	}
}

static void prepare(struct script *s)
{
	u32 i;

	disks.forged = own.goes_back;
	hide_superblocks(&own.unread);
	hold_superblocks(s);
	for (i = 0; own.bad_ring && i < s->legs; i++)
		disks_fault(FAULT_READ_EIO, i, KVP_EVENTS_BLOCK + 40, KVP_EVENTS_BLOCK + 40);
	for (i = 0; i < s->legs; i++)
		if (own.bad_legs >> i & 1) {
			struct fault *f = disks_fault(FAULT_READ_EIO, i, own.bad_first,
						      own.bad_last);

			f->error = own.bad_error;
			f->after = own.bad_after;
		}
}

static void tried(struct script *s)
{
	if (s->act && s->refused)
		sim_fail("start refused (%d): %s", s->refused, s->host.refusal.why);
}

bool run_life(struct script *s, void (*live)(struct script *s))
{
	bool good;

	/* cut_later() ends it. */
	s->power_at = own.stalled ? ~0u : 0;
	good = script_live(s, live, live);
	script_keep(s);
	return good;
}

bool refused(struct script *s, int error, const char *words)
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
		    t->requests[i].block < own.base->log_start ||
		    t->requests[i].block >= own.base->log_start + own.base->log_blocks) {
			snprintf(sim_failure, sizeof(sim_failure),
				 "a start that was refused wrote block %llu", t->requests[i].block);
			return false;
		}
	return true;
}

bool starts(struct script *s)
{
	if (run_life(s, NULL) && !s->refused)
		return true;
	if (s->refused)
		snprintf(sim_failure, sizeof(sim_failure), "start refused (%d): %s", s->refused,
			 s->host.refusal.why);
	return false;
}

/* All acknowledged data is there, whatever else happens. The images are unchanged. */
static bool all_there_if(struct script *s, u32 lost, enum check_depth depth)
{
	struct crash c = {
		.images = s->img, .legs = s->legs, .second = own.base->second, .o = &s->o,
		.parity = own.base->parity, .second_parity = own.base->second_parity,
			.cache = own.base->cache,
		.at = ~0u, .lost = lost,
		.seed = mix64(s->seed, 77), .heal_allowed = true, .poison_allowed = own.may_lose,
	};

	return !check_crash(&c, depth);
}

bool all_there(struct script *s, u32 lost)
{
	return all_there_if(s, lost, CHECK_LEGS);
}

bool all_there_together(struct script *s)
{
	return all_there_if(s, 0, CHECK_CONTENTS);
}

/* --- at the disks ----------------------------------------------------------------------------- */

void remember(struct script *s, const struct image *img)
{
	u32 i;

	for (i = 0; i < s->legs; i++) {
		image_free(&own.old[i]);
		image_copy(&own.old[i], &img[i]);
	}
}

void recall(struct script *s)
{
	u32 i;

	for (i = 0; i < s->legs; i++) {
		image_free(&s->img[i]);
		image_copy(&s->img[i], &own.old[i]);
	}
}

void recall_labels(struct script *s, u32 leg)
{
	struct image *img = &s->img[leg];
	u32 b;

	for (b = 0; b < KVP_LABEL_BLOCKS; b++) {
		u64 last = img->blocks - KVP_LABEL_BLOCKS + b;

		image_write(img, b, image_blk(&own.old[leg], b), ALL_SECTORS);
		image_write(img, last, image_blk(&own.old[leg], last), ALL_SECTORS);
	}
}

void damage(struct image *img, u64 block, enum damage how)
{
	u8 data[KVP_BLOCK_SIZE];

	image_read(img, block + (how == DAMAGE_PAYLOAD), data);
	if (how == DAMAGE_ZEROS)
		memset(data, 0, sizeof(data));
	else
		data[how == DAMAGE_BIT ? 49 : 2000] ^= 4;
	image_write_data(img, block + (how == DAMAGE_PAYLOAD), data);
}

void rot_home(struct script *s, u32 leg, u64 block)
{
	damage(&s->img[leg], own.base->data_start + block, DAMAGE_BIT);
}

const int any_error[ANY_ERRORS] = { -EIO, -ENOMEM, -EAGAIN, -ETIMEDOUT, -ENOLINK, -ENODATA };

void cannot_read(struct script *s, u32 legs, u64 first, u64 last, int error)
{
	own.bad_legs = legs;
	own.bad_first = first;
	own.bad_last = last;
	own.bad_error = error;
}

u64 last_of_log(const struct script *s)
{
	return own.base->log_start + own.base->log_blocks - 1;
}

u64 newest_sequence(const struct image *img)
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

u64 slot_block(const struct image *img, u32 end, u64 sequence)
{
	return kvp_sb_slot_offset(img->blocks, end, sequence % KVP_SB_RING) >> KVP_BLOCK_SHIFT;
}

bool hidden(struct script *s, u32 legs, u32 rings, u64 first, u32 count)
{
	own.unread = (struct unread){ .legs = legs, .rings = rings, .first = first,
				      .count = count };
	recall(s);
	return true;
}

bool has_all(struct script *s)
{
	bool good = starts(s);

	memset(&own.unread, 0, sizeof(own.unread));
	return good && all_there(s, 0);
}

/* --- in a life -------------------------------------------------------------------------------- */

u64 log_head(struct script *s)
{
	struct kvp_pool *pool = s->host.pool;

	return pool->vdevs.v[0].g->log_start + kvp_log_pos(pool->vdevs.v[0].g, pool->log->head.lsn);
}

void note(struct script *s, u64 what)
{
	own.noted[own.nr_noted++] = what;
}

void live_entries(struct script *s)
{
	u32 i;

	for (i = 0; i < 6; i++) {
		note(s, log_head(s));
		host_write(&s->host, 10 + 3 * i, 2, false);
		host_flush(&s->host);
	}
}

void live_one_flush(struct script *s)
{
	host_write(&s->host, 40, 2, false);
	host_flush(&s->host);
}

void hold_homes(struct script *s, u64 block, u32 count)
{
	u32 i;

	for (i = 0; i < s->legs; i++)
		disks_stall(i, disks.data_start + block, disks.data_start + block + count - 1);
}

void remember_past(struct script *s)
{
	u32 i;

	for (i = 0; i < s->legs; i++)
		image_copy(&own.past[own.nr_past][i], &disks.img[i]);
	own.past_sequence[own.nr_past++] = s->host.pool->sb->sequence;
}

bool told(struct kvp_pool *pool, const char *text)
{
	struct kvp_disk_event e;
	u64 seq;

	for (seq = 0; seq < pool->events->next; seq++)
		if (kvp_event_get(pool, seq, &e) && !strcmp((char *)e.text, text))
			return true;
	return false;
}

void superblock_task(void *arg)
{
	struct kvp_pool *pool = ((struct script *)arg)->host.pool;

	mutex_lock(&pool->sb_lock);
	kvp_sb_note(pool);
	mutex_unlock(&pool->sb_lock);
}

void live_two_eras(struct script *s)
{
	u32 i;

	for (i = 0; i < 3; i++) {
		host_write(&s->host, 20 + i, 1, false);
		host_sleep(1500);
		host_checkpoint(&s->host);
	}
}

void live_superblocks(struct script *s)
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
	if (s->host.pool->sb->sequence != own.noted[0])
		sim_fail("superblocks by themselves: the case was not set up");
}

void live_look_for_state(struct script *s)
{
	if (host_leg(&s->host, 0)->state == KVP_LEG_IN_SYNC)
		sim_fail("a leg that missed writes is in sync again");
	host_read_check(&s->host, 40);
	live_one_flush(s);
}

/* --- running them ----------------------------------------------------------------------------- */

static void set_up(struct script *s)
{
	own.base = base_for(s->c->shape);
}

static void clean_up(struct script *s)
{
	u32 i;

	script_free_disks(s, own.old);
	for (i = 0; i < own.nr_past; i++)
		script_free_disks(s, own.past[i]);
}

void lives_test(const char *name, bool (*tell)(struct script *s), struct host_start shape)
{
	char full[128];
	const struct script_case c = {
		.name = full, .shape = &shape, .set_up = set_up, .clean_up = clean_up,
		.prepare = prepare, .may_refuse = true, .tried = tried, .play = tell,
		.turns = opt.thorough ? 20 : 2, .salt = 5000, .life_seeds = true,
		.cuts = opt.thorough ? SCRIPT_EVERYWHERE : 8, .depth = CHECK_RECRASH,
		.own = &own, .own_size = sizeof(own),
	};

	snprintf(full, sizeof(full), "%s%s:%u", name, shape.parity ? ":parity" :
		 shape.cache ? ":cache" : "", shape.legs);
	script_run(&c);
}

void run_lives(void)
{
	run_lives_log();
	run_lives_intents();
	run_lives_losses();
	run_lives_forks();
	run_lives_unread();
	run_lives_slots();
	run_lives_putback();
	run_lives_alone();
	run_lives_sizes();
	run_lives_events();
}
