/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The pool: fields that all parts share. It names its parts, but only pool/pool.c knows them.
 *
 * Beside this file, core/ has a leg (leg.h), a vdev (vdev.h), the shadow (shadow.h), counters of
 * requests (stats.h) and of background work (work_stats.h), what a start has found
 * (recovery_info.h), a place in the log (log_mark.h), how a pool fails (failure.h), and how it
 * refuses (refusal.h).
 *
 * Words: docs/design/words.md. A block is 4 KiB; "block" alone is a block of the pool's device. A
 * leg's own blocks are said to be "on the leg".
 *
 * Locks and their order: docs/design/locks-and-contexts.md.
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
#include <linux/seqlock.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "core/failure.h"
#include "core/leg.h"
#include "core/range_lock.h"
#include "core/recovery_info.h"
#include "core/trace.h"
#include "core/vdev.h"
#include "core/work_stats.h"
#include "format/format.h"
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
struct kvp_stats;
struct kvp_table;
struct kvp_ahead;
struct kvp_trim;
struct kvp_wbuf;

#define KVP_RETRY_MS	100	/* wait after memory was short */
/* A superblock has the progress of a scrub or a trim so often. */
#define KVP_NOTE_WORK	(10 * HZ)

/** kvp_wait_for_memory() - wait a moment before another try. Context: process. */
static inline void kvp_wait_for_memory(void)
{
	schedule_timeout_uninterruptible(msecs_to_jiffies(KVP_RETRY_MS));
}

#define KVP_WORK_LOOK	DIV_ROUND_UP(HZ, 100)	/* between two looks at a work that may run long */

/**
 * kvp_work_wait() - wait until @work does not run; it may be queued
 *
 * The work may wait for slow disks. This sleeps idle: otherwise the kernel reports the task as hung
 * after two minutes. To call it before cancel_work_sync() leaves little for that. Context: process.
 */
static inline void kvp_work_wait(struct work_struct *work)
{
	while (work_busy(work) & WORK_BUSY_RUNNING)
		schedule_timeout_idle(KVP_WORK_LOOK);
}

enum kvp_pool_flags {
	KVP_POOL_READONLY,
	KVP_POOL_RUNNING,	/* between start and stop */
	KVP_POOL_STARTING,	/* a leg that does not answer becomes silent (io/flight.h) */
	KVP_POOL_SUSPENDING,	/* about to be quiesced: orders end early */
	KVP_POOL_QUIESCED,	/* between quiesce and unquiesce: suspended */
	KVP_POOL_HALTED,	/* the same, and kvp_pool_finish() has something to do */
	/* kvp_pool_empty() runs: blocks on legs that do not answer are not given up */
	KVP_POOL_EMPTYING,
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
	wait_queue_head_t suspend_wait;	/* for kvp_is_suspending() to end */
	u32 suspend;			/* number of the suspend, with KVP_POOL_SUSPENDING */
	struct kvp_seed seed;		/* for sums of data: kvp_sum_seed() */
	unsigned long flags;		/* bits of enum kvp_pool_flags */
	struct kvp_failure failure;
	u64 tunables[KVP_TUNABLES];	/* read with READ_ONCE */

	struct mutex set_lock;		/* orders that set a tunable; taken before sb_lock */
	struct mutex sb_lock;
	struct kvp_sb *sb;		/* the newest superblock; by sb_lock */
	struct kvp_sb *published;	/* the newest one that counts; by sb_lock */
	seqcount_mutex_t published_seq;	/* for readers without sb_lock: super/commit.h */
	u32 changes;			/* odd while a new table changes legs or vdevs */
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

/**
 * kvp_is_suspending() - true from kvp_pool_suspending(), which returned @suspend, until the pool is
 * suspended, or that suspend is over, or left to itself
 *
 * Context: any.
 */
static inline bool kvp_is_suspending(const struct kvp_pool *pool, u32 suspend)
{
	return test_bit(KVP_POOL_SUSPENDING, &pool->flags) && READ_ONCE(pool->suspend) == suspend;
}

/** kvp_pool_readonly() - true if the pool was started read-only, as it stays. Context: any. */
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

/** kvp_members_dirty() - true if a loss is not recorded on the other legs yet. Context: any. */
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

#endif /* KVP_CORE_H */
