// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recovery of blocks that have an intent as their newest record (R4, R5). The block at home shows
 * whether the direct write got there. If it did not, an older version counts. If no older version
 * is found, what the write has left at home counts, or the block is lost.
 *
 * Only a block that was read can show that the write did not get there (unread.c, R27). If a leg in
 * sync did not give its copy, that leg may have the newest version. Then an older version counts
 * only if another leg has it whole at home: a durable newest version would have replaced it there,
 * too (R15, R20).
 */
#include <linux/mm.h>

#include "core/core.h"
#include "core/refusal.h"
#include "io/batch.h"
#include "io/io.h"
#include "log/log.h"
#include "policy/replay.h"
#include "recovery/recovery.h"
#include "super/finds.h"
#include "super/members.h"
#include "table/table.h"

/*
 * The number of blocks of a window that begins at @block. All of them are intents, and
 * rec->window_ios has enough requests: one for each turn and each leg.
 */
static u32 window_blocks(struct kvp_recovery *rec, kvp_block_t block)
{
	struct kvp_pool *pool = rec->pool;
	u32 max = min(pool->vdevs.log_vdev->g->segment_blocks,
		      KVP_BATCH_RUN_PAGES * pool->vdevs.nr_with_data);
	u32 n = 0, ios = 0, until = 0;
	struct kvp_replay_rec *r;

	while (n < max && (r = kvp_replay_newest(&rec->replay, kvp_block_add(block, n))) &&
	       r->kind == KVP_REC_INTENT) {
		if (n == until) {
			struct kvp_spot at = kvp_locate(pool, kvp_block_add(block, n));

			ios += at.v->nr_legs;
			if (ios > KVP_WINDOW_IOS)
				break;
			until = n + at.left;
		}
		n++;
	}
	return n;
}

/*
 * Plan reads of the window from @leg, turn by turn, in rec->window_ios from @n on. Returns the new
 * number of requests.
 */
static u32 add_turns(struct kvp_recovery *rec, struct kvp_leg *leg, u32 n)
{
	struct kvp_pool *pool = rec->pool;
	u32 part, i;

	for (i = 0; i < rec->window_nr; i += part) {
		kvp_block_t block = kvp_block_add(rec->window, i);
		struct kvp_spot at = kvp_locate(pool, block);
		struct kvp_io *io = &rec->window_ios[n];

		part = min(at.left, rec->window_nr - i);
		if (at.v != leg->v)
			continue;
		memset(io, 0, sizeof(*io));
		io->leg = leg;
		io->op = KVP_IO_READ;
		io->block = kvp_home_block(pool, block);
		io->nr = part;
		io->pages = &rec->seg.pages[leg - at.v->legs][i];
		n++;
	}
	return n;
}

/*
 * Read the homes of intents, which come in long runs. A window of them is read from all legs of all
 * vdevs side by side, into the pages that held segments. The requests are planned leg by leg, so
 * that neighbours can make one request.
 */
static void load_window(struct kvp_recovery *rec, kvp_block_t block)
{
	struct kvp_pool *pool = rec->pool;
	struct kvp_io_group group;
	u32 i, n = 0;

	rec->seg.lsn = KVP_NO_SEGMENT;
	rec->window = block;
	rec->window_nr = window_blocks(rec, block);
	for (i = 0; i < pool->nr_legs; i++) {
		struct kvp_leg *leg = &pool->legs[i];

		rec->window_good[i] = kvp_leg_in_sync(leg);
		if (rec->window_good[i])
			n = add_turns(rec, leg, n);
	}
	kvp_io_group_init(&group);
	kvp_io_group_submit_all(&group, rec->window_ios, n);
	kvp_io_group_wait(&group);
	for (i = 0; i < n; i++)
		if (rec->window_ios[i].error)
			rec->window_good[rec->window_ios[i].leg->index] = false;
}

static bool in_window(const struct kvp_recovery *rec, kvp_block_t block)
{
	return !kvp_block_before(block, rec->window) &&
	       kvp_block_since(block, rec->window) < rec->window_nr;
}

/*
 * The copy of @block at home on leg number @leg: from the window, or read by itself. NULL if the
 * leg does not answer.
 */
static struct page *home_copy(struct kvp_recovery *rec, const struct kvp_vdev *v, u32 leg,
			      kvp_block_t block)
{
	kvp_lblock_t at = kvp_home_block(rec->pool, block);
	int error;

	if (rec->window_good[v->legs[leg].index] && in_window(rec, block))
		return rec->seg.pages[leg][kvp_block_since(block, rec->window)];
	error = kvp_recovery_page(rec, &v->legs[leg], at, rec->scratch);
	kvp_unread_note(&rec->silent, &v->legs[leg], at, error);
	return error ? NULL : rec->scratch;
}

/* Legs whose copy of @block has sum @crc, as bits. rec->home receives one such copy. */
static unsigned long copies_matching(struct kvp_recovery *rec, kvp_block_t block, u32 crc)
{
	struct kvp_pool *pool = rec->pool;
	const struct kvp_vdev *v = kvp_locate(pool, block).v;
	unsigned long match = 0;
	u32 i;

	for (i = 0; i < v->nr_legs; i++) {
		struct page *copy;

		if (!kvp_leg_in_sync(&v->legs[i]))
			continue;
		copy = home_copy(rec, v, i, block);
		if (!copy || kvp_block_sum(pool->seed, block, page_address(copy)) != crc)
			continue;
		if (!match)
			memcpy(page_address(rec->home), page_address(copy), KVP_BLOCK_SIZE);
		match |= BIT(i);
	}
	return match;
}

/* Write rec->home to all legs but those in @match, which have it already. */
static int write_others(struct kvp_recovery *rec, kvp_block_t block, unsigned long match)
{
	struct kvp_pool *pool = rec->pool;
	const struct kvp_vdev *v = kvp_locate(pool, block).v;
	u32 i;

	for (i = 0; i < v->nr_legs; i++) {
		struct kvp_leg *leg = &v->legs[i];

		if (!kvp_leg_in_sync(leg) || (match & BIT(i)))
			continue;
		if (kvp_io_page(leg, KVP_IO_WRITE, kvp_home_block(pool, block), rec->home) &&
		    !kvp_leg_fail(leg, "a write failed during recovery"))
			return kvp_recovery_cannot_write(rec, leg, kvp_home_block(pool, block));
	}
	return 0;
}

/*
 * Read the payload of @r into rec->home. -EIO: a leg that may have it does not answer. -EILSEQ: no
 * leg has it.
 */
static int read_payload(struct kvp_recovery *rec, kvp_block_t block, const struct kvp_replay_rec *r)
{
	struct kvp_pool *pool = rec->pool;
	const struct kvp_vdev *v = kvp_log_vdev(&pool->vdevs, r->lsn);
	int ret = -EILSEQ, error;
	kvp_lblock_t at;
	u32 i;

	if (rec->stripes)
		return kvp_stripes_read(rec, block, r);
	for (i = 0; i < v->nr_legs; i++) {
		if (!kvp_leg_in_sync(&v->legs[i]) || !kvp_log_on_leg(&v->legs[i], r->payload, &at))
			continue;
		error = kvp_recovery_page(rec, &v->legs[i], at, rec->home);
		if (error && !kvp_error_is_loss(error))
			ret = -EIO;
		else if (!error &&
			 kvp_block_sum(pool->seed, block, page_address(rec->home)) == r->crc)
			return 0;
	}
	return ret;
}

bool kvp_recovery_open(struct kvp_recovery *rec, kvp_lsn_t lsn)
{
	u32 i;

	if (!kvp_lsn_before(lsn, rec->last.lsn))
		return true;
	for (i = 0; i < rec->last.open_count; i++)
		if (rec->last.open[i] == lsn)
			return true;
	return false;
}

static int poison(struct kvp_recovery *rec, kvp_block_t block)
{
	kvp_found_block(rec->pool, KVP_FIND_LOST, NULL, block);
	return kvp_recovery_set(rec, block, 0, KVP_ENTRY_POISONED);
}

/* Refuse: a leg that did not answer may have the acknowledged version. */
static int refuse_silent(struct kvp_recovery *rec, kvp_block_t block)
{
	char what[96];

	snprintf(what, sizeof(what), "which may be the only copy of the last write to block %llu",
		 kvp_block_nr(block));
	return kvp_recovery_unread(rec, &rec->silent, what);
}

/*
 * No copy verifies. If the write was cut short, keep what it has left at home. Otherwise poison the
 * block.
 */
static int accept_torn(struct kvp_recovery *rec, kvp_block_t block, kvp_lsn_t intent)
{
	struct kvp_pool *pool = rec->pool;
	const struct kvp_vdev *v = kvp_locate(pool, block).v;
	u32 i;

	if (kvp_unread_is_silent(&rec->silent))
		return refuse_silent(rec, block);
	for (i = 0; kvp_recovery_open(rec, intent) && i < v->nr_legs; i++) {
		struct page *copy = kvp_leg_in_sync(&v->legs[i]) ? home_copy(rec, v, i, block) :
				    NULL;

		if (!copy)
			continue;
		memcpy(page_address(rec->home), page_address(copy), KVP_BLOCK_SIZE);
		rec->torn++;
		return write_others(rec, block, BIT(i)) ?:
		       kvp_recovery_set(rec, block,
				 kvp_block_sum(pool->seed, block, page_address(rec->home)),
				 KVP_ENTRY_VALID);
	}
	if (kvp_unread_is_silent(&rec->silent))
		return refuse_silent(rec, block);
	return poison(rec, block);
}

/* Resolve the block to the table's version, which is from before the log began. */
static int resolve_by_table(struct kvp_recovery *rec, kvp_block_t block, kvp_lsn_t intent)
{
	struct kvp_pool *pool = rec->pool;
	struct kvp_tpage *leaf = kvp_table_load_home(pool->table, block);
	unsigned long match;
	u64 entry;

	if (IS_ERR(leaf))
		return PTR_ERR(leaf);
	entry = kvp_table_entry(leaf, block);
	kvp_table_put(leaf);
	/*
	 * Without an entry with a sum, no copy at home can show that the write did not get there.
	 */
	if (kvp_entry_state(entry) != KVP_ENTRY_VALID && kvp_unread_is_silent(&rec->silent))
		return refuse_silent(rec, block);
	if (kvp_entry_state(entry) == KVP_ENTRY_POISONED)
		return 0;
	if (kvp_entry_state(entry) == KVP_ENTRY_UNWRITTEN)
		return kvp_recovery_set(rec, block, 0, KVP_ENTRY_UNWRITTEN);
	match = copies_matching(rec, block, kvp_entry_crc(entry));
	if (!match)
		return accept_torn(rec, block, intent);
	/*
	 * The entry gets the recovery's era, so that a leg that comes back later gets the block
	 * again (R17).
	 */
	return write_others(rec, block, match) ?:
	       kvp_recovery_set(rec, block, kvp_entry_crc(entry), KVP_ENTRY_VALID);
}

/*
 * Resolve the block to an older version, which is in the log. If it is damaged there, it may be at
 * home, unless the newer write went over it. If a leg does not answer, only a copy of the older
 * version at home shows that no leg has the newest one.
 */
static int resolve_by_log(struct kvp_recovery *rec, kvp_block_t block,
			  const struct kvp_replay_rec *r)
{
	bool silent = kvp_unread_is_silent(&rec->silent);
	int ret = silent ? -EILSEQ : read_payload(rec, block, r);
	unsigned long match = 0;

	if (ret == -EILSEQ) {
		match = copies_matching(rec, block, r->crc);
		if (!match && kvp_unread_is_silent(&rec->silent))
			return refuse_silent(rec, block);
		if (!match)
			return poison(rec, block);
		ret = 0;
	}
	if (ret)
		return kvp_refuse(rec->refusal, -EIO, "check the legs and try again",
				  "block %llu can no longer be read from the log",
				  kvp_block_nr(block));
	return write_others(rec, block, match) ?:
	       kvp_recovery_set(rec, block, r->crc, KVP_ENTRY_VALID);
}

/*
 * True if the write of @r, an intent, was cut short, and the newest data below it has the same sum.
 * Then the sum does not show what home has: it may be older than that data, which counts. All
 * versions of some blocks have one sum (known-gaps.md).
 */
static bool has_twin(struct kvp_recovery *rec, const struct kvp_replay_rec *r)
{
	const struct kvp_replay_rec *o = r;

	while (o && o->kind == KVP_REC_INTENT && kvp_recovery_open(rec, o->lsn))
		o = o->older;
	return o && o != r && o->kind == KVP_REC_DATA && o->crc == r->crc;
}

static int resolve_block(struct kvp_recovery *rec, kvp_block_t block, struct kvp_replay_rec *newest)
{
	struct kvp_replay_rec *r;
	unsigned long match;

	for (r = newest; r; r = r->older) {
		if (r->kind == KVP_REC_DATA)
			return resolve_by_log(rec, block, r);
		if (has_twin(rec, r))
			continue;
		match = copies_matching(rec, block, r->crc);
		if (match)
			return write_others(rec, block, match) ?:
			       kvp_recovery_set(rec, block, r->crc, KVP_ENTRY_VALID);
		/* A closed intent was durable at home, so no older version counts. */
		if (!kvp_recovery_open(rec, r->lsn))
			return accept_torn(rec, block, newest->lsn);
	}
	return resolve_by_table(rec, block, newest->lsn);
}

int kvp_recovery_intents(struct kvp_recovery *rec)
{
	struct kvp_replay_rec *r;
	unsigned long block;
	int ret;

	if (list_empty(&rec->replay.intents))
		return 0;
	/* Go on in order of address, so that neighbours are read in one request. */
	xa_for_each(&rec->replay.blocks, block, r) {
		if (r->kind != KVP_REC_INTENT)
			continue;
		if (!in_window(rec, r->block))
			load_window(rec, r->block);
		memset(&rec->silent, 0, sizeof(rec->silent));
		ret = resolve_block(rec, r->block, r);
		if (!ret)
			ret = kvp_recovery_relieve(rec);
		if (ret)
			return ret;
	}
	return 0;
}
