/* SPDX-License-Identifier: GPL-2.0-only */
/* Change the mode of a cache, and empty its log, while the pool runs. */
#ifndef KVP_CACHEMODE_H
#define KVP_CACHEMODE_H

#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

struct kvp_pool;
struct kvp_refusal;

enum kvp_drain_state {
	KVP_DRAIN_NONE,
	KVP_DRAIN_RUNNING,
	KVP_DRAIN_DONE,
	KVP_DRAIN_CANCELLED,
	KVP_DRAIN_FAILED,
};

/* Whether a drain goes on. Once the log moves, that cannot change. */
enum kvp_drain_order {
	KVP_DRAIN_WANTED,
	KVP_DRAIN_NOT_WANTED,
	KVP_DRAIN_MOVES,
};

/**
 * struct kvp_drain_job - what is to be changed
 * @act: changes it; under drain->lock
 * @mode, @force: the mode to set, with @force also if the pool then survives less
 * @window: blocks of the window to set; 0: the mode is set
 */
struct kvp_drain_job {
	int (*act)(struct kvp_pool *pool, const struct kvp_drain_job *job, struct kvp_refusal *r);
	u64 mode;
	bool force;
	u64 window;
};

/**
 * struct kvp_drain - the log is being emptied, so that it can move, or fits a smaller window
 * @lock: one change of mode or window at a time; outside all other locks
 * @work: does @job in the background
 * @queued: bit 0: @work is queued, or runs
 * @wait: woken when @order or @stopped changes
 * @order: whether to go on. Changed with cmpxchg() while the drain runs
 * @stopped: do not go on: the pool is quiesced, or will soon be
 * @state: of the last drain; written under @lock
 * @job: written under @lock, and before @work is queued
 * @goal: blocks of the log that may be left in use; 0: little. Written under @lock
 * @began: when, in ms since boot; with @total and @home written under @lock
 * @total: blocks of the log that were in use when it began
 * @home: blocks that destage had written home when it began
 */
struct kvp_drain {
	struct kvp_pool *pool;
	struct mutex lock;
	struct work_struct work;
	unsigned long queued;
	wait_queue_head_t wait;
	enum kvp_drain_order order;
	bool stopped;
	enum kvp_drain_state state;
	struct kvp_drain_job job;
	u64 goal;
	u64 began, total, home;
};

/** kvp_drain_init() - called when the pool is allocated */
void kvp_drain_init(struct kvp_pool *pool);

/**
 * kvp_cache_begin() - begin to note which blocks are on the cache
 *
 * Without memory for that the pool runs all the same, and raises an event. Context: process.
 */
void kvp_cache_begin(struct kvp_pool *pool);

/**
 * kvp_cache_set_mode() - set the mode of the cache, durably, and move the log accordingly
 * @mode: KVP_CACHE_WRITEBACK and so on
 * @force: do so even if the pool then survives less
 *
 * Requests are served meanwhile. Writes slow down to the rate of destage, and waiters for
 * durability wait once, for a second or two. Return: 0, or -errno with @r filled in; then the mode
 * has not changed. -EBUSY: another drain empties the log. Context: process; waits for I/O, for
 * minutes if much of the log is in use.
 */
int __must_check kvp_cache_set_mode(struct kvp_pool *pool, u64 mode, bool force,
				    struct kvp_refusal *r);

/**
 * kvp_drain_start_to() - begin kvp_cache_set_mode(), and do not wait until the log has moved
 *
 * If the log need not move, the mode is set at once. Return: 0: drain.state will say how it ends;
 * -EBUSY: another drain runs; or another -errno; with @r filled in. Context: process, may wait for
 * a superblock.
 */
int __must_check kvp_drain_start_to(struct kvp_pool *pool, u64 mode, bool force,
				    struct kvp_refusal *r);

/**
 * kvp_drain_start() - begin to move the log off the cache, for good; does not wait for it
 *
 * The new mode is writethrough. Return: as kvp_drain_start_to(); also 0 if the log is elsewhere,
 * and nothing changes then.
 */
int __must_check kvp_drain_start(struct kvp_pool *pool, struct kvp_refusal *r);

/**
 * kvp_drain_cancel() - end a drain, and change nothing
 *
 * Return: 0; -ENOENT: there is no drain; -EBUSY: the log is empty, and its move goes on. Context:
 * any.
 */
int __must_check kvp_drain_cancel(struct kvp_pool *pool);

/**
 * kvp_drain_stop() - let a drain end soon, with -ECANCELED, and no other begin. Context: any.
 *
 * kvp_drain_works() - true while one goes on, or a mode is being set
 *
 * kvp_drain_quiesce() - the same, and wait for a drain in the background. kvp_drain_unquiesce() -
 * allow drains again.
 */
void kvp_drain_stop(struct kvp_pool *pool);
bool kvp_drain_works(struct kvp_pool *pool);
void kvp_drain_quiesce(struct kvp_pool *pool);
void kvp_drain_unquiesce(struct kvp_pool *pool);

/* For another change that needs an emptier log (cachewindow.c). */

/**
 * kvp_cache_able() - refuse a change of the cache where none is possible
 *
 * Return: 0; or -EROFS, -EBUSY or -ENXIO with @r filled in: the pool is read-only, is faulted, or
 * has no cache. Context: any.
 */
int __must_check kvp_cache_able(struct kvp_pool *pool, struct kvp_refusal *r);

/**
 * kvp_drain_do() - do @job, and wait for it
 *
 * It does not wait for another drain, which may take hours. Return: what the job returned; or
 * -EBUSY with @r filled in: a drain is running. Context: process; takes drain->lock.
 */
int __must_check kvp_drain_do(struct kvp_pool *pool, const struct kvp_drain_job *job,
			      struct kvp_refusal *r);

/**
 * kvp_drain_queue() - do @job, and do not wait if it takes long
 * @long_job: it must first empty the log: do it in the background. Otherwise status shows no drain
 *
 * Return: 0: drain.state will say how it ends; -EBUSY with @r filled in: another drain runs; or
 * what the job returned. Context: process, may wait for a superblock.
 */
int __must_check kvp_drain_queue(struct kvp_pool *pool, const struct kvp_drain_job *job,
				 bool long_job, struct kvp_refusal *r);

/**
 * kvp_drain_log() - write the log home until at most @goal blocks are in use; 0: little
 *
 * It loses nothing if it ends early, and waiters for durability only wait longer. Users may have
 * less of the log, until the caller calls kvp_log_squeeze(). Caller holds drain->lock. Return: 0;
 * -ECANCELED; -EIO: the pool is faulted. Context: process, waits for I/O.
 */
int __must_check kvp_drain_log(struct kvp_pool *pool, u64 goal);

/** kvp_drain_is_over() - the log is empty enough: too late to cancel. Return: 0 or -ECANCELED. */
int __must_check kvp_drain_is_over(struct kvp_pool *pool);

/**
 * kvp_drain_ended() - note for status how the drain ended, if the change has begun one
 *
 * Caller holds drain->lock.
 */
void kvp_drain_ended(struct kvp_pool *pool, int error);

/**
 * struct kvp_drain_figures - numbers for status
 * @state: of the last drain
 * @left: blocks that must still be freed; for a change of mode, all that are in use
 * @total: the same when it began
 * @window: blocks of the window that it is for, if it runs; else 0
 */
struct kvp_drain_figures {
	enum kvp_drain_state state;
	u64 left, total, window;
};

/** kvp_drain_figures() - fill in @f. Context: any; takes no lock. */
void kvp_drain_figures(const struct kvp_drain *d, struct kvp_drain_figures *f);

/**
 * kvp_drain_rate() - blocks per second that went home since the drain began; 0: unknown. Any
 * context.
 */
u64 kvp_drain_rate(struct kvp_pool *pool);

#endif /* KVP_CACHEMODE_H */
