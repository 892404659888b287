/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writing a superblock to the rings of legs.
 *
 * Both rings of a leg are written at once, unless one of them may have the only copy of its newest
 * superblocks (R13), or a torn slot is beside this one (R27). Then one is written after the other.
 */
#ifndef KVP_SB_WRITE_H
#define KVP_SB_WRITE_H

#include "core/core.h"
#include "io/io.h"

/**
 * struct sb_write - superblocks being written
 * @group: the requests, for one wait
 * @ios: two for each leg
 * @nr: number of @ios in use
 * @sb: what is written: the pool's superblock, or @label
 * @label: for legs that join, and for slots that were left out: made from the pool's superblock,
 *	which stays as it is
 * @disk: one superblock, while it is encoded
 * @pages: of each leg those of the front ring, then those of the back ring
 */
struct sb_write {
	struct kvp_io_group group;
	struct kvp_io ios[KVP_MAX_LEGS * 2];
	u32 nr;
	struct kvp_sb *sb, label;
	struct kvp_disk_sb disk;
	struct page *pages[KVP_MAX_LEGS * 2 * KVP_SB_BLOCKS];
};

/**
 * kvp_sb_begin_label() - let the pool write a label instead of its superblock
 *
 * Return: the label, a copy of pool->sb, for the caller to change. Caller holds sb_lock.
 */
struct kvp_sb *kvp_sb_begin_label(struct kvp_pool *pool);

/**
 * kvp_sb_write_label() - write the label to both rings of @nr legs from @leg on, all at once
 *
 * The slots must not be those of the newest superblocks. Context: process, waits for I/O.
 */
void kvp_sb_write_label(struct sb_write *w, struct kvp_leg *leg, u32 nr);

/**
 * kvp_sb_end_label() - note the sequence of the label for the legs that it was written to
 *
 * Return: 0, or the first error.
 */
int __must_check kvp_sb_end_label(struct sb_write *w);

/**
 * kvp_sb_write_in_turn() - write to one ring of @leg after the other
 * @over: the slot may be that of one of the newest superblocks (R13)
 *
 * Context: process, waits for I/O.
 */
void kvp_sb_write_in_turn(struct kvp_pool *pool, struct sb_write *w, struct kvp_leg *leg,
			  bool over);

/**
 * kvp_sb_write_round() - write pool->sb to both rings of every leg in use
 *
 * Caller holds sb_lock. Context: process, waits for I/O. Return: how many legs in sync took it; 0:
 * too few.
 */
u32 kvp_sb_write_round(struct kvp_pool *pool);

/**
 * kvp_sb_fill_gaps() - write pool->sb to the slots that legs left out, under older numbers (R27)
 *
 * Caller holds sb_lock. Context: process, waits for I/O.
 */
void kvp_sb_fill_gaps(struct kvp_pool *pool);

#endif /* KVP_SB_WRITE_H */
