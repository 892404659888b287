// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parity of a parity1 in the log (R6). Before a row is written in part at home, its new parity must
 * be durable in the log. room.c keeps room for it.
 */
#include <linux/completion.h>
#include <linux/mm.h>

#include "core/core.h"
#include "format/logstripe.h"
#include "log/internal.h"
#include "log/log.h"
#include "log/move.h"

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
 * After an entry that failed, the head stays. If that entry was a header at the end of a segment,
 * no row fits there, and the rest of the log is free all the same. So an empty entry overwrites it.
 * False: this is not the case.
 */
static bool overwrite_failed(struct kvp_log *log, struct kvp_entry_io *e, u32 room,
			     struct kvp_parity_append *a)
{
	struct kvp_log_at none = { 0, 0 };

	lockdep_assert_held(&log->build_lock);
	if (kvp_lsn_before(log->redo, log->head.lsn) ||
	    room < kvp_log_entry_blocks(log->vdevs->log_vdev->g, 1, 0))
		return false;
	kvp_append_begin(log, e, 0, none);
	e->append = a;
	kvp_log_send(log, e);
	return true;
}

/*
 * Append as many of @rows as the segment has room for. Returns how many; 0: no entry is free, or,
 * with *@full, no room is left. With *@sent the caller waits for @a, also if no row was appended.
 */
static u32 append_some(struct kvp_log *log, const struct kvp_row_parity *rows, u32 nr,
		       struct kvp_log_at limit, struct kvp_parity_append *a, bool *full,
		       bool *sent)
{
	const struct kvp_geometry *g;
	struct kvp_entry_io *e;
	u32 most, room;
	u64 budget;

	mutex_lock(&log->build_lock);
	g = log->vdevs->log_vdev->g;
	e = kvp_log_free_entry(log);
	/* Only a header and one row are asked for, so a segment is used up to its last block. */
	room = e ? kvp_log_room(log, kvp_log_entry_blocks(g, 1, 1), &budget) : 0;
	most = kvp_log_entry_most(g, 1, room);
	nr = min3(nr, most, (u32)KVP_ENTRY_MAX_DATA);
	*sent = nr || (e && overwrite_failed(log, e, room, a));
	*full = e && !*sent;
	if (nr) {
		kvp_append_begin(log, e, nr, limit);
		e->append = a;
		add_parity(e, rows, nr);
		kvp_log_send(log, e);
	}
	mutex_unlock(&log->build_lock);
	/* Code that found the lock taken relies on this kick. */
	kvp_commit_kick(log, true);
	return nr;
}

static int append_and_wait(struct kvp_log *log, const struct kvp_row_parity *rows, u32 nr,
			   struct kvp_log_at limit, u32 *done)
{
	struct kvp_parity_append a;
	bool full, sent;

	init_completion(&a.done);
	*done = append_some(log, rows, nr, limit, &a, &full, &sent);
	if (full)
		return -EIO;
	if (!sent) {
		/*
		 * In a faulted log, entries stay if a loss cannot be recorded (settle_losses()).
		 */
		wait_event(log->entry_wait,
			   kvp_log_free_entry(log) || kvp_faulted(log->failure));
		return kvp_log_free_entry(log) ? 0 : -EIO;
	}
	wait_for_completion(&a.done);
	return a.error;
}

int kvp_log_parity(struct kvp_log *log, const struct kvp_row_parity *rows, u32 nr,
		   struct kvp_log_at limit)
{
	u32 done;
	int ret = 0;

	/* A lost log protects nothing any more: its data must get home (move.h). */
	while (!ret && nr && !READ_ONCE(log->vdevs->log_moving)) {
		ret = append_and_wait(log, rows, nr, limit, &done);
		rows += done;
		nr -= done;
	}
	if (READ_ONCE(log->vdevs->log_moving))
		return 0;
	/* A leg that failed its copy is recorded out before any code relies on the other copies. */
	return ret ?: log->client->settle(log->of);
}
