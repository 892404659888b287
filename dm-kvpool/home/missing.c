// SPDX-License-Identifier: GPL-2.0-only
/*
 * A block of a leg that is out is the XOR of the other blocks in its row. A stream asks for the
 * blocks of a chunk together. Their rows lie side by side on every leg, so there is one request for
 * each leg.
 *
 * This works only if nothing else is wrong. Otherwise heal.c reads block by block.
 */
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "core/core.h"
#include "core/vdev_ops.h"
#include "core/xor.h"
#include "format/stripe.h"
#include "home/heal.h"
#include "home/missing.h"
#include "home/row.h"
#include "io/io.h"
#include "ram/wbuf.h"
#include "table/table.h"

/* A read of neighbouring blocks. */
struct missing {
	struct kvp_pool *pool;
	struct kvp_tpage *leaf;
	u64 row;			/* the first of nr rows */
	u32 nr, piece;			/* number of rows; the piece that is missing */
	struct kvp_io_group group;
	struct kvp_io ios[KVP_STRIPE_MAX_LEGS];
	u32 nr_pages;
	struct page *pages[];		/* pieces of number i begin at pages[i * nr] */
};

static void free_missing(struct missing *m)
{
	u32 i;

	for (i = 0; i < m->nr_pages && m->pages[i]; i++)
		__free_page(m->pages[i]);
	kvfree(m);
}

/* Allocate only memory that is easy to get: heal.c can read the blocks as well. */
static struct missing *alloc_missing(struct kvp_pool *pool, const struct kvp_spot *at, u32 nr)
{
	gfp_t gfp = GFP_NOIO | __GFP_NORETRY | __GFP_NOWARN;
	u32 pages = at->v->nr_legs * nr, i;
	struct missing *m = kzalloc(sizeof(*m) + pages * sizeof(m->pages[0]), gfp);

	if (!m)
		return NULL;
	m->pool = pool;
	m->nr = nr;
	m->nr_pages = pages;
	m->row = kvp_row_of(at->v->g, at->block);
	m->piece = kvp_piece_of(at->v->g, at->block);
	for (i = 0; i < pages; i++) {
		m->pages[i] = alloc_page(gfp);
		if (!m->pages[i]) {
			free_missing(m);
			return NULL;
		}
	}
	return m;
}

/* Read all pieces but the missing one, from all legs at once. */
static int read_others(struct missing *m)
{
	const struct kvp_vdev *v = m->leaf->v;
	int error = 0;
	u32 i;

	kvp_io_group_init(&m->group);
	for (i = 0; i < v->nr_legs; i++) {
		struct kvp_place at = kvp_row_place(v->g, m->row, i);

		if (i == m->piece)
			continue;
		if (!kvp_leg_in_sync(&v->legs[at.leg])) {
			error = -ENXIO;
			continue;
		}
		m->ios[i].leg = &v->legs[at.leg];
		m->ios[i].op = KVP_IO_READ;
		m->ios[i].block = at.block;
		m->ios[i].nr = m->nr;
		m->ios[i].pages = &m->pages[i * m->nr];
		kvp_io_group_submit(&m->group, &m->ios[i]);
	}
	kvp_io_group_wait(&m->group);
	for (i = 0; i < v->nr_legs; i++)
		error = error ?: m->ios[i].error;
	return error;
}

/* Make the missing piece of row @k from all others, after verifying them (R8). */
static bool rebuild_row(struct missing *m, u32 k)
{
	struct page *sum = m->pages[m->piece * m->nr + k];
	u64 row = m->row + k, entry;
	u32 i;

	clear_page(page_address(sum));
	for (i = 0; i < m->leaf->v->nr_legs; i++) {
		struct page *page = m->pages[i * m->nr + k];

		entry = kvp_row_entry(m->leaf, row, i);
		if (i == m->piece || kvp_entry_state(entry) == KVP_ENTRY_UNWRITTEN)
			continue;
		if (kvp_entry_state(entry) == KVP_ENTRY_POISONED && i)
			continue;
		if (kvp_entry_state(entry) != KVP_ENTRY_VALID ||
		    kvp_row_sum(m->leaf, row, i, page) != kvp_entry_crc(entry))
			return false;
		kvp_xor(sum, page);
	}
	entry = kvp_row_entry(m->leaf, row, m->piece);
	return kvp_entry_state(entry) == KVP_ENTRY_UNWRITTEN ||
	       (kvp_entry_state(entry) == KVP_ENTRY_VALID &&
		kvp_row_sum(m->leaf, row, m->piece, sum) == kvp_entry_crc(entry));
}

static int rebuild_rows(struct missing *m)
{
	int error = read_others(m);
	u32 k;

	for (k = 0; !error && k < m->nr; k++)
		if (!rebuild_row(m, k))
			error = -EILSEQ;
	return error;
}

/*
 * Under the stripe's lock, home and table agree. Blocks of which the buffer has versions are not
 * read here.
 */
static int read_locked(struct missing *m, kvp_block_t block)
{
	int error;

	if (kvp_wbuf_any(m->pool->wbuf, block, m->nr))
		return -EAGAIN;
	m->leaf = kvp_table_load(m->pool->table, block);
	if (IS_ERR(m->leaf))
		return PTR_ERR(m->leaf);
	error = rebuild_rows(m);
	kvp_table_put(m->leaf);
	return error;
}

const struct kvp_leg *kvp_block_leg(struct kvp_pool *pool, kvp_block_t block)
{
	struct kvp_spot at = kvp_locate(pool, block);

	return at.v->ops->only_leg(at.v, at.block);
}

bool kvp_block_missing(struct kvp_pool *pool, kvp_block_t block)
{
	const struct kvp_leg *leg = kvp_block_leg(pool, block);

	return leg && !kvp_leg_in_sync(leg);
}

int kvp_missing_read(struct kvp_pool *pool, kvp_block_t block, u32 nr,
		     void (*give)(void *to, struct page *page), void *to)
{
	struct kvp_spot at = kvp_locate(pool, block);
	struct missing *m = alloc_missing(pool, &at, nr);
	struct kvp_range range;
	int error;
	u32 k;

	if (!m)
		return -ENOMEM;
	kvp_block_lock(pool, &range, block);
	error = read_locked(m, block);
	kvp_range_unlock(&pool->ranges, &range);
	/* The missing piece is zeros if it is unwritten. */
	for (k = 0; !error && k < nr; k++)
		give(to, m->pages[m->piece * nr + k]);
	free_missing(m);
	return error;
}
