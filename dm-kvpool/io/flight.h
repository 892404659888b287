/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests in flight to legs, and strays: requests that no caller waits for any more (R28).
 *
 * The sender of a request owns its struct kvp_io and the pages, and uses both again as soon as the
 * request has ended. A leg that hangs ends no request. So the leg gets a copy of the request: a
 * flight. When the leg is recorded out, or is about to be, its flights are given up: their requests
 * end with -ETIMEDOUT, as by an error of the leg. Each of these flights becomes a stray. It is kept
 * until the leg answers, or for ever, and so it needs references of its own:
 *
 *  - It has the pointers to the pages, and holds a reference to each page that it writes. The page
 *    may have another use by then, so the leg may in the end write anything to the blocks of the
 *    request. That does no harm. A leg that is out is no source (R17), and all its blocks have a
 *    sum that covers their place. And the block that was being written has changed since the leg
 *    was given up.
 *  - A leg that answers late must not change memory that has another use by now. So reads go into
 *    pages of the flight, and their waiter copies them (kvp_io_group_wait()).
 *  - It holds the device, the module, and struct kvp_pool with its bios: kvp_pool_free() leaves all
 *    of those to the last stray. While there is a stray, no pool may start on its device.
 *  - It may have a bio of the reserve, but only of its device's share (io/share.h).
 *
 * Without memory, a request takes a flight from its leg's share of a reserve. If all of the share
 * is in use, the sender waits for a flight to come back. If the leg does not answer, it is given
 * up, and the sender's request ends as any other of that leg. So no leg uses up what other legs
 * need. A flight of the reserve has 8 pages. A longer request goes in pieces, one after the other:
 * a worker sends them, and copies what a piece has read to its owner. A flight that becomes a stray
 * leaves the reserve, and the leg gets another one when there is memory.
 *
 * To allocate a flight and its pages takes longer than all the rest of it, where the kernel clears
 * what it allocates. So those that have ended are kept for other requests, up to a limit. A stray
 * is not: its leg may have its pages for ever.
 *
 * While a pool starts, each request has a time limit, whatever leg it is for, since the start can
 * be refused. A leg that has kept a request for leg_timeout is silent from then on: all its
 * requests end with -ETIMEDOUT, later ones too. So the start decides as if the leg had only errors.
 * When the start has succeeded, a silent leg is recorded out, or the start is refused after all
 * (leave_silent()): late writes could overwrite newer ones. Legs that hang at the same time become
 * silent at the same time, whether the start has asked them or not (io/probe.h). After a refusal
 * the leg may still be in sync. So a late write must write what was sent, as after a power cut:
 * writes of a start have pages of the flight, too.
 *
 * At other times, only requests that the pool can do without are given up, so none of a leg that
 * the pool needs. A read of a vdev that has no leg to spare has no pages of its own: its sender
 * waits for it. The same holds for a read by a user's bio: its pages are the user's. But if a leg
 * keeps such reads for a second, new reads go to another leg that has the block. After leg_timeout
 * the leg is taken out as any other. Reads that still wait in its queue (io/leg_queue.h) are then
 * not sent, but go to another leg.
 *
 * This file tries again writes that a leg refused, if that may help (kvp_error_kind()), and flushes
 * that were never issued. Reads are left to their senders, which may have another source
 * (kvp_io_read_patiently()). If a flush failed in transport or on the medium, it is unknown what
 * was lost (R20). So all later flushes of that leg fail, whatever the device answers. The leg is
 * given up, even if the sender could do without its flush.
 *
 * Most disks have a volatile cache and no FUA. For a write with FUA the block layer then sends a
 * write and a flush, and does not say which of them had an error. So a flight sends the two itself:
 * first the write, and after its success the flush. After an error of the write, the kind of error
 * decides about a retry. An error of the flush counts as that of any flush. The cases:
 *
 *  - The power goes between the two: no request was answered. The write may be on the disk or not,
 *    as any write in flight.
 *  - The write fails, and is tried again: no flush was sent. Other flights of the leg may have sent
 *    theirs meanwhile. Those cover writes that had ended, and this write had not.
 *  - The flush fails: all writes that had ended on this leg since its last good flush may be lost,
 *    also those of other flights. Another flush, sent before or after, may end well on the device.
 *    That does not count any more.
 *  - The leg is given up between the two: the request ends as any other of that leg. The flush is
 *    not sent, or becomes a stray.
 *  - The flush is a stray, its leg is in use, and it fails: its sender could do without it, and has
 *    not waited (kvp_io.brief). That counts as that of any flush.
 *  - Two writes of one leg have ended, and each sends its flush: neither waits for the other. The
 *    block layer makes one flush of flushes that wait together.
 *  - There is no memory for a flight, and the request goes in pieces: all of them are written
 *    before the flush is sent.
 *  - A stacked device (dm, md) offers FUA: that may be its own, or made of a write and a flush
 *    below. The request goes as one write with FUA. Its error may be that of a flush: it is not
 *    tried again.
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

#define KVP_FLIGHT_SHARE	2	/* flights of the reserve for each leg */
#define KVP_FLIGHT_SETS	16u
#define KVP_FLIGHT_PAGES	256u	/* kept by a set; as many rows are read at once */
#ifndef KVP_FLIGHTS_KEPT	/* the simulator keeps few, and none without memory */
#define KVP_FLIGHTS_KEPT	KVP_FLIGHT_PAGES
#endif

/**
 * struct kvp_flight_share - a leg's share of the reserve; all by flights->lock
 * @idle: flights that are not in flight
 * @nr: number of flights, without strays: KVP_FLIGHT_SHARE, or fewer while memory is short
 */
struct kvp_flight_share {
	struct list_head idle;
	u32 nr;
};

/**
 * struct kvp_flight_set - flights that began on some processors
 * @lock: irqsave. For the lists, and for the fields of struct kvp_flight that name it
 * @list: requests in flight that have a waiter, the oldest first
 * @strays: requests in flight without a waiter
 * @kept: flights that have ended, for other requests; they have no pages
 * @nr_kept: their number, KVP_FLIGHTS_KEPT at most
 * @pages: pages that reads have used, for other reads
 * @nr_pages: their number, KVP_FLIGHTS_KEPT at most
 */
struct kvp_flight_set {
	spinlock_t lock;
	struct list_head list, strays, kept;
	u32 nr_kept, nr_pages;
	struct page *pages[KVP_FLIGHT_PAGES];
} ____cacheline_aligned_in_smp;

/**
 * struct kvp_flights - flights of a pool
 * @sets: by processor, so that processors do not contend for one lock at each request
 * @lock: of the reserve; irqsave, taken inside a set's, innermost
 * @shares: the reserve, by index of the leg
 * @back: senders wait here for a flight of the reserve
 * @probes: of legs, while the pool starts
 * @refs: to struct kvp_pool: one of its owner, and one of each stray
 * @watch: finds legs that do not answer, while there are flights
 * @armed: bit 0: @watch is queued
 * @watch_wq: for @watch
 * @again_wq: for retries, and for a flush after its write. Neither queue has other work: that work
 *	may be waiting for a leg. And a sender may have to wait for the device
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

/** kvp_flights_probes() - the probes of the pool's legs. Any context. */
static inline struct kvp_probes *kvp_flights_probes(struct kvp_flights *all)
{
	return &all->probes;
}

/*
 * Strays that have ended are freed on this queue. The module waits for the queue when it is
 * unloaded. NULL: system_wq.
 */
extern struct workqueue_struct *kvp_strays_wq;

/** kvp_flights_init() - prepare for a pool's first I/O; 0 or -ENOMEM. Context: process. */
int __must_check kvp_flights_init(struct kvp_pool *pool);

/**
 * kvp_flights_reserve() - allocate the reserve: the pool has its legs
 *
 * The watch fills the shares of legs that come later. Return: 0 or -ENOMEM. Context: process.
 */
int __must_check kvp_flights_reserve(struct kvp_pool *pool);

/**
 * kvp_flights_stop() - stop the watch: the pool stops, and no request has a waiter. Context:
 * process.
 */
void kvp_flights_stop(struct kvp_pool *pool);

/** kvp_flights_exit() - free all of it, with the last reference to the pool. Context: process. */
void kvp_flights_exit(struct kvp_pool *pool);

/**
 * kvp_flights_put() - drop a reference to the pool, of its owner or of a stray. Context: any.
 *
 * Return: true if it was the last reference: the caller frees the pool.
 */
static inline bool __must_check kvp_flights_put(struct kvp_flights *all)
{
	return atomic_dec_and_test(&all->refs);
}

/** kvp_flights_kick() - run the watch now: a leg is out, so give up its flights. Any context. */
void kvp_flights_kick(struct kvp_pool *pool);

/**
 * kvp_flights_wait_watch() - wait until a queued run of the watch has ended
 *
 * No request may have a waiter. Context: process; waits for no leg.
 */
void kvp_flights_wait_watch(struct kvp_pool *pool);

/**
 * kvp_flights_watch() - arm the watch: kvp_leg_choose() counts a read that is no flight. Any
 * context.
 */
void kvp_flights_watch(struct kvp_pool *pool);

/**
 * kvp_io_too_late() - true if @io must not be sent, since its leg was given up. Any context.
 *
 * @io has a waiter, so the leg exists.
 */
bool kvp_io_too_late(const struct kvp_io *io);

/**
 * kvp_io_land() - copy what a read of a group has read to its owner's pages. Context: process.
 *
 * No effect on other requests.
 */
void kvp_io_land(struct kvp_io *io);

/** kvp_strays() - the number of strays. Any context. */
u32 kvp_strays(const struct kvp_pool *pool);

/**
 * kvp_strays_of() - true if there is a stray on a device for which @same is true. Any context.
 */
bool kvp_strays_of(struct kvp_pool *pool, struct block_device *bdev,
		   bool (*same)(struct block_device *a, struct block_device *b));

/**
 * kvp_io_probe() - for probe.c: let a worker send the read @io, into pages of its flight
 *
 * Return: false: there is no memory for a flight. Context: process; waits for nothing.
 */
bool __must_check kvp_io_probe(struct kvp_io *io);

/* --- implemented by io_bio.c, or by the simulator's disks -------------------------------- */

/** kvp_io_start() - send a request to its leg; as kvp_io_submit(), but may wait for the device */
void kvp_io_start(struct kvp_io *io);

/**
 * kvp_io_drop() - end requests to @leg that were not yet sent, with -ETIMEDOUT: it was given up
 *
 * That includes reads by users' bios. Context: process.
 */
void kvp_io_drop(struct kvp_leg *leg);

/**
 * kvp_io_fua_flushes() - true if a write with FUA may flush all of the device's cache. Any context.
 */
bool kvp_io_fua_flushes(const struct kvp_leg *leg);

/**
 * kvp_io_fua_apart() - true if a write with FUA must be sent as a write and then a flush
 *
 * Such a device has a volatile cache, and no FUA. Then kvp_io_fua_flushes() is true as well. Any
 * context.
 */
bool kvp_io_fua_apart(const struct kvp_leg *leg);

/** kvp_io_hold() - keep the device and the module for a stray. Any context. */
void kvp_io_hold(struct block_device *bdev);

/** kvp_io_unhold() - the stray has ended: release both. Context: process. */
void kvp_io_unhold(struct block_device *bdev);

/** kvp_leg_has_strays() - true if @leg's device has strays. Any context. */
bool kvp_leg_has_strays(const struct kvp_leg *leg);

#endif /* KVP_FLIGHT_H */
