/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Declarations that the files of this folder share. Recovery runs in one thread.
 *
 * kvp_recover() is called once, by kvp_pool_start(), after the labels were chosen and before a
 * request is served. recover.c has the list of steps. Until the last superblock of recovery is
 * durable, the old log stays as it is. So after a cut at any point the next recovery has the same
 * result.
 *
 *   scan.c         which entries count, and where the log ends (R10)
 *   segment.c      a segment of the log in memory, as each leg has it
 *   stripes.c      the same for a cache of kind parity1
 *   unread.c       a block that could not be read is not taken as absent (R27)
 *   apply.c        data goes home
 *   intents.c      which direct writes are home (R4, R5)
 *   rows.c         rows of a parity1; chain.c: their parity, logged before anything goes home
 *   retain.c       the log of a cache keeps its data
 *   discard_log.c  the log of a cache is given up by order (R14)
 *
 * policy/replay.h keeps the records of blocks, policy/history.h those of rows. Both are pure, and
 * have tests of their own.
 *
 * A function that returns -errno has filled in the refusal, or leaves that to explain() in
 * recover.c. A start after a refused one finds everything that it needs, and does the same steps
 * again.
 *
 * Locks: sb_lock around superblocks, checkpoint_lock around checkpoints. Range locks are not
 * needed, since nothing else runs.
 */
#ifndef KVP_RECOVERY_H
#define KVP_RECOVERY_H

#include "core/core.h"
#include "core/log_mark.h"
#include "io/batch.h"
#include "policy/history.h"
#include "policy/replay.h"

#define KVP_NO_SEGMENT	KVP_LSN_MAX	/* no segment begins there */

/* One segment of the log in memory, as each leg of the vdevs with the log has it. */
struct kvp_segment {
	kvp_lsn_t lsn;		/* of the segment's first block */
	u32 from, read;		/* blocks from @from up to @read are in memory */
	/* number of pages for each leg: the segment size of the log that recovery began with */
	u32 blocks;
	u32 nr;			/* legs; there may be more sets of pages, for other reads */
	struct kvp_leg *legs[KVP_MAX_LEGS];
	struct page **pages[KVP_MAX_LEGS];
	/*
	 * for each block: 0: it was read; else the error of the read, and its page is zeros (R27)
	 */
	int *errors[KVP_MAX_LEGS];
	bool loaded[KVP_MAX_LEGS];
	struct kvp_io ios[KVP_MAX_LEGS];
	struct kvp_io_group group;
};

#define KVP_WINDOW_IOS		64	/* reads of homes at once: one for each turn and each leg */
#define KVP_RECOVERY_ROWS	16	/* rows of a parity1 that go home together */
/* blocks; for an SSD one more request takes longer than reading these */
#define KVP_DENSE_ENTRY		8

/* Of several reads that failed, the one that is most likely to succeed later. */
struct kvp_unread {
	const struct kvp_leg *leg;
	kvp_lblock_t block;		/* on the leg */
	int error;		/* 0: all was read */
};

/* How many of several blocks could not be read. Any of them may be a bad sector. */
struct kvp_asked {
	u32 asked, missed;
	struct kvp_unread unread;
};

struct kvp_refusal;
struct kvp_recovery_chain;
struct kvp_recovery_stripes;
struct kvp_recovery_reads;
struct kvp_recovery_row;

struct kvp_recovery {
	struct kvp_pool *pool;
	struct kvp_refusal *refusal;
	struct kvp_replay replay;
	u64 nonce;			/* of the recovery's chain that is being read (chain.c) */
	/*
	 * index of the generation that is being read, in the superblock's list of older ones; the
	 * number of these for the newest one
	 */
	u32 generation;
	bool stays;			/* the log keeps its data: retain.c */
	struct list_head kept;	/* the versions that the log keeps: the newest of each block */
	bool by_headers;		/* payload of durable entries need not be read */
	kvp_lsn_t known;			/* with by_headers: entries below were durable */
	/* kvp_recovery_next() has only read the header of the entry that it found */
	bool unverified;
	bool dense;		/* the entry is short: read more than a header next */
	u64 skipped;			/* blocks of payload that were not read */
	struct kvp_segment seg;
	/* the next segment, which is being read; it has no pages if there was no memory */
	struct kvp_segment ahead;
	kvp_lsn_t ahead_until;		/* segments from here on are not read ahead; 0: none is */
	struct kvp_batch *batch;
	struct page *scratch, *home;
	void *hdr;			/* a header, in one piece */
	struct kvp_log_mark end;	/* behind the last accepted entry, also of a chain */
	kvp_lsn_t scanned;	/* behind the log's last accepted entry, not of a chain */
	/* records from here on do not count; found by the scan, or named by a complete chain */
	struct kvp_log_at log_end;
	struct kvp_log_hdr last;	/* header of the last accepted entry */
	u64 entries, torn;
	kvp_block_t window;		/* seg.pages has the homes of window_nr blocks from here */
	u32 window_nr;
	bool window_good[KVP_MAX_LEGS];	/* by leg of the pool: its homes were read */
	struct kvp_io window_ios[KVP_WINDOW_IOS];
	bool unclean;			/* the superblock did not say that the log is empty */
	/* by leg of the pool: recovery has waited for it in vain */
	bool deaf[KVP_MAX_LEGS];
	/* the block that could not be read where recovery last found no entry */
	struct kvp_unread end_unread;
	/*
	 * Blocks that were read behind the end of the log. @near: all blocks close to the end.
	 * @far: the first headers of segments further on.
	 */
	struct kvp_asked near, far;
	/* by leg of the pool: blocks that were read of a log that is discarded */
	struct kvp_asked discarded[KVP_MAX_LEGS];
	struct kvp_unread silent;	/* a copy of the present block that could not be read */
	bool chain_lost;		/* a chain was complete, and is damaged (chain.c) */
	struct kvp_history *history;	/* for each vdev; a parity1 uses it instead of @replay */
	struct kvp_recovery_chain *chain;
	struct kvp_recovery_stripes *stripes;	/* for a log of full stripes */
	struct kvp_recovery_row *rows;	/* KVP_RECOVERY_ROWS of them */
	struct kvp_recovery_reads *reads;
	u32 nr_rows;
	kvp_block_t blocks[KVP_MAX_ENTRY_BLOCKS];
	u32 crcs[KVP_MAX_ENTRY_BLOCKS];
};

/**
 * kvp_segment_page() - the page with the block at @lsn of the segment that is in memory
 * @leg: its number in rec->seg, or what kvp_recovery_next() returned
 *
 * Context: any.
 */
static inline struct page *kvp_segment_page(struct kvp_recovery *rec, u32 leg, kvp_lsn_t lsn)
{
	return rec->seg.pages[leg][kvp_lsn_since(lsn, rec->seg.lsn)];
}

/**
 * kvp_recovery_record() - get record @i of the header in rec->hdr
 *
 * The header was decoded and is valid, and @i is below its count of records. Context: any.
 */
static inline void kvp_recovery_record(struct kvp_recovery *rec, u32 i, struct kvp_rec *r)
{
	const struct kvp_disk_rec *d = rec->hdr + KVP_LOG_HDR_SIZE;

	kvp_rec_decode(&d[i], r);
}

/* --- unread.c --------------------------------------------------------------------------- */

/**
 * kvp_recovery_page() - read one block, with patience (R27)
 *
 * Tries again for up to half a second, if the kind of error says that this may help. Return: 0, or
 * the error of the last try. An error of the leg is counted. Context: process, waits for I/O.
 */
int __must_check kvp_recovery_page(struct kvp_recovery *rec, struct kvp_leg *leg,
				   kvp_lblock_t block, struct page *page);

/**
 * kvp_unread_note() - note that @block of @leg could not be read; @u keeps the block that a later
 * try will most likely read
 */
void kvp_unread_note(struct kvp_unread *u, const struct kvp_leg *leg, kvp_lblock_t block,
		     int error);

/**
 * kvp_unread_is_silent() - true if a later start may read the block: the medium has not lost it for
 * good
 */
bool kvp_unread_is_silent(const struct kvp_unread *u);

/** kvp_asked_note() - count one more block; @u has the error of its read, or none */
void kvp_asked_note(struct kvp_asked *a, const struct kvp_unread *u);

/**
 * kvp_asked_in_vain() - true if the leg does not answer; false if it may only have bad sectors
 *
 * True if an error is not one of a place. True if more than one block, and more than half of them,
 * could not be read. False if the medium has lost all that could not be read: no later start can
 * read it.
 */
bool kvp_asked_in_vain(const struct kvp_asked *a);

/**
 * kvp_recovery_unread() - refuse the start because its result depends on @u
 * @what: words that say how it depends on @u
 *
 * Return: -EIO.
 */
int __must_check kvp_recovery_unread(struct kvp_recovery *rec, const struct kvp_unread *u,
				     const char *what);

/* --- segment.c -------------------------------------------------------------------------- */

/**
 * kvp_log_on_leg() - true if @leg has a place for the log's @lsn; @block receives it
 *
 * Whether the entry is there depends on the vdev that it was written to (kvp_log_vdev()).
 */
bool kvp_log_on_leg(const struct kvp_leg *leg, kvp_lsn_t lsn, kvp_lblock_t *block);

/**
 * kvp_segment_load() - read all of the segment that holds @lsn into memory, from all legs in use
 *
 * Context, of all functions here that read: process, waits for I/O. They return no error: errors
 * are in seg.errors.
 */
void kvp_segment_load(struct kvp_recovery *rec, kvp_lsn_t lsn);

/**
 * kvp_segment_load_copies() - read the first @blocks of the segment at @lsn from all legs in use;
 * then begin to read the next segment ahead
 */
void kvp_segment_load_copies(struct kvp_recovery *rec, kvp_lsn_t lsn, u32 blocks);

/**
 * kvp_recovery_alloc_ahead() - allocate memory for reading ahead. Return: 0, even if that failed:
 * recovery works without it.
 */
int __must_check kvp_recovery_alloc_ahead(struct kvp_recovery *rec);

/** kvp_segment_load_begin() - read the first @blocks of the segment that holds @lsn */
void kvp_segment_load_begin(struct kvp_recovery *rec, kvp_lsn_t lsn, u32 blocks);

/**
 * kvp_segment_load_header() - read what may be a header at @lsn
 * @rest: read the rest of the segment as well, in the same request
 *
 * Reads as many blocks as the longest header has that any leg has there. Not for a log of full
 * stripes.
 */
void kvp_segment_load_header(struct kvp_recovery *rec, kvp_lsn_t lsn, bool rest);

/**
 * kvp_segment_claims() - the blocks of the header at @lsn, by the first block of any leg; 0: no
 * header
 */
u32 kvp_segment_claims(struct kvp_recovery *rec, kvp_lsn_t lsn);

/**
 * kvp_recovery_no_ahead() - end reading ahead, and forget what was read ahead: the log may change
 * now
 */
void kvp_recovery_no_ahead(struct kvp_recovery *rec);

/* --- scan.c ---------------------------------------------------------------------------- */

/**
 * kvp_recovery_resolved() - true if the table counts for the block of a record, and no older record
 * @old: its entry is of an older generation: the recovery that ended that has resolved its intents
 *	and discards
 * @lsn: of its entry. A checkpoint has resolved the intents below log_resolved
 * @kind: enum kvp_rec_kind
 */
bool kvp_recovery_resolved(const struct kvp_recovery *rec, bool old, kvp_lsn_t lsn, u8 kind);

/** kvp_recovery_rewind() - set rec->end to where the superblock says that the log begins */
void kvp_recovery_rewind(struct kvp_recovery *rec);

/**
 * kvp_recovery_next() - find the entry that follows rec->end, there or at the start of the next
 * segment
 *
 * Then the entry's segment is in memory, and its header in rec->hdr. If rec->unverified, only the
 * header was read: it is the same on all legs, and later headers show that the entry was durable.
 *
 * Return: a leg on which all of the entry verifies, for kvp_segment_page(). For a log of full
 * stripes it is no leg, but the set of pages that has the entry as it should be. -ENOENT: there is
 * no such entry; rec->end_unread has a block that could not be read where it might be. Another
 * error, with the refusal filled: it is unknown whether there is an entry, since blocks that would
 * show it could not be read (R27).
 */
int __must_check kvp_recovery_next(struct kvp_recovery *rec, struct kvp_log_hdr *h);

/**
 * kvp_recovery_scan() - read the log to its end; fills rec->replay and rec->history
 *
 * With rec->by_headers, durable entries count by their headers, and rec->skipped says how many
 * blocks were not verified. Afterwards the entries that count are equal on all legs, as far as they
 * were read. Return: 0, or -errno with the refusal filled. Context: process, waits for I/O.
 */
int __must_check kvp_recovery_scan(struct kvp_recovery *rec);

/**
 * kvp_recovery_take() - note the records of the entries from rec->end to @behind, and make those
 * entries equal on all legs
 *
 * Return: 0, or -errno with the refusal filled, also if the log ends before @behind.
 */
int __must_check kvp_recovery_take(struct kvp_recovery *rec, kvp_lsn_t behind);

/**
 * kvp_recovery_decode() - decode the header in rec->hdr, of which there are @avail blocks
 *
 * Return: as kvp_log_decode().
 */
int __must_check kvp_recovery_decode(struct kvp_recovery *rec, u32 avail, kvp_lsn_t lsn,
				     struct kvp_log_hdr *h, struct kvp_why *why);

/** kvp_recovery_follows() - true if header @h names the entry before rec->end as its predecessor */
static inline bool kvp_recovery_follows(const struct kvp_recovery *rec, const struct kvp_log_hdr *h)
{
	return h->prev_lsn == rec->end.prev_lsn && h->prev_csum == rec->end.prev_csum;
}

/**
 * kvp_recovery_sum() - compute the sum of a record's payload @data; parity of a row has its vdev's
 * seed
 */
u32 kvp_recovery_sum(struct kvp_pool *pool, const struct kvp_rec *r, const void *data);

/* --- stripes.c, of the log of a cache of kind parity1 -------------------------------------- */

/**
 * kvp_stripes_alloc() - kvp_vdev_ops.alloc_reader of such a log: 0 or -ENOMEM
 *
 * kvp_stripes_free() - free it; nothing if there is none
 *
 * Context: process, may sleep.
 */
int __must_check kvp_stripes_alloc(struct kvp_recovery *rec);
void kvp_stripes_free(struct kvp_recovery *rec);

/**
 * kvp_stripes_load() - read the first @blocks of the segment at rec->seg.lsn
 * @outdated: also from legs that were recorded out
 *
 * Context: process, waits for I/O.
 */
void kvp_stripes_load(struct kvp_recovery *rec, u32 blocks, bool outdated);

/**
 * kvp_stripes_header() - put what may be the header at @lsn into rec->hdr, in one piece
 * @try: 0 to KVP_LOG_STRIPE_TRIES - 1: the way in which to combine its copies
 *
 * Return: its blocks; 0: there is no header, or no such way. Its sum shows whether it is a header.
 */
u32 kvp_stripes_header(struct kvp_recovery *rec, kvp_lsn_t lsn, u32 try);

/* for kvp_segment_page(): the set of pages that has each block as it should be */
#define KVP_STRIPES_MADE	1

/* What the blocks at a place say about the next entry. */
enum kvp_says {
	KVP_SAYS_ENTRY,		/* it is there: all of it verifies, and it follows rec->end */
	KVP_SAYS_NONE,		/* no part of the entry is there */
	KVP_SAYS_PART,		/* a part of it is there: it is torn or damaged */
	KVP_SAYS_NOTHING,	/* the blocks that would tell could not be read */
};

/**
 * kvp_stripes_entry() - find the entry at @lsn: it verifies, or can be made, and follows rec->end
 * @u: receives a block of the entry that could not be read
 */
enum kvp_says kvp_stripes_entry(struct kvp_recovery *rec, kvp_lsn_t lsn, struct kvp_log_hdr *h,
				struct kvp_unread *u);

/**
 * kvp_stripes_error() - the error of reading the block at @lsn, whose segment is in memory; 0: it
 * was read
 */
int __must_check kvp_stripes_error(const struct kvp_recovery *rec, kvp_lsn_t lsn);

/**
 * kvp_stripes_unread() - true if no copy of the first block of a header at @lsn could be read
 *
 * @u receives one of these blocks.
 */
bool kvp_stripes_unread(struct kvp_recovery *rec, kvp_lsn_t lsn, struct kvp_unread *u);

/**
 * kvp_stripes_equalise() - write blocks of the entry that was made last to legs in use that differ
 *
 * Those blocks are durable when it returns. Return: 0, or -errno with the refusal filled.
 */
int __must_check kvp_stripes_equalise(struct kvp_recovery *rec, const struct kvp_log_hdr *h);

/**
 * kvp_stripes_make() - make the payload block at @lsn from all others of its @row, parity included
 *
 * Only its sum shows whether it is right. Uses rec->home and rec->scratch; @page may be either.
 * Return: 0, or -EIO: another block could not be read.
 */
int __must_check kvp_stripes_make(struct kvp_recovery *rec, kvp_lsn_t lsn, u8 row,
				  struct page *page);

/**
 * kvp_stripes_read() - get the payload of @r into rec->home: read it, or make it from its row
 *
 * Return: 0, or -EIO.
 */
int __must_check kvp_stripes_read(struct kvp_recovery *rec, kvp_block_t block,
				  const struct kvp_replay_rec *r);

/* --- discard_log.c --------------------------------------------------------------------------- */

/**
 * kvp_recovery_discard_log() - discard the log of a cache that is lost or damaged, by order
 *
 * It poisons, in the table, the blocks that are known to be lost with the log. rec->end names an
 * empty log then. The next checkpoint makes that log durable together with the poison. Return: 0;
 * -errno: nothing was discarded. Context: process, waits for I/O.
 */
int __must_check kvp_recovery_discard_log(struct kvp_recovery *rec);

/* --- apply.c ---------------------------------------------------------------------------- */

/**
 * kvp_recovery_discards() - enter discards in the table, except for blocks that have newer data in
 * the log
 *
 * Return: 0 or -errno.
 */
int __must_check kvp_recovery_discards(struct kvp_recovery *rec);

/**
 * kvp_recovery_discard() - make blocks of @v from @own to before @end unwritten; on a parity1 these
 * are whole stripes
 *
 * Pages of the table in which nothing is written are not read. Return: 0 or -errno.
 */
int __must_check kvp_recovery_discard(struct kvp_recovery *rec, struct kvp_vdev *v,
				      kvp_vblock_t own, kvp_vblock_t end);

/**
 * kvp_recovery_data() - write the newest data of each block home, and enter it in the table
 *
 * Reads the log once more. Return: 0 or -errno.
 */
int __must_check kvp_recovery_data(struct kvp_recovery *rec);

/** kvp_recovery_set() - set the entry of @block in the table. Return: 0 or -errno. */
int __must_check kvp_recovery_set(struct kvp_recovery *rec, kvp_block_t block, u32 crc,
				  enum kvp_entry_state state);

/**
 * kvp_recovery_relieve() - write the table before it outgrows its budget of memory; the log's tail
 * does not move. Return: 0 or -errno.
 */
int __must_check kvp_recovery_relieve(struct kvp_recovery *rec);

/**
 * kvp_recovery_too_late() - refuse the start: the heartbeat's time limit is over, so nothing may be
 * written any more. Return: -EIO.
 */
int kvp_recovery_too_late(struct kvp_recovery *rec);

/**
 * kvp_recovery_cannot_write() - refuse the start: @leg does not take block @at, and cannot be given
 * up; or the write was barred (kvp_recovery_too_late()). Return: -EIO.
 */
int __must_check kvp_recovery_cannot_write(struct kvp_recovery *rec, const struct kvp_leg *leg,
					   kvp_lblock_t at);

/* --- retain.c ------------------------------------------------------------------------------ */

/**
 * kvp_recovery_spill() - prepare to keep the data in the log that was read, to go home later
 *
 * If that works, rec->kept has a version of each block whose newest record is data. Return: true if
 * the data may stay. False also if there is no memory for all versions: then kvp_recovery_data()
 * has to write the data home.
 */
bool kvp_recovery_spill(struct kvp_recovery *rec);

/** kvp_recovery_unspill() - free the versions in rec->kept */
void kvp_recovery_unspill(struct kvp_recovery *rec);

/**
 * kvp_recovery_retain() - put the versions in rec->kept into the write buffer
 *
 * Clears rec->stays if there are none.
 */
void kvp_recovery_retain(struct kvp_recovery *rec);

/* --- intents.c -------------------------------------------------------------------------- */

/**
 * kvp_recovery_intents() - resolve blocks whose newest record is an intent, by the block at home
 *
 * Return: 0; or -errno, and the refusal may be filled in.
 */
int __must_check kvp_recovery_intents(struct kvp_recovery *rec);

/** kvp_recovery_open() - true if the intents of the entry at @lsn may have been cut short (R5) */
bool kvp_recovery_open(struct kvp_recovery *rec, kvp_lsn_t lsn);

/* --- operations of an order (core/order_ops.h) ------------------------------------------ */

/**
 * kvp_recovery_apply() - apply of an order in which only the newest version of a block counts
 *
 * kvp_recovery_apply_in_order() - apply of the order of a parity1
 *
 * kvp_recovery_plan_in_order() - plan of that order
 */
int kvp_recovery_apply(struct kvp_recovery *rec, bool complete);
int kvp_recovery_apply_in_order(struct kvp_recovery *rec, bool complete);
int kvp_recovery_plan_in_order(struct kvp_recovery *rec, const struct kvp_rec *r,
			       struct kvp_log_at at, struct kvp_log_at limit, kvp_lsn_t payload,
			       u8 row);

/* --- rows.c, of a parity1 --------------------------------------------------------------- */

/**
 * kvp_recovery_rows_alloc() - get memory for rows: 0 or -ENOMEM
 *
 * kvp_recovery_rows_free() - free it, also after an error; nothing if there is none
 *
 * Context: process, may sleep.
 */
int __must_check kvp_recovery_rows_alloc(struct kvp_recovery *rec);
void kvp_recovery_rows_free(struct kvp_recovery *rec);

/**
 * kvp_recovery_each_row() - resolve all rows of @v that have blocks in the log
 * @fn: called for KVP_RECOVERY_ROWS rows at a time. If fewer rows are left at the end, the caller
 *	resolves them.
 */
int __must_check kvp_recovery_each_row(struct kvp_recovery *rec, const struct kvp_vdev *v,
				       int (*fn)(struct kvp_recovery *rec));

/**
 * kvp_recovery_rows_log() - append the parity that the log lacks, as a chain (R6), before anything
 * goes home
 */
int __must_check kvp_recovery_rows_log(struct kvp_recovery *rec);

/**
 * kvp_recovery_rows_try() - try to resolve all rows without the parity that is lost
 *
 * Writes nothing. Return: 0, or -errno with the refusal filled: a block would be lost.
 */
int __must_check kvp_recovery_rows_try(struct kvp_recovery *rec);

/**
 * kvp_recovery_rows_home() - write home all rows that have blocks in the log, and enter them in the
 * table
 */
int __must_check kvp_recovery_rows_home(struct kvp_recovery *rec);

/* --- chain.c, of a parity1 -------------------------------------------------------------- */

/**
 * kvp_recovery_chain_alloc() - get memory for the redo chain: 0 or -ENOMEM
 *
 * kvp_recovery_chain_free() - free it, also after an error; nothing if there is none
 *
 * Context: process, may sleep.
 */
int __must_check kvp_recovery_chain_alloc(struct kvp_recovery *rec);
void kvp_recovery_chain_free(struct kvp_recovery *rec);

/**
 * kvp_recovery_chain_read() - note the records of the chain that the superblock names, if it is
 * complete
 * @complete: receives true if the chain was read up to its last entry
 *
 * Return: 0, or -errno with the refusal filled. Sets rec->chain_lost if a complete chain is
 * damaged.
 */
int __must_check kvp_recovery_chain_read(struct kvp_recovery *rec, bool *complete);

/**
 * kvp_recovery_chain_add() - add a copy of a row's parity; it is durable after
 * kvp_recovery_chain_end()
 */
int __must_check kvp_recovery_chain_add(struct kvp_recovery *rec, const struct kvp_vdev *v, u64 row,
					u32 crc, struct page *page);

/**
 * kvp_recovery_chain_end() - make the chain durable and complete, and move rec->end behind it
 *
 * Call it when all parity is added. Return: 0 or -errno.
 */
int __must_check kvp_recovery_chain_end(struct kvp_recovery *rec);

#endif /* KVP_RECOVERY_H */
