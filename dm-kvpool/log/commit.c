// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commit: from the write buffer into the log.
 *
 * One builder at a time takes what is buffered, in order of acceptance, into
 * an entry and sends one FUA write to every leg in use, never a PREFLUSH.
 * Several entries may be in flight. An entry counts as durable when all its
 * copies have ended, those that failed belong to legs that were given up, and
 * every entry before it is durable. Then whoever waited for its sequence
 * numbers is answered, from the completion itself when nothing else is in the
 * way, and its versions move on in post_work: data to destage, intents home.
 *
 * A FLUSH that finds intents open takes the longer way through flush_work:
 * wait until they are home, flush the legs, and commit once more, so that a
 * durable header says that they are closed.
 *
 * When no leg took an entry, everything not durable goes back into the buffer
 * in its old order, and the next attempt writes the same place again. Until an
 * attempt succeeds, FLUSH and FUA fail.
 */
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "pool/pool.h"
#include "log/log.h"
#include "io/batch.h"
#include "vdev/home.h"

/* --- taking from the buffer ------------------------------------------------ */

/* Blocks an entry would have with so many records and data blocks. */
static u32 entry_blocks(u32 records, u32 data)
{
	return kvp_log_hdr_blocks(records) + data;
}

static bool bypass_allowed(struct kvp_pool *pool, const struct kvp_dirty *d)
{
	return !d->hole && !d->follows && !d->superseded;
}

/* Length of the run of adjacent blocks that begins with @first, up to @max. */
static u32 run_length(struct kvp_pool *pool, struct kvp_dirty *first, u32 max)
{
	struct kvp_dirty *d = first;
	u32 n = 0;

	list_for_each_entry_from(d, &pool->wbuf.buffered, list) {
		if (n == max || d->block != first->block + n || !bypass_allowed(pool, d))
			break;
		n++;
	}
	return n;
}

/* The most of a run from @block on, up to @max, that ends where a request to a leg ends. */
static u32 whole_requests(u64 block, u32 max)
{
	u32 tail = (u32)(block + max) % KVP_BATCH_RUN_PAGES;

	return tail < max ? max - tail : 0;
}

/* May this entry hold intents? A pending discard could wipe a table entry made by a bypass. */
static bool intents_possible(struct kvp_pool *pool, const struct kvp_entry_io *e)
{
	lockdep_assert_held(&pool->wbuf.lock);
	return e->bypass && !READ_ONCE(pool->tunables[KVP_T_STRICT]) && !pool->wbuf.nr_holes;
}

static void take(struct kvp_pool *pool, struct kvp_entry_io *e, u32 n, bool intent)
{
	struct kvp_wbuf *w = &pool->wbuf;
	struct list_head *last = &w->buffered;
	LIST_HEAD(taken);
	u32 i;

	for (i = 0; i < n; i++) {
		struct kvp_dirty *d = list_entry(last->next, struct kvp_dirty, list);

		d->intent = intent;
		d->lsn = pool->log.head.lsn;
		e->last_seq = d->seq;
		if (!intent && !d->hole)
			e->data++;
		last = &d->list;
	}
	if (intent)
		e->intents += n;
	e->records += n;
	w->nr_buffered -= n;
	/* All at once: a stream is thousands of them. */
	list_cut_position(&taken, &w->buffered, last);
	list_splice_tail(&taken, &e->versions);
}

/* Take from the head of the buffer what fits into @cap blocks. */
static void collect(struct kvp_pool *pool, struct kvp_entry_io *e, u32 cap)
{
	struct kvp_wbuf *w = &pool->wbuf;
	u32 cutoff = min_t(u64, READ_ONCE(pool->tunables[KVP_T_SEQ_CUTOFF_WRITE]) >> KVP_BLOCK_SHIFT,
			   KVP_ENTRY_MAX_INTENTS / 2);
	bool intents;

	spin_lock(&w->lock);
	intents = intents_possible(pool, e);
	while (!list_empty(&w->buffered)) {
		struct kvp_dirty *d = list_first_entry(&w->buffered, struct kvp_dirty, list);
		u32 max = min_t(u32, KVP_ENTRY_MAX_INTENTS - e->intents,
				KVP_ENTRY_MAX_RECORDS - e->records), n = 0;

		if (intents)
			n = run_length(pool, d, max_t(u32, max, cutoff));
		/* A stream that goes on beyond this entry must not become data for that. */
		if (n >= max && n >= cutoff) {
			n = whole_requests(d->block, max);
			if (n < cutoff && e->records)
				break;
			n = n ?: max;
		}
		while (n >= cutoff && entry_blocks(e->records + n, e->data) > cap)
			n /= 2;
		if (intents && n && n >= cutoff) {
			take(pool, e, n, true);
			continue;
		}
		if (e->data == KVP_ENTRY_MAX_DATA || e->records == KVP_ENTRY_MAX_RECORDS ||
		    entry_blocks(e->records + 1, e->data + !d->hole) > cap)
			break;
		take(pool, e, 1, false);
	}
	if (list_empty(&w->buffered))
		e->last_seq = w->seq;
	spin_unlock(&w->lock);
}

/* --- building ---------------------------------------------------------------- */

static struct kvp_entry_io *free_entry(struct kvp_log *log)
{
	u32 i;

	for (i = 0; i < KVP_ENTRIES; i++)
		if (READ_ONCE(log->entries[i].phase) == KVP_ENTRY_FREE)
			return &log->entries[i];
	return NULL;
}

static struct kvp_bypass *free_bypass(struct kvp_log *log)
{
	u32 i;

	/* one stays free, so that a header can always list those before it */
	for (i = 0; i < KVP_MAX_OPEN_INTENTS - 1; i++)
		if (READ_ONCE(log->bypasses[i].phase) == KVP_BYPASS_FREE)
			return &log->bypasses[i];
	return NULL;
}

static bool all_zero(const void *page)
{
	const u64 *words = page;

	return !words[0] && !words[KVP_PTRS_PER_PAGE / 2] && !memchr_inv(page, 0, KVP_BLOCK_SIZE);
}

/* The version is fixed from here: sum it, and say in one record what it is. */
static void record_version(struct kvp_pool *pool, struct kvp_dirty *d, struct kvp_rec *r)
{
	r->block = d->block;
	r->count = d->count;
	r->crc = 0;
	r->kind = KVP_REC_DISCARD;
	if (d->hole) {
		WRITE_ONCE(d->state, KVP_DIRTY_COMMITTING);
		return;
	}
	kvp_wbuf_set_state(pool, d, KVP_DIRTY_COMMITTING);
	d->zero = !d->intent && all_zero(page_address(d->page));
	if (d->zero)
		return;
	d->crc = kvp_block_sum(pool->seed, d->block, page_address(d->page));
	r->crc = d->crc;
	r->kind = d->intent ? KVP_REC_INTENT : KVP_REC_DATA;
}

/* Records into the header buffer, payload pages behind the header's. */
static void fill_entry(struct kvp_pool *pool, struct kvp_entry_io *e)
{
	struct kvp_disk_rec *recs = e->hdr_buf + KVP_LOG_HDR_SIZE;
	struct kvp_log_hdr *h = &e->hdr;
	struct kvp_dirty *d;
	u32 i = 0, page;

	h->hdr_blocks = kvp_log_hdr_blocks(e->records);
	page = h->hdr_blocks;
	e->data = 0;
	list_for_each_entry(d, &e->versions, list) {
		struct kvp_rec r;

		record_version(pool, d, &r);
		kvp_rec_encode(&r, &recs[i++]);
		if (r.kind == KVP_REC_DATA) {
			e->pages[page++] = d->page;
			e->data++;
		}
	}
	for (i = 0; i < h->hdr_blocks; i++)
		e->pages[i] = vmalloc_to_page(e->hdr_buf + i * KVP_BLOCK_SIZE);
	h->rec_count = e->records;
	h->blocks = page;
}

/* Put the entry among those in flight, and its header on paper. */
static void seal_entry(struct kvp_pool *pool, struct kvp_entry_io *e)
{
	struct kvp_log *log = &pool->log;
	struct kvp_log_hdr *h = &e->hdr;
	struct kvp_bypass *b;
	unsigned long flags;

	h->nonce = log->nonce;
	h->epoch = READ_ONCE(pool->durable_epoch);
	h->lsn = log->head.lsn;
	h->prev_lsn = log->head.prev_lsn;
	h->prev_csum = log->head.prev_csum;
	h->write_time = ktime_get_real_seconds();
	h->flags = 0;
	h->open_count = 0;

	spin_lock_irqsave(&log->lock, flags);
	h->durable = log->durable.lsn;
	list_for_each_entry(b, &log->bypass, list)
		h->open[h->open_count++] = b->mark.lsn;
	if (e->bypass) {
		e->bypass->mark = log->head;
		e->bypass->phase = KVP_BYPASS_COMMITTING;
		list_add_tail(&e->bypass->list, &log->bypass);
		log->nr_bypass++;
	}
	list_add_tail(&e->list, &log->in_flight);
	log->built_seq = e->last_seq;
	log->due = false;
	log->data_blocks += e->data;
	log->intent_blocks += e->intents;
	log->intents_since += e->intents;
	spin_unlock_irqrestore(&log->lock, flags);

	kvp_log_seal(e->hdr_buf, h, pool->sb->nonce);
	log->head.prev_lsn = h->lsn;
	log->head.prev_csum = h->csum;
	log->head.lsn = h->lsn + h->blocks;
}

static void entry_io_done(struct kvp_io *io);
static void entry_put(struct kvp_entry_io *e);

static void submit_entry(struct kvp_pool *pool, struct kvp_entry_io *e)
{
	u64 block = pool->g->log_start + kvp_log_pos(pool->g, e->hdr.lsn);
	u32 i;

	e->sent = 0;
	e->failed = 0;
	atomic_set(&e->pending, 1);
	for (i = 0; i < pool->nr_legs; i++) {
		struct kvp_io *io = &e->ios[i];

		if (!kvp_leg_usable(&pool->legs[i]))
			continue;
		memset(io, 0, sizeof(*io));
		io->leg = &pool->legs[i];
		io->op = KVP_IO_WRITE_FUA;
		io->block = block;
		io->nr = e->hdr.blocks;
		io->pages = e->pages;
		io->done = entry_io_done;
		io->private = e;
		__set_bit(i, &e->sent);
		atomic_inc(&e->pending);
	}
	for (i = 0; i < pool->nr_legs; i++)
		if (test_bit(i, &e->sent))
			kvp_io_submit(&e->ios[i]);
	entry_put(e);
}

/*
 * Blocks that an entry at log->head may have; moves to the next segment when
 * few are left. Not after a failure: an entry that no leg is known to have
 * taken may be on one all the same, and what follows it must overwrite it, or
 * recovery would take it for the successor.
 */
static u32 room(struct kvp_pool *pool)
{
	struct kvp_log *log = &pool->log;
	u64 end = kvp_log_segment_end(pool->g, log->head.lsn);
	u64 limit = READ_ONCE(log->tail);
	u32 want = min_t(u32, pool->wbuf.nr_buffered, KVP_ENTRY_MAX_DATA) + 1;

	limit = limit - limit % pool->g->segment_blocks + kvp_log_blocks(pool->g);
	if (log->redo >= log->head.lsn) {
		log->head.lsn = log->redo;
		end = kvp_log_segment_end(pool->g, log->redo);
	} else if (end - log->head.lsn < min_t(u32, want, 32)) {
		log->head.lsn = end;
		end += pool->g->segment_blocks;
	}
	if (end > limit)
		return 0;
	return min_t(u64, end - log->head.lsn, KVP_MAX_ENTRY_BLOCKS);
}

/* Build and send one entry. False: not now (nothing free, no space in the log). */
static bool build_entry(struct kvp_pool *pool)
{
	struct kvp_log *log = &pool->log;
	struct kvp_entry_io *e = free_entry(log);
	u32 cap;

	lockdep_assert_held(&log->build_lock);
	if (!e)
		return false;
	cap = room(pool);
	WRITE_ONCE(log->full, !cap);
	if (!cap) {
		kvp_destage_kick(pool, true);
		return false;
	}
	e->phase = KVP_ENTRY_WRITING;
	e->data = 0;
	e->intents = 0;
	e->records = 0;
	e->last_seq = log->built_seq;
	e->bypass = free_bypass(log);
	collect(pool, e, cap);
	if (!e->intents)
		e->bypass = NULL;
	fill_entry(pool, e);
	seal_entry(pool, e);
	kvp_trace_commit(pool, e->hdr.lsn, e->data, e->intents);
	submit_entry(pool, e);
	return true;
}

/* Blocks that may gather before they are committed without being asked for. */
static u32 commit_batch(struct kvp_pool *pool)
{
	return pool->wbuf.limit / 4;
}

static bool build_wanted(struct kvp_pool *pool)
{
	struct kvp_log *log = &pool->log;
	struct kvp_waiter *w;
	unsigned long flags;
	bool wanted;

	if (kvp_pool_faulted(pool) || READ_ONCE(log->stopped))
		return false;
	spin_lock_irqsave(&log->lock, flags);
	w = list_empty(&log->waiters) ? NULL :
		list_last_entry(&log->waiters, struct kvp_waiter, list);
	/* Flushes that arrive while a commit is in flight share the next one. */
	wanted = list_empty(&log->in_flight) && (log->due || (w && w->seq > log->built_seq));
	/* After a failure one entry at a time, and only when somebody asks. */
	if (!log->failed)
		wanted |= READ_ONCE(pool->wbuf.nr_buffered) >= commit_batch(pool);
	spin_unlock_irqrestore(&log->lock, flags);
	return wanted;
}

static void arm_interval(struct kvp_pool *pool)
{
	struct kvp_log *log = &pool->log;

	if (READ_ONCE(pool->wbuf.nr_buffered) && !READ_ONCE(log->stopped) && !test_bit(0, &log->armed) &&
	    !test_and_set_bit(0, &log->armed))
		queue_delayed_work(pool->commit_wq, &log->interval_work,
				   msecs_to_jiffies(READ_ONCE(pool->tunables[KVP_T_COMMIT_INTERVAL_MS])));
}

void kvp_commit_now(struct kvp_pool *pool)
{
	struct kvp_log *log = &pool->log;
	unsigned long flags;

	spin_lock_irqsave(&log->lock, flags);
	log->due = READ_ONCE(pool->wbuf.nr_buffered);
	spin_unlock_irqrestore(&log->lock, flags);
}

static void interval_work(struct work_struct *work)
{
	struct kvp_log *log = container_of(to_delayed_work(work), struct kvp_log, interval_work);
	struct kvp_pool *pool = container_of(log, struct kvp_pool, log);

	clear_bit(0, &log->armed);
	kvp_commit_now(pool);
	kvp_commit_kick(pool, true);
}

void kvp_commit_kick(struct kvp_pool *pool, bool may_build)
{
	struct kvp_log *log = &pool->log;

	arm_interval(pool);
	while (build_wanted(pool)) {
		bool built;

		if (!may_build) {
			queue_work(pool->commit_wq, &log->commit_work);
			return;
		}
		/* Whoever holds the lock looks again after giving it back. */
		if (!mutex_trylock(&log->build_lock))
			return;
		built = build_wanted(pool) && build_entry(pool);
		mutex_unlock(&log->build_lock);
		if (!built && (READ_ONCE(log->full) || !free_entry(log)))
			return;	/* whoever frees one kicks again */
	}
}

static void commit_work(struct work_struct *work)
{
	struct kvp_log *log = container_of(work, struct kvp_log, commit_work);

	kvp_commit_kick(container_of(log, struct kvp_pool, log), true);
}

/* --- completion ----------------------------------------------------------------- */

/* Is anything between this waiter and its answer but the log? */
static bool needs_flush(struct kvp_pool *pool, const struct kvp_waiter *w)
{
	lockdep_assert_held(&pool->log.lock);
	return kvp_members_dirty(pool) ||
	       (!w->flushed && (!list_empty(&pool->log.bypass) ||
				!kvp_table_poison_settled(&pool->table, w->poisonings)));
}

/* Sort out waiters whose seq is durable: to @done, or to the longer way. */
static void __collect_waiters(struct kvp_pool *pool, struct list_head *done)
{
	struct kvp_log *log = &pool->log;
	struct kvp_waiter *w, *next;

	lockdep_assert_held(&log->lock);
	list_for_each_entry_safe(w, next, &log->waiters, list) {
		if (w->seq > log->durable_seq)
			break;
		w->poisonings = READ_ONCE(pool->table.poisonings);
		if (needs_flush(pool, w)) {
			w->lsn = log->durable.lsn;
			list_move_tail(&w->list, &log->flush_waiters);
			queue_work(pool->commit_wq, &log->flush_work);
		} else {
			list_move_tail(&w->list, done);
		}
	}
}

static void answer(struct list_head *waiters, int error)
{
	struct kvp_waiter *w, *next;

	list_for_each_entry_safe(w, next, waiters, list) {
		list_del(&w->list);
		w->done(w, error);
	}
}

static bool entry_durable(const struct kvp_entry_io *e)
{
	return e->phase == KVP_ENTRY_ENDED && e->sent && !e->failed;
}

/* Entries at the head of the queue that have ended well are durable. */
static bool __advance(struct kvp_pool *pool)
{
	struct kvp_log *log = &pool->log;
	struct kvp_entry_io *e, *next;
	bool moved = false;

	lockdep_assert_held(&log->lock);
	list_for_each_entry_safe(e, next, &log->in_flight, list) {
		if (!entry_durable(e))
			break;
		list_move_tail(&e->list, &log->finished);
		log->durable.lsn = e->hdr.lsn + e->hdr.blocks;
		log->durable.prev_lsn = e->hdr.lsn;
		log->durable.prev_csum = e->hdr.csum;
		log->durable_seq = e->last_seq;
		log->commits++;
		log->failed = false;
		moved = true;
	}
	return moved;
}

static void entry_ended(struct kvp_pool *pool, struct kvp_entry_io *e)
{
	struct kvp_log *log = &pool->log;
	unsigned long flags;
	LIST_HEAD(done);

	spin_lock_irqsave(&log->lock, flags);
	e->phase = KVP_ENTRY_ENDED;
	if (__advance(pool))
		__collect_waiters(pool, &done);
	spin_unlock_irqrestore(&log->lock, flags);
	/* Before the answer: whoever hears it may look for what post_work does. */
	queue_work(pool->commit_wq, &log->post_work);
	answer(&done, 0);
}

static void entry_put(struct kvp_entry_io *e)
{
	if (atomic_dec_and_test(&e->pending))
		entry_ended(e->pool, e);
}

static void entry_io_done(struct kvp_io *io)
{
	struct kvp_entry_io *e = io->private;

	if (io->error) {
		atomic64_inc(&io->leg->err_write);
		set_bit(io->leg->index, &e->failed);
	}
	entry_put(e);
}

/*
 * Legs that did not take a copy are given up before the entry counts, unless
 * no leg took it. True when the entry at the head of the queue can now count.
 */
static bool give_up_failed(struct kvp_pool *pool, struct kvp_entry_io *e)
{
	u32 i;

	if (!e->sent || e->failed == e->sent)
		return false;
	for (i = 0; i < pool->nr_legs; i++) {
		if (!test_bit(i, &e->failed))
			continue;
		/* Another leg may have been lost since: then this was the last one. */
		if (kvp_leg_usable(&pool->legs[i]) &&
		    !kvp_leg_fail(&pool->legs[i], "a log write failed"))
			return false;
		clear_bit(i, &e->failed);
	}
	return true;
}

/* --- failure: back into the buffer ------------------------------------------------ */

static void unbuild_entry(struct kvp_pool *pool, struct kvp_entry_io *e, struct list_head *back)
{
	struct kvp_log *log = &pool->log;
	struct kvp_dirty *d;
	unsigned long flags;

	list_for_each_entry(d, &e->versions, list) {
		d->intent = false;
		d->zero = false;
		if (d->hole)
			WRITE_ONCE(d->state, KVP_DIRTY_BUFFERED);
		else
			kvp_wbuf_set_state(pool, d, KVP_DIRTY_BUFFERED);
	}
	list_splice_tail_init(&e->versions, back);
	spin_lock_irqsave(&log->lock, flags);
	if (e->bypass) {
		list_del(&e->bypass->list);
		log->nr_bypass--;
		e->bypass->phase = KVP_BYPASS_FREE;
	}
	list_del(&e->list);
	WRITE_ONCE(e->phase, KVP_ENTRY_FREE);
	spin_unlock_irqrestore(&log->lock, flags);
}

/* All that was in flight has ended and the first of it on no leg: start over behind what is durable. */
static void rewind_log(struct kvp_pool *pool)
{
	struct kvp_log *log = &pool->log;
	struct kvp_wbuf *w = &pool->wbuf;
	struct kvp_entry_io *e, *next;
	struct kvp_dirty *d;
	unsigned long flags;
	LIST_HEAD(back);
	LIST_HEAD(waiters);
	u32 n = 0;

	log->redo = list_first_entry(&log->in_flight, struct kvp_entry_io, list)->hdr.lsn;
	list_for_each_entry_safe(e, next, &log->in_flight, list)
		unbuild_entry(pool, e, &back);
	list_for_each_entry(d, &back, list)
		n++;
	spin_lock(&w->lock);
	list_splice(&back, &w->buffered);
	w->nr_buffered += n;
	spin_unlock(&w->lock);

	spin_lock_irqsave(&log->lock, flags);
	log->head = log->durable;
	log->built_seq = log->durable_seq;
	log->failed = true;
	log->due = false;
	if (!READ_ONCE(pool->tunables[KVP_T_FAILMODE]))
		list_splice_init(&log->waiters, &waiters);
	spin_unlock_irqrestore(&log->lock, flags);
	kvp_event(pool, "commit_failed why=no leg took the log entry");
	answer(&waiters, -EIO);
	/* With failmode=wait, whoever waits goes on waiting, for 'clear'. */
	if (READ_ONCE(pool->tunables[KVP_T_FAILMODE]))
		kvp_pool_fault(pool, "no leg took the log entry");
	kvp_pool_space(pool);
}

static bool all_ended(struct kvp_log *log)
{
	struct kvp_entry_io *e;

	list_for_each_entry(e, &log->in_flight, list)
		if (e->phase != KVP_ENTRY_ENDED)
			return false;
	return true;
}

/* Deal with ended entries that did not end well. */
static void settle_failures(struct kvp_pool *pool)
{
	struct kvp_log *log = &pool->log;
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

	/* The builder appends to the queue and moves the head: keep it out. */
	mutex_lock(&log->build_lock);
	for (;;) {
		spin_lock_irqsave(&log->lock, flags);
		e = list_first_entry_or_null(&log->in_flight, struct kvp_entry_io, list);
		if (e && entry_durable(e)) {
			__advance(pool);
			__collect_waiters(pool, &done);
			spin_unlock_irqrestore(&log->lock, flags);
			answer(&done, 0);
			continue;
		}
		rewind = e && all_ended(log);
		if (!e || e->phase != KVP_ENTRY_ENDED)
			e = NULL;
		spin_unlock_irqrestore(&log->lock, flags);
		if (e && give_up_failed(pool, e))
			continue;
		break;
	}
	if (e && rewind)
		rewind_log(pool);
	mutex_unlock(&log->build_lock);
}

/* --- moving on ----------------------------------------------------------------------- */

static void bypass_ready(struct kvp_pool *pool, struct kvp_entry_io *e)
{
	struct kvp_log *log = &pool->log;
	bool all = e->intents == e->records;
	struct kvp_dirty *d, *next;
	unsigned long flags;
	u32 i;

	list_for_each_entry_safe(d, next, &e->versions, list) {
		if (!d->intent)
			continue;
		kvp_wbuf_advance(d, KVP_DIRTY_HOMING);
		if (!all)
			list_move_tail(&d->list, &e->bypass->versions);
	}
	if (all)
		list_splice_tail_init(&e->versions, &e->bypass->versions);
	spin_lock_irqsave(&log->lock, flags);
	e->bypass->phase = KVP_BYPASS_READY;
	spin_unlock_irqrestore(&log->lock, flags);
	for (i = 0; i < KVP_BYPASS_WORKERS; i++)
		queue_work(pool->work_wq, &log->workers[i].work);
}

/* The entry's data is destage's from here. */
static void hand_to_destage(struct kvp_pool *pool, struct kvp_entry_io *e)
{
	struct kvp_wbuf *w = &pool->wbuf;
	struct kvp_dirty *d;
	u32 n = 0;

	list_for_each_entry(d, &e->versions, list) {
		kvp_wbuf_advance(d, KVP_DIRTY_LOGGED);
		n++;
	}
	spin_lock(&w->lock);
	list_splice_tail_init(&e->versions, &w->logged);
	w->nr_logged += n;
	pool->log.logged.lsn = e->hdr.lsn + e->hdr.blocks;
	pool->log.logged.prev_lsn = e->hdr.lsn;
	pool->log.logged.prev_csum = e->hdr.csum;
	spin_unlock(&w->lock);
}

static void post_work(struct work_struct *work)
{
	struct kvp_log *log = container_of(work, struct kvp_log, post_work);
	struct kvp_pool *pool = container_of(log, struct kvp_pool, log);
	struct kvp_entry_io *e;
	unsigned long flags;

	settle_failures(pool);
	for (;;) {
		spin_lock_irqsave(&log->lock, flags);
		e = list_first_entry_or_null(&log->finished, struct kvp_entry_io, list);
		if (e)
			list_del(&e->list);
		spin_unlock_irqrestore(&log->lock, flags);
		if (!e)
			break;
		/* The bypass first: a tail that sees the new mark must see the intents below it. */
		if (e->bypass)
			bypass_ready(pool, e);
		hand_to_destage(pool, e);
		smp_store_release(&e->phase, KVP_ENTRY_FREE);
	}
	kvp_destage_kick(pool, false);
	kvp_commit_kick(pool, true);
}

/* --- flush with intents open, or a loss not yet recorded --------------------------------- */

static int flush_intents(struct kvp_pool *pool)
{
	struct kvp_intents home;
	int ret;

	kvp_log_home_intents(pool, &home);
	ret = kvp_legs_flush(pool);
	if (!ret)
		kvp_log_close(pool, &home);
	return ret;
}

/* Waiters are answered from the head on, so they stand in order of seq. */
static void __add_waiter(struct kvp_log *log, struct kvp_waiter *w)
{
	struct kvp_waiter *before;

	lockdep_assert_held(&log->lock);
	list_for_each_entry_reverse(before, &log->waiters, list)
		if (before->seq <= w->seq)
			break;
	list_add(&w->list, &before->list);
}

/* Those that waited for the flush now wait for a header that says so. */
static void commit_closing(struct kvp_pool *pool, struct list_head *waiters)
{
	struct kvp_log *log = &pool->log;
	struct kvp_wbuf *wb = &pool->wbuf;
	struct kvp_waiter *w, *next;
	unsigned long flags;
	u64 seq;

	spin_lock(&wb->lock);
	seq = ++wb->seq;
	spin_unlock(&wb->lock);
	spin_lock_irqsave(&log->lock, flags);
	list_for_each_entry_safe(w, next, waiters, list) {
		w->seq = seq;
		w->flushed = true;
		list_del(&w->list);
		__add_waiter(log, w);
	}
	spin_unlock_irqrestore(&log->lock, flags);
	kvp_commit_kick(pool, true);
}

/*
 * Take those whose intents are home and for whom poison is durable, or that
 * wait for membership alone; true if there are intents to flush. The others
 * stay: the bypass, or the checkpoint, starts this work again. To wait here for it would not do: under memory pressure one thread
 * may have to do all work.
 */
static bool take_flush_waiters(struct kvp_pool *pool, struct list_head *waiters)
{
	struct kvp_log *log = &pool->log;
	struct kvp_log_mark home = { .lsn = ~0ull };
	struct kvp_waiter *w, *next;
	bool intents = false;

	kvp_log_floor(pool, &home);
	spin_lock_irq(&log->lock);
	list_for_each_entry_safe(w, next, &log->flush_waiters, list) {
		if (!w->flushed && w->lsn > home.lsn)
			continue;
		if (!w->flushed && !kvp_table_poison_settled(&pool->table, w->poisonings)) {
			queue_work(pool->work_wq, &pool->poison_work);
			continue;
		}
		intents |= !w->flushed;
		list_move_tail(&w->list, waiters);
	}
	spin_unlock_irq(&log->lock);
	return intents;
}

/*
 * No leg is left: nobody is kept waiting but requests under failmode=wait. The
 * pool's own waiters are answered in any case, or it could not be suspended.
 */
static void fail_waiters(struct kvp_pool *pool)
{
	struct kvp_log *log = &pool->log;
	struct kvp_waiter *w, *next;
	bool hold = kvp_pool_waits(pool);
	LIST_HEAD(failed);

	spin_lock_irq(&log->lock);
	list_splice_tail_init(&log->flush_waiters, &log->waiters);
	list_for_each_entry_safe(w, next, &log->waiters, list)
		if (!hold || w->internal)
			list_move_tail(&w->list, &failed);
	spin_unlock_irq(&log->lock);
	answer(&failed, -EIO);
}

void kvp_commit_requeue(struct kvp_pool *pool)
{
	struct kvp_log *log = &pool->log;
	struct kvp_waiter *w, *next;
	LIST_HEAD(back);

	spin_lock_irq(&log->lock);
	list_splice_tail_init(&log->flush_waiters, &log->waiters);
	list_for_each_entry_safe(w, next, &log->waiters, list)
		if (!w->internal)
			list_move_tail(&w->list, &back);
	spin_unlock_irq(&log->lock);
	answer(&back, -EAGAIN);
}

static void long_flush_work(struct work_struct *work)
{
	struct kvp_log *log = container_of(work, struct kvp_log, flush_work);
	struct kvp_pool *pool = container_of(log, struct kvp_pool, log);
	LIST_HEAD(waiters);
	bool intents;
	int ret = 0;

	if (kvp_pool_faulted(pool)) {
		fail_waiters(pool);
		return;
	}
	intents = take_flush_waiters(pool, &waiters);
	if (list_empty(&waiters))
		return;
	if (intents)
		ret = flush_intents(pool);
	if (!ret)
		ret = kvp_members_settle(pool);
	if (!ret && intents)
		commit_closing(pool, &waiters);
	else
		answer(&waiters, ret);
}

void kvp_commit_wait_async(struct kvp_pool *pool, struct kvp_waiter *w)
{
	struct kvp_log *log = &pool->log;
	unsigned long flags;
	LIST_HEAD(done);
	bool answered;

	w->flushed = false;
	spin_lock_irqsave(&log->lock, flags);
	log->flushes++;
	__add_waiter(log, w);
	__collect_waiters(pool, &done);
	answered = !list_empty(&done);
	spin_unlock_irqrestore(&log->lock, flags);
	answer(&done, 0);
	if (answered)
		return;
	if (kvp_pool_faulted(pool))
		queue_work(pool->commit_wq, &log->flush_work);
	else
		kvp_commit_kick(pool, true);
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

int kvp_commit_sync(struct kvp_pool *pool)
{
	struct sync_waiter s = { .w.done = sync_done, .w.internal = true };

	init_completion(&s.done);
	s.w.seq = kvp_wbuf_seq(pool);
	kvp_commit_wait_async(pool, &s.w);
	wait_for_completion(&s.done);
	return s.error;
}

/* --- life --------------------------------------------------------------------------------- */

static int init_entry(struct kvp_pool *pool, struct kvp_entry_io *e)
{
	e->pool = pool;
	INIT_LIST_HEAD(&e->list);
	INIT_LIST_HEAD(&e->versions);
	e->hdr_buf = vmalloc(KVP_MAX_HDR_BLOCKS << KVP_BLOCK_SHIFT);
	return e->hdr_buf ? 0 : -ENOMEM;
}

static int init_workers(struct kvp_pool *pool)
{
	u32 i;

	for (i = 0; i < KVP_BYPASS_WORKERS; i++) {
		struct kvp_bypass_worker *worker = &pool->log.workers[i];

		worker->pool = pool;
		INIT_WORK(&worker->work, kvp_bypass_work);
		worker->home = kvp_home_alloc(pool);
		if (!worker->home)
			return -ENOMEM;
	}
	return 0;
}

int kvp_log_init(struct kvp_pool *pool)
{
	struct kvp_log *log = &pool->log;
	u32 i;

	mutex_init(&log->build_lock);
	spin_lock_init(&log->lock);
	INIT_LIST_HEAD(&log->in_flight);
	INIT_LIST_HEAD(&log->finished);
	INIT_LIST_HEAD(&log->bypass);
	INIT_LIST_HEAD(&log->waiters);
	INIT_LIST_HEAD(&log->flush_waiters);
	INIT_WORK(&log->commit_work, commit_work);
	INIT_WORK(&log->post_work, post_work);
	INIT_WORK(&log->flush_work, long_flush_work);
	INIT_DELAYED_WORK(&log->interval_work, interval_work);
	for (i = 0; i < KVP_MAX_OPEN_INTENTS; i++)
		INIT_LIST_HEAD(&log->bypasses[i].versions);
	log->entries = kvcalloc(KVP_ENTRIES, sizeof(*log->entries), GFP_KERNEL);
	if (!log->entries)
		return -ENOMEM;
	for (i = 0; i < KVP_ENTRIES; i++)
		if (init_entry(pool, &log->entries[i]))
			goto fail;
	if (!init_workers(pool))
		return 0;
fail:
	kvp_log_exit(pool);
	return -ENOMEM;
}

void kvp_log_exit(struct kvp_pool *pool)
{
	struct kvp_log *log = &pool->log;
	u32 i;

	for (i = 0; i < KVP_BYPASS_WORKERS; i++) {
		kvp_home_free(log->workers[i].home);
		log->workers[i].home = NULL;
	}
	/* A pool that lost its legs may stop with versions on their way: the buffer frees them. */
	for (i = 0; log->entries && i < KVP_MAX_OPEN_INTENTS; i++)
		list_splice_init(&log->bypasses[i].versions, &pool->wbuf.logged);
	for (i = 0; log->entries && i < KVP_ENTRIES; i++)
		if (log->entries[i].pool)
			list_splice_init(&log->entries[i].versions, &pool->wbuf.logged);
	for (i = 0; log->entries && i < KVP_ENTRIES; i++)
		vfree(log->entries[i].hdr_buf);
	kvfree(log->entries);
	log->entries = NULL;
}

void kvp_log_start(struct kvp_pool *pool, u64 nonce, const struct kvp_log_mark *head)
{
	struct kvp_log *log = &pool->log;

	log->nonce = nonce;
	log->head = *head;
	log->durable = *head;
	log->logged = *head;
	log->tail = head->lsn;
}

void kvp_log_stop(struct kvp_pool *pool)
{
	struct kvp_log *log = &pool->log;
	u32 i;

	/* From here on nothing is built, and nothing arms the timer. */
	WRITE_ONCE(log->stopped, true);
	cancel_work_sync(&log->commit_work);
	for (i = 0; i < KVP_BYPASS_WORKERS; i++)
		cancel_work_sync(&log->workers[i].work);
	flush_work(&log->post_work);
	for (i = 0; i < KVP_BYPASS_WORKERS; i++)
		cancel_work_sync(&log->workers[i].work);
	flush_work(&log->flush_work);
	cancel_delayed_work_sync(&log->interval_work);
	clear_bit(0, &log->armed);
}

void kvp_log_unstop(struct kvp_pool *pool)
{
	WRITE_ONCE(pool->log.stopped, false);
	kvp_commit_kick(pool, false);
}

bool kvp_log_idle(struct kvp_pool *pool)
{
	struct kvp_log *log = &pool->log;
	unsigned long flags;
	bool idle;

	spin_lock_irqsave(&log->lock, flags);
	idle = log->tail == log->durable.lsn && list_empty(&log->in_flight) &&
	       list_empty(&log->finished) && list_empty(&log->bypass);
	spin_unlock_irqrestore(&log->lock, flags);
	return idle && !READ_ONCE(pool->wbuf.used) && !READ_ONCE(pool->wbuf.nr_holes) &&
	       !READ_ONCE(pool->wbuf.nr_buffered) && !READ_ONCE(pool->table.nr_dirty);
}

/* --- tail and intents ------------------------------------------------------------------------ */

u64 kvp_log_used(struct kvp_pool *pool)
{
	u64 head = READ_ONCE(pool->log.head.lsn), tail = READ_ONCE(pool->log.tail);

	return head > tail ? head - tail : 0;
}

void kvp_log_floor(struct kvp_pool *pool, struct kvp_log_mark *mark)
{
	struct kvp_log *log = &pool->log;
	struct kvp_bypass *b;
	unsigned long flags;

	spin_lock_irqsave(&log->lock, flags);
	list_for_each_entry(b, &log->bypass, list) {
		if (b->phase == KVP_BYPASS_HOME)
			continue;
		if (b->mark.lsn < mark->lsn)
			*mark = b->mark;
		break;
	}
	spin_unlock_irqrestore(&log->lock, flags);
}

void kvp_log_home_intents(struct kvp_pool *pool, struct kvp_intents *home)
{
	struct kvp_log *log = &pool->log;
	unsigned long flags;
	u32 i;

	spin_lock_irqsave(&log->lock, flags);
	for (i = 0; i < KVP_MAX_OPEN_INTENTS; i++)
		home->lsn[i] = log->bypasses[i].phase == KVP_BYPASS_HOME ?
			log->bypasses[i].mark.lsn : 0;
	spin_unlock_irqrestore(&log->lock, flags);
}

void kvp_log_close(struct kvp_pool *pool, const struct kvp_intents *home)
{
	struct kvp_log *log = &pool->log;
	unsigned long flags;
	u32 i;

	spin_lock_irqsave(&log->lock, flags);
	for (i = 0; i < KVP_MAX_OPEN_INTENTS; i++) {
		struct kvp_bypass *b = &log->bypasses[i];

		/* Another flush may have closed it, and newer intents may have its place. */
		if (!home->lsn[i] || b->phase != KVP_BYPASS_HOME || b->mark.lsn != home->lsn[i])
			continue;
		list_del(&b->list);
		log->nr_bypass--;
		b->phase = KVP_BYPASS_FREE;
	}
	spin_unlock_irqrestore(&log->lock, flags);
}

void kvp_log_retire(struct kvp_pool *pool, u64 tail)
{
	struct kvp_log *log = &pool->log;
	unsigned long flags;

	spin_lock_irqsave(&log->lock, flags);
	log->tail = tail;
	log->intents_since = 0;
	spin_unlock_irqrestore(&log->lock, flags);
	kvp_commit_kick(pool, true);
}
