// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parity of a parity1 in the log (R6), and the room for it (R24).
 *
 * Before a row is written in part at home, its new parity must be durable in the log. Destage
 * writes it when the log may be nearly full, and a recovery may have to write it behind the log's
 * end. So appends for users leave room for the parity of every row that may need it.
 *
 * The log reserves one row for each version, and for a discard the rows of the stripes that it
 * begins and ends in. It releases them when parity that counts the version is durable. It also does
 * when the tail passes the segment of the version's record, or the whole log.
 */
#include <linux/completion.h>
#include <linux/mm.h>
#include <linux/string.h>

#include "core/core.h"
#include "core/vdev_ops.h"
#include "format/logstripe.h"
#include "log/internal.h"
#include "log/log.h"
#include "log/move.h"
#include "ram/wbuf.h"
#include "super/members.h"

struct kvp_parity_append {
	struct completion done;
	int error;
};

/* --- room ------------------------------------------------------------------------- */

u32 kvp_log_rows_of(struct kvp_pool *pool, const struct kvp_version *d)
{
	const struct kvp_vdev *v;

	/* On vdevs between those of its ends, a discard covers whole stripes. */
	if (d->hole)
		return min(d->count, 2 * pool->vdevs.max_chunk);
	v = kvp_locate(pool, d->block).v;
	return v->ops->reserves(v);
}

u32 kvp_log_most_holes(struct kvp_pool *pool)
{
	const struct kvp_geometry *g = pool->log_vdev->g;
	u32 each = kvp_log_entry_blocks(g, 1, 1) * 2 * pool->vdevs.max_chunk;

	return clamp_t(u64, div_u64(kvp_log_window(g) / 4, each), 1, KVP_WBUF_MAX_HOLES);
}

bool kvp_log_leaves_room(struct kvp_pool *pool, u64 budget, u32 blocks, u32 reserved)
{
	reserved += READ_ONCE(pool->log->reserved);
	return blocks + kvp_log_reserve(pool->log_vdev->g, reserved) <= budget;
}

static u32 *__reserved_at(struct kvp_pool *pool, kvp_lsn_t lsn)
{
	const struct kvp_geometry *g = pool->log_vdev->g;

	lockdep_assert_held(&pool->log->lock);
	return &pool->log->reserved_of[kvp_lsn_nr(lsn) / g->segment_blocks %
				   kvp_log_window_segments(g)];
}

void __kvp_log_reserve_rows(struct kvp_pool *pool, struct kvp_entry_io *e)
{
	struct kvp_version *d;

	*__reserved_at(pool, e->hdr.lsn) += e->reserved;
	WRITE_ONCE(pool->log->reserved, pool->log->reserved + e->reserved);
	list_for_each_entry(d, &e->versions, list)
		d->reserved = !d->intent;
}

void __kvp_log_unreserve_rows(struct kvp_pool *pool, struct kvp_entry_io *e)
{
	if (!e->reserved)
		return;
	*__reserved_at(pool, e->hdr.lsn) -= e->reserved;
	WRITE_ONCE(pool->log->reserved, pool->log->reserved - e->reserved);
	e->reserved = 0;
}

void __kvp_log_release_rows(struct kvp_pool *pool, kvp_lsn_t tail)
{
	struct kvp_log *log = pool->log;
	u32 step = log->pool->log_vdev->g->segment_blocks;
	kvp_lsn_t lsn = kvp_lsn_down(log->tail, step);

	if (!log->reserved)
		return;
	/*
	 * Then the log is empty. The loop would not see that: it skips the segment with the tail in
	 * its middle.
	 */
	if (tail == log->durable.lsn && list_empty(&log->in_flight)) {
		memset(log->reserved_of, 0,
		       kvp_log_window_segments(log->pool->log_vdev->g) * sizeof(*log->reserved_of));
		WRITE_ONCE(log->reserved, 0);
		return;
	}
	for (; !kvp_lsn_before(tail, kvp_lsn_add(lsn, step)); lsn = kvp_lsn_add(lsn, step)) {
		u32 *reserved = __reserved_at(pool, lsn);

		WRITE_ONCE(log->reserved, log->reserved - *reserved);
		*reserved = 0;
	}
}

void kvp_log_covered(struct kvp_pool *pool, struct kvp_version *d)
{
	struct kvp_log *log = pool->log;
	unsigned long flags;

	spin_lock_irqsave(&log->lock, flags);
	if (d->reserved) {
		u32 rows = kvp_log_rows_of(pool, d);

		*__reserved_at(pool, d->lsn) -= rows;
		WRITE_ONCE(log->reserved, log->reserved - rows);
		d->reserved = false;
	}
	spin_unlock_irqrestore(&log->lock, flags);
}

/* --- appending ---------------------------------------------------------------------- */

void kvp_append_ended(struct kvp_entry_io *e, int error)
{
	struct kvp_parity_append *a = e->append;

	e->append = NULL;
	a->error = error;
	complete(&a->done);
}

static void add_parity(struct kvp_entry_io *e, const struct kvp_row_parity *rows, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		struct kvp_rec r = {
			.block = rows[i].row, .vdev = rows[i].v->index, .count = 1,
			.crc = rows[i].crc, .kind = KVP_REC_PARITY,
		};

		kvp_append_add(e, &r, rows[i].page);
	}
}

/*
 * Append as many of @rows as the segment has room for. Returns how many; 0: no entry is free, or no
 * room is left (*@full).
 */
static u32 append_some(struct kvp_pool *pool, const struct kvp_row_parity *rows, u32 nr,
		       struct kvp_log_at limit, struct kvp_parity_append *a, bool *full)
{
	const struct kvp_geometry *g;
	struct kvp_log *log = pool->log;
	struct kvp_entry_io *e;
	u64 budget;
	u32 most;

	mutex_lock(&log->build_lock);
	g = log->pool->log_vdev->g;
	e = kvp_log_free_entry(log);
	/* A header and one row: these may use a segment up to its last block. */
	most = e ? kvp_log_entry_most(g, 1, kvp_log_room(pool, kvp_log_entry_blocks(g, 1, 1),
							 &budget)) : 0;
	*full = e && !most;
	nr = min3(nr, most, (u32)KVP_ENTRY_MAX_DATA);
	if (nr) {
		kvp_append_begin(pool, e, nr, limit);
		e->append = a;
		add_parity(e, rows, nr);
		kvp_log_send(pool, e);
	}
	mutex_unlock(&log->build_lock);
	/* Code that found the lock taken relies on this kick. */
	kvp_commit_kick(pool, true);
	return nr;
}

static int append_and_wait(struct kvp_pool *pool, const struct kvp_row_parity *rows, u32 nr,
			   struct kvp_log_at limit, u32 *done)
{
	struct kvp_parity_append a;
	bool full;

	init_completion(&a.done);
	*done = append_some(pool, rows, nr, limit, &a, &full);
	if (full)
		return -EIO;
	if (!*done) {
		/*
		 * In a faulted pool, entries stay if a loss cannot be recorded (settle_losses()).
		 */
		wait_event(pool->log->entry_wait,
			   kvp_log_free_entry(pool->log) || kvp_pool_faulted(pool));
		return kvp_log_free_entry(pool->log) ? 0 : -EIO;
	}
	wait_for_completion(&a.done);
	return a.error;
}

int kvp_log_parity(struct kvp_pool *pool, const struct kvp_row_parity *rows, u32 nr,
		   struct kvp_log_at limit)
{
	u32 done;
	int ret = 0;

	/* A lost log protects nothing any more: its data must get home (move.h). */
	while (!ret && nr && !READ_ONCE(pool->log_moving)) {
		ret = append_and_wait(pool, rows, nr, limit, &done);
		rows += done;
		nr -= done;
	}
	if (READ_ONCE(pool->log_moving))
		return 0;
	/* A leg that failed its copy is recorded out before any code relies on the other copies. */
	return ret ?: kvp_members_settle(pool);
}
