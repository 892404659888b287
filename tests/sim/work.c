// SPDX-License-Identifier: GPL-2.0-only
/*
 * Work queues and their timers. The engine relies on these promises of the kernel: an item never
 * runs beside itself, an item queued while it runs runs again, and a queue runs at most max_active
 * items at a time.
 */
#include <stdlib.h>

#include "sched.h"

#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#define MAX_RUNNING 256

/* Mutexes. What does not fit is not checked. */
struct known {
	const void *mutex[32];
	u32 nr;
};

/*
 * Without memory for more workers, a rescuer carries out all items of its queue, one after the
 * other. So no task may wait for an item of the queue with a mutex held that another one takes.
 */
struct workqueue_struct {
	const char *name;
	int max_active, active;
	struct list_head waiting;
	bool rescuer;
	struct known taken, held;	/* by its items; by tasks that waited for one */
};

/* An item's function may free the item: so this is all that is known while it runs. */
struct running {
	struct work_struct *work;
	struct workqueue_struct *wq;
	u64 ticket;
};

static struct running *running[MAX_RUNNING];
static u32 nr_running;
static u64 tickets;
static LIST_HEAD(timers);
static const char work_channel;
/* The kernel's own queue: it is there without a call, in the first machine as well. */
static struct workqueue_struct system_queue = {
	.name = "events", .max_active = 256, .waiting = LIST_HEAD_INIT(system_queue.waiting),
};
struct workqueue_struct *system_wq = &system_queue, *system_unbound_wq = &system_queue,
			*system_long_wq = &system_queue;

void sim_work_reset(void)
{
	nr_running = 0;
	INIT_LIST_HEAD(&timers);
	system_queue = (struct workqueue_struct){ .name = "events", .max_active = 256 };
	INIT_LIST_HEAD(&system_queue.waiting);
	system_wq = system_unbound_wq = system_long_wq = &system_queue;
}

void sim_init_work(struct work_struct *w, work_func_t f)
{
	w->func = f;
	w->pending = false;
	w->canceling = false;
	w->ticket = 0;
	w->wq = NULL;
	INIT_LIST_HEAD(&w->entry);
}

void sim_init_delayed_work(struct delayed_work *w, work_func_t f)
{
	sim_init_work(&w->work, f);
	w->armed = false;
	w->wq = NULL;
	INIT_LIST_HEAD(&w->timer);
}

struct workqueue_struct *alloc_workqueue(const char *fmt, unsigned int flags, int max_active, ...)
{
	struct workqueue_struct *wq = kzalloc(sizeof(*wq), GFP_KERNEL);

	if (!wq)
		return NULL;
	wq->name = fmt;
	wq->max_active = max_active ?: 256;
	wq->rescuer = flags & WQ_MEM_RECLAIM;
	INIT_LIST_HEAD(&wq->waiting);
	return wq;
}

static struct running *find_running(const struct work_struct *w)
{
	u32 i;

	for (i = 0; i < nr_running; i++)
		if (running[i]->work == w)
			return running[i];
	return NULL;
}

unsigned int sim_work_busy(struct work_struct *w)
{
	return (w->pending ? WORK_BUSY_PENDING : 0) | (find_running(w) ? WORK_BUSY_RUNNING : 0);
}

/* --- rescuers ------------------------------------------------------------------------ */

static bool is_known(const struct known *k, const void *mutex)
{
	u32 i;

	for (i = 0; i < k->nr && k->mutex[i] != mutex; i++)
		;
	return i < k->nr;
}

static void note(struct known *k, const void *mutex)
{
	if (k->nr < ARRAY_SIZE(k->mutex) && !is_known(k, mutex))
		k->mutex[k->nr++] = mutex;
}

static void fail_rescuer(const struct workqueue_struct *wq, const char *where)
{
	sim_fail("%s: an item of %s is waited for with a mutex held that its items take: "
		 "its rescuer would wait for ever", where, wq->name);
}

void sim_work_takes(const void *mutex, const char *where)
{
	struct workqueue_struct *wq = sim_current->serves;

	if (!wq || !wq->rescuer)
		return;
	note(&wq->taken, mutex);
	if (is_known(&wq->held, mutex))
		fail_rescuer(wq, where);
}

/* The task waits for an item of the queue. */
static void waits_for(struct workqueue_struct *wq)
{
	u32 i;

	if (!wq->rescuer)
		return;
	for (i = 0; i < sim_current->nr_locks; i++) {
		note(&wq->held, sim_current->locks[i]);
		if (is_known(&wq->taken, sim_current->locks[i]))
			fail_rescuer(wq, sim_current->lock_places[i]);
	}
}

static void worker(void *arg);

/* Starts all items that may start. */
static void pump(struct workqueue_struct *wq)
{
	struct work_struct *w, *next;

	list_for_each_entry_safe(w, next, &wq->waiting, entry) {
		struct running *r = find_running(w);

		if (wq->active >= wq->max_active)
			break;
		if (r)
			continue;	/* it runs, and then again */
		if (nr_running == MAX_RUNNING)
			sim_fail("too many work items run");
		r = kzalloc(sizeof(*r), GFP_ATOMIC | __GFP_NOFAIL);
		list_del_init(&w->entry);
		r->work = w;
		r->wq = wq;
		r->ticket = w->ticket;
		running[nr_running++] = r;
		wq->active++;
		sim_spawn(wq->name, worker, r);
	}
}

static void worker(void *arg)
{
	struct running *r = arg;
	struct work_struct *w = r->work;
	u32 i;

	sim_current->serves = r->wq;
	/* It may have been cancelled before it began. */
	if (w->pending) {
		w->pending = false;
		if (!list_empty(&w->entry))
			list_del_init(&w->entry);
		w->func(w);
	}
	if (sim_current->nr_locks || sim_current->spins)
		sim_fail("a work item of %s ended with locks held", r->wq->name);
	for (i = 0; running[i] != r; i++)
		;
	running[i] = running[--nr_running];
	r->wq->active--;
	sim_wake(&work_channel);
	pump(r->wq);
	sim_free(r);
}

bool queue_work(struct workqueue_struct *wq, struct work_struct *w)
{
	if (!w->func)
		sim_fail("a work item was not initialised");
	if (!wq)
		sim_fail("work is queued to no queue");
	if (w->pending || w->canceling)
		return false;
	w->pending = true;
	w->wq = wq;
	w->ticket = ++tickets;
	list_add_tail(&w->entry, &wq->waiting);
	pump(wq);
	sim_maybe_preempt();
	return true;
}

/* Not yet run to its end since it got this ticket? */
static bool ticket_open(struct work_struct *w, u64 ticket)
{
	struct running *r = find_running(w);

	return (w->pending && w->ticket <= ticket) || (r && r->ticket <= ticket);
}

bool flush_work(struct work_struct *w)
{
	struct running *r = find_running(w);
	u64 ticket = w->pending ? w->ticket : r ? r->ticket : 0;
	u64 begin = ktime_get_ns();

	sim_might_sleep(__func__);
	if (!ticket)
		return false;
	waits_for(w->pending ? w->wq : r->wq);
	/* The item's memory may be gone when it has ended: only the caller knows. */
	while (ticket_open(w, ticket))
		sim_block(&work_channel, "flush_work");
	sim_slept(begin, "flush_work");
	return true;
}

bool cancel_work(struct work_struct *w)
{
	if (!w->pending)
		return false;
	w->pending = false;
	/* If its worker exists but has not begun, that will find nothing pending. */
	if (!list_empty(&w->entry))
		list_del_init(&w->entry);
	sim_wake(&work_channel);
	return true;
}

bool cancel_work_sync(struct work_struct *w)
{
	u64 begin = ktime_get_ns();
	bool was;

	sim_might_sleep(__func__);
	if (!w->func)
		sim_fail("a work item that was not initialised is cancelled");
	w->canceling = true;
	was = cancel_work(w);
	while (find_running(w))
		sim_block(&work_channel, "cancel_work_sync");
	sim_slept(begin, "cancel_work_sync");
	w->canceling = false;
	return was;
}

static bool wq_busy(struct workqueue_struct *wq)
{
	return wq->active || !list_empty(&wq->waiting);
}

void flush_workqueue(struct workqueue_struct *wq)
{
	u64 last = tickets, begin = ktime_get_ns();
	bool open = true;
	u32 i;

	sim_might_sleep(__func__);
	while (open) {
		struct work_struct *w;

		open = false;
		list_for_each_entry(w, &wq->waiting, entry)
			open |= w->ticket <= last;
		for (i = 0; i < nr_running; i++)
			open |= running[i]->wq == wq && running[i]->ticket <= last;
		if (open)
			sim_block(&work_channel, "flush_workqueue");
	}
	sim_slept(begin, "flush_workqueue");
}

void drain_workqueue(struct workqueue_struct *wq)
{
	while (wq_busy(wq))
		sim_block(&work_channel, "drain_workqueue");
}

void destroy_workqueue(struct workqueue_struct *wq)
{
	struct delayed_work *d;

	drain_workqueue(wq);
	list_for_each_entry(d, &timers, timer)
		if (d->wq == wq)
			sim_fail("%s is destroyed with a timer running", wq->name);
	kfree(wq);
}

/* --- delayed work -------------------------------------------------------------------------- */

static void arm(struct workqueue_struct *wq, struct delayed_work *w, unsigned long delay)
{
	w->wq = wq;
	w->due = jiffies + delay;
	w->armed = true;
	list_add_tail(&w->timer, &timers);
}

static bool disarm(struct delayed_work *w)
{
	if (!w->armed)
		return false;
	w->armed = false;
	list_del_init(&w->timer);
	return true;
}

bool queue_delayed_work(struct workqueue_struct *wq, struct delayed_work *w, unsigned long delay)
{
	if (!w->work.func)
		sim_fail("a delayed work item was not initialised");
	if (w->armed || w->work.pending || w->work.canceling)
		return false;
	if (!delay)
		return queue_work(wq, &w->work);
	arm(wq, w, delay);
	return true;
}

bool mod_delayed_work(struct workqueue_struct *wq, struct delayed_work *w, unsigned long delay)
{
	bool was = disarm(w) || cancel_work(&w->work);

	queue_delayed_work(wq, w, delay);
	return was;
}

bool flush_delayed_work(struct delayed_work *w)
{
	if (disarm(w))
		queue_work(w->wq, &w->work);
	return flush_work(&w->work);
}

bool cancel_delayed_work(struct delayed_work *w)
{
	return disarm(w) || cancel_work(&w->work);
}

bool cancel_delayed_work_sync(struct delayed_work *w)
{
	bool was = disarm(w);

	w->work.canceling = true;
	return cancel_work_sync(&w->work) || was;
}

bool sim_timers_next(u64 *due)
{
	struct delayed_work *w;
	bool any = false;

	list_for_each_entry(w, &timers, timer) {
		if (!any || w->due < *due)
			*due = w->due;
		any = true;
	}
	return any;
}

void sim_timers_run(u64 now)
{
	struct delayed_work *w, *next;

	list_for_each_entry_safe(w, next, &timers, timer)
		if (w->due <= now && disarm(w))
			queue_work(w->wq, &w->work);
}
