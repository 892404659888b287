// SPDX-License-Identifier: GPL-2.0-only
/* Requests to legs as bios. */
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/ioprio.h>

#include "compat/compat.h"
#include "core/core.h"
#include "io/flight.h"
#include "io/inject.h"
#include "io/io.h"
#include "io/io_bio.h"
#include "io/leg_queue.h"
#include "io/share.h"

#define BIOS_AT_HAND	4

static void io_put(struct kvp_io *io)
{
	if (atomic_dec_and_test(&io->parts))
		io->done(io);
}

static void bio_done(struct bio *bio)
{
	struct kvp_io *io = bio->bi_private;
	struct kvp_leg_queue *q = io->queue;

	if (bio->bi_status)
		kvp_io_note_error(io, blk_status_to_errno(bio->bi_status));
	if (op_is_write(bio_op(bio)))
		kvp_leg_sent(q);
	kvp_leg_put_bio(q, bio);
	io_put(io);
}

static blk_opf_t io_flags(const struct kvp_io *io)
{
	switch (io->op) {
	case KVP_IO_READ:
		return REQ_OP_READ | (io->background ? REQ_BACKGROUND : 0);
	case KVP_IO_WRITE:
		/* without REQ_IDLE, writeback throttling would slow down destage */
		return REQ_OP_WRITE | REQ_SYNC | REQ_IDLE;
	case KVP_IO_WRITE_FUA:
		return REQ_OP_WRITE | REQ_SYNC | REQ_IDLE | REQ_FUA;
	case KVP_IO_DISCARD:
		return REQ_OP_DISCARD;
	default:
		return REQ_OP_WRITE | REQ_SYNC | REQ_PREFLUSH;
	}
}

/* How many of the pages are neighbours in memory, and so make one segment. */
static u32 neighbours(struct page **pages, u32 max)
{
	u32 n = 1;

	while (n < max && page_to_pfn(pages[n]) == page_to_pfn(pages[0]) + n)
		n++;
	return n;
}

/*
 * Get a bio from the processor's cache, while there is memory. The reserve is separate: a bio of
 * the reserve must come back to its waiter, on whatever processor that runs (R24). Returns NULL:
 * @io need not be sent any more.
 */
static struct bio *alloc_bio(const struct kvp_io *io, struct block_device *bdev, u32 vecs)
{
	struct kvp_share *share = kvp_leg_share(io->queue);
	blk_opf_t opf = io_flags(io);
	struct bio *bio;

	do {
		bio = bio_alloc_bioset(bdev, vecs, opf | KVP_BIO_CACHE, GFP_NOWAIT | __GFP_NOWARN,
				       io->leg->pool->bios) ?:
		      kvp_leg_reserved_bio(io->queue, bdev, vecs, opf);
	} while (!bio && kvp_share_wait(share, io));
	return bio;
}

static void add_blocks(struct bio *bio, struct page **pages, u32 nr)
{
	u32 i, n;

	for (i = 0; i < nr; i += n) {
		n = neighbours(&pages[i], nr - i);
		__bio_add_page(bio, pages[i], n * KVP_BLOCK_SIZE, 0);
	}
}

/* Returns false if @io need not be sent any more. */
static bool submit_part(struct kvp_io *io, u32 first, u32 nr)
{
	bool discard = io->op == KVP_IO_DISCARD;
	struct bio *bio = alloc_bio(io, io->leg->bdev, discard ? 0 : nr);

	if (!bio)
		return false;
	bio->bi_iter.bi_sector = (kvp_lblock_nr(io->block) + first) << KVP_SECTORS_SHIFT;
	bio->bi_private = io;
	bio->bi_end_io = bio_done;
	/* mq-deadline, the usual scheduler for disks that seek, serves this class first. */
	if (io->urgent)
		bio->bi_ioprio = IOPRIO_PRIO_VALUE(IOPRIO_CLASS_RT, IOPRIO_NORM);
	if (discard)
		bio->bi_iter.bi_size = nr * KVP_BLOCK_SIZE;
	else
		add_blocks(bio, &io->pages[first], nr);
	atomic_inc(&io->parts);
	/* Requests without pages are not joined with others. */
	if (io->urgent || io->op == KVP_IO_FLUSH || discard)
		kvp_leg_send_now(io->leg, bio);
	else
		kvp_leg_send(io->leg, bio);
	return true;
}

/*
 * Submit the request in parts. A flush is one part without blocks. The device splits a discard
 * itself.
 */
static void submit_parts(struct kvp_io *io)
{
	u32 most = io->op == KVP_IO_DISCARD ? UINT_MAX / KVP_BLOCK_SIZE : BIO_MAX_VECS;
	u32 at = 0, nr;

	io->queue = kvp_leg_queue(io->leg);
	do {
		nr = min(io->nr - at, most);
		if (!submit_part(io, at, nr)) {
			kvp_io_note_error(io, -ETIMEDOUT);
			return;
		}
		at += nr;
	} while (at < io->nr);
}

bool kvp_io_can_discard(const struct kvp_leg *leg)
{
	return leg->bdev && bdev_max_discard_sectors(leg->bdev);
}

static enum kvp_fault fault_of(enum kvp_io_op op)
{
	return op == KVP_IO_READ ? KVP_FAULT_READ :
	       op == KVP_IO_FLUSH ? KVP_FAULT_FLUSH : KVP_FAULT_WRITE;
}

/* End the request with an error by order; it is not tried again. */
static void doom(struct kvp_io *io)
{
	io->doomed = true;
	io->error = -EIO;
}

/* True if the device sends its requests on to other devices: device-mapper, md, bcache. */
static bool is_stacked(const struct block_device *bdev)
{
#ifdef CONFIG_BLOCK_HOLDER_DEPRECATED
	return !list_empty(&bdev->bd_disk->slave_bdevs);
#else
	return !queue_is_mq(bdev_get_queue(bdev));
#endif
}

/*
 * A stacked device may offer FUA where the device below has none, and makes two requests of one. A
 * disk with FUA of its own gets a single command. If that fails, only its own data is lost.
 */
bool kvp_io_fua_flushes(const struct kvp_leg *leg)
{
	return bdev_write_cache(leg->bdev) && (!bdev_fua(leg->bdev) || is_stacked(leg->bdev));
}

bool kvp_io_fua_apart(const struct kvp_leg *leg)
{
	return bdev_write_cache(leg->bdev) && !bdev_fua(leg->bdev);
}

void kvp_io_hold(struct block_device *bdev)
{
	__module_get(THIS_MODULE);
	get_device(&bdev->bd_device);
}

void kvp_io_unhold(struct block_device *bdev)
{
	put_device(&bdev->bd_device);
	module_put(THIS_MODULE);
}

void kvp_io_start(struct kvp_io *io)
{
	io->error = 0;
	atomic_set(&io->parts, 1);
	if (!io->leg->bdev)
		io->error = -ENODEV;
	else if (kvp_injected(io->leg, fault_of(io->op)))
		doom(io);
	else if (io->op == KVP_IO_DISCARD && !kvp_io_can_discard(io->leg))
		io->error = -EOPNOTSUPP;
	else
		submit_parts(io);
	io_put(io);
}

/*
 * The block layer passes plugged requests on as a list only if all are for one device: so go leg by
 * leg. A single request gains nothing by a plug.
 */
void kvp_io_submit_all(struct kvp_io *ios, u32 nr)
{
	struct blk_plug plug;
	u32 i = 0;

	if (nr == 1) {
		kvp_io_submit(ios);
		return;
	}
	while (i < nr) {
		const struct kvp_leg *leg = ios[i].leg;

		blk_start_plug(&plug);
		while (i < nr && ios[i].leg == leg)
			kvp_io_submit(&ios[i++]);
		blk_finish_plug(&plug);
	}
}

/* A bio_set that was not set up is all zeros, which bioset_exit() accepts. */
static void exit_bios(struct kvp_pool *pool)
{
	bioset_exit(pool->bios);
	kfree(pool->bios);
	pool->bios = NULL;
}

int kvp_io_bio_init(struct kvp_pool *pool)
{
	int ret;

	pool->bios = kzalloc(sizeof(*pool->bios), GFP_KERNEL);
	if (!pool->bios)
		return -ENOMEM;
	ret = bioset_init(pool->bios, BIOS_AT_HAND, 0, BIOSET_NEED_BVECS | BIOSET_PERCPU_CACHE);
	if (ret) {
		exit_bios(pool);
		return ret;
	}
	return kvp_leg_queues_init(pool);
}

void kvp_io_bio_exit(struct kvp_pool *pool)
{
	if (!pool->bios)
		return;
	kvp_leg_queues_exit(pool);
	exit_bios(pool);
}
