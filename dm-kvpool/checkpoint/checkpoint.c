// SPDX-License-Identifier: GPL-2.0-only
/*
 * A checkpoint (R3) makes these durable, in this order:
 *
 *   - the homes, by a flush of the legs;
 *   - table pages, in slots that the durable root does not name, by another flush;
 *   - the superblock, with FUA, on all legs in sync.
 *
 * Only after that, log space and old slots may be used again.
 *
 * The pages are fixed before the first flush begins. So that flush covers the home write of every
 * entry in them.
 *
 * kvp_checkpoint(), under checkpoint_lock:
 * 1. ready_for_checkpoint() refuses while the pool is faulted.
 * 2. kvp_log_home_intents() notes intents that are home, and up to where all are.
 *    kvp_table_snapshot() fixes pages and era. So the pages have the entries of these intents.
 * 3. flush_homes() makes the homes durable that those pages have entries for, and records losses.
 *    Then intents are closed.
 * 4. kvp_table_write() writes the pages, bottom up. The legs are flushed again.
 * 5. write_superblock() names roots and tail. From here on the checkpoint counts.
 * 6. kvp_table_written() frees the old slots; or, after an error, it keeps the pages dirty.
 * 7. kvp_log_resolve() lets intents no longer count that a recovery need not look for at home.
 *    kvp_log_retire() frees the space of the log below the tail.
 */
#include "checkpoint/checkpoint.h"
#include "checkpoint/newlog.h"
#include "core/cache_client.h"
#include "core/core.h"
#include "core/log_mark.h"
#include "format/generations.h"
#include "io/mirror.h"
#include "log/log.h"
#include "log/move.h"
#include "super/events.h"
#include "super/members.h"
#include "table/table.h"

/* Fill in all fields that change in the new superblock. */
static void fill_superblock(struct kvp_pool *pool, const struct kvp_log_mark *tail,
			    const struct kvp_log_mark *resolved, u32 era)
{
	struct kvp_table *t = pool->table;
	struct kvp_sb *sb = pool->sb;
	kvp_lsn_t durable;

	lockdep_assert_held(&pool->sb_lock);
	if (kvp_log_begins_anew(pool->log))
		kvp_log_new_fill(pool);
	if (tail) {
		sb->log_tail = tail->lsn;
		sb->log_prev_lsn = tail->prev_lsn;
		sb->log_prev_csum = tail->prev_csum;
		kvp_generations_trim(sb);
	}
	durable = kvp_log_durable(pool->log);
	/*
	 * This never becomes lower: a checkpoint during recovery must not forget what was durable.
	 */
	sb->log_commit = kvp_lsn_last(sb->log_commit, kvp_lsn_last(durable, sb->log_tail));
	sb->log_resolved = kvp_lsn_last(sb->log_resolved, resolved->lsn);
	sb->cache_lsn = kvp_lsn_last(sb->cache_lsn, kvp_cache_written(&pool->vdevs));
	sb->era = era;
	sb->checkpoint++;
	sb->checkpoint_time = ktime_get_real_seconds();
	kvp_table_note(t, sb);
}

/*
 * The pool goes back to era @era, though a superblock with a newer one may have counted before a
 * later one failed. A leg that is lost now must not be said to have an era that is still to come:
 * such a superblock is refused.
 */
static void undo_eras(struct kvp_pool *pool, u32 era)
{
	u32 i;

	lockdep_assert_held(&pool->sb_lock);
	pool->sb->era = era;
	for (i = 0; i < pool->nr_legs; i++) {
		struct kvp_leg_info *info = &pool->sb->legs[i];

		info->in_sync_era = min(info->in_sync_era, era);
		pool->legs[i].has_era = min(pool->legs[i].has_era, era);
	}
}

/* Step 5. After an error, the superblock in memory is as the durable one again. */
static int write_superblock(struct kvp_pool *pool, const struct kvp_log_mark *tail,
			    const struct kvp_log_mark *resolved, u32 era)
{
	struct kvp_sb *sb = pool->sb;
	struct kvp_generation old_generations[KVP_MAX_GENERATIONS];
	u32 old_count;
	struct kvp_log_mark old;
	u64 old_time, old_written, old_poisoned;
	kvp_lsn_t old_commit, old_resolved;
	u32 old_era, old_uncounted;
	int ret;

	mutex_lock(&pool->sb_lock);
	old = (struct kvp_log_mark){ sb->log_tail, sb->log_prev_lsn, sb->log_prev_csum };
	old_era = sb->era;
	old_time = sb->checkpoint_time;
	old_count = sb->generation_count;
	memcpy(old_generations, sb->generations, sizeof(old_generations));
	old_commit = sb->log_commit;
	old_resolved = sb->log_resolved;
	old_written = sb->written_blocks;
	old_poisoned = sb->poisoned_blocks;
	old_uncounted = sb->uncounted_leaves;
	kvp_table_keep_roots(pool->table, sb);
	fill_superblock(pool, tail, resolved, era);
	ret = kvp_sb_commit(pool);
	if (ret) {
		/*
		 * No leg took it. No later superblock may name its pages, since the next checkpoint
		 * writes their slots again.
		 */
		sb->log_tail = old.lsn;
		sb->log_prev_lsn = old.prev_lsn;
		sb->log_prev_csum = old.prev_csum;
		memcpy(sb->generations, old_generations, sizeof(old_generations));
		sb->generation_count = old_count;
		/* The old table does not have those intents. */
		sb->log_resolved = old_resolved;
		undo_eras(pool, old_era);
		/* The old log has not reached the position that was set here for the new one. */
		if (kvp_log_begins_anew(pool->log)) {
			kvp_log_new_undo(pool);
			sb->log_commit = old_commit;
		}
		kvp_generations_trim(sb);	/* removes none; corrects the feature bit */
		sb->checkpoint_time = old_time;
		/*
		 * These counts must match the old roots: a recovery counts the blocks that it
		 * writes home again.
		 */
		sb->written_blocks = old_written;
		sb->poisoned_blocks = old_poisoned;
		sb->uncounted_leaves = old_uncounted;
		sb->checkpoint--;
		kvp_table_put_roots(pool->table, sb);
	} else if (kvp_log_begins_anew(pool->log)) {
		kvp_log_new_adopt(pool);
	}
	mutex_unlock(&pool->sb_lock);
	return ret;
}

/*
 * Step 1. After a flush failed on the last leg, no checkpoint is made. That leg may have dropped
 * blocks that only the log has now, and the next flush would not report it. After a superblock
 * failed, no pages are written. That superblock may have reached a leg all the same, and the pages
 * would go into slots that it names. Another superblock must be durable first ('clear' writes it).
 */
static int ready_for_checkpoint(struct kvp_pool *pool)
{
	return kvp_pool_faulted(pool) ? -EIO : 0;
}

/*
 * Step 3.
 *
 * If the flush gives a leg up, its loss is recorded before intents are closed. Until then a start
 * may take the leg for one in sync, though it may have the old blocks. If a header called the
 * intents closed, a recovery would not look for those blocks. A recovery itself builds no headers,
 * and must not make a superblock durable yet.
 */
static int flush_homes(struct kvp_pool *pool)
{
	int ret = kvp_legs_flush(pool);

	return ret || !test_bit(KVP_POOL_RUNNING, &pool->flags) ? ret : kvp_members_settle(pool);
}

int kvp_checkpoint(struct kvp_pool *pool, const struct kvp_log_mark *tail)
{
	struct kvp_intents home;
	LIST_HEAD(pages);
	kvp_lsn_t passed;
	u32 era;
	int ret;

	lockdep_assert_held(&pool->checkpoint_lock);
	ret = ready_for_checkpoint(pool);
	if (ret)
		return ret;
	kvp_log_home_intents(pool->log, &home);
	passed = kvp_cache_passed(&pool->vdevs);
	smp_rmb();	/* read @passed first: the fixed table has all that lies below it */
	era = kvp_table_snapshot(pool->table, &pages);
	ret = flush_homes(pool);
	if (!ret)
		kvp_log_close(pool->log, &home);
	if (!ret)
		ret = kvp_table_write(pool->table, &pages);
	if (!ret)
		ret = kvp_legs_flush(pool);
	if (!ret)
		ret = write_superblock(pool, tail, &home.resolved, era);
	kvp_table_written(pool->table, &pages, ret);
	kvp_trace_checkpoint(pool, tail ? tail->lsn : 0, ret);
	if (ret)
		return ret;
	atomic64_inc(&pool->work_stats.checkpoints);
	pool->checkpointed(pool);
	kvp_cache_checkpointed(&pool->vdevs, era, passed, tail);
	if (!kvp_log_begins_anew(pool->log))
		kvp_log_resolve(pool->log, &home.resolved);
	/* If the log moves, @tail is a place in the new log, which begins there. */
	if (tail && !kvp_log_begins_anew(pool->log))
		kvp_log_retire(pool->log, tail);
	/* A FLUSH may have waited for poison. */
	if (test_bit(KVP_POOL_RUNNING, &pool->flags))
		kvp_flush_kick(pool->log);
	return 0;
}

/* Set the log that the next checkpoint begins. All code that writes superblocks looks at it. */
static void set_next(struct kvp_pool *pool, struct kvp_log_new *to)
{
	mutex_lock(&pool->sb_lock);
	kvp_log_set_next(pool->log, to);
	mutex_unlock(&pool->sb_lock);
}

int kvp_checkpoint_anew(struct kvp_pool *pool, const struct kvp_log_mark *head,
			struct kvp_log_new *to)
{
	int ret;

	set_next(pool, to);
	ret = kvp_checkpoint(pool, head);
	set_next(pool, NULL);
	return ret;
}

static int make_poison_durable(struct kvp_pool *pool)
{
	u32 now = kvp_table_poisonings(pool->table);
	int ret = 0;

	mutex_lock(&pool->checkpoint_lock);
	if (!kvp_table_poison_durable(pool->table, now))
		ret = kvp_checkpoint(pool, NULL);
	mutex_unlock(&pool->checkpoint_lock);
	return ret;
}

int kvp_poison_make_durable(struct kvp_pool *pool)
{
	if (kvp_pool_readonly(pool))
		return 0;
	/* The event that names the block becomes durable with the poison. */
	kvp_events_flush(pool);
	return make_poison_durable(pool);
}

void kvp_poison_note(struct kvp_pool *pool)
{
	/* The table knows that the poison is not durable, so the next FLUSH tries again. */
	if (kvp_poison_make_durable(pool))
		return;
}

void kvp_poison_work(struct work_struct *work)
{
	make_poison_durable(container_of(work, struct kvp_pool, poison_work));
}
