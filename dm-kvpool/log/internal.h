/* SPDX-License-Identifier: GPL-2.0-only */
/* Between build.c, commit.c, flush.c, joined.c and log.c. */
#ifndef KVP_LOG_INTERNAL_H
#define KVP_LOG_INTERNAL_H

#include "log/log.h"

/**
 * kvp_log_free_entry() - one that is not in flight
 *
 * Return: it; NULL: there is none, or too much is in flight that no header can name as durable.
 */
struct kvp_entry_io *kvp_log_free_entry(struct kvp_log *log);

/**
 * kvp_log_build_entry() - build an entry and send it; caller holds build_lock
 *
 * Return: false: not now (nothing free, or no space in the log).
 */
bool kvp_log_build_entry(struct kvp_pool *pool);

/** __kvp_log_floor() - kvp_log_floor(); caller holds log->lock */
void __kvp_log_floor(const struct kvp_log *log, struct kvp_log_mark *mark);

/** kvp_log_limit_after() - what that would be with @more blocks in use */
u32 kvp_log_limit_after(struct kvp_pool *pool, u32 more);

/** kvp_log_window_segments() - segments of a log that can be in use at once */
static inline u32 kvp_log_window_segments(const struct kvp_geometry *g)
{
	return (u32)(kvp_log_window(g) / g->segment_blocks);
}

/** kvp_log_max_segments() - the most of them that a vdev's log has */
u32 kvp_log_max_segments(const struct kvp_pool *pool);

/** kvp_log_room() - blocks that an entry at log->head may have, after moving that on; by build_lock */
u32 kvp_log_room(struct kvp_pool *pool, u32 want, u64 *budget);

/** kvp_log_send() - seal a filled entry and write it; by build_lock */
void kvp_log_send(struct kvp_pool *pool, struct kvp_entry_io *e);

/** kvp_log_submit() - write a sealed entry, and the one that goes with it; by build_lock */
void kvp_log_submit(struct kvp_pool *pool, struct kvp_entry_io *e);

/* --- joined.c: two entries as one request --- */

/** kvp_log_send_or_keep() - send a sealed entry, with the one that was kept; or keep it for the next; by build_lock */
void kvp_log_send_or_keep(struct kvp_pool *pool, struct kvp_entry_io *e);

/** kvp_log_send_unsent() - if one is kept send it by itself; by build_lock */
void kvp_log_send_unsent(struct kvp_pool *pool);

/** kvp_log_must_go() - must @e, which is kept, be kept no longer? Any context. */
bool kvp_log_must_go(struct kvp_pool *pool, const struct kvp_entry_io *e);

/**
 * __kvp_log_joined_ended() - @e has ended: so has e->joined, in the same way; caller holds
 * log->lock
 */
void __kvp_log_joined_ended(struct kvp_entry_io *e);

/* --- append.c: entries that take nothing from the write buffer --- */

/**
 * kvp_append_begin() - make @e, which is free, an entry of @nr records with a payload each
 * @nr: at most KVP_ENTRY_MAX_DATA
 * @limit: of parity records; else zeros
 *
 * Then kvp_append_add() for each record, and kvp_log_send(). A waiter is put into the entry
 * before that. Context: process; under build_lock. Cannot fail.
 */
void kvp_append_begin(struct kvp_pool *pool, struct kvp_entry_io *e, u32 nr,
		      struct kvp_log_at limit);

/** kvp_append_add() - the next record; @page stays the caller's, and must stay until the entry has ended */
void kvp_append_add(struct kvp_entry_io *e, const struct kvp_rec *r, struct page *page);

/**
 * kvp_log_has_spare() - would the log have plenty of space left with an entry of @blocks more?
 *
 * So that none is missing for what users write, nor for the parity of what they have written, and
 * what is buffered finds space as it was promised. Context: process; under build_lock.
 */
bool kvp_log_has_spare(struct kvp_pool *pool, u32 blocks);

/** kvp_log_is_wanted() - true if a caller waits for an entry. Any context. */
bool kvp_log_is_wanted(struct kvp_pool *pool);

/* --- parity.c: log space that is kept for parity, of a pool that has a parity1 --- */

/**
 * kvp_log_most_holes() - how many discards may be pending
 *
 * The rows that they make necessary, at both ends of each, take a quarter of the log at most. The
 * rest is for writes. Context: any.
 */
u32 kvp_log_most_holes(struct kvp_pool *pool);

/** kvp_log_owed_by() - rows whose parity @d makes necessary, at most */
u32 kvp_log_owed_by(struct kvp_pool *pool, const struct kvp_version *d);

/** kvp_log_leaves_room() - may an entry of @blocks, whose records owe @owed rows, begin where @budget is left? */
bool kvp_log_leaves_room(struct kvp_pool *pool, u64 budget, u32 blocks, u32 owed);

/** __kvp_log_owe() - the entry is built: its versions owe parity; caller holds log->lock */
void __kvp_log_owe(struct kvp_pool *pool, struct kvp_entry_io *e);

/** __kvp_log_unowe() - it was unbuilt; caller holds log->lock */
void __kvp_log_unowe(struct kvp_pool *pool, struct kvp_entry_io *e);

/** __kvp_log_forgive() - the tail moves to @tail; caller holds log->lock */
void __kvp_log_forgive(struct kvp_pool *pool, u64 tail);

/** kvp_append_ended() - the entry of parity is durable, or not to be; any context */
void kvp_append_ended(struct kvp_entry_io *e, int error);

/** kvp_entry_put() - a copy of the entry has ended, or its submission has; the last one tells */
void kvp_entry_put(struct kvp_entry_io *e);
void kvp_entry_io_done(struct kvp_io *io);

/**
 * __kvp_collect_waiters() - move waiters that are durable to @done, or to the longer way; caller
 * holds log->lock
 */
void __kvp_collect_waiters(struct kvp_pool *pool, struct list_head *done);

/**
 * kvp_answer() - step 6 of a flush (flush.c): call done() of all; without locks. Waiters may be
 * gone after that.
 */
static inline void kvp_answer(struct list_head *waiters, int error)
{
	struct kvp_waiter *w, *next;

	list_for_each_entry_safe(w, next, waiters, list) {
		list_del(&w->list);
		w->done(w, error);
	}
}

/** kvp_commit_fail_internal() - the log has stopped: answer the pool's own waiters with -EIO */
void kvp_commit_fail_internal(struct kvp_pool *pool);

/* Work of the log, on pool->commit_wq. */
void kvp_commit_work(struct work_struct *work);
void kvp_interval_work(struct work_struct *work);
void kvp_post_work(struct work_struct *work);
void kvp_long_flush_work(struct work_struct *work);

#endif /* KVP_LOG_INTERNAL_H */
