// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests: where each bio begins, and the lists of those that wait. map never waits for I/O of the
 * pool. write.c has the steps of writes, discards and flushes, read.c those of reads.
 *
 * A noflush suspend gives back every bio that waits here (kvp_requests_requeue()).
 */
#include <linux/device-mapper.h>

#include "core/core.h"
#include "core/stats.h"
#include "log/log.h"
#include "target/bio.h"
#include "target/long_read.h"
#include "target/paced.h"
#include "target/read.h"
#include "target/read_anew.h"
#include "target/request.h"
#include "target/write.h"

#define READ_PAGES	4	/* pages that are kept, so that reads go on without any memory */

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
	kvp_bio_end(bio, BLK_STS_AGAIN);
	return DM_MAPIO_SUBMITTED;
}

/* --- bios that wait ----------------------------------------------------------------------- */

static void space_came_free(struct kvp_pool *pool)
{
	struct kvp_requests *r = pool->requests;

	atomic_inc(&r->space_seq);
	/* pairs with the lock in defer_write(), and with the barrier in hold_read() */
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
		kvp_bio_end(bio, BLK_STS_DM_REQUEUE);
	if (kvp_pool_waits(r->pool))
		kvp_commit_requeue(r->pool->log);
}

/* --- all of them -------------------------------------------------------------------------- */

int kvp_requests_map(struct kvp_requests *r, struct bio *bio)
{
	struct kvp_bio *k = kvp_bio_data(bio);

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
		return kvp_write_map_flush(r->pool, bio);
	switch (bio_op(bio)) {
	case REQ_OP_READ:
		return kvp_read_map(r, bio, k);
	case REQ_OP_WRITE:
		return kvp_write_map(r, bio);
	case REQ_OP_DISCARD:
	case REQ_OP_WRITE_ZEROES:
		return kvp_write_map_discard(r, bio);
	default:
		return DM_MAPIO_KILL;
	}
}

int kvp_requests_init(struct kvp_requests *r, struct kvp_pool *pool)
{
	r->pool = pool;
	r->since = ktime_get_boottime();
	spin_lock_init(&r->lock);
	bio_list_init(&r->paced);
	kvp_write_init(r);
	kvp_read_anew_init(r);
	kvp_paced_init(r);
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
