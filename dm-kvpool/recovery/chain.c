// SPDX-License-Identifier: GPL-2.0-only
/*
 * The chain of parity that a recovery of a parity1 appends to the log before it writes anything
 * home.
 *
 * The chain begins with the segment behind the log's end. It has a nonce of its own, which the
 * superblock names before the first entry is written (R11). Its last entry is marked as the last.
 * When that entry is durable, a superblock says that the chain is complete. Only when that
 * superblock is durable, blocks go home. Until then the chain does not count, and a next recovery
 * begins it anew, at the same place with another nonce. From then on the chain has all the parity
 * that a next recovery needs. So there are never more than the log and one chain, however often
 * recoveries are cut short.
 *
 * The superblock says whether the chain is complete. Recovery does not guess it from the blocks
 * that it can read (R27):
 *
 * - Not complete: the chain is not read. None of its rows went home.
 * - Complete, and read to its end: its parity is used. Used twice, it gives the same result.
 * - Complete, and a leg is silent: the start is refused. The chain exists, and a later start finds
 *   it.
 * - Complete, and damaged in all copies or lost by the medium: the chain is needed only for a row
 *   that is half written and has a block that must be rebuilt. So recovery first resolves all rows
 *   without the chain, and writes nothing. If no row loses a block, it begins another chain.
 *   Otherwise the start is refused until the leg with the block is back.
 * - Begun anew in place of a damaged one: the chain is not read. But rows may be half written,
 *   since the chain before it was complete. A leg that was there then may be missing now. So
 *   recovery first tries again to resolve all rows.
 * - Of an older module, which did not say it: the chain is complete if its last entry is found.
 *
 * After a crash between the last entry and that superblock, the chain counts as not complete, and
 * is written once more. If the superblock reached only some legs, the next start may choose it, and
 * then the chain is complete. If the start chooses another one, no block was home (R13).
 */
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/random.h>

#include "core/core.h"
#include "core/log_mark.h"
#include "core/refusal.h"
#include "core/vdev_ops.h"
#include "format/logstripe.h"
#include "io/io.h"
#include "log/log.h"
#include "recovery/recovery.h"
#include "super/events.h"
#include "super/members.h"

struct kvp_recovery_chain {
	bool begun;
	u64 nonce;
	struct kvp_log_mark head;
	u32 nr;				/* rows that wait for the next entry */
	struct kvp_rec recs[KVP_ENTRY_MAX_DATA];
	struct page *pages[KVP_ENTRY_MAX_DATA + 1];	/* [0]: the header's block */
	struct kvp_io ios[KVP_MAX_MIRROR_LEGS];		/* of the entry that is being written */
};

void kvp_recovery_chain_free(struct kvp_recovery *rec)
{
	struct kvp_recovery_chain *c = rec->chain;
	u32 i;

	if (!c)
		return;
	for (i = 0; i < ARRAY_SIZE(c->pages); i++)
		if (c->pages[i])
			__free_page(c->pages[i]);
	kvfree(c);
	rec->chain = NULL;
}

int kvp_recovery_chain_alloc(struct kvp_recovery *rec)
{
	struct kvp_recovery_chain *c = kvzalloc(sizeof(*c), GFP_KERNEL);
	u32 i;

	rec->chain = c;
	for (i = 0; c && i < ARRAY_SIZE(c->pages); i++) {
		c->pages[i] = alloc_page(GFP_KERNEL);
		if (!c->pages[i])
			return -ENOMEM;
	}
	return c ? 0 : -ENOMEM;
}

/* The lsn at which the log is full. */
static kvp_lsn_t log_limit(const struct kvp_recovery *rec)
{
	const struct kvp_geometry *g = rec->pool->vdevs.log_vdev->g;
	kvp_lsn_t tail = rec->pool->sb->log_tail;

	return kvp_lsn_add(kvp_lsn_down(tail, g->segment_blocks), kvp_log_window(g));
}

static int no_room(struct kvp_recovery *rec)
{
	return kvp_refuse(rec->refusal, -ENOSPC, "report this: it should not happen",
			  "the log has no room for the parity that a recovery needs");
}

/* --- writing --------------------------------------------------------------------------- */

/* Name the chain in the superblock, durably, before anything is appended to it. */
static int begin(struct kvp_recovery *rec)
{
	struct kvp_recovery_chain *c = rec->chain;
	struct kvp_pool *pool = rec->pool;
	int ret;

	c->head = (struct kvp_log_mark){
		kvp_log_segment_end(pool->vdevs.log_vdev->g, rec->end.lsn), 0, 0
	};
	if (!kvp_lsn_before(c->head.lsn, log_limit(rec)))
		return no_room(rec);
	get_random_bytes(&c->nonce, sizeof(c->nonce));
	c->nonce |= 1;
	c->begun = true;
	mutex_lock(&pool->sb_lock);
	pool->sb->epoch++;
	pool->sb->redo_nonce = c->nonce;
	pool->sb->redo_lsn = c->head.lsn;
	pool->sb->redo_state = rec->chain_lost ? KVP_REDO_AGAIN : KVP_REDO_BEGUN;
	ret = kvp_sb_commit(pool);
	mutex_unlock(&pool->sb_lock);
	return ret;
}

/* Let the superblock say that the chain is complete, durably, before anything goes home. */
static int say_complete(struct kvp_recovery *rec)
{
	struct kvp_pool *pool = rec->pool;
	int ret;

	mutex_lock(&pool->sb_lock);
	pool->sb->redo_state = KVP_REDO_COMPLETE;
	ret = kvp_sb_commit(pool);
	mutex_unlock(&pool->sb_lock);
	return ret;
}

static int write_entry(struct kvp_recovery *rec, const struct kvp_log_hdr *h)
{
	struct kvp_vdev *v = kvp_log_vdev(&rec->pool->vdevs, h->lsn);
	struct kvp_io *ios = rec->chain->ios;
	u32 i, taken = 0, needed;

	memset(ios, 0, sizeof(rec->chain->ios));
	/* No entry of the log is in flight, so this can use the memory of entry 0. */
	needed = v->ops->lay(rec->pool->log, 0, v, h, rec->chain->pages, h->blocks, ios);
	for (i = 0; i < v->nr_legs; i++) {
		struct kvp_io *io = &ios[i];

		io->leg = &v->legs[i];
		io->op = KVP_IO_WRITE_FUA;
		if (!io->nr || !kvp_leg_in_sync(io->leg))
			continue;
		if (!kvp_io_sync(io)) {
			taken++;
			continue;
		}
		kvp_leg_failed_write(io->leg);
		if (!kvp_leg_fail(io->leg, "a log write failed"))
			return kvp_recovery_cannot_write(rec, io->leg, io->block);
	}
	/* A leg that was given up is recorded out before recovery relies on the other legs. */
	return taken >= needed ? kvp_members_settle(rec->pool) : -EIO;
}

/*
 * The number of rows, @nr at most, that fit into an entry at the chain's head. If not one fits into
 * the rest of the segment, the head moves to the next one.
 */
static u32 room(struct kvp_recovery *rec, u32 nr)
{
	const struct kvp_geometry *g = rec->pool->vdevs.log_vdev->g;
	struct kvp_recovery_chain *c = rec->chain;
	kvp_lsn_t end = kvp_log_segment_end(g, c->head.lsn);

	if (kvp_lsn_since(end, c->head.lsn) < kvp_log_entry_blocks(g, 1, 1)) {
		c->head.lsn = end;
		end = kvp_lsn_add(end, g->segment_blocks);
	}
	if (kvp_lsn_before(log_limit(rec), end))
		return 0;
	return min(nr, kvp_log_entry_most(g, 1, min_t(u64, kvp_lsn_since(end, c->head.lsn),
						      KVP_MAX_ENTRY_BLOCKS)));
}

/* Make the header of the next entry in pages[0], and move the head behind the entry. */
static void seal(struct kvp_recovery *rec, u32 nr, bool last, struct kvp_log_hdr *h)
{
	struct kvp_recovery_chain *c = rec->chain;
	struct kvp_disk_rec *recs = rec->hdr + KVP_LOG_HDR_SIZE;
	u32 i;

	*h = (struct kvp_log_hdr){
		.nonce = c->nonce,
		.epoch = rec->pool->sb->epoch,
		.lsn = c->head.lsn,
		.prev_lsn = c->head.prev_lsn,
		.prev_csum = c->head.prev_csum,
		.durable = c->head.lsn,
		.write_time = ktime_get_real_seconds(),
		.hdr_blocks = 1,
		.blocks = kvp_log_entry_blocks(rec->pool->vdevs.log_vdev->g, 1, nr),
		.rec_count = nr,
		.payload = nr,
		.flags = last ? KVP_LOG_LAST : 0,
		.limit_lsn = rec->log_end.lsn,
		.limit_rec = rec->log_end.rec,
	};
	for (i = 0; i < nr; i++)
		kvp_rec_encode(&c->recs[i], &recs[i]);
	kvp_log_seal(rec->hdr, h, rec->pool->sb->nonce);
	memcpy(page_address(c->pages[0]), rec->hdr, KVP_BLOCK_SIZE);
	c->head = (struct kvp_log_mark){ kvp_lsn_add(h->lsn, h->blocks), h->lsn, h->csum };
}

/* Drop the first @nr rows, which are written now. The others will be first in the next entry. */
static void shift_rows(struct kvp_recovery_chain *c, u32 nr)
{
	u32 i;

	c->nr -= nr;
	memmove(c->recs, c->recs + nr, c->nr * sizeof(c->recs[0]));
	for (i = 0; i < c->nr; i++)
		swap(c->pages[1 + i], c->pages[1 + i + nr]);
}

/* Append an entry with rows that wait. With @last, append all of them, and mark the last entry. */
static int append(struct kvp_recovery *rec, bool last)
{
	struct kvp_recovery_chain *c = rec->chain;
	int ret = c->begun ? 0 : begin(rec);

	while (!ret && c->nr) {
		u32 nr = room(rec, c->nr);
		struct kvp_log_hdr h;

		if (!nr)
			return no_room(rec);
		seal(rec, nr, last && nr == c->nr, &h);
		ret = write_entry(rec, &h);
		shift_rows(c, nr);
		if (!last)
			break;
	}
	return ret;
}

int kvp_recovery_chain_add(struct kvp_recovery *rec, const struct kvp_vdev *v, u64 row, u32 crc,
			   struct page *page)
{
	struct kvp_recovery_chain *c = rec->chain;
	int ret = 0;

	if (c->nr == ARRAY_SIZE(c->recs))
		ret = append(rec, false);
	if (ret)
		return ret;
	c->recs[c->nr] = (struct kvp_rec){
		.block = row, .vdev = v->index, .count = 1, .crc = crc, .kind = KVP_REC_PARITY,
	};
	memcpy(page_address(c->pages[1 + c->nr++]), page_address(page), KVP_BLOCK_SIZE);
	return 0;
}

int kvp_recovery_chain_end(struct kvp_recovery *rec)
{
	struct kvp_recovery_chain *c = rec->chain;
	int ret;

	/* True only if no row was added: the last rows always wait for the entry with the mark. */
	if (!c->nr)
		return 0;
	ret = append(rec, true) ?: say_complete(rec);
	if (!ret)
		rec->end = c->head;
	return ret;
}

/* --- reading ------------------------------------------------------------------------------ */

/*
 * Find out whether the whole chain can be read, up to its last entry. Returns -errno if that is
 * unknown.
 */
static int find_last(struct kvp_recovery *rec, bool *complete)
{
	struct kvp_log_at limit;
	struct kvp_log_hdr h;
	int leg = 0;

	*complete = false;
	while (!*complete && (leg = kvp_recovery_next(rec, &h)) >= 0) {
		rec->end = (struct kvp_log_mark){ kvp_lsn_add(h.lsn, h.blocks), h.lsn, h.csum };
		*complete = h.flags & KVP_LOG_LAST;
		limit = (struct kvp_log_at){ h.limit_lsn, h.limit_rec };
	}
	/*
	 * For the rows, the log ends where it ended for the recovery that made the chain. An entry
	 * that did not count then must not count now.
	 */
	if (*complete)
		rec->log_end = limit;
	return leg >= 0 || leg == -ENOENT ? 0 : leg;
}

/* The superblock says that the chain is complete, but no copy that was read has its next entry. */
static int damaged(struct kvp_recovery *rec)
{
	if (kvp_unread_is_silent(&rec->end_unread))
		return kvp_recovery_unread(rec, &rec->end_unread,
			"and what others have of the parity that an earlier recovery logged is damaged");
	memset(rec->refusal->why, 0, sizeof(rec->refusal->why));
	rec->chain_lost = true;
	kvp_event(rec->pool, "chain_damaged lsn=%llu",
		  (unsigned long long)kvp_lsn_nr(rec->end.lsn));
	return 0;
}

int kvp_recovery_chain_read(struct kvp_recovery *rec, bool *complete)
{
	const struct kvp_sb *sb = rec->pool->sb;
	struct kvp_log_mark begin = { sb->redo_lsn, 0, 0 }, end = rec->end;
	int ret;

	*complete = false;
	rec->chain_lost = sb->redo_nonce && sb->redo_state == KVP_REDO_AGAIN;
	if (!sb->redo_nonce || sb->redo_state == KVP_REDO_BEGUN || rec->chain_lost)
		return 0;
	rec->nonce = sb->redo_nonce;
	rec->end = begin;
	ret = find_last(rec, complete);
	if (!*complete && sb->redo_state == KVP_REDO_COMPLETE &&
	    (!ret || !kvp_unread_is_silent(&rec->end_unread)))
		ret = damaged(rec);
	if (*complete) {
		kvp_lsn_t behind = rec->end.lsn;

		rec->end = begin;
		ret = kvp_recovery_take(rec, behind);
	} else {
		rec->end = end;
	}
	rec->nonce = sb->log_nonce;
	return ret;
}
