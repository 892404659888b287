/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Copies of table pages on the SSDs of a cache, so that a disk need not seek for them.
 *
 * A cache has an area for the copies behind its log. Each table page has one place there, which
 * follows from the page's name. Several pages share a place, and the page written last is in it.
 * Nothing records which page that is. The reader checks the sum, which covers the name: a copy
 * counts only if it is the page that the pointer names (R9). So copies need not be flushed, made
 * durable or invalidated. After a restart or a crash they are as good as before.
 *
 * A page is copied when it was read from a disk, and when a checkpoint has written it. Only the
 * pages on the disks count. No request waits until a copy is written. A checkpoint waits for a free
 * copy while the log lies on the same SSDs.
 */
#ifndef KVP_TABLE_SSDCOPY_H
#define KVP_TABLE_SSDCOPY_H

#include <linux/spinlock.h>
#include <linux/wait.h>

#include "io/io.h"

struct kvp_tpage;
struct kvp_vdev;
struct kvp_work_stats;
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
 * @v: the cache that they are on; NULL: there is none
 * @copies: KVP_SSDCOPIES of them
 * @lock: irqsave; for @busy, and for the places of busy copies
 * @busy: a bit for each copy that is in flight, or being filled
 * @wait: woken when a copy becomes free
 * @flags: of enum kvp_pool_flags: a read-only pool writes no copies
 * @stats: counts copies that are written
 */
struct kvp_ssdcopies {
	struct kvp_vdev *v;
	struct kvp_ssdcopy *copies;
	spinlock_t lock;
	unsigned long busy[BITS_TO_LONGS(KVP_SSDCOPIES)];
	wait_queue_head_t wait;
	const unsigned long *flags;
	struct kvp_work_stats *stats;
};

/** kvp_ssdcopy_init() - begin without copies. Context: any. */
void kvp_ssdcopy_init(struct kvp_ssdcopies *all, const unsigned long *flags,
		      struct kvp_work_stats *stats);

/**
 * kvp_ssdcopy_start() - use cache @v, if it has room for copies; NULL: there is no cache
 *
 * Context: process.
 */
void kvp_ssdcopy_start(struct kvp_ssdcopies *all, struct kvp_vdev *v);

/**
 * kvp_ssdcopy_renumber() - the pool's vdevs have new numbers: the cache is @v now, or NULL
 *
 * If the cache has left the pool, call kvp_ssdcopy_exit() instead.
 */
void kvp_ssdcopy_renumber(struct kvp_ssdcopies *all, struct kvp_vdev *v);

/**
 * kvp_ssdcopy_drain() - wait until no copy is in flight. The table must not be in use. Context:
 * process.
 */
void kvp_ssdcopy_drain(struct kvp_ssdcopies *all);

/** kvp_ssdcopy_exit() - drain, and stop using copies. Context: process; waits for I/O. */
void kvp_ssdcopy_exit(struct kvp_ssdcopies *all);

/**
 * kvp_ssdcopy_place() - the place for the copy of page (@vdev, @level, @index)
 *
 * Return: a block of a leg of cache @v; 0: @v has no room for copies. Context: any.
 */
kvp_lblock_t kvp_ssdcopy_place(const struct kvp_vdev *v, u32 vdev, u32 level, u64 index);

/**
 * kvp_ssdcopy_read_from() - kvp_ssdcopy_read() with copies on cache @v
 *
 * kvp_ssdcopy_write_to() - kvp_ssdcopy_write() with copies on cache @v
 *
 * Call the functions below instead: they know the cache. Context: process.
 */
int __must_check kvp_ssdcopy_read_from(const struct kvp_vdev *v, struct kvp_tpage *tp);
void kvp_ssdcopy_write_to(struct kvp_ssdcopies *all, const struct kvp_vdev *v,
			  const struct kvp_tpage *tp, struct page *page, bool wait);

/** kvp_ssdcopy_any() - does a cache keep copies of table pages? Context: any. */
static inline bool kvp_ssdcopy_any(const struct kvp_ssdcopies *all)
{
	return READ_ONCE(all->v);
}

/**
 * kvp_ssdcopy_read() - read the place of @tp on an SSD into tp->page
 *
 * The caller verifies that it is the page that tp->durable names. Return: 0; -ENOENT: there are no
 * copies, or the read failed. Context: process, waits for I/O.
 */
static inline int __must_check kvp_ssdcopy_read(struct kvp_ssdcopies *all, struct kvp_tpage *tp)
{
	const struct kvp_vdev *v = READ_ONCE(all->v);

	return v ? kvp_ssdcopy_read_from(v, tp) : -ENOENT;
}

/**
 * kvp_ssdcopy_write() - write a copy of @page, the contents of @tp on the disks, to an SSD
 * @wait: if the SSDs carry the log, wait for a free copy; else @page is not copied if none is free
 *
 * Context: process; waits for a free copy only with @wait, and not for the write.
 */
static inline void kvp_ssdcopy_write(struct kvp_ssdcopies *all, const struct kvp_tpage *tp,
				     struct page *page, bool wait)
{
	const struct kvp_vdev *v = READ_ONCE(all->v);

	if (v)
		kvp_ssdcopy_write_to(all, v, tp, page, wait);
}

#endif /* KVP_TABLE_SSDCOPY_H */
