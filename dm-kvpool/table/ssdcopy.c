// SPDX-License-Identifier: GPL-2.0-only
#include <linux/mm.h>
#include <linux/slab.h>

#include "core/core.h"
#include "io/io.h"
#include "table/ssdcopy.h"
#include "table/table.h"

/* --- where ------------------------------------------------------------------------- */

kvp_lblock_t kvp_ssdcopy_place(const struct kvp_vdev *v, u32 vdev, u32 level, u64 index)
{
	u64 places = kvp_ssdcopy_blocks(v->g);
	/*
	 * Multiplying by the golden ratio spreads neighbours (Knuth, The Art of Computer
	 * Programming 3, 6.4). The high bits choose the place, since the low ones do not depend on
	 * vdev and level.
	 */
	u64 name = ((u64)vdev << 58 | (u64)level << 56 | index) * 0x9e3779b97f4a7c15ull;

	return kvp_lblock(places ? v->g->table_start + ((name >> 32) * places >> 32) : 0);
}

/*
 * The SSD for a copy at @place: one SSD only, so that two SSDs have twice the room. When an SSD is
 * lost or comes back, another one is chosen for some places. Then the page is not found there, or
 * another page overwrites the place. Returns NULL if too few SSDs are left for a cache.
 */
static struct kvp_leg *leg_of(const struct kvp_vdev *v, kvp_lblock_t place)
{
	u32 i;

	for (i = 0; kvp_vdev_has_log(v) && i < v->nr_legs; i++) {
		struct kvp_leg *leg = &v->legs[(kvp_lblock_nr(place) + i) % v->nr_legs];

		if (kvp_leg_in_sync(leg))
			return leg;
	}
	return NULL;
}

/* --- reading ---------------------------------------------------------------------------- */

int kvp_ssdcopy_read_from(const struct kvp_vdev *v, struct kvp_tpage *tp)
{
	kvp_lblock_t place = kvp_ssdcopy_place(v, tp->v->index, tp->level, tp->index);
	struct kvp_leg *leg = leg_of(v, place);

	if (!leg)
		return -ENOENT;
	if (!kvp_io_page(leg, KVP_IO_READ, place, tp->page))
		return 0;
	atomic64_inc(&leg->err_read);
	return -ENOENT;
}

/* --- writing ---------------------------------------------------------------------------- */

static void put_back(struct kvp_ssdcopy *c)
{
	struct kvp_ssdcopies *all = c->all;
	unsigned long flags;

	/*
	 * Clear the bit under the lock: kvp_ssdcopy_drain() takes it to see that no copy is busy.
	 * So when it returns, this function no longer uses @all.
	 */
	spin_lock_irqsave(&all->lock, flags);
	__clear_bit(c - all->copies, all->busy);
	wake_up_all(&all->wait);
	spin_unlock_irqrestore(&all->lock, flags);
}

static void write_done(struct kvp_io *io)
{
	/*
	 * No more is to be done: a later read finds another page there, or none. The next append to
	 * the log decides whether the SSD is given up.
	 */
	if (io->error)
		kvp_leg_failed_write(io->leg);
	put_back(io->private);
}

/*
 * True if a copy to @place is in flight. There is one at a time for each place: of two writes in
 * flight, either may be the last.
 */
static bool __on_its_way(const struct kvp_ssdcopies *all, const struct kvp_leg *leg,
			 kvp_lblock_t place)
{
	u32 i;

	lockdep_assert_held(&all->lock);
	for (i = 0; i < KVP_SSDCOPIES; i++)
		if (test_bit(i, all->busy) && all->copies[i].io.leg == leg &&
		    all->copies[i].io.block == place)
			return true;
	return false;
}

/*
 * Take a free copy for @place of @leg. Returns NULL if none is free, or the place is being written.
 */
static struct kvp_ssdcopy *take(struct kvp_ssdcopies *all, struct kvp_leg *leg, kvp_lblock_t place)
{
	struct kvp_ssdcopy *c = NULL;
	unsigned long flags;
	u32 i;

	spin_lock_irqsave(&all->lock, flags);
	i = find_first_zero_bit(all->busy, KVP_SSDCOPIES);
	if (i < KVP_SSDCOPIES && !__on_its_way(all, leg, place)) {
		c = &all->copies[i];
		c->io = (struct kvp_io){
			.leg = leg, .op = KVP_IO_WRITE, .block = place, .nr = 1, .pages = &c->page,
			.done = write_done, .private = c,
		};
		__set_bit(i, all->busy);
	}
	spin_unlock_irqrestore(&all->lock, flags);
	if (!c)
		return NULL;
	if (!c->page)
		c->page = alloc_page(GFP_NOWAIT | __GFP_NORETRY | __GFP_NOWARN);
	if (c->page)
		return c;
	put_back(c);
	return NULL;
}

static u32 nr_busy(struct kvp_ssdcopies *all)
{
	unsigned long flags;
	u32 n;

	spin_lock_irqsave(&all->lock, flags);
	n = bitmap_weight(all->busy, KVP_SSDCOPIES);
	spin_unlock_irqrestore(&all->lock, flags);
	return n;
}

void kvp_ssdcopy_write_to(struct kvp_ssdcopies *all, const struct kvp_vdev *v,
			  const struct kvp_tpage *tp, struct page *page, bool wait)
{
	struct kvp_ssdcopy *c;
	struct kvp_leg *leg;
	kvp_lblock_t place;

	if (test_bit(KVP_POOL_READONLY, all->flags))
		return;
	place = kvp_ssdcopy_place(v, tp->v->index, tp->level, tp->index);
	leg = leg_of(v, place);
	if (!leg)
		return;
	if (wait && READ_ONCE(v->all->log_vdev) == v)
		wait_event(all->wait, nr_busy(all) < KVP_SSDCOPIES);
	c = take(all, leg, place);
	if (!c)
		return;
	copy_page(page_address(c->page), page_address(page));
	atomic64_inc(&all->stats->ssd_page_writes);
	kvp_io_submit(&c->io);
}

/* --- life ----------------------------------------------------------------------------------- */

void kvp_ssdcopy_init(struct kvp_ssdcopies *all, const unsigned long *flags,
		      struct kvp_work_stats *stats)
{
	spin_lock_init(&all->lock);
	init_waitqueue_head(&all->wait);
	all->flags = flags;
	all->stats = stats;
}

void kvp_ssdcopy_start(struct kvp_ssdcopies *all, struct kvp_vdev *v)
{
	u32 i;

	if (!v || !kvp_ssdcopy_blocks(v->g) || all->v)
		return;
	all->copies = kvcalloc(KVP_SSDCOPIES, sizeof(*all->copies), GFP_NOIO);
	if (!all->copies)
		return;
	for (i = 0; i < KVP_SSDCOPIES; i++)
		all->copies[i].all = all;
	smp_store_release(&all->v, v);
}

void kvp_ssdcopy_renumber(struct kvp_ssdcopies *all, struct kvp_vdev *v)
{
	if (all->v && v)
		WRITE_ONCE(all->v, v);
}

void kvp_ssdcopy_drain(struct kvp_ssdcopies *all)
{
	wait_event(all->wait, !nr_busy(all));
}

void kvp_ssdcopy_exit(struct kvp_ssdcopies *all)
{
	u32 i;

	if (!all->v)
		return;
	kvp_ssdcopy_drain(all);
	WRITE_ONCE(all->v, NULL);
	for (i = 0; i < KVP_SSDCOPIES; i++)
		if (all->copies[i].page)
			__free_page(all->copies[i].page);
	kvfree(all->copies);
	all->copies = NULL;
}
