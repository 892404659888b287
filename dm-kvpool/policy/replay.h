/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which record of the log counts for each block (R4). Pure planning: no I/O.
 *
 * A recovery adds the records of all accepted entries, in log order. In the end each block has at
 * most one chain, newest first. A data record ends the chain. Behind an intent comes the version
 * before it.
 */
#ifndef KVP_REPLAY_H
#define KVP_REPLAY_H

#include <linux/interval_tree.h>
#include <linux/list.h>
#include <linux/types.h>
#include <linux/xarray.h>

#include "format/format.h"

struct kvp_replay_rec {
	struct kvp_replay_rec *older;
	struct list_head list;	/* of the newest of a block: on kvp_replay.data or .intents */
	kvp_block_t block;
	kvp_lsn_t lsn;		/* lsn of its entry */
	kvp_lsn_t payload;		/* lsn of its payload block; 0 for an intent */
	u32 crc;
	u16 rec;		/* number of the record in its entry */
	u8 kind;		/* enum kvp_rec_kind: data or intent */
	u8 row;			/* kvp_log_row() of the payload */
};

/* A range that is discarded, or what newer resolved intents have left of it. */
struct kvp_replay_discard {
	struct list_head list;
	struct interval_tree_node range;	/* until kvp_replay_join(): in kvp_replay.ranges */
	kvp_block_t block, end;
};

struct kvp_replay {
	struct xarray blocks;		/* block -> struct kvp_replay_rec */
	struct list_head data, intents;	/* the newest record of each block, by kind, in log order */
	struct list_head discards;	/* in log order; joined: see kvp_replay_join() */
	struct rb_root_cached ranges;	/* the same, by range; empty once they are joined */
	u64 records;
};

/**
 * kvp_replay_init() - begin without records
 *
 * kvp_replay_exit() - free them all; then only kvp_replay_init() may use @r. There may be millions:
 * it takes a while, and may sleep.
 *
 * Context: process.
 */
void kvp_replay_init(struct kvp_replay *r);
void kvp_replay_exit(struct kvp_replay *r);

/** kvp_replay_add() - add the record at @at, with its @payload and @row. Return: 0 or -ENOMEM. */
int __must_check kvp_replay_add(struct kvp_replay *r, const struct kvp_rec *rec,
				struct kvp_log_at at, kvp_lsn_t payload, u8 row);

/**
 * kvp_replay_resolved() - add an intent that a checkpoint has resolved, or an intent or a discard
 * that an earlier recovery has resolved
 *
 * The table tells what the block is. No record before this one counts, and no discard: the table
 * has what was written after that. Return: 0 or -ENOMEM.
 */
int __must_check kvp_replay_resolved(struct kvp_replay *r, const struct kvp_rec *rec);

/**
 * kvp_replay_join() - sort the discards by place, and make one of all that overlap or touch
 *
 * Their order does not count. No record older than a discard of its block is left, and a block with
 * a newer one is skipped by all discards. So each block is discarded once, and each newer record is
 * looked at once, however many discards there are.
 */
void kvp_replay_join(struct kvp_replay *r);

/** kvp_replay_newest() - the newest record of @block, or NULL */
struct kvp_replay_rec *kvp_replay_newest(struct kvp_replay *r, kvp_block_t block);

#endif /* KVP_REPLAY_H */
