// SPDX-License-Identifier: GPL-2.0-only
/*
 * Room in the log for the parity of a parity1 (R24).
 *
 * Destage writes parity (parity.c) when the log may be nearly full, and a recovery may have to
 * write it behind the log's end. So appends for users leave room for the parity of every row that
 * may need it.
 *
 * The log reserves one row for each version, and for a discard the rows of the stripes that it
 * begins and ends in. It releases them when parity that counts the version is durable. It also
 * releases them when the tail passes the segment of the version's record, or reaches the end of the
 * log.
 */
#include <linux/string.h>

#include "core/core.h"
#include "core/vdev_ops.h"
#include "format/logstripe.h"
#include "log/internal.h"
#include "log/log.h"
#include "ram/wbuf.h"

u64 kvp_log_reserve_parity(const struct kvp_log *log, u32 rows)
{
	return kvp_log_reserve(READ_ONCE(log->vdevs->log_vdev)->g, rows);
}

u32 kvp_log_rows_of_vdev(const struct kvp_log *log, const struct kvp_version *d)
{
	const struct kvp_vdev *v = kvp_vdevs_find(log->vdevs, d->block).v;

	return v->ops->reserves(v);
}

/*
 * The rows that discards make necessary, at both ends of each, take a quarter of the log at most.
 * The rest is for writes.
 */
u32 kvp_log_holes_with_parity(const struct kvp_log *log)
{
	const struct kvp_geometry *g = log->vdevs->log_vdev->g;
	u32 each = kvp_log_entry_blocks(g, 1, 1) * 2 * log->vdevs->max_chunk;

	return clamp_t(u64, div_u64(kvp_log_window(g) / 4, each), 1, KVP_WBUF_MAX_HOLES);
}

bool kvp_log_leaves_room(struct kvp_log *log, u64 budget, u32 blocks, u32 reserved)
{
	reserved += READ_ONCE(log->reserved);
	return blocks + kvp_log_reserve(log->vdevs->log_vdev->g, reserved) <= budget;
}

static u32 *__reserved_at(struct kvp_log *log, kvp_lsn_t lsn)
{
	const struct kvp_geometry *g = log->vdevs->log_vdev->g;

	lockdep_assert_held(&log->lock);
	return &log->reserved_of[kvp_lsn_nr(lsn) / g->segment_blocks %
				   kvp_log_window_segments(g)];
}

void __kvp_log_reserve_rows(struct kvp_log *log, struct kvp_entry_io *e)
{
	struct kvp_version *d;

	*__reserved_at(log, e->hdr.lsn) += e->reserved;
	WRITE_ONCE(log->reserved, log->reserved + e->reserved);
	list_for_each_entry(d, &e->versions, list)
		d->reserved = !d->intent;
}

void __kvp_log_unreserve_rows(struct kvp_log *log, struct kvp_entry_io *e)
{
	if (!e->reserved)
		return;
	*__reserved_at(log, e->hdr.lsn) -= e->reserved;
	WRITE_ONCE(log->reserved, log->reserved - e->reserved);
	e->reserved = 0;
}

void __kvp_log_release_rows(struct kvp_log *log, kvp_lsn_t tail)
{
	const struct kvp_geometry *g = log->vdevs->log_vdev->g;
	u32 step = g->segment_blocks;
	kvp_lsn_t lsn = kvp_lsn_down(log->tail, step);

	if (!log->reserved)
		return;
	/*
	 * Here the log is empty. The loop below would not release all rows: it leaves out the
	 * segment that the tail is in.
	 */
	if (tail == log->durable.lsn && list_empty(&log->in_flight)) {
		memset(log->reserved_of, 0,
		       kvp_log_window_segments(g) * sizeof(*log->reserved_of));
		WRITE_ONCE(log->reserved, 0);
		return;
	}
	for (; !kvp_lsn_before(tail, kvp_lsn_add(lsn, step)); lsn = kvp_lsn_add(lsn, step)) {
		u32 *reserved = __reserved_at(log, lsn);

		WRITE_ONCE(log->reserved, log->reserved - *reserved);
		*reserved = 0;
	}
}

void kvp_log_covered(struct kvp_log *log, struct kvp_version *d)
{
	unsigned long flags;

	spin_lock_irqsave(&log->lock, flags);
	if (d->reserved) {
		u32 rows = kvp_log_rows_of(log, d);

		*__reserved_at(log, d->lsn) -= rows;
		WRITE_ONCE(log->reserved, log->reserved - rows);
		d->reserved = false;
	}
	spin_unlock_irqrestore(&log->lock, flags);
}
