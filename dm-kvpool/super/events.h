/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events. An event is a device-mapper event, a line in the kernel log, and a line in the ring on
 * the legs, where it can be read after a reboot. What a user ordered has a ring of its own as well
 * (order_ring.h).
 */
#ifndef KVP_EVENTS_H
#define KVP_EVENTS_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "format/format.h"
#include "format/order_ring.h"

struct kvp_leg;
struct kvp_pool;
struct page;
struct task_struct;

#define KVP_EVENT_RING		(KVP_EVENTS_BLOCKS * KVP_EVENTS_PER_BLOCK)
#define KVP_EVENT_TEXT		216

#define KVP_EVENT_BY		40	/* " uid=10 login=10" and its end */

/**
 * struct kvp_event_by - the user whose order a task carries out: kvp_events_by()
 * @words: what the task's events say of that user
 * @task, @list: private
 */
struct kvp_event_by {
	char words[KVP_EVENT_BY];
	struct task_struct *task;
	struct list_head list;
};

struct kvp_events {
	struct kvp_pool *pool;
	spinlock_t lock;			/* irqsave */
	struct mutex places;			/* kvp_events_hold() */
	/* tasks that carry out a user's order; under @lock */
	struct list_head by;
	struct page *pages[KVP_EVENTS_BLOCKS];	/* the ring, as on disk */
	struct page *out;			/* a block that is being read or written */
	u64 next;				/* sequence number (seq) of the next event */
	u64 written;				/* events below were written to the legs */
	struct kvp_order_ring orders;		/* under @lock */
	struct work_struct work;
};

/**
 * kvp_events_init() - begin with empty rings, before the first event
 *
 * kvp_events_exit() - free the rings. There are no more events, and the worker has ended.
 *
 * Return: 0 or -ENOMEM; then there is nothing to free. Context: process, may sleep.
 */
int __must_check kvp_events_init(struct kvp_pool *pool);
void kvp_events_exit(struct kvp_pool *pool);

/**
 * kvp_events_load() - read both rings from the legs in sync; damaged lines are left out
 *
 * Context: process, waits for I/O.
 */
void kvp_events_load(struct kvp_pool *pool);

/** kvp_event() - note an event. Context: any. */
__printf(2, 3) void kvp_event(struct kvp_pool *pool, const char *fmt, ...);

/**
 * kvp_events_by() - until kvp_events_by_end(), events of the calling task name the user
 * @by: memory of the caller; @by->words is set: fields, with a blank before each
 *
 * The fields are not added to what other tasks do for the order later, as the worker of a scrub,
 * nor to a text that would become too long. Context: process.
 */
void kvp_events_by(struct kvp_pool *pool, struct kvp_event_by *by);
void kvp_events_by_end(struct kvp_pool *pool, struct kvp_event_by *by);

#define KVP_LEG_WORDS		120	/* " uuid=36 path=64" and its end */

/**
 * kvp_leg_words() - " uuid=UUID path=PATH" of a leg, for an event: leg numbers may change later
 *
 * A path that is longer than 64 characters, or has blanks, becomes "-": if it were cut off, it
 * would name another device. Return: @buf. Context: any.
 */
const char *kvp_leg_words(const struct kvp_leg *leg, char buf[KVP_LEG_WORDS]);

/** kvp_event_get() - get event @seq; false if the ring has no such event. Context: any. */
bool kvp_event_get(struct kvp_pool *pool, u64 seq, struct kvp_disk_event *e);

/** kvp_event_order() - get the first order from seq @from on; false: none. Context: any. */
bool kvp_event_order(struct kvp_pool *pool, u64 from, struct kvp_disk_event *e);

/** kvp_events_next() - seq of the next event. Context: any. */
static inline u64 kvp_events_next(const struct kvp_events *ev)
{
	return READ_ONCE(ev->next);
}

/** kvp_events_kick() - write noted events to the legs soon. Context: any. */
void kvp_events_kick(struct kvp_pool *pool);

/**
 * kvp_events_lack() - with the next event, write all of both rings to @leg: it may have anything
 *
 * Blank blocks are written, too: the leg may have lines of a history that was discarded. Blocks of
 * orders that are unread stay (order_ring.h). Blocks that the leg does not take are written again
 * with each event. The leg must have its place in the pool by now. Context: any.
 */
void kvp_events_lack(struct kvp_leg *leg);

/**
 * kvp_events_give() - write to each leg what it lacks of the rings: kvp_events_lack()
 *
 * A leg gets each ring by one request, if there is memory. Call this before the leg counts as one
 * in sync on disk: after a power cut, a start believes the rings of all legs in sync.
 *
 * The caller writes, not the worker. Without memory for more workers, one rescuer does all that
 * kvpool-work has, one after the other, and what comes first may wait for the caller's sb_lock.
 *
 * Context: process, waits for I/O, until a leg that hangs is given up. The caller may hold sb_lock.
 */
void kvp_events_give(struct kvp_pool *pool);

/** kvp_events_flush() - wait until all noted events are on disk, or their writes have failed */
void kvp_events_flush(struct kvp_pool *pool);

/**
 * kvp_events_hold() - write no event until kvp_events_go_on(): legs get other places in memory
 *
 * A loss raises an event at any time, also as a change of legs is undone. Context: process, waits
 * until writes in flight have ended. The caller holds sb_lock, and does no I/O meanwhile.
 */
void kvp_events_hold(struct kvp_pool *pool);
void kvp_events_go_on(struct kvp_pool *pool);

#endif /* KVP_EVENTS_H */
