/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All versions of blocks and rows in the log of a parity1. Pure planning: no I/O.
 *
 * A recovery adds the records of all accepted entries, in log order. Unlike replay.h, a history
 * forgets none. A parity counts all versions of its row before a certain place in the log. To take
 * a block out of a parity, a recovery must know which versions those were.
 */
#ifndef KVP_HISTORY_H
#define KVP_HISTORY_H

#include <linux/list.h>
#include <linux/types.h>
#include <linux/xarray.h>

#include "format/format.h"

/**
 * struct kvp_past_version - what one record says of one block
 * @at: the record
 * @payload: lsn of its contents; a discard has none
 * @row: where they can be made from, in a log of full stripes (format/logstripe.h)
 */
struct kvp_past_version {
	struct kvp_past_version *older;
	struct kvp_log_at at;
	kvp_lsn_t payload;
	u32 crc;
	u8 kind;		/* enum kvp_rec_kind: data, intent or discard */
	u8 row;
};

/* A discard of whole stripes. */
struct kvp_wide_discard {
	struct list_head list;
	struct kvp_log_at at;
	u64 block, count;
};

/*
 * A discard that covers a stretch of 16^n stripes, or of 4^n blocks where it covers a stripe in
 * part. n is its level, and the stretch is aligned to its length. A discard is cut into as few of
 * them as possible. So a lookup of a block looks at one stretch of each level, however many
 * discards there are. And a discard takes little memory, however wide the stripes are.
 *
 * Many discards may cover the same stretch. @jump is an older one. The jumps get longer with the
 * list. So the newest discard before a limit is found in steps as the logarithm of the list's
 * length.
 */
struct kvp_cover {
	struct kvp_cover *older, *jump;
	u32 depth;			/* number of older ones */
	struct kvp_log_at at;
};

struct kvp_covers {
	struct xarray stretches;	/* level and stretch -> struct kvp_cover, newest first */
	u32 shift;			/* bits of a level */
	u32 levels;
};

/**
 * struct kvp_logged_parity - the newest parity of a row in the log
 * @limit: it counts the versions before this place
 * @entry: where its entry is
 * @payload: lsn of its contents
 * @log_row: where they can be made from, as for a version
 */
struct kvp_logged_parity {
	struct kvp_log_at limit;
	kvp_lsn_t entry, payload;
	u32 crc;
	u8 log_row;
};

struct kvp_history {
	const struct kvp_geometry *g;
	/* block -> struct kvp_past_version, newest first; discards are in @whole and @parts */
	struct xarray blocks;
	struct xarray rows;		/* row -> struct kvp_logged_parity */
	struct list_head wide;		/* discards of whole stripes, in log order */
	struct xarray parted;		/* stripe -> anything, if a discard covers a part of it */
	struct kvp_covers whole;	/* of stripes, by discards of whole stripes */
	struct kvp_covers parts;	/* of blocks, by discards of parts of stripes */
	u64 looks;			/* stretches that a lookup looked at, for tests */
	struct kvp_past_version discarded;	/* the result of kvp_history_find() for these */
	u64 records;
};

/**
 * kvp_history_init() - begin an empty history for a vdev with geometry @g, which must stay
 *
 * kvp_history_exit() - free all versions. There may be millions: it takes a while, and may sleep.
 *
 * Context: process.
 */
void kvp_history_init(struct kvp_history *h, const struct kvp_geometry *g);
void kvp_history_exit(struct kvp_history *h);

/**
 * kvp_history_add() - add the next record
 * @at: its place
 * @payload: lsn of its payload, if it has one
 * @row: kvp_log_row() of its payload
 * @limit: limit of its entry, if the record is parity
 *
 * Return: 0 or -ENOMEM.
 */
int __must_check kvp_history_add(struct kvp_history *h, const struct kvp_rec *rec,
				 struct kvp_log_at at,
				 kvp_lsn_t payload, u8 row, struct kvp_log_at limit);

/**
 * kvp_history_find() - the newest version of @block before @limit, or NULL
 *
 * Valid until the next call.
 */
const struct kvp_past_version *kvp_history_find(struct kvp_history *h, kvp_vblock_t block,
					   struct kvp_log_at limit);

/**
 * kvp_history_next() - the next stripe with a row of which the log knows
 * @block: in: the first block of a stripe. Out: a block of that stripe, or of one behind it
 *
 * Discards of whole stripes do not count: h->wide has them.
 *
 * Return: false if there is none.
 */
bool kvp_history_next(struct kvp_history *h, u64 *block);

/**
 * kvp_history_knows() - true if the log has a record of @block
 *
 * Discards of whole stripes do not count.
 */
bool kvp_history_knows(struct kvp_history *h, kvp_vblock_t block);

/**
 * kvp_history_parity() - the newest parity of @row that still says something of home, or NULL
 * @tail: tail of the log
 *
 * If the tail has passed all that a parity counts, all of that is home. The row may have been
 * written as a whole since, and that logs no parity. So such a parity is not returned.
 */
const struct kvp_logged_parity *kvp_history_parity(struct kvp_history *h, u64 row, kvp_lsn_t tail);

#endif /* KVP_HISTORY_H */
