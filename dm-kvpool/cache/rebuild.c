// SPDX-License-Identifier: GPL-2.0-only
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "cache/rebuild.h"
#include "cache/scache.h"
#include "core/core.h"
#include "format/summary.h"
#include "io/io.h"
#include "io/mirror.h"
#include "policy/index.h"

#define CHUNK		64u	/* blocks that enter the index under build_lock at once */

static_assert(sizeof(struct kvp_disk_summary) == KVP_SUMMARY_BLOCKS * KVP_BLOCK_SIZE);
static_assert(KVP_SUMMARY_RECORDS >= KVP_SEGMENT_BLOCKS - KVP_SUMMARY_BLOCKS);

static bool in_use(const struct kvp_rebuild *w)
{
	return smp_load_acquire(&w->live);
}

static const struct kvp_scache_client *client(const struct kvp_rebuild *w)
{
	return w->given->client;
}

static void *owner(const struct kvp_rebuild *w)
{
	return w->given->of;
}

static struct kvp_vdev *vdev(const struct kvp_rebuild *w)
{
	return kvp_scache_in_use(w->scache);
}

static const struct kvp_geometry *geometry(const struct kvp_rebuild *w)
{
	return kvp_scache_geometry(w->scache);
}

static u32 segment(const struct kvp_rebuild *w)
{
	return geometry(w)->segment_blocks;
}

/*
 * True while the cache is a ring. While the log moves to the cache, the cache is still a ring,
 * until the log's positions are those of its new place.
 */
static bool is_ring(const struct kvp_rebuild *w, const struct kvp_cache_log *log)
{
	return READ_ONCE(w->ring) || !log->here;
}

/* The number of blocks of a segment that its summary may name. */
static u32 summarised(const struct kvp_rebuild *w)
{
	return segment(w) - kvp_log_kept(geometry(w));
}

static const struct kvp_sb *label(const struct kvp_rebuild *w)
{
	return w->given->sb;
}

static const u8 *uuid_of(const struct kvp_rebuild *w, const struct kvp_leg *leg)
{
	return label(w)->legs[leg->index].uuid;
}

/* --- writing -------------------------------------------------------------------------- */

/*
 * Make the summary of the segment at @lsn from all its blocks in the index that were written since
 * the start. Returns false if there are none.
 * @era: an era that kvp_table_end_era() has ended; the newest now may not have ended
 *
 * Blocks behind the present place of the log, or of the ring, are of the round before. They will be
 * overwritten next. A summary of the segment as it is now does not name them.
 */
static bool summarise(struct kvp_rebuild *w, kvp_lsn_t lsn, u32 era)
{
	u32 n, i, first = kvp_scache_place(w->scache, lsn), found = 0, most;
	kvp_lsn_t end = kvp_scache_passed(w->scache);

	if (!kvp_lsn_before(lsn, end))
		return false;
	most = min_t(u64, kvp_lsn_since(end, lsn), summarised(w));
	/*
	 * The era comes first. A later change has that era, and the index has forgotten blocks that
	 * changed before.
	 */
	kvp_summary_begin(w->out, lsn, era + 1);
	smp_mb();
	n = kvp_scache_live(w->scache, lsn, segment(w), w->live);
	for (i = 0; i < n; i++) {
		const struct kvp_index_entry *e = &w->live[i];
		struct kvp_summary_rec r = {
			.block = kvp_block(e->key), .crc = e->crc, .meta = e->meta,
		};

		if (e->old || e->place - first >= most)
			continue;
		kvp_summary_set(w->out, e->place - first, &r);
		found++;
	}
	return found;
}

/*
 * Make durable what the ring has written, since no other code has flushed it. Every SSD is flushed
 * before any SSD gets the summary, since the summary speaks for all of them. Returns false if a
 * flush failed.
 */
static bool flush_ring(struct kvp_vdev *v)
{
	bool flushed = true;
	u32 i;

	for (i = 0; i < v->nr_legs; i++) {
		struct kvp_io io = { .leg = &v->legs[i], .op = KVP_IO_FLUSH };

		if (!kvp_leg_in_sync(io.leg) || !kvp_io_sync(&io))
			continue;
		kvp_leg_failed_write(io.leg);
		flushed = false;
	}
	return flushed;
}

static void write_copy(struct kvp_rebuild *w, kvp_lsn_t lsn, u32 copy)
{
	struct kvp_place at = kvp_summary_place(geometry(w), lsn, copy);
	struct kvp_leg *leg = &vdev(w)->legs[at.leg];
	struct kvp_io io = {
		.leg = leg,
		.op = KVP_IO_WRITE_FUA,
		.background = true,
		.block = at.block,
		.nr = KVP_SUMMARY_BLOCKS,
		.pages = w->out_pages,
	};

	if (!kvp_leg_in_sync(leg))
		return;
	kvp_summary_seal(w->out, label(w)->nonce, uuid_of(w, leg));
	/* If the write fails, the segment is still there: only the summary is lost. */
	if (kvp_io_sync(&io))
		kvp_leg_failed_write(leg);
}

/*
 * Write the summary of the segment at @lsn to its SSDs.
 * @era: as in summarise()
 * @ring: the ring may have written the segment
 */
static void write_summary(struct kvp_rebuild *w, kvp_lsn_t lsn, u32 era, bool ring)
{
	const struct kvp_geometry *g = geometry(w);
	u32 copies = kvp_summary_copies(g), i;

	if (!summarise(w, lsn, era) || (ring && !flush_ring(vdev(w))))
		return;
	/*
	 * A lost SSD may lack blocks of the segment. Unless its loss is recorded, it may be in use
	 * again after a crash.
	 */
	if (ring && !client(w)->recorded(owner(w)))
		return;
	for (i = 0; i < copies; i++)
		write_copy(w, lsn, i);
	/* a copy that all legs have counts once */
	client(w)->wrote_summary(owner(w), KVP_SUMMARY_BLOCKS * copies / kvp_log_copies(g));
}

/* All that the log wrote below this lsn has entered the index, or is dirty. */
static kvp_lsn_t left_until(const struct kvp_rebuild *w, const struct kvp_cache_log *log)
{
	return is_ring(w, log) ? kvp_scache_passed(w->scache) : log->passed_on;
}

/* The number of whole segments between @at and @until. */
static u64 whole_segments(const struct kvp_rebuild *w, const kvp_lsn_t *at, kvp_lsn_t until)
{
	kvp_lsn_t from = READ_ONCE(*at);

	return kvp_lsn_before(from, until) ?
	       div64_u64(kvp_lsn_since(until, from), segment(w)) : 0;
}

static u64 left_segments(const struct kvp_rebuild *w, const struct kvp_cache_log *log)
{
	return whole_segments(w, &w->left, left_until(w, log));
}

static u64 home_segments(const struct kvp_rebuild *w, const struct kvp_cache_log *log)
{
	return whole_segments(w, &w->home,
			      kvp_lsn_first(left_until(w, log), READ_ONCE(w->all_home)));
}

/* The next segment to write a summary of; NULL if no summary can be written now. */
static kvp_lsn_t *next_to_seal(struct kvp_rebuild *w, const struct kvp_cache_log *log)
{
	if (left_segments(w, log))
		return &w->left;
	return home_segments(w, log) ? &w->home : NULL;
}

u64 kvp_rebuild_unsealed(const struct kvp_rebuild *w)
{
	struct kvp_cache_log log;

	if (!in_use(w))
		return 0;
	kvp_given_look(w->given, &log);
	return left_segments(w, &log) + home_segments(w, &log);
}

static void seal_work(struct work_struct *work)
{
	struct kvp_rebuild *w = container_of(to_delayed_work(work), struct kvp_rebuild, seal_work);
	struct kvp_cache_log log;
	kvp_lsn_t *at, lsn;
	bool ring;
	u32 era;

	while (!READ_ONCE(w->stopped) && kvp_scache_asked(w->scache, 1)) {
		kvp_given_look(w->given, &log);
		ring = is_ring(w, &log);
		at = next_to_seal(w, &log);
		if (!at)
			return;
		smp_rmb();	/* all_home before its era; pairs with kvp_rebuild_checkpointed() */
		era = READ_ONCE(w->era);
		if (!client(w)->end_era(owner(w), era, false)) {
			queue_delayed_work(w->given->wq, &w->seal_work, HZ);
			return;
		}
		lsn = *at;
		write_summary(w, lsn, era, ring);
		/* Move on only if the log has not jumped meanwhile. */
		cmpxchg64(at, lsn, kvp_lsn_add(lsn, segment(w)));
		cond_resched();
	}
}

void kvp_rebuild_kick(struct kvp_rebuild *w, const struct kvp_cache_log *log)
{
	if (in_use(w) && !READ_ONCE(w->stopped) && next_to_seal(w, log))
		queue_delayed_work(w->given->wq, &w->seal_work, 0);
}

void kvp_rebuild_checkpointed(struct kvp_rebuild *w, u32 era, kvp_lsn_t passed, kvp_lsn_t home,
			      const struct kvp_cache_log *log)
{
	/* No entry of the log below the new tail has a later era. */
	WRITE_ONCE(w->era, era);
	smp_wmb();
	if (!in_use(w))
		return;
	if (is_ring(w, log))
		WRITE_ONCE(w->all_home, passed);
	else if (home)
		WRITE_ONCE(w->all_home, home);
	kvp_rebuild_kick(w, log);
}

void kvp_rebuild_jumped(struct kvp_rebuild *w, bool here, kvp_lsn_t lsn)
{
	WRITE_ONCE(w->ring, !here);
	if (w->ring)
		return;
	WRITE_ONCE(w->left, lsn);
	WRITE_ONCE(w->home, lsn);
}

bool kvp_rebuild_write_rest(struct kvp_rebuild *w)
{
	u32 era = READ_ONCE(w->era);
	struct kvp_cache_log log;
	kvp_lsn_t lsn, end;

	if (!in_use(w) || !kvp_scache_asked(w->scache, 1))
		return false;
	kvp_given_look(w->given, &log);
	end = kvp_scache_passed(w->scache);
	if (client(w)->end_era(owner(w), era, true))
		for (lsn = w->home; kvp_lsn_before(lsn, end); lsn = kvp_lsn_add(lsn, segment(w)))
			write_summary(w, lsn, era, is_ring(w, &log));
	return is_ring(w, &log);
}

/* --- reading ---------------------------------------------------------------------------- */

/* Summaries that are read together, while the blocks of those before them enter the index. */
struct kvp_rebuild_batch {
	struct kvp_io_group group;
	struct kvp_io ios[KVP_REBUILD_READS];
	/* the leg of each; NULL: it did not answer */
	struct kvp_leg *legs[KVP_REBUILD_READS];
	kvp_lsn_t lsn;		/* behind the segment of the first; the others lie before it */
	u32 first, nr;				/* of them in w->in */
};

static struct kvp_disk_summary *read_summary(struct kvp_rebuild *w, u32 i)
{
	return &w->in[i];
}

/* Choose a leg to read the summary of the segment at @lsn from, as kvp_leg_choose_log() does. */
static struct kvp_leg *choose_leg(const struct kvp_rebuild *w, kvp_lsn_t lsn, kvp_lblock_t *block)
{
	struct kvp_leg *leg = NULL;
	u32 i;

	for (i = 0; !leg && i < kvp_summary_copies(geometry(w)); i++) {
		struct kvp_place at = kvp_summary_place(geometry(w), lsn, i);

		leg = kvp_leg_choose_log(vdev(w), at, KVP_SUMMARY_BLOCKS);
		*block = at.block;
	}
	return leg;
}

/*
 * Begin to read some summaries from the one below @next on downwards, each from some leg. Returns
 * how many.
 */
static u32 begin_some(struct kvp_rebuild *w, struct kvp_rebuild_batch *b, kvp_lsn_t next)
{
	struct kvp_leg **legs = b->legs;
	struct kvp_io *ios = b->ios;
	u32 n;

	memset(b->ios, 0, sizeof(b->ios));
	b->lsn = next;
	kvp_io_group_init(&b->group);
	for (n = 0; n < KVP_REBUILD_READS; n++) {
		kvp_lsn_t lsn = kvp_lsn_back(next, (n + 1) * segment(w));

		if (!kvp_scache_may_have_old(w->scache, lsn))
			break;
		legs[n] = choose_leg(w, lsn, &ios[n].block);
		if (!legs[n])
			break;
		ios[n].leg = legs[n];
		ios[n].chosen = true;
		ios[n].op = KVP_IO_READ;
		ios[n].background = true;
		ios[n].nr = KVP_SUMMARY_BLOCKS;
		ios[n].pages = &w->in_pages[(b->first + n) * KVP_SUMMARY_BLOCKS];
		kvp_io_group_submit(&b->group, &ios[n]);
	}
	b->nr = n;
	return n;
}

static void end_some(struct kvp_rebuild_batch *b)
{
	u32 i;

	kvp_io_group_wait(&b->group);
	for (i = 0; i < b->nr; i++) {
		if (b->ios[i].error) {
			atomic64_inc(&b->legs[i]->err_read);
			b->legs[i] = NULL;
		}
	}
}

static bool is_valid(struct kvp_rebuild *w, const struct kvp_leg *leg, u32 i, kvp_lsn_t lsn)
{
	return kvp_summary_valid(read_summary(w, i), label(w)->nonce, uuid_of(w, leg), lsn,
				 w->most);
}

/*
 * True if a good summary of the segment at @lsn is in w->in[@i]. It was read from @leg, unless that
 * is NULL. If it is no good, read the copies of other legs.
 */
static bool find_good(struct kvp_rebuild *w, struct kvp_leg *leg, u32 i, kvp_lsn_t lsn)
{
	const struct kvp_geometry *g = geometry(w);
	u32 n;

	if (leg && is_valid(w, leg, i, lsn))
		return true;
	for (n = 0; n < kvp_summary_copies(g); n++) {
		struct kvp_place at = kvp_summary_place(g, lsn, n);
		struct kvp_io io = {
			.leg = &vdev(w)->legs[at.leg],
			.op = KVP_IO_READ,
			.background = true,
			.block = at.block,
			.nr = KVP_SUMMARY_BLOCKS,
			.pages = &w->in_pages[i * KVP_SUMMARY_BLOCKS],
		};

		if (io.leg != leg && kvp_leg_in_sync(io.leg) && !kvp_io_sync(&io) &&
		    is_valid(w, io.leg, i, lsn))
			return true;
	}
	return false;
}

/*
 * Enter the blocks that @d names in the segment at @lsn into the index. Returns false if the log
 * has overwritten the segment.
 */
static bool restore_segment(struct kvp_rebuild *w, const struct kvp_disk_summary *d, kvp_lsn_t lsn)
{
	u32 first = kvp_scache_place(w->scache, lsn), at = 0, n, end = summarised(w);
	struct kvp_index_entry e[CHUNK];
	struct kvp_summary_rec r;
	int kept;

	kvp_scache_set_era(w->scache, first, le32_to_cpu(d->era));
	w->summaries++;
	while (at < end) {
		for (n = 0; n < CHUNK && at < end; at++) {
			if (!kvp_summary_get(d, at, label(w)->pool_blocks, &r))
				continue;
			e[n++] = (struct kvp_index_entry){
				.key = kvp_block_nr(r.block), .place = first + at, .crc = r.crc,
				.meta = r.meta, .old = true,
			};
		}
		kept = n ? kvp_scache_restore(w->scache, lsn, e, n) : 0;
		if (kept < 0)
			return false;
		WRITE_ONCE(w->restored, w->restored + kept);
		cond_resched();
	}
	return true;
}

/*
 * Enter the blocks of the summaries that were read into the index. Returns false if the log has
 * overwritten them, or memory is short.
 */
static bool restore_some(struct kvp_rebuild *w, const struct kvp_rebuild_batch *b)
{
	u32 i;

	for (i = 0; i < b->nr; i++) {
		kvp_lsn_t lsn = kvp_lsn_back(w->next, segment(w));

		if (find_good(w, b->legs[i], b->first + i, lsn) &&
		    (!kvp_scache_make_room(w->scache, lsn) ||
		     !restore_segment(w, read_summary(w, b->first + i), lsn)))
			return false;
		w->next = lsn;
	}
	return true;
}

/* Read all summaries that are left. Returns false if the rebuild was stopped before the end. */
static bool restore_all(struct kvp_rebuild *w)
{
	struct kvp_rebuild_batch *now = w->batches, *then = now + 1;
	bool good = true;

	now->first = 0;
	then->first = KVP_REBUILD_READS;
	begin_some(w, now, w->next);
	while (now->nr && good && !READ_ONCE(w->stopped)) {
		begin_some(w, then, kvp_lsn_back(now->lsn, now->nr * segment(w)));
		end_some(now);
		good = restore_some(w, now);
		swap(now, then);
	}
	end_some(now);
	return !good || !now->nr;
}

static void restore_work(struct work_struct *work)
{
	struct kvp_rebuild *w = container_of(work, struct kvp_rebuild, restore_work);

	if (!restore_all(w))
		return;
	/* Until here w->ms is 0. */
	WRITE_ONCE(w->ms, max_t(u64, 1, ktime_ms_delta(ktime_get(), w->since)));
	WRITE_ONCE(w->restoring, false);
	if (w->restored)
		client(w)->restored(owner(w), w->restored, w->summaries, w->ms);
}

/* --- life ------------------------------------------------------------------------------------ */

static void note_pages(struct page **pages, void *buf, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		pages[i] = vmalloc_to_page(buf + i * KVP_BLOCK_SIZE);
}

static void free_all(struct kvp_rebuild *w, struct kvp_index_entry *live)
{
	vfree(w->in);
	vfree(w->out);
	kvfree(w->batches);
	kvfree(live);
	w->in = NULL;
	w->out = NULL;
	w->batches = NULL;
	w->live = NULL;
}

int kvp_rebuild_start(struct kvp_rebuild *w, struct kvp_scache *s)
{
	struct kvp_index_entry *live;
	struct kvp_cache_log log;

	if (!kvp_scache_size(s) || in_use(w))
		return 0;
	w->scache = s;
	w->given = kvp_scache_given(s);
	INIT_WORK(&w->restore_work, restore_work);
	INIT_DELAYED_WORK(&w->seal_work, seal_work);
	w->in = vmalloc(2 * KVP_REBUILD_READS * sizeof(*w->in));
	w->batches = kvcalloc(2, sizeof(*w->batches), GFP_KERNEL);
	w->out = vmalloc(sizeof(*w->out));
	live = kvcalloc(segment(w), sizeof(*live), GFP_KERNEL);
	if (!w->in || !w->out || !w->batches || !live || kvp_scache_expect_old(s)) {
		free_all(w, live);
		return -ENOMEM;
	}
	note_pages(w->in_pages, w->in, 2 * KVP_REBUILD_READS * KVP_SUMMARY_BLOCKS);
	note_pages(w->out_pages, w->out, KVP_SUMMARY_BLOCKS);
	kvp_given_lock(w->given);
	kvp_given_look(w->given, &log);
	w->next = kvp_lsn_down(kvp_scache_passed(s), segment(w));
	w->left = w->next;
	w->home = w->next;
	w->ring = !log.here;
	kvp_given_unlock(w->given);
	w->era = client(w)->era(owner(w));
	w->most = w->era + 1;
	w->since = ktime_get();
	w->restoring = true;
	smp_store_release(&w->live, live);
	queue_work(w->given->wq, &w->restore_work);
	return 0;
}

u64 kvp_rebuild_bytes(const struct kvp_rebuild *w)
{
	if (!in_use(w))
		return 0;
	return kvp_scache_eras_bytes(w->scache) +
	       (2 * KVP_REBUILD_READS + 1) * sizeof(*w->in) + 2 * sizeof(*w->batches) +
	       segment(w) * sizeof(*w->live);
}

void kvp_rebuild_stop(struct kvp_rebuild *w)
{
	if (!in_use(w))
		return;
	WRITE_ONCE(w->stopped, true);
	cancel_work_sync(&w->restore_work);
	cancel_delayed_work_sync(&w->seal_work);
}

void kvp_rebuild_unstop(struct kvp_rebuild *w)
{
	struct kvp_cache_log log;

	if (!in_use(w))
		return;
	WRITE_ONCE(w->stopped, false);
	if (w->restoring)
		queue_work(w->given->wq, &w->restore_work);
	kvp_given_look(w->given, &log);
	kvp_rebuild_kick(w, &log);
}

void kvp_rebuild_exit(struct kvp_rebuild *w)
{
	if (!in_use(w))
		return;
	kvp_rebuild_stop(w);
	free_all(w, w->live);
	memset(w, 0, sizeof(*w));
}
