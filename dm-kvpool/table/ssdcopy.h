/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Copies of table pages on the SSDs of a cache, so that a disk need not seek for them.
 *
 * Behind its log a cache has a region for them. Each page of a table has one place there, given by
 * its name. Other pages share the place, which holds the last one that was written there. Nothing
 * records which: a page counts if it is the one that the pointer names (R9), by its sum, which
 * covers its name. So copies need not be flushed, made durable or forgotten. After a restart or a
 * crash they are as good as before.
 *
 * Pages that were read from disks are copied there, and pages that a checkpoint has written. Only
 * the pages on the disks count. No request waits for a copy to be written. A checkpoint waits, for
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

#define KVP_SSDCOPIES	64	/* in flight; 256 KiB of pages */

/* A copy that is written to an SSD. Its page is allocated at its first use, and kept. */
struct kvp_ssdcopy {
	struct kvp_ssdcopies *all;
	struct kvp_io io;
	struct page *page;
};

/**
 * struct kvp_ssdcopies - copies of table pages
 * @v: the cache for them; NULL: there is none
 * @copies: KVP_SSDCOPIES of them
 * @lock: irqsave; for @busy, and for the places of busy copies
 * @busy: a bit for each that is in flight, or being filled
 * @wait: for one that is free, or for all
 */
struct kvp_ssdcopies {
	struct kvp_vdev *v;
	struct kvp_ssdcopy *copies;
	spinlock_t lock;
	unsigned long busy[BITS_TO_LONGS(KVP_SSDCOPIES)];
	wait_queue_head_t wait;
};

/** kvp_ssdcopy_init() - begin without copies */
void kvp_ssdcopy_init(struct kvp_pool *pool);

/** kvp_ssdcopy_start() - use the pool's cache, if it has one with room for copies; may sleep */
void kvp_ssdcopy_start(struct kvp_pool *pool);

/**
 * kvp_ssdcopy_renumber() - vdevs have got other numbers; call kvp_ssdcopy_exit() if the cache has
 * left
 */
void kvp_ssdcopy_renumber(struct kvp_pool *pool);

/**
 * kvp_ssdcopy_drain() - wait until no copy is in flight. The table must not be in use. Context:
 * process.
 */
void kvp_ssdcopy_drain(struct kvp_pool *pool);

/** kvp_ssdcopy_exit() - drain, and use copies no more */
void kvp_ssdcopy_exit(struct kvp_pool *pool);

/**
 * kvp_ssdcopy_place() - the block of a leg of cache @v for page (@vdev, @level, @index); 0: none
 */
kvp_lblock_t kvp_ssdcopy_place(const struct kvp_vdev *v, u32 vdev, u32 level, u64 index);

/* kvp_ssdcopy_read() and kvp_ssdcopy_write() of a pool whose cache, @v, has copies. */
int __must_check kvp_ssdcopy_read_from(const struct kvp_vdev *v, struct kvp_tpage *tp);
void kvp_ssdcopy_write_to(const struct kvp_vdev *v, const struct kvp_tpage *tp, struct page *page,
			  bool wait);

/**
 * kvp_ssdcopy_read() - read the place of @tp on an SSD into tp->page
 *
 * The caller verifies whether that is the page that tp->durable names. Return: 0, or -ENOENT:
 * nothing. Context: process, waits for I/O.
 */
static inline int __must_check kvp_ssdcopy_read(struct kvp_pool *pool, struct kvp_tpage *tp)
{
	const struct kvp_vdev *v = READ_ONCE(pool->ssdcopies->v);

	return v ? kvp_ssdcopy_read_from(v, tp) : -ENOENT;
}

/**
 * kvp_ssdcopy_write() - keep a copy of @page, which is @tp on the disks
 * @wait: wait for room; else no copy is kept if there is no room
 */
static inline void kvp_ssdcopy_write(struct kvp_pool *pool, const struct kvp_tpage *tp,
				     struct page *page, bool wait)
{
	const struct kvp_vdev *v = READ_ONCE(pool->ssdcopies->v);

	if (v)
		kvp_ssdcopy_write_to(v, tp, page, wait);
}

#endif /* KVP_TABLE_SSDCOPY_H */
