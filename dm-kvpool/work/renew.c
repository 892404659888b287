// SPDX-License-Identifier: GPL-2.0-only
#include "core/core.h"
#include "log/log.h"
#include "log/renew.h"
#include "log/spill.h"
#include "ram/wbuf.h"
#include "work/destage.h"
#include "work/elevator.h"
#include "work/renew.h"

/* True if the buffer has room for renewed versions beside those of users. */
static bool buffer_has_room(struct kvp_pool *pool)
{
	const struct kvp_wbuf *w = pool->wbuf;
	u32 limit = kvp_wbuf_attainable(w);

	if (kvp_wbuf_used(w) < limit - limit / 8)
		return true;
	kvp_spill(pool->log);
	return kvp_wbuf_used(w) < limit - limit / 8;
}

/*
 * Spill versions below @below: they are old, but the buffer may not have been full enough to spill
 * them.
 */
static void spill_below(struct kvp_pool *pool, kvp_lsn_t below)
{
	struct kvp_wbuf *w = pool->wbuf;
	struct kvp_version *d;
	bool old = true;

	while (old) {
		kvp_wbuf_lock_lists(w);
		d = __kvp_wbuf_first_logged(w);
		old = d && kvp_lsn_before(d->lsn, below);
		kvp_wbuf_unlock_lists(w);
		old = old && kvp_wbuf_spill_oldest(pool->wbuf);
		cond_resched();
	}
}

/* Renew the @n versions in r->of. Returns how many were renewed. */
static u32 renew_batch(struct kvp_renew *r, u32 n)
{
	struct kvp_pool *pool = r->pool;
	u32 asked = kvp_reload_copies(pool->log, r->of, r->pages, n), i, renewed = 0;

	for (i = 0; i < asked; i++) {
		if (!r->pages[i])
			continue;
		renewed += kvp_wbuf_renew(pool->wbuf, r->of[i], r->pages[i]);
		kvp_wbuf_lone_page_free(pool->wbuf, r->pages[i]);
	}
	atomic64_add(renewed, &pool->work_stats.renewed);
	return renewed;
}

/* Renew or drop versions at the tail. Returns how many; sets *@more if there may be more. */
static u32 renew_part(struct kvp_renew *r, kvp_lsn_t below, bool *more)
{
	struct kvp_elevator_look look = {
		.below = below, .max = KVP_RENEW_BATCH, .of = r->of,
	};
	struct kvp_pool *pool = r->pool;
	u32 dropped = 0, renewed = 0;
	struct list_head *at;
	bool room;

	INIT_LIST_HEAD(&look.outlived);
	kvp_elevator_look(r->elevator, &look);
	list_for_each(at, &look.outlived)
		dropped++;
	if (dropped)
		kvp_wbuf_drop_list(pool->wbuf, &look.outlived);
	room = buffer_has_room(pool);
	if (look.nr && look.pending < KVP_ELEVATOR_PENDING && room)
		renewed = renew_batch(r, look.nr);
	/* Buffered versions make room when they are committed. */
	r->pending = look.pending + renewed + (room ? 0 : kvp_wbuf_buffered(pool->wbuf));
	*more = renewed || dropped;
	return renewed + dropped;
}

void kvp_renew_init(struct kvp_renew *r, struct kvp_pool *pool, struct kvp_elevator *e)
{
	r->pool = pool;
	r->elevator = e;
}

u32 kvp_renew_some(struct kvp_renew *r, kvp_lsn_t limit)
{
	struct kvp_pool *pool = r->pool;
	kvp_lsn_t below = kvp_lsn_first(limit, kvp_log_renew_below(pool->log));
	u32 done = 0;
	bool more;

	spill_below(pool, below);
	kvp_elevator_gather(r->elevator, below);
	do {
		done += renew_part(r, below, &more);
		cond_resched();
	} while (more && !kvp_destage_stops(pool->destage) &&
		 kvp_log_renews(pool->log));
	/* A stream that waits for a place would become data, and fill the log. */
	if (kvp_wbuf_buffered(pool->wbuf) && !kvp_log_stream_waits(pool->log)) {
		kvp_commit_now(pool->log);
		kvp_commit_kick(pool->log, true);
	}
	return done;
}
