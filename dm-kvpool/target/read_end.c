// SPDX-License-Identifier: GPL-2.0-only
/* The end of a read: what came is compared with the table. Step 5 of a read (read.c). */
#include <linux/device-mapper.h>
#include <linux/highmem.h>

#include "cache/admission.h"
#include "cache/scache.h"
#include "core/stats.h"
#include "io/inject.h"
#include "io/leg_queue.h"
#include "io/mirror.h"
#include "io/slow.h"
#include "log/spill.h"
#include "ram/rcache.h"
#include "ram/wbuf.h"
#include "table/table.h"
#include "target/bio.h"
#include "target/long_read.h"
#include "target/read.h"
#include "target/read_anew.h"
#include "target/read_end.h"
#include "target/request.h"

/* --- do the blocks fit? -------------------------------------------------------------- */

/*
 * Verify one block that came back, in a page of the caches, where the reader cannot change it any
 * more (R23). If they have no page for it, verify it where it is.
 */
static noinline bool verify_for_caches(struct kvp_pool *pool, const struct kvp_bio *k,
				       struct bio *bio, struct bvec_iter *iter, kvp_block_t block,
				       u32 crc)
{
	struct page *page = k->fill ? kvp_rcache_page(pool->rcache, block) : NULL;
	struct kvp_candidate *c = k->may_fill ? kvp_admit_begin(pool->admission, block, &k->plan) :
				  NULL;
	void *kept = page ? page_address(page) : c ? page_address(c->page) : NULL;
	bool good;
	struct kvp_rfill fill = {
		.first = kvp_bio_block(k->iter),
		.count = k->token_blocks,
		.token = k->token,
		.favoured = k->favoured,
	};

	if (!kept)
		return kvp_bio_sum(bio, iter, pool->seed, block) == crc;
	kvp_bio_copy_from(bio, iter, kept);
	good = kvp_block_sum(pool->seed, block, kept) == crc;
	if (c && good) {
		if (page)
			memcpy(page_address(c->page), kept, KVP_BLOCK_SIZE);
		kvp_admit_add(pool->admission, c, crc);
	} else if (c) {
		kvp_admit_drop(pool->admission, c);
	}
	if (page && good)
		kvp_rcache_insert(pool->rcache, block, page, &fill);
	else if (page)
		kvp_rcache_unpage(pool->rcache, block, page);
	return good;
}

/* Verify one block that came back. */
static bool verify_block(struct kvp_pool *pool, const struct kvp_bio *k, struct bio *bio,
			 struct bvec_iter *iter, kvp_block_t block, u32 crc)
{
	if (k->fill || k->may_fill)
		return verify_for_caches(pool, k, bio, iter, block, crc);
	return kvp_bio_sum(bio, iter, pool->seed, block) == crc;
}

/*
 * Copy a block to @iter, if it is in the buffer or spilled, and move @iter behind it. False if it
 * is spilled and did not come: it was spilled, renewed, or written again since the read began.
 */
static bool copy_newer(struct kvp_pool *pool, struct bio *bio, struct bvec_iter *iter,
		       kvp_block_t block, bool *copied)
{
	enum kvp_buffered had = kvp_read_buffered(pool, bio, iter, block);
	struct page *page = NULL;

	if (had == KVP_BUFFER_HAD)
		this_cpu_inc(pool->stats->buffer_read_blocks);
	if (had == KVP_BUFFER_HAS_NO_PAGE) {
		page = kvp_spilled_page(kvp_bio_data(bio)->beside, block);
		if (page)
			kvp_bio_copy_to(bio, iter, page_address(page));
	}
	*copied = had == KVP_BUFFER_HAD || page;
	return *copied || had == KVP_BUFFER_LACKS;
}

/* verify() from @iter on, block by block. */
static bool verify_blocks(struct kvp_pool *pool, struct bio *bio, const struct kvp_bio *k,
			  struct bvec_iter iter)
{
	const struct kvp_tpage *leaf = k->leaf;
	kvp_block_t block = kvp_bio_block(iter);

	for (; iter.bi_size; block = kvp_block_add(block, 1)) {
		bool copied = false;
		u64 entry;

		if (k->mixed && !copy_newer(pool, bio, &iter, block, &copied))
			return false;
		if (copied)
			continue;
		entry = kvp_table_entry(leaf, block);
		switch (kvp_entry_state(entry)) {
		case KVP_ENTRY_UNWRITTEN:
			kvp_bio_copy_to(bio, &iter, NULL);
			break;
		case KVP_ENTRY_VALID:
			if (!verify_block(pool, k, bio, &iter, block, kvp_entry_crc(entry)))
				return false;
			break;
		default:
			return false;
		}
	}
	return true;
}

/* verify() for whole pages that are neighbours in memory; the first is @block. */
static bool verify_pages(struct kvp_pool *pool, const struct kvp_tpage *leaf, kvp_block_t block,
			 struct bio_vec bv)
{
	struct page *page = bv.bv_page + (bv.bv_offset >> PAGE_SHIFT);
	struct page *end = page + (bv.bv_len >> PAGE_SHIFT);

	for (; page < end; page++, block = kvp_block_add(block, 1)) {
		u64 entry = kvp_table_entry(leaf, block);
		void *p;
		u32 sum;

		if (kvp_entry_state(entry) == KVP_ENTRY_UNWRITTEN) {
			memzero_page(page, 0, PAGE_SIZE);
			continue;
		}
		if (kvp_entry_state(entry) != KVP_ENTRY_VALID)
			return false;
		p = kmap_local_page(page);
		sum = kvp_block_sum(pool->seed, block, p);
		kunmap_local(p);
		if (sum != kvp_entry_crc(entry))
			return false;
	}
	return true;
}

/*
 * Verify against the table as it is now; unwritten blocks among written ones become zeros. Most
 * reads need nothing but sums of pages.
 */
static bool verify(struct kvp_pool *pool, struct bio *bio, const struct kvp_bio *k)
{
	bool sums_only = !k->mixed && !k->fill && !k->may_fill;
	struct bvec_iter iter = k->iter;

	while (sums_only && iter.bi_size) {
		struct bio_vec bv = mp_bvec_iter_bvec(bio->bi_io_vec, iter);

		if (!PAGE_ALIGNED(bv.bv_offset | bv.bv_len))
			break;
		if (!verify_pages(pool, k->leaf, kvp_bio_block(iter), bv))
			return false;
		bio_advance_iter_single(bio, &iter, bv.bv_len);
	}
	return !iter.bi_size || verify_blocks(pool, bio, k, iter);
}

/*
 * The blocks have come, if @good. If a block does not fit, the device need not be at
 * fault: destage or a direct write may have written it meanwhile, or the reader wrote to its
 * buffer. Then false, and it is read anew.
 */
static bool came_well(struct kvp_requests *r, struct bio *bio, struct kvp_bio *k, bool good)
{
	k->came = good;
	/* If something is read anyway, kvp_read_anew() verifies the rest: one sum is enough. */
	good = good && !k->lacks && !k->lacks_spilled && verify(r->pool, bio, k);
	kvp_table_put(k->leaf);
	k->leaf = NULL;
	if (good) {
		kvp_read_free_beside(k);
		return true;
	}
	this_cpu_inc(r->pool->stats->read_retries);
	kvp_read_defer(r, bio, kvp_read_anew_work);
	return false;
}

/* --- what has come, and what comes beside it --------------------------------------------- */

/*
 * Make the blocks of the leg that was not read. A worker does this, since vector instructions may
 * not be used everywhere.
 */
static void rebuild_work(struct work_struct *work)
{
	struct kvp_bio *k = container_of(work, struct kvp_bio, work);
	struct kvp_requests *r = k->requests;
	struct bio *bio = kvp_bio_of(k);
	u32 made = kvp_long_rebuild(r, bio, k->came);

	if (!came_well(r, bio, k, k->came))
		return;
	if (k->passes)
		this_cpu_add(r->pool->stats->passed_blocks, made);
	else
		this_cpu_add(r->pool->stats->rebuilt_blocks, made);
	kvp_bio_end(bio, BLK_STS_OK);
}

/* All of a mixed read has come, good or not. */
static void mixed_work(struct work_struct *work)
{
	struct kvp_bio *k = container_of(work, struct kvp_bio, work);
	struct bio *bio = kvp_bio_of(k);

	if (came_well(k->requests, bio, k, k->came))
		kvp_bio_end(bio, BLK_STS_OK);
}

/*
 * Home has answered, or the SSDs beside it. When both have, a worker goes on: an interrupt must not
 * take the buffer's locks. Only now is the buffer asked which version of a block counts, and then
 * the table. Both may have changed while the two were read.
 */
static void end_side(struct kvp_requests *r, struct kvp_bio *k)
{
	if (atomic_dec_and_test(&k->sides))
		kvp_read_defer(r, kvp_bio_of(k), k->rebuild ? rebuild_work : mixed_work);
}

void kvp_read_end_home(struct kvp_requests *r, struct bio *bio, bool good)
{
	kvp_bio_data(bio)->came = good;
	kvp_read_leave_poller(bio);
	end_side(r, kvp_bio_data(bio));
}

void kvp_read_end_long(struct kvp_requests *r, struct bio *bio, bool good)
{
	struct kvp_bio *k = kvp_bio_data(bio);

	k->came = good;
	if (k->mixed)
		kvp_read_end_home(r, bio, good);
	else if (k->rebuild)
		kvp_read_defer(r, bio, rebuild_work);
	else if (came_well(r, bio, k, good))
		kvp_bio_end(bio, BLK_STS_OK);
}

static void beside_work(struct work_struct *work)
{
	struct kvp_bio *k = container_of(work, struct kvp_bio, work);
	struct kvp_requests *r = k->requests;
	u32 count = k->iter.bi_size >> KVP_BLOCK_SHIFT;
	kvp_block_t first = kvp_bio_block(k->iter), end;

	k->beside = kvp_spilled_read(r->pool->log, first, count, &end);
	k->lacks_spilled = kvp_block_before(end, kvp_block_add(first, count));
	end_side(r, k);
}

void kvp_read_end_beside(struct kvp_requests *r, struct kvp_bio *k)
{
	if (!kvp_wbuf_nr_spilled(r->pool->wbuf))
		return;
	atomic_set(&k->sides, 2);
	INIT_WORK(&k->work, beside_work);
	queue_work(r->wq, &k->work);
}

/* Take the read out of the counts: it comes again, and is counted then. */
static void uncount_read(struct kvp_pool *pool, const struct kvp_bio *k)
{
	u32 count = k->iter.bi_size >> KVP_BLOCK_SHIFT;

	this_cpu_sub(pool->stats->read_blocks, count);
	if (k->missed_ram)
		this_cpu_sub(pool->stats->ram_misses, count);
	if (k->missed_ssd)
		this_cpu_sub(pool->stats->ssd_misses, count);
	if (k->ssd.block)
		this_cpu_sub(pool->stats->ssd_hits, count);
	if (k->bypassed)
		this_cpu_sub(pool->stats->ram_bypassed[k->bypassed], count);
}

int kvp_read_end_io(struct kvp_requests *r, struct bio *bio, blk_status_t *error)
{
	struct kvp_bio *k = kvp_bio_data(bio);
	bool again = *error == BLK_STS_AGAIN, good = !*error;

	/* The pool itself has ended it: from RAM, or by reading anew after a first try. */
	if (!k->leaf)
		return DM_ENDIO_DONE;
	if (!*error) {
		kvp_slow_end(k->leg, KVP_IO_READ, k->iter.bi_size >> KVP_BLOCK_SHIFT, k->since);
		kvp_leg_gives(k->leg);
	}
	kvp_leg_unchoose(k->leg);
	/*
	 * The leg has no request free, which is not an error of the leg. A mixed read goes on: a
	 * worker may be reading for it.
	 */
	if (again && !k->mixed && kvp_requests_nowait(bio)) {
		uncount_read(r->pool, k);
		kvp_table_put(k->leaf);
		k->leaf = NULL;
		return DM_ENDIO_DONE;
	}
	good = good && !kvp_injected(k->leg, KVP_FAULT_READ);
	/* An error of a leg counts when kvp_read_anew() sees it again. */
	if (!good && !again && k->ssd.block)
		atomic64_inc(&k->leg->err_read);
	/* The log has come round and has overwritten the block. That is no error of the SSD. */
	if (good && k->ssd.block && !kvp_scache_intact(r->pool->scache, &k->ssd)) {
		good = false;
		k->ssd.block = 0;
	}
	*error = BLK_STS_OK;
	bio->bi_status = BLK_STS_OK;
	if (k->mixed) {
		kvp_read_end_home(r, bio, good);
		return DM_ENDIO_INCOMPLETE;
	}
	return came_well(r, bio, k, good) ? DM_ENDIO_DONE : DM_ENDIO_INCOMPLETE;
}
