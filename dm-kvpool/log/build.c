// SPDX-License-Identifier: GPL-2.0-only
/*
 * Building an entry. Versions leave the buffer in order of acceptance, and become records and
 * payload. The entry goes to every leg in use as one FUA write, never with a PREFLUSH. On a cache
 * of kind parity1 each leg gets a part of it (rows.c).
 */
#include <linux/mm.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "core/cache_client.h"
#include "core/core.h"
#include "core/log_ops.h"
#include "core/vdev_ops.h"
#include "format/logstripe.h"
#include "format/regions.h"
#include "io/batch.h"
#include "io/io.h"
#include "log/internal.h"
#include "log/log.h"
#include "policy/ssdpolicy.h"
#include "ram/wbuf.h"

/* --- taking from the buffer ------------------------------------------------ */

/* The length, in blocks, of an entry with @records and @data blocks of payload. */
static u32 entry_blocks(const struct kvp_log *log, u32 records, u32 data)
{
	return kvp_log_entry_blocks(log->vdevs->log_vdev->g, kvp_log_hdr_blocks(records), data);
}

/* True if @e may have @blocks, with @reserved rows for its records (R24). */
static bool leaves_room(struct kvp_log *log, const struct kvp_entry_io *e, u32 blocks, u32 reserved)
{
	return !e->tight || kvp_log_leaves_room(log, e->budget, blocks, reserved);
}

#define ZEROS_RUN	16u	/* so many blocks of zeros in a row become discards, not intents */

static bool may_be_intent(const struct kvp_entry_io *e, const struct kvp_version *d)
{
	return !d->hole && !d->superseded && (!e->only_streams || READ_ONCE(d->stream));
}

/*
 * True if no older version of the block waits, or if an intent may be written home before these.
 * They are durable data in the log, which R4 falls back on. When the intent is home, they are
 * marked, and never go home (kvp_wbuf_passed()).
 */
static bool may_pass_older(const struct kvp_entry_io *e, const struct kvp_version *d)
{
	return !d->follows || (!e->keeps && d->over < e->over);
}

/* Every long run may be intents: the disks have to write it sooner or later. */
void kvp_log_plan_runs(struct kvp_log *log, struct kvp_entry_io *e)
{
	e->only_streams = false;
	e->goes_round = false;
	e->keeps = false;
	e->over = KVP_OVER_MOST + 1;
	e->least_run = kvp_log_legs_cutoff(log);
	e->least_wanted = e->least_run;
}

/* The same, but the parity of a row counts all versions in the order of the log. */
void kvp_log_plan_runs_in_order(struct kvp_log *log, struct kvp_entry_io *e)
{
	kvp_log_plan_runs(log, e);
	e->over = 0;
}

/* Two words show in most cases that a block is not zeros. */
static bool looks_zero(const void *page)
{
	const u64 *words = page;

	return !words[0] && !words[KVP_PTRS_PER_PAGE / 2];
}

static bool all_zero(const void *page)
{
	return looks_zero(page) && !memchr_inv(page, 0, KVP_BLOCK_SIZE);
}

/*
 * True if ZEROS_RUN blocks of zeros in a row begin with @d. They must become data, which the log
 * records as discards. An intent would write them home, and cannot say that a block is zeros. A
 * rewrite may change a page during or after this test. That costs only time, since record_version()
 * looks again when the version is fixed.
 */
static bool zeros_begin(struct kvp_log *log, struct kvp_version *d)
{
	kvp_block_t first = d->block;
	u32 n = 0;

	for (; d; d = __kvp_wbuf_next(log->wbuf, d))
		if (d->hole || d->block != kvp_block_add(first, n) ||
		    !all_zero(page_address(d->page)) || ++n == ZEROS_RUN)
			break;
	return n == ZEROS_RUN;
}

/*
 * True if @d begins or continues a run of zeros. With @after, blocks of zeros precede it, and it is
 * enough that @d itself is zeros.
 */
static bool are_zeros(struct kvp_log *log, struct kvp_version *d, bool after)
{
	return !d->hole && (after ? all_zero(page_address(d->page)) : zeros_begin(log, d));
}

/*
 * A stream goes round what a cache has, or passes it, in parts of a request to a leg. If a new part
 * begins with @first, decide which. The blocks of a part were accepted one after another.
 */
static void begin_part(struct kvp_log *log, struct kvp_entry_io *e, struct kvp_version *first)
{
	u32 n = 0, cached = 0, pieces = 0;
	struct kvp_version *d = first;
	bool was = true;

	if (!e->goes_round || first->seq <= e->part_end)
		return;
	for (; d && n < KVP_BATCH_RUN_PAGES; d = __kvp_wbuf_next(log->wbuf, d)) {
		bool has = d->follows || kvp_cache_has(log->vdevs, d->block);

		if (d->block != kvp_block_add(first->block, n) || !may_be_intent(e, d))
			break;
		pieces += was && !has;
		cached += has;
		was = has;
		e->part_end = d->seq;
		n++;
	}
	e->keeps = !kvp_ssd_stream_passes(n, cached, pieces);
}

/*
 * The length, in blocks, of the run of adjacent blocks that begins with @first, up to @max. The run
 * ends before many zeros. It also ends before a pending discard. Destage applies a discard in log
 * order, but a direct write goes home as soon as its intents are durable. The discard would then
 * wipe the new entry of the table. So a write over a hole is data, which destage writes home after
 * the discard. In other places discards and direct writes do not meet. Their blocks differ, and on
 * a parity1 so do their rows, as only whole stripes go by intent.
 */
static u32 run_length(struct kvp_log *log, struct kvp_entry_io *e,
		      struct kvp_version *first, u32 max)
{
	struct kvp_version *d = first;
	u32 n = 0;

	for (; d; d = __kvp_wbuf_next(log->wbuf, d)) {
		if (n == max || d->block != kvp_block_add(first->block, n) || !may_be_intent(e, d))
			break;
		begin_part(log, e, d);
		if (!may_pass_older(e, d) ||
		    (e->keeps && kvp_cache_has(log->vdevs, d->block)) ||
		    (looks_zero(page_address(d->page)) && zeros_begin(log, d)))
			break;
		n++;
	}
	return kvp_wbuf_nr_holes(log->wbuf) ?
	       __kvp_wbuf_up_to_hole(log->wbuf, first->block, n) : n;
}

/*
 * The longest part, in blocks, of a run from @block on, up to @max, that ends where requests to all
 * legs end. With parity it ends where a slice of a direct write ends. Slices are counted from the
 * start of the run.
 */
static u32 whole_requests(struct kvp_log *log, kvp_block_t block, u32 max)
{
	u32 slice = kvp_direct_slice(log);
	kvp_block_t end;

	if (slice)
		return max - max % slice;
	end = kvp_map_whole(&log->vdevs->sb->map, kvp_block_add(block, max), KVP_BATCH_RUN_PAGES);
	return kvp_block_before(block, end) ? (u32)kvp_block_since(end, block) : 0;
}

/* True if this entry may hold intents. */
static bool intents_possible(struct kvp_log *log, const struct kvp_entry_io *e)
{
	kvp_wbuf_assert_locked(log->wbuf);
	return e->direct && kvp_log_takes_intents(log);
}

/* The number of blocks, of @n from @block on, that may go home by intent. */
static u32 may_be_direct(struct kvp_log *log, kvp_block_t block, u32 n)
{
	u32 may = 0;

	while (may < n) {
		struct kvp_spot at = kvp_vdevs_find(log->vdevs, kvp_block_add(block, may));
		u32 part = at.v->ops->may_be_direct(at.v, at.block, min(n - may, at.left));

		if (!part)
			break;
		may += part;
	}
	return may;
}

static void take(struct kvp_log *log, struct kvp_entry_io *e, u32 n, bool intent)
{
	struct kvp_version *last = NULL, *d = __kvp_wbuf_first(log->wbuf);
	u32 i;

	for (i = 0; i < n; i++) {
		d->intent = intent;
		d->lsn = log->head.lsn;
		/* If it was an intent (again.c), it may be older than versions in the log. */
		e->last_seq = max(e->last_seq, d->seq);
		if (!intent && !d->hole)
			e->data++;
		if (!intent)
			e->reserved += kvp_log_rows_of(log, d);
		last = d;
		d = __kvp_wbuf_next(log->wbuf, d);
	}
	if (intent)
		e->intents += n;
	e->records += n;
	__kvp_wbuf_take(log->wbuf, last, n, &e->versions);
}

/* True if the entry fits with @n more intents, and leaves room for the parity of its data (R24). */
static bool intents_fit(struct kvp_log *log, const struct kvp_entry_io *e, u32 n, u32 cap)
{
	u32 blocks = entry_blocks(log, e->records + n, e->data);

	return blocks <= cap && leaves_room(log, e, blocks, e->reserved);
}

/* True if the entry fits with @d, as data or as a discard, and leaves room for parity (R24). */
static bool data_fits(struct kvp_log *log, const struct kvp_entry_io *e,
		      const struct kvp_version *d, u32 cap)
{
	u32 blocks = entry_blocks(log, e->records + 1, e->data + !d->hole);

	return e->data < e->most_data && e->records < KVP_ENTRY_MAX_RECORDS &&
	       blocks <= cap &&
	       leaves_room(log, e, blocks, e->reserved + kvp_log_rows_of(log, d));
}

/*
 * True if the run of @n blocks from @first on is all that is buffered, and no caller waits for any
 * of it.
 */
static bool run_may_wait(struct kvp_log *log, const struct kvp_entry_io *e,
			 const struct kvp_version *first, u32 n)
{
	return n == kvp_wbuf_buffered(log->wbuf) && first->seq > e->wanted;
}

/* The length of a request to a leg, or with parity of a slice of a direct write. */
static u32 request_blocks(const struct kvp_log *log)
{
	return kvp_direct_slice(log) ?: KVP_BATCH_RUN_PAGES;
}

/*
 * True for the last part of a stream, if it is shorter than a request and no caller waits for it.
 * With the next blocks of the stream it may become a whole one.
 */
static bool stream_goes_on(struct kvp_log *log, const struct kvp_entry_io *e,
			   const struct kvp_version *first, u32 n)
{
	const struct kvp_version *last;

	if (!run_may_wait(log, e, first, n) || list_empty(&e->versions))
		return false;
	last = list_last_entry(&e->versions, struct kvp_version, list);
	return last->intent && kvp_block_add(last->block, 1) == first->block &&
	       n < request_blocks(log);
}

/*
 * The number of blocks to take now, of @n that may go by intent. If no caller waits for them and
 * nothing follows in the buffer, the blocks beyond whole requests can wait. On a mirror so many of
 * them wait that they become intents later, even if nothing follows: a shorter run would be data.
 * So would what is taken now, if it has fewer than @cutoff blocks: then all of @n is taken.
 * On a mirror beside a parity1 none wait: slices of the parity1 say nothing about its requests.
 */
static u32 whole_requests_now(struct kvp_log *log, const struct kvp_entry_io *e,
			      const struct kvp_version *first, u32 n, u32 run, u32 cutoff)
{
	const struct kvp_vdev *v = kvp_vdevs_find(log->vdevs, first->block).v;
	bool sliced = v->ops->slice(v);
	u32 least = sliced ? 0 : min(e->least_run, n), whole;

	if (!run_may_wait(log, e, first, run) || (kvp_direct_slice(log) && !sliced))
		return n;
	whole = whole_requests(log, first->block, n - least);
	return whole < cutoff ? n : whole;
}

/*
 * The number of blocks from @d on that become intents; 0: @d becomes data. *@stop is set if nothing
 * more belongs into this entry.
 */
static u32 count_intents(struct kvp_log *log, struct kvp_entry_io *e, struct kvp_version *d,
			 u32 cap, bool *stop)
{
	u32 cutoff = d->seq <= e->wanted ? e->least_wanted : e->least_run;
	u32 max = min_t(u32, KVP_ENTRY_MAX_INTENTS - e->intents,
			KVP_ENTRY_MAX_RECORDS - e->records);
	u32 n = run_length(log, e, d, max_t(u32, max, cutoff)), run = n;

	/*
	 * A stream that is longer than this entry has room for must not become data because of
	 * that.
	 */
	if (n >= max && n >= cutoff) {
		n = whole_requests(log, d->block, max);
		*stop = n < cutoff && e->records;
		n = n ?: max;
	}
	if (stream_goes_on(log, e, d, run)) {
		e->rest_waits = true;
		*stop = true;
		return 0;
	}
	if (n >= cutoff)
		n = whole_requests_now(log, e, d, may_be_direct(log, d->block, n), run, cutoff);
	while (n && n >= cutoff && !intents_fit(log, e, n, cap))
		n = may_be_direct(log, d->block, n / 2);
	return n >= cutoff ? n : 0;
}

/*
 * True if @d waits for a place for an open intent (kvp_log_stream_may_wait()). Without one, the
 * stream that @d belongs to would become data. That would fill the log of a cache that streams
 * pass because too much is dirty there.
 */
static bool waits_for_place(const struct kvp_entry_io *e, const struct kvp_version *d)
{
	return e->may_wait && READ_ONCE(d->stream) && !d->hole;
}

/* Decide what becomes intents. Returns true if anything may. */
static bool plan(struct kvp_log *log, struct kvp_entry_io *e)
{
	bool intents = intents_possible(log, e);

	if (intents || e->may_wait)
		kvp_log_ops(log->vdevs)->plan_intents(log, e);
	e->may_wait = e->may_wait && e->only_streams && !e->goes_round;
	e->part_end = 0;
	return intents;
}

/* Take versions from the head of the buffer, as many as fit into an entry of @cap blocks. */
static void collect(struct kvp_log *log, struct kvp_entry_io *e, u32 cap)
{
	bool intents, zeros = false, stop = false;
	struct kvp_wbuf *w = log->wbuf;
	struct kvp_version *d;

	kvp_wbuf_lock_lists(w);
	__kvp_wbuf_order(w);
	intents = plan(log, e);
	while ((d = __kvp_wbuf_first(w))) {
		u32 n = 0;

		if (waits_for_place(e, d))
			break;
		zeros = intents && are_zeros(log, d, zeros);
		if (intents && !zeros)
			n = count_intents(log, e, d, cap, &stop);
		if (stop)
			break;
		if (n) {
			take(log, e, n, true);
			continue;
		}
		if (!data_fits(log, e, d, cap))
			break;
		take(log, e, 1, false);
	}
	if (!d)
		e->last_seq = kvp_wbuf_last_seq(w);
	kvp_wbuf_unlock_lists(w);
}

/* --- building ---------------------------------------------------------------- */

/*
 * Note up to where headers may call the log durable. A leg that lacks an entry is given up before
 * the entry counts as durable. Until its loss is recorded, the superblock still calls the leg in
 * sync, and a start from that leg alone may happen. No caller was told of the entry so far, so that
 * start loses nothing. But it would miss the entry if a header named it as durable.
 */
static void __witness(struct kvp_log *log)
{
	lockdep_assert_held(&log->lock);
	if (!kvp_losses_dirty(log->losses))
		WRITE_ONCE(log->witnessed, log->durable.lsn);
}

/*
 * True if the header of an entry at the head, or in the next segment, can name a durable position
 * at most KVP_LOG_UNWITNESSED before it. Recovery relies on that (R10): it looks for such headers
 * close behind a bad entry, and further behind only in a few places.
 */
static bool near_witness(struct kvp_log *log)
{
	kvp_lsn_t head = kvp_lsn_add(READ_ONCE(log->head.lsn),
				     32 + kvp_log_kept(log->vdevs->log_vdev->g));
	unsigned long flags;
	bool near;

	if (!kvp_lsn_before(kvp_lsn_add(READ_ONCE(log->witnessed), KVP_LOG_UNWITNESSED), head))
		return true;
	spin_lock_irqsave(&log->lock, flags);
	__witness(log);
	near = !kvp_lsn_before(kvp_lsn_add(log->witnessed, KVP_LOG_UNWITNESSED), head);
	spin_unlock_irqrestore(&log->lock, flags);
	return near;
}

struct kvp_entry_io *kvp_log_free_entry(struct kvp_log *log)
{
	u32 i;

	if (!near_witness(log))
		return NULL;
	for (i = 0; i < KVP_ENTRIES; i++)
		if (READ_ONCE(log->entries[i].phase) == KVP_ENTRY_FREE)
			return &log->entries[i];
	return NULL;
}

static struct kvp_direct *free_direct(struct kvp_log *log)
{
	u32 i;

	/* one stays free, so that a header can list all others */
	for (i = 0; i < KVP_MAX_OPEN_INTENTS - 1; i++)
		if (READ_ONCE(log->directs[i].phase) == KVP_DIRECT_FREE)
			return &log->directs[i];
	return NULL;
}

void kvp_log_place_in_order(const struct kvp_vdev *v, struct kvp_entry_io *e)
{
}

/* Sum a version, which is fixed now, and make its record. */
static void record_version(struct kvp_log *log, struct kvp_version *d, struct kvp_rec *r)
{
	r->block = kvp_block_nr(d->block);
	r->vdev = 0;
	r->count = d->count;
	r->crc = 0;
	r->kind = KVP_REC_DISCARD;
	if (d->hole)
		return;
	d->zero = !d->intent && all_zero(page_address(d->page));
	if (d->zero)
		return;
	d->crc = kvp_block_sum(log->seed, d->block, page_address(d->page));
	r->crc = d->crc;
	r->kind = d->intent ? KVP_REC_INTENT : KVP_REC_DATA;
}

/*
 * Set the places of the versions' contents in a log of rows. They depend on how many blocks of
 * payload there are.
 */
void kvp_log_place_in_rows(const struct kvp_vdev *v, struct kvp_entry_io *e)
{
	const struct kvp_geometry *g = v->g;
	const struct kvp_log_hdr *h = &e->hdr;
	struct kvp_version *d;
	u32 i = 0;

	list_for_each_entry(d, &e->versions, list) {
		if (d->hole || d->zero || d->intent)
			continue;
		d->payload = kvp_log_payload_at(g, h, i++);
		d->row = kvp_log_row(g, h, d->payload);
	}
}

/* Put records into the header buffer, and payload pages behind the header's pages. */
void kvp_log_fill_entry(struct kvp_log *log, struct kvp_entry_io *e)
{
	struct kvp_disk_rec *recs = e->hdr_buf + KVP_LOG_HDR_SIZE;
	struct kvp_log_hdr *h = &e->hdr;
	struct kvp_version *d;
	u32 i = 0, page;

	h->hdr_blocks = kvp_log_hdr_blocks(e->records);
	page = h->hdr_blocks;
	e->data = 0;
	e->renewed = 0;
	kvp_wbuf_fix(log->wbuf, &e->versions);
	list_for_each_entry(d, &e->versions, list) {
		struct kvp_rec r;

		record_version(log, d, &r);
		d->rec = i;
		kvp_rec_encode(&r, &recs[i++]);
		if (r.kind == KVP_REC_DATA) {
			d->payload = page;
			e->pages[page++] = d->page;
			e->data++;
			e->renewed += d->renewed;
		}
		/*
		 * Each checksum takes about a microsecond. Let other tasks have the processor in
		 * between.
		 */
		if (!(i % 64))
			cond_resched();
	}
	memcpy(e->pages, e->hdr_pages, h->hdr_blocks * sizeof(*e->pages));
	h->rec_count = e->records;
	h->payload = e->data;
	h->blocks = entry_blocks(log, e->records, e->data);
	log->vdevs->log_vdev->ops->place_payload(log->vdevs->log_vdev, e);
}

/* The causes are of interest where writes wear out an SSD. */
void kvp_log_count_nothing(struct kvp_log *log, const struct kvp_entry_io *e)
{
}

static void __count_blocks(struct kvp_log *log, const struct kvp_entry_io *e)
{
	lockdep_assert_held(&log->lock);
	log->data_blocks += e->data - e->renewed;
	log->intent_blocks += e->intents;
	kvp_log_ops(log->vdevs)->count(log, e);
}

/* Fill in the entry's header, and put the entry among those in flight. */
static void seal_entry(struct kvp_log *log, struct kvp_entry_io *e)
{
	struct kvp_log_hdr *h = &e->hdr;
	struct kvp_direct *b;
	unsigned long flags;

	h->nonce = log->nonce;
	h->epoch = READ_ONCE(*log->durable_epoch);
	h->lsn = log->head.lsn;
	h->prev_lsn = log->head.prev_lsn;
	h->prev_csum = log->head.prev_csum;
	h->write_time = max_t(u64, ktime_get_real_seconds(), log->rewound);
	h->flags = 0;
	h->open_count = 0;

	spin_lock_irqsave(&log->lock, flags);
	/* What it has does not count as buffered any more, so kvp_log_due() may say no. */
	e->due = log->due || log->due_seq > log->built_seq;
	__witness(log);
	h->durable = log->witnessed;
	list_for_each_entry(b, &log->open, list)
		if (b->phase != KVP_DIRECT_BUFFERED)
			h->open[h->open_count++] = b->mark.lsn;
	if (e->direct) {
		e->direct->mark = log->head;
		e->direct->phase = KVP_DIRECT_COMMITTING;
		list_add_tail(&e->direct->list, &log->open);
		log->nr_open++;
	}
	list_add_tail(&e->list, &log->in_flight);
	if (e->reserved)
		__kvp_log_reserve_rows(log, e);
	log->built_seq = e->last_seq;
	if (!e->appended)
		WRITE_ONCE(log->due, false);
	/* What it left for the next entry may wait for the next interval. */
	if (e->rest_waits)
		WRITE_ONCE(log->due_seq, 0);
	__count_blocks(log, e);
	spin_unlock_irqrestore(&log->lock, flags);

	e->hdr_written = kvp_log_seal_over(e->hdr_buf, h, log->vdevs->sb->nonce, e->hdr_written);
	log->head.prev_lsn = h->lsn;
	log->head.prev_csum = h->csum;
	log->head.lsn = kvp_lsn_add(h->lsn, h->blocks);
	WRITE_ONCE(log->head.intents, log->head.intents + e->intents);
	if (e->direct)
		e->direct->behind = log->head;
}

/*
 * Each leg that has a copy gets the whole entry, and the whole joined one. One leg is enough for
 * the entry to count.
 */
u32 kvp_log_lay_copies(const struct kvp_log *log, u32 entry, const struct kvp_vdev *v,
		       const struct kvp_log_hdr *h, struct page **pages, u32 nr, struct kvp_io *ios)
{
	u32 i;

	for (i = 0; i < kvp_log_copies(v->g); i++) {
		struct kvp_place at = kvp_log_place(v->g, h->lsn, i);

		ios[at.leg].block = at.block;
		ios[at.leg].nr = nr;
		ios[at.leg].pages = pages;
	}
	return 1;
}

/* Put the joined entry, if there is one, behind @e. Returns the blocks of both. */
static u32 take_joined(struct kvp_entry_io *e)
{
	u32 nr = e->hdr.blocks;

	if (!e->joined)
		return nr;
	memcpy(&e->pages[nr], e->joined->pages, e->joined->hdr.blocks * sizeof(*e->pages));
	return nr + e->joined->hdr.blocks;
}

void kvp_log_submit(struct kvp_log *log, struct kvp_entry_io *e)
{
	u32 i, nr;

	lockdep_assert_held(&log->build_lock);
	e->v = kvp_log_vdev(log->vdevs, e->hdr.lsn);
	e->sent = 0;
	e->extra = 0;
	e->failed = 0;
	memset(e->ios, 0, e->v->nr_legs * sizeof(*e->ios));
	nr = take_joined(e);
	e->needed = e->v->ops->lay(log, (u32)(e - log->entries), e->v, &e->hdr,
				   e->pages, nr, e->ios);
	atomic_set(&e->pending, 1);
	for (i = 0; i < e->v->nr_legs; i++) {
		struct kvp_io *io = &e->ios[i];

		io->leg = &e->v->legs[i];
		if (!io->nr || !kvp_leg_takes_log(io->leg))
			continue;
		io->op = KVP_IO_WRITE_FUA;
		io->urgent = true;
		io->done = kvp_entry_io_done;
		io->private = e;
		__set_bit(i, &e->sent);
		if (!kvp_leg_in_sync(io->leg))
			__set_bit(i, &e->extra);
		atomic_inc(&e->pending);
	}
	for (i = 0; i < e->v->nr_legs; i++)
		if (test_bit(i, &e->sent))
			kvp_io_submit(&e->ios[i]);
	kvp_entry_put(e);
}

/*
 * The blocks that an entry at log->head may have. If few are left of a segment, the head moves to
 * the next one. After a failure the head stays: an entry that no leg is known to have taken may
 * still be on one. The next entry must overwrite it. Otherwise a recovery would take the failed
 * entry for the next one of the chain.
 */
u32 kvp_log_room(struct kvp_log *log, u32 want, u64 *budget)
{
	const struct kvp_geometry *g = log->vdevs->log_vdev->g;
	u32 kept = kvp_log_kept(g);
	kvp_lsn_t end = kvp_lsn_back(kvp_log_segment_end(g, log->head.lsn), kept);
	kvp_lsn_t limit = READ_ONCE(log->tail);

	lockdep_assert_held(&log->build_lock);
	limit = kvp_lsn_add(kvp_lsn_down(limit, g->segment_blocks), kvp_log_may_use(log));
	if (!kvp_lsn_before(log->redo, log->head.lsn)) {
		log->head.lsn = log->redo;
		end = kvp_lsn_back(kvp_log_segment_end(g, log->redo), kept);
	} else if (kvp_lsn_before(end, kvp_lsn_add(log->head.lsn, min_t(u32, want, 32)))) {
		log->head.lsn = kvp_lsn_add(end, kept);
		end = kvp_lsn_add(end, g->segment_blocks);
	}
	*budget = 0;
	if (kvp_lsn_before(limit, end))
		return 0;
	*budget = kvp_lsn_since(limit, log->head.lsn);
	return min_t(u64, kvp_lsn_since(end, log->head.lsn), KVP_MAX_ENTRY_BLOCKS);
}

void kvp_log_send(struct kvp_log *log, struct kvp_entry_io *e)
{
	lockdep_assert_held(&log->build_lock);
	seal_entry(log, e);
	kvp_trace_commit(log->vdevs->sb, e->hdr.lsn, e->data, e->intents);
	kvp_log_limit_buffered(log);
	kvp_cache_overwrites(log->vdevs, e->hdr.lsn, e->hdr.blocks);
	e->joined = NULL;
	/* Only entries of intents are joined. */
	if (e->direct || log->unsent)
		kvp_log_send_or_keep(log, e);
	else
		kvp_log_submit(log, e);
}

/* Nothing is reserved: what fits into the segment fits. */
bool kvp_log_has_room(struct kvp_log *log, struct kvp_entry_io *e)
{
	e->tight = false;
	return true;
}

/*
 * In a pool with a parity1: the first version in the buffer must leave room for the parity that
 * must be in the log before the version goes home.
 */
bool kvp_log_has_room_for_parity(struct kvp_log *log, struct kvp_entry_io *e)
{
	struct kvp_wbuf *w = log->wbuf;
	struct kvp_version *d;
	u32 data = 0, reserved = 0;

	kvp_wbuf_lock_lists(w);
	__kvp_wbuf_order(w);
	d = __kvp_wbuf_first(w);
	if (d) {
		data = !d->hole;
		reserved = kvp_log_rows_of(log, d);
	}
	kvp_wbuf_unlock_lists(w);
	e->tight = true;
	return kvp_log_leaves_room(log, e->budget, entry_blocks(log, 1, data), reserved);
}

/* The newest seq that a caller waits for. */
static u64 newest_wanted(struct kvp_log *log)
{
	unsigned long flags;
	u64 seq = 0;

	spin_lock_irqsave(&log->lock, flags);
	if (!list_empty(&log->waiters))
		seq = list_last_entry(&log->waiters, struct kvp_waiter, list)->seq;
	spin_unlock_irqrestore(&log->lock, flags);
	return seq;
}

/*
 * How much data an entry may have. Entries are short as long as no caller waits for durability
 * (kvp_log_ops.quick_data), but not where a request costs a seek. At the end of an interval no
 * caller waits either.
 */
static u32 most_data(struct kvp_log *log)
{
	const struct kvp_vdev *v = log->vdevs->log_vdev;
	u32 i;

	if (READ_ONCE(log->due) || newest_wanted(log) > log->built_seq)
		return KVP_ENTRY_MAX_DATA;
	for (i = 0; i < v->nr_legs; i++)
		if (v->legs[i].rotational)
			return KVP_ENTRY_MAX_DATA;
	return kvp_log_ops(log->vdevs)->quick_data;
}

bool kvp_log_build_entry(struct kvp_log *log)
{
	u32 data = most_data(log), most = min(kvp_wbuf_buffered(log->wbuf), data);
	u32 cap, want = entry_blocks(log, 1, most);
	struct kvp_entry_io *e = kvp_log_free_entry(log);

	lockdep_assert_held(&log->build_lock);
	if (!e)
		return false;
	/*
	 * Set the flag before the tail is read. Code that moves the tail after that clears it
	 * again, and kicks.
	 */
	WRITE_ONCE(log->full, true);
	smp_mb();	/* pairs with kvp_log_retire() */
	cap = kvp_log_room(log, want, &e->budget);
	if (!cap || !kvp_log_ops(log->vdevs)->has_room(log, e)) {
		log->client->destage(log->of, true);
		return false;
	}
	WRITE_ONCE(log->full, false);
	e->data = 0;
	e->intents = 0;
	e->records = 0;
	e->reserved = 0;
	e->appended = false;
	e->rest_waits = false;
	e->append = NULL;
	e->of = NULL;
	e->clean = false;
	e->dropped = false;
	e->again = 0;
	e->last_seq = log->built_seq;
	e->wanted = newest_wanted(log);
	e->most_data = data;
	e->direct = free_direct(log);
	e->may_wait = !e->direct && kvp_log_stream_may_wait(log);
	e->hdr.limit_lsn = 0;
	e->hdr.limit_rec = 0;
	collect(log, e, cap);
	WRITE_ONCE(log->stream_waits, e->may_wait && !e->records);
	if (log->stream_waits)
		return false;
	e->phase = KVP_ENTRY_WRITING;
	if (!e->intents)
		e->direct = NULL;
	kvp_log_fill_entry(log, e);
	kvp_log_send(log, e);
	return true;
}
