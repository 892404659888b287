// SPDX-License-Identifier: GPL-2.0-only
/*
 * The log of a cache is discarded, by order. No SSD that has it is there, or it is damaged on all
 * that are there (R14). Versions that only this log held are lost.
 *
 * Without a readable header, recovery does not know which blocks are lost. But headers may be
 * readable on an SSD that was recorded out earlier, or behind a damaged entry. They name blocks and
 * their sums. Suppose that the newest record found of a block is data, and that the block's entry
 * in the table has another sum. Then a newer version than the one at home was acknowledged. That
 * block is poisoned (R8). Recovery never takes contents from such a log (R17). So an outdated SSD
 * can make a block read EIO, but never give it an old version.
 *
 *   intents   poison nothing: a sum shows whether the block at home is right
 *   discards  poison nothing: contents from before the discard may be back
 *
 * An SSD in use that does not answer may have headers that name lost blocks, so nothing is
 * discarded yet (R27). A bad sector is skipped. So is an SSD that was recorded out, since it may
 * never answer again. Plain -EIO may come from a bad sector, or from an SSD that does not answer.
 * So errors are counted for each SSD:
 *
 *   some blocks of an SSD in use     bad sectors: skipped
 *   most of its blocks               the SSD does not answer: the start is refused, with its name,
 *       before any block is poisoned. A later start asks it again; or '-' in its place leaves it
 *       out
 *   all, and the medium has lost it  no later start can read it: skipped
 *
 * Steps:
 *
 *   1. The superblock that was chosen goes to all legs (R13). It still names the log.
 *   2. Blocks are poisoned, in memory. A checkpoint on the way still names the log.
 *   3. The checkpoint that has all poison names an empty log under a new nonce and epoch. Until it
 *      is durable, nothing is discarded. With the SSDs, the next start replays the log. Without
 *      them, it does the same steps again, with the same result.
 */
#include <linux/bitmap.h>
#include <linux/mm.h>
#include <linux/random.h>

#include "core/core.h"
#include "core/log_mark.h"
#include "core/refusal.h"
#include "core/vdev_ops.h"
#include "format/logplace.h"
#include "format/logstripe.h"
#include "io/io.h"
#include "log/log.h"
#include "policy/replay.h"
#include "recovery/recovery.h"
#include "super/members.h"
#include "table/table.h"

/* --- what can be read ------------------------------------------------------------------ */

static void note(struct kvp_recovery *rec, const struct kvp_leg *leg, kvp_lblock_t block, int error)
{
	struct kvp_unread u = { leg, block, error };

	if (kvp_leg_in_sync(leg))
		kvp_asked_note(&rec->discarded[leg->index], &u);
}

static void load_leg(struct kvp_recovery *rec, u32 leg)
{
	struct kvp_vdev *v = rec->pool->vdevs.log_vdev;
	struct page **pages = rec->seg.pages[leg];
	struct kvp_io io = { .leg = &v->legs[leg], .op = KVP_IO_READ };
	u32 n = v->g->segment_blocks, p;
	int error = 0;
	bool read;

	io.nr = n;
	io.pages = pages;
	read = kvp_log_on_leg(&v->legs[leg], rec->seg.lsn, &io.block) && !kvp_io_sync(&io);
	for (p = 0; p < n; p++) {
		kvp_lblock_t at = kvp_lblock_add(io.block, p);

		if (!read && (!error || kvp_error_may_be_place(error)))
			error = kvp_recovery_page(rec, io.leg, at, pages[p]);
		note(rec, io.leg, at, error);
		if (error)
			clear_page(page_address(pages[p]));
	}
}

static void load_all(struct kvp_recovery *rec)
{
	const struct kvp_vdev *v = rec->pool->vdevs.log_vdev;
	u32 i;

	if (rec->stripes)
		kvp_stripes_load(rec, v->g->segment_blocks, true);
	for (i = 0; rec->stripes && i < v->g->segment_blocks; i++) {
		struct kvp_place at = kvp_log_place(v->g, kvp_lsn_add(rec->seg.lsn, i), 0);

		note(rec, &v->legs[at.leg], at.block,
		     kvp_stripes_error(rec, kvp_lsn_add(rec->seg.lsn, i)));
	}
	for (i = 0; !rec->stripes && i < v->nr_legs; i++)
		if (v->legs[i].bdev)
			load_leg(rec, i);
}

/*
 * Refuse if an SSD in use does not answer: it may have headers that name lost blocks. Until the
 * whole log was read (@all), only an error that cannot come from a bad sector shows that. It is
 * tested early, since each further read may take as long as a request can take.
 */
static int refuse_silent(struct kvp_recovery *rec, bool all)
{
	const struct kvp_vdev *v = rec->pool->vdevs.log_vdev;
	u32 i;

	for (i = 0; i < v->nr_legs; i++) {
		const struct kvp_asked *a = &rec->discarded[v->legs[i].index];

		if (!kvp_asked_in_vain(a) || (!all && kvp_error_may_be_place(a->unread.error)))
			continue;
		return kvp_refuse(rec->refusal, -EIO,
			"connect or repair it, and start again; or give '-' in its place, and what only it can tell is lost",
			"%s does not answer (error %d): of %u blocks of the log that is given up it gave %u, and it may name blocks that are lost; nothing is lost yet",
			a->unread.leg->path, a->unread.error, a->asked, a->asked - a->missed);
	}
	return 0;
}

/* True if rec->hdr decodes as a header of any generation. */
static bool decode_any(struct kvp_recovery *rec, u32 avail, kvp_lsn_t lsn, struct kvp_log_hdr *h,
		       bool *old)
{
	const struct kvp_geometry *g = rec->pool->vdevs.log_vdev->g;
	const struct kvp_sb *sb = rec->pool->sb;
	struct kvp_why why;
	u32 i;

	for (i = 0; i <= sb->generation_count; i++) {
		*old = i < sb->generation_count;
		if (!kvp_log_decode(g, rec->hdr, avail, sb->nonce,
				    *old ? sb->generations[i].nonce : sb->log_nonce, lsn,
				    sb->pool_blocks, h, &why))
			return kvp_log_rows_known(sb, rec->hdr, h);
	}
	return false;
}

/* Get the header at @lsn from @leg, in one piece, in rec->hdr. */
static bool header_at(struct kvp_recovery *rec, u32 leg, kvp_lsn_t lsn, struct kvp_log_hdr *h,
		      bool *old)
{
	const struct kvp_geometry *g = rec->pool->vdevs.log_vdev->g;
	u64 left = kvp_lsn_since(kvp_log_segment_end(g, lsn), lsn);
	u32 avail = min_t(u64, left, KVP_MAX_HDR_BLOCKS), i;
	const __le32 *magic = page_address(kvp_segment_page(rec, leg, lsn));

	if (le32_to_cpu(*magic) != KVP_LOG_MAGIC)
		return false;
	for (i = 0; i < avail; i++)
		memcpy(rec->hdr + i * KVP_BLOCK_SIZE,
		       page_address(kvp_segment_page(rec, leg, kvp_lsn_add(lsn, i))),
		       KVP_BLOCK_SIZE);
	return decode_any(rec, avail, lsn, h, old);
}

static bool any_header_at(struct kvp_recovery *rec, kvp_lsn_t lsn, struct kvp_log_hdr *h, bool *old)
{
	const struct kvp_vdev *v = rec->pool->vdevs.log_vdev;
	u32 i, blocks;

	for (i = 0; rec->stripes && i < KVP_LOG_STRIPE_TRIES; i++) {
		blocks = kvp_stripes_header(rec, lsn, i);
		if (blocks && decode_any(rec, blocks, lsn, h, old))
			return true;
	}
	if (rec->stripes)
		return false;
	for (i = 0; i < v->nr_legs; i++)
		if (v->legs[i].bdev && header_at(rec, i, lsn, h, old))
			return true;
	return false;
}

static int note_entry(struct kvp_recovery *rec, struct kvp_replay *found,
		      const struct kvp_log_hdr *h, bool old)
{
	int ret = 0;
	u32 i;

	for (i = 0; !ret && i < h->rec_count; i++) {
		struct kvp_log_at at = { h->lsn, i };
		struct kvp_rec r;

		kvp_recovery_record(rec, i, &r);
		if (!kvp_rec_counts(&r) || r.kind == KVP_REC_PARITY)
			continue;
		if (kvp_recovery_resolved(rec, old, h->lsn, r.kind))
			ret = kvp_replay_resolved(found, &r);
		else
			ret = kvp_replay_add(found, &r, at, 0, 0);
	}
	return ret;
}

/*
 * Read all headers that any SSD has in the window of the log, even if entries between them are
 * missing.
 */
static int read_headers(struct kvp_recovery *rec, struct kvp_replay *found)
{
	const struct kvp_vdev *v = rec->pool->vdevs.log_vdev;
	kvp_lsn_t lsn = rec->pool->sb->log_tail, end = kvp_lsn_add(lsn, kvp_log_window(v->g));
	u32 segment = v->g->segment_blocks;
	int ret = 0;

	for (rec->seg.lsn = kvp_lsn_down(lsn, segment);
	     !ret && kvp_lsn_before(rec->seg.lsn, end);
	     rec->seg.lsn = kvp_lsn_add(rec->seg.lsn, segment)) {
		load_all(rec);
		ret = refuse_silent(rec, false);
		kvp_lsn_t until = kvp_lsn_first(end, kvp_lsn_add(rec->seg.lsn, segment));

		while (!ret && kvp_lsn_before(lsn, until)) {
			struct kvp_log_hdr h;
			bool old;

			if (!any_header_at(rec, lsn, &h, &old)) {
				lsn = kvp_lsn_add(lsn, 1);
				continue;
			}
			ret = note_entry(rec, found, &h, old);
			lsn = kvp_lsn_add(lsn, h.blocks);
		}
	}
	rec->seg.lsn = KVP_NO_SEGMENT;
	return ret ?: refuse_silent(rec, true);
}

/* --- what is lost ------------------------------------------------------------------------ */

static int lose(struct kvp_recovery *rec, kvp_block_t block, u32 crc)
{
	struct kvp_pool *pool = rec->pool;
	struct kvp_tpage *leaf = kvp_table_load_home(pool->table, block);
	u64 entry;

	if (IS_ERR(leaf))
		return PTR_ERR(leaf);
	entry = kvp_table_entry(leaf, block);
	if (kvp_entry_state(entry) == KVP_ENTRY_POISONED ||
	    (kvp_entry_state(entry) == KVP_ENTRY_VALID && kvp_entry_crc(entry) == crc)) {
		kvp_table_put(leaf);
		return 0;
	}
	leaf->v->ops->poison(pool, leaf, block);
	kvp_table_put(leaf);
	pool->recovery.discarded_blocks++;
	return kvp_recovery_relieve(rec);
}

static int poison_lost(struct kvp_recovery *rec, struct kvp_replay *found)
{
	struct kvp_replay_rec *r;
	unsigned long block;
	int ret = 0;

	xa_for_each(&found->blocks, block, r) {
		if (r->kind == KVP_REC_DATA)
			ret = lose(rec, r->block, r->crc);
		if (ret)
			break;
	}
	return ret;
}

/*
 * As long as the superblock names the log of the SSDs, it must not say that they are out: after a
 * power cut they may be there again, with the whole log.
 */
static int roll_forward(struct kvp_pool *pool)
{
	unsigned long flags;
	int ret;

	mutex_lock(&pool->sb_lock);
	spin_lock_irqsave(&pool->members_lock, flags);
	kvp_log_legs_keep(pool);
	spin_unlock_irqrestore(&pool->members_lock, flags);
	ret = kvp_sb_roll_forward(pool);
	mutex_unlock(&pool->sb_lock);
	return ret;
}

/*
 * Begin an empty log. It is on the cache if enough SSDs of the cache are in use: then the log was
 * damaged, but the cache works.
 */
static void begin_anew(struct kvp_recovery *rec)
{
	struct kvp_pool *pool = rec->pool;
	struct kvp_sb *sb = pool->sb;
	struct kvp_vdev *to = kvp_vdev_has_log(pool->vdevs.log_vdev) ? pool->vdevs.log_vdev :
			      kvp_log_refuge(&pool->vdevs);
	u64 nonce;

	get_random_bytes(&nonce, sizeof(nonce));
	mutex_lock(&pool->sb_lock);
	pool->recovery.log_moved = to != pool->vdevs.log_vdev;
	/*
	 * The pool goes back to older contents: points of the discarded history are no longer valid
	 * (format/point.h).
	 */
	sb->log_discards++;
	kvp_log_anew(sb, to->index, kvp_log_others(&pool->vdevs, to), nonce);
	kvp_log_take_place(&pool->vdevs);
	WRITE_ONCE(pool->vdevs.log_moving, false);
	mutex_unlock(&pool->sb_lock);
	rec->end = (struct kvp_log_mark){ sb->log_tail, 0, 0 };
}

int kvp_recovery_discard_log(struct kvp_recovery *rec)
{
	struct kvp_pool *pool = rec->pool;
	struct kvp_recovery_info *info = &pool->recovery;
	struct kvp_replay found;
	int ret;

	info->discarded_lsn = pool->sb->log_tail;
	info->discarded_mib = kvp_log_counted_mib(pool->sb);
	if (kvp_pool_readonly(pool)) {
		begin_anew(rec);
		return 0;
	}
	kvp_replay_init(&found);
	ret = roll_forward(pool);
	if (!ret)
		ret = read_headers(rec, &found);
	if (!ret)
		ret = poison_lost(rec, &found);
	if (!ret)
		begin_anew(rec);
	kvp_replay_exit(&found);
	return ret;
}
