// SPDX-License-Identifier: GPL-2.0-only
/*
 * A log that rotates over several vdevs: which of them carry it, which has the next entry, and the
 * contents after a cut while a leg that lacks an entry is not yet recorded out.
 */
#include <stdlib.h>
#include <string.h>

#include "format/logplace.h"
#include "work/destage.h"
#include "script.h"

/* --- the vdevs, and the rotation -------------------------------------------------------- */

static void add_vdev(struct kvp_sb *sb, u32 kind, u32 legs, u32 segments, u32 segment_blocks)
{
	sb->vdevs[sb->vdev_count++] = (struct kvp_geometry){
		.kind = kind, .leg_count = legs, .segments = segments,
			.segment_blocks = segment_blocks,
		.chunk_blocks = kind == KVP_VDEV_PARITY1 ? KVP_CHUNK_BLOCKS : 0,
	};
}

/* Check the place of the log of such a pool. @mask: all vdevs that must carry it. */
static bool chosen(struct kvp_sb *sb, u32 vdev, u32 mask)
{
	kvp_log_choose(sb);
	return expect(sb->log_vdev == vdev && (sb->log_others | BIT(vdev)) == mask,
		      "the log is on vdev %u and on %x", sb->log_vdev, sb->log_others) &&
	       expect(!(sb->log_others & BIT(vdev)), "twice") &&
	       expect(!sb->log_others == !(sb->incompat & KVP_INCOMPAT_LOG_TURNS), "feature bit") &&
	       expect(!kvp_log_place_fault(sb), "%s", kvp_log_place_fault(sb));
}

/* No entry is on a vdev that survives less than another, and none where the log would not fit. */
bool turns_choice_test(void)
{
	struct kvp_sb *sb = calloc(1, sizeof(*sb));
	bool good;

	add_vdev(sb, KVP_VDEV_SINGLE, 1, 64, 512);
	good = chosen(sb, 0, 0x1);
	add_vdev(sb, KVP_VDEV_SINGLE, 1, 64, 512);
	good &= chosen(sb, 0, 0x3);
	add_vdev(sb, KVP_VDEV_MIRROR, 2, 64, 512);
	good &= chosen(sb, 2, 0x4);
	add_vdev(sb, KVP_VDEV_PARITY1, 5, 32, 512);
	good &= chosen(sb, 3, 0xc);		/* the smaller one says how large it is */
	add_vdev(sb, KVP_VDEV_MIRROR, 2, 20, 256);
	good &= chosen(sb, 3, 0xc);		/* other segments */
	add_vdev(sb, KVP_VDEV_MIRROR, 3, 16, 256);
	good &= chosen(sb, 5, 0x20);
	add_vdev(sb, KVP_VDEV_CACHE, 2, 4096, 512);
	good &= chosen(sb, 6, 0x40);
	kvp_log_anew(sb, 3, 0x4, 7);
	good &= expect(sb->log_vdev == 3 && sb->log_others == 4 && sb->log_nonce == 7, "moved") &&
		expect(!kvp_log_place_fault(sb), "off the cache");
	sb->log_others = 0x10;
	good &= expect(kvp_log_place_fault(sb), "a vdev of other segments");
	sb->log_others = 0x8;
	good &= expect(kvp_log_place_fault(sb), "one vdev twice");
	sb->log_others = 0x40;
	good &= expect(kvp_log_place_fault(sb), "the cache with others");
	sb->log_others = 0x80;
	good &= expect(kvp_log_place_fault(sb), "a vdev that is not there");
	sb->log_others = 0;
	good &= expect(kvp_log_place_fault(sb), "the feature without others");
	free(sb);
	return good;
}

/* Entries of one length, as the builder places them: each vdev has its share. */
static bool shared(const struct kvp_log_track *track, u32 length)
{
	u32 entries = 1000 * track->nr, count[KVP_MAX_VDEVS] = { 0 }, i;
	u64 lsn = 8192, end = 8704;
	bool good = true;

	for (i = 0; i < entries; i++) {
		u32 v = kvp_log_turn(track, lsn), blocks = length;

		count[v]++;
		if (end - lsn < blocks)
			blocks = (u32)(end - lsn);
		lsn += blocks;
		if (end - lsn < min(length, 32u)) {
			lsn = end;
			end += 512;
		}
	}
	for (i = 0; i < track->nr; i++)
		good &= expect(count[track->vdev[i]] >= 900 && count[track->vdev[i]] <= 1100,
			       "of %u vdevs number %u has %u of %u entries of %u blocks", track->nr,
			       track->vdev[i], count[track->vdev[i]], entries, length);
	return good;
}

bool turns_share_test(void)
{
	static const u32 lengths[] = { 1, 2, 3, 5, 9, 15, 16, 17, 33, 65, 239, 254 };
	struct kvp_log_track track = { .nr = 0 };
	bool good = true;
	u32 i, n;

	for (n = 1; good && n < KVP_MAX_VDEVS; n++) {
		track.vdev[track.nr++] = (u8)n;
		for (i = 0; good && i < ARRAY_SIZE(lengths); i++)
			good = shared(&track, lengths[i]);
	}
	/* For ever: it is a format. */
	track = (struct kvp_log_track){ .nr = 3, .vdev = { 0, 2, 5 } };
	return good && expect(kvp_log_turn(&track, 0) == 0 && kvp_log_turn(&track, 2) == 2 &&
			      kvp_log_turn(&track, 16) == 5 && kvp_log_turn(&track, 512) == 5 &&
			      kvp_log_turn(&track, 1000001) == 5, "other turns");
}

/* --- a leg lacks an entry --------------------------------------------------------------------- */

/*
 * The next entry does not reach one leg of the vdev whose turn it is. That cannot be recorded yet:
 * the superblock is locked for long.
 */
static void spoil_next_entry(struct script *t)
{
	struct kvp_pool *pool = t->host.pool;
	const struct kvp_vdev *v = kvp_log_vdev(&pool->vdevs, pool->log->head.lsn);
	u32 disk = v->legs[0].bdev->index;

	disks_fault(FAULT_WRITE_EIO, disk, disks.log_first[disk],
		    disks.log_end[disk] - 1)->times = 1;
	t->crash.given_up = BIT(disk);
	t->host.may_fail = true;
	script_cut_from_here(t);
	mutex_lock(&pool->sb_lock);
}

static void let_it_be_recorded(struct script *t)
{
	if (!kvp_members_dirty(t->host.pool))
		sim_fail("no leg was given up");
	mutex_unlock(&t->host.pool->sb_lock);
}

/* As after the commit interval, without a waiter: an entry by itself. */
static void commit(struct script *t)
{
	kvp_commit_now(t->host.pool->log);
	kvp_commit_kick(t->host.pool->log, true);
	host_sleep(1);
}

/*
 * Homes on other legs stay unchanged until the loss is recorded. Direct writes go home at once; but
 * a parity1 loses with a leg its direct writes in flight.
 */
static void homes_of_an_entry_that_a_leg_lacks(struct script *t)
{
	u32 blocks = t->start.parity || t->start.second_parity ? 10 : 40;
	u64 block = host_boundary(&t->start) - blocks / 2;

	host_write(&t->host, block, blocks, true);
	host_checkpoint(&t->host);
	spoil_next_entry(t);
	host_write(&t->host, block, blocks, false);
	commit(t);
	/* not host_destage(): the watermark does not move before the loss is recorded */
	kvp_destage_kick(t->host.pool, true);
	host_sleep(500);
	let_it_be_recorded(t);
	host_sleep(1500);
	host_flush(&t->host);
}

static void fail_superblocks(const struct kvp_pool *pool)
{
	u64 ring = KVP_SB_RING * KVP_SB_BLOCKS;
	u32 i;

	for (i = 0; i < pool->nr_legs; i++) {
		const struct kvp_leg *leg = &pool->legs[i];
		u64 end = kvp_sb_slot_offset(leg->size_blocks, 1, 0) >> KVP_BLOCK_SHIFT;

		disks_fault(FAULT_WRITE_EIO, leg->bdev->index, KVP_SB_FIRST_BLOCK,
			    KVP_SB_FIRST_BLOCK + ring - 1);
		disks_fault(FAULT_WRITE_EIO, leg->bdev->index, end, end + ring - 1);
	}
}

static void cure_all(void)
{
	u32 i;

	for (i = 0; i < disks.nr_faults; i++)
		disks.faults[i].kind = FAULT_NONE;
}

/*
 * The same, and the superblock that would record the loss fails. Then the pool is faulted, and no
 * version of the entry goes home until `clear` has recorded the loss.
 */
static void homes_of_an_entry_whose_loss_is_not_recorded(struct script *t)
{
	u32 blocks = t->start.parity || t->start.second_parity ? 10 : 40;
	u64 block = host_boundary(&t->start) - blocks / 2;
	struct kvp_pool *pool = t->host.pool;

	host_write(&t->host, block, blocks, true);
	host_checkpoint(&t->host);
	fail_superblocks(pool);
	spoil_next_entry(t);
	mutex_unlock(&pool->sb_lock);
	host_write(&t->host, block, blocks, false);
	commit(t);
	host_sleep(200);
	if (!kvp_members_dirty(pool) || !kvp_pool_faulted(pool))
		sim_fail("no leg was given up, or that was recorded: the case was not set up");
	kvp_destage_kick(pool, true);
	host_sleep(1500);
	cure_all();
	kvp_pool_clear(pool, -1);
	if (kvp_members_dirty(pool) || kvp_pool_faulted(pool))
		sim_fail("the pool does not go on");
	t->host.may_fail = false;
	host_flush(&t->host);
	host_destage(&t->host);
}

/* Entries on other vdevs do not say that it was durable. */
static void entries_behind_one_that_a_leg_lacks(struct script *t)
{
	u64 block = host_boundary(&t->start) - 10;
	u32 i;

	host_write(&t->host, block, 3, true);
	spoil_next_entry(t);
	for (i = 0; i < 8; i++) {
		host_write(&t->host, block + i % 3 * 6, 1 + i % 4, false);
		commit(t);
	}
	host_sleep(100);
	let_it_be_recorded(t);
	host_flush(&t->host);
}

static void flush_task(void *arg)
{
	struct script *t = arg;

	host_flush(&t->host);
}

/*
 * Direct writes are flushed, and a leg fails the flush, which cannot be recorded yet. The leg may
 * have old data, and be all that is left of its vdev. So no header says that all of it is home.
 */
static void intents_that_a_leg_did_not_flush(struct script *t, bool checkpoint)
{
	u64 block = host_boundary(&t->start) - 20;
	struct kvp_pool *pool = t->host.pool;
	u32 disk = pool->vdevs.v[0].legs[0].bdev->index, i;

	host_write(&t->host, block, 40, true);
	host_checkpoint(&t->host);
	script_cut_from_here(t);
	host_write(&t->host, block, 40, false);
	commit(t);
	host_sleep(200);
	if (list_empty(&pool->log->open))
		sim_fail("nothing goes home by intent: the case was not set up");
	/* The next entry is on the other vdev. */
	for (i = 0; kvp_log_vdev(&pool->vdevs, pool->log->head.lsn) == &pool->vdevs.v[0]; i++) {
		host_write(&t->host, block - 60 - 2 * i, 1, false);
		commit(t);
		host_sleep(20);
	}
	disks_fault(FAULT_FLUSH_EIO, disk, 0, ~0ull)->times = 1;
	t->crash.given_up = BIT(disk);
	t->host.may_fail = true;
	mutex_lock(&pool->sb_lock);
	if (checkpoint)
		kvp_destage_kick(pool, true);
	else
		sim_spawn("flush", flush_task, t);
	host_sleep(200);
	/* On whichever vdev. */
	for (i = 0; i < 6; i++) {
		host_write(&t->host, block - 10 - 4 * i, 1 + i % 2, false);
		commit(t);
		host_sleep(20);
	}
	let_it_be_recorded(t);
	host_sleep(1500);
	host_flush(&t->host);
}

static void intents_that_a_leg_did_not_flush_at_a_checkpoint(struct script *t)
{
	intents_that_a_leg_did_not_flush(t, true);
}

static void intents_that_a_leg_did_not_flush_for_a_flush(struct script *t)
{
	intents_that_a_leg_did_not_flush(t, false);
}

static void begin(struct script *t)
{
	if (t->host.pool->vdevs.log_track.nr != 2)
		sim_fail("%u vdevs carry the log", t->host.pool->vdevs.log_track.nr);
}

static void set_up(struct script *t)
{
	t->crash.each_leg = true;
}

static void turns(const char *what, void (*act)(struct script *t), const struct host_start *shape)
{
	char name[128];
	struct script_case c = {
		.name = name, .shape = shape, .set_up = set_up, .begin = begin, .act = act,
		.leave = true, .turns = opt.thorough ? 8 : 2, .salt = 77,
		.cuts = SCRIPT_EVERYWHERE, .depth = CHECK_LEGS,
	};

	snprintf(name, sizeof(name), "turns:%s:%s", shape->parity ? "parity+mirror" :
		 shape->second_parity ? "mirror+parity" : "mirror+mirror", what);
	script_run(&c);
}

#define NAMED(function) #function, function

void run_turns(void)
{
	static const struct host_start shapes[] = {
		{ .legs = 4, .second = 2 },
		{ .legs = 5, .second = 3, .second_parity = true },
		{ .legs = 5, .parity = true, .second = 2 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		turns(NAMED(homes_of_an_entry_that_a_leg_lacks), &shapes[i]);
		turns(NAMED(homes_of_an_entry_whose_loss_is_not_recorded), &shapes[i]);
		turns(NAMED(entries_behind_one_that_a_leg_lacks), &shapes[i]);
	}
	/* a parity1 loses with a leg its direct writes in flight */
	turns(NAMED(intents_that_a_leg_did_not_flush_at_a_checkpoint), &shapes[0]);
	turns(NAMED(intents_that_a_leg_did_not_flush_for_a_flush), &shapes[0]);
}
