/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bios for a leg that has no room for them now.
 *
 * A device takes as many requests as it has tags, and blocks the submitter of one more until one of
 * them ends. A disk behind a simple bridge has a single tag. A submitter to several legs would then
 * wait for the slowest of them at every step, while the others are idle. So bios that a leg has no
 * room for wait in its queue, for two workers of its own. Either sends whatever there is. One runs
 * at once: it is queued for writes and for bios of a joined request that failed. The other runs
 * soon: it is queued if only reads wait. Reads and writes take turns, so that a reader does not
 * wait for all of destage's writes. Neighbours on the device go as one request: with so few tags
 * its own queue has nothing to join. A request is made when the device has room for it, or when it
 * cannot grow. On a disk that seeks, reads are also joined over a small gap, which is read along.
 *
 * A queue belongs to a device, not to a leg: a device that hangs keeps its requests, and the leg
 * that takes its place is not affected. Requests that still wait here when a leg is left are not
 * sent any more: they end with a timeout (kvp_io_drop()).
 */
#ifndef KVP_LEG_QUEUE_H
#define KVP_LEG_QUEUE_H

#include <linux/blk_types.h>

struct bio;
struct block_device;
struct kvp_leg;
struct kvp_pool;
struct kvp_share;

/** kvp_leg_queues_init() - a queue for each device that the pool may have as a leg; 0 or -ENOMEM */
int __must_check kvp_leg_queues_init(struct kvp_pool *pool);

/** kvp_leg_queues_exit() - after the last bio has ended. Context: process. */
void kvp_leg_queues_exit(struct kvp_pool *pool);

/**
 * kvp_leg_crowded() - true if a bio would have to wait, for the device or for other bios. Any
 * context.
 */
bool kvp_leg_crowded(struct kvp_leg *leg);

/**
 * kvp_leg_send() - submit @bio, or leave it to the leg's workers
 *
 * A bio that the workers send is not polled any more. Context: as submit_bio_noacct(). The caller
 * must call kvp_leg_sent() when a write has ended.
 */
void kvp_leg_send(struct kvp_leg *leg, struct bio *bio);

/**
 * kvp_leg_send_now() - submit @bio at once; the caller waits for the device if need be
 *
 * For requests that must not queue behind others. If the device has not answered for a second, the
 * workers send it instead. The caller must call kvp_leg_sent() when a write has ended.
 */
void kvp_leg_send_now(struct kvp_leg *leg, struct bio *bio);

struct kvp_leg_queue;

/**
 * kvp_leg_queue() - the queue of the leg's device: for kvp_leg_sent(), when the leg itself may be
 * gone. Any context.
 */
struct kvp_leg_queue *kvp_leg_queue(struct kvp_leg *leg);

/**
 * kvp_leg_reserved_bio() - a bio of the reserve for @bdev, whose queue is @q; NULL: the device has
 * its whole share (io/share.h). Never waits.
 */
struct bio *kvp_leg_reserved_bio(struct kvp_leg_queue *q, struct block_device *bdev, u32 vecs,
				 blk_opf_t opf);

/** kvp_leg_share() - the share of the device whose queue is @q. Any context. */
struct kvp_share *kvp_leg_share(struct kvp_leg_queue *q);

/**
 * kvp_leg_put_bio() - free a bio that was sent to the device, of the reserve or not. Any context.
 */
void kvp_leg_put_bio(struct kvp_leg_queue *q, struct bio *bio);

/** kvp_leg_sent() - a write has ended. Any context. kvp_leg_choose() counts reads. */
void kvp_leg_sent(struct kvp_leg_queue *q);

#endif /* KVP_LEG_QUEUE_H */
