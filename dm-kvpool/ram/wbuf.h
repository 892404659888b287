/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The write buffer: every version of a block that is not yet home.
 *
 * A write is copied into a page here and completes. A FLUSH, a full buffer or a timer makes the
 * commit put buffered versions into a log entry. Destage (or, for large runs, a direct write)
 * brings them home. In between the newest version of each block is found through a hash table,
 * older versions only through the list they are on.
 *
 *   BUFFERED   on wbuf->accepted, and then on wbuf->buffered, in order of acceptance; a rewrite of
 *              the block goes into the same page
 *   COMMITTING in a log entry that is not yet durable; the page is fixed from here on, a rewrite
 *   makes a new version
 *   LOGGED     on wbuf->logged, in log order; the record is durable. The oldest may be on
 *              wbuf->spilled instead, and have no page (spill.h); and the oldest of those on
 *              wbuf->swept, which destage takes by address
 *   HOMING     taken by destage or a direct worker
 *
 * A discard is a version without a page: a hole of one or more blocks. Pending discards are also in
 * a tree by address, and their ranges where readers find them without a lock (pending.h).
 *
 * A writer puts its version on wbuf->accepted, a list that needs no lock. Code that must know the
 * order of versions, such as the builder, a FLUSH or a discard, takes wbuf->lock and moves them to
 * wbuf->buffered, in the order in which they came (__kvp_wbuf_order()). Only there a version gets
 * its seq.
 */
#ifndef KVP_WBUF_H
#define KVP_WBUF_H

#include <linux/atomic.h>
#include <linux/interval_tree.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/minmax.h>
#include <linux/rbtree.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "format/format.h"
#include "policy/dirty.h"
#include "ram/pending.h"

struct kvp_log_at;
struct kvp_pool;
struct page;

enum kvp_version_state {
	KVP_VERSION_BUFFERED,
	KVP_VERSION_COMMITTING,
	KVP_VERSION_LOGGED,
	KVP_VERSION_HOMING,
};

/**
 * struct kvp_version - one version of a block, or a hole
 * @hash: in its bucket while it is the newest version, then among wbuf->older; by the bucket's lock
 * @list: on a free, buffered, entry, logged or home list; by the list's owner
 * @accepted: on wbuf->accepted, before it is on a list
 * @block: first block
 * @count: 1, or the length of a hole
 * @crc: sum, from COMMITTING on
 * @by_block: if it is on wbuf->swept: in destage's sweep (work/elevator.h)
 * @seq: order of acceptance, given when it is put on the buffered list, by wbuf->lock; before that
 *	KVP_SEQ_LATER, and 0 while its first write goes on, both by the bucket's lock
 * @lsn: of the entry that holds its record
 * @rec: number of the record there
 * @payload: if its record is data: the contents lie so many blocks behind @lsn
 * @row: in the log of a cache of kind parity1: the row that they can be made from
 *	(format/logstripe.h)
 * @state: to and from BUFFERED by the bucket's lock; else by the list's owner,
 *	read without a lock
 * @superseded: a newer version exists; set under the bucket's lock
 * @hole: a discard; @page is NULL
 * @intent: its record is an intent; set before COMMITTING
 * @follows: an older version was not yet home when this one was accepted. Destage brings both home
 *	in log order, if this one is data; as an intent it goes home before, and passes it
 * @over: so many older versions there were at most, and each was durable data in the log. Or
 *	KVP_OVER_UNKNOWN: then this one must be data, if it follows one
 * @passed: a newer version came home by intent, or is outlived itself. So this one must never go
 *	home; by the bucket's lock
 * @zero: all zeros, recorded like a discard; the page stays for readers
 * @restored: a recovery has left it in the log, and it may be home already
 * @stream: of a write that should go home by intent, not to a cache (kvp_pacing_stream()); by the
 *	bucket's lock
 * @renewed: nothing was written; it has the contents of an older version (kvp_wbuf_renew()); by the
 *	bucket's lock
 * @reserved: in a parity1: log space is kept for its row's parity; by log->lock
 * @page: contents; NULL: it is spilled (spill.h), or a hole. Changed by the bucket's lock
 * @chunk: the chunk of its page; NULL for a hole, and for a version that was spilled once: that has
 *	memory of its own, and a page of its own if any
 */
struct kvp_version {
	struct hlist_node hash;
	union {
		struct list_head list;
		struct llist_node accepted;
	};
	struct rb_node by_block;
	kvp_block_t block;
	u64 seq;
	kvp_lsn_t lsn;
	u32 rec;
	u32 count;
	u32 crc;
	u16 payload;
	u8 state;
	bool superseded;
	bool hole;
	bool intent;
	bool follows;
	bool zero;
	bool restored;
	bool reserved;
	bool stream;
	bool renewed;
	bool passed;
	u8 over;
	u8 row;
	struct page *page;
	struct kvp_chunk *chunk;
};

#define KVP_OVER_MOST		8u	/* older versions of a block that an intent may pass */
#define KVP_OVER_UNKNOWN	255u

/**
 * struct kvp_hole - a discard
 * @d: its version; the range is fixed from when it is taken off the buffered list
 * @node: in wbuf->holes until it is dropped; by wbuf->lock
 */
struct kvp_hole {
	struct kvp_version d;
	struct interval_tree_node node;
};

#define KVP_SEQ_LATER	(~0ull)	/* it comes after all that have a seq */

#define KVP_WBUF_MAX_HOLES	KVP_PENDING_MAX	/* pending; there is memory for each */

/*
 * Pages come in chunks of neighbours and are handed out in order, so that a
 * stream's blocks lie side by side in memory: a request to a device may have
 * no more than some hundred segments, and 1 MiB of scattered pages are more.
 */
#define KVP_CHUNK_ORDER		3
#define KVP_CHUNK_PAGES		(1u << KVP_CHUNK_ORDER)

/**
 * struct kvp_chunk - pages that lie side by side, with the versions they serve; by wbuf->lock
 * @list: on wbuf->whole or wbuf->partial while a page is free
 * @all: on wbuf->chunks
 * @free: bit per page
 * @single: memory was fragmented: the pages are no neighbours
 */
struct kvp_chunk {
	struct list_head list, all;
	unsigned long free;
	bool single;
	struct kvp_version dirty[KVP_CHUNK_PAGES];
};

#define KVP_WBUF_RESERVE	32u	/* pages */

#define KVP_WBUF_GROUP_BITS	4	/* neighbours under one lock */
#define KVP_WBUF_LOCK_BITS	8

#define KVP_WBUF_SHELF_BITS	5
#define KVP_WBUF_SHELF_PAGES	32u

/**
 * struct kvp_wbuf_shelf - free pages at hand, for the writers of one processor, or of a few
 * @at, @end: those of @pages that are left, in order. Changed under @lock. @end grows under
 *	wbuf->lock, too, so that a writer finds a page there that is free nowhere else
 */
struct kvp_wbuf_shelf {
	spinlock_t lock;
	u32 at, end;
	struct kvp_version *pages[KVP_WBUF_SHELF_PAGES];
} ____cacheline_aligned_in_smp;

/* Lock order: a bucket's lock, then a shelf's, then wbuf->lock. */
struct kvp_wbuf_lock {
	spinlock_t lock;
} ____cacheline_aligned_in_smp;

/* Buckets of superseded versions: all of one have the same lock, however many buckets there are. */
#define KVP_WBUF_OLDER		(1u << (KVP_WBUF_GROUP_BITS + KVP_WBUF_LOCK_BITS))

struct kvp_wbuf {
	struct hlist_head *buckets;	/* both change only while the pool is quiesced, and empty */
	u32 bucket_bits;
	struct hlist_head *older;	/* superseded versions that an intent may pass */
	struct kvp_wbuf_lock locks[1 << KVP_WBUF_LOCK_BITS];

	/*
	 * What each writer changes, without a lock. @accepted: not yet on @buffered; newest first
	 */
	struct llist_head accepted ____cacheline_aligned_in_smp;
	atomic_t nr_live;		/* versions in the hash table */
	atomic_t nr_buffered;		/* on @accepted and @buffered; counted before they are there */
	atomic_t used;			/* pages of versions */
	struct kvp_wbuf_shelf shelves[1 << KVP_WBUF_SHELF_BITS];

	spinlock_t lock ____cacheline_aligned_in_smp;	/* for all below */
	struct list_head chunks;	/* all of them */
	struct list_head whole, partial; /* chunks with all or some pages free, except @chunk */
	struct kvp_chunk *chunk;	/* pages are taken from here */
	struct list_head buffered;
	struct list_head logged;
	/* spilled versions: logged before all of @logged; most have no page */
	struct list_head spilled;
	struct list_head swept;		/* logged before all of @spilled; changed by destage alone */
	struct rb_root_cached holes;	/* pending, by address */
	struct kvp_pending *pending;	/* their ranges; read without the lock */
	u64 seq;			/* last one given */
	u32 limit;			/* the most pages that may exist */
	u32 pages;			/* pages that exist, free ones included */
	u32 taken;			/* pages not free in their chunks: in use, or on shelves */
	bool scarce;			/* the last try to allocate a page failed */
	u32 most_holes;			/* the most that may be pending; set by the log */
	/* limit of nr_buffered, for which the log has space; set by the log */
	u32 commit_limit;
	u32 renew_limit;		/* the same for renewed versions; set by the log */
	u32 nr_logged;
	u32 nr_spilled;			/* on @spilled and @swept */
	u32 nr_lone;			/* versions with memory of their own, discards left out */
	u32 nr_reserve;
	struct page *reserve[KVP_WBUF_RESERVE];	/* for lone versions that must go home */
	u32 nr_holes;			/* read without the lock: see __add_hole() */
};

/**
 * kvp_wbuf_init() - an empty buffer
 * @limit: pages
 * @window: blocks that may be dirty on a cache, without pages; 0: there is no cache
 *
 * Return: 0 or -ENOMEM.
 */
int __must_check kvp_wbuf_init(struct kvp_pool *pool, u32 limit, u64 window);
void kvp_wbuf_exit(struct kvp_pool *pool);

/**
 * kvp_wbuf_has_buckets() - true if the hash table has at least 2^@bits buckets
 *
 * Context: the pool is quiesced.
 */
static inline bool kvp_wbuf_has_buckets(const struct kvp_wbuf *w, u32 bits)
{
	return w->bucket_bits >= bits;
}

/** kvp_wbuf_buckets() - a hash table of 2^@bits buckets, or NULL; kvfree() */
struct hlist_head *kvp_wbuf_buckets(u32 bits);

/**
 * kvp_wbuf_use_buckets() - exchange the hash table for @buckets
 *
 * Return: the old one, for kvfree(). Context: the pool is quiesced, and the buffer empty.
 */
struct hlist_head *kvp_wbuf_use_buckets(struct kvp_pool *pool, struct hlist_head *buckets,
					u32 bits);

/**
 * kvp_wbuf_set_limit() - change the number of pages that may exist
 *
 * Chunks beyond a lower limit are freed now, or when the last of their pages comes free. Context:
 * process, may sleep.
 */
void kvp_wbuf_set_limit(struct kvp_pool *pool, u32 limit);

/**
 * kvp_wbuf_lock_lists() - keep the lists of versions, and their counts, from changing
 *
 * The lock is @w->lock of struct kvp_wbuf; kvp_wbuf_unlock_lists() releases it. kvp_wbuf_unlock()
 * is another lock, of a bucket. Context: any but interrupt; atomic in between; a bucket's lock is
 * taken before this one.
 */
static inline void kvp_wbuf_lock_lists(struct kvp_wbuf *w)
	__acquires(&w->lock)
{
	spin_lock(&w->lock);
}

static inline void kvp_wbuf_unlock_lists(struct kvp_wbuf *w)
	__releases(&w->lock)
{
	spin_unlock(&w->lock);
}

/** kvp_wbuf_assert_locked() - lockdep: the caller is between those two */
static inline void kvp_wbuf_assert_locked(const struct kvp_wbuf *w)
{
	lockdep_assert_held(&w->lock);
}

/*
 * Each value may change at any time, unless the caller holds the lists, or is alone. Context: any.
 */

/** kvp_wbuf_limit() - pages that may exist */
static inline u32 kvp_wbuf_limit(const struct kvp_wbuf *w)
{
	return READ_ONCE(w->limit);
}

/** kvp_wbuf_used() - pages that are in use */
static inline u32 kvp_wbuf_used(const struct kvp_wbuf *w)
{
	return (u32)atomic_read(&w->used);
}

/** kvp_wbuf_scarce() - true if the last try to allocate a page failed */
static inline bool kvp_wbuf_scarce(const struct kvp_wbuf *w)
{
	return READ_ONCE(w->scarce);
}

/** kvp_wbuf_attainable() - pages that can exist: those that do, while memory is scarce */
static inline u32 kvp_wbuf_attainable(const struct kvp_wbuf *w)
{
	u32 limit = READ_ONCE(w->limit);

	return READ_ONCE(w->scarce) ? min(READ_ONCE(w->pages), limit) : limit;
}

/** kvp_wbuf_nr_holes() - discards that are pending */
static inline u32 kvp_wbuf_nr_holes(const struct kvp_wbuf *w)
{
	return READ_ONCE(w->nr_holes);
}

/**
 * kvp_wbuf_is_empty() - true if there is no version, and no discard. Exact when none is accepted or
 * dropped.
 */
static inline bool kvp_wbuf_is_empty(const struct kvp_wbuf *w)
{
	return !kvp_wbuf_used(w) && !READ_ONCE(w->nr_lone) && !READ_ONCE(w->nr_holes) &&
	       !atomic_read(&w->nr_buffered);
}

/**
 * kvp_wbuf_paged() - versions and discards that are durable in the log, wait for destage, and
 *	are not spilled
 */
static inline u32 kvp_wbuf_paged(const struct kvp_wbuf *w)
{
	return READ_ONCE(w->nr_logged);
}

/** kvp_wbuf_buffered() - versions and discards that are accepted, and in no entry of the log */
static inline u32 kvp_wbuf_buffered(const struct kvp_wbuf *w)
{
	return (u32)atomic_read(&w->nr_buffered);
}

/** kvp_wbuf_commit_limit() - so many buffered versions find space in the log */
static inline u32 kvp_wbuf_commit_limit(const struct kvp_wbuf *w)
{
	return READ_ONCE(w->commit_limit);
}

/** kvp_wbuf_live() - blocks whose newest version is not home yet. Context: any. */
static inline u32 kvp_wbuf_live(const struct kvp_wbuf *w)
{
	return atomic_read(&w->nr_live);
}

/** kvp_wbuf_most_holes() - so many discards may be pending */
static inline u32 kvp_wbuf_most_holes(const struct kvp_wbuf *w)
{
	return READ_ONCE(w->most_holes);
}

/**
 * kvp_wbuf_bound() - set how much may be buffered, by users and with renewed versions, and how many
 * discards may be pending; for the log.
 *
 * Context: any.
 */
static inline void kvp_wbuf_bound(struct kvp_wbuf *w, u32 commit_limit, u32 renew_limit,
				  u32 most_holes)
{
	WRITE_ONCE(w->commit_limit, commit_limit);
	WRITE_ONCE(w->renew_limit, renew_limit);
	WRITE_ONCE(w->most_holes, most_holes);
}

/** kvp_wbuf_last_seq() - the last seq that was given; accepted versions may have none yet */
static inline u64 kvp_wbuf_last_seq(const struct kvp_wbuf *w)
{
	return READ_ONCE(w->seq);
}

/** kvp_wbuf_to_be_committed() - true if no more may be buffered before a commit. Any context. */
static inline bool kvp_wbuf_to_be_committed(const struct kvp_wbuf *w)
{
	return kvp_wbuf_buffered(w) >= READ_ONCE(w->commit_limit);
}

/**
 * struct kvp_wbuf_figures - for status: the contents of the buffer, as of about one moment
 * @limit, @used: the most pages that may exist; pages in use
 * @lone: blocks that have a version without a page of the buffer: spilled, discards left out
 * @live: blocks whose newest version is not home
 * @page_bytes: memory of all pages that exist, with their descriptions
 * @lone_bytes: memory of spilled versions, discards, and the reserve
 */
struct kvp_wbuf_figures {
	u32 limit, used, lone, live;
	u64 page_bytes, lone_bytes;
};

/** kvp_wbuf_figures() - fill in @f. Context: any; takes no lock. */
void kvp_wbuf_figures(const struct kvp_wbuf *w, struct kvp_wbuf_figures *f);

/*
 * Buffered versions, in order of acceptance. Context: caller holds the lists
 * (kvp_wbuf_lock_lists()).
 */

/**
 * __kvp_wbuf_order() - give all accepted versions their places among the buffered ones, and a seq
 *
 * To be called before the functions below. What is accepted later comes after these.
 */
void __kvp_wbuf_order(struct kvp_wbuf *w);

/** __kvp_wbuf_first() - the first buffered version, or NULL */
static inline struct kvp_version *__kvp_wbuf_first(struct kvp_wbuf *w)
{
	kvp_wbuf_assert_locked(w);
	return list_first_entry_or_null(&w->buffered, struct kvp_version, list);
}

/** __kvp_wbuf_next() - the version accepted after @d, which is buffered; or NULL */
static inline struct kvp_version *__kvp_wbuf_next(struct kvp_wbuf *w, struct kvp_version *d)
{
	return list_is_last(&d->list, &w->buffered) ? NULL : list_next_entry(d, list);
}

/**
 * __kvp_wbuf_take() - move the first @n, of which @last is the last, to the end of @to; changes
 * only a few pointers
 */
void __kvp_wbuf_take(struct kvp_wbuf *w, struct kvp_version *last, u32 n, struct list_head *to);

/**
 * kvp_wbuf_put_back() - buffer the taken versions again, before all others; @versions is empty
 * then.
 *
 * Context: process.
 */
void kvp_wbuf_put_back(struct kvp_wbuf *w, struct list_head *versions);

/**
 * __kvp_wbuf_add_logged() - @n versions, all of @versions, are durable: destage owns them now.
 * Caller holds the lists.
 */
void __kvp_wbuf_add_logged(struct kvp_wbuf *w, struct list_head *versions, u32 n);

/**
 * kvp_wbuf_abandon() - let kvp_wbuf_exit() free @versions, too.
 *
 * Context: the buffer is not in use.
 */
void kvp_wbuf_abandon(struct kvp_wbuf *w, struct list_head *versions);

/**
 * kvp_wbuf_begin_write() - a page to copy a block's new contents into
 *
 * Return: the version, its bucket locked, or NULL when the buffer is full, the log has no space for
 * more, or memory is short: try again after kvp_pool_space(). The caller fills the page, sets
 * @stream if it is part of a stream, and calls kvp_wbuf_end_write(). Context: any but interrupt;
 * between the two calls atomic. Takes the lock of the whole buffer once for up to
 * KVP_WBUF_SHELF_PAGES new versions.
 */
struct kvp_version * __must_check kvp_wbuf_begin_write(struct kvp_pool *pool, kvp_block_t block);

/** kvp_wbuf_end_write() - accept and unlock. From then on kvp_wbuf_seq() covers this write. */
void kvp_wbuf_end_write(struct kvp_pool *pool, struct kvp_version *d);

/**
 * kvp_wbuf_renew() - accept the contents of @old once more, as a new version of its block
 * @old: LOGGED, data or zeros; the caller keeps it from going home and from being dropped
 * @page: its contents
 *
 * The new version is data, and buffered behind all that was accepted. @old keeps its place, and
 * its record counts until the new one is durable, as if a user had written the block. Return:
 * false: @old is not the newest version any more, a discard of the block is pending, or there is
 * no room. Context: process; does not wait. The caller lets the log commit.
 */
bool kvp_wbuf_renew(struct kvp_pool *pool, struct kvp_version *old, struct page *page);

/**
 * kvp_wbuf_nr_logged() - versions and discards that are durable in the log, and wait for destage
 */
static inline u32 kvp_wbuf_nr_logged(const struct kvp_wbuf *w)
{
	return READ_ONCE(w->nr_logged) + READ_ONCE(w->nr_spilled);
}

/** kvp_version_after() - true if @a comes after @b in the log. Both are LOGGED. */
static inline bool kvp_version_after(const struct kvp_version *a, const struct kvp_version *b)
{
	return a->lsn != b->lsn ? kvp_lsn_before(b->lsn, a->lsn) : a->seq > b->seq;
}

/**
 * __kvp_wbuf_oldest() - the oldest version that waits for destage, or NULL. Context: caller holds
 * @w->lock.
 */
struct kvp_version *__kvp_wbuf_oldest(struct kvp_wbuf *w);

/**
 * kvp_wbuf_waits_below() - true if a version below @lsn waits for destage
 *
 * Versions that a round has taken do not count: the caller keeps rounds away. Context: process.
 */
bool kvp_wbuf_waits_below(struct kvp_wbuf *w, kvp_lsn_t lsn);

/**
 * kvp_wbuf_spill_oldest() - move the oldest version on @logged to @spilled, without its page
 *
 * A discard goes there as it is. Return: false if there is none, or no memory. Context: process;
 * does not wait. The caller calls kvp_pool_space().
 */
bool kvp_wbuf_spill_oldest(struct kvp_pool *pool);

/**
 * kvp_wbuf_restore() - add versions that a recovery found in the log, as spilled ones
 * @versions: newest of each block, in log order, from kzalloc(), LOGGED; empty then
 *
 * Return: how many. Context: the buffer is not in use yet.
 */
u32 kvp_wbuf_restore(struct kvp_pool *pool, struct list_head *versions);

/*
 * Versions that wait for destage: @swept, then @spilled, then @logged, in log order. Only destage
 * takes from these.
 */

#define KVP_WBUF_AT_ONCE	256u	/* versions moved while others wait for the lists */

/**
 * kvp_wbuf_take_spilled_holes() - move discards at the head of @spilled, below @limit, up to @max,
 * to the end of @to; returns how many
 */
u32 kvp_wbuf_take_spilled_holes(struct kvp_wbuf *w, kvp_lsn_t limit, u32 max, struct list_head *to);

/**
 * kvp_wbuf_take_logged() - take up to @max versions below @limit from the head of @logged, if
 * @spilled is empty
 * @data, @holes: versions, and the discards that come before them, go to the ends of these
 * @next: out: the first version that stays, if it is below @limit; or @limit. Unchanged if @logged
 *	is empty
 *
 * Return: how many were taken.
 */
u32 kvp_wbuf_take_logged(struct kvp_wbuf *w, kvp_lsn_t limit, u32 max, struct list_head *data,
			 struct list_head *holes, struct kvp_log_at *next);

/**
 * kvp_wbuf_pass_on() - move up to @max versions below @limit from the head of @logged to the end of
 * @spilled, as they are
 *
 * They keep their pages. Stops before a discard. Context: destage alone.
 */
void kvp_wbuf_pass_on(struct kvp_wbuf *w, kvp_lsn_t limit, u32 max);

/**
 * kvp_wbuf_put_spilled() - put @versions, in log order, before all on @spilled, with or without
 * pages; empties it
 */
void kvp_wbuf_put_spilled(struct kvp_wbuf *w, struct list_head *versions);

/**
 * kvp_wbuf_sweep() - move up to @max versions below @limit from the head of @spilled to the end of
 * @swept
 * @first: out: the first of them, which the others follow on their list; NULL: none was moved
 *
 * Stops before a discard. Return: how many.
 */
u32 kvp_wbuf_sweep(struct kvp_wbuf *w, kvp_lsn_t limit, u32 max, struct kvp_version **first);

/**
 * kvp_wbuf_put_swept() - put @versions, in log order, into their places on @swept; empties it. May
 * sleep.
 */
void kvp_wbuf_put_swept(struct kvp_wbuf *w, struct list_head *versions);

/**
 * __kvp_wbuf_take_swept() - move @d from @swept to the end of @to.
 *
 * Context: caller holds the lists.
 */
static inline void __kvp_wbuf_take_swept(struct kvp_wbuf *w, struct kvp_version *d,
					 struct list_head *to)
{
	kvp_wbuf_assert_locked(w);
	list_move_tail(&d->list, to);
	w->nr_spilled--;
}

/**
 * kvp_wbuf_next_swept() - the version that follows @d on @swept, or the first one, if @d is NULL;
 * or NULL
 *
 * Context: the destage worker, which alone changes @swept.
 */
static inline struct kvp_version *kvp_wbuf_next_swept(struct kvp_wbuf *w, struct kvp_version *d)
{
	struct list_head *at = d ? d->list.next : w->swept.next;

	return at == &w->swept ? NULL : list_entry(at, struct kvp_version, list);
}

/**
 * __kvp_wbuf_first_unswept() - the first version that is not on @swept, or NULL.
 *
 * Context: caller holds the lists.
 */
static inline struct kvp_version *__kvp_wbuf_first_unswept(struct kvp_wbuf *w)
{
	kvp_wbuf_assert_locked(w);
	return list_first_entry_or_null(&w->spilled, struct kvp_version, list) ?:
	       list_first_entry_or_null(&w->logged, struct kvp_version, list);
}

/**
 * __kvp_wbuf_first_logged() - the first version that is not spilled, or NULL.
 *
 * Context: caller holds the lists.
 */
static inline struct kvp_version *__kvp_wbuf_first_logged(struct kvp_wbuf *w)
{
	kvp_wbuf_assert_locked(w);
	return list_first_entry_or_null(&w->logged, struct kvp_version, list);
}

/**
 * kvp_wbuf_reserve() - fill the reserve of kvp_wbuf_lone_page(). May sleep. Return: true if it is
 * full.
 */
bool __must_check kvp_wbuf_reserve(struct kvp_pool *pool);

/**
 * kvp_wbuf_lone_page() - a page for a version that was spilled, or NULL. Context: may sleep, not
 * for I/O.
 */
struct page *kvp_wbuf_lone_page(struct kvp_pool *pool);
void kvp_wbuf_lone_page_free(struct kvp_pool *pool, struct page *page);

/** kvp_wbuf_seq() - everything accepted so far has this seq or a lower one */
u64 kvp_wbuf_seq(struct kvp_pool *pool);

/** kvp_wbuf_take_seq() - the next seq, which no version has. Context: any but interrupt. */
u64 kvp_wbuf_take_seq(struct kvp_wbuf *w);

/**
 * kvp_wbuf_discard() - make @count blocks a hole
 * @seq: result: covers it
 *
 * A hole that touches the one that was accepted last becomes part of it, if nothing was accepted
 * since and no entry has it. Return: 0; -ENOMEM; -EAGAIN: too many are pending, or the log has no
 * space for more: try again after kvp_pool_space(). Context: any but interrupt; may sleep for
 * memory.
 */
int __must_check kvp_wbuf_discard(struct kvp_pool *pool, kvp_block_t block, u32 count, u64 *seq);

/**
 * kvp_wbuf_find() - the newest version of @block, its bucket locked, or NULL
 *
 * Release with kvp_wbuf_unlock(). Never returns holes: see kvp_wbuf_in_hole().
 */
struct kvp_version *kvp_wbuf_find(struct kvp_pool *pool, kvp_block_t block);
void kvp_wbuf_unlock(struct kvp_pool *pool, kvp_block_t block);

/** kvp_wbuf_any() - true if any of the blocks may be in the buffer or a hole */
bool kvp_wbuf_any(struct kvp_pool *pool, kvp_block_t block, u32 count);

/**
 * kvp_wbuf_in_hole() - true if @block is in a pending hole. Ask only after kvp_wbuf_find() said no.
 */
bool kvp_wbuf_in_hole(struct kvp_pool *pool, kvp_block_t block);

/**
 * __kvp_wbuf_up_to_hole() - how many of @count blocks, from @block on, come before any pending
 * hole. By @w->lock.
 */
u32 __kvp_wbuf_up_to_hole(struct kvp_wbuf *w, kvp_block_t block, u32 count);

/** kvp_wbuf_drop() - the version is home or superseded: unhash it and free its page */
void kvp_wbuf_drop(struct kvp_pool *pool, struct kvp_version *d);

/** kvp_wbuf_drop_list() - kvp_wbuf_drop() for a list, waking waiters for space once */
void kvp_wbuf_drop_list(struct kvp_pool *pool, struct list_head *list);

/**
 * kvp_wbuf_advance() - set a state beyond COMMITTING; no reader needs the exact one, so it takes no
 * lock
 */
static inline void kvp_wbuf_advance(struct kvp_version *d, enum kvp_version_state state)
{
	WRITE_ONCE(d->state, state);
}

/** kvp_wbuf_fix() - make the versions on the list COMMITTING: rewrites in place end here */
void kvp_wbuf_fix(struct kvp_pool *pool, struct list_head *versions);

/** kvp_wbuf_unfix() - a commit failed: make the versions on the list BUFFERED again */
void kvp_wbuf_unfix(struct kvp_pool *pool, struct list_head *versions);

/** kvp_wbuf_superseded() - true if there is a newer version (stable only if true) */
static inline bool kvp_wbuf_superseded(const struct kvp_version *d)
{
	return READ_ONCE(d->superseded);
}

/** kvp_wbuf_passed() - true if an intent passed it: a newer version is home (stable if true) */
static inline bool kvp_wbuf_passed(const struct kvp_version *d)
{
	return READ_ONCE(d->passed);
}

bool __kvp_wbuf_outlived(struct kvp_pool *pool, struct kvp_version *d);

/**
 * kvp_wbuf_outlived() - true if a newer version of @d's block is durable, other than by an open
 * intent
 *
 * Then @d need not go home: its record may die (R2). Nor may it go home, if it was passed. Caller
 * holds the range lock.
 */
static inline bool kvp_wbuf_outlived(struct kvp_pool *pool, struct kvp_version *d)
{
	return kvp_wbuf_superseded(d) && (kvp_wbuf_passed(d) || __kvp_wbuf_outlived(pool, d));
}

#endif /* KVP_WBUF_H */
