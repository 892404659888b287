/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes of many blocks to legs in use, each to all legs of a vdev or to one. Adjacent blocks
 * become one request a leg, all requests are in flight together, and legs that fail are dealt with
 * in one place.
 */
#ifndef KVP_BATCH_H
#define KVP_BATCH_H

#include "format/format.h"
#include "io/io.h"

struct kvp_leg;
struct kvp_pool;
struct kvp_vdev;

#define KVP_BATCH_PAGES		4352	/* 17 MiB: all intents of an entry, and two more runs */
#define KVP_BATCH_RUNS		512
#define KVP_BATCH_RUN_PAGES	256

struct kvp_batch {
	struct kvp_pool *pool;
	struct kvp_io_group group;
	u32 nr_pages, nr_runs, nr_ios;
	bool somewhere;	/* some run is for one leg, or some leg has it already */
	/* first to one leg of a vdev, flushed, then to the others; reset when written */
	bool in_turns;
	int losses;	/* in turns: losses of legs, counted when there was another one for each */
	u64 unflushed_first, unflushed_end;	/* on the legs: place of the last batch in turns */
	struct page *pages[KVP_BATCH_PAGES], *gathered[KVP_BATCH_PAGES];
	struct kvp_batch_run {
		const struct kvp_vdev *v;
		struct kvp_leg *leg;	/* NULL: every leg of the vdev */
		struct kvp_leg *led;	/* in turns: the leg that has it already, or NULL */
		kvp_lblock_t block;	/* on the leg */
		u32 first, nr;		/* of pages[] */
	} runs[KVP_BATCH_RUNS];
	struct kvp_io *ios;		/* runs times legs of a vdev */
};

/** kvp_batch_alloc() - memory for a batch; NULL if there is none. Context: process. */
struct kvp_batch * __must_check kvp_batch_alloc(struct kvp_pool *pool);
void kvp_batch_free(struct kvp_batch *b);

/** kvp_batch_add() - add @page for @block of every leg of @v; false when the batch is full */
bool __must_check kvp_batch_add(struct kvp_batch *b, const struct kvp_vdev *v, kvp_lblock_t block,
				struct page *page);

/** kvp_batch_add_at() - add @page for one place of @v; if its leg is out it is not written */
bool __must_check kvp_batch_add_at(struct kvp_batch *b, const struct kvp_vdev *v,
				   struct kvp_place at, struct page *page);

/** kvp_batch_add_shadow() - add @page for one place of the shadow, which is there, and of no leg */
bool __must_check kvp_batch_add_shadow(struct kvp_batch *b, kvp_lblock_t block,
				       struct page *page);

/** kvp_batch_reset() - forget all added runs */
void kvp_batch_reset(struct kvp_batch *b);

/**
 * kvp_batch_write() - write what was added to legs in use, and empty the batch
 *
 * A leg that fails a write gets it once more; if that fails too it is given up (kvp_leg_fail()). In
 * turns, each run goes to one leg of its vdev first, another one for the next run, and to the
 * others when that is durable. So whatever happens to sectors that are being written when the power
 * goes, one leg has the old contents, or all of the new ones. If the batch in turns before it wrote
 * to the same place, the other legs are flushed first.
 *
 * Return: 0; -EIO when the last leg failed; -ENOMEM: in turns, and a leg was lost since @losses was
 * noted, so perhaps there is no other. Some legs may have some of it, and it must be written again.
 * Context: process, waits for I/O.
 */
int __must_check kvp_batch_write(struct kvp_batch *b);

/**
 * kvp_batch_begin() - begin what kvp_batch_write() does, but not in turns
 *
 * kvp_batch_end() must follow. Until then the batch and its pages belong to the requests. Context:
 * process; does not wait for I/O, but perhaps for memory as kvp_io_submit().
 */
void kvp_batch_begin(struct kvp_batch *b);

/** kvp_batch_end() - the rest of kvp_batch_write(): waits, and returns the same */
int __must_check kvp_batch_end(struct kvp_batch *b);

#endif /* KVP_BATCH_H */
