// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>

#include "disk.h"
#include "life.h"
#include "super/heartbeat.h"
#include "sched.h"
#include "script.h"
#include "format/spare.h"
#include "table/table.h"

void life_write(struct life_writer *w)
{
	u32 n = 1 + rng_below(w->rng, rng_chance(w->rng, 300) ? 40 : 6);
	u64 block = rng_below(w->rng, w->blocks - n);

	if (rng_chance(w->rng, 150)) {
		host_discard(w->host, block, n);
		return;
	}
	host_write(w->host, block, n, rng_chance(w->rng, 100));
}

/* Eras advance once a second. */
void life_writes(struct life_writer *w, u32 n)
{
	while (n--) {
		life_write(w);
		if (rng_chance(w->rng, 200))
			host_checkpoint(w->host);
		if (rng_chance(w->rng, 200))
			host_sleep(1100);
	}
	host_flush(w->host);
}

static void writer(void *arg)
{
	struct life_writer *w = arg;

	while (w->goes_on) {
		life_write(w);
		host_sleep(rng_below(w->rng, 30));
	}
	w->ended = true;
}

void life_begin_writer(struct life_writer *w)
{
	w->goes_on = true;
	w->ended = false;
	sim_spawn("writer", writer, w);
}

void life_end_writer(struct life_writer *w)
{
	w->goes_on = false;
	while (!w->ended)
		host_sleep(5);
}

void life_expect_scrubbed(struct host *h)
{
	u64 healed, unrepaired;

	kvp_table_shrink(h->pool->table, true);
	host_scrub(h, &healed, &unrepaired);
	if (healed || unrepaired)
		sim_fail("a scrub healed %llu, found %llu beyond repair", healed, unrepaired);
}

void life_expect_sound(struct host *h, u32 blocks)
{
	u64 block;

	life_expect_scrubbed(h);
	for (block = 0; block < blocks; block += 7)
		host_read_check(h, block);
}

u64 life_superblock(u32 disk, u32 end, u64 sequence)
{
	return kvp_sb_slot_offset(disks.img[disk].blocks, end, sequence % KVP_SB_RING) >>
	       KVP_BLOCK_SHIFT;
}

void life_fail_superblock(u32 disk, u32 rings, u64 sequence)
{
	u32 end;

	for (end = 0; end < 2; end++) {
		u64 at = life_superblock(disk, end, sequence);

		if (rings >> end & 1)
			disks_fault(FAULT_WRITE_EIO, disk, at, at + KVP_SB_BLOCKS - 1);
	}
}

void life_hold_superblock(u32 disk, u32 rings, u64 sequence)
{
	u32 end;

	for (end = 0; end < 2; end++) {
		u64 at = life_superblock(disk, end, sequence);

		if (rings >> end & 1)
			disks_stall(disk, at, at + KVP_SB_BLOCKS - 1);
	}
}

void life_fail_next_superblock(struct host *h)
{
	u32 i;

	for (i = 0; i < h->pool->nr_legs; i++)
		if (kvp_leg_in_sync(&h->pool->legs[i]))
			life_fail_superblock(h->pool->legs[i].bdev->index, 3,
					     h->pool->sb->sequence + 1);
}

void life_run(struct script_case *c)
{
	const struct host_start *hs = c->shape;

	c->spares = 2;
	c->blank = POOL_LEG_BLOCKS;
	c->blocks = hs->second ? host_boundary(hs) + 64 : POOL_BLOCKS;
	c->leave = true;
	script_run(c);
}

void life_begin(struct script *s, struct life_writer *w, struct rng *rng)
{
	struct kvp_pool *pool = s->host.pool;

	if (kvp_pool_set(pool, KVP_T_ONLINE_AUTO, 1))
		sim_fail("online_auto is not set");
	*w = (struct life_writer){
		.host = &s->host, .rng = rng,
		.blocks = min_t(u64, s->o.blocks, pool->sb->pool_blocks),
	};
}

void life_set_rate(struct script *s, u64 resilver_rate)
{
	if (kvp_pool_set(s->host.pool, KVP_T_RESILVER_RATE, resilver_rate))
		sim_fail("resilver_rate is not set");
}

void life_stop(struct script *s)
{
	host_flush(&s->host);
	host_stop(&s->host);
}

void life_again(struct script *s)
{
	life_stop(s);
	script_start(s);
}

void life_expect_in_sync(struct script *s)
{
	struct kvp_pool *pool = s->host.pool;
	u32 i;

	if (pool->nr_legs != s->start.legs)
		sim_fail("%u legs, not %u", pool->nr_legs, s->start.legs);
	for (i = 0; i < pool->nr_legs; i++) {
		const struct kvp_leg *leg = &pool->legs[i];

		if (!kvp_leg_in_sync(leg))
			sim_fail("leg %u is in state %u", i, leg->state);
		if (leg->index != i || leg->bdev != &disks.bdev[host_disk(&s->start, i)])
			sim_fail("leg %u is %s", leg->index, leg->path);
	}
}

void life_blank_disk(struct script *s, u32 disk)
{
	struct image blank;

	s->untraced = true;
	image_init(&blank, disks.img[disk].blocks);
	image_free(&disks.img[disk]);
	disks.img[disk] = blank;
	watch_forget(disk);
}

void life_label_spare(struct image *img, const struct kvp_spare *s, u32 end)
{
	struct kvp_disk_sb *d = malloc(sizeof(*d));
	u64 offset = kvp_spare_offset(img->blocks, end);
	u32 i;

	kvp_spare_encode(s, offset, d);
	for (i = 0; i < KVP_SB_BLOCKS; i++)
		image_write_data(img, (offset >> KVP_BLOCK_SHIFT) + i,
				 (u8 *)d + i * KVP_BLOCK_SIZE);
	free(d);
}

void life_newer_module(struct image *img, u64 from, u64 sequence)
{
	struct kvp_disk_sb *d = malloc(sizeof(*d));
	struct kvp_sb *sb = malloc(sizeof(*sb));
	struct kvp_why why;
	u32 end, i;

	for (end = 0; end < 2; end++) {
		u64 old = kvp_sb_slot_offset(img->blocks, end, from % KVP_SB_RING);
		u64 new = kvp_sb_slot_offset(img->blocks, end, sequence % KVP_SB_RING);

		for (i = 0; i < KVP_SB_BLOCKS; i++)
			image_read(img, (old >> KVP_BLOCK_SHIFT) + i,
				   (u8 *)d + i * KVP_BLOCK_SIZE);
		if (kvp_sb_decode(d, old, img->blocks, sb, &why))
			continue;
		sb->incompat |= 1ull << 62;
		sb->self_offset = new;
		sb->sequence = sequence;
		kvp_sb_encode(sb, d);
		for (i = 0; i < KVP_SB_BLOCKS; i++)
			image_write_data(img, (new >> KVP_BLOCK_SHIFT) + i,
					 (u8 *)d + i * KVP_BLOCK_SIZE);
	}
	free(sb);
	free(d);
}

void life_make_spare(struct image *img, const struct image *leg)
{
	struct kvp_spare s = { .size_blocks = img->blocks, .uuid = { 5 }, .name = "pool" };
	u8 block[KVP_BLOCK_SIZE];
	u32 slot, end;

	for (slot = 0; slot < KVP_SB_RING; slot++) {
		image_read(leg, KVP_SB_FIRST_BLOCK + slot * KVP_SB_BLOCKS, block);
		if (!memcmp(block, KVP_SB_MAGIC, KVP_SB_MAGIC_LEN))
			memcpy(s.pool_uuid, block + offsetof(struct kvp_disk_sb, pool_uuid), 16);
	}
	for (end = 0; end < 2; end++)
		life_label_spare(img, &s, end);
}

u32 life_spare_labels(const struct image *img)
{
	struct kvp_disk_sb *d = malloc(sizeof(*d));
	struct kvp_spare s;
	struct kvp_why why;
	u32 end, i, found = 0;

	for (end = 0; end < 2; end++) {
		u64 offset = kvp_spare_offset(img->blocks, end);

		for (i = 0; i < KVP_SB_BLOCKS; i++)
			image_read(img, (offset >> KVP_BLOCK_SHIFT) + i,
				   (u8 *)d + i * KVP_BLOCK_SIZE);
		if (!kvp_spare_decode(d, offset, img->blocks, &s, &why))
			found |= BIT(end);
	}
	free(d);
	return found;
}

u32 life_spares_listed(const struct host *h)
{
	const struct kvp_sb *sb = h->pool->sb;
	u32 i, found = 0;

	for (i = 0; i < KVP_MAX_SPARES; i++)
		if (sb->spares[i][0])
			found |= BIT(sb->spares[i][0]);
	return found;
}

static struct {
	struct script *s;
	int (*change)(struct script *s);
	bool over;
	int ret;
} side;

static void change_side(void *arg)
{
	side.ret = side.change(side.s);
	side.over = true;
}

void life_while_it_hangs(struct script *s, u32 disk, int (*change)(struct script *s))
{
	struct kvp_pool *pool = s->host.pool;
	u32 limit = (u32)pool->tunables[KVP_T_LEG_TIMEOUT], i;
	struct kvp_heartbeat_figures f;

	if (kvp_pool_set(pool, KVP_T_HEARTBEAT, 1))
		sim_fail("there is no heartbeat");
	host_sleep(3000);
	side = (typeof(side)){ .s = s, .change = change };
	disks_stall(disk, 0, 255);
	sim_spawn("change", change_side, NULL);
	for (i = 0; i < 3 * limit && !side.over; i++) {
		host_sleep(1000);
		if (!kvp_heartbeat_figures(pool, &f) || f.age_ms > 8000)
			sim_fail("the last heartbeat is %llu ms old", f.age_ms);
	}
	disks_release(disk);
	if (!side.over)
		sim_fail("the pool waits for disk %u, which is no leg", disk);
	if (i < limit / 2)
		sim_fail("disk %u did not hang: the case was not set up", disk);
	if (!side.ret)
		sim_fail("disk %u hangs, and is in use", disk);
	host_sleep(5000);
	host_write(&s->host, 20, 3, true);
	host_read_check(&s->host, 21);
	if (kvp_pool_set(pool, KVP_T_HEARTBEAT, 0))
		sim_fail("the heartbeat is not turned off");
}
