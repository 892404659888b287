// SPDX-License-Identifier: GPL-2.0-only
/*
 * The queue of a leg, before a device that answers when the test says so: neighbours that are one
 * request, and what becomes of them when it fails, and when their leg has left. The bios are the
 * kernel's own.
 */
#include <linux/bio.h>
#include <linux/blkdev.h>

#include "kvpool_kunit.h"
#include "core/core.h"
#include "io/flight.h"

#define PARTS	3u

/* Requests that the device has, oldest first. */
static DEFINE_SPINLOCK(requests_lock);
static struct bio_list requests;

static void send_to_device(struct bio *bio)
{
	unsigned long flags;

	spin_lock_irqsave(&requests_lock, flags);
	bio_list_add(&requests, bio);
	spin_unlock_irqrestore(&requests_lock, flags);
}

#define submit_bio_noacct(bio)	send_to_device(bio)

#include "io/leg_queue.c"
#include "io/share.c"

static int kicks;

bool kvp_fail_late(struct kvp_failure *f)
{
	return true;
}

void kvp_flights_kick(struct kvp_pool *pool)
{
	kicks++;
}

bool kvp_io_too_late(const struct kvp_io *io)
{
	return false;
}

/* One block that a user reads. */
struct part {
	struct bio *bio;
	struct kvp_pool *last_of;	/* with its end the pool stops */
	int ends;
	blk_status_t status;
};

struct rig {
	struct kvp_pool pool;
	struct request_queue queue[2];
	struct block_device bdev[2];
	struct page *page;
	struct part part[PARTS + 1];
};

static struct kvp_leg *leg_of(struct rig *r)
{
	return &r->pool.legs[0];
}

/* The leg has not answered for a while: so its workers send, and only where there is room. */
static int make_rig(struct kunit *test)
{
	struct rig *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, r);
	test->priv = r;
	bio_list_init(&requests);
	kicks = 0;
	r->page = alloc_page(GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, r->page);
	for (i = 0; i < ARRAY_SIZE(r->bdev); i++) {
		r->bdev[i].bd_queue = &r->queue[i];
		r->queue[i].limits.max_sectors = 2560;
	}
	r->pool.nr_legs = 1;
	*leg_of(r) = (struct kvp_leg){
		.pool = &r->pool, .bdev = &r->bdev[0], .state = KVP_LEG_IN_SYNC, .late = true,
	};
	KUNIT_ASSERT_EQ(test, kvp_leg_queues_init(&r->pool), 0);
	return 0;
}

static void drop_rig(struct kunit *test)
{
	struct rig *r = test->priv;
	u32 i;

	if (!r)
		return;
	kvp_leg_queues_exit(&r->pool);
	for (i = 0; i < ARRAY_SIZE(r->part); i++)
		if (r->part[i].bio)
			bio_put(r->part[i].bio);
	if (r->page)
		__free_page(r->page);
}

static void part_ended(struct bio *bio)
{
	struct part *p = bio->bi_private;

	p->ends++;
	p->status = bio->bi_status;
	if (p->last_of)
		kvp_leg_queues_exit(p->last_of);
}

/* Part @i, of block @block of the leg's device. */
static void send_part(struct kunit *test, u32 i, u64 block)
{
	struct rig *r = test->priv;
	struct kvp_leg *leg = leg_of(r);
	struct bio *bio = bio_alloc(leg->bdev, 1, REQ_OP_READ, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, bio);
	r->part[i].bio = bio;
	bio->bi_iter.bi_sector = block << KVP_SECTORS_SHIFT;
	bio->bi_end_io = part_ended;
	bio->bi_private = &r->part[i];
	__bio_add_page(bio, r->page, KVP_BLOCK_SIZE, 0);
	kvp_leg_send(leg, bio);
}

static void settle(struct rig *r)
{
	flush_workqueue(r->pool.leg_queues->wq);
	flush_workqueue(r->pool.leg_queues->urgent);
}

static void give_room(struct rig *r, u32 dev, unsigned long room)
{
	struct kvp_leg_queues *qs = r->pool.leg_queues;
	u32 i;

	WRITE_ONCE(r->queue[dev].nr_requests, room);
	for (i = 0; i < ARRAY_SIZE(qs->leg); i++)
		if (qs->leg[i].bdev == &r->bdev[dev])
			kick(&qs->leg[i]);
	settle(r);
}

/* The device's oldest request. */
static struct bio *request(struct kunit *test)
{
	struct bio *bio = bio_list_pop(&requests);

	KUNIT_ASSERT_NOT_NULL(test, bio);
	return bio;
}

static void answer(struct rig *r, struct bio *bio, blk_status_t status)
{
	bio->bi_status = status;
	bio_endio(bio);
	if (r->pool.leg_queues)
		settle(r);
}

/* All parts, as one request that the device has. */
static struct bio *joined_request(struct kunit *test)
{
	struct rig *r = test->priv;
	struct bio *bio;
	u32 i;

	for (i = 0; i < PARTS; i++)
		send_part(test, i, 100 + i);
	settle(r);
	KUNIT_ASSERT_TRUE(test, bio_list_empty(&requests));
	give_room(r, 0, 8);
	bio = request(test);
	KUNIT_ASSERT_TRUE(test, bio_list_empty(&requests));
	KUNIT_ASSERT_EQ(test, bio->bi_iter.bi_size, PARTS * KVP_BLOCK_SIZE);
	KUNIT_ASSERT_EQ(test, bio->bi_iter.bi_sector, (sector_t)100 << KVP_SECTORS_SHIFT);
	return bio;
}

static void expect_ended(struct kunit *test, u32 i, blk_status_t status)
{
	struct rig *r = test->priv;

	KUNIT_EXPECT_EQ(test, r->part[i].ends, 1);
	KUNIT_EXPECT_EQ(test, (int)r->part[i].status, (int)status);
}

static void expect_all_ended(struct kunit *test, blk_status_t status)
{
	u32 i;

	for (i = 0; i < PARTS; i++)
		expect_ended(test, i, status);
	KUNIT_EXPECT_TRUE(test, bio_list_empty(&requests));
}

static void leave(struct kvp_leg *leg)
{
	WRITE_ONCE(leg->state, KVP_LEG_FAULTED);
	WRITE_ONCE(leg->left_at, 1);
}

static void neighbours_are_one_request(struct kunit *test)
{
	struct rig *r = test->priv;

	answer(r, joined_request(test), BLK_STS_OK);
	expect_all_ended(test, BLK_STS_OK);
	KUNIT_EXPECT_EQ(test, atomic_read(&leg_of(r)->queue->sent), 0);
}

static void if_it_fails_each_part_goes_alone(struct kunit *test)
{
	struct rig *r = test->priv;
	struct bio *bio;
	u32 i;

	answer(r, joined_request(test), BLK_STS_IOERR);
	for (i = 0; i < PARTS; i++) {
		KUNIT_EXPECT_EQ(test, r->part[i].ends, 0);
		bio = request(test);
		KUNIT_EXPECT_EQ(test, bio->bi_iter.bi_size, KVP_BLOCK_SIZE);
		answer(r, bio, i == 1 ? BLK_STS_MEDIUM : BLK_STS_OK);
	}
	expect_ended(test, 0, BLK_STS_OK);
	expect_ended(test, 1, BLK_STS_MEDIUM);
	expect_ended(test, 2, BLK_STS_OK);
	KUNIT_EXPECT_TRUE(test, bio_list_empty(&requests));
	KUNIT_EXPECT_EQ(test, atomic_read(&leg_of(r)->queue->sent), 0);
}

static void of_a_leg_that_left_they_end(struct kunit *test)
{
	struct rig *r = test->priv;
	struct bio *bio = joined_request(test);

	leave(leg_of(r));
	answer(r, bio, BLK_STS_IOERR);
	expect_all_ended(test, BLK_STS_IOERR);
}

static void of_a_silent_leg_too(struct kunit *test)
{
	struct rig *r = test->priv;
	struct bio *bio = joined_request(test);

	WRITE_ONCE(leg_of(r)->silent, true);
	answer(r, bio, BLK_STS_IOERR);
	expect_all_ended(test, BLK_STS_IOERR);
}

/* Its requests still have waiters. Whether the leg has left just now is looked at once more. */
static void of_a_leg_that_keeps_the_log_they_go_on(struct kunit *test)
{
	struct rig *r = test->priv;
	struct bio *bio = joined_request(test);
	u32 i;

	leg_of(r)->keeps_log = true;
	leave(leg_of(r));
	answer(r, bio, BLK_STS_IOERR);
	KUNIT_EXPECT_EQ(test, kicks, 1);
	for (i = 0; i < PARTS; i++)
		answer(r, request(test), BLK_STS_OK);
	expect_all_ended(test, BLK_STS_OK);
}

/* The new device is not asked for what the old one had, and its own requests are not held up. */
static void another_device_in_its_place(struct kunit *test)
{
	struct rig *r = test->priv;
	struct bio *bio = joined_request(test), *own;
	struct kvp_leg *leg = leg_of(r);
	struct kvp_leg_queue *old = leg->queue;

	leg->bdev = &r->bdev[1];
	leg->queue = NULL;
	send_part(test, PARTS, 100);
	KUNIT_EXPECT_PTR_NE(test, leg->queue, old);
	answer(r, bio, BLK_STS_IOERR);
	expect_all_ended(test, BLK_STS_IOERR);
	give_room(r, 1, 8);
	own = request(test);
	KUNIT_EXPECT_PTR_EQ(test, own->bi_bdev, &r->bdev[1]);
	answer(r, own, BLK_STS_OK);
	expect_ended(test, PARTS, BLK_STS_OK);
}

/* The last of the parts waits for room when the leg leaves: the device never gets it. */
static void what_waits_alone_is_dropped(struct kunit *test)
{
	struct rig *r = test->priv;
	struct bio *bio = joined_request(test);

	give_room(r, 0, 0);
	answer(r, bio, BLK_STS_IOERR);
	leave(leg_of(r));
	kvp_io_drop(leg_of(r));
	expect_ended(test, 2, BLK_STS_TIMEOUT);
	answer(r, request(test), BLK_STS_IOERR);
	answer(r, request(test), BLK_STS_IOERR);
	expect_ended(test, 0, BLK_STS_IOERR);
	expect_ended(test, 1, BLK_STS_IOERR);
	give_room(r, 0, 8);
	KUNIT_EXPECT_TRUE(test, bio_list_empty(&requests));
	KUNIT_EXPECT_EQ(test, r->part[2].ends, 1);
}

/* A worker has put them back. They end, and are freed, before it looks for room once more. */
static void what_was_put_back_is_not_touched(struct kunit *test)
{
	struct rig *r = test->priv;
	struct kvp_leg *leg = leg_of(r);
	unsigned long most;
	struct run run;

	WRITE_ONCE(r->queue[0].nr_requests, 1);
	send_part(test, 0, 100);
	settle(r);
	send_part(test, 1, 200);
	settle(r);
	KUNIT_EXPECT_FALSE(test, take_run(leg->queue, &run, &most));
	KUNIT_EXPECT_EQ(test, most, 1ul);
	kvp_io_drop(leg);
	expect_ended(test, 1, BLK_STS_TIMEOUT);
	bio_put(r->part[1].bio);
	r->part[1].bio = NULL;
	KUNIT_EXPECT_FALSE(test, has_room(leg->queue, most));
	answer(r, request(test), BLK_STS_OK);
	expect_ended(test, 0, BLK_STS_OK);
	KUNIT_EXPECT_TRUE(test, has_room(leg->queue, most));
}

/* It comes when those that waited have been dropped. */
static void a_late_one_is_dropped_as_well(struct kunit *test)
{
	struct rig *r = test->priv;

	leave(leg_of(r));
	kvp_io_drop(leg_of(r));
	send_part(test, 0, 100);
	KUNIT_EXPECT_EQ(test, kicks, 1);
	kvp_io_drop(leg_of(r));
	expect_ended(test, 0, BLK_STS_TIMEOUT);
}

/* The pool stops when the last part has ended, and its queues go. */
static void the_last_part_may_end_the_pool(struct kunit *test)
{
	struct rig *r = test->priv;
	struct bio *bio = joined_request(test);

	r->part[PARTS - 1].last_of = &r->pool;
	answer(r, bio, BLK_STS_OK);
	KUNIT_EXPECT_NULL(test, r->pool.leg_queues);
	expect_all_ended(test, BLK_STS_OK);
}

static void so_may_it_when_the_leg_left(struct kunit *test)
{
	struct rig *r = test->priv;
	struct bio *bio = joined_request(test);

	leave(leg_of(r));
	r->part[PARTS - 1].last_of = &r->pool;
	answer(r, bio, BLK_STS_IOERR);
	KUNIT_EXPECT_NULL(test, r->pool.leg_queues);
	expect_all_ended(test, BLK_STS_IOERR);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(neighbours_are_one_request),
	KUNIT_CASE(if_it_fails_each_part_goes_alone),
	KUNIT_CASE(of_a_leg_that_left_they_end),
	KUNIT_CASE(of_a_silent_leg_too),
	KUNIT_CASE(of_a_leg_that_keeps_the_log_they_go_on),
	KUNIT_CASE(another_device_in_its_place),
	KUNIT_CASE(what_waits_alone_is_dropped),
	KUNIT_CASE(what_was_put_back_is_not_touched),
	KUNIT_CASE(a_late_one_is_dropped_as_well),
	KUNIT_CASE(the_last_part_may_end_the_pool),
	KUNIT_CASE(so_may_it_when_the_leg_left),
	{}
};

static struct kunit_suite suite = {
	.name = "kvpool_leg_queue",
	.init = make_rig,
	.exit = drop_rig,
	.test_cases = cases,
};
kunit_test_suite(suite);
