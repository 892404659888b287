// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copying for a resilver (R8, R18). Only versions that verify are copied, under the range lock of
 * their blocks, so that no newer version can go home meanwhile. A home write goes to the leg as
 * well.
 *
 * A step is read, verified, and written. Its caller may begin further steps meanwhile.
 */
#include <linux/gfp.h>
#include <linux/ktime.h>
#include <linux/mm.h>

#include "core/vdev_ops.h"
#include "core/xor.h"
#include "home/heal.h"
#include "home/home.h"
#include "home/row.h"
#include "io/mirror.h"
#include "super/members.h"
#include "table/table.h"
#include "work/resilver_copy.h"

#define STEP_BLOCKS	256u	/* on each leg: 1 MiB */
#define GAP_BLOCKS	16u	/* reading 64 KiB along costs less than another request */
/*
 * Pages are allocated in groups of neighbours. A disk takes a limited number of segments: 256
 * single pages would be two requests.
 */
#define CHUNK_ORDER	3u
#define CHUNK		(1u << CHUNK_ORDER)

/* --- memory ------------------------------------------------------------------------- */

static_assert(STEP_BLOCKS % CHUNK == 0 && KVP_RESILVER_PAGES % CHUNK == 0);

static void free_step(struct kvp_resilver_step *step)
{
	u32 i;

	for (i = 0; i < step->nr_pages; i += CHUNK)
		if (step->pages[i])
			__free_pages(step->pages[i], CHUNK_ORDER);
	kvp_batch_free(step->batch);
}

static bool alloc_step(struct kvp_pool *pool, struct kvp_resilver_step *step)
{
	u32 i, k;

	/* Those of a row are read together. */
	step->nr_pages = min(STEP_BLOCKS * max(pool->vdevs.widest_row, 1u), KVP_RESILVER_PAGES);
	step->batch = kvp_batch_alloc(&pool->vdevs);
	for (i = 0; i < step->nr_pages; i += CHUNK) {
		struct page *chunk = alloc_pages(GFP_KERNEL | __GFP_COMP, CHUNK_ORDER);

		if (!chunk)
			return false;
		for (k = 0; k < CHUNK; k++)
			step->pages[i + k] = virt_to_page(page_address(chunk) + k * KVP_BLOCK_SIZE);
	}
	return step->batch;
}

void kvp_resilver_free(struct kvp_resilver_io *io)
{
	u32 i;

	if (!io)
		return;
	for (i = 0; i < KVP_RESILVER_STEPS; i++)
		free_step(&io->steps[i]);
	if (io->page)
		__free_page(io->page);
	if (io->spare)
		__free_page(io->spare);
	kvfree(io);
}

struct kvp_resilver_io *kvp_resilver_alloc(struct kvp_pool *pool)
{
	struct kvp_resilver_io *io = kvzalloc(sizeof(*io), GFP_KERNEL);
	bool good;
	u32 i;

	if (!io)
		return NULL;
	io->page = alloc_page(GFP_KERNEL);
	io->spare = alloc_page(GFP_KERNEL);
	good = io->page && io->spare;
	for (i = 0; good && i < KVP_RESILVER_STEPS; i++)
		good = alloc_step(pool, &io->steps[i]);
	if (good)
		return io;
	kvp_resilver_free(io);
	return NULL;
}

/* --- steps ---------------------------------------------------------------------------- */

/* The number of blocks of a step, before @end; in a parity1 whole stripes, if possible. */
static u32 step_blocks(const struct kvp_resilver_step *step, kvp_vblock_t end)
{
	const struct kvp_geometry *g = step->v->g;
	u64 own = kvp_vblock_nr(step->own);
	u32 unit = kvp_unit_blocks(g), most = step->nr_pages, n;

	if (unit > 1)
		most /= step->v->nr_legs;
	n = max(1u, min(STEP_BLOCKS, most) / kvp_unit_on_leg(g)) * unit;
	if (own % unit)
		n = unit;
	n = min_t(u64, n - own % n, kvp_vblock_nr(end) - own);
	return n > unit ? n - n % unit : n;
}

/*
 * Look up and lock the next part, of at most @left blocks. Without @wait it only tries the lock: a
 * range is held already, or other steps are in flight.
 */
static int add_part(struct kvp_pool *pool, struct kvp_resilver_step *step, u32 left, bool wait)
{
	struct kvp_resilver_part *p = &step->parts[step->nr_parts];
	kvp_block_t block = kvp_pool_block(step->v, kvp_vblock_add(step->own, step->n));
	kvp_block_t last;

	p->block = block;
	p->first = step->n;
	p->n = min(left, kvp_locate(pool, block).left);
	p->leaf = kvp_table_load(pool->table, block);
	if (IS_ERR(p->leaf))
		return PTR_ERR(p->leaf);
	last = kvp_block_add(block, p->n - 1);
	if (wait) {
		kvp_range_lock(&pool->ranges, &p->range, block, last);
	} else if (!kvp_range_trylock(&pool->ranges, &p->range, block, last)) {
		kvp_table_put(p->leaf);
		return -EAGAIN;
	}
	step->nr_parts++;
	step->n += p->n;
	return 0;
}

int kvp_resilver_begin(struct kvp_pool *pool, struct kvp_resilver_step *step, kvp_vblock_t end,
		       bool wait)
{
	u32 n = step_blocks(step, end);
	int ret = 0;

	step->n = 0;
	step->nr_parts = 0;
	step->began = ktime_get_ns();
	while (!ret && step->n < n && step->nr_parts < KVP_RESILVER_PARTS)
		ret = add_part(pool, step, n - step->n, wait && !step->nr_parts);
	if (!step->nr_parts) {
		step->n = step->parts[0].n;
		return ret;
	}
	memset(step->ios, 0, sizeof(step->ios));
	kvp_io_group_init(&step->group);
	step->good = step->v->ops->read_missed(pool, step);
	return 0;
}

void kvp_resilver_write(struct kvp_pool *pool, struct kvp_resilver_step *step)
{
	kvp_io_group_wait(&step->group);
	kvp_batch_reset(step->batch);
	step->good = step->good && step->v->ops->add_missed(pool, step);
	if (step->good)
		kvp_batch_begin(step->batch);
}

int kvp_resilver_end(struct kvp_pool *pool, struct kvp_resilver_step *step)
{
	int blocks = step->batch->nr_pages, ret = -EBADMSG;
	u32 i;

	/*
	 * A leg that resilvers is given up if a write fails, so an error here is of a leg in sync.
	 */
	if (step->good && !kvp_batch_end(step->batch))
		ret = blocks;
	for (i = 0; i < step->nr_parts; i++)
		kvp_range_unlock(&pool->ranges, &step->parts[i].range);
	return ret;
}

void kvp_resilver_cancel(struct kvp_resilver_step *step)
{
	kvp_io_group_wait(&step->group);
	step->good = false;
}

void kvp_resilver_put(struct kvp_resilver_step *step)
{
	while (step->nr_parts)
		kvp_table_put(step->parts[--step->nr_parts].leaf);
}

/* The part that block @i of the step is in. */
static const struct kvp_resilver_part *part_of(const struct kvp_resilver_step *step, u32 i)
{
	const struct kvp_resilver_part *p = step->parts;

	while (i - p->first >= p->n)
		p++;
	return p;
}

/* --- blocks of a mirror --------------------------------------------------------------- */

/*
 * True if @entry names a version that is missed by legs which have all that is older than @since.
 */
static bool missed(u64 entry, u32 since)
{
	return kvp_entry_state(entry) == KVP_ENTRY_VALID && kvp_entry_era(entry) >= since;
}

static u64 entry_of(const struct kvp_resilver_step *step, u32 i)
{
	const struct kvp_resilver_part *p = part_of(step, i);

	return kvp_table_entry(p->leaf, kvp_block_add(p->block, i - p->first));
}

/* Begin to read @nr blocks of @leg into @pages. */
static void read_leg(struct kvp_resilver_step *step, u32 i, struct kvp_leg *leg, kvp_lblock_t block,
		     u32 nr, struct page **pages)
{
	struct kvp_io *r = &step->ios[i];

	r->leg = leg;
	r->op = KVP_IO_READ;
	r->background = true;
	r->block = block;
	r->nr = nr;
	r->pages = pages;
	kvp_io_group_submit(&step->group, r);
}

/*
 * Find the next run of blocks to read, from block @from of the step on. It begins and ends with a
 * changed block. Short gaps are read along; with @rest all gaps are. Returns false if there is
 * none.
 */
static bool next_run(const struct kvp_resilver_step *step, bool rest, u32 *from, u32 *end)
{
	u32 i;

	*end = 0;
	for (i = *from; i < step->n && (rest || !*end || i - *end <= GAP_BLOCKS); i++) {
		if (!missed(entry_of(step, i), step->since))
			continue;
		if (!*end)
			*from = i;
		*end = i + 1;
	}
	return *end;
}

/* Block i of the step is read into page i. */
bool kvp_resilver_read_copies(struct kvp_pool *pool, struct kvp_resilver_step *step)
{
	kvp_lblock_t home = kvp_home_block(pool, step->parts[0].block);
	struct kvp_leg *leg = kvp_leg_best_copy(step->v, home);
	u32 from = 0, end, nr = 0, last = ARRAY_SIZE(step->ios) - 1;

	while (leg && nr <= last && next_run(step, nr == last, &from, &end)) {
		read_leg(step, nr++, leg, kvp_lblock_add(home, from), end - from,
			  &step->pages[from]);
		from = end;
	}
	return leg;
}

/* Add block @i for leg @k to the batch, if it changed. Returns false if it does not verify. */
static bool add_copy(struct kvp_pool *pool, struct kvp_resilver_step *step, u32 i, u32 k)
{
	const struct kvp_resilver_part *p = part_of(step, i);
	kvp_block_t block = kvp_block_add(p->block, i - p->first);
	u64 entry = entry_of(step, i);
	struct page *page = step->pages[i];
	struct kvp_place at = { k, kvp_data_place(step->v->g, kvp_vblock_add(step->own, i)).block };

	if (!missed(entry, step->since))
		return true;
	return kvp_block_sum(pool->seed, block, page_address(page)) == kvp_entry_crc(entry) &&
	       kvp_batch_add_at(step->batch, step->v, at, page);
}

bool kvp_resilver_add_copies(struct kvp_pool *pool, struct kvp_resilver_step *step)
{
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(step->ios); i++)
		if (step->ios[i].error)
			return false;
	for (k = 0; k < step->v->nr_legs; k++)
		for (i = 0; (step->legs >> k & 1) && i < step->n; i++)
			if (!add_copy(pool, step, i, k))
				return false;
	return true;
}

/* --- rows of a parity1 ------------------------------------------------------------------ */

/* The leaf of row @k of a step that has whole stripes. */
static const struct kvp_tpage *leaf_of(const struct kvp_resilver_step *step, u32 k)
{
	const struct kvp_geometry *g = step->v->g;

	return part_of(step, k / kvp_unit_on_leg(g) * kvp_stripe_blocks(g))->leaf;
}

static u32 rows_of(const struct kvp_resilver_step *step)
{
	return step->n / (step->v->nr_legs - 1);
}

/*
 * Make @piece of row @k, which its leg misses, in the page of that piece, from the other pieces.
 * Returns false if a piece would have to be read again.
 */
static bool rebuild_piece(struct kvp_resilver_step *step, u32 k, u32 piece)
{
	const struct kvp_vdev *v = step->v;
	const struct kvp_tpage *leaf = leaf_of(step, k);
	u64 row = kvp_row_of(v->g, step->own) + k;
	u32 rows = rows_of(step), i;
	struct page *sum = step->pages[kvp_row_place(v->g, row, piece).leg * rows + k];

	clear_page(page_address(sum));
	for (i = 0; i < v->nr_legs; i++) {
		u64 entry = kvp_row_entry(leaf, row, i);
		u32 leg = kvp_row_place(v->g, row, i).leg;
		struct page *page = step->pages[leg * rows + k];

		if (i == piece || kvp_entry_state(entry) == KVP_ENTRY_UNWRITTEN ||
		    (i && kvp_entry_state(entry) == KVP_ENTRY_POISONED))
			continue;
		if (kvp_entry_state(entry) != KVP_ENTRY_VALID || !step->ios[leg].leg ||
		    step->ios[leg].error || kvp_row_sum(leaf, row, i, page) != kvp_entry_crc(entry))
			return false;
		kvp_xor(sum, page);
	}
	return kvp_row_sum(leaf, row, piece, sum) ==
	       kvp_entry_crc(kvp_row_entry(leaf, row, piece));
}

/* True if parity that legs of the step should have is unknown, since its leg was out. */
static bool is_unknown(u64 parity, u32 since)
{
	return kvp_entry_state(parity) == KVP_ENTRY_POISONED && kvp_entry_era(parity) >= since;
}

/* True if the step is for the shadow alone (resilver.c): it misses pieces that its leg has. */
static bool is_for_shadow(const struct kvp_vdev *v, u64 legs)
{
	return legs >> v->nr_legs & 1;
}

/* Mask of the legs of the vdev whose pieces are missed. */
static u64 pieces_of(const struct kvp_vdev *v, u64 legs)
{
	return is_for_shadow(v, legs) ? BIT_ULL(v->pool->shadow_of) : legs;
}

/*
 * Add the piece of row @k that the shadow's leg has, for the shadow. Returns false if it does not
 * verify.
 */
static bool add_for_shadow(struct kvp_pool *pool, struct kvp_resilver_step *step, u32 k)
{
	const struct kvp_vdev *v = step->v;
	const struct kvp_tpage *leaf = leaf_of(step, k);
	u64 row = kvp_row_of(v->g, step->own) + k, entry;
	struct kvp_place at;
	struct page *page;
	u32 i = 0;

	while (kvp_row_place(v->g, row, i).leg != pool->shadow_of)
		i++;
	at = kvp_row_place(v->g, row, i);
	entry = kvp_row_entry(leaf, row, i);
	page = step->pages[at.leg * rows_of(step) + k];
	if (!missed(entry, step->since))
		return true;
	return step->ios[at.leg].leg && !step->ios[at.leg].error &&
	       kvp_row_sum(leaf, row, i, page) == kvp_entry_crc(entry) &&
	       kvp_batch_add_shadow(step->batch, at.block, page);
}

/* Rebuild what the legs of the step miss of row @k, and add it to the batch. */
static bool add_row(struct kvp_pool *pool, struct kvp_resilver_step *step, u32 k)
{
	const struct kvp_vdev *v = step->v;
	u64 row = kvp_row_of(v->g, step->own) + k;
	u32 i;

	if (is_for_shadow(v, step->legs))
		return add_for_shadow(pool, step, k);
	for (i = 0; i < v->nr_legs; i++) {
		struct kvp_place at = kvp_row_place(v->g, row, i);

		u64 entry = kvp_row_entry(leaf_of(step, k), row, i);

		if (!(step->legs >> at.leg & 1))
			continue;
		if (!i && is_unknown(entry, step->since))
			return false;
		if (!missed(entry, step->since))
			continue;
		if (!rebuild_piece(step, k, i) ||
		    !kvp_batch_add_at(step->batch, v, at, step->pages[at.leg * rows_of(step) + k]))
			return false;
	}
	return true;
}

/* True if the legs of the step miss a piece of row @k. */
static bool row_changed(const struct kvp_resilver_step *step, u32 k)
{
	const struct kvp_vdev *v = step->v;
	u64 row = kvp_row_of(v->g, step->own) + k;
	bool changed = false;
	u32 i;

	for (i = 0; i < v->nr_legs; i++) {
		u64 entry = kvp_row_entry(leaf_of(step, k), row, i);

		if (pieces_of(v, step->legs) >> kvp_row_place(v->g, row, i).leg & 1)
			changed |= missed(entry, step->since) ||
				   (!i && is_unknown(entry, step->since));
	}
	return changed;
}

/* Row k of leg i is read into page i * rows + k. */
bool kvp_resilver_read_rows(struct kvp_pool *pool, struct kvp_resilver_step *step)
{
	u32 stripe = kvp_stripe_blocks(step->v->g), rows = rows_of(step), first = 0, end = rows, i;
	const struct kvp_vdev *v = step->v;
	kvp_lblock_t at = kvp_lblock(v->g->data_start + kvp_row_of(v->g, step->own));

	if (kvp_vblock_nr(step->own) % stripe || step->n % stripe)
		return false;
	while (first < rows && !row_changed(step, first))
		first++;
	while (end > first && !row_changed(step, end - 1))
		end--;
	for (i = 0; i < v->nr_legs && first < end; i++)
		if (kvp_leg_in_sync(&v->legs[i]) &&
		    (!is_for_shadow(v, step->legs) || i == v->pool->shadow_of))
			read_leg(step, i, &v->legs[i], kvp_lblock_add(at, first), end - first,
				 &step->pages[i * rows + first]);
	return true;
}

bool kvp_resilver_add_rows(struct kvp_pool *pool, struct kvp_resilver_step *step)
{
	u32 i;

	for (i = 0; i < rows_of(step); i++)
		if (!add_row(pool, step, i))
			return false;
	return true;
}

/* --- block by block ---------------------------------------------------------------------- */

/* Write @page to block @at of @leg, if the leg resilvers. */
static void write_block(struct kvp_resilver_io *io, struct kvp_leg *leg, kvp_lblock_t at,
			struct page *page)
{
	if (!kvp_leg_resilvers(leg))
		return;
	if (!kvp_io_page(leg, KVP_IO_WRITE, at, page)) {
		io->copied++;
		return;
	}
	kvp_leg_failed_write(leg);
	kvp_leg_give_up(leg, "a write failed");
}

int kvp_resilver_block(struct kvp_pool *pool, struct kvp_resilver_io *io, struct kvp_tpage *leaf,
		       kvp_block_t block)
{
	const struct kvp_vdev *v = leaf->v;
	const struct kvp_leg *only = v->ops->only_leg(v, kvp_vdev_block(leaf, block));
	kvp_lblock_t home = kvp_home_block(pool, block);
	u32 i;
	int ret;

	if (!missed(kvp_table_entry(leaf, block), io->since) ||
	    (only && !(pieces_of(v, io->legs) >> (only - v->legs) & 1)))
		return 0;
	ret = kvp_home_read(pool, block, io->page, NULL);
	if (!ret && is_for_shadow(v, io->legs))
		write_block(io, &pool->shadow, home, io->page);
	for (i = 0; !ret && i < v->nr_legs; i++)
		if ((io->legs >> i & 1) && (!only || only == &v->legs[i]))
			write_block(io, &v->legs[i], home, io->page);
	return ret;
}

bool kvp_resilver_block_if_sound(struct kvp_pool *pool, struct kvp_resilver_io *io,
				 struct kvp_tpage *leaf, kvp_block_t block)
{
	u64 entry = kvp_table_entry(leaf, block);
	kvp_lblock_t home = kvp_home_block(pool, block);
	const struct kvp_vdev *v = leaf->v;
	bool sound = false;
	u32 i;

	if (!missed(entry, io->since))
		return true;
	for (i = 0; !sound && i < v->nr_legs; i++)
		sound = kvp_leg_in_sync(&v->legs[i]) &&
			!kvp_io_page(&v->legs[i], KVP_IO_READ, home, io->page) &&
			kvp_block_sum(pool->seed, block, page_address(io->page)) ==
			kvp_entry_crc(entry);
	for (i = 0; sound && i < v->nr_legs; i++)
		if (io->legs >> i & 1)
			write_block(io, &v->legs[i], home, io->page);
	return sound;
}

/*
 * The parity of the row is unknown, or cannot be rebuilt since a piece is lost. Reading the pieces
 * poisons the lost one. Then the parity of all others can be computed, and goes to the leg as well.
 * Returns -EBADMSG: done; -EAGAIN: all pieces can be read now; -EIO: a piece did not answer; or
 * another -errno.
 */
static int renew_row(struct kvp_pool *pool, struct kvp_resilver_io *io, struct kvp_tpage *leaf,
		     u64 row)
{
	u32 i;
	int ret;

	for (i = 1; i < leaf->v->nr_legs; i++) {
		ret = kvp_home_read(pool, kvp_row_block_at(leaf, row, i), io->page, io->spare);
		if (ret == -ENOMEM || ret == -EIO)
			return ret;
	}
	/* No piece is lost after all: all of them can be read. */
	if (kvp_entry_state(kvp_table_parity(leaf, row)) == KVP_ENTRY_VALID)
		return -EAGAIN;
	ret = kvp_row_scrub_parity(pool, leaf, row, io->page, io->spare);
	if (ret)
		return ret;
	if (kvp_entry_state(kvp_table_parity(leaf, row)) == KVP_ENTRY_POISONED)
		return -EIO;
	return -EBADMSG;
}

/*
 * Copy its leg's parity to the shadow. Bad parity is healed on the leg first. Returns as
 * renew_row().
 */
static int copy_parity(struct kvp_pool *pool, struct kvp_resilver_io *io, struct kvp_tpage *leaf,
		       u64 row)
{
	const struct kvp_vdev *v = leaf->v;
	struct kvp_place at = kvp_row_place(v->g, row, 0);
	u64 entry = kvp_table_parity(leaf, row);
	int ret;

	if (!missed(entry, io->since))
		return 0;
	ret = kvp_row_read(leaf, row, 0, io->page);
	if (ret) {
		ret = kvp_row_scrub_parity(pool, leaf, row, io->page, io->spare) ?:
		      kvp_row_read(leaf, row, 0, io->page);
	}
	if (ret)
		return ret == -ENOMEM ? ret : renew_row(pool, io, leaf, row);
	write_block(io, &pool->shadow, at.block, io->page);
	return 0;
}

int kvp_resilver_parity(struct kvp_pool *pool, struct kvp_resilver_io *io, struct kvp_tpage *leaf,
			kvp_block_t block)
{
	const struct kvp_vdev *v = leaf->v;
	kvp_vblock_t own = kvp_vdev_block(leaf, block);
	u64 row = kvp_row_of(v->g, own);
	struct kvp_place at = kvp_row_place(v->g, row, 0);
	u64 entry = kvp_table_parity(leaf, row);
	int ret;

	if (kvp_piece_of(v->g, own) != 1 || !(pieces_of(v, io->legs) >> at.leg & 1))
		return 0;
	if (is_for_shadow(v, io->legs))
		return copy_parity(pool, io, leaf, row);
	if (is_unknown(entry, io->since))
		return renew_row(pool, io, leaf, row);
	if (!missed(entry, io->since))
		return 0;
	ret = kvp_row_rebuild(pool, leaf, row, 0, io->page, io->spare);
	if (!ret)
		write_block(io, &v->legs[at.leg], at.block, io->page);
	return ret == -EBADMSG ? renew_row(pool, io, leaf, row) : ret;
}
