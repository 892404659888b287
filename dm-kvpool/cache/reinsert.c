// SPDX-License-Identifier: GPL-2.0-only
#include <linux/mm.h>
#include <linux/slab.h>

#include "cache/admission.h"
#include "cache/reinsert.h"
#include "cache/scache.h"
#include "core/core.h"
#include "policy/index.h"

#define AHEAD	2u	/* segments between the log's head and the one that is looked at */

static bool in_use(const struct kvp_reinsert *r)
{
	return smp_load_acquire(&r->e);
}

static const struct kvp_scache_client *client(const struct kvp_reinsert *r)
{
	return r->given->client;
}

static void *owner(const struct kvp_reinsert *r)
{
	return r->given->of;
}

/* True if blocks may be written again, by the log or by the ring. */
static bool may_be_asked(const struct kvp_reinsert *r)
{
	return !kvp_admit_stopped(r->admission) && kvp_scache_asked(r->scache, 1);
}

/* The position where the cache is written next. */
static kvp_lsn_t head_of(const struct kvp_reinsert *r, const struct kvp_cache_log *log)
{
	return log->here ? log->head : kvp_scache_passed(r->scache);
}

static u32 segment(const struct kvp_reinsert *r)
{
	return kvp_scache_geometry(r->scache)->segment_blocks;
}

/*
 * True if it is time to look at the segment at @walked: the head is close to it, and the log may
 * already go there. A ring may go anywhere, but the blocks that it has just written are not ahead
 * of it.
 */
static bool is_time(const struct kvp_reinsert *r, kvp_lsn_t walked,
		    const struct kvp_cache_log *log)
{
	kvp_lsn_t head = head_of(r, log), from = log->here ? log->tail : head;
	u32 seg = segment(r);

	return !kvp_lsn_before(kvp_lsn_add(head, AHEAD * seg), walked) &&
	       !kvp_lsn_before(kvp_lsn_add(kvp_lsn_down(from, seg), kvp_scache_round(r->scache)),
			       kvp_lsn_add(walked, seg));
}

/* Look at the next segment. Returns false if it is not time for that. */
static bool next_segment(struct kvp_reinsert *r)
{
	struct kvp_cache_log log;
	u32 seg = segment(r);

	kvp_given_look(r->given, &log);
	r->walked = kvp_lsn_last(r->walked,
				 kvp_lsn_add(kvp_lsn_down(head_of(r, &log), seg), seg));
	if (!is_time(r, r->walked, &log))
		return false;
	r->nr = kvp_scache_live(r->scache, r->walked, seg, r->e);
	r->at = 0;
	kvp_admit_keep(r->admission, r->e, r->nr, r->keep);
	r->walked = kvp_lsn_add(r->walked, seg);
	/* A ring has room for all. */
	if (client(r)->is_short(owner(r)))
		r->at = r->nr;
	return true;
}

/* Make a candidate of block @e, if it is still right. Returns false if no candidate is free now. */
static bool reinsert(struct kvp_reinsert *r, const struct kvp_index_entry *e)
{
	struct kvp_candidate *c;
	u64 entry;

	c = kvp_admit_begin_again(r->admission, e);
	if (!c)
		return false;
	if (client(r)->entry(owner(r), kvp_block(e->key), &entry) &&
	    !kvp_scache_reread(r->scache, e, entry, c->page))
		kvp_admit_add(r->admission, c, kvp_entry_crc(entry));
	else
		kvp_admit_drop(r->admission, c);
	return true;
}

static void reinsert_work(struct work_struct *work)
{
	struct kvp_reinsert *r = container_of(work, struct kvp_reinsert, work);

	while (may_be_asked(r)) {
		if (r->at < r->nr && r->keep[r->at] && !reinsert(r, &r->e[r->at]))
			return;	/* the end of an entry kicks again */
		if (r->at < r->nr)
			r->at++;
		else if (!next_segment(r))
			return;
	}
}

void kvp_reinsert_kick(struct kvp_reinsert *r, const struct kvp_cache_log *log)
{
	if (in_use(r) && may_be_asked(r) &&
	    (READ_ONCE(r->at) < READ_ONCE(r->nr) || is_time(r, READ_ONCE(r->walked), log)))
		queue_work(r->given->wq, &r->work);
}

int kvp_reinsert_start(struct kvp_reinsert *r, struct kvp_scache *s, struct kvp_admission *f)
{
	struct kvp_index_entry *e;

	if (!kvp_admit_in_use(f) || in_use(r))
		return 0;
	r->scache = s;
	r->given = kvp_scache_given(s);
	r->admission = f;
	INIT_WORK(&r->work, reinsert_work);
	e = kvcalloc(segment(r), sizeof(*e), GFP_KERNEL);
	r->keep = kvcalloc(segment(r), sizeof(*r->keep), GFP_KERNEL);
	if (!e || !r->keep) {
		kvfree(e);
		kvfree(r->keep);
		r->keep = NULL;
		return -ENOMEM;
	}
	smp_store_release(&r->e, e);
	return 0;
}

void kvp_reinsert_stop(struct kvp_reinsert *r)
{
	if (in_use(r))
		cancel_work_sync(&r->work);
}

void kvp_reinsert_exit(struct kvp_reinsert *r)
{
	kvp_reinsert_stop(r);
	kvfree(r->e);
	kvfree(r->keep);
	memset(r, 0, sizeof(*r));
}
