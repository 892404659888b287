/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The log, read from the legs: walked from the tail, each entry taken from
 * the first leg whose copy is sound. Where several vdevs carry it, the one that is
 * given leads to the others (offline.h).
 */
#ifndef KVPOOLCTL_LOG_H
#define KVPOOLCTL_LOG_H

#include "offline.h"

#define LOG_BAD_NOTES	64
#define LOG_FAULTS	32	/* that are told one by one */

/* A copy of a durable entry, or a block of it, that is not as it should be, though others make up for it. */
struct log_fault {
	u32 leg;		/* by its place in the superblock */
	u64 lsn;		/* of the entry */
	struct kvp_why why;
};

struct log_walk {
	u64 entries, data, intents, discards, parity, clean;
	u64 head;		/* lsn after the last entry */
	u64 watermark;		/* every entry below was durable */
	u64 max_epoch;		/* of all entries of this pool; above the superblock's: that is old */
	struct kvp_log_hdr last;	/* newest entry, if entries > 0 */
	/* By places in the superblock: entries below the watermark of which the leg's part is not sound. */
	u64 bad[KVP_MAX_LEGS];
	struct log_fault faults[LOG_FAULTS];	/* the first of those */
	unsigned int fault_count;
	u64 by_header;		/* entries that count by their headers: no leg has all of their payload */
	bool damaged;		/* ends below the watermark */
	struct kvp_why end;	/* why it ends, if damaged */
};

enum log_state {
	LOG_SOUND,
	LOG_NEWER,	/* written under a superblock newer than any that is at hand */
	LOG_DAMAGED,
};

/*
 * Called for each entry in order, once all of it is verified, or enough. @buf holds the header
 * with its records. Nonzero ends the walk and is returned.
 */
typedef int (*log_entry_fn)(void *arg, const struct kvp_log_hdr *h, const void *buf);

/**
 * log_walk() - walk the log from the tail to its end
 * @fn: may be NULL
 *
 * Return: 0, -ENOMEM, or what @fn returned.
 */
int log_walk(const struct offline_pool *pool, struct log_walk *w, log_entry_fn fn, void *arg);

/* A place in the log: of a record in its entry. Records of the same block are ordered by it. */
struct log_at {
	u64 lsn;
	u32 rec;
};

static inline bool log_before(struct log_at a, struct log_at b)
{
	return a.lsn != b.lsn ? a.lsn < b.lsn : a.rec < b.rec;
}

/**
 * log_chain() - walk the parity that an unfinished recovery has appended to the log
 * @complete: has it its last entry? Else it does not count, and @fn is not called
 * @end: if so, where that recovery saw the log end
 *
 * Return: as log_walk().
 */
int log_chain(const struct offline_pool *pool, bool *complete, struct log_at *end,
	      log_entry_fn fn, void *arg);

/**
 * log_part() - what of the log is on one leg of a parity1, which has some segments only, or of one vdev of several
 *
 * Entries need not follow one another, so nothing is said of its end.
 */
int log_part(const struct offline_pool *pool, struct log_walk *w, log_entry_fn fn, void *arg);

/* Where a block of an entry's payload lies. */
struct log_payload {
	u64 entry;		/* lsn of the entry */
	u64 lsn;
	u8 row;			/* kvp_log_row() of it */
};

/**
 * log_read() - a payload block that must sum to @crc: from any leg that has it, or made of its row
 * Return: 0, or -EIO: it is not to be had.
 */
int log_read(const struct offline_pool *pool, const struct log_payload *at, u32 crc,
	     u32 (*sum)(void *arg, const void *data), void *arg, void *buf);

/** log_state() - what a walk found */
enum log_state log_state(const struct offline_pool *pool, const struct log_walk *w);

/** log_rec() - record @i of a verified entry */
void log_rec(const void *buf, u32 i, struct kvp_rec *r);

#endif
