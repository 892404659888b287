/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Between the files of this folder. Recovery is one thread.
 *
 * kvp_recover() is called once, by kvp_pool_start(), after the labels were chosen and before a
 * request is served. recover.c has the list of steps. Until its last superblock is durable nothing
 * of the old log is given away, so a cut at any point leads to the same result again.
 *
 *   scan.c         which entries count, and where the log ends (R10)
 *   segment.c      a segment of the log in memory, as each leg has it
 *   stripes.c      the same of a cache of kind parity1
 *   unread.c       what could not be read is not absent (R27)
 *   apply.c        data goes home
 *   intents.c      what of direct writes is home, and what is not (R4, R5)
 *   rows.c         rows of a parity1; chain.c: their parity, logged before anything goes home
 *   retain.c       the log of a cache keeps its data
 *   discard_log.c  the log of a cache is given up by order (R14)
 *
 * What entries say of a block is kept in policy/replay.h; what they say of rows in
 * policy/history.h. Both are pure, and tested by themselves.
 *
 * A function returns -errno with the refusal filled, or leaves it to explain() in recover.c. A
 * start that is refused has changed nothing that the old log does not say again.
 *
 * Locks: sb_lock around superblocks, checkpoint_lock around checkpoints. Range locks are not
 * needed, as nothing else runs.
 */
#ifndef KVP_RECOVERY_H
#define KVP_RECOVERY_H

#include "core/core.h"
#include "io/batch.h"
#include "policy/history.h"
#include "policy/replay.h"

#define KVP_NO_SEGMENT	(~0ull)	/* no segment begins there */

/* One segment of the log as every leg has it of the vdevs that carry the log. */
struct kvp_segment {
	u64 lsn;		/* of its first block */
	u32 from, read;		/* its blocks from, up to read, are in memory */
	u32 blocks;		/* as many as there are pages of each leg: that of the log with which it began */
	u32 nr;			/* of legs; there may be more pages, for other reads */
	struct kvp_leg *legs[KVP_MAX_LEGS];
	struct page **pages[KVP_MAX_LEGS];
	int *errors[KVP_MAX_LEGS];	/* by block: 0: it was read; else why it could not be, and its page is zeros (R27) */
	bool loaded[KVP_MAX_LEGS];
	struct kvp_io ios[KVP_MAX_LEGS];
	struct kvp_io_group group;
};

#define KVP_WINDOW_IOS		64	/* reads of homes at once: of each turn one from each leg */
#define KVP_RECOVERY_ROWS	16	/* of a parity1, that go home together */
#define KVP_DENSE_ENTRY		8	/* blocks: an SSD takes longer for one more request than for these */

/* What could not be read, of several things that which is worth most to ask for again. */
struct kvp_unread {
	const struct kvp_leg *leg;
	u64 block;		/* of the leg */
	int error;		/* 0: all was read */
};

/* Of many blocks, of which any may be a bad sector: how many could not be read. */
struct kvp_asked {
	u32 asked, missed;
	struct kvp_unread unread;
};

struct kvp_recovery_chain;
struct kvp_recovery_stripes;
struct kvp_recovery_reads;
struct kvp_recovery_row;

struct kvp_recovery {
	struct kvp_pool *pool;
	struct kvp_refusal *refusal;
	struct kvp_replay replay;
	u64 nonce;			/* of the chain being read */
	u32 generation;			/* of the log that is being read: index of the superblock's; behind them the newest */
	bool stays;			/* the log keeps its data: retain.c */
	struct list_head parked;	/* what it keeps, of each block the newest */
	bool by_headers;		/* the payload of what was durable need not be read */
	u64 known;			/* if so: all below was durable */
	bool unverified;		/* of the entry that kvp_recovery_next() has found the header is in memory, no more */
	bool dense;			/* it is a short one: the next may be read with all that follows */
	u64 skipped;			/* blocks of payload that were not looked at */
	struct kvp_segment seg;
	struct kvp_segment ahead;	/* the next one, on its way; without pages: there was no memory for it */
	u64 ahead_until;		/* nothing is read ahead from there on; 0: nothing at all */
	struct kvp_batch *batch;
	struct page *scratch, *home;
	void *hdr;			/* a header in one piece */
	struct kvp_log_mark end;	/* behind the last accepted entry */
	u64 scanned;			/* behind the log's last accepted entry, without a chain.c's */
	struct kvp_log_at log_end;	/* no record counts from there on: but for a chain.c's, the same */
	struct kvp_log_hdr last;	/* its header */
	u64 entries, torn;
	u64 window;			/* homes of so many blocks from here on are in seg.pages */
	u32 window_nr;
	bool window_good[KVP_MAX_LEGS];	/* by leg of the pool */
	struct kvp_io window_ios[KVP_WINDOW_IOS];
	bool unclean;			/* the label did not say that the log is empty */
	bool deaf[KVP_MAX_LEGS];	/* by leg of the pool: it was waited for in vain */
	struct kvp_unread end_unread;	/* of the place where no entry was found last */
	struct kvp_asked near, far;	/* behind the end: of all blocks there, and of first headers of segments */
	struct kvp_asked given_up[KVP_MAX_LEGS];	/* by leg of the pool: of a log that is given up */
	struct kvp_unread silent;	/* of the block, or row, that is being resolved */
	bool chain_lost;		/* one was complete, and is damaged: chain.c */
	struct kvp_history *history;	/* of each vdev; of a parity1, in place of replay */
	struct kvp_recovery_chain *chain;
	struct kvp_recovery_stripes *stripes;	/* of a log of full stripes */
	struct kvp_recovery_row *rows;	/* KVP_RECOVERY_ROWS of them */
	struct kvp_recovery_reads *reads;
	u32 nr_rows;
	u64 blocks[KVP_MAX_ENTRY_BLOCKS];
	u32 crcs[KVP_MAX_ENTRY_BLOCKS];
};

/*
 * The block at @lsn as a leg has it, by its number in rec->seg or what kvp_recovery_next() has said;
 * its segment is in memory.
 */
static inline struct page *kvp_segment_page(struct kvp_recovery *rec, u32 leg, u64 lsn)
{
	return rec->seg.pages[leg][lsn - rec->seg.lsn];
}

/* Record @i of the header in rec->hdr. */
static inline void kvp_recovery_record(struct kvp_recovery *rec, u32 i, struct kvp_rec *r)
{
	const struct kvp_disk_rec *d = rec->hdr + KVP_LOG_HDR_SIZE;

	kvp_rec_decode(&d[i], r);
}

/* --- unread.c --------------------------------------------------------------------------- */

/**
 * kvp_recovery_page() - read one block, with patience (R27)
 *
 * Tries again where the kind of the error says that this may help, for half a second at most. Return: 0 or the
 * error of the last try, which is counted for the leg. Context: process, waits for I/O.
 */
int __must_check kvp_recovery_page(struct kvp_recovery *rec, struct kvp_leg *leg, u64 block,
				   struct page *page);

/** kvp_unread_note() - @block of @leg could not be read, by @error */
void kvp_unread_note(struct kvp_unread *u, const struct kvp_leg *leg, u64 block, int error);

/** kvp_unread_is_silent() - may a later start read it? Not if all of it is lost for good */
bool kvp_unread_is_silent(const struct kvp_unread *u);

/** kvp_asked_note() - one block more: @u says why it could not be read, or nothing */
void kvp_asked_note(struct kvp_asked *a, const struct kvp_unread *u);

/**
 * kvp_asked_in_vain() - true if the leg that was asked does not answer, rather than has bad sectors
 *
 * True if an error is not one of a place, or if more than half of the blocks did not come, and more
 * than one block. False if the medium has lost all of it for good: no later start can read it.
 */
bool kvp_asked_in_vain(const struct kvp_asked *a);

/** kvp_recovery_unread() - the refusal for when an answer depends on it; @what: which, in words. Returns -EIO */
int __must_check kvp_recovery_unread(struct kvp_recovery *rec, const struct kvp_unread *u,
				     const char *what);

/* --- segment.c -------------------------------------------------------------------------- */

/** kvp_log_on_leg() - has @leg room for the log's @lsn? Then where. If it is there is a question of turns. */
bool kvp_log_on_leg(const struct kvp_leg *leg, u64 lsn, u64 *block);

/** kvp_segment_load() - have all of the segment that holds @lsn in memory, from all legs in use */
void kvp_segment_load(struct kvp_recovery *rec, u64 lsn);

/**
 * kvp_segment_load_copies() - the first @blocks at @lsn, from all legs in use; then the next one
 * is read ahead
 */
void kvp_segment_load_copies(struct kvp_recovery *rec, u64 lsn, u32 blocks);

/** kvp_recovery_alloc_ahead() - memory for that. Return: 0 in any case. */
int kvp_recovery_alloc_ahead(struct kvp_recovery *rec);

/** kvp_segment_load_begin() - its first @blocks */
void kvp_segment_load_begin(struct kvp_recovery *rec, u64 lsn, u32 blocks);

/**
 * kvp_segment_load_header() - what may be a header at @lsn
 * @rest: and what lies behind it in its segment, in one go
 *
 * As many blocks as any leg says that it has. Not of a log of full stripes.
 */
void kvp_segment_load_header(struct kvp_recovery *rec, u64 lsn, bool rest);

/** kvp_segment_claims() - blocks that the header at @lsn has, by any leg's first one; 0: none is there */
u32 kvp_segment_claims(struct kvp_recovery *rec, u64 lsn);

/** kvp_recovery_no_ahead() - nothing is on its way any more, and what came is forgotten: the log may be written to */
void kvp_recovery_no_ahead(struct kvp_recovery *rec);

/* --- scan.c ---------------------------------------------------------------------------- */

/** kvp_recovery_rewind() - rec->end is where the superblock says that the log begins */
void kvp_recovery_rewind(struct kvp_recovery *rec);

/**
 * kvp_recovery_next() - the entry that follows rec->end, there or at the start of the next segment
 *
 * Its segment is in memory then, and its header in rec->hdr. If rec->unverified the header is all that was read:
 * it is the same on all legs, and what was durable shows that the entry is as well.
 * Return: a leg on which all of it verifies, for kvp_segment_page(); of a log of full stripes it
 * is none: behind that number there is the entry as it should be. -ENOENT: there is no such entry, and
 * rec->end_unread has what was not read of the places where it might be. Another error, with the refusal
 * filled: it cannot be known, since the places that would tell could not be read (R27).
 */
int __must_check kvp_recovery_next(struct kvp_recovery *rec, struct kvp_log_hdr *h);

/**
 * kvp_recovery_scan() - read the log to its end; fills rec->replay
 *
 * With rec->by_headers what was durable counts by its headers, and rec->skipped says how much was not verified.
 * Entries that count are equal on all legs then, as far as they were read. Return: 0, or -errno with the refusal filled.
 */
int __must_check kvp_recovery_scan(struct kvp_recovery *rec);

/**
 * kvp_recovery_take() - note what the entries from rec->end to @behind hold; equal on all legs then
 *
 * Return: 0, or -errno with the refusal filled, also if it does not come as far as @behind.
 */
int __must_check kvp_recovery_take(struct kvp_recovery *rec, u64 behind);

/** kvp_recovery_decode() - the header in rec->hdr, @avail blocks of it; kvp_log_decode()'s errors */
int __must_check kvp_recovery_decode(struct kvp_recovery *rec, u32 avail, u64 lsn, struct kvp_log_hdr *h,
				     struct kvp_why *why);

/** kvp_recovery_follows() - does it name rec->end as what it follows? */
static inline bool kvp_recovery_follows(const struct kvp_recovery *rec, const struct kvp_log_hdr *h)
{
	return h->prev_lsn == rec->end.prev_lsn && h->prev_csum == rec->end.prev_csum;
}

/** kvp_recovery_sum() - what the payload of a record is summed as; of a row of parity by its vdev */
u32 kvp_recovery_sum(struct kvp_pool *pool, const struct kvp_rec *r, const void *data);

/* --- stripes.c, of the log of a cache of kind parity1 -------------------------------------- */

int __must_check kvp_stripes_alloc(struct kvp_recovery *rec);
void kvp_stripes_free(struct kvp_recovery *rec);

/**
 * kvp_stripes_load() - read @blocks of the segment at rec->seg.lsn
 * @outdated: from legs that were recorded out, too
 */
void kvp_stripes_load(struct kvp_recovery *rec, u32 blocks, bool outdated);

/**
 * kvp_stripes_header() - what may be the header at @lsn, in one piece in rec->hdr
 * @try: 0 to KVP_LOG_STRIPE_TRIES - 1: of several ways to put it together of its copies, which
 *
 * Return: its blocks; 0: there is none, or no such way. Its sum says whether it is one.
 */
u32 kvp_stripes_header(struct kvp_recovery *rec, u64 lsn, u32 try);

#define KVP_STRIPES_MADE	1	/* what kvp_segment_page() has there: each block as it should be */

/* What was read of a place says of the entry that would be next there. */
enum kvp_says {
	KVP_SAYS_ENTRY,		/* it is there: all of it verifies, and follows rec->end */
	KVP_SAYS_NONE,		/* nothing of it is there */
	KVP_SAYS_PART,		/* it is there in part: torn, or rotten */
	KVP_SAYS_NOTHING,	/* what would say could not be read */
};

/**
 * kvp_stripes_entry() - the entry at @lsn, if it verifies, or can be made, and follows rec->end
 * @u: what of it could not be read is noted there
 */
enum kvp_says kvp_stripes_entry(struct kvp_recovery *rec, u64 lsn, struct kvp_log_hdr *h, struct kvp_unread *u);

/** kvp_stripes_error() - why the block at @lsn could not be read; 0: it was. Its segment is in memory */
int __must_check kvp_stripes_error(const struct kvp_recovery *rec, u64 lsn);

/** kvp_stripes_unread() - could neither copy of what may be a header's first block at @lsn be read? Notes it in @u */
bool kvp_stripes_unread(struct kvp_recovery *rec, u64 lsn, struct kvp_unread *u);

/** kvp_stripes_equalise() - of the entry that was made last, legs in use get what they have otherwise, durably */
int __must_check kvp_stripes_equalise(struct kvp_recovery *rec, const struct kvp_log_hdr *h);

/**
 * kvp_stripes_make() - the block at @lsn, which is payload, of all others of its @row, parity included
 *
 * Only its sum says whether it is that. Uses rec->home and rec->scratch; @page may be either.
 * Return: 0 or -EIO.
 */
int __must_check kvp_stripes_make(struct kvp_recovery *rec, u64 lsn, u8 row, struct page *page);

/** kvp_stripes_read() - the data of @r, in rec->home: as it lies there, or made; 0 or -EIO */
int __must_check kvp_stripes_read(struct kvp_recovery *rec, u64 block,
				  const struct kvp_replay_rec *r);

/* --- discard_log.c --------------------------------------------------------------------------- */

/**
 * kvp_recovery_give_up() - the log of a cache is lost, or damaged; by order
 *
 * Blocks that are known to be lost with it are poisoned, in the table; rec->end is an empty log's,
 * which the next checkpoint makes durable together with that. Return: 0, or -errno, and
 * nothing was given up. Context: process, waits for I/O.
 */
int __must_check kvp_recovery_give_up(struct kvp_recovery *rec);

/* --- apply.c ---------------------------------------------------------------------------- */

/** kvp_recovery_discards() - discards, to the table, but of blocks with data behind them */
int __must_check kvp_recovery_discards(struct kvp_recovery *rec);

/**
 * kvp_recovery_discard() - what of @v lies from @own to before @end becomes unwritten; of a parity1 whole stripes
 *
 * Pages of the table in which nothing is written are not looked at. Return: 0 or -errno.
 */
int __must_check kvp_recovery_discard(struct kvp_recovery *rec, struct kvp_vdev *v, u64 own,
				      u64 end);

/** kvp_recovery_data() - the newest data of each block, home and to the table */
int __must_check kvp_recovery_data(struct kvp_recovery *rec);

/** kvp_recovery_set() - an entry of the table */
int __must_check kvp_recovery_set(struct kvp_recovery *rec, u64 block, u32 crc,
				  enum kvp_entry_state state);

/** kvp_recovery_relieve() - write the table before it outgrows its budget; the tail stays where it is */
int __must_check kvp_recovery_relieve(struct kvp_recovery *rec);

/** kvp_recovery_cannot_write() - the refusal for when a leg does not take a block that cannot be given up */
int __must_check kvp_recovery_cannot_write(struct kvp_recovery *rec, const struct kvp_leg *leg,
					   u64 at);

/* --- retain.c ------------------------------------------------------------------------------ */

/**
 * kvp_recovery_spill() - the log was read: may its data stay there, to come home later?
 *
 * If so, rec->parked has a version of each block whose newest record is data.
 * Return: false also without memory for them all: kvp_recovery_data() has to bring them home.
 */
bool kvp_recovery_spill(struct kvp_recovery *rec);

/** kvp_recovery_unspill() - they are not wanted */
void kvp_recovery_unspill(struct kvp_recovery *rec);

/** kvp_recovery_retain() - they are in the write buffer. Clears rec->stays if there are none. */
void kvp_recovery_retain(struct kvp_recovery *rec);

/* --- intents.c -------------------------------------------------------------------------- */

/** kvp_recovery_intents() - blocks whose newest record is an intent, by what is at home */
int __must_check kvp_recovery_intents(struct kvp_recovery *rec);

/** kvp_recovery_open() - may the intents of the entry at @lsn have been cut short (R5)? */
bool kvp_recovery_open(struct kvp_recovery *rec, u64 lsn);

/* --- rows.c, of a parity1 --------------------------------------------------------------- */

int __must_check kvp_recovery_rows_alloc(struct kvp_recovery *rec);
void kvp_recovery_rows_free(struct kvp_recovery *rec);

/**
 * kvp_recovery_each_row() - all rows of @v that the log knows of are resolved
 * @fn: called whenever KVP_RECOVERY_ROWS have gathered. What is left at the end has not been
 *	resolved.
 */
int kvp_recovery_each_row(struct kvp_recovery *rec, const struct kvp_vdev *v,
			  int (*fn)(struct kvp_recovery *rec));

/** kvp_recovery_rows_log() - parity that the log lacks, into a chain (R6): before anything goes home */
int __must_check kvp_recovery_rows_log(struct kvp_recovery *rec);

/**
 * kvp_recovery_rows_try() - could all rows be resolved without parity that is lost?
 *
 * Nothing is written. Return: 0, or -errno with the refusal filled: a block would be lost.
 */
int __must_check kvp_recovery_rows_try(struct kvp_recovery *rec);

/** kvp_recovery_rows_home() - all that the log knows of, home and to the table */
int __must_check kvp_recovery_rows_home(struct kvp_recovery *rec);

/* --- chain.c, of a parity1 -------------------------------------------------------------- */

int __must_check kvp_recovery_chain_alloc(struct kvp_recovery *rec);
void kvp_recovery_chain_free(struct kvp_recovery *rec);

/** kvp_recovery_chain_read() - does the superblock name a chain with its last entry? Then note what it holds. */
int __must_check kvp_recovery_chain_read(struct kvp_recovery *rec, bool *complete);

/** kvp_recovery_chain_add() - the parity of a row, copied; durable after kvp_recovery_chain_end() */
int __must_check kvp_recovery_chain_add(struct kvp_recovery *rec, const struct kvp_vdev *v, u64 row,
					u32 crc, struct page *page);

/** kvp_recovery_chain_end() - all is added: the chain is durable and complete, and rec->end behind it */
int __must_check kvp_recovery_chain_end(struct kvp_recovery *rec);

#endif /* KVP_RECOVERY_H */
