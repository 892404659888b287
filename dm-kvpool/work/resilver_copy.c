// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a resilver copies (R8, R18): only versions that verify, under the range lock of their
 * blocks, so that no newer version can go home meanwhile. A home write goes to the leg by itself.
 */
#include <linux/gfp.h>
#include <linux/mm.h>

#include "core/vdev_ops.h"
#include "core/xor.h"
#include "home/heal.h"
#include "home/row.h"
#include "io/mirror.h"
#include "super/members.h"
#include "table/table.h"
#include "work/resilver_copy.h"

#define STEP_BLOCKS	256u	/* of each leg, under one range lock: 1 MiB */
#define GAP_BLOCKS	16u	/* to read 64 KiB along is cheaper than another request */

/* --- memory ------------------------------------------------------------------------- */

void kvp_resilver_free(struct kvp_resilver_io *io)
{
	u32 i;

	if (!io)
		return;
	for (i = 0; i < KVP_RESILVER_PAGES; i++)
		if (io->pages[i])
			__free_page(io->pages[i]);
	if (io->spare)
		__free_page(io->spare);
	kvp_batch_free(io->batch);
	kvfree(io);
}

struct kvp_resilver_io *kvp_resilver_alloc(struct kvp_pool *pool)
{
	struct kvp_resilver_io *io = kvzalloc(sizeof(*io), GFP_KERNEL);
	bool good;
	u32 i;

	if (!io)
		return NULL;
	io->batch = kvp_batch_alloc(pool);
	io->spare = alloc_page(GFP_KERNEL);
	good = io->batch && io->spare;
	for (i = 0; good && i < KVP_RESILVER_PAGES; i++) {
		io->pages[i] = alloc_page(GFP_KERNEL);
		good = io->pages[i];
	}
	if (good)
		return io;
	kvp_resilver_free(io);
	return NULL;
}

u32 kvp_resilver_step(const struct kvp_spot *at)
{
	u32 unit = kvp_unit_blocks(at->v->g), most = KVP_RESILVER_PAGES;
	u32 on_leg = kvp_unit_on_leg(at->v->g), step;

	if (unit > 1)
		most /= at->v->nr_legs;
	step = max(1u, min(STEP_BLOCKS, most) / on_leg) * unit;
	if (at->block % unit)
		step = unit;
	return min_t(u64, step - at->block % step, at->left);
}

/* --- blocks of a mirror --------------------------------------------------------------- */

/* True if the legs of the step miss what @entry names. */
static bool missed(const struct kvp_resilver_io *io, u64 entry)
{
	return kvp_entry_state(entry) == KVP_ENTRY_VALID && kvp_entry_era(entry) >= io->since;
}

/* Write what was added. A leg that fails it is given up, so an error concerns legs in sync. */
static bool write_batch(struct kvp_resilver_io *io)
{
	u32 blocks = io->batch->nr_pages;

	if (kvp_batch_write(io->batch))
		return false;
	io->copied += blocks;
	return true;
}

/* Read @nr blocks of @leg into @pages, without waiting. */
static void read_leg(struct kvp_resilver_io *io, u32 i, struct kvp_leg *leg, u64 block, u32 nr,
		     struct page **pages)
{
	struct kvp_io *r = &io->ios[i];

	memset(r, 0, sizeof(*r));
	r->leg = leg;
	r->op = KVP_IO_READ;
	r->background = true;
	r->block = block;
	r->nr = nr;
	r->pages = pages;
	kvp_io_group_submit(&io->group, r);
}

/*
 * The next run of blocks to read, from @from on, of the @n blocks from @block on: it begins and
 * ends with a block that changed. Short gaps are read along, and with @rest all that is left. False:
 * there is none.
 */
static bool next_run(struct kvp_pool *pool, const struct kvp_resilver_io *io, struct kvp_tpage *leaf,
		     u64 block, u32 n, bool rest, u32 *from, u32 *end)
{
	u32 i;

	*end = 0;
	for (i = *from; i < n && (rest || !*end || i - *end <= GAP_BLOCKS); i++) {
		if (!missed(io, kvp_table_entry(pool, leaf, block + i)))
			continue;
		if (!*end)
			*from = i;
		*end = i + 1;
	}
	return *end;
}

/* Read what changed of @n blocks; block i goes to page i. False: some cannot be read. */
static bool read_changed(struct kvp_pool *pool, struct kvp_resilver_io *io, struct kvp_tpage *leaf,
			 u64 block, u32 n)
{
	u64 home = kvp_home_block(pool, block);
	struct kvp_leg *leg = kvp_leg_best_copy(leaf->v, home);
	u32 from = 0, end, nr = 0, last = ARRAY_SIZE(io->ios) - 1;
	bool good = leg;

	kvp_io_group_init(&io->group);
	while (leg && nr <= last && next_run(pool, io, leaf, block, n, nr == last, &from, &end)) {
		read_leg(io, nr++, leg, home + from, end - from, &io->pages[from]);
		from = end;
	}
	kvp_io_group_wait(&io->group);
	while (nr)
		good &= !io->ios[--nr].error;
	return good;
}

bool kvp_resilver_copies(struct kvp_pool *pool, struct kvp_resilver_io *io, struct kvp_tpage *leaf,
			 u64 block, u32 n)
{
	const struct kvp_vdev *v = leaf->v;
	u64 home = kvp_home_block(pool, block);
	u32 i, k;

	if (!read_changed(pool, io, leaf, block, n))
		return false;
	kvp_batch_reset(io->batch);
	for (k = 0; k < v->nr_legs; k++) {
		if (!(io->legs >> k & 1))
			continue;
		for (i = 0; i < n; i++) {
			u64 entry = kvp_table_entry(pool, leaf, block + i);
			struct kvp_place at = { k, home + i };

			if (!missed(io, entry))
				continue;
			if (kvp_block_sum(pool->seed, block + i, page_address(io->pages[i])) !=
			    kvp_entry_crc(entry) || !kvp_batch_add_at(io->batch, v, at, io->pages[i]))
				return false;
		}
	}
	return write_batch(io);
}

/* --- rows of a parity1 ------------------------------------------------------------------ */

/*
 * Row @k of @rows: make @piece, whose leg misses it, in its own page, from the other pieces. False
 * if that cannot be done without reading them again.
 */
static bool rebuild_piece(struct kvp_pool *pool, struct kvp_resilver_io *io,
			  const struct kvp_tpage *leaf, u64 row, u32 piece, u32 rows, u32 k)
{
	const struct kvp_vdev *v = leaf->v;
	struct page *sum = io->pages[kvp_row_place(v->g, row, piece).leg * rows + k];
	u32 i;

	clear_page(page_address(sum));
	for (i = 0; i < v->nr_legs; i++) {
		u64 entry = kvp_row_entry(pool, leaf, row, i);
		u32 leg = kvp_row_place(v->g, row, i).leg;
		struct page *page = io->pages[leg * rows + k];

		if (i == piece || kvp_entry_state(entry) == KVP_ENTRY_UNWRITTEN ||
		    (i && kvp_entry_state(entry) == KVP_ENTRY_POISONED))
			continue;
		if (kvp_entry_state(entry) != KVP_ENTRY_VALID || !io->ios[leg].leg || io->ios[leg].error ||
		    kvp_row_sum(leaf, row, i, page) != kvp_entry_crc(entry))
			return false;
		kvp_xor(sum, page);
	}
	return kvp_row_sum(leaf, row, piece, sum) == kvp_entry_crc(kvp_row_entry(pool, leaf, row, piece));
}

/* Row @k: rebuild what the legs of the step miss, and add it to the batch. */
static bool add_row(struct kvp_pool *pool, struct kvp_resilver_io *io, const struct kvp_tpage *leaf,
		    u64 row, u32 rows, u32 k)
{
	const struct kvp_vdev *v = leaf->v;
	u32 i;

	for (i = 0; i < v->nr_legs; i++) {
		struct kvp_place at = kvp_row_place(v->g, row, i);

		if (!(io->legs >> at.leg & 1) || !missed(io, kvp_row_entry(pool, leaf, row, i)))
			continue;
		if (!rebuild_piece(pool, io, leaf, row, i, rows, k) ||
		    !kvp_batch_add_at(io->batch, v, at, io->pages[at.leg * rows + k]))
			return false;
	}
	return true;
}

/* True if the legs of the step miss a piece of the row. */
static bool row_changed(struct kvp_pool *pool, const struct kvp_resilver_io *io,
			const struct kvp_tpage *leaf, u64 row)
{
	const struct kvp_vdev *v = leaf->v;
	bool changed = false;
	u32 i;

	for (i = 0; i < v->nr_legs; i++)
		if (io->legs >> kvp_row_place(v->g, row, i).leg & 1)
			changed |= missed(io, kvp_row_entry(pool, leaf, row, i));
	return changed;
}

bool kvp_resilver_rows(struct kvp_pool *pool, struct kvp_resilver_io *io, struct kvp_tpage *leaf,
		       u64 block, u32 n)
{
	u64 own = kvp_vdev_block(leaf, block), row = kvp_row_of(leaf->v->g, own);
	u32 stripe = kvp_stripe_blocks(leaf->v->g), rows, first = 0, end, i;
	const struct kvp_vdev *v = leaf->v;

	if (own % stripe || n % stripe)
		return false;
	rows = n / (v->nr_legs - 1);
	while (first < rows && !row_changed(pool, io, leaf, row + first))
		first++;
	for (end = rows; end > first && !row_changed(pool, io, leaf, row + end - 1); end--)
		;
	memset(io->ios, 0, sizeof(io->ios));
	kvp_io_group_init(&io->group);
	for (i = 0; i < v->nr_legs && first < end; i++)
		if (kvp_leg_in_sync(&v->legs[i]))
			read_leg(io, i, &v->legs[i], v->g->data_start + row + first, end - first,
				 &io->pages[i * rows + first]);
	kvp_io_group_wait(&io->group);
	kvp_batch_reset(io->batch);
	for (i = first; i < end; i++)
		if (!add_row(pool, io, leaf, row + i, rows, i))
			return false;
	return write_batch(io);
}

/* --- block by block ---------------------------------------------------------------------- */

/* Write @page, of block @at of @leg, which resilvers. */
static void write_block(struct kvp_resilver_io *io, struct kvp_leg *leg, u64 at, struct page *page)
{
	if (!kvp_leg_resilvers(leg))
		return;
	if (!kvp_io_page(leg, KVP_IO_WRITE, at, page)) {
		io->copied++;
		return;
	}
	atomic64_inc(&leg->err_write);
	kvp_leg_give_up(leg, "a write failed");
}

int kvp_resilver_block(struct kvp_pool *pool, struct kvp_resilver_io *io, struct kvp_tpage *leaf,
		       u64 block)
{
	const struct kvp_vdev *v = leaf->v;
	const struct kvp_leg *only = v->ops->only_leg(v, kvp_vdev_block(leaf, block));
	u64 home = kvp_home_block(pool, block);
	u32 i;
	int ret;

	if (!missed(io, kvp_table_entry(pool, leaf, block)) ||
	    (only && !(io->legs >> (only - v->legs) & 1)))
		return 0;
	ret = kvp_home_read(pool, block, io->pages[0], NULL);
	for (i = 0; !ret && i < v->nr_legs; i++)
		if ((io->legs >> i & 1) && (!only || only == &v->legs[i]))
			write_block(io, &v->legs[i], home, io->pages[0]);
	return ret;
}

/*
 * A piece of the row is lost, so its parity cannot be rebuilt. Reading the pieces poisons that one.
 * Then the parity of all others can be computed, and goes to the leg, too. -EBADMSG: done.
 */
static int renew_row(struct kvp_pool *pool, struct kvp_resilver_io *io, struct kvp_tpage *leaf,
		     u64 row)
{
	u32 i;

	for (i = 1; i < leaf->v->nr_legs; i++) {
		int ret = kvp_home_read(pool, kvp_row_block_at(leaf, row, i), io->pages[0], io->spare);

		if (ret == -ENOMEM || ret == -EIO)
			return ret;
	}
	/* Now all of them can be read. */
	if (kvp_entry_state(kvp_table_parity(pool, leaf, row)) == KVP_ENTRY_VALID)
		return -EAGAIN;
	return kvp_row_scrub_parity(pool, leaf, row, io->pages[0], io->spare) ?: -EBADMSG;
}

int kvp_resilver_parity(struct kvp_pool *pool, struct kvp_resilver_io *io, struct kvp_tpage *leaf,
			u64 block)
{
	const struct kvp_vdev *v = leaf->v;
	u64 own = kvp_vdev_block(leaf, block), row = kvp_row_of(v->g, own);
	struct kvp_place at = kvp_row_place(v->g, row, 0);
	int ret;

	if (kvp_piece_of(v->g, own) != 1 || !(io->legs >> at.leg & 1) ||
	    !missed(io, kvp_table_parity(pool, leaf, row)))
		return 0;
	ret = kvp_row_rebuild(pool, leaf, row, 0, io->pages[0], io->spare);
	if (!ret)
		write_block(io, &v->legs[at.leg], at.block, io->pages[0]);
	return ret == -EBADMSG ? renew_row(pool, io, leaf, row) : ret;
}
