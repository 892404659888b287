/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests in flight to legs, and strays: those that no caller waits for any more (R28).
 *
 * The sender of a request owns its struct kvp_io and the pages, and uses both for something else
 * as soon as it has ended. A leg that hangs ends nothing. So what the leg gets is a
 * copy: a flight. Once the leg is recorded out, or about to be, its flights are given up: their requests end with
 * -ETIMEDOUT, in the name of the leg, and a flight becomes a stray, which is kept until the leg answers,
 * or for ever. What it needs is its own:
 *
 *  - It has the pages' pointers, and holds a reference to each page that it writes. The page may be used again
 *    all the same, so what gets to the leg in the end can be anything, in the place that was being
 *    written. That does no harm: nothing on a leg that is out is a source (R17), all that lies there has a
 *    sum that names its place, and what was being written has changed since the leg was left.
 *  - A leg that answers late must not change memory that has another use by now. So reads go
 *    into pages of the flight, and their waiter copies them (kvp_io_group_wait()).
 *  - It holds the device, the module, and struct kvp_pool with its bios: kvp_pool_free() leaves
 *    all of that to the last stray. While there is one, no pool may start on that device.
 *  - It may have a bio of the reserve, but only of its device's share (io/share.h).
 *
 * Only what the pool can do without is given up: nothing of a leg in use. A read of a vdev that has
 * no leg to spare has no pages of its own, nor has one for which there is no memory: it is waited for.
 * So is a read that a user's bio makes itself: its pages are the user's. But a leg that keeps such
 * reads for a second gets no new one, where another leg has the block, and is taken out after
 * leg_timeout like any; and what still waits in its queue (io/leg_queue.h) is not sent then, and
 * asked of another leg.
 *
 * And what a leg refuses is tried again, here and nowhere else, as far as that is of use
 * (kvp_error_kind()): writes, and flushes that were never issued. If a flush failed on its way or
 * on the medium, it is unknown what was lost (R20). So no later flush of that leg ends well,
 * whatever the device says, and the leg is given up, even where the sender could do without what it
 * sent.
 *
 * Most disks have a volatile cache and no FUA. There the block layer makes a write and a flush of a
 * write with FUA, and says of an error only that there was one. So here a flight sends the two
 * itself: first the write; when that has ended well, the flush. The error of the write is tried
 * again by its kind; that of the flush is one of a flush. The cases:
 *
 *  - The power goes between the two: no request was answered. The write may be there or not, as of
 *    any that was in flight.
 *  - The write fails, and is tried again: no flush was sent. Other flights of the leg may have sent
 *    theirs meanwhile: those cover what had ended, and this write had not.
 *  - The flush fails: all that had ended on this leg since its last good flush may be lost, of
 *    others too. A flush that another flight sent before or after, and that the device ends well,
 *    is not believed any more.
 *  - The leg is left between the two: the request ends as any other of that leg, and the flush goes
 *    nowhere or is a stray.
 *  - Two writes of one leg have ended, each sends its flush: neither waits for the other. The block
 *    layer makes one flush of those that wait together.
 *  - There is no memory for a flight: the request goes whole, as one with FUA. Its error may be one
 *    of the flush.
 *  - A stacked device (dm, md) that offers FUA: it may be its own, or made of a write and a flush
 *    below. The request goes whole, one write as below, and its error may be one of a flush: it is
 *    not tried again.
 */
#ifndef KVP_FLIGHT_H
#define KVP_FLIGHT_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "io/io.h"

struct block_device;
struct kvp_pool;

/**
 * struct kvp_flights - of a pool
 * @lock: irqsave; innermost
 * @list: requests in flight that have a waiter, the oldest first; by @lock
 * @strays: requests in flight without a waiter; by @lock
 * @refs: of struct kvp_pool: its owner's, and one of each stray
 * @watch: looks whether a leg does not answer, while there are flights
 * @armed: bit 0: it will
 * @watch_wq, @again_wq: for that; and for what is tried again, and for a flush behind its write. Of
 *	their own: all others may be waiting for a leg, and a sender may have to wait for the
 *	device
 */
struct kvp_flights {
	struct kvp_pool *pool;
	spinlock_t lock;
	struct list_head list, strays;
	atomic_t refs;
	struct delayed_work watch;
	unsigned long armed;
	struct workqueue_struct *watch_wq, *again_wq;
};

/* Where strays that are back are freed: the module's, which waits for it at its end; NULL: system_wq. */
extern struct workqueue_struct *kvp_strays_wq;

/** kvp_flights_init() - before a pool's first I/O; 0 or -ENOMEM */
int __must_check kvp_flights_init(struct kvp_pool *pool);

/** kvp_flights_stop() - the pool stops: no request has a waiter any more. Context: process. */
void kvp_flights_stop(struct kvp_pool *pool);

/** kvp_flights_exit() - with the last reference to the pool */
void kvp_flights_exit(struct kvp_pool *pool);

/** kvp_flights_kick() - a leg is not in use any more: give up what it has. Any context. */
void kvp_flights_kick(struct kvp_pool *pool);

/**
 * kvp_flights_watch() - a leg was asked for something that is no flight, by kvp_leg_choose(): look
 * after it. Any context.
 */
void kvp_flights_watch(struct kvp_pool *pool);

/**
 * kvp_io_too_late() - is @io for a leg that was left, by a sender that did not know it? Any
 * context.
 *
 * @io has a waiter, so the leg is there.
 */
bool kvp_io_too_late(const struct kvp_io *io);

/** kvp_io_land() - what a read of a group has read goes where it was to; no effect on others. Context: process. */
void kvp_io_land(struct kvp_io *io);

/** kvp_strays() - the number of requests in flight without a waiter. Any context. */
u32 kvp_strays(const struct kvp_pool *pool);

/** kvp_strays_of() - is one of them on a device that @same says is @bdev? Any context. */
bool kvp_strays_of(struct kvp_pool *pool, struct block_device *bdev,
		   bool (*same)(struct block_device *a, struct block_device *b));

/* --- of the implementation: io_bio.c, or the simulator's disks -------------------------------- */

/** kvp_io_start() - send a request to its leg; as kvp_io_submit() promises, but waits for the device if need be */
void kvp_io_start(struct kvp_io *io);

/**
 * kvp_io_drop() - what this leg, which was left, has not been sent yet ends with -ETIMEDOUT
 *
 * Also what users' bios read themselves. Context: process.
 */
void kvp_io_drop(struct kvp_leg *leg);

/** kvp_io_fua_flushes() - is a write with FUA to this leg one without and a flush of all the device's cache? Any context. */
bool kvp_io_fua_flushes(const struct kvp_leg *leg);

/**
 * kvp_io_fua_apart() - must a write with FUA to this leg be sent as a write, and then a flush? Any
 * context.
 *
 * It has a volatile cache, and no FUA. Where it says so, kvp_io_fua_flushes() does.
 */
bool kvp_io_fua_apart(const struct kvp_leg *leg);

/** kvp_io_hold() - a stray is on this device: neither that nor the module goes away. Any context. */
void kvp_io_hold(struct block_device *bdev);

/** kvp_io_unhold() - it is back. Context: process. */
void kvp_io_unhold(struct block_device *bdev);

#endif /* KVP_FLIGHT_H */
