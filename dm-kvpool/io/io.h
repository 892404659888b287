/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * I/O to one leg, in whole blocks and pages. The engine does not know struct bio: io_bio.c makes
 * bios of a request, and the simulator makes steps of its modelled disks.
 *
 * Every floor above sends requests through this header. The sender owns struct kvp_io and its pages
 * until the request has ended. It may wait, for one request (kvp_io_sync()) or for a group
 * (kvp_io_group_wait()), or be called back (@done).
 *
 * The way of a request:
 * 1. kvp_io_submit_all() makes a copy of it, a flight, with references of its own (flight.c).
 * 2. A leg queue decides when the device gets it, and joins neighbours (leg_queue.c, module only).
 * 3. io_bio.c makes bios of it.
 * 4. When the device has answered with an error, flight.c decides by kvp_error_kind() whether to
 *    try again.
 * 5. The request ends. What a read has put into pages of the flight is copied when its waiter
 *    wakes.
 *
 * Locks: a sender may hold any mutex, and no spinlock. The locks of flights are the innermost of
 * all. @done runs in any context, and takes only locks that are irqsave.
 *
 * A request that fails does not take its leg out: the sender knows whether the pool can do without
 * the leg, and calls kvp_leg_fail().
 *
 * To change which leg a read asks, begin in mirror.c; how home writes are gathered, in batch.c;
 * retries, hanging legs and strays, in flight.c; faults by order, in inject.c.
 */
#ifndef KVP_IO_H
#define KVP_IO_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/errno.h>
#include <linux/types.h>

#include "format/format.h"

struct kvp_leg;
struct page;

enum kvp_io_op {
	KVP_IO_READ,
	KVP_IO_WRITE,
	KVP_IO_WRITE_FUA,
	KVP_IO_FLUSH,		/* no pages */
	KVP_IO_DISCARD,	/* no pages: @nr blocks have no contents, and may read as anything */
};

/* What an error says about the chances of another try. */
enum kvp_error_kind {
	/* No memory, tags or space below: nothing was done, and a later try may work. */
	KVP_ERR_RESOURCE,
	KVP_ERR_TRANSPORT,	/* the transport, or unknown: a single error proves nothing */
	KVP_ERR_MEDIUM,		/* the medium: another try will probably fail, too */
};

/** kvp_error_kind() - the kind of a negative errno with which a request ended. Pure. */
enum kvp_error_kind kvp_error_kind(int error);

/**
 * kvp_io_refused() - true if a request ended with @error, which says that its leg refused it
 *
 * Nothing was done, and nothing is known about the blocks. A host without memory is another case:
 * requests have a reserve, and -ENOMEM of any other function says that it got no page. Pure.
 */
static inline bool kvp_io_refused(int error)
{
	return kvp_error_kind(error) == KVP_ERR_RESOURCE;
}

struct kvp_flight;

/**
 * struct kvp_io - one request
 * @leg: the leg that it goes to
 * @op: the operation
 * @background: not urgent (scrub)
 * @urgent: a caller waits for it. It must not queue behind requests without a waiter (the log,
 *	behind destage)
 * @on_purpose: the sender knows that the leg is out of use, and sends it anyway
 * @brief: a write that nothing depends on, but all other writes wait for it: if the leg does not
 *	answer, it ends after some seconds
 * @chosen: @leg was chosen for a read, and kvp_leg_unchoose() is due when the request ends. Only in
 *	a group
 * @copied: a write from pages of its own: the sender may change @pages after the request has ended,
 *	even if the leg was given up and has not answered
 * @block: first block on the leg
 * @nr: number of pages, each of one block; for a discard, number of blocks
 * @pages: the pages; must stay until @done
 * @done: called once, from any context including hard interrupt
 * @error: 0 or a negative errno, set before @done
 * @then: for io/flight.c: the caller's @done, if flight.c has set its own
 * @parts, @queue, @doomed: private to the implementation; @doomed: it failed by order, and is not
 *	tried again
 * @private: the submitter's
 * @grouped, @next: for the group
 * @probe: its data is not used, and @pages name no page (io/probe.h)
 * @flight: for io/flight.c: the flight that was read into. In the flight's own request: its @pages
 *	are the flight's
 * @stray: in flight on a leg, and no caller waits for it
 *
 * The caller owns the memory. Requests in flight are not ordered.
 *
 * In a test of a part alone, the legs have no pool. Then nothing watches a request, tries it again,
 * or gives up its leg: the sender waits until the device answers. Bios need a pool, so this is for
 * the simulator only.
 */
struct kvp_io {
	struct kvp_leg *leg;
	enum kvp_io_op op;
	bool background, urgent, on_purpose, brief, chosen, copied;
	kvp_lblock_t block;
	u32 nr;
	struct page **pages;
	void (*done)(struct kvp_io *io);
	void (*then)(struct kvp_io *io);
	int error;
	atomic_t parts;
	void *queue;
	bool doomed, grouped, stray, probe;
	struct kvp_io *next;
	struct kvp_flight *flight;
	void *private;
};

/**
 * kvp_io_note_error() - a part of the request has ended with @error, a negative errno
 *
 * Keeps the first error: that of another part could hide that a flush failed. Context: any.
 */
void kvp_io_note_error(struct kvp_io *io, int error);

/**
 * kvp_io_submit() - start a request
 *
 * A write that fails is tried again, if that may help. When the leg is given up, a write ends with
 * -ETIMEDOUT, whether the leg has answered or not (io/flight.h). So does a read of a group.
 *
 * Context: process; also from map, where bios are queued on the submitter's list. Without memory it
 * may wait for other requests of @io's leg, until that is given up (io/flight.h, io/share.h).
 * Otherwise it does not wait for I/O.
 */
void kvp_io_submit(struct kvp_io *io);

/**
 * kvp_io_submit_all() - start @nr requests at once
 *
 * As kvp_io_submit() for each of them. Put requests for one leg next to each other: the device then
 * gets them together, which costs less processor time. The first ones may have ended when this
 * returns.
 */
void kvp_io_submit_all(struct kvp_io *ios, u32 nr);

/** kvp_io_can_discard() - true if the device of @leg offers KVP_IO_DISCARD. Any context. */
bool kvp_io_can_discard(const struct kvp_leg *leg);

/**
 * kvp_error_is_loss() - true if the medium has lost the data for good, without doubt. Any context.
 *
 * -EIO alone does not say so.
 */
static inline bool kvp_error_is_loss(int error)
{
	return error == -ENODATA || error == -EILSEQ;
}

/**
 * kvp_error_may_be_place() - true if perhaps only this place is bad, and others can be read
 *
 * -EIO alone may mean anything. Any context.
 */
static inline bool kvp_error_may_be_place(int error)
{
	return error == -EIO || kvp_error_kind(error) == KVP_ERR_MEDIUM;
}

/* Requests that one caller waits for together. */
struct kvp_io_group {
	atomic_t pending;
	struct kvp_io *ios;		/* list of all its requests; by the submitter */
	struct completion done;
};

/**
 * kvp_io_group_init() - begin a group without requests
 *
 * Call it before the first request, and again before those that follow kvp_io_group_wait().
 * Context: any.
 */
void kvp_io_group_init(struct kvp_io_group *group);

/**
 * kvp_io_group_submit() - start @io as part of @group
 *
 * Overwrites done, private and next of @io. One task at a time. Context: process, as
 * kvp_io_submit().
 */
void kvp_io_group_submit(struct kvp_io_group *group, struct kvp_io *io);

/** kvp_io_group_submit_all() - start all @nr of @ios as part of @group, see kvp_io_submit_all() */
void kvp_io_group_submit_all(struct kvp_io_group *group, struct kvp_io *ios, u32 nr);

/**
 * kvp_io_group_wait() - wait until every request of the group has ended
 *
 * The pages of reads have their data only when this returns. Context: process.
 */
void kvp_io_group_wait(struct kvp_io_group *group);

/** kvp_io_sync() - submit one request and wait; returns its error. Context: process. */
int __must_check kvp_io_sync(struct kvp_io *io);

/** kvp_io_page() - read or write one page, and wait; returns the error. Context: process. */
int __must_check kvp_io_page(struct kvp_leg *leg, enum kvp_io_op op, kvp_lblock_t block,
			     struct page *page);

/**
 * struct kvp_patience - how long one reader waits for legs that refuse its reads, for all together
 * @until: jiffies; 0: no leg has refused a read yet
 */
struct kvp_patience {
	unsigned long until;
};

/**
 * kvp_io_ask() - read one page, once
 * @p: the reader's patience, all zeros at first; NULL: it has other sources, and asks those first
 *
 * The reader asks all its sources. As long as some of them return -EBUSY and none has given the
 * block, it calls kvp_patience_pause() and asks them again. So it waits for all of them at the same
 * time. When the time is up, the read ends with -EIO: the leg may still have the block. After that,
 * such a leg gets one try only, for a minute or until it has given a page. So a walk over many
 * blocks does not wait for each.
 *
 * Return: 0; -EBUSY: the leg refused the read, and may be asked again; or another error, for which
 * kvp_io_refused() is false. Context: process; waits for the request.
 */
int __must_check kvp_io_ask(struct kvp_leg *leg, kvp_lblock_t block, struct page *page,
			    struct kvp_patience *p);

/** kvp_patience_pause() - wait a moment before legs are asked again. Context: process. */
void kvp_patience_pause(void);

/**
 * kvp_io_read_patiently() - read one page; if the leg refuses that, ask it again for some seconds
 *
 * A write waits as long. For a reader that has no other source: see kvp_io_ask().
 *
 * Return: 0 or the error, for which kvp_io_refused() is false. Context: process; waits.
 */
int __must_check kvp_io_read_patiently(struct kvp_leg *leg, kvp_lblock_t block, struct page *page);

/**
 * kvp_io_read_back() - read a page that was just written, to see whether it is there
 *
 * One error does not prove that it is not, and does not cost the leg. The read is tried again as a
 * write is (kvp_error_kind()). Returns the last error. Context: process; waits.
 */
int __must_check kvp_io_read_back(struct kvp_leg *leg, kvp_lblock_t block, struct page *page);

#endif /* KVP_IO_H */
