// SPDX-License-Identifier: GPL-2.0-only
#include <linux/gfp.h>
#include <linux/mm.h>

#include "core/core.h"
#include "format/stripe.h"
#include "home/missing.h"
#include "home/pieces.h"
#include "io/io.h"
#include "ram/wbuf.h"
#include "table/table.h"

#define MOST_STRIKES	2u

/* A piece in memory. */
struct piece {
	struct kvp_io_group group;
	struct kvp_io io;
	struct page *pages[KVP_PIECE_BLOCKS];
};

static void free_piece(struct piece *m)
{
	u32 i;

	for (i = 0; i < KVP_PIECE_BLOCKS && m->pages[i]; i++)
		__free_page(m->pages[i]);
	kfree(m);
}

/* Allocate only memory that is easy to get: the blocks can be read one by one as well. */
static struct piece *alloc_piece(u32 nr)
{
	gfp_t gfp = GFP_NOIO | __GFP_NORETRY | __GFP_NOWARN;
	struct piece *m = kzalloc(sizeof(*m), gfp);
	u32 i;

	for (i = 0; m && i < nr; i++) {
		m->pages[i] = alloc_page(gfp);
		if (!m->pages[i]) {
			free_piece(m);
			return NULL;
		}
	}
	return m;
}

static bool gave_up_on(const struct kvp_pieces *p, const struct kvp_leg *leg)
{
	return leg == p->failed && p->strikes >= MOST_STRIKES;
}

/* Choose the leg that failed, or another one that has the piece; NULL: there is none to ask. */
static struct kvp_leg *choose(const struct kvp_pieces *p, struct kvp_vdev *v,
			      const struct kvp_leg *only)
{
	struct kvp_leg *leg, *other = NULL;

	for (leg = v->legs; leg < v->legs + v->nr_legs; leg++) {
		if ((only && leg != only) || !kvp_leg_in_sync(leg) || gave_up_on(p, leg))
			continue;
		if (leg == p->failed)
			return leg;
		other = other ?: leg;
	}
	return other;
}

static bool is_readable(const struct kvp_tpage *leaf, kvp_block_t block, u32 nr)
{
	enum kvp_entry_state state;
	u32 i;

	for (i = 0; i < nr; i++) {
		state = kvp_entry_state(kvp_table_entry(leaf, kvp_block_add(block, i)));
		if (state != KVP_ENTRY_VALID && state != KVP_ENTRY_UNWRITTEN)
			return false;
	}
	return true;
}

/* Verify a piece that was read. Under the range lock, entries of the table do not change. */
static int verify(struct kvp_pool *pool, const struct kvp_tpage *leaf, struct piece *m,
		  kvp_block_t block, u32 nr)
{
	kvp_block_t at;
	void *data;
	u64 entry;
	u32 i;

	for (i = 0; i < nr; i++) {
		at = kvp_block_add(block, i);
		entry = kvp_table_entry(leaf, at);
		data = page_address(m->pages[i]);
		if (kvp_entry_state(entry) == KVP_ENTRY_UNWRITTEN)
			clear_page(data);
		else if (kvp_block_sum(pool->seed, at, data) != kvp_entry_crc(entry))
			return -EILSEQ;
	}
	return 0;
}

static int read_from(struct kvp_pool *pool, struct kvp_pieces *p, struct piece *m,
		     struct kvp_leg *leg, kvp_block_t block, u32 nr)
{
	int error;

	m->io.leg = leg;
	m->io.op = KVP_IO_READ;
	m->io.block = kvp_home_block(pool, block);
	m->io.nr = nr;
	m->io.pages = m->pages;
	kvp_io_group_init(&m->group);
	kvp_io_group_submit(&m->group, &m->io);
	kvp_io_group_wait(&m->group);
	error = m->io.error;
	/* A leg that refuses a read for the moment is not given up on. */
	if (error && !kvp_io_refused(error)) {
		p->strikes = leg == p->failed ? p->strikes + 1 : 1;
		p->failed = leg;
	}
	return error;
}

/*
 * Under the lock, home and table agree. Blocks of which the buffer has versions are not read here.
 */
static int read_locked(struct kvp_pool *pool, struct kvp_pieces *p, struct piece *m,
		       kvp_block_t block, u32 nr)
{
	struct kvp_tpage *leaf;
	struct kvp_leg *leg;
	int error;

	if (kvp_wbuf_any(pool->wbuf, block, nr))
		return -EAGAIN;
	leaf = kvp_table_load(pool->table, block);
	if (IS_ERR(leaf))
		return PTR_ERR(leaf);
	leg = choose(p, leaf->v, kvp_block_leg(pool, block));
	error = !leg || !is_readable(leaf, block, nr) ? -ENODATA :
							      read_from(pool, p, m, leg, block, nr);
	if (!error)
		error = verify(pool, leaf, m, block, nr);
	kvp_table_put(leaf);
	return error;
}

u32 kvp_piece_blocks(struct kvp_pool *pool, kvp_block_t block, u32 count)
{
	struct kvp_spot at = kvp_locate(pool, block);

	return min3(kvp_side_by_side(at.v->g, at.block, count), at.left, KVP_PIECE_BLOCKS);
}

int kvp_piece_read(struct kvp_pool *pool, struct kvp_pieces *p, kvp_block_t block, u32 nr,
		   void (*give)(void *to, struct page *page), void *to)
{
	const struct kvp_leg *only = kvp_block_leg(pool, block);
	struct kvp_range range;
	struct piece *m;
	int error;
	u32 i;

	/* In a parity1, the other legs make the blocks that this one does not give. */
	if (only && gave_up_on(p, only))
		return kvp_missing_read(pool, block, nr, give, to);
	/* This spares the memory. The buffer is asked again under the lock. */
	if (kvp_wbuf_any(pool->wbuf, block, nr))
		return -EAGAIN;
	m = alloc_piece(nr);
	if (!m)
		return -ENOMEM;
	kvp_range_lock(&pool->ranges, &range, block, kvp_block_add(block, nr - 1));
	error = read_locked(pool, p, m, block, nr);
	kvp_range_unlock(&pool->ranges, &range);
	for (i = 0; !error && i < nr; i++)
		give(to, m->pages[i]);
	free_piece(m);
	return error;
}
