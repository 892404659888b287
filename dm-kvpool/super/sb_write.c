// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writing one superblock to the rings of legs: in which order, and what each ring has by then.
 *
 * A ring that may hold the only copy of the newest superblock is written after the other one (R13).
 * A slot that a leg left out is filled later (R27). commit.c decides
 * what it means that legs took a superblock.
 */
#include <linux/mm.h>

#include "core/core.h"
#include "core/shadow.h"
#include "format/sbring.h"
#include "io/flight.h"
#include "io/io.h"
#include "super/members.h"
#include "super/sb_write.h"

/* The shadow's label is that of the leg that it is to replace: kvp_sb_label_shadow(). */
static u32 place_of(const struct kvp_leg *leg)
{
	return kvp_leg_is_shadow(leg) ? kvp_shadowed(leg->pool)->index : leg->index;
}

static struct page **pages_of(struct sb_write *w, const struct kvp_leg *leg, u32 end)
{
	return &w->pages[(place_of(leg) * 2 + end) * KVP_SB_BLOCKS];
}

/* Encode w->sb for ring @end of @leg, through a contiguous buffer. */
static void encode_for(struct sb_write *w, struct kvp_leg *leg, u32 end)
{
	struct page **pages = pages_of(w, leg, end);
	struct kvp_sb *sb = w->sb;
	u32 at = place_of(leg), i;

	memcpy(sb->leg_uuid, sb->legs[at].uuid, sizeof(sb->leg_uuid));
	sb->leg_index = at;
	sb->self_offset = kvp_sb_slot_offset(leg->size_blocks, end, sb->sequence % KVP_SB_RING);
	kvp_sb_encode(sb, &w->disk);
	for (i = 0; i < KVP_SB_BLOCKS; i++)
		memcpy(page_address(pages[i]), (u8 *)&w->disk + i * KVP_BLOCK_SIZE,
		       KVP_BLOCK_SIZE);
}

/*
 * Write w->sb to ring @end of @leg, from a copy of the pages (copied). A device that was given up
 * may take the write much later. By then another device may have that place, and its superblock may
 * be in these pages: with it the old device would pass for the other one.
 */
static void submit(struct sb_write *w, struct kvp_leg *leg, u32 end)
{
	struct kvp_io *io = &w->ios[w->nr++];

	encode_for(w, leg, end);
	io->leg = leg;
	io->op = KVP_IO_WRITE_FUA;
	io->copied = true;
	io->block = kvp_lblock(w->sb->self_offset >> KVP_BLOCK_SHIFT);
	io->nr = KVP_SB_BLOCKS;
	io->pages = pages_of(w, leg, end);
	kvp_io_group_submit(&w->group, io);
}

/* A write that failed may be half done: note that its slot is torn, as after a power cut. */
static void note_torn(struct kvp_leg *leg, u64 sequence, bool whole)
{
	if (whole)
		leg->torn &= ~BIT(sequence % KVP_SB_RING);
	else
		leg->torn |= BIT(sequence % KVP_SB_RING);
}

/* R27: note the slots of each ring that @leg left out as it took superblock @sequence. */
static void note_gaps(struct kvp_leg *leg, u64 sequence, int front, int back)
{
	u32 gaps = kvp_sb_gaps_between(leg->has_sequence, sequence), end;

	for (end = 0; end < 2; end++) {
		leg->gaps[end] |= gaps;
		if (end ? back : front)
			leg->gaps[end] |= BIT(sequence % KVP_SB_RING);
		else
			leg->gaps[end] &= ~BIT(sequence % KVP_SB_RING);
	}
}

/* R27: note which rings of @leg took the superblock. */
static void note_missed(struct kvp_leg *leg, int front, int back)
{
	leg->missed[0] = front ? min(leg->missed[0] + 1, 255) : 0;
	leg->missed[1] = back ? min(leg->missed[1] + 1, 255) : 0;
}

/*
 * Count the legs in sync that took the superblock. Returns 0 if a leg that the pool needs did not
 * take it. One bad sector in a ring is no reason to give up a leg: the other ring has the
 * superblock.
 */
static u32 count_taken(struct kvp_pool *pool, const struct sb_write *w)
{
	bool enough = true;
	u32 i, ok = 0;

	for (i = 0; i + 1 < w->nr; i += 2) {
		struct kvp_leg *leg = w->ios[i].leg;

		if (!kvp_leg_takes_writes(leg)) {
			leg->adopt &= w->ios[i].error || w->ios[i + 1].error;
			/* A leg that hangs must not delay every superblock. */
			leg->adopt &= w->ios[i].error != -ETIMEDOUT &&
				      w->ios[i + 1].error != -ETIMEDOUT;
			continue;
		}
		if (w->ios[i].error)
			kvp_leg_failed_write(leg);
		if (w->ios[i + 1].error)
			kvp_leg_failed_write(leg);
		note_torn(leg, pool->sb->sequence, !w->ios[i].error && !w->ios[i + 1].error);
		if (!w->ios[i].error || !w->ios[i + 1].error) {
			note_gaps(leg, pool->sb->sequence, w->ios[i].error, w->ios[i + 1].error);
			note_missed(leg, w->ios[i].error, w->ios[i + 1].error);
			leg->has_sequence = pool->sb->sequence;
			leg->taken++;
			ok += kvp_leg_in_sync(leg);
			continue;
		}
		enough &= kvp_leg_fail(leg, "a superblock write failed");
	}
	return enough ? ok : 0;
}

/*
 * R13: the newest two superblocks of a leg must not be overwritten in both rings at once. That can
 * happen if the leg lacks so many superblocks that the next one has the same slot: superblocks
 * failed on it, or starts were cut before it got theirs. If the history of a leg was given up, it
 * is unknown which superblocks it has. A leg that returns has two of its own, and the next two
 * superblocks may have their slots.
 */
static bool comes_round(const struct kvp_pool *pool, const struct kvp_leg *leg)
{
	u64 lacks = pool->sb->sequence - leg->has_sequence;
	u32 slots = lacks % KVP_SB_RING;

	if (kvp_leg_resilvers(leg))
		return leg->taken < 2;
	return !kvp_leg_takes_writes(leg) ||
	       (lacks >= KVP_SB_RING - 1 && (!slots || slots == KVP_SB_RING - 1));
}

/*
 * R27: two superblocks in a row that verify in neither ring look as if one of them had been
 * durable. So next to a torn slot, both rings must not be written at once.
 */
static bool goes_in_turn(const struct kvp_pool *pool, const struct kvp_leg *leg)
{
	return comes_round(pool, leg) || kvp_sb_beside_torn(leg->torn, pool->sb->sequence);
}

/*
 * True if the slot of the superblock has one of the newest two of @leg, and only the front ring has
 * the newest: a power cut came between the two rings, or the back ring failed it. So the front ring
 * must be written last. The two need not be neighbours: a leg that returned has one from before.
 */
static bool front_is_last(const struct kvp_pool *pool, const struct kvp_leg *leg)
{
	u32 slots = (pool->sb->sequence - leg->has_sequence) % KVP_SB_RING;

	return leg->missed[1] > leg->missed[0] &&
	       (!slots || slots == KVP_SB_RING - 1 ||
		leg->front_last & BIT(pool->sb->sequence % KVP_SB_RING));
}

static int write_ring(struct sb_write *w, struct kvp_leg *leg, u32 at, u32 end)
{
	w->nr = at + end;
	kvp_io_group_init(&w->group);
	submit(w, leg, end);
	kvp_io_group_wait(&w->group);
	return w->ios[at + end].error;
}

/*
 * Write to one ring of @leg after the other. With @over the slot may be that of one of the newest
 * superblocks, and the second ring is written only if the first one took this one. After an error
 * it is unknown what the slot of the first ring holds. The second ring may then have the only copy
 * of the newest superblock, and stays as it is. If the pool can spare the leg, it is given up: it
 * has lacked superblocks for long. If not, the next attempt has the next sequence, and so another
 * slot.
 */
void kvp_sb_write_in_turn(struct kvp_pool *pool, struct sb_write *w, struct kvp_leg *leg, bool over)
{
	u32 at = w->nr, first = over && front_is_last(pool, leg);

	if (write_ring(w, leg, at, first) && over)
		w->ios[at + !first] = w->ios[at + first];
	else
		write_ring(w, leg, at, !first);
	w->nr = at + 2;
}

/*
 * True if @leg is written. A leg gets superblocks, too, if its history was discarded: otherwise the
 * next start would ask for the order again.
 */
static bool gets_superblocks(const struct kvp_leg *leg)
{
	return kvp_leg_takes_writes(leg) || (leg->bdev && leg->adopt);
}

static void begin_write(struct sb_write *w, struct kvp_sb *sb)
{
	w->sb = sb;
	w->nr = 0;
	memset(w->ios, 0, sizeof(w->ios));
}

struct kvp_sb *kvp_sb_begin_label(struct kvp_pool *pool)
{
	struct sb_write *w = pool->sb_write;

	begin_write(w, &w->label);
	w->label = *pool->sb;
	return &w->label;
}

void kvp_sb_write_label(struct sb_write *w, struct kvp_leg *leg, u32 nr)
{
	kvp_io_group_init(&w->group);
	for (; nr--; leg++) {
		submit(w, leg, 0);
		submit(w, leg, 1);
	}
	kvp_io_group_wait(&w->group);
}

int kvp_sb_end_label(struct sb_write *w)
{
	int ret = 0;
	u32 i;

	for (i = 0; i < w->nr; i++) {
		w->ios[i].leg->has_sequence = w->label.sequence;
		ret = ret ?: w->ios[i].error;
	}
	return ret;
}

/* Write both rings of every leg in use. Returns how many legs in sync took it; 0: too few. */
u32 kvp_sb_write_round(struct kvp_pool *pool)
{
	struct sb_write *w = pool->sb_write;
	u32 i;

	begin_write(w, pool->sb);
	kvp_io_group_init(&w->group);
	for (i = 0; i < pool->nr_legs; i++) {
		if (!gets_superblocks(&pool->legs[i]) || goes_in_turn(pool, &pool->legs[i]))
			continue;
		submit(w, &pool->legs[i], 0);
		submit(w, &pool->legs[i], 1);
	}
	kvp_io_group_wait(&w->group);
	for (i = 0; i < pool->nr_legs; i++)
		if (gets_superblocks(&pool->legs[i]) && goes_in_turn(pool, &pool->legs[i]))
			kvp_sb_write_in_turn(pool, w, &pool->legs[i],
					     comes_round(pool, &pool->legs[i]));
	return count_taken(pool, w);
}

/*
 * Write the superblock to ring @end of @leg under an older number. The leg may fail that. Returns
 * true if the slot has it.
 */
static bool fill_gap(struct kvp_pool *pool, struct kvp_leg *leg, u32 end, u64 sequence)
{
	struct sb_write *w = pool->sb_write;
	struct kvp_sb *label = kvp_sb_begin_label(pool);

	label->sequence = sequence;
	/* More would be no valid superblock. */
	label->behind = (u32)min_t(u64, pool->sb->behind, sequence - 1);
	kvp_io_group_init(&w->group);
	submit(w, leg, end);
	kvp_io_group_wait(&w->group);
	if (w->ios[0].error) {
		note_torn(leg, sequence, false);
		return false;
	}
	leg->missed[end] = min_t(u64, leg->missed[end], pool->sb->sequence - sequence);
	return true;
}

/*
 * R27: suppose that a leg left out a slot, and that later slots cannot be read one day. Then the
 * old superblock in that slot says that there is no newer one. So the leg gets this superblock in
 * each slot that it left out, under the number of that slot.
 *
 * All legs have the superblock under its own number by then. So none of these older numbers is the
 * newest of a leg. A power cut among these writes changes nothing: no request was answered by this
 * superblock yet. The slots of the next two superblocks stay as they are: they must not have one of
 * the leg's last two (R13). A slot that cannot be written is not tried again. The exception is the
 * slot of the superblock just before: it is tried once more.
 */
void kvp_sb_fill_gaps(struct kvp_pool *pool)
{
	u64 newest = pool->sb->sequence, s;
	u32 i, end;

	for (i = 0; i < pool->nr_legs; i++) {
		struct kvp_leg *leg = &pool->legs[i];

		for (s = newest - 1; s && s + KVP_SB_RING - 2 > newest; s--)
			for (end = 0; end < 2; end++) {
				if (!(leg->gaps[end] & BIT(s % KVP_SB_RING)) ||
				    !kvp_leg_takes_writes(leg))
					continue;
				if (fill_gap(pool, leg, end, s) || s + 1 < newest)
					leg->gaps[end] &= ~BIT(s % KVP_SB_RING);
			}
	}
}

/* Allocates only the buffers that are missing: a pool may have got more legs. */
int kvp_sb_buffers_alloc(struct kvp_pool *pool)
{
	struct sb_write *w = pool->sb_write;
	u32 i;

	if (!w)
		w = pool->sb_write = kvzalloc(sizeof(*w), GFP_KERNEL);
	if (!w)
		return -ENOMEM;
	for (i = 0; i < pool->nr_legs * 2 * KVP_SB_BLOCKS; i++) {
		if (!w->pages[i])
			w->pages[i] = alloc_page(GFP_KERNEL);
		if (!w->pages[i])
			return -ENOMEM;
	}
	return 0;
}

void kvp_sb_buffers_free(struct kvp_pool *pool)
{
	struct sb_write *w = pool->sb_write;
	u32 i;

	for (i = 0; w && i < ARRAY_SIZE(w->pages); i++)
		if (w->pages[i])
			__free_page(w->pages[i]);
	kvfree(w);
	pool->sb_write = NULL;
}
