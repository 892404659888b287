/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The log of a cache of kind parity1, which lies in full stripes (format/logstripe.h). One segment
 * at a time is in memory, in order of lsn.
 */
#ifndef KVPOOLCTL_LOGROWS_H
#define KVPOOLCTL_LOGROWS_H

#include "offline.h"

struct walker;
struct kvp_log_hdr;

struct log_rows {
	const struct offline_pool *pool;
	u64 lsn;			/* of the segment's first block; ~0: none is in memory */
	bool there[KVP_SEGMENT_BLOCKS];	/* a readable leg has the block */
	/* it could not be read from its leg: not now, or the medium has lost it */
	bool unread[KVP_SEGMENT_BLOCKS], lost[KVP_SEGMENT_BLOCKS];
	u8 *data;
	u8 *order;			/* one leg's part of it, as it lies there */
	u8 *scratch;			/* one block */
	u16 rec[KVP_MAX_ENTRY_BLOCKS];	/* by block of the entry: the record of a payload block */
};

/** log_rows_alloc() - NULL without memory */
struct log_rows *log_rows_alloc(const struct offline_pool *pool);
void log_rows_free(struct log_rows *r);

/** log_rows_load() - load the segment that holds @lsn */
void log_rows_load(struct log_rows *r, u64 lsn);

/** log_rows_block() - the block at @lsn in the loaded segment; NULL: it is missing */
const void *log_rows_block(const struct log_rows *r, u64 lsn);

/** log_rows_leg() - index in pool->legs[] of the leg that has @lsn; -1: that leg may not be read */
int log_rows_leg(const struct offline_pool *pool, u64 lsn);

/**
 * log_rows_find() - is the entry at @lsn readable or rebuildable, and does it follow the entry
 * before?
 * @why: the reason if not
 *
 * On success the header is in the walker's first buffer. Damaged parts of the entry are noted.
 */
bool log_rows_find(struct walker *k, u64 lsn, struct kvp_log_hdr *h, struct kvp_why *why);

/**
 * log_rows_missed() - why is no copy of a first block of a header at @lsn there, in the loaded
 * segment? 0, also if a leg that may not be read has it; or an error as of device_read()
 */
int log_rows_missed(const struct log_rows *r, u64 lsn);

/** log_rows_look() - call walker_saw() for a block at @lsn that may be a header */
void log_rows_look(struct walker *k, u64 lsn);

/**
 * log_rows_make() - rebuild the payload block at @lsn from the other blocks of its @row
 *
 * Return: 0 or -EIO. Only the block's sum says whether the result is right.
 */
int log_rows_make(const struct offline_pool *pool, u64 lsn, u8 row, void *buf);

#endif
