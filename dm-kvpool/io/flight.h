/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests in flight to legs, and strays: those that no caller waits for any more (R28).
 *
 * The sender of a request owns its struct kvp_io and the pages, and reuses both as soon as it has
 * ended. A leg that hangs ends no request. So the leg gets a copy: a flight. When the leg is
 * recorded out, or about to be, its flights are given up: their requests end with -ETIMEDOUT, as an
 * error of the leg. Each flight becomes a stray, which is kept until the leg answers, or for ever.
 * So it needs its own references:
 *
 *  - It has the pages' pointers, and holds a reference to each page that it writes. The page may be
 *    used again anyway, so the leg may write anything in the end, at the place that was being
 *    written. That does no harm: nothing on a leg that is out is a source (R17), all blocks there
 *    have a sum that covers their place, and the block that was being written has changed since the
 *    leg was left.
 *  - A leg that answers late must not change memory that has another use by now. So reads go into
 *    pages of the flight, and their waiter copies them (kvp_io_group_wait()).
 *  - It holds the device, the module, and struct kvp_pool with its bios: kvp_pool_free() leaves all
 *    of those to the last stray. While there is one, no pool may start on that device.
 *  - It may have a bio of the reserve, but only of its device's share (io/share.h).
 *
 * Without memory, a request takes a flight of its leg's share of a reserve. If those are in use the
 * sender waits for one: they come back when the leg answers. If it does not, it is left, and the
 * sender's request ends like any other of that leg. So no leg uses up what others need. A flight of
 * the reserve has 8 pages: a longer request goes in pieces, one after the other, sent by a worker,
 * and a read is copied piece by piece to its owner. A flight that becomes a stray leaves the
 * reserve, and the leg gets another one when there is memory.
 *
 * While a pool starts, no request is waited for without end, whatever leg it is for: the start can
 * be refused. A leg that has kept one for leg_timeout is silent from there on: all its requests end
 * with -ETIMEDOUT, also later ones. So the start decides as if the leg had only errors. When it has
 * succeeded, a silent leg is recorded out, or the start is refused after all (leave_silent()):
 * writes that come late could overwrite newer ones. Legs that hang at the same time are silent at
 * the same time, whether the start has asked them or not (io/probe.h). After a refusal the leg may
 * still be in sync. So what comes late must be what was sent, as after a power cut: writes of a
 * start have pages of the flight, too.
 *
 * Else only requests that the pool can do without are given up, so none of a leg in use. A read of
 * a vdev that has no leg to spare has no pages of its own: the sender waits for it. The same holds
 * for a read that a user's bio makes itself: its pages are the user's. But a leg that keeps such
 * reads for a second gets no new one if another leg has the block, and is taken out after
 * leg_timeout like any other. Reads that still wait in its queue (io/leg_queue.h) are not sent
 * then, but go to another leg.
 *
 * A request that a leg refuses is tried again, here and nowhere else, if that is of use
 * (kvp_error_kind()): writes, and flushes that were never issued. If a flush failed on its way or
 * on the medium, it is unknown what was lost (R20). So no later flush of that leg ends well,
 * whatever the device says, and the leg is given up, even if the sender could do without its flush.
 *
 * Most disks have a volatile cache and no FUA. For a write with FUA the block layer then sends a
 * write and a flush, and reports an error without saying of which. So here a flight sends the two
 * itself: first the write; when that has ended well, the flush. After an error of the write, its
 * kind decides about a retry. An error of the flush counts as one of a flush. The cases:
 *
 *  - The power goes between the two: no request was answered. The write may be there or not, like
 *    any that was in flight.
 *  - The write fails, and is tried again: no flush was sent. Other flights of the leg may have sent
 *    theirs meanwhile. Those cover writes that had ended, and this one had not.
 *  - The flush fails: all writes that had ended on this leg since its last good flush may be lost,
 *    also others'. If the device ends another flush well that was sent before or after, that does
 *    not count any more.
 *  - The leg is left between the two: the request ends like any other of that leg, and the flush is
 *    dropped or becomes a stray.
 *  - Two writes of one leg have ended, each sends its flush: neither waits for the other. The block
 *    layer makes one flush of those that wait together.
 *  - There is no memory for a flight, and it goes in pieces: all of them are written before the
 *    flush is sent.
 *  - A stacked device (dm, md) that offers FUA: it may be its own, or made of a write and a flush
 *    below. The request goes whole, and its error may be one of a flush: it is not tried again.
 */
#ifndef KVP_FLIGHT_H
#define KVP_FLIGHT_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "format/shadow.h"
#include "io/io.h"
#include "io/probe.h"

struct block_device;
struct kvp_pool;

#define KVP_FLIGHT_SHARE	2	/* flights of the reserve that a leg has */
#define KVP_FLIGHT_SETS	16u

/**
 * struct kvp_flight_share - a leg's share of the reserve; all by flights->lock
 * @idle: those that are not in flight
 * @nr: all of them, without strays: KVP_FLIGHT_SHARE, but for times without memory
 */
struct kvp_flight_share {
	struct list_head idle;
	u32 nr;
};

/**
 * struct kvp_flight_set - flights that began on some processors
 * @lock: irqsave. For the lists, and for what struct kvp_flight says
 * @list: requests in flight that have a waiter, the oldest first
 * @strays: requests in flight without a waiter
 */
struct kvp_flight_set {
	spinlock_t lock;
	struct list_head list, strays;
} ____cacheline_aligned_in_smp;

/**
 * struct kvp_flights - flights of a pool
 * @sets: by processor, so that those do not meet at a lock for each request
 * @lock: of the reserve; irqsave, inside a set's, innermost
 * @shares: the reserve, by index of the leg
 * @back: senders wait here for a flight of the reserve
 * @probes: of legs, while the pool starts
 * @refs: of struct kvp_pool: its owner's, and one of each stray
 * @watch: finds legs that do not answer, while there are flights
 * @armed: bit 0: @watch is queued
 * @watch_wq: for @watch
 * @again_wq: for retries, and for a flush behind its write. Both have no other work, since other
 *	work may be waiting for a leg, and a sender may have to wait for the device
 */
struct kvp_flights {
	struct kvp_pool *pool;
	struct kvp_flight_set sets[KVP_FLIGHT_SETS];
	spinlock_t lock;
	struct kvp_flight_share shares[KVP_LEGS_BESIDE];
	wait_queue_head_t back;
	struct kvp_probes probes;
	atomic_t refs;
	struct delayed_work watch;
	unsigned long armed;
	struct workqueue_struct *watch_wq, *again_wq;
};

/*
 * Strays that are back are freed on this queue of the module, which waits for it when it is
 * unloaded; NULL: system_wq.
 */
extern struct workqueue_struct *kvp_strays_wq;

/** kvp_flights_init() - before a pool's first I/O; 0 or -ENOMEM */
int __must_check kvp_flights_init(struct kvp_pool *pool);

/**
 * kvp_flights_reserve() - the pool has its legs: allocate the reserve
 *
 * Legs that come later get theirs when they have requests. 0 or -ENOMEM. Context: process.
 */
int __must_check kvp_flights_reserve(struct kvp_pool *pool);

/** kvp_flights_stop() - the pool stops, and no request has a waiter any more. Context: process. */
void kvp_flights_stop(struct kvp_pool *pool);

/** kvp_flights_exit() - with the last reference to the pool */
void kvp_flights_exit(struct kvp_pool *pool);

/**
 * kvp_flights_put() - drop a reference to the pool, which its owner and each stray have. Context:
 * any.
 *
 * Return: true if it was the last one: the caller frees the pool.
 */
static inline bool __must_check kvp_flights_put(struct kvp_flights *all)
{
	return atomic_dec_and_test(&all->refs);
}

/** kvp_flights_kick() - a leg is not in use any more: give up its flights. Any context. */
void kvp_flights_kick(struct kvp_pool *pool);

/**
 * kvp_flights_wait_watch() - wait until the watch looks at no leg. No request may have a waiter.
 *
 * Context: process; waits for no leg.
 */
void kvp_flights_wait_watch(struct kvp_pool *pool);

/**
 * kvp_flights_watch() - kvp_leg_choose() has sent a leg a read that is no flight: watch the leg.
 * Any context.
 */
void kvp_flights_watch(struct kvp_pool *pool);

/**
 * kvp_io_too_late() - true if @io is for a leg that was left, by a sender that did not know that.
 * Any context.
 *
 * @io has a waiter, so the leg is there.
 */
bool kvp_io_too_late(const struct kvp_io *io);

/**
 * kvp_io_land() - copy a read of a group to its owner's pages; no effect on other requests.
 * Context: process.
 */
void kvp_io_land(struct kvp_io *io);

/** kvp_strays() - the number of requests in flight without a waiter. Any context. */
u32 kvp_strays(const struct kvp_pool *pool);

/**
 * kvp_strays_of() - true if a stray is on a device that is @bdev according to @same. Any context.
 */
bool kvp_strays_of(struct kvp_pool *pool, struct block_device *bdev,
		   bool (*same)(struct block_device *a, struct block_device *b));

/**
 * kvp_io_probe() - of probe.c: a worker sends the read @io, with pages of its flight
 *
 * Return: false without memory for a flight. Context: process; waits for nothing.
 */
bool __must_check kvp_io_probe(struct kvp_io *io);

/* --- of the implementation: io_bio.c, or the simulator's disks -------------------------------- */

/** kvp_io_start() - send a request to its leg; as kvp_io_submit(), but may wait for the device */
void kvp_io_start(struct kvp_io *io);

/**
 * kvp_io_drop() - end requests with -ETIMEDOUT that were not yet sent to this leg, which was left
 *
 * Also reads that users' bios make themselves. Context: process.
 */
void kvp_io_drop(struct kvp_leg *leg);

/**
 * kvp_io_fua_flushes() - true if a write with FUA to this leg may flush all of the device's cache.
 * Any context.
 */
bool kvp_io_fua_flushes(const struct kvp_leg *leg);

/**
 * kvp_io_fua_apart() - true if a write with FUA to this leg must be sent as a write, and then a
 * flush. Any context.
 *
 * Such a device has a volatile cache, and no FUA. Then kvp_io_fua_flushes() is true as well.
 */
bool kvp_io_fua_apart(const struct kvp_leg *leg);

/** kvp_io_hold() - a stray is on this device: keep the device and the module. Any context. */
void kvp_io_hold(struct block_device *bdev);

/** kvp_io_unhold() - the stray is back. Context: process. */
void kvp_io_unhold(struct block_device *bdev);

/** kvp_leg_has_strays() - true if @leg's device has requests without a waiter. Any context. */
bool kvp_leg_has_strays(const struct kvp_leg *leg);

#endif /* KVP_FLIGHT_H */
