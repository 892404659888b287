// SPDX-License-Identifier: GPL-2.0-only
/*
 * Intents of a parity1 become data again when a leg leaves (R7).
 *
 * A whole stripe goes home under an intent, without data in the log. While only a part of it is
 * home, the blocks of a missing leg cannot be made from the others. So no stripe is begun when a
 * leg is out. kvp_home_write() returns the versions that it has not begun, and their intents are
 * withdrawn. None of their rows was written, and no FLUSH was answered for them. The versions are
 * still in the write buffer.
 *
 * 1. Their rows are appended as data (log_rows()), which goes to destage as any data does. All
 *    blocks of a row are in one entry. So a recovery finds the row as it was at home, or all of its
 *    new blocks in the log. The entry needs room as any entry of a user does: none is reserved for
 *    it.
 * 2. A superseded version is never appended: its place in the log would be behind that of a newer
 *    one (R4). It is dropped when all that was accepted by then is durable. Its row waits for that.
 * 3. When all are durable as data, the intents are closed like intents that are home.
 * 4. If the log has no room, or takes no entry, the tail passes the intents instead. All that lies
 *    below them goes home, which needs no room (R24). Then the log no longer holds the intents, and
 *    the versions go back into the buffer (put_back()), in front of all others.
 *
 * Until then the intents are open. Headers list them, a FLUSH waits, and destage takes nothing that
 * is newer. A recovery finds that their blocks are not at home, and takes the older versions.
 *
 * All of this runs under build_lock. Nothing here waits for an entry, a leg or a checkpoint.
 */
#include "core/core.h"
#include "format/logstripe.h"
#include "log/internal.h"
#include "log/log.h"
#include "log/move.h"
#include "ram/wbuf.h"

#define SOME_BLOCKS	32u	/* an entry that has less room begins in the next segment */

static enum kvp_direct_phase phase_of(struct kvp_log *log, const struct kvp_direct *b)
{
	enum kvp_direct_phase phase;
	unsigned long flags;

	spin_lock_irqsave(&log->lock, flags);
	phase = b->phase;
	spin_unlock_irqrestore(&log->lock, flags);
	return phase;
}

static bool all_durable(struct kvp_log *log, u64 seq)
{
	unsigned long flags;
	bool durable;

	spin_lock_irqsave(&log->lock, flags);
	durable = log->durable_seq >= seq;
	spin_unlock_irqrestore(&log->lock, flags);
	return durable;
}

/* Commit all that was accepted so far, and note its last seq. */
static void want_all(struct kvp_log *log, struct kvp_direct *b)
{
	b->seq = kvp_wbuf_take_seq(log->wbuf);
	WRITE_ONCE(log->again_seq, b->seq);
	kvp_commit_now(log);
}

/* --- superseded versions ------------------------------------------------------------ */

/* Mark versions that are superseded. They wait until all newer versions are durable. */
static void mark_outdone(struct kvp_log *log, struct kvp_direct *b)
{
	struct kvp_version *d;
	bool any = false;

	list_for_each_entry(d, &b->versions, list)
		if (kvp_wbuf_is_outdone(log->wbuf, d)) {
			d->outdone = true;
			any = true;
		}
	if (any)
		want_all(log, b);
}

static void drop_outdone(struct kvp_log *log, struct kvp_direct *b)
{
	struct kvp_version *d, *next;
	LIST_HEAD(outdone);

	if (!b->seq || !all_durable(log, b->seq))
		return;
	b->seq = 0;
	list_for_each_entry_safe(d, next, &b->versions, list)
		if (d->outdone)
			list_move_tail(&d->list, &outdone);
	kvp_wbuf_drop_list(log->wbuf, &outdone);
}

/* --- rows as data -------------------------------------------------------------------- */

static bool may_log(struct kvp_log *log)
{
	return !kvp_log_is_closed(log) && !kvp_faulted(log->failure);
}

static void begin_entry(struct kvp_log *log, struct kvp_entry_io *e)
{
	struct kvp_log_at none = { 0, 0 };

	kvp_append_begin(log, e, 1, none);
	e->phase = KVP_ENTRY_FREE;
}

/*
 * Move the first row of @b to @row, and return its length. The blocks of a stripe lie together on
 * the list. *@waits: a block of the row is superseded.
 */
static u32 take_row(struct kvp_log *log, struct kvp_direct *b, struct list_head *row,
		    bool *waits)
{
	struct kvp_version *d = list_first_entry(&b->versions, struct kvp_version, list), *next;
	struct kvp_spot at = kvp_vdevs_find(log->vdevs, d->block);
	u32 blocks = kvp_unit_blocks(at.v->g), chunk = at.v->g->chunk_blocks, n = 0;
	u32 in = kvp_vblock_nr(at.block) % blocks;
	kvp_block_t first = kvp_block_back(d->block, in);

	*waits = false;
	list_for_each_entry_safe(d, next, &b->versions, list) {
		if (kvp_block_since(d->block, first) >= blocks)
			break;
		if ((u32)kvp_block_since(d->block, first) % chunk != in % chunk)
			continue;
		*waits |= d->outdone || kvp_wbuf_is_outdone(log->wbuf, d);
		list_move_tail(&d->list, row);
		n++;
	}
	return n;
}

/* True if the entry fits with @n more blocks of data, and leaves room for their parity (R24). */
static bool row_fits(struct kvp_log *log, const struct kvp_entry_io *e, u32 n, u32 cap)
{
	u32 nr = e->records + n;
	u32 blocks = kvp_log_entry_blocks(log->vdevs->log_vdev->g, kvp_log_hdr_blocks(nr), nr);

	return nr <= KVP_ENTRY_MAX_DATA && blocks <= cap &&
	       kvp_log_leaves_room(log, e->budget, blocks, nr);
}

/* Move rows from @b to @e, as many as fit in @cap blocks. Returns false if one did not. */
static bool take_rows(struct kvp_log *log, struct kvp_direct *b, struct kvp_entry_io *e, u32 cap)
{
	LIST_HEAD(waiting);
	LIST_HEAD(row);
	bool waits, fits = true;

	while (fits && !list_empty(&b->versions)) {
		u32 n = take_row(log, b, &row, &waits);

		fits = waits || row_fits(log, e, n, cap);
		if (!fits) {
			list_splice_init(&row, &b->versions);
			break;
		}
		if (!waits)
			e->records += n;
		list_splice_tail_init(&row, waits ? &waiting : &e->versions);
	}
	list_splice(&waiting, &b->versions);
	return fits;
}

/* Send @e, which has rows of @b. */
static void send_rows(struct kvp_log *log, struct kvp_direct *b, struct kvp_entry_io *e)
{
	struct kvp_version *d;
	unsigned long flags;

	e->phase = KVP_ENTRY_WRITING;
	e->of = b;
	kvp_wbuf_fix(log->wbuf, &e->versions);
	list_for_each_entry(d, &e->versions, list) {
		d->intent = false;
		d->lsn = log->head.lsn;
		e->reserved += kvp_log_rows_of(log, d);
	}
	kvp_log_fill_entry(log, e);
	spin_lock_irqsave(&log->lock, flags);
	b->logged_again++;
	spin_unlock_irqrestore(&log->lock, flags);
	kvp_log_send(log, e);
}

/*
 * Step 1. Append rows of @b while entries are free. Returns false if the log has no room: then the
 * tail must pass @b.
 */
static bool log_rows(struct kvp_log *log, struct kvp_direct *b)
{
	struct kvp_entry_io *e;
	bool fits;
	u32 cap;

	while (!list_empty(&b->versions)) {
		e = kvp_log_free_entry(log);
		if (!e)
			return true;
		cap = kvp_log_room(log, SOME_BLOCKS, &e->budget);
		begin_entry(log, e);
		fits = take_rows(log, b, e, cap);
		if (!e->records)
			return fits;
		send_rows(log, b, e);
	}
	return true;
}

void kvp_log_again_durable(struct kvp_entry_io *e)
{
	struct kvp_log *log = e->log;
	unsigned long flags;

	spin_lock_irqsave(&log->lock, flags);
	e->of->logged_again--;
	spin_unlock_irqrestore(&log->lock, flags);
	e->of = NULL;
}

void kvp_log_again_undone(struct kvp_entry_io *e)
{
	struct kvp_direct *b = e->of;
	struct kvp_version *d;

	lockdep_assert_held(&e->log->build_lock);
	list_for_each_entry(d, &e->versions, list) {
		d->intent = true;
		d->zero = false;
		kvp_wbuf_advance(d, KVP_VERSION_HOMING);
	}
	list_splice_init(&e->versions, &b->versions);
	kvp_log_again_durable(e);
}

/* --- the tail has passed the intents --------------------------------------------------- */

/*
 * Step 4. Versions that are not superseded go back into the buffer. The others stay until the newer
 * ones are durable.
 */
static void put_back(struct kvp_log *log, struct kvp_direct *b)
{
	struct kvp_version *d, *next;
	unsigned long flags;
	LIST_HEAD(back);

	list_for_each_entry_safe(d, next, &b->versions, list)
		if (!d->outdone && !kvp_wbuf_is_outdone(log->wbuf, d))
			list_move_tail(&d->list, &back);
	kvp_wbuf_unfix(log->wbuf, &back);
	list_for_each_entry(d, &back, list)
		d->intent = false;
	kvp_wbuf_put_back(log->wbuf, &back);
	want_all(log, b);
	spin_lock_irqsave(&log->lock, flags);
	b->phase = KVP_DIRECT_BUFFERED;
	spin_unlock_irqrestore(&log->lock, flags);
}

/* --- the steps ------------------------------------------------------------------------ */

/*
 * Step 3. All versions are durable as data. If the tail has passed the intents, they are closed
 * already, since that checkpoint has flushed the legs.
 */
static void end_withdrawn(struct kvp_log *log, struct kvp_direct *b)
{
	unsigned long flags;

	spin_lock_irqsave(&log->lock, flags);
	WRITE_ONCE(log->withdrawn, log->withdrawn - 1);
	if (b->phase == KVP_DIRECT_BUFFERED) {
		list_del(&b->list);
		log->nr_open--;
		b->phase = KVP_DIRECT_FREE;
	} else {
		b->phase = KVP_DIRECT_HOME;
	}
	spin_unlock_irqrestore(&log->lock, flags);
}

/* Get on with @b, which is withdrawn. Returns false if it waits for the tail. */
static bool get_on(struct kvp_log *log, struct kvp_direct *b)
{
	bool logs;

	drop_outdone(log, b);
	logs = may_log(log) && log_rows(log, b);
	if (READ_ONCE(b->logged_again))
		return true;
	if (list_empty(&b->versions)) {
		end_withdrawn(log, b);
		return true;
	}
	if (kvp_lsn_before(b->mark.lsn, READ_ONCE(log->tail))) {
		put_back(log, b);
		return true;
	}
	if (logs && !b->seq)
		mark_outdone(log, b);
	return logs;
}

void kvp_log_again(struct kvp_log *log)
{
	bool stuck = false;
	u32 i, before = READ_ONCE(log->withdrawn);

	if (!before)
		return;
	mutex_lock(&log->build_lock);
	for (i = 0; i < KVP_MAX_OPEN_INTENTS; i++) {
		struct kvp_direct *b = &log->directs[i];
		enum kvp_direct_phase phase = phase_of(log, b);

		if (phase == KVP_DIRECT_WITHDRAWN) {
			stuck |= !get_on(log, b);
		} else if (phase == KVP_DIRECT_BUFFERED && all_durable(log, b->seq)) {
			kvp_wbuf_drop_list(log->wbuf, &b->versions);
			end_withdrawn(log, b);
		}
	}
	WRITE_ONCE(log->again_stuck, stuck);
	kvp_log_unlock_build(log);
	if (stuck)
		log->client->destage(log->of, true);
	if (READ_ONCE(log->withdrawn) == before)
		return;
	kvp_flush_kick(log);
	log->client->destage(log->of, false);
	kvp_log_move_kick(log);
}
