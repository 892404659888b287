// SPDX-License-Identifier: GPL-2.0-only
/* Reads that a worker goes on with. Step 6 of a read (read.c). */
#include <linux/mempool.h>

#include "cache/client.h"
#include "core/core.h"
#include "core/stats.h"
#include "home/heal.h"
#include "home/missing.h"
#include "home/pieces.h"
#include "io/mirror.h"
#include "log/spill.h"
#include "ram/wbuf.h"
#include "table/table.h"
#include "target/bio.h"
#include "target/read_anew.h"
#include "target/request.h"

/* With no leg left and failmode=wait, reads wait for 'clear', or for another mode. */
static void hold_read(struct kvp_requests *r, struct bio *bio)
{
	unsigned long flags;

	if (kvp_requests_give_back(r)) {
		kvp_bio_end(bio, BLK_STS_DM_REQUEUE);
		return;
	}
	spin_lock_irqsave(&r->lock, flags);
	bio_list_add(&r->reads, bio);
	spin_unlock_irqrestore(&r->lock, flags);
	smp_mb();	/* pairs with the one in space_came_free() (request.c) */
	if (!kvp_pool_waits(r->pool) || kvp_requests_give_back(r))
		queue_work(r->wq, &r->read_work);
}

/* Where a read puts blocks that come from elsewhere. */
struct reader {
	struct bio *bio;
	struct bvec_iter iter;
};

static void give_block(void *to, struct page *page)
{
	struct reader *reader = to;

	kvp_bio_copy_to(reader->bio, &reader->iter, page_address(page));
}

/* How a failed read is repeated. @tried: blocks before this one are read one by one. */
struct repeat {
	kvp_block_t tried;
	struct kvp_pieces pieces;
};

/*
 * True if @block is on a leg that was passed over, and was not made, as something of its leaf went
 * home meanwhile. All else has come.
 */
static bool is_passed(struct kvp_requests *r, const struct kvp_bio *k, kvp_block_t block)
{
	return k->passes && k->came && k->lacks && kvp_block_leg(r->pool, block) == k->lacks;
}

/*
 * Read several blocks at once: blocks of a leg that is out, as many as lie together; or a piece of
 * a read that a leg answered with an error; or a piece that a leg has which was passed over. That
 * one is made under the lock, or else is read from its leg. Returns how many were read. If it
 * fails, it returns 0, and the caller reads the rest of the chunk, or of the piece, block by block.
 */
static u32 read_together(struct kvp_requests *r, struct bio *bio, struct bvec_iter *iter,
			 kvp_block_t block, struct repeat *rep)
{
	const struct kvp_bio *k = kvp_bio_data(bio);
	bool out = kvp_block_missing(r->pool, block), passed = !out && is_passed(r, k, block);
	u32 left = iter->bi_size >> KVP_BLOCK_SHIFT;
	struct kvp_spot at = kvp_locate(r->pool, block);
	struct reader reader = { bio, *iter };
	u32 n = out ? kvp_side_by_side(at.v->g, at.block, left) :
		      kvp_piece_blocks(r->pool, block, left);
	int error = -EAGAIN;

	if ((n < 2 && !passed) || kvp_block_before(block, rep->tried) ||
	    (out ? k->mixed : k->came && !passed))
		return 0;
	rep->tried = kvp_block_add(block, n);
	if (out || passed)
		error = kvp_missing_read(r->pool, block, n, give_block, &reader);
	/* One by one, blocks do not wait for a leg that does not answer. */
	if (error && !out && n > 1 && !(passed && READ_ONCE(k->lacks->late)))
		error = kvp_piece_read(r->pool, &rep->pieces, block, n, give_block, &reader);
	if (error)
		return 0;
	*iter = reader.iter;
	return n;
}

/*
 * True if the block at @iter was read and has the table's sum. Moves @iter behind it. Other blocks
 * of the same read may be bad.
 */
static bool is_in_place(struct kvp_pool *pool, struct bio *bio, struct bvec_iter *iter,
			kvp_block_t block)
{
	const struct kvp_bio *k = kvp_bio_data(bio);
	struct bvec_iter behind = *iter;
	struct kvp_tpage *leaf;
	u64 entry;
	bool good;

	if (!k->came || (k->lacks && kvp_block_leg(pool, block) == k->lacks))
		return false;
	/* Ask the buffer before the table: a version that has left the buffer is in the table. */
	if (k->mixed && kvp_wbuf_any(pool->wbuf, block, 1))
		return false;
	leaf = kvp_table_load(pool->table, block);
	if (IS_ERR(leaf))
		return false;
	entry = kvp_table_entry(leaf, block);
	kvp_table_put(leaf);
	if (kvp_entry_state(entry) == KVP_ENTRY_UNWRITTEN) {
		kvp_bio_copy_to(bio, iter, NULL);
		return true;
	}
	good = kvp_entry_state(entry) == KVP_ENTRY_VALID &&
	       kvp_bio_sum(bio, &behind, pool->seed, block) == kvp_entry_crc(entry);
	if (good)
		*iter = behind;
	return good;
}

/* Spilled versions among the blocks that are read anew: those of @r, up to block @end. */
struct spilled {
	struct kvp_spilled_read *r;
	kvp_block_t end;
};

/* True if the block at @iter is spilled, and was read with others. Moves @iter behind it. */
static bool read_spilled(struct kvp_pool *pool, struct bio *bio, struct bvec_iter *iter,
			 kvp_block_t block, struct spilled *s)
{
	struct page *page = kvp_spilled_page(kvp_bio_data(bio)->beside, block);

	if (!page && !kvp_block_before(block, s->end)) {
		kvp_spilled_free(s->r);
		s->r = kvp_spilled_read(pool->log, block, iter->bi_size >> KVP_BLOCK_SHIFT,
					&s->end);
	}
	page = page ?: kvp_spilled_page(s->r, block);
	if (page)
		kvp_bio_copy_to(bio, iter, page_address(page));
	return page;
}

void kvp_read_free_beside(struct kvp_bio *k)
{
	kvp_spilled_free(k->beside);
	k->beside = NULL;
}

bool kvp_read_anew(struct kvp_requests *r, struct bio *bio)
{
	struct kvp_bio *k = kvp_bio_data(bio);
	struct bvec_iter iter = k->iter;
	struct repeat rep = { .tried = kvp_block(0), .pieces.failed = k->leg };
	kvp_block_t block = kvp_bio_block(iter);
	struct page *page = mempool_alloc(&r->pages, GFP_NOIO);
	struct spilled spilled = { NULL, block };
	blk_status_t status = BLK_STS_OK;
	u32 n;

	for (; iter.bi_size; block = kvp_block_add(block, n)) {
		int error;

		n = 1;
		if (is_in_place(r->pool, bio, &iter, block) ||
		    read_spilled(r->pool, bio, &iter, block, &spilled))
			continue;
		n = read_together(r, bio, &iter, block, &rep);
		if (n)
			continue;
		n = 1;
		error = kvp_block_read(r->pool, block, page);
		if (error == -EIO && kvp_pool_waits(r->pool))
			break;
		if (error)
			status = BLK_STS_IOERR;
		kvp_bio_copy_to(bio, &iter, error ? NULL : page_address(page));
	}
	mempool_free(page, &r->pages);
	kvp_spilled_free(spilled.r);
	kvp_read_free_beside(k);
	if (iter.bi_size) {
		hold_read(r, bio);
		return false;
	}
	kvp_bio_end(bio, status);
	return !status;
}

void kvp_read_anew_work(struct work_struct *work)
{
	struct kvp_bio *k = container_of(work, struct kvp_bio, work);
	kvp_block_t block = kvp_bio_block(k->iter);
	u32 count = k->iter.bi_size >> KVP_BLOCK_SHIFT;
	struct kvp_requests *r = k->requests;
	struct kvp_pool *pool = r->pool;
	bool ssd = k->ssd.block;

	k->ssd.block = 0;
	/*
	 * After kvp_read_anew() the bio is gone. If a block from the SSD cache did not fit, the
	 * cache must forget it, but not before home was read: if home does not give the block,
	 * another SSD may, or the same one at a second try.
	 */
	if (!kvp_read_anew(r, kvp_bio_of(k)) || !ssd)
		return;
	kvp_cache_mistrust(pool, block, count);
	this_cpu_add(pool->stats->ssd_mistrusted, count);
}

/*
 * A poller cannot drive a worker. Device-mapper completes the bio when the worker has ended it.
 */
void kvp_read_leave_poller(struct bio *bio)
{
	bio_clear_polled(bio);
	bio->bi_opf &= ~REQ_NOWAIT;
}

void kvp_read_defer(struct kvp_requests *r, struct bio *bio, work_func_t how)
{
	struct kvp_bio *k = kvp_bio_data(bio);

	k->requests = r;
	kvp_read_leave_poller(bio);
	INIT_WORK(&k->work, how);
	queue_work(r->wq, &k->work);
}

/* From map: hand @bio to a worker, or end it if its submitter does not want to wait. */
void kvp_read_wait(struct kvp_requests *r, struct bio *bio, work_func_t how)
{
	if (kvp_requests_nowait(bio))
		kvp_requests_again(r, bio, kvp_bio_count(bio));
	else
		kvp_read_defer(r, bio, how);
}

/* Reads that waited for legs; each may wait again. */
static void read_work(struct work_struct *work)
{
	struct kvp_requests *r = container_of(work, struct kvp_requests, read_work);
	struct bio_list held;
	unsigned long flags;
	struct bio *bio;

	bio_list_init(&held);
	spin_lock_irqsave(&r->lock, flags);
	bio_list_merge(&held, &r->reads);
	bio_list_init(&r->reads);
	spin_unlock_irqrestore(&r->lock, flags);
	while ((bio = bio_list_pop(&held)))
		if (kvp_requests_give_back(r))
			kvp_bio_end(bio, BLK_STS_DM_REQUEUE);
		else
			kvp_read_defer(r, bio, kvp_read_anew_work);
}

void kvp_read_anew_init(struct kvp_requests *r)
{
	bio_list_init(&r->reads);
	INIT_WORK(&r->read_work, read_work);
}
