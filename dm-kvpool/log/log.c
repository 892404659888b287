// SPDX-License-Identifier: GPL-2.0-only
/* The log as a whole: start and stop, tail, open intents. */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "core/core.h"
#include "core/log_mark.h"
#include "core/log_ops.h"
#include "core/vdev_ops.h"
#include "format/logstripe.h"
#include "log/internal.h"
#include "log/log.h"
#include "log/move.h"
#include "ram/wbuf.h"
#include "table/table.h"

/*
 * A flush to close intents is worth it if at least CLOSE_FROM of the KVP_MAX_OPEN_INTENTS - 1
 * places for open intents are taken, and the intents of at least CLOSE_AT_LEAST of those are home.
 */
#define CLOSE_FROM	12
#define CLOSE_AT_LEAST	6

#define FAR_APART	(1u << 15)	/* 128 MiB between milestones are enough for a large log */

/* --- life --------------------------------------------------------------------------------- */

static int init_entry(struct kvp_log *log, struct kvp_entry_io *e)
{
	u32 i;

	e->log = log;
	INIT_LIST_HEAD(&e->list);
	INIT_LIST_HEAD(&e->versions);
	e->hdr_buf = vzalloc(KVP_MAX_HDR_BLOCKS << KVP_BLOCK_SHIFT);
	if (!e->hdr_buf)
		return -ENOMEM;
	for (i = 0; i < KVP_MAX_HDR_BLOCKS; i++)
		e->hdr_pages[i] = vmalloc_to_page(e->hdr_buf + i * KVP_BLOCK_SIZE);
	return 0;
}

u32 kvp_direct_slice(const struct kvp_log *log)
{
	u32 i, blocks = 0;

	for (i = 0; i < log->vdevs->nr; i++)
		blocks += log->vdevs->v[i].ops->slice(&log->vdevs->v[i]);
	return blocks;
}

u32 kvp_log_max_segments(const struct kvp_log *log)
{
	u32 most = 0, i;

	for (i = 0; i < log->vdevs->nr; i++)
		most = max(most, kvp_log_window_segments(log->vdevs->v[i].g));
	return most;
}

static void init_direct(struct kvp_direct *b)
{
	u32 i;

	INIT_LIST_HEAD(&b->versions);
	for (i = 0; i < KVP_DIRECT_SLICES; i++)
		INIT_LIST_HEAD(&b->slices[i]);
}

int kvp_log_memory_alloc(struct kvp_log *log, struct kvp_log_memory *m)
{
	int ret;
	u32 i;

	m->reload = NULL;
	m->reserved_of = kvcalloc(kvp_log_max_segments(log), sizeof(*m->reserved_of), GFP_KERNEL);
	ret = kvp_log_rows_alloc(log, &m->rows);
	if (!m->reserved_of)
		ret = -ENOMEM;
	for (i = 0; !ret && i < log->vdevs->nr; i++)
		ret = log->vdevs->v[i].log->memory(log, m);
	if (ret)
		kvp_log_memory_free(m);
	return ret;
}

void kvp_log_memory_swap(struct kvp_log *log, struct kvp_log_memory *m)
{
	swap(log->reserved_of, m->reserved_of);
	swap(log->rows, m->rows);
	swap(log->reload, m->reload);
}

void kvp_log_memory_free(struct kvp_log_memory *m)
{
	kvfree(m->reserved_of);
	kvp_log_rows_free(m->rows);
	kvp_reload_free(m->reload);
	*m = (struct kvp_log_memory){ 0 };
}

void kvp_log_forget_cache(struct kvp_log *log)
{
	kvp_reload_free(log->reload);
	log->reload = NULL;
	kvp_log_rows_free(log->rows);
	log->rows = NULL;
}

/* Copy the members of @given. */
static void take_given(struct kvp_log *log, const struct kvp_log_given *given)
{
	log->vdevs = given->vdevs;
	log->wbuf = given->wbuf;
	log->table = given->table;
	log->tunables = given->tunables;
	log->flags = given->flags;
	log->failure = given->failure;
	log->losses = given->losses;
	log->durable_epoch = given->durable_epoch;
	log->checkpoint_lock = given->checkpoint_lock;
	log->commit_wq = given->commit_wq;
	log->work_wq = given->work_wq;
	log->client = given->client;
	log->of = given->of;
	log->seed = kvp_sum_seed(given->vdevs->sb->nonce, 0, given->vdevs->sb->incompat);
}

int kvp_log_init(struct kvp_log *log, const struct kvp_log_given *given)
{
	struct kvp_log_memory memory = { 0 };
	u32 i;

	take_given(log, given);
	mutex_init(&log->build_lock);
	spin_lock_init(&log->lock);
	init_waitqueue_head(&log->entry_wait);
	INIT_LIST_HEAD(&log->in_flight);
	INIT_LIST_HEAD(&log->finished);
	INIT_LIST_HEAD(&log->open);
	INIT_LIST_HEAD(&log->waiters);
	INIT_LIST_HEAD(&log->flush_waiters);
	INIT_WORK(&log->commit_work, kvp_commit_work);
	INIT_DELAYED_WORK(&log->post_work, kvp_post_work);
	INIT_WORK(&log->flush_work, kvp_long_flush_work);
	INIT_WORK(&log->move_work, kvp_log_move_work);
	INIT_DELAYED_WORK(&log->interval_work, kvp_interval_work);
	for (i = 0; i < KVP_MAX_OPEN_INTENTS; i++)
		init_direct(&log->directs[i]);
	if (kvp_log_memory_alloc(log, &memory))
		return -ENOMEM;
	kvp_log_memory_swap(log, &memory);
	log->entries = kvcalloc(KVP_ENTRIES, sizeof(*log->entries), GFP_KERNEL);
	if (!log->entries)
		goto fail;
	for (i = 0; i < KVP_ENTRIES; i++)
		if (init_entry(log, &log->entries[i]))
			goto fail;
	return 0;
fail:
	kvp_log_exit(log);
	return -ENOMEM;
}

void kvp_log_exit(struct kvp_log *log)
{
	struct kvp_log_memory memory = { 0 };
	u32 i;

	/*
	 * A pool that has lost its legs may stop while versions are in entries or direct writes.
	 * The buffer frees them.
	 */
	for (i = 0; log->entries && i < KVP_MAX_OPEN_INTENTS; i++) {
		kvp_direct_collect(&log->directs[i]);
		kvp_wbuf_abandon(log->wbuf, &log->directs[i].versions);
	}
	for (i = 0; log->entries && i < KVP_ENTRIES; i++)
		if (log->entries[i].log)
			kvp_wbuf_abandon(log->wbuf, &log->entries[i].versions);
	for (i = 0; log->entries && i < KVP_ENTRIES; i++)
		vfree(log->entries[i].hdr_buf);
	kvfree(log->entries);
	log->entries = NULL;
	kvp_log_memory_swap(log, &memory);
	kvp_log_memory_free(&memory);
}

void kvp_log_start(struct kvp_log *log, u64 nonce, const struct kvp_log_mark *head)
{
	log->nonce = nonce;
	log->head = *head;
	log->durable = *head;
	log->witnessed = head->lsn;
	log->logged = *head;
	log->counts = head->lsn;
	/*
	 * A recovery that has kept data in the log has noted milestones. All of that data is
	 * durable.
	 */
	log->tail = log->vdevs->sb->log_tail;
	log->tail_intents = head->intents;
	log->resolved_intents = head->intents;
	if (log->tail == head->lsn)
		log->nr_milestones = 0;
	log->built_seq = kvp_wbuf_seq(log->wbuf);
	log->durable_seq = log->built_seq;
	kvp_log_limit_buffered(log);
}

void kvp_log_begin(struct kvp_log *log)
{
	struct kvp_log_mark head = { log->vdevs->sb->log_tail, 0, 0 };

	log->redo = 0;
	log->again_seq = 0;
	log->unsent = NULL;
	kvp_fail_ended(log->failure, KVP_FAIL_COMMIT);
	WRITE_ONCE(log->vdevs->log_moving, false);
	WRITE_ONCE(log->reserved, 0);
	memset(log->reserved_of, 0, kvp_log_max_segments(log) * sizeof(*log->reserved_of));
	kvp_log_start(log, log->vdevs->sb->log_nonce, &head);
}

kvp_lsn_t kvp_log_include(struct kvp_log *log, struct kvp_leg *leg, u64 *nonce)
{
	kvp_lsn_t lsn;

	kvp_log_lock_build(log);
	WRITE_ONCE(leg->takes_log, true);
	*nonce = log->nonce;
	lsn = log->head.lsn;
	kvp_log_unlock_build(log);
	return lsn;
}

void kvp_log_stop(struct kvp_log *log)
{
	u32 i;

	/*
	 * From here on nothing is built, and no timer is armed: entry_ended() and arm_interval()
	 * decide that under the lock.
	 */
	spin_lock_irq(&log->lock);
	WRITE_ONCE(log->stopped, true);
	spin_unlock_irq(&log->lock);
	cancel_work_sync(&log->commit_work);
	kvp_work_wait(&log->move_work);
	cancel_work_sync(&log->move_work);
	for (i = 0; i < KVP_DIRECT_WORKERS; i++) {
		kvp_work_wait(&log->workers[i].work);
		cancel_work_sync(&log->workers[i].work);
	}
	flush_delayed_work(&log->post_work);
	for (i = 0; i < KVP_DIRECT_WORKERS; i++)
		cancel_work_sync(&log->workers[i].work);
	flush_work(&log->flush_work);
	cancel_delayed_work_sync(&log->interval_work);
	clear_bit(0, &log->armed);
	kvp_log_move_cancel(log);
	/*
	 * After a commit that failed, messages may still wait, and a removal would wait for them.
	 */
	kvp_commit_fail_internal(log);
}

void kvp_log_unstop(struct kvp_log *log)
{
	WRITE_ONCE(log->stopped, false);
	/*
	 * If legs had failed, kvp_log_stop() may have cancelled workers that still had intents to
	 * write home.
	 */
	kvp_direct_kick(log);
	kvp_log_move_kick(log);
	kvp_commit_kick(log, false);
}

bool kvp_log_idle(struct kvp_log *log)
{
	unsigned long flags;
	bool idle;

	spin_lock_irqsave(&log->lock, flags);
	idle = log->tail == log->durable.lsn && list_empty(&log->in_flight) &&
	       list_empty(&log->finished) && list_empty(&log->open);
	spin_unlock_irqrestore(&log->lock, flags);
	return idle && kvp_wbuf_is_empty(log->wbuf) && !kvp_table_dirty(log->table);
}

void kvp_log_figures(const struct kvp_log *log, struct kvp_log_figures *f)
{
	u32 i;

	f->lsn = READ_ONCE(log->head.lsn);
	f->commits = READ_ONCE(log->commits);
	f->flushes = READ_ONCE(log->flushes);
	f->data_blocks = READ_ONCE(log->data_blocks);
	f->intent_blocks = READ_ONCE(log->intent_blocks);
	for (i = 0; i < KVP_LOG_CAUSES; i++)
		f->ssd_blocks[i] = READ_ONCE(log->ssd_blocks[i]);
}

void kvp_log_count_ssd(struct kvp_log *log, enum kvp_log_cause cause, u64 blocks)
{
	unsigned long flags;

	spin_lock_irqsave(&log->lock, flags);
	log->ssd_blocks[cause] += blocks;
	spin_unlock_irqrestore(&log->lock, flags);
}

void kvp_direct_kick(struct kvp_log *log)
{
	bool many = log->vdevs->nr_with_data > 1 || kvp_direct_slice(log);
	u32 i, n = many ? KVP_DIRECT_WORKERS : KVP_MIRROR_WORKERS;

	for (i = 0; i < n; i++)
		queue_work(log->work_wq, &log->workers[i].work);
}

void kvp_log_faulted(struct kvp_log *log)
{
	/* A move of the log ends, too. */
	kvp_log_move_kick(log);
	if (!test_bit(KVP_POOL_RUNNING, log->flags))
		return;
	/* End the waits for legs, and for entries. */
	queue_work(log->commit_wq, &log->flush_work);
	wake_up_all(&log->entry_wait);
}

void kvp_log_recorded(struct kvp_log *log)
{
	wake_up_all(&log->entry_wait);
	kvp_commit_kick(log, false);
	if (READ_ONCE(log->withdrawn))
		kvp_post_kick(log);
}

/* --- a log on legs: all that it holds is in RAM, too, and goes home soon ------------------- */

u64 kvp_log_reserve_nothing(const struct kvp_log *log, u32 rows)
{
	return 0;
}

u32 kvp_log_usual_holes(const struct kvp_log *log)
{
	return KVP_WBUF_MAX_HOLES;
}

bool kvp_log_goes_home(const struct kvp_log *log)
{
	return false;
}

u64 kvp_log_keeps_nothing(const struct kvp_log *log)
{
	return 0;
}

bool kvp_log_never_renews(const struct kvp_log *log)
{
	return false;
}

bool kvp_log_spills_nothing(struct kvp_log *log)
{
	return false;
}

struct kvp_spilled_read *kvp_log_has_all_pages(struct kvp_log *log, kvp_block_t block, u32 count,
					       kvp_block_t *end)
{
	*end = kvp_block_add(block, count);
	return NULL;
}

/* --- tail and intents ------------------------------------------------------------------------ */

/*
 * A recovery reads the vdevs of a pool without parity side by side. So there may be
 * KVP_MANY_INTENTS for each vdev. With one limit for all together, each of several vdevs would
 * write less between two checkpoints, while a checkpoint takes each disk as long as if it were
 * alone.
 */
static u32 read_apart(const struct kvp_log *log)
{
	u32 most = min(kvp_log_ops(log->vdevs)->most_apart, (u32)KVP_MOST_APART);

	return min(log->vdevs->nr_with_data, most);
}

u64 kvp_log_most_intents(const struct kvp_log *log)
{
	return KVP_MANY_INTENTS * read_apart(log);
}

u64 kvp_log_many_intents(const struct kvp_log *log)
{
	return KVP_MANY_INTENTS * max(read_apart(log), kvp_log_ops(log->vdevs)->least_apart);
}

/* Intents behind the tail, without the first @resolved of all. Builders go on meanwhile. */
static u64 intents_behind(const struct kvp_log *log, u64 resolved)
{
	u64 done = max(READ_ONCE(log->tail_intents), resolved), all = READ_ONCE(log->head.intents);

	return all - min(all, done);
}

u64 kvp_log_intents_since(const struct kvp_log *log)
{
	return intents_behind(log, READ_ONCE(log->resolved_intents));
}

u64 kvp_log_intents_resolvable(struct kvp_log *log)
{
	struct kvp_log_mark mark;
	unsigned long flags;

	spin_lock_irqsave(&log->lock, flags);
	kvp_log_ops(log->vdevs)->resolved(log, &mark);
	spin_unlock_irqrestore(&log->lock, flags);
	return kvp_log_intents_since(log) - min(kvp_log_intents_since(log),
						intents_behind(log, mark.intents));
}

u64 kvp_log_intents_limit(const struct kvp_log *log)
{
	return 2 * kvp_log_many_intents(log);
}

bool kvp_log_takes_intents(const struct kvp_log *log)
{
	return !READ_ONCE(log->tunables[KVP_T_STRICT]) &&
	       kvp_log_intents_since(log) + KVP_ENTRY_MAX_INTENTS <= kvp_log_intents_limit(log);
}

u64 kvp_log_used(struct kvp_log *log)
{
	kvp_lsn_t head = READ_ONCE(log->head.lsn), tail = READ_ONCE(log->tail);

	return kvp_lsn_before(tail, head) ? kvp_lsn_since(head, tail) : 0;
}

bool kvp_log_counts(struct kvp_log *log)
{
	return kvp_lsn_before(READ_ONCE(log->tail), READ_ONCE(log->counts));
}

/*
 * Milestones are so far apart that the log holds at most half as many as there are places for. If
 * the window has just become larger, the log has as many again that are closer together. Two lie in
 * a step of the tail, also where blocks are renewed (kvp_renew_step()).
 */
void __kvp_log_milestone(struct kvp_log *log)
{
	u64 window = kvp_log_window(log->vdevs->log_vdev->g), squeeze = READ_ONCE(log->squeeze);
	u64 step;

	kvp_wbuf_assert_locked(log->wbuf);
	/* While the log is emptied, the tail must follow in smaller steps. */
	if (squeeze)
		window = min(window, max(squeeze, kvp_log_used(log)));
	step = max(min_t(u64, window / 32, FAR_APART), window / (KVP_MILESTONES / 2));
	if (log->nr_milestones &&
	    kvp_lsn_since(log->logged.lsn,
			  log->milestones[(log->nr_milestones - 1) % KVP_MILESTONES].lsn) < step)
		return;
	log->milestones[log->nr_milestones++ % KVP_MILESTONES] = log->logged;
}

void kvp_log_durable_mark(struct kvp_log *log, struct kvp_log_mark *mark)
{
	unsigned long flags;

	spin_lock_irqsave(&log->lock, flags);
	*mark = log->durable;
	spin_unlock_irqrestore(&log->lock, flags);
}

kvp_lsn_t kvp_log_durable(struct kvp_log *log)
{
	struct kvp_log_mark mark;

	kvp_log_durable_mark(log, &mark);
	return mark.lsn;
}

void kvp_log_set_durable(struct kvp_log *log, const struct kvp_log_mark *head)
{
	log->durable = *head;
}

void kvp_log_passed_mark(struct kvp_log *log, struct kvp_log_mark *mark)
{
	kvp_wbuf_lock_lists(log->wbuf);
	*mark = log->logged;
	kvp_wbuf_unlock_lists(log->wbuf);
}

void kvp_log_set_passed(struct kvp_log *log, const struct kvp_log_mark *end)
{
	kvp_wbuf_lock_lists(log->wbuf);
	log->logged = *end;
	__kvp_log_milestone(log);
	kvp_wbuf_unlock_lists(log->wbuf);
}

void kvp_log_no_milestones(struct kvp_log *log)
{
	log->nr_milestones = 0;
}

bool kvp_log_home_mark(struct kvp_log *log, kvp_lsn_t limit, struct kvp_log_mark *mark)
{
	u32 first, above, end, mid;
	kvp_lsn_t oldest;

	kvp_wbuf_lock_lists(log->wbuf);
	if (__kvp_wbuf_oldest(log->wbuf, &oldest))
		limit = kvp_lsn_first(limit, oldest);
	end = log->nr_milestones;
	first = end - min_t(u32, end, KVP_MILESTONES);
	/* Milestones rise: find the first one above the limit. */
	for (above = first; above < end;) {
		mid = above + (end - above) / 2;
		if (kvp_lsn_before(limit, log->milestones[mid % KVP_MILESTONES].lsn))
			end = mid;
		else
			above = mid + 1;
	}
	if (above > first)
		*mark = log->milestones[(above - 1) % KVP_MILESTONES];
	kvp_wbuf_unlock_lists(log->wbuf);
	return above > first && kvp_lsn_before(READ_ONCE(log->tail), mark->lsn);
}

/*
 * The number of versions that fit into @blocks of the log, if entries are large. If the log lies in
 * rows, some blocks are their parity. In a pool with a parity1 each version needs a row, at worst
 * with a header of its own.
 */
static u64 data_that_fits(const struct kvp_log *log, const struct kvp_geometry *g, u64 blocks)
{
	u32 row = kvp_ring_legs(g), data = max(1u, row - 1);

	row += data * log->vdevs->most_reserved * kvp_log_entry_blocks(g, 1, 1);
	return div_u64(blocks, row) * data;
}

/*
 * Blocks of the window without the tail's segment and @kept. The window may have become smaller
 * since @kept was looked up.
 */
static u64 window_without(const struct kvp_geometry *g, u64 kept)
{
	u64 window = kvp_log_window(g);

	kept += g->segment_blocks;
	return window > kept ? window - kept : 0;
}

u64 kvp_log_limit_empty(const struct kvp_log *log)
{
	const struct kvp_geometry *g = READ_ONCE(log->vdevs->log_vdev)->g;
	u64 blocks = window_without(g, kvp_log_renew_kept(log));
	u64 free = data_that_fits(log, g, blocks);

	return free - free / 16;
}

u64 kvp_log_taken(const struct kvp_log *log, u64 most)
{
	const struct kvp_wbuf *w = log->wbuf;

	return kvp_wbuf_buffered(w) + most - min_t(u64, most, kvp_wbuf_commit_limit(w));
}

u64 kvp_log_spent(const struct kvp_log *log, u64 most)
{
	return most - min_t(u64, most, kvp_wbuf_commit_limit(log->wbuf));
}

/*
 * The number of versions that may be buffered once @more blocks of the log are used. The tail's
 * segment is not free. Headers take a little, and an entry may leave the end of a segment unused.
 * @kept further blocks are not for this caller, and all beyond @squeeze, if that is not 0.
 */
static u32 limit_after(struct kvp_log *log, u32 more, u64 kept, u64 squeeze)
{
	const struct kvp_geometry *g = log->vdevs->log_vdev->g;
	u64 blocks = window_without(g, kept);
	u64 used = kvp_log_used(log) + more;
	u64 free;

	if (squeeze)
		blocks = min(blocks, squeeze);
	used += kvp_log_reserved(log);
	free = data_that_fits(log, g, used < blocks ? blocks - used : 0);
	return (u32)(free - free / 16);
}

u32 kvp_log_limit_after(struct kvp_log *log, u32 more)
{
	return limit_after(log, more, kvp_log_renew_kept(log), READ_ONCE(log->squeeze));
}

/*
 * The number of blocks that may be buffered before they are committed. It is near @limit, the
 * number that the log has room for, not half of it: with a parity1 that is far below the number of
 * intents that an entry can hold.
 *
 * But writers are slowed down where log and buffer together have three quarters of the room
 * (policy/throttle.h), and destage sees only what is logged. So up to five eighths they may have,
 * and from half on an eighth may be buffered. Otherwise all writers would wait for the interval.
 *
 * With each block that is logged the number would fall by one, and each entry would make the next
 * one necessary: one writer would build a dozen. So where writers build short entries, it falls by
 * half a block, from an earlier point on.
 */
static u32 batch_for(const struct kvp_log *log, u32 limit)
{
	bool quick = kvp_log_ops(log->vdevs)->quick_data < KVP_ENTRY_MAX_DATA;
	u64 all = kvp_log_limit_empty(log), most = all / 8 * (quick ? 6 : 5);
	u64 spent = all - min_t(u64, all, limit);
	/* More than the shortest stream has: a part of one would be data. */
	u64 least = max_t(u64, all / 8, 2 * kvp_log_legs_cutoff(log));

	most = (most - min(most, spent)) / (quick ? 2 : 1);
	return (u32)min_t(u64, limit - limit / 8, max(most, least));
}

void kvp_log_limit_buffered(struct kvp_log *log)
{
	u32 holes = kvp_log_ops(log->vdevs)->most_holes(log);
	unsigned long flags;
	u64 squeeze;

	/*
	 * A builder and a checkpoint may both be here. With the lock, the second one sees what the
	 * first has changed.
	 */
	spin_lock_irqsave(&log->lock, flags);
	squeeze = kvp_log_shrinks(log) ? 0 : READ_ONCE(log->squeeze);
	kvp_wbuf_bound(log->wbuf, kvp_log_limit_after(log, 0), limit_after(log, 0, 0, squeeze),
		       holes);
	WRITE_ONCE(log->batch, batch_for(log, kvp_wbuf_commit_limit(log->wbuf)));
	spin_unlock_irqrestore(&log->lock, flags);
}

void kvp_log_squeeze(struct kvp_log *log, u64 blocks)
{
	WRITE_ONCE(log->squeeze, blocks);
	kvp_log_limit_buffered(log);
	log->client->space(log->of);
}

void kvp_log_shrink(struct kvp_log *log, u64 blocks)
{
	WRITE_ONCE(log->shrinks, blocks);
	kvp_log_limit_buffered(log);
}

bool kvp_log_narrow(struct kvp_log *log, u64 blocks, u64 spare)
{
	const struct kvp_geometry *g;
	bool fits = true;
	u64 used;

	mutex_lock(&log->build_lock);
	g = log->vdevs->log_vdev->g;
	used = kvp_lsn_since(log->head.lsn, kvp_lsn_down(kvp_log_tail(log), g->segment_blocks));
	if (blocks && blocks < kvp_log_may_use(log))
		fits = used + kvp_log_reserved(log) + spare <= blocks;
	if (fits)
		WRITE_ONCE(log->narrow, blocks);
	kvp_log_unlock_build(log);
	return fits;
}

bool kvp_log_short(struct kvp_log *log)
{
	return kvp_log_is_full(log) ||
	       kvp_wbuf_commit_limit(log->wbuf) < kvp_log_window(log->vdevs->log_vdev->g) / 32;
}

struct kvp_direct *__kvp_log_not_home(const struct kvp_log *log)
{
	struct kvp_direct *b;

	lockdep_assert_held(&log->lock);
	list_for_each_entry(b, &log->open, list)
		if (b->phase != KVP_DIRECT_HOME)
			return b;
	return NULL;
}

/*
 * Intents whose entry the tail has passed do not count here. The tail may pass withdrawn ones.
 * Destage may take versions of the same entry, and older ones. Hardly any of those are in rows of
 * those intents. After an entry that failed some may be: then a recovery finds by sums what the
 * parity counts (found_before()). Newer versions must wait. The limit of their parity would lie
 * behind the intents, and a recovery would think that the parity counts the intents, too.
 */
void kvp_log_floor(struct kvp_log *log, struct kvp_log_mark *mark)
{
	const struct kvp_log_mark *at;
	struct kvp_direct *b;
	unsigned long flags;

	spin_lock_irqsave(&log->lock, flags);
	list_for_each_entry(b, &log->open, list) {
		if (b->phase == KVP_DIRECT_HOME || b->phase == KVP_DIRECT_BUFFERED)
			continue;
		at = b->phase == KVP_DIRECT_WITHDRAWN ? &b->behind : &b->mark;
		if (kvp_lsn_before(at->lsn, mark->lsn))
			*mark = *at;
		break;
	}
	spin_unlock_irqrestore(&log->lock, flags);
}

void kvp_log_home_intents(struct kvp_log *log, struct kvp_intents *home)
{
	unsigned long flags;
	u32 i;

	spin_lock_irqsave(&log->lock, flags);
	for (i = 0; i < KVP_MAX_OPEN_INTENTS; i++)
		home->lsn[i] = log->directs[i].phase == KVP_DIRECT_HOME ?
			log->directs[i].mark.lsn : 0;
	kvp_log_ops(log->vdevs)->resolved(log, &home->resolved);
	spin_unlock_irqrestore(&log->lock, flags);
}

void kvp_log_close(struct kvp_log *log, const struct kvp_intents *home)
{
	unsigned long flags;
	u32 i;

	spin_lock_irqsave(&log->lock, flags);
	for (i = 0; i < KVP_MAX_OPEN_INTENTS; i++) {
		struct kvp_direct *b = &log->directs[i];

		/* Another flush may have closed it, and newer intents may have its place now. */
		if (!home->lsn[i] || b->phase != KVP_DIRECT_HOME || b->mark.lsn != home->lsn[i])
			continue;
		list_del(&b->list);
		log->nr_open--;
		b->phase = KVP_DIRECT_FREE;
	}
	spin_unlock_irqrestore(&log->lock, flags);
}

/*
 * All intents below log->durable are on log->open until they are closed. A recovery sets
 * log->durable at its end, when it has resolved all intents; log->logged it sets before that.
 */
void __kvp_log_resolved_of_copies(const struct kvp_log *log, struct kvp_log_mark *mark)
{
	const struct kvp_direct *b = __kvp_log_not_home(log);

	*mark = log->durable;
	if (b && kvp_lsn_before(b->mark.lsn, mark->lsn))
		*mark = b->mark;
}

/* A recovery needs all intents: they tell which blocks the parity of a row counts. */
void __kvp_log_resolved_with_parity(const struct kvp_log *log, struct kvp_log_mark *mark)
{
	*mark = (struct kvp_log_mark){ 0 };
}

void kvp_log_resolve(struct kvp_log *log, const struct kvp_log_mark *mark)
{
	WRITE_ONCE(log->resolved_intents, max(log->resolved_intents, mark->intents));
}

/* True, for one caller at a time, if open intents are nearly used up, and some are home. */
static bool begin_to_close(struct kvp_log *log)
{
	u32 home = 0;
	struct kvp_direct *b;
	unsigned long flags;
	bool begin;

	spin_lock_irqsave(&log->lock, flags);
	list_for_each_entry(b, &log->open, list)
		home += b->phase == KVP_DIRECT_HOME;
	begin = log->nr_open >= CLOSE_FROM && home >= CLOSE_AT_LEAST && !log->closing;
	log->closing |= begin;
	spin_unlock_irqrestore(&log->lock, flags);
	return begin;
}

/*
 * A stream without a FLUSH uses up the places for open intents. Intents that are home can be closed
 * without a checkpoint, as a FLUSH does it (R20). The cases:
 *
 * - The power goes before the flush has ended, or before a header is durable that does not list
 *   them: they are open, as before.
 * - The power goes after that: they are closed, and they were durable at home before.
 * - A leg failed: the flush gives it up, and the loss is recorded first (R16). As long as a start
 *   may take that leg for one in sync, intents that it lacks are not closed.
 *
 * Their records stay where they are. The next checkpoint puts them into the table on disk.
 */
void kvp_log_close_some(struct kvp_log *log)
{
	struct kvp_intents home;

	/* After a flush that failed, a flush that succeeds does not tell which blocks were lost. */
	if (kvp_faulted(log->failure) || !begin_to_close(log))
		return;
	kvp_log_home_intents(log, &home);
	if (!log->client->flush(log->of) && !log->client->settle(log->of))
		kvp_log_close(log, &home);
	WRITE_ONCE(log->closing, false);
	/* A stream may wait for a place. */
	kvp_commit_kick(log, true);
}

void kvp_log_retire(struct kvp_log *log, const struct kvp_log_mark *tail)
{
	unsigned long flags;

	spin_lock_irqsave(&log->lock, flags);
	__kvp_log_release_rows(log, tail->lsn);
	log->tail = tail->lsn;
	WRITE_ONCE(log->tail_intents, tail->intents);
	spin_unlock_irqrestore(&log->lock, flags);
	smp_mb();	/* pairs with kvp_log_build_entry() */
	WRITE_ONCE(log->full, false);
	kvp_log_limit_buffered(log);
	log->client->space(log->of);
	kvp_log_again(log);
	kvp_commit_kick(log, true);
}
