// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recovery: bring home what the log holds.
 *
 *   scan      walk the chain of entries from the tail. An entry counts when
 *             header and payload verify on any leg and it names its
 *             predecessor. The first that does not ends the log, but only if
 *             nothing shows that it was durable (R10).
 *   equalise  legs whose copy of an accepted entry differs get the good one,
 *             so that losing a leg during recovery loses nothing (R15)
 *   apply     discards to the table; the newest data of each block home; then
 *             intents, by what is found at home (R4, R5)
 *   finish    a checkpoint with an empty log under a new nonce and epoch (R11)
 *
 * Until that checkpoint is durable the old log is what counts: a crash at any
 * point means to do it all again, from the same records to the same result.
 * Legs are read and written a segment at a time.
 */
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/random.h>

#include "io/batch.h"
#include "log/replay.h"
#include "pool/pool.h"
#include "pool/start.h"

/* One segment of the log as every leg has it. */
struct segment {
	u64 lsn;		/* of its first block */
	struct page **pages[KVP_MAX_MIRROR_LEGS];
	bool loaded[KVP_MAX_MIRROR_LEGS];
};

static_assert(KVP_MAX_ENTRY_BLOCKS <= KVP_BATCH_RUNS);

struct recovery {
	struct kvp_pool *pool;
	struct kvp_refusal *refusal;
	struct kvp_replay replay;
	struct segment seg;
	struct kvp_batch *batch;
	struct page *scratch, *home;
	void *hdr;			/* a header in one piece */
	struct kvp_log_mark end;	/* behind the last accepted entry */
	struct kvp_log_hdr last;	/* its header */
	u64 entries, torn;
	u64 window;			/* homes of so many blocks from here on are in seg.pages */
	u32 window_nr;
	bool window_good[KVP_MAX_MIRROR_LEGS];
	bool unclean;			/* the label did not say that the log is empty */
	bool silent;			/* a leg did not answer for the block being resolved */
	u64 blocks[KVP_MAX_ENTRY_BLOCKS];
	u32 crcs[KVP_MAX_ENTRY_BLOCKS];
};

/* --- segments ---------------------------------------------------------------------- */

static void free_segment(struct recovery *rec)
{
	u32 i, p;

	for (i = 0; i < KVP_MAX_MIRROR_LEGS; i++) {
		if (!rec->seg.pages[i])
			continue;
		for (p = 0; p < rec->pool->g->segment_blocks; p++)
			if (rec->seg.pages[i][p])
				__free_page(rec->seg.pages[i][p]);
		kvfree(rec->seg.pages[i]);
	}
}

static int alloc_segment(struct recovery *rec)
{
	u32 n = rec->pool->g->segment_blocks, i, p;

	rec->seg.lsn = ~0ull;
	for (i = 0; i < rec->pool->nr_legs; i++) {
		rec->seg.pages[i] = kvcalloc(n, sizeof(struct page *), GFP_KERNEL);
		if (!rec->seg.pages[i])
			return -ENOMEM;
		for (p = 0; p < n; p++) {
			rec->seg.pages[i][p] = alloc_page(GFP_KERNEL);
			if (!rec->seg.pages[i][p])
				return -ENOMEM;
		}
	}
	return 0;
}

static u64 log_block(struct kvp_pool *pool, u64 lsn)
{
	return pool->g->log_start + kvp_log_pos(pool->g, lsn);
}

/* Blocks that cannot be read must not look like anything. */
static void load_slowly(struct recovery *rec, struct kvp_leg *leg)
{
	struct page **pages = rec->seg.pages[leg->index];
	u32 p;

	for (p = 0; p < rec->pool->g->segment_blocks; p++)
		if (kvp_io_page(leg, KVP_IO_READ, log_block(rec->pool, rec->seg.lsn + p), pages[p]))
			clear_page(page_address(pages[p]));
}

/* Have the segment that holds @lsn in memory, from all legs. */
static void load_segment(struct recovery *rec, u64 lsn)
{
	struct kvp_pool *pool = rec->pool;
	struct kvp_io ios[KVP_MAX_MIRROR_LEGS];
	struct kvp_io_group group;
	u32 i;

	lsn -= lsn % pool->g->segment_blocks;
	if (rec->seg.lsn == lsn)
		return;
	rec->seg.lsn = lsn;
	memset(ios, 0, sizeof(ios));
	kvp_io_group_init(&group);
	for (i = 0; i < pool->nr_legs; i++) {
		rec->seg.loaded[i] = kvp_leg_usable(&pool->legs[i]);
		if (!rec->seg.loaded[i])
			continue;
		ios[i].leg = &pool->legs[i];
		ios[i].op = KVP_IO_READ;
		ios[i].block = log_block(pool, lsn);
		ios[i].nr = pool->g->segment_blocks;
		ios[i].pages = rec->seg.pages[i];
		kvp_io_group_submit(&group, &ios[i]);
	}
	kvp_io_group_wait(&group);
	for (i = 0; i < pool->nr_legs; i++)
		if (rec->seg.loaded[i] && ios[i].error) {
			atomic64_inc(&pool->legs[i].err_read);
			load_slowly(rec, &pool->legs[i]);
		}
}

static struct page *seg_page(struct recovery *rec, u32 leg, u64 lsn)
{
	return rec->seg.pages[leg][lsn - rec->seg.lsn];
}

/* --- one entry ----------------------------------------------------------------------- */

/* The header at @lsn as @leg has it, in one piece in rec->hdr. */
static int decode_at(struct recovery *rec, u32 leg, u64 lsn, struct kvp_log_hdr *h,
		     struct kvp_why *why)
{
	struct kvp_pool *pool = rec->pool;
	u32 avail = min_t(u64, kvp_log_segment_end(pool->g, lsn) - lsn, KVP_MAX_HDR_BLOCKS), i;

	for (i = 0; i < avail; i++)
		memcpy(rec->hdr + i * KVP_BLOCK_SIZE, page_address(seg_page(rec, leg, lsn + i)),
		       KVP_BLOCK_SIZE);
	return kvp_log_decode(pool->g, rec->hdr, avail, pool->sb->nonce, pool->sb->log_nonce, lsn,
			      pool->sb->pool_blocks, h, why);
}

static void get_rec(struct recovery *rec, u32 i, struct kvp_rec *r)
{
	const struct kvp_disk_rec *d = rec->hdr + KVP_LOG_HDR_SIZE;

	kvp_rec_decode(&d[i], r);
}

static bool payload_verifies(struct recovery *rec, u32 leg, const struct kvp_log_hdr *h)
{
	u64 at = h->lsn + h->hdr_blocks;
	u32 i;

	for (i = 0; i < h->rec_count; i++) {
		struct kvp_rec r;

		get_rec(rec, i, &r);
		if (r.kind != KVP_REC_DATA)
			continue;
		if (kvp_block_sum(rec->pool->seed, r.block,
				  page_address(seg_page(rec, leg, at++))) != r.crc)
			return false;
	}
	return true;
}

/* A leg on which the whole entry at @lsn verifies and follows rec->end, or -1. */
static int good_copy(struct recovery *rec, u64 lsn, struct kvp_log_hdr *h)
{
	struct kvp_why why;
	u32 i;

	for (i = 0; i < rec->pool->nr_legs; i++) {
		if (!rec->seg.loaded[i] || decode_at(rec, i, lsn, h, &why))
			continue;
		if (h->prev_lsn == rec->end.prev_lsn && h->prev_csum == rec->end.prev_csum &&
		    payload_verifies(rec, i, h))
			return i;
	}
	return -1;
}

static int cannot_write(struct recovery *rec, const struct kvp_leg *leg, u64 at)
{
	return kvp_refuse(rec->refusal, -EIO, "check the leg and try again; nothing is lost by that",
			  "%s, the last leg in use, does not take block %llu of its own", leg->path,
			  (unsigned long long)at);
}

/* Legs that have it differently get the good copy, durable before anything goes home. */
static int equalise(struct recovery *rec, u32 good, const struct kvp_log_hdr *h)
{
	struct kvp_pool *pool = rec->pool;
	u32 i, b;

	for (i = 0; i < pool->nr_legs; i++) {
		struct kvp_io io = {
			.leg = &pool->legs[i],
			.op = KVP_IO_WRITE_FUA,
			.block = log_block(pool, h->lsn),
			.nr = h->blocks,
			.pages = &rec->seg.pages[good][h->lsn - rec->seg.lsn],
		};
		bool same = true;

		if (i == good || !rec->seg.loaded[i] || !kvp_leg_usable(&pool->legs[i]))
			continue;
		for (b = 0; same && b < h->blocks; b++)
			same = !memcmp(page_address(seg_page(rec, good, h->lsn + b)),
				       page_address(seg_page(rec, i, h->lsn + b)), KVP_BLOCK_SIZE);
		if (same)
			continue;
		if (kvp_io_sync(&io)) {
			atomic64_inc(&pool->legs[i].err_write);
			if (!kvp_leg_fail(&pool->legs[i], "the log cannot be repaired"))
				return cannot_write(rec, &pool->legs[i], io.block);
			continue;
		}
		/* In memory as well: later steps may take this leg's pages. */
		for (b = 0; b < h->blocks; b++)
			memcpy(page_address(seg_page(rec, i, h->lsn + b)),
			       page_address(seg_page(rec, good, h->lsn + b)), KVP_BLOCK_SIZE);
	}
	return 0;
}

static int plan_entry(struct recovery *rec, const struct kvp_log_hdr *h)
{
	u64 payload = h->lsn + h->hdr_blocks;
	u32 i;

	for (i = 0; i < h->rec_count; i++) {
		struct kvp_rec r;
		int ret;

		get_rec(rec, i, &r);
		ret = kvp_replay_add(&rec->replay, &r, h->lsn,
				     r.kind == KVP_REC_DATA ? payload++ : 0);
		if (ret)
			return kvp_refuse(rec->refusal, ret, "free some memory and try again",
					  "out of memory while reading the log");
	}
	return 0;
}

/* --- scan ------------------------------------------------------------------------------- */

/* The entry that follows rec->end, there or at the start of the next segment. */
static int next_entry(struct recovery *rec, struct kvp_log_hdr *h)
{
	struct kvp_pool *pool = rec->pool;
	u64 limit = pool->sb->log_tail + kvp_log_blocks(pool->g);
	u64 places[2] = { rec->end.lsn, kvp_log_segment_end(pool->g, rec->end.lsn) };
	u32 i;
	int leg;

	for (i = 0; i < 2; i++) {
		if (places[i] >= limit || (i && rec->end.lsn % pool->g->segment_blocks == 0))
			continue;
		load_segment(rec, places[i]);
		leg = good_copy(rec, places[i], h);
		if (leg >= 0)
			return leg;
	}
	return -1;
}

/* R12: whoever wrote this knew of a superblock that is not here. */
static int stale_root(struct recovery *rec, u64 epoch)
{
	return kvp_refuse(rec->refusal, -ESTALE, "connect the legs that were in use last",
		"the log was written in epoch %llu, the newest superblock is of epoch %llu",
		(unsigned long long)epoch, (unsigned long long)rec->pool->sb->epoch);
}

/* Does the block at @lsn hold a header that shows more than was accepted? */
static int look_beyond(struct recovery *rec, u64 lsn, u64 *durable)
{
	struct kvp_pool *pool = rec->pool;
	struct kvp_log_hdr h;
	struct kvp_why why;
	u64 epoch;
	u32 i;

	for (i = 0; i < pool->nr_legs; i++) {
		const __le32 *magic;

		if (!rec->seg.loaded[i])
			continue;
		magic = page_address(seg_page(rec, i, lsn));
		if (le32_to_cpu(*magic) != KVP_LOG_MAGIC)
			continue;
		if (!decode_at(rec, i, lsn, &h, &why))
			*durable = max(*durable, h.durable);
		if (kvp_log_epoch(rec->hdr, min_t(u64, kvp_log_segment_end(pool->g, lsn) - lsn,
						  KVP_MAX_HDR_BLOCKS),
				  pool->sb->nonce, &epoch) && epoch > pool->sb->epoch)
			return stale_root(rec, epoch);
	}
	return 0;
}

/* R10: a bad entry may end the log only if nothing shows that it was durable. R12 on the way. */
static int check_end(struct recovery *rec)
{
	struct kvp_pool *pool = rec->pool;
	u64 limit = pool->sb->log_tail + kvp_log_blocks(pool->g), lsn;
	u64 durable = pool->sb->log_commit;
	int ret = 0;

	for (lsn = rec->end.lsn; !ret && lsn < limit; lsn++) {
		load_segment(rec, lsn);
		ret = look_beyond(rec, lsn, &durable);
	}
	if (!ret && durable > rec->end.lsn)
		return kvp_refuse(rec->refusal, -EUCLEAN,
			"connect every leg; kvpoolctl check shows what is readable",
			"the log is damaged at %llu on every leg, but was durable up to %llu",
			(unsigned long long)rec->end.lsn, (unsigned long long)durable);
	return ret;
}

static int scan(struct recovery *rec)
{
	struct kvp_pool *pool = rec->pool;
	struct kvp_log_hdr h;
	int leg, ret;

	rec->end = (struct kvp_log_mark){ pool->sb->log_tail, pool->sb->log_prev_lsn,
					  pool->sb->log_prev_csum };
	while ((leg = next_entry(rec, &h)) >= 0) {
		if (h.epoch > pool->sb->epoch)
			return stale_root(rec, h.epoch);
		rec->end.lsn = h.lsn + h.blocks;
		rec->end.prev_lsn = h.lsn;
		rec->end.prev_csum = h.csum;
		rec->last = h;
		rec->entries++;
		if (kvp_pool_readonly(pool))
			return kvp_refuse(rec->refusal, -EROFS, "import without --readonly first",
					  "the log holds writes that are not yet home");
		ret = plan_entry(rec, &h);
		if (!ret)
			ret = equalise(rec, leg, &h);
		if (ret)
			return ret;
	}
	return check_end(rec);
}

/* --- apply --------------------------------------------------------------------------------- */

static int set_entry(struct kvp_pool *pool, u64 block, u32 crc, enum kvp_entry_state state)
{
	struct kvp_tpage *leaf = kvp_table_load(pool, block);

	if (IS_ERR(leaf))
		return PTR_ERR(leaf);
	kvp_table_set(pool, leaf, block, crc, state);
	kvp_table_put(pool, leaf);
	return 0;
}

/* The table must not outgrow its budget: write it, with the tail where it was. */
static int relieve_table(struct recovery *rec)
{
	struct kvp_pool *pool = rec->pool;
	int ret = 0;

	if (pool->table.nr_dirty > pool->table.budget / 2)
		ret = kvp_checkpoint(pool, NULL);
	kvp_table_shrink(pool, false);
	return ret;
}

static int apply_discards(struct recovery *rec)
{
	struct kvp_replay_discard *d;
	int ret = 0;

	list_for_each_entry(d, &rec->replay.discards, list) {
		ret = kvp_table_discard(rec->pool, d->block, d->count);
		if (!ret)
			ret = relieve_table(rec);
		if (ret)
			break;
	}
	return ret;
}

/* Pages of the batch go home, and then their entries into the table. */
static int apply_data_batch(struct recovery *rec, const u64 *blocks, const u32 *crcs, u32 n)
{
	int ret = kvp_batch_write(rec->batch);
	u32 i;

	for (i = 0; !ret && i < n; i++)
		ret = set_entry(rec->pool, blocks[i], crcs[i], KVP_ENTRY_VALID);
	return ret ?: relieve_table(rec);
}

/* Bring home what of the entry at @h is the newest of its block. */
static int apply_entry(struct recovery *rec, u32 leg, const struct kvp_log_hdr *h)
{
	u64 payload = h->lsn + h->hdr_blocks;
	u32 i, n = 0;

	for (i = 0; i < h->rec_count; i++) {
		struct kvp_replay_rec *newest;
		struct kvp_rec r;

		get_rec(rec, i, &r);
		if (r.kind != KVP_REC_DATA)
			continue;
		newest = kvp_replay_newest(&rec->replay, r.block);
		if (newest && newest->kind == KVP_REC_DATA && newest->payload == payload) {
			kvp_batch_add(rec->batch, kvp_home_block(rec->pool, r.block),
				      seg_page(rec, leg, payload));
			rec->blocks[n] = r.block;
			rec->crcs[n++] = r.crc;
		}
		payload++;
	}
	return apply_data_batch(rec, rec->blocks, rec->crcs, n);
}

/* Walk the accepted entries once more. */
static int apply_data(struct recovery *rec)
{
	struct kvp_pool *pool = rec->pool;
	u64 end = rec->end.lsn;
	struct kvp_log_hdr h;
	int leg, ret = 0;

	rec->end = (struct kvp_log_mark){ pool->sb->log_tail, pool->sb->log_prev_lsn,
					  pool->sb->log_prev_csum };
	while (!ret && rec->end.lsn < end) {
		leg = next_entry(rec, &h);
		if (leg < 0)
			return kvp_refuse(rec->refusal, -EIO, "check the legs and try again",
					  "log entry %llu can no longer be read",
					  (unsigned long long)rec->end.lsn);
		rec->end = (struct kvp_log_mark){ h.lsn + h.blocks, h.lsn, h.csum };
		ret = apply_entry(rec, leg, &h);
	}
	return ret;
}

/* --- intents ---------------------------------------------------------------------------------- */

/* Intents come in long runs: read their homes so, from all legs, where segments were before. */
static void load_window(struct recovery *rec, u64 block)
{
	struct kvp_pool *pool = rec->pool;
	u32 max = min_t(u32, pool->g->segment_blocks, KVP_BATCH_RUN_PAGES), i;
	struct kvp_io ios[KVP_MAX_MIRROR_LEGS];
	struct kvp_io_group group;
	struct kvp_replay_rec *r;

	rec->seg.lsn = ~0ull;
	rec->window = block;
	rec->window_nr = 0;
	while (rec->window_nr < max && (r = kvp_replay_newest(&rec->replay, block + rec->window_nr)) &&
	       r->kind == KVP_REC_INTENT)
		rec->window_nr++;
	memset(ios, 0, sizeof(ios));
	kvp_io_group_init(&group);
	for (i = 0; i < pool->nr_legs; i++) {
		rec->window_good[i] = kvp_leg_usable(&pool->legs[i]);
		if (!rec->window_good[i])
			continue;
		ios[i].leg = &pool->legs[i];
		ios[i].op = KVP_IO_READ;
		ios[i].block = kvp_home_block(pool, block);
		ios[i].nr = rec->window_nr;
		ios[i].pages = rec->seg.pages[i];
		kvp_io_group_submit(&group, &ios[i]);
	}
	kvp_io_group_wait(&group);
	for (i = 0; i < pool->nr_legs; i++)
		rec->window_good[i] &= !ios[i].error;
}

/* The home of @block on a leg: from the window, or read by itself. NULL if the leg does not answer. */
static struct page *home_copy(struct recovery *rec, u32 leg, u64 block)
{
	struct kvp_pool *pool = rec->pool;

	if (rec->window_good[leg] && block >= rec->window && block - rec->window < rec->window_nr)
		return rec->seg.pages[leg][block - rec->window];
	if (!kvp_io_page(&pool->legs[leg], KVP_IO_READ, kvp_home_block(pool, block), rec->scratch))
		return rec->scratch;
	atomic64_inc(&pool->legs[leg].err_read);
	rec->silent = true;
	return NULL;
}

/* Copies of @block that are what @crc says: a bit per leg; one of them in rec->home. */
static unsigned long copies_matching(struct recovery *rec, u64 block, u32 crc)
{
	struct kvp_pool *pool = rec->pool;
	unsigned long match = 0;
	u32 i;

	for (i = 0; i < pool->nr_legs; i++) {
		struct page *copy;

		if (!kvp_leg_usable(&pool->legs[i]))
			continue;
		copy = home_copy(rec, i, block);
		if (!copy || kvp_block_sum(pool->seed, block, page_address(copy)) != crc)
			continue;
		if (!match)
			memcpy(page_address(rec->home), page_address(copy), KVP_BLOCK_SIZE);
		match |= BIT(i);
	}
	return match;
}

/* All legs hold what rec->home holds, except those in @match that do already. */
static int write_others(struct recovery *rec, u64 block, unsigned long match)
{
	struct kvp_pool *pool = rec->pool;
	u32 i;

	for (i = 0; i < pool->nr_legs; i++) {
		struct kvp_leg *leg = &pool->legs[i];

		if (!kvp_leg_usable(leg) || (match & BIT(i)))
			continue;
		if (kvp_io_page(leg, KVP_IO_WRITE, kvp_home_block(pool, block), rec->home) &&
		    !kvp_leg_fail(leg, "a write failed during recovery"))
			return cannot_write(rec, leg, kvp_home_block(pool, block));
	}
	return 0;
}

static int read_payload(struct recovery *rec, u64 block, const struct kvp_replay_rec *r)
{
	struct kvp_pool *pool = rec->pool;
	u32 i;

	for (i = 0; i < pool->nr_legs; i++)
		if (kvp_leg_usable(&pool->legs[i]) &&
		    !kvp_io_page(&pool->legs[i], KVP_IO_READ, log_block(pool, r->payload), rec->home) &&
		    kvp_block_sum(pool->seed, block, page_address(rec->home)) == r->crc)
			return 0;
	return -EIO;
}

/* Is the newest intent of the block one that may have been cut short (R5)? */
static bool intent_open(struct recovery *rec, u64 lsn)
{
	u32 i;

	if (lsn >= rec->last.lsn)
		return true;
	for (i = 0; i < rec->last.open_count; i++)
		if (rec->last.open[i] == lsn)
			return true;
	return false;
}

/* Nothing verifies: keep what is there if a write was cut short, else say that it is lost. */
static int accept_torn(struct recovery *rec, u64 block, u64 intent)
{
	struct kvp_pool *pool = rec->pool;
	u32 i;

	for (i = 0; intent_open(rec, intent) && i < pool->nr_legs; i++) {
		if (!kvp_leg_usable(&pool->legs[i]) ||
		    kvp_io_page(&pool->legs[i], KVP_IO_READ, kvp_home_block(pool, block), rec->home))
			continue;
		rec->torn++;
		return write_others(rec, block, BIT(i)) ?:
		       set_entry(pool, block,
				 kvp_block_sum(pool->seed, block, page_address(rec->home)),
				 KVP_ENTRY_VALID);
	}
	if (rec->silent)
		return kvp_refuse(rec->refusal, -EIO, "check the leg that does not answer and try again",
				  "block %llu: no leg that answers has the version that was acknowledged",
				  (unsigned long long)block);
	kvp_event(pool, "unrepaired block=%llu", (unsigned long long)block);
	return set_entry(pool, block, 0, KVP_ENTRY_POISONED);
}

/* The table's version: what was there before the log began. */
static int resolve_by_table(struct recovery *rec, u64 block, u64 intent)
{
	struct kvp_pool *pool = rec->pool;
	struct kvp_tpage *leaf = kvp_table_load(pool, block);
	unsigned long match;
	u64 entry;

	if (IS_ERR(leaf))
		return PTR_ERR(leaf);
	entry = kvp_table_entry(leaf, block);
	kvp_table_put(pool, leaf);
	if (kvp_entry_state(entry) == KVP_ENTRY_POISONED)
		return 0;
	if (kvp_entry_state(entry) == KVP_ENTRY_UNWRITTEN)
		return set_entry(pool, block, 0, KVP_ENTRY_UNWRITTEN);
	match = copies_matching(rec, block, kvp_entry_crc(entry));
	if (!match)
		return accept_torn(rec, block, intent);
	/* With the recovery's era, so that a leg that comes back gets it again (R17). */
	return write_others(rec, block, match) ?:
	       set_entry(pool, block, kvp_entry_crc(entry), KVP_ENTRY_VALID);
}

static int resolve_block(struct recovery *rec, u64 block, struct kvp_replay_rec *newest)
{
	struct kvp_replay_rec *r;
	unsigned long match;

	for (r = newest; r; r = r->older) {
		if (r->kind == KVP_REC_INTENT) {
			match = copies_matching(rec, block, r->crc);
		} else {
			match = 0;
			if (read_payload(rec, block, r))
				return kvp_refuse(rec->refusal, -EIO, "check the legs and try again",
						  "block %llu can no longer be read from the log",
						  (unsigned long long)block);
		}
		if (match || r->kind == KVP_REC_DATA)
			return write_others(rec, block, match) ?:
			       set_entry(rec->pool, block, r->crc, KVP_ENTRY_VALID);
		/* Closed: it was durable at home, so what is older cannot be there any more. */
		if (!intent_open(rec, r->lsn))
			return accept_torn(rec, block, newest->lsn);
	}
	return resolve_by_table(rec, block, newest->lsn);
}

static int resolve_intents(struct recovery *rec)
{
	struct kvp_replay_rec *r;
	unsigned long block;
	int ret;

	xa_for_each(&rec->replay.blocks, block, r) {
		if (r->kind != KVP_REC_INTENT)
			continue;
		if (block < rec->window || block - rec->window >= rec->window_nr)
			load_window(rec, block);
		rec->silent = false;
		ret = resolve_block(rec, block, r);
		if (!ret)
			ret = relieve_table(rec);
		if (ret)
			return ret;
	}
	return 0;
}

/* --- all of it ------------------------------------------------------------------------------------ */

/* An empty log under a new identity; one superblock write makes it so. */
static int finish(struct recovery *rec, struct kvp_log_mark *head)
{
	struct kvp_pool *pool = rec->pool;

	*head = (struct kvp_log_mark){ kvp_log_segment_end(pool->g, rec->end.lsn), 0, 0 };
	mutex_lock(&pool->sb_lock);
	pool->sb->epoch++;
	get_random_bytes(&pool->sb->log_nonce, sizeof(pool->sb->log_nonce));
	pool->sb->flags &= ~(KVP_SB_EXPORTED | KVP_SB_DESTROYED | KVP_SB_CLEAN);
	mutex_unlock(&pool->sb_lock);
	/* Durable positions must not lie behind the new tail. */
	pool->log.durable = *head;
	return kvp_checkpoint(pool, head);
}

/* Nothing on the way has said why: what is known of it. */
static void explain(struct recovery *rec, int error)
{
	struct kvp_pool *pool = rec->pool;
	const struct kvp_table_lost *lost = &pool->table.lost;

	if (error == -ENOMEM)
		kvp_refuse(rec->refusal, error, "free some memory and try again",
			   "out of memory while bringing home what the log holds");
	else if (lost->blocks && lost->level)
		kvp_refuse(rec->refusal, error, "connect every leg; kvpoolctl check shows what is readable",
			   "page %llu of level %u of the checksum table is damaged on every leg (blocks %llu to %llu), and the log holds writes below it",
			   (unsigned long long)lost->index, lost->level,
			   (unsigned long long)lost->first,
			   (unsigned long long)(lost->first + lost->blocks - 1));
	else if (kvp_pool_faulted(pool))
		kvp_refuse(rec->refusal, error, "check the leg and try again; nothing is lost by that",
			   "the last leg in use failed a flush or a write that recovery needs (error %d)",
			   error);
	else
		kvp_refuse(rec->refusal, error, "check the legs and try again; nothing is lost by that",
			   "a leg does not answer where recovery must read a page of the checksum table, and no other has it (error %d)",
			   error);
}

/*
 * R13: the superblock that was chosen goes to every leg in use before anything
 * else is written. A leg that lacks it, or has it in one ring only, may be the
 * only one to come back after the next crash, with a superblock that names the
 * slots which the checkpoint is about to write.
 */
static int roll_forward(struct kvp_pool *pool)
{
	int ret;

	mutex_lock(&pool->sb_lock);
	ret = kvp_sb_commit(pool);
	mutex_unlock(&pool->sb_lock);
	return ret;
}

static int run(struct recovery *rec, struct kvp_log_mark *head)
{
	int ret = 0;

	rec->end = (struct kvp_log_mark){ rec->pool->sb->log_tail, rec->pool->sb->log_prev_lsn,
					  rec->pool->sb->log_prev_csum };
	rec->unclean = !(rec->pool->sb->flags & KVP_SB_CLEAN);
	if (rec->unclean)
		ret = scan(rec);
	if (ret || kvp_pool_readonly(rec->pool)) {
		*head = rec->end;
		return ret;
	}
	ret = roll_forward(rec->pool);
	if (!ret)
		ret = apply_discards(rec);
	if (!ret)
		ret = apply_data(rec);
	if (!ret)
		ret = resolve_intents(rec);
	if (!ret)
		ret = finish(rec, head);
	if (ret && !rec->refusal->why[0])
		explain(rec, ret);
	return ret;
}

static void note_time(struct recovery *rec, ktime_t start)
{
	struct kvp_pool *pool = rec->pool;
	struct kvp_recovery_info *info = &pool->recovery;

	info->ms = ktime_ms_delta(ktime_get(), start);
	info->replayed = rec->replay.records;
	info->torn_accepted = rec->torn;
	if (rec->unclean)
		kvp_event(pool, "recovered replayed=%llu torn_accepted=%llu ms=%llu",
			  (unsigned long long)info->replayed, (unsigned long long)info->torn_accepted,
			  (unsigned long long)info->ms);
	kvp_trace_recovery(pool, rec->entries, info->replayed);
}

static void free_recovery(struct recovery *rec)
{
	kvp_replay_exit(&rec->replay);
	free_segment(rec);
	kvp_batch_free(rec->batch);
	if (rec->scratch)
		__free_page(rec->scratch);
	if (rec->home)
		__free_page(rec->home);
	kvfree(rec->hdr);
	kvfree(rec);
}

static struct recovery *alloc_recovery(struct kvp_pool *pool, struct kvp_refusal *refusal)
{
	struct recovery *rec = kvzalloc(sizeof(*rec), GFP_KERNEL);

	if (!rec)
		return NULL;
	rec->pool = pool;
	rec->refusal = refusal;
	kvp_replay_init(&rec->replay);
	rec->batch = kvp_batch_alloc(pool);
	rec->scratch = alloc_page(GFP_KERNEL);
	rec->home = alloc_page(GFP_KERNEL);
	rec->hdr = kvzalloc(KVP_MAX_HDR_BLOCKS * KVP_BLOCK_SIZE, GFP_KERNEL);
	if (alloc_segment(rec) || !rec->batch || !rec->scratch || !rec->home || !rec->hdr) {
		free_recovery(rec);
		return NULL;
	}
	return rec;
}

int kvp_recover(struct kvp_pool *pool, struct kvp_log_mark *head, struct kvp_refusal *refusal)
{
	ktime_t start = ktime_get();
	struct recovery *rec = alloc_recovery(pool, refusal);
	int ret;

	if (!rec)
		return kvp_refuse(refusal, -ENOMEM, "free some memory and try again",
				  "out of memory before reading the log");
	mutex_lock(&pool->checkpoint_lock);
	ret = run(rec, head);
	mutex_unlock(&pool->checkpoint_lock);
	if (!ret)
		note_time(rec, start);
	free_recovery(rec);
	return ret;
}
