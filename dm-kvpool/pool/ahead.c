// SPDX-License-Identifier: GPL-2.0-only
/*
 * A growth copies the checksum table to another place while all requests wait (grow.c). So most of
 * it is copied ahead, while the pool is in use:
 *
 *   1. kvp_ahead_start() notes the era of the last checkpoint. All that is dirty then, or changes
 *      later, gets that era or a newer one on disk.
 *   2. The worker writes all clean pages to their new places, on all legs. Nothing names them yet.
 *   3. Another pass writes only pages that have the noted era or a newer one. So does the growth
 *      itself, with the era of kvp_ahead_since().
 *
 * A leg that was out since that era gets the same pages. Pages written ahead count only for legs
 * that were in sync all the time, since nothing is flushed before the growth: a leg that was out
 * for a while may have lost some of them.
 */
#include "core/core.h"
#include "core/host.h"
#include "pool/ahead.h"
#include "super/members.h"
#include "table/table.h"

#define HOST_PARTS	24u	/* of 32 parts of the time: for a busy host */
#define MOST_REST	1u	/* seconds */

/* True if both growths have the same legs, sizes and vdevs that grow. */
static bool same_growth(const struct kvp_grow *a, const struct kvp_grow *b, u32 legs)
{
	return a->grown == b->grown && a->sources == b->sources &&
	       !memcmp(a->leg_blocks, b->leg_blocks, legs * sizeof(a->leg_blocks[0]));
}

/* True if all legs of vdevs that grow have been in sync since the first pass began. */
static bool legs_stayed(const struct kvp_pool *pool, const struct kvp_ahead *a)
{
	u32 i;

	if (a->next->leg_count != pool->nr_legs)
		return false;
	for (i = 0; i < pool->nr_legs; i++) {
		const struct kvp_leg *leg = &pool->legs[i];

		if (!(a->w.grown >> leg->v->index & 1))
			continue;
		if (!kvp_leg_in_sync(leg) || pool->sb->legs[i].in_sync_epoch > a->epoch ||
		    memcmp(pool->sb->legs[i].uuid, a->next->legs[i].uuid, 16))
			return false;
	}
	return true;
}

static bool interrupted(const struct kvp_ahead *a)
{
	return READ_ONCE(a->stop) || READ_ONCE(a->quiesce);
}

static bool is_interrupted(void *ahead)
{
	return interrupted(ahead);
}

/* --- the worker ----------------------------------------------------------------------------- */

static void begin_vdev(struct kvp_ahead *a, u32 vdev)
{
	a->vdev = vdev;
	WRITE_ONCE(a->before, a->before + a->move.written);
	a->move = (struct kvp_table_move){
		.t = a->pool->table,
		.v = vdev < a->pool->vdevs.nr ? &a->pool->vdevs.v[vdev] : NULL,
		.to = &a->next->vdevs[vdev],
		.since = a->era,
	};
}

/* Copy the rest of one vdev. Returns 0; 1: it was interrupted; or -errno. */
static int copy_vdev(struct kvp_ahead *a, struct kvp_move_pages *pages)
{
	struct kvp_pool *pool = a->pool;
	struct kvp_yield host;
	int ret = 1;

	kvp_yield_begin(&host, kvp_host_asked(pool));
	while (ret > 0 && !interrupted(a)) {
		u64 began = ktime_get_ns();

		if (!legs_stayed(pool, a))
			return -ESTALE;
		ret = kvp_table_move_some(&a->move, pages, a->step);
		kvp_table_shrink(pool->table, false);
		if (ret == -ENOMEM) {
			kvp_wait_for_memory();
			ret = 1;
		}
		if (ret > 0)
			kvp_host_rest(pool, &host,
				      kvp_yield_rest(ktime_get_ns() - began, HOST_PARTS, MOST_REST),
				      is_interrupted, a);
		cond_resched();
	}
	return ret;
}

/* Copy the rest of the pass. Returns as copy_vdev(). */
static int copy_vdevs(struct kvp_ahead *a, struct kvp_move_pages *pages)
{
	int ret = 0;

	while (!ret && a->vdev < a->pool->vdevs.nr) {
		if (a->w.grown >> a->vdev & 1)
			ret = copy_vdev(a, pages);
		if (!ret)
			begin_vdev(a, a->vdev + 1);
	}
	return ret;
}

/* The vdevs may be at another place in memory. */
static void find_vdev_again(struct kvp_ahead *a)
{
	if (a->vdev < a->pool->vdevs.nr)
		a->move.v = &a->pool->vdevs.v[a->vdev];
}

/* A reader that sees the state sees what the pass has left: kvp_ahead_state(). */
static void end_pass(struct kvp_ahead *a, enum kvp_ahead_state state)
{
	smp_store_release(&a->state, state);
}

static void ahead_work(struct work_struct *work)
{
	struct kvp_ahead *a = container_of(work, struct kvp_ahead, work);
	struct kvp_move_pages *pages;
	int ret;

	/*
	 * An interrupted suspend queues this work again, and the copy may have ended meanwhile.
	 * Pairs with kvp_ahead_start(): all of the pass is there.
	 */
	if (smp_load_acquire(&a->state) != KVP_AHEAD_RUNNING)
		return;
	find_vdev_again(a);
	pages = kvp_move_pages_alloc();
	ret = pages ? copy_vdevs(a, pages) : -ENOMEM;
	kvp_move_pages_free(pages);
	if (ret < 0) {
		WRITE_ONCE(a->era, 0);
		end_pass(a, KVP_AHEAD_FAILED);
	} else if (!ret) {
		WRITE_ONCE(a->era, a->next_era);
		end_pass(a, KVP_AHEAD_READY);
	} else if (READ_ONCE(a->stop)) {
		end_pass(a, KVP_AHEAD_STOPPED);
	}
}

/* --- start and stop ------------------------------------------------------------------------- */

/* True if the next pass can build on the last one. */
static bool builds_on(const struct kvp_pool *pool, const struct kvp_sb *next,
		      const struct kvp_grow *w)
{
	const struct kvp_ahead *a = pool->ahead;

	return a->next && a->era && same_growth(&a->w, w, pool->nr_legs) &&
	       kvp_grow_same_places(a->next, next, w->grown) && legs_stayed(pool, a);
}

static void begin_pass(struct kvp_pool *pool, struct kvp_sb *next, const struct kvp_grow *w)
{
	struct kvp_ahead *a = pool->ahead;

	if (!builds_on(pool, next, w)) {
		a->era = 0;
		a->epoch = pool->sb->epoch;
	}
	kvfree(a->next);
	a->next = next;
	a->w = *w;
	/*
	 * Under the lock no checkpoint is running: what is dirty now gets a newer era than the
	 * durable one.
	 */
	mutex_lock(&pool->checkpoint_lock);
	a->next_era = pool->sb->era;
	mutex_unlock(&pool->checkpoint_lock);
	a->before = a->move.written = 0;
	begin_vdev(a, 0);
}

int kvp_ahead_start(struct kvp_pool *pool, struct kvp_sb *next, const struct kvp_grow *w)
{
	struct kvp_ahead *a = pool->ahead;
	int ret = 0;

	mutex_lock(&a->lock);
	if (a->state == KVP_AHEAD_RUNNING) {
		kvfree(next);
		ret = -EBUSY;
	} else {
		/* The last pass has ended, but its work may not have returned yet. */
		flush_work(&a->work);
		begin_pass(pool, next, w);
		WRITE_ONCE(a->stop, false);
		/* The worker of an interrupted suspend may see it before this queues the work. */
		smp_store_release(&a->state, KVP_AHEAD_RUNNING);
		smp_mb();	/* pairs with kvp_ahead_unquiesce() */
		if (!READ_ONCE(a->quiesce))
			queue_work(pool->scrub_wq, &a->work);
	}
	mutex_unlock(&a->lock);
	return ret;
}

int kvp_ahead_stop(struct kvp_pool *pool)
{
	struct kvp_ahead *a = pool->ahead;
	int ret = 0;

	mutex_lock(&a->lock);
	if (a->state == KVP_AHEAD_RUNNING) {
		WRITE_ONCE(a->stop, true);
		flush_work(&a->work);
		/* While the pool is suspended, no work runs that would set this. */
		if (a->state == KVP_AHEAD_RUNNING)
			WRITE_ONCE(a->state, KVP_AHEAD_STOPPED);
	} else {
		ret = -ENOENT;
	}
	mutex_unlock(&a->lock);
	return ret;
}

u32 kvp_ahead_since(struct kvp_pool *pool, const struct kvp_sb *next, const struct kvp_grow *w)
{
	u32 era;

	mutex_lock(&pool->ahead->lock);
	era = builds_on(pool, next, w) ? pool->ahead->era : 0;
	mutex_unlock(&pool->ahead->lock);
	return era;
}

void kvp_ahead_grown(struct kvp_pool *pool, u64 pages)
{
	struct kvp_ahead *a = pool->ahead;

	mutex_lock(&a->lock);
	a->grown = pages;
	a->era = 0;
	WRITE_ONCE(a->state, KVP_AHEAD_NONE);
	mutex_unlock(&a->lock);
}

u64 kvp_ahead_written(const struct kvp_ahead *a)
{
	return READ_ONCE(a->before) + READ_ONCE(a->move.written);
}

enum kvp_ahead_state kvp_ahead_state(const struct kvp_ahead *a)
{
	return smp_load_acquire(&a->state);
}

/* --- suspend --------------------------------------------------------------------------------- */

void kvp_ahead_end_soon(struct kvp_pool *pool)
{
	WRITE_ONCE(pool->ahead->quiesce, true);
}

bool kvp_ahead_works(struct kvp_pool *pool)
{
	return work_busy(&pool->ahead->work) & WORK_BUSY_RUNNING;
}

void kvp_ahead_quiesce(struct kvp_pool *pool)
{
	kvp_ahead_end_soon(pool);
	flush_work(&pool->ahead->work);
}

/*
 * Takes no lock: an order to stop the pass holds it while a leg hangs, and this is also for a
 * suspend that was given up. So a start may queue the work as well. That does no harm.
 */
void kvp_ahead_unquiesce(struct kvp_pool *pool)
{
	struct kvp_ahead *a = pool->ahead;

	WRITE_ONCE(a->quiesce, false);
	smp_mb();	/* pairs with kvp_ahead_start() */
	if (READ_ONCE(a->state) == KVP_AHEAD_RUNNING)
		queue_work(pool->scrub_wq, &a->work);
}

void kvp_ahead_init(struct kvp_pool *pool)
{
	struct kvp_ahead *a = pool->ahead;

	a->pool = pool;
	a->state = KVP_AHEAD_NONE;
	a->era = 0;
	a->step = KVP_MOVE_PAGES;
	/* Quiesced until kvp_ahead_unquiesce(). */
	a->quiesce = true;
	mutex_init(&a->lock);
	INIT_WORK(&a->work, ahead_work);
}

void kvp_ahead_exit(struct kvp_pool *pool)
{
	kvfree(pool->ahead->next);
	pool->ahead->next = NULL;
}
