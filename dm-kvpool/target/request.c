// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests: the way of a bio from map to its end. map never waits for I/O of the pool.
 *
 * A write
 * 1. map_write() ends it with an error if the pool is read-only, or faulted with failmode=error.
 * 2. kvp_paced_keep() keeps it while writers are slowed down.
 * 3. accept() copies its blocks into the write buffer. Without room, or behind others that wait for
 *    room, the bio goes to r->writes. space_came_free() wakes the worker that takes it from there.
 * 4. written() ends it. With FUA, it waits for durability as a FLUSH does.
 *
 * A discard, or write-zeroes, is taken into the buffer as a hole in the same way, with a list of
 * its own (r->discards).
 *
 * A FLUSH
 * 1. map_flush() notes the newest seq that the buffer has accepted.
 * 2. kvp_commit_wait_async() calls waiter_done() when all up to that seq is durable (log/commit.c).
 *
 * A read
 * 1. alike() cuts it where buffered blocks begin or end, and at the end of a leaf. A long read is
 *    not cut at each buffered block: it goes home as a whole, and its buffered blocks are copied
 *    over what came (mixed_blocks()).
 * 2. read_buffer() or read_cached() copies what is in RAM.
 * 3. cut_for_ssd() cuts the rest so that the SSD cache has all of it, or nothing.
 * 4. remap_home() answers unwritten blocks with zeros, or points the bio at an SSD or a leg. A read
 *    of several legs goes through long_read.c. If the leaf is not in memory, a worker loads it
 *    first (read_home_work()). Spilled blocks of a mixed read are read beside it (read_beside()).
 * 5. kvp_requests_end_io() compares what came with the table as it is now (came_well()).
 * 6. What does not fit is read by read_anew(), block by block, under its range lock; that heals.
 *    After an error of a leg, piece by piece first (home/pieces.h).
 *
 * A noflush suspend gives back every bio that waits here (kvp_requests_requeue()).
 *
 * docs/design/write-path.md and read-path.md tell why.
 */
#include <linux/device-mapper.h>
#include <linux/highmem.h>
#include <linux/mm.h>

#include "cache/admission.h"
#include "cache/client.h"
#include "cache/scache.h"
#include "core/core.h"
#include "core/latency.h"
#include "core/log_ops.h"
#include "core/stats.h"
#include "home/heal.h"
#include "home/missing.h"
#include "home/pieces.h"
#include "io/inject.h"
#include "io/leg_queue.h"
#include "io/mirror.h"
#include "io/slow.h"
#include "log/log.h"
#include "log/spill.h"
#include "policy/ssdpolicy.h"
#include "policy/streams.h"
#include "ram/rcache.h"
#include "ram/wbuf.h"
#include "table/table.h"
#include "target/long_read.h"
#include "target/paced.h"
#include "target/request.h"
#include "work/destage.h"

#define READ_PAGES	4	/* pages that are kept, so that reads go on without any memory */
#define AT_ONCE	8u	/* held writes that are accepted before another task may run */

static struct kvp_bio *data_of(struct bio *bio)
{
	return dm_per_bio_data(bio, sizeof(struct kvp_bio));
}

static struct bio *bio_of(struct kvp_bio *k)
{
	return dm_bio_from_per_bio_data(k, sizeof(struct kvp_bio));
}

static kvp_block_t first_block(const struct bio *bio)
{
	return kvp_bio_block(bio->bi_iter);
}

static u32 block_count(const struct bio *bio)
{
	return bio_sectors(bio) >> KVP_SECTORS_SHIFT;
}

static void end_bio(struct bio *bio, blk_status_t status)
{
	bio->bi_status = status;
	bio_endio(bio);
}

/*
 * --- requests that must not wait (REQ_NOWAIT) --------------------------------------------------
 *
 * map never waits. But a request that would be queued here, or go to a worker, is not begun:
 * it ends with BLK_STS_AGAIN. What a leg takes at once goes on with the flag, for the leg to heed.
 *
 * Only the submitter can send the request again without the flag, and only while it is still in
 * submit_bio(). io_uring hands an error that comes later to its user, which never asked for NOWAIT.
 * So these go on by worker, without the flag:
 * - What threads of the kernel send, as device-mapper does after a suspend.
 * - A write, if some of its blocks are in the buffer.
 * - A read that has come back from its leg.
 * - A polled read. The kernel (6.1) sets the flag, and device-mapper would send it again itself.
 *
 * And no read is cut. Its first part would go to a leg, and the rest end with BLK_STS_AGAIN; the
 * submitter would learn of it only when the leg has answered.
 */

bool kvp_requests_nowait(const struct bio *bio)
{
	return (bio->bi_opf & REQ_NOWAIT) && !(bio->bi_opf & REQ_POLLED) && in_task() &&
	       !(current->flags & PF_KTHREAD);
}

int kvp_requests_again(struct kvp_requests *r, struct bio *bio, u32 count)
{
	/* It is counted when it comes again. */
	if (bio_op(bio) == REQ_OP_READ)
		this_cpu_sub(r->pool->stats->read_blocks, count);
	else if (bio_op(bio) == REQ_OP_WRITE)
		this_cpu_sub(r->pool->stats->write_blocks, count);
	else
		this_cpu_sub(r->pool->stats->discard_blocks, count);
	end_bio(bio, BLK_STS_AGAIN);
	return DM_MAPIO_SUBMITTED;
}

/* --- copying: a block may lie in several segments ------------------------------------ */

static void copy_from_bio(struct bio *bio, struct bvec_iter *iter, void *block)
{
	u32 left = KVP_BLOCK_SIZE;

	while (left) {
		struct bio_vec bv = bio_iter_iovec(bio, *iter);
		u32 n = min(left, bv.bv_len);

		bv.bv_len = n;
		memcpy_from_bvec(block, &bv);
		bio_advance_iter_single(bio, iter, n);
		block += n;
		left -= n;
	}
}

/* NULL for zeros. */
static void copy_to_bio(struct bio *bio, struct bvec_iter *iter, const void *block)
{
	u32 left = KVP_BLOCK_SIZE;

	while (left) {
		struct bio_vec bv = bio_iter_iovec(bio, *iter);
		u32 n = min(left, bv.bv_len);

		bv.bv_len = n;
		if (block) {
			memcpy_to_bvec(&bv, block);
			block += n;
		} else {
			memzero_bvec(&bv);
		}
		bio_advance_iter_single(bio, iter, n);
		left -= n;
	}
}

/* A block whose data lies in several pages. */
static noinline u32 sum_of_pieces(struct bio *bio, struct bvec_iter *iter, struct kvp_seed seed,
				  kvp_block_t block)
{
	u32 left = KVP_BLOCK_SIZE;
	struct kvp_sum sum;

	kvp_sum_begin(&sum, seed, block);
	while (left) {
		struct bio_vec bv = bio_iter_iovec(bio, *iter);
		u32 n = min(left, bv.bv_len);
		void *p = bvec_kmap_local(&bv);

		kvp_sum_add(&sum, p, n);
		kunmap_local(p);
		bio_advance_iter_single(bio, iter, n);
		left -= n;
	}
	return kvp_sum_end(&sum);
}

static u32 sum_of_bio(struct bio *bio, struct bvec_iter *iter, struct kvp_seed seed,
		      kvp_block_t block)
{
	struct bio_vec bv = bio_iter_iovec(bio, *iter);
	void *p;
	u32 sum;

	if (bv.bv_len < KVP_BLOCK_SIZE)
		return sum_of_pieces(bio, iter, seed, block);
	p = bvec_kmap_local(&bv);
	sum = kvp_block_sum(seed, block, p);
	kunmap_local(p);
	bio_advance_iter_single(bio, iter, KVP_BLOCK_SIZE);
	return sum;
}

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
	end_bio(bio_of(k), error == -EAGAIN ? BLK_STS_DM_REQUEUE : errno_to_blk_status(error));
}

static void end_when_durable(struct kvp_pool *pool, struct bio *bio, u64 seq)
{
	struct kvp_bio *k = data_of(bio);

	k->requests = pool->requests;
	k->since = ktime_get_ns();
	k->waiter.seq = seq;
	k->waiter.internal = false;
	k->waiter.done = waiter_done;
	kvp_commit_wait_async(pool->log, &k->waiter);
}

/* FLUSH, step 1. Only writes that were accepted before have to be durable. */
static int map_flush(struct kvp_pool *pool, struct bio *bio)
{
	if (kvp_pool_readonly(pool))
		end_bio(bio, BLK_STS_OK);
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
	bool stream = data_of(bio)->stream, large = block_count(bio) >= KVP_WBUF_LARGE;
	struct kvp_version *d;

	while (bio->bi_iter.bi_size) {
		d = kvp_wbuf_begin_write(pool->wbuf, first_block(bio), large);
		if (!d)
			break;
		if (stream)
			WRITE_ONCE(d->stream, true);	/* the builder may look at it */
		copy_from_bio(bio, &bio->bi_iter, page_address(d->page));
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
	return !block_count(bio) ||
	       !kvp_wbuf_discard(pool->wbuf, first_block(bio), block_count(bio), seq);
}

/* Write, step 4. End the bio, or let it wait for durability. */
static void written(struct kvp_pool *pool, struct bio *bio, u64 seq)
{
	if (bio->bi_opf & REQ_FUA) {
		end_when_durable(pool, bio, seq);
		return;
	}
	end_bio(bio, BLK_STS_OK);
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
		end_bio(bio, BLK_STS_DM_REQUEUE);
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
	if (kvp_requests_nowait(bio) && block_count(bio) == count) {
		/* A request that waits makes the pool free space. This one does not wait. */
		relieve_memory(r->pool);
		return kvp_requests_again(r, bio, count);
	}
	defer_write(r, bio, held, work);
	return DM_MAPIO_SUBMITTED;
}

static bool joins_stream(struct kvp_pool *pool, struct bio *bio)
{
	return kvp_log_ops(&pool->vdevs)->joins_stream(pool, first_block(bio), block_count(bio),
						       asks_write(bio));
}

/* Write, step 1. The bio fails, or goes on. */
static int map_write(struct kvp_requests *r, struct bio *bio)
{
	struct kvp_pool *pool = r->pool;
	u32 count = block_count(bio);
	u64 seq = 0;

	if (kvp_pool_readonly(pool) || must_fail(pool))
		return DM_MAPIO_KILL;
	this_cpu_add(pool->stats->write_blocks, count);
	data_of(bio)->stream = joins_stream(pool, bio);
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
			end_bio(bio, BLK_STS_IOERR);
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

static void space_came_free(struct kvp_pool *pool)
{
	struct kvp_requests *r = pool->requests;

	atomic_inc(&r->space_seq);
	/* pairs with the lock in defer_write() and the barrier in hold_read() */
	smp_mb__after_atomic();
	if (!bio_list_empty(&r->reads) && !kvp_pool_waits(pool))
		queue_work(r->wq, &r->read_work);
	if (!bio_list_empty(&r->writes))
		queue_work(r->write_wq, &r->write_work);
	if (!bio_list_empty(&r->discards))
		queue_work(r->write_wq, &r->discard_work);
}

/*
 * Device-mapper takes bios back only while it suspends. If the suspend is interrupted, it ends
 * later bios with an error, and tells the target only after that. So this asks each time. In map
 * the answer holds, since an interrupted suspend first waits for map. For a worker the answer may
 * be out of date at once; no target can avoid that.
 */
bool kvp_requests_give_back(struct kvp_requests *r)
{
	struct dm_target *ti = READ_ONCE(r->suspending);

	return ti && dm_noflush_suspending(ti);
}

/* Serve bios that were kept after the suspend was interrupted, before the target knew of that. */
static void go_on(struct kvp_requests *r)
{
	if (!bio_list_empty(&r->paced))
		kvp_paced_go_on(r);
	space_came_free(r->pool);
}

void kvp_requests_requeue(struct kvp_requests *r, struct dm_target *ti)
{
	struct bio_list held;
	struct bio *bio;
	unsigned long flags;

	spin_lock_irqsave(&r->lock, flags);
	WRITE_ONCE(r->suspending, ti);
	spin_unlock_irqrestore(&r->lock, flags);
	kvp_commit_keep_none(r->pool->log, ti);
	if (!ti) {
		go_on(r);
		return;
	}
	/* If the pool fails later, it finds this set. Pairs with the one in hold_read(). */
	smp_mb();
	/*
	 * Space that comes free may start the worker again, but it finds nothing. So it is enough
	 * to wait for one that had begun before.
	 */
	kvp_paced_stop(r);
	cancel_work_sync(&r->write_work);
	cancel_work_sync(&r->discard_work);
	queue_work(r->wq, &r->read_work);
	bio_list_init(&held);
	spin_lock_irqsave(&r->lock, flags);
	bio_list_merge(&held, &r->writes);
	bio_list_init(&r->writes);
	bio_list_merge(&held, &r->discards);
	bio_list_init(&r->discards);
	bio_list_merge(&held, &r->paced);
	bio_list_init(&r->paced);
	spin_unlock_irqrestore(&r->lock, flags);
	while ((bio = bio_list_pop(&held)))
		end_bio(bio, BLK_STS_DM_REQUEUE);
	if (kvp_pool_waits(r->pool))
		kvp_commit_requeue(r->pool->log);
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
static int map_discard(struct kvp_requests *r, struct bio *bio)
{
	struct kvp_pool *pool = r->pool;
	u32 count = block_count(bio);
	u64 seq = 0;

	if (kvp_pool_readonly(pool) || must_fail(pool))
		return DM_MAPIO_KILL;
	this_cpu_add(pool->stats->discard_blocks, count);
	if (!bio_list_empty(&r->discards) || !accept(pool, bio, &seq))
		return wait_for_space(r, bio, count, &r->discards, &r->discard_work);
	written(pool, bio, seq);
	return DM_MAPIO_SUBMITTED;
}

/* --- reads ------------------------------------------------------------------------------------ */

/* With no leg left and failmode=wait, reads wait for 'clear', or for another mode. */
static void hold_read(struct kvp_requests *r, struct bio *bio)
{
	unsigned long flags;

	if (kvp_requests_give_back(r)) {
		end_bio(bio, BLK_STS_DM_REQUEUE);
		return;
	}
	spin_lock_irqsave(&r->lock, flags);
	bio_list_add(&r->reads, bio);
	spin_unlock_irqrestore(&r->lock, flags);
	smp_mb();	/* pairs with the one in space_came_free() */
	if (!kvp_pool_waits(r->pool) || kvp_requests_give_back(r))
		queue_work(r->wq, &r->read_work);
}

enum buffered { BUFFER_LACKS, BUFFER_HAD, BUFFER_HAS_NO_PAGE };

/*
 * Copy a block from the buffer to @iter, if it is there, and move @iter behind it. Not in
 * interrupts.
 */
static enum buffered copy_buffered(struct kvp_pool *pool, struct bio *bio, struct bvec_iter *iter,
				   kvp_block_t block)
{
	struct kvp_version *d = kvp_wbuf_find(pool->wbuf, block);

	if (d) {
		struct page *page = READ_ONCE(d->page);

		if (page)
			copy_to_bio(bio, iter, page_address(page));
		kvp_wbuf_unlock(pool->wbuf, block);
		return page ? BUFFER_HAD : BUFFER_HAS_NO_PAGE;
	}
	if (!kvp_wbuf_in_hole(pool->wbuf, block))
		return BUFFER_LACKS;
	copy_to_bio(bio, iter, NULL);
	return BUFFER_HAD;
}

/* Where a read puts blocks that come from elsewhere. */
struct reader {
	struct bio *bio;
	struct bvec_iter iter;
};

static void give_block(void *to, struct page *page)
{
	struct reader *reader = to;

	copy_to_bio(reader->bio, &reader->iter, page_address(page));
}

/* How many of @count blocks from @at on lie in its chunk; of a mirror all. */
static u32 in_chunk(const struct kvp_spot *at, u32 count)
{
	return kvp_side_by_side(at->v->g, at->block, count);
}

/* How a failed read is repeated. @tried: blocks before this one are read one by one. */
struct repeat {
	kvp_block_t tried;
	struct kvp_pieces pieces;
};

/*
 * True if @block is on a leg that was passed over, and was not made, as something of its leaf went
 * home meanwhile. All else has come.
 */
static bool is_passed(struct kvp_requests *r, const struct kvp_bio *k, kvp_block_t block)
{
	return k->passes && k->came && k->lacks && kvp_block_leg(r->pool, block) == k->lacks;
}

/*
 * Read several blocks at once: blocks of a leg that is out, as many as lie together; or a piece of
 * a read that a leg answered with an error; or a piece that a leg has which was passed over. That
 * one is made under the lock, or else is read from its leg. Returns how many were read. If it
 * fails, it returns 0, and the caller reads the rest of the chunk, or of the piece, block by block.
 */
static u32 read_together(struct kvp_requests *r, struct bio *bio, struct bvec_iter *iter,
			 kvp_block_t block, struct repeat *rep)
{
	const struct kvp_bio *k = data_of(bio);
	bool out = kvp_block_missing(r->pool, block), passed = !out && is_passed(r, k, block);
	u32 left = iter->bi_size >> KVP_BLOCK_SHIFT;
	struct kvp_spot at = kvp_locate(r->pool, block);
	struct reader reader = { bio, *iter };
	u32 n = out ? in_chunk(&at, left) : kvp_piece_blocks(r->pool, block, left);
	int error = -EAGAIN;

	if ((n < 2 && !passed) || kvp_block_before(block, rep->tried) ||
	    (out ? k->mixed : k->came && !passed))
		return 0;
	rep->tried = kvp_block_add(block, n);
	if (out || passed)
		error = kvp_missing_read(r->pool, block, n, give_block, &reader);
	/* One by one, blocks do not wait for a leg that does not answer. */
	if (error && !out && n > 1 && !(passed && READ_ONCE(k->lacks->late)))
		error = kvp_piece_read(r->pool, &rep->pieces, block, n, give_block, &reader);
	if (error)
		return 0;
	*iter = reader.iter;
	return n;
}

/*
 * True if the block at @iter was read and has the table's sum. Moves @iter behind it. Other blocks
 * of the same read may be bad.
 */
static bool is_in_place(struct kvp_pool *pool, struct bio *bio, struct bvec_iter *iter,
			kvp_block_t block)
{
	const struct kvp_bio *k = data_of(bio);
	struct bvec_iter behind = *iter;
	struct kvp_tpage *leaf;
	u64 entry;
	bool good;

	if (!k->came || (k->lacks && kvp_block_leg(pool, block) == k->lacks))
		return false;
	/* Ask the buffer before the table: a version that has left the buffer is in the table. */
	if (k->mixed && kvp_wbuf_any(pool->wbuf, block, 1))
		return false;
	leaf = kvp_table_load(pool->table, block);
	if (IS_ERR(leaf))
		return false;
	entry = kvp_table_entry(leaf, block);
	kvp_table_put(leaf);
	if (kvp_entry_state(entry) == KVP_ENTRY_UNWRITTEN) {
		copy_to_bio(bio, iter, NULL);
		return true;
	}
	good = kvp_entry_state(entry) == KVP_ENTRY_VALID &&
	       sum_of_bio(bio, &behind, pool->seed, block) == kvp_entry_crc(entry);
	if (good)
		*iter = behind;
	return good;
}

/* Spilled versions among the blocks that are read anew: those of @r, up to block @end. */
struct spilled {
	struct kvp_spilled_read *r;
	kvp_block_t end;
};

/* True if the block at @iter is spilled, and was read with others. Moves @iter behind it. */
static bool read_spilled(struct kvp_pool *pool, struct bio *bio, struct bvec_iter *iter,
			 kvp_block_t block, struct spilled *s)
{
	struct page *page = kvp_spilled_page(data_of(bio)->beside, block);

	if (!page && !kvp_block_before(block, s->end)) {
		kvp_spilled_free(s->r);
		s->r = kvp_spilled_read(pool->log, block, iter->bi_size >> KVP_BLOCK_SHIFT,
					&s->end);
	}
	page = page ?: kvp_spilled_page(s->r, block);
	if (page)
		copy_to_bio(bio, iter, page_address(page));
	return page;
}

static void free_beside(struct kvp_bio *k)
{
	kvp_spilled_free(k->beside);
	k->beside = NULL;
}

/*
 * Read, step 6.
 *
 * Read each block again that does not fit, under its lock, through a private page. A lost block
 * ends with an error. Returns false if a leg did not answer and failmode=wait: the read waits.
 */
static bool read_anew(struct kvp_requests *r, struct bio *bio)
{
	struct kvp_bio *k = data_of(bio);
	struct bvec_iter iter = k->iter;
	struct repeat rep = { .tried = kvp_block(0), .pieces.failed = k->leg };
	kvp_block_t block = kvp_bio_block(iter);
	struct page *page = mempool_alloc(&r->pages, GFP_NOIO);
	struct spilled spilled = { NULL, block };
	blk_status_t status = BLK_STS_OK;
	u32 n;

	for (; iter.bi_size; block = kvp_block_add(block, n)) {
		int error;

		n = 1;
		if (is_in_place(r->pool, bio, &iter, block) ||
		    read_spilled(r->pool, bio, &iter, block, &spilled))
			continue;
		n = read_together(r, bio, &iter, block, &rep);
		if (n)
			continue;
		n = 1;
		error = kvp_block_read(r->pool, block, page);
		if (error == -EIO && kvp_pool_waits(r->pool))
			break;
		if (error)
			status = BLK_STS_IOERR;
		copy_to_bio(bio, &iter, error ? NULL : page_address(page));
	}
	mempool_free(page, &r->pages);
	kvp_spilled_free(spilled.r);
	free_beside(k);
	if (iter.bi_size) {
		hold_read(r, bio);
		return false;
	}
	end_bio(bio, status);
	return !status;
}

static void read_anew_work(struct work_struct *work)
{
	struct kvp_bio *k = container_of(work, struct kvp_bio, work);
	kvp_block_t block = kvp_bio_block(k->iter);
	u32 count = k->iter.bi_size >> KVP_BLOCK_SHIFT;
	struct kvp_requests *r = k->requests;
	struct kvp_pool *pool = r->pool;
	bool ssd = k->ssd.block;

	k->ssd.block = 0;
	/*
	 * After read_anew() the bio is gone. If a block from the SSD cache did not fit, the cache
	 * must forget it, but not before home was read: if home does not give the block, another
	 * SSD may, or the same one at a second try.
	 */
	if (!read_anew(r, bio_of(k)) || !ssd)
		return;
	kvp_cache_mistrust(pool, block, count);
	this_cpu_add(pool->stats->ssd_mistrusted, count);
}

/*
 * A poller cannot drive a worker. Device-mapper completes the bio when the worker has ended it.
 */
static void leave_poller(struct bio *bio)
{
	bio_clear_polled(bio);
	bio->bi_opf &= ~REQ_NOWAIT;
}

static void defer_read(struct kvp_requests *r, struct bio *bio, work_func_t how)
{
	struct kvp_bio *k = data_of(bio);

	k->requests = r;
	leave_poller(bio);
	INIT_WORK(&k->work, how);
	queue_work(r->wq, &k->work);
}

/* From map: hand @bio to a worker, or end it if its submitter does not want to wait. */
static void wait_for_read(struct kvp_requests *r, struct bio *bio, work_func_t how)
{
	if (kvp_requests_nowait(bio))
		kvp_requests_again(r, bio, block_count(bio));
	else
		defer_read(r, bio, how);
}

/* Reads that waited for legs; each may wait again. */
static void read_work(struct work_struct *work)
{
	struct kvp_requests *r = container_of(work, struct kvp_requests, read_work);
	struct bio_list held;
	unsigned long flags;
	struct bio *bio;

	bio_list_init(&held);
	spin_lock_irqsave(&r->lock, flags);
	bio_list_merge(&held, &r->reads);
	bio_list_init(&r->reads);
	spin_unlock_irqrestore(&r->lock, flags);
	while ((bio = bio_list_pop(&held)))
		if (kvp_requests_give_back(r))
			end_bio(bio, BLK_STS_DM_REQUEUE);
		else
			defer_read(r, bio, read_anew_work);
}

static void long_read_done(struct kvp_requests *r, struct bio *bio, bool good);
static void home_has_come(struct kvp_requests *r, struct bio *bio, bool good);

/*
 * The ways to read blocks. If any block is valid, all of them are read. kvp_requests_end_io() then
 * finds the blocks among them that are not valid.
 */
enum home_class { HOME_ZERO, HOME_READ, HOME_POISON };

static enum home_class classify(const struct kvp_tpage *leaf, kvp_block_t block, u32 count)
{
	enum home_class class = HOME_ZERO;
	u32 i;

	for (i = 0; i < count; i++) {
		u64 entry = kvp_table_entry(leaf, kvp_block_add(block, i));
		unsigned int state = kvp_entry_state(entry);

		if (state == KVP_ENTRY_VALID)
			return HOME_READ;
		if (state != KVP_ENTRY_UNWRITTEN)
			class = HOME_POISON;
	}
	return class;
}

static void read_zeros(struct kvp_pool *pool, struct bio *bio)
{
	this_cpu_add(pool->stats->zero_read_blocks, block_count(bio));
	zero_fill_bio(bio);
	end_bio(bio, BLK_STS_OK);
}

/* Point the bio at @leg, unless there is none. */
static bool point_at(struct bio *bio, struct kvp_bio *k, struct kvp_leg *leg, kvp_lblock_t at)
{
	k->leg = leg;
	if (!leg)
		return false;
	k->since = kvp_slow_begin(leg);
	bio_set_dev(bio, leg->bdev);
	bio->bi_iter.bi_sector = kvp_lblock_nr(at) << KVP_SECTORS_SHIFT;
	return true;
}

/*
 * Point the bio at the leg that has all of it, or one of those; false if there is none. The vdev
 * has no parity, or all blocks lie on one leg.
 */
static bool point_at_leg(struct bio *bio, struct kvp_bio *k, const struct kvp_spot *at)
{
	return point_at(bio, k, kvp_leg_choose(at, block_count(bio)),
			kvp_data_place(at->v->g, at->block).block);
}

/* Point the bio at the SSD cache, if that has all of it. */
static bool point_at_ssd(struct kvp_pool *pool, struct bio *bio, struct kvp_bio *k)
{
	u32 count = block_count(bio);

	if (!k->ssd.block)
		return false;
	if (kvp_cache_current(pool, k->leaf, first_block(bio), count, &k->ssd) &&
	    point_at(bio, k, kvp_scache_choose(pool->scache, &k->ssd, count), k->ssd.block)) {
		this_cpu_add(pool->stats->ssd_hits, count);
		return true;
	}
	k->ssd.block = 0;
	return false;
}

static void beside_work(struct work_struct *work);

/*
 * Read, step 4, of a mixed read: a worker reads spilled blocks while home is read. Call it before
 * anything is sent.
 */
static void read_beside(struct kvp_requests *r, struct kvp_bio *k)
{
	if (!kvp_wbuf_nr_spilled(r->pool->wbuf))
		return;
	atomic_set(&k->sides, 2);
	INIT_WORK(&k->work, beside_work);
	queue_work(r->wq, &k->work);
}

/*
 * Read, step 4. Point the bio, whose first block is @at, at a leg, or read it from several. Takes
 * over the leaf's reference. False: there is nothing to submit any more.
 */
static bool remap_home(struct kvp_requests *r, struct bio *bio, struct kvp_bio *k,
		       const struct kvp_spot *at, struct kvp_tpage *leaf)
{
	struct kvp_pool *pool = r->pool;
	kvp_block_t block = first_block(bio);
	u32 count = block_count(bio);
	enum home_class class = classify(leaf, block, count);

	if (class == HOME_READ) {
		k->missed_ram = kvp_rcache_enabled(pool->rcache);
		if (k->missed_ram)
			this_cpu_add(pool->stats->ram_misses, count);
		k->requests = r;
		k->leaf = leaf;
		k->missed_ssd = false;
		atomic_set(&k->sides, 1);
		if (point_at_ssd(pool, bio, k))
			return true;
		k->missed_ssd = kvp_scache_asked(pool->scache, count);
		if (k->missed_ssd)
			this_cpu_add(pool->stats->ssd_misses, count);
		this_cpu_add(pool->stats->home_read_blocks, count);
		if (k->mixed)
			read_beside(r, k);
		if (in_chunk(at, count) == count && point_at_leg(bio, k, at))
			return true;
		if (kvp_block_leg(pool, block) && kvp_long_read(r, bio, leaf, long_read_done))
			return false;
		if (k->mixed) {
			home_has_come(r, bio, false);
			return false;
		}
		k->leaf = NULL;
	}
	kvp_table_put(leaf);
	k->ssd.block = 0;
	if (class == HOME_ZERO && !k->mixed)
		read_zeros(pool, bio);
	else
		wait_for_read(r, bio, read_anew_work);
	return false;
}

/* Read, step 4, if the leaf is not in memory. Load it, and then read. */
static void read_home_work(struct work_struct *work)
{
	struct kvp_bio *k = container_of(work, struct kvp_bio, work);
	struct kvp_requests *r = k->requests;
	struct bio *bio = bio_of(k);
	struct kvp_spot at = kvp_locate(r->pool, first_block(bio));
	struct kvp_tpage *leaf = kvp_table_load(r->pool->table, first_block(bio));

	kvp_table_shrink(r->pool->table, false);
	/* The SSD cache was not read, if it ends here. */
	if (IS_ERR(leaf))
		k->ssd.block = 0;
	if (leaf == ERR_PTR(-ENOMEM) || (IS_ERR(leaf) && kvp_pool_waits(r->pool)))
		read_anew(r, bio);	/* which waits for memory, or legs */
	else if (IS_ERR(leaf))
		end_bio(bio, BLK_STS_IOERR);
	else if (remap_home(r, bio, k, &at, leaf))
		kvp_leg_send(k->leg, bio);
}

/* Read, step 2. Serve from the buffer. False if a block has left it meanwhile, or is spilled. */
static bool read_buffer(struct kvp_pool *pool, struct bio *bio)
{
	struct bvec_iter iter = bio->bi_iter;
	kvp_block_t block = first_block(bio);

	for (; iter.bi_size; block = kvp_block_add(block, 1))
		if (copy_buffered(pool, bio, &iter, block) != BUFFER_HAD)
			return false;
	return true;
}

/* --- the RAM cache: reads that are small enough, all or nothing --------------------------- */

#define CACHED_BLOCKS	KVP_RCACHE_STRETCH

/*
 * Read, step 2, for blocks that are not buffered; the buffer was asked before. Copies blocks while
 * they may be evicted.
 */
static bool read_cached(struct kvp_pool *pool, struct bio *bio)
{
	u32 count = block_count(bio), i;
	struct bvec_iter iter = bio->bi_iter;
	kvp_block_t block = first_block(bio);

	if (count > CACHED_BLOCKS || !kvp_rcache_enabled(pool->rcache))
		return false;
	for (i = 0; i < count; i++) {
		struct page *page = kvp_rcache_get(pool->rcache, kvp_block_add(block, i));

		if (!page)
			return false;
		copy_to_bio(bio, &iter, page_address(page));
		kvp_rcache_put(page);
	}
	this_cpu_add(pool->stats->ram_hits, count);
	return true;
}

/*
 * Says whether the RAM cache should keep the blocks, if they come from home. It keeps none of reads
 * that are long or were cut. Of the others it keeps all that a file system calls important. Else it
 * keeps no blocks that are read ahead, since the kernel keeps those, and none of long streams.
 * It is asked about reads that hit the cache, too, since they are part of streams.
 */
static enum kvp_ram_bypass worth_keeping(struct kvp_pool *pool, struct bio *bio, bool whole)
{
	u32 run = kvp_streams_read(&pool->streams, kvp_block_nr(first_block(bio)),
				   block_count(bio));
	u64 cutoff = READ_ONCE(pool->tunables[KVP_T_SEQ_CUTOFF_READ]);

	if (!whole || block_count(bio) > CACHED_BLOCKS)
		return KVP_RAM_LONG;
	if (bio->bi_opf & (REQ_META | REQ_PRIO))
		return KVP_RAM_KEEP;
	if (bio->bi_opf & REQ_RAHEAD)
		return KVP_RAM_AHEAD;
	return run <= cutoff >> KVP_BLOCK_SHIFT ? KVP_RAM_KEEP : KVP_RAM_STREAM;
}

/* The hints of a read for the policy of the SSD cache. */
static u32 ask_of(const struct bio *bio)
{
	return (bio->bi_opf & (REQ_META | REQ_PRIO) ? KVP_ASK_META : 0) |
	       (bio->bi_opf & (REQ_RAHEAD | REQ_BACKGROUND) ? KVP_ASK_AHEAD : 0);
}

/* The read comes from home, or from the SSD: decide whether a cache keeps its blocks. */
static void plan_fill(struct kvp_pool *pool, struct bio *bio, struct kvp_bio *k,
		      enum kvp_ram_bypass why)
{
	bool keep = why == KVP_RAM_KEEP && kvp_rcache_enabled(pool->rcache);

	k->may_fill = !k->ssd.block && kvp_admit_plan(pool->admission, first_block(bio),
						     block_count(bio), ask_of(bio), &k->plan);
	k->fill = keep;
	k->favoured = keep && bio->bi_opf & (REQ_META | REQ_PRIO);
	k->bypassed = kvp_rcache_enabled(pool->rcache) ? why : KVP_RAM_KEEP;
	if (!keep && k->bypassed)
		this_cpu_add(pool->stats->ram_bypassed[k->bypassed], block_count(bio));
}

/*
 * Read, step 1.
 *
 * Returns how many of @n blocks, from the first on, are served the same way; @buffered: from the
 * buffer.
 */
static u32 alike(struct kvp_pool *pool, kvp_block_t block, u32 n, bool *buffered)
{
	u32 i;

	*buffered = false;
	if (!kvp_wbuf_any(pool->wbuf, block, n))
		return n;
	*buffered = kvp_wbuf_any(pool->wbuf, block, 1);
	for (i = 1; i < n; i++)
		if (kvp_wbuf_any(pool->wbuf, kvp_block_add(block, i), 1) != *buffered)
			break;
	return i;
}

#define MIXED_LEAST	16u	/* a worker pays for itself if this many blocks would be cut off */

/* True if a block is neither in the buffer nor on the SSD cache. */
static bool needs_home(struct kvp_pool *pool, kvp_block_t block, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++) {
		kvp_block_t b = kvp_block_add(block, i);

		if (!kvp_wbuf_any(pool->wbuf, b, 1) && !kvp_scache_has(pool->scache, b))
			return true;
	}
	return false;
}

/*
 * How many of @all blocks from @block on are read from home in one request. The first @n are not
 * buffered, and the next one is. More than @n are read if that saves cutting off MIXED_LEAST blocks
 * or more: a disk reads the buffered blocks along in the time in which a second request would come
 * round. With an SSD cache, the read must also be too long for it, and have a block that only home
 * has.
 */
static u32 mixed_blocks(struct kvp_pool *pool, kvp_block_t block, u32 all, u32 n)
{
	if (all - n < MIXED_LEAST)
		return n;
	if (!pool->vdevs.cache_client || (all > KVP_SCACHE_READ && needs_home(pool, block, all)))
		return all;
	return n;
}

/*
 * Take the token of the RAM cache, before the SSD cache is asked where the blocks lie. A version
 * that is written home after that look takes them out of the index, but this read goes to the place
 * that it has found. The token is for all blocks that may be kept: the read may still be cut.
 */
static void take_token(struct kvp_pool *pool, const struct bio *bio, struct kvp_bio *k)
{
	k->token_blocks = min(block_count(bio), CACHED_BLOCKS);
	k->token = kvp_rcache_token(pool->rcache, first_block(bio), k->token_blocks);
}

/*
 * Read, step 3. Cut @bio so that the SSD cache has all of it, or nothing. False if a cut is needed,
 * and @bio must not be cut.
 */
static bool cut_for_ssd(struct kvp_pool *pool, struct bio *bio, struct kvp_bio *k)
{
	u32 count = block_count(bio);
	u32 n = kvp_scache_alike(pool->scache, first_block(bio), count, &k->ssd);

	if (n == count)
		return true;
	if (kvp_requests_nowait(bio))
		return false;
	dm_accept_partial_bio(bio, n << KVP_SECTORS_SHIFT);
	k->iter = bio->bi_iter;
	this_cpu_sub(pool->stats->read_blocks, count - n);
	return true;
}

/*
 * Map a read whose first block is @at; the buffer has none of its blocks. @whole: the read was not
 * cut so far.
 */
static int map_unbuffered(struct kvp_requests *r, struct bio *bio, struct kvp_bio *k,
			  const struct kvp_spot *at, bool whole)
{
	enum kvp_ram_bypass why = KVP_RAM_KEEP;
	bool cached = !k->mixed && read_cached(r->pool, bio);
	struct kvp_tpage *leaf = NULL;

	if (!cached) {
		take_token(r->pool, bio, k);
		if (!cut_for_ssd(r->pool, bio, k))
			return kvp_requests_again(r, bio, block_count(bio));
		leaf = kvp_table_find_at(r->pool->table, at);
		/* The same read comes again, so the caches are not told yet. */
		if (!leaf && kvp_requests_nowait(bio))
			return kvp_requests_again(r, bio, block_count(bio));
	}
	if (kvp_rcache_enabled(r->pool->rcache))
		why = worth_keeping(r->pool, bio, whole);
	if (cached) {
		end_bio(bio, BLK_STS_OK);
		return DM_MAPIO_SUBMITTED;
	}
	plan_fill(r->pool, bio, k, k->mixed ? KVP_RAM_LONG : why);
	if (!leaf) {
		defer_read(r, bio, read_home_work);
		return DM_MAPIO_SUBMITTED;
	}
	if (!remap_home(r, bio, k, at, leaf))
		return DM_MAPIO_SUBMITTED;
	if (!kvp_leg_crowded(k->leg))
		return DM_MAPIO_REMAPPED;
	kvp_leg_send(k->leg, bio);
	return DM_MAPIO_SUBMITTED;
}

static int map_read(struct kvp_requests *r, struct bio *bio, struct kvp_bio *k)
{
	struct kvp_pool *pool = r->pool;
	struct kvp_spot at = kvp_locate(pool, first_block(bio));
	u32 count = block_count(bio), all = min(count, at.left), n;	/* @all: below one leaf */
	bool buffered;

	n = alike(pool, first_block(bio), all, &buffered);
	if (!buffered && n < all && !kvp_requests_nowait(bio)) {
		all = mixed_blocks(pool, first_block(bio), all, n);
		k->mixed = all > n;
		n = all;
	}
	this_cpu_add(pool->stats->read_blocks, n);
	if (n < count && kvp_requests_nowait(bio))
		return kvp_requests_again(r, bio, n);
	if (n < count)
		dm_accept_partial_bio(bio, n << KVP_SECTORS_SHIFT);
	k->iter = bio->bi_iter;
	k->ssd.block = 0;
	if (!buffered)
		return map_unbuffered(r, bio, k, &at, n == count);
	if (read_buffer(pool, bio)) {
		this_cpu_add(pool->stats->buffer_read_blocks, n);
		end_bio(bio, BLK_STS_OK);
	} else {
		wait_for_read(r, bio, read_anew_work);
	}
	return DM_MAPIO_SUBMITTED;
}

/*
 * Verify one block that came back, in a page of the caches, where the reader cannot change it any
 * more (R23). If they have no page for it, verify it where it is.
 */
static noinline bool verify_for_caches(struct kvp_pool *pool, const struct kvp_bio *k,
				       struct bio *bio, struct bvec_iter *iter, kvp_block_t block,
				       u32 crc)
{
	struct page *page = k->fill ? kvp_rcache_page(pool->rcache, block) : NULL;
	struct kvp_candidate *c = k->may_fill ? kvp_admit_begin(pool->admission, block, &k->plan) :
				  NULL;
	void *kept = page ? page_address(page) : c ? page_address(c->page) : NULL;
	bool good;
	struct kvp_rfill fill = {
		.first = kvp_bio_block(k->iter),
		.count = k->token_blocks,
		.token = k->token,
		.favoured = k->favoured,
	};

	if (!kept)
		return sum_of_bio(bio, iter, pool->seed, block) == crc;
	copy_from_bio(bio, iter, kept);
	good = kvp_block_sum(pool->seed, block, kept) == crc;
	if (c && good) {
		if (page)
			memcpy(page_address(c->page), kept, KVP_BLOCK_SIZE);
		kvp_admit_add(pool->admission, c, crc);
	} else if (c) {
		kvp_admit_drop(pool->admission, c);
	}
	if (page && good)
		kvp_rcache_insert(pool->rcache, block, page, &fill);
	else if (page)
		kvp_rcache_unpage(pool->rcache, block, page);
	return good;
}

/* Verify one block that came back. */
static bool verify_block(struct kvp_pool *pool, const struct kvp_bio *k, struct bio *bio,
			 struct bvec_iter *iter, kvp_block_t block, u32 crc)
{
	if (k->fill || k->may_fill)
		return verify_for_caches(pool, k, bio, iter, block, crc);
	return sum_of_bio(bio, iter, pool->seed, block) == crc;
}

/*
 * Copy a block to @iter, if it is in the buffer or spilled, and move @iter behind it. False if it
 * is spilled and did not come: it was spilled, renewed, or written again since the read began.
 */
static bool copy_newer(struct kvp_pool *pool, struct bio *bio, struct bvec_iter *iter,
		       kvp_block_t block, bool *copied)
{
	enum buffered had = copy_buffered(pool, bio, iter, block);
	struct page *page = NULL;

	if (had == BUFFER_HAD)
		this_cpu_inc(pool->stats->buffer_read_blocks);
	if (had == BUFFER_HAS_NO_PAGE) {
		page = kvp_spilled_page(data_of(bio)->beside, block);
		if (page)
			copy_to_bio(bio, iter, page_address(page));
	}
	*copied = had == BUFFER_HAD || page;
	return *copied || had == BUFFER_LACKS;
}

/* verify() from @iter on, block by block. */
static bool verify_blocks(struct kvp_pool *pool, struct bio *bio, const struct kvp_bio *k,
			  struct bvec_iter iter)
{
	const struct kvp_tpage *leaf = k->leaf;
	kvp_block_t block = kvp_bio_block(iter);

	for (; iter.bi_size; block = kvp_block_add(block, 1)) {
		bool copied = false;
		u64 entry;

		if (k->mixed && !copy_newer(pool, bio, &iter, block, &copied))
			return false;
		if (copied)
			continue;
		entry = kvp_table_entry(leaf, block);
		switch (kvp_entry_state(entry)) {
		case KVP_ENTRY_UNWRITTEN:
			copy_to_bio(bio, &iter, NULL);
			break;
		case KVP_ENTRY_VALID:
			if (!verify_block(pool, k, bio, &iter, block, kvp_entry_crc(entry)))
				return false;
			break;
		default:
			return false;
		}
	}
	return true;
}

/* verify() for whole pages that are neighbours in memory; the first is @block. */
static bool verify_pages(struct kvp_pool *pool, const struct kvp_tpage *leaf, kvp_block_t block,
			 struct bio_vec bv)
{
	struct page *page = bv.bv_page + (bv.bv_offset >> PAGE_SHIFT);
	struct page *end = page + (bv.bv_len >> PAGE_SHIFT);

	for (; page < end; page++, block = kvp_block_add(block, 1)) {
		u64 entry = kvp_table_entry(leaf, block);
		void *p;
		u32 sum;

		if (kvp_entry_state(entry) == KVP_ENTRY_UNWRITTEN) {
			memzero_page(page, 0, PAGE_SIZE);
			continue;
		}
		if (kvp_entry_state(entry) != KVP_ENTRY_VALID)
			return false;
		p = kmap_local_page(page);
		sum = kvp_block_sum(pool->seed, block, p);
		kunmap_local(p);
		if (sum != kvp_entry_crc(entry))
			return false;
	}
	return true;
}

/*
 * Verify against the table as it is now; unwritten blocks among written ones become zeros. Most
 * reads need nothing but sums of pages.
 */
static bool verify(struct kvp_pool *pool, struct bio *bio, const struct kvp_bio *k)
{
	bool sums_only = !k->mixed && !k->fill && !k->may_fill;
	struct bvec_iter iter = k->iter;

	while (sums_only && iter.bi_size) {
		struct bio_vec bv = mp_bvec_iter_bvec(bio->bi_io_vec, iter);

		if (!PAGE_ALIGNED(bv.bv_offset | bv.bv_len))
			break;
		if (!verify_pages(pool, k->leaf, kvp_bio_block(iter), bv))
			return false;
		bio_advance_iter_single(bio, &iter, bv.bv_len);
	}
	return !iter.bi_size || verify_blocks(pool, bio, k, iter);
}

/*
 * Read, step 5. The blocks have come, if @good. If a block does not fit, the device need not be at
 * fault: destage or a direct write may have written it meanwhile, or the reader wrote to its
 * buffer. Then false, and it is read anew.
 */
static bool came_well(struct kvp_requests *r, struct bio *bio, struct kvp_bio *k, bool good)
{
	k->came = good;
	/* If something is read anyway, read_anew() verifies the rest. It would be summed twice. */
	good = good && !k->lacks && !k->lacks_spilled && verify(r->pool, bio, k);
	kvp_table_put(k->leaf);
	k->leaf = NULL;
	if (good) {
		free_beside(k);
		return true;
	}
	this_cpu_inc(r->pool->stats->read_retries);
	defer_read(r, bio, read_anew_work);
	return false;
}

/*
 * Make the blocks of the leg that was not read. A worker does this, since vector instructions may
 * not be used everywhere.
 */
static void rebuild_work(struct work_struct *work)
{
	struct kvp_bio *k = container_of(work, struct kvp_bio, work);
	struct kvp_requests *r = k->requests;
	struct bio *bio = bio_of(k);
	u32 made = kvp_long_rebuild(r, bio, k->came);

	if (!came_well(r, bio, k, k->came))
		return;
	if (k->passes)
		this_cpu_add(r->pool->stats->passed_blocks, made);
	else
		this_cpu_add(r->pool->stats->rebuilt_blocks, made);
	end_bio(bio, BLK_STS_OK);
}

/* All of a mixed read has come, good or not. */
static void mixed_work(struct work_struct *work)
{
	struct kvp_bio *k = container_of(work, struct kvp_bio, work);
	struct bio *bio = bio_of(k);

	if (came_well(k->requests, bio, k, k->came))
		end_bio(bio, BLK_STS_OK);
}

/*
 * Home has answered, or the SSDs beside it. When both have, a worker goes on: an interrupt must not
 * take the buffer's locks. Only now is the buffer asked which version of a block counts, and then
 * the table. Both may have changed while the two were read.
 */
static void end_side(struct kvp_requests *r, struct kvp_bio *k)
{
	if (atomic_dec_and_test(&k->sides))
		defer_read(r, bio_of(k), k->rebuild ? rebuild_work : mixed_work);
}

static void beside_work(struct work_struct *work)
{
	struct kvp_bio *k = container_of(work, struct kvp_bio, work);
	struct kvp_requests *r = k->requests;
	u32 count = k->iter.bi_size >> KVP_BLOCK_SHIFT;
	kvp_block_t first = kvp_bio_block(k->iter), end;

	k->beside = kvp_spilled_read(r->pool->log, first, count, &end);
	k->lacks_spilled = kvp_block_before(end, kvp_block_add(first, count));
	end_side(r, k);
}

/* Of a mixed read: all has come from home, if @good. */
static void home_has_come(struct kvp_requests *r, struct bio *bio, bool good)
{
	data_of(bio)->came = good;
	leave_poller(bio);
	end_side(r, data_of(bio));
}

static void long_read_done(struct kvp_requests *r, struct bio *bio, bool good)
{
	struct kvp_bio *k = data_of(bio);

	k->came = good;
	if (k->mixed)
		home_has_come(r, bio, good);
	else if (k->rebuild)
		defer_read(r, bio, rebuild_work);
	else if (came_well(r, bio, k, good))
		end_bio(bio, BLK_STS_OK);
}

/* Take the read out of the counts: it comes again, and is counted then. */
static void uncount_read(struct kvp_pool *pool, const struct kvp_bio *k)
{
	u32 count = k->iter.bi_size >> KVP_BLOCK_SHIFT;

	this_cpu_sub(pool->stats->read_blocks, count);
	if (k->missed_ram)
		this_cpu_sub(pool->stats->ram_misses, count);
	if (k->missed_ssd)
		this_cpu_sub(pool->stats->ssd_misses, count);
	if (k->ssd.block)
		this_cpu_sub(pool->stats->ssd_hits, count);
	if (k->bypassed)
		this_cpu_sub(pool->stats->ram_bypassed[k->bypassed], count);
}

int kvp_requests_end_io(struct kvp_requests *r, struct bio *bio, blk_status_t *error)
{
	struct kvp_bio *k = data_of(bio);
	bool again = *error == BLK_STS_AGAIN, good = !*error;

	/* The pool itself has ended it: from RAM, or by reading anew after a first try. */
	if (!k->leaf)
		return DM_ENDIO_DONE;
	if (!*error) {
		kvp_slow_end(k->leg, KVP_IO_READ, k->iter.bi_size >> KVP_BLOCK_SHIFT, k->since);
		kvp_leg_gives(k->leg);
	}
	kvp_leg_unchoose(k->leg);
	/*
	 * The leg has no request free, which is not an error of the leg. A mixed read goes on: a
	 * worker may be reading for it.
	 */
	if (again && !k->mixed && kvp_requests_nowait(bio)) {
		uncount_read(r->pool, k);
		kvp_table_put(k->leaf);
		k->leaf = NULL;
		return DM_ENDIO_DONE;
	}
	good = good && !kvp_injected(k->leg, KVP_FAULT_READ);
	/* An error of a leg counts when read_anew() sees it again. */
	if (!good && !again && k->ssd.block)
		atomic64_inc(&k->leg->err_read);
	/* The log has come round and has overwritten the block. That is no error of the SSD. */
	if (good && k->ssd.block && !kvp_scache_intact(r->pool->scache, &k->ssd)) {
		good = false;
		k->ssd.block = 0;
	}
	*error = BLK_STS_OK;
	bio->bi_status = BLK_STS_OK;
	if (k->mixed) {
		home_has_come(r, bio, good);
		return DM_ENDIO_INCOMPLETE;
	}
	return came_well(r, bio, k, good) ? DM_ENDIO_DONE : DM_ENDIO_INCOMPLETE;
}

/* --- all of them -------------------------------------------------------------------------- */

int kvp_requests_map(struct kvp_requests *r, struct bio *bio)
{
	struct kvp_bio *k = data_of(bio);

	k->leaf = NULL;
	k->leg = NULL;
	k->rebuild = NULL;
	k->lacks = NULL;
	k->beside = NULL;
	k->lacks_spilled = false;
	k->passes = false;
	k->came = false;
	k->mixed = false;
	/* Another host may have the pool, so what RAM holds may be out of date. */
	if (unlikely(kvp_failed_by(&r->pool->failure, KVP_FAIL_HOST)))
		return DM_MAPIO_KILL;
	if (bio->bi_opf & REQ_PREFLUSH)
		return map_flush(r->pool, bio);
	switch (bio_op(bio)) {
	case REQ_OP_READ:
		return map_read(r, bio, k);
	case REQ_OP_WRITE:
		return map_write(r, bio);
	case REQ_OP_DISCARD:
	case REQ_OP_WRITE_ZEROES:
		return map_discard(r, bio);
	default:
		return DM_MAPIO_KILL;
	}
}

int kvp_requests_init(struct kvp_requests *r, struct kvp_pool *pool)
{
	r->pool = pool;
	r->since = ktime_get_boottime();
	spin_lock_init(&r->lock);
	bio_list_init(&r->writes);
	bio_list_init(&r->discards);
	bio_list_init(&r->paced);
	bio_list_init(&r->reads);
	kvp_paced_init(r);
	INIT_WORK(&r->write_work, write_work);
	INIT_WORK(&r->discard_work, discard_work);
	INIT_WORK(&r->read_work, read_work);
	/* Two workqueues: reads that wait for memory must not delay writes, which free some. */
	r->wq = alloc_workqueue("kvpool-reads", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	r->write_wq = alloc_workqueue("kvpool-writes", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (!r->wq || !r->write_wq || mempool_init_page_pool(&r->pages, READ_PAGES, 0)) {
		kvp_requests_exit(r);
		return -ENOMEM;
	}
	if (kvp_long_reads_init(r)) {
		kvp_requests_exit(r);
		return -ENOMEM;
	}
	pool->requests = r;
	pool->space = space_came_free;
	return 0;
}

void kvp_requests_drain(struct kvp_requests *r)
{
	flush_workqueue(r->wq);
}

void kvp_requests_exit(struct kvp_requests *r)
{
	if (r->pool) {
		r->pool->space = NULL;
		kvp_paced_stop(r);
	}
	if (r->wq)
		destroy_workqueue(r->wq);
	if (r->write_wq)
		destroy_workqueue(r->write_wq);
	mempool_exit(&r->pages);
	kvp_long_reads_exit(r);
	r->wq = NULL;
	r->write_wq = NULL;
}
