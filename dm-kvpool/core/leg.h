/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A leg: one device of the pool. What a leg is asked to do is in io/; what becomes of it when it
 * fails, in super/members.h.
 */
#ifndef KVP_LEG_H
#define KVP_LEG_H

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/types.h>

#include "format/format.h"
#include "format/shadow.h"

struct block_device;
struct kvp_leg_queue;
struct kvp_pool;
struct kvp_vdev;

#define KVP_PATH_LEN	256	/* as in the table line; MAJOR:MINOR instead of a longer path */

/* The rings on the legs: of all events, and of orders (super/events.h). */
enum kvp_events_ring { KVP_EVENTS_ALL, KVP_EVENTS_ORDERS, KVP_EVENTS_RINGS };

/* Kinds of requests that can be made to fail by order (io/inject.h). */
enum kvp_fault { KVP_FAULT_READ, KVP_FAULT_WRITE, KVP_FAULT_FLUSH, KVP_FAULTS };

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
	/* At a start: a newer module wrote some slots of its label. */
	bool newer;
	bool flush_lost;		/* a flush failed for good: its cached writes may be lost */
	bool late;			/* it has not answered for a second */
	bool slow;			/* it is read last (policy/slow.h) */
	atomic_t passed_over;		/* reads that went to others since it is slow */
	/* at a start: it has kept a request for leg_timeout (R28) */
	bool silent;
	unsigned long answered;		/* jiffies: when it answered some request last */
	/* Jiffies, made odd: it refused a read for so long that the reader gave up; 0: never. */
	unsigned long in_vain;
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

/**
 * kvp_leg_gives() - a read of @leg ended well, so callers wait for @leg again. Any context.
 */
static inline void kvp_leg_gives(struct kvp_leg *leg)
{
	if (READ_ONCE(leg->in_vain))
		WRITE_ONCE(leg->in_vain, 0);
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

/**
 * kvp_leg_is_read_last() - true if users' reads should rather go to other legs, as far as those
 * have the blocks, or can make them
 *
 * It is slow (policy/slow.h), or has not answered for a second. Context: any.
 */
static inline bool kvp_leg_is_read_last(const struct kvp_leg *leg)
{
	return READ_ONCE(leg->slow) || READ_ONCE(leg->late);
}

/** kvp_leg_is_shadow() - true if @leg is the pool's shadow, which is no leg. Context: any. */
static inline bool kvp_leg_is_shadow(const struct kvp_leg *leg)
{
	return leg->index == KVP_SHADOW;
}

#endif /* KVP_LEG_H */
