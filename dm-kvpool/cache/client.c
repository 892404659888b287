// SPDX-License-Identifier: GPL-2.0-only
/*
 * The connection of the SSD cache with the pool: see client.h. The tables at the end of this file
 * say which function serves each call, in either direction.
 */
#include <linux/err.h>

#include "cache/admission.h"
#include "cache/client.h"
#include "cache/rebuild.h"
#include "cache/reinsert.h"
#include "cache/scache.h"
#include "core/cache.h"
#include "core/core.h"
#include "core/log_mark.h"
#include "log/internal.h"
#include "log/log.h"
#include "log/move.h"
#include "log/renew.h"
#include "ram/wbuf.h"
#include "super/events.h"
#include "super/members.h"
#include "table/ssdcopy.h"
#include "table/table.h"

/* --- what the cache asks of the log -------------------------------------------------------- */

static void lock_log(void *of)
{
	struct kvp_pool *pool = of;

	kvp_log_lock_build(pool->log);
}

static void unlock_log(void *of)
{
	struct kvp_pool *pool = of;

	kvp_log_unlock_build(pool->log);
}

static bool log_is_here(const struct kvp_pool *pool)
{
	return READ_ONCE(pool->vdevs.log_vdev) == kvp_scache_in_use(pool->scache);
}

static void look(void *of, struct kvp_cache_log *log)
{
	const struct kvp_pool *pool = of;

	log->here = log_is_here(pool);
	log->moves = READ_ONCE(pool->vdevs.log_moving);
	log->head = kvp_log_head(pool->log);
	log->tail = kvp_log_tail(pool->log);
	log->passed_on = kvp_log_passed_on(pool->log);
}

/* Put the candidates into an entry, and send it. There is room for it in the log. */
static void send(struct kvp_pool *pool, struct kvp_entry_io *e, struct list_head *taken, u32 n)
{
	struct kvp_log_at none = { 0, 0 };
	struct kvp_candidate *c;

	kvp_append_begin(pool->log, e, n, none);
	e->clean = true;
	list_for_each_entry(c, taken, list) {
		struct kvp_rec r = {
			.block = kvp_block_nr(c->block), .count = 1, .crc = c->crc,
			.kind = KVP_REC_CLEAN,
		};

		e->again += c->from != KVP_FROM_HOME;
		kvp_append_add(e, &r, c->page);
	}
	kvp_admit_sent(pool->admission, taken);
	kvp_log_send(pool->log, e);
}

static enum kvp_clean_outcome append(void *of, struct list_head *taken, u32 n)
{
	struct kvp_pool *pool = of;
	u32 blocks = kvp_log_entry_blocks(kvp_scache_geometry(pool->scache), 1, n);
	struct kvp_log *log = pool->log;
	struct kvp_entry_io *e;
	u64 budget;

	kvp_log_assert_build(log);
	if (kvp_pool_faulted(pool) || kvp_log_is_closed(log))
		return KVP_CLEAN_NEVER;
	if (!log_is_here(pool))
		return KVP_CLEAN_ELSEWHERE;
	if (!kvp_log_has_spare(pool->log, blocks))
		return KVP_CLEAN_NEVER;
	e = kvp_log_free_entry(log);
	if (!e || kvp_admit_busy(pool->admission) || kvp_log_is_wanted(pool->log))
		return KVP_CLEAN_LATER;
	/* kvp_log_room() leaves a segment in which only a few blocks are left, up to 32. */
	if (kvp_log_room(pool->log, blocks, &budget) < blocks)
		return KVP_CLEAN_NEVER;
	send(pool, e, taken, n);
	return KVP_CLEAN_SENT;
}

static bool may_append(void *of)
{
	struct kvp_pool *pool = of;

	return kvp_log_free_entry(pool->log) && !kvp_log_is_wanted(pool->log);
}

static void wait_idle(void *of)
{
	struct kvp_pool *pool = of;

	kvp_log_wait(pool->log, !kvp_admit_busy(pool->admission));
}

static void wrote_ring(void *of, u32 new, u32 again)
{
	struct kvp_pool *pool = of;

	kvp_log_count_ssd(pool->log, KVP_LOG_FILLS, new);
	kvp_log_count_ssd(pool->log, KVP_LOG_AGAIN, again);
}

static void wrote_summary(void *of, u32 blocks)
{
	struct kvp_pool *pool = of;

	kvp_log_count_ssd(pool->log, KVP_LOG_HEADERS, blocks);
}

static bool is_short(void *of)
{
	struct kvp_pool *pool = of;

	return log_is_here(pool) &&
	       kvp_log_used(pool->log) > kvp_log_clean_limit(pool->log);
}

/* --- what it asks of table and superblock -------------------------------------------------- */

static bool table_entry(void *of, kvp_block_t block, u64 *entry)
{
	struct kvp_pool *pool = of;
	struct kvp_tpage *leaf = kvp_table_load(pool->table, block);

	if (IS_ERR(leaf))
		return false;
	*entry = kvp_table_entry(leaf, block);
	kvp_table_put(leaf);
	return kvp_entry_state(*entry) == KVP_ENTRY_VALID;
}

static bool end_era(void *of, u32 era, bool now)
{
	struct kvp_pool *pool = of;

	return kvp_table_end_era(pool->table, era, now);
}

static u32 newest_era(void *of)
{
	struct kvp_pool *pool = of;
	u32 era;

	mutex_lock(&pool->sb_lock);
	era = pool->sb->era;
	mutex_unlock(&pool->sb_lock);
	return era;
}

static int claim(void *of, kvp_lsn_t lsn)
{
	struct kvp_pool *pool = of;
	int ret;

	mutex_lock(&pool->sb_lock);
	pool->sb->cache_lsn = kvp_lsn_last(pool->sb->cache_lsn, lsn);
	ret = kvp_sb_commit(pool);
	mutex_unlock(&pool->sb_lock);
	return ret;
}

static bool recorded(void *of)
{
	return !kvp_members_dirty(of);
}

static void restored(void *of, u64 blocks, u64 segments, u64 ms)
{
	kvp_event(of, "ssd_restored blocks=%llu segments=%llu ms=%llu",
		  (unsigned long long)blocks, (unsigned long long)segments,
		  (unsigned long long)ms);
}

/* --- what the log, the table and destage tell it ------------------------------------------- */

static void moved_on(struct kvp_pool *pool)
{
	struct kvp_cache_log log;

	kvp_admit_kick(pool->admission);
	look(pool, &log);
	kvp_reinsert_kick(pool->reinsert, &log);
	look(pool, &log);
	kvp_rebuild_kick(pool->rebuild, &log);
}

static void ring_ended(void *of)
{
	struct kvp_pool *pool = of;

	kvp_log_wake(pool->log);
	kvp_log_move_kick(pool->log);
	moved_on(pool);
}

static void clean_durable(struct kvp_pool *pool, const struct kvp_entry_io *e)
{
	kvp_admit_durable(pool->admission, &e->hdr);
}

static void clean_failed(struct kvp_pool *pool)
{
	kvp_admit_failed(pool->admission);
}

static bool clean_waits(const struct kvp_pool *pool)
{
	return kvp_admit_waiting(pool->admission);
}

static bool clean_on_its_way(const struct kvp_pool *pool)
{
	return kvp_admit_busy(pool->admission);
}

static void overwrites(struct kvp_pool *pool, kvp_lsn_t lsn, u32 nr)
{
	const struct kvp_vdev *v = kvp_scache_in_use(pool->scache);

	kvp_log_assert_build(pool->log);
	if (v && v == pool->vdevs.log_vdev)
		kvp_scache_overwrite(pool->scache, lsn, nr);
}

static void log_begins(struct kvp_pool *pool, kvp_lsn_t lsn)
{
	const struct kvp_vdev *v = kvp_scache_in_use(pool->scache);

	kvp_log_assert_build(pool->log);
	if (!v)
		return;
	kvp_rebuild_jumped(pool->rebuild, v == pool->vdevs.log_vdev, lsn);
	if (v == pool->vdevs.log_vdev)
		kvp_scache_log_moved(pool->scache, lsn);
}

static kvp_lsn_t next_place(const struct kvp_pool *pool, const struct kvp_vdev *v, kvp_lsn_t lsn)
{
	return kvp_scache_next_lsn(pool->scache, v, lsn);
}

static kvp_lsn_t passed(const struct kvp_pool *pool)
{
	return kvp_scache_passed(pool->scache);
}

static void checkpointed(struct kvp_pool *pool, u32 era, kvp_lsn_t passed,
			 const struct kvp_log_mark *tail)
{
	kvp_lsn_t home = tail ? tail->lsn : 0;
	struct kvp_cache_log log;

	lockdep_assert_held(&pool->checkpoint_lock);
	look(pool, &log);
	if (kvp_log_begins_anew(pool->log))
		home = passed;
	kvp_rebuild_checkpointed(pool->rebuild, era, passed, home, &log);
}

static void home_written(struct kvp_pool *pool, const struct kvp_version *d)
{
	const struct kvp_vdev *v = kvp_scache_in_use(pool->scache);

	if (!v || d->hole || d->intent || d->zero)
		return;
	/* Once the log has moved off the cache, its lsns are no places there. */
	if (v != READ_ONCE(pool->vdevs.log_vdev))
		kvp_admit_written(pool->admission, d);
	else
		kvp_scache_home_written(pool->scache, d);
}

static void forget(struct kvp_pool *pool, kvp_block_t block, u32 count)
{
	kvp_admit_changed(pool->admission, block, count);
	kvp_scache_forget(pool->scache, block, count);
}

static bool has(struct kvp_pool *pool, kvp_block_t block)
{
	return kvp_scache_has(pool->scache, block);
}

static int rescue(struct kvp_pool *pool, kvp_block_t block, u64 entry, struct page *page,
		  struct kvp_patience *p)
{
	return kvp_scache_rescue(pool->scache, block, entry, page, p);
}

/* --- where log and ring stand -------------------------------------------------------------- */

/*
 * The highest lsn that an append since the durable tail can have reached, in this start or the one
 * before.
 */
static kvp_lsn_t most_written(const struct kvp_pool *pool)
{
	const struct kvp_geometry *g = pool->vdevs.log_vdev->g;
	kvp_lsn_t tail = kvp_log_tail(pool->log);

	return kvp_lsn_add(kvp_lsn_down(tail, g->segment_blocks), kvp_log_window(g));
}

/*
 * Blocks below this lsn may be torn. Entries behind the log's last one may have been in flight when
 * the power went, and have torn the blocks that lay there. So may the entries of a recovery's
 * chain, which may have any length.
 */
static kvp_lsn_t may_be_torn(const struct kvp_pool *pool, kvp_lsn_t head)
{
	u32 kept = kvp_log_kept(pool->vdevs.log_vdev->g);
	u64 chain = kvp_log_window(pool->vdevs.log_vdev->g) * pool->vdevs.most_reserved;
	kvp_lsn_t most = most_written(pool), in_flight;

	in_flight = kvp_lsn_add(head, KVP_ENTRIES * (KVP_MAX_ENTRY_BLOCKS + 32 + kept) + chain);
	return kvp_lsn_last(head, kvp_lsn_first(most, in_flight));
}

/* Find up to where the log, or the ring, may have written to @v, and up to where it is torn. */
static void find_place(struct kvp_pool *pool, const struct kvp_vdev *v, kvp_lsn_t *wiped,
		       kvp_lsn_t *doubt)
{
	u32 step = v->g->segment_blocks;

	kvp_log_assert_build(pool->log);
	if (pool->vdevs.log_vdev == v) {
		*wiped = kvp_log_head(pool->log);
		*doubt = may_be_torn(pool, *wiped);
		return;
	}
	/* The ring has lsns of its own. */
	*wiped = kvp_lsn_last(kvp_lsn(kvp_log_blocks(v->g)), pool->sb->cache_lsn);
	*wiped = kvp_lsn_down(kvp_lsn_add(*wiped, step - 1), step);
	*doubt = *wiped;
}

static kvp_lsn_t written(const struct kvp_pool *pool)
{
	if (kvp_scache_in_use(pool->scache))
		return kvp_scache_written(pool->scache);
	/*
	 * The position is recorded nowhere. While the log is on the cache, recovery finds it. It
	 * matters once the log has left.
	 */
	if (kvp_log_begins_anew(pool->log) && kvp_pool_logs_on_cache(pool))
		return most_written(pool);
	return 0;
}

/* --- for the floors above ------------------------------------------------------------------ */

bool kvp_cache_current(struct kvp_pool *pool, const struct kvp_tpage *leaf, kvp_block_t block,
		       u32 count, const struct kvp_on_ssd *at)
{
	bool newest = true;
	u32 i;

	for (i = 0; newest && at->before != ~0u && i < count; i++)
		newest = kvp_entry_era(kvp_table_entry(leaf, kvp_block_add(block, i))) <
			 at->before;
	for (i = 0; !newest && i < count; i++, block = kvp_block_add(block, 1))
		kvp_scache_forget_older(pool->scache, block, kvp_table_entry(leaf, block));
	return newest;
}

void kvp_cache_mistrust(struct kvp_pool *pool, kvp_block_t block, u32 count)
{
	forget(pool, block, count);
}

void kvp_cache_write_rest(struct kvp_pool *pool)
{
	if (kvp_pool_faulted(pool) || !kvp_rebuild_write_rest(pool->rebuild))
		return;
	/* The ring has written no further than the superblock says now. */
	mutex_lock(&pool->sb_lock);
	pool->sb->cache_lsn = kvp_scache_end_claim(pool->scache);
	mutex_unlock(&pool->sb_lock);
}

static const struct kvp_scache_client answers = {
	.lock = lock_log,
	.unlock = unlock_log,
	.look = look,
	.claim = claim,
	.append = append,
	.may_append = may_append,
	.wait_idle = wait_idle,
	.wrote_ring = wrote_ring,
	.ring_ended = ring_ended,
	.is_short = is_short,
	.entry = table_entry,
	.era = newest_era,
	.end_era = end_era,
	.recorded = recorded,
	.wrote_summary = wrote_summary,
	.restored = restored,
};

int kvp_cache_connect(struct kvp_pool *pool)
{
	const struct kvp_scache_given given = {
		.client = &answers,
		.of = pool,
		.wq = pool->scrub_wq,
		.stats = pool->stats,
		.tunables = pool->tunables,
		.sb = pool->sb,
		.seed = pool->seed,
	};
	struct kvp_vdev *v = kvp_pool_cache(pool);
	kvp_lsn_t wiped, doubt;
	int ret;

	if (!v || !kvp_vdev_has_log(v) || kvp_scache_in_use(pool->scache))
		return 0;
	ret = kvp_scache_init(pool->scache, v, &given);
	if (ret)
		return ret;
	kvp_log_lock_build(pool->log);
	find_place(pool, v, &wiped, &doubt);
	kvp_scache_begin(pool->scache, v, wiped, doubt);
	kvp_log_unlock_build(pool->log);
	return 0;
}

void kvp_cache_renumber(struct kvp_pool *pool)
{
	kvp_scache_renumber(pool->scache, kvp_pool_cache(pool));
	kvp_ssdcopy_renumber(pool->ssdcopies, kvp_pool_cache(pool));
}

const struct kvp_cache_client kvp_cache_client_calls = {
	.moved_on = moved_on,
	.clean_durable = clean_durable,
	.clean_failed = clean_failed,
	.clean_waits = clean_waits,
	.clean_on_its_way = clean_on_its_way,
	.overwrites = overwrites,
	.begins = log_begins,
	.next_place = next_place,
	.written = written,
	.passed = passed,
	.checkpointed = checkpointed,
	.home_written = home_written,
	.forget = forget,
	.has = has,
	.rescue = rescue,
};
