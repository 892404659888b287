/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which version of a block the log makes current. The log's records are in memory, sorted. They are
 * asked for in ascending order of blocks; for a parity1 in any order.
 */
#ifndef KVPOOLCTL_REPLAY_H
#define KVPOOLCTL_REPLAY_H

#include "log.h"

#define REPLAY_MAX_RECORDS	(16u << 20)	/* 640 MiB of memory */

struct replay_rec {
	u64 block;
	u64 lsn;	/* of its entry */
	u32 index;	/* within the entry: (lsn, index) is the order of acceptance */
	u32 count;
	u32 crc;
	u8 kind;	/* enum kvp_rec_kind */
	u8 row;		/* kvp_log_row() of its payload */
	u64 payload;	/* of data: lsn of its payload */
};

/* Parity of a row. */
struct replay_parity {
	u64 row;
	u32 vdev, crc;
	u64 lsn, payload;
	u32 index;		/* in the entry */
	u8 payload_row;		/* kvp_log_row() of the payload */
	struct log_at limit;	/* the parity counts the versions before this place */
};

struct replay {
	const struct kvp_geometry *g;	/* of the vdev with the log: set by the caller */
	struct replay_rec *recs;	/* by block, newest first */
	size_t count, room, at;
	/* by block: discards, and intents that are resolved, those of a run as one */
	struct replay_rec *discards;
	size_t discard_count, discard_room, discard_at;
	u64 *reach;	/* for each discard: where the last one ends, of it and all before it */
	struct replay_parity *parity;	/* by vdev and row, newest first */
	size_t parity_count, parity_room;
	/* discards that cover the block asked for, the newest on top */
	struct replay_rec **heap;
	size_t heap_count;
	/* if the log has older generations: lsn where the newest one begins; set by the caller */
	u64 settled;
	u64 resolved;	/* the superblock's log_resolved; set by the caller */
};

/**
 * replay_settled() - is @rec resolved: an intent, by a checkpoint, or an intent or a discard, by a
 * recovery?
 *
 * Such a record means: the table has the version, and older records do not count.
 */
static inline bool replay_settled(const struct replay *r, const struct replay_rec *rec)
{
	if (rec->kind == KVP_REC_INTENT && rec->lsn < r->resolved)
		return true;
	return rec->lsn < r->settled && rec->kind != KVP_REC_DATA;
}

/** replay_add() - a log_entry_fn; -ENOMEM, or -E2BIG beyond REPLAY_MAX_RECORDS */
int replay_add(void *replay, const struct kvp_log_hdr *h, const void *buf);

/** replay_sort() - after the last entry, before the first question; 0 or -ENOMEM */
int replay_sort(struct replay *r);
void replay_free(struct replay *r);

/** replay_next() - the first block from @block on that has a record of its own, or ~0 */
u64 replay_next(struct replay *r, u64 block);

/**
 * replay_get() - records of @block, newest first; blocks must be asked for in ascending order
 * @recs: receives the records
 * @discard: receives the newest discard of the block, or NULL
 *
 * Return: the number of records.
 */
size_t replay_get(struct replay *r, u64 block, const struct replay_rec **recs,
		  const struct replay_rec **discard);

/** replay_find() - the same, for blocks in any order */
size_t replay_find(const struct replay *r, u64 block, const struct replay_rec **recs);

/** replay_touches() - does the log have a record of a block from @first to before @end? */
bool replay_touches(const struct replay *r, u64 first, u64 end);

/** replay_row() - the newest parity of a row, NULL if there is none */
const struct replay_parity *replay_row(const struct replay *r, u32 vdev, u64 row);

/** replay_newer() - was @a accepted after @b? */
static inline bool replay_newer(const struct replay_rec *a, const struct replay_rec *b)
{
	return a->lsn != b->lsn ? a->lsn > b->lsn : a->index > b->index;
}

#endif
