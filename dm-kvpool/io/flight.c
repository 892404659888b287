// SPDX-License-Identifier: GPL-2.0-only
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "core/core.h"
#include "core/shadow.h"
#include "io/flight.h"
#include "io/io.h"
#include "io/slow.h"

#define WATCH_MS	1000	/* between two looks of the watch, while legs have requests */
/* A leg that is silent for so long gets no requests from tasks that must not wait. */
#define LATE_MS		1000
/* for requests sent to a leg that is out on purpose, with leg_timeout=0 */
#define OUT_MS		30000
/* for requests that nothing depends on: a disk may have to spin up */
#define BRIEF_MS	5000

#define RESOURCE_MS	10000	/* limit of retries while memory, or space below, is short */
#define RESOURCE_PAUSE	100	/* ms */
#define TRANSPORT_TRIES	3
#define MEDIUM_TRIES	1

#define PIECE	8	/* pages of a flight of the reserve: longer requests go in pieces */
#define FEW	8	/* a flight with room for so many pages is kept for another request */

/**
 * struct kvp_flight - a request as its leg has it
 * @pool: a stray may hold a reference to it
 * @set: of the processor on which it began
 * @io: its owner's request; NULL: it has no waiter any more; by set->lock
 * @dev: the request that the leg has
 * @list: on set->list, set->strays, or set->kept, by set->lock; or in the reserve, by flights.lock
 * @bdev: of a stray: its device
 * @flushes: of a stray: the device may flush its cache for it
 * @began: ns at which it was first sent; 0: it is not timed (io/slow.h)
 * @first: jiffies at which it was first sent; each piece, and the flush of @apart, begin anew
 * @since: jiffies at which it was last sent
 * @again: sends its next try
 * @gone: frees a stray that has ended
 * @tries: number of tries that have failed, without those that failed for want of memory or space
 * @nr: number of @pages
 * @resting: not sent now: it waits for the next try, or for a worker to send its flush
 * @own: @pages belong to the flight: a read goes there; a write of a start, or with @copied, is
 *	copied there
 * @apart: a write with FUA to a leg without FUA: a write first, and then a flush
 * @reserved: it belongs to the reserve of its leg, unless it is a stray; it has PIECE pages behind
 *	@pages
 * @came: a piece of it has ended, and a worker has to go on
 * @at: in a flight of the reserve, how many of its owner's pages are done
 * @of: number of its owner's pages
 * @pages: the pages that it reads into, or writes; there is room for FEW at least
 */
struct kvp_flight {
	struct kvp_pool *pool;
	struct kvp_flight_set *set;
	struct kvp_io *io;
	struct kvp_io dev;
	struct list_head list;
	struct block_device *bdev;
	u64 began;
	unsigned long first, since;
	struct delayed_work again;
	struct work_struct gone;
	u32 tries, nr;
	bool resting, own, apart, reserved, came, flushes;
	u32 at, of;
	struct page *pages[];
};

static void flight_done(struct kvp_io *dev);
static void try_again(struct work_struct *work);

/* --- life of a flight --------------------------------------------------------------------- */

/* 0 for a flush and for a discard: the latter has blocks, but no pages. */
static u32 nr_pages(const struct kvp_io *io)
{
	return io->pages ? io->nr : 0;
}

static void drop_pages(struct page **pages, u32 nr)
{
	u32 i;

	for (i = 0; i < nr && pages[i]; i++)
		__free_page(pages[i]);
}

static void free_flight(struct kvp_flight *f)
{
	if (f->reserved)
		drop_pages(&f->pages[PIECE], PIECE);
	else if (f->own)
		drop_pages(f->pages, f->nr);
	kfree(f);
}

static bool reads(const struct kvp_flight *f)
{
	return f->dev.op == KVP_IO_READ;
}

/* --- flights and pages that are kept ------------------------------------------------------ */

static struct kvp_flight_set *set_here(const struct kvp_pool *pool)
{
	return &pool->flights->sets[raw_smp_processor_id() % KVP_FLIGHT_SETS];
}

/* Returns NULL if the set has kept none. */
static struct kvp_flight *take_kept(struct kvp_flight_set *set)
{
	struct kvp_flight *f;
	unsigned long flags;

	if (!KVP_FLIGHTS_KEPT)
		return NULL;
	spin_lock_irqsave(&set->lock, flags);
	f = list_first_entry_or_null(&set->kept, struct kvp_flight, list);
	if (f) {
		list_del(&f->list);
		set->nr_kept--;
	}
	spin_unlock_irqrestore(&set->lock, flags);
	return f;
}

/* Returns false if the flight is not kept: it is too large, or there are enough. */
static bool keep_flight(struct kvp_flight *f)
{
	struct kvp_flight_set *set = f->set;
	unsigned long flags;
	bool keep;

	spin_lock_irqsave(&set->lock, flags);
	keep = f->of <= FEW && set->nr_kept < KVP_FLIGHTS_KEPT;
	if (keep) {
		set->nr_kept++;
		list_add(&f->list, &set->kept);
	}
	spin_unlock_irqrestore(&set->lock, flags);
	return keep;
}

/* Returns how many pages there were for the first of @pages. */
static u32 take_pages(struct kvp_flight_set *set, struct page **pages, u32 nr)
{
	unsigned long flags;

	if (!KVP_FLIGHTS_KEPT)
		return 0;
	spin_lock_irqsave(&set->lock, flags);
	nr = min(nr, set->nr_pages);
	set->nr_pages -= nr;
	memcpy(pages, &set->pages[set->nr_pages], nr * sizeof(*pages));
	spin_unlock_irqrestore(&set->lock, flags);
	return nr;
}

/* Keep some of the pages, and free the rest. */
static void keep_pages(struct kvp_flight_set *set, struct page **pages, u32 nr)
{
	unsigned long flags;
	u32 keep;

	spin_lock_irqsave(&set->lock, flags);
	keep = min(nr, KVP_FLIGHTS_KEPT - min(set->nr_pages, KVP_FLIGHTS_KEPT));
	memcpy(&set->pages[set->nr_pages], pages, keep * sizeof(*pages));
	set->nr_pages += keep;
	spin_unlock_irqrestore(&set->lock, flags);
	drop_pages(&pages[keep], nr - keep);
}

/* The flight has ended, and its leg has no use for it any more. It is none of the reserve. */
static void end_flight(struct kvp_flight *f)
{
	if (f->own && reads(f)) {
		keep_pages(f->set, f->pages, f->nr);
		f->own = false;
	}
	if (f->own || !keep_flight(f))
		free_flight(f);
}

/* --- a flight for a request ---------------------------------------------------------------- */

/*
 * Add pages to the first @got. Returns false without memory. The caller frees the pages that it
 * got, along with the flight.
 */
static bool get_pages(struct page **pages, u32 got, u32 nr, gfp_t gfp)
{
	u32 i;

	memset(&pages[got], 0, (nr - got) * sizeof(*pages));
	for (i = got; i < nr; i++) {
		pages[i] = alloc_page(gfp);
		if (!pages[i])
			return false;
	}
	return true;
}

static bool starting(const struct kvp_pool *pool)
{
	return test_bit(KVP_POOL_STARTING, &pool->flags);
}

/* True if a request to @leg may become a stray: the leg can be given up, or a start can fail. */
static bool may_be_given_up(const struct kvp_leg *leg)
{
	if (starting(leg->pool))
		return true;
	/* A device without a vdev is no leg yet, and the pool can do without it. */
	return !leg->v ||
	       (!kvp_leg_in_sync(leg) || kvp_vdev_usable(leg->v) > kvp_vdev_needed(leg->v));
}

/* True if no flight is made: the request itself goes to the leg, and its sender waits for it. */
static bool goes_bare(const struct kvp_io *io)
{
	return !io->leg->pool ||
	       (io->op == KVP_IO_READ && (!io->grouped || !may_be_given_up(io->leg)));
}

/* Set up @f for @io, with the first @nr of its pages. */
static void fit_out(struct kvp_flight *f, struct kvp_io *io, u32 nr)
{
	f->pool = io->leg->pool;
	f->set = set_here(f->pool);
	f->io = io;
	f->dev = *io;
	f->dev.pages = nr ? f->pages : NULL;
	f->dev.done = flight_done;
	f->nr = nr;
	f->of = nr_pages(io);
	f->own = io->op == KVP_IO_READ || (nr && (io->copied || starting(f->pool)));
	f->apart = io->op == KVP_IO_WRITE_FUA && io->leg->bdev && kvp_io_fua_apart(io->leg);
	if (f->apart)
		f->dev.op = KVP_IO_WRITE;
	INIT_LIST_HEAD(&f->list);
	f->first = jiffies;
	f->began = kvp_slow_begin(io->leg);
	f->tries = 0;
	f->at = 0;
	f->resting = f->came = false;
}

static void copy_pages(struct page **to, struct page **from, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		copy_highpage(to[i], from[i]);
}

/* Returns NULL without memory. */
static struct kvp_flight *alloc_flight(u32 room, gfp_t gfp)
{
	struct kvp_flight *f = kmalloc(sizeof(*f) + room * sizeof(f->pages[0]), gfp);

	if (!f)
		return NULL;
	memset(f, 0, sizeof(*f));
	INIT_DELAYED_WORK(&f->again, try_again);
	return f;
}

/* Returns NULL without memory. */
static struct kvp_flight *new_flight(struct kvp_io *io)
{
	/*
	 * NORETRY: otherwise the allocator might wait for memory that only this request frees
	 * (R24).
	 */
	gfp_t gfp = GFP_NOIO | __GFP_NOWARN | __GFP_NORETRY;
	u32 nr = nr_pages(io), got;
	struct kvp_flight *f = nr <= FEW ? take_kept(set_here(io->leg->pool)) : NULL;

	f = f ?: alloc_flight(max(nr, FEW), gfp);
	if (!f)
		return NULL;
	fit_out(f, io, nr);
	if (!f->own) {
		if (nr)
			memcpy(f->pages, io->pages, nr * sizeof(f->pages[0]));
		return f;
	}
	got = reads(f) ? take_pages(f->set, f->pages, nr) : 0;
	if (!get_pages(f->pages, got, nr, gfp)) {
		free_flight(f);
		return NULL;
	}
	if (reads(f))
		f->dev.flight = f;
	else
		copy_pages(f->pages, io->pages, nr);
	return f;
}

/* --- the reserve, for times without memory ---------------------------------------------- */

static struct kvp_flight_share *share_of(const struct kvp_flight *f)
{
	return &f->pool->flights->shares[f->dev.leg->index];
}

/* Returns NULL without memory. */
static struct kvp_flight *new_reserved(gfp_t gfp)
{
	struct kvp_flight *f = alloc_flight(2 * PIECE, gfp);

	if (!f)
		return NULL;
	f->reserved = true;
	if (get_pages(&f->pages[PIECE], 0, PIECE, gfp))
		return f;
	free_flight(f);
	return NULL;
}

/* Add @f to the share; false if the share is complete, and @f was not added. */
static bool add_reserved(struct kvp_flights *all, struct kvp_flight_share *s, struct kvp_flight *f)
{
	unsigned long flags;
	bool added;

	spin_lock_irqsave(&all->lock, flags);
	added = s->nr < KVP_FLIGHT_SHARE;
	if (added) {
		s->nr++;
		list_add(&f->list, &s->idle);
	}
	spin_unlock_irqrestore(&all->lock, flags);
	return added;
}

/* Fill the shares of all legs. */
static int fill_shares(struct kvp_pool *pool, gfp_t gfp)
{
	struct kvp_flight_share *s;
	struct kvp_flight *f;
	u32 i;

	for (i = 0; i < kvp_legs_beside(pool); i++) {
		s = &pool->flights->shares[kvp_leg_beside(pool, i)->index];
		while (READ_ONCE(s->nr) < KVP_FLIGHT_SHARE) {
			f = new_reserved(gfp);
			if (!f)
				return -ENOMEM;
			if (!add_reserved(pool->flights, s, f))
				free_flight(f);
		}
	}
	return 0;
}

int kvp_flights_reserve(struct kvp_pool *pool)
{
	return fill_shares(pool, GFP_KERNEL);
}

/* Put the flight back into its leg's share, and wake a sender that waits for it. */
static void give_back(struct kvp_flight *f)
{
	struct kvp_flights *all = f->pool->flights;
	unsigned long flags;

	spin_lock_irqsave(&all->lock, flags);
	list_add(&f->list, &share_of(f)->idle);
	spin_unlock_irqrestore(&all->lock, flags);
	wake_up(&all->back);
}

static void put_flight(struct kvp_flight *f)
{
	if (f->reserved)
		give_back(f);
	else
		end_flight(f);
}

/* Set up the next piece of the owner's request, @f->io. By set->lock, or on no list yet. */
static void __set_piece(struct kvp_flight *f)
{
	const struct kvp_io *io = f->io;

	f->nr = min_t(u32, f->of - f->at, PIECE);
	f->dev.block = kvp_lblock_add(io->block, f->at);
	f->dev.nr = f->nr;
	memcpy(f->pages, f->own ? &f->pages[PIECE] : &io->pages[f->at],
	       f->nr * sizeof(f->pages[0]));
	if (f->own && !reads(f))
		copy_pages(f->pages, &io->pages[f->at], f->nr);
	f->first = jiffies;
	f->tries = 0;
}

/* Returns NULL if all of the leg's share is in use. */
static struct kvp_flight *take_reserved(struct kvp_io *io)
{
	struct kvp_flights *all = io->leg->pool->flights;
	struct kvp_flight_share *s = &all->shares[io->leg->index];
	struct kvp_flight *f;
	unsigned long flags;

	spin_lock_irqsave(&all->lock, flags);
	f = list_first_entry_or_null(&s->idle, struct kvp_flight, list);
	if (f) {
		list_del(&f->list);
		fit_out(f, io, min_t(u32, nr_pages(io), PIECE));
		if (f->nr)
			__set_piece(f);
	}
	spin_unlock_irqrestore(&all->lock, flags);
	return f;
}

/*
 * There is no memory for a flight: wait for one of the reserve, or for memory. In the end all of
 * the leg's reserve comes back, or the leg is given up. Returns NULL: it was given up; or *@bare is
 * set: the leg has no reserve now, so send the request itself.
 */
static struct kvp_flight *wait_for_flight(struct kvp_io *io, bool *bare)
{
	struct kvp_flights *all = io->leg->pool->flights;
	const struct kvp_flight_share *s = &all->shares[io->leg->index];
	struct kvp_flight *f;
	bool late;

	do {
		f = take_reserved(io) ?: new_flight(io);
		if (f)
			return f;
		/* Read nr first: when a leg is given up, all of its reserve may become strays. */
		*bare = !READ_ONCE(s->nr);
		smp_rmb();	/* pairs with the lock in next_ripe() */
		late = kvp_io_too_late(io);
		if (!*bare && !late)
			wait_event_timeout(all->back, !list_empty_careful(&s->idle) ||
					   kvp_io_too_late(io), HZ / 10);
	} while (!*bare && !late);
	*bare = !late;
	return NULL;
}

/* --- on the way -------------------------------------------------------------------------- */

static void arm(struct kvp_flights *all)
{
	if (!test_bit(0, &all->armed) && !test_and_set_bit(0, &all->armed))
		queue_delayed_work(all->watch_wq, &all->watch, msecs_to_jiffies(WATCH_MS));
}

void kvp_flights_watch(struct kvp_pool *pool)
{
	arm(pool->flights);
}

/*
 * Put the flight on the list; false if its sender does not wait any more. If the leg was given up
 * just now, the watch may have looked at the list before: let it look again.
 */
static bool enter(struct kvp_flight *f)
{
	struct kvp_flight_set *set = f->set;
	unsigned long flags;
	bool wanted;

	spin_lock_irqsave(&set->lock, flags);
	wanted = f->io;
	f->resting = false;
	f->since = jiffies;
	if (wanted)
		list_move_tail(&f->list, &set->list);
	spin_unlock_irqrestore(&set->lock, flags);
	if (wanted) {
		smp_mb();	/* pairs with the one in watch_work() */
		arm(f->pool->flights);
		if (READ_ONCE(f->dev.leg->left_at) || READ_ONCE(f->dev.leg->silent))
			kvp_flights_kick(f->pool);
	}
	return wanted;
}

/* True if the request may have flushed other writes from the device's cache. */
static bool flushes(const struct kvp_io *io)
{
	return io->op == KVP_IO_FLUSH ||
	       (io->op == KVP_IO_WRITE_FUA && kvp_io_fua_flushes(io->leg));
}

/*
 * True if it is certain that no device below began the request: it had no memory or no tag, would
 * have had to wait, or was a thin device without space for the write. Then a flush in it has lost
 * nothing: the device's cache is as before, and a later flush covers it. A flush alone needs no
 * space: a device that reports a lack of space for it has lost the contents of its cache.
 */
static bool unissued(const struct kvp_io *io)
{
	return kvp_io_refused(io->error) && (io->error != -ENOSPC || io->op != KVP_IO_FLUSH);
}

/*
 * A flush that failed may have lost anything in the leg's cache, and no later flush would report
 * that. Its sender may not care: perhaps only an event is lost. So from here on all flushes of the
 * leg fail, and the watch gives the leg up (R20). A flush that was never issued has lost nothing.
 * @io has a waiter, so the leg exists.
 */
static void judge_flush(struct kvp_io *io)
{
	struct kvp_leg *leg = io->leg;

	if (!leg->bdev || !flushes(io))
		return;
	if (!io->error) {
		io->error = READ_ONCE(leg->flush_lost) ? -EIO : 0;
	} else if (!unissued(io)) {
		WRITE_ONCE(leg->flush_lost, true);
		if (leg->pool)
			kvp_flights_kick(leg->pool);
	}
}

/*
 * The same for a stray. A leg in use has strays only of requests that are brief, such as a
 * heartbeat. The leg that the stray was for may not exist any more: the device tells. By the set's
 * lock: if a leg that returns finds no strays, this was before.
 */
static void __judge_stray(const struct kvp_flight *f)
{
	struct kvp_pool *pool = f->pool;
	u32 i;

	if (!f->flushes || !f->dev.error || unissued(&f->dev))
		return;
	for (i = 0; i < kvp_legs_beside(pool); i++) {
		struct kvp_leg *leg = kvp_leg_beside(pool, i);

		if (leg->bdev == f->bdev && kvp_leg_takes_writes(leg))
			WRITE_ONCE(leg->flush_lost, true);
	}
}

static void bare_done(struct kvp_io *io)
{
	judge_flush(io);
	io->done = io->then;
	io->done(io);
}

/*
 * True if nothing may be written: to a pool that is read-only, or any more. No part of a read-only
 * pool should try to. This is the last place that can see it.
 */
static bool may_not_write(struct kvp_pool *pool)
{
	return pool && (WARN_ON_ONCE(kvp_pool_readonly(pool)) || kvp_writes_barred(pool));
}

/* Send a request to its leg. Later tries, and flushes of a write with FUA, come this way, too. */
static void send(struct kvp_io *io)
{
	if (io->op == KVP_IO_READ || !may_not_write(io->leg->pool)) {
		kvp_io_start(io);
		return;
	}
	io->doomed = true;
	io->error = -EIO;
	io->done(io);
}

/* Send the request itself, without a flight and without retries. */
static void start_bare(struct kvp_io *io)
{
	if (io->op == KVP_IO_FLUSH || io->op == KVP_IO_WRITE_FUA) {
		io->then = io->done;
		io->done = bare_done;
	}
	send(io);
}

/* Reads of an SSD that has the only copy of the log are sent although it is out. */
bool kvp_io_too_late(const struct kvp_io *io)
{
	const struct kvp_leg *leg = io->leg;

	if (READ_ONCE(leg->silent))
		return true;
	if (kvp_leg_takes_writes(leg) || !leg->bdev || io->on_purpose || !READ_ONCE(leg->left_at))
		return false;
	return io->op != KVP_IO_READ || !kvp_leg_keeps_log(leg);
}

static void end_late(struct kvp_io *io)
{
	io->error = -ETIMEDOUT;
	io->done(io);
}

/* Let a worker send it, after @pause ms. */
static void send_later(struct kvp_flight *f, unsigned int pause)
{
	queue_delayed_work(f->pool->flights->again_wq, &f->again, msecs_to_jiffies(pause));
}

static void start_by_worker(struct kvp_flight *f)
{
	struct kvp_flight_set *set = f->set;
	unsigned long flags;

	enter(f);
	spin_lock_irqsave(&set->lock, flags);
	f->resting = true;
	spin_unlock_irqrestore(&set->lock, flags);
	send_later(f, 0);
}

void kvp_io_submit(struct kvp_io *io)
{
	struct kvp_flight *f;
	bool bare;

	io->error = 0;
	io->flight = NULL;
	io->doomed = io->stray = false;
	if (kvp_io_too_late(io)) {
		end_late(io);
		return;
	}
	bare = goes_bare(io);
	f = bare ? NULL : new_flight(io) ?: wait_for_flight(io, &bare);
	if (bare) {
		start_bare(io);
	} else if (!f) {
		end_late(io);
	} else if (f->reserved) {
		/*
		 * Let a worker send it. The sender may be in map: the bio would wait on the
		 * sender's own list, while the sender waits for another flight.
		 */
		start_by_worker(f);
	} else {
		enter(f);
		send(&f->dev);
	}
}

bool kvp_io_probe(struct kvp_io *io)
{
	struct kvp_flight *f = new_flight(io);

	if (f)
		start_by_worker(f);
	return f;
}

/* --- what a leg refuses --------------------------------------------------------------------- */

static bool of_use(const struct kvp_flight *f)
{
	bool flush;

	/* Nothing depends on a discard, so it is not tried again. */
	if (f->dev.op == KVP_IO_READ || f->dev.op == KVP_IO_DISCARD || f->dev.doomed ||
	    !kvp_leg_takes_writes(f->dev.leg))
		return false;
	/* The leg is in use, so it has a device. */
	flush = flushes(&f->dev);
	switch (kvp_error_kind(f->dev.error)) {
	case KVP_ERR_RESOURCE:
		/* Other errors of a flush may come from a device below. */
		return (!flush || unissued(&f->dev)) &&
		       time_before(jiffies, f->first + msecs_to_jiffies(RESOURCE_MS));
	case KVP_ERR_TRANSPORT:
		return !flush && f->tries < TRANSPORT_TRIES;
	default:
		/* The disk may have found a spare sector by now. */
		return !flush && f->tries < MEDIUM_TRIES;
	}
}

/* Let a failed request wait for its next try; false if it is not tried again. */
static bool rest(struct kvp_flight *f)
{
	struct kvp_flight_set *set = f->set;
	unsigned int pause = 10u << (3 * f->tries);
	unsigned long flags;
	bool rests;

	spin_lock_irqsave(&set->lock, flags);
	/* Without a waiter, the leg may not exist any more. */
	if (f->io)
		WRITE_ONCE(f->dev.leg->answered, jiffies);
	rests = f->io && of_use(f);
	if (rests && kvp_io_refused(f->dev.error))
		pause = RESOURCE_PAUSE;
	else
		f->tries++;
	f->resting = rests;
	spin_unlock_irqrestore(&set->lock, flags);
	if (rests)
		send_later(f, pause);
	return rests;
}

/* --- coming back ------------------------------------------------------------------------------ */

static void stray_gone(struct work_struct *work)
{
	struct kvp_flight *f = container_of(work, struct kvp_flight, gone);
	struct kvp_pool *pool = f->pool;
	u32 i;

	for (i = 0; !f->own && i < f->nr; i++)
		put_page(f->pages[i]);
	kvp_io_unhold(f->bdev);
	free_flight(f);
	pool->put(pool);
}

/* The flight has ended: end its request too, or free the stray. */
static void come_back(struct kvp_flight *f)
{
	struct kvp_flight_set *set = f->set;
	unsigned long flags;
	struct kvp_io *io;

	spin_lock_irqsave(&set->lock, flags);
	io = f->io;
	if (io) {
		WRITE_ONCE(f->dev.leg->answered, jiffies);
		judge_flush(&f->dev);
	} else {
		__judge_stray(f);
	}
	f->io = NULL;
	list_del_init(&f->list);
	spin_unlock_irqrestore(&set->lock, flags);
	if (!io) {
		INIT_WORK(&f->gone, stray_gone);
		queue_work(kvp_strays_wq ?: system_wq, &f->gone);
		return;
	}
	io->error = f->dev.error;
	if (!io->error && !io->probe)
		kvp_slow_end(io->leg, io->op, io->nr, f->began);
	/*
	 * The waiter copies what the flight has read. A flight of the reserve has copied it
	 * already.
	 */
	if (f->own && reads(f) && !f->reserved && !io->probe)
		io->flight = f;
	else
		put_flight(f);
	io->done(io);
}

/*
 * The write has ended well. Let a worker send the flush: that may have to wait for the device,
 * which is impossible in an interrupt. The block layer makes one flush of several for one leg.
 */
static void flush_behind(struct kvp_flight *f)
{
	struct kvp_flight_set *set = f->set;
	unsigned long flags;

	spin_lock_irqsave(&set->lock, flags);
	if (f->io)
		WRITE_ONCE(f->dev.leg->answered, jiffies);
	f->dev.op = KVP_IO_FLUSH;
	f->dev.pages = NULL;
	f->dev.nr = 0;
	f->dev.block = 0;
	f->first = jiffies;
	f->tries = 0;
	f->resting = true;
	spin_unlock_irqrestore(&set->lock, flags);
	send_later(f, 0);
}

/* A piece of a flight of the reserve has ended: let a worker go on. */
static void piece_done(struct kvp_flight *f)
{
	struct kvp_flight_set *set = f->set;
	unsigned long flags;

	spin_lock_irqsave(&set->lock, flags);
	if (f->io)
		WRITE_ONCE(f->dev.leg->answered, jiffies);
	f->came = true;
	f->resting = true;
	spin_unlock_irqrestore(&set->lock, flags);
	send_later(f, 0);
}

/*
 * True if a worker has to go on after this piece: to send the next one, or to copy what was read.
 */
static bool in_pieces(const struct kvp_flight *f)
{
	return f->reserved && f->nr && f->dev.pages && (reads(f) || f->at + f->nr < f->of);
}

/*
 * A piece has ended: copy what was read to its owner. Hold the lock for that, since the owner keeps
 * its pages only until its request ends. Returns true if there is another piece.
 */
static bool next_piece(struct kvp_flight *f)
{
	struct kvp_flight_set *set = f->set;
	unsigned long flags;
	bool more;

	spin_lock_irqsave(&set->lock, flags);
	f->came = false;
	if (f->io && reads(f))
		copy_pages(&f->io->pages[f->at], f->pages, f->nr);
	f->at += f->nr;
	more = f->io && f->at < f->of;
	if (more)
		__set_piece(f);
	spin_unlock_irqrestore(&set->lock, flags);
	return more;
}

static void flight_done(struct kvp_io *dev)
{
	struct kvp_flight *f = container_of(dev, struct kvp_flight, dev);

	if (dev->error && rest(f))
		return;
	if (!dev->error && in_pieces(f))
		piece_done(f);
	else if (!dev->error && f->apart && dev->op == KVP_IO_WRITE)
		flush_behind(f);
	else
		come_back(f);
}

static void try_again(struct work_struct *work)
{
	struct kvp_flight *f = container_of(to_delayed_work(work), struct kvp_flight, again);

	if ((!f->came || next_piece(f)) && enter(f))
		send(&f->dev);
	else
		come_back(f);
}

void kvp_io_land(struct kvp_io *io)
{
	struct kvp_flight *f = io->flight;

	if (!f)
		return;
	io->flight = NULL;
	if (!io->error)
		copy_pages(io->pages, f->pages, io->nr);
	end_flight(f);
}

/* --- giving up ----------------------------------------------------------------------------- */

#define SLOW_TIMES	4	/* times the limit, for a leg that answers other requests */

static bool is_of_pool(const struct kvp_leg *leg)
{
	return leg == (kvp_leg_is_shadow(leg) ? &leg->pool->shadow : &leg->pool->legs[leg->index]);
}

static bool is_slow(const struct kvp_flight *f, unsigned long most)
{
	const struct kvp_leg *leg = f->dev.leg;

	if (!is_of_pool(leg) || !time_after(jiffies, f->since + most))
		return false;
	return time_after(jiffies, READ_ONCE(leg->answered) + most) ||
	       time_after(jiffies, f->since + SLOW_TIMES * most);
}

/* The longest time that a leg may take for a request, in jiffies; 0: no limit. */
static unsigned long leg_timeout(const struct kvp_pool *pool)
{
	return (unsigned long)READ_ONCE(pool->tunables[KVP_T_LEG_TIMEOUT]) * HZ;
}

/*
 * True if the waiter must not wait any more, since the leg was given up. A request that was sent on
 * purpose to a leg that is out gets more time.
 */
static bool __is_ripe(const struct kvp_flight *f)
{
	const struct kvp_leg *leg = f->dev.leg;
	unsigned long most = leg_timeout(f->pool) ?: msecs_to_jiffies(OUT_MS);

	if (READ_ONCE(leg->silent))
		return true;
	if (f->dev.brief)
		return time_after(jiffies, f->since + min(most, msecs_to_jiffies(BRIEF_MS)));
	if (kvp_leg_takes_writes(leg) || !leg->bdev)
		return false;
	return kvp_io_too_late(&f->dev) || time_after(jiffies, f->since + most);
}

static void leave_reserve(struct kvp_flight *f)
{
	struct kvp_flights *all = f->pool->flights;
	unsigned long flags;

	spin_lock_irqsave(&all->lock, flags);
	share_of(f)->nr--;
	spin_unlock_irqrestore(&all->lock, flags);
}

/* Make the flight a stray. Returns the request that its waiter must get back. By its set's lock. */
static struct kvp_io *__stray(struct kvp_flight *f)
{
	struct kvp_io *io = f->io;
	u32 i;

	f->io = NULL;
	WRITE_ONCE(f->dev.stray, true);
	f->bdev = f->dev.leg->bdev;
	f->flushes = flushes(&f->dev);
	/* The leg gets another flight when there is memory. */
	if (f->reserved)
		leave_reserve(f);
	list_move(&f->list, &f->set->strays);
	for (i = 0; !f->own && i < f->nr; i++)
		get_page(f->pages[i]);
	atomic_inc(&f->pool->flights->refs);
	kvp_io_hold(f->bdev);
	return io;
}

static struct kvp_io *next_ripe(struct kvp_flight_set *set)
{
	struct kvp_flight *f;
	struct kvp_io *io = NULL;
	unsigned long flags;

	spin_lock_irqsave(&set->lock, flags);
	list_for_each_entry(f, &set->list, list)
		if (__is_ripe(f)) {
			io = __stray(f);
			break;
		}
	spin_unlock_irqrestore(&set->lock, flags);
	return io;
}

static void give_up(struct kvp_pool *pool)
{
	struct kvp_io *io;
	u32 i;

	for (i = 0; i < KVP_FLIGHT_SETS; i++)
		while ((io = next_ripe(&pool->flights->sets[i])))
			end_late(io);
}

static u64 slow_in_set(struct kvp_flight_set *set, unsigned long most, bool probes)
{
	struct kvp_flight *f;
	unsigned long flags;
	u64 slow = 0;

	spin_lock_irqsave(&set->lock, flags);
	list_for_each_entry(f, &set->list, list)
		if (!f->resting && (probes || !f->dev.probe) && is_slow(f, most))
			slow |= BIT_ULL(f->dev.leg->index);
	spin_unlock_irqrestore(&set->lock, flags);
	return slow;
}

/*
 * Legs that have kept a request for longer than @most, and have answered none meanwhile, as bits. A
 * leg that answers other requests is only slow, and may have a long queue; but there is a limit for
 * that, too. Requests to a former device of a leg do not count, nor do probes without @probes.
 */
static u64 slow_legs(struct kvp_pool *pool, unsigned long most, bool probes)
{
	u64 slow = 0;
	u32 i;

	for (i = 0; i < KVP_FLIGHT_SETS; i++)
		slow |= slow_in_set(&pool->flights->sets[i], most, probes);
	return slow;
}

/* Legs that have requests, as bits. */
static u64 busy_legs(struct kvp_pool *pool)
{
	struct kvp_flight_set *set = pool->flights->sets;
	struct kvp_flight *f;
	unsigned long flags;
	u64 busy = 0;

	for (; set < pool->flights->sets + KVP_FLIGHT_SETS; set++) {
		spin_lock_irqsave(&set->lock, flags);
		list_for_each_entry(f, &set->list, list)
			busy |= BIT_ULL(f->dev.leg->index);
		spin_unlock_irqrestore(&set->lock, flags);
	}
	return busy;
}

/*
 * True if the leg keeps reads by users' bios for longer than @most. Only their number and the start
 * of the first are known. So a leg that answers some and keeps one is not found.
 */
static bool keeps_reads(const struct kvp_leg *leg, unsigned long most)
{
	if (atomic_read(&leg->in_flight) <= 0)
		return false;
	smp_rmb();	/* number, then time; pairs with kvp_leg_choose_this() */
	return time_after(jiffies, READ_ONCE(leg->asked) + most) &&
	       time_after(jiffies, READ_ONCE(leg->answered) + most);
}

static bool any_flights(const struct kvp_flights *all)
{
	u32 i;

	for (i = 0; i < KVP_FLIGHT_SETS; i++)
		if (!list_empty(&all->sets[i].list))
			return true;
	return false;
}

static bool any_reads(const struct kvp_pool *pool)
{
	u32 i;

	for (i = 0; i < pool->nr_legs; i++)
		if (atomic_read(&pool->legs[i].in_flight) > 0)
			return true;
	return false;
}

static_assert(KVP_LEGS_BESIDE <= 64);

/*
 * True if the watch may give up the leg. It must not give up the last SSD with the log: data that
 * only this SSD has would be lost, so a person must decide. Nor may it give up a leg while a pool
 * starts: the start gets an error, and decides.
 */
static bool may_do_without(const struct kvp_leg *leg)
{
	const struct kvp_pool *pool = leg->pool;

	return test_bit(KVP_POOL_RUNNING, &pool->flags) && kvp_leg_takes_writes(leg) &&
	       (!kvp_leg_in_sync(leg) || leg->v != pool->vdevs.log_vdev ||
		kvp_vdev_usable(leg->v) > kvp_log_needs(leg->v->g));
}

static void look_at_legs(struct kvp_pool *pool)
{
	unsigned long most = leg_timeout(pool);
	u64 late = slow_legs(pool, msecs_to_jiffies(LATE_MS), false);
	u64 lost = slow_legs(pool, most ?: msecs_to_jiffies(OUT_MS), true);
	u32 i;

	if (most && starting(pool))
		kvp_probes_look(pool, late, busy_legs(pool));
	for (i = 0; i < kvp_legs_beside(pool); i++) {
		struct kvp_leg *leg = kvp_leg_beside(pool, i);

		WRITE_ONCE(leg->late, (late >> leg->index & 1) ||
				      keeps_reads(leg, msecs_to_jiffies(LATE_MS)));
		if (most && lost >> leg->index & 1 && starting(pool))
			WRITE_ONCE(leg->silent, true);
		/* A pool that starts learns it by its own flushes: all flushes of the leg fail. */
		if (READ_ONCE(leg->flush_lost) && kvp_leg_takes_writes(leg) &&
		    test_bit(KVP_POOL_RUNNING, &pool->flags))
			kvp_leg_flush_failed(leg);
		/* Without leg_timeout, a leg that resilvers still has a limit. */
		if ((((most || kvp_leg_resilvers(leg)) && lost >> leg->index & 1) ||
		     (most && keeps_reads(leg, most))) && may_do_without(leg))
			kvp_leg_give_up(leg, "does not answer");
	}
}

/*
 * Drop requests that were not yet sent to legs that were given up, except reads of the only copy of
 * the log.
 */
static void drop_unsent(struct kvp_pool *pool)
{
	u32 i;

	for (i = 0; i < kvp_legs_beside(pool); i++) {
		struct kvp_leg *leg = kvp_leg_beside(pool, i);

		if (leg->bdev && (READ_ONCE(leg->silent) ||
				  (!kvp_leg_takes_writes(leg) && READ_ONCE(leg->left_at) &&
				   !kvp_leg_keeps_log(leg))))
			kvp_io_drop(leg);
	}
}

static void watch_work(struct work_struct *work)
{
	struct kvp_flights *all = container_of(to_delayed_work(work), struct kvp_flights, watch);
	struct kvp_pool *pool = all->pool;

	look_at_legs(pool);
	kvp_slow_look(pool);
	give_up(pool);
	drop_unsent(pool);
	/* Without memory, the next run fills them. */
	(void)fill_shares(pool, GFP_NOWAIT | __GFP_NOWARN);
	clear_bit(0, &all->armed);
	smp_mb();	/* pairs with the ones in enter() and kvp_leg_choose_this() */
	if (any_flights(all) || any_reads(pool))
		arm(all);
}

void kvp_flights_kick(struct kvp_pool *pool)
{
	set_bit(0, &pool->flights->armed);
	mod_delayed_work(pool->flights->watch_wq, &pool->flights->watch, 0);
}

void kvp_flights_wait_watch(struct kvp_pool *pool)
{
	flush_delayed_work(&pool->flights->watch);
}

/* --- strays ---------------------------------------------------------------------------------- */

struct workqueue_struct *kvp_strays_wq;

u32 kvp_strays(const struct kvp_pool *pool)
{
	return (u32)atomic_read(&pool->flights->refs) - 1;
}

bool kvp_strays_of(struct kvp_pool *pool, struct block_device *bdev,
		   bool (*same)(struct block_device *a, struct block_device *b))
{
	struct kvp_flight_set *set = pool->flights->sets;
	struct kvp_flight *f;
	unsigned long flags;
	bool found = false;

	for (; set < pool->flights->sets + KVP_FLIGHT_SETS; set++) {
		spin_lock_irqsave(&set->lock, flags);
		list_for_each_entry(f, &set->strays, list)
			found = found || same(f->bdev, bdev);
		spin_unlock_irqrestore(&set->lock, flags);
	}
	return found;
}

static bool same_device(struct block_device *a, struct block_device *b)
{
	return a == b;
}

bool kvp_leg_has_strays(const struct kvp_leg *leg)
{
	return kvp_strays_of(leg->pool, leg->bdev, same_device);
}

/* --- life ------------------------------------------------------------------------------------ */

int kvp_flights_init(struct kvp_pool *pool)
{
	struct kvp_flights *all = pool->flights;
	u32 i;

	all->pool = pool;
	for (i = 0; i < KVP_LEGS_BESIDE; i++)
		INIT_LIST_HEAD(&all->shares[i].idle);
	init_waitqueue_head(&all->back);
	spin_lock_init(&all->lock);
	for (i = 0; i < KVP_FLIGHT_SETS; i++) {
		spin_lock_init(&all->sets[i].lock);
		INIT_LIST_HEAD(&all->sets[i].list);
		INIT_LIST_HEAD(&all->sets[i].strays);
		INIT_LIST_HEAD(&all->sets[i].kept);
	}
	atomic_set(&all->refs, 1);
	INIT_DELAYED_WORK(&all->watch, watch_work);
	all->watch_wq = alloc_workqueue("kvpool-watch", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	/* High priority, since each flush after a write has a waiter. */
	all->again_wq = alloc_workqueue("kvpool-again",
					WQ_MEM_RECLAIM | WQ_UNBOUND | WQ_HIGHPRI, 0);
	return all->watch_wq && all->again_wq ? 0 : -ENOMEM;
}

void kvp_flights_stop(struct kvp_pool *pool)
{
	cancel_delayed_work_sync(&pool->flights->watch);
}

static void free_list(struct list_head *flights)
{
	struct kvp_flight *f, *next;

	list_for_each_entry_safe(f, next, flights, list)
		free_flight(f);
}

void kvp_flights_exit(struct kvp_pool *pool)
{
	u32 i;

	for (i = 0; i < KVP_LEGS_BESIDE; i++)
		free_list(&pool->flights->shares[i].idle);
	for (i = 0; i < KVP_FLIGHT_SETS; i++) {
		free_list(&pool->flights->sets[i].kept);
		drop_pages(pool->flights->sets[i].pages, pool->flights->sets[i].nr_pages);
	}
	if (pool->flights->watch_wq)
		cancel_delayed_work_sync(&pool->flights->watch);
	if (pool->flights->watch_wq)
		destroy_workqueue(pool->flights->watch_wq);
	if (pool->flights->again_wq)
		destroy_workqueue(pool->flights->again_wq);
}
