/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The request path: from bios to the write buffer and the legs.
 *
 * target.h describes the folder. write.c has the numbered steps of writes, discards and flushes;
 * paced.c slows writers down. read.c has the steps of a read; read_end.c verifies what came, and
 * read_anew.c repeats what did not fit; long_read.c reads several legs for one bio.
 *
 * device-mapper calls kvp_requests_map() for each bio, and kvp_read_end_io() when a bio that was
 * remapped has ended. map runs in the task that submits the bio. It never waits for I/O of the
 * pool, as that may need this task. A bio that has to wait goes to one of the lists below. The
 * pool's callback for space wakes a worker, which takes the bio from there.
 *
 * Locks: r->lock (irqsave) guards the lists, and is not held while a bio is served. Workers that
 * read a block anew take its range lock.
 *
 * An order that may wait runs on a worker, so that a suspend can send its message away
 * (target/order.h). To add a message, see CONTRIBUTING.md.
 */
#ifndef KVP_REQUEST_H
#define KVP_REQUEST_H

#include <linux/bio.h>
#include <linux/hrtimer.h>
#include <linux/mempool.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "core/latency.h"

/**
 * struct kvp_requests - bios that could not be served at once
 * @writes: bios that wait for buffer pages, in order of arrival; by @lock
 * @discards: discards that wait for others to be home, or for room in the log, in order; by @lock
 * @paced: writes that are slowed down; they go to @writes in time (paced.h); by @lock
 * @reads: reads that wait for legs (failmode=wait); by @lock
 * @suspending: the target during a noflush suspend: bios that would have to wait go back to
 *	device-mapper, see kvp_requests_give_back(); written under @lock
 * @since: when the pool was started, by the clock that goes on in sleep
 * @flushes: latency of FLUSH and FUA
 * @space_seq: counts calls of the pool's space callback
 */
struct kvp_requests {
	struct kvp_pool *pool;
	struct workqueue_struct *wq, *write_wq;
	spinlock_t lock;		/* irqsave */
	struct bio_list writes, discards, paced, reads;
	atomic_t space_seq;
	struct work_struct write_work, discard_work, read_work;
	struct work_struct pace_work;	/* looks at @paced, now or when @pace_timer has run out */
	struct hrtimer pace_timer;
	mempool_t pages;		/* for reads that go through a private page */
	struct dm_target *suspending;
	ktime_t since;
	struct kvp_latency flushes;

	/* Of long_read.c; of pools with a parity1. */
	struct bio_set long_bios;
	struct page *junk;		/* for parity that is read along: @junk_blocks in a row */
	u32 junk_blocks;
	/* Pages used by reads that make blocks from rows, for blocks beside the reader's. */
	atomic_t own_pages;
};

struct dm_target;

/**
 * kvp_requests_init() - let @pool, which was started, take requests
 *
 * kvp_requests_exit() - wait for the last workers, and free; does nothing if @r is zeros, or for a
 * second time. No request is in flight, and none comes.
 *
 * Return: 0 or -ENOMEM. Context: process, may sleep.
 */
int __must_check kvp_requests_init(struct kvp_requests *r, struct kvp_pool *pool);
void kvp_requests_exit(struct kvp_requests *r);

/**
 * kvp_requests_drain() - wait for workers of reads that were answered; no other requests may be in
 * flight
 */
void kvp_requests_drain(struct kvp_requests *r);

/** kvp_requests_map() - serve a bio; a DM_MAPIO_* value. Never waits for the pool's I/O. */
int kvp_requests_map(struct kvp_requests *r, struct bio *bio);

/**
 * kvp_requests_nowait() - true if @bio must end with kvp_requests_again() where it would wait.
 * Context: map.
 */
bool kvp_requests_nowait(const struct bio *bio);

/**
 * kvp_requests_again() - end @bio, of @count blocks, of which none was taken; DM_MAPIO_SUBMITTED.
 * Context: map.
 */
int kvp_requests_again(struct kvp_requests *r, struct bio *bio, u32 count);

/**
 * kvp_requests_requeue() - @ti is suspended: give bios that wait back to device-mapper; until NULL
 */
void kvp_requests_requeue(struct kvp_requests *r, struct dm_target *ti);

/**
 * kvp_requests_give_back() - true if bios that would have to wait must end with BLK_STS_DM_REQUEUE.
 * Any context.
 */
bool kvp_requests_give_back(struct kvp_requests *r);

#endif /* KVP_REQUEST_H */
