/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Destage: what is durable in the log is written home, in rounds.
 *
 * One worker a pool, on work_wq. The list of its steps is in destage.c. kvp_destage_kick() starts
 * it: the log does when entries have become durable, or when it is short of space; the request path
 * when the buffer is full; timers when writers are quiet. Orders (`destage`, a suspend, a drain)
 * have the worker write everything home, and wait for it (kvp_destage_all(), kvp_destage_beside(),
 * kvp_destage_order()).
 *
 * A kick with @now asks for everything below the newest durable place, and a checkpoint behind it.
 * A kick without leaves it to the worker: whether enough waits, whether a cache has its pace.
 *
 * Locks: the worker holds none between rounds. A round takes range locks (home/home.h), and a
 * checkpoint takes checkpoint_lock. It may wait for commits, as the parity of a parity1 is logged
 * first, and so nothing on commit_wq may wait for it.
 *
 * The other workers of this folder: direct.c writes intents home, elevator.c chooses what of a
 * cache goes next by address, scrub.c verifies, trim.c tells legs what holds nothing.
 * kvp_pool_quiesce() stops scrub and trim first, then the log with its direct workers, and destage
 * last.
 */
#ifndef KVP_DESTAGE_H
#define KVP_DESTAGE_H

#include "home/home.h"
#include "log/log.h"
#include "log/spill.h"
#include "policy/yield.h"
#include "work/elevator.h"
#include "work/renew.h"

struct kvp_home;
struct kvp_pool;

enum kvp_destage_flags {
	KVP_DESTAGE_DRAIN,	/* everything, then a checkpoint */
	KVP_DESTAGE_STOP,
	KVP_DESTAGE_HURRY,	/* a caller waits for that drain */
};

struct kvp_destage {
	struct kvp_pool *pool;
	struct work_struct work;
	struct delayed_work idle_work;
	unsigned long flags;
	struct kvp_home *home;
	struct kvp_elevator sweep;		/* the spilled versions that it knows by address */
	struct kvp_renew renew;
	atomic_t orders;		/* calls that wait until all is home: nothing is renewed */
	bool renewing;			/* the worker renews just now */
	struct delayed_work pace_work;	/* next round of a log on a cache */
	/* jiffies: no round before @next; nor before @yield, if no writer waits */
	unsigned long next, yield;
	u64 intents;			/* blocks that had gone by intent after the last turn */
	bool yields;			/* some more did in the last turn */
	/* By turn.c: */
	struct kvp_yield host;		/* what the host was seen to do */
	bool hurries;			/* a caller waits for the drain that is under way; by @work */
	bool brief;			/* this turn is short */
	u64 rest;			/* after the last turn, ns */
	u32 rested;			/* so many times */
	atomic_t awaited;		/* callers that wait for @done_lsn or @ended */
	u64 seq;			/* the newest accepted seq at the last look, */
	unsigned long seq_at;		/* when it was last seen to change (jiffies) */
	struct kvp_discard_at discard;	/* progress of the last discard that was begun */
	u32 round;			/* versions to take in the next one, by kvp_pace() */
	u32 runs, few_runs;		/* the most requests of the sweep for it, by the same; in a short turn */
	kvp_lsn_t done_lsn;			/* everything below is home and checkpointed */
	int error;			/* of the last round */
	u32 ended;			/* runs of @work that have ended; by it */
	wait_queue_head_t wait;		/* for @ended, @done_lsn, KVP_DESTAGE_STOP and KVP_POOL_SUSPENDING */
};

int __must_check kvp_destage_init(struct kvp_pool *pool);
void kvp_destage_exit(struct kvp_pool *pool);
void kvp_destage_start(struct kvp_pool *pool);
void kvp_destage_stop(struct kvp_pool *pool);

/** kvp_destage_round() - versions that a round takes now. Any context. */
static inline u32 kvp_destage_round(const struct kvp_destage *dg)
{
	return READ_ONCE(dg->round);
}

/**
 * kvp_destage_swap_home() - use the memory of @home.
 *
 * Return: the old one. Context: the pool is quiesced.
 */
static inline struct kvp_home *kvp_destage_swap_home(struct kvp_destage *dg, struct kvp_home *home)
{
	swap(dg->home, home);
	return home;
}

/** kvp_destage_look() - make waiters for destage test their condition again. Any context. */
static inline void kvp_destage_look(struct kvp_destage *dg)
{
	wake_up_all(&dg->wait);
}

/** kvp_destage_kick() - start destage if it is time, or @now in any case */
void kvp_destage_kick(struct kvp_pool *pool, bool now);

/**
 * kvp_destage_relieve() - a writer finds the buffer not full, and yet no page: make pages in use
 *	come home
 *
 * Not where no more may be buffered before it is committed: that comes by itself if the log has
 * space, or if renewal makes some. Context: process.
 */
void kvp_destage_relieve(struct kvp_pool *pool);

/** kvp_destage_all() - bring everything accepted so far home, and take a checkpoint */
int kvp_destage_all(struct kvp_pool *pool);

/**
 * kvp_destage_beside() - the same beside writers: does not wait for later writes
 *
 * kvp_destage_order() - the same for an order: returns -EINTR as soon as the pool is about to be
 * suspended
 */
int kvp_destage_beside(struct kvp_pool *pool);
int __must_check kvp_destage_order(struct kvp_pool *pool);

/**
 * kvp_destage_last_tail() - take a checkpoint with the tail as far as it can be
 *
 * Brings nothing home for that.
 *
 * Destage, direct workers and builder are stopped. Return: 0 or -errno. Context: process, waits for
 * I/O.
 */
int kvp_destage_last_tail(struct kvp_pool *pool);

#endif /* KVP_DESTAGE_H */
