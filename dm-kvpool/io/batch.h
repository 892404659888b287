/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A batch: writes of many blocks to legs in use. Each write goes to all legs of a vdev, or to one
 * leg. Adjacent blocks become one request to a leg, and all requests are in flight together. One
 * function handles the legs that fail.
 */
#ifndef KVP_BATCH_H
#define KVP_BATCH_H

#include "format/format.h"
#include "io/io.h"

struct kvp_leg;
struct kvp_pool;
struct kvp_spell;
struct kvp_vdev;
struct kvp_vdevs;

#define KVP_BATCH_PAGES		4352	/* 17 MiB: all intents of an entry, and two more runs */
#define KVP_BATCH_RUNS		512
#define KVP_BATCH_RUN_PAGES	256

struct kvp_batch {
	const struct kvp_vdevs *vdevs;
	struct kvp_pool *pool;	/* of @vdevs */
	struct kvp_io_group group;
	u32 nr_pages, nr_runs, nr_ios;
	bool somewhere;	/* a run is for one leg alone, or one leg has it already */
	/* Write first to one leg of a vdev, flush, then write to the others. Reset when written. */
	bool staggered;
	/* staggered: pool->losses.seen, noted when each leg had another one in sync */
	int losses;
	struct kvp_spell *spell;	/* of the background work that writes the batch, or NULL */
	/* span of the last staggered batch, as blocks of the legs */
	u64 unflushed_first, unflushed_end;
	struct page *pages[KVP_BATCH_PAGES], *gathered[KVP_BATCH_PAGES];
	struct kvp_batch_run {
		const struct kvp_vdev *v;
		struct kvp_leg *leg;	/* NULL: every leg of the vdev */
		struct kvp_leg *led;	/* staggered: the leg that has the run already, or NULL */
		kvp_lblock_t block;	/* block of the leg */
		u32 first, nr;		/* part of pages[] */
	} runs[KVP_BATCH_RUNS];
	struct kvp_io *ios;		/* room for each run on each leg of a vdev */
};

/**
 * kvp_batch_alloc() - allocate a batch for the legs of @vdevs; NULL without memory
 *
 * Without a pool (io.h) it is never staggered. kvp_batch_free() frees it, or takes NULL; its pages
 * belong to the caller. Context: process.
 */
struct kvp_batch * __must_check kvp_batch_alloc(const struct kvp_vdevs *vdevs);
void kvp_batch_free(struct kvp_batch *b);

/** kvp_batch_add() - add @page for @block of every leg of @v; false if the batch is full */
bool __must_check kvp_batch_add(struct kvp_batch *b, const struct kvp_vdev *v, kvp_lblock_t block,
				struct page *page);

/** kvp_batch_add_pages() - the same for @nr pages, for blocks from @block on */
bool __must_check kvp_batch_add_pages(struct kvp_batch *b, const struct kvp_vdev *v,
				      kvp_lblock_t block, struct page *const *pages, u32 nr);

/**
 * kvp_batch_add_at() - add @page for one place of @v; false if the batch is full
 *
 * If the leg of the place is out, the page is not written.
 */
bool __must_check kvp_batch_add_at(struct kvp_batch *b, const struct kvp_vdev *v,
				   struct kvp_place at, struct page *page);

/**
 * kvp_batch_add_shadow() - add @page for @block of the shadow alone; false if the batch is full
 *
 * The pool has a shadow.
 */
bool __must_check kvp_batch_add_shadow(struct kvp_batch *b, kvp_lblock_t block,
				       struct page *page);

/**
 * kvp_batch_add_target() - add @page for one place of @v, if a leg resilvers there
 *
 * If the leg of the place has a shadow that lacks something, the page goes to the shadow alone.
 * Return: false if the batch is full.
 */
bool __must_check kvp_batch_add_target(struct kvp_batch *b, const struct kvp_vdev *v,
				       struct kvp_place at, struct page *page);

/**
 * kvp_batch_give_way() - kvp_give_way(), if the batch is of background work
 *
 * The batch does so itself between requests. Context: process, no spinlock.
 */
void kvp_batch_give_way(struct kvp_batch *b);

/** kvp_batch_reset() - forget all added runs */
void kvp_batch_reset(struct kvp_batch *b);

/**
 * kvp_batch_write() - write what was added to legs in use, and empty the batch
 *
 * A write that fails is sent once more. If that fails too, the leg is given up (kvp_leg_fail()).
 *
 * Staggered: each run goes first to one leg of its vdev, the next run to another leg. When these
 * writes are durable, the runs go to the other legs. So if the power goes, and sectors that are
 * being written are lost, one leg has all old contents or all new contents. If the staggered batch
 * before this one wrote to the same blocks, the legs are flushed first.
 *
 * Return: 0; -EIO: the last leg failed; -ENOMEM: staggered, and a leg was lost since @losses was
 * noted, so perhaps no other leg has the blocks. Then some legs may have some of it, and it must be
 * written again. Context: process, waits for I/O.
 */
int __must_check kvp_batch_write(struct kvp_batch *b);

/**
 * kvp_batch_begin() - begin what kvp_batch_write() does, but not staggered
 *
 * The caller must call kvp_batch_end(). Until then the requests use the batch and its pages.
 * Context: process; does not wait for I/O, but perhaps for memory, as kvp_io_submit().
 */
void kvp_batch_begin(struct kvp_batch *b);

/**
 * kvp_batch_end() - wait, and do the rest of kvp_batch_write(); returns the same
 *
 * Context: process, waits for I/O.
 */
int __must_check kvp_batch_end(struct kvp_batch *b);

#endif /* KVP_BATCH_H */
