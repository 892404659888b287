// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recovery: the data of the log goes home.
 *
 * 1 scan      walk the chain of entries from the tail. An entry counts if its header and payload
 *             verify on any leg, and if it names its predecessor. The log ends before the first one
 *             that does not, unless a header shows that it was durable (R10).
 * 2 equalise  legs whose copy of an accepted entry differs get the good copy. So losing a leg
 *             during recovery loses nothing (R15).
 * 3 apply     discards go to the table, and the newest data of each block goes home. Then intents
 *             are resolved by the blocks at home (R4, R5).
 * 4 finish    a checkpoint with an empty log under a new nonce and epoch (R11)
 *
 * The log of a cache may keep its data, and new entries go behind it: retain.c. Or it is discarded
 * by order: discard_log.c.
 *
 * Until the checkpoint of step 4 is durable, the old log counts. After a crash at any point the
 * next recovery does all steps again, from the same records to the same result.
 */
#include <linux/gfp.h>
#include <linux/random.h>

#include "checkpoint/checkpoint.h"
#include "core/core.h"
#include "core/order_ops.h"
#include "core/log_mark.h"
#include "core/refusal.h"
#include "core/vdev_ops.h"
#include "format/generations.h"
#include "format/logplace.h"
#include "home/home.h"
#include "io/batch.h"
#include "log/log.h"
#include "policy/history.h"
#include "policy/replay.h"
#include "recovery/recover.h"
#include "recovery/recovery.h"
#include "super/events.h"
#include "super/members.h"
#include "table/table.h"

static_assert(KVP_MAX_ENTRY_BLOCKS <= KVP_BATCH_RUNS);

static void free_segment(struct kvp_segment *seg)
{
	u32 i, p;

	for (i = 0; i < KVP_MAX_LEGS; i++) {
		kvfree(seg->errors[i]);
		seg->errors[i] = NULL;
		if (!seg->pages[i])
			continue;
		for (p = 0; p < seg->blocks; p++)
			if (seg->pages[i][p])
				__free_page(seg->pages[i][p]);
		kvfree(seg->pages[i]);
		seg->pages[i] = NULL;
	}
}

/*
 * The number of sets of pages: enough for the log's kind of vdev to read a segment, and for reads
 * of homes from all legs of any vdev.
 */
static u32 page_sets(const struct kvp_recovery *rec)
{
	u32 sets = rec->pool->vdevs.log_vdev->ops->segment_sets(rec), i;

	for (i = 0; i < rec->pool->vdevs.nr_with_data; i++)
		sets = max(sets, rec->pool->vdevs.with_data[i]->nr_legs);
	return sets;
}

static int alloc_pages_of(struct kvp_segment *seg, u32 sets, gfp_t gfp)
{
	u32 i, p;

	for (i = 0; i < sets; i++) {
		seg->pages[i] = kvcalloc(seg->blocks, sizeof(struct page *), gfp);
		seg->errors[i] = kvcalloc(seg->blocks, sizeof(int), gfp);
		if (!seg->pages[i] || !seg->errors[i])
			return -ENOMEM;
		for (p = 0; p < seg->blocks; p++) {
			seg->pages[i][p] = alloc_page(gfp);
			if (!seg->pages[i][p])
				return -ENOMEM;
		}
	}
	return 0;
}

/* Reading ahead is optional: if there is no memory, recovery goes on without it. */
int kvp_recovery_alloc_ahead(struct kvp_recovery *rec)
{
	struct kvp_segment *a = &rec->ahead;

	a->nr = rec->seg.nr;
	memcpy(a->legs, rec->seg.legs, sizeof(a->legs));
	if (!alloc_pages_of(a, a->nr, GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN))
		return 0;
	free_segment(a);
	a->nr = 0;
	return 0;
}

static int alloc_segment(struct kvp_recovery *rec)
{
	const struct kvp_log_track *track = &rec->pool->vdevs.log_track;
	u32 i, p;

	rec->seg.lsn = KVP_NO_SEGMENT;
	rec->seg.blocks = rec->pool->vdevs.log_vdev->g->segment_blocks;
	for (i = 0; i < track->nr; i++) {
		struct kvp_vdev *v = &rec->pool->vdevs.v[track->vdev[i]];

		for (p = 0; p < v->nr_legs; p++)
			rec->seg.legs[rec->seg.nr++] = &v->legs[p];
	}
	rec->ahead.blocks = rec->seg.blocks;
	return alloc_pages_of(&rec->seg, page_sets(rec), GFP_KERNEL);
}

/* The position where the next generation begins, and its predecessor. */
static struct kvp_log_mark next_generation(const struct kvp_recovery *rec)
{
	u32 segment = rec->pool->vdevs.log_vdev->g->segment_blocks;
	kvp_lsn_t lsn = kvp_lsn_back(kvp_lsn_add(rec->end.lsn, segment), 1);

	return (struct kvp_log_mark){ kvp_lsn_down(lsn, segment), rec->end.prev_lsn,
				      rec->end.prev_csum };
}

/*
 * Step 4. The log gets a new nonce. It is empty, or goes on behind the data that stays. One
 * superblock says all of this.
 */
static int finish(struct kvp_recovery *rec, struct kvp_log_mark *head)
{
	struct kvp_pool *pool = rec->pool;

	if (rec->stays)
		*head = next_generation(rec);
	else
		*head = (struct kvp_log_mark){
			kvp_log_segment_end(pool->vdevs.log_vdev->g, rec->end.lsn), 0, 0
		};
	mutex_lock(&pool->sb_lock);
	pool->sb->epoch++;
	if (rec->stays)
		kvp_generation_end(pool->sb, head->lsn, head->prev_lsn, head->prev_csum);
	get_random_bytes(&pool->sb->log_nonce, sizeof(pool->sb->log_nonce));
	pool->sb->redo_nonce = 0;
	pool->sb->redo_lsn = 0;
	pool->sb->redo_state = KVP_REDO_UNKNOWN;
	pool->sb->flags &= ~(KVP_SB_EXPORTED | KVP_SB_DESTROYED | KVP_SB_CLEAN);
	mutex_unlock(&pool->sb_lock);
	/* Durable positions must not lie behind the new tail. */
	kvp_log_set_durable(pool->log, head);
	return kvp_checkpoint(pool, rec->stays ? NULL : head);
}

/* The code that failed has given no reason for the refusal. Give what is known. */
static void explain(struct kvp_recovery *rec, int error)
{
	struct kvp_pool *pool = rec->pool;
	const struct kvp_table_part *lost = kvp_table_last_lost(pool->table);

	if (error == -ENOMEM)
		kvp_refuse(rec->refusal, error, "free some memory and try again",
			   "out of memory while writing the log's data home");
	else if (lost->blocks && lost->level)
		kvp_refuse(rec->refusal, error,
			   "connect every leg; kvpoolctl check shows what is readable",
			   "page %llu of level %u of the checksum table is damaged on every leg (blocks %llu to %llu), and the log holds writes below it",
			   (unsigned long long)lost->index, lost->level,
			   kvp_block_nr(lost->first),
			   kvp_block_nr(lost->last));
	else if (kvp_failed_by(&pool->failure, KVP_FAIL_HOST))
		kvp_recovery_too_late(rec);
	else if (kvp_pool_faulted(pool))
		kvp_refuse(rec->refusal, error,
			   "check the leg and try again; nothing is lost by that",
			   "the last leg in use failed a flush or a write that recovery needs (error %d)",
			   error);
	else
		kvp_refuse(rec->refusal, error,
			   "check the legs and try again; nothing is lost by that",
			   "a leg does not answer where recovery must read a page of the checksum table, and no other has it (error %d)",
			   error);
}

/*
 * R13: the superblock that was chosen goes to every leg in use before anything else is written. A
 * leg that lacks it, or has it in one ring only, may be the only one that comes back after the next
 * crash. The older superblock of that leg may name the slots that the checkpoint is about to write.
 */
static int roll_forward(struct kvp_pool *pool)
{
	int ret;

	mutex_lock(&pool->sb_lock);
	ret = kvp_sb_roll_forward(pool);
	mutex_unlock(&pool->sb_lock);
	return ret;
}

/* Step 3 for singles and mirrors: the contents of the log go home and into the table. */
int kvp_recovery_apply(struct kvp_recovery *rec, bool complete)
{
	int ret = kvp_recovery_discards(rec);

	if (!ret && rec->stays)
		kvp_recovery_retain(rec);
	else if (!ret)
		ret = kvp_recovery_data(rec);
	return ret ?: kvp_recovery_intents(rec);
}

/* Step 3 with a parity1. If all vdevs are, the log has no other data, and is not read for it. */
int kvp_recovery_apply_in_order(struct kvp_recovery *rec, bool complete)
{
	int ret = rec->replay.records ? kvp_recovery_apply(rec, complete) : 0;

	if (!ret && !complete)
		ret = kvp_recovery_rows_log(rec);
	return ret ?: kvp_recovery_rows_home(rec);
}

/* Forget what was read so far, to read the log once more. */
static void read_anew(struct kvp_recovery *rec)
{
	kvp_replay_exit(&rec->replay);
	kvp_replay_init(&rec->replay);
	rec->entries = 0;
	kvp_log_no_milestones(rec->pool->log);
}

/*
 * Read the log. If its data stays there, each later read of a block verifies the block. If it
 * cannot stay, for lack of memory or of generations, all of it is verified now, before anything
 * goes home.
 */
static int read_log(struct kvp_recovery *rec)
{
	int ret;

	rec->by_headers = kvp_log_by_headers(rec->pool->sb);
	ret = kvp_recovery_scan(rec);
	if (ret)
		return ret;
	rec->stays = kvp_recovery_spill(rec);
	/* Blocks that go home must be read, not only their headers. */
	if (!rec->stays)
		rec->known = 0;
	if (rec->stays || !rec->skipped)
		return 0;
	read_anew(rec);
	rec->by_headers = false;
	return kvp_recovery_scan(rec);
}

/*
 * Steps 1 and 2. Read the log, if it is not to be discarded. If it is damaged, note whether it may
 * be discarded.
 */
static int look(struct kvp_recovery *rec)
{
	struct kvp_recovery_info *info = &rec->pool->recovery;
	int ret = 0;

	rec->unclean = !(rec->pool->sb->flags & KVP_SB_CLEAN);
	if (rec->unclean && !info->discard_log)
		ret = read_log(rec);
	if (ret != -EUCLEAN)
		return ret;
	/* The log ends in the middle: R10. */
	info->discard_log = info->may_discard_log;
	if (info->discard_log)
		memset(rec->refusal->why, 0, sizeof(rec->refusal->why));
	else if (info->mend)
		strscpy(rec->refusal->mend, info->mend, sizeof(rec->refusal->mend));
	return info->discard_log ? 0 : ret;
}

/* Discard the log: of its blocks, only the lost ones enter the table, as poisoned. */
static int go_on_without_log(struct kvp_recovery *rec, struct kvp_log_mark *head)
{
	int ret = kvp_recovery_discard_log(rec);

	*head = rec->end;
	if (!ret && !kvp_pool_readonly(rec->pool))
		ret = finish(rec, head);
	if (ret && !rec->refusal->why[0])
		explain(rec, ret);
	return ret;
}

static int run(struct kvp_recovery *rec, struct kvp_log_mark *head)
{
	bool complete = false;
	int ret;

	kvp_recovery_rewind(rec);
	ret = look(rec);
	if (!ret && rec->pool->recovery.discard_log)
		return go_on_without_log(rec, head);
	rec->log_end = (struct kvp_log_at){ rec->end.lsn, 0 };
	rec->scanned = rec->end.lsn;
	if (!ret)
		ret = kvp_recovery_chain_read(rec, &complete);
	/* Do this before a missing leg is recorded out: it may have a copy of the chain. */
	if (!ret && rec->chain_lost && !kvp_pool_readonly(rec->pool))
		ret = kvp_recovery_rows_try(rec);
	if (ret && !rec->refusal->why[0])
		explain(rec, ret);
	if (ret || kvp_pool_readonly(rec->pool)) {
		*head = rec->end;
		return ret;
	}
	ret = roll_forward(rec->pool);
	if (!ret)
		ret = rec->pool->vdevs.order->apply(rec, complete);
	if (!ret)
		ret = finish(rec, head);
	if (ret && !rec->refusal->why[0])
		explain(rec, ret);
	return ret;
}

static void note_time(struct kvp_recovery *rec, ktime_t start)
{
	struct kvp_pool *pool = rec->pool;
	struct kvp_recovery_info *info = &pool->recovery;
	u32 i;

	info->ms = ktime_ms_delta(ktime_get(), start);
	info->replayed = rec->replay.records;
	for (i = 0; i < pool->vdevs.nr; i++)
		info->replayed += rec->history[i].records;
	info->torn_accepted = rec->torn;
	if (info->discarded_lsn)
		kvp_event(pool, "log_discarded lsn=%llu mib=%llu checkpoint=%llu lost=%llu",
			  (unsigned long long)kvp_lsn_nr(info->discarded_lsn),
			  (unsigned long long)info->discarded_mib,
			  (unsigned long long)pool->sb->checkpoint,
			  (unsigned long long)info->discarded_blocks);
	if (info->log_moved)
		kvp_event(pool, "log_moved vdev=%u why=the cache is missing",
			  pool->vdevs.log_vdev->index);
	if (rec->unclean)
		kvp_event(pool, "recovered replayed=%llu kept=%llu torn_accepted=%llu ms=%llu",
			  (unsigned long long)info->replayed, (unsigned long long)info->kept,
			  (unsigned long long)info->torn_accepted, (unsigned long long)info->ms);
	kvp_trace_recovery(pool, rec->entries, info->replayed);
}

static void free_recovery(struct kvp_recovery *rec)
{
	u32 i;

	kvp_recovery_unspill(rec);
	kvp_replay_exit(&rec->replay);
	for (i = 0; rec->history && i < rec->pool->vdevs.nr; i++)
		kvp_history_exit(&rec->history[i]);
	kvfree(rec->history);
	kvp_recovery_rows_free(rec);
	kvp_recovery_chain_free(rec);
	kvp_stripes_free(rec);
	kvp_recovery_no_ahead(rec);
	free_segment(&rec->ahead);
	free_segment(&rec->seg);
	kvp_batch_free(rec->batch);
	if (rec->scratch)
		__free_page(rec->scratch);
	if (rec->home)
		__free_page(rec->home);
	kvfree(rec->hdr);
	kvfree(rec);
}

static struct kvp_recovery *alloc_recovery(struct kvp_pool *pool, struct kvp_refusal *refusal)
{
	struct kvp_recovery *rec = kvzalloc(sizeof(*rec), GFP_KERNEL);
	u32 i;

	if (!rec)
		return NULL;
	rec->pool = pool;
	rec->refusal = refusal;
	rec->ahead.lsn = KVP_NO_SEGMENT;
	INIT_LIST_HEAD(&rec->kept);
	kvp_replay_init(&rec->replay);
	rec->history = kvcalloc(pool->vdevs.nr, sizeof(*rec->history), GFP_KERNEL);
	for (i = 0; rec->history && i < pool->vdevs.nr; i++)
		kvp_history_init(&rec->history[i], pool->vdevs.v[i].g);
	rec->batch = kvp_batch_alloc(&pool->vdevs);
	rec->scratch = alloc_page(GFP_KERNEL);
	rec->home = alloc_page(GFP_KERNEL);
	rec->hdr = kvzalloc(KVP_MAX_HDR_BLOCKS * KVP_BLOCK_SIZE, GFP_KERNEL);
	if (!rec->history || alloc_segment(rec) || !rec->batch || !rec->scratch || !rec->home ||
	    !rec->hdr ||
	    pool->vdevs.log_vdev->ops->alloc_reader(rec) ||
	    pool->vdevs.order->alloc(rec)) {
		free_recovery(rec);
		return NULL;
	}
	return rec;
}

int kvp_recover(struct kvp_pool *pool, struct kvp_log_mark *head, struct kvp_refusal *refusal)
{
	ktime_t start = ktime_get();
	struct kvp_recovery *rec = alloc_recovery(pool, refusal);
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
