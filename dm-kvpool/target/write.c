// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes, discards and flushes.
 *
 * A write
 * 1. kvp_write_map() ends it with an error if the pool is read-only, or faulted with
 *    failmode=error.
 * 2. kvp_paced_keep() keeps it while writers are slowed down.
 * 3. accept() copies its blocks into the write buffer. Without room, or behind others that wait for
 *    room, the bio goes to r->writes. The pool's callback for space wakes the worker that takes it
 *    from there.
 * 4. written() ends it. With FUA, it waits for durability as a FLUSH does.
 *
 * A discard, or write-zeroes, is taken into the buffer as a hole in the same way, with a list of
 * its own (r->discards).
 *
 * A FLUSH
 * 1. kvp_write_map_flush() notes the newest seq that the buffer has accepted.
 * 2. kvp_commit_wait_async() calls waiter_done() when all up to that seq is durable (log/commit.c).
 *
 * docs/design/write-path.md tells why.
 */
#include "core/latency.h"
#include "core/log_ops.h"
#include "core/stats.h"
#include "log/log.h"
#include "log/spill.h"
#include "ram/wbuf.h"
#include "target/bio.h"
#include "target/paced.h"
#include "target/request.h"
#include "target/write.h"
#include "work/destage.h"

#define AT_ONCE	8u	/* held writes that are accepted before another task may run */

/* --- durability ------------------------------------------------------------------------- */

/* FLUSH, step 2. All that the bio waits for is durable, or cannot become durable. */
static void waiter_done(struct kvp_waiter *w, int error)
{
	struct kvp_bio *k = container_of(w, struct kvp_bio, waiter);

	/*
	 * -EAGAIN: a noflush suspend has begun. Give the bio back to device-mapper, which sends it
	 * again after the suspend. If the suspend was interrupted, let the bio wait on.
	 */
	if (error == -EAGAIN && !kvp_requests_give_back(k->requests)) {
		kvp_commit_wait_async(k->requests->pool->log, w);
		return;
	}
	if (!error)
		kvp_latency_add(&k->requests->flushes, ktime_get_ns() - k->since);
	kvp_bio_end(kvp_bio_of(k),
		    error == -EAGAIN ? BLK_STS_DM_REQUEUE : errno_to_blk_status(error));
}

static void end_when_durable(struct kvp_pool *pool, struct bio *bio, u64 seq)
{
	struct kvp_bio *k = kvp_bio_data(bio);

	k->requests = pool->requests;
	k->since = ktime_get_ns();
	k->waiter.seq = seq;
	k->waiter.internal = false;
	k->waiter.done = waiter_done;
	kvp_commit_wait_async(pool->log, &k->waiter);
}

/* FLUSH, step 1. Only writes that were accepted before have to be durable. */
int kvp_write_map_flush(struct kvp_pool *pool, struct bio *bio)
{
	if (kvp_pool_readonly(pool))
		kvp_bio_end(bio, BLK_STS_OK);
	else
		end_when_durable(pool, bio, kvp_wbuf_seq(pool->wbuf));
	return DM_MAPIO_SUBMITTED;
}

/* --- writes ------------------------------------------------------------------------------- */

/* True if requests fail: the pool is faulted, and the administrator did not let them wait. */
static bool must_fail(struct kvp_pool *pool)
{
	return kvp_pool_faulted(pool) && !kvp_pool_waits(pool);
}

/*
 * True if a request that finds the buffer full would wait in vain: commits fail, so no page comes
 * free.
 */
static bool waits_in_vain(struct kvp_pool *pool)
{
	return must_fail(pool) || (kvp_log_failed(pool->log) &&
				   !READ_ONCE(pool->tunables[KVP_T_FAILMODE]));
}

/* Copy from where the bio stands; false when the buffer is full. @seq: for a bio with FUA only. */
static bool copy_in(struct kvp_pool *pool, struct bio *bio, u64 *seq)
{
	bool stream = kvp_bio_data(bio)->stream, large = kvp_bio_count(bio) >= KVP_WBUF_LARGE;
	struct kvp_version *d;

	while (bio->bi_iter.bi_size) {
		d = kvp_wbuf_begin_write(pool->wbuf, kvp_bio_first(bio), large);
		if (!d)
			break;
		if (stream)
			WRITE_ONCE(d->stream, true);	/* the builder may look at it */
		kvp_bio_copy_from(bio, &bio->bi_iter, page_address(d->page));
		kvp_wbuf_end_write(pool->wbuf, d);
	}
	if (bio->bi_iter.bi_size)
		return false;
	if (bio->bi_opf & REQ_FUA)
		*seq = kvp_wbuf_seq(pool->wbuf);
	return true;
}

/*
 * Write, step 3. Take a write or discard into the buffer. False if the buffer is full, or memory
 * short.
 */
static bool accept(struct kvp_pool *pool, struct bio *bio, u64 *seq)
{
	if (bio_op(bio) == REQ_OP_WRITE)
		return copy_in(pool, bio, seq);
	return !kvp_bio_count(bio) ||
	       !kvp_wbuf_discard(pool->wbuf, kvp_bio_first(bio), kvp_bio_count(bio), seq);
}

/* Write, step 4. End the bio, or let it wait for durability. */
static void written(struct kvp_pool *pool, struct bio *bio, u64 seq)
{
	if (bio->bi_opf & REQ_FUA) {
		end_when_durable(pool, bio, seq);
		return;
	}
	kvp_bio_end(bio, BLK_STS_OK);
	kvp_commit_written(pool->log);
}

/* Put @bio at the end of @held; @work takes bios from there. */
static void defer_write(struct kvp_requests *r, struct bio *bio, struct bio_list *held,
			struct work_struct *work)
{
	unsigned long flags;
	bool requeue;

	/* Ask under the lock: kvp_requests_requeue() sets the answer, and then takes the list. */
	spin_lock_irqsave(&r->lock, flags);
	requeue = kvp_requests_give_back(r);
	if (!requeue)
		bio_list_add(held, bio);
	spin_unlock_irqrestore(&r->lock, flags);
	if (requeue)
		kvp_bio_end(bio, BLK_STS_DM_REQUEUE);
	else
		queue_work(r->write_wq, work);
}

static u32 asks_write(const struct bio *bio)
{
	return (bio->bi_opf & (REQ_META | REQ_PRIO) ? KVP_ASK_META : 0) |
	       (bio->bi_opf & (REQ_FUA | REQ_SYNC) ? KVP_ASK_SYNC : 0);
}

static void relieve_memory(struct kvp_pool *pool)
{
	const struct kvp_wbuf *w = pool->wbuf;

	kvp_destage_relieve(pool);
	/*
	 * Blocks that a cache has need not be in memory. But spilling them may fail for want of
	 * memory.
	 */
	if (kvp_wbuf_scarce(w) || kvp_wbuf_used(w) > kvp_wbuf_limit(w) - kvp_wbuf_limit(w) / 4)
		kvp_post_kick(pool->log);
	kvp_commit_kick(pool->log, true);
}

/* A write or discard that finds no room. Of its @count blocks some may be in the buffer already. */
static int wait_for_space(struct kvp_requests *r, struct bio *bio, u32 count, struct bio_list *held,
			  struct work_struct *work)
{
	if (kvp_requests_nowait(bio) && kvp_bio_count(bio) == count) {
		/* A request that waits makes the pool free space. This one does not wait. */
		relieve_memory(r->pool);
		return kvp_requests_again(r, bio, count);
	}
	defer_write(r, bio, held, work);
	return DM_MAPIO_SUBMITTED;
}

static bool joins_stream(struct kvp_pool *pool, struct bio *bio)
{
	return kvp_log_ops(&pool->vdevs)->joins_stream(pool, kvp_bio_first(bio), kvp_bio_count(bio),
						       asks_write(bio));
}

/* Write, step 1. The bio fails, or goes on. */
int kvp_write_map(struct kvp_requests *r, struct bio *bio)
{
	struct kvp_pool *pool = r->pool;
	u32 count = kvp_bio_count(bio);
	u64 seq = 0;

	if (kvp_pool_readonly(pool) || must_fail(pool))
		return DM_MAPIO_KILL;
	this_cpu_add(pool->stats->write_blocks, count);
	kvp_bio_data(bio)->stream = joins_stream(pool, bio);
	if (kvp_paced_keep(r, bio))
		return DM_MAPIO_SUBMITTED;
	/* No write overtakes one that waits already. */
	if (!bio_list_empty(&r->writes) || !accept(pool, bio, &seq))
		return wait_for_space(r, bio, count, &r->writes, &r->write_work);
	written(pool, bio, seq);
	return DM_MAPIO_SUBMITTED;
}

/* NULL during a noflush suspend: then kvp_requests_requeue() takes all that is on the list. */
static struct bio *next_write(struct kvp_requests *r, struct bio_list *held)
{
	struct bio *bio;
	unsigned long flags;

	spin_lock_irqsave(&r->lock, flags);
	bio = kvp_requests_give_back(r) ? NULL : bio_list_peek(held);
	spin_unlock_irqrestore(&r->lock, flags);
	return bio;
}

static void pop_write(struct kvp_requests *r, struct bio_list *held)
{
	unsigned long flags;

	spin_lock_irqsave(&r->lock, flags);
	bio_list_pop(held);
	spin_unlock_irqrestore(&r->lock, flags);
}

/* Take bios that waited for space. The first stays on the list until it is accepted. */
static void accept_held(struct kvp_requests *r, struct bio_list *held)
{
	struct kvp_pool *pool = r->pool;
	struct bio *bio;
	u32 n = 0;

	while ((bio = next_write(r, held))) {
		int space = atomic_read(&r->space_seq);
		u64 seq = 0;

		if (!must_fail(pool) && accept(pool, bio, &seq)) {
			pop_write(r, held);
			written(pool, bio, seq);
			/*
			 * Let a task run that has requests for an idle leg. But a task that is
			 * woken for each write would cost more than the writes.
			 */
			if (++n % AT_ONCE == 0)
				cond_resched();
		} else if (waits_in_vain(pool)) {
			pop_write(r, held);
			kvp_bio_end(bio, BLK_STS_IOERR);
		} else {
			relieve_memory(pool);
			if (space == atomic_read(&r->space_seq))
				return;	/* space_came_free() queues this worker again */
		}
	}
}

static void write_work(struct work_struct *work)
{
	struct kvp_requests *r = container_of(work, struct kvp_requests, write_work);

	accept_held(r, &r->writes);
}

static void discard_work(struct work_struct *work)
{
	struct kvp_requests *r = container_of(work, struct kvp_requests, discard_work);

	accept_held(r, &r->discards);
}

/*
 * --- discard and write-zeroes ---------------------------------------------------------------
 *
 * The buffer takes a limited number of discards. Those beyond wait in a list of their own until
 * some are home, which costs a table page each. No write waits behind them. Requests that are in
 * flight together have no order, as on any disk: to write after a discard, wait until the discard
 * has ended.
 */

/* Discard: as a write, with a list of its own. The bio fails, or becomes a hole. */
int kvp_write_map_discard(struct kvp_requests *r, struct bio *bio)
{
	struct kvp_pool *pool = r->pool;
	u32 count = kvp_bio_count(bio);
	u64 seq = 0;

	if (kvp_pool_readonly(pool) || must_fail(pool))
		return DM_MAPIO_KILL;
	this_cpu_add(pool->stats->discard_blocks, count);
	if (!bio_list_empty(&r->discards) || !accept(pool, bio, &seq))
		return wait_for_space(r, bio, count, &r->discards, &r->discard_work);
	written(pool, bio, seq);
	return DM_MAPIO_SUBMITTED;
}

void kvp_write_init(struct kvp_requests *r)
{
	bio_list_init(&r->writes);
	bio_list_init(&r->discards);
	INIT_WORK(&r->write_work, write_work);
	INIT_WORK(&r->discard_work, discard_work);
}
