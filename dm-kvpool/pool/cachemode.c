// SPDX-License-Identifier: GPL-2.0-only
/*
 * Changes the mode of a cache while the pool runs. The mode says where the log is.
 *
 * To change it, the log is first emptied as far as possible while users write. Its data goes home,
 * and the part of the log that users may fill shrinks. So writers slow down to the rate at which
 * data goes home, and do not stop. Then the log moves (log/move.h), together with the mode: one
 * superblock has both.
 */
#include "cache/admission.h"
#include "cache/client.h"
#include "cache/rebuild.h"
#include "cache/reinsert.h"
#include "cache/scache.h"
#include "core/cache.h"
#include "core/core.h"
#include "core/refusal.h"
#include "format/logplace.h"
#include "log/log.h"
#include "log/move.h"
#include "pool/cachemode.h"
#include "pool/cachevdev.h"
#include "pool/change.h"
#include "pool/pool.h"
#include "pool/start.h"
#include "super/events.h"
#include "table/ssdcopy.h"
#include "work/destage.h"

#define LOOK_JIFFIES	(HZ / 8)	/* between two looks at the progress of a drain */
#define IDLE_LOOKS	40u		/* then renewals do not get on */

static void drain_work(struct work_struct *work);

void kvp_drain_init(struct kvp_pool *pool)
{
	pool->drain->pool = pool;
	mutex_init(&pool->drain->lock);
	INIT_WORK(&pool->drain->work, drain_work);
	init_waitqueue_head(&pool->drain->wait);
}

/* --- emptying the log ---------------------------------------------------------------- */

/*
 * How much dirty data may be left when all writers must wait: as much as goes home in about two
 * seconds.
 */
static u64 little(struct kvp_pool *pool)
{
	const struct kvp_geometry *g = READ_ONCE(pool->vdevs.log_vdev)->g;

	return min_t(u64, 2 * (u64)kvp_destage_round(pool->destage) + g->segment_blocks,
		     kvp_log_window(g) / 8);
}

static bool given_up(const struct kvp_drain *d)
{
	return READ_ONCE(d->order) == KVP_DRAIN_NOT_WANTED || READ_ONCE(d->stopped);
}

static u64 ms_since_boot(void)
{
	return div_u64(ktime_get_boottime_ns(), NSEC_PER_MSEC);
}

/* Blocks of the log that are in use, and those that parity needs if not all goes home. */
static u64 in_use(struct kvp_pool *pool, u64 goal)
{
	return kvp_log_used(pool->log) + (goal ? kvp_log_reserved(pool->log) : 0);
}

static u64 left(struct kvp_pool *pool, u64 goal)
{
	u64 used = in_use(pool, goal);

	return used > goal ? used - goal : 0;
}

static void note_begin(struct kvp_pool *pool, u64 goal)
{
	struct kvp_drain *d = pool->drain;

	lockdep_assert_held(&d->lock);
	d->began = ms_since_boot();
	WRITE_ONCE(d->goal, goal);
	d->total = left(pool, goal);
	d->home = atomic64_read(&pool->work_stats.destage_blocks);
	WRITE_ONCE(d->state, KVP_DRAIN_RUNNING);
}

u64 kvp_drain_rate(struct kvp_pool *pool)
{
	const struct kvp_drain *d = pool->drain;
	u64 ms = ms_since_boot() - READ_ONCE(d->began);

	return ms ? div64_u64((atomic64_read(&pool->work_stats.destage_blocks) - d->home) * 1000,
			      ms) : 0;
}

void kvp_drain_figures(const struct kvp_drain *d, struct kvp_drain_figures *f)
{
	bool running;

	f->state = READ_ONCE(d->state);
	running = f->state == KVP_DRAIN_RUNNING;
	f->total = READ_ONCE(d->total);
	f->left = running ? left(d->pool, READ_ONCE(d->goal)) : 0;
	f->window = running ? READ_ONCE(d->job.window) : 0;
}

/**
 * struct course - how a drain gets on
 * @tail: the tail of the log at the last look
 * @renewed: blocks that had been renewed when the tail moved last
 * @done: blocks that had gone home, or were renewed, at the last look
 * @idle: number of looks since anything has changed
 */
struct course {
	kvp_lsn_t tail;
	u64 renewed, done;
	u32 idle;
};

/*
 * Look how far the tail has moved. Returns the blocks that it has freed, without those that
 * renewals have taken at the head for that.
 */
static u64 look(struct kvp_pool *pool, struct course *c)
{
	u64 renewed = atomic64_read(&pool->work_stats.renewed);
	u64 done = atomic64_read(&pool->work_stats.destage_blocks) + renewed;
	u64 freed = kvp_lsn_since(kvp_log_tail(pool->log), c->tail), taken;

	c->idle = freed || done != c->done ? 0 : c->idle + 1;
	c->done = done;
	if (!freed)
		return 0;
	taken = min(freed, renewed - c->renewed);
	c->tail = kvp_lsn_add(c->tail, freed);
	c->renewed = renewed;
	return freed - taken;
}

int kvp_drain_log(struct kvp_pool *pool, u64 goal)
{
	struct kvp_drain *d = pool->drain;
	struct course c = {
		.tail = kvp_log_tail(pool->log),
		.renewed = atomic64_read(&pool->work_stats.renewed),
	};
	u64 most = in_use(pool, goal), freed;

	note_begin(pool, goal);
	while (in_use(pool, goal) > (goal ?: little(pool)) && !READ_ONCE(pool->vdevs.log_moving)) {
		if (given_up(d))
			return -ECANCELED;
		if (kvp_pool_faulted(pool))
			return -EIO;
		/* What can be renewed stays, unless that does not get on. */
		kvp_destage_kick(pool, !kvp_log_shrinks(pool->log) || c.idle > IDLE_LOOKS);
		wait_event_timeout(d->wait, given_up(d), LOOK_JIFFIES);
		freed = look(pool, &c);
		if (!freed)
			continue;
		/*
		 * The size of the log before the tail moved for the first time: until then no
		 * writer was slowed down.
		 */
		if (!kvp_log_is_squeezed(pool->log))
			most = in_use(pool, goal) + freed;
		/* Shrink by half of what is free now. The other half is for writers. */
		most = max(goal ?: little(pool), most - min(most, freed / 2));
		kvp_log_squeeze(pool->log, most);
	}
	return 0;
}

/* --- modes ------------------------------------------------------------------------------ */

void kvp_cache_begin(struct kvp_pool *pool)
{
	bool writes = !kvp_pool_readonly(pool);

	if (kvp_cache_connect(pool))
		kvp_event(pool, "ssd_cache_off why=no_memory");
	else if (writes && kvp_admit_start(pool->admission, pool->scache, pool->wbuf,
					   pool->reinsert))
		kvp_event(pool, "ssd_fills_off why=no_memory");
	else if (writes && kvp_reinsert_start(pool->reinsert, pool->scache, pool->admission))
		kvp_event(pool, "ssd_reinsert_off why=no_memory");
	else if (writes && kvp_rebuild_start(pool->rebuild, pool->scache))
		kvp_event(pool, "ssd_restart_cold why=no_memory");
	kvp_ssdcopy_start(pool->ssdcopies, kvp_pool_cache(pool));
}

/* From here on the change ends or fails. A cancel came before, or gets -EBUSY. */
int kvp_drain_is_over(struct kvp_pool *pool)
{
	enum kvp_drain_order was = cmpxchg(&pool->drain->order, KVP_DRAIN_WANTED, KVP_DRAIN_MOVES);

	return was == KVP_DRAIN_WANTED ? 0 : -ECANCELED;
}

void kvp_drain_ended(struct kvp_pool *pool, int error)
{
	lockdep_assert_held(&pool->drain->lock);
	if (pool->drain->state != KVP_DRAIN_RUNNING)
		return;
	WRITE_ONCE(pool->drain->state, !error ? KVP_DRAIN_DONE :
		   error == -ECANCELED ? KVP_DRAIN_CANCELLED : KVP_DRAIN_FAILED);
}

static int move(struct kvp_pool *pool, struct kvp_vdev *to, u64 mode)
{
	struct kvp_log_new plan = { .v = to, .mode = mode };
	int ret = kvp_drain_log(pool, 0);

	if (!ret)
		ret = kvp_drain_is_over(pool);
	if (!ret)
		ret = kvp_log_move_to(pool->log, &plan);
	kvp_log_squeeze(pool->log, 0);
	kvp_drain_ended(pool, ret);
	if (ret)
		return ret;
	WRITE_ONCE(pool->tunables[KVP_T_CACHE_MODE], mode);
	kvp_cache_begin(pool);
	return 0;
}

/*
 * True if the vdevs with data survive the loss of a leg, but the log on the SSDs that are left
 * would not.
 */
static bool lowers(struct kvp_pool *pool, const struct kvp_vdev *cache)
{
	u32 least = KVP_MAX_LEGS, i;

	for (i = 0; i < pool->vdevs.nr; i++)
		if (&pool->vdevs.v[i] != cache)
			least = min(least, kvp_vdev_spare(&pool->vdevs.v[i]));
	return kvp_cache_lowers(pool->sb) ||
	       (least && kvp_vdev_usable(cache) == kvp_log_needs(cache->g));
}

int kvp_cache_able(struct kvp_pool *pool, struct kvp_refusal *r)
{
	int ret = kvp_change_able(pool, r);

	if (!ret && !kvp_pool_cache(pool))
		ret = kvp_refuse(r, -ENXIO, "kvpoolctl add POOL cache DEVICE...",
				 "the pool has no cache");
	return ret;
}

static int check_mode(struct kvp_pool *pool, const struct kvp_vdev *cache, u64 mode, bool force,
		      struct kvp_refusal *r)
{
	int ret = kvp_cache_able(pool, r);

	if (ret)
		return ret;
	if (mode != KVP_CACHE_WRITEBACK || READ_ONCE(pool->vdevs.log_vdev) == cache)
		return 0;
	if (!kvp_vdev_usable(cache))
		return kvp_refuse(r, -ENODEV, "take the cache out and add another",
				  "no SSD of the cache is in use");
	if (!kvp_vdev_has_log(cache))
		return kvp_refuse(r, -ENODEV, "take the cache out and add another",
				  "too few SSDs of the cache are in use: it needs all but one");
	if (lowers(pool, cache) && !force)
		return kvp_refuse(r, -EPERM,
			"give the cache two SSDs; or accept this with force (kvpoolctl set -f)",
			kvp_log_needs(cache->g) > 1 ?
			"with the log on the rest of the cache the pool would lose writes with one more SSD, though it can lose a leg" :
			"with the log on one SSD the pool would lose writes with that SSD, though it can lose a leg");
	return 0;
}

static int set_mode(struct kvp_pool *pool, u64 mode, bool force, struct kvp_refusal *r)
{
	struct kvp_vdev *cache = kvp_pool_cache(pool), *to;
	int ret = check_mode(pool, cache, mode, force, r);

	if (ret)
		return ret;
	to = mode == KVP_CACHE_WRITEBACK ? cache : kvp_log_refuge(&pool->vdevs);
	if (kvp_pool_logs_on_cache(pool) == (to == cache))
		ret = kvp_drain_is_over(pool) ?: kvp_pool_set(pool, KVP_T_CACHE_MODE, mode);
	else
		ret = move(pool, to, mode);
	if (ret == -ECANCELED)
		return kvp_refuse(r, ret, "ask for it again", "the change was cancelled; nothing has changed");
	if (ret == -ENODEV)
		return kvp_refuse(r, ret, "see kvpoolctl status",
				  "the last SSD of the cache failed; the log was not moved");
	return ret ? kvp_refuse(r, ret, "see kvpoolctl status; mend what is wrong, then 'clear'",
				"not all data of the log could be written home") : 0;
}

static int set_and_tell(struct kvp_pool *pool, u64 mode, bool force, struct kvp_refusal *r)
{
	char word[16];
	int ret;

	lockdep_assert_held(&pool->drain->lock);
	ret = set_mode(pool, mode, force, r);
	kvp_tunable_print(KVP_T_CACHE_MODE, mode, word, sizeof(word));
	if (!ret)
		kvp_event(pool, "cache_mode mode=%s", word);
	return ret;
}

static int busy_draining(struct kvp_refusal *r)
{
	return kvp_refuse(r, -EBUSY, "kvpoolctl cancel POOL drain; or wait for that",
			  "the cache is being drained");
}

/*
 * Take the lock, but do not wait for it during a drain: a drain may take hours, in which the waiter
 * could not be killed. Otherwise the lock is held only for a moment before a drain begins and after
 * it has ended.
 */
static int lock_mode(struct kvp_drain *d, struct kvp_refusal *r)
{
	bool locked = false;

	while (READ_ONCE(d->state) != KVP_DRAIN_RUNNING) {
		/* A drain that was queued just now does not have the lock yet, so look again. */
		if (locked)
			return 0;
		locked = mutex_trylock(&d->lock);
		if (!locked)
			schedule_timeout_uninterruptible(1);
	}
	if (locked)
		mutex_unlock(&d->lock);
	return busy_draining(r);
}

static int set_mode_asked(struct kvp_pool *pool, const struct kvp_drain_job *job,
			  struct kvp_refusal *r)
{
	return set_and_tell(pool, job->mode, job->force, r);
}

int kvp_drain_do(struct kvp_pool *pool, const struct kvp_drain_job *job, struct kvp_refusal *r)
{
	int ret = lock_mode(pool->drain, r);

	if (ret)
		return ret;
	WRITE_ONCE(pool->drain->order, KVP_DRAIN_WANTED);
	pool->drain->job = *job;
	ret = job->act(pool, job, r);
	mutex_unlock(&pool->drain->lock);
	return ret;
}

int kvp_cache_set_mode(struct kvp_pool *pool, u64 mode, bool force, struct kvp_refusal *r)
{
	const struct kvp_drain_job job = { .act = set_mode_asked, .mode = mode, .force = force };

	return kvp_drain_do(pool, &job, r);
}

/* --- in the background --------------------------------------------------------- */

static void drain_work(struct work_struct *work)
{
	struct kvp_drain *d = container_of(work, struct kvp_drain, work);
	struct kvp_pool *pool = d->pool;
	struct kvp_refusal *r = kzalloc(sizeof(*r), GFP_KERNEL);
	int ret = -ENOMEM;

	mutex_lock(&d->lock);
	if (r)
		ret = d->job.act(pool, &d->job, r);
	/* The drain may have ended without a change, which would have set this. */
	kvp_drain_ended(pool, ret);
	mutex_unlock(&d->lock);
	if (ret)
		kvp_event(pool, "drain_ended error=%d why=%s", ret, r ? r->why : "no memory");
	kfree(r);
	clear_bit(0, &d->queued);
	wake_up_all(&d->wait);
}

/* True if the log is on the cache and @mode wants it elsewhere, or the other way round. */
static bool must_move(struct kvp_pool *pool, u64 mode)
{
	return kvp_pool_logs_on_cache(pool) != (mode == KVP_CACHE_WRITEBACK);
}

int kvp_drain_queue(struct kvp_pool *pool, const struct kvp_drain_job *job, bool long_job,
		    struct kvp_refusal *r)
{
	struct kvp_drain *d = pool->drain;
	int ret = 0;

	if (test_and_set_bit(0, &d->queued))
		return busy_draining(r);
	if (!mutex_trylock(&d->lock)) {
		clear_bit(0, &d->queued);
		return kvp_refuse(r, -EBUSY, "kvpoolctl cancel POOL drain; or wait for that",
				  "the mode is being changed");
	}
	/* From here on status must not show the result of the last drain. */
	WRITE_ONCE(d->state, long_job ? KVP_DRAIN_RUNNING : KVP_DRAIN_NONE);
	WRITE_ONCE(d->order, KVP_DRAIN_WANTED);
	d->job = *job;
	if (long_job) {
		queue_work(pool->scrub_wq, &d->work);
	} else {
		ret = job->act(pool, job, r);
		clear_bit(0, &d->queued);
	}
	mutex_unlock(&d->lock);
	return ret;
}

int kvp_drain_start_to(struct kvp_pool *pool, u64 mode, bool force, struct kvp_refusal *r)
{
	const struct kvp_drain_job job = { .act = set_mode_asked, .mode = mode, .force = force };
	int ret = check_mode(pool, kvp_pool_cache(pool), mode, force, r);

	return ret ?: kvp_drain_queue(pool, &job, must_move(pool, mode), r);
}

int kvp_drain_start(struct kvp_pool *pool, struct kvp_refusal *r)
{
	if (kvp_pool_logs_on_cache(pool))
		return kvp_drain_start_to(pool, KVP_CACHE_WRITETHROUGH, false, r);
	return check_mode(pool, kvp_pool_cache(pool), KVP_CACHE_WRITETHROUGH, false, r);
}

int kvp_drain_cancel(struct kvp_pool *pool)
{
	struct kvp_drain *d = pool->drain;

	if (READ_ONCE(d->state) != KVP_DRAIN_RUNNING)
		return -ENOENT;
	if (cmpxchg(&d->order, KVP_DRAIN_WANTED, KVP_DRAIN_NOT_WANTED) == KVP_DRAIN_MOVES)
		return -EBUSY;
	wake_up_all(&d->wait);
	return 0;
}

void kvp_drain_stop(struct kvp_pool *pool)
{
	WRITE_ONCE(pool->drain->stopped, true);
	/* If the suspend is given up before the drain has seen that, the drain still ends. */
	cmpxchg(&pool->drain->order, KVP_DRAIN_WANTED, KVP_DRAIN_NOT_WANTED);
	wake_up_all(&pool->drain->wait);
}

bool kvp_drain_works(struct kvp_pool *pool)
{
	return test_bit(0, &pool->drain->queued) || mutex_is_locked(&pool->drain->lock);
}

void kvp_drain_quiesce(struct kvp_pool *pool)
{
	kvp_drain_stop(pool);
	/* A log that moves waits for slow disks. Idle: the kernel does not report that as hung. */
	wait_event_idle(pool->drain->wait, !test_bit(0, &pool->drain->queued));
	flush_work(&pool->drain->work);
}

void kvp_drain_unquiesce(struct kvp_pool *pool)
{
	WRITE_ONCE(pool->drain->stopped, false);
}
