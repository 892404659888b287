/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Copies of table pages on the SSDs of a cache, so that a disk need not seek for them.
 *
 * Behind its log a cache has a region of them, in which each page of a table has one place, given
 * by its name, which it shares with others; the last one that was written there is what it
 * holds. Nothing says which: a page is believed for being what the pointer to it names
 * (R9), by the sum that its name is part of. So nothing need be flushed, made durable or
 * forgotten; after a restart or a crash what is there is as good as before.
 *
 * Pages that were read from disks are copied there, and pages that a checkpoint has written. Only
 * the pages on the disks count. No request waits for a copy to be written; a checkpoint does, for
 * room, while the log lies on the same SSDs.
 */
#ifndef KVP_TABLE_SSDCOPY_H
#define KVP_TABLE_SSDCOPY_H

#include <linux/spinlock.h>
#include <linux/wait.h>

#include "io/io.h"

struct kvp_pool;
struct kvp_tpage;
struct kvp_vdev;
struct page;

#define KVP_SSDCOPIES	64	/* on their way: 256 KiB of pages */

/* A copy on its way to an SSD; its page is allocated when it is first needed, and kept. */
struct kvp_ssdcopy {
	struct kvp_ssdcopies *all;
	struct kvp_io io;
	struct page *page;
};

/**
 * struct kvp_ssdcopies - copies of table pages
 * @v: the cache that has them; NULL: there is none
 * @copies: KVP_SSDCOPIES of them
 * @lock: irqsave; for @busy, and where those go that are
 * @busy: a bit for each that is on its way, or being filled
 * @wait: for one that is free, or for all
 */
struct kvp_ssdcopies {
	struct kvp_vdev *v;
	struct kvp_ssdcopy *copies;
	spinlock_t lock;
	unsigned long busy[BITS_TO_LONGS(KVP_SSDCOPIES)];
	wait_queue_head_t wait;
};

/** kvp_ssdcopy_init() - there are none yet */
void kvp_ssdcopy_init(struct kvp_pool *pool);

/** kvp_ssdcopy_start() - use those of the pool's cache, if it has one with room for any; may sleep */
void kvp_ssdcopy_start(struct kvp_pool *pool);

/** kvp_ssdcopy_renumber() - vdevs have got other numbers; one that has left is let go of by kvp_ssdcopy_exit() */
void kvp_ssdcopy_renumber(struct kvp_pool *pool);

/**
 * kvp_ssdcopy_drain() - wait until no copy is in flight. The table must not be in use. Context:
 * process.
 */
void kvp_ssdcopy_drain(struct kvp_pool *pool);

/** kvp_ssdcopy_exit() - drain, and use none any more */
void kvp_ssdcopy_exit(struct kvp_pool *pool);

/**
 * kvp_ssdcopy_place() - which block of a leg of @v, a cache, is that of page (@vdev, @level, @index); 0: none
 */
u64 kvp_ssdcopy_place(const struct kvp_vdev *v, u32 vdev, u32 level, u64 index);

/**
 * kvp_ssdcopy_read() - read into tp->page what an SSD has in the place of @tp
 *
 * Whether that is what tp->durable names, the caller verifies. Return: 0, or -ENOENT: nothing. Context:
 * process, waits for I/O.
 */
int __must_check kvp_ssdcopy_read(struct kvp_pool *pool, struct kvp_tpage *tp);

/**
 * kvp_ssdcopy_write() - @page is what @tp says on the disks: keep a copy
 * @wait: until there is room for it; else it is not kept if there is none
 *
 * Context: process.
 */
void kvp_ssdcopy_write(struct kvp_pool *pool, const struct kvp_tpage *tp, struct page *page, bool wait);

#endif /* KVP_TABLE_SSDCOPY_H */
