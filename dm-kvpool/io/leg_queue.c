// SPDX-License-Identifier: GPL-2.0-only
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/log2.h>

#include "compat/compat.h"
#include "core/core.h"
#include "io/flight.h"
#include "io/leg_queue.h"
#include "io/share.h"

#define JOINED_RESERVE	4
#define SPARE_QUEUES	8	/* for devices that are no legs any more, and still have requests */
/* 64 KiB: a disk passes over that in less time than another request takes */
#define GAP_BLOCKS	16u

/*
 * The queue of one device. A device that takes its place as a leg has another queue, since the last
 * requests of the old device may never end.
 */
struct kvp_leg_queue {
	struct block_device *bdev;	/* NULL: no device yet; by all->lock */
	spinlock_t lock;		/* irqsave */
	struct bio_list reads, writes;	/* not yet sent by a worker; by lock */
	/* of joined requests that failed: sent one by one; by lock */
	struct bio_list alone;
	/* Bios with a waiter whose task must not wait for the device. By lock. */
	struct bio_list first;
	struct work_struct soon, at_once, now; /* see kick(); @now: for @first alone */
	bool wrote;			/* the last run that was taken has writes; by lock */
	bool rotational;		/* the leg seeks; by lock */
	struct kvp_leg *leg;		/* leg of the last bio; by lock */
	atomic_t in_flight;		/* writes that were sent, or wait here */
	atomic_t sent;			/* requests of the workers that have not ended */
	struct kvp_share share;		/* of the reserve */
	struct kvp_leg_queues *all;
};

struct kvp_leg_queues {
	struct kvp_pool *pool;
	struct workqueue_struct *wq, *urgent;
	struct bio_set joined, reserve;
	struct page *junk;	/* target for gaps that are read along: 1 << @junk_order blocks */
	unsigned int junk_order;
	spinlock_t lock;		/* irqsave; for bdev of the queues */
	struct kvp_leg_queue leg[KVP_LEGS_BESIDE + SPARE_QUEUES];
};

/* True if the queue's device is no leg any more, and all its requests have ended. */
static bool is_left(const struct kvp_pool *pool, const struct kvp_leg_queue *q)
{
	u32 i;

	for (i = 0; i < KVP_MAX_LEGS; i++)
		if (pool->legs[i].bdev == q->bdev)
			return false;
	if (READ_ONCE(pool->shadow.bdev) == q->bdev)
		return false;
	return !atomic_read(&q->in_flight) && !atomic_read(&q->sent) &&
	       !kvp_share_used(&q->share) &&
	       bio_list_empty(&q->reads) && bio_list_empty(&q->writes) &&
	       bio_list_empty(&q->alone) && bio_list_empty(&q->first);
}

/*
 * Find the queue of the leg's device, or a free one. If there is none, return a queue that another
 * device may use, too.
 */
static struct kvp_leg_queue *__find_queue(const struct kvp_leg *leg)
{
	struct kvp_leg_queues *qs = leg->pool->leg_queues;
	struct kvp_leg_queue *unused = NULL;
	u32 i;

	lockdep_assert_held(&qs->lock);
	for (i = 0; i < ARRAY_SIZE(qs->leg); i++) {
		if (qs->leg[i].bdev == leg->bdev)
			return &qs->leg[i];
		if (!unused && (!qs->leg[i].bdev || is_left(leg->pool, &qs->leg[i])))
			unused = &qs->leg[i];
	}
	return unused ?: &qs->leg[leg->index];
}

static struct kvp_leg_queue *take_queue(struct kvp_leg *leg)
{
	struct kvp_leg_queues *qs = leg->pool->leg_queues;
	struct kvp_leg_queue *q;
	unsigned long flags;

	spin_lock_irqsave(&qs->lock, flags);
	q = __find_queue(leg);
	q->bdev = leg->bdev;
	WRITE_ONCE(leg->queue, q);
	spin_unlock_irqrestore(&qs->lock, flags);
	return q;
}

struct kvp_leg_queue *kvp_leg_queue(struct kvp_leg *leg)
{
	return READ_ONCE(leg->queue) ?: take_queue(leg);
}

static bool is_write(const struct bio *bio)
{
	return op_is_write(bio_op(bio));
}

/* --- the reserve ----------------------------------------------------------------------- */

/* A bio of the reserve has a vector of full size: the reserve has no smaller ones. */
struct bio *kvp_leg_reserved_bio(struct kvp_leg_queue *q, struct block_device *bdev, u32 vecs,
				 blk_opf_t opf)
{
	struct bio *bio;

	if (!kvp_share_take(&q->share))
		return NULL;
	bio = bio_alloc_bioset(bdev, vecs ? BIO_MAX_VECS : 0, opf, GFP_NOWAIT | __GFP_NOWARN,
			       &q->all->reserve);
	/* The reserve is as large as all shares together. */
	if (WARN_ON_ONCE(!bio))
		kvp_share_put(&q->share);
	return bio;
}

static bool is_reserved(const struct kvp_leg_queue *q, const struct bio *bio)
{
	return bio->bi_pool == &q->all->reserve;
}

struct kvp_share *kvp_leg_share(struct kvp_leg_queue *q)
{
	return &q->share;
}

void kvp_leg_put_bio(struct kvp_leg_queue *q, struct bio *bio)
{
	bool reserved = is_reserved(q, bio);

	bio_put(bio);
	if (reserved)
		kvp_share_put(&q->share);
}

/*
 * Queue a worker. Writes are sent at once: copying or summing the next ones takes the processor
 * milliseconds, and the device would be idle. Reads are sent later: readers that have just been
 * answered will soon ask for the next blocks, which then go in one request. Both workers send reads
 * and writes, and may send at the same time.
 */
static void kick(struct kvp_leg_queue *q)
{
	if (!bio_list_empty(&q->writes) || !bio_list_empty(&q->alone))
		queue_work(q->all->urgent, &q->at_once);
	else if (!bio_list_empty(&q->reads))
		queue_work(q->all->wq, &q->soon);
}

/* The number of requests of the workers that the device takes. */
static unsigned long most_sent(const struct bio *bio)
{
	return bdev_get_queue(bio->bi_bdev)->nr_requests;
}

/*
 * True if the device, which takes @most, has room for another request of the workers. Until then
 * more bios can still join the next request. If the request were made earlier, it would only wait,
 * and so would the one after it.
 */
static bool has_room(const struct kvp_leg_queue *q, unsigned long most)
{
	return atomic_read(&q->sent) < (int)most;
}

/* --- neighbours as one request --------------------------------------------------------- */

/* Bios that follow one another on the device. */
struct run {
	struct bio_list bios;
	unsigned int bytes, vecs;
};

/*
 * One request for all bios of a run, which may be a single bio. None of them is polled, see
 * enqueue(): a poller looks for the request of its own bio, and would not find this one.
 */
struct joined {
	struct kvp_leg_queue *q;
	struct bio_list bios;
	struct bio bio;
};

static unsigned int vecs_of(struct bio *bio)
{
	struct bvec_iter iter;
	struct bio_vec bv;
	unsigned int n = 0;

	bio_for_each_bvec(bv, bio, iter)
		n++;
	return n;
}

/*
 * Sectors between the run and @bio that may be read along: a disk that seeks passes over them in
 * less time than it takes to come round again. So the parts of a stream on a leg of a parity1, with
 * parity between them, become one request. Returns ~0 if there are too many, or @bio lies before
 * the run.
 */
static sector_t gap_before(const struct kvp_leg_queue *q, const struct run *run,
			   const struct bio *bio)
{
	sector_t end = bio_end_sector(run->bios.tail), at = bio->bi_iter.bi_sector;
	sector_t most = q->rotational && bio_op(bio) == REQ_OP_READ ?
			GAP_BLOCKS << KVP_SECTORS_SHIFT : 0;

	return at >= end && at - end <= most ? at - end : ~0ull;
}

static unsigned int junk_vecs(const struct kvp_leg_queue *q, sector_t gap)
{
	sector_t each = KVP_BLOCK_SECTORS << q->all->junk_order;

	return (unsigned int)((gap + each - 1) / each);
}

/* True if @bio follows the run, and may be part of the same request. */
static bool goes_on(const struct kvp_leg_queue *q, const struct run *run, struct bio *bio)
{
	const struct bio *last = run->bios.tail;
	sector_t gap = gap_before(q, run, bio);

	/* Short bios come from a cache, and have its flag: ignore it. */
	return gap != ~0ull && !((bio->bi_opf ^ last->bi_opf) & ~KVP_BIO_CACHE) &&
	       !(bio->bi_opf & (REQ_PREFLUSH | REQ_FUA)) &&
	       bio->bi_ioprio == last->bi_ioprio && bio->bi_bdev == last->bi_bdev &&
	       gap + ((run->bytes + bio->bi_iter.bi_size) >> SECTOR_SHIFT) <=
			queue_max_sectors(bdev_get_queue(bio->bi_bdev)) &&
	       run->vecs + junk_vecs(q, gap) + vecs_of(bio) <= BIO_MAX_VECS;
}

/* True if a later bio can be part of the run. */
static bool may_grow(const struct run *run)
{
	const struct bio *first = run->bios.head;

	return first && !(first->bi_opf & (REQ_PREFLUSH | REQ_FUA)) && run->vecs < BIO_MAX_VECS &&
	       run->bytes >> SECTOR_SHIFT < queue_max_sectors(bdev_get_queue(first->bi_bdev));
}

static void add_to_run(const struct kvp_leg_queue *q, struct run *run, struct bio *bio)
{
	sector_t gap = bio_list_empty(&run->bios) ? 0 : gap_before(q, run, bio);

	run->bytes += (unsigned int)(gap << SECTOR_SHIFT) + bio->bi_iter.bi_size;
	run->vecs += junk_vecs(q, gap) + vecs_of(bio);
	bio_list_add(&run->bios, bio);
}

/*
 * If the leg was given up just now, its waiting requests may have been dropped before this one was
 * queued: drop them again.
 */
static void drop_if_left(const struct kvp_leg *leg)
{
	if (READ_ONCE(leg->left_at) || READ_ONCE(leg->silent))
		kvp_flights_kick(leg->pool);
}

/*
 * True if requests of @leg on @bdev have no waiter any more, as in drop_unsent(): the leg was given
 * up, or has another device by now.
 */
static bool was_left(const struct kvp_leg *leg, const struct block_device *bdev)
{
	return leg->bdev != bdev || READ_ONCE(leg->silent) ||
	       (READ_ONCE(leg->left_at) && !kvp_leg_takes_writes(leg) && !kvp_leg_keeps_log(leg));
}

static void joined_done(struct bio *bio)
{
	struct joined *j = container_of(bio, struct joined, bio);
	struct kvp_leg_queue *q = j->q;
	struct bio_list parts = j->bios;
	blk_status_t status = bio->bi_status;
	struct bio *part;
	unsigned long flags;

	/* ordered: pairs with next_run(), which looks for room after it has put bios back */
	atomic_dec_return(&q->sent);
	if (status && parts.head != parts.tail &&
	    !was_left(READ_ONCE(q->leg), parts.head->bi_bdev)) {
		/* it is unknown which bio failed; perhaps only the gap did */
		bio_put(bio);
		spin_lock_irqsave(&q->lock, flags);
		bio_list_merge(&q->alone, &parts);
		kick(q);
		drop_if_left(q->leg);
		spin_unlock_irqrestore(&q->lock, flags);
		return;
	}
	kick(q);
	/*
	 * The last part may be the last request of the pool. Then the set of bios is freed, and @q
	 * too.
	 */
	bio_put(bio);
	while ((part = bio_list_pop(&parts))) {
		part->bi_status = status;
		bio_endio(part);
	}
}

static void add_bio(const struct kvp_leg_queue *q, struct bio *to, struct bio *bio)
{
	unsigned int left = (unsigned int)(bio->bi_iter.bi_sector - bio_end_sector(to))
			    << SECTOR_SHIFT;
	unsigned int n, most = KVP_BLOCK_SIZE << q->all->junk_order;
	struct bvec_iter iter;
	struct bio_vec bv;

	for (; left; left -= n) {
		n = min(left, most);
		__bio_add_page(to, q->all->junk, n, 0);
	}
	bio_for_each_bvec(bv, bio, iter)
		__bio_add_page(to, bv.bv_page, bv.bv_len, bv.bv_offset);
}

/*
 * Send the run as one request. Returns false without memory: the caller sends the bios one by one.
 */
static bool send_joined(struct kvp_leg_queue *q, struct run *run)
{
	struct bio *first = run->bios.head, *bio, *part;
	struct joined *j;

	bio = bio_alloc_bioset(first->bi_bdev, run->vecs, first->bi_opf, GFP_NOWAIT | __GFP_NOWARN,
			       &q->all->joined);
	if (!bio)
		return false;
	j = container_of(bio, struct joined, bio);
	j->q = q;
	j->bios = run->bios;
	bio_clone_blkg_association(bio, first);
	bio->bi_ioprio = first->bi_ioprio;
	bio->bi_iter.bi_sector = first->bi_iter.bi_sector;
	bio->bi_end_io = joined_done;
	bio_list_for_each(part, &j->bios)
		add_bio(q, bio, part);
	atomic_inc(&q->sent);
	submit_bio_noacct(bio);
	return true;
}

/* --- the workers --------------------------------------------------------------------------- */

/* The next list to send from: bios that must go alone, else reads or writes, which alternate. */
static struct bio_list *next_list(struct kvp_leg_queue *q)
{
	if (!bio_list_empty(&q->alone))
		return &q->alone;
	if (bio_list_empty(&q->reads) || (!q->wrote && !bio_list_empty(&q->writes)))
		return &q->writes;
	return &q->reads;
}

/*
 * Take a run to send now. Returns false if there is none. *@most is then the number of requests
 * that the device takes, if a run waits for room in it, or 0. The caller must not touch the bios of
 * a run that waits: the other worker may have sent them by now, or kvp_io_drop() has ended them.
 */
static bool take_run(struct kvp_leg_queue *q, struct run *run, unsigned long *most)
{
	struct bio_list *from;
	unsigned long flags;

	*most = 0;
	bio_list_init(&run->bios);
	run->bytes = 0;
	run->vecs = 0;
	spin_lock_irqsave(&q->lock, flags);
	from = next_list(q);
	while (!bio_list_empty(from) &&
	       (bio_list_empty(&run->bios) ||
		(from != &q->alone && goes_on(q, run, bio_list_peek(from)))))
		add_to_run(q, run, bio_list_pop(from));
	/* A run that cannot grow any more may wait for the device. */
	if (bio_list_empty(from) && may_grow(run) && !has_room(q, most_sent(run->bios.head))) {
		*most = most_sent(run->bios.head);
		bio_list_merge(from, &run->bios);
		bio_list_init(&run->bios);
	} else if (from != &q->alone && !bio_list_empty(&run->bios)) {
		q->wrote = from == &q->writes;
	}
	spin_unlock_irqrestore(&q->lock, flags);
	return !bio_list_empty(&run->bios);
}

/*
 * While a worker holds bios, a request that ends finds none waiting. So when the worker has put
 * them back, it looks for room again: one of the two finds the other.
 */
static bool next_run(struct kvp_leg_queue *q, struct run *run)
{
	unsigned long most;

	do {
		if (take_run(q, run, &most))
			return true;
		smp_mb();	/* pairs with the ordered decrement in joined_done() */
	} while (most && has_room(q, most));
	return false;
}

/* True for a write that has waited here for so long that another host may have the pool. */
static bool is_barred(const struct kvp_leg_queue *q, const struct bio *bio)
{
	return is_write(bio) && kvp_writes_barred(q->all->pool);
}

static void submit(const struct kvp_leg_queue *q, struct bio *bio)
{
	if (is_barred(q, bio))
		bio_io_error(bio);
	else
		submit_bio_noacct(bio);
}

/*
 * Send run after run: other requests on the device may block this worker at any of them. If they do
 * not, the plug collects the runs, and the device gets them together. If the worker has to wait,
 * its plug is sent first.
 */
static void send(struct kvp_leg_queue *q)
{
	struct blk_plug plug;
	struct bio *bio;
	struct run run;

	blk_start_plug(&plug);
	while (next_run(q, &run)) {
		if (!is_barred(q, run.bios.head) && send_joined(q, &run))
			continue;
		while ((bio = bio_list_pop(&run.bios)))
			submit(q, bio);
	}
	blk_finish_plug(&plug);
}

static void send_soon(struct work_struct *work)
{
	send(container_of(work, struct kvp_leg_queue, soon));
}

static void send_at_once(struct work_struct *work)
{
	send(container_of(work, struct kvp_leg_queue, at_once));
}

static void send_now(struct work_struct *work)
{
	struct kvp_leg_queue *q = container_of(work, struct kvp_leg_queue, now);
	unsigned long flags;
	struct bio *bio;

	do {
		spin_lock_irqsave(&q->lock, flags);
		bio = bio_list_pop(&q->first);
		spin_unlock_irqrestore(&q->lock, flags);
		if (bio)
			submit(q, bio);
	} while (bio);
}

/* --- what others call ----------------------------------------------------------------------- */

/*
 * True if the device has all the requests that it can have. The request to be sent may be counted
 * already.
 */
static bool is_full(struct kvp_leg *leg)
{
	u32 now = atomic_read(&leg->in_flight) + atomic_read(&kvp_leg_queue(leg)->in_flight);

	return now > READ_ONCE(bdev_get_queue(leg->bdev)->nr_requests);
}

/*
 * True if submitting would block until a change or a reset of the device is done. The device may
 * also be frozen just after this.
 */
static bool is_frozen(const struct kvp_leg *leg)
{
	return READ_ONCE(bdev_get_queue(leg->bdev)->mq_freeze_depth);
}

bool kvp_leg_crowded(struct kvp_leg *leg)
{
	struct kvp_leg_queue *q = kvp_leg_queue(leg);

	return is_frozen(leg) || is_full(leg) || !bio_list_empty(&q->reads) ||
	       !bio_list_empty(&q->writes);
}

static void enqueue(struct kvp_leg *leg, struct bio *bio)
{
	struct kvp_leg_queue *q = kvp_leg_queue(leg);
	unsigned long flags;

	/*
	 * A worker sends the bio later, and may wait for the device. The bio may become part of a
	 * joined request, which ends by an interrupt: so no task may poll for it.
	 */
	bio_clear_polled(bio);
	bio->bi_opf &= ~REQ_NOWAIT;
	spin_lock_irqsave(&q->lock, flags);
	q->rotational = leg->rotational;
	WRITE_ONCE(q->leg, leg);
	bio_list_add(is_write(bio) ? &q->writes : &q->reads, bio);
	spin_unlock_irqrestore(&q->lock, flags);
	kick(q);
	drop_if_left(leg);
}

/* Queue @bio for a worker that sends it before all other bios of the queue. */
static void enqueue_first(struct kvp_leg *leg, struct bio *bio)
{
	struct kvp_leg_queue *q = kvp_leg_queue(leg);
	unsigned long flags;

	bio_clear_polled(bio);
	spin_lock_irqsave(&q->lock, flags);
	bio_list_add(&q->first, bio);
	spin_unlock_irqrestore(&q->lock, flags);
	queue_work(q->all->urgent, &q->now);
	drop_if_left(leg);
}

void kvp_leg_send_now(struct kvp_leg *leg, struct bio *bio)
{
	if (is_write(bio))
		atomic_inc(&kvp_leg_queue(leg)->in_flight);
	/*
	 * Let a worker wait until the device has a free request: the device may never answer, and
	 * the caller holds locks. A bio of the reserve must not wait on its sender's own list,
	 * while the sender waits for another one.
	 */
	if (READ_ONCE(leg->late) || is_frozen(leg) || is_full(leg) ||
	    is_reserved(kvp_leg_queue(leg), bio))
		enqueue_first(leg, bio);
	else
		submit_bio_noacct(bio);
}

void kvp_leg_send(struct kvp_leg *leg, struct bio *bio)
{
	if (is_write(bio))
		atomic_inc(&kvp_leg_queue(leg)->in_flight);
	if (READ_ONCE(leg->late) || kvp_leg_crowded(leg) || is_reserved(kvp_leg_queue(leg), bio))
		enqueue(leg, bio);
	else
		submit_bio_noacct(bio);
}

void kvp_leg_sent(struct kvp_leg_queue *q)
{
	atomic_dec(&q->in_flight);
}

static void take_those_of(const struct block_device *bdev, struct bio_list *from,
			  struct bio_list *to)
{
	struct bio_list stay = BIO_EMPTY_LIST;
	struct bio *bio;

	while ((bio = bio_list_pop(from)))
		bio_list_add(bio->bi_bdev == bdev ? to : &stay, bio);
	*from = stay;
}

void kvp_io_drop(struct kvp_leg *leg)
{
	struct kvp_leg_queue *q = READ_ONCE(leg->queue);
	struct bio_list dropped = BIO_EMPTY_LIST;
	unsigned long flags;
	struct bio *bio;

	if (!q)
		return;
	spin_lock_irqsave(&q->lock, flags);
	take_those_of(leg->bdev, &q->first, &dropped);
	take_those_of(leg->bdev, &q->alone, &dropped);
	take_those_of(leg->bdev, &q->writes, &dropped);
	take_those_of(leg->bdev, &q->reads, &dropped);
	spin_unlock_irqrestore(&q->lock, flags);
	while ((bio = bio_list_pop(&dropped))) {
		bio->bi_status = BLK_STS_TIMEOUT;
		bio_endio(bio);
	}
}

/* Allocate as many blocks in one piece as possible, up to GAP_BLOCKS. */
static struct page *alloc_junk(unsigned int *order)
{
	struct page *page;

	for (*order = ilog2(GAP_BLOCKS); *order; --*order) {
		page = alloc_pages(GFP_KERNEL | __GFP_COMP | __GFP_NOWARN | __GFP_NORETRY, *order);
		if (page)
			return page;
	}
	return alloc_page(GFP_KERNEL);
}

int kvp_leg_queues_init(struct kvp_pool *pool)
{
	struct kvp_leg_queues *qs = kvzalloc(sizeof(*qs), GFP_KERNEL);
	u32 i;

	pool->leg_queues = qs;
	if (!qs)
		return -ENOMEM;
	qs->pool = pool;
	/* Separate workqueues: a worker that waits for its device must not delay other work. */
	qs->wq = alloc_workqueue("kvpool-legs", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	qs->urgent = alloc_workqueue("kvpool-legs-w", WQ_MEM_RECLAIM | WQ_UNBOUND | WQ_HIGHPRI, 0);
	qs->junk = alloc_junk(&qs->junk_order);
	if (!qs->wq || !qs->urgent || !qs->junk ||
	    bioset_init(&qs->joined, JOINED_RESERVE, offsetof(struct joined, bio),
			BIOSET_NEED_BVECS) ||
	    bioset_init(&qs->reserve, KVP_BIO_SHARE * ARRAY_SIZE(qs->leg), 0, BIOSET_NEED_BVECS)) {
		kvp_leg_queues_exit(pool);
		return -ENOMEM;
	}
	spin_lock_init(&qs->lock);
	for (i = 0; i < ARRAY_SIZE(qs->leg); i++) {
		struct kvp_leg_queue *q = &qs->leg[i];

		spin_lock_init(&q->lock);
		bio_list_init(&q->reads);
		bio_list_init(&q->writes);
		bio_list_init(&q->alone);
		bio_list_init(&q->first);
		kvp_share_init(&q->share);
		INIT_WORK(&q->soon, send_soon);
		INIT_WORK(&q->at_once, send_at_once);
		INIT_WORK(&q->now, send_now);
		q->all = qs;
	}
	return 0;
}

void kvp_leg_queues_exit(struct kvp_pool *pool)
{
	struct kvp_leg_queues *qs = pool->leg_queues;

	if (!qs)
		return;
	if (qs->wq)
		destroy_workqueue(qs->wq);
	if (qs->urgent)
		destroy_workqueue(qs->urgent);
	/* A bio_set that was not set up is all zeros, which bioset_exit() accepts. */
	bioset_exit(&qs->joined);
	bioset_exit(&qs->reserve);
	if (qs->junk)
		__free_pages(qs->junk, qs->junk_order);
	kvfree(qs);
	pool->leg_queues = NULL;
}
