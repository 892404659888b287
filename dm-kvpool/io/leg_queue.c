// SPDX-License-Identifier: GPL-2.0-only
#include <linux/bio.h>
#include <linux/blkdev.h>

#include "io/leg_queue.h"
#include "pool/pool.h"

/* Of one leg. */
struct kvp_leg_queue {
	spinlock_t lock;		/* irqsave */
	struct bio_list reads, writes;	/* that the worker has not sent yet; by lock */
	struct work_struct work;
	bool wrote;			/* a write was sent last; by the worker */
	atomic_t in_flight;		/* writes that were sent, or wait here */
};

static struct kvp_leg_queue *queue_of(const struct kvp_leg *leg)
{
	return &leg->pool->leg_queues[leg->index];
}

static bool is_write(const struct bio *bio)
{
	return op_is_write(bio_op(bio));
}

static struct bio *next_bio(struct kvp_leg_queue *q)
{
	unsigned long flags;
	struct bio *bio;

	spin_lock_irqsave(&q->lock, flags);
	if (bio_list_empty(&q->reads) || (!q->wrote && !bio_list_empty(&q->writes)))
		bio = bio_list_pop(&q->writes);
	else
		bio = bio_list_pop(&q->reads);
	spin_unlock_irqrestore(&q->lock, flags);
	if (bio)
		q->wrote = is_write(bio);
	return bio;
}

/* One at a time: the device keeps us until it has room. */
static void send_work(struct work_struct *work)
{
	struct kvp_leg_queue *q = container_of(work, struct kvp_leg_queue, work);
	struct bio *bio;

	while ((bio = next_bio(q)))
		submit_bio_noacct(bio);
}

bool kvp_leg_crowded(struct kvp_leg *leg)
{
	struct kvp_leg_queue *q = queue_of(leg);
	u32 now = atomic_read(&leg->in_flight) + atomic_read(&q->in_flight);

	/* Who was counted already is one of them. */
	return now > READ_ONCE(bdev_get_queue(leg->bdev)->nr_requests) ||
	       !bio_list_empty(&q->reads) || !bio_list_empty(&q->writes);
}

static void enqueue(struct kvp_leg *leg, struct bio *bio)
{
	struct kvp_leg_queue *q = queue_of(leg);
	unsigned long flags;

	spin_lock_irqsave(&q->lock, flags);
	bio_list_add(is_write(bio) ? &q->writes : &q->reads, bio);
	spin_unlock_irqrestore(&q->lock, flags);
	queue_work(leg->pool->legs_wq, &q->work);
}

void kvp_leg_send_now(struct kvp_leg *leg, struct bio *bio)
{
	if (is_write(bio))
		atomic_inc(&queue_of(leg)->in_flight);
	submit_bio_noacct(bio);
}

void kvp_leg_send(struct kvp_leg *leg, struct bio *bio)
{
	if (is_write(bio))
		atomic_inc(&queue_of(leg)->in_flight);
	if (kvp_leg_crowded(leg))
		enqueue(leg, bio);
	else
		submit_bio_noacct(bio);
}

void kvp_leg_sent(struct kvp_leg *leg)
{
	atomic_dec(&queue_of(leg)->in_flight);
}

int kvp_leg_queues_init(struct kvp_pool *pool)
{
	u32 i;

	/* Of their own: a worker that waits for its device must not keep other work waiting. */
	pool->legs_wq = alloc_workqueue("kvpool-legs", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	pool->leg_queues = kvcalloc(KVP_MAX_LEGS, sizeof(*pool->leg_queues), GFP_KERNEL);
	if (!pool->legs_wq || !pool->leg_queues) {
		kvp_leg_queues_exit(pool);
		return -ENOMEM;
	}
	for (i = 0; i < KVP_MAX_LEGS; i++) {
		struct kvp_leg_queue *q = &pool->leg_queues[i];

		spin_lock_init(&q->lock);
		bio_list_init(&q->reads);
		bio_list_init(&q->writes);
		INIT_WORK(&q->work, send_work);
	}
	return 0;
}

void kvp_leg_queues_exit(struct kvp_pool *pool)
{
	if (pool->legs_wq)
		destroy_workqueue(pool->legs_wq);
	kvfree(pool->leg_queues);
	pool->legs_wq = NULL;
	pool->leg_queues = NULL;
}
