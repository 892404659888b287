// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recovery reads the log, a segment at a time from all legs: which entries
 * count, and what they hold.
 */
#include <linux/mm.h>

#include "format/logstripe.h"
#include "recovery/recovery.h"

/* --- generations -------------------------------------------------------------------- */

/* The generation that is being read, if it is not the newest. */
static const struct kvp_generation *generation(const struct kvp_recovery *rec)
{
	const struct kvp_sb *sb = rec->pool->sb;

	return rec->generation < sb->generation_count ? &sb->generations[rec->generation] : NULL;
}

static void set_nonce(struct kvp_recovery *rec)
{
	const struct kvp_generation *g = generation(rec);

	rec->nonce = g ? g->nonce : rec->pool->sb->log_nonce;
}

/*
 * Behind the last entry of a generation the next one begins. Which is the last one the
 * superblock says: an older generation does not end where it cannot be read (R10), nor go on
 * where something can be read all of a sudden.
 */
static void pass_generations(struct kvp_recovery *rec)
{
	const struct kvp_generation *g;

	while ((g = generation(rec)) && rec->end.prev_lsn == g->last_lsn &&
	       rec->end.prev_csum == g->last_csum) {
		rec->generation++;
		set_nonce(rec);
		rec->end.lsn = g->next_lsn;
	}
}

/* --- segments ---------------------------------------------------------------------- */

bool kvp_log_on_leg(const struct kvp_leg *leg, u64 lsn, u64 *block)
{
	const struct kvp_vdev *v = leg->v;
	u32 copy;

	for (copy = 0; copy < kvp_log_copies(v->g); copy++) {
		struct kvp_place at = kvp_log_place(v->g, lsn, copy);

		*block = at.block;
		if (&v->legs[at.leg] == leg)
			return true;
	}
	return false;
}

/* Blocks that cannot be read must not look like anything. */
static void load_slowly(struct kvp_segment *seg, u32 leg)
{
	struct page **pages = seg->pages[leg];
	u64 block;
	u32 p;

	for (p = 0; p < seg->read; p++)
		if (!kvp_log_on_leg(seg->legs[leg], seg->lsn + p, &block) ||
		    kvp_io_page(seg->legs[leg], KVP_IO_READ, block, pages[p]))
			clear_page(page_address(pages[p]));
}

/* Begin to read a segment of which each leg has all, or nothing: any may have an entry of it. */
static void begin_copies(struct kvp_segment *seg, u64 lsn, u32 blocks)
{
	u32 i;

	seg->lsn = lsn;
	seg->read = blocks;
	memset(seg->ios, 0, sizeof(seg->ios));
	kvp_io_group_init(&seg->group);
	for (i = 0; i < seg->nr; i++) {
		struct kvp_io *io = &seg->ios[i];

		seg->loaded[i] = kvp_leg_usable(seg->legs[i]) &&
				 kvp_log_on_leg(seg->legs[i], lsn, &io->block);
		if (!seg->loaded[i])
			continue;
		io->leg = seg->legs[i];
		io->op = KVP_IO_READ;
		io->nr = blocks;
		io->pages = seg->pages[i];
		kvp_io_group_submit(&seg->group, io);
	}
}

static void end_copies(struct kvp_segment *seg)
{
	u32 i;

	kvp_io_group_wait(&seg->group);
	for (i = 0; i < seg->nr; i++)
		if (seg->loaded[i] && seg->ios[i].error) {
			atomic64_inc(&seg->legs[i]->err_read);
			load_slowly(seg, i);
		}
}

void kvp_recovery_no_ahead(struct kvp_recovery *rec)
{
	if (rec->ahead.lsn != KVP_NO_SEGMENT)
		kvp_io_group_wait(&rec->ahead.group);
	rec->ahead.lsn = KVP_NO_SEGMENT;
	rec->ahead_until = 0;
}

/* While the processor looks at this one, the disks read the next one. */
static void read_ahead(struct kvp_recovery *rec, u64 lsn, u32 blocks)
{
	struct kvp_segment *a = &rec->ahead;

	if (!a->nr || lsn >= rec->ahead_until || a->lsn == lsn)
		return;
	if (a->lsn != KVP_NO_SEGMENT)
		kvp_io_group_wait(&a->group);
	begin_copies(a, lsn, blocks);
}

/* What was read ahead is what is wanted now; false: it is not. Who was given up meanwhile is no source (R17). */
static bool take_ahead(struct kvp_recovery *rec, u64 lsn, u32 blocks)
{
	struct kvp_segment *seg = &rec->seg, *a = &rec->ahead;
	u32 i;

	if (a->lsn != lsn || a->read < blocks)
		return false;
	end_copies(a);
	for (i = 0; i < seg->nr; i++) {
		swap(seg->pages[i], a->pages[i]);
		seg->loaded[i] = a->loaded[i] && kvp_leg_usable(seg->legs[i]);
	}
	seg->lsn = lsn;
	seg->read = a->read;
	a->lsn = KVP_NO_SEGMENT;
	return true;
}

/* Have the first @blocks of the segment that holds @lsn in memory, from all legs in use. */
static void load_begin(struct kvp_recovery *rec, u64 lsn, u32 blocks)
{
	const struct kvp_geometry *g = rec->pool->log.v->g;

	lsn -= lsn % g->segment_blocks;
	if (rec->seg.lsn == lsn && rec->seg.read >= blocks)
		return;
	if (kvp_log_striped(g)) {
		rec->seg.lsn = lsn;
		rec->seg.read = blocks;
		kvp_stripes_load(rec, blocks, false);
		return;
	}
	if (!take_ahead(rec, lsn, blocks)) {
		begin_copies(&rec->seg, lsn, blocks);
		end_copies(&rec->seg);
	}
	read_ahead(rec, lsn + g->segment_blocks, blocks);
}

/* All of it. */
static void load_segment(struct kvp_recovery *rec, u64 lsn)
{
	load_begin(rec, lsn, rec->pool->log.v->g->segment_blocks);
}

/* --- one entry ----------------------------------------------------------------------- */

int kvp_recovery_decode(struct kvp_recovery *rec, u32 avail, u64 lsn, struct kvp_log_hdr *h,
			struct kvp_why *why)
{
	struct kvp_pool *pool = rec->pool;
	int ret = kvp_log_decode(pool->log.v->g, rec->hdr, avail, pool->sb->nonce, rec->nonce, lsn,
				 pool->sb->pool_blocks, h, why);

	return ret || kvp_log_rows_known(pool->sb, rec->hdr, h) ? ret : -EUCLEAN;
}

/* The header at @lsn as @leg has it, in one piece in rec->hdr. */
static int decode_at(struct kvp_recovery *rec, u32 leg, u64 lsn, struct kvp_log_hdr *h,
		     struct kvp_why *why)
{
	const struct kvp_geometry *g = rec->pool->log.v->g;
	u32 avail = min_t(u64, kvp_log_segment_end(g, lsn) - lsn, KVP_MAX_HDR_BLOCKS), i;
	u32 used = min(kvp_log_hdr_claims(page_address(kvp_segment_page(rec, leg, lsn))), avail);

	for (i = 0; i < max(used, 1u); i++)
		memcpy(rec->hdr + i * KVP_BLOCK_SIZE, page_address(kvp_segment_page(rec, leg, lsn + i)),
		       KVP_BLOCK_SIZE);
	return kvp_recovery_decode(rec, avail, lsn, h, why);
}

u32 kvp_recovery_sum(struct kvp_pool *pool, const struct kvp_rec *r, const void *data)
{
	return r->kind == KVP_REC_PARITY ?
	       kvp_block_sum(pool->vdevs[r->vdev].seed, kvp_parity_addr(r->block), data) :
	       kvp_block_sum(pool->seed, r->block, data);
}

/* Of clean blocks nobody uses it: that one of them is rotten or torn must not end the log (R10). */
static bool payload_verifies(struct kvp_recovery *rec, u32 leg, const struct kvp_log_hdr *h)
{
	u64 at = h->lsn + h->hdr_blocks;
	u32 i;

	for (i = 0; i < h->rec_count; i++) {
		struct kvp_rec r;

		kvp_recovery_record(rec, i, &r);
		if (kvp_rec_counts(&r) && kvp_rec_has_payload(&r) &&
		    kvp_recovery_sum(rec->pool, &r, page_address(kvp_segment_page(rec, leg, at))) != r.crc)
			return false;
		at += kvp_rec_has_payload(&r);
	}
	return true;
}

/* A leg on which the whole entry at @lsn verifies and follows rec->end, or -1. */
static int good_copy(struct kvp_recovery *rec, u64 lsn, struct kvp_log_hdr *h)
{
	const struct kvp_vdev *v = kvp_log_vdev(rec->pool, lsn);
	struct kvp_why why;
	u32 i;

	if (kvp_log_striped(v->g))
		return kvp_stripes_entry(rec, lsn, h);
	for (i = 0; i < rec->seg.nr; i++) {
		if (!rec->seg.loaded[i] || rec->seg.legs[i]->v != v || decode_at(rec, i, lsn, h, &why))
			continue;
		if (kvp_recovery_follows(rec, h) && payload_verifies(rec, i, h))
			return i;
	}
	return -1;
}

/* Does @leg have what @good has of the entry? */
static bool same_copy(struct kvp_recovery *rec, u32 leg, u32 good, const struct kvp_log_hdr *h)
{
	bool same = true;
	u32 b;

	for (b = 0; same && b < h->blocks; b++)
		same = !memcmp(page_address(kvp_segment_page(rec, good, h->lsn + b)),
			       page_address(kvp_segment_page(rec, leg, h->lsn + b)), KVP_BLOCK_SIZE);
	return same;
}

/* Legs of its vdev that have it differently get the good copy, durable before anything goes home. */
static int equalise(struct kvp_recovery *rec, u32 good, const struct kvp_log_hdr *h)
{
	struct kvp_segment *seg = &rec->seg;
	u32 i, b;

	if (rec->stripes)
		return kvp_stripes_equalise(rec, h);
	for (i = 0; i < seg->nr; i++) {
		struct kvp_io io = {
			.leg = seg->legs[i],
			.op = KVP_IO_WRITE_FUA,
			.nr = h->blocks,
			.pages = &seg->pages[good][h->lsn - seg->lsn],
		};

		if (i == good || io.leg->v != seg->legs[good]->v || !seg->loaded[i] ||
		    !kvp_leg_usable(io.leg) || !kvp_log_on_leg(io.leg, h->lsn, &io.block) ||
		    same_copy(rec, i, good, h))
			continue;
		if (kvp_io_sync(&io)) {
			atomic64_inc(&io.leg->err_write);
			if (!kvp_leg_fail(io.leg, "the log cannot be repaired"))
				return kvp_recovery_cannot_write(rec, io.leg, io.block);
			continue;
		}
		/* In memory as well: later steps may take this leg's pages. */
		for (b = 0; b < h->blocks; b++)
			memcpy(page_address(kvp_segment_page(rec, i, h->lsn + b)),
			       page_address(kvp_segment_page(rec, good, h->lsn + b)), KVP_BLOCK_SIZE);
	}
	return 0;
}

/* A discard may be of several vdevs: turn by turn. All else is of one block. */
static int plan_pieces(struct kvp_recovery *rec, const struct kvp_rec *r, struct kvp_log_at at,
		       u64 payload, u8 row)
{
	struct kvp_log_at none = { 0, 0 };
	u64 end = r->block + r->count;
	struct kvp_rec piece = *r;
	int ret = 0;

	while (!ret && piece.block < end) {
		struct kvp_spot spot = kvp_locate(rec->pool, piece.block);
		u64 next = piece.block + min_t(u64, spot.left, end - piece.block);

		if (rec->pool->nr_vdevs == 1)
			next = end;
		piece.count = next - piece.block;
		if (kvp_is_parity1(spot.v->g)) {
			piece.block = spot.block;
			ret = kvp_history_add(&rec->history[spot.v->index], &piece, at, payload, row, none);
		} else {
			ret = kvp_replay_add(&rec->replay, &piece, at, payload, row);
		}
		piece.block = next;
	}
	return ret;
}

static int plan_record(struct kvp_recovery *rec, const struct kvp_log_hdr *h, u32 i,
		       const struct kvp_rec *r, u64 payload)
{
	struct kvp_log_at at = { h->lsn, i }, limit = { h->limit_lsn, h->limit_rec };
	u8 row = payload ? kvp_log_row(rec->pool->log.v->g, h, (u32)(payload - h->lsn)) : 0;

	/* Of an older generation: resolved, and in the table that the next one began with. */
	if (generation(rec) && r->kind != KVP_REC_DATA) {
		kvp_replay_settled(&rec->replay, r);
		return 0;
	}
	if (!rec->pool->parity)
		return kvp_replay_add(&rec->replay, r, at, payload, row);
	if (r->kind == KVP_REC_PARITY)
		return kvp_history_add(&rec->history[r->vdev], r, at, payload, row, limit);
	return plan_pieces(rec, r, at, payload, row);
}

static int plan_entry(struct kvp_recovery *rec, const struct kvp_log_hdr *h)
{
	const struct kvp_geometry *g = rec->pool->log.v->g;
	u32 i, n = 0;

	for (i = 0; i < h->rec_count; i++) {
		struct kvp_rec r;
		u64 payload;
		int ret = 0;

		kvp_recovery_record(rec, i, &r);
		payload = kvp_rec_has_payload(&r) ? h->lsn + kvp_log_payload_at(g, h, n++) : 0;
		if (kvp_rec_counts(&r))
			ret = plan_record(rec, h, i, &r, payload);
		if (ret)
			return kvp_refuse(rec->refusal, ret, "free some memory and try again",
					  "out of memory while reading the log");
	}
	return 0;
}

/* --- scan ------------------------------------------------------------------------------- */

void kvp_recovery_rewind(struct kvp_recovery *rec)
{
	const struct kvp_sb *sb = rec->pool->sb;

	rec->generation = 0;
	set_nonce(rec);
	rec->end = (struct kvp_log_mark){ sb->log_tail, sb->log_prev_lsn, sb->log_prev_csum };
}

/* The entry that follows rec->end, there or at the start of the next segment. */
int kvp_recovery_next(struct kvp_recovery *rec, struct kvp_log_hdr *h)
{
	struct kvp_pool *pool = rec->pool;
	const struct kvp_geometry *g = pool->log.v->g;
	u64 limit = pool->sb->log_tail + kvp_log_window(g), places[2];
	u32 i;
	int leg;

	pass_generations(rec);
	if (generation(rec))
		limit = generation(rec)->next_lsn;
	places[0] = rec->end.lsn;
	places[1] = kvp_log_segment_end(g, rec->end.lsn);
	for (i = 0; i < 2; i++) {
		if (places[i] >= limit || (i && rec->end.lsn % g->segment_blocks == 0))
			continue;
		load_segment(rec, places[i]);
		leg = good_copy(rec, places[i], h);
		if (leg >= 0)
			return leg;
	}
	return -1;
}

/* R12: whoever wrote this knew of a superblock that is not here. */
static int stale_root(struct kvp_recovery *rec, u64 epoch)
{
	return kvp_refuse(rec->refusal, -ESTALE, "connect the legs that were in use last",
		"the log was written in epoch %llu, the newest superblock is of epoch %llu",
		(unsigned long long)epoch, (unsigned long long)rec->pool->sb->epoch);
}

/* Does the header in rec->hdr, if it is one, show that the superblock is old? */
static int check_epoch(struct kvp_recovery *rec, u32 avail)
{
	struct kvp_pool *pool = rec->pool;
	u64 epoch;

	return kvp_log_epoch(rec->hdr, avail, pool->sb->nonce, &epoch) && epoch > pool->sb->epoch ?
	       stale_root(rec, epoch) : 0;
}

/* look_beyond() of a log of full stripes: whichever copies of a header's blocks there are. */
static int look_beyond_stripes(struct kvp_recovery *rec, u64 lsn, u64 *durable)
{
	struct kvp_log_hdr h;
	struct kvp_why why;
	u32 try, blocks;
	int ret = 0;

	for (try = 0; !ret && try < KVP_LOG_STRIPE_TRIES; try++) {
		blocks = kvp_stripes_header(rec, lsn, try);
		if (!blocks)
			continue;
		if (!kvp_recovery_decode(rec, blocks, lsn, &h, &why))
			*durable = max(*durable, h.durable);
		ret = check_epoch(rec, blocks);
	}
	return ret;
}

/* Have the first header of the segment at @lsn in memory: most are in one block, and that says whether this one is. */
static void load_first_header(struct kvp_recovery *rec, u64 lsn)
{
	const struct kvp_geometry *g = rec->pool->log.v->g;
	u32 i, blocks = 1;

	if (rec->stripes) {
		load_begin(rec, lsn, kvp_log_first_header(g));
		return;
	}
	load_begin(rec, lsn, 1);
	for (i = 0; i < rec->seg.nr; i++)
		if (rec->seg.loaded[i] &&
		    kvp_log_hdr_claims(page_address(kvp_segment_page(rec, i, lsn))) > 1)
			blocks = kvp_log_first_header(g);
	load_begin(rec, lsn, blocks);
}

/* Does the block at @lsn hold a header that shows more than was accepted? */
static int look_beyond(struct kvp_recovery *rec, u64 lsn, u64 *durable)
{
	u64 end = kvp_log_segment_end(rec->pool->log.v->g, lsn);
	struct kvp_log_hdr h;
	struct kvp_why why;
	int ret = 0;
	u32 i;

	if (rec->stripes)
		return look_beyond_stripes(rec, lsn, durable);
	/* Of whomever: an older activation's may be from before the log had these vdevs. */
	for (i = 0; !ret && i < rec->seg.nr; i++) {
		const __le32 *magic;

		if (!rec->seg.loaded[i])
			continue;
		magic = page_address(kvp_segment_page(rec, i, lsn));
		if (le32_to_cpu(*magic) != KVP_LOG_MAGIC)
			continue;
		if (!decode_at(rec, i, lsn, &h, &why))
			*durable = max(*durable, h.durable);
		ret = check_epoch(rec, min_t(u64, end - lsn, KVP_MAX_HDR_BLOCKS));
	}
	return ret;
}

/*
 * R10: a bad entry may end the log only if nothing shows that it was durable. R12 on the way.
 *
 * The next KVP_LOG_UNWITNESSED blocks, and what is left of their last segment, may hold all that the log went
 * on with. If it went further, each segment begins with an entry that shows it.
 */
static int check_end(struct kvp_recovery *rec)
{
	struct kvp_pool *pool = rec->pool;
	const struct kvp_geometry *g = pool->log.v->g;
	u64 limit = pool->sb->log_tail + kvp_log_window(g), lsn = rec->end.lsn;
	u64 near = min(limit, kvp_log_segment_end(g, lsn + KVP_LOG_UNWITNESSED));
	u64 durable = pool->sb->log_commit;
	int ret = 0;

	rec->ahead_until = near;
	for (; !ret && lsn < near; lsn++) {
		load_segment(rec, lsn);
		ret = look_beyond(rec, lsn, &durable);
	}
	rec->ahead_until = limit;
	for (; !ret && lsn < limit; lsn += g->segment_blocks) {
		load_first_header(rec, lsn);
		ret = look_beyond(rec, lsn, &durable);
	}
	if (!ret && durable > rec->end.lsn)
		return kvp_refuse(rec->refusal, -EUCLEAN,
			"connect every leg; kvpoolctl check shows what is readable",
			"the log is damaged at %llu on every leg, but was durable up to %llu",
			(unsigned long long)rec->end.lsn, (unsigned long long)durable);
	return ret;
}

int kvp_recovery_take(struct kvp_recovery *rec, u64 behind)
{
	struct kvp_log_hdr h;
	int leg, ret = 0;

	while (!ret && rec->end.lsn < behind && (leg = kvp_recovery_next(rec, &h)) >= 0) {
		rec->end = (struct kvp_log_mark){ h.lsn + h.blocks, h.lsn, h.csum };
		ret = plan_entry(rec, &h);
		if (!ret && !kvp_pool_readonly(rec->pool))
			ret = equalise(rec, leg, &h);
	}
	return ret;
}

/* If the log stays, its tail can move bit by bit from the begin. */
static void note_milestone(struct kvp_recovery *rec)
{
	struct kvp_pool *pool = rec->pool;

	spin_lock(&pool->wbuf.lock);
	pool->log.logged = rec->end;
	__kvp_log_milestone(pool);
	spin_unlock(&pool->wbuf.lock);
}

static int scan(struct kvp_recovery *rec)
{
	struct kvp_pool *pool = rec->pool;
	struct kvp_log_hdr h;
	int leg, ret;

	kvp_recovery_rewind(rec);
	rec->ahead_until = pool->sb->log_tail + kvp_log_window(pool->log.v->g);
	while ((leg = kvp_recovery_next(rec, &h)) >= 0) {
		if (h.epoch > pool->sb->epoch)
			return stale_root(rec, h.epoch);
		rec->end.lsn = h.lsn + h.blocks;
		rec->end.prev_lsn = h.lsn;
		rec->end.prev_csum = h.csum;
		rec->last = h;
		rec->entries++;
		note_milestone(rec);
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

int kvp_recovery_scan(struct kvp_recovery *rec)
{
	int ret = scan(rec);

	kvp_recovery_no_ahead(rec);
	return ret;
}
