/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The log of a cache of kind parity1, which lies in full stripes (format/logstripe.h): a
 * segment at a time in memory, in order of lsn.
 */
#ifndef KVPOOLCTL_LOGROWS_H
#define KVPOOLCTL_LOGROWS_H

#include "offline.h"

struct walker;
struct kvp_log_hdr;

struct log_rows {
	const struct offline_pool *pool;
	u64 lsn;			/* of the segment's first block; ~0: none is in memory */
	bool there[KVP_SEGMENT_BLOCKS];	/* some leg that may be read has it, and it could be read */
	u8 *data;
	u8 *order;			/* what one leg has of it */
	u8 *scratch;			/* one block */
	u16 rec[KVP_MAX_ENTRY_BLOCKS];	/* by block of the entry, if it is payload: its record */
};

/** log_rows_alloc() - NULL without memory */
struct log_rows *log_rows_alloc(const struct offline_pool *pool);
void log_rows_free(struct log_rows *r);

/** log_rows_load() - have the segment that holds @lsn in memory */
void log_rows_load(struct log_rows *r, u64 lsn);

/** log_rows_block() - the block at @lsn, of the segment in memory; NULL: it is not there */
const void *log_rows_block(const struct log_rows *r, u64 lsn);

/** log_rows_leg() - the place in pool->legs[] of the leg that has @lsn; -1: it may not be read */
int log_rows_leg(const struct offline_pool *pool, u64 lsn);

/**
 * log_rows_find() - is the entry at @lsn there, or can it be made, and does it follow?
 * @why: if not, why
 *
 * Its header is in the walker's first buffer then. What of it is not as it should be is noted.
 */
bool log_rows_find(struct walker *k, u64 lsn, struct kvp_log_hdr *h, struct kvp_why *why);

/** log_rows_look() - walker_saw() of whatever may be a header at @lsn */
void log_rows_look(struct walker *k, u64 lsn);

/**
 * log_rows_make() - the block at @lsn, which is payload, of all others of its @row
 * Return: 0 or -EIO. Only its sum says whether it is that block.
 */
int log_rows_make(const struct offline_pool *pool, u64 lsn, u8 row, void *buf);

#endif
