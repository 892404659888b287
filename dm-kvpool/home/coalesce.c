// SPDX-License-Identifier: GPL-2.0-only
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "core/core.h"
#include "core/vdev_ops.h"
#include "home/coalesce.h"
#include "io/batch.h"
#include "io/io.h"
#include "io/mirror.h"
#include "ram/wbuf.h"
#include "table/table.h"

#define STRETCHES	8u	/* stretches at a time */
#define MAX_GAP		32u	/* the longest gap between two blocks that go home, in blocks */
/* runs of a stretch, at least: on one leg, two requests and half of a read cost less than three */
#define MIN_RUNS	3u
/* order of a piece of pages side by side in memory, so that a request has few segments */
#define ORDER		4u
#define CHUNK		(1u << ORDER)
#define CHUNKS		(KVP_STRETCH_BLOCKS / CHUNK)

/**
 * struct stretch - blocks that are written as one request
 * @leaf: the leaf with their entries
 * @first: the first block, as the pool counts
 * @home: home of @first, on each leg
 * @nr: number of blocks
 * @io: the request that reads them; leg NULL: no leg can be read
 * @pages: as many as a stretch can have blocks; NULL: not yet allocated
 */
struct stretch {
	struct kvp_tpage *leaf;
	kvp_block_t first;
	kvp_lblock_t home;
	u32 nr;
	struct kvp_io io;
	struct page *pages[KVP_STRETCH_BLOCKS];
};

/**
 * struct kvp_coalesce - stretches that go home
 * @pool: their pool
 * @nr: stretches that were begun
 * @added: number of those that were added to a batch
 * @losses: count of losses of legs, noted before the test whether the vdev of the first stretch has
 *	two legs
 * @group: reads of the stretches
 * @stretches: the first @nr are in use
 */
struct kvp_coalesce {
	struct kvp_pool *pool;
	u32 nr, added;
	int losses;
	struct kvp_io_group group;
	struct stretch stretches[STRETCHES];
};

struct kvp_coalesce *kvp_coalesce_alloc(struct kvp_pool *pool)
{
	struct kvp_coalesce *b = kvzalloc(sizeof(*b), GFP_KERNEL);

	if (b)
		b->pool = pool;
	return b;
}

void kvp_coalesce_free(struct kvp_coalesce *b)
{
	u32 i, k;

	for (i = 0; b && i < STRETCHES; i++)
		for (k = 0; k < KVP_STRETCH_BLOCKS; k += CHUNK)
			if (b->stretches[i].pages[k])
				__free_pages(b->stretches[i].pages[k], ORDER);
	kvfree(b);
}

/*
 * Allocate the pages of a stretch. They stay once they are allocated: such disks need them again.
 */
static bool have_pages(struct stretch *s)
{
	gfp_t gfp = GFP_NOIO | __GFP_COMP | __GFP_NORETRY | __GFP_NOWARN;
	u32 i, k;

	for (i = 0; i < KVP_STRETCH_BLOCKS; i += CHUNK) {
		struct page *page = s->pages[i] ?: alloc_pages(gfp, ORDER);

		if (!page)
			return false;
		for (k = 0; k < CHUNK; k++)
			s->pages[i + k] = virt_to_page(page_address(page) + k * KVP_BLOCK_SIZE);
	}
	return true;
}

/*
 * Gaps are written to mirrors of disks that seek. While one leg is written, another must have the
 * same blocks.
 */
u32 kvp_coalesce_gap(const struct kvp_vdev *v)
{
	u32 i;

	for (i = 0; i < v->nr_legs; i++)
		if (!v->legs[i].rotational)
			return 0;
	return kvp_vdev_usable(v) > 1 ? MAX_GAP : 0;
}

kvp_block_t kvp_coalesce_last(struct kvp_coalesce *b, const struct list_head *versions,
			      const struct kvp_version *d, struct kvp_spot at)
{
	kvp_block_t first = d->block, last = first;
	u32 runs = 1, gap;

	if (!b->nr)
		b->losses = atomic_read_acquire(&b->pool->losses.seen);
	gap = at.v->ops->gap(at.v);
	if (!gap)
		return kvp_block(0);
	list_for_each_entry_from(d, versions, list) {
		kvp_block_t behind = kvp_block_add(last, 1);

		if (kvp_block_since(d->block, first) >= min(at.left, KVP_STRETCH_BLOCKS) ||
		    kvp_block_before(kvp_block_add(behind, gap), d->block))
			break;
		runs += kvp_block_before(behind, d->block);
		last = d->block;
	}
	return runs >= MIN_RUNS && have_pages(&b->stretches[b->nr]) ? last : kvp_block(0);
}

void kvp_coalesce_read(struct kvp_coalesce *b, struct kvp_tpage *leaf, kvp_block_t first,
		       kvp_block_t last)
{
	struct stretch *s = &b->stretches[b->nr];

	if (!b->nr++)
		kvp_io_group_init(&b->group);
	s->leaf = leaf;
	s->first = first;
	s->home = kvp_home_block(b->pool, first);
	s->nr = kvp_block_since(last, first) + 1;
	memset(&s->io, 0, sizeof(s->io));
	s->io.leg = kvp_leg_choose_copy(leaf->v, s->home, s->nr);
	if (!s->io.leg)
		return;
	s->io.chosen = true;
	s->io.op = KVP_IO_READ;
	s->io.block = s->home;
	s->io.nr = s->nr;
	s->io.pages = s->pages;
	kvp_io_group_submit(&b->group, &s->io);
}

bool kvp_coalesce_is_full(const struct kvp_coalesce *b)
{
	return b->nr == STRETCHES;
}

bool kvp_coalesce_wait(struct kvp_coalesce *b)
{
	if (!b->nr)
		return false;
	kvp_io_group_wait(&b->group);
	return true;
}

/*
 * True if block @i of the stretch has the table's sum. If it does not, a read or a scrub finds out
 * why.
 */
static bool is_sound(const struct kvp_coalesce *b, const struct stretch *s, u32 i)
{
	u64 entry = kvp_table_entry(s->leaf, kvp_block_add(s->first, i));

	return s->io.leg && !s->io.error && kvp_entry_state(entry) == KVP_ENTRY_VALID &&
	       kvp_block_sum(b->pool->seed, kvp_block_add(s->first, i),
			     page_address(s->pages[i])) == kvp_entry_crc(entry);
}

/*
 * Add the blocks from the @i-th on before the @end-th. They lie between two blocks that go home.
 * Either all are added, or none: pieces of a gap would make more requests, not fewer, and more than
 * the batch may have room for.
 */
static bool add_gap(struct kvp_coalesce *b, struct stretch *s, u32 i, u32 end,
		    struct kvp_batch *batch)
{
	u32 k;

	for (k = i; k < end; k++)
		if (!is_sound(b, s, k))
			return true;
	for (k = i; k < end; k++)
		if (!kvp_batch_add(batch, s->leaf->v, kvp_lblock_add(s->home, k), s->pages[k]))
			return false;
	return true;
}

bool kvp_coalesce_add(struct kvp_coalesce *b, const struct list_head *versions,
		      struct kvp_batch *batch)
{
	struct stretch *s = &b->stretches[b->added++];
	const struct kvp_version *d;
	u32 i, behind = 0;	/* index behind the last block that was added; 0: none was */

	batch->losses = b->losses;
	list_for_each_entry(d, versions, list) {
		i = kvp_block_since(d->block, s->first);
		if (behind && !add_gap(b, s, behind, i, batch))
			return false;
		/*
		 * Pages of the stretch lie side by side in memory. So copy the version there, and
		 * write from there.
		 */
		memcpy(page_address(s->pages[i]), page_address(d->page), KVP_BLOCK_SIZE);
		if (!kvp_batch_add(batch, s->leaf->v, kvp_lblock_add(s->home, i), s->pages[i]))
			return false;
		behind = i + 1;
	}
	return true;
}

void kvp_coalesce_reset(struct kvp_coalesce *b)
{
	b->nr = 0;
	b->added = 0;
}
