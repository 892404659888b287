/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bad places that were found, and healed or lost, as events.
 *
 * A disk that rots has thousands of bad blocks. The ring of events has 1024 lines, and must keep
 * the line that tells how it began. So the first find of a kind is an event at once. All finds of
 * the same kind within the next second make one more event, with their number and range. Then those
 * of the next two seconds make one, those of the next four, and so on up to ten minutes. After an
 * interval without a find, all begins anew. Finds that are pending when the power goes do not reach
 * the ring: the counters and the table have them.
 */
#ifndef KVP_FINDS_H
#define KVP_FINDS_H

#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "format/format.h"
#include "super/events.h"

struct kvp_leg;
struct kvp_pool;
/*
 * A page of the table that is lost or silent. @blocks: how many blocks of the vdev are below it; 0:
 * no page. They lie from @first to @last of the pool, among those of other vdevs.
 */
struct kvp_table_part {
	u32 vdev, level;
	u64 index, blocks;
	kvp_block_t first, last;
};

enum kvp_find {
	KVP_FIND_HEALED,		/* a block of a leg */
	KVP_FIND_HEALED_ROW,		/* parity on a leg */
	KVP_FIND_HEALED_PAGE,		/* a table page on a leg */
	KVP_FIND_LOST,			/* a block that no leg has */
	KVP_FIND_LOST_PAGE,		/* a table page of a vdev that no leg has */
	KVP_FIND_SILENT_PAGE,		/* one that a leg may have, and that none gives (R27) */
};

#define KVP_FIND_RUNS	32		/* of different kinds or legs at a time */

/* Finds of a kind since their last event: on one leg; of lost and silent pages on one vdev. */
struct kvp_find_run {
	bool used;
	u8 kind, level;			/* level: of a table page */
	u32 leg;			/* number of the leg, or of the vdev */
	u32 interval_ms;		/* until the next event */
	u64 due;			/* jiffies: time of the next event */
	u64 first, last, count;		/* count 0: none is pending */
	/* the first block below page @first, if that page is lost or silent */
	kvp_block_t block;
	u64 blocks;			/* how many blocks are below that page */
	/* the leg's name when the run began, since the leg may leave */
	char name[KVP_LEG_WORDS];
};

struct kvp_finds {
	struct kvp_pool *pool;
	spinlock_t lock;		/* irqsave; taken before the lock of events */
	struct kvp_find_run runs[KVP_FIND_RUNS];
	struct delayed_work work;
};

/** kvp_finds_init() - begin without runs, before anything is found. Context: process. */
void kvp_finds_init(struct kvp_pool *pool);

/**
 * kvp_found() - note a bad place
 * @leg: the leg that had it; NULL if no leg is good
 * @level: of a table page, else 0
 * @at: block of the pool, row, or index of the page
 *
 * Context: any.
 */
void kvp_found(struct kvp_pool *pool, enum kvp_find kind, struct kvp_leg *leg, u32 level, u64 at);

/** kvp_found_block() - kvp_found() of a block of the pool */
static inline void kvp_found_block(struct kvp_pool *pool, enum kvp_find kind, struct kvp_leg *leg,
				   kvp_block_t block)
{
	kvp_found(pool, kind, leg, 0, kvp_block_nr(block));
}

/**
 * kvp_found_part() - the same for a page of the table that no leg gives
 * @kind: KVP_FIND_LOST_PAGE or KVP_FIND_SILENT_PAGE
 *
 * Context: any.
 */
void kvp_found_part(struct kvp_pool *pool, enum kvp_find kind, const struct kvp_table_part *page);

/** kvp_finds_report() - make events of pending finds now. Context: any. */
void kvp_finds_report(struct kvp_pool *pool);

/** kvp_finds_stop() - the same, and leave no work queued. Context: process. */
void kvp_finds_stop(struct kvp_pool *pool);

#endif /* KVP_FINDS_H */
