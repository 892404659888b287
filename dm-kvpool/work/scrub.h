/* SPDX-License-Identifier: GPL-2.0-only */
/* Scrub: read and verify all blocks that are written. */
#ifndef KVP_SCRUB_H
#define KVP_SCRUB_H

#include "core/core.h"

#define KVP_SCRUB_STEP		128u	/* blocks on each leg, under one range lock: 512 KiB */
/* The most pieces of a parity1 in a step: those with entries in one leaf. */
#define KVP_SCRUB_PIECES	KVP_PTRS_PER_PAGE

struct kvp_scrub_io;
struct kvp_tpage;

struct kvp_scrub {
	struct kvp_pool *pool;
	struct work_struct work;
	struct mutex lock;		/* for start, stop, pause, resume */
	struct kvp_scrub_info info;	/* the worker changes cursor and counts while it runs */
	unsigned long noted;		/* jiffies: the superblock got @info */
	u32 since;			/* era: only entries since then; 0: all */
	/* Of each vdev: the entry behind the one whose table pages were scrubbed last; 0: none. */
	u64 entered[KVP_MAX_VDEVS];
	bool stop, pause, quiesce;
};

/**
 * kvp_scrub_init() - begin quiesced, at the start of a pool, with the scrub of the superblock
 *
 * If that one was running, it goes on with kvp_scrub_unquiesce(). Context: process.
 */
void kvp_scrub_init(struct kvp_pool *pool);

/**
 * kvp_scrub_start() - verify everything, or what changed in era @since and later
 *
 * Return: 0; -EBUSY: a scrub runs; -ERANGE: @since lies in the future; -EROFS; -EINTR: with @since:
 * the pool is about to be suspended; -EIO. Context: process; with @since waits until everything is
 * home.
 */
int __must_check kvp_scrub_start(struct kvp_pool *pool, u32 since);

/**
 * kvp_scrub_stop() - end the scrub that runs, or is paused
 *
 * kvp_scrub_pause() - pause the scrub that runs
 *
 * kvp_scrub_resume() - let a paused scrub go on at its cursor
 *
 * A superblock notes it, if one can be written. Return: 0; -ENOENT: there is no such scrub;
 * -EROFS. Context: process; takes the lock of orders to scrub, and sb_lock; waits for a step and
 * for I/O.
 */
int __must_check kvp_scrub_stop(struct kvp_pool *pool);
int __must_check kvp_scrub_pause(struct kvp_pool *pool);
int __must_check kvp_scrub_resume(struct kvp_pool *pool);

/**
 * kvp_scrub_quiesce() - stop the worker until kvp_scrub_unquiesce()
 *
 * kvp_scrub_end_soon() does the same, but does not wait for the step in flight. Then
 * kvp_scrub_works() is true as long as that step goes on. Context: process; _end_soon(): any.
 */
void kvp_scrub_quiesce(struct kvp_pool *pool);
void kvp_scrub_end_soon(struct kvp_pool *pool);
bool kvp_scrub_works(struct kvp_pool *pool);
void kvp_scrub_unquiesce(struct kvp_pool *pool);

/**
 * kvp_scrub_copies() - true if all copies are good of the blocks that the table calls valid
 *
 * Reads @n blocks from each leg in use. The blocks are locked, and lie below @leaf. Context:
 * process; waits for I/O.
 */
bool kvp_scrub_copies(struct kvp_pool *pool, struct kvp_scrub_io *s, struct kvp_tpage *leaf,
		      kvp_block_t block, u32 n);

/** kvp_scrub_rows() - the same for rows with their parity; false if they are not whole stripes */
bool kvp_scrub_rows(struct kvp_pool *pool, struct kvp_scrub_io *s, struct kvp_tpage *leaf,
		    kvp_block_t block, u32 n);

/**
 * kvp_scrub_note() - put the progress of a running scrub into pool->sb. Caller holds sb_lock.
 */
void kvp_scrub_note(struct kvp_pool *pool);

/**
 * kvp_scrub_progress() - progress of the running scrub, or of the last one
 *
 * The worker changes it, so use READ_ONCE(). Context: any.
 */
static inline const struct kvp_scrub_info *kvp_scrub_progress(const struct kvp_pool *pool)
{
	return &pool->scrub->info;
}

#endif /* KVP_SCRUB_H */
