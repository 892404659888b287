// SPDX-License-Identifier: GPL-2.0-only
/*
 * A cache of kind parity1. A separate reader verifies that durable contents of its log can be read
 * without any one of its SSDs. The pool's users notice nothing meanwhile.
 */
#include <stdlib.h>
#include <string.h>

#include <linux/mm.h>

#include "cache/client.h"
#include "cache/scache.h"
#include "format/logstripe.h"
#include "log/spill.h"
#include "policy/index.h"
#include "ram/rcache.h"
#include "ram/wbuf.h"
#include "recovery/recovery.h"
#include "table/table.h"
#include "script.h"

#define BUFFER	16u	/* pages: so that there is not room for much */
#define FIRST	64u	/* blocks that are written */
#define COUNT	120u

/* --- a reader of the log --------------------------------------------------------------- */

/* A log as it is on all SSDs but one. */
struct reader {
	struct kvp_pool *pool;
	const struct kvp_geometry *g;
	u32 first, without;	/* disks */
	u32 entries, made;
	u8 hdr[KVP_MAX_HDR_BLOCKS * KVP_BLOCK_SIZE];
};

static bool have(const struct reader *r, u64 lsn)
{
	return r->first + kvp_log_place(r->g, lsn, 0).leg != r->without;
}

static void get(const struct reader *r, u64 lsn, void *data)
{
	struct kvp_place at = kvp_log_place(r->g, lsn, 0);

	image_read(&disks.img[r->first + at.leg], at.block, data);
}

static bool get_header(struct reader *r, u64 lsn, struct kvp_log_hdr *h)
{
	const struct kvp_sb *sb = r->pool->sb;
	struct kvp_why why;
	u32 i;

	for (i = 0; i < KVP_MAX_HDR_BLOCKS; i++)
		get(r, have(r, lsn + 2 * i) ? lsn + 2 * i : lsn + 2 * i + 1,
		    r->hdr + i * KVP_BLOCK_SIZE);
	return !kvp_log_decode(r->g, r->hdr, KVP_MAX_HDR_BLOCKS, sb->nonce, r->pool->log->nonce,
			       lsn,
			       sb->pool_blocks, h, &why);
}

/* From its row, if it is not there. */
static void get_payload(struct reader *r, const struct kvp_log_hdr *h, u32 i, u8 *data)
{
	const struct kvp_log_stripe s = { r->g->leg_count, h->hdr_blocks, h->payload };
	u32 at = kvp_log_stripe_payload(&s, i), first, end, b;
	u8 other[KVP_BLOCK_SIZE];

	if (have(r, h->lsn + at)) {
		get(r, h->lsn + at, data);
		return;
	}
	r->made++;
	memset(data, 0, KVP_BLOCK_SIZE);
	for (first = kvp_log_stripe_row(&s, at, &end); first < end; first++) {
		if (first == at)
			continue;
		get(r, h->lsn + first, other);
		for (b = 0; b < KVP_BLOCK_SIZE; b++)
			data[b] ^= other[b];
	}
}

static void read_entry(struct reader *r, const struct kvp_log_hdr *h)
{
	const struct kvp_disk_rec *recs = (void *)(r->hdr + KVP_LOG_HDR_SIZE);
	u8 data[KVP_BLOCK_SIZE];
	u32 i, n = 0;

	for (i = 0; i < h->rec_count; i++) {
		struct kvp_rec rec;

		kvp_rec_decode(&recs[i], &rec);
		if (!kvp_rec_has_payload(&rec))
			continue;
		get_payload(r, h, n++, data);
		if (kvp_recovery_sum(r->pool, &rec, data) != rec.crc)
			sim_fail("entry %llu, without disk %u: block %llu is not what was written",
				 h->lsn, r->without, rec.block);
	}
}

/* Read all durable entries behind the tail. No entry may be in flight. */
static void read_log(struct script *s, struct reader *r)
{
	struct kvp_pool *pool = s->host.pool;
	u64 lsn = pool->log->tail, end = pool->log->durable.lsn;
	struct kvp_log_hdr h;

	r->pool = pool;
	r->g = pool->vdevs.log_vdev->g;
	r->first = script_first_ssd(s);
	while (lsn < end) {
		if (!get_header(r, lsn, &h)) {
			lsn = kvp_log_segment_end(r->g, lsn);
			continue;
		}
		if (h.lsn + h.blocks + kvp_log_kept(r->g) > kvp_log_segment_end(r->g, h.lsn))
			sim_fail("entry %llu lies where the segment's summary goes", h.lsn);
		read_entry(r, &h);
		r->entries++;
		lsn = h.lsn + h.blocks;
	}
	if (lsn != end)
		sim_fail("without disk %u the log ends at %llu, not at %llu", r->without, lsn, end);
	if (end != pool->log->tail && h.lsn != pool->log->durable.prev_lsn)
		sim_fail("without disk %u the last entry is %llu, not %llu", r->without, h.lsn,
			 pool->log->durable.prev_lsn);
}

/*
 * Checks the log without each SSD, but only while all SSDs are in use. Returns the number of
 * entries.
 */
static u32 check_log(struct script *s)
{
	struct reader *r = kmalloc(sizeof(*r), GFP_KERNEL);
	bool whole = kvp_vdev_usable(s->host.pool->vdevs.log_vdev) == s->start.cache;
	u32 k, n = 0;

	for (k = script_first_ssd(s); k < s->legs; k++) {
		if (!whole && kvp_leg_in_sync(host_leg(&s->host, k)))
			continue;
		memset(r, 0, sizeof(*r));
		r->without = k;
		read_log(s, r);
		n = r->entries;
		if (n > 3 * s->start.cache && !r->made)
			sim_fail("nothing had to be made: the case was not set up");
	}
	kfree(r);
	return n;
}

/* --- what happens ------------------------------------------------------------------------ */

/* Entries of all sizes, with discards, zeros and intents among the data. */
static void write_mixed(struct script *s, u32 nr)
{
	struct host *h = &s->host;
	struct rng rng = { mix64(s->seed, nr) };
	u32 i, k;

	for (i = 0; i < nr; i++) {
		for (k = rng_below(&rng, 4); k < 4; k++) {
			u64 block = FIRST + rng_below(&rng, COUNT);
			u32 count = 1 + rng_below(&rng, i % 3 ? 4 : 24);

			switch (rng_below(&rng, 8)) {
			case 0:
				host_discard(h, block, count);
				break;
			case 1:
				host_write_zeros(h, block, 1);
				break;
			default:
				host_write(h, block, count, false);
			}
		}
		host_flush(h);
	}
}

/* More is dirty than RAM holds; in entries of one block and of several. */
static void spill(struct script *s)
{
	u64 block;

	kvp_wbuf_set_limit(s->host.pool->wbuf, BUFFER);
	disks_hold_homes(script_first_ssd(s), POOL_BLOCKS);
	host_occupy_destage(&s->host);
	host_write_each(&s->host, FIRST, COUNT / 2);
	for (block = FIRST + COUNT / 2; block < FIRST + COUNT; block += 5) {
		host_write(&s->host, block, 5, false);
		host_flush(&s->host);
	}
	if (s->host.pool->wbuf->nr_lone < COUNT / 2)
		sim_fail("%u of %u versions are spilled: the case was not set up",
			 s->host.pool->wbuf->nr_lone, COUNT);
}

static void write_all_home(struct script *s)
{
	disks_release_all();
	host_checkpoint(&s->host);
	if (s->host.pool->wbuf->nr_lone || s->host.pool->wbuf->nr_spilled)
		sim_fail("some are still spilled");
	host_cache_check(&s->host);
}

static void expect_log(struct script *s, bool on_cache)
{
	if (kvp_has_data(s->host.pool->vdevs.log_vdev->g) == on_cache)
		sim_fail("the log is on vdev %u", s->host.pool->vdevs.log_vdev->index);
}

static void expect_none_lost(struct script *s)
{
	if (s->host.pool->table->poisoned)
		sim_fail("%llu blocks are poisoned", s->host.pool->table->poisoned);
	host_read_each(&s->host, FIRST, COUNT);
}

/* --- cases --------------------------------------------------------------------------- */

/* Round the ring, and all the time every SSD can be done without. */
static void without_any(struct script *s)
{
	struct kvp_pool *pool = s->host.pool;
	u64 begin = pool->log->head.lsn;
	u32 entries = 0;

	expect_log(s, true);
	while (pool->log->head.lsn - begin < kvp_log_blocks(pool->vdevs.log_vdev->g) + 64) {
		write_mixed(s, 8);
		flush_delayed_work(&pool->log->post_work);
		entries += check_log(s);
	}
	if (entries < 100)
		sim_fail("%u entries: the case was not set up", entries);
	host_read_each(&s->host, FIRST, COUNT);
	host_checkpoint(&s->host);
	host_cache_check(&s->host);
	expect_none_lost(s);
	host_stop(&s->host);
}

/* One SSD takes no writes any more: it is given up and recorded, and users notice nothing. */
static void one_fails(struct script *s)
{
	u32 k = script_first_ssd(s) + (u32)(s->seed % s->start.cache);

	write_mixed(s, 6);
	disks_fault(FAULT_WRITE_EIO, k, 0, ~0ull);
	write_mixed(s, 12);
	expect_log(s, true);
	if (kvp_leg_in_sync(host_leg(&s->host, k)) ||
	    s->host.pool->sb->legs[host_leg(&s->host, k)->index].state == KVP_LEG_IN_SYNC)
		sim_fail("the SSD was not given up");
	check_log(s);
	expect_none_lost(s);
	host_checkpoint(&s->host);
	write_mixed(s, 12);
	check_log(s);
	host_checkpoint(&s->host);
	host_cache_check(&s->host);
	expect_none_lost(s);
	host_stop(&s->host);
}

/*
 * Two SSDs fail: the log on the rest is incomplete, so it moves. Waiting requests are answered
 * then.
 */
static void two_fail(struct script *s)
{
	u32 k = (u32)(s->seed % s->start.cache), i;

	write_mixed(s, 6);
	for (i = 0; i < 2; i++)
		disks_fault(FAULT_WRITE_EIO, script_first_ssd(s) + (k + i) % s->start.cache,
			    0, ~0ull);
	write_mixed(s, 12);
	expect_log(s, false);
	expect_none_lost(s);
	host_checkpoint(&s->host);
	expect_none_lost(s);
	host_stop(&s->host);
}

/* One after the other. */
static void another_fails(struct script *s)
{
	u32 k = (u32)(s->seed % s->start.cache), i;

	for (i = 0; i < 2; i++) {
		write_mixed(s, 6);
		disks_fault(FAULT_WRITE_EIO, script_first_ssd(s) + (k + i) % s->start.cache,
			    0, ~0ull);
		write_mixed(s, 6);
		expect_log(s, !i);
	}
	expect_none_lost(s);
	host_checkpoint(&s->host);
	host_stop(&s->host);
}

static void read_back(struct script *s)
{
	spill(s);
	host_read_each(&s->host, FIRST, COUNT);
	check_log(s);
	host_write_each(&s->host, FIRST + 60, 12);
	host_discard(&s->host, FIRST + 66, 20);
	host_write_each(&s->host, FIRST + 70, 2);
	host_read_each(&s->host, FIRST, COUNT);
	write_all_home(s);
	expect_none_lost(s);
	host_stop(&s->host);
}

/* A spilled version on a dead SSD is rebuilt from the others. */
static void spilled_on_a_dead_one(struct script *s)
{
	u32 k = script_first_ssd(s) + (u32)(s->seed % s->start.cache);

	spill(s);
	disks_kill(k);
	if (s->seed & 1)
		host_write_each(&s->host, 8, 1);
	host_read_each(&s->host, FIRST, COUNT);
	write_all_home(s);
	expect_log(s, true);
	expect_none_lost(s);
	host_stop(&s->host);
}

/* Two SSDs take no writes any more, but can be read: nothing is lost. */
static void spilled_on_two_that_fail(struct script *s)
{
	u32 k = (u32)(s->seed % s->start.cache), i;

	spill(s);
	for (i = 0; i < 2; i++)
		disks_fault(FAULT_WRITE_EIO, script_first_ssd(s) + (k + i) % s->start.cache,
			    0, ~0ull);
	disks_release_all();
	host_write(&s->host, 8, 1, false);
	host_flush(&s->host);
	expect_log(s, false);
	expect_none_lost(s);
	host_stop(&s->host);
}

/* Get a version that is spilled, with its row: lsns. */
static struct kvp_spilled some_spilled(struct script *s)
{
	struct kvp_pool *pool = s->host.pool;
	struct kvp_spilled p = { 0 };
	u64 block;

	for (block = FIRST + COUNT / 2; !p.lsn && block < FIRST + COUNT; block++) {
		struct kvp_version *d = kvp_wbuf_find(pool->wbuf, block);

		if (d && !d->page && d->state == KVP_VERSION_LOGGED)
			p = (struct kvp_spilled){ block, d->lsn + d->payload, d->crc, d->row };
		if (d)
			kvp_wbuf_unlock(pool->wbuf, block);
	}
	if (!p.lsn)
		sim_fail("none is spilled: the case was not set up");
	return p;
}

static void rot(struct script *s, u64 lsn)
{
	struct kvp_place at = kvp_log_place(s->host.pool->vdevs.log_vdev->g, lsn, 0);
	u8 junk[KVP_BLOCK_SIZE];

	memset(junk, 0x3c, sizeof(junk));
	image_write_data(&disks.img[script_first_ssd(s) + at.leg], at.block, junk);
}

/* A block of a row is rotten: users notice nothing, whichever block it is. */
static void one_is_rotten(struct script *s)
{
	struct kvp_spilled p;

	spill(s);
	p = some_spilled(s);
	rot(s, kvp_log_row_first(p.lsn, p.row) + s->seed % kvp_log_row_blocks(p.row));
	host_read_each(&s->host, FIRST, COUNT);
	disks_release_all();
	host_checkpoint(&s->host);
	expect_none_lost(s);
	/* The index may know of the rotten one. */
	kvp_cache_mistrust(s->host.pool, FIRST, COUNT);
	host_stop(&s->host);
}

/* Two blocks are rotten: if they were data, their versions are lost, and nothing else. */
static void two_are_rotten(struct script *s)
{
	u8 data[KVP_BLOCK_SIZE];
	struct kvp_spilled p;
	u64 poisoned = 0;

	spill(s);
	p = some_spilled(s);
	rot(s, p.lsn);
	/* The parity, so that no other version is touched. */
	rot(s, kvp_log_row_first(p.lsn, p.row));
	if (!host_read(&s->host, p.block, data))
		sim_fail("block %llu cannot be made, and was read", p.block);
	write_all_home(s);
	if (s->host.pool->table->poisoned != 1 ||
	    kvp_table_next_poisoned(s->host.pool->table, 0, &poisoned) || poisoned != p.block)
		sim_fail("block %llu is lost; %llu are poisoned, the first is %llu", p.block,
			 s->host.pool->table->poisoned, poisoned);
	host_read_each(&s->host, FIRST, p.block - FIRST);
	host_read_each(&s->host, p.block + 1, FIRST + COUNT - p.block - 1);
	host_write_each(&s->host, p.block, 1);
	host_checkpoint(&s->host);
	expect_none_lost(s);
	host_stop(&s->host);
}

/* Clean blocks are read from their SSD; if that is lost, from home, and can be admitted again. */
static void clean(struct script *s)
{
	struct host *h = &s->host;
	u32 k = script_first_ssd(s) + (u32)(s->seed % s->start.cache), before;
	struct kvp_on_ssd at;
	u64 block;

	write_mixed(s, 10);
	host_write(h, FIRST, COUNT / 2, false);
	host_flush(h);
	host_write_each(&s->host, FIRST + COUNT / 2, COUNT / 2);
	host_checkpoint(h);
	host_cache_check(h);
	kvp_rcache_shrink(h->pool->rcache, ~0u);
	host_read_each(&s->host, FIRST, COUNT);
	if (h->ssd_reads < COUNT / 2)
		sim_fail("%u were read from the SSDs", h->ssd_reads);
	disks_kill(k);
	write_mixed(s, 4);
	host_checkpoint(h);
	expect_log(s, true);
	for (block = FIRST; block < FIRST + COUNT; block++) {
		kvp_scache_alike(h->pool->scache, block, 1, &at);
		if (at.block && h->pool->scache->v->legs[at.leg].bdev == &disks.bdev[k])
			sim_fail("block %llu is to be read from an SSD that is gone", block);
	}
	kvp_rcache_shrink(h->pool->rcache, ~0u);
	before = h->ssd_reads;
	host_read_each(&s->host, FIRST, COUNT);
	if (h->ssd_reads == before)
		sim_fail("nothing was read from the SSDs that are left");
	host_cache_check(h);
	host_stop(h);
}

/*
 * The cache is taken out of the pool with what its log holds: nothing is lost, and nothing stays
 * behind.
 */
static void leaves(struct script *s)
{
	struct host_start less = s->start;

	less.legs -= less.cache;
	less.cache = 0;
	less.cache_parity = false;
	write_mixed(s, 12);
	if (!kvp_log_rows_bytes(s->host.pool->log))
		sim_fail("there is no parity: the case was not set up");
	if (host_shrink(&s->host, &less))
		sim_fail("not without its cache: %s", s->host.refusal.why);
	expect_log(s, false);
	expect_none_lost(s);
	write_mixed(s, 12);
	expect_none_lost(s);
	host_stop(&s->host);
}

/* Blocks that are adjacent on one SSD; the log will overwrite the last of them next. */
static u64 straddle(struct script *s, u32 nr)
{
	const struct kvp_log_stripe one = { s->start.cache, 1, 1 };	/* an entry of one block */
	struct kvp_pool *pool = s->host.pool;
	u64 old = pool->log->head.lsn + (nr - 1) * kvp_log_stripe_blocks(&one) +
		kvp_log_stripe_payload(&one, 0);
	u32 place = (u32)((old - pool->scache->base) % pool->scache->blocks);
	struct kvp_index_entry e;
	struct kvp_on_ssd at;
	u64 block;

	for (block = FIRST + nr; block < FIRST + COUNT; block++) {
		if (!kvp_index_find(&pool->scache->index, block, &e) || e.place != place)
			continue;
		host_write_each(&s->host, block - (nr - 1), nr - 1);
		host_checkpoint(&s->host);
		if (kvp_scache_alike(pool->scache, block - (nr - 1), nr, &at) == nr)
			return block - (nr - 1);
	}
	return 0;
}

/*
 * Neighbours on one SSD are not neighbours in the log. The log may stand between them, and its next
 * write overwrites the last of those that a reader has found.
 */
static void neighbours_come_round(struct script *s)
{
	struct kvp_pool *pool = s->host.pool;
	u64 all = kvp_log_blocks(pool->vdevs.log_vdev->g), begin = pool->log->head.lsn, block = 0;
	struct kvp_on_ssd at, last;
	u32 nr = 3, i;

	host_write_each(&s->host, FIRST, COUNT);
	for (i = 0; !block && pool->log->head.lsn - begin < all + all / 4; i++) {
		host_write_each(&s->host, 300 + i % 100, 1);
		if (i % 16 == 15)
			host_checkpoint(&s->host);
		if (pool->log->head.lsn - begin > all)
			block = straddle(s, nr);
	}
	if (!block)
		sim_fail("the log never stood between neighbours: the case was not set up");
	kvp_scache_alike(pool->scache, block, nr, &at);
	if (!kvp_scache_intact(pool->scache, &at))
		sim_fail("they lie there, and are said not to");
	host_write_each(&s->host, 300, 1);
	kvp_scache_alike(pool->scache, block + nr - 1, 1, &last);
	if (last.block)
		sim_fail("the log has not come over the last one: the case was not set up");
	if (kvp_scache_intact(pool->scache, &at))
		sim_fail("the log has come over one of them, and they are said to lie there");
	host_stop(&s->host);
}

/* --- running them ----------------------------------------------------------------------------- */

/* Each stops the pool by itself. */
static void run_case(const char *what, const struct host_start *shape,
		     void (*act)(struct script *s))
{
	char name[128];
	struct script_case c = { .name = name, .shape = shape, .act = act, .leave = true,
		.turns = 16 };

	snprintf(name, sizeof(name), "cachep1:%u+%u:%s", shape->legs - shape->cache, shape->cache,
		 what);
	script_run(&c);
}

void run_cachep1(void)
{
	static const struct host_start shapes[] = {
		{ .legs = 5, .cache = 3, .cache_parity = true },
		{ .legs = 5, .cache = 4, .cache_parity = true },
		{ .legs = 6, .parity = true, .cache = 3, .cache_parity = true },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		run_case("without-any", &shapes[i], without_any);
		run_case("one-fails", &shapes[i], one_fails);
		run_case("two-fail", &shapes[i], two_fail);
		run_case("another-fails", &shapes[i], another_fails);
		run_case("read-back", &shapes[i], read_back);
		run_case("spilled-on-a-dead-one", &shapes[i], spilled_on_a_dead_one);
		run_case("spilled-on-two-that-fail", &shapes[i], spilled_on_two_that_fail);
		run_case("one-is-rotten", &shapes[i], one_is_rotten);
		run_case("two-are-rotten", &shapes[i], two_are_rotten);
		run_case("clean", &shapes[i], clean);
		run_case("leaves", &shapes[i], leaves);
		/* Of as many SSDs as an entry of one block has blocks, such entries lie alike. */
		if (shapes[i].cache == 4)
			run_case("neighbours-come-round", &shapes[i], neighbours_come_round);
		run_fills(&shapes[i]);
		run_reinserts(&shapes[i]);
		run_lost_ssds(&shapes[i]);
	}
	run_cacheparity();
}
