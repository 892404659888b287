/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Destage writes home what is durable in the log, in rounds.
 *
 * Each pool has one worker, on work_wq. The list of its steps is in destage.c. kvp_destage_kick()
 * starts it. The log calls that when entries have become durable, or when it is short of space. The
 * request path calls it when the buffer is full, and timers call it when writers are quiet. Orders
 * (`destage`, a suspend, a drain) let the worker write everything home, and wait for it
 * (kvp_destage_all(), kvp_destage_beside(), kvp_destage_order()).
 *
 * A kick with @now lets everything below the newest durable place go home, and a checkpoint
 * follows. After a kick without @now, the worker decides whether enough versions wait. With the log
 * on a cache, it also keeps its pace.
 *
 * Locks: the worker holds none between rounds. A round takes range locks (home/home.h), and a
 * checkpoint takes checkpoint_lock. The worker may wait for commits, since the parity of a parity1
 * is logged first. So no work on commit_wq may wait for the worker.
 *
 * The folder work/ has all that the pool does in the background. Each file has its reasons at its
 * head, and all of it can be stopped, and goes on later:
 *
 *   direct.h     large writes go home once their intents are durable
 *   elevator.h   which blocks of a cache go next, by address
 *   burst.h      how destage rests while the host is busy
 *   renew.h      dirty blocks of a cache's log are appended again, without the disks
 *   resilver.h   a leg that was out gets what it missed
 *   scrub.h      every copy is read, verified and healed
 *   trim.h       legs are told which blocks have no contents
 *   changed.h    which blocks changed since a point in history; it has no worker
 *
 * kvp_pool_quiesce() stops scrub and trim first, then the log with its direct workers, and destage
 * last.
 */
#ifndef KVP_DESTAGE_H
#define KVP_DESTAGE_H

#include "home/home.h"
#include "log/log.h"
#include "log/spill.h"
#include "work/burst.h"
#include "work/elevator.h"
#include "work/renew.h"

struct kvp_home;
struct kvp_pool;

enum kvp_destage_flags {
	KVP_DESTAGE_DRAIN,	/* write everything home, then take a checkpoint */
	KVP_DESTAGE_STOP,
	KVP_DESTAGE_HURRY,	/* a caller waits for that */
};

struct kvp_destage {
	struct kvp_pool *pool;
	struct work_struct work;
	struct delayed_work idle_work;
	unsigned long flags;
	struct kvp_home *home;
	/* the spilled versions that the elevator knows by address */
	struct kvp_elevator elevator;
	u32 unknown;			/* versions that it could not learn of the last time */
	struct kvp_renew renew;
	/* calls that wait until all is home: no block is renewed meanwhile */
	atomic_t orders;
	bool renewing;			/* the worker is renewing now */
	struct delayed_work pace_work;	/* starts the next round, with the log on a cache */
	/* jiffies: no round before @next; nor before @yield, unless a writer waits */
	unsigned long next, yield;
	/* number of blocks that had gone home by intent when the last burst ended */
	u64 intents;
	bool yields;			/* more of them went home in the last burst */
	/*
	 * jiffies: readers of home have the disks until then; blocks that were read, jiffies of the
	 * last look at these, and of the last one that found more
	 */
	unsigned long rest, read_looked, read_at;
	u64 reads;
	struct kvp_burst burst;
	bool gentle;			/* this burst has few requests; by @work */
	bool hurries;			/* a caller waits for the drain that is running; by @work */
	atomic_t awaited;		/* callers that wait for @done_lsn or @ended */
	u64 seq;			/* the newest accepted seq at the last look */
	unsigned long seq_at;		/* jiffies: when it was last seen to change */
	struct kvp_discard_at discard;	/* progress of the last discard that was begun */
	u32 round;			/* versions that the next round takes, by kvp_pace() */
	/* The most requests of the elevator in a round, by kvp_pace(); in a short burst. */
	u32 runs, few_runs;
	kvp_lsn_t done_lsn;			/* everything below is home and checkpointed */
	int error;			/* of the last round */
	/* In this run something was kept back, since a page of the table is silent. By @work. */
	bool kept;
	bool homed;	/* something went home in this run */
	u32 in_vain;	/* versions that rounds took of which none went home */
	unsigned long holes_rest;	/* jiffies: discards wait until then, if @holes_kept */
	bool holes_kept;
	u32 ended;			/* how many runs of @work have ended; by it */
	/* woken for @ended, @done_lsn, KVP_DESTAGE_STOP, and the begin and end of a suspend */
	wait_queue_head_t wait;
};

/**
 * kvp_destage_init() - get memory for the worker, which may run from now on. Return: 0 or -ENOMEM.
 *
 * kvp_destage_exit() - free it; the worker has been stopped
 *
 * kvp_destage_stop() - wait until worker and timers have ended, and let none start. A round in
 * flight is finished; this waits idle for that.
 *
 * kvp_destage_start() - let the worker run again. Nothing begins before it is kicked.
 *
 * Context: process; kvp_destage_stop() waits for I/O.
 */
int __must_check kvp_destage_init(struct kvp_pool *pool);
void kvp_destage_exit(struct kvp_pool *pool);
void kvp_destage_start(struct kvp_pool *pool);
void kvp_destage_stop(struct kvp_pool *pool);

/** kvp_destage_is_past() - true if all below @lsn is home and checkpointed. Any context. */
static inline bool kvp_destage_is_past(const struct kvp_destage *dg, kvp_lsn_t lsn)
{
	return !kvp_lsn_before(READ_ONCE(dg->done_lsn), lsn);
}

/** kvp_destage_stops() - true if the worker is to end, and begins nothing new. Any context. */
static inline bool kvp_destage_stops(const struct kvp_destage *dg)
{
	return test_bit(KVP_DESTAGE_STOP, &dg->flags);
}

/**
 * kvp_destage_hurries() - true if a caller waits for a drain that runs, or comes next, or if
 * destage stops. Context: the destage worker.
 */
static inline bool kvp_destage_hurries(const struct kvp_destage *dg)
{
	return dg->hurries || test_bit(KVP_DESTAGE_HURRY, &dg->flags) || kvp_destage_stops(dg);
}

/** kvp_destage_is_awaited() - true if a suspend or an order waits for destage. Any context. */
static inline bool kvp_destage_is_awaited(const struct kvp_destage *dg)
{
	return atomic_read(&dg->awaited);
}

/** kvp_destage_round() - how many versions a round takes now. Any context. */
static inline u32 kvp_destage_round(const struct kvp_destage *dg)
{
	return READ_ONCE(dg->round);
}

/**
 * kvp_destage_swap_home() - use @home as memory for writing home
 *
 * Return: the old one. Context: the pool is quiesced.
 */
static inline struct kvp_home *kvp_destage_swap_home(struct kvp_destage *dg, struct kvp_home *home)
{
	swap(dg->home, home);
	return home;
}

/** kvp_destage_look() - let waiters for destage test their condition again. Any context. */
static inline void kvp_destage_look(struct kvp_destage *dg)
{
	wake_up_all(&dg->wait);
}

/**
 * kvp_destage_kick() - start destage if there is enough to do; with @now in any case. Any context.
 */
void kvp_destage_kick(struct kvp_pool *pool, bool now);

/**
 * kvp_destage_ask() - let everything in the log go home, and move the tail. Any context.
 *
 * Unlike kvp_destage_kick(), this does not hurry: beside a busy host destage rests in between.
 */
void kvp_destage_ask(struct kvp_pool *pool);

/**
 * kvp_destage_relieve() - free pages of the buffer, for a writer that gets none although it is not
 * full
 *
 * Lets buffered blocks be committed, and versions go home. Does nothing if the buffer is half full,
 * or if a commit comes anyway. Context: process.
 */
void kvp_destage_relieve(struct kvp_pool *pool);

/**
 * kvp_destage_all() - write home everything accepted so far, and take a checkpoint
 *
 * Waits until the worker has stopped, so there must be no writers. Return: 0 or -errno. Context:
 * process, waits for I/O; the caller holds no lock.
 */
int kvp_destage_all(struct kvp_pool *pool);

/**
 * kvp_destage_beside() - the same for the suspend with number @suspend, while writers go on; does
 * not wait for later writes. Returns -EINTR as soon as that suspend is over (kvp_is_suspending())
 *
 * kvp_destage_order() - the same for an order; returns -EINTR as soon as the pool is about to be
 * suspended
 */
int kvp_destage_beside(struct kvp_pool *pool, u32 suspend);
int __must_check kvp_destage_order(struct kvp_pool *pool);

/**
 * kvp_destage_many_passed() - true if streams have passed so many versions that it is worth
 * dropping them before destage comes to them. Any context.
 */
bool kvp_destage_many_passed(const struct kvp_pool *pool);

/**
 * kvp_destage_drop_passed() - drop all versions that streams have passed
 *
 * Context: the destage worker, under checkpoint_lock, with no version in hand; may sleep.
 */
void kvp_destage_drop_passed(struct kvp_pool *pool);

/** kvp_destage_legs_seek() - true if any leg is a disk that seeks. Any context. */
bool kvp_destage_legs_seek(const struct kvp_pool *pool);

/**
 * kvp_destage_tail_waits() - true if more than half of the log is used, and a checkpoint would free
 * enough of it
 *
 * Context: process.
 */
bool kvp_destage_tail_waits(struct kvp_pool *pool);

/**
 * kvp_destage_last_tail() - take a checkpoint with the tail as far as possible
 *
 * Writes no version home. Destage, direct workers and builder are stopped. Return: 0 or -errno.
 * Context: process, waits for I/O.
 */
int kvp_destage_last_tail(struct kvp_pool *pool);

#endif /* KVP_DESTAGE_H */
