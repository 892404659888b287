/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The pool: fields that all parts share. It names its parts, but only pool/pool.c knows them.
 *
 * Words: docs/design/words.md. A block is 4 KiB; "block" alone is a block of the pool's device. A
 * leg's own blocks are said to be "on the leg".
 *
 * Lock order, outermost first:
 *
 *   pool->drain->lock         one change of the cache's mode at a time
 *   pool->returns->lock       one leg that returns at a time
 *   pool->ahead->lock         one copy of the table ahead of a growth at a time
 *   pool->checkpoint_lock     one checkpoint at a time
 *   range locks               (core/range_lock.h: how to hold several)
 *   log->build_lock
 *   table->load_lock
 *   table->lock
 *   pool->sb_lock             superblock and membership
 *   events->places            the places of legs, while events are written
 *   wbuf bucket locks         spinlocks from here on
 *   a shelf of the wbuf
 *   wbuf->lock, log->lock (irqsave), members_lock (irqsave), table->lru_lock,
 *   events->lock (irqsave), a shard's lock of the RAM cache (irqsave), admission->lock (irqsave),
 *   a stripe's lock of the SSD cache's index, a set's lock of runs (irqsave)
 *   a set's lock of flights (irqsave), then flights->lock (irqsave)
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

#include "core/failure.h"
#include "core/range_lock.h"
#include "core/trace.h"
#include "core/vdev.h"
#include "format/format.h"
#include "format/shadow.h"
#include "format/tunables.h"
#include "policy/streams.h"

struct bio_set;
struct block_device;
struct kvp_leg_queue;
struct kvp_leg_queues;
struct sb_write;
struct kvp_admission;
struct kvp_destage;
struct kvp_drain;
struct kvp_events;
struct kvp_finds;
struct kvp_flights;
struct kvp_heartbeat;
struct kvp_log;
struct kvp_members_client;
struct kvp_sb_client;
struct kvp_throttle;
struct kvp_passdown;
struct kvp_rcache;
struct kvp_rebuild;
struct kvp_reinsert;
struct kvp_resilver;
struct kvp_returns;
struct kvp_scache;
struct kvp_scrub;
struct kvp_slow;
struct kvp_speed;
struct kvp_ssdcopies;
struct kvp_table;
struct kvp_ahead;
struct kvp_trim;
struct kvp_wbuf;

#define KVP_RETRY_MS	100	/* wait after memory was short */
#define KVP_PATH_LEN	256	/* as in the table line; MAJOR:MINOR instead of a longer path */

/* The rings on the legs: of all events, and of orders (super/events.h). */
enum kvp_events_ring { KVP_EVENTS_ALL, KVP_EVENTS_ORDERS, KVP_EVENTS_RINGS };

/* Kinds of requests that can be made to fail by order (io/inject.h). */
enum kvp_fault { KVP_FAULT_READ, KVP_FAULT_WRITE, KVP_FAULT_FLUSH, KVP_FAULTS };

/**
 * struct kvp_log_mark - a place in the log from which a recovery could start
 * @lsn: the place
 * @prev_lsn, @prev_csum: of the entry before it
 * @intents: intents recorded before it, since the pool was started or the log moved
 */
struct kvp_log_mark {
	kvp_lsn_t lsn, prev_lsn;
	u32 prev_csum;
	u64 intents;
};

/**
 * struct kvp_leg - one device of the pool
 * @pool: NULL in a test of a part alone
 * @bdev: NULL while it is missing
 * @state: as recorded in the superblocks, or about to be; written under pool->sb_lock or by
 *	kvp_leg_fail(), read with READ_ONCE
 * @in_flight, @next_block: for the choice of a leg to read
 * @faults: how many requests of each kind must fail, by order
 */
struct kvp_leg {
	struct kvp_pool *pool;
	struct kvp_vdev *v;
	u32 index;			/* number in the pool */
	struct block_device *bdev;
	char path[KVP_PATH_LEN];
	u64 size_blocks;
	bool rotational;
	u32 state;			/* enum kvp_leg_state */
	/* Its history was given up: it gets the next superblock as well. */
	bool adopt;
	/* it was passed by: nothing was done in its history (format/outs.h) */
	bool passed;
	/*
	 * The superblock that first calls it in sync may not count yet (R16). While the pool runs,
	 * the leg resilvers until it counts. After a power cut the leg is in sync until then, but
	 * its vdev may not give up another leg because it has this one. By sb_lock; read under
	 * members_lock.
	 */
	bool joins;
	bool keeps_log;		/* not in use, but has all of a log that moves; by members_lock */
	u32 taken;	/* number of superblocks since it began to resilver; by sb_lock */
	bool takes_log;		/* while it resilvers: entries of the log go there; by build_lock */
	u64 has_sequence;	/* of the newest superblock that it is known to have; by sb_lock */
	/* a bit for each slot of its label: what the slot has may not verify; by sb_lock */
	u32 torn;
	/*
	 * For each ring a bit for each slot: the slot says that it has no newer superblock,
	 * although the ring has newer ones. By sb_lock.
	 */
	u32 gaps[2];
	/* for each ring: how many superblocks in a row it did not take; by sb_lock */
	u8 missed[2];
	/* as its label was read: bits of the front ring's slots with its newest two; by sb_lock */
	u32 front_last;
	/*
	 * For each ring of events a bit for each block that it lacks, if it has joined or did not
	 * take the block; by the lock of events (super/events.h).
	 */
	u64 lacks[KVP_EVENTS_RINGS];
	/* era of the newest durable superblock that had it in use; 0: none; by sb_lock */
	u32 has_era;
	/* At a start: how many superblocks it lacks; if it lacks any, it is stale (R29). */
	u64 lag;
	/* At a start: it may have a newer superblock that cannot be read (R27). */
	bool doubtful;
	/* At a start: slots of its label that cannot be read, or do not verify. */
	u32 unreadable;
	bool flush_lost;		/* a flush failed for good: its cached writes may be lost */
	bool late;			/* it has not answered for a second */
	bool slow;			/* it is read last (policy/slow.h) */
	atomic_t passed_over;		/* reads that went to others since it is slow */
	/* at a start: it has kept a request for leg_timeout (R28) */
	bool silent;
	unsigned long answered;		/* jiffies: when it answered some request last */
	/* Jiffies, made odd: when it was given up; 0: it is in use, or was out at the start. */
	unsigned long left_at;
	struct kvp_leg_queue *queue;	/* of leg_queue.c; NULL: none yet */
	unsigned long asked;		/* jiffies: last read that began while @in_flight was 0 */
	atomic_t in_flight;
	kvp_lblock_t next_block;
	atomic64_t err_read, err_write, err_checksum, healed;
	atomic_t faults[KVP_FAULTS];
};

/**
 * struct kvp_leg_client - calls about legs that fail; registered with the pool (super/members.c)
 * @fail: kvp_leg_fail()
 * @flush_failed: kvp_leg_flush_failed()
 * @slow: people should hear that the leg is slow, or is not any more: @by is the kind of requests,
 *	or NULL. Times in ns: of the leg, and of the best other leg
 */
struct kvp_leg_client {
	bool (*fail)(struct kvp_leg *leg, const char *why);
	bool (*flush_failed)(struct kvp_leg *leg);
	void (*slow)(struct kvp_leg *leg, const char *by, u64 p99, u64 others);
};

/** struct kvp_losses - how many legs were lost, and how many losses a durable superblock knows */
struct kvp_losses {
	atomic_t seen, recorded;
};

/** kvp_losses_dirty() - true if there is one that is not recorded yet. Context: any. */
static inline bool kvp_losses_dirty(const struct kvp_losses *losses)
{
	return atomic_read(&losses->seen) != atomic_read(&losses->recorded);
}

/** kvp_wait_for_memory() - wait a moment before another try. Context: process. */
static inline void kvp_wait_for_memory(void)
{
	schedule_timeout_uninterruptible(msecs_to_jiffies(KVP_RETRY_MS));
}

/**
 * kvp_leg_in_sync() - true if the leg is a source: it may be read, and counts for redundancy
 *
 * It takes writes as well: kvp_leg_takes_writes(). Context: any.
 */
static inline bool kvp_leg_in_sync(const struct kvp_leg *leg)
{
	return leg->bdev && READ_ONCE(leg->state) == KVP_LEG_IN_SYNC;
}

/**
 * kvp_leg_takes_writes() - true if home writes, table pages, superblocks and flushes go to the leg
 *
 * That is true for a leg in sync, and for one that resilvers, which is never read. The log goes to
 * the latter only at the end (kvp_leg_takes_log()). Context: any.
 */
static inline bool kvp_leg_takes_writes(const struct kvp_leg *leg)
{
	u32 state = READ_ONCE(leg->state);

	return leg->bdev && (state == KVP_LEG_IN_SYNC || state == KVP_LEG_RESILVERING);
}

/** kvp_leg_resilvers() - true if the leg takes writes, and is not a source yet. Context: any. */
static inline bool kvp_leg_resilvers(const struct kvp_leg *leg)
{
	return leg->bdev && READ_ONCE(leg->state) == KVP_LEG_RESILVERING;
}

/**
 * kvp_leg_takes_log() - true if log entries go to the leg
 *
 * Reads the state only once: between two reads the leg could become in sync. Context: any. Under
 * build_lock, true means that all later entries go there.
 */
static inline bool kvp_leg_takes_log(const struct kvp_leg *leg)
{
	u32 state = READ_ONCE(leg->state);

	return leg->bdev && (state == KVP_LEG_IN_SYNC ||
			     (state == KVP_LEG_RESILVERING && READ_ONCE(leg->takes_log)));
}

/**
 * kvp_leg_keeps_log() - true if @leg is out, and has all entries of the log that count
 *
 * The log was lost when this leg was, and not after that. Superblocks call the leg in sync until
 * the log has moved. Context: any.
 */
static inline bool kvp_leg_keeps_log(const struct kvp_leg *leg)
{
	if (READ_ONCE(leg->state) == KVP_LEG_IN_SYNC)
		return false;
	smp_rmb();	/* state, then keeps_log; pairs with the write barrier in __take_out() */
	return READ_ONCE(leg->keeps_log);
}

/** kvp_leg_is_shadow() - true if @leg is the pool's shadow, which is no leg. Context: any. */
static inline bool kvp_leg_is_shadow(const struct kvp_leg *leg)
{
	return leg->index == KVP_SHADOW;
}

/** enum kvp_ram_bypass - why blocks of a read are not kept; for statistics */
enum kvp_ram_bypass {
	KVP_RAM_KEEP,		/* they are kept */
	KVP_RAM_LONG,		/* the read was over KVP_RCACHE_STRETCH blocks, or was cut */
	KVP_RAM_STREAM,		/* it was part of a long stream */
	KVP_RAM_AHEAD,		/* it was read ahead: no request has asked for it yet */
	KVP_RAM_BYPASSES
};

/** enum kvp_admit_refusal - why a block read from home was not admitted; for statistics */
enum kvp_admit_refusal {
	KVP_ADMIT_EVIDENCE,	/* it was seen too seldom, or only read ahead */
	KVP_ADMIT_STREAM,	/* it was part of a long stream */
	KVP_ADMIT_BUDGET,	/* enough was written to the cache */
	KVP_ADMIT_MEMORY,	/* no page, or no memory for the index */
	KVP_ADMIT_LOG,		/* the log is short of space, or does not work */
	KVP_ADMIT_CHANGED,	/* it has changed since it was read, or is in the cache by now */
	KVP_ADMIT_REFUSALS
};

/* Counters that every request changes, and so one set for each processor. */
struct kvp_stats {
	u64 read_blocks, write_blocks, discard_blocks, zero_read_blocks;
	u64 coalesced_blocks, buffer_read_blocks, read_retries, rebuilt_blocks;
	u64 ram_hits, ram_misses, ram_fills, ram_written;	/* blocks */
	u64 ram_bypassed[KVP_RAM_BYPASSES];			/* blocks */
	u64 ssd_hits, ssd_misses, ssd_mistrusted;		/* blocks */
	u64 ssd_reinserted;
	u64 ssd_fills, ssd_refused[KVP_ADMIT_REFUSALS];		/* blocks */
	u32 untimed;						/* a counter of io/slow.c */
};

/* Counters of background work. */
struct kvp_work_stats {
	atomic64_t page_reads, page_writes, leaf_writes, checkpoints, ssd_page_reads,
		   ssd_page_writes;
	atomic64_t destage_blocks, destage_ios, renewed, healed, unrepaired, table_healed;
	atomic64_t leaf_lost;	/* blocks poisoned because their leaf was lost */
	atomic64_t leaf_discards;	/* leaves that a discard has changed, or may have changed */
};

enum kvp_pool_flags {
	KVP_POOL_READONLY,
	KVP_POOL_RUNNING,	/* between start and stop */
	KVP_POOL_STARTING,	/* a leg that does not answer becomes silent (io/flight.h) */
	KVP_POOL_SUSPENDING,	/* about to be quiesced: orders end early */
	KVP_POOL_QUIESCED,	/* between quiesce and unquiesce: suspended */
	/* kvp_pool_empty() runs: blocks on legs that do not answer are not given up */
	KVP_POOL_EMPTYING,
};

struct kvp_recovery_info {
	u64 ms, replayed, torn_accepted;
	u64 kept;			/* blocks that the recovery left in the log */
	bool went_back;		/* by order, to an older superblock: newer ones may be lost */
	/* started by order, read-only, without legs that may hold newer data; has no fork id */
	bool parted;
	/* a leg may have the next superblock where it cannot be read: kvp_sb_roll_forward() */
	bool next_unread;
	/* The newest epoch of a leg that was passed by (outs.h), 0: none was. */
	u64 passed_epoch;
	/* A cache was missing: its log is discarded, or was empty. */
	bool log_moved;
	kvp_lsn_t discarded_lsn;	/* where the discarded log began; 0: none was discarded */
	u64 discarded_mib;		/* kvp_log_counted_mib() of it */
	u64 discarded_blocks;		/* blocks known to be lost with it, and poisoned */
	bool may_discard_log;	/* the order allows to discard the log of a cache */
	bool discard_log;	/* it is discarded */
};

struct kvp_pool {
	/* The legs and vdevs are fixed while the pool runs. */
	struct kvp_leg legs[KVP_MAX_LEGS];
	u32 nr_legs;
	/*
	 * The shadow is not one of the legs. It is never read, counts for nothing, and code that
	 * goes through the legs does not see it. Its state is stale, resilvering, or faulted. @v is
	 * NULL if there is none. Status and the watch look at it at any time: pool/shadow.c changes
	 * it only with @v NULL.
	 */
	struct kvp_leg shadow;
	u32 shadow_of;		/* number, in its vdev, of the leg that it is to replace */
	/* the shadow resilvers still, and has all that its leg has; by members_lock */
	bool shadow_ready;
	struct kvp_vdevs vdevs;
	wait_queue_head_t stripes_wait;	/* for kvp_vdev.homing to fall to 0 */
	wait_queue_head_t suspend_wait;	/* for KVP_POOL_SUSPENDING to be cleared */
	u32 seed;			/* for sums of data, by block of the pool: kvp_sum_seed() */
	unsigned long flags;		/* bits of enum kvp_pool_flags */
	struct kvp_failure failure;
	u64 tunables[KVP_TUNABLES];	/* read with READ_ONCE */

	struct mutex sb_lock;
	struct kvp_sb *sb;		/* the newest superblock; by sb_lock */
	struct kvp_losses losses;
	/* of the newest durable superblock: the log must name no newer epoch */
	u64 durable_epoch;
	struct sb_write *sb_write;
	spinlock_t members_lock;	/* irqsave; changes of legs[].state */

	struct kvp_wbuf *wbuf;
	struct kvp_rcache *rcache;
	struct kvp_streams streams;	/* of reads */
	struct kvp_scache *scache;
	struct kvp_throttle *throttle;
	struct kvp_speed *speed;	/* how fast versions go home */
	struct kvp_reinsert *reinsert;
	struct kvp_rebuild *rebuild;
	struct kvp_admission *admission;	/* to @scache, of blocks that were read from home */
	struct kvp_log *log;
	struct kvp_table *table;
	struct kvp_ssdcopies *ssdcopies;	/* of the table's pages */
	struct kvp_range_locks ranges;
	struct mutex checkpoint_lock;
	struct kvp_destage *destage;
	struct kvp_scrub *scrub;
	struct kvp_resilver *resilver;
	struct kvp_returns *returns;	/* legs that wait to be brought online */
	struct kvp_ahead *ahead;
	struct kvp_trim *trim;
	struct kvp_passdown *passdown;
	struct kvp_drain *drain;
	struct kvp_events *events;
	struct kvp_slow *slow;		/* which legs are slow */
	struct kvp_finds *finds;
	struct kvp_recovery_info recovery;

	struct work_struct members_work, poison_work;

	struct workqueue_struct *commit_wq;	/* commit, post, flush: must not wait for destage */
	struct workqueue_struct *work_wq;	/* destage, direct writes, members, events */
	struct workqueue_struct *scrub_wq;	/* scrub, which must never delay the two above */

	struct kvp_flights *flights;		/* requests that legs have, and strays */
	struct kvp_heartbeat *heartbeat;
	/* boot time in ns: nothing is written from then on; 0: always. By super/heartbeat.c */
	u64 write_until;
	/* Of the target: called when the last reference was dropped; or NULL. */
	void (*gone)(struct kvp_pool *pool);
	/* Of the registry: for a pool that has stopped while legs have strays. */
	struct list_head leaving;
	struct bio_set *bios;			/* by io_bio.c */
	struct kvp_leg_queues *leg_queues;	/* by leg_queue.c */
	struct kvp_stats __percpu *stats;
	struct kvp_work_stats work_stats;

	kvp_vdev_ops_of_t ops_of;	/* set by kvp_wire() */

	/*
	 * Clients: calls from lower floors to higher ones; set by kvp_wire(). That of a cache is in
	 * @vdevs.
	 */
	const struct kvp_leg_client *leg_client;
	const struct kvp_members_client *members_client;
	const struct kvp_sb_client *sb_client;
	/* a checkpoint is durable: kvp_passdown_checkpointed() */
	void (*checkpointed)(struct kvp_pool *pool);
	void (*put)(struct kvp_pool *pool);	/* kvp_pool_free() */

	void (*space)(struct kvp_pool *pool);	/* request path: buffer pages became free */
	void (*notify)(struct kvp_pool *pool);	/* target: raise a device-mapper event */
	void *requests;				/* of the request path, for @space */
	void *owner;				/* of the target, for @notify and claim */
};

/** kvp_pool_logs_on_cache() - true if a cache carries the log now. It may move. Context: any. */
static inline bool kvp_pool_logs_on_cache(const struct kvp_pool *pool)
{
	return kvp_vdevs_log_on_cache(&pool->vdevs);
}

/**
 * kvp_shadowed() - the leg that the pool's shadow is to replace; NULL: there is none. Context: any.
 */
static inline struct kvp_leg *kvp_shadowed(const struct kvp_pool *pool)
{
	/* pairs with show() in pool/shadow.c */
	const struct kvp_vdev *v = smp_load_acquire(&pool->shadow.v);

	return v ? &v->legs[pool->shadow_of] : NULL;
}

/**
 * kvp_leg_shadow() - the shadow, if home writes and table pages for @leg go to it as well; or NULL
 *
 * Writes that heal a copy on @leg do not: the shadow has that version already, and a write that a
 * power cut tears would damage it. Context: any.
 */
static inline struct kvp_leg *kvp_leg_shadow(const struct kvp_leg *leg)
{
	struct kvp_pool *pool = leg->pool;

	return kvp_shadowed(pool) == leg && kvp_leg_resilvers(&pool->shadow) ? &pool->shadow : NULL;
}

/**
 * kvp_legs_beside() - the number of legs, and one more if the shadow has a device. Context: any.
 */
static inline u32 kvp_legs_beside(const struct kvp_pool *pool)
{
	return pool->nr_legs + (READ_ONCE(pool->shadow.bdev) ? 1 : 0);
}

/** kvp_leg_beside() - leg @i of kvp_legs_beside(); the last one is the shadow. Context: any. */
static inline struct kvp_leg *kvp_leg_beside(struct kvp_pool *pool, u32 i)
{
	return i < pool->nr_legs ? &pool->legs[i] : &pool->shadow;
}

static inline bool kvp_pool_readonly(const struct kvp_pool *pool)
{
	return test_bit(KVP_POOL_READONLY, &pool->flags);
}

/**
 * kvp_pool_has_leg_on() - true if @bdev is the device of a leg, in use or not
 *
 * Context: the pool is quiesced.
 */
static inline bool kvp_pool_has_leg_on(const struct kvp_pool *pool, const struct block_device *bdev)
{
	u32 i;

	for (i = 0; i < pool->nr_legs; i++)
		if (pool->legs[i].bdev == bdev)
			return true;
	return false;
}

/** kvp_pool_failure() - how the pool fails now. Context: any. */
static inline enum kvp_failure_mode kvp_pool_failure(const struct kvp_pool *pool)
{
	return kvp_failure_mode(&pool->failure);
}

/** kvp_pool_faulted() - true if nothing becomes durable until `clear`, or at all. Context: any. */
static inline bool kvp_pool_faulted(const struct kvp_pool *pool)
{
	return kvp_faulted(&pool->failure);
}

/**
 * kvp_writes_barred() - true if no write may be sent to a leg any more: another host may use it
 *
 * If the heartbeat is late, the pool fails now. Context: any.
 */
static inline bool kvp_writes_barred(struct kvp_pool *pool)
{
	u64 until = READ_ONCE(pool->write_until);

	return until && (kvp_failed_by(&pool->failure, KVP_FAIL_HOST) ||
			 (ktime_get_boottime_ns() >= until && kvp_fail_late(&pool->failure)));
}

/**
 * kvp_leg_failed_write() - count a write or flush that failed, for the administrator
 *
 * Does not count if the leg was given up meanwhile: its requests end with an error, whatever it
 * would have answered. Nor if another host may have the pool: then the leg was sent nothing.
 * Context: any.
 */
void kvp_leg_failed_write(struct kvp_leg *leg);

/** kvp_pool_waits() - kvp_failure_waits() of the pool. Context: any. */
static inline bool kvp_pool_waits(const struct kvp_pool *pool)
{
	return kvp_failure_waits(&pool->failure, READ_ONCE(pool->tunables[KVP_T_FAILMODE]));
}

/* True if there is a loss that is not recorded on the other legs yet. */
static inline bool kvp_members_dirty(const struct kvp_pool *pool)
{
	return kvp_losses_dirty(&pool->losses);
}

/**
 * kvp_leg_fail() - a leg did not take a required write: never use it again
 *
 * A leg that its vdev needs is not given up: then this returns false, and the caller fails the
 * request. Otherwise no FLUSH or FUA is acknowledged until the other legs record the loss
 * (kvp_members_settle()). Context: any.
 */
static inline bool __must_check kvp_leg_fail(struct kvp_leg *leg, const char *why)
{
	return leg->pool->leg_client->fail(leg, why);
}

/**
 * kvp_leg_give_up() - kvp_leg_fail() for a caller that does not depend on the result
 *
 * A leg that its vdev needs stays in use. Context: any.
 */
static inline void kvp_leg_give_up(struct kvp_leg *leg, const char *why)
{
	leg->pool->leg_client->fail(leg, why);
}

/**
 * kvp_leg_flush_failed() - a flush of a leg failed: blocks in its cache may be lost (R20)
 *
 * The leg is given up. If the pool needs it, this returns false, and the pool is faulted. Only a
 * restart helps then, unless the flush was never issued. Context: any.
 */
static inline bool kvp_leg_flush_failed(struct kvp_leg *leg)
{
	return leg->pool->leg_client->flush_failed(leg);
}

/**
 * kvp_pool_space() - tell the request path, if there is one, that buffer pages or log space are
 * free
 *
 * Context: any.
 */
static inline void kvp_pool_space(struct kvp_pool *pool)
{
	if (pool->space)
		pool->space(pool);
}

/** kvp_pool_end() - the block behind the last one of the pool. Any context. */
static inline kvp_block_t kvp_pool_end(const struct kvp_pool *pool)
{
	return kvp_block(pool->sb->pool_blocks);
}

/** kvp_locate() - the place of @block of the pool. Any context. */
static inline struct kvp_spot kvp_locate(struct kvp_pool *pool, kvp_block_t block)
{
	return kvp_vdevs_find(&pool->vdevs, block);
}

/** kvp_home_block() - the place of @block on its leg; in a single or mirror, on every leg */
static inline kvp_lblock_t kvp_home_block(struct kvp_pool *pool, kvp_block_t block)
{
	struct kvp_spot at = kvp_locate(pool, block);

	return kvp_data_place(at.v->g, at.block).block;
}

/** kvp_legs_usable() - number of legs in sync. Context: any. */
u32 kvp_legs_usable(const struct kvp_pool *pool);

/* A refusal, in words for people: what was refused, why, and how to mend it. */
struct kvp_refusal {
	char what[96], why[512], mend[192];
};

/** kvp_refuse() - fill in why and mend; returns @error. Context: any. */
__printf(4, 5) int kvp_refuse(struct kvp_refusal *r, int error, const char *mend,
			      const char *fmt, ...);

#endif /* KVP_CORE_H */
