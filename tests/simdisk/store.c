// SPDX-License-Identifier: GPL-2.0-only
/*
 * Contents of a simulated disk: stable blocks, the journal of accepted
 * changes, and the overlay that shows the changes to readers.
 *
 * Invariant: view(block) = overlay[block], else stable[block], else zeroes,
 * and equals stable with every journal entry applied in order. When the
 * journal is empty so is the overlay.
 */
#include <linux/bvec.h>
#include <linux/highmem.h>
#include <linux/slab.h>

#include "simdisk.h"

/* Take over the caller's reference to @page; drop that of the old page. */
static int sim_xa_put(struct xarray *xa, u64 block, struct page *page)
{
	struct page *old = xa_store(xa, block, page, SIM_GFP);

	if (xa_is_err(old)) {
		put_page(page);
		return xa_err(old);
	}
	if (old)
		put_page(old);
	return 0;
}

static void sim_xa_drop(struct xarray *xa, u64 block)
{
	struct page *old = xa_erase(xa, block);

	if (old)
		put_page(old);
}

static void sim_xa_drop_all(struct xarray *xa)
{
	struct page *page;
	unsigned long block;

	xa_for_each(xa, block, page)
		put_page(page);
	xa_destroy(xa);
}

/* The block as a reader sees it, or NULL for zeroes. Read side is enough. */
static struct page *sim_view(struct sim_dev *dev, u64 block)
{
	struct page *page = xa_load(&dev->overlay, block);

	return page ?: xa_load(&dev->stable, block);
}

/* Copy of @src (NULL: zeroes) that the caller may change before sharing it. */
static struct page *sim_page_copy(struct page *src)
{
	struct page *page = alloc_page(SIM_GFP);

	if (!page)
		return NULL;
	if (src)
		copy_page(page_address(page), page_address(src));
	else
		clear_page(page_address(page));
	return page;
}

/* Copy the sectors of @mask from @src, or zero them if there is none. */
static void sim_page_merge(struct page *dst, struct page *src,
			   unsigned int mask)
{
	unsigned int i;

	for (i = 0; i < SIM_BLOCK_SECTORS; i++) {
		unsigned int off = i << SECTOR_SHIFT;

		if (!(mask & (1u << i)))
			continue;
		if (src)
			memcpy(page_address(dst) + off,
			       page_address(src) + off, SECTOR_SIZE);
		else
			memset(page_address(dst) + off, 0, SECTOR_SIZE);
	}
}

/* An entry without its pages (room for them only, unless @zero). */
struct sim_entry *sim_entry_alloc(sector_t sector, sector_t nr, bool zero)
{
	u64 blocks = sim_block(sector + nr - 1) - sim_block(sector) + 1;
	unsigned int nr_pages = zero ? 0 : blocks;
	struct sim_entry *e;

	e = kzalloc(struct_size(e, pages, nr_pages), SIM_GFP);
	if (!e)
		return NULL;
	INIT_LIST_HEAD(&e->list);
	INIT_LIST_HEAD(&e->cured);
	e->sector = sector;
	e->nr = nr;
	e->nr_pages = nr_pages;
	return e;
}

void sim_entry_free(struct sim_entry *e)
{
	unsigned int i;

	for (i = 0; i < e->nr_pages; i++)
		if (e->pages[i])
			put_page(e->pages[i]);
	sim_fault_free_list(&e->cured);
	kfree(e);
}

static void sim_entry_copy_in(struct sim_entry *e, struct bio *bio)
{
	size_t pos = (e->sector % SIM_BLOCK_SECTORS) << SECTOR_SHIFT;
	struct bvec_iter iter;
	struct bio_vec bv;

	bio_for_each_segment(bv, bio, iter) {
		char *src = bvec_kmap_local(&bv);
		unsigned int done, n;

		for (done = 0; done < bv.bv_len; done += n, pos += n) {
			unsigned int off = pos % SIM_BLOCK_SIZE;

			n = min(bv.bv_len - done, SIM_BLOCK_SIZE - off);
			memcpy(page_address(e->pages[pos / SIM_BLOCK_SIZE]) + off,
			       src + done, n);
		}
		kunmap_local(src);
	}
}

/*
 * An entry holding the data of a write. The sectors of its first and last
 * block that the bio does not cover are filled in by sim_journal_add().
 */
struct sim_entry *sim_entry_from_bio(struct bio *bio)
{
	struct sim_entry *e;
	unsigned int i;

	e = sim_entry_alloc(bio->bi_iter.bi_sector, bio_sectors(bio), false);
	if (!e)
		return NULL;
	for (i = 0; i < e->nr_pages; i++) {
		e->pages[i] = alloc_page(SIM_GFP);
		if (!e->pages[i]) {
			sim_entry_free(e);
			return NULL;
		}
	}
	sim_entry_copy_in(e, bio);
	return e;
}

/* Which sectors of @block the entry changes, as a bit mask. */
unsigned int sim_entry_mask(const struct sim_entry *e, u64 block)
{
	sector_t first = block * SIM_BLOCK_SECTORS;
	unsigned int mask = SIM_FULL_MASK;

	if (e->sector > first)
		mask &= SIM_FULL_MASK << (e->sector - first);
	if (e->sector + e->nr < first + SIM_BLOCK_SECTORS)
		mask &= (1u << (e->sector + e->nr - first)) - 1;
	return mask;
}

/* Complete the partly written blocks of @e from the view. */
static void sim_entry_fill_edges(struct sim_dev *dev, struct sim_entry *e)
{
	u64 first = sim_block(e->sector);
	u64 edge[2] = { first, first + e->nr_pages - 1 };
	unsigned int i;

	for (i = 0; i < 2; i++) {
		unsigned int mask = sim_entry_mask(e, edge[i]);

		if (mask != SIM_FULL_MASK)
			sim_page_merge(e->pages[edge[i] - first],
				       sim_view(dev, edge[i]), ~mask);
	}
}

/* Reserve the overlay first, so that a write is shown whole or not at all. */
static int sim_overlay_write(struct sim_dev *dev, struct sim_entry *e)
{
	u64 first = sim_block(e->sector);
	unsigned int i;
	int r;

	for (i = 0; i < e->nr_pages; i++) {
		r = xa_reserve(&dev->overlay, first + i, SIM_GFP);
		if (r)
			goto release;
	}
	sim_entry_fill_edges(dev, e);
	for (i = 0; i < e->nr_pages; i++) {
		get_page(e->pages[i]);
		r = sim_xa_put(&dev->overlay, first + i, e->pages[i]);
		WARN_ON_ONCE(r);
	}
	return 0;

release:
	while (i--)
		xa_release(&dev->overlay, first + i);
	return r;
}

static int sim_overlay_zero_block(struct sim_dev *dev, struct sim_entry *e,
				  u64 block, struct page *page)
{
	unsigned int mask = sim_entry_mask(e, block);
	struct page *new = sim.zero_page;

	if (mask == SIM_FULL_MASK) {
		get_page(new);
	} else {
		new = sim_page_copy(page);
		if (!new)
			return -ENOMEM;
		sim_page_merge(new, NULL, mask);
	}
	return sim_xa_put(&dev->overlay, block, new);
}

/* Only blocks that exist can change: a discard of terabytes stays cheap. */
static int sim_overlay_zero(struct sim_dev *dev, struct sim_entry *e)
{
	u64 first = sim_block(e->sector);
	u64 last = sim_block(e->sector + e->nr - 1);
	unsigned long block;
	struct page *page;
	int r = 0;

	xa_for_each_range(&dev->overlay, block, page, first, last)
		r = sim_overlay_zero_block(dev, e, block, page) ?: r;
	xa_for_each_range(&dev->stable, block, page, first, last)
		if (!xa_load(&dev->overlay, block))
			r = sim_overlay_zero_block(dev, e, block, page) ?: r;
	return r;
}

void sim_overlay_drop(struct sim_dev *dev)
{
	sim_xa_drop_all(&dev->overlay);
}

static void sim_entry_link(struct sim_dev *dev, struct sim_entry *e)
{
	list_add_tail(&e->list, &dev->journal);
	dev->nr_entries++;
	dev->nr_cached += e->nr_pages;
}

void sim_entry_unlink(struct sim_dev *dev, struct sim_entry *e)
{
	list_del(&e->list);
	dev->nr_entries--;
	dev->nr_cached -= e->nr_pages;
}

/**
 * sim_journal_add() - accept a change
 * @dev: device
 * @e: the change; the journal owns it if this succeeds, else it is freed
 *
 * Cures the latent errors it overwrites, until a power cut decides otherwise.
 * A failed zeroing may be seen in part: its contents are unspecified, as
 * those of any failed write.
 *
 * Context: sim.sem held for writing. Return: 0 or -ENOMEM.
 */
int sim_journal_add(struct sim_dev *dev, struct sim_entry *e)
{
	int r = 0;

	if (!e->no_cure)
		r = sim_fault_cure(dev, e->sector, e->nr, &e->cured);
	if (!r)
		r = e->nr_pages ? sim_overlay_write(dev, e) :
				  sim_overlay_zero(dev, e);
	if (r) {
		list_splice_init(&e->cured, &dev->faults);
		sim_entry_free(e);
		return r;
	}
	sim_entry_link(dev, e);
	return 0;
}

/* Put the sectors of @mask of @src (NULL: zeroes) on the medium. */
int sim_stable_merge(struct sim_dev *dev, u64 block, struct page *src,
		     unsigned int mask)
{
	struct page *new = src;

	if (mask == SIM_FULL_MASK) {
		if (!src) {
			sim_xa_drop(&dev->stable, block);
			return 0;
		}
		get_page(new);
	} else {
		new = sim_page_copy(xa_load(&dev->stable, block));
		if (!new)
			return -ENOMEM;
		sim_page_merge(new, src, mask);
	}
	return sim_xa_put(&dev->stable, block, new);
}

bool sim_entry_durable(struct sim_dev *dev, const struct sim_entry *e)
{
	bool durable;

	spin_lock_bh(&sim.lock);
	durable = e->done && (e->fua || e->done <= dev->flushed);
	spin_unlock_bh(&sim.lock);
	return durable;
}

/* Store the oldest entry. Can be repeated if it fails for memory. */
static int sim_destage_one(struct sim_dev *dev, struct sim_entry *e)
{
	u64 first = sim_block(e->sector);
	u64 last = sim_block(e->sector + e->nr - 1);
	unsigned long block;
	struct page *page;
	unsigned int i;
	int r;

	for (i = 0; i < e->nr_pages; i++) {
		r = sim_stable_merge(dev, first + i, e->pages[i], SIM_FULL_MASK);
		if (r)
			return r;
		if (xa_load(&dev->overlay, first + i) == e->pages[i])
			sim_xa_drop(&dev->overlay, first + i);
	}
	if (e->nr_pages)
		return 0;
	xa_for_each_range(&dev->stable, block, page, first, last) {
		r = sim_stable_merge(dev, block, NULL, sim_entry_mask(e, block));
		if (r)
			return r;
	}
	return 0;
}

static bool sim_cache_full(const struct sim_dev *dev)
{
	return dev->nr_cached > (u64)dev->cache_mib << (20 - SIM_BLOCK_SHIFT);
}

static bool sim_entry_done(const struct sim_entry *e)
{
	bool done;

	spin_lock_bh(&sim.lock);
	done = e->done;
	spin_unlock_bh(&sim.lock);
	return done;
}

/*
 * Move the front of the journal to the medium: what is durable, what no longer
 * fits the cache, or @all. Lazy, because completions cannot allocate; a power
 * cut knows what is durable whether it was moved or not.
 */
void sim_destage(struct sim_dev *dev, bool all)
{
	struct sim_entry *e, *next;

	list_for_each_entry_safe(e, next, &dev->journal, list) {
		if (!all && !sim_entry_durable(dev, e) &&
		    !(sim_cache_full(dev) && sim_entry_done(e)))
			break;
		if (sim_destage_one(dev, e))
			break;
		sim_entry_unlink(dev, e);
		sim_entry_free(e);
	}
	if (list_empty(&dev->journal))
		sim_overlay_drop(dev);
}

/* Copy the view into the bio. */
void sim_store_read(struct sim_dev *dev, struct bio *bio)
{
	u64 pos = (u64)bio->bi_iter.bi_sector << SECTOR_SHIFT;
	struct bvec_iter iter;
	struct bio_vec bv;

	bio_for_each_segment(bv, bio, iter) {
		char *dst = bvec_kmap_local(&bv);
		unsigned int done, n;

		for (done = 0; done < bv.bv_len; done += n, pos += n) {
			struct page *page = sim_view(dev, pos >> SIM_BLOCK_SHIFT);
			unsigned int off = pos % SIM_BLOCK_SIZE;

			n = min(bv.bv_len - done, SIM_BLOCK_SIZE - off);
			if (page)
				memcpy(dst + done, page_address(page) + off, n);
			else
				memset(dst + done, 0, n);
		}
		flush_dcache_page(bv.bv_page);
		kunmap_local(dst);
	}
}

/* Garble one sector: every word of it, or exactly @bits bits. */
static void sim_garble(void *data, sector_t sector, u64 seed, unsigned int bits)
{
	u32 start = sim_hash(seed, sector, 0);
	u32 stride = sim_hash(seed, sector, 1) | 1;
	u64 *word = data;
	unsigned int i;

	if (!bits) {
		for (i = 0; i < SECTOR_SIZE / sizeof(u64); i++)
			word[i] ^= sim_hash(seed, sector, i) ?: 1;
		return;
	}
	/* An odd stride visits all 4096 bits before any comes twice. */
	for (i = 0; i < bits; i++) {
		u32 bit = (start + i * stride) % (SECTOR_SIZE * 8);

		((u8 *)data)[bit / 8] ^= 1u << (bit % 8);
	}
}

static int sim_corrupt_fill(struct sim_dev *dev, struct sim_entry *e, u64 seed,
			    unsigned int bits)
{
	u64 first = sim_block(e->sector);
	sector_t s;
	unsigned int i;

	for (i = 0; i < e->nr_pages; i++) {
		e->pages[i] = sim_page_copy(sim_view(dev, first + i));
		if (!e->pages[i])
			return -ENOMEM;
	}
	for (s = e->sector; s < e->sector + e->nr; s++)
		sim_garble(page_address(e->pages[sim_block(s) - first]) +
			   ((s % SIM_BLOCK_SECTORS) << SECTOR_SHIFT),
			   s, seed, bits);
	return 0;
}

static int sim_corrupt_chunk(struct sim_dev *dev, sector_t sector, sector_t nr,
			     u64 seed, unsigned int bits)
{
	struct sim_entry *e = sim_entry_alloc(sector, nr, false);
	int r;

	if (!e)
		return -ENOMEM;
	r = sim_corrupt_fill(dev, e, seed, bits);
	if (r) {
		sim_entry_free(e);
		return r;
	}
	e->fua = true;
	e->no_cure = true;
	r = sim_journal_add(dev, e);
	if (r)
		return r;
	spin_lock_bh(&sim.lock);
	e->done = ++dev->event;
	spin_unlock_bh(&sim.lock);
	return 0;
}

/**
 * sim_store_corrupt() - silent bit rot
 * @dev: device
 * @sector: first sector
 * @nr: sectors
 * @seed: decides the garbage
 * @bits: bits to flip in each sector, 0 to garble it whole
 *
 * A durable journal entry of garbage: whatever a power cut later makes of
 * older entries, the garbage stays until somebody writes the sector.
 *
 * Context: sim.sem held for writing. Return: 0 or -ENOMEM.
 */
int sim_store_corrupt(struct sim_dev *dev, sector_t sector, sector_t nr,
		      u64 seed, unsigned int bits)
{
	int r = 0;

	while (nr && !r) {
		sector_t n = min_t(sector_t, nr, SIM_MAX_SECTORS);

		r = sim_corrupt_chunk(dev, sector, n, seed, bits);
		sector += n;
		nr -= n;
	}
	sim_destage(dev, false);
	return r;
}

void sim_store_free(struct sim_dev *dev)
{
	struct sim_entry *e, *next;

	list_for_each_entry_safe(e, next, &dev->journal, list) {
		sim_entry_unlink(dev, e);
		sim_entry_free(e);
	}
	sim_xa_drop_all(&dev->overlay);
	sim_xa_drop_all(&dev->stable);
}
