/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bios for a leg whose device has no room for them now.
 *
 * A device takes as many requests as it has tags. The submitter of one more is blocked until one of
 * them ends. A disk behind a simple bridge has a single tag. A submitter to several legs would then
 * wait for the slowest leg at every step, while the other legs are idle.
 *
 * So bios for a full device wait in its queue, for two workers of its own. Each worker sends all
 * that there is. One runs at once: it is queued for writes, and for bios of a joined request that
 * failed. The other runs soon: it is queued if only reads wait. Reads and writes alternate, so
 * that a reader does not wait for all of destage's writes.
 *
 * Neighbours on the device go as one request: with so few tags, the device's own queue has nothing
 * to join. A request is made when the device has room for it, or when it cannot grow. On a disk
 * that seeks, reads are also joined over a small gap, which is read along.
 *
 * A queue belongs to a device, not to a leg: a device that hangs keeps its requests, and the leg
 * that takes its place is not affected. Requests that still wait here when a leg is given up are
 * not sent: they end with a timeout (kvp_io_drop()).
 */
#ifndef KVP_LEG_QUEUE_H
#define KVP_LEG_QUEUE_H

#include <linux/blk_types.h>

struct bio;
struct block_device;
struct kvp_leg;
struct kvp_pool;
struct kvp_share;

/**
 * kvp_leg_queues_init() - make a queue for each device that may be a leg; 0 or -ENOMEM
 *
 * Context: process.
 */
int __must_check kvp_leg_queues_init(struct kvp_pool *pool);

/** kvp_leg_queues_exit() - free the queues, after the last bio has ended. Context: process. */
void kvp_leg_queues_exit(struct kvp_pool *pool);

/**
 * kvp_leg_crowded() - true if a bio would wait for the device or behind other bios. Any context.
 */
bool kvp_leg_crowded(struct kvp_leg *leg);

/**
 * kvp_leg_send() - submit @bio, or queue it for the leg's workers
 *
 * A bio that the workers send is not polled any more. The caller must call kvp_leg_sent() when a
 * write has ended. Context: as submit_bio_noacct().
 */
void kvp_leg_send(struct kvp_leg *leg, struct bio *bio);

/**
 * kvp_leg_send_now() - submit @bio at once, or let a worker send it before all others
 *
 * For requests that must not queue behind others. A worker sends the bio if it is of the reserve.
 * It does so, too, if the device is full or frozen, or has not answered for a second. The caller
 * must call kvp_leg_sent() when a write has ended. Context: as submit_bio_noacct().
 */
void kvp_leg_send_now(struct kvp_leg *leg, struct bio *bio);

struct kvp_leg_queue;

/**
 * kvp_leg_queue() - the queue of the leg's device. Any context.
 *
 * For kvp_leg_sent(), when the leg itself may be gone.
 */
struct kvp_leg_queue *kvp_leg_queue(struct kvp_leg *leg);

/**
 * kvp_leg_reserved_bio() - take a bio of the reserve for @bdev, whose queue is @q
 *
 * Return: NULL: the device has its whole share (io/share.h). Never waits.
 */
struct bio *kvp_leg_reserved_bio(struct kvp_leg_queue *q, struct block_device *bdev, u32 vecs,
				 blk_opf_t opf);

/** kvp_leg_share() - the share of the device whose queue is @q. Any context. */
struct kvp_share *kvp_leg_share(struct kvp_leg_queue *q);

/**
 * kvp_leg_put_bio() - free a bio that was sent to the device, of the reserve or not. Any context.
 */
void kvp_leg_put_bio(struct kvp_leg_queue *q, struct bio *bio);

/** kvp_leg_sent() - count a write as ended; kvp_leg_choose() counts reads. Any context. */
void kvp_leg_sent(struct kvp_leg_queue *q);

#endif /* KVP_LEG_QUEUE_H */
