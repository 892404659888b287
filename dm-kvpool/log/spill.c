// SPDX-License-Identifier: GPL-2.0-only
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "core/core.h"
#include "core/log_ops.h"
#include "core/vdev_ops.h"
#include "core/xor.h"
#include "format/logstripe.h"
#include "io/io.h"
#include "io/mirror.h"
#include "log/internal.h"
#include "log/log.h"
#include "log/spill.h"
#include "ram/wbuf.h"

#define BATCH	256u	/* versions that are read at once */
#define RUNS	32u	/* requests that read them */
#define SHARE	256u	/* versions that are spilled at once */

/*
 * How long, in jiffies, to wait for an SSD that does not answer. While the log moves the wait is
 * short: a dead SSD stays silent, and waiters for durability get no answer until the move has
 * ended. For blocks that a recovery has left in the log the wait is always long: RAM never had a
 * copy of them, so the SSDs may have the only ones.
 */
#define PATIENCE	(60 * HZ)
#define PATIENCE_MOVING	(3 * HZ)

/**
 * struct kvp_reload - spilled versions that are being read back
 * @log: their log
 * @silent: an SSD has not answered since @since, and no version came back meanwhile
 * @since: jiffies
 * @nr: number of versions that are being read
 * @nr_ios: number of requests for them
 * @of: the versions
 * @pages: their new pages
 * @io_of: index in @ios of the request of each version; not valid for zeros
 * @ios: the requests
 * @at: the place where each request begins; if all SSDs have copies, on the first SSD
 * @scratch: used to make a block that cannot be read
 */
struct kvp_reload {
	struct kvp_log *log;
	bool silent;
	unsigned long since;
	u32 nr, nr_ios;
	struct kvp_version *of[BATCH];
	struct page *pages[BATCH];
	u8 io_of[BATCH];
	struct kvp_io ios[RUNS];
	struct kvp_place at[RUNS];
	struct page *scratch;
};

int kvp_reload_alloc(struct kvp_log *log, struct kvp_log_memory *m)
{
	struct kvp_reload *r = kvzalloc(sizeof(*r), GFP_KERNEL);

	if (!r)
		return -ENOMEM;
	r->log = log;
	r->scratch = alloc_page(GFP_KERNEL);
	if (!r->scratch || !kvp_wbuf_reserve(log->wbuf)) {
		kvp_reload_free(r);
		return -ENOMEM;
	}
	m->reload = r;
	return 0;
}

void kvp_reload_free(struct kvp_reload *r)
{
	if (r && r->scratch)
		__free_page(r->scratch);
	kvfree(r);
}

/* --- spilling ---------------------------------------------------------------------- */

/*
 * There was no memory to spill: try again later. If no entry is in flight, none will end and start
 * this again. It is queued under the lock, as in entry_ended(), since kvp_log_stop() flushes this
 * work.
 */
static void spill_later(struct kvp_log *log)
{
	unsigned long flags;

	spin_lock_irqsave(&log->lock, flags);
	if (!READ_ONCE(log->stopped))
		queue_delayed_work(log->commit_wq, &log->post_work, HZ / 10);
	spin_unlock_irqrestore(&log->lock, flags);
}

bool kvp_log_of_cache_spills(struct kvp_log *log)
{
	struct kvp_wbuf *w = log->wbuf;
	/*
	 * If no more pages can be allocated, this is the number of pages that the buffer has:
	 * waiters wait for these, not for disks (R24).
	 */
	u32 limit = kvp_wbuf_attainable(w), n = 0;

	if (kvp_wbuf_used(w) <= limit - limit / 4)
		return false;
	/* Once the SSDs are found dead, versions that are in RAM keep their pages. */
	while (kvp_wbuf_used(w) > limit / 2 && !READ_ONCE(log->vdevs->log_moving) && n < SHARE &&
	       kvp_wbuf_spill_oldest(log->wbuf))
		n++;
	if (n)
		log->client->space(log->of);
	if (n < SHARE && kvp_wbuf_used(w) > limit - limit / 4 && kvp_wbuf_paged(w) &&
	    !READ_ONCE(log->vdevs->log_moving))
		spill_later(log);
	return n == SHARE;
}

/* --- reading ------------------------------------------------------------------------- */

/*
 * True if @leg may be read. A leg that failed a write may be, too, as long as the log has not
 * moved. It has all that was acknowledged, and superblocks still call it in sync. SSDs often fail
 * in such a way that they can still be read.
 */
static bool may_ask(const struct kvp_log *log, const struct kvp_leg *leg)
{
	if (kvp_leg_in_sync(leg))
		return true;
	smp_rmb();	/* pairs with the write barrier in take_out(): the state changes last */
	return leg->bdev && READ_ONCE(log->vdevs->log_moving) &&
	       READ_ONCE(log->vdevs->sb->legs[leg->index].state) == KVP_LEG_IN_SYNC;
}

/* The place of the block at @lsn; if all SSDs have copies, on the first one. */
static struct kvp_place place_of(struct kvp_log *log, kvp_lsn_t lsn)
{
	return kvp_log_place(log->vdevs->log_vdev->g, lsn, 0);
}

static bool is_it(struct kvp_log *log, const struct kvp_spilled *p, struct page *page)
{
	return kvp_block_sum(log->seed, p->block, page_address(page)) == p->crc;
}

/*
 * Read the block at @lsn from one SSD, and count errors. -EILSEQ: the SSD does not have the block;
 * -EIO: it does not answer; -EBUSY: it refused the read (kvp_io_ask()).
 */
static int read_from(struct kvp_log *log, struct kvp_leg *leg, kvp_lsn_t lsn, struct page *page,
		     struct kvp_patience *patience)
{
	int error;

	if (!may_ask(log, leg))
		return -EILSEQ;
	error = kvp_io_ask(leg, place_of(log, lsn).block, page, patience);
	if (!error || error == -EBUSY)
		return error;
	atomic64_inc(&leg->err_read);
	return kvp_error_is_loss(error) ? -EILSEQ : -EIO;
}

static int read_copy(struct kvp_log *log, struct kvp_leg *leg, const struct kvp_spilled *p,
		     struct page *page, struct kvp_patience *patience)
{
	int error = read_from(log, leg, p->lsn, page, patience);

	if (error || is_it(log, p, page))
		return error;
	atomic64_inc(&leg->err_checksum);
	return -EILSEQ;
}

/*
 * Ask SSD after SSD. Returns 0: one has given the block; -EIO: one that may have it does not
 * answer; -EILSEQ: none of them has it.
 * @asked: those to ask, as bits; receives those that refused the read
 */
static int ask_ssds(struct kvp_log *log, const struct kvp_spilled *p, struct page *page,
		    unsigned long *asked, struct kvp_patience *patience)
{
	const struct kvp_vdev *v = log->vdevs->log_vdev;
	u32 i, n, first = (u32)(kvp_block_nr(p->block) >> 8);
	unsigned long refused = 0;
	int ret = -EILSEQ, error;

	for (n = 0; n < v->nr_legs; n++) {
		i = (n + first) % v->nr_legs;
		if (!(*asked & BIT(i)))
			continue;
		error = read_copy(log, &v->legs[i], p, page, patience);
		if (!error)
			return 0;
		if (error == -EBUSY)
			refused |= BIT(i);
		else if (ret == -EILSEQ)
			ret = error;
	}
	*asked = refused;
	return ret;
}

/*
 * Read a version from an SSD; all of them have copies. Those that refuse the read are waited for
 * together, if no other has it.
 */
int kvp_spill_read_copies(struct kvp_log *log, const struct kvp_spilled *p, struct page *page,
			  struct page *spare)
{
	struct kvp_patience patience = { 0 };
	unsigned long asked = ~0ul;
	int ret = ask_ssds(log, p, page, &asked, NULL), error;

	while (ret && asked) {
		error = ask_ssds(log, p, page, &asked, &patience);
		if (!error)
			return 0;
		if (ret == -EILSEQ)
			ret = error;
		if (asked)
			kvp_patience_pause();
	}
	return ret;
}

/*
 * Make the block from all others in its row. It is right only if it has its sum. All are asked,
 * unless one is lost, so that those that refuse the read are waited for together. -EBUSY: some
 * refused it, and all others gave their blocks.
 */
static int make_from_row(struct kvp_log *log, const struct kvp_spilled *p, struct page *page,
			 struct page *scratch, struct kvp_patience *patience)
{
	const struct kvp_vdev *v = log->vdevs->log_vdev;
	kvp_lsn_t lsn = kvp_log_row_first(p->lsn, p->row);
	kvp_lsn_t end = kvp_lsn_add(lsn, kvp_log_row_blocks(p->row));
	bool refused = false, silent = false;

	clear_page(page_address(page));
	for (; kvp_lsn_before(lsn, end); lsn = kvp_lsn_add(lsn, 1)) {
		int error = lsn == p->lsn ? 0 :
			    read_from(log, &v->legs[place_of(log, lsn).leg], lsn, scratch,
				      patience);

		if (error == -EILSEQ)
			return error;
		refused |= error == -EBUSY;
		silent |= error == -EIO;
		if (lsn != p->lsn)
			kvp_xor(page, scratch);
	}
	if (silent || refused)
		return silent ? -EIO : -EBUSY;
	return is_it(log, p, page) ? 0 : -EILSEQ;
}

/*
 * The SSD that should have the block did not give it, by error *@error. Make it from the others; if
 * SSDs refuse the reads, wait for all of them together. Returns the error of what was made.
 */
static int make_or_read(struct kvp_log *log, struct kvp_leg *leg, const struct kvp_spilled *p,
			struct page *page, struct page *scratch, int *error)
{
	struct kvp_patience patience = { 0 };
	int made = -EBUSY;

	for (;;) {
		if (made == -EBUSY)
			made = make_from_row(log, p, page, scratch, &patience);
		if (made && *error == -EBUSY)
			*error = read_copy(log, leg, p, page, &patience);
		if (!made || !*error || (made != -EBUSY && *error != -EBUSY))
			return made;
		kvp_patience_pause();
	}
}

int kvp_spill_read_rows(struct kvp_log *log, const struct kvp_spilled *p, struct page *page,
			struct page *spare)
{
	struct kvp_leg *leg = &log->vdevs->log_vdev->legs[place_of(log, p->lsn).leg];
	int error = read_copy(log, leg, p, page, NULL), made;
	struct page *scratch;

	if (!error)
		return 0;
	scratch = spare ?: alloc_page(GFP_NOIO | __GFP_NORETRY | __GFP_NOWARN);
	if (!scratch)
		return -ENOMEM;
	made = make_or_read(log, leg, p, page, scratch, &error);
	if (!spare)
		__free_page(scratch);
	if (!made || !error)
		return 0;
	/*
	 * If it cannot be made from the others, the SSD that should have it may still answer later.
	 */
	return made == -EILSEQ ? error : made;
}

int kvp_spill_read(struct kvp_log *log, const struct kvp_spilled *p, struct page *page,
		  struct page *spare)
{
	return log->vdevs->log_vdev->ops->read_spilled(log, p, page, spare);
}

/* --- back into memory ------------------------------------------------------------------- */

static kvp_lsn_t contents_of(const struct kvp_version *d)
{
	return kvp_lsn_add(d->lsn, d->payload);
}

static struct kvp_spilled spilled_of(const struct kvp_version *d)
{
	return (struct kvp_spilled){ d->block, contents_of(d), d->crc, d->row };
}

/* True if @d lies behind the version that was added last, on the same SSD. */
static bool goes_on(const struct kvp_reload *r, const struct kvp_version *d)
{
	const struct kvp_version *last = r->nr ? r->of[r->nr - 1] : NULL;
	struct kvp_place at = place_of(r->log, contents_of(d)), before;

	if (!last || last->zero)
		return false;
	before = place_of(r->log, contents_of(last));
	return at.leg == before.leg && at.block == kvp_lblock_add(before.block, 1);
}

/* Add @d to the batch. Returns false if there is no page, or no room for one more. */
static bool add_version(struct kvp_reload *r, struct kvp_version *d)
{
	bool own = !d->zero && !goes_on(r, d);
	struct kvp_io *io = &r->ios[r->nr_ios];
	struct page *page;

	if (r->nr == BATCH || (own && r->nr_ios == RUNS))
		return false;
	page = kvp_wbuf_lone_page(r->log->wbuf);
	if (!page)
		return false;
	r->of[r->nr] = d;
	r->pages[r->nr] = page;
	if (own) {
		memset(io, 0, sizeof(*io));
		io->op = KVP_IO_READ;
		r->at[r->nr_ios] = place_of(r->log, contents_of(d));
		io->block = r->at[r->nr_ios].block;
		io->pages = &r->pages[r->nr];
		r->nr_ios++;
	}
	if (!d->zero) {
		r->io_of[r->nr] = r->nr_ios - 1;
		r->ios[r->nr_ios - 1].nr++;
	}
	r->nr++;
	return true;
}

/*
 * Read all versions of the batch. check_one() reads a block by itself once more if it comes wrong,
 * or not at all.
 */
static void read_all(struct kvp_reload *r)
{
	struct kvp_io_group group;
	u32 i;

	kvp_io_group_init(&group);
	for (i = 0; i < r->nr_ios; i++) {
		struct kvp_io *io = &r->ios[i];

		io->leg = kvp_leg_choose_log(r->log->vdevs->log_vdev, r->at[i], io->nr);
		io->chosen = io->leg;
		if (io->leg)
			kvp_io_group_submit(&group, io);
	}
	kvp_io_group_wait(&group);
}

/* If the contents of version @i are not right, ask each SSD for them. */
static int check_one(struct kvp_reload *r, u32 i)
{
	const struct kvp_io *io = &r->ios[r->io_of[i]];
	const struct kvp_version *d = r->of[i];
	struct kvp_spilled p = spilled_of(d);
	struct page *page = r->pages[i];

	if (d->zero) {
		clear_page(page_address(page));
		return 0;
	}
	if (io->leg && !io->error && is_it(r->log, &p, page))
		return 0;
	return kvp_spill_read(r->log, &p, page, r->scratch);
}

/*
 * Read the versions that were added. Returns 0; or the error of the first one that failed, which
 * *@first receives.
 */
static int finish_batch(struct kvp_reload *r, struct kvp_version **first)
{
	int ret = 0;
	u32 i;

	read_all(r);
	for (i = 0; i < r->nr; i++) {
		int error = ret ?: check_one(r, i);

		/*
		 * Readers find the version with its bucket locked, and then must see the page's
		 * contents.
		 */
		if (!error) {
			smp_store_release(&r->of[i]->page, r->pages[i]);
			continue;
		}
		kvp_wbuf_lone_page_free(r->log->wbuf, r->pages[i]);
		if (!ret)
			*first = r->of[i];
		ret = error;
	}
	r->nr = 0;
	r->nr_ios = 0;
	return ret;
}

u32 kvp_reload_copies(struct kvp_log *log, struct kvp_version **of, struct page **pages, u32 n)
{
	struct kvp_reload *r = log->reload;
	u32 i;

	while (r->nr < n && add_version(r, of[r->nr]))
		;
	n = r->nr;
	read_all(r);
	for (i = 0; i < n; i++) {
		pages[i] = r->pages[i];
		if (!check_one(r, i))
			continue;
		kvp_wbuf_lone_page_free(log->wbuf, r->pages[i]);
		pages[i] = NULL;
	}
	r->nr = 0;
	r->nr_ios = 0;
	return n;
}

/*
 * Read all versions that have no page, from the first on. *@stop is the first one that has no page
 * after an error, or NULL.
 */
static int reload_some(struct kvp_reload *r, struct list_head *versions, struct kvp_version **stop)
{
	struct kvp_version *d;
	int ret = 0;

	*stop = NULL;
	list_for_each_entry(d, versions, list) {
		if (d->page || add_version(r, d))
			continue;
		ret = r->nr ? finish_batch(r, stop) : 0;
		if (ret)
			return ret;
		if (!add_version(r, d)) {
			*stop = d;
			return -ENOMEM;
		}
	}
	return r->nr ? finish_batch(r, stop) : 0;
}

/*
 * An SSD did not answer. True if that has gone on for the time above. It stays true until versions
 * can be read again.
 */
static bool gave_up_waiting(struct kvp_reload *r, const struct kvp_version *d)
{
	bool hurry = READ_ONCE(r->log->vdevs->log_moving) && !d->restored;
	unsigned long patience = hurry ? PATIENCE_MOVING : PATIENCE;

	if (!r->silent)
		r->since = jiffies;
	r->silent = true;
	return time_after(jiffies, r->since + patience);
}

/* True if @d is lost. @error is what the last attempt to read it returned. */
static bool is_lost(struct kvp_reload *r, const struct kvp_version *d, int error)
{
	return error == -EILSEQ || (error == -EIO && gave_up_waiting(r, d));
}

/*
 * The first version of @rest is lost. Move it to @lost, and also the versions right behind it that
 * are lost, too.
 */
static void take_lost(struct kvp_reload *r, struct list_head *rest, struct list_head *lost)
{
	struct page *page = kvp_wbuf_lone_page(r->log->wbuf);
	struct kvp_version *d, *next;

	list_for_each_entry_safe(d, next, rest, list) {
		struct kvp_spilled p = spilled_of(d);

		if (!list_empty(lost) &&
		    (!page || d->page || d->zero ||
		     !is_lost(r, d, kvp_spill_read(r->log, &p, page, r->scratch))))
			break;
		list_move_tail(&d->list, lost);
	}
	if (page)
		kvp_wbuf_lone_page_free(r->log->wbuf, page);
}

int kvp_reload(struct kvp_log *log, struct list_head *versions, struct list_head *lost,
	       struct list_head *rest)
{
	struct kvp_reload *r = log->reload;
	struct kvp_version *stop;
	int ret = reload_some(r, versions, &stop);
	LIST_HEAD(good);

	if (!ret) {
		r->silent = false;
		return 0;
	}
	list_cut_before(&good, versions, &stop->list);
	list_splice_init(versions, rest);
	list_splice(&good, versions);
	if (!list_empty(versions)) {
		r->silent = false;
		return 0;
	}
	/*
	 * An SSD that does not answer now may answer later. But other versions cannot wait for it
	 * for ever.
	 */
	if (!is_lost(r, stop, ret))
		return -ENOMEM;
	if (ret == -EIO && test_bit(KVP_POOL_EMPTYING, r->log->flags))
		return -EINTR;
	take_lost(r, rest, lost);
	return 0;
}
