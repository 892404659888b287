/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The log, read from the legs. It is walked from the tail; each entry is taken from the first leg
 * with a sound copy. Where several vdevs carry the log, the given one leads to the others
 * (offline.h).
 */
#ifndef KVPOOLCTL_LOG_H
#define KVPOOLCTL_LOG_H

#include "offline.h"

#define LOG_BAD_NOTES	64
#define LOG_FAULTS	32	/* faults that are reported one by one */

/*
 * A damaged copy of a durable entry, or of one of its blocks. Another copy is sound, or parity is.
 */
struct log_fault {
	u32 leg;		/* index in the superblock */
	u64 lsn;		/* of the entry */
	struct kvp_why why;
};

struct log_walk {
	u64 entries, data, intents, discards, parity, clean;
	u64 head;		/* the lsn behind the last entry */
	u64 watermark;		/* each entry below this lsn was durable */
	/* the highest epoch of any entry; if it is above the superblock's, the superblock is old */
	u64 max_epoch;
	struct kvp_log_hdr last;	/* newest entry, if entries > 0 */
	/*
	 * By leg index in the superblock: how many entries below the watermark are damaged on that
	 * leg.
	 */
	u64 bad[KVP_MAX_LEGS];
	struct log_fault faults[LOG_FAULTS];	/* the first of these */
	unsigned int fault_count;
	/* entries that count by their headers alone: no leg has all of their payload */
	u64 by_header;
	bool damaged;		/* it ends below the watermark */
	bool unread;		/* the next entry may be where no leg could be read */
	struct kvp_why end;	/* why it ends, if damaged or unread */
};

enum log_state {
	LOG_SOUND,
	LOG_NEWER,	/* written under a superblock newer than all that were found */
	LOG_DAMAGED,
	LOG_UNKNOWN,	/* it may go on where no leg in sync could be read (R27) */
};

/*
 * Called for each entry in order, once it is verified as far as needed. @buf holds the header with
 * its records. A nonzero return ends the walk and is returned.
 */
typedef int (*log_entry_fn)(void *arg, const struct kvp_log_hdr *h, const void *buf);

/**
 * log_walk() - walk the log from the tail to its end
 * @fn: may be NULL
 *
 * Return: 0, -ENOMEM, or what @fn returned.
 */
int log_walk(const struct offline_pool *pool, struct log_walk *w, log_entry_fn fn, void *arg);

/*
 * The place of a record in the log: its entry, and its index there. It orders records of one block.
 */
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
 * @w: from log_walk(); its @unread is set if the chain may go on where no leg could be read
 * @complete: does the chain have its last entry? If not, it does not count, and @fn is not called
 * @end: of a complete chain: where the recovery saw the log end
 *
 * Return: as log_walk().
 */
int log_chain(const struct offline_pool *pool, struct log_walk *w, bool *complete,
	      struct log_at *end, log_entry_fn fn, void *arg);

/**
 * log_part() - walk the part of the log that one leg of a parity1, or one of several vdevs, has
 *
 * Entries of a part need not follow one another, so the walk says nothing about the log's end.
 */
int log_part(const struct offline_pool *pool, struct log_walk *w, log_entry_fn fn, void *arg);

/* Where a block of an entry's payload lies. */
struct log_payload {
	u64 entry;		/* lsn of the entry */
	u64 lsn;
	u8 row;			/* kvp_log_row() of it */
};

/**
 * log_read() - read a payload block that must sum to @crc, from a leg or rebuilt from its row
 *
 * Return: 0, or -EIO: no leg has it, and the row does not give it.
 */
int log_read(const struct offline_pool *pool, const struct log_payload *at, u32 crc,
	     u32 (*sum)(void *arg, const void *data), void *arg, void *buf);

/** log_state() - the verdict of a walk. After a clean stop no end is unknown: the log is empty. */
enum log_state log_state(const struct offline_pool *pool, const struct log_walk *w);

/** log_rec() - record @i of a verified entry */
void log_rec(const void *buf, u32 i, struct kvp_rec *r);

#endif
