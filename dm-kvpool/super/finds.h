/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What was found bad, and healed or lost, as events.
 *
 * A disk that rots has thousands of bad blocks, the ring of events has 1024
 * lines, and the line that says how it began must not be pushed out by them.
 * So the first find of a kind is an event at once. Those of the same kind that
 * follow within a second are one more event together, which says how many there
 * were and between which places; then those of the next two seconds, of the next
 * four, and so on up to ten minutes. Once nothing was found for such a time it
 * begins anew. What is pending when the power goes is not in the ring: counters
 * and the table have it.
 */
#ifndef KVP_FINDS_H
#define KVP_FINDS_H

#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "super/events.h"

struct kvp_leg;
struct kvp_pool;
/*
 * A page of the table that was found lost: no leg in use has it. @blocks of the vdev are below it, 0 as long as there
 * is none. They lie from @first to @last of the pool, where other vdevs have their turns, too.
 */
struct kvp_table_lost {
	u32 vdev, level;
	u64 index, first, last, blocks;
};

enum kvp_find {
	KVP_FIND_HEALED,		/* a block of a leg */
	KVP_FIND_HEALED_ROW,		/* parity on a leg */
	KVP_FIND_HEALED_PAGE,		/* of the table, on a leg */
	KVP_FIND_LOST,			/* a block that no leg has */
	KVP_FIND_LOST_PAGE,		/* of the table, of a vdev */
};

#define KVP_FIND_RUNS	32		/* of different kinds or legs at once */

/* Finds of one kind on one leg since the last event of them; of lost pages, of one vdev. */
struct kvp_find_run {
	bool used;
	u8 kind, level;			/* level: of a table page */
	u32 leg;			/* or vdev */
	u32 interval_ms;		/* until the next event */
	u64 due;			/* jiffies */
	u64 first, last, count;		/* count 0: none is pending */
	u64 block, blocks;		/* below the page @first, if that is lost */
	char name[KVP_LEG_WORDS];	/* as the leg was called when it began: it may leave */
};

struct kvp_finds {
	struct kvp_pool *pool;
	spinlock_t lock;		/* irqsave; outside that of events */
	struct kvp_find_run runs[KVP_FIND_RUNS];
	struct delayed_work work;
};

void kvp_finds_init(struct kvp_pool *pool);

/**
 * kvp_found() - note that something was found bad
 * @leg: that had it; NULL where no leg is good
 * @level: of a table page, else 0
 * @at: block of the pool, row, or index of the page
 *
 * Context: any.
 */
void kvp_found(struct kvp_pool *pool, enum kvp_find kind, struct kvp_leg *leg, u32 level, u64 at);

/** kvp_found_lost() - the same of a page of the table that no leg has. Context: any. */
void kvp_found_lost(struct kvp_pool *pool, const struct kvp_table_lost *page);

/** kvp_finds_settle() - pending finds become events now. Context: any. */
void kvp_finds_settle(struct kvp_pool *pool);

/** kvp_finds_stop() - the same, and no work is left behind. Context: process. */
void kvp_finds_stop(struct kvp_pool *pool);

#endif /* KVP_FINDS_H */
