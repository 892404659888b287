/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the files of log/ alone. */
#ifndef KVP_LOG_INTERNAL_H
#define KVP_LOG_INTERNAL_H

#include <linux/completion.h>

#include "log/log.h"
#include "ram/wbuf.h"

/**
 * kvp_log_free_entry() - find an entry that is not in flight
 *
 * Return: the entry; NULL: all are in flight, or the log's head is too far behind what a header can
 * name as durable.
 */
struct kvp_entry_io *kvp_log_free_entry(struct kvp_log *log);

/**
 * kvp_log_build_entry() - build an entry and send it; caller holds build_lock
 *
 * Return: false: not now (no entry is free, or the log has no space).
 */
bool kvp_log_build_entry(struct kvp_log *log);

/**
 * __kvp_log_not_home() - the first intents that are not yet home, also if they are withdrawn, or
 * NULL; caller holds log->lock
 */
struct kvp_direct *__kvp_log_not_home(const struct kvp_log *log);

/** kvp_log_fill_entry() - fix the versions of @e, and make records of them; under build_lock */
void kvp_log_fill_entry(struct kvp_log *log, struct kvp_entry_io *e);

/* --- again.c: intents become data again --- */

/** kvp_log_again_durable() - @e, of withdrawn intents, is durable. Context: process. */
void kvp_log_again_durable(struct kvp_entry_io *e);

/** kvp_log_again_undone() - @e failed: take its versions back. Context: under build_lock. */
void kvp_log_again_undone(struct kvp_entry_io *e);

/** kvp_log_limit_after() - the limit of buffered blocks, once @more blocks of the log are in use */
u32 kvp_log_limit_after(struct kvp_log *log, u32 more);

/** kvp_log_window_segments() - segments of a log that can be in use at once, with any window */
static inline u32 kvp_log_window_segments(const struct kvp_geometry *g)
{
	return (u32)(kvp_log_window_most(g) / g->segment_blocks);
}

/** kvp_log_may_use() - blocks from the tail's segment on that may be used: kvp_log_narrow() */
static inline u64 kvp_log_may_use(const struct kvp_log *log)
{
	u64 window = kvp_log_window(log->vdevs->log_vdev->g), narrow = READ_ONCE(log->narrow);

	return narrow ? min(narrow, window) : window;
}

/** kvp_log_max_segments() - the largest kvp_log_window_segments() of all vdevs */
u32 kvp_log_max_segments(const struct kvp_log *log);

/**
 * kvp_log_room() - how many blocks an entry at log->head may have
 * @want: blocks that the caller would like to have
 * @budget: receives the blocks from log->head to where the log is full
 *
 * Moves log->head to the next segment if too little is left of this one. Caller holds build_lock.
 */
u32 kvp_log_room(struct kvp_log *log, u32 want, u64 *budget);

/** kvp_log_send() - seal a filled entry and write it; caller holds build_lock */
void kvp_log_send(struct kvp_log *log, struct kvp_entry_io *e);

/** kvp_log_submit() - write a sealed entry and e->joined; caller holds build_lock */
void kvp_log_submit(struct kvp_log *log, struct kvp_entry_io *e);

/* --- joined.c: two entries as one request --- */

/**
 * kvp_log_send_or_keep() - send a sealed entry, together with the kept one; or keep it for the next
 *
 * Caller holds build_lock.
 */
void kvp_log_send_or_keep(struct kvp_log *log, struct kvp_entry_io *e);

/**
 * kvp_log_send_unsent() - send the kept entry by itself, if there is one; caller holds build_lock
 */
void kvp_log_send_unsent(struct kvp_log *log);

/** kvp_log_must_go() - true if the kept entry @e must be sent now. Any context. */
bool kvp_log_must_go(struct kvp_log *log, const struct kvp_entry_io *e);

/**
 * __kvp_log_joined_ended() - @e has ended, and so has e->joined, in the same way; caller holds
 * log->lock
 */
void __kvp_log_joined_ended(struct kvp_entry_io *e);

/* --- append.c: entries that take nothing from the write buffer --- */

/** struct kvp_parity_append - a wait for an entry with parity (parity.c) */
struct kvp_parity_append {
	struct completion done;
	int error;
};

/** kvp_append_ended() - the parity of @e is durable; or, with @error, it failed. Any context. */
void kvp_append_ended(struct kvp_entry_io *e, int error);

/**
 * kvp_append_begin() - begin the free entry @e, which gets @nr records with a payload each
 * @nr: at most KVP_ENTRY_MAX_DATA
 * @limit: for parity records; else zeros
 *
 * Then call kvp_append_add() for each record, and kvp_log_send(). A caller that waits for the entry
 * sets e->append before that. Context: process; under build_lock. Cannot fail.
 */
void kvp_append_begin(struct kvp_log *log, struct kvp_entry_io *e, u32 nr,
		      struct kvp_log_at limit);

/**
 * kvp_append_add() - add the next record
 * @page: its payload. The caller owns it, and keeps it until the entry has ended
 */
void kvp_append_add(struct kvp_entry_io *e, const struct kvp_rec *r, struct page *page);

/**
 * kvp_log_has_spare() - true if the log has plenty of space left after an entry of @blocks more
 *
 * Then there is space for the writes of users and their parity, and for all buffered blocks.
 * Context: process; under build_lock.
 */
bool kvp_log_has_spare(struct kvp_log *log, u32 blocks);

/** kvp_log_is_wanted() - true if a caller waits for an entry. Any context. */
bool kvp_log_is_wanted(struct kvp_log *log);

/* --- room.c: log space that is kept for parity, of a pool that has a parity1 --- */

/** kvp_log_rows_of_vdev() - the rows whose parity a block of data makes necessary */
u32 kvp_log_rows_of_vdev(const struct kvp_log *log, const struct kvp_version *d);

/** kvp_log_rows_of() - the most rows whose parity @d makes necessary */
static inline u32 kvp_log_rows_of(const struct kvp_log *log, const struct kvp_version *d)
{
	const struct kvp_vdevs *all = log->vdevs;

	/* A discard has rows in part only at its two ends: in between it covers whole stripes. */
	if (d->hole)
		return min(d->count, 2 * all->max_chunk * all->most_reserved);
	return all->least_reserved == all->most_reserved ? all->most_reserved :
							   kvp_log_rows_of_vdev(log, d);
}

/**
 * kvp_log_leaves_room() - true if an entry of @blocks may begin where @budget is left, with room
 * for @reserved rows of its records
 */
bool kvp_log_leaves_room(struct kvp_log *log, u64 budget, u32 blocks, u32 reserved);

/** __kvp_log_reserve_rows() - @e is built: reserve rows for its versions; caller holds log->lock */
void __kvp_log_reserve_rows(struct kvp_log *log, struct kvp_entry_io *e);

/**
 * __kvp_log_unreserve_rows() - @e failed and is taken apart: it needs no rows; caller holds
 * log->lock
 */
void __kvp_log_unreserve_rows(struct kvp_log *log, struct kvp_entry_io *e);

/**
 * __kvp_log_release_rows() - the tail moves to @tail: versions before it need no rows; caller holds
 * log->lock
 */
void __kvp_log_release_rows(struct kvp_log *log, kvp_lsn_t tail);

/**
 * kvp_entry_put() - a copy of the entry has ended, or all are submitted. The last call ends the
 * entry.
 */
void kvp_entry_put(struct kvp_entry_io *e);

/**
 * kvp_entry_io_done() - kvp_io.done of each copy of an entry: note a failure, then kvp_entry_put()
 *
 * io->private is the entry, and @io is one of its @ios. Context: any, interrupts too.
 */
void kvp_entry_io_done(struct kvp_io *io);

/**
 * __kvp_collect_waiters() - move waiters whose seq is durable to @done, or to log->flush_waiters;
 * caller holds log->lock
 */
void __kvp_collect_waiters(struct kvp_log *log, struct list_head *done);

/**
 * kvp_answer() - step 6 of a flush (flush.c): call done() of all; without locks
 *
 * A waiter may be gone after its call.
 */
static inline void kvp_answer(struct list_head *waiters, int error)
{
	struct kvp_waiter *w, *next;

	list_for_each_entry_safe(w, next, waiters, list) {
		list_del(&w->list);
		w->done(w, error);
	}
}

/** kvp_commit_fail_internal() - the log has stopped: answer internal waiters with -EIO */
void kvp_commit_fail_internal(struct kvp_log *log);

/**
 * kvp_log_due() - true if an entry must be built that no caller waits for
 *
 * Some buffered versions have waited for an interval, or kvp_commit_now() was called.
 */
static inline bool kvp_log_due(const struct kvp_log *log)
{
	return READ_ONCE(log->due) || (READ_ONCE(log->due_seq) > READ_ONCE(log->built_seq) &&
				       kvp_wbuf_buffered(log->wbuf));
}

/**
 * kvp_log_due_alone() - the same, and nothing but the end of an interval asks for it
 *
 * The answer may be old at once. Context: any; takes no lock.
 */
static inline bool kvp_log_due_alone(const struct kvp_log *log)
{
	return READ_ONCE(log->due_seq) > READ_ONCE(log->built_seq) && !READ_ONCE(log->due) &&
	       list_empty(&log->waiters);
}

/**
 * kvp_log_stream_may_wait() - true if no place for an open intent is free, but one will be, and
 * nothing asks for an entry now but the number of buffered blocks, or the end of one interval
 *
 * Context: under build_lock; takes log->lock.
 */
bool kvp_log_stream_may_wait(struct kvp_log *log);

/**
 * kvp_commit_work() - build and send entries, as kvp_commit_kick() does
 *
 * kvp_interval_work() - the commit interval is over: let all that was accepted be committed
 *
 * kvp_post_work() - entries have ended: deal with their failures, and pass durable versions on
 *
 * kvp_long_flush_work() - for waiters that need more than the log: flush.c tells
 *
 * Work of the log, on log->commit_wq. None of it waits for destage or direct writes.
 */
void kvp_commit_work(struct work_struct *work);
void kvp_interval_work(struct work_struct *work);
void kvp_post_work(struct work_struct *work);
void kvp_long_flush_work(struct work_struct *work);

#endif /* KVP_LOG_INTERNAL_H */
