// SPDX-License-Identifier: GPL-2.0-only
/* Recovery writes the data of the log home, and enters it in the table. */
#include "checkpoint/checkpoint.h"
#include "core/core.h"
#include "core/log_mark.h"
#include "core/refusal.h"
#include "core/vdev_ops.h"
#include "format/logstripe.h"
#include "io/batch.h"
#include "log/log.h"
#include "policy/replay.h"
#include "recovery/recovery.h"
#include "table/table.h"

int kvp_recovery_too_late(struct kvp_recovery *rec)
{
	return kvp_refuse(rec->refusal, -EIO, "import it again; nothing is lost by that",
			  "no heartbeat was written in time while it started, or another host has taken over the pool");
}

int kvp_recovery_cannot_write(struct kvp_recovery *rec, const struct kvp_leg *leg, kvp_lblock_t at)
{
	if (kvp_failed_by(&rec->pool->failure, KVP_FAIL_HOST))
		return kvp_recovery_too_late(rec);
	return kvp_refuse(rec->refusal, -EIO,
			  "check the leg and try again; nothing is lost by that",
			  "%s, %s, does not accept writes to its block %llu", leg->path,
			  kvp_vdev_needed(leg->v) > 1 ?
			  "without which too few of its vdev are left" : "the last leg in use",
			  kvp_lblock_nr(at));
}

int kvp_recovery_set(struct kvp_recovery *rec, kvp_block_t block, u32 crc,
		     enum kvp_entry_state state)
{
	struct kvp_pool *pool = rec->pool;
	struct kvp_tpage *leaf = kvp_table_load_home(pool->table, block);

	if (IS_ERR(leaf))
		return PTR_ERR(leaf);
	kvp_table_set(pool->table, leaf, block, crc, state);
	kvp_table_put(leaf);
	return 0;
}

int kvp_recovery_relieve(struct kvp_recovery *rec)
{
	struct kvp_pool *pool = rec->pool;
	int ret = 0;

	if (kvp_table_half_dirty(pool->table))
		ret = kvp_checkpoint(pool, NULL);
	kvp_table_shrink(pool->table, false);
	return ret;
}

int kvp_recovery_discard(struct kvp_recovery *rec, struct kvp_vdev *v, kvp_vblock_t own,
			 kvp_vblock_t end)
{
	int ret = 0;

	while (!ret && kvp_vblock_before(own, end)) {
		ret = kvp_table_next_own(v->pool->table, v, own, end, &own);
		if (ret || !kvp_vblock_before(own, end))
			break;
		ret = kvp_table_discard(v->pool->table, v, &own,
					kvp_table_discard_reach(v->pool->table, v, own, end));
		ret = min(ret, 0) ?: kvp_recovery_relieve(rec);
		cond_resched();
	}
	return ret;
}

/*
 * Discard the range from @block to before @end, blocks of the pool, on all vdevs without parity.
 * rows.c does that for the others.
 */
static int discard_plain(struct kvp_recovery *rec, kvp_block_t block, kvp_block_t end)
{
	struct kvp_pool *pool = rec->pool;
	int ret = 0;
	u32 i;

	for (i = 0; !ret && i < pool->vdevs.nr; i++) {
		struct kvp_vdev *v = &pool->vdevs.v[i];

		ret = v->ops->redo_discard(rec, v, kvp_vdev_from(v, block), kvp_vdev_from(v, end));
	}
	return ret;
}

/* The first block of [@block, @end) whose newest record is data, or @end. */
static kvp_block_t next_data(struct kvp_recovery *rec, kvp_block_t block, kvp_block_t end)
{
	unsigned long at = kvp_block_nr(block), last = kvp_block_nr(end) - 1;
	struct kvp_replay_rec *r;

	for (r = xa_find(&rec->replay.blocks, &at, last, XA_PRESENT); r;
	     r = xa_find_after(&rec->replay.blocks, &at, last, XA_PRESENT)) {
		if (r->kind == KVP_REC_DATA)
			return kvp_block(at);
		cond_resched();
	}
	return end;
}

/*
 * Apply a discard. It skips blocks that have newer data in the log. That data may be home, and in
 * the table, already. An entry that says "unwritten" could become durable long before the data goes
 * home again (retain.c), or before this recovery is cut short.
 */
static int apply_discard(struct kvp_recovery *rec, const struct kvp_replay_discard *d)
{
	kvp_block_t block = d->block, data;
	int ret = 0;

	while (!ret && kvp_block_before(block, d->end)) {
		data = next_data(rec, block, d->end);
		if (kvp_block_before(block, data))
			ret = discard_plain(rec, block, data);
		block = kvp_block_add(data, 1);
		cond_resched();
	}
	return ret;
}

int kvp_recovery_discards(struct kvp_recovery *rec)
{
	struct kvp_replay_discard *d;
	int ret = 0;

	kvp_replay_join(&rec->replay);
	list_for_each_entry(d, &rec->replay.discards, list) {
		ret = apply_discard(rec, d);
		if (ret)
			break;
	}
	return ret;
}

/* Write the pages of the batch home. Then put their entries into the table. */
static int apply_data_batch(struct kvp_recovery *rec, const kvp_block_t *blocks,
			    const u32 *crcs, u32 n)
{
	int ret = kvp_batch_write(rec->batch);
	u32 i;

	for (i = 0; !ret && i < n; i++)
		ret = kvp_recovery_set(rec, blocks[i], crcs[i], KVP_ENTRY_VALID);
	return ret ?: kvp_recovery_relieve(rec);
}

/* Write each record of the entry at @h home that is the newest of its block. */
static int apply_entry(struct kvp_recovery *rec, u32 leg, const struct kvp_log_hdr *h)
{
	u32 i, n = 0, payloads = 0;

	for (i = 0; i < h->rec_count; i++) {
		struct kvp_replay_rec *newest;
		kvp_block_t block;
		struct kvp_rec r;
		kvp_lsn_t payload;

		kvp_recovery_record(rec, i, &r);
		if (!kvp_rec_has_payload(&r))
			continue;
		payload = kvp_lsn_add(h->lsn, kvp_log_payload_at(rec->pool->vdevs.log_vdev->g, h,
								 payloads++));
		if (r.kind != KVP_REC_DATA)
			continue;
		block = kvp_rec_block(&r);
		newest = kvp_replay_newest(&rec->replay, block);
		if (newest && newest->kind == KVP_REC_DATA && newest->payload == payload) {
			/* A batch has room for all blocks of an entry. */
			if (WARN_ON_ONCE(!kvp_batch_add(rec->batch, kvp_locate(rec->pool, block).v,
							kvp_home_block(rec->pool, block),
							kvp_segment_page(rec, leg, payload))))
				return -EIO;
			rec->blocks[n] = block;
			rec->crcs[n++] = r.crc;
		}
	}
	return apply_data_batch(rec, rec->blocks, rec->crcs, n);
}

/* Walk the accepted entries once more. */
static int apply_entries(struct kvp_recovery *rec)
{
	struct kvp_log_hdr h;
	int leg, ret = 0;

	kvp_recovery_rewind(rec);
	rec->ahead_until = rec->scanned;
	while (!ret && kvp_lsn_before(rec->end.lsn, rec->scanned)) {
		leg = kvp_recovery_next(rec, &h);
		if (leg < 0 && leg != -ENOENT)
			return leg;
		/* The last generation may be empty: then the loop has reached the end. */
		if (leg < 0 && !kvp_lsn_before(rec->end.lsn, rec->scanned))
			break;
		if (leg < 0)
			return kvp_refuse(rec->refusal, -EIO, "check the legs and try again",
					  "log entry %llu can no longer be read",
					  (unsigned long long)kvp_lsn_nr(rec->end.lsn));
		rec->end = (struct kvp_log_mark){ kvp_lsn_add(h.lsn, h.blocks), h.lsn, h.csum };
		ret = apply_entry(rec, leg, &h);
	}
	return ret;
}

int kvp_recovery_data(struct kvp_recovery *rec)
{
	struct kvp_log_mark end = rec->end;
	int ret = apply_entries(rec);

	kvp_recovery_no_ahead(rec);
	rec->end = end;
	return ret;
}
