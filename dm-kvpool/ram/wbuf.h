/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The write buffer has every version of a block that is not yet home.
 *
 * A write is copied into a page here, and completes. A FLUSH, a full buffer or a timer makes the
 * commit put buffered versions into a log entry. Then destage writes them home, or, for large runs,
 * a direct write does. Until then a hash table finds the newest version of each block. Older
 * versions are found only through the list that they are on.
 *
 *   BUFFERED   on wbuf->accepted, and then on wbuf->buffered, in order of acceptance; a rewrite of
 *              the block goes into the same page
 *   COMMITTING in a log entry that is not yet durable. The page is fixed from here on: a rewrite
 *              makes a new version
 *   LOGGED     on wbuf->logged, in log order; the record is durable. The oldest of these may be on
 *              wbuf->spilled instead, and have no page (spill.h). The oldest of the spilled ones
 *              may be on wbuf->elevator, which destage takes by address. Of most of these only
 *              a record of 16 bytes is in memory: they are packed (packs.h)
 *   HOMING     taken by destage or a direct worker
 *
 * A discard is a version without a page: a hole of one or more blocks. Pending discards are also in
 * a tree by address. Their ranges are in pending.h, where readers find them without a lock.
 *
 * A writer puts its version on wbuf->accepted, a list that needs no lock. The builder, a FLUSH, a
 * discard and other code must know the order of versions. Such code takes wbuf->lock, and moves
 * accepted versions to wbuf->buffered, in the order in which they came (__kvp_wbuf_order()). Only
 * there a version gets its seq.
 *
 * The folder ram/ has the blocks that the pool keeps in memory. This buffer has what is not home
 * yet, and rcache.h has copies of what is home. pending.h has the ranges of discards, for readers
 * that take no lock. shrinker.h lets the kernel take pages of the cache, but none of the buffer.
 * The folder does no I/O, and knows no pool: struct kvp_wbuf_client has the one call to it.
 *
 * A write enters by kvp_wbuf_begin_write(), a discard by kvp_wbuf_discard(), and a reader asks
 * kvp_wbuf_any() or kvp_wbuf_find(). log/ takes buffered versions, destage takes logged ones, and
 * kvp_wbuf_drop() ends a version.
 *
 * Locks: the lock of a bucket, then that of a shelf, then wbuf->lock for all lists, then that of a
 * shelf of packed versions. Each shard of the RAM cache has a lock of its own. The comment at a
 * field names the lock of the field.
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
#include "ram/packs.h"
#include "ram/pending.h"

struct kvp_log_at;
struct kvp_pool;
struct kvp_stats;
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
 * @count: 1, or the length of a hole, in blocks
 * @crc: sum, from COMMITTING on
 * @by_block: in the tree of the elevator (work/elevator.h), while it is on wbuf->elevator
 * @seq: order of acceptance, given when it is put on the buffered list, by wbuf->lock. Before that
 *	it is KVP_SEQ_LATER, and 0 while its first write goes on; both by the bucket's lock. It is 0
 *	again once it was packed: then all discards and intents of its block are newer
 * @lsn: of the entry that has its record
 * @rec: number of the record in that entry
 * @payload: if its record is data: the contents lie this many blocks behind @lsn
 * @row: in the log of a cache of kind parity1: the row that the contents can be made from
 *	(format/logstripe.h)
 * @state: to and from BUFFERED by the bucket's lock; else by the list's owner; read without a lock
 * @superseded: a newer version exists; set under the bucket's lock
 * @hole: it is a discard; @page is NULL
 * @intent: its record is an intent; set before COMMITTING
 * @follows: an older version was not yet home when this one was accepted. If this one is data,
 *	destage writes both home in log order. If it is an intent, it goes home before the older
 *	one, and passes it
 * @over: the most older versions that there may be, each of them data in the log, or on its way
 *	there. Or KVP_OVER_UNKNOWN: then this one must be data, if it follows one
 * @passed: a newer version was written home by intent, or is outlived itself. So this one
 *	must never go home; by the bucket's lock
 * @zero: all zeros, recorded like a discard; the page stays for readers
 * @restored: a recovery has left it in the log, and it may be home already
 * @stream: of a write that should go home by intent, not to a cache (kvp_log_ops.joins_stream); by
 *	the bucket's lock
 * @renewed: no user wrote it: it has the contents of an older version (kvp_wbuf_renew()); by the
 *	bucket's lock
 * @reserved: in a parity1: log space is kept for its row's parity; by log->lock
 * @outdone: it was an intent, and is superseded: it goes nowhere any more (log/again.c)
 * @page: contents; NULL: it is spilled (spill.h), or a hole. Changed under the bucket's lock
 * @chunk: the page chunk of its page. NULL for a hole, and for a version that was spilled once: a
 *	version has memory of its own, and a page of its own if any
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
	bool outdone;
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

#define KVP_SEQ_LATER	(~0ull)	/* a version that comes after all that have a seq */

#define KVP_WBUF_MAX_HOLES	KVP_PENDING_MAX	/* discards that may be pending */

/*
 * Pages come in page chunks of neighbours, and are handed out in order. So the blocks of a stream
 * lie side by side in memory. A request to a device may have no more than some hundred segments,
 * and 1 MiB of scattered pages has more.
 */
#define KVP_CHUNK_ORDER		3
#define KVP_CHUNK_PAGES		(1u << KVP_CHUNK_ORDER)

#define KVP_WBUF_LARGE	16u	/* blocks; a write of so many is a large one */

/**
 * kvp_wbuf_most_scattered() - how many free pages large writes leave in a buffer of @limit pages
 *
 * Each of these has a neighbour that is in use. So the buffer is full for large writes with so many
 * pages free: what makes room must not wait for more to be in use.
 */
static inline u32 kvp_wbuf_most_scattered(u32 limit)
{
	return limit / 16 / KVP_CHUNK_PAGES * KVP_CHUNK_PAGES;
}

/**
 * struct kvp_chunk - a page chunk: pages side by side, and the versions in them; by wbuf->lock
 * @list: on a list of wbuf->free while a page is free
 * @all: on wbuf->chunks
 * @free: bit per page
 * @nr_free: so many are set
 * @single: memory was fragmented: the pages are no neighbours
 */
struct kvp_chunk {
	struct list_head list, all;
	unsigned long free;
	u32 nr_free;
	bool single;
	struct kvp_version dirty[KVP_CHUNK_PAGES];
};

#define KVP_WBUF_RESERVE	32u	/* pages */
#define KVP_WBUF_SPARE		64u	/* versions */
#define KVP_WBUF_AT_HAND	1024u	/* further ones that were packed, to spill others */

#define KVP_WBUF_GROUP_BITS	4	/* neighbouring blocks under one lock */
#define KVP_WBUF_LOCK_BITS	8

#define KVP_WBUF_SHELF_BITS	5
#define KVP_WBUF_SHELF_PAGES	32u

/**
 * struct kvp_wbuf_shelf - free pages at hand, for the writers of one processor, or of a few
 * @lock: taken before wbuf->lock
 * @at, @end: the pages from @at to before @end are left. Changed under @lock. @end grows under
 *	wbuf->lock as well: so a writer that finds no other free page finds the one there
 */
struct kvp_wbuf_shelf {
	spinlock_t lock;
	u32 at, end;
	struct kvp_version *pages[KVP_WBUF_SHELF_PAGES];
} ____cacheline_aligned_in_smp;

/*
 * Lock order: a bucket's lock, then a shelf's, then wbuf->lock, then that of a packed shelf.
 *
 * @seen: stands for a packed version that was found, while the lock is held. It is only read.
 */
struct kvp_wbuf_lock {
	spinlock_t lock;
	struct kvp_version seen;
} ____cacheline_aligned_in_smp;

/*
 * Buckets of superseded versions. All versions of one bucket have the same lock, however large the
 * hash table is.
 */
#define KVP_WBUF_OLDER		(1u << (KVP_WBUF_GROUP_BITS + KVP_WBUF_LOCK_BITS))

/**
 * struct kvp_wbuf_client - what the buffer calls and counts; it knows no more of a pool
 * @space: pages of the buffer became free. Context: any
 * @of: argument of @space
 * @stats: counts what was coalesced
 */
struct kvp_wbuf_client {
	void (*space)(void *of);
	void *of;
	struct kvp_stats __percpu *stats;
};

struct kvp_wbuf {
	struct kvp_wbuf_client client;
	/* the hash table; it changes only while the pool is quiesced, and empty */
	struct hlist_head *buckets;
	u32 bucket_bits;
	struct hlist_head *older;	/* superseded versions that an intent may pass */
	struct kvp_wbuf_lock locks[1 << KVP_WBUF_LOCK_BITS];

	/*
	 * Fields that each writer changes, without a lock. Versions on @accepted are not yet on
	 * @buffered; the newest is first.
	 */
	struct llist_head accepted ____cacheline_aligned_in_smp;
	atomic_t nr_live;		/* versions in the hash table */
	atomic_t nr_buffered;		/* on both lists; counted before they are there */
	atomic_t used;			/* pages of versions */
	atomic_t nr_passed;		/* versions that were passed, and are not dropped yet */
	struct kvp_wbuf_shelf shelves[1 << KVP_WBUF_SHELF_BITS];

	spinlock_t lock ____cacheline_aligned_in_smp;	/* for all fields below */
	struct list_head chunks;	/* all page chunks */
	/* page chunks with a page free, with two, and so on; except @chunk */
	struct list_head free[KVP_CHUNK_PAGES];
	struct kvp_chunk *chunk;	/* pages are taken from this one */
	struct list_head buffered;
	struct list_head logged;
	/* spilled versions, logged before all of @logged; most have no page */
	struct list_head spilled;
	struct list_head elevator;	/* logged before all of @spilled; only destage changes it */
	struct kvp_packs packs;		/* logged before all of @spilled, too; see packs.h */
	u32 nr_discarding;		/* discards that have a seq, and still look for versions */
	struct list_head spare;		/* versions for packed ones that must be taken */
	u32 nr_spare;
	struct rb_root_cached holes;	/* pending discards, by address */
	struct kvp_pending *pending;	/* their ranges; read without the lock */
	u64 seq;			/* the last one given */
	u32 limit;			/* the most pages that may exist */
	u32 pages;			/* pages that exist, free ones included */
	u32 taken;			/* pages not free in a page chunk: in use, or on a shelf */
	bool scarce;			/* the last try to allocate a page failed */
	bool spill_failed;		/* there was no memory for the last try to spill */
	u32 most_holes;			/* discards that may be pending; set by the log */
	/* limit of nr_buffered: the log has space for so many; set by the log */
	u32 commit_limit;
	u32 renew_limit;		/* the same for renewed versions; set by the log */
	u32 nr_logged;
	u32 nr_spilled;			/* on @spilled and @elevator, and in @packs */
	/* versions with memory of their own, and packed ones; without discards */
	u32 nr_lone;
	u32 nr_reserve;
	struct page *reserve[KVP_WBUF_RESERVE];	/* for lone versions that must go home */
	u32 nr_holes;			/* read without the lock: see __add_hole() */
};

/**
 * kvp_wbuf_init() - begin with an empty buffer
 * @c: is copied
 * @limit: the most pages
 * @window: blocks that may be dirty on a cache, without pages; 0: there is no cache
 *
 * Return: 0 or -ENOMEM. Context: process, may sleep.
 */
int __must_check kvp_wbuf_init(struct kvp_wbuf *w, const struct kvp_wbuf_client *c, u32 limit,
			       u64 window);
void kvp_wbuf_exit(struct kvp_wbuf *w);

/**
 * kvp_wbuf_has_buckets() - true if the hash table has at least 2^@bits buckets
 *
 * Context: the pool is quiesced.
 */
static inline bool kvp_wbuf_has_buckets(const struct kvp_wbuf *w, u32 bits)
{
	return w->bucket_bits >= bits;
}

/**
 * kvp_wbuf_buckets() - allocate a hash table of 2^@bits buckets; free it with kvfree(). Return:
 * NULL: there is no memory. Context: process, may sleep.
 */
struct hlist_head *kvp_wbuf_buckets(u32 bits);

/**
 * kvp_wbuf_use_buckets() - use @buckets, 2^@bits of them, as the hash table
 *
 * Return: the old hash table, for kvfree(). Context: the pool is quiesced, and the buffer empty.
 */
struct hlist_head *kvp_wbuf_use_buckets(struct kvp_wbuf *w, struct hlist_head *buckets, u32 bits);

/**
 * kvp_wbuf_set_limit() - change the number of pages that may exist
 *
 * If the limit becomes lower, page chunks beyond it are freed now, or when the last of their pages
 * comes free. Context: process, may sleep.
 */
void kvp_wbuf_set_limit(struct kvp_wbuf *w, u32 limit);

/**
 * kvp_wbuf_lock_lists() - keep the lists of versions, and their counts, from changing
 *
 * This takes @w->lock, which kvp_wbuf_unlock_lists() releases. kvp_wbuf_unlock() releases another
 * lock, that of a bucket. Context: any but interrupt; atomic in between; a bucket's lock is taken
 * before this one.
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

/** kvp_wbuf_assert_locked() - lockdep: the caller holds the lists (kvp_wbuf_lock_lists()) */
static inline void kvp_wbuf_assert_locked(const struct kvp_wbuf *w)
{
	lockdep_assert_held(&w->lock);
}

/*
 * Each value below may change at any time, unless the caller holds the lists, or is alone. Context:
 * any.
 */

/** kvp_wbuf_limit() - the most pages that may exist */
static inline u32 kvp_wbuf_limit(const struct kvp_wbuf *w)
{
	return READ_ONCE(w->limit);
}

/** kvp_wbuf_used() - pages that versions use */
static inline u32 kvp_wbuf_used(const struct kvp_wbuf *w)
{
	return (u32)atomic_read(&w->used);
}

/** kvp_wbuf_scarce() - true if the last try to allocate a page failed */
static inline bool kvp_wbuf_scarce(const struct kvp_wbuf *w)
{
	return READ_ONCE(w->scarce);
}

/** kvp_wbuf_attainable() - pages that can exist; while memory is scarce, no more than do exist */
static inline u32 kvp_wbuf_attainable(const struct kvp_wbuf *w)
{
	u32 limit = READ_ONCE(w->limit);

	return READ_ONCE(w->scarce) ? min(READ_ONCE(w->pages), limit) : limit;
}

/** kvp_wbuf_nr_holes() - number of pending discards */
static inline u32 kvp_wbuf_nr_holes(const struct kvp_wbuf *w)
{
	return READ_ONCE(w->nr_holes);
}

/**
 * kvp_wbuf_is_empty() - true if there is no version, and no discard. Exact while no version is
 * accepted or dropped.
 */
static inline bool kvp_wbuf_is_empty(const struct kvp_wbuf *w)
{
	return !kvp_wbuf_used(w) && !READ_ONCE(w->nr_lone) && !READ_ONCE(w->nr_holes) &&
	       !atomic_read(&w->nr_buffered);
}

/**
 * kvp_wbuf_paged() - number of versions and discards that are durable in the log, wait for destage,
 * and are not spilled
 */
static inline u32 kvp_wbuf_paged(const struct kvp_wbuf *w)
{
	return READ_ONCE(w->nr_logged);
}

/**
 * kvp_wbuf_buffered() - number of versions and discards that are accepted, and in no entry of the
 * log
 */
static inline u32 kvp_wbuf_buffered(const struct kvp_wbuf *w)
{
	return (u32)atomic_read(&w->nr_buffered);
}

/** kvp_wbuf_nr_spilled() - number of versions and discards that are spilled */
static inline u32 kvp_wbuf_nr_spilled(const struct kvp_wbuf *w)
{
	return READ_ONCE(w->nr_spilled);
}

/** kvp_wbuf_commit_limit() - number of buffered versions that the log has space for */
static inline u32 kvp_wbuf_commit_limit(const struct kvp_wbuf *w)
{
	return READ_ONCE(w->commit_limit);
}

/** kvp_wbuf_live() - number of blocks whose newest version is not home yet. Context: any. */
static inline u32 kvp_wbuf_live(const struct kvp_wbuf *w)
{
	return atomic_read(&w->nr_live);
}

/** kvp_wbuf_most_holes() - number of discards that may be pending */
static inline u32 kvp_wbuf_most_holes(const struct kvp_wbuf *w)
{
	return READ_ONCE(w->most_holes);
}

/**
 * kvp_wbuf_bound() - set limits, for the log
 * @commit_limit: versions that may be buffered by users
 * @renew_limit: the same with renewed versions
 * @most_holes: discards that may be pending
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
 * @limit, @used: the most pages that may exist; pages that versions use
 * @lone: blocks with a version that has no page of the buffer: it is spilled; without discards
 * @live: blocks whose newest version is not home
 * @page_bytes: bytes of all pages that exist, with their descriptions
 * @lone_bytes: bytes of spilled versions, of discards, and of the reserve
 */
struct kvp_wbuf_figures {
	u32 limit, used, lone, live;
	u64 page_bytes, lone_bytes;
};

/** kvp_wbuf_figures() - fill in @f. Context: any; takes no lock. */
void kvp_wbuf_figures(const struct kvp_wbuf *w, struct kvp_wbuf_figures *f);

/*
 * Buffered versions, in order of acceptance. Context: the caller holds the lists
 * (kvp_wbuf_lock_lists()).
 */

/**
 * __kvp_wbuf_order() - give all accepted versions their places among the buffered ones, and a seq
 *
 * Call it before the functions below. Versions that are accepted later come after these.
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
 * __kvp_wbuf_take() - move the first @n buffered versions, of which @last is the last, to the end
 * of @to
 *
 * It changes only a few pointers, however many they are.
 */
void __kvp_wbuf_take(struct kvp_wbuf *w, struct kvp_version *last, u32 n, struct list_head *to);

/**
 * kvp_wbuf_put_back() - buffer the taken versions again, before all others; empties @versions
 *
 * Context: process; takes the lock of the lists.
 */
void kvp_wbuf_put_back(struct kvp_wbuf *w, struct list_head *versions);

/**
 * __kvp_wbuf_add_logged() - @n versions, all of @versions, are durable: give them to destage
 *
 * Empties @versions. Caller holds the lists.
 */
void __kvp_wbuf_add_logged(struct kvp_wbuf *w, struct list_head *versions, u32 n);

/**
 * kvp_wbuf_abandon() - let kvp_wbuf_exit() free @versions as well
 *
 * Context: the buffer is not in use.
 */
void kvp_wbuf_abandon(struct kvp_wbuf *w, struct list_head *versions);

/**
 * kvp_wbuf_begin_write() - get a page to copy a block's new contents into
 * @large: neighbours of @block are written with it, and their pages should lie side by side. Then
 *	the buffer is full sooner (kvp_wbuf_most_scattered())
 *
 * The caller fills the page, sets @stream if it is part of a stream, and calls
 * kvp_wbuf_end_write(). Return: the version, its bucket locked; NULL: the buffer is full, the log
 * has no space for more, or memory is short: try again after kvp_pool_space(). Context: any but
 * interrupt; atomic between the two calls. Takes wbuf->lock once for up to KVP_WBUF_SHELF_PAGES new
 * versions.
 */
struct kvp_version * __must_check kvp_wbuf_begin_write(struct kvp_wbuf *w, kvp_block_t block,
						       bool large);

/**
 * kvp_wbuf_end_write() - accept the write, and unlock the bucket. From then on kvp_wbuf_seq()
 * covers it.
 */
void kvp_wbuf_end_write(struct kvp_wbuf *w, struct kvp_version *d);

/**
 * kvp_wbuf_renew() - accept the contents of @old once more, as a new version of its block
 * @old: LOGGED, data or zeros; the caller keeps it from going home and from being dropped
 * @page: its contents
 *
 * The new version is data, and is buffered behind all that were accepted. @old keeps its place. Its
 * record counts until the new one is durable, as if a user had written the block. Return: false:
 * @old is not the newest version any more, a discard of the block is pending, or there is no room.
 * Context: process; does not wait. The caller lets the log commit.
 */
bool kvp_wbuf_renew(struct kvp_wbuf *w, struct kvp_version *old, struct page *page);

/**
 * kvp_wbuf_nr_logged() - number of versions and discards that are durable in the log, and wait for
 * destage
 */
static inline u32 kvp_wbuf_nr_logged(const struct kvp_wbuf *w)
{
	return READ_ONCE(w->nr_logged) + READ_ONCE(w->nr_spilled);
}

/**
 * kvp_version_after() - true if @a comes after @b in the log. Both are LOGGED. A version that was
 * packed has no seq, so the number of the record counts.
 */
static inline bool kvp_version_after(const struct kvp_version *a, const struct kvp_version *b)
{
	return a->lsn != b->lsn ? kvp_lsn_before(b->lsn, a->lsn) : a->rec > b->rec;
}

/**
 * __kvp_wbuf_oldest() - true if a version waits for destage; then *@lsn is its place, or a little
 * below that of the oldest: places of packed versions are known about
 *
 * No version that waits lies below *@lsn. Caller holds the lists.
 */
bool __kvp_wbuf_oldest(struct kvp_wbuf *w, kvp_lsn_t *lsn);

/**
 * kvp_wbuf_waits_below() - true if a version below @lsn waits for destage; it may be true if one
 * waits right behind @lsn
 *
 * Versions that a round of destage has taken do not count: the caller keeps rounds away. Context:
 * process.
 */
bool kvp_wbuf_waits_below(struct kvp_wbuf *w, kvp_lsn_t lsn);

/**
 * kvp_wbuf_spill_oldest() - move the oldest version on @logged to @spilled, without its page
 *
 * A discard goes there as it is. Return: false: there is no version, or no memory. Context:
 * process; does not wait. The caller then calls kvp_pool_space().
 */
bool kvp_wbuf_spill_oldest(struct kvp_wbuf *w);

/** kvp_wbuf_spill_failed() - true if there was no memory for the last try to spill */
static inline bool kvp_wbuf_spill_failed(const struct kvp_wbuf *w)
{
	return READ_ONCE(w->spill_failed);
}

/**
 * kvp_wbuf_restore() - add versions that a recovery found in the log, as spilled ones
 * @versions: the newest of each block, in log order, from kzalloc(), LOGGED; emptied
 *
 * They are packed. Return: how many. Context: the buffer is not in use yet.
 */
u32 kvp_wbuf_restore(struct kvp_wbuf *w, struct list_head *versions);

/*
 * Versions that wait for destage: @elevator, then @spilled, then @logged, in log order. Only
 * destage takes from these lists.
 */

#define KVP_WBUF_AT_ONCE	256u	/* versions that move while others wait for the lists */

/**
 * kvp_wbuf_take_spilled_holes() - move up to @max discards below @limit from the head of @spilled
 * to the end of @to
 *
 * Return: how many. Context: destage alone.
 */
u32 kvp_wbuf_take_spilled_holes(struct kvp_wbuf *w, kvp_lsn_t limit, u32 max, struct list_head *to);

/**
 * kvp_wbuf_take_logged() - take up to @max versions below @limit from the head of @logged, if
 * @spilled is empty
 * @data, @holes: versions go to the end of @data, the discards that come before them to the end of
 *	@holes
 * @next: out: the first version that stays, if it is below @limit; or @limit. Unchanged if @logged
 *	is empty
 *
 * Return: how many were taken. Context: destage alone.
 */
u32 kvp_wbuf_take_logged(struct kvp_wbuf *w, kvp_lsn_t limit, u32 max, struct list_head *data,
			 struct list_head *holes, struct kvp_log_at *next);

/**
 * kvp_wbuf_pass_on() - move up to @max versions below @limit from the head of @logged to the end of
 * @spilled, as they are
 *
 * They keep their pages. It stops before a discard, unless @holes. Context: destage alone.
 */
void kvp_wbuf_pass_on(struct kvp_wbuf *w, kvp_lsn_t limit, u32 max, bool holes);

/**
 * kvp_wbuf_take_passed() - move the versions of @logged that were passed to @to
 *
 * Return: how many. Context: destage alone, with the log on legs, where no version is spilled; may
 * sleep.
 */
u32 kvp_wbuf_take_passed(struct kvp_wbuf *w, struct list_head *to);

/**
 * kvp_wbuf_put_spilled() - put @versions before all others on @spilled; empties @versions
 *
 * They are in log order, with or without pages. Context: destage alone.
 */
void kvp_wbuf_put_spilled(struct kvp_wbuf *w, struct list_head *versions);

/**
 * kvp_wbuf_elevator_add() - move up to @max versions below @limit from the head of @spilled to the
 * end of @elevator
 * @first: out: the first of them, which the others follow on their list; NULL: none was moved
 *
 * It stops before a discard. Return: how many. Context: destage alone.
 */
u32 kvp_wbuf_elevator_add(struct kvp_wbuf *w, kvp_lsn_t limit, u32 max, struct kvp_version **first);

/**
 * kvp_wbuf_elevator_put() - put @versions, in log order, into their places on @elevator; empties
 * @versions
 *
 * Context: destage alone; may sleep.
 */
void kvp_wbuf_elevator_put(struct kvp_wbuf *w, struct list_head *versions);

/**
 * __kvp_wbuf_elevator_take() - move @d from @elevator to the end of @to
 *
 * Context: caller holds the lists.
 */
static inline void __kvp_wbuf_elevator_take(struct kvp_wbuf *w, struct kvp_version *d,
					     struct list_head *to)
{
	kvp_wbuf_assert_locked(w);
	list_move_tail(&d->list, to);
	w->nr_spilled--;
}

/**
 * kvp_wbuf_elevator_next() - the version that follows @d on @elevator, or NULL; if @d is NULL, the
 * first one
 *
 * Context: the destage worker, which alone changes @elevator.
 */
static inline struct kvp_version *kvp_wbuf_elevator_next(struct kvp_wbuf *w, struct kvp_version *d)
{
	struct list_head *at = d ? d->list.next : w->elevator.next;

	return at == &w->elevator ? NULL : list_entry(at, struct kvp_version, list);
}

/**
 * kvp_wbuf_pack() - keep only a record of @d, which is on @elevator, if it is plain data, and the
 * only version of its block (packs.h)
 * @replaces: a packed version of the block that is older is outlived, and is dropped: the record of
 *	@d takes the place of its record
 *
 * The caller has made sure that no older version is on @elevator. @d is freed then. Return: false:
 * it stays as it is, and so does the older one. Context: destage alone; does not wait.
 */
bool kvp_wbuf_pack(struct kvp_wbuf *w, struct kvp_version *d, bool replaces);

/** kvp_wbuf_nr_packed() - number of packed versions. Context: any. */
static inline u32 kvp_wbuf_nr_packed(const struct kvp_wbuf *w)
{
	return kvp_packs_nr(&w->packs);
}

/**
 * kvp_wbuf_unpack() - make the packed version of @block a whole one again, and add it to @to
 *
 * It is as it was, with its place in the log, and with what happened to it since. It does not count
 * as spilled on @to. Return: false: there is no memory. Context: destage alone; does not wait.
 */
bool __must_check kvp_wbuf_unpack(struct kvp_wbuf *w, kvp_block_t block, struct list_head *to);

/*
 * What destage asks of packed versions. Only destage adds to them, and takes away. Context: destage
 * alone.
 */

/** kvp_wbuf_find_packed() - kvp_packs_find() */
static inline bool kvp_wbuf_find_packed(struct kvp_wbuf *w, kvp_block_t block,
					struct kvp_packed_rec *r)
{
	return kvp_packs_find(&w->packs, block, r);
}

/** kvp_wbuf_next_packed() - kvp_packs_next() */
static inline bool kvp_wbuf_next_packed(struct kvp_wbuf *w, kvp_block_t from,
					struct kvp_packed_rec *r)
{
	return kvp_packs_next(&w->packs, from, r);
}

/** kvp_wbuf_collect_packed() - kvp_packs_collect() */
static inline bool kvp_wbuf_collect_packed(struct kvp_wbuf *w, struct kvp_packs_walk *walk,
					   kvp_block_t *blocks, u32 max, u32 *n)
{
	return kvp_packs_collect(&w->packs, walk, blocks, max, n);
}

/** kvp_wbuf_oldest_packed() - kvp_packed_places_oldest() */
static inline kvp_lsn_t kvp_wbuf_oldest_packed(const struct kvp_wbuf *w)
{
	return kvp_packed_places_oldest(&w->packs.places);
}

/** kvp_wbuf_packed_part() - kvp_packed_places_part() */
static inline kvp_lsn_t kvp_wbuf_packed_part(const struct kvp_wbuf *w, u32 n)
{
	return kvp_packed_places_part(&w->packs.places, n);
}

/**
 * kvp_wbuf_drop_packed() - drop the packed version of @block, as kvp_wbuf_drop() does
 *
 * Context: destage alone.
 */
void kvp_wbuf_drop_packed(struct kvp_wbuf *w, kvp_block_t block);

/**
 * __kvp_wbuf_first_beyond_elevator() - the first version that is not on @elevator, or NULL
 *
 * Context: caller holds the lists.
 */
static inline struct kvp_version *__kvp_wbuf_first_beyond_elevator(struct kvp_wbuf *w)
{
	kvp_wbuf_assert_locked(w);
	return list_first_entry_or_null(&w->spilled, struct kvp_version, list) ?:
	       list_first_entry_or_null(&w->logged, struct kvp_version, list);
}

/**
 * __kvp_wbuf_first_logged() - the first version that is not spilled, or NULL
 *
 * Context: caller holds the lists.
 */
static inline struct kvp_version *__kvp_wbuf_first_logged(struct kvp_wbuf *w)
{
	kvp_wbuf_assert_locked(w);
	return list_first_entry_or_null(&w->logged, struct kvp_version, list);
}

/**
 * kvp_wbuf_reserve() - fill the reserve of kvp_wbuf_lone_page(). Return: true if it is full.
 * Context: process, may sleep.
 */
bool __must_check kvp_wbuf_reserve(struct kvp_wbuf *w);

/**
 * kvp_wbuf_lone_page() - get a page for a version that was spilled. Return: NULL: there is none.
 * Context: may sleep, but not for I/O.
 */
struct page *kvp_wbuf_lone_page(struct kvp_wbuf *w);
/**
 * kvp_wbuf_lone_page_free() - give such a page back: to the reserve, unless that is full
 *
 * Context: any but interrupt; takes the lock of the lists.
 */
void kvp_wbuf_lone_page_free(struct kvp_wbuf *w, struct page *page);

/**
 * kvp_wbuf_seq() - the last seq: all versions accepted so far have this seq or a lower one
 *
 * Context: any but interrupt; takes the lock of the lists.
 */
u64 kvp_wbuf_seq(struct kvp_wbuf *w);

/** kvp_wbuf_take_seq() - take the next seq, which no version has. Context: any but interrupt. */
u64 kvp_wbuf_take_seq(struct kvp_wbuf *w);

/**
 * kvp_wbuf_discard() - make @count blocks a hole
 * @seq: out: a FLUSH that waits for this seq covers the discard
 *
 * A hole that touches the one that was accepted last becomes part of it, if no version was accepted
 * since, and no entry has it. Return: 0; -ENOMEM; -EAGAIN: too many are pending, or the log has no
 * space for more: try again after kvp_pool_space(). Context: any but interrupt; may sleep for
 * memory.
 */
int __must_check kvp_wbuf_discard(struct kvp_wbuf *w, kvp_block_t block, u32 count, u64 *seq);

/**
 * kvp_wbuf_find() - find the newest version of @block, and lock its bucket; NULL: there is none,
 * and nothing is locked
 *
 * Release with kvp_wbuf_unlock(). It never returns holes: see kvp_wbuf_in_hole(). Context: any but
 * interrupt.
 */
struct kvp_version *kvp_wbuf_find(struct kvp_wbuf *w, kvp_block_t block);
void kvp_wbuf_unlock(struct kvp_wbuf *w, kvp_block_t block);

/**
 * kvp_wbuf_any() - true if any of the blocks may be in the buffer or in a pending hole. Any but
 * interrupt.
 */
bool kvp_wbuf_any(struct kvp_wbuf *w, kvp_block_t block, u32 count);

/**
 * kvp_wbuf_in_hole() - true if @block is in a pending hole. Ask only after kvp_wbuf_find() found
 * nothing. What the caller then reads of the table comes after this: it knows a hole that is gone.
 */
bool kvp_wbuf_in_hole(struct kvp_wbuf *w, kvp_block_t block);

/**
 * __kvp_wbuf_up_to_hole() - how many of @count blocks, from @block on, come before any pending hole
 *
 * Caller holds the lists.
 */
u32 __kvp_wbuf_up_to_hole(struct kvp_wbuf *w, kvp_block_t block, u32 count);

/**
 * kvp_wbuf_drop() - the version is home or superseded: take it out of the hash table, and free its
 * page
 */
void kvp_wbuf_drop(struct kvp_wbuf *w, struct kvp_version *d);

/** kvp_wbuf_drop_list() - kvp_wbuf_drop() for a list; wakes waiters for space once */
void kvp_wbuf_drop_list(struct kvp_wbuf *w, struct list_head *list);

/**
 * kvp_wbuf_advance() - set a state beyond COMMITTING
 *
 * No reader needs the exact one, so it takes no lock.
 */
static inline void kvp_wbuf_advance(struct kvp_version *d, enum kvp_version_state state)
{
	WRITE_ONCE(d->state, state);
}

/**
 * kvp_wbuf_is_outdone() - true if there is a newer version of the block, or a newer discard
 *
 * It has its place in the order then: kvp_wbuf_take_seq() gives a later one. @d must be an intent:
 * no discard of its block was pending when it was built, so each that is pending is newer. Context:
 * any but interrupt; takes the bucket's lock.
 */
bool kvp_wbuf_is_outdone(struct kvp_wbuf *w, const struct kvp_version *d);

/**
 * kvp_wbuf_fix() - make the versions on the list COMMITTING: from now on a rewrite makes a new
 * version
 */
void kvp_wbuf_fix(struct kvp_wbuf *w, struct list_head *versions);

/** kvp_wbuf_unfix() - a commit failed: make the versions on the list BUFFERED again */
void kvp_wbuf_unfix(struct kvp_wbuf *w, struct list_head *versions);

/** kvp_wbuf_superseded() - true if there is a newer version. True does not change any more. */
static inline bool kvp_wbuf_superseded(const struct kvp_version *d)
{
	return READ_ONCE(d->superseded);
}

/**
 * kvp_wbuf_passed() - true if an intent passed it: a newer version is home. True does not change
 * any more.
 */
static inline bool kvp_wbuf_passed(const struct kvp_version *d)
{
	return READ_ONCE(d->passed);
}

/** kvp_wbuf_nr_passed() - how many versions were passed, and are not dropped yet. Any context. */
static inline u32 kvp_wbuf_nr_passed(const struct kvp_wbuf *w)
{
	return atomic_read(&w->nr_passed);
}

/**
 * __kvp_wbuf_outlived() - kvp_wbuf_outlived() of a version that is superseded, but was not passed
 *
 * Caller holds the block's range lock. Context: any but interrupt; takes the bucket's lock, or that
 * of the lists.
 */
bool __kvp_wbuf_outlived(struct kvp_wbuf *w, struct kvp_version *d);

/**
 * kvp_wbuf_outlived() - true if a newer version of @d's block is durable, other than by an open
 * intent
 *
 * Then @d need not go home: its record may retire (R2). If it was passed, it must not go home.
 * Caller holds the block's range lock.
 */
static inline bool kvp_wbuf_outlived(struct kvp_wbuf *w, struct kvp_version *d)
{
	return kvp_wbuf_superseded(d) && (kvp_wbuf_passed(d) || __kvp_wbuf_outlived(w, d));
}

#endif /* KVP_WBUF_H */
