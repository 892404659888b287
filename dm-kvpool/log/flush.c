// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waiters for durability: FLUSH, FUA, and the pool itself.
 *
 * A FLUSH that finds intents open takes a longer way, through flush_work. It waits until their
 * blocks are home, flushes the legs, and commits once more, so that a durable header calls the
 * intents closed. A FLUSH also goes that way if the loss of a leg is not yet recorded, or poison is
 * not yet durable.
 *
 * The way of a waiter:
 * 1. kvp_commit_wait_async() puts it among log->waiters, by the seq that it waits for.
 * 2. After each entry, __kvp_collect_waiters() looks whether its seq is durable. Then it is
 *    answered, or it moves to log->flush_waiters, if needs_flush().
 * 3. kvp_long_flush_work() takes it from there. flush_intents() flushes the legs.
 * 4. kvp_members_settle() records the loss of a leg.
 * 5. If there were intents, commit_closing() lets it wait once more, for an entry that calls them
 *    closed.
 * 6. kvp_answer() ends it. In a faulted pool fail_waiters() ends it, by failmode. So it does if
 *    step 3 or 4 fails, which makes the pool faulted (give_back()).
 */
#include "core/core.h"
#include "log/internal.h"
#include "log/log.h"
#include "ram/wbuf.h"
#include "table/table.h"

/* True if this waiter must wait for more than the log. */
static bool needs_flush(struct kvp_log *log, const struct kvp_waiter *w)
{
	lockdep_assert_held(&log->lock);
	return kvp_losses_dirty(log->losses) ||
	       (!w->flushed && (!list_empty(&log->open) ||
				!kvp_table_poison_durable(log->table, w->poisonings)));
}

/* Step 2. If the seq of a waiter is durable, move it to @done, or to log->flush_waiters. */
void __kvp_collect_waiters(struct kvp_log *log, struct list_head *done)
{
	struct kvp_waiter *w, *next;

	lockdep_assert_held(&log->lock);
	/*
	 * The log in which entries were durable may be lost. What they held counts as durable again
	 * when the log has moved.
	 */
	if (READ_ONCE(log->vdevs->log_moving))
		return;
	list_for_each_entry_safe(w, next, &log->waiters, list) {
		if (w->seq > log->durable_seq)
			break;
		if (!w->flushed) {
			w->poisonings = kvp_table_poisonings(log->table);
			w->lsn = log->durable.lsn;
		}
		if (needs_flush(log, w)) {
			list_move_tail(&w->list, &log->flush_waiters);
			queue_work(log->commit_wq, &log->flush_work);
		} else {
			list_move_tail(&w->list, done);
		}
	}
}

/* --- flush with intents open, or a loss not yet recorded --------------------------------- */

/*
 * Step 3. A leg that the flush gives up is recorded out before headers call the intents closed: see
 * kvp_log_close_some().
 */
static int flush_intents(struct kvp_log *log)
{
	struct kvp_intents home;
	int ret;

	kvp_log_home_intents(log, &home);
	ret = log->client->flush(log->of) ?: log->client->settle(log->of);
	if (!ret)
		kvp_log_close(log, &home);
	return ret;
}

/* Add a waiter in order of seq, since waiters are answered from the head on. */
static void __add_waiter(struct kvp_log *log, struct kvp_waiter *w)
{
	struct kvp_waiter *before;

	lockdep_assert_held(&log->lock);
	list_for_each_entry_reverse(before, &log->waiters, list)
		if (before->seq <= w->seq)
			break;
	list_add(&w->list, &before->list);
}

/* Step 5. The flushed waiters now wait for a header that calls the intents closed. */
static void commit_closing(struct kvp_log *log, struct list_head *waiters)
{
	u64 seq = kvp_wbuf_take_seq(log->wbuf);
	struct kvp_waiter *w, *next;
	unsigned long flags;
	LIST_HEAD(done);

	spin_lock_irqsave(&log->lock, flags);
	list_for_each_entry_safe(w, next, waiters, list) {
		w->seq = seq;
		w->flushed = true;
		list_del(&w->list);
		__add_waiter(log, w);
	}
	/*
	 * An entry that was built since the seq was taken may have it, and may be durable by now.
	 */
	__kvp_collect_waiters(log, &done);
	spin_unlock_irqrestore(&log->lock, flags);
	kvp_answer(&done, 0);
	kvp_commit_kick(log, true);
}

/*
 * Take waiters that need no more than a flush: their intents are home, and their poison is durable.
 * Take those, too, that wait only for a loss to be recorded. True if there are intents to flush.
 * The others stay on the list. They wait for a direct write, or for a checkpoint, which queues this
 * work again when it ends. This work must not wait for it here: under memory pressure one thread
 * may have to do all work.
 */
static bool take_flush_waiters(struct kvp_log *log, struct list_head *waiters)
{
	struct kvp_waiter *w, *next;
	const struct kvp_direct *b;
	bool intents = false;
	kvp_lsn_t home;

	spin_lock_irq(&log->lock);
	/*
	 * The lock is held throughout. Otherwise a waiter that joins the list in between might wait
	 * for intents that @home does not count.
	 */
	b = __kvp_log_not_home(log);
	home = b ? b->mark.lsn : KVP_LSN_MAX;
	list_for_each_entry_safe(w, next, &log->flush_waiters, list) {
		if (!w->flushed && kvp_lsn_before(home, w->lsn))
			continue;
		if (!w->flushed && !kvp_table_poison_durable(log->table, w->poisonings)) {
			log->client->poison(log->of);
			continue;
		}
		intents |= !w->flushed;
		list_move_tail(&w->list, waiters);
	}
	spin_unlock_irq(&log->lock);
	return intents;
}

/* Move all waiters to log->waiters. */
static void __gather_waiters(struct kvp_log *log)
{
	struct kvp_waiter *w, *next;

	lockdep_assert_held(&log->lock);
	list_for_each_entry_safe(w, next, &log->flush_waiters, list) {
		list_del(&w->list);
		__add_waiter(log, w);
	}
}

/*
 * Answer the waiters of a faulted pool. Only with failmode=wait requests go on waiting, and a
 * noflush suspend sends those back. Internal waiters are answered in any case: otherwise the pool
 * could not be suspended.
 */
static void fail_waiters(struct kvp_log *log)
{
	struct kvp_waiter *w, *next;
	bool hold = kvp_failure_waits(log->failure, READ_ONCE(log->tunables[KVP_T_FAILMODE]));
	bool requeue = READ_ONCE(log->requeue);
	LIST_HEAD(failed);
	LIST_HEAD(back);

	spin_lock_irq(&log->lock);
	__gather_waiters(log);
	list_for_each_entry_safe(w, next, &log->waiters, list)
		if (!hold || w->internal)
			list_move_tail(&w->list, &failed);
		else if (requeue)
			list_move_tail(&w->list, &back);
	spin_unlock_irq(&log->lock);
	kvp_answer(&failed, -EIO);
	kvp_answer(&back, -EAGAIN);
}

/* Answer internal waiters, or all others, with @error. */
static void answer_waiters(struct kvp_log *log, bool internal, int error)
{
	struct kvp_waiter *w, *next;
	LIST_HEAD(answered);

	spin_lock_irq(&log->lock);
	__gather_waiters(log);
	list_for_each_entry_safe(w, next, &log->waiters, list)
		if (w->internal == internal)
			list_move_tail(&w->list, &answered);
	spin_unlock_irq(&log->lock);
	kvp_answer(&answered, error);
}

void kvp_commit_fail_internal(struct kvp_log *log)
{
	answer_waiters(log, true, -EIO);
}

void kvp_commit_requeue(struct kvp_log *log)
{
	answer_waiters(log, false, -EAGAIN);
}

/*
 * Step 3 or 4 has failed for @waiters. They are no others than those that wait meanwhile: failmode
 * decides. Each such error makes the pool faulted. If it is not any more, `clear` has come in
 * between, so the legs are asked again.
 */
static void give_back(struct kvp_log *log, struct list_head *waiters)
{
	spin_lock_irq(&log->lock);
	list_splice(waiters, &log->flush_waiters);
	spin_unlock_irq(&log->lock);
	if (kvp_faulted(log->failure))
		fail_waiters(log);
	else
		kvp_flush_kick(log);
}

/* Steps 3 and 4. One worker does this for all waiters. */
void kvp_long_flush_work(struct work_struct *work)
{
	struct kvp_log *log = container_of(work, struct kvp_log, flush_work);
	LIST_HEAD(waiters);
	bool intents;
	int ret = 0;

	if (kvp_faulted(log->failure)) {
		fail_waiters(log);
		return;
	}
	if (READ_ONCE(log->vdevs->log_moving))
		return;
	intents = take_flush_waiters(log, &waiters);
	if (list_empty(&waiters))
		return;
	if (intents)
		ret = flush_intents(log);
	if (!ret)
		ret = log->client->settle(log->of);
	if (ret)
		give_back(log, &waiters);
	else if (intents)
		commit_closing(log, &waiters);
	else
		kvp_answer(&waiters, 0);
}

/* Step 1. The answer may come before this returns. */
void kvp_commit_wait_async(struct kvp_log *log, struct kvp_waiter *w)
{
	unsigned long flags;
	LIST_HEAD(done);
	bool taken, internal;

	w->flushed = false;
	spin_lock_irqsave(&log->lock, flags);
	log->flushes++;
	__add_waiter(log, w);
	__kvp_collect_waiters(log, &done);
	/*
	 * True if the waiter was answered, or is on log->flush_waiters. It may be gone once @done
	 * is answered. While the log moves, no waiter is taken. In a faulted pool that move never
	 * ends.
	 */
	taken = w->seq <= log->durable_seq && !READ_ONCE(log->vdevs->log_moving);
	internal = w->internal;
	spin_unlock_irqrestore(&log->lock, flags);
	kvp_answer(&done, 0);
	if (taken)
		return;
	if (internal && READ_ONCE(log->stopped))
		kvp_commit_fail_internal(log);
	else if (kvp_faulted(log->failure))
		queue_work(log->commit_wq, &log->flush_work);
	else
		kvp_commit_kick(log, true);
}

struct sync_waiter {
	struct kvp_waiter w;
	struct completion done;
	int error;
};

static void sync_done(struct kvp_waiter *w, int error)
{
	struct sync_waiter *s = container_of(w, struct sync_waiter, w);

	s->error = error;
	complete(&s->done);
}

int kvp_commit_sync(struct kvp_log *log)
{
	struct sync_waiter s = { .w.done = sync_done, .w.internal = true };

	init_completion(&s.done);
	s.w.seq = kvp_wbuf_seq(log->wbuf);
	kvp_commit_wait_async(log, &s.w);
	/* Slow legs take minutes for entries, flushes and superblocks: see kvp_work_wait(). */
	wait_for_completion_state(&s.done, TASK_IDLE);
	return s.error;
}
