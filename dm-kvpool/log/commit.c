// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commit: versions go from the write buffer into the log.
 *
 * One builder at a time makes entries (build.c). Several may be in flight. An entry is durable when
 * all its copies have ended, every entry before it is durable, and each leg that failed its copy
 * was given up. Then the waiters for its sequence numbers are answered (flush.c). The completion
 * itself answers them, unless they must wait for more than the log. kvp_post_work() passes the
 * versions on: data goes to destage, intents go home.
 *
 * If too few legs took an entry, all versions that are not durable go back into the buffer in their
 * old order. The next attempt writes the same place again. Until one succeeds, FLUSH and FUA fail.
 * A log on a cache moves instead (move.h).
 *
 * The way of an entry:
 * 1. kvp_commit_kick() builds one if build_wanted() says so. If it may not sleep, commit_work does.
 * 2. kvp_log_build_entry() takes versions from the buffer, and fixes their pages (build.c).
 * 3. kvp_log_send() sends a copy to each leg that is in use (build.c), or keeps the entry for the
 *    next one (joined.c).
 * 4. kvp_entry_io_done() notes each copy that ends. After the last one, entry_ended() lets
 *    __advance() count the durable entries, and answers the waiters.
 * 5. kvp_post_work() deals with copies that failed: handle_failures() gives their legs up. If too
 *    few legs took an entry, rewind_log() puts everything back into the buffer instead.
 * 6. take_finished() waits until a leg that lacks an entry is recorded out.
 * 7. direct_ready() hands intents to the direct workers, and hand_to_destage() all other versions
 *    to destage.
 */
#include "core/cache_client.h"
#include "core/core.h"
#include "core/crowd.h"
#include "core/order_ops.h"
#include "core/vdev_ops.h"
#include "io/io.h"
#include "log/internal.h"
#include "log/log.h"
#include "log/move.h"
#include "log/spill.h"
#include "ram/wbuf.h"

#define GATHERED	(KVP_ENTRIES / 2)	/* entries whose versions move on together */

/* --- when to build ---------------------------------------------------------------- */

/* The number of buffered blocks that are committed without a request for it. */
static u32 commit_batch(const struct kvp_log *log)
{
	return max(1u, min(kvp_wbuf_limit(log->wbuf) / 4, READ_ONCE(log->batch)));
}

/*
 * True if no entry is in flight that a FLUSH must wait for. Entries of clean blocks and the kept
 * entry do not count.
 */
static bool __nothing_in_flight(struct kvp_log *log)
{
	struct kvp_entry_io *e;

	lockdep_assert_held(&log->lock);
	list_for_each_entry(e, &log->in_flight, list)
		if (!e->clean && e != READ_ONCE(log->unsent))
			return false;
	return true;
}

/* True if what is buffered must be committed for withdrawn intents (again.c). */
static bool again_wanted(const struct kvp_log *log)
{
	return READ_ONCE(log->again_seq) > READ_ONCE(log->built_seq) && !kvp_log_failed(log);
}

/*
 * True if an entry may be wanted. Most writes have no waiter and do not fill an entry: for those
 * this says no without a lock. Code that changes one of these values kicks after that.
 */
static bool could_be_wanted(struct kvp_log *log)
{
	return !list_empty(&log->waiters) || kvp_log_due(log) || again_wanted(log) ||
	       kvp_wbuf_buffered(log->wbuf) >= commit_batch(log);
}

/*
 * True if the next entry must not leave out what is buffered: a caller waits for it, or two
 * intervals are over.
 */
static bool __all_is_wanted(struct kvp_log *log)
{
	struct kvp_waiter *w;

	lockdep_assert_held(&log->lock);
	w = list_empty(&log->waiters) ? NULL :
		list_last_entry(&log->waiters, struct kvp_waiter, list);
	return (w && w->seq > log->built_seq) || log->due || again_wanted(log) ||
	       (log->overdue_seq > log->built_seq && kvp_wbuf_buffered(log->wbuf));
}

/* True if all places for open intents are taken, and the end of a direct write frees some. */
static bool __places_return(struct kvp_log *log)
{
	return log->nr_open >= KVP_MAX_OPEN_INTENTS - 1 && __kvp_log_not_home(log);
}

bool kvp_log_stream_may_wait(struct kvp_log *log)
{
	unsigned long flags;
	bool may;

	spin_lock_irqsave(&log->lock, flags);
	may = kvp_log_takes_intents(log) && __places_return(log) && !__all_is_wanted(log);
	spin_unlock_irqrestore(&log->lock, flags);
	return may;
}

bool kvp_log_stream_waits(struct kvp_log *log)
{
	unsigned long flags;
	bool waits;

	if (!READ_ONCE(log->stream_waits))
		return false;
	spin_lock_irqsave(&log->lock, flags);
	waits = __places_return(log);
	spin_unlock_irqrestore(&log->lock, flags);
	return waits;
}

static bool build_wanted(struct kvp_log *log)
{
	unsigned long flags;
	bool wanted, waits;

	if (!could_be_wanted(log))
		return false;
	if (kvp_faulted(log->failure) || READ_ONCE(log->stopped) ||
	    READ_ONCE(log->vdevs->log_moving) || READ_ONCE(log->held))
		return false;
	spin_lock_irqsave(&log->lock, flags);
	waits = READ_ONCE(log->stream_waits) && __places_return(log);
	/* FLUSHes that arrive while a commit is in flight share the next one. */
	wanted = __nothing_in_flight(log) &&
		 (__all_is_wanted(log) || (kvp_log_due(log) && !waits));
	/* After a failure, one entry is built at a time, and only for a waiter or the timer. */
	if (!kvp_log_failed(log) && !waits)
		wanted |= kvp_wbuf_buffered(log->wbuf) >= commit_batch(log);
	spin_unlock_irqrestore(&log->lock, flags);
	return wanted;
}

/*
 * Arm the timer of the interval. The lock makes sure that no timer is armed after kvp_log_stop()
 * has cancelled it.
 */
static void arm_interval(struct kvp_log *log)
{
	unsigned long flags;
	u64 ms;

	if (!kvp_wbuf_buffered(log->wbuf) || READ_ONCE(log->stopped) || test_bit(0, &log->armed))
		return;
	ms = READ_ONCE(log->tunables[KVP_T_COMMIT_INTERVAL_MS]);
	spin_lock_irqsave(&log->lock, flags);
	if (!READ_ONCE(log->stopped) && !test_and_set_bit(0, &log->armed))
		queue_delayed_work(log->commit_wq, &log->interval_work, msecs_to_jiffies(ms));
	spin_unlock_irqrestore(&log->lock, flags);
}

void kvp_commit_now(struct kvp_log *log)
{
	unsigned long flags;

	spin_lock_irqsave(&log->lock, flags);
	WRITE_ONCE(log->due, kvp_wbuf_buffered(log->wbuf));
	spin_unlock_irqrestore(&log->lock, flags);
}

/*
 * The interval is over. All that was accepted until now must become durable, though it may take
 * several entries. A later interval may add to it.
 */
static void commit_all_accepted(struct kvp_log *log)
{
	unsigned long flags;
	u64 seq;

	/* Numbers that no version has must not make a later write due. */
	if (!kvp_wbuf_buffered(log->wbuf))
		return;
	seq = kvp_wbuf_seq(log->wbuf);
	spin_lock_irqsave(&log->lock, flags);
	WRITE_ONCE(log->overdue_seq, log->due_seq);
	WRITE_ONCE(log->due_seq, max(log->due_seq, seq));
	spin_unlock_irqrestore(&log->lock, flags);
}

void kvp_interval_work(struct work_struct *work)
{
	struct kvp_log *log = container_of(to_delayed_work(work), struct kvp_log, interval_work);

	clear_bit(0, &log->armed);
	commit_all_accepted(log);
	kvp_commit_kick(log, true);
}

/* True if an entry is kept that must be sent now. */
static bool unsent_must_go(struct kvp_log *log)
{
	const struct kvp_entry_io *e = READ_ONCE(log->unsent);

	return e && kvp_log_must_go(log, e);
}

/* Step 1. The caller itself builds if it may sleep. Otherwise commit_work does. */
void kvp_commit_kick(struct kvp_log *log, bool may_build)
{
	arm_interval(log);
	while (build_wanted(log) || unsent_must_go(log)) {
		bool built;

		if (!may_build) {
			queue_work(log->commit_wq, &log->commit_work);
			return;
		}
		/*
		 * The holder of the lock looks again after it has released it. This caller's
		 * changes are visible to the holder before this caller finds the lock taken.
		 */
		smp_mb();
		if (!mutex_trylock(&log->build_lock))
			return;
		built = build_wanted(log) && kvp_log_build_entry(log);
		if (unsent_must_go(log))
			kvp_log_send_unsent(log);
		mutex_unlock(&log->build_lock);
		smp_mb();	/* pairs with the barrier above */
		/* Writes may wait for buffered blocks to be committed. */
		if (built)
			log->client->space(log->of);
		if (!built && (READ_ONCE(log->full) || !kvp_log_free_entry(log)))
			return;	/* the end of an entry in flight kicks again */
	}
}

void kvp_commit_written(struct kvp_log *log)
{
	if (kvp_log_due_alone(log) && kvp_wbuf_buffered(log->wbuf) < commit_batch(log))
		arm_interval(log);
	else
		kvp_commit_kick(log, true);
}

void kvp_log_unlock_build(struct kvp_log *log)
{
	mutex_unlock(&log->build_lock);
	smp_mb();	/* pairs with the barrier in kvp_commit_kick() */
	kvp_commit_kick(log, true);
}

void kvp_commit_work(struct work_struct *work)
{
	struct kvp_log *log = container_of(work, struct kvp_log, commit_work);

	kvp_commit_kick(log, true);
}

/* --- completion ----------------------------------------------------------------- */

static bool entry_durable(const struct kvp_entry_io *e)
{
	return e->phase == KVP_ENTRY_ENDED && !e->failed &&
	       hweight_long(e->sent & ~e->extra) >= e->needed;
}

/* Count entries at the head of the queue as durable if they have ended well. */
static bool __advance(struct kvp_log *log)
{
	struct kvp_entry_io *e, *next;
	bool moved = false;

	lockdep_assert_held(&log->lock);
	list_for_each_entry_safe(e, next, &log->in_flight, list) {
		if (!entry_durable(e))
			break;
		list_move_tail(&e->list, &log->finished);
		log->durable.lsn = kvp_lsn_add(e->hdr.lsn, e->hdr.blocks);
		log->durable.prev_lsn = e->hdr.lsn;
		log->durable.prev_csum = e->hdr.csum;
		log->durable.intents += e->intents;
		log->durable_seq = e->last_seq;
		log->commits++;
		if (e->append)
			kvp_append_ended(e, 0);
		if (kvp_log_failed(log)) {
			log->client->resumed(log->of);
			kvp_fail_ended(log->failure, KVP_FAIL_COMMIT);
		}
		moved = true;
	}
	return moved;
}

/* True if no caller waits, or will soon wait, for space that becomes free when versions move on. */
static bool __no_space_waiter(struct kvp_log *log)
{
	const struct kvp_wbuf *w = log->wbuf;

	lockdep_assert_held(&log->lock);
	return list_empty(&log->waiters) && list_empty(&log->flush_waiters) && !kvp_log_due(log) &&
	       !READ_ONCE(log->full) &&
	       !READ_ONCE(log->vdevs->log_moving) && !READ_ONCE(log->stopped) &&
	       !kvp_cache_clean_waits(log->vdevs) &&
	       !kvp_wbuf_scarce(w) && !kvp_wbuf_nr_holes(w) &&
	       kvp_wbuf_used(w) <= kvp_wbuf_limit(w) / 4 * 3;
}

/*
 * True if durable versions may move on together with those of the next entries. After a commit of a
 * single block, waking a worker costs more than its work. False while more is in flight, since the
 * builder may want a free entry. False also if there are intents, parity or clean blocks among
 * them, since other code waits for those.
 */
static bool __may_gather(struct kvp_log *log)
{
	const struct kvp_entry_io *e;
	u32 n = 0;

	lockdep_assert_held(&log->lock);
	list_for_each_entry(e, &log->finished, list)
		if (++n == GATHERED || e->direct || e->clean || e->append)
			return false;
	return list_empty(&log->in_flight) && !READ_ONCE(log->unsent) && __no_space_waiter(log);
}

/* Step 4, for the last copy: count the durable entries, and answer their waiters. */
static void entry_ended(struct kvp_log *log, struct kvp_entry_io *e)
{
	unsigned long flags;
	LIST_HEAD(done);

	spin_lock_irqsave(&log->lock, flags);
	e->phase = KVP_ENTRY_ENDED;
	if (e->joined)
		__kvp_log_joined_ended(e);
	if (__advance(log))
		__kvp_collect_waiters(log, &done);
	/*
	 * Queue the work before the answer, since the caller may look for its effect. Queue it
	 * under the lock, so that kvp_log_stop() flushes it, and nothing is queued after a stop.
	 */
	if (__may_gather(log))
		queue_delayed_work(log->commit_wq, &log->post_work, 1);
	else
		kvp_post_kick(log);
	spin_unlock_irqrestore(&log->lock, flags);
	kvp_answer(&done, 0);
}

void kvp_entry_put(struct kvp_entry_io *e)
{
	if (atomic_dec_and_test(&e->pending))
		entry_ended(e->log, e);
}

/* Step 4. One copy has ended. */
void kvp_entry_io_done(struct kvp_io *io)
{
	struct kvp_entry_io *e = io->private;

	if (io->error) {
		kvp_leg_failed_write(io->leg);
		set_bit(io - e->ios, &e->failed);
	}
	kvp_entry_put(e);
}

/*
 * Give up the legs that did not take their part, before the entry counts. If too few legs took
 * theirs, give up none. True if the entry at the head of the queue can count now. It cannot if a
 * leg that lacks it is not recorded out: the log was lost with that leg.
 */
static bool give_up_failed(struct kvp_log *log, struct kvp_entry_io *e)
{
	u32 i;

	lockdep_assert_held(&log->build_lock);
	if (hweight_long(e->sent & ~e->extra & ~e->failed) < e->needed) {
		e->v->ops->too_few_took(e->v, e->failed);
		return false;
	}
	for (i = 0; i < e->v->nr_legs; i++) {
		struct kvp_leg *leg = &e->v->legs[i];

		if (!test_bit(i, &e->failed))
			continue;
		/* If another leg was lost meanwhile, this was the last one. */
		if (kvp_leg_takes_writes(leg) && !log->client->fail_leg(log->of, leg))
			return false;
		if (kvp_leg_keeps_log(leg))
			return false;
		clear_bit(i, &e->sent);
		clear_bit(i, &e->failed);
	}
	return true;
}

/* --- failure: back into the buffer ------------------------------------------------ */

static void unbuild_entry(struct kvp_log *log, struct kvp_entry_io *e, struct list_head *back)
{
	struct kvp_version *d;
	unsigned long flags;

	if (e->of)
		kvp_log_again_undone(e);
	list_for_each_entry(d, &e->versions, list) {
		d->intent = false;
		d->zero = false;
	}
	kvp_wbuf_unfix(log->wbuf, &e->versions);
	if (e->clean)
		kvp_cache_clean_failed(log->vdevs);
	list_splice_tail_init(&e->versions, back);
	spin_lock_irqsave(&log->lock, flags);
	if (e->direct) {
		list_del(&e->direct->list);
		log->nr_open--;
		e->direct->phase = KVP_DIRECT_FREE;
	}
	list_del(&e->list);
	__kvp_log_unreserve_rows(log, e);
	if (e->append)
		kvp_append_ended(e, -EIO);
	WRITE_ONCE(e->phase, KVP_ENTRY_FREE);
	spin_unlock_irqrestore(&log->lock, flags);
	wake_up_all(&log->entry_wait);
}

/*
 * Step 5, if too few legs took the entry. All entries in flight have ended, and the first one does
 * not count. Start over behind the last durable entry.
 */
static void rewind_log(struct kvp_log *log)
{
	struct kvp_entry_io *e, *next;
	unsigned long flags;
	LIST_HEAD(back);
	LIST_HEAD(waiters);
	bool moves = kvp_log_lost(log);

	log->redo = list_first_entry(&log->in_flight, struct kvp_entry_io, list)->hdr.lsn;
	/*
	 * A failed entry may have a successor on some leg. So a new entry must not have the sum of
	 * the failed one. The time in its header makes it differ.
	 */
	log->rewound = max_t(u64, ktime_get_real_seconds(), log->rewound) + 1;
	list_for_each_entry_safe(e, next, &log->in_flight, list)
		unbuild_entry(log, e, &back);
	kvp_wbuf_put_back(log->wbuf, &back);

	spin_lock_irqsave(&log->lock, flags);
	log->head = log->durable;
	log->built_seq = log->durable_seq;
	kvp_fail(log->failure, KVP_FAIL_COMMIT, "no leg took the log entry");
	WRITE_ONCE(log->due, false);
	WRITE_ONCE(log->due_seq, 0);
	if (!moves && !READ_ONCE(log->tunables[KVP_T_FAILMODE]))
		list_splice_init(&log->waiters, &waiters);
	spin_unlock_irqrestore(&log->lock, flags);
	if (moves)
		return;
	log->client->commit_failed(log->of);
	kvp_answer(&waiters, -EIO);
	/* With failmode=wait, waiters wait until 'clear'. */
	if (READ_ONCE(log->tunables[KVP_T_FAILMODE]))
		kvp_fail(log->failure, KVP_FAIL_LEGS, "no leg took the log entry");
	kvp_log_limit_buffered(log);
	log->client->space(log->of);
}

static bool all_ended(struct kvp_log *log)
{
	struct kvp_entry_io *e;

	list_for_each_entry(e, &log->in_flight, list)
		if (e->phase != KVP_ENTRY_ENDED)
			return false;
	return true;
}

/* Step 5. Deal with entries that ended with an error. */
static void handle_failures(struct kvp_log *log)
{
	struct kvp_entry_io *e;
	unsigned long flags;
	LIST_HEAD(done);
	bool rewind;

	spin_lock_irqsave(&log->lock, flags);
	e = list_first_entry_or_null(&log->in_flight, struct kvp_entry_io, list);
	rewind = e && e->phase == KVP_ENTRY_ENDED;
	spin_unlock_irqrestore(&log->lock, flags);
	if (!rewind)
		return;

	/* Keep builders out: they append to the queue, and move the head. */
	mutex_lock(&log->build_lock);
	kvp_log_send_unsent(log);
	for (;;) {
		spin_lock_irqsave(&log->lock, flags);
		e = list_first_entry_or_null(&log->in_flight, struct kvp_entry_io, list);
		if (e && entry_durable(e)) {
			__advance(log);
			__kvp_collect_waiters(log, &done);
			spin_unlock_irqrestore(&log->lock, flags);
			kvp_answer(&done, 0);
			continue;
		}
		rewind = e && all_ended(log);
		if (!e || e->phase != KVP_ENTRY_ENDED)
			e = NULL;
		spin_unlock_irqrestore(&log->lock, flags);
		if (e && give_up_failed(log, e))
			continue;
		break;
	}
	if (e && rewind)
		rewind_log(log);
	mutex_unlock(&log->build_lock);
}

/* --- moving on ----------------------------------------------------------------------- */

/* Step 7, for intents: direct workers write them home. */
static void direct_ready(struct kvp_log *log, struct kvp_entry_io *e)
{
	bool all = e->intents == e->records;
	struct kvp_version *d, *next;
	unsigned long flags;

	list_for_each_entry_safe(d, next, &e->versions, list) {
		if (!d->intent)
			continue;
		kvp_wbuf_advance(d, KVP_VERSION_HOMING);
		if (!all)
			list_move_tail(&d->list, &e->direct->versions);
	}
	if (all)
		list_splice_tail_init(&e->versions, &e->direct->versions);
	spin_lock_irqsave(&log->lock, flags);
	e->direct->phase = KVP_DIRECT_READY;
	spin_unlock_irqrestore(&log->lock, flags);
	kvp_direct_kick(log);
}

/* Step 7. From here on destage owns the data of the entry. */
static void hand_to_destage(struct kvp_log *log, struct kvp_entry_io *e)
{
	struct kvp_wbuf *w = log->wbuf;
	struct kvp_version *d;
	u32 n = 0;

	list_for_each_entry(d, &e->versions, list) {
		kvp_wbuf_advance(d, KVP_VERSION_LOGGED);
		n++;
	}
	kvp_wbuf_lock_lists(w);
	__kvp_wbuf_add_logged(w, &e->versions, n);
	log->logged.lsn = kvp_lsn_add(e->hdr.lsn, e->hdr.blocks);
	log->logged.prev_lsn = e->hdr.lsn;
	log->logged.prev_csum = e->hdr.csum;
	log->logged.intents += e->intents;
	if (!e->clean)
		WRITE_ONCE(log->counts, log->logged.lsn);
	__kvp_log_milestone(log);
	kvp_wbuf_unlock_lists(w);
}

/*
 * True if no leg that lacks an entry still counts as in sync. Such a leg must be recorded out
 * before any version of the entry goes home. Otherwise a start might take the log of that leg for
 * complete, while other legs have the entry's versions at home (R1). The homes may be on other
 * legs: those of an SSD always are, and with several vdevs or a parity1 some are. Only in a pool of
 * one mirror a leg that lacks the entry also lacks its versions at home. False: no superblock that
 * records the loss became durable. The pool is faulted then, and its entries stay until `clear` has
 * written one.
 */
static bool settle_losses(struct kvp_log *log)
{
	bool alone = log->vdevs->nr <= log->vdevs->order->alone;

	return alone || !log->client->settle(log->of);
}

/*
 * Step 6. Take the first durable entry: its versions may go home now. NULL: there is none. Only
 * kvp_post_work() takes entries.
 */
static struct kvp_entry_io *take_finished(struct kvp_log *log)
{
	struct kvp_entry_io *e;
	unsigned long flags;

	spin_lock_irqsave(&log->lock, flags);
	e = list_first_entry_or_null(&log->finished, struct kvp_entry_io, list);
	spin_unlock_irqrestore(&log->lock, flags);
	if (!e || !settle_losses(log))
		return NULL;
	spin_lock_irqsave(&log->lock, flags);
	list_del(&e->list);
	spin_unlock_irqrestore(&log->lock, flags);
	return e;
}

/*
 * Step 6, in a faulted pool: durable entries stay as long as a loss cannot be recorded. Clean
 * blocks do not wait for that: a suspend waits for them. They were never admitted, then. Their
 * entry stays, and passes on nothing.
 */
static void drop_clean(struct kvp_log *log)
{
	struct kvp_entry_io *e;
	unsigned long flags;
	bool any = false;

	spin_lock_irqsave(&log->lock, flags);
	list_for_each_entry(e, &log->finished, list) {
		any |= e->clean && !e->dropped;
		e->dropped = e->clean;
	}
	spin_unlock_irqrestore(&log->lock, flags);
	if (!any)
		return;
	kvp_cache_clean_failed(log->vdevs);
	wake_up_all(&log->entry_wait);
}

void kvp_post_work(struct work_struct *work)
{
	struct kvp_log *log = container_of(to_delayed_work(work), struct kvp_log, post_work);
	struct kvp_entry_io *e;

	handle_failures(log);
	while ((e = take_finished(log))) {
		/*
		 * Intents move on first: code that sees the new log->logged must also see the
		 * intents below it.
		 */
		if (e->direct)
			direct_ready(log, e);
		/*
		 * Clean blocks enter the index now. The tail cannot pass them yet, so the log
		 * cannot overwrite them.
		 */
		if (e->clean && !e->dropped)
			kvp_cache_clean_durable(log->vdevs, e);
		hand_to_destage(log, e);
		if (e->of)
			kvp_log_again_durable(e);
		smp_store_release(&e->phase, KVP_ENTRY_FREE);
		wake_up_all(&log->entry_wait);
	}
	if (kvp_faulted(log->failure))
		drop_clean(log);
	kvp_log_again(log);
	if (kvp_spill(log))
		kvp_post_kick(log);
	log->client->destage(log->of, false);
	kvp_log_move_kick(log);
	if (kvp_log_due_alone(log))
		kvp_give_turn();
	kvp_commit_kick(log, true);
	kvp_cache_moved_on(log->vdevs);
}
