// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocks that were written home are read from the SSD that carries the log, as long as the SSD has
 * their newest versions.
 */
#include <linux/mm.h>
#include <string.h>

#include "script.h"
#include "cache/admission.h"
#include "cache/client.h"
#include "cache/scache.h"
#include "core/cache.h"
#include "policy/index.h"
#include "pool/cachemode.h"
#include "pool/cachevdev.h"
#include "ram/rcache.h"
#include "ram/wbuf.h"
#include "super/members.h"
#include "table/ssdcopy.h"
#include "table/table.h"

#define SMALL	3u	/* blocks of a write that is logged as data */
#define LARGE	64u	/* blocks of a direct write */

/* Of one turn. */
static struct {
	bool read;
	u8 twins[2][KVP_BLOCK_SIZE] __aligned(8);	/* contents with the same sum */
} own;

static void drop_ram(struct script *s)
{
	kvp_rcache_drop(s->host.pool->rcache);
}

/* Reads the blocks again; @hits of them come from the SSD. */
static void expect_hits(struct script *s, u64 first, u32 count, u32 hits)
{
	u32 before = s->host.ssd_reads, i;

	drop_ram(s);
	for (i = 0; i < count; i++)
		host_read_check(&s->host, first + i);
	if (s->host.ssd_reads - before != hits)
		sim_fail("%u of %u blocks from %llu on were read from the SSD, not %u",
			 s->host.ssd_reads - before, count, first, hits);
}

static u32 known(struct script *s, u64 first, u32 count)
{
	struct kvp_index_entry e;
	u32 n = 0;

	while (count--)
		n += kvp_index_find(&s->host.pool->scache->index, first + count, &e);
	return n;
}

static void write_small(struct script *s, u64 first, u32 count)
{
	u32 i;

	for (i = 0; i < count; i += SMALL) {
		host_write(&s->host, first + i, min(SMALL, count - i), false);
		host_flush(&s->host);
	}
}

static struct kvp_leg *ssd(struct script *s, u32 n)
{
	return host_leg(&s->host, s->start.legs - s->start.cache + n);
}

/* --- cases --------------------------------------------------------------------------- */

static void read_back(struct script *s)
{
	struct host *h = &s->host;

	write_small(s, 0, 39);
	host_checkpoint(h);
	expect_hits(s, 0, 39, 39);
	host_cache_check(h);
	write_small(s, 12, 9);
	host_checkpoint(h);
	expect_hits(s, 0, 39, 39);
	host_discard(h, 5, 4);
	host_checkpoint(h);
	expect_hits(s, 0, 39, 35);
	host_write_zeros(h, 20, 2);
	host_checkpoint(h);
	expect_hits(s, 0, 39, 33);
	host_cache_check(h);
	/* By intent: it never was in the log. */
	host_write(h, 0, LARGE, false);
	host_checkpoint(h);
	host_cache_check(h);
	expect_hits(s, 0, LARGE, 0);
}

#define TWIN	30u

static void overwrite_with_the_twin(struct host *h)
{
	host_write_special(h, TWIN, own.twins[1]);
	host_checkpoint(h);
}

/*
 * A reader has found the place of a block. A version with the same sum is written home before the
 * place is read: what lies there must not enter the RAM cache.
 */
static void place_of_a_twin(struct script *s)
{
	struct host *h = &s->host;
	u32 before, i;

	for (i = 0; i < KVP_BLOCK_SIZE; i++)
		own.twins[0][i] = (u8)(i * 7 + 1);
	same_sum(own.twins[0], own.twins[1], 100);
	host_write_special(h, TWIN, own.twins[0]);
	host_checkpoint(h);
	drop_ram(s);
	before = h->ssd_reads;
	h->amid_look = overwrite_with_the_twin;
	host_read_check(h, TWIN);
	if (h->amid_look || h->ssd_reads == before)
		sim_fail("the block did not come from the SSD: the case was not set up");
	host_read_check(h, TWIN);
	host_cache_check(h);
}

static void set_cutoff(struct script *s, u32 blocks)
{
	if (kvp_pool_set(s->host.pool, KVP_T_SEQ_CUTOFF_WRITE, (u64)blocks << KVP_BLOCK_SHIFT))
		sim_fail("the cutoff cannot be set");
}

static void expect_intents(struct script *s, const char *what, u64 before, u64 count)
{
	host_sleep(1500);
	if (s->host.pool->log->intent_blocks - before != count)
		sim_fail("%s: %llu blocks went past the SSD, not %llu", what,
			 s->host.pool->log->intent_blocks - before, count);
}

/*
 * A large write enters the SSD; a stream passes once it has gone on for long enough, although other
 * writes lie between its requests in the buffer; what passes over what entered is right all the
 * same.
 */
static void streams_pass(struct script *s)
{
	struct host *h = &s->host;
	u64 before = h->pool->log->intent_blocks;
	u32 i;

	set_cutoff(s, 0);
	host_write(h, 0, 128, false);
	expect_intents(s, "half a MiB", before, 0);
	host_checkpoint(h);
	expect_hits(s, 0, 128, 128);
	set_cutoff(s, 64);
	for (i = 0; i < 6; i++) {
		host_write(h, 256 + 24 * i, 24, false);
		host_write(h, 8 * i, 1, false);
	}
	/* 24 and 48 blocks are no stream yet. */
	expect_intents(s, "a stream beside others", before, 4 * 24);
	host_write(h, 240, 48, false);
	host_flush(h);
	host_checkpoint(h);
	expect_hits(s, 304, 96, 0);
	/* Long enough by itself, although it begins before the end of another write. */
	host_write(h, 450, 8, false);
	host_checkpoint(h);
	before = h->pool->log->intent_blocks;
	host_write(h, 440, 64, false);
	expect_intents(s, "a large write over a small one", before, 64);
	for (i = 0; i < POOL_BLOCKS; i++)
		host_read_check(h, i);
	host_cache_check(h);
	set_cutoff(s, 16);
}

/* No caller waits for a stream: only whole requests to the legs go home. The rest is buffered. */
static void stream_in_whole_requests(struct script *s)
{
	struct kvp_log *log = s->host.pool->log;
	u64 before = log->intent_blocks;

	set_cutoff(s, 64);
	kvp_wbuf_set_limit(s->host.pool->wbuf, 4 * 300);
	WRITE_ONCE(log->batch, 300);
	host_write(&s->host, 8, 200, false);
	host_write(&s->host, 208, 100, false);
	host_sleep(20);
	if (log->intent_blocks - before != 256 - 8)
		sim_fail("%llu blocks of a stream went by intent, not up to the end of a request",
			 log->intent_blocks - before);
	host_write(&s->host, 308, 140, false);
	host_flush(&s->host);
	if (log->intent_blocks - before != 440)
		sim_fail("%llu blocks of a stream went by intent, not 440",
			 log->intent_blocks - before);
	host_read_each(&s->host, 8, 440);
	set_cutoff(s, 16);
}

/*
 * A stream begins shortly before a request to a leg ends. What lies before that end is too short to
 * go home by intent alone. It goes together with what follows.
 */
static void stream_begins_within_a_request(struct script *s)
{
	struct kvp_log *log = s->host.pool->log;
	u64 before = log->intent_blocks, data = log->data_blocks;

	set_cutoff(s, 64);
	kvp_wbuf_set_limit(s->host.pool->wbuf, 4 * 300);
	WRITE_ONCE(log->batch, 100);
	host_write(&s->host, 248, 100, false);
	host_sleep(20);
	if (log->data_blocks != data || log->intent_blocks == before)
		sim_fail("%llu blocks of a stream became data, %llu went by intent",
			 log->data_blocks - data, log->intent_blocks - before);
	host_flush(&s->host);
	host_read_each(&s->host, 248, 100);
	set_cutoff(s, 16);
}

/* The log comes round, several times. */
static void round_and_round(struct script *s)
{
	struct kvp_pool *pool = s->host.pool;
	u64 begin = pool->log->head.lsn, all = kvp_log_blocks(pool->vdevs.log_vdev->g);
	u32 i;

	for (i = 0; pool->log->head.lsn - begin < 3 * all; i++) {
		u32 count = 1 + rng_below(&sim_rng, 12);

		host_write(&s->host, rng_below(&sim_rng, POOL_BLOCKS - count), count, false);
		host_flush(&s->host);
		if (i % 16 == 15)
			host_checkpoint(&s->host);
		if (i % 64 == 63)
			host_cache_check(&s->host);
	}
	host_checkpoint(&s->host);
	host_cache_check(&s->host);
	if (!kvp_scache_used(pool->scache))
		sim_fail("nothing is known of the SSD");
	for (i = 0; i < POOL_BLOCKS; i++)
		host_read_check(&s->host, i);
}

/* A rotten block there is a miss and no error of home, and is not read there again. */
static void rotten(struct script *s)
{
	struct host *h = &s->host;
	u8 junk[KVP_BLOCK_SIZE];
	struct kvp_on_ssd at;
	u32 i;

	write_small(s, 30, 3);
	host_checkpoint(h);
	kvp_scache_alike(h->pool->scache, 31, 1, &at);
	memset(junk, 0x55, sizeof(junk));
	for (i = 0; i < s->start.cache; i++)
		image_write_data(&disks.img[ssd(s, i)->bdev - disks.bdev], at.block, junk);
	expect_hits(s, 31, 1, 1);
	expect_hits(s, 30, 3, 2);
	for (i = 0; i < s->start.legs; i++)
		if (atomic64_read(&h->pool->legs[i].err_checksum))
			sim_fail("leg %u was blamed for an error of the SSD", i);
}

static void cannot_be_read(struct script *s)
{
	u32 i;

	write_small(s, 30, 3);
	host_checkpoint(&s->host);
	for (i = 0; i < s->start.cache; i++)
		disks_fault(FAULT_READ_EIO, ssd(s, i)->bdev - disks.bdev, 0, ~0ull);
	expect_hits(s, 30, 3, 0);
	if (known(s, 30, 3))
		sim_fail("blocks that cannot be read are still known");
}

static void read_task(void *arg)
{
	struct script *s = arg;

	host_read_check(&s->host, 31);
	own.read = true;
}

/* A read of the SSD hangs. Meanwhile the block changes, and the new version goes home. */
static void changes_meanwhile(struct script *s)
{
	struct host *h = &s->host;
	struct kvp_on_ssd at;
	u32 i;

	write_small(s, 30, 3);
	host_checkpoint(h);
	kvp_scache_alike(h->pool->scache, 31, 1, &at);
	drop_ram(s);
	for (i = 0; i < s->start.cache; i++)
		disks_stall(ssd(s, i)->bdev - disks.bdev, at.block, at.block + 1);
	sim_spawn("reader", read_task, s);
	host_sleep(50);
	write_small(s, 31, 1);
	host_checkpoint(h);
	if (own.read)
		sim_fail("the read did not hang: the case was not set up");
	for (i = 0; i < disks.nr; i++)
		disks_release(i);
	host_sleep(50);
	if (!own.read)
		sim_fail("the read has not ended");
	host_cache_check(h);
}

/* The SSDs die: the log moves, and everything is read from home. */
static void ssds_die(struct script *s)
{
	struct kvp_index_entry e;
	u32 i;

	write_small(s, 0, 30);
	host_checkpoint(&s->host);
	expect_hits(s, 0, 30, 30);
	for (i = 0; i < s->start.cache; i++)
		disks_kill(ssd(s, i)->bdev - disks.bdev);
	write_small(s, 15, 6);
	host_checkpoint(&s->host);
	for (i = 15; i < 21; i++)
		if (kvp_index_find(&s->host.pool->scache->index, i, &e))
			sim_fail("block %u is known to lie on the SSD, and never was there", i);
	expect_hits(s, 0, 30, 0);
	host_cache_check(&s->host);
}

static u8 seen[KVP_BLOCK_SIZE];

/* Every home of @block, or of its row, and one SSD's copy if there are two. */
static void spoil(struct script *s, u64 block)
{
	struct kvp_pool *pool = s->host.pool;
	struct kvp_spot spot = kvp_locate(pool, block);
	struct kvp_place home = kvp_data_place(spot.v->g, spot.block);
	struct kvp_on_ssd at;
	u32 i;

	memset(seen, 0x33, sizeof(seen));
	for (i = 0; i < spot.v->nr_legs; i++)
		image_write_data(&disks.img[spot.v->legs[i].bdev - disks.bdev], home.block, seen);
	kvp_scache_alike(pool->scache, block, 1, &at);
	if (!at.block)
		sim_fail("block %llu is not on the SSD: the case was not set up", block);
	if (s->start.cache > 1)
		image_write_data(&disks.img[ssd(s, 0)->bdev - disks.bdev], at.block, seen);
}

/* No leg has it any more, and the SSD has: a scrub brings it back. */
static void rescued(struct script *s)
{
	struct host *h = &s->host;
	struct kvp_vdev *cache = h->pool->scache->v;
	u64 healed, unrepaired;

	write_small(s, 30, 3);
	host_checkpoint(h);
	drop_ram(s);
	spoil(s, 31);
	host_scrub(h, &healed, &unrepaired);
	if (!healed)
		sim_fail("nothing was healed");
	if (kvp_has_data(h->pool->vdevs.log_vdev->g))
		sim_fail("the log is not on the cache");
	/* with a parity1 the other blocks of the row are lost, which were not written lately */
	if (unrepaired && !s->start.parity)
		sim_fail("%llu blocks are lost", unrepaired);
	/* From home. */
	h->pool->scache->v = NULL;
	drop_ram(s);
	host_read_check(h, 31);
	h->pool->scache->v = cache;
	/* One SSD's copy is rotten, and host_cache_check() would see it. */
	kvp_cache_mistrust(h->pool, 31, 1);
}

/* No leg has the block any more. The SSD may have it, but does not answer: it is not given up. */
static void rescue_is_silent(struct script *s)
{
	struct host *h = &s->host;
	u8 data[KVP_BLOCK_SIZE];
	u32 i;

	write_small(s, 30, 3);
	host_checkpoint(h);
	drop_ram(s);
	spoil(s, 31);
	for (i = 0; i < s->start.cache; i++)
		disks_fault(FAULT_READ_EIO, ssd(s, i)->bdev - disks.bdev, 0, ~0ull);
	if (!host_read(h, 31, data))
		sim_fail("a block was read of which there is no copy");
	if (h->pool->table->poisoned)
		sim_fail("poisoned, and the SSD has it");
	disks.nr_faults = 0;
	host_read_check(h, 31);
	kvp_cache_mistrust(h->pool, 31, 1);
}

/* The same, and the SSD says that it has lost it: by a bad sector, or by sums of its own. */
static void rescue_is_lost(struct script *s)
{
	struct host *h = &s->host;
	u8 data[KVP_BLOCK_SIZE];
	u32 i;

	write_small(s, 30, 3);
	host_checkpoint(h);
	drop_ram(s);
	spoil(s, 31);
	for (i = 0; i < s->start.cache; i++)
		disks_fault(FAULT_READ_EIO, ssd(s, i)->bdev - disks.bdev, 0, ~0ull)->error =
			i % 2 ? -ENODATA : -EILSEQ;
	if (!host_read(h, 31, data))
		sim_fail("a block was read of which there is no copy");
	if (!h->pool->table->poisoned)
		sim_fail("not poisoned, though all devices say that they have lost it");
	disks.nr_faults = 0;
	write_small(s, 30, 3);
	host_checkpoint(h);
	kvp_cache_mistrust(h->pool, 31, 1);
}

/* A reader notices that the log has overwritten the place that it found. */
static void comes_round(struct script *s)
{
	struct kvp_pool *pool = s->host.pool;
	u64 all = kvp_log_blocks(pool->vdevs.log_vdev->g), found;
	struct kvp_on_ssd at, still;
	u32 i;

	write_small(s, 30, 3);
	host_checkpoint(&s->host);
	found = pool->log->head.lsn;
	kvp_scache_alike(pool->scache, 31, 1, &at);
	for (i = 0; pool->log->head.lsn - found < all + 8; i++) {
		kvp_scache_alike(pool->scache, 31, 1, &still);
		if (still.block == at.block && !kvp_scache_intact(pool->scache, &at))
			sim_fail("it lies there, and is said not to");
		if (!still.block && kvp_scache_intact(pool->scache, &at))
			sim_fail("it lies there no more, and is said to");
		write_small(s, 64 + i % 64, 1);
		if (i % 16 == 15)
			host_checkpoint(&s->host);
	}
	if (kvp_scache_intact(pool->scache, &at))
		sim_fail("the log has come round, and it is said to lie there");
}

/* --- the ring of a cache without the log ---------------------------------------------------- */

static void expect_ring(struct script *s)
{
	if (!kvp_has_data(s->host.pool->vdevs.log_vdev->g))
		sim_fail("the log is on the cache");
}

static void read_from_home(struct script *s, u64 first, u32 count)
{
	u32 i;

	drop_ram(s);
	for (i = 0; i < count; i++)
		host_read_check(&s->host, first + i);
	host_sleep(50);
}

static void set_mode(struct script *s, u64 mode)
{
	if (kvp_cache_set_mode(s->host.pool, mode, true, &s->host.refusal))
		sim_fail("mode not set: %s", s->host.refusal.why);
}

/* Read blocks are admitted; written ones too, but not in writearound. */
static void ring_fills(struct script *s)
{
	struct host *h = &s->host;
	u32 i;

	expect_ring(s);
	read_from_home(s, 64, 40);
	expect_hits(s, 64, 40, 40);
	/* Neighbours that are written home together, or the buffer, may keep it out for once. */
	for (i = 0; i < 8 && !known(s, 0, 30); i++) {
		write_small(s, 0, 30);
		host_checkpoint(h);
		host_sleep(50);
	}
	if (!known(s, 0, 30))
		sim_fail("no written block is known");
	host_cache_check(h);
	write_small(s, 70, 6);
	host_discard(h, 80, 4);
	host_checkpoint(h);
	host_sleep(50);
	host_cache_check(h);
	set_mode(s, KVP_CACHE_WRITEAROUND);
	write_small(s, 0, 30);
	host_checkpoint(h);
	host_sleep(50);
	if (known(s, 0, 30))
		sim_fail("blocks written round the cache are known there");
	host_cache_check(h);
	if (known(s, 64, 6) != 6)
		sim_fail("blocks that were read are not known any more");
}

/* The device is suspended while fills are in flight: after that nothing is written. */
static void ring_suspend(struct script *s)
{
	struct kvp_pool *pool = s->host.pool;
	u32 events, i;

	expect_ring(s);
	drop_ram(s);
	for (i = 0; i < 40; i++)
		host_read_check(&s->host, 64 + i);
	kvp_pool_quiesce(pool);
	events = disks.trace.nr;
	host_sleep(50);
	if (disks.trace.nr != events)
		sim_fail("something was written while the device was suspended");
	kvp_pool_unquiesce(pool);
	read_from_home(s, 64, 40);
	read_from_home(s, 64, 40);
	if (!known(s, 64, 40))
		sim_fail("nothing enters after the suspend");
}

static u64 ring_at(struct script *s)
{
	return s->host.pool->scache->wiped;
}

/* The ring comes round, several times, while the log goes onto the cache and off it. */
static void ring_round(struct script *s)
{
	struct kvp_pool *pool = s->host.pool;
	u64 all = kvp_log_blocks(kvp_pool_cache(pool)->g);
	u32 i;

	for (i = 0; pool->log->ssd_blocks[KVP_LOG_FILLS] < 3 * all &&
	     i < (s->start.cache_parity ? 12000 : 4000); i++) {
		u32 count = 1 + rng_below(&sim_rng, 12);

		host_write(&s->host, rng_below(&sim_rng, POOL_BLOCKS - count), count, false);
		host_flush(&s->host);
		if (i % 4 == 3)
			read_from_home(s, rng_below(&sim_rng, POOL_BLOCKS - 24), 24);
		if (i % 16 == 15)
			host_checkpoint(&s->host);
		if (i % 64 == 63)
			host_cache_check(&s->host);
		if (s->start.parity || i % 256 != 255)
			continue;
		set_mode(s, KVP_CACHE_WRITEBACK);
		host_cache_check(&s->host);
		write_small(s, 12, 9);
		host_checkpoint(&s->host);
		set_mode(s, KVP_CACHE_WRITETHROUGH);
	}
	if (pool->log->ssd_blocks[KVP_LOG_FILLS] < 2 * all)
		sim_fail("%llu blocks have entered: the case was not set up",
			 pool->log->ssd_blocks[KVP_LOG_FILLS]);
	host_checkpoint(&s->host);
	host_sleep(50);
	host_cache_check(&s->host);
	if (!kvp_scache_used(pool->scache))
		sim_fail("nothing is known of the SSD");
	for (i = 0; i < POOL_BLOCKS; i++)
		host_read_check(&s->host, i);
}

/* A reader notices that the ring has overwritten the place that it found. */
static void ring_comes_round(struct script *s)
{
	struct kvp_pool *pool = s->host.pool;
	u64 all = kvp_log_blocks(kvp_pool_cache(pool)->g), found;
	struct kvp_on_ssd at, still;
	u32 i;

	read_from_home(s, 64, 8);
	found = ring_at(s);
	kvp_scache_alike(pool->scache, 66, 1, &at);
	if (!at.block)
		sim_fail("it is not on the SSD: the case was not set up");
	for (i = 0; ring_at(s) - found < all + 8 && i < 8000; i++) {
		kvp_scache_alike(pool->scache, 66, 1, &still);
		if (still.block == at.block && !kvp_scache_intact(pool->scache, &at))
			sim_fail("it lies there, and is said not to");
		if (!still.block && kvp_scache_intact(pool->scache, &at))
			sim_fail("it lies there no more, and is said to");
		write_small(s, 128 + 12 * (i % 24), 12);
		if (i % 8 != 7)
			continue;
		host_checkpoint(&s->host);
		host_sleep(20);
	}
	if (kvp_scache_intact(pool->scache, &at))
		sim_fail("the ring has come round, and it is said to lie there");
}

/*
 * An SSD takes no more writes: it admits no blocks, and is given up. All of them fail, or too many:
 * home.
 */
static void ring_ssds_fail(struct script *s)
{
	struct host *h = &s->host;
	u32 i;

	read_from_home(s, 64, 8);
	for (i = 0; i < (s->start.cache_parity ? 2 : s->start.cache); i++) {
		disks_fault(FAULT_WRITE_EIO, ssd(s, i)->bdev - disks.bdev, 0, ~0ull);
		read_from_home(s, 80 + 16 * i, 8);
		host_sleep(200);
		if (kvp_leg_in_sync(ssd(s, i)))
			sim_fail("an SSD that takes no writes is in use");
		host_cache_check(h);
	}
	write_small(s, 64, 6);
	host_checkpoint(h);
	expect_hits(s, 64, 8, 0);
}

/* --- copies of table pages ---------------------------------------------------------------- */

/* Reads all pages of the table again, from the SSDs or from the disks. */
static void expect_table(struct script *s, bool from_ssds)
{
	struct kvp_work_stats *w = &s->host.pool->work_stats;
	u64 ssds, disks;
	u32 i;

	kvp_ssdcopy_drain(s->host.pool->ssdcopies);
	kvp_table_shrink(s->host.pool->table, true);
	if (s->host.pool->table->nr_pages)
		sim_fail("%u pages are still in memory", s->host.pool->table->nr_pages);
	ssds = atomic64_read(&w->ssd_page_reads);
	disks = atomic64_read(&w->page_reads);
	drop_ram(s);
	for (i = 0; i < 39; i++)
		host_read_check(&s->host, i);
	ssds = atomic64_read(&w->ssd_page_reads) - ssds;
	disks = atomic64_read(&w->page_reads) - disks;
	if (!ssds != !from_ssds || !disks != from_ssds)
		sim_fail("%llu pages were read from SSDs, %llu from disks", ssds, disks);
}

/* Where the page above block 0 lies on the SSDs; level 0 is the leaf. */
static u64 page_copy(struct script *s, u32 level)
{
	return kvp_ssdcopy_place(kvp_pool_cache(s->host.pool), 0, level, 0);
}

static u32 levels(struct script *s)
{
	return s->host.pool->vdevs.v[0].g->levels;
}

static void on_all_ssds(struct script *s, u64 block, const void *what)
{
	u32 i;

	for (i = 0; i < s->start.cache; i++)
		image_write_data(&disks.img[ssd(s, i)->bdev - disks.bdev], block, what);
}

static void table_on_ssds(struct script *s)
{
	u8 junk[KVP_BLOCK_SIZE];
	u32 i;

	memset(junk, 0x55, sizeof(junk));
	if (!page_copy(s, 0))
		sim_fail("a cache without room for copies");
	write_small(s, 0, 39);
	host_checkpoint(&s->host);
	expect_table(s, true);
	/* pages read from the disks are on the SSDs afterwards */
	for (i = 0; i < levels(s); i++)
		on_all_ssds(s, page_copy(s, i), junk);
	expect_table(s, false);
	expect_table(s, true);
}

static void keep_copy(struct script *s, u32 level, u8 *kept)
{
	struct blk *b = NULL;
	u32 i;

	for (i = 0; !b && i < s->start.cache; i++)
		b = image_blk(&disks.img[ssd(s, i)->bdev - disks.bdev], page_copy(s, level));
	if (!b)
		sim_fail("no SSD has the page of level %u", level);
	memcpy(kept, b->data, KVP_BLOCK_SIZE);
}

/* A copy of an older version of a page does not count. */
static void older_table_on_ssds(struct script *s)
{
	u8 older[KVP_MAX_LEVELS][KVP_BLOCK_SIZE];
	u32 i;

	write_small(s, 0, 39);
	host_checkpoint(&s->host);
	kvp_ssdcopy_drain(s->host.pool->ssdcopies);
	for (i = 0; i < levels(s); i++)
		keep_copy(s, i, older[i]);
	write_small(s, 12, 9);
	host_checkpoint(&s->host);
	kvp_ssdcopy_drain(s->host.pool->ssdcopies);
	for (i = 0; i < levels(s); i++)
		on_all_ssds(s, page_copy(s, i), older[i]);
	expect_table(s, false);
	for (i = 0; i < s->start.legs; i++)
		if (atomic64_read(&s->host.pool->legs[i].err_checksum))
			sim_fail("leg %u was blamed for an older copy", i);
}

/* SSDs that fail are asked in vain. */
static void table_ssds_fail(struct script *s)
{
	u32 i;

	write_small(s, 0, 39);
	host_checkpoint(&s->host);
	kvp_ssdcopy_drain(s->host.pool->ssdcopies);
	for (i = 0; i < s->start.cache; i++)
		disks_fault(FAULT_READ_EIO, ssd(s, i)->bdev - disks.bdev,
			    kvp_pool_cache(s->host.pool)->g->table_start, ~0ull);
	expect_table(s, false);
}

/* All disks have lost the page: users do not notice. */
static void table_on_ssds_alone(struct script *s)
{
	const struct kvp_geometry *g = s->host.pool->vdevs.v[0].g;
	u8 zeros[KVP_BLOCK_SIZE] = { 0 };
	u32 i;
	u64 b;

	write_small(s, 0, 39);
	host_checkpoint(&s->host);
	for (i = 0; i < s->start.legs - s->start.cache; i++)
		for (b = g->table_start; b < g->log_start; b++)
			image_write_data(&disks.img[i], b, zeros);
	expect_table(s, true);
}

/*
 * Pages of the same number, of other levels and vdevs, do not take each other's place: a leaf is
 * always read together with the page above it.
 */
static void table_pages_apart(struct script *s)
{
	u64 at[2 * KVP_MAX_LEVELS];
	u32 i, j;

	for (i = 0; i < ARRAY_SIZE(at); i++) {
		at[i] = kvp_ssdcopy_place(kvp_pool_cache(s->host.pool), i / KVP_MAX_LEVELS,
					  i % KVP_MAX_LEVELS, 0);
		for (j = 0; j < i; j++)
			if (at[i] == at[j])
				sim_fail("pages %u and %u share place %llu", j, i, at[i]);
	}
}

/* For kind parity1: each place can be on any SSD; with too few SSDs, on none. */
static void table_without_ssds(struct script *s)
{
	u32 i;

	write_small(s, 0, 39);
	host_checkpoint(&s->host);
	expect_table(s, true);
	for (i = 0; i < 2; i++) {
		disks_kill(ssd(s, i)->bdev - disks.bdev);
		write_small(s, 0, 39);
		host_checkpoint(&s->host);
		expect_table(s, !i);
	}
	expect_table(s, false);
}

/* --- running them --------------------------------------------------------------------------- */

/* So that more than one goes into a row at a time. */
static void gather_rows(struct script *s)
{
	if (s->start.cache_parity && s->start.writethrough)
		s->host.pool->admission->gather = msecs_to_jiffies(20);
}

static void run_case(const char *what, const struct host_start *shape,
		     void (*act)(struct script *s))
{
	char name[128];
	struct script_case c = {
		.name = name, .shape = shape, .begin = gather_rows, .act = act,
		.turns = opt.thorough ? 32 : 4,
		.own = &own, .own_size = sizeof(own),
	};

	snprintf(name, sizeof(name), "%s:%s+%u%s:%s", shape->writethrough ? "ring" : "scache",
		 shape->parity ? "parity" : shape->cache_parity ? "parity1" : "mirror",
		 shape->cache, host_window(shape), what);
	script_run(&c);
}

/* Other SSDs have no room for any. */
static void run_ssdcopies(const struct host_start *shape)
{
	struct host_start large = *shape;

	if (large.parity)
		return;
	large.large = true;
	run_case("table-on-ssds", &large, table_on_ssds);
	run_case("table-pages-apart", &large, table_pages_apart);
	if (large.writethrough)
		return;
	run_case("older-table-on-ssds", &large, older_table_on_ssds);
	run_case("table-ssds-fail", &large, table_ssds_fail);
	run_case("table-on-ssds-alone", &large, table_on_ssds_alone);
	if (large.cache_parity)
		run_case("table-without-ssds", &large, table_without_ssds);
}

/*
 * For kind parity1: one SSD is gone. Blocks of the others are read there; its own are read from
 * home, and admitted again.
 */
static void ring_without_one(struct script *s)
{
	struct host *h = &s->host;
	u32 had, i;

	read_from_home(s, 64, 60);
	expect_hits(s, 64, 60, 60);
	disks_kill(ssd(s, 1)->bdev - disks.bdev);
	kvp_leg_give_up(ssd(s, 1), "it is dead");
	had = s->host.ssd_reads;
	read_from_home(s, 64, 60);
	had = s->host.ssd_reads - had;
	if (had < 30 || had > 50)
		sim_fail("%u of 60 blocks were read from two SSDs of three", had);
	for (i = 0; i < 12 && known(s, 64, 60) < 60; i++)
		read_from_home(s, 64, 60);
	expect_hits(s, 64, 60, 60);
	if (known(s, 64, 60) != 60)
		sim_fail("%u of 60 blocks are known", known(s, 64, 60));
	host_cache_check(h);
	write_small(s, 64, 30);
	host_checkpoint(h);
	host_sleep(50);
	host_cache_check(h);
	for (i = 0; i < 60; i++)
		host_read_check(h, 64 + i);
}

/* A cache without the log. */
static void run_ring(const struct host_start *ring)
{
	run_case("fills", ring, ring_fills);
	run_case("suspend", ring, ring_suspend);
	run_ssdcopies(ring);
	run_case("round-and-round", ring, ring_round);
	run_case("comes-round", ring, ring_comes_round);
	run_case("ssds-fail", ring, ring_ssds_fail);
}

void run_scache(void)
{
	static const struct host_start shapes[] = {
		{ .legs = 3, .cache = 1 }, { .legs = 4, .cache = 2 },
		{ .legs = 4, .parity = true, .cache = 1 },
	};
	static const struct host_start striped = { .legs = 5, .cache = 3, .cache_parity = true };
	static const struct host_start striped_ring = { .legs = 5, .cache = 3, .cache_parity = true,
							.writethrough = true };
	static const struct host_start windows[] = {
		{ .legs = 4, .cache = 2, .cache_dirty = WIDE_WINDOW },
		{ .legs = 3, .cache = 1, .cache_dirty = NARROW_WINDOW },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(windows); i++) {
		run_case("round-and-round", &windows[i], round_and_round);
		run_case("comes-round", &windows[i], comes_round);
	}
	run_reinserts(&windows[0]);
	run_ssdcopies(&striped);
	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		run_case("read-back", &shapes[i], read_back);
		run_case("place-of-a-twin", &shapes[i], place_of_a_twin);
		run_case("streams-pass", &shapes[i], streams_pass);
		if (!shapes[i].parity)
			run_case("stream-in-whole-requests", &shapes[i], stream_in_whole_requests);
		run_case("stream-begins-within-a-request", &shapes[i],
			 stream_begins_within_a_request);
		run_case("round-and-round", &shapes[i], round_and_round);
		run_case("rotten", &shapes[i], rotten);
		run_case("cannot-be-read", &shapes[i], cannot_be_read);
		run_case("changes-meanwhile", &shapes[i], changes_meanwhile);
		run_case("ssds-die", &shapes[i], ssds_die);
		run_case("rescued", &shapes[i], rescued);
		run_case("rescue-is-silent", &shapes[i], rescue_is_silent);
		run_case("rescue-is-lost", &shapes[i], rescue_is_lost);
		run_case("comes-round", &shapes[i], comes_round);
		run_ssdcopies(&shapes[i]);
		run_fills(&shapes[i]);
		run_reinserts(&shapes[i]);
	}
	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		struct host_start ring = shapes[i];

		ring.writethrough = true;
		run_ring(&ring);
	}
	run_ring(&striped_ring);
	run_case("without-one", &striped_ring, ring_without_one);
}
