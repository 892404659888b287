// SPDX-License-Identifier: GPL-2.0-only
#include <linux/gfp.h>
#include <linux/hash.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "cache/admission.h"
#include "cache/reinsert.h"
#include "cache/scache.h"
#include "core/core.h"
#include "core/stats.h"
#include "format/logstripe.h"
#include "io/io.h"
#include "policy/ghost.h"
#include "policy/index.h"
#include "policy/runs.h"
#include "policy/ssdpolicy.h"
#include "ram/wbuf.h"

/* Admission is not worth a reclaim, nor the reserves for reclaim. */
#define FILL_GFP	(GFP_NOWAIT | __GFP_NORETRY | __GFP_NOWARN | __GFP_NOMEMALLOC)
#define NOTHING		KVP_BLOCK_NONE

static const struct kvp_scache_client *client(const struct kvp_admission *f)
{
	return f->given->client;
}

static void *owner(const struct kvp_admission *f)
{
	return f->given->of;
}

static struct workqueue_struct *queue(const struct kvp_admission *f)
{
	return f->given->wq;
}

static u64 tunable(const struct kvp_admission *f, enum kvp_tunable_id id)
{
	return READ_ONCE(f->given->tunables[id]);
}

/* --- changes ------------------------------------------------------------------------ */

static atomic_t *count_of(const struct kvp_admission *f, kvp_block_t block)
{
	u64 stretch = kvp_block_nr(block) >> KVP_ADMIT_STRETCH_SHIFT;

	return &f->changes[hash_64(stretch, KVP_ADMIT_COUNT_BITS)];
}

void kvp_admit_changed(struct kvp_admission *f, kvp_block_t block, u32 count)
{
	u64 first = kvp_block_nr(block), stretch = first >> KVP_ADMIT_STRETCH_SHIFT;
	u64 last = (first + count - 1) >> KVP_ADMIT_STRETCH_SHIFT;

	/*
	 * A full barrier on both sides. Before it: the changes of the entries. After it: the
	 * changes of the index, and of the buffer.
	 */
	for (; kvp_admit_in_use(f) && stretch <= last; stretch++)
		atomic_inc_return(count_of(f, kvp_block(stretch << KVP_ADMIT_STRETCH_SHIFT)));
}

/* Counts only grow: their sum is unchanged if and only if each of them is. */
static u32 changes_of(const struct kvp_admission *f, kvp_block_t first, u32 count)
{
	u64 stretch = kvp_block_nr(first) >> KVP_ADMIT_STRETCH_SHIFT;
	u64 last = kvp_block_nr(kvp_block_add(first, count - 1)) >> KVP_ADMIT_STRETCH_SHIFT;
	u32 sum = 0;

	for (; stretch <= last; stretch++)
		sum += (u32)atomic_read(count_of(f, kvp_block(stretch << KVP_ADMIT_STRETCH_SHIFT)));
	return sum;
}

static void refuse(const struct kvp_admission *f, enum kvp_admit_refusal why, u32 blocks)
{
	this_cpu_add(f->given->stats->ssd_refused[why], blocks);
}

/*
 * Count a refused block from home. A refused reinsertion does not count here: its block leaves the
 * cache.
 */
static void refuse_one(const struct kvp_admission *f, enum kvp_admit_refusal why,
		       const struct kvp_candidate *c)
{
	refuse(f, why, c->from == KVP_FROM_HOME);
}

/* --- candidates ------------------------------------------------------------------------ */

bool kvp_admit_consider(struct kvp_admission *f, kvp_block_t first, u32 count, u32 ask,
			struct kvp_admit_plan *plan)
{
	u32 cutoff = tunable(f, KVP_T_SEQ_CUTOFF_READ) >> KVP_BLOCK_SHIFT;
	bool fills;

	if (READ_ONCE(f->stopped))
		return false;
	fills = !kvp_ssd_bypass(ask, false, count,
				kvp_run_note(&f->runs, kvp_block_nr(first), count, false), cutoff);
	if (!fills)
		refuse(f, KVP_ADMIT_STREAM, count);
	if (!fills || !kvp_scache_asked(f->scache, count))
		return false;
	plan->first = first;
	plan->count = count;
	plan->ask = ask;
	plan->token = changes_of(f, first, count);
	smp_rmb();	/* the counts before the table's entries; pairs with kvp_admit_changed() */
	return true;
}

/* True if another read has brought the block, and it waits or is being written. */
static bool __is_known(const struct kvp_admission *f, kvp_block_t block)
{
	u32 i;

	lockdep_assert_held(&f->lock);
	for (i = 0; i < KVP_ADMIT_BLOCKS; i++)
		if (f->candidates[i].block == block)
			return true;
	return false;
}

/* Per cent of the cache a day; a message may have changed it. */
static u32 budget(const struct kvp_admission *f)
{
	return (u32)tunable(f, KVP_T_FILL_DWPD);
}

static bool __admitted(struct kvp_admission *f, kvp_block_t block, u32 ask)
{
	struct kvp_ssd_state st = {
		.now = ktime_get_seconds(),
		.unused = kvp_scache_unused(f->scache),
		.count = f->count,
	};
	enum kvp_ssd_verdict verdict;

	lockdep_assert_held(&f->lock);
	kvp_ssd_set_budget(&f->policy, budget(f));
	verdict = kvp_ssd_admit(&f->policy, kvp_block_nr(block), ask, &st);
	if (verdict != KVP_SSD_ADMIT)
		refuse(f, verdict == KVP_SSD_BUDGET ? KVP_ADMIT_BUDGET : KVP_ADMIT_EVIDENCE, 1);
	return verdict == KVP_SSD_ADMIT;
}

/* Free @c, which is on no list. Admission gets the credit of a block back that was not @written. */
static void __give_back(struct kvp_admission *f, struct kvp_candidate *c, bool written)
{
	lockdep_assert_held(&f->lock);
	if (!written && !c->written && c->from == KVP_FROM_HOME)
		kvp_ssd_refund(&f->policy);
	c->block = NOTHING;
	c->written = false;
	list_add(&c->list, &f->free);
}

static void give_all_back(struct kvp_admission *f, struct list_head *list, bool written)
{
	struct kvp_candidate *c, *next;
	unsigned long flags;

	if (list_empty(list))
		return;
	spin_lock_irqsave(&f->lock, flags);
	list_for_each_entry_safe(c, next, list, list) {
		list_del(&c->list);
		__give_back(f, c, written);
	}
	spin_unlock_irqrestore(&f->lock, flags);
}

static void give_back(struct kvp_admission *f, struct kvp_candidate *c)
{
	unsigned long flags;

	spin_lock_irqsave(&f->lock, flags);
	__give_back(f, c, false);
	spin_unlock_irqrestore(&f->lock, flags);
}

static struct kvp_candidate *take_free(struct kvp_admission *f, kvp_block_t block, u32 ask)
{
	struct kvp_candidate *c;
	unsigned long flags;

	spin_lock_irqsave(&f->lock, flags);
	c = list_first_entry_or_null(&f->free, struct kvp_candidate, list);
	if (!c)
		refuse(f, KVP_ADMIT_MEMORY, 1);
	if (c && (__is_known(f, block) || !__admitted(f, block, ask)))
		c = NULL;
	if (c) {
		list_del(&c->list);
		c->block = block;
		c->from = KVP_FROM_HOME;
		c->meta = ask & KVP_ASK_META;
	}
	spin_unlock_irqrestore(&f->lock, flags);
	return c;
}

struct kvp_candidate *kvp_admit_begin(struct kvp_admission *f, kvp_block_t block,
				     const struct kvp_admit_plan *plan)
{
	u32 changes = (u32)atomic_read(count_of(f, block));
	struct kvp_candidate *c;

	/*
	 * @changes is valid for the block only if no count of the read's blocks has changed since
	 *	before the read.
	 */
	smp_rmb();
	if (READ_ONCE(f->stopped))
		return NULL;
	if (changes_of(f, plan->first, plan->count) != plan->token) {
		refuse(f, KVP_ADMIT_CHANGED, 1);
		return NULL;
	}
	c = take_free(f, block, plan->ask);
	if (!c)
		return NULL;
	c->changes = changes;
	if (!c->page)
		c->page = alloc_page(FILL_GFP);
	if (c->page)
		return c;
	refuse(f, KVP_ADMIT_MEMORY, 1);
	give_back(f, c);
	return NULL;
}

u32 kvp_admit_keep(struct kvp_admission *f, const struct kvp_index_entry *e, u32 n, bool *keep)
{
	struct kvp_ssd_state st = { .now = ktime_get_seconds() };
	unsigned long flags;
	u32 kept;

	spin_lock_irqsave(&f->lock, flags);
	st.count = f->count;
	kept = kvp_ssd_reinsert(&f->policy, e, n, &st, keep);
	spin_unlock_irqrestore(&f->lock, flags);
	return kept;
}

struct kvp_candidate *kvp_admit_begin_again(struct kvp_admission *f,
					    const struct kvp_index_entry *e)
{
	struct kvp_candidate *c;
	unsigned long flags;

	spin_lock_irqsave(&f->lock, flags);
	c = list_first_entry_or_null(&f->free, struct kvp_candidate, list);
	if (c) {
		list_del(&c->list);
		c->block = kvp_block(e->key);
		c->from = e->place;
		c->meta = e->meta;
		c->changes = (u32)atomic_read(count_of(f, kvp_block(e->key)));
	}
	spin_unlock_irqrestore(&f->lock, flags);
	if (!c)
		return NULL;
	smp_rmb();	/* the count before the table's entry; pairs with kvp_admit_changed() */
	if (!c->page)
		c->page = alloc_page(FILL_GFP);
	if (c->page)
		return c;
	give_back(f, c);
	return NULL;
}

void kvp_admit_drop(struct kvp_admission *f, struct kvp_candidate *c)
{
	give_back(f, c);
}

void kvp_admit_add(struct kvp_admission *f, struct kvp_candidate *c, u32 crc)
{
	c->crc = crc;
	/* Counted first, so that @nr_waiting is never less than the lists have. */
	atomic_inc(&f->nr_waiting);
	llist_add(&c->added, &f->added);
	kvp_admit_kick(f);
}

/* --- into the log ------------------------------------------------------------------------ */

void kvp_admit_kick(struct kvp_admission *f)
{
	u32 waiting;

	if (!kvp_admit_in_use(f))
		return;
	/*
	 * kvp_admit_add() looks here after it has added, and the end of an entry after it has
	 * ended. So one of them sees the other.
	 */
	smp_mb();
	waiting = (u32)atomic_read(&f->nr_waiting);
	if (!waiting || READ_ONCE(f->busy) || READ_ONCE(f->stopped))
		return;
	if (waiting >= KVP_ADMIT_ENTRY)
		mod_delayed_work(queue(f), &f->work, 0);
	else
		queue_delayed_work(queue(f), &f->work, READ_ONCE(f->gather));
}

/*
 * True if the block would be of use in the log: it has not changed, and the buffer has no newer
 * one.
 */
static bool is_current(const struct kvp_admission *f, const struct kvp_candidate *c)
{
	/* the version may still be in the buffer */
	return (u32)atomic_read(count_of(f, c->block)) == c->changes &&
	       (c->written || !kvp_wbuf_any(f->wbuf, c->block, 1));
}

static void refuse_all(struct kvp_admission *f, struct list_head *list)
{
	struct kvp_candidate *c;

	list_for_each_entry(c, list, list)
		refuse_one(f, KVP_ADMIT_LOG, c);
	give_all_back(f, list, false);
}

/*
 * The most candidates that one entry takes. In a cache of kind parity1 the parity counts, too: the
 * whole entry is as long as on another cache (kvp_log_room()).
 */
static u32 most_of_entry(const struct kvp_admission *f)
{
	return kvp_log_entry_most(kvp_scache_geometry(f->scache), 1, KVP_ADMIT_ENTRY + 1);
}

/* Move the candidates of @added behind those that wait, in the order in which they were added. */
static void __gather(struct kvp_admission *f)
{
	struct llist_node *at = llist_reverse_order(llist_del_all(&f->added));

	lockdep_assert_held(&f->lock);
	while (at) {
		struct kvp_candidate *c = llist_entry(at, struct kvp_candidate, added);

		at = at->next;
		list_add_tail(&c->list, &f->waiting);
	}
}

/* Take up to @most candidates from the head of the waiting ones. Returns how many. */
static u32 take_some(struct kvp_admission *f, struct list_head *to, u32 most)
{
	struct kvp_candidate *c, *next;
	unsigned long flags;
	u32 n = 0;

	spin_lock_irqsave(&f->lock, flags);
	__gather(f);
	list_for_each_entry_safe(c, next, &f->waiting, list) {
		if (n == most)
			break;
		list_move_tail(&c->list, to);
		n++;
	}
	atomic_sub(n, &f->nr_waiting);
	spin_unlock_irqrestore(&f->lock, flags);
	return n;
}

/*
 * Take useful candidates from the head of the waiting ones, as many as fit into an entry. Returns
 * how many.
 */
static u32 take_waiting(struct kvp_admission *f, struct list_head *taken)
{
	u32 n = 0, most = most_of_entry(f), some;
	struct kvp_candidate *c, *next;
	LIST_HEAD(these);
	LIST_HEAD(stale);

	do {
		some = take_some(f, &these, most - n);
		list_for_each_entry_safe(c, next, &these, list) {
			bool good = is_current(f, c);

			if (!good)
				refuse_one(f, KVP_ADMIT_CHANGED, c);
			list_move_tail(&c->list, good ? taken : &stale);
			n += good;
		}
	} while (some && n < most);
	give_all_back(f, &stale, false);
	return n;
}

static void put_back(struct kvp_admission *f, struct list_head *taken, u32 n)
{
	unsigned long flags;

	spin_lock_irqsave(&f->lock, flags);
	list_splice_init(taken, &f->waiting);
	atomic_add(n, &f->nr_waiting);
	spin_unlock_irqrestore(&f->lock, flags);
}

void kvp_admit_sent(struct kvp_admission *f, struct list_head *taken)
{
	unsigned long flags;

	WRITE_ONCE(f->busy, true);
	spin_lock_irqsave(&f->lock, flags);
	list_splice_init(taken, &f->sent);
	spin_unlock_irqrestore(&f->lock, flags);
}

/* --- into the ring -------------------------------------------------------------------------- */

static void ring_put(struct kvp_admission *f)
{
	if (atomic_dec_and_test(&f->ring_pending))
		queue_work(queue(f), &f->ring_work);
}

static void ring_io_done(struct kvp_io *io)
{
	if (io->error)
		kvp_leg_failed_write(io->leg);
	ring_put(io->private);
}

/* Send @nr pages from @first on to the leg. Not if the leg is gone: then no read would ask it. */
static void send_to_leg(struct kvp_admission *f, struct kvp_leg *leg, struct kvp_io *io,
			kvp_lblock_t block, u32 first, u32 nr)
{
	if (!nr || !kvp_leg_in_sync(leg))
		return;
	io->leg = leg;
	io->op = KVP_IO_WRITE;
	io->block = block;
	io->nr = nr;
	io->pages = &f->ring_pages[first];
	io->done = ring_io_done;
	io->private = f;
	atomic_inc(&f->ring_pending);
	kvp_io_submit(io);
}

/* Send the blocks from ring_lsn on, one request for each leg that gets some (kvp_ring_at()). */
static void send_pieces(struct kvp_admission *f, struct kvp_vdev *v)
{
	u32 legs = kvp_ring_legs(v->g), k, i, first = 0, nr;

	memset(f->ring_ios, 0, sizeof(f->ring_ios));
	for (k = 0; k < legs && k < f->ring_nr; k++) {
		struct kvp_place at = kvp_log_place(v->g, kvp_lsn_add(f->ring_lsn, k), 0);

		nr = kvp_ring_piece(legs, f->ring_nr, k);
		/* Either all legs have the same blocks, or only this one has them. */
		for (i = 0; i < v->nr_legs; i++)
			if (legs == 1 || i == at.leg)
				send_to_leg(f, &v->legs[i], &f->ring_ios[i], at.block, first, nr);
		first += nr;
	}
}

/*
 * Send the candidates to the ring. No request waits for the write, so it has no FUA. Caller holds
 * the client's lock.
 */
static void send_to_ring(struct kvp_admission *f, struct list_head *taken, u32 n)
{
	struct kvp_candidate *c;
	u32 i = 0;

	WRITE_ONCE(f->busy, true);
	f->ring_lsn = kvp_scache_ring(f->scache, n);
	f->ring_nr = n;
	f->ring_again = 0;
	list_for_each_entry(c, taken, list) {
		f->ring_pages[i++] = c->page;
		f->ring_again += c->from != KVP_FROM_HOME;
	}
	spin_lock_irq(&f->lock);
	list_splice_init(taken, &f->sent);
	spin_unlock_irq(&f->lock);
	atomic_set(&f->ring_pending, 1);
	send_pieces(f, kvp_scache_in_use(f->scache));
	ring_put(f);
}

/*
 * True if all SSDs asked took the write, and at least one was asked. An SSD that failed has other
 * blocks there. It is given up, like one that fails a log write.
 */
static bool ring_taken(struct kvp_admission *f)
{
	bool taken = false, failed = false;
	u32 i;

	for (i = 0; i < KVP_MAX_MIRROR_LEGS; i++) {
		struct kvp_io *io = &f->ring_ios[i];

		if (io->leg && io->error) {
			kvp_leg_give_up(io->leg, "a write to the cache failed");
			failed = true;
		}
		taken |= io->leg && !io->error;
	}
	return taken && !failed;
}

static void enter_sent(struct kvp_admission *f, const struct kvp_log_hdr *h);
static void drop_sent(struct kvp_admission *f);

static void ring_work(struct work_struct *work)
{
	struct kvp_admission *f = container_of(work, struct kvp_admission, ring_work);

	if (ring_taken(f)) {
		client(f)->wrote_ring(owner(f), f->ring_nr - f->ring_again, f->ring_again);
		enter_sent(f, NULL);
	} else {
		drop_sent(f);
	}
	client(f)->ring_ended(owner(f));
}

void kvp_admit_written(struct kvp_admission *f, const struct kvp_version *d)
{
	struct kvp_candidate *c;
	unsigned long flags;

	if (!kvp_admit_in_use(f) || READ_ONCE(f->stopped) || !d->page ||
	    !kvp_scache_asked(f->scache, 1) ||
	    tunable(f, KVP_T_CACHE_MODE) != KVP_CACHE_WRITETHROUGH)
		return;
	spin_lock_irqsave(&f->lock, flags);
	c = list_first_entry_or_null(&f->free, struct kvp_candidate, list);
	if (c)
		list_del(&c->list);
	spin_unlock_irqrestore(&f->lock, flags);
	if (!c) {
		refuse(f, KVP_ADMIT_MEMORY, 1);
		return;
	}
	c->block = d->block;
	c->from = KVP_FROM_HOME;
	c->meta = false;
	c->written = true;
	c->changes = (u32)atomic_read(count_of(f, d->block));
	if (!c->page)
		c->page = alloc_page(FILL_GFP);
	if (!c->page) {
		refuse(f, KVP_ADMIT_MEMORY, 1);
		give_back(f, c);
		return;
	}
	memcpy(page_address(c->page), page_address(d->page), KVP_BLOCK_SIZE);
	kvp_admit_add(f, c, d->crc);
}

/* Append the candidates, or say why not. No request waits for them, so they must not delay one. */
static enum kvp_clean_outcome append(struct kvp_admission *f, struct list_head *taken, u32 n)
{
	enum kvp_clean_outcome outcome;

	if (READ_ONCE(f->stopped) || !kvp_scache_asked(f->scache, 1))
		return KVP_CLEAN_NEVER;
	outcome = client(f)->append(owner(f), taken, n);
	if (outcome != KVP_CLEAN_ELSEWHERE)
		return outcome;
	if (f->busy || !kvp_scache_claimed(f->scache))
		return KVP_CLEAN_LATER;
	send_to_ring(f, taken, n);
	return KVP_CLEAN_SENT;
}

/* Tell the policy how much the index holds, once a second. */
static void count_index(struct kvp_admission *f)
{
	struct kvp_index_count count;
	unsigned long flags;
	u64 now = ktime_get_seconds();

	if (now == f->counted)
		return;
	f->counted = now;
	kvp_scache_count(f->scache, &count);
	spin_lock_irqsave(&f->lock, flags);
	f->count = count;
	spin_unlock_irqrestore(&f->lock, flags);
}

/* Append one entry: only one is in flight at a time. Its completion looks for more. */
static void fill_work(struct work_struct *work)
{
	struct kvp_admission *f = container_of(to_delayed_work(work), struct kvp_admission, work);
	enum kvp_clean_outcome outcome;
	LIST_HEAD(taken);
	u32 n;

	count_index(f);
	if (READ_ONCE(f->busy))
		return;
	n = take_waiting(f, &taken);
	if (!n)
		return;
	if (!kvp_scache_claim(f->scache)) {
		for (; n; n = take_waiting(f, &taken))
			refuse_all(f, &taken);
		return;
	}
	kvp_given_lock(f->given);
	outcome = append(f, &taken, n);
	kvp_given_unlock(f->given);
	if (outcome == KVP_CLEAN_LATER) {
		put_back(f, &taken, n);
		/*
		 * The obstacle may be gone, and the code that removed it may have found no waiting
		 * candidate.
		 */
		smp_mb();
		if (client(f)->may_append(owner(f)))
			kvp_admit_kick(f);
	} else if (outcome == KVP_CLEAN_NEVER) {
		/* All others that wait would be refused, too. */
		for (; n; n = take_waiting(f, &taken))
			refuse_all(f, &taken);
	}
}

static void take_sent(struct kvp_admission *f, struct list_head *sent)
{
	unsigned long flags;

	spin_lock_irqsave(&f->lock, flags);
	list_splice_init(&f->sent, sent);
	spin_unlock_irqrestore(&f->lock, flags);
}

/* The block at @lsn is durable: it enters the index now, unless it has changed. */
static void enter(struct kvp_admission *f, const struct kvp_candidate *c, kvp_lsn_t lsn)
{
	struct kvp_index_entry x = {
		.key = kvp_block_nr(c->block), .crc = c->crc, .meta = c->meta,
	};
	const atomic_t *changes = count_of(f, c->block);
	struct kvp_stats __percpu *stats = f->given->stats;
	bool again = c->from != KVP_FROM_HOME;
	struct kvp_cache_log log;
	int ret = -ESTALE;

	kvp_given_look(f->given, &log);
	x.place = c->from;
	/*
	 * If the buffer has a newer version, that would take the block out again as it is written
	 * home.
	 */
	if (!kvp_wbuf_any(f->wbuf, c->block, 1))
		ret = log.moves ? -EINVAL :
		      again ? kvp_scache_move(f->scache, lsn, &x, changes, c->changes) :
			      kvp_scache_fill(f->scache, lsn, &x, changes, c->changes);
	if (ret)
		refuse_one(f, ret == -EINVAL ? KVP_ADMIT_MEMORY :
				 ret == -ENODEV ? KVP_ADMIT_LOG : KVP_ADMIT_CHANGED, c);
	else if (again)
		this_cpu_inc(stats->ssd_reinserted);
	else
		this_cpu_inc(stats->ssd_fills);
}

/*
 * The sent candidates enter the index. They lie in the log, as the payload of the entry with header
 * @h, or in the ring if @h is NULL.
 */
static void enter_sent(struct kvp_admission *f, const struct kvp_log_hdr *h)
{
	const struct kvp_geometry *g = kvp_scache_geometry(f->scache);
	u32 i = 0, legs = kvp_ring_legs(g);
	struct kvp_candidate *c;
	LIST_HEAD(sent);

	take_sent(f, &sent);
	list_for_each_entry(c, &sent, list) {
		enter(f, c, h ? kvp_lsn_add(h->lsn, kvp_log_payload_at(g, h, i)) :
				kvp_lsn_add(f->ring_lsn, kvp_ring_at(legs, f->ring_nr, i)));
		i++;
	}
	give_all_back(f, &sent, true);
	WRITE_ONCE(f->busy, false);
}

void kvp_admit_durable(struct kvp_admission *f, const struct kvp_log_hdr *h)
{
	enter_sent(f, h);
}

static void drop_sent(struct kvp_admission *f)
{
	LIST_HEAD(sent);

	take_sent(f, &sent);
	give_all_back(f, &sent, false);
	WRITE_ONCE(f->busy, false);
}

void kvp_admit_failed(struct kvp_admission *f)
{
	drop_sent(f);
}

/* --- life ------------------------------------------------------------------------------------ */

void kvp_admit_stop(struct kvp_admission *f)
{
	LIST_HEAD(waiting);

	if (!kvp_admit_in_use(f))
		return;
	WRITE_ONCE(f->stopped, true);
	kvp_reinsert_stop(f->reinsert);
	cancel_delayed_work_sync(&f->work);
	client(f)->wait_idle(owner(f));
	(void)take_some(f, &waiting, KVP_ADMIT_BLOCKS);
	give_all_back(f, &waiting, false);
}

void kvp_admit_unstop(struct kvp_admission *f)
{
	WRITE_ONCE(f->stopped, false);
}

static int alloc_policy(struct kvp_admission *f)
{
	struct kvp_scache *s = f->scache;
	/*
	 * Two bytes for each block of the cache. If there is no memory for them, that does no harm.
	 */
	gfp_t gfp = GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN;

	return kvp_ssd_init(&f->policy, kvp_scache_round(s),
			    kvp_scache_geometry(s)->segment_blocks, budget(f), ktime_get_seconds(),
			    get_random_u64(), gfp);
}

int kvp_admit_start(struct kvp_admission *f, struct kvp_scache *s, struct kvp_wbuf *w,
		    struct kvp_reinsert *r)
{
	struct kvp_candidate *candidates;
	u32 i;

	if (!kvp_scache_size(s) || kvp_admit_in_use(f))
		return 0;
	f->scache = s;
	f->given = kvp_scache_given(s);
	f->wbuf = w;
	f->reinsert = r;
	spin_lock_init(&f->lock);
	kvp_runs_init(&f->runs);
	INIT_LIST_HEAD(&f->free);
	INIT_LIST_HEAD(&f->waiting);
	init_llist_head(&f->added);
	atomic_set(&f->nr_waiting, 0);
	INIT_LIST_HEAD(&f->sent);
	f->gather = msecs_to_jiffies(KVP_ADMIT_GATHER_MS);
	INIT_DELAYED_WORK(&f->work, fill_work);
	INIT_WORK(&f->ring_work, ring_work);
	candidates = kvcalloc(KVP_ADMIT_BLOCKS, sizeof(*candidates), GFP_KERNEL);
	f->changes = kvcalloc(1 << KVP_ADMIT_COUNT_BITS, sizeof(*f->changes), GFP_KERNEL);
	if (!candidates || !f->changes || alloc_policy(f)) {
		kvfree(candidates);
		kvfree(f->changes);
		f->changes = NULL;
		return -ENOMEM;
	}
	for (i = 0; i < KVP_ADMIT_BLOCKS; i++) {
		candidates[i].block = NOTHING;
		list_add_tail(&candidates[i].list, &f->free);
	}
	smp_store_release(&f->candidates, candidates);
	return 0;
}

void kvp_admit_exit(struct kvp_admission *f)
{
	u32 i;

	if (!kvp_admit_in_use(f))
		return;
	kvp_reinsert_exit(f->reinsert);
	cancel_delayed_work_sync(&f->work);
	cancel_work_sync(&f->ring_work);
	for (i = 0; i < KVP_ADMIT_BLOCKS; i++)
		if (f->candidates[i].page)
			__free_page(f->candidates[i].page);
	kvfree(f->candidates);
	kvfree(f->changes);
	kvp_ssd_exit(&f->policy);
	memset(f, 0, sizeof(*f));
}

u64 kvp_admit_bytes(const struct kvp_admission *f)
{
	u64 bytes = 0;
	u32 i;

	if (!kvp_admit_in_use(f))
		return 0;
	for (i = 0; i < KVP_ADMIT_BLOCKS; i++)
		bytes += READ_ONCE(f->candidates[i].page) ? KVP_BLOCK_SIZE : 0;
	return bytes + KVP_ADMIT_BLOCKS * sizeof(*f->candidates) +
	       ((u64)sizeof(*f->changes) << KVP_ADMIT_COUNT_BITS) +
	       kvp_ghost_bytes(&f->policy.ghost);
}

/* --- for tests ------------------------------------------------------------------------- */

const char *kvp_admit_check(struct kvp_admission *f)
{
	struct kvp_candidate *c;
	u32 n = 0;

	if (!kvp_admit_in_use(f))
		return NULL;
	list_for_each_entry(c, &f->free, list)
		n++;
	if (n != KVP_ADMIT_BLOCKS || f->busy)
		return "candidates are missing";
	return kvp_ssd_check(&f->policy);
}
