// SPDX-License-Identifier: GPL-2.0-only
/*
 * The way of a read from map to a leg.
 *
 * 1. alike() cuts it where buffered blocks begin or end, and at the end of a leaf. A long read is
 *    not cut at each buffered block: it goes home as a whole, and its buffered blocks are copied
 *    over what came (mixed_blocks()).
 * 2. read_buffer() or read_cached() copies what is in RAM.
 * 3. cut_for_ssd() cuts the rest so that the SSD cache has all of it, or nothing.
 * 4. remap_home() answers unwritten blocks with zeros, or points the bio at an SSD or a leg. A read
 *    of several legs goes through long_read.c. If the leaf is not in memory, a worker loads it
 *    first (read_home_work()). Spilled blocks of a mixed read are read beside it
 *    (kvp_read_end_beside()).
 * 5. kvp_read_end_io() compares what came with the table as it is now (read_end.c).
 * 6. What does not fit is read by kvp_read_anew(), block by block, under its range lock; that heals
 *    (read_anew.c). After an error of a leg, piece by piece first (home/pieces.h).
 *
 * docs/design/read-path.md tells why.
 */
#include <linux/device-mapper.h>

#include "cache/admission.h"
#include "cache/client.h"
#include "cache/scache.h"
#include "core/stats.h"
#include "home/missing.h"
#include "io/leg_queue.h"
#include "io/mirror.h"
#include "io/slow.h"
#include "policy/ssdpolicy.h"
#include "policy/streams.h"
#include "ram/rcache.h"
#include "ram/wbuf.h"
#include "table/table.h"
#include "target/bio.h"
#include "target/long_read.h"
#include "target/read.h"
#include "target/read_anew.h"
#include "target/read_end.h"
#include "target/request.h"

#define CACHED_BLOCKS	KVP_RCACHE_STRETCH
#define MIXED_LEAST	16u	/* a worker pays for itself if this many blocks would be cut off */

/* --- home, and the SSD cache ---------------------------------------------------------------- */

/*
 * The ways to read blocks. If any block is valid, all of them are read. kvp_read_end_io() then
 * finds the blocks among them that are not valid.
 */
enum home_class { HOME_ZERO, HOME_READ, HOME_POISON };

static enum home_class classify(const struct kvp_tpage *leaf, kvp_block_t block, u32 count)
{
	enum home_class class = HOME_ZERO;
	u32 i;

	for (i = 0; i < count; i++) {
		u64 entry = kvp_table_entry(leaf, kvp_block_add(block, i));
		unsigned int state = kvp_entry_state(entry);

		if (state == KVP_ENTRY_VALID)
			return HOME_READ;
		if (state != KVP_ENTRY_UNWRITTEN)
			class = HOME_POISON;
	}
	return class;
}

static void read_zeros(struct kvp_pool *pool, struct bio *bio)
{
	this_cpu_add(pool->stats->zero_read_blocks, kvp_bio_count(bio));
	zero_fill_bio(bio);
	kvp_bio_end(bio, BLK_STS_OK);
}

/* Point the bio at @leg, unless there is none. */
static bool point_at(struct bio *bio, struct kvp_bio *k, struct kvp_leg *leg, kvp_lblock_t at)
{
	k->leg = leg;
	if (!leg)
		return false;
	k->since = kvp_slow_begin(leg);
	bio_set_dev(bio, leg->bdev);
	bio->bi_iter.bi_sector = kvp_lblock_nr(at) << KVP_SECTORS_SHIFT;
	return true;
}

/*
 * Point the bio at the leg that has all of it, or one of those; false if there is none. The vdev
 * has no parity, or all blocks lie on one leg.
 */
static bool point_at_leg(struct bio *bio, struct kvp_bio *k, const struct kvp_spot *at)
{
	return point_at(bio, k, kvp_leg_choose(at, kvp_bio_count(bio)),
			kvp_data_place(at->v->g, at->block).block);
}

/* Point the bio at the SSD cache, if that has all of it. */
static bool point_at_ssd(struct kvp_pool *pool, struct bio *bio, struct kvp_bio *k)
{
	u32 count = kvp_bio_count(bio);

	if (!k->ssd.block)
		return false;
	if (kvp_cache_current(pool, k->leaf, kvp_bio_first(bio), count, &k->ssd) &&
	    point_at(bio, k, kvp_scache_choose(pool->scache, &k->ssd, count), k->ssd.block)) {
		this_cpu_add(pool->stats->ssd_hits, count);
		return true;
	}
	k->ssd.block = 0;
	return false;
}

/*
 * Read, step 4. Point the bio, whose first block is @at, at a leg, or read it from several. Takes
 * over the leaf's reference. False: there is nothing to submit any more.
 */
static bool remap_home(struct kvp_requests *r, struct bio *bio, struct kvp_bio *k,
		       const struct kvp_spot *at, struct kvp_tpage *leaf)
{
	struct kvp_pool *pool = r->pool;
	kvp_block_t block = kvp_bio_first(bio);
	u32 count = kvp_bio_count(bio);
	enum home_class class = classify(leaf, block, count);

	if (class == HOME_READ) {
		k->missed_ram = kvp_rcache_enabled(pool->rcache);
		if (k->missed_ram)
			this_cpu_add(pool->stats->ram_misses, count);
		k->requests = r;
		k->leaf = leaf;
		k->missed_ssd = false;
		atomic_set(&k->sides, 1);
		if (point_at_ssd(pool, bio, k))
			return true;
		k->missed_ssd = kvp_scache_asked(pool->scache, count);
		if (k->missed_ssd)
			this_cpu_add(pool->stats->ssd_misses, count);
		this_cpu_add(pool->stats->home_read_blocks, count);
		if (k->mixed)
			kvp_read_end_beside(r, k);
		if (kvp_side_by_side(at->v->g, at->block, count) == count &&
		    point_at_leg(bio, k, at))
			return true;
		if (kvp_block_leg(pool, block) && kvp_long_read(r, bio, leaf, kvp_read_end_long))
			return false;
		if (k->mixed) {
			kvp_read_end_home(r, bio, false);
			return false;
		}
		k->leaf = NULL;
	}
	kvp_table_put(leaf);
	k->ssd.block = 0;
	if (class == HOME_ZERO && !k->mixed)
		read_zeros(pool, bio);
	else
		kvp_read_wait(r, bio, kvp_read_anew_work);
	return false;
}

/* Read, step 4, if the leaf is not in memory. Load it, and then read. */
static void read_home_work(struct work_struct *work)
{
	struct kvp_bio *k = container_of(work, struct kvp_bio, work);
	struct kvp_requests *r = k->requests;
	struct bio *bio = kvp_bio_of(k);
	struct kvp_spot at = kvp_locate(r->pool, kvp_bio_first(bio));
	struct kvp_tpage *leaf = kvp_table_load(r->pool->table, kvp_bio_first(bio));

	kvp_table_shrink(r->pool->table, false);
	/* The SSD cache was not read, if it ends here. */
	if (IS_ERR(leaf))
		k->ssd.block = 0;
	if (leaf == ERR_PTR(-ENOMEM) || (IS_ERR(leaf) && kvp_pool_waits(r->pool)))
		kvp_read_anew(r, bio);	/* which waits for memory, or legs */
	else if (IS_ERR(leaf))
		kvp_bio_end(bio, BLK_STS_IOERR);
	else if (remap_home(r, bio, k, &at, leaf))
		kvp_leg_send(k->leg, bio);
}

/* --- the write buffer ------------------------------------------------------------------------- */

enum kvp_buffered kvp_read_buffered(struct kvp_pool *pool, struct bio *bio, struct bvec_iter *iter,
				    kvp_block_t block)
{
	struct kvp_version *d = kvp_wbuf_find(pool->wbuf, block);

	if (d) {
		struct page *page = READ_ONCE(d->page);

		if (page)
			kvp_bio_copy_to(bio, iter, page_address(page));
		kvp_wbuf_unlock(pool->wbuf, block);
		return page ? KVP_BUFFER_HAD : KVP_BUFFER_HAS_NO_PAGE;
	}
	if (!kvp_wbuf_in_hole(pool->wbuf, block))
		return KVP_BUFFER_LACKS;
	kvp_bio_copy_to(bio, iter, NULL);
	return KVP_BUFFER_HAD;
}

/* Read, step 2. Serve from the buffer. False if a block has left it meanwhile, or is spilled. */
static bool read_buffer(struct kvp_pool *pool, struct bio *bio)
{
	struct bvec_iter iter = bio->bi_iter;
	kvp_block_t block = kvp_bio_first(bio);

	for (; iter.bi_size; block = kvp_block_add(block, 1))
		if (kvp_read_buffered(pool, bio, &iter, block) != KVP_BUFFER_HAD)
			return false;
	return true;
}

/* --- the RAM cache: reads that are small enough, all or nothing --------------------------- */

/*
 * Read, step 2, for blocks that are not buffered; the buffer was asked before. Copies blocks while
 * they may be evicted.
 */
static bool read_cached(struct kvp_pool *pool, struct bio *bio)
{
	u32 count = kvp_bio_count(bio), i;
	struct bvec_iter iter = bio->bi_iter;
	kvp_block_t block = kvp_bio_first(bio);

	if (count > CACHED_BLOCKS || !kvp_rcache_enabled(pool->rcache))
		return false;
	for (i = 0; i < count; i++) {
		struct page *page = kvp_rcache_get(pool->rcache, kvp_block_add(block, i));

		if (!page)
			return false;
		kvp_bio_copy_to(bio, &iter, page_address(page));
		kvp_rcache_put(page);
	}
	this_cpu_add(pool->stats->ram_hits, count);
	return true;
}

/*
 * Says whether the RAM cache should keep the blocks, if they come from home. It keeps none of reads
 * that are long or were cut. Of the others it keeps all that a file system calls important. Else it
 * keeps no blocks that are read ahead, since the kernel keeps those, and none of long streams.
 * It is asked about reads that hit the cache, too, since they are part of streams.
 */
static enum kvp_ram_bypass worth_keeping(struct kvp_pool *pool, struct bio *bio, bool whole)
{
	u32 run = kvp_streams_read(&pool->streams, kvp_block_nr(kvp_bio_first(bio)),
				   kvp_bio_count(bio));
	u64 cutoff = READ_ONCE(pool->tunables[KVP_T_SEQ_CUTOFF_READ]);

	if (!whole || kvp_bio_count(bio) > CACHED_BLOCKS)
		return KVP_RAM_LONG;
	if (bio->bi_opf & (REQ_META | REQ_PRIO))
		return KVP_RAM_KEEP;
	if (bio->bi_opf & REQ_RAHEAD)
		return KVP_RAM_AHEAD;
	return run <= cutoff >> KVP_BLOCK_SHIFT ? KVP_RAM_KEEP : KVP_RAM_STREAM;
}

/* The hints of a read for the policy of the SSD cache. */
static u32 ask_of(const struct bio *bio)
{
	return (bio->bi_opf & (REQ_META | REQ_PRIO) ? KVP_ASK_META : 0) |
	       (bio->bi_opf & (REQ_RAHEAD | REQ_BACKGROUND) ? KVP_ASK_AHEAD : 0);
}

/* The read comes from home, or from the SSD: decide whether a cache keeps its blocks. */
static void plan_fill(struct kvp_pool *pool, struct bio *bio, struct kvp_bio *k,
		      enum kvp_ram_bypass why)
{
	bool keep = why == KVP_RAM_KEEP && kvp_rcache_enabled(pool->rcache);

	k->may_fill = !k->ssd.block && kvp_admit_plan(pool->admission, kvp_bio_first(bio),
						      kvp_bio_count(bio), ask_of(bio), &k->plan);
	k->fill = keep;
	k->favoured = keep && bio->bi_opf & (REQ_META | REQ_PRIO);
	k->bypassed = kvp_rcache_enabled(pool->rcache) ? why : KVP_RAM_KEEP;
	if (!keep && k->bypassed)
		this_cpu_add(pool->stats->ram_bypassed[k->bypassed], kvp_bio_count(bio));
}

/* --- map ----------------------------------------------------------------------------- */

/*
 * Read, step 1.
 *
 * Returns how many of @n blocks, from the first on, are served the same way; @buffered: from the
 * buffer.
 */
static u32 alike(struct kvp_pool *pool, kvp_block_t block, u32 n, bool *buffered)
{
	u32 i;

	*buffered = false;
	if (!kvp_wbuf_any(pool->wbuf, block, n))
		return n;
	*buffered = kvp_wbuf_any(pool->wbuf, block, 1);
	for (i = 1; i < n; i++)
		if (kvp_wbuf_any(pool->wbuf, kvp_block_add(block, i), 1) != *buffered)
			break;
	return i;
}

/* True if a block is neither in the buffer nor on the SSD cache. */
static bool needs_home(struct kvp_pool *pool, kvp_block_t block, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++) {
		kvp_block_t b = kvp_block_add(block, i);

		if (!kvp_wbuf_any(pool->wbuf, b, 1) && !kvp_scache_has(pool->scache, b))
			return true;
	}
	return false;
}

/*
 * How many of @all blocks from @block on are read from home in one request. The first @n are not
 * buffered, and the next one is. More than @n are read if that saves cutting off MIXED_LEAST blocks
 * or more: a disk reads the buffered blocks along in the time in which a second request would come
 * round. With an SSD cache, the read must also be too long for it, and have a block that only home
 * has.
 */
static u32 mixed_blocks(struct kvp_pool *pool, kvp_block_t block, u32 all, u32 n)
{
	if (all - n < MIXED_LEAST)
		return n;
	if (!pool->vdevs.cache_client || (all > KVP_SCACHE_READ && needs_home(pool, block, all)))
		return all;
	return n;
}

/*
 * Take the token of the RAM cache, before the SSD cache is asked where the blocks lie. A version
 * that is written home after that look takes them out of the index, but this read goes to the place
 * that it has found. The token is for all blocks that may be kept: the read may still be cut.
 */
static void take_token(struct kvp_pool *pool, const struct bio *bio, struct kvp_bio *k)
{
	k->token_blocks = min(kvp_bio_count(bio), CACHED_BLOCKS);
	k->token = kvp_rcache_token(pool->rcache, kvp_bio_first(bio), k->token_blocks);
}

/*
 * Read, step 3. Cut @bio so that the SSD cache has all of it, or nothing. False if a cut is needed,
 * and @bio must not be cut.
 */
static bool cut_for_ssd(struct kvp_pool *pool, struct bio *bio, struct kvp_bio *k)
{
	u32 count = kvp_bio_count(bio);
	u32 n = kvp_scache_alike(pool->scache, kvp_bio_first(bio), count, &k->ssd);

	if (n == count)
		return true;
	if (kvp_requests_nowait(bio))
		return false;
	dm_accept_partial_bio(bio, n << KVP_SECTORS_SHIFT);
	k->iter = bio->bi_iter;
	this_cpu_sub(pool->stats->read_blocks, count - n);
	return true;
}

/*
 * Map a read whose first block is @at; the buffer has none of its blocks. @whole: the read was not
 * cut so far.
 */
static int map_unbuffered(struct kvp_requests *r, struct bio *bio, struct kvp_bio *k,
			  const struct kvp_spot *at, bool whole)
{
	enum kvp_ram_bypass why = KVP_RAM_KEEP;
	bool cached = !k->mixed && read_cached(r->pool, bio);
	struct kvp_tpage *leaf = NULL;

	if (!cached) {
		take_token(r->pool, bio, k);
		if (!cut_for_ssd(r->pool, bio, k))
			return kvp_requests_again(r, bio, kvp_bio_count(bio));
		leaf = kvp_table_find_at(r->pool->table, at);
		/* The same read comes again, so the caches are not told yet. */
		if (!leaf && kvp_requests_nowait(bio))
			return kvp_requests_again(r, bio, kvp_bio_count(bio));
	}
	if (kvp_rcache_enabled(r->pool->rcache))
		why = worth_keeping(r->pool, bio, whole);
	if (cached) {
		kvp_bio_end(bio, BLK_STS_OK);
		return DM_MAPIO_SUBMITTED;
	}
	plan_fill(r->pool, bio, k, k->mixed ? KVP_RAM_LONG : why);
	if (!leaf) {
		kvp_read_defer(r, bio, read_home_work);
		return DM_MAPIO_SUBMITTED;
	}
	if (!remap_home(r, bio, k, at, leaf))
		return DM_MAPIO_SUBMITTED;
	if (!kvp_leg_crowded(k->leg))
		return DM_MAPIO_REMAPPED;
	kvp_leg_send(k->leg, bio);
	return DM_MAPIO_SUBMITTED;
}

int kvp_read_map(struct kvp_requests *r, struct bio *bio, struct kvp_bio *k)
{
	struct kvp_pool *pool = r->pool;
	struct kvp_spot at = kvp_locate(pool, kvp_bio_first(bio));
	u32 count = kvp_bio_count(bio), all = min(count, at.left), n;	/* @all: below one leaf */
	bool buffered;

	n = alike(pool, kvp_bio_first(bio), all, &buffered);
	if (!buffered && n < all && !kvp_requests_nowait(bio)) {
		all = mixed_blocks(pool, kvp_bio_first(bio), all, n);
		k->mixed = all > n;
		n = all;
	}
	this_cpu_add(pool->stats->read_blocks, n);
	if (n < count && kvp_requests_nowait(bio))
		return kvp_requests_again(r, bio, n);
	if (n < count)
		dm_accept_partial_bio(bio, n << KVP_SECTORS_SHIFT);
	k->iter = bio->bi_iter;
	k->ssd.block = 0;
	if (!buffered)
		return map_unbuffered(r, bio, k, &at, n == count);
	if (read_buffer(pool, bio)) {
		this_cpu_add(pool->stats->buffer_read_blocks, n);
		kvp_bio_end(bio, BLK_STS_OK);
	} else {
		kvp_read_wait(r, bio, kvp_read_anew_work);
	}
	return DM_MAPIO_SUBMITTED;
}
