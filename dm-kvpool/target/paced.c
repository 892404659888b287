// SPDX-License-Identifier: GPL-2.0-only
#include <linux/bio.h>
#include <linux/device-mapper.h>
#include <linux/ktime.h>

#include "core/core.h"
#include "home/throttle.h"
#include "log/log.h"
#include "target/bio.h"
#include "target/paced.h"
#include "target/request.h"
#include "work/destage.h"

#define LEAST_NS	(200ull * NSEC_PER_USEC)

/*
 * The blocks of the log that a write takes. A block that goes home by intent takes only a record,
 * and a block of the log has some 240 of these.
 */
static u32 cost_of(const struct kvp_pool *pool, struct bio *bio)
{
	u32 blocks = kvp_bio_count(bio);

	if (kvp_bio_data(bio)->stream && kvp_log_takes_intents(pool->log))
		return 1 + blocks / 256;
	return blocks;
}

/*
 * A jiffy is too long: SSDs write a hundred blocks in it, and all of them would wait for its end.
 * But some may wait together: a timer and a change of thread for each would cost much.
 */
static void come_back(struct kvp_requests *r, u64 ns)
{
	hrtimer_start(&r->pace_timer, ns_to_ktime(max(ns, LEAST_NS)), HRTIMER_MODE_REL);
}

static enum hrtimer_restart time_is_up(struct hrtimer *timer)
{
	kvp_paced_go_on(container_of(timer, struct kvp_requests, pace_timer));
	return HRTIMER_NORESTART;
}

/*
 * True if no space will come free. Then writes do not wait here, and failmode decides about them.
 */
static bool in_vain(const struct kvp_pool *pool)
{
	return kvp_pool_failure(pool) != KVP_WORKS;
}

/* Put the write on the list. Returns false if a noflush suspend gives bios back. */
static bool put(struct kvp_requests *r, struct bio *bio)
{
	unsigned long flags;
	bool put;

	spin_lock_irqsave(&r->lock, flags);
	put = !kvp_requests_give_back(r);
	if (put)
		bio_list_add(&r->paced, bio);
	spin_unlock_irqrestore(&r->lock, flags);
	return put;
}

bool kvp_paced_keep(struct kvp_requests *r, struct bio *bio)
{
	struct kvp_pool *pool = r->pool;
	bool behind = !bio_list_empty(&r->paced);
	u64 wait = 0;

	if ((!behind && !kvp_throttle_may_slow(pool, kvp_bio_count(bio))) || in_vain(pool) ||
	    (kvp_bio_data(bio)->stream && kvp_throttle_passes(pool)))
		return false;
	if (!behind)
		wait = kvp_throttle_admit(pool, cost_of(pool, bio));
	if (!behind && !wait)
		return false;
	if (kvp_requests_nowait(bio)) {
		kvp_requests_again(r, bio, kvp_bio_count(bio));
		return true;
	}
	if (!put(r, bio))
		return false;
	kvp_throttle_note_waiting(pool->throttle, true);
	/* Leave a timer that is set: otherwise each further write would put it off. */
	if (!hrtimer_is_queued(&r->pace_timer))
		come_back(r, wait);
	if (!behind)
		kvp_destage_kick(pool, false);
	return true;
}

/* The first write on the list; NULL if there is none, or a noflush suspend has given all back. */
static struct bio *first(struct kvp_requests *r)
{
	struct bio *bio;
	unsigned long flags;

	spin_lock_irqsave(&r->lock, flags);
	bio = kvp_requests_give_back(r) ? NULL : bio_list_peek(&r->paced);
	spin_unlock_irqrestore(&r->lock, flags);
	return bio;
}

/* Let the first write on the list go on, behind writes that wait for space. */
static void let_in(struct kvp_requests *r)
{
	struct bio *bio;
	unsigned long flags;

	spin_lock_irqsave(&r->lock, flags);
	bio = kvp_requests_give_back(r) ? NULL : bio_list_pop(&r->paced);
	if (bio)
		bio_list_add(&r->writes, bio);
	spin_unlock_irqrestore(&r->lock, flags);
	queue_work(r->write_wq, &r->write_work);
}

/* Only this worker takes single bios from the list. A suspend takes all of them at once. */
static void let_some_in(struct work_struct *work)
{
	struct kvp_requests *r = container_of(work, struct kvp_requests, pace_work);
	struct kvp_pool *pool = r->pool;
	struct bio *bio;
	u64 wait;

	while ((bio = first(r))) {
		wait = in_vain(pool) ? 0 : kvp_throttle_admit(pool, cost_of(pool, bio));
		if (wait) {
			kvp_throttle_note_waiting(pool->throttle, true);
			come_back(r, wait);
			return;
		}
		let_in(r);
	}
	kvp_throttle_note_waiting(pool->throttle, false);
}

void kvp_paced_go_on(struct kvp_requests *r)
{
	queue_work(r->write_wq, &r->pace_work);
}

void kvp_paced_init(struct kvp_requests *r)
{
	INIT_WORK(&r->pace_work, let_some_in);
	hrtimer_init(&r->pace_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	r->pace_timer.function = time_is_up;
}

void kvp_paced_stop(struct kvp_requests *r)
{
	/* The timer may start the work again. Then it finds no bio, and ends. */
	hrtimer_cancel(&r->pace_timer);
	cancel_work_sync(&r->pace_work);
	hrtimer_cancel(&r->pace_timer);
	cancel_work_sync(&r->pace_work);
}
