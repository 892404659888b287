// SPDX-License-Identifier: GPL-2.0-only
#include <linux/mm.h>
#include <linux/slab.h>

#include "cache/admission.h"
#include "cache/reinsert.h"
#include "cache/scache.h"
#include "core/core.h"
#include "log/log.h"
#include "log/renew.h"
#include "policy/index.h"
#include "table/table.h"

#define AHEAD	2u	/* segments between the log's head and the one that is looked at */

static bool in_use(const struct kvp_reinsert *r)
{
	return smp_load_acquire(&r->e);
}

static bool log_is_there(const struct kvp_pool *pool)
{
	return READ_ONCE(pool->log_vdev) == pool->scache->v;
}

/* True if blocks may be written again, by the log or by the ring. */
static bool may_be_asked(const struct kvp_pool *pool)
{
	return !READ_ONCE(pool->admission->stopped) && kvp_scache_asked(pool, 1);
}

/* The position where the cache is written next. */
static kvp_lsn_t head_of(const struct kvp_pool *pool)
{
	return log_is_there(pool) ? kvp_log_head(pool->log) : READ_ONCE(pool->scache->wiped);
}

static u32 segment(const struct kvp_pool *pool)
{
	return pool->scache->v->g->segment_blocks;
}

/* True if the log is so short of space that it would drop the blocks. A ring has room for all. */
static bool log_is_short(struct kvp_pool *pool)
{
	return log_is_there(pool) && kvp_log_used(pool) > kvp_log_clean_limit(pool);
}

/*
 * True if it is time to look at the segment at @walked: the head is close to it, and the log may
 * already go there. A ring may go anywhere, but the blocks that it has just written are not ahead
 * of it.
 */
static bool is_time(struct kvp_pool *pool, kvp_lsn_t walked)
{
	kvp_lsn_t head = head_of(pool), from = log_is_there(pool) ? kvp_log_tail(pool->log) : head;
	u32 seg = segment(pool);

	return !kvp_lsn_before(kvp_lsn_add(head, AHEAD * seg), walked) &&
	       !kvp_lsn_before(kvp_lsn_add(kvp_lsn_down(from, seg), pool->scache->blocks),
			       kvp_lsn_add(walked, seg));
}

/* Look at the next segment. Returns false if it is not time for that. */
static bool next_segment(struct kvp_pool *pool)
{
	struct kvp_reinsert *r = pool->reinsert;
	kvp_lsn_t head = head_of(pool);
	u32 seg = segment(pool);

	r->walked = kvp_lsn_last(r->walked, kvp_lsn_add(kvp_lsn_down(head, seg), seg));
	if (!is_time(pool, r->walked))
		return false;
	r->nr = kvp_scache_live(pool, r->walked, seg, r->e);
	r->at = 0;
	kvp_admit_keep(pool, r->e, r->nr, r->keep);
	r->walked = kvp_lsn_add(r->walked, seg);
	if (log_is_short(pool))
		r->at = r->nr;
	return true;
}

/* Get the table's entry of @block. Returns false if it has no sum. */
static bool entry_of(struct kvp_pool *pool, kvp_block_t block, u64 *entry)
{
	struct kvp_tpage *leaf = kvp_table_load(pool->table, block);

	if (IS_ERR(leaf))
		return false;
	*entry = kvp_table_entry(pool->table, leaf, block);
	kvp_table_put(pool->table, leaf);
	return kvp_entry_state(*entry) == KVP_ENTRY_VALID;
}

/* Make a candidate of block @e, if it is still right. Returns false if no candidate is free now. */
static bool reinsert(struct kvp_pool *pool, const struct kvp_index_entry *e)
{
	struct kvp_candidate *c;
	u64 entry;

	c = kvp_admit_begin_again(pool, e);
	if (!c)
		return false;
	if (entry_of(pool, kvp_block(e->key), &entry) &&
	    !kvp_scache_reread(pool, e, entry, c->page))
		kvp_admit_add(pool, c, kvp_entry_crc(entry));
	else
		kvp_admit_drop(pool, c);
	return true;
}

static void reinsert_work(struct work_struct *work)
{
	struct kvp_reinsert *r = container_of(work, struct kvp_reinsert, work);
	struct kvp_pool *pool = r->pool;

	while (may_be_asked(pool)) {
		if (r->at < r->nr && r->keep[r->at] && !reinsert(pool, &r->e[r->at]))
			return;	/* the end of an entry kicks again */
		if (r->at < r->nr)
			r->at++;
		else if (!next_segment(pool))
			return;
	}
}

void kvp_reinsert_kick(struct kvp_pool *pool)
{
	struct kvp_reinsert *r = pool->reinsert;

	if (in_use(r) && may_be_asked(pool) &&
	    (READ_ONCE(r->at) < READ_ONCE(r->nr) || is_time(pool, READ_ONCE(r->walked))))
		queue_work(pool->scrub_wq, &r->work);
}

int kvp_reinsert_start(struct kvp_pool *pool)
{
	struct kvp_reinsert *r = pool->reinsert;
	struct kvp_index_entry *e;

	if (!pool->admission->candidates || in_use(r))
		return 0;
	r->pool = pool;
	INIT_WORK(&r->work, reinsert_work);
	e = kvcalloc(segment(pool), sizeof(*e), GFP_KERNEL);
	r->keep = kvcalloc(segment(pool), sizeof(*r->keep), GFP_KERNEL);
	if (!e || !r->keep) {
		kvfree(e);
		kvfree(r->keep);
		r->keep = NULL;
		return -ENOMEM;
	}
	smp_store_release(&r->e, e);
	return 0;
}

void kvp_reinsert_stop(struct kvp_pool *pool)
{
	if (in_use(pool->reinsert))
		cancel_work_sync(&pool->reinsert->work);
}

void kvp_reinsert_exit(struct kvp_pool *pool)
{
	struct kvp_reinsert *r = pool->reinsert;

	kvp_reinsert_stop(pool);
	kvfree(r->e);
	kvfree(r->keep);
	memset(r, 0, sizeof(*r));
}
