/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The pool: what all parts share.
 *
 * Words: see docs/design.md. Blocks are 4 KiB; "block" without more is a block
 * of the pool's device. A leg's own blocks are said to be "on the leg".
 *
 * Lock order, outermost first:
 *
 *   pool->drain.lock          one change of the cache's mode at a time
 *   pool->checkpoint_lock     one checkpoint at a time
 *   range locks               (core/range_lock.h: how to hold several)
 *   log->build_lock
 *   table->load_lock
 *   table->lock
 *   pool->sb_lock             superblock and membership
 *   wbuf bucket locks         spinlocks from here on
 *   wbuf->lock, log->lock (irqsave), members_lock (irqsave), table->lru_lock,
 *   events->lock (irqsave), a shard's lock of the RAM cache (irqsave), fill->lock (irqsave),
 *   a stripe's lock of the SSD cache's index
 *   flights->lock (irqsave)
 */
#ifndef KVP_CORE_H
#define KVP_CORE_H

#include <linux/atomic.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "cache/admission.h"
#include "cache/pacing.h"
#include "cache/rebuild.h"
#include "cache/reinsert.h"
#include "cache/scache.h"
#include "core/range_lock.h"
#include "core/vdev.h"
#include "format/format.h"
#include "format/tunables.h"
#include "io/flight.h"
#include "io/io.h"
#include "log/log.h"
#include "policy/streams.h"
#include "pool/cachemode.h"
#include "ram/rcache.h"
#include "ram/wbuf.h"
#include "super/events.h"
#include "super/finds.h"
#include "table/ssdcopy.h"
#include "table/table.h"
#include "work/elevator.h"
#include "work/trim.h"

struct bio_set;
struct block_device;
struct kvp_refusal;
struct sb_write;
struct kvp_home;
struct kvp_leg_queues;
struct kvp_reload;

#define KVP_RETRY_MS	100	/* after memory was short */
#define KVP_PATH_LEN	256	/* as the table line names it; of a longer one MAJOR:MINOR is kept */

/* Requests that can be made to fail by order (io/inject.h). */
enum kvp_fault { KVP_FAULT_READ, KVP_FAULT_WRITE, KVP_FAULT_FLUSH, KVP_FAULTS };

/**
 * struct kvp_leg - one device of the pool
 * @bdev: NULL while missing
 * @state: as recorded, or about to be, in the superblocks; written under
 *	pool->sb_lock or by kvp_leg_fail(), read with READ_ONCE
 * @in_flight, @next_block: for the choice of a mirror leg
 * @faults: so many requests of a kind are to fail, by order
 */
struct kvp_leg {
	struct kvp_pool *pool;
	struct kvp_vdev *v;
	u32 index;			/* of the pool */
	struct block_device *bdev;
	char path[KVP_PATH_LEN];
	u64 size_blocks;
	bool rotational;
	u32 state;			/* enum kvp_leg_state */
	bool adopt;			/* its history was given up: the next superblock goes there too */
	bool keeps_log;			/* not in use, but has all of the log that moves off its cache; by members_lock */
	u64 has_sequence;		/* of the newest superblock that is known to be on it; by sb_lock */
	u32 has_era;			/* of the newest that counts, and found it in use; 0: none; by sb_lock */
	u64 lag;			/* found at the start: so many superblocks behind, so it is stale (R29) */
	bool doubtful;			/* found at the start: a newer superblock may be on it, which cannot be read (R27) */
	u32 unreadable;			/* slots of its label that cannot be read, or do not verify, at the start */
	bool late;			/* has not answered for a second */
	unsigned long answered;		/* jiffies: some request */
	unsigned long left_at;		/* jiffies, odd: not in use since; 0: since before the start */
	atomic_t in_flight;
	u64 next_block;
	atomic64_t err_read, err_write, err_checksum, healed;
	atomic_t faults[KVP_FAULTS];
};

/** kvp_wait_for_memory() - before another try; Context: process, may sleep */
static inline void kvp_wait_for_memory(void)
{
	schedule_timeout_uninterruptible(msecs_to_jiffies(KVP_RETRY_MS));
}

/** kvp_leg_usable() - may the leg be read, and must writes go to it? */
static inline bool kvp_leg_usable(const struct kvp_leg *leg)
{
	return leg->bdev && READ_ONCE(leg->state) == KVP_LEG_IN_SYNC;
}

/**
 * kvp_leg_keeps_log() - was the log lost with @leg, not after it?
 *
 * Superblocks go on to say that it is in sync until the log has moved, so no entry counts that it lacks.
 */
static inline bool kvp_leg_keeps_log(const struct kvp_leg *leg)
{
	if (READ_ONCE(leg->state) == KVP_LEG_IN_SYNC)
		return false;
	smp_rmb();	/* pairs with the write barrier in __take_out() */
	return READ_ONCE(leg->keeps_log);
}

/* Counters that every request touches: per processor. */
struct kvp_stats {
	u64 read_blocks, write_blocks, discard_blocks, zero_read_blocks;
	u64 coalesced_blocks, buffer_read_blocks, read_retries, rebuilt_blocks;
	u64 ram_hits, ram_misses, ram_fills, ram_written;	/* blocks */
	u64 ram_bypassed[KVP_RAM_BYPASSES];			/* blocks */
	u64 ssd_hits, ssd_misses, ssd_mistrusted;		/* blocks */
	u64 ssd_reinserted;
	u64 ssd_fills, ssd_refused[KVP_ADMIT_REFUSALS];		/* blocks */
};

/* Counters of background work. */
struct kvp_work_stats {
	atomic64_t page_reads, page_writes, leaf_writes, checkpoints, ssd_page_reads, ssd_page_writes;
	atomic64_t destage_blocks, destage_ios, healed, unrepaired, table_healed;
	atomic64_t leaf_lost;	/* blocks poisoned because their leaf was lost */
	atomic64_t leaf_discards;	/* leaves of which something was discarded, or might have been */
};

enum kvp_pool_flags {
	KVP_POOL_READONLY,
	KVP_POOL_RUNNING,	/* between start and stop */
	KVP_POOL_SUSPENDING,	/* about to be quiesced: what somebody ordered ends early */
	KVP_POOL_QUIESCED,	/* between quiesce and unquiesce: suspended */
	KVP_POOL_EMPTYING,	/* in kvp_pool_empty(): nothing is given up for what does not answer */
	KVP_POOL_FAULTED,	/* no leg left, or the superblock cannot be written; read it by kvp_pool_faulted() */
	KVP_POOL_CLEARING,	/* 'clear' is finding out whether the legs take a commit again */
	KVP_POOL_FLUSH_LOST,	/* the last leg failed a flush: only a restart helps */
	KVP_POOL_SB_FAILED,	/* a superblock may be on some leg that we do not know of */
};

enum kvp_destage_flags {
	KVP_DESTAGE_DRAIN,	/* everything, then a checkpoint */
	KVP_DESTAGE_STOP,
};

/* How far a discard has got that takes more than a turn. */
struct kvp_discard_at {
	struct kvp_log_at hole;		/* its record; */
	u64 seq;			/* and as it was accepted, since a log that moves begins anew; */
	u32 vdev;			/* of those before this one all is done, */
	u64 own;			/* and of it what is before this block */
};

struct kvp_destage {
	struct work_struct work;
	struct delayed_work idle_work;
	unsigned long flags;
	struct kvp_home *home;
	struct kvp_reload *recall;	/* of a pool with a cache */
	struct kvp_elevator sweep;		/* what of the parked it knows by address */
	struct delayed_work pace_work;	/* of a log on a cache: the next round */
	unsigned long next, yield;	/* jiffies: no round before @next; and @yield, if no writer is kept waiting */
	u64 intents;			/* blocks that had gone by intent after the last turn; */
	bool yields;			/* some more than after the one before */
	u64 seq;			/* the last that was accepted when somebody looked, */
	unsigned long seq_at;		/* and when it was seen to be another one (jiffies) */
	struct kvp_discard_at discard;	/* the last that was begun */
	u32 round;			/* versions to take in the next one, by kvp_pace() */
	u32 runs;			/* and at most so many requests of the sweep, by the same */
	u64 done_lsn;			/* everything below is home and checkpointed */
	int error;			/* of the last round */
	u32 ended;			/* so often @work has; by it */
	wait_queue_head_t wait;		/* for @ended, @done_lsn, KVP_DESTAGE_STOP and KVP_POOL_SUSPENDING */
};

struct kvp_scrub {
	struct work_struct work;
	struct mutex lock;		/* start, stop, pause, resume */
	struct kvp_scrub_info info;	/* cursor etc.: by the worker while running */
	u32 since;			/* era; 0: everything */
	bool stop, pause, quiesce;
};

struct kvp_recovery_info {
	u64 ms, worst_case_ms, replayed, torn_accepted;
	u64 kept;			/* blocks that it left in the log */
	bool log_moved;			/* a cache was missing: its log is given up, or was empty */
	u64 discarded_lsn;		/* where the log began that was given up; 0: none was */
	u64 discarded_mib;		/* kvp_log_counted_mib() of it */
	u64 discarded_blocks;		/* that are known to be lost with it, and were poisoned */
	bool may_give_up, give_up;	/* the log of a cache, if need be; and it has to be */
};

struct kvp_pool {
	/* Fixed while running. */
	struct kvp_leg legs[KVP_MAX_LEGS];
	u32 nr_legs;
	struct kvp_vdev vdevs[KVP_MAX_VDEVS];
	u32 nr_vdevs;
	u32 nr_with_data;		/* of those: all but a cache */
	u32 max_legs, max_chunk;	/* the most that a vdev has; blocks */
	bool parity;			/* some vdev has parity, which the log must have room for */
	bool plain;			/* some vdev with data has none */
	u32 seed;			/* of sums of data, by block of the pool: kvp_sum_seed() */
	unsigned long flags;		/* bits of enum kvp_pool_flags */
	u64 tunables[KVP_TUNABLES];	/* read with READ_ONCE */

	struct mutex sb_lock;
	struct kvp_sb *sb;		/* what the newest superblock says; by sb_lock */
	atomic_t losses, recorded;	/* of legs: counted, and known to a durable superblock */
	u64 durable_epoch;		/* the log must not name an epoch that no superblock has */
	struct page *sb_pages[KVP_MAX_LEGS * 2 * KVP_SB_BLOCKS];
	struct kvp_disk_sb *sb_disk;	/* one superblock being encoded */
	struct sb_write *sb_write;
	spinlock_t members_lock;	/* irqsave; changes of legs[].state */

	struct kvp_wbuf wbuf;
	struct kvp_rcache rcache;
	struct kvp_streams streams;	/* of reads */
	struct kvp_scache scache;
	struct kvp_pacing pacing;
	struct kvp_reinsert reinsert;
	struct kvp_rebuild warm;
	struct kvp_admission fill;		/* of it, by what is read from home */
	struct kvp_log log;
	struct kvp_table table;
	struct kvp_ssdcopies ssdcopies;	/* of its pages */
	struct kvp_range_locks ranges;
	struct mutex checkpoint_lock;
	struct kvp_destage destage;
	struct kvp_scrub scrub;
	struct kvp_trim trim;
	struct kvp_drain drain;
	struct kvp_events events;
	struct kvp_finds finds;
	struct kvp_recovery_info recovery;

	struct work_struct members_work, poison_work;

	struct workqueue_struct *commit_wq;	/* commit, post, flush: must not wait for destage */
	struct workqueue_struct *work_wq;	/* destage, bypass, members, events */
	struct workqueue_struct *scrub_wq;	/* scrub, which must never stand in the way of those */

	struct kvp_flights flights;		/* requests that legs have */
	void (*gone)(struct kvp_pool *pool);	/* target: the last reference is given back; or NULL */
	struct list_head leaving;		/* of the registry: stopped, and legs have not answered */
	struct bio_set *bios;			/* of io_bio.c */
	struct kvp_leg_queues *leg_queues;	/* of leg_queue.c */
	struct kvp_stats __percpu *stats;
	struct kvp_work_stats work_stats;

	void (*space)(struct kvp_pool *pool);	/* request path: buffer pages came free */
	void (*notify)(struct kvp_pool *pool);	/* target: raise a device-mapper event */
	void *requests;				/* of the request path, for space */
	void *owner;				/* of the target, for notify and claim */
};

/* --- life (pool.c) ------------------------------------------------------- */

/* How a pool is to be started; from the table line. */
struct kvp_start {
	bool format, readonly, degraded, auto_degraded, accept_fork, undestroy, discard_log;
	bool add;			/* vdevs may follow those that the running pool has */
	bool remove;			/* the cache that the running pool has may be left out */
	bool replace;			/* it may have other SSDs than that of the running pool */
	u8 uuid[16];
	bool any_uuid;
	char name[KVP_NAME_LEN + 1];
	char comment[KVP_COMMENT_LEN + 1];
	u64 host;			/* that starts it; 0: unknown */
	char host_name[KVP_NAME_LEN + 1];
	u64 pool_blocks;
	u32 nr_vdevs;
	struct {
		u32 kind, nr_legs;
	} vdevs[KVP_MAX_VDEVS];
	u64 log_bytes, leg_bytes, chunk_bytes;	/* with format and add */
	u64 dirty_bytes;			/* the same, of a cache: its window */
	u64 tunable_mask, tunables[KVP_TUNABLES];
	/* Labels are read and chosen, nothing is written: may this device have the pool (R25)? */
	int (*claim)(struct kvp_pool *pool, struct kvp_refusal *refusal);
	void *owner;
	u32 nr_legs;			/* of all vdevs, as the table names them, missing ones included */
	struct {
		struct block_device *bdev;	/* NULL: missing */
		char path[KVP_PATH_LEN];
		u64 size_blocks;
		bool rotational, named;		/* named: missing, and known by its UUID (with replace) */
		u8 uuid[16];
	} legs[KVP_MAX_LEGS];
};

/* A refusal in words that a person can use. */
struct kvp_refusal {
	char what[96], why[512], mend[192];
};

struct kvp_pool *kvp_pool_alloc(void);

/** kvp_pool_free() - give back a reference; with legs that have not answered (io/flight.h) the last of those does it */
void kvp_pool_free(struct kvp_pool *pool);

/**
 * kvp_pool_start() - read the labels, choose, recover, begin to serve
 *
 * Return: 0 or -errno with @refusal filled in; then nothing was written,
 * unless the text says so. Context: process, waits for I/O.
 */
int kvp_pool_start(struct kvp_pool *pool, const struct kvp_start *s, struct kvp_refusal *refusal);

/**
 * kvp_pool_suspending() - the device is about to be suspended: what somebody ordered ends early
 *
 * A drain and kvp_destage_order() end as soon as they can, -ECANCELED and -EINTR, and a scrub pauses. Requests
 * are served meanwhile. kvp_pool_quiesce() follows, or kvp_pool_not_suspending(). Context: process.
 */
void kvp_pool_suspending(struct kvp_pool *pool);
void kvp_pool_not_suspending(struct kvp_pool *pool);

/**
 * kvp_pool_write_back() - do now what kvp_pool_quiesce() would do while nobody is served
 *
 * What was accepted before is durable, and home where a stop wants it there; what fails is left to that.
 * Context: process, waits for I/O.
 */
void kvp_pool_write_back(struct kvp_pool *pool);

/**
 * kvp_pool_quiesce() - make everything durable and home; background work stops
 *
 * Called when the device is suspended; no requests are in flight.
 * kvp_pool_unquiesce() takes up work again.
 */
void kvp_pool_quiesce(struct kvp_pool *pool);

/**
 * kvp_pool_empty() - bring home what the log of a quiesced pool holds, and say so in the label
 *
 * What the SSDs do not give, as they do not answer, is not lost by that, other than while the pool
 * runs: they may do so later. Return: 0, or -errno: not all is home. Context: process, waits for I/O.
 */
int kvp_pool_empty(struct kvp_pool *pool);
void kvp_pool_unquiesce(struct kvp_pool *pool);

/** kvp_pool_stop() - free everything that start made; after quiesce */
void kvp_pool_stop(struct kvp_pool *pool);

/**
 * kvp_estimate_recovery() - how long one takes at worst, for those who ask: policy/estimate.h
 *
 * To be called when vdevs or legs have come or gone, and when the log has moved. Context: process.
 */
void kvp_estimate_recovery(struct kvp_pool *pool);

/** kvp_pool_space() - buffer pages or log space came free */
void kvp_pool_space(struct kvp_pool *pool);

/** kvp_pool_set() - change a tunable; durable when it returns 0. -ENOMEM: nothing changed. */
int kvp_pool_set(struct kvp_pool *pool, unsigned int id, u64 value);

/** kvp_pool_set_comment() - the pool's comment; durable at 0; -ERANGE: too long; -EINVAL: control characters */
int kvp_pool_set_comment(struct kvp_pool *pool, const char *text);

/** kvp_pool_mark() - set or clear label flags; durable when it returns 0 */
int kvp_pool_mark(struct kvp_pool *pool, u32 set, u32 clear);

/** kvp_pool_clear() - counters of one leg (or all: -1) to zero, and try again what failed */
void kvp_pool_clear(struct kvp_pool *pool, int only);

/** kvp_pool_logs_on_cache() - does a cache carry the log at present? It may move. Context: any. */
static inline bool kvp_pool_logs_on_cache(const struct kvp_pool *pool)
{
	return !kvp_has_data(READ_ONCE(pool->log.v)->g);
}

static inline bool kvp_pool_readonly(const struct kvp_pool *pool)
{
	return test_bit(KVP_POOL_READONLY, &pool->flags);
}

/*
 * Each reason has a bit of its own, and the pool stands as long as one is set: that it was told to go on says
 * nothing of a superblock that may be on some leg, and be believed by the next start, nor of what a flush lost.
 */
static inline bool kvp_pool_faulted(const struct kvp_pool *pool)
{
	return READ_ONCE(pool->flags) &
	       (BIT(KVP_POOL_FAULTED) | BIT(KVP_POOL_SB_FAILED) | BIT(KVP_POOL_FLUSH_LOST));
}

/* Do requests wait, rather than fail, for want of legs? Also until it is known whether some are back. */
static inline bool kvp_pool_waits(const struct kvp_pool *pool)
{
	return READ_ONCE(pool->tunables[KVP_T_FAILMODE]) &&
	       (kvp_pool_faulted(pool) || test_bit(KVP_POOL_CLEARING, &pool->flags));
}

/* --- superblock and members (members.c) ----------------------------------- */

/**
 * kvp_sb_commit() - write pool->sb to all in-sync legs, both rings, with FUA
 *
 * Raises the sequence. A leg that fails is recorded out on the others, in a
 * further superblock. Caller holds sb_lock. Return: 0, -EIO if no leg took it,
 * or of a parity1 too few did.
 */
int kvp_sb_commit(struct kvp_pool *pool);

/**
 * kvp_sb_join() - label @nr legs from legs[@first] on as such that are about to join the pool
 *
 * The label says what pool->sb says, and that nobody is to start by it. It is
 * durable when 0 is returned; -EIO: some ring did not take it. Caller holds sb_lock.
 */
int kvp_sb_join(struct kvp_pool *pool, u32 first, u32 nr);

/**
 * kvp_leg_fail() - a leg did not take what it had to take: never use it again
 *
 * The last usable leg is not given up, nor a second one of a parity1: returns false, and the caller fails
 * the request. Otherwise acknowledgements are held until the survivors record
 * the loss (kvp_members_settle()). Context: any.
 */
bool kvp_leg_fail(struct kvp_leg *leg, const char *why);

/**
 * kvp_log_legs_fail() - too few legs of the cache @v took an entry: the log is lost
 * @which: bit per leg of @v: those that did not
 *
 * They go at once, so that all of them have all that counts. Caller holds build_lock.
 */
void kvp_log_legs_fail(struct kvp_vdev *v, unsigned long which);

/**
 * kvp_log_legs_keep() - the log of a cache is lost with all legs of it that no superblock records out
 *
 * None of them lacks anything. Caller holds sb_lock and members_lock.
 */
void kvp_log_legs_keep(struct kvp_pool *pool);

/* Memory for superblock writes, so that recording a loss needs none. */
int kvp_sb_buffers_alloc(struct kvp_pool *pool);
void kvp_sb_buffers_free(struct kvp_pool *pool);

/** kvp_pool_fault() - no leg is left that does as it is told; see the tunable failmode. Any context. */
void kvp_pool_fault(struct kvp_pool *pool, const char *why);

/** kvp_members_settle() - wait until every loss is recorded; 0 or -EIO. Context: process. */
int kvp_members_settle(struct kvp_pool *pool);

/* Is there a loss that is not yet recorded on the survivors? */
static inline bool kvp_members_dirty(const struct kvp_pool *pool)
{
	return atomic_read(&pool->losses) != atomic_read(&pool->recorded);
}

/** kvp_leg_offline() - take a leg out by order; refuses the last one in sync with -EBUSY */
int kvp_leg_offline(struct kvp_pool *pool, struct kvp_leg *leg);

/** kvp_losses_survivable() - so many more legs may be lost, whichever they are */
u32 kvp_losses_survivable(const struct kvp_pool *pool);

/** kvp_legs_usable() - number of legs in use */
u32 kvp_legs_usable(const struct kvp_pool *pool);

void kvp_members_work(struct work_struct *work);

/* --- the cache vdev (cachevdev.c) ------------------------------------------- */

/** kvp_pool_cache() - the cache vdev, or NULL */
struct kvp_vdev *kvp_pool_cache(struct kvp_pool *pool);

/** kvp_log_refuge() - the vdev with data that can lose most now: where a log goes that leaves the cache */
struct kvp_vdev *kvp_log_refuge(struct kvp_pool *pool);

/** kvp_log_others() - the vdevs that may carry the log together with @v now, a bit each; of a cache none */
u32 kvp_log_others(struct kvp_pool *pool, const struct kvp_vdev *v);

/**
 * kvp_cache_settle() - before a start reads the log: is it there? (R14)
 *
 * With no leg of the cache that carries it, an empty log takes its place on the
 * vdevs with data, in pool->sb; nothing is written yet. That is for a log that
 * was empty; one that was not is given up by order only, by the recovery. Return: 0, or -errno
 * with @r filled in.
 */
int kvp_cache_settle(struct kvp_pool *pool, const struct kvp_start *s, struct kvp_refusal *r);

/* --- starting (start.c, recovery/) ------------------------------------------ */

/** kvp_recover() - bring home what the log holds, checkpoint, choose the place for new entries */
int kvp_recover(struct kvp_pool *pool, struct kvp_log_mark *head, struct kvp_refusal *refusal);

/* --- checkpoint (checkpoint.c) ------------------------------------------------ */

/**
 * kvp_checkpoint() - make the table, and @tail as the log's tail, durable (R3)
 * @tail: everything recorded before it is home, or superseded by what is
 *	durable; NULL to leave the tail where it is
 *
 * Caller holds checkpoint_lock. Return: 0 or -EIO; then the old checkpoint is
 * still the durable one and nothing is lost.
 */
int kvp_checkpoint(struct kvp_pool *pool, const struct kvp_log_mark *tail);

/** kvp_poison_settle() - make poison durable before a read of it is answered; holds no range lock */
int kvp_poison_settle(struct kvp_pool *pool);

/** kvp_poison_work() - the same for a FLUSH, which must not wait on the commit's work queue */
void kvp_poison_work(struct work_struct *work);

/* --- home (home/) -------------------------------------------------------------- */

/** kvp_home_block() - where @block lies on its leg; of a single or mirror, on every leg */
static inline u64 kvp_home_block(struct kvp_pool *pool, u64 block)
{
	struct kvp_spot at = kvp_locate(pool, block);

	return kvp_data_place(at.v->g, at.block).block;
}

/**
 * kvp_leg_choose() - the leg to read @nr blocks at @block from, or NULL; counts it as in flight
 *
 * Of a parity1 they are all in one chunk.
 */
struct kvp_leg *kvp_leg_choose(struct kvp_pool *pool, u64 block, u32 nr);
void kvp_leg_unchoose(struct kvp_leg *leg);

/** kvp_leg_choose_copy() - the same of legs of @v, which all have the same at @block of each */
struct kvp_leg *kvp_leg_choose_copy(const struct kvp_vdev *v, u64 block, u32 nr);

/** kvp_leg_choose_log() - the same of what lies at kvp_log_place() on a cache, which may be on that leg only */
struct kvp_leg *kvp_leg_choose_log(const struct kvp_vdev *v, struct kvp_place at, u32 nr);

/** kvp_leg_choose_this() - count a read of @leg as in flight, where there is no choice */
void kvp_leg_choose_this(struct kvp_leg *leg);

/** kvp_legs_flush() - flush all in-sync legs; one that fails is given up. 0, or -EIO: none is left. */
int kvp_legs_flush(struct kvp_pool *pool);

/**
 * kvp_block_lock() - lock what must not change while @block is read or healed
 *
 * The block; of a parity1 its stripe, from which it may have to be rebuilt.
 * Release with kvp_range_unlock(). Context: as kvp_range_lock().
 */
void kvp_block_lock(struct kvp_pool *pool, struct kvp_range *range, u64 block);

/**
 * kvp_home_read() - one block from its home, verified, healed (heal.c)
 * @page: private page that receives it
 * @spare: another, to look at every copy; NULL: only until one verifies
 *
 * Caller holds the lock of kvp_block_lock() and has looked into the buffer. Return:
 * 0; -ENODATA: poisoned; -EIO: some leg does not answer and no other has it;
 * -ENOMEM: try again, nothing is known (with @spare: not of every copy);
 * -EBADMSG: no copy verifies, and the block is poisoned now:
 * kvp_poison_settle() before anybody is told, without the lock.
 */
int kvp_home_read(struct kvp_pool *pool, u64 block, struct page *page, struct page *spare);

/**
 * kvp_block_lose() - a logged version that no SSD has any more: poison its block (R8)
 *
 * Not if something newer is durable: then nothing is lost. @d is gone after that.
 * Return: 0, or the error of the table, and nothing is changed. Context: the destage worker,
 * which has brought home what was logged before; waits for I/O.
 */
int kvp_block_lose(struct kvp_pool *pool, struct kvp_version *d);

/**
 * kvp_block_read() - the newest version of one block into a private page, from scratch
 *
 * Return: 0; -EBADMSG: it is lost; -EIO: some leg does not answer. Context:
 * process; waits for I/O, and for memory.
 */
int kvp_block_read(struct kvp_pool *pool, u64 block, struct page *page);

/* --- destage (destage.c) ---------------------------------------------------------- */

int kvp_destage_init(struct kvp_pool *pool);
void kvp_destage_exit(struct kvp_pool *pool);
void kvp_destage_start(struct kvp_pool *pool);
void kvp_destage_stop(struct kvp_pool *pool);

/** kvp_destage_kick() - start destage if it is time, or @now in any case */
void kvp_destage_kick(struct kvp_pool *pool, bool now);

/** kvp_destage_all() - everything accepted so far goes home and a checkpoint follows */
int kvp_destage_all(struct kvp_pool *pool);

/**
 * kvp_destage_beside() - the same, while others write: it does not wait for what they write meanwhile
 *
 * kvp_destage_order() - the same, as somebody wants it: -EINTR as soon as the pool is about to be suspended
 */
int kvp_destage_beside(struct kvp_pool *pool);
int kvp_destage_order(struct kvp_pool *pool);

/**
 * kvp_destage_settle() - a checkpoint with the tail as far as it can be; nothing is brought home for that
 *
 * Destage, bypass and builder are stopped. Return: 0 or -errno. Context: process, waits for I/O.
 */
int kvp_destage_settle(struct kvp_pool *pool);

void kvp_direct_work(struct work_struct *work);

/* --- scrub (scrub.c) ------------------------------------------------------------------ */

void kvp_scrub_init(struct kvp_pool *pool);

/**
 * kvp_scrub_start() - verify everything, or what changed in era @since and later
 *
 * Return: 0; -EBUSY: one runs; -ERANGE: @since is not yet; -EROFS; -EIO.
 * Context: process; with @since waits until everything is home.
 */
int kvp_scrub_start(struct kvp_pool *pool, u32 since);
int kvp_scrub_stop(struct kvp_pool *pool);
int kvp_scrub_pause(struct kvp_pool *pool);
int kvp_scrub_resume(struct kvp_pool *pool);
void kvp_scrub_quiesce(struct kvp_pool *pool);
void kvp_scrub_unquiesce(struct kvp_pool *pool);

/* Tracepoints; nothing in the simulator. */
#include "core/trace.h"

#endif /* KVP_CORE_H */
