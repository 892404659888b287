/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The log: commits in flight, what is durable, and where the tail is.
 *
 * The request path puts versions into the write buffer, and waits for durability with
 * kvp_commit_wait_async(). The log takes versions from the buffer into entries, writes them,
 * answers the waiters, and hands the versions on: data to destage, intents to the direct workers. A
 * checkpoint frees the space behind them (kvp_log_retire()). The log knows no pool: struct
 * kvp_log_given names all that it uses. It calls the floors above through struct kvp_log_client.
 *
 * The files:
 *   commit.c      when an entry is built, and what follows when it ends; the list of steps
 *   build.c       what an entry takes from the buffer
 *   flush.c       waiters for durability; some must wait for more than the log
 *   append.c      entries that take nothing from the buffer: parity (parity.c), clean blocks
 *   room.c        space that is kept for parity
 *   rows.c        entries on a cache of kind parity1; joined.c: two entries in one request
 *   slices.c      intents on their way home; again.c: those that must become data again
 *   log.c         start and stop, space, the tail, closing of intents
 *   renew.c       which dirty blocks near the tail must be appended again
 *   move.c        the log moves to other legs; spill.c: versions without pages
 *
 * Locks: build_lock is a mutex. Its holder is the only one that builds and sends entries. Inside
 * it, log->lock (irqsave) protects queues and positions; completions take it, too. checkpoint_lock
 * is outside of both. Code that holds log->lock calls nothing that sleeps, and answers waiters
 * after it has released the lock.
 *
 * commit_wq runs commits, post_work and flush_work. They must never wait for work_wq, where destage
 * runs, since destage waits for commits.
 *
 * A position (lsn) counts blocks since the log began, and only grows. The place on a leg is the
 * position modulo the log's size. kvp_log_vdev() says which vdev has a position: all copies of an
 * entry are on one vdev. At most KVP_ENTRIES entries are in flight. They become durable in order.
 */
#ifndef KVP_LOG_H
#define KVP_LOG_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "core/core.h"
#include "core/log_mark.h"
#include "core/log_ops.h"
#include "format/format.h"
#include "format/logplace.h"
#include "format/logstripe.h"
#include "io/io.h"
#include "log/spill.h"

struct kvp_version;
struct kvp_home;
struct kvp_log_new;
struct kvp_log_rows;
struct kvp_parity_append;
struct kvp_reload;
struct kvp_table;
struct kvp_vdev;
struct kvp_wbuf;
struct page;

#define KVP_ENTRIES		8	/* all together are shorter than KVP_LOG_UNWITNESSED */
#define KVP_ENTRY_MAX_RECORDS \
	((KVP_MAX_HDR_BLOCKS * KVP_BLOCK_SIZE - KVP_LOG_HDR_SIZE) / sizeof(struct kvp_disk_rec))
#define KVP_ENTRY_MAX_DATA	238	/* so that a header of data records is one block */
#define KVP_ENTRY_MAX_INTENTS	3840	/* 15 MiB; with all data records the header is 16 blocks */
#define KVP_DIRECT_WORKERS	4
#define KVP_MIRROR_WORKERS	2	/* so many, if all data is on one vdev without parity */
#define KVP_DIRECT_SLICES	8
#ifndef KVP_DIRECT_ROWS		/* the simulator has small pools */
/* least number of rows of a slice, which goes on to the end of a stripe: 1 MiB for each leg */
#define KVP_DIRECT_ROWS		256
#endif
#ifndef KVP_MANY_INTENTS	/* simulation */
/* 512 MiB; a recovery reads all of them: see kvp_log_most_intents() */
#define KVP_MANY_INTENTS	(1u << 17)
#endif
#define KVP_MOST_APART		4	/* for so many vdevs; see kvp_log_most_intents() */
#define KVP_MOST_INTENTS	(KVP_MOST_APART * KVP_MANY_INTENTS)
#define KVP_MILESTONES		256	/* places: the log holds half as many at most */

/** enum kvp_log_cause - why blocks were written to a log; for statistics */
enum kvp_log_cause {
	KVP_LOG_DATA,		/* that users wrote */
	KVP_LOG_HEADERS,
	KVP_LOG_PARITY,		/* of rows at home of a parity1, and of rows of the log itself */
	KVP_LOG_FILLS,		/* clean blocks that were read from home */
	KVP_LOG_AGAIN,		/* clean blocks of the cache that the log was about to overwrite */
	KVP_LOG_RENEWED,	/* dirty blocks, to let the tail pass (renew.h) */
	KVP_LOG_CAUSES
};

enum kvp_entry_phase {
	KVP_ENTRY_FREE,
	KVP_ENTRY_WRITING,	/* being written to the legs */
	KVP_ENTRY_ENDED,	/* every copy has ended */
};

/**
 * struct kvp_entry_io - an entry in flight
 * @list: on log->in_flight, then log->finished, in lsn order; by log->lock
 * @hdr: its header, in the processor's byte order
 * @hdr_buf: KVP_MAX_HDR_BLOCKS pages for header and records, from vmalloc()
 * @hdr_written: bytes of @hdr_buf that may not be zeros
 * @v: the vdev that the entry is written to
 * @pages: header and payload in order, for the I/O
 * @versions: the versions it records, in order
 * @last_seq: everything accepted up to here is in this entry or an earlier one
 * @pending: number of copies that are still being written, and 1 while they are submitted
 * @sent, @failed: bit per leg of @v: its part was submitted, its part failed. A part is a copy of
 *	all, except on a cache of kind parity1
 * @extra: of @sent: legs that resilver; their parts do not count
 * @needed: number of legs that must take their part for the entry to be durable
 * @renewed: number of its data blocks that are renewed ones (renew.h)
 * @reserved: rows for which its records reserve log space, for their parity (room.c)
 * @budget: number of blocks from its place to the place where the log is full
 * @wanted: a caller waits for all that was accepted up to here
 * @tight: what is reserved for parity may end it early: kvp_log_leaves_room() decides
 * @only_streams: a block may become an intent only if it was accepted as one of a stream
 * @goes_round: a stream goes round what the cache has, and decides for each part whether it pays
 * @keeps: blocks of this part that are in the cache stay there: they do not become intents
 * @part_end: the seq of the last block of this part; 0: no part has begun
 * @may_wait: blocks of a stream stay in the buffer until there is a place for an open intent
 * @over: an intent may be written home before fewer older versions of its block than this
 * @least_run, @least_wanted: the least length, in blocks, of a run of intents that no caller waits
 *	for, or that one waits for
 * @direct: its intents; NULL: it holds none
 * @joined: the next entry, if it is sent with this one (joined.c)
 * @of: its versions were intents of this entry, and became data again (again.c); or NULL
 * @due: it was built since kvp_commit_now() was called, or the interval was over
 * @rest_waits: the last part of a stream was left for a later entry, though there was room
 * @appended: it takes nothing from the buffer (append.c)
 * @append: the waiter for its parity; NULL: it holds none
 * @clean: it holds blocks for the SSD cache, and nothing else
 * @dropped: clean, and its blocks were dropped while it was on log->finished; by log->lock
 * @again: number of those that were in the cache before
 * @ios: one for each leg of @v
 */
struct kvp_entry_io {
	struct kvp_log *log;
	struct list_head list;
	enum kvp_entry_phase phase;
	struct kvp_log_hdr hdr;
	void *hdr_buf;
	struct page *hdr_pages[KVP_MAX_HDR_BLOCKS];
	u32 hdr_written;
	struct kvp_vdev *v;
	struct page *pages[KVP_MAX_ENTRY_BLOCKS];
	struct list_head versions;
	u64 last_seq, wanted;
	u32 data, intents, records, renewed;
	u32 most_data;			/* so many blocks of data it may have */
	u32 reserved;
	u64 budget;
	atomic_t pending;
	unsigned long sent, extra, failed;
	u32 needed;
	bool tight, only_streams, goes_round, keeps, may_wait;
	u64 part_end;
	u32 over, least_run, least_wanted;
	struct kvp_direct *direct;
	struct kvp_entry_io *joined;
	struct kvp_direct *of;
	bool due;
	bool rest_waits;
	bool appended;
	struct kvp_parity_append *append;
	bool clean, dropped;
	u32 again;
	struct kvp_io ios[KVP_MAX_MIRROR_LEGS];
};

enum kvp_direct_phase {
	KVP_DIRECT_FREE,
	KVP_DIRECT_COMMITTING,	/* the intents are not yet durable */
	KVP_DIRECT_READY,	/* durable: the blocks may go home */
	KVP_DIRECT_HOMING,
	KVP_DIRECT_HOME,	/* home, but perhaps not flushed */
	/*
	 * a leg is out, and none of the versions that are left was written home: they become data
	 * (again.c)
	 */
	KVP_DIRECT_WITHDRAWN,
	KVP_DIRECT_BUFFERED,	/* the same, and the tail has passed the entry */
};

/**
 * struct kvp_direct - the intents of one entry, until they are durable at home
 * @list: on log->open, in lsn order; by log->lock
 * @mark: place of the entry. The tail does not pass it before the intents are home or withdrawn
 * @behind: place behind the entry. The tail may move there if they are withdrawn
 * @versions: the versions that go home
 * @slices: parts of @versions for several workers, while the phase is KVP_DIRECT_HOMING
 * @nr_slices: number of slices; 0 while a worker cuts them
 * @taken: number of slices that workers have taken so far; by log->lock
 * @in_hand: number of slices that workers still have; by log->lock
 * @failed: a slice is not home, so all begin anew; by log->lock
 * @logged_again: if withdrawn: number of entries in flight with versions of this one; by log->lock
 * @seq: if withdrawn: when all that was accepted up to here is durable, its superseded versions can
 *	be dropped; 0: it waits for nothing. By build_lock
 */
struct kvp_direct {
	struct list_head list;
	enum kvp_direct_phase phase;
	struct kvp_log_mark mark, behind;
	struct list_head versions;
	struct list_head slices[KVP_DIRECT_SLICES];
	u32 nr_slices, taken, in_hand;
	bool failed;
	u32 logged_again;
	u64 seq;
};

/**
 * struct kvp_waiter - a wait for durability
 * @list: on log->waiters in order of @seq; by log->lock
 * @seq: everything accepted up to here must be durable
 * @lsn: intents below it must be home and flushed; internal
 * @poisonings: so much poison was known when the log was durable, and must be durable, too;
 *	internal
 * @flushed: @lsn and @poisonings are done; internal
 * @internal: code of the pool waits, not a request. It never waits for legs to come back
 * @done: called once with 0, -EIO or -EAGAIN (kvp_commit_requeue()), from any
 *	context
 */
struct kvp_waiter {
	struct list_head list;
	u64 seq;
	kvp_lsn_t lsn;
	u32 poisonings;
	bool flushed;
	bool internal;
	void (*done)(struct kvp_waiter *w, int error);
};

/* Writes intents home. work/direct.c sets it up, and @of is its own. */
struct kvp_direct_worker {
	void *of;
	struct work_struct work;
	struct kvp_home *home;
};

/**
 * struct kvp_log_client - the functions of the floors above that the log calls
 * @destage: start destage if it is time, or @now (kvp_destage_kick()). Any context.
 * @space: buffer pages or log space are free (kvp_pool_space()). Any context.
 * @settle: wait until every loss is recorded (kvp_members_settle()). Context: process.
 * @flush: flush all legs that have homes (kvp_legs_flush()). Context: process.
 * @poison: make poison in the table durable soon, and then call kvp_flush_kick(). Any context.
 * @fail_leg: @leg did not take its part of an entry (kvp_leg_fail())
 * @checkpoint: make the table durable, and with the same superblock begin the empty log @to at
 *	@head (kvp_checkpoint_anew())
 * @resumed: an entry is durable after others had failed. Any context.
 * @commit_failed: too few legs took an entry. Any context.
 * @moved: the log is on @v now, and perhaps on other vdevs, too. It moved @by_order, or because the
 *	cache was lost
 *
 * What concerns a cache goes through @vdevs->cache_client instead.
 */
struct kvp_log_client {
	void (*destage)(void *of, bool now);
	void (*space)(void *of);
	int (*settle)(void *of);
	int (*flush)(void *of);
	void (*poison)(void *of);
	bool (*fail_leg)(void *of, struct kvp_leg *leg);
	int (*checkpoint)(void *of, const struct kvp_log_mark *head, struct kvp_log_new *to);
	void (*resumed)(void *of);
	void (*commit_failed)(void *of);
	void (*moved)(void *of, const struct kvp_vdev *v, bool by_order);
};

/**
 * struct kvp_log_given - what a log gets at its init
 * @vdevs: the pool's vdevs, some of which carry the log; vdevs->sb has its tail and its nonce
 * @wbuf: the log takes versions from here, and puts them back after a failure
 * @table: knows which poison is durable
 * @flags: of enum kvp_pool_flags
 * @failure, @losses: how the pool fails, and whether all losses are recorded
 * @durable_epoch: of the newest durable superblock; READ_ONCE
 * @checkpoint_lock: the pool's
 * @commit_wq: for commits, and for all work after them; it must not wait for destage
 * @work_wq: for direct writes, and for moves of the log
 * @of: argument of all calls of @client
 */
struct kvp_log_given {
	struct kvp_vdevs *vdevs;
	struct kvp_wbuf *wbuf;
	struct kvp_table *table;
	const u64 *tunables;
	const unsigned long *flags;
	struct kvp_failure *failure;
	const struct kvp_losses *losses;
	const u64 *durable_epoch;
	struct mutex *checkpoint_lock;
	struct workqueue_struct *commit_wq, *work_wq;
	const struct kvp_log_client *client;
	void *of;
};

struct kvp_log {
	/* These come from struct kvp_log_given. */
	struct kvp_vdevs *vdevs;
	struct kvp_wbuf *wbuf;
	struct kvp_table *table;
	const u64 *tunables;
	const unsigned long *flags;
	struct kvp_failure *failure;
	const struct kvp_losses *losses;
	const u64 *durable_epoch;
	struct mutex *checkpoint_lock;
	struct workqueue_struct *commit_wq, *work_wq;
	const struct kvp_log_client *client;
	void *of;
	struct kvp_seed seed;		/* for sums of data */

	u64 nonce;
	struct kvp_entry_io *entries;		/* KVP_ENTRIES of them */
	struct kvp_reload *reload;		/* of a pool with a cache (spill.h); by destage */
	struct kvp_log_rows *rows;		/* NULL if there is no cache of kind parity1 */
	atomic_t readers_pages;		/* with contents of spilled versions (spilled.c) */
	struct kvp_direct directs[KVP_MAX_OPEN_INTENTS];
	struct kvp_direct_worker workers[KVP_DIRECT_WORKERS];

	struct mutex build_lock;		/* one builder at a time */
	/* sealed, and kept to be sent with the next one (joined.c); by build_lock */
	struct kvp_entry_io *unsent;
	struct kvp_log_mark head;		/* place of the next entry; by build_lock */

	spinlock_t lock;			/* irqsave; for all below */
	struct kvp_log_mark durable;		/* behind the last durable entry */
	kvp_lsn_t witnessed;	/* headers may say that the log is durable up to here */
	kvp_lsn_t tail;		/* of the last checkpoint: space before it is free */
	u64 built_seq, durable_seq;	/* what came up to here is in an entry; is durable */
	struct list_head in_flight;
	struct list_head finished;		/* durable entries whose versions must move on */
	struct list_head open;			/* intents not known to be durable at home */
	u32 nr_open;
	u32 withdrawn;		/* number of @open that are withdrawn or buffered (again.c) */
	bool again_stuck;	/* withdrawn ones wait until the tail has passed them */
	u64 again_seq;		/* they wait until all up to this is durable; by build_lock */
	struct list_head waiters;
	/* durable in the log; but intents, poison or a loss must become durable first */
	struct list_head flush_waiters;
	bool due;	/* commit an entry of what is buffered: kvp_commit_now() */
	u64 due_seq;	/* commit all up to this: it was accepted when the interval was over */
	u64 overdue_seq;	/* the due_seq of the interval before */
	bool stream_waits;	/* a stream waited for a place when the builder looked last */
	bool closing;				/* intents that are home are about to be closed */
	bool full;				/* no space: destage must free some */
	bool stopped;				/* nothing more is built */
	bool held;		/* nothing is built while the log moves in good order (move.h) */
	/* the tail, plus 1, at which renewal did not get on; by destage (renew.h) */
	kvp_lsn_t renew_stuck;
	bool streams_pass;	/* kvp_log_lets_streams_pass(); by build_lock */
	u64 squeeze;	/* while the log is emptied: blocks that users may take; 0: all */
	u64 narrow;	/* while the window changes: kvp_log_narrow(); by build_lock */
	u64 shrinks;	/* while the window is to become smaller: kvp_log_shrink() */
	u32 batch;	/* so many buffered blocks are committed without a request for it */
	bool requeue;				/* a noflush suspend: no request waits for legs */
	kvp_lsn_t redo;				/* place of an entry that failed; by build_lock */
	u64 rewound;			/* no header has a time before this second; by build_lock */

	/* For a parity1 (room.c), by lock. */
	u32 *reserved_of;	/* by segment: rows whose parity the log must have room for */
	u32 reserved;				/* the sum over all segments */
	wait_queue_head_t entry_wait;		/* for a free entry, or the end of a move */

	struct kvp_log_mark logged;	/* behind the last entry on wbuf->logged; by wbuf->lock */
	/* as @logged, for entries that hold more than clean blocks; by wbuf->lock */
	kvp_lsn_t counts;
	/* earlier values of @logged; by wbuf->lock */
	struct kvp_log_mark milestones[KVP_MILESTONES];
	u32 nr_milestones;		/* noted so far; the place is this modulo KVP_MILESTONES */

	/* the new log that the next checkpoint begins; by sb_lock, changed under checkpoint_lock */
	struct kvp_log_new *next;
	/* where an order moves it to (move.h); by checkpoint_lock */
	struct kvp_log_new *plan;
	struct work_struct commit_work, flush_work, move_work;
	struct delayed_work post_work, interval_work;
	unsigned long armed;			/* bit 0: interval_work is queued */

	u64 tail_intents;			/* the tail's count of intents, as in a mark */
	u64 resolved_intents;			/* that of log_resolved; by checkpoint_lock */
	u64 commits, flushes, data_blocks, intent_blocks;	/* statistics, by lock */
	/* statistics of a log on a cache: blocks to each SSD; parity1: to all SSDs together */
	u64 ssd_blocks[KVP_LOG_CAUSES];
};

/**
 * kvp_log_rows_alloc() - memory for entries on a cache of kind parity1
 * @rows: result; NULL: the pool has no such cache
 *
 * kvp_log_rows_free() - free it; NULL: nothing. No entry is in flight.
 *
 * Return: 0 or -ENOMEM. Context: process, may sleep.
 */
int __must_check kvp_log_rows_alloc(const struct kvp_log *log, struct kvp_log_rows **rows);
void kvp_log_rows_free(struct kvp_log_rows *rows);

/** kvp_log_rows_bytes() - bytes of that memory. Context: as a reader of stats. */
u64 kvp_log_rows_bytes(const struct kvp_log *log);

/**
 * kvp_log_lay_rows() - lay a sealed entry out on the legs of a cache of kind parity1, and make its
 * parity
 * @entry: its number, below KVP_ENTRIES. The memory of that entry is in use until it is written
 * @pages: header and payload in order, @nr blocks
 * @ios: one for each leg, of zeros; receives place and pages
 *
 * Return: the number of legs that must take their part for the entry to be durable. Context:
 * process.
 */
u32 kvp_log_lay_rows(const struct kvp_log *log, u32 entry, const struct kvp_vdev *v,
		     const struct kvp_log_hdr *h, struct page **pages, u32 nr, struct kvp_io *ios);

/** kvp_log_lay_copies() - the same for a log whose legs all get the whole entry of @nr blocks */
u32 kvp_log_lay_copies(const struct kvp_log *log, u32 entry, const struct kvp_vdev *v,
		       const struct kvp_log_hdr *h, struct page **pages, u32 nr,
		       struct kvp_io *ios);

/**
 * kvp_log_place_in_rows() - the header of @e is known: note where the contents of its versions lie
 * in rows of @v
 */
void kvp_log_place_in_rows(const struct kvp_vdev *v, struct kvp_entry_io *e);

/* kvp_log_ops.quick_data of a log on legs */
#define KVP_LOG_QUICK_DATA	62u

/**
 * kvp_log_plan_runs() - operations of a log on legs; core/log_ops.h says what each does, and its
 * context
 *
 * - plan_intents: kvp_log_plan_runs(); with parity kvp_log_plan_runs_in_order()
 * - has_room: kvp_log_has_room(); with parity kvp_log_has_room_for_parity()
 * - count: kvp_log_count_nothing()
 * - reserve: kvp_log_reserve_nothing(); with parity kvp_log_reserve_parity()
 * - most_holes: kvp_log_usual_holes(); with parity kvp_log_holes_with_parity()
 * - resolved: __kvp_log_resolved_of_copies(); with parity __kvp_log_resolved_with_parity()
 * - may_stay: kvp_log_goes_home(); renew_kept: kvp_log_keeps_nothing(); may_renew and renews:
 *   kvp_log_never_renews()
 * - spill: kvp_log_spills_nothing(); read_spilled: kvp_log_has_all_pages()
 * - lost: kvp_log_is_never_lost(); refuge: kvp_log_stays_there(); arrived: kvp_log_ends_loss()
 */
void kvp_log_plan_runs(struct kvp_log *log, struct kvp_entry_io *e);
void kvp_log_plan_runs_in_order(struct kvp_log *log, struct kvp_entry_io *e);
bool kvp_log_has_room(struct kvp_log *log, struct kvp_entry_io *e);
bool kvp_log_has_room_for_parity(struct kvp_log *log, struct kvp_entry_io *e);
void kvp_log_count_nothing(struct kvp_log *log, const struct kvp_entry_io *e);
u64 kvp_log_reserve_nothing(const struct kvp_log *log, u32 rows);
u64 kvp_log_reserve_parity(const struct kvp_log *log, u32 rows);
u32 kvp_log_usual_holes(const struct kvp_log *log);
u32 kvp_log_holes_with_parity(const struct kvp_log *log);
void __kvp_log_resolved_of_copies(const struct kvp_log *log, struct kvp_log_mark *mark);
void __kvp_log_resolved_with_parity(const struct kvp_log *log, struct kvp_log_mark *mark);
bool kvp_log_goes_home(const struct kvp_log *log);
u64 kvp_log_keeps_nothing(const struct kvp_log *log);
bool kvp_log_never_renews(const struct kvp_log *log);
bool kvp_log_spills_nothing(struct kvp_log *log);
struct kvp_spilled_read *kvp_log_has_all_pages(struct kvp_log *log, kvp_block_t block, u32 count,
					       kvp_block_t *end);
bool kvp_log_is_never_lost(const struct kvp_vdevs *vdevs);
struct kvp_vdev *kvp_log_stays_there(struct kvp_vdevs *vdevs, struct kvp_vdev *v);
bool kvp_log_ends_loss(struct kvp_vdevs *vdevs);

/**
 * kvp_log_plan_streams() - operations of a log on a cache, as above (cache.c, renew.c)
 *
 * - plan_intents: kvp_log_plan_streams(); with parity kvp_log_plan_streams_in_order()
 * - count: kvp_log_count_causes()
 * - may_stay: kvp_log_of_cache_may_stay(); renew_kept: kvp_log_of_cache_renew_kept(); may_renew:
 *   kvp_log_of_cache_may_renew(); renews: kvp_log_of_cache_renews()
 * - lost: kvp_log_of_cache_lost(); refuge: kvp_log_of_cache_refuge(); arrived:
 *   kvp_log_of_cache_arrived()
 */
void kvp_log_plan_streams(struct kvp_log *log, struct kvp_entry_io *e);
void kvp_log_plan_streams_in_order(struct kvp_log *log, struct kvp_entry_io *e);
void kvp_log_count_causes(struct kvp_log *log, const struct kvp_entry_io *e);
bool kvp_log_of_cache_may_stay(const struct kvp_log *log);
u64 kvp_log_of_cache_renew_kept(const struct kvp_log *log);
bool kvp_log_of_cache_may_renew(const struct kvp_log *log);
bool kvp_log_of_cache_renews(const struct kvp_log *log);
bool kvp_log_of_cache_lost(const struct kvp_vdevs *vdevs);
struct kvp_vdev *kvp_log_of_cache_refuge(struct kvp_vdevs *vdevs, struct kvp_vdev *v);
bool kvp_log_of_cache_arrived(struct kvp_vdevs *vdevs);

/** kvp_log_place_in_order() - the contents lie one after the other, and this is noted already */
void kvp_log_place_in_order(const struct kvp_vdev *v, struct kvp_entry_io *e);

/**
 * struct kvp_log_memory - memory of the log that depends on the vdevs of the pool
 * @reserved_of: by segment: rows whose parity the log must have room for
 * @rows: from kvp_log_rows_alloc()
 * @reload: from kvp_reload_alloc(), if the log can be where versions spill; else NULL
 */
struct kvp_log_memory {
	u32 *reserved_of;
	struct kvp_log_rows *rows;
	struct kvp_reload *reload;
};

/**
 * kvp_log_memory_alloc() - fill in @m, for the vdevs that the pool has now.
 *
 * Return: 0 or -ENOMEM. May sleep.
 */
int __must_check kvp_log_memory_alloc(struct kvp_log *log, struct kvp_log_memory *m);

/**
 * kvp_log_memory_swap() - exchange @m for what the log has.
 *
 * Context: the pool is quiesced, and the log empty.
 */
void kvp_log_memory_swap(struct kvp_log *log, struct kvp_log_memory *m);

/** kvp_log_memory_free() - free the memory of @m, which is zeros then. May sleep. */
void kvp_log_memory_free(struct kvp_log_memory *m);

/**
 * kvp_log_forget_cache() - the pool has no cache any more: free the memory for it.
 *
 * Context: the pool is quiesced.
 */
void kvp_log_forget_cache(struct kvp_log *log);

/**
 * kvp_log_spills() - true if the pool has a cache: then versions may give their pages back, and
 * only the log has their contents (spill.h)
 */
static inline bool kvp_log_spills(const struct kvp_log *log)
{
	return log->reload;
}

/**
 * kvp_log_init() - begin with an empty log, which is not started
 *
 * Return: 0; -ENOMEM: nothing needs to be freed. Context: process; vdevs and superblock are known.
 */
int __must_check kvp_log_init(struct kvp_log *log, const struct kvp_log_given *given);

/** kvp_log_exit() - free all memory of a log that has stopped, or that was never initialised */
void kvp_log_exit(struct kvp_log *log);

/**
 * kvp_log_start() - begin to append at @head of the log with this @nonce; its tail is in the
 * superblock
 */
void kvp_log_start(struct kvp_log *log, u64 nonce, const struct kvp_log_mark *head);

/** kvp_log_begin() - use the empty log that vdevs->sb names. The pool is quiesced. */
void kvp_log_begin(struct kvp_log *log);

/**
 * kvp_log_stop() - build nothing more, and let running work end; kvp_log_unstop() goes on
 *
 * Destage must have stopped. A round may log parity, and has checkpoint_lock, which this takes
 * (kvp_log_move_cancel()). Context: process; waits for I/O, idle.
 */
void kvp_log_stop(struct kvp_log *log);
void kvp_log_unstop(struct kvp_log *log);

/** kvp_log_idle() - true if buffer, log and table hold nothing that the last checkpoint lacks */
bool kvp_log_idle(struct kvp_log *log);

/** kvp_direct_collect() - put all slices back into @b->versions. No worker has a slice. */
void kvp_direct_collect(struct kvp_direct *b);

/**
 * kvp_direct_next() - the oldest intents with blocks left to write home
 * @slice: result: a slice, which is the caller's until kvp_direct_end_slice(); NULL: the caller
 *	must cut @b->versions into slices first, and then call kvp_direct_cut()
 *
 * Return: @b; NULL: there is nothing to do. Context: process; takes log->lock.
 */
struct kvp_direct *kvp_direct_next(struct kvp_log *log, struct list_head **slice);

/**
 * kvp_direct_cut() - @b was cut into @n slices, and workers may take them.
 *
 * Context: process; takes log->lock.
 */
void kvp_direct_cut(struct kvp_log *log, struct kvp_direct *b, u32 n);

/**
 * kvp_direct_end_slice() - a slice is home, or, if @failed, it is not
 *
 * After the last one, if none failed, @b waits for a flush, and may be closed any time. If some
 * failed, all of @b begins anew. If there are versions left, and none failed, @b is withdrawn:
 * kvp_log_again().
 *
 * Return: true if that was the last one, and all are home. Context: process; takes log->lock.
 */
bool kvp_direct_end_slice(struct kvp_log *log, struct kvp_direct *b, bool failed);

/**
 * kvp_log_again() - get on with intents that are withdrawn, if there are any (again.c)
 *
 * Context: process; not under log->build_lock. May send entries, waits for no I/O.
 */
void kvp_log_again(struct kvp_log *log);

/** kvp_log_again_stuck() - true if the tail must pass withdrawn intents. Any context. */
static inline bool kvp_log_again_stuck(const struct kvp_log *log)
{
	return READ_ONCE(log->again_stuck);
}

/** kvp_direct_worker() - worker @i, below KVP_DIRECT_WORKERS; work/direct.c sets them up */
static inline struct kvp_direct_worker *kvp_direct_worker(struct kvp_log *log, u32 i)
{
	return &log->workers[i];
}

/**
 * kvp_direct_slice() - versions of a slice; 0 without parity
 *
 * A slice goes up to the end of a stripe, so it may have a few more. It is large, since each leg
 * gets one request for it: a disk that seeks takes nearly as long for half of that.
 */
u32 kvp_direct_slice(const struct kvp_log *log);

/** kvp_direct_kick() - let workers write intents home that are ready */
void kvp_direct_kick(struct kvp_log *log);

/**
 * kvp_log_lock_build() - nothing is built until kvp_log_unlock_build().
 *
 * Context: process; takes log->build_lock.
 */
static inline void kvp_log_lock_build(struct kvp_log *log)
	__acquires(&log->build_lock)
{
	mutex_lock(&log->build_lock);
}

/** kvp_log_assert_build() - lockdep: the caller, or the log that called it, holds build_lock */
static inline void kvp_log_assert_build(const struct kvp_log *log)
{
	lockdep_assert_held(&log->build_lock);
}

/**
 * kvp_log_unlock_build() - release log->build_lock, and look again whether to build an entry
 *
 * A caller that found the lock taken relies on the second look (kvp_commit_kick()). Context:
 * process; may send an entry.
 */
void kvp_log_unlock_build(struct kvp_log *log);

/**
 * kvp_log_include() - entries go to @leg, which resilvers, from now on
 * @nonce: receives the log's nonce
 *
 * Return: the first lsn from which on @leg has everything, as long as the log keeps its nonce. A
 * new log goes to @leg as a whole. Context: process; takes build_lock.
 */
kvp_lsn_t kvp_log_include(struct kvp_log *log, struct kvp_leg *leg, u64 *nonce);

/**
 * kvp_post_kick() - let durable versions move on now, not with those of the next entries. Any
 * context.
 */
static inline void kvp_post_kick(struct kvp_log *log)
{
	mod_delayed_work(log->commit_wq, &log->post_work, 0);
}

/**
 * kvp_post_flush() - wait until all versions known to be durable have moved on.
 *
 * Context: process.
 */
static inline void kvp_post_flush(struct kvp_log *log)
{
	flush_delayed_work(&log->post_work);
}

/**
 * kvp_flush_kick() - intents were written home, or legs came back: look again at FLUSHes that wait
 * for that. Any context.
 */
static inline void kvp_flush_kick(struct kvp_log *log)
{
	queue_work(log->commit_wq, &log->flush_work);
}

/**
 * kvp_log_limit_buffered() - head or tail have moved: set the limit of buffered blocks, so that a
 * FLUSH finds space for them
 */
void kvp_log_limit_buffered(struct kvp_log *log);

/**
 * kvp_commit_keep_none() - with @on, no request waits for legs from now on; without, they may again
 *
 * A noflush suspend calls it as it begins and as it ends. Any context.
 */
static inline void kvp_commit_keep_none(struct kvp_log *log, bool on)
{
	WRITE_ONCE(log->requeue, on);
}

/** kvp_commit_requeue() - answer all waiting requests with -EAGAIN (noflush suspend) */
void kvp_commit_requeue(struct kvp_log *log);

/**
 * kvp_commit_kick() - a write was accepted, or a waiter came: commit if it is time
 * @may_build: the caller may sleep for memory, so build the entry here
 *
 * A FLUSH is faster by one wake-up if map itself builds the entry.
 */
void kvp_commit_kick(struct kvp_log *log, bool may_build);

/**
 * kvp_commit_written() - a write was accepted that waits for nothing: commit if enough is buffered
 *
 * At the end of an interval the log's own work commits entry after entry, and gives writers their
 * turns in between. A writer would build one with each few writes. Context: as kvp_commit_kick().
 */
void kvp_commit_written(struct kvp_log *log);

/**
 * kvp_commit_wait_async() - call w->done when everything accepted up to w->seq is durable
 *
 * May call it at once. Context: any but hard interrupt.
 */
void kvp_commit_wait_async(struct kvp_log *log, struct kvp_waiter *w);

/** kvp_commit_now() - do not wait for the interval: the next kick commits an entry */
void kvp_commit_now(struct kvp_log *log);

/** kvp_commit_sync() - make everything accepted so far durable; 0 or -EIO. May wait for I/O. */
int __must_check kvp_commit_sync(struct kvp_log *log);

/**
 * kvp_log_is_full() - true if the builder has found no room
 *
 * The builder sets log->full before it looks for room, so the flag says nothing while build_lock is
 * taken. A builder that finds no room kicks destage itself. Context: any.
 */
static inline bool kvp_log_is_full(struct kvp_log *log)
{
	return READ_ONCE(log->full) && !mutex_is_locked(&log->build_lock);
}

/**
 * kvp_log_most_intents() - a checkpoint is wanted if more blocks than this are recorded by intent,
 * and little else is dirty
 */
u64 kvp_log_most_intents(const struct kvp_log *log);

/** kvp_log_many_intents() - the same, if much else is dirty. Any context. */
u64 kvp_log_many_intents(const struct kvp_log *log);

/**
 * kvp_log_intents_since() - blocks that are recorded by intent behind the tail, and that a recovery
 * would read at home: not those that are resolved. Any context.
 */
u64 kvp_log_intents_since(const struct kvp_log *log);

/**
 * kvp_log_intents_resolvable() - how many of these a checkpoint would resolve now. Context: any;
 * takes log->lock.
 */
u64 kvp_log_intents_resolvable(struct kvp_log *log);

/**
 * kvp_log_intents_limit() - the most of them
 *
 * A checkpoint is wanted at half of that. The other half is for intents that come while the
 * checkpoint waits for blocks to go home. A recovery holds all these intents in memory, and reads
 * their blocks.
 */
u64 kvp_log_intents_limit(const struct kvp_log *log);

/**
 * kvp_log_takes_intents() - true if a large write may go home by intent: not strict, and not too
 * many of them. Any context.
 */
bool kvp_log_takes_intents(const struct kvp_log *log);

/**
 * kvp_log_stream_waits() - true if buffered blocks of a stream wait for a place for an open intent
 *
 * All places are taken, and a direct write is not home yet. When it is, its worker flushes the
 * legs, closes intents, and kicks the builder. Context: any; takes log->lock.
 */
bool kvp_log_stream_waits(struct kvp_log *log);

/* With the log on legs, a run of so many blocks becomes intents; a tunable overrides it. */
#define KVP_LOG_LEGS_CUTOFF	64u

/**
 * kvp_log_legs_cutoff() - the least run that goes home by intent, with the log on legs. Any
 * context.
 */
static inline u32 kvp_log_legs_cutoff(const struct kvp_log *log)
{
	u32 set = READ_ONCE(log->tunables[KVP_T_SEQ_CUTOFF_WRITE]) >> KVP_BLOCK_SHIFT;

	return min(set ?: KVP_LOG_LEGS_CUTOFF, KVP_ENTRY_MAX_INTENTS / 2);
}

/**
 * struct kvp_log_figures - for status: counts since the pool started
 * @lsn: place of the next entry
 * @commits, @flushes: durable entries; waits for durability
 * @data_blocks, @intent_blocks: recorded as data, and by intent
 * @ssd_blocks: of a log on a cache, by cause: to each SSD; of kind parity1 to all together
 */
struct kvp_log_figures {
	kvp_lsn_t lsn;
	u64 commits, flushes, data_blocks, intent_blocks;
	u64 ssd_blocks[KVP_LOG_CAUSES];
};

/** kvp_log_figures() - fill in @f. Context: any; takes no lock. */
void kvp_log_figures(const struct kvp_log *log, struct kvp_log_figures *f);

/**
 * kvp_log_count_ssd() - code outside the log wrote @blocks to the cache for @cause.
 *
 * Context: any.
 */
void kvp_log_count_ssd(struct kvp_log *log, enum kvp_log_cause cause, u64 blocks);

/** kvp_log_head() - lsn of the next entry. Context: any; exact under build_lock. */
static inline kvp_lsn_t kvp_log_head(const struct kvp_log *log)
{
	return READ_ONCE(log->head.lsn);
}

/** kvp_log_tail() - lsn of the last checkpoint's tail: space before it is free. Context: any. */
static inline kvp_lsn_t kvp_log_tail(const struct kvp_log *log)
{
	return READ_ONCE(log->tail);
}

/** kvp_log_durable() - lsn behind the last durable entry. Context: any; takes log->lock. */
kvp_lsn_t kvp_log_durable(struct kvp_log *log);

/** kvp_log_durable_mark() - the mark of that place. Context: any; takes log->lock. */
void kvp_log_durable_mark(struct kvp_log *log, struct kvp_log_mark *mark);

/**
 * kvp_log_set_durable() - the log is durable up to @head.
 *
 * Context: recovery; nothing was appended yet.
 */
void kvp_log_set_durable(struct kvp_log *log, const struct kvp_log_mark *head);

/**
 * kvp_log_passed_on() - lsn behind the last entry whose versions have gone on to destage.
 *
 * Context: any.
 */
static inline kvp_lsn_t kvp_log_passed_on(const struct kvp_log *log)
{
	return READ_ONCE(log->logged.lsn);
}

/** kvp_log_passed_mark() - the mark of that place. Context: any but interrupt; takes wbuf->lock. */
void kvp_log_passed_mark(struct kvp_log *log, struct kvp_log_mark *mark);

/**
 * kvp_log_set_passed() - recovery has read up to @end: a milestone may be there.
 *
 * Context: recovery.
 */
void kvp_log_set_passed(struct kvp_log *log, const struct kvp_log_mark *end);

/** kvp_log_no_milestones() - recovery reads anew: forget what kvp_log_set_passed() noted */
void kvp_log_no_milestones(struct kvp_log *log);

/**
 * kvp_log_intent_blocks() - blocks that were recorded by intent since the pool started.
 *
 * Context: any.
 */
static inline u64 kvp_log_intent_blocks(const struct kvp_log *log)
{
	return READ_ONCE(log->intent_blocks);
}

/** kvp_log_reserved_rows() - rows of a parity1 whose parity the log has room for. Context: any. */
static inline u32 kvp_log_reserved_rows(const struct kvp_log *log)
{
	return READ_ONCE(log->reserved);
}

/**
 * kvp_log_squeeze() - while the log is emptied, users may take only @blocks of it; 0: all.
 *
 * Context: process.
 */
void kvp_log_squeeze(struct kvp_log *log, u64 blocks);

/**
 * kvp_log_narrow() - append to @blocks from the tail's segment on, and not to all of the window
 * @blocks: the smaller window while a superblock with another one is on its way; 0: all again
 * @spare: so many blocks of it must be left, beside those for parity
 *
 * A start may find either superblock, and reads no further than its window. Return: false if more
 * is in use; nothing has changed then. Context: process; takes build_lock.
 */
bool kvp_log_narrow(struct kvp_log *log, u64 blocks, u64 spare);

/** kvp_log_is_squeezed() - true if kvp_log_squeeze() has set a bound */
static inline bool kvp_log_is_squeezed(const struct kvp_log *log)
{
	return READ_ONCE(log->squeeze);
}

/**
 * kvp_log_shrink() - before the window becomes smaller, renew as in one of @blocks; 0: no more
 *
 * So the log is emptied to @blocks, and what is dirty can stay. kvp_log_squeeze() does not end
 * renewals meanwhile, and is no bound for them. Context: process.
 */
void kvp_log_shrink(struct kvp_log *log, u64 blocks);

/** kvp_log_shrinks() - what kvp_log_shrink() has set; 0: the window stays. Context: any. */
static inline u64 kvp_log_shrinks(const struct kvp_log *log)
{
	return READ_ONCE(log->shrinks);
}

/**
 * kvp_log_begins_anew() - true if the next checkpoint begins another log
 *
 * Context: under sb_lock, or checkpoint_lock.
 */
static inline bool kvp_log_begins_anew(const struct kvp_log *log)
{
	return log->next;
}

/**
 * kvp_log_wait() - wait until @condition; kvp_log_wake() makes it look.
 *
 * Context: process, may sleep.
 */
#define kvp_log_wait(log, condition)	wait_event((log)->entry_wait, condition)

/**
 * kvp_log_wake() - let waiters for an entry, and callers of kvp_log_wait(), look again.
 *
 * Context: any.
 */
static inline void kvp_log_wake(struct kvp_log *log)
{
	wake_up_all(&log->entry_wait);
}

/**
 * kvp_log_failed() - true if the last commit failed: nothing becomes durable until one succeeds.
 * Any context.
 */
static inline bool kvp_log_failed(const struct kvp_log *log)
{
	return kvp_failed_by(log->failure, KVP_FAIL_COMMIT);
}

/**
 * kvp_log_is_closed() - true if nothing may be appended, now and for some time
 *
 * Context: any; exact under build_lock.
 */
static inline bool kvp_log_is_closed(const struct kvp_log *log)
{
	return READ_ONCE(log->stopped) || READ_ONCE(log->vdevs->log_moving) ||
	       READ_ONCE(log->held) || kvp_log_failed(log);
}

/**
 * kvp_log_may_stay() - true if the log keeps its contents when the pool stops: on a cache, and
 * without a parity1
 */
static inline bool kvp_log_may_stay(const struct kvp_log *log)
{
	return kvp_log_ops(log->vdevs)->may_stay(log);
}

/**
 * kvp_log_renew_kept() - blocks of the log that only renewed versions may use; 0: none. Any
 * context.
 */
static inline u64 kvp_log_renew_kept(const struct kvp_log *log)
{
	return kvp_log_ops(log->vdevs)->renew_kept(log);
}

/** kvp_log_limit_empty() - the most blocks that may be buffered while the log is empty */
u64 kvp_log_limit_empty(const struct kvp_log *log);

/**
 * kvp_log_taken() - how many of @most blocks are in use; @most is kvp_log_limit_empty(). Any
 * context.
 */
u64 kvp_log_taken(const struct kvp_log *log, u64 most);

/** kvp_log_spent() - the same without buffered blocks, since those of a stream will need little */
u64 kvp_log_spent(const struct kvp_log *log, u64 most);

/** kvp_log_used() - blocks between tail and head */
u64 kvp_log_used(struct kvp_log *log);

/**
 * kvp_log_counts() - true if the log has records that a recovery needs. They may not be durable
 * yet.
 */
bool kvp_log_counts(struct kvp_log *log);

/**
 * __kvp_log_milestone() - note @log->logged as a place for a tail, if the last milestone is far
 * behind
 *
 * Context: caller holds wbuf->lock.
 */
void __kvp_log_milestone(struct kvp_log *log);

/**
 * kvp_log_home_mark() - find the last milestone, up to @limit, below which no data waits for
 * destage
 */
bool kvp_log_home_mark(struct kvp_log *log, kvp_lsn_t limit, struct kvp_log_mark *mark);

/** kvp_log_short() - true if a caller waits for space, or will soon */
bool kvp_log_short(struct kvp_log *log);

/**
 * kvp_log_floor() - lower @mark to the first intent that is not yet home; or behind it, if it is
 * withdrawn
 */
void kvp_log_floor(struct kvp_log *log, struct kvp_log_mark *mark);

/**
 * struct kvp_intents - which intents are home
 * @lsn: the places of entries whose intents are; 0: none
 * @resolved: the place below which all are home, and in the table in memory; 0: with a parity1
 *
 * A checkpoint asks before it fixes the pages of the table, and flushes the legs after that. When
 * its superblock is durable, the intents below @resolved are *resolved*: a recovery takes the table
 * for their blocks. Discards are not, nor is data.
 */
struct kvp_intents {
	kvp_lsn_t lsn[KVP_MAX_OPEN_INTENTS];
	struct kvp_log_mark resolved;
};

/**
 * kvp_log_home_intents() - note the intents that are home now; after a flush of the legs they can
 * be closed
 *
 * kvp_log_close() - close them, after that flush; others that were closed meanwhile stay closed
 *
 * A leg that the flush gave up is recorded out before: see kvp_log_close_some(). Context: any;
 * takes log->lock.
 */
void kvp_log_home_intents(struct kvp_log *log, struct kvp_intents *home);
void kvp_log_close(struct kvp_log *log, const struct kvp_intents *home);

/** kvp_log_resolve() - intents below @mark are resolved. Context: checkpoint_lock. */
void kvp_log_resolve(struct kvp_log *log, const struct kvp_log_mark *mark);

/**
 * kvp_log_close_some() - flush the legs and close intents, if many are open without a FLUSH
 *
 * A direct worker calls it after it has written some home. Context: process, waits for I/O.
 */
void kvp_log_close_some(struct kvp_log *log);

/* --- parity1 (parity.c) --- */

/* The parity of a row, to be logged. */
struct kvp_row_parity {
	const struct kvp_vdev *v;
	u64 row;
	u32 crc;
	struct page *page;
};

/**
 * kvp_log_parity() - make parity of rows durable in the log (R6)
 * @rows: @nr of them; the pages must stay until it returns
 * @limit: the parity counts all versions before it, and none from it on
 *
 * There is room for a block of parity and a header for each version that has a reserved row, until
 * kvp_log_covered() is called for it. Return: 0 or -EIO. Context: process, waits for I/O; not under
 * log->build_lock.
 */
int __must_check kvp_log_parity(struct kvp_log *log, const struct kvp_row_parity *rows, u32 nr,
				struct kvp_log_at limit);

/**
 * kvp_log_covered() - parity that counts version @d is durable in the log: @d needs no room for it
 * any more
 */
void kvp_log_covered(struct kvp_log *log, struct kvp_version *d);

/** kvp_log_reserved() - blocks that are reserved now for parity. Context: any. */
static inline u64 kvp_log_reserved(const struct kvp_log *log)
{
	return kvp_log_ops(log->vdevs)->reserve(log, READ_ONCE(log->reserved));
}

/* --- versions without pages (spill.h) --- */

/**
 * kvp_spill() - if the buffer is getting full, give back pages of versions in the log of a cache
 *
 * Wakes waiters for pages. Return: true if there may be more to spill,
 * and the caller should call it again at once. Context: process; does not wait.
 */
static inline bool kvp_spill(struct kvp_log *log)
{
	return kvp_log_ops(log->vdevs)->spill(log);
}

/**
 * kvp_spilled_read() - read spilled versions of @count blocks from @block on, many at once
 * @end: result: the first block that was not looked at
 *
 * For readers. It takes no range lock, counts no errors, waits for no memory, and may leave out
 * versions: kvp_block_read() reads those. Return: what kvp_spilled_page() and kvp_spilled_free()
 * need; NULL: nothing was read. Context: process, waits for I/O.
 */
static inline struct kvp_spilled_read *kvp_spilled_read(struct kvp_log *log, kvp_block_t block,
							u32 count, kvp_block_t *end)
{
	return kvp_log_ops(log->vdevs)->read_spilled(log, block, count, end);
}

/**
 * kvp_log_recorded() - the loss of a leg is recorded, so headers may again say what is durable. The
 * caller may hold sb_lock.
 */
void kvp_log_recorded(struct kvp_log *log);

/**
 * kvp_log_faulted() - the pool is faulted: end waits for legs, and for a move of the log. Any
 * context.
 */
void kvp_log_faulted(struct kvp_log *log);

/** kvp_log_retire() - the checkpoint at @tail is durable: its space is free */
void kvp_log_retire(struct kvp_log *log, const struct kvp_log_mark *tail);

#endif /* KVP_LOG_H */
