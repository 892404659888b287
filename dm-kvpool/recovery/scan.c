// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recovery reads the log, a segment at a time from all legs. It finds which entries count, and
 * notes their records.
 */
#include <linux/mm.h>

#include "core/core.h"
#include "core/order_ops.h"
#include "core/log_mark.h"
#include "core/refusal.h"
#include "core/vdev_ops.h"
#include "format/logstripe.h"
#include "home/home.h"
#include "io/io.h"
#include "log/log.h"
#include "policy/history.h"
#include "policy/replay.h"
#include "ram/wbuf.h"
#include "recovery/recovery.h"
#include "super/members.h"

/* --- generations -------------------------------------------------------------------- */

/* The older generation that is being read; NULL: it is the newest one. */
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
 * Behind the last entry of an older generation, go on to the next one. The superblock says which
 * entry is the last. So an older generation neither ends where it cannot be read (R10), nor goes on
 * because a block has become readable.
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

/* --- one entry ----------------------------------------------------------------------- */

int kvp_recovery_decode(struct kvp_recovery *rec, u32 avail, kvp_lsn_t lsn, struct kvp_log_hdr *h,
			struct kvp_why *why)
{
	struct kvp_pool *pool = rec->pool;
	int ret = kvp_log_decode(pool->vdevs.log_vdev->g, rec->hdr, avail, pool->sb->nonce,
				 rec->nonce, lsn,
				 pool->sb->pool_blocks, h, why);

	return ret || kvp_log_rows_known(pool->sb, rec->hdr, h) ? ret : -EUCLEAN;
}

/* Get the header at @lsn from @leg, in one piece, in rec->hdr. */
static int decode_at(struct kvp_recovery *rec, u32 leg, kvp_lsn_t lsn, struct kvp_log_hdr *h,
		     struct kvp_why *why)
{
	const struct kvp_geometry *g = rec->pool->vdevs.log_vdev->g;
	u64 left = kvp_lsn_since(kvp_log_segment_end(g, lsn), lsn);
	u32 avail = min_t(u64, left, KVP_MAX_HDR_BLOCKS), i;
	u32 used = min(kvp_log_hdr_claims(page_address(kvp_segment_page(rec, leg, lsn))), avail);

	for (i = 0; i < max(used, 1u); i++)
		memcpy(rec->hdr + i * KVP_BLOCK_SIZE,
		       page_address(kvp_segment_page(rec, leg, kvp_lsn_add(lsn, i))),
		       KVP_BLOCK_SIZE);
	return kvp_recovery_decode(rec, avail, lsn, h, why);
}

u32 kvp_recovery_sum(struct kvp_pool *pool, const struct kvp_rec *r, const void *data)
{
	return r->kind == KVP_REC_PARITY ?
	       kvp_block_sum(pool->vdevs.v[r->vdev].seed, kvp_parity_addr(kvp_rec_row(r)), data) :
	       kvp_block_sum(pool->seed, kvp_rec_block(r), data);
}

/* True if the block at @lsn was read from @leg. If not, @u notes the error. */
static bool was_read(struct kvp_recovery *rec, u32 leg, kvp_lsn_t lsn, struct kvp_unread *u)
{
	int error = rec->seg.errors[leg][kvp_lsn_since(lsn, rec->seg.lsn)];
	kvp_lblock_t block = kvp_lblock(0);

	if (!error)
		return true;
	kvp_log_on_leg(rec->seg.legs[leg], lsn, &block);
	kvp_unread_note(u, rec->seg.legs[leg], block, error);
	return false;
}

/*
 * Judge the payload of the entry in rec->hdr. One block with a wrong sum decides, even if others
 * could not be read: a durable entry has no such block. Clean blocks are not judged: a damaged or
 * torn one must not end the log (R10).
 */
static enum kvp_says ask_payload(struct kvp_recovery *rec, u32 leg, const struct kvp_log_hdr *h,
				 struct kvp_unread *u)
{
	kvp_lsn_t at = kvp_lsn_add(h->lsn, h->hdr_blocks);
	struct kvp_unread missed = { };
	u32 i;

	for (i = 0; i < h->rec_count; i++) {
		struct kvp_rec r;

		kvp_recovery_record(rec, i, &r);
		if (kvp_rec_counts(&r) && kvp_rec_has_payload(&r)) {
			if (was_read(rec, leg, at, &missed) &&
			    kvp_recovery_sum(rec->pool, &r,
					     page_address(kvp_segment_page(rec, leg, at))) != r.crc)
				return KVP_SAYS_PART;
		}
		at = kvp_lsn_add(at, kvp_rec_has_payload(&r));
	}
	kvp_unread_note(u, missed.leg, missed.block, missed.error);
	return missed.error ? KVP_SAYS_NOTHING : KVP_SAYS_ENTRY;
}

/* What @leg says about an entry at @lsn. */
static enum kvp_says ask_leg(struct kvp_recovery *rec, u32 leg, kvp_lsn_t lsn,
			     struct kvp_log_hdr *h, struct kvp_unread *u)
{
	const struct kvp_disk_log_hdr *d = page_address(kvp_segment_page(rec, leg, lsn));
	kvp_lsn_t at, end = kvp_log_segment_end(rec->pool->vdevs.log_vdev->g, lsn);
	struct kvp_why why;
	int error;

	if (!was_read(rec, leg, lsn, u))
		return KVP_SAYS_NOTHING;
	error = decode_at(rec, leg, lsn, h, &why);
	if (!error)
		return kvp_recovery_follows(rec, h) ? ask_payload(rec, leg, h, u) : KVP_SAYS_NONE;
	/* A header with another lsn is left over from an earlier round of the log. */
	if (error != -EUCLEAN || kvp_lsn(le64_to_cpu(d->lsn)) != lsn)
		return KVP_SAYS_NONE;
	end = kvp_lsn_first(end, kvp_lsn_add(lsn, min(kvp_log_hdr_claims(d), KVP_MAX_HDR_BLOCKS)));
	for (at = kvp_lsn_add(lsn, 1); kvp_lsn_before(at, end); at = kvp_lsn_add(at, 1))
		if (!was_read(rec, leg, at, u))
			return KVP_SAYS_NOTHING;
	return KVP_SAYS_PART;
}

/*
 * Find a leg on which the whole entry at @lsn verifies and follows rec->end. -ENOENT: there is no
 * such entry; -EIO: it is unknown, because the block in @u could not be read (R27). unread.c says
 * when it is known.
 */
static int good_copy(struct kvp_recovery *rec, kvp_lsn_t lsn, struct kvp_log_hdr *h,
		     struct kvp_unread *u)
{
	const struct kvp_vdev *v = kvp_log_vdev(&rec->pool->vdevs, lsn);
	u32 nr = rec->stripes ? 1 : rec->seg.nr, i;
	bool none = false, part = false;

	for (i = 0; i < nr; i++) {
		enum kvp_says says;

		if (!rec->stripes && (!rec->seg.loaded[i] || rec->seg.legs[i]->v != v))
			continue;
		says = rec->stripes ? kvp_stripes_entry(rec, lsn, h, u) :
		       ask_leg(rec, i, lsn, h, u);
		if (says == KVP_SAYS_ENTRY)
			return rec->stripes ? KVP_STRIPES_MADE : (int)i;
		none |= says == KVP_SAYS_NONE;
		part |= says == KVP_SAYS_PART;
	}
	if (none || !u->error || (part && !kvp_unread_is_silent(u)))
		return -ENOENT;
	return -EIO;
}

/* True if the first @blocks of the entry on @leg and on @good are equal. */
static bool same_copy(struct kvp_recovery *rec, u32 leg, u32 good, const struct kvp_log_hdr *h,
		      u32 blocks)
{
	bool same = true;
	u32 b;

	for (b = 0; same && b < blocks; b++)
		same = !memcmp(page_address(kvp_segment_page(rec, good, kvp_lsn_add(h->lsn, b))),
			       page_address(kvp_segment_page(rec, leg, kvp_lsn_add(h->lsn, b))),
			       KVP_BLOCK_SIZE);
	return same;
}

/*
 * Accept the entry at @lsn by its header alone. The header must be the same on all legs, since the
 * entry was durable on all of them. Returns the leg whose header is in rec->hdr; or -1: the whole
 * entry must be read.
 */
static int known_copy(struct kvp_recovery *rec, kvp_lsn_t lsn, struct kvp_log_hdr *h)
{
	const struct kvp_vdev *v = kvp_log_vdev(&rec->pool->vdevs, lsn);
	struct kvp_segment *seg = &rec->seg;
	int good = -1;
	struct kvp_why why;
	u32 i;

	kvp_segment_load_header(rec, lsn, rec->dense);
	for (i = 0; i < seg->nr; i++) {
		if (!seg->loaded[i] || seg->legs[i]->v != v)
			continue;
		if (good < 0) {
			if (decode_at(rec, i, lsn, h, &why) || !kvp_recovery_follows(rec, h) ||
			    kvp_lsn_before(rec->known, kvp_lsn_add(h->lsn, h->blocks)))
				return -1;
			good = (int)i;
		} else if (!same_copy(rec, i, (u32)good, h, h->hdr_blocks)) {
			return -1;
		}
	}
	/* Read the next header by itself only if much payload follows this one. */
	rec->dense = good >= 0 && h->blocks <= KVP_DENSE_ENTRY;
	return good;
}

/*
 * Write the good copy to legs of the entry's vdev whose copy differs. It is durable before anything
 * goes home.
 */
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
			.pages = &seg->pages[good][kvp_lsn_since(h->lsn, seg->lsn)],
		};

		if (i == good || io.leg->v != seg->legs[good]->v || !seg->loaded[i] ||
		    !kvp_leg_in_sync(io.leg) || !kvp_log_on_leg(io.leg, h->lsn, &io.block) ||
		    same_copy(rec, i, good, h, h->blocks))
			continue;
		if (kvp_io_sync(&io)) {
			kvp_leg_failed_write(io.leg);
			if (!kvp_leg_fail(io.leg, "the log cannot be repaired"))
				return kvp_recovery_cannot_write(rec, io.leg, io.block);
			continue;
		}
		/* Copy it in memory as well: later steps may use the pages of this leg. */
		for (b = 0; b < h->blocks; b++)
			memcpy(page_address(kvp_segment_page(rec, i, kvp_lsn_add(h->lsn, b))),
			       page_address(kvp_segment_page(rec, good, kvp_lsn_add(h->lsn, b))),
			       KVP_BLOCK_SIZE);
	}
	return 0;
}

/*
 * Note a discard, which may cover several vdevs. It is noted once for each vdev with parity,
 * however many turns of it are in the range, and once for all other vdevs together.
 */
static int plan_discard(struct kvp_recovery *rec, const struct kvp_rec *r, struct kvp_log_at at)
{
	struct kvp_pool *pool = rec->pool;
	bool copies = pool->vdevs.nr_by_rows < pool->vdevs.nr_with_data;
	int ret = copies ? kvp_replay_add(&rec->replay, r, at, 0, 0) : 0;
	kvp_block_t first = kvp_rec_block(r), end = kvp_block_add(first, r->count);
	struct kvp_rec part = *r;
	u32 i;

	for (i = 0; !ret && i < pool->vdevs.nr; i++) {
		struct kvp_vdev *v = &pool->vdevs.v[i];

		part.block = kvp_vblock_nr(kvp_vdev_from(v, first));
		part.count = kvp_vblock_nr(kvp_vdev_from(v, end)) - part.block;
		if (part.count)
			ret = v->ops->plan_discard(rec, v, &part, at);
	}
	return ret;
}

/* Note a record of one block. */
static int plan_block(struct kvp_recovery *rec, const struct kvp_rec *r, struct kvp_log_at at,
		      kvp_lsn_t payload, u8 row)
{
	struct kvp_spot spot = kvp_locate(rec->pool, kvp_rec_block(r));

	return spot.v->ops->plan(rec, &spot, r, at, payload, row);
}

/* Note a record of a pool with a parity1, where all versions count. */
int kvp_recovery_plan_in_order(struct kvp_recovery *rec, const struct kvp_rec *r,
			       struct kvp_log_at at, struct kvp_log_at limit, kvp_lsn_t payload,
			       u8 row)
{
	if (r->kind == KVP_REC_PARITY)
		return kvp_history_add(&rec->history[r->vdev], r, at, payload, row, limit);
	return r->kind == KVP_REC_DISCARD ? plan_discard(rec, r, at) :
	       plan_block(rec, r, at, payload, row);
}

bool kvp_recovery_resolved(const struct kvp_recovery *rec, bool old, kvp_lsn_t lsn, u8 kind)
{
	if (old)
		return kind != KVP_REC_DATA;
	return kind == KVP_REC_INTENT && kvp_lsn_before(lsn, rec->pool->sb->log_resolved);
}

static int plan_record(struct kvp_recovery *rec, const struct kvp_log_hdr *h, u32 i,
		       const struct kvp_rec *r, kvp_lsn_t payload)
{
	struct kvp_log_at at = { h->lsn, i }, limit = { h->limit_lsn, h->limit_rec };
	u8 row = payload ? kvp_log_row(rec->pool->vdevs.log_vdev->g, h,
				       (u32)kvp_lsn_since(payload, h->lsn)) : 0;

	if (kvp_recovery_resolved(rec, generation(rec), h->lsn, r->kind))
		return kvp_replay_resolved(&rec->replay, r);
	return rec->pool->vdevs.order->plan(rec, r, at, limit, payload, row);
}

/*
 * If record @i of an entry is a resolved intent, let @r be all of its run of neighbours. A log may
 * have tens of millions of them, from streams. Returns the number of records.
 */
static u32 resolved_run(struct kvp_recovery *rec, const struct kvp_log_hdr *h, u32 i,
			struct kvp_rec *r)
{
	struct kvp_rec next;
	u32 n = 1;

	if (r->kind != KVP_REC_INTENT ||
	    !kvp_recovery_resolved(rec, generation(rec), h->lsn, r->kind))
		return 1;
	for (; i + n < h->rec_count; n++) {
		kvp_recovery_record(rec, i + n, &next);
		if (next.kind != KVP_REC_INTENT || next.block != r->block + n)
			break;
	}
	r->count = n;
	return n;
}

static int plan_entry(struct kvp_recovery *rec, const struct kvp_log_hdr *h)
{
	const struct kvp_geometry *g = rec->pool->vdevs.log_vdev->g;
	u32 i, run, n = 0;

	for (i = 0; i < h->rec_count; i += run) {
		struct kvp_rec r;
		kvp_lsn_t payload;
		int ret = 0;

		kvp_recovery_record(rec, i, &r);
		run = resolved_run(rec, h, i, &r);
		payload = kvp_rec_has_payload(&r) ?
			  kvp_lsn_add(h->lsn, kvp_log_payload_at(g, h, n++)) : 0;
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

/*
 * Get the places where the entry that follows rec->end may begin: there, or at the start of the
 * next segment. Returns their number.
 */
static u32 next_places(const struct kvp_recovery *rec, kvp_lsn_t *places)
{
	const struct kvp_pool *pool = rec->pool;
	const struct kvp_geometry *g = pool->vdevs.log_vdev->g;
	kvp_lsn_t limit = generation(rec) ? generation(rec)->next_lsn :
			  kvp_lsn_add(pool->sb->log_tail, kvp_log_window(g));
	kvp_lsn_t next = kvp_log_segment_end(g, rec->end.lsn);
	u32 n = 0;

	if (kvp_lsn_before(rec->end.lsn, limit))
		places[n++] = rec->end.lsn;
	if (kvp_lsn_before(next, limit) && kvp_lsn_nr(rec->end.lsn) % g->segment_blocks)
		places[n++] = next;
	return n;
}

int kvp_recovery_next(struct kvp_recovery *rec, struct kvp_log_hdr *h)
{
	struct kvp_unread open = { }, u;
	kvp_lsn_t places[2];
	u32 i, n;
	int leg;

	pass_generations(rec);
	n = next_places(rec, places);
	rec->unverified = true;
	for (i = 0; i < n && kvp_lsn_before(places[i], rec->known); i++) {
		leg = known_copy(rec, places[i], h);
		if (leg >= 0)
			return leg;
	}
	rec->unverified = false;
	memset(&rec->end_unread, 0, sizeof(rec->end_unread));
	for (i = 0; i < n; i++) {
		kvp_segment_load(rec, places[i]);
		memset(&u, 0, sizeof(u));
		leg = good_copy(rec, places[i], h, &u);
		if (leg >= 0)
			return leg;
		kvp_unread_note(&rec->end_unread, u.leg, u.block, u.error);
		if (leg != -ENOENT)
			kvp_unread_note(&open, u.leg, u.block, u.error);
	}
	/* No other place has the next entry, so it may be at the place that could not be read. */
	return open.error ? kvp_recovery_unread(rec, &open, "and the log may go on there") :
	       -ENOENT;
}

/* Refuse (R12): the entry was written under a newer superblock, which no leg here has. */
static int stale_root(struct kvp_recovery *rec, u64 epoch)
{
	return kvp_refuse(rec->refusal, -ESTALE, "connect the legs that were in use last",
		"the log was written in epoch %llu, the newest superblock is of epoch %llu",
		(unsigned long long)epoch, (unsigned long long)rec->pool->sb->epoch);
}

/* Refuse if the header in rec->hdr shows that the superblock is old. */
static int check_epoch(struct kvp_recovery *rec, u32 avail)
{
	struct kvp_pool *pool = rec->pool;
	u64 epoch;

	return kvp_log_epoch(rec->hdr, avail, pool->sb->nonce, &epoch) && epoch > pool->sb->epoch ?
	       stale_root(rec, epoch) : 0;
}

/* True if the block at @lsn could be read from none of the legs that were asked. */
static bool is_unread(struct kvp_recovery *rec, kvp_lsn_t lsn, struct kvp_unread *u)
{
	const struct kvp_vdev *v = kvp_log_vdev(&rec->pool->vdevs, lsn);
	struct kvp_segment *seg = &rec->seg;
	bool asked = false;
	u32 i;

	if (rec->stripes)
		return kvp_stripes_unread(rec, lsn, u);
	for (i = 0; i < seg->nr; i++) {
		if (!seg->loaded[i] || seg->legs[i]->v != v)
			continue;
		asked = true;
		if (was_read(rec, i, lsn, u))
			return false;
	}
	return asked;
}

/* Count the block at @lsn in @a. It counts as read if one leg in sync gave it. */
static void note_beyond(struct kvp_recovery *rec, struct kvp_asked *a, kvp_lsn_t lsn)
{
	struct kvp_unread u = { }, none = { };

	kvp_asked_note(a, is_unread(rec, lsn, &u) ? &u : &none);
}

/*
 * The block that hides the end of the log (R27), or NULL. A few bad sectors are ignored, since they
 * may exist for years. But if most reads failed, or an error says so, a leg does not answer.
 */
static const struct kvp_unread *beyond_unknown(const struct kvp_recovery *rec)
{
	if (kvp_asked_in_vain(&rec->near))
		return &rec->near.unread;
	return kvp_asked_in_vain(&rec->far) ? &rec->far.unread : NULL;
}

/* look_beyond() for a log of full stripes: it tries all copies of a header's blocks. */
static int look_beyond_stripes(struct kvp_recovery *rec, kvp_lsn_t lsn, kvp_lsn_t *durable)
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
			*durable = kvp_lsn_last(*durable, h.durable);
		ret = check_epoch(rec, blocks);
	}
	return ret;
}

/*
 * Read the first header of the segment at @lsn into memory. Most headers are one block, which tells
 * whether there are more.
 */
static void load_first_header(struct kvp_recovery *rec, kvp_lsn_t lsn)
{
	u32 most = kvp_log_first_header(rec->pool->vdevs.log_vdev->g);

	kvp_segment_load_begin(rec, lsn, rec->stripes ? most : 1);
	if (!rec->stripes && kvp_segment_claims(rec, lsn) > 1)
		kvp_segment_load_begin(rec, lsn, most);
}

/*
 * Look whether a header at @lsn shows that more of the log was durable than was accepted. Count the
 * block in @a.
 */
static int look_beyond(struct kvp_recovery *rec, struct kvp_asked *a, kvp_lsn_t lsn,
		       kvp_lsn_t *durable)
{
	kvp_lsn_t end = kvp_log_segment_end(rec->pool->vdevs.log_vdev->g, lsn);
	struct kvp_log_hdr h;
	struct kvp_why why;
	int ret = 0;
	u32 i;

	note_beyond(rec, a, lsn);
	if (rec->stripes)
		return look_beyond_stripes(rec, lsn, durable);
	/* Look on every vdev: in an older activation the log may have been on other vdevs. */
	for (i = 0; !ret && i < rec->seg.nr; i++) {
		const __le32 *magic;

		if (!rec->seg.loaded[i])
			continue;
		magic = page_address(kvp_segment_page(rec, i, lsn));
		if (le32_to_cpu(*magic) != KVP_LOG_MAGIC)
			continue;
		if (!decode_at(rec, i, lsn, &h, &why))
			*durable = kvp_lsn_last(*durable, h.durable);
		ret = check_epoch(rec, min_t(u64, kvp_lsn_since(end, lsn), KVP_MAX_HDR_BLOCKS));
	}
	return ret;
}

/* Look at the first headers of the segments from @lsn to @end. */
static int look_at_segments(struct kvp_recovery *rec, kvp_lsn_t lsn, kvp_lsn_t end,
			    kvp_lsn_t *durable)
{
	u32 segment = rec->pool->vdevs.log_vdev->g->segment_blocks;
	int ret = 0;

	rec->ahead_until = end;
	for (; !ret && kvp_lsn_before(lsn, end); lsn = kvp_lsn_add(lsn, segment)) {
		load_first_header(rec, lsn);
		ret = look_beyond(rec, &rec->far, lsn, durable);
	}
	return ret;
}

/*
 * For a log that may stay: find rec->known, the position up to which the log was surely durable.
 * Below it, headers are enough. The newest header at the start of a segment lies at most a segment
 * before the end, and names a position at most KVP_LOG_UNWITNESSED before itself. All of an older
 * generation was durable.
 *
 * The superblock's log_commit cannot be used: when it was set, a leg that lacks an entry may not
 * have been recorded out yet.
 */
static int find_known(struct kvp_recovery *rec)
{
	struct kvp_pool *pool = rec->pool;
	const struct kvp_geometry *g = pool->vdevs.log_vdev->g;
	const struct kvp_sb *sb = pool->sb;
	kvp_lsn_t begin = sb->generation_count ?
			  sb->generations[sb->generation_count - 1].next_lsn :
					   kvp_log_segment_end(g, sb->log_tail);
	kvp_lsn_t known = sb->generation_count ? begin : 0;
	int ret;

	rec->known = 0;
	rec->generation = sb->generation_count;
	set_nonce(rec);
	ret = look_at_segments(rec, begin, kvp_lsn_add(sb->log_tail, kvp_log_window(g)), &known);
	kvp_recovery_no_ahead(rec);
	rec->known = known;
	return ret;
}

/*
 * R10: a bad entry may end the log only if nothing shows that it was durable. This function checks
 * R12, too.
 *
 * If the log went on, its next entries lie within KVP_LOG_UNWITNESSED blocks and the rest of the
 * segment where these end. If it went on further, each later segment begins with an entry that
 * shows it.
 */
static int check_end(struct kvp_recovery *rec)
{
	struct kvp_pool *pool = rec->pool;
	const struct kvp_geometry *g = pool->vdevs.log_vdev->g;
	kvp_lsn_t limit = kvp_lsn_add(pool->sb->log_tail, kvp_log_window(g)), lsn = rec->end.lsn;
	kvp_lsn_t far = kvp_log_segment_end(g, kvp_lsn_add(lsn, KVP_LOG_UNWITNESSED));
	kvp_lsn_t near = kvp_lsn_first(limit, far);
	kvp_lsn_t durable = kvp_lsn_last(pool->sb->log_commit, rec->known);
	const struct kvp_unread *unknown;
	int ret = 0;

	rec->ahead_until = near;
	for (; !ret && kvp_lsn_before(lsn, near); lsn = kvp_lsn_add(lsn, 1)) {
		kvp_segment_load(rec, lsn);
		ret = look_beyond(rec, &rec->near, lsn, &durable);
	}
	/* A recovery by headers has looked there already, in find_known(). */
	if (!ret && !rec->by_headers)
		ret = look_at_segments(rec, lsn, limit, &durable);
	if (!ret && kvp_lsn_before(rec->end.lsn, durable) && kvp_unread_is_silent(&rec->end_unread))
		return kvp_recovery_unread(rec, &rec->end_unread,
					   "and what others have of the log there is damaged");
	if (!ret && kvp_lsn_before(rec->end.lsn, durable))
		return kvp_refuse(rec->refusal, -EUCLEAN,
			"connect every leg; kvpoolctl check shows what is readable",
			"the log is damaged at %llu on every leg, but was durable up to %llu",
			(unsigned long long)kvp_lsn_nr(rec->end.lsn),
			(unsigned long long)kvp_lsn_nr(durable));
	unknown = ret ? NULL : beyond_unknown(rec);
	return unknown ? kvp_recovery_unread(rec, unknown, "which may show that the log went on") :
	       ret;
}

int kvp_recovery_take(struct kvp_recovery *rec, kvp_lsn_t behind)
{
	struct kvp_log_hdr h;
	int leg, ret = 0;

	while (!ret && kvp_lsn_before(rec->end.lsn, behind)) {
		leg = kvp_recovery_next(rec, &h);
		if (leg == -ENOENT)
			return kvp_refuse(rec->refusal, -EIO,
					  "check the legs and start again; nothing is lost by that",
				"entries of an earlier recovery could be read once, and now they cannot, at %llu",
				(unsigned long long)kvp_lsn_nr(rec->end.lsn));
		if (leg < 0)
			return leg;
		rec->end = (struct kvp_log_mark){ kvp_lsn_add(h.lsn, h.blocks), h.lsn, h.csum };
		ret = plan_entry(rec, &h);
		if (!ret && !kvp_pool_readonly(rec->pool))
			ret = equalise(rec, leg, &h);
	}
	return ret;
}

/* The entry counts: note its records. */
static int accept(struct kvp_recovery *rec, int leg, const struct kvp_log_hdr *h)
{
	struct kvp_pool *pool = rec->pool;
	int ret;

	if (h->epoch > pool->sb->epoch)
		return stale_root(rec, h->epoch);
	rec->end = (struct kvp_log_mark){ kvp_lsn_add(h->lsn, h->blocks), h->lsn, h->csum };
	rec->last = *h;
	rec->entries++;
	/* If the log stays, the milestones let its tail move in small steps from the start. */
	kvp_log_set_passed(pool->log, &rec->end);
	if (kvp_pool_readonly(pool))
		return kvp_refuse(rec->refusal, -EROFS,
				  "import it without --readonly, then export it with --drain",
				  "the log holds writes that are not yet home");
	ret = plan_entry(rec, h);
	rec->skipped += rec->unverified ? h->payload : 0;
	return ret || rec->unverified ? ret : equalise(rec, leg, h);
}

static int scan(struct kvp_recovery *rec)
{
	struct kvp_pool *pool = rec->pool;
	struct kvp_log_hdr h;
	int leg = 0, ret = 0;

	rec->skipped = 0;
	rec->known = 0;
	memset(&rec->near, 0, sizeof(rec->near));
	memset(&rec->far, 0, sizeof(rec->far));
	if (rec->by_headers)
		ret = find_known(rec);
	kvp_recovery_rewind(rec);
	rec->ahead_until = kvp_lsn_add(pool->sb->log_tail, kvp_log_window(pool->vdevs.log_vdev->g));
	while (!ret && (leg = kvp_recovery_next(rec, &h)) >= 0)
		ret = accept(rec, leg, &h);
	if (!ret && leg != -ENOENT)
		ret = leg;
	return ret ?: check_end(rec);
}

int kvp_recovery_scan(struct kvp_recovery *rec)
{
	int ret = scan(rec);

	kvp_recovery_no_ahead(rec);
	return ret;
}
